// SPDX-License-Identifier: MIT
/*
 * Tokens that are guessed: what came behind the same tokens before, or what a smaller model
 * finds most likely. The model runs over them at once, and tokens are chosen as without them; a
 * guess is right if it is the token that was chosen. So the answer is the same with and without
 * them, also when it is drawn, and a guess of probability p is right with probability p.
 */
#include <errno.h>
#include <string.h>

#include "generate.h"

/* Tokens at the end that have to be the same */
#define NGRAM_MAX	4
#define NGRAM_MIN	2
/* Tokens that pass without a guess where none was right */
#define REST		16

/* How many may be guessed now */
static uint32_t reach_of(struct request *r, uint32_t most, uint32_t max)
{
	uint32_t left = r->limit - r->count - 1;

	if (r->rest) {
		r->rest--;
		return 0;
	}
	most = most < max ? most : max;
	most = most < r->reach ? most : r->reach;
	most = most < left ? most : left;
	return request_room(r, most + 1) ? 0 : most;
}

/* Where the last @n tokens were before, the last time; 0: nowhere */
static uint32_t find_before(const int32_t *tokens, uint32_t count, uint32_t n)
{
	uint32_t i;

	for (i = count - 1; i >= n; i--)
		if (tokens[i - 1] == tokens[count - 1] &&
		    !memcmp(tokens + i - n, tokens + count - n, n * sizeof(*tokens)))
			return i;
	return 0;
}

/**
 * guess_lookup - guess what came behind the last tokens before
 * @g: generator
 * @r: request, of which one token is to be run
 * @most: most tokens
 */
void guess_lookup(struct accel_generator *g, struct request *r, uint32_t most)
{
	uint32_t n, at = 0;

	most = reach_of(r, most, g->opts.lookup);
	for (n = NGRAM_MAX; most && n >= NGRAM_MIN && !at; n--)
		if (r->count > n)
			at = find_before(r->tokens, r->count, n);
	if (!at)
		return;
	n = r->count - at < most ? r->count - at : most;
	memcpy(r->tokens + r->count, r->tokens + at, n * sizeof(*r->tokens));
	r->guessed = n;
}

/* Guesses were right, or not: more of them, or fewer. */
void guess_judge(struct accel_generator *g, struct request *r, uint32_t accepted)
{
	uint32_t max = g->opts.lookup > g->opts.drafted ? g->opts.lookup : g->opts.drafted;

	g->info.guessed += r->guessed;
	g->info.accepted += accepted;
	if (r->draft.live)
		engine_seq_truncate(&g->guesser, &r->draft, r->count - 1);
	if (accepted == r->guessed)
		r->reach = 2 * r->reach < max ? 2 * r->reach : max;
	else if (!accepted)
		r->reach /= 2;
	if (!r->reach) {
		r->reach = 1;
		r->rest = REST;
	}
}

/* There is no room for guesses now. */
void guess_forget(struct accel_generator *g, struct request *r)
{
	if (r->draft.live && r->guessed)
		engine_seq_truncate(&g->guesser, &r->draft, r->count - 1);
	r->guessed = 0;
}

void guess_drop(struct accel_generator *g, struct request *r)
{
	if (r->draft.live)
		engine_seq_drop(&g->guesser, &r->draft);
}

/* --- a smaller model ---------------------------------------------------------------- */

static int32_t most_likely(const float *logits, uint32_t count)
{
	uint32_t i, best = 0;

	for (i = 1; i < count; i++)
		if (logits[i] > logits[best])
			best = i;
	return (int32_t)best;
}

/*
 * Pieces for those that want a guess more: what the smaller model has not seen, which are
 * answers' last tokens, or prompts. @want: their guesses
 */
static uint32_t draft_pieces(struct accel_generator *g, uint32_t most)
{
	uint32_t left = g->opts.tokens, count = 0, n;
	struct engine *e = &g->guesser;
	struct request *r;

	for (r = g->requests; r && count < g->opts.batch; r = r->next) {
		if (!r->active || r->count - r->seq.done != 1 || r->guessed >= most ||
		    r->guessed >= r->reach || r->limit - r->count < r->guessed + 2 || r->rest ||
		    r->count + r->guessed >= e->context || request_room(r, most + 1))
			continue;
		if (!r->draft.live && engine_seq_create(e, &r->draft))
			continue;
		n = r->count + r->guessed - r->draft.done;
		n = n < left ? n : left;
		if (!n)
			continue;
		g->owners[count] = r;
		g->pieces[count++] = (struct piece) {
			&r->draft, r->tokens + r->draft.done, n,
			r->draft.done + n == r->count + r->guessed
		};
		left -= n;
	}
	return count;
}

/**
 * guess_draft - let the smaller model guess
 * @g: generator; locked, by who is busy: the lock is given up meanwhile
 * @most: most tokens of a request
 */
void guess_draft(struct accel_generator *g, uint32_t most)
{
	struct engine *e = &g->guesser;
	const float *logits;
	uint32_t i, k, count;
	struct request *r;
	int ret;

	most = most < g->opts.drafted ? most : g->opts.drafted;
	/* Who has guesses of another kind keeps them. */
	for (r = g->requests; r; r = r->next)
		if (r->guessed)
			most = 0;
	for (r = g->requests; r; r = r->next)
		if (r->rest && r->active && !g->opts.lookup)
			r->rest--;
	for (k = 0; k < most; k++) {
		count = draft_pieces(g, most);
		if (!count)
			return;
		pthread_mutex_unlock(&g->lock);
		ret = engine_run(e, g->pieces, count);
		pthread_mutex_lock(&g->lock);
		if (ret) {
			/* It begins anew; what was guessed so far stays. */
			for (r = g->requests; r; r = r->next)
				guess_drop(g, r);
			return;
		}
		logits = e->logits;
		for (i = 0; i < count; i++) {
			if (!g->pieces[i].rows)
				continue;
			r = g->owners[i];
			r->tokens[r->count + r->guessed++] = most_likely(logits, e->vocabulary);
			logits += e->vocabulary;
		}
	}
}
