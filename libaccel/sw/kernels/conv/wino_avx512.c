// SPDX-License-Identifier: MIT
/*
 * Transforms of Winograd's algorithms, AVX-512.
 */
#include <immintrin.h>
#include <stdint.h>

static inline __m512 load_f32(const uint8_t *p, uint32_t n)
{
	return n == 16 ? _mm512_loadu_ps(p) :
			 _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}

static inline __m512 load_bf16(const uint8_t *p, uint32_t n)
{
	__m256i raw = _mm256_maskz_loadu_epi16((__mmask16)((1u << n) - 1), p);

	return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(raw), 16));
}

#define W_VEC			__m512
#define W_LANES			16u
#define W_SET(x)		_mm512_set1_ps(x)
#define W_LOAD(p, n)		load_f32(p, n)
#define W_LOAD_BF16(p, n)	load_bf16(p, n)
#define W_FMA(a, b, c)		_mm512_fmadd_ps(a, b, c)
#define W_TABLE			wino_avx512

#include "wino_impl.h"
