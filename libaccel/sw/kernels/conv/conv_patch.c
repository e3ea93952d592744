// SPDX-License-Identifier: MIT
/*
 * Copies the input of a block of output rows to the form that products need: contiguous
 * channels, with padding, so that the products need not handle edges.
 */
#include <string.h>
#include "conv_fast.h"
#include "libaccel/sw/kernels/lines/lines.h"

/**
 * struct patch_axis - inputs of a run of outputs along a dimension
 * @first: first input, which may be in the padding
 * @step: from an input that is kept to the next
 * @count: number of inputs that are kept
 */
struct patch_axis {
	int64_t first;
	uint32_t step;
	uint32_t count;
};

/* A single tap does not need the inputs that the stride skips. */
static struct patch_axis axis_of(const struct conv_plan *g, uint32_t axis, uint32_t o, uint32_t n)
{
	struct patch_axis a = {
		.first = (int64_t)o * g->stride[axis] - g->pad[axis],
		.step = g->kernel[axis] == 1 ? g->stride[axis] : 1,
	};

	a.count = g->kernel[axis] == 1 ? n :
		  (n - 1) * g->stride[axis] + (g->kernel[axis] - 1) * g->dilation[axis] + 1;
	return a;
}

/**
 * conv_patch_size - number of inputs of a run of outputs along a dimension
 * @g: geometry
 * @axis: dimension
 * @n: outputs
 *
 * Return: number of inputs.
 */
uint64_t conv_patch_size(const struct conv_plan *g, uint32_t axis, uint32_t n)
{
	if (g->kernel[axis] == 1)
		return n;
	return (uint64_t)(n - 1) * g->stride[axis] +
	       (uint64_t)(g->kernel[axis] - 1) * g->dilation[axis] + 1;
}

/* Inputs of @a that are not padding: @lo .. @hi of those kept. */
static void inside(const struct patch_axis *a, uint32_t in, uint32_t *lo, uint32_t *hi)
{
	int64_t from = a->first < 0 ? (-a->first + a->step - 1) / a->step : 0;
	int64_t to = a->first >= in ? 0 : (in - a->first + a->step - 1) / a->step;

	*lo = (uint32_t)UMA_MIN(from, (int64_t)a->count);
	*hi = (uint32_t)UMA_MAX(UMA_MIN(to, (int64_t)a->count), (int64_t)*lo);
}

/* Pixels of a row with contiguous channels. */
static void copy_row(const struct conv_prog *c, uint8_t *to, const uint8_t *from, int64_t xs,
		     uint32_t n)
{
	const uint32_t bytes = c->g.c * c->es, px = c->px;
	uint32_t i;

	if (xs == px && bytes == px) {
		memcpy(to, from, (uint64_t)n * px);
		return;
	}
	for (i = 0; i < n; i++, to += px, from += xs) {
		memcpy(to, from, bytes);
		memset(to + bytes, 0, px - bytes);
	}
}

/* With fewer pixels than this there may be no square to transpose in registers */
#define TURN_PIXELS	16u

/* Pixels of a row, channels @cs bytes apart. */
#define TURN_ROW(type)							\
	for (k = 0; k < c->g.c; k++)					\
		for (i = 0; i < n; i++)					\
			*(type *)(to + (uint64_t)i * px + k * sizeof(type)) = \
				*(const type *)(from + k * cs + i * xs)

void conv_turn_row(const struct conv_prog *c, uint8_t *to, const uint8_t *from, int64_t xs,
		   int64_t cs, uint32_t n)
{
	const uint32_t px = c->px, tail = px - c->g.c * c->es;
	uint32_t i, k;

	if (c->lines && xs == c->es && n >= TURN_PIXELS)
		c->lines->turn(to, px, from, cs, n, c->g.c, c->es);
	else if (c->es == 4)
		TURN_ROW(uint32_t);
	else if (c->es == 2)
		TURN_ROW(uint16_t);
	else
		TURN_ROW(uint8_t);
	for (i = 0; tail && i < n; i++)
		memset(to + (uint64_t)(i + 1) * px - tail, 0, tail);
}

static void flip_row(const struct conv_prog *c, uint8_t *to, uint32_t n)
{
	const uint64_t bytes = (uint64_t)n * c->px, mask = 0x0101010101010101ull * c->flip;
	uint64_t i, word;

	for (i = 0; i + 8 <= bytes; i += 8) {
		memcpy(&word, to + i, 8);
		word ^= mask;
		memcpy(to + i, &word, 8);
	}
	for (; i < bytes; i++)
		to[i] ^= c->flip;
}

/* Padding: channels have the zero point, the rest of a pixel is 0. */
static void pad_row(const struct conv_prog *c, uint8_t *to, uint32_t n)
{
	const uint32_t bytes = c->g.c * c->es;
	uint32_t i;

	if (!c->zero || bytes == c->px) {
		memset(to, c->zero, (uint64_t)n * c->px);
		return;
	}
	for (i = 0; i < n; i++, to += c->px) {
		memset(to, c->zero, bytes);
		memset(to + bytes, 0, c->px - bytes);
	}
}

/**
 * conv_patch - copy the input of rows of outputs
 * @c: convolution
 * @a: input
 * @image: image
 * @group: group of channels
 * @y: first row of the outputs
 * @rows: number of rows
 * @x: first output of a row
 * @cols: number of outputs in it
 * @first: first requested row of the patch
 * @count: number of requested rows, limited to those that exist
 * @to: room for the whole patch
 */
void conv_patch(const struct conv_prog *c, const struct uma_tensor_view *a, uint32_t image,
		uint32_t group, uint32_t y, uint32_t rows, uint32_t x, uint32_t cols,
		uint32_t first, uint32_t count, uint8_t *to)
{
	const struct conv_plan *g = &c->g;
	const struct patch_axis ay = axis_of(g, 0, y, rows), ax = axis_of(g, 1, x, cols);
	const int64_t es = c->es, cs = g->a_stride[CONV_C] * es;
	const int64_t xs = g->a_stride[CONV_X] * es * ax.step;
	const uint8_t *from = (const uint8_t *)fast_ptr(a) +
			      (image * g->a_stride[CONV_N] +
			       (int64_t)group * g->c * g->a_stride[CONV_C]) * es;
	const uint64_t bytes = (uint64_t)ax.count * c->px;
	const uint32_t left = ay.count - UMA_MIN(first, ay.count);
	const uint32_t end = ay.count - left + UMA_MIN(count, left);
	uint32_t i, ylo, yhi, xlo, xhi;

	inside(&ay, g->in[0], &ylo, &yhi);
	inside(&ax, g->in[1], &xlo, &xhi);
	to += first * bytes;
	for (i = first; i < end; i++, to += bytes) {
		const uint8_t *row = from +
			(ay.first + (int64_t)i * ay.step) * g->a_stride[CONV_Y] * es +
			(ax.first + (int64_t)xlo * ax.step) * g->a_stride[CONV_X] * es;

		if (i < ylo || i >= yhi) {
			pad_row(c, to, ax.count);
			continue;
		}
		pad_row(c, to, xlo);
		pad_row(c, to + (uint64_t)xhi * c->px, ax.count - xhi);
		if (cs == es || g->c == 1)
			copy_row(c, to + (uint64_t)xlo * c->px, row, xs, xhi - xlo);
		else
			conv_turn_row(c, to + (uint64_t)xlo * c->px, row, xs, cs, xhi - xlo);
		if (c->flip)
			flip_row(c, to + (uint64_t)xlo * c->px, xhi - xlo);
	}
}
