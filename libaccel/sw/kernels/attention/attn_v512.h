/* SPDX-License-Identifier: MIT */
/*
 * Vectors of attn_kern.h with AVX-512.
 */
#include "attn.h"
#include "libaccel/sw/kernels/vec/vec512.h"

#define MR	8u
#define NV	3u

/* What vectors are put together by, across lanes */
#define ACROSS_SUM	0
#define ACROSS_MAX	1
/* Sums of integers */
#define ACROSS_INT	2

/* The first @n lanes */
V_INLINE __mmask16 v_lanes(uint32_t n)
{
	return (__mmask16)(n >= 16 ? 0xffffu : (1u << n) - 1);
}

/* Minus infinity in all lanes but the first @n. */
V_INLINE vf v_first(vf x, uint32_t n)
{
	return _mm512_mask_blend_ps(v_lanes(n), _mm512_set1_ps(-__builtin_inff()), x);
}

/* 0 in all lanes but the first @n. */
V_INLINE vf v_first_or_0(vf x, uint32_t n)
{
	return _mm512_maskz_mov_ps(v_lanes(n), x);
}

V_INLINE vf v_put(vf a, vf b, const int op)
{
	return op == ACROSS_MAX ? v_max(a, b) :
	       op == ACROSS_SUM ? v_add(a, b) : v_of(vi_add(vi_of(a), vi_of(b)));
}

/* Lane i of each quarter: what that quarter of a[i] comes to. */
V_INLINE vf v_across4(const vf *a, const int op)
{
	const vf x = v_put(_mm512_mask_blend_ps(0xcccc, a[0], a[1]),
			   _mm512_shuffle_ps(a[0], a[1], 0x4e), op);
	const vf y = v_put(_mm512_mask_blend_ps(0xcccc, a[2], a[3]),
			   _mm512_shuffle_ps(a[2], a[3], 0x4e), op);

	return v_put(_mm512_shuffle_ps(x, y, 0x88), _mm512_shuffle_ps(x, y, 0xdd), op);
}

/* The quarters of four vectors from v_across4() put together, one after the other. */
V_INLINE vf v_across(const vf *a, const int op)
{
	const vf x = v_put(_mm512_mask_blend_ps(0xff00, a[0], a[1]),
			   _mm512_shuffle_f32x4(a[0], a[1], 0x4e), op);
	const vf y = v_put(_mm512_mask_blend_ps(0xff00, a[2], a[3]),
			   _mm512_shuffle_f32x4(a[2], a[3], 0x4e), op);

	return v_put(_mm512_shuffle_f32x4(x, y, 0x88), _mm512_shuffle_f32x4(x, y, 0xdd), op);
}

V_INLINE vf v_abs(vf x)
{
	return _mm512_abs_ps(x);
}

V_INLINE vf v_copy_sign(vf x, vf from)
{
	return _mm512_or_ps(x, _mm512_and_ps(from, _mm512_set1_ps(-0.0f)));
}

V_INLINE vf v_if_equal(vf a, vf b, vf yes, vf no)
{
	return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ), no, yes);
}

V_INLINE vf v_if_less(vf a, vf b, vf yes, vf no)
{
	return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}

/* |pos - key| */
V_INLINE vf v_distance(const int32_t *pos, int32_t key)
{
	return _mm512_cvtepi32_ps(_mm512_abs_epi32(_mm512_sub_epi32(vi_load(pos),
								    vi_set(key))));
}

/* Minus infinity unless lo <= key <= hi. */
V_INLINE vf v_between(vf x, int32_t key, vi lo, vi hi)
{
	const vi k = vi_set(key);
	const __mmask16 seen = _mm512_mask_cmple_epi32_mask(_mm512_cmple_epi32_mask(lo, k), k, hi);

	return _mm512_mask_blend_ps(seen, _mm512_set1_ps(-__builtin_inff()), x);
}

V_INLINE vi v_exponent(vf x)
{
	return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7f800000));
}

/* Of the first @n lanes of exponents. */
V_INLINE bool v_all_finite(vi high, uint32_t n)
{
	const __mmask16 lanes = (__mmask16)(n >= 16 ? 0xffffu : (1u << n) - 1);

	return !_mm512_mask_cmpeq_epi32_mask(lanes, high, _mm512_set1_epi32(0x7f800000));
}

/*
 * 2^x, x at most some 100, to 2.6 units of roundoff (1.57 of the polynomial, the
 * rest of its evaluation). 2^r on 0 <= r < 1 is a polynomial of degree 5 that is
 * 1 at 0, fitted for the least relative error; coefficients rounded to binary32.
 * Minus infinity gives 0, subnormal results are kept.
 */
V_INLINE vf v_exp2(vf x)
{
	const vf r = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF);
	vf p = _mm512_set1_ps(0.00186713005f);

	p = v_fma(p, r, v_set(0.00901703071f));
	p = v_fma(p, r, v_set(0.0557999127f));
	p = v_fma(p, r, v_set(0.240164444f));
	p = v_fma(p, r, v_set(0.693151295f));
	p = v_fma(p, r, v_set(1));
	return _mm512_scalef_ps(p, x);
}

/* The same of degree 3, to 2^-13.5: for what is rounded to bf16. */
V_INLINE vf v_exp2_rough(vf x)
{
	const vf r = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF);
	vf p = _mm512_set1_ps(0.0770670399f);

	p = v_fma(p, r, v_set(0.227644995f));
	p = v_fma(p, r, v_set(0.695116758f));
	p = v_fma(p, r, v_set(1));
	return _mm512_scalef_ps(p, x);
}

/* 16 lines of @m words turned. */
V_INLINE void v_turn(uint32_t *dst, uint32_t ldd, const uint32_t *src, uint32_t lds,
		     const uint32_t m)
{
	const __mmask16 there = (__mmask16)((1u << m) - 1);
	vi a[16];
	uint32_t i;

#pragma GCC unroll 16
	for (i = 0; i < 16; i++)
		a[i] = _mm512_maskz_loadu_epi32(there, src + (size_t)i * lds);
	vi_transpose(a);
#pragma GCC unroll 16
	for (i = 0; i < 16; i++)
		if (i < m)
			_mm512_storeu_si512(dst + (size_t)i * ldd, a[i]);
}
