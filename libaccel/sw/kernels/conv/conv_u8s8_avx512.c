// SPDX-License-Identifier: MIT
/*
 * Block products of convolutions, u8 inputs and s8 weights, AVX512_VNNI.
 */
#include <immintrin.h>
#include "conv_end_bytes.h"

#define CONV_BCAST(p)		_mm512_set1_epi32(*(const conv_word *)(p))
#define CONV_LOAD(p)		_mm512_loadu_si512(p)
#define CONV_LOAD_MASK(m, p)	_mm512_maskz_loadu_epi32(m, p)
#define CONV_STEP(acc, a, b)	_mm512_dpbusd_epi32(acc, a, b)
#define CONV_TABLE		conv_u8s8_avx512

#include "conv_kernel_impl.h"
