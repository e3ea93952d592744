// SPDX-License-Identifier: MIT
/*
 * Methods of texts, lists and dictionaries, and functions.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "templates.h"

static const char spaces[] = " \t\n\r\v\f";

bool is_method(const struct val *of, struct str name)
{
	static const char *const of_texts[] = {
		"strip", "lstrip", "rstrip", "upper", "lower", "title", "capitalize", "startswith",
		"endswith", "split", "replace", "join", "find", "count", NULL
	};
	static const char *const of_dicts[] = { "items", "keys", "values", "get", NULL };
	const char *const *n = of->type == VAL_STR ? of_texts : of->type == VAL_DICT ? of_dicts :
			       NULL;

	for (; n && *n; n++)
		if (str_is(name, *n))
			return true;
	return false;
}

bool is_function(struct str name)
{
	return str_is(name, "range") || str_is(name, "namespace") || str_is(name, "dict") ||
	       str_is(name, "raise_exception") || str_is(name, "strftime_now");
}

/* @sides: 1 left, 2 right */
struct str strip(struct str s, const char *chars, size_t n, int sides)
{
	while (sides & 1 && s.n && memchr(chars, *s.p, n)) {
		s.p++;
		s.n--;
	}
	while (sides & 2 && s.n && memchr(chars, s.p[s.n - 1], n))
		s.n--;
	return s;
}

/* @how: 'u' upper, 'l' lower, 't' each word, 'c' the first letter; of ASCII */
struct val cased(struct tpl_run *r, struct str s, char how)
{
	char *p = tpl_alloc(&r->mem, s.n + 1);
	bool begin = true;
	size_t i;

	for (i = 0; i < s.n; i++) {
		bool lower = s.p[i] >= 'a' && s.p[i] <= 'z', upper = s.p[i] >= 'A' && s.p[i] <= 'Z';

		p[i] = s.p[i];
		if (lower && (how == 'u' || (how != 'l' && begin)))
			p[i] = (char)(p[i] - 32);
		else if (upper && (how == 'l' || (how != 'u' && !begin)))
			p[i] = (char)(p[i] + 32);
		begin = how == 't' && !lower && !upper && !(s.p[i] & 0x80);
	}
	return val_str(p, s.n);
}

struct val replaced(struct tpl_run *r, struct str s, struct str old, struct str by, int64_t count)
{
	struct writer w = { .mem = &r->mem };
	const char *at;

	while (old.n && count) {
		step(r, 1);
		at = memmem(s.p, s.n, old.p, old.n);
		if (!at)
			break;
		write_to(&w, s.p, (size_t)(at - s.p));
		write_to(&w, by.p, by.n);
		s.n -= (size_t)(at - s.p) + old.n;
		s.p = at + old.n;
		count--;
	}
	write_to(&w, s.p, s.n);
	return val_str(w.p ? w.p : "", w.n);
}

static struct str text_arg(struct tpl_run *r, const struct call_args *a, size_t i, const char *name)
{
	struct val v = argument(r, a, i, name);

	if (v.type != VAL_STR)
		tpl_fail(&r->mem, -EPROTO, "a text is needed as %s", name ? name : "argument");
	return v.s;
}

static int64_t int_arg(struct tpl_run *r, const struct call_args *a, size_t i, const char *name,
		       int64_t otherwise)
{
	struct val v = argument(r, a, i, name);

	if (v.type == VAL_UNDEFINED || v.type == VAL_NONE)
		return otherwise;
	if (v.type != VAL_INT)
		tpl_fail(&r->mem, -EPROTO, "a number is needed as %s", name ? name : "argument");
	return v.i;
}

static struct val split(struct tpl_run *r, struct str s, const struct call_args *a)
{
	struct val v = val_list(&r->mem, 0), by = argument(r, a, 0, "sep");
	int64_t most = int_arg(r, a, 1, "maxsplit", -1);
	const char *at;
	size_t n;

