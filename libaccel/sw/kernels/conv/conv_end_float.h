/* SPDX-License-Identifier: MIT */
/*
 * The end of block products in binary32: bias, ReLU, conversion and store, three
 * operations for a vector in binary32 and four in bf16. A NaN stays one.
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

END __m512 conv_end_value(const struct conv_end *e, __m512 sum, uint32_t n)
{
	return _mm512_max_ps(_mm512_set1_ps(e->least),
			     _mm512_add_ps(sum, _mm512_loadu_ps(e->bias + 16 * n)));
}

END bool conv_end_f32(const struct conv_block *g, uint8_t *to, conv_row_sums *acc,
		      const uint32_t mr, const uint32_t nv)
{
	const bool full = g->last == 0xffff;
	uint32_t i, n;

#pragma GCC unroll 14
	for (i = 0; i < mr; i++, to += g->dst_ms)
#pragma GCC unroll 4
		for (n = 0; n < nv; n++) {
			const __m512 v = conv_end_value(g->end, acc[i][n], n);

			/* A masked store is slower than a plain one. */
			if (n + 1 < nv || full)
				_mm512_storeu_ps(to + 64 * n, v);
			else
				_mm512_mask_storeu_ps(to + 64 * n, (__mmask16)g->last, v);
		}
	return true;
}

#ifdef __AVX512BF16__
/* The instruction for it makes zeros of subnormal numbers: there must be none. */
END bool conv_end_bf16(const struct conv_block *g, uint8_t *to, conv_row_sums *acc,
		       const uint32_t mr, const uint32_t nv)
{
	const uint32_t lanes = nv == 1 ? g->last : 0xffff | g->last << 16;
	__mmask16 small = 0;
	uint32_t i, n;

#pragma GCC unroll 14
	for (i = 0; i < mr; i++, to += g->dst_ms)
#pragma GCC unroll 2
		for (n = 0; n < nv; n += 2) {
			const __m512 v = conv_end_value(g->end, acc[i][n], n);
			const __m512 w = nv == 1 ? v : conv_end_value(g->end, acc[i][n + 1], n + 1);
			const __m512i h = (__m512i)_mm512_cvtne2ps_pbh(w, v);

			small |= _mm512_fpclass_ps_mask(v, 0x20) | _mm512_fpclass_ps_mask(w, 0x20);
			if (n + 2 < nv || lanes == ~0u)
				_mm512_storeu_si512(to + 32 * n, h);
			else
				_mm512_mask_storeu_epi16(to + 32 * n, lanes, h);
		}
	return !small;
}
#endif

#undef END

#endif /* LIBACCEL_SW_FAST_CONV_END_FLOAT_H */
