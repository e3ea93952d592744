// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SCATTER: DST = A, with elements of C stored, added, multiplied, ... at indices from B.
 *
 * The first phase copies A to DST. The second applies the updates. Several updates of an
 * element take place in the row-major order of B, each rounded to DST's type. To keep
 * this order, updates are grouped into lines that are not split between tiles and never
 * update the same element as another line. For ELEMENTS these are the lines of B along
 * the axis; for ND, a line has the updates of one run of each slice, by all index tuples.
 */
#include "uma_internal.h"

#define ROW_COST	1024u
#define NEAR_COST	64u
#define ALONE_COST	1024u

/* Number of updates of a line that are read at once */
#define LINE_ROW	256u

struct scatter_plan {
	/* Rows of the copy of A to DST */
	struct uma_walk copy;
	/* Rows of updates. ELEMENTS: of B along the axis; ND: runs of a slice times tuples */
	struct uma_walk w;
	/* ND: number of dimensions that a tuple indexes */
	__u32 k;
	/* ND: number of index tuples */
	__u64 tuples;
	/* A and DST are the same, so the phase that copies is omitted */
	__u8 in_place;
	/* Updates are stored unchanged */
	__u8 raw;
	/* Updates are computed in integers */
	__u8 exact;
};

struct scatter_scratch {
	__u32 x[UMA_ROW_MAX];
	__u32 y[UMA_ROW_MAX];
	__u32 at[LINE_ROW];
	__s64 wide[UMA_ROW_MAX];
	struct uma_rowbuf buf;
	struct uma_rowbuf buf2;
};

_Static_assert(sizeof(struct scatter_plan) <= sizeof(((struct uma_program *)0)->priv), "priv");
_Static_assert(sizeof(struct scatter_scratch) <= UMA_SCRATCH_SIZE, "scratch");
_Static_assert(sizeof(struct uma_scatter_params) == 128, "params");

/* --- parameters and operands ---------------------------------------------------- */

static int scatter_decode(const void *params, struct uma_op *op, __u32 *used,
			  struct uma_fault_info *fault)
{
	const struct uma_scatter_params *p = params;

	op->func = uma_le32(p->func);
	op->u.scatter.axis = uma_le32(p->axis);
	op->u.scatter.reduce = uma_le32(p->reduce);
	*used = 12;
	if (op->func >= UMA_SCATTER_COUNT)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, "params.func");
	if (op->u.scatter.reduce >= UMA_SCATTER_REDUCE_COUNT)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, "params.reduce");
	if (op->func == UMA_SCATTER_ND && op->u.scatter.axis)
		return uma_set_fault(fault, UMA_FAULT_PAD, UMA_FAULT_NO_SLOT, "params.axis");
	return 0;
}

static int match_elements(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	const struct uma_tensor_view *c = &op->t[UMA_SLOT_C];
	__u32 i;

	if (op->u.scatter.axis >= d->rank)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, "params.axis");
	if (b->rank != d->rank)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_B, "rank");
	if (c->rank != d->rank)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_C, "rank");
	for (i = 0; i < d->rank; i++) {
		if (i != op->u.scatter.axis && b->dims[i] > d->dims[i])
			return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_B, "dims");
		if (c->dims[i] != b->dims[i])
			return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_C, "dims");
	}
	return 0;
}

static int match_nd(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	const struct uma_tensor_view *c = &op->t[UMA_SLOT_C];
	__u32 outer = b->rank - 1u, k = b->dims[outer], i;

	if (k < 1 || k > d->rank)
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_B, "dims");
	if (c->rank != outer + d->rank - k)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_C, "rank");
	for (i = 0; i < c->rank; i++)
		if (c->dims[i] != (i < outer ? b->dims[i] : d->dims[k + i - outer]))
			return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_C, "dims");
	return 0;
}

