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
	if (p->kern->bf16 && !p->stream) {
		const uint8_t *from = element(t, uma_tensor_offset(t, idx));

		x[p->kw - 1] = 0;
		if (dense(t))
			memcpy(x, from, 2ul * p->d);
		else
			for (i = 0; i < p->d; i++)
				memcpy((uint16_t *)x + i, from + 2 * t->strides[3] * i, 2);
	} else if (any_row(c, UMA_SLOT_A, idx, p->d, (float *)x)) {
		return -1;
	}
	if (p->negate) {
		flip = p->kern->bf16 && !p->stream ? 0x80008000u : 0x80000000u;
		for (i = 0; i < (p->stream ? p->d : p->kw); i++)
			x[i] ^= flip;
	}
	return 0;
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

static float table_scale(const struct attn_ctx *c, const struct uma_tensor_view *t,
			 const uint32_t *idx)
{
	const uint32_t size = uma_dtype_bits(t->scale_dtype) / 8;
	const uint8_t *p = (const uint8_t *)(uintptr_t)t->scale_addr;
	float scale;

	c->run.k->to_f32[t->scale_dtype](&scale, p + uma_table_index(t, idx) * size, 1);
	return scale;
}

static float immediate_scale(const struct uma_tensor_view *t)
{
	float scale;

	memcpy(&scale, &t->scale, 4);
	return scale;
}

/* A key or value of @n elements as binary32. */
static int wide_row(struct attn_ctx *c, uint32_t slot, const uint32_t *idx, uint32_t n,
		    float *x)
{
	const struct uma_tensor_view *t = attn_view(c, slot);
	const uint8_t *from;
	bool tabled;

	if (uma_is_float(t->dtype) && dense(t)) {
		from = element(t, uma_tensor_offset(t, idx));
		if (t->dtype == UMA_DTYPE_F32)
			memcpy(x, from, 4ul * n);
		else
			c->run.k->to_f32[t->dtype](x, from, n);
		return 0;
	}
	if (!attn_table_ok(t, &tabled))
		return any_row(c, slot, idx, n, x);
	c->p->kern->dequant(x, element(t, uma_tensor_offset(t, idx)),
			    t->dtype == UMA_DTYPE_S8, tabled ? 0 : (float)t->zero,
			    tabled ? table_scale(c, t, idx) : immediate_scale(t), n);
	return 0;
}

/* The same as bf16; bytes without their scale, which is in @scale. */
static void narrow_row(struct attn_ctx *c, uint32_t slot, const uint32_t *idx, uint32_t n,
		       uint16_t *x, float *scale)
{
	const struct uma_tensor_view *t = attn_view(c, slot);
	const uint8_t *from = element(t, uma_tensor_offset(t, idx));
	bool tabled;

	if (t->dtype == UMA_DTYPE_BF16) {
		memcpy(x, from, 2ul * n);
		return;
	}
	attn_table_ok(t, &tabled);
	c->p->kern->narrow(x, from, t->dtype == UMA_DTYPE_S8, tabled ? 0 : (float)t->zero, n);
	if (tabled)
		*scale = table_scale(c, t, idx);
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
	uint32_t idx[UMA_MAX_RANK] = { 0 }, j;

	for (j = 0; j < n; j++, x += ld) {
		if (attn_key_at(c, UMA_SLOT_B, key + j, idx))
			return -1;
		x[p->kw - 1] = 0;
		if (p->kern->bf16)
			narrow_row(c, UMA_SLOT_B, idx, p->d, (uint16_t *)x, &scale[j]);
		else if (wide_row(c, UMA_SLOT_B, idx, p->d, (float *)x))
			return -1;
	}
	for (; j < end; j++, x += ld) {
		memset(x, 0, 4ul * p->kw);
		scale[j] = 0;
	}
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
	const struct attn_plan *p = c->p;
	uint16_t *half = c->r->rows_scratch;
	uint32_t idx[UMA_MAX_RANK] = { 0 }, j;

	for (j = 0; j < n; j++) {
		if (attn_key_at(c, UMA_SLOT_C, key + j, idx))
			return -1;
		if (!p->kern->bf16) {
			if (wide_row(c, UMA_SLOT_C, idx, p->dv, (float *)x))
				return -1;
			x += ld;
			continue;
		}
		narrow_row(c, UMA_SLOT_C, idx, p->dv, half + (j & 1) * UMA_ROW_MAX, &scale[j]);
		if (j + 1 == n && !(j & 1))
			memset(half + UMA_ROW_MAX, 0, 2ul * p->dv);
		if (j + 1 == n || (j & 1)) {
			p->kern->pair(x, half, half + UMA_ROW_MAX, p->dv);
			x += ld;
		}
	}
	return 0;
}

static void prefetch(const struct attn_ctx *c, uint32_t slot, uint64_t key, uint32_t n)
{
	const struct uma_tensor_view *t = attn_view(c, slot);
	const int64_t bytes = fast_bytes(t->dtype, t->dims[3]);
	uint32_t idx[UMA_MAX_RANK] = { 0 }, j;
	int64_t i;

	idx[0] = c->p->kv_ragged ? 0 : c->q.b;
	idx[2] = c->q.g;
	for (j = 0; j < n; j++) {
		const uint8_t *from;

		idx[1] = c->q.kv_start + (uint32_t)key + j;
		from = element(t, uma_tensor_offset(t, idx));
		for (i = 0; i < bytes; i += 64)
			__builtin_prefetch(from + i, 0, 2);
	}
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
	uint32_t idx[UMA_MAX_RANK] = { 0 };

	return attn_key_at(c, UMA_SLOT_C, key, idx) ? -1 :
	       wide_row(c, UMA_SLOT_C, idx, c->p->dv, x);
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

/* The sink of a row's head, base 2. */
int attn_load_sink(struct attn_ctx *c, uint32_t row, float *x)
{
	const struct uma_tensor_view *t = attn_view(c, UMA_SLOT_AUX4);

	c->run.k->to_f32[t->dtype](x, element(t, attn_head(c, row) * t->strides[0]), 1);
	*x *= ATTN_LOG2E;
	return 0;
}
