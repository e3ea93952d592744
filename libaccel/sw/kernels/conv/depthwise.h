/* SPDX-License-Identifier: MIT */
/* Depthwise convolutions with 3 x 3 taps: some rows of outputs from their rows of inputs. */
#ifndef LIBACCEL_SW_FAST_DEPTHWISE_H
#define LIBACCEL_SW_FAST_DEPTHWISE_H

#include "conv_fast.h"

/** DW_TAPS: taps along a dimension */
#define DW_TAPS		3u
/** DW_BAND: maximum rows of outputs that are computed at a time */
#define DW_BAND		16u
/** DW_LINES: maximum rows of inputs for these */
#define DW_LINES	(2 * DW_BAND + 1)
/** DW_GROUP: number of vectors whose buffered results are written together */
#define DW_GROUP	8u
/** DW_APART: maximum rows of outputs with buffered results */
#define DW_APART	4u
/** DW_RESULTS: bytes of the buffered results of 7 adjacent outputs */
#define DW_RESULTS	(DW_APART * 7u * DW_GROUP * 64u)
/** DW_FLOATS: numbers for a vector of 16 channels: 9 weights and the bias */
#define DW_FLOATS	(10u * 16u)
/** DW_HALVES: with AVX512_BF16, for 32 channels: 12 vectors of pairs of weights and the bias */
#define DW_HALVES	(14u * 16u)

/**
 * struct dw_prog - a prepared depthwise convolution
 * @g: the model's geometry; a group is a channel
 * @epi: epilogue
 * @es: bytes of an element of A
 * @channels: number of channels
 * @vector: channels of a vector
 * @slice: channels of a tile
 * @lanes: channels of a tile, rounded up to vectors
 * @width: inputs of a row with padding
 * @halves: products use AVX512_BF16
 * @direct: inputs are read without a copy: a row has at most one column of padding at either
 *	end
 * @side: number of adjacent outputs in a vector (for few byte channels), or 1
 * @band: rows of outputs that are computed at a time
 * @lines: rows of inputs for these
 * @rows: rows of outputs of a tile
 * @yblocks: tiles of an image along the rows
 * @slices: tiles along the channels
 * @apart: adjacent outputs map to few sets of the first-level cache
 * @za: zero point of A as used in products
 * @flip: exclusive or of the bytes of A
 * @fused: the kernel computes bias, ReLU and conversion
 * @relu: ReLU
 * @clamp: floats: a clamp
 * @least: lower bound of results, for both
 * @most: upper bound
 * @dst: type of DST
 * @dst_zero: bytes: zero point
 * @dst_scale: bytes: scale
 */
struct dw_prog {
	struct conv_plan g;
	struct fast_epi epi;
	uint32_t es;
	uint32_t channels;
	uint32_t vector;
	uint32_t slice;
	uint32_t lanes;
	uint32_t width;
	uint32_t band;
	uint32_t lines;
	uint32_t rows;
	uint32_t yblocks;
	uint32_t slices;
	uint32_t side;
	int32_t za;
	uint8_t flip;
	bool halves;
	bool direct;
	bool apart;
	bool fused;
	bool relu;
	bool clamp;
	float least;
	float most;
	uint32_t dst;
	int32_t dst_zero;
	float dst_scale;
};

_Static_assert(sizeof(struct dw_prog) <= sizeof(((struct fast_prog *)0)->priv), "priv");

/**
 * struct dw_line - a row of inputs
 * @first: input of the first column
 * @mid: input of the second column
 * @last: input of the last column
 * @px: bytes from @mid to the input of the next column; 0 for padding
 * @none: the row is padding
 */
struct dw_line {
	const uint8_t *first;
	const uint8_t *mid;
	const uint8_t *last;
	int64_t px;
	bool none;
};

/**
 * struct dw_band - some rows of outputs
 * @lines: inputs; those of an output are @ystride after those of the one above
 * @weights: floats: for each vector of channels DW_FLOATS or DW_HALVES; bytes: for each 64
 *	struct dw_bytes
 * @buf: memory for twice DW_RESULTS
 * @edge: bytes: distance at which rounding must be checked, see dw_int8_weights_avx512()
 * @dst_zero: bytes: zero point of DST
 * @dst_scale: bytes: scale of DST
 * @dst_u8: bytes: DST is u8
 * @out: first output
 * @out_ms: bytes to the next output
 * @out_row: bytes to the output below
 * @n: channels of an output
 * @rows: rows of outputs
 * @ystride: stride of windows along the rows
 * @xstride: stride of windows in a row
 * @side: number of adjacent outputs in a vector
 * @outputs: number of vectors in a row
 * @flip: bytes: exclusive or of the inputs
 * @in16: inputs are bf16
 * @halves: @weights are DW_HALVES
 * @out16: results are bf16
 * @fused: bytes: results are bytes, else sums
 * @relu: ReLU
 * @clamp: floats: a clamp
 * @least: floats: lower bound of results
 * @most: floats: upper bound of results
 * @apart: results go through @buf, DW_APART rows at most
 */
struct dw_band {
	struct dw_line lines[DW_LINES];
	const void *weights;
	uint8_t *buf;
	uint8_t *out;
	int64_t out_ms;
	int64_t out_row;
	uint32_t n;
	uint32_t rows;
	uint32_t ystride;
	uint32_t xstride;
	uint32_t side;
	uint32_t outputs;
	uint32_t flip;
	float edge;
	float dst_scale;
	int32_t dst_zero;
	bool dst_u8;
	bool in16;
	bool halves;
	bool out16;
	bool fused;
	bool relu;
	bool clamp;
	float least;
	float most;
	bool apart;
};

/**
 * struct dw_bytes - weights and epilogue of 64 byte channels
 * @weights: for each of two vertically adjacent outputs and each column of taps four vectors of
 *	16 times four rows: the weights and a 0
 * @start: initial values of sums
 * @factor: of the sums, with product and sum rounded once
 * @addend: for @factor
 * @scale: of the sums, with all roundings
 * @bias: for @scale
 *
 * dw_channel() gives the order of the lanes.
 */
struct dw_bytes {
	int8_t weights[2][12][64];
	int32_t start[64];
	float factor[64];
	float addend[64];
	float scale[64];
	float bias[64];
};

void dw_f32_weights_avx512(const struct dw_prog *c, uint32_t n, const uint8_t *w,
			   const float *bias, float *to);
void dw_f32_avx512(const struct dw_band *b);
bool dw_bf16_weights_avx512(const struct dw_prog *c, uint32_t n, const uint8_t *w,
			    const float *bias, float *to);
void dw_bf16_avx512(const struct dw_band *b);
float dw_int8_weights_avx512(const struct dw_prog *c, uint32_t n, const int8_t *w,
			     const float *scale, const float *bias, struct dw_bytes *to);
void dw_int8_avx512(const struct dw_band *b);

/* The channel in lane @lane of vector @v of 64 channels. */
static inline uint32_t dw_channel(uint32_t v, uint32_t lane)
{
	return lane / 4 * 16 + v * 4 + lane % 4;
}

#endif /* LIBACCEL_SW_FAST_DEPTHWISE_H */
