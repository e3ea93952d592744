/* SPDX-License-Identifier: MIT */
/*
 * Quantisation: calibration, conversion, pruning, and what it costs in exactness.
 */
#ifndef ACCEL_QUANT_H
#define ACCEL_QUANT_H

#include <stdint.h>
#include <accel/context.h>
#include <accel/tensor.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct accel_calib;

/**
 * enum accel_calib_method - how a range is chosen from the numbers seen
 * @ACCEL_CALIB_MINMAX: all of them
 * @ACCEL_CALIB_PERCENTILE: a given share of them
 * @ACCEL_CALIB_ENTROPY: the least Kullback-Leibler divergence of the quantised
 *	distribution from the one seen (S. Migacz, 8-bit Inference with
 *	TensorRT, 2017)
 * @ACCEL_CALIB_MSE: the least mean square error
 * @ACCEL_CALIB_COUNT: number of values
 *
 * The last three keep a histogram; entropy and MSE try 256 ranges, from all of
 * the numbers down to 1/256 of that; MSE each end on its own.
 */
enum accel_calib_method {
	ACCEL_CALIB_MINMAX = 0,
	ACCEL_CALIB_PERCENTILE = 1,
	ACCEL_CALIB_ENTROPY = 2,
	ACCEL_CALIB_MSE = 3,
	ACCEL_CALIB_COUNT = 4
};

/**
 * ACCEL_CALIB_ASYMMETRIC: a zero point fits the type's range to the numbers'.
 * Else 0 is in the middle, the ends are as far from it, and the stored number
 * that has no counterpart (-128, 0, -8) is not used
 */
#define ACCEL_CALIB_ASYMMETRIC	(1u << 0)

/**
 * struct accel_calib_opts - what is to be found out
 */
struct accel_calib_opts {
	/** @size: sizeof(struct accel_calib_opts) */
	uint32_t size;
	/** @method: &enum accel_calib_method */
	uint32_t method;
	/** @flags: ACCEL_CALIB_* */
	uint32_t flags;
	/** @dtype: type to quantise to: S8, U8, S4, U4 */
	uint32_t dtype;
	/** @scheme: &enum accel_quant_scheme, not NONE */
	uint32_t scheme;
	/** @axis: channel and group: as in &struct accel_quant */
	uint32_t axis;
	/** @group: group: likewise */
	uint32_t group;
	/** @scale_dtype: channel and group: likewise */
	uint32_t scale_dtype;
	/**
	 * @bins: bins of a histogram on either side of 0, a power of two from
	 * 64 to 16384; 0: 2048 for a tensor, 256 for each channel or group
	 */
	uint32_t bins;
	/** @pad: 0 */
	uint32_t pad;
	/** @percentile: percentile: share in percent, above 50, at most 100; 0: 99.99 */
	double percentile;
};

/** ACCEL_CALIB_OPTS_INIT: int8, symmetric, one scale, from the extremes */
#define ACCEL_CALIB_OPTS_INIT \
	{ sizeof(struct accel_calib_opts), 0, 0, ACCEL_S8, ACCEL_QUANT_TENSOR, 0, 0, 0, 0, 0, 0 }

/**
 * accel_calib_create - begin to watch a stream of tensors
 * @ctx: context, for errors and for the tables
 * @opts: options
 * @calib: out
 *
 * Return: 0; -EINVAL, -E2BIG options; -ENOMEM.
 */
ACCEL_API int accel_calib_create(struct accel_ctx *ctx,
				 const struct accel_calib_opts *opts,
				 struct accel_calib **calib);

/**
 * accel_calib_destroy - stop
 * @calib: calibration, or NULL
 */
ACCEL_API void accel_calib_destroy(struct accel_calib *calib);

/**
 * accel_calib_observe - look at a tensor
 * @calib: calibration; one thread at a time
 * @t: fp32, fp16 or bf16, of any strides, in a buffer that the CPU sees; read
 *	before this returns. With channels, dims[axis] is the same each time,
 *	with groups every dimension
 *
 * NaN and infinities are counted and otherwise passed over. The order of the
 * tensors does not matter.
 *
 * Return: 0; -EINVAL; -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_calib_observe(struct accel_calib *calib,
				  const struct accel_tensor *t);

/**
 * struct accel_calib_info - what was seen
 */
