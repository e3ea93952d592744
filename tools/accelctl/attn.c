// SPDX-License-Identifier: MIT
/*
 * Sizes, data and reference of an attention.
 *
 * The reference is the oracle of the library's tests, which only uses the public header and
 * propagates the error bound. It is called for one query at a time, so that SIGINT ends a long
 * check.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attn.h"
#include "gemm.h"
#include "interrupt.h"
#include "libaccel/tests/oracle/oracle.h"

#define MAX_DIM		1024
/* Smallest group of the library */
#define MIN_GROUP	16

/* Streams of random numbers */
enum { STREAM_Q = 1, STREAM_K, STREAM_V, STREAM_SINKS, STREAM_PAGES };

static const struct {
	const char *label;
	uint32_t arg;
} parts[ATTN_PARTS] = {
	[ATTN_Q] = { "Q", ACCEL_ARG_A },
	[ATTN_K] = { "K", ACCEL_ARG_B },
	[ATTN_V] = { "V", ACCEL_ARG_C },
	[ATTN_D] = { "D", ACCEL_ARG_D },
	[ATTN_K_SCALES] = { "scales of K", ACCEL_ARG_B | ACCEL_ARG_SCALES },
	[ATTN_V_SCALES] = { "scales of V", ACCEL_ARG_C | ACCEL_ARG_SCALES },
	[ATTN_MASK] = { "mask", ACCEL_ARG_AUX0 },
	[ATTN_PAGES] = { "page table", ACCEL_ARG_AUX1 },
	[ATTN_LENGTHS] = { "lengths", ACCEL_ARG_AUX2 },
	[ATTN_SLOPES] = { "slopes", ACCEL_ARG_AUX3 },
	[ATTN_SINKS] = { "sinks", ACCEL_ARG_AUX4 },
	[ATTN_PARTIALS] = { "partials", ACCEL_ARG_RESIDUAL },
};

static const uint32_t dtypes[] = { ACCEL_F32, ACCEL_F16, ACCEL_BF16, ACCEL_S8 };

const char *attn_label(enum attn_part part)
{
	return parts[part].label;
}

/* --- files and sizes --- */

static int load(struct ctl *ctl, const char *option, const char *path, struct npy *npy)
{
	char error[NPY_ERROR];
	uint32_t i;
	int ret;

	if (!path)
		return CTL_OK;
	ret = npy_load(path, npy, error);
	if (ret)
		return ctl_fail(ctl, ret == -EACCES ? CTL_PERMISSION : CTL_FAILED, ret, option,
				"%s: %s", path, error);
	for (i = 0; i < npy->rank; i++)
		if (npy->dims[i] < 1 || npy->dims[i] > INT32_MAX)
			return ctl_fail(ctl, CTL_USAGE, 0, option,
					"%s: a dimension of %llu is empty or too large", path,
					(unsigned long long)npy->dims[i]);
	return CTL_OK;
}

/* A size that options and files agree on */
static int settle(struct ctl *ctl, const char *option, const char *path, const char *what,
		  int64_t *size, uint64_t given)
{
	if (*size && *size != (int64_t)given)
		return ctl_fail(ctl, CTL_USAGE, 0, option, "%s: %llu %s, but there are %lld", path,
				(unsigned long long)given, what, (long long)*size);
	*size = (int64_t)given;
	return CTL_OK;
}

