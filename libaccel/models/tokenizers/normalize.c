// SPDX-License-Identifier: MIT
/*
 * Steps that change the text: each reads the run's text, piece by piece, and writes the next.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* A form of normalization: from one place where a text may be cut to the next */
static int form_step(struct tok_run *r, enum tok_form form, uint32_t start, uint32_t end)
{
	uint32_t i = start, k, c, n, cap = 0, *chars = NULL;
	int ret = 0;

	while (!ret && i < end) {
		uint32_t from = i, next;
		int32_t *made;
		size_t made_n, j;
		struct tok_span at;
		bool plain;

		c = utf8_get(r->text.s + i, &k);
		plain = is_plain(c, form);
		for (n = 0; ; c = next) {
			ret = tok_grow(&chars, &cap, (uint64_t)n + 1, sizeof(*chars));
			if (ret)
				break;
			chars[n++] = c;
			i += k;
			if (i >= end)
				break;
			next = utf8_get(r->text.s + i, &k);
			if (!goes_on(next))
				break;
		}
		if (ret)
			break;
		if (plain && n == 1) {
			ret = text_copy(r, from, i);
			continue;
		}
		at = text_span(&r->text, from, i);
		made = normal_form(chars, n, form, &made_n);
		ret = made ? 0 : -ENOMEM;
		/* A character that stays keeps its place; what is mixed up has that of all. */
		if (made && made_n == n && !memcmp(made, chars, n * sizeof(*chars)))
			ret = text_copy(r, from, i);
		else
			for (j = 0; !ret && j < made_n; j++)
				ret = text_put_char(r, (uint32_t)made[j], at);
		free(made);
	}
	free(chars);
	return ret;
}

static int strip_step(struct tok_run *r, const struct tok_step *s, uint32_t start, uint32_t end)
{
	uint32_t k;

	while (s->a && start < end && is_white(utf8_get(r->text.s + start, &k)))
		start += k;
	while (s->b && start < end) {
		uint32_t last = end - 1;

		while ((r->text.s[last] & 0xc0) == 0x80)
			last--;
		if (!is_white(utf8_get(r->text.s + last, &k)))
			break;
		end = last;
	}
	return text_copy(r, start, end);
}

static int replace_step(struct tok_run *r, const struct tok_step *s, uint32_t start, uint32_t end)
{
	uint32_t i;
	int ret = pattern_find(r, &s->pattern, start, end);

	for (i = 0; !ret && i < r->match_n; i++) {
		const struct tok_match *m = &r->matches[i];
		struct tok_span at;

		if (!m->hit) {
			ret = text_copy(r, m->start, m->end);
			continue;
		}
		if (m->start < m->end)
			at = text_span(&r->text, m->start, m->end);
		else
			at = m->start > start ? text_span(&r->text, m->start - 1, m->start) :
						(struct tok_span){ 0, 0 };
		ret = text_put(r, s->text.p, (uint32_t)s->text.n, at);
	}
	return ret;
}

/* What comes before a piece has the place of its first character. */
static int prepend(struct tok_run *r, struct tok_bytes text, uint32_t start)
{
	uint32_t k;

	utf8_get(r->text.s + start, &k);
	return text_put(r, text.p, (uint32_t)text.n, text_span(&r->text, start, start + k));
}

