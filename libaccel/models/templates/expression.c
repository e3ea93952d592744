// SPDX-License-Identifier: MIT
/*
 * Expressions, from what binds least to what binds most.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "templates.h"

static struct node *two(struct parser *p, enum node_type type, enum op op, struct node *a,
			struct node *b)
{
	struct node *n = node_new(p, type, 2);

	n->op = op;
	n->kids[0] = a;
	n->kids[1] = b;
	return n;
}

static struct node *constant(struct parser *p, struct val v)
{
	struct node *n = node_new(p, NODE_CONST, 0);

	n->val = v;
	return n;
}

static struct str string(struct parser *p)
{
	const char quote = *p->p++, *from = p->p;
	char *s, *to;

	while (p->p < p->end && *p->p != quote)
		p->p += *p->p == '\\' && p->p + 1 < p->end ? 2 : 1;
	if (p->p >= p->end)
		parse_bad(p, "a string without end");
	s = to = tpl_alloc(p->mem, (size_t)(p->p - from) + 1);
	for (; from < p->p; from++) {
		if (*from != '\\') {
			*to++ = *from;
			continue;
		}
		from++;
		switch (*from) {
		case 'n':
			*to++ = '\n';
			break;
		case 't':
			*to++ = '\t';
			break;
		case 'r':
			*to++ = '\r';
			break;
		case 'b':
			*to++ = '\b';
			break;
		case 'f':
			*to++ = '\f';
			break;
		case '\\':
		case '\'':
		case '"':
			*to++ = *from;
			break;
		default:
			*to++ = '\\';
			*to++ = *from;
		}
	}
	p->p++;
	return (struct str){ s, (size_t)(to - s) };
}

static struct node *number(struct parser *p)
{
	char digits[64];
	size_t n = 0;
	bool whole = true;

	while (p->p < p->end && n < sizeof(digits) - 1) {
		char c = *p->p;

		if (c == '.' && whole && p->p + 1 < p->end && p->p[1] >= '0' && p->p[1] <= '9')
			whole = false;
		else if ((c < '0' || c > '9') && c != '_')
			break;
		if (c != '_')
			digits[n++] = c;
		p->p++;
	}
	digits[n] = 0;
	if (!whole)
		return constant(p, (struct val){ .type = VAL_FLOAT, .d = strtod(digits, NULL) });
	if (n > 18)
		parse_bad(p, "a number that is too large");
	return constant(p, val_int(strtoll(digits, NULL, 10)));
}

/* "a, b" behind a bracket, up to @end */
static struct node *items(struct parser *p, const char *end, bool *comma)
{
	struct node *list = node_new(p, NODE_LIST, 0);

	*comma = false;
	while (!take(p, end)) {
		node_add(p, list, parse_expression(p));
		if (take(p, ","))
			*comma = true;
		else if (!take(p, end))
			parse_bad(p, "a list that does not end");
		else
			break;
	}
	return list;
}

static struct node *dictionary(struct parser *p)
{
	struct node *n = node_new(p, NODE_DICT, 0);

	while (!take(p, "}")) {
		node_add(p, n, parse_expression(p));
		if (!take(p, ":"))
			parse_bad(p, "a key without a value");
		node_add(p, n, parse_expression(p));
		if (!take(p, ",")) {
			if (!take(p, "}"))
				parse_bad(p, "a dictionary that does not end");
			break;
		}
	}
	return n;
}

static struct node *primary(struct parser *p)
{
	struct node *n;
	struct str s;
	bool comma, no_if = p->block;

	skip_space(p);
	if (p->p == p->end)
		parse_bad(p, "an expression without end");
	if (*p->p == '"' || *p->p == '\'') {
		s = string(p);
		/* Strings beside each other are one. */
		for (skip_space(p); p->p < p->end && (*p->p == '"' || *p->p == '\''); skip_space(p))
			s = str_join(p->mem, s, string(p));
		return constant(p, val_str(s.p, s.n));
	}
	if (*p->p >= '0' && *p->p <= '9')
		return number(p);
	p->block = false;
	if (take(p, "(")) {
		n = items(p, ")", &comma);
		if (n->n == 1 && !comma)
			n = n->kids[0];
		else
			n->flag = true;
	} else if (take(p, "[")) {
		n = items(p, "]", &comma);
	} else if (take(p, "{")) {
		n = dictionary(p);
	} else {
		n = node_new(p, NODE_NAME, 0);
		n->s = take_name(p);
		if (!n->s.p)
			parse_bad(p, "no expression");
		if (str_is(n->s, "true") || str_is(n->s, "True"))
			n = constant(p, val_bool(true));
		else if (str_is(n->s, "false") || str_is(n->s, "False"))
			n = constant(p, val_bool(false));
		else if (str_is(n->s, "none") || str_is(n->s, "None"))
			n = constant(p, (struct val){ .type = VAL_NONE });
	}
	p->block = no_if;
	return n;
}

