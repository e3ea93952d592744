/* SPDX-License-Identifier: MIT */
/*
 * Products whose scales change along K: interface of the class and its kernels.
 *
 * The products of a group of K are summed exactly: bytes by bytes, or bf16 by integer weights.
 * The sum of a group is multiplied by its scales and added in binary32.
 */
#ifndef LIBACCEL_SW_FAST_GROUPED_H
#define LIBACCEL_SW_FAST_GROUPED_H

#include "libaccel/sw/kernels/ends/epilogue.h"
#include "libaccel/sw/kernels/fast.h"
#include "gemm_kernel.h"

/** GROUPED_MR: maximum rows of a kernel */
#define GROUPED_MR	6
/** GROUPED_FEW: maximum rows of a kernel for columns of blocks that are not stored expanded */
#define GROUPED_FEW	8
/** GROUPED_NIBBLES: maximum rows of a kernel for packed 4-bit columns that are not expanded */
#define GROUPED_NIBBLES	8
/** GROUPED_TILE: rows of an AMX tile */
#define GROUPED_TILE	16u
/** GROUPED_BF16: minimum number of rows for which A and B become bf16, for AMX, if permitted */
#define GROUPED_BF16	32u
/** GROUPED_LONG: minimum elements of a group of bf16 for AMX, which has to be configured for it */
#define GROUPED_LONG	128u
/** GROUPED_MAX: maximum number of elements of a group; longer ones are divided */
#define GROUPED_MAX	4096u

/**
 * struct grouped_call - some rows by two vectors of columns, for some groups of K
 * @a: words of the rows, contiguous in a row; columns of blocks: of a group the words of each
 *	row, then the sums, the scales and, if columns have minima, their factors of all rows
 * @a_row: bytes from row to row, including the data after its words
 * @b: words of both vectors, step by step; few rows: the first column of blocks
 * @groups: number of groups
 * @words: words of a group
 * @last: words of the last group
 * @b_scale: two vectors for each group
 * @a_scale: of each row, one for each group, or NULL: it does not change
 * @a_sum: bytes: of each row, one for each group: initial values of sums
 * @a_zero: bytes: zero points, likewise, or NULL: there are no products of zero points
 * @a_raw: with @a_zero: sums of the row, minus their zero points
 * @b_zero: with @a_zero: two vectors for each group
 * @b_sum: with @a_zero: sums of the columns, likewise
 * @a_min: of each row, one for each group: factors of the minima of the columns
 * @b_min: minima, two vectors for each group, or NULL
 * @c: sums
 * @c_row: stride of the rows of @c
 * @accumulate: add to the contents of @c
 * @col: few rows: two vectors of packed columns, instead of @b and its tables
 * @ahead: few rows: prefetch distance
 * @flip: few rows: bits of B to invert
 * @factor: few rows: factor of all scales
 * @col_step: packed columns: bytes from eight elements of K to the next; columns of blocks:
 *	bytes from column to column
 * @table: packed columns: scales of the first group
 * @table_row: bytes from those of a group to those of the next
 * @half: they are binary16, else binary32
 */
struct grouped_call {
	const uint8_t *a;
	size_t a_row;
	const uint8_t *b;
	uint32_t groups;
	uint32_t words;
	uint32_t last;
	const float *b_scale;
	const uint8_t *a_scale;
	const uint8_t *a_sum;
	const uint8_t *a_zero;
	const uint8_t *a_raw;
	const int32_t *b_zero;
	const int32_t *b_sum;
	const uint8_t *a_min;
	const float *b_min;
	float *c;
	size_t c_row;
	uint32_t accumulate;
	const uint8_t *const *col;
	int64_t ahead;
	uint32_t flip;
	float factor;
	int64_t col_step;
	const uint8_t *table;
	int64_t table_row;
	bool half;
};

/* Terms in addition to products of numbers and scales */
enum grouped_way {
	GROUPED_PLAIN,		/* nothing */
	GROUPED_MINS,		/* minima of groups of columns */
	GROUPED_ZEROS,		/* products of zero points; minima, if @b_min is given */
	GROUPED_WAYS
};

