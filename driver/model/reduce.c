// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * REDUCE: one result for each line.
 *
 * Sums and products of floating-point and quantised elements are computed in binary64
 * and rounded once. Those of unquantised integers with an integer result are exact,
 * with saturation at the store.
 */
#include "uma_lines.h"

/* Cost of an element in multiply-adds, if its stride is 0 or 1 */
#define COST		32u
/* Exceeds s32, and can be doubled without overflow. */
#define BIG		(1LL << 61)

#define F(x)		(1u << UMA_REDUCE_##x)
#define ARGS		(F(ARG_MAX) | F(ARG_MIN))
/* Functions with an integer result for integers */
#define EXACT		(F(SUM) | F(MAX) | F(MIN) | F(PROD) | F(L1) | F(SUM_SQUARE))
#define SMALLEST	(F(MIN) | F(ARG_MIN))

struct reduce_scratch {
	double lanes[UMA_LANES];
	double none;
	double v;
	__s64 sum;
	struct uma_best best;
	/* ARG_MAX, ARG_MIN: position of the best element so far */
	__u64 at;
	/* LOG_SUM_EXP: the largest number, binary32 bits */
	__u32 max;
	float x[UMA_ROW_MAX];
	struct uma_rowbuf buf;
};

_Static_assert(sizeof(struct reduce_scratch) <= UMA_SCRATCH_SIZE, "scratch");

static int is_in(const struct uma_op *op, __u32 funcs)
{
	return funcs >> op->func & 1;
}

static int is_exact(const struct uma_op *op)
{
	return is_in(op, EXACT) && uma_line_plain(op, UMA_SLOT_A) &&
	       uma_line_plain(op, UMA_SLOT_DST);
}

/* Element of DST for the line, in which the dimensions of the line have size 1 */
static struct uma_row result_row(struct uma_line *l)
{
	struct uma_row row;
	__u32 d;

	for (d = 0; d < UMA_MAX_RANK; d++)
		if (l->lines->along >> d & 1)
			l->idx[d] = 0;
	row = uma_line_row(l, UMA_SLOT_DST);
	row.n = 1;
	return row;
}

static int store_bits(struct uma_line *l, struct reduce_scratch *s, __u32 bits)
{
	struct uma_row row = result_row(l);

	__builtin_memcpy(s->x, &bits, 4);
	return uma_row_store_f32(l->run, &row, &s->buf, s->x);
}

static int store_int(struct uma_line *l, struct reduce_scratch *s, __s64 v)
{
	struct uma_row row = result_row(l);

	return uma_row_store_s64(l->run, &row, &s->buf, &v);
}

/* --- integers ------------------------------------------------------------- */

static __s64 saturate(__s64 v)
{
	return v > BIG ? BIG : v < -BIG ? -BIG : v;
}

/*
 * Sums of s32 stay within 2^62. Products and sums of squares saturate at BIG, beyond s32:
 * only a factor of zero can bring them back into its range.
 */
static __s64 int_step(__u32 func, __s64 sum, __s64 v)
{
	__s64 r;

	switch (func) {
	case UMA_REDUCE_SUM:
		return sum + v;
	case UMA_REDUCE_L1:
		return sum + (v < 0 ? -v : v);
	case UMA_REDUCE_SUM_SQUARE:
		return saturate(sum + saturate(v * v));
	case UMA_REDUCE_PROD:
		if (__builtin_mul_overflow(sum, v, &r))
			return (sum < 0) == (v < 0) ? BIG : -BIG;
		return saturate(r);
	case UMA_REDUCE_MAX:
		return UMA_MAX(sum, v);
	default:
		return UMA_MIN(sum, v);
	}
}

static __s64 int_first(__u32 func)
{
	switch (func) {
	case UMA_REDUCE_PROD:
		return 1;
	case UMA_REDUCE_MAX:
		return -BIG;
	case UMA_REDUCE_MIN:
		return BIG;
	default:
		return 0;
	}
}

static int reduce_ints(struct uma_line *l, struct reduce_scratch *s, int first, int last)
{
	__u32 func = l->run->prog->op.func;
	const __s32 *v;
	__u32 i;

	if (first)
		s->sum = int_first(func);
	if (l->n) {
		v = uma_line_ints(l, UMA_SLOT_A, &s->buf);
		if (!v)
			return -1;
		for (i = 0; i < l->n; i++)
			s->sum = int_step(func, s->sum, v[i]);
	}
	return last ? store_int(l, s, s->sum) : 0;
}

