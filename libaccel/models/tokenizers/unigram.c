// SPDX-License-Identifier: MIT
/*
 * Unigram: of all ways to cut a piece into tokens the one whose scores add up to most.
 */
#include <errno.h>
#include <string.h>

#include "inside.h"

#define UNKNOWN_PENALTY	10.0

/* What is in a row and unknown is one, unless it can be said in bytes. */
static int emit(struct tok_run *r, uint32_t start, uint32_t end)
{
	const struct accel_tokenizer *t = r->t;
	const uint8_t *s = r->text.s;
	uint32_t id = vocab_find(&t->vocab, s + start, end - start), i;
	int ret = 0;

	if (id != TOK_NONE)
		return run_emit(r, id, start, end, 0);
	for (i = start; t->byte_fallback && i < end; i++)
		if (t->byte_ids[s[i]] == TOK_NONE)
			break;
	if (t->byte_fallback && i == end) {
		for (i = start; !ret && i < end; i++)
			ret = run_emit(r, t->byte_ids[s[i]], start, end, 0);
		return ret;
	}
	return t->unk == TOK_NONE ? -EBADMSG : run_emit(r, t->unk, start, end, 0);
}

/**
 * unigram_encode - a piece as tokens
 * @r: run
 * @start: where it begins
 * @end: where it ends
 *
 * Return: 0; -EBADMSG unknown text, and no token for it; -E2BIG; -ENOMEM.
 */
int unigram_encode(struct tok_run *r, uint32_t start, uint32_t end)
{
	const struct accel_tokenizer *t = r->t;
	const uint8_t *s = r->text.s + start;
	uint32_t n = end - start, i, j, k, id, from;
	struct tok_best *best;
	int ret = tok_grow(&r->best, &r->best_cap, (uint64_t)n + 1, sizeof(*r->best));

	if (ret)
		return ret;
	best = r->best;
	for (i = 0; i <= n; i++)
		best[i] = (struct tok_best){ 0, UINT32_MAX, 0 };
	for (i = 0; i < n; i += k) {
		double here = best[i].score, score;
		struct tok_walk w = { 0, 0, 0 };
		bool single = false;

		utf8_get(s + i, &k);
		for (j = i; j < n && trie_step(&t->trie, &w, s[j], &id); ) {
			j++;
			if (id == TOK_NONE)
				continue;
			score = t->weights[id] + here;
			if (best[j].start == UINT32_MAX || score > best[j].score)
				best[j] = (struct tok_best){ score, i, id };
			single |= j - i == k;
		}
		if (single)
			continue;
		score = t->min_score - UNKNOWN_PENALTY + here;
		if (best[i + k].start == UINT32_MAX || score > best[i + k].score) {
			if (t->unk == TOK_NONE)
				return -EBADMSG;
			best[i + k] = (struct tok_best){ score, i, t->unk };
		}
	}
	/* The way back, turned around: the starts become ends. */
	for (i = n, j = UINT32_MAX; i; i = from) {
		from = best[i].start;
		best[i].start = j;
		j = i;
	}
	best[0].start = j;
	for (i = 0; !ret && i < n; i = j) {
		j = best[i].start;
		while (best[j].id == t->unk && j < n && best[best[j].start].id == t->unk)
			j = best[j].start;
		ret = emit(r, start + i, start + j);
	}
	return ret;
}
