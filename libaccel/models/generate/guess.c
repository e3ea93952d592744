// SPDX-License-Identifier: MIT
/*
 * Tokens that are guessed: what came behind the same tokens before, or what a smaller model
 * finds most likely. The model runs over them at once, and tokens are chosen as without them; a
 * guess is right if it is the token that was chosen. So the answer is the same with and without
 * them, also when it is drawn, and a guess of probability p is right with probability p.
 *
 * A wrong guess costs a row of a step, and the first one of a size costs the planning of that size.
 * So there are none unless enough of the last sixteen were right. Guesses by look-up are compared
 * with the answer also when the model does not run over them, which costs nothing: an answer that
 * does not repeat itself is generated as fast as without guesses. How many tokens were the same
 * says most about whether the next one is: guesses after many, after a few and after less are
 * judged separately.
 */
#include <string.h>

#include "generate.h"

/* Tokens at the end that have to be the same; more are not counted. */
#define SAME_MIN	2
#define SAME_MAX	16
/* Tokens that pass before a smaller model, most of whose guesses were wrong, guesses again */
#define REST		16
/* The prompt's last tokens, with which guesses by look-up are compared */
#define JUDGED		64

/**
 * struct source - a kind of guesses
 * @same: of look-up: after so many tokens that were the same, and less than the next one's
 * @before: what is assumed of the guesses before the first; look-up has to show that it is right
 * @enough: so many of the last sixteen have to be right for more of them
 */
static const struct source {
	uint32_t same;
	uint16_t before;
	uint32_t enough;
} sources[GUESS_SOURCES] = {
	[GUESS_SHORT] = { SAME_MIN, 0x007f, 8 },
	[GUESS_LONGER] = { 4, 0x007f, 8 },
	[GUESS_LONG] = { SAME_MAX, 0x007f, 8 },
	[GUESS_DRAFT] = { UINT32_MAX, 0x0fff, 10 },
};

/* How many may be guessed */
static uint32_t reach_of(const struct request *r, enum guess_source source)
{
	const struct judge *j = &r->judges[source];

	return __builtin_popcount(j->history) < (int)sources[source].enough ? 0 : j->reach;
}

/*
 * Where what followed the end of the text before is, the longest end the last time; 0: nowhere.
 * @source: what such guesses count as
 */
static uint32_t find_before(const int32_t *tokens, uint32_t count, enum guess_source *source)
{
	uint32_t i, n, longest = SAME_MIN - 1, at = 0;

	for (i = count - 1; i > 0 && longest < SAME_MAX; i--) {
		for (n = 0; n < SAME_MAX && n < i; n++)
			if (tokens[i - 1 - n] != tokens[count - 1 - n])
				break;
		if (n > longest) {
			longest = n;
			at = i;
		}
	}
	*source = GUESS_SHORT;
	while (longest >= sources[*source + 1].same)
		++*source;
	return at;
}

/**
 * guess_lookup - guess what came behind the last tokens before
 * @g: generator
 * @r: request, of which one token is to be run
 * @most: most tokens
 */
void guess_lookup(struct accel_generator *g, struct request *r, uint32_t most)
{
	uint32_t at = find_before(r->tokens, r->count, &r->lookup), i;
	uint32_t left = r->limit - r->count - 1, reach = reach_of(r, r->lookup);

	if (!at)
		return;
	r->expected = r->tokens[at];
	most = most < g->opts.lookup ? most : g->opts.lookup;
	most = most < reach ? most : reach;
	most = most < left ? most : left;
	if (!most || request_room(r, most + 1))
		return;
	/* Of a loop they go round it. */
	for (i = 0; i < most; i++)
		r->tokens[r->count + i] = r->tokens[at + i];
	r->guessed = most;
	r->source = r->lookup;
}

static void note(struct judge *j, bool right)
{
	j->history = (uint16_t)(j->history << 1 | right);
}

/* Of look-up the end of the prompt tells how often it is right. */
void guess_begin(const struct accel_generator *g, struct request *r)
{
	enum guess_source source;
	uint32_t i, at;

	for (i = 0; i < GUESS_SOURCES; i++)
		r->judges[i] = (struct judge) { sources[i].before, 2 };
	for (i = r->count > JUDGED ? r->count - JUDGED : 1; g->opts.lookup && i < r->count; i++) {
		at = find_before(r->tokens, i, &source);
		if (at)
			note(&r->judges[source], r->tokens[at] == r->tokens[i]);
	}
}

/* Guesses were right, or not. @first: where the first one was, or the token instead of it */
void guess_judge(struct accel_generator *g, struct request *r, uint32_t first, uint32_t accepted)
{
	struct judge *j = &r->judges[r->source];
	uint32_t max, i;

	/* What look-up expected, if it did not guess */
	if (r->expected >= 0 && !(r->guessed && r->source != GUESS_DRAFT) && r->count > first &&
	    !r->ended)
		note(&r->judges[r->lookup], r->expected == r->tokens[first]);
	if (!r->guessed)
		return;
	g->info.guessed += r->guessed;
	g->info.accepted += accepted;
	for (i = 0; i < accepted; i++)
		note(j, true);
	if (accepted < r->guessed)
		note(j, false);
	max = r->source == GUESS_DRAFT ? g->opts.drafted : g->opts.lookup;
	if (accepted == r->guessed)
		j->reach = 2 * j->reach < max ? 2 * j->reach : max;
	else if (accepted >= j->reach / 2)
		j->reach = accepted ? accepted : 1;
	else
		j->reach /= 2;
	if (r->source != GUESS_DRAFT)
		return;
	r->rest = accepted ? 0 : REST;
	if (r->draft.live)
		engine_seq_truncate(&g->guesser, &r->draft, r->count - 1);
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
		n = reach_of(r, GUESS_DRAFT);
		n = n || r->rest ? n : 1;
		if (!r->active || r->count - r->seq.done != 1 || r->guessed >= most ||
		    r->guessed >= n || (r->guessed && r->source != GUESS_DRAFT) ||
		    r->limit - r->count < r->guessed + 2 ||
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
 * guess_draft - let the smaller model guess where look-up did not
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
	for (r = g->requests; r; r = r->next)
		if (r->rest && r->active)
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
			r->source = GUESS_DRAFT;
			logits += e->vocabulary;
		}
	}
}
