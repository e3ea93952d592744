// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * RESIZE: DST = A sampled at scaled coordinates.
 *
 * Along dimension d, element o of DST is at x = (o num[d] + off[d]) / den[d] of A, an
 * exact fraction. Its fractional part determines the weights of the neighbours; those
 * outside of A are replaced by the element at the edge. The weight of an element is the
 * product of its weights along the dimensions, the outermost first. Products and sums
 * are rounded to binary32; neighbours are summed in row-major order.
 */
#include "uma_internal.h"

#define ROW_COST	2048u
#define NEAR_COST	64u
#define ALONE_COST	512u

#define F32_ONE		0x3f800000u

/* Largest number of neighbours along a dimension; of elements of a row */
#define TAPS		4u
#define ROW		512u

struct resize_plan {
	struct uma_walk w;
	/* Number of neighbours along each dimension */
	__u8 taps[UMA_MAX_RANK];
	/* Elements are copied unchanged */
	__u8 raw;
};

struct resize_scratch {
	/* For the dimension of the row: coordinate of the first neighbour, maybe outside of A */
	__s64 first[ROW];
	__u32 acc[ROW];
	__u32 x[UMA_ROW_MAX];
	__u32 y[ROW];
	/* For the dimension of the row: weights and indices of the neighbours */
	__u32 weight[TAPS][ROW];
	__u32 at[TAPS][ROW];
	__u32 frac[ROW];
	__u32 tmp[ROW];
	struct uma_rowbuf buf;
};

_Static_assert(sizeof(struct resize_plan) <= sizeof(((struct uma_program *)0)->priv), "priv");
_Static_assert(sizeof(struct resize_scratch) <= UMA_SCRATCH_SIZE, "scratch");
_Static_assert(sizeof(struct uma_resize_params) == 128, "params");

/* --- parameters and operands ---------------------------------------------------- */

static int resize_decode(const void *params, struct uma_op *op, __u32 *used,
			 struct uma_fault_info *fault)
{
	const struct uma_resize_params *p = params;
	struct uma_resize_op *u = &op->u.resize;
	__u32 i;

	op->func = uma_le32(p->func);
	u->flags = uma_le32(p->flags);
	u->nearest = uma_le32(p->nearest);
	u->cubic = uma_le32(p->cubic);
	for (i = 0; i < UMA_MAX_RANK; i++) {
		u->num[i] = uma_le32(p->num[i]);
		u->den[i] = uma_le32(p->den[i]);
		u->off[i] = (__s64)uma_le64(p->off[i]);
	}
	*used = __builtin_offsetof(struct uma_resize_params, pad);
	if (op->func >= UMA_RESIZE_COUNT)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, "params.func");
	if ((u->flags & ~UMA_RESIZE_FLAGS_MASK) || (u->flags && op->func != UMA_RESIZE_CUBIC))
		return uma_set_fault(fault, UMA_FAULT_FLAGS, UMA_FAULT_NO_SLOT, "params.flags");
	if (op->func == UMA_RESIZE_NEAREST ? u->nearest >= UMA_NEAREST_COUNT : u->nearest)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, "params.nearest");
	if (op->func == UMA_RESIZE_CUBIC ? (u->cubic & 0x7f800000u) == 0x7f800000u : u->cubic)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, "params.cubic");
	return 0;
}

static int bad_param(struct uma_fault_info *fault, const char *field)
{
	return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, field);
}

static int is_plain(const struct uma_resize_op *u, __u32 d)
{
	return u->num[d] == 1 && u->den[d] == 1 && !u->off[d];
}

