// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SOFTMAX: e^(x - m) / sum of e^(x - m) along a line, where m is its largest number, or the
 * logarithm of that.
 *
 * There are three passes over a line: for the largest number, the sum, the results. The
 * values of a line of one chunk stay in scratch memory between the passes. If all
 * elements of a line are -infinity, the results are 0, or -infinity for the logarithm.
 */
#include "uma_lines.h"

#define PASSES		3
/* Cost of an element in multiply-adds, if its stride is 0 or 1 */
#define COST		48u

struct softmax_scratch {
	double lanes[UMA_LANES];
	/* Parameters of affine() */
	double p[3];
	struct uma_best best;
	/* The largest number, binary32 bits */
	__u32 max;
	float x[UMA_ROW_MAX];
	float y[UMA_ROW_MAX];
	struct uma_rowbuf buf;
};

_Static_assert(sizeof(struct softmax_scratch) <= UMA_SCRATCH_SIZE, "scratch");

static int is_masked(const struct softmax_scratch *s)
{
	return s->max == (UMA_F32_INF | UMA_F32_SIGN);
}

static int softmax_max(struct uma_line *l, struct softmax_scratch *s, int first, int last)
{
	if (uma_line_load(l, UMA_SLOT_A, &s->buf, s->x))
		return -1;
	if (first)
		uma_best_open(&s->best, 0);
	uma_best_row(&s->best, s->x, l->n, 0);
	if (last)
		s->max = uma_best_bits(&s->best);
	return 0;
}

/* Compute the exponentials of the chunk in s->x into s->y. */
static void exponentials(struct uma_line *l, struct softmax_scratch *s)
{
	__builtin_memcpy(s->y, s->x, 4ul * l->n);
	l->run->k->exp_below(s->y, s->max, l->n);
}

static int softmax_sum(struct uma_line *l, struct softmax_scratch *s, int first, int last)
{
	static const __u32 one = UMA_F32_ONE;
	const struct uma_kernels *k = l->run->k;
	int log = l->run->prog->op.func == UMA_SOFTMAX_LOG;

	if (first) {
		__builtin_memset(s->lanes, 0, sizeof(s->lanes));
		__builtin_memset(s->p, 0, sizeof(s->p));
	}
	if (is_masked(s))
		return 0;
	if (!(first && last) && uma_line_load(l, UMA_SLOT_A, &s->buf, s->x))
		return -1;
	exponentials(l, s);
	k->sum(s->lanes, UMA_SUM_PLAIN, s->y, &s->p[1], l->n);
	if (!last)
		return 0;
	if (!log) {
		k->fold(&s->p[2], s->lanes, UMA_FOLD_RECIP, l->lines->n, 0);
		return 0;
	}
	k->widen(&s->p[0], (const float *)&s->max, 1);
	k->fold(&s->p[1], s->lanes, UMA_FOLD_LOG, l->lines->n, 0);
	k->widen(&s->p[2], (const float *)&one, 1);
	return 0;
}

static int softmax_store(struct uma_line *l, struct softmax_scratch *s, int kept)
{
	const struct uma_kernels *k = l->run->k;
	int log = l->run->prog->op.func == UMA_SOFTMAX_LOG;
	float *x = log ? s->x : s->y;

	if (is_masked(s)) {
		k->fill(x, log ? UMA_F32_INF | UMA_F32_SIGN : 0, l->n);
		return uma_line_epilogue(l, &s->buf, x, x);
	}
	if (!kept) {
		if (uma_line_load(l, UMA_SLOT_A, &s->buf, s->x))
			return -1;
		if (!log)
			exponentials(l, s);
	}
	k->affine(x, s->p, l->n);
	return uma_line_epilogue(l, &s->buf, x, x);
}

static int softmax_unit(struct uma_line *l)
{
	struct softmax_scratch *s = (struct softmax_scratch *)l->run->scratch;
	__u64 chunks = l->lines->chunks;
	__u64 chunk = l->unit % chunks;
	int first = !chunk, last = chunk + 1 == chunks;

	uma_line_chunk(l, chunk);
	switch (l->unit / chunks) {
	case 0:
		return softmax_max(l, s, first, last);
	case 1:
		return softmax_sum(l, s, first, last);
	default:
		return softmax_store(l, s, first && last);
	}
}

static int softmax_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step)
{
	(void)phase;
	return uma_lines_step(run, tile, step, softmax_unit);
}

static int softmax_prepare(struct uma_run *run, struct uma_program *prog)
{
	const struct uma_lines *l = (const void *)prog->priv;

	(void)run;
	uma_lines_prepare(prog, UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A), COST);
	uma_lines_units(prog, PASSES * l->chunks);
	return 0;
}

static int softmax_decode(const void *params, struct uma_op *op, __u32 *used,
			  struct uma_fault_info *fault)
{
	const struct uma_softmax_params *p = params;

	op->func = uma_le32(p->func);
	*used = 8;
	if (op->func >= UMA_SOFTMAX_COUNT)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
				     "params.func");
	return uma_line_decode_axis(uma_le32(p->axis), op, fault);
}

static int softmax_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	return uma_line_match(op, "params.axis", fault) ||
	       uma_match_dims(op, UMA_SLOT_A, op->t[UMA_SLOT_DST].rank, fault) ? -1 : 0;
}

static __u32 softmax_funcs(const struct uma_op *op)
{
	return 1u << op->func;
}

const struct uma_op_class uma_op_softmax = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A),
	.outputs = UMA_SLOT_BIT(DST),
	.in_place = UMA_SLOT_BIT(A),
	.flags = UMA_CLASS_SAME_RANK,
	.decode = softmax_decode,
	.match = softmax_match,
	.funcs = softmax_funcs,
	.k = uma_line_k,
	.prepare = softmax_prepare,
	.step = softmax_step,
};
