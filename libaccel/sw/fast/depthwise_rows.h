/* SPDX-License-Identifier: MIT */
/*
 * Rows of outputs, 16 channels at a time, for AVX-512: how a row is cut. Who includes this
 * defines sixteen(), declared below, and DW_RECORD, the floats of its weights for 16
 * channels.
 */
#ifndef LIBACCEL_SW_FAST_DEPTHWISE_ROWS_H
#define LIBACCEL_SW_FAST_DEPTHWISE_ROWS_H

#include <immintrin.h>
#include "depthwise.h"

#define ALWAYS static inline __attribute__((always_inline))

/* Outputs side by side */
#define WIDE	7u
#define NARROW	4u

ALWAYS __mmask16 lanes(uint32_t n)
{
	return n < 16 ? (__mmask16)((1u << n) - 1) : 0xffff;
}

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

/**
 * struct span - the inputs of a few outputs
 * @first: first column
 * @mid: second column
 * @last: last column
 */
struct span {
	const uint8_t *first[DW_ROWS];
	const uint8_t *mid[DW_ROWS];
	const uint8_t *last[DW_ROWS];
};

/*
 * Channels @ch on of @rows rows of @n outputs, @m those that there are; @out: the first one
 * of these channels.
 */
ALWAYS void sixteen(const struct dw_row *r, const struct span *s, uint32_t ch, __mmask16 m,
		    const float *weights, uint8_t *out, const uint32_t rows, const uint32_t n,
		    const uint32_t stride, const bool in16);

/* All channels of @rows rows of @n outputs from @x on. */
ALWAYS void block(const struct dw_row *r, uint32_t x, const uint32_t rows, const uint32_t n,
		  const uint32_t stride, const bool in16)
{
	const int64_t at = (int64_t)x * stride, cols = (n - 1) * stride + DW_TAPS;
	const float *weights = r->weights;
	uint8_t *out = r->out + x * r->out_ms;
	struct span s;
	uint32_t ch, k;

	for (k = 0; k < rows + 2; k++) {
		s.mid[k] = r->mid[k] + at * r->px[k];
		s.first[k] = x ? s.mid[k] - r->px[k] : r->first[k];
		s.last[k] = x + n == r->outputs ? r->last[k] : s.mid[k] + (cols - 2) * r->px[k];
	}
	for (ch = 0; ch < r->n; ch += 16, weights += DW_RECORD) {
		const __mmask16 m = lanes(r->n - ch);

		sixteen(r, &s, ch, m, weights, out + ch * (r->out16 ? 2ul : 4ul), rows, n, stride,
			in16);
	}
}

ALWAYS void row(const struct dw_row *r, const uint32_t rows, const uint32_t stride,
		const bool in16)
{
	uint32_t x = 0;

	while (x < r->outputs) {
		const uint32_t left = r->outputs - x;

		/* Some at the end a second time rather than one by one. */
		if (left >= WIDE || (left > NARROW && r->outputs >= WIDE)) {
			x = UMA_MIN(x, r->outputs - WIDE);
			block(r, x, rows, WIDE, stride, in16);
			x += WIDE;
		} else if (r->outputs >= NARROW) {
			x = UMA_MIN(x, r->outputs - NARROW);
			block(r, x, rows, NARROW, stride, in16);
			x += NARROW;
		} else {
			block(r, x, rows, 1, stride, in16);
			x++;
		}
	}
}

ALWAYS void typed(const struct dw_row *r, const bool in16)
{
	if (r->rows == 2 && r->stride == 1) {
		row(r, 2, 1, in16);
	} else {
		struct dw_row one = *r;
		uint32_t y, k;

		one.rows = 1;
		for (y = 0; y < r->rows; y++) {
			for (k = 0; k < DW_TAPS; k++) {
				one.first[k] = r->first[k + y];
				one.mid[k] = r->mid[k + y];
				one.last[k] = r->last[k + y];
				one.px[k] = r->px[k + y];
			}
			one.out = r->out + y * r->out_row;
			r->stride == 1 ? row(&one, 1, 1, in16) : row(&one, 1, 2, in16);
		}
	}
}

#endif /* LIBACCEL_SW_FAST_DEPTHWISE_ROWS_H */