/* [batch, rows, heads, dim]; of three dimensions the batch is 1, of two also the heads */
static int settle_file(struct ctl *ctl, const char *option, const char *path,
		       const struct npy *npy, struct attn *a, int64_t *rows, const char *what,
		       int64_t *heads, int64_t *dim)
{
	const uint64_t *d = npy->dims;
	uint32_t rank = npy->rank;
	int ret;

	if (!npy->data)
		return CTL_OK;
	if (rank < 2 || rank > 4)
		return ctl_fail(ctl, CTL_USAGE, 0, option, "%s: has %u dimensions, not 2 to 4",
				path, rank);
	if (d[rank - 1] > MAX_DIM)
		return ctl_fail(ctl, CTL_USAGE, 0, option,
				"%s: %llu elements of a head are more than %d", path,
				(unsigned long long)d[rank - 1], MAX_DIM);
	ret = settle(ctl, option, path, "sequences", &a->batch, rank > 3 ? d[0] : 1);
	if (!ret)
		ret = settle(ctl, option, path, what, rows, rank > 3 ? d[1] : d[0]);
	if (!ret)
		ret = settle(ctl, option, path, "heads", heads, rank > 2 ? d[rank - 2] : 1);
	if (!ret)
		ret = settle(ctl, option, path, "elements of a head", dim, d[rank - 1]);
	return ret;
}

static int settle_sizes(struct ctl *ctl, struct attn *a)
{
	const struct attn_opts *o = a->opts;
	int ret;

	a->batch = (int64_t)o->batch;
	a->queries = (int64_t)o->queries;
	a->keys = (int64_t)o->keys;
	a->heads = (int64_t)o->heads;
	a->kv_heads = (int64_t)o->kv_heads;
	a->dim = (int64_t)o->dim;
	ret = settle_file(ctl, "--q", o->q, &a->file_q, a, &a->queries, "queries", &a->heads,
			  &a->dim);
	if (!ret)
		ret = settle_file(ctl, "--k", o->k, &a->file_k, a, &a->keys, "keys",
				  &a->kv_heads, &a->dim);
	if (!ret)
		ret = settle_file(ctl, "--v", o->v, &a->file_v, a, &a->keys, "keys",
				  &a->kv_heads, &a->v_dim);
	if (ret)
		return ret;
	a->batch = a->batch ? a->batch : 1;
	a->queries = a->queries ? a->queries : 64;
	a->keys = a->keys ? a->keys : a->queries;
	a->heads = a->heads ? a->heads : a->kv_heads ? a->kv_heads : 4;
	a->kv_heads = a->kv_heads ? a->kv_heads : a->heads;
	a->dim = a->dim ? a->dim : 64;
	a->v_dim = a->v_dim ? a->v_dim : a->dim;
	if (a->heads % a->kv_heads)
		return ctl_fail(ctl, CTL_USAGE, 0, "--kv-heads",
				"%lld heads of keys do not divide the %lld of the queries",
				(long long)a->kv_heads, (long long)a->heads);
	if (o->page_size) {
		a->pages = (a->keys + (int64_t)o->page_size - 1) / (int64_t)o->page_size;
		if (a->pages > INT32_MAX / a->batch)
			return ctl_fail(ctl, CTL_USAGE, 0, "--page-size",
					"%lld sequences of %lld pages are too many",
					(long long)a->batch, (long long)a->pages);
	}
	return CTL_OK;
}

static void set(struct attn *a, enum attn_part part, uint32_t dtype, uint32_t rank,
		const int64_t *dims)
{
	struct attn_tensor *t = &a->t[part];

	t->dtype = dtype;
	t->rank = rank;
	memcpy(t->dims, dims, rank * sizeof(*dims));
}

/* Keys that there is room for: pages are whole */
static int64_t room(const struct attn *a)
{
	return a->pages ? a->pages * (int64_t)a->opts->page_size : a->keys;
}

