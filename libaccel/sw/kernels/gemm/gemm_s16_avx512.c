// SPDX-License-Identifier: MIT
/* Strips of s16 with AVX-512: vpmaddwd and an addition, half the rate of pairs of binary32. */
#include <immintrin.h>
#include "gemm_kernel.h"
#include "gemm_isa.h"

#define STRIP		fast_gemm_s16_avx512
#define GROUP		2
#define VEC		__m512i
#define AVEC		__m512i
#define BVEC		__m512i
#define ZERO		_mm512_setzero_si512()
#define BROADCAST(p)	_mm512_set1_epi32(load32(p))
#define SPREAD(w)	_mm512_set1_epi32(w)
#define STEP(acc, a, b)	_mm512_add_epi32(acc, _mm512_madd_epi16(a, b))
#define LOAD_B(p, m)	_mm512_loadu_si512(p)
#define LOAD_C(p, m)	_mm512_maskz_loadu_epi32(m, p)
#define STORE_C(p, m, v) _mm512_mask_storeu_epi32(p, m, v)
#define INIT(x)		_mm512_set1_epi32(x)

#include "gemm_strip.h"
