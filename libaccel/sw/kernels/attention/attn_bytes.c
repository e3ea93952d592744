// SPDX-License-Identifier: MIT
/*
 * Attention of few rows to keys and values of bytes by a Q of 16 bits: products of
 * bytes, in fixed point, exact but for what Q and the weights lose. Nothing is widened.
 *
 * A row of Q is 16-bit integers, the largest of which is 32639: q = 256 h + l, both
 * signed bytes. The sum of q k is that of q (k + 128), unsigned, less 128 times the sum of
 * q: a line of 64 bytes of keys is xor, two products and a shift. Sixteen keys are added
 * across lanes together: 20 shuffles, 10 blends and 15 additions for 16 scores; of keys of a
 * line, two are put together before they are multiplied.
 *
 * Weights, times the scales of their values, are integers up to 65535, that of the largest
 * of a block: two unsigned bytes. Four lines of values, interleaved so that four values of
 * an element lie side by side, are eight shuffles and eight products.
 *
 * Measured on a Zen 5, 12 heads of 64, cycles a line: scores 2.8 from L1, 3.0 from L2, 3.7
 * from L3, 7.0 from DRAM; values 2.2, 2.6, 3.1 and 8.7; reading alone 1.3 from L2, 2.2 from
 * L3, 6.5 from DRAM. Widened to binary32 both take 5, from DRAM 7. Without fetching ahead
 * it is 2.3 and 1.8 from L1, 3.2 from L3, but 11 to 14 from DRAM. Scores of four keys at
 * a time, head after head as they lie, take 2.7 from L2 and 3.4 from L3, 9 and more from
 * DRAM.
 */
#include "attn_v512.h"

/* Keys, or values, at once */
#define KEYS		16u
/* The largest of a row; sums of 256 products with what is at most 255 away from zero fit */
#define Q_MOST		32639
#define W_MOST		65535
/* The largest of what is to be fixed is at least this, or nothing */
#define TOP_LEAST	(1 / 1e30f)
/* Words of the weights of 16 keys */
#define W_WORDS		8u

V_INLINE vi dot(vi acc, vi u, vi s)
{
	return _mm512_dpbusd_epi32(acc, u, s);
}

/* --- into fixed point ----------------------------------------------------------------- */

/* Can magnitudes be fixed of which those are the bits? That of the largest is @top. */
V_INLINE bool fixable(vi bits, float *top)
{
	const uint32_t most = _mm512_reduce_max_epu32(bits);

	/* What is no number, and what has a sign, is above all numbers. */
	memcpy(top, &most, sizeof(*top));
	return most < 0x7f800000u && (!most || *top >= TOP_LEAST);
}

V_INLINE void store_bytes(uint8_t *p, vi x)
{
	_mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(x));
}

/* Scale, what is added to its sums, then the upper bytes, then the lower ones. */
static bool row(uint32_t *to, const float *x, uint32_t d, int32_t bias)
{
	const uint32_t room = (uint32_t)uma_roundup(d, 64);
	uint8_t *high = (uint8_t *)(to + ATTN_HEAD), *low = high + room;
	vi bits = vi_set(0), sum = vi_set(0);
	float top, inverse, scale;
	uint32_t i, less;

	for (i = 0; i < d; i += VL)
		bits = _mm512_max_epu32(bits, vi_and(vi_of(v_load(x + i)),
						     vi_bits(0x7fffffff)));
	if (!fixable(bits, &top))
		return false;
	inverse = top > 0 ? Q_MOST / top : 0;
	scale = top / Q_MOST;
	for (i = 0; i < d; i += VL) {
		const vi q = _mm512_cvtps_epi32(v_mul(v_load(x + i), v_set(inverse)));
		const vi l = _mm512_srai_epi32(vi_shl(q, 24), 24);

		sum = vi_add(sum, q);
		store_bytes(low + i, l);
		store_bytes(high + i, vi_shr(vi_sub(q, l), 8));
	}
	for (; i < room; i += VL) {
		store_bytes(low + i, vi_set(0));
		store_bytes(high + i, vi_set(0));
	}
	less = 0u - (uint32_t)bias * (uint32_t)_mm512_reduce_add_epi32(sum);
	memcpy(to, &scale, 4);
	memcpy(to + 1, &less, 4);
	return true;
}

