/* SPDX-License-Identifier: MIT */
/*
 * Quantisation: calibration, conversion, pruning, measuring the error.
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
 * enum accel_calib_method - choice of a range from the observed values
 * @ACCEL_CALIB_MINMAX: all values
 * @ACCEL_CALIB_PERCENTILE: a share of the values
 * @ACCEL_CALIB_ENTROPY: minimal Kullback-Leibler divergence of the quantised from the
 *	observed distribution (S. Migacz, 8-bit Inference with TensorRT, 2017)
 * @ACCEL_CALIB_MSE: minimal mean square error
 * @ACCEL_CALIB_COUNT: number of values
 *
 * The last three keep a histogram. Entropy and MSE try 256 ranges, from all values down to
 * 1/256 of that range; MSE tries each end separately.
 */
enum accel_calib_method {
	ACCEL_CALIB_MINMAX = 0,
	ACCEL_CALIB_PERCENTILE = 1,
	ACCEL_CALIB_ENTROPY = 2,
	ACCEL_CALIB_MSE = 3,
	ACCEL_CALIB_COUNT = 4
};

/**
 * ACCEL_CALIB_ASYMMETRIC: a zero point maps the range of the values to that of the type.
 * Otherwise the range is symmetric around 0, and the stored number without a counterpart
 * (-128, 0, -8) is not used
 */
#define ACCEL_CALIB_ASYMMETRIC	(1u << 0)

/**
 * struct accel_calib_opts - options of accel_calib_create()
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
	/** @group: group: as in &struct accel_quant */
	uint32_t group;
	/** @scale_dtype: channel and group: as in &struct accel_quant */
	uint32_t scale_dtype;
	/**
	 * @bins: number of bins of a histogram on each side of 0, a power of two from 64 to
	 * 16384; 0: 2048 for a tensor, 256 for each channel or group
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
 * accel_calib_create - create a calibration, which observes tensors
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
 * accel_calib_destroy - release a calibration
 * @calib: calibration, or NULL
 */
ACCEL_API void accel_calib_destroy(struct accel_calib *calib);

/**
 * accel_calib_observe - observe a tensor
 * @calib: calibration; one thread at a time
 * @t: fp32, fp16 or bf16, with any strides, in a buffer that the CPU can access; read before
 *	this returns. With channels, dims[axis] must be the same each time, with groups all
 *	dimensions
 *
 * NaN and infinities are counted and otherwise ignored. The order of the tensors does not
 * matter.
 *
 * Return: 0; -EINVAL; -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_calib_observe(struct accel_calib *calib,
				  const struct accel_tensor *t);

/**
 * struct accel_calib_info - state of a calibration
 */
struct accel_calib_info {
	/** @size: sizeof(struct accel_calib_info) */
	uint32_t size;
	/** @pad: 0 */
	uint32_t pad;
	/** @entries: number of scales, 0 while unknown */
	uint64_t entries;
	/** @tensors: number of observed tensors */
	uint64_t tensors;
	/** @values: number of finite values */
	uint64_t values;
	/** @skipped: number of NaN and infinities */
	uint64_t skipped;
};

/**
 * accel_calib_get_info - get the state of a calibration
 * @calib: calibration
 * @info: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_calib_get_info(struct accel_calib *calib,
				   struct accel_calib_info *info);

/**
 * accel_calib_get_range - get the range of a scale
 * @calib: calibration
 * @entry: index below entries, row-major as the tables
 * @lo: out: lower end, at most 0
 * @hi: out: upper end, at least 0
 *
 * Return: 0; -EINVAL no such entry; -ENODATA no tensor was observed.
 */
ACCEL_API int accel_calib_get_range(struct accel_calib *calib, uint64_t entry,
				    double *lo, double *hi);

/**
 * accel_calib_get_quant - get the quantisation for the tensors observed so far
 * @calib: calibration, which may continue afterwards
 * @quant: out: quantisation for a tensor of the requested type; its tables are new buffers:
 *	accel_quant_release()
 *
 * The scale is 1 if only zeros, or no finite values, were observed.
 *
 * Return: 0; -ENODATA no tensor was observed; -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_calib_get_quant(struct accel_calib *calib,
				    struct accel_quant *quant);

/**
 * accel_quant_release - release the tables of a quantisation
 * @quant: from accel_calib_get_quant(); is cleared
 */
ACCEL_API void accel_quant_release(struct accel_quant *quant);

/**
 * accel_tensor_rows - a dense tensor whose rows start at whole bytes
 * @bo: buffer, or NULL
 * @dtype: &enum accel_dtype
 * @rank: number of dimensions
 * @dims: elements, outermost first
 *
 * Rows of 4-bit elements of an odd length are padded by one element, as all operations
 * require.
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
 * accel_quantise - quantise a tensor
 * @ctx: context
 * @from: fp32, fp16 or bf16, in a buffer
 * @dtype: S8, U8, S4, U4
 * @quant: quantisation for @from's dimensions; its tables are used, not copied
 * @to: out: tensor of accel_tensor_rows() in a new buffer: accel_bo_unref()
 *
 * The device converts, as by ACCEL_OP_COPY.
 *
 * Return: 0, or errors of accel_bo_create() and accel_run().
 */
ACCEL_API int accel_quantise(struct accel_ctx *ctx,
			     const struct accel_tensor *from, uint32_t dtype,
			     const struct accel_quant *quant,
			     struct accel_tensor *to);