static int resize_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_resize_op *u = &op->u.resize;
	__u32 i, s, resized = 0;

	for (s = UMA_SLOT_DST; s <= UMA_SLOT_A; s++) {
		if (uma_is_int4(op->t[s].dtype))
			return uma_set_fault(fault, UMA_FAULT_DTYPE, s, "dtype");
		if (op->t[s].quant > UMA_QUANT_TENSOR)
			return uma_set_fault(fault, UMA_FAULT_QUANT, s, "quant");
	}
	for (i = 0; i < UMA_MAX_RANK; i++) {
		if (i >= d->rank) {
			if (u->num[i] || u->den[i] || u->off[i])
				return uma_set_fault(fault, UMA_FAULT_PAD, UMA_FAULT_NO_SLOT,
						     "params.num");
			continue;
		}
		if (u->num[i] > UMA_RESIZE_LIMIT)
			return bad_param(fault, "params.num");
		if (u->den[i] < 1 || u->den[i] > UMA_RESIZE_LIMIT)
			return bad_param(fault, "params.den");
		/* No overflow: the product is below 2^30 times 2^32, an offset at most 2^61. */
		if (u->off[i] > UMA_RESIZE_OFF_MAX || u->off[i] < -UMA_RESIZE_OFF_MAX)
			return bad_param(fault, "params.off");
		if (is_plain(u, i)) {
			if (a->dims[i] != d->dims[i])
				return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_A, "dims");
			continue;
		}
		resized++;
		if (!a->dims[i] && d->dims[i])
			return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_A, "dims");
	}
	/* Limits the number of neighbours to 4^3. */
	if (op->func != UMA_RESIZE_NEAREST && resized > 3)
		return bad_param(fault, "params.num");
	return 0;
}

static __u32 resize_funcs(const struct uma_op *op)
{
	return 1u << op->func;
}

/* --- division into tiles -------------------------------------------------------- */

static int resize_prepare(struct uma_run *run, struct uma_program *prog)
{
	const struct uma_op *op = &prog->op;
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	struct resize_plan *p = (struct resize_plan *)prog->priv;
	__u32 dim = uma_walk_dim(d), i, taps = 1;
	__u64 cost;

	if (uma_tensor_empty(d) || uma_tensor_empty(a))
		return 0;
	for (i = 0; i < d->rank; i++) {
		p->taps[i] = is_plain(&op->u.resize, i) || op->func == UMA_RESIZE_NEAREST ? 1 :
			     op->func == UMA_RESIZE_LINEAR ? 2 : 4;
		taps *= p->taps[i];
	}
	p->raw = op->func == UMA_RESIZE_NEAREST && uma_same_format(a, d);
	cost = ROW_COST + ROW * (is_plain(&op->u.resize, dim) ? NEAR_COST : ALONE_COST);
	if (uma_walk_init(&p->w, d->dims, d->rank, dim, ROW) ||
	    uma_walk_tiles(&p->w, 1, cost * taps, prog->step_work, &prog->tiles[0]))
		return uma_set_fault(run->fault, UMA_FAULT_UNSUPPORTED, UMA_SLOT_DST, "dims");
	prog->phase_count = 1;
	prog->macs = uma_tensor_elements(d);
	return 0;
}

/* --- coordinates ------------------------------------------------------------------ */

struct resize_ctx {
	struct uma_run *run;
	const struct resize_plan *p;
	struct resize_scratch *s;
	const struct uma_resize_op *u;
	__u32 idx[UMA_MAX_RANK];
	__u32 n;
	/* For the other dimensions: weights as binary32 bits, and indices of the neighbours */
	__u32 weight[UMA_MAX_RANK][TAPS];
	__u32 at[UMA_MAX_RANK][TAPS];
};

/* Returns floor(x); @rest is the numerator of the fractional part. */
static __s64 place(const struct uma_resize_op *u, __u32 d, __u32 o, __u32 *rest)
{
	__s64 v = (__s64)o * u->num[d] + u->off[d], den = u->den[d];
	__s64 q = v / den, r = v % den;

	if (r < 0) {
		r += den;
		q--;
	}
	*rest = (__u32)r;
	return q;
}

