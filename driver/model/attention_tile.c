// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A tile of the attention: its sequence and rows, the keys that they may see, loading
 * of Q, storing of the result, and merging of pieces of the keys.
 */
#include "attention.h"

/* --- lengths ------------------------------------------------------------------ */

static int bad_length(struct uma_attn_ctx *c, __s64 off)
{
	const struct uma_tensor_view *t = uma_attn_view(c, UMA_SLOT_AUX2);

	uma_set_fault(c->run->fault, UMA_FAULT_RANGE, UMA_SLOT_AUX2, "lengths");
	c->run->fault->addr = t->addr + (__u64)off * 4;
	return -1;
}

/* Read a column of the lengths of sequence @b, checked to be 0 to @max. */
static int read_length(struct uma_attn_ctx *c, __u32 b, __u32 column, __u64 max,
		       __u32 *out)
{
	const struct uma_tensor_view *t = uma_attn_view(c, UMA_SLOT_AUX2);
	__s64 off = (__s64)b * t->strides[0];
	const void *p;
	__s32 v;

	if (t->rank > 1)
		off += (__s64)column * t->strides[1];
	p = uma_gather(c->run, UMA_SLOT_AUX2, t, off, 1, 1, c->s->tmp);
	if (!p)
		return -1;
	v = uma_attn_read(p);
	if (v < 0 || (__u64)v > max)
		return bad_length(c, off);
	*out = (__u32)v;
	return 0;
}

/* Read where a ragged sequence starts; sequences must be in order and not overlap. */
static int read_start(struct uma_attn_ctx *c)
{
	const struct uma_tensor_view *t = uma_attn_view(c, UMA_SLOT_AUX2);
	struct uma_attn_scratch *s = c->s;
	__u32 next;

	if (read_length(c, s->b, UMA_ATTN_LEN_Q_START,
			uma_attn_view(c, UMA_SLOT_DST)->dims[1], &s->q_start))
		return -1;
	if ((__u64)s->q_start + s->q_len > uma_attn_view(c, UMA_SLOT_DST)->dims[1])
		return bad_length(c, (__s64)s->b * t->strides[0] +
				     UMA_ATTN_LEN_Q * t->strides[1]);
	if (s->b + 1 < c->p->batch) {
		if (read_length(c, s->b + 1, UMA_ATTN_LEN_Q_START, UMA_ATTN_KEYS_MAX, &next))
			return -1;
		if (next < s->q_start + s->q_len)
			return bad_length(c, (__s64)(s->b + 1) * t->strides[0] +
					     UMA_ATTN_LEN_Q_START * t->strides[1]);
	}
	if (!c->p->kv_ragged)
		return 0;
	if (read_length(c, s->b, UMA_ATTN_LEN_KV_START, c->p->keys, &s->kv_start))
		return -1;
	if ((__u64)s->kv_start + s->kv_len > c->p->keys)
		return bad_length(c, (__s64)s->b * t->strides[0] +
				     UMA_ATTN_LEN_KV_START * t->strides[1]);
	return 0;
}

static int read_lengths(struct uma_attn_ctx *c)
{
	const struct uma_attention *a = &c->run->prog->op.u.attention;
	const struct uma_tensor_view *t = uma_attn_view(c, UMA_SLOT_AUX2);
	struct uma_attn_scratch *s = c->s;

	s->kv_len = (__u32)c->p->keys;
	s->q_len = c->p->queries;
	s->q_start = 0;
	s->kv_start = 0;
	if (a->flags & UMA_ATTN_LENGTHS) {
		if (read_length(c, s->b, UMA_ATTN_LEN_KV, c->p->keys, &s->kv_len))
			return -1;
		if (t->rank > 1 && t->dims[1] > UMA_ATTN_LEN_Q &&
		    read_length(c, s->b, UMA_ATTN_LEN_Q, c->p->queries, &s->q_len))
			return -1;
		if (c->p->ragged && read_start(c))
			return -1;
	}
	s->pos0 = a->flags & UMA_ATTN_OFFSET ? (__s64)a->q_offset :
		  (__s64)s->kv_len - s->q_len;
	return 0;
}

/* --- opening a tile --------------------------------------------------------------- */

static __u64 clamp_key(__s64 j, __u64 end)
{
	return j < 0 ? 0 : (__u64)j > end ? end : (__u64)j;
}

/*
 * Range of keys that the rows of the tile may see: [0, keep) and [lo, hi).
 *
 * The queries of a tile are consecutive, so each key of the ranges is visible to at least
 * one of them, masks aside. A piece consists of whole blocks of keys.
 */
