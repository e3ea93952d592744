// SPDX-License-Identifier: MIT
/*
 * From options and files to a descriptor and filled buffers.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gemm.h"

const char *const gemm_kind_names[] = { "fp32", "fp16", "bf16", "int8", "int4", NULL };
const char *const gemm_out_names[] = { "fp32", "fp16", "bf16", "int32", NULL };
const uint32_t gemm_out_dtypes[] = { ACCEL_F32, ACCEL_F16, ACCEL_BF16, ACCEL_S32 };

static const struct {
	uint32_t a, b, d, bias;
} kind_types[GEMM_KINDS] = {
	[GEMM_FP32] = { ACCEL_F32, ACCEL_F32, ACCEL_F32, ACCEL_F32 },
	[GEMM_FP16] = { ACCEL_F16, ACCEL_F16, ACCEL_F16, ACCEL_F32 },
	[GEMM_BF16] = { ACCEL_BF16, ACCEL_BF16, ACCEL_BF16, ACCEL_F32 },
	[GEMM_INT8] = { ACCEL_S8, ACCEL_S8, ACCEL_S32, ACCEL_S32 },
	[GEMM_INT4] = { ACCEL_F16, ACCEL_S4, ACCEL_F16, ACCEL_F32 },
};

/* One stream of random numbers for each tensor */
enum { STREAM_A = 1, STREAM_B, STREAM_SCALES, STREAM_C, STREAM_BIAS };

/* --- files --- */

static int load(struct ctl *ctl, const char *option, const char *path, struct npy *npy)
{
	char error[NPY_ERROR];
	uint32_t i;
	int ret = npy_load(path, npy, error);

	if (ret)
		return ctl_fail(ctl, ret == -EACCES ? CTL_PERMISSION : CTL_FAILED, ret, option,
				"%s: %s", path, error);
	if (npy->rank < 2 || npy->rank > 3)
		return ctl_fail(ctl, CTL_FAILED, 0, option,
				"%s: %u dimensions; a matrix has 2, a batch of them 3", path,
				npy->rank);
	for (i = 0; i < npy->rank; i++)
		if (npy->dims[i] == 0 || npy->dims[i] > INT32_MAX)
			return ctl_fail(ctl, CTL_FAILED, 0, option,
					"%s: dimension %u is %llu, not from 1 to %d", path, i,
					(unsigned long long)npy->dims[i], INT32_MAX);
	return CTL_OK;
}

static bool is_bf16(const struct npy *npy)
{
	return npy->kind == 'V' && npy->itemsize == 2;
}

static bool is_int(const struct npy *npy)
{
	return npy->kind == 'i' || npy->kind == 'u';
}

/* Without --dtype the files determine it */
static int guess_kind(struct ctl *ctl, struct gemm *g)
{
	const struct npy *npy = g->file_a.data ? &g->file_a : &g->file_b;
	char type[8];

	if (g->kind != GEMM_UNSET)
		return CTL_OK;
	if (!npy->data)
		g->kind = GEMM_FP32;
	else if (is_bf16(npy))
		g->kind = GEMM_BF16;
	else if (npy->kind == 'f')
		g->kind = npy->itemsize == 2 ? GEMM_FP16 : GEMM_FP32;
	else if (is_int(npy) && npy->itemsize == 1)
		g->kind = GEMM_INT8;
	else
		return ctl_fail(ctl, CTL_USAGE, 0, "--dtype",
				"is needed: the type %s of %s says nothing", npy_type(npy, type),
				g->file_a.data ? g->opts->a : g->opts->b);
	return CTL_OK;
}

