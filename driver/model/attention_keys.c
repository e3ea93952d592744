// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Scores, masks, softmax and weighted sums of values for a run of keys and the rows of
 * a tile.
 *
 * The softmax is computed online (M. Milakov, N. Gimelshein, "Online normalizer
 * calculation for softmax", 2018; T. Dao et al., "FlashAttention", 2022): sums are
 * relative to the largest score so far and are rescaled when that increases.
 */
#include "attention.h"

/* Read an entry of the page table into s->page. */
static int read_page(struct uma_attn_ctx *c, __u32 entry)
{
	const struct uma_tensor_view *t = uma_attn_view(c, UMA_SLOT_AUX1);
	const struct uma_tensor_view *k = uma_attn_view(c, UMA_SLOT_B);
	struct uma_attn_scratch *s = c->s;
	__s64 off = (__s64)s->b * t->strides[0] + (__s64)entry * t->strides[1];
	const void *p;
	__s32 page;

	p = uma_gather(c->run, UMA_SLOT_AUX1, t, off, 1, 1, s->tmp);
	if (!p)
		return -1;
	page = uma_attn_read(p);
	if (page < 0 || (__u32)page >= k->dims[0]) {
		uma_set_fault(c->run->fault, UMA_FAULT_RANGE, UMA_SLOT_AUX1, "pages");
		c->run->fault->addr = t->addr + (__u64)off * 4;
		return -1;
	}
	s->page_entry = entry;
	s->page = (__u32)page;
	return 0;
}

/* Load the row of K or V of key @j of the sequence; it may be in @out or in place. */
static const float *key_row(struct uma_attn_ctx *c, __u32 slot, __u64 j, __u32 n,
			    float *out)
{
	const struct uma_tensor_view *t = uma_attn_view(c, slot);
	struct uma_attn_scratch *s = c->s;
	__u32 idx[UMA_MAX_RANK] = { s->b, (__u32)j, s->g, 0 };
	struct uma_row row = {
		.slot = slot,
		.stride = t->strides[3],
		.n = n,
		.idx = idx,
		.axis = 3,
	};

	if (uma_has(&c->run->prog->op, UMA_SLOT_AUX1)) {
		__u32 entry = (__u32)(j / t->dims[1]);

		if (entry != s->page_entry && read_page(c, entry))
			return 0;
		idx[0] = s->page;
		idx[1] = (__u32)(j % t->dims[1]);
	} else if (c->p->kv_ragged) {
		idx[0] = 0;
		idx[1] = s->kv_start + (__u32)j;
	}
	row.off = uma_tensor_offset(t, idx);
	return uma_row_f32(c->run, &row, &s->buf, out);
}

/* Load keys j .. j + n as columns; columns up to @padded are zero. */
static int load_keys(struct uma_attn_ctx *c, __u64 j, __u32 n, __u32 padded)
{
	const struct uma_attn_plan *p = c->p;
	__u32 *block = c->s->data + p->at_kv;
	__u32 i, x;

	for (i = 0; i < n; i++) {
		const __u32 *v = (const __u32 *)key_row(c, UMA_SLOT_B, j + i, p->d,
							(float *)c->s->tmp2);

		if (!v)
			return -1;
		for (x = 0; x < p->d; x++)
			block[x * p->ldk + i] = v[x];
	}
	for (x = 0; x < p->d; x++)
		for (i = n; i < padded; i++)
			block[x * p->ldk + i] = 0;
	return 0;
}

static int not_finite(const __u32 *v, __u32 n)
{
	__u32 any = 0, i;

	for (i = 0; i < n; i++)
		any |= (v[i] & 0x7f800000u) == 0x7f800000u;
	return any != 0;
}

/*
 * Load the values of keys j .. j + n. A bit of *odd is set for each row with an infinity
 * or a NaN: its product with the weight 0 of a masked key would be NaN instead of 0.
 */
static int load_values(struct uma_attn_ctx *c, __u64 j, __u32 n, __u64 *odd)
{
	const struct uma_attn_plan *p = c->p;
	__u32 i;

	*odd = 0;
	for (i = 0; i < n; i++) {
		__u32 *row = c->s->data + p->at_kv + i * p->ldv;
		const __u32 *v = (const __u32 *)key_row(c, UMA_SLOT_C, j + i, p->dv,
							(float *)row);

		if (!v)
			return -1;
		if (v != row)
			__builtin_memcpy(row, v, 4ul * p->dv);
		__builtin_memset(row + p->dv, 0, 4ul * (p->ldv - p->dv));
		if (not_finite(row, p->dv))
			*odd |= 1ULL << i;
	}
	return 0;
}

/* --- scores ----------------------------------------------------------------- */

static void hide(float *x, __u32 from, __u32 to)
{
	__u32 *bits = (__u32 *)x;
	__u32 i;

	for (i = from; i < to; i++)
		bits[i] = UMA_F32_MINUS_INF;
}

/* x = c tanh(x / c) */
static void softcap(struct uma_attn_ctx *c, float *x, __u32 n)
{
	const struct uma_kernels *k = c->run->k;
	__u32 cap = c->run->prog->op.u.attention.softcap;
	float *bound = (float *)c->s->tmp;

	k->fill(bound, cap, n);
	k->binary[UMA_BINARY_DIV](x, x, bound, n);
	k->act[UMA_ACT_TANH](x, 0, 0, n);
	k->scale(x, cap, n);
}

/* x[i] -= slope * |pos - (j + i)| */
static int alibi(struct uma_attn_ctx *c, __u32 r, __s64 pos, __u64 j, __u32 n, float *x)
{
	const struct uma_tensor_view *t = uma_attn_view(c, UMA_SLOT_AUX3);
	struct uma_attn_scratch *s = c->s;
	__u32 head = uma_attn_head(c, r), slope, i;
	struct uma_row row = {
		.slot = UMA_SLOT_AUX3,
		.n = 1,
		.off = t->rank == 1 ? (__s64)head * t->strides[0] :
		       (__s64)s->b * t->strides[0] + (__s64)head * t->strides[1],
	};
	const float *v = uma_row_f32(c->run, &row, &s->buf, (float *)s->tmp);

	if (!v)
		return -1;
	__builtin_memcpy(&slope, v, 4);
	for (i = 0; i < n; i++) {
		__s64 dist = pos - (__s64)(j + i);

		dist = dist < 0 ? -dist : dist;
		s->ramp[i] = (__s32)UMA_MIN(dist, 0x7fffffff);
	}
	c->run->k->to_f32[UMA_DTYPE_S32]((float *)s->tmp, s->ramp, n);
	c->run->k->axpy(x, slope ^ UMA_F32_SIGN, (float *)s->tmp, n);
	return 0;
}

static int add_mask(struct uma_attn_ctx *c, __u32 r, __u64 j, __u32 n, float *x)
{
	const struct uma_tensor_view *t = uma_attn_view(c, UMA_SLOT_AUX0);
	__u32 idx[UMA_MAX_RANK] = {
		c->s->b, uma_attn_head(c, r), uma_attn_query(c, r), (__u32)j
	};
	struct uma_row row = {
		.slot = UMA_SLOT_AUX0,
		.off = uma_tensor_offset(t, idx),
		.stride = t->strides[3],
		.n = n,
	};
	__u32 *bits = (__u32 *)x, *copy = c->s->tmp;
	const void *v;
	__u32 i;

	if (t->dtype == UMA_DTYPE_U8) {
		v = uma_gather(c->run, UMA_SLOT_AUX0, t, row.off, row.stride, n, c->s->tmp);
		if (!v)
			return -1;
		for (i = 0; i < n; i++)
			if (!((const __u8 *)v)[i])
				bits[i] = UMA_F32_MINUS_INF;
		return 0;
	}
	v = uma_row_f32(c->run, &row, &c->s->buf, (float *)copy);
	if (!v)
		return -1;
	if (v != copy)
		__builtin_memcpy(copy, v, 4ul * n);
	c->run->k->binary[UMA_BINARY_ADD](x, x, (float *)copy, n);
	/* Also if the score is NaN: NaN - infinity is NaN. */
	for (i = 0; i < n; i++)
		if (copy[i] == UMA_F32_MINUS_INF)
			bits[i] = UMA_F32_MINUS_INF;
	return 0;
}

/* Mask the keys outside of the causal range and the window of a query at position @pos. */
static void limit_keys(struct uma_attn_ctx *c, __s64 pos, __u64 j, __u32 n, float *x)
{
	const struct uma_attention *a = &c->run->prog->op.u.attention;
	__s64 first = 0, last = (__s64)(j + n), keep = 0;
	__s64 at = (__s64)j;
	__u32 i;

	if (a->flags & UMA_ATTN_WINDOW) {
		first = pos - (__s64)a->window_left;
		last = UMA_MIN(last, pos + (__s64)a->window_right + 1);
		keep = a->keep;
	}
	/* @keep exempts keys from the window, not from the causal mask. */
	for (i = 0; i < n; i++, at++) {
		int seen = at < keep || (at >= first && at < last);

		if ((a->flags & UMA_ATTN_CAUSAL) && at > pos)
			seen = 0;
		if (!seen)
			hide(x, i, i + 1);
	}
}

/* Turn the products of row @r with keys j .. j + n into scores. */
static int finish_scores(struct uma_attn_ctx *c, __u32 r, __u64 j, __u32 n, float *x)
{
	const struct uma_attention *a = &c->run->prog->op.u.attention;
	__s64 pos = c->s->pos0 + uma_attn_query(c, r);

	c->run->k->scale(x, a->scale, n);
	if (a->flags & UMA_ATTN_SOFTCAP)
		softcap(c, x, n);
	if ((a->flags & UMA_ATTN_ALIBI) && alibi(c, r, pos, j, n, x))
		return -1;
	if ((a->flags & UMA_ATTN_MASK) && add_mask(c, r, j, n, x))
		return -1;
	if (a->flags & (UMA_ATTN_CAUSAL | UMA_ATTN_WINDOW))
		limit_keys(c, pos, j, n, x);
	return 0;
}

/* Scores of keys j .. j + n, which belong to one block */
static int add_scores(struct uma_attn_ctx *c, __u64 j, __u32 n)
{
	const struct uma_attn_plan *p = c->p;
	const struct uma_kernels *k = c->run->k;
	__u32 padded = (__u32)uma_roundup(n, k->nr);
	struct uma_gemm_block g = {
		.m = c->s->valid,
		.n = padded,
		.k = p->d,
		.a = c->s->data + p->at_q,
		.a_ms = p->d,
		.a_ks = 1,
		.b = c->s->data + p->at_kv,
		.b_ks = p->ldk,
		.c = c->s->data + p->at_qk,
		.c_ms = p->ldk,
	};
	__u32 r;

	if (load_keys(c, j, n, padded))
		return -1;
	k->gemm_f32(&g);
	for (r = 0; r < c->s->valid; r++) {
		float *x = uma_attn_products(c, r);

		if (finish_scores(c, r, j, n, x))
			return -1;
		__builtin_memcpy(uma_attn_scores(c, r) + (j - c->s->block), x, 4ul * n);
	}
	return 0;
}

/* Softmax of the block: its scores become weights. */
static void soften(struct uma_attn_ctx *c)
{
	struct uma_attn_scratch *s = c->s;
	__u32 r;

	for (r = 0; r < s->valid; r++) {
		struct uma_soft_state *state = &s->state[r];

		c->run->k->soft_row(state, uma_attn_scores(c, r), UMA_ATTN_BLOCK);
		if (state->rescale != UMA_F32_ONE)
			uma_attn_rescale(c, r, state->rescale);
	}
}

/* --- values ------------------------------------------------------------------ */

/* Add a row of V that is not finite, to those rows only whose weight is not zero. */
static void add_odd(struct uma_attn_ctx *c, __u32 column, const float *v)
{
	__u32 r;

	for (r = 0; r < c->s->valid; r++) {
		__u32 weight = ((const __u32 *)uma_attn_scores(c, r))[column];

		if (weight & ~UMA_F32_SIGN)
			c->run->k->axpy(uma_attn_sums(c, r), weight, v, c->p->dv);
	}
}

static int add_values(struct uma_attn_ctx *c, __u64 j, __u32 n)
{
	const struct uma_attn_plan *p = c->p;
	__u32 column = (__u32)(j - c->s->block);
	struct uma_gemm_block g = {
		.m = c->s->valid,
		.n = p->ldv,
		.a_ms = UMA_ATTN_BLOCK,
		.a_ks = 1,
		.b_ks = p->ldv,
		.c = c->s->data + p->at_o,
		.c_ms = p->ldv,
		.accumulate = 1,
	};
	__u32 i, end;
	__u64 odd;

	if (load_values(c, j, n, &odd))
		return -1;
	for (i = 0; i < n; i = end + 1) {
		for (end = i; end < n && !(odd >> end & 1); end++)
			;
		g.a = uma_attn_scores(c, 0) + column + i;
		g.b = c->s->data + p->at_kv + (__u64)i * p->ldv;
		g.k = end - i;
		if (g.k)
			c->run->k->gemm_f32(&g);
		if (end < n)
			add_odd(c, column + end,
				(float *)(c->s->data + p->at_kv + (__u64)end * p->ldv));
	}
	return 0;
}

/* --- blocks ------------------------------------------------------------------- */

/* First key from @key on that a row of the tile may see; s->hi or more if there is none */
static __u64 next_seen(const struct uma_attn_scratch *s, __u64 key)
{
	if (key < s->keep)
		return key;
	return UMA_MAX(key, s->lo);
}

/* Number of consecutive visible keys from @key on, within the block and at most nt */
static __u32 run_of(const struct uma_attn_ctx *c, __u64 key)
{
	const struct uma_attn_scratch *s = c->s;
	__u64 end = key < s->keep ? s->keep : s->hi;

	end = UMA_MIN(end, s->block + UMA_ATTN_BLOCK);
	return key < end ? (__u32)UMA_MIN(end - key, c->p->nt) : 0;
}

/*
 * uma_attn_open_block - start the block of the first visible key from @key on
 *
 * If there is no such key, s->key is the end of the visible keys.
 */
void uma_attn_open_block(struct uma_attn_ctx *c, __u64 key)
{
	struct uma_attn_scratch *s = c->s;
	__u32 r;

	s->key = UMA_MIN(next_seen(s, key), UMA_MAX(s->hi, s->keep));
	s->block = s->key / UMA_ATTN_BLOCK * UMA_ATTN_BLOCK;
	for (r = 0; r < s->valid; r++)
		hide(uma_attn_scores(c, r), 0, UMA_ATTN_BLOCK);
}

/*
 * uma_attn_keys - compute the scores of the next keys of the block, after the last of
 * them the weights
 *
 * Return: 1 if there are more keys, 0 if the values are next, -1 with the fault set.
 */
int uma_attn_keys(struct uma_attn_ctx *c)
{
	struct uma_attn_scratch *s = c->s;
	__u32 n = run_of(c, s->key);

	if (n) {
		if (add_scores(c, s->key, n))
			return -1;
		s->key = next_seen(s, s->key + n);
		if (run_of(c, s->key))
			return 1;
	}
	soften(c);
	s->key = next_seen(s, s->block);
	return 0;
}

/*
 * uma_attn_values - add the weighted values of the next keys of the block
 *
 * Return: 1 if there are more keys, 0 if not, -1 with the fault set.
 */
int uma_attn_values(struct uma_attn_ctx *c)
{
	struct uma_attn_scratch *s = c->s;
	__u32 n = run_of(c, s->key);

	if (!n)
		return 0;
	if (add_values(c, s->key, n))
		return -1;
	s->key = next_seen(s, s->key + n);
	return run_of(c, s->key) != 0;
}
