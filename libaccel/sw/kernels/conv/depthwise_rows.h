/* SPDX-License-Identifier: MIT */
/*
 * Rows of outputs from floating-point numbers, for AVX-512: how a band is cut. A strip is
 * a few outputs side by side, of one vector of channels, and those below them: the weights
 * stay in registers, and every input is loaded once, when its row has its turn: it ends
 * the sums of the outputs above, goes into those of its own and begins those below.
 *
 * Where outputs side by side and those below share a set or two of the first-level cache,
 * a store costs as much as the second-level cache takes, 20 cycles on Zen 5, if the next one
 * is to another pixel, and 2 if eight are to one pixel. There the strips of a group of vectors
 * leave their results side by side in memory of the thread, and those of the group before are
 * brought from there to their places meanwhile, pixel by pixel.
 *
 * Who includes this defines CHANNELS, those of a vector, VECTORS, the registers that their
 * sums take, WIDE and NARROW, outputs side by side, TAPS, vectors of weights, DW_RECORD, the
 * floats of the weights of a vector, and begin(), step() and end(), declared below.
 */
#ifndef LIBACCEL_SW_FAST_DEPTHWISE_ROWS_H
#define LIBACCEL_SW_FAST_DEPTHWISE_ROWS_H

#include <immintrin.h>
#include "depthwise.h"

#define ALWAYS static inline __attribute__((always_inline))

/* To nearest even; a NaN becomes quiet. */
ALWAYS __m256i to_bf16(__m512 x)
{
	const __m512i bits = _mm512_castps_si512(x);
	const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
	__m512i r = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));

	r = _mm512_mask_or_epi32(r, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), bits,
				 _mm512_set1_epi32(0x400000));
	return _mm512_cvtepi32_epi16(_mm512_srli_epi32(r, 16));
}

/* What a strip is, known when it is compiled. */
#define PLAIN	1u	/* results are vectors as they are stored, all lanes of them */
#define IN16	2u	/* bf16 where binary32 is multiplied */
#define APART	4u	/* results go through memory of the thread, see below */

/**
 * struct drain - results of a group that are not yet where they belong
 * @from: vector by vector
 * @out: first output of the row at hand
 * @below: bytes to the output below
 * @out_ms: bytes to the next output
 * @n: outputs in a row
 * @x: next one
 * @left: pixels
 * @pixels: in all
 * @vectors: vectors of a pixel
 */
struct drain {
	const uint8_t *from;
	uint8_t *out;
	int64_t below;
	int64_t out_ms;
	uint32_t n;
	uint32_t x;
	uint32_t left;
	uint32_t pixels;
	uint32_t vectors;
};

/**
 * struct strip - outputs side by side, and those below
 * @b: the band
 * @weights: of its channels
 * @out_ms: bytes to the next output
 * @below: bytes to the one below
 * @off: bytes from the first channel's input
 * @at: columns from the second one's input to that of the first output's second tap
 * @begins: the first output is the row's first one
 * @ends: the last one is its last one
 * @m: channels that there are
 */
struct strip {
	const struct dw_band *b;
	const float *weights;
	int64_t out_ms;
	int64_t below;
	int64_t off;
	int64_t at;
	__mmask32 m;
	bool begins;
	bool ends;
	bool odd;
	struct drain drain;
};

/** struct sums - of the outputs of a strip in a row */
struct sums {
	__m512 v[WIDE * VECTORS];
};

/**
 * struct taps - what is in registers
 * @w: weights
 * @start: what sums begin with
 * @floor: of results
 */
struct taps {
	__m512 w[TAPS];
	__m512 start;
	__m512 floor;
};

/* Weights into registers. */
ALWAYS void begin(const struct strip *s, struct taps *t);

/*
 * A row of inputs, of @n outputs and of a kind: into the sums of the outputs that it is
 * the last row of, @done, the second, @half, and the first, @fresh; NULL: of none.
 * @done's are stored at @out.
 */
