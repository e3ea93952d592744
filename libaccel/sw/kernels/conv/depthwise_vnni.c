// SPDX-License-Identifier: MIT
/*
 * Depthwise rows of bytes, AVX512_VNNI: the inputs of a column of four rows are the 32 bits of
 * a lane, so three products, one for each column, make an output of 16 channels, and three more
 * with the weights shifted by a byte the output below. For 64 channels of an output this takes
 * 4 shuffles (8 shared by two), 2 loads of inputs, 12 products and 27 operations that convert
 * the sums to bytes: about 60 instructions, in 23 cycles, measured on Zen 5 with all data in
 * the first-level cache. Packing restores the order that unpacking changes.
 */
#include <immintrin.h>
#include <string.h>
#include "depthwise.h"

#define ALWAYS static inline __attribute__((always_inline))

/* Four vectors, in the order of dw_channel() */
typedef struct {
	__m512i v[4];
} quad;

/* Maximum rows of inputs: two vertically adjacent outputs share two. */
#define DW_ROWS	4u

ALWAYS quad unpack(__m512i a, __m512i b, __m512i d, __m512i e)
{
	const __m512i ab0 = _mm512_unpacklo_epi8(a, b), ab1 = _mm512_unpackhi_epi8(a, b);
	const __m512i de0 = _mm512_unpacklo_epi8(d, e), de1 = _mm512_unpackhi_epi8(d, e);

	return (quad) { {
		_mm512_unpacklo_epi16(ab0, de0), _mm512_unpackhi_epi16(ab0, de0),
		_mm512_unpacklo_epi16(ab1, de1), _mm512_unpackhi_epi16(ab1, de1),
	} };
}

ALWAYS quad column(const uint8_t *const *p, uint32_t ch, __mmask64 m, __m512i flip,
		   const uint32_t rows)
{
	__m512i in[DW_ROWS] = { flip, flip, flip, flip };
	uint32_t k;

#pragma GCC unroll 4
	for (k = 0; k < rows + 2; k++)
		in[k] = _mm512_xor_si512(_mm512_maskz_loadu_epi8(m, p[k] + ch), flip);
	return unpack(in[0], in[1], in[2], in[3]);
}

ALWAYS __m512 scaled(const struct dw_bytes *w, __m512i sum, uint32_t i)
{
	return _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum),
					   _mm512_load_ps(w->scale + 16ul * i)),
			     _mm512_load_ps(w->bias + 16ul * i));
}

/* rne((sum x scale + bias) / scale of DST), with all roundings. */
static __attribute__((noinline)) void exactly(const struct dw_band *r, const struct dw_bytes *w,
					      const quad *acc, quad *q)
{
	const __m512 scale = _mm512_set1_ps(r->dst_scale);
	uint32_t i;

	for (i = 0; i < 4; i++)
		q->v[i] = _mm512_cvtps_epi32(_mm512_div_ps(scaled(w, acc->v[i], i), scale));
}

/*
 * Rounds product and sum once, instead of four times: the difference in the last places only
 * affects the integer next to a tie. Integers are far below 2^15, see dw_int8_weights_avx512(),
 * so ReLU can be applied after rounding.
 */
ALWAYS __m512i bytes(const struct dw_band *r, const struct dw_bytes *w, const quad *acc)
{
	const __m512i floor = _mm512_set1_epi16(r->relu ? 0 : -0x8000);
	const __m512i zero = _mm512_set1_epi16((short)r->dst_zero);
	__m512 v[4], d[4];
	__m512i lo, hi;
	uint32_t i;
	quad q;

#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		v[i] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(acc->v[i]),
				       _mm512_load_ps(w->factor + 16ul * i),
				       _mm512_load_ps(w->addend + 16ul * i));
		/* Minus the nearest integer */
		d[i] = _mm512_reduce_ps(v[i], 8);
		q.v[i] = _mm512_cvtps_epi32(v[i]);
	}
	/* The larger magnitude of two */
	d[0] = _mm512_range_ps(_mm512_range_ps(d[0], d[1], 11), _mm512_range_ps(d[2], d[3], 11),
			       11);
	if (__builtin_expect(_mm512_cmp_ps_mask(d[0], _mm512_set1_ps(r->edge), _CMP_GE_OQ), 0))
		exactly(r, w, acc, &q);
	lo = _mm512_packs_epi32(q.v[0], q.v[1]);
	hi = _mm512_packs_epi32(q.v[2], q.v[3]);
	lo = _mm512_adds_epi16(_mm512_max_epi16(lo, floor), zero);
	hi = _mm512_adds_epi16(_mm512_max_epi16(hi, floor), zero);
	return r->dst_u8 ? _mm512_packus_epi16(lo, hi) : _mm512_packs_epi16(lo, hi);
}

/* Store sums in the order of channels. */
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

