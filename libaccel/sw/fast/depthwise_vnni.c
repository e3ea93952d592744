// SPDX-License-Identifier: MIT
/*
 * Depthwise rows of bytes, AVX512_VNNI: the inputs of a column of three taps become
 * 32 bits of a lane, so that three products, one for each column, make an output of
 * 16 channels. The eight shuffles that do so for 64 channels serve all outputs that
 * the column meets where the stride is 1. What unpacking mixes up packing puts right.
 */
#include <immintrin.h>
#include "depthwise.h"

#define ALWAYS static inline __attribute__((always_inline))

/* Four vectors, of channels as dw_channel() says */
typedef struct {
	__m512i v[4];
} quad;

ALWAYS quad unpack(__m512i a, __m512i b, __m512i d)
{
	const __m512i ab0 = _mm512_unpacklo_epi8(a, b), ab1 = _mm512_unpackhi_epi8(a, b);
	const __m512i none = _mm512_setzero_si512();
	const __m512i d0 = _mm512_unpacklo_epi8(d, none), d1 = _mm512_unpackhi_epi8(d, none);

	return (quad) { {
		_mm512_unpacklo_epi16(ab0, d0), _mm512_unpackhi_epi16(ab0, d0),
		_mm512_unpacklo_epi16(ab1, d1), _mm512_unpackhi_epi16(ab1, d1),
	} };
}

ALWAYS quad column(const struct dw_row *r, int64_t at, __m512i flip)
{
	return unpack(_mm512_xor_si512(_mm512_loadu_si512(r->in[0] + at), flip),
		      _mm512_xor_si512(_mm512_loadu_si512(r->in[1] + at), flip),
		      _mm512_xor_si512(_mm512_loadu_si512(r->in[2] + at), flip));
}

/* rne(x / scale) as integers: as the reciprocal has it but next to a tie. */
ALWAYS __m512i quantise(__m512 x, __m512 scale, __m512 reciprocal)
{
	const __m512 q = _mm512_mul_ps(x, reciprocal);
	const __m512 d = _mm512_sub_ps(q, _mm512_roundscale_ps(q, _MM_FROUND_TO_NEAREST_INT |
							       _MM_FROUND_NO_EXC));

	/* NaN is neither; a difference of numbers beyond 2^23 is 0. */
	if (__builtin_expect(_mm512_cmp_ps_mask(_mm512_abs_ps(d), _mm512_set1_ps(0.4995f),
						_CMP_NLT_UQ), 0)) {
		x = _mm512_div_ps(x, scale);
		x = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), x);
		x = _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(-0x1p20f)),
				  _mm512_set1_ps(0x1p20f));
		return _mm512_cvtps_epi32(x);
	}
	return _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(q, _mm512_set1_ps(-0x1p20f)),
						_mm512_set1_ps(0x1p20f)));
}

ALWAYS void finish(const struct dw_prog *c, const struct dw_row *r, const quad *acc, uint8_t *to,
		   uint32_t ch, __mmask64 m, const bool relu)
{
	const __m512 scale = _mm512_set1_ps(c->dst_scale), rec = _mm512_set1_ps(1 / c->dst_scale);
	const __m512i zero = _mm512_set1_epi32(c->dst_zero);
	__m512i q[4], lo, hi;
	uint32_t i;

#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		__m512 x = _mm512_cvtepi32_ps(acc->v[i]);

		x = _mm512_mul_ps(x, _mm512_load_ps(r->scale + ch + 16 * i));
		x = _mm512_add_ps(x, _mm512_load_ps(r->bias + ch + 16 * i));
		if (relu)
			x = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(),
								   _CMP_NLE_UQ), x);
		q[i] = _mm512_add_epi32(quantise(x, scale, rec), zero);
	}
	lo = _mm512_packs_epi32(q[0], q[1]);
	hi = _mm512_packs_epi32(q[2], q[3]);
	lo = c->dst == UMA_DTYPE_U8 ? _mm512_packus_epi16(lo, hi) : _mm512_packs_epi16(lo, hi);
	if (m == ~0ull)
		_mm512_storeu_si512(to, lo);
	else
		_mm512_mask_storeu_epi8(to, m, lo);
}

