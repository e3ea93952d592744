// SPDX-License-Identifier: MIT
/*
 * The operations by their numbers. One that has no class is not an operation.
 */
#include "planner.h"

static const struct op_class classes[ACCEL_OP_COUNT] = {
	[ACCEL_OP_COPY] = {
		.size = sizeof(struct accel_copy_desc),
		.opcode = UMA_OP_COPY,
		.shape = SHAPE_ELEMENTWISE,
		.outputs = SLOT(DST),
		.in_place = SLOT(A),
		.algorithm = "convert",
		.lower = lower_copy,
	},
	[ACCEL_OP_FILL] = {
		.size = sizeof(struct accel_fill_desc),
		.opcode = UMA_OP_FILL,
		.shape = SHAPE_ELEMENTWISE,
		.outputs = SLOT(DST),
		.algorithm = "fill",
		.lower = lower_fill,
	},
	[ACCEL_OP_UNARY] = {
		.size = sizeof(struct accel_unary_desc),
		.opcode = UMA_OP_UNARY,
		.shape = SHAPE_ELEMENTWISE,
		.outputs = SLOT(DST),
		.in_place = SLOT(A),
		.algorithm = "elementwise",
		.func_field = "func",
		.func_name = accel_unary_name,
		.lower = lower_unary,
	},
	[ACCEL_OP_BINARY] = {
		.size = sizeof(struct accel_binary_desc),
		.opcode = UMA_OP_BINARY,
		.shape = SHAPE_ELEMENTWISE,
		.outputs = SLOT(DST),
		.in_place = SLOT(A) | SLOT(B),
		.algorithm = "elementwise",
		.func_field = "func",
		.func_name = accel_binary_name,
		.lower = lower_binary,
	},
	[ACCEL_OP_SELECT] = {
		.size = sizeof(struct accel_select_desc),
		.opcode = UMA_OP_SELECT,
		.shape = SHAPE_ELEMENTWISE,
		.outputs = SLOT(DST),
		.in_place = SLOT(A) | SLOT(B) | SLOT(C),
		.like_b = SLOT(C),
		.algorithm = "elementwise",
		.lower = lower_select,
	},
	[ACCEL_OP_GEMM] = {
		.size = sizeof(struct accel_gemm_desc),
		.opcode = UMA_OP_GEMM,
		.shape = SHAPE_MATRIX,
		.outputs = SLOT(DST),
		.in_place = SLOT(C) | SLOT(RESIDUAL),
		.algorithm = "blocked",
		.lower = lower_gemm,
	},
};

/* NULL for a number that is not an operation. */
const struct op_class *op_class(uint32_t op)
{
	return op < ACCEL_OP_COUNT && classes[op].lower ? &classes[op] : NULL;
}

/* Opcodes that have no descriptor of their own are the library's business. */
uint32_t op_of_opcode(uint32_t opcode)
{
	uint32_t op;

	for (op = 0; op < ACCEL_OP_COUNT; op++)
		if (op_class(op) && classes[op].opcode == opcode)
			return op;
	return ACCEL_OP_NONE;
}
