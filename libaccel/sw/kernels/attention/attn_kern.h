/* SPDX-License-Identifier: MIT */
/*
 * Kernels of attention, included once for each instruction set, which defines
 * before
 *
 *	VL, MR, NV	lanes, keys at once, vectors of rows at once
 *	vf, vi		vectors of binary32 and of 32-bit integers
 *	v_*()		what is done with them
 *	KERN_BF16	words are pairs of bf16: v_dot() is of pairs
 *	KERN_TILES	the products are those of attn_tiles.h
 *	KERN_NAME	table
 *
 * The products are tiles of MR x (NV vectors): each step takes NV vectors and MR
 * broadcast words for MR * NV multiply-adds; with AVX-512 8 x 48: 24 sums, 3
 * vectors and a word are 28 registers, 11 loads for 24 multiply-adds.
 *
 * Measured on a Zen 5, all in L2, per 16 scores of heads of 64: fp32 32.1 cycles
 * for the scores, 4.2 for 2^x and its sums, 32.5 for the values, 93 % of what FMA
 * can do (64); bf16 16.2, 3.9 and 16.4, 87 %. Heads of 128: 97 % and 93 %.
 *
 * The softmax is the online one (M. Milakov, N. Gimelshein, "Online normalizer
 * calculation for softmax", 2018; T. Dao et al., "FlashAttention", 2022), base 2.
 */

#include "libaccel/sw/kernels/vec/special.h"

#define MINUS_INF	(-__builtin_inff())

/* A sum whose weights became 0 is 0, whatever the values were. */
V_INLINE vf rescaled(vf sum, vf factor)
{
	return v_if_equal(factor, v_set(0), v_set(0), v_mul(sum, factor));
}

#ifdef KERN_TILES
#include "attn_tiles.h"
#else

/*
 * acc = sums over @n of a[i * ms + x * ks] * b[x * ld + lane]. All distances in
 * words; one of @ms and @ks is the constant 1.
 */
V_INLINE void product(vf acc[MR][NV], const uint32_t *a, size_t ms, size_t ks,
		      const uint32_t *b, uint32_t n, const uint32_t nv)
{
	uint32_t x, i, v;

	for (x = 0; x < n; x++, a += ks, b += nv * VL) {
		vf w[NV];

		SPECIAL_LOOP(4)
		for (v = 0; v < nv; v++)
			w[v] = v_load(b + v * VL);
		SPECIAL_LOOP(8)
		for (i = 0; i < MR; i++) {
			const vf s = v_word(a + i * ms);

			SPECIAL_LOOP(4)
			for (v = 0; v < nv; v++)
				acc[i][v] = v_dot(acc[i][v], s, w[v]);
		}
	}
}

SPECIAL void scores_nv(const struct attn_group *g, const uint32_t nv)
{
	const size_t ld = nv * VL;
	uint32_t j, i, v;
	vf top[NV];

	SPECIAL_LOOP(4)
	for (v = 0; v < nv; v++)
		top[v] = v_set(MINUS_INF);
	for (j = 0; j < g->nk; j += MR) {
		float *s = g->s + j * ld;
		vf acc[MR][NV];

		SPECIAL_LOOP(8)
		for (i = 0; i < MR; i++)
			SPECIAL_LOOP(4)
			for (v = 0; v < nv; v++)
				acc[i][v] = v_set(0);
		product(acc, g->k + (size_t)j * g->ldk, g->ldk, 1, g->q, g->kw, nv);
		if (g->kscale) {
			SPECIAL_LOOP(8)
			for (i = 0; i < MR; i++)
				SPECIAL_LOOP(4)
				for (v = 0; v < nv; v++)
					acc[i][v] = v_mul(acc[i][v], v_set(g->kscale[j + i]));
		}
		SPECIAL_LOOP(8)
		for (i = 0; i < MR; i++)
			SPECIAL_LOOP(4)
			for (v = 0; v < nv; v++) {
				v_store(s + i * ld + v * VL, acc[i][v]);
				top[v] = v_max(top[v], acc[i][v]);
			}
	}
	SPECIAL_LOOP(4)
	for (v = 0; v < nv; v++)
		v_store(g->top + v * VL, top[v]);
}

SPECIAL void values_nv(const struct attn_group *g, const uint32_t nv)
{
#ifdef KERN_BF16
	const uint32_t steps = (g->nk + 1) / 2;
#else
	const uint32_t steps = g->nk;
#endif
	const size_t ld = nv * VL;
	uint32_t e, i, v;

	for (e = 0; e < g->dv; e += MR) {
		float *o = g->o + e * ld;
		vf acc[MR][NV];

		SPECIAL_LOOP(8)
		for (i = 0; i < MR; i++)
			SPECIAL_LOOP(4)
			for (v = 0; v < nv; v++)
				acc[i][v] = rescaled(v_load(o + i * ld + v * VL),
						     v_load(g->rescale + v * VL));
		product(acc, g->v + e, 1, g->ldv, (const uint32_t *)g->s, steps, nv);
		SPECIAL_LOOP(8)
		for (i = 0; i < MR; i++)
			SPECIAL_LOOP(4)
			for (v = 0; v < nv; v++)
				v_store(o + i * ld + v * VL, acc[i][v]);
	}
}

