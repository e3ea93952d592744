// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * CONV: DST = epilogue(A * B), with one or two spatial dimensions.
 *
 * conv_span_of() alone maps outputs and taps to inputs, for normal and transposed
 * convolutions. The sums are computed by one of the paths of &enum conv_path.
 */
#include "conv.h"

/* From this number of output channels of a group on, block products are faster. */
#define BLOCK_CHANNELS	8u

/* --- geometry ------------------------------------------------------------- */

/*
 * The outputs among o .. o + n for which tap @k has an input, that is, does not meet
 * padding. All numbers are below 2^32, strides and dilations below 2^17: no overflow of 64
 * bits.
 */
struct conv_span conv_span_of(const struct conv_plan *p, __u32 axis, __u32 o, __u32 n,
			      __u32 k)
{
	/* Input 0 meets this tap at output origin / stride, transposed at output -origin. */
	__s64 origin = (__s64)p->pad[axis] - (__s64)k * p->dilation[axis];
	__s64 stride = p->stride[axis], in = p->in[axis];
	struct conv_span s = { .step = 1, .in_step = 1 };
	__s64 lo, hi;

	if (!p->transposed) {
		lo = origin > 0 ? (origin + stride - 1) / stride : 0;
		hi = in + origin > 0 ? (in + origin + stride - 1) / stride : 0;
		lo = UMA_MAX(lo, (__s64)o);
		hi = UMA_MIN(hi, (__s64)o + n);
		if (lo >= hi)
			return s;
		s.first = (__u32)(lo - o);
		s.count = (__u32)(hi - lo);
		s.in = (__u32)(lo * stride - origin);
		s.in_step = p->stride[axis];
		return s;
	}
	/* Input i meets the tap at output i * stride - origin. */
	lo = (__s64)o + origin;
	hi = lo + n;
	lo = lo > 0 ? (lo + stride - 1) / stride : 0;
	hi = hi > 0 ? (hi + stride - 1) / stride : 0;
	hi = UMA_MIN(hi, in);
	if (lo >= hi)
		return s;
	s.first = (__u32)(lo * stride - origin - o);
	s.count = (__u32)(hi - lo);
	s.step = p->stride[axis];
	s.in = (__u32)lo;
	return s;
}

/* --- the class ------------------------------------------------------------ */

static int conv_decode(const void *params, struct uma_op *op, __u32 *used,
		       struct uma_fault_info *fault)
{
	const struct uma_conv_params *w = params;
	struct uma_conv *c = &op->u.conv;
	const char *field = 0;
	__u32 i;

	/* 1.0, as uma_match_exact() requires */
	op->alpha = 0x3f800000u;
	c->func = uma_le32(w->func);
	c->flags = uma_le32(w->flags);
	c->groups = uma_le32(w->groups);
	for (i = 0; i < 2; i++) {
		c->stride[i] = uma_le32(w->stride[i]);
		c->dilation[i] = uma_le32(w->dilation[i]);
		c->pad[i] = uma_le32(w->pad[i]);
	}
	*used = __builtin_offsetof(struct uma_conv_params, pad1);
	if (c->flags & ~UMA_CONV_FLAGS_MASK)
		return uma_set_fault(fault, UMA_FAULT_FLAGS, UMA_FAULT_NO_SLOT,
				     "params.flags");
	if (w->pad0)
		return uma_set_fault(fault, UMA_FAULT_PAD, UMA_FAULT_NO_SLOT,
				     "params.pad0");
	if (c->func >= UMA_CONV_COUNT)
		field = "params.func";
	else if (!c->groups)
		field = "params.groups";
	for (i = 0; i < 2 && !field; i++) {
		if (c->stride[i] > UMA_CONV_STEP_MAX)
			field = "params.stride";
		else if (c->dilation[i] > UMA_CONV_STEP_MAX)
			field = "params.dilation";
		else if (c->pad[i] > UMA_CONV_PAD_MAX)
			field = "params.pad";
	}
	if (field)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, field);
	return 0;
}

