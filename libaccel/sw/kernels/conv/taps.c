// SPDX-License-Identifier: MIT
/*
 * Depthwise convolutions with any window, and contiguous channels or pixels. Rows of inputs are
 * copied with their padding, as words of 32 bits: binary32, or the bytes of some taps of a row.
 * Then the offset of a tap is the same for all outputs, and sums are computed in strips of
 * vectors (taps_kernel.h).
 *
 * Channels last: a vector has channels of a pixel, a strip is the pixels of a row, vector by
 * vector. Otherwise a vector has pixels of a channel, and a strip is a whole band: rows of
 * inputs follow each other without gaps, and sums whose window extends into the next row are
 * discarded. With a stride, inputs are separated into as many planes, each with the rows and
 * columns of one remainder.
 */
#include <string.h>
#include "libaccel/sw/kernels/classes.h"
#include "conv_fast.h"
#include "taps.h"

/* Maximum extent of a window, including the gaps between its taps */
#define SPAN_MAX	256u
#define TAPS_MAX	1024u
#define STRIDE_MAX	16u
/* Channels of a tile: two cache lines of binary32 if they are contiguous */
#define SLICE		32u
/* Multiply-adds of a thread per nanosecond, including all other work */
#define MACS_PER_NS	50u

/**
 * struct taps_prog - a prepared convolution
 * @g: the model's geometry; a group is a channel
 * @epi: epilogue
 * @k: kernels
 * @channels: number of channels
 * @es: bytes of an element of A
 * @group: taps of a row in a word
 * @words: words of taps of a row
 * @slice: channels of a tile
 * @slices: tiles along the channels
 * @rows: rows of outputs of a tile
 * @yblocks: tiles along the rows
 * @band: rows of outputs that are computed at a time
 * @lines: rows of inputs for these
 * @cols: columns of inputs for a row, with padding
 * @width: words of a row; for contiguous pixels, in each plane
 * @height: rows of a plane
 * @phases: planes along a row
 * @za: zero point of A as used in products
 * @flip: exclusive or of the bytes of A
 * @last: channels are contiguous
 * @fused: binary32 sums are computed in DST, with the bias, if channels fill vectors
 */
struct taps_prog {
	struct conv_plan g;
	struct fast_epi epi;
	const struct taps_kernels *k;
	uint32_t channels;
	uint32_t es;
	uint32_t group;
	uint32_t words;
	uint32_t slice;
	uint32_t slices;
	uint32_t rows;
	uint32_t yblocks;
	uint32_t band;
	uint32_t lines;
	uint32_t cols;
	uint32_t width;
	uint32_t height;
	uint32_t phases;
	int32_t za;
	uint8_t flip;
	bool last;
	bool fused;
};

_Static_assert(sizeof(struct taps_prog) <= sizeof(((struct fast_prog *)0)->priv), "priv");

static uint32_t taps_of(const struct taps_prog *c)
{
	return c->g.kernel[0] * c->words;
}

/* Channels of a tile rounded up to vectors; 1 for contiguous pixels. */
static uint32_t lanes_of(const struct taps_prog *c)
{
	return c->last ? (c->slice + TAPS_LANES - 1) / TAPS_LANES * TAPS_LANES : 1;
}

/* Sums of a row of outputs. */
static uint32_t pitch(const struct taps_prog *c)
{
	return c->last ? c->g.out[1] * lanes_of(c) : c->width;
}

/* Words of inputs of a band */
static uint64_t input_words(const struct taps_prog *c)
{
	const uint64_t planes = c->last ? lanes_of(c) : (uint64_t)c->phases * c->g.stride[0];

	return planes * c->height * c->width + TAPS_SLACK;
}

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

static uint64_t weights_bytes(const struct taps_prog *c)
{
	/* Initial values of sums, and weights */
	return round_up(4ull * lanes_of(c)) + round_up(4ull * lanes_of(c) * taps_of(c));
}

/* Are words of every second byte needed? All are computed, and then separated. */
static bool parts_words(const struct taps_prog *c)
{
	return !c->last && c->group > 1 && c->g.stride[1] == 2;
}

/* Bytes of a row of bytes, or of numbers, before conversion to words */
static uint64_t row_bytes(const struct taps_prog *c)
{
	const uint32_t px = c->es == 1 && c->last ? lanes_of(c) / 4 : 1;

	return round_up(4ull * (c->cols + 2 * TAPS_SLACK) * px) * (parts_words(c) ? 3 : 1);
}

