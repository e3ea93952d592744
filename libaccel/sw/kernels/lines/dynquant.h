/* SPDX-License-Identifier: MIT */
/* Quantisation of lines: interface of the class and its kernels. */
#ifndef LIBACCEL_SW_FAST_DYNQUANT_H
#define LIBACCEL_SW_FAST_DYNQUANT_H

#include "libaccel/sw/kernels/fast.h"

/**
 * struct dynquant_range - extremes of a line, including 0
 * @max: largest number
 * @min: smallest number
 * @nan: there is a NaN, and the others are undefined
 */
struct dynquant_range {
	float max;
	float min;
	bool nan;
};

/**
 * struct dynquant_kernels - kernels of a level; x are contiguous elements
 * @range: find the extremes
 * @store: bytes rne(x / scale) + zero, saturated; NaN is treated as 0
 */
struct dynquant_kernels {
	void (*range)(struct dynquant_range *r, const void *x, uint32_t dtype, uint32_t n);
	void (*store)(uint8_t *to, bool is_signed, const void *x, uint32_t dtype, float scale,
		      int32_t zero, uint32_t n);
};

extern const struct dynquant_kernels dynquant_avx2;
extern const struct dynquant_kernels dynquant_avx512;

/**
 * struct dynquant_form - form of the result
 * @dtype: bytes
 * @scale_dtype: of its scale: UMA_DTYPE_F32, UMA_DTYPE_F16
 * @rows: the model's kernels, for scales that are not binary32
 */
struct dynquant_form {
	uint32_t dtype;
	uint32_t scale_dtype;
	const struct uma_kernels *rows;
};

const struct dynquant_kernels *dynquant_kernels_of(const struct fast_cpu *cpu);
void dynquant_line(const struct dynquant_kernels *k, const struct dynquant_form *f, uint8_t *to,
		   const void *from, uint32_t dtype, uint32_t n, void *scales, void *zeros);

#endif /* LIBACCEL_SW_FAST_DYNQUANT_H */
