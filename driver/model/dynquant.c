// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * DYNQUANT: quantises each line to 8-bit integers, with a scale computed from the line.
 *
 * The first pass over a line finds its range, which determines scale and zero point, the
 * second quantises. The values of a line of one chunk stay in scratch memory between the
 * passes. If a line has a NaN or an infinity, its scale is NaN or infinite and all of its
 * bytes are the zero point, which then stands for NaN.
 */
#include "uma_lines.h"

#define PASSES		2
/* Cost of an element in multiply-adds, if its stride is 0 or 1 */
#define COST		32u

/* Number of steps of the range, symmetric and asymmetric, as binary32 */
#define F32_127		0x42fe0000u
#define F32_255		0x437f0000u

struct dynquant_scratch {
	struct uma_line_range range;
	float x[UMA_ROW_MAX];
	struct uma_rowbuf buf;
};

_Static_assert(sizeof(struct dynquant_scratch) <= UMA_SCRATCH_SIZE, "scratch");

static int is_asymmetric(const struct uma_op *op)
{
	return !!(op->u.lines.flags & UMA_DYNQUANT_ASYMMETRIC);
}

/* --- ranges of lines, for all operations that quantise -------------------------- */

/* *a = f(*a, b), on binary32 bits */
static void apply(struct uma_run *run, __u32 func, __u32 *a, __u32 b)
{
	run->k->binary[func]((float *)a, (const float *)a, (const float *)&b, 1);
}

/* Round a scale to @dtype, the type that it is stored as. */
static void round_scale(struct uma_run *run, __u32 dtype, __u32 *scale)
{
	__u32 stored;

	if (dtype == UMA_DTYPE_F32)
		return;
	run->k->from_f32[dtype](&stored, (const float *)scale, 1);
	run->k->to_f32[dtype]((float *)scale, &stored, 1);
}

/* Compute scale, in the precision of slot @scales, and zero point from the range. */
void uma_range_scale(struct uma_run *run, struct uma_line_range *r, __u32 scales, int asymmetric)
{
	const struct uma_op *op = &run->prog->op;
	__u32 max = uma_best_bits(&r->max), min = uma_best_bits(&r->min);
	__s64 lo, hi;
	__s32 first;

	uma_dtype_limits(op->t[UMA_SLOT_DST].dtype, &lo, &hi);
	/* The range includes 0. A NaN is kept. */
	if (max & UMA_F32_SIGN && !uma_f32_is_nan(max))
		max = 0;
	if (!(min & UMA_F32_SIGN) && !uma_f32_is_nan(min))
		min = 0;
	if (asymmetric) {
		r->scale = max;
		apply(run, UMA_BINARY_SUB, &r->scale, min);
		apply(run, UMA_BINARY_DIV, &r->scale, F32_255);
	} else {
		r->scale = UMA_MAX(max & ~UMA_F32_SIGN, min & ~UMA_F32_SIGN);
		apply(run, UMA_BINARY_DIV, &r->scale, F32_127);
	}
	round_scale(run, op->t[scales].dtype, &r->scale);
	if (!r->scale)
		r->scale = UMA_F32_ONE;
	r->zero = (__s32)((lo + hi + 1) / 2);
	if (!asymmetric)
		return;
	first = (__s32)lo;
	min ^= UMA_F32_SIGN;
	run->k->quant(&r->zero, (const float *)&min, &first, 0, (const float *)&r->scale, 0,
		      (__s32)lo, (__s32)hi, 1);
}

/* Element of slot @slot for the line, in which the dimensions of the line have size 1 */
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

/* Extend the range by a chunk. */
void uma_range_add(struct uma_line_range *r, const float *x, __u32 n, int first)
{
	if (first) {
		uma_best_open(&r->max, 0);
		uma_best_open(&r->min, 1);
	}
	uma_best_row(&r->max, x, n, 0);
	uma_best_row(&r->min, x, n, 1);
}

/*
 * After the last chunk: store the scale to slot @scales and the zero point to the next
 * slot. Changes the position of @l to the start of the line.
 */
int uma_range_close(struct uma_line *l, struct uma_line_range *r, __u32 scales, int asymmetric,
		    struct uma_rowbuf *buf)
{
	struct uma_row row = line_element(l, scales);
	__s64 zero;

	uma_range_scale(l->run, r, scales, asymmetric);
	if (uma_row_store_f32(l->run, &row, buf, (const float *)&r->scale))
		return -1;
	if (!asymmetric)
		return 0;
	zero = r->zero;
	row = line_element(l, scales + 1);
	return uma_row_store_s64(l->run, &row, buf, &zero);
}

/* Quantise a chunk and store it to the run @row of DST. */
int uma_range_store(struct uma_run *run, struct uma_line_range *r, const struct uma_row *row,
		    const float *x)
{
	const struct uma_tensor_view *d = &run->prog->op.t[UMA_SLOT_DST];
	__s64 lo, hi;
	__u32 i;

	uma_dtype_limits(d->dtype, &lo, &hi);
	run->k->quant(r->ints, x, &r->zero, 0, (const float *)&r->scale, 0, (__s32)lo,
		      (__s32)hi, row->n);
	for (i = 0; i < row->n; i++)
		r->bytes[i] = (__u8)r->ints[i];
	return uma_scatter(run, UMA_SLOT_DST, d, row->off, row->stride, row->n, r->bytes);
}

/* Check a table of scales or zero points: one for each line. */
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

/* Check the type of DST and the tables of scales and zero points. */
int uma_range_match(const struct uma_op *op, __u32 scales, int asymmetric,
		    struct uma_fault_info *fault)
{
	const struct uma_tensor_view *dst = &op->t[UMA_SLOT_DST];

	if (!uma_is_int8(dst->dtype))
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_DST, "dtype");
	if (dst->quant)
		return uma_set_fault(fault, UMA_FAULT_QUANT, UMA_SLOT_DST, "quant");
	if (match_table(op, scales, UMA_DTYPE_F32, fault))
		return -1;
	if (asymmetric && match_table(op, scales + 1, UMA_DTYPE_S32, fault))
		return -1;
	/* There is no range, so no scale, without elements. */
	if (uma_tensor_empty(dst) && !uma_tensor_empty(&op->t[scales]))
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_A, "dims");
	return 0;
}

/* --- the operation ------------------------------------------------------------ */

static int dynquant_unit(struct uma_line *l)
{
	struct dynquant_scratch *s = (struct dynquant_scratch *)l->run->scratch;
	__u64 chunks = l->lines->chunks;
	__u64 chunk = l->unit % chunks;
	int first = !chunk, last = chunk + 1 == chunks;

	uma_line_chunk(l, chunk);
	if (l->unit < chunks || !(first && last))
		if (uma_line_load(l, UMA_SLOT_A, &s->buf, s->x))
			return -1;
	if (l->unit >= chunks)
		return uma_line_store_range(l, &s->range, s->x);
	uma_range_add(&s->range, s->x, l->n, first);
	return last ? uma_range_close(l, &s->range, UMA_SLOT_AUX0,
				      is_asymmetric(&l->run->prog->op), &s->buf) : 0;
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

static int dynquant_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	if (uma_line_match(op, "params.axes", fault) ||
	    uma_match_dims(op, UMA_SLOT_A, op->t[UMA_SLOT_DST].rank, fault))
		return -1;
	if (!uma_is_float(op->t[UMA_SLOT_A].dtype))
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_A, "dtype");
	return uma_range_match(op, UMA_SLOT_AUX0, is_asymmetric(op), fault);
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
