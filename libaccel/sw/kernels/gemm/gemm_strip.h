/* SPDX-License-Identifier: MIT */
/*
 * Template of the 512-bit strip kernels. The file that includes it defines:
 *
 *	STRIP		name of the function
 *	GROUP		elements of K in a group
 *	VEC		type of an accumulator vector
 *	ZERO		a vector of zeros
 *	BROADCAST(p)	a group of A in every lane
 *	AVEC, BVEC	types of vectors of A and B
 *	SPREAD(w)	the word w in every lane
 *	STEP(acc, a, b)	acc + a x b
 *	LOAD_B(p, m)	a vector of B; of a masked one the columns of m
 *	LOAD_C(p, m), STORE_C(p, m, v), INIT(s32)
 *	FLIP		if B is turned by flip
 *	JOIN(p, ks, n)	a vector of B from n rows that lie as they are; left out: there
 *			are no strips with keep
 *
 * Register tile: MR rows by two vectors, MR up to 14: 28 accumulators, two vectors
 * of B, and A broadcast from memory: 16 loads for 28 multiply-adds. A strip's rows
 * are cut evenly, so 32 rows are 11 + 11 + 10. Rows are addressed in groups of
 * three from one pointer each, which leaves integer registers for everything.
 *
 * A strip that is packed on the way begins with a tile of FIRST rows, which brings
 * the vectors of B into their form and keeps them for the others: 16 multiply-adds
 * leave room for that.
 */

#ifndef LIBACCEL_SW_FAST_GEMM_STRIP_H
#define LIBACCEL_SW_FAST_GEMM_STRIP_H

#define ALL		((__mmask16)0xffff)
#define MR		14
#define MR_SINGLE	7
#define FIRST		FAST_GEMM_FIRST
#include "libaccel/sw/kernels/vec/special.h"

#define INLINE		static inline __attribute__((always_inline))

/* Unaligned load of a word. */
INLINE int32_t load32(const char *p)
{
	int32_t w;

	__builtin_memcpy(&w, p, sizeof(w));
	return w;
}

/* Row @i: a constant offset after unrolling. */
INLINE const char *row_at(const char *const *p, int64_t ms, uint32_t i)
{
	return p[i / 3] + (i % 3 ? i % 3 == 1 ? ms : 2 * ms : 0);
}

/* An incomplete group of K, padded with zeros. */
INLINE int32_t part_group(const char *p, uint32_t bytes)
{
	uint32_t w = (uint8_t)p[0];

	if (bytes > 1)
		w |= (uint32_t)(uint8_t)p[1] << 8;
	if (bytes > 2)
		w |= (uint32_t)(uint8_t)p[2] << 16;
	return (int32_t)w;
}

#ifdef __AVX512VNNI__
/* The types of the intrinsic make some compilers move every accumulator twice. */
INLINE __m512i dpbusd(__m512i acc, __m512i u, __m512i s)
{
	__asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(u), "v"(s));
	return acc;
}
#endif

#endif /* LIBACCEL_SW_FAST_GEMM_STRIP_H */

#ifdef FLIP
#define TURN(v)		_mm512_xor_si512(v, _mm512_set1_epi8((char)s->flip))
#define TURNED		(s->flip)
#define TURNS		true
#else
#define TURN(v)		(v)
#define TURNED		false
#define TURNS		false
#endif

/* Initial values of the sums. */
#define START_TILE() do {						\
	if (s->accumulate) {						\
		_Pragma("GCC unroll 16")				\
		for (i = 0; i < mr; i++) {				\
			acc[i][0] = LOAD_C(c + i * c_ms, nv == 1 ? mask : ALL); \
			if (nv == 2)					\
				acc[i][1] = LOAD_C(c + i * c_ms + 64, mask); \
		}							\
	} else if (init) {						\
		_Pragma("GCC unroll 16")				\
		for (i = 0; i < mr; i++)				\
			acc[i][0] = acc[i][1] = INIT(init[i]);		\
	} else {							\
		_Pragma("GCC unroll 16")				\
		for (i = 0; i < mr; i++)				\
			acc[i][0] = acc[i][1] = ZERO;			\
	}								\
	_Pragma("GCC unroll 16")					\
	for (i = 0; i < mr; i += 3)					\
		p[i / 3] = a + i * ms;					\
} while (0)

