// SPDX-License-Identifier: MIT
/* Quantisation of lines: AVX-512. */
#include "dynquant.h"
#include "libaccel/sw/kernels/vec/vec512.h"

/* Sets all bits of @nan in the lanes in which @x is a NaN. */
static inline vf v_or_nan(vf nan, vf x)
{
	return _mm512_castsi512_ps(_mm512_mask_set1_epi32(_mm512_castps_si512(nan),
			_mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), -1));
}

static inline bool v_any_nan(vf nan)
{
	return _mm512_test_epi32_mask(_mm512_castps_si512(nan), _mm512_castps_si512(nan));
}

static inline void v_store_bytes(uint8_t *to, vf x, float scale, int32_t zero, bool is_signed);

#include "dynquant_kernel.h"

static inline void v_store_bytes(uint8_t *to, vf x, float scale, int32_t zero, bool is_signed)
{
	vf q = _mm512_roundscale_ps(_mm512_div_ps(x, _mm512_set1_ps(scale)), 0x08);
	__m512i i;

	q = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(q, q, _CMP_ORD_Q), q);
	q = _mm512_max_ps(q, _mm512_set1_ps(-QUOTIENT_MAX));
	q = _mm512_min_ps(q, _mm512_set1_ps(QUOTIENT_MAX));
	i = _mm512_add_epi32(_mm512_cvtps_epi32(q), _mm512_set1_epi32(zero));
	if (!is_signed)
		i = _mm512_max_epi32(i, _mm512_setzero_si512());
	_mm_storeu_si128((void *)to, is_signed ? _mm512_cvtsepi32_epi8(i) :
						 _mm512_cvtusepi32_epi8(i));
}

const struct dynquant_kernels dynquant_avx512 = {
	.range = find_range, .store = store_bytes,
};
