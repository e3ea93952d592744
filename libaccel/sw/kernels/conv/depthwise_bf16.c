// SPDX-License-Identifier: MIT
/*
 * Depthwise rows in bf16, AVX512_BF16: strips of 4 outputs of 32 channels. Of the three inputs
 * of an output in a row, the first two are combined by one shuffle, and the third is paired
 * with zeros: an output only uses its own inputs, so none is multiplied by zero. 6 products of
 * pairs of taps make an output of 16 channels, instead of 9 in binary32, and the outputs of
 * three rows share 2 shuffles. Products take 3 cycles for an output of 16 channels; 4.5 in
 * total, and 90 for a strip, were measured on Zen 5 with all data in the first-level cache: 16
 * sums and 12 vectors of weights leave few registers, so sums are spilled.
 */
#include <math.h>
#define CHANNELS	32u
#define VECTORS		2u
#define WIDE		4u
#define NARROW		3u
#define TAPS		12u
#define DW_RECORD	DW_HALVES
#include "depthwise_rows.h"

ALWAYS __m512 dot(__m512 acc, __m512i a, __m512 b)
{
	return _mm512_dpbf16_ps(acc, (__m512bh)a, (__m512bh)_mm512_castps_si512(b));
}

/* Weights of a row of taps: of the first two, of the third, for each of both vectors */
ALWAYS void begin(const struct strip *s, struct taps *t)
{
	uint32_t k;

#pragma GCC unroll 12
	for (k = 0; k < TAPS; k++)
		t->w[k] = _mm512_load_ps(s->weights + 16ul * k);
	t->start = _mm512_setzero_ps();
	t->floor = _mm512_set1_ps(s->b->least);
}

/* Store the sums of 32 channels, in the order of unpacking, as results in their own order. */
ALWAYS void store(const struct strip *s, const struct taps *t, __m512 lo, __m512 hi, uint8_t *to,
		  const uint32_t kind)
{
	const __m512i words = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
	const float *bias = s->weights + 16 * TAPS;
	__m512i v;

	/* A NaN, the second operand, is kept; there is no -0. */
	lo = _mm512_max_ps(t->floor, _mm512_add_ps(lo, _mm512_load_ps(bias)));
	hi = _mm512_max_ps(t->floor, _mm512_add_ps(hi, _mm512_load_ps(bias + 16)));
	if (s->b->clamp) {
		lo = _mm512_min_ps(_mm512_set1_ps(s->b->most), lo);
		hi = _mm512_min_ps(_mm512_set1_ps(s->b->most), hi);
	}
	if (kind & PLAIN || s->b->out16) {
		v = _mm512_permutexvar_epi64(words, (__m512i)_mm512_cvtne2ps_pbh(hi, lo));
		/* Masked stores are slower. */
		if (kind & PLAIN)
			_mm512_storeu_si512(to, v);
		else
			_mm512_mask_storeu_epi16(to, s->m, v);
	} else {
		const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
		const __m512i last = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
		const __m512i l = _mm512_castps_si512(lo), h = _mm512_castps_si512(hi);

		_mm512_mask_storeu_epi32(to, (__mmask16)s->m,
					 _mm512_permutex2var_epi64(l, first, h));
		_mm512_mask_storeu_epi32(to + 64, (__mmask16)(s->m >> 16),
					 _mm512_permutex2var_epi64(l, last, h));
	}
}

ALWAYS void end(const struct strip *s, const struct taps *t, const struct sums *done,
		uint8_t *out, const uint32_t n, const uint32_t kind)
{
	uint32_t i;

#pragma GCC unroll 4
	for (i = 0; i < n; i++)
		store(s, t, done->v[2 * i], done->v[2 * i + 1], out + i * s->out_ms, kind);
}

