/* SPDX-License-Identifier: MIT */
/*
 * Block products of convolutions: a row of outputs by a few vectors of channels.
 */
#ifndef LIBACCEL_SW_FAST_CONV_KERNEL_H
#define LIBACCEL_SW_FAST_CONV_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/** CONV_MR: maximum outputs of a block */
#define CONV_MR		14u
/** CONV_MR4: maximum outputs of a block of four vectors */
#define CONV_MR4	7u
/** CONV_LANES: channels of a vector, for all register sizes */
#define CONV_LANES	16u

/** CONV_CHANNELS: maximum channels of a block */
#define CONV_CHANNELS	64u

/*
 * Products with padding: of the first output with the first column of taps, the last with the
 * last
 */
#define CONV_SKIP_FIRST	1u
#define CONV_SKIP_LAST	2u

/* Kinds of epilogues of a block */
#define CONV_END_F32	0u
#define CONV_END_BF16	1u
#define CONV_END_BYTES	2u

/**
 * struct conv_end - epilogue that is computed in registers
 * @kind: CONV_END_*
 * @residual: there is an addend with the dimensions of the result
 * @is_signed: bytes: the residual is s8, not u8
 * @least: lower bound, 0 for ReLU; for bytes only if a residual follows
 * @most: floating point: upper bound
 * @last_least: floating point with a residual: lower bound after it
 * @last_most: floating point with a residual: upper bound after it
 * @act: binary32: activation after that, &enum uma_act; 0: none
 * @p: its parameters
 * @unit: bytes: scale of the residual
 * @none: bytes: zero point of the residual
 * @times: bytes: reciprocal of DST's scale
 * @rest: bytes: its remainder
 * @zero: bytes: zero point of DST, minus 128 if it is u8, in both halves
 * @floor: bytes: smallest result, minus 128 if DST is u8, in all bytes
 * @ceiling: bytes: largest result, likewise
 * @flip: bytes: bits that convert s8 to DST's type
 * @scale: bytes: factor of the sums of each channel
 * @bias: addend for each channel
 *
 * Byte results are within 2^30 units of DST's scale before quantisation, and fast_quotient()
 * has verified that the product with @times and @rest rounds like the quotient.
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
 * @acc: sums, 16 32-bit numbers for each vector; unless there is @end
 * @acc_ms: from an output to the next
 * @col_add: integers: initial values of the sums of each channel, or NULL
 * @row_add: integers: for each output, added to that, or NULL
 * @col_times: integers: factor of @row_add for each channel, or NULL: 1
 * @end: epilogue, or NULL
 * @dst: results
 * @dst_ms: from an output to the next
 * @res: residual of the first output, if @end has one
 * @res_ms: from an output to the next
 * @res_vec: size of a vector of it
 * @last: valid lanes of the last vector in @dst
 * @rows: rows of taps
 * @cols: taps of a row
 * @k: steps of a tap: a step uses 32 bits of A and multiplies 1, 2 or 4 elements
 * @tail: valid bits of A in the last step of a row of taps, 0: all; for bf16
 * @mask: lanes of the last vector that B has in memory
 * @blocks: number of consecutive blocks of the same number of outputs
 * @skip: CONV_SKIP_*: products that may be skipped
 * @fetch: distance from these weights to the next ones, for prefetching
 * @part: number of earlier blocks with these weights: 0 and 1 each prefetch half of the next
 *	ones, later ones their own, a little ahead
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

/*
 * Returns the number of completed blocks; results of the next one are undefined if it is less
 * than requested.
 */
typedef uint32_t (*conv_block_fn)(const struct conv_block *g);

/**
 * struct conv_kernels - block products for a type and an instruction set
 * @fn: by vectors less one and outputs less one; NULL: not supported
 * @skip: the same with support for conv_block.skip
 * @nv: maximum vectors
 * @mr: maximum outputs, by vectors less one
 * @ends: mask of supported kinds of epilogues
 * @has_act: is &struct conv_end.act supported in binary32? NULL: none is
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
 * With AMX: adds the sums over all taps of any number of outputs, for one or two vectors of
 * channels, to @acc. Ignores the epilogue of @g, and its @mask and @last; @b has all lanes, 64
 * bytes for each step.
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
