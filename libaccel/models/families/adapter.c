// SPDX-License-Identifier: MIT
/*
 * Adapters of low rank: beside a weight W lie A and B, and y = W x becomes y = W x + s B (A x).
 * They are two products more, whose result is added as a residual is, so W stays where and what it
 * is. Files are those of PEFT: what they are is said by adapter_config.json, and in
 * adapter_model.safetensors A is [r, in], B [out, r], whichever way W lies.
 */
#include <accel/quant.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "convert.h"

#define PREFIX		"base_model.model."
#define MAX_RANK	65536

/* --- what is said of it ---------------------------------------------------------------------- */

/* null, false, 0, or nothing in it: what PEFT writes for that which is not used */
static bool is_empty(struct json_object *o)
{
	switch (json_object_get_type(o)) {
	case json_type_array:
		return !json_object_array_length(o);
	case json_type_object:
		return !json_object_object_length(o);
	case json_type_string:
		return !json_object_get_string_len(o);
	default:
		return !json_object_get_boolean(o);
	}
}

/* What would make of it another function than that of &struct accel_lora */
static int check_kind(const struct adapter *a, const struct config *c, struct accel_error *error)
{
	static const char *const others[] = {
		"use_dora", "modules_to_save", "rank_pattern", "alpha_pattern", "lora_bias",
		"layer_replication", "trainable_token_indices", "target_parameters",
		"alora_invocation_tokens", "use_qalora"
	};
	struct json_object *o;
	char text[32];
	size_t i;

	if (strcmp(config_text(c, "peft_type", text, sizeof(text)), "LORA") != 0)
		return stored_fail(error, -EOPNOTSUPP, "%.100s: peft_type is \"%s\", not LORA",
				   a->path, text);
	config_text(c, "bias", text, sizeof(text));
	if (text[0] && strcmp(text, "none") != 0)
		return stored_fail(error, -EOPNOTSUPP,
				   "%.100s: bias is \"%s\", not none: biases are not adapted",
				   a->path, text);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		if (json_object_object_get_ex(c->json, others[i], &o) && !is_empty(o))
			return stored_fail(error, -EOPNOTSUPP, "%.100s: %s is not supported",
					   a->path, others[i]);
	return 0;
}

static int take_scale(struct adapter *a, const struct config *c, double scale,
		      struct accel_error *error)
{
	double alpha = config_real(c, "lora_alpha", NAN), rank;

	a->rank = config_whole(c, "r", 0);
	if (a->rank < 1 || a->rank > MAX_RANK)
		return stored_fail(error, -EBADMSG, "%.100s: r is %" PRId64 ", not from 1 to %d",
				   a->path, a->rank, MAX_RANK);
	rank = (double)a->rank;
	a->scale = scale * alpha / (config_bool(c, "use_rslora", false) ? sqrt(rank) : rank);
	if (!(fabs(a->scale) <= (double)FLT_MAX))
		return stored_fail(error, -EBADMSG, isfinite(alpha) ?
				   "%.100s: lora_alpha, or the scale beside it, is too large" :
				   "%.100s: lora_alpha is no number", a->path);
	return 0;
}

/* --- its matrices ---------------------------------------------------------------------------- */

/* Is the module @name, of @n bytes, one of a list? Other texts than lists are patterns of names. */
static bool is_target(struct json_object *targets, const char *name, size_t n)
{
	const char *t;
	size_t i, k;

	if (!json_object_is_type(targets, json_type_array))
		return true;
	for (i = 0; i < json_object_array_length(targets); i++) {
		t = json_object_get_string(json_object_array_get_idx(targets, i));
		k = t ? strlen(t) : 0;
		if (k && k <= n && !memcmp(name + n - k, t, k) &&
		    (k == n || name[n - k - 1] == '.'))
			return true;
	}
	return false;
}

static int check_matrix(const struct adapter *a, const struct stored *s,
			struct json_object *targets, struct accel_error *error)
{
	static const char *const ends[] = { ".lora_A.weight", ".lora_B.weight" };
	const size_t first = strlen(PREFIX), end = strlen(ends[0]), n = strlen(s->name);
	uint32_t which = 2;

