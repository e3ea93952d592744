// SPDX-License-Identifier: MIT
/*
 * Depthwise rows in bf16, AVX512_BF16: of four rows of inputs the inner two, which both
 * outputs of a column see, are brought together by one shuffle, and each of the outer ones
 * is widened beside zeros: nothing that an output does not see is multiplied, not even by
 * zero. So 6 products of pairs of taps make an output of 16 channels, where binary32 takes
 * 9, and for 2 rows of 7 outputs there are 27 shuffles. Weights stay in memory: with 14 sums
 * there are not registers for all. Products and shuffles need 3 cycles an output of 16
 * channels, everything 5.1, measured on Zen 5 with all in the first cache.
 */
#include <math.h>
#define DW_RECORD	DW_HALVES
#include "depthwise_rows.h"

/* Numbers of a column of weights: (0, nothing), (1, 2), (0, 1), (2, nothing) */
#define COLUMN	(4u * 16u)

ALWAYS __m512 dot(__m512 acc, __m512i a, const float *b)
{
	return _mm512_dpbf16_ps(acc, (__m512bh)a, (__m512bh)_mm512_load_si512(b));
}

ALWAYS __m512i beside_zero(const uint8_t *p, __mmask16 m)
{
	return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, p));
}

ALWAYS __m512i both(const uint8_t *p, const uint8_t *q, __mmask16 m, __m512i order)
{
	const __m512i a = _mm512_castsi256_si512(_mm256_maskz_loadu_epi16(m, p));
	const __m512i b = _mm512_castsi256_si512(_mm256_maskz_loadu_epi16(m, q));

	return _mm512_permutex2var_epi16(a, order, b);
}

/* Words 0, 32, 1, 33, ... of two vectors */
ALWAYS __m512i alternating(void)
{
	const __m512i i = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

	return _mm512_or_si512(i, _mm512_slli_epi32(_mm512_add_epi32(i, _mm512_set1_epi32(32)),
						    16));
}

ALWAYS void sums(const struct dw_row *r, const struct span *s, uint32_t ch, __mmask16 m,
		 const float *weights, const uint32_t rows, const uint32_t n,
		 const uint32_t stride, __m512 acc[2][WIDE])
{
	const uint32_t cols = (n - 1) * stride + DW_TAPS;
	const __m512i order = alternating();
	const uint8_t *p[DW_ROWS] = { NULL };
	const int64_t off = 2l * ch;
	uint32_t i, j, k;

#pragma GCC unroll 7
	for (i = 0; i < n; i++)
		acc[0][i] = acc[1][i] = _mm512_setzero_ps();
#pragma GCC unroll 4
	for (k = 0; k < rows + 2; k++)
		p[k] = s->mid[k] + off;
#pragma GCC unroll 15
	for (j = 0; j < cols; j++) {
		const uint8_t *at[DW_ROWS] = { NULL };
		__m512i top, mid, low;

#pragma GCC unroll 4
		for (k = 0; k < rows + 2; k++) {
			at[k] = j == 0 ? s->first[k] + off : j == cols - 1 ? s->last[k] + off :
				p[k];
			if (j)
				p[k] += r->px[k];
		}
		top = beside_zero(at[0], m);
		mid = both(at[1], at[2], m, order);
		low = rows == 2 ? beside_zero(at[3], m) : top;
#pragma GCC unroll 7
		for (i = 0; i < n; i++) {
			const uint32_t x = j - i * stride;

			if (x >= DW_TAPS)
				continue;
			acc[0][i] = dot(acc[0][i], top, weights + COLUMN * x);
			acc[0][i] = dot(acc[0][i], mid, weights + COLUMN * x + 16);
			if (rows == 2) {
				acc[1][i] = dot(acc[1][i], mid, weights + COLUMN * x + 32);
				acc[1][i] = dot(acc[1][i], low, weights + COLUMN * x + 48);
			}
		}
	}
}

