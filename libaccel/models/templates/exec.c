// SPDX-License-Identifier: MIT
/*
 * Statements, and templates as callers have them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libaccel/core/fpmode.h"
#include "templates.h"

static void out(struct tpl_run *r, struct str s)
{
	struct writer w = { &r->mem, r->out, r->out_n, r->out_cap };

	if (r->out_n + s.n > TPL_MAX_OUT)
		tpl_fail(&r->mem, -E2BIG, "a text of more than %u MiB", TPL_MAX_OUT >> 20);
	write_to(&w, s.p, s.n);
	r->out = w.p;
	r->out_n = w.n;
	r->out_cap = w.cap;
}

static void push_scope(struct tpl_run *r, struct scope *up)
{
	struct scope *s = tpl_alloc(&r->mem, sizeof(*s));

	s->names = tpl_alloc(&r->mem, sizeof(*s->names));
	s->up = up;
	r->scope = s;
}

void define(struct tpl_run *r, struct str name, struct val v)
{
	dict_set(r, r->scope->names, name, v);
}

static struct str named(const char *s)
{
	return (struct str){ s, strlen(s) };
}

/* What a body writes, as a value */
struct val captured(struct tpl_run *r, const struct node *body)
{
	char *p = r->out;
	size_t n = r->out_n, cap = r->out_cap;
	struct val v;

	r->out = NULL;
	r->out_n = r->out_cap = 0;
	exec(r, body);
	v = val_str(r->out ? r->out : "", r->out_n);
	r->out = p;
	r->out_n = n;
	r->out_cap = cap;
	return v;
}

static void assign(struct tpl_run *r, const struct node *to, struct val v)
{
	struct val of;
	uint32_t i;

	if (to->type == NODE_NAME) {
		define(r, to->s, v);
	} else if (to->type == NODE_MEMBER) {
		of = eval(r, to->kids[0]);
		if (of.type != VAL_DICT || !of.dict->mutable)
			tpl_fail(&r->mem, -EPROTO, "a member is set of what is no namespace");
		dict_set(r, of.dict, to->s, v);
	} else {
		if (v.type != VAL_LIST || v.list->n != to->n)
			tpl_fail(&r->mem, -EPROTO, "%u names are set to another number of values",
				 to->n);
		for (i = 0; i < to->n; i++)
			assign(r, to->kids[i], v.list->v[i]);
	}
}

static void bind(struct tpl_run *r, const struct node *n, const struct val *v)
{
	uint32_t i, count = n->n - 4;

	if (count == 1) {
		define(r, n->kids[4]->s, *v);
		return;
	}
	if (v->type != VAL_LIST || v->list->n != count)
		tpl_fail(&r->mem, -EPROTO, "a loop with %u names over other values", count);
	for (i = 0; i < count; i++)
		define(r, n->kids[4 + i]->s, v->list->v[i]);
}

static void set_loop(struct tpl_run *r, const struct list *l, size_t i)
{
	const struct val none = { .type = VAL_UNDEFINED };
	struct val v = val_dict(&r->mem);
	int64_t n = (int64_t)l->n, at = (int64_t)i;

	dict_set(r, v.dict, named("index"), val_int(at + 1));
	dict_set(r, v.dict, named("index0"), val_int(at));
	dict_set(r, v.dict, named("revindex"), val_int(n - at));
	dict_set(r, v.dict, named("revindex0"), val_int(n - at - 1));
	dict_set(r, v.dict, named("first"), val_bool(!i));
	dict_set(r, v.dict, named("last"), val_bool(i + 1 == l->n));
	dict_set(r, v.dict, named("length"), val_int(n));
	dict_set(r, v.dict, named("previtem"), i ? l->v[i - 1] : none);
	dict_set(r, v.dict, named("nextitem"), i + 1 < l->n ? l->v[i + 1] : none);
	define(r, named("loop"), v);
}

