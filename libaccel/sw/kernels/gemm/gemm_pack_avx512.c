// SPDX-License-Identifier: MIT
/*
 * Packing with AVX-512: 16 columns of B, or as many rows of A, a group of K at a time. If
 * columns are contiguous, the rows of a group are widened and interleaved; if K is contiguous,
 * blocks of 16 x 16 words are transposed.
 */
#include <immintrin.h>
#include "gemm_isa.h"
#include "gemm_join.h"
#include "libaccel/sw/kernels/vec/vec512.h"

#define INLINE	static inline __attribute__((always_inline))

/* --- contiguous columns ---------------------------------------------------------- */

INLINE __m512i to_f32(__m256i v, uint32_t dtype)
{
	if (dtype == UMA_DTYPE_F16)
		return _mm512_castps_si512(_mm512_cvtph_ps(v));
	return _mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16);
}

/* Bytes widened to words. */
INLINE __m512i join_wide(const char *p, int64_t ks, uint32_t count, __mmask16 mask, bool is_signed)
{
	__m256i v = _mm256_zextsi128_si256(_mm_maskz_loadu_epi8(mask, p));

	if (count > 1)
		v = _mm256_inserti128_si256(v, _mm_maskz_loadu_epi8(mask, p + ks), 1);
	return gemm_zip_words(is_signed ? _mm512_cvtepi8_epi16(v) : _mm512_cvtepu8_epi16(v));
}

/* Rows @p, @p + @ks ...: @count of a group, at least one, for the columns of @mask. */
INLINE __m512i join(const enum fast_gemm_kind kind, const uint32_t dtype, const char *p, int64_t ks,
		    uint32_t count, __mmask16 mask)
{
	switch (kind) {
	case FAST_GEMM_F32:
		return dtype == UMA_DTYPE_F32 ? _mm512_maskz_loadu_epi32(mask, p) :
						to_f32(_mm256_maskz_loadu_epi16(mask, p), dtype);
	case FAST_GEMM_BF16:
		return gemm_join_words(p, ks, count, mask);
	case FAST_GEMM_S16:
		return join_wide(p, ks, count, mask, dtype == UMA_DTYPE_S8);
	default:
		return gemm_join_bytes(p, ks, count, mask);
	}
}

/* A vector of columns. */
INLINE void pack_vector(const enum fast_gemm_kind kind, const uint32_t dtype, const char *p,
			int64_t ks, uint32_t k, __mmask16 mask, char *out)
{
	const uint32_t group = fast_gemm_group(kind);

	for (; k >= group; k -= group, p += group * ks, out += 64)
		_mm512_store_si512(out, join(kind, dtype, p, ks, group, mask));
	if (k)
		_mm512_store_si512(out, join(kind, dtype, p, ks, k, mask));
}

INLINE void pack_rows(const enum fast_gemm_kind kind, const uint32_t dtype,
		      const struct fast_gemm_source *from, uint32_t k, uint32_t n, char *out,
		      uint64_t vector)
{
	const uint32_t size = uma_dtype_bits(dtype) / 8;
	const int64_t ks = from->ks * size;
	const char *p = from->p;

	for (; n >= 16; n -= 16, p += 16 * size, out += vector)
		pack_vector(kind, dtype, p, ks, k, 0xffff, out);
	if (n)
		pack_vector(kind, dtype, p, ks, k, (__mmask16)((1u << n) - 1), out);
}

static void pack_any_rows(enum fast_gemm_kind kind, const struct fast_gemm_source *from,
			  uint32_t k, uint32_t n, char *out, uint64_t vector)
{
	switch (kind) {
	case FAST_GEMM_F32:
		if (from->dtype == UMA_DTYPE_F32)
			pack_rows(FAST_GEMM_F32, UMA_DTYPE_F32, from, k, n, out, vector);
		else if (from->dtype == UMA_DTYPE_F16)
			pack_rows(FAST_GEMM_F32, UMA_DTYPE_F16, from, k, n, out, vector);
		else
			pack_rows(FAST_GEMM_F32, UMA_DTYPE_BF16, from, k, n, out, vector);
		break;
	case FAST_GEMM_BF16:
		pack_rows(FAST_GEMM_BF16, UMA_DTYPE_BF16, from, k, n, out, vector);
		break;
	case FAST_GEMM_S16:
		if (from->dtype == UMA_DTYPE_S8)
			pack_rows(FAST_GEMM_S16, UMA_DTYPE_S8, from, k, n, out, vector);
		else
			pack_rows(FAST_GEMM_S16, UMA_DTYPE_U8, from, k, n, out, vector);
		break;
	default:
		pack_rows(FAST_GEMM_I8S, UMA_DTYPE_S8, from, k, n, out, vector);
		break;
	}
}

/* --- contiguous along K ----------------------------------------------------------- */

/* Up to 64 bytes of a column as 16 words; @bytes are valid. */
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

static void pack_columns(enum fast_gemm_kind kind, const struct fast_gemm_source *from, uint32_t k,
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
		vi_transpose(v);
#pragma GCC unroll 16
		for (i = 0; i < 16; i++)
			if (i < groups)
				_mm512_store_si512(out + i * 64, v[i]);
		out += 64 * 16;
		p += some * size;
		left -= some;
	}
}

bool fast_gemm_pack_avx512(enum fast_gemm_kind kind, const struct fast_gemm_source *from,
			   uint32_t k, uint32_t n, void *out, uint64_t vector)
{
	const int64_t step = 16 * from->ns * (uma_dtype_bits(from->dtype) / 8);
	struct fast_gemm_source part = *from;
	char *to = out;

	if (from->ns == 1) {
		pack_any_rows(kind, from, k, n, out, vector);
		return true;
	}
	if (from->ks != 1)
		return false;
	for (;; n -= 16, to += vector) {
		pack_columns(kind, &part, k, n < 16 ? n : 16, to);
		if (n <= 16)
			return true;
		part.p = (const char *)part.p + step;
	}
}

/* --- sums of rows ---------------------------------------------------------------- */

/* Sum of a row's bytes as unsigned ones, in eight lanes; masked ones are 0. */
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

/* The sums of the eight lanes of eight vectors, in order. */
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
			       bool is_signed, int32_t factor, int32_t plus, int32_t *sums)
{
	const __m512i flip = _mm512_set1_epi8(is_signed ? (char)0x80 : 0);
	const uint32_t bias = is_signed ? 128 * k : 0;
	const __m256i times = _mm256_set1_epi32(factor);
	const __m256i add = _mm256_set1_epi32((int32_t)((uint32_t)plus - bias * (uint32_t)factor));
	const char *p = a;
	uint32_t i, j;

	for (i = 0; i < m; i += 8) {
		const uint32_t count = m - i < 8 ? m - i : 8;
		__m256i sum;
		__m512i v[8];

#pragma GCC unroll 8
		for (j = 0; j < 8; j++)
			v[j] = j < count ? row_sum(p + j * a_ms, k, flip) : _mm512_setzero_si512();
		sum = _mm256_mullo_epi32(_mm512_cvtepi64_epi32(add_across(v)), times);
		sum = _mm256_add_epi32(sum, add);
		/* A later load cannot be forwarded from a masked store. */
		if (count == 8)
			_mm256_storeu_si256((__m256i *)(sums + i), sum);
		else
			_mm256_mask_storeu_epi32(sums + i, (__mmask8)((1u << count) - 1), sum);
		p += 8 * a_ms;
	}
}
