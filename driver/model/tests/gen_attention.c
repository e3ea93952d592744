// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Random valid attentions, and writes into their caches. */
#include <string.h>

#include "gen.h"

struct sizes {
	uint32_t flags;
	uint32_t batch, queries, keys, heads, kv_heads, d, dv;
	uint32_t page, pages, max_pages, columns;
};

static uint32_t pick(struct mt_rng *r, const uint32_t *list, uint32_t n)
{
	return list[mt_below(r, n)];
}

#define PICK(r, ...) \
	pick(r, (const uint32_t[]){ __VA_ARGS__ }, \
	     sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static void set(struct mt_task *t, uint32_t word, uint32_t v)
{
	memcpy(t->task.params + 4 * word, &v, 4);
}

static void put_s32(struct mt_task *t, int slot, uint32_t i, uint32_t j, int32_t v)
{
	const struct uma_operand *o = &t->task.op[slot];
	int64_t off = (int64_t)o->strides[0] * i;

	if (o->rank > 1)
		off += (int64_t)o->strides[1] * j;
	memcpy(t->image + (o->addr - MT_BASE) + off * 4, &v, 4);
}

static void keys_or_values(struct mt_task *t, int slot, const struct sizes *s, uint32_t d,
			   int style)
{
	struct mt_rng *r = &t->rng;
	const uint32_t dims[] = {
		s->flags & UMA_ATTN_PAGED ? s->pages : s->columns > 3 ? 1 : s->batch,
		s->flags & UMA_ATTN_PAGED ? s->page : s->keys, s->kv_heads, d
	};
	int type = (int)PICK(r, F32, F16, BF16, S8, S8, U8, S4, U4);
	int quant;

	mt_operand(t, slot, type, 4, dims, style);
	if (type <= BF16)
		return;
	quant = 1 + (int)mt_below(r, 3);
	mt_quant(t, slot, quant, quant == UMA_QUANT_GROUP ? 3 : (int)mt_below(r, 4),
		 16u << mt_below(r, 3), mt_one_in(r, 2));
}

/* Rows of Q or DST: floating-point numbers, or bytes with one scale. */
static void put_rows(struct mt_task *t, int slot, const uint32_t *dims, int style)
{
	int type = (int)PICK(&t->rng, F32, F16, BF16, S8, U8);

	mt_operand(t, slot, type, 4, dims, style);
	if (type > BF16)
		mt_quant(t, slot, UMA_QUANT_TENSOR, 0, 0, mt_one_in(&t->rng, 2));
}

static void lengths(struct mt_task *t, const struct sizes *s, int style)
{
	const uint32_t dims[] = { s->batch, s->columns };
	uint32_t q = 0, b, n;

	mt_operand(t, UMA_SLOT_AUX2, S32, s->columns > 1 ? 2 : 1, dims, style);
	for (b = 0; b < s->batch; b++) {
		put_s32(t, UMA_SLOT_AUX2, b, 0, (int32_t)mt_below(&t->rng, s->keys + 1));
		n = mt_below(&t->rng, s->queries + 1);
		if (s->columns > 1)
			put_s32(t, UMA_SLOT_AUX2, b, 1, (int32_t)n);
		if (s->columns > 2)
			put_s32(t, UMA_SLOT_AUX2, b, 2, (int32_t)q);
		if (s->columns > 3)
			put_s32(t, UMA_SLOT_AUX2, b, 3, 0);
		q += n;
	}
}

static void page_table(struct mt_task *t, const struct sizes *s, int style)
{
	const uint32_t dims[] = { s->batch, s->max_pages };
	uint32_t b, i;

	mt_operand(t, UMA_SLOT_AUX1, S32, 2, dims, style);
	for (b = 0; b < s->batch; b++)
		for (i = 0; i < s->max_pages; i++)
			put_s32(t, UMA_SLOT_AUX1, b, i, (int32_t)mt_below(&t->rng, s->pages));
}

static void choose(struct mt_rng *r, uint32_t flags, struct sizes *s)
{
	s->flags = flags;
	if (!(flags & UMA_ATTN_LENGTHS))
		s->flags &= ~UMA_ATTN_RAGGED;
	s->columns = 1 + mt_below(r, 2);
	if (s->flags & UMA_ATTN_RAGGED)
		s->columns = 3 + (flags & UMA_ATTN_PAGED ? 0 : mt_below(r, 2));
	s->batch = 1 + mt_below(r, 2);
	s->queries = PICK(r, 1, 2, 5, 19);
	s->kv_heads = 1 + mt_below(r, 2);
	s->heads = s->kv_heads * PICK(r, 1, 2, 3);
	s->d = PICK(r, 1, 4, 7, 16, 20);
	s->dv = PICK(r, 1, 4, 9, 16);
	s->page = PICK(r, 1, 5, 16);
	s->max_pages = PICK(r, 1, 3, 9);
	s->keys = PICK(r, 1, 3, 63, 64, 65, 130);
	s->pages = 1 + mt_below(r, 12);
	if (s->flags & UMA_ATTN_PAGED)
		s->keys = s->max_pages * s->page;
	/* A mask with gaps has to fit into the memory of the tests. */
	if (s->batch * s->heads * s->queries * s->keys > 4000)
		s->queries = 1;
}

/*
 * An attention with the features @flags, less those that do not go together. The
 * task has been through mt_task_init().
 */
void gen_attention(struct mt_task *t, uint32_t flags)
{
	struct mt_rng *r = &t->rng;
	int style = mt_one_in(r, 2) ? MT_PLAIN : MT_STRIDED, free_style;
	uint32_t dims[UMA_MAX_RANK], rows, first;
	struct sizes s;

	choose(r, flags, &s);
	free_style = style == MT_PLAIN ? MT_PLAIN : MT_BROADCAST;
	first = s.flags & UMA_ATTN_RAGGED ? 1 : s.batch;
	rows = s.flags & UMA_ATTN_RAGGED ? s.queries * s.batch : s.queries;
	memcpy(dims, (uint32_t[]){ first, rows, s.heads, s.dv }, 16);
	put_rows(t, UMA_SLOT_DST, dims, style);
	dims[3] = s.d;
	put_rows(t, UMA_SLOT_A, dims, free_style);
	keys_or_values(t, UMA_SLOT_B, &s, s.d, free_style);
	keys_or_values(t, UMA_SLOT_C, &s, s.dv, free_style);
	memcpy(dims, (uint32_t[]){ s.batch, s.heads, s.queries, s.keys }, 16);
	if (s.flags & UMA_ATTN_MASK)
		mt_operand(t, UMA_SLOT_AUX0, (int)PICK(r, F32, F16, BF16, U8), 4, dims,
			   MT_BROADCAST);
	if (s.flags & UMA_ATTN_LENGTHS)
		lengths(t, &s, style);
	if (s.flags & UMA_ATTN_PAGED)
		page_table(t, &s, style);
	if (s.flags & UMA_ATTN_ALIBI)
		mt_operand(t, UMA_SLOT_AUX3, F32, 1, dims + 1, free_style);
	if (s.flags & UMA_ATTN_SINKS)
		mt_operand(t, UMA_SLOT_AUX4, F32, 1, dims + 1, free_style);
	if (s.flags & UMA_ATTN_SPLIT) {
		memcpy(dims, (uint32_t[]){ 1 + mt_below(r, 4), first, rows, s.heads, s.dv + 2 },
		       20);
		mt_operand(t, UMA_SLOT_RESIDUAL, F32, 5, dims, style);
	}
	set(t, 0, s.flags);
	set(t, 1, mt_bits(0.3f));
	if (s.flags & UMA_ATTN_SOFTCAP)
		set(t, 2, mt_bits(3));
	if (s.flags & UMA_ATTN_WINDOW) {
		set(t, 3, PICK(r, 0, 3, 20, ~0u));
		set(t, 4, PICK(r, 0, 2, ~0u));
		set(t, 5, PICK(r, 0, 0, 3));
	}
	if (s.flags & UMA_ATTN_OFFSET)
		set(t, 6, mt_below(r, 40) - 5);
	if (s.flags & UMA_ATTN_RAGGED)
		set(t, 7, s.queries);
}

void gen_kv_write(struct mt_task *t, uint32_t flags)
{
	struct mt_rng *r = &t->rng;
	const uint32_t rows = PICK(r, 0, 1, 1, 3, 17), heads = PICK(r, 1, 2, 3);
	const uint32_t d = PICK(r, 1, 7, 32, 64, 129);
	const uint32_t pool[] = { 1 + mt_below(r, 5), PICK(r, 1, 4, 5), heads, d };
	const uint32_t from[] = { rows, heads, d }, table[] = { pool[0], pool[1], heads, 1 };
	const int style = mt_one_in(r, 2) ? MT_PLAIN : MT_STRIDED;
	uint32_t i;

	if (!(flags & UMA_KV_WRITE_QUANTISED))
		flags = 0;
	mt_operand(t, UMA_SLOT_DST, (int)(flags ? PICK(r, S8, U8) : PICK(r, F32, F16, BF16)), 4,
		   pool, style);
	mt_operand(t, UMA_SLOT_A, (int)PICK(r, F32, F16, BF16), 3, from,
		   mt_one_in(r, 2) ? style : MT_BROADCAST);
	if (flags)
		mt_operand(t, UMA_SLOT_AUX0, (int)PICK(r, F32, F16), 4, table, style);
	if (flags & UMA_KV_WRITE_ASYMMETRIC)
		mt_operand(t, UMA_SLOT_AUX1, S32, 4, table, style);
	mt_operand(t, UMA_SLOT_AUX2, S32, 1, &rows, style);
	for (i = 0; i < rows; i++)
		put_s32(t, UMA_SLOT_AUX2, i, 0, mt_one_in(r, 5) ? UMA_KV_WRITE_SKIP :
				(int32_t)mt_below(r, pool[0] * pool[1]));
	set(t, 0, flags);
}
