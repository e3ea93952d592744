// SPDX-License-Identifier: MIT
/*
 * Tokens by text, and texts by their first bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "inside.h"

/* Seeded, so that a file cannot be made whose tokens all meet in one place */
uint64_t tok_hash(uint64_t seed, const uint8_t *p, size_t n)
{
	uint64_t h = seed ^ n * 0x9e3779b97f4a7c15u, w;

	while (n >= 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
		p += 8;
		n -= 8;
	}
	w = 0;
	if (n)
		memcpy(&w, p, n);
	h = (h ^ w) * 0xc4ceb9fe1a85ec53u;
	return h ^ h >> 29;
}

static uint64_t new_seed(void)
{
	uint64_t seed;

	return getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed) ? seed :
	       0x2545f4914f6cdd1du;
}

static bool word_is(const struct tok_vocab *v, uint32_t id, const uint8_t *p, size_t n)
{
	const struct tok_word *w = &v->words[id];

	return w->n == n && (!n || !memcmp(v->blob + w->at, p, n));
}

uint32_t vocab_find(const struct tok_vocab *v, const uint8_t *p, size_t n)
{
	uint32_t at;

	if (!v->slots || n > v->longest)
		return TOK_NONE;
	at = (uint32_t)tok_hash(v->seed, p, n) & v->mask;
	while (v->slots[at]) {
		if (word_is(v, v->slots[at] - 1, p, n))
			return v->slots[at] - 1;
		at = (at + 1) & v->mask;
	}
	return TOK_NONE;
}

static int table_grow(struct tok_vocab *v)
{
	uint32_t size = v->slots ? (v->mask + 1) * 2 : 1024, i, at, *old = v->slots, old_n = old ?
			v->mask + 1 : 0;
	uint32_t *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	if (!v->slots)
		v->seed = new_seed();
	for (i = 0; i < old_n; i++) {
		const struct tok_word *w;

		if (!old[i])
			continue;
		w = &v->words[old[i] - 1];
		at = (uint32_t)tok_hash(v->seed, v->blob + w->at, w->n) & (size - 1);
		while (slots[at])
			at = (at + 1) & (size - 1);
		slots[at] = old[i];
	}
	free(old);
	v->slots = slots;
	v->mask = size - 1;
	return 0;
}

/**
 * vocab_add - a token
 * @v: vocabulary
 * @text: its text; of two tokens with one text the later one is found
 * @id: token
 *
 * Return: 0; -E2BIG token or text too large; -EBADMSG the token has a text already; -ENOMEM.
 */
