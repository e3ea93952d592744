// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * NORM: (x - mean) / sqrt(variance + eps), with the statistics of a line or with given
 * ones, then the epilogue, whose scale and bias are gamma and beta.
 *
 * The variance is computed from the differences to the mean, in a pass of its own, to
 * avoid cancellation if the mean is large. UMA_NORM_ADD adds operand C to A in each pass;
 * the sums are stored, if wanted, in the first.
 */
#include "uma_lines.h"

/* Cost of an element in multiply-adds, if its stride is 0 or 1 */
#define COST		24u

struct norm_scratch {
	double lanes[UMA_LANES];
	/* For affine(): mean, 0, 1 / deviation */
	double p[3];
	float x[UMA_ROW_MAX];
	float y[UMA_ROW_MAX];
	struct uma_line_range range;
	struct uma_rowbuf buf;
};

_Static_assert(sizeof(struct norm_scratch) <= UMA_SCRATCH_SIZE, "scratch");

static int has_flag(const struct uma_op *op, __u32 flag)
{
	return !!(op->u.lines.flags & flag);
}

/* Number of passes over a line for the statistics */
static __u32 passes_before(__u32 func)
{
	return func == UMA_NORM_LAYER ? 2 : func == UMA_NORM_RMS ? 1 : 0;
}

/*
 * Number of all passes: with UMA_NORM_DYNQUANT there is one more, since the scale depends on
 * all results of the line.
 */
static __u32 passes(const struct uma_op *op)
{
	return passes_before(op->func) + 1 + (__u32)has_flag(op, UMA_NORM_DYNQUANT);
}

/* Load what is normalised. */
static int norm_load(struct uma_line *l, struct norm_scratch *s)
{
	const struct uma_op *op = &l->run->prog->op;
	struct uma_row row;

	if (uma_line_load(l, UMA_SLOT_A, &s->buf, s->x))
		return -1;
	if (!l->n || !has_flag(op, UMA_NORM_ADD))
		return 0;
	if (uma_line_combine(l, UMA_SLOT_C, UMA_BINARY_ADD, &s->buf, s->x, s->y))
		return -1;
	if (l->unit >= l->lines->chunks || !has_flag(op, UMA_NORM_SUM))
		return 0;
	row = uma_line_row(l, UMA_SLOT_AUX2);
	return uma_row_store_f32(l->run, &row, &s->buf, s->x);
}

/* Add a chunk to a statistic; after the last chunk store it to @v. */
static int norm_sum(struct uma_line *l, struct norm_scratch *s, int first, int last,
		    __u32 sum, __u32 fold, double *v)
{
	const struct uma_op *op = &l->run->prog->op;
	const struct uma_kernels *k = l->run->k;

	if (first)
		__builtin_memset(s->lanes, 0, sizeof(s->lanes));
	/* The values of a line of one chunk are still in s->x. */
	if (!(first && last && l->unit) && norm_load(l, s))
		return -1;
	k->sum(s->lanes, sum, s->x, &s->p[0], l->n);
	if (last)
		k->fold(v, s->lanes, fold, l->lines->n, op->u.lines.eps);
	return 0;
}

/* (x - mean) / sqrt(variance + eps) with given statistics, each step rounded to binary32 */
static int norm_given(struct uma_line *l, struct norm_scratch *s)
{
	const struct uma_op *op = &l->run->prog->op;
	const struct uma_kernels *k = l->run->k;

	if (uma_line_load(l, UMA_SLOT_A, &s->buf, s->x) ||
	    uma_line_load(l, UMA_SLOT_AUX0, &s->buf, s->y))
		return -1;
	k->binary[UMA_BINARY_SUB](s->x, s->x, s->y, l->n);
	if (uma_line_load(l, UMA_SLOT_AUX1, &s->buf, s->y))
		return -1;
	/* Nothing else uses the row buffer here. */
	k->fill((float *)s->buf.raw, op->u.lines.eps, l->n);
	k->binary[UMA_BINARY_ADD](s->y, s->y, (float *)s->buf.raw, l->n);
	k->unary[UMA_UNARY_SQRT](s->y, l->n);
	k->binary[UMA_BINARY_DIV](s->x, s->x, s->y, l->n);
	return uma_line_epilogue(l, &s->buf, s->x, s->y);
}

/* Compute the results of a chunk. @again: a second time, to quantise them. */
static int norm_results(struct uma_line *l, struct norm_scratch *s, int first, int last, int again)
{
	const struct uma_op *op = &l->run->prog->op;
	struct uma_row row;

	if (!(first && last)) {
		if (norm_load(l, s))
			return -1;
	}
	/* The results of a line of one chunk are still in s->x. */
	if (!(first && last && again)) {
		l->run->k->affine(s->x, s->p, l->n);
		if (l->n && uma_line_finish(l, &s->buf, s->x, s->y))
			return -1;
	}
	if (again)
		return uma_line_store_range(l, &s->range, s->x);
	/* Slot AUX2 has the results, unless it has the sums. */
	if (has_flag(op, UMA_NORM_SECOND) && !has_flag(op, UMA_NORM_SUM)) {
		row = uma_line_row(l, UMA_SLOT_AUX2);
		if (uma_row_store_f32(l->run, &row, &s->buf, s->x))
			return -1;
	}
	if (!has_flag(op, UMA_NORM_DYNQUANT)) {
		row = uma_line_row(l, UMA_SLOT_DST);
		return uma_row_store_f32(l->run, &row, &s->buf, s->x);
	}
	uma_range_add(&s->range, s->x, l->n, first);
	return last ? uma_range_close(l, &s->range, UMA_SLOT_AUX3,
				      has_flag(op, UMA_NORM_ASYMMETRIC), &s->buf) : 0;
}

