/* SPDX-License-Identifier: MIT */
/*
 * Strips of sums over taps. A block is some vectors: for each tap one load of weights and as
 * many multiply-adds with the other factor from memory; with 14 vectors at most 0.93 of the
 * limit if two loads and two multiply-adds start per cycle. For contiguous pixels (NCHW) these
 * loads cross cache lines, which halves that.
 *
 * Included after vec256.h or vec512.h, with TAPS_TABLE defined, and TAPS_VNNI with AVX512_VNNI.
 */
#include "taps.h"

#ifdef TAPS_VNNI
#define GROUP		4u
V_INLINE vi dot(vi sum, vi in, vi w)	{ return _mm512_dpbusd_epi32(sum, in, w); }
#else
#define GROUP		2u
V_INLINE vi dot(vi sum, vi in, vi w)	{ return vi_add(sum, vi_madd(in, w)); }
#endif

#if VL == 16
V_INLINE void copy_some(uint8_t *to, const uint8_t *from, uint32_t n)
{
	const __mmask16 m = (__mmask16)((1u << n) - 1);

	_mm512_mask_storeu_ps(to, m, _mm512_maskz_loadu_ps(m, from));
}

V_INLINE vi byte_words(const uint8_t *p)
{
	return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
}
#else
V_INLINE void copy_some(uint8_t *to, const uint8_t *from, uint32_t n)
{
	const vi lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
	const vi m = _mm256_cmpgt_epi32(vi_set((int32_t)n), lanes);

	_mm256_maskstore_ps((float *)(void *)to, m,
			    _mm256_maskload_ps((const float *)(const void *)from, m));
}

V_INLINE vi byte_words(const uint8_t *p)
{
	return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
}
#endif

/* Maximum vectors of a block: sums, weights and inputs are in registers. */
#if VL == 16
#define BLOCK		14u
#else
#define BLOCK		7u
#endif

/*
 * A base register and constant offsets: otherwise the compiler keeps an address for each
 * vector.
 */
V_INLINE const uint8_t *tap_at(const uint8_t *in, int32_t off)
{
	in += off;
	__asm__("" : "+r"(in));
	return in;
}

/* @step: of @s, a constant for frequent values */
V_INLINE void float_block(const struct taps_strip *s, const uint8_t *in, uint8_t *out,
			  const uint32_t n, const bool spread, const int64_t step)
{
	const vf none = v_set(0);
	uint32_t t, j;
	vf sum[BLOCK];

#pragma GCC unroll 14
	for (j = 0; j < n; j++)
		sum[j] = none;
	for (t = 0; t < s->taps; t++) {
		const vf w = spread ? v_word(s->w + 4ul * t) : v_load(s->w + (size_t)t * VL * 4);
		const uint8_t *at = tap_at(in, s->off[t]);

#pragma GCC unroll 14
		for (j = 0; j < n; j++)
			sum[j] = v_fma(v_load(at + j * step), w, sum[j]);
	}
	if (s->bias) {
#pragma GCC unroll 14
		for (j = 0; j < n; j++)
			sum[j] = v_add(sum[j], v_load(s->bias));
	}
	if (s->relu) {
		/* A NaN, the second operand, is kept; +0 for -0 */
#pragma GCC unroll 14
		for (j = 0; j < n; j++)
			sum[j] = v_add(v_max(none, sum[j]), none);
	}
#pragma GCC unroll 14
	for (j = 0; j < n; j++)
		v_store(out + j * s->out_step, sum[j]);
}

V_INLINE void byte_block(const struct taps_strip *s, const uint8_t *in, uint8_t *out,
			 const uint32_t n, const bool spread, const int64_t step)
{
	uint32_t t, j;
	vi sum[BLOCK];

#pragma GCC unroll 14
	for (j = 0; j < n; j++)
		sum[j] = spread ? vi_word(s->start) : vi_load(s->start);
	for (t = 0; t < s->taps; t++) {
		const vi w = spread ? vi_word(s->w + 4ul * t) : vi_load(s->w + (size_t)t * VL * 4);
		const uint8_t *at = tap_at(in, s->off[t]);

#pragma GCC unroll 14
		for (j = 0; j < n; j++)
			sum[j] = dot(sum[j], vi_load(at + j * step), w);
	}
#pragma GCC unroll 14
	for (j = 0; j < n; j++)
		v_store(out + j * s->out_step, v_of(sum[j]));
}

V_INLINE void block(const struct taps_strip *s, uint32_t at, const uint32_t n, const bool bytes,
		    const bool spread, const int64_t step)
{
	const uint8_t *in = s->in + at * step;
	uint8_t *out = s->out + at * s->out_step;

	if (bytes)
		byte_block(s, in, out, n, spread, step);
	else
		float_block(s, in, out, n, spread, step);
}

/* The last vectors overlap the previous block, because few sums have long dependency chains. */
V_INLINE void strip(const struct taps_strip *s, const bool bytes, const bool spread,
		    const int64_t step)
{
	uint32_t i = 0;

#if VL == 16
	for (; s->n - i >= 14; i += 14)
		block(s, i, 14, bytes, spread, step);
#endif
	for (; s->n >= 7 && i < s->n; i += 7) {
		if (i > s->n - 7)
			i = s->n - 7;
		block(s, i, 7, bytes, spread, step);
	}
	if (s->n - i >= 4) {
		block(s, i, 4, bytes, spread, step);
		i += 4;
	}
	if (s->n - i >= 2) {
		block(s, i, 2, bytes, spread, step);
		i += 2;
	}
	if (s->n - i)
		block(s, i, 1, bytes, spread, step);
}

