// SPDX-License-Identifier: MIT
/*
 * Block products of convolutions, binary32, AVX2 with FMA: 6 outputs by 16 channels,
 * 8 loads for 12 products.
 */
#include <immintrin.h>
#include "conv_kernel.h"

#define ALWAYS static inline __attribute__((always_inline))

/* Outputs of a block */
#define MR	6u

typedef __m256 row_sums[2];

/* Valid lanes of a vector, as sign bits. */
ALWAYS __m256i lanes(uint32_t mask)
{
	const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);

	return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)mask), bit), bit);
}

ALWAYS void steps(const struct conv_block *g, const uint8_t *a, const uint8_t *b, row_sums *acc,
		  const uint32_t mr, __m256i m0, __m256i m1)
{
	const int64_t end = 4 * (int64_t)g->k;
	int64_t at;
	uint32_t i;

	for (at = 0; at < end; at += 4, b += g->b_ks) {
		const __m256 b0 = _mm256_maskload_ps((const float *)b, m0);
		const __m256 b1 = _mm256_maskload_ps((const float *)b + 8, m1);

#pragma GCC unroll 6
		for (i = 0; i < mr; i++) {
			const __m256 v = _mm256_broadcast_ss((const float *)(a + i * g->a_ms + at));

			acc[i][0] = _mm256_fmadd_ps(v, b0, acc[i][0]);
			acc[i][1] = _mm256_fmadd_ps(v, b1, acc[i][1]);
		}
	}
}

ALWAYS void block(const struct conv_block *g, const uint8_t *ay, uint8_t *out,
		  const uint32_t mr)
{
	const __m256i m0 = lanes(g->mask), m1 = lanes(g->mask >> 8);
	const uint8_t *by = g->b;
	row_sums acc[MR];
	uint32_t i, y, x;

#pragma GCC unroll 6
	for (i = 0; i < mr; i++)
		acc[i][0] = acc[i][1] = _mm256_setzero_ps();
	for (y = 0; y < g->rows; y++, ay += g->a_y, by += g->b_y) {
		const uint8_t *a = ay, *b = by;

		for (x = 0; x < g->cols; x++, a += g->a_x, b += g->b_x)
			steps(g, a, b, acc, mr, m0, m1);
	}
#pragma GCC unroll 6
	for (i = 0; i < mr; i++) {
		float *to = (float *)(out + i * g->acc_ms);

		_mm256_storeu_ps(to, acc[i][0]);
		_mm256_storeu_ps(to + 8, acc[i][1]);
	}
}

ALWAYS uint32_t blocks(const struct conv_block *g, const uint32_t mr)
{
	uint32_t i;

	for (i = 0; i < g->blocks; i++)
		block(g, g->a + i * mr * g->a_ms, g->acc + i * mr * g->acc_ms, mr);
	return g->blocks;
}

#define FN(mr)							\
	static uint32_t block_##mr(const struct conv_block *g)	\
	{							\
		return blocks(g, mr);				\
	}

FN(1)
FN(2)
FN(3)
FN(4)
FN(5)
FN(6)

const struct conv_kernels conv_f32_avx2 = {
	.fn = { [0] = { block_1, block_2, block_3, block_4, block_5, block_6 } },
	.nv = 1,
	.mr = { MR },
};
