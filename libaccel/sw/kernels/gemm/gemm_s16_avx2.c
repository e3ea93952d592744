// SPDX-License-Identifier: MIT
/*
 * Strips of s16 with AVX2: vpmaddwd and a sum.
 */
#include <immintrin.h>
#include <string.h>
#include "gemm_isa.h"

#define STRIP		fast_gemm_s16_avx2
#define GROUP		2
#define VEC		__m256i
#define LOAD(p)		_mm256_loadu_si256((const __m256i *)(p))
#define STORE(p, v)	_mm256_storeu_si256((__m256i *)(p), v)
#define BROADCAST(p)	_mm256_set1_epi32(load32(p))
#define SPREAD(w)	_mm256_set1_epi32(w)
#define STEP(acc, a, b)	_mm256_add_epi32(acc, _mm256_madd_epi16(a, b))
#define INIT(x)		_mm256_set1_epi32(x)

#include "gemm_avx2.h"
