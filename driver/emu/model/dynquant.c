// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * DYNQUANT: numbers into bytes with a scale of their own line.
 *
 * Two passes over a line: its extremes, from which scale and zero point follow,
 * then the bytes. Of a line that is one chunk the values stay in scratch memory
 * in between. A NaN makes the scale NaN, an infinity infinite: then all bytes are
 * the zero point, and what is made of them later is not finite either.
 */
#include "uma_lines.h"

#define PASSES		2
/* Multiply-adds of an element, beside its way. */
#define COST		32u

/* Steps between 0 and the largest magnitude, or between the extremes: binary32 */
#define F32_127		0x42fe0000u
#define F32_255		0x437f0000u

struct dynquant_scratch {
	struct uma_best max;
	struct uma_best min;
	/* Of the line: binary32 bits, stored number that stands for 0. */
	__u32 scale;
	__s32 zero;
	float x[UMA_ROW_MAX];
	__s32 ints[UMA_ROW_MAX];
	__u8 bytes[UMA_ROW_MAX];
	struct uma_rowbuf buf;
};

_Static_assert(sizeof(struct dynquant_scratch) <= UMA_SCRATCH_SIZE, "scratch");

static int is_asymmetric(const struct uma_op *op)
{
	return !!(op->u.lines.flags & UMA_DYNQUANT_ASYMMETRIC);
}

/* a = f(a, b), on bits. */
static void apply(struct uma_line *l, __u32 func, __u32 *a, __u32 b)
{
	l->run->k->binary[func]((float *)a, (const float *)a, (const float *)&b, 1);
}

static void find_scale(struct uma_line *l, struct dynquant_scratch *s)
{
	const struct uma_op *op = &l->run->prog->op;
	__u32 max = uma_best_bits(&s->max), min = uma_best_bits(&s->min);
	__s64 lo, hi;
	__s32 first;

	uma_dtype_limits(op->t[UMA_SLOT_DST].dtype, &lo, &hi);
	/* The range has 0 in it; a NaN is neither above nor below. */
	if (max & UMA_F32_SIGN && !uma_f32_is_nan(max))
		max = 0;
	if (!(min & UMA_F32_SIGN) && !uma_f32_is_nan(min))
		min = 0;
	if (is_asymmetric(op)) {
		s->scale = max;
		apply(l, UMA_BINARY_SUB, &s->scale, min);
		apply(l, UMA_BINARY_DIV, &s->scale, F32_255);
	} else {
		s->scale = UMA_MAX(max & ~UMA_F32_SIGN, min & ~UMA_F32_SIGN);
		apply(l, UMA_BINARY_DIV, &s->scale, F32_127);
	}
	if (!s->scale)
		s->scale = UMA_F32_ONE;
	s->zero = (__s32)((lo + hi + 1) / 2);
	if (!is_asymmetric(op))
		return;
	first = (__s32)lo;
	min ^= UMA_F32_SIGN;
	l->run->k->quant(&s->zero, (const float *)&min, &first, 0, (const float *)&s->scale, 0,
			 (__s32)lo, (__s32)hi, 1);
}

/* An operand's element for the line: where its dimensions are 1. */
static struct uma_row line_element(struct uma_line *l, __u32 slot)
{
	struct uma_row row;
	__u32 d;

	for (d = 0; d < UMA_MAX_RANK; d++)
		if (l->lines->along >> d & 1)
			l->idx[d] = 0;
	row = uma_line_row(l, slot);
	row.n = 1;
	return row;
}

static int dynquant_range(struct uma_line *l, struct dynquant_scratch *s, int first, int last)
{
	struct uma_row row;
	__s64 zero;

	if (uma_line_load(l, UMA_SLOT_A, &s->buf, s->x))
		return -1;
	if (first) {
		uma_best_open(&s->max, 0);
		uma_best_open(&s->min, 1);
	}
	uma_best_row(&s->max, s->x, l->n, 0);
	uma_best_row(&s->min, s->x, l->n, 1);
	if (!last)
		return 0;
	find_scale(l, s);
	row = line_element(l, UMA_SLOT_AUX0);
	if (uma_row_store_f32(l->run, &row, &s->buf, (const float *)&s->scale))
		return -1;
	if (!is_asymmetric(&l->run->prog->op))
		return 0;
	zero = s->zero;
	row = line_element(l, UMA_SLOT_AUX1);
	return uma_row_store_s64(l->run, &row, &s->buf, &zero);
}

