/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Inner kernels: the only code of the model that uses floating point.
 *
 * The rest of the model passes pointers and bit patterns, so that it can be compiled
 * without floating point, and an OS kernel can confine the inner kernels to FPU
 * sections. A set of kernels is a table. All sets give the same bits, except for
 * gemm_f32. A faster set copies a table and replaces entries.
 */
#ifndef _UMA_KERNELS_H_
#define _UMA_KERNELS_H_

#include "uma_model.h"

/**
 * struct uma_gemm_block - operands of a block product, in fast memory
 * @m: rows of A and C
 * @n: columns of B and C, a multiple of &struct uma_kernels.nr
 * @k: columns of A, rows of B; for the 16-bit product the number of pairs of them
 * @a: element (i, k) at a[i * a_ms + k * a_ks]
 * @a_ms: row stride
 * @a_ks: column stride
 * @b: element (k, j) at b[k * b_ks + j]
 * @b_ks: row stride
 * @c: element (i, j) at c[i * c_ms + j]
 * @c_ms: row stride
 * @accumulate: add to @c instead of overwriting it
 *
 * For binary32 the elements are floats and the strides count floats. For
 * 16-bit integers an element of A and B is a pair of s16 (k even, k odd) in a
 * 32-bit word, C is s32, and the strides count words.
 */
struct uma_gemm_block {
	__u32 m;
	__u32 n;
	__u32 k;
	const void *a;
	__s64 a_ms;
	__s64 a_ks;
	const void *b;
	__s64 b_ks;
	void *c;
	__s64 c_ms;
	int accumulate;
};

/**
 * struct uma_soft_state - running softmax of a row, binary32 bits
 * @max: largest score so far
 * @sum: sum of e^(score - max)
 * @rescale: factor for sums that were formed before the last call
 */
struct uma_soft_state {
	__u32 max;
	__u32 sum;
	__u32 rescale;
};

/** UMA_LANES: number of partial sums of a line; element i is added to lane i % UMA_LANES */
#define UMA_LANES		16

/**
 * enum uma_sum - terms that &struct uma_kernels.sum adds up
 * @UMA_SUM_PLAIN: x
 * @UMA_SUM_ABS: magnitude of x
 * @UMA_SUM_SQUARE: (x - from)^2
 * @UMA_SUM_PRODUCT: x, multiplied instead of added
 */
enum uma_sum {
	UMA_SUM_PLAIN = 0,
	UMA_SUM_ABS = 1,
	UMA_SUM_SQUARE = 2,
	UMA_SUM_PRODUCT = 3
};

/**
 * enum uma_fold - result of the lanes, where S is their sum
 * @UMA_FOLD_SUM: S
 * @UMA_FOLD_PRODUCT: the product of the lanes
 * @UMA_FOLD_MEAN: S / n
 * @UMA_FOLD_ROOT: sqrt(S)
 * @UMA_FOLD_RECIP: 1 / S
 * @UMA_FOLD_RSTD: 1 / sqrt(S / n + p)
 * @UMA_FOLD_LOG: p + log(S)
 */
enum uma_fold {
	UMA_FOLD_SUM = 0,
	UMA_FOLD_PRODUCT = 1,
	UMA_FOLD_MEAN = 2,
	UMA_FOLD_ROOT = 3,
	UMA_FOLD_RECIP = 4,
	UMA_FOLD_RSTD = 5,
	UMA_FOLD_LOG = 6
};

/**
 * struct uma_kernels - a set of inner kernels
 *
 * Rows are arrays in fast memory, not necessarily aligned. Parameters that are
 * numbers are passed as binary32 bits.
 */
struct uma_kernels {
	/** @name: "portable", "avx2", ... */
	const char *name;
	/** @nr: blocks have a multiple of this number of columns; a divisor of 64 */
	__u32 nr;

