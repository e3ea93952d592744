// SPDX-License-Identifier: MIT
/*
 * Transforms of Winograd's algorithms, AVX2 with FMA.
 */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

static inline __m256 load_f32(const uint8_t *p, uint32_t n)
{
	const __m256i at = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

	if (n == 8)
		return _mm256_loadu_ps((const float *)p);
	return _mm256_maskload_ps((const float *)p,
				  _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), at));
}

static inline __m256 load_bf16(const uint8_t *p, uint32_t n)
{
	uint16_t raw[8] = { 0 };
	__m128i v;

	memcpy(raw, p, 2ul * n);
	memcpy(&v, raw, sizeof(v));
	return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}

#define W_VEC			__m256
#define W_LANES			8u
#define W_SET(x)		_mm256_set1_ps(x)
#define W_LOAD(p, n)		load_f32(p, n)
#define W_LOAD_BF16(p, n)	load_bf16(p, n)
#define W_FMA(a, b, c)		_mm256_fmadd_ps(a, b, c)
#define W_TABLE			wino_avx2

#include "wino_impl.h"