int vocab_add(struct tok_vocab *v, struct tok_bytes text, uint32_t id)
{
	uint32_t at;

	if (id >= TOK_MAX_IDS || text.n > TOK_MAX_WORD)
		return -E2BIG;
	if (id >= v->room) {
		uint32_t room = v->room ? v->room : 1024, i;
		struct tok_word *more;

		while (room <= id)
			room *= 2;
		more = realloc(v->words, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		for (i = v->room; i < room; i++)
			more[i] = (struct tok_word){ 0, UINT32_MAX };
		v->words = more;
		v->room = room;
	}
	if (v->words[id].n != UINT32_MAX)
		return word_is(v, id, text.p, text.n) ? 0 : -EBADMSG;
	if (v->used + text.n > v->cap || !v->blob) {
		size_t cap = (v->used + text.n) * 2 + 65536;
		uint8_t *more = cap > UINT32_MAX ? NULL : realloc(v->blob, cap);

		if (!more)
			return -ENOMEM;
		v->blob = more;
		v->cap = cap;
	}
	if (!v->slots || v->entries >= v->mask / 2) {
		int ret = table_grow(v);

		if (ret)
			return ret;
	}
	if (text.n)
		memcpy(v->blob + v->used, text.p, text.n);
	at = (uint32_t)tok_hash(v->seed, v->blob + v->used, text.n) & v->mask;
	while (v->slots[at] && !word_is(v, v->slots[at] - 1, v->blob + v->used, text.n))
		at = (at + 1) & v->mask;
	if (!v->slots[at])
		v->entries++;
	v->words[id] = (struct tok_word){ (uint32_t)v->used, (uint32_t)text.n };
	v->used += text.n;
	v->slots[at] = id + 1;
	if (v->count <= id)
		v->count = id + 1;
	if (v->longest < text.n)
		v->longest = (uint32_t)text.n;
	return 0;
}

bool vocab_get(const struct tok_vocab *v, uint32_t id, struct tok_bytes *text)
{
	if (id >= v->count || v->words[id].n == UINT32_MAX)
		return false;
	*text = (struct tok_bytes){ v->blob + v->words[id].at, v->words[id].n };
	return true;
}

void vocab_free(struct tok_vocab *v)
{
	free(v->blob);
	free(v->words);
	free(v->slots);
}

struct entry {
	struct tok_bytes text;
	uint32_t id, order;
};

static int by_text(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	size_t n = a->text.n < b->text.n ? a->text.n : b->text.n;
	int d = n ? memcmp(a->text.p, b->text.p, n) : 0;

	if (d)
		return d;
	if (a->text.n != b->text.n)
		return a->text.n < b->text.n ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

/**
 * trie_make - texts by their first bytes
 * @t: out
 * @count: number of texts
 * @texts: borrowed from what outlives it, empty ones are left out
 * @ids: what they stand for; of two that are the same text the later one does
 *
 * Return: 0; -ENOMEM.
 */
int trie_make(struct tok_trie *t, uint32_t count, struct tok_bytes *texts, uint32_t *ids)
{
	struct entry *e = malloc(((size_t)count + 1) * sizeof(*e));
	uint32_t i, n = 0;

	t->count = 0;
	t->texts = calloc((size_t)count + 1, sizeof(*t->texts));
	t->ids = malloc(((size_t)count + 1) * sizeof(*t->ids));
	if (!e || !t->texts || !t->ids) {
		free(e);
		return -ENOMEM;
	}
	for (i = 0; i < count; i++)
		if (texts[i].n)
			e[n++] = (struct entry){ texts[i], ids[i], i };
	qsort(e, n, sizeof(*e), by_text);
	for (i = 0; i < n; i++) {
		if (t->count && t->texts[t->count - 1].n == e[i].text.n &&
		    !memcmp(t->texts[t->count - 1].p, e[i].text.p, e[i].text.n))
			t->count--;
		t->texts[t->count] = e[i].text;
		t->ids[t->count++] = e[i].id;
	}
	free(e);
	for (i = 0, n = 0; i <= 256; i++) {
		while (n < t->count && t->texts[n].p[0] < i)
			n++;
		t->first[i] = n;
	}
	return 0;
}

/* The first text from @lo on whose byte @depth is @byte or higher; all have one. */
static uint32_t bound(const struct tok_trie *t, uint32_t lo, uint32_t hi, uint32_t depth,
		      uint32_t byte)
{
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->texts[mid].p[depth] < byte)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool trie_step(const struct tok_trie *t, struct tok_walk *w, uint8_t byte, uint32_t *id)
{
	*id = TOK_NONE;
	if (!w->depth) {
		w->lo = t->first[byte];
		w->hi = t->first[byte + 1];
	} else {
		/* The text that ended here has no further byte, and is the first of them. */
		if (w->lo < w->hi && t->texts[w->lo].n == w->depth)
			w->lo++;
		w->lo = bound(t, w->lo, w->hi, w->depth, byte);
		w->hi = bound(t, w->lo, w->hi, w->depth, byte + 1u);
	}
	if (w->lo >= w->hi)
		return false;
	w->depth++;
	if (t->texts[w->lo].n == w->depth)
		*id = t->ids[w->lo];
	return true;
}

void trie_free(struct tok_trie *t)
{
	free(t->texts);
	free(t->ids);
}
