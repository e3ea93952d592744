// SPDX-License-Identifier: MIT
/*
 * Parts that families are made of.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../onnx/attend.h"
#include "families.h"

/* Positions that tables have unless more are asked for */
#define MAX_POSITIONS	131072

int64_t part_size(struct family_build *b, const char *name, int64_t otherwise, int64_t max)
{
	int64_t n = config_whole(&b->model->config, name, otherwise);

	if (n >= 1 && n <= max)
		return n;
	if (!b->im->error.code)
		im_fail(b->im, -EBADMSG, "%s is %" PRId64 ", not from 1 to %" PRId64, name, n, max);
	return 0;
}

uint32_t part_act(struct family_build *b, const char *name)
{
	static const struct {
		const char *name;
		uint32_t act;
	} acts[] = {
		{ "gelu", ACCEL_ACT_GELU }, { "gelu_new", ACCEL_ACT_GELU_TANH },
		{ "gelu_pytorch_tanh", ACCEL_ACT_GELU_TANH }, { "gelu_fast", ACCEL_ACT_GELU_TANH },
		{ "silu", ACCEL_ACT_SILU }, { "swish", ACCEL_ACT_SILU },
		{ "relu", ACCEL_ACT_RELU }, { "quick_gelu", PART_QUICK_GELU },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(acts); i++)
		if (!strcmp(acts[i].name, name))
			return acts[i].act;
	if (!b->im->error.code)
		im_fail(b->im, -EOPNOTSUPP, "the activation %.40s is not known", name);
	return 0;
}

uint32_t part_activate(struct family_build *b, uint32_t act, uint32_t a)
{
	struct import *im = b->im;
	uint32_t s;

	if (act != PART_QUICK_GELU)
		return act ? v_act(im, act, 0, 0, a) : a;
	s = v_act(im, ACCEL_ACT_SIGMOID, 0, 0, v_with(im, ACCEL_BINARY_MUL, a, 1.702));
	return v_binary(im, ACCEL_BINARY_MUL, a, s);
}

/* --- tensors ------------------------------------------------------------------------------- */

const char *part_name(struct family_build *b, const char *layers, uint32_t layer, const char *name)
{
	struct import *im = b->im;

	if (layers)
		snprintf(im->name, sizeof(im->name), "%s.%u.%s", layers, layer, name);
	else
		snprintf(im->name, sizeof(im->name), "%s", name);
	return im->name;
}

const struct stored *part_find(struct family_build *b, const char *name, const char *kind)
{
	const struct store *store = &b->model->store;
	const char *point = strchr(name, '.');
	const struct stored *s;
	char full[320];

	snprintf(full, sizeof(full), "%s%s", name, kind);
	s = stored_find(store, full);
	/* Models without what is above them do not have their first name. */
	return s || !point ? s : stored_find(store, full + (point - name) + 1);
}

uint32_t part_raw(struct family_build *b, const struct stored *s)
{
	uint32_t *value = &b->values[s - b->model->store.list];
	struct accel_model_info *info = &b->im->model->info;

	if (b->im->error.code)
		return NO_VALUE;
	if (*value != NO_VALUE)
		return *value;
	if (stored_constant(s, b->im->model->graph, value, &b->im->error))
		return NO_VALUE;
	info->constant_count++;
	info->constant_bytes += s->bytes;
	return *value;
}

uint32_t part_maybe(struct family_build *b, const char *name, const char *kind)
{
	const struct stored *s = part_find(b, name, kind);

	return s ? v_cast(b->im, part_raw(b, s), ACCEL_F32) : NO_VALUE;
}

uint32_t part_tensor(struct family_build *b, const char *name, const char *kind)
{
	if (!part_find(b, name, kind) && !b->im->error.code)
		im_fail(b->im, -EBADMSG, "there is no %.100s%s", name, kind);
	return part_maybe(b, name, kind);
}