/* Factor, what is subtracted from the sums; of 16 keys the upper bytes, then the lower. */
static bool weights(const struct attn_lines *l)
{
	const int32_t bias = (int32_t)l->zero - (l->dtype == UMA_DTYPE_U8 ? 128 : 0);
	const float *s = l->s;
	uint32_t *w = l->w;
	uint32_t r, j, more;
	float top, inverse;

	for (r = 0; r < l->heads * l->rows; r++, s += ATTN_KEYS, w += ATTN_HEAD + ATTN_KEYS) {
		uint8_t *to = (uint8_t *)(w + ATTN_HEAD);
		vi bits = vi_set(0), sum = vi_set(0);

		for (j = 0; j < l->n; j += VL)
			bits = _mm512_max_epu32(bits, vi_of(v_load(s + j)));
		if (!fixable(bits, &top))
			return false;
		inverse = top > 0 ? W_MOST / top : 0;
		for (j = 0; j < l->n; j += VL, to += 4ul * W_WORDS) {
			const vi x = _mm512_cvtps_epi32(v_mul(v_load(s + j), v_set(inverse)));

			sum = vi_add(sum, x);
			store_bytes(to, vi_shr(x, 8));
			store_bytes(to + VL, x);
		}
		top /= W_MOST;
		more = (uint32_t)bias * (uint32_t)_mm512_reduce_add_epi32(sum);
		memcpy(w, &top, 4);
		memcpy(w + 1, &more, 4);
	}
	return true;
}

/* --- where keys and values are -------------------------------------------------------- */

/* Which words of line @x there are: of the last one perhaps not all. */
V_INLINE __mmask16 lanes_of(uint32_t bytes, uint32_t x)
{
	const uint32_t left = bytes - x * 64;

	return (__mmask16)(left >= 64 ? 0xffffu : (1u << left / 4) - 1);
}

/* A line, with zeros where it ends. */
V_INLINE vi line_at(const uint8_t *p, __mmask16 lanes, const bool whole)
{
	return whole ? vi_load(p) : _mm512_maskz_loadu_epi32(lanes, p);
}

/**
 * struct keys - where 16 keys are
 * @p: each, of the first head
 * @step: bytes from a key to the next, if they are evenly apart
 * @count: keys there are
 * @even: are they, and all 16 there?
 */
struct keys {
	const uint8_t *const *p;
	int64_t step;
	uint32_t count;
	bool even;
};

V_INLINE struct keys find(const struct attn_lines *l, uint32_t j)
{
	struct keys k = {
		.p = l->p + j,
		.step = l->p[j + 1] - l->p[j],
		.count = UMA_MIN(l->n - j, KEYS),
	};
	int64_t off = 0;
	uint32_t i;

#pragma GCC unroll 16
	for (i = 2; i < KEYS; i++)
		off |= (k.p[i] - k.p[i - 1]) ^ k.step;
	k.even = k.count == KEYS && !off;
	return k;
}

/**
 * struct places - 16 keys evenly apart
 * @p: every fourth
 * @step: bytes from one to the next
 * @three: from one to the next but two
 *
 * Six registers for 16 addresses. Loading addresses would cost nearly as much as loading
 * keys, and so does what the compiler makes of it if it sees how they come about.
 */
struct places {
	const uint8_t *p[4];
	int64_t step;
	int64_t three;
};

V_INLINE struct places places(const uint8_t *p, int64_t step)
{
	struct places a = { .step = step, .three = 3 * step };
	uint32_t g;

	__asm__("" : "+r"(a.three));
#pragma GCC unroll 4
	for (g = 0; g < 4; g++, p += 4 * step) {
		a.p[g] = p;
		__asm__("" : "+r"(a.p[g]));
	}
	return a;
}