/* Types that an element of a file may have; *dtype is refined for unsigned bytes */
static int check_type(struct ctl *ctl, const struct gemm *g, const char *option, const char *path,
		      const struct npy *npy, uint32_t *dtype)
{
	double lo, hi, value;
	char type[8];
	uint64_t i;

	npy_type(npy, type);
	if (is_bf16(npy) && g->kind == GEMM_INT8)
		return ctl_fail(ctl, CTL_USAGE, 0, option, "%s: bfloat16 is no integer", path);
	if (is_bf16(npy))
		return CTL_OK;
	if (g->kind == GEMM_INT8 && !is_int(npy))
		return ctl_fail(ctl, CTL_USAGE, 0, option,
				"%s: type %s; --dtype int8 takes integers", path, type);
	if (g->kind == GEMM_INT8 && npy->kind == 'u' && npy->itemsize == 1)
		*dtype = ACCEL_U8;
	if (!is_int(npy) || (*dtype != ACCEL_S8 && *dtype != ACCEL_U8 && *dtype != ACCEL_S4))
		return CTL_OK;
	lo = *dtype == ACCEL_S4 ? -8 : *dtype == ACCEL_U8 ? 0 : -128;
	hi = *dtype == ACCEL_S4 ? 7 : *dtype == ACCEL_U8 ? 255 : 127;
	for (i = 0; i < npy->count; i++) {
		value = npy_get(npy, i, false);
		if (value < lo || value > hi)
			return ctl_fail(ctl, CTL_FAILED, 0, option,
					"%s: element %llu is %.0f, not from %.0f to %.0f", path,
					(unsigned long long)i, value, lo, hi);
	}
	return CTL_OK;
}

/* A size from an option, a file, or both; they have to agree */
static int settle(struct ctl *ctl, const char *option, int64_t *value, uint64_t given,
		  const char *path, const char *what)
{
	if (*value && *value != (int64_t)given)
		return ctl_fail(ctl, CTL_USAGE, 0, option, "is %lld, but %s has %s %llu",
				(long long)*value, path, what, (unsigned long long)given);
	*value = (int64_t)given;
	return CTL_OK;
}

static int settle_file(struct ctl *ctl, const struct npy *npy, const char *path, bool trans,
		       const char *opt_rows, int64_t *rows, const char *opt_cols, int64_t *cols)
{
	uint64_t d0 = npy->dims[npy->rank - 2], d1 = npy->dims[npy->rank - 1];
	int ret = settle(ctl, opt_rows, rows, trans ? d1 : d0, path, trans ? "columns" : "rows");

	return ret ? ret : settle(ctl, opt_cols, cols, trans ? d0 : d1, path,
				  trans ? "rows" : "columns");
}

static int settle_batch(struct ctl *ctl, struct gemm *g)
{
	const struct npy *files[2] = { &g->file_a, &g->file_b };
	const char *paths[2] = { g->opts->a, g->opts->b };
	int64_t *batches[2] = { &g->a.batch, &g->b.batch };
	int ret, i;

	g->batch = (int64_t)g->opts->batch;
	g->rank = g->batch ? 3 : 2;
	for (i = 0; i < 2; i++) {
		if (!files[i]->data || files[i]->rank < 3)
			continue;
		g->rank = 3;
		/* One matrix is repeated for all the others */
		if (files[i]->dims[0] == 1)
			continue;
		ret = settle(ctl, "--batch", &g->batch, files[i]->dims[0], paths[i], "batches");
		if (ret)
			return ret;
	}
	if (!g->batch)
		g->batch = 1;
	for (i = 0; i < 2; i++) {
		*batches[i] = g->batch;
		if (files[i]->data)
			*batches[i] = files[i]->rank == 3 ? (int64_t)files[i]->dims[0] : 1;
	}
	return CTL_OK;
}

/* --- sizes and the descriptor --- */

static int measure(struct ctl *ctl, const char *what, struct gemm_mat *mat)
{
	uint32_t bits = accel_dtype_bits(mat->dtype);
	uint64_t n;

	/* No byte of 4-bit elements is shared by two rows */
	mat->ld = bits == 4 ? (mat->cols + 1) & ~INT64_C(1) : mat->cols;
	if (__builtin_mul_overflow((uint64_t)mat->rows, (uint64_t)mat->ld, &n) ||
	    __builtin_mul_overflow(n, (uint64_t)mat->batch, &n) ||
	    __builtin_mul_overflow(n, bits, &n) || n / 8 > SIZE_MAX / 16)
		return ctl_fail(ctl, CTL_USAGE, 0, what, "is too large");
	mat->bytes = n / 8;
	return CTL_OK;
}