uint32_t part_product(struct family_build *b, uint32_t x, uint32_t weight, uint32_t bias,
		      uint32_t act, uint32_t residual, bool columns)
{
	struct import *im = b->im;
	uint32_t type = v_type(im, weight);
	struct accel_graph_arg args[5] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW } };
	struct accel_gemm_desc d = ACCEL_GEMM_DESC_INIT;
	uint32_t n = 3, out = NO_VALUE;

	if (im->error.code || x == NO_VALUE || weight == NO_VALUE)
		return NO_VALUE;
	args[1] = (struct accel_graph_arg) { ACCEL_ARG_A, x };
	args[2] = (struct accel_graph_arg) { ACCEL_ARG_B, weight };
	if (bias != NO_VALUE)
		args[n++] = (struct accel_graph_arg) { ACCEL_ARG_BIAS, bias };
	if (residual != NO_VALUE)
		args[n++] = (struct accel_graph_arg) { ACCEL_ARG_RESIDUAL, residual };
	d.flags = columns ? 0 : ACCEL_GEMM_TRANS_B;
	d.epilogue.act = act == PART_QUICK_GELU ? 0 : act;
	d.d.dtype = ACCEL_F32;
	/*
	 * What meets blocks is rounded to bytes, 32 at a time, as all do who have blocks; or to
	 * bf16, which is closer to it.
	 */
	if (type >= ACCEL_Q8_0 && type <= ACCEL_Q6_K) {
		d.a_group = 32;
		d.flags |= ACCEL_GEMM_BF16;
	}
	if (im_node(im, &d.hdr, args, n, &out))
		return NO_VALUE;
	return act == PART_QUICK_GELU ? part_activate(b, act, out) : out;
}

/* A matrix of fp32 or 16 bits as bytes with a scale for each 32, a row at a time */
static int as_bytes(const struct stored *s, uint64_t rows, uint64_t columns, uint8_t *to)
{
	const uint64_t from = s->bytes / rows;
	uint32_t elements;
	const uint64_t bytes = accel_dtype_block(ACCEL_Q8_0, &elements) * (columns / elements);
	float *row = calloc(columns, sizeof(*row));
	int ret = row ? 0 : -ENOMEM;
	uint64_t i;

	for (i = 0; i < rows && !ret; i++) {
		ret = accel_blocks_read(s->type, s->data + i * from, columns, row);
		if (!ret)
			ret = accel_blocks_write(ACCEL_Q8_0, row, 1, columns, NULL, to + i * bytes);
	}
	free(row);
	return ret;
}

/* The weight of a product: where it lies, or in bytes if the model is to be so */
static uint32_t part_matrix(struct family_build *b, const struct stored *s, bool columns)
{
	struct import *im = b->im;
	struct accel_value v = ACCEL_VALUE_INIT;
	uint32_t elements, value = NO_VALUE;
	const uint64_t bytes = accel_dtype_block(ACCEL_Q8_0, &elements);
	void *own;
	int ret;

	if (!b->model->bytes || columns || s->rank != 2 || !s->count || s->dims[1] % elements ||
	    (s->type != ACCEL_F32 && s->type != ACCEL_F16 && s->type != ACCEL_BF16))
		return part_raw(b, s);
	if (im->error.code)
		return NO_VALUE;
	own = malloc(s->count / elements * bytes);
	ret = own ? as_bytes(s, (uint64_t)s->dims[0], (uint64_t)s->dims[1], own) : -ENOMEM;
	if (ret) {
		im_fail(im, ret, ret == -ERANGE ? "%.100s: numbers that bytes do not have" :
			"%.100s: out of memory", s->name);
		free(own);
		return NO_VALUE;
	}
	v.type = ACCEL_Q8_0;
	v.rank = 2;
	v.name = s->name;
	memcpy(v.dims, s->dims, sizeof(v.dims));
	if (im_graph(im, accel_graph_constant(im->model->graph, &v, own, free, own, &value))) {
		free(own);
		return NO_VALUE;
	}
	im->model->info.constant_count++;
	im->model->info.constant_bytes += s->count / elements * bytes;
	return value;
}

uint32_t part_linear(struct family_build *b, const char *name, uint32_t x, uint32_t act,
		     uint32_t residual, bool columns)
{
	const struct stored *s = part_find(b, name, ".weight");

	if (!s) {
		if (!b->im->error.code)
			im_fail(b->im, -EBADMSG, "there is no %.100s.weight", name);
		return NO_VALUE;
	}
	part_probe(b, s, x, NO_VALUE, 0);
	return part_product(b, x, part_matrix(b, s, columns), part_maybe(b, name, ".bias"), act,
			    part_adapt(b, name, s, columns, x, residual), columns);
}

