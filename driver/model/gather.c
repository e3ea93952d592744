// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * GATHER: DST = A at indices read from memory.
 *
 * Rows go along the last dimension of DST. A row of DST is either a run of A, at one set
 * of indices, or each of its elements has its own indices. Negative indices count from
 * the end; an index out of range is a fault.
 */
#include "uma_internal.h"

/* Cost of a row, of an element of a run, of an element that is gathered alone */
#define ROW_COST	1024u
#define NEAR_COST	64u
#define ALONE_COST	512u

struct gather_plan {
	struct uma_walk w;
	/* Dimensions of A that are indexed: @count of them from @first on */
	__u32 first;
	__u32 count;
	/* Dimension of A that advances with the elements of a row; UMA_MAX_RANK: none */
	__u32 along;
	/* Each element of a row has its own indices */
	__u8 alone;
};

struct gather_scratch {
	__u32 x[UMA_ROW_MAX];
	/* Indices of the elements of a row, for each indexed dimension; not negative */
	__u32 at[UMA_MAX_RANK][UMA_ROW_MAX];
	__u32 out[UMA_ROW_MAX];
	struct uma_rowbuf buf;
};

_Static_assert(sizeof(struct gather_plan) <= sizeof(((struct uma_program *)0)->priv), "priv");
_Static_assert(sizeof(struct gather_scratch) <= UMA_SCRATCH_SIZE, "scratch");
_Static_assert(sizeof(struct uma_gather_params) == 128, "params");

/* --- index tables ----------------------------------------------------------- */

/* uma_index_check - check that an index table is unquantised s32 */
int uma_index_check(const struct uma_op *op, __u32 slot, struct uma_fault_info *fault)
{
	if (op->t[slot].dtype != UMA_DTYPE_S32)
		return uma_set_fault(fault, UMA_FAULT_DTYPE, slot, "dtype");
	if (op->t[slot].quant)
		return uma_set_fault(fault, UMA_FAULT_QUANT, slot, "quant");
	return 0;
}

/*
 * uma_index_row - read a run of indices
 * @run: context of the step
 * @slot: operand that holds the indices
 * @off: offset of the first index
 * @stride: stride of the indices, in elements
 * @n: number of indices, 1 to UMA_ROW_MAX
 * @dim: size of the indexed dimension
 * @at: out: indices, from 0 to @dim - 1
 *
 * Copies the indices before it checks them, since others may write to that memory.
 */
int uma_index_row(struct uma_run *run, __u32 slot, __s64 off, __s64 stride, __u32 n, __u32 dim,
		  __u32 *at)
{
	const struct uma_tensor_view *t = &run->prog->op.t[slot];
	const void *p = uma_gather(run, slot, t, off, stride, n, at);
	__u32 i;

	if (!p)
		return -1;
	if (p != at)
		__builtin_memcpy(at, p, 4ul * n);
	for (i = 0; i < n; i++) {
		__s64 v = (__s32)at[i];

		if (v < 0)
			v += dim;
		if (v < 0 || v >= dim) {
			uma_set_fault(run->fault, UMA_FAULT_RANGE, slot, "index");
			run->fault->addr = t->addr + (__u64)((off + stride * (__s64)i) * 4);
			return -1;
		}
		at[i] = (__u32)v;
	}
	return 0;
}

/* --- parameters and operands ---------------------------------------------------- */

static int gather_decode(const void *params, struct uma_op *op, __u32 *used,
			 struct uma_fault_info *fault)
{
	const struct uma_gather_params *p = params;

	op->func = uma_le32(p->func);
	op->u.gather.axis = uma_le32(p->axis);
	op->u.gather.batch = uma_le32(p->batch);
	*used = 12;
	if (op->func >= UMA_GATHER_COUNT)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, "params.func");
	if (op->func == UMA_GATHER_ND ? op->u.gather.axis : op->u.gather.batch)
		return uma_set_fault(fault, UMA_FAULT_PAD, UMA_FAULT_NO_SLOT,
				     op->func == UMA_GATHER_ND ? "params.axis" : "params.batch");
	return 0;
}

static int bad_dims(struct uma_fault_info *fault)
{
	return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_DST, "dims");
}

static int same_dims(const struct uma_tensor_view *t, __u32 from, const struct uma_tensor_view *u,
		     __u32 at, __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++)
		if (t->dims[from + i] != u->dims[at + i])
			return 0;
	return 1;
}

static int match_axis(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	__u32 axis = op->u.gather.axis;

	if (axis >= a->rank)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, "params.axis");
	if (d->rank != a->rank + b->rank - 1)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_DST, "rank");
	if (!same_dims(d, 0, a, 0, axis) || !same_dims(d, axis, b, 0, b->rank) ||
	    !same_dims(d, axis + b->rank, a, axis + 1, a->rank - axis - 1))
		return bad_dims(fault);
	return 0;
}

