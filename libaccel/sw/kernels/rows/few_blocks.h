/* SPDX-License-Identifier: MIT */
/*
 * Part of few_kernel.h: columns of blocks, &enum uma_dtype. The weights of a block are computed
 * in registers, with the model's bits, and multiplied by all rows there; columns are
 * contiguous, so B is one stream.
 *
 * A row has four accumulators, or as many as there are registers for, which are added at the
 * end.
 */

/* Rows that are multiplied by a weight in a register, and accumulators of each */
#define BLOCK_ROWS	(VL == 16 ? 4u : 2u)
#define BLOCK_SUMS	4u
/* Prefetch distance in a column, in bytes */
#define BLOCK_AHEAD	4096u

V_INLINE vf few_half(const uint8_t *p)
{
	uint16_t half;
	__m128 d;

	/* Convert only this half: the following bytes of the block might be a signalling NaN. */
	memcpy(&half, p, sizeof(half));
	d = _mm_cvtph_ps(_mm_cvtsi32_si128(half));

#if VL == 16
	return _mm512_broadcastss_ps(d);
#else
	return _mm256_broadcastss_ps(d);
#endif
}

/* Vector of bytes, each widened to a word. */
V_INLINE vi few_bytes_of(const uint8_t *p)
{
#if VL == 16
	return _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p));
#else
	return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p));
#endif
}

#if VL == 16
/* The values of a nibble */
V_INLINE vf few_nibble_values(void)
{
	return _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
#endif

/*
 * Multiply @n vectors of weights by all rows, from element @at on; add to the accumulators from
 * @to on.
 */
V_INLINE void few_meet(const float *const *a, uint32_t m, uint32_t at, uint32_t to, const vf *w,
		       uint32_t n, vf sum[][BLOCK_SUMS])
{
	uint32_t i, v;

#pragma GCC unroll 4
	for (i = 0; i < m; i++)
#pragma GCC unroll 4
		for (v = 0; v < n; v++)
			sum[i][to + v] = v_fma(v_load(a[i] + at + v * VL), w[v], sum[i][to + v]);
}

V_INLINE void few_q8_0(const uint8_t *p, const float *const *a, uint32_t m, uint32_t k,
		       vf sum[][BLOCK_SUMS])
{
	const vf d = few_half(p);
	vf w[32 / VL];
	uint32_t v;

#pragma GCC unroll 4
	for (v = 0; v < 32 / VL; v++)
		w[v] = v_mul(v_bytes(p + 2 + v * VL, true), d);
	few_meet(a, m, k, k / VL % BLOCK_SUMS, w, 32 / VL, sum);
}

/* Eight 6-bit numbers: four words of bytes; the first word has the first four. */
V_INLINE __m256 few_six(uint32_t first, uint32_t rest)
{
	const uint64_t all = first | (uint64_t)rest << 32;

	return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)all)));
}

V_INLINE void few_q4_k(const uint8_t *p, const float *const *a, uint32_t m,
		       vf sum[][BLOCK_SUMS])
{
	const __m256 d = _mm256_set1_ps(_cvtsh_ss((unsigned short)(p[0] | p[1] << 8)));
	const __m256 e = _mm256_set1_ps(-_cvtsh_ss((unsigned short)(p[2] | p[3] << 8)));
	float scale[8], min[8];
	uint32_t s[3], j, half;
	vf w[64 / VL], low[32 / VL], high[32 / VL];

	memcpy(s, p + 4, sizeof(s));
	_mm256_storeu_ps(scale, _mm256_mul_ps(d, few_six(s[0] & 0x3f3f3f3f, (s[2] & 0x0f0f0f0f) |
							 (s[0] >> 2 & 0x30303030))));
	_mm256_storeu_ps(min, _mm256_mul_ps(e, few_six(s[1] & 0x3f3f3f3f, (s[2] >> 4 & 0x0f0f0f0f) |
						       (s[1] >> 2 & 0x30303030))));
	for (j = 0; j < 8; j += 2) {
		const uint8_t *q = p + 16 + 16 * j;

#if VL == 16
		/* The low and the high nibbles have separate scales. */
		(void)low;
		(void)high;
		for (half = 0; half < 2; half++) {
			const vf table = v_fma(few_nibble_values(), v_set(scale[j + half]),
					       v_set(min[j + half]));
			const vi x = few_bytes_of(q), y = few_bytes_of(q + 16);

			w[2 * half] = _mm512_permutexvar_ps(half ? vi_shr(x, 4) : x, table);
			w[2 * half + 1] = _mm512_permutexvar_ps(half ? vi_shr(y, 4) : y, table);
		}
		few_meet(a, m, 32 * j, 0, w, 4, sum);
#else
		(void)w;
		for (half = 0; half < 32 / VL; half++) {
			const vi x = few_bytes_of(q + half * VL);

			low[half] = v_fma(v_of_ints(vi_and(x, vi_set(15))), v_set(scale[j]),
					  v_set(min[j]));
			high[half] = v_fma(v_of_ints(vi_shr(x, 4)), v_set(scale[j + 1]),
					   v_set(min[j + 1]));
		}
		few_meet(a, m, 32 * j, 0, low, 4, sum);
		few_meet(a, m, 32 * j + 32, 0, high, 4, sum);
#endif
	}
}

