// SPDX-License-Identifier: MIT
/*
 * Preparation of the weights in a run: those that are not packed are packed, with 16 output
 * channels contiguous, each with 32 bits of the sums; and the sums that are multiplied by a
 * zero point of the inputs are computed.
 */
#include <string.h>
#include "conv_fast.h"

static uint32_t panels_of(const struct conv_prog *c)
{
	return (c->g.m + CONV_LANES - 1) / CONV_LANES;
}

/* Bytes of packed weights. */
uint64_t conv_weights_bytes(struct conv_prog *c)
{
	return c->packs ? (uint64_t)c->b_group * c->g.groups : 0;
}

/* A panel of channels is a tile. */
uint32_t conv_weights_tiles(const struct conv_prog *c)
{
	return conv_looks_at_weights(c) ? panels_of(c) * c->g.groups : 0;
}

/* Store an element of each channel of a panel: one of the parts of a step. */
static void put(const struct conv_prog *c, const uint8_t *from, int64_t ns, uint32_t n,
		uint8_t *to)
{
	uint32_t i;

	for (i = 0; i < n; i++, from += ns, to += 4)
		if (c->es == 1)
			*to = *from;
		else if (c->es == 2)
			*(uint16_t *)to = *(const uint16_t *)from;
		else
			*(uint32_t *)to = *(const uint32_t *)from;
}

static void pack(const struct conv_prog *c, const uint8_t *b, uint32_t n, uint8_t *to)
{
	const struct conv_plan *g = &c->g;
	const int64_t es = c->es;
	uint32_t y, x, k, at;

	memset(to, c->b_none, (uint64_t)c->b_ns);
	for (y = 0; y < g->kernel[0]; y++)
		for (x = 0; x < g->kernel[1]; x++)
			for (k = 0; k < g->c; k++) {
				at = (c->merged ? x * g->c + k : k) * c->es;
				put(c, b + (y * g->b_stride[CONV_Y] + x * g->b_stride[CONV_X] +
					    k * g->b_stride[CONV_C]) * es,
				    g->b_stride[CONV_N] * es, n,
				    to + y * c->b_y + (c->merged ? 0 : x * c->b_x) +
				    at / 4 * c->b_ks + at % 4);
			}
}

/* The table of zero points, for each channel of all groups, or NULL. */
static const int32_t *conv_zeros(const struct conv_prog *c, const struct uma_tensor_view *b)
{
	return c->zeros ? (const int32_t *)(uintptr_t)b->zero_addr : NULL;
}

/* - za' sum (B' - zb') for each channel of a panel, computed as products with inputs of 1. */
static void sum(const struct fast_run *r, const uint8_t *b, uint32_t n, const int32_t *zero,
		int32_t *to)
{
	const struct conv_prog *c = conv_prog_of(r->prog);
	const struct conv_plan *g = &c->g;
	const uint32_t taps = g->kernel[0] * g->kernel[1];
	uint8_t *ones = r->scratch;
	int32_t acc[CONV_LANES];
	const struct conv_block k = {
		.a = ones, .b = b, .b_ks = c->b_ks, .b_y = c->b_y, .b_x = c->b_x,
		.acc = (uint8_t *)acc, .rows = g->kernel[0],
		.cols = c->merged ? 1 : g->kernel[1], .k = c->steps, .mask = 0xffff,
		.blocks = 1,
	};
	uint32_t i;

	memset(ones, 0, c->steps * 4ul);
	memset(ones, 1, (c->merged ? g->kernel[1] : 1) * g->c);
	c->k->fn[0][0](&k);
	for (i = 0; i < n; i++)
		to[i] = -c->za * (acc[i] - (int32_t)(taps * g->c) *
				  (c->zb + c->b_off + (zero ? zero[i] : 0)));
}

void conv_weights_tile(const struct fast_run *r, uint32_t tile)
{
	const struct conv_prog *c = conv_prog_of(r->prog);
	const struct uma_tensor_view *b = &r->prog->op->t[UMA_SLOT_B];
	const uint32_t panels = panels_of(c), group = tile / panels;
	const uint32_t n0 = tile % panels * CONV_LANES, n = UMA_MIN(CONV_LANES, c->g.m - n0);
	uint8_t *packed = (uint8_t *)r->work + conv_col_bytes(c);
	const int32_t *zero = conv_zeros(c, b);
	const uint8_t *from = conv_weights(b);
	int32_t *times = conv_col_times(c, r->work);
	uint32_t i;

	/*
	 * The model runs operations with zero points out of the range of a byte; see
	 * conv_tile().
	 */
	if (zero && !fast_zeros_near(b, c->g.m * c->g.groups))
		return;
	if (zero)
		zero += group * c->g.m + n0;
	if (c->packs) {
		packed += group * c->b_group + n0 / CONV_LANES * c->b_ns;
		pack(c, from + (group * c->g.b_group + n0 * c->g.b_stride[CONV_N]) * c->es, n,
		     packed);
		from = packed;
	} else {
		from += n0 / CONV_LANES * c->b_ns;
	}
	if (c->za)
		sum(r, from, n, zero, conv_col_add(c, r->work) + group * c->g.m + n0);
	for (i = 0; zero && i < n; i++)
		times[group * c->g.m + n0 + i] = -(c->zb + zero[i]);
}