/* Strides and dilations must be set for the existing spatial dimensions only. */
static int match_params(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_conv *c = &op->u.conv;
	__u32 i, spatial = op->t[UMA_SLOT_DST].rank - 2u;

	for (i = 0; i < spatial; i++) {
		if (!c->stride[i])
			return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
					     "params.stride");
		if (!c->dilation[i])
			return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
					     "params.dilation");
	}
	for (; i < 2; i++) {
		if (c->stride[i])
			return uma_set_fault(fault, UMA_FAULT_PAD, UMA_FAULT_NO_SLOT,
					     "params.stride");
		if (c->dilation[i])
			return uma_set_fault(fault, UMA_FAULT_PAD, UMA_FAULT_NO_SLOT,
					     "params.dilation");
		if (c->pad[i])
			return uma_set_fault(fault, UMA_FAULT_PAD, UMA_FAULT_NO_SLOT,
					     "params.pad");
	}
	return 0;
}

/* Number of outputs of a Winograd tile along a dimension, 0 for the other functions */
static __u32 wino_edge(const struct uma_op *op)
{
	return op->u.conv.func < UMA_CONV_WINOGRAD_2 ? 0 :
	       (op->u.conv.func - UMA_CONV_WINOGRAD_2) * 2 + 2;
}

/* Is B packed, with a matrix [C, M] for each tap or transformed point? */
static int packed(const struct uma_op *op)
{
	return op->t[UMA_SLOT_B].layout != UMA_LAYOUT_STRIDED;
}

/* B has been transformed; its dimensions are [points, points, C, M]. */
static int match_wino(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	const struct uma_conv *c = &op->u.conv;
	__u32 points = wino_edge(op) + 2, i, s;
	const char *field = 0;

	if (d->rank != 4)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_DST, "rank");
	if (c->flags)
		field = "params.flags";
	else if (c->groups != 1)
		field = "params.groups";
	for (i = 0; i < 2 && !field; i++)
		if (c->stride[i] != 1)
			field = "params.stride";
	if (field)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT, field);
	if (!uma_is_float(a->dtype))
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_A, "dtype");
	if (b->dtype != UMA_DTYPE_F32)
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_B, "dtype");
	if (d->dtype == UMA_DTYPE_S32 || uma_is_int4(d->dtype))
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_DST, "dtype");
	for (s = UMA_SLOT_BIAS; s <= UMA_SLOT_RESIDUAL; s++)
		if (uma_has(op, s) && uma_is_int4(op->t[s].dtype))
			return uma_set_fault(fault, UMA_FAULT_DTYPE, s, "dtype");
	if (a->dims[0] != d->dims[0])
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_A, "dims");
	if (b->dims[0] != points || b->dims[1] != points || b->dims[2] != a->dims[1] ||
	    b->dims[3] != d->dims[1])
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_B, "dims");
	for (s = UMA_SLOT_BIAS; s <= UMA_SLOT_RESIDUAL; s++)
		if (uma_has(op, s) && uma_match_dims(op, s, d->rank, fault))
			return -1;
	return 0;
}

static int match_shape(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	__u32 groups = op->u.conv.groups, s;
	int transposed = op->u.conv.flags & UMA_CONV_TRANSPOSED;
	/* The outer dimension of B spans all groups, the inner one a single group. */
	__u32 outer = transposed ? a->dims[1] : d->dims[1];
	__u32 inner = transposed ? d->dims[1] : a->dims[1];

	if (packed(op)) {
		/* A packed B has the dimensions [height, width, C, M]. */
		if (transposed)
			return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
					     "params.flags");
		if (groups != 1)
			return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
					     "params.groups");
		if (b->dims[b->rank - 1] != outer || b->dims[b->rank - 2] != inner)
			return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_B, "dims");
	}
	if (a->dims[0] != d->dims[0] || a->dims[1] % groups)
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_A, "dims");
	if (d->dims[1] % groups)
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_DST, "dims");
	if (!packed(op) && (b->dims[0] != outer || b->dims[1] != inner / groups))
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_B, "dims");
	for (s = UMA_SLOT_BIAS; s <= UMA_SLOT_RESIDUAL; s++)
		if (uma_has(op, s) && uma_match_dims(op, s, d->rank, fault))
			return -1;
	return 0;
}