static bool is_cjk(uint32_t c)
{
	return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
	       (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
	       (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
	       (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

/* Cleaned text, and CJK characters apart. Accents and case are steps of their own. */
static int bert_char(struct tok_run *r, const struct tok_step *s, uint32_t c, struct tok_span at)
{
	int ret;

	if (s->a) {
		if (!c || c == 0xfffd || is_control(c))
			return 0;
		if (is_white(c))
			c = ' ';
	}
	if (!s->b || !is_cjk(c))
		return text_put_char(r, c, at);
	ret = text_put_char(r, ' ', at);
	if (!ret)
		ret = text_put_char(r, c, at);
	return ret ? ret : text_put_char(r, ' ', at);
}

static int nmt_char(struct tok_run *r, uint32_t c, struct tok_span at)
{
	if ((c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f ||
	    c == 0x9f)
		return 0;
	if (c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
	    (c >= 0x200b && c <= 0x200f) ||
	    c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd)
		c = ' ';
	return text_put_char(r, c, at);
}

/* Steps that see one character at a time */
static int char_steps(struct tok_run *r, const struct tok_step *s, uint32_t start, uint32_t end)
{
	uint32_t i, k, j, c, lower[2];
	int ret = 0;

	for (i = start; !ret && i < end; i += k) {
		struct tok_span at;

		c = utf8_get(r->text.s + i, &k);
		at = text_span(&r->text, i, i + k);
		switch (s->kind) {
		case STEP_LOWER:
			for (j = to_lower(c, lower); !ret && j; j--) {
				ret = text_put_char(r, lower[0], at);
				lower[0] = lower[1];
			}
			break;
		case STEP_ACCENTS:
			/* Those of BERT keep marks that take room. */
			if (!(s->b ? is_nonspacing(c) : is_mark(c)))
				ret = text_put_char(r, c, at);
			break;
		case STEP_BERT:
			ret = bert_char(r, s, c, at);
			break;
		case STEP_NMT:
			ret = nmt_char(r, c, at);
			break;
		default:	/* bytes in their alphabet */
			for (j = 0; !ret && j < k; j++)
				ret = text_put_char(r, byte_to_char(r->text.s[i + j]), at);
		}
	}
	return ret;
}

/* " " becomes the character of Metaspace, which comes before the text, too. */
static int metaspace(struct tok_run *r, const struct tok_step *s, uint32_t start, uint32_t end)
{
	uint32_t i, from, k;
	uint8_t ch[4];
	struct tok_bytes text = { ch, utf8_put(ch, s->ch) };
	bool there = r->text.s[start] == ' ' || utf8_get(r->text.s + start, &k) == s->ch;
	int ret = 0;

	if (!there && (s->scheme == SCHEME_ALWAYS ||
		       (s->scheme == SCHEME_FIRST && !text_span(&r->text, start, start + 1).from)))
		ret = prepend(r, text, start);
	for (i = from = start; !ret && i < end; i++) {
		if (r->text.s[i] != ' ')
			continue;
		ret = text_copy(r, from, i);
		if (!ret)
			ret = text_put(r, text.p, (uint32_t)text.n, text_span(&r->text, i, i + 1));
		from = i + 1;
	}
	return ret ? ret : text_copy(r, from, end);
}

static int normalize_piece(struct tok_run *r, const struct tok_step *s, uint32_t start,
			   uint32_t end)
{
	int ret;

	switch (s->kind) {
	case STEP_NFC:
		return form_step(r, FORM_NFC, start, end);
	case STEP_NFD:
		return form_step(r, FORM_NFD, start, end);
	case STEP_NFKC:
		return form_step(r, FORM_NFKC, start, end);
	case STEP_NFKD:
		return form_step(r, FORM_NFKD, start, end);
	case STEP_STRIP:
		return strip_step(r, s, start, end);
	case STEP_REPLACE:
		return replace_step(r, s, start, end);
	case STEP_PREPEND:
		ret = prepend(r, s->text, start);
		return ret ? ret : text_copy(r, start, end);
	case STEP_BYTE_LEVEL:
		ret = r->text.s[start] == ' ' ? 0 :
		      prepend(r, (struct tok_bytes){ (const uint8_t *)" ", 1 }, start);
		return ret ? ret : text_copy(r, start, end);
	case STEP_METASPACE:
		return metaspace(r, s, start, end);
	case STEP_CHARSMAP:
		return charsmap_apply(r, s->charsmap, start, end);
	default:
		return char_steps(r, s, start, end);
	}
}

static bool is_ascii(const struct tok_text *t)
{
	uint32_t i;

	for (i = 0; i < t->n; i++)
		if (t->s[i] >= 0x80)
			return false;
	return true;
}

/**
 * normalize_step - change the text
 * @r: run
 * @s: step; of those that cut, what they change before they do
 *
 * Return: 0; -E2BIG; -ENOMEM.
 */
int normalize_step(struct tok_run *r, const struct tok_step *s)
{
	struct tok_text t;
	uint32_t i, kept = 0;
	int ret = 0;

	if (s->kind <= STEP_NFKD && is_ascii(&r->text))
		return 0;
	r->other.n = 0;
	for (i = 0; !ret && i < r->pieces.n; i++) {
		struct tok_piece p = r->pieces.v[i];
		uint32_t start = r->other.n;

		ret = p.id != TOK_NONE ? text_copy(r, p.start, p.end) :
		      normalize_piece(r, s, p.start, p.end);
		p.start = start;
		p.end = r->other.n;
		if (start < p.end)
			r->pieces.v[kept++] = p;
	}
	r->pieces.n = kept;
	t = r->text;
	r->text = r->other;
	r->other = t;
	/* The caller's text is read once, and never written. */
	if (!r->other.cap)
		r->other = (struct tok_text){ NULL, NULL, 0, 0, 0 };
	return ret;
}