/* --- positions ------------------------------------------------------------ */

/* Rank of an element, higher is better: NaN above all numbers, zeros equal */
static __s64 rank_f32(__u32 bits, int smallest)
{
	__s64 key = uma_f32_key(bits);

	if (uma_f32_is_nan(bits))
		return BIG;
	if (bits == UMA_F32_SIGN)
		key = 0;
	return smallest ? -key : key;
}

static int reduce_arg(struct uma_line *l, struct reduce_scratch *s, int first, int last)
{
	const struct uma_op *op = &l->run->prog->op;
	int ints = uma_line_plain(op, UMA_SLOT_A), smallest = is_in(op, SMALLEST);
	int late = !!(op->u.lines.flags & UMA_REDUCE_LAST_INDEX);
	const __s32 *v = 0;
	__u32 bits, i;
	__s64 rank;

	if (first) {
		s->sum = -2 * BIG;
		s->at = 0;
	}
	if (ints)
		v = uma_line_ints(l, UMA_SLOT_A, &s->buf);
	if (ints ? !v : uma_line_load(l, UMA_SLOT_A, &s->buf, s->x))
		return -1;
	for (i = 0; i < l->n; i++) {
		if (ints) {
			rank = smallest ? -(__s64)v[i] : v[i];
		} else {
			__builtin_memcpy(&bits, s->x + i, 4);
			rank = rank_f32(bits, smallest);
		}
		if (late ? rank < s->sum : rank <= s->sum)
			continue;
		s->sum = rank;
		s->at = l->at + i;
	}
	return last ? store_int(l, s, (__s64)s->at) : 0;
}

/* --- binary32 and binary64 ------------------------------------------------ */

static __u32 sum_of(__u32 func)
{
	switch (func) {
	case UMA_REDUCE_PROD:
		return UMA_SUM_PRODUCT;
	case UMA_REDUCE_L1:
		return UMA_SUM_ABS;
	case UMA_REDUCE_L2:
	case UMA_REDUCE_SUM_SQUARE:
		return UMA_SUM_SQUARE;
	default:
		return UMA_SUM_PLAIN;
	}
}

static __u32 fold_of(__u32 func)
{
	switch (func) {
	case UMA_REDUCE_PROD:
		return UMA_FOLD_PRODUCT;
	case UMA_REDUCE_MEAN:
		return UMA_FOLD_MEAN;
	case UMA_REDUCE_L2:
		return UMA_FOLD_ROOT;
	case UMA_REDUCE_LOG_SUM:
	case UMA_REDUCE_LOG_SUM_EXP:
		return UMA_FOLD_LOG;
	default:
		return UMA_FOLD_SUM;
	}
}

/* Set the lanes to 0, or to 1 for a product. */
static void open_lanes(struct uma_line *l, struct reduce_scratch *s)
{
	const struct uma_kernels *k = l->run->k;

	__builtin_memset(&s->none, 0, sizeof(s->none));
	k->fill(s->x, l->run->prog->op.func == UMA_REDUCE_PROD ? UMA_F32_ONE : 0, UMA_LANES);
	k->widen(s->lanes, s->x, UMA_LANES);
}

static int reduce_sum(struct uma_line *l, struct reduce_scratch *s, int first, int last)
{
	const struct uma_kernels *k = l->run->k;
	__u32 func = l->run->prog->op.func;
	__u32 bits;

	if (first)
		open_lanes(l, s);
	if (uma_line_load(l, UMA_SLOT_A, &s->buf, s->x))
		return -1;
	if (func == UMA_REDUCE_LOG_SUM_EXP)
		k->exp_below(s->x, s->max, l->n);
	k->sum(s->lanes, sum_of(func), s->x, &s->none, l->n);
	if (!last)
		return 0;
	k->fold(&s->v, s->lanes, fold_of(func), l->lines->n,
		func == UMA_REDUCE_LOG_SUM_EXP ? s->max : 0);
	k->narrow((float *)&bits, &s->v, 1);
	return store_bits(l, s, bits);
}

