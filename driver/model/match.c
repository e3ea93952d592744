// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks operands against each other: ranks, dimensions, types, quantisation, and overlap
 * in memory.
 */
#include "uma_internal.h"

#define F32_ONE		0x3f800000u
#define F32_SIGN	0x80000000u

static int unquantised_s32(const struct uma_tensor_view *t)
{
	return t->dtype == UMA_DTYPE_S32 && t->quant == UMA_QUANT_NONE;
}

/* Bitwise functions, which are defined for integers only */
static int function_of_bits(const struct uma_op *op)
{
	if (op->opcode == UMA_OP_UNARY)
		return op->func == UMA_UNARY_BIT_NOT;
	return op->opcode == UMA_OP_BINARY && op->func >= UMA_BINARY_BIT_AND &&
	       op->func <= UMA_BINARY_SHR;
}

#define EXACT_UNARIES	(1u << UMA_UNARY_ABS | 1u << UMA_UNARY_NEG |	\
			 1u << UMA_UNARY_SQUARE | 1u << UMA_UNARY_SIGN | \
			 1u << UMA_UNARY_NOT)

/*
 * Is the result computed in integers? This is the case for GEMM and convolution of 8-bit
 * integers into unquantised s32, for operations on unquantised s32 whose result is an
 * integer, and for bitwise functions.
 */
int uma_op_exact(const struct uma_op *op)
{
	if (function_of_bits(op))
		return 1;
	if (!uma_has(op, UMA_SLOT_DST) || !unquantised_s32(&op->t[UMA_SLOT_DST]))
		return 0;
	if (op->opcode == UMA_OP_GEMM || op->opcode == UMA_OP_CONV)
		return uma_is_int8(op->t[UMA_SLOT_A].dtype);
	if (op->opcode == UMA_OP_BINARY)
		return unquantised_s32(&op->t[UMA_SLOT_A]) &&
		       unquantised_s32(&op->t[UMA_SLOT_B]);
	if (op->opcode == UMA_OP_UNARY)
		return unquantised_s32(&op->t[UMA_SLOT_A]) &&
		       (EXACT_UNARIES >> op->func & 1) && op->act <= UMA_ACT_RELU;
	return 0;
}

/* Are the first @count dimensions of @slot equal to those of DST? */
int uma_match_dims(const struct uma_op *op, __u32 slot, __u32 count,
		   struct uma_fault_info *fault)
{
	const struct uma_tensor_view *dst = &op->t[UMA_SLOT_DST];
	__u32 d;

	for (d = 0; d < count; d++)
		if (op->t[slot].dims[d] != dst->dims[d])
			return uma_set_fault(fault, UMA_FAULT_DIMS, slot, "dims");
	return 0;
}

/* A binary32 GEMM may have weights of any floating-point type; they are converted exactly. */
static int is_widened(const struct uma_op *op)
{
	return op->opcode == UMA_OP_GEMM && op->t[UMA_SLOT_A].dtype == UMA_DTYPE_F32 &&
	       uma_is_float(op->t[UMA_SLOT_B].dtype);
}

int uma_match_product_types(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	const struct uma_tensor_view *dst = &op->t[UMA_SLOT_DST];
	__u32 s;

	if (dst->dtype == UMA_DTYPE_S32 ? !uma_is_int8(a->dtype) : uma_is_int4(dst->dtype))
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_DST, "dtype");
	if (uma_is_float(a->dtype)) {
		if (b->dtype != a->dtype && !is_widened(op) && !uma_is_int8(b->dtype) &&
		    !uma_is_int4(b->dtype) && !uma_is_block(b->dtype))
			return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_B, "dtype");
	} else if (uma_is_int8(a->dtype)) {
		if (!uma_is_int8(b->dtype) && !uma_is_int4(b->dtype) && !uma_is_block(b->dtype))
			return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_B, "dtype");
	} else {
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_A, "dtype");
	}
	for (s = UMA_SLOT_C; s <= UMA_SLOT_RESIDUAL; s++)
		if (uma_has(op, s) && uma_is_int4(op->t[s].dtype))
			return uma_set_fault(fault, UMA_FAULT_DTYPE, s, "dtype");
	return 0;
}