static int scatter_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];

	if (uma_is_int4(d->dtype))
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_DST, "dtype");
	if (uma_index_check(op, UMA_SLOT_B, fault))
		return -1;
	if (op->t[UMA_SLOT_A].rank != d->rank)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_A, "rank");
	if (uma_match_dims(op, UMA_SLOT_A, d->rank, fault))
		return -1;
	return op->func == UMA_SCATTER_ND ? match_nd(op, fault) : match_elements(op, fault);
}

static __u32 scatter_funcs(const struct uma_op *op)
{
	return 1u << op->func | UMA_SCATTER_CAP_REDUCE(op->u.scatter.reduce);
}

/* --- division into tiles -------------------------------------------------------- */

/* Is A the same view of memory as DST, so that it need not be copied? */
static int same_tensor(const struct uma_tensor_view *a, const struct uma_tensor_view *d)
{
	__u32 i;

	if (a->addr != d->addr || !uma_same_format(a, d))
		return 0;
	for (i = 0; i < d->rank; i++)
		if (d->dims[i] > 1 && a->strides[i] != d->strides[i])
			return 0;
	return 1;
}

static int prepare_elements(const struct uma_op *op, struct scatter_plan *p, __u32 step_work,
			    __u32 *tiles)
{
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	__u64 cost;

	if (uma_walk_init(&p->w, b->dims, b->rank, op->u.scatter.axis, LINE_ROW))
		return -1;
	cost = ROW_COST + (__u64)p->w.row * ALONE_COST;
	return uma_walk_tiles(&p->w, p->w.cuts, cost, step_work, tiles);
}

/* A line is a run of the slice, with a row for each tuple. */
static int prepare_nd(const struct uma_op *op, struct scatter_plan *p, __u32 step_work,
		      __u32 *tiles)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	static const __u32 one = 1;
	__u64 cost;
	__u32 i;

	p->k = b->dims[b->rank - 1];
	p->tuples = 1;
	for (i = 0; i + 1 < b->rank; i++)
		if (__builtin_mul_overflow(p->tuples, (__u64)b->dims[i], &p->tuples))
			return -1;
	if (p->k < d->rank ?
	    uma_walk_init(&p->w, d->dims + p->k, d->rank - p->k, d->rank - p->k - 1, UMA_ROW_MAX) :
	    uma_walk_init(&p->w, &one, 1, 0, 1))
		return -1;
	/* The tuples are the innermost index of the rows. */
	if (__builtin_mul_overflow(p->w.rows, p->tuples, &p->w.rows) || p->w.rows >> 50)
		return -1;
	cost = ROW_COST + p->w.row * (4ull * NEAR_COST);
	return uma_walk_tiles(&p->w, p->tuples, cost, step_work, tiles);
}

static int scatter_prepare(struct uma_run *run, struct uma_program *prog)
{
	const struct uma_op *op = &prog->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *c = &op->t[UMA_SLOT_C];
	struct scatter_plan *p = (struct scatter_plan *)prog->priv;
	__u32 dim = uma_walk_dim(d);
	int ret;

	if (uma_tensor_empty(d))
		return 0;
	p->in_place = (__u8)same_tensor(&op->t[UMA_SLOT_A], d);
	p->raw = !op->u.scatter.reduce && uma_same_format(c, d);
	p->exact = d->dtype == UMA_DTYPE_S32 && uma_same_format(c, d);
	prog->macs = uma_tensor_elements(d);
	if (!p->in_place) {
		if (uma_walk_init(&p->copy, d->dims, d->rank, dim, UMA_ROW_MAX) ||
		    uma_walk_tiles(&p->copy, 1, ROW_COST + p->copy.row * NEAR_COST,
				   prog->step_work, &prog->tiles[0]))
			return uma_set_fault(run->fault, UMA_FAULT_UNSUPPORTED, UMA_SLOT_DST, "dims");
		prog->phase_count = 1;
	}
	if (uma_tensor_empty(c) || uma_tensor_empty(&op->t[UMA_SLOT_B]))
		return 0;
	ret = op->func == UMA_SCATTER_ND ?
		prepare_nd(op, p, prog->step_work, &prog->tiles[prog->phase_count]) :
		prepare_elements(op, p, prog->step_work, &prog->tiles[prog->phase_count]);
	if (ret)
		return uma_set_fault(run->fault, UMA_FAULT_UNSUPPORTED, UMA_SLOT_B, "dims");
	prog->phase_count++;
	return 0;
}

