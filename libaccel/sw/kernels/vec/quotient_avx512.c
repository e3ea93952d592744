// SPDX-License-Identifier: MIT
/*
 * Quotients by a constant without a division. With 1 / s = r + t, r and t rounded, fma(v, r, v
 * t) has one relevant rounding, and equals the rounded v / s unless v / s is within 2^-47 of
 * the middle between two numbers. So the nearest integer differs for hardly any s, and these
 * can be determined in advance, since both grow with v, and only change at the middles between
 * two integers.
 */
#include <immintrin.h>
#include <stdint.h>
#include "quotient.h"

/* Byte results saturate from here on, for any zero point. */
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
 * @times: out: 1 / @scale rounded
 * @rest: out: the remainder
 *
 * Return: does v x @times + v x @rest, the latter product rounded, round to the same integer as
 * v / @scale, for all v whose integers are within 512, and for larger ones to an integer
 * that is beyond?
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

		/*
		 * Test numbers around the one where the result changes; negative ones are
		 * symmetric.
		 */
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
