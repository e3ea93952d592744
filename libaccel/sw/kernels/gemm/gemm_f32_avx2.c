// SPDX-License-Identifier: MIT
/*
 * Strips of f32 with AVX2 and FMA: six rows by 16 columns, 12 accumulators, two registers for
 * B, one or two for A; 8 loads for 12 multiply-adds.
 */
#include "gemm_avx2.h"

#define MR	6

INLINE void tile(const struct fast_gemm_strip *s, const char *a, const char *b, char *c,
		 int64_t c_ms, const uint32_t mr)
{
	const char *p0 = a, *p3 = a + 3 * s->a_ms;
	int64_t ms = s->a_ms, ks = s->a_ks, b_ks = s->b_ks;
	__m256 acc[MR][2];
	uint32_t k, i;

#pragma GCC unroll 8
	for (i = 0; i < mr; i++) {
		if (s->accumulate) {
			acc[i][0] = _mm256_loadu_ps((const float *)(c + i * c_ms));
			acc[i][1] = _mm256_loadu_ps((const float *)(c + i * c_ms) + 8);
		} else {
			acc[i][0] = _mm256_setzero_ps();
			acc[i][1] = acc[i][0];
		}
	}
	for (k = s->k; k; k--) {
		const __m256 v0 = _mm256_loadu_ps((const float *)b);
		const __m256 v1 = _mm256_loadu_ps((const float *)b + 8);

		__asm__("" : "+r"(ms));
#pragma GCC unroll 8
		for (i = 0; i < mr; i++) {
			const char *p = (i < 3 ? p0 : p3) +
					(i % 3 ? i % 3 == 1 ? ms : 2 * ms : 0);
			const __m256 v = _mm256_broadcast_ss((const float *)p);

			acc[i][0] = _mm256_fmadd_ps(v, v0, acc[i][0]);
			acc[i][1] = _mm256_fmadd_ps(v, v1, acc[i][1]);
		}
		p0 += ks;
		p3 += ks;
		b += b_ks;
	}
#pragma GCC unroll 8
	for (i = 0; i < mr; i++) {
		_mm256_storeu_ps((float *)(c + i * c_ms), acc[i][0]);
		_mm256_storeu_ps((float *)(c + i * c_ms) + 8, acc[i][1]);
	}
}

#define TILE(mr)							\
static void tile_##mr(const struct fast_gemm_strip *s, const char *a, const char *b, \
		      char *c, int64_t c_ms, const int32_t *init)	\
{									\
	(void)init;							\
	tile(s, a, b, c, c_ms, mr);					\
}

TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6)

static const tile_fn tiles[MR] = { tile_1, tile_2, tile_3, tile_4, tile_5, tile_6 };

void fast_gemm_f32_avx2(const struct fast_gemm_strip *s)
{
	strip(s, tiles, MR);
}
