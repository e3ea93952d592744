// SPDX-License-Identifier: MIT
/*
 * Rows of an attention's operands in and out. Plain ones go straight through,
 * all others through the model's functions of rows.
 */
#include <string.h>
#include "attn.h"

static struct uma_rowbuf *row_buf(const struct attn_ctx *c)
{
	return c->r->rows_scratch;
}

static const uint8_t *element(const struct uma_tensor_view *t, int64_t off)
{
	return (const uint8_t *)fast_ptr(t) + fast_bytes(t->dtype, off);
}

static bool dense(const struct uma_tensor_view *t)
{
	return t->strides[3] == 1 || t->dims[3] == 1;
}

/* @n values through the model, into @x. */
static int any_row(struct attn_ctx *c, uint32_t slot, const uint32_t *idx, uint32_t n,
		   float *x)
{
	const struct uma_tensor_view *t = attn_view(c, slot);
	const struct uma_row row = {
		.slot = slot,
		.off = uma_tensor_offset(t, idx),
		.stride = t->strides[3],
		.n = n,
		.idx = idx,
		.axis = 3,
	};
	const float *v = uma_row_f32(&c->run, &row, row_buf(c), x);

	if (!v)
		return -1;
	if (v != x)
		memcpy(x, v, 4ul * n);
	return 0;
}

/* --- queries and results ---------------------------------------------------------- */

static void row_at(const struct attn_ctx *c, uint32_t row, uint32_t *idx)
{
	idx[0] = c->p->ragged ? 0 : c->q.b;
	idx[1] = c->q.q_start + attn_query(c, row);
	idx[2] = attn_head(c, row);
	idx[3] = 0;
}

/* Words of a row of Q or K that the row does not fill begin as zeros. */
static void clear_end(const struct attn_plan *p, uint32_t *x)
{
	const uint32_t whole = p->kern->bf16 ? p->d / 2 : p->d;

	memset(x + whole, 0, 4ul * (p->kw - whole));
}

/* Bytes of a row of Q: as bf16 without their scale, else what they stand for. */
static void load_bytes(const struct attn_ctx *c, const struct uma_tensor_view *t,
		       const uint8_t *from, uint32_t *x)
{
	const bool is_signed = t->dtype == UMA_DTYPE_S8, side = dense(t);
	const uint32_t n = side ? c->p->d : 1, count = side ? 1 : c->p->d;
	const struct attn_kernels *k = c->p->kern;
	uint32_t i;

	for (i = 0; i < count; i++, from += t->strides[3])
		if (k->bf16)
			k->narrow((uint16_t *)x + i, from, is_signed, (float)t->zero, n);
		else
			k->dequant((float *)x + i, from, is_signed, (float)t->zero,
				   attn_scale(t), n);
}

/**
 * attn_load_q - a row of Q, negated if the scale is
 * @c: context
 * @row: of the tile
 * @x: out: words of the row
 */
int attn_load_q(struct attn_ctx *c, uint32_t row, uint32_t *x)
{
	const struct uma_tensor_view *t = attn_view(c, UMA_SLOT_A);
	const struct attn_plan *p = c->p;
	uint32_t idx[UMA_MAX_RANK] = { 0 }, flip, i;

	row_at(c, row, idx);
	clear_end(p, x);
	if (uma_is_int8(t->dtype)) {
		load_bytes(c, t, element(t, uma_tensor_offset(t, idx)), x);
	} else if (dense(t) && t->dtype == (p->kern->bf16 ? UMA_DTYPE_BF16 : UMA_DTYPE_F32)) {
		p->kern->copy(x, 0, element(t, uma_tensor_offset(t, idx)), 0, 1,
			      (uint32_t)fast_bytes(t->dtype, p->d));
	} else if (p->kern->bf16) {
		const uint8_t *from = element(t, uma_tensor_offset(t, idx));

		for (i = 0; i < p->d; i++)
			memcpy((uint16_t *)x + i, from + 2 * t->strides[3] * i, 2);
	} else if (dense(t) && uma_is_float(t->dtype)) {
		c->run.k->to_f32[t->dtype]((float *)x, element(t, uma_tensor_offset(t, idx)),
					   p->d);
	} else if (any_row(c, UMA_SLOT_A, idx, p->d, (float *)x)) {
		return -1;
	}
	if (p->negate) {
		flip = p->kern->bf16 ? 0x80008000u : 0x80000000u;
		for (i = 0; i < p->kw; i++)
			x[i] ^= flip;
	}
	return 0;
}

