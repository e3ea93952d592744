/* SPDX-License-Identifier: MIT */
/*
 * Kernels of attn_stream.c, included once for each instruction set behind
 * attn_kern.h: lanes are elements of a key. Four keys, or values, are taken at
 * once, head after head as they lie in memory: five loads for four multiply-adds,
 * four of them of what comes from memory. The sums of four keys are put into one
 * vector, four such vectors are added across lanes together.
 *
 * Measured on a Zen 5, 12 heads of 64: from L2 119 GB/s fp32, 79 bf16, from L3 84
 * to 92 and 75, where reading alone does 95 to 125.
 */

/* Partial sums of a row: those of four keys in a vector */
#define PARTS	(VL / 4)

V_INLINE vf line_load(const uint8_t *p, vf zero, const uint32_t dtype)
{
	switch (dtype) {
	case UMA_DTYPE_F32:
		return v_load(p);
	case UMA_DTYPE_BF16:
		return v_load_bf16(p);
	case UMA_DTYPE_F16:
		return v_load_f16(p);
	default:
		return v_sub(v_bytes(p, dtype == UMA_DTYPE_S8), zero);
	}
}

/* @fn for what is of the type of @l. */
#define FOR_DTYPE(fn, l)						\
	((l)->dtype == UMA_DTYPE_F32 ? fn(l, UMA_DTYPE_F32) :		\
	 (l)->dtype == UMA_DTYPE_BF16 ? fn(l, UMA_DTYPE_BF16) :		\
	 (l)->dtype == UMA_DTYPE_F16 ? fn(l, UMA_DTYPE_F16) :		\
	 (l)->dtype == UMA_DTYPE_S8 ? fn(l, UMA_DTYPE_S8) : fn(l, UMA_DTYPE_U8))

V_INLINE uint32_t line_size(const uint32_t dtype)
{
	return dtype == UMA_DTYPE_F32 ? 4 :
	       dtype == UMA_DTYPE_BF16 || dtype == UMA_DTYPE_F16 ? 2 : 1;
}

/* One step of VL elements, @x bytes into @count keys; lines of 64 bytes ahead. */
V_INLINE void line_dot(vf *s, const uint8_t *const *p, const float *q, uint32_t x,
		       int64_t ahead, vf zero, const uint32_t dtype, const uint32_t count)
{
	const vf w = v_load(q + x / line_size(dtype));
	uint32_t i;

#pragma GCC unroll 4
	for (i = 0; i < count; i++) {
		if (!(x % 64))
			__builtin_prefetch(p[i] + x + ahead, 0, 3);
		s[i] = v_fma(line_load(p[i] + x, zero, dtype), w, s[i]);
	}
}

/*
 * Products of @count keys, @j the first, with each row of each head: partial
 * sums, lane by lane. Keys are read in the order in which they lie.
 */
