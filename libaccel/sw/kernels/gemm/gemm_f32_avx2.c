// SPDX-License-Identifier: MIT
/*
 * Strips of f32 with AVX2 and FMA.
 */
#include <immintrin.h>
#include <string.h>
#include "gemm_isa.h"

#define STRIP		fast_gemm_f32_avx2
#define GROUP		1
#define VEC		__m256
#define LOAD(p)		_mm256_loadu_ps((const float *)(p))
#define STORE(p, v)	_mm256_storeu_ps((float *)(p), v)
#define BROADCAST(p)	_mm256_broadcast_ss((const float *)(p))
#define SPREAD(w)	_mm256_castsi256_ps(_mm256_set1_epi32(w))
#define STEP(acc, a, b)	_mm256_fmadd_ps(a, b, acc)
#define INIT(x)		((void)(x), _mm256_setzero_ps())

#include "gemm_avx2.h"