struct accel_calib_info {
	/** @size: sizeof(struct accel_calib_info) */
	uint32_t size;
	/** @pad: 0 */
	uint32_t pad;
	/** @entries: scales that it comes to, 0 while that is not known */
	uint64_t entries;
	/** @tensors: tensors seen */
	uint64_t tensors;
	/** @values: finite numbers seen */
	uint64_t values;
	/** @skipped: NaN and infinities */
	uint64_t skipped;
};

/**
 * accel_calib_get_info - what was seen so far
 * @calib: calibration
 * @info: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_calib_get_info(struct accel_calib *calib,
				   struct accel_calib_info *info);

/**
 * accel_calib_get_range - the range chosen for one scale
 * @calib: calibration
 * @entry: index below entries, row-major as the tables
 * @lo: out: lower end, at most 0
 * @hi: out: upper end, at least 0
 *
 * Return: 0; -EINVAL no such entry; -ENODATA no tensor was seen.
 */
ACCEL_API int accel_calib_get_range(struct accel_calib *calib, uint64_t entry,
				    double *lo, double *hi);

/**
 * accel_calib_get_quant - the quantisation so far
 * @calib: calibration, which may go on afterwards
 * @quant: out: to be put into a tensor of the type asked for; the tables are
 *	new buffers: accel_quant_release()
 *
 * Where only zeros, or nothing finite, was seen the scale is 1.
 *
 * Return: 0; -ENODATA no tensor was seen; -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_calib_get_quant(struct accel_calib *calib,
				    struct accel_quant *quant);

/**
 * accel_quant_release - give up the tables of a quantisation
 * @quant: from accel_calib_get_quant(); becomes zero
 */
ACCEL_API void accel_quant_release(struct accel_quant *quant);

/**
 * accel_tensor_rows - a tensor whose rows start at whole bytes
 * @bo: buffer, or NULL
 * @dtype: &enum accel_dtype
 * @rank: number of dimensions
 * @dims: elements, outermost first
 *
 * Dense but for 4-bit rows of an odd length, which have one element more
 * between them: what every operation takes.
 *
 * Return: the tensor.
 */
static inline struct accel_tensor
accel_tensor_rows(struct accel_bo *bo, uint32_t dtype, uint32_t rank,
		  const int64_t *dims)
{
	struct accel_tensor t = accel_tensor_dense(bo, dtype, rank, dims);
	uint64_t step = 1;
	uint32_t i;

	if ((dtype != ACCEL_S4 && dtype != ACCEL_U4) || rank < 2 ||
	    rank > ACCEL_MAX_RANK || !(dims[rank - 1] & 1))
		return t;
	t.flags = ACCEL_TENSOR_STRIDES;
	for (i = rank; i-- > 0; ) {
		t.strides[i] = (int64_t)step;
		step *= (uint64_t)dims[i] + (i == rank - 1);
	}
	return t;
}

/**
 * accel_quantise - store a tensor in fewer bits
 * @ctx: context
 * @from: fp32, fp16 or bf16, in a buffer
 * @dtype: S8, U8, S4, U4
 * @quant: quantisation, of @from's dimensions; its tables are used, not copied
 * @to: out: tensor of accel_tensor_rows() in a new buffer: accel_bo_unref()
 *
 * The device does it, as ACCEL_OP_COPY does.
 *
 * Return: 0; or what accel_bo_create() and accel_run() give.
 */
ACCEL_API int accel_quantise(struct accel_ctx *ctx,
			     const struct accel_tensor *from, uint32_t dtype,
			     const struct accel_quant *quant,
			     struct accel_tensor *to);

/**
 * enum accel_gguf - formats of GGUF files that are no element type, by their numbers there
 * @ACCEL_GGUF_Q5_0: blocks of 32 in 22 bytes: x = d (q - 16)
 * @ACCEL_GGUF_Q5_1: blocks of 32 in 24 bytes: x = d q + m
 * @ACCEL_GGUF_Q2_K: blocks of 256 in 84 bytes: scales and minima by 16, 2 bits each
 * @ACCEL_GGUF_Q3_K: blocks of 256 in 110 bytes: scales by 16, 3 bits each
 * @ACCEL_GGUF_Q5_K: blocks of 256 in 176 bytes: scales and minima by 32, 5 bits each
 */
enum accel_gguf {
	ACCEL_GGUF_Q5_0 = 6,
	ACCEL_GGUF_Q5_1 = 7,
	ACCEL_GGUF_Q2_K = 10,
	ACCEL_GGUF_Q3_K = 11,
	ACCEL_GGUF_Q5_K = 13
};

