// SPDX-License-Identifier: MIT
/*
 * Quotients by a constant without a division. With 1 / s = r + t, r and t rounded,
 * fma(v, r, v t) has one rounding where it matters, and is v / s rounded but where
 * v / s lies within 2^-47 of the middle between two numbers. So the integer next
 * to it is another one for hardly any s: and for which ones can be seen beforehand,
 * since both grow with v, and only change at the middles between two integers.
 */
#include <immintrin.h>
#include <stdint.h>
#include "quotient.h"

/* Results of bytes are saturated from here on, whatever their zero point. */
#define LARGEST		512

static __m512i by_division(__m512 v, float scale)
{
	return _mm512_cvtps_epi32(_mm512_div_ps(v, _mm512_set1_ps(scale)));
}

static __m512i by_product(__m512 v, float times, float rest)
{
	return _mm512_cvtps_epi32(_mm512_fmadd_ps(v, _mm512_set1_ps(times),
						  _mm512_mul_ps(v, _mm512_set1_ps(rest))));
}

/**
 * fast_quotient - the reciprocal of a scale in two parts
 * @scale: positive; neither it nor its reciprocal near the ends of the range
 * @times: out: the number next to 1 / @scale
 * @rest: out: what is left
 *
 * Return: does v x @times + v x @rest, the latter product rounded, round to the integer that
 * v / @scale does? For all v whose integers are within 512, and beyond to one that is.
 */
bool fast_quotient(float scale, float *times, float *rest)
{
	const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
					       15);
	int32_t i, ulps;

	*times = 1 / scale;
	*rest = (float)((1 - (double)*times * (double)scale) / (double)scale);
	for (i = 0; i < LARGEST; i += 16) {
		const __m512 n = _mm512_cvtepi32_ps(_mm512_add_epi32(lane, _mm512_set1_epi32(i)));
		const __m512 at = _mm512_mul_ps(_mm512_add_ps(n, _mm512_set1_ps(0.5f)),
						_mm512_set1_ps(scale));

		/* Numbers around the one where it changes; negative ones mirror them. */
		for (ulps = -3; ulps <= 3; ulps++) {
			const __m512i bits = _mm512_add_epi32(_mm512_castps_si512(at),
							      _mm512_set1_epi32(ulps));
			const __m512 v = _mm512_castsi512_ps(bits);

			if (_mm512_cmpneq_epi32_mask(by_division(v, scale),
						     by_product(v, *times, *rest)))
				return false;
		}
	}
	return true;
}