static struct accel_tensor tensor(const struct gemm *g, const struct gemm_mat *mat)
{
	const int64_t dims[3] = { mat->batch, mat->rows, mat->cols };
	struct accel_tensor t = accel_tensor_dense(mat->bo, mat->dtype, g->rank,
						   dims + 3 - g->rank);

	if (mat->ld != mat->cols) {
		t.flags = ACCEL_TENSOR_STRIDES;
		t.strides[g->rank - 1] = 1;
		t.strides[g->rank - 2] = mat->ld;
		if (g->rank == 3)
			t.strides[0] = mat->rows * mat->ld;
	}
	return t;
}

static void describe(struct gemm *g)
{
	const struct gemm_opts *o = g->opts;
	struct accel_gemm_desc desc = ACCEL_GEMM_DESC_INIT;
	double p0 = o->p0, p1 = o->p1;
	uint32_t count = act_parameters(o->act, &p0, &p1);

	desc.hdr.engine = o->engine;
	desc.flags = (o->trans_a ? ACCEL_GEMM_TRANS_A : 0) |
		     (o->trans_b ? ACCEL_GEMM_TRANS_B : 0) |
		     (o->pack ? ACCEL_GEMM_PACK_B : 0);
	if (g->alpha != 1) {
		desc.flags |= ACCEL_GEMM_ALPHA;
		desc.alpha = (float)g->alpha;
	}
	desc.beta = (float)g->beta;
	desc.a = tensor(g, &g->a);
	desc.b = tensor(g, &g->b);
	desc.d = tensor(g, &g->d);
	if (g->c.dtype)
		desc.c = tensor(g, &g->c);
	if (g->bias.dtype)
		desc.epilogue.bias = accel_tensor_dense(g->bias.bo, g->bias.dtype, 1, &g->n);
	desc.epilogue.act = o->act;
	if (count > 0)
		desc.epilogue.p0 = (float)p0;
	if (count > 1)
		desc.epilogue.p1 = (float)p1;
	if (g->scales.dtype) {
		desc.b.quant.scheme = ACCEL_QUANT_GROUP;
		desc.b.quant.axis = o->trans_b ? g->rank - 1 : g->rank - 2;
		desc.b.quant.group = g->group;
		desc.b.quant.scale_dtype = g->scales.dtype;
		desc.b.quant.scales = g->scales.bo;
	} else if (g->kind == GEMM_INT8 && g->d.dtype != ACCEL_S32) {
		desc.a.quant.scheme = ACCEL_QUANT_TENSOR;
		desc.a.quant.scale = (float)GEMM_INT8_SCALE;
		desc.b.quant = desc.a.quant;
	}
	g->desc = desc;
}

static int check_scales(struct ctl *ctl, struct gemm *g)
{
	const struct npy *npy = &g->file_scales;
	const char *path = g->opts->scales;
	uint64_t i;

	if (!path)
		return CTL_OK;
	if (g->kind != GEMM_INT4)
		return ctl_fail(ctl, CTL_USAGE, 0, "--scales", "goes with --dtype int4");
	if (!g->file_b.data || !is_int(&g->file_b))
		return ctl_fail(ctl, CTL_USAGE, 0, "--scales",
				"goes with --b and a file of integers from -8 to 7");
	if (npy->kind != 'f')
		return ctl_fail(ctl, CTL_USAGE, 0, "--scales", "%s: not floating point", path);
	if (npy->dims[npy->rank - 2] != (uint64_t)g->scales.rows ||
	    npy->dims[npy->rank - 1] != (uint64_t)g->scales.cols ||
	    (npy->rank == 3 ? npy->dims[0] : 1) != (uint64_t)g->scales.batch)
		return ctl_fail(ctl, CTL_USAGE, 0, "--scales",
				"%s: not %lld x %lld, one for each group of %u along K", path,
				(long long)g->scales.rows, (long long)g->scales.cols, g->group);
	for (i = 0; i < npy->count; i++)
		if (!isfinite(value_round(ACCEL_F16, npy_get(npy, i, false))))
			return ctl_fail(ctl, CTL_FAILED, 0, "--scales",
					"%s: element %llu is not finite in fp16", path,
					(unsigned long long)i);
	return CTL_OK;
}