static int match_elements(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	__u32 axis = op->u.gather.axis;
	__u32 i;

	if (axis >= a->rank)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, "params.axis");
	if (b->rank != a->rank)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_B, "rank");
	if (d->rank != b->rank)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_DST, "rank");
	for (i = 0; i < a->rank; i++)
		if (i != axis && b->dims[i] > a->dims[i])
			return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_B, "dims");
	return same_dims(d, 0, b, 0, b->rank) ? 0 : bad_dims(fault);
}

static int match_nd(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	__u32 batch = op->u.gather.batch, outer = b->rank - 1u, k;

	if (batch >= a->rank || batch > outer)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, "params.batch");
	k = b->dims[outer];
	if (k < 1 || k > a->rank - batch || !same_dims(b, 0, a, 0, batch))
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_B, "dims");
	if (d->rank != outer + a->rank - batch - k)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_DST, "rank");
	if (!same_dims(d, 0, b, 0, outer) ||
	    !same_dims(d, outer, a, batch + k, a->rank - batch - k))
		return bad_dims(fault);
	return 0;
}

static int gather_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	/* Two workers would write rows that share a byte. */
	if (uma_is_int4(op->t[UMA_SLOT_DST].dtype))
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_DST, "dtype");
	if (uma_index_check(op, UMA_SLOT_B, fault))
		return -1;
	switch (op->func) {
	case UMA_GATHER_AXIS:
		return match_axis(op, fault);
	case UMA_GATHER_ELEMENTS:
		return match_elements(op, fault);
	default:
		return match_nd(op, fault);
	}
}

static __u32 gather_funcs(const struct uma_op *op)
{
	return 1u << op->func;
}

/* --- execution ------------------------------------------------------------------- */

static int gather_prepare(struct uma_run *run, struct uma_program *prog)
{
	const struct uma_op *op = &prog->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	struct gather_plan *p = (struct gather_plan *)prog->priv;
	__u64 cost;

	if (uma_tensor_empty(d))
		return 0;
	p->first = op->func == UMA_GATHER_ND ? op->u.gather.batch : op->u.gather.axis;
	p->count = op->func == UMA_GATHER_ND ? b->dims[b->rank - 1] : 1;
	switch (op->func) {
	case UMA_GATHER_ELEMENTS:
		p->alone = 1;
		p->along = p->first == a->rank - 1u ? UMA_MAX_RANK : a->rank - 1u;
		break;
	default:
		/* The last dimension of DST is the last one of A, unless that one is indexed. */
		p->alone = p->first + p->count == a->rank;
		p->along = p->alone ? UMA_MAX_RANK : a->rank - 1u;
		/* Only batch dimensions: the elements of a row are along the last of them. */
		if (p->alone && op->func == UMA_GATHER_ND && d->rank == p->first)
			p->along = p->first - 1;
		break;
	}
	if (uma_walk_init(&p->w, d->dims, d->rank, d->rank - 1u, UMA_ROW_MAX))
		return uma_set_fault(run->fault, UMA_FAULT_UNSUPPORTED, UMA_SLOT_DST, "dims");
	cost = ROW_COST + p->w.row * (p->alone ? ALONE_COST + NEAR_COST * p->count : NEAR_COST);
	if (uma_walk_tiles(&p->w, 1, cost, prog->step_work, &prog->tiles[0]))
		return uma_set_fault(run->fault, UMA_FAULT_UNSUPPORTED, UMA_SLOT_DST, "dims");
	prog->phase_count = 1;
	prog->macs = uma_tensor_elements(d);
	return 0;
}

/*
 * Compute the indices in A, 0 in indexed dimensions, and in B, of the first element of a
 * row of DST.
 */
static void map_index(const struct uma_op *op, const struct gather_plan *p, const __u32 *idx,
		      __u32 *ai, __u32 *bi)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	__u32 end = p->first + p->count, d;
	__u32 moved;

	for (d = 0; d < UMA_MAX_RANK; d++) {
		ai[d] = d < a->rank ? idx[d] : 0;
		bi[d] = d < b->rank ? idx[d] : 0;
	}
	switch (op->func) {
	case UMA_GATHER_AXIS:
		moved = b->rank - 1u;
		for (d = 0; d < b->rank; d++)
			bi[d] = idx[p->first + d];
		break;
	case UMA_GATHER_ND:
		moved = b->rank - 1u;
		bi[moved] = 0;
		/* The dimensions that are not indexed follow those of B in DST. */
		for (d = end; d < a->rank; d++)
			ai[d] = idx[moved + d - end];
		for (d = p->first; d < end; d++)
			ai[d] = 0;
		return;
	default:
		ai[p->first] = 0;
		return;
	}
	for (d = end; d < a->rank; d++)
		ai[d] = idx[d + moved];
	ai[p->first] = 0;
}