V_INLINE void few_q6_k(const uint8_t *p, const float *const *a, uint32_t m,
		       vf sum[][BLOCK_SUMS])
{
	const __m256 d = _mm256_set1_ps(_cvtsh_ss((unsigned short)(p[208] | p[209] << 8)));
	const vi four = vi_set(15), two = vi_set(0x30), middle = vi_set(32);
	uint32_t j, at, l, run;
	float scale[16];

	for (j = 0; j < 16; j += 8) {
		const __m128i s = _mm_loadl_epi64((const void *)(p + 192 + j));

		_mm256_storeu_ps(scale + j,
				 _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(s))));
	}
	for (j = 0; j < 2; j++)
		for (l = 0; l < 32; l += VL) {
			const vi x = few_bytes_of(p + 64 * j + l);
			const vi y = few_bytes_of(p + 64 * j + 32 + l);
			const vi h = few_bytes_of(p + 128 + 32 * j + l);
			const vi q[4] = {
				vi_or(vi_and(x, four), vi_and(vi_shl(h, 4), two)),
				vi_or(vi_and(y, four), vi_and(vi_shl(h, 2), two)),
				vi_or(vi_shr(x, 4), vi_and(h, two)),
				vi_or(vi_shr(y, 4), vi_and(vi_shr(h, 2), two)),
			};

#pragma GCC unroll 4
			for (run = 0; run < 4; run++) {
				vf w;

				at = 128 * j + 32 * run + l;
				w = v_mul(v_of_ints(vi_sub(q[run], middle)), v_set(scale[at / 16]));
				few_meet(a, m, at, run, &w, 1, sum);
			}
		}
}

V_INLINE void few_block(enum few_type type, const uint8_t *p, const float *const *a, uint32_t m,
			uint32_t k, vf sum[][BLOCK_SUMS])
{
	if (type == FEW_Q8_0)
		few_q8_0(p, a, m, k, sum);
	else if (type == FEW_Q4_K)
		few_q4_k(p, a, m, sum);
	else
		few_q6_k(p, a, m, sum);
}

V_INLINE void few_column(const struct few_call *g, enum few_type type, uint32_t first, uint32_t m,
			 uint32_t n)
{
	const uint32_t size = type == FEW_Q8_0 ? 32 : 256;
	const uint32_t bytes = type == FEW_Q8_0 ? 34 : type == FEW_Q4_K ? 144 : 210;
	/* Vectors of two blocks of 32 have separate accumulators. */
	const uint32_t deep = size == 32 && VL == 16 ? 2 : 1;
	const uint8_t *p = g->b + (int64_t)n * g->step;
	vf sum[BLOCK_ROWS][BLOCK_SUMS];
	uint32_t i, k, at, some;

#pragma GCC unroll 4
	for (i = 0; i < m; i++)
#pragma GCC unroll 4
		for (k = 0; k < BLOCK_SUMS; k++)
			sum[i][k] = v_set(0);
	for (k = 0; k < g->k; k += some * size, p += some * bytes) {
		const float *a[BLOCK_ROWS];

#pragma GCC unroll 4
		for (i = 0; i < m; i++)
			a[i] = g->a[first + i] + k;
#pragma GCC unroll 4
		for (at = 0; at < deep * bytes; at += 64)
			__builtin_prefetch(p + BLOCK_AHEAD + at);
		few_block(type, p, a, m, 0, sum);
		some = 1;
		if (deep == 1 || k + size == g->k)
			continue;
		few_block(type, p + bytes, a, m, size, sum);
		some = 2;
	}
#pragma GCC unroll 4
	for (i = 0; i < m; i++)
		g->c[(first + i) * g->c_row + n] =
			v_total(v_add(v_add(sum[i][0], sum[i][1]), v_add(sum[i][2], sum[i][3])));
}

SPECIAL void few_blocks(const struct few_call *g, enum few_type type, uint32_t m)
{
	uint32_t first, n;

	/* The following rows find the column in the first-level cache. */
	for (n = 0; n < g->n; n++)
		for (first = 0; first < m; first += BLOCK_ROWS)
			few_column(g, type, first, m < BLOCK_ROWS ? m : BLOCK_ROWS, n);
}

/* Kernels for each number of rows that call @columns; their names contain @o. */
#define FEW_ALONG_FN(columns, o, type, m)					\
	static void few_##o##_##type##_##m(const struct few_call *g)		\
	{									\
		columns(g, FEW_##type, m);					\
	}
#define FEW_ALONG_FNS(columns, o, type)						\
	FEW_ALONG_FN(columns, o, type, 1) FEW_ALONG_FN(columns, o, type, 2)	\
	FEW_ALONG_FN(columns, o, type, 4) FEW_ALONG_FN(columns, o, type, 8)
#define FEW_ALONG(o, type)	{ [FEW_K] = FEW_LIST(o, type) }

FEW_ALONG_FNS(few_blocks, b, Q8_0)
FEW_ALONG_FNS(few_blocks, b, Q4_K)
FEW_ALONG_FNS(few_blocks, b, Q6_K)