uint32_t act_parameters(uint32_t act, double *p0, double *p1)
{
	static const struct {
		uint32_t count;
		double p0, p1;
	} acts[ACCEL_ACT_COUNT] = {
		[ACCEL_ACT_CLAMP] = { 2, 0, 6 },
		[ACCEL_ACT_LEAKY_RELU] = { 1, 0.01, 0 },
		[ACCEL_ACT_HARD_SIGMOID] = { 2, 1.0 / 6, 0.5 },
		[ACCEL_ACT_ELU] = { 1, 1, 0 },
		[ACCEL_ACT_CELU] = { 1, 1, 0 },
		[ACCEL_ACT_SELU] = { 2, 1.6732632423543772, 1.0507009873554805 },
	};

	if (isnan(*p0))
		*p0 = acts[act].p0;
	if (isnan(*p1))
		*p1 = acts[act].p1;
	return acts[act].count;
}

int gemm_init(struct ctl *ctl, const struct gemm_opts *opts, struct gemm *g)
{
	struct gemm_opts *params;
	int ret = CTL_OK;

	memset(g, 0, sizeof(*g));
	g->opts = opts;
	g->kind = opts->dtype;
	g->alpha = opts->alpha;
	g->beta = opts->beta;
	params = (struct gemm_opts *)opts;
	act_parameters(opts->act, &params->p0, &params->p1);

	if (opts->a)
		ret = load(ctl, "--a", opts->a, &g->file_a);
	if (!ret && opts->b)
		ret = load(ctl, "--b", opts->b, &g->file_b);
	if (!ret && opts->scales)
		ret = load(ctl, "--scales", opts->scales, &g->file_scales);
	if (!ret)
		ret = guess_kind(ctl, g);
	if (ret)
		return ret;

	g->m = (int64_t)opts->m;
	g->n = (int64_t)opts->n;
	g->k = (int64_t)opts->k;
	if (g->file_a.data)
		ret = settle_file(ctl, &g->file_a, opts->a, opts->trans_a, "-m", &g->m,
				  "-k", &g->k);
	if (!ret && g->file_b.data)
		ret = settle_file(ctl, &g->file_b, opts->b, opts->trans_b, "-k", &g->k,
				  "-n", &g->n);
	if (ret)
		return ret;
	if (!g->m || !g->n || !g->k)
		return ctl_fail(ctl, CTL_USAGE, 0, !g->m ? "-m" : !g->n ? "-n" : "-k",
				"is needed, unless a file gives it");
	ret = settle_batch(ctl, g);
	if (ret)
		return ret;

	g->a.dtype = kind_types[g->kind].a;
	g->b.dtype = kind_types[g->kind].b;
	g->d.dtype = opts->out_dtype == GEMM_UNSET ? kind_types[g->kind].d :
		     gemm_out_dtypes[opts->out_dtype];
	if (g->file_a.data)
		ret = check_type(ctl, g, "--a", opts->a, &g->file_a, &g->a.dtype);
	if (!ret && g->file_b.data)
		ret = check_type(ctl, g, "--b", opts->b, &g->file_b, &g->b.dtype);
	if (ret)
		return ret;

	g->a.rows = opts->trans_a ? g->k : g->m;
	g->a.cols = opts->trans_a ? g->m : g->k;
	g->b.rows = opts->trans_b ? g->n : g->k;
	g->b.cols = opts->trans_b ? g->k : g->n;
	g->d.batch = g->batch;
	g->d.rows = g->m;
	g->d.cols = g->n;
	if (g->beta != 0)
		g->c = g->d;
	if (opts->bias) {
		g->bias.dtype = g->d.dtype == ACCEL_S32 ? ACCEL_S32 : ACCEL_F32;
		g->bias.batch = g->bias.rows = 1;
		g->bias.cols = g->n;
	}
	if (g->kind == GEMM_INT4) {
		int64_t groups;

		/* From 16 to 4096, according to the option table */
		g->group = (uint32_t)opts->group;
		groups = (g->k + g->group - 1) / g->group;
		g->scales.dtype = ACCEL_F16;
		g->scales.batch = g->b.batch;
		g->scales.rows = opts->trans_b ? g->n : groups;
		g->scales.cols = opts->trans_b ? groups : g->n;
	}
	if (measure(ctl, "A", &g->a) || measure(ctl, "B", &g->b) || measure(ctl, "D", &g->d) ||
	    (g->c.dtype && measure(ctl, "C", &g->c)) ||
	    (g->bias.dtype && measure(ctl, "bias", &g->bias)) ||
	    (g->scales.dtype && measure(ctl, "scales", &g->scales)))
		return CTL_USAGE;
	ret = check_scales(ctl, g);
	if (!ret)
		describe(g);
	return ret;
}

