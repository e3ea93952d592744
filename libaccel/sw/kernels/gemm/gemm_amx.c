// SPDX-License-Identifier: MIT
/*
 * Strips of bf16 and of bytes with AMX; amx_block.h has the loops.
 *
 * A tile register needs 64 contiguous bytes of a row. The 512-bit kernels are used if A is not
 * contiguous, and if configuring the tiles would cost more than it gains. AMX supports bytes of
 * any signedness, so there are two additional kinds whose sums need no correction.
 *
 * There is no kernel for binary16: AVX512-FP16 accumulates in binary16, whose unit roundoff is
 * 2^13 times that of the specified sums, and converting to binary32 only needs F16C.
 */
#include "libaccel/sw/kernels/vec/amx_block.h"
#include "gemm_kernel.h"
#include "gemm_isa.h"

/* Minimum number of products for a column: a configuration takes 75 ns (measured). */
#define AMX_LEAST	1024u
/* Minimum K for bf16: that of a tile. */
#define AMX_DEEP	32u
/* Bytes of K at once: this part of two panels stays in L1 with rows of A. */
#define AMX_KC		1024u
/* The same for A that is copied */
#define AMX_APART	256u
/* Rows at a time of an incomplete panel. */
#define AMX_EDGE_ROWS	32u

static inline __attribute__((always_inline))
void run_type(const struct amx_product *g, int type)
{
	if (g->panels && g->m)
		amx_product_of(g, type);
}

/* The last @cols columns, fewer than a panel, copied first. */
static inline __attribute__((always_inline))
void edge_columns(const struct fast_gemm_strip *s, struct amx_product g, uint32_t cols, int type)
{
	uint8_t sums[AMX_EDGE_ROWS][AMX_STEP] __attribute__((aligned(64)));
	const uint32_t panel = s->n / 16;
	uint32_t i, r;

	g.b = s->b[panel];
	g.c_ms = AMX_STEP;
	g.panels = 1;
	for (r = 0; r < s->m; r += AMX_EDGE_ROWS) {
		uint8_t *c = (uint8_t *)s->c + r * s->c_ms + (uint64_t)panel * AMX_STEP;

		g.m = s->m - r < AMX_EDGE_ROWS ? s->m - r : AMX_EDGE_ROWS;
		g.a = (const uint8_t *)s->a + r * s->a_ms;
		g.c = sums[0];
		if (g.accumulate)
			for (i = 0; i < g.m; i++)
				memcpy(sums[i], c + i * s->c_ms, 4ul * cols);
		amx_product_of(&g, type);
		for (i = 0; i < g.m; i++)
			memcpy(c + i * s->c_ms, sums[i], 4ul * cols);
	}
}

static void fill_init(const struct fast_gemm_strip *s)
{
	uint32_t i, j;

	for (i = 0; i < s->m; i++) {
		int32_t *c = (int32_t *)((uint8_t *)s->c + i * s->c_ms);

		for (j = 0; j < s->n; j++)
			c[j] = s->init[i];
	}
}

static inline __attribute__((always_inline))
void strip(const struct fast_gemm_strip *s, uint32_t bytes, int type)
{
	const struct amx_product g = {
		.a = s->a,
		.a_ms = s->a_ms,
		.b = s->b[0],
		.b_ks = s->b_ks,
		.b_odd = s->n > 16 ? (const uint8_t *)s->b[1] - (const uint8_t *)s->b[0] : 0,
		.c = s->c,
		.c_ms = s->c_ms,
		.m = s->m,
		.panels = s->n / 16,
		.k = bytes,
		.kc = AMX_KC,
		.accumulate = s->accumulate || s->init,
	};

	if (s->init)
		fill_init(s);
	run_type(&g, type);
	if (s->n % 16)
		edge_columns(s, g, s->n % 16, type);
	_tile_release();
}

/* K is 0: the result is the initial value of the sums. */
static void no_products(const struct fast_gemm_strip *s)
{
	uint32_t i;

	if (s->init)
		fill_init(s);
	else if (!s->accumulate)
		for (i = 0; i < s->m; i++)
			memset((uint8_t *)s->c + i * s->c_ms, 0, 4ul * s->n);
}

/* If groups of A are not contiguous, copy A piece by piece: for kinds without another kernel. */
static inline __attribute__((always_inline))
void strip_apart(const struct fast_gemm_strip *s, int type)
{
	uint8_t a[2 * AMX_ROWS][AMX_APART] __attribute__((aligned(64)));
	struct fast_gemm_strip part = *s;
	uint32_t k0, r, i, k;

	part.a = a[0];
	part.a_ms = AMX_APART;
	part.init = NULL;
	if (!s->accumulate)
		no_products(s);
	part.accumulate = true;
	for (k0 = 0; k0 < s->k; k0 += AMX_APART) {
		part.k = s->k - k0 < AMX_APART ? s->k - k0 : AMX_APART;
		for (i = 0; i < 2; i++)
			part.b[i] = s->n > 16 * i ? (const uint8_t *)s->b[i] + k0 / 4 * s->b_ks :
						    NULL;
		for (r = 0; r < s->m; r += 2 * AMX_ROWS) {
			part.m = s->m - r < 2 * AMX_ROWS ? s->m - r : 2 * AMX_ROWS;
			for (i = 0; i < part.m; i++) {
				const uint8_t *from = (const uint8_t *)s->a + (r + i) * s->a_ms +
						      k0 / 4 * s->a_ks;

				for (k = 0; k < part.k; k += 4, from += s->a_ks)
					memcpy(a[i] + k, from, part.k - k < 4 ? part.k - k : 4);
			}
			part.c = (uint8_t *)s->c + r * s->c_ms;
			strip(&part, part.k, type);
		}
	}
}

static bool suits(const struct fast_gemm_strip *s)
{
	return s->a_ks == 4 && (uint64_t)s->m * s->k >= AMX_LEAST;
}

/*
 * AMX and the 512-bit kernels sum in different orders, so the choice must not depend on the
 * number of rows: bits of a row would.
 */
void fast_gemm_bf16_amx(const struct fast_gemm_strip *s)
{
	if (s->a_ks == 4 && s->k >= AMX_DEEP)
		strip(s, 2 * s->k, AMX_BF16);
	else
		fast_gemm_bf16_avx512(s);
}

/* With @flip, B has the signedness of A, and the sums must be off as specified. */
void fast_gemm_i8s_amx(const struct fast_gemm_strip *s)
{
	if (suits(s) && !s->flip)
		strip(s, s->k, AMX_SU);
	else
		fast_gemm_i8s_avx512(s);
}

void fast_gemm_i8u_amx(const struct fast_gemm_strip *s)
{
	if (suits(s) && !s->flip)
		strip(s, s->k, AMX_US);
	else
		fast_gemm_i8u_avx512(s);
}

void fast_gemm_i8ss_amx(const struct fast_gemm_strip *s)
{
	if (!s->k)
		no_products(s);
	else if (s->a_ks == 4)
		strip(s, s->k, AMX_SS);
	else
		strip_apart(s, AMX_SS);
}

void fast_gemm_i8uu_amx(const struct fast_gemm_strip *s)
{
	if (!s->k)
		no_products(s);
	else if (s->a_ks == 4)
		strip(s, s->k, AMX_UU);
	else
		strip_apart(s, AMX_UU);
}
