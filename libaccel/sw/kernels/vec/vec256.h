/* SPDX-License-Identifier: MIT */
/* 256-bit vectors of VL binary32 numbers (vf) or 32-bit integers (vi). */
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

/* The second operand if one is NaN. */
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
V_INLINE vi vi_sub_bytes(vi a, vi b)	{ return _mm256_sub_epi8(a, b); }
V_INLINE vi vi_max(vi a, vi b)		{ return _mm256_max_epi32(a, b); }
V_INLINE vi vi_mul(vi a, vi b)		{ return _mm256_mullo_epi32(a, b); }
V_INLINE vi vi_madd(vi a, vi b)		{ return _mm256_madd_epi16(a, b); }
V_INLINE vi vi_shl(vi a, int n)		{ return _mm256_slli_epi32(a, n); }
V_INLINE vi vi_shr(vi a, int n)		{ return _mm256_srli_epi32(a, n); }

V_INLINE vi vi_sar(vi a, int n)		{ return _mm256_srai_epi32(a, n); }
/* Per-lane shift counts; one beyond the width shifts out all bits. */
V_INLINE vi vi_shift_left(vi a, vi b)	{ return _mm256_sllv_epi32(a, b); }
V_INLINE vi vi_shift_right(vi a, vi b)	{ return _mm256_srav_epi32(a, b); }

/* The upper words of products */
V_INLINE vi vi_mul_high(vi a, vi b)
{
	const vi even = _mm256_mul_epi32(a, b);
	const vi odd = _mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));

	return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
}

/* Round to the nearest integer; out of range gives the smallest one. */
V_INLINE vi vi_nearest(vf x)		{ return _mm256_cvtps_epi32(x); }

/*
 * Interleave words, or pairs of them, of two vectors: of the low, or high half of each 128
 * bits.
 */
V_INLINE vi vi_low_words(vi a, vi b)	{ return _mm256_unpacklo_epi32(a, b); }
V_INLINE vi vi_high_words(vi a, vi b)	{ return _mm256_unpackhi_epi32(a, b); }
V_INLINE vi vi_low_pairs(vi a, vi b)	{ return _mm256_unpacklo_epi64(a, b); }
V_INLINE vi vi_high_pairs(vi a, vi b)	{ return _mm256_unpackhi_epi64(a, b); }

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

/* Numbers of binary16 in the low halves of words. */
V_INLINE vf v_half_words(vi w)
{
	const vi x = vi_and(w, vi_set(0xffff)), both = _mm256_packus_epi32(x, x);

	return _mm256_cvtph_ps(_mm256_castsi256_si128(_mm256_permute4x64_epi64(both, 0x08)));
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

/* Sums of adjacent lanes, those of @a first. */
V_INLINE vf v_add_pairs(vf a, vf b)
{
	const __m256 x = _mm256_hadd_ps(a, b);	/* a's, b's, in each half */

	return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8));
}

/* Separate the even and the odd lanes of @a and @b, and the inverse. */
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

/* Masks of lanes; comparisons with a NaN are false unless they say so. */
typedef __m256 vm;

