/* SPDX-License-Identifier: MIT */
/*
 * Operations on images: pooling and resampling.
 */
#ifndef ACCEL_OPS_IMAGE_H
#define ACCEL_OPS_IMAGE_H

#include <stdint.h>
#include <accel/desc.h>
#include <accel/types.h>

/**
 * enum accel_pool_func - functions of windows
 * @ACCEL_POOL_MAX: the largest element; NaN if there is one
 * @ACCEL_POOL_AVERAGE: the average
 * @ACCEL_POOL_LP: (sum of abs(x)^norm)^(1 / norm)
 * @ACCEL_POOL_COUNT: number of values
 */
enum accel_pool_func {
	ACCEL_POOL_MAX = 0,
	ACCEL_POOL_AVERAGE = 1,
	ACCEL_POOL_LP = 2,
	ACCEL_POOL_COUNT = 3
};

/** ACCEL_POOL_CEIL: an incomplete last window counts, unless it starts in the padding at the end */
#define ACCEL_POOL_CEIL		(1u << 0)
/** ACCEL_POOL_COUNT_PAD: for averages, positions in the padding count, as zeros */
#define ACCEL_POOL_COUNT_PAD	(1u << 1)
/** ACCEL_POOL_GLOBAL: the window is all of A; size, stride, dilation and padding are not set */
#define ACCEL_POOL_GLOBAL	(1u << 2)

/**
 * struct accel_pool_desc - D = maximum, average or norm of windows of A
 *
 * A and D are [N, C, spatial...] with one to three spatial dimensions; for NHWC set strides.
 * D has floor((in + pad_begin + pad_end - dilation * (kernel
 * - 1) - 1) / stride) + 1 elements along a spatial dimension, with ACCEL_POOL_CEIL rounded
 * up. Positions outside of A are skipped; a window without elements has the average 0, the
 * norm 0 and the maximum -infinity, saturated. Types: F32, F16, BF16, S8, U8, quantised by
 * tensor or not at all.
 */
struct accel_pool_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_pool_func */
	uint32_t func;
	/** @flags: ACCEL_POOL_* */
	uint32_t flags;
	/** @norm: ACCEL_POOL_LP: 1 to 16; else 0 */
	uint32_t norm;
	/** @pad: 0 */
	uint32_t pad;
	/** @kernel: size of the window along each spatial dimension */
	uint32_t kernel[3];
	/** @stride: stride of the windows; 0: 1 */
	uint32_t stride[3];
	/** @dilation: distance between positions in a window; 0: 1 */
	uint32_t dilation[3];
	/** @pad_begin: number of positions before the first element */
	uint32_t pad_begin[3];
	/** @pad_end: number of positions after the last element */
	uint32_t pad_end[3];
	/** @pad1: 0 */
	uint32_t pad1;
	/** @a: input */
	struct accel_tensor a;
	/** @d: result */
	struct accel_tensor d;
};

/** ACCEL_POOL_DESC_INIT: default descriptor */
#define ACCEL_POOL_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_pool_desc, ACCEL_OP_POOL), 0, 0, 0, 0, { 0 }, { 0 }, \
	  { 0 }, { 0 }, { 0 }, 0, ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT }

/**
 * enum accel_resize_func - interpolation
 * @ACCEL_RESIZE_NEAREST: the nearest element
 * @ACCEL_RESIZE_LINEAR: linear, of two neighbours along each dimension
 * @ACCEL_RESIZE_CUBIC: cubic convolution, of four neighbours along each dimension (Keys,
 *	"Cubic convolution interpolation for digital image processing", 1981)
 * @ACCEL_RESIZE_COUNT: number of values
 */
enum accel_resize_func {
	ACCEL_RESIZE_NEAREST = 0,
	ACCEL_RESIZE_LINEAR = 1,
	ACCEL_RESIZE_CUBIC = 2,
	ACCEL_RESIZE_COUNT = 3
};

