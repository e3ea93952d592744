// SPDX-License-Identifier: MIT
/*
 * Tokens to text: a list of texts, through the file's steps, then all in a row.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

static const uint8_t broken[3] = { 0xef, 0xbf, 0xbd };

int strings_put(struct tok_strings *v, const uint8_t *p, size_t n)
{
	int ret = tok_grow(&v->s, &v->cap, (uint64_t)v->used + n + 1, 1);

	if (ret)
		return ret;
	if (n)
		memcpy(v->s + v->used, p, n);
	v->used += (uint32_t)n;
	return 0;
}

int strings_end(struct tok_strings *v)
{
	int ret = tok_grow(&v->ends, &v->ends_cap, (uint64_t)v->n + 1, sizeof(*v->ends));

	if (!ret)
		v->ends[v->n++] = v->used;
	return ret;
}

void strings_free(struct tok_strings *v)
{
	free(v->s);
	free(v->ends);
	memset(v, 0, sizeof(*v));
}

static struct tok_bytes nth(const struct tok_strings *v, uint32_t i)
{
	uint32_t from = i ? v->ends[i - 1] : 0;

	return (struct tok_bytes){ v->s + from, v->ends[i] - from };
}

/**
 * strings_lossy - bytes as UTF-8
 * @v: gets it
 * @p: bytes
 * @n: number of them
 * @end: there are no more: a character that is not whole is broken
 * @taken: out: bytes that are done with, may be NULL
 *
 * Return: 0; -E2BIG; -ENOMEM.
 */
int strings_lossy(struct tok_strings *v, const uint8_t *p, size_t n, bool end, size_t *taken)
{
	size_t i = 0;
	uint32_t k, bad;
	bool cut;
	int ret = 0;

	while (!ret && i < n) {
		k = utf8_check(p + i, n - i, &bad, &cut);
		if (!k && cut && !end)
			break;
		ret = k ? strings_put(v, p + i, k) : strings_put(v, broken, sizeof(broken));
		i += k ? k : bad;
	}
	if (taken)
		*taken = i;
	return ret;
}

bool token_shown(const struct accel_tokenizer *t, uint32_t id, uint32_t flags,
		 struct tok_bytes *text)
{
	const struct tok_added *a = added_get(t, id);

	if (!a)
		return vocab_get(&t->vocab, id, text);
	*text = a->shown.p ? a->shown : a->text;
	return !(a->special && flags & ACCEL_DECODE_SKIP_SPECIAL);
}

static int put_replaced(struct tok_strings *to, struct tok_bytes s, const char *what,
			const char *by)
{
	size_t n = strlen(what);
	const uint8_t *at;
	int ret = 0;

	while (!ret && n) {
		at = memmem(s.p, s.n, what, n);
		if (!at)
			break;
		ret = strings_put(to, s.p, (size_t)(at - s.p));
		if (!ret)
			ret = strings_put(to, (const uint8_t *)by, strlen(by));
		s.n -= (size_t)(at - s.p) + n;
		s.p = at + n;
	}
	return ret ? ret : strings_put(to, s.p, s.n);
}

/* English as it is written: no space before a full stop, and the like */
static int cleanup(struct tok_strings *to, struct tok_bytes s)
{
	static const char *const rules[][2] = {
		{ " .", "." }, { " ?", "?" }, { " !", "!" }, { " ,", "," }, { " ' ", "'" },
			{ " n't", "n't" },
		{ " 'm", "'m" }, { " do not", " don't" }, { " 's", "'s" }, { " 've", "'ve" },
			{ " 're", "'re" },
	};
	struct tok_strings a = { 0 }, b = { 0 }, swap;
	size_t i;
	int ret = strings_put(&a, s.p, s.n);

	for (i = 0; !ret && i < ARRAY_SIZE(rules); i++) {
		b.used = 0;
		ret = put_replaced(&b, (struct tok_bytes){ a.s, a.used }, rules[i][0], rules[i][1]);
		swap = a;
		a = b;
		b = swap;
	}
	if (!ret)
		ret = strings_put(to, a.s, a.used);
	strings_free(&a);
	strings_free(&b);
	return ret;
}

