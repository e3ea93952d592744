// SPDX-License-Identifier: MIT
/*
 * The tokens of a model that are no text, by their names, and which tokens may come next. Times
 * come in pairs, the end of a segment and the beginning of the next, and never go back.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "speech.h"

/* The first segment begins within a second, unless the model says otherwise. */
#define FIRST_TIMES	50

static uint32_t find(const struct accel_tokenizer *t, const char *name)
{
	return accel_tokenizer_find(t, name, strlen(name));
}

/* "<|en|>": two or three letters, a language */
static bool is_language(const struct accel_token_info *info, char name[8])
{
	size_t n = info->text_bytes - 4, i;

	if (info->text_bytes < 6 || info->text_bytes > 7 || memcmp(info->text, "<|", 2) ||
	    memcmp(info->text + info->text_bytes - 2, "|>", 2))
		return false;
	for (i = 0; i < n; i++)
		if (info->text[2 + i] < 'a' || info->text[2 + i] > 'z')
			return false;
	memcpy(name, info->text + 2, n);
	name[n] = 0;
	return true;
}

static void sort_tokens(struct words *w, const struct accel_tokenizer *t)
{
	struct accel_token_info info = { .size = sizeof(info) };
	struct language *l;
	uint32_t i;

	for (i = 0; i < w->count; i++) {
		/* What the tokenizer does not know is no text. */
		if (accel_tokenizer_get_token(t, i, &info)) {
			w->kinds[i] = WORD_NEVER;
			continue;
		}
		if (w->time != ACCEL_TOKEN_NONE && i >= w->time)
			w->kinds[i] = WORD_TIME;
		else
			w->kinds[i] = info.flags & ACCEL_TOKEN_SPECIAL ? WORD_NEVER : WORD_TEXT;
		l = &w->languages[w->language_count];
		if (w->language_count == MAX_LANGUAGES || w->kinds[i] != WORD_NEVER ||
		    !is_language(&info, l->name))
			continue;
		l->token = i;
		w->language_count++;
	}
	w->kinds[w->end] = WORD_END;
}

/* Of lists of tokens the file beside the model goes before what it says of itself. */
static void suppress(struct words *w, const struct config *config, const struct config *generation,
		     const char *list, uint8_t *marks, uint8_t mark)
{
	const struct config *c = config_number(generation, list, 0, -1) >= 0 ? generation : config;
	int64_t token;
	uint32_t i;

	for (i = 0; i < w->count; i++) {
		token = config_number(c, list, i, -1);
		if (token < 0)
			return;
		if (token < w->count)
			marks[token] = mark;
	}
}

const struct language *words_language(const struct words *w, const char *name)
{
	uint32_t i;

	for (i = 0; i < w->language_count; i++)
		if (!strcmp(w->languages[i].name, name))
			return &w->languages[i];
	return NULL;
}

static int find_words(struct words *w, const struct accel_tokenizer *t, uint32_t flags,
		      struct accel_error *error)
{
	struct accel_tokenizer_info info = { .size = sizeof(info) };
	int ret = accel_tokenizer_get_info(t, &info);

	if (ret)
		return stored_fail(error, ret, "the tokenizer says nothing of itself");
	w->start = find(t, "<|startoftranscript|>");
	w->end = find(t, "<|endoftext|>");
	w->no_times = find(t, "<|notimestamps|>");
	w->before = find(t, "<|startofprev|>");
	w->time = flags & ACCEL_SPEECH_NO_TIMES ? ACCEL_TOKEN_NONE : find(t, "<|0.00|>");
	w->no_speech = find(t, "<|nospeech|>");
	if (w->no_speech == ACCEL_TOKEN_NONE)
		w->no_speech = find(t, "<|nocaptions|>");
	w->task = find(t, flags & ACCEL_SPEECH_TRANSLATE ? "<|translate|>" : "<|transcribe|>");
	if (w->start >= w->count || w->end >= w->count)
		return stored_fail(error, -EBADMSG,
				   "tokenizer.json: no <|startoftranscript|> or <|endoftext|> below vocab_size, %u",
				   w->count);
	if (flags & ACCEL_SPEECH_TRANSLATE && w->task == ACCEL_TOKEN_NONE)
		return stored_fail(error, -EINVAL, "the model has not learnt to translate");
	if ((w->task != ACCEL_TOKEN_NONE && w->task >= w->count) ||
	    (w->no_times != ACCEL_TOKEN_NONE && w->no_times >= w->count) ||
	    (w->time != ACCEL_TOKEN_NONE && w->time >= w->count))
		return stored_fail(error, -EBADMSG,
				   "tokenizer.json has tokens beyond vocab_size, %u", w->count);
	if (w->before >= w->count)
		w->before = ACCEL_TOKEN_NONE;
	if (w->no_speech >= w->count)
		w->no_speech = ACCEL_TOKEN_NONE;
	return 0;
}