static int match_gemm_quant(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	__u32 s;

	for (s = 0; s <= UMA_SLOT_RESIDUAL; s++) {
		if (s == UMA_SLOT_A || s == UMA_SLOT_B || !uma_has(op, s))
			continue;
		if (op->t[s].quant > UMA_QUANT_TENSOR)
			return uma_set_fault(fault, UMA_FAULT_QUANT, s, "quant");
	}
	/* For A, channels are rows and groups run along K. */
	if ((a->quant == UMA_QUANT_CHANNEL && a->quant_axis != a->rank - 2) ||
	    (a->quant == UMA_QUANT_GROUP && a->quant_axis != a->rank - 1))
		return uma_set_fault(fault, UMA_FAULT_QUANT, UMA_SLOT_A, "quant_axis");
	/* The elements that are not stored count as 0, which must stand for the value 0. */
	if (b->layout == UMA_LAYOUT_GEMM_B24 && b->zero)
		return uma_set_fault(fault, UMA_FAULT_QUANT, UMA_SLOT_B, "zero");
	if (b->layout == UMA_LAYOUT_GEMM_B24 && (b->zero_addr || b->min_addr))
		return uma_set_fault(fault, UMA_FAULT_QUANT, UMA_SLOT_B, "zero_addr");
	/* For B, channels are columns and groups run along K. */
	if ((b->quant == UMA_QUANT_CHANNEL && b->quant_axis != b->rank - 1) ||
	    (b->quant == UMA_QUANT_GROUP && b->quant_axis != b->rank - 2))
		return uma_set_fault(fault, UMA_FAULT_QUANT, UMA_SLOT_B, "quant_axis");
	return 0;
}

/*
 * Are the products computed in integers? Not if scales vary along K or between the rows
 * of A: those products are computed in binary32.
 */
int uma_gemm_integer(const struct uma_op *op)
{
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];

	return uma_is_int8(a->dtype) && a->quant <= UMA_QUANT_TENSOR &&
	       op->t[UMA_SLOT_B].quant != UMA_QUANT_GROUP &&
	       !uma_is_block(op->t[UMA_SLOT_B].dtype);
}

/* An exact product must not involve scales or other factors that are not 1. */
int uma_match_exact(const struct uma_op *op, struct uma_fault_info *fault)
{
	__u32 s;

	if (op->alpha != F32_ONE)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
				     "params.alpha");
	if (op->beta & ~F32_SIGN && op->beta != F32_ONE)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
				     "params.beta");
	if (op->epi_flags & UMA_EPI_SCALE)
		return uma_set_fault(fault, UMA_FAULT_EPILOGUE, UMA_FAULT_NO_SLOT,
				     "epilogue.flags");
	if (op->act != UMA_ACT_NONE && op->act != UMA_ACT_RELU)
		return uma_set_fault(fault, UMA_FAULT_EPILOGUE, UMA_FAULT_NO_SLOT,
				     "epilogue.act");
	for (s = UMA_SLOT_A; s <= UMA_SLOT_B; s++) {
		if (uma_is_block(op->t[s].dtype))
			return uma_set_fault(fault, UMA_FAULT_DTYPE, s, "dtype");
		if (op->t[s].quant > UMA_QUANT_TENSOR)
			return uma_set_fault(fault, UMA_FAULT_QUANT, s, "quant");
		if (op->t[s].quant == UMA_QUANT_TENSOR && op->t[s].scale != F32_ONE)
			return uma_set_fault(fault, UMA_FAULT_QUANT, s, "scale");
	}
	for (s = UMA_SLOT_C; s <= UMA_SLOT_RESIDUAL; s++)
		if (uma_has(op, s) && !unquantised_s32(&op->t[s]))
			return uma_set_fault(fault, UMA_FAULT_DTYPE, s, "dtype");
	return 0;
}

/* a_group applies to products of a floating-point A with a B that is not floating point. */
static int match_a_group(const struct uma_op *op, struct uma_fault_info *fault)
{
	__u32 group = op->a_group;

	if (group < 16 || group > UMA_GEMM_A_GROUP_MAX || (group & (group - 1)))
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
				     "params.a_group");
	if (!uma_is_float(op->t[UMA_SLOT_A].dtype))
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_A, "dtype");
	if (uma_is_float(op->t[UMA_SLOT_B].dtype))
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_B, "dtype");
	return 0;
}

int uma_gemm_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *dst = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &op->t[UMA_SLOT_B];
	__u32 r = dst->rank;
	__u32 s;

	if (r < 2)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_DST, "rank");
	for (s = UMA_SLOT_A; s <= UMA_SLOT_RESIDUAL; s++)
		if (uma_has(op, s) && op->t[s].rank != r)
			return uma_set_fault(fault, UMA_FAULT_RANK, s, "rank");
	if (op->experts && uma_experts_match(op, fault))
		return -1;
	if (uma_match_product_types(op, fault))
		return -1;
	if (uma_match_dims(op, UMA_SLOT_A, r - 1, fault) ||
	    (!op->experts && uma_match_dims(op, UMA_SLOT_B, r - 2, fault)))
		return -1;
	if (b->dims[r - 2] != a->dims[r - 1] || b->dims[r - 1] != dst->dims[r - 1])
		return uma_set_fault(fault, UMA_FAULT_DIMS, UMA_SLOT_B, "dims");
	for (s = UMA_SLOT_C; s <= UMA_SLOT_RESIDUAL; s++) {
		/*
		 * uma_experts_match() has checked them: they may have a matrix for
		 * each expert.
		 */
		if (op->experts && (s == UMA_SLOT_BIAS || s == UMA_SLOT_SCALE))
			continue;
		if (uma_has(op, s) && uma_match_dims(op, s, r, fault))
			return -1;
	}
	if (op->bf16 && !op->a_group)
		return uma_set_fault(fault, UMA_FAULT_FLAGS, UMA_FAULT_NO_SLOT, "params.flags");
	if (match_gemm_quant(op, fault) || (op->a_group && match_a_group(op, fault)))
		return -1;
	return uma_op_exact(op) ? uma_match_exact(op, fault) : 0;
}

