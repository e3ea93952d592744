// SPDX-License-Identifier: MIT
/*
 * Functions that a file has: a node that calls one becomes the function's nodes, which see its
 * inputs, and no other names of the graph.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

#define MAX_FUNCTIONS	4096
#define MAX_CALLS	16
/* Nodes that calls come to: a file of a few bytes could call without end. */
#define MAX_CALLED	(1u << 16)
/* Fields of functions that calls look at: one with few nodes can have many. */
#define MAX_LOOKED	(1u << 28)

/**
 * struct call - a function being called
 * @f: function
 * @attrs: attributes of the node
 * @attr_count: their number
 */
struct call {
	const struct function *f;
	const struct attr *attrs;
	uint32_t attr_count;
};

/* All fields of the function are about to be looked at. */
static int look(struct import *im)
{
	im->looked += im->call->f->fields;
	return im->looked <= MAX_LOOKED ? 0 :
	       im_fail(im, -EOPNOTSUPP, "functions of more than %u fields", MAX_LOOKED);
}

static bool same_slice(struct slice a, struct slice b)
{
	return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n));
}

const struct function *find_function(const struct import *im, struct slice name,
				     struct slice domain, struct slice overload)
{
	const struct function *f;
	uint32_t i;

	for (i = 0; i < im->function_count; i++) {
		f = &im->functions[i];
		if (same_slice(f->name, name) && same_slice(f->domain, domain) &&
		    same_slice(f->overload, overload))
			return f;
	}
	return NULL;
}

/* Note the functions of a file; the first of a name is meant. */
int read_functions(struct import *im, struct slice model)
{
	struct slice s = model, body;
	struct function *list, *fn;
	uint32_t count = 0;
	struct field f, g;
	int ret;

	while (wire_next(&s, &f) > 0)
		count += f.id == 25 && f.has_bytes && count <= MAX_FUNCTIONS;
	if (count > MAX_FUNCTIONS)
		return im_fail(im, -EOPNOTSUPP, "more than %d functions", MAX_FUNCTIONS);
	list = calloc((size_t)count + 1, sizeof(*list));
	if (!list)
		return im_fail(im, -ENOMEM, "out of memory");
	im->functions = list;
	for (s = model; wire_next(&s, &f) > 0;) {
		if (f.id != 25 || !f.has_bytes)
			continue;
		fn = &list[im->function_count++];
		fn->raw = f.bytes;
		for (body = f.bytes; (ret = wire_next(&body, &g)) > 0; fn->fields++) {
			if (g.id == 1)
				fn->name = g.bytes;
			else if (g.id == 10)
				fn->domain = g.bytes;
			else if (g.id == 13)
				fn->overload = g.bytes;
		}
		if (ret)
			return im_fail(im, -EBADMSG, "function %.*s cannot be read",
				       slice_shown(fn->name), fn->name.p);
	}
	return 0;
}

/**
 * call_attr - the attribute that one of a function's node refers to
 * @im: import
 * @a: attribute; its contents become those that are meant
 *
 * Return: 1; 0 it is not given, and has no default; an error.
 */
int call_attr(struct import *im, struct attr *a)
{
	const struct slice name = a->name, ref = a->ref;
	struct slice s;
	struct field f;
	uint32_t i;
	int ret;

	if (!im->call)
		return im_fail(im, -EBADMSG, "attribute %.*s refers to one of a function",
			       slice_shown(name), name.p);
	for (i = 0; i < im->call->attr_count; i++)
		if (same_slice(im->call->attrs[i].name, ref)) {
			*a = im->call->attrs[i];
			a->name = name;
			return 1;
		}
	ret = look(im);
	if (ret)
		return ret;
	for (s = im->call->f->raw; wire_next(&s, &f) > 0;) {
		if (f.id != 11)
			continue;
		ret = im_read_attr(im, f.bytes, a);
		if (ret)
			return ret;
		if (!same_slice(a->name, ref))
			continue;
		a->name = name;
		a->ref = (struct slice) { 0 };
		return 1;
	}
	return 0;
}

/* An input of the function that the node does not give; @im may have an error. */
bool call_lacks(struct import *im, struct slice name)
{
	struct slice s;
	struct field f;

	if (!im->closed || look(im))
		return false;
	for (s = im->call->f->raw; wire_next(&s, &f) > 0;)
		if (f.id == 4 && same_slice(f.bytes, name))
			return true;
	return false;
}

