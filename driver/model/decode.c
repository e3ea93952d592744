// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Converts a descriptor to struct uma_op. Checks every field in a fixed order, so that
 * the first one at fault is reported. match.c checks operands against each other.
 */
#include "uma_internal.h"

_Static_assert(sizeof(struct uma_operand) == 128, "struct uma_operand");
_Static_assert(sizeof(struct uma_epilogue) == 64, "struct uma_epilogue");
_Static_assert(sizeof(struct uma_task) == UMA_TASK_SIZE, "struct uma_task");
_Static_assert(sizeof(struct uma_packed_header) == 64, "struct uma_packed_header");
_Static_assert(sizeof(struct uma_op_cap) == 64, "struct uma_op_cap");
_Static_assert(sizeof(struct uma_gemm_params) <= UMA_PARAMS_SIZE, "params");

#define SLOTS_ALL	((1u << UMA_TASK_SLOTS) - 1)

#define F32_SIGN	0x80000000u
#define F32_INF		0x7f800000u

static int is_zero(const void *p, __u32 bytes)
{
	const __u8 *b = p;
	__u8 any = 0;

	while (bytes--)
		any |= *b++;
	return !any;
}

static int f32_finite(__u32 bits)
{
	return (bits & F32_INF) != F32_INF;
}

static int f32_nan(__u32 bits)
{
	return (bits & ~F32_SIGN) > F32_INF;
}

/* Maps binary32 bits to integers of the same order, both zeros to 0; not for NaN. */
static __s64 f32_order(__u32 bits)
{
	__s64 mag = bits & ~F32_SIGN;

	return bits & F32_SIGN ? -mag : mag;
}

static int bad(struct uma_fault_info *fault, __u32 reason, const char *field)
{
	return uma_set_fault(fault, reason, UMA_FAULT_NO_SLOT, field);
}

static int decode_params(const struct uma_task *task, struct uma_op *op,
			 struct uma_fault_info *fault)
{
	const struct uma_op_class *class = uma_op_class(op->opcode);
	__u32 used = 0;

	if (class->decode && class->decode(task->params, op, &used, fault))
		return -1;
	if (!is_zero(task->params + used, UMA_PARAMS_SIZE - used))
		return bad(fault, UMA_FAULT_PAD, "params.pad");
	return 0;
}

static int decode_epilogue(const struct uma_task *task, struct uma_op *op,
			   struct uma_fault_info *fault)
{
	const struct uma_epilogue *e = &task->epilogue;
	const struct uma_op_class *class = uma_op_class(op->opcode);

	op->epi_flags = uma_le32(e->flags);
	op->act = uma_le32(e->act);
	op->p0 = uma_le32(e->p0);
	op->p1 = uma_le32(e->p1);

	if (op->epi_flags & ~UMA_EPI_MASK)
		return bad(fault, UMA_FAULT_FLAGS, "epilogue.flags");
	if ((op->epi_flags & ~class->epilogue) ||
	    ((op->epi_flags & UMA_EPI_RESIDUAL) &&
	     (op->epi_flags & UMA_EPI_RESIDUAL_POST)))
		return bad(fault, UMA_FAULT_EPILOGUE, "epilogue.flags");
	if (op->act >= UMA_ACT_COUNT || (op->act && !(class->flags & UMA_CLASS_ACT)))
		return bad(fault, UMA_FAULT_EPILOGUE, "epilogue.act");

	switch (op->act) {
	case UMA_ACT_CLAMP:
		if (f32_nan(op->p0))
			return bad(fault, UMA_FAULT_EPILOGUE, "epilogue.p0");
		if (f32_nan(op->p1) || f32_order(op->p0) > f32_order(op->p1))
			return bad(fault, UMA_FAULT_EPILOGUE, "epilogue.p1");
		break;
	case UMA_ACT_CELU:
	case UMA_ACT_ELU:
	case UMA_ACT_LEAKY_RELU:
		/* CELU divides by it. */
		if (!f32_finite(op->p0) ||
		    (op->act == UMA_ACT_CELU && !(op->p0 & ~F32_SIGN)))
			return bad(fault, UMA_FAULT_EPILOGUE, "epilogue.p0");
		if (op->p1)
			return bad(fault, UMA_FAULT_PAD, "epilogue.p1");
		break;
	case UMA_ACT_SELU:
	case UMA_ACT_HARD_SIGMOID:
		if (!f32_finite(op->p0))
			return bad(fault, UMA_FAULT_EPILOGUE, "epilogue.p0");
		if (!f32_finite(op->p1))
			return bad(fault, UMA_FAULT_EPILOGUE, "epilogue.p1");
		break;
	default:
		if (op->p0)
			return bad(fault, UMA_FAULT_PAD, "epilogue.p0");
		if (op->p1)
			return bad(fault, UMA_FAULT_PAD, "epilogue.p1");
		break;
	}
	if (!is_zero(e->pad, sizeof(e->pad)))
		return bad(fault, UMA_FAULT_PAD, "epilogue.pad");
	return 0;
}

