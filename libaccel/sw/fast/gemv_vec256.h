/* SPDX-License-Identifier: MIT */
/*
 * Vectors of 256 bits for gemv_kernel.h.
 */
#ifndef LIBACCEL_SW_FAST_GEMV_VEC256_H
#define LIBACCEL_SW_FAST_GEMV_VEC256_H

#include <immintrin.h>
#include <stdint.h>

#define VL		8

typedef __m256 vf;
typedef __m256i vi;

#define VEC	static inline __attribute__((always_inline))

VEC vf vf_zero(void)			{ return _mm256_setzero_ps(); }
VEC vf vf_all(float x)			{ return _mm256_set1_ps(x); }
VEC vf vf_load(const float *p)		{ return _mm256_loadu_ps(p); }
VEC void vf_store(float *p, vf x)	{ _mm256_storeu_ps(p, x); }
VEC vf vf_fma(vf a, vf b, vf c)		{ return _mm256_fmadd_ps(a, b, c); }
VEC vf vf_add(vf a, vf b)		{ return _mm256_add_ps(a, b); }
VEC vf vf_sub(vf a, vf b)		{ return _mm256_sub_ps(a, b); }
VEC vf vf_of(vi x)			{ return _mm256_castsi256_ps(x); }
VEC vi vi_of(vf x)			{ return _mm256_castps_si256(x); }
VEC vi vi_load(const void *p)		{ return _mm256_loadu_si256(p); }
VEC vi vi_all(uint32_t x)		{ return _mm256_set1_epi32((int)x); }
VEC vi vi_and(vi a, vi b)		{ return _mm256_and_si256(a, b); }
VEC vi vi_xor(vi a, vi b)		{ return _mm256_xor_si256(a, b); }
VEC vi vi_add(vi a, vi b)		{ return _mm256_add_epi32(a, b); }
VEC vi vi_madd(vi a, vi b)		{ return _mm256_madd_epi16(a, b); }
VEC vi vi_shl(vi a, int n)		{ return _mm256_slli_epi32(a, n); }
VEC vi vi_shr(vi a, int n)		{ return _mm256_srli_epi32(a, n); }

VEC vf vf_bcast(const uint32_t *p)
{
	float x;

	__builtin_memcpy(&x, p, sizeof(x));
	return _mm256_set1_ps(x);
}

VEC vi vi_bcast(const uint32_t *p)	{ return _mm256_set1_epi32((int)*p); }

VEC vf vf_bcast_pair(const uint64_t *p)
{
	return _mm256_castsi256_ps(_mm256_set1_epi64x((long long)*p));
}

/* (word & mask) ^ bits */
VEC vi vi_field(vi word, vi mask, vi bits)
{
	return _mm256_xor_si256(_mm256_and_si256(word, mask), bits);
}

/* Signed bytes 0 and 2, or 1 and 3, of each word as s16. */
VEC vi vi_low_bytes(vi q)	{ return _mm256_srai_epi16(_mm256_slli_epi16(q, 8), 8); }
VEC vi vi_high_bytes(vi q)	{ return _mm256_srai_epi16(q, 8); }

VEC vf vf_half(const void *p)
{
	return _mm256_cvtph_ps(_mm_loadu_si128(p));
}

/* Sums of neighbours, those of @a first. */
VEC vf vf_add_pairs(vf a, vf b)
{
	const __m256 x = _mm256_hadd_ps(a, b);	/* a's, b's, in each half */

	return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8));
}

#endif /* LIBACCEL_SW_FAST_GEMV_VEC256_H */
