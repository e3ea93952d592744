/* SPDX-License-Identifier: MIT */
/*
 * The block product of conv_kernel.h with 512-bit registers, for a type: the file
 * that includes this says what a step is.
 *
 *	CONV_VEC		accumulators and operands; conv_row_sums: four of them
 *	CONV_BCAST(p)		32 bits of A in all lanes
 *	CONV_LOAD(p), CONV_LOAD_MASK(m, p)	a vector of B
 *	CONV_STEP(acc, a, b)	acc + a * b
 *	CONV_STORE(p, acc)
 *	CONV_TAIL(a, m)		bits @m of A; where sums may end within a step
 *	CONV_START(g, row, i, n)	what the sums of an output start from; @row: row_add
 *	CONV_END(g, to, res, acc, mr, nv)	the end, of type bool
 *	CONV_ENDS		kinds of ends
 *	CONV_HAS_ACT		function for &struct conv_kernels.has_act; may be missing
 *	CONV_TABLE		the table
 *
 * 14 outputs by 2 vectors: 16 loads for 28 products; 7 by 4: 11 loads for 28. Both
 * leave the load ports, two a cycle like the products, a third of their time. The
 * inputs of the outputs are reached from every third one, so that 14 rows take
 * five registers. Blocks follow each other in here: so the end of one is done while
 * the next one multiplies.
 *
 * What weights come after these is asked for meanwhile, half of the vectors a step, by the
 * first two of the blocks that share weights: a block that had to wait for weights of the
 * last level would take twice the time.
 */
#include <stdbool.h>
#include "conv_kernel.h"
#include "libaccel/sw/kernels/vec/special.h"

#ifdef CONV_TAIL
#define CONV_HAS_TAIL		1
#else
#define CONV_HAS_TAIL		0
#define CONV_TAIL(a, m)		(a)
#endif

/* Prefetch distance in a block's own weights, in bytes: the latency of the last-level cache. */
#define CONV_AHEAD	2048

#define ALWAYS static inline __attribute__((always_inline))

/* Pairs of 16 bits and groups of four bytes are not aligned. */
typedef float conv_float __attribute__((aligned(1), may_alias, unused));
typedef int32_t conv_word __attribute__((aligned(1), may_alias, unused));

/* Outputs @from to @to less one. */
ALWAYS void conv_block_steps(const struct conv_block *g, const uint8_t *a, const uint8_t *b,
			     const int64_t steps, const int64_t fetch, conv_row_sums *acc,
			     const uint32_t from, const uint32_t to, const uint32_t nv,
			     const bool tail)
{
	const int64_t ms = g->a_ms, ks = g->b_ks, ns = g->b_ns;
	const uint8_t *a0 = a, *a3 = a + 3 * ms, *a6 = a + 6 * ms, *a9 = a + 9 * ms;
	const uint8_t *a12 = a + 12 * ms;
	const __mmask16 mask = (__mmask16)g->mask;
	int64_t at, end = 4 * steps;
	CONV_VEC bv[4], av;
	uint32_t i, n;

#pragma GCC unroll 2
	for (at = 0; at < end; at += 4) {
#pragma GCC unroll 4
		for (n = 0; n < (nv + 1) / 2; n++)
			_mm_prefetch(b + n * ns + fetch, _MM_HINT_T0);
#pragma GCC unroll 4
		for (n = 0; n < nv; n++)
			bv[n] = n + 1 < nv ? CONV_LOAD(b + n * ns) :
				CONV_LOAD_MASK(mask, b + n * ns);
#pragma GCC unroll 14
		for (i = from; i < to; i++) {
			const uint8_t *r = i < 3 ? a0 : i < 6 ? a3 : i < 9 ? a6 :
					   i < 12 ? a9 : a12;

			av = CONV_BCAST(r + (i % 3) * ms + at);
			if (tail)
				av = CONV_TAIL(av, g->tail);
#pragma GCC unroll 4
			for (n = 0; n < nv; n++)
				acc[i][n] = CONV_STEP(acc[i][n], av, bv[n]);
		}
		b += ks;
	}
}

/*
 * A block; prefetches weights at distance @fetch from its own. @skip: leave out the first
 * output's first column of taps, or the last one's last.
 */
ALWAYS void conv_block_sums(const struct conv_block *g, const uint8_t *ay, const int32_t *row,
			    const int64_t fetch, const uint32_t skip, conv_row_sums *acc,
			    const uint32_t mr, const uint32_t nv)
{
	const int64_t steps = (int64_t)g->k - (CONV_HAS_TAIL && g->tail);
	const uint8_t *by = g->b;
	uint32_t i, n, y, x;

#pragma GCC unroll 14
	for (i = 0; i < mr; i++)
#pragma GCC unroll 4
		for (n = 0; n < nv; n++)
			acc[i][n] = CONV_START(g, row, i, n);
	for (y = 0; y < g->rows; y++, ay += g->a_y, by += g->b_y) {
		const uint8_t *a = ay, *b = by;

		for (x = 0; x < g->cols; x++, a += g->a_x, b += g->b_x)
			if (!x && skip & CONV_SKIP_FIRST)
				conv_block_steps(g, a, b, steps, fetch, acc, 1, mr, nv, false);
			else if (x + 1 == g->cols && skip & CONV_SKIP_LAST)
				conv_block_steps(g, a, b, steps, fetch, acc, 0, mr - 1, nv, false);
			else
				conv_block_steps(g, a, b, steps, fetch, acc, 0, mr, nv, false);
		if (CONV_HAS_TAIL && g->tail)
			conv_block_steps(g, ay + 4 * steps, by + steps * g->b_ks, 1, fetch, acc,
					 0, mr, nv, true);
	}
}