/**
 * accel_blocks_convert - blocks of a format that is no element type, in one that is
 * @format: &enum accel_gguf
 * @from: blocks, one behind the other, whole
 * @elements: their elements, a multiple of a block
 * @dtype: Q8_0 of Q5_0, Q6_K of Q3_K: the same values; F32 of any: exact, but that a
 *	minimum that is added is rounded once
 * @to: out: as many elements
 *
 * Threads: any; a function of its arguments, on the CPU.
 *
 * Return: 0; -EINVAL no such format, NULL, a part of a block; -EOPNOTSUPP @dtype.
 */
ACCEL_API int accel_blocks_convert(uint32_t format, const void *from, uint64_t elements,
				   uint32_t dtype, void *to);

/**
 * accel_blocks_read - what blocks stand for
 * @dtype: Q8_0, Q4_0, Q4_1, Q4_K, Q6_K; F16, BF16, F32, whose elements are one each
 * @from: blocks, one behind the other, whole
 * @elements: their elements, a multiple of a block
 * @to: out: as many numbers
 *
 * Threads: any; a function of its arguments, on the CPU.
 *
 * Return: 0; -EINVAL NULL, a part of a block; -EOPNOTSUPP @dtype.
 */
ACCEL_API int accel_blocks_read(uint32_t dtype, const void *from, uint64_t elements, float *to);

/**
 * accel_blocks_write - numbers as blocks
 * @dtype: as of accel_blocks_read()
 * @from: [rows, columns], one row behind the other
 * @rows: rows
 * @columns: elements of a row, a multiple of a block
 * @weights: of each column, from 0 on: how much the square of an error there counts, such as the
 *	mean square of what the column will be multiplied by; NULL: all are equal
 * @to: out: blocks
 *
 * Scales and minima of 4 and 6 bits are searched for: of 19 candidates for each, those that lose
 * least. Those of Q8_0 are the largest magnitude over 127.
 *
 * Threads: any; a function of its arguments, on the CPU.
 *
 * Return: 0; -EINVAL NULL, a part of a block; -ERANGE blocks of a number that is not finite, or of
 * one so large that the scale is not; -EOPNOTSUPP @dtype.
 */
ACCEL_API int accel_blocks_write(uint32_t dtype, const float *from, uint64_t rows,
				 uint64_t columns, const float *weights, void *to);

/**
 * accel_prune24 - leave two of each four elements
 * @ctx: context, for errors
 * @t: tensor of any type but S32, in a buffer that the CPU sees and writes; no
 *	zero points
 * @axis: dimension that the fours lie along: K of a right matrix
 *
 * Of each four elements from a multiple of four on, and of what is left at the
 * end, the two of the largest magnitude stay as they are (NaN is larger than
 * all, of equals the first), the others become 0.
 *
 * Return: 0; -EINVAL; -ENODEV.
 */
ACCEL_API int accel_prune24(struct accel_ctx *ctx, const struct accel_tensor *t,
			    uint32_t axis);

/**
 * struct accel_quant_error - how far a tensor is from another
 *
 * Over all elements at which both are finite; x is the reference, e the
 * difference.
 */
struct accel_quant_error {
	/** @size: sizeof(struct accel_quant_error) */
	uint32_t size;
	/** @pad: 0 */
	uint32_t pad;
	/** @values: elements compared */
	uint64_t values;
	/** @skipped: elements that are not finite in one of the two */
	uint64_t skipped;
	/** @saturated: quantised elements at either end of their type */
	uint64_t saturated;
	/** @max_abs: largest abs(e) */
	double max_abs;
	/** @max_index: where, row-major */
	uint64_t max_index;
	/** @mean: mean of e: the bias */
	double mean;
	/** @mean_abs: mean of abs(e) */
	double mean_abs;
	/** @rmse: root of the mean of e^2 */
	double rmse;
	/** @sqnr_db: 10 log10(sum of x^2 / sum of e^2); infinity if they are equal */
	double sqnr_db;
	/** @cosine: of the angle between the two as vectors; 1 if both are zero, 0 if one is */
	double cosine;
};

/**
 * accel_quant_report - hold a quantised tensor against the float one
 * @ctx: context, for errors
 * @t: tensor of any type, in a buffer that the CPU sees
 * @ref: reference of the same dimensions, likewise
 * @report: out
 *
 * Computed in binary64 by the CPU.
 *
 * Return: 0; -EINVAL tensors or size; -ENODEV.
 */
ACCEL_API int accel_quant_report(struct accel_ctx *ctx,
				 const struct accel_tensor *t,
				 const struct accel_tensor *ref,
				 struct accel_quant_error *report);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_QUANT_H */
