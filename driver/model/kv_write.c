// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * KV_WRITE: stores rows to slots of a paged cache, converted, or as 8-bit integers with
 * a scale for each row and head.
 *
 * The slots are read from memory when the task runs. A tile handles all rows of a head in
 * order, so that if rows have the same slot, the last one wins.
 */
#include "uma_lines.h"

#define ROW_COST	1024u
#define MOVE_COST	64u
/* Includes the range and a division for each element */
#define BYTE_COST	96u

struct kv_write_scratch {
	struct uma_line_range range;
	float x[UMA_ROW_MAX];
	struct uma_rowbuf buf;
};

_Static_assert(sizeof(struct uma_walk) <= sizeof(((struct uma_program *)0)->priv), "priv");
_Static_assert(sizeof(struct kv_write_scratch) <= UMA_SCRATCH_SIZE, "scratch");
_Static_assert(sizeof(struct uma_kv_write_params) == 128, "params");
_Static_assert(UMA_ATTN_DIM_MAX <= UMA_ROW_MAX, "a row of a head is read at once");

static int has_flag(const struct uma_op *op, __u32 flag)
{
	return !!(op->u.lines.flags & flag);
}

/* --- parameters and operands ---------------------------------------------------- */

static int kv_write_decode(const void *params, struct uma_op *op, __u32 *used,
			   struct uma_fault_info *fault)
{
	const struct uma_kv_write_params *p = params;
	__u32 flags = uma_le32(p->flags);

	op->u.lines.flags = flags;
	*used = 4;
	if (flags & ~UMA_KV_WRITE_FLAGS_MASK ||
	    (flags & UMA_KV_WRITE_ASYMMETRIC && !(flags & UMA_KV_WRITE_QUANTISED)))
		return uma_set_fault(fault, UMA_FAULT_FLAGS, UMA_FAULT_NO_SLOT, "params.flags");
	return 0;
}

static __u32 kv_write_extra_slots(const struct uma_op *op)
{
	return (has_flag(op, UMA_KV_WRITE_QUANTISED) ? UMA_SLOT_BIT(AUX0) : 0) |
	       (has_flag(op, UMA_KV_WRITE_ASYMMETRIC) ? UMA_SLOT_BIT(AUX1) : 0);
}

static __u32 kv_write_funcs(const struct uma_op *op)
{
	return op->u.lines.flags;
}

static __u64 kv_write_k(const struct uma_op *op)
{
	return op->t[UMA_SLOT_A].dims[2];
}

static __u64 kv_write_work(const struct uma_op *op)
{
	(void)op;
	return UMA_ELEMENT_WORK;
}

/* Check a table of scales or zero points: one for each slot and head. */
static int match_table(const struct uma_op *op, __u32 slot, int type_fits,
		       struct uma_fault_info *fault)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST], *t = &op->t[slot];
	__u32 i;

	if (!type_fits)
		return uma_set_fault(fault, UMA_FAULT_DTYPE, slot, "dtype");
	if (t->quant)
		return uma_set_fault(fault, UMA_FAULT_QUANT, slot, "quant");
	if (t->rank != 4)
		return uma_set_fault(fault, UMA_FAULT_RANK, slot, "rank");
	for (i = 0; i < 4; i++)
		if (t->dims[i] != (i == 3 ? 1 : d->dims[i]))
			return uma_set_fault(fault, UMA_FAULT_DIMS, slot, "dims");
	return 0;
}

static int match_types(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST], *a = &op->t[UMA_SLOT_A];

	if (!uma_is_float(a->dtype))
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_A, "dtype");
	if (has_flag(op, UMA_KV_WRITE_QUANTISED) ? !uma_is_int8(d->dtype) :
						   !uma_is_float(d->dtype))
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_DST, "dtype");
	if (d->quant)
		return uma_set_fault(fault, UMA_FAULT_QUANT, UMA_SLOT_DST, "quant");
	return uma_index_check(op, UMA_SLOT_AUX2, fault);
}

static int kv_write_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST], *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *slots = &op->t[UMA_SLOT_AUX2];
	__u32 scale = op->t[UMA_SLOT_AUX0].dtype;

	if (match_types(op, fault))
		return -1;
	if (d->rank != 4)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_DST, "rank");
	if (a->rank != 3)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_A, "rank");
	if (slots->rank != 1)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_AUX2, "rank");
	if (a->dims[1] != d->dims[2] || a->dims[2] != d->dims[3] ||
	    a->dims[2] > UMA_ATTN_DIM_MAX)
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_A, "dims");
	if (slots->dims[0] != a->dims[0])
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_AUX2, "dims");
	if (has_flag(op, UMA_KV_WRITE_QUANTISED) &&
	    match_table(op, UMA_SLOT_AUX0, scale == UMA_DTYPE_F32 || scale == UMA_DTYPE_F16,
			fault))
		return -1;
	return has_flag(op, UMA_KV_WRITE_ASYMMETRIC) ?
		match_table(op, UMA_SLOT_AUX1, op->t[UMA_SLOT_AUX1].dtype == UMA_DTYPE_S32,
			    fault) : 0;
}

/* --- execution ------------------------------------------------------------------ */