	if (n > first + end && !strncmp(s->name, PREFIX, first))
		for (which = 0; which < 2 && strcmp(s->name + n - end, ends[which]); which++)
			;
	if (which == 2)
		return stored_fail(error, -EOPNOTSUPP,
				   "%.100s: neither lora_A nor lora_B of a weight", s->name);
	if (!is_target(targets, s->name + first, n - first - end))
		return stored_fail(error, -EBADMSG, "%.100s: not in target_modules", s->name);
	if (s->type != ACCEL_F32 && s->type != ACCEL_F16 && s->type != ACCEL_BF16)
		return stored_fail(error, -EOPNOTSUPP, "%.100s: not of F32, F16 or BF16", s->name);
	if (s->rank != 2 || s->dims[which] != a->rank || !s->dims[!which])
		return stored_fail(error, -EBADMSG,
				   "%.100s: not a matrix of %" PRId64 " %s, as r says", s->name,
				   a->rank, which ? "columns" : "rows");
	return 0;
}

static int read_adapter(struct adapter *a, const struct accel_lora *lora, const struct config *c,
			struct accel_error *error)
{
	struct json_object *targets = NULL;
	char path[PATH_MAX];
	uint32_t i;
	int ret = check_kind(a, c, error);

	if (!ret)
		ret = take_scale(a, c, (double)lora->scale, error);
	if (ret)
		return ret;
	if (snprintf(path, sizeof(path), "%s/adapter_model.safetensors", a->path) >=
	    (int)sizeof(path))
		return stored_fail(error, -ENAMETOOLONG, "%.100s...: too long", a->path);
	ret = stored_open(path, &a->store, error);
	if (!ret && !a->store.count)
		ret = stored_fail(error, -EBADMSG, "%.200s: there is nothing in it", path);
	json_object_object_get_ex(c->json, "target_modules", &targets);
	for (i = 0; i < a->store.count && !ret; i++)
		ret = check_matrix(a, &a->store.list[i], targets, error);
	return ret;
}

int adapters_open(struct family_model *m, const struct accel_lora *loras, uint32_t count,
		  struct accel_error *error)
{
	struct config c = { 0 };
	uint32_t i;
	int ret = 0;

	if (count && m->family->build != decoder_build)
		return stored_fail(error, -EOPNOTSUPP, "adapters are for decoders, which %s is not",
				   m->config.type);
	if (count)
		m->adapters = calloc(count, sizeof(*m->adapters));
	if (count && !m->adapters)
		return stored_fail(error, -ENOMEM, "out of memory");
	for (i = 0; i < count && !ret; i++) {
		struct adapter *a = &m->adapters[m->adapter_count++];

		a->path = strdup(loras[i].path);
		if (!a->path)
			return stored_fail(error, -ENOMEM, "out of memory");
		ret = config_open(&c, a->path, "adapter_config.json", error);
		if (!ret)
			ret = read_adapter(a, &loras[i], &c, error);
		config_close(&c);
	}
	return ret;
}

void adapters_close(struct family_model *m)
{
	uint32_t i;

	for (i = 0; i < m->adapter_count; i++) {
		stored_close(&m->adapters[i].store);
		free(m->adapters[i].path);
	}
	free(m->adapters);
}

uint32_t adapters_count(const struct family_model *m)
{
	uint32_t i, n = 0;

	for (i = 0; i < m->adapter_count; i++)
		n += m->adapters[i].store.count;
	return n;
}

int adapters_check(struct family_build *b)
{
	const struct family_model *m = b->model;
	const bool *at = b->adapted;
	uint32_t i, k;

	for (i = 0; i < m->adapter_count; at += m->adapters[i++].store.count)
		for (k = 0; k < m->adapters[i].store.count; k++)
			if (!at[k])
				return stored_fail(&b->im->error, -EBADMSG,
					       "%.120s: there is no such weight, or none to adapt",
					       m->adapters[i].store.list[k].name);
	return 0;
}

/* --- in a graph ------------------------------------------------------------------------------ */

/* Models without what is above them do not have their first name. */
static const struct stored *find(const struct adapter *a, const char *name, char which)
{
	const char *point = strchr(name, '.');
	const struct stored *s;
	char full[400];

	snprintf(full, sizeof(full), PREFIX "%s.lora_%c.weight", name, which);
	s = stored_find(&a->store, full);
	if (s || !point)
		return s;
	snprintf(full, sizeof(full), PREFIX "%s.lora_%c.weight", point + 1, which);
	return stored_find(&a->store, full);
}

