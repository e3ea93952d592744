// SPDX-License-Identifier: MIT
/*
 * Text to tokens, through all the steps.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "inside.h"

/* What the longest text leaves behind is not kept for the next. */
#define KEEP		(16u << 20)

void run_free(struct tok_run *r)
{
	if (r->text.cap)
		free(r->text.s);
	free(r->text.at);
	free(r->other.s);
	free(r->other.at);
	free(r->pieces.v);
	free(r->others.v);
	free(r->matches);
	free(r->out);
	free(r->symbols);
	free(r->heap);
	free(r->best);
	free(r->cache);
	pcre2_match_data_free(r->match);
	pcre2_match_context_free(r->limits);
	pcre2_jit_stack_free(r->stack);
	free(r);
}

/**
 * run_get - what an encoding works with, of a tokenizer that others may be using
 * @t: tokenizer
 *
 * Return: run, for run_put(); NULL: no memory.
 */
struct tok_run *run_get(const struct accel_tokenizer *t)
{
	struct accel_tokenizer *own = (struct accel_tokenizer *)(uintptr_t)t;
	struct tok_run *r;

	pthread_mutex_lock(&own->lock);
	r = own->runs;
	if (r)
		own->runs = r->next_free;
	pthread_mutex_unlock(&own->lock);
	if (!r)
		r = calloc(1, sizeof(*r));
	if (r)
		r->t = t;
	return r;
}

/* The text that a run has is the caller's: it is forgotten. */
static void text_drop(struct tok_text *t)
{
	if (!t->cap)
		t->s = NULL;
	if (t->cap > KEEP || t->at_cap > KEEP / sizeof(*t->at)) {
		free(t->cap ? t->s : NULL);
		free(t->at);
		memset(t, 0, sizeof(*t));
	}
	t->n = 0;
}

void run_put(struct tok_run *r)
{
	struct accel_tokenizer *t = (struct accel_tokenizer *)(uintptr_t)r->t;

	text_drop(&r->text);
	text_drop(&r->other);
	r->pieces.n = r->others.n = r->match_n = 0;
	r->flags = 0;
	free(r->out);
	r->out = NULL;
	r->out_n = r->out_cap = 0;
	if (r->pieces.cap > KEEP / 16 || r->others.cap > KEEP / 16 || r->match_cap > KEEP / 16 ||
	    r->symbol_cap > KEEP / 16 || r->heap_cap > KEEP / 16 || r->best_cap > KEEP / 16) {
		run_free(r);
		return;
	}
	pthread_mutex_lock(&t->lock);
	r->next_free = t->runs;
	t->runs = r;
	pthread_mutex_unlock(&t->lock);
}

/**
 * run_start - a text to be worked on
 * @r: run
 * @in: text, which has to stay
 *
 * Return: 0; -E2BIG; -ENOMEM.
 */
int run_start(struct tok_run *r, struct tok_bytes in)
{
	struct tok_text *t = &r->text;
	uint32_t i, k, bad;
	bool cut;
	int ret = 0;

	if (in.n > TOK_MAX_TEXT)
		return -E2BIG;
	r->pieces.n = 0;
	/* What was left of another text makes room. */
	if (t->cap)
		free(t->s);
	free(t->at);
	memset(t, 0, sizeof(*t));
	t->s = (uint8_t *)(uintptr_t)in.p;
	t->n = (uint32_t)in.n;
	if (!utf8_valid(in.p, in.n)) {
		struct tok_text swap;

		r->other.n = 0;
		for (i = 0; !ret && i < in.n; i += k) {
			k = utf8_check(in.p + i, in.n - i, &bad, &cut);
			ret = k ? text_put(r, in.p + i, k, (struct tok_span){ i, i + k }) :
				  text_put_char(r, 0xfffd, (struct tok_span){ i, i + bad });
			k = k ? k : bad;
		}
		swap = r->text;
		r->text = r->other;
		r->other = swap;
		r->other = (struct tok_text){ NULL, NULL, 0, 0, 0 };
	}
	return ret ? ret : piece_add(&r->pieces, 0, r->text.n, TOK_NONE);
}