static void plan_keys(struct uma_attn_ctx *c)
{
	const struct uma_attention *a = &c->run->prog->op.u.attention;
	struct uma_attn_scratch *s = c->s;
	__u64 each = uma_roundup(uma_divup(s->kv_len, c->p->pieces), UMA_ATTN_BLOCK);
	__u64 from = UMA_MIN(each * s->piece, s->kv_len);
	__u64 to = UMA_MIN(from + each, s->kv_len);
	__s64 first, last;

	s->from = from;
	s->keep = 0;
	s->lo = from;
	s->hi = from;
	if (!s->valid)
		return;
	first = s->pos0 + uma_attn_query(c, 0);
	last = s->pos0 + uma_attn_query(c, s->valid - 1);
	if (a->flags & UMA_ATTN_CAUSAL)
		to = UMA_MAX(clamp_key(last + 1, to), from);
	if (a->flags & UMA_ATTN_WINDOW) {
		s->keep = UMA_MIN(to, a->keep);
		s->lo = UMA_MAX(clamp_key(first - (__s64)a->window_left, to), from);
		s->lo = UMA_MAX(s->lo, s->keep);
		to = UMA_MAX(clamp_key(last + (__s64)a->window_right + 1, to), s->lo);
	}
	s->hi = to;
}

static int open_tile(struct uma_attn_ctx *c, __u32 tile, int pieces)
{
	const struct uma_attn_plan *p = c->p;
	struct uma_attn_scratch *s = c->s;
	__u64 rows;
	__u32 r;

	s->piece = 0;
	if (pieces) {
		s->piece = tile % p->pieces;
		tile /= p->pieces;
	}
	s->row0 = (__u64)(tile % p->rtiles) * p->mt;
	tile /= p->rtiles;
	s->g = tile % p->kv_heads;
	s->b = tile / p->kv_heads;
	s->m = (__u32)UMA_MIN(p->mt, p->rows - s->row0);
	s->page_entry = ~0u;
	s->next = 0;
	s->stage = UMA_ATTN_LOAD;
	if (read_lengths(c))
		return -1;
	rows = (__u64)s->q_len * p->group;
	s->valid = rows > s->row0 ? (__u32)UMA_MIN(s->m, rows - s->row0) : 0;
	/*
	 * Rows without a query are stored as zeros; in a ragged batch they belong to
	 * other sequences.
	 */
	if (p->ragged)
		s->m = s->valid;
	for (r = 0; r < s->m; r++) {
		s->state[r] = (struct uma_soft_state){ .max = UMA_F32_MINUS_INF };
		__builtin_memset(uma_attn_sums(c, r), 0, 4ul * p->ldv);
	}
	plan_keys(c);
	uma_attn_open_block(c, s->from);
	return 0;
}

/* --- rows --------------------------------------------------------------------------- */

/* Row @r of the tile in Q or DST, or in the partial results of @piece */
static struct uma_row row_at(struct uma_attn_ctx *c, __u32 slot, __u32 r, __u32 piece)
{
	const struct uma_tensor_view *t = uma_attn_view(c, slot);
	__u32 partial = slot == UMA_SLOT_RESIDUAL;
	__u32 idx[UMA_MAX_RANK] = { 0 };

	idx[0] = piece;
	idx[partial] = c->p->ragged ? 0 : c->s->b;
	idx[partial + 1] = c->s->q_start + uma_attn_query(c, r);
	idx[partial + 2] = uma_attn_head(c, r);
	return (struct uma_row){
		.slot = slot,
		.off = uma_tensor_offset(t, idx),
		.stride = t->strides[partial + 3],
	};
}

static int load_query(struct uma_attn_ctx *c, __u32 r)
{
	struct uma_row row = row_at(c, UMA_SLOT_A, r, 0);
	float *q = uma_attn_q(c, r);
	const float *v;

	row.n = c->p->d;
	if (!row.n)
		return 0;
	v = uma_row_f32(c->run, &row, &c->s->buf, q);
	if (!v)
		return -1;
	if (v != q)
		__builtin_memcpy(q, v, 4ul * row.n);
	return 0;
}

/* Divide by the sum of the weights, including the sink; a row without weights is zero. */
static int store_row(struct uma_attn_ctx *c, __u32 r)
{
	const struct uma_tensor_view *sinks = uma_attn_view(c, UMA_SLOT_AUX4);
	struct uma_row row = row_at(c, UMA_SLOT_DST, r, 0);
	const struct uma_kernels *k = c->run->k;
	struct uma_attn_scratch *s = c->s;
	struct uma_soft_state *state = &s->state[r];
	float *x = uma_attn_sums(c, r);

	row.n = c->p->dv;
	if (r < s->valid && uma_has(&c->run->prog->op, UMA_SLOT_AUX4)) {
		struct uma_row sink = {
			.slot = UMA_SLOT_AUX4,
			.off = (__s64)uma_attn_head(c, r) * sinks->strides[0],
			.n = 1,
		};
		const float *v = uma_row_f32(c->run, &sink, &s->buf, (float *)s->tmp);

		if (!v)
			return -1;
		__builtin_memcpy(s->tmp2, v, 4);
		k->soft_row(state, (float *)s->tmp2, 1);
		uma_attn_rescale(c, r, state->rescale);
	}
	if (state->sum & ~UMA_F32_SIGN) {
		k->fill((float *)s->tmp, state->sum, row.n);
		k->binary[UMA_BINARY_DIV](x, x, (float *)s->tmp, row.n);
	}
	return uma_row_store_f32(c->run, &row, &s->buf, x);
}

