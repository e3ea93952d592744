// SPDX-License-Identifier: MIT
/*
 * The end of a convolution of bytes into bytes, AVX-512: zero points, scales, bias,
 * ReLU, quantisation by the reciprocal but next to a tie, and packing, which
 * saturates. 32 channels at once, about 15 operations for 16 of them, where the
 * general epilogue takes three times as long.
 */
#include <immintrin.h>
#include "conv_fast.h"

#define ALWAYS static inline __attribute__((always_inline))

/* Numbers beyond this are saturated anyway, and have no fraction to look at. */
#define BOUND	0x1p20f

/**
 * struct half - what is the same for 16 channels of all outputs
 * @col_add: added to sums
 * @scale: factors
 * @bias: added to products
 */
struct half {
	__m512i col_add;
	__m512 scale;
	__m512 bias;
};

ALWAYS struct half load_half(const struct conv_bytes *f, const struct conv_result *b, uint32_t at,
			     __mmask16 m)
{
	struct half h = {
		.col_add = _mm512_setzero_si512(), .bias = _mm512_setzero_ps(),
		.scale = f->each ? _mm512_maskz_loadu_ps(m, b->scale + at) :
				   _mm512_set1_ps(b->scale[0]),
	};

	if (b->col_add)
		h.col_add = _mm512_maskz_loadu_epi32(m, b->col_add + at);
	if (f->bias)
		h.bias = _mm512_maskz_loadu_ps(m, f->bias + at);
	return h;
}

ALWAYS __m512 value(const struct half *h, const float *x, __m512i row_add, const bool relu,
		    const bool bias)
{
	const __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(x), row_add);
	__m512 v = _mm512_cvtepi32_ps(_mm512_add_epi32(sum, h->col_add));

	v = _mm512_mul_ps(v, h->scale);
	if (bias)
		v = _mm512_add_ps(v, h->bias);
	/* A NaN, the second one, stays. Of zeros the sign does not matter. */
	return relu ? _mm512_max_ps(_mm512_setzero_ps(), v) : v;
}

ALWAYS __m512 fraction(__m512 q)
{
	return _mm512_abs_ps(_mm512_sub_ps(q, _mm512_roundscale_ps(q, _MM_FROUND_TO_NEAREST_INT |
								   _MM_FROUND_NO_EXC)));
}

/* As a division says it; NaN is 0. */
static __attribute__((noinline)) __m512 divided(__m512 v, float scale)
{
	v = _mm512_div_ps(v, _mm512_set1_ps(scale));
	return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, v, _CMP_ORD_Q), v);
}

/* Below: what is too small for s32 becomes its least number. */
ALWAYS __m512i rounded(__m512 q, __m512i zero)
{
	return _mm512_add_epi32(_mm512_cvtps_epi32(_mm512_max_ps(_mm512_min_ps(q,
			_mm512_set1_ps(BOUND)), _mm512_set1_ps(-BOUND))), zero);
}

ALWAYS void columns(const struct conv_bytes *f, const struct conv_result *b, uint32_t at,
		    const bool relu, const bool bias)
{
	const uint32_t n = b->n - at < 32 ? b->n - at : 32;
	const uint32_t all = n < 32 ? (1u << n) - 1 : ~0u;
	const struct half h0 = load_half(f, b, at, (__mmask16)all);
	const struct half h1 = load_half(f, b, at + 16, (__mmask16)(all >> 16));
	const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11,
						15);
	const __m512 rec = _mm512_set1_ps(1 / f->scale), tie = _mm512_set1_ps(0.4995f);
	const __m512i zero = _mm512_set1_epi32(f->zero);
	const bool two = b->ld - at > 16;
	uint8_t *to = f->dst + at;
	uint32_t i;

	for (i = 0; i < b->outputs; i++, to += f->dst_ms) {
		const __m512i row_add = _mm512_set1_epi32(b->row_add ? b->row_add[i] : 0);
		const float *x = b->x + i * b->ld + at;
		const __m512 v0 = value(&h0, x, row_add, relu, bias);
		const __m512 v1 = value(&h1, two ? x + 16 : x, row_add, relu, bias);
		__m512 q0 = _mm512_mul_ps(v0, rec), q1 = _mm512_mul_ps(v1, rec);
		__m512i w;

		/* One next to a tie, or a NaN, among the 32. */
		if (__builtin_expect(_mm512_cmp_ps_mask(fraction(q0), tie, _CMP_NLT_UQ) |
				     _mm512_cmp_ps_mask(fraction(q1), tie, _CMP_NLT_UQ), 0)) {
			q0 = divided(v0, f->scale);
			q1 = divided(v1, f->scale);
		}
		w = _mm512_packs_epi32(rounded(q0, zero), rounded(q1, zero));
		w = f->is_signed ? _mm512_packs_epi16(w, w) : _mm512_packus_epi16(w, w);
		w = _mm512_permutexvar_epi32(order, w);
		if (all == ~0u)
			_mm256_storeu_si256((__m256i *)to, _mm512_castsi512_si256(w));
		else
			_mm256_mask_storeu_epi8(to, all, _mm512_castsi512_si256(w));
	}
}

/**
 * conv_bytes_avx512 - finish a block of results
 * @f: where they go, and how
 * @b: block
 */
void conv_bytes_avx512(const struct conv_bytes *f, const struct conv_result *b)
{
	uint32_t at;

	for (at = 0; at < b->n; at += 32) {
		if (f->relu)
			f->bias ? columns(f, b, at, true, true) : columns(f, b, at, true, false);
		else
			f->bias ? columns(f, b, at, false, true) : columns(f, b, at, false, false);
	}
}
