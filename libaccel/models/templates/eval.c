// SPDX-License-Identifier: MIT
/*
 * Expressions.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "templates.h"

static double number(struct tpl_run *r, const struct val *v)
{
	if (v->type == VAL_FLOAT)
		return v->d;
	if (v->type == VAL_INT)
		return (double)v->i;
	if (v->type != VAL_BOOL)
		tpl_fail(&r->mem, -EPROTO, "arithmetic with what is no number");
	return v->b;
}

static struct val real(double d)
{
	return (struct val){ .type = VAL_FLOAT, .d = d };
}

static struct val whole_numbers(struct tpl_run *r, enum op op, int64_t a, int64_t b)
{
	int64_t v;
	bool over = false;

	if ((op == OP_FLOOR || op == OP_MOD) && (!b || (b == -1 && a == INT64_MIN)))
		tpl_fail(&r->mem, -EPROTO, "a division by zero");
	switch (op) {
	case OP_ADD:
		over = __builtin_add_overflow(a, b, &v);
		break;
	case OP_SUB:
		over = __builtin_sub_overflow(a, b, &v);
		break;
	case OP_MUL:
		over = __builtin_mul_overflow(a, b, &v);
		break;
	case OP_FLOOR:
		v = a / b - (a % b && (a < 0) != (b < 0));
		break;
	default:
		v = a % b;
		/* The sign is the divisor's. */
		if ((v < 0 && b > 0) || (v > 0 && b < 0))
			v += b;
	}
	if (over)
		tpl_fail(&r->mem, -EPROTO, "a number that is too large");
	return val_int(v);
}

static struct val arithmetic(struct tpl_run *r, enum op op, const struct val *a,
			     const struct val *b)
{
	bool whole = (a->type == VAL_INT || a->type == VAL_BOOL) &&
		     (b->type == VAL_INT || b->type == VAL_BOOL);
	double x = number(r, a), y = number(r, b);

	if (whole && op != OP_DIV && op != OP_POW)
		return whole_numbers(r, op, a->type == VAL_INT ? a->i : a->b,
				     b->type == VAL_INT ? b->i : b->b);
	if ((op == OP_DIV || op == OP_FLOOR || op == OP_MOD) && y == 0)
		tpl_fail(&r->mem, -EPROTO, "a division by zero");
	switch (op) {
	case OP_ADD:
		return real(x + y);
	case OP_SUB:
		return real(x - y);
	case OP_MUL:
		return real(x * y);
	case OP_DIV:
		return real(x / y);
	case OP_FLOOR:
		return real(floor(x / y));
	case OP_MOD:
		return real(x - floor(x / y) * y);
	default:
		x = pow(x, y);
		if (whole && y >= 0 && fabs(x) < 9e15)
			return val_int((int64_t)x);
		return real(x);
	}
}

static bool contains(struct tpl_run *r, const struct val *in, const struct val *v)
{
	size_t i;

	if (in->type == VAL_STR && v->type == VAL_STR) {
		step(r, 1 + in->s.n / 16);
		return !v->s.n || memmem(in->s.p, in->s.n, v->s.p, v->s.n);
	}
	if (in->type == VAL_DICT)
		return v->type == VAL_STR && dict_get(r, in->dict, v->s);
	if (in->type == VAL_LIST) {
		for (i = 0; i < in->list->n; i++)
			if (val_equal(r, &in->list->v[i], v))
				return true;
		return false;
	}
	if (in->type == VAL_UNDEFINED)
		return false;
	tpl_fail(&r->mem, -EPROTO, "nothing can be in what is no list");
}

static struct val joined(struct tpl_run *r, const struct val *a, const struct val *b)
{
	struct val v = val_list(&r->mem, a->list->n + b->list->n);

	step(r, a->list->n + b->list->n);
	if (a->list->n)
		memcpy(v.list->v, a->list->v, a->list->n * sizeof(v));
	if (b->list->n)
		memcpy(v.list->v + a->list->n, b->list->v, b->list->n * sizeof(v));
	v.list->n = a->list->n + b->list->n;
	return v;
}

