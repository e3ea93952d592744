// SPDX-License-Identifier: MIT
/*
 * Packing with AVX-512: 16 columns of B, or as many rows of A, a group of K at a
 * time. Where columns lie side by side the rows of a group are widened and put
 * together; where K lies side by side blocks of 16 x 16 words are transposed.
 */
#include <immintrin.h>
#include "gemm_isa.h"

#define INLINE	static inline __attribute__((always_inline))

/* --- columns side by side ------------------------------------------------------ */

INLINE __m512i bytes_row(const char *p, __mmask16 mask)
{
	return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, p));
}

INLINE __m512i words_row(const char *p, __mmask16 mask)
{
	return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, p));
}

/* A byte as s16 in the low half. */
INLINE __m512i wide_row(const char *p, __mmask16 mask, bool is_signed)
{
	const __m128i v = _mm_maskz_loadu_epi8(mask, p);

	return is_signed ? _mm512_and_si512(_mm512_cvtepi8_epi32(v), _mm512_set1_epi32(0xffff)) :
			   _mm512_cvtepu8_epi32(v);
}

/* Rows @p, @p + @ks ...: @count of a group, at least one. */
INLINE __m512i join_bytes(const char *p, int64_t ks, uint32_t count, __mmask16 mask)
{
	__m512i v = bytes_row(p, mask);

	if (count > 1)
		v = _mm512_or_si512(v, _mm512_slli_epi32(bytes_row(p + ks, mask), 8));
	if (count > 2)
		v = _mm512_or_si512(v, _mm512_slli_epi32(bytes_row(p + 2 * ks, mask), 16));
	if (count > 3)
		v = _mm512_or_si512(v, _mm512_slli_epi32(bytes_row(p + 3 * ks, mask), 24));
	return v;
}

INLINE __m512i join_words(const char *p, int64_t ks, uint32_t count, __mmask16 mask)
{
	__m512i v = words_row(p, mask);

	if (count > 1)
		v = _mm512_or_si512(v, _mm512_slli_epi32(words_row(p + ks, mask), 16));
	return v;
}

INLINE __m512i join_wide(const char *p, int64_t ks, uint32_t count, __mmask16 mask, bool is_signed)
{
	__m512i v = wide_row(p, mask, is_signed);

	if (count > 1)
		v = _mm512_or_si512(v, _mm512_slli_epi32(wide_row(p + ks, mask, is_signed), 16));
	return v;
}

INLINE __m512i to_f32(__m256i v, uint32_t dtype)
{
	if (dtype == UMA_DTYPE_F16)
		return _mm512_castps_si512(_mm512_cvtph_ps(v));
	return _mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16);
}

/* @k rows, in steps of @group, by an expression of p, left and mask. */
#define ROWS(group, expr) do {						\
	for (; k >= (group); k -= (group), p += (group) * ks, out += 64) { \
		const uint32_t left = (group);				\
		(void)left;						\
		_mm512_store_si512(out, (expr));			\
	}								\
	if (k) {							\
		const uint32_t left = k;				\
		(void)left;						\
		_mm512_store_si512(out, (expr));			\
	}								\
} while (0)

static bool pack_rows(enum fast_gemm_kind kind, const struct fast_gemm_source *from, uint32_t k,
		      uint32_t n, char *out)
{
	const __mmask16 mask = (__mmask16)((1u << n) - 1);
	const int64_t ks = from->ks * (uma_dtype_bits(from->dtype) / 8);
	const char *p = from->p;

	switch (kind) {
	case FAST_GEMM_F32:
		if (from->dtype == UMA_DTYPE_F32)
			ROWS(1, _mm512_maskz_loadu_epi32(mask, p));
		else if (from->dtype == UMA_DTYPE_F16)
			ROWS(1, to_f32(_mm256_maskz_loadu_epi16(mask, p), UMA_DTYPE_F16));
		else
			ROWS(1, to_f32(_mm256_maskz_loadu_epi16(mask, p), UMA_DTYPE_BF16));
		break;
	case FAST_GEMM_BF16:
		ROWS(2, join_words(p, ks, left, mask));
		break;
	case FAST_GEMM_S16:
		if (from->dtype == UMA_DTYPE_S8)
			ROWS(2, join_wide(p, ks, left, mask, true));
		else
			ROWS(2, join_wide(p, ks, left, mask, false));
		break;
	default:
		ROWS(4, join_bytes(p, ks, left, mask));
		break;
	}
	return true;
}

/* --- K side by side ------------------------------------------------------------- */

/* 16 x 16 words: pairs of rows, then fours, then the quarters of vectors. */
INLINE void transpose(__m512i v[16])
{
	__m512i t[16];
	uint32_t i;

#pragma GCC unroll 8
	for (i = 0; i < 16; i += 2) {
		t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
		t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
	}
#pragma GCC unroll 4
	for (i = 0; i < 16; i += 4) {
		v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
		v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
		v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
		v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
	}
#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		t[i] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0x88);
		t[i + 4] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0xdd);
		t[i + 8] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0x88);
		t[i + 12] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0xdd);
	}