/* Store the partial results of a row: its sums, largest score, sum of weights. */
static int store_piece(struct uma_attn_ctx *c, __u32 r)
{
	struct uma_row row = row_at(c, UMA_SLOT_RESIDUAL, r, c->s->piece);
	struct uma_row tail = row;

	row.n = c->p->dv;
	tail.n = 2;
	tail.off += (__s64)c->p->dv * row.stride;
	return uma_row_store_f32(c->run, &row, &c->s->buf, uma_attn_sums(c, r)) ||
	       uma_row_store_f32(c->run, &tail, &c->s->buf, (float *)&c->s->state[r]) ?
	       -1 : 0;
}

/* Add a piece to a row, both rescaled to the larger of their two largest scores. */
static int merge_piece(struct uma_attn_ctx *c, __u32 r, __u32 piece)
{
	struct uma_row row = row_at(c, UMA_SLOT_RESIDUAL, r, piece);
	const struct uma_kernels *k = c->run->k;
	struct uma_attn_scratch *s = c->s;
	struct uma_soft_state *state = &s->state[r];
	__u32 tail[2], sum = state->sum;
	struct uma_row end = row;
	const float *v;

	end.n = 2;
	end.off += (__s64)c->p->dv * row.stride;
	v = uma_row_f32(c->run, &end, &s->buf, (float *)s->tmp);
	if (!v)
		return -1;
	__builtin_memcpy(tail, v, 8);
	row.n = c->p->dv;
	v = uma_row_f32(c->run, &row, &s->buf, (float *)s->tmp);
	if (!v)
		return -1;
	/* tail[0] becomes the factor that rescales the piece. */
	k->soft_row(state, (float *)&tail[0], 1);
	k->scale((float *)&sum, state->rescale, 1);
	uma_attn_rescale(c, r, state->rescale);
	if (tail[0] & ~UMA_F32_SIGN) {
		k->axpy((float *)&sum, tail[0], (float *)&tail[1], 1);
		k->axpy(uma_attn_sums(c, r), tail[0], v, c->p->dv);
	}
	state->sum = sum;
	return 0;
}

/* --- steps ---------------------------------------------------------------------------- */

/* Merge the next pieces, row by row. Returns 1 if there are more. */
static int merge_some(struct uma_attn_ctx *c)
{
	const struct uma_attn_plan *p = c->p;
	struct uma_attn_scratch *s = c->s;
	__u32 i;

	for (i = 0; i < p->merge_rows && s->next < s->valid * p->pieces; i++, s->next++)
		if (merge_piece(c, s->next / p->pieces, s->next % p->pieces))
			return -1;
	return s->next < s->valid * p->pieces;
}

static int load_some(struct uma_attn_ctx *c)
{
	struct uma_attn_scratch *s = c->s;
	__u32 i;

	for (i = 0; i < c->p->load_rows && s->next < s->valid; i++, s->next++)
		if (load_query(c, s->next))
			return -1;
	return s->next < s->valid;
}

static int store_some(struct uma_attn_ctx *c, int piece)
{
	struct uma_attn_scratch *s = c->s;
	/* The second phase does not read partial results of rows without a query. */
	__u32 rows = piece ? s->valid : s->m;
	__u32 i;

	for (i = 0; i < c->p->store_rows && s->next < rows; i++, s->next++)
		if (piece ? store_piece(c, s->next) : store_row(c, s->next))
			return -1;
	return s->next < rows;
}

/* Run one step. Returns 1 if the tile has more. */
static int advance(struct uma_attn_ctx *c, __u32 phase)
{
	struct uma_attn_scratch *s = c->s;
	int more;

	switch (s->stage) {
	case UMA_ATTN_LOAD:
		more = phase ? merge_some(c) : load_some(c);
		if (more)
			return more;
		s->next = 0;
		s->stage = phase || !uma_attn_left(s) ? UMA_ATTN_STORE : UMA_ATTN_KEYS;
		return 1;
	case UMA_ATTN_KEYS:
		more = uma_attn_keys(c);
		if (!more)
			s->stage = UMA_ATTN_VALUES;
		return more < 0 ? -1 : 1;
	case UMA_ATTN_VALUES:
		more = uma_attn_values(c);
		if (more)
			return more;
		uma_attn_open_block(c, s->block + UMA_ATTN_BLOCK);
		s->stage = uma_attn_left(s) ? UMA_ATTN_KEYS : UMA_ATTN_STORE;
		return 1;
	default:
		return store_some(c, c->p->pieces > 1 && !phase);
	}
}

int uma_attn_step(struct uma_run *run, __u32 phase, __u32 tile, __u32 *step)
{
	struct uma_attn_ctx c = {
		.run = run,
		.p = (const void *)run->prog->priv,
		.s = (struct uma_attn_scratch *)run->scratch,
	};
	int more;

	if (!*step && open_tile(&c, tile, c.p->pieces > 1 && !phase))
		return -1;
	(*step)++;
	do {
		more = advance(&c, phase);
	} while (more > 0 && c.p->unbounded);
	return more;
}