static __u32 inside(__s64 x, __u32 dim)
{
	return x < 0 ? 0 : x >= dim ? dim - 1 : (__u32)x;
}

/*
 * Of neighbours of a place at -1 and below, or at the size of A and above, one alone may have a
 * weight, that at the edge: it stands for all such places. @x is floor of the place.
 */
static __s64 beside(__s64 x, __u32 dim, __u32 *rest)
{
	if (x + (*rest != 0) >= 0 && x < dim)
		return x;
	*rest = 0;
	return inside(x, dim);
}

static __u32 nearest(const struct uma_resize_op *u, __u32 d, __u32 o, __u32 dim)
{
	__u32 rest, den = u->den[d];
	__s64 x = place(u, d, o, &rest);

	switch (u->nearest) {
	case UMA_NEAREST_FLOOR:
		break;
	case UMA_NEAREST_CEIL:
		x += rest != 0;
		break;
	case UMA_NEAREST_HALF_UP:
		x += 2ull * rest >= den;
		break;
	default:
		x += 2ull * rest > den;
		break;
	}
	return inside(x, dim);
}

/* Constants as binary32 bits */
#define F32_TWO		0x40000000u

/*
 * Cubic convolution with parameter a (Keys, 1981): weights of the neighbour at distance x and of
 * the one at distance 1 + x on the same side, with y = 1 - x: y ((1 - (a + 2) x) x + 1) and
 * a x y^2. With the roots as factors also small weights are accurate, which may be all that
 * UMA_RESIZE_EXCLUDE leaves.
 */
static void cubic(struct resize_ctx *c, __u32 *near, __u32 *beyond, const float *x, const float *y,
		  __u32 n)
{
	const struct uma_kernels *k = c->run->k;
	float *w = (float *)near, *v = (float *)beyond, *one = (float *)c->s->tmp;
	__u32 a = c->u->cubic, slope = F32_TWO;

	k->axpy((float *)&slope, F32_ONE, (const float *)&a, 1);
	k->fill(one, F32_ONE, n);
	__builtin_memcpy(w, x, 4ul * n);
	k->scale(w, slope ^ 0x80000000u, n);
	k->binary[UMA_BINARY_ADD](w, w, one, n);
	k->binary[UMA_BINARY_MUL](w, w, x, n);
	k->binary[UMA_BINARY_ADD](w, w, one, n);
	k->binary[UMA_BINARY_MUL](w, w, y, n);
	__builtin_memcpy(v, x, 4ul * n);
	k->scale(v, a, n);
	k->binary[UMA_BINARY_MUL](v, v, y, n);
	k->binary[UMA_BINARY_MUL](v, v, y, n);
}

/* Set the weights of neighbours outside of A to 0 and normalise the others to a sum of 1. */
static void exclude(struct resize_ctx *c, __u32 dim, __u32 n)
{
	const struct uma_kernels *k = c->run->k;
	__u32 (*weight)[ROW] = c->s->weight;
	const __s64 *first = c->s->first;
	float *sum = (float *)c->s->tmp;
	__u32 i, j;

	for (j = 0; j < TAPS; j++)
		for (i = 0; i < n; i++)
			if (first[i] + j < 0 || first[i] + j >= dim)
				weight[j][i] = 0;
	k->fill(sum, 0, n);
	for (j = 0; j < TAPS; j++)
		k->binary[UMA_BINARY_ADD](sum, sum, (const float *)weight[j], n);
	for (j = 0; j < TAPS; j++)
		k->binary[UMA_BINARY_DIV]((float *)weight[j], (const float *)weight[j], sum, n);
}

/*
 * Compute the neighbours and weights of elements @o .. @o + @n along dimension @d into
 * c->s->at and c->s->weight.
 */
