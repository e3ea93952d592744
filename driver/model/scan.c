// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SCAN: running sums along a dimension, from either end, including the element or not.
 * Computed in binary64, each result rounded once; exact for unquantised integers.
 */
#include "uma_lines.h"

/* Cost of an element in multiply-adds, if its stride is 0 or 1 */
#define COST		32u

struct scan_scratch {
	double acc;
	__s64 sum;
	__s64 wide[UMA_ROW_MAX];
	float x[UMA_ROW_MAX];
	struct uma_rowbuf buf;
};

_Static_assert(sizeof(struct scan_scratch) <= UMA_SCRATCH_SIZE, "scratch");

/* No overflow: at most 2^24 numbers of 32 bits. */
static int scan_ints(struct uma_line *l, struct scan_scratch *s)
{
	__u32 flags = l->run->prog->op.u.lines.flags;
	struct uma_row row = uma_line_row(l, UMA_SLOT_DST);
	const __s32 *v = uma_line_ints(l, UMA_SLOT_A, &s->buf);
	__u32 i, at;

	if (!v)
		return -1;
	for (i = 0; i < l->n; i++) {
		at = flags & UMA_SCAN_REVERSE ? l->n - 1 - i : i;
		s->wide[at] = s->sum;
		s->sum += v[at];
		if (!(flags & UMA_SCAN_EXCLUSIVE))
			s->wide[at] = s->sum;
	}
	return uma_row_store_s64(l->run, &row, &s->buf, s->wide);
}

static int scan_unit(struct uma_line *l)
{
	struct scan_scratch *s = (struct scan_scratch *)l->run->scratch;
	const struct uma_op *op = &l->run->prog->op;
	__u32 flags = op->u.lines.flags;
	struct uma_row row;

	uma_line_chunk(l, flags & UMA_SCAN_REVERSE ? l->lines->chunks - 1 - l->unit : l->unit);
	if (!l->unit) {
		__builtin_memset(&s->acc, 0, sizeof(s->acc));
		s->sum = 0;
	}
	if (uma_line_plain(op, UMA_SLOT_A) && uma_line_plain(op, UMA_SLOT_DST))
		return scan_ints(l, s);
	if (uma_line_load(l, UMA_SLOT_A, &s->buf, s->x))
		return -1;
	l->run->k->scan(&s->acc, s->x, flags, l->n);
	row = uma_line_row(l, UMA_SLOT_DST);
	return uma_row_store_f32(l->run, &row, &s->buf, s->x);
}

static int scan_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step)
{
	(void)phase;
	return uma_lines_step(run, tile, step, scan_unit);
}

static int scan_prepare(struct uma_run *run, struct uma_program *prog)
{
	(void)run;
	uma_lines_prepare(prog, UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A), COST);
	return 0;
}

static int scan_decode(const void *params, struct uma_op *op, __u32 *used,
		       struct uma_fault_info *fault)
{
	const struct uma_scan_params *p = params;

	op->u.lines.flags = uma_le32(p->flags);
	*used = 8;
	if (op->u.lines.flags & ~UMA_SCAN_FLAGS_MASK)
		return uma_set_fault(fault, UMA_FAULT_FLAGS, UMA_FAULT_NO_SLOT,
				     "params.flags");
	return uma_line_decode_axis(uma_le32(p->axis), op, fault);
}

static int scan_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	return uma_line_match(op, "params.axis", fault) ||
	       uma_match_dims(op, UMA_SLOT_A, op->t[UMA_SLOT_DST].rank, fault) ? -1 : 0;
}

const struct uma_op_class uma_op_scan = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A),
	.outputs = UMA_SLOT_BIT(DST),
	.in_place = UMA_SLOT_BIT(A),
	.flags = UMA_CLASS_SAME_RANK,
	.decode = scan_decode,
	.match = scan_match,
	.k = uma_line_k,
	.prepare = scan_prepare,
	.step = scan_step,
};
