// SPDX-License-Identifier: MIT
/*
 * The end of a convolution, AVX-512: bias, residual, ReLU, store.
 */
#include <immintrin.h>
#include "conv_fast.h"

#define ALWAYS static inline __attribute__((always_inline))

ALWAYS __m512 load(const uint8_t *p, uint32_t dtype, uint32_t at, __mmask16 m)
{
	__m256i raw;

	if (dtype == UMA_DTYPE_F32)
		return _mm512_maskz_loadu_ps(m, p + 4ul * at);
	raw = _mm256_maskz_loadu_epi16(m, p + 2ul * at);
	return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(raw), 16));
}

/* Ties to even; a NaN stays one and becomes quiet. */
ALWAYS __m256i to_bf16(__m512 x)
{
	const __m512i bits = _mm512_castps_si512(x);
	__m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
	__m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));

	up = _mm512_mask_or_epi32(up, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), bits,
				  _mm512_set1_epi32(0x400000));
	return _mm512_cvtepi32_epi16(_mm512_srli_epi32(up, 16));
}

ALWAYS void store(uint8_t *p, uint32_t dtype, uint32_t at, __mmask16 m, __m512 x)
{
	if (dtype == UMA_DTYPE_F32)
		_mm512_mask_storeu_ps(p + 4ul * at, m, x);
	else
		_mm256_mask_storeu_epi16(p + 2ul * at, m, to_bf16(x));
}

ALWAYS void lines(const struct conv_finish *f, const struct conv_line *l, const uint32_t dst,
		  const uint32_t res)
{
	const __m512 zero = _mm512_setzero_ps();
	uint32_t i, at;

	for (at = 0; at < l->n; at += 16) {
		const __mmask16 m = (__mmask16)(l->n - at < 16 ? (1u << (l->n - at)) - 1 : 0xffff);
		const __m512 bias = l->bias ? _mm512_maskz_loadu_ps(m, l->bias + at) : zero;

		for (i = 0; i < l->outputs; i++) {
			__m512 x = _mm512_loadu_ps(l->x + i * l->x_ms + 4ul * at), r;

			if (l->bias)
				x = _mm512_add_ps(x, bias);
			if (l->res) {
				r = load(l->res + i * l->res_ms, res, at, m);
				if (!f->res_post)
					x = _mm512_add_ps(x, r);
			}
			/* A NaN stays; -0 becomes 0. */
			if (f->relu)
				x = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, zero,
									   _CMP_NLE_UQ), x);
			if (l->res && f->res_post)
				x = _mm512_add_ps(x, r);
			store(l->dst + i * l->dst_ms, dst, at, m, x);
		}
	}
}

void conv_finish_avx512(const struct conv_finish *f, const struct conv_line *l)
{
	if (f->dst == UMA_DTYPE_F32)
		lines(f, l, UMA_DTYPE_F32, f->res);
	else
		lines(f, l, UMA_DTYPE_BF16, f->res);
}
