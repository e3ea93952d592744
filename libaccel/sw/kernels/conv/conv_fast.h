/* SPDX-License-Identifier: MIT */
/* Internal interfaces of the tuned convolutions. */
#ifndef LIBACCEL_SW_FAST_CONV_FAST_H
#define LIBACCEL_SW_FAST_CONV_FAST_H

#include "driver/model/uma_conv.h"
#include "conv_kernel.h"
#include "libaccel/sw/kernels/ends/epilogue.h"
#include "libaccel/sw/kernels/fast.h"
#include "wino.h"

/**
 * struct conv_prog - a prepared convolution
 * @g: the model's geometry; strides in elements
 * @epi: epilogue
 * @k: block products
 * @taps: sums over taps with AMX, or NULL: with @k
 * @wino: transforms
 * @lines: kernels that transpose, or NULL
 * @b_ks: bytes of B from a step to the next
 * @b_ns: bytes from a vector of channels to the next
 * @b_y: bytes from a row of taps, or points, to the next
 * @b_x: bytes from a tap, or point, to the next in its row
 * @b_group: bytes from a group's weights to the next one's
 * @v_ms: Winograd: bytes from a transformed tile to the next
 * @px: bytes of an input of a patch
 * @steps: steps of the sums of a tap
 * @mr: outputs of a block
 * @rows: rows of outputs of a tile
 * @cols: outputs of each of them
 * @yblocks: tiles along the rows
 * @nblock: channels of a tile
 * @nblocks: tiles along the channels
 * @patch_room: bytes for a patch
 * @patches: offset of shared patches in the work memory, in units of 64 bytes
 * @group: Winograd: tiles of the output that are transformed together
 * @tgroups: number of such groups in an image
 * @tail: valid parts of the last step's input, 0: all
 * @times: bytes: reciprocal of DST's scale
 * @rest: bytes: its remainder
 * @most: bytes: maximum sum
 * @za: zero point of A as used in products
 * @zb: zero point of B as used in products
 * @b_off: offset of B in products with @k, but not with @taps
 * @es: bytes of an element of A
 * @nv: vectors of a block
 * @end: kind of epilogue in the products, CONV_END_*
 * @zero: byte used for padding
 * @flip: exclusive or of the bytes of A
 * @b_one: byte of B that is 1 in products
 * @b_none: byte of B that is 0 in products
 * @b_full: B has all lanes of the last vector
 * @fused: Winograd: transform and multiply in one phase
 * @packs: weights are packed in a separate phase
 * @zeros: weights have a zero point for each channel
 * @merged: taps of a row are treated as channels
 * @in_place: inputs are read without a copy: channels last, and no padding
 * @shares: tiles along the channels share patches, which an earlier phase makes
 * @flat: outputs of all rows of a tile are one row
 * @ends: products compute the epilogue
 * @turns_in: Winograd: inputs are first converted to channels last
 * @turned: outputs are contiguous in DST, not channels: blocks are transposed
 * @gemm: the operation is a GEMM: its rows are pixels, one for each row of outputs
 */
struct conv_prog {
	struct conv_plan g;
	struct fast_epi epi;
	const struct conv_kernels *k;
	conv_taps_fn taps;
	const struct wino_kernels *wino;
	const struct line_kernels *lines;
	int64_t b_ks;
	int64_t b_ns;
	int64_t b_y;
	int64_t b_x;
	int64_t b_group;
	int64_t v_ms;
	uint32_t px;
	uint32_t steps;
	uint32_t mr;
	uint32_t rows;
	uint32_t cols;
	uint32_t yblocks;
	uint32_t nblock;
	uint32_t nblocks;
	uint32_t patch_room;
	uint32_t patches;
	uint32_t group;
	uint32_t tgroups;
	uint32_t tail;
	float times;
	float rest;
	float most;
	int32_t za;
	int32_t zb;
	int32_t b_off;
	uint8_t es;
	uint8_t nv;
	uint8_t end;
	uint8_t zero;
	uint8_t flip;
	uint8_t b_one;
	uint8_t b_none;
	bool b_full;
	bool fused;
	bool packs;
	bool zeros;
	bool merged;
	bool in_place;
	bool shares;
	bool flat;
	bool ends;
	bool turns_in;
	bool turned;
	bool gemm;
};

_Static_assert(sizeof(struct conv_prog) <= sizeof(((struct fast_prog *)0)->priv), "priv");

static inline const struct conv_prog *conv_prog_of(const struct fast_prog *p)
{
	return (const struct conv_prog *)p->priv;
}

/* Bytes from an output to the next in a row. */
static inline int64_t conv_pitch(const struct fast_run *r, uint32_t slot)
{
	const struct uma_tensor_view *t = &r->prog->op->t[slot];

	return fast_bytes(t->dtype, t->strides[conv_prog_of(r->prog)->gemm ? 0 :
					       r->prog->op->t[UMA_SLOT_DST].rank - 1]);
}