/**
 * attn_prefetch_q - fetch a row of Q that will be loaded
 * @c: context
 * @row: of the tile
 */
void attn_prefetch_q(const struct attn_ctx *c, uint32_t row)
{
	const struct uma_tensor_view *t = attn_view(c, UMA_SLOT_A);
	const int64_t bytes = fast_bytes(t->dtype, c->p->d);
	uint32_t idx[UMA_MAX_RANK] = { 0 };
	const uint8_t *from;
	int64_t i;

	row_at(c, row, idx);
	from = element(t, uma_tensor_offset(t, idx));
	for (i = 0; i < bytes; i += 64)
		__builtin_prefetch(from + i, 0, 3);
}

/**
 * attn_store - a row of the result
 * @c: context
 * @row: of the tile
 * @x: its values
 */
int attn_store(struct attn_ctx *c, uint32_t row, const float *x)
{
	const struct uma_tensor_view *t = attn_view(c, UMA_SLOT_DST);
	struct uma_row to = { .slot = UMA_SLOT_DST, .stride = t->strides[3], .n = c->p->dv };
	uint32_t idx[UMA_MAX_RANK] = { 0 };
	uint8_t *p;

	row_at(c, row, idx);
	to.off = uma_tensor_offset(t, idx);
	if (!dense(t))
		return uma_row_store_f32(&c->run, &to, row_buf(c), x);
	p = (uint8_t *)fast_ptr(t) + fast_bytes(t->dtype, to.off);
	if (t->dtype == UMA_DTYPE_F32)
		memcpy(p, x, 4ul * to.n);
	else if (uma_is_int8(t->dtype))
		c->p->kern->quantise(p, x, t->dtype == UMA_DTYPE_S8, t->zero, attn_scale(t), to.n);
	else
		c->run.k->from_f32[t->dtype](p, x, to.n);
	return 0;
}

/* --- keys and values -------------------------------------------------------------- */

/**
 * attn_table_ok - is an operand of bytes one whose keys have one scale each?
 * @t: K or V
 * @tabled: out: in a table
 */
bool attn_table_ok(const struct uma_tensor_view *t, bool *tabled)
{
	*tabled = false;
	if (!uma_is_int8(t->dtype) || !dense(t))
		return false;
	if (t->quant == UMA_QUANT_TENSOR)
		return t->zero >= -128 && t->zero <= (t->dtype == UMA_DTYPE_U8 ? 255 : 127);
	*tabled = true;
	return t->quant == UMA_QUANT_GROUP && t->quant_axis == 3 &&
	       t->quant_group >= t->dims[3] && !t->zero_addr && !t->zero;
}

/**
 * struct span - keys or values that are evenly apart
 * @t: K or V
 * @p: first
 * @stride: bytes from one to the next
 * @n: number
 * @idx: index of the first
 * @table: their scales, or NULL
 * @table_stride: bytes from one to the next
 */
struct span {
	const struct uma_tensor_view *t;
	const uint8_t *p;
	int64_t stride;
	uint32_t n;
	uint32_t idx[UMA_MAX_RANK];
	const uint8_t *table;
	int64_t table_stride;
};

/* Up to @n keys from @key on. */
static int open_span(struct attn_ctx *c, uint32_t slot, uint64_t key, uint32_t n,
		     struct span *s)
{
	const struct uma_tensor_view *t = attn_view(c, slot);
	const bool paged = uma_has(c->r->prog->op, UMA_SLOT_AUX1);
	uint32_t size;
	bool tabled;

	if (attn_key_at(c, slot, key, s->idx))
		return -1;
	s->t = t;
	s->n = paged ? UMA_MIN(n, t->dims[1] - s->idx[1]) : n;
	s->table = NULL;
	if (uma_is_int4(t->dtype))
		return 0;
	s->p = element(t, uma_tensor_offset(t, s->idx));
	s->stride = fast_bytes(t->dtype, t->strides[1]);
	if (!attn_table_ok(t, &tabled) || !tabled)
		return 0;
	size = uma_dtype_bits(t->scale_dtype) / 8;
	s->table = (const uint8_t *)(uintptr_t)t->scale_addr +
		   uma_table_index(t, s->idx) * size;
	s->table_stride = uma_table_stride(t, 1) * size;
	return 0;
}

/* Scale of key @j of a span that has a table. */
static float span_scale(const struct attn_ctx *c, const struct span *s, uint32_t j)
{
	float scale;

	c->run.k->to_f32[s->t->scale_dtype](&scale, s->table + s->table_stride * j, 1);
	return scale;
}