static uint64_t band_bytes(const struct taps_prog *c)
{
	return round_up(4 * input_words(c)) +
	       round_up(4 * ((uint64_t)c->band * pitch(c) + TAPS_SLACK)) + row_bytes(c);
}

static void set_band(struct taps_prog *c, uint32_t band)
{
	const struct conv_plan *g = &c->g;

	c->band = band;
	c->lines = (band - 1) * g->stride[0] + (g->kernel[0] - 1) * g->dilation[0] + 1;
	c->height = c->last ? c->lines : (c->lines + g->stride[0] - 1) / g->stride[0];
}

static bool choose_type(struct taps_prog *c, const struct fast_prog *p)
{
	const struct uma_tensor_view *a = &p->op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];
	const bool wide = p->cpu->isa & FAST_AVX512, vnni = p->cpu->isa & FAST_VNNI;

	c->es = uma_dtype_bits(a->dtype) / 8;
	c->k = wide ? &taps_avx512 : &taps_avx2;
	c->group = 1;
	if (uma_is_float(a->dtype))
		return uma_is_float(b->dtype) && !a->quant && !b->quant;
	if (!uma_is_int8(a->dtype) || b->dtype != UMA_DTYPE_S8 || a->quant > UMA_QUANT_TENSOR ||
	    b->quant > UMA_QUANT_CHANNEL || a->zero_addr || b->zero || b->zero_addr)
		return false;
	if (wide && vnni)
		c->k = &taps_vnni;
	c->group = c->k->group;
	c->za = a->quant ? a->zero : 0;
	if (a->dtype == UMA_DTYPE_S8) {
		c->za += 128;
		c->flip = 0x80;
	}
	/* Padding must be a byte. The words of a row of taps must match the stride. */
	return c->za >= 0 && c->za <= 255 && !(c->group * c->g.dilation[1] % c->g.stride[1]);
}

/* Can sums be computed in the result? */
static bool is_fused(const struct taps_prog *c, const struct fast_prog *p)
{
	const struct uma_tensor_view *d = &p->op->t[UMA_SLOT_DST];

	return c->last && c->group == 1 && d->dtype == UMA_DTYPE_F32 && d->strides[1] == 1 &&
	       !(c->epi.steps & ~(EPI_BIAS | EPI_RELU)) &&
	       (!(c->epi.steps & EPI_BIAS) || conv_plain_bias(&p->op->t[UMA_SLOT_BIAS]));
}

/* Compute the parts of a row. */
static void choose_row(struct taps_prog *c)
{
	const struct conv_plan *g = &c->g;
	const uint32_t x = g->stride[1], d = g->dilation[1];

	c->words = (g->kernel[1] + c->group - 1) / c->group;
	c->cols = (g->out[1] - 1) * x + (c->words * c->group - 1) * d + 1;
	c->phases = !c->last && c->group == 1 ? x : 1;
	if (c->last && c->group == 1)
		c->width = c->cols;
	else
		c->width = g->out[1] + (c->words - 1) * c->group * d / x;
}

/* Rows of a tile: several tiles for each thread; rows of a band: what fits in the caches. */
static bool choose_tiles(struct taps_prog *c, struct fast_prog *p)
{
	const struct conv_plan *g = &c->g;
	const uint32_t threads = p->cpu->threads ? p->cpu->threads : 1, out = g->out[0];
	const uint64_t want = threads == 1 ? 1 : 4ull * threads;
	uint64_t tiles;

	c->slice = UMA_MIN(c->channels, SLICE);
	c->slices = (c->channels + c->slice - 1) / c->slice;
	tiles = (uint64_t)g->images * c->slices;
	c->rows = (uint32_t)UMA_MIN(UMA_MAX(out * tiles / want, 2ull * g->kernel[0]), out);
	c->yblocks = (out + c->rows - 1) / c->rows;
	c->rows = (out + c->yblocks - 1) / c->yblocks;
	c->yblocks = (out + c->rows - 1) / c->rows;
	set_band(c, c->rows);
	while (c->band > 1 && band_bytes(c) > p->cpu->l2 / 4)
		set_band(c, (c->band + 1) / 2);
	if (weights_bytes(c) + band_bytes(c) > FAST_SCRATCH || tiles * c->yblocks > 0x7fffffffu)
		return false;
	p->phase_count = 1;
	p->tiles[0] = (uint32_t)(tiles * c->yblocks);
	p->ns = uma_tensor_elements(&p->op->t[UMA_SLOT_DST]) * taps_of(c) * c->group /
		MACS_PER_NS;
	return true;
}

