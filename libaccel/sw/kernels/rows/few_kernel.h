/* SPDX-License-Identifier: MIT */
/*
 * Products of few rows by weights that are not packed, for any vector length; included after
 * vec256.h or vec512.h with FEW_TABLE defined.
 *
 * Contiguous along N: four rows of B at a time are added to the sums, which stay in the
 * first-level cache; a vector of B is loaded once, and a sum once for four multiply-adds.
 * Contiguous along K: columns are dot products, and a vector of A is loaded once for up to four
 * of them. Both prefetch in software: the hardware prefetcher does not follow from one row or
 * column of B to the next.
 */
#ifndef LIBACCEL_SW_FAST_FEW_KERNEL_H
#define LIBACCEL_SW_FAST_FEW_KERNEL_H

#include "few.h"
#include "magic.h"
#include "libaccel/sw/kernels/vec/special.h"

/* Rows of B that are added at once */
#define DEEP	4u
/* Prefetch distance in a column, in bytes */
#define AHEAD	1024
/* Minimum distance of columns that are prefetched, in bytes */
#define FAR	8192

V_INLINE size_t few_bytes(enum few_type type)
{
	return type == FEW_F32 ? 4 : 2;
}

V_INLINE vf few_load(enum few_type type, const void *p)
{
	return type == FEW_F32 ? v_load(p) : type == FEW_BF16 ? v_load_bf16(p) : v_load_f16(p);
}

/* A vector of columns: @deep elements of K of all rows */
V_INLINE void few_add(const struct few_call *g, enum few_type type, uint32_t m, uint32_t deep,
		      uint32_t k, const uint8_t *const b[DEEP], size_t at, float *c)
{
	vf x[DEEP];
	uint32_t i, u;

#pragma GCC unroll 4
	for (u = 0; u < deep; u++)
		x[u] = few_load(type, b[u] + at);
#pragma GCC unroll 8
	for (i = 0; i < m; i++) {
		vf sum = v_load(c + i * g->c_row);

#pragma GCC unroll 4
		for (u = 0; u < deep; u++)
			sum = v_fma(v_word(g->a[i] + k + u), x[u], sum);
		v_store(c + i * g->c_row, sum);
	}
}

V_INLINE void few_deep(const struct few_call *g, enum few_type type, uint32_t m, uint32_t deep,
		       uint32_t k)
{
	const size_t size = few_bytes(type);
	const bool more = k + 2 * DEEP <= g->k;
	uint8_t end[DEEP][VL * 4];
	const uint8_t *b[DEEP], *rest[DEEP];
	uint32_t j, u;

#pragma GCC unroll 4
	for (u = 0; u < deep; u++)
		b[u] = g->b + (k + u) * g->step;
	for (j = 0; j + VL <= g->n; j += VL) {
		few_add(g, type, m, deep, k, b, j * size, g->c + j);
#pragma GCC unroll 4
		for (u = 0; u < deep && more; u++)
			__builtin_prefetch(b[u] + DEEP * g->step + j * size);
	}
	if (j == g->n)
		return;
	memset(end, 0, sizeof(end));
	for (u = 0; u < deep; u++) {
		memcpy(end[u], b[u] + j * size, (g->n - j) * size);
		rest[u] = end[u];
	}
	few_add(g, type, m, deep, k, rest, 0, g->c + j);
}

SPECIAL void few_along_n(const struct few_call *g, enum few_type type, uint32_t m)
{
	uint32_t k;

	for (k = 0; k + DEEP <= g->k; k += DEEP)
		few_deep(g, type, m, DEEP, k);
	for (; k < g->k; k++)
		few_deep(g, type, m, 1, k);
}

/* A vector along K */
V_INLINE void few_dot_step(enum few_type type, uint32_t m, uint32_t nv, const float *const *a,
			   size_t a_at, const uint8_t *const *b, size_t b_at, vf sum[][FEW_ROWS])
{
	vf x[4];
	uint32_t i, j;

#pragma GCC unroll 4
	for (j = 0; j < nv; j++)
		x[j] = few_load(type, b[j] + b_at);
#pragma GCC unroll 8
	for (i = 0; i < m; i++) {
		const vf y = v_load(a[i] + a_at);

#pragma GCC unroll 4
		for (j = 0; j < nv; j++)
			sum[j][i] = v_fma(y, x[j], sum[j][i]);
	}
}

