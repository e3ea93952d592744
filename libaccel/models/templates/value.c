// SPDX-License-Identifier: MIT
/*
 * Memory, values, and what they look like.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <json-c/json.h>

#include "../json_end.h"
#include "templates.h"

#define BLOCK	65536u

struct tpl_block {
	struct tpl_block *next;
	size_t used, size;

	_Alignas(16) char data[];
};

void tpl_fail(struct tpl_mem *m, int code, const char *fmt, ...)
{
	va_list ap;

	m->code = code;
	m->error = (struct accel_error)ACCEL_ERROR_INIT;
	m->error.code = code;
	m->error.op_index = UINT32_MAX;
	va_start(ap, fmt);
	vsnprintf(m->error.text, sizeof(m->error.text), fmt, ap);
	va_end(ap);
	longjmp(*m->fail, 1);
}

void *tpl_alloc(struct tpl_mem *m, size_t n)
{
	struct tpl_block *b = m->blocks;
	void *p;

	if (n > TPL_MAX_MEMORY || m->total + n > TPL_MAX_MEMORY)
		tpl_fail(m, -E2BIG, "more than %u MiB of memory", TPL_MAX_MEMORY >> 20);
	n = (n + 15) & ~(size_t)15;
	if (!b || b->size - b->used < n) {
		size_t size = n > BLOCK ? n : BLOCK;

		b = malloc(sizeof(*b) + size);
		if (!b)
			tpl_fail(m, -ENOMEM, "out of memory");
		b->used = 0;
		b->size = size;
		b->next = m->blocks;
		m->blocks = b;
	}
	p = b->data + b->used;
	b->used += n;
	m->total += n;
	memset(p, 0, n);
	return p;
}

void tpl_mem_free(struct tpl_mem *m)
{
	struct tpl_block *next;

	for (; m->blocks; m->blocks = next) {
		next = m->blocks->next;
		free(m->blocks);
	}
}

void step(struct tpl_run *r, size_t n)
{
	if (n > TPL_MAX_STEPS - r->steps)
		tpl_fail(&r->mem, -E2BIG, "the template takes more than %u steps", TPL_MAX_STEPS);
	r->steps += (uint32_t)n;
}

struct val val_str(const char *p, size_t n)
{
	return (struct val){ .type = VAL_STR, .s = { p, n } };
}

struct val val_int(int64_t i)
{
	return (struct val){ .type = VAL_INT, .i = i };
}

struct val val_bool(bool b)
{
	return (struct val){ .type = VAL_BOOL, .b = b };
}

struct val val_list(struct tpl_mem *m, size_t room)
{
	struct list *l = tpl_alloc(m, sizeof(*l));

	l->v = tpl_alloc(m, room * sizeof(*l->v));
	l->cap = room;
	return (struct val){ .type = VAL_LIST, .list = l };
}

struct val val_dict(struct tpl_mem *m)
{
	return (struct val){ .type = VAL_DICT, .dict = tpl_alloc(m, sizeof(struct dict)) };
}

struct val *list_add(struct tpl_mem *m, struct list *l, struct val v)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 8;
		struct val *more = tpl_alloc(m, cap * sizeof(*more));

		if (l->n)
			memcpy(more, l->v, l->n * sizeof(*more));
		l->v = more;
		l->cap = cap;
	}
	l->v[l->n] = v;
	return &l->v[l->n++];
}

struct val *dict_get(struct tpl_run *r, const struct dict *d, struct str key)
{
	size_t i;

	for (i = 0; i < d->n; i++)
		if (d->v[i].key.n == key.n && (!key.n || !memcmp(d->v[i].key.p, key.p, key.n)))
			break;
	step(r, 1 + i / 8);
	return i < d->n ? &d->v[i].val : NULL;
}

void dict_set(struct tpl_run *r, struct dict *d, struct str key, struct val v)
{
	struct val *old = dict_get(r, d, key);

	if (old) {
		*old = v;
		return;
	}
	if (d->n == d->cap) {
		size_t cap = d->cap ? 2 * d->cap : 8;
		struct entry *more = tpl_alloc(&r->mem, cap * sizeof(*more));

		if (d->n)
			memcpy(more, d->v, d->n * sizeof(*more));
		d->v = more;
		d->cap = cap;
	}
	d->v[d->n++] = (struct entry){ key, v };
}

bool str_is(struct str s, const char *t)
{
	return s.p && s.n == strlen(t) && !memcmp(s.p, t, s.n);
}

struct str str_join(struct tpl_mem *m, struct str a, struct str b)
{
	char *p = tpl_alloc(m, a.n + b.n + 1);

	if (a.n)
		memcpy(p, a.p, a.n);
	if (b.n)
		memcpy(p + a.n, b.p, b.n);
	return (struct str){ p, a.n + b.n };
}

bool val_true(const struct val *v)
{
	switch (v->type) {
	case VAL_UNDEFINED:
	case VAL_NONE:
		return false;
	case VAL_BOOL:
		return v->b;
	case VAL_INT:
		return v->i;
	case VAL_FLOAT:
		return v->d != 0;
	case VAL_STR:
		return v->s.n;
	case VAL_LIST:
		return v->list->n;
	case VAL_DICT:
		return v->dict->n || v->dict->mutable;
	default:
		return true;
	}
}

static bool is_number(const struct val *v)
{
	return v->type == VAL_INT || v->type == VAL_FLOAT || v->type == VAL_BOOL;
}

static double number(const struct val *v)
{
	return v->type == VAL_FLOAT ? v->d : v->type == VAL_INT ? (double)v->i : v->b;
}

static int64_t whole(const struct val *v)
{
	return v->type == VAL_BOOL ? v->b : v->i;
}

static void deeper(struct tpl_run *r)
{
	if (++r->depth > 2 * TPL_MAX_DEPTH)
		tpl_fail(&r->mem, -E2BIG, "values within values without end");
}

static bool equal_dicts(struct tpl_run *r, const struct dict *a, const struct dict *b)
{
	size_t i;

	for (i = 0; a->n == b->n && i < a->n; i++) {
		const struct val *v = dict_get(r, b, a->v[i].key);

		if (!v || !val_equal(r, &a->v[i].val, v))
			return false;
	}
	return a->n == b->n;
}

bool val_equal(struct tpl_run *r, const struct val *a, const struct val *b)
{
	bool same = true;
	size_t i;

	step(r, 1);
	if (is_number(a) && is_number(b)) {
		if (a->type != VAL_FLOAT && b->type != VAL_FLOAT)
			return whole(a) == whole(b);
		return number(a) == number(b);
	}
	if (a->type != b->type)
		return false;
	deeper(r);
	if (a->type == VAL_STR) {
		same = a->s.n == b->s.n && (!a->s.n || !memcmp(a->s.p, b->s.p, a->s.n));
	} else if (a->type == VAL_LIST) {
		same = a->list->n == b->list->n;
		for (i = 0; same && i < a->list->n; i++)
			same = val_equal(r, &a->list->v[i], &b->list->v[i]);
	} else if (a->type == VAL_DICT) {
		same = a->dict == b->dict || equal_dicts(r, a->dict, b->dict);
	} else if (a->type > VAL_DICT) {
		same = a->macro == b->macro;
	}
	r->depth--;
	return same;
}

int val_compare(struct tpl_run *r, const struct val *a, const struct val *b)
{
	size_t i, n;
	int d;

	step(r, 1);
	if (is_number(a) && is_number(b))
		return number(a) < number(b) ? -1 : number(a) > number(b);
	if (a->type == VAL_STR && b->type == VAL_STR) {
		n = a->s.n < b->s.n ? a->s.n : b->s.n;
		d = n ? memcmp(a->s.p, b->s.p, n) : 0;
		return d ? d : a->s.n < b->s.n ? -1 : a->s.n > b->s.n;
	}
	if (a->type != VAL_LIST || b->type != VAL_LIST)
		tpl_fail(&r->mem, -EPROTO, "values that have no order are compared");
	deeper(r);
	n = a->list->n < b->list->n ? a->list->n : b->list->n;
	for (i = 0, d = 0; !d && i < n; i++)
		d = val_compare(r, &a->list->v[i], &b->list->v[i]);
	r->depth--;
	return d ? d : a->list->n < b->list->n ? -1 : a->list->n > b->list->n;
}

void write_to(struct writer *w, const char *p, size_t n)
{
	if (w->n + n > w->cap) {
		size_t cap = 2 * (w->n + n) + 64;
		char *more;

		if (cap > 2 * (size_t)TPL_MAX_OUT)
			tpl_fail(w->mem, -E2BIG, "a text of more than %u MiB", TPL_MAX_OUT >> 20);
		more = tpl_alloc(w->mem, cap);
		if (w->n)
			memcpy(more, w->p, w->n);
		w->p = more;
		w->cap = cap;
	}
	if (n)
		memcpy(w->p + w->n, p, n);
	w->n += n;
}

static void write_text(struct writer *w, const char *s)
{
	write_to(w, s, strlen(s));
}

/* The shortest number that is the same one */
static void write_float(struct writer *w, double d)
{
	char s[40];
	int digits;

	if (!isfinite(d)) {
		write_text(w, isnan(d) ? "nan" : d < 0 ? "-inf" : "inf");
		return;
	}
	for (digits = 1; digits < 17; digits++) {
		snprintf(s, sizeof(s), "%.*g", digits, d);
		if (strtod(s, NULL) == d)
			break;
	}
	snprintf(s, sizeof(s), "%.*g", digits, d);
	/* Numbers of up to sixteen digits are written out. */
	if (strchr(s, 'e') && fabs(d) < 1e16 && fabs(d) >= 1)
		snprintf(s, sizeof(s), "%.0f", d);
	write_text(w, s);
	if (!strpbrk(s, ".en"))
		write_text(w, ".0");
}

