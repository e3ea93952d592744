// SPDX-License-Identifier: MIT
/*
 * Steps that cut the text into pieces.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* Pieces of what matched, and of what did not, put together as the behaviour says */
static int cut(struct tok_run *r, enum tok_behavior behavior)
{
	struct tok_pieces *to = &r->others;
	uint32_t base = to->n, i, kept;
	bool before = false;
	int ret = 0;

	if (behavior == MERGED_NEXT) {
		/* From the back: what matched goes to what stands behind it. */
		uint32_t end = 0;
		bool open = false;

		for (i = r->match_n; !ret && i-- > 0; ) {
			const struct tok_match *m = &r->matches[i];
			const struct tok_piece piece = { m->start, m->end, TOK_NONE };

			if (m->hit && !before && open) {
				to->v[to->n - 1].start = m->start;
			} else {
				/* Empty ones count here, and go below. */
				ret = tok_grow(&to->v, &to->cap, (uint64_t)to->n + 1,
					       sizeof(*to->v));
				if (!ret)
					to->v[to->n++] = piece;
			}
			open = true;
			before = m->hit;
		}
		for (i = base, end = to->n; i + 1 < end; i++, end--) {
			struct tok_piece p = to->v[i];

			to->v[i] = to->v[end - 1];
			to->v[end - 1] = p;
		}
	} else {
		for (i = 0; !ret && i < r->match_n; i++) {
			const struct tok_match *m = &r->matches[i];
			bool join = (behavior == CONTIGUOUS && m->hit == before) ||
				    (behavior == MERGED_PREVIOUS && m->hit && !before);
			const struct tok_piece piece = { m->start, m->end, TOK_NONE };

			if (behavior == REMOVED && m->hit)
				continue;
			if (join && to->n > base) {
				to->v[to->n - 1].end = m->end;
			} else {
				ret = tok_grow(&to->v, &to->cap, (uint64_t)to->n + 1,
					       sizeof(*to->v));
				if (!ret)
					to->v[to->n++] = piece;
			}
			before = m->hit;
		}
	}
	for (i = kept = base; i < to->n; i++)
		if (to->v[i].start < to->v[i].end)
			to->v[kept++] = to->v[i];
	to->n = kept;
	return ret;
}

/* Characters that match, one by one */
static int find_chars(struct tok_run *r, const struct tok_step *s, uint32_t start, uint32_t end)
{
	uint32_t i, k, from = start, c;
	int ret = 0;

	for (i = start; !ret && i < end; i += k) {
		bool hit;

		c = utf8_get(r->text.s + i, &k);
		switch (s->kind) {
		case STEP_WHITE_SPLIT:
		case STEP_BERT_SPLIT:
			hit = is_white(c);
			break;
		case STEP_PUNCT:
			hit = is_punct(c);
			break;
		case STEP_DIGITS:
			hit = is_number(c);
			break;
		default:
			hit = c == s->ch;
		}
		if (!hit)
			continue;
		if (from < i)
			ret = run_match(r, from, i, false);
		if (!ret)
			ret = run_match(r, i, i + k, true);
		from = i + k;
	}
	if (!ret && from < end)
		ret = run_match(r, from, end, false);
	return ret;
}

/* Words, and runs of what is neither word nor space */
static int find_words(struct tok_run *r, uint32_t start, uint32_t end)
{
	uint32_t i = start, k, from;
	int ret = 0;

	while (!ret && i < end) {
		uint32_t c = utf8_get(r->text.s + i, &k);
		int kind = is_word(c) ? 2 : is_white(c) ? 0 : 1;

		for (from = i; i < end; i += k) {
			c = utf8_get(r->text.s + i, &k);
			if ((is_word(c) ? 2 : is_white(c) ? 0 : 1) != kind)
				break;
		}
		ret = run_match(r, from, i, !kind);
	}
	return ret;
}

static int find_lengths(struct tok_run *r, uint32_t length, uint32_t start, uint32_t end)
{
	uint32_t i = start, k, from, n;
	int ret = 0;

	while (!ret && i < end) {
		for (from = i, n = 0; i < end && n < length; i += k, n++)
			utf8_get(r->text.s + i, &k);
		ret = run_match(r, from, i, false);
	}
	return ret;
}

static int find(struct tok_run *r, const struct tok_step *s, uint32_t start, uint32_t end)
{
	uint32_t i;
	int ret;

	switch (s->kind) {
	case STEP_WORDS:
		return find_words(r, start, end);
	case STEP_LENGTH:
		return find_lengths(r, s->start, start, end);
	case STEP_SPLIT:
	case STEP_BYTE_LEVEL:
		ret = pattern_find(r, &s->pattern, start, end);
		for (i = 0; s->invert && i < r->match_n; i++)
			r->matches[i].hit = !r->matches[i].hit;
		return ret;
	default:
		return find_chars(r, s, start, end);
	}
}

static int split_pieces(struct tok_run *r, const struct tok_step *s, enum tok_behavior behavior)
{
	struct tok_pieces swap;
	uint32_t i;
	int ret = 0;

	r->others.n = 0;
	for (i = 0; !ret && i < r->pieces.n; i++) {
		const struct tok_piece *p = &r->pieces.v[i];

		if (p->id != TOK_NONE) {
			ret = piece_add(&r->others, p->start, p->end, p->id);
			continue;
		}
		r->match_n = 0;
		ret = find(r, s, p->start, p->end);
		if (!ret)
			ret = cut(r, behavior);
	}
	swap = r->pieces;
	r->pieces = r->others;
	r->others = swap;
	return ret;
}

/**
 * split_step - cut the text
 * @r: run
 * @s: step
 *
 * Return: 0; -E2BIG; -ENOMEM.
 */
int split_step(struct tok_run *r, const struct tok_step *s)
{
	static const struct tok_step punct = { .kind = STEP_PUNCT };
	struct tok_step bytes = { .kind = STEP_BYTES };
	int ret = 0;

	switch (s->kind) {
	case STEP_BYTE_LEVEL:
		if (s->a)
			ret = normalize_step(r, s);
		if (!ret && s->split)
			ret = split_pieces(r, s, ISOLATED);
		/* The model takes bytes as they are, if it can. */
		if (!ret && !s->b)
			ret = normalize_step(r, &bytes);
		return ret;
	case STEP_METASPACE:
		ret = normalize_step(r, s);
		return ret || !s->split ? ret : split_pieces(r, s, MERGED_NEXT);
	case STEP_BERT_SPLIT:
		ret = split_pieces(r, s, REMOVED);
		return ret ? ret : split_pieces(r, &punct, ISOLATED);
	case STEP_WHITE_SPLIT:
	case STEP_CHAR_SPLIT:
	case STEP_WORDS:
		return split_pieces(r, s, REMOVED);
	case STEP_DIGITS:
		return split_pieces(r, s, s->a ? ISOLATED : CONTIGUOUS);
	case STEP_LENGTH:
		return split_pieces(r, s, ISOLATED);
	default:
		return split_pieces(r, s, s->behavior);
	}
}