/* --- updates ---------------------------------------------------------------------- */

static __s64 reduce_exact(__u32 reduce, __s64 a, __s64 b)
{
	switch (reduce) {
	case UMA_SCATTER_ADD:
		return a + b;
	case UMA_SCATTER_MUL:
		return a * b;
	case UMA_SCATTER_MAX:
		return UMA_MAX(a, b);
	case UMA_SCATTER_MIN:
		return UMA_MIN(a, b);
	default:
		return b;
	}
}

/* Update a run of DST. @u: the updates as updates() returns them, one for each element. */
static int update(struct uma_run *run, const struct scatter_plan *p, struct scatter_scratch *s,
		  const struct uma_row *to, const void *u)
{
	static const __u8 func[UMA_SCATTER_REDUCE_COUNT] = {
		[UMA_SCATTER_ADD] = UMA_BINARY_ADD,
		[UMA_SCATTER_MUL] = UMA_BINARY_MUL,
		[UMA_SCATTER_MAX] = UMA_BINARY_MAX,
		[UMA_SCATTER_MIN] = UMA_BINARY_MIN,
	};
	__u32 reduce = run->prog->op.u.scatter.reduce, i;
	const struct uma_tensor_view *d = &run->prog->op.t[UMA_SLOT_DST];
	const __s32 *old;
	const float *v;

	if (p->raw)
		return uma_scatter(run, UMA_SLOT_DST, d, to->off, to->stride, to->n, u);
	if (!reduce)
		return uma_row_store_f32(run, to, &s->buf2, u);
	if (p->exact) {
		old = uma_row_s32(run, to, &s->buf2);
		if (!old)
			return -1;
		for (i = 0; i < to->n; i++)
			s->wide[i] = reduce_exact(reduce, old[i], ((const __s32 *)u)[i]);
		return uma_row_store_s64(run, to, &s->buf2, s->wide);
	}
	v = uma_row_f32(run, to, &s->buf2, (float *)s->y);
	if (!v)
		return -1;
	run->k->binary[func[reduce]]((float *)s->y, v, u, to->n);
	return uma_row_store_f32(run, to, &s->buf2, (const float *)s->y);
}

/* Load a run of C: unchanged for p->raw, as integers for p->exact, else as binary32. */
static const void *updates(struct uma_run *run, const struct scatter_plan *p,
			   struct scatter_scratch *s, const struct uma_row *from)
{
	const struct uma_tensor_view *c = &run->prog->op.t[UMA_SLOT_C];

	if (p->raw)
		return uma_gather(run, UMA_SLOT_C, c, from->off, from->stride, from->n, s->buf.raw);
	if (p->exact)
		return uma_row_s32(run, from, &s->buf);
	return uma_row_f32(run, from, &s->buf, (float *)s->x);
}

static int elements_row(struct uma_run *run, const struct scatter_plan *p,
			struct scatter_scratch *s, __u64 row)
{
	const struct uma_op *op = &run->prog->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	__u32 axis = op->u.scatter.axis, idx[UMA_MAX_RANK] = { 0 };
	__u32 es = p->raw ? uma_wide_size(d->dtype) : 4;
	__u32 n = uma_walk_row(&p->w, row, idx), i;
	struct uma_row from = uma_walk_at(&p->w, op, UMA_SLOT_C, idx, n);
	const __u8 *u;

	if (uma_index_row(run, UMA_SLOT_B, uma_tensor_offset(b, idx), b->strides[axis], n,
			  d->dims[axis], s->at))
		return -1;
	u = updates(run, p, s, &from);
	if (!u)
		return -1;
	for (i = 0; i < n; i++) {
		struct uma_row to;

		idx[axis] = s->at[i];
		to = uma_walk_at(&p->w, op, UMA_SLOT_DST, idx, 1);
		if (update(run, p, s, &to, u + (__u64)i * es))
			return -1;
	}
	return 0;
}