/* A group of K: rows one after the other, as their broadcasts arrive. */
#define PRODUCTS(v0, v1) do {						\
	/* Prevents the compiler from keeping a pointer for every row. */ \
	__asm__("" : "+r"(ms));						\
	_Pragma("GCC unroll 16")					\
	for (i = 0; i < mr; i++) {					\
		const AVEC v = BROADCAST(row_at(p, ms, i));		\
									\
		acc[i][0] = STEP(acc[i][0], v, v0);			\
		if (nv == 2)						\
			acc[i][1] = STEP(acc[i][1], v, v1);		\
	}								\
	_Pragma("GCC unroll 16")					\
	for (i = 0; i < mr; i += 3)					\
		p[i / 3] += ks;						\
} while (0)

/* The last, incomplete group. */
#define PART_PRODUCTS(v0, v1) do {					\
	_Pragma("GCC unroll 16")					\
	for (i = 0; i < mr; i++) {					\
		const AVEC v = SPREAD(part_group(row_at(p, ms, i),	\
						s->k % GROUP * (4 / GROUP))); \
									\
		acc[i][0] = STEP(acc[i][0], v, v0);			\
		if (nv == 2)						\
			acc[i][1] = STEP(acc[i][1], v, v1);		\
	}								\
} while (0)

#define K_STEP(turn) do {						\
	BVEC v0 = LOAD_B(b0, nv == 1 ? mask : ALL), v1 = v0;		\
									\
	if (nv == 2)							\
		v1 = LOAD_B(b1, mask);					\
	PRODUCTS(turn(v0), turn(v1));					\
	b0 += b_ks;							\
	b1 += b_ks;							\
} while (0)
#define AS_IT_IS(v)	(v)

/* One tile: rows from @a and @c on; @next: lines to prefetch, or NULL. */
INLINE void strip_tile(const struct fast_gemm_strip *s, const char *a, char *c, const int32_t *init,
		       const char *next, __mmask16 mask, const uint32_t mr, const uint32_t nv)
{
	const char *p[(MR + 2) / 3], *b0 = s->b[0], *b1 = s->b[nv - 1];
	int64_t ms = s->a_ms, ks = s->a_ks, b_ks = s->b_ks, c_ms = s->c_ms;
	const int64_t next_ks = s->next_ks;
	uint32_t groups = s->k / GROUP, i;
	VEC acc[MR][2];

	START_TILE();
	/* Separate loops: even unused prefetches take time in short sums. */
	if (TURNED) {
		for (; groups; groups--)
			K_STEP(TURN);
	} else if (next) {
		for (; groups; groups--, next += next_ks) {
			_mm_prefetch(next, _MM_HINT_T1);
			K_STEP(AS_IT_IS);
		}
	} else {
		/* By four: the end of a short loop is predicted. */
		for (; groups >= 4; groups -= 4) {
			K_STEP(AS_IT_IS);
			K_STEP(AS_IT_IS);
			K_STEP(AS_IT_IS);
			K_STEP(AS_IT_IS);
		}
		for (; groups; groups--)
			K_STEP(AS_IT_IS);
	}
	if (GROUP > 1 && s->k % GROUP) {
		const BVEC v0 = TURN(LOAD_B(b0, ALL)), v1 = TURN(LOAD_B(b1, ALL));

		PART_PRODUCTS(v0, v1);
	}
	/* Prevents the compiler from keeping row addresses in vector registers all the time. */
	__asm__("" : "+r"(c), "+r"(c_ms));
	/* A later load cannot be forwarded from a masked store. */
	if (mask == ALL) {
#pragma GCC unroll 16
		for (i = 0; i < mr; i++, c += c_ms) {
			_mm512_storeu_si512(c, (__m512i)acc[i][0]);
			if (nv == 2)
				_mm512_storeu_si512(c + 64, (__m512i)acc[i][1]);
		}
		return;
	}
#pragma GCC unroll 16
	for (i = 0; i < mr; i++, c += c_ms) {
		if (nv == 2)
			_mm512_storeu_si512(c, (__m512i)acc[i][0]);
		STORE_C(c + (nv - 1) * 64, mask, acc[i][nv - 1]);
	}
}

