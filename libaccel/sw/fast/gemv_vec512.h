/* SPDX-License-Identifier: MIT */
/*
 * Vectors of 512 bits for gemv_kernel.h.
 */
#ifndef LIBACCEL_SW_FAST_GEMV_VEC512_H
#define LIBACCEL_SW_FAST_GEMV_VEC512_H

#include <immintrin.h>
#include <stdint.h>

#define VL		16
#define HAS_TABLE	1

typedef __m512 vf;
typedef __m512i vi;

#define VEC	static inline __attribute__((always_inline))

VEC vf vf_zero(void)			{ return _mm512_setzero_ps(); }
VEC vf vf_all(float x)			{ return _mm512_set1_ps(x); }
VEC vf vf_load(const float *p)		{ return _mm512_loadu_ps(p); }
VEC void vf_store(float *p, vf x)	{ _mm512_storeu_ps(p, x); }
VEC vf vf_fma(vf a, vf b, vf c)		{ return _mm512_fmadd_ps(a, b, c); }
VEC vf vf_add(vf a, vf b)		{ return _mm512_add_ps(a, b); }
VEC vf vf_sub(vf a, vf b)		{ return _mm512_sub_ps(a, b); }
VEC vf vf_of(vi x)			{ return _mm512_castsi512_ps(x); }
VEC vi vi_of(vf x)			{ return _mm512_castps_si512(x); }
VEC vi vi_load(const void *p)		{ return _mm512_loadu_si512(p); }
VEC vi vi_all(uint32_t x)		{ return _mm512_set1_epi32((int)x); }
VEC vi vi_and(vi a, vi b)		{ return _mm512_and_si512(a, b); }
VEC vi vi_xor(vi a, vi b)		{ return _mm512_xor_si512(a, b); }
VEC vi vi_add(vi a, vi b)		{ return _mm512_add_epi32(a, b); }
VEC vi vi_madd(vi a, vi b)		{ return _mm512_madd_epi16(a, b); }
VEC vi vi_shl(vi a, int n)		{ return _mm512_slli_epi32(a, (unsigned int)n); }
VEC vi vi_shr(vi a, int n)		{ return _mm512_srli_epi32(a, (unsigned int)n); }

VEC vf vf_bcast(const uint32_t *p)
{
	float x;

	__builtin_memcpy(&x, p, sizeof(x));
	return _mm512_set1_ps(x);
}

VEC vi vi_bcast(const uint32_t *p)	{ return _mm512_set1_epi32((int)*p); }

VEC vf vf_bcast_pair(const uint64_t *p)
{
	return _mm512_castsi512_ps(_mm512_set1_epi64((long long)*p));
}

/* (word & mask) ^ bits */
VEC vi vi_field(vi word, vi mask, vi bits)
{
	return _mm512_ternarylogic_epi32(word, mask, bits, 0x6a);
}

/* Signed bytes 0 and 2, or 1 and 3, of each word as s16. */
VEC vi vi_low_bytes(vi q)	{ return _mm512_srai_epi16(_mm512_slli_epi16(q, 8), 8); }
VEC vi vi_high_bytes(vi q)	{ return _mm512_srai_epi16(q, 8); }

/* An entry for the lowest four bits of each word. */
VEC vf vf_table(const float *table, vi index)
{
	return _mm512_permutexvar_ps(index, _mm512_loadu_ps(table));
}

VEC vf vf_half(const void *p)
{
	return _mm512_cvtph_ps(_mm256_loadu_si256(p));
}

/* Sums of neighbours, those of @a first. */
VEC vf vf_add_pairs(vf a, vf b)
{
	const vi even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14,
					  16, 18, 20, 22, 24, 26, 28, 30);
	const vi odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));

	return _mm512_add_ps(_mm512_permutex2var_ps(a, even, b),
			     _mm512_permutex2var_ps(a, odd, b));
}

#endif /* LIBACCEL_SW_FAST_GEMV_VEC512_H */