/* Prefetch the residual of a block, which is needed when its sums are complete. */
ALWAYS void conv_block_ask(const struct conv_block *g, const uint8_t *res, const uint32_t mr,
			   const uint32_t nv)
{
	uint32_t i, n;

#pragma GCC unroll 14
	for (i = 0; i < mr; i++, res += g->res_ms)
		for (n = 0; n < nv * g->res_vec; n += 64)
			_mm_prefetch(res + n, _MM_HINT_T0);
}

SPECIAL uint32_t conv_block_do(const struct conv_block *g, const uint32_t mr, const uint32_t nv,
			       const bool skips)
{
	const uint32_t share = (nv + 1) / 2;
	const int32_t *row = g->row_add;
	const uint8_t *a = g->a, *res = g->res;
	uint8_t *to = g->end ? g->dst : g->acc;
	conv_row_sums acc[CONV_MR];
	uint32_t i, n, at;

	for (at = 0; at < g->blocks; at++) {
		const uint32_t part = g->part + at;
		const uint32_t skip = !skips ? 0 : (at ? 0 : g->skip & CONV_SKIP_FIRST) |
				      (at + 1 < g->blocks ? 0 : g->skip & CONV_SKIP_LAST);

		if (res)
			conv_block_ask(g, res, mr, nv);
		conv_block_sums(g, a, row, part < 2 ? g->fetch + part * share * g->b_ns :
				CONV_AHEAD, skip, acc, mr, nv);
		a += mr * g->a_ms;
		if (row)
			row += mr;
		if (g->end) {
			if (!CONV_END(g, to, res, acc, mr, nv))
				return at;
			to += mr * g->dst_ms;
			if (res)
				res += mr * g->res_ms;
			continue;
		}
#pragma GCC unroll 14
		for (i = 0; i < mr; i++)
#pragma GCC unroll 4
			for (n = 0; n < nv; n++)
				CONV_STORE(to + i * g->acc_ms + 64 * n, acc[i][n]);
		to += mr * g->acc_ms;
	}
	return g->blocks;
}

#define CONV_FN(mr, nv)								\
	static uint32_t conv_block_##mr##_##nv(const struct conv_block *g)	\
	{									\
		return conv_block_do(g, mr, nv, false);				\
	}

/* Loops that skip need additional registers, so large blocks have separate functions for that. */
#define CONV_FN_SKIP(mr, nv)							\
	static uint32_t conv_skip_##mr##_##nv(const struct conv_block *g)	\
	{									\
		return conv_block_do(g, mr, nv, true);				\
	}

#define CONV_EACH_7(f, nv)						\
	f(1, nv) f(2, nv) f(3, nv) f(4, nv) f(5, nv) f(6, nv) f(7, nv)
#define CONV_LARGE(f, nv)						\
	f(7, nv) f(8, nv) f(9, nv) f(10, nv) f(11, nv) f(12, nv) f(13, nv) f(14, nv)
#define CONV_EACH_14(f, nv)						\
	CONV_EACH_7(f, nv) f(8, nv) f(9, nv) f(10, nv) f(11, nv) f(12, nv) f(13, nv) f(14, nv)
#define CONV_NAME(mr, nv)	conv_block_##mr##_##nv,
#define CONV_NAME_SKIP(mr, nv)	conv_skip_##mr##_##nv,

CONV_EACH_14(CONV_FN, 1)
CONV_EACH_14(CONV_FN, 2)
CONV_EACH_7(CONV_FN, 4)
CONV_LARGE(CONV_FN_SKIP, 2)
CONV_FN_SKIP(7, 4)

const struct conv_kernels CONV_TABLE = {
	.fn = {
		[0] = { CONV_EACH_14(CONV_NAME, 1) },
		[1] = { CONV_EACH_14(CONV_NAME, 2) },
		[3] = { CONV_EACH_7(CONV_NAME, 4) },
	},
	.skip = {
		[1] = { [CONV_MR4 - 1] = CONV_LARGE(CONV_NAME_SKIP, 2) },
		[3] = { [CONV_MR4 - 1] = CONV_NAME_SKIP(7, 4) },
	},
	.nv = 4,
	.mr = { CONV_MR, CONV_MR, 0, CONV_MR4 },
	.ends = CONV_ENDS,
#ifdef CONV_HAS_ACT
	.has_act = CONV_HAS_ACT,
#endif
};
