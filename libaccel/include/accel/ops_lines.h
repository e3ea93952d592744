/* SPDX-License-Identifier: MIT */
/*
 * Operations along dimensions: softmax, norms, reductions, dynamic quantisation, top-k,
 * cumulative sums.
 */
#ifndef ACCEL_OPS_LINES_H
#define ACCEL_OPS_LINES_H

#include <stdint.h>
#include <accel/desc.h>
#include <accel/types.h>

/**
 * enum accel_softmax - functions of &struct accel_softmax_desc
 * @ACCEL_SOFTMAX_PLAIN: e^x / sum of e^x; zeros if all elements are -infinity
 * @ACCEL_SOFTMAX_LOG: the logarithm of that; -infinity if all elements are -infinity
 * @ACCEL_SOFTMAX_COUNT: number of values
 */
enum accel_softmax {
	ACCEL_SOFTMAX_PLAIN = 0,
	ACCEL_SOFTMAX_LOG = 1,
	ACCEL_SOFTMAX_COUNT = 2
};

/**
 * struct accel_softmax_desc - D = softmax(A) along a dimension
 *
 * The dimensions of A broadcast to those of D. A is of any type; D is F32, F16, BF16, S8 or
 * U8. The largest element is subtracted first, so that nothing overflows.
 */
struct accel_softmax_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_softmax */
	uint32_t func;
	/** @axis: dimension of D along which the results sum up to 1; negative: from the end */
	int32_t axis;
	/** @a: input */
	struct accel_tensor a;
	/** @d: result; may be A itself */
	struct accel_tensor d;
};

/** ACCEL_SOFTMAX_DESC_INIT: default descriptor: along the last dimension */
#define ACCEL_SOFTMAX_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_softmax_desc, ACCEL_OP_SOFTMAX), 0, -1, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT }

/**
 * enum accel_norm - functions of &struct accel_norm_desc
 * @ACCEL_NORM_LAYER: (x - mean) / sqrt(variance + eps), with the statistics of all elements
 *	along @axes (layer norm; batch norm in training)
 * @ACCEL_NORM_RMS: x / sqrt(mean of x^2 + eps), along @axes
 * @ACCEL_NORM_GROUP: as LAYER along the channels of a group and along all dimensions but the
 *	first and @channel; @groups is the number of groups
 * @ACCEL_NORM_INSTANCE: the same with a group for each channel
 * @ACCEL_NORM_BATCH: mean and variance of each channel are inputs
 * @ACCEL_NORM_COUNT: number of values
 */
enum accel_norm {
	ACCEL_NORM_LAYER = 0,
	ACCEL_NORM_RMS = 1,
	ACCEL_NORM_GROUP = 2,
	ACCEL_NORM_INSTANCE = 3,
	ACCEL_NORM_BATCH = 4,
	ACCEL_NORM_COUNT = 5
};

/** ACCEL_NORM_KEEP_SUM: @second is A + @addend; else the same as D */
#define ACCEL_NORM_KEEP_SUM	(1u << 0)
/** ACCEL_NORM_DYNQUANT: D is quantised as by &struct accel_dynquant_desc */
#define ACCEL_NORM_DYNQUANT	(1u << 1)
/** ACCEL_NORM_ASYMMETRIC: with ACCEL_NORM_DYNQUANT: with zero points */
#define ACCEL_NORM_ASYMMETRIC	(1u << 2)

/**
 * struct accel_norm_desc - D = epilogue(norm(A) * scale + bias)
 *
 * A and D have the same dimensions and any types, except that D has no 4-bit type. For LAYER
 * and RMS, @scale and @bias are broadcast to D as by numpy. For the others they, @mean and
 * @variance are vectors with an element for each channel. The epilogue may have residuals and
 * an activation. With five dimensions, and several images, groups, and channels in a group,
 * a group norm whose dimensions are not mergeable in memory (like D, H and W of dense tensors)
 * is one task an image or a group; with more than 64 of both, or dynamic dimensions, it is
 * -EOPNOTSUPP.
 *
 * LAYER and RMS may normalise A + @addend and have two results, each in its own type: D, for
 * instance for the product that follows, and @second for the residual stream. With
 * ACCEL_NORM_DYNQUANT D is S8 or U8 without quantisation, and for each line along @axes a
 * scale, and a zero point if asymmetric, are computed from its results.
 */
