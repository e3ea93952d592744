/* SPDX-License-Identifier: MIT */
/*
 * Vectors of attn_kern.h with AVX2 and FMA. Tiles of 4 x 24: 12 sums, 3 vectors
 * and a word are 16 registers, 7 loads for 12 multiply-adds.
 */
#include "attn.h"
#include "libaccel/sw/kernels/vec/vec256.h"

#define MR	4u
#define NV	3u

/* What vectors are put together by, across lanes */
#define ACROSS_SUM	0
#define ACROSS_MAX	1

/* All bits of the first @n lanes */
V_INLINE vi v_lanes(uint32_t n)
{
	const vi at = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);

	return _mm256_cmpgt_epi32(vi_set(n >= 8 ? 8 : (int32_t)n), at);
}

/* Minus infinity in all lanes but the first @n. */
V_INLINE vf v_first(vf x, uint32_t n)
{
	return _mm256_blendv_ps(v_set(-__builtin_inff()), x, _mm256_castsi256_ps(v_lanes(n)));
}

/* 0 in all lanes but the first @n. */
V_INLINE vf v_first_or_0(vf x, uint32_t n)
{
	return _mm256_and_ps(x, _mm256_castsi256_ps(v_lanes(n)));
}

V_INLINE vf v_put(vf a, vf b, const int op)
{
	return op == ACROSS_MAX ? v_max(a, b) : v_add(a, b);
}

/* Lane i of each half: what that half of a[i] comes to. */
V_INLINE vf v_across4(const vf *a, const int op)
{
	const vf x = v_put(_mm256_blend_ps(a[0], a[1], 0xcc),
			   _mm256_shuffle_ps(a[0], a[1], 0x4e), op);
	const vf y = v_put(_mm256_blend_ps(a[2], a[3], 0xcc),
			   _mm256_shuffle_ps(a[2], a[3], 0x4e), op);

	return v_put(_mm256_shuffle_ps(x, y, 0x88), _mm256_shuffle_ps(x, y, 0xdd), op);
}

/* The halves of two vectors from v_across4() put together, one after the other. */
V_INLINE vf v_across(const vf *a, const int op)
{
	return v_put(_mm256_permute2f128_ps(a[0], a[1], 0x20),
		     _mm256_permute2f128_ps(a[0], a[1], 0x31), op);
}

V_INLINE vf v_dot(vf acc, vf a, vf b)
{
	return _mm256_fmadd_ps(a, b, acc);
}

V_INLINE vf v_abs(vf x)
{
	return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}

V_INLINE vf v_copy_sign(vf x, vf from)
{
	return _mm256_or_ps(x, _mm256_and_ps(from, _mm256_set1_ps(-0.0f)));
}

V_INLINE vf v_if_equal(vf a, vf b, vf yes, vf no)
{
	return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_EQ_OQ));
}

V_INLINE vf v_if_less(vf a, vf b, vf yes, vf no)
{
	return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}

/* |pos - key| */
V_INLINE vf v_distance(const int32_t *pos, int32_t key)
{
	return _mm256_cvtepi32_ps(_mm256_abs_epi32(_mm256_sub_epi32(vi_load(pos),
								    vi_set(key))));
}

/* Minus infinity unless lo <= key <= hi. */
V_INLINE vf v_between(vf x, int32_t key, vi lo, vi hi)
{
	const vi k = vi_set(key);
	const vi hidden = _mm256_or_si256(_mm256_cmpgt_epi32(lo, k), _mm256_cmpgt_epi32(k, hi));

	return _mm256_blendv_ps(x, _mm256_set1_ps(-__builtin_inff()),
				_mm256_castsi256_ps(hidden));
}

V_INLINE vi v_exponent(vf x)
{
	return _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7f800000));
}

/* Of the first @n lanes of exponents. */
V_INLINE bool v_all_finite(vi high, uint32_t n)
{
	const vi odd = _mm256_cmpeq_epi32(high, _mm256_set1_epi32(0x7f800000));
	const uint32_t lanes = n >= 8 ? 0xffu : (1u << n) - 1;

	return !((uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(odd)) & lanes);
}

/* The number with that exponent. */
V_INLINE vf v_power(vi biased)
{
	return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
}

/*
 * 2^x as attn_v512.h has it. The power of two comes in two factors, so that
 * subnormal results are kept; a NaN passes.
 */
V_INLINE vf v_exp2(vf x)
{
	const vf at = _mm256_max_ps(v_set(-160), _mm256_min_ps(v_set(160), x));
	const vf down = _mm256_floor_ps(at), r = v_sub(at, down);
	const vi n = _mm256_cvtps_epi32(down), half = _mm256_srai_epi32(n, 1);
	const vi bias = vi_set(127);
	vf p = v_set(0.00186713005f);

	p = v_fma(p, r, v_set(0.00901703071f));
	p = v_fma(p, r, v_set(0.0557999127f));
	p = v_fma(p, r, v_set(0.240164444f));
	p = v_fma(p, r, v_set(0.693151295f));
	p = v_fma(p, r, v_set(1));
	p = v_mul(p, v_power(_mm256_add_epi32(half, bias)));
	return v_mul(p, v_power(_mm256_add_epi32(_mm256_sub_epi32(n, half), bias)));
}

/* 8 lines of @m words turned. */
V_INLINE void v_turn(uint32_t *dst, uint32_t ldd, const uint32_t *src, uint32_t lds,
		     const uint32_t m)
{
	const vi at = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
	const vi there = _mm256_cmpgt_epi32(vi_set((int32_t)m), at);
	__m256 a[8], b[8];
	uint32_t i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		a[i] = v_of(_mm256_maskload_epi32((const int *)(src + (size_t)i * lds), there));
#pragma GCC unroll 8
	for (i = 0; i < 8; i += 2) {
		b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
		b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
	}
#pragma GCC unroll 8
	for (i = 0; i < 8; i += 4) {
		a[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
		a[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xee);
		a[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
		a[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xee);
	}
#pragma GCC unroll 8
	for (i = 0; i < 4; i++) {
		if (i < m)
			v_store(dst + (size_t)i * ldd,
				_mm256_permute2f128_ps(a[i], a[i + 4], 0x20));
		if (i + 4 < m)
			v_store(dst + (size_t)(i + 4) * ldd,
				_mm256_permute2f128_ps(a[i], a[i + 4], 0x31));
	}
}
