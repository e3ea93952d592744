// SPDX-License-Identifier: MIT
/*
 * Tokens to text, one after the other. What a token adds is what its text has more than that of
 * the tokens
 * before it, once that does not end within a character. Bytes are kept as bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* Tokens that may wait for a character to become whole: one has four bytes. */
#define WAIT	16u

/**
 * struct accel_detokenizer - tokens on their way
 * @t: tokenizer
 * @flags: &enum accel_decode_flags
 * @bytes: texts are bytes, without further steps
 * @may_cut: texts may end within characters
 * @context: token that stands for all that was said, where bytes are tokens
 * @ids: the tokens said last, and those that wait
 * @said: how many of @ids were said
 * @n: all of @ids
 * @held: bytes of a character that is not whole
 * @held_n: number of them
 * @out: text given to the caller
 */
struct accel_detokenizer {
	const struct accel_tokenizer *t;
	uint32_t flags;
	bool bytes, may_cut;
	uint32_t context;
	uint32_t ids[2 * WAIT + 2], said, n;
	uint8_t held[4];
	uint32_t held_n;
	struct tok_strings out;
};

/* A token of letters or the like */
static uint32_t a_word(const struct accel_tokenizer *t)
{
	struct tok_bytes text;
	uint32_t id;

	for (id = 0; id < t->vocab.count; id++)
		if (vocab_get(&t->vocab, id, &text) && text.n && !added_get(t, id) &&
		    text.p[0] > ' ' &&
		    text.p[0] < 0x7f && byte_token(text) < 0)
			return id;
	return TOK_NONE;
}

int accel_detokenizer_create(const struct accel_tokenizer *t, uint32_t flags,
			     struct accel_detokenizer **detokenizer)
{
	struct accel_detokenizer *d;
	uint32_t i;

	if (!t || !detokenizer || flags & ~(uint32_t)ACCEL_DECODE_SKIP_SPECIAL)
		return -EINVAL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->t = t;
	d->flags = flags;
	d->bytes = t->decoders.n == 1 && t->decoders.v[0].kind == STEP_UNBYTES;
	d->context = TOK_NONE;
	for (i = 0; i < t->decoders.n; i++) {
		d->may_cut |= t->decoders.v[i].kind == STEP_UNBYTES;
		if (t->decoders.v[i].kind == STEP_FALLBACK)
			d->context = a_word(t);
	}
	*detokenizer = d;
	return 0;
}

void accel_detokenizer_destroy(struct accel_detokenizer *d)
{
	if (!d)
		return;
	strings_free(&d->out);
	free(d);
}

static int give(struct accel_detokenizer *d, const char **text, size_t *bytes)
{
	int ret = strings_put(&d->out, NULL, 0);

	if (ret)
		return ret;
	d->out.s[d->out.used] = 0;
	*text = (const char *)d->out.s;
	if (bytes)
		*bytes = d->out.used;
	return 0;
}

/* Bytes are text as soon as they are characters, or cannot become any. */
static int push_bytes(struct accel_detokenizer *d, uint32_t id)
{
	struct tok_bytes text;
	uint8_t *all;
	size_t n, taken;
	int ret;

	if (!token_shown(d->t, id, d->flags, &text))
		return 0;
	all = malloc(text.n + sizeof(d->held));
	if (!all)
		return -ENOMEM;
	memcpy(all, d->held, d->held_n);
	if (!chars_to_bytes(text, all + d->held_n, &n)) {
		memcpy(all + d->held_n, text.p, text.n);
		n = text.n;
	}
	n += d->held_n;
	ret = strings_lossy(&d->out, all, n, false, &taken);
	if (!ret) {
		d->held_n = (uint32_t)(n - taken);
		memcpy(d->held, all + taken, d->held_n);
	}
	free(all);
	return ret;
}

static bool ends_broken(const struct tok_strings *s)
{
	return s->used >= 3 && !memcmp(s->s + s->used - 3, "\xef\xbf\xbd", 3);
}

/* Do the tokens that wait end with bytes that may become a character? */
static bool ends_cut(const struct accel_detokenizer *d)
{
	uint8_t bytes[4];
	struct tok_bytes text;
	uint32_t i, n = 0, k, bad;
	bool cut = false;

	for (i = d->n; i > d->said && n < sizeof(bytes); i--) {
		int b = token_shown(d->t, d->ids[i - 1], 0, &text) ? byte_token(text) : -1;

		if (b < 0)
			break;
		memmove(bytes + 1, bytes, n++);
		bytes[0] = (uint8_t)b;
	}
	for (i = 0; i < n && !cut; i += k ? k : bad)
		k = utf8_check(bytes + i, n - i, &bad, &cut);
	return cut;
}

/* What steps make of the tokens that wait, beyond what they made of those before */
static int push_steps(struct accel_detokenizer *d, bool end)
{
	struct tok_run *r = run_get(d->t);
	struct tok_strings before = { 0 }, now = { 0 };
	bool wait = !end && d->n - d->said < WAIT;
	int ret = r ? 0 : -ENOMEM;

	if (!ret && d->said)
		ret = decode_ids(r, d->ids, d->said, d->flags, &before);
	if (!ret)
		ret = decode_ids(r, d->ids, d->n, d->flags, &now);
	if (wait)
		wait = d->context != TOK_NONE ? ends_cut(d) : d->may_cut && ends_broken(&now);
	if (!ret && !wait) {
		if (now.used > before.used)
			ret = strings_put(&d->out, now.s + before.used, now.used - before.used);
		/* Bytes that were said must not meet those that follow. */
		if (d->context != TOK_NONE) {
			d->ids[0] = d->context;
			d->said = d->n = 1;
		} else {
			memmove(d->ids, d->ids + d->said, (d->n - d->said) * sizeof(*d->ids));
			d->n -= d->said;
			d->said = d->n;
		}
	}
	if (r)
		run_put(r);
	strings_free(&before);
	strings_free(&now);
	return ret;
}

int accel_detokenizer_push(struct accel_detokenizer *d, uint32_t id, const char **text,
			   size_t *bytes)
{
	struct tok_bytes shown;
	int ret = 0;

	if (!d || !text)
		return -EINVAL;
	d->out.used = 0;
	if (d->bytes) {
		ret = push_bytes(d, id);
	} else if (token_shown(d->t, id, d->flags, &shown)) {
		d->ids[d->n++] = id;
		ret = push_steps(d, false);
	}
	return ret ? ret : give(d, text, bytes);
}

int accel_detokenizer_flush(struct accel_detokenizer *d, const char **text, size_t *bytes)
{
	int ret = 0;

	if (!d || !text)
		return -EINVAL;
	d->out.used = 0;
	if (d->bytes)
		ret = strings_lossy(&d->out, d->held, d->held_n, true, NULL);
	else if (d->n > d->said)
		ret = push_steps(d, true);
	d->held_n = d->n = d->said = 0;
	return ret ? ret : give(d, text, bytes);
}
