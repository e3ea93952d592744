/* SPDX-License-Identifier: MIT */
/*
 * Shared code of the 256-bit strip kernels: blocks of rows by vectors of 16 columns. Missing
 * columns are handled with a copy on the stack.
 */
#ifndef LIBACCEL_SW_FAST_GEMM_AVX2_H
#define LIBACCEL_SW_FAST_GEMM_AVX2_H

#include <immintrin.h>
#include <string.h>
#include "gemm_isa.h"

#define INLINE		static inline __attribute__((always_inline))

/* Maximum number of rows of a block */
#define ROWS_MAX	6

/**
 * typedef tile_fn - a number of rows by 16 columns
 * @s: strip
 * @a: first row of A
 * @b: columns of B
 * @c: accumulators, always 16 columns
 * @c_ms: bytes from row to row
 * @init: initial values of the sums of each row, or NULL
 */
typedef void (*tile_fn)(const struct fast_gemm_strip *s, const char *a, const char *b, char *c,
			int64_t c_ms, const int32_t *init);

static void block(const struct fast_gemm_strip *s, tile_fn tile, uint32_t r, uint32_t mr,
		  const char *b, char *c, uint32_t n)
{
	const char *a = (const char *)s->a + r * s->a_ms;
	const int32_t *init = s->init ? s->init + r : NULL;
	char tmp[ROWS_MAX * 64] __attribute__((aligned(32)));
	uint32_t i;

	c += r * s->c_ms;
	if (n == 16) {
		tile(s, a, b, c, s->c_ms, init);
		return;
	}
	memset(tmp, 0, sizeof(tmp));
	for (i = 0; i < mr && s->accumulate; i++)
		memcpy(tmp + i * 64, c + i * s->c_ms, n * 4);
	tile(s, a, b, tmp, 64, init);
	for (i = 0; i < mr; i++)
		memcpy(c + i * s->c_ms, tmp + i * 64, n * 4);
}

/*
 * @tiles: kernels for one row, two, and so on up to @most. @b_masked is not supported: on these
 *	CPUs B is always packed.
 */
static void strip(const struct fast_gemm_strip *s, const tile_fn *tiles, uint32_t most)
{
	uint32_t j, r, mr, left;

	for (j = 0; j < s->n; j += 16) {
		left = (s->m + most - 1) / most;
		for (r = 0; left; left--, r += mr) {
			mr = (s->m - r + left - 1) / left;
			block(s, tiles[mr - 1], r, mr, s->b[j / 16], (char *)s->c + j * 4,
			      s->n - j < 16 ? s->n - j : 16);
		}
	}
}

#endif /* LIBACCEL_SW_FAST_GEMM_AVX2_H */
