// SPDX-License-Identifier: MIT
/*
 * Strips of bytes with AVX2, exact for any signedness: four bytes of a column of B are widened
 * to s16, and vpmaddwd with those of A gives two partial sums, which are added at the end. Six
 * rows by eight columns: 12 accumulators, two registers for B, one for A; 12 products, 12 sums
 * and eight conversions for 192 multiply-adds.
 */
#include <stdbool.h>
#include "gemm_avx2.h"

#define MR	6

/* Partial sums of two times four columns */
typedef __m256i row_sums[2];

INLINE __m256i widen(__m128i bytes, const bool is_signed)
{
	return is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}

/* Broadcast four bytes of A to all columns. */
INLINE __m256i spread(const char *p, const bool is_signed)
{
	return widen(_mm_castps_si128(_mm_broadcast_ss((const float *)p)), is_signed);
}

/* Broadcast fewer bytes, followed by zeros. */
INLINE __m256i spread_some(const char *p, uint32_t bytes, const bool is_signed)
{
	int32_t w = 0;

	memcpy(&w, p, bytes);
	return widen(_mm_set1_epi32(w), is_signed);
}

/* A group of @mr rows and eight columns; A has @bytes of it. */
INLINE void step(row_sums *acc, const char *a, int64_t a_ms, const char *b, __m128i flip,
		 uint32_t bytes, const uint32_t mr, const bool a_signed, const bool b_signed,
		 const bool flips)
{
	__m256i bv[2], av;
	uint32_t i, j;

#pragma GCC unroll 2
	for (j = 0; j < 2; j++) {
		const __m128i raw = _mm_loadu_si128((const __m128i *)(b + 16 * j));

		bv[j] = widen(flips ? _mm_xor_si128(raw, flip) : raw, b_signed);
	}
#pragma GCC unroll 6
	for (i = 0; i < mr; i++) {
		const char *p = a + i * a_ms;

		av = bytes == 4 ? spread(p, a_signed) : spread_some(p, bytes, a_signed);
#pragma GCC unroll 2
		for (j = 0; j < 2; j++)
			acc[i][j] = _mm256_add_epi32(acc[i][j], _mm256_madd_epi16(av, bv[j]));
	}
}

/* @mr rows by eight columns, to @c. */
INLINE void half(const struct fast_gemm_strip *s, const char *a, const char *b, char *c,
		 int64_t c_ms, const int32_t *init, const uint32_t mr, const bool a_signed,
		 const bool b_signed, const bool flips)
{
	const __m128i flip = _mm_set1_epi8((char)s->flip);
	const int64_t a_ms = s->a_ms, a_ks = s->a_ks, b_ks = s->b_ks;
	uint32_t groups, i;
	row_sums acc[MR];

#pragma GCC unroll 6
	for (i = 0; i < mr; i++)
		acc[i][0] = acc[i][1] = _mm256_setzero_si256();
	for (groups = s->k / 4; groups; groups--, a += a_ks, b += b_ks)
		step(acc, a, a_ms, b, flip, 4, mr, a_signed, b_signed, flips);
	/* Elements of A after the end of K must not be read. */
	if (s->k % 4)
		step(acc, a, a_ms, b, flip, s->k % 4, mr, a_signed, b_signed, flips);
#pragma GCC unroll 6
	for (i = 0; i < mr; i++) {
		const __m256i sums = _mm256_hadd_epi32(acc[i][0], acc[i][1]);
		__m256i *to = (__m256i *)(c + i * c_ms);
		const __m256i from = s->accumulate ? _mm256_loadu_si256(to) :
				     _mm256_set1_epi32(init ? init[i] : 0);

		_mm256_storeu_si256(to, _mm256_add_epi32(from,
							 _mm256_permute4x64_epi64(sums, 0xd8)));
	}
}

INLINE void tile(const struct fast_gemm_strip *s, const char *a, const char *b, char *c,
		 int64_t c_ms, const int32_t *init, const uint32_t mr, const bool a_signed,
		 const bool b_signed, const bool flips)
{
	uint32_t j;

	for (j = 0; j < 64; j += 32)
		half(s, a, b + j, c + j, c_ms, init, mr, a_signed, b_signed, flips);
}

#define TILE(mr, name, ...)						\
static void name##_##mr(const struct fast_gemm_strip *s, const char *a, const char *b, \
			char *c, int64_t c_ms, const int32_t *init)	\
{									\
	tile(s, a, b, c, c_ms, init, mr, __VA_ARGS__);			\
}

#define EACH(f, ...)							\
	f(1, __VA_ARGS__) f(2, __VA_ARGS__) f(3, __VA_ARGS__)		\
	f(4, __VA_ARGS__) f(5, __VA_ARGS__) f(6, __VA_ARGS__)
#define NAME(mr, name)	name##_##mr,

EACH(TILE, signed_signed, true, true, false)
EACH(TILE, unsigned_unsigned, false, false, false)
EACH(TILE, signed_unsigned, true, false, false)
EACH(TILE, signed_flipped, true, false, true)
EACH(TILE, unsigned_signed, false, true, false)
EACH(TILE, unsigned_flipped, false, true, true)

static const tile_fn signed_signed[MR] = { EACH(NAME, signed_signed) };
static const tile_fn unsigned_unsigned[MR] = { EACH(NAME, unsigned_unsigned) };
static const tile_fn signed_unsigned[MR] = { EACH(NAME, signed_unsigned) };
static const tile_fn signed_flipped[MR] = { EACH(NAME, signed_flipped) };
static const tile_fn unsigned_signed[MR] = { EACH(NAME, unsigned_signed) };
static const tile_fn unsigned_flipped[MR] = { EACH(NAME, unsigned_flipped) };

void fast_gemm_i8ss_avx2(const struct fast_gemm_strip *s)
{
	strip(s, signed_signed, MR);
}

void fast_gemm_i8uu_avx2(const struct fast_gemm_strip *s)
{
	strip(s, unsigned_unsigned, MR);
}

void fast_gemm_i8s_avx2(const struct fast_gemm_strip *s)
{
	strip(s, s->flip ? signed_flipped : signed_unsigned, MR);
}

void fast_gemm_i8u_avx2(const struct fast_gemm_strip *s)
{
	strip(s, s->flip ? unsigned_flipped : unsigned_signed, MR);
}
