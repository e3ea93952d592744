// SPDX-License-Identifier: MIT
/*
 * Templates to statements. Lines that have nothing but a statement leave nothing: the spaces
 * before it and the end of the line behind it are no part of the text.
 */
#include <errno.h>
#include <string.h>

#include "templates.h"

#define MAX_KIDS	65536u

void parse_bad(struct parser *p, const char *what)
{
	size_t line = 1;
	const char *at;

	for (at = p->begin; at < p->p && at < p->end; at++)
		line += *at == '\n';
	tpl_fail(p->mem, -EBADMSG, "line %zu: %s", line, what);
}

struct node *node_new(struct parser *p, enum node_type type, uint32_t room)
{
	struct node *n = tpl_alloc(p->mem, sizeof(*n));

	n->type = type;
	n->kids = room ? tpl_alloc(p->mem, room * sizeof(*n->kids)) : NULL;
	n->n = room;
	return n;
}

void node_add(struct parser *p, struct node *n, struct node *kid)
{
	/* Room doubles where the count is a power of two. */
	if (!(n->n & (n->n - 1))) {
		struct node **more = tpl_alloc(p->mem,
					       (n->n ? 2 * (size_t)n->n : 1) * sizeof(*more));

		if (n->n > MAX_KIDS)
			tpl_fail(p->mem, -E2BIG, "too many parts");
		if (n->n)
			memcpy(more, n->kids, n->n * sizeof(*more));
		n->kids = more;
	}
	n->kids[n->n++] = kid;
}

void skip_space(struct parser *p)
{
	while (p->p < p->end && strchr(" \t\r\n", *p->p) && *p->p)
		p->p++;
}

