/* SPDX-License-Identifier: MIT */
/*
 * Kernels of attn_stream.c, included once for each instruction set behind
 * attn_kern.h: lanes are elements of a key. Four keys, or values, are taken at
 * once, head after head as they lie in memory: five loads for four multiply-adds,
 * four of them of what comes from memory. The sums of four keys are put into one
 * vector, four such vectors are added across lanes together.
 *
 * bf16 is widened in place, even elements by a shift and odd ones by a mask, so
 * rows and sums have their elements in that order: a line of 64 bytes is a load, two
 * operations and two multiply-adds. Of bytes it is four loads, eight operations and
 * four multiply-adds.
 *
 * Measured on a Zen 5, 12 heads of 64, GB/s: from L2 fp32 118, bf16 92, s8 44, from
 * L3 95, 83 and 42, where reading alone does 178 and 102. Prefetching is worth a
 * tenth of that from L3, half of it from DRAM. Bytes are bound by the core: 5 cycles
 * a line, as many from L1, and as many when they are widened by way of the exponent.
 */

/* Partial sums of a row: those of four keys in a vector */
#define PARTS	(VL / 4)

/* Beside the types: s8 without a zero point, half a unit of bf16 */
#define LINE_S8_PLAIN	UMA_DTYPE_COUNT
#define LINE_BF16_HALF	(UMA_DTYPE_COUNT + 1)

/* @fn for what is of the type of @l. */
#define FOR_DTYPE(fn, l)							\
	((l)->dtype == UMA_DTYPE_F32 ? fn(l, UMA_DTYPE_F32) :			\
	 (l)->dtype == UMA_DTYPE_BF16 ? fn(l, UMA_DTYPE_BF16) :			\
	 (l)->dtype == UMA_DTYPE_F16 ? fn(l, UMA_DTYPE_F16) :			\
	 (l)->dtype == UMA_DTYPE_U8 ? fn(l, UMA_DTYPE_U8) :			\
	 (l)->zero != 0 ? fn(l, UMA_DTYPE_S8) : fn(l, LINE_S8_PLAIN))

/* Bytes of a unit, which is what is taken at once: VL elements, of bf16 twice as many */
V_INLINE size_t line_unit(const uint32_t dtype)
{
	return dtype == UMA_DTYPE_F32 || dtype == UMA_DTYPE_BF16 ? 4 * VL :
	       dtype == UMA_DTYPE_F16 ? 2 * VL : VL;
}

V_INLINE size_t line_size(const uint32_t dtype)
{
	return dtype == UMA_DTYPE_F32 ? 4 : dtype == UMA_DTYPE_BF16 ||
	       dtype == UMA_DTYPE_F16 || dtype == LINE_BF16_HALF ? 2 : 1;
}

/* A unit, in one vector or, of bf16, two: its even elements and its odd ones. */
V_INLINE void line_load(vf *x, const uint8_t *p, vf zero, const uint32_t dtype)
{
	vi both;

	switch (dtype) {
	case UMA_DTYPE_F32:
		x[0] = v_load(p);
		break;
	case UMA_DTYPE_BF16:
		both = vi_load(p);
		/* One load, not one in each of both. */
		__asm__("" : "+v"(both));
		x[0] = v_of(vi_shl(both, 16));
		x[1] = v_of(vi_and(both, vi_bits(0xffff0000)));
		break;
	case LINE_BF16_HALF:
		x[0] = v_load_bf16(p);
		break;
	case UMA_DTYPE_F16:
		x[0] = v_load_f16(p);
		break;
	case LINE_S8_PLAIN:
		x[0] = v_bytes(p, true);
		break;
	default:
		x[0] = v_sub(v_bytes(p, dtype == UMA_DTYPE_S8), zero);
		break;
	}
}

/* s += a unit, @x bytes into @count keys, times that of the row */
V_INLINE void line_dot(vf *s, const uint8_t *const *p, const float *q, size_t x, vf zero,
		       const uint32_t dtype, const uint32_t count)
{
	const bool two = dtype == UMA_DTYPE_BF16;
	const vf w = v_load(q + x / line_size(dtype));
	const vf w2 = two ? v_load(q + x / line_size(dtype) + VL) : w;
	uint32_t i;

	SPECIAL_LOOP(4)
	for (i = 0; i < count; i++) {
		vf k[2];

		line_load(k, p[i] + x, zero, dtype);
		s[i] = v_fma(k[0], w, s[i]);
		if (two)
			s[i] = v_fma(k[1], w2, s[i]);
	}
}