/**
 * enum accel_gguf - GGUF formats that are not an element type, with their numbers in GGUF
 * files
 * @ACCEL_GGUF_Q5_0: blocks of 32 in 22 bytes: x = d (q - 16)
 * @ACCEL_GGUF_Q5_1: blocks of 32 in 24 bytes: x = d q + m
 * @ACCEL_GGUF_Q2_K: blocks of 256 in 84 bytes: a scale and a minimum for each 16, 2 bits for
 *	each element
 * @ACCEL_GGUF_Q3_K: blocks of 256 in 110 bytes: a scale for each 16, 3 bits for each element
 * @ACCEL_GGUF_Q5_K: blocks of 256 in 176 bytes: a scale and a minimum for each 32, 5 bits for
 *	each element
 */
enum accel_gguf {
	ACCEL_GGUF_Q5_0 = 6,
	ACCEL_GGUF_Q5_1 = 7,
	ACCEL_GGUF_Q2_K = 10,
	ACCEL_GGUF_Q3_K = 11,
	ACCEL_GGUF_Q5_K = 13
};

/**
 * accel_blocks_convert - convert blocks of a format that is not an element type
 * @format: &enum accel_gguf
 * @from: blocks, contiguous and complete
 * @elements: their elements, a multiple of a block
 * @dtype: Q8_0 for Q5_0, Q6_K for Q3_K: the same values; F32 for any: exact, except that
 *	adding a minimum rounds once
 * @to: out: the same number of elements
 *
 * Threads: any; a function of its arguments, on the CPU.
 *
 * Return: 0; -EINVAL no such format, NULL, a part of a block; -EOPNOTSUPP @dtype.
 */
ACCEL_API int accel_blocks_convert(uint32_t format, const void *from, uint64_t elements,
				   uint32_t dtype, void *to);

/**
 * accel_blocks_read - convert blocks to fp32
 * @dtype: Q8_0, Q4_0, Q4_1, Q4_K, Q6_K; or F16, BF16, F32, with blocks of one element
 * @from: blocks, contiguous and complete
 * @elements: their elements, a multiple of a block
 * @to: out: the same number of values
 *
 * Threads: any; a function of its arguments, on the CPU.
 *
 * Return: 0; -EINVAL NULL, a part of a block; -EOPNOTSUPP @dtype.
 */
ACCEL_API int accel_blocks_read(uint32_t dtype, const void *from, uint64_t elements, float *to);

/**
 * accel_blocks_write - quantise fp32 values to blocks
 * @dtype: as for accel_blocks_read()
 * @from: [rows, columns], dense
 * @rows: number of rows
 * @columns: elements of a row, a multiple of a block
 * @weights: for each column a weight, >= 0, of squared errors, such as the mean square of the
 *	values that the column is multiplied by; NULL: all are equal
 * @to: out: blocks
 *
 * Scales and minima of 4-bit and 6-bit formats are the best of 19 candidates. The scale of
 * Q8_0 is the largest magnitude divided by 127.
 *
 * Threads: any; a function of its arguments, on the CPU.
 *
 * Return: 0; -EINVAL NULL, a part of a block; -ERANGE a value of a block is not finite, or so
 * large that the scale would not be finite; -EOPNOTSUPP @dtype.
 */
ACCEL_API int accel_blocks_write(uint32_t dtype, const float *from, uint64_t rows,
				 uint64_t columns, const float *weights, void *to);

/**
 * accel_prune24 - prune a tensor to 2:4 sparsity
 * @ctx: context, for errors
 * @t: tensor of any type but S32, without zero points, in a buffer that the CPU can read and
 *	write
 * @axis: dimension of the groups of four: K of a right matrix
 *
 * Of each four elements, starting at multiples of four, and of the rest at the end, the two
 * with the largest magnitude are kept (NaN is larger than all numbers; of equal ones the
 * first), the others become 0.
 *
 * Return: 0; -EINVAL; -ENODEV.
 */
ACCEL_API int accel_prune24(struct accel_ctx *ctx, const struct accel_tensor *t,
			    uint32_t axis);

/**
 * struct accel_quant_error - difference between two tensors
 *
 * Computed over all elements that are finite in both; x is the reference, e the difference.
 */
struct accel_quant_error {
	/** @size: sizeof(struct accel_quant_error) */
	uint32_t size;
	/** @pad: 0 */
	uint32_t pad;
	/** @values: number of compared elements */
	uint64_t values;
	/** @skipped: number of elements that are not finite in one of the two */
	uint64_t skipped;
	/** @saturated: number of quantised elements at either end of the range of their type */
	uint64_t saturated;
	/** @max_abs: largest abs(e) */
	double max_abs;
	/** @max_index: its row-major index */
	uint64_t max_index;
	/** @mean: mean of e: the bias */
	double mean;
	/** @mean_abs: mean of abs(e) */
	double mean_abs;
	/** @rmse: root of the mean of e^2 */
	double rmse;
	/** @sqnr_db: 10 log10(sum of x^2 / sum of e^2); infinity if they are equal */
	double sqnr_db;
	/**
	 * @cosine: cosine of the angle between the two as vectors; 1 if both are zero, 0 if
	 * one is
	 */
	double cosine;
};

/**
 * accel_quant_report - compare a quantised tensor with a reference
 * @ctx: context, for errors
 * @t: tensor of any type, in a buffer that the CPU can access
 * @ref: reference with the same dimensions, in such a buffer
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
