// SPDX-License-Identifier: MIT
/*
 * Block products of convolutions, bf16 pairs into binary32, AVX512_BF16.
 */
#include <immintrin.h>

#define CONV_VEC		__m512
#define CONV_ZERO()		_mm512_setzero_ps()
#define CONV_BCAST(p)		_mm512_set1_ps(*(const conv_float *)(p))
#define CONV_LOAD(p)		_mm512_loadu_ps(p)
#define CONV_LOAD_MASK(m, p)	_mm512_maskz_loadu_ps(m, p)
#define CONV_STEP(acc, a, b)	_mm512_dpbf16_ps(acc, (__m512bh)(a), (__m512bh)(b))
#define CONV_STORE(p, acc)	_mm512_storeu_ps(p, acc)
#define CONV_TAIL(a, m)		_mm512_and_ps(a, _mm512_castsi512_ps(_mm512_set1_epi32((int)(m))))
#define CONV_TABLE		conv_bf16_avx512

#include "conv_kernel_impl.h"
