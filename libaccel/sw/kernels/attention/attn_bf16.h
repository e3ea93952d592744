/* SPDX-License-Identifier: MIT */
/*
 * Vectors of attn_kern.h with AVX512_BF16: words are pairs of bf16.
 */
#include "attn_v512.h"

V_INLINE vf v_dot(vf acc, vf a, vf b)
{
	return _mm512_dpbf16_ps(acc, (__m512bh)a, (__m512bh)b);
}

/* Lanes of @x and of @y, rounded, side by side. */
V_INLINE void v_store_pairs(uint32_t *p, vf x, vf y)
{
	const __m512i halves = (__m512i)_mm512_cvtne2ps_pbh(y, x);
	const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10,
					       25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3,
					       18, 2, 17, 1, 16, 0);

	_mm512_storeu_si512(p, _mm512_permutexvar_epi16(order, halves));
}

/* The lower or the upper of pairs. */
V_INLINE vf v_half(const uint32_t *p, bool upper)
{
	const __m512i x = _mm512_loadu_si512(p);

	return _mm512_castsi512_ps(upper ? _mm512_and_si512(x, _mm512_set1_epi32(-65536)) :
				   _mm512_slli_epi32(x, 16));
}

/* The upper halves: numbers that are bf16 already. */
V_INLINE void v_store_upper(uint16_t *p, vf x)
{
	const __m512i half = _mm512_srli_epi32(_mm512_castps_si512(x), 16);

	_mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(half));
}

/* Halves from two places. */
V_INLINE void v_store_sides(uint32_t *p, const uint16_t *low, const uint16_t *high)
{
	const __m512i a = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)low));
	const __m512i b = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)high));

	_mm512_storeu_si512(p, _mm512_or_si512(a, _mm512_slli_epi32(b, 16)));
}

#define KERN_BF16