/**
 * struct conv_result - a block of results
 * @x: accumulators of the first output, 16 32-bit numbers for each vector
 * @ld: numbers from an output to the next
 * @image: image
 * @y: row of the outputs
 * @at: first output in it
 * @outputs: number of outputs
 * @n0: first channel, of all groups
 * @n: number of channels, at most 64
 * @scale: bytes: for each channel, or one for all
 */
struct conv_result {
	float *x;
	int64_t ld;
	uint32_t image;
	uint32_t y;
	uint32_t at;
	uint32_t outputs;
	uint32_t n0;
	uint32_t n;
	const float *scale;
};

/* Rows of a patch in a tile that makes shared patches */
#define CONV_PIECE	4u
/* Outputs in a call of the epilogue */
#define CONV_FINISH	128u

uint64_t conv_patch_size(const struct conv_plan *g, uint32_t axis, uint32_t n);

/* Tiles along a row. */
static inline uint32_t conv_xblocks(const struct conv_prog *c)
{
	return (c->g.out[1] + c->cols - 1) / c->cols;
}

/* Tiles that make a patch. */
static inline uint32_t conv_pieces(const struct conv_prog *c)
{
	return ((uint32_t)conv_patch_size(&c->g, 0, c->rows) + CONV_PIECE - 1) / CONV_PIECE;
}

bool conv_plain_bias(const struct uma_tensor_view *t);
void conv_bounds(const struct uma_op *op, float *least, float *most);
bool conv_end_init(const struct fast_run *r, const struct conv_result *b, struct conv_end *e);
uint8_t *conv_place(const struct fast_run *r, const struct conv_result *b, uint32_t slot);
void conv_finish_init(struct conv_prog *c, const struct fast_prog *p);
int conv_finish_block(const struct fast_run *r, const struct conv_result *b);
void conv_turn_avx512(const float *from, int64_t ld, uint32_t rows, uint32_t cols, float *to,
		      int64_t to_ld);

/* Weights in the engine's blocks, @cols matrices in each row. */
static inline bool conv_blocks_init(struct conv_prog *c, const struct fast_prog *p, uint32_t cols)
{
	const uint32_t panels = (c->g.m + CONV_LANES - 1) / CONV_LANES;

	if (uma_le16(p->cap->block_n) != CONV_LANES)
		return false;
	c->b_full = true;
	c->b_ks = 4 * CONV_LANES;
	c->b_ns = (int64_t)uma_packed_panel_blocks(&p->op->t[UMA_SLOT_B], p->cap);
	c->b_x = c->b_ns * panels;
	c->b_y = c->b_x * cols;
	return true;
}

/* Lanes of the last of @vecs vectors that B has for @n channels; blocks have all. */
static inline uint32_t conv_mask(const struct conv_prog *c, uint32_t n, uint32_t vecs)
{
	return c->b_full || n >= vecs * CONV_LANES ? 0xffff :
	       (1u << (n - (vecs - 1) * CONV_LANES)) - 1;
}

static inline const uint8_t *conv_weights(const struct uma_tensor_view *b)
{
	return (const uint8_t *)fast_ptr(b) +
	       (b->layout == UMA_LAYOUT_STRIDED ? 0 : sizeof(struct uma_packed_header));
}

int conv_tile(const struct fast_run *r, uint32_t phase, uint32_t tile);
uint64_t conv_weights_bytes(struct conv_prog *c);
uint32_t conv_weights_tiles(const struct conv_prog *c);
void conv_weights_tile(const struct fast_run *r, uint32_t tile);

/* Is there a phase that reads the weights first? */
static inline bool conv_looks_at_weights(const struct conv_prog *c)
{
	return c->packs || c->za || c->zeros;
}

/* Bytes of a number for each channel. */
static inline uint64_t conv_channels_bytes(const struct conv_prog *c)
{
	return ((uint64_t)c->g.m * c->g.groups + 31) / 16 * 64;
}

/* Values added to the sums of each channel, in the work memory. */
static inline int32_t *conv_col_add(const struct conv_prog *c, void *work)
{
	return c->za ? work : NULL;
}

/* Factors of the sum of an output's inputs for each channel, after these. */
static inline int32_t *conv_col_times(const struct conv_prog *c, void *work)
{
	return c->zeros ? (int32_t *)((char *)work + (c->za ? conv_channels_bytes(c) : 0)) : NULL;
}

/* Bytes of both. */
static inline uint64_t conv_col_bytes(const struct conv_prog *c)
{
	return ((c->za ? 1 : 0) + (c->zeros ? 1 : 0)) * conv_channels_bytes(c);
}

void conv_turn_row(const struct conv_prog *c, uint8_t *to, const uint8_t *from, int64_t xs,
		   int64_t cs, uint32_t n);
void conv_patch(const struct conv_prog *c, const struct uma_tensor_view *a, uint32_t image,
		uint32_t group, uint32_t y, uint32_t rows, uint32_t x, uint32_t cols,
		uint32_t first, uint32_t count, uint8_t *to);

#endif /* LIBACCEL_SW_FAST_CONV_FAST_H */