static int hex(uint8_t c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ?
	       (c | 32) - 'a' + 10 : -1;
}

int byte_token(struct tok_bytes s)
{
	if (s.n != 6 || memcmp(s.p, "<0x", 3) || s.p[5] != '>' || hex(s.p[3]) < 0 ||
	    hex(s.p[4]) < 0)
		return -1;
	return hex(s.p[3]) << 4 | hex(s.p[4]);
}

/* Bytes in a row are one text, if it is UTF-8, otherwise each is broken. */
static int fallback(struct tok_strings *to, const struct tok_strings *from)
{
	struct tok_strings row = { 0 };
	uint32_t i, j;
	int ret = 0;

	for (i = 0; !ret && i <= from->n; i++) {
		int b = i < from->n ? byte_token(nth(from, i)) : -1;
		uint8_t byte = (uint8_t)b;

		if (b >= 0) {
			ret = strings_put(&row, &byte, 1);
			continue;
		}
		if (row.used && utf8_valid(row.s, row.used)) {
			ret = strings_put(to, row.s, row.used);
			if (!ret)
				ret = strings_end(to);
		} else {
			for (j = 0; !ret && j < row.used; j++) {
				ret = strings_put(to, broken, sizeof(broken));
				if (!ret)
					ret = strings_end(to);
			}
		}
		row.used = 0;
		if (ret || i == from->n)
			continue;
		ret = strings_put(to, nth(from, i).p, nth(from, i).n);
		if (!ret)
			ret = strings_end(to);
	}
	strings_free(&row);
	return ret;
}

/* Tokens in the alphabet of bytes are bytes, others are themselves; all are one text. */
static int unbytes(struct tok_strings *to, const struct tok_strings *from)
{
	struct tok_strings all = { 0 };
	uint32_t i;
	int ret = 0;

	for (i = 0; !ret && i < from->n; i++) {
		struct tok_bytes s = nth(from, i);
		size_t n;

		ret = strings_put(&all, s.p, s.n);
		/* It is shorter in bytes, and goes where it came from. */
		if (!ret && chars_to_bytes((struct tok_bytes){ all.s + all.used - s.n, s.n },
					   all.s + all.used - s.n, &n))
			all.used -= (uint32_t)(s.n - n);
		else if (!ret)
			memcpy(all.s + all.used - s.n, s.p, s.n);
	}
	if (!ret)
		ret = strings_lossy(to, all.s, all.used, true, NULL);
	strings_free(&all);
	return ret ? ret : strings_end(to);
}

static int cut_ends(struct tok_strings *to, const struct tok_step *s, struct tok_bytes text)
{
	uint8_t ch[4];
	uint32_t n = utf8_put(ch, s->ch), i;

	for (i = 0; i < s->start && text.n >= n && !memcmp(text.p, ch, n); i++) {
		text.p += n;
		text.n -= n;
	}
	for (i = 0; i < s->stop && text.n >= n && !memcmp(text.p + text.n - n, ch, n); i++)
		text.n -= n;
	return strings_put(to, text.p, text.n);
}

static int replace(struct tok_run *r, struct tok_strings *to, const struct tok_step *s,
		   struct tok_bytes text)
{
	struct tok_text kept = r->text;
	uint32_t i;
	int ret;

	r->text = (struct tok_text){ (uint8_t *)(uintptr_t)text.p, NULL, (uint32_t)text.n, 0, 0 };
	r->match_n = 0;
	ret = pattern_find(r, &s->pattern, 0, (uint32_t)text.n);
	for (i = 0; !ret && i < r->match_n; i++) {
		const struct tok_match *m = &r->matches[i];

		ret = m->hit ? strings_put(to, s->text.p, s->text.n) :
			       strings_put(to, text.p + m->start, m->end - m->start);
	}
	r->text = kept;
	return ret;
}

