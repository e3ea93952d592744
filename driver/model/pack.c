// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * PACK: copies a strided operand to the blocked layout of an engine. The first phase writes
 * the panels, the second the header, so that a valid header implies a complete payload.
 */
#include "uma_internal.h"

/* Cost of an element, in multiply-adds */
#define ELEMENT_COST	64u

struct pack_plan {
	__u32 panels;
	__u32 chunk;
	__u32 steps;
};

struct pack_scratch {
	__u32 rows[UMA_PACKED_K * UMA_PACKED_N_MAX];
	__u32 half[UMA_PACKED_K / 2 * UMA_PACKED_N_MAX];
	__u8 positions[UMA_PACKED_K / 4 * UMA_PACKED_N_MAX / 2];
	__u32 block[UMA_PACKED_BLOCK_MAX / 4];
	__u32 raw[UMA_PACKED_N_MAX];
};

_Static_assert(sizeof(struct pack_scratch) <= UMA_SCRATCH_SIZE, "scratch");

static int pack_prepare(struct uma_run *run, struct uma_program *prog)
{
	const struct uma_tensor_view *d = &prog->op.t[UMA_SLOT_DST];
	const struct uma_op_cap *cap = &prog->engine->caps[prog->row];
	struct pack_plan *p = (struct pack_plan *)prog->priv;
	__u32 bn = uma_le16(cap->block_n);
	__u64 tiles, batches = 1, chunks;
	__u32 i;

	prog->phase_count = 2;
	prog->tiles[0] = 0;
	prog->tiles[1] = 1;
	prog->macs = uma_tensor_elements(d);
	if (uma_tensor_empty(d))
		return 0;
	for (i = 0; i + 2 < d->rank; i++)
		batches *= d->dims[i];
	p->panels = (__u32)uma_divup(d->dims[d->rank - 1], bn);
	chunks = prog->step_work / (UMA_PACKED_K * bn * ELEMENT_COST);
	p->chunk = UMA_PACKED_K * (__u32)UMA_MIN(UMA_MAX(chunks, 1), 1u << 16);
	p->steps = (__u32)uma_divup(d->dims[d->rank - 2], p->chunk);
	/* No overflow: each panel takes at least 64 of the 2^48 bytes of addresses. */
	tiles = batches * p->panels;
	if (tiles > 0xffffffffu)
		return uma_set_fault(run->fault, UMA_FAULT_UNSUPPORTED, UMA_SLOT_DST, "dims");
	prog->tiles[0] = (__u32)tiles;
	return 0;
}

static __u64 magnitude(__s64 v)
{
	return v < 0 ? -(__u64)v : (__u64)v;
}

/*
 * Gather @kc rows and @count columns of a matrix, 4-bit elements as bytes, padded with
 * zeros to @bn columns.
 */
static int gather_rows(struct uma_run *run, __s64 off, __u32 kc, __u32 count,
		       __u32 bn, struct pack_scratch *s)
{
	const struct uma_tensor_view *a = &run->prog->op.t[UMA_SLOT_A];
	__s64 sk = a->strides[a->rank - 2], sn = a->strides[a->rank - 1];
	int along_n = magnitude(sn) <= magnitude(sk);
	__u32 es = uma_wide_size(a->dtype);
	__u8 *rows = (__u8 *)s->rows;
	__u32 i, j;

	if (count < bn)
		__builtin_memset(rows, 0, (__u64)UMA_PACKED_K * bn * es);
	for (i = 0; i < (along_n ? kc : count); i++, off += along_n ? sk : sn) {
		__u32 n = along_n ? count : kc;
		const __u8 *p = uma_gather(run, UMA_SLOT_A, a, off,
					   along_n ? sn : sk, n, s->raw);

		if (!p)
			return -1;
		if (along_n) {
			__builtin_memcpy(rows + (__u64)i * bn * es, p, (__u64)n * es);
			continue;
		}
		for (j = 0; j < n; j++)
			__builtin_memcpy(rows + ((__u64)j * bn + i) * es, p + j * es, es);
	}
	return 0;
}

