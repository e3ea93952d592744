// SPDX-License-Identifier: MIT
/*
 * Block products of convolutions of bytes, AVX2, exact for any signedness: as gemm_i8_avx2.c,
 * six outputs by eight of the 16 channels at a time.
 */
#include <immintrin.h>
#include "conv_kernel.h"

#define ALWAYS static inline __attribute__((always_inline))

/* Outputs of a block */
#define MR	6u

/* Partial sums of two times four channels */
typedef __m256i row_sums[2];

ALWAYS __m256i widen(__m128i bytes, const bool is_signed)
{
	return is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}

ALWAYS void steps(const struct conv_block *g, const uint8_t *a, const uint8_t *b, row_sums *acc,
		  const uint32_t mr, const bool a_signed, const bool b_signed)
{
	const int64_t end = 4 * (int64_t)g->k, ms = g->a_ms;
	__m256i b0, b1;
	uint32_t i;
	int64_t at;

	for (at = 0; at < end; at += 4, b += g->b_ks) {
		b0 = widen(_mm_loadu_si128((const __m128i *)b), b_signed);
		b1 = widen(_mm_loadu_si128((const __m128i *)b + 1), b_signed);
#pragma GCC unroll 6
		for (i = 0; i < mr; i++) {
			const float *p = (const float *)(a + i * ms + at);
			const __m256i v = widen(_mm_castps_si128(_mm_broadcast_ss(p)), a_signed);

			acc[i][0] = _mm256_add_epi32(acc[i][0], _mm256_madd_epi16(v, b0));
			acc[i][1] = _mm256_add_epi32(acc[i][1], _mm256_madd_epi16(v, b1));
		}
	}
}

/* Initial values of the sums of channels 8 @half to 8 @half + 7. */
ALWAYS __m256i start(const struct conv_block *g, const int32_t *row, uint32_t half)
{
	__m256i sum = _mm256_setzero_si256(), add;

	if (g->col_add)
		sum = _mm256_loadu_si256((const __m256i *)(g->col_add + 8 * half));
	if (!row)
		return sum;
	add = _mm256_set1_epi32(*row);
	if (g->col_times)
		add = _mm256_mullo_epi32(add, _mm256_loadu_si256((const __m256i *)
								 (g->col_times + 8 * half)));
	return _mm256_add_epi32(sum, add);
}

/* Eight channels of a block. */
ALWAYS void half(const struct conv_block *g, const uint8_t *ay, const int32_t *row, uint8_t *out,
		 const uint32_t n, const uint32_t mr, const bool a_signed, const bool b_signed)
{
	const uint8_t *by = g->b + 32 * n;
	row_sums acc[MR];
	uint32_t i, y, x;

#pragma GCC unroll 6
	for (i = 0; i < mr; i++)
		acc[i][0] = acc[i][1] = _mm256_setzero_si256();
	for (y = 0; y < g->rows; y++, ay += g->a_y, by += g->b_y) {
		const uint8_t *a = ay, *b = by;

		for (x = 0; x < g->cols; x++, a += g->a_x, b += g->b_x)
			steps(g, a, b, acc, mr, a_signed, b_signed);
	}
#pragma GCC unroll 6
	for (i = 0; i < mr; i++) {
		const __m256i sums = _mm256_hadd_epi32(acc[i][0], acc[i][1]);

		_mm256_storeu_si256((__m256i *)(out + i * g->acc_ms + 32 * n),
				    _mm256_add_epi32(start(g, row ? row + i : NULL, n),
						     _mm256_permute4x64_epi64(sums, 0xd8)));
	}
}

ALWAYS uint32_t blocks(const struct conv_block *g, const uint32_t mr, const bool a_signed,
		       const bool b_signed)
{
	uint32_t i, n;

	for (i = 0; i < g->blocks; i++)
		for (n = 0; n < 2; n++)
			half(g, g->a + i * mr * g->a_ms, g->row_add ? g->row_add + i * mr : NULL,
			     g->acc + i * mr * g->acc_ms, n, mr, a_signed, b_signed);
	return g->blocks;
}

#define FN(mr, name, a_signed, b_signed)				\
	static uint32_t name##_##mr(const struct conv_block *g)		\
	{								\
		return blocks(g, mr, a_signed, b_signed);		\
	}

#define EACH(f, ...)							\
	f(1, __VA_ARGS__) f(2, __VA_ARGS__) f(3, __VA_ARGS__)		\
	f(4, __VA_ARGS__) f(5, __VA_ARGS__) f(6, __VA_ARGS__)
#define NAME(mr, name)	name##_##mr,
#define TABLE(name)	{ .fn = { [0] = { EACH(NAME, name) } }, .nv = 1, .mr = { MR } }

EACH(FN, s8s8, true, true)
EACH(FN, s8u8, true, false)
EACH(FN, u8s8, false, true)
EACH(FN, u8u8, false, false)

const struct conv_kernels conv_s8s8_avx2 = TABLE(s8s8);
const struct conv_kernels conv_s8u8_avx2 = TABLE(s8u8);
const struct conv_kernels conv_u8s8_avx2 = TABLE(u8s8);
const struct conv_kernels conv_u8u8_avx2 = TABLE(u8u8);
