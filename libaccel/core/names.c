// SPDX-License-Identifier: MIT
/*
 * Names and widths of what the public header enumerates.
 */
#include "internal.h"

static const struct {
	const char *name;
	uint32_t elements;
	uint32_t bytes;
} dtypes[ACCEL_DTYPE_COUNT] = {
	[ACCEL_NONE] = { "none", 0, 0 },
	[ACCEL_F32] = { "fp32", 1, 4 },
	[ACCEL_F16] = { "fp16", 1, 2 },
	[ACCEL_BF16] = { "bf16", 1, 2 },
	[ACCEL_S32] = { "int32", 1, 4 },
	[ACCEL_S8] = { "int8", 1, 1 },
	[ACCEL_U8] = { "uint8", 1, 1 },
	[ACCEL_S4] = { "int4", 2, 1 },
	[ACCEL_U4] = { "uint4", 2, 1 },
	[ACCEL_Q8_0] = { "q8_0", 32, 34 },
	[ACCEL_Q4_0] = { "q4_0", 32, 18 },
	[ACCEL_Q4_1] = { "q4_1", 32, 20 },
	[ACCEL_Q4_K] = { "q4_k", 256, 144 },
	[ACCEL_Q6_K] = { "q6_k", 256, 210 },
};

static const char * const engines[ACCEL_ENGINE_COUNT] = {
	[ACCEL_ENGINE_AUTO] = "auto",
	[ACCEL_ENGINE_MATRIX] = "matrix",
	[ACCEL_ENGINE_GPU] = "gpu",
	[ACCEL_ENGINE_NEURAL] = "neural",
};

static const char * const ops[ACCEL_OP_COUNT] = {
	[ACCEL_OP_NONE] = "none",
	[ACCEL_OP_COPY] = "copy",
	[ACCEL_OP_FILL] = "fill",
	[ACCEL_OP_UNARY] = "unary",
	[ACCEL_OP_BINARY] = "binary",
	[ACCEL_OP_GEMM] = "gemm",
	[ACCEL_OP_CONV] = "conv",
	[ACCEL_OP_ATTENTION] = "attention",
	[ACCEL_OP_ROTARY] = "rotary",
	[ACCEL_OP_NORM] = "norm",
	[ACCEL_OP_SOFTMAX] = "softmax",
	[ACCEL_OP_REDUCE] = "reduce",
	[ACCEL_OP_POOL] = "pool",
	[ACCEL_OP_RESIZE] = "resize",
	[ACCEL_OP_GATHER] = "gather",
	[ACCEL_OP_SCATTER] = "scatter",
	[ACCEL_OP_TOPK] = "topk",
	[ACCEL_OP_SCAN] = "scan",
	[ACCEL_OP_SELECT] = "select",
	[ACCEL_OP_CONCAT] = "concat",
	[ACCEL_OP_SPLIT] = "split",
	[ACCEL_OP_PAD] = "pad",
	[ACCEL_OP_FFN] = "ffn",
	[ACCEL_OP_DYNQUANT] = "dynquant",
	[ACCEL_OP_KV_WRITE] = "kv_write",
};

static const char * const acts[ACCEL_ACT_COUNT] = {
	[ACCEL_ACT_NONE] = "none",
	[ACCEL_ACT_RELU] = "relu",
	[ACCEL_ACT_CLAMP] = "clamp",
	[ACCEL_ACT_LEAKY_RELU] = "leaky_relu",
	[ACCEL_ACT_SIGMOID] = "sigmoid",
	[ACCEL_ACT_TANH] = "tanh",
	[ACCEL_ACT_GELU] = "gelu",
	[ACCEL_ACT_GELU_TANH] = "gelu_tanh",
	[ACCEL_ACT_SILU] = "silu",
	[ACCEL_ACT_HARD_SIGMOID] = "hard_sigmoid",
	[ACCEL_ACT_HARD_SWISH] = "hard_swish",
	[ACCEL_ACT_ELU] = "elu",
	[ACCEL_ACT_CELU] = "celu",
	[ACCEL_ACT_SELU] = "selu",
	[ACCEL_ACT_SOFTPLUS] = "softplus",
	[ACCEL_ACT_SOFTSIGN] = "softsign",
	[ACCEL_ACT_MISH] = "mish",
};

static const char * const unaries[ACCEL_UNARY_COUNT] = {
	[ACCEL_UNARY_ACT] = "act",
	[ACCEL_UNARY_ABS] = "abs",
	[ACCEL_UNARY_NEG] = "neg",
	[ACCEL_UNARY_SQRT] = "sqrt",
	[ACCEL_UNARY_RSQRT] = "rsqrt",
	[ACCEL_UNARY_RECIP] = "recip",
	[ACCEL_UNARY_EXP] = "exp",
	[ACCEL_UNARY_LOG] = "log",
	[ACCEL_UNARY_ERF] = "erf",
	[ACCEL_UNARY_SQUARE] = "square",
	[ACCEL_UNARY_FLOOR] = "floor",
	[ACCEL_UNARY_CEIL] = "ceil",
	[ACCEL_UNARY_ROUND] = "round",
	[ACCEL_UNARY_SIN] = "sin",
	[ACCEL_UNARY_COS] = "cos",
	[ACCEL_UNARY_TAN] = "tan",
	[ACCEL_UNARY_ASIN] = "asin",
	[ACCEL_UNARY_ACOS] = "acos",
	[ACCEL_UNARY_ATAN] = "atan",
	[ACCEL_UNARY_SINH] = "sinh",
	[ACCEL_UNARY_COSH] = "cosh",
	[ACCEL_UNARY_ASINH] = "asinh",
	[ACCEL_UNARY_ACOSH] = "acosh",
	[ACCEL_UNARY_ATANH] = "atanh",
	[ACCEL_UNARY_SIGN] = "sign",
	[ACCEL_UNARY_TRUNC] = "trunc",
	[ACCEL_UNARY_IS_NAN] = "is_nan",
	[ACCEL_UNARY_IS_INF] = "is_inf",
	[ACCEL_UNARY_NOT] = "not",
	[ACCEL_UNARY_BIT_NOT] = "bit_not",
};