/* The version that the function in work has of a domain, 0: it says none */
int call_version(struct import *im, struct slice domain, int64_t *version)
{
	struct slice s, opset, name;
	struct field f, g;
	int64_t n;
	int ret = im->call ? look(im) : 0;

	*version = 0;
	if (ret || !im->call)
		return ret;
	for (s = im->call->f->raw; wire_next(&s, &f) > 0 && !*version;) {
		if (f.id != 9)
			continue;
		name = (struct slice) { 0 };
		for (n = 0, opset = f.bytes; wire_next(&opset, &g) > 0;) {
			if (g.id == 1)
				name = g.bytes;
			else if (g.id == 2)
				n = (int64_t)g.number;
		}
		if (same_slice(name, domain))
			*version = n;
	}
	return 0;
}

static int bind_inputs(struct import *im, const struct import *outer)
{
	struct slice s = im->call->f->raw;
	uint32_t at = 0;
	struct field f;
	int ret = 0;

	while (!ret && wire_next(&s, &f) > 0) {
		if (f.id != 4)
			continue;
		if (at < outer->in_count && outer->in[at].here)
			ret = bind_ref(im, f.bytes, &outer->in[at]);
		at++;
	}
	if (!ret && at < outer->in_count)
		ret = im_fail(im, -EBADMSG, "more inputs than its function has");
	return ret;
}

static int add_nodes(struct import *im)
{
	struct slice s = im->call->f->raw;
	struct field f;
	int ret = 0;

	while (!ret && wire_next(&s, &f) > 0) {
		if (f.id == 9)
			ret = im_read_opset(im, f.bytes);
	}
	for (s = im->call->f->raw; !ret && wire_next(&s, &f) > 0;) {
		if (f.id != 7)
			continue;
		if (++im->called > MAX_CALLED)
			return im_fail(im, -EOPNOTSUPP, "functions of more than %u nodes",
				       MAX_CALLED);
		ret = im_add_node(im, f.bytes);
	}
	return ret;
}

static int take_outputs(struct import *im, struct ref *out, uint32_t *count)
{
	struct slice s = im->call->f->raw;
	const struct name *n;
	struct field f;

	*count = 0;
	while (wire_next(&s, &f) > 0) {
		if (f.id != 5 || *count == MAX_IO)
			continue;
		n = f.bytes.n ? im_name(im, f.bytes) : NULL;
		if (!n || !n->text)
			return im_fail(im, -EBADMSG, "its function has no output %.*s",
				       slice_shown(f.bytes), f.bytes.p);
		out[*count] = (struct ref) { .value = n->value, .sequence = n->sequence };
		out[(*count)++].data = n->data;
	}
	return 0;
}

/*
 * What is to be added is in place of the node in work, and has names of its own; NULL: the import
 * has an error.
 */
static struct import *enter(struct import *im)
{
	struct import *outer;

	if (im->calls == MAX_CALLS) {
		im_fail(im, -EOPNOTSUPP, "more than %d functions within functions", MAX_CALLS);
		return NULL;
	}
	outer = malloc(sizeof(*outer));
	if (!outer) {
		im_fail(im, -ENOMEM, "out of memory");
		return NULL;
	}
	*outer = *im;
	im->calls++;
	im->names = NULL;
	im->name_size = im->name_count = 0;
	im->capture = NULL;
	return outer;
}

/* The node is in work again. */
static void leave(struct import *im, struct import *outer)
{
	free_names(im);
	outer->maps = im->maps;
	outer->error = im->error;
	outer->steps = im->steps;
	outer->sequences = im->sequences;
	outer->pieces = im->pieces;
	outer->grown = im->grown;
	outer->made = im->made;
	outer->made_count = im->made_count;
	outer->halves = im->halves;
	outer->halves_count = im->halves_count;
	outer->called = im->called;
	outer->looked = im->looked;
	outer->captures = im->captures;
	outer->capture_count = im->capture_count;
	*im = *outer;
	free(outer);
}

