// SPDX-License-Identifier: MIT
/*
 * A text on its way to the model, each byte of which knows where it comes from.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

int tok_grow(void *array, uint32_t *cap, uint64_t need, size_t size)
{
	void **v = array, *more;
	uint64_t room = *cap ? *cap : 64;

	if (need <= *cap)
		return 0;
	if (need > TOK_MAX_OUT)
		return -E2BIG;
	while (room < need)
		room *= 2;
	more = realloc(*v, room * size);
	if (!more)
		return -ENOMEM;
	*v = more;
	*cap = (uint32_t)room;
	return 0;
}

/**
 * text_span - where a part of a text comes from
 * @t: text
 * @start: where it begins
 * @end: where it ends, behind @start
 *
 * Return: bytes of the caller's text, whole characters.
 */
struct tok_span text_span(const struct tok_text *t, uint32_t start, uint32_t end)
{
	if (t->at)
		return (struct tok_span){ t->at[start].from, t->at[end - 1].to };
	while (start && (t->s[start] & 0xc0) == 0x80)
		start--;
	while (end < t->n && (t->s[end] & 0xc0) == 0x80)
		end++;
	return (struct tok_span){ start, end };
}

/**
 * text_put - more of the text that a step makes
 * @r: run; its text @other is being made
 * @s: bytes, whole characters
 * @n: number of them
 * @at: what they come from
 *
 * Return: 0; -E2BIG; -ENOMEM.
 */
int text_put(struct tok_run *r, const uint8_t *s, uint32_t n, struct tok_span at)
{
	struct tok_text *t = &r->other;
	int ret = tok_grow(&t->s, &t->cap, (uint64_t)t->n + n, 1);
	uint32_t i;

	if (!ret)
		ret = tok_grow(&t->at, &t->at_cap, (uint64_t)t->n + n, sizeof(*t->at));
	if (ret)
		return ret;
	if (n)
		memcpy(t->s + t->n, s, n);
	for (i = 0; i < n; i++)
		t->at[t->n + i] = at;
	t->n += n;
	return 0;
}

int text_put_char(struct tok_run *r, uint32_t c, struct tok_span at)
{
	uint8_t s[4];

	return text_put(r, s, utf8_put(s, c), at);
}

/**
 * text_copy - a part that a step leaves as it is
 * @r: run
 * @start: where it begins in the run's text
 * @end: where it ends
 *
 * Return: 0; -E2BIG; -ENOMEM.
 */
int text_copy(struct tok_run *r, uint32_t start, uint32_t end)
{
	struct tok_text *t = &r->other;
	uint32_t n = end - start, i, k;
	int ret = tok_grow(&t->s, &t->cap, (uint64_t)t->n + n, 1);

	if (!ret)
		ret = tok_grow(&t->at, &t->at_cap, (uint64_t)t->n + n, sizeof(*t->at));
	if (ret || !n)
		return ret;
	memcpy(t->s + t->n, r->text.s + start, n);
	if (r->text.at) {
		memcpy(t->at + t->n, r->text.at + start, n * sizeof(*t->at));
	} else {
		for (i = start; i < end; i += k) {
			uint32_t j;

			utf8_get(r->text.s + i, &k);
			for (j = 0; j < k; j++)
				t->at[t->n + i - start + j] = (struct tok_span){ i, i + k };
		}
	}
	t->n += n;
	return 0;
}

int piece_add(struct tok_pieces *p, uint32_t start, uint32_t end, uint32_t id)
{
	int ret = tok_grow(&p->v, &p->cap, (uint64_t)p->n + 1, sizeof(*p->v));

	/* What is empty has no tokens. */
	if (ret || start >= end)
		return ret;
	p->v[p->n++] = (struct tok_piece){ start, end, id };
	return 0;
}

int run_match(struct tok_run *r, uint32_t start, uint32_t end, bool hit)
{
	int ret = tok_grow(&r->matches, &r->match_cap, (uint64_t)r->match_n + 1,
			   sizeof(*r->matches));

	if (!ret)
		r->matches[r->match_n++] = (struct tok_match){ start, end, hit };
	return ret;
}

/**
 * run_emit - a token
 * @r: run
 * @id: token
 * @start: where what it stands for begins, in the run's text
 * @end: where that ends
 * @flags: &enum accel_token_flags
 *
 * Return: 0; -E2BIG; -ENOMEM.
 */
int run_emit(struct tok_run *r, uint32_t id, uint32_t start, uint32_t end, uint32_t flags)
{
	struct tok_span at = { 0, 0 };

	if (r->out_n == r->out_cap) {
		size_t cap = r->out_cap ? r->out_cap * 2 : 256;
		struct accel_token *more;

		if (cap > TOK_MAX_OUT / sizeof(*more) * 4)
			return -E2BIG;
		more = realloc(r->out, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		r->out = more;
		r->out_cap = cap;
	}
	if (start < end)
		at = text_span(&r->text, start, end);
	r->out[r->out_n++] = (struct accel_token){ id, at.from, at.to, 0, (uint16_t)flags };
	return 0;
}
