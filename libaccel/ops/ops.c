// SPDX-License-Identifier: MIT
/*
 * The operations by their numbers. One that has no class is not an operation.
 */
#include <string.h>

#include "ops.h"

static const char * const norm_args[ACCEL_ARG_COUNT] = {
	[ACCEL_ARG_D] = "d", [ACCEL_ARG_A] = "a", [ACCEL_ARG_BIAS] = "bias",
	[ACCEL_ARG_SCALE] = "scale", [ACCEL_ARG_RESIDUAL] = "residual",
	[ACCEL_ARG_AUX0] = "mean", [ACCEL_ARG_AUX1] = "variance", [ACCEL_ARG_C] = "addend",
	[ACCEL_ARG_AUX2] = "second", [ACCEL_ARG_AUX3] = "scales", [ACCEL_ARG_AUX4] = "zeros",
};

static const char * const gemm_args[ACCEL_ARG_COUNT] = {
	[ACCEL_ARG_D] = "d", [ACCEL_ARG_A] = "a", [ACCEL_ARG_B] = "b", [ACCEL_ARG_C] = "c",
	[ACCEL_ARG_BIAS] = "bias", [ACCEL_ARG_SCALE] = "scale",
	[ACCEL_ARG_RESIDUAL] = "residual", [ACCEL_ARG_AUX0] = "rows",
};

static const char * const topk_args[ACCEL_ARG_COUNT] = {
	[ACCEL_ARG_D] = "d", [ACCEL_ARG_A] = "a", [ACCEL_ARG_AUX0] = "indices",
};

static const char * const dynquant_args[ACCEL_ARG_COUNT] = {
	[ACCEL_ARG_D] = "d", [ACCEL_ARG_A] = "a", [ACCEL_ARG_AUX0] = "scales",
	[ACCEL_ARG_AUX1] = "zeros",
};

/* Arguments by &enum accel_arg, where they are not those of a GEMM. */
static const char *const attention_args[ACCEL_ARG_COUNT] = {
	[ACCEL_ARG_D] = "d", [ACCEL_ARG_A] = "q", [ACCEL_ARG_B] = "k", [ACCEL_ARG_C] = "v",
	[ACCEL_ARG_RESIDUAL] = "partials", [ACCEL_ARG_AUX0] = "mask",
	[ACCEL_ARG_AUX1] = "pages", [ACCEL_ARG_AUX2] = "lengths",
	[ACCEL_ARG_AUX3] = "slopes", [ACCEL_ARG_AUX4] = "sinks"
};

static const char *const kv_write_args[ACCEL_ARG_COUNT] = {
	[ACCEL_ARG_D] = "d", [ACCEL_ARG_A] = "a", [ACCEL_ARG_AUX0] = "scales",
	[ACCEL_ARG_AUX1] = "zeros", [ACCEL_ARG_AUX2] = "slots"
};

static const char *rotary_feature(uint32_t bit)
{
	return 1u << bit == UMA_ROTARY_POSITIONS ? "positions" : "interleaved";
}

static const char *const rotary_args[ACCEL_ARG_COUNT] = {
	[ACCEL_ARG_D] = "d", [ACCEL_ARG_A] = "a", [ACCEL_ARG_B] = "cosines",
	[ACCEL_ARG_C] = "sines", [ACCEL_ARG_AUX0] = "positions"
};

static const char *const concat_args[ACCEL_ARG_COUNT] = {
	"d", "a[0]", "a[1]", "a[2]", "a[3]", "a[4]", "a[5]", "a[6]", "a[7]"
};

static const char *const split_args[ACCEL_ARG_COUNT] = {
	"d[0]", "a", "d[1]", "d[2]", "d[3]", "d[4]", "d[5]", "d[6]", "d[7]"
};

static const char *const ffn_args[ACCEL_ARG_COUNT] = {
	[ACCEL_ARG_D] = "d", [ACCEL_ARG_A] = "a", [ACCEL_ARG_B] = "up",
	[ACCEL_ARG_C] = "gate", [ACCEL_ARG_BIAS] = "down_bias",
	[ACCEL_ARG_RESIDUAL] = "residual", [ACCEL_ARG_AUX0] = "down",
	[ACCEL_ARG_AUX1] = "up_bias", [ACCEL_ARG_AUX2] = "gate_bias"
};

