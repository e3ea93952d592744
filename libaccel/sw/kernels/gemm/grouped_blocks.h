/* SPDX-License-Identifier: MIT */
/*
 * Part of grouped_kernel.h: columns of blocks, &enum uma_dtype, as words. 16 bytes of each of
 * VL columns are read at a time and transposed in registers: a column is a lane.
 */

/**
 * struct columns - where columns lie
 * @col: each of them, or NULL: they lie equally far apart
 * @quarter: likewise: every fourth one
 * @step: likewise: distance; addresses are then a sum of few registers
 */
struct columns {
	const uint8_t *const *col;
	const uint8_t *quarter[VL / 4];
	int64_t step;
};

/* 16 bytes of column @i */
V_INLINE __m128i four_words(const struct columns *c, int i, size_t at)
{
	const uint8_t *p = c->col ? c->col[i] : c->quarter[i / 4] + i % 4 * c->step;

	return _mm_loadu_si128((const void *)(p + at));
}

/* 16 bytes of four columns; with 512-bit vectors the columns are four apart. */
V_INLINE vi four_columns(const struct columns *c, int i, size_t at)
{
#if VL == 16
	/* Loads into a quarter of a vector do not use the shuffle port. */
	vi v = _mm512_castsi128_si512(four_words(c, i, at));

	v = _mm512_mask_broadcast_i32x4(v, 0x00f0, four_words(c, i + 4, at));
	v = _mm512_mask_broadcast_i32x4(v, 0x0f00, four_words(c, i + 8, at));
	return _mm512_mask_broadcast_i32x4(v, 0xf000, four_words(c, i + 12, at));
#else
	return _mm256_inserti128_si256(_mm256_castsi128_si256(four_words(c, i, at)),
				       four_words(c, i + 4, at), 1);
#endif
}

/* 16 bytes of each column as vectors of words, transposed. */
V_INLINE void turn_four(const struct columns *c, size_t at, vi w[4])
{
	vi v[4], t[4];

	for_each_below(j, 0, 4)
		v[j] = four_columns(c, j, at);
	t[0] = vi_low_words(v[0], v[1]);
	t[1] = vi_high_words(v[0], v[1]);
	t[2] = vi_low_words(v[2], v[3]);
	t[3] = vi_high_words(v[2], v[3]);
	w[0] = vi_low_pairs(t[0], t[2]);
	w[1] = vi_high_pairs(t[0], t[2]);
	w[2] = vi_low_pairs(t[1], t[3]);
	w[3] = vi_high_pairs(t[1], t[3]);
}

/**
 * struct words_to - destination of words of columns
 * @out: memory, or NULL: they are multiplied by rows immediately
 * @a: rows, from their first group on, as in &struct grouped_call
 * @rows: number of rows, a constant
 * @words: words of a group, a constant
 * @group: bytes of a group of all rows, a constant
 * @acc: sums of each row and group
 */
struct words_to {
	uint8_t *out;
	const uint8_t *a;
	int rows;
	uint32_t words;
	uint32_t group;
	vi acc[GROUPED_FEW][8];
};

/* Words from number @n on, of four elements. */
V_INLINE void put_words(struct words_to *to, uint32_t n, const vi *q)
{
	const uint32_t words = to->words * (4 / WORD);

	for_each_below(i, 0, 4) {
		const uint32_t at = n + (uint32_t)i;

		for_each_below(w, 0, 4 / WORD) {
			const size_t word = at * (4 / WORD) + (uint32_t)w;
			const vi x = expand_word(q[i], 8, (uint32_t)w, q[i]);

			if (to->out) {
				vi_store(to->out + word * 8 * VL, x);
				continue;
			}
			for_each_below(r, 0, to->rows) {
				const uint8_t *a = to->a + word / words * to->group +
						   4 * ((uint32_t)r * words + word % words);
				vi *acc = &to->acc[r][at / to->words];

				*acc = step(*acc, x, vi_word(a));
			}
		}
	}
}

/* The low nibbles from word @low on, the high ones from @high on. */
V_INLINE void put_nibbles(struct words_to *to, uint32_t low, uint32_t high, const vi *w)
{
	vi x[4];

	for_each_below(i, 0, 4)
		x[i] = vi_and(w[i], vi_bits(0x0f0f0f0f));
	put_words(to, low, x);
	for_each_below(i, 0, 4)
		x[i] = vi_and(vi_shr(w[i], 4), vi_bits(0x0f0f0f0f));
	put_words(to, high, x);
}

