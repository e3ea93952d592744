// SPDX-License-Identifier: MIT
/*
 * Products in groups: dot products of bytes, B unsigned by A signed. 6 x 32, groups of 32: 48
 * cycles for products, 12 for scaling.
 */
#include "libaccel/sw/kernels/vec/vec512.h"

#define MR		6
#define WORD		4
#define IS_FLOAT	0

V_INLINE void vi_store(void *p, vi x)		{ _mm512_storeu_si512(p, x); }
V_INLINE vi step(vi acc, vi b, vi a)		{ return _mm512_dpbusd_epi32(acc, b, a); }

V_INLINE vi expand_word(vi q, uint32_t bits, uint32_t w, vi zero)
{
	(void)zero;
	return bits == 8 ? q : vi_and(w ? vi_shr(q, 4) : q, vi_bits(0x0f0f0f0f));
}

#include "grouped_kernel.h"

GROUPED(1) GROUPED(2) GROUPED(3) GROUPED(4) GROUPED(5) GROUPED(6)

/* Prefetch distance of packed columns in bytes */
#define AHEAD		2048u

/* Add the scaled sum of a group of a vector of columns to that of a row. */
V_INLINE vf add_group(const struct grouped_call *g, size_t at, vi sum, vf scale, vf total)
{
	const vf f = g->a_scale ? v_mul(scale, v_word(g->a_scale + at)) : scale;

	return v_fma(v_of_ints(sum), f, total);
}

/*
 * Columns are read in memory order, without expanding them: a line has 8 elements of 16
 * columns, from which four instructions make two factors. For one row each of these has its own
 * sums, so that none waits for another. Groups end as in grouped(), so the bits are the same.
 */
V_INLINE void nibble_columns(const struct grouped_call *g, const int mr, const int nv,
			     const uint32_t first)
{
	const int parts = mr == 1 ? 2 : 1;
	const vi flip = vi_bits(g->flip), four = vi_bits(0x0f0f0f0f);
	const vf factor = v_set(g->factor);
	const uint8_t *a = g->a, *b[2] = { g->col[first], g->col[first + (uint32_t)nv - 1] };
	const uint8_t *table = g->table + first * VL * (g->half ? 2 : 4);
	vf total[GROUPED_NIBBLES][2];
	uint32_t i, s;
	size_t off = 0;

	for_each_below(r, 0, mr)
		for_each_below(v, 0, nv)
			total[r][v] = v_set(0);
	for (i = 0; i < g->groups; i++, table += g->table_row) {
		const uint32_t words = i + 1 < g->groups ? g->words : g->last;
		vi acc[GROUPED_NIBBLES][2][2];

		for_each_below(r, 0, mr)
			for_each_below(v, 0, nv) {
				acc[r][v][0] = vi_word(g->a_sum + r * g->a_row + 4 * i);
				acc[r][v][1] = vi_set(0);
			}
		for (s = 0; s < words; s += 2, off += g->col_step, a += 8)
			for_each_below(v, 0, nv) {
				const vi q = vi_xor(vi_load(b[v] + off), flip);
				const vi lo = vi_and(q, four), hi = vi_and(vi_shr(q, 4), four);

				__builtin_prefetch(b[v] + off + AHEAD, 0, 3);
				for_each_below(r, 0, mr) {
					const uint8_t *at = a + r * g->a_row;
					vi *sum = acc[r][v];

					sum[0] = step(sum[0], lo, vi_word(at));
					sum[parts - 1] = step(sum[parts - 1], hi, vi_word(at + 4));
				}
			}
		for_each_below(v, 0, nv) {
			const uint8_t *p = table + v * VL * (g->half ? 2 : 4);
			const vf scale = v_mul(g->half ? v_load_f16(p) : v_load(p), factor);

			for_each_below(r, 0, mr)
				total[r][v] = add_group(g, r * g->a_row + 4 * i,
							parts == 1 ? acc[r][v][0] :
							vi_add(acc[r][v][0], acc[r][v][1]),
							scale, total[r][v]);
		}
	}
	for_each_below(r, 0, mr)
		for_each_below(v, 0, nv)
			v_store(g->c + r * g->c_row + (first + (uint32_t)v) * VL, total[r][v]);
}

/* With more than four rows there are only registers for one vector of columns. */
V_INLINE void nibbles(const struct grouped_call *g, const int mr)
{
	if (mr <= 4) {
		nibble_columns(g, mr, 2, 0);
		return;
	}
	nibble_columns(g, mr, 1, 0);
	nibble_columns(g, mr, 1, 1);
}

#define NIBBLES(mr)	static void nibbles_##mr(const struct grouped_call *g) { nibbles(g, mr); }
NIBBLES(1) NIBBLES(2) NIBBLES(3) NIBBLES(4) NIBBLES(5) NIBBLES(6) NIBBLES(7) NIBBLES(8)

const struct grouped_kernels grouped_vnni = {
	.vl = VL, .mr = MR, .word = WORD,
	.fn = {
		GROUPED_FNS(1), GROUPED_FNS(2), GROUPED_FNS(3),
		GROUPED_FNS(4), GROUPED_FNS(5), GROUPED_FNS(6),
	},
	.expand = expand,
	.scales = scales,
	.blocks = blocks,
	.columns = columns,
	.turn_scales = turn_scales,
	.tables = block_tables,
	.few = FEW_ALL,
	.nibbles = {
		nibbles_1, nibbles_2, nibbles_3, nibbles_4,
		nibbles_5, nibbles_6, nibbles_7, nibbles_8,
	},
};