ALWAYS void step(const struct strip *s, const struct taps *t, const struct dw_line *l,
		 struct sums *done, struct sums *half, struct sums *fresh, uint8_t *out,
		 const uint32_t n, const uint32_t stride, const uint32_t kind)
{
	const uint32_t cols = (n - 1) * stride + DW_TAPS;
	const __mmask32 m = kind & PLAIN ? 0xffffffff : s->m;
	const __m512i none = _mm512_setzero_si512();
	const uint8_t *first, *mid, *last;
	const int64_t px = l->px;
	uint32_t i, j, k;
	__m512i in[9];

	columns(s, l, cols, &first, &mid, &last);
#pragma GCC unroll 9
	for (j = 0; j < cols; j++)
		in[j] = _mm512_maskz_loadu_epi16(m, !j ? first : j == cols - 1 ? last :
						 mid + (j - 1) * px);
#pragma GCC unroll 4
	for (i = 0; i < n; i++) {
		const __m512i *a = in + i * stride;
		const __m512i pair[2] = {
			_mm512_unpacklo_epi16(a[0], a[1]), _mm512_unpackhi_epi16(a[0], a[1]),
		};
		const __m512i one[2] = {
			_mm512_unpacklo_epi16(a[2], none), _mm512_unpackhi_epi16(a[2], none),
		};

#pragma GCC unroll 2
		for (k = 0; k < 2; k++) {
			const uint32_t v = 2 * i + k;

			if (done)
				done->v[v] = dot(dot(done->v[v], pair[k], t->w[8 + k]), one[k],
						 t->w[10 + k]);
			if (half)
				half->v[v] = dot(dot(half->v[v], pair[k], t->w[4 + k]), one[k],
						 t->w[6 + k]);
			if (fresh)
				fresh->v[v] = dot(dot(t->start, pair[k], t->w[k]), one[k],
						  t->w[2 + k]);
		}
		if (done)
			store(s, t, done->v[2 * i], done->v[2 * i + 1], out + i * s->out_ms,
			      kind);
	}
}

void dw_bf16_avx512(const struct dw_band *b)
{
	b->xstride == 1 ? channels(b, 1, 0, b->out16) : channels(b, 2, 0, b->out16);
}

/* 16 of 32 numbers: those in the lanes of the lower or the higher half of an unpacking */
ALWAYS __m512 half_of(__m512 a, __m512 b, uint32_t k)
{
	const __m512i lo = _mm512_setr_epi64(0, 1, 4, 5, 8, 9, 12, 13);
	const __m512i hi = _mm512_setr_epi64(2, 3, 6, 7, 10, 11, 14, 15);

	return _mm512_castsi512_ps(_mm512_permutex2var_epi64(_mm512_castps_si512(a), k ? hi : lo,
							     _mm512_castps_si512(b)));
}

/* A bias that is so small that the sum may be subnormal */
ALWAYS bool is_tiny(__m512 b)
{
	const __m512 tiny = _mm512_set1_ps((float)ldexp(1, -101));

	return _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(b, _mm512_setzero_ps(), _CMP_NEQ_OQ),
				       _mm512_abs_ps(b), tiny, _CMP_LT_OQ);
}

/*
 * Sums are 0 or normal numbers, also with a bias that is 0 or at least 2^-101: the bias, or a
 * sum of nearly its size, is a multiple of 2^-125. So the conversion to bf16, which treats
 * subnormal numbers as 0, has none.
 *
 * Return: false: there is a smaller bias.
 */
bool dw_bf16_weights_avx512(const struct dw_prog *c, uint32_t n, const uint8_t *w,
			    const float *bias, float *to)
{
	const int64_t ys = 2 * c->g.b_stride[CONV_Y], xs = 2 * c->g.b_stride[CONV_X];
	const __m512i none = _mm512_setzero_si512();
	uint32_t ch, y;

	for (ch = 0; ch < n; ch += CHANNELS, to += DW_RECORD) {
		const __mmask32 m = n - ch < CHANNELS ? (1u << (n - ch)) - 1 : 0xffffffff;
		__m512 b[2] = { _mm512_setzero_ps(), _mm512_setzero_ps() };

		for (y = 0; y < DW_TAPS; y++) {
			const uint8_t *row = w + y * ys + 2ul * ch;
			const __m512i t0 = _mm512_maskz_loadu_epi16(m, row);
			const __m512i t1 = _mm512_maskz_loadu_epi16(m, row + xs);
			const __m512i t2 = _mm512_maskz_loadu_epi16(m, row + 2 * xs);
			float *const v = to + y * 4 * 16ul;

			_mm512_store_si512(v, _mm512_unpacklo_epi16(t0, t1));
			_mm512_store_si512(v + 16, _mm512_unpackhi_epi16(t0, t1));
			_mm512_store_si512(v + 32, _mm512_unpacklo_epi16(t2, none));
			_mm512_store_si512(v + 48, _mm512_unpackhi_epi16(t2, none));
		}
		if (bias) {
			b[0] = _mm512_maskz_loadu_ps((__mmask16)m, bias + ch);
			b[1] = _mm512_maskz_loadu_ps((__mmask16)(m >> 16), bias + ch + 16);
		}
		if (is_tiny(b[0]) || is_tiny(b[1]))
			return false;
		/* +0 for -0, so that a result is never -0. */
		for (y = 0; y < 2; y++)
			_mm512_store_ps(to + 16ul * (TAPS + y),
					_mm512_add_ps(half_of(b[0], b[1], y),
						      _mm512_setzero_ps()));
	}
	return true;
}