/* For 128 elements of a Q6_K, the words from 4 @q on of each run of 32. */
V_INLINE void put_sixes(const struct columns *col, size_t low, size_t high, uint32_t q,
			struct words_to *to)
{
	vi a[4], b[4], h[4], x[4];

	turn_four(col, low + 16 * q, a);
	turn_four(col, low + 32 + 16 * q, b);
	turn_four(col, high + 16 * q, h);
	for_each_below(run, 0, 4) {
		for_each_below(i, 0, 4) {
			const vi l = run & 1 ? b[i] : a[i];
			const vi two = run == 0 ? vi_shl(h[i], 4) : run == 1 ? vi_shl(h[i], 2) :
				       run == 2 ? h[i] : vi_shr(h[i], 2);

			x[i] = vi_or(vi_and(run < 2 ? l : vi_shr(l, 4), vi_bits(0x0f0f0f0f)),
				     vi_and(two, vi_bits(0x30303030)));
		}
		put_words(to, 8 * (uint32_t)run + 4 * q, x);
	}
}

/* Bytes of a block; for constant types */
V_INLINE uint32_t bytes_of_block(uint32_t dtype)
{
	return dtype == UMA_DTYPE_Q8_0 ? 34 : dtype == UMA_DTYPE_Q4_0 ? 18 :
	       dtype == UMA_DTYPE_Q4_1 ? 20 : dtype == UMA_DTYPE_Q4_K ? 144 : 210;
}

/* Does it have 256 elements, and tables for its groups? */
V_INLINE bool is_long(uint32_t dtype)
{
	return dtype == UMA_DTYPE_Q4_K || dtype == UMA_DTYPE_Q6_K;
}

/* Elements of a block whose words are computed together */
V_INLINE uint32_t part_of_block(uint32_t dtype)
{
	return dtype == UMA_DTYPE_Q4_K ? 64 : dtype == UMA_DTYPE_Q6_K ? 128 : 32;
}

/* Such a part, number @part, of the blocks of VL columns. */
V_INLINE void part_words(const struct columns *col, uint32_t dtype, size_t at, uint32_t part,
			 uint32_t flip, struct words_to *to)
{
	vi w[4];

	switch (dtype) {
	case UMA_DTYPE_Q8_0:
		for_each_below(j, 0, 2) {
			turn_four(col, at + 2 + 16ul * (uint32_t)j, w);
			for_each_below(i, 0, 4)
				w[i] = vi_xor(w[i], vi_bits(flip));
			put_words(to, 4 * (uint32_t)j, w);
		}
		break;
	case UMA_DTYPE_Q4_0:
	case UMA_DTYPE_Q4_1:
		turn_four(col, at + (dtype == UMA_DTYPE_Q4_0 ? 2 : 4), w);
		put_nibbles(to, 0, 4, w);
		break;
	case UMA_DTYPE_Q4_K:
		for_each_below(j, 0, 2) {
			turn_four(col, at + 16 + 32ul * part + 16ul * (uint32_t)j, w);
			put_nibbles(to, 4 * (uint32_t)j, 4 * (uint32_t)j + 8, w);
		}
		break;
	default:
		for_each_below(j, 0, 2)
			put_sixes(col, at + 64ul * part, at + 128 + 32ul * part, (uint32_t)j, to);
		break;
	}
}

static void blocks(const uint8_t *const *col, uint32_t dtype, size_t at, uint32_t count,
		   uint32_t flip, uint8_t *out)
{
	const struct uma_dtype_block b = uma_dtype_block(dtype);
	const uint32_t k = part_of_block(dtype);
	const struct columns c = { .col = col };
	struct words_to to = { .out = out };
	uint32_t i, part;

	for (i = 0; i < count; i++, at += b.bytes)
		for (part = 0; part < (1u << b.shift) / k; part++, to.out += 8ul * VL / WORD * k)
			part_words(&c, dtype, at, part, flip, &to);
}

static void columns(const uint8_t *const *col, uint32_t bits, size_t at, size_t bytes,
		    uint32_t flip, uint8_t *out)
{
	const vi turn = vi_bits(flip), four = vi_bits(0x0f0f0f0f);
	const struct columns c = { .col = col };
	struct words_to to = { .out = out };
	vi w[4], x[4];
	size_t i;

	for (i = 0; i < bytes; i += 16, to.out += 128ul * VL / bits * 8 / WORD) {
		turn_four(&c, at + i, w);
		for_each_below(j, 0, 4)
			w[j] = vi_xor(w[j], turn);
		if (bits == 8) {
			put_words(&to, 0, w);
			continue;
		}
		for_each_below(part, 0, 2) {
			for_each_below(j, 0, 4) {
				const vi q = w[2 * part + j / 2];

				x[j] = vi_and(j & 1 ? vi_shr(q, 4) : q, four);
			}
			put_words(&to, 4 * (uint32_t)part, x);
		}
	}
}