static int unspace(struct tok_strings *to, const struct tok_step *s, struct tok_bytes text,
		   bool first)
{
	size_t i;
	uint32_t k, c;
	int ret = 0;

	for (i = 0; !ret && i < text.n; i += k) {
		c = utf8_get(text.p + i, &k);
		if (c != s->ch)
			ret = strings_put(to, text.p + i, k);
		else if (!first || s->scheme == SCHEME_NEVER)
			ret = strings_put(to, (const uint8_t *)" ", 1);
	}
	return ret;
}

static int unwords(struct tok_strings *to, const struct tok_step *s, struct tok_bytes text,
		   bool first)
{
	struct tok_strings one = { 0 };
	bool glued = text.n >= s->text.n && !memcmp(text.p, s->text.p, s->text.n);
	int ret = 0;

	if (!first && !glued)
		ret = strings_put(&one, (const uint8_t *)" ", 1);
	if (!first && glued) {
		text.p += s->text.n;
		text.n -= s->text.n;
	}
	if (!ret)
		ret = strings_put(&one, text.p, text.n);
	if (!ret)
		ret = s->a ? cleanup(to, (struct tok_bytes){ one.s, one.used }) :
		      strings_put(to, one.s, one.used);
	strings_free(&one);
	return ret;
}

static int ctc(struct tok_strings *to, const struct tok_step *s, struct tok_bytes text)
{
	struct tok_strings a = { 0 }, b = { 0 };
	uint32_t before = to->used;
	int ret = put_replaced(&a, text, (const char *)s->text.p, "");

	if (!ret && s->a) {
		ret = cleanup(&b, (struct tok_bytes){ a.s, a.used });
		if (!ret)
			ret = put_replaced(to, (struct tok_bytes){ b.s, b.used },
					   (const char *)s->text2.p, " ");
	} else if (!ret) {
		ret = strings_put(to, a.s, a.used);
	}
	strings_free(&a);
	strings_free(&b);
	return ret || to->used == before ? ret : strings_end(to);
}

static int step(struct tok_run *r, const struct tok_step *s, const struct tok_strings *from,
		struct tok_strings *to)
{
	uint32_t i;
	int ret = 0;

	if (s->kind == STEP_FALLBACK)
		return fallback(to, from);
	if (s->kind == STEP_UNBYTES)
		return unbytes(to, from);
	if (s->kind == STEP_FUSE) {
		ret = strings_put(to, from->s, from->used);
		return ret ? ret : strings_end(to);
	}
	for (i = 0; !ret && i < from->n; i++) {
		struct tok_bytes text = nth(from, i);

		switch (s->kind) {
		case STEP_UNSPACE:
			ret = unspace(to, s, text, !i);
			break;
		case STEP_UNWORDS:
			ret = unwords(to, s, text, !i);
			break;
		case STEP_UNREPLACE:
			ret = replace(r, to, s, text);
			break;
		case STEP_CUT:
			ret = cut_ends(to, s, text);
			break;
		case STEP_BPE_END:
			ret = put_replaced(to, text, (const char *)s->text.p, i + 1 == from->n ?
					   "" : " ");
			break;
		default:	/* CTC: what comes twice is one, and what is nothing goes */
			if (!i || text.n != nth(from, i - 1).n ||
			    memcmp(text.p, nth(from, i - 1).p, text.n))
				ret = ctc(to, s, text);
			continue;
		}
		if (!ret)
			ret = strings_end(to);
	}
	return ret;
}

/**
 * decode_ids - tokens to text
 * @r: run
 * @ids: tokens
 * @count: number of them
 * @flags: &enum accel_decode_flags
 * @out: out: its @s has @used bytes
 *
 * Return: 0; -E2BIG; -ENOMEM.
 */
