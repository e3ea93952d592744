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
 * enum accel_pool_func - what a window becomes
 * @ACCEL_POOL_MAX: its largest element; NaN if it has one
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

/** ACCEL_POOL_CEIL: a last window that is not whole counts, unless it starts in the padding */
#define ACCEL_POOL_CEIL		(1u << 0)
/** ACCEL_POOL_COUNT_PAD: averages: positions in the padding count, as zeros */
#define ACCEL_POOL_COUNT_PAD	(1u << 1)
/** ACCEL_POOL_GLOBAL: the window is all of A; nothing else of it is given */
#define ACCEL_POOL_GLOBAL	(1u << 2)

/**
 * struct accel_pool_desc - D = maximum, average or norm of windows of A
 *
 * A and D are [N, C, spatial...] with one to three spatial dimensions; for NHWC
 * the strides say so. D has floor((in + pad_begin + pad_end - dilation * (kernel
 * - 1) - 1) / stride) + 1 elements along a spatial dimension, with
 * ACCEL_POOL_CEIL one more if windows are left over. What lies outside of A has
 * no part in a window; a window of nothing has the average 0, the norm 0 and
 * the maximum -infinity, saturated. Types: F32, F16, BF16, S8, U8, quantised by
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
	/** @stride: distance of windows; 0: 1 */
	uint32_t stride[3];
	/** @dilation: distance of the positions in a window; 0: 1 */
	uint32_t dilation[3];
	/** @pad_begin: positions before the first element */
	uint32_t pad_begin[3];
	/** @pad_end: positions behind the last element */
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
 * enum accel_resize_func - how a tensor is sampled
 * @ACCEL_RESIZE_NEAREST: the nearest element
 * @ACCEL_RESIZE_LINEAR: between two neighbours along each dimension
 * @ACCEL_RESIZE_CUBIC: cubic convolution over four neighbours along each (Keys,
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
 * enum accel_resize_coord - where element o of D lies in A, s being the scale
 * @ACCEL_COORD_HALF_PIXEL: (o + 0.5) / s - 0.5
 * @ACCEL_COORD_ASYMMETRIC: o / s
 * @ACCEL_COORD_ALIGN_CORNERS: o (in - 1) / (out - 1), 0 if out is 1
 * @ACCEL_COORD_PYTORCH_HALF_PIXEL: as half pixel, 0 if out is 1
 * @ACCEL_COORD_HALF_PIXEL_SYMMETRIC: as half pixel, moved so that the middle of D
 *	is that of A where out differs from in * s
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
 * enum accel_nearest - which element is the nearest
 * @ACCEL_NEAREST_HALF_DOWN: of two that are as near the lower
 * @ACCEL_NEAREST_HALF_UP: of two that are as near the upper
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

/** ACCEL_RESIZE_CUBIC_A: @cubic is given; else it is -0.75 */
#define ACCEL_RESIZE_CUBIC_A	(1u << 0)
/** ACCEL_RESIZE_EXCLUDE: cubic: neighbours outside of A do not count; the others weigh more */
#define ACCEL_RESIZE_EXCLUDE	(1u << 1)

/**
 * struct accel_resize_desc - D = A sampled at other coordinates
 *
 * All dimensions may change; linear and cubic sampling changes three at most.
 * Beyond the edge of A is its edge. Coordinates are exact fractions. Quantised
 * by tensor or not at all; no 4-bit types, and no S32 but for the nearest.
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
	 * @scale: D's size over A's along each dimension, within one element of
	 * what the dimensions say; the simplest fraction within 2^-24 of it is
	 * used. 0: the quotient of the dimensions
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
