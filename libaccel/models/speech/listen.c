// SPDX-License-Identifier: MIT
/*
 * A window: what the encoder makes of it is given to all layers of the decoder once, then the
 * decoder writes token by token, and segments are made of these. Which temperatures are tried, and
 * what is kept as the prompt of the next window, is as in transcribe.py of openai/whisper.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "speech.h"

/* Temperatures end at 1, and text of one above a half is no prompt. */
#define WARMEST		1.0f
#define TOO_WARM	0.5f

/**
 * struct heard - a window
 * @s: model
 * @fn: told segments
 * @user: for @fn
 * @seq: of the decoder
 * @language: of it, or NULL
 * @t: tokens
 */
struct heard {
	struct accel_speech *s;
	accel_speech_fn *fn;
	void *user;
	struct engine_seq seq;
	const struct language *language;
	struct try t;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Features, and what the decoder sees of them */
static int encode(struct accel_speech *s)
{
	float *in = accel_state_get_input(s->encoder, 0, NULL);
	uint64_t start = now();
	int ret;

	if (!in)
		return -ENOMEM;
	features_make(&s->features, s->samples, s->waiting, in);
	s->info.features_ns += now() - start;
	start = now();
	ret = accel_state_run(s->encoder);
	if (!ret)
		ret = engine_hear(&s->engine, s->encoder);
	s->info.encode_ns += now() - start;
	return ret;
}

/* --- tokens -------------------------------------------------------------------------- */

/*
 * A token that the decoder is given, and its logits. Those that begin a window are given one by
 * one, too: that is the step that there is anyway, and another one would have weights of its own.
 */
static int give(struct accel_speech *s, struct engine_seq *seq, uint32_t token)
{
	const int32_t number = (int32_t)token;
	const struct piece piece = { seq, &number, 1, 1 };

	return engine_run(&s->engine, &piece, 1);
}

static const struct language *likely_language(const struct accel_speech *s)
{
	const struct language *best = NULL, *l = s->words.languages;
	const float *logits = s->engine.logits;
	uint32_t i;

	for (i = 0; i < s->words.language_count; i++, l++)
		if (!best || logits[l->token] > logits[best->token])
			best = l;
	return best;
}

/* The language is that of the sound, whatever was said before. */
static int find_language(struct heard *h)
{
	struct accel_speech *s = h->s;
	struct engine_seq seq;
	int ret = engine_seq_create(&s->engine, &seq);

	if (ret)
		return ret;
	ret = give(s, &seq, s->words.start);
	engine_seq_drop(&s->engine, &seq);
	if (!ret)
		h->language = likely_language(s);
	return ret;
}

/* The last tokens that were told, for half of what the decoder sees */
static int give_prompt(struct heard *h)
{
	struct accel_speech *s = h->s;
	uint32_t i;
	int ret;

	if (!s->told_count)
		return 0;
	ret = give(s, &h->seq, s->words.before);
	for (i = 0; i < s->told_count && !ret; i++)
		ret = give(s, &h->seq, s->told[i]);
	s->info.prompt_tokens += s->told_count;
	return ret;
}

/* The start tells who speaks, if somebody does; what follows, how it is to be written. */
static int begin(struct heard *h)
{
	struct accel_speech *s = h->s;
	const struct words *w = &s->words;
	const float *logits;
	int ret = 0;

	h->language = s->language;
	if (!h->language && s->told_count && w->language_count)
		ret = find_language(h);
	if (!ret)
		ret = give_prompt(h);
	if (!ret)
		ret = give(s, &h->seq, w->start);
	if (ret)
		return ret;
	logits = s->engine.logits;
	if (w->no_speech != ACCEL_TOKEN_NONE)
		h->t.no_speech = exp((double)logits[w->no_speech] -
				     logits_log_sum(logits, w->count));
	if (!h->language)
		h->language = likely_language(s);
	if (h->language)
		ret = give(s, &h->seq, h->language->token);
	if (!ret && w->task != ACCEL_TOKEN_NONE && h->language)
		ret = give(s, &h->seq, w->task);
	if (!ret && w->time == ACCEL_TOKEN_NONE && w->no_times != ACCEL_TOKEN_NONE)
		ret = give(s, &h->seq, w->no_times);
	if (!ret)
		memcpy(s->first, s->engine.logits, w->count * sizeof(*s->first));
	return ret;
}

static bool is_unlikely(const struct accel_speech *s, const struct try *t)
{
	return t->logprob < (double)s->opts.logprob;
}

static bool is_silent(const struct accel_speech *s, const struct try *t)
{
	return t->no_speech > (double)s->opts.no_speech;
}

/* Is another temperature to be tried? */
static bool is_bad(const struct accel_speech *s, const struct try *t)
{
	if (is_silent(s, t) && is_unlikely(s, t))
		return false;
	return t->compression > (double)s->opts.compression || is_unlikely(s, t);
}

static int write_tokens(struct heard *h)
{
	struct accel_speech *s = h->s;
	const float step = s->opts.temperature_step;
	uint32_t i;
	int ret = begin(h);

	for (i = 0; !ret; i++) {
		h->t.temperature = s->opts.temperature + (float)i * step;
		/* Five steps of a fifth are one, however they are rounded. */
		if (i && h->t.temperature > WARMEST)
			h->t.temperature = WARMEST;
		s->info.tries++;
		ret = choose_tokens(s, &h->seq, s->first, &h->t);
		if (!is_bad(s, &h->t) || step <= 0 || h->t.temperature >= WARMEST - step / 100)
			break;
	}
	return ret;
}

/* --- segments ------------------------------------------------------------------------- */

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

char *text_strip(char *text, size_t *bytes)
{
	while (*bytes && is_space(*text)) {
		text++;
		--*bytes;
	}
	while (*bytes && is_space(text[*bytes - 1]))
		--*bytes;
	text[*bytes] = 0;
	return text;
}

static bool is_time(const struct heard *h, uint32_t at)
{
	return h->s->words.kinds[h->s->said[at]] == WORD_TIME;
}

/* A segment's tokens, with the times around them, are in the prompt of the next window. */
static void remember(struct heard *h, uint32_t from, uint32_t to)
{
	struct accel_speech *s = h->s;
	const uint32_t most = s->context / 2 - 1;
	uint32_t drop;

	if (s->words.before == ACCEL_TOKEN_NONE || s->opts.flags & ACCEL_SPEECH_NO_CONDITION ||
	    s->context < 16)
		return;
	from -= from && is_time(h, from - 1);
	to += to < h->t.count && is_time(h, to);
	from = to - from > most ? to - most : from;
	drop = s->told_count + (to - from) > most ? s->told_count + (to - from) - most : 0;
	s->told_count -= drop;
	memmove(s->told, s->told + drop, s->told_count * sizeof(*s->told));
	memcpy(s->told + s->told_count, s->said + from, (to - from) * sizeof(*s->told));
	s->told_count += to - from;
}

static int tell(struct heard *h, uint32_t from, uint32_t to, double start, double end)
{
	struct accel_speech_segment segment = { .size = sizeof(segment) };
	struct accel_speech *s = h->s;
	char *text = NULL;
	int ret;

	if (from == to)
		return 0;
	ret = accel_tokenizer_decode(s->tokenizer, s->said + from, to - from,
				     ACCEL_DECODE_SKIP_SPECIAL, &text, &segment.bytes);
	if (ret)
		return ret;
	segment.text = text_strip(text, &segment.bytes);
	if (!segment.bytes)
		goto out;
	remember(h, from, to);
	segment.start = start;
	segment.end = end;
	segment.tokens = s->said + from;
	segment.token_count = to - from;
	segment.language = h->language ? h->language->name : "";
	segment.logprob = (float)h->t.logprob;
	segment.no_speech = (float)h->t.no_speech;
	segment.temperature = h->t.temperature;
	segment.compression = (float)h->t.compression;
	if (h->fn && h->fn(h->user, &segment))
		ret = -ECANCELED;
out:
	free(text);
	return ret;
}

/*
 * Text between two times is a segment. One that was begun behind others but does not end is left
 * for the next window, which begins there; alone it ends with the window.
 */
static int tell_segments(struct heard *h, uint32_t *done)
{
	struct accel_speech *s = h->s;
	const double at = (double)s->before / ACCEL_SPEECH_RATE;
	const double all = (double)s->waiting / ACCEL_SPEECH_RATE;
	double start = 0, time;
	uint32_t i, from = 0, closed = 0;
	bool open = false;
	int ret = 0;

	for (i = 0; i < h->t.count && !ret; i++) {
		if (!is_time(h, i)) {
			open = true;
			continue;
		}
		time = fmin((s->said[i] - s->words.time) * TIME_STEP, all);
		if (open) {
			ret = tell(h, from, i, at + start, at + time);
			closed++;
		}
		open = false;
		start = time;
		from = i + 1;
	}
	*done = (uint32_t)(start * ACCEL_SPEECH_RATE);
	/* Nothing is open, or begins anew: the window was heard to its end. */
	if (!ret && closed && *done && *done < s->waiting &&
	    (open || (h->t.count > 1 && is_time(h, h->t.count - 2))))
		return 0;
	*done = s->waiting;
	return ret || !open ? ret : tell(h, from, h->t.count, at + start, at + all);
}

int listen_window(struct accel_speech *s, accel_speech_fn *fn, void *user, uint32_t *done)
{
	struct accel_sampler_opts dice = ACCEL_SAMPLER_OPTS_INIT;
	struct heard h = { .s = s, .fn = fn, .user = user };
	uint64_t start;
	int ret = encode(s);

	*done = s->waiting;
	if (ret)
		return ret;
	dice.seed = s->opts.seed;
	start = now();
	if (!s->dice)
		ret = accel_sampler_create(&dice, s->words.count, &s->dice);
	if (!ret)
		ret = engine_seq_create(&s->engine, &h.seq);
	if (ret)
		return ret;
	ret = write_tokens(&h);
	engine_seq_drop(&s->engine, &h.seq);
	s->info.decode_ns += now() - start;
	s->info.windows++;
	/* If no mean is too low nobody speaks where the model says so. */
	if (ret || (is_silent(s, &h.t) && (is_unlikely(s, &h.t) || isinf(s->opts.logprob))))
		return ret;
	ret = tell_segments(&h, done);
	if (h.t.temperature > TOO_WARM)
		s->told_count = 0;
	return ret;
}