static int match_bits(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *dst = &op->t[UMA_SLOT_DST];
	__u32 s;

	for (s = UMA_SLOT_DST; s <= UMA_SLOT_B; s++) {
		if (!uma_has(op, s))
			continue;
		if (uma_is_float(dst->dtype) || op->t[s].dtype != dst->dtype)
			return uma_set_fault(fault, UMA_FAULT_DTYPE, s, "dtype");
		if (op->t[s].quant)
			return uma_set_fault(fault, UMA_FAULT_QUANT, s, "quant");
	}
	if (op->act)
		return uma_set_fault(fault, UMA_FAULT_EPILOGUE, UMA_FAULT_NO_SLOT,
				     "epilogue.act");
	return 0;
}

int uma_elementwise_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	__u32 r = op->t[UMA_SLOT_DST].rank, s;

	for (s = UMA_SLOT_A; s <= UMA_SLOT_C; s++)
		if (uma_has(op, s) && uma_match_dims(op, s, r, fault))
			return -1;
	if (function_of_bits(op))
		return match_bits(op, fault);
	if (op->opcode != UMA_OP_BINARY || !uma_op_exact(op))
		return 0;
	if (op->func == UMA_BINARY_DIV)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
				     "params.func");
	if (op->act != UMA_ACT_NONE && op->act != UMA_ACT_RELU)
		return uma_set_fault(fault, UMA_FAULT_EPILOGUE, UMA_FAULT_NO_SLOT,
				     "epilogue.act");
	return 0;
}

int uma_fill_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *dst = &op->t[UMA_SLOT_DST];
	__u32 bits = uma_dtype_bits(dst->dtype);

	if (dst->quant)
		return uma_set_fault(fault, UMA_FAULT_QUANT, UMA_SLOT_DST, "quant");
	if (bits < 32 && op->value >> bits)
		return uma_set_fault(fault, UMA_FAULT_PARAMS, UMA_FAULT_NO_SLOT,
				     "params.value");
	return 0;
}

int uma_pack_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_tensor_view *dst = &op->t[UMA_SLOT_DST];
	const struct uma_tensor_view *a = &op->t[UMA_SLOT_A];

	if (dst->layout == UMA_LAYOUT_STRIDED)
		return uma_set_fault(fault, UMA_FAULT_LAYOUT, UMA_SLOT_DST, "layout");
	if (dst->rank < 2)
		return uma_set_fault(fault, UMA_FAULT_RANK, UMA_SLOT_DST, "rank");
	if (dst->dtype == UMA_DTYPE_S32 || dst->dtype != a->dtype)
		return uma_set_fault(fault, UMA_FAULT_DTYPE, UMA_SLOT_DST, "dtype");
	/* Scales are given to the GEMM that uses the result. */
	if (dst->quant)
		return uma_set_fault(fault, UMA_FAULT_QUANT, UMA_SLOT_DST, "quant");
	if (a->quant)
		return uma_set_fault(fault, UMA_FAULT_QUANT, UMA_SLOT_A, "quant");
	return uma_match_dims(op, UMA_SLOT_A, dst->rank, fault);
}

/*
 * uma_op_match - check that operands match each other and the parameters
 * @op: decoded task
 * @fault: out: set on failure
 *
 * Also called after dynamic dimensions have replaced the descriptor's.
 *
 * Return: 0, or -1 with @fault set.
 */
