/* SPDX-License-Identifier: MIT */
/*
 * Parts that descriptors of operations share: the header and the epilogue.
 */
#ifndef ACCEL_DESC_H
#define ACCEL_DESC_H

#include <stdint.h>
#include <accel/error.h>
#include <accel/tensor.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * enum accel_act - activations; @p0 and @p1 are of &struct accel_epilogue
 * @ACCEL_ACT_NONE: x
 * @ACCEL_ACT_RELU: max(x, 0)
 * @ACCEL_ACT_CLAMP: min(max(x, p0), p1)
 * @ACCEL_ACT_LEAKY_RELU: x < 0 ? p0 x : x
 * @ACCEL_ACT_SIGMOID: 1 / (1 + e^-x)
 * @ACCEL_ACT_TANH: tanh(x)
 * @ACCEL_ACT_GELU: x Phi(x), through erf
 * @ACCEL_ACT_GELU_TANH: the tanh approximation of GELU
 * @ACCEL_ACT_SILU: x sigmoid(x)
 * @ACCEL_ACT_HARD_SIGMOID: clamp(p0 x + p1, 0, 1)
 * @ACCEL_ACT_HARD_SWISH: x clamp(x / 6 + 0.5, 0, 1)
 * @ACCEL_ACT_ELU: x < 0 ? p0 (e^x - 1) : x
 * @ACCEL_ACT_CELU: x < 0 ? p0 (e^(x / p0) - 1) : x; p0 is not 0
 * @ACCEL_ACT_SELU: p1 x for x > 0, else p1 p0 (e^x - 1)
 * @ACCEL_ACT_SOFTPLUS: log(1 + e^x)
 * @ACCEL_ACT_SOFTSIGN: x / (1 + abs(x))
 * @ACCEL_ACT_MISH: x tanh(softplus(x))
 * @ACCEL_ACT_COUNT: number of values
 */
enum accel_act {
	ACCEL_ACT_NONE = 0,
	ACCEL_ACT_RELU = 1,
	ACCEL_ACT_CLAMP = 2,
	ACCEL_ACT_LEAKY_RELU = 3,
	ACCEL_ACT_SIGMOID = 4,
	ACCEL_ACT_TANH = 5,
	ACCEL_ACT_GELU = 6,
	ACCEL_ACT_GELU_TANH = 7,
	ACCEL_ACT_SILU = 8,
	ACCEL_ACT_HARD_SIGMOID = 9,
	ACCEL_ACT_HARD_SWISH = 10,
	ACCEL_ACT_ELU = 11,
	ACCEL_ACT_CELU = 12,
	ACCEL_ACT_SELU = 13,
	ACCEL_ACT_SOFTPLUS = 14,
	ACCEL_ACT_SOFTSIGN = 15,
	ACCEL_ACT_MISH = 16,
	ACCEL_ACT_COUNT = 17
};

/**
 * struct accel_desc - header of every descriptor
 */
struct accel_desc {
	/** @size: size of the whole descriptor */
	uint32_t size;
	/** @op: &enum accel_op */
	uint32_t op;
	/** @engine: &enum accel_engine to use, ACCEL_ENGINE_AUTO: the fastest that supports it */
	uint32_t engine;
	/** @pad: 0 */
	uint32_t pad;
};

/**
 * struct accel_epilogue - processing of a result before it is stored
 *
 * In this order: times @scale, plus @bias, plus @residual, activation, plus
 * @residual_post, conversion to the result's type and quantisation. The tensors are broadcast
 * to the result as by numpy: trailing dimensions match, or are 1; rank 0: absent.
 */
struct accel_epilogue {
	/** @act: &enum accel_act */
	uint32_t act;
	/** @p0: first parameter of the activation */
	float p0;
	/** @p1: second parameter of the activation */
	float p1;
	/** @pad: 0 */
	uint32_t pad;
	/** @scale: factor */
	struct accel_tensor scale;
	/** @bias: addend */
	struct accel_tensor bias;
	/** @residual: added before the activation */
	struct accel_tensor residual;
	/** @residual_post: added after the activation; excludes @residual */
	struct accel_tensor residual_post;
};

/** ACCEL_DESC_INIT - first initialiser of a descriptor */
#define ACCEL_DESC_INIT(type, op)	{ sizeof(type), op, ACCEL_ENGINE_AUTO, 0 }

/** ACCEL_EPILOGUE_INIT: empty epilogue */
#define ACCEL_EPILOGUE_INIT \
	{ 0, 0, 0, 0, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT }

/** ACCEL_AXIS - mask of a dimension, for descriptors that take several */
#define ACCEL_AXIS(d)		(1u << (d))

/** ACCEL_DIM_INFER: a dimension of a result that accel_infer() is to fill in */
#define ACCEL_DIM_INFER		(-1)

/**
 * accel_infer - infer types and dimensions of the results of an operation
 * @desc: the first field of a descriptor
 * @error: out: the error, with the name of a field of @desc; or NULL
 *
 * Fills in what is missing in the tensors that the operation writes: all dimensions if the
 * rank is 0, single ones if they are ACCEL_DIM_INFER, the type if it is ACCEL_NONE. What is
 * set remains, strides included; without strides a result is dense. Then the descriptor is
 * checked by the rules of accel_plan_create(), which accepts it if an engine supports it.
 * Neither buffers nor a context are needed.
 *
 * Dimensions are the smallest ones possible: those of broadcast inputs, of a transposed
 * convolution without output padding, of a resampling by its scales. Nothing can be inferred
 * for ACCEL_OP_FILL. ACCEL_OP_TOPK takes k from the dimension of either result. Pieces of
 * ACCEL_OP_SPLIT without a size evenly share what the others leave.
 *
 * Types: results of copies, gather and similar operations, pooling, resampling and rotary
 * have the type of A and, if it has one scale, its quantisation; ACCEL_F32 if A has tables of
 * scales. Other results have the type of A, or ACCEL_F32 if inputs are quantised or have
 * different types; ACCEL_S32 for exact products, sums of integers and positions; ACCEL_U8 for
 * comparisons and logic; ACCEL_F32 for norms and softmax of integers. To set the quantisation
 * of a result, set its type, too.
 *
 * Threads: any; it accesses its arguments only.
 *
 * Return: 0; -EINVAL, -E2BIG, -EOPNOTSUPP as accel_plan_create(), -EINVAL also if a dimension
 * cannot be inferred, and for the size of @error; -ENOMEM.
 * @desc is unchanged then.
 */
ACCEL_API int accel_infer(struct accel_desc *desc, struct accel_error *error);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_DESC_H */