static int set_mask(struct ctl *ctl, struct attn *a)
{
	const int64_t full[4] = { a->batch, a->heads, a->queries, a->keys };
	const struct npy *npy = &a->file_mask;
	int64_t dims[4] = { 0 };
	uint32_t i, dtype;
	char type[8];

	if (!npy->data)
		return CTL_OK;
	if (npy->rank < 1 || npy->rank > 4)
		return ctl_fail(ctl, CTL_USAGE, 0, "--mask", "%s: has %u dimensions, not 1 to 4",
				a->opts->mask, npy->rank);
	if (npy->kind == 'f')
		dtype = npy->itemsize == 2 ? ACCEL_F16 : ACCEL_F32;
	else if (npy->kind == 'V')
		dtype = ACCEL_BF16;
	else if (npy->kind == 'u' && npy->itemsize == 1)
		dtype = ACCEL_U8;
	else
		return ctl_fail(ctl, CTL_USAGE, 0, "--mask",
				"%s: type %s; a mask is floating point, b1 or u1", a->opts->mask,
				npy_type(npy, type));
	for (i = 0; i < npy->rank; i++) {
		dims[i] = (int64_t)npy->dims[i];
		if (dims[i] != 1 && dims[i] != full[4 - npy->rank + i])
			return ctl_fail(ctl, CTL_USAGE, 0, "--mask",
					"%s: dimension %u is %lld, neither 1 nor %lld",
					a->opts->mask, i, (long long)dims[i],
					(long long)full[4 - npy->rank + i]);
	}
	if (dims[npy->rank - 1] > 1)
		dims[npy->rank - 1] = room(a);
	set(a, ATTN_MASK, dtype, npy->rank, dims);
	return CTL_OK;
}

static void set_tensors(struct attn *a)
{
	const struct attn_opts *o = a->opts;
	uint32_t kv = dtypes[o->kv_dtype == ATTN_UNSET ? o->dtype : o->kv_dtype];
	int64_t first = a->pages ? a->batch * a->pages : a->batch;
	int64_t rows = a->pages ? (int64_t)o->page_size : a->keys;
	int64_t longest = a->dim > a->v_dim ? a->dim : a->v_dim;

	set(a, ATTN_Q, dtypes[o->dtype], 4,
	    (int64_t[]){ a->batch, a->queries, a->heads, a->dim });
	set(a, ATTN_D, dtypes[o->dtype], 4,
	    (int64_t[]){ a->batch, a->queries, a->heads, a->v_dim });
	set(a, ATTN_K, kv, 4, (int64_t[]){ first, rows, a->kv_heads, a->dim });
	set(a, ATTN_V, kv, 4, (int64_t[]){ first, rows, a->kv_heads, a->v_dim });
	if (kv == ACCEL_S8) {
		for (a->group = MIN_GROUP; a->group < longest; a->group *= 2)
			;
		set(a, ATTN_K_SCALES, ACCEL_F32, 4, (int64_t[]){ first, rows, a->kv_heads, 1 });
		set(a, ATTN_V_SCALES, ACCEL_F32, 4, (int64_t[]){ first, rows, a->kv_heads, 1 });
	}
	if (a->pages) {
		set(a, ATTN_PAGES, ACCEL_S32, 2, (int64_t[]){ a->batch, a->pages });
		set(a, ATTN_LENGTHS, ACCEL_S32, 1, &a->batch);
	}
	if (o->alibi)
		set(a, ATTN_SLOPES, ACCEL_F32, 1, &a->heads);
	if (o->sinks)
		set(a, ATTN_SINKS, ACCEL_F32, 1, &a->heads);
	if (o->pieces)
		set(a, ATTN_PARTIALS, ACCEL_F32, 5,
		    (int64_t[]){ (int64_t)o->pieces, a->batch, a->queries, a->heads,
				 a->v_dim + 2 });
}

static int measure(struct ctl *ctl, struct attn *a)
{
	uint32_t i, j;

	for (i = 0; i < ATTN_PARTS; i++) {
		struct attn_tensor *t = &a->t[i];
		uint64_t n = accel_dtype_bits(t->dtype) / 8;

		for (j = 0; t->dtype && j < t->rank; j++)
			if (__builtin_mul_overflow(n, (uint64_t)t->dims[j], &n) ||
			    n > SIZE_MAX / 16)
				return ctl_fail(ctl, CTL_USAGE, 0, parts[i].label, "is too large");
		t->bytes = t->dtype ? n : 0;
	}
	return CTL_OK;
}