static void exec_for(struct tpl_run *r, const struct node *n)
{
	struct val of = eval(r, n->kids[0]), all = list_of(r, &of), v;
	struct scope *outer = r->scope;
	size_t i;

	if (n->kids[1]) {
		struct val some = val_list(&r->mem, 0);

		for (i = 0; i < all.list->n; i++) {
			push_scope(r, outer);
			bind(r, n, &all.list->v[i]);
			v = eval(r, n->kids[1]);
			if (val_true(&v))
				list_add(&r->mem, some.list, all.list->v[i]);
		}
		all = some;
	}
	for (i = 0; i < all.list->n; i++) {
		push_scope(r, outer);
		bind(r, n, &all.list->v[i]);
		set_loop(r, all.list, i);
		exec(r, n->kids[2]);
		if (r->loop == 1) {
			r->loop = 0;
			break;
		}
		r->loop = 0;
	}
	r->scope = outer;
	if (!all.list->n && n->kids[3])
		exec(r, n->kids[3]);
}

struct val call_macro(struct tpl_run *r, const struct macro *m, const struct call_args *a)
{
	struct scope *outer = r->scope;
	const struct val *caller;
	int loop = r->loop;
	struct val v;
	uint32_t i;

	push_scope(r, m->scope);
	for (i = 1; i < m->node->n; i++) {
		const struct node *p = m->node->kids[i];
		const struct val *given = dict_get(r, a->named, p->s);

		if (i - 1 < a->n)
			define(r, p->s, a->v[i - 1]);
		else if (given)
			define(r, p->s, *given);
		else if (p->kids[0])
			define(r, p->s, eval(r, p->kids[0]));
		else
			define(r, p->s, (struct val){ .type = VAL_UNDEFINED });
	}
	caller = dict_get(r, a->named, named("caller"));
	if (caller)
		define(r, named("caller"), *caller);
	v = captured(r, m->node->kids[0]);
	r->scope = outer;
	r->loop = loop;
	return v;
}

static struct val macro(struct tpl_run *r, struct node *n)
{
	struct macro *m = tpl_alloc(&r->mem, sizeof(*m));

	m->node = n;
	m->scope = r->scope;
	return (struct val){ .type = VAL_MACRO, .macro = m };
}

/* {% call f(...) %}: the macro gets what stands between as its caller() */
static void exec_call(struct tpl_run *r, const struct node *n)
{
	struct node *body = tpl_alloc(&r->mem, sizeof(*body));
	const struct node *what = n->kids[0];
	struct call_args a;
	struct val v = eval(r, what->kids[0]);
	struct str s;

	*body = *n;
	body->type = NODE_MACRO;
	body->kids = n->kids + 1;
	body->n = n->n - 1;
	eval_args(r, what, 1, &a);
	dict_set(r, a.named, named("caller"), macro(r, body));
	v = call(r, &v, &a);
	s = val_text(r, &v);
	out(r, s);
}

/* The value goes to the innermost filter of a chain. */
static struct val through(struct tpl_run *r, const struct node *n, struct val v)
{
	struct call_args a;

	if (n->type != NODE_FILTER)
		return v;
	v = through(r, n->kids[0], v);
	eval_args(r, n, 1, &a);
	return filter(r, n->s, v, &a);
}

static void exec_one(struct tpl_run *r, const struct node *n)
{
	struct val v;
	uint32_t i;

	switch (n->type) {
	case NODE_TEXT:
		out(r, n->s);
		break;
	case NODE_OUT:
		v = eval(r, n->kids[0]);
		out(r, val_text(r, &v));
		break;
	case NODE_BODY:
		for (i = 0; i < n->n && !r->loop; i++)
			exec(r, n->kids[i]);
		break;
	case NODE_IF:
		v = eval(r, n->kids[0]);
		i = val_true(&v) ? 1 : 2;
		if (n->kids[i])
			exec(r, n->kids[i]);
		break;
	case NODE_FOR:
		exec_for(r, n);
		break;
	case NODE_SET:
		assign(r, n->kids[0], eval(r, n->kids[1]));
		break;
	case NODE_SET_BLOCK:
		v = captured(r, n->kids[1]);
		assign(r, n->kids[0], through(r, n->kids[2], v));
		break;
	case NODE_FILTER_BLOCK:
		v = captured(r, n->kids[1]);
		v = through(r, n->kids[0], v);
		out(r, val_text(r, &v));
		break;
	case NODE_MACRO:
		define(r, n->s, macro(r, (struct node *)(uintptr_t)n));
		break;
	case NODE_CALL_BLOCK:
		exec_call(r, n);
		break;
	case NODE_BREAK:
		r->loop = 1;
		break;
	default:
		r->loop = 2;
	}
}