V_INLINE const uint8_t *key_at(const struct places *a, const uint32_t i)
{
	return a->p[i / 4] + (i % 4 == 3 ? a->three : i % 4 * a->step);
}

/* Those keys side by side, with zeros for what is not there. */
static __attribute__((noinline)) void gather(uint8_t *to, const struct keys *k, int64_t at,
					     uint32_t bytes)
{
	const uint32_t room = (uint32_t)uma_roundup(bytes, 64);
	uint32_t i;

	for (i = 0; i < k->count; i++)
		memcpy(to + i * room, k->p[i] + at, bytes);
	memset(to + k->count * room, 0, (size_t)(KEYS - k->count) * room);
}

/* 16 keys of a head, @at bytes behind the first: where they are, or a copy. */
V_INLINE const uint8_t *head_at(const struct attn_lines *l, const struct keys *k, int64_t at,
				uint32_t bytes, int64_t *step)
{
	*step = k->step;
	if (__builtin_expect(k->even, 1))
		return k->p[0] + at;
	*step = (int64_t)uma_roundup(bytes, 64);
	gather(l->copy, k, at, bytes);
	return l->copy;
}

/*
 * What comes after keys @j to @j + 15, a part of it for head @h: in the order in which it
 * lies, if it lies closely.
 */
V_INLINE void fetch(const struct attn_lines *l, const struct keys *k, uint32_t j, uint32_t h,
		    uint32_t bytes, const uint32_t lines)
{
	const bool close = l->step == bytes && k->step == l->step * l->heads;
	const struct places a = places(l->p[j + KEYS] + (close ? KEYS : 1) * l->step * h,
				       close ? l->step : k->step);
	uint32_t i, x;

	for (x = 0; x < lines; x++)
#pragma GCC unroll 16
		for (i = 0; i < KEYS; i++)
			__builtin_prefetch(key_at(&a, i) + x * 64ul, 0, 3);
}

/* --- scores --------------------------------------------------------------------------- */

/* Sums of a row and a key, lane by lane */
V_INLINE vf key_dot(const uint8_t *k, const uint32_t *row, uint32_t bytes, const uint32_t lines,
		    const bool whole, vi flip)
{
	const uint32_t *high = row + ATTN_HEAD, *low = high + lines * VL;
	vi acc = vi_set(0);
	uint32_t x;

	for (x = 0; x < lines; x++)
		acc = dot(acc, vi_xor(line_at(k + x * 64ul, lanes_of(bytes, x), whole), flip),
			  vi_load(high + x * VL));
	acc = vi_shl(acc, 8);
	for (x = 0; x < lines; x++)
		acc = dot(acc, vi_xor(line_at(k + x * 64ul, lanes_of(bytes, x), whole), flip),
			  vi_load(low + x * VL));
	return v_of(acc);
}

/* Sums of a row and 16 keys */
V_INLINE vi row_dots(const struct places *p, const uint32_t *row, uint32_t bytes,
		     const uint32_t lines, const bool whole, vi flip)
{
	vf a[4], b[4];
	uint32_t g, i;

#pragma GCC unroll 4
	for (g = 0; g < 4; g++) {
#pragma GCC unroll 4
		for (i = 0; i < 4; i++)
			b[i] = key_dot(key_at(p, 4 * g + i), row, bytes, lines, whole, flip);
		a[g] = v_across4(b, ACROSS_INT);
	}
	return vi_of(v_across(a, ACROSS_INT));
}

V_INLINE vi swap_halves(vi x)
{
	return _mm512_shuffle_i32x4(x, x, 0x4e);
}

/*
 * The same of keys of a line: halves of two keys are put together before they are
 * multiplied, which makes seven operations of nine and a half for a key.
 */