static __u32 wanted_slots(const struct uma_op *op)
{
	const struct uma_op_class *class = uma_op_class(op->opcode);
	__u32 slots = class->slots;

	if (class->extra_slots)
		slots |= class->extra_slots(op);
	if (op->epi_flags & UMA_EPI_BIAS)
		slots |= UMA_SLOT_BIT(BIAS);
	if (op->epi_flags & UMA_EPI_SCALE)
		slots |= UMA_SLOT_BIT(SCALE);
	if (op->epi_flags & (UMA_EPI_RESIDUAL | UMA_EPI_RESIDUAL_POST))
		slots |= UMA_SLOT_BIT(RESIDUAL);
	return slots;
}

static int decode_quant(const struct uma_operand *o, struct uma_tensor_view *t,
			__u32 slot, struct uma_fault_info *fault)
{
	int mins = t->quant == UMA_QUANT_GROUP_MIN, tables;
	__u32 bits = uma_dtype_bits(t->scale_dtype);
	__s64 lo, hi;

	if (t->quant >= UMA_QUANT_COUNT)
		return uma_set_fault(fault, UMA_FAULT_QUANT, slot, "quant");
	if (t->quant && uma_dtype_limits(t->dtype, &lo, &hi))
		return uma_set_fault(fault, UMA_FAULT_QUANT, slot, "quant");
	if (mins) {
		t->quant = UMA_QUANT_GROUP;
		t->min_addr = t->zero_addr;
		t->zero_addr = 0;
	}
	tables = t->quant == UMA_QUANT_CHANNEL || t->quant == UMA_QUANT_GROUP;

	if (!tables) {
		if (t->quant_axis)
			return uma_set_fault(fault, UMA_FAULT_PAD, slot, "quant_axis");
		if (t->scale_addr)
			return uma_set_fault(fault, UMA_FAULT_PAD, slot, "scale_addr");
		if (t->zero_addr)
			return uma_set_fault(fault, UMA_FAULT_PAD, slot, "zero_addr");
		if (t->scale_dtype)
			return uma_set_fault(fault, UMA_FAULT_PAD, slot, "scale_dtype");
	} else {
		if (t->quant_axis >= t->rank)
			return uma_set_fault(fault, UMA_FAULT_QUANT, slot, "quant_axis");
		if (t->scale_dtype != UMA_DTYPE_F32 && t->scale_dtype != UMA_DTYPE_F16)
			return uma_set_fault(fault, UMA_FAULT_QUANT, slot, "scale_dtype");
		if (!t->scale_addr)
			return uma_set_fault(fault, UMA_FAULT_QUANT, slot, "scale_addr");
		if (t->scale_addr % (bits / 8))
			return uma_set_fault(fault, UMA_FAULT_ALIGN, slot, "scale_addr");
		if (mins && !t->min_addr)
			return uma_set_fault(fault, UMA_FAULT_QUANT, slot, "zero_addr");
		if (t->zero_addr % 4 || t->min_addr % (bits / 8))
			return uma_set_fault(fault, UMA_FAULT_ALIGN, slot, "zero_addr");
	}

	if (t->quant == UMA_QUANT_GROUP) {
		if (t->quant_group < 16 || t->quant_group > 4096 ||
		    (t->quant_group & (t->quant_group - 1)))
			return uma_set_fault(fault, UMA_FAULT_QUANT, slot, "quant_group");
	} else if (t->quant_group) {
		return uma_set_fault(fault, UMA_FAULT_PAD, slot, "quant_group");
	}

	if (t->quant == UMA_QUANT_TENSOR) {
		if (!f32_finite(t->scale) || f32_order(t->scale) <= 0)
			return uma_set_fault(fault, UMA_FAULT_QUANT, slot, "scale");
		if (t->zero < lo || t->zero > hi)
			return uma_set_fault(fault, UMA_FAULT_QUANT, slot, "zero");
	} else {
		if (t->scale)
			return uma_set_fault(fault, UMA_FAULT_PAD, slot, "scale");
		if (t->zero)
			return uma_set_fault(fault, UMA_FAULT_PAD, slot, "zero");
	}
	if (t->quant_flags & ~UMA_QUANT_FLAGS_MASK)
		return uma_set_fault(fault, UMA_FAULT_FLAGS, slot, "quant_flags");
	if (t->quant != UMA_QUANT_GROUP && t->quant_flags)
		return uma_set_fault(fault, UMA_FAULT_PAD, slot, "quant_flags");
	if (((t->quant_flags & UMA_QUANT_SHARED_MASK) >> t->rank) ||
	    ((t->quant_flags & UMA_QUANT_SWAPPED) && t->rank < 2))
		return uma_set_fault(fault, UMA_FAULT_QUANT, slot, "quant_flags");
	if (!is_zero(o->pad2, sizeof(o->pad2)))
		return uma_set_fault(fault, UMA_FAULT_PAD, slot, "pad2");
	if (o->pad3)
		return uma_set_fault(fault, UMA_FAULT_PAD, slot, "pad3");
	return 0;
}

