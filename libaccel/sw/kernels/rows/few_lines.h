/* SPDX-License-Identifier: MIT */
/*
 * Part of few_kernel.h: columns of 4-bit numbers along K. A line is LINE of them: a word with
 * eight numbers in each lane; for blocks, four lanes share a scale. A is rearranged in the
 * order of a line's nibbles, with the vectors of all rows interleaved; the sums of a line are
 * multiplied by the scales of their lanes.
 *
 * Register tile: up to two rows by four columns, or eight by two: eight rows of A do not fit
 * into a first-level cache. Two of the eight factors of a line are looked up in a table, to
 * balance the execution ports.
 */

#define LINE		(8u * VL)
/* Rows that are multiplied by a line in registers */
#define LINE_ROWS	(VL == 16 ? 8u : 4u)
/* Maximum number of columns at once: a vector of A is loaded once for all of them */
#define LINE_COLUMNS	4u
/* Minimum prefetch distance in bytes */
#define LINE_AHEAD	8192
/* 16-bit words of a block of Q4_0 or Q4_1 that precede its numbers */
#define LINE_HEAD(type)	((type) == FEW_Q4_0 ? 1u : 2u)

/**
 * struct few_line - a line of a column
 * @q: numbers
 * @scale: of each lane
 * @min: of each lane, Q4_1
 */
struct few_line {
	vi q;
	vf scale;
	vf min;
};

/**
 * struct few_places - positions in a line
 * @q: AVX-512, blocks: the 16-bit words, of the line's beginning and its end, that are numbers
 * @scale: the same for scales; 4-bit integers: index of each lane's scale
 * @min: the same for minima, Q4_1
 */
struct few_places {
	vi q, scale, min;
};

V_INLINE uint32_t few_line_bytes(enum few_type type)
{
	return type == FEW_NIBBLES ? LINE / 2 : LINE / 32 * (16 + 2 * LINE_HEAD(type));
}

/* Number of scales of a line */
V_INLINE uint32_t few_line_scales(const struct few_call *g)
{
	return g->group_shift < 7 && LINE >> g->group_shift ? LINE >> g->group_shift : 1;
}

V_INLINE struct few_places few_places_of(const struct few_call *g, enum few_type type)
{
	struct few_places at = { vi_set(0), vi_set(0), vi_set(0) };
	uint32_t word[VL], i;

	if (type == FEW_NIBBLES) {
		for (i = 0; i < VL; i++)
			word[i] = i * few_line_scales(g) / VL;
		at.scale = vi_load(word);
		return at;
	}
#if VL == 16
	const uint32_t head = LINE_HEAD(type), size = 8 + head;
	uint16_t q[32], scale[32], min[32];

	for (i = 0; i < 32; i++) {
		q[i] = (uint16_t)(i / 8 * size + head + i % 8);
		/* The second half of the loaded bytes ends at the end of the line. */
		if (q[i] > 31)
			q[i] = (uint16_t)(q[i] + 64 - 4 * size);
		scale[i] = (uint16_t)(i % 16 / 4 * size);
		min[i] = (uint16_t)(scale[i] + 1);
	}
	at.q = vi_load(q);
	at.scale = vi_load(scale);
	at.min = vi_load(min);
#endif
	return at;
}

#if VL == 16
/* 16-bit words in the lower half of a vector, converted to binary32. */
V_INLINE vf few_halves(vi line, vi at)
{
	return _mm512_cvtph_ps(_mm512_castsi512_si256(_mm512_permutexvar_epi16(at, line)));
}

V_INLINE struct few_line few_block_line(enum few_type type, const uint8_t *p,
					const struct few_places *at)
{
	const vi first = vi_load(p), last = vi_load(p + few_line_bytes(type) - 64);

	return (struct few_line){
		.q = _mm512_permutex2var_epi16(first, at->q, last),
		.scale = few_halves(first, at->scale),
		.min = type == FEW_Q4_1 ? few_halves(first, at->min) : v_set(0),
	};
}