/* --- scales and minima ------------------------------------------------------------- */

static void turn_scales(const uint8_t *const *col, size_t at, bool half, uint32_t count,
			float factor, float *out, size_t row)
{
	const struct columns c = { .col = col };
	const vf f = v_set(factor);
	vi w[4];
	uint32_t i;

	turn_four(&c, at, w);
	for (i = 0; i < count; i++) {
		const vi x = w[half ? i / 2 : i];
		const vf y = half ? v_half_words(i & 1 ? vi_shr(x, 16) : x) : v_of(x);

		v_store(out + i * row, v_mul(y, f));
	}
}

/* Byte @i of each word, signed or not. */
V_INLINE vf byte_of(vi w, uint32_t i, bool is_signed)
{
	const vi up = vi_shl(w, (int)(24 - 8 * i));

	return v_of_ints(is_signed ? vi_sar(up, 24) : vi_shr(up, 24));
}

/* The eight scales and minima of blocks of Q4_K. */
V_INLINE void q4_k_tables(const vi w[4], float *scale, float *min, size_t row)
{
	const vi six = vi_bits(0x3f3f3f3f), four = vi_bits(0x0f0f0f0f), two = vi_bits(0x30303030);
	const vf d = v_half_words(w[0]);
	const vf e = v_sub(v_set(0), v_half_words(vi_shr(w[0], 16)));
	const vi s[2] = {
		vi_and(w[1], six), vi_or(vi_and(w[3], four), vi_and(vi_shr(w[1], 2), two)),
	};
	const vi m[2] = {
		vi_and(w[2], six),
		vi_or(vi_and(vi_shr(w[3], 4), four), vi_and(vi_shr(w[2], 2), two)),
	};

	for_each_below(i, 0, 8) {
		v_store(scale + (size_t)i * row, v_mul(byte_of(s[i / 4], i % 4, false), d));
		v_store(min + (size_t)i * row, v_mul(byte_of(m[i / 4], i % 4, false), e));
	}
}

V_INLINE void tables_of(const struct columns *col, uint32_t dtype, size_t at, uint32_t count,
			float *scale, float *min, size_t row)
{
	const uint32_t bytes = bytes_of_block(dtype);
	vi w[4], half[4];
	uint32_t i;

	for (i = 0; i < count; i++, at += bytes) {
		turn_four(col, at + (dtype == UMA_DTYPE_Q6_K ? 192 : 0), w);
		if (dtype == UMA_DTYPE_Q4_K) {
			q4_k_tables(w, scale + 8 * i * row, min + 8 * i * row, row);
		} else if (dtype == UMA_DTYPE_Q6_K) {
			/* The last two bytes of the block. */
			turn_four(col, at + 194, half);
			for_each_below(j, 0, 16)
				v_store(scale + (16 * i + (uint32_t)j) * row,
					v_mul(byte_of(w[j / 4], j % 4, true),
					      v_half_words(vi_shr(half[3], 16))));
		} else {
			v_store(scale + i * row, v_half_words(w[0]));
			if (dtype == UMA_DTYPE_Q4_1)
				v_store(min + i * row, v_half_words(vi_shr(w[0], 16)));
		}
	}
}

static void block_tables(const uint8_t *const *col, uint32_t dtype, size_t at, uint32_t count,
			 float *scale, float *min, size_t row)
{
	const struct columns c = { .col = col };

	tables_of(&c, dtype, at, count, scale, min, row);
}

/* --- few rows ---------------------------------------------------------------------- */

/* The first words of VL columns. */
V_INLINE vi first_words(const struct columns *c)
{
	return vi_low_pairs(vi_low_words(four_columns(c, 0, 0), four_columns(c, 1, 0)),
			    vi_low_words(four_columns(c, 2, 0), four_columns(c, 3, 0)));
}

/* Scale and add the sums of group @s, as in grouped(); @a: what follows the words of the rows. */
V_INLINE void end_group(const struct words_to *to, const uint8_t *a, int s, vf scale, vf min,
			bool mins, vf total[GROUPED_FEW])
{
	for_each_below(r, 0, to->rows) {
		const vf f = v_mul(scale, v_word(a + 4 * (to->rows + r)));

		total[r] = v_fma(v_of_ints(to->acc[r][s]), f, total[r]);
		if (mins)
			total[r] = v_fma(v_word(a + 4 * (2 * to->rows + r)), min, total[r]);
	}
}