static int taps_prepare(struct fast_prog *p)
{
	const struct uma_tensor_view *a = &p->op->t[UMA_SLOT_A];
	const struct uma_tensor_view *b = &p->op->t[UMA_SLOT_B];
	const struct uma_tensor_view *d = &p->op->t[UMA_SLOT_DST];
	struct taps_prog *c = (struct taps_prog *)p->priv;
	struct conv_plan *g = &c->g;
	uint32_t i;

	if (p->op->u.conv.func >= UMA_CONV_WINOGRAD_2 || uma_tensor_empty(d) ||
	    !(p->cpu->isa & FAST_AVX2) || b->layout != UMA_LAYOUT_STRIDED)
		return 0;
	conv_geometry(p->op, g);
	if (g->transposed || g->c != 1 || g->m != 1)
		return 0;
	for (i = 0; i < 2; i++)
		if (!g->kernel[i] || g->stride[i] > STRIDE_MAX || g->out[i] > 1u << 16 ||
		    g->in[i] > 1u << 20 ||
		    (uint64_t)g->kernel[i] * g->dilation[i] > SPAN_MAX)
			return 0;
	c->channels = g->groups;
	c->last = a->strides[1] == 1 && c->channels >= TAPS_LANES / 2;
	if (g->kernel[0] * g->kernel[1] > TAPS_MAX || !choose_type(c, p) ||
	    (!c->last && g->a_stride[CONV_X] != 1))
		return 0;
	choose_row(c);
	fast_epi_init(&c->epi, p, c->last ? d->rank - 1u : d->rank - 2u,
		      c->last ? 1 : d->rank - 1u, c->group > 1);
	c->fused = is_fused(c, p);
	return choose_tiles(c, p);
}

/* --- what is the same for all outputs of a tile ------------------------------------------- */

/**
 * struct tile - the tile that is processed
 * @r: this thread
 * @c: convolution
 * @a: first row of the image, first channel of the tile
 * @start: initial values of sums of bytes; @fused: the bias
 * @weights: vectors of weights
 * @in: words of inputs
 * @sums: sums
 * @row: a row of inputs
 * @image: image
 * @ch: first channel
 * @n: number of channels
 * @fused: sums are computed in DST
 * @scale: scale of the sums of each channel
 * @off: offset in bytes of each tap
 */
struct tile {
	const struct fast_run *r;
	const struct taps_prog *c;
	const uint8_t *a;
	uint8_t *start;
	uint8_t *weights;
	uint8_t *in;
	uint8_t *sums;
	uint8_t *row;
	uint32_t image;
	uint32_t ch;
	uint32_t n;
	bool fused;
	float scale[SLICE];
	int32_t off[TAPS_MAX];
};

static void find_taps(struct tile *t)
{
	const struct taps_prog *c = t->c;
	const struct conv_plan *g = &c->g;
	const uint32_t vl = c->k->lanes, dx = c->group * g->dilation[1];
	const uint32_t plane = c->height * c->width;
	uint32_t y, x, to;

	for (y = 0; y < g->kernel[0]; y++)
		for (x = 0; x < c->words; x++) {
			const uint32_t row = y * g->dilation[0], col = x * dx;

			if (c->last)
				to = (row * c->width +
				      (c->group == 1 ? col : col / g->stride[1])) * vl;
			else
				to = (row % g->stride[0] * c->phases + col % c->phases) * plane +
				     row / g->stride[0] * c->width + col / g->stride[1];
			t->off[y * c->words + x] = (int32_t)(4 * to);
		}
}

