// SPDX-License-Identifier: MIT
/*
 * Filters and tests.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "templates.h"

static const char spaces[] = " \t\n\r\v\f";

/* What a loop goes over: the items of a list, the keys of a dictionary, characters */
struct val list_of(struct tpl_run *r, const struct val *v)
{
	struct val l;
	size_t i, n;

	if (v->type == VAL_LIST)
		return *v;
	l = val_list(&r->mem, 0);
	if (v->type == VAL_DICT) {
		step(r, v->dict->n);
		for (i = 0; i < v->dict->n; i++)
			list_add(&r->mem, l.list,
				 val_str(v->dict->v[i].key.p, v->dict->v[i].key.n));
	} else if (v->type == VAL_STR) {
		step(r, v->s.n);
		for (i = 0; i < v->s.n; i += n) {
			for (n = 1; i + n < v->s.n && (v->s.p[i + n] & 0xc0) == 0x80; )
				n++;
			list_add(&r->mem, l.list, val_str(v->s.p + i, n));
		}
	} else if (v->type != VAL_UNDEFINED) {
		tpl_fail(&r->mem, -EPROTO, "a list is needed");
	}
	return l;
}

/* "a.b" of an item */
static struct val path(struct tpl_run *r, struct val v, struct str name)
{
	const char *dot;

	for (;;) {
		dot = name.n ? memchr(name.p, '.', name.n) : NULL;
		v = member(r, &v, (struct str){ name.p, dot ? (size_t)(dot - name.p) : name.n });
		if (!dot || v.type == VAL_UNDEFINED)
			return v;
		name.n -= (size_t)(dot - name.p) + 1;
		name.p = dot + 1;
	}
}

static struct call_args behind(const struct call_args *a, size_t n)
{
	return (struct call_args){ a->v + (n < a->n ? n : a->n), n < a->n ? a->n - n : 0,
				   a->named };
}

/* select, reject, selectattr, rejectattr */
static struct val chosen(struct tpl_run *r, struct val of, const struct call_args *a, bool attr,
			 bool want)
{
	struct val all = list_of(r, &of), out = val_list(&r->mem, 0), v, name;
	struct call_args rest = behind(a, attr ? 2 : 1);
	size_t i;

	name = argument(r, a, attr ? 1 : 0, NULL);
	if (attr && argument(r, a, 0, NULL).type != VAL_STR)
		tpl_fail(&r->mem, -EPROTO, "an attribute is needed");
	for (i = 0; i < all.list->n; i++) {
		step(r, 1);
		v = attr ? path(r, all.list->v[i], argument(r, a, 0, NULL).s) : all.list->v[i];
		if ((name.type == VAL_STR ? test(r, name.s, v, &rest) : val_true(&v)) == want)
			list_add(&r->mem, out.list, all.list->v[i]);
	}
	return out;
}

static struct val mapped(struct tpl_run *r, struct val of, const struct call_args *a)
{
	struct val all = list_of(r, &of), out = val_list(&r->mem, 0), v, otherwise;
	struct val attr = argument(r, a, SIZE_MAX, "attribute"), name = argument(r, a, 0, NULL);
	struct call_args rest = behind(a, 1);
	size_t i;

	otherwise = argument(r, a, SIZE_MAX, "default");
	if (attr.type != VAL_STR && name.type != VAL_STR)
		tpl_fail(&r->mem, -EPROTO, "a filter is needed");
	for (i = 0; i < all.list->n; i++) {
		step(r, 1);
		v = attr.type == VAL_STR ? path(r, all.list->v[i], attr.s) :
					   filter(r, name.s, all.list->v[i], &rest);
		list_add(&r->mem, out.list, v.type == VAL_UNDEFINED ? otherwise : v);
	}
	return out;
}

static struct val join(struct tpl_run *r, struct val of, const struct call_args *a)
{
	struct val all = list_of(r, &of), by = argument(r, a, 0, "d");
	struct val attr = argument(r, a, 1, "attribute"), v;
	struct writer w = { .mem = &r->mem };
	struct str s;
	size_t i;

	for (i = 0; i < all.list->n; i++) {
		step(r, 1);
		if (i && by.type == VAL_STR)
			write_to(&w, by.s.p, by.s.n);
		v = attr.type == VAL_STR ? path(r, all.list->v[i], attr.s) : all.list->v[i];
		s = val_text(r, &v);
		write_to(&w, s.p, s.n);
	}
	return val_str(w.p ? w.p : "", w.n);
}