int attn_init(struct ctl *ctl, const struct attn_opts *opts, struct attn *a)
{
	int ret;

	memset(a, 0, sizeof(*a));
	a->opts = opts;
	if (opts->keep && opts->window == ATTN_NO_WINDOW)
		return ctl_fail(ctl, CTL_USAGE, 0, "--keep", "goes with --window");
	if (opts->softcap < 0)
		return ctl_fail(ctl, CTL_USAGE, 0, "--softcap", "%g is below 0", opts->softcap);
	ret = load(ctl, "--q", opts->q, &a->file_q);
	if (!ret)
		ret = load(ctl, "--k", opts->k, &a->file_k);
	if (!ret)
		ret = load(ctl, "--v", opts->v, &a->file_v);
	if (!ret)
		ret = load(ctl, "--mask", opts->mask, &a->file_mask);
	if (!ret)
		ret = settle_sizes(ctl, a);
	if (!ret)
		ret = set_mask(ctl, a);
	if (ret)
		return ret;
	set_tensors(a);
	ret = measure(ctl, a);
	if (!ret)
		attn_describe(a);
	return ret;
}

/* --- descriptor --- */

static void describe_scales(const struct attn *a, enum attn_part part, struct accel_tensor *t)
{
	if (!a->t[part].dtype)
		return;
	t->quant.scheme = ACCEL_QUANT_GROUP;
	t->quant.axis = 3;
	t->quant.group = a->group;
	t->quant.scale_dtype = a->t[part].dtype;
	t->quant.scales = a->t[part].bo;
}

void attn_describe(struct attn *a)
{
	const struct attn_opts *o = a->opts;
	struct accel_attention_desc *d = &a->desc;
	struct accel_tensor *const to[ATTN_PARTS] = {
		[ATTN_Q] = &d->q, [ATTN_K] = &d->k, [ATTN_V] = &d->v, [ATTN_D] = &d->d,
		[ATTN_MASK] = &d->mask, [ATTN_PAGES] = &d->pages, [ATTN_LENGTHS] = &d->lengths,
		[ATTN_SLOPES] = &d->slopes, [ATTN_SINKS] = &d->sinks,
		[ATTN_PARTIALS] = &d->partials,
	};
	uint32_t i;

	*d = (struct accel_attention_desc)ACCEL_ATTENTION_DESC_INIT;
	d->hdr.engine = o->engine;
	d->softcap = (float)o->softcap;
	if (o->causal)
		d->flags |= ACCEL_ATTENTION_CAUSAL;
	if (!isnan(o->scale)) {
		d->flags |= ACCEL_ATTENTION_SCALE;
		d->scale = (float)o->scale;
	}
	if (o->window != ATTN_NO_WINDOW) {
		d->flags |= ACCEL_ATTENTION_WINDOW;
		d->window_left = (uint32_t)o->window;
		d->window_right = (uint32_t)o->window;
		d->keep = (uint32_t)o->keep;
	}
	for (i = 0; i < ATTN_PARTS; i++)
		if (to[i] && a->t[i].dtype)
			*to[i] = accel_tensor_dense(a->t[i].bo, a->t[i].dtype, a->t[i].rank,
						    a->t[i].dims);
	describe_scales(a, ATTN_K_SCALES, &d->k);
	describe_scales(a, ATTN_V_SCALES, &d->v);
}

uint32_t attn_bind(const struct attn *a, struct accel_binding *bindings)
{
	uint32_t i, count = 0;

	memset(bindings, 0, ATTN_PARTS * sizeof(*bindings));
	for (i = 0; i < ATTN_PARTS; i++) {
		if (!a->t[i].dtype)
			continue;
		bindings[count].arg = parts[i].arg;
		bindings[count++].bo = a->t[i].bo;
	}
	return count;
}

/* --- data --- */

static double random_value(const struct attn *a, uint32_t stream, uint64_t i)
{
	return 2 * ((double)(value_random(a->opts->seed, stream, i) >> 11) / 0x1p53) - 1;
}

