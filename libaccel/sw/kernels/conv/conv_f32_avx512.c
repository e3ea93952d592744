// SPDX-License-Identifier: MIT
/*
 * Block products of convolutions, binary32, AVX-512.
 */
#include <immintrin.h>
#include "conv_end_float.h"

#define CONV_BCAST(p)		_mm512_set1_ps(*(const conv_float *)(p))
#define CONV_LOAD(p)		_mm512_loadu_ps(p)
#define CONV_LOAD_MASK(m, p)	_mm512_maskz_loadu_ps(m, p)
#define CONV_STEP(acc, a, b)	_mm512_fmadd_ps(a, b, acc)
#define CONV_END(g, to, res, acc, mr, nv)	conv_end_f32(g, to, res, acc, mr, nv)
#define CONV_ENDS		(1u << CONV_END_F32)
#define CONV_TABLE		conv_f32_avx512

#include "conv_kernel_impl.h"