static void scores(const struct attn_group *g)
{
	if (g->nv == 3)
		scores_nv(g, 3);
	else if (g->nv == 2)
		scores_nv(g, 2);
	else
		scores_nv(g, 1);
}

static void values(const struct attn_group *g)
{
	if (g->nv == 3)
		values_nv(g, 3);
	else if (g->nv == 2)
		values_nv(g, 2);
	else
		values_nv(g, 1);
}

#endif

/*
 * 2^this is what a weight is: the score @x next to @shift, the largest so far. The
 * difference comes first. Scores may be anything up to the largest number, as masks make
 * them; what a product of them is rounded by would be more than a weight has room for.
 */
V_INLINE vf power_of(vf x, vf shift, vf c)
{
	return v_mul(v_sub(x, shift), c);
}

/* Factors of the older sums, and what is subtracted from the scores. */
V_INLINE void begin_soften(const struct attn_group *g, vf *shift, const uint32_t nv)
{
	const vf none = v_set(MINUS_INF), c = v_set(g->c);
	uint32_t v;

	SPECIAL_LOOP(4)
	for (v = 0; v < nv; v++) {
		const vf old = v_load(g->shift + v * VL);
		/* A NaN does not become the largest, but it stays in its place. */
		const vf most = v_max(v_load(g->top + v * VL), old);
#ifdef KERN_TILES
		const vf new = tiles_shift(most, old, g->c);
#else
		const vf new = most;
#endif
		/* The difference of two infinities is no number. */
		const vf at = v_if_equal(new, none, v_set(0), new);

		v_store(g->shift + v * VL, new);
		v_store(g->rescale + v * VL,
			v_if_equal(old, none, v_set(0), v_exp2(power_of(old, at, c))));
		shift[v] = at;
	}
}

SPECIAL void soften_nv(const struct attn_group *g, const uint32_t nv, const bool scaled)
{
	const vf c = v_set(g->c);
	const size_t ld = nv * VL;
	vf shift[NV], sum[NV];
	uint32_t j, v;

	begin_soften(g, shift, nv);
#ifdef KERN_TILES
	tiles_rescale(g, nv);
#endif
	SPECIAL_LOOP(4)
	for (v = 0; v < nv; v++)
		sum[v] = v_mul(v_load(g->sum + v * VL), v_load(g->rescale + v * VL));
#ifdef KERN_BF16
	for (j = 0; j < g->nk; j += 2) {
		const float *s = g->s + j * ld;
		const bool pair = j + 1 < g->nk;

		SPECIAL_LOOP(4)
		for (v = 0; v < nv; v++) {
			vf x = v_exp2_rough(power_of(v_load(s + v * VL), shift[v], c));
			vf y = v_set(0);

			if (pair)
				y = v_exp2_rough(power_of(v_load(s + ld + v * VL),
							  shift[v], c));
			sum[v] = v_add(sum[v], v_add(x, y));
			if (scaled) {
				x = v_mul(x, v_set(g->vscale[j]));
				y = v_mul(y, v_set(g->vscale[j + pair]));
			}
			v_store_pairs((uint32_t *)g->s + j / 2 * ld + v * VL, x, y);
		}
	}
#else
	for (j = 0; j < g->nk; j++) {
		float *s = g->s + j * ld;

		SPECIAL_LOOP(4)
		for (v = 0; v < nv; v++) {
			vf x = v_exp2(power_of(v_load(s + v * VL), shift[v], c));

			sum[v] = v_add(sum[v], x);
			if (scaled)
				x = v_mul(x, v_set(g->vscale[j]));
			v_store(s + v * VL, x);
		}
	}
#endif
	SPECIAL_LOOP(4)
	for (v = 0; v < nv; v++)
		v_store(g->sum + v * VL, sum[v]);
}

static void soften_scaled(const struct attn_group *g)
{
	if (g->nv == 3)
		soften_nv(g, 3, true);
	else if (g->nv == 2)
		soften_nv(g, 2, true);
	else
		soften_nv(g, 1, true);
}

static void soften(const struct attn_group *g)
{
	if (g->vscale)
		soften_scaled(g);
	else if (g->nv == 3)
		soften_nv(g, 3, false);
	else if (g->nv == 2)
		soften_nv(g, 2, false);
	else
		soften_nv(g, 1, false);
}

