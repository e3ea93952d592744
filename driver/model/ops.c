// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Table of the operations. Each is implemented in a file of its own. Only the inner kernels
 * (kernels_*.h) use floating point: an OS kernel compiles them with other flags and calls
 * them in FPU sections only.
 */
#include "uma_internal.h"

static int nothing(const struct uma_op *op, struct uma_fault_info *fault)
{
	(void)op;
	(void)fault;
	return 0;
}

static int prepare_nothing(struct uma_run *run, struct uma_program *prog)
{
	(void)run;
	(void)prog;
	return 0;
}

static const struct uma_op_class uma_op_nop = {
	.match = nothing,
	.prepare = prepare_nothing,
};

static const struct uma_op_class *const classes[UMA_OP_COUNT] = {
	[UMA_OP_NOP] = &uma_op_nop,
	[UMA_OP_NORM] = &uma_op_norm,
	[UMA_OP_SOFTMAX] = &uma_op_softmax,
	[UMA_OP_REDUCE] = &uma_op_reduce,
	[UMA_OP_TOPK] = &uma_op_topk,
	[UMA_OP_DYNQUANT] = &uma_op_dynquant,
	[UMA_OP_KV_WRITE] = &uma_op_kv_write,
	[UMA_OP_SCAN] = &uma_op_scan,
	[UMA_OP_COPY] = &uma_op_copy,
	[UMA_OP_FILL] = &uma_op_fill,
	[UMA_OP_UNARY] = &uma_op_unary,
	[UMA_OP_BINARY] = &uma_op_binary,
	[UMA_OP_GEMM] = &uma_op_gemm,
	[UMA_OP_PACK] = &uma_op_pack,
	[UMA_OP_POOL] = &uma_op_pool,
	[UMA_OP_RESIZE] = &uma_op_resize,
	[UMA_OP_GATHER] = &uma_op_gather,
	[UMA_OP_SCATTER] = &uma_op_scatter,
	[UMA_OP_ROTARY] = &uma_op_rotary,
	[UMA_OP_SELECT] = &uma_op_select,
	[UMA_OP_ATTENTION] = &uma_op_attention,
	[UMA_OP_CONV] = &uma_op_conv,
};

const struct uma_op_class *uma_op_class(__u32 opcode)
{
	return opcode < UMA_OP_COUNT ? classes[opcode] : 0;
}

__u64 uma_op_work(const struct uma_op *op)
{
	const struct uma_op_class *class = uma_op_class(op->opcode);
	const struct uma_tensor_view *t = &op->t[class->sized_by];
	__u64 work;
	__u32 d;

	if (!class->outputs)
		return 0;
	work = class->work ? class->work(op) : class->k ? class->k(op) : UMA_ELEMENT_WORK;
	for (d = 0; d < t->rank; d++)
		if (__builtin_mul_overflow(work, (__u64)t->dims[d], &work))
			return ~0ULL;
	return work;
}
