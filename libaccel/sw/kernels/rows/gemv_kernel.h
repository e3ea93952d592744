/* SPDX-License-Identifier: MIT */
/*
 * The kernels of gemv.h, for one level of instructions.
 *
 * The file that includes this has vectors: VL columns, vf and vi of as many
 * binary32 and s32, and the functions on them. A kernel keeps mr rows by nv
 * vectors of sums in registers. A step loads nv vectors of B once, makes of each
 * the factors that it holds, and multiplies each with the mr rows' elements,
 * broadcast from memory. Where mr x nv sums alone would wait for each other each
 * of them has several parts.
 *
 * Loads for a multiply-add (a vector): 1 / mr of B, 1 / nv of A.
 */
#include "gemv.h"
#include "magic.h"
#include "libaccel/sw/kernels/vec/special.h"

#ifndef HAS_TABLE
#define HAS_TABLE	0
#endif
#ifndef HAS_DOT_BF16
#define HAS_DOT_BF16	0
#endif
#ifndef HAS_DOT_BYTES
#define HAS_DOT_BYTES	0
#endif

/* For a constant number of times */
#define for_each_below(i, from, n)	SPECIAL_LOOP(32) for (int i = (from); i < (n); i++)

/* Sums in flight that hide the latency of a multiply-add */
#define IN_FLIGHT	8

/* Factors that a vector of B gives one after the other. */
V_INLINE int factors(int kind)
{
	switch (kind) {
	case GEMV_F32:
	case GEMV_BF16_DOT:
	case GEMV_I8:
	case GEMV_I8_U:
	case GEMV_F16:
		return 1;
	case GEMV_BF16:
	case GEMV_I4:
	case GEMV_I4_U:
	case GEMV_I8_MADD:
		return 2;
	case GEMV_W8:
	case GEMV_W8_ZERO:
	case GEMV_I4_MADD:
		return 4;
	default:
		return 8;
	}
}

V_INLINE int is_weights(int kind)
{
	return kind >= GEMV_W8 && kind <= GEMV_W4_ZERO;
}

V_INLINE int is_bytes(int kind)
{
	return kind == GEMV_W8 || kind == GEMV_W8_ZERO;
}

/* Has each column a zero point of its own? */
V_INLINE int has_zeros(int kind)
{
	return kind == GEMV_W8_ZERO || kind == GEMV_W4_ZERO;
}

V_INLINE int is_sum_of_ints(int kind)
{
	return kind >= GEMV_I8;
}

/* Element of K that nibble @i of a word is. */
V_INLINE int nibble_k(int i)
{
	return (i & 1) * 4 + i / 2;
}

/*
 * Factor @i of a vector of weights. Of nibbles those at places 1 to 3 go by way of
 * the exponent and the others through a table where there is an instruction for
 * it: so both halves of the execution units are busy.
 */
V_INLINE vf weight(int kind, const struct gemv_call *g, const struct magic *m, vi q, int i,
		   const vf *less, vf zero)
{
	vf w;

	if (is_bytes(kind))
		return number(m, i < 2 ? q : vi_shr(q, 16), i & 1, less[i & 1]);
#if HAS_TABLE
	if (i < 1 || i > 3) {
		w = v_table(g->table, i ? vi_shr(q, 4 * i) : q);
		return kind == GEMV_W4_ZERO ? v_sub(w, zero) : w;
	}
#else
	(void)g;
	(void)zero;
#endif
	w = number(m, i < 4 ? q : vi_shr(q, 16), i & 3, less[i & 3]);
	return w;
}

/* Factor @i of the bytes of a vector, with the place of its four elements. */
V_INLINE vi bytes_of(int kind, vi q, int i)
{
	if (kind == GEMV_I4 || kind == GEMV_I4_U)
		return vi_and(i ? vi_shr(q, 4) : q, vi_bits(0x0f0f0f0f));
	return q;
}

V_INLINE vi words_of(int kind, vi q, int i)
{
	if (kind == GEMV_I4_MADD) {
		q = i & 2 ? vi_shr(q, 4) : q;
		return vi_and(i & 1 ? vi_shr(q, 8) : q, vi_bits(0x000f000f));
	}
	return i ? vi_high_bytes(q) : vi_low_bytes(q);
}