/* o += a unit, @x bytes into @count values, times their weights */
V_INLINE void line_sum(float *o, const uint8_t *const *p, const vf *w, size_t x, vf zero,
		       const uint32_t dtype, const uint32_t count)
{
	const bool two = dtype == UMA_DTYPE_BF16;
	float *to = o + x / line_size(dtype);
	vf a = v_load(to), b = two ? v_load(to + VL) : a;
	uint32_t i;

	SPECIAL_LOOP(4)
	for (i = 0; i < count; i++) {
		vf k[2];

		line_load(k, p[i] + x, zero, dtype);
		a = v_fma(k[0], w[i], a);
		if (two)
			b = v_fma(k[1], w[i], b);
	}
	v_store(to, a);
	if (two)
		v_store(to + VL, b);
}

/* Lines of 64 bytes ahead of those at @x */
V_INLINE void line_fetch(const uint8_t *const *p, size_t x, const uint32_t count)
{
	uint32_t i;

	SPECIAL_LOOP(4)
	for (i = 0; i < count; i++)
		__builtin_prefetch(p[i] + x, 0, 3);
}

/* Are @n numbers finite, a multiple of VL? */
static bool line_finite(const float *x, uint32_t n)
{
	vi high = vi_set(0);
	uint32_t i;

	for (i = 0; i < n; i += VL)
		high = vi_max(high, v_exponent(v_load(x + i)));
	return v_all_finite(high, VL);
}

static void line_order(float *x, uint32_t n, uint32_t dtype, bool back)
{
	uint32_t i;
	vf a, b;

	for (i = 0; dtype == UMA_DTYPE_BF16 && i + 2 * VL <= n; i += 2 * VL) {
		if (back)
			v_join(&a, &b, v_load(x + i), v_load(x + i + VL));
		else
			v_part(&a, &b, v_load(x + i), v_load(x + i + VL));
		v_store(x + i, a);
		v_store(x + i + VL, b);
	}
}

/*
 * Products of @count keys, @j the first, with each row of each head: partial
 * sums, lane by lane. Keys are read in the order in which they lie.
 */
SPECIAL void line_dots(const struct attn_lines *l, uint32_t j, const uint32_t dtype,
		       const uint32_t count)
{
	const size_t bytes = l->d * line_size(dtype), unit = line_unit(dtype);
	const size_t ahead = (size_t)(l->p[j + l->ahead] - l->p[j]);
	const uint32_t rows = l->rows;
	const vf zero = v_set(l->zero);
	const float *q = l->q;
	float *part = l->part + j % VL / 4 * VL;
	const uint8_t *p[4];
	uint32_t h, r, i;
	size_t x, y;

	SPECIAL_LOOP(4)
	for (i = 0; i < count; i++)
		p[i] = l->p[j + i];
	for (h = 0; h < l->heads; h++) {
		for (r = 0; r < rows; r++, q += l->ldq, part += PARTS * VL) {
			vf s[4];

			SPECIAL_LOOP(4)
			for (i = 0; i < 4; i++)
				s[i] = v_set(0);
			for (x = 0; x + 64 <= bytes; x += 64) {
				line_fetch(p, x + ahead, count);
				SPECIAL_LOOP(8)
				for (y = 0; y < 64; y += unit)
					line_dot(s, p, q, x + y, zero, dtype, count);
			}
			for (; x + unit <= bytes; x += unit)
				line_dot(s, p, q, x, zero, dtype, count);
			if (dtype == UMA_DTYPE_BF16 && x < bytes)
				line_dot(s, p, q, x, zero, LINE_BF16_HALF, count);
			v_store(part, v_across4(s, ACROSS_SUM));
		}
		SPECIAL_LOOP(4)
		for (i = 0; i < count; i++)
			p[i] += l->step;
	}
}

V_INLINE void line_dots_rest(const struct attn_lines *l, uint32_t j, const uint32_t dtype,
			     uint32_t count)
{
	if (count == 3)
		line_dots(l, j, dtype, 3);
	else if (count == 2)
		line_dots(l, j, dtype, 2);
	else
		line_dots(l, j, dtype, 1);
}

SPECIAL void line_scores_of(const struct attn_lines *l, const uint32_t dtype)
{
	const uint32_t all = l->heads * l->rows;
	uint32_t i, j, r, parts;

	for (j = 0; j < l->n; j += VL) {
		for (i = j; i + 4 <= l->n && i < j + VL; i += 4)
			line_dots(l, i, dtype, 4);
		if (i < l->n && i < j + VL)
			line_dots_rest(l, i, dtype, l->n - i);
		parts = (UMA_MIN(l->n - j, VL) + 3) / 4;
		for (r = 0; r < all; r++) {
			const float *part = l->part + r * PARTS * VL;
			vf a[PARTS];

#pragma GCC unroll 4
			for (i = 0; i < PARTS; i++)
				a[i] = i < parts ? v_load(part + i * VL) : v_set(0);
			v_store(l->s + r * ATTN_KEYS + j, v_across(a, ACROSS_SUM));
		}
	}
}