V_INLINE vi line_dots(const struct places *p, const uint32_t *row, vi flip)
{
	const vi high = vi_load(row + ATTN_HEAD), low = vi_load(row + ATTN_HEAD + VL);
	const vi high2 = swap_halves(high), low2 = swap_halves(low);
	vf a[2], b[4];
	uint32_t g, i;

#pragma GCC unroll 2
	for (g = 0; g < 2; g++) {
#pragma GCC unroll 4
		for (i = 0; i < 4; i++) {
			const vi x = vi_xor(vi_load(key_at(p, 8 * g + i)), flip);
			const vi y = vi_xor(vi_load(key_at(p, 8 * g + i + 4)), flip);
			const vi outer = _mm512_mask_blend_epi32(0xff00, x, y);
			const vi inner = _mm512_shuffle_i32x4(x, y, 0x4e);
			vi acc = dot(dot(vi_set(0), outer, high), inner, high2);

			acc = dot(dot(vi_shl(acc, 8), outer, low), inner, low2);
			b[i] = v_of(acc);
		}
		a[g] = v_across4(b, ACROSS_INT);
	}
	return vi_add(vi_of(_mm512_shuffle_f32x4(a[0], a[1], 0x88)),
		      vi_of(_mm512_shuffle_f32x4(a[0], a[1], 0xdd)));
}

V_INLINE void scores_of(const struct attn_lines *l, uint32_t bytes, const uint32_t lines,
			const bool whole)
{
	const vi flip = vi_bits(l->dtype == UMA_DTYPE_S8 ? 0x80808080u : 0);
	const uint32_t heads = l->heads, rows = l->rows;
	uint32_t j, h, r;

	for (j = 0; j < l->n; j += KEYS) {
		const uint32_t *row = (const uint32_t *)l->q;
		const struct keys k = find(l, j);
		float *s = l->s + j;
		int64_t at = 0;

		for (h = 0; h < heads; h++, at += l->step) {
			int64_t step;
			const uint8_t *first = head_at(l, &k, at, bytes, &step);
			const struct places p = places(first, step);

			fetch(l, &k, j, h, bytes, lines);
			for (r = 0; r < rows; r++, row += l->ldq, s += ATTN_KEYS) {
				vi sums = lines == 1 && whole ? line_dots(&p, row, flip) :
					  row_dots(&p, row, bytes, lines, whole, flip);

				sums = vi_add(sums, vi_word(row + 1));
				v_store(s, v_mul(_mm512_cvtepi32_ps(sums), v_word(row)));
			}
		}
	}
}

static void scores(const struct attn_lines *l)
{
	if (l->d == 64)
		scores_of(l, 64, 1, true);
	else if (l->d == 128)
		scores_of(l, 128, 2, true);
	else
		scores_of(l, l->d, (l->d + 63) / 64, false);
}

/* --- values --------------------------------------------------------------------------- */

/* Add a line of 16 values times their weights. Elements 4 i to 4 i + 3 of each 16 are in sum i. */
V_INLINE void value_sum(vi *acc, const uint8_t *p, int64_t step, __mmask16 lanes,
			const bool whole, const uint8_t *w, const bool flip)
{
	const struct places a = places(p, step);
	vi high[4], low[4];
	uint32_t g, i;

#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		high[i] = vi_set(0);
		low[i] = acc[i];
	}
#pragma GCC unroll 4
	for (g = 0; g < KEYS; g += 4) {
		const vi upper = vi_word(w + g), lower = vi_word(w + VL + g);
		vi x[4], t[4];

#pragma GCC unroll 4
		for (i = 0; i < 4; i++) {
			x[i] = line_at(key_at(&a, g + i), lanes, whole);
			/* One load, not one for each use */
			__asm__("" : "+v"(x[i]));
			if (flip)
				x[i] = vi_xor(x[i], vi_bits(0x80808080));
		}
		t[0] = _mm512_unpacklo_epi8(x[0], x[1]);
		t[1] = _mm512_unpackhi_epi8(x[0], x[1]);
		t[2] = _mm512_unpacklo_epi8(x[2], x[3]);
		t[3] = _mm512_unpackhi_epi8(x[2], x[3]);
		x[0] = _mm512_unpacklo_epi16(t[0], t[2]);
		x[1] = _mm512_unpackhi_epi16(t[0], t[2]);
		x[2] = _mm512_unpacklo_epi16(t[1], t[3]);
		x[3] = _mm512_unpackhi_epi16(t[1], t[3]);
#pragma GCC unroll 4
		for (i = 0; i < 4; i++) {
			high[i] = dot(high[i], upper, x[i]);
			low[i] = dot(low[i], lower, x[i]);
		}
	}
