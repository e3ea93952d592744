// SPDX-License-Identifier: MIT
/*
 * Depthwise rows in binary32, AVX-512: 9 weights and the sums of 2 rows of 7 outputs of
 * 16 channels in registers; an input is loaded once for all outputs that it meets: 36
 * loads of inputs and 10 of weights for 126 products, so that the products are what
 * bounds it, 4.5 cycles an output of 16 channels; with all in the first cache 5.7 were
 * measured on Zen 5. Where pixels are a multiple of 4096 bytes apart, they are all in one
 * set of that cache: 11. bf16 inputs are widened on the way.
 */
#define DW_RECORD	DW_FLOATS
#include "depthwise_rows.h"

ALWAYS __m512 load(const uint8_t *p, __mmask16 m, const bool in16)
{
	__m512i v;

	if (!in16)
		return _mm512_maskz_loadu_ps(m, p);
	v = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, p));
	return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16));
}

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

ALWAYS void store(const struct dw_row *r, uint8_t *out, __mmask16 m, const uint32_t rows,
		  const uint32_t n, __m512 acc[2][WIDE], const bool out16, const bool full)
{
	const int64_t out_ms = r->out_ms, out_row = r->out_row;
	/* Without ReLU nothing is at most a NaN. */
	const __m512 floor = _mm512_set1_ps(r->relu ? 0 : __builtin_nanf(""));
	uint32_t i, o;

#pragma GCC unroll 2
	for (o = 0; o < rows; o++)
#pragma GCC unroll 7
		for (i = 0; i < n; i++) {
			uint8_t *to = out + o * out_row + i * out_ms;
			const __mmask16 low = _mm512_cmp_ps_mask(acc[o][i], floor, _CMP_LE_OQ);
			const __m512 x = _mm512_mask_mov_ps(acc[o][i], low, _mm512_setzero_ps());

			/* Masked stores are slower. */
			if (out16 && full)
				_mm256_storeu_si256((__m256i *)to, to_bf16(x));
			else if (out16)
				_mm256_mask_storeu_epi16(to, m, to_bf16(x));
			else if (full)
				_mm512_storeu_ps(to, x);
			else
				_mm512_mask_storeu_ps(to, m, x);
		}
}

ALWAYS void sixteen(const struct dw_row *r, const struct span *s, uint32_t ch, __mmask16 m,
		    const float *weights, uint8_t *out, const uint32_t rows, const uint32_t n,
		    const uint32_t stride, const bool in16)
{
	__m512 acc[2][WIDE];

	sums(r, s, ch * (in16 ? 2l : 4l), m, weights, rows, n, stride, in16, acc);
	if (r->out16)
		store(r, out, m, rows, n, acc, true, m == 0xffff);
	else if (m == 0xffff)
		store(r, out, m, rows, n, acc, false, true);
	else
		store(r, out, m, rows, n, acc, false, false);
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