static void line_scores(const struct attn_lines *l)
{
	FOR_DTYPE(line_scores_of, l);
}

/* What each of VL vectors comes to. */
V_INLINE vf line_each(const vf *a, const int op)
{
	vf part[PARTS];
	uint32_t i;

#pragma GCC unroll 4
	for (i = 0; i < PARTS; i++)
		part[i] = v_across4(a + 4 * i, op);
	return v_across(part, op);
}

/* From @j on, of @n. Behind the last there is what somebody left, which may be no number. */
V_INLINE vf line_part(const float *p, uint32_t j, uint32_t n)
{
	const vf x = v_load(p + j);

	return j + VL > n ? v_first_or_0(x, n - j) : x;
}

/* Scores get the scales of their keys. */
static void line_scale(const struct attn_line *l)
{
	const float *scale = l->kscale;
	float *s = l->s, *const end = s + (size_t)l->rows * ATTN_KEYS;
	uint32_t r, j;

	for (; s < end; scale += ATTN_KEYS)
		for (r = 0; r < l->group; r++, s += ATTN_KEYS)
			for (j = 0; j < l->n; j += VL)
				v_store(s + j, v_mul(line_part(s, j, l->n),
						     line_part(scale, j, l->n)));
}

/* The largest of a row's scores, lane by lane; those behind the last are none. */
V_INLINE vf line_top(float *s, uint32_t n)
{
	vf top = v_set(MINUS_INF);
	uint32_t j;

	for (j = 0; j < n; j += VL) {
		vf x = v_load(s + j);

		if (j + VL > n)
			x = v_first(x, n - j);
		v_store(s + j, x);
		top = v_max(top, x);
	}
	return top;
}

/* Scores become weights, with the scales of the values; their sum without, lane by lane. */
V_INLINE vf line_weights(float *s, const float *vscale, uint32_t n, float c, float at)
{
	vf all = v_set(0);
	uint32_t j;

	for (j = 0; j < n; j += VL) {
		vf x = v_exp2(power_of(v_load(s + j), v_set(at), v_set(c)));

		all = v_add(all, x);
		if (vscale)
			x = v_if_equal(x, v_set(0), x, v_mul(x, line_part(vscale, j, n)));
		v_store(s + j, x);
	}
	return all;
}

/* @count rows from @first on: one for each lane, where only that is left of each. */
V_INLINE void line_soften_some(const struct attn_line *l, uint32_t first, uint32_t count)
{
	const vf none = v_set(MINUS_INF), old = v_load(l->shift + first);
	float *s = l->s + (size_t)first * ATTN_KEYS, *o = l->o + (size_t)first * l->dv;
	float at[VL], rescale[VL];
	vf each[VL], top, factor;
	uint32_t i, j;

	for (i = 0; i < VL; i++)
		each[i] = i < count ? line_top(s + i * ATTN_KEYS, l->n) : none;
	/* A NaN does not become the largest. */
	top = v_max(line_each(each, ACROSS_MAX), old);
	v_store(l->shift + first, top);
	top = v_if_equal(top, none, v_set(0), top);
	v_store(at, top);
	factor = v_if_equal(old, none, v_set(1), v_exp2(power_of(old, top, v_set(l->c))));
	v_store(rescale, factor);
	for (i = 0; i < VL; i++) {
		const uint32_t head = (first + i) / l->group * ATTN_KEYS;

		each[i] = i < count ? line_weights(s + i * ATTN_KEYS, l->vscale ?
						   l->vscale + head : NULL, l->n, l->c,
						   at[i]) : v_set(0);
	}
	v_store(l->sum + first, v_add(v_mul(v_load(l->sum + first), factor),
				      line_each(each, ACROSS_SUM)));
	for (i = 0; i < count; i++, o += l->dv)
		for (j = 0; j < l->dv && rescale[i] != 1; j += VL)
			v_store(o + j, rescaled(v_load(o + j), v_set(rescale[i])));
}

static void line_soften(const struct attn_line *l)
{
	uint32_t r;

	for (r = 0; r < l->rows; r += VL)
		line_soften_some(l, r, UMA_MIN(VL, l->rows - r));
}