static struct val repeated(struct tpl_run *r, struct str s, int64_t times)
{
	struct writer w = { .mem = &r->mem };

	for (; times > 0 && s.n; times--) {
		step(r, 1);
		write_to(&w, s.p, s.n);
	}
	return val_str(w.p ? w.p : "", w.n);
}

struct val binary(struct tpl_run *r, enum op op, const struct val *a, const struct val *b)
{
	struct str s;

	switch (op) {
	case OP_EQ:
		return val_bool(val_equal(r, a, b));
	case OP_NE:
		return val_bool(!val_equal(r, a, b));
	case OP_LT:
		return val_bool(val_compare(r, a, b) < 0);
	case OP_LE:
		return val_bool(val_compare(r, a, b) <= 0);
	case OP_GT:
		return val_bool(val_compare(r, a, b) > 0);
	case OP_GE:
		return val_bool(val_compare(r, a, b) >= 0);
	case OP_IN:
		return val_bool(contains(r, b, a));
	case OP_NOT_IN:
		return val_bool(!contains(r, b, a));
	case OP_CAT:
		s = str_join(&r->mem, val_text(r, a), val_text(r, b));
		return val_str(s.p, s.n);
	case OP_ADD:
		if (a->type == VAL_STR && b->type == VAL_STR) {
			s = str_join(&r->mem, a->s, b->s);
			return val_str(s.p, s.n);
		}
		if (a->type == VAL_LIST && b->type == VAL_LIST)
			return joined(r, a, b);
		break;
	case OP_MUL:
		if (a->type == VAL_STR && b->type == VAL_INT)
			return repeated(r, a->s, b->i);
		if (b->type == VAL_STR && a->type == VAL_INT)
			return repeated(r, b->s, a->i);
		break;
	default:
		break;
	}
	return arithmetic(r, op, a, b);
}

static struct val *find_name(struct tpl_run *r, struct str name)
{
	struct scope *s;
	struct val *v;

	for (s = r->scope; s; s = s->up) {
		v = dict_get(r, s->names, name);
		if (v)
			return v;
	}
	return NULL;
}

static struct val method(struct tpl_run *r, struct str name, struct val self)
{
	struct method *m = tpl_alloc(&r->mem, sizeof(*m));

	m->name = name;
	m->self = self;
	return (struct val){ .type = VAL_METHOD, .method = m };
}

/* The place @i of @n, from the end if it is negative; -1: none */
static int64_t place(int64_t i, size_t n)
{
	if (i < 0)
		i += (int64_t)n;
	return i < 0 || i >= (int64_t)n ? -1 : i;
}

/* Where a character of a text begins */
static size_t char_at(struct str s, size_t i)
{
	size_t at = 0;

	for (; at < s.n && i; i--)
		for (at++; at < s.n && (s.p[at] & 0xc0) == 0x80; )
			at++;
	return at;
}

static size_t char_count(struct str s)
{
	size_t i, n = 0;

	for (i = 0; i < s.n; i++)
		n += (s.p[i] & 0xc0) != 0x80;
	return n;
}

static struct val index_of(struct tpl_run *r, const struct val *of, const struct val *i)
{
	const struct val none = { .type = VAL_UNDEFINED };
	const struct val *v;
	int64_t at;
	size_t from;

	if (i->type == VAL_STR)
		return member(r, of, i->s);
	if (i->type != VAL_INT)
		return none;
	if (of->type == VAL_LIST) {
		at = place(i->i, of->list->n);
		return at < 0 ? none : of->list->v[at];
	}
	if (of->type == VAL_STR) {
		step(r, 1 + of->s.n / 16);
		at = place(i->i, char_count(of->s));
		if (at < 0)
			return none;
		from = char_at(of->s, (size_t)at);
		return val_str(of->s.p + from,
			       char_at((struct str){ of->s.p + from, of->s.n - from }, 1));
	}
	if (of->type == VAL_DICT) {
		v = dict_get(r, of->dict, val_text(r, i));
		return v ? *v : none;
	}
	tpl_fail(&r->mem, -EPROTO, "an index into what has none");
}

