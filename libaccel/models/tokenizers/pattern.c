// SPDX-License-Identifier: MIT
/*
 * Strings and regular expressions. Those of tokenizers are written for Oniguruma, with Ruby's
 * syntax:
 * where PCRE2 means something else by it, it is said in another way.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "unicode_tables.h"

#define MAX_REGEX	(16u << 10)
#define MAX_NESTED	32
/* What a match may cost, in steps of PCRE2's and KiB */
#define MATCH_LIMIT	10000000u
#define HEAP_LIMIT	(64u << 10)

/* Spaces of Unicode: PCRE2 has one more */
#define SPACES	"\\t-\\r\\x{85}\\p{Z}"
#define WORDS	"\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}"

/**
 * struct regex - one being translated
 * @in: what is left of it
 * @end: end of it
 * @out: translation
 * @n: bytes of it
 * @cap: room
 * @atom: where the last atom begins in @out
 * @has_atom: there is one
 * @depth: classes within classes
 * @err: 0, or the first error
 */
struct regex {
	const uint8_t *in, *end;
	char *out;
	size_t n, cap, atom;
	bool has_atom;
	int depth, err;
};

static void put(struct regex *x, const char *s, size_t n)
{
	if (x->err)
		return;
	if (x->n + n + 1 > x->cap) {
		size_t cap = (x->n + n + 1) * 2 + 256;
		char *more = cap > (4u << 20) ? NULL : realloc(x->out, cap);

		if (!more) {
			x->err = cap > (4u << 20) ? -E2BIG : -ENOMEM;
			return;
		}
		x->out = more;
		x->cap = cap;
	}
	memcpy(x->out + x->n, s, n);
	x->n += n;
	x->out[x->n] = 0;
}

static void puts_(struct regex *x, const char *s)
{
	put(x, s, strlen(s));
}

static void atom(struct regex *x, const char *s)
{
	x->atom = x->n;
	x->has_atom = true;
	puts_(x, s);
}

/* Characters of a class that are newer than PCRE2: @class "L" has those of "Lu", "Lm", ... */
static void put_newer(struct regex *x, const char *class)
{
	size_t i, n = strlen(class);
	char s[32];

	for (i = 0; i < ARRAY_SIZE(newer); i++) {
		bool digits = !strcmp(class, "Nd") && newer[i].class[0] == 'N' &&
			      newer[i].from != 0x1d2c0;

		if (!digits && strncmp(newer[i].class, class, n))
			continue;
		snprintf(s, sizeof(s), "\\x{%x}-\\x{%x}", newer[i].from, newer[i].to);
		puts_(x, s);
	}
}

/* A name is a script before it is what else characters of that script are used with. */
static bool is_script(const char *name)
{
	char s[64];
	PCRE2_SIZE at;
	pcre2_code *code;
	int err;

	snprintf(s, sizeof(s), "\\p{sc:%.40s}", name);
	code = pcre2_compile((PCRE2_SPTR)s, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &err,
			     &at, NULL);
	pcre2_code_free(code);
	return code;
}

/*
 * The name of a property, after \p or \P: "{L}" or "L", with ^ for what has it not.
 */
static bool property(struct regex *x, char name[48], bool *negated)
{
	size_t n = 0;

	if (x->in < x->end && *x->in != '{') {
		name[0] = (char)*x->in++;
		name[1] = 0;
		return true;
	}
	for (x->in++; x->in < x->end && *x->in != '}'; x->in++) {
		if (*x->in == '^' && !n)
			*negated = !*negated;
		else if (n < 40 && *x->in > ' ' && *x->in < 0x7f && *x->in != '{' && *x->in != '\\')
			name[n++] = (char)*x->in;
		else
			return false;
	}
	name[n] = 0;
	return x->in++ < x->end && n;
}

