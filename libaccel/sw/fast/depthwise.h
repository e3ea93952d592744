/* SPDX-License-Identifier: MIT */
/*
 * Depthwise convolutions of 3 x 3 taps: a row or two of outputs from the rows of inputs
 * that they see.
 */
#ifndef LIBACCEL_SW_FAST_DEPTHWISE_H
#define LIBACCEL_SW_FAST_DEPTHWISE_H

#include "conv_fast.h"

/** DW_TAPS: along a dimension */
#define DW_TAPS		3u
/** DW_ROWS: most rows of inputs: two outputs one below the other share two */
#define DW_ROWS		4u
/** DW_FLOATS: numbers in front of a vector of 16 channels: 9 weights and the bias */
#define DW_FLOATS	(10u * 16u)
/** DW_HALVES: with AVX512_BF16: 12 vectors of pairs of weights and the bias */
#define DW_HALVES	(13u * 16u)

/**
 * struct dw_prog - a prepared depthwise convolution
 * @g: geometry as the model has it; a group is a channel
 * @epi: what follows the sums
 * @es: bytes of an element of A
 * @channels: number
 * @lanes: channels with those that fill vectors
 * @width: inputs of a row with padding
 * @halves: products are those of AVX512_BF16
 * @direct: inputs are read where they lie: a row has at most one column of padding at
 *	either end
 * @pairs: bytes of 32 channels: two outputs side by side are 64 channels
 * @both: rows of outputs that are formed together, 1 or 2
 * @rows: rows of outputs of a tile
 * @yblocks: tiles of an image
 * @za: zero point of A as products see it
 * @flip: exclusive or of the bytes of A
 * @fused: bias, ReLU and conversion are done in the kernel
 * @relu: ReLU
 * @dst: type of DST
 * @dst_zero: bytes: zero point
 * @dst_scale: bytes: scale
 */
struct dw_prog {
	struct conv_plan g;
	struct fast_epi epi;
	uint32_t es;
	uint32_t channels;
	uint32_t lanes;
	uint32_t width;
	uint32_t both;
	uint32_t rows;
	uint32_t yblocks;
	int32_t za;
	uint8_t flip;
	bool halves;
	bool direct;
	bool pairs;
	bool fused;
	bool relu;
	uint32_t dst;
	int32_t dst_zero;
	float dst_scale;
};

_Static_assert(sizeof(struct dw_prog) <= sizeof(((struct fast_prog *)0)->priv), "priv");

/**
 * struct dw_row - a row of outputs, or two
 * @first: input of the first column, in each of @rows + 2 rows of inputs
 * @mid: input of the second column
 * @last: input of the last column
 * @px: bytes from @mid to the input of the next column; 0 where a row is padding
 * @weights: floats: for each vector of 16 channels DW_FLOATS or DW_HALVES;
 *	bytes: for each 64 struct dw_bytes
 * @edge: bytes: where rounding may have to be looked at, see dw_int8_weights_avx512()
 * @dst_zero: bytes: zero point of DST
 * @dst_scale: bytes: scale of DST
 * @dst_u8: bytes: DST is u8
 * @out: first output
 * @out_ms: bytes to the next output
 * @out_row: bytes to the output below
 * @n: channels of an output
 * @rows: rows of outputs
 * @stride: distance of windows
 * @outputs: number in a row
 * @flip: bytes: exclusive or of the inputs
 * @in16: inputs are bf16
 * @halves: @weights are DW_HALVES
 * @out16: results are bf16
 * @fused: bytes: results are bytes, else sums
 * @relu: ReLU
 */
struct dw_row {
	const uint8_t *first[DW_ROWS];
	const uint8_t *mid[DW_ROWS];
	const uint8_t *last[DW_ROWS];
	int64_t px[DW_ROWS];
	const void *weights;
	uint8_t *out;
	int64_t out_ms;
	int64_t out_row;
	uint32_t n;
	uint32_t rows;
	uint32_t stride;
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
};

/**
 * struct dw_bytes - what bytes of 64 channels are multiplied by, and what follows
 * @weights: for each of the outputs one below the other and each column of taps four
 *	vectors of 16 times four rows: the weights and a 0
 * @start: what sums start from
 * @factor: of the sums, if products and sums are rounded otherwise
 * @addend: likewise
 * @scale: of the sums
 * @bias: of the products
 *
 * Lanes are channels as dw_channel() says.
 */
struct dw_bytes {
	int8_t weights[2][12][64];
	int32_t start[64];
	float factor[64];
	float addend[64];
	float scale[64];
	float bias[64];
};

void dw_f32_weights_avx512(const struct dw_prog *c, const uint8_t *w, const float *bias,
			   float *to);
void dw_f32_avx512(const struct dw_row *r);
bool dw_bf16_weights_avx512(const struct dw_prog *c, const uint8_t *w, const float *bias,
			    float *to);
void dw_bf16_avx512(const struct dw_row *r);
float dw_int8_weights_avx512(const struct dw_prog *c, const int8_t *w, const float *scale,
			     const float *bias, struct dw_bytes *to);
void dw_int8_avx512(const struct dw_row *r);

/* The channel that lane @lane of vector @v of 64 has. */
static inline uint32_t dw_channel(uint32_t v, uint32_t lane)
{
	return lane / 4 * 16 + v * 4 + lane % 4;
}

#endif /* LIBACCEL_SW_FAST_DEPTHWISE_H */