static int dynquant_store(struct uma_line *l, struct dynquant_scratch *s, int kept)
{
	const struct uma_tensor_view *d = &l->run->prog->op.t[UMA_SLOT_DST];
	struct uma_row row;
	__s64 lo, hi;
	__u32 i;

	if (!kept && uma_line_load(l, UMA_SLOT_A, &s->buf, s->x))
		return -1;
	uma_dtype_limits(d->dtype, &lo, &hi);
	l->run->k->quant(s->ints, s->x, &s->zero, 0, (const float *)&s->scale, 0, (__s32)lo,
			 (__s32)hi, l->n);
	for (i = 0; i < l->n; i++)
		s->bytes[i] = (__u8)s->ints[i];
	row = uma_line_row(l, UMA_SLOT_DST);
	return uma_scatter(l->run, UMA_SLOT_DST, d, row.off, row.stride, row.n, s->bytes);
}

static int dynquant_unit(struct uma_line *l)
{
	struct dynquant_scratch *s = (struct dynquant_scratch *)l->run->scratch;
	__u64 chunks = l->lines->chunks;
	__u64 chunk = l->unit % chunks;
	int first = !chunk, last = chunk + 1 == chunks;

	uma_line_chunk(l, chunk);
	if (l->unit < chunks)
		return dynquant_range(l, s, first, last);
	return dynquant_store(l, s, first && last);
}

static int dynquant_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step)
{
	(void)phase;
	return uma_lines_step(run, tile, step, dynquant_unit);
}

static int dynquant_prepare(struct uma_run *run, struct uma_program *prog)
{
	const struct uma_lines *l = (const void *)prog->priv;

	(void)run;
	uma_lines_prepare(prog, UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A), COST);
	uma_lines_units(prog, PASSES * l->chunks);
	return 0;
}

static int dynquant_decode(const void *params, struct uma_op *op, __u32 *used,
			   struct uma_fault_info *fault)
{
	const struct uma_dynquant_params *p = params;

	op->u.lines.axes = uma_le32(p->axes);
	op->u.lines.flags = uma_le32(p->flags);
	*used = 8;
	if (op->u.lines.flags & ~UMA_DYNQUANT_FLAGS_MASK)
		return uma_set_fault(fault, UMA_FAULT_FLAGS, UMA_FAULT_NO_SLOT,
				     "params.flags");
	return 0;
}

static __u32 dynquant_extra_slots(const struct uma_op *op)
{
	return is_asymmetric(op) ? UMA_SLOT_BIT(AUX1) : 0;
}

/* Scales or zero points: one for each line. */
static int match_table(const struct uma_op *op, __u32 slot, __u32 dtype,
		       struct uma_fault_info *fault)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *t = &op->t[slot];
	__u32 d;

	for (d = 0; d < a->rank; d++)
		if (t->dims[d] != (op->u.lines.axes >> d & 1 ? 1 : a->dims[d]))
			return uma_set_fault(fault, UMA_FAULT_DIMS, slot, "dims");
	if (t->dtype != dtype)
		return uma_set_fault(fault, UMA_FAULT_DTYPE, slot, "dtype");
	if (t->quant)
		return uma_set_fault(fault, UMA_FAULT_QUANT, slot, "quant");
	return 0;
}

static int dynquant_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A], *dst = &op->t[UMA_SLOT_DST];

	if (uma_line_match(op, "params.axes", fault) ||
	    uma_match_dims(op, UMA_SLOT_A, dst->rank, fault))
		return -1;
	if (!uma_is_float(a->dtype))
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_A, "dtype");
	if (!uma_is_int8(dst->dtype))
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_DST, "dtype");
	if (dst->quant)
		return uma_set_fault(fault, UMA_FAULT_QUANT, UMA_SLOT_DST, "quant");
	if (match_table(op, UMA_SLOT_AUX0, UMA_DTYPE_F32, fault))
		return -1;
	if (is_asymmetric(op) && match_table(op, UMA_SLOT_AUX1, UMA_DTYPE_S32, fault))
		return -1;
	/* A line without elements has no scale. */
	if (uma_tensor_empty(a) && !uma_tensor_empty(&op->t[UMA_SLOT_AUX0]))
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_A, "dims");
	return 0;
}

const struct uma_op_class uma_op_dynquant = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A) | UMA_SLOT_BIT(AUX0),
	.outputs = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(AUX0) | UMA_SLOT_BIT(AUX1),
	.fixed = UMA_SLOT_BIT(AUX0) | UMA_SLOT_BIT(AUX1),
	.flags = UMA_CLASS_SAME_RANK,
	.decode = dynquant_decode,
	.extra_slots = dynquant_extra_slots,
	.match = dynquant_match,
	.k = uma_line_k,
	.prepare = dynquant_prepare,
	.step = dynquant_step,
};