/* @n entries of a table, each in its lanes. */
V_INLINE vf few_scales(const uint8_t *p, bool half, uint32_t n, vi at)
{
	const __mmask16 m = (__mmask16)((1u << n) - 1);
	vf x;

	if (half)
		x = _mm512_castps256_ps512(_mm256_cvtph_ps(_mm_maskz_loadu_epi16((__mmask8)m, p)));
	else
		x = _mm512_maskz_loadu_ps(m, p);
	return _mm512_permutexvar_ps(at, x);
}
#else
/* The half at @p and that of the following block, in four lanes each. */
V_INLINE vf few_halves(const uint8_t *p, uint32_t block)
{
	uint16_t a, b;

	memcpy(&a, p, 2);
	memcpy(&b, p + block, 2);
	return _mm256_cvtph_ps(_mm_unpacklo_epi64(_mm_set1_epi16((short)a),
						  _mm_set1_epi16((short)b)));
}

V_INLINE struct few_line few_block_line(enum few_type type, const uint8_t *p,
					const struct few_places *at)
{
	const uint32_t head = 2 * LINE_HEAD(type), block = head + 16;
	const __m128i first = _mm_loadu_si128((const void *)(p + head));
	const __m128i second = _mm_loadu_si128((const void *)(p + block + head));

	(void)at;
	return (struct few_line){
		.q = _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1),
		.scale = few_halves(p, block),
		.min = type == FEW_Q4_1 ? few_halves(p + 2, block) : v_set(0),
	};
}

V_INLINE vf few_scales(const uint8_t *p, bool half, uint32_t n, vi at)
{
	uint64_t two = 0;
	float x[4] = { 0 };

	if (!half)
		memcpy(x, p, n == 4 ? 16 : n == 2 ? 8 : 4 * n);
	else
		memcpy(&two, p, n == 4 ? 8 : n == 2 ? 4 : 2 * n);
	if (half)
		_mm_storeu_ps(x, _mm_cvtph_ps(_mm_cvtsi64_si128((long long)two)));
	return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(x)), at);
}
#endif

/* Factor @i of a line: nibble @i of each word. */
V_INLINE vf few_factor(const struct magic *m, vf table, vi q, uint32_t i)
{
	const vi word = i < 4 ? q : vi_shr(q, 16);

	(void)table;
#if VL == 16
	/* The highest bits of an index are ignored. */
	if (i % 4 == 0)
		return _mm512_permutexvar_ps(word, table);
#endif
	return number(m, word, (int)(i % 4), m->less[i % 4]);
}

/*
 * Multiply lines of @nc columns by @m of the @all interleaved rows at @a; add to the sums
 * @total.
 */
V_INLINE void few_line_rows(const struct few_line *line, uint32_t nc, bool with_min,
			    const struct magic *magic, vf table, const float *a, uint32_t all,
			    uint32_t m, vf total[][LINE_ROWS])
{
	vf sum[LINE_COLUMNS][LINE_ROWS], w[LINE_COLUMNS];
	uint32_t c, i, r;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++) {
#pragma GCC unroll 4
		for (c = 0; c < nc; c++)
			w[c] = few_factor(magic, table, line[c].q, i);
#pragma GCC unroll 8
		for (r = 0; r < m; r++) {
			const vf x = v_load(a + (i * all + r) * VL);

#pragma GCC unroll 4
			for (c = 0; c < nc; c++)
				sum[c][r] = i ? v_fma(w[c], x, sum[c][r]) : v_mul(w[c], x);
		}
	}
#pragma GCC unroll 4
	for (c = 0; c < nc; c++)
#pragma GCC unroll 8
		for (r = 0; r < m; r++) {
			total[c][r] = v_fma(sum[c][r], line[c].scale, total[c][r]);
			/* A line of A is followed by the sums of its lanes. */
			if (with_min)
				total[c][r] = v_fma(line[c].min, v_load(a + (8 * all + r) * VL),
						    total[c][r]);
		}
}

/* Load a line at byte @p of a column, element @k, with scales at @tables. */
V_INLINE struct few_line few_line_at(const struct few_call *g, enum few_type type,
				     const uint8_t *p, const uint8_t *tables, uint32_t k,
				     const struct few_places *at)
{
	const uint32_t scales = few_line_scales(g), group = k >> g->group_shift;
	const uint32_t there = ((g->k - 1) >> g->group_shift) + 1 - group;

	if (type != FEW_NIBBLES)
		return few_block_line(type, p, at);
	return (struct few_line){
		.q = vi_load(p),
		.scale = few_scales(tables + (size_t)group * (g->half ? 2 : 4), g->half,
				    there < scales ? there : scales, at->scale),
	};
}

