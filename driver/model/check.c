// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Checks if an engine can execute a task: one of its capability rows must match. */
#include "uma_internal.h"

/* What a row can reject, in the order of the checks */
enum check_stage {
	STAGE_OPCODE,
	STAGE_FUNC,
	STAGE_A_DTYPE,
	STAGE_B_DTYPE,
	STAGE_D_DTYPE,
	STAGE_OTHER_DTYPE,
	STAGE_LAYOUT,
	STAGE_QUANT,
	STAGE_EPILOGUE,
	STAGE_ACT,
	STAGE_RANK,
	STAGE_DIMS,
	STAGE_K,
	STAGE_ALIGN,
	STAGE_DONE
};

struct verdict {
	enum check_stage stage;
	__u32 slot;
};

static int in_mask(__u32 mask, __u32 bit)
{
	return bit < 32 && (mask >> bit) & 1;
}

/* The slot whose columns of the row apply to @slot */
static __u32 judged_as(const struct uma_op *op, __u32 slot)
{
	return uma_op_class(op->opcode)->like_b >> slot & 1 ? (__u32)UMA_SLOT_B : slot;
}

static __u32 quant_mask(const struct uma_op *op, const struct uma_op_cap *cap, __u32 slot)
{
	__u32 quants = uma_le32(cap->quants);

	switch (judged_as(op, slot)) {
	case UMA_SLOT_A:
		return quants & 0xff;
	case UMA_SLOT_B:
		return quants >> 8 & 0xff;
	case UMA_SLOT_DST:
		return quants >> 16 & 0xff;
	default:
		return quants >> 24;
	}
}

static __u32 align_of(const struct uma_op_cap *cap, __u32 dtype)
{
	return UMA_MAX(uma_le32(cap->align), uma_dtype_align(dtype));
}

static int refuse(struct verdict *v, enum check_stage stage, __u32 slot)
{
	v->stage = stage;
	v->slot = slot;
	return 0;
}

static int types_match(const struct uma_op *op, const struct uma_op_cap *cap,
		       struct verdict *v)
{
	static const __u8 order[UMA_TASK_SLOTS] = {
		UMA_SLOT_A, UMA_SLOT_B, UMA_SLOT_DST, UMA_SLOT_C, UMA_SLOT_BIAS,
		UMA_SLOT_SCALE, UMA_SLOT_RESIDUAL, UMA_SLOT_AUX0, UMA_SLOT_AUX1,
		UMA_SLOT_AUX2, UMA_SLOT_AUX3, UMA_SLOT_AUX4
	};
	__u32 a = uma_le32(cap->a_dtypes), d = uma_le32(cap->d_dtypes);
	__u32 fixed = uma_op_class(op->opcode)->fixed;
	__u32 i, s, mask;
	enum check_stage stage;

	for (i = 0; i < UMA_TASK_SLOTS; i++) {
		s = order[i];
		if (!uma_has(op, s) || (fixed >> s & 1))
			continue;
		switch (judged_as(op, s)) {
		case UMA_SLOT_A:
			mask = a;
			stage = STAGE_A_DTYPE;
			break;
		case UMA_SLOT_B:
			mask = uma_le32(cap->b_dtypes);
			stage = STAGE_B_DTYPE;
			break;
		case UMA_SLOT_DST:
			mask = d;
			stage = STAGE_D_DTYPE;
			break;
		default:
			mask = a | d | 1u << UMA_DTYPE_F32;
			stage = STAGE_OTHER_DTYPE;
			break;
		}
		if (!in_mask(mask, op->t[s].dtype))
			return refuse(v, stage, s);
	}
	return 1;
}

static int operands_match(const struct uma_op *op, const struct uma_op_cap *cap,
			  struct verdict *v)
{
	const struct uma_op_class *class = uma_op_class(op->opcode);
	__u32 s, d;

	for (s = 0; s < UMA_TASK_SLOTS; s++) {
		const struct uma_tensor_view *t = &op->t[s];
		__u32 layouts = class->packable >> s & 1 ?
			cap->layouts : 1u << UMA_LAYOUT_STRIDED;

		if (!uma_has(op, s))
			continue;
		if (!in_mask(layouts, t->layout) ||
		    (t->layout != UMA_LAYOUT_STRIDED && uma_packed_blocks(t, cap)))
			return refuse(v, STAGE_LAYOUT, s);
	}
	for (s = 0; s < UMA_TASK_SLOTS; s++)
		if (uma_has(op, s) && !(class->fixed >> s & 1) &&
		    !in_mask(quant_mask(op, cap, s), uma_quant_scheme(&op->t[s])))
			return refuse(v, STAGE_QUANT, s);
	if (op->epi_flags & ~uma_le32(cap->epilogue))
		return refuse(v, STAGE_EPILOGUE, UMA_FAULT_NO_SLOT);
	if (op->act && !in_mask(uma_le32(cap->acts), op->act))
		return refuse(v, STAGE_ACT, UMA_FAULT_NO_SLOT);
	for (s = 0; s < UMA_TASK_SLOTS; s++) {
		if (!uma_has(op, s))
			continue;
		if (op->t[s].rank > cap->rank_max)
			return refuse(v, STAGE_RANK, s);
		for (d = 0; d < op->t[s].rank; d++)
			if (op->t[s].dims[d] > uma_le32(cap->dim_max))
				return refuse(v, STAGE_DIMS, s);
	}
	if (class->k && class->k(op) > uma_le32(cap->k_max))
		return refuse(v, STAGE_K, UMA_SLOT_A);
	for (s = 0; s < UMA_TASK_SLOTS; s++)
		if (uma_has(op, s) &&
		    op->t[s].addr % align_of(cap, op->t[s].dtype))
			return refuse(v, STAGE_ALIGN, s);
	return 1;
}

