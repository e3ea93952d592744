// SPDX-License-Identifier: MIT
/*
 * Block products of convolutions, s8 inputs and s8 weights, AVX512_VNNI: 128 is added to
 * weights, on ports that products do not use.
 */
#include <immintrin.h>
#include "conv_end_bytes.h"

#define CONV_BCAST(p)		_mm512_set1_epi32(*(const conv_word *)(p))
#define CONV_LOAD(p)		_mm512_xor_si512(_mm512_loadu_si512(p), _mm512_set1_epi8(-128))
#define CONV_LOAD_MASK(m, p)	_mm512_xor_si512(_mm512_maskz_loadu_epi32(m, p), \
						_mm512_set1_epi8(-128))
#define CONV_STEP(acc, a, b)	_mm512_dpbusd_epi32(acc, b, a)
#define CONV_TABLE		conv_s8s8_avx512

#include "conv_kernel_impl.h"
