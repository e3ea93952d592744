// SPDX-License-Identifier: MIT
/*
 * WordPiece: the longest piece first. WordLevel: whole words.
 */
#include <errno.h>
#include <string.h>

#include "inside.h"

/* The longest token at the beginning of @s, behind @prefix; its bytes of @s, 0: none */
static uint32_t longest(const struct accel_tokenizer *t, struct tok_bytes prefix, const uint8_t *s,
			uint32_t n,
			uint32_t *id)
{
	struct tok_walk w = { 0, 0, 0 };
	uint32_t i, here, best = 0;

	for (i = 0; i < prefix.n; i++)
		if (!trie_step(&t->trie, &w, prefix.p[i], &here))
			return 0;
	for (i = 0; i < n && trie_step(&t->trie, &w, s[i], &here); i++)
		/* A token of a file need not end where a character does; such a one is none. */
		if (here != TOK_NONE && (i + 1 == n || (s[i + 1] & 0xc0) != 0x80)) {
			best = i + 1;
			*id = here;
		}
	return best;
}

static int unknown(struct tok_run *r, uint32_t start, uint32_t end)
{
	return r->t->unk == TOK_NONE ? -EBADMSG : run_emit(r, r->t->unk, start, end, 0);
}

int wordpiece_encode(struct tok_run *r, uint32_t start, uint32_t end)
{
	const struct accel_tokenizer *t = r->t;
	const uint8_t *s = r->text.s;
	uint32_t chars = 0, at, n, id = 0;
	size_t first = r->out_n;
	int ret = 0;

	for (at = start; at < end; at++)
		chars += (s[at] & 0xc0) != 0x80;
	if (chars > t->max_chars)
		return unknown(r, start, end);
	for (at = start; !ret && at < end; at += n) {
		n = longest(t, at > start ? t->prefix : (struct tok_bytes){ NULL, 0 }, s + at,
			    end - at, &id);
		if (!n) {
			r->out_n = first;
			return unknown(r, start, end);
		}
		ret = run_emit(r, id, at, at + n, 0);
	}
	return ret;
}

int wordlevel_encode(struct tok_run *r, uint32_t start, uint32_t end)
{
	uint32_t id = vocab_find(&r->t->vocab, r->text.s + start, end - start);

	return id != TOK_NONE ? run_emit(r, id, start, end, 0) : unknown(r, start, end);
}