/* Key or value @j as @n numbers of binary32. */
static int wide_row(struct attn_ctx *c, uint32_t slot, const struct span *s, uint32_t j,
		    uint32_t n, float *x)
{
	const struct uma_tensor_view *t = s->t;
	uint32_t idx[UMA_MAX_RANK];
	bool tabled;

	if (uma_is_float(t->dtype) && dense(t)) {
		c->run.k->to_f32[t->dtype](x, s->p + s->stride * j, n);
		return 0;
	}
	if (attn_table_ok(t, &tabled)) {
		c->p->kern->dequant(x, s->p + s->stride * j, t->dtype == UMA_DTYPE_S8,
				    tabled ? 0 : (float)t->zero,
				    tabled ? span_scale(c, s, j) : attn_scale(t), n);
		return 0;
	}
	memcpy(idx, s->idx, sizeof(idx));
	idx[1] += j;
	return any_row(c, slot, idx, n, x);
}

/* The keys or values of a span as binary32. */
static int wide_rows(struct attn_ctx *c, uint32_t slot, const struct span *s, uint32_t n,
		     float *x, uint32_t ld)
{
	uint32_t j;

	if (s->t->dtype == UMA_DTYPE_F32 && dense(s->t)) {
		c->p->kern->copy(x, 4 * (int64_t)ld, s->p, s->stride, s->n, 4 * n);
		return 0;
	}
	for (j = 0; j < s->n; j++)
		if (wide_row(c, slot, s, j, n, x + (size_t)j * ld))
			return -1;
	return 0;
}

/* The same as bf16; bytes without their scales, which are in @scale. */
static void narrow_rows(struct attn_ctx *c, const struct span *s, uint32_t n, uint16_t *x,
			uint32_t ld, float *scale)
{
	uint32_t j;

	if (s->t->dtype == UMA_DTYPE_BF16) {
		c->p->kern->copy(x, 2 * (int64_t)ld, s->p, s->stride, s->n, 2 * n);
		return;
	}
	for (j = 0; j < s->n; j++) {
		c->p->kern->narrow(x + (size_t)j * ld, s->p + s->stride * j,
				   s->t->dtype == UMA_DTYPE_S8,
				   s->table ? 0 : (float)s->t->zero, n);
		if (s->table)
			scale[j] = span_scale(c, s, j);
	}
}

/**
 * attn_load_keys - keys of a block, and zeros behind them
 * @c: context
 * @key: first
 * @n: number
 * @x: out: words
 * @ld: distance of keys in @x
 * @scale: out: of each, if they have some
 */
int attn_load_keys(struct attn_ctx *c, uint64_t key, uint32_t n, uint32_t *x, uint32_t ld,
		   float *scale)
{
	const struct attn_plan *p = c->p;
	const uint32_t end = (uint32_t)uma_roundup(n, p->kern->mr);
	struct span s = { 0 };
	uint32_t i, j;

	for (j = 0; j < n; j += s.n, x += (size_t)s.n * ld, scale += s.n) {
		if (open_span(c, UMA_SLOT_B, key + j, n - j, &s))
			return -1;
		for (i = 0; i < s.n && p->kern->bf16 && 2 * p->kw > p->d; i++)
			clear_end(p, x + (size_t)i * ld);
		if (p->kern->bf16)
			narrow_rows(c, &s, p->d, (uint16_t *)x, 2 * ld, scale);
		else if (wide_rows(c, UMA_SLOT_B, &s, p->d, (float *)x, ld))
			return -1;
	}
	for (; j < end; j++, x += ld, scale++) {
		memset(x, 0, 4ul * p->kw);
		*scale = 0;
	}
	return 0;
}

/*
 * Values as pairs of bf16: rows @half words apart in @tmp, then side by side; an
 * odd one out is paired with zeros.
 */
static int load_pairs(struct attn_ctx *c, uint64_t key, uint32_t n, uint32_t *x,
		      uint32_t ld, float *scale)
{
	const uint32_t dv = c->p->dv;
	uint16_t *tmp = c->r->rows_scratch;
	struct span s = { 0 };
	uint32_t i, j;

	for (j = 0; j < n; j += s.n) {
		if (open_span(c, UMA_SLOT_C, key + j, n - j, &s))
			return -1;
		narrow_rows(c, &s, dv, tmp + (size_t)j * dv, dv, scale + j);
	}
	if (n & 1)
		memset(tmp + (size_t)n * dv, 0, 2ul * dv);
	for (i = 0; i < n; i += 2, x += ld)
		c->p->kern->pair(x, tmp + (size_t)i * dv, tmp + (size_t)(i + 1) * dv, dv);
	return 0;
}

