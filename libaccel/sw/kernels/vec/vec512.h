/* SPDX-License-Identifier: MIT */
/* 512-bit vectors of VL binary32 numbers (vf) or 32-bit integers (vi). */
#ifndef LIBACCEL_SW_FAST_VEC512_H
#define LIBACCEL_SW_FAST_VEC512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define VL		16
/* v_table() */
#define HAS_TABLE	1

typedef __m512 vf;
typedef __m512i vi;

#define V_INLINE	static inline __attribute__((always_inline))

V_INLINE vf v_load(const void *p)	{ return _mm512_loadu_ps(p); }
V_INLINE void v_store(void *p, vf x)	{ _mm512_storeu_ps(p, x); }
V_INLINE vf v_set(float x)		{ return _mm512_set1_ps(x); }
V_INLINE vf v_add(vf a, vf b)		{ return _mm512_add_ps(a, b); }
V_INLINE vf v_sub(vf a, vf b)		{ return _mm512_sub_ps(a, b); }
V_INLINE vf v_mul(vf a, vf b)		{ return _mm512_mul_ps(a, b); }
V_INLINE vf v_div(vf a, vf b)		{ return _mm512_div_ps(a, b); }
V_INLINE vf v_fma(vf a, vf b, vf c)	{ return _mm512_fmadd_ps(a, b, c); }
V_INLINE vf v_fnma(vf a, vf b, vf c)	{ return _mm512_fnmadd_ps(a, b, c); }

/* The second operand if one is NaN. */
V_INLINE vf v_max(vf a, vf b)		{ return _mm512_max_ps(a, b); }
V_INLINE vf v_min(vf a, vf b)		{ return _mm512_min_ps(a, b); }

V_INLINE vf v_of(vi x)			{ return _mm512_castsi512_ps(x); }
V_INLINE vi vi_of(vf x)			{ return _mm512_castps_si512(x); }
V_INLINE vf v_of_ints(vi x)		{ return _mm512_cvtepi32_ps(x); }
V_INLINE vi vi_load(const void *p)	{ return _mm512_loadu_si512(p); }
V_INLINE vi vi_set(int32_t x)		{ return _mm512_set1_epi32(x); }
V_INLINE vi vi_bits(uint32_t x)		{ return vi_set((int32_t)x); }
V_INLINE vi vi_and(vi a, vi b)		{ return _mm512_and_si512(a, b); }
V_INLINE vi vi_or(vi a, vi b)		{ return _mm512_or_si512(a, b); }
V_INLINE vi vi_xor(vi a, vi b)		{ return _mm512_xor_si512(a, b); }
V_INLINE vi vi_add(vi a, vi b)		{ return _mm512_add_epi32(a, b); }
V_INLINE vi vi_sub(vi a, vi b)		{ return _mm512_sub_epi32(a, b); }
V_INLINE vi vi_sub_bytes(vi a, vi b)	{ return _mm512_sub_epi8(a, b); }
V_INLINE vi vi_max(vi a, vi b)		{ return _mm512_max_epi32(a, b); }
V_INLINE vi vi_mul(vi a, vi b)		{ return _mm512_mullo_epi32(a, b); }
V_INLINE vi vi_madd(vi a, vi b)		{ return _mm512_madd_epi16(a, b); }
V_INLINE vi vi_shl(vi a, int n)		{ return _mm512_slli_epi32(a, (unsigned int)n); }
V_INLINE vi vi_shr(vi a, int n)		{ return _mm512_srli_epi32(a, (unsigned int)n); }

V_INLINE vi vi_sar(vi a, int n)		{ return _mm512_srai_epi32(a, (unsigned int)n); }
/* Per-lane shift counts; one beyond the width shifts out all bits. */
V_INLINE vi vi_shift_left(vi a, vi b)	{ return _mm512_sllv_epi32(a, b); }
V_INLINE vi vi_shift_right(vi a, vi b)	{ return _mm512_srav_epi32(a, b); }

/* The upper words of products */
V_INLINE vi vi_mul_high(vi a, vi b)
{
	const vi even = _mm512_mul_epi32(a, b);
	const vi odd = _mm512_mul_epi32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32));

	return _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
}

/* Round to the nearest integer; out of range gives the smallest one. */
V_INLINE vi vi_nearest(vf x)		{ return _mm512_cvtps_epi32(x); }

/*
 * Interleave words, or pairs of them, of two vectors: of the low, or high half of each 128
 * bits.
 */
