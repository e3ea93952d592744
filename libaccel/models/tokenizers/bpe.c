// SPDX-License-Identifier: MIT
/*
 * BPE: neighbours become one, the pair first that was learnt first, or whose token has the best
 * score. A
 * heap has the pairs; one that is no longer what it was is passed over when its turn comes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

int merges_make(struct tok_merges *m, uint32_t count)
{
	uint32_t size = 64, i;

	while (size / 2 < count)
		size *= 2;
	m->keys = malloc(size * sizeof(*m->keys));
	m->vals = malloc(size * sizeof(*m->vals));
	if (!m->keys || !m->vals)
		return -ENOMEM;
	for (i = 0; i < size; i++)
		m->keys[i] = UINT64_MAX;
	m->mask = size - 1;
	return 0;
}

static uint32_t merge_slot(const struct tok_merges *m, uint64_t key)
{
	uint64_t h = (key ^ m->seed) * 0x9e3779b97f4a7c15u;
	uint32_t at = (uint32_t)(h >> 32 ^ h >> 17) & m->mask;

	while (m->keys[at] != UINT64_MAX && m->keys[at] != key)
		at = (at + 1) & m->mask;
	return at;
}

void merges_add(struct tok_merges *m, uint32_t left, uint32_t right, uint32_t rank, uint32_t id)
{
	uint64_t key = (uint64_t)left << 32 | right;
	uint32_t at = merge_slot(m, key);

	m->keys[at] = key;
	m->vals[at] = (uint64_t)rank << 32 | id;
}

/* Scores as numbers, the best one the least */
static uint32_t score_rank(float score)
{
	uint32_t u;

	memcpy(&u, &score, sizeof(u));
	u = u & 0x80000000u ? ~u : u | 0x80000000u;
	return ~u;
}

struct words {
	struct tok_run *r;
	const struct tok_vocab *v;
	const uint8_t *text;
};

/* What a symbol and the one behind it become; false: nothing */
static bool joins(const struct words *w, uint32_t left, uint32_t at, uint32_t *rank, uint32_t *id)
{
	const struct accel_tokenizer *t = w->r->t;
	const struct tok_symbol *a = &w->r->symbols[left], *b = &w->r->symbols[a->next];
	uint32_t slot;

	if (t->by_score) {
		*id = vocab_find(w->v, w->text + at, (size_t)a->len + b->len);
		if (*id == TOK_NONE)
			return false;
		*rank = score_rank(t->scores ? t->scores[*id] : 0);
		return true;
	}
	if (!t->merges.keys)
		return false;
	slot = merge_slot(&t->merges, (uint64_t)a->id << 32 | b->id);
	if (t->merges.keys[slot] == UINT64_MAX)
		return false;
	*rank = (uint32_t)(t->merges.vals[slot] >> 32);
	*id = (uint32_t)t->merges.vals[slot];
	return true;
}