int uma_op_match(const struct uma_op *op, struct uma_fault_info *fault)
{
	const struct uma_op_class *class = uma_op_class(op->opcode);
	const struct uma_tensor_view *dst = &op->t[UMA_SLOT_DST];
	__u32 s;
	int bad;

	for (s = 0; s < UMA_TASK_SLOTS; s++) {
		if (!uma_has(op, s))
			continue;
		if (uma_is_block(op->t[s].dtype) && !(class->blocks >> s & 1))
			return uma_set_fault(fault, UMA_FAULT_DTYPE, s, "dtype");
		if ((class->flags & UMA_CLASS_SAME_RANK) && op->t[s].rank != dst->rank)
			return uma_set_fault(fault, UMA_FAULT_RANK, s, "rank");
		if (op->t[s].layout != UMA_LAYOUT_STRIDED && !((class->packable >> s) & 1))
			return uma_set_fault(fault, UMA_FAULT_LAYOUT, s, "layout");
		if (!uma_is_block(op->t[s].dtype))
			continue;
		if (op->t[s].layout != UMA_LAYOUT_STRIDED)
			return uma_set_fault(fault, UMA_FAULT_LAYOUT, s, "layout");
		bad = uma_blocks_check(&op->t[s]);
		if (bad)
			return uma_set_fault(fault, (__u32)bad, s,
					     bad == UMA_FAULT_DIMS ? "dims" : "strides");
	}
	return class->match(op, fault);
}

static int ranges_meet(__u64 a, __u64 a_end, __u64 b, __u64 b_end)
{
	return a < a_end && b < b_end && a < b_end && b < a_end;
}

/* Check that writing @out does not modify operand @s, or its tables, while it is in use. */
static int check_apart(const struct uma_op *op, __u32 out, __u32 s, int in_place,
		       struct uma_fault_info *fault)
{
	const struct uma_tensor_view *dst = &op->t[out], *t = &op->t[s];
	__u64 lo, hi, end, from, entries;
	int conflict;

	if (uma_tensor_range(dst, &lo, &hi))
		return uma_set_fault(fault, UMA_FAULT_RANGE, out, "addr");
	if (s != out) {
		if (dst->layout == UMA_LAYOUT_STRIDED && t->layout == UMA_LAYOUT_STRIDED)
			conflict = uma_views_conflict(dst, t, in_place);
		else
			conflict = uma_tensor_range(t, &from, &end) ||
				   ranges_meet(lo, hi, from, end);
		if (conflict)
			return uma_set_fault(fault, UMA_FAULT_OVERLAP, s, "addr");
	}
	if (uma_table_ranges(t, &entries))
		return uma_set_fault(fault, UMA_FAULT_RANGE, s, "scale_addr");
	end = t->scale_addr + entries * (uma_dtype_bits(t->scale_dtype) / 8);
	if (ranges_meet(lo, hi, t->scale_addr, end))
		return uma_set_fault(fault, UMA_FAULT_OVERLAP, s, "scale_addr");
	if ((t->zero_addr && ranges_meet(lo, hi, t->zero_addr, t->zero_addr + entries * 4)) ||
	    (t->min_addr && ranges_meet(lo, hi, t->min_addr, t->min_addr + end - t->scale_addr)))
		return uma_set_fault(fault, UMA_FAULT_OVERLAP, s, "zero_addr");
	return 0;
}

/* Check an output against itself, all operands, and the table of dynamic dimensions. */
static int check_output(const struct uma_op *op, __u32 out, struct uma_fault_info *fault)
{
	const struct uma_op_class *class = uma_op_class(op->opcode);
	const struct uma_tensor_view *dst = &op->t[out];
	__u64 lo, hi, end;
	__u32 s;

	if (uma_tensor_range(dst, &lo, &hi))
		return uma_set_fault(fault, UMA_FAULT_RANGE, out, "addr");
	if (dst->layout == UMA_LAYOUT_STRIDED && uma_self_overlap(dst))
		return uma_set_fault(fault, UMA_FAULT_STRIDES, out, "strides");
	for (s = 0; s < UMA_TASK_SLOTS; s++)
		if (uma_has(op, s) &&
		    check_apart(op, out, s, out == UMA_SLOT_DST && (class->in_place >> s & 1),
				fault))
			return -1;
	end = op->shape_addr + uma_shape_size(op);
	if ((op->flags & UMA_TASK_DYNAMIC) && ranges_meet(lo, hi, op->shape_addr, end))
		return uma_set_fault(fault, UMA_FAULT_OVERLAP, UMA_FAULT_NO_SLOT,
				     "shape_addr");
	return 0;
}

/*
 * uma_op_overlap - check that outputs do not overlap what the task reads
 * @op: decoded task
 * @fault: out: set on failure
 *
 * Of packed operands this considers header and payload without padding, as the block
 * size depends on the engine; uma_op_check() considers all of it.
 *
 * Return: 0, or -1 with @fault set.
 */
int uma_op_overlap(const struct uma_op *op, struct uma_fault_info *fault)
{
	__u32 outputs = uma_op_class(op->opcode)->outputs & op->slots;
	__u32 s;

	for (s = 0; s < UMA_TASK_SLOTS; s++)
		if ((outputs >> s & 1) && check_output(op, s, fault))
			return -1;
	return 0;
}
