/* SPDX-License-Identifier: MIT */
/*
 * What the descriptors of all operations share: their head, and the epilogue.
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
 * struct accel_desc - what every descriptor starts with
 */
struct accel_desc {
	/** @size: size of the whole descriptor */
	uint32_t size;
	/** @op: &enum accel_op */
	uint32_t op;
	/** @engine: &enum accel_engine to use, ACCEL_ENGINE_AUTO: the fastest that can */
	uint32_t engine;
	/** @pad: 0 */
	uint32_t pad;
};

/**
 * struct accel_epilogue - what happens to a result before it is stored
 *
 * In this order: times @scale, plus @bias, plus @residual, activation, plus
 * @residual_post, conversion to the result's type and quantisation. The tensors
 * are broadcast to the result like numpy does: trailing dimensions match, or
 * are 1; rank 0: absent.
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
	/** @scale: multiplied */
	struct accel_tensor scale;
	/** @bias: added */
	struct accel_tensor bias;
	/** @residual: added before the activation */
	struct accel_tensor residual;
	/** @residual_post: added after the activation; excludes @residual */
	struct accel_tensor residual_post;
};

/** ACCEL_DESC_INIT - first initialiser of a descriptor */
#define ACCEL_DESC_INIT(type, op)	{ sizeof(type), op, ACCEL_ENGINE_AUTO, 0 }

/** ACCEL_EPILOGUE_INIT: nothing follows */
#define ACCEL_EPILOGUE_INIT \
	{ 0, 0, 0, 0, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT }

/** ACCEL_AXIS - mask of a dimension, for descriptors that take several */
#define ACCEL_AXIS(d)		(1u << (d))

/** ACCEL_DIM_INFER: in the place of a result's dimension, for accel_infer() */
#define ACCEL_DIM_INFER		(-1)

/**
 * accel_infer - the results of an operation, from its inputs
 * @desc: the first field of a descriptor
 * @error: out: what was wrong, by the descriptor's names; or NULL
 *
 * Fills in what is left out of the tensors that the operation writes: all
 * dimensions where the rank is 0, single ones where they are ACCEL_DIM_INFER, the
 * type where that is ACCEL_NONE. What is there stays, strides too; without them a
 * result is dense. Then the whole descriptor is checked by the rules that
 * accel_plan_create() has: what comes out is what it accepts, as long as an engine
 * takes it. Neither buffers nor a context are needed.
 *
 * Dimensions are the least that the inputs make: broadcast inputs, a transposed
 * convolution without output padding, a resampling by its scales. ACCEL_OP_FILL
 * has nothing that its result could follow from. ACCEL_OP_TOPK is told k by the
 * dimension of either result. Pieces of ACCEL_OP_SPLIT that say nothing share
 * evenly what the others leave.
 *
 * Types: what is only moved (copies, gather and the like, pooling, resampling,
 * rotary) has the type of A and, with one scale, its quantisation; tables give
 * ACCEL_F32. What is computed has the type of A, ACCEL_F32 of quantised or unlike
 * inputs; ACCEL_S32 for exact products, sums of integers and positions, ACCEL_U8
 * for comparisons and logic; norms and softmax ACCEL_F32 of integers. A wanted
 * quantisation of a result needs its type.
 *
 * Threads: any; it is a function of its arguments.
 *
 * Return: 0; -EINVAL, -E2BIG, -EOPNOTSUPP as accel_plan_create(), -EINVAL also
 * where a dimension follows from nothing, and for the size of @error; -ENOMEM.
 * @desc is unchanged then.
 */
ACCEL_API int accel_infer(struct accel_desc *desc, struct accel_error *error);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_DESC_H */