uint32_t part_norm(struct family_build *b, const char *name, uint32_t x, bool layer, float eps,
		   double more)
{
	uint32_t scale = part_tensor(b, name, ".weight"), bias = part_maybe(b, name, ".bias");
	struct accel_norm_desc d = ACCEL_NORM_DESC_INIT;
	struct import *im = b->im;
	uint32_t out = NO_VALUE;

	if (more != 0)
		scale = v_with(im, ACCEL_BINARY_ADD, scale, more);
	if (im->error.code || x == NO_VALUE || scale == NO_VALUE)
		return NO_VALUE;
	d.func = layer ? ACCEL_NORM_LAYER : ACCEL_NORM_RMS;
	d.eps = eps;
	return im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, x }, { ACCEL_ARG_SCALE, scale },
					{ ACCEL_ARG_BIAS, bias }), bias == NO_VALUE ? 3 : 4,
		       &out) ? NO_VALUE : out;
}

uint32_t part_rows(struct family_build *b, const char *name, uint32_t indices)
{
	const struct stored *s = part_find(b, name, ".weight");
	struct accel_gather_desc d = ACCEL_GATHER_DESC_INIT;
	struct import *im = b->im;
	uint32_t out = NO_VALUE, table;

	if (!s) {
		if (!im->error.code)
			im_fail(im, -EBADMSG, "there is no %.100s.weight", name);
		return NO_VALUE;
	}
	d.d.dtype = ACCEL_F32;
	table = part_raw(b, s);
	if (im->error.code || indices == NO_VALUE)
		return NO_VALUE;
	return im_two(im, &d.hdr, table, indices, &out) ? NO_VALUE : out;
}

/* --- inputs and outputs --------------------------------------------------------------------- */

int64_t part_symbol(struct family_build *b, const char *name, int64_t max)
{
	int64_t dim = 1;

	if (!b->im->error.code)
		im_graph(b->im, accel_graph_symbol(b->im->model->graph, name, 1, max, &dim));
	return dim;
}

uint32_t part_input(struct family_build *b, const char *name, uint32_t type, uint32_t rank,
		    const int64_t *dims)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	uint32_t value = NO_VALUE;

	v.type = type;
	v.rank = rank;
	v.name = name;
	memcpy(v.dims, dims, rank * sizeof(*dims));
	if (b->im->error.code ||
	    im_graph(b->im, accel_graph_input(b->im->model->graph, &v, &value)))
		return NO_VALUE;
	b->im->model->info.input_count++;
	return value;
}

int part_output(struct family_build *b, const char *name, uint32_t value)
{
	if (b->im->error.code)
		return b->im->error.code;
	if (value == NO_VALUE)
		return im_fail(b->im, -EBADMSG, "%s is made of nothing", name);
	b->im->model->info.output_count++;
	return im_graph(b->im, accel_graph_output(b->im->model->graph, name, value));
}

uint32_t part_s32(struct family_build *b, uint32_t value)
{
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;
	uint32_t out = NO_VALUE;

	copy.d.dtype = ACCEL_S32;
	if (b->im->error.code || value == NO_VALUE)
		return NO_VALUE;
	return im_one(b->im, &copy.hdr, value, &out) ? NO_VALUE : out;
}

uint32_t part_constant(struct family_build *b, uint32_t type, uint32_t rank, const int64_t *dims,
		       const void *data)
{
	uint64_t bytes = accel_type_bits(type) / 8;
	struct accel_value v = ACCEL_VALUE_INIT;
	uint32_t value = NO_VALUE, i;
	void *own;

	for (i = 0; i < rank; i++)
		bytes *= (uint64_t)dims[i];
	own = b->im->error.code ? NULL : malloc(bytes + 1);
	if (!own) {
		if (!b->im->error.code)
			im_fail(b->im, -ENOMEM, "out of memory");
		return NO_VALUE;
	}
	memcpy(own, data, bytes);
	v.type = type;
	v.rank = rank;
	memcpy(v.dims, dims, rank * sizeof(*dims));
	if (!im_graph(b->im, accel_graph_constant(b->im->model->graph, &v, own, free, own, &value)))
		return value;
	free(own);
	return NO_VALUE;
}

