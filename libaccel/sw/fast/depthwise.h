/* SPDX-License-Identifier: MIT */
/*
 * Depthwise convolutions of 3 x 3 taps: a row of outputs from three rows of inputs.
 */
#ifndef LIBACCEL_SW_FAST_DEPTHWISE_H
#define LIBACCEL_SW_FAST_DEPTHWISE_H

#include "conv_fast.h"

/** DW_TAPS: along a dimension */
#define DW_TAPS		3u

/**
 * struct dw_prog - a prepared depthwise convolution
 * @g: geometry as the model has it; a group is a channel
 * @epi: what follows the sums
 * @es: bytes of an element of A
 * @channels: number
 * @lanes: channels in memory of the kernels, with those that fill vectors
 * @width: inputs of a row with padding
 * @direct: inputs are read where they lie, but for those beside padding
 * @pairs: bytes of 32 channels: two outputs side by side are 64 channels
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
	uint32_t rows;
	uint32_t yblocks;
	int32_t za;
	uint8_t flip;
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
 * struct dw_row - a row of outputs
 * @in: rows of inputs with padding: binary32, or bytes
 * @weights: for each tap all lanes: binary32; bytes: for each column of taps in 64
 *	channels 4 vectors of 16 times (row 0, 1, 2, nothing)
 * @start: what sums start from, for all lanes: bias; bytes: s32 in the order of @weights
 * @scale: bytes: factors of the sums, likewise
 * @bias: bytes: addends of those, likewise
 * @out: DST, or sums if not fused
 * @out_ms: bytes to the next output
 * @px: bytes from an input to the next
 * @n: channels of an output
 * @in16: inputs are bf16
 * @flip: bytes: exclusive or of the inputs
 * @stride: distance of windows
 * @outputs: number
 */
struct dw_row {
	const uint8_t *in[DW_TAPS];
	const void *weights;
	const void *start;
	const float *scale;
	const float *bias;
	uint8_t *out;
	int64_t out_ms;
	int64_t px;
	uint32_t n;
	bool in16;
	uint32_t flip;
	uint32_t stride;
	uint32_t outputs;
};

void dw_widen_bf16_avx512(float *to, const uint16_t *from, uint64_t n);
void dw_f32_avx512(const struct dw_prog *c, const struct dw_row *r);
void dw_int8_weights_avx512(const struct dw_prog *c, const int8_t *w, int64_t ys, int64_t xs,
			    uint8_t *weights, int32_t *start);
void dw_int8_order_avx512(const float *from, uint32_t n, float *to);
void dw_int8_avx512(const struct dw_prog *c, const struct dw_row *r);

/* The channel that lane @lane of vector @v of 64 has. */
static inline uint32_t dw_channel(uint32_t v, uint32_t lane)
{
	return lane / 4 * 16 + v * 4 + lane % 4;
}

#endif /* LIBACCEL_SW_FAST_DEPTHWISE_H */