/* The words of taps of a channel's bytes from @from on, @step words apart. */
static uint32_t byte_weights(const struct taps_prog *c, const uint8_t *from, uint32_t *to,
			     uint32_t step)
{
	const int64_t ys = c->g.b_stride[CONV_Y], xs = c->g.b_stride[CONV_X];
	const uint32_t bits = 32 / c->group;
	uint32_t y, x, j, sum = 0;

	for (y = 0; y < c->g.kernel[0]; y++)
		for (x = 0; x < c->words; x++, to += step) {
			*to = 0;
			for (j = 0; j < c->group && x * c->group + j < c->g.kernel[1]; j++) {
				const int8_t *at = (const int8_t *)from + y * ys +
						   (x * c->group + j) * xs;

				*to |= ((uint32_t)*at & (bits == 8 ? 0xff : 0xffff)) << bits * j;
				sum += (uint32_t)*at;
			}
		}
	return c->group == 4 ? -sum * (uint32_t)c->za : 0;
}

/* The same for contiguous channels, a vector for each word. */
static void byte_vectors(const struct tile *t, const uint8_t *from, uint8_t *to)
{
	const struct taps_prog *c = t->c;
	const struct conv_plan *g = &c->g;
	const uint32_t vl = c->k->lanes, px = lanes_of(c), room = c->words * c->group * px;
	struct taps_lines l = {
		.from = from, .step = g->b_stride[CONV_X], .to = t->row, .to_step = px,
		.lines = g->kernel[1], .n = t->n, .flip = c->group == 2 ? 0x80 : 0,
	};
	uint32_t y, v, i;

	for (y = 0; y < g->kernel[0]; y++, l.from += g->b_stride[CONV_Y]) {
		memset(t->row, l.flip, room);
		c->k->copy(&l);
		for (v = 0; v < px; v += vl) {
			const struct taps_join j = {
				.from = t->row + v, .tap = px, .step = c->group * px,
				.to = (uint32_t *)(void *)to + (size_t)v * taps_of(c) +
				      (size_t)y * c->words * vl,
				.to_step = vl, .lines = c->words, .n = vl, .za = l.flip,
			};

			c->k->join(&j);
		}
	}
	for (v = 0; c->group == 4 && v < px; v += vl) {
		c->k->total(to + 4ul * v * taps_of(c), taps_of(c), t->start + 4ul * v);
		for (i = 0; i < vl; i++)
			((uint32_t *)(void *)t->start)[v + i] *= (uint32_t)-c->za;
	}
}

/* Numbers of @n channels; the taps are @step words apart. */
static void float_weights(const struct tile *t, const uint8_t *from, uint32_t n, float *to,
			  uint32_t step)
{
	const struct taps_prog *c = t->c;
	const struct uma_tensor_view *b = &t->r->prog->op->t[UMA_SLOT_B];
	const int64_t cs = fast_bytes(b->dtype, b->strides[0]);
	const int64_t ys = fast_bytes(b->dtype, c->g.b_stride[CONV_Y]);
	const int64_t xs = fast_bytes(b->dtype, c->g.b_stride[CONV_X]);
	const uint32_t run = b->strides[0] == 1 ? n : 1;
	uint32_t y, x, i;

	for (y = 0; y < c->g.kernel[0]; y++)
		for (x = 0; x < c->words; x++, to += step) {
			const uint8_t *at = from + y * ys + x * xs;

			for (i = 0; i < n; i += run, at += cs)
				if (b->dtype == UMA_DTYPE_F32)
					memcpy(to + i, at, 4ul * run);
				else
					t->r->prog->rows->to_f32[b->dtype](to + i, at, run);
		}
}

/* Weights of channels from @ch on: a lane for each, or a word for a single channel. */
static void load_weights(const struct tile *t, uint32_t ch, uint32_t n)
{
	const struct taps_prog *c = t->c;
	const struct uma_tensor_view *b = &t->r->prog->op->t[UMA_SLOT_B];
	const uint32_t vl = c->last ? c->k->lanes : 1, taps = taps_of(c);
	uint32_t *to = (uint32_t *)(void *)t->weights, *start = (uint32_t *)(void *)t->start;
	const uint8_t *from = fast_ptr(b);
	uint32_t i;

	from += fast_bytes(b->dtype, ch * b->strides[0]);
	memset(start, 0, c->last ? weights_bytes(c) : sizeof(*start));
	if (t->fused && c->epi.steps & EPI_BIAS)
		memcpy(start, (float *)fast_ptr(&t->r->prog->op->t[UMA_SLOT_BIAS]) + ch,
		       4ul * n);
	if (c->last && c->group > 1 && b->strides[0] == 1) {
		byte_vectors(t, from, t->weights);
		return;
	}
	for (i = 0; i < n && c->group > 1; i++)
		start[i] = byte_weights(c, from + i * b->strides[0],
					to + (size_t)i / vl * vl * taps + i % vl, vl);
	for (i = 0; i < n && c->group == 1; i += vl)
		float_weights(t, from + fast_bytes(b->dtype, i * b->strides[0]), UMA_MIN(n - i, vl),
			      (float *)(void *)to + (size_t)i * taps, vl);
}

