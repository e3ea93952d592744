/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Part of kernels_impl.h: block products.
 *
 * A register tile is MR rows by two vectors of columns. Each element of C has
 * one accumulator that takes its products in the order of k, so neither the
 * tile nor how K is cut into blocks shows in the result.
 */

#if UMA_VL == 16
#define MR		12
#elif defined(__aarch64__)
#define MR		8
#else
#define MR		6
#endif
#define NR		(2 * UMA_VL)

/* F(0) ... F(n - 1), written out: the accumulators must be registers. */
#define ROWS_1(F)	F(0)
#define ROWS_2(F)	ROWS_1(F) F(1)
#define ROWS_3(F)	ROWS_2(F) F(2)
#define ROWS_4(F)	ROWS_3(F) F(3)
#define ROWS_5(F)	ROWS_4(F) F(4)
#define ROWS_6(F)	ROWS_5(F) F(5)
#define ROWS_7(F)	ROWS_6(F) F(6)
#define ROWS_8(F)	ROWS_7(F) F(7)
#define ROWS_9(F)	ROWS_8(F) F(8)
#define ROWS_10(F)	ROWS_9(F) F(9)
#define ROWS_11(F)	ROWS_10(F) F(10)
#define ROWS_12(F)	ROWS_11(F) F(11)

#define F32_DECLARE(i)							\
	vf c##i##0, c##i##1;						\
	const float *a##i = (const float *)g->a + (r + i) * g->a_ms;	\
	float *o##i = (float *)g->c + (r + i) * g->c_ms + j;
#define F32_CLEAR(i)							\
	c##i##0 = vf_all(0.0f);						\
	c##i##1 = vf_all(0.0f);
#define F32_LOAD(i)							\
	c##i##0 = VLOAD(vf, o##i);					\
	c##i##1 = VLOAD(vf, o##i + UMA_VL);