static void put_property(struct regex *x, const char *name)
{
	char s[64];

	if (!strcmp(name, "Alphabetic") || !strcmp(name, "Word")) {
		puts_(x, WORDS);
		put_newer(x, "L");
		put_newer(x, "M");
		return;
	}
	snprintf(s, sizeof(s), "\\p{%s%.40s}", strlen(name) > 2 && is_script(name) ? "sc:" : "",
		 name);
	puts_(x, s);
	put_newer(x, name);
}

/* What a class escape has: s, d, w, h, p. false: no such escape */
static bool put_set(struct regex *x, char kind, const char *name)
{
	switch (kind) {
	case 's':
		puts_(x, SPACES);
		return true;
	case 'd':
		puts_(x, "\\p{Nd}");
		put_newer(x, "Nd");
		return true;
	case 'w':
		puts_(x, WORDS);
		put_newer(x, "L");
		put_newer(x, "M");
		put_newer(x, "Nd");
		return true;
	case 'h':
		puts_(x, "0-9A-Fa-f");
		return true;
	case 'p':
		put_property(x, name);
		return true;
	}
	return false;
}

/* One character, as a number: \x{..}, \xHH, \uHHHH, after the letter */
static bool number(struct regex *x, char kind)
{
	char s[24];
	uint32_t c = 0, n, max = kind == 'u' ? 4 : 2;
	bool braces = kind == 'x' && x->in < x->end && *x->in == '{';

	if (braces) {
		x->in++;
		max = 6;
	}
	for (n = 0; n < max && x->in < x->end; n++, x->in++) {
		uint8_t d = *x->in;

		if (d >= '0' && d <= '9')
			c = c << 4 | (d - '0');
		else if ((d | 32) >= 'a' && (d | 32) <= 'f')
			c = c << 4 | ((d | 32) - 'a' + 10u);
		else
			break;
	}
	if (!n || c > 0x10ffff || (braces && (x->in == x->end || *x->in++ != '}')))
		return false;
	snprintf(s, sizeof(s), "\\x{%x}", c);
	puts_(x, s);
	return true;
}

static bool is_set(char k)
{
	return strchr("sSdDwWhHpP", k) && k;
}

/* An escape that is one character, in and out of classes; @k is the letter. */
static bool single(struct regex *x, uint8_t k)
{
	char s[3] = { '\\', (char)k, 0 };

	if (k == 'x' || k == 'u')
		return number(x, (char)k);
	if (k == 'v')
		puts_(x, "\\x0b");
	else
		puts_(x, k < 0x80 ? s : s + 1);
	return true;
}

/* Set @x->err unless it has one */
static void bad(struct regex *x)
{
	if (!x->err)
		x->err = -EOPNOTSUPP;
}

/**
 * class - "[...]" from behind the bracket on, as one atom
 * @x: regex
 *
 * Sets within sets, sets of what is not in one, and intersections become groups.
 */
