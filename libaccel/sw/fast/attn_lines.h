/* SPDX-License-Identifier: MIT */
/*
 * Kernels of attn_stream.c, included once for each instruction set behind
 * attn_kern.h: lanes are elements of a key. Four keys, or values, are taken at
 * once, head after head as they lie in memory: five loads for four multiply-adds,
 * four of them of what comes from memory, and a store of partial sums. VL of
 * those are added across lanes together.
 */

KERN_INLINE vf line_load(const uint8_t *p, vf zero, const uint32_t dtype)
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

KERN_INLINE uint32_t line_size(const uint32_t dtype)
{
	return dtype == UMA_DTYPE_F32 ? 4 :
	       dtype == UMA_DTYPE_BF16 || dtype == UMA_DTYPE_F16 ? 2 : 1;
}

/*
 * Products of @count keys, @j the first, with each row of each head: partial
 * sums, lane by lane. Keys are read in the order in which they lie.
 */
KERN_INLINE void line_dots(const struct attn_lines *l, uint32_t j, const uint32_t dtype,
			   const uint32_t count)
{
	const uint32_t bytes = l->d * line_size(dtype), step = VL * line_size(dtype);
	const vf zero = v_set(l->zero);
	const float *q = l->q;
	float *part = l->part + j % VL * VL;
	int64_t off = 0;
	uint32_t h, r, i, x;

	for (h = 0; h < l->heads; h++, off += l->step) {
#pragma GCC unroll 4
		for (i = 0; i < count; i++)
			for (x = 0; x < bytes; x += 64)
				__builtin_prefetch(l->p[j + i + l->ahead] + off + x, 0, 3);
		for (r = 0; r < l->rows; r++, q += l->d, part += VL * VL) {
			vf s[4];

#pragma GCC unroll 4
			for (i = 0; i < count; i++)
				s[i] = v_set(0);
			for (x = 0; x < bytes; x += step) {
				const vf w = v_load(q + x / line_size(dtype));

#pragma GCC unroll 4
				for (i = 0; i < count; i++)
					s[i] = v_fma(line_load(l->p[j + i] + off + x, zero,
							       dtype), w, s[i]);
			}
#pragma GCC unroll 4
			for (i = 0; i < count; i++)
				v_store(part + i * VL, s[i]);
		}
	}
}

KERN_INLINE void line_scores_of(const struct attn_lines *l, const uint32_t dtype)
{
	const uint32_t all = l->heads * l->rows;
	uint32_t i, j, r;

	for (j = 0; j < l->n; j += VL) {
		for (i = j; i + 4 <= l->n && i < j + VL; i += 4)
			line_dots(l, i, dtype, 4);
		for (; i < l->n && i < j + VL; i++)
			line_dots(l, i, dtype, 1);
		/* Behind the last key it is anything. */
		for (r = 0; r < all; r++) {
			vf sum[VL];

#pragma GCC unroll 16
			for (i = 0; i < VL; i++)
				sum[i] = v_load(l->part + (r * VL + i) * VL);
			v_store(l->s + r * ATTN_KEYS + j, v_across(sum));
		}
	}
}

static void line_scores(const struct attn_lines *l)
{
	switch (l->dtype) {
	case UMA_DTYPE_F32:
		return line_scores_of(l, UMA_DTYPE_F32);
	case UMA_DTYPE_BF16:
		return line_scores_of(l, UMA_DTYPE_BF16);
	case UMA_DTYPE_F16:
		return line_scores_of(l, UMA_DTYPE_F16);
	case UMA_DTYPE_S8:
		return line_scores_of(l, UMA_DTYPE_S8);
	default:
		return line_scores_of(l, UMA_DTYPE_U8);
	}
}

/* Scores of a row, with their scales, become weights, with those of the values. */
static void line_soften(const struct attn_line *l, struct attn_sum *sum)
{
	float *s = l->s, c = l->c, at, rescale, lanes[VL];
	vf top = v_set(MINUS_INF), all = v_set(0);
	uint32_t i, j;

	for (j = 0; j < l->n; j += VL) {
		vf x = v_load(s + j);

		if (l->kscale)
			x = v_mul(x, v_load(l->kscale + j));
		x = v_first(x, l->n - j);
		v_store(s + j, x);
		top = v_max(top, x);
	}
	v_store(lanes, top);
	at = sum->shift;
	for (i = 0; i < VL; i++)
		at = lanes[i] * c > at ? lanes[i] * c : at;
	v_store(lanes, v_exp2(v_set(sum->shift - at)));
	rescale = sum->shift == MINUS_INF ? 0 : lanes[0];
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
	v_store(lanes, all);
	for (j = VL / 2; j; j /= 2)
		for (i = 0; i < j; i++)
			lanes[i] += lanes[i + j];
	sum->sum = sum->sum * rescale + lanes[0];
	for (j = 0; j < l->dv && rescale != 1; j += VL)
		v_store(l->o + j, v_mul(v_load(l->o + j), v_set(rescale)));
}

/* o += weights times @count values, @j the first, of each row of each head. */
KERN_INLINE void line_sums(const struct attn_lines *l, uint32_t j, const uint32_t dtype,
			   const uint32_t count)
{
	const uint32_t bytes = l->dv * line_size(dtype), step = VL * line_size(dtype);
	const vf zero = v_set(l->zero);
	const float *w = l->s + j;
	float *o = l->o;
	int64_t off = 0;
	uint32_t h, r, i, x;

	for (h = 0; h < l->heads; h++, off += l->step) {
#pragma GCC unroll 4
		for (i = 0; i < count; i++)
			for (x = 0; x < bytes; x += 64)
				__builtin_prefetch(l->p[j + i + l->ahead] + off + x, 0, 3);
		for (r = 0; r < l->rows; r++, o += l->dv, w += ATTN_KEYS) {
			/* One at a time */
			if (l->skip_zero && w[0] == 0)
				continue;
			for (x = 0; x < bytes; x += step) {
				float *to = o + x / line_size(dtype);
				vf a = v_load(to);

#pragma GCC unroll 4
				for (i = 0; i < count; i++)
					a = v_fma(line_load(l->p[j + i] + off + x, zero, dtype),
						  v_set(w[i]), a);
				v_store(to, a);
			}
		}
	}
}

KERN_INLINE void line_values_of(const struct attn_lines *l, const uint32_t dtype)
{
	uint32_t j;

	for (j = 0; j + 4 <= l->n && !l->skip_zero; j += 4)
		line_sums(l, j, dtype, 4);
	for (; j < l->n; j++)
		line_sums(l, j, dtype, 1);
}

static void line_values(const struct attn_lines *l)
{
	switch (l->dtype) {
	case UMA_DTYPE_F32:
		return line_values_of(l, UMA_DTYPE_F32);
	case UMA_DTYPE_BF16:
		return line_values_of(l, UMA_DTYPE_BF16);
	case UMA_DTYPE_F16:
		return line_values_of(l, UMA_DTYPE_F16);
	case UMA_DTYPE_S8:
		return line_values_of(l, UMA_DTYPE_S8);
	default:
		return line_values_of(l, UMA_DTYPE_U8);
	}
}