V_INLINE void line_dots(const struct attn_lines *l, uint32_t j, const uint32_t dtype,
			const uint32_t count)
{
	const uint32_t bytes = l->d * line_size(dtype), step = VL * line_size(dtype);
	const int64_t ahead = l->p[j + l->ahead] - l->p[j];
	const uint32_t rows = l->rows, d = l->d;
	const vf zero = v_set(l->zero);
	const float *q = l->q;
	float *part = l->part + j % VL / 4 * VL;
	const uint8_t *p[4];
	uint32_t h, r, i, x, y;

#pragma GCC unroll 4
	for (i = 0; i < count; i++)
		p[i] = l->p[j + i];
	for (h = 0; h < l->heads; h++) {
		for (r = 0; r < rows; r++, q += d, part += PARTS * VL) {
			vf s[4];

#pragma GCC unroll 4
			for (i = 0; i < 4; i++)
				s[i] = v_set(0);
			for (x = 0; x + 4 * step <= bytes; x += 4 * step)
#pragma GCC unroll 4
				for (y = 0; y < 4 * step; y += step)
					line_dot(s, p, q, x + y, ahead, zero, dtype, count);
			for (; x < bytes; x += step)
				line_dot(s, p, q, x, ahead, zero, dtype, count);
			v_store(part, v_across4(s));
		}
#pragma GCC unroll 4
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

V_INLINE void line_scores_of(const struct attn_lines *l, const uint32_t dtype)
{
	const uint32_t all = l->heads * l->rows;
	uint32_t i, j, r;

	for (j = 0; j < l->n; j += VL) {
		for (i = j; i + 4 <= l->n && i < j + VL; i += 4)
			line_dots(l, i, dtype, 4);
		if (i < l->n && i < j + VL)
			line_dots_rest(l, i, dtype, l->n - i);
		/* Behind the last key it is anything. */
		for (r = 0; r < all; r++)
			v_store(l->s + r * ATTN_KEYS + j, v_across(l->part + r * PARTS * VL));
	}
}

static void line_scores(const struct attn_lines *l)
{
	FOR_DTYPE(line_scores_of, l);
}

/* Scores of a row, with their scales, become weights, with those of the values. */
static void line_soften(const struct attn_line *l, struct attn_sum *sum)
{
	float *s = l->s, c = l->c, at, rescale;
	vf top = v_set(MINUS_INF), all = v_set(0);
	uint32_t j;

	for (j = 0; j < l->n; j += VL) {
		vf x = v_load(s + j);

		if (l->kscale)
			x = v_mul(x, v_load(l->kscale + j));
		x = v_first(x, l->n - j);
		v_store(s + j, x);
		top = v_max(top, x);
	}
	at = v_largest(top) * c;
	at = at > sum->shift ? at : sum->shift;
	rescale = 1;
	if (at != sum->shift)
		rescale = sum->shift == MINUS_INF ? 0 : exp2f(sum->shift - at);
	sum->shift = at;
	if (at == MINUS_INF)
		at = 0;
	for (j = 0; j < l->n; j += VL) {
		vf x = v_exp2(v_fmsub(v_load(s + j), v_set(c), v_set(at)));

		all = v_add(all, x);
		if (l->vscale)
			x = v_if_equal(x, v_set(0), x, v_mul(x, v_load(l->vscale + j)));
		v_store(s + j, x);
	}
	sum->sum = sum->sum * rescale + v_total(all);
	for (j = 0; j < l->dv && rescale != 1; j += VL)
		v_store(l->o + j, v_mul(v_load(l->o + j), v_set(rescale)));
}

/* One step of VL elements, @x bytes into @count values. */
V_INLINE void line_sum(float *o, const uint8_t *const *p, const vf *w, uint32_t x,
		       int64_t ahead, vf zero, const uint32_t dtype, const uint32_t count)
{
	float *to = o + x / line_size(dtype);
	vf a = v_load(to);
	uint32_t i;

#pragma GCC unroll 4
	for (i = 0; i < count; i++) {
		if (!(x % 64))
			__builtin_prefetch(p[i] + x + ahead, 0, 3);
		a = v_fma(line_load(p[i] + x, zero, dtype), w[i], a);
	}
	v_store(to, a);
}

/* o += weights times @count values, @j the first, of each row of each head. */
V_INLINE void line_sums(const struct attn_lines *l, uint32_t j, const uint32_t dtype,
			const uint32_t count)
{
	const uint32_t bytes = l->dv * line_size(dtype), step = VL * line_size(dtype);
	const int64_t ahead = l->p[j + l->ahead] - l->p[j];
	const uint32_t rows = l->rows, dv = l->dv;
	const vf zero = v_set(l->zero);
	const float *s = l->s + j;
	float *o = l->o;
	const uint8_t *p[4];
	uint32_t h, r, i, x, y;

#pragma GCC unroll 4
	for (i = 0; i < count; i++)
		p[i] = l->p[j + i];
	for (h = 0; h < l->heads; h++) {
		for (r = 0; r < rows; r++, o += dv, s += ATTN_KEYS) {
			vf w[4];

			/* One at a time */
			if (l->skip_zero && s[0] == 0)
				continue;
#pragma GCC unroll 4
			for (i = 0; i < count; i++)
				w[i] = v_set(s[i]);
			for (x = 0; x + 4 * step <= bytes; x += 4 * step)
#pragma GCC unroll 4
				for (y = 0; y < 4 * step; y += step)
					line_sum(o, p, w, x + y, ahead, zero, dtype, count);
			for (; x < bytes; x += step)
				line_sum(o, p, w, x, ahead, zero, dtype, count);
		}
#pragma GCC unroll 4
		for (i = 0; i < count; i++)
			p[i] += l->step;
	}
}

V_INLINE void line_values_of(const struct attn_lines *l, const uint32_t dtype)
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
