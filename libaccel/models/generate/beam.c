// SPDX-License-Identifier: MIT
/*
 * Beams: of all continuations of a text the likeliest few are followed, token by token. Tokens are
 * nodes of a tree, of which a beam has a leaf; keys and values are pages that beams with the same
 * parent share until they write, so that nothing but a page in work is ever copied.
 *
 * Two rules say which hypotheses are finished and when there are enough of them: those of
 * transformers (BeamSearchScorer, BeamHypotheses), and those of Whisper's authors
 * (BeamSearchDecoder, MaximumLikelihoodRanker of openai/whisper, decoding.py).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "generate.h"

/* Tokens for an encoder: its graph has an end there, too. */
#define SOURCE_MAX	32768

/* --- candidates --------------------------------------------------------------------- */

/* In order; of equals the one that was there first stays before. */
static void add_candidate(struct beams *b, const struct beam_candidate *c)
{
	uint32_t at = b->candidate_count;

	if (at == b->candidate_cap)
		at--;
	else
		b->candidate_count++;
	for (; at && c->sum > b->candidates[at - 1].sum; at--)
		b->candidates[at] = b->candidates[at - 1];
	b->candidates[at] = *c;
}

/* The likeliest continuations of all beams, as many as are needed for the next ones */
static int find_candidates(struct beams *b, const float *rows)
{
	const uint32_t vocabulary = b->engine->vocabulary;
	const float *logits;
	struct beam_candidate c;
	double sum, least;

	b->candidate_count = 0;
	for (c.beam = 0; c.beam < b->count; c.beam++) {
		logits = rows + (uint64_t)c.beam * vocabulary;
		if (b->opts.filter)
			logits = b->opts.filter(b->opts.user, b, c.beam, logits);
		sum = logits_log_sum(logits, vocabulary);
		if (!isfinite(sum))
			return -EDOM;
		for (c.token = 0; c.token < vocabulary; c.token++) {
			least = b->candidate_count < b->candidate_cap ? -INFINITY :
				b->candidates[b->candidate_count - 1].sum;
			c.sum = b->beams[c.beam].sum + ((double)logits[c.token] - sum);
			if (c.sum > least)
				add_candidate(b, &c);
		}
	}
	return 0;
}

/* --- hypotheses --------------------------------------------------------------------- */

/* @tokens: with the one that ends it */
static double score_of(const struct beams *b, double sum, uint32_t tokens, bool ended)
{
	if (b->opts.rules == BEAMS_SCORED)
		return sum / pow(tokens, b->opts.penalty);
	/* Whisper's lengths are without it; a text of no length has none of its own there. */
	tokens -= ended;
	if (isnan(b->opts.penalty))
		return sum / (tokens ? tokens : 1);
	return sum / pow((5.0 + tokens) / 6, b->opts.penalty);
}

static uint32_t worst_of(const struct beams *b)
{
	uint32_t i, worst = 0;

	for (i = 1; i < b->found_count; i++)
		if (b->found[i].score < b->found[worst].score)
			worst = i;
	return worst;
}

static void add_found(struct beams *b, uint32_t node, double sum, bool ended)
{
	const struct hypothesis h = {
		.node = node, .count = b->length - ended, .sum = sum,
		.score = score_of(b, sum, b->length, ended), .ended = ended
	};
	uint32_t worst;

	if (b->found_count < b->opts.enough) {
		b->found[b->found_count++] = h;
		return;
	}
	/* Whisper takes the first that end, transformers the best. */
	worst = worst_of(b);
	if (b->opts.rules == BEAMS_COLLECTED || h.score <= b->found[worst].score)
		return;
	b->found_count--;
	memmove(b->found + worst, b->found + worst + 1,
		(b->found_count - worst) * sizeof(*b->found));
	b->found[b->found_count++] = h;
}

/* There are enough, and none that goes on can become better: as far as that is wanted. */
static bool is_enough(const struct beams *b)
{
	uint32_t length = b->length;

	if (b->found_count < b->opts.enough)
		return false;
	if (b->opts.rules == BEAMS_COLLECTED || b->opts.stopping == ACCEL_SEARCH_FIRST ||
	    b->opts.count == 1)
		return true;
	if (b->opts.stopping == ACCEL_SEARCH_NEVER && b->opts.penalty > 0)
		length = b->opts.most;
	return b->found[worst_of(b)].score >=
	       b->candidates[0].sum / pow(length, b->opts.penalty);
}