/* --- what is not plain -------------------------------------------------------------- */

/* tanh as the model has it: (tanh(x) / x - 1) / x^2 in x^2, beyond by e^x */
V_INLINE vf tanh_of(vf x)
{
	static const float c[] = {
		0.00229274482f, -0.00834394526f, 0.0217689183f, -0.0539592579f,
		0.133333042f, -0.333333343f,
	};
	/* 1 from 10 on; what is larger would overflow on the way there. The sign comes last. */
	const vf a = v_min(v_set(16), v_abs(x)), z = v_mul(a, a);
	vf near = v_set(c[0]), far;
	uint32_t i;

	for (i = 1; i < sizeof(c) / sizeof(c[0]); i++)
		near = v_fma(near, z, v_set(c[i]));
	near = v_fma(v_mul(near, z), a, a);
	far = v_add(v_exp2(v_mul(a, v_set(2 * ATTN_LOG2E))), v_set(1));
	far = v_sub(v_set(1), v_div(v_set(2), far));
	return v_copy_sign(v_if_less(a, v_set(0.625f), near, far), x);
}

static void finish(const struct attn_group *g)
{
	const uint32_t ld = g->nv * VL;
	uint32_t v, j;

	for (v = 0; v < ld; v += VL) {
		const vi lo = vi_load(g->lo + v), hi = vi_load(g->hi + v);
		const vi hk = vi_load(g->hk + v);
		const vf slope = g->slope ? v_load(g->slope + v) : v_set(0);
		vf top = v_set(MINUS_INF);

		for (j = 0; j < g->nk; j++) {
			const int32_t key = g->key + (int32_t)j;
			float *s = g->s + j * ld + v;
			vf x = v_mul(v_load(s), v_set(g->scale));

			if (g->softcap > 0)
				x = v_mul(tanh_of(v_div(x, v_set(g->softcap))),
					  v_set(g->softcap));
			if (g->slope)
				x = v_fnma(slope, v_distance(g->pos + v, key), x);
			if (g->mask) {
				const vf m = g->mask_ld ? v_load(g->mask + j * g->mask_ld + v) :
					     v_set(g->mask[j]);

				/* Whatever the score was: it may be no number. */
				x = v_if_equal(m, v_set(MINUS_INF), m, v_add(x, m));
			}
			x = key < g->keep ? v_between(x, key, vi_set(INT32_MIN), hk) :
			    v_between(x, key, lo, hi);
			v_store(s, x);
			top = v_max(top, x);
		}
		v_store(g->top + v, top);
	}
}

static void odd(const struct attn_group *g, uint32_t j, const float *x, uint32_t dv)
{
	const uint32_t ld = g->nv * VL;
	uint32_t v, e;

	for (v = 0; v < ld; v += VL) {
#ifdef KERN_BF16
		const vf w = v_half((const uint32_t *)g->s + j / 2 * ld + v, j & 1);
#else
		const vf w = v_load(g->s + j * ld + v);
#endif

		for (e = 0; e < dv; e++) {
			float *o = g->o + e * ld + v;
			const vf old = v_load(o);

			v_store(o, v_if_equal(w, v_set(0), old, v_fma(w, v_set(x[e]), old)));
		}
	}
}

static bool end(const struct attn_group *g, const float *sinks, uint32_t rows, uint32_t dv)
{
	const uint32_t ld = g->nv * VL;
	bool finite = true;
	uint32_t v, e;

	for (v = 0; v < ld; v += VL) {
		vf sum = v_load(g->sum + v), factor = v_set(1);
		vi high = vi_set(0);

		if (sinks) {
			const vf sink = v_load(sinks + v), none = v_set(MINUS_INF);
			const vf base2 = v_set(ATTN_LOG2E);
			const vf old = v_mul(v_load(g->shift + v), v_set(g->unit));
			/* Of a sink that is no number nothing is left but that. */
			const vf new = v_max(old, sink);
			const vf at = v_if_equal(new, none, v_set(0), new);

			factor = v_if_equal(old, none, v_set(0), v_exp2(power_of(old, at, base2)));
			sum = v_fma(sum, factor, v_exp2(power_of(sink, at, base2)));
		}
		factor = v_mul(factor, v_set(g->vall));
		/* Of no weights nothing is left, and nothing is divided. */
		factor = v_div(v_if_equal(sum, v_set(0), v_set(0), factor),
			       v_if_equal(sum, v_set(0), v_set(1), sum));
		for (e = 0; e < dv; e++) {
			float *o = g->o + e * ld + v;
			const vf x = rescaled(v_load(o), factor);

			v_store(o, x);
			high = vi_max(high, v_exponent(x));
		}
		finite = finite && v_all_finite(high, rows > v ? rows - v : 0);
	}
	return finite;
}