static void sift_up(struct tok_merge *h, uint32_t i)
{
	struct tok_merge m = h[i];

	while (i && h[(i - 1) / 2].order > m.order) {
		h[i] = h[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h[i] = m;
}

static int push(struct tok_run *r, uint32_t rank, uint32_t place, uint32_t id)
{
	int ret = tok_grow(&r->heap, &r->heap_cap, (uint64_t)r->heap_n + 1, sizeof(*r->heap));

	if (ret)
		return ret;
	r->heap[r->heap_n] = (struct tok_merge){ (uint64_t)rank << 32 | place, id };
	sift_up(r->heap, r->heap_n++);
	return 0;
}

static struct tok_merge pop(struct tok_run *r)
{
	struct tok_merge top = r->heap[0], last = r->heap[--r->heap_n], *h = r->heap;
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < r->heap_n) {
		if (child + 1 < r->heap_n && h[child + 1].order < h[child].order)
			child++;
		if (h[child].order >= last.order)
			break;
		h[i] = h[child];
		i = child;
	}
	h[i] = last;
	return top;
}

static int add_symbol(struct tok_run *r, uint32_t *n, uint32_t id, uint32_t len)
{
	int ret = tok_grow(&r->symbols, &r->symbol_cap, (uint64_t)*n + 1, sizeof(*r->symbols));

	if (ret)
		return ret;
	r->symbols[*n] = (struct tok_symbol){ id, len, (int32_t)*n - 1, (int32_t)*n + 1 };
	++*n;
	return 0;
}

/* The token of a character, with what stands before or behind it in a word */
static uint32_t char_token(const struct accel_tokenizer *t, const struct tok_vocab *v,
			   const uint8_t *s, uint32_t n,
			   bool first, bool last)
{
	uint8_t with[2 * TOK_MAX_WORD + 8];
	size_t k = 0;

	if ((first || !t->prefix.n) && (!last || !t->suffix.n))
		return vocab_find(v, s, n);
	if (!first && t->prefix.n) {
		memcpy(with, t->prefix.p, t->prefix.n);
		k = t->prefix.n;
	}
	memcpy(with + k, s, n);
	k += n;
	if (last && t->suffix.n) {
		memcpy(with + k, t->suffix.p, t->suffix.n);
		k += t->suffix.n;
	}
	return vocab_find(v, with, k);
}

/* A character that is no token, as bytes; false: not all of them are tokens either */
static bool bytes_known(const struct accel_tokenizer *t, const uint8_t *s, uint32_t n)
{
	while (n--)
		if (t->byte_ids[s[n]] == TOK_NONE)
			return false;
	return true;
}

/* The word as characters, or bytes */
static int first_symbols(const struct words *w, uint32_t n, uint32_t *count)
{
	const struct accel_tokenizer *t = w->r->t;
	uint32_t i, j, k, id, unk_len = 0;
	int ret = 0;

	*count = 0;
	for (i = 0; !ret && i < n; i += k) {
		bool fallback;

		k = 1;
		if (!t->raw)
			utf8_get(w->text + i, &k);
		id = char_token(t, w->v, w->text + i, k, !i, i + k == n);
		/* Affixes are no bytes of the text: with them there is nothing to fall back to. */
		fallback = id == TOK_NONE && t->byte_fallback && bytes_known(t, w->text + i, k) &&
			   (!t->prefix.n || !i) && (!t->suffix.n || i + k < n);
		/*
		 * Tokens that stand for what is unknown come when it ends, unlike those for
		 * bytes.
		 */
		if (id == TOK_NONE && !fallback) {
			if (t->unk == TOK_NONE)
				continue;
			if (unk_len && !t->fuse_unk) {
				ret = add_symbol(w->r, count, t->unk, unk_len);
				unk_len = 0;
			}
			unk_len += k;
			continue;
		}
		if (unk_len && id != TOK_NONE) {
			ret = add_symbol(w->r, count, t->unk, unk_len);
			unk_len = 0;
		}
		if (ret)
			break;
		if (id != TOK_NONE)
			ret = add_symbol(w->r, count, id, k);
		else
			for (j = 0; !ret && j < k; j++)
				ret = add_symbol(w->r, count, t->byte_ids[w->text[i + j]], 1);
	}
	if (!ret && unk_len)
		ret = add_symbol(w->r, count, t->unk, unk_len);
	return ret;
}

static int merge_word(const struct words *w, uint32_t count)
{
	struct tok_run *r = w->r;
	struct tok_symbol *s = r->symbols;
	uint32_t i, at, rank, id, *places = NULL, cap = 0;
	int ret = 0;

	if (!count)
		return 0;
	s[count - 1].next = -1;
	r->heap_n = 0;
	/* Where symbols begin is needed only by those that merge by their text. */
	if (r->t->by_score) {
		ret = tok_grow(&places, &cap, count, sizeof(*places));
		for (i = at = 0; !ret && i < count; at += s[i++].len)
			places[i] = at;
	}
	for (i = 0; !ret && i + 1 < count; i++)
		if (joins(w, i, places ? places[i] : 0, &rank, &id))
			ret = push(r, rank, i, id);
	while (!ret && r->heap_n) {
		struct tok_merge top = pop(r);
		uint32_t place = (uint32_t)top.order, next;

		if (!s[place].len || s[place].next < 0)
			continue;
		if (!joins(w, place, places ? places[place] : 0, &rank, &id) || id != top.id)
			continue;
		next = (uint32_t)s[place].next;
		s[place].id = id;
		s[place].len += s[next].len;
		s[next].len = 0;
		s[place].next = s[next].next;
		if (s[place].next >= 0) {
			s[s[place].next].prev = (int32_t)place;
			if (joins(w, place, places ? places[place] : 0, &rank, &id))
				ret = push(r, rank, place, id);
		}
		if (!ret && s[place].prev >= 0) {
			uint32_t prev = (uint32_t)s[place].prev;

			if (joins(w, prev, places ? places[prev] : 0, &rank, &id))
				ret = push(r, rank, prev, id);
		}
	}
	free(places);
	return ret;
}

/**
 * bpe_encode - a piece as tokens
 * @r: run
 * @start: where it begins
 * @end: where it ends
 *
 * Return: 0; -E2BIG; -ENOMEM.
 */
int bpe_encode(struct tok_run *r, uint32_t start, uint32_t end)
{
	const struct accel_tokenizer *t = r->t;
	struct words w = { r, t->raw ? &t->bytes : &t->vocab, r->text.s + start };
	uint32_t n = end - start, count, i, at = start, id;
	struct tok_cached *c = NULL;
	uint64_t hash = 0;
	int ret = 0;

	if (t->ignore_merges) {
		id = vocab_find(w.v, w.text, n);
		if (id != TOK_NONE)
			return run_emit(r, id, start, end, 0);
	}
	if (n <= CACHE_WORD) {
		hash = tok_hash(w.v->seed, w.text, n) | 1;
		if (!r->cache)
			r->cache = calloc(CACHE_SLOTS, sizeof(*r->cache));
		if (!r->cache)
			return -ENOMEM;
		c = &r->cache[hash >> 32 & (CACHE_SLOTS - 1)];
		if (c->hash == hash && c->n == n && !memcmp(c->word, w.text, n)) {
			for (i = 0; !ret && i < c->count; at += c->lens[i++])
				ret = run_emit(r, c->ids[i], at, at + c->lens[i], 0);
			return ret;
		}
	}
	ret = first_symbols(&w, n, &count);
	if (!ret)
		ret = merge_word(&w, count);
	if (ret)
		return ret;
	if (c) {
		c->hash = hash;
		c->n = (uint8_t)n;
		c->count = 0;
		memcpy(c->word, w.text, n);
	}
	for (i = 0; !ret && i < count; i++) {
		uint32_t len = r->symbols[i].len;

		if (!len)
			continue;
		if (c && c->count < CACHE_TOKENS) {
			c->ids[c->count] = r->symbols[i].id;
			c->lens[c->count++] = (uint8_t)len;
		} else if (c) {
			c->hash = 0;
			c = NULL;
		}
		ret = run_emit(r, r->symbols[i].id, at, at + len, 0);
		at += len;
	}
	return ret;
}
