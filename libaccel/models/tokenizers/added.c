// SPDX-License-Identifier: MIT
/*
 * Tokens that are looked for in the text, before the model sees what lies between them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

const struct tok_added *added_get(const struct accel_tokenizer *t, uint32_t id)
{
	return id < t->added_of_n && t->added_of[id] ? &t->added[t->added_of[id] - 1] : NULL;
}

/**
 * added_add - a token that is looked for
 * @t: tokenizer whose model is there
 * @a: token; its text becomes the tokenizer's
 *
 * Return: 0; -E2BIG; -EBADMSG the token is another text; -ENOMEM.
 */
int added_add(struct accel_tokenizer *t, const struct tok_added *a)
{
	struct tok_added copy = *a;
	uint32_t id = vocab_find(&t->vocab, a->text.p, a->text.n);
	int ret;

	if (!a->text.n)
		return 0;
	/* A text that the model has is the model's token, whatever the file calls it. */
	if (id == TOK_NONE)
		id = vocab_find(&t->extra, a->text.p, a->text.n);
	if (id == TOK_NONE) {
		id = a->id;
		ret = vocab_add(&t->extra, a->text, id);
		if (ret)
			return ret;
	}
	if (id < t->added_of_n && t->added_of[id]) {
		struct tok_added *old = &t->added[t->added_of[id] - 1];

		copy.text = old->text;
		copy.shown = old->shown;
		copy.id = id;
		*old = copy;
		return 0;
	}
	ret = tok_grow(&t->added, &t->added_cap, (uint64_t)t->added_n + 1, sizeof(*t->added));
	if (ret)
		return ret;
	if (id >= t->added_of_n) {
		uint32_t n = t->added_of_n ? t->added_of_n : 1024, *more;

		while (n <= id)
			n *= 2;
		more = realloc(t->added_of, n * sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + t->added_of_n, 0, (n - t->added_of_n) * sizeof(*more));
		t->added_of = more;
		t->added_of_n = n;
	}
	copy.id = id;
	copy.text = bytes_dup(a->text);
	copy.shown = (struct tok_bytes){ NULL, 0 };
	if (!copy.text.p)
		return -ENOMEM;
	t->added[t->added_n++] = copy;
	t->added_of[id] = t->added_n;
	return 0;
}

/**
 * added_finish - what is looked for, in the text and in the normalized one
 * @t: tokenizer, all of whose steps and tokens are there
 *
 * Return: 0; -ENOMEM.
 */
int added_finish(struct accel_tokenizer *t)
{
	struct tok_bytes *texts = malloc(((size_t)t->added_n + 1) * sizeof(*texts));
	uint32_t *ids = malloc(((size_t)t->added_n + 1) * sizeof(*ids)), i, n;
	struct tok_run *r = run_get(t);
	int ret = texts && ids && r ? 0 : -ENOMEM, pass;

	for (i = 0; !ret && i < t->added_n; i++) {
		struct tok_added *a = &t->added[i];

		if (!a->normalized || !t->normalizers.n)
			continue;
		ret = run_normalize(r, a->text);
		if (!ret && (r->text.n != a->text.n || memcmp(r->text.s, a->text.p, a->text.n))) {
			a->shown = bytes_dup((struct tok_bytes){ r->text.s, r->text.n });
			ret = a->shown.p ? 0 : -ENOMEM;
		}
	}
	for (pass = 0; !ret && pass < 2; pass++) {
		for (i = n = 0; i < t->added_n; i++) {
			const struct tok_added *a = &t->added[i];

			if (a->normalized != pass)
				continue;
			texts[n] = a->shown.p ? a->shown : a->text;
			ids[n++] = a->id;
		}
		ret = trie_make(pass ? &t->found_normalized : &t->found, n, texts, ids);
	}
	if (r)
		run_put(r);
	free(texts);
	free(ids);
	return ret;
}

static bool word_before(const struct tok_run *r, uint32_t start, uint32_t at)
{
	uint32_t k, last = at - 1;

	if (at == start)
		return false;
	while ((r->text.s[last] & 0xc0) == 0x80)
		last--;
	return is_word(utf8_get(r->text.s + last, &k));
}

static bool word_after(const struct tok_run *r, uint32_t at, uint32_t end)
{
	uint32_t k;

	return at < end && is_word(utf8_get(r->text.s + at, &k));
}

/* The longest token at @at, TOK_NONE: none */
static uint32_t longest(const struct tok_run *r, const struct tok_trie *trie, uint32_t at,
			uint32_t end,
			uint32_t *to)
{
	struct tok_walk w = { 0, 0, 0 };
	uint32_t best = TOK_NONE, id;

	while (at < end && trie_step(trie, &w, r->text.s[at++], &id))
		if (id != TOK_NONE) {
			best = id;
			*to = at;
		}
	return best;
}

static int find_in(struct tok_run *r, const struct tok_trie *trie, uint32_t start, uint32_t end)
{
	uint32_t at = start, done = start, from, to = start, id, k;
	int ret = 0;

	while (!ret && at < end) {
		const struct tok_added *a;

		if (trie->first[r->text.s[at]] == trie->first[r->text.s[at] + 1]) {
			at++;
			continue;
		}
		id = longest(r, trie, at, end, &to);
		if (id == TOK_NONE) {
			at++;
			continue;
		}
		a = added_get(r->t, id);
		from = at;
		at = to;
		if (a->special && !(r->flags & ACCEL_ENCODE_PARSE_SPECIAL))
			continue;
		if (a->single_word && (word_before(r, start, from) || word_after(r, to, end)))
			continue;
		while (a->lstrip && from > done) {
			uint32_t last = from - 1;

			while ((r->text.s[last] & 0xc0) == 0x80)
				last--;
			if (!is_white(utf8_get(r->text.s + last, &k)))
				break;
			from = last;
		}
		while (a->rstrip && to < end && is_white(utf8_get(r->text.s + to, &k)))
			to += k;
		if (from < done)
			from = done;
		ret = piece_add(&r->others, done, from, TOK_NONE);
		if (!ret)
			ret = piece_add(&r->others, from, to, id);
		done = to;
	}
	return ret ? ret : piece_add(&r->others, done, end, TOK_NONE);
}

/**
 * added_find - cut out the tokens that are looked for
 * @r: run
 * @trie: tokens
 *
 * Return: 0; -E2BIG; -ENOMEM.
 */
int added_find(struct tok_run *r, const struct tok_trie *trie)
{
	struct tok_pieces swap;
	uint32_t i;
	int ret = 0;

	if (!trie->count)
		return 0;
	r->others.n = 0;
	for (i = 0; !ret && i < r->pieces.n; i++) {
		struct tok_piece p = r->pieces.v[i];

		ret = p.id != TOK_NONE ? piece_add(&r->others, p.start, p.end, p.id) :
					 find_in(r, trie, p.start, p.end);
	}
	swap = r->pieces;
	r->pieces = r->others;
	r->others = swap;
	return ret;
}
