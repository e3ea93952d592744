// SPDX-License-Identifier: MIT
/*
 * Attention of bf16 with AVX512_BF16: products of pairs, binary32 sums.
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

#define KERN_BF16
#define KERN_NAME	attn_bf16
#include "attn_kern.h"
