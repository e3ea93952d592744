// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Whole tiles of a GEMM for kernels that have their own packing: pointers and
 * distances instead of copies, where the home has the operands in one piece.
 */
#include "uma_internal.h"

/* @rows by @cols elements from @off on, or NULL if they are not in one piece. */
static void *in_place(struct uma_run *run, const struct uma_tensor_view *t,
		      __s64 off, __u32 rows, __s64 row_stride, __u32 cols,
		      __s64 col_stride, enum uma_access access)
{
	__u32 bits = uma_dtype_bits(t->dtype);
	__s64 reach_r = row_stride * (__s64)(rows - 1);
	__s64 reach_c = col_stride * (__s64)(cols - 1);
	__s64 lo = UMA_MIN(reach_r, 0) + UMA_MIN(reach_c, 0);
	__s64 hi = UMA_MAX(reach_r, 0) + UMA_MAX(reach_c, 0);
	__u8 *p;

	if (bits < 8) {
		/* A pointer names bytes: the first element must be a low nibble. */
		if (off & 1)
			return 0;
		p = uma_map_span(run, t->addr + (__u64)((off + lo) >> 1),
				 (__u64)(((off + hi) >> 1) - ((off + lo) >> 1)) + 1,
				 access);
		return p ? p + ((off >> 1) - ((off + lo) >> 1)) : 0;
	}
	p = uma_map_span(run, t->addr + (__u64)((off + lo) * (bits / 8)),
			 (__u64)(hi - lo + 1) * (bits / 8), access);
	return p ? p - lo * (bits / 8) : 0;
}

static void fill_operand(struct uma_gemm_ctx *c, struct uma_gemm_tile *g,
			 __u32 slot)
{
	const struct uma_tensor_view *t = uma_gemm_view(c, slot);
	struct uma_tile_operand *o = &g->t[slot];
	__u32 row = slot == UMA_SLOT_B ? 0 : c->m0;
	__u32 col = slot == UMA_SLOT_A ? 0 : c->n0;

	o->ms = t->strides[t->rank - 2];
	o->ns = t->strides[t->rank - 1];
	o->p = in_place(c->run, t, uma_gemm_offset(c, slot, row, col),
			slot == UMA_SLOT_B ? g->k : g->m, o->ms,
			slot == UMA_SLOT_A ? g->k : g->n, o->ns,
			slot == UMA_SLOT_DST ? UMA_ACCESS_WRITE : UMA_ACCESS_READ);
}

static void fill_packed(struct uma_gemm_ctx *c, struct uma_gemm_tile *g)
{
	const struct uma_tensor_view *t = uma_gemm_view(c, UMA_SLOT_B);
	__u64 first = uma_packed_addr(t, c->cap, c->batch, 0, 0);

	g->block_k = uma_le16(c->cap->block_k);
	g->block_n = uma_le16(c->cap->block_n);
	g->t[UMA_SLOT_B] = (struct uma_tile_operand){
		.p = uma_map_span(c->run, first,
				  uma_packed_addr(t, c->cap, c->batch + 1, 0, 0) - first,
				  UMA_ACCESS_READ),
	};
}

/* A table's entries for the tile, or NULL. */
static const void *table_in_place(struct uma_gemm_ctx *c, const struct uma_gemm_tile *g,
				  __u64 addr, __u32 dtype)
{
	const struct uma_tensor_view *b = uma_gemm_view(c, UMA_SLOT_B);
	struct uma_tensor_view table = { .addr = addr, .dtype = (__u16)dtype };
	__u32 idx[UMA_MAX_RANK];
	__u32 groups = 1;

	__builtin_memcpy(idx, c->idx, sizeof(idx));
	idx[b->rank - 1] = c->n0;
	if (b->quant == UMA_QUANT_GROUP)
		groups = (__u32)uma_divup(g->k, b->quant_group);
	return in_place(c->run, &table, (__s64)uma_table_index(b, idx), groups,
			g->table_gs, g->n, g->table_ns, UMA_ACCESS_READ);
}

static int fill_tables(struct uma_gemm_ctx *c, struct uma_gemm_tile *g)
{
	const struct uma_tensor_view *b = uma_gemm_view(c, UMA_SLOT_B);

	if (b->quant != UMA_QUANT_CHANNEL && b->quant != UMA_QUANT_GROUP)
		return 0;
	g->table_ns = 1;
	if (b->quant == UMA_QUANT_GROUP) {
		g->table_gs = uma_table_stride(b, b->rank - 2u);
		g->table_ns = uma_table_stride(b, b->rank - 1u);
	}
	g->b_scale = table_in_place(c, g, b->scale_addr, b->scale_dtype);
	if (!g->b_scale)
		return -1;
	if (!b->zero_addr)
		return 0;
	g->b_zero = table_in_place(c, g, b->zero_addr, UMA_DTYPE_S32);
	return g->b_zero ? 0 : -1;
}

/*
 * uma_gemm_tile - offer the tile to the kernels
 *
 * Return: UMA_TILE_*; never a fault, the model's own loops meet those.
 */
int uma_gemm_tile(struct uma_gemm_ctx *c)
{
	const struct uma_op *op = &c->run->prog->op;
	struct uma_gemm_tile g = {
		.op = op,
		.m = c->m,
		.n = c->n,
		.k = c->plan->k,
		.m0 = c->m0,
		.n0 = c->n0,
		.work = c->s->a,
		.work_size = UMA_SCRATCH_SIZE - __builtin_offsetof(struct uma_gemm_scratch, a),
	};
	__u32 s;

	/* Kernels know blocks of all elements. */
	if (op->t[UMA_SLOT_B].layout == UMA_LAYOUT_GEMM_B24)
		return UMA_TILE_NO;
	fill_operand(c, &g, UMA_SLOT_A);
	if (op->t[UMA_SLOT_B].layout == UMA_LAYOUT_STRIDED)
		fill_operand(c, &g, UMA_SLOT_B);
	else
		fill_packed(c, &g);
	if (!g.t[UMA_SLOT_A].p || !g.t[UMA_SLOT_B].p || fill_tables(c, &g))
		return UMA_TILE_NO;
	for (s = 0; s <= UMA_SLOT_RESIDUAL; s++)
		if (uma_has(op, s) && s != UMA_SLOT_A && s != UMA_SLOT_B)
			fill_operand(c, &g, s);
	if (c->m <= UMA_GEMM_MT && c->n <= UMA_GEMM_NT) {
		g.acc = c->s->acc;
		g.acc_ms = UMA_GEMM_NT;
		g.row_sum = c->plan->row_sums ? c->s->row_sum : 0;
		g.col_sum = c->plan->col_sums ? c->s->col_sum : 0;
	}
	return c->run->k->gemm_tile(&g);
}