/* Blocks of VL columns for all rows, without storing expanded words of B. */
SPECIAL void few_blocks(const struct grouped_call *g, const uint32_t dtype, const int mr)
{
	const bool mins = dtype == UMA_DTYPE_Q4_1 || dtype == UMA_DTYPE_Q4_K;
	const uint32_t k = part_of_block(dtype), own = dtype == UMA_DTYPE_Q6_K ? 16 : 32;
	const uint32_t parts = (is_long(dtype) ? 256 : 32) / k, bytes = bytes_of_block(dtype);
	const int sums = (int)(k / own);
	const uint8_t *ahead = g->b + g->ahead;
	struct columns c = { .step = g->col_step };
	const uint32_t words = 4 * mr * own / WORD;
	struct words_to to = {
		.a = g->a, .rows = mr, .words = own / 4, .group = words + (mins ? 12 : 8) * mr,
	};
	const vf factor = v_set(g->factor);
	float scales[16 * VL], minima[8 * VL];
	vf total[GROUPED_FEW];
	uint32_t i = 0, part;
	size_t j;

	for_each_below(r, 0, mr)
		total[r] = v_set(0);
	for_each_below(q, 0, VL / 4)
		c.quarter[q] = g->b + 4 * q * c.step;
	for (; i < g->groups; ahead += bytes * VL) {
		vi first = vi_set(0);

		/* One line of two: the other comes with it, and fewer are waited for. */
#pragma GCC unroll 1
		for (j = 0; j < bytes * VL; j += 128)
			__builtin_prefetch(ahead + j, 0, 3);
		if (is_long(dtype))
			tables_of(&c, dtype, 0, 1, scales, minima, VL);
		else
			first = first_words(&c);
		for (part = 0; part < parts; part++, i += (uint32_t)sums, to.a += sums * to.group) {
			for_each_below(r, 0, mr)
				for_each_below(s, 0, sums)
					to.acc[r][s] = vi_word(to.a + s * to.group + words + 4 * r);
			part_words(&c, dtype, 0, part, g->flip, &to);
			for_each_below(s, 0, sums) {
				const size_t row = (part * sums + (uint32_t)s) * VL;
				const vf scale = is_long(dtype) ? v_load(scales + row) :
						 v_half_words(first);
				const vf min = !mins ? v_set(0) :
					       is_long(dtype) ? v_load(minima + row) :
					       v_half_words(vi_shr(first, 16));

				end_group(&to, to.a + s * to.group + words, s, v_mul(scale, factor),
					  v_mul(min, factor), mins, total);
			}
		}
		for_each_below(q, 0, VL / 4)
			c.quarter[q] += bytes;
	}
	for_each_below(r, 0, mr)
		v_store(g->c + r * g->c_row, total[r]);
}

#define FEW_FN(type, mr)							\
	static void few_##type##_##mr(const struct grouped_call *g)		\
	{									\
		few_blocks(g, UMA_DTYPE_##type, mr);				\
	}
#define FEW_FNS(type)								\
	FEW_FN(type, 1) FEW_FN(type, 2) FEW_FN(type, 3) FEW_FN(type, 4)
#define FEW_NAMES(type)	few_##type##_1, few_##type##_2, few_##type##_3, few_##type##_4

FEW_FNS(Q8_0)
FEW_FNS(Q4_0)
FEW_FNS(Q4_1)
FEW_FNS(Q4_K)
FEW_FNS(Q6_K)

/* One sum and one total of each row are registers. */
#if VL == 16
#define FEW_MORE(type)								\
	FEW_FN(type, 5) FEW_FN(type, 6) FEW_FN(type, 7) FEW_FN(type, 8)
#define FEW_LIST(type)								\
	{									\
		FEW_NAMES(type),						\
		few_##type##_5, few_##type##_6, few_##type##_7, few_##type##_8,	\
	}

FEW_MORE(Q8_0)
FEW_MORE(Q4_0)
FEW_MORE(Q4_1)
#else
#define FEW_LIST(type)	{ FEW_NAMES(type) }
#endif
#define FEW_ALL									\
	{									\
		FEW_LIST(Q8_0), FEW_LIST(Q4_0), FEW_LIST(Q4_1),			\
		{ FEW_NAMES(Q4_K) }, { FEW_NAMES(Q6_K) },			\
	}
