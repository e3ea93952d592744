// SPDX-License-Identifier: MIT
/*
 * Buffers for measuring, with numbers that any operation takes: random ones of
 * magnitude 1/2 to 1, small scales, indices that fit. Nobody else's memory is
 * looked at.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "tune.h"

#define ALIGN		64u

/* xorshift64*: G. Marsaglia, "Xorshift RNGs", 2003; S. Vigna, 2016 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t v = *state;

	v ^= v >> 12;
	v ^= v << 25;
	v ^= v >> 27;
	*state = v;
	return v * 0x2545f4914f6cdd1dull;
}

/**
 * struct bits - which bits of a word of 64 are random, and what the others are
 */
struct bits {
	uint64_t random;
	uint64_t fixed;
};

static struct bits bits_of(uint32_t dtype)
{
	switch (dtype) {
	case ACCEL_F32:
		return (struct bits){ 0x807fffff807fffff, 0x3f0000003f000000 };
	case ACCEL_F16:
		return (struct bits){ 0x83ff83ff83ff83ff, 0x3800380038003800 };
	case ACCEL_BF16:
		return (struct bits){ 0x807f807f807f807f, 0x3f003f003f003f00 };
	case ACCEL_S32:
		/* may be an index */
		return (struct bits){ 0, 0 };
	default:
		return (struct bits){ UINT64_MAX, 0 };
	}
}

/* Scales are positive and small; zero points are in range of all types. */
static struct bits bits_of_table(uint32_t dtype)
{
	switch (dtype) {
	case ACCEL_F32:
		return (struct bits){ 0x007fffff007fffff, 0x3c0000003c000000 };
	case ACCEL_F16:
		return (struct bits){ 0x03ff03ff03ff03ff, 0x2000200020002000 };
	default:
		return (struct bits){ 0x0000000300000003, 0 };
	}
}

static void fill(void *p, uint64_t bytes, struct bits b, uint64_t *state)
{
	uint64_t v, i;

	for (i = 0; i < bytes; i += sizeof(v)) {
		v = (next_random(state) & b.random) | b.fixed;
		memcpy((char *)p + i, &v, bytes - i < sizeof(v) ? bytes - i : sizeof(v));
	}
}

static int add_bo(struct accel_ctx *ctx, struct tune_scratch *s, uint64_t bytes,
		  struct accel_bo **bo)
{
	const struct accel_bo_opts opts = { sizeof(opts), 0, "measuring" };
	int ret;

	ret = accel_bo_create(ctx, bytes ? bytes : 1, &opts, bo);
	if (!ret)
		s->bo[s->count++] = *bo;
	return ret;
}

static int filled(struct accel_ctx *ctx, struct tune_scratch *s, uint64_t bytes, struct bits b,
		  uint64_t *state, struct accel_bo **bo)
{
	int ret = add_bo(ctx, s, bytes, bo);

	if (!ret)
		ret = accel_bo_cpu_begin(*bo, 0, bytes ? bytes : 1, ACCEL_CPU_WRITE);
	if (ret)
		return ret;
	fill(accel_bo_ptr(*bo), bytes, b, state);
	return accel_bo_cpu_end(*bo, 0, bytes ? bytes : 1, ACCEL_CPU_WRITE);
}

/* The caller's tensor, which lies in our own copy of the descriptor. */
static struct accel_tensor *tensor_of(const struct request *req, uint32_t slot)
{
	char *base = (char *)(uintptr_t)req->desc;
	size_t at = (size_t)((const char *)req->t[slot].from - (const char *)req->desc);

	return (struct accel_tensor *)(void *)(base + at);
}

static int add_tables(struct accel_ctx *ctx, struct tune_scratch *s, const struct operand *t,
		      struct accel_tensor *from, uint64_t *state)
{
	const struct operand_quant *q = &t->quant;
	int ret;

	if (q->scheme < ACCEL_QUANT_CHANNEL)
		return 0;
	from->quant.scales_offset = 0;
	from->quant.zeros_offset = 0;
	ret = filled(ctx, s, q->entries * accel_dtype_bits(q->scale_dtype) / 8,
		     bits_of_table(q->scale_dtype), state, &from->quant.scales);
	if (!ret && q->zeros)
		ret = filled(ctx, s, q->entries * quant_zero_bytes(q), bits_of_table(q->zeros),
			     state, &from->quant.zeros);
	return ret;
}

static int add_operand(struct accel_ctx *ctx, struct tune_scratch *s, const struct operand *t,
		       struct accel_tensor *from, uint64_t *state)
{
	uint64_t before = ((uint64_t)-t->lo + ALIGN - 1) / ALIGN * ALIGN;
	int ret;