static struct val indent(struct tpl_run *r, struct str s, const struct call_args *a)
{
	struct val width = argument(r, a, 0, "width"), first = argument(r, a, 1, "first");
	struct val blank = argument(r, a, 2, "blank");
	int64_t n = width.type == VAL_INT ? width.i : 4, k;
	struct writer w = { .mem = &r->mem };
	bool begin = val_true(&first);
	size_t i;

	if (n > 64)
		tpl_fail(&r->mem, -E2BIG, "lines that are indented too far");
	step(r, s.n / 4);
	for (i = 0; i < s.n; i++) {
		for (k = 0; begin && k < n && (s.p[i] != '\n' || val_true(&blank)); k++)
			write_to(&w, " ", 1);
		write_to(&w, s.p + i, 1);
		begin = s.p[i] == '\n';
	}
	return val_str(w.p ? w.p : "", w.n);
}

/* Stable, by merging */
static void sort(struct tpl_run *r, struct val *v, struct val *keys, size_t n, bool down,
		 struct val *spare)
{
	size_t half = n / 2, i = 0, j = half, k = 0;

	if (n < 2)
		return;
	sort(r, v, keys, half, down, spare);
	sort(r, v + half, keys + half, n - half, down, spare);
	for (; k < n; k++) {
		bool left = j == n;

		if (i < half && j < n) {
			int d = val_compare(r, &keys[i], &keys[j]);

			left = down ? d >= 0 : d <= 0;
		}
		spare[2 * k] = left ? v[i] : v[j];
		spare[2 * k + 1] = left ? keys[i] : keys[j];
		if (left)
			i++;
		else
			j++;
	}
	for (k = 0; k < n; k++) {
		v[k] = spare[2 * k];
		keys[k] = spare[2 * k + 1];
	}
}

static struct val sorted(struct tpl_run *r, struct val of, const struct call_args *a, bool items)
{
	struct val all = list_of(r, &of), down = argument(r, a, items ? 2 : 0, "reverse");
	struct val attr = argument(r, a, 2, "attribute"), cased_ =
			  argument(r, a, 1, "case_sensitive");
	struct val out = val_list(&r->mem, all.list->n), *keys, *spare;
	size_t i, n = all.list->n;

	keys = tpl_alloc(&r->mem, (n + 1) * sizeof(*keys));
	spare = tpl_alloc(&r->mem, 2 * (n + 1) * sizeof(*spare));
	for (i = 0; i < n; i++) {
		list_add(&r->mem, out.list, all.list->v[i]);
		keys[i] = all.list->v[i];
		if (items)
			keys[i] = keys[i].list->v[0];
		else if (attr.type == VAL_STR)
			keys[i] = path(r, keys[i], attr.s);
		if (keys[i].type == VAL_STR && !val_true(&cased_))
			keys[i] = cased(r, keys[i].s, 'l');
	}
	sort(r, out.list->v, keys, n, val_true(&down), spare);
	return out;
}

static struct val unique(struct tpl_run *r, struct val of)
{
	struct val all = list_of(r, &of), out = val_list(&r->mem, 0);
	size_t i, j;

	for (i = 0; i < all.list->n; i++) {
		for (j = 0; j < out.list->n; j++)
			if (val_equal(r, &out.list->v[j], &all.list->v[i]))
				break;
		if (j == out.list->n)
			list_add(&r->mem, out.list, all.list->v[i]);
	}
	return out;
}

static struct val length(struct tpl_run *r, const struct val *v)
{
	struct val l = list_of(r, v);

	if (v->type == VAL_UNDEFINED)
		tpl_fail(&r->mem, -EPROTO, "the length of what is not defined");
	return val_int((int64_t)l.list->n);
}

static struct val to_int(const struct val *v, const struct val *otherwise, bool real)
{
	char s[64] = "";
	double d = 0;
	char *end = s;

	if (v->type == VAL_STR && v->s.n && v->s.n < sizeof(s)) {
		memcpy(s, v->s.p, v->s.n);
		s[v->s.n] = 0;
		d = strtod(s, &end);
		if (*end)
			end = s;
	} else if (v->type == VAL_INT || v->type == VAL_BOOL || v->type == VAL_FLOAT) {
		d = v->type == VAL_FLOAT ? v->d : v->type == VAL_INT ? (double)v->i : v->b;
		end = s + 1;
	}
	if (end == s && otherwise->type != VAL_UNDEFINED)
		return *otherwise;
	if (end == s)
		d = 0;
	if (real)
		return (struct val){ .type = VAL_FLOAT, .d = d };
	if (v->type == VAL_INT)
		return *v;
	return val_int(isfinite(d) && fabs(d) < 9e18 ? (int64_t)d : 0);
}