/**
 * struct grouped_kernels - kernels of an instruction set
 * @vl: columns of a vector
 * @mr: maximum number of rows
 * @word: elements of K in a word of A
 * @fn: kernels for 1, 2, ... rows
 * @expand: blocks of @vl columns, @step bytes apart, to words two vectors apart: @count 32-bit
 *	words of a column, with elements of @bits, inverted by @flip; @zero of each column is
 *	subtracted (bf16)
 * @scales: those of @vl columns, times @factor
 * @blocks: @count blocks of @vl columns to words, from byte @at of each column on; inverted by
 *	@flip. NULL: not supported
 * @columns: @bytes from byte @at of @vl columns on, 16 at a time, to words; each eight 4-bit
 *	numbers with the even ones first. NULL: not supported
 * @turn_scales: transpose @count scales of @vl columns from byte @at of their tables on, of
 *	which 16 bytes are read, times @factor, to rows of @row
 * @tables: scales, and minima if any, of @count blocks, a row of @row for each group that has
 *	one
 * @few: whole columns of blocks, @vl equidistant ones of a type from UMA_DTYPE_Q8_0 on, by
 *	1, 2, ... rows, up to the first NULL
 * @nibbles: two vectors of packed columns of 4-bit numbers, with scales of groups that are
 *	multiples of eight, for 1, 2, ... rows. NULL: not supported
 */
struct grouped_kernels {
	uint32_t vl;
	uint32_t mr;
	uint32_t word;

	void (*fn[GROUPED_MR][GROUPED_WAYS])(const struct grouped_call *g);
	void (*expand)(const uint8_t *blocks, size_t step, uint32_t count, uint32_t bits,
		       uint32_t flip, const int32_t *zero, uint8_t *out);
	void (*scales)(const void *p, bool half, float factor, float *out);
	void (*blocks)(const uint8_t *const *col, uint32_t dtype, size_t at, uint32_t count,
		       uint32_t flip, uint8_t *out);
	void (*columns)(const uint8_t *const *col, uint32_t bits, size_t at, size_t bytes,
			uint32_t flip, uint8_t *out);
	void (*turn_scales)(const uint8_t *const *col, size_t at, bool half, uint32_t count,
			    float factor, float *out, size_t row);
	void (*tables)(const uint8_t *const *col, uint32_t dtype, size_t at, uint32_t count,
		       float *scale, float *min, size_t row);
	void (*few[UMA_DTYPE_Q6_K - UMA_DTYPE_Q8_0 + 1][GROUPED_FEW])(const struct grouped_call *g);
	void (*nibbles[GROUPED_NIBBLES])(const struct grouped_call *g);
};

extern const struct grouped_kernels grouped_avx2;
extern const struct grouped_kernels grouped_vnni;
extern const struct grouped_kernels grouped_bf16;

/**
 * grouped_tiles_amx - many rows by two vectors of columns, for whoever has @grouped_vnni or
 *	@grouped_bf16
 * @g: groups of one length, a multiple of 16 words, without zero points
 * @m: rows, a multiple of GROUPED_TILE
 * @bf16: words are bf16
 *
 * Bytes: gives the bits that the kernels of @grouped_vnni give.
 */
void grouped_tiles_amx(const struct grouped_call *g, uint32_t m, bool bf16);

/**
 * grouped_words_bf16 - round two vectors of columns to bf16
 * @g: @b: words of bytes, @words: of each group, with @b_scale, @b_zero and @b_min
 * @out: words of strips of bf16, twice as many, two vectors apart
 */
void grouped_words_bf16(const struct grouped_call *g, uint8_t *out);

/**
 * grouped_strips_bf16 - many rows by two vectors of columns, for whoever has @grouped_bf16
 * @g: groups without minima
 * @strip: kernel of bf16
 * @m: rows
 */
void grouped_strips_bf16(const struct grouped_call *g, fast_gemm_fn strip, uint32_t m);

#endif /* LIBACCEL_SW_FAST_GROUPED_H */