/* --- inputs --------------------------------------------------------------------------- */

/* Position of the first input among a row's columns with padding; returns the number of inputs. */
static uint32_t inputs(const struct taps_prog *c, uint32_t *left)
{
	*left = UMA_MIN(c->g.pad[1], c->cols);
	return UMA_MIN(c->cols - *left, c->g.in[1]);
}

/* Words of a vector of channels of all pixels of a band, for contiguous channels. */
static size_t plane_of(const struct taps_prog *c)
{
	return (size_t)c->height * c->width * c->k->lanes;
}

static void copy_floats(const struct tile *t, struct taps_lines *l)
{
	const uint32_t dtype = t->r->prog->op->t[UMA_SLOT_A].dtype;
	uint32_t i;

	if (dtype == UMA_DTYPE_F32)
		t->c->k->words(l);
	else if (dtype == UMA_DTYPE_BF16)
		t->c->k->bf16(l);
	else
		for (i = 0; i < l->lines; i++, l->from += l->step, l->to += l->to_step)
			t->r->prog->rows->to_f32[dtype]((float *)(void *)l->to, l->from, l->n);
}

/* A row of numbers, NULL: padding, of pixels of @px words, of which @n are valid. */
static void float_row(const struct tile *t, const uint8_t *from, float *to, uint32_t px, uint32_t n)
{
	const struct taps_prog *c = t->c;
	uint32_t left, count = inputs(c, &left);
	struct taps_lines l = {
		.from = from, .step = c->g.a_stride[CONV_X] * c->es,
		.to = (uint8_t *)(to + (size_t)left * px), .to_step = 4l * px,
		.lines = c->last ? count : 1, .n = c->last ? n : count,
	};

	if (from)
		copy_floats(t, &l);
	else
		memset(to, 0, 4ul * px * c->cols);
}

/* Copy a row of bytes, NULL: padding, to the buffer between the column padding. */
static void byte_row(const struct tile *t, const uint8_t *from)
{
	const struct taps_prog *c = t->c;
	const uint32_t px = lanes_of(c);
	uint32_t left, count = inputs(c, &left);
	const struct taps_lines l = {
		.from = from, .step = c->g.a_stride[CONV_X], .to = t->row + (size_t)left * px,
		.to_step = px, .lines = c->last ? count : 1, .n = c->last ? t->n : count,
		.flip = c->flip,
	};

	if (from)
		c->k->copy(&l);
	else
		memset(t->row, (uint8_t)c->za, (size_t)c->cols * px);
}

/* Words of a row of bytes: vector by vector for contiguous channels, or of one channel. */
static void byte_words(const struct tile *t, uint32_t *to)
{
	const struct taps_prog *c = t->c;
	const uint32_t px = lanes_of(c), vl = c->k->lanes;
	struct taps_join j = {
		.from = t->row, .tap = (int64_t)c->g.dilation[1] * px, .to = to, .lines = 1,
		.za = c->za,
	};
	uint32_t i;

	if (c->last) {
		j.step = (int64_t)c->g.stride[1] * px;
		j.to_step = j.n = vl;
		j.lines = c->width;
		for (i = 0; i < px; i += vl, j.from += vl, j.to += plane_of(c))
			c->k->join(&j);
	} else if (c->g.stride[1] == 1) {
		j.n = c->width;
		c->k->join(&j);
	} else if (parts_words(c)) {
		const size_t room = row_bytes(c) / 3;
		float *all = (float *)(void *)(t->row + room);

		j.to = (uint32_t *)(void *)all;
		j.n = 2 * c->width - 1;
		c->k->join(&j);
		c->k->part(all, j.n, (float *)(void *)to, all + room / sizeof(*all));
	} else {
		for (j.n = 1, i = 0; i < c->width; i++, j.from += c->g.stride[1], j.to++)
			c->k->join(&j);
	}
}