static struct val sum(struct tpl_run *r, struct val of, const struct call_args *a)
{
	struct val all = list_of(r, &of), attr = argument(r, a, 0, "attribute"), v = val_int(0),
			 one;
	size_t i;

	for (i = 0; i < all.list->n; i++) {
		one = attr.type == VAL_STR ? path(r, all.list->v[i], attr.s) : all.list->v[i];
		v = binary(r, OP_ADD, &v, &one);
	}
	return v;
}

static struct val extreme(struct tpl_run *r, struct val of, int sign)
{
	struct val all = list_of(r, &of), v = { .type = VAL_UNDEFINED };
	size_t i;

	for (i = 0; i < all.list->n; i++)
		if (!i || sign * val_compare(r, &all.list->v[i], &v) > 0)
			v = all.list->v[i];
	return v;
}

static struct val reversed(struct tpl_run *r, struct val of)
{
	struct val all = list_of(r, &of), out = val_list(&r->mem, all.list->n), none =
			 val_str("", 0);
	struct call_args a = { &none, 1, tpl_alloc(&r->mem, sizeof(struct dict)) };
	size_t i;

	for (i = all.list->n; i--; )
		list_add(&r->mem, out.list, all.list->v[i]);
	return of.type == VAL_STR ? join(r, out, &a) : out;
}

static struct val escaped(struct tpl_run *r, struct str s)
{
	static const char *const names[] = { "&amp;", "&lt;", "&gt;", "&#34;", "&#39;" };
	static const char chars[] = "&<>\"'";
	struct writer w = { .mem = &r->mem };
	const char *at;
	size_t i;

	for (i = 0; i < s.n; i++) {
		at = s.p[i] ? strchr(chars, s.p[i]) : NULL;
		if (at)
			write_to(&w, names[at - chars], strlen(names[at - chars]));
		else
			write_to(&w, s.p + i, 1);
	}
	return val_str(w.p ? w.p : "", w.n);
}

static struct val json(struct tpl_run *r, const struct val *v, const struct call_args *a)
{
	struct val width = argument(r, a, 0, "indent"), keys =
			   argument(r, a, SIZE_MAX, "sort_keys");
	struct str s = val_json(r, v, width.type == VAL_INT ? (int)(width.i & 31) : 0,
				val_true(&keys));

	return val_str(s.p, s.n);
}

static struct val of_lists(struct tpl_run *r, struct str name, struct val of,
			   const struct call_args *a)
{
	struct val all;

	if (str_is(name, "map"))
		return mapped(r, of, a);
	if (str_is(name, "select") || str_is(name, "reject"))
		return chosen(r, of, a, false, str_is(name, "select"));
	if (str_is(name, "selectattr") || str_is(name, "rejectattr"))
		return chosen(r, of, a, true, str_is(name, "selectattr"));
	if (str_is(name, "join"))
		return join(r, of, a);
	if (str_is(name, "sort"))
		return sorted(r, of, a, false);
	if (str_is(name, "unique"))
		return unique(r, of);
	if (str_is(name, "reverse"))
		return reversed(r, of);
	if (str_is(name, "sum"))
		return sum(r, of, a);
	if (str_is(name, "min") || str_is(name, "max"))
		return extreme(r, of, str_is(name, "max") ? 1 : -1);
	if (str_is(name, "list"))
		return list_of(r, &of);
	all = list_of(r, &of);
	if (str_is(name, "first") || str_is(name, "last"))
		return all.list->n ? all.list->v[str_is(name, "first") ? 0 : all.list->n - 1] :
				     (struct val){ .type = VAL_UNDEFINED };
	tpl_fail(&r->mem, -EPROTO, "there is no filter \"%.*s\"", (int)(name.n < 60 ? name.n : 60),
		 name.p);
}

struct val filter(struct tpl_run *r, struct str name, struct val of, const struct call_args *a)
{
	struct val v = argument(r, a, 0, NULL);
	struct str s;

