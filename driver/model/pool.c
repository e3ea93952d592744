// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * POOL: DST = maximum, average or p-norm of windows of A.
 *
 * A row of DST goes along the dimension with its smallest stride. For each position of
 * the window, in row-major order, the corresponding run of A is combined with the
 * accumulators of the row; positions outside of A are skipped. A row with a large window
 * takes several steps, between which its accumulators stay in scratch memory.
 */
#include "uma_internal.h"

#define ROW_COST	512u
#define NEAR_COST	32u
#define FAR_COST	96u

#define F32_ONE		0x3f800000u
#define F32_MINUS_INF	0xff800000u

#define SPATIAL		2u	/* first dimension with a window */

struct pool_plan {
	struct uma_walk w;
	/* Number of positions of a window */
	__u32 taps;
	/* Number of steps of a row, and of positions in a step */
	__u32 chunks;
	__u32 chunk;
};

struct pool_scratch {
	/* Accumulators, kept between steps */
	__u32 acc[UMA_ROW_MAX];
	__u32 x[UMA_ROW_MAX];
	__u32 y[UMA_ROW_MAX];
	struct uma_rowbuf buf;
};

_Static_assert(sizeof(struct pool_plan) <= sizeof(((struct uma_program *)0)->priv), "priv");
_Static_assert(sizeof(struct pool_scratch) <= UMA_SCRATCH_SIZE, "scratch");
_Static_assert(sizeof(struct uma_pool_params) == 128, "params");

/* --- parameters and operands ---------------------------------------------------- */

static int pool_decode(const void *params, struct uma_op *op, __u32 *used,
		       struct uma_fault_info *fault)
{
	const struct uma_pool_params *p = params;
	struct uma_pool_op *u = &op->u.pool;
	__u32 i;

	op->func = uma_le32(p->func);
	u->flags = uma_le32(p->flags);
	u->norm = uma_le32(p->norm);
	u->spatial = uma_le32(p->spatial);
	for (i = 0; i < UMA_POOL_SPATIAL; i++) {
		u->kernel[i] = uma_le32(p->kernel[i]);
		u->stride[i] = uma_le32(p->stride[i]);
		u->dilation[i] = uma_le32(p->dilation[i]);
		u->begin[i] = uma_le32(p->pad_begin[i]);
		u->end[i] = uma_le32(p->pad_end[i]);
	}
	*used = __builtin_offsetof(struct uma_pool_params, pad);
	if (op->func >= UMA_POOL_COUNT)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, "params.func");
	if ((u->flags & ~UMA_POOL_FLAGS_MASK) ||
	    ((u->flags & UMA_POOL_COUNT_PAD) && op->func != UMA_POOL_AVERAGE))
		return uma_set_fault(fault, UMA_FAULT_FLAGS, UMA_FAULT_NO_SLOT, "params.flags");
	if (op->func == UMA_POOL_LP ? u->norm < 1 || u->norm > UMA_POOL_NORM_MAX : u->norm)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, "params.norm");
	if (u->spatial < 1 || u->spatial > UMA_POOL_SPATIAL)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, "params.spatial");
	for (i = u->spatial; i < UMA_POOL_SPATIAL; i++)
		if (u->kernel[i] || u->stride[i] || u->dilation[i] || u->begin[i] || u->end[i])
			return uma_set_fault(fault, UMA_FAULT_PAD, UMA_FAULT_NO_SLOT,
					     "params.kernel");
	return 0;
}

static int bad_param(struct uma_fault_info *fault, const char *field)
{
	return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, field);
}

/*
 * Number of windows along a dimension, -1 if none fits. With UMA_POOL_CEIL an incomplete
 * last window counts, unless it begins in the padding at the end.
 */
static __s64 outputs_of(const struct uma_pool_op *u, __u32 i, __u32 in)
{
	__s64 extent = (__s64)u->dilation[i] * (u->kernel[i] - 1) + 1;
	__s64 room = (__s64)in + u->begin[i] + u->end[i] - extent;
	__s64 n;

	if (room < 0)
		return -1;
	n = room / u->stride[i] + 1;
	if ((u->flags & UMA_POOL_CEIL) && room % u->stride[i] &&
	    n * u->stride[i] < (__s64)in + u->begin[i])
		n++;
	return n;
}