V_INLINE vi vi_low_words(vi a, vi b)	{ return _mm512_unpacklo_epi32(a, b); }
V_INLINE vi vi_high_words(vi a, vi b)	{ return _mm512_unpackhi_epi32(a, b); }
V_INLINE vi vi_low_pairs(vi a, vi b)	{ return _mm512_unpacklo_epi64(a, b); }
V_INLINE vi vi_high_pairs(vi a, vi b)	{ return _mm512_unpackhi_epi64(a, b); }

/* Signed bytes 0 and 2, or 1 and 3, of each word as s16. */
V_INLINE vi vi_low_bytes(vi q)		{ return _mm512_srai_epi16(_mm512_slli_epi16(q, 8), 8); }
V_INLINE vi vi_high_bytes(vi q)		{ return _mm512_srai_epi16(q, 8); }

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
	return v_of(_mm512_set1_epi64(x));
}

V_INLINE vf v_load_bf16(const void *p)
{
	const __m512i x = _mm512_cvtepu16_epi32(_mm256_loadu_si256(p));

	return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
}

V_INLINE vf v_load_f16(const void *p)
{
	return _mm512_cvtph_ps(_mm256_loadu_si256(p));
}

/* Numbers of binary16 in the low halves of words. */
V_INLINE vf v_half_words(vi w)
{
	return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(w));
}

V_INLINE vf v_bytes(const void *p, bool is_signed)
{
	const __m128i x = _mm_loadu_si128(p);

	return _mm512_cvtepi32_ps(is_signed ? _mm512_cvtepi8_epi32(x) :
				  _mm512_cvtepu8_epi32(x));
}

V_INLINE float v_largest(vf x)
{
	return _mm512_reduce_max_ps(x);
}

V_INLINE float v_total(vf x)
{
	return _mm512_reduce_add_ps(x);
}

V_INLINE float v_smallest(vf x)
{
	return _mm512_reduce_min_ps(x);
}

/* (word & mask) ^ bits */
V_INLINE vi vi_field(vi word, vi mask, vi bits)
{
	return _mm512_ternarylogic_epi32(word, mask, bits, 0x6a);
}

/* Separate the even and the odd lanes of @a and @b, and the inverse. */
V_INLINE void v_part(vf *even, vf *odd, vf a, vf b)
{
	const vi at = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);

	*even = _mm512_permutex2var_ps(a, at, b);
	*odd = _mm512_permutex2var_ps(a, vi_add(at, vi_set(1)), b);
}

V_INLINE void v_join(vf *a, vf *b, vf even, vf odd)
{
	const vi at = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);

	*a = _mm512_permutex2var_ps(even, at, odd);
	*b = _mm512_permutex2var_ps(even, vi_add(at, vi_set(8)), odd);
}

/* Sums of adjacent lanes, those of @a first. */
V_INLINE vf v_add_pairs(vf a, vf b)
{
	vf even, odd;

	v_part(&even, &odd, a, b);
	return v_add(even, odd);
}

/* Look up the lowest four bits of each word. */
V_INLINE vf v_table(const float *table, vi index)
{
	return _mm512_permutexvar_ps(index, _mm512_loadu_ps(table));
}

/* Transpose 16 x 16 words: pairs of rows, then fours, then the quarters of vectors. */
V_INLINE void vi_transpose(vi v[16])
{
	vi t[16];
	uint32_t i;

#pragma GCC unroll 8
	for (i = 0; i < 16; i += 2) {
		t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
		t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
	}
#pragma GCC unroll 4
	for (i = 0; i < 16; i += 4) {
		v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
		v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
		v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
		v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
	}
#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		t[i] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0x88);
		t[i + 4] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0xdd);
		t[i + 8] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0x88);
		t[i + 12] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0xdd);
	}