struct accel_norm_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_norm */
	uint32_t func;
	/** @axes: LAYER, RMS: mask of ACCEL_AXIS(dimension), 0: the last one */
	uint32_t axes;
	/** @channel: GROUP, INSTANCE, BATCH: dimension of the channels; negative: from the end */
	int32_t channel;
	/** @groups: GROUP: number of groups, a divisor of the number of channels */
	uint32_t groups;
	/** @eps: added to the variance: finite, >= 0 */
	float eps;
	/** @flags: LAYER, RMS: ACCEL_NORM_* flags */
	uint32_t flags;
	/** @a: input */
	struct accel_tensor a;
	/** @scale: gamma; rank 0: none */
	struct accel_tensor scale;
	/** @bias: beta; rank 0: none */
	struct accel_tensor bias;
	/** @mean: BATCH: mean of each channel; ACCEL_ARG_AUX0 */
	struct accel_tensor mean;
	/** @variance: BATCH: variance of each channel, >= 0; ACCEL_ARG_AUX1 */
	struct accel_tensor variance;
	/** @d: result; may be A itself */
	struct accel_tensor d;
	/** @epilogue: epilogue without scale and bias */
	struct accel_epilogue epilogue;
	/** @addend: LAYER, RMS: added to A first, broadcast to D; rank 0: none; ACCEL_ARG_C */
	struct accel_tensor addend;
	/** @second: LAYER, RMS: second result, with D's dimensions; rank 0: none; ACCEL_ARG_AUX2 */
	struct accel_tensor second;
	/** @scales: DYNQUANT: result: F32, D's dimensions but 1 along @axes; ACCEL_ARG_AUX3 */
	struct accel_tensor scales;
	/** @zeros: ASYMMETRIC: result: S32, with the dimensions of @scales; ACCEL_ARG_AUX4 */
	struct accel_tensor zeros;
};

/** ACCEL_NORM_DESC_INIT: default descriptor: channels in dimension 1, eps 0.00001 */
#define ACCEL_NORM_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_norm_desc, ACCEL_OP_NORM), 0, 0, 1, 0, 0.00001f, 0, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_EPILOGUE_INIT, ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT }

/**
 * enum accel_reduce - functions of &struct accel_reduce_desc
 * @ACCEL_REDUCE_SUM: sum; 0 without elements
 * @ACCEL_REDUCE_MEAN: mean; NaN without elements
 * @ACCEL_REDUCE_MAX: largest element, NaN if there is one; without elements -infinity, or the
 *	smallest number of an integer type
 * @ACCEL_REDUCE_MIN: smallest element; without elements infinity, or the largest number
 * @ACCEL_REDUCE_PROD: product; 1 without elements
 * @ACCEL_REDUCE_L1: sum of magnitudes
 * @ACCEL_REDUCE_L2: square root of the sum of squares
 * @ACCEL_REDUCE_SUM_SQUARE: sum of squares
 * @ACCEL_REDUCE_LOG_SUM: logarithm of the sum
 * @ACCEL_REDUCE_LOG_SUM_EXP: logarithm of the sum of e^x, without overflow
 * @ACCEL_REDUCE_ARG_MAX: index of the largest element along a dimension that is not empty; of
 *	the first NaN if there is one
 * @ACCEL_REDUCE_ARG_MIN: the same for the smallest element
 * @ACCEL_REDUCE_COUNT: number of values
 */
enum accel_reduce {
	ACCEL_REDUCE_SUM = 0,
	ACCEL_REDUCE_MEAN = 1,
	ACCEL_REDUCE_MAX = 2,
	ACCEL_REDUCE_MIN = 3,
	ACCEL_REDUCE_PROD = 4,
	ACCEL_REDUCE_L1 = 5,
	ACCEL_REDUCE_L2 = 6,
	ACCEL_REDUCE_SUM_SQUARE = 7,
	ACCEL_REDUCE_LOG_SUM = 8,
	ACCEL_REDUCE_LOG_SUM_EXP = 9,
	ACCEL_REDUCE_ARG_MAX = 10,
	ACCEL_REDUCE_ARG_MIN = 11,
	ACCEL_REDUCE_COUNT = 12
};

/** ACCEL_REDUCE_LAST_INDEX: ARG_MAX, ARG_MIN: the last of equal elements, not the first */
#define ACCEL_REDUCE_LAST_INDEX	(1u << 0)

/**
 * struct accel_reduce_desc - D = A reduced along dimensions
 *
 * D has the dimensions of A, except that those in @axes are 1. Types: any for A; F32, F16,
 * BF16, S32, S8, U8 for D; S32 for ARG_MAX and ARG_MIN. If A and D are unquantised integers,
 * sum, maximum, minimum, product, L1 and sum of squares are exact and saturated once.
 */
struct accel_reduce_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_reduce */
	uint32_t func;
	/** @axes: mask of ACCEL_AXIS(dimension), 0: all; exactly one for ARG_MAX, ARG_MIN */
	uint32_t axes;
	/** @flags: ACCEL_REDUCE_* flags */
	uint32_t flags;
	/** @pad: 0 */
	uint32_t pad;
	/** @a: input */
	struct accel_tensor a;
	/** @d: result; not in place */
	struct accel_tensor d;
};