/* --- data --- */

static double unit(uint64_t bits)
{
	return (double)(bits >> 11) / 0x1p53;
}

/* Whole numbers of the full range for integers, [-1, 1) for the rest */
static double random_value(uint64_t seed, uint32_t stream, uint32_t dtype, uint64_t index)
{
	uint64_t bits = value_random(seed, stream, index);

	switch (dtype) {
	case ACCEL_S8:
		return (double)(bits >> 56) - 128;
	case ACCEL_U8:
		return (double)(bits >> 56);
	case ACCEL_S4:
		return (double)(bits >> 60) - 8;
	case ACCEL_S32:
		return (double)(bits >> 44) - (1 << 19);
	default:
		break;
	}
	if (stream == STREAM_SCALES)
		return (0.5 + unit(bits)) / 8;
	return 2 * unit(bits) - 1;
}

static void fill(const struct gemm *g, struct gemm_mat *mat, const struct npy *npy,
		 uint32_t stream)
{
	uint64_t from = 0, to;
	int64_t row, col;

	for (row = 0; row < mat->batch * mat->rows; row++) {
		to = (uint64_t)(row * mat->ld);
		for (col = 0; col < mat->cols; col++, from++, to++)
			value_put(mat->dtype, mat->ptr, to, npy && npy->data ?
				  npy_get(npy, from, g->kind == GEMM_BF16) :
				  random_value(g->opts->seed, stream, mat->dtype, from));
	}
}

/* Where a weight is stored, counted in rows of @ld */
static uint64_t weight_at(const struct gemm *g, const struct gemm_mat *mat, int64_t ld,
			  int64_t batch, int64_t k, int64_t n)
{
	const int64_t row = g->opts->trans_b ? n : k, col = g->opts->trans_b ? k : n;

	return (uint64_t)((batch * mat->rows + row) * ld + col);
}

/* The weights from @from to @to along K become 4 bits: the largest magnitude becomes 7 */
static int quantise_group(struct ctl *ctl, struct gemm *g, int64_t batch, int64_t n, int64_t from,
			  int64_t to)
{
	const struct npy *npy = &g->file_b;
	double largest = 0, scale, value;
	uint64_t at;
	int64_t k;

	for (k = from; k < to; k++) {
		at = weight_at(g, &g->b, g->b.cols, batch, k, n);
		value = npy_get(npy, at, false);
		if (!isfinite(value))
			return ctl_fail(ctl, CTL_FAILED, 0, "--b",
					"%s: element %llu is not finite, a weight has to be",
					g->opts->b, (unsigned long long)at);
		largest = fmax(largest, fabs(value));
	}
	scale = value_round(ACCEL_F16, largest / 7);
	if (isinf(scale))
		return ctl_fail(ctl, CTL_FAILED, 0, "--b",
				"%s: weights up to %g need scales beyond fp16", g->opts->b,
				largest);
	if (scale == 0)
		scale = 1;
	value_put(ACCEL_F16, g->scales.ptr,
		  weight_at(g, &g->scales, g->scales.ld, batch, from / g->group, n), scale);
	for (k = from; k < to; k++)
		value_put(ACCEL_S4, g->b.ptr, weight_at(g, &g->b, g->b.ld, batch, k, n),
			  npy_get(npy, weight_at(g, &g->b, g->b.cols, batch, k, n), false) / scale);
	return CTL_OK;
}