#define F32_STEP(i) {							\
	vf s = vf_all(*a##i);						\
	c##i##0 = UMA_FMA(s, b0, c##i##0);				\
	c##i##1 = UMA_FMA(s, b1, c##i##1);				\
	a##i += a_ks;							\
}
#define F32_STORE(i)							\
	VSTORE(o##i, c##i##0);						\
	VSTORE(o##i + UMA_VL, c##i##1);

#define MICRO_F32(m)							\
static void micro_f32_##m(const struct uma_gemm_block *g, __u32 r, __u32 j) \
{									\
	const float *b = (const float *)g->b + j;			\
	__s64 a_ks = g->a_ks, b_ks = g->b_ks;				\
	__u32 k = g->k;							\
	ROWS_##m(F32_DECLARE)						\
									\
	if (g->accumulate) {						\
		ROWS_##m(F32_LOAD)					\
	} else {							\
		ROWS_##m(F32_CLEAR)					\
	}								\
	for (; k; k--) {						\
		vf b0 = VLOAD(vf, b), b1 = VLOAD(vf, b + UMA_VL);	\
		ROWS_##m(F32_STEP)					\
		b += b_ks;						\
	}								\
	ROWS_##m(F32_STORE)						\
}

/* acc + a.even * b.even + a.odd * b.odd of pairs of s16 in words. */
UMA_INLINE vi madd_s16(vi a, vi b, vi acc)
{
	vu sum;
#if UMA_VL == 16
	typedef short vs __attribute__((vector_size(64)));
#if defined(__clang__)
	sum = (vu)__builtin_ia32_pmaddwd512((vs)a, (vs)b);
#else
	sum = (vu)__builtin_ia32_pmaddwd512_mask((vs)a, (vs)b, (vi){ 0 }, (__u16)-1);
#endif
#elif UMA_VL == 8
	typedef short vs __attribute__((vector_size(32)));
	sum = (vu)__builtin_ia32_pmaddwd256((vs)a, (vs)b);
#elif defined(__SSE2__)
	typedef short vs __attribute__((vector_size(16)));
	sum = (vu)__builtin_ia32_pmaddwd128((vs)a, (vs)b);
#else
	sum = (vu)(((vi)((vu)a << 16)) >> 16) * (vu)(((vi)((vu)b << 16)) >> 16);
	sum += (vu)(a >> 16) * (vu)(b >> 16);
#endif
	/* Unsigned: the sum of u8 products wraps into the sign bit. */
	return (vi)((vu)acc + sum);
}

#define S16_DECLARE(i)							\
	vi c##i##0, c##i##1;						\
	const __s32 *a##i = (const __s32 *)g->a + (r + i) * g->a_ms;	\
	__s32 *o##i = (__s32 *)g->c + (r + i) * g->c_ms + j;
#define S16_CLEAR(i)							\
	c##i##0 = vi_all(0);						\
	c##i##1 = vi_all(0);
#define S16_LOAD(i)							\
	c##i##0 = VLOAD(vi, o##i);					\
	c##i##1 = VLOAD(vi, o##i + UMA_VL);
#define S16_STEP(i) {							\
	vi s = vi_all(*a##i);						\
	c##i##0 = madd_s16(s, b0, c##i##0);				\
	c##i##1 = madd_s16(s, b1, c##i##1);				\
	a##i += a_ks;							\
}

#define MICRO_S16(m)							\
static void micro_s16_##m(const struct uma_gemm_block *g, __u32 r, __u32 j) \
{									\
	const __s32 *b = (const __s32 *)g->b + j;			\
	__s64 a_ks = g->a_ks, b_ks = g->b_ks;				\
	__u32 k = g->k;							\
	ROWS_##m(S16_DECLARE)						\
									\
	if (g->accumulate) {						\
		ROWS_##m(S16_LOAD)					\
	} else {							\
		ROWS_##m(S16_CLEAR)					\
	}								\
	for (; k; k--) {						\
		vi b0 = VLOAD(vi, b), b1 = VLOAD(vi, b + UMA_VL);	\
		ROWS_##m(S16_STEP)					\
		b += b_ks;						\
	}								\
	ROWS_##m(F32_STORE)						\
}

#define MICRO_BOTH(m)	MICRO_F32(m) MICRO_S16(m)

MICRO_BOTH(1)
MICRO_BOTH(2)
MICRO_BOTH(3)
MICRO_BOTH(4)
MICRO_BOTH(5)
MICRO_BOTH(6)
#if MR > 6
MICRO_BOTH(7)
MICRO_BOTH(8)
#endif
#if MR > 8
MICRO_BOTH(9)
MICRO_BOTH(10)
MICRO_BOTH(11)
MICRO_BOTH(12)
#endif

typedef void (*micro_fn)(const struct uma_gemm_block *g, __u32 r, __u32 j);

#define MICRO_LIST(type, m)	micro_##type##_##m

static const micro_fn micro_f32[MR] = {
	MICRO_LIST(f32, 1), MICRO_LIST(f32, 2), MICRO_LIST(f32, 3),
	MICRO_LIST(f32, 4), MICRO_LIST(f32, 5), MICRO_LIST(f32, 6),
#if MR > 6
	MICRO_LIST(f32, 7), MICRO_LIST(f32, 8),
#endif
#if MR > 8
	MICRO_LIST(f32, 9), MICRO_LIST(f32, 10), MICRO_LIST(f32, 11),
	MICRO_LIST(f32, 12),
#endif
};

static const micro_fn micro_s16[MR] = {
	MICRO_LIST(s16, 1), MICRO_LIST(s16, 2), MICRO_LIST(s16, 3),
	MICRO_LIST(s16, 4), MICRO_LIST(s16, 5), MICRO_LIST(s16, 6),
#if MR > 6
	MICRO_LIST(s16, 7), MICRO_LIST(s16, 8),
#endif
#if MR > 8
	MICRO_LIST(s16, 9), MICRO_LIST(s16, 10), MICRO_LIST(s16, 11),
	MICRO_LIST(s16, 12),
#endif
};

/* Columns outside: a panel of B stays in the first cache for all rows of A. */
static void gemm_f32(const struct uma_gemm_block *g)
{
	__u32 j, r;

	for (j = 0; j < g->n; j += NR) {
		for (r = 0; r + MR <= g->m; r += MR)
			micro_f32[MR - 1](g, r, j);
		if (r < g->m)
			micro_f32[g->m - r - 1](g, r, j);
	}
}

static void gemm_s16(const struct uma_gemm_block *g)
{
	__u32 j, r;

	for (j = 0; j < g->n; j += NR) {
		for (r = 0; r + MR <= g->m; r += MR)
			micro_s16[MR - 1](g, r, j);
		if (r < g->m)
			micro_s16[g->m - r - 1](g, r, j);
	}
}
