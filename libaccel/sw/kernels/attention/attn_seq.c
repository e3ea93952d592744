// SPDX-License-Identifier: MIT
/*
 * Sequences of an attention: lengths, positions and pages, as they are in memory
 * when the task runs. Each number is read once, checked, and used as it was
 * checked; what is wrong is reported as driver/model/attention_tile.c does.
 */
#include "attn.h"

static int32_t read_number(const struct uma_tensor_view *t, int64_t off)
{
	int32_t v = ((const int32_t *)fast_ptr(t))[off];

	/* From here on the compiler does not know where it came from. */
	__asm__("" : "+r" (v));
	return v;
}

static int bad_number(struct attn_ctx *c, uint32_t slot, int64_t off, const char *field)
{
	uma_set_fault(c->r->fault, UMA_FAULT_RANGE, slot, field);
	c->r->fault->addr = attn_view(c, slot)->addr + (uint64_t)off * 4;
	return -1;
}

static int64_t length_off(const struct attn_ctx *c, uint32_t b, uint32_t column)
{
	const struct uma_tensor_view *t = attn_view(c, UMA_SLOT_AUX2);

	return (int64_t)b * t->strides[0] + (t->rank > 1 ? column * t->strides[1] : 0);
}

static int bad_length(struct attn_ctx *c, uint32_t b, uint32_t column)
{
	return bad_number(c, UMA_SLOT_AUX2, length_off(c, b, column), "lengths");
}

/* A number of the lengths, from 0 to @max. */
static int read_length(struct attn_ctx *c, uint32_t b, uint32_t column, uint64_t max,
		       uint32_t *out)
{
	const int32_t v = read_number(attn_view(c, UMA_SLOT_AUX2), length_off(c, b, column));

	if (v < 0 || (uint64_t)v > max)
		return bad_length(c, b, column);
	*out = (uint32_t)v;
	return 0;
}

/* Where a ragged sequence is; the next one must start behind it. */
static int read_start(struct attn_ctx *c)
{
	const uint64_t rows = attn_view(c, UMA_SLOT_DST)->dims[1];
	struct attn_seq *q = &c->q;
	uint32_t next;

	if (read_length(c, q->b, UMA_ATTN_LEN_Q_START, rows, &q->q_start))
		return -1;
	if ((uint64_t)q->q_start + q->q_len > rows)
		return bad_length(c, q->b, UMA_ATTN_LEN_Q);
	if (q->b + 1 < c->p->batch) {
		if (read_length(c, q->b + 1, UMA_ATTN_LEN_Q_START, UMA_ATTN_KEYS_MAX, &next))
			return -1;
		if (next < q->q_start + q->q_len)
			return bad_length(c, q->b + 1, UMA_ATTN_LEN_Q_START);
	}
	if (!c->p->kv_ragged)
		return 0;
	if (read_length(c, q->b, UMA_ATTN_LEN_KV_START, c->p->keys, &q->kv_start))
		return -1;
	if ((uint64_t)q->kv_start + q->kv_len > c->p->keys)
		return bad_length(c, q->b, UMA_ATTN_LEN_KV_START);
	return 0;
}

/**
 * attn_seq_open - read the lengths of sequence c->q.b
 * @c: context
 */
int attn_seq_open(struct attn_ctx *c)
{
	const struct uma_attention *a = attn_params(c);
	const struct uma_tensor_view *t = attn_view(c, UMA_SLOT_AUX2);
	struct attn_seq *q = &c->q;

	c->page_entry = ~0u;
	q->kv_len = (uint32_t)c->p->keys;
	q->q_len = c->p->queries;
	q->q_start = 0;
	q->kv_start = 0;
	if (a->flags & UMA_ATTN_LENGTHS) {
		if (read_length(c, q->b, UMA_ATTN_LEN_KV, c->p->keys, &q->kv_len))
			return -1;
		if (t->rank > 1 && t->dims[1] > UMA_ATTN_LEN_Q &&
		    read_length(c, q->b, UMA_ATTN_LEN_Q, c->p->queries, &q->q_len))
			return -1;
		if (c->p->ragged && read_start(c))
			return -1;
	}
	q->pos0 = a->flags & UMA_ATTN_OFFSET ? (int64_t)a->q_offset :
		  (int64_t)q->kv_len - q->q_len;
	return 0;
}