#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		v[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
		v[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
		v[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
		v[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
	}
}

/* Masks of lanes; comparisons with a NaN are false unless they say so. */
typedef __mmask16 vm;

V_INLINE vm v_less(vf a, vf b)		{ return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
V_INLINE vm v_least(vf a, vf b)		{ return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
V_INLINE vm v_equal(vf a, vf b)		{ return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
V_INLINE vm v_unordered(vf a, vf b)	{ return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
/* Also if one is NaN */
V_INLINE vm v_not_less(vf a, vf b)	{ return _mm512_cmp_ps_mask(a, b, _CMP_NLT_UQ); }
V_INLINE vm vm_or(vm a, vm b)		{ return a | b; }
V_INLINE bool vm_any(vm m)		{ return m; }
V_INLINE uint32_t vm_bits(vm m)		{ return m; }
V_INLINE vm vi_equal(vi a, vi b)		{ return _mm512_cmpeq_epi32_mask(a, b); }
V_INLINE vm vi_greater(vi a, vi b)	{ return _mm512_cmpgt_epi32_mask(a, b); }
V_INLINE vi vi_max_s8(vi a, vi b)	{ return _mm512_max_epi8(a, b); }
V_INLINE vi vi_max_u8(vi a, vi b)	{ return _mm512_max_epu8(a, b); }
V_INLINE vm vm_none(void)		{ return 0; }
/* Lanes of @a where the mask is set, else of @b. */
V_INLINE vf v_where(vm m, vf a, vf b)	{ return _mm512_mask_blend_ps(m, b, a); }
V_INLINE vf v_sqrt(vf x)		{ return _mm512_sqrt_ps(x); }
/* To the nearest integer, ties to even. */
V_INLINE vf v_rint(vf x)		{ return _mm512_roundscale_ps(x, 0x08); }
V_INLINE vf v_spread(vf x)		{ return _mm512_broadcastss_ps(_mm512_castps512_ps128(x)); }

/* 1 / x, error at most two units of rounding, for x from 1 to 2^100 */
V_INLINE vf v_inverse(vf x)
{
	const vf r = _mm512_rcp14_ps(x);

	return v_fma(r, v_fnma(x, r, v_set(1)), r);
}

/* x 2^n, rounding once, for integers -252 <= n <= 252; n may be a NaN if x is. */
V_INLINE vf v_ldexp(vf x, vf n)		{ return _mm512_scalef_ps(x, n); }

/* Halves of vectors as binary64. */
typedef __m512d vd;

V_INLINE vd vd_low(vf x)		{ return _mm512_cvtps_pd(_mm512_castps512_ps256(x)); }
V_INLINE vd vd_high(vf x)		{ return _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)); }
V_INLINE vd vd_low_ints(vi x)		{ return _mm512_cvtepi32_pd(_mm512_castsi512_si256(x)); }

V_INLINE vd vd_high_ints(vi x)
{
	return _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(x, 1));
}

V_INLINE vd vd_set(double x)		{ return _mm512_set1_pd(x); }
V_INLINE vd vd_add(vd a, vd b)		{ return _mm512_add_pd(a, b); }
V_INLINE vd vd_sub(vd a, vd b)		{ return _mm512_sub_pd(a, b); }
V_INLINE vd vd_mul(vd a, vd b)		{ return _mm512_mul_pd(a, b); }
V_INLINE vd vd_fma(vd a, vd b, vd c)	{ return _mm512_fmadd_pd(a, b, c); }
V_INLINE vf v_of_halves(vd low, vd high)
{
	return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)),
				  _mm512_cvtpd_ps(high), 1);
}

V_INLINE void vd_store(double *p, vd x)	{ _mm512_storeu_pd(p, x); }
V_INLINE double vd_total(vd x)		{ return _mm512_reduce_add_pd(x); }

V_INLINE void v_store_f16(void *p, vf x)
{
	_mm256_storeu_si256(p, _mm512_cvtps_ph(x, 0));
}

/* Round to nearest even, keeping subnormal numbers; a NaN becomes quiet. */
V_INLINE void v_store_bf16(void *p, vf x)
{
	const vi bits = vi_of(x), odd = vi_and(vi_shr(bits, 16), vi_set(1));
	const vi near = vi_add(vi_add(bits, vi_set(0x7fff)), odd);
	const vi r = _mm512_mask_or_epi32(near, v_unordered(x, x), bits, vi_set(0x400000));

	_mm256_storeu_si256(p, _mm512_cvtepi32_epi16(vi_shr(r, 16)));
}

/* Four vectors of integers as bytes, @zero added, saturated. */
V_INLINE void v_store_bytes4(void *p, const vf *x, int32_t zero, bool is_signed)
{
	const vi z = _mm512_set1_epi16((int16_t)zero);
	vi a = _mm512_packs_epi32(_mm512_cvtps_epi32(x[0]), _mm512_cvtps_epi32(x[1]));
	vi b = _mm512_packs_epi32(_mm512_cvtps_epi32(x[2]), _mm512_cvtps_epi32(x[3]));

	a = _mm512_adds_epi16(a, z);
	b = _mm512_adds_epi16(b, z);
	a = is_signed ? _mm512_packs_epi16(a, b) : _mm512_packus_epi16(a, b);
	a = _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3,
						       7, 11, 15), a);
	_mm512_storeu_si512(p, a);
}

/* The integer part of positive numbers below 2^31 */
V_INLINE vi vi_whole(vf x)		{ return _mm512_cvttps_epi32(x); }

/* Look up the lowest five bits of each word in 32 entries. */
V_INLINE vf v_table32(const float *table, vi index)
{
	return _mm512_permutex2var_ps(_mm512_loadu_ps(table), index, _mm512_loadu_ps(table + 16));
}

#endif /* LIBACCEL_SW_FAST_VEC512_H */