static void class(struct regex *x)
{
	struct regex part = { .end = x->end, .depth = x->depth + 1 };	/* items of one set */
	struct regex more = { 0 };					/* sets beside it */
	struct regex all = { 0 };					/* operands of && before */
	bool negated = false, first = true, dash;
	char name[48];

	if (part.depth > MAX_NESTED) {
		bad(x);
		return;
	}
	part.in = x->in;
	if (part.in < part.end && *part.in == '^') {
		negated = true;
		part.in++;
	}
	for (; !part.err; first = false) {
		uint8_t c;

		if (part.in == part.end) {
			bad(&part);
			break;
		}
		c = *part.in++;
		if (c == ']' && !first)
			break;
		if (c == '\\' && part.in < part.end) {
			char k = (char)*part.in++;
			bool not = k >= 'A' && k <= 'Z';

			if (!is_set(k)) {
				if (k == 'b')
					puts_(&part, "\\x08");
				else if (!single(&part, (uint8_t)k))
					bad(&part);
				continue;
			}
			name[0] = 0;
			if ((k | 32) == 'p' && !property(&part, name, &not)) {
				bad(&part);
				break;
			}
			if (!not) {
				put_set(&part, (char)(k | 32), name);
			} else {
				puts_(&more, more.n ? "|[^" : "[^");
				put_set(&more, (char)(k | 32), name);
				puts_(&more, "]");
			}
		} else if (c == '[' && part.in < part.end && *part.in == ':') {
			const uint8_t *to = part.in;

			while (to < part.end && *to != ']')
				to++;
			if (to == part.end || to[-1] != ':') {
				bad(&part);
				break;
			}
			put(&part, (const char *)part.in - 1, (size_t)(to + 1 - part.in) + 1);
			part.in = to + 1;
		} else if (c == '[') {
			struct regex inner = { .in = part.in, .end = part.end, .depth =
					       part.depth };

			class(&inner);
			part.in = inner.in;
			if (inner.err)
				part.err = inner.err;
			puts_(&more, more.n ? "|" : "");
			put(&more, inner.out ? inner.out : "", inner.n);
			free(inner.out);
		} else if (c == '&' && part.in < part.end && *part.in == '&') {
			part.in++;
			puts_(&all, "(?=");
			if (part.n) {
				puts_(&all, "(?:[");
				put(&all, part.out, part.n);
				puts_(&all, more.n ? "]|" : "]");
				put(&all, more.n ? more.out : "", more.n);
				puts_(&all, ")");
			} else {
				puts_(&all, "(?:");
				put(&all, more.n ? more.out : "", more.n);
				puts_(&all, ")");
			}
			puts_(&all, ")");
			part.n = more.n = 0;
		} else {
			dash = c == ']' || c == '[' || c == '^';
			if (dash)
				puts_(&part, "\\");
			put(&part, (const char *)&c, 1);
		}
	}
	x->in = part.in;
	if (!part.n && !more.n)
		bad(&part);
	x->atom = x->n;
	x->has_atom = true;
	if (!more.n && !all.n) {
		puts_(x, negated ? "[^" : "[");
		put(x, part.n ? part.out : "", part.n);
		puts_(x, "]");
	} else {
		puts_(x, negated ? "(?:(?!" : "(?:");
		put(x, all.n ? all.out : "", all.n);
		puts_(x, "(?:");
		if (part.n) {
			puts_(x, "[");
			put(x, part.out, part.n);
			puts_(x, more.n ? "]|" : "]");
		}
		put(x, more.n ? more.out : "", more.n);
		puts_(x, negated ? "))(?s:.))" : "))");
	}
	if (!x->err)
		x->err = part.err ? part.err : more.err ? more.err : all.err;
	free(part.out);
	free(more.out);
	free(all.out);
}

/* An escape out of classes, behind the backslash */
static void escape(struct regex *x)
{
	char k, name[48] = "";
	bool not;

	if (x->in == x->end) {
		bad(x);
		return;
	}
	k = (char)*x->in++;
	x->atom = x->n;
	x->has_atom = true;
	if (is_set(k)) {
		not = k >= 'A' && k <= 'Z';
		if ((k | 32) == 'p' && !property(x, name, &not)) {
			bad(x);
			return;
		}
		puts_(x, not ? "[^" : "[");
		put_set(x, (char)(k | 32), name);
		/* Out of classes, words have six digits that are none elsewhere. */
		puts_(x, (k | 32) == 'w' ? "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}]" : "]");
	} else if (k == 'b' || k == 'B') {
		static const char *const sides[2][4] = {
			{ "(?:(?<!", ")(?=", ")|(?<=", ")(?!" },
				{ "(?:(?<!", ")(?!", ")|(?<=", ")(?=" }
		};
		int i;

		for (i = 0; i < 4; i++) {
			puts_(x, sides[k == 'B'][i]);
			puts_(x, "[");
			put_set(x, 'w', "");
			puts_(x, "]");
		}
		puts_(x, "))");
	} else if (!single(x, (uint8_t)k)) {
		bad(x);
	}
}

/* "{n,m}": true if it is one; *@low: what it begins with */
static bool braces(struct regex *x, const uint8_t **to)
{
	const uint8_t *p = x->in;
	uint32_t digits = 0;

	for (; p < x->end && (*p == ',' || (*p >= '0' && *p <= '9')); p++)
		digits += *p != ',';
	*to = p;
	return p < x->end && *p == '}' && digits && digits < 8;
}