/* Write @kc rows to the blocks of the panel of column @n, from stored row @at on. */
static int put_blocks(struct uma_run *run, const void *rows, __u64 batch, __u32 at,
		      __u32 kc, __u32 n)
{
	const struct uma_tensor_view *d = &run->prog->op.t[UMA_SLOT_DST];
	const struct uma_op_cap *cap = &run->prog->engine->caps[run->prog->row];
	struct pack_scratch *s = (struct pack_scratch *)run->scratch;
	__u32 bk = uma_le16(cap->block_k), bn = uma_le16(cap->block_n);
	__u32 bytes = bk * bn * uma_dtype_bits(d->dtype) / 8;
	__u64 addr = uma_packed_addr(d, cap, batch, at, n);
	__u32 b;

	for (b = 0; b < kc; b += bk, addr += bytes) {
		uma_packed_fill(d->dtype, cap, UMA_MIN(bk, kc - b),
				(const __u8 *)rows + (__u64)b * bn * uma_wide_size(d->dtype),
				bn, s->block);
		if (uma_mem_out(run, UMA_SLOT_DST, addr, bytes, s->block))
			return -1;
	}
	return 0;
}

/* Write two of each four of @kc rows, and their positions. */
static int put_half(struct uma_run *run, __u64 batch, __u32 k, __u32 kc, __u32 n)
{
	const struct uma_tensor_view *d = &run->prog->op.t[UMA_SLOT_DST];
	const struct uma_op_cap *cap = &run->prog->engine->caps[run->prog->row];
	struct pack_scratch *s = (struct pack_scratch *)run->scratch;
	__u32 bn = uma_le16(cap->block_n), groups = (kc + 3) / 4;
	__u32 row = bn * uma_wide_size(d->dtype);

	__builtin_memset((__u8 *)s->rows + (__u64)kc * row, 0,
			 (__u64)(groups * 4 - kc) * row);
	uma_packed24_choose(d->dtype, s->rows, bn, groups, s->half, s->positions);
	if (put_blocks(run, s->half, batch, k / 2, groups * 2, n))
		return -1;
	return uma_mem_out(run, UMA_SLOT_DST, uma_packed24_addr(d, cap, batch, k, n),
			   (__u64)groups * (bn / 2), s->positions);
}

static int pack_panel(struct uma_run *run, __u32 tile, __u32 step)
{
	const struct uma_tensor_view *d = &run->prog->op.t[UMA_SLOT_DST];
	const struct uma_tensor_view *a = &run->prog->op.t[UMA_SLOT_A];
	const struct uma_op_cap *cap = &run->prog->engine->caps[run->prog->row];
	const struct pack_plan *p = (const void *)run->prog->priv;
	struct pack_scratch *s = (struct pack_scratch *)run->scratch;
	__u32 bn = uma_le16(cap->block_n);
	__u64 rest = tile / p->panels;
	__u64 batch = rest;
	__u32 n = tile % p->panels * bn;
	__u32 depth = d->dims[d->rank - 2];
	__u32 cols = UMA_MIN(bn, d->dims[d->rank - 1] - n);
	__u64 k, end = UMA_MIN((__u64)(step + 1) * p->chunk, depth);
	__u32 idx[UMA_MAX_RANK] = { 0 };
	__u32 i;

	for (i = d->rank - 2; i-- > 0;) {
		idx[i] = (__u32)(rest % d->dims[i]);
		rest /= d->dims[i];
	}
	idx[d->rank - 1] = n;
	for (k = (__u64)step * p->chunk; k < end; k += UMA_PACKED_K) {
		__u32 kc = (__u32)UMA_MIN(UMA_PACKED_K, end - k);

		idx[d->rank - 2] = (__u32)k;
		if (gather_rows(run, uma_tensor_offset(a, idx), kc, cols, bn, s))
			return -1;
		if (d->layout == UMA_LAYOUT_GEMM_B24 ?
		    put_half(run, batch, (__u32)k, kc, n) :
		    put_blocks(run, s->rows, batch, (__u32)k, kc, n))
			return -1;
	}
	return 0;
}

static int pack_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step)
{
	const struct pack_plan *p = (const void *)run->prog->priv;
	const struct uma_tensor_view *d = &run->prog->op.t[UMA_SLOT_DST];
	struct uma_packed_header header;

	if (phase) {
		uma_packed_header_make(d, run->prog->engine,
				       &run->prog->engine->caps[run->prog->row],
				       &header);
		return uma_mem_out(run, UMA_SLOT_DST, d->addr, sizeof(header), &header);
	}
	do {
		if (pack_panel(run, tile, (*step)++))
			return -1;
	} while (run->prog->step_work == UMA_STEP_WORK_UNBOUND && *step < p->steps);
	return *step < p->steps;
}

const struct uma_op_class uma_op_pack = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A),
	.outputs = UMA_SLOT_BIT(DST),
	.packable = UMA_SLOT_BIT(DST),
	.flags = UMA_CLASS_SAME_RANK,
	.match = uma_pack_match,
	.prepare = pack_prepare,
	.step = pack_step,
};