static int norm_unit(struct uma_line *l)
{
	struct norm_scratch *s = (struct norm_scratch *)l->run->scratch;
	__u32 func = l->run->prog->op.func;
	__u64 chunks = l->lines->chunks;
	__u64 chunk = l->unit % chunks;
	__u32 pass = (__u32)(l->unit / chunks);
	int first = !chunk, last = chunk + 1 == chunks;

	uma_line_chunk(l, chunk);
	if (func == UMA_NORM_GIVEN)
		return norm_given(l, s);
	if (!l->unit)
		__builtin_memset(s->p, 0, sizeof(s->p));
	if (func == UMA_NORM_LAYER && pass == 0)
		return norm_sum(l, s, first, last, UMA_SUM_PLAIN, UMA_FOLD_MEAN, &s->p[0]);
	if (pass < passes_before(func))
		return norm_sum(l, s, first, last, UMA_SUM_SQUARE, UMA_FOLD_RSTD, &s->p[2]);
	return norm_results(l, s, first, last, pass > passes_before(func));
}

static int norm_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step)
{
	(void)phase;
	return uma_lines_step(run, tile, step, norm_unit);
}

static int norm_prepare(struct uma_run *run, struct uma_program *prog)
{
	const struct uma_lines *l = (const void *)prog->priv;

	(void)run;
	uma_lines_prepare(prog, ~(UMA_SLOT_BIT(AUX3) | UMA_SLOT_BIT(AUX4)), COST);
	uma_lines_units(prog, passes(&prog->op) * l->chunks);
	return 0;
}

static int norm_decode(const void *params, struct uma_op *op, __u32 *used,
		       struct uma_fault_info *fault)
{
	const struct uma_norm_params *p = params;

	op->func = uma_le32(p->func);
	op->u.lines.axes = uma_le32(p->axes);
	op->u.lines.eps = uma_le32(p->eps);
	op->u.lines.flags = uma_le32(p->flags);
	*used = 16;
	if (op->func >= UMA_NORM_COUNT)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
				     "params.func");
	/* Rejects negative numbers, -0, infinity and NaN. */
	if (op->u.lines.eps >= UMA_F32_INF)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
				     "params.eps");
	if ((op->u.lines.flags & ~UMA_NORM_FLAGS_MASK) ||
	    (op->func == UMA_NORM_GIVEN && op->u.lines.flags) ||
	    (has_flag(op, UMA_NORM_SUM) &&
	     !(has_flag(op, UMA_NORM_ADD) && has_flag(op, UMA_NORM_SECOND))) ||
	    (has_flag(op, UMA_NORM_ASYMMETRIC) && !has_flag(op, UMA_NORM_DYNQUANT)))
		return uma_set_fault(fault, UMA_FAULT_FLAGS, UMA_FAULT_NO_SLOT,
				     "params.flags");
	return 0;
}

static __u32 norm_extra_slots(const struct uma_op *op)
{
	return (op->func == UMA_NORM_GIVEN ? UMA_SLOT_BIT(AUX0) | UMA_SLOT_BIT(AUX1) : 0) |
	       (has_flag(op, UMA_NORM_ADD) ? UMA_SLOT_BIT(C) : 0) |
	       (has_flag(op, UMA_NORM_SECOND) ? UMA_SLOT_BIT(AUX2) : 0) |
	       (has_flag(op, UMA_NORM_DYNQUANT) ? UMA_SLOT_BIT(AUX3) : 0) |
	       (has_flag(op, UMA_NORM_ASYMMETRIC) ? UMA_SLOT_BIT(AUX4) : 0);
}

static int norm_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	__u32 s;

	if (uma_line_match(op, "params.axes", fault))
		return -1;
	for (s = UMA_SLOT_A; s < UMA_SLOT_AUX3; s++)
		if (uma_has(op, s) &&
		    uma_match_dims(op, s, op->t[UMA_SLOT_DST].rank, fault))
			return -1;
	/* As for DST: lines must not share bytes. */
	if (uma_has(op, UMA_SLOT_AUX2) && uma_is_int4(op->t[UMA_SLOT_AUX2].dtype))
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_AUX2, "dtype");
	if (!has_flag(op, UMA_NORM_DYNQUANT))
		return 0;
	return uma_range_match(op, UMA_SLOT_AUX3, has_flag(op, UMA_NORM_ASYMMETRIC), fault);
}

static __u32 norm_funcs(const struct uma_op *op)
{
	return 1u << op->func | UMA_NORM_CAP_FLAGS(op->u.lines.flags);
}

const struct uma_op_class uma_op_norm = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A),
	.outputs = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(AUX2) | UMA_SLOT_BIT(AUX3) |
		   UMA_SLOT_BIT(AUX4),
	.fixed = UMA_SLOT_BIT(AUX3) | UMA_SLOT_BIT(AUX4),
	.in_place = UMA_SLOT_BIT(A) | UMA_SLOT_BIT(RESIDUAL),
	.epilogue = UMA_EPI_MASK,
	.flags = UMA_CLASS_ACT | UMA_CLASS_SAME_RANK,
	.decode = norm_decode,
	.extra_slots = norm_extra_slots,
	.match = norm_match,
	.funcs = norm_funcs,
	.k = uma_line_k,
	.prepare = norm_prepare,
	.step = norm_step,
};