bool take(struct parser *p, const char *sign)
{
	size_t n = strlen(sign);

	skip_space(p);
	if ((size_t)(p->end - p->p) < n || memcmp(p->p, sign, n))
		return false;
	p->p += n;
	return true;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

struct str take_name(struct parser *p)
{
	const char *from;

	skip_space(p);
	from = p->p;
	if (from == p->end || !is_letter(*from))
		return (struct str){ NULL, 0 };
	while (p->p < p->end && (is_letter(*p->p) || (*p->p >= '0' && *p->p <= '9')))
		p->p++;
	return (struct str){ from, (size_t)(p->p - from) };
}

bool take_word(struct parser *p, const char *word)
{
	const char *at;

	skip_space(p);
	at = p->p;
	if (str_is(take_name(p), word))
		return true;
	p->p = at;
	return false;
}

static void enter(struct parser *p)
{
	if (++p->depth > TPL_MAX_DEPTH)
		tpl_fail(p->mem, -E2BIG, "parts within parts without end");
}

/* "%}" or "}}", and what it does to the text behind it */
static void close_tag(struct parser *p, char kind)
{
	skip_space(p);
	p->trim = p->p < p->end && *p->p == '-';
	p->after_block = kind == '%';
	if (p->p < p->end && (*p->p == '-' || *p->p == '+')) {
		p->after_block &= *p->p != '+';
		p->p++;
	}
	if (p->end - p->p < 2 || p->p[0] != kind || p->p[1] != '}')
		parse_bad(p, "a tag that does not end here");
	p->p += 2;
}

/* Text up to the next tag */
static struct node *text(struct parser *p)
{
	const char *from = p->p, *to = from, *line;
	struct node *n;
	char kind;

	while (to < p->end && !(to[0] == '{' && to + 1 < p->end && strchr("{%#", to[1]) && to[1]))
		to++;
	p->p = to;
	kind = to < p->end ? to[1] : 0;
	if (p->trim)
		while (from < to && strchr(" \t\r\n", *from) && *from)
			from++;
	else if (p->after_block && from < to && *from == '\n')
		from++;
	if (kind && to + 2 < p->end && to[2] == '-') {
		while (from < to && strchr(" \t\r\n", to[-1]) && to[-1])
			to--;
	} else if (kind && kind != '{' && !(to + 2 < p->end && to[2] == '+')) {
		for (line = to; line > from && (line[-1] == ' ' || line[-1] == '\t'); )
			line--;
		/* The text before may have been taken: then this is no line's beginning. */
		if ((line > from && line[-1] == '\n') || line == p->begin ||
		    (line == from && line[-1] == '\n'))
			to = line;
	}
	p->trim = p->after_block = false;
	n = node_new(p, NODE_TEXT, 0);
	n->s = (struct str){ from, (size_t)(to - from) };
	return n;
}

static void comment(struct parser *p)
{
	while (p->end - p->p >= 2 && (p->p[0] != '#' || p->p[1] != '}'))
		p->p++;
	if (p->end - p->p < 2)
		parse_bad(p, "a comment without end");
	p->trim = p->p[-1] == '-';
	p->after_block = true;
	p->p += 2;
}

static struct node *statements(struct parser *p, const char *const *ends, struct str *end);

/* What comes after its name, up to one of @ends, whose tag is still open */
static struct node *body(struct parser *p, const char *const *ends, struct str *end)
{
	close_tag(p, '%');
	return statements(p, ends, end);
}

static struct node *parse_if(struct parser *p)
{
	static const char *const ends[] = { "elif", "else", "endif", NULL };
	static const char *const last[] = { "endif", NULL };
	struct node *n = node_new(p, NODE_IF, 3);
	struct str end;

	enter(p);
	n->kids[0] = parse_expression(p);
	n->kids[1] = body(p, ends, &end);
	if (str_is(end, "elif"))
		n->kids[2] = parse_if(p);
	else if (str_is(end, "else"))
		n->kids[2] = body(p, last, &end);
	p->depth--;
	return n;
}

static struct node *parse_for(struct parser *p)
{
	static const char *const ends[] = { "else", "endfor", NULL };
	static const char *const last[] = { "endfor", NULL };
	struct node *n = node_new(p, NODE_FOR, 4), *target;
	struct str end;
	bool round = take(p, "(");

	do {
		target = node_new(p, NODE_NAME, 0);
		target->s = take_name(p);
		if (!target->s.p)
			parse_bad(p, "a loop without a name");
		node_add(p, n, target);
	} while (take(p, ","));
	if ((round && !take(p, ")")) || !take_word(p, "in"))
		parse_bad(p, "a loop over nothing");
	/* "if" belongs to the loop, so that no expression may take it. */
	p->block = true;
	n->kids[0] = parse_tuple(p);
	p->block = false;
	if (take_word(p, "if"))
		n->kids[1] = parse_expression(p);
	n->flag = take_word(p, "recursive");
	if (n->flag)
		parse_bad(p, "loops that call themselves are not known");
	n->kids[2] = body(p, ends, &end);
	if (str_is(end, "else"))
		n->kids[3] = body(p, last, &end);
	return n;
}

static struct node *parse_set(struct parser *p)
{
	static const char *const last[] = { "endset", NULL };
	struct node *n = node_new(p, NODE_SET, 2), *target = NULL, *more;
	struct str end;

	do {
		struct node *one = node_new(p, NODE_NAME, 0);

		one->s = take_name(p);
		if (!one->s.p)
			parse_bad(p, "nothing is set");
		if (take(p, ".")) {
			more = node_new(p, NODE_MEMBER, 1);
			more->kids[0] = one;
			more->s = take_name(p);
			one = more;
		}
		if (!target) {
			target = one;
		} else if (target->type != NODE_LIST) {
			more = node_new(p, NODE_LIST, 0);
			node_add(p, more, target);
			node_add(p, more, one);
			target = more;
		} else {
			node_add(p, target, one);
		}
	} while (take(p, ","));
	n->kids[0] = target;
	if (take(p, "=")) {
		n->kids[1] = parse_tuple(p);
		return n;
	}
	n->type = NODE_SET_BLOCK;
	more = node_new(p, NODE_NAME, 0);
	/* Filters of what is written between */
	more = parse_filters(p, more);
	n->kids[1] = body(p, last, &end);
	node_add(p, n, more);
	return n;
}

static void parse_parameters(struct parser *p, struct node *n)
{
	while (!take(p, ")")) {
		struct node *param = node_new(p, NODE_KEYWORD, 1);

		param->s = take_name(p);
		if (!param->s.p)
			parse_bad(p, "a parameter without a name");
		if (take(p, "="))
			param->kids[0] = parse_expression(p);
		node_add(p, n, param);
		if (!take(p, ",") && (p->p == p->end || *p->p != ')'))
			parse_bad(p, "parameters that do not end");
	}
}

static struct node *parse_macro(struct parser *p)
{
	static const char *const last[] = { "endmacro", NULL };
	struct node *n = node_new(p, NODE_MACRO, 1);
	struct str end;

	n->s = take_name(p);
	if (!n->s.p || !take(p, "("))
		parse_bad(p, "a macro without a name");
	parse_parameters(p, n);
	n->kids[0] = body(p, last, &end);
	return n;
}

static struct node *parse_call(struct parser *p)
{
	static const char *const last[] = { "endcall", NULL };
	struct node *n = node_new(p, NODE_CALL_BLOCK, 2);
	struct str end;

	if (take(p, "("))
		parse_parameters(p, n);
	n->kids[0] = parse_expression(p);
	if (n->kids[0]->type != NODE_CALL)
		parse_bad(p, "nothing is called");
	n->kids[1] = body(p, last, &end);
	return n;
}

static struct node *parse_filter_block(struct parser *p)
{
	static const char *const last[] = { "endfilter", NULL };
	struct node *n = node_new(p, NODE_FILTER_BLOCK, 2), *f = node_new(p, NODE_FILTER, 1);
	struct str end;

	f->s = take_name(p);
	if (!f->s.p)
		parse_bad(p, "a filter without a name");
	f->kids[0] = node_new(p, NODE_NAME, 0);
	if (take(p, "("))
		parse_arguments(p, f);
	n->kids[0] = parse_filters(p, f);
	n->kids[1] = body(p, last, &end);
	return n;
}

static struct node *statement(struct parser *p, struct str name)
{
	static const char *const generated[] = { "endgeneration", NULL };
	struct node *n;
	struct str end;

	if (str_is(name, "if"))
		n = parse_if(p);
	else if (str_is(name, "for"))
		n = parse_for(p);
	else if (str_is(name, "set"))
		n = parse_set(p);
	else if (str_is(name, "macro"))
		n = parse_macro(p);
	else if (str_is(name, "call"))
		n = parse_call(p);
	else if (str_is(name, "filter"))
		n = parse_filter_block(p);
	else if (str_is(name, "generation"))
		n = body(p, generated, &end);
	else if (str_is(name, "break"))
		n = node_new(p, NODE_BREAK, 0);
	else if (str_is(name, "continue"))
		n = node_new(p, NODE_CONTINUE, 0);
	else
		parse_bad(p, "a statement that is not known");
	close_tag(p, '%');
	return n;
}

static struct node *statements(struct parser *p, const char *const *ends, struct str *end)
{
	struct node *list = node_new(p, NODE_BODY, 0), *n;
	const char *const *e;
	struct str name;
	char kind;

	enter(p);
	while (p->p < p->end) {
		n = text(p);
		if (n->s.n)
			node_add(p, list, n);
		if (p->p == p->end)
			break;
		kind = p->p[1];
		p->p += 2;
		if (kind == '#') {
			comment(p);
			continue;
		}
		if (p->p < p->end && (*p->p == '-' || *p->p == '+'))
			p->p++;
		if (kind == '{') {
			n = node_new(p, NODE_OUT, 1);
			n->kids[0] = parse_tuple(p);
			node_add(p, list, n);
			close_tag(p, '}');
			continue;
		}
		name = take_name(p);
		for (e = ends; e && *e; e++)
			if (str_is(name, *e))
				break;
		if (e && *e) {
			*end = name;
			p->depth--;
			return list;
		}
		node_add(p, list, statement(p, name));
	}
	if (ends)
		parse_bad(p, "a statement without its end");
	p->depth--;
	return list;
}

struct node *tpl_parse(struct tpl_mem *m, struct str s)
{
	struct parser p = { .mem = m, .p = s.p, .begin = s.p, .end = s.p + s.n };

	/* The end of the last line is not the text's. */
	if (s.n && s.p[s.n - 1] == '\n')
		p.end--;
	return statements(&p, NULL, NULL);
}