struct val member(struct tpl_run *r, const struct val *of, struct str name)
{
	const struct val *v;

	if (of->type == VAL_DICT) {
		v = dict_get(r, of->dict, name);
		if (v)
			return *v;
	}
	if (is_method(of, name))
		return method(r, name, *of);
	if (of->type == VAL_UNDEFINED)
		tpl_fail(&r->mem, -EPROTO, "\"%.*s\" of what is not defined",
			 (int)(name.n < 60 ? name.n : 60), name.p);
	return (struct val){ .type = VAL_UNDEFINED };
}

/* a[from:to:by], as Python has it */
static struct val slice(struct tpl_run *r, const struct node *n, const struct val *of)
{
	int64_t v[3] = { 0, 0, 1 }, i, count;
	struct val out, e, list = *of;
	bool given[3] = { 0 };
	struct writer w = { .mem = &r->mem };

	for (i = 0; i < 3; i++) {
		if (!n->kids[1 + i])
			continue;
		e = eval(r, n->kids[1 + i]);
		if (e.type == VAL_NONE)
			continue;
		if (e.type != VAL_INT || (i == 2 && !e.i))
			tpl_fail(&r->mem, -EPROTO, "a part that begins or ends at no number");
		v[i] = e.i < -(1 << 30) ? -(1 << 30) : e.i > 1 << 30 ? 1 << 30 : e.i;
		given[i] = true;
	}
	if (of->type == VAL_STR)
		list = list_of(r, of);
	else if (of->type != VAL_LIST)
		tpl_fail(&r->mem, -EPROTO, "a part of what has none");
	count = (int64_t)list.list->n;
	for (i = 0; i < 2; i++) {
		if (!given[i])
			v[i] = (v[2] > 0) == (i == 0) ? v[2] > 0 ? 0 : -1 : v[2] > 0 ? count :
			       count - 1;
		else if (v[i] < 0)
			v[i] = v[i] + count < 0 ? v[2] > 0 ? 0 : -1 : v[i] + count;
		if (v[i] > count)
			v[i] = count;
	}
	if (v[2] < 0 && v[0] >= count)
		v[0] = count - 1;
	out = val_list(&r->mem, 0);
	for (i = v[0]; v[2] > 0 ? i < v[1] : i > v[1]; i += v[2]) {
		step(r, 1);
		list_add(&r->mem, out.list, list.list->v[i]);
		if (of->type == VAL_STR)
			write_to(&w, list.list->v[i].s.p, list.list->v[i].s.n);
	}
	return of->type == VAL_STR ? val_str(w.p ? w.p : "", w.n) : out;
}

/* Arguments of a call; the value before them is its first part. */
struct val eval_args(struct tpl_run *r, const struct node *n, uint32_t from, struct call_args *a)
{
	struct val list = val_list(&r->mem, 0), v;
	uint32_t i;
	size_t k;

	a->named = tpl_alloc(&r->mem, sizeof(*a->named));
	for (i = from; i < n->n; i++) {
		const struct node *kid = n->kids[i];

		if (kid->type == NODE_KEYWORD) {
			dict_set(r, a->named, kid->s, eval(r, kid->kids[0]));
		} else if (kid->type == NODE_SPREAD) {
			v = eval(r, kid->kids[0]);
			v = list_of(r, &v);
			for (k = 0; k < v.list->n; k++)
				list_add(&r->mem, list.list, v.list->v[k]);
		} else {
			list_add(&r->mem, list.list, eval(r, kid));
		}
	}
	a->v = list.list->v;
	a->n = list.list->n;
	return list;
}

struct val argument(struct tpl_run *r, const struct call_args *a, size_t i, const char *name)
{
	const struct val *v = NULL;

	if (i < a->n)
		return a->v[i];
	if (name)
		v = dict_get(r, a->named, (struct str){ name, strlen(name) });
	return v ? *v : (struct val){ .type = VAL_UNDEFINED };
}

