// SPDX-License-Identifier: MIT
/* Strips of bytes with AVX512_VNNI for unsigned A: B is the signed operand of vpdpbusd. */
#include <immintrin.h>
#include "gemm_kernel.h"
#include "gemm_isa.h"
#include "gemm_join.h"

#define STRIP		fast_gemm_i8u_avx512
#define GROUP		4
#define VEC		__m512i
#define AVEC		__m512i
#define BVEC		__m512i
#define ZERO		_mm512_setzero_si512()
#define BROADCAST(p)	_mm512_set1_epi32(load32(p))
#define SPREAD(w)	_mm512_set1_epi32(w)
#define STEP(acc, a, b)	dpbusd(acc, a, b)
#define FLIP
#define LOAD_B(p, m)	_mm512_loadu_si512(p)
#define JOIN(p, ks, n)	gemm_join_bytes(p, ks, n, 0xffff)
#define LOAD_C(p, m)	_mm512_maskz_loadu_epi32(m, p)
#define STORE_C(p, m, v) _mm512_mask_storeu_epi32(p, m, v)
#define INIT(x)		_mm512_set1_epi32(x)

#include "gemm_strip.h"
