/* SPDX-License-Identifier: MIT */
/*
 * The products of attn_kern.h with AMX tiles, for bf16. What the other kernels have
 * is what tiles want already: the rows of a group lie turned, pair by pair of
 * elements, and so do weights, pair by pair of keys: either is B. A are keys as
 * they are loaded, and values turned, so that an element has its keys side by
 * side. All tiles have 16 rows of 64 bytes; what is not there is zeros.
 *
 * 32 rows of A by 32 lanes at once: four tile loads for four products (amx_block.h).
 * Seen on one core of an Emerald Rapids, 128 keys by 32 rows, heads of 64, all in
 * caches: 1000 cycles for the scores and the largest of each row, 1400 for the
 * exponentials and 690 for the values; either product is 512 of tiles alone. One
 * after the other, with nothing near any more, they take 3600 to 4400.
 */
#include "libaccel/sw/kernels/vec/amx_block.h"

/* Largest scores that are found side by side */
#define TOPS		4u
/* The first weights are 2^-LAG, so that larger ones need not change sums soon */
#define LAG		8

static void tiles_open(void)
{
	amx_configure(AMX_ROWS, AMX_ROWS);
}

static void tiles_close(void)
{
	_tile_release();
}

/* 32 rows of A, or 16, by all lanes of a group; @steps pieces of 64 bytes. */
V_INLINE void tiles_product(const uint32_t *a, uint32_t lda, uint32_t m, const void *b,
			    uint32_t steps, float *c, const uint32_t nv, const int load)
{
	const uint8_t *from = (const uint8_t *)a, *lanes = b;
	const int64_t ld = nv * AMX_STEP, a_ms = 4 * (int64_t)lda;
	const struct amx_panels p = {
		from, from + AMX_ROWS * a_ms, lanes, lanes + AMX_STEP, a_ms, ld
	};

	if (m > AMX_ROWS)
		amx_block(p, steps, NULL, (uint8_t *)c, ld, load, AMX_BF16, 1, nv > 1);
	else
		amx_block(p, steps, NULL, (uint8_t *)c, ld, load, AMX_BF16, 0, nv > 1);
}

/* Keys get their scales. */
V_INLINE void tiles_scale(const struct attn_group *g, uint32_t j, uint32_t end, const uint32_t nv)
{
	float *s = g->s + (size_t)j * nv * VL;
	uint32_t v;

	for (; j < end; j++)
		for (v = 0; v < nv; v++, s += VL)
			v_store(s, v_mul(v_load(s), v_set(g->kscale[j])));
}

/* The largest scores of up to @n keys, in as many parts as hide how long a maximum takes. */
V_INLINE void tiles_top(const struct attn_group *g, uint32_t j, uint32_t n, vf top[TOPS][NV],
			const uint32_t nv)
{
	const uint32_t end = UMA_MIN(j + n, g->nk);
	const float *s = g->s + (size_t)j * nv * VL;
	uint32_t i, v;

	if (g->kscale)
		tiles_scale(g, j, end, nv);
	for (; j + TOPS <= end; j += TOPS)
#pragma GCC unroll 4
		for (i = 0; i < TOPS; i++)
#pragma GCC unroll 2
			for (v = 0; v < nv; v++, s += VL)
				top[i][v] = v_max(top[i][v], v_load(s));
	for (; j < end; j++)
#pragma GCC unroll 2
		for (v = 0; v < nv; v++, s += VL)
			top[0][v] = v_max(top[0][v], v_load(s));
}

/* What tiles have just stored takes its time: the largest are found one step later. */
V_INLINE void scores_nv(const struct attn_group *g, const uint32_t nv)
{
	const uint32_t step = 2 * AMX_ROWS;
	vf top[TOPS][NV];
	uint32_t j, i, v;

#pragma GCC unroll 4
	for (i = 0; i < TOPS; i++)
#pragma GCC unroll 2
		for (v = 0; v < nv; v++)
			top[i][v] = v_set(MINUS_INF);
	amx_settle(g->k);
	for (j = 0; j < g->nk; j += step) {
		tiles_product(g->k + (size_t)j * g->ldk, g->ldk, g->nk - j, g->q, g->kw / VL,
			      g->s + (size_t)j * nv * VL, nv, 0);
		if (j)
			tiles_top(g, j - step, step, top, nv);
	}
	tiles_top(g, j - step, step, top, nv);
#pragma GCC unroll 2
	for (v = 0; v < nv; v++)
		v_store(g->top + v * VL, v_max(v_max(top[0][v], top[1][v]),
					       v_max(top[2][v], top[3][v])));
}

/* Before weights are made: tiles would wait for what is just being stored. */
V_INLINE void tiles_rescale(const struct attn_group *g, const uint32_t nv)
{
	const size_t ld = nv * VL;
	uint32_t e, v;

	for (v = 0; v < ld; v += VL) {
		const vf factor = v_load(g->rescale + v);

		if (v_equal(factor, v_set(1)) == 0xffff)
			continue;
		for (e = 0; e < g->dv; e++)
			v_store(g->o + e * ld + v, rescaled(v_load(g->o + e * ld + v), factor));
	}
}

V_INLINE void values_nv(const struct attn_group *g, const uint32_t nv)
{
	const uint32_t steps = (uint32_t)uma_divup(g->nk, 2 * VL), pairs = (g->nk + 1) / 2;
	const size_t ld = nv * VL;
	uint32_t e;

	memset(g->s + pairs * ld, 0, 4 * (steps * VL - pairs) * ld);
	amx_settle(g->s);
	for (e = 0; e < g->dv; e += 2 * AMX_ROWS)
		tiles_product(g->v + (size_t)e * g->ldv, g->ldv, g->dv - e, g->s, steps,
			      g->o + e * ld, nv, 1);
}

static void scores(const struct attn_group *g)
{
	if (g->nv == 2)
		scores_nv(g, 2);
	else
		scores_nv(g, 1);
}

/*
 * Sums that lie in memory are not multiplied for the sake of a largest score that is a little
 * larger: what is subtracted from scores is up to LAG powers of 2 above the largest. No weight
 * exceeds 1, so sums are finite wherever those of the definition are.
 */
V_INLINE vf tiles_shift(vf most, vf old, float c)
{
	return v_if_less(old, most, v_add(most, v_set(LAG / c)), old);
}

static void values(const struct attn_group *g)
{
	if (g->nv == 2)
		values_nv(g, 2);
	else
		values_nv(g, 1);
}
