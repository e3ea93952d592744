// SPDX-License-Identifier: MIT
/*
 * Strips of f32 with AVX-512.
 */
#include <immintrin.h>
#include "gemm_kernel.h"
#include "gemm_isa.h"

#define STRIP		fast_gemm_f32_avx512
#define GROUP		1
#define VEC		__m512
#define AVEC		__m512
#define BVEC		__m512
#define ZERO		_mm512_setzero_ps()
#define BROADCAST(p)	_mm512_set1_ps(*(const float *)(p))
#define SPREAD(w)	_mm512_castsi512_ps(_mm512_set1_epi32(w))
#define STEP(acc, a, b)	_mm512_fmadd_ps(a, b, acc)
#define LOAD_B(p, m)	_mm512_maskz_loadu_ps(m, p)
#define JOIN(p, ks, n)	_mm512_loadu_ps(p)
#define LOAD_C(p, m)	_mm512_maskz_loadu_ps(m, p)
#define STORE_C(p, m, v) _mm512_mask_storeu_ps(p, m, v)
#define INIT(x)		_mm512_setzero_ps()

#include "gemm_strip.h"