static const char * const binaries[ACCEL_BINARY_COUNT] = {
	[ACCEL_BINARY_ADD] = "add",
	[ACCEL_BINARY_SUB] = "sub",
	[ACCEL_BINARY_MUL] = "mul",
	[ACCEL_BINARY_DIV] = "div",
	[ACCEL_BINARY_MAX] = "max",
	[ACCEL_BINARY_MIN] = "min",
	[ACCEL_BINARY_MOD] = "mod",
	[ACCEL_BINARY_REM] = "rem",
	[ACCEL_BINARY_QUOT] = "quot",
	[ACCEL_BINARY_POW] = "pow",
	[ACCEL_BINARY_EQ] = "eq",
	[ACCEL_BINARY_NE] = "ne",
	[ACCEL_BINARY_LT] = "lt",
	[ACCEL_BINARY_LE] = "le",
	[ACCEL_BINARY_GT] = "gt",
	[ACCEL_BINARY_GE] = "ge",
	[ACCEL_BINARY_AND] = "and",
	[ACCEL_BINARY_OR] = "or",
	[ACCEL_BINARY_XOR] = "xor",
	[ACCEL_BINARY_BIT_AND] = "bit_and",
	[ACCEL_BINARY_BIT_OR] = "bit_or",
	[ACCEL_BINARY_BIT_XOR] = "bit_xor",
	[ACCEL_BINARY_SHL] = "shl",
	[ACCEL_BINARY_SHR] = "shr",
	[ACCEL_BINARY_PRELU] = "prelu",
};

static const char * const norms[UMA_NORM_COUNT] = {
	[UMA_NORM_LAYER] = "layer",
	[UMA_NORM_RMS] = "rms",
	[UMA_NORM_GIVEN] = "batch",
};

static const char * const softmaxes[ACCEL_SOFTMAX_COUNT] = {
	[ACCEL_SOFTMAX_PLAIN] = "softmax",
	[ACCEL_SOFTMAX_LOG] = "log_softmax",
};

static const char * const reductions[ACCEL_REDUCE_COUNT] = {
	[ACCEL_REDUCE_SUM] = "sum",
	[ACCEL_REDUCE_MEAN] = "mean",
	[ACCEL_REDUCE_MAX] = "max",
	[ACCEL_REDUCE_MIN] = "min",
	[ACCEL_REDUCE_PROD] = "prod",
	[ACCEL_REDUCE_L1] = "l1",
	[ACCEL_REDUCE_L2] = "l2",
	[ACCEL_REDUCE_SUM_SQUARE] = "sum_square",
	[ACCEL_REDUCE_LOG_SUM] = "log_sum",
	[ACCEL_REDUCE_LOG_SUM_EXP] = "log_sum_exp",
	[ACCEL_REDUCE_ARG_MAX] = "arg_max",
	[ACCEL_REDUCE_ARG_MIN] = "arg_min",
};

const char *norm_name(uint32_t bit)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} flags[] = {
		{ UMA_NORM_ADD, "addend" }, { UMA_NORM_SECOND, "second" },
		{ UMA_NORM_SUM, "sum" }, { UMA_NORM_DYNQUANT, "dynquant" },
		{ UMA_NORM_ASYMMETRIC, "asymmetric" },
	};
	uint32_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (UMA_NORM_CAP_FLAGS(flags[i].flag) == 1u << bit)
			return flags[i].name;
	return bit < UMA_NORM_COUNT ? norms[bit] : NULL;
}

const char *softmax_name(uint32_t func)
{
	return func < ACCEL_SOFTMAX_COUNT ? softmaxes[func] : NULL;
}

const char *reduce_name(uint32_t func)
{
	return func < ACCEL_REDUCE_COUNT ? reductions[func] : NULL;
}

const char *act_name(uint32_t act)
{
	return acts[act];
}

const char *accel_unary_name(uint32_t func)
{
	return func < ACCEL_UNARY_COUNT ? unaries[func] : NULL;
}

const char *accel_binary_name(uint32_t func)
{
	return func < ACCEL_BINARY_COUNT ? binaries[func] : NULL;
}

uint32_t accel_version(void)
{
	return ACCEL_VERSION_MAJOR << 16 | ACCEL_VERSION_MINOR;
}

const char *accel_dtype_name(uint32_t dtype)
{
	return dtype < ACCEL_DTYPE_COUNT ? dtypes[dtype].name : NULL;
}

uint32_t accel_dtype_bits(uint32_t dtype)
{
	uint32_t elements, bytes = accel_dtype_block(dtype, &elements);

	return elements == 1 || elements == 2 ? bytes * 8 / elements : 0;
}

uint32_t accel_dtype_block(uint32_t dtype, uint32_t *elements)
{
	if (dtype >= ACCEL_DTYPE_COUNT)
		dtype = ACCEL_NONE;
	if (elements)
		*elements = dtypes[dtype].elements;
	return dtypes[dtype].bytes;
}

const char *accel_engine_name(uint32_t engine)
{
	return engine < ACCEL_ENGINE_COUNT ? engines[engine] : NULL;
}

const char *accel_op_name(uint32_t op)
{
	return op < ACCEL_OP_COUNT ? ops[op] : NULL;
}