	step(r, 1);
	if (str_is(name, "default") || str_is(name, "d")) {
		struct val any = argument(r, a, 1, "boolean");

		return of.type == VAL_UNDEFINED || (val_true(&any) && !val_true(&of)) ?
		       argument(r, a, 0, "default_value") : of;
	}
	if (str_is(name, "tojson"))
		return json(r, &of, a);
	if (str_is(name, "length") || str_is(name, "count"))
		return length(r, &of);
	if (str_is(name, "int") || str_is(name, "float"))
		return to_int(&of, &v, str_is(name, "float"));
	if (str_is(name, "abs")) {
		if (of.type == VAL_INT && of.i < 0 && of.i != INT64_MIN)
			of.i = -of.i;
		of.d = of.type == VAL_FLOAT ? fabs(of.d) : of.d;
		return of;
	}
	if (str_is(name, "items") || str_is(name, "dictsort")) {
		struct method m = { { "items", 5 }, of };

		if (of.type != VAL_DICT)
			tpl_fail(&r->mem, -EPROTO, "items of what is no dictionary");
		of = call_method(r, &m, a);
		return str_is(name, "items") ? of : sorted(r, of, a, true);
	}
	if (str_is(name, "trim") || str_is(name, "upper") || str_is(name, "lower") ||
	    str_is(name, "title") || str_is(name, "capitalize") || str_is(name, "string") ||
	    str_is(name, "safe") || str_is(name, "indent") || str_is(name, "replace") ||
	    str_is(name, "escape") || str_is(name, "e")) {
		s = val_text(r, &of);
		of = val_str(s.p ? s.p : "", s.n);
		step(r, 1 + of.s.n / 16);
		if (str_is(name, "string") || str_is(name, "safe"))
			return of;
		if (str_is(name, "escape") || str_is(name, "e"))
			return escaped(r, of.s);
		if (str_is(name, "indent"))
			return indent(r, of.s, a);
		if (str_is(name, "replace")) {
			struct method m = { { "replace", 7 }, of };

			return call_method(r, &m, a);
		}
		if (!str_is(name, "trim"))
			return cased(r, of.s, name.p[0]);
		s = v.type == VAL_STR ? v.s : (struct str){ spaces, sizeof(spaces) - 1 };
		s = strip(of.s, s.p, s.n, 3);
		return val_str(s.p, s.n);
	}
	return of_lists(r, name, of, a);
}

static bool is_case(struct tpl_run *r, const struct val *v, char how)
{
	struct val same;

	if (v->type != VAL_STR)
		return false;
	same = cased(r, v->s, how);
	return val_equal(r, v, &same);
}

bool test(struct tpl_run *r, struct str name, struct val of, const struct call_args *a)
{
	static const struct {
		const char *name;
		enum op op;
	} signs[] = {
		{ "equalto", OP_EQ }, { "eq", OP_EQ }, { "==", OP_EQ }, { "ne", OP_NE },
			{ "!=", OP_NE },
		{ "lt", OP_LT }, { "lessthan", OP_LT }, { "<", OP_LT }, { "le", OP_LE },
			{ "<=", OP_LE },
		{ "gt", OP_GT }, { "greaterthan", OP_GT }, { ">", OP_GT }, { "ge", OP_GE },
		{ ">=", OP_GE }, { "in", OP_IN },
	};
	struct val v = argument(r, a, 0, NULL);
	size_t i;

	step(r, 1);
	for (i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (str_is(name, signs[i].name)) {
			v = binary(r, signs[i].op, &of, &v);
			return v.b;
		}
	if (str_is(name, "defined"))
		return of.type != VAL_UNDEFINED;
	if (str_is(name, "undefined"))
		return of.type == VAL_UNDEFINED;
	if (str_is(name, "none"))
		return of.type == VAL_NONE;
	if (str_is(name, "string"))
		return of.type == VAL_STR;
	if (str_is(name, "boolean"))
		return of.type == VAL_BOOL;
	if (str_is(name, "true") || str_is(name, "false"))
		return of.type == VAL_BOOL && of.b == str_is(name, "true");
	if (str_is(name, "integer"))
		return of.type == VAL_INT;
	if (str_is(name, "float"))
		return of.type == VAL_FLOAT;
	if (str_is(name, "number"))
		return of.type == VAL_INT || of.type == VAL_FLOAT || of.type == VAL_BOOL;
	if (str_is(name, "mapping"))
		return of.type == VAL_DICT;
	if (str_is(name, "iterable") || str_is(name, "sequence"))
		return of.type == VAL_LIST || of.type == VAL_STR || of.type == VAL_DICT;
	if (str_is(name, "callable"))
		return of.type == VAL_MACRO || of.type == VAL_METHOD;
	if (str_is(name, "lower") || str_is(name, "upper"))
		return is_case(r, &of, name.p[0]);
	if ((str_is(name, "odd") || str_is(name, "even")) && of.type == VAL_INT)
		return (of.i & 1) == str_is(name, "odd");
	if (str_is(name, "divisibleby") && of.type == VAL_INT && v.type == VAL_INT && v.i &&
	    v.i != -1)
		return of.i % v.i == 0;
	tpl_fail(&r->mem, -EPROTO, "there is no test \"%.*s\"", (int)(name.n < 60 ? name.n : 60),
		 name.p);
}