	if (by.type == VAL_STR && !by.s.n)
		tpl_fail(&r->mem, -EPROTO, "a text is split by nothing");
	while (by.type == VAL_STR && most) {
		step(r, 1);
		at = memmem(s.p, s.n, by.s.p, by.s.n);
		if (!at)
			break;
		list_add(&r->mem, v.list, val_str(s.p, (size_t)(at - s.p)));
		s.n -= (size_t)(at - s.p) + by.s.n;
		s.p = at + by.s.n;
		most--;
	}
	if (by.type == VAL_STR) {
		list_add(&r->mem, v.list, val_str(s.p, s.n));
		return v;
	}
	for (;;) {
		step(r, 1);
		s = strip(s, spaces, sizeof(spaces) - 1, 1);
		for (n = 0; n < s.n && !memchr(spaces, s.p[n], sizeof(spaces) - 1); )
			n++;
		if (!n)
			return v;
		/* What is left is the last. */
		if (!most)
			n = s.n;
		most -= most > 0;
		list_add(&r->mem, v.list, val_str(s.p, n));
		s.p += n;
		s.n -= n;
	}
}

static bool affix(struct str s, struct str with, bool end)
{
	return s.n >= with.n && (!with.n || !memcmp(end ? s.p + s.n - with.n : s.p, with.p,
						    with.n));
}

static bool begins(struct tpl_run *r, struct str s, const struct call_args *a, bool end)
{
	struct val v = argument(r, a, 0, NULL);
	size_t i;

	if (v.type == VAL_LIST) {
		for (i = 0; i < v.list->n; i++)
			if (v.list->v[i].type == VAL_STR && affix(s, v.list->v[i].s, end))
				return true;
		return false;
	}
	return affix(s, text_arg(r, a, 0, "a beginning or end"), end);
}

static int64_t occurrences(struct tpl_run *r, struct str s, struct str what, bool first)
{
	const char *from = s.p, *at;
	int64_t n = 0;

	while (what.n) {
		step(r, 1);
		at = memmem(s.p, s.n, what.p, what.n);
		if (!at)
			break;
		if (first)
			return at - from;
		n++;
		s.n -= (size_t)(at - s.p) + what.n;
		s.p = at + what.n;
	}
	return first ? -1 : n;
}

static struct val of_text(struct tpl_run *r, struct str name, struct str s,
			  const struct call_args *a)
{
	struct val v = argument(r, a, 0, NULL);
	const char *chars = v.type == VAL_STR ? v.s.p : spaces;
	size_t n = v.type == VAL_STR ? v.s.n : sizeof(spaces) - 1;
	/* s.join(list) is list | join(s) */
	struct val self = val_str(s.p, s.n);
	const struct call_args one = { &self, 1, a->named };

	step(r, 1 + s.n / 16);
	if (str_is(name, "strip"))
		s = strip(s, chars, n, 3);
	else if (str_is(name, "lstrip"))
		s = strip(s, chars, n, 1);
	else if (str_is(name, "rstrip"))
		s = strip(s, chars, n, 2);
	else if (str_is(name, "upper"))
		return cased(r, s, 'u');
	else if (str_is(name, "lower"))
		return cased(r, s, 'l');
	else if (str_is(name, "title"))
		return cased(r, s, 't');
	else if (str_is(name, "capitalize"))
		return cased(r, s, 'c');
	else if (str_is(name, "startswith"))
		return val_bool(begins(r, s, a, false));
	else if (str_is(name, "endswith"))
		return val_bool(begins(r, s, a, true));
	else if (str_is(name, "split"))
		return split(r, s, a);
	else if (str_is(name, "find"))
		return val_int(occurrences(r, s, text_arg(r, a, 0, "text"), true));
	else if (str_is(name, "count"))
		return val_int(occurrences(r, s, text_arg(r, a, 0, "text"), false));
	else if (str_is(name, "replace"))
		return replaced(r, s, text_arg(r, a, 0, "old"), text_arg(r, a, 1, "new"),
				int_arg(r, a, 2, "count", -1));
	else
		return filter(r, (struct str){ "join", 4 }, v, &one);
	return val_str(s.p, s.n);
}