/* @nv columns from column @n on */
V_INLINE void few_dots(const struct few_call *g, enum few_type type, uint32_t m, uint32_t nv,
		       uint32_t n)
{
	const size_t size = few_bytes(type);
	const uint8_t *b[4], *b_end[4];
	float a_rest[FEW_ROWS][VL];
	const float *a_end[FEW_ROWS];
	uint8_t b_rest[4][VL * 4];
	vf sum[4][FEW_ROWS];
	int64_t ahead = nv * g->step;
	uint32_t i, j, k;

	/* Prefetch the columns that follow these; for long columns, what follows in them. */
	if (ahead <= 0 || ahead > 4 * FAR)
		ahead = AHEAD;
	else
		ahead *= (FAR - 1) / ahead + 1;
#pragma GCC unroll 4
	for (j = 0; j < nv; j++) {
		b[j] = g->b + (int64_t)(n + j) * g->step;
#pragma GCC unroll 8
		for (i = 0; i < m; i++)
			sum[j][i] = v_set(0);
	}
	for (k = 0; k + VL <= g->k; k += VL) {
		few_dot_step(type, m, nv, g->a, k, b, k * size, sum);
#pragma GCC unroll 4
		for (j = 0; j < nv; j++)
			__builtin_prefetch(b[j] + k * size + ahead);
	}
	if (k < g->k) {
		memset(a_rest, 0, sizeof(a_rest));
		memset(b_rest, 0, sizeof(b_rest));
		for (i = 0; i < m; i++) {
			memcpy(a_rest[i], g->a[i] + k, (g->k - k) * 4ul);
			a_end[i] = a_rest[i];
		}
		for (j = 0; j < nv; j++) {
			memcpy(b_rest[j], b[j] + k * size, (g->k - k) * size);
			b_end[j] = b_rest[j];
		}
		few_dot_step(type, m, nv, a_end, 0, b_end, 0, sum);
	}
#pragma GCC unroll 4
	for (j = 0; j < nv; j++)
#pragma GCC unroll 8
		for (i = 0; i < m; i++)
			g->c[i * g->c_row + n + j] = v_total(sum[j][i]);
}

/* Sums of as many columns as there are registers for */
SPECIAL void few_along_k(const struct few_call *g, enum few_type type, uint32_t m)
{
	const uint32_t nv = m * 4 <= VL ? 4 : m * 2 <= VL ? 2 : 1;
	uint32_t n;

	for (n = 0; n + nv <= g->n; n += nv)
		few_dots(g, type, m, nv, n);
	for (; n < g->n; n++)
		few_dots(g, type, m, 1, n);
}

#define FEW_FN(type, m)								\
	static void few_n_##type##_##m(const struct few_call *g)		\
	{									\
		few_along_n(g, FEW_##type, m);					\
	}									\
	static void few_k_##type##_##m(const struct few_call *g)		\
	{									\
		few_along_k(g, FEW_##type, m);					\
	}
#define FEW_FNS(type)	FEW_FN(type, 1) FEW_FN(type, 2) FEW_FN(type, 4) FEW_FN(type, 8)
#define FEW_LIST(o, type)							\
	{ few_##o##_##type##_1, few_##o##_##type##_2, few_##o##_##type##_4, few_##o##_##type##_8 }
#define FEW_PAIR(type)	{ FEW_LIST(n, type), FEW_LIST(k, type) }

FEW_FNS(F32)
FEW_FNS(BF16)
FEW_FNS(F16)

#include "few_blocks.h"
#include "few_lines.h"

const struct few_kernels FEW_TABLE = {
	.vl = VL,
	.fn = {
		FEW_PAIR(F32), FEW_PAIR(BF16), FEW_PAIR(F16), FEW_ALONG(l, NIBBLES),
		FEW_ALONG(l, Q4_0), FEW_ALONG(l, Q4_1), FEW_ALONG(b, Q8_0), FEW_ALONG(b, Q4_K),
		FEW_ALONG(b, Q6_K),
	},
};

#endif /* LIBACCEL_SW_FAST_FEW_KERNEL_H */
