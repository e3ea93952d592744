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
 *	FLIP		if LOAD_B uses flip
 *	STEP(acc, a, b)	acc + a x b
 *	LOAD_B(p, m)	a vector of B; of a masked one the columns of m
 *	LOAD_C(p, m), STORE_C(p, m, v), INIT(s32)
 *
 * Register tile: MR rows by two vectors, MR up to 14: 28 accumulators, two vectors
 * of B, and A broadcast from memory: 16 loads for 28 multiply-adds. A strip's rows
 * are cut evenly, so 32 rows are 11 + 11 + 10. Rows are addressed in groups of
 * three from one pointer each, which leaves integer registers for everything.
 */

#ifndef LIBACCEL_SW_FAST_GEMM_STRIP_H
#define LIBACCEL_SW_FAST_GEMM_STRIP_H

#define ALL		((__mmask16)0xffff)
#define MR		14
#define MR_SINGLE	7
#define INLINE		static inline __attribute__((always_inline))

/* A word from anywhere. */
INLINE int32_t load32(const char *p)
{
	int32_t w;

	__builtin_memcpy(&w, p, sizeof(w));
	return w;
}

/* Row @i: a constant after unrolling. */
INLINE const char *row_at(const char *const *p, int64_t ms, uint32_t i)
{
	return p[i / 3] + (i % 3 ? i % 3 == 1 ? ms : 2 * ms : 0);
}

/* A group of K that is not all there, zeros behind it. */
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
/* The intrinsic's types make some compilers move every accumulator twice. */
INLINE __m512i dpbusd(__m512i acc, __m512i u, __m512i s)
{
	__asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(u), "v"(s));
	return acc;
}
#endif

#endif /* LIBACCEL_SW_FAST_GEMM_STRIP_H */

/* A group of K: rows one after the other, as their broadcasts come in. */
#define K_STEP() do {							\
	BVEC v0 = LOAD_B(b0, nv == 1 ? mask : ALL), v1 = v0;	\
									\
	/* Or the compiler keeps a pointer for every row. */		\
	__asm__("" : "+r"(ms));						\
	if (nv == 2)							\
		v1 = LOAD_B(b1, mask);					\
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
	b0 += b_ks;							\
	b1 += b_ks;							\
} while (0)

INLINE void strip_tile(const struct fast_gemm_strip *s, const char *a, char *c, const int32_t *init,
		       const char *next, __mmask16 mask, const uint32_t mr, const uint32_t nv)
{
	const char *p[(MR + 2) / 3], *b0 = s->b[0], *b1 = s->b[nv - 1];
	int64_t ms = s->a_ms, ks = s->a_ks, b_ks = s->b_ks, c_ms = s->c_ms;
	const int64_t next_ks = s->next_ks;
	uint32_t groups = s->k / GROUP, i;
	VEC acc[MR][2];
#ifdef FLIP
	const __m512i flip = _mm512_set1_epi8((char)s->flip);
#endif

#pragma GCC unroll 16
	for (i = 0; i < mr; i += 3)
		p[i / 3] = a + i * ms;
#pragma GCC unroll 16
	for (i = 0; i < mr; i++) {
		const char *o = c + i * c_ms;

		if (s->accumulate) {
			acc[i][0] = LOAD_C(o, nv == 1 ? mask : ALL);
			if (nv == 2)
				acc[i][1] = LOAD_C(o + 64, mask);
		} else {
			acc[i][0] = init ? INIT(init[i]) : ZERO;
			if (nv == 2)
				acc[i][1] = acc[i][0];
		}
	}
	/* Twice: even an idle prefetch takes its share of short sums. */
	if (next)
		for (; groups; groups--, next += next_ks) {
			_mm_prefetch(next, _MM_HINT_T1);
			K_STEP();
		}
	else
		for (; groups; groups--)
			K_STEP();
	if (GROUP > 1 && s->k % GROUP) {
		const BVEC v0 = LOAD_B(b0, ALL), v1 = LOAD_B(b1, ALL);

#pragma GCC unroll 16
		for (i = 0; i < mr; i++) {
			const AVEC v = SPREAD(part_group(row_at(p, ms, i),
							s->k % GROUP * (4 / GROUP)));

			acc[i][0] = STEP(acc[i][0], v, v0);
			if (nv == 2)
				acc[i][1] = STEP(acc[i][1], v, v1);
		}
	}
	/* No load is served from a masked store that is still on its way. */
	if (mask == ALL) {
#pragma GCC unroll 16
		for (i = 0; i < mr; i++) {
			_mm512_storeu_si512(c + i * c_ms, (__m512i)acc[i][0]);
			if (nv == 2)
				_mm512_storeu_si512(c + i * c_ms + 64, (__m512i)acc[i][1]);
		}
		return;
	}
#pragma GCC unroll 16
	for (i = 0; i < mr; i++) {
		char *o = c + i * c_ms;

		if (nv == 2)
			_mm512_storeu_si512(o, (__m512i)acc[i][0]);
		STORE_C(o + (nv - 1) * 64, mask, acc[i][nv - 1]);
	}
}