/**
 * enum accel_resize_coord - coordinate in A of element o of D, for scale s
 * @ACCEL_COORD_HALF_PIXEL: (o + 0.5) / s - 0.5
 * @ACCEL_COORD_ASYMMETRIC: o / s
 * @ACCEL_COORD_ALIGN_CORNERS: o (in - 1) / (out - 1), 0 if out is 1
 * @ACCEL_COORD_PYTORCH_HALF_PIXEL: as half pixel, 0 if out is 1
 * @ACCEL_COORD_HALF_PIXEL_SYMMETRIC: as half pixel, shifted so that the centres of A and D
 *	coincide if out differs from in * s
 * @ACCEL_COORD_COUNT: number of values
 */
enum accel_resize_coord {
	ACCEL_COORD_HALF_PIXEL = 0,
	ACCEL_COORD_ASYMMETRIC = 1,
	ACCEL_COORD_ALIGN_CORNERS = 2,
	ACCEL_COORD_PYTORCH_HALF_PIXEL = 3,
	ACCEL_COORD_HALF_PIXEL_SYMMETRIC = 4,
	ACCEL_COORD_COUNT = 5
};

/**
 * enum accel_nearest - choice of the nearest element
 * @ACCEL_NEAREST_HALF_DOWN: the lower one of two at the same distance
 * @ACCEL_NEAREST_HALF_UP: the upper one of two at the same distance
 * @ACCEL_NEAREST_FLOOR: always the lower
 * @ACCEL_NEAREST_CEIL: always the upper
 * @ACCEL_NEAREST_COUNT: number of values
 */
enum accel_nearest {
	ACCEL_NEAREST_HALF_DOWN = 0,
	ACCEL_NEAREST_HALF_UP = 1,
	ACCEL_NEAREST_FLOOR = 2,
	ACCEL_NEAREST_CEIL = 3,
	ACCEL_NEAREST_COUNT = 4
};

/** ACCEL_RESIZE_CUBIC_A: @cubic is set; else it is -0.75 */
#define ACCEL_RESIZE_CUBIC_A	(1u << 0)
/**
 * ACCEL_RESIZE_EXCLUDE: cubic: neighbours outside of A have weight 0; the others are normalised.
 * A coordinate of -1 or below, or of the size of A or above, is that of the edge
 */
#define ACCEL_RESIZE_EXCLUDE	(1u << 1)

/**
 * struct accel_resize_desc - D = A sampled at scaled coordinates
 *
 * All dimensions may change, with linear and cubic interpolation up to three. Coordinates
 * outside of A are clamped to its edge. Coordinates are exact fractions. Tensors are
 * quantised by tensor or not at all; 4-bit types are not supported, S32 for the nearest
 * element only.
 */
struct accel_resize_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_resize_func */
	uint32_t func;
	/** @flags: ACCEL_RESIZE_* */
	uint32_t flags;
	/** @coord: &enum accel_resize_coord */
	uint32_t coord;
	/** @nearest: ACCEL_RESIZE_NEAREST: &enum accel_nearest; else 0 */
	uint32_t nearest;
	/** @cubic: ACCEL_RESIZE_CUBIC_A: parameter of the kernel */
	float cubic;
	/** @pad: 0 */
	uint32_t pad;
	/**
	 * @scale: size of D divided by that of A along each dimension, which must match the
	 * dimensions within one element; the simplest fraction within 2^-24 of it is used. 0:
	 * the quotient of the dimensions
	 */
	double scale[ACCEL_MAX_RANK];
	/** @a: input */
	struct accel_tensor a;
	/** @d: result, of the same rank */
	struct accel_tensor d;
};

/** ACCEL_RESIZE_DESC_INIT: default descriptor */
#define ACCEL_RESIZE_DESC_INIT \
	{ ACCEL_DESC_INIT(struct accel_resize_desc, ACCEL_OP_RESIZE), 0, 0, 0, 0, 0, 0, { 0 }, \
	  ACCEL_TENSOR_INIT, ACCEL_TENSOR_INIT }

#endif /* ACCEL_OPS_IMAGE_H */