/* The nodes of a function in place of a node that was read */
int call_function(struct import *im, const struct function *f)
{
	struct ref *out = calloc(MAX_IO, sizeof(*out));
	uint32_t i, count = 0;
	struct import *outer;
	struct call call;
	int ret;

	if (!out)
		return im_fail(im, -ENOMEM, "out of memory");
	outer = enter(im);
	if (!outer) {
		free(out);
		return im->error.code;
	}
	call = (struct call) { f, outer->attrs, outer->attr_count };
	im->call = &call;
	im->closed = true;
	im->scope = NULL;
	ret = look(im);
	if (!ret)
		ret = bind_inputs(im, outer);
	if (!ret)
		ret = add_nodes(im);
	if (!ret)
		ret = take_outputs(im, out, &count);
	leave(im, outer);
	for (i = 0; i < count && !ret; i++)
		ret = give_ref(im, i, &out[i]);
	free(out);
	return ret;
}

/* The formal inputs of a graph of a node */
static int bind_formals(struct import *im, struct slice graph, const struct ref *in,
			uint32_t in_count)
{
	struct slice name, s;
	struct field f, g;
	uint32_t at = 0;
	int ret = 0;

	while (!ret && wire_next(&graph, &f) > 0) {
		if (f.id != 11)
			continue;
		name = (struct slice) { 0 };
		for (s = f.bytes; wire_next(&s, &g) > 0;)
			if (g.id == 1)
				name = g.bytes;
		ret = at < in_count ? bind_ref(im, name, &in[at]) : 0;
		at++;
	}
	return ret || at == in_count ? ret :
	       im_fail(im, -EBADMSG, "its graph has %u inputs, and gets %u", at, in_count);
}

static int add_inline(struct import *im, struct slice graph, const struct ref *in,
		      uint32_t in_count, struct ref *out, uint32_t *count)
{
	const struct name *n;
	struct slice s, name;
	struct field f, g;
	int ret = 0;

	/* A graph without nodes costs something too, and so do its bytes. */
	im->looked += graph.n;
	if (++im->called > MAX_CALLED || im->looked > MAX_LOOKED)
		return im_fail(im, -EOPNOTSUPP, "graphs of more than %u nodes", MAX_CALLED);
	for (s = graph; !ret && wire_next(&s, &f) > 0;)
		if (f.id == 5 || f.id == 15)
			ret = f.id == 5 ? im_add_initializer(im, f.bytes) :
			      im_add_sparse(im, f.bytes);
	if (!ret)
		ret = bind_formals(im, graph, in, in_count);
	for (s = graph; !ret && wire_next(&s, &f) > 0;)
		if (f.id == 1)
			ret = ++im->called > MAX_CALLED ?
			      im_fail(im, -EOPNOTSUPP, "functions of more than %u nodes",
				      MAX_CALLED) : im_add_node(im, f.bytes);
	for (s = graph; !ret && wire_next(&s, &f) > 0;) {
		if (f.id != 12)
			continue;
		name = (struct slice) { 0 };
		while (wire_next(&f.bytes, &g) > 0)
			if (g.id == 1)
				name = g.bytes;
		n = im_look_up(im, name);
		if (!n || *count == MAX_IO)
			return im->error.code ? im->error.code :
			       im_fail(im, -EBADMSG, "its graph has no output %.*s",
				       slice_shown(name), name.p);
		out[*count] = (struct ref) { 0 };
		if (!n->sequence)
			ret = im_ref(im, n->value, &out[*count]);
		out[*count].here = true;
		out[*count].data = n->data;
		out[(*count)++].sequence = n->sequence;
	}
	return ret;
}

/**
 * im_inline - the nodes of a graph of the node in work, in the same graph as that
 * @im: import
 * @graph: attribute
 * @in: what its inputs are
 * @in_count: entries of @in
 * @out: out: its results, room for MAX_IO
 * @count: out: entries of @out
 *
 * Return: 0, or the error that @im has.
 */
int im_inline(struct import *im, struct slice graph, const struct ref *in, uint32_t in_count,
	      struct ref *out, uint32_t *count)
{
	struct import *outer = enter(im);
	int ret;

	if (!outer)
		return im->error.code;
	*count = 0;
	im->scope = outer;
	ret = add_inline(im, graph, in, in_count, out, count);
	leave(im, outer);
	return ret;
}