struct val call(struct tpl_run *r, const struct val *what, const struct call_args *a)
{
	if (what->type == VAL_MACRO)
		return call_macro(r, what->macro, a);
	if (what->type != VAL_METHOD)
		tpl_fail(&r->mem, -EPROTO, "what is called is no function");
	return call_method(r, what->method, a);
}

static struct val eval_name(struct tpl_run *r, const struct node *n)
{
	const struct val *v = find_name(r, n->s);

	if (v)
		return *v;
	if (is_function(n->s))
		return method(r, n->s, (struct val){ .type = VAL_UNDEFINED });
	return (struct val){ .type = VAL_UNDEFINED };
}

static struct val eval_dict(struct tpl_run *r, const struct node *n)
{
	struct val d = val_dict(&r->mem), key;
	uint32_t i;

	for (i = 0; i + 1 < n->n; i += 2) {
		key = eval(r, n->kids[i]);
		dict_set(r, d.dict, val_text(r, &key), eval(r, n->kids[i + 1]));
	}
	return d;
}

static struct val eval_call(struct tpl_run *r, const struct node *n)
{
	struct call_args a;
	struct val v = eval(r, n->kids[0]);

	if (v.type == VAL_UNDEFINED && n->kids[0]->s.p)
		tpl_fail(&r->mem, -EPROTO, "there is no function \"%.*s\"",
			 (int)(n->kids[0]->s.n < 60 ? n->kids[0]->s.n : 60), n->kids[0]->s.p);
	eval_args(r, n, 1, &a);
	return call(r, &v, &a);
}

static struct val eval_one(struct tpl_run *r, const struct node *n)
{
	struct call_args a;
	struct val v, w;
	uint32_t i;

	switch (n->type) {
	case NODE_CONST:
		return n->val;
	case NODE_NAME:
		return eval_name(r, n);
	case NODE_LIST:
		v = eval_args(r, n, 0, &a);
		v.list->tuple = n->flag;
		return v;
	case NODE_DICT:
		return eval_dict(r, n);
	case NODE_MEMBER:
		v = eval(r, n->kids[0]);
		return member(r, &v, n->s);
	case NODE_INDEX:
		v = eval(r, n->kids[0]);
		w = eval(r, n->kids[1]);
		return index_of(r, &v, &w);
	case NODE_SLICE:
		v = eval(r, n->kids[0]);
		return slice(r, n, &v);
	case NODE_CALL:
		return eval_call(r, n);
	case NODE_FILTER:
		v = eval(r, n->kids[0]);
		eval_args(r, n, 1, &a);
		return filter(r, n->s, v, &a);
	case NODE_TEST:
		v = eval(r, n->kids[0]);
		eval_args(r, n, 1, &a);
		return val_bool(test(r, n->s, v, &a) != n->flag);
	case NODE_UNARY:
		v = eval(r, n->kids[0]);
		w = val_int(0);
		return arithmetic(r, n->flag ? OP_SUB : OP_ADD, &w, &v);
	case NODE_BINARY:
		v = eval(r, n->kids[0]);
		w = eval(r, n->kids[1]);
		return binary(r, n->op, &v, &w);
	case NODE_AND:
		v = eval(r, n->kids[0]);
		return val_true(&v) ? eval(r, n->kids[1]) : v;
	case NODE_OR:
		v = eval(r, n->kids[0]);
		return val_true(&v) ? v : eval(r, n->kids[1]);
	case NODE_NOT:
		v = eval(r, n->kids[0]);
		return val_bool(!val_true(&v));
	case NODE_IF_ELSE:
		v = eval(r, n->kids[0]);
		i = val_true(&v) ? 1 : 2;
		return n->kids[i] ? eval(r, n->kids[i]) : (struct val){ .type = VAL_UNDEFINED };
	default:
		tpl_fail(&r->mem, -EPROTO, "a part that is no expression");
	}
}

struct val eval(struct tpl_run *r, const struct node *n)
{
	struct val v;

	step(r, 1);
	if (++r->depth > 2 * TPL_MAX_DEPTH)
		tpl_fail(&r->mem, -E2BIG, "calls within calls without end");
	v = eval_one(r, n);
	r->depth--;
	return v;
}