/* --- rotary embedding ------------------------------------------------------------------------ */

static int rotary_opts(struct family_build *b, struct accel_rotary_opts *o)
{
	const struct config *c = &b->model->config;
	char type[32];

	o->base = config_real(c, "rope_theta", 10000);
	config_text(c, "rope_type", type, sizeof(type));
	if (!type[0] || !strcmp(type, "default") || !strcmp(type, "none"))
		return 0;
	if (!strcmp(type, "longrope") || !strcmp(type, "su"))
		return 0;
	o->factor = config_real(c, "rope_factor", 1);
	if (!strcmp(type, "linear")) {
		o->scaling = ACCEL_ROTARY_LINEAR;
		return 0;
	}
	o->trained = (uint32_t)config_whole(c, "rope_trained",
					    config_whole(c, "max_position_embeddings", 0));
	if (!strcmp(type, "llama3")) {
		o->scaling = ACCEL_ROTARY_LLAMA3;
		o->low = config_real(c, "rope_low", 0);
		o->high = config_real(c, "rope_high", 0);
	} else if (!strcmp(type, "yarn")) {
		o->scaling = ACCEL_ROTARY_YARN;
		o->low = config_real(c, "rope_slow", 0);
		o->high = config_real(c, "rope_fast", 0);
		o->amplitude = config_real(c, "rope_amplitude", 0);
	} else {
		return im_fail(b->im, -EOPNOTSUPP, "rotary positions of type %s", type);
	}
	return 0;
}

/* Each pair by its own divisor: a table of its own. All are as long as @amplitude. */
static int divided(struct family_build *b, const void *divisors, double amplitude,
		   const struct accel_rotary_opts *o, uint64_t count, float *cosines, float *sines)
{
	uint32_t half = o->rot_dim / 2, i;
	float *pair = calloc(2 * count, sizeof(*pair)), divisor;
	uint64_t k;
	int ret = 0;

	if (!pair)
		return im_fail(b->im, -ENOMEM, "out of memory");
	for (i = 0; i < half && !ret; i++) {
		struct accel_rotary_opts one = ACCEL_ROTARY_OPTS_INIT;

		one.rot_dim = 2;
		one.scaling = ACCEL_ROTARY_LINEAR;
		/* Those of a file lie anywhere. */
		memcpy(&divisor, (const char *)divisors + i * sizeof(divisor), sizeof(divisor));
		one.factor = (double)divisor * pow(o->base, 2.0 * i / o->rot_dim);
		ret = accel_rotary_table(&one, 0, count, pair, pair + count);
		for (k = 0; k < count; k++) {
			cosines[k * half + i] = (float)(amplitude * (double)pair[k]);
			sines[k * half + i] = (float)(amplitude * (double)pair[count + k]);
		}
	}
	free(pair);
	return ret ? im_fail(b->im, -EBADMSG, "its rotary positions have bad divisors") : 0;
}

/* Divisors of a GGUF file's tensor, NULL: there is none, or it is bad */
static const void *divisors_of(struct family_build *b, const char *name, uint32_t half)
{
	const struct stored *s = stored_find(&b->model->store, name);

	if (!s)
		return NULL;
	if (s->type == ACCEL_F32 && s->count == half)
		return s->data;
	im_fail(b->im, -EBADMSG, "%s: not %u numbers", name, half);
	return NULL;
}

/* --- longrope (Y. Ding and others, arXiv:2402.13753) --- */

/**
 * struct longer - divisors of texts as long as those of the training, and of longer ones
 * @divisors: of the former, then of the latter; NULL: a model without
 * @amplitude: of both
 * @trained: positions of the training
 */
struct longer {
	float *divisors;
	double amplitude;
	int64_t trained;
};