static double input(const struct attn *a, const struct npy *npy, uint32_t stream, uint32_t dtype,
		    uint64_t i)
{
	return npy->data ? npy_get(npy, i, dtype == ACCEL_BF16) : random_value(a, stream, i);
}

/* A permutation of all pages */
static void shuffle(struct attn *a)
{
	uint64_t count = (uint64_t)(a->batch * a->pages), i, j;

	a->table = ctl_alloc(count, sizeof(*a->table));
	for (i = 0; i < count; i++) {
		j = value_random(a->opts->seed, STREAM_PAGES, i) % (i + 1);
		a->table[i] = a->table[j];
		a->table[j] = (int32_t)i;
	}
}

/* Which row, of all that the heads of keys have, is key @j of sequence @b */
static uint64_t row_of(const struct attn *a, int64_t b, int64_t j, int64_t g)
{
	int64_t size = (int64_t)a->opts->page_size, at = b * a->keys + j;

	if (a->pages)
		at = a->table[b * a->pages + j / size] * size + j % size;
	return (uint64_t)(at * a->kv_heads + g);
}

/*
 * Quantise a row to int8: its largest magnitude becomes 127. A row of zeros has the scale 1;
 * NaN and infinities make the scale, and so the whole row, NaN or infinite.
 */
static void put_quantised(void *to, float *scale, uint64_t row, const double *from, uint64_t dim)
{
	double top = 0;
	uint64_t e;

	for (e = 0; e < dim; e++)
		if (isnan(from[e]) || fabs(from[e]) > top)
			top = fabs(from[e]);
	scale[row] = top > 0 || isnan(top) ? (float)(top / 127) : 1;
	for (e = 0; e < dim; e++)
		value_put(ACCEL_S8, to, row * dim + e, from[e] / (double)scale[row]);
}

static void fill_rows(struct attn *a, enum attn_part part, enum attn_part scales,
		      const struct npy *npy, uint32_t stream)
{
	const struct attn_tensor *t = &a->t[part];
	uint64_t dim = (uint64_t)t->dims[3], from = 0, row, e;
	void *to = accel_bo_ptr(t->bo);
	int64_t b, j, g;
	double x[MAX_DIM];

	for (b = 0; b < a->batch; b++)
		for (j = 0; j < a->keys; j++)
			for (g = 0; g < a->kv_heads; g++) {
				row = row_of(a, b, j, g);
				for (e = 0; e < dim; e++)
					x[e] = input(a, npy, stream, t->dtype, from++);
				if (t->dtype == ACCEL_S8) {
					put_quantised(to, accel_bo_ptr(a->t[scales].bo), row, x,
						      dim);
					continue;
				}
				for (e = 0; e < dim; e++)
					value_put(t->dtype, to, row * dim + e, x[e]);
			}
}

/* Rows of the mask are as long as there is room for keys */
static void fill_mask(struct attn *a)
{
	const struct attn_tensor *t = &a->t[ATTN_MASK];
	const struct npy *npy = &a->file_mask;
	uint64_t width, to, i;

	if (!t->dtype)
		return;
	width = npy->dims[npy->rank - 1];
	memset(accel_bo_ptr(t->bo), 0, t->bytes);
	for (i = 0; i < npy->count; i++) {
		to = i / width * (uint64_t)t->dims[t->rank - 1] + i % width;
		value_put(t->dtype, accel_bo_ptr(t->bo), to, npy_get(npy, i, false));
	}
}

