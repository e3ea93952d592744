// SPDX-License-Identifier: MIT
/*
 * Products in groups with AMX tiles: bytes, A signed by B unsigned, or bf16; rows and words where
 * the other kernels have them.
 *
 * Sums of a group of bytes, 16 rows by 16 columns, are exact, and what follows them is done as
 * grouped_kernel.h does it, so the bits are the same. A group's sums go through memory, which
 * takes a while: those of the next groups are formed meanwhile. What the groups give stays
 * in 16 registers.
 *
 * Bytes, seen next to the kernels of vpdpbusd, 128 rows by 32 columns: groups of 128
 * 1.9 to 2.2 times as fast, of 64 1.3 to 1.7 (with minima 1.7 to 2.0 and 1.2 to 1.5); of 32, where
 * a tile is half full, 1.0 to 1.1 (0.8 to 1.0), of 16 0.7, so these are not done here.
 */
#include "libaccel/sw/kernels/vec/vec512.h"
#include "libaccel/sw/kernels/vec/amx_block.h"
#include "grouped.h"

/* Groups whose sums are on their way, and room for sums: one more, a power of two */
#define AHEAD		2u
#define ROOM		4u

/* Tile 0: sums, 4: A, 6: B */
static void configure(void)
{
	struct amx_config c = {
		.palette = 1,
		.rows = { [0] = AMX_ROWS, [4] = AMX_ROWS, [6] = AMX_ROWS },
		.colsb = { [0] = AMX_STEP, [4] = AMX_STEP, [6] = AMX_STEP },
	};

	amx_settle(&c);
	_tile_loadconfig(&c);
}

V_INLINE void sums_of(const struct grouped_call *g, const uint8_t *a, const uint8_t *b,
		      uint8_t *sums, const enum amx_type type)
{
	uint32_t w;

	_tile_zero(0);
	for (w = 0; w < g->words; w += AMX_ROWS) {
		_tile_loadd(4, a + 4ul * w, g->a_row);
		_tile_loadd(6, b + 8ul * VL * w, 8 * VL);
		AMX_DOT(type, 0, 4, 6);
	}
	_tile_stored(0, sums, AMX_STEP);
}

/* What group @i gives; @row: where that of the first row's sum starts. */
V_INLINE void add_group(const struct grouped_call *g, const uint8_t *row, const uint8_t *sums,
			const float *scale, const float *min, vf total[AMX_ROWS],
			const enum amx_type type)
{
	const ptrdiff_t to_scale = g->a_scale ? g->a_scale - g->a_sum : 0;
	const ptrdiff_t to_min = min ? g->a_min - g->a_sum : 0;
	const vf s = v_load(scale);

#pragma GCC unroll 16
	for (uint32_t r = 0; r < AMX_ROWS; r++, row += g->a_row) {
		const vi sum = vi_load(sums + AMX_STEP * r);
		const vf f = g->a_scale ? v_mul(s, v_word(row + to_scale)) : s;

		total[r] = v_fma(type == AMX_BF16 ? v_of(sum) :
				 v_of_ints(vi_add(sum, vi_word(row))), f, total[r]);
		if (min)
			total[r] = v_fma(v_word(row + to_min), v_load(min), total[r]);
	}
}

/* 16 rows by vector @v of columns, all groups. */
V_INLINE void tile(const struct grouped_call *g, const uint8_t *a, const uint8_t *a_sum, float *c,
		   uint32_t v, bool mins, const enum amx_type type)
{
	uint8_t sums[ROOM][AMX_ROWS][AMX_STEP] __attribute__((aligned(64)));
	const uint8_t *b = g->b + v * 4ul * VL;
	vf total[AMX_ROWS];
	uint32_t i;

#pragma GCC unroll 16
	for (uint32_t r = 0; r < AMX_ROWS; r++)
		total[r] = g->accumulate ? v_load(c + r * g->c_row) : v_set(0);
	for (i = 0; i < g->groups + AHEAD; i++) {
		if (i < g->groups)
			sums_of(g, a + 4ul * g->words * i, b + 8ul * VL * g->words * i,
				sums[i % ROOM][0], type);
		if (i >= AHEAD) {
			const uint32_t done = i - AHEAD, at = (2 * done + v) * VL;

			add_group(g, a_sum + 4ul * done, sums[done % ROOM][0], g->b_scale + at,
				  mins ? g->b_min + at : NULL, total, type);
		}
	}
#pragma GCC unroll 16
	for (uint32_t r = 0; r < AMX_ROWS; r++)
		v_store(c + r * g->c_row, total[r]);
}

V_INLINE void tiles(const struct grouped_call *g, uint32_t m, const enum amx_type type)
{
	uint32_t i, v;

	configure();
	amx_settle(g->b);
	for (i = 0; i < m; i += AMX_ROWS)
		for (v = 0; v < 2; v++) {
			const uint8_t *a = g->a + i * g->a_row, *sum = g->a_sum + i * g->a_row;
			float *c = g->c + i * g->c_row + v * VL;

			if (g->b_min)
				tile(g, a, sum, c, v, true, type);
			else
				tile(g, a, sum, c, v, false, type);
		}
	_tile_release();
}

void grouped_tiles_amx(const struct grouped_call *g, uint32_t m, bool bf16)
{
	if (bf16)
		tiles(g, m, AMX_BF16);
	else
		tiles(g, m, AMX_SU);
}