ALWAYS void output(const struct dw_band *r, const struct dw_bytes *w, const quad *in, uint8_t *to,
		   uint32_t ch, __mmask64 m, const uint32_t rows, const bool fused)
{
	const __m512i *weights;
	uint32_t i, k, o;

#pragma GCC unroll 2
	for (o = 0; o < rows; o++, to += r->out_row) {
		quad acc;

#pragma GCC unroll 4
		for (i = 0; i < 4; i++) {
			acc.v[i] = _mm512_load_si512(w->start + 16ul * i);
			weights = (const __m512i *)w->weights[o] + i;
#pragma GCC unroll 3
			for (k = 0; k < 3; k++)
				acc.v[i] = _mm512_dpbusd_epi32(acc.v[i], in[k].v[i],
							       weights[4ul * k]);
		}
		/* Masked stores are slower. */
		if (!fused)
			store_sums(&acc, to, r->n - ch < 64 ? r->n - ch : 64);
		else if (m == ~0ull)
			_mm512_storeu_si512(to, bytes(r, w, &acc));
		else
			_mm512_mask_storeu_epi8(to, m, bytes(r, w, &acc));
	}
}

/*
 * @rows rows of outputs of 64 channels, from @ch on; @l: the first one's inputs. @stride: of
 * windows; also 2 for two outputs in a vector, where the next vector begins at the end of this
 * one; 0: more of them, which share no column.
 */
ALWAYS void row(const struct dw_band *b, const struct dw_bytes *w, const struct dw_line *l,
		uint8_t *out, uint32_t ch, __mmask64 m, const uint32_t rows,
		const uint32_t stride, const bool fused)
{
	const __m512i flip = _mm512_set1_epi8((char)b->flip);
	const uint8_t *mid[DW_ROWS], *next[DW_ROWS];
	uint32_t x, k;
	quad in[3];

#pragma GCC unroll 4
	for (k = 0; k < rows + 2; k++) {
		mid[k] = l[k].mid;
		next[k] = l[k].first;
	}
	if (stride)
		in[0] = column(next, ch, m, flip, rows);
	if (stride == 1) {
		in[1] = column(mid, ch, m, flip, rows);
#pragma GCC unroll 4
		for (k = 0; k < rows + 2; k++)
			mid[k] += l[k].px;
	}
	for (x = 0; x < b->outputs; x++, out += b->out_ms) {
		if (!stride) {
#pragma GCC unroll 4
			for (k = 0; k < rows + 2; k++)
				next[k] = x ? mid[k] - l[k].px : l[k].first;
			in[0] = column(next, ch, m, flip, rows);
			in[1] = column(mid, ch, m, flip, rows);
#pragma GCC unroll 4
			for (k = 0; k < rows + 2; k++) {
				next[k] = x + 1 == b->outputs ? l[k].last : mid[k] + l[k].px;
				mid[k] += b->side * l[k].px;
			}
			in[2] = column(next, ch, m, flip, rows);
			output(b, w, in, out, ch, m, rows, fused);
			continue;
		}
		if (stride == 2) {
			in[1] = column(mid, ch, m, flip, rows);
#pragma GCC unroll 4
			for (k = 0; k < rows + 2; k++)
				mid[k] += l[k].px;
		}
#pragma GCC unroll 4
		for (k = 0; k < rows + 2; k++) {
			next[k] = x + 1 == b->outputs ? l[k].last : mid[k];
			mid[k] += l[k].px;
		}
		in[2] = column(next, ch, m, flip, rows);
		output(b, w, in, out, ch, m, rows, fused);
		if (stride == 1) {
			in[0] = in[1];
			in[1] = in[2];
		} else {
			in[0] = in[2];
		}
	}
}

/* Two rows at a time, if the stride of windows is one. */
ALWAYS void band(const struct dw_band *b, const uint32_t stride, const bool fused)
{
	const struct dw_bytes *w = b->weights;
	uint32_t ch, y;

	for (ch = 0; ch < b->n; ch += 64, w++) {
		const __mmask64 m = b->n - ch < 64 ? (1ull << (b->n - ch)) - 1 : ~0ull;
		uint8_t *out = b->out + ch * (fused ? 1ul : 4ul);
		const struct dw_line *l = b->lines;

		for (y = 0; b->ystride == 1 && y + 1 < b->rows; y += 2) {
			row(b, w, l, out, ch, m, 2, stride, fused);
			out += 2 * b->out_row;
			l += 2;
		}
		for (; y < b->rows; y++) {
			row(b, w, l, out, ch, m, 1, stride, fused);
			out += b->out_row;
			l += b->ystride;
		}
	}
}

void dw_int8_avx512(const struct dw_band *b)
{
	if (b->fused)
		b->xstride > 2 ? band(b, 0, true) :
		b->xstride == 1 ? band(b, 1, true) : band(b, 2, true);
	else
		b->xstride > 2 ? band(b, 0, false) :
		b->xstride == 1 ? band(b, 1, false) : band(b, 2, false);
}