/* acc += factor @i of @q by the row's element at @a */
V_INLINE vf multiply(int kind, vf acc, vi q, vf w, int i, const uint32_t *a)
{
	switch (kind) {
	case GEMV_F32:
		return v_fma(v_of(q), v_word(a), acc);
	case GEMV_BF16:
		return v_fma(v_of(i ? vi_and(q, vi_bits(0xffff0000)) : vi_shl(q, 16)),
			      v_word(a + i), acc);
#if HAS_DOT_BF16
	case GEMV_BF16_DOT:
		return v_dot_bf16(acc, q, vi_word(a));
#endif
#if HAS_DOT_BYTES
	case GEMV_I8:
	case GEMV_I4:
		return v_of(vi_dot(vi_of(acc), bytes_of(kind, q, i), vi_word(a + i)));
	case GEMV_I8_U:
	case GEMV_I4_U:
		return v_of(vi_dot(vi_of(acc), vi_word(a + i), bytes_of(kind, q, i)));
#endif
	case GEMV_I8_MADD:
	case GEMV_I4_MADD:
		return v_of(vi_add(vi_of(acc), vi_madd(words_of(kind, q, i),
							vi_word(a + i))));
	case GEMV_W8:
	case GEMV_W8_ZERO:
		return v_fma(w, v_word(a + i), acc);
	default:
		return v_fma(w, v_word(a + nibble_k(i)), acc);
	}
}

V_INLINE vf plus(int kind, vf a, vf b)
{
	return is_sum_of_ints(kind) ? v_of(vi_add(vi_of(a), vi_of(b))) : v_add(a, b);
}

V_INLINE void fetch_ahead(const struct gemv_call *g, size_t off, int nv)
{
	for_each_below(v, 0, nv)
		if ((uint32_t)v < g->ahead_count)
			__builtin_prefetch(g->ahead[v] + off, 0, 3);
}

/* Sums of @steps steps from @first on, into parts[...][0]. */
V_INLINE void sum_steps(const struct gemv_call *g, const int kind, const int mr, const int nv,
			const int parts, uint32_t first, uint32_t steps, const vf *zeros,
			const struct magic *m, vf sum[GEMV_MR][GEMV_NV][IN_FLIGHT])
{
	const int count = factors(kind);
	const int unroll = parts > count ? parts / count : 1;
	const uint32_t *a = (const uint32_t *)g->a + (size_t)first * (size_t)(mr * count);
	const int places = is_bytes(kind) ? 2 : 4;
	vf less[GEMV_NV][4];
	size_t off = first * g->b_step;
	uint32_t s = 0;

	for_each_below(r, 0, mr)
		for_each_below(v, 0, nv)
			for_each_below(p, 0, parts)
				sum[r][v][p] = v_set(0);
	if (has_zeros(kind))
		for_each_below(v, 0, nv)
			for_each_below(p, 0, places)
				less[v][p] = v_add(m->less[p], zeros[v]);
	while (s < steps) {
		const int whole = steps - s >= (uint32_t)unroll;

		for_each_below(u, 0, unroll) {
			vi q[GEMV_NV];

			if (!whole && u)
				break;
			fetch_ahead(g, off, nv);
			for_each_below(v, 0, nv) {
				q[v] = vi_load(g->b[v] + off);
				if (is_sum_of_ints(kind))
					q[v] = vi_xor(q[v], vi_bits(g->flip));
			}
			for_each_below(i, 0, count) {
				const int part = (u * count + i) % parts;
				vf w[GEMV_NV];

				for_each_below(v, 0, nv)
					w[v] = is_weights(kind) ?
					       weight(kind, g, m, q[v], i,
						      has_zeros(kind) ? less[v] : m->less,
						      zeros[v]) :
					       v_set(0);
				for_each_below(r, 0, mr)
					for_each_below(v, 0, nv)
						sum[r][v][part] =
							multiply(kind, sum[r][v][part], q[v], w[v],
								 i, a + r * count);
			}
			a += mr * count;
			off += g->b_step;
		}
		s += whole ? (uint32_t)unroll : 1;
	}
	for_each_below(r, 0, mr)
		for_each_below(v, 0, nv)
			for_each_below(p, 1, parts)
				sum[r][v][0] = plus(kind, sum[r][v][0], sum[r][v][p]);
}

/* Parts of a sum, a power of two */
V_INLINE int parts_of(int mr, int nv)
{
	return mr * nv >= IN_FLIGHT ? 1 : mr * nv >= IN_FLIGHT / 2 ? 2 :
	       mr * nv >= IN_FLIGHT / 4 ? 4 : IN_FLIGHT;
}