static struct val of_dict(struct tpl_run *r, struct str name, const struct dict *d,
			  const struct call_args *a)
{
	struct val v, pair;
	const struct val *found;
	size_t i;

	if (str_is(name, "get")) {
		v = argument(r, a, 0, NULL);
		found = dict_get(r, d, val_text(r, &v));
		if (found)
			return *found;
		v = argument(r, a, 1, "default");
		return v.type == VAL_UNDEFINED ? (struct val){ .type = VAL_NONE } : v;
	}
	step(r, d->n);
	v = val_list(&r->mem, d->n);
	for (i = 0; i < d->n; i++) {
		if (str_is(name, "keys")) {
			list_add(&r->mem, v.list, val_str(d->v[i].key.p, d->v[i].key.n));
		} else if (str_is(name, "values")) {
			list_add(&r->mem, v.list, d->v[i].val);
		} else {
			pair = val_list(&r->mem, 2);
			pair.list->tuple = true;
			list_add(&r->mem, pair.list, val_str(d->v[i].key.p, d->v[i].key.n));
			list_add(&r->mem, pair.list, d->v[i].val);
			list_add(&r->mem, v.list, pair);
		}
	}
	return v;
}

static struct val range(struct tpl_run *r, const struct call_args *a)
{
	int64_t from = int_arg(r, a, 0, NULL, 0), to = int_arg(r, a, 1, NULL, 0), by;
	struct val v = val_list(&r->mem, 0);

	by = int_arg(r, a, 2, NULL, 1);
	if (a->n < 2) {
		to = from;
		from = 0;
	}
	if (!by || !a->n)
		tpl_fail(&r->mem, -EPROTO, "a range without a step");
	for (; by > 0 ? from < to : from > to; ) {
		step(r, 1);
		list_add(&r->mem, v.list, val_int(from));
		if (__builtin_add_overflow(from, by, &from))
			break;
	}
	return v;
}

static struct val function(struct tpl_run *r, struct str name, const struct call_args *a)
{
	struct val v, first = argument(r, a, 0, NULL);
	char format[128], text[512];
	struct tm tm;
	time_t now = (time_t)r->now;
	struct str s;
	size_t i;

	if (str_is(name, "range"))
		return range(r, a);
	if (str_is(name, "raise_exception")) {
		s = val_text(r, &first);
		tpl_fail(&r->mem, -EPROTO, "the template says: %.*s", (int)(s.n < 200 ? s.n : 200),
			 s.n ? s.p : "");
	}
	if (str_is(name, "strftime_now")) {
		s = text_arg(r, a, 0, "format");
		if (s.n >= sizeof(format) || !gmtime_r(&now, &tm))
			tpl_fail(&r->mem, -EPROTO, "a date cannot be written");
		memcpy(format, s.p, s.n);
		format[s.n] = 0;
		s.n = strftime(text, sizeof(text), format, &tm);
		s = str_join(&r->mem, (struct str){ text, s.n }, (struct str){ NULL, 0 });
		return val_str(s.p, s.n);
	}
	v = val_dict(&r->mem);
	v.dict->mutable = str_is(name, "namespace");
	for (i = 0; first.type == VAL_DICT && i < first.dict->n; i++)
		dict_set(r, v.dict, first.dict->v[i].key, first.dict->v[i].val);
	for (i = 0; i < a->named->n; i++)
		dict_set(r, v.dict, a->named->v[i].key, a->named->v[i].val);
	return v;
}

struct val call_method(struct tpl_run *r, const struct method *m, const struct call_args *a)
{
	step(r, 1);
	if (m->self.type == VAL_STR)
		return of_text(r, m->name, m->self.s, a);
	if (m->self.type == VAL_DICT)
		return of_dict(r, m->name, m->self.dict, a);
	return function(r, m->name, a);
}