static int by_score(const void *a, const void *b)
{
	const struct hypothesis *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return x->order < y->order ? -1 : 1;
}

/* What goes on at the end is a hypothesis, too: one of all, or where too few have ended. */
static void take_rest(struct beams *b)
{
	uint32_t i;

	for (i = 0; i < b->count; i++)
		if (b->opts.rules == BEAMS_SCORED || b->found_count < b->opts.count)
			add_found(b, b->beams[i].node, b->beams[i].sum, false);
}

static void end(struct beams *b)
{
	uint32_t i;

	b->ended = true;
	for (i = 0; i < b->found_count; i++)
		b->found[i].order = i;
	qsort(b->found, b->found_count, sizeof(*b->found), by_score);
}

/* --- a step ------------------------------------------------------------------------- */

static int add_node(struct beams *b, uint32_t parent, uint32_t token, uint32_t *node)
{
	uint32_t cap = b->node_cap;
	struct beam_node *nodes;

	if (b->node_count == cap) {
		cap = cap ? 2 * cap : 256;
		nodes = realloc(b->nodes, (size_t)cap * sizeof(*nodes));
		if (!nodes)
			return -ENOMEM;
		b->nodes = nodes;
		b->node_cap = cap;
	}
	b->nodes[b->node_count] = (struct beam_node) { parent, (int32_t)token };
	*node = b->node_count++;
	return 0;
}

static void drop_beams(struct beams *b, struct beam *beams, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		engine_seq_drop(b->engine, &beams[i].seq);
}

static bool is_stop(const struct beams *b, uint32_t token)
{
	uint32_t i;

	for (i = 0; i < b->opts.stop_count; i++)
		if (b->opts.stops[i] == token)
			return true;
	return false;
}

/* Each beam goes on with the sequence of its parent, or if another one has that, with a fork. */
static int share_sequences(struct beams *b, struct beam *next, uint32_t count)
{
	bool taken[ACCEL_SEARCH_BEAMS_MAX] = { false };
	uint32_t i, parent;
	int ret;

	for (i = 0; i < count; i++) {
		parent = next[i].parent;
		if (taken[parent]) {
			ret = engine_seq_fork(b->engine, &b->beams[parent].seq,
					      b->beams[parent].seq.done, &next[i].seq);
			if (ret)
				return ret;
		}
		taken[parent] = true;
	}
	for (i = 0; i < count; i++) {
		if (next[i].seq.live)
			continue;
		next[i].seq = b->beams[next[i].parent].seq;
		b->beams[next[i].parent].seq = (struct engine_seq) { 0 };
	}
	return 0;
}

/**
 * beams_take - the tokens that come next
 * @b: beams
 * @rows: logits, a row for each beam
 *
 * When it ended, b->found are the hypotheses, best first.
 *
 * Return: 0; -EDOM logits are NaN or INFINITY; -ENOSPC 2^20 sequences; -ENOMEM.
 */
int beams_take(struct beams *b, const float *rows)
{
	struct beam next[ACCEL_SEARCH_BEAMS_MAX];
	const struct beam_candidate *c;
	uint32_t i, count = 0;
	int ret = find_candidates(b, rows);

	if (ret)
		return ret;
	b->length++;
	for (i = 0; i < b->candidate_count && count < b->opts.count; i++) {
		c = &b->candidates[i];
		if (is_stop(b, c->token)) {
			/* Of those that end transformers looks at the likeliest alone. */
			if (b->opts.rules == BEAMS_COLLECTED || i < b->opts.count)
				add_found(b, b->beams[c->beam].node, c->sum, true);
			continue;
		}
		next[count] = (struct beam) {
			.sum = c->sum, .parent = c->beam, .token = (int32_t)c->token
		};
		ret = add_node(b, b->beams[c->beam].node, c->token, &next[count].node);
		if (ret)
			return ret;
		count++;
	}
	if (b->candidate_count && is_enough(b)) {
		end(b);
		return 0;
	}
	ret = share_sequences(b, next, count);
	if (ret) {
		drop_beams(b, next, count);
		return ret;
	}
	drop_beams(b, b->beams, b->count);
	memcpy(b->beams, next, count * sizeof(*next));
	b->count = count;
	if (!count || b->length == b->opts.most) {
		take_rest(b);
		end(b);
	}
	return 0;
}

/**
 * beams_run - run the last token of each beam
 * @b: beams that have not ended; logits are a row for each
 *
 * Return: as engine_run().
 */