static int check_strides(const struct uma_tensor_view *t)
{
	__u32 d, odd = 0;

	for (d = 0; d < t->rank; d++) {
		if (t->strides[d] > UMA_STRIDE_MAX || t->strides[d] < -UMA_STRIDE_MAX)
			return -1;
		if (t->layout != UMA_LAYOUT_STRIDED && t->strides[d])
			return -1;
		if (t->dims[d] < 2 || !(t->strides[d] & 1))
			continue;
		if (uma_is_int4(t->dtype) && (t->strides[d] != 1 || odd++))
			return -1;
	}
	return 0;
}

static int decode_operand(const struct uma_operand *o, struct uma_tensor_view *t,
			  __u32 slot, struct uma_fault_info *fault)
{
	__u64 lo, hi, entries;
	__u32 d;

	t->addr = uma_le64(o->addr);
	t->dtype = uma_le16(o->dtype);
	t->rank = uma_le16(o->rank);
	t->layout = uma_le16(o->layout);
	t->quant = uma_le16(o->quant);
	t->quant_axis = uma_le16(o->quant_axis);
	t->quant_group = uma_le32(o->quant_group);
	t->scale_addr = uma_le64(o->scale_addr);
	t->zero_addr = uma_le64(o->zero_addr);
	t->min_addr = 0;
	t->scale = uma_le32(o->scale);
	t->zero = (__s32)uma_le32(o->zero);
	t->scale_dtype = uma_le16(o->scale_dtype);
	t->quant_flags = uma_le16(o->quant_flags);

	if (!uma_dtype_block(t->dtype).bytes)
		return uma_set_fault(fault, UMA_FAULT_DTYPE, slot, "dtype");
	if (t->rank < 1 || t->rank > UMA_MAX_RANK)
		return uma_set_fault(fault, UMA_FAULT_RANK, slot, "rank");
	if (t->layout >= UMA_LAYOUT_COUNT)
		return uma_set_fault(fault, UMA_FAULT_LAYOUT, slot, "layout");
	if (o->pad0)
		return uma_set_fault(fault, UMA_FAULT_PAD, slot, "pad0");
	for (d = 0; d < UMA_MAX_RANK; d++) {
		t->dims[d] = uma_le32(o->dims[d]);
		t->strides[d] = (__s64)uma_le64(o->strides[d]);
	}
	for (d = t->rank; d < UMA_MAX_RANK; d++)
		if (t->dims[d])
			return uma_set_fault(fault, UMA_FAULT_PAD, slot, "dims");
	if (o->pad1)
		return uma_set_fault(fault, UMA_FAULT_PAD, slot, "pad1");
	for (d = t->rank; d < UMA_MAX_RANK; d++)
		if (t->strides[d])
			return uma_set_fault(fault, UMA_FAULT_PAD, slot, "strides");
	if (check_strides(t))
		return uma_set_fault(fault, UMA_FAULT_STRIDES, slot, "strides");
	if (decode_quant(o, t, slot, fault))
		return -1;
	if (t->addr & (uma_dtype_align(t->dtype) - 1))
		return uma_set_fault(fault, UMA_FAULT_ALIGN, slot, "addr");
	if (t->layout != UMA_LAYOUT_STRIDED && (t->addr & 63))
		return uma_set_fault(fault, UMA_FAULT_ALIGN, slot, "addr");
	if (uma_tensor_range(t, &lo, &hi))
		return uma_set_fault(fault, UMA_FAULT_RANGE, slot, "addr");
	if (uma_table_ranges(t, &entries))
		return uma_set_fault(fault, UMA_FAULT_RANGE, slot, "scale_addr");
	return 0;
}

static int decode_slots(const struct uma_task *task, struct uma_op *op,
			struct uma_fault_info *fault)
{
	__u32 wanted = wanted_slots(op);
	__u32 s;

