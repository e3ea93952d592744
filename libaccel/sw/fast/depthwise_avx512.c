// SPDX-License-Identifier: MIT
/*
 * Depthwise rows in binary32, AVX-512: 9 weights and the sums of 2 rows of 7 outputs of
 * 16 channels in registers; an input is loaded once for all outputs that it meets: 36
 * loads of inputs and 10 of weights for 126 products, so that the products are what
 * bounds it, 4.5 cycles an output. bf16 inputs are widened on the way.
 */
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

ALWAYS __m512 load(const uint8_t *p, __mmask16 m, const bool in16)
{
	__m512i v;

	if (!in16)
		return _mm512_maskz_loadu_ps(m, p);
	v = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, p));
	return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16));
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

ALWAYS void store(uint8_t *p, __m512 x, __mmask16 m, const bool out16)
{
	/* Masked stores are slower. */
	if (out16 && m == 0xffff)
		_mm256_storeu_si256((__m256i *)p, to_bf16(x));
	else if (out16)
		_mm256_mask_storeu_epi16(p, m, to_bf16(x));
	else if (m == 0xffff)
		_mm512_storeu_ps(p, x);
	else
		_mm512_mask_storeu_ps(p, m, x);
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

/* Sums of @rows rows of @n outputs in @acc; @off: bytes to their channels. */
ALWAYS void sums(const struct dw_row *r, const struct span *s, int64_t off, __mmask16 m,
		 const float *weights, const uint32_t rows, const uint32_t n,
		 const uint32_t stride, const bool in16, __m512 acc[2][WIDE])
{
	const uint32_t cols = (n - 1) * stride + DW_TAPS;
	const uint8_t *p[DW_ROWS];
	uint32_t i, j, k, o;
	__m512 w[9];

#pragma GCC unroll 9
	for (k = 0; k < 9; k++)
		w[k] = _mm512_load_ps(weights + 16ul * k);
#pragma GCC unroll 2
	for (o = 0; o < rows; o++)
#pragma GCC unroll 7
		for (i = 0; i < n; i++)
			acc[o][i] = _mm512_load_ps(weights + 16 * 9);
#pragma GCC unroll 4
	for (k = 0; k < rows + 2; k++)
		p[k] = s->mid[k] + off;
#pragma GCC unroll 15
	for (j = 0; j < cols; j++) {
#pragma GCC unroll 4
		for (k = 0; k < rows + 2; k++) {
			const uint8_t *at = j == 0 ? s->first[k] + off :
					    j == cols - 1 ? s->last[k] + off : p[k];
			const __m512 in = load(at, m, in16);

			if (j)
				p[k] += r->px[k];
#pragma GCC unroll 7
			for (i = 0; i < n; i++)
#pragma GCC unroll 2
				for (o = 0; o < rows; o++) {
					const uint32_t x = j - i * stride, y = k - o;

					/* Of differences below 0, too */
					if (x < DW_TAPS && y < DW_TAPS)
						acc[o][i] = _mm512_fmadd_ps(in, w[y * DW_TAPS + x],
									    acc[o][i]);
				}
		}
	}
}

ALWAYS void store_all(const struct dw_row *r, uint8_t *out, __mmask16 m, const uint32_t rows,
		      const uint32_t n, __m512 acc[2][WIDE], const bool out16)
{
	/* Without ReLU nothing is at most a NaN. */
	const __m512 floor = _mm512_set1_ps(r->relu ? 0 : __builtin_nanf(""));
	uint32_t i, o;

#pragma GCC unroll 2
	for (o = 0; o < rows; o++)
#pragma GCC unroll 7
		for (i = 0; i < n; i++) {
			const __mmask16 low = _mm512_cmp_ps_mask(acc[o][i], floor, _CMP_LE_OQ);

			store(out + o * r->out_row + i * r->out_ms,
			      _mm512_mask_mov_ps(acc[o][i], low, _mm512_setzero_ps()), m, out16);
		}
}

/* All channels of @rows rows of @n outputs from @x on. */
ALWAYS void block(const struct dw_row *r, uint32_t x, const uint32_t rows, const uint32_t n,
		  const uint32_t stride, const bool in16)
{
	const int64_t at = (int64_t)x * stride, cols = (n - 1) * stride + DW_TAPS;
	const float *weights = r->weights;
	uint8_t *out = r->out + x * r->out_ms;
	__m512 acc[2][WIDE];
	struct span s;
	uint32_t ch, k;

	for (k = 0; k < rows + 2; k++) {
		s.mid[k] = r->mid[k] + at * r->px[k];
		s.first[k] = x ? s.mid[k] - r->px[k] : r->first[k];
		s.last[k] = x + n == r->outputs ? r->last[k] : s.mid[k] + (cols - 2) * r->px[k];
	}
	for (ch = 0; ch < r->n; ch += 16, weights += DW_FLOATS) {
		const __mmask16 m = lanes(r->n - ch);

		sums(r, &s, ch * (in16 ? 2l : 4l), m, weights, rows, n, stride, in16, acc);
		if (r->out16)
			store_all(r, out + 2ul * ch, m, rows, n, acc, true);
		else
			store_all(r, out + 4ul * ch, m, rows, n, acc, false);
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

void dw_f32_avx512(const struct dw_row *r)
{
	r->in16 ? typed(r, true) : typed(r, false);
}

void dw_f32_weights_avx512(const struct dw_prog *c, const uint8_t *w, const float *bias, float *to)
{
	const int64_t ys = c->g.b_stride[CONV_Y] * c->es, xs = c->g.b_stride[CONV_X] * c->es;
	uint32_t ch, k;

	for (ch = 0; ch < c->channels; ch += 16, to += DW_FLOATS) {
		const __mmask16 m = lanes(c->channels - ch);

		for (k = 0; k < 9; k++)
			_mm512_store_ps(to + 16ul * k,
					load(w + k / DW_TAPS * ys + k % DW_TAPS * xs + ch * c->es,
					     m, c->es == 2));
		_mm512_store_ps(to + 16 * 9, bias ? _mm512_maskz_loadu_ps(m, bias + ch) :
						    _mm512_setzero_ps());
	}
}