static int take_divisors(struct family_build *b, const char *kind, uint32_t half, float *to)
{
	char tensor[40], field[16];
	const void *list;
	uint32_t i;

	snprintf(tensor, sizeof(tensor), "rope_factors_%s.weight", kind);
	snprintf(field, sizeof(field), "rope_%s", kind);
	list = divisors_of(b, tensor, half);
	if (list)
		memcpy(to, list, half * sizeof(*to));
	for (i = 0; i < half && !b->im->error.code; i++) {
		if (!list)
			to[i] = (float)config_fraction(&b->model->config, field, i);
		if (!(to[i] > 0 && isfinite(to[i])))
			im_fail(b->im, -EBADMSG,
				"longrope: the %s factor %u of %u is %g, or none", kind, i, half,
				(double)to[i]);
	}
	if (!isnan(config_fraction(&b->model->config, field, half)) && !b->im->error.code)
		im_fail(b->im, -EBADMSG, "longrope: more than %u %s factors", half, kind);
	return b->im->error.code;
}

/* The amplitude of both, where the model does not say it, is that of its authors. */
static int take_longer(struct family_build *b, uint32_t half, struct longer *l)
{
	const struct config *c = &b->model->config;
	const double positions = (double)b->model->shape.positions;
	double factor;
	char type[32];

	config_text(c, "rope_type", type, sizeof(type));
	*l = (struct longer) { NULL, 1, config_whole(c, "rope_trained", 0) };
	if (strcmp(type, "longrope") != 0 && strcmp(type, "su") != 0 &&
	    !stored_find(&b->model->store, "rope_factors_long.weight"))
		return 0;
	if (l->trained < 2 || l->trained > INT32_MAX)
		return im_fail(b->im, -EBADMSG,
			       "longrope: original_max_position_embeddings is %" PRId64,
			       l->trained);
	l->divisors = calloc(half, 2 * sizeof(*l->divisors));
	if (!l->divisors)
		return im_fail(b->im, -ENOMEM, "out of memory");
	factor = positions / (double)l->trained;
	if (!c->gguf && factor > 1)
		l->amplitude = sqrt(1 + log(factor) / log((double)l->trained));
	l->amplitude = config_real(c, "rope_amplitude", l->amplitude);
	if (!(l->amplitude > 0 && l->amplitude < 100))
		return im_fail(b->im, -EBADMSG, "longrope: attention_factor is %g", l->amplitude);
	if (take_divisors(b, "short", half, l->divisors))
		return b->im->error.code;
	return take_divisors(b, "long", half, l->divisors + half);
}

/*
 * A cache has keys that were turned: which divisors there are is decided by the context that it
 * has room for. Runs of the whole graph decide each for itself, between two tables.
 */
static int longer_tables(struct family_build *b, const struct longer *l,
			 const struct accel_rotary_opts *o, int64_t rows, int64_t shorter,
			 float *cosines, float *sines)
{
	const uint32_t half = o->rot_dim / 2;
	const bool more = shorter || (b->form->decoder && rows > l->trained);
	int ret = 0;

	if (shorter)
		ret = divided(b, l->divisors, l->amplitude, o, (uint64_t)shorter, cosines, sines);
	return ret ? ret : divided(b, l->divisors + (more ? half : 0), l->amplitude, o,
				   (uint64_t)(rows - shorter), cosines + shorter * half,
				   sines + shorter * half);
}

static void fill_tables(struct family_build *b, const struct accel_rotary_opts *o,
			const struct longer *l, const int64_t dims[2], struct rotary *r)
{
	const void *divisors = divisors_of(b, "rope_freqs.weight", o->rot_dim / 2);
	float *table = calloc((size_t)(2 * dims[0]), (size_t)dims[1] * sizeof(*table)), *sines;
	int ret;

	if (!table) {
		im_fail(b->im, -ENOMEM, "out of memory");
		return;
	}
	sines = table + dims[0] * dims[1];
	if (l->divisors)
		ret = longer_tables(b, l, o, dims[0], r->shorter, table, sines);
	else if (divisors)
		ret = divided(b, divisors, 1, o, (uint64_t)dims[0], table, sines);
	else
		ret = accel_rotary_table(o, 0, (uint64_t)dims[0], table, sines);
	if (ret && !b->im->error.code)
		im_fail(b->im, -EBADMSG, "its rotary positions have bad numbers");
	r->cosines = part_constant(b, ACCEL_F32, 2, dims, table);
	r->sines = part_constant(b, ACCEL_F32, 2, dims, sines);
	free(table);
}