static int match_quant(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	__u32 axis = packed(op) ? b->rank - 1u :
		     op->u.conv.flags & UMA_CONV_TRANSPOSED ? 1 : 0;
	__u32 s;

	for (s = 0; s <= UMA_SLOT_RESIDUAL; s++)
		if (uma_has(op, s) && op->t[s].quant >
		    (s == UMA_SLOT_B ? UMA_QUANT_CHANNEL : UMA_QUANT_TENSOR))
			return uma_set_fault(fault, UMA_FAULT_QUANT, s, "quant");
	if (b->quant == UMA_QUANT_CHANNEL && b->quant_axis != axis)
		return uma_set_fault(fault, UMA_FAULT_QUANT, UMA_SLOT_B, "quant_axis");
	return 0;
}

static int conv_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];

	if (d->rank != 3 && d->rank != 4)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_DST, "rank");
	if (op->t[UMA_SLOT_B].layout == UMA_LAYOUT_GEMM_B24)
		return uma_set_fault(fault, UMA_FAULT_LAYOUT, UMA_SLOT_B, "layout");
	if (match_params(op, fault))
		return -1;
	if (wino_edge(op))
		return match_wino(op, fault) || match_quant(op, fault) ? -1 : 0;
	if (uma_match_product_types(op, fault) ||
	    match_shape(op, fault) || match_quant(op, fault))
		return -1;
	return uma_op_exact(op) ? uma_match_exact(op, fault) : 0;
}

static __u32 conv_funcs(const struct uma_op *op)
{
	const __u32 *d = op->u.conv.dilation;

	return 1u << op->u.conv.func |
	       (wino_edge(op) && (d[0] > 1 || d[1] > 1) ? UMA_CONV_CAP_DILATION : 0);
}

/* Saturates: no capability row allows that much. */
static __u64 conv_k(const struct uma_op *op)
{
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	__u64 k = op->u.conv.flags & UMA_CONV_TRANSPOSED ?
		b->dims[0] / op->u.conv.groups : b->dims[1];
	__u32 i;

	/* As in the direct form: nine taps */
	if (wino_edge(op))
		return (__u64)b->dims[2] * 9;
	if (packed(op)) {
		k = 1;
		for (i = 0; i + 1 < b->rank; i++)
			if (__builtin_mul_overflow(k, (__u64)b->dims[i], &k))
				return ~0ULL;
		return k;
	}
	for (i = 2; i < b->rank; i++)
		if (__builtin_mul_overflow(k, (__u64)b->dims[i], &k))
			return ~0ULL;
	return k;
}

/* Fill in the geometry; @p is zeroed. */
void conv_geometry(const struct uma_op *op, struct conv_plan *p)
{
	const struct uma_tensor_view *d = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	const struct uma_conv *c = &op->u.conv;
	__u32 i, first = d->rank == 4 ? 0 : 1;

	p->transposed = !!(c->flags & UMA_CONV_TRANSPOSED);
	p->packed = (__u8)packed(op);
	p->images = d->dims[0];
	p->groups = c->groups;
	p->c = a->dims[1] / c->groups;
	p->m = d->dims[1] / c->groups;
	p->a_stride[CONV_N] = a->strides[0];
	p->a_stride[CONV_C] = a->strides[1];
	p->b_stride[CONV_N] = b->strides[p->transposed];
	p->b_stride[CONV_C] = b->strides[!p->transposed];
	p->b_group = b->strides[0] * (__s64)(p->transposed ? p->c : p->m);
	for (i = 0; i < 2; i++) {
		p->in[i] = 1;
		p->out[i] = 1;
		p->kernel[i] = 1;
		p->stride[i] = 1;
		p->dilation[i] = 1;
	}
	/* A single spatial dimension becomes the second one. */
	for (i = first; i < 2; i++) {
		p->in[i] = a->dims[2 + i - first];
		p->out[i] = d->dims[2 + i - first];
		p->kernel[i] = b->dims[(p->packed ? 0 : 2) + i - first];
		p->stride[i] = c->stride[i - first];
		p->dilation[i] = c->dilation[i - first];
		p->pad[i] = c->pad[i - first];
		p->a_stride[2 + i] = a->strides[2 + i - first];
		p->b_stride[2 + i] = b->strides[2 + i - first];
	}
	p->positions = (__u64)p->out[0] * p->out[1];
	p->uniform = !p->packed && p->b_stride[CONV_X] == p->b_stride[CONV_C] * (__s64)p->c &&
		     p->b_stride[CONV_Y] == p->b_stride[CONV_X] * (__s64)p->kernel[1];
}