static void neighbours(struct resize_ctx *c, __u32 d, __u32 o, __u32 n)
{
	const struct uma_kernels *k = c->run->k;
	__u32 dim = c->run->prog->op.t[UMA_SLOT_A].dims[d], taps = c->p->taps[d];
	struct resize_scratch *s = c->s;
	float *t = (float *)s->frac, *den = (float *)s->x, *u = (float *)s->acc;
	__u32 i, j, rest;

	if (taps == 1) {
		for (i = 0; i < n; i++) {
			s->at[0][i] = c->run->prog->op.func == UMA_RESIZE_NEAREST ?
				nearest(c->u, d, o + i, dim) : o + i;
			s->weight[0][i] = F32_ONE;
		}
		return;
	}
	for (i = 0; i < n; i++) {
		s->first[i] = place(c->u, d, o + i, &rest) - (taps == 4);
		if (c->u->flags & UMA_RESIZE_EXCLUDE)
			s->first[i] = beside(s->first[i] + 1, dim, &rest) - 1;
		for (j = 0; j < taps; j++)
			s->at[j][i] = inside(s->first[i] + j, dim);
		s->tmp[i] = rest;
		s->y[i] = c->u->den[d];
		s->acc[i] = c->u->den[d] - rest;
	}
	/* t = rest / den */
	k->to_f32[UMA_DTYPE_S32](t, s->tmp, n);
	k->to_f32[UMA_DTYPE_S32](den, s->y, n);
	k->binary[UMA_BINARY_DIV](t, t, den, n);
	if (taps == 2) {
		k->fill((float *)s->weight[0], F32_ONE, n);
		k->binary[UMA_BINARY_SUB]((float *)s->weight[0], (const float *)s->weight[0], t, n);
		__builtin_memcpy(s->weight[1], t, 4ul * n);
		return;
	}
	/* 1 - t, also if that is much smaller than t's error */
	__builtin_memcpy(s->tmp, s->acc, 4ul * n);
	k->to_f32[UMA_DTYPE_S32](u, s->tmp, n);
	k->binary[UMA_BINARY_DIV](u, u, den, n);
	cubic(c, s->weight[1], s->weight[0], t, u, n);
	cubic(c, s->weight[2], s->weight[3], u, t, n);
	if (c->u->flags & UMA_RESIZE_EXCLUDE)
		exclude(c, dim, n);
}

/* --- rows --------------------------------------------------------------------------- */

/*
 * Neighbour @j of each element of a row, along the dimension of the row: as a run of A if
 * that dimension is not resized, else gathered one by one.
 */
static const void *row_of(struct resize_ctx *c, __s64 off, __u32 j)
{
	const struct uma_tensor_view *a = &c->run->prog->op.t[UMA_SLOT_A];
	__u32 dim = c->p->w.dim, es = c->p->raw ? uma_wide_size(a->dtype) : 4, i;
	struct resize_scratch *s = c->s;
	const __u32 *at = s->at[j];
	struct uma_row from = { .slot = UMA_SLOT_A };
	const void *v;

	if (is_plain(c->u, dim)) {
		from.off = off + (__s64)at[0] * a->strides[dim];
		from.stride = a->strides[dim];
		from.n = c->n;
		if (c->p->raw)
			return uma_gather(c->run, UMA_SLOT_A, a, from.off, from.stride, c->n,
					  s->buf.raw);
		return uma_row_f32(c->run, &from, &s->buf, (float *)s->x);
	}
	from.n = 1;
	for (i = 0; i < c->n; i++) {
		/* When enlarging, adjacent elements often have the same neighbour. */
		if (i && at[i] == at[i - 1]) {
			__builtin_memcpy((__u8 *)s->y + (__u64)i * es,
					 (__u8 *)s->y + (i - 1ull) * es, es);
			continue;
		}
		from.off = off + (__s64)at[i] * a->strides[dim];
		v = c->p->raw ? uma_gather(c->run, UMA_SLOT_A, a, from.off, 1, 1, s->buf.raw) :
				(const void *)uma_row_f32(c->run, &from, &s->buf, (float *)s->x);
		if (!v)
			return 0;
		__builtin_memcpy((__u8 *)s->y + (__u64)i * es, v, es);
	}
	return s->y;
}