int run_normalize(struct tok_run *r, struct tok_bytes in)
{
	uint32_t i;
	int ret = run_start(r, in);

	for (i = 0; !ret && i < r->t->normalizers.n; i++)
		ret = normalize_step(r, &r->t->normalizers.v[i]);
	return ret;
}

static int encode_piece(struct tok_run *r, const struct tok_piece *p)
{
	const struct tok_added *a;

	if (p->id != TOK_NONE) {
		a = added_get(r->t, p->id);
		return run_emit(r, p->id, p->start, p->end,
				ACCEL_TOKEN_ADDED | (a && a->special ? ACCEL_TOKEN_SPECIAL : 0u));
	}
	switch (r->t->model) {
	case ACCEL_TOKENIZER_BPE:
		return bpe_encode(r, p->start, p->end);
	case ACCEL_TOKENIZER_UNIGRAM:
		return unigram_encode(r, p->start, p->end);
	case ACCEL_TOKENIZER_WORDPIECE:
		return wordpiece_encode(r, p->start, p->end);
	default:
		return wordlevel_encode(r, p->start, p->end);
	}
}

/* The tokens of one text, at the end of what the run has */
static int encode_text(struct tok_run *r, struct tok_bytes in)
{
	const struct accel_tokenizer *t = r->t;
	uint32_t i;
	int ret = run_start(r, in);

	if (!ret)
		ret = added_find(r, &t->found);
	for (i = 0; !ret && i < t->normalizers.n; i++)
		ret = normalize_step(r, &t->normalizers.v[i]);
	if (!ret)
		ret = added_find(r, &t->found_normalized);
	for (i = 0; !ret && i < t->splits.n; i++)
		ret = split_step(r, &t->splits.v[i]);
	for (i = 0; !ret && i < r->pieces.n; i++)
		ret = encode_piece(r, &r->pieces.v[i]);
	return ret;
}

int accel_tokenizer_encode(const struct accel_tokenizer *t, const struct accel_encode_args *args,
			   struct accel_token **tokens, size_t *count)
{
	FP_MODE_SCOPE();
	const uint32_t flags = ACCEL_ENCODE_ADD_SPECIAL | ACCEL_ENCODE_PARSE_SPECIAL |
			       ACCEL_ENCODE_WHOLE;
	struct accel_token *first = NULL;
	struct tok_bytes text, pair;
	struct tok_run *r;
	size_t n = 0;
	int ret;

	if (!t || !args || !tokens || !count || args->size < sizeof(*args) ||
	    args->flags & ~flags ||
	    (!args->text && args->bytes) || (!args->pair && args->pair_bytes))
		return -EINVAL;
	r = run_get(t);
	if (!r)
		return -ENOMEM;
	r->flags = args->flags;
	text = (struct tok_bytes){ (const uint8_t *)args->text, args->bytes };
	pair = (struct tok_bytes){ (const uint8_t *)args->pair, args->pair_bytes };
	ret = encode_text(r, text);
	if (!ret && t->trim)
		trim_offsets(r);
	n = r->out_n;
	if (!ret && args->pair) {
		/* Each text is trimmed for itself. */
		first = r->out;
		r->out = NULL;
		r->out_n = r->out_cap = 0;
		ret = encode_text(r, pair);
		if (!ret && t->trim)
			trim_offsets(r);
		if (!ret) {
			struct accel_token *all = malloc((n + r->out_n + 1) * sizeof(*all));

			if (all) {
				memcpy(all, first, n * sizeof(*all));
				memcpy(all + n, r->out, r->out_n * sizeof(*all));
				free(r->out);
				r->out = all;
				r->out_n += n;
				r->out_cap = r->out_n + 1;
			} else {
				ret = -ENOMEM;
			}
		}
		free(first);
	}
	if (!ret)
		ret = process(r, n, args->pair);
	if (!ret) {
		*tokens = r->out;
		*count = r->out_n;
		r->out = NULL;
	}
	run_put(r);
	return ret;
}
