// SPDX-License-Identifier: MIT
/*
 * The oracles by operation.
 */
#include <stdlib.h>

#include "oracle.h"

static const struct oracle_op *const table[ACCEL_OP_COUNT] = {
	[ACCEL_OP_NORM] = &oracle_norm,
	[ACCEL_OP_SOFTMAX] = &oracle_softmax,
	[ACCEL_OP_REDUCE] = &oracle_reduce,
	[ACCEL_OP_TOPK] = &oracle_topk,
	[ACCEL_OP_DYNQUANT] = &oracle_dynquant,
	[ACCEL_OP_KV_WRITE] = &oracle_kv_write,
	[ACCEL_OP_SCAN] = &oracle_scan,
	[ACCEL_OP_COPY] = &oracle_elementwise,
	[ACCEL_OP_FILL] = &oracle_elementwise,
	[ACCEL_OP_UNARY] = &oracle_elementwise,
	[ACCEL_OP_BINARY] = &oracle_elementwise,
	[ACCEL_OP_GEMM] = &oracle_gemm,
	[ACCEL_OP_POOL] = &oracle_pool,
	[ACCEL_OP_RESIZE] = &oracle_resize,
	[ACCEL_OP_GATHER] = &oracle_gather,
	[ACCEL_OP_SCATTER] = &oracle_scatter,
	[ACCEL_OP_ROTARY] = &oracle_rotary,
	[ACCEL_OP_SELECT] = &oracle_elementwise,
	[ACCEL_OP_ATTENTION] = &oracle_attention,
	[ACCEL_OP_CONV] = &oracle_conv,
	[ACCEL_OP_CONCAT] = &oracle_move,
	[ACCEL_OP_SPLIT] = &oracle_move,
	[ACCEL_OP_PAD] = &oracle_move,
	[ACCEL_OP_FFN] = &oracle_ffn,
};

/* NULL: nobody knows what the operation means. */
const struct oracle_op *oracle_op(uint32_t op)
{
	return op < ACCEL_OP_COUNT ? table[op] : NULL;
}

/* Result @index of an operation; NULL past the last. */
const struct accel_tensor *oracle_tensor(const struct accel_desc *desc, uint32_t index)
{
	return oracle_op(desc->op)->result(desc, index);
}

/* Returns 0, -1 without memory. */
int oracle_compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	return oracle_op(desc->op)->compute(desc, index, r);
}
