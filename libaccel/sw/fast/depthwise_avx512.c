// SPDX-License-Identifier: MIT
/*
 * Depthwise rows in binary32, AVX-512: 9 weights and the sums of 4 outputs of 16
 * channels in registers; an input is loaded once for all outputs that it meets in a
 * row of taps: 27 loads for 36 products where the stride is 1, 36 where it is 2.
 */
#include <immintrin.h>
#include "depthwise.h"

#define ALWAYS static inline __attribute__((always_inline))

/* Outputs at once */
#define XB	4u

void dw_widen_bf16_avx512(float *to, const uint16_t *from, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i += 16) {
		const __mmask16 m = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : 0xffff;
		const __m512i v = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, from + i));

		_mm512_mask_storeu_epi32(to + i, m, _mm512_slli_epi32(v, 16));
	}
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

ALWAYS void store(uint8_t *p, __m512 x, __mmask16 m, const bool relu, const bool bf16)
{
	if (relu)
		x = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NLE_UQ), x);
	/* Masked stores are slower. */
	if (bf16 && m == 0xffff)
		_mm256_storeu_si256((__m256i *)p, to_bf16(x));
	else if (bf16)
		_mm256_mask_storeu_epi16(p, m, to_bf16(x));
	else if (m == 0xffff)
		_mm512_storeu_ps(p, x);
	else
		_mm512_mask_storeu_ps(p, m, x);
}

ALWAYS __m512 load(const uint8_t *p, const bool in16)
{
	const __m512i v = in16 ? _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p)) :
				 _mm512_loadu_si512(p);

	return _mm512_castsi512_ps(in16 ? _mm512_slli_epi32(v, 16) : v);
}

/* @n outputs from @x on. */
ALWAYS void outputs(const struct dw_prog *c, const struct dw_row *r, uint32_t ch, uint32_t x,
		    const __m512 *w, __m512 start, const int64_t n, const uint32_t stride,
		    const bool relu, const bool bf16, const bool in16)
{
	const __mmask16 m = c->channels - ch < 16 ? (__mmask16)((1u << (c->channels - ch)) - 1) :
						    0xffff;
	const int64_t px = r->px;
	__m512 acc[XB], in;
	int64_t i, k;
	uint32_t y;

#pragma GCC unroll 4
	for (i = 0; i < n; i++)
		acc[i] = start;
#pragma GCC unroll 3
	for (y = 0; y < DW_TAPS; y++) {
		const uint8_t *p = r->in[y] + (int64_t)x * stride * px + ch * (in16 ? 2l : 4l);

#pragma GCC unroll 16
		for (k = 0; k < (n - 1) * stride + DW_TAPS; k++) {
			in = load(p + k * px, in16);
#pragma GCC unroll 4
			for (i = 0; i < n; i++) {
				const uint32_t tap = k - i * stride;

				if (k >= i * stride && tap < DW_TAPS)
					acc[i] = _mm512_fmadd_ps(in, w[y * DW_TAPS + tap], acc[i]);
			}
		}
	}
#pragma GCC unroll 4
	for (i = 0; i < n; i++)
		store(r->out + (int64_t)(x + i) * r->out_ms + (bf16 ? 2ul : 4ul) * ch, acc[i], m,
		      relu, bf16);
}

/* All channels of a few outputs: what they share of the inputs is still near. */
ALWAYS void block(const struct dw_prog *c, const struct dw_row *r, uint32_t x, const int64_t n,
		  const uint32_t stride, const bool relu, const bool bf16, const bool in16)
{
	const float *weights = r->weights, *start = r->start;
	const uint32_t lanes = c->lanes;
	uint32_t ch, k;
	__m512 w[9];

	for (ch = 0; ch < lanes; ch += 16) {
#pragma GCC unroll 9
		for (k = 0; k < 9; k++)
			w[k] = _mm512_load_ps(weights + k * lanes + ch);
		outputs(c, r, ch, x, w, _mm512_load_ps(start + ch), n, stride, relu, bf16,
			in16);
	}
}

ALWAYS void row(const struct dw_prog *c, const struct dw_row *r, const uint32_t stride,
		const bool relu, const bool bf16, const bool in16)
{
	uint32_t x;

	for (x = 0; x + XB <= r->outputs; x += XB)
		block(c, r, x, XB, stride, relu, bf16, in16);
	for (; x < r->outputs; x++)
		block(c, r, x, 1, stride, relu, bf16, in16);
}

ALWAYS void typed_row(const struct dw_prog *c, const struct dw_row *r, const uint32_t stride,
		      const bool in16)
{
	const bool bf16 = c->fused && c->dst == UMA_DTYPE_BF16, relu = c->fused && c->relu;

	if (bf16)
		relu ? row(c, r, stride, true, true, in16) : row(c, r, stride, false, true, in16);
	else
		relu ? row(c, r, stride, true, false, in16) : row(c, r, stride, false, false, in16);
}

void dw_f32_avx512(const struct dw_prog *c, const struct dw_row *r)
{
	if (r->stride == 1)
		r->in16 ? typed_row(c, r, 1, true) : typed_row(c, r, 1, false);
	else
		r->in16 ? typed_row(c, r, 2, true) : typed_row(c, r, 2, false);
}
