/* SPDX-License-Identifier: MIT */
/* Products of few rows by weights that are not packed: interface of the class and its kernels. */
#ifndef LIBACCEL_SW_FAST_FEW_H
#define LIBACCEL_SW_FAST_FEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** FEW_ROWS: maximum number of rows of A */
#define FEW_ROWS	8u

/* Contiguous dimension of B */
enum few_order {
	FEW_N,		/* columns: rows of B are added one after the other */
	FEW_K,		/* rows: each column is a dot product */
	FEW_ORDERS
};

/* Types of B */
enum few_type {
	FEW_F32,
	FEW_BF16,
	FEW_F16,
	FEW_NIBBLES,	/* 4-bit integers with group scales; from here on along K only */
	FEW_Q4_0,	/* types of blocks */
	FEW_Q4_1,
	FEW_Q8_0,
	FEW_Q4_K,
	FEW_Q6_K,
	FEW_TYPES
};

/* 4-bit numbers, for which A is rearranged, see few_lines.h */
static inline bool few_is_lines(enum few_type type)
{
	return type == FEW_NIBBLES || type == FEW_Q4_0 || type == FEW_Q4_1;
}

/**
 * struct few_call - all of K for some columns
 * @a: rows, K binary32 numbers each; rows beyond the last may be any valid ones. For lines the
 *	first has all rows, interleaved
 * @b: first element of the first column
 * @step: bytes from a row of B to the next, or from a column to the next
 * @c: sums, a row of whole vectors for each of @a; FEW_N adds to the contents
 * @c_row: stride of these rows
 * @k: length of the sums
 * @n: columns
 * @zero: 4-bit numbers: zero point of all
 * @is_signed: 4-bit numbers: they are signed
 * @scales: FEW_NIBBLES: scales of the first column, contiguous, one for each group of 1 <<
 *	@group_shift
 * @scales_step: bytes from the scales of a column to those of the next
 * @group_shift: see @scales
 * @half: scales are binary16, else binary32
 */
struct few_call {
	const float *a[FEW_ROWS];
	const uint8_t *b;
	int64_t step;
	float *c;
	size_t c_row;
	uint32_t k;
	uint32_t n;
	float zero;
	bool is_signed;
	const uint8_t *scales;
	int64_t scales_step;
	uint32_t group_shift;
	bool half;
};

typedef void (*few_fn)(const struct few_call *g);

/**
 * struct few_kernels - kernels of an instruction set
 * @vl: elements of a vector
 * @fn: by type, order, and for 1, 2, 4 and 8 rows
 */
struct few_kernels {
	uint32_t vl;
	few_fn fn[FEW_TYPES][FEW_ORDERS][4];
};

extern const struct few_kernels few_avx2;
extern const struct few_kernels few_avx512;

#endif /* LIBACCEL_SW_FAST_FEW_H */