static int reduce_best(struct uma_line *l, struct reduce_scratch *s, int first, int last)
{
	int smallest = is_in(&l->run->prog->op, SMALLEST);

	if (first)
		uma_best_open(&s->best, smallest);
	if (uma_line_load(l, UMA_SLOT_A, &s->buf, s->x))
		return -1;
	uma_best_row(&s->best, s->x, l->n, smallest);
	if (!last)
		return 0;
	s->max = uma_best_bits(&s->best);
	return l->run->prog->op.func == UMA_REDUCE_LOG_SUM_EXP ? 0 :
	       store_bits(l, s, s->max);
}

static int reduce_unit(struct uma_line *l)
{
	struct reduce_scratch *s = (struct reduce_scratch *)l->run->scratch;
	const struct uma_op *op = &l->run->prog->op;
	__u64 chunks = l->lines->chunks;
	__u64 chunk = l->unit % chunks;
	int first = !chunk, last = chunk + 1 == chunks;
	int second = l->unit >= chunks;

	uma_line_chunk(l, chunk);
	if (is_exact(op))
		return reduce_ints(l, s, first, last);
	if (is_in(op, ARGS))
		return reduce_arg(l, s, first, last);
	if (is_in(op, F(MAX) | F(MIN)) || (op->func == UMA_REDUCE_LOG_SUM_EXP && !second))
		return reduce_best(l, s, first, last);
	/* If the largest number is an infinity or NaN, it is the result. */
	if (second && (s->max & UMA_F32_INF) == UMA_F32_INF)
		return last ? store_bits(l, s, s->max) : 0;
	return reduce_sum(l, s, first, last);
}

static int reduce_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step)
{
	(void)phase;
	return uma_lines_step(run, tile, step, reduce_unit);
}

static int reduce_prepare(struct uma_run *run, struct uma_program *prog)
{
	const struct uma_lines *l = (const void *)prog->priv;

	(void)run;
	uma_lines_prepare(prog, UMA_SLOT_BIT(A), COST);
	if (prog->op.func == UMA_REDUCE_LOG_SUM_EXP)
		uma_lines_units(prog, 2 * l->chunks);
	return 0;
}

static int reduce_decode(const void *params, struct uma_op *op, __u32 *used,
			 struct uma_fault_info *fault)
{
	const struct uma_reduce_params *p = params;

	op->func = uma_le32(p->func);
	op->u.lines.axes = uma_le32(p->axes);
	op->u.lines.flags = uma_le32(p->flags);
	*used = 12;
	if (op->func >= UMA_REDUCE_COUNT)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
				     "params.func");
	if (op->u.lines.flags & ~(is_in(op, ARGS) ? UMA_REDUCE_LAST_INDEX : 0))
		return uma_set_fault(fault, UMA_FAULT_FLAGS, UMA_FAULT_NO_SLOT,
				     "params.flags");
	return 0;
}

static int reduce_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *dst = &op->t[UMA_SLOT_DST];
	__u32 axes = op->u.lines.axes;
	__u32 d;

	if (uma_line_match(op, "params.axes", fault))
		return -1;
	for (d = 0; d < dst->rank; d++)
		if (dst->dims[d] != (axes >> d & 1 ? 1 : a->dims[d]))
			return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_DST, "dims");
	if (!is_in(op, ARGS))
		return 0;
	/* A position is in one dimension, and an empty line has none. */
	if (axes & (axes - 1))
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
				     "params.axes");
	if (dst->dtype != UMA_DTYPE_S32)
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_DST, "dtype");
	if (dst->quant)
		return uma_set_fault(fault, UMA_FAULT_QUANT, UMA_SLOT_DST, "quant");
	if (!uma_line_k(op) && !uma_tensor_empty(dst))
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_A, "dims");
	return 0;
}

static __u32 reduce_funcs(const struct uma_op *op)
{
	return 1u << op->func;
}

const struct uma_op_class uma_op_reduce = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A),
	.outputs = UMA_SLOT_BIT(DST),
	.flags = UMA_CLASS_SAME_RANK,
	.decode = reduce_decode,
	.match = reduce_match,
	.funcs = reduce_funcs,
	.k = uma_line_k,
	.prepare = reduce_prepare,
	.step = reduce_step,
};