static int kv_write_prepare(struct uma_run *run, struct uma_program *prog)
{
	const struct uma_op *op = &prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const __u32 dims[3] = { a->dims[1], a->dims[0], a->dims[2] };
	struct uma_walk *w = (struct uma_walk *)prog->priv;
	__u64 cost = ROW_COST + a->dims[2] * (__u64)(has_flag(op, UMA_KV_WRITE_QUANTISED) ?
						     BYTE_COST : MOVE_COST);

	if (uma_tensor_empty(a))
		return 0;
	if (uma_walk_init(w, dims, 3, 2, UMA_ROW_MAX) ||
	    uma_walk_tiles(w, dims[1], cost, prog->step_work, &prog->tiles[0]))
		return uma_set_fault(run->fault, UMA_FAULT_UNSUPPORTED, UMA_SLOT_A, "dims");
	prog->phase_count = 1;
	prog->macs = uma_tensor_elements(a);
	return 0;
}

/* Read the slot of a row. Returns 1 if the row is skipped, -1 with the fault set. */
static int read_slot(struct uma_run *run, __u32 row, __u64 *slot)
{
	const struct uma_tensor_view *t = &run->prog->op.t[UMA_SLOT_AUX2];
	const struct uma_tensor_view *d = &run->prog->op.t[UMA_SLOT_DST];
	__s64 off = t->strides[0] * (__s64)row;
	const void *p;
	__s32 v;

	p = uma_gather(run, UMA_SLOT_AUX2, t, off, 1, 1, &v);
	if (!p)
		return -1;
	/* Check a copy, since others may write to that memory. */
	if (p != &v)
		__builtin_memcpy(&v, p, sizeof(v));
	if (v == UMA_KV_WRITE_SKIP)
		return 1;
	*slot = (__u64)v;
	if (v >= 0 && *slot < (__u64)d->dims[0] * d->dims[1])
		return 0;
	uma_set_fault(run->fault, UMA_FAULT_RANGE, UMA_SLOT_AUX2, "index");
	run->fault->addr = t->addr + (__u64)(off * 4);
	return -1;
}

static struct uma_row row_at(const struct uma_op *op, __u32 slot, const __u32 *idx, __u32 n)
{
	const struct uma_tensor_view *t = &op->t[slot];

	return (struct uma_row){
		.slot = slot,
		.off = uma_tensor_offset(t, idx),
		.stride = t->strides[t->rank - 1u],
		.n = n,
	};
}

/* Quantise a row of a head and store it with its scale and zero point. */
static int write_bytes(struct uma_run *run, const struct uma_row *from, const __u32 *at)
{
	struct kv_write_scratch *s = (struct kv_write_scratch *)run->scratch;
	const struct uma_op *op = &run->prog->op;
	struct uma_row to = row_at(op, UMA_SLOT_DST, at, from->n), one;
	int asymmetric = has_flag(op, UMA_KV_WRITE_ASYMMETRIC);
	const float *x = uma_row_f32(run, from, &s->buf, s->x);
	__s64 zero;

	if (!x)
		return -1;
	uma_range_add(&s->range, x, from->n, 1);
	uma_range_scale(run, &s->range, UMA_SLOT_AUX0, asymmetric);
	one = row_at(op, UMA_SLOT_AUX0, at, 1);
	if (uma_row_store_f32(run, &one, &s->buf, (const float *)&s->range.scale))
		return -1;
	if (asymmetric) {
		zero = s->range.zero;
		one = row_at(op, UMA_SLOT_AUX1, at, 1);
		if (uma_row_store_s64(run, &one, &s->buf, &zero))
			return -1;
	}
	return uma_range_store(run, &s->range, &to, x);
}

/* Write row @idx[1] of head @idx[0]. */
static int write_row(struct uma_run *run, const __u32 *idx, __u32 n)
{
	struct kv_write_scratch *s = (struct kv_write_scratch *)run->scratch;
	const struct uma_op *op = &run->prog->op;
	const __u32 ai[UMA_MAX_RANK] = { idx[1], idx[0] };
	__u32 page = op->t[UMA_SLOT_DST].dims[1];
	__u32 at[UMA_MAX_RANK] = { 0, 0, idx[0] };
	struct uma_row from, to;
	__u64 slot;
	int ret;

	ret = read_slot(run, idx[1], &slot);
	if (ret)
		return ret < 0 ? -1 : 0;
	/* Fits in 32 bits, since it was read as s32. */
	at[0] = (__u32)slot / page;
	at[1] = (__u32)slot % page;
	from = row_at(op, UMA_SLOT_A, ai, n);
	if (has_flag(op, UMA_KV_WRITE_QUANTISED))
		return write_bytes(run, &from, at);
	to = row_at(op, UMA_SLOT_DST, at, n);
	return uma_row_move(run, &from, &to, &s->buf, (__u32 *)s->x);
}

static int kv_write_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step)
{
	const struct uma_walk *w = (const void *)run->prog->priv;
	__u32 idx[UMA_MAX_RANK], n;
	__u64 row, stop;
	int more;

	(void)phase;
	for (row = uma_walk_step(w, tile, step, &stop, &more); row < stop; row++) {
		n = uma_walk_row(w, row, idx);
		if (write_row(run, idx, n))
			return -1;
	}
	return more;
}

const struct uma_op_class uma_op_kv_write = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A) | UMA_SLOT_BIT(AUX2),
	.outputs = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(AUX0) | UMA_SLOT_BIT(AUX1),
	.fixed = UMA_SLOT_BIT(AUX0) | UMA_SLOT_BIT(AUX1) | UMA_SLOT_BIT(AUX2),
	.sized_by = UMA_SLOT_A,
	.decode = kv_write_decode,
	.extra_slots = kv_write_extra_slots,
	.match = kv_write_match,
	.funcs = kv_write_funcs,
	.k = kv_write_k,
	.work = kv_write_work,
	.prepare = kv_write_prepare,
	.step = kv_write_step,
};
