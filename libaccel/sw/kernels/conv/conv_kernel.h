/* SPDX-License-Identifier: MIT */
/*
 * Block products of convolutions: a row of outputs by a few vectors of channels.
 */
#ifndef LIBACCEL_SW_FAST_CONV_KERNEL_H
#define LIBACCEL_SW_FAST_CONV_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/** CONV_MR: most outputs of a block */
#define CONV_MR		14u
/** CONV_MR4: most outputs of a block of four vectors */
#define CONV_MR4	7u
/** CONV_LANES: channels of a vector, whatever the registers */
#define CONV_LANES	16u

/** CONV_CHANNELS: most channels of a block */
#define CONV_CHANNELS	64u

/* Products with zeros: of the first output by the first column of taps, the last by the last */
#define CONV_SKIP_FIRST	1u
#define CONV_SKIP_LAST	2u

/* What results of a block may be, at its end */
#define CONV_END_F32	0u
#define CONV_END_BF16	1u
#define CONV_END_BYTES	2u

/**
 * struct conv_end - the end of sums whose results go where they belong from registers
 * @kind: CONV_END_*
 * @residual: there is an addend as large as the result
 * @is_signed: bytes: the residual is s8, not u8
 * @least: least value, 0 for ReLU; of bytes with a residual behind it alone
 * @most: numbers: largest value
 * @last_least: numbers with a residual: least value behind it
 * @last_most: the same, the largest
 * @act: binary32: an activation of what there is then, &enum uma_act; 0: none
 * @p: its parameters
 * @unit: bytes: scale of the residual
 * @none: bytes: its zero point
 * @times: bytes: reciprocal of DST's scale
 * @rest: bytes: what it is less than the reciprocal
 * @zero: bytes: zero point of DST, less 128 if it is u8, in both halves
 * @floor: bytes: least result, less 128 if DST is u8, in all bytes
 * @ceiling: the same, the largest
 * @flip: bytes: bits that make DST's of s8
 * @scale: bytes: for each channel, what sums are multiplied by
 * @bias: for each channel, added
 *
 * Of bytes what is quantised lies within 2^30 units of DST's scale, and fast_quotient()
 * has found that the product with @times and @rest rounds as the quotient does.
 */
struct conv_end {
	uint32_t kind;
	bool residual;
	bool is_signed;
	float least;
	float most;
	float last_least;
	float last_most;
	uint32_t act;
	float p[2];
	float unit;
	float none;
	float times;
	float rest;
	int32_t zero;
	int32_t floor;
	int32_t ceiling;
	int32_t flip;
	float scale[CONV_CHANNELS] __attribute__((aligned(64)));
	float bias[CONV_CHANNELS] __attribute__((aligned(64)));
};

/**
 * struct conv_block - operands of a block product
 * @a: input of the first output at the first tap
 * @a_ms: from the input of an output to that of the next
 * @a_y: from a row of taps to the next
 * @a_x: from a tap to the next in its row
 * @b: weights of the first tap
 * @b_ks: from a step of the sums to the next
 * @b_ns: from a vector of 16 channels to the next
 * @b_y: from a row of taps to the next
 * @b_x: from a tap to the next in its row
 * @acc: sums, 16 numbers of 32 bits for each vector; unless @end is there
 * @acc_ms: from an output to the next
 * @col_add: integers: what the sums of each channel start from, or NULL
 * @row_add: integers: for each output, added to that, or NULL
 * @col_times: integers: what @row_add is multiplied by for each channel, or NULL: by 1
 * @end: how results are made of the sums, or NULL
 * @dst: results
 * @dst_ms: from an output to the next
 * @res: residual of the first output, if @end has one
 * @res_ms: from an output to the next
 * @res_vec: of a vector
 * @last: lanes of the last vector that are there in @dst
 * @rows: rows of taps
 * @cols: taps of a row
 * @k: steps of a tap: a step takes 32 bits of A and multiplies 1, 2 or 4 elements
 * @tail: bits of A that count in the last step of a row of taps, 0: all; for bf16
 * @mask: lanes of the last vector that B has in memory
 * @blocks: blocks of as many outputs, one behind the other
 * @skip: CONV_SKIP_*: what may be left out
 * @fetch: from the weights at hand to those that come next
 * @part: blocks by these weights before: 0 and 1 ask for half of the next ones each, others
 *	for their own, which are a little ahead
 *
 * Distances are in bytes.
 */
struct conv_block {
	const uint8_t *a;
	int64_t a_ms;
	int64_t a_y;
	int64_t a_x;
	const uint8_t *b;
	int64_t b_ks;
	int64_t b_ns;
	int64_t b_y;
	int64_t b_x;
	uint8_t *acc;
	int64_t acc_ms;
	const int32_t *col_add;
	const int32_t *row_add;
	const int32_t *col_times;
	const struct conv_end *end;
	uint8_t *dst;
	int64_t dst_ms;
	const uint8_t *res;
	int64_t res_ms;
	uint32_t res_vec;
	uint32_t rows;
	uint32_t cols;
	uint32_t k;
	uint32_t tail;
	uint32_t mask;
	uint32_t last;
	uint32_t blocks;
	uint32_t skip;
	uint32_t part;
	int64_t fetch;
};

/* Returns blocks done: if these are not all, no result of the next may be relied upon. */
typedef uint32_t (*conv_block_fn)(const struct conv_block *g);

/**
 * struct conv_kernels - the block products of a type on an instruction set
 * @fn: by vectors less one and outputs less one; NULL: not that many
 * @skip: the same that look at conv_block.skip
 * @nv: vectors at most
 * @mr: outputs at most, by vectors less one
 * @ends: kinds of ends that they have, a bit each
 * @has_act: may &struct conv_end.act be this in binary32? NULL: there is none
 */
struct conv_kernels {
	conv_block_fn fn[4][CONV_MR];
	conv_block_fn skip[4][CONV_MR];
	uint32_t nv;
	uint32_t mr[4];
	uint32_t ends;
	bool (*has_act)(uint32_t act);
};

/*
 * With tiles: adds the sums over all taps of any number of outputs, by one or two
 * vectors of channels, to @acc. Of the ends of @g and its @mask and @last nothing is
 * looked at; @b has all lanes, 64 bytes a step.
 */
typedef void (*conv_taps_fn)(const struct conv_block *g, uint32_t outputs);

void conv_taps_s8s8_amx(const struct conv_block *g, uint32_t outputs);
void conv_taps_s8u8_amx(const struct conv_block *g, uint32_t outputs);
void conv_taps_u8s8_amx(const struct conv_block *g, uint32_t outputs);
void conv_taps_u8u8_amx(const struct conv_block *g, uint32_t outputs);
void conv_taps_bf16_amx(const struct conv_block *g, uint32_t outputs);

extern const struct conv_kernels conv_f32_avx512;
extern const struct conv_kernels conv_f32_avx2;
extern const struct conv_kernels conv_bf16_avx512;
extern const struct conv_kernels conv_u8s8_avx512;
extern const struct conv_kernels conv_s8s8_avx512;
extern const struct conv_kernels conv_u8u8_avx512;
extern const struct conv_kernels conv_s8u8_avx512;
extern const struct conv_kernels conv_u8s8_avx2;
extern const struct conv_kernels conv_s8s8_avx2;
extern const struct conv_kernels conv_u8u8_avx2;
extern const struct conv_kernels conv_s8u8_avx2;

#endif /* LIBACCEL_SW_FAST_CONV_KERNEL_H */
