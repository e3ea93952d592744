// SPDX-License-Identifier: MIT
/*
 * Packed weights of 16, 8 and 4 bits as the f32 kernel takes them, dequantised, and
 * nibbles as bytes for the kernels of bytes. A vector of 16 columns holds 2, 4 or 8
 * rows: each is a shift, a conversion, a difference and a product away.
 */
#include <immintrin.h>
#include "gemm_isa.h"

#define INLINE	static inline __attribute__((always_inline))

/* Largest zero point of which a difference to a byte is within s32 */
#define ZERO_MAX	(1 << 30)

/* (float)(v - z) as from 64 bits. */
INLINE __m512 difference(__m512i v, __m512i z, bool far)
{
	__m512d lo, hi;

	if (!far)
		return _mm512_cvtepi32_ps(_mm512_sub_epi32(v, z));
	lo = _mm512_sub_pd(_mm512_cvtepi32_pd(_mm512_castsi512_si256(v)),
			   _mm512_cvtepi32_pd(_mm512_castsi512_si256(z)));
	hi = _mm512_sub_pd(_mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(v, 1)),
			   _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(z, 1)));
	return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(lo)),
				  _mm512_cvtpd_ps(hi), 1);
}

/* Row @i of a block as integers; constants but for @v. */
INLINE __m512i integers(__m512i v, uint32_t i, const uint32_t dtype)
{
	const uint32_t bits = dtype == UMA_DTYPE_S8 || dtype == UMA_DTYPE_U8 ? 8 : 4;
	const uint32_t at = bits == 8 ? 8 * i : 8 * (i % 4) + 4 * (i / 4);
	const __m512i high = _mm512_slli_epi32(v, 32 - bits - at);

	if (dtype == UMA_DTYPE_S8 || dtype == UMA_DTYPE_S4)
		return _mm512_srai_epi32(high, 32 - bits);
	return _mm512_srli_epi32(high, 32 - bits);
}

INLINE __m512 halves(__m512i v, uint32_t i, const uint32_t dtype)
{
	if (dtype == UMA_DTYPE_F16)
		return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(i ? _mm512_srli_epi32(v, 16) : v));
	return _mm512_castsi512_ps(i ? _mm512_slli_epi32(_mm512_srli_epi32(v, 16), 16) :
				       _mm512_slli_epi32(v, 16));
}

/* @k rows of a type; @quant: with scales and zero points, and with @min. */
INLINE void unpack(const uint32_t dtype, const bool quant, const char *blocks, int64_t step,
		   uint32_t k, const float *scale, const int32_t *zero, const float *min,
		   float *out)
{
	const uint32_t rows = dtype == UMA_DTYPE_F16 || dtype == UMA_DTYPE_BF16 ? 2 :
			      dtype == UMA_DTYPE_S8 || dtype == UMA_DTYPE_U8 ? 4 : 8;
	const __m512 s = quant ? _mm512_loadu_ps(scale) : _mm512_setzero_ps();
	const __m512 m = min ? _mm512_loadu_ps(min) : _mm512_setzero_ps();
	const __m512i z = quant ? _mm512_loadu_si512(zero) : _mm512_setzero_si512();
	const bool far = _mm512_cmpgt_epi32_mask(z, _mm512_set1_epi32(ZERO_MAX)) |
			 _mm512_cmplt_epi32_mask(z, _mm512_set1_epi32(-ZERO_MAX));
	uint32_t i;

	for (; k; blocks += step) {
		const __m512i v = _mm512_loadu_si512(blocks);

#pragma GCC unroll 8
		for (i = 0; i < rows; i++) {
			__m512 x;

			if (i >= k)
				return;
			if (rows == 2)
				x = halves(v, i, dtype);
			else if (quant)
				x = _mm512_mul_ps(s, difference(integers(v, i, dtype), z, far));
			else
				x = _mm512_cvtepi32_ps(integers(v, i, dtype));
			/* Where there is none, zeros keep their sign. */
			if (min)
				x = _mm512_add_ps(x, m);
			_mm512_storeu_ps(out + i * 16, x);
		}
		out += rows * 16;
		k -= rows;
	}
}

#define TYPE(t)								\
	case UMA_DTYPE_##t:						\
		if (scale)						\
			unpack(UMA_DTYPE_##t, true, blocks, step, k, scale, zero, min, out); \
		else							\
			unpack(UMA_DTYPE_##t, false, blocks, step, k, NULL, NULL, NULL, out); \
		break

void fast_gemm_unpack_avx512(uint32_t dtype, const void *blocks, int64_t step, uint32_t k,
			     const float *scale, const int32_t *zero, const float *min, float *out)
{
	switch (dtype) {
	TYPE(F16);
	TYPE(BF16);
	TYPE(S8);
	TYPE(U8);
	TYPE(S4);
	TYPE(U4);
	default:
		break;
	}
}

void fast_gemm_nibbles_avx512(bool is_signed, const void *blocks, int64_t step, uint32_t k,
			      void *out)
{
	const __m512i mask = _mm512_set1_epi8(15), sign = _mm512_set1_epi8(is_signed ? 8 : 0);
	const char *p = blocks;
	char *o = out;
	uint32_t i;

	/* A block of 8 rows becomes two groups of four. */
	for (i = 0; i < k; i += 8, p += step, o += 128) {
		const __m512i v = _mm512_loadu_si512(p);
		__m512i lo = _mm512_and_si512(v, mask);
		__m512i hi = _mm512_and_si512(_mm512_srli_epi32(v, 4), mask);

		lo = _mm512_sub_epi8(_mm512_xor_si512(lo, sign), sign);
		hi = _mm512_sub_epi8(_mm512_xor_si512(hi, sign), sign);
		_mm512_storeu_si512(o, lo);
		if (k - i > 4)
			_mm512_storeu_si512(o + 64, hi);
	}
}
