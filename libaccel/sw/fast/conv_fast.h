/* SPDX-License-Identifier: MIT */
/*
 * What the tuned convolutions share.
 */
#ifndef LIBACCEL_SW_FAST_CONV_FAST_H
#define LIBACCEL_SW_FAST_CONV_FAST_H

#include "driver/emu/model/conv.h"
#include "conv_kernel.h"
#include "fast.h"
#include "wino.h"

/**
 * struct conv_line - how numbers of a row of results are finished
 * @dst: first channel of the first output
 * @dst_ms: bytes to the next output
 * @res: residual of the first channel of the first output, or NULL
 * @res_ms: bytes to the next output
 * @bias: of the first channel, or NULL
 * @scale: of the first channel, for sums of bytes, or NULL
 * @row_fix: for each output what its sums have too much of, or NULL
 * @col_fix: for each channel what its sums have too much of, or NULL
 * @x: accumulators, binary32 or s32
 * @x_ms: bytes to the next output
 * @outputs: number
 * @n: channels
 */
struct conv_line {
	uint8_t *dst;
	int64_t dst_ms;
	const uint8_t *res;
	int64_t res_ms;
	const float *bias;
	const float *scale;
	const int32_t *row_fix;
	const int32_t *col_fix;
	const uint8_t *x;
	int64_t x_ms;
	uint32_t outputs;
	uint32_t n;
};

/**
 * struct conv_finish - the part that is the same for all lines
 * @dst: type of DST
 * @res: type of the residual
 * @relu: no less than 0, before @res_post or at the end
 * @res_post: the residual is added last
 * @integer: accumulators are s32
 * @dst_scale: DST's elements are the numbers over this, plus @dst_zero
 * @dst_zero: DST's zero point
 * @res_scale: of the residual's elements, less @res_zero
 * @res_zero: the residual's zero point
 */
struct conv_finish {
	uint8_t dst;
	uint8_t res;
	uint8_t relu;
	uint8_t res_post;
	uint8_t integer;
	float dst_scale;
	int32_t dst_zero;
	float res_scale;
	int32_t res_zero;
};

typedef void (*conv_finish_fn)(const struct conv_finish *f, const struct conv_line *l);

void conv_finish_avx512(const struct conv_finish *f, const struct conv_line *l);
void conv_finish_avx2(const struct conv_finish *f, const struct conv_line *l);

/**
 * struct conv_prog - a prepared convolution
 * @g: geometry as the model has it; strides in elements
 * @k: block products
 * @wino: transforms
 * @finish: vectorised end, NULL: rows of the model
 * @fin: for @finish
 * @b_ks: bytes of B from a step to the next
 * @b_ns: bytes from a vector of channels to the next
 * @b_tap: bytes from a matrix to the next, 0: by the strides
 * @es: bytes of an element of A
 * @zero: byte that padding is made of
 * @px: bytes of an input of a patch
 * @mr: outputs of a block
 * @nv: vectors of a block
 * @rows: rows of outputs of a tile
 * @yblocks: tiles along the rows
 * @nblock: channels of a tile
 * @nblocks: tiles along the channels
 * @group: Winograd: tiles of the output that are transformed together
 * @tgroups: groups of them in an image
 * @fused: Winograd: transform and multiply in one phase
 * @v_ms: Winograd: bytes from a transformed tile to the next
 */
struct conv_prog {
	struct conv_plan g;
	const struct conv_kernels *k;
	const struct wino_kernels *wino;
	conv_finish_fn finish;
	struct conv_finish fin;
	int64_t b_ks;
	int64_t b_ns;
	int64_t b_tap;
	uint32_t es;
	uint32_t zero;
	uint32_t px;
	uint32_t mr;
	uint32_t nv;
	uint32_t rows;
	uint32_t yblocks;
	uint32_t nblock;
	uint32_t nblocks;
	uint32_t group;
	uint32_t tgroups;
	uint32_t fused;
	int64_t v_ms;
};

_Static_assert(sizeof(struct conv_prog) <= sizeof(((struct fast_prog *)0)->priv), "priv");

static inline const struct conv_prog *conv_prog_of(const struct fast_prog *p)
{
	return (const struct conv_prog *)p->priv;
}

/**
 * struct conv_result - a block of results
 * @x: accumulators of the first output
 * @x_ms: bytes to the next output
 * @image: image
 * @y: row of the outputs
 * @at: first output in it
 * @outputs: number
 * @n0: first channel, of all groups
 * @n: channels
 */
struct conv_result {
	uint8_t *x;
	int64_t x_ms;
	uint32_t image;
	uint32_t y;
	uint32_t at;
	uint32_t outputs;
	uint32_t n0;
	uint32_t n;
};

/* Where B's numbers lie: in blocks of 16 columns, or rows of binary32. */
static inline bool conv_weights_init(struct conv_prog *c, const struct fast_prog *p, int64_t ks,
				     int64_t ns)
{
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];
	const uint32_t panels = (c->g.m + CONV_LANES - 1) / CONV_LANES;

	if (b->layout == UMA_LAYOUT_STRIDED) {
		c->b_ks = ks * 4;
		c->b_ns = 4 * CONV_LANES;
		return b->dtype == UMA_DTYPE_F32 && ns == 1;
	}
	if (uma_le16(p->cap->block_n) != CONV_LANES)
		return false;
	c->b_ks = 4 * CONV_LANES;
	c->b_ns = (int64_t)uma_packed_panel_blocks(b, p->cap);
	c->b_tap = c->b_ns * panels;
	return true;
}

/* Lanes of the last of @vecs vectors that B has for @n channels; blocks have all. */
static inline uint32_t conv_mask(const struct conv_prog *c, uint32_t n, uint32_t vecs)
{
	return c->b_tap || n >= vecs * CONV_LANES ? 0xffff :
	       (1u << (n - (vecs - 1) * CONV_LANES)) - 1;
}

static inline const uint8_t *conv_weights(const struct uma_tensor_view *b)
{
	return (const uint8_t *)fast_ptr(b) +
	       (b->layout == UMA_LAYOUT_STRIDED ? 0 : sizeof(struct uma_packed_header));
}

uint64_t conv_patch_size(const struct conv_plan *g, uint32_t axis, uint32_t n);
void conv_patch(const struct conv_prog *c, const struct uma_tensor_view *a, uint32_t image,
		uint32_t group, uint32_t y, uint32_t rows, uint8_t *to);
void conv_finish_init(struct conv_prog *c, const struct fast_prog *p);
int conv_finish_block(const struct fast_run *r, const struct conv_result *b);

#endif /* LIBACCEL_SW_FAST_CONV_FAST_H */