#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
		acc[i] = vi_add(vi_shl(high[i], 8), low[i]);
}

/* Sums of a line in the order of its elements: quarters of vectors turned, and scaled */
V_INLINE void value_end(vf *x, const vi *acc, const uint32_t *head)
{
	const vi a = _mm512_shuffle_i32x4(acc[0], acc[1], 0x88);
	const vi b = _mm512_shuffle_i32x4(acc[2], acc[3], 0x88);
	const vi c = _mm512_shuffle_i32x4(acc[0], acc[1], 0xdd);
	const vi d = _mm512_shuffle_i32x4(acc[2], acc[3], 0xdd);
	const vi sums[4] = {
		_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(c, d, 0x88),
		_mm512_shuffle_i32x4(a, b, 0xdd), _mm512_shuffle_i32x4(c, d, 0xdd),
	};
	uint32_t i;

#pragma GCC unroll 4
	for (i = 0; i < 4; i++)
		x[i] = v_mul(_mm512_cvtepi32_ps(vi_sub(sums[i], vi_word(head + 1))),
			     v_word(head));
}

/* Products of all values of a block, into sums of integers. */
V_INLINE void values_of(const struct attn_lines *l, uint32_t bytes, const uint32_t lines,
			const bool whole, const bool flip)
{
	const uint32_t heads = l->heads, rows = l->rows;
	uint32_t j, h, r, x;

	memset(l->acc, 0, 256ul * heads * rows * lines);
	for (j = 0; j < l->n; j += KEYS) {
		const uint32_t *w = l->w + ATTN_HEAD + j / KEYS * W_WORDS;
		const struct keys k = find(l, j);
		vi *acc = l->acc;
		int64_t at = 0;

		for (h = 0; h < heads; h++, at += l->step) {
			int64_t step;
			const uint8_t *p = head_at(l, &k, at, bytes, &step);

			fetch(l, &k, j, h, bytes, lines);
			for (r = 0; r < rows; r++, w += ATTN_HEAD + ATTN_KEYS)
				for (x = 0; x < lines; x++, acc += 4)
					value_sum(acc, p + x * 64ul, step, lanes_of(bytes, x),
						  whole, (const uint8_t *)w, flip);
		}
	}
}

static void values(const struct attn_lines *l)
{
	const bool flip = l->dtype == UMA_DTYPE_U8;
	const uint32_t *w = l->w;
	const vi *acc = l->acc;
	float *o = l->o;
	uint32_t r, e, i;

	if (flip)
		values_of(l, l->dv, (l->dv + 63) / 64, false, true);
	else if (l->dv == 64)
		values_of(l, 64, 1, true, false);
	else
		values_of(l, l->dv, (l->dv + 63) / 64, false, false);
	for (r = 0; r < l->heads * l->rows; r++, w += ATTN_HEAD + ATTN_KEYS, o += l->dv)
		for (e = 0; e < l->dv; e += 4 * VL, acc += 4) {
			vf x[4];

			value_end(x, acc, w);
			for (i = 0; i < 4 && e + i * VL < l->dv; i++)
				v_store(o + e + i * VL,
					v_add(v_load(o + e + i * VL), x[i]));
		}
}

const struct attn_narrow attn_bytes = {
	.row = row,
	.scores = scores,
	.weights = weights,
	.values = values,
};