	/**
	 * @to_f32: dst[i] = src[i] for the floating types, s32, s8 and u8; for
	 * types of blocks the values of whole blocks, @n elements in total
	 */
	void (*to_f32[UMA_DTYPE_COUNT])(float *dst, const void *src, __u32 n);
	/** @from_f32: the reverse for the floating types, to nearest even */
	void (*from_f32[UMA_DTYPE_COUNT])(void *dst, const float *src, __u32 n);
	/**
	 * @dequant: dst[i] = scale[i * sstep] * (float)(src[i] - zero[i * zstep]),
	 * the difference exact, a step 0 or 1
	 */
	void (*dequant)(float *dst, const __s32 *src, const __s32 *zero,
			__u32 zstep, const float *scale, __u32 sstep, __u32 n);
	/** @add: x[i] += y[i * step], a step 0 or 1 */
	void (*add)(float *x, const float *y, __u32 step, __u32 n);
	/**
	 * @quant: dst[i] = sat(rne(src[i] / scale[i * sstep]) + zero[i * zstep]),
	 * saturated to lo .. hi, NaN as if it were 0
	 */
	void (*quant)(__s32 *dst, const float *src, const __s32 *zero,
		      __u32 zstep, const float *scale, __u32 sstep, __s32 lo,
		      __s32 hi, __u32 n);
	/** @s64_to_f32: dst[i] = src[i], to nearest even */
	void (*s64_to_f32)(float *dst, const __s64 *src, __u32 n);
	/**
	 * @sum: lanes[i % UMA_LANES] = lanes[...] + f(x[i]), &enum uma_sum, i
	 * ascending, in binary64; @from is always read
	 */
	void (*sum)(double *lanes, __u32 func, const float *x,
		    const double *from, __u32 n);
	/**
	 * @fold: one number, &enum uma_fold, of lanes that are added in pairs: lane
	 * j and j + 8, then j + 4, j + 2, j + 1; in binary64, each step rounded. p
	 * is binary32 bits
	 */
	void (*fold)(double *v, const double *lanes, __u32 func, __u64 n,
		     __u32 p);
	/** @widen: dst[i] = src[i] */
	void (*widen)(double *dst, const float *src, __u32 n);
	/**
	 * @narrow: dst[i] = src[i], to nearest even; a NaN becomes 0x7fc00000, as
	 * with affine() and scan()
	 */
	void (*narrow)(float *dst, const double *src, __u32 n);
	/** @affine: x[i] = ((x[i] - p[0]) - p[1]) * p[2] in binary64, then binary32 */
	void (*affine)(float *x, const double *p, __u32 n);
	/** @exp_below: x[i] = e^(x[i] - m), x[i] at most m or NaN; m is binary32 bits */
	void (*exp_below)(float *x, __u32 m, __u32 n);
	/**
	 * @scan: running sum in binary64: x[i] = sum up to and including x[i];
	 * UMA_SCAN_REVERSE: from the last element on; UMA_SCAN_EXCLUSIVE: without x[i]
	 */
	void (*scan)(double *acc, float *x, __u32 flags, __u32 n);
	/** @fill: dst[i] = bits */
	void (*fill)(float *dst, __u32 bits, __u32 n);
	/** @scale: x[i] *= bits */
	void (*scale)(float *x, __u32 bits, __u32 n);
	/** @axpy: x[i] += bits * y[i], product and sum rounded */
	void (*axpy)(float *x, __u32 bits, const float *y, __u32 n);
	/** @binary: dst[i] = f(a[i], b[i]); dst may equal a or b */
	void (*binary[UMA_BINARY_COUNT])(float *dst, const float *a,
					 const float *b, __u32 n);
	/** @unary: x[i] = f(x[i]); NULL for UMA_UNARY_ACT */
	void (*unary[UMA_UNARY_COUNT])(float *x, __u32 n);
	/** @act: x[i] = f(x[i]); NULL for UMA_ACT_NONE */
	void (*act[UMA_ACT_COUNT])(float *x, __u32 p0, __u32 p1, __u32 n);

	/**
	 * @soft_row: add scores to a running softmax: x[i] = e^(x[i] - max) with
	 * the new max. Scores of minus infinity give 0, even if there are no
	 * others. Sums are formed in 16 parts, i modulo 16, which are added in pairs
	 */
	void (*soft_row)(struct uma_soft_state *state, float *x, __u32 n);

	/** @gemm_f32: binary32 block product, one accumulator per element, k ascending */
	void (*gemm_f32)(const struct uma_gemm_block *g);
	/** @gemm_s16: exact block product modulo 2^32 */
	void (*gemm_s16)(const struct uma_gemm_block *g);
};

#if defined(__x86_64__)
const struct uma_kernels *uma_kernels_avx2(void);
const struct uma_kernels *uma_kernels_avx512(void);
#endif

#endif /* _UMA_KERNELS_H_ */