static int pool_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_pool_op *u = &op->u.pool;
	__u64 taps = 1;
	__u32 i, s;

	for (s = UMA_SLOT_DST; s <= UMA_SLOT_A; s++) {
		if (uma_is_int4(op->t[s].dtype) || op->t[s].dtype == UMA_DTYPE_S32)
			return uma_set_fault(fault, UMA_FAULT_DTYPE, s, "dtype");
		if (op->t[s].quant > UMA_QUANT_TENSOR)
			return uma_set_fault(fault, UMA_FAULT_QUANT, s, "quant");
	}
	if (d->rank != u->spatial + SPATIAL)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_DST, "rank");
	for (i = 0; i < u->spatial; i++) {
		if (u->kernel[i] < 1 || u->kernel[i] > UMA_POOL_LIMIT)
			return bad_param(fault, "params.kernel");
		if (u->stride[i] < 1 || u->stride[i] > UMA_POOL_LIMIT)
			return bad_param(fault, "params.stride");
		if (u->dilation[i] < 1 || u->dilation[i] > UMA_POOL_LIMIT)
			return bad_param(fault, "params.dilation");
		if (u->begin[i] > UMA_POOL_LIMIT)
			return bad_param(fault, "params.pad_begin");
		if (u->end[i] > UMA_POOL_LIMIT)
			return bad_param(fault, "params.pad_end");
		/* No overflow: at most 2^31, times 2^24. */
		taps *= u->kernel[i];
		if (taps > 1u << 31)
			return bad_param(fault, "params.kernel");
	}
	if (uma_match_dims(op, UMA_SLOT_A, SPATIAL, fault))
		return -1;
	for (i = 0; i < u->spatial; i++)
		if (outputs_of(u, i, a->dims[SPATIAL + i]) != (__s64)d->dims[SPATIAL + i])
			return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_DST, "dims");
	return 0;
}

static __u32 pool_funcs(const struct uma_op *op)
{
	return 1u << op->func;
}

/* --- division into tiles -------------------------------------------------------- */

static int pool_prepare(struct uma_run *run, struct uma_program *prog)
{
	const struct uma_op *op = &prog->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_pool_op *u = &op->u.pool;
	struct pool_plan *p = (struct pool_plan *)prog->priv;
	__u32 dim = uma_walk_dim(d), i, near;
	__u64 cost;

	if (uma_tensor_empty(d))
		return 0;
	near = op->t[UMA_SLOT_A].strides[dim] == 1 &&
	       (dim < SPATIAL || u->stride[dim - SPATIAL] == 1);
	p->taps = 1;
	for (i = 0; i < u->spatial; i++)
		p->taps *= u->kernel[i];
	if (uma_walk_init(&p->w, d->dims, d->rank, dim, UMA_ROW_MAX))
		return uma_set_fault(run->fault, UMA_FAULT_UNSUPPORTED, UMA_SLOT_DST, "dims");
	cost = ROW_COST + p->w.row * (near ? NEAR_COST : FAR_COST);
	if (op->func == UMA_POOL_LP)
		cost += p->w.row * (8ull * u->norm);
	p->chunk = prog->step_work == UMA_STEP_WORK_UNBOUND ? p->taps :
		(__u32)UMA_MIN(UMA_MAX(prog->step_work / cost, 1), p->taps);
	p->chunks = (__u32)uma_divup(p->taps, p->chunk);
	/* A row of several steps is a tile of its own. */
	if (uma_walk_tiles(&p->w, 1, cost * p->taps, prog->step_work, &prog->tiles[0]))
		return uma_set_fault(run->fault, UMA_FAULT_UNSUPPORTED, UMA_SLOT_DST, "dims");
	if (p->chunks > 1) {
		if (p->w.rows > 0xfffffffeu)
			return uma_set_fault(run->fault, UMA_FAULT_UNSUPPORTED, UMA_SLOT_DST, "dims");
		p->w.tile_rows = 1;
		p->w.step_rows = 1;
		prog->tiles[0] = (__u32)p->w.rows;
	}
	prog->phase_count = 1;
	if (__builtin_mul_overflow(uma_tensor_elements(d), (__u64)p->taps, &prog->macs))
		prog->macs = ~0ULL;
	return 0;
}

/* --- execution ------------------------------------------------------------------ */

struct pool_ctx {
	struct uma_run *run;
	const struct pool_plan *p;
	struct pool_scratch *s;
	/* First element and length of the row */
	__u32 idx[UMA_MAX_RANK];
	__u32 n;
};