void attn_fill(struct attn *a)
{
	const struct attn_tensor *q = &a->t[ATTN_Q];
	uint64_t i, n = q->bytes * 8 / accel_dtype_bits(q->dtype);
	int64_t b, h;

	for (i = 0; i < n; i++)
		value_put(q->dtype, accel_bo_ptr(q->bo), i,
			  input(a, &a->file_q, STREAM_Q, q->dtype, i));
	if (a->pages) {
		shuffle(a);
		memcpy(accel_bo_ptr(a->t[ATTN_PAGES].bo), a->table, a->t[ATTN_PAGES].bytes);
		for (b = 0; b < a->batch; b++)
			((int32_t *)accel_bo_ptr(a->t[ATTN_LENGTHS].bo))[b] = (int32_t)a->keys;
	}
	fill_rows(a, ATTN_K, ATTN_K_SCALES, &a->file_k, STREAM_K);
	fill_rows(a, ATTN_V, ATTN_V_SCALES, &a->file_v, STREAM_V);
	fill_mask(a);
	for (h = 0; h < a->heads; h++) {
		if (a->t[ATTN_SLOPES].dtype)
			value_put(ACCEL_F32, accel_bo_ptr(a->t[ATTN_SLOPES].bo), (uint64_t)h,
				  exp2(-8 * (double)(h + 1) / (double)a->heads));
		if (a->t[ATTN_SINKS].dtype)
			value_put(ACCEL_F32, accel_bo_ptr(a->t[ATTN_SINKS].bo), (uint64_t)h,
				  random_value(a, STREAM_SINKS, (uint64_t)h));
	}
}

void attn_fini(struct attn *a)
{
	uint32_t i;

	for (i = 0; i < ATTN_PARTS; i++)
		accel_bo_unref(a->t[i].bo);
	free(a->table);
	npy_free(&a->file_q);
	npy_free(&a->file_k);
	npy_free(&a->file_v);
	npy_free(&a->file_mask);
}

/* --- reference --- */

/* The part of a tensor for query @i; @dim is the dimension of the queries, counted from the end */
static void one_query(struct accel_tensor *t, uint32_t dim, int64_t i)
{
	int64_t strides[ACCEL_MAX_RANK];

	if (t->rank < dim || t->dims[t->rank - dim] == 1)
		return;
	oracle_strides(t, strides);
	memcpy(t->strides, strides, t->rank * sizeof(*strides));
	t->flags |= ACCEL_TENSOR_STRIDES;
	t->offset += (uint64_t)(i * strides[t->rank - dim]) * accel_dtype_bits(t->dtype) / 8;
	t->dims[t->rank - dim] = 1;
}

static void judge(const struct accel_tensor *d, const struct oracle_result *r,
		  struct attn_verdict *v)
{
	double got, want, bound, err, ratio;
	int64_t idx[ACCEL_MAX_RANK];
	uint64_t n;
	bool ok;

	for (n = 0; n < r->count; n++) {
		oracle_index(d, n, idx);
		got = oracle_load(d, idx);
		ok = oracle_float_ok(got, &r->num[n], d->dtype, &want, &bound);
		v->differing += oracle_apart(got, oracle_round(want, d->dtype)) > 0;
		/* Nothing, or nothing but an infinity, is demanded, and that is met */
		if (ok && !isfinite(got - want))
			continue;
		err = oracle_apart(got, want);
		ratio = err == 0 ? 0 : bound > 0 && isfinite(err) ? err / bound : INFINITY;
		if (ok && !isfinite(r->num[n].e))
			continue;
		v->max_abs = fmax(v->max_abs, err);
		if (ratio > v->ratio) {
			v->ratio = ratio;
			v->got = got;
			v->want = want;
		}
	}
}

int attn_check(const struct attn *a, struct attn_verdict *v)
{
	struct accel_attention_desc one;
	struct oracle_result r = { 0 };
	int64_t i;

	*v = (struct attn_verdict){ 0 };
	for (i = 0; i < a->queries; i++) {
		if (ctl_interrupted())
			return -EINTR;
		one = a->desc;
		one_query(&one.q, 3, i);
		one_query(&one.d, 3, i);
		one_query(&one.mask, 2, i);
		one.flags |= ACCEL_ATTENTION_OFFSET;
		one.q_offset = (int32_t)(a->keys - a->queries + i);
		if (oracle_attention.compute(&one.hdr, 0, &r))
			return -ENOMEM;
		judge(&one.d, &r, v);
		oracle_free(&r);
	}
	return 0;
}