/* Convert row @line of a band, NULL: padding. */
static void bring_row(const struct tile *t, const uint8_t *from, uint32_t line)
{
	const struct taps_prog *c = t->c;
	const size_t plane = (size_t)c->height * c->width;
	const uint32_t y = c->g.stride[0], vl = c->k->lanes;
	float *to = (float *)(void *)t->in, *row;
	uint32_t i, k;

	if (c->last)
		to += (size_t)line * c->width * vl;
	else
		to += line % y * c->phases * plane + (size_t)line / y * c->width;
	if (c->group > 1) {
		byte_row(t, from);
		byte_words(t, (uint32_t *)(void *)to);
		return;
	}
	if (c->last) {
		for (i = 0; i < t->n; i += vl, to += plane_of(c))
			float_row(t, from ? from + (size_t)i * c->es : NULL, to, vl,
				  UMA_MIN(vl, t->n - i));
		return;
	}
	row = c->phases > 1 ? (float *)(void *)t->row : to;
	float_row(t, from, row, 1, 1);
	if (c->phases == 2) {
		c->k->part(row, c->cols, to, to + plane);
		return;
	}
	for (k = 0; row != to && k < c->phases; k++)
		for (i = 0; k + (size_t)i * c->phases < c->cols; i++)
			to[k * plane + i] = row[k + (size_t)i * c->phases];
}

/* --- tiles ---------------------------------------------------------------------------- */

/* Convert the rows of inputs for the outputs from row @y on. */
static void bring(const struct tile *t, uint32_t ch, uint32_t y, uint32_t rows)
{
	const struct taps_prog *c = t->c;
	const struct conv_plan *g = &c->g;
	const uint32_t lines = (rows - 1) * g->stride[0] + (g->kernel[0] - 1) * g->dilation[0] + 1;
	const int64_t top = (int64_t)y * g->stride[0] - g->pad[0];
	const uint8_t *a = t->a + ch * g->a_stride[CONV_C] * c->es;
	uint32_t i;

	for (i = 0; i < lines; i++) {
		const bool there = top + i >= 0 && top + i < g->in[0];
		const uint8_t *from = there ? a + (top + i) * g->a_stride[CONV_Y] * c->es : NULL;

		bring_row(t, from, i);
	}
}

/* Run the epilogue on sums of @n channels: one, or as many as are contiguous. */
static int finish(const struct tile *t, uint32_t ch, uint32_t y, uint32_t rows)
{
	const struct taps_prog *c = t->c;
	const bool each = fast_epi_by_channel(t->r->prog);
	const uint32_t rank = t->r->prog->op->t[UMA_SLOT_DST].rank, pieces = c->last ? rows : 1;
	struct fast_epi_block b = {
		.ld = c->last ? lanes_of(c) : c->width, .m = c->last ? c->g.out[1] : rows,
		.scale = t->scale + (each ? ch : 0), .scale_ns = c->last && each,
	};
	uint32_t i, x;

	for (i = 0; i < pieces; i++)
		for (x = 0; x < (c->last ? t->n : c->g.out[1]); x += b.n) {
			b.n = UMA_MIN((c->last ? t->n : c->g.out[1]) - x, (uint32_t)UMA_ROW_MAX);
			b.acc = (float *)(void *)t->sums + (size_t)i * pitch(c) + x;
			b.idx[0] = t->image;
			b.idx[1] = t->ch + ch + (c->last ? x : 0);
			if (rank > 3)
				b.idx[2] = y + i;
			b.idx[rank - 1] = c->last ? 0 : x;
			if (fast_epi_block(t->r, &c->epi, &b))
				return -1;
		}
	return 0;
}

