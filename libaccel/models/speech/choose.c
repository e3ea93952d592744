// SPDX-License-Identifier: MIT
/*
 * The tokens of a window at a temperature, as Whisper's authors choose them (decoding.py of
 * openai/whisper): the likeliest each time, beams, or draws of which the best stays. Probabilities
 * are of the tokens that may come, and without the temperature.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "speech.h"

/* MaximumLikelihoodRanker; texts of no length have no mean of their own there. */
static double score_of(const struct accel_speech *s, double sum, uint32_t count)
{
	const double penalty = (double)s->opts.length_penalty;

	if (isnan(penalty))
		return sum / (count ? count : 1);
	return sum / pow((5.0 + count) / 6, penalty);
}

static uint32_t room_of(const struct accel_speech *s, const struct engine_seq *seq)
{
	uint32_t room = seq->done < s->context ? s->context - seq->done : 1;

	return room < s->most ? room : s->most;
}

/* --- one after the other -------------------------------------------------------------- */

static uint32_t likeliest(const struct accel_speech *s)
{
	uint32_t i, best = 0;

	for (i = 1; i < s->words.count; i++)
		if (s->allowed[i] > s->allowed[best])
			best = i;
	return best;
}

static uint32_t draw(struct accel_speech *s, double temperature)
{
	double most = (double)s->allowed[likeliest(s)], sum = 0, u;
	uint32_t i, last = 0;

	for (i = 0; i < s->words.count; i++)
		sum += exp(((double)s->allowed[i] - most) / temperature);
	u = accel_sampler_uniform(s->dice) * sum;
	for (i = 0; i < s->words.count; i++) {
		if (s->allowed[i] == -INFINITY)
			continue;
		last = i;
		u -= exp(((double)s->allowed[i] - most) / temperature);
		if (u < 0)
			break;
	}
	return last;
}

/* Tokens into @said from @row on; @sum: logarithm of their probability, with that of the end */
static int write_one(struct accel_speech *s, struct engine_seq *seq, const float *row,
		     float temperature, uint32_t *said, uint32_t *count, double *sum)
{
	const uint32_t most = room_of(s, seq);
	uint32_t token;
	double all;
	int ret;

	for (*count = 0, *sum = 0;; row = s->engine.logits) {
		const struct piece piece = { seq, (const int32_t *)said + *count, 1, 1 };

		words_filter(&s->words, row, said, *count, s->allowed);
		all = logits_log_sum(s->allowed, s->words.count);
		if (!isfinite(all))
			return -EDOM;
		token = temperature > 0 ? draw(s, (double)temperature) : likeliest(s);
		*sum += (double)s->allowed[token] - all;
		if (token == s->words.end)
			return 0;
		said[(*count)++] = token;
		if (*count == most)
			return 0;
		ret = engine_run(&s->engine, &piece, 1);
		if (ret)
			return ret;
	}
}

/* Several of which the best stays; there is no more than one that is the likeliest. */
static int write_best(struct accel_speech *s, const struct engine_seq *from, const float *row,
		      struct try *t, double *sum)
{
	uint32_t i, count, all = t->temperature > 0 && s->opts.best_of ? s->opts.best_of : 1;
	double best = 0, score;
	struct engine_seq seq;
	int ret = 0;

	for (i = 0; i < all && !ret; i++) {
		ret = engine_seq_fork(&s->engine, from, from->done, &seq);
		if (ret)
			return ret;
		ret = write_one(s, &seq, row, t->temperature, s->draft, &count, &score);
		engine_seq_drop(&s->engine, &seq);
		if (ret)
			return ret;
		s->info.tokens += count;
		if (i && score_of(s, score, count) <= best)
			continue;
		best = score_of(s, score, count);
		*sum = score;
		t->count = count;
		memcpy(s->said, s->draft, count * sizeof(*s->said));
	}
	return ret;
}

/* --- beams ------------------------------------------------------------------------------ */

static const float *filter(void *user, const struct beams *b, uint32_t beam, const float *logits)
{
	struct accel_speech *s = user;

	beams_tokens(b, b->beams[beam].node, b->length, (int32_t *)s->draft);
	words_filter(&s->words, logits, s->draft, b->length, s->allowed);
	return s->allowed;
}

static int write_beams(struct accel_speech *s, const struct engine_seq *from, const float *row,
		       struct try *t, double *sum)
{
	const struct beams_opts opts = {
		.count = s->opts.beams, .rules = BEAMS_COLLECTED, .most = room_of(s, from),
		.enough = (uint32_t)lrintf((float)s->opts.beams * s->opts.patience),
		.penalty = (double)s->opts.length_penalty, .stops = &s->words.end,
		.stop_count = 1, .filter = filter, .user = s
	};
	struct engine_seq seq;
	struct beams b;
	int ret = engine_seq_fork(&s->engine, from, from->done, &seq);

	if (ret)
		return ret;
	ret = beams_start(&b, &s->engine, &opts, &seq);
	engine_seq_drop(&s->engine, &seq);
	if (ret)
		return ret;
	for (;;) {
		ret = beams_take(&b, row);
		if (ret || b.ended)
			break;
		s->info.tokens += b.count;
		ret = beams_run(&b);
		if (ret)
			break;
		row = s->engine.logits;
	}
	if (!ret && b.found_count) {
		t->count = b.found[0].count;
		*sum = b.found[0].sum;
		beams_tokens(&b, b.found[0].node, t->count, (int32_t *)s->said);
	}
	beams_end(&b);
	return ret;
}

/* --- what it is like ---------------------------------------------------------------------- */

static int compress_text(struct accel_speech *s, struct try *t)
{
	char *text = NULL, *at;
	uLongf packed;
	size_t bytes;
	Bytef *to;
	uint32_t i, n = 0;
	int ret;

	for (i = 0; i < t->count; i++)
		if (s->words.kinds[s->said[i]] != WORD_TIME)
			s->draft[n++] = s->said[i];
	ret = accel_tokenizer_decode(s->tokenizer, s->draft, n, ACCEL_DECODE_SKIP_SPECIAL, &text,
				     &bytes);
	if (ret)
		return ret;
	at = text_strip(text, &bytes);
	packed = compressBound(bytes);
	to = malloc(packed);
	if (!to || compress(to, &packed, (const Bytef *)at, bytes) != Z_OK)
		ret = -ENOMEM;
	else
		t->compression = (double)bytes / (double)packed;
	free(to);
	free(text);
	return ret;
}

int choose_tokens(struct accel_speech *s, const struct engine_seq *seq, const float *row,
		  struct try *t)
{
	double sum = 0;
	int ret;

	t->count = 0;
	if (t->temperature > 0 || s->opts.beams < 2)
		ret = write_best(s, seq, row, t, &sum);
	else
		ret = write_beams(s, seq, row, t, &sum);
	t->logprob = sum / (t->count + 1);
	return ret ? ret : compress_text(s, t);
}
