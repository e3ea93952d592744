/* SPDX-License-Identifier: MIT */
/*
 * Products of few rows by weights as they lie: what the class and its kernels
 * agree on.
 */
#ifndef LIBACCEL_SW_FAST_FEW_H
#define LIBACCEL_SW_FAST_FEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** FEW_ROWS: most rows of A */
#define FEW_ROWS	8u

/* Which of B's elements are neighbours */
enum few_order {
	FEW_N,		/* columns: a row of B after the other is added up */
	FEW_K,		/* rows: a column is a dot product */
	FEW_ORDERS
};

/* Types of B */
enum few_type {
	FEW_F32,
	FEW_BF16,
	FEW_F16,
	FEW_NIBBLES,	/* 4-bit integers with scales of groups; from here on along K only */
	FEW_Q4_0,	/* types of blocks */
	FEW_Q4_1,
	FEW_Q8_0,
	FEW_Q4_K,
	FEW_Q6_K,
	FEW_TYPES
};

/* 4-bit numbers of which A has the order, see few_lines.h */
static inline bool few_is_lines(enum few_type type)
{
	return type == FEW_NIBBLES || type == FEW_Q4_0 || type == FEW_Q4_1;
}

/**
 * struct few_call - all of K for some columns
 * @a: rows, K binary32 numbers each; those that there are not may be any. Of lines the first
 *	has all, side by side
 * @b: the first column's first element
 * @step: bytes from a row of B to the next, or from a column to the next
 * @c: sums, a row of whole vectors for each of @a; FEW_N adds to what is there
 * @c_row: distance of rows there
 * @k: length of the sums
 * @n: columns
 * @zero: 4-bit numbers: zero point of all
 * @is_signed: likewise: they are
 * @scales: FEW_NIBBLES: of the first column, a group of 1 << @group_shift after the other
 * @scales_step: bytes from those of a column to those of the next
 * @group_shift: see there
 * @half: they are binary16, else binary32
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
 * struct few_kernels - those of a set of instructions
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