/* As a constant in F32; where rows have another order in the model, with a copy in that order */
static uint32_t matrix(struct family_build *b, const struct stored *s, const struct target *t)
{
	const uint64_t bytes = s->bytes / (uint64_t)s->dims[0];
	struct import *im = b->im;
	uint32_t value = NO_VALUE;
	uint8_t *own;
	int64_t i;

	im->model->info.constant_count++;
	im->model->info.constant_bytes += s->bytes;
	if (t->form == FORM_SAME) {
		if (stored_constant(s, im->model->graph, &value, &im->error))
			return NO_VALUE;
		return v_cast(im, value, ACCEL_F32);
	}
	own = malloc(s->bytes);
	if (!own) {
		im_fail(im, -ENOMEM, "out of memory");
		return NO_VALUE;
	}
	for (i = 0; i < s->dims[0]; i++)
		memcpy(own + (uint64_t)i * bytes,
		       s->data + (uint64_t)target_row(t, s->dims[0], i) * bytes, bytes);
	value = part_constant(b, s->type, 2, s->dims, own);
	free(own);
	return v_cast(im, value, ACCEL_F32);
}

static uint32_t product(struct family_build *b, uint32_t x, uint32_t weight, double scale,
			uint32_t residual)
{
	struct accel_gemm_desc d = ACCEL_GEMM_DESC_INIT;
	struct import *im = b->im;
	uint32_t out = NO_VALUE;

	if (im->error.code || x == NO_VALUE || weight == NO_VALUE)
		return NO_VALUE;
	d.flags = ACCEL_GEMM_TRANS_B | ACCEL_GEMM_ALPHA;
	d.alpha = (float)scale;
	d.d.dtype = ACCEL_F32;
	return im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, x }, { ACCEL_ARG_B, weight },
					{ ACCEL_ARG_RESIDUAL, residual }),
		       residual == NO_VALUE ? 3 : 4, &out) ? NO_VALUE : out;
}

/**
 * struct place - a weight that adapters may add to
 * @name: as a folder calls it
 * @in: what it takes
 * @out: what it gives
 * @form: order of its rows
 */
struct place {
	const char *name;
	int64_t in;
	int64_t out;
	struct target form;
};

/* Are both there, of the weight's sizes? If not, the import has the error. */
static bool fits(struct family_build *b, const struct place *p, const struct stored *down,
		 const struct stored *up)
{
	struct accel_error *e = &b->im->error;
	const struct target *t = &p->form;

	if (!down || !up)
		stored_fail(e, -EBADMSG, "%.120s: %s is missing", (down ? down : up)->name,
			    down ? "lora_B" : "lora_A");
	else if (down->dims[1] != p->in)
		stored_fail(e, -EBADMSG, "%.120s takes %" PRId64 " numbers, not %" PRId64,
			    down->name, down->dims[1], p->in);
	else if (up->dims[0] != p->out)
		stored_fail(e, -EBADMSG, "%.120s gives %" PRId64 " numbers, not %" PRId64,
			    up->name, up->dims[0], p->out);
	else if (t->form != FORM_SAME && p->out % (t->heads * (t->form == FORM_APART ? 3 : 2)))
		stored_fail(e, -EBADMSG, "%.120s: %" PRId64 " rows of %" PRId64 " heads",
			    up->name, p->out, t->heads);
	else
		return true;
	return false;
}

static uint32_t add(struct family_build *b, const struct adapter *a, bool *adapted,
		    const struct place *p, uint32_t x, uint32_t residual)
{
	static const struct target same = { .form = FORM_SAME };
	const struct stored *down = find(a, p->name, 'A'), *up = find(a, p->name, 'B');

	if ((!down && !up) || b->im->error.code)
		return residual;
	if (!fits(b, p, down, up) || !down || !up)
		return NO_VALUE;
	adapted[down - a->store.list] = true;
	adapted[up - a->store.list] = true;
	/* What is scaled are the few numbers in between. */
	x = product(b, x, matrix(b, down, &same), a->scale, NO_VALUE);
	return product(b, x, matrix(b, up, &p->form), 1, residual);
}

