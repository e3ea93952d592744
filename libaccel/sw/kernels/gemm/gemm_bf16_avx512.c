// SPDX-License-Identifier: MIT
/*
 * Strips of bf16 with AVX512_BF16: vdpbf16ps adds the products of a pair one after the other,
 * rounding each sum; subnormal inputs and sums become zero.
 */
#include <immintrin.h>
#include "gemm_kernel.h"
#include "gemm_isa.h"
#include "gemm_join.h"

#define STRIP		fast_gemm_bf16_avx512
#define GROUP		2
#define VEC		__m512
#define ZERO		_mm512_setzero_ps()
#define BROADCAST(p)	_mm512_set1_epi32(load32(p))
#define SPREAD(w)	_mm512_set1_epi32(w)
#define AVEC		__m512i
#define BVEC		__m512i
#define STEP(acc, a, b)	_mm512_dpbf16_ps(acc, (__m512bh)(a), (__m512bh)(b))
#define LOAD_B(p, m)	_mm512_loadu_si512(p)
#define JOIN(p, ks, n)	gemm_join_words(p, ks, n, 0xffff)
#define LOAD_C(p, m)	_mm512_maskz_loadu_ps(m, p)
#define STORE_C(p, m, v) _mm512_mask_storeu_ps(p, m, v)
#define INIT(x)		_mm512_setzero_ps()

#include "gemm_strip.h"
