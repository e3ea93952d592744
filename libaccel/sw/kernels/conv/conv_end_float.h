/* SPDX-License-Identifier: MIT */
/*
 * Epilogue of block products in binary32: bias, bounds, residual, conversion and store, four
 * operations for a vector in binary32 and five in bf16 without a residual. NaN is kept.
 */
#ifndef LIBACCEL_SW_FAST_CONV_END_FLOAT_H
#define LIBACCEL_SW_FAST_CONV_END_FLOAT_H

#include <immintrin.h>
#include <stdbool.h>
#include "conv_kernel.h"

#define CONV_VEC		__m512
#define CONV_START(g, row, i, n)	((void)(row), _mm512_setzero_ps())
#define CONV_STORE(p, acc)	_mm512_storeu_ps(p, acc)

typedef __m512 conv_row_sums[4];

#define END static inline __attribute__((always_inline))

/* The second operand if one is NaN. */
END __m512 conv_end_bounds(__m512 v, float least, float most)
{
	return _mm512_min_ps(_mm512_set1_ps(most), _mm512_max_ps(_mm512_set1_ps(least), v));
}

END __m512 conv_end_value(const struct conv_end *e, __m512 sum, uint32_t n)
{
	return conv_end_bounds(_mm512_add_ps(sum, _mm512_loadu_ps(e->bias + 16 * n)), e->least,
			       e->most);
}

/* The same, then add the residual @r. */
END __m512 conv_end_add(const struct conv_end *e, __m512 v, __m512 r)
{
	return conv_end_bounds(_mm512_add_ps(v, r), e->last_least, e->last_most);
}

END bool conv_end_f32_any(const struct conv_block *g, uint8_t *to, const uint8_t *res,
			  conv_row_sums *acc, const uint32_t mr, const uint32_t nv,
			  const bool residual)
{
	const bool full = g->last == 0xffff;
	uint32_t i, n;

#pragma GCC unroll 14
	for (i = 0; i < mr; i++, to += g->dst_ms, res += residual ? g->res_ms : 0)
#pragma GCC unroll 4
		for (n = 0; n < nv; n++) {
			__m512 v = conv_end_value(g->end, acc[i][n], n);

			if (residual)
				v = conv_end_add(g->end, v, _mm512_loadu_ps(res + 64 * n));

			/* A masked store is slower than a full one. */
			if (n + 1 < nv || full)
				_mm512_storeu_ps(to + 64 * n, v);
			else
				_mm512_mask_storeu_ps(to + 64 * n, (__mmask16)g->last, v);
		}
	return true;
}

END bool conv_end_f32(const struct conv_block *g, uint8_t *to, const uint8_t *res,
		      conv_row_sums *acc, const uint32_t mr, const uint32_t nv)
{
	return g->end->residual ? conv_end_f32_any(g, to, res, acc, mr, nv, true) :
				  conv_end_f32_any(g, to, NULL, acc, mr, nv, false);
}

#ifdef __AVX512BF16__
END __m512 conv_end_load_bf16(const uint8_t *p)
{
	const __m512i x = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));

	return _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
}

/* The bf16 conversion instruction flushes subnormal numbers, so there must be none. */
END bool conv_end_bf16_any(const struct conv_block *g, uint8_t *to, const uint8_t *res,
			   conv_row_sums *acc, const uint32_t mr, const uint32_t nv,
			   const bool residual)
{
	const uint32_t lanes = nv == 1 ? g->last : 0xffff | g->last << 16;
	__mmask16 small = 0;
	uint32_t i, n;

#pragma GCC unroll 14
	for (i = 0; i < mr; i++, to += g->dst_ms, res += residual ? g->res_ms : 0)
#pragma GCC unroll 2
		for (n = 0; n < nv; n += 2) {
			__m512 v = conv_end_value(g->end, acc[i][n], n);
			__m512 w = nv == 1 ? v : conv_end_value(g->end, acc[i][n + 1], n + 1);
			__m512i h;

			if (residual)
				v = conv_end_add(g->end, v, conv_end_load_bf16(res + 32 * n));
			if (residual && nv > 1)
				w = conv_end_add(g->end, w,
						 conv_end_load_bf16(res + 32 * n + 32));
			h = (__m512i)_mm512_cvtne2ps_pbh(w, v);
			small |= _mm512_fpclass_ps_mask(v, 0x20) | _mm512_fpclass_ps_mask(w, 0x20);
			if (n + 2 < nv || lanes == ~0u)
				_mm512_storeu_si512(to + 32 * n, h);
			else
				_mm512_mask_storeu_epi16(to + 32 * n, lanes, h);
		}
	return !small;
}

END bool conv_end_bf16(const struct conv_block *g, uint8_t *to, const uint8_t *res,
		       conv_row_sums *acc, const uint32_t mr, const uint32_t nv)
{
	return g->end->residual ? conv_end_bf16_any(g, to, res, acc, mr, nv, true) :
				  conv_end_bf16_any(g, to, NULL, acc, mr, nv, false);
}
#endif

#undef END

#endif /* LIBACCEL_SW_FAST_CONV_END_FLOAT_H */
