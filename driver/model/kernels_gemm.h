/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Part of kernels_impl.h: block products.
 *
 * A register tile has up to MR rows and two vectors of columns. Each element of C has one
 * accumulator, to which products are added in the order of k. So results depend neither
 * on the size of tiles nor on how K is divided.
 */

#if UMA_VL == 16
#define MR		12
#elif defined(__aarch64__)
#define MR		8
#else
#define MR		6
#endif
#define NR		(2 * UMA_VL)

/* F(0) ... F(m - 1), expanded so that accumulators are in registers */
#define EACH_1(F, end)	F(0) end
#define EACH_2(F, end)	EACH_1(F, end) F(1) end
#define EACH_3(F, end)	EACH_2(F, end) F(2) end
#define EACH_4(F, end)	EACH_3(F, end) F(3) end
#define EACH_5(F, end)	EACH_4(F, end) F(4) end
#define EACH_6(F, end)	EACH_5(F, end) F(5) end
#define EACH_7(F, end)	EACH_6(F, end) F(6) end
#define EACH_8(F, end)	EACH_7(F, end) F(7) end
#define EACH_9(F, end)	EACH_8(F, end) F(8) end
#define EACH_10(F, end)	EACH_9(F, end) F(9) end
#define EACH_11(F, end)	EACH_10(F, end) F(10) end
#define EACH_12(F, end)	EACH_11(F, end) F(11) end

#define F32_DECLARE(i)							\
	vf c##i##0, c##i##1;						\
	const float *a##i = (const float *)g->a + (r + i) * g->a_ms;	\
	float *o##i = (float *)g->c + (r + i) * g->c_ms + j

#define F32_CLEAR(i) do {						\
	c##i##0 = vf_all(0.0f);						\
	c##i##1 = vf_all(0.0f);						\
} while (0)

#define F32_LOAD(i) do {						\
	c##i##0 = VLOAD(vf, o##i);					\
	c##i##1 = VLOAD(vf, o##i + UMA_VL);				\
} while (0)

#define F32_STEP(i) do {						\
	vf s = vf_all(*a##i);						\
									\
	c##i##0 = UMA_FMA(s, b0, c##i##0);				\
	c##i##1 = UMA_FMA(s, b1, c##i##1);				\
	a##i += a_ks;							\
} while (0)

#define ROW_STORE(i) do {						\
	VSTORE(o##i, c##i##0);						\
	VSTORE(o##i + UMA_VL, c##i##1);					\
} while (0)

#define MICRO_F32(m)							\
static void micro_f32_##m(const struct uma_gemm_block *g, __u32 r, __u32 j) \
{									\
	const float *b = (const float *)g->b + j;			\
	__s64 a_ks = g->a_ks, b_ks = g->b_ks;				\
	__u32 k = g->k;							\
	EACH_##m(F32_DECLARE, ;)						\
									\
	if (g->accumulate) {						\
		EACH_##m(F32_LOAD, ;)					\
	} else {							\
		EACH_##m(F32_CLEAR, ;)					\
	}								\
	for (; k; k--) {						\
		vf b0 = VLOAD(vf, b), b1 = VLOAD(vf, b + UMA_VL);	\
									\
		EACH_##m(F32_STEP, ;)					\
		b += b_ks;						\
	}								\
	EACH_##m(ROW_STORE, ;)						\
}

/* For pairs of s16 in 32-bit words: acc + a.even * b.even + a.odd * b.odd */
UMA_INLINE vi madd_s16(vi a, vi b, vi acc)
{
	vu sum;
#if UMA_VL == 16 && defined(__clang__)
	sum = (vu)__builtin_ia32_pmaddwd512((vs)a, (vs)b);
#elif UMA_VL == 16
	sum = (vu)__builtin_ia32_pmaddwd512_mask((vs)a, (vs)b, vi_all(0), (__u16)-1);
#elif UMA_VL == 8
	sum = (vu)__builtin_ia32_pmaddwd256((vs)a, (vs)b);
#elif defined(__SSE2__)
	sum = (vu)__builtin_ia32_pmaddwd128((vs)a, (vs)b);
#else
	sum = (vu)(((vi)((vu)a << 16)) >> 16) * (vu)(((vi)((vu)b << 16)) >> 16);
	sum += (vu)(a >> 16) * (vu)(b >> 16);
#endif
	/* Added as unsigned, since sums of u8 products may use the sign bit. */
	return (vi)((vu)acc + sum);
}

#define S16_DECLARE(i)							\
	vi c##i##0, c##i##1;						\
	const __s32 *a##i = (const __s32 *)g->a + (r + i) * g->a_ms;	\
	__s32 *o##i = (__s32 *)g->c + (r + i) * g->c_ms + j

#define S16_CLEAR(i) do {						\
	c##i##0 = vi_all(0);						\
	c##i##1 = vi_all(0);						\
} while (0)

#define S16_LOAD(i) do {						\
	c##i##0 = VLOAD(vi, o##i);					\
	c##i##1 = VLOAD(vi, o##i + UMA_VL);				\
} while (0)

#define S16_STEP(i) do {						\
	vi s = vi_all(*a##i);						\
									\
	c##i##0 = madd_s16(s, b0, c##i##0);				\
	c##i##1 = madd_s16(s, b1, c##i##1);				\
	a##i += a_ks;							\
} while (0)

#define MICRO_S16(m)							\
static void micro_s16_##m(const struct uma_gemm_block *g, __u32 r, __u32 j) \
{									\
	const __s32 *b = (const __s32 *)g->b + j;			\
	__s64 a_ks = g->a_ks, b_ks = g->b_ks;				\
	__u32 k = g->k;							\
	EACH_##m(S16_DECLARE, ;)						\
									\
	if (g->accumulate) {						\
		EACH_##m(S16_LOAD, ;)					\
	} else {							\
		EACH_##m(S16_CLEAR, ;)					\
	}								\
	for (; k; k--) {						\
		vi b0 = VLOAD(vi, b), b1 = VLOAD(vi, b + UMA_VL);	\
									\
		EACH_##m(S16_STEP, ;)					\
		b += b_ks;						\
	}								\
	EACH_##m(ROW_STORE, ;)						\
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

/* Columns are the outer loop, to keep a panel of B in the L1 cache for all rows of A. */
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