/* Prefetch the next rows' accumulators, or the next columns'. */
INLINE void ask_for_c(const struct fast_gemm_strip *s, const char *c, const uint32_t mr, bool last)
{
	const char *p = last ? (const char *)s->c + 128 : c + mr * s->c_ms;
	uint32_t i;

	for (i = 0; i < mr; i++, p += s->c_ms) {
		_mm_prefetch(p, _MM_HINT_T0);
		_mm_prefetch(p + 64, _MM_HINT_T0);
	}
}

/* @count tiles from row @r on, the first of which is the strip's @tile-th. */
SPECIAL void strip_tiles(const struct fast_gemm_strip *s, uint32_t r, uint32_t tile, uint32_t count,
			 __mmask16 mask, const uint32_t mr, const uint32_t nv)
{
	const char *a = (const char *)s->a + r * s->a_ms;
	const int32_t *init = s->init ? s->init + r : NULL;
	char *c = (char *)s->c + r * s->c_ms;

	for (; count; count--, tile++, r += mr) {
		if (s->far)
			ask_for_c(s, c, mr, r + mr >= s->m);
		strip_tile(s, a, c, init, tile < FAST_GEMM_AHEAD ? s->next[tile] : NULL, mask,
			   mr, nv);
		a += mr * s->a_ms;
		c += mr * s->c_ms;
		init = init ? init + mr : NULL;
	}
}

#define TILE(mr, nv)							\
static __attribute__((noinline)) void					\
tile_##mr##_##nv(const struct fast_gemm_strip *s, uint32_t r, uint32_t tile, \
		 uint32_t count, __mmask16 mask)			\
{									\
	strip_tiles(s, r, tile, count, mask, mr, nv);			\
}

TILE(1, 1) TILE(2, 1) TILE(3, 1) TILE(4, 1) TILE(5, 1) TILE(6, 1) TILE(7, 1)
TILE(1, 2) TILE(2, 2) TILE(3, 2) TILE(4, 2) TILE(5, 2) TILE(6, 2) TILE(7, 2)
TILE(8, 2) TILE(9, 2) TILE(10, 2) TILE(11, 2) TILE(12, 2) TILE(13, 2) TILE(14, 2)

typedef void (*tile_fn)(const struct fast_gemm_strip *s, uint32_t r, uint32_t tile, uint32_t count,
			__mmask16 mask);

/* Rows from @r on, divided evenly, larger tiles first; @tile: number of previous tiles. */
static void strip_rows(const struct fast_gemm_strip *s, uint32_t r, uint32_t tile)
{
	static const tile_fn narrow[] = {
		tile_1_1, tile_2_1, tile_3_1, tile_4_1, tile_5_1, tile_6_1, tile_7_1,
	};
	static const tile_fn wide[] = {
		tile_1_2, tile_2_2, tile_3_2, tile_4_2, tile_5_2, tile_6_2, tile_7_2,
		tile_8_2, tile_9_2, tile_10_2, tile_11_2, tile_12_2, tile_13_2, tile_14_2,
	};
	const __mmask16 mask = (__mmask16)(0xffffu >> ((0u - s->n) % 16));
	const tile_fn *fns = s->n > 16 ? wide : narrow;
	const uint32_t most = s->n <= 16 ? MR_SINGLE : s->rows ? s->rows : MR, m = s->m - r;
	const uint32_t tiles = (m + most - 1) / most;
	const uint32_t rows = tiles ? m / tiles : 0, more = m - tiles * rows;

	if (more)
		fns[rows](s, r, tile, more, mask);
	if (tiles > more)
		fns[rows - 1](s, r + more * (rows + 1), tile + more, tiles - more, mask);
}