/* --- weights ------------------------------------------------------------------------ */

/* @n channels, or a few that are repeated for each output in a vector. */
static __m512i taps(const struct dw_prog *c, const int8_t *w, uint32_t n)
{
	int8_t v[64] __attribute__((aligned(64))) = { 0 };
	uint32_t k;

	for (k = 0; k < c->side; k++)
		memcpy(v + (size_t)k * n, w, n);
	return _mm512_load_si512(v);
}

/* Numbers of @n channels in the order of the lanes. */
static void order(const struct dw_prog *c, const float *from, uint32_t n, float *to)
{
	float x[64] = { 0 };
	uint32_t v, i;

	for (i = 0; from && i < c->side; i++)
		memcpy(x + (size_t)i * n, from, 4ul * n);
	for (v = 0; v < 4; v++)
		for (i = 0; i < 16; i += 4)
			_mm_store_ps(to + 16ul * v + i, _mm_loadu_ps(x + dw_channel(v, i)));
}

/*
 * Factors and addends of 64 channels; returns the largest possible magnitude of a result, or
 * infinity.
 */
static float factors(const struct dw_prog *c, struct dw_bytes *to)
{
	const int32_t low = c->za < 0 ? -c->za : c->za, high = c->za < 255 ? 255 - c->za : 0;
	/* Maximum for inputs minus their zero point, 128 and 9 weights */
	const __m512 most = _mm512_set1_ps((float)(UMA_MAX(low, high) * 128 * 9));
	const __m512 rec = _mm512_set1_ps(1 / c->dst_scale);
	__m512 max = _mm512_setzero_ps();
	uint32_t i;

	for (i = 0; i < 64; i += 16) {
		const __m512 f = _mm512_mul_ps(_mm512_load_ps(to->scale + i), rec);
		const __m512 a = _mm512_mul_ps(_mm512_load_ps(to->bias + i), rec);

		_mm512_store_ps(to->factor + i, f);
		_mm512_store_ps(to->addend + i, a);
		/* A NaN, the second operand, is kept. */
		max = _mm512_max_ps(max, _mm512_fmadd_ps(_mm512_abs_ps(f), most,
							 _mm512_abs_ps(a)));
		if (_mm512_cmp_ps_mask(max, max, _CMP_UNORD_Q))
			return __builtin_inff();
	}
	return _mm512_reduce_max_ps(max);
}

/**
 * dw_int8_weights_avx512 - weights and epilogue
 * @c: convolution
 * @channels: number of channels
 * @w: weights, channels contiguous
 * @scale: of sums, for each channel; NULL: only sums are computed
 * @bias: or NULL
 * @to: receives a struct for each vector of 64 channels
 *
 * With u = 2^-24 and results, before they are rounded to integers, of at most M in magnitude,
 * products of sums and factors with addends differ by at most 6 u M (1 + u) from product, sum
 * and quotient with separate roundings, for M of at least 1 also for subnormal results.
 *
 * Return: minimum distance from the nearest integer for which a result must be computed as in
 * the model, 1/2 - 8 u M; 0: M may exceed 2^13, or is NaN; the kernel cannot compute the
 * results.
 */
float dw_int8_weights_avx512(const struct dw_prog *c, uint32_t channels, const int8_t *w,
			     const float *scale, const float *bias, struct dw_bytes *to)
{
	const int64_t ys = c->g.b_stride[CONV_Y], xs = c->g.b_stride[CONV_X];
	const __m512i za = _mm512_set1_epi32(-c->za), ones = _mm512_set1_epi8(1);
	const __m512i none = _mm512_setzero_si512();
	uint32_t ch, k, i;
	float max = 1;

	for (ch = 0; ch < channels; ch += 64, to++) {
		const uint32_t n = UMA_MIN(channels - ch, 64u);
		quad sum = { { none, none, none, none } };

		for (k = 0; k < 3; k++) {
			const int8_t *at = w + ch + k * xs;
			const quad q = unpack(taps(c, at, n), taps(c, at + ys, n),
					      taps(c, at + 2 * ys, n), none);

			for (i = 0; i < 4; i++) {
				_mm512_store_si512(to->weights[0][4 * k + i], q.v[i]);
				_mm512_store_si512(to->weights[1][4 * k + i],
						   _mm512_slli_epi32(q.v[i], 8));
				sum.v[i] = _mm512_dpbusd_epi32(sum.v[i], ones, q.v[i]);
			}
		}
		for (i = 0; i < 4; i++)
			_mm512_store_si512(to->start + 16ul * i, _mm512_mullo_epi32(sum.v[i], za));
		if (!scale)
			continue;
		order(c, scale + ch, n, to->scale);
		order(c, bias ? bias + ch : NULL, n, to->bias);
		max = UMA_MAX(max, factors(c, to));
	}
	return scale && max <= 8192.0f ? 0.5f - max / (1 << 21) : 0;
}