/* Rows of outputs from @y0 on: of channels from @ch on if they are contiguous, else of one. */
static void form(const struct tile *t, uint32_t y0, uint32_t rows)
{
	const struct taps_prog *c = t->c;
	const struct uma_tensor_view *d = &t->r->prog->op->t[UMA_SLOT_DST];
	const uint32_t vl = c->k->lanes, taps = taps_of(c);
	struct taps_strip s = {
		.in = t->in, .off = t->off, .w = t->weights, .start = t->start, .out = t->sums,
		.step = 4l * vl, .out_step = 4l * vl, .taps = taps, .spread = !c->last,
		.relu = t->fused && c->epi.steps & EPI_RELU,
	};
	void (*const run)(const struct taps_strip *s) = c->group > 1 ? c->k->bytes : c->k->floats;
	int64_t out_row = 4l * pitch(c);
	uint8_t *out = t->sums;
	uint32_t y, v;

	if (!c->last) {
		s.n = ((rows - 1) * c->width + c->g.out[1] + vl - 1) / vl;
		run(&s);
		return;
	}
	s.n = c->g.out[1];
	s.step = 4l * vl * (c->group == 1 ? c->g.stride[1] : 1);
	s.out_step = 4l * lanes_of(c);
	if (t->fused) {
		out_row = d->rank > 3 ? 4 * d->strides[2] : 0;
		s.out_step = 4 * d->strides[d->rank - 1];
		out = (uint8_t *)fast_ptr(d) + y0 * out_row +
		      4 * (t->image * d->strides[0] + t->ch);
	}
	for (v = 0; v * vl < t->n; v++) {
		s.w = t->weights + 4ul * v * vl * taps;
		s.start = t->start + 4ul * v * vl;
		s.bias = t->fused && c->epi.steps & EPI_BIAS ? s.start : NULL;
		for (y = 0; y < rows; y++) {
			s.in = t->in + 4 * (v * plane_of(c) +
					    (size_t)y * c->g.stride[0] * c->width * vl);
			s.out = out + y * out_row + 4ul * v * vl;
			run(&s);
		}
	}
}

static int run_rows(struct tile *t, uint32_t ch, uint32_t y0, uint32_t rows)
{
	const struct taps_prog *c = t->c;
	uint32_t y, n;

	load_weights(t, t->ch + ch, c->last ? t->n : 1);
	/* Column padding, the same for all rows: zero points of bytes, before the exclusive or */
	if (c->group > 1)
		memset(t->row, (uint8_t)c->za, (size_t)c->cols * lanes_of(c));
	else if (c->phases > 1)
		memset(t->row, 0, 4ul * c->cols);
	for (y = y0; y < y0 + rows; y += n) {
		n = UMA_MIN(c->band, y0 + rows - y);
		bring(t, ch, y, n);
		form(t, y, n);
		if (!t->fused && finish(t, ch, y, n))
			return -1;
	}
	return 0;
}

static int taps_tile(const struct fast_run *r, uint32_t phase, uint32_t tile)
{
	const struct taps_prog *c = (const struct taps_prog *)r->prog->priv;
	const uint32_t block = tile / c->slices, y = block % c->yblocks * c->rows;
	const uint32_t rows = UMA_MIN(c->rows, c->g.out[0] - y);
	struct tile t = {
		.r = r, .c = c, .image = block / c->yblocks, .ch = tile % c->slices * c->slice,
		.start = r->scratch,
	};
	uint32_t ch;

	(void)phase;
	t.n = UMA_MIN(c->slice, c->channels - t.ch);
	t.fused = c->fused && !(t.n % c->k->lanes);
	t.weights = t.start + round_up(4ull * lanes_of(c));
	t.in = t.start + weights_bytes(c);
	t.sums = t.in + round_up(4 * input_words(c));
	t.row = t.sums + round_up(4 * ((uint64_t)c->band * pitch(c) + TAPS_SLACK));
	t.a = (const uint8_t *)fast_ptr(&r->prog->op->t[UMA_SLOT_A]) +
	      (t.image * c->g.a_stride[CONV_N] + t.ch * c->g.a_stride[CONV_C]) * c->es;
	find_taps(&t);
	/* Vectors also read beyond rows and channels, which must be valid numbers. */
	if (c->group == 1)
		memset(t.in, 0, 4 * input_words(c));
	if (c->epi.integer && !c->epi.exact)
		fast_epi_scales(r->prog, t.ch, fast_epi_by_channel(r->prog) ? t.n : 1, t.scale);
	if (c->last)
		return run_rows(&t, 0, y, rows);
	for (ch = 0; ch < t.n; ch++)
		if (run_rows(&t, ch, y, rows))
			return -1;
	return 0;
}

const struct fast_class fast_taps = {
	.name = "taps",
	.prepare = taps_prepare,
	.tile = taps_tile,
};