SPECIAL void product(const struct gemv_call *g, const int kind, const int mr, const int nv)
{
	vf sum[GEMV_MR][GEMV_NV][IN_FLIGHT];

	sum_steps(g, kind, mr, nv, parts_of(mr, nv), 0, g->steps, NULL, NULL, sum);
	for_each_below(r, 0, mr) {
		float *c = (float *)g->c + r * g->c_row;

		for_each_below(v, 0, nv) {
			vf x = sum[r][v][0];

			if (g->accumulate)
				x = plus(kind, x, v_load(c + v * VL));
			v_store(c + v * VL, x);
		}
	}
}

/* Scales of vector @v of @nv, those of the columns behind these on their way meanwhile. */
V_INLINE vf scales_of(const struct gemv_call *g, const uint8_t *row, int v, int nv)
{
	const size_t vector = g->half_scales ? 2 * VL : 4 * VL;
	const uint8_t *at = row + (size_t)v * vector;

	__builtin_prefetch(at + (size_t)nv * vector, 0, 2);
	return g->half_scales ? v_load_f16(at) : v_load(at);
}

/* The same with weights: the sums of a group are scaled when it ends. */
SPECIAL void weights_product(const struct gemv_call *g, const int kind, const int mr, const int nv)
{
	const struct magic m = magic_of(is_bytes(kind) ? 8 : 4, is_bytes(kind) ? 2 : 4,
					       g->is_signed, g->zero);
	vf sum[GEMV_MR][GEMV_NV][IN_FLIGHT];
	const size_t scale_row = g->scale_row * (g->half_scales ? 2 : 4);
	const uint8_t *scales = g->scales;
	const int32_t *zeros = g->zeros;
	uint32_t first, steps;
	vf total[GEMV_MR][GEMV_NV], zero[GEMV_NV];

	for_each_below(r, 0, mr)
		for_each_below(v, 0, nv)
			total[r][v] = g->accumulate ?
				v_load((float *)g->c + r * g->c_row + v * VL) : v_set(0);
	for (first = 0; first < g->steps; first += steps) {
		steps = g->steps - first < g->group_steps ? g->steps - first : g->group_steps;
		for_each_below(v, 0, nv)
			zero[v] = has_zeros(kind) ? v_of_ints(vi_load(zeros + v * VL)) : v_set(0);
		sum_steps(g, kind, mr, nv, parts_of(mr, nv), first, steps, zero, &m, sum);
		for_each_below(v, 0, nv) {
			const vf scale = scales_of(g, scales, v, nv);

			for_each_below(r, 0, mr)
				total[r][v] = v_fma(sum[r][v][0], scale, total[r][v]);
		}
		scales += scale_row;
		if (has_zeros(kind))
			zeros += g->scale_row;
	}
	for_each_below(r, 0, mr)
		for_each_below(v, 0, nv)
			v_store((float *)g->c + r * g->c_row + v * VL, total[r][v]);
}

/*
 * binary16: half a vector at a time is widened; it holds half the columns, the two
 * elements of each side by side, which is how A is broadcast too. The sums of both
 * are put together in the end.
 */
SPECIAL void half_product(const struct gemv_call *g, const int mr, const int nv)
{
	const uint64_t *a = g->a;
	vf sum[GEMV_MR][GEMV_NV][2];
	size_t off = 0;
	uint32_t s;

	for_each_below(r, 0, mr)
		for_each_below(v, 0, nv)
			sum[r][v][0] = sum[r][v][1] = v_set(0);
	for (s = 0; s < g->steps; s++, off += g->b_step, a += mr) {
		fetch_ahead(g, off, nv);
		for_each_below(v, 0, nv) {
			const vf lo = v_load_f16(g->b[v] + off);
			const vf hi = v_load_f16(g->b[v] + off + 2 * VL);

			for_each_below(r, 0, mr) {
				const vf pair = v_pair(a + r);

				sum[r][v][0] = v_fma(lo, pair, sum[r][v][0]);
				sum[r][v][1] = v_fma(hi, pair, sum[r][v][1]);
			}
		}
	}
	for_each_below(r, 0, mr) {
		float *c = (float *)g->c + r * g->c_row;

		for_each_below(v, 0, nv) {
			vf x = v_add_pairs(sum[r][v][0], sum[r][v][1]);

			if (g->accumulate)
				x = v_add(x, v_load(c + v * VL));
			v_store(c + v * VL, x);
		}
	}
}

#define KERNEL(kind, mr, nv)							\
static void fn_##kind##_##mr##_##nv(const struct gemv_call *g)			\
{										\
	if (GEMV_##kind == GEMV_F16)						\
		half_product(g, mr, nv);					\
	else if (is_weights(GEMV_##kind))					\
		weights_product(g, GEMV_##kind, mr, nv);			\
	else									\
		product(g, GEMV_##kind, mr, nv);				\
}
