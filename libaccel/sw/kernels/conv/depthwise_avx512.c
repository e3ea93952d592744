// SPDX-License-Identifier: MIT
/*
 * Depthwise rows in binary32, AVX-512: strips of 7 outputs of 16 channels. 9 weights, and the
 * sums of the current row, of those that end above it and of those that begin below it, at most
 * 9 at a time, are in registers; 9 loads of inputs are used for 63 products, so products are
 * the limit: 4.5 cycles for an output of 16 channels. On Zen 5, with all data in the
 * first-level cache, 4.7 to 5.3 were measured, more with fewer rows: a strip has an overhead of
 * about 60 cycles. bf16 inputs are converted when they are loaded.
 */
#define CHANNELS	16u
#define VECTORS		1u
#define WIDE		7u
#define NARROW		4u
#define TAPS		9u
#define DW_RECORD	DW_FLOATS
#include "depthwise_rows.h"

ALWAYS __m512 load(const uint8_t *p, __mmask16 m, const bool in16)
{
	__m512i v;

	if (!in16)
		return _mm512_maskz_loadu_ps(m, p);
	v = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, p));
	return _mm512_castsi512_ps(_mm512_slli_epi32(v, 16));
}

ALWAYS void begin(const struct strip *s, struct taps *t)
{
	uint32_t k;

#pragma GCC unroll 9
	for (k = 0; k < 9; k++)
		t->w[k] = _mm512_load_ps(s->weights + 16ul * k);
	t->start = _mm512_setzero_ps();
	/* Without ReLU: the maximum with NaN as the first operand does not change anything. */
	t->floor = _mm512_set1_ps(s->b->relu ? 0 : __builtin_nanf(""));
}

ALWAYS void store(const struct strip *s, const struct taps *t, __m512 x, uint8_t *to,
		  const uint32_t kind)
{
	__mmask16 low;

	x = _mm512_add_ps(x, _mm512_load_ps(s->weights + 16 * 9));
	if (s->b->clamp) {
		x = _mm512_max_ps(_mm512_set1_ps(s->b->least), x);
		x = _mm512_min_ps(_mm512_set1_ps(s->b->most), x);
	} else {
		low = _mm512_cmp_ps_mask(x, t->floor, _CMP_LE_OQ);
		x = _mm512_mask_mov_ps(x, low, _mm512_setzero_ps());
	}
	/* Masked stores are slower. */
	if (kind & PLAIN)
		_mm512_storeu_ps(to, x);
	else if (s->b->out16)
		_mm256_mask_storeu_epi16(to, (__mmask16)s->m, to_bf16(x));
	else
		_mm512_mask_storeu_ps(to, (__mmask16)s->m, x);
}

ALWAYS void end(const struct strip *s, const struct taps *t, const struct sums *done,
		uint8_t *out, const uint32_t n, const uint32_t kind)
{
	uint32_t i;

#pragma GCC unroll 7
	for (i = 0; i < n; i++)
		store(s, t, done->v[i], out + i * s->out_ms, kind);
}

ALWAYS void step(const struct strip *s, const struct taps *t, const struct dw_line *l,
		 struct sums *done, struct sums *half, struct sums *fresh, uint8_t *out,
		 const uint32_t n, const uint32_t stride, const uint32_t kind)
{
	const uint32_t cols = (n - 1) * stride + DW_TAPS;
	const __mmask16 m = kind & PLAIN ? 0xffff : (__mmask16)s->m;
	const int64_t px = l->px;
	const uint8_t *first, *mid, *last;
	uint32_t i, j;

	columns(s, l, cols, &first, &mid, &last);
#pragma GCC unroll 15
	for (j = 0; j < cols; j++) {
		const uint8_t *p = !j ? first : j == cols - 1 ? last : mid + (j - 1) * px;
		const __m512 in = load(p, m, kind & IN16);

#pragma GCC unroll 7
		for (i = 0; i < n; i++) {
			const uint32_t x = j - i * stride;

			/* Also true for differences below 0 */
			if (x >= DW_TAPS)
				continue;
			if (done)
				done->v[i] = _mm512_fmadd_ps(in, t->w[6 + x], done->v[i]);
			if (half)
				half->v[i] = _mm512_fmadd_ps(in, t->w[3 + x], half->v[i]);
			if (fresh)
				fresh->v[i] = _mm512_fmadd_ps(in, t->w[x],
							      x ? fresh->v[i] : t->start);
			if (done && x == DW_TAPS - 1)
				store(s, t, done->v[i], out + i * s->out_ms, kind);
		}
	}
}

void dw_f32_avx512(const struct dw_band *b)
{
	const bool plain = !b->out16;

	if (b->in16)
		b->xstride == 1 ? channels(b, 1, IN16, plain) : channels(b, 2, IN16, plain);
	else
		b->xstride == 1 ? channels(b, 1, 0, plain) : channels(b, 2, 0, plain);
}

void dw_f32_weights_avx512(const struct dw_prog *c, uint32_t n, const uint8_t *w,
			   const float *bias, float *to)
{
	const int64_t ys = c->g.b_stride[CONV_Y] * c->es, xs = c->g.b_stride[CONV_X] * c->es;
	uint32_t ch, k;

	for (ch = 0; ch < n; ch += CHANNELS, to += DW_FLOATS) {
		const __mmask16 m = n - ch < 16 ? (__mmask16)((1u << (n - ch)) - 1) : 0xffff;

		for (k = 0; k < 9; k++)
			_mm512_store_ps(to + 16ul * k,
					load(w + k / DW_TAPS * ys + k % DW_TAPS * xs + ch * c->es,
					     m, c->es == 2));
		/* Adding to -0 does not change a number. */
		_mm512_store_ps(to + 16 * 9, bias ? _mm512_maskz_loadu_ps(m, bias + ch) :
						    _mm512_set1_ps(-0.0f));
	}
}