/**
 * attn_load_values - values of a block
 * @c: context
 * @key: first
 * @n: number
 * @x: out: words; pairs have zeros for a value that is not there
 * @ld: distance of values or pairs
 * @scale: out: of each, if they have some
 */
int attn_load_values(struct attn_ctx *c, uint64_t key, uint32_t n, uint32_t *x,
		     uint32_t ld, float *scale)
{
	struct span s = { 0 };
	uint32_t j;

	if (c->p->kern->bf16)
		return load_pairs(c, key, n, x, ld, scale);
	for (j = 0; j < n; j += s.n, x += (size_t)s.n * ld)
		if (open_span(c, UMA_SLOT_C, key + j, n - j, &s) ||
		    wide_rows(c, UMA_SLOT_C, &s, c->p->dv, (float *)x, ld))
			return -1;
	return 0;
}

static void prefetch(const struct attn_ctx *c, uint32_t slot, uint64_t key, uint32_t n)
{
	const struct uma_tensor_view *t = attn_view(c, slot);
	const int64_t bytes = fast_bytes(t->dtype, t->dims[3]);
	const int64_t stride = fast_bytes(t->dtype, t->strides[1]);
	const uint32_t idx[UMA_MAX_RANK] = {
		c->p->kv_ragged ? 0 : c->q.b, c->q.kv_start + (uint32_t)key, c->q.g, 0
	};
	const uint8_t *from = element(t, uma_tensor_offset(t, idx));
	uint32_t j;
	int64_t i;

	for (j = 0; j < n; j++, from += stride)
		for (i = 0; i < bytes; i += 64)
			__builtin_prefetch(from + i, 0, 2);
}

/**
 * attn_prefetch - keys and values that will be loaded
 * @c: context
 * @key: first
 * @n: number
 *
 * Rows are short and far apart: no prefetcher of a CPU finds them.
 */
void attn_prefetch(const struct attn_ctx *c, uint64_t key, uint32_t n)
{
	/* Of pages the table would have to be read ahead. */
	if (uma_has(c->r->prog->op, UMA_SLOT_AUX1))
		return;
	prefetch(c, UMA_SLOT_B, key, n);
	prefetch(c, UMA_SLOT_C, key, n);
}

/**
 * attn_load_value - a value as binary32
 * @c: context
 * @key: its key
 * @x: out
 */
int attn_load_value(struct attn_ctx *c, uint64_t key, float *x)
{
	struct span s = { 0 };

	return open_span(c, UMA_SLOT_C, key, 1, &s) ? -1 :
	       wide_row(c, UMA_SLOT_C, &s, 0, c->p->dv, x);
}

/* --- what is added to the scores --------------------------------------------------- */

/**
 * attn_load_mask - what a mask adds to the scores of a row
 * @c: context
 * @row: of the tile
 * @key: first key
 * @n: keys
 * @x: out
 */
int attn_load_mask(struct attn_ctx *c, uint32_t row, uint64_t key, uint32_t n, float *x)
{
	const struct uma_tensor_view *t = attn_view(c, UMA_SLOT_AUX0);
	const uint32_t idx[UMA_MAX_RANK] = {
		c->q.b, attn_head(c, row), attn_query(c, row), (uint32_t)key
	};
	const uint8_t *p;
	uint32_t i;

	if (t->dtype != UMA_DTYPE_U8)
		return any_row(c, UMA_SLOT_AUX0, idx, n, x);
	p = element(t, uma_tensor_offset(t, idx));
	for (i = 0; i < n; i++)
		x[i] = p[t->strides[3] * i] ? 0 : -__builtin_inff();
	return 0;
}

/* The slope of a row's head. */
int attn_load_slope(struct attn_ctx *c, uint32_t row, float *x)
{
	const struct uma_tensor_view *t = attn_view(c, UMA_SLOT_AUX3);
	const uint32_t head = attn_head(c, row);

	*x = ((const float *)fast_ptr(t))[t->rank == 1 ? head * t->strides[0] :
					  c->q.b * t->strides[0] + head * t->strides[1]];
	return 0;
}

/* The sink of a row's head. */
int attn_load_sink(struct attn_ctx *c, uint32_t row, float *x)
{
	const struct uma_tensor_view *t = attn_view(c, UMA_SLOT_AUX4);

	c->run.k->to_f32[t->dtype](x, element(t, attn_head(c, row) * t->strides[0]), 1);
	return 0;
}
