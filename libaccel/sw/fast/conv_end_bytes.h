/* SPDX-License-Identifier: MIT */
/*
 * The end of block products of bytes: the start of sums, and from sums to bytes:
 * scale, bias, ReLU and quantisation, each rounded as the model rounds it. The division by
 * DST's scale is two products that the quotient lies between. 14 operations for a
 * vector; the general epilogue takes three times as long.
 */
#ifndef LIBACCEL_SW_FAST_CONV_END_BYTES_H
#define LIBACCEL_SW_FAST_CONV_END_BYTES_H

#include <immintrin.h>
#include <stdbool.h>
#include "conv_kernel.h"

#define CONV_VEC		__m512i
#define CONV_START(g, i, n)	conv_start(g, i, n)
#define CONV_STORE(p, acc)	_mm512_storeu_si512(p, acc)
#define CONV_END(g, acc, mr, nv)	conv_end_bytes(g, acc, mr, nv)
#define CONV_ENDS		(1u << CONV_END_BYTES)

typedef __m512i conv_row_sums[4];

#define END static inline __attribute__((always_inline))

END __m512i conv_start(const struct conv_block *g, uint32_t i, uint32_t n)
{
	const __m512i col = g->col_add ? _mm512_loadu_si512(g->col_add + 16 * n) :
					 _mm512_setzero_si512();

	return g->row_add ? _mm512_add_epi32(col, _mm512_set1_epi32(g->row_add[i])) : col;
}

/* Vector @n; bits of @differ are set where two integers are possible. */
END __m512i conv_end_integers(const struct conv_end *e, __m512i sum, uint32_t n, __m512i *differ)
{
	__m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_loadu_ps(e->scale + 16 * n));
	__m512i lo, hi;

	v = _mm512_add_ps(v, _mm512_loadu_ps(e->bias + 16 * n));
	v = _mm512_max_ps(_mm512_min_ps(v, _mm512_set1_ps(e->most)), _mm512_set1_ps(e->least));
	lo = _mm512_cvtps_epi32(_mm512_mul_ps(v, _mm512_set1_ps(e->below)));
	hi = _mm512_cvtps_epi32(_mm512_mul_ps(v, _mm512_set1_ps(e->above)));
	/* differ | (lo ^ hi) */
	*differ = _mm512_ternarylogic_epi32(*differ, lo, hi, 0xf6);
	return lo;
}

END __m256i conv_end_pack(const struct conv_end *e, __m512i a, __m512i b)
{
	const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11,
						15);
	__m512i w = _mm512_packs_epi32(a, b);

	w = _mm512_adds_epi16(w, _mm512_set1_epi16((int16_t)e->zero));
	w = _mm512_xor_si512(_mm512_packs_epi16(w, w), _mm512_set1_epi32(e->flip));
	return _mm512_castsi512_si256(_mm512_permutexvar_epi32(order, w));
}

END bool conv_end_bytes(const struct conv_block *g, conv_row_sums *acc, const uint32_t mr,
			const uint32_t nv)
{
	const struct conv_end *e = g->end;
	const uint32_t lanes = nv == 1 ? g->last : 0xffff | g->last << 16;
	__m512i differ = _mm512_setzero_si512();
	uint8_t *to = g->dst;
	uint32_t i, n;

#pragma GCC unroll 14
	for (i = 0; i < mr; i++, to += g->dst_ms)
#pragma GCC unroll 2
		for (n = 0; n < nv; n += 2) {
			const __m512i a = conv_end_integers(e, acc[i][n], n, &differ);
			const __m512i b = nv == 1 ? a :
				conv_end_integers(e, acc[i][n + 1], n + 1, &differ);
			const __m256i w = conv_end_pack(e, a, b);

			/* A masked store is slower than a plain one. */
			if (n + 2 < nv || lanes == ~0u)
				_mm256_storeu_si256((__m256i *)(to + 16 * n), w);
			else
				_mm256_mask_storeu_epi8(to + 16 * n, lanes, w);
		}
	return !_mm512_test_epi32_mask(differ, differ);
}

#undef END

#endif /* LIBACCEL_SW_FAST_CONV_END_BYTES_H */