/*
 * Copy the rest of a column, because nothing after it may be read; missing elements are
 * multiplied by zeros of A.
 */
static const uint8_t *few_line_end(enum few_type type, const uint8_t *p, uint32_t left, uint8_t *to)
{
	memset(to, 0, LINE);
	return memcpy(to, p, type == FEW_NIBBLES ? (left + 1) / 2 :
		      left / 32 * (16 + 2 * LINE_HEAD(type)));
}

/* @nc columns from column @n on; the last one is repeated for missing ones. */
V_INLINE void few_line_columns(const struct few_call *g, enum few_type type, uint32_t all,
			       uint32_t first, uint32_t m, uint32_t n, const uint32_t nc,
			       const struct magic *magic, vf table, const struct few_places *at)
{
	const bool with_min = type == FEW_Q4_1;
	const uint32_t bytes = few_line_bytes(type);
	const uint8_t *p[LINE_COLUMNS], *tables[LINE_COLUMNS];
	const float *a = g->a[0] + first * VL;
	uint8_t end[LINE_COLUMNS][LINE];
	struct few_line line[LINE_COLUMNS];
	vf total[LINE_COLUMNS][LINE_ROWS];
	int64_t ahead = nc * g->step;
	uint32_t c, i, k;

	if (ahead > 0 && ahead < LINE_AHEAD)
		ahead *= (LINE_AHEAD - 1) / ahead + 1;
#pragma GCC unroll 4
	for (c = 0; c < nc; c++) {
		const uint32_t col = n + c < g->n ? n + c : g->n - 1;

		p[c] = g->b + (int64_t)col * g->step;
		tables[c] = g->scales + (int64_t)col * g->scales_step;
#pragma GCC unroll 8
		for (i = 0; i < m; i++)
			total[c][i] = v_set(0);
	}
	for (k = 0; k < g->k; k += LINE, a += all * (8 + with_min) * VL) {
#pragma GCC unroll 4
		for (c = 0; c < nc; c++) {
			if (g->k - k < LINE)
				p[c] = few_line_end(type, p[c], g->k - k, end[c]);
			/* Prefetch the columns that follow these. */
			__builtin_prefetch(p[c] + ahead, 0, 3);
			if (bytes > 64)
				__builtin_prefetch(p[c] + ahead + 64, 0, 3);
			line[c] = few_line_at(g, type, p[c], tables[c], k, at);
			p[c] += bytes;
		}
		few_line_rows(line, nc, with_min, magic, table, a, all, m, total);
	}
#pragma GCC unroll 4
	for (c = 0; c < nc; c++)
#pragma GCC unroll 8
		for (i = 0; i < m; i++)
			if (n + c < g->n)
				g->c[(first + i) * g->c_row + n + c] = v_total(total[c][i]);
}

SPECIAL void few_lines(const struct few_call *g, enum few_type type, uint32_t m)
{
	const uint32_t rows = m < LINE_ROWS ? m : LINE_ROWS;
	const uint32_t nc = rows * LINE_COLUMNS <= LINE_ROWS ? LINE_COLUMNS : VL == 16 ? 2 : 1;
	const struct magic magic = magic_of(4, 4, g->is_signed, g->zero);
	const struct few_places at = few_places_of(g, type);
	uint32_t first, n;
	vf table;
#if VL == 16
	float values[16];

	for (n = 0; n < 16; n++)
		values[n] = (float)(g->is_signed && n > 7 ? (int)n - 16 : (int)n) - g->zero;
	table = v_load(values);
#else
	table = v_set(0);
#endif
	for (n = 0; n < g->n; n += nc)
		for (first = 0; first < m; first += LINE_ROWS)
			few_line_columns(g, type, m, first, rows, n, nc, &magic, table, &at);
}

FEW_ALONG_FNS(few_lines, l, NIBBLES)
FEW_ALONG_FNS(few_lines, l, Q4_0)
FEW_ALONG_FNS(few_lines, l, Q4_1)