static int nd_row(struct uma_run *run, const struct scatter_plan *p, struct scatter_scratch *s,
		  __u64 row)
{
	const struct uma_op *op = &run->prog->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	const struct uma_tensor_view *c = &op->t[UMA_SLOT_C];
	__u32 slice[UMA_MAX_RANK] = { 0 }, bi[UMA_MAX_RANK] = { 0 };
	__u32 ci[UMA_MAX_RANK] = { 0 }, di[UMA_MAX_RANK] = { 0 };
	__u32 outer = b->rank - 1u, n, i;
	__u64 tuple = row % p->tuples;
	struct uma_row from, to;
	const void *u;
	__s64 off;

	n = uma_walk_row(&p->w, row / p->tuples, slice);
	for (i = outer; i-- > 0;) {
		bi[i] = (__u32)(tuple % b->dims[i]);
		tuple /= b->dims[i];
		ci[i] = bi[i];
	}
	off = uma_tensor_offset(b, bi);
	for (i = 0; i < p->k; i++)
		if (uma_index_row(run, UMA_SLOT_B, off + (__s64)i * b->strides[outer], 1, 1,
				  d->dims[i], &di[i]))
			return -1;
	for (i = p->k; i < d->rank; i++) {
		di[i] = slice[i - p->k];
		ci[outer + i - p->k] = di[i];
	}
	from = (struct uma_row){
		.slot = UMA_SLOT_C,
		.off = uma_tensor_offset(c, ci),
		.stride = c->strides[c->rank - 1],
		.n = n,
		.idx = c->quant >= UMA_QUANT_CHANNEL ? ci : 0,
		.axis = c->rank - 1u,
	};
	to = (struct uma_row){
		.slot = UMA_SLOT_DST,
		.off = uma_tensor_offset(d, di),
		.stride = d->strides[d->rank - 1],
		.n = n,
		.idx = d->quant >= UMA_QUANT_CHANNEL ? di : 0,
		.axis = d->rank - 1u,
	};
	u = updates(run, p, s, &from);
	return u ? update(run, p, s, &to, u) : -1;
}

static int copy_row(struct uma_run *run, const struct scatter_plan *p, struct scatter_scratch *s,
		    __u64 row)
{
	const struct uma_op *op = &run->prog->op;
	__u32 idx[UMA_MAX_RANK] = { 0 };
	__u32 n = uma_walk_row(&p->copy, row, idx);
	struct uma_row from = uma_walk_at(&p->copy, op, UMA_SLOT_A, idx, n);
	struct uma_row to = uma_walk_at(&p->copy, op, UMA_SLOT_DST, idx, n);

	return uma_row_move(run, &from, &to, &s->buf, s->x);
}

static int scatter_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step)
{
	const struct scatter_plan *p = (const void *)run->prog->priv;
	struct scatter_scratch *s = (struct scatter_scratch *)run->scratch;
	int copy = !phase && !p->in_place, nd = run->prog->op.func == UMA_SCATTER_ND;
	const struct uma_walk *w = copy ? &p->copy : &p->w;
	__u64 row, stop;
	int more, ret;

	for (row = uma_walk_step(w, tile, step, &stop, &more); row < stop; row++) {
		ret = copy ? copy_row(run, p, s, row) :
		      nd ? nd_row(run, p, s, row) : elements_row(run, p, s, row);
		if (ret)
			return -1;
	}
	return more;
}

const struct uma_op_class uma_op_scatter = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A) | UMA_SLOT_BIT(B) | UMA_SLOT_BIT(C),
	.outputs = UMA_SLOT_BIT(DST),
	.in_place = UMA_SLOT_BIT(A),
	.fixed = UMA_SLOT_BIT(B),
	.decode = scatter_decode,
	.match = scatter_match,
	.funcs = scatter_funcs,
	.prepare = scatter_prepare,
	.step = scatter_step,
};