/* Sums in the order of channels. */
ALWAYS void store_sums(const quad *acc, uint8_t *to, uint32_t n)
{
	int32_t lanes[64] __attribute__((aligned(64)));
	uint32_t i, k;

	for (i = 0; i < 4; i++) {
		int32_t v[16] __attribute__((aligned(64)));

		_mm512_store_si512(v, acc->v[i]);
		for (k = 0; k < 16; k++)
			lanes[dw_channel(i, k)] = v[k];
	}
	__builtin_memcpy(to, lanes, 4ul * n);
}

ALWAYS void row(const struct dw_prog *c, const struct dw_row *r, const uint32_t stride,
		const bool relu)
{
	const __m512i flip = _mm512_set1_epi8((char)r->flip);
	const int64_t px = r->px;
	uint32_t ch, x, i, k;

	for (ch = 0; ch < r->n; ch += 64) {
		const __m512i *w = (const __m512i *)((const uint8_t *)r->weights + ch * 12ul);
		const __m512i *start = (const __m512i *)((const int32_t *)r->start + ch);
		const uint32_t n = r->n - ch < 64 ? r->n - ch : 64;
		const __mmask64 m = n < 64 ? (1ull << n) - 1 : ~0ull;
		quad in[3], acc;

		in[0] = column(r, ch, flip);
		if (stride == 1)
			in[1] = column(r, px + ch, flip);
		for (x = 0; x < r->outputs; x++) {
			const int64_t at = (int64_t)x * stride * px + ch;

			if (stride == 2)
				in[1] = column(r, at + px, flip);
			in[2] = column(r, at + 2 * px, flip);
#pragma GCC unroll 4
			for (i = 0; i < 4; i++) {
				acc.v[i] = start[i];
#pragma GCC unroll 3
				for (k = 0; k < 3; k++)
					acc.v[i] = _mm512_dpbusd_epi32(acc.v[i], in[k].v[i],
								       w[4 * k + i]);
			}
			if (c->fused)
				finish(c, r, &acc, r->out + (int64_t)x * r->out_ms + ch, ch, m,
				       relu);
			else
				store_sums(&acc, r->out + (int64_t)x * r->out_ms + 4ul * ch, n);
			if (stride == 1) {
				in[0] = in[1];
				in[1] = in[2];
			} else {
				in[0] = in[2];
			}
		}
	}
}

/* Weights of all channels side by side, 3 x 3 rows of them, as the kernels take them. */
void dw_int8_weights_avx512(const struct dw_prog *c, const int8_t *w, int64_t ys, int64_t xs,
			    uint8_t *weights, int32_t *start)
{
	const __m512i za = _mm512_set1_epi32(-c->za), ones = _mm512_set1_epi8(1);
	uint32_t ch, k, i;

	for (ch = 0; ch < c->channels; ch += 64, w += 64) {
		const uint32_t n = c->channels - ch < 64 ? c->channels - ch : 64;
		const __mmask64 m = n < 64 ? (1ull << n) - 1 : ~0ull;
		quad sum = { { _mm512_setzero_si512(), _mm512_setzero_si512(),
			       _mm512_setzero_si512(), _mm512_setzero_si512() } };

		for (k = 0; k < 3; k++) {
			const quad q = unpack(_mm512_maskz_loadu_epi8(m, w + k * xs),
					      _mm512_maskz_loadu_epi8(m, w + ys + k * xs),
					      _mm512_maskz_loadu_epi8(m, w + 2 * ys + k * xs));

			for (i = 0; i < 4; i++) {
				_mm512_store_si512(weights + ch * 12ul + 64 * (4 * k + i), q.v[i]);
				sum.v[i] = _mm512_dpbusd_epi32(sum.v[i], ones, q.v[i]);
			}
		}
		for (i = 0; i < 4; i++)
			_mm512_store_si512(start + ch + 16 * i,
					   _mm512_mullo_epi32(sum.v[i], za));
	}
}

/* A number for each channel, in the order of the sums; @n a multiple of 64. */
void dw_int8_order_avx512(const float *from, uint32_t n, float *to)
{
	const __m512i at = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 32, 33, 34, 35, 48, 49,
					     50, 51);
	uint32_t ch, i;

	for (ch = 0; ch < n; ch += 64)
		for (i = 0; i < 4; i++)
			_mm512_store_ps(to + ch + 16 * i,
					_mm512_i32gather_ps(at, from + ch + 4 * i, 4));
}

void dw_int8_avx512(const struct dw_prog *c, const struct dw_row *r)
{
	if (r->stride == 1)
		c->relu ? row(c, r, 1, true) : row(c, r, 1, false);
	else
		c->relu ? row(c, r, 2, true) : row(c, r, 2, false);
}