/* Index in A of position @k of the window of output @o; may be out of range */
static __s64 source(const struct uma_pool_op *u, __u32 i, __u32 o, __u32 k)
{
	return (__s64)o * u->stride[i] - u->begin[i] + (__s64)k * u->dilation[i];
}

/*
 * Range [@lo, @hi) of the elements of the row for which position @tap is inside of A;
 * sets @ai to the index in A for element @lo.
 */
static void cover(const struct pool_ctx *c, const __u32 *tap, __u32 *lo, __u32 *hi, __s64 *ai)
{
	const struct uma_op *op = &c->run->prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_pool_op *u = &op->u.pool;
	int outside = 0;
	__u32 i, dim;

	*lo = 0;
	*hi = c->n;
	for (i = 0; i < SPATIAL; i++)
		ai[i] = c->idx[i];
	for (i = 0; i < u->spatial; i++) {
		__s64 end = a->dims[SPATIAL + i], x;

		dim = SPATIAL + i;
		x = source(u, i, c->idx[dim], tap[i]);
		if (dim == c->p->w.dim) {
			__s64 stride = u->stride[i], first = 0, last;

			/* x + j * stride is in [0, end) for first <= j < last. */
			if (x < 0)
				first = (stride - 1 - x) / stride;
			last = x < end ? (end - x + stride - 1) / stride : 0;
			*lo = (__u32)UMA_MIN(first, (__s64)c->n);
			*hi = (__u32)UMA_MIN(last, (__s64)c->n);
			x += *lo * stride;
		} else if (x < 0 || x >= end) {
			outside = 1;
		}
		ai[dim] = x;
	}
	if (outside)
		*hi = 0;
	if (c->p->w.dim < SPATIAL)
		ai[c->p->w.dim] += *lo;
}

/* x[i] = |x[i]|^norm, by multiplication */
static void power(const struct uma_kernels *k, float *x, float *y, __u32 norm, __u32 n)
{
	__u32 i;

	k->unary[UMA_UNARY_ABS](x, n);
	if (norm < 2)
		return;
	__builtin_memcpy(y, x, 4ul * n);
	for (i = 1; i < norm; i++)
		k->binary[UMA_BINARY_MUL](x, x, y, n);
}

static int take(struct pool_ctx *c, const __u32 *tap)
{
	const struct uma_op *op = &c->run->prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_kernels *k = c->run->k;
	__u32 dim = c->p->w.dim, lo, hi, n, d;
	float *acc = (float *)c->s->acc, *x = (float *)c->s->x;
	__s64 ai[UMA_MAX_RANK] = { 0 }, off = 0;
	struct uma_row from;
	const float *v;

	cover(c, tap, &lo, &hi, ai);
	if (lo >= hi)
		return 0;
	n = hi - lo;
	for (d = 0; d < a->rank; d++)
		off += ai[d] * a->strides[d];
	from = (struct uma_row){
		.slot = UMA_SLOT_A,
		.off = off,
		.stride = a->strides[dim] *
			  (__s64)(dim < SPATIAL ? 1 : op->u.pool.stride[dim - SPATIAL]),
		.n = n,
	};
	v = uma_row_f32(c->run, &from, &c->s->buf, x);
	if (!v)
		return -1;
	if (op->func == UMA_POOL_MAX) {
		k->binary[UMA_BINARY_MAX](acc + lo, acc + lo, v, n);
		return 0;
	}
	if (op->func == UMA_POOL_LP) {
		if (v != x)
			__builtin_memcpy(x, v, 4ul * n);
		v = x;
		power(k, x, (float *)c->s->y, op->u.pool.norm, n);
	}
	k->binary[UMA_BINARY_ADD](acc + lo, acc + lo, v, n);
	return 0;
}

/* Number of positions of a window that count along one dimension, for index @o of it */
static __u32 count_along(const struct uma_pool_op *u, __u32 i, __u32 in, __u32 o)
{
	__s64 pad = u->flags & UMA_POOL_COUNT_PAD ? 1 : 0;
	__s64 from = pad * -(__s64)u->begin[i], end = in + pad * u->end[i];
	__s64 x = source(u, i, o, 0), dil = u->dilation[i];
	__s64 first = x < from ? (from - x + dil - 1) / dil : 0;
	__s64 last = x < end ? (end - x + dil - 1) / dil : 0;

	last = UMA_MIN(last, (__s64)u->kernel[i]);
	return last > first ? (__u32)(last - first) : 0;
}