/* "a, b=c, *d)" */
void parse_arguments(struct parser *p, struct node *call)
{
	bool no_if = p->block;

	p->block = false;
	while (!take(p, ")")) {
		const char *at;
		struct node *n;
		struct str name;

		skip_space(p);
		at = p->p;
		name = take_name(p);
		skip_space(p);
		if (take(p, "*")) {
			n = node_new(p, NODE_SPREAD, 1);
			n->kids[0] = parse_expression(p);
		} else if (name.p && p->p + 1 < p->end && p->p[0] == '=' && p->p[1] != '=') {
			p->p++;
			n = node_new(p, NODE_KEYWORD, 1);
			n->s = name;
			n->kids[0] = parse_expression(p);
		} else {
			p->p = at;
			n = parse_expression(p);
		}
		node_add(p, call, n);
		if (!take(p, ",") && (p->p == p->end || *p->p != ')'))
			parse_bad(p, "arguments that do not end");
	}
	p->block = no_if;
}

static struct node *subscript(struct parser *p, struct node *of)
{
	struct node *n = node_new(p, NODE_SLICE, 4);
	bool no_if = p->block;
	uint32_t i;

	p->block = false;
	n->kids[0] = of;
	for (i = 1; i < 4; i++) {
		skip_space(p);
		if (p->p < p->end && *p->p != ':' && *p->p != ']')
			n->kids[i] = parse_expression(p);
		if (!take(p, ":"))
			break;
		n->flag = true;
	}
	if (!take(p, "]"))
		parse_bad(p, "an index that does not end");
	p->block = no_if;
	if (n->flag)
		return n;
	if (!n->kids[1])
		parse_bad(p, "an index that is nothing");
	return two(p, NODE_INDEX, OP_ADD, of, n->kids[1]);
}

static struct node *postfix(struct parser *p, struct node *n)
{
	struct node *more;
	uint32_t links = 0;

	for (;; n = more) {
		if (++links > TPL_MAX_DEPTH)
			tpl_fail(p->mem, -E2BIG, "parts within parts without end");
		skip_space(p);
		if (p->p < p->end && *p->p == '.') {
			p->p++;
			more = node_new(p, NODE_MEMBER, 1);
			more->kids[0] = n;
			more->s = take_name(p);
			if (!more->s.p && p->p < p->end && *p->p >= '0' && *p->p <= '9')
				more = two(p, NODE_INDEX, OP_ADD, n, number(p));
			else if (!more->s.p)
				parse_bad(p, "a member without a name");
		} else if (take(p, "[")) {
			more = subscript(p, n);
		} else if (take(p, "(")) {
			more = node_new(p, NODE_CALL, 0);
			node_add(p, more, n);
			parse_arguments(p, more);
		} else {
			return n;
		}
	}
}

/* "| filter" and "is test", as often as they come */
struct node *parse_filters(struct parser *p, struct node *n)
{
	struct node *more;
	uint32_t links = 0;

	for (;; n = more) {
		if (++links > TPL_MAX_DEPTH)
			tpl_fail(p->mem, -E2BIG, "parts within parts without end");
		if (take(p, "|")) {
			more = node_new(p, NODE_FILTER, 0);
			node_add(p, more, n);
			more->s = take_name(p);
			if (!more->s.p)
				parse_bad(p, "a filter without a name");
			if (take(p, "("))
				parse_arguments(p, more);
			continue;
		}
		if (!take_word(p, "is"))
			return n;
		more = node_new(p, NODE_TEST, 0);
		node_add(p, more, n);
		more->flag = take_word(p, "not");
		skip_space(p);
		more->s = take_name(p);
		if (!more->s.p)
			parse_bad(p, "a test without a name");
		if (take(p, "(")) {
			parse_arguments(p, more);
		} else if (p->p < p->end) {
			/* One argument needs no brackets. */
			skip_space(p);
			if (p->p < p->end && (strchr("\"'[{", *p->p) ||
					      (*p->p >= '0' && *p->p <= '9')) &&
			    *p->p)
				node_add(p, more, postfix(p, primary(p)));
		}
	}
}

static struct node *unary(struct parser *p, bool filters)
{
	struct node *n;
	bool minus;

	if (++p->depth > TPL_MAX_DEPTH)
		tpl_fail(p->mem, -E2BIG, "parts within parts without end");
	skip_space(p);
	/* "-%}" and "-}}" end a tag. */
	minus = p->end - p->p > 1 && *p->p == '-' && p->p[1] != '%' && p->p[1] != '}';
	if (minus || (p->p < p->end && *p->p == '+')) {
		p->p++;
		n = node_new(p, NODE_UNARY, 1);
		n->flag = minus;
		n->kids[0] = unary(p, false);
	} else {
		n = postfix(p, primary(p));
		if (take(p, "**"))
			n = two(p, NODE_BINARY, OP_POW, n, unary(p, false));
	}
	p->depth--;
	return filters ? parse_filters(p, n) : n;
}