/* A group's beginning, behind the bracket: the m of Ruby is the s of PCRE2 */
static void group(struct regex *x)
{
	puts_(x, "(");
	if (x->in == x->end || *x->in != '?')
		return;
	put(x, "?", 1);
	x->in++;
	while (x->in < x->end && strchr("imx-", *x->in)) {
		put(x, *x->in == 'm' ? "s" : (const char *)x->in, 1);
		x->in++;
	}
}

static void translate(struct regex *x)
{
	size_t starts[256];
	const uint8_t *to;
	uint32_t depth = 0;

	while (!x->err && x->in < x->end) {
		uint8_t c = *x->in++;

		switch (c) {
		case '\\':
			escape(x);
			break;
		case '[':
			class(x);
			break;
		case '(':
			if (depth == ARRAY_SIZE(starts)) {
				bad(x);
				break;
			}
			starts[depth++] = x->n;
			group(x);
			x->has_atom = false;
			break;
		case ')':
			if (depth)
				x->atom = starts[--depth];
			x->has_atom = true;
			puts_(x, ")");
			break;
		case '|':
			x->has_atom = false;
			puts_(x, "|");
			break;
		case '{':
			if (!x->has_atom || !braces(x, &to)) {
				atom(x, "\\{");
				break;
			}
			/* "{n,m}+" repeats the repetition; in PCRE2 it would not give back. */
			if (to + 1 < x->end && to[1] == '+') {
				puts_(x, "(?:");
				if (x->err)
					break;
				memmove(x->out + x->atom + 3, x->out + x->atom, x->n - 3 - x->atom);
				memcpy(x->out + x->atom, "(?:", 3);
			}
			puts_(x, *x->in == ',' ? "{0" : "{");
			put(x, (const char *)x->in, (size_t)(to - x->in) + 1);
			x->in = to + 1;
			if (x->in < x->end && *x->in == '+')
				puts_(x, ")");
			break;
		case '}':
			atom(x, "\\}");
			break;
		case '*':
		case '+':
		case '?':
			put(x, (const char *)&c, 1);
			break;
		default:
			if ((c & 0xc0) != 0x80) {
				x->atom = x->n;
				x->has_atom = true;
			}
			put(x, (const char *)&c, 1);
		}
	}
}

/**
 * pattern_make - a pattern from a file
 * @p: out
 * @text: string, or regular expression
 * @regex: which of them
 * @e: filled if it fails
 *
 * Return: 0; -EOPNOTSUPP an expression that is not understood; -E2BIG; -ENOMEM.
 */
int pattern_make(struct tok_pattern *p, struct tok_bytes text, bool regex, struct accel_error *e)
{
	struct regex x = { .in = text.p, .end = text.p + text.n };
	pcre2_compile_context *c;
	PCRE2_SIZE at;
	int err = 0;

	if (text.n > MAX_REGEX)
		return tok_fail(e, -E2BIG, "a pattern of %zu bytes", text.n);
	p->text = malloc(text.n + 1);
	if (!p->text)
		return tok_fail(e, -ENOMEM, "out of memory");
	if (text.n)
		memcpy(p->text, text.p, text.n);
	p->n = (uint32_t)text.n;
	if (!regex)
		return 0;
	puts_(&x, "");
	translate(&x);
	c = pcre2_compile_context_create(NULL);
	if (!x.err && !c)
		x.err = -ENOMEM;
	if (!x.err) {
		pcre2_set_newline(c, PCRE2_NEWLINE_LF);
		pcre2_set_parens_nest_limit(c, 100);
		p->code = pcre2_compile((PCRE2_SPTR)x.out, x.n, PCRE2_UTF | PCRE2_UCP |
					PCRE2_MULTILINE |
					PCRE2_NEVER_BACKSLASH_C, &err, &at, c);
		if (!p->code)
			x.err = -EOPNOTSUPP;
	}
	pcre2_compile_context_free(c);
	/* Without a compiler for this processor it is interpreted. */
	if (!x.err)
		pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE);
	free(x.out);
	if (x.err)
		return tok_fail(e, x.err, "the regular expression \"%.*s\" is not understood",
				(int)(text.n < 120 ? text.n : 120), (const char *)text.p);
	return 0;
}