static void float_strip(const struct taps_strip *s)
{
	if (s->spread)
		strip(s, false, true, 4 * VL);
	else if (s->step == 4 * VL)
		strip(s, false, false, 4 * VL);
	else if (s->step == 8 * VL)
		strip(s, false, false, 8 * VL);
	else
		strip(s, false, false, s->step);
}

static void byte_strip(const struct taps_strip *s)
{
	s->spread ? strip(s, true, true, 4 * VL) : strip(s, true, false, 4 * VL);
}

static void total(const uint8_t *w, uint32_t taps, uint8_t *to)
{
	vi sum = vi_set(0);
	uint32_t t;

	for (t = 0; t < taps; t++)
		sum = dot(sum, vi_set(0x01010101), vi_load(w + (size_t)t * VL * 4));
	v_store(to, v_of(sum));
}

static void copy_words(const struct taps_lines *l)
{
	const uint8_t *from = l->from;
	uint8_t *to = l->to;
	uint32_t i, k;

	for (i = 0; i < l->lines; i++, from += l->step, to += l->to_step) {
		for (k = 0; k + VL <= l->n; k += VL)
			v_store(to + 4ul * k, v_load(from + 4ul * k));
		if (k < l->n)
			copy_some(to + 4ul * k, from + 4ul * k, l->n - k);
	}
}

static void copy_bf16(const struct taps_lines *l)
{
	const uint8_t *from = l->from;
	uint8_t *to = l->to;
	uint32_t i, k, x;

	for (i = 0; i < l->lines; i++, from += l->step, to += l->to_step) {
		for (k = 0; k + VL <= l->n; k += VL)
			v_store(to + 4ul * k, v_load_bf16(from + 2ul * k));
		for (; k < l->n; k++) {
			x = (uint32_t)from[2 * k] << 16 | (uint32_t)from[2 * k + 1] << 24;
			memcpy(to + 4ul * k, &x, sizeof(x));
		}
	}
}

static void copy_bytes(const struct taps_lines *l)
{
	const __m128i flip = _mm_set1_epi8((char)l->flip);
	const uint8_t *from = l->from;
	uint8_t *to = l->to;
	uint32_t i, k;

	for (i = 0; i < l->lines; i++, from += l->step, to += l->to_step) {
		for (k = 0; k + 16 <= l->n; k += 16)
			_mm_storeu_si128((__m128i *)(to + k),
					 _mm_xor_si128(_mm_loadu_si128((const __m128i *)(from + k)),
						       flip));
		for (; k < l->n; k++)
			to[k] = from[k] ^ l->flip;
	}
}

V_INLINE vi joined(const uint8_t *p, int64_t tap, vi za)
{
	const vi a = byte_words(p), b = byte_words(p + tap);

#if GROUP == 4
	const vi c = byte_words(p + 2 * tap), d = byte_words(p + 3 * tap);

	(void)za;
	return vi_or(vi_or(a, vi_shl(b, 8)), vi_or(vi_shl(c, 16), vi_shl(d, 24)));
#else
	return vi_or(vi_and(vi_sub(a, za), vi_set(0xffff)), vi_shl(vi_sub(b, za), 16));
#endif
}

/* Reads up to a vector of bytes after the last one. */
static void join_bytes(const struct taps_join *j)
{
	const vi za = vi_set(j->za);
	const uint8_t *from = j->from;
	uint32_t i, k, rest[VL], *to = j->to;

	for (i = 0; i < j->lines; i++, from += j->step, to += j->to_step) {
		for (k = 0; k + VL <= j->n; k += VL)
			v_store(to + k, v_of(joined(from + k, j->tap, za)));
		if (k < j->n) {
			v_store(rest, v_of(joined(from + k, j->tap, za)));
			copy_some((uint8_t *)(to + k), (const uint8_t *)rest, j->n - k);
		}
	}
}

/* Reads up to two vectors after the last word. */
static void part_words(const float *from, uint32_t n, float *even, float *odd)
{
	float rest[2 * VL];
	uint32_t i;
	vf a, b;

	for (i = 0; i < n; i += 2 * VL) {
		v_part(&a, &b, v_load(from + i), v_load(from + i + VL));
		if (i + 2 * VL <= n) {
			v_store(even + i / 2, a);
			v_store(odd + i / 2, b);
			continue;
		}
		v_store(rest, a);
		v_store(rest + VL, b);
		copy_some((uint8_t *)(even + i / 2), (const uint8_t *)rest, (n - i + 1) / 2);
		copy_some((uint8_t *)(odd + i / 2), (const uint8_t *)(rest + VL), (n - i) / 2);
	}
}

const struct taps_kernels TAPS_TABLE = {
	.floats = float_strip,
	.bytes = byte_strip,
	.total = total,
	.bf16 = copy_bf16,
	.words = copy_words,
	.copy = copy_bytes,
	.join = join_bytes,
	.part = part_words,
	.lanes = VL,
	.group = GROUP,
};