/* o += weights times @count values, @j the first, of each row of each head. */
SPECIAL void line_sums(const struct attn_lines *l, uint32_t j, const uint32_t dtype,
		       const uint32_t count)
{
	const size_t bytes = l->dv * line_size(dtype), unit = line_unit(dtype);
	const size_t ahead = (size_t)(l->p[j + l->ahead] - l->p[j]);
	const uint32_t rows = l->rows, dv = l->dv;
	const vf zero = v_set(l->zero);
	const float *s = l->s + j;
	float *o = l->o;
	const uint8_t *p[4];
	uint32_t h, r, i;
	size_t x, y;

	SPECIAL_LOOP(4)
	for (i = 0; i < count; i++)
		p[i] = l->p[j + i];
	for (h = 0; h < l->heads; h++) {
		for (r = 0; r < rows; r++, o += dv, s += ATTN_KEYS) {
			vf w[4];

			/* One at a time */
			if (l->skip_zero && s[0] == 0)
				continue;
			SPECIAL_LOOP(4)
			for (i = 0; i < count; i++)
				w[i] = v_set(s[i]);
			for (x = 0; x + 64 <= bytes; x += 64) {
				line_fetch(p, x + ahead, count);
				SPECIAL_LOOP(8)
				for (y = 0; y < 64; y += unit)
					line_sum(o, p, w, x + y, zero, dtype, count);
			}
			for (; x + unit <= bytes; x += unit)
				line_sum(o, p, w, x, zero, dtype, count);
			if (dtype == UMA_DTYPE_BF16 && x < bytes)
				line_sum(o, p, w, x, zero, LINE_BF16_HALF, count);
		}
		SPECIAL_LOOP(4)
		for (i = 0; i < count; i++)
			p[i] += l->step;
	}
}

SPECIAL void line_values_of(const struct attn_lines *l, const uint32_t dtype)
{
	uint32_t j;

	for (j = 0; j + 4 <= l->n && !l->skip_zero; j += 4)
		line_sums(l, j, dtype, 4);
	for (; j < l->n; j++)
		line_sums(l, j, dtype, 1);
}

static void line_values(const struct attn_lines *l)
{
	FOR_DTYPE(line_values_of, l);
}

/*
 * The sum of all weights; @all is that without the sink, @top the largest score of the keys.
 * @factor: of each piece. A sink that is no number is one more weight.
 */
V_INLINE float line_sink(const struct attn_merge *m, float top, float all, float *factor)
{
	const float sink = *m->sink, old = top * m->unit;
	const float at = sink > old ? sink : old;
	float keys;
	uint32_t i;

	if (sink == MINUS_INF)
		return all;
	keys = old == MINUS_INF ? 0 : exp2f((old - at) * ATTN_LOG2E);
	for (i = 0; i < m->pieces; i++)
		factor[i] *= keys;
	return all * keys + exp2f((sink - at) * ATTN_LOG2E);
}

/*
 * What each piece is worth beside the largest score of all; returns the sum of all
 * weights. A piece of no weights has no largest score, nor has one of scores that are no
 * numbers, and this one counts.
 */
V_INLINE float line_factors(const struct attn_merge *m, float *factor)
{
	const vf none = v_set(MINUS_INF);
	float shift[ATTN_PIECES], sums[ATTN_PIECES];
	vf top = none, all = v_set(0);
	float most, at;
	uint32_t i;

	for (i = 0; i < uma_roundup(m->pieces, VL); i++) {
		shift[i] = i < m->pieces ? m->from[i * m->step + m->dv] : MINUS_INF;
		sums[i] = i < m->pieces ? m->from[i * m->step + m->dv + 1] : 0;
	}
	for (i = 0; i < m->pieces; i += VL)
		top = v_max(v_load(shift + i), top);
	most = v_largest(top);
	at = most == MINUS_INF ? 0 : most;
	for (i = 0; i < m->pieces; i += VL) {
		const vf x = v_load(shift + i), sum = v_load(sums + i);
		vf f = v_exp2(power_of(x, v_set(at), v_set(m->c)));

		f = v_if_equal(x, none, v_if_equal(sum, v_set(0), v_set(0), v_set(1)), f);
		v_store(factor + i, f);
		all = v_add(all, v_mul(sum, f));
	}
	return m->sink ? line_sink(m, most, v_total(all), factor) : v_total(all);
}

static void line_merge(const struct attn_merge *m, float *x)
{
	float factor[ATTN_PIECES], sum = line_factors(m, factor);
	const vf scale = v_set(sum == 0 ? 0 : m->scale / sum);
	uint32_t e, i;

	for (e = 0; e < m->dv; e += VL) {
		const float *from = m->from + e;
		vf all = v_set(0);

		for (i = 0; i < m->pieces; i++, from += m->step)
			/* Whatever is in a piece that counts for nothing */
			if (factor[i] != 0)
				all = v_fma(v_set(factor[i]), v_load(from), all);
		v_store(x + e, v_mul(all, scale));
	}
}