V_INLINE vm v_less(vf a, vf b)		{ return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
V_INLINE vm v_least(vf a, vf b)		{ return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
V_INLINE vm v_equal(vf a, vf b)		{ return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
V_INLINE vm v_unordered(vf a, vf b)	{ return _mm256_cmp_ps(a, b, _CMP_UNORD_Q); }
/* Also if one is NaN */
V_INLINE vm v_not_less(vf a, vf b)	{ return _mm256_cmp_ps(a, b, _CMP_NLT_UQ); }
V_INLINE vm vm_or(vm a, vm b)		{ return _mm256_or_ps(a, b); }
V_INLINE bool vm_any(vm m)		{ return _mm256_movemask_ps(m); }
V_INLINE uint32_t vm_bits(vm m)		{ return (uint32_t)_mm256_movemask_ps(m); }
V_INLINE vm vi_equal(vi a, vi b)		{ return v_of(_mm256_cmpeq_epi32(a, b)); }
V_INLINE vm vi_greater(vi a, vi b)	{ return v_of(_mm256_cmpgt_epi32(a, b)); }
V_INLINE vi vi_max_s8(vi a, vi b)	{ return _mm256_max_epi8(a, b); }
V_INLINE vi vi_max_u8(vi a, vi b)	{ return _mm256_max_epu8(a, b); }
V_INLINE vm vm_none(void)		{ return _mm256_setzero_ps(); }
/* Lanes of @a where the mask is set, else of @b. */
V_INLINE vf v_where(vm m, vf a, vf b)	{ return _mm256_blendv_ps(b, a, m); }
V_INLINE vf v_sqrt(vf x)		{ return _mm256_sqrt_ps(x); }
/* To the nearest integer, ties to even. */
V_INLINE vf v_rint(vf x)		{ return _mm256_round_ps(x, 0x08); }
V_INLINE vf v_inverse(vf x)		{ return v_div(v_set(1), x); }
V_INLINE vf v_spread(vf x)		{ return _mm256_broadcastss_ps(_mm256_castps256_ps128(x)); }

/* x 2^n, rounding once, for integers -252 <= n <= 252; n may be a NaN if x is. */
V_INLINE vf v_ldexp(vf x, vf n)
{
	const vi i = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(i, 1);
	const vi rest = vi_sub(i, half), bias = vi_set(127);

	return v_mul(v_mul(x, v_of(vi_shl(vi_add(half, bias), 23))),
		     v_of(vi_shl(vi_add(rest, bias), 23)));
}

/* Halves of vectors as binary64. */
typedef __m256d vd;

V_INLINE vd vd_low(vf x)		{ return _mm256_cvtps_pd(_mm256_castps256_ps128(x)); }
V_INLINE vd vd_high(vf x)		{ return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)); }
V_INLINE vd vd_low_ints(vi x)		{ return _mm256_cvtepi32_pd(_mm256_castsi256_si128(x)); }

V_INLINE vd vd_high_ints(vi x)
{
	return _mm256_cvtepi32_pd(_mm256_extracti128_si256(x, 1));
}

V_INLINE vd vd_set(double x)		{ return _mm256_set1_pd(x); }
V_INLINE vd vd_add(vd a, vd b)		{ return _mm256_add_pd(a, b); }
V_INLINE vd vd_sub(vd a, vd b)		{ return _mm256_sub_pd(a, b); }
V_INLINE vd vd_mul(vd a, vd b)		{ return _mm256_mul_pd(a, b); }
V_INLINE vd vd_fma(vd a, vd b, vd c)	{ return _mm256_fmadd_pd(a, b, c); }

V_INLINE vf v_of_halves(vd low, vd high)
{
	return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
}

V_INLINE void vd_store(double *p, vd x)	{ _mm256_storeu_pd(p, x); }
V_INLINE double vd_total(vd x)
{
	__m128d h = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));

	return _mm_cvtsd_f64(_mm_add_sd(h, _mm_unpackhi_pd(h, h)));
}

V_INLINE void v_store_f16(void *p, vf x)
{
	_mm_storeu_si128(p, _mm256_cvtps_ph(x, 0));
}

/* Round to nearest even, keeping subnormal numbers; a NaN becomes quiet. */
V_INLINE void v_store_bf16(void *p, vf x)
{
	const vi bits = vi_of(x), odd = vi_and(vi_shr(bits, 16), vi_set(1));
	const vi near = vi_add(vi_add(bits, vi_set(0x7fff)), odd);
	const vi r = vi_shr(vi_of(v_where(v_unordered(x, x), v_of(vi_or(bits, vi_set(0x400000))),
					  v_of(near))), 16);

	_mm_storeu_si128(p, _mm_packus_epi32(_mm256_castsi256_si128(r),
					     _mm256_extracti128_si256(r, 1)));
}

/* Four vectors of integers as bytes, @zero added, saturated. */
V_INLINE void v_store_bytes4(void *p, const vf *x, int32_t zero, bool is_signed)
{
	const __m256i z = _mm256_set1_epi16((int16_t)zero);
	__m256i a = _mm256_packs_epi32(_mm256_cvtps_epi32(x[0]), _mm256_cvtps_epi32(x[1]));
	__m256i b = _mm256_packs_epi32(_mm256_cvtps_epi32(x[2]), _mm256_cvtps_epi32(x[3]));

	a = _mm256_adds_epi16(a, z);
	b = _mm256_adds_epi16(b, z);
	a = is_signed ? _mm256_packs_epi16(a, b) : _mm256_packus_epi16(a, b);
	a = _mm256_permutevar8x32_epi32(a, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
	_mm256_storeu_si256(p, a);
}

#endif /* LIBACCEL_SW_FAST_VEC256_H */