/* Divide the sums by the number of positions that count; 0 if there are none. */
static void average(struct pool_ctx *c)
{
	const struct uma_op *op = &c->run->prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_pool_op *u = &op->u.pool;
	const struct uma_kernels *k = c->run->k;
	__s32 *count = (__s32 *)c->s->y;
	__u64 others = 1;
	__u32 i, j;

	for (i = 0; i < u->spatial; i++)
		if (SPATIAL + i != c->p->w.dim)
			others *= count_along(u, i, a->dims[SPATIAL + i], c->idx[SPATIAL + i]);
	for (j = 0; j < c->n; j++) {
		__u64 n = others;

		if (c->p->w.dim >= SPATIAL) {
			i = c->p->w.dim - SPATIAL;
			n *= count_along(u, i, a->dims[SPATIAL + i], c->idx[SPATIAL + i] + j);
		}
		/* 2^31, the largest count, and 2^31 - 1 are equal in binary32. */
		count[j] = (__s32)UMA_MIN(UMA_MAX(n, 1), 0x7fffffffu);
	}
	k->to_f32[UMA_DTYPE_S32]((float *)c->s->x, count, c->n);
	k->binary[UMA_BINARY_DIV]((float *)c->s->acc, (const float *)c->s->acc,
				  (const float *)c->s->x, c->n);
}

/* Root of the sums: x, sqrt(x) or exp(log(x) / norm) */
static void root(struct pool_ctx *c)
{
	const struct uma_kernels *k = c->run->k;
	__u32 norm = c->run->prog->op.u.pool.norm, n = c->n, i;
	float *acc = (float *)c->s->acc, *x = (float *)c->s->x;

	if (norm == 1)
		return;
	if (norm == 2) {
		k->unary[UMA_UNARY_SQRT](acc, n);
		return;
	}
	for (i = 0; i < n; i++)
		c->s->y[i] = norm;
	k->to_f32[UMA_DTYPE_S32](x, c->s->y, n);
	k->unary[UMA_UNARY_LOG](acc, n);
	k->binary[UMA_BINARY_DIV](acc, acc, x, n);
	k->unary[UMA_UNARY_EXP](acc, n);
}

static int pool_row(struct pool_ctx *c, __u64 row, __u32 tap, __u32 end)
{
	const struct uma_op *op = &c->run->prog->op;
	const struct uma_pool_op *u = &op->u.pool;
	__u32 at[UMA_POOL_SPATIAL] = { 0 }, rest = tap, i;
	struct uma_row to;

	c->n = uma_walk_row(&c->p->w, row, c->idx);
	if (!tap)
		c->run->k->fill((float *)c->s->acc,
				op->func == UMA_POOL_MAX ? F32_MINUS_INF : 0, c->n);
	for (i = u->spatial; i-- > 0;) {
		at[i] = rest % u->kernel[i];
		rest /= u->kernel[i];
	}
	for (; tap < end; tap++) {
		if (take(c, at))
			return -1;
		for (i = u->spatial; i-- > 0;) {
			if (++at[i] < u->kernel[i])
				break;
			at[i] = 0;
		}
	}
	if (end < c->p->taps)
		return 0;
	if (op->func == UMA_POOL_AVERAGE)
		average(c);
	else if (op->func == UMA_POOL_LP)
		root(c);
	to = uma_walk_at(&c->p->w, op, UMA_SLOT_DST, c->idx, c->n);
	return uma_row_store_f32(c->run, &to, &c->s->buf, (const float *)c->s->acc);
}

static int pool_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step)
{
	const struct pool_plan *p = (const void *)run->prog->priv;
	struct pool_ctx c = {
		.run = run,
		.p = p,
		.s = (struct pool_scratch *)run->scratch,
	};
	__u64 row, stop;
	__u32 tap, end;
	int more;

	(void)phase;
	if (p->chunks > 1) {
		tap = *step * p->chunk;
		end = UMA_MIN(p->taps - tap, p->chunk) + tap;
		(*step)++;
		return pool_row(&c, tile, tap, end) ? -1 : end < p->taps;
	}
	for (row = uma_walk_step(&p->w, tile, step, &stop, &more); row < stop; row++)
		if (pool_row(&c, row, 0, p->taps))
			return -1;
	return more;
}

const struct uma_op_class uma_op_pool = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A),
	.outputs = UMA_SLOT_BIT(DST),
	.flags = UMA_CLASS_SAME_RANK,
	.decode = pool_decode,
	.match = pool_match,
	.funcs = pool_funcs,
	.prepare = pool_prepare,
	.step = pool_step,
};
