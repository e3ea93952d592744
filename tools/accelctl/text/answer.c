// SPDX-License-Identifier: MIT
/* An answer: generated, shown token by token, and summarised. */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "text.h"

/* Beams: there is an answer when all of it is there. */
static bool searches(const struct speaker *s)
{
	return s->opts->beams || s->encodes;
}

/* A line of --json-events: the text that became final, and the time */
static void put_event(struct answer *a, const struct accel_event *event)
{
	bool token = event->kind == ACCEL_EVENT_TOKEN;
	struct json_object *line = ctl_json_obj(NULL, NULL);

	ctl_json_str(line, "event", token ? "token" : "text");
	if (token) {
		ctl_json_uint(line, "index", event->index);
		ctl_json_uint(line, "id", event->token);
	}
	if (a->s->tokenizer)
		json_object_object_add(line, "text",
				       json_object_new_string_len(a->text ? a->text + a->piece : "",
								  (int)(a->bytes - a->piece)));
	if (token && a->s->opts->logprobs)
		ctl_json_real(line, "logprob", (double)event->logprob);
	ctl_json_real(line, "time_s", speaker_now() - a->start);
	ctl_json_line(a->s->ctl, line);
	fflush(stdout);
}

/* Bytes of the character at @p, of which @n are available; 0: invalid (RFC 3629) */
static uint32_t character(const char *p, uint32_t n)
{
	const uint8_t *c = (const uint8_t *)p;
	const uint32_t count = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 :
			       c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;
	uint32_t i;

	if (count > n)
		return 0;
	for (i = 1; i < count; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong, a surrogate, or beyond the last one */
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
	    (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
		return 0;
	return count;
}

/* Invalid bytes become U+FFFD in the stored text: a model may end within a character. */
static int put_text(struct answer *a, const struct accel_event *event)
{
	uint32_t i, n;
	char *text;

	if (!a->s->ctl->json) {
		fwrite(event->text, 1, event->bytes, stdout);
		fflush(stdout);
	}
	text = realloc(a->text, a->bytes + 3ull * event->bytes + 1);
	if (!text)
		return -ENOMEM;
	a->text = text;
	for (i = 0; i < event->bytes; i += n ? n : 1) {
		n = character(event->text + i, event->bytes - i);
		memcpy(text + a->bytes, n ? event->text + i : "\xef\xbf\xbd", n ? n : 3);
		a->bytes += n ? n : 3;
	}
	text[a->bytes] = 0;
	return 0;
}

static uint64_t steps_of(const struct speaker *s)
{
	struct accel_generator_info info = { .size = sizeof(info) };

	accel_generator_get_info(s->generator, &info);
	return info.steps;
}

static int put_token(struct answer *a, const struct accel_event *event)
{
	int32_t *ids;
	float *logprobs;
	uint32_t cap;

	if (a->count == a->cap) {
		cap = a->cap ? 2 * a->cap : 64;
		ids = realloc(a->ids, cap * sizeof(*ids));
		a->ids = ids ? ids : a->ids;
		logprobs = realloc(a->logprobs, cap * sizeof(*logprobs));
		a->logprobs = logprobs ? logprobs : a->logprobs;
		if (!ids || !logprobs)
			return -ENOMEM;
		a->cap = cap;
	}
	a->ids[a->count] = (int32_t)event->token;
	a->logprobs[a->count] = event->logprob;
	if (!a->count++ && !searches(a->s)) {
		a->first = speaker_now();
		a->steps = steps_of(a->s);
	}
	/* Without a tokenizer the token numbers are shown. */
	if (!a->s->ctl->json && !a->s->tokenizer)
		printf("%s%u", a->count > 1 ? "," : "", event->token);
	return 0;
}

static int hear(void *user, const struct accel_event *event)
{
	struct answer *a = user;

	a->piece = a->bytes;
	if ((event->bytes && put_text(a, event)) ||
	    (event->kind == ACCEL_EVENT_TOKEN && put_token(a, event)))
		a->error = -ENOMEM;
	if (a->s->ctl->lines && (event->bytes || event->kind == ACCEL_EVENT_TOKEN) &&
	    a->s->opts->events)
		put_event(a, event);
	if (event->kind == ACCEL_EVENT_END) {
		a->end = speaker_now();
		a->why = event->end;
		a->error = event->error ? event->error : a->error;
		return 0;
	}
	return a->error || ctl_interrupted();
}

/* --- beams ----------------------------------------------------------------------------- */

static int hear_step(void *user, uint32_t tokens)
{
	struct answer *a = user;

	if (tokens == 1)
		a->first = speaker_now();
	return ctl_interrupted();
}

/* Report the best hypothesis as if it had been generated token by token */
static int hear_best(void *user, const struct accel_hypothesis *h)
{
	struct accel_event event = ACCEL_EVENT_INIT;
	struct answer *a = user;
	uint32_t *tokens = ctl_alloc(h->count + 1ull, sizeof(*tokens)), i;
	char *text = NULL;
	size_t bytes = 0;
	int ret = 0;

	for (i = 0; i < h->count && !ret; i++) {
		tokens[i] = (uint32_t)h->tokens[i];
		event.index = i;
		event.token = tokens[i];
		ret = hear(a, &event);
	}
	if (!ret && a->s->tokenizer)
		a->error = accel_tokenizer_decode(a->s->tokenizer, tokens, h->count,
						  ACCEL_DECODE_SKIP_SPECIAL, &text, &bytes);
	event.kind = ACCEL_EVENT_END;
	event.end = h->end;
	event.error = a->error;
	event.text = text;
	event.bytes = (uint32_t)bytes;
	a->score = h->score;
	if (!ret)
		ret = hear(a, &event);
	free(text);
	free(tokens);
	return ret;
}

static int search(struct answer *a, const int32_t *tokens, uint32_t count)
{
	struct accel_search q = ACCEL_SEARCH_INIT;
	struct speaker *s = a->s;
	const struct text_opts *o = s->opts;
	int ret;

	if (!o->beams && !o->greedy)
		return ctl_fail(s->ctl, CTL_USAGE, 0, "--beams",
				"a model with an encoder answers with --beams or --greedy");
	if (o->stops.count || o->lookup || o->draft || o->logprobs)
		return ctl_fail(s->ctl, CTL_USAGE, 0, "--beams",
				"not with --stop, --lookup, --draft and --logprobs");
	if (o->schema || o->biases.count || o->presence_penalty != 0 || o->frequency_penalty != 0)
		return ctl_fail(s->ctl, CTL_USAGE, 0, "--beams",
				"nothing is drawn: not with --json-schema, --logit-bias and penalties");
	q.beams = o->beams ? (uint32_t)o->beams : 1;
	q.tokens = s->encodes ? &s->start : tokens;
	q.count = s->encodes ? 1 : count;
	q.source = s->encodes ? tokens : NULL;
	q.source_count = s->encodes ? count : 0;
	q.max_tokens = (uint32_t)o->most;
	q.stops = s->ends;
	q.stop_count = o->ignore_eos ? 0 : s->end_count;
	q.length_penalty = (float)o->length_penalty;
	q.stopping = o->stopping;
	q.step = hear_step;
	q.user = a;
	a->start = speaker_now();
	a->first = a->start;
	ret = accel_generator_search(s->generator, &q, hear_best, a);
	if (ret == -ECANCELED)
		a->why = ACCEL_END_CANCELLED;
	else if (ret == -ENOSPC)
		return ctl_fail(s->ctl, CTL_FAILED, ret, NULL,
				"%u tokens and the answer are more than the context has room for",
				count);
	else if (ret == -EINVAL)
		return ctl_fail(s->ctl, CTL_USAGE, ret, NULL,
				"the tokens: %s", strerror(-ret));
	else if (ret)
		return speaker_fail(s, ret);
	return a->error ? speaker_fail(s, a->error) : CTL_OK;
}

/* --- token by token -------------------------------------------------------------------- */

int answer_ask(struct answer *a, struct speaker *s, const int32_t *tokens, uint32_t count)
{
	struct accel_sampler_opts sampler = ACCEL_SAMPLER_OPTS_INIT;
	struct accel_generator_info before = { .size = sizeof(before) }, after = before;
	struct accel_request q = ACCEL_REQUEST_INIT;
	const struct text_opts *o = s->opts;
	bool modelled;
	double energy;
	uint64_t id;
	int ret;

	*a = (struct answer) { .s = s, .prompt = count, .energy = NAN };
	ret = speaker_check(s, tokens, count);
	if (ret)
		return ret;
	energy = machine_energy(s, &modelled);
	if (searches(s)) {
		ret = search(a, tokens, count);
		a->energy = machine_energy(s, &a->modelled) - energy;
		return ret;
	}
	sampler.temperature = o->greedy ? 0 : (float)o->temperature;
	sampler.top_k = (uint32_t)o->top_k;
	sampler.top_p = (float)o->top_p;
	sampler.min_p = (float)o->min_p;
	sampler.repeat_penalty = (float)o->repeat_penalty;
	sampler.presence_penalty = (float)o->presence_penalty;
	sampler.frequency_penalty = (float)o->frequency_penalty;
	sampler.bias = s->bias;
	sampler.bias_count = o->biases.count;
	sampler.seed = o->seed;
	q.tokens = tokens;
	q.count = count;
	q.max_tokens = (uint32_t)o->most;
	q.sampler = &sampler;
	q.stops = s->ends;
	q.stop_count = o->ignore_eos ? 0 : s->end_count;
	q.texts = o->stops.v;
	q.text_count = o->stops.count;
	q.schema = s->schema;
	q.event = hear;
	q.user = a;
	accel_generator_get_info(s->generator, &before);
	a->start = speaker_now();
	ret = accel_generator_submit(s->generator, &q, &id);
	if (ret == -ENOSPC)
		return ctl_fail(s->ctl, CTL_FAILED, ret, NULL,
				"%u tokens are more than the context has room for", count);
	if (ret)
		return ctl_fail(s->ctl, ret == -EINVAL ? CTL_USAGE : ctl_status(ret), ret, NULL,
				"the tokens: %s", strerror(-ret));
	/* A long prompt takes several steps without events. */
	while (accel_generator_step(s->generator) > 0)
		if (ctl_interrupted())
			accel_generator_cancel(s->generator, id);
	accel_generator_get_info(s->generator, &after);
	a->energy = machine_energy(s, &a->modelled) - energy;
	a->found = (uint32_t)(after.shared_tokens - before.shared_tokens);
	a->steps = a->count ? after.steps - a->steps : 0;
	return a->error ? speaker_fail(s, a->error) : CTL_OK;
}

void answer_free(struct answer *a)
{
	free(a->text);
	free(a->ids);
	free(a->logprobs);
	*a = (struct answer) { 0 };
}

/* --- summary ----------------------------------------------------------------------------- */

static double rate(double count, double seconds)
{
	return seconds > 0 ? count / seconds : 0;
}

/* Computed tokens of the prompt per second; tokens of the answer after the first one per second */
static double prompt_rate(const struct answer *a)
{
	return a->count ? rate((double)a->prompt - a->found, a->first - a->start) : 0;
}

static double answer_rate(const struct answer *a)
{
	return a->count ? rate(a->count - 1, a->end - a->first) : 0;
}

/* Rate of reading weights after the first token, relative to the possible rate */
static double read_share(const struct answer *a)
{
	struct accel_device_info info = { .size = sizeof(info) };
	struct speaker *s = a->s;

	/* The processors are not relevant for a device that is not in-process. */
	if (!a->steps || accel_device_get_info(s->dev, &info) || !info.threads)
		return NAN;
	if (s->read_rate == 0)
		s->read_rate = machine_read_rate(s->model_bytes, info.threads);
	return rate((double)a->steps * (double)s->model_bytes, a->end - a->first) / s->read_rate;
}

void answer_note(const struct answer *a)
{
	struct accel_generator_info info = { .size = sizeof(info) };
	struct speaker *s = a->s;

	if (!a->count)
		return;
	accel_generator_get_info(s->generator, &info);
	ctl_note(s->ctl, "prompt: %u tokens in %.3f s, %.1f a second; answer: %u tokens, %.1f a second; %.1f MB of weights",
		 a->prompt - a->found, a->first - a->start, prompt_rate(a), a->count,
		 answer_rate(a), (double)s->model_bytes / 1e6);
	if (info.guessed)
		ctl_note(s->ctl, "guessed: %llu tokens, %.1f %% right",
			 (unsigned long long)info.guessed,
			 100 * (double)info.accepted / (double)info.guessed);
}

void answer_json(const struct answer *a)
{
	static const char *const ends[] = { "stop", "length", "cancelled", "error" };
	struct accel_generator_info info = { .size = sizeof(info) };
	struct speaker *s = a->s;
	struct json_object *doc = ctl_schema(s->ctl), *list;
	double share;
	uint32_t i;

	accel_generator_get_info(s->generator, &info);
	if (s->ctl->lines)
		ctl_json_str(doc, "event", "end");
	list = ctl_json_arr(doc, "ids");
	for (i = 0; i < a->count; i++)
		ctl_json_int(list, NULL, a->ids[i]);
	if (s->tokenizer)
		json_object_object_add(doc, "text",
				       json_object_new_string_len(a->text ? a->text : "",
								  (int)a->bytes));
	list = s->opts->logprobs ? ctl_json_arr(doc, "logprobs") : NULL;
	for (i = 0; i < a->count && list; i++)
		ctl_json_real(list, NULL, (double)a->logprobs[i]);
	ctl_json_str(doc, "end", ends[a->why & 3]);
	ctl_json_uint(doc, "prompt_tokens", a->prompt);
	ctl_json_uint(doc, "shared_tokens", a->found);
	ctl_json_uint(doc, "tokens", a->count);
	ctl_json_real(doc, "first_token_s", a->count ? a->first - a->start : 0);
	ctl_json_real(doc, "prompt_tokens_per_s", prompt_rate(a));
	ctl_json_real(doc, "tokens_per_s", answer_rate(a));
	ctl_json_uint(doc, "weight_bytes", s->model_bytes);
	share = read_share(a);
	ctl_json_real(doc, "read_share", share);
	ctl_json_real(doc, "read_bytes_per_s", s->read_rate > 0 ? s->read_rate : NAN);
	ctl_json_real(doc, "energy_j", a->energy);
	if (isfinite(a->energy))
		ctl_json_bool(doc, "energy_modelled", a->modelled);
	if (searches(s))
		ctl_json_real(doc, "score", a->score);
	ctl_json_uint(doc, "guessed", info.guessed);
	ctl_json_uint(doc, "accepted", info.accepted);
	ctl_json_print(s->ctl, doc);
	fflush(stdout);
}
