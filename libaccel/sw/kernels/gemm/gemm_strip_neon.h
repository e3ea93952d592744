/* SPDX-License-Identifier: MIT */
/*
 * Template of the NEON strip kernels. The file that includes it defines, and undefines
 * before it includes it again:
 *
 *	STRIP		name of the function
 *	GROUP		elements of K in a group
 *	VEC		vector of four accumulators
 *	LOAD_C(p), STORE_C(p, v), SPLAT(w)	accumulators; a word in each
 *	B_TYPE, LOAD_B(p)	16 columns of B: four vectors in an array b of one
 *	A_TYPE, LOAD_A(p), PART_A(w)	a group of A; from a word
 *	STEP(acc, b, j, a)	accumulators of columns 4 j to 4 j + 3 += a x b
 *	B_MASKED	B may end with the last column
 *
 * Register tile: 6 rows by 16 columns, 24 accumulators, four vectors of B and one of
 * A: 10 loads for 24 multiply-adds, whose operand from A is a lane.
 */
#ifndef FAST_GEMM_STRIP_NEON_H
#define FAST_GEMM_STRIP_NEON_H

#include <string.h>

#define NEON_MR		6u
#define NEON_N		16u
#define NEON_INLINE	static inline __attribute__((always_inline))

/* An incomplete group of K, padded with zeros. */
NEON_INLINE uint32_t neon_part(const char *p, uint32_t bytes)
{
	uint32_t w = 0;

	memcpy(&w, p, bytes);
	return w;
}

#endif

#define NEON_NAME_(a, b)	a##_##b
#define NEON_NAME(a, b)		NEON_NAME_(a, b)
#define NEON_TILE		NEON_NAME(STRIP, tile)
#define NEON_ROWS		NEON_NAME(STRIP, rows)

NEON_INLINE void NEON_TILE(const struct fast_gemm_strip *s, const char *a, const char *b, char *c,
			   const int32_t *init, uint32_t n, const uint32_t mr, const bool masked)
{
	const int64_t ms = s->a_ms, ks = s->a_ks;
	uint32_t groups = s->k / GROUP, i, j;
	uint8_t edge[64] = { 0 };
	VEC acc[NEON_MR][4];

#pragma GCC unroll 6
	for (i = 0; i < mr; i++) {
		const char *from = c + i * s->c_ms;

		if (s->accumulate && n < NEON_N) {
			memcpy(edge, from, 4ul * n);
			from = (const char *)edge;
		}
#pragma GCC unroll 4
		for (j = 0; j < 4; j++)
			acc[i][j] = s->accumulate ? LOAD_C(from + 16 * j) :
				    SPLAT(init ? init[i] : 0);
	}
	for (; groups; groups--, a += ks, b += s->b_ks) {
		const char *from = b;
		B_TYPE vb;

		if (masked) {
			memcpy(edge, b, 4ul * n);
			from = (const char *)edge;
		}
		vb = LOAD_B(from);
#pragma GCC unroll 6
		for (i = 0; i < mr; i++) {
			const A_TYPE va = LOAD_A(a + i * ms);

#pragma GCC unroll 4
			for (j = 0; j < 4; j++)
				acc[i][j] = STEP(acc[i][j], vb, j, va);
		}
	}
	if (GROUP > 1 && s->k % GROUP) {
		const B_TYPE vb = LOAD_B(b);

#pragma GCC unroll 6
		for (i = 0; i < mr; i++) {
			const A_TYPE va = PART_A(neon_part(a + i * ms, s->k % GROUP * (4 / GROUP)));

#pragma GCC unroll 4
			for (j = 0; j < 4; j++)
				acc[i][j] = STEP(acc[i][j], vb, j, va);
		}
	}
#pragma GCC unroll 6
	for (i = 0; i < mr; i++) {
		char *to = n < NEON_N ? (char *)edge : c + i * s->c_ms;

#pragma GCC unroll 4
		for (j = 0; j < 4; j++)
			STORE_C(to + 16 * j, acc[i][j]);
		if (n < NEON_N)
			memcpy(c + i * s->c_ms, edge, 4ul * n);
	}
}

NEON_INLINE void NEON_ROWS(const struct fast_gemm_strip *s, const char *b, char *c, uint32_t n,
			   const bool masked)
{
	const int32_t *init = s->init;
	const char *a = s->a;
	uint32_t left = s->m;

	while (left >= NEON_MR) {
		NEON_TILE(s, a, b, c, init, n, NEON_MR, masked);
		a += NEON_MR * s->a_ms;
		c += NEON_MR * s->c_ms;
		init += init ? NEON_MR : 0;
		left -= NEON_MR;
	}
	switch (left) {
	case 5:
		NEON_TILE(s, a, b, c, init, n, 5, masked);
		break;
	case 4:
		NEON_TILE(s, a, b, c, init, n, 4, masked);
		break;
	case 3:
		NEON_TILE(s, a, b, c, init, n, 3, masked);
		break;
	case 2:
		NEON_TILE(s, a, b, c, init, n, 2, masked);
		break;
	case 1:
		NEON_TILE(s, a, b, c, init, n, 1, masked);
		break;
	default:
		break;
	}
}

void STRIP(const struct fast_gemm_strip *s)
{
	uint32_t v;

	for (v = 0; v * NEON_N < s->n; v++) {
		const uint32_t n = s->n - v * NEON_N < NEON_N ? s->n - v * NEON_N : NEON_N;
		char *c = (char *)s->c + v * 4 * NEON_N;

		if (B_MASKED && s->b_masked && n < NEON_N)
			NEON_ROWS(s, s->b[v], c, n, true);
		else
			NEON_ROWS(s, s->b[v], c, n, false);
	}
}

#undef STRIP
#undef GROUP
#undef VEC
#undef LOAD_C
#undef STORE_C
#undef SPLAT
#undef B_TYPE
#undef LOAD_B
#undef A_TYPE
#undef LOAD_A
#undef PART_A
#undef STEP
#undef B_MASKED