/* Sum up the neighbours of a row; @tap is the current one along each dimension. */
static int sum_row(struct resize_ctx *c)
{
	const struct uma_op *op = &c->run->prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_kernels *k = c->run->k;
	__u32 dim = c->p->w.dim, tap[UMA_MAX_RANK] = { 0 }, d;
	float *acc = (float *)c->s->acc, *tmp = (float *)c->s->tmp;
	int first = 1;

	for (;;) {
		__u32 w = F32_ONE;
		const void *v;
		__s64 off = 0;

		for (d = 0; d < a->rank; d++) {
			if (d == dim)
				continue;
			off += (__s64)c->at[d][tap[d]] * a->strides[d];
			k->scale((float *)&w, c->weight[d][tap[d]], 1);
		}
		v = row_of(c, off, tap[dim]);
		if (!v)
			return -1;
		if (op->func == UMA_RESIZE_NEAREST) {
			__builtin_memmove(acc, v, 4ul * c->n);
			return 0;
		}
		__builtin_memcpy(tmp, c->s->weight[tap[dim]], 4ul * c->n);
		k->scale(tmp, w, c->n);
		k->binary[UMA_BINARY_MUL](tmp, tmp, v, c->n);
		if (first)
			__builtin_memcpy(acc, tmp, 4ul * c->n);
		else
			k->binary[UMA_BINARY_ADD](acc, acc, tmp, c->n);
		first = 0;
		for (d = a->rank; d-- > 0;) {
			if (++tap[d] < c->p->taps[d])
				break;
			tap[d] = 0;
			if (!d)
				return 0;
		}
	}
}

static int resize_row(struct resize_ctx *c, __u64 row)
{
	const struct uma_op *op = &c->run->prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	__u32 dim = c->p->w.dim, d, j;
	struct uma_row to;
	const void *v;
	__s64 off = 0;

	c->n = uma_walk_row(&c->p->w, row, c->idx);
	for (d = 0; d < a->rank; d++) {
		if (d == dim)
			continue;
		neighbours(c, d, c->idx[d], 1);
		for (j = 0; j < c->p->taps[d]; j++) {
			c->at[d][j] = c->s->at[j][0];
			c->weight[d][j] = c->s->weight[j][0];
		}
		off += (__s64)c->at[d][0] * a->strides[d];
	}
	neighbours(c, dim, c->idx[dim], c->n);
	to = uma_walk_at(&c->p->w, op, UMA_SLOT_DST, c->idx, c->n);
	if (c->p->raw) {
		v = row_of(c, off, 0);
		return v ? uma_scatter(c->run, UMA_SLOT_DST, &op->t[UMA_SLOT_DST], to.off,
				       to.stride, c->n, v) : -1;
	}
	if (sum_row(c))
		return -1;
	return uma_row_store_f32(c->run, &to, &c->s->buf, (const float *)c->s->acc);
}

static int resize_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step)
{
	const struct resize_plan *p = (const void *)run->prog->priv;
	struct resize_ctx c = {
		.run = run,
		.p = p,
		.s = (struct resize_scratch *)run->scratch,
		.u = &run->prog->op.u.resize,
	};
	__u64 row, stop;
	int more;

	(void)phase;
	for (row = uma_walk_step(&p->w, tile, step, &stop, &more); row < stop; row++)
		if (resize_row(&c, row))
			return -1;
	return more;
}

const struct uma_op_class uma_op_resize = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A),
	.outputs = UMA_SLOT_BIT(DST),
	.flags = UMA_CLASS_SAME_RANK,
	.decode = resize_decode,
	.match = resize_match,
	.funcs = resize_funcs,
	.prepare = resize_prepare,
	.step = resize_step,
};