uint32_t part_adapt(struct family_build *b, const char *name, const struct stored *s, bool columns,
		    uint32_t x, uint32_t residual)
{
	const struct family_model *m = b->model;
	struct place p = { .name = name, .in = -1, .out = -1 };
	bool *adapted = b->adapted;
	char renamed[320];
	uint32_t i;

	if (!m->adapter_count || b->im->error.code)
		return residual;
	if (s->rank == 2) {
		p.in = s->dims[!columns];
		p.out = s->dims[columns];
	}
	if (m->config.gguf) {
		if (!rename_weight(m, name, s, renamed, sizeof(renamed), &p.form))
			return residual;
		p.name = renamed;
	}
	for (i = 0; i < m->adapter_count; adapted += m->adapters[i++].store.count)
		residual = add(b, &m->adapters[i], adapted, &p, x, residual);
	return residual;
}

/**
 * struct halves - A and B of all experts, one behind the other, and zeros for those without
 * @down: [experts, r, in]
 * @up: [experts, out, r]
 * @any: experts that have them
 */
struct halves {
	float *down;
	float *up;
	uint32_t any;
};

/* Those of an expert, if it has them; room for all is made with the first. */
static int add_halves(struct family_build *b, const struct adapter *a, bool *adapted,
		      const struct place *p, uint32_t expert, int64_t count, struct halves *h)
{
	const struct stored *down = find(a, p->name, 'A'), *up = find(a, p->name, 'B');
	int ret;

	if (!down && !up)
		return 0;
	if (!fits(b, p, down, up) || !down || !up)
		return b->im->error.code;
	if (!h->down && !h->up) {
		h->down = calloc((size_t)count, down->count * sizeof(*h->down));
		h->up = calloc((size_t)count, up->count * sizeof(*h->up));
	}
	if (!h->down || !h->up)
		return im_fail(b->im, -ENOMEM, "out of memory");
	h->any++;
	adapted[down - a->store.list] = true;
	adapted[up - a->store.list] = true;
	ret = accel_blocks_read(down->type, down->data, down->count,
				h->down + expert * down->count);
	if (!ret)
		ret = accel_blocks_read(up->type, up->data, up->count, h->up + expert * up->count);
	return ret ? im_fail(b->im, ret, "%.100s: cannot be read", up->name) : 0;
}

static uint32_t add_experts(struct family_build *b, const struct adapter *a, bool *adapted,
			    const struct place *pattern, uint32_t x, uint32_t counts,
			    int64_t count, uint32_t y)
{
	const int64_t down[] = { count, a->rank, pattern->in };
	const int64_t up[] = { count, pattern->out, a->rank };
	const char *at = strstr(pattern->name, "%u");
	struct place p = *pattern;
	struct import *im = b->im;
	struct halves h = { 0 };
	char name[320];
	uint32_t i;
	int ret = 0;

	p.name = name;
	for (i = 0; i < count && !ret; i++) {
		snprintf(name, sizeof(name), "%.*s%u%s", (int)(at - pattern->name), pattern->name,
			 i, at + 2);
		ret = add_halves(b, a, adapted, &p, i, count, &h);
	}
	if (!ret && h.any) {
		x = part_grouped(b, x, part_constant(b, ACCEL_F32, 3, down, h.down), counts);
		x = v_with(im, ACCEL_BINARY_MUL, x, a->scale);
		x = part_grouped(b, x, part_constant(b, ACCEL_F32, 3, up, h.up), counts);
		y = v_binary(im, ACCEL_BINARY_ADD, y, x);
		im->model->info.constant_count += 2 * h.any;
		im->model->info.constant_bytes += 4 * (uint64_t)(count * a->rank) *
						  (uint64_t)(pattern->in + pattern->out);
	}
	free(h.down);
	free(h.up);
	return ret ? NO_VALUE : y;
}

uint32_t part_adapt_experts(struct family_build *b, const char *name, const struct stored *s,
			    uint32_t x, uint32_t counts, int64_t count, uint32_t y)
{
	const struct family_model *m = b->model;
	struct place p = { .name = name };
	bool *adapted = b->adapted;
	char renamed[320];
	uint32_t i;

	if (!m->adapter_count || b->im->error.code)
		return y;
	p.out = s->dims[s->rank - 2];
	p.in = s->dims[s->rank - 1];
	if (m->config.gguf) {
		if (!rename_weight(m, name, s, renamed, sizeof(renamed), &p.form))
			return y;
		p.name = renamed;
	}
	if (!strstr(p.name, "%u"))
		return y;
	for (i = 0; i < m->adapter_count; adapted += m->adapters[i++].store.count)
		y = add_experts(b, &m->adapters[i], adapted, &p, x, counts, count, y);
	return y;
}
