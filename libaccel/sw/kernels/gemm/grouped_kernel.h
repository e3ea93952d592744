/* SPDX-License-Identifier: MIT */
/*
 * The kernels of grouped.h for an instruction set. The file that includes this one defines the
 * vectors, MR, WORD, IS_FLOAT, step() and expand_word().
 *
 * Register tile: MR rows by two vectors, with sums of the group and of all groups: 24 registers
 * for 6 rows. Loads for a multiply-add: 1 / MR of B, 1 / 2 of A.
 */
#include "grouped.h"
#include "libaccel/sw/kernels/vec/special.h"

/* Unrolled loop with a constant count */
#define for_each_below(i, from, n)	SPECIAL_LOOP(16) for (int i = (from); i < (n); i++)

V_INLINE vi start(const uint8_t *at)
{
	return IS_FLOAT ? vi_set(0) : vi_word(at);
}

/* Sums of one group. */
V_INLINE void group_sums(const uint8_t *const *a, const uint8_t *b, uint32_t words, const int mr,
			 vi acc[MR][2])
{
	uint32_t s;

#pragma GCC unroll 4
	for (s = 0; s < words; s++, b += 8 * VL) {
		const vi b0 = vi_load(b), b1 = vi_load(b + 4 * VL);

		for_each_below(r, 0, mr) {
			const vi x = vi_word(a[r] + 4 * s);

			acc[r][0] = step(acc[r][0], b0, x);
			acc[r][1] = step(acc[r][1], b1, x);
		}
	}
}

SPECIAL void grouped(const struct grouped_call *g, const int mr, const enum grouped_way way)
{
	const bool zeros = way == GROUPED_ZEROS;
	const uint8_t *a[MR], *b = g->b;
	vf total[MR][2];
	uint32_t i;

	for_each_below(r, 0, mr) {
		a[r] = g->a + r * g->a_row;
		for_each_below(v, 0, 2)
			total[r][v] = g->accumulate ? v_load(g->c + r * g->c_row + v * VL) :
						      v_set(0);
	}
	for (i = 0; i < g->groups; i++) {
		const uint32_t words = i + 1 < g->groups ? g->words : g->last;
		const vf s0 = v_load(g->b_scale + 2 * VL * i);
		const vf s1 = v_load(g->b_scale + 2 * VL * i + VL);
		vi acc[MR][2];

		for_each_below(r, 0, mr)
			acc[r][0] = acc[r][1] = start(g->a_sum + r * g->a_row + 4 * i);
		group_sums(a, b, words, mr, acc);
		b += 8ul * VL * words;
		for_each_below(r, 0, mr) {
			const size_t at = r * g->a_row + 4 * i;
			vf x0, x1, f0 = s0, f1 = s1;

			a[r] += 4ul * words;
			if (zeros && !IS_FLOAT) {
				const vi raw = vi_word(g->a_raw + at), za = vi_word(g->a_zero + at);

				for_each_below(v, 0, 2) {
					const vi zb = vi_load(g->b_zero + 2 * VL * i + v * VL);
					const vi sum = vi_load(g->b_sum + 2 * VL * i + v * VL);

					acc[r][v] = vi_sub(acc[r][v], vi_add(vi_mul(raw, zb),
									     vi_mul(za, sum)));
				}
			}
			x0 = IS_FLOAT ? v_of(acc[r][0]) : v_of_ints(acc[r][0]);
			x1 = IS_FLOAT ? v_of(acc[r][1]) : v_of_ints(acc[r][1]);
			if (g->a_scale) {
				const vf s = v_word(g->a_scale + at);

				f0 = v_mul(s0, s);
				f1 = v_mul(s1, s);
			}
			total[r][0] = v_fma(x0, f0, total[r][0]);
			total[r][1] = v_fma(x1, f1, total[r][1]);
			if (way == GROUPED_MINS || (zeros && g->b_min)) {
				const float *min = g->b_min + 2 * VL * i;
				const vf x = v_word(g->a_min + at);

				total[r][0] = v_fma(x, v_load(min), total[r][0]);
				total[r][1] = v_fma(x, v_load(min + VL), total[r][1]);
			}
		}
	}
	for_each_below(r, 0, mr)
		for_each_below(v, 0, 2)
			v_store(g->c + r * g->c_row + v * VL, total[r][v]);
}

V_INLINE void expand_bits(const uint8_t *blocks, size_t step, uint32_t count, const uint32_t bits,
			  uint32_t flip, vi zero, uint8_t *out)
{
	const int words = (int)(32 / bits / WORD);
	uint32_t i;

	for (i = 0; i < count; i++, blocks += step) {
		const vi q = vi_xor(vi_load(blocks), vi_bits(flip));

		for_each_below(w, 0, words) {
			vi_store(out, expand_word(q, bits, (uint32_t)w, zero));
			out += 8 * VL;
		}
	}
}

static void expand(const uint8_t *blocks, size_t step, uint32_t count, uint32_t bits, uint32_t flip,
		   const int32_t *zero, uint8_t *out)
{
	const vi z = zero ? vi_load(zero) : vi_set(0);

	if (bits == 8)
		expand_bits(blocks, step, count, 8, flip, z, out);
	else
		expand_bits(blocks, step, count, 4, flip, z, out);
}

static void scales(const void *p, bool half, float factor, float *out)
{
	v_store(out, v_mul(half ? v_load_f16(p) : v_load(p), v_set(factor)));
}

#if !IS_FLOAT
#include "grouped_blocks.h"
#endif

#define GROUPED(mr)							\
static void plain_##mr(const struct grouped_call *g) { grouped(g, mr, GROUPED_PLAIN); }	\
static void mins_##mr(const struct grouped_call *g) { grouped(g, mr, GROUPED_MINS); }	\
static void zeros_##mr(const struct grouped_call *g) { grouped(g, mr, GROUPED_ZEROS); }
#define GROUPED_FNS(mr)		{ plain_##mr, mins_##mr, zeros_##mr }
