// SPDX-License-Identifier: MIT
/* Quantisation of lines: AVX2 with F16C. */
#include "dynquant.h"
#include "libaccel/sw/kernels/vec/vec256.h"

/* Sets all bits of @nan in the lanes in which @x is a NaN. */
static inline vf v_or_nan(vf nan, vf x)
{
	return _mm256_or_ps(nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

static inline bool v_any_nan(vf nan)
{
	return _mm256_movemask_ps(nan);
}

static inline void v_store_bytes(uint8_t *to, vf x, float scale, int32_t zero, bool is_signed);

#include "dynquant_kernel.h"

static inline void v_store_bytes(uint8_t *to, vf x, float scale, int32_t zero, bool is_signed)
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
