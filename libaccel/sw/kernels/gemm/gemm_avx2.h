/* SPDX-License-Identifier: MIT */
/*
 * Template of the 256-bit strip kernels: as gemm_strip.h, six rows by one vector of
 * 16 columns in two registers: 12 accumulators, two of B, one or two of A; 8 loads
 * for 12 multiply-adds. Columns that lack go through memory of the stack.
 */

#define MR		6
#define INLINE		static inline __attribute__((always_inline))

/* A word from anywhere. */
INLINE int32_t load32(const char *p)
{
	int32_t w;

	__builtin_memcpy(&w, p, sizeof(w));
	return w;
}

INLINE int32_t part_group(const char *p)
{
	uint16_t w;

	__builtin_memcpy(&w, p, sizeof(w));
	return w;
}

/* @c: accumulators, 16 columns in any case; @b: 16 columns */
INLINE void strip_tile(const struct fast_gemm_strip *s, const char *a, const char *b, char *c,
		       int64_t c_ms, const int32_t *init, const uint32_t mr)
{
	const char *p0 = a, *p3 = a + 3 * s->a_ms;
	int64_t ms = s->a_ms, ks = s->a_ks, b_ks = s->b_ks;
	uint32_t groups = s->k / GROUP, i;
	VEC acc[MR][2];

#pragma GCC unroll 8
	for (i = 0; i < mr; i++) {
		if (s->accumulate) {
			acc[i][0] = LOAD(c + i * c_ms);
			acc[i][1] = LOAD(c + i * c_ms + 32);
		} else {
			acc[i][0] = INIT(init ? init[i] : 0);
			acc[i][1] = acc[i][0];
		}
	}
	for (; groups; groups--) {
		const VEC v0 = LOAD(b), v1 = LOAD(b + 32);

		__asm__("" : "+r"(ms));
#pragma GCC unroll 8
		for (i = 0; i < mr; i++) {
			const VEC v = BROADCAST((i < 3 ? p0 : p3) +
						(i % 3 ? i % 3 == 1 ? ms : 2 * ms : 0));

			acc[i][0] = STEP(acc[i][0], v, v0);
			acc[i][1] = STEP(acc[i][1], v, v1);
		}
		p0 += ks;
		p3 += ks;
		b += b_ks;
	}
	if (GROUP > 1 && s->k % GROUP) {
		const VEC v0 = LOAD(b), v1 = LOAD(b + 32);

#pragma GCC unroll 8
		for (i = 0; i < mr; i++) {
			const VEC v = SPREAD(part_group((i < 3 ? p0 : p3) + i % 3 * ms));

			acc[i][0] = STEP(acc[i][0], v, v0);
			acc[i][1] = STEP(acc[i][1], v, v1);
		}
	}
#pragma GCC unroll 8
	for (i = 0; i < mr; i++) {
		STORE(c + i * c_ms, acc[i][0]);
		STORE(c + i * c_ms + 32, acc[i][1]);
	}
}

#define TILE(mr)							\
static __attribute__((noinline)) void					\
tile_##mr(const struct fast_gemm_strip *s, const char *a, const char *b, char *c, \
	  int64_t c_ms, const int32_t *init)				\
{									\
	strip_tile(s, a, b, c, c_ms, init, mr);				\
}

TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6)

static void block(const struct fast_gemm_strip *s, uint32_t r, uint32_t mr, const char *b,
		  char *c, uint32_t n)
{
	typedef void (*tile_fn)(const struct fast_gemm_strip *st, const char *a, const char *bp,
				char *cp, int64_t c_ms, const int32_t *init);
	static const tile_fn tiles[MR] = { tile_1, tile_2, tile_3, tile_4, tile_5, tile_6 };
	const char *a = (const char *)s->a + r * s->a_ms;
	const int32_t *init = s->init ? s->init + r : NULL;
	char tmp[MR * 64] __attribute__((aligned(32)));
	uint32_t i;

	c += r * s->c_ms;
	if (n == 16) {
		tiles[mr - 1](s, a, b, c, s->c_ms, init);
		return;
	}
	memset(tmp, 0, sizeof(tmp));
	for (i = 0; i < mr && s->accumulate; i++)
		memcpy(tmp + i * 64, c + i * s->c_ms, n * 4);
	tiles[mr - 1](s, a, b, tmp, 64, init);
	for (i = 0; i < mr; i++)
		memcpy(c + i * s->c_ms, tmp + i * 64, n * 4);
}

/* @b_masked has no form here: whoever packs does it for this CPU too. */
void STRIP(const struct fast_gemm_strip *s)
{
	uint32_t j, r, mr, left;

	for (j = 0; j < s->n; j += 16) {
		left = (s->m + MR - 1) / MR;
		for (r = 0; left; left--, r += mr) {
			mr = (s->m - r + left - 1) / left;
			block(s, r, mr, s->b[j / 16], (char *)s->c + j * 4,
			      s->n - j < 16 ? s->n - j : 16);
		}
	}
}