int decode_ids(struct tok_run *r, const uint32_t *ids, size_t count, uint32_t flags,
	       struct tok_strings *out)
{
	const struct accel_tokenizer *t = r->t;
	struct tok_strings a = { 0 }, b = { 0 }, swap;
	struct tok_bytes text;
	size_t i;
	uint32_t k;
	int ret = 0;

	for (i = 0; !ret && i < count; i++) {
		if (!token_shown(t, ids[i], flags, &text))
			continue;
		if (t->no_decoder && a.n)
			ret = strings_put(&a, (const uint8_t *)" ", 1);
		if (!ret)
			ret = strings_put(&a, text.p, text.n);
		if (!ret)
			ret = strings_end(&a);
	}
	for (k = 0; !ret && k < t->decoders.n && a.n; k++) {
		b.used = b.n = 0;
		ret = step(r, &t->decoders.v[k], &a, &b);
		swap = a;
		a = b;
		b = swap;
	}
	strings_free(&b);
	if (ret)
		strings_free(&a);
	*out = a;
	return ret;
}

/**
 * token_inside - what a token stands for between others
 * @r: run of a tokenizer whose decoder is neither of WordPiece nor of CTC
 * @text: text of the token
 * @a: out: the bytes
 * @b: room, as @a is
 *
 * What steps do at the beginning of a text, or at its end, is left out.
 *
 * Return: 0; -E2BIG; -ENOMEM.
 */
int token_inside(struct tok_run *r, struct tok_bytes text, struct tok_strings *a,
		 struct tok_strings *b)
{
	const struct tok_steps *steps = &r->t->decoders;
	struct tok_strings swap;
	bool fused = false;
	uint8_t byte;
	uint32_t k;
	size_t n;
	int ret;

	a->used = 0;
	ret = strings_put(a, text.p, text.n);
	for (k = 0; !ret && k < steps->n; k++) {
		const struct tok_step *s = &steps->v[k];

		text = (struct tok_bytes){ a->s, a->used };
		b->used = 0;
		switch (s->kind) {
		case STEP_FALLBACK:
			if (byte_token(text) < 0)
				continue;
			byte = (uint8_t)byte_token(text);
			a->used = 0;
			return strings_put(a, &byte, 1);
		case STEP_UNBYTES:
			ret = strings_put(b, text.p, text.n);
			if (!ret && chars_to_bytes(text, b->s, &n))
				b->used = (uint32_t)n;
			else if (!ret)
				memcpy(b->s, text.p, text.n);
			break;
		case STEP_UNSPACE:
			ret = unspace(b, s, text, false);
			break;
		case STEP_UNREPLACE:
			ret = replace(r, b, s, text);
			break;
		case STEP_BPE_END:
			ret = put_replaced(b, text, (const char *)s->text.p, " ");
			break;
		default:
			fused |= s->kind == STEP_FUSE;
			/* Behind it there is one text, of which tokens within have no end. */
			if (fused)
				continue;
			ret = cut_ends(b, s, text);
		}
		swap = *a;
		*a = *b;
		*b = swap;
		if (a->used > TOK_MAX_WORD)
			ret = -E2BIG;
	}
	return ret;
}

int accel_tokenizer_decode(const struct accel_tokenizer *t, const uint32_t *ids, size_t count,
			   uint32_t flags,
			   char **text, size_t *bytes)
{
	struct tok_strings s = { 0 };
	struct tok_run *r;
	int ret;

	if (!t || (!ids && count) || !text || flags & ~(uint32_t)ACCEL_DECODE_SKIP_SPECIAL)
		return -EINVAL;
	r = run_get(t);
	ret = r ? decode_ids(r, ids, count, flags, &s) : -ENOMEM;
	if (r)
		run_put(r);
	if (!ret)
		ret = strings_put(&s, NULL, 0);
	if (ret)
		return ret;
	s.s[s.used] = 0;
	free(s.ends);
	*text = (char *)s.s;
	if (bytes)
		*bytes = s.used;
	return 0;
}