int beams_run(struct beams *b)
{
	struct piece pieces[ACCEL_SEARCH_BEAMS_MAX];
	uint32_t i;

	for (i = 0; i < b->count; i++)
		pieces[i] = (struct piece) { &b->beams[i].seq, &b->beams[i].token, 1, 1 };
	return engine_run(b->engine, pieces, b->count);
}

/**
 * beams_tokens - the tokens that lead to a node
 * @b: beams
 * @node: of a beam or a hypothesis
 * @count: how many
 * @tokens: out
 */
void beams_tokens(const struct beams *b, uint32_t node, uint32_t count, int32_t *tokens)
{
	for (; count; node = b->nodes[node].parent)
		tokens[--count] = b->nodes[node].token;
}

/**
 * beams_start - follow a text
 * @b: out
 * @e: engine of as many sequences
 * @opts: how; what it points to stays
 * @seq: the text; it becomes the beams'
 *
 * beams_take() of the logits behind the text goes on, then beams_run() and beams_take() in turn.
 *
 * Return: 0; -ENOMEM.
 */
int beams_start(struct beams *b, struct engine *e, const struct beams_opts *opts,
		struct engine_seq *seq)
{
	*b = (struct beams) { .engine = e, .opts = *opts, .count = 1 };
	b->candidate_cap = opts->count * (1 + (opts->stop_count ? opts->stop_count : 1));
	b->candidates = calloc(b->candidate_cap, sizeof(*b->candidates));
	b->found = calloc(opts->enough > opts->count ? opts->enough : opts->count,
			  sizeof(*b->found));
	b->beams[0].node = UINT32_MAX;
	if (!b->candidates || !b->found) {
		beams_end(b);
		return -ENOMEM;
	}
	b->beams[0].seq = *seq;
	*seq = (struct engine_seq) { 0 };
	return 0;
}

void beams_end(struct beams *b)
{
	if (b->engine)
		drop_beams(b, b->beams, b->count);
	free(b->candidates);
	free(b->found);
	free(b->nodes);
	*b = (struct beams) { 0 };
}

/* --- searches of a generator ---------------------------------------------------------- */

static bool in_vocabulary(const struct accel_generator *g, const int32_t *tokens, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (tokens[i] < 0 || (uint32_t)tokens[i] >= g->engine.vocabulary)
			return false;
	return true;
}

static int check_search(const struct accel_generator *g, const struct accel_search *s)
{
	if (!s || s->size < sizeof(*s))
		return -EINVAL;
	if (s->size > sizeof(*s))
		return -E2BIG;
	if (!s->count || !s->tokens || !s->beams || s->beams > ACCEL_SEARCH_BEAMS_MAX ||
	    s->stop_count > ACCEL_SEARCH_STOPS_MAX || (s->stop_count && !s->stops) ||
	    s->stopping > ACCEL_SEARCH_NEVER || s->wanted > s->beams ||
	    !isfinite(s->length_penalty) ||
	    fabsf(s->length_penalty) > 16 || s->pad)
		return -EINVAL;
	if (!!s->source_count != !!g->encoder || (s->source_count && !s->source))
		return -EINVAL;
	if (s->beams > g->opts.batch || s->source_count > SOURCE_MAX)
		return -E2BIG;
	if (s->count >= g->engine.context)
		return -ENOSPC;
	return in_vocabulary(g, s->tokens, s->count) &&
	       in_vocabulary(g, s->source, s->source_count) ? 0 : -EINVAL;
}

/* What the decoder sees of the text for the encoder */
static int encode(struct accel_generator *g, const struct accel_search *s)
{
	const int64_t dims[] = { 1, s->source_count };
	int64_t *ids;
	uint32_t i;
	int ret = accel_state_set_input(g->encoder, 0, 2, dims, NULL, 0);

	if (ret)
		return ret;
	ids = accel_state_get_input(g->encoder, 0, NULL);
	if (!ids)
		return -ENOMEM;
	for (i = 0; i < s->source_count; i++)
		ids[i] = s->source[i];
	pthread_mutex_unlock(&g->lock);
	ret = accel_state_run(g->encoder);
	if (!ret)
		ret = engine_hear(&g->engine, g->encoder);
	pthread_mutex_lock(&g->lock);
	return ret;
}

