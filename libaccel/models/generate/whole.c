// SPDX-License-Identifier: MIT
/*
 * Texts as a whole: how likely they are, and what they are as vectors. They run in pieces, each
 * a step of its own.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "generate.h"

/**
 * struct walk - what is made of the rows of a text
 * @tokens: text
 * @count: its tokens
 * @take: a row: its place, logits and hidden state
 * @out: for @take
 * @width: elements of a hidden state
 * @vocabulary: elements of logits
 * @pooling: of hidden states
 * @failed: negative error of @take
 */
struct walk {
	const int32_t *tokens;
	uint32_t count;
	void (*take)(struct walk *w, uint32_t at, const float *logits, const float *hidden);
	float *out;
	uint32_t width;
	uint32_t vocabulary;
	uint32_t pooling;
	int failed;
};

static int run_pieces(struct accel_generator *g, struct walk *w, struct engine_seq *seq)
{
	struct engine *e = &g->engine;
	struct piece piece = { .seq = seq };
	uint32_t i, at;
	int ret;

	while (seq->done < w->count) {
		at = seq->done;
		piece.tokens = w->tokens + at;
		piece.count = w->count - at < g->opts.tokens ? w->count - at : g->opts.tokens;
		piece.rows = piece.count;
		pthread_mutex_unlock(&g->lock);
		ret = engine_run(e, &piece, 1);
		for (i = 0; i < piece.count && !ret; i++)
			w->take(w, at + i, e->logits + (uint64_t)i * e->vocabulary,
				e->width ? e->hidden + (uint64_t)i * e->width : NULL);
		ret = ret ? ret : w->failed;
		pthread_mutex_lock(&g->lock);
		if (ret == -ENOSPC && kept_evict(&g->kept, e))
			continue;
		if (ret)
			return ret;
		g->info.steps++;
		g->info.prompt_tokens += piece.count;
	}
	return 0;
}

static int walk(struct accel_generator *g, struct walk *w)
{
	struct engine_seq seq;
	uint32_t i;
	int ret;

	if (g->encoder)
		return -EOPNOTSUPP;
	if (!w->tokens || !w->out || w->count > g->engine.context)
		return -EINVAL;
	for (i = 0; i < w->count; i++)
		if (w->tokens[i] < 0 || (uint32_t)w->tokens[i] >= g->engine.vocabulary)
			return -EINVAL;
	pthread_mutex_lock(&g->lock);
	ret = generator_begin(g);
	if (ret)
		goto out;
	ret = engine_seq_create(&g->engine, &seq);
	if (!ret) {
		ret = run_pieces(g, w, &seq);
		engine_seq_drop(&g->engine, &seq);
	}
	generator_finish(g);
out:
	pthread_mutex_unlock(&g->lock);
	return ret;
}

static void take_score(struct walk *w, uint32_t at, const float *logits, const float *hidden)
{
	double sum;

	(void)hidden;
	if (at + 1 >= w->count)
		return;
	sum = logits_log_sum(logits, w->vocabulary);
	if (isnan(sum))
		w->failed = -EDOM;
	w->out[at] = (float)((double)logits[w->tokens[at + 1]] - sum);
}

int accel_generator_score(struct accel_generator *generator, const int32_t *tokens, uint32_t count,
			  float *logprobs)
{
	FP_MODE_SCOPE();
	struct walk w = { tokens, count, take_score, logprobs, 0, 0, 0, 0 };

	if (!generator || count < 2)
		return -EINVAL;
	w.vocabulary = generator->engine.vocabulary;
	return walk(generator, &w);
}

static void take_hidden(struct walk *w, uint32_t at, const float *logits, const float *hidden)
{
	uint32_t i;

	(void)logits;
	if (!hidden || (w->pooling == ACCEL_POOL_FIRST && at) ||
	    (w->pooling == ACCEL_POOL_LAST && at + 1 < w->count))
		return;
	for (i = 0; i < w->width && w->pooling == ACCEL_POOL_LARGEST; i++)
		w->out[i] = at ? fmaxf(w->out[i], hidden[i]) : hidden[i];
	for (i = 0; i < w->width && w->pooling != ACCEL_POOL_LARGEST; i++)
		w->out[i] += hidden[i] / (w->pooling == ACCEL_POOL_MEAN ? (float)w->count : 1);
}

int accel_generator_embed(struct accel_generator *generator, const int32_t *tokens, uint32_t count,
			  uint32_t pooling, float *vector)
{
	FP_MODE_SCOPE();
	struct walk w = { tokens, count, take_hidden, vector, 0, 0, 0, 0 };
	double sum = 0;
	uint32_t i;
	int ret;

	if (!generator || !count || !vector)
		return -EINVAL;
	w.pooling = pooling & ~ACCEL_POOL_NORMALISE;
	if (w.pooling > ACCEL_POOL_LARGEST)
		return -EINVAL;
	w.width = generator->engine.width;
	if (!w.width)
		return -EOPNOTSUPP;
	memset(vector, 0, w.width * sizeof(*vector));
	ret = walk(generator, &w);
	for (i = 0; i < w.width; i++)
		sum += (double)vector[i] * (double)vector[i];
	for (i = 0; i < w.width && (pooling & ACCEL_POOL_NORMALISE) && sum > 0; i++)
		vector[i] = (float)((double)vector[i] / sqrt(sum));
	return ret;
}