ALWAYS void store(const struct dw_row *r, uint8_t *out, __mmask16 m, __m512 bias,
		  const uint32_t rows, const uint32_t n, __m512 acc[2][WIDE], const bool out16,
		  const bool full)
{
	const int64_t out_ms = r->out_ms, out_row = r->out_row;
	const __m512 floor = _mm512_set1_ps(r->relu ? 0 : -__builtin_inff());
	uint32_t i, o;

#pragma GCC unroll 2
	for (o = 0; o < rows; o++)
#pragma GCC unroll 7
		for (i = 0; i < n; i++) {
			uint8_t *to = out + o * out_row + i * out_ms;
			/* A NaN, the second one, stays; there is no -0. */
			const __m512 x = _mm512_max_ps(floor, _mm512_add_ps(acc[o][i], bias));

			/* Masked stores are slower. */
			if (out16 && full)
				_mm256_storeu_si256((__m256i *)to, (__m256i)_mm512_cvtneps_pbh(x));
			else if (out16)
				_mm256_mask_storeu_epi16(to, m, (__m256i)_mm512_cvtneps_pbh(x));
			else
				_mm512_mask_storeu_ps(to, m, x);
		}
}

ALWAYS void sixteen(const struct dw_row *r, const struct span *s, uint32_t ch, __mmask16 m,
		    const float *weights, uint8_t *out, const uint32_t rows, const uint32_t n,
		    const uint32_t stride, const bool in16)
{
	const __m512 bias = _mm512_load_ps(weights + 12 * 16);
	__m512 acc[2][WIDE];

	(void)in16;
	sums(r, s, ch, m, weights, rows, n, stride, acc);
	if (!r->out16)
		store(r, out, m, bias, rows, n, acc, false, false);
	else if (m == 0xffff)
		store(r, out, m, bias, rows, n, acc, true, true);
	else
		store(r, out, m, bias, rows, n, acc, true, false);
}

void dw_bf16_avx512(const struct dw_row *r)
{
	typed(r, true);
}

/*
 * Sums are 0 or normal numbers, and so they are with a bias of at least 2^-101 or 0: it or
 * a sum of nearly that size is a multiple of 2^-125. So vcvtneps2bf16, which takes
 * subnormal numbers for 0, sees none.
 *
 * Return: false: there is a smaller bias.
 */
bool dw_bf16_weights_avx512(const struct dw_prog *c, const uint8_t *w, const float *bias,
			    float *to)
{
	const __m512 tiny = _mm512_set1_ps((float)ldexp(1, -101));
	const int64_t ys = 2 * c->g.b_stride[CONV_Y], xs = 2 * c->g.b_stride[CONV_X];
	const __m512i order = alternating();
	uint32_t ch, x;
	__m512 b;

	for (ch = 0; ch < c->channels; ch += 16, to += DW_RECORD) {
		const __mmask16 m = lanes(c->channels - ch);

		for (x = 0; x < DW_TAPS; x++) {
			const uint8_t *top = w + x * xs + 2ul * ch;
			float *const v = to + COLUMN * x;

			_mm512_store_si512(v, beside_zero(top, m));
			_mm512_store_si512(v + 16, both(top + ys, top + 2 * ys, m, order));
			_mm512_store_si512(v + 32, both(top, top + ys, m, order));
			_mm512_store_si512(v + 48, beside_zero(top + 2 * ys, m));
		}
		b = bias ? _mm512_maskz_loadu_ps(m, bias + ch) : _mm512_setzero_ps();
		if (_mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(b, _mm512_setzero_ps(), _CMP_NEQ_OQ),
					    _mm512_abs_ps(b), tiny, _CMP_LT_OQ))
			return false;
		/* +0 for -0, and then a result is never -0. */
		_mm512_store_ps(to + 16 * 12, _mm512_add_ps(b, _mm512_setzero_ps()));
	}
	return true;
}
