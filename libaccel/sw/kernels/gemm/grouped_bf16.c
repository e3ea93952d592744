// SPDX-License-Identifier: MIT
/*
 * Products in groups: bf16 by integers minus their zero points, which are exact in bf16,
 * by kernels of this file or, for long groups, by others of bf16. And columns whose numbers are
 * scaled before they are rounded to bf16, for such kernels.
 */
#include "libaccel/sw/kernels/vec/vec512.h"

/* Rows whose sums stay in the first-level cache */
#define STRIP_ROWS	64u

#define MR		6
#define WORD		2
#define IS_FLOAT	1

V_INLINE void vi_store(void *p, vi x)		{ _mm512_storeu_si512(p, x); }

V_INLINE vi step(vi acc, vi b, vi a)
{
	return vi_of(_mm512_dpbf16_ps(v_of(acc), (__m512bh)b, (__m512bh)a));
}

/* Element @i of a word, signed: unsigned ones have been converted, with their zero points. */
V_INLINE vi element(vi q, const uint32_t bits, const uint32_t i, vi zero)
{
	const uint32_t at = bits == 8 ? 8 * i : 8 * (i % 4) + 4 * (i / 4);
	const vi x = _mm512_srai_epi32(_mm512_slli_epi32(q, 32 - bits - at), 32 - bits);

	return vi_of(v_of_ints(vi_sub(x, zero)));
}

V_INLINE vi expand_word(vi q, uint32_t bits, uint32_t w, vi zero)
{
	return vi_or(vi_shr(element(q, bits, 2 * w, zero), 16), element(q, bits, 2 * w + 1, zero));
}

#include "grouped_kernel.h"

GROUPED(1) GROUPED(2) GROUPED(3) GROUPED(4) GROUPED(5) GROUPED(6)

/*
 * Bytes @at and @at + 1 of each word as a word of bf16; @zero has 2^23 added. @folded: it has 2^15
 * added instead, and @min is minus its product with @scale.
 */
V_INLINE vi scaled_word(vi q, const uint32_t at, vf zero, vf scale, vf min, const bool folded)
{
	const vi order = _mm512_setr_epi32(0x00100000, 0x00110001, 0x00120002, 0x00130003,
					   0x00140004, 0x00150005, 0x00160006, 0x00170007,
					   0x00180008, 0x00190009, 0x001a000a, 0x001b000b,
					   0x001c000c, 0x001d000d, 0x001e000e, 0x001f000f);
	vf x[2];

	for_each_below(i, 0, 2) {
		/* 2^23 + a byte has this byte as its lowest one, 2^15 + a byte as the next. */
		const __mmask64 to = folded ? 0x2222222222222222ull : 0x1111111111111111ull;
		const vi place = _mm512_set4_epi32(0x0c0c, 0x0808, 0x0404, 0);
		const vi from = vi_add(place, vi_set(0x101 * ((int)at + i)));

		x[i] = v_of(_mm512_mask_shuffle_epi8(vi_bits(folded ? 0x47000000 : 0x4b000000), to,
						     q, from));
		x[i] = v_fma(folded ? x[i] : v_sub(x[i], zero), scale, min);
	}
	return _mm512_permutexvar_epi16(order, (vi)_mm512_cvtne2ps_pbh(x[1], x[0]));
}

V_INLINE void scaled_words(const uint8_t *b, uint32_t words, uint8_t *out, vf zero, vf scale,
			   vf min, const bool folded)
{
	uint32_t w;

	for (w = 0; w < words; w++, b += 8 * VL, out += 16 * VL) {
		const vi q = vi_load(b);

		vi_store(out, scaled_word(q, 0, zero, scale, min, folded));
		vi_store(out + 8 * VL, scaled_word(q, 2, zero, scale, min, folded));
	}
}

/*
 * Without minima zero points are subtracted by the same instruction that multiplies, if their
 * products with the scales have no more bits than a number: then it rounds the same result.
 */
void grouped_words_bf16(const struct grouped_call *g, uint8_t *out)
{
	const uint8_t *b = g->b;
	uint32_t i;

	for (i = 0; i < 2 * g->groups; i++) {
		const vf scale = v_load(g->b_scale + i * VL);
		const vf zero = v_of_ints(vi_load(g->b_zero + i * VL));
		const vf far = v_add(zero, v_set(0x1p15f)), minus = v_fnma(far, scale, v_set(0));

		if (!g->b_min && v_equal(v_fma(far, scale, minus), v_set(0)) == 0xffff)
			scaled_words(b, g->words, out, zero, scale, minus, true);
		else
			scaled_words(b, g->words, out, v_add(zero, v_set(0x1p23f)), scale,
				     g->b_min ? v_load(g->b_min + i * VL) : v_set(0), false);
		/* The other vector, or the next group. */
		b += i % 2 ? 8ul * VL * g->words - 4 * VL : 4 * VL;
		out += i % 2 ? 16ul * VL * g->words - 4 * VL : 4 * VL;
	}
}

/* Sums of one group: to those of the groups before it, if there are any. */
V_INLINE void add_group(const float (*sums)[2 * VL], uint32_t rows, const float *scale, float *c,
			size_t c_row, bool add)
{
	uint32_t r;

	for (r = 0; r < rows; r++, c += c_row)
		for_each_below(v, 0, 2)
			v_store(c + v * VL, v_fma(v_load(sums[r] + v * VL), v_load(scale + v * VL),
						  add ? v_load(c + v * VL) : v_set(0)));
}

void grouped_strips_bf16(const struct grouped_call *g, fast_gemm_fn strip, uint32_t m)
{
	float sums[STRIP_ROWS][2 * VL] __attribute__((aligned(64)));
	uint32_t r, rows, i;

	for (r = 0; r < m; r += rows) {
		rows = m - r < STRIP_ROWS ? m - r : STRIP_ROWS;
		for (i = 0; i < g->groups; i++) {
			const uint8_t *b = g->b + 8ul * VL * g->words * i;
			const struct fast_gemm_strip s = {
				.a = g->a + r * g->a_row + 4ul * g->words * i,
				.a_ms = (int64_t)g->a_row, .a_ks = 4,
				.b = { b, b + 4 * VL }, .b_ks = 8 * VL, .c = sums, .c_ms = 8 * VL,
				.m = rows, .n = 2 * VL,
				.k = 2 * (i + 1 < g->groups ? g->words : g->last),
			};

			strip(&s);
			add_group(sums, rows, g->b_scale + 2 * VL * i, g->c + r * g->c_row,
				  g->c_row, i || g->accumulate);
		}
	}
}

const struct grouped_kernels grouped_bf16 = {
	.vl = VL, .mr = MR, .word = WORD,
	.fn = {
		GROUPED_FNS(1), GROUPED_FNS(2), GROUPED_FNS(3),
		GROUPED_FNS(4), GROUPED_FNS(5), GROUPED_FNS(6),
	},
	.expand = expand,
	.scales = scales,
};
