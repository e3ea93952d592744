// SPDX-License-Identifier: MIT
/*
 * What comes around the tokens of a text: those that begin and end it, truncation, padding.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

static bool is_gap(uint32_t c)
{
	return c == byte_to_char(' ') || is_white(c);
}

/* Spaces at the ends of a token, as the file has it */
static void count_spaces(struct tok_bytes text, uint32_t *before, uint32_t *behind)
{
	size_t i;
	uint32_t k;

	*before = *behind = 0;
	for (i = 0; i < text.n && is_gap(utf8_get(text.p + i, &k)); i += k)
		++*before;
	for (i = text.n; i; --i) {
		size_t last = i - 1;

		while (last && (text.p[last] & 0xc0) == 0x80)
			last--;
		if (!is_gap(utf8_get(text.p + last, &k)))
			break;
		++*behind;
		i = last + 1;
	}
}

/**
 * trim_offsets - tokens do not stand for the spaces at their ends
 * @r: run, whose tokens are all that were made of one text
 */
void trim_offsets(struct tok_run *r)
{
	const struct accel_tokenizer *t = r->t;
	size_t i;

	for (i = 0; i < r->out_n; i++) {
		struct accel_token *o = &r->out[i];
		uint32_t before, behind;
		struct tok_bytes text;

		if (!vocab_get(&t->extra, o->id, &text) && !vocab_get(&t->vocab, o->id, &text))
			continue;
		count_spaces(text, &before, &behind);
		/* The space that was put before the text is none of it. */
		if ((!i || !o->start) && t->trim_prefix && before == 1)
			before = 0;
		o->start = o->start + before < o->end ? o->start + before : o->end;
		if (behind && o->end >= behind)
			o->end = o->end - behind > o->start ? o->end - behind : o->start;
	}
}

/* @count tokens from @from on are kept, of the end or of the beginning */
static void keep(struct tok_run *r, size_t from, size_t have, size_t count)
{
	size_t gone = have - count;

	if (have <= count)
		return;
	if (r->t->truncate_left)
		memmove(r->out + from, r->out + from + gone,
			(r->out_n - from - gone) * sizeof(*r->out));
	else
		memmove(r->out + from + count, r->out + from + have,
			(r->out_n - from - have) * sizeof(*r->out));
	r->out_n -= gone;
}

/* No more tokens than the file says; @first of them are the first text's */
static int truncate(struct tok_run *r, size_t *first, bool pair, uint32_t added)
{
	const struct accel_tokenizer *t = r->t;
	size_t n1 = *first, n2 = r->out_n - n1, max, over;

	if (t->truncate_n < added)
		return -E2BIG;
	max = t->truncate_n - added;
	if (n1 + n2 <= max)
		return 0;
	over = n1 + n2 - max;
	if (!max) {
		r->out_n = *first = 0;
		return 0;
	}
	if (t->truncate_which == 1) {
		if (n1 <= over)
			return -E2BIG;
		n1 -= over;
	} else if (t->truncate_which == 2) {
		if (!pair || n2 <= over)
			return pair ? -E2BIG : -EINVAL;
		n2 -= over;
	} else if (!pair) {
		n1 = max;
	} else {
		bool swap = n1 > n2;
		size_t less = swap ? n2 : n1, more;

		more = less > max ? less : max - less > less ? max - less : less;
		if (less + more > max) {
			less = max / 2;
			more = less + max % 2;
		}
		n1 = swap ? more : less;
		n2 = swap ? less : more;
	}
	keep(r, *first, r->out_n - *first, n2);
	keep(r, 0, *first, n1);
	*first = n1 < *first ? n1 : *first;
	return 0;
}

static int pad(struct tok_run *r)
{
	const struct accel_tokenizer *t = r->t;
	size_t want = t->pad_n ? t->pad_n : r->out_n, had = r->out_n, i;
	int ret = 0;

	if (t->pad_multiple && want % t->pad_multiple)
		want += t->pad_multiple - want % t->pad_multiple;
	while (!ret && r->out_n < want) {
		ret = run_emit(r, t->pad_id, 0, 0, ACCEL_TOKEN_FILL | ACCEL_TOKEN_SPECIAL);
		if (!ret)
			r->out[r->out_n - 1].type = (uint16_t)t->pad_type;
	}
	if (ret || !t->pad_left || had == r->out_n)
		return ret;
	memmove(r->out + r->out_n - had, r->out, had * sizeof(*r->out));
	for (i = 0; i < r->out_n - had; i++)
		r->out[i] = (struct accel_token){ t->pad_id, 0, 0, (uint16_t)t->pad_type,
						  ACCEL_TOKEN_FILL | ACCEL_TOKEN_SPECIAL };
	return 0;
}

/* The texts' tokens, in the order and with the tokens that the template says */
static int arrange(struct tok_run *r, const struct tok_template *m, size_t first)
{
	size_t n = r->out_n, total = 0, i, j;
	struct accel_token *out;
	uint32_t k;

	for (k = 0; k < m->n; k++)
		total += m->v[k].id != TOK_NONE ? 1 : m->v[k].which ? n - first : first;
	out = malloc((total + 1) * sizeof(*out));
	if (!out)
		return -ENOMEM;
	for (k = 0, j = 0; k < m->n; k++) {
		const struct tok_around *a = &m->v[k];

		if (a->id != TOK_NONE) {
			if (r->flags & ACCEL_ENCODE_ADD_SPECIAL)
				out[j++] = (struct accel_token){ a->id, 0, 0, a->type,
								 ACCEL_TOKEN_SPECIAL };
			continue;
		}
		for (i = a->which ? first : 0; i < (a->which ? n : first); i++) {
			out[j] = r->out[i];
			out[j++].type = a->type;
		}
	}
	free(r->out);
	r->out = out;
	r->out_cap = total + 1;
	r->out_n = j;
	return 0;
}

/**
 * process - what comes around the tokens
 * @r: run with the tokens of all texts
 * @first: how many are the first text's
 * @pair: there is a second
 *
 * Return: 0; -E2BIG, -EINVAL what the file says of truncation cannot be; -ENOMEM.
 */
int process(struct tok_run *r, size_t first, bool pair)
{
	const struct accel_tokenizer *t = r->t;
	const struct tok_template *m = pair ? &t->pair : &t->single;
	bool limits = !(r->flags & ACCEL_ENCODE_WHOLE);
	size_t i;
	int ret = 0;

	if (t->truncate && limits)
		ret = truncate(r, &first, pair,
			       t->has_template && r->flags & ACCEL_ENCODE_ADD_SPECIAL ? m->added :
				0);
	for (i = first; !ret && i < r->out_n; i++)
		r->out[i].type = 1;
	if (!ret && t->has_template)
		ret = arrange(r, m, first);
	if (!ret && t->pad && limits)
		ret = pad(r);
	return ret;
}