static int quantise(struct ctl *ctl, struct gemm *g)
{
	int64_t batch, n, k;
	int ret;

	if (!g->group)
		return CTL_USAGE;
	for (batch = 0; batch < g->b.batch; batch++)
		for (n = 0; n < g->n; n++)
			for (k = 0; k < g->k; k += g->group) {
				ret = quantise_group(ctl, g, batch, n, k,
						     k + g->group < g->k ? k + g->group : g->k);
				if (ret)
					return ret;
			}
	return CTL_OK;
}

static int allocate(struct ctl *ctl, struct accel_ctx *ctx, const char *label,
		    struct gemm_mat *mat)
{
	struct accel_bo_opts opts = ACCEL_BO_OPTS_INIT;
	struct accel_error error = ACCEL_ERROR_INIT;
	char what[64];
	int ret;

	if (!mat->dtype)
		return CTL_OK;
	opts.label = label;
	ret = accel_bo_create(ctx, mat->bytes, &opts, &mat->bo);
	if (ret) {
		accel_ctx_get_error(ctx, &error);
		error.code = ret;
		snprintf(what, sizeof(what), "no buffer of %llu bytes for %s",
			 (unsigned long long)mat->bytes, label);
		return ctl_fail_error(ctl, ctl_status(ret), what, &error);
	}
	mat->ptr = accel_bo_ptr(mat->bo);
	return CTL_OK;
}

static int sync_cpu(struct ctl *ctl, struct gemm_mat *mat,
		    int (*fn)(struct accel_bo *, uint64_t, uint64_t, uint32_t))
{
	int ret = mat->bo ? fn(mat->bo, 0, mat->bytes, ACCEL_CPU_WRITE) : 0;

	if (ret)
		return ctl_fail(ctl, ctl_status(ret), ret, NULL, "cannot hand a buffer over");
	return CTL_OK;
}

int gemm_fill(struct ctl *ctl, struct accel_ctx *ctx, struct gemm *g)
{
	struct gemm_mat *const mats[] = { &g->a, &g->b, &g->scales, &g->c, &g->bias, &g->d };
	static const char *const labels[] = { "A", "B", "scales", "C", "bias", "D" };
	const bool quantised = g->kind == GEMM_INT4 && g->file_b.data && !is_int(&g->file_b);
	unsigned int i;
	uint64_t j;
	int ret;

	for (i = 0; i < sizeof(mats) / sizeof(mats[0]); i++) {
		ret = allocate(ctl, ctx, labels[i], mats[i]);
		if (!ret)
			ret = sync_cpu(ctl, mats[i], accel_bo_cpu_begin);
		if (ret)
			return ret;
	}
	fill(g, &g->a, &g->file_a, STREAM_A);
	if (quantised) {
		ret = quantise(ctl, g);
		if (ret)
			return ret;
	} else {
		fill(g, &g->b, &g->file_b, STREAM_B);
		if (g->scales.dtype && g->file_b.data && !g->file_scales.data)
			for (j = 0; j < g->scales.bytes / 2; j++)
				value_put(ACCEL_F16, g->scales.ptr, j, 1);
		else if (g->scales.dtype)
			fill(g, &g->scales, &g->file_scales, STREAM_SCALES);
	}
	if (g->c.dtype)
		fill(g, &g->c, NULL, STREAM_C);
	if (g->bias.dtype)
		fill(g, &g->bias, NULL, STREAM_BIAS);
	for (i = 0; i < sizeof(mats) / sizeof(mats[0]); i++) {
		ret = sync_cpu(ctl, mats[i], accel_bo_cpu_end);
		if (ret)
			return ret;
	}
	describe(g);
	return CTL_OK;
}

void gemm_fini(struct gemm *g)
{
	struct gemm_mat *const mats[] = { &g->a, &g->b, &g->scales, &g->c, &g->bias, &g->d };
	unsigned int i;

	for (i = 0; i < sizeof(mats) / sizeof(mats[0]); i++)
		accel_bo_unref(mats[i]->bo);
	npy_free(&g->file_a);
	npy_free(&g->file_b);
	npy_free(&g->file_scales);
}