static int row_matches(const struct uma_op *op, const struct uma_op_cap *cap,
		       struct verdict *v)
{
	const struct uma_op_class *class = uma_op_class(op->opcode);

	if (uma_le16(cap->opcode) != op->opcode)
		return refuse(v, STAGE_OPCODE, UMA_FAULT_NO_SLOT);
	if (class->funcs && (class->funcs(op) & ~uma_le32(cap->funcs)))
		return refuse(v, STAGE_FUNC, UMA_FAULT_NO_SLOT);
	return types_match(op, cap, v) && operands_match(op, cap, v);
}

/*
 * Check the whole range of a packed operand, which depends on the block size of the row:
 * it must be within the address width and not overlap the other operand or the shape.
 */
static int check_packed(const struct uma_op *op, const struct uma_op_cap *cap,
			struct uma_fault_info *fault)
{
	__u32 packable = uma_op_class(op->opcode)->packable;
	__u32 slot = packable & UMA_SLOT_BIT(DST) ? UMA_SLOT_DST : UMA_SLOT_B;
	__u32 other = slot == UMA_SLOT_DST ? UMA_SLOT_A : UMA_SLOT_DST;
	const struct uma_tensor_view *t = &op->t[slot];
	__u64 size, lo, hi;

	if (!packable || !uma_has(op, slot) || t->layout == UMA_LAYOUT_STRIDED)
		return 0;
	size = uma_packed_size(t, t->layout, uma_le16(cap->block_k),
			       uma_le16(cap->block_n));
	if (!size || !uma_span_ok(t->addr, size))
		return uma_set_fault(fault, UMA_FAULT_RANGE, slot, "addr");
	if (uma_tensor_range(&op->t[other], &lo, &hi))
		return uma_set_fault(fault, UMA_FAULT_RANGE, other, "addr");
	if (lo < hi && lo < t->addr + size && t->addr < hi)
		return uma_set_fault(fault, UMA_FAULT_OVERLAP,
				     slot == UMA_SLOT_DST ? other : slot, "addr");
	lo = op->shape_addr;
	hi = lo + uma_shape_size(op);
	if (slot == UMA_SLOT_DST && (op->flags & UMA_TASK_DYNAMIC) &&
	    lo < t->addr + size && t->addr < hi)
		return uma_set_fault(fault, UMA_FAULT_OVERLAP, UMA_FAULT_NO_SLOT,
				     "shape_addr");
	return 0;
}

int uma_op_check(const struct uma_op *op, const struct uma_engine_desc *engine,
		 struct uma_fault_info *fault)
{
	const char *func_field = uma_op_class(op->opcode)->func_field;
	static const char * const field[STAGE_DONE] = {
		[STAGE_OPCODE] = "opcode",
		[STAGE_FUNC] = "params.func",
		[STAGE_A_DTYPE] = "dtype",
		[STAGE_B_DTYPE] = "dtype",
		[STAGE_D_DTYPE] = "dtype",
		[STAGE_OTHER_DTYPE] = "dtype",
		[STAGE_LAYOUT] = "layout",
		[STAGE_QUANT] = "quant",
		[STAGE_EPILOGUE] = "epilogue.flags",
		[STAGE_ACT] = "epilogue.act",
		[STAGE_RANK] = "rank",
		[STAGE_DIMS] = "dims",
		[STAGE_K] = "dims",
		[STAGE_ALIGN] = "addr",
	};
	struct verdict best = { STAGE_OPCODE, UMA_FAULT_NO_SLOT };
	__u32 i;

	if ((op->flags & UMA_TASK_DYNAMIC) &&
	    !(engine->flags & UMA_ENGINE_DYNAMIC_SHAPES))
		return uma_set_fault(fault, UMA_FAULT_UNSUPPORTED,
				     UMA_FAULT_NO_SLOT, "flags");
	if ((op->flags & UMA_TASK_LENGTH) && !(engine->flags & UMA_ENGINE_LENGTHS))
		return uma_set_fault(fault, UMA_FAULT_UNSUPPORTED,
				     UMA_FAULT_NO_SLOT, "flags");
	for (i = 0; i < engine->cap_count; i++) {
		struct verdict v;

		if (row_matches(op, &engine->caps[i], &v)) {
			if (check_packed(op, &engine->caps[i], fault))
				return -1;
			return (int)i;
		}
		/* Report the fault of the row that passed the most checks. */
		if (v.stage > best.stage)
			best = v;
	}
	return uma_set_fault(fault, best.stage == STAGE_ALIGN ?
			     UMA_FAULT_ALIGN : UMA_FAULT_UNSUPPORTED, best.slot,
			     best.stage == STAGE_FUNC && func_field ? func_field :
			     field[best.stage]);
}