struct gather_row {
	__u32 idx[UMA_MAX_RANK];
	__u32 a[UMA_MAX_RANK];
	__u32 b[UMA_MAX_RANK];
	__u32 n;
};

/* Gather a row of DST that is a run of A. */
static int gather_run(struct uma_run *run, const struct gather_plan *p, struct gather_scratch *s,
		      struct gather_row *r, const struct uma_row *to)
{
	const struct uma_op *op = &run->prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	__s64 off = uma_tensor_offset(b, r->b);
	struct uma_row from;
	__u32 i;

	for (i = 0; i < p->count; i++)
		if (uma_index_row(run, UMA_SLOT_B, off + (__s64)i * b->strides[b->rank - 1], 1, 1,
				  a->dims[p->first + i], &r->a[p->first + i]))
			return -1;
	from = (struct uma_row){
		.slot = UMA_SLOT_A,
		.off = uma_tensor_offset(a, r->a),
		.stride = a->strides[p->along],
		.n = r->n,
		.idx = a->quant >= UMA_QUANT_CHANNEL ? r->a : 0,
		.axis = p->along,
	};
	return uma_row_move(run, &from, to, &s->buf, s->x);
}

/* Load an element of A to position @i of the row. */
static int gather_one(struct uma_run *run, struct gather_scratch *s, const __u32 *at, __u32 i,
		      int raw)
{
	const struct uma_tensor_view *a = &run->prog->op.t[UMA_SLOT_A];
	__u32 es = uma_wide_size(a->dtype);
	struct uma_row from = {
		.slot = UMA_SLOT_A,
		.off = uma_tensor_offset(a, at),
		.n = 1,
		.idx = a->quant >= UMA_QUANT_CHANNEL ? at : 0,
	};
	const void *v;

	if (raw) {
		v = uma_gather(run, UMA_SLOT_A, a, from.off, 1, 1, s->buf.raw);
		if (v)
			__builtin_memcpy((__u8 *)s->out + (__u64)i * es, v, es);
	} else {
		v = uma_row_f32(run, &from, &s->buf, (float *)s->x);
		if (v)
			__builtin_memcpy(&s->out[i], v, 4);
	}
	return v ? 0 : -1;
}

/* Gather a row of DST whose elements have their own indices. */
static int gather_alone(struct uma_run *run, const struct gather_plan *p,
			struct gather_scratch *s, struct gather_row *r, const struct uma_row *to)
{
	const struct uma_op *op = &run->prog->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	/* Dimension of B that corresponds to the last one of DST */
	__u32 dim = op->func == UMA_GATHER_ND ? b->rank - 2u : b->rank - 1u;
	__s64 off = uma_tensor_offset(b, r->b);
	int raw = uma_same_format(a, d);
	__u32 i, c;

	for (c = 0; c < p->count; c++)
		if (uma_index_row(run, UMA_SLOT_B, off + (__s64)c * b->strides[b->rank - 1],
				  b->strides[dim], r->n, a->dims[p->first + c], s->at[c]))
			return -1;
	for (i = 0; i < r->n; i++) {
		for (c = 0; c < p->count; c++)
			r->a[p->first + c] = s->at[c][i];
		if (gather_one(run, s, r->a, i, raw))
			return -1;
		if (p->along < UMA_MAX_RANK)
			r->a[p->along]++;
	}
	if (raw)
		return uma_scatter(run, UMA_SLOT_DST, d, to->off, to->stride, r->n, s->out);
	return uma_row_store_f32(run, to, &s->buf, (const float *)s->out);
}

static int gather_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step)
{
	const struct gather_plan *p = (const void *)run->prog->priv;
	struct gather_scratch *s = (struct gather_scratch *)run->scratch;
	const struct uma_op *op = &run->prog->op;
	struct gather_row r = { 0 };
	__u64 row, stop;
	int more, ret;

	(void)phase;
	for (row = uma_walk_step(&p->w, tile, step, &stop, &more); row < stop; row++) {
		struct uma_row to;

		r.n = uma_walk_row(&p->w, row, r.idx);
		to = uma_walk_at(&p->w, op, UMA_SLOT_DST, r.idx, r.n);
		map_index(op, p, r.idx, r.a, r.b);
		ret = p->alone ? gather_alone(run, p, s, &r, &to) : gather_run(run, p, s, &r, &to);
		if (ret)
			return -1;
	}
	return more;
}

const struct uma_op_class uma_op_gather = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A) | UMA_SLOT_BIT(B),
	.outputs = UMA_SLOT_BIT(DST),
	.fixed = UMA_SLOT_BIT(B),
	.blocks = UMA_SLOT_BIT(A),
	.decode = gather_decode,
	.match = gather_match,
	.funcs = gather_funcs,
	.prepare = gather_prepare,
	.step = gather_step,
};
