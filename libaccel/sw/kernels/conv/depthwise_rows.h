/* SPDX-License-Identifier: MIT */
/*
 * Rows of outputs in floating point for AVX-512: division of a band. A strip is a few adjacent
 * outputs of one vector of channels, and those below them: the weights stay in registers, and
 * every input is loaded once, for its row: it completes the sums of the outputs above, is added
 * to those of its own row, and begins those below.
 *
 * If adjacent outputs and those below map to one or two sets of the first-level cache, a store
 * takes as long as the second-level cache, 20 cycles on Zen 5, if the next one is to another
 * pixel, and 2 if eight are to one pixel. So in this case the strips of a group of vectors
 * write their results contiguously to scratch memory, and meanwhile those of the previous group
 * are copied to the result, pixel by pixel.
 *
 * The file that includes this one defines CHANNELS, those of a vector, VECTORS, the registers
 * for their sums, WIDE and NARROW, numbers of adjacent outputs, TAPS, vectors of weights,
 * DW_RECORD, the floats of the weights of a vector, and begin(), step() and end(), declared
 * below.
 */
#ifndef LIBACCEL_SW_FAST_DEPTHWISE_ROWS_H
#define LIBACCEL_SW_FAST_DEPTHWISE_ROWS_H

#include <immintrin.h>
#include "depthwise.h"
#include "libaccel/sw/kernels/vec/special.h"

#define ALWAYS static inline __attribute__((always_inline))

/* Round to nearest even; a NaN becomes quiet. */
ALWAYS __m256i to_bf16(__m512 x)
{
	const __m512i bits = _mm512_castps_si512(x);
	const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
	__m512i r = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));

	r = _mm512_mask_or_epi32(r, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), bits,
				 _mm512_set1_epi32(0x400000));
	return _mm512_cvtepi32_epi16(_mm512_srli_epi32(r, 16));
}

/* Properties of a strip, which are constants. */
#define PLAIN	1u	/* results are stored as full vectors */
#define IN16	2u	/* bf16 inputs for binary32 products */
#define APART	4u	/* results go through scratch memory, see above */

/**
 * struct drain - results of a group that have not been copied to their places
 * @from: vector by vector
 * @out: first output of the current row
 * @below: bytes to the output below
 * @out_ms: bytes to the next output
 * @n: outputs in a row
 * @x: next output
 * @left: remaining pixels
 * @pixels: total number of pixels
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
 * struct strip - adjacent outputs, and those below
 * @b: the band
 * @weights: of its channels
 * @out_ms: bytes to the next output
 * @below: bytes to the one below
 * @off: offset in bytes of the channels
 * @at: columns from the second one's input to that of the first output's second tap
 * @begins: the first output is the row's first one
 * @ends: the last output is the row's last one
 * @m: valid channels
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

/** struct sums - sums of the outputs of a strip in a row */
struct sums {
	__m512 v[WIDE * VECTORS];
};

/**
 * struct taps - values in registers
 * @w: weights
 * @start: initial values of sums
 * @floor: lower bound of results
 */
struct taps {
	__m512 w[TAPS];
	__m512 start;
	__m512 floor;
};

/* Load weights into registers. */
ALWAYS void begin(const struct strip *s, struct taps *t);

/*
 * Add a row of inputs of @n outputs to the sums of the outputs for which it is the last row,
 * @done, the second, @half, and the first, @fresh; NULL: none. Those of @done are stored at
 * @out.
 */
ALWAYS void step(const struct strip *s, const struct taps *t, const struct dw_line *l,
		 struct sums *done, struct sums *half, struct sums *fresh, uint8_t *out,
		 const uint32_t n, const uint32_t stride, const uint32_t kind);

/* Outputs whose last row is padding. */
ALWAYS void end(const struct strip *s, const struct taps *t, const struct sums *done,
		uint8_t *out, const uint32_t n, const uint32_t kind);

/* The inputs of @n columns of a line, for the channels of the strip. */
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

/* Copy pixels until @left are left. */
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

/* Windows with a stride of two share one row of inputs, with a stride of one two. */
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

/* All rows of @n outputs from @x on, for channels from @ch on. */
SPECIAL void group(struct strip *s, uint32_t ch, uint32_t vectors, uint32_t x, const uint32_t n,
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

		/* Compute some outputs at the end twice rather than one by one. */
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

/* All channels; @plain: whole vectors of results are stored as full vectors. */
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