ALWAYS void step(const struct strip *s, const struct taps *t, const struct dw_line *l,
		 struct sums *done, struct sums *half, struct sums *fresh, uint8_t *out,
		 const uint32_t n, const uint32_t stride, const uint32_t kind);

/* Outputs whose last row is padding. */
ALWAYS void end(const struct strip *s, const struct taps *t, const struct sums *done,
		uint8_t *out, const uint32_t n, const uint32_t kind);

/* The inputs of @n columns of a line, of the channels of the strip. */
ALWAYS void columns(const struct strip *s, const struct dw_line *l, const uint32_t n,
		    const uint8_t **first, const uint8_t **mid, const uint8_t **last)
{
	*mid = l->mid + s->at * l->px + s->off;
	*first = s->begins ? l->first + s->off : *mid - l->px;
	*last = s->ends ? l->last + s->off : *mid + (n - 2) * l->px;
}

ALWAYS void pixel(const struct drain *d, const uint32_t vectors)
{
	uint8_t *const to = d->out + d->x * d->out_ms;
	uint32_t v;

#pragma GCC unroll 8
	for (v = 0; v < vectors; v++)
		_mm512_storeu_si512(to + 64ul * v,
				    _mm512_load_si512(d->from + 64ul * d->pixels * v));
}

/* Pixels one after the other, until so many are left. */
ALWAYS void drain_to(struct drain *d, uint32_t left)
{
	for (; d->left > left; d->left--, d->from += 64) {
		d->vectors == DW_GROUP ? pixel(d, DW_GROUP) : pixel(d, d->vectors);
		if (++d->x == d->n) {
			d->x = 0;
			d->out += d->below;
		}
	}
}

ALWAYS void first_line(const struct strip *s, const struct taps *t, const struct dw_line *l,
		       struct sums *a, const uint32_t n, const uint32_t stride,
		       const uint32_t kind)
{
	uint32_t i;

	if (!l->none) {
		step(s, t, l, NULL, NULL, a, NULL, n, stride, kind);
		return;
	}
#pragma GCC unroll 8
	for (i = 0; i < n * VECTORS; i++)
		a->v[i] = t->start;
}

ALWAYS void last_line(const struct strip *s, const struct taps *t, const struct dw_line *l,
		      struct sums *a, uint8_t *out, const uint32_t n, const uint32_t stride,
		      const uint32_t kind)
{
	if (l->none)
		end(s, t, a, out, n, kind);
	else
		step(s, t, l, a, NULL, NULL, out, n, stride, kind);
}

/* Windows two rows apart share a row of inputs, those one apart two. */
ALWAYS void roll(struct strip *s, const struct dw_line *l, uint32_t rows, uint8_t *out,
		 const uint32_t n, const uint32_t stride, const uint32_t kind)
{
	const int64_t below = s->below;
	struct sums x, y, z;
	struct taps t;

	begin(s, &t);
	first_line(s, &t, l++, &x, n, stride, kind);
	if (stride == 2) {
		for (; rows > 1; rows--, out += below) {
			step(s, &t, l++, NULL, &x, NULL, NULL, n, stride, kind);
			step(s, &t, l++, &x, NULL, &y, out, n, stride, kind);
			x = y;
		}
	} else if (rows > 1) {
		step(s, &t, l++, NULL, &x, &y, NULL, n, stride, kind);
		for (; rows > 2; rows--, out += below) {
			step(s, &t, l++, &x, &y, &z, out, n, stride, kind);
			if (kind & APART)
				drain_to(&s->drain, s->drain.left ? s->drain.left - 1 : 0);
			x = y;
			y = z;
		}
		step(s, &t, l++, &x, &y, NULL, out, n, stride, kind);
		x = y;
		last_line(s, &t, l, &x, out + below, n, stride, kind);
		return;
	}
	step(s, &t, l++, NULL, &x, NULL, NULL, n, stride, kind);
	last_line(s, &t, l, &x, out, n, stride, kind);
}