static int conv_prepare(struct uma_run *run, struct uma_program *prog)
{
	const struct uma_op *op = &prog->op;
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	struct conv_plan *p = (struct conv_plan *)prog->priv;
	__u64 tiles;

	if (b->layout != UMA_LAYOUT_STRIDED &&
	    uma_packed_header_check(run, UMA_SLOT_B, &prog->engine->caps[prog->row]))
		return -1;
	if (uma_tensor_empty(&op->t[UMA_SLOT_DST]))
		return 0;
	*p = (struct conv_plan){
		/* At most the k_max of the capability row, which has 32 bits */
		.k = (__u32)conv_k(op),
		.integer = uma_is_int8(a->dtype),
		.exact = (__u8)uma_op_exact(op),
		.unbounded = prog->step_work == UMA_STEP_WORK_UNBOUND,
	};
	conv_geometry(op, p);
	p->row_sums = p->integer && (b->zero || b->zero_addr);
	p->col_sums = p->integer && a->zero;
	p->edge = (__u8)wino_edge(op);
	if (p->edge) {
		p->path = CONV_WINOGRAD;
		conv_wino_tiles(prog, p);
	} else if (op->u.conv.func == UMA_CONV_DIRECT && p->m < BLOCK_CHANNELS && !p->packed) {
		p->path = CONV_ROWS;
		conv_rows_tiles(prog, p);
	} else {
		/*
		 * The zero-point correction counts padding as terms, so integer paths
		 * gather it.
		 */
		p->path = op->u.conv.func == UMA_CONV_DIRECT && !p->integer ?
			CONV_TAPS : CONV_BLOCKS;
		conv_gemm_tiles(prog, p);
	}
	/* DST has fewer than 2^50 elements, because they do not overlap; tiles have 32 bits. */
	if (__builtin_mul_overflow((__u64)p->images * p->groups, p->mtiles, &tiles) ||
	    __builtin_mul_overflow(tiles, (__u64)p->ntiles, &tiles) ||
	    tiles > 0xffffffffu)
		return uma_set_fault(run->fault, UMA_FAULT_UNSUPPORTED, UMA_SLOT_DST,
				     "dims");
	if (__builtin_mul_overflow(uma_tensor_elements(&op->t[UMA_SLOT_DST]),
				   (__u64)p->k, &prog->macs))
		prog->macs = ~0ULL;
	prog->phase_count = 1;
	prog->tiles[0] = (__u32)tiles;
	return 0;
}

static int conv_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step)
{
	(void)phase;
	switch (conv_plan_of(run)->path) {
	case CONV_ROWS:
		return conv_rows_step(run, tile, step);
	case CONV_WINOGRAD:
		return conv_wino_step(run, tile, step);
	default:
		return conv_gemm_step(run, tile, step);
	}
}

const struct uma_op_class uma_op_conv = {
	.slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A) | UMA_SLOT_BIT(B),
	.outputs = UMA_SLOT_BIT(DST),
	.in_place = UMA_SLOT_BIT(RESIDUAL),
	.packable = UMA_SLOT_BIT(B),
	.epilogue = UMA_EPI_MASK,
	.flags = UMA_CLASS_ACT | UMA_CLASS_SAME_RANK,
	.decode = conv_decode,
	.match = conv_match,
	.funcs = conv_funcs,
	.k = conv_k,
	.prepare = conv_prepare,
	.step = conv_step,
};