struct sign {
	const char *text;
	enum op op;
};

static bool take_sign(struct parser *p, const struct sign *signs, uint32_t n, enum op *op)
{
	uint32_t i;

	skip_space(p);
	for (i = 0; i < n; i++) {
		size_t k = strlen(signs[i].text);

		if ((size_t)(p->end - p->p) <= k || memcmp(p->p, signs[i].text, k))
			continue;
		/* Signs that belong to tags */
		if (strchr("-%+", *p->p) && (p->p[1] == '}' || (*p->p == '-' && p->p[1] == '%')))
			return false;
		p->p += k;
		*op = signs[i].op;
		return true;
	}
	return false;
}

static struct node *level(struct parser *p, int n)
{
	static const struct sign signs[3][4] = {
		{ { "+", OP_ADD }, { "-", OP_SUB } },
		{ { "~", OP_CAT } },
		{ { "//", OP_FLOOR }, { "*", OP_MUL }, { "/", OP_DIV }, { "%", OP_MOD } },
	};
	static const uint32_t counts[] = { 2, 1, 4 };
	struct node *a;
	uint32_t links = 0;
	enum op op;

	if (n == 3)
		return unary(p, true);
	a = level(p, n + 1);
	while (take_sign(p, signs[n], counts[n], &op)) {
		if (++links > TPL_MAX_DEPTH)
			tpl_fail(p->mem, -E2BIG, "parts within parts without end");
		a = two(p, NODE_BINARY, op, a, level(p, n + 1));
	}
	return a;
}

static struct node *comparison(struct parser *p)
{
	static const struct sign signs[] = {
		{ "==", OP_EQ }, { "!=", OP_NE }, { "<=", OP_LE }, { ">=", OP_GE }, { "<", OP_LT },
		{ ">", OP_GT },
	};
	struct node *a = level(p, 0), *b, *all = NULL, *one;
	uint32_t links = 0;
	const char *at;
	enum op op;

	for (;;) {
		skip_space(p);
		at = p->p;
		if (take_word(p, "in")) {
			op = OP_IN;
		} else if (take_word(p, "not")) {
			if (!take_word(p, "in")) {
				p->p = at;
				return all ? all : a;
			}
			op = OP_NOT_IN;
		} else if (!take_sign(p, signs, sizeof(signs) / sizeof(signs[0]), &op)) {
			return all ? all : a;
		}
		if (++links > TPL_MAX_DEPTH)
			tpl_fail(p->mem, -E2BIG, "parts within parts without end");
		b = level(p, 0);
		one = two(p, NODE_BINARY, op, a, b);
		/* a < b < c: both */
		all = all ? two(p, NODE_AND, OP_ADD, all, one) : one;
		a = b;
	}
}

static struct node *negation(struct parser *p)
{
	struct node *n;

	if (!take_word(p, "not"))
		return comparison(p);
	if (++p->depth > TPL_MAX_DEPTH)
		tpl_fail(p->mem, -E2BIG, "parts within parts without end");
	n = node_new(p, NODE_NOT, 1);
	n->kids[0] = negation(p);
	p->depth--;
	return n;
}

static struct node *logic(struct parser *p, bool or)
{
	struct node *a = or ? logic(p, false) : negation(p);
	uint32_t links = 0;

	while (take_word(p, or ? "or" : "and")) {
		if (++links > TPL_MAX_DEPTH)
			tpl_fail(p->mem, -E2BIG, "parts within parts without end");
		a = two(p, or ? NODE_OR : NODE_AND, OP_ADD, a, or ? logic(p, false) : negation(p));
	}
	return a;
}

struct node *parse_expression(struct parser *p)
{
	struct node *n, *a;

	if (++p->depth > TPL_MAX_DEPTH)
		tpl_fail(p->mem, -E2BIG, "parts within parts without end");
	a = logic(p, true);
	if (!p->block && take_word(p, "if")) {
		n = node_new(p, NODE_IF_ELSE, 3);
		n->kids[0] = logic(p, true);
		n->kids[1] = a;
		if (take_word(p, "else"))
			n->kids[2] = parse_expression(p);
		a = n;
	}
	p->depth--;
	return a;
}

/* "a" or "a, b" */
struct node *parse_tuple(struct parser *p)
{
	struct node *a = parse_expression(p), *list;

	skip_space(p);
	if (p->p == p->end || *p->p != ',')
		return a;
	list = node_new(p, NODE_LIST, 0);
	list->flag = true;
	node_add(p, list, a);
	while (take(p, ",")) {
		skip_space(p);
		if (p->p < p->end && strchr("%}-=", *p->p) && *p->p)
			break;
		node_add(p, list, parse_expression(p));
	}
	return list;
}
