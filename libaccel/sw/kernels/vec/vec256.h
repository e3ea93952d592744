/* SPDX-License-Identifier: MIT */
/*
 * Vectors of 256 bits: VL numbers of binary32 (vf) or of 32 bits (vi).
 */
#ifndef LIBACCEL_SW_FAST_VEC256_H
#define LIBACCEL_SW_FAST_VEC256_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define VL		8

typedef __m256 vf;
typedef __m256i vi;

#define V_INLINE	static inline __attribute__((always_inline))

V_INLINE vf v_load(const void *p)	{ return _mm256_loadu_ps(p); }
V_INLINE void v_store(void *p, vf x)	{ _mm256_storeu_ps(p, x); }
V_INLINE vf v_set(float x)		{ return _mm256_set1_ps(x); }
V_INLINE vf v_add(vf a, vf b)		{ return _mm256_add_ps(a, b); }
V_INLINE vf v_sub(vf a, vf b)		{ return _mm256_sub_ps(a, b); }
V_INLINE vf v_mul(vf a, vf b)		{ return _mm256_mul_ps(a, b); }
V_INLINE vf v_div(vf a, vf b)		{ return _mm256_div_ps(a, b); }
V_INLINE vf v_fma(vf a, vf b, vf c)	{ return _mm256_fmadd_ps(a, b, c); }
V_INLINE vf v_fnma(vf a, vf b, vf c)	{ return _mm256_fnmadd_ps(a, b, c); }
V_INLINE vf v_fmsub(vf a, vf b, vf c)	{ return _mm256_fmsub_ps(a, b, c); }

/* The second if one is no number. */
V_INLINE vf v_max(vf a, vf b)		{ return _mm256_max_ps(a, b); }
V_INLINE vf v_min(vf a, vf b)		{ return _mm256_min_ps(a, b); }

V_INLINE vf v_of(vi x)			{ return _mm256_castsi256_ps(x); }
V_INLINE vi vi_of(vf x)			{ return _mm256_castps_si256(x); }
V_INLINE vf v_of_ints(vi x)		{ return _mm256_cvtepi32_ps(x); }
V_INLINE vi vi_load(const void *p)	{ return _mm256_loadu_si256(p); }
V_INLINE vi vi_set(int32_t x)		{ return _mm256_set1_epi32(x); }
V_INLINE vi vi_bits(uint32_t x)		{ return vi_set((int32_t)x); }
V_INLINE vi vi_and(vi a, vi b)		{ return _mm256_and_si256(a, b); }
V_INLINE vi vi_or(vi a, vi b)		{ return _mm256_or_si256(a, b); }
V_INLINE vi vi_xor(vi a, vi b)		{ return _mm256_xor_si256(a, b); }
V_INLINE vi vi_add(vi a, vi b)		{ return _mm256_add_epi32(a, b); }
V_INLINE vi vi_sub(vi a, vi b)		{ return _mm256_sub_epi32(a, b); }
V_INLINE vi vi_max(vi a, vi b)		{ return _mm256_max_epi32(a, b); }
V_INLINE vi vi_madd(vi a, vi b)		{ return _mm256_madd_epi16(a, b); }
V_INLINE vi vi_shl(vi a, int n)		{ return _mm256_slli_epi32(a, n); }
V_INLINE vi vi_shr(vi a, int n)		{ return _mm256_srli_epi32(a, n); }

/* Signed bytes 0 and 2, or 1 and 3, of each word as s16. */
V_INLINE vi vi_low_bytes(vi q)		{ return _mm256_srai_epi16(_mm256_slli_epi16(q, 8), 8); }
V_INLINE vi vi_high_bytes(vi q)		{ return _mm256_srai_epi16(q, 8); }

/* A word in all lanes. */
V_INLINE vf v_word(const void *p)
{
	float x;

	memcpy(&x, p, sizeof(x));
	return v_set(x);
}

V_INLINE vi vi_word(const void *p)
{
	int32_t x;

	memcpy(&x, p, sizeof(x));
	return vi_set(x);
}

/* A pair of words in all pairs of lanes. */
V_INLINE vf v_pair(const void *p)
{
	long long x;

	memcpy(&x, p, sizeof(x));
	return v_of(_mm256_set1_epi64x(x));
}

V_INLINE vf v_load_bf16(const void *p)
{
	const __m256i x = _mm256_cvtepu16_epi32(_mm_loadu_si128(p));

	return _mm256_castsi256_ps(_mm256_slli_epi32(x, 16));
}

V_INLINE vf v_load_f16(const void *p)
{
	return _mm256_cvtph_ps(_mm_loadu_si128(p));
}

V_INLINE vf v_bytes(const void *p, bool is_signed)
{
	const __m128i x = _mm_loadl_epi64(p);

	return _mm256_cvtepi32_ps(is_signed ? _mm256_cvtepi8_epi32(x) :
				  _mm256_cvtepu8_epi32(x));
}

V_INLINE float v_largest(vf x)
{
	__m128 h = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));

	h = _mm_max_ps(h, _mm_movehl_ps(h, h));
	return _mm_cvtss_f32(_mm_max_ss(h, _mm_shuffle_ps(h, h, 1)));
}

V_INLINE float v_total(vf x)
{
	__m128 h = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));

	h = _mm_add_ps(h, _mm_movehl_ps(h, h));
	return _mm_cvtss_f32(_mm_add_ss(h, _mm_shuffle_ps(h, h, 1)));
}

V_INLINE float v_smallest(vf x)
{
	__m128 h = _mm_min_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));

	h = _mm_min_ps(h, _mm_movehl_ps(h, h));
	return _mm_cvtss_f32(_mm_min_ss(h, _mm_shuffle_ps(h, h, 1)));
}

/* (word & mask) ^ bits */
V_INLINE vi vi_field(vi word, vi mask, vi bits)
{
	return _mm256_xor_si256(_mm256_and_si256(word, mask), bits);
}

/* Sums of neighbours, those of @a first. */
V_INLINE vf v_add_pairs(vf a, vf b)
{
	const __m256 x = _mm256_hadd_ps(a, b);	/* a's, b's, in each half */

	return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8));
}

/* The even and the odd lanes of @a and @b, and back. */
V_INLINE void v_part(vf *even, vf *odd, vf a, vf b)
{
	const vf x = _mm256_permute2f128_ps(a, b, 0x20), y = _mm256_permute2f128_ps(a, b, 0x31);

	*even = _mm256_shuffle_ps(x, y, 0x88);
	*odd = _mm256_shuffle_ps(x, y, 0xdd);
}

V_INLINE void v_join(vf *a, vf *b, vf even, vf odd)
{
	const vf x = _mm256_unpacklo_ps(even, odd), y = _mm256_unpackhi_ps(even, odd);

	*a = _mm256_permute2f128_ps(x, y, 0x20);
	*b = _mm256_permute2f128_ps(x, y, 0x31);
}

#endif /* LIBACCEL_SW_FAST_VEC256_H */