#define TILE(mr, nv)							\
static __attribute__((noinline)) void					\
tile_##mr##_##nv(const struct fast_gemm_strip *s, const char *a, char *c, \
		 const int32_t *init, const char *next, __mmask16 mask)	\
{									\
	strip_tile(s, a, c, init, next, mask, mr, nv);			\
}

TILE(1, 1) TILE(2, 1) TILE(3, 1) TILE(4, 1) TILE(5, 1) TILE(6, 1) TILE(7, 1)
TILE(1, 2) TILE(2, 2) TILE(3, 2) TILE(4, 2) TILE(5, 2) TILE(6, 2) TILE(7, 2)
TILE(8, 2) TILE(9, 2) TILE(10, 2) TILE(11, 2) TILE(12, 2) TILE(13, 2) TILE(14, 2)

typedef void (*tile_fn)(const struct fast_gemm_strip *s, const char *a, char *c,
			const int32_t *init, const char *next, __mmask16 mask);

void STRIP(const struct fast_gemm_strip *s)
{
	static const tile_fn narrow[] = {
		tile_1_1, tile_2_1, tile_3_1, tile_4_1, tile_5_1, tile_6_1, tile_7_1,
	};
	static const tile_fn wide[] = {
		tile_1_2, tile_2_2, tile_3_2, tile_4_2, tile_5_2, tile_6_2, tile_7_2,
		tile_8_2, tile_9_2, tile_10_2, tile_11_2, tile_12_2, tile_13_2, tile_14_2,
	};
	const __mmask16 mask = (__mmask16)(0xffffu >> ((0u - s->n) % 16));
	const tile_fn *tiles = s->n > 16 ? wide : narrow;
	const uint32_t blocks = s->n > 16 ? (s->m + MR - 1) / MR :
					    (s->m + MR_SINGLE - 1) / MR_SINGLE;
	const uint32_t rows = blocks ? s->m / blocks : 0, more = s->m - blocks * rows;
	uint32_t block, r = 0, mr, i;
	const char *a = s->a;
	char *c = s->c;

	/* Evenly: the larger blocks first. */
	for (block = 0; block < blocks; block++, r += mr) {
		mr = rows + (block < more);
		/* The next rows' accumulators, or the next columns'. */
		for (i = 0; s->far && i < mr; i++) {
			const char *p = block + 1 < blocks ? c + (mr + i) * s->c_ms :
						   (char *)s->c + i * s->c_ms + 128;

			_mm_prefetch(p, _MM_HINT_T0);
			_mm_prefetch(p + 64, _MM_HINT_T0);
		}
		tiles[mr - 1](s, a, c, s->init ? s->init + r : NULL,
			      block < FAST_GEMM_AHEAD ? s->next[block] : NULL, mask);
		a += mr * s->a_ms;
		c += mr * s->c_ms;
	}
}
