// SPDX-License-Identifier: MIT
/* Transposes 16 by 16 numbers in registers. */
#include <immintrin.h>
#include "conv_fast.h"

/**
 * conv_turn_avx512 - transpose a block
 * @from: rows of 32-bit numbers
 * @ld: numbers from row to row
 * @rows: at most 16
 * @cols: columns
 * @to: a row of 16 numbers for each column; those beyond @rows are undefined
 * @to_ld: numbers from row to row there
 */
void conv_turn_avx512(const float *from, int64_t ld, uint32_t rows, uint32_t cols, float *to,
		      int64_t to_ld)
{
	__m512 a[16], b[16];
	uint32_t i, at;

	for (at = 0; at < cols; at += 16) {
		const uint32_t n = cols - at < 16 ? cols - at : 16;

#pragma GCC unroll 16
		for (i = 0; i < 16; i++)
			a[i] = _mm512_loadu_ps(from + (i < rows ? i : 0) * ld + at);
#pragma GCC unroll 8
		for (i = 0; i < 16; i += 2) {
			b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
			b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
		}
#pragma GCC unroll 4
		for (i = 0; i < 16; i += 4) {
			const __m512d l0 = _mm512_castps_pd(b[i]), h0 = _mm512_castps_pd(b[i + 1]);
			const __m512d l1 = _mm512_castps_pd(b[i + 2]);
			const __m512d h1 = _mm512_castps_pd(b[i + 3]);

			a[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(l0, l1));
			a[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(l0, l1));
			a[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(h0, h1));
			a[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(h0, h1));
		}
		/* a[4 q + j] has columns j, j + 4, j + 8, j + 12 of rows 4 q and on. */
#pragma GCC unroll 4
		for (i = 0; i < 4; i++) {
			const __m512 p = _mm512_shuffle_f32x4(a[i], a[4 + i], 0x88);
			const __m512 q = _mm512_shuffle_f32x4(a[i], a[4 + i], 0xdd);
			const __m512 s = _mm512_shuffle_f32x4(a[8 + i], a[12 + i], 0x88);
			const __m512 t = _mm512_shuffle_f32x4(a[8 + i], a[12 + i], 0xdd);

			b[i] = _mm512_shuffle_f32x4(p, s, 0x88);
			b[8 + i] = _mm512_shuffle_f32x4(p, s, 0xdd);
			b[4 + i] = _mm512_shuffle_f32x4(q, t, 0x88);
			b[12 + i] = _mm512_shuffle_f32x4(q, t, 0xdd);
		}
#pragma GCC unroll 16
		for (i = 0; i < 16; i++)
			if (i < n)
				_mm512_storeu_ps(to + (at + i) * to_ld, b[i]);
	}
}