void exec(struct tpl_run *r, const struct node *n)
{
	step(r, 1);
	if (++r->depth > 2 * TPL_MAX_DEPTH)
		tpl_fail(&r->mem, -E2BIG, "calls within calls without end");
	exec_one(r, n);
	r->depth--;
}

/* --- as callers have them ------------------------------------------------------------------ */

static int tell(const struct tpl_mem *m, struct accel_error *error)
{
	uint32_t size;

	if (error && error->size >= sizeof(*error)) {
		size = error->size;
		*error = m->error;
		error->size = size;
	}
	return m->code;
}

int accel_chat_template_parse(const char *text, size_t bytes, struct accel_error *error,
			      struct accel_chat_template **chat)
{
	FP_MODE_SCOPE();
	struct accel_chat_template *t;
	struct str s = { NULL, bytes };
	jmp_buf fail;
	char *copy;
	int ret;

	if (!text || !chat)
		return -EINVAL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->mem.fail = &fail;
	if (setjmp(fail)) {
		ret = tell(&t->mem, error);
		accel_chat_template_destroy(t);
		return ret;
	}
	if (bytes > TPL_MAX_TEXT)
		tpl_fail(&t->mem, -E2BIG, "a template of %zu bytes", bytes);
	copy = tpl_alloc(&t->mem, bytes + 1);
	memcpy(copy, text, bytes);
	s.p = copy;
	t->body = tpl_parse(&t->mem, s);
	t->mem.fail = NULL;
	*chat = t;
	return 0;
}

void accel_chat_template_destroy(struct accel_chat_template *t)
{
	if (!t)
		return;
	tpl_mem_free(&t->mem);
	free(t);
}

static void globals(struct tpl_run *r, const struct accel_chat_args *a)
{
	const struct val none = { .type = VAL_NONE };
	struct val v;
	size_t i;

	push_scope(r, NULL);
	if (a->variables) {
		v = json_value(r, a->variables, "variables");
		if (v.type != VAL_DICT)
			tpl_fail(&r->mem, -EBADMSG, "the variables are no object");
		for (i = 0; i < v.dict->n; i++)
			define(r, v.dict->v[i].key, v.dict->v[i].val);
	}
	v = json_value(r, a->messages, "messages");
	if (v.type != VAL_LIST)
		tpl_fail(&r->mem, -EBADMSG, "the messages are no list");
	define(r, named("messages"), v);
	define(r, named("tools"), a->tools ? json_value(r, a->tools, "tools") : none);
	define(r, named("add_generation_prompt"),
	       val_bool(a->flags & ACCEL_CHAT_ADD_GENERATION_PROMPT));
	if (a->bos)
		define(r, named("bos_token"), val_str(a->bos, strlen(a->bos)));
	if (a->eos)
		define(r, named("eos_token"), val_str(a->eos, strlen(a->eos)));
}

int accel_chat_template_apply(const struct accel_chat_template *t,
			      const struct accel_chat_args *args,
			      struct accel_error *error, char **text, size_t *bytes)
{
	FP_MODE_SCOPE();
	struct tpl_run *r;
	jmp_buf fail;
	char *copy;
	int ret;

	if (!t || !args || !text || args->size < sizeof(*args) || !args->messages ||
	    args->flags & ~(uint32_t)ACCEL_CHAT_ADD_GENERATION_PROMPT)
		return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->mem.fail = &fail;
	r->now = args->now ? args->now : (int64_t)time(NULL);
	if (setjmp(fail)) {
		ret = tell(&r->mem, error);
	} else {
		globals(r, args);
		exec(r, t->body);
		copy = malloc(r->out_n + 1);
		ret = copy ? 0 : -ENOMEM;
		if (copy) {
			memcpy(copy, r->out ? r->out : "", r->out_n);
			copy[r->out_n] = 0;
			*text = copy;
			if (bytes)
				*bytes = r->out_n;
		}
	}
	tpl_mem_free(&r->mem);
	free(r);
	return ret;
}