#ifdef JOIN
/*
 * The first tile of a strip with keep: from unpacked rows of B, or from vectors to which flip
 * is applied.
 */
INLINE void first_tile(const struct fast_gemm_strip *s, const bool join, const bool ask)
{
	const char *p[(FIRST + 2) / 3], *b0 = s->b[0], *b1 = s->b[1], *a = s->a, *raw = s->raw;
	const int64_t b_ks = s->b_ks, raw_ks = s->raw_ks;
	int64_t ms = s->a_ms, ks = s->a_ks, c_ms = s->c_ms;
	const uint32_t mr = FIRST, nv = 2, side = 16 * 4 / GROUP;
	char *keep0 = s->keep[0], *keep1 = s->keep[1], *c = s->c;
	const int32_t *init = s->init;
	const __mmask16 mask = ALL;
	uint32_t groups, i;
	VEC acc[FIRST][2];

	START_TILE();
	for (groups = s->k / GROUP; groups; groups--, keep0 += 64, keep1 += 64) {
		const BVEC v0 = TURN(join ? JOIN(raw, raw_ks, GROUP) : LOAD_B(b0, ALL));
		const BVEC v1 = TURN(join ? JOIN(raw + side, raw_ks, GROUP) : LOAD_B(b1, ALL));

		_mm512_store_si512(keep0, (__m512i)v0);
		_mm512_store_si512(keep1, (__m512i)v1);
		PRODUCTS(v0, v1);
		if (ask) {
#pragma GCC unroll 4
			for (i = 0; i < GROUP; i++)
				_mm_prefetch(raw + (FAST_GEMM_NEAR * GROUP + i) * raw_ks,
					     _MM_HINT_T1);
			if (GROUP == 1)
				_mm_prefetch(raw + FAST_GEMM_NEAR * raw_ks + side, _MM_HINT_T1);
		}
		if (join) {
			raw += GROUP * raw_ks;
		} else {
			b0 += b_ks;
			b1 += b_ks;
		}
	}
	if (GROUP > 1 && s->k % GROUP) {
		const uint32_t n __attribute__((unused)) = s->k % GROUP;
		const BVEC v0 = TURN(join ? JOIN(raw, raw_ks, n) : LOAD_B(b0, ALL));
		const BVEC v1 = TURN(join ? JOIN(raw + side, raw_ks, n) : LOAD_B(b1, ALL));

		_mm512_store_si512(keep0, (__m512i)v0);
		_mm512_store_si512(keep1, (__m512i)v1);
		PART_PRODUCTS(v0, v1);
	}
	__asm__("" : "+r"(c), "+r"(c_ms));
#pragma GCC unroll 16
	for (i = 0; i < mr; i++, c += c_ms) {
		_mm512_storeu_si512(c, (__m512i)acc[i][0]);
		_mm512_storeu_si512(c + 64, (__m512i)acc[i][1]);
	}
}

static __attribute__((noinline)) void keep_strip(const struct fast_gemm_strip *s)
{
	struct fast_gemm_strip rest = *s;

	if (s->far)
		ask_for_c(s, s->c, FIRST, s->m == FIRST);
	if (TURNS && !s->raw)
		first_tile(s, false, false);
	else if (s->raw_far)
		first_tile(s, true, true);
	else
		first_tile(s, true, false);
	fast_gemm_kept(&rest);
	strip_rows(&rest, FIRST, 0);
}
#endif

void STRIP(const struct fast_gemm_strip *s)
{
#ifdef JOIN
	if (s->keep[0]) {
		keep_strip(s);
		return;
	}
#endif
	strip_rows(s, 0, 0);
}