int words_open(struct words *w, const struct accel_tokenizer *tokenizer,
	       const struct config *config, const struct config *generation, uint32_t vocabulary,
	       uint32_t flags, struct accel_error *error)
{
	int64_t first = config_whole(generation, "max_initial_timestamp_index", FIRST_TIMES);
	int ret;

	w->count = vocabulary;
	w->kinds = calloc(vocabulary, 1);
	w->first_never = calloc(vocabulary, 1);
	if (!w->kinds || !w->first_never)
		return stored_fail(error, -ENOMEM, "out of memory");
	ret = find_words(w, tokenizer, flags, error);
	if (ret)
		return ret;
	w->first_times = first >= 0 && first < MAX_TIMES ? (uint32_t)first : FIRST_TIMES;
	sort_tokens(w, tokenizer);
	/* Models of English alone have the names of languages, and no use for them. */
	if (!config_bool(generation, "is_multilingual", true))
		w->language_count = 0;
	suppress(w, config, generation, "suppress_tokens", w->kinds, WORD_NEVER);
	suppress(w, config, generation, "begin_suppress_tokens", w->first_never, 1);
	/* Without it nothing ends. */
	w->kinds[w->end] = WORD_END;
	return 0;
}

void words_close(struct words *w)
{
	free(w->kinds);
	free(w->first_never);
	*w = (struct words) { 0 };
}

/**
 * struct rules - which tokens may come next
 * @text: text
 * @end: the end
 * @from: times from here on
 * @to: up to here, without it
 */
struct rules {
	bool text;
	bool end;
	uint32_t from;
	uint32_t to;
};

static bool is_time(const struct words *w, uint32_t token)
{
	return w->kinds[token] == WORD_TIME;
}

static struct rules rules_of(const struct words *w, const uint32_t *said, uint32_t count)
{
	struct rules r = { true, true, w->time, w->count };
	bool last = count && is_time(w, said[count - 1]);
	bool before = count < 2 || is_time(w, said[count - 2]);
	uint32_t i;

	if (w->time == ACCEL_TOKEN_NONE) {
		r.from = w->count;
		return r;
	}
	if (!count) {
		r.text = false;
		r.end = false;
		r.to = w->first_times < w->count - w->time ? w->time + w->first_times + 1 :
		       w->count;
		return r;
	}
	for (i = count; i; i--) {
		if (!is_time(w, said[i - 1]))
			continue;
		/* A segment may begin where the one before ended, but not end where it began. */
		r.from = said[i - 1] + (last && !before ? 0 : 1);
		break;
	}
	if (last && before)
		r.from = w->count;
	else if (last)
		r.text = false;
	return r;
}

static bool allowed(const struct words *w, const struct rules *r, uint32_t token, bool first)
{
	if (first && w->first_never[token])
		return false;
	switch (w->kinds[token]) {
	case WORD_TEXT:
		return r->text;
	case WORD_END:
		return r->end;
	case WORD_TIME:
		return token >= r->from && token < r->to;
	default:
		return false;
	}
}

/* Together the times are likelier than any text: then it is one of them. */
static bool is_time_next(const struct words *w, const struct rules *r, const float *logits,
			 bool first)
{
	double text = -INFINITY, most = -INFINITY, sum = 0;
	uint32_t i;

	for (i = 0; i < w->count; i++) {
		if (!allowed(w, r, i, first))
			continue;
		if (!is_time(w, i))
			text = fmax(text, (double)logits[i]);
		else
			most = fmax(most, (double)logits[i]);
	}
	for (i = w->time; most > -INFINITY && i < w->count; i++)
		if (is_time(w, i) && allowed(w, r, i, first))
			sum += exp((double)logits[i] - most);
	return sum > 0 && log(sum) + most > text;
}

void words_filter(const struct words *w, const float *logits, const uint32_t *said, uint32_t count,
		  float *out)
{
	struct rules r = rules_of(w, said, count);
	bool any = false;
	uint32_t i;

	if (w->time != ACCEL_TOKEN_NONE && is_time_next(w, &r, logits, !count)) {
		r.text = false;
		r.end = false;
	}
	for (i = 0; i < w->count; i++) {
		out[i] = allowed(w, &r, i, !count) ? logits[i] : -INFINITY;
		/* A NaN counts, so that it is seen. */
		any |= out[i] != -INFINITY;
	}
	if (!any)
		out[w->end] = 0;
}