	if (op->slots & ~SLOTS_ALL)
		return bad(fault, UMA_FAULT_FLAGS, "slots");
	for (s = 0; s < UMA_TASK_SLOTS; s++) {
		const struct uma_operand *o = &task->op[s];

		if (((op->slots ^ wanted) >> s) & 1)
			return uma_set_fault(fault, UMA_FAULT_SLOT, s, "slots");
		if ((wanted >> s) & 1) {
			if (decode_operand(o, &op->t[s], s, fault))
				return -1;
			continue;
		}
		if (!is_zero(o, sizeof(*o)))
			return uma_set_fault(fault, UMA_FAULT_PAD, s, "op");
		op->t[s] = (struct uma_tensor_view){ 0 };
	}
	return 0;
}

/* Decode the address of the dynamic dimensions and which dimensions are dynamic. */
static int decode_shape(const struct uma_task *task, struct uma_op *op,
			struct uma_fault_info *fault)
{
	__u32 s, any = 0;

	op->shape_addr = uma_le64(task->shape_addr);
	__builtin_memcpy(op->length_dims, task->length_dims, sizeof(op->length_dims));
	if (task->pad3)
		return bad(fault, UMA_FAULT_PAD, "pad3");
	if (!(op->flags & UMA_TASK_LENGTH)) {
		if (!is_zero(task->length_dims, sizeof(task->length_dims)))
			return bad(fault, UMA_FAULT_PAD, "length_dims");
	} else {
		for (s = 0; s < UMA_TASK_SLOTS; s++) {
			any |= op->length_dims[s];
			if (op->length_dims[s] >> UMA_MAX_RANK ||
			    (op->length_dims[s] && !uma_has(op, s)))
				return uma_set_fault(fault, UMA_FAULT_FLAGS, s, "length_dims");
		}
		if (!any)
			return bad(fault, UMA_FAULT_FLAGS, "length_dims");
	}
	if (!(op->flags & UMA_TASK_DYNAMIC))
		return op->shape_addr ? bad(fault, UMA_FAULT_PAD, "shape_addr") : 0;
	if (op->shape_addr & 3)
		return bad(fault, UMA_FAULT_ALIGN, "shape_addr");
	if (!uma_span_ok(op->shape_addr, uma_shape_size(op)))
		return bad(fault, UMA_FAULT_RANGE, "shape_addr");
	return 0;
}

/* length_dims must not name a dimension that an operand does not have. */
static int check_length_dims(const struct uma_op *op, struct uma_fault_info *fault)
{
	__u32 s;

	for (s = 0; s < UMA_TASK_SLOTS; s++)
		if (op->length_dims[s] >> op->t[s].rank)
			return uma_set_fault(fault, UMA_FAULT_FLAGS, s, "length_dims");
	return 0;
}

int uma_task_decode(const struct uma_task *task, struct uma_op *op,
		    struct uma_fault_info *fault)
{
	if (uma_le16(task->version) != UMA_TASK_VERSION)
		return bad(fault, UMA_FAULT_VERSION, "version");
	op->opcode = uma_le16(task->opcode);
	op->flags = uma_le32(task->flags);
	op->slots = uma_le32(task->slots);
	op->func = 0;
	op->alpha = 0;
	op->beta = 0;
	op->a_group = 0;
	op->experts = 0;
	op->bf16 = 0;
	op->headless = 0;
	op->value = 0;
	__builtin_memset(&op->u, 0, sizeof(op->u));

	if (!uma_op_class(op->opcode))
		return bad(fault, UMA_FAULT_OPCODE, "opcode");
	if ((op->flags & ~UMA_TASK_FLAGS_MASK) ||
	    (op->opcode == UMA_OP_NOP && op->flags) ||
	    (op->flags & (UMA_TASK_DYNAMIC | UMA_TASK_LENGTH)) == UMA_TASK_LENGTH)
		return bad(fault, UMA_FAULT_FLAGS, "flags");
	if (task->pad0)
		return bad(fault, UMA_FAULT_PAD, "pad0");
	if (decode_shape(task, op, fault))
		return -1;
	if (!is_zero(task->pad1, sizeof(task->pad1)))
		return bad(fault, UMA_FAULT_PAD, "pad1");
	if (decode_params(task, op, fault) || decode_epilogue(task, op, fault))
		return -1;
	if (!is_zero(task->pad2, sizeof(task->pad2)))
		return bad(fault, UMA_FAULT_PAD, "pad2");
	if (decode_slots(task, op, fault) || check_length_dims(op, fault) ||
	    uma_op_match(op, fault))
		return -1;
	return uma_op_overlap(op, fault);
}