void pattern_free(struct tok_pattern *p)
{
	free(p->text);
	pcre2_code_free(p->code);
}

static int find_string(struct tok_run *r, const struct tok_pattern *p, uint32_t start, uint32_t end)
{
	const uint8_t *at, *s = r->text.s;
	uint32_t from = start;
	int ret = 0;

	while (!ret && p->n && from < end) {
		at = memmem(s + from, end - from, p->text, p->n);
		if (!at)
			break;
		if (at > s + from)
			ret = run_match(r, from, (uint32_t)(at - s), false);
		from = (uint32_t)(at - s) + p->n;
		if (!ret)
			ret = run_match(r, from - p->n, from, true);
	}
	return ret || from == end ? ret : run_match(r, from, end, false);
}

static int match_once(struct tok_run *r, const struct tok_pattern *p, uint32_t start, uint32_t end,
		      uint32_t at)
{
	PCRE2_SPTR s = r->text.s + start;
	int n;

	if (!r->match) {
		r->match = pcre2_match_data_create(1, NULL);
		r->limits = pcre2_match_context_create(NULL);
		r->stack = pcre2_jit_stack_create(32 << 10, 1 << 20, NULL);
		if (!r->match || !r->limits || !r->stack)
			return -ENOMEM;
		pcre2_set_match_limit(r->limits, MATCH_LIMIT);
		pcre2_set_heap_limit(r->limits, HEAP_LIMIT);
		pcre2_jit_stack_assign(r->limits, NULL, r->stack);
	}
	n = pcre2_match(p->code, s, end - start, at - start, PCRE2_NO_UTF_CHECK, r->match,
			r->limits);
	if (n == PCRE2_ERROR_JIT_STACKLIMIT)
		n = pcre2_match(p->code, s, end - start, at - start, PCRE2_NO_UTF_CHECK |
				PCRE2_NO_JIT,
				r->match, r->limits);
	if (n == PCRE2_ERROR_NOMATCH)
		return 0;
	if (n < 0)
		return n == PCRE2_ERROR_NOMEMORY ? -ENOMEM : -E2BIG;
	return 1;
}

/**
 * pattern_find - where a pattern matches
 * @r: run
 * @p: pattern
 * @start: where the piece begins
 * @end: where it ends
 *
 * Return: 0; -E2BIG it takes too long; -ENOMEM.
 */
int pattern_find(struct tok_run *r, const struct tok_pattern *p, uint32_t start, uint32_t end)
{
	uint32_t from = start, at = start, last = UINT32_MAX, k;
	int ret = 0;

	r->match_n = 0;
	if (!p->code)
		return find_string(r, p, start, end);
	while (at <= end) {
		const PCRE2_SIZE *o;
		uint32_t a, b;

		ret = match_once(r, p, start, end, at);
		if (ret <= 0)
			break;
		o = pcre2_get_ovector_pointer(r->match);
		a = start + (uint32_t)o[0];
		b = start + (uint32_t)o[1];
		/*
		 * Nothing, right behind what matched, does not count; nor does what \K turned
		 * around.
		 */
		if (a >= b && (a > b || b == last || a < from)) {
			if (at >= end)
				break;
			utf8_get(r->text.s + at, &k);
			at += k;
			continue;
		}
		ret = 0;
		if (a > from)
			ret = run_match(r, from, a, false);
		if (!ret)
			ret = run_match(r, a, b, true);
		if (ret)
			return ret;
		from = at = last = b;
		/*
		 * A match that is empty is found once; the next begins where it ended, and is
		 * not.
		 */
	}
	if (ret < 0)
		return ret;
	return from < end ? run_match(r, from, end, false) : 0;
}