#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		v[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
		v[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
		v[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
		v[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
	}
}

/* Up to 64 bytes of a column as 16 words; @bytes there. */
INLINE __m512i column(enum fast_gemm_kind kind, uint32_t dtype, const char *p, uint32_t bytes)
{
	const uint32_t width = kind == FAST_GEMM_S16 ? 32 :
			       kind == FAST_GEMM_F32 && dtype != UMA_DTYPE_F32 ? 32 : 64;
	const __mmask64 mask = bytes >= width ? ~0ull >> (64 - width) : (1ull << bytes) - 1;
	__m512i v;

	v = _mm512_maskz_loadu_epi8(mask, p);
	if (kind == FAST_GEMM_S16) {
		if (dtype == UMA_DTYPE_S8)
			return _mm512_cvtepi8_epi16(_mm512_castsi512_si256(v));
		return _mm512_cvtepu8_epi16(_mm512_castsi512_si256(v));
	}
	return width == 32 ? to_f32(_mm512_castsi512_si256(v), dtype) : v;
}

static bool pack_columns(enum fast_gemm_kind kind, const struct fast_gemm_source *from, uint32_t k,
			 uint32_t n, char *out)
{
	const uint32_t size = uma_dtype_bits(from->dtype) / 8, group = fast_gemm_group(kind);
	const int64_t ns = from->ns * size;
	const char *p = from->p;
	uint32_t i, left = k;

	while (left) {
		const uint32_t some = UMA_MIN(left, 16 * group);
		const uint32_t groups = (some + group - 1) / group;
		__m512i v[16];

#pragma GCC unroll 16
		for (i = 0; i < 16; i++)
			v[i] = i < n ? column(kind, from->dtype, p + i * ns, some * size) :
				       _mm512_setzero_si512();
		transpose(v);
#pragma GCC unroll 16
		for (i = 0; i < 16; i++)
			if (i < groups)
				_mm512_store_si512(out + i * 64, v[i]);
		out += 64 * 16;
		p += some * size;
		left -= some;
	}
	return true;
}

bool fast_gemm_pack_avx512(enum fast_gemm_kind kind, const struct fast_gemm_source *from,
			   uint32_t k, uint32_t n, void *out)
{
	if (from->ns == 1)
		return pack_rows(kind, from, k, n, out);
	if (from->ks == 1)
		return pack_columns(kind, from, k, n, out);
	return false;
}

/* --- sums of rows ---------------------------------------------------------------- */

/* A row's bytes as unsigned ones, eight to a sum; what is masked out counts 0. */
INLINE __m512i row_sum(const char *p, uint32_t k, __m512i flip)
{
	const __m512i zero = _mm512_setzero_si512();
	__m512i sum = zero, v;
	__mmask64 mask;
	uint32_t j;

	for (j = 0; j + 64 <= k; j += 64) {
		v = _mm512_xor_si512(_mm512_loadu_si512(p + j), flip);
		sum = _mm512_add_epi64(sum, _mm512_sad_epu8(v, zero));
	}
	if (j < k) {
		mask = (1ull << (k - j)) - 1;
		v = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, p + j),
				     _mm512_maskz_mov_epi8(mask, flip));
		sum = _mm512_add_epi64(sum, _mm512_sad_epu8(v, zero));
	}
	return sum;
}

/* The sums of eight vectors' eight lanes, in order. */
INLINE __m512i add_across(const __m512i v[8])
{
	__m512i pair[4], four[2];
	uint32_t i;

#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
		pair[i] = _mm512_add_epi64(_mm512_unpacklo_epi64(v[2 * i], v[2 * i + 1]),
					   _mm512_unpackhi_epi64(v[2 * i], v[2 * i + 1]));
#pragma GCC unroll 2
	for (i = 0; i < 2; i++) {
		const __m512i a = pair[2 * i], b = pair[2 * i + 1];

		four[i] = _mm512_add_epi64(_mm512_shuffle_i64x2(a, b, 0x88),
					   _mm512_shuffle_i64x2(a, b, 0xdd));
	}
	return _mm512_add_epi64(_mm512_shuffle_i64x2(four[0], four[1], 0x88),
				_mm512_shuffle_i64x2(four[0], four[1], 0xdd));
}

void fast_gemm_row_sums_avx512(const void *a, int64_t a_ms, uint32_t m, uint32_t k,
			       bool is_signed, int32_t *sums)
{
	const __m512i flip = _mm512_set1_epi8(is_signed ? (char)0x80 : 0);
	const __m256i bias = _mm256_set1_epi32(is_signed ? (int32_t)(128 * k) : 0);
	const char *p = a;
	uint32_t i, j;

	for (i = 0; i < m; i += 8) {
		const uint32_t count = m - i < 8 ? m - i : 8;
		__m512i v[8];

#pragma GCC unroll 8
		for (j = 0; j < 8; j++)
			v[j] = j < count ? row_sum(p + j * a_ms, k, flip) : _mm512_setzero_si512();
		_mm256_mask_storeu_epi32(sums + i, (__mmask8)((1u << count) - 1),
					 _mm256_sub_epi32(_mm512_cvtepi64_epi32(add_across(v)),
							  bias));
		p += 8 * a_ms;
	}
}