/* Run, with room made for it among what is kept */
static int run_pieces(struct accel_generator *g, struct beams *b, const struct piece *piece)
{
	int ret;

	for (;;) {
		pthread_mutex_unlock(&g->lock);
		ret = piece ? engine_run(&g->engine, piece, 1) : beams_run(b);
		pthread_mutex_lock(&g->lock);
		if (ret != -ENOSPC || !kept_evict(&g->kept, &g->engine))
			break;
	}
	g->info.steps += !ret;
	return ret;
}

static int run_prompt(struct accel_generator *g, const struct accel_search *s,
		      struct engine_seq *seq)
{
	struct piece piece = { .seq = seq };
	int ret = 0;

	while (seq->done < s->count && !ret) {
		piece.tokens = s->tokens + seq->done;
		piece.count = s->count - seq->done;
		if (piece.count > g->opts.tokens)
			piece.count = g->opts.tokens;
		/* Its decoder takes one at a time. */
		if (g->encoder)
			piece.count = 1;
		piece.rows = seq->done + piece.count == s->count;
		ret = run_pieces(g, NULL, &piece);
		g->info.prompt_tokens += ret ? 0 : piece.count;
	}
	return ret;
}

static int follow(struct accel_generator *g, const struct accel_search *s, struct beams *b)
{
	const float *rows = g->engine.logits;
	int ret;

	for (;;) {
		ret = beams_take(b, rows);
		if (ret || b->ended)
			return ret;
		g->info.new_tokens += b->count;
		if (s->step) {
			pthread_mutex_unlock(&g->lock);
			ret = s->step(s->user, b->length) ? -ECANCELED : 0;
			pthread_mutex_lock(&g->lock);
		}
		if (!ret)
			ret = run_pieces(g, b, NULL);
		if (ret)
			return ret;
		rows = g->engine.logits;
	}
}

static int tell(const struct accel_search *s, const struct beams *b, accel_search_fn *fn,
		void *user)
{
	struct accel_hypothesis h = { .size = sizeof(h) };
	uint32_t i, wanted = s->wanted ? s->wanted : 1;
	int32_t *tokens = malloc((b->length + 1ull) * sizeof(*tokens));
	int ret = tokens ? 0 : -ENOMEM;

	for (i = 0; i < b->found_count && i < wanted && !ret; i++) {
		beams_tokens(b, b->found[i].node, b->found[i].count, tokens);
		h.index = i;
		h.tokens = tokens;
		h.count = b->found[i].count;
		h.end = b->found[i].ended ? ACCEL_END_STOP : ACCEL_END_LENGTH;
		h.logprob = b->found[i].sum;
		h.score = b->found[i].score;
		ret = fn(user, &h) ? -ECANCELED : 0;
	}
	free(tokens);
	return ret;
}

static int search(struct accel_generator *g, const struct accel_search *s, struct beams *b)
{
	struct beams_opts opts = {
		.count = s->beams, .enough = s->beams, .most = g->engine.context - s->count,
		.penalty = (double)s->length_penalty, .stopping = s->stopping,
		.stops = s->stops, .stop_count = s->stop_count
	};
	struct engine_seq seq;
	int ret = g->encoder ? encode(g, s) : 0;

	if (!ret)
		ret = engine_seq_create(&g->engine, &seq);
	if (ret)
		return ret;
	if (s->max_tokens && s->max_tokens < opts.most)
		opts.most = s->max_tokens;
	ret = run_prompt(g, s, &seq);
	if (!ret)
		ret = beams_start(b, &g->engine, &opts, &seq);
	engine_seq_drop(&g->engine, &seq);
	return ret ? ret : follow(g, s, b);
}

int accel_generator_search(struct accel_generator *generator, const struct accel_search *s,
			   accel_search_fn *fn, void *user)
{
	FP_MODE_SCOPE();
	struct beams b = { 0 };
	int ret;

	if (!generator || !fn)
		return -EINVAL;
	ret = check_search(generator, s);
	if (ret)
		return ret;
	pthread_mutex_lock(&generator->lock);
	ret = generator_begin(generator);
	if (!ret) {
		ret = search(generator, s, &b);
		/* Only who is busy may touch the engine, and so give its sequences up. */
		if (b.engine)
			drop_beams(&b, b.beams, b.count);
		b.count = 0;
		generator_finish(generator);
	}
	pthread_mutex_unlock(&generator->lock);
	if (!ret)
		ret = tell(s, &b, fn, user);
	beams_end(&b);
	return ret;
}