static const struct op_class classes[ACCEL_OP_COUNT] = {
	[ACCEL_OP_NORM] = {
		.size = sizeof(struct accel_norm_desc),
		.opcode = UMA_OP_NORM,
		.shape = SHAPE_OWN,
		.algorithm = "lines",
		.func_field = "func",
		.func_name = norm_name,
		.args = norm_args,
		.dynamic = true,
		.infer = infer_norm,
		.lower = lower_norm,
	},
	[ACCEL_OP_SOFTMAX] = {
		.size = sizeof(struct accel_softmax_desc),
		.opcode = UMA_OP_SOFTMAX,
		.shape = SHAPE_OWN,
		.algorithm = "lines",
		.func_field = "func",
		.func_name = softmax_name,
		.dynamic = true,
		.infer = infer_softmax,
		.lower = lower_softmax,
	},
	[ACCEL_OP_REDUCE] = {
		.size = sizeof(struct accel_reduce_desc),
		.opcode = UMA_OP_REDUCE,
		.shape = SHAPE_OWN,
		.algorithm = "lines",
		.func_field = "func",
		.func_name = reduce_name,
		.dynamic = true,
		.infer = infer_reduce,
		.lower = lower_reduce,
	},
	[ACCEL_OP_TOPK] = {
		.size = sizeof(struct accel_topk_desc),
		.opcode = UMA_OP_TOPK,
		.shape = SHAPE_OWN,
		.algorithm = "heap",
		.args = topk_args,
		.dynamic = true,
		.infer = infer_topk,
		.lower = lower_topk,
	},
	[ACCEL_OP_DYNQUANT] = {
		.size = sizeof(struct accel_dynquant_desc),
		.opcode = UMA_OP_DYNQUANT,
		.shape = SHAPE_OWN,
		.algorithm = "lines",
		.args = dynquant_args,
		.dynamic = true,
		.infer = infer_dynquant,
		.lower = lower_dynquant,
	},
	[ACCEL_OP_KV_WRITE] = {
		.size = sizeof(struct accel_kv_write_desc),
		.opcode = UMA_OP_KV_WRITE,
		.shape = SHAPE_OWN,
		.algorithm = "by slot, in order",
		.func_name = kv_write_func_name,
		.args = kv_write_args,
		.dynamic = true,
		.infer = infer_kv_write,
		.lower = lower_kv_write,
	},
	[ACCEL_OP_SCAN] = {
		.size = sizeof(struct accel_scan_desc),
		.opcode = UMA_OP_SCAN,
		.shape = SHAPE_OWN,
		.algorithm = "lines",
		.dynamic = true,
		.infer = infer_scan,
		.lower = lower_scan,
	},
	[ACCEL_OP_COPY] = {
		.size = sizeof(struct accel_copy_desc),
		.opcode = UMA_OP_COPY,
		.shape = SHAPE_ELEMENTWISE,
		.algorithm = "convert",
		.dynamic = true,
		.infer = infer_copy,
		.lower = lower_copy,
	},
	[ACCEL_OP_FILL] = {
		.size = sizeof(struct accel_fill_desc),
		.opcode = UMA_OP_FILL,
		.shape = SHAPE_ELEMENTWISE,
		.algorithm = "fill",
		.dynamic = true,
		.lower = lower_fill,
	},
	[ACCEL_OP_UNARY] = {
		.size = sizeof(struct accel_unary_desc),
		.opcode = UMA_OP_UNARY,
		.shape = SHAPE_ELEMENTWISE,
		.algorithm = "elementwise",
		.func_field = "func",
		.func_name = accel_unary_name,
		.dynamic = true,
		.infer = infer_unary,
		.lower = lower_unary,
	},
	[ACCEL_OP_BINARY] = {
		.size = sizeof(struct accel_binary_desc),
		.opcode = UMA_OP_BINARY,
		.shape = SHAPE_ELEMENTWISE,
		.algorithm = "elementwise",
		.func_field = "func",
		.func_name = accel_binary_name,
		.dynamic = true,
		.infer = infer_binary,
		.lower = lower_binary,
	},
	[ACCEL_OP_SELECT] = {
		.size = sizeof(struct accel_select_desc),
		.opcode = UMA_OP_SELECT,
		.shape = SHAPE_ELEMENTWISE,
		.algorithm = "elementwise",
		.dynamic = true,
		.infer = infer_select,
		.lower = lower_select,
	},
	[ACCEL_OP_ROTARY] = {
		.size = sizeof(struct accel_rotary_desc),
		.opcode = UMA_OP_ROTARY,
		.algorithm = "by pairs",
		.func_field = "flags",
		.func_name = rotary_feature,
		.args = rotary_args,
		.dynamic = true,
		.infer = infer_rotary,
		.lower = lower_rotary,
	},
	[ACCEL_OP_CONV] = {
		.size = sizeof(struct accel_conv_desc),
		.opcode = UMA_OP_CONV,
		.func_field = "algorithm",
		.func_name = conv_func_name,
		.layouts = 2,
		.infer = infer_conv,
		.lower = lower_conv,
		.ways = conv_ways,
	},
	[ACCEL_OP_CONCAT] = {
		.size = sizeof(struct accel_concat_desc),
		.opcode = UMA_OP_COPY,
		.algorithm = "copies",
		.args = concat_args,
		.infer = infer_concat,
		.lower = lower_concat,
	},
	[ACCEL_OP_SPLIT] = {
		.size = sizeof(struct accel_split_desc),
		.opcode = UMA_OP_COPY,
		.algorithm = "copies",
		.args = split_args,
		.infer = infer_split,
		.lower = lower_split,
	},
	[ACCEL_OP_PAD] = {
		.size = sizeof(struct accel_pad_desc),
		.opcode = UMA_OP_COPY,
		.algorithm = "copies",
		.infer = infer_pad,
		.lower = lower_pad,
	},
	[ACCEL_OP_FFN] = {
		.size = sizeof(struct accel_ffn_desc),
		.opcode = UMA_OP_GEMM,
		.algorithm = "products",
		.args = ffn_args,
		.infer = infer_ffn,
		.lower = lower_ffn,
	},
	[ACCEL_OP_GEMM] = {
		.size = sizeof(struct accel_gemm_desc),
		.opcode = UMA_OP_GEMM,
		.shape = SHAPE_MATRIX,
		.algorithm = "blocked",
		.func_name = gemm_func_name,
		.dynamic = true,
		.layouts = 2,
		.args = gemm_args,
		.infer = infer_gemm,
		.lower = lower_gemm,
	},
	[ACCEL_OP_POOL] = {
		.size = sizeof(struct accel_pool_desc),
		.opcode = UMA_OP_POOL,
		.algorithm = "windows",
		.func_field = "func",
		.func_name = pool_func_name,
		.layouts = 2,
		.infer = infer_pool,
		.lower = lower_pool,
	},
	[ACCEL_OP_RESIZE] = {
		.size = sizeof(struct accel_resize_desc),
		.opcode = UMA_OP_RESIZE,
		.algorithm = "samples",
		.func_field = "func",
		.func_name = resize_func_name,
		.infer = infer_resize,
		.lower = lower_resize,
	},
	[ACCEL_OP_GATHER] = {
		.size = sizeof(struct accel_gather_desc),
		.opcode = UMA_OP_GATHER,
		.algorithm = "by index",
		.func_field = "func",
		.func_name = gather_func_name,
		.dynamic = true,
		.infer = infer_gather,
		.lower = lower_gather,
	},
	[ACCEL_OP_SCATTER] = {
		.size = sizeof(struct accel_scatter_desc),
		.opcode = UMA_OP_SCATTER,
		.algorithm = "by index, in order",
		.func_field = "func",
		.func_name = scatter_func_name,
		.infer = infer_scatter,
		.lower = lower_scatter,
	},
	[ACCEL_OP_ATTENTION] = {
		.size = sizeof(struct accel_attention_desc),
		.opcode = UMA_OP_ATTENTION,
		.shape = SHAPE_OWN,
		.algorithm = "online softmax",
		.func_name = attention_func_name,
		.args = attention_args,
		.dynamic = true,
		.infer = infer_attention,
		.lower = lower_attention,
	},
};

/* NULL for a number that is not an operation. */
const struct op_class *op_class(uint32_t op)
{
	return op < ACCEL_OP_COUNT && classes[op].lower ? &classes[op] : NULL;
}

/**
 * pack_request - the request of what has no descriptor: packing a matrix
 * @b: matrix
 * @bytes: of the blocks
 * @req: out
 */
void pack_request(const struct operand *b, uint64_t bytes, struct request *req)
{
	static const struct op_class class = { .opcode = UMA_OP_PACK };
	struct operand *a = &req->t[UMA_SLOT_A], *d = &req->t[UMA_SLOT_DST];

	memset(req, 0, sizeof(*req));
	req->class = &class;
	req->opcode = UMA_OP_PACK;
	req->slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A);
	*a = *b;
	a->arg = ACCEL_ARG_A;
	/* The stored numbers, without their meaning */
	memset(&a->quant, 0, sizeof(a->quant));
	*d = *a;
	d->arg = ACCEL_ARG_D;
	d->lo = 0;
	d->hi = (int64_t)bytes;
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
