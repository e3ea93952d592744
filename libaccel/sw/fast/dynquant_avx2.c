// SPDX-License-Identifier: MIT
/*
 * Lines of numbers into bytes: AVX2 with F16C.
 */
#include <immintrin.h>
#include "dynquant.h"

#define VL	8

typedef __m256 vf;

static inline vf v_zero(void)			{ return _mm256_setzero_ps(); }
static inline vf v_load_f32(const void *p)	{ return _mm256_loadu_ps(p); }
static inline vf v_load_f16(const void *p)	{ return _mm256_cvtph_ps(_mm_loadu_si128(p)); }

static inline vf v_load_bf16(const void *p)
{
	return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(p)),
						     16));
}

/* Of a NaN the second */
static inline vf v_max(vf a, vf b)	{ return _mm256_max_ps(a, b); }
static inline vf v_min(vf a, vf b)	{ return _mm256_min_ps(a, b); }

static inline float v_all_max(vf a)
{
	__m128 x = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

	x = _mm_max_ps(x, _mm_movehl_ps(x, x));
	return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}

static inline float v_all_min(vf a)
{
	__m128 x = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));

	x = _mm_min_ps(x, _mm_movehl_ps(x, x));
	return _mm_cvtss_f32(_mm_min_ss(x, _mm_movehdup_ps(x)));
}

/* @nan with all bits set where @x is one. */
static inline vf v_or_nan(vf nan, vf x)
{
	return _mm256_or_ps(nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

static inline bool v_any_nan(vf nan)
{
	return _mm256_movemask_ps(nan);
}

static inline void v_store(uint8_t *to, vf x, float scale, int32_t zero, bool is_signed);

#include "dynquant_kernel.h"

static inline void v_store(uint8_t *to, vf x, float scale, int32_t zero, bool is_signed)
{
	vf q = _mm256_round_ps(_mm256_div_ps(x, _mm256_set1_ps(scale)), 0x08);
	__m128i words;
	__m256i i;

	q = _mm256_and_ps(q, _mm256_cmp_ps(q, q, _CMP_ORD_Q));
	q = _mm256_max_ps(q, _mm256_set1_ps(-QUOTIENT_MAX));
	q = _mm256_min_ps(q, _mm256_set1_ps(QUOTIENT_MAX));
	i = _mm256_add_epi32(_mm256_cvtps_epi32(q), _mm256_set1_epi32(zero));
	words = _mm_packs_epi32(_mm256_castsi256_si128(i), _mm256_extracti128_si256(i, 1));
	words = is_signed ? _mm_packs_epi16(words, words) : _mm_packus_epi16(words, words);
	_mm_storel_epi64((void *)to, words);
}

const struct dynquant_kernels dynquant_avx2 = {
	.range = find_range, .store = store_bytes,
};