/* --- moving ----------------------------------------------------------------------- */

static void turn(uint32_t *dst, uint32_t ldd, const uint32_t *src, uint32_t lds, uint32_t n,
		 uint32_t m)
{
	uint32_t i, j;

	for (i = 0; i < n; i += VL) {
		for (j = 0; j + VL <= m; j += VL)
			v_turn(dst + (size_t)j * ldd + i, ldd, src + (size_t)i * lds + j, lds,
			       VL);
		if (j < m)
			v_turn(dst + (size_t)j * ldd + i, ldd, src + (size_t)i * lds + j, lds,
			       m - j);
	}
}

static void copy(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, uint32_t n,
		 uint32_t bytes)
{
	const uint8_t *from = src;
	uint8_t *to = dst;
	uint32_t i, j;

	for (j = 0; j < n; j++, from += src_stride, to += dst_stride) {
		for (i = 0; i + 4 * VL <= bytes; i += 4 * VL)
			v_store(to + i, v_load(from + i));
		for (; i < bytes; i += 2)
			memcpy(to + i, from + i, 2);
	}
}

static void dequant(float *x, const void *p, bool is_signed, float zero, float scale,
		    uint32_t n)
{
	const uint8_t *u = p;
	uint32_t i;

	for (i = 0; i + VL <= n; i += VL)
		v_store(x + i, v_mul(v_sub(v_bytes(u + i, is_signed), v_set(zero)),
				     v_set(scale)));
	for (; i < n; i++)
		x[i] = ((is_signed ? (float)(int8_t)u[i] : (float)u[i]) - zero) * scale;
}

static void quantise(void *p, const float *x, bool is_signed, int32_t zero, float scale,
		     uint32_t n)
{
	/* Beyond it all is saturated, within it conversions to integers are defined. */
	const vf most = v_set(0x1p20f), least = v_set(-0x1p20f);
	float tail[4 * VL] = { 0 };
	uint8_t bytes[4 * VL];
	uint32_t i, j;

	for (i = 0; i < n; i += 4 * VL) {
		const bool whole = i + 4 * VL <= n;
		vf q[4];

		if (!whole)
			memcpy(tail, x + i, 4ul * (n - i));
#pragma GCC unroll 4
		for (j = 0; j < 4; j++) {
			q[j] = v_div(v_load((whole ? x + i : tail) + j * VL), v_set(scale));
			q[j] = v_where(v_unordered(q[j], q[j]), v_set(0), q[j]);
			q[j] = v_max(v_min(q[j], most), least);
		}
		v_store_bytes4(whole ? (uint8_t *)p + i : bytes, q, zero, is_signed);
		if (!whole)
			memcpy((uint8_t *)p + i, bytes, n - i);
	}
}

static void narrow(uint16_t *x, const void *p, bool is_signed, float zero, uint32_t n)
{
	const uint8_t *u = p;
	uint32_t i;

#ifdef KERN_BF16
	for (i = 0; i + VL <= n; i += VL)
		v_store_upper(x + i, v_sub(v_bytes(u + i, is_signed), v_set(zero)));
#else
	i = 0;
#endif
	for (; i < n; i++) {
		const float f = (is_signed ? (float)(int8_t)u[i] : (float)u[i]) - zero;
		uint32_t bits;

		memcpy(&bits, &f, 4);
		x[i] = (uint16_t)(bits >> 16);
	}
}

static void pair(uint32_t *dst, const uint16_t *a, const uint16_t *b, uint32_t n)
{
	uint32_t i = 0;

#ifdef KERN_BF16
	for (; i + VL <= n; i += VL)
		v_store_sides(dst + i, a + i, b + i);
#endif
	for (; i < n; i++)
		dst[i] = a[i] | (uint32_t)b[i] << 16;
}

#ifndef KERN_BF16
#include <math.h>
#include "attn_lines.h"
#endif

const struct attn_kernels KERN_NAME = {
	.vl = VL,
#ifdef KERN_TILES
	.mr = AMX_ROWS,
	.open = tiles_open,
	.close = tiles_close,
#else
	.mr = MR,
#endif
#ifdef KERN_BF16
	.bf16 = true,
#endif
	.turn = turn,
	.scores = scores,
	.finish = finish,
	.soften = soften,
	.values = values,
	.odd = odd,
	.end = end,
	.copy = copy,
	.dequant = dequant,
	.quantise = quantise,
	.narrow = narrow,
	.pair = pair,
#ifndef KERN_BF16
	.line_finite = line_finite,
	.line_order = line_order,
	.line_scores = line_scores,
	.line_scale = line_scale,
	.line_soften = line_soften,
	.line_values = line_values,
	.line_merge = line_merge,
#endif
};
