// SPDX-License-Identifier: MIT
/*
 * Block products of convolutions, bf16 pairs into binary32, AVX512_BF16.
 */
#include <immintrin.h>
#include "conv_end_float.h"

#define CONV_BCAST(p)		_mm512_set1_ps(*(const conv_float *)(p))
#define CONV_LOAD(p)		_mm512_loadu_ps(p)
#define CONV_LOAD_MASK(m, p)	_mm512_maskz_loadu_ps(m, p)
#define CONV_STEP(acc, a, b)	_mm512_dpbf16_ps(acc, (__m512bh)(a), (__m512bh)(b))
#define CONV_TAIL(a, m)		_mm512_and_ps(a, _mm512_castsi512_ps(_mm512_set1_epi32((int)(m))))
#define CONV_END(g, to, res, acc, mr, nv)				\
	((g)->end->kind == CONV_END_BF16 ? conv_end_bf16(g, to, res, acc, mr, nv) : \
					   conv_end_f32(g, to, res, acc, mr, nv))
#define CONV_ENDS		(1u << CONV_END_F32 | 1u << CONV_END_BF16)
#define CONV_TABLE		conv_bf16_avx512

#include "conv_kernel_impl.h"