/* All rows of @n outputs of a vector of channels. */
ALWAYS void strip(struct strip *s, uint8_t *out, const uint32_t n, const uint32_t stride,
		  const uint32_t kind)
{
	const struct dw_band *b = s->b;
	uint32_t y;

	if (b->ystride == stride)
		roll(s, b->lines, b->rows, out, n, stride, kind);
	else
		for (y = 0; y < b->rows; y++)
			roll(s, b->lines + (uint64_t)y * b->ystride, 1, out + y * s->below, n,
			     stride, kind);
}

/* All rows of @n outputs from @x on, of channels from @ch on. */
ALWAYS void group(struct strip *s, uint32_t ch, uint32_t vectors, uint32_t x, const uint32_t n,
		  const uint32_t stride, const uint32_t kind)
{
	const struct dw_band *b = s->b;
	const uint64_t es = b->in16 ? 2 : 4, ds = b->out16 ? 2 : 4;
	uint8_t *const out = b->out + x * b->out_ms + ch * ds;
	const bool apart = kind & APART;
	uint8_t *const buf = b->buf + (s->odd ? DW_RESULTS : 0);
	uint32_t g;

	s->at = (int64_t)x * stride;
	s->begins = !x;
	s->ends = x + n == b->outputs;
	s->out_ms = apart ? 64 : b->out_ms;
	s->below = apart ? 64l * n : b->out_row;
	for (g = 0; g < vectors; g++) {
		s->weights = (const float *)b->weights + (uint64_t)(ch / CHANNELS + g) * DW_RECORD;
		s->off = (ch + g * CHANNELS) * es;
		strip(s, apart ? buf + 64ul * n * b->rows * g : out + g * CHANNELS * ds, n,
		      stride, kind);
		if (apart)
			drain_to(&s->drain, (vectors - 1 - g) * s->drain.pixels / vectors);
	}
	if (apart) {
		s->drain = (struct drain){
			.from = buf, .out = out, .below = b->out_row, .out_ms = b->out_ms,
			.n = n, .left = n * b->rows, .pixels = n * b->rows, .vectors = vectors,
		};
		s->odd = !s->odd;
	}
}

/* All outputs of a few vectors of channels. */
ALWAYS void outputs(struct strip *s, uint32_t ch, uint32_t vectors, const uint32_t stride,
		    const uint32_t kind)
{
	const uint32_t count = s->b->outputs;
	uint32_t x = 0;

	while (x < count) {
		const uint32_t left = count - x;

		/* Some at the end a second time rather than one by one. */
		if (left >= WIDE || (left > NARROW && count >= WIDE)) {
			x = UMA_MIN(x, count - WIDE);
			if (kind == PLAIN && s->b->apart)
				group(s, ch, vectors, x, WIDE, stride, PLAIN | APART);
			else
				group(s, ch, vectors, x, WIDE, stride, kind);
			x += WIDE;
		} else if (count >= NARROW) {
			x = UMA_MIN(x, count - NARROW);
			group(s, ch, vectors, x, NARROW, stride, kind);
			x += NARROW;
		} else {
			group(s, ch, vectors, x, 1, stride, kind);
			x++;
		}
	}
}

/* All channels; @plain: results of whole vectors are vectors as they are stored. */
ALWAYS void channels(const struct dw_band *b, const uint32_t stride, const uint32_t kind,
		     bool plain)
{
	const uint32_t full = plain ? b->n / CHANNELS : 0;
	struct strip s = { .b = b, .m = (uint32_t)((1ull << CHANNELS) - 1) };
	uint32_t v, n;

	for (v = 0; v < full; v += n) {
		n = UMA_MIN(full - v, DW_GROUP);
		outputs(&s, v * CHANNELS, n, stride, kind | PLAIN);
	}
	drain_to(&s.drain, 0);
	for (; v * CHANNELS < b->n; v++) {
		if (b->n - v * CHANNELS < CHANNELS)
			s.m = (1u << b->n % CHANNELS) - 1;
		outputs(&s, v * CHANNELS, 1, stride, kind);
	}
}

#endif /* LIBACCEL_SW_FAST_DEPTHWISE_ROWS_H */
