// SPDX-License-Identifier: MIT
/*
 * Block products of convolutions, binary32, AVX-512.
 */
#include <immintrin.h>

#define CONV_VEC		__m512
#define CONV_ZERO()		_mm512_setzero_ps()
#define CONV_BCAST(p)		_mm512_set1_ps(*(const conv_float *)(p))
#define CONV_LOAD(p)		_mm512_loadu_ps(p)
#define CONV_LOAD_MASK(m, p)	_mm512_maskz_loadu_ps(m, p)
#define CONV_STEP(acc, a, b)	_mm512_fmadd_ps(a, b, acc)
#define CONV_STORE(p, acc)	_mm512_storeu_ps(p, acc)
#define CONV_TABLE		conv_f32_avx512

#include "conv_kernel_impl.h"
