/* SPDX-License-Identifier: MIT */
/*
 * Interleaving of groups of K of 16 contiguous columns with AVX-512: for packing operands, and
 * for strips that pack B.
 */
#ifndef LIBACCEL_SW_FAST_GEMM_JOIN_H
#define LIBACCEL_SW_FAST_GEMM_JOIN_H

#include <immintrin.h>
#include <stdint.h>

#define GEMM_INLINE	static inline __attribute__((always_inline))

/* With a constant full mask the compiler generates a plain load. */
GEMM_INLINE __m128i gemm_16_bytes(const char *p, __mmask16 mask)
{
	if (__builtin_constant_p(mask) && mask == 0xffff)
		return _mm_loadu_si128((const void *)p);
	return _mm_maskz_loadu_epi8(mask, p);
}

GEMM_INLINE __m256i gemm_16_words(const char *p, __mmask16 mask)
{
	if (__builtin_constant_p(mask) && mask == 0xffff)
		return _mm256_loadu_si256((const void *)p);
	return _mm256_maskz_loadu_epi16(mask, p);
}

/* Interleave the words of two rows of 16. */
GEMM_INLINE __m512i gemm_zip_words(__m512i v)
{
	return _mm512_permutexvar_epi16(_mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26,
							 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5,
							 20, 4, 19, 3, 18, 2, 17, 1, 16, 0), v);
}

/*
 * Interleave the bytes of four rows of 16: first words, then 4 x 4 bytes are transposed. Two
 * shuffles and four loads for 64 bytes.
 */
GEMM_INLINE __m512i gemm_zip_bytes(__m512i v)
{
	const __m512i bytes = _mm512_set4_epi32(0x0f0b0703, 0x0e0a0602, 0x0d090501, 0x0c080400);

	v = _mm512_permutexvar_epi32(_mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2,
						      13, 9, 5, 1, 12, 8, 4, 0), v);
	return _mm512_shuffle_epi8(v, bytes);
}

GEMM_INLINE __m512i gemm_join_bytes(const char *p, int64_t ks, uint32_t count, __mmask16 mask)
{
	__m512i v = _mm512_zextsi128_si512(gemm_16_bytes(p, mask));

	if (count > 1)
		v = _mm512_inserti32x4(v, gemm_16_bytes(p + ks, mask), 1);
	if (count > 2)
		v = _mm512_inserti32x4(v, gemm_16_bytes(p + 2 * ks, mask), 2);
	if (count > 3)
		v = _mm512_inserti32x4(v, gemm_16_bytes(p + 3 * ks, mask), 3);
	return gemm_zip_bytes(v);
}

GEMM_INLINE __m512i gemm_join_words(const char *p, int64_t ks, uint32_t count, __mmask16 mask)
{
	__m512i v = _mm512_zextsi256_si512(gemm_16_words(p, mask));

	if (count > 1)
		v = _mm512_inserti64x4(v, gemm_16_words(p + ks, mask), 1);
	return gemm_zip_words(v);
}

#endif /* LIBACCEL_SW_FAST_GEMM_JOIN_H */
