/* SPDX-License-Identifier: MIT */
/*
 * Products whose scales change along K: what the class and its kernels agree on.
 *
 * A sum goes over a group of K, exactly: bytes by bytes, or bf16 by the integers that
 * weights are. What a group gives is multiplied by its scales and added up in binary32.
 */
#ifndef LIBACCEL_SW_FAST_GROUPED_H
#define LIBACCEL_SW_FAST_GROUPED_H

#include "libaccel/sw/kernels/ends/epilogue.h"
#include "libaccel/sw/kernels/fast.h"

/** GROUPED_MR: most rows of a kernel */
#define GROUPED_MR	6
/** GROUPED_FEW: most rows that meet columns of blocks as these are turned */
#define GROUPED_FEW	4
/** GROUPED_NIBBLES: most rows that meet packed columns of 4-bit numbers where these lie */
#define GROUPED_NIBBLES	8
/** GROUPED_TILE: rows of a tile */
#define GROUPED_TILE	16u
/** GROUPED_MAX: most elements of a group; longer ones are cut */
#define GROUPED_MAX	4096u

/**
 * struct grouped_call - some rows by two vectors of columns, some groups of K
 * @a: words of a row after each other
 * @a_row: bytes from row to row, of all that belongs to one
 * @b: words of both vectors, a step after the other; few rows: the first column of blocks
 * @groups: number
 * @words: of a group
 * @last: words of the last one
 * @b_scale: two vectors a group
 * @a_scale: of each row, group after group, or NULL: it has none that change
 * @a_sum: bytes: of each row, group after group: what sums start from
 * @a_zero: bytes: zero points likewise, or NULL: there are no products of zero points
 * @a_raw: with @a_zero: sums of the row, less their zero points
 * @b_zero: with @a_zero: two vectors a group
 * @b_sum: with @a_zero: sums of the columns, likewise
 * @a_min: of each row, group after group: what minima of the columns are multiplied with
 * @b_min: minima, two vectors a group, or NULL
 * @c: sums
 * @c_row: distance of rows there
 * @accumulate: add to what is in @c
 * @col: few rows: two vectors of packed columns; nothing in @b's tables
 * @ahead: likewise: distance of what will be read next, behind what is read now
 * @flip: likewise: bits of B to turn over
 * @factor: likewise: of all scales
 * @col_step: packed columns: bytes from eight elements of K to the next; of blocks: from column
 *	to column
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

/* What there is beside products of numbers and scales */
enum grouped_way {
	GROUPED_PLAIN,		/* nothing */
	GROUPED_MINS,		/* minima of groups of columns */
	GROUPED_ZEROS,		/* products of zero points; minima, if @b_min is given */
	GROUPED_WAYS
};

/**
 * struct grouped_kernels - those of a set of instructions
 * @vl: columns of a vector
 * @mr: most rows at once
 * @word: elements of K in a word of A
 * @fn: for so many rows and one more
 * @expand: blocks of @vl columns, @step bytes apart, as words two vectors apart: @count
 *	words of 32 bits of a column, elements of @bits, turned by @flip; @zero, of each
 *	column, is taken off (bf16)
 * @scales: those of @vl columns, times @factor
 * @blocks: @count blocks of @vl columns as words, from byte @at of each column on; turned by
 *	@flip. NULL: not here
 * @columns: @bytes from byte @at of @vl columns on, 16 at a time, as words; of 4-bit numbers
 *	each eight with the even ones first. NULL: not here
 * @turn_scales: @count scales of @vl columns from byte @at of their tables on, of which 16
 *	bytes are read, times @factor, a row of @row for each
 * @tables: scales, and minima where there are some, of @count blocks, a row of @row for each
 *	group that has one
 * @few: whole columns of blocks, @vl equally far apart, of a type from UMA_DTYPE_Q8_0 on, by
 *	1, 2 and GROUPED_FEW rows. NULL: not here
 * @nibbles: two vectors of packed columns of 4-bit numbers, with scales of groups of whole
 *	eights, by so many rows and one more. NULL: not here
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
	void (*few[UMA_DTYPE_Q6_K - UMA_DTYPE_Q8_0 + 1][3])(const struct grouped_call *g);
	void (*nibbles[GROUPED_NIBBLES])(const struct grouped_call *g);
};

extern const struct grouped_kernels grouped_avx2;
extern const struct grouped_kernels grouped_vnni;
extern const struct grouped_kernels grouped_bf16;

/**
 * grouped_tiles_amx - many rows by two vectors of columns, for whoever has @grouped_vnni
 * @g: groups of one length, a multiple of 16 words, without zero points
 * @m: rows, a multiple of GROUPED_TILE
 *
 * Gives the bits that the kernels of @grouped_vnni give.
 */
void grouped_tiles_amx(const struct grouped_call *g, uint32_t m);

#endif /* LIBACCEL_SW_FAST_GROUPED_H */