static uint64_t clamp_key(int64_t j, uint64_t most)
{
	return j < 0 ? 0 : (uint64_t)j > most ? most : (uint64_t)j;
}

/**
 * attn_seq_limits - keys that some of the tile's rows may see
 * @c: context
 * @rows: rows with a query
 *
 * The queries are neighbours, so each of these keys is seen by one of them
 * unless a mask hides it.
 */
void attn_seq_limits(struct attn_ctx *c, uint32_t rows)
{
	const struct uma_attention *a = attn_params(c);
	struct attn_seq *q = &c->q;
	uint64_t to = q->kv_len;
	int64_t first, last;

	q->keep = 0;
	q->lo = 0;
	q->hi = 0;
	if (!rows)
		return;
	first = q->pos0 + attn_query(c, 0);
	last = q->pos0 + attn_query(c, rows - 1);
	if (a->flags & UMA_ATTN_CAUSAL)
		to = clamp_key(last + 1, to);
	if (a->flags & UMA_ATTN_WINDOW) {
		q->keep = UMA_MIN(to, a->keep);
		q->lo = clamp_key(first - (int64_t)a->window_left, to);
		q->lo = UMA_MAX(q->lo, q->keep);
		to = UMA_MAX(clamp_key(last + (int64_t)a->window_right + 1, to), q->lo);
	}
	q->hi = to;
}

static int32_t clamp_int(int64_t x)
{
	return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : (int32_t)x;
}

/**
 * attn_row_limits - what a row sees
 * @c: context
 * @row: of the tile
 * @l: out
 */
void attn_row_limits(const struct attn_ctx *c, uint32_t row, struct attn_limits *l)
{
	const struct uma_attention *a = attn_params(c);
	const int64_t pos = c->q.pos0 + attn_query(c, row);
	int64_t lo = 0, hi = (int64_t)c->q.kv_len - 1;

	if (a->flags & UMA_ATTN_CAUSAL)
		hi = UMA_MIN(hi, pos);
	l->hk = clamp_int(hi);
	if (a->flags & UMA_ATTN_WINDOW) {
		lo = pos - (int64_t)a->window_left;
		hi = UMA_MIN(hi, pos + (int64_t)a->window_right);
	}
	l->lo = clamp_int(lo);
	l->hi = clamp_int(hi);
	l->pos = clamp_int(pos);
}

/* The page that an entry of the table names. */
static int read_page(struct attn_ctx *c, uint32_t entry)
{
	const struct uma_tensor_view *t = attn_view(c, UMA_SLOT_AUX1);
	const int64_t off = (int64_t)c->q.b * t->strides[0] + (int64_t)entry * t->strides[1];
	const int32_t page = read_number(t, off);

	if (page < 0 || (uint32_t)page >= attn_view(c, UMA_SLOT_B)->dims[0])
		return bad_number(c, UMA_SLOT_AUX1, off, "pages");
	c->page_entry = entry;
	c->page = (uint32_t)page;
	return 0;
}

/**
 * attn_key_at - index of a key of the sequence
 * @c: context
 * @slot: of K or V
 * @key: key
 * @idx: out: of its first element
 */
int attn_key_at(struct attn_ctx *c, uint32_t slot, uint64_t key, uint32_t *idx)
{
	const struct uma_tensor_view *t = attn_view(c, slot);

	idx[2] = c->q.g;
	idx[3] = 0;
	if (uma_has(c->r->prog->op, UMA_SLOT_AUX1)) {
		uint32_t entry = (uint32_t)(key / t->dims[1]);

		/* Pages that no row sees need not be there. Blocks may begin before those seen. */
		if (key >= c->q.keep)
			entry = UMA_MAX(entry, (uint32_t)(c->q.lo / t->dims[1]));
		if (entry != c->page_entry && read_page(c, entry))
			return -1;
		idx[0] = c->page;
		idx[1] = (uint32_t)(key % t->dims[1]);
	} else {
		idx[0] = c->p->kv_ragged ? 0 : c->q.b;
		idx[1] = c->q.kv_start + (uint32_t)key;
	}
	return 0;
}