	ret = filled(ctx, s, before + (uint64_t)t->hi, bits_of(t->from->dtype), state, &from->bo);
	from->offset = before;
	return ret ? ret : add_tables(ctx, s, t, from, state);
}

static void put_s32(const struct operand *t, const struct accel_tensor *from, int64_t row,
		    int64_t col, int64_t v)
{
	int64_t at = row * t->strides[0] + (t->rank > 1 ? col * t->strides[1] : 0);

	((int32_t *)accel_bo_ptr(from->bo))[at + (int64_t)(from->offset / 4)] = (int32_t)v;
}

/* Every sequence is as long as it can be; of those one after the other, as long as its share. */
static void fill_lengths(const struct request *req, const struct accel_tensor *from)
{
	const struct operand *t = &req->t[UMA_SLOT_AUX2], *q = &req->t[UMA_SLOT_A];
	const struct operand *k = &req->t[UMA_SLOT_B];
	const bool paged = req->slots >> UMA_SLOT_AUX1 & 1;
	int64_t n = t->dims[0], cols = t->rank > 1 ? t->dims[1] : 1, i;
	int64_t keys = k->dims[1] * (paged ? req->t[UMA_SLOT_AUX1].dims[1] : 1);
	const bool ragged = cols > UMA_ATTN_LEN_Q_START, kv_ragged = cols > UMA_ATTN_LEN_KV_START;
	int64_t queries = ragged && n ? q->dims[1] / n : q->dims[1];

	if (ragged && queries > req->desc->attention.q_max)
		queries = req->desc->attention.q_max;
	if (kv_ragged && n)
		keys /= n;
	for (i = 0; i < n; i++) {
		put_s32(t, from, i, UMA_ATTN_LEN_KV, keys);
		if (cols > UMA_ATTN_LEN_Q)
			put_s32(t, from, i, UMA_ATTN_LEN_Q, queries);
		if (ragged)
			put_s32(t, from, i, UMA_ATTN_LEN_Q_START, i * queries);
		if (kv_ragged)
			put_s32(t, from, i, UMA_ATTN_LEN_KV_START, i * keys);
	}
}

/* Pages far from each other, as those of a cache that has been in use. */
static void fill_pages(const struct request *req, const struct accel_tensor *from)
{
	const struct operand *t = &req->t[UMA_SLOT_AUX1];
	int64_t pages = req->t[UMA_SLOT_B].dims[0], i, j, n = 0;

	for (i = 0; i < t->dims[0]; i++)
		for (j = 0; j < t->dims[1]; j++, n++)
			put_s32(t, from, i, j, pages ? (int64_t)((uint64_t)n * 7919 %
								 (uint64_t)pages) : 0);
}

static int fill_attention(const struct request *req)
{
	static void (*const fns[])(const struct request *, const struct accel_tensor *) = {
		fill_pages, fill_lengths
	};
	uint32_t i;
	int ret = 0;

	for (i = 0; i < 2 && !ret; i++) {
		const struct accel_tensor *from;

		if (!(req->slots >> (UMA_SLOT_AUX1 + i) & 1))
			continue;
		from = tensor_of(req, UMA_SLOT_AUX1 + i);
		ret = accel_bo_cpu_begin(from->bo, 0, from->bo->size, ACCEL_CPU_WRITE);
		if (ret)
			return ret;
		fns[i](req, from);
		ret = accel_bo_cpu_end(from->bo, 0, from->bo->size, ACCEL_CPU_WRITE);
	}
	return ret;
}

/**
 * tune_scratch_create - buffers for all operands of a request
 * @ctx: context
 * @req: request of one task; the tensors of its descriptor, which is ours, get the
 *	buffers
 * @s: out; tune_scratch_destroy() it also after a failure
 *
 * Return: 0, errors of accel_bo_create() and accel_bo_cpu_begin().
 */
int tune_scratch_create(struct accel_ctx *ctx, const struct request *req,
			struct tune_scratch *s)
{
	uint64_t state = 0x9e3779b97f4a7c15ull;
	struct accel_tensor *from;
	uint32_t slot;
	int ret;

	s->count = 0;
	for (slot = 0; slot < REQUEST_SLOTS; slot++) {
		if (!(req->slots & (1u << slot)))
			continue;
		from = tensor_of(req, slot);
		/* D's old contents may be an operand too. */
		if (from->bo)
			continue;
		ret = add_operand(ctx, s, &req->t[slot], from, &state);
		if (ret)
			return ret;
	}
	ret = req->op == ACCEL_OP_ATTENTION ? fill_attention(req) : 0;
	if (!ret && req->sparse)
		ret = accel_prune24(ctx, req->t[UMA_SLOT_B].from, req->sparse_axis);
	return ret;
}

void tune_scratch_destroy(struct tune_scratch *s)
{
	while (s->count)
		accel_bo_unref(s->bo[--s->count]);
}
