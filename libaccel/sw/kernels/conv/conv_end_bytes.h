/* SPDX-License-Identifier: MIT */
/*
 * Start and epilogue of block products of bytes: from sums to bytes with scale, bias, bounds,
 * residual and quantisation, with the model's roundings. Six operations for a vector until it
 * is integers, three of them on the ports of vpdpbusd, and ten for four vectors to become bytes
 * with saturation: 8.5 for a vector. A residual adds six.
 */
#ifndef LIBACCEL_SW_FAST_CONV_END_BYTES_H
#define LIBACCEL_SW_FAST_CONV_END_BYTES_H

#include <immintrin.h>
#include <stdbool.h>
#include "conv_kernel.h"

#define CONV_VEC		__m512i
#define CONV_START(g, row, i, n)	conv_start(g, row, i, n)
#define CONV_STORE(p, acc)	_mm512_storeu_si512(p, acc)
#define CONV_END(g, to, res, acc, mr, nv)	conv_end_bytes(g, to, res, acc, mr, nv)
#define CONV_ENDS		(1u << CONV_END_BYTES)

typedef __m512i conv_row_sums[4];

#define END static inline __attribute__((always_inline))

END __m512i conv_start(const struct conv_block *g, const int32_t *row, uint32_t i, uint32_t n)
{
	const __m512i col = g->col_add ? _mm512_loadu_si512(g->col_add + 16 * n) :
					 _mm512_setzero_si512();

	__m512i add;

	if (!row)
		return col;
	add = _mm512_set1_epi32(row[i]);
	if (g->col_times)
		add = _mm512_mullo_epi32(add, _mm512_loadu_si512(g->col_times + 16 * n));
	return _mm512_add_epi32(col, add);
}

/* Type of the residual: none, u8 or s8 */
#define CONV_RES_NONE		0u
#define CONV_RES_U8		1u
#define CONV_RES_S8		2u

END __m512 conv_end_residual(const struct conv_end *e, const uint8_t *p, const uint32_t kind)
{
	const __m128i x = _mm_loadu_si128((const __m128i *)p);
	const __m512i v = kind == CONV_RES_S8 ? _mm512_cvtepi8_epi32(x) : _mm512_cvtepu8_epi32(x);

	return _mm512_mul_ps(_mm512_sub_ps(_mm512_cvtepi32_ps(v), _mm512_set1_ps(e->none)),
			     _mm512_set1_ps(e->unit));
}

/* Vector @n, rounded; values beyond 16-bit integers may become any of the same sign. */
END __m512i conv_end_integers(const struct conv_end *e, __m512i sum, const uint8_t *res,
			      uint32_t n, const uint32_t kind)
{
	__m512 v = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_loadu_ps(e->scale + 16 * n));

	v = _mm512_add_ps(v, _mm512_loadu_ps(e->bias + 16 * n));
	if (kind)
		v = _mm512_add_ps(_mm512_max_ps(_mm512_set1_ps(e->least), v),
				  conv_end_residual(e, res + 16 * n, kind));
	return _mm512_cvtps_epi32(_mm512_fmadd_ps(v, _mm512_set1_ps(e->times),
						  _mm512_mul_ps(v, _mm512_set1_ps(e->rest))));
}

/* Vectors @n and the next one, with their 128-bit lanes interleaved. */
END __m512i conv_end_words(const struct conv_end *e, const __m512i *sums, const uint8_t *res,
			   uint32_t n, const uint32_t nv, const uint32_t kind)
{
	const __m512i a = conv_end_integers(e, sums[n], res, n, kind);
	const __m512i b = nv == 1 ? a : conv_end_integers(e, sums[n + 1], res, n + 1, kind);

	return _mm512_adds_epi16(_mm512_packs_epi32(a, b), _mm512_set1_epi32(e->zero));
}

/* 32 channels of @a, then of @b. */
END __m512i conv_end_pack(const struct conv_end *e, __m512i a, __m512i b)
{
	const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11,
						15);
	__m512i w = _mm512_max_epi8(_mm512_packs_epi16(a, b), _mm512_set1_epi32(e->floor));

	w = _mm512_min_epi8(w, _mm512_set1_epi32(e->ceiling));
	return _mm512_permutexvar_epi32(order, _mm512_xor_si512(w, _mm512_set1_epi32(e->flip)));
}

/* A masked store is slower than a full one. */
END void conv_end_store(uint8_t *to, uint32_t lanes, __m256i w)
{
	if (lanes == ~0u)
		_mm256_storeu_si256((__m256i *)to, w);
	else
		_mm256_mask_storeu_epi8(to, lanes, w);
}

END bool conv_end_bytes_any(const struct conv_block *g, uint8_t *to, const uint8_t *res,
			    conv_row_sums *acc, const uint32_t mr, const uint32_t nv,
			    const uint32_t kind)
{
	const int64_t res_ms = kind ? g->res_ms : 0;
	const uint32_t lanes = nv == 1 ? g->last : 0xffff | g->last << 16;
	const struct conv_end *e = g->end;
	const uint32_t rows = nv == 4 ? 1 : 2;
	uint32_t i;

#pragma GCC unroll 14
	for (i = 0; i < mr; i += rows, to += rows * g->dst_ms, res += rows * res_ms) {
		const bool two = nv < 4 && i + 1 < mr;
		const __m512i a = conv_end_words(e, acc[i], res, 0, nv, kind);
		const __m512i b = nv == 4 ? conv_end_words(e, acc[i], res, 2, nv, kind) :
				  two ? conv_end_words(e, acc[i + 1], res + res_ms, 0, nv, kind) :
					a;
		const __m512i w = conv_end_pack(e, a, b);

		conv_end_store(to, nv == 4 ? ~0u : lanes, _mm512_castsi512_si256(w));
		if (nv == 4)
			conv_end_store(to + 32, lanes, _mm512_extracti64x4_epi64(w, 1));
		else if (two)
			conv_end_store(to + g->dst_ms, lanes, _mm512_extracti64x4_epi64(w, 1));
	}
	return true;
}

END bool conv_end_bytes(const struct conv_block *g, uint8_t *to, const uint8_t *res,
			conv_row_sums *acc, const uint32_t mr, const uint32_t nv)
{
	if (!g->end->residual)
		return conv_end_bytes_any(g, to, NULL, acc, mr, nv, CONV_RES_NONE);
	return g->end->is_signed ? conv_end_bytes_any(g, to, res, acc, mr, nv, CONV_RES_S8) :
				   conv_end_bytes_any(g, to, res, acc, mr, nv, CONV_RES_U8);
}

#undef END

#endif /* LIBACCEL_SW_FAST_CONV_END_BYTES_H */