static void write_int(struct writer *w, int64_t i)
{
	char s[24];

	snprintf(s, sizeof(s), "%lld", (long long)i);
	write_text(w, s);
}

static void write_escaped(struct writer *w, struct str s, char quote, bool json)
{
	char code[8];
	size_t i;

	write_to(w, &quote, 1);
	for (i = 0; i < s.n; i++) {
		uint8_t c = (uint8_t)s.p[i];

		if (c == (uint8_t)quote || c == '\\') {
			code[0] = '\\';
			code[1] = (char)c;
			write_to(w, code, 2);
		} else if (c == '\n' || c == '\r' || c == '\t') {
			write_text(w, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
		} else if (json && (c == '\b' || c == '\f')) {
			write_text(w, c == '\b' ? "\\b" : "\\f");
		} else if (c < 0x20 || (c == 0x7f && !json)) {
			snprintf(code, sizeof(code), json ? "\\u%04x" : "\\x%02x", c);
			write_text(w, code);
		} else {
			write_to(w, s.p + i, 1);
		}
	}
	write_to(w, &quote, 1);
}

static void write_val(struct tpl_run *r, struct writer *w, const struct val *v, bool within)
{
	size_t i;

	step(r, 1);
	deeper(r);
	switch (v->type) {
	case VAL_UNDEFINED:
		break;
	case VAL_NONE:
		write_text(w, "None");
		break;
	case VAL_BOOL:
		write_text(w, v->b ? "True" : "False");
		break;
	case VAL_INT:
		write_int(w, v->i);
		break;
	case VAL_FLOAT:
		write_float(w, v->d);
		break;
	case VAL_STR:
		if (within)
			write_escaped(w, v->s, memchr(v->s.p, '\'', v->s.n) &&
				      !memchr(v->s.p, '"', v->s.n) ? '"' : '\'', false);
		else
			write_to(w, v->s.p, v->s.n);
		break;
	case VAL_LIST:
		write_text(w, v->list->tuple ? "(" : "[");
		for (i = 0; i < v->list->n; i++) {
			write_text(w, i ? ", " : "");
			write_val(r, w, &v->list->v[i], true);
		}
		write_text(w, v->list->tuple ? v->list->n == 1 ? ",)" : ")" : "]");
		break;
	case VAL_DICT:
		write_text(w, "{");
		for (i = 0; i < v->dict->n; i++) {
			write_text(w, i ? ", " : "");
			write_escaped(w, v->dict->v[i].key, '\'', false);
			write_text(w, ": ");
			write_val(r, w, &v->dict->v[i].val, true);
		}
		write_text(w, "}");
		break;
	default:
		write_text(w, "<function>");
	}
	r->depth--;
}

struct str val_text(struct tpl_run *r, const struct val *v)
{
	struct writer w = { .mem = &r->mem };

	if (v->type == VAL_STR)
		return v->s;
	write_to(&w, "", 0);
	write_val(r, &w, v, false);
	return (struct str){ w.p, w.n };
}

static void line(struct writer *w, int indent, int depth)
{
	int i;

	write_text(w, "\n");
	for (i = 0; i < indent * depth; i++)
		write_text(w, " ");
}

static int by_key(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	size_t n = a->key.n < b->key.n ? a->key.n : b->key.n;
	int d = n ? memcmp(a->key.p, b->key.p, n) : 0;

	return d ? d : a->key.n < b->key.n ? -1 : a->key.n > b->key.n;
}

static void write_json(struct tpl_run *r, struct writer *w, const struct val *v, int indent,
		       bool sorted, int depth)
{
	bool list = v->type == VAL_LIST;
	struct entry *e;
	size_t i, n;

	step(r, 1);
	deeper(r);
	switch (v->type) {
	case VAL_UNDEFINED:
	case VAL_NONE:
		write_text(w, "null");
		break;
	case VAL_BOOL:
		write_text(w, v->b ? "true" : "false");
		break;
	case VAL_STR:
		write_escaped(w, v->s, '"', true);
		break;
	case VAL_LIST:
	case VAL_DICT:
		n = list ? v->list->n : v->dict->n;
		e = list ? NULL : v->dict->v;
		if (sorted && n && e) {
			e = tpl_alloc(&r->mem, n * sizeof(*e));
			memcpy(e, v->dict->v, n * sizeof(*e));
			qsort(e, n, sizeof(*e), by_key);
		}
		write_text(w, list ? "[" : "{");
		for (i = 0; i < n; i++) {
			write_text(w, !i ? "" : indent ? "," : ", ");
			if (indent)
				line(w, indent, depth + 1);
			if (e) {
				write_escaped(w, e[i].key, '"', true);
				write_text(w, ": ");
			}
			write_json(r, w, e ? &e[i].val : &v->list->v[i], indent, sorted,
				   depth + 1);
		}
		if (indent && n)
			line(w, indent, depth);
		write_text(w, list ? "]" : "}");
		break;
	case VAL_INT:
	case VAL_FLOAT:
		write_val(r, w, v, true);
		break;
	default:
		tpl_fail(&r->mem, -EPROTO, "a function cannot be written as JSON");
	}
	r->depth--;
}

struct str val_json(struct tpl_run *r, const struct val *v, int indent, bool sorted)
{
	struct writer w = { .mem = &r->mem };

	write_json(r, &w, v, indent < 0 ? 0 : indent > 16 ? 16 : indent, sorted, 0);
	return (struct str){ w.p, w.n };
}

/* --- JSON as values ---------------------------------------------------------------------- */

static struct str copy(struct tpl_run *r, const char *p, size_t n)
{
	return str_join(&r->mem, (struct str){ p, n }, (struct str){ NULL, 0 });
}

static struct val from_json(struct tpl_run *r, struct json_object *o)
{
	struct val v = { .type = VAL_NONE };
	struct str s;
	size_t i;

	switch (json_object_get_type(o)) {
	case json_type_boolean:
		return val_bool(json_object_get_boolean(o));
	case json_type_int:
		return val_int(json_object_get_int64(o));
	case json_type_double:
		v.type = VAL_FLOAT;
		v.d = json_object_get_double(o);
		return v;
	case json_type_string:
		s = copy(r, json_object_get_string(o), (size_t)json_object_get_string_len(o));
		return val_str(s.p, s.n);
	case json_type_array:
		v = val_list(&r->mem, json_object_array_length(o));
		for (i = 0; i < json_object_array_length(o); i++)
			list_add(&r->mem, v.list, from_json(r, json_object_array_get_idx(o, i)));
		return v;
	case json_type_object:
		v = val_dict(&r->mem);
		json_object_object_foreach(o, key, member) {
			s = copy(r, key, strlen(key));
			dict_set(r, v.dict, s, from_json(r, member));
		}
		return v;
	default:
		return v;
	}
}

/* A text in JSON as a value. What fails in between frees the text's tree first. */
struct val json_value(struct tpl_run *r, const char *text, const char *what)
{
	struct json_tokener *tok = json_tokener_new_ex(TPL_MAX_DEPTH / 2);
	size_t n = strlen(text);
	struct json_object *root = NULL;
	jmp_buf *outer = r->mem.fail, here;
	struct val v;

	if (!tok)
		tpl_fail(&r->mem, -ENOMEM, "out of memory");
	json_tokener_set_flags(tok, JSON_TOKENER_VALIDATE_UTF8);
	if (n < TPL_MAX_OUT)
		root = json_tokener_parse_ex(tok, text, (int)n + 1);
	if (root && !json_is_end(tok, text, n)) {
		json_object_put(root);
		root = NULL;
	}
	json_tokener_free(tok);
	if (!root)
		tpl_fail(&r->mem, -EBADMSG, "the %s are not JSON", what);
	if (setjmp(here)) {
		json_object_put(root);
		longjmp(*outer, 1);
	}
	r->mem.fail = &here;
	v = from_json(r, root);
	r->mem.fail = outer;
	json_object_put(root);
	return v;
}