void part_rotary(struct family_build *b, int64_t head_dim, int64_t positions, struct rotary *r)
{
	const struct config *c = &b->model->config;
	struct accel_rotary_opts o = ACCEL_ROTARY_OPTS_INIT;
	int64_t most = b->form->positions ? b->form->positions : MAX_POSITIONS, dims[2], turn;
	double share = config_real(c, "rotary_share", 1);
	struct longer l;

	*r = (struct rotary) { NO_VALUE, NO_VALUE, r->interleaved, 0 };
	if (b->im->error.code || rotary_opts(b, &o))
		return;
	if (!(share > 0 && share <= 1))
		share = 1;
	turn = config_whole(c, "rotary_dim", (int64_t)((double)head_dim * share));
	if (turn < 1 || turn + turn % 2 > head_dim) {
		im_fail(b->im, -EBADMSG, "rotary_dim: %" PRId64 " of %" PRId64 " elements turn",
			turn, head_dim);
		return;
	}
	o.rot_dim = (uint32_t)turn;
	/* Of an odd share one more turns, by the angles that the share has. */
	if (o.rot_dim % 2) {
		o.base = pow(o.base, (o.rot_dim + 1.0) / o.rot_dim);
		o.rot_dim++;
	}
	dims[0] = positions < most ? positions : most;
	dims[1] = o.rot_dim / 2;
	if (!take_longer(b, o.rot_dim / 2, &l)) {
		r->shorter = l.divisors && !b->form->decoder && dims[0] > l.trained ? l.trained : 0;
		dims[0] += r->shorter;
		fill_tables(b, &o, &l, dims, r);
	}
	free(l.divisors);
}

/* Rows of a text that is longer than @shorter have their tables behind those of the others. */
static uint32_t places_of(struct family_build *b, const struct rotary *r, uint32_t a)
{
	struct import *im = b->im;
	uint32_t length = length_of(im, a, 1), first;

	first = v_with(im, ACCEL_BINARY_MAX,
		       v_with(im, ACCEL_BINARY_SUB, length, (double)r->shorter), 0);
	first = v_with(im, ACCEL_BINARY_MIN, first, 1);
	first = v_with(im, ACCEL_BINARY_MUL, first, (double)r->shorter);
	return part_s32(b, v_binary(im, ACCEL_BINARY_ADD, v_iota(im, length), first));
}

uint32_t part_rotate(struct family_build *b, const struct rotary *r, uint32_t a)
{
	struct accel_rotary_desc d = ACCEL_ROTARY_DESC_INIT;
	uint32_t out = NO_VALUE, at = b->form->decoder ? b->form->decoder->positions : NO_VALUE;
	struct import *im = b->im;

	if (r->cosines == NO_VALUE)
		return a;
	d.flags = r->interleaved ? ACCEL_ROTARY_INTERLEAVED : 0;
	if (im->error.code || a == NO_VALUE)
		return NO_VALUE;
	if (r->shorter)
		at = places_of(b, r, a);
	return im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, a }, { ACCEL_ARG_B, r->cosines },
					{ ACCEL_ARG_C, r->sines }, { ACCEL_ARG_AUX0, at }),
		       at == NO_VALUE ? 4 : 5, &out) ? NO_VALUE : out;
}

/* --- attention ------------------------------------------------------------------------------- */

uint32_t part_attend(struct family_build *b, const struct accel_attention_desc *desc, uint32_t q,
		     uint32_t k, uint32_t v, uint32_t mask)
{
	struct import *im = b->im;
	uint32_t out = NO_VALUE;

	if (im->error.code || q == NO_VALUE || k == NO_VALUE || v == NO_VALUE)
		return NO_VALUE;
	return im_node(im, &desc->hdr, ARGS({ ACCEL_ARG_A, q }, { ACCEL_ARG_B, k },
					    { ACCEL_ARG_C, v }, { ACCEL_ARG_AUX0, mask }),
		       mask == NO_VALUE ? 4 : 5, &out) ? NO_VALUE : out;
}

uint32_t part_mask(struct family_build *b, uint32_t mask)
{
	static const int64_t places[] = { 1, 2 };
	uint32_t seen = v_with(b->im, ACCEL_BINARY_NE, mask, 0);

	seen = v_shaped_to(b->im, ACCEL_SHAPE_UNSQUEEZE, seen, 2, places);
	return v_cast(b->im, seen, ACCEL_U8);
}