/** ACCEL_REDUCE_DESC_INIT: default descriptor: along all dimensions */
#define ACCEL_REDUCE_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_reduce_desc, ACCEL_OP_REDUCE), 0, 0, 0, 0, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT }

/** ACCEL_DYNQUANT_ASYMMETRIC: with zero points; else the zero point is 0, or 128 for U8 */
#define ACCEL_DYNQUANT_ASYMMETRIC	(1u << 0)

/**
 * struct accel_dynquant_desc - D = A quantised to 8 bits, with scales computed from A
 *
 * Elements whose indices differ only in the dimensions @axes share a scale and a zero point:
 *
 *	symmetric	scale = max(abs(A)) / 127; zero = 0, or 128 for U8
 *	asymmetric	scale = (max - min) / 255; zero = lo - min / scale
 *
 * with max at least and min at most 0, and lo the smallest number of the type; then D = A /
 * scale + zero, rounded to nearest even, saturated. If all elements are 0, the scale is 1. A
 * NaN makes the scale NaN.
 *
 * A product with constant weights can use D as its left matrix (U8 with a scale of 1 and zero
 * point 128) and, if @axes is K, @scales as the scale of its epilogue: [..., M, 1] is
 * broadcast over the columns.
 */
struct accel_dynquant_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_DYNQUANT_* */
	uint32_t flags;
	/** @axes: mask of ACCEL_AXIS(dimension), 0: all: one scale */
	uint32_t axes;
	/** @a: input: F32, F16, BF16 */
	struct accel_tensor a;
	/** @d: result: S8, U8, with A's dimensions, not quantised; not in place */
	struct accel_tensor d;
	/** @scales: result: F32, A's dimensions but 1 along @axes; ACCEL_ARG_AUX0 */
	struct accel_tensor scales;
	/** @zeros: result if asymmetric: S32, with the dimensions of @scales; ACCEL_ARG_AUX1 */
	struct accel_tensor zeros;
};

/** ACCEL_DYNQUANT_DESC_INIT: default descriptor: symmetric, one scale */
#define ACCEL_DYNQUANT_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_dynquant_desc, ACCEL_OP_DYNQUANT), 0, 0, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT }

/** ACCEL_TOPK_SMALLEST: the smallest elements, ascending; else the largest, descending */
#define ACCEL_TOPK_SMALLEST	(1u << 0)

/**
 * struct accel_topk_desc - the k largest or smallest elements along a dimension
 *
 * D has the dimensions of A, except for k, at most that of A, along @axis.
 * @indices has those of D. Of equal elements the one with the lower index comes first; zeros
 * of either sign are equal; a NaN counts as larger than all numbers. Values are converted
 * from the type of A to that of D, which is not a 4-bit type.
 */
struct accel_topk_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_TOPK_* */
	uint32_t flags;
	/** @axis: dimension; negative: from the end */
	int32_t axis;
	/** @a: input */
	struct accel_tensor a;
	/** @d: values; not in place */
	struct accel_tensor d;
	/** @indices: S32: index of each along @axis; ACCEL_ARG_AUX0 */
	struct accel_tensor indices;
};

/** ACCEL_TOPK_DESC_INIT: default descriptor: along the last dimension */
#define ACCEL_TOPK_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_topk_desc, ACCEL_OP_TOPK), 0, -1, ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT }

/** ACCEL_SCAN_EXCLUSIVE: sums of the preceding elements, without the element itself */
#define ACCEL_SCAN_EXCLUSIVE	(1u << 0)
/** ACCEL_SCAN_REVERSE: from the last element on */
#define ACCEL_SCAN_REVERSE	(1u << 1)

/**
 * struct accel_scan_desc - D = running sums of A along a dimension
 *
 * The dimensions of A broadcast to those of D, which is not a 4-bit type. If A and D are
 * unquantised integers, the sums are exact, and each is saturated when it is stored.
 */
struct accel_scan_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_SCAN_* */
	uint32_t flags;
	/** @axis: dimension; negative: from the end */
	int32_t axis;
	/** @a: input */
	struct accel_tensor a;
	/** @d: result; may be A itself */
	struct accel_tensor d;
};

/** ACCEL_SCAN_DESC_INIT: default descriptor: along the last dimension */
#define ACCEL_SCAN_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_scan_desc, ACCEL_OP_SCAN), 0, -1, ACCEL_TENSOR_INIT, \
	  ACCEL_TENSOR_INIT }

#endif /* ACCEL_OPS_LINES_H */
