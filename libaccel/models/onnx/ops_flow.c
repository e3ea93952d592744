// SPDX-License-Identifier: MIT
/*
 * Control flow. A graph of a node becomes a graph of its own; what it takes from those around it
 * becomes its inputs, but for constants, which it has itself. Scan is a loop that takes its inputs
 * apart.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

/* Graphs within graphs */
#define MAX_DEPTH	16
/* Values that a node reads, and gives */
#define MAX_VALUES	4096
/* Values that a graph of im_inner() carries */
#define MAX_REPEATED	2

/**
 * struct body - a graph of a node
 * @graph: graph
 * @captures: values of the graph around it, which are its last inputs
 * @count: number of @captures
 * @outputs: results of the file's graph
 */
struct body {
	struct accel_graph *graph;
	uint32_t *captures;
	uint32_t count;
	uint32_t outputs;
};

static void body_free(struct body *body)
{
	accel_graph_destroy(body->graph);
	free(body->captures);
	body->graph = NULL;
	body->captures = NULL;
}

/*
 * An input of the graph that is a value of the one around it: numbers where these are known, or
 * what @dims has, which is 0 where it does not know and may be NULL
 */
static int add_capture(struct import *im, const char *name, uint32_t outer, const int64_t *dims,
		       uint32_t *value)
{
	struct accel_graph *around = im->parent->model->graph;
	struct accel_value v = ACCEL_VALUE_INIT;
	uint32_t i, *more;
	struct ref ref;
	int ret = im_ref(im->parent, outer, &ref);

	if (ret)
		return ret;
	if (im->capture_count == MAX_VALUES)
		return im_fail(im, -EOPNOTSUPP, "more than %d values of other graphs", MAX_VALUES);
	v.type = ref.type;
	v.rank = ref.rank;
	v.name = name;
	for (i = 0; i < ref.rank && !ret; i++) {
		v.dims[i] = dims && dims[i] ? dims[i] : ref.dims[i];
		if ((!dims || !dims[i]) && accel_graph_varies(around, outer, i))
			ret = im_symbol(im, name, i, &v.dims[i]);
	}
	if (!ret)
		ret = im_graph(im, accel_graph_input(im->model->graph, &v, value));
	if (ret)
		return ret;
	more = realloc(im->captures, (im->capture_count + 1) * sizeof(*more));
	if (!more)
		return im_fail(im, -ENOMEM, "out of memory");
	im->captures = more;
	more[im->capture_count++] = outer;
	return 0;
}

/**
 * im_capture - take a value of the graph around
 * @im: import of a graph of a node
 * @outer: what it stands for there
 * @value: out: here
 *
 * Return: 0, or the error that @im has.
 */
int im_capture(struct import *im, const struct name *outer, uint32_t *value)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	struct ref ref;
	int ret;

	if (!outer->data)
		return add_capture(im, outer->text, outer->value, NULL, value);
	ret = im_ref(im->parent, outer->value, &ref);
	if (ret)
		return ret;
	v.type = ref.type;
	v.rank = ref.rank;
	v.name = outer->text;
	memcpy(v.dims, ref.dims, sizeof(v.dims));
	/* The graph around it has the data, and this one. */
	return im_graph(im, accel_graph_constant(im->model->graph, &v, outer->data, NULL, NULL,
						 value));
}

/* Input of the iteration, or of the condition: a number without dimensions */
static int add_scalar(struct import *im, const char *name, uint32_t type, uint32_t *value)
{
	struct accel_value v = ACCEL_VALUE_INIT;

	v.type = type;
	v.name = name;
	return im_graph(im, accel_graph_input(im->model->graph, &v, value));
}

/**
 * im_formal - the next input that a graph of a node declares
 * @im: import
 * @name: its name
 * @declared: what the file says of it; dimensions without number are -1
 * @value: out
 *
 * Return: 0, or the error that @im has.
 */
int im_formal(struct import *im, const char *name, const struct accel_value *declared,
	      uint32_t *value)
{
	static const struct formal none;
	const struct formal *f = im->formal_at < im->formal_count ?
				 &im->formals[im->formal_at] : &none;
	struct accel_value v = ACCEL_VALUE_INIT;
	const int64_t zero = 0, axis = f->axis;
	uint32_t i, x = 0, len, at;
	struct ref ref;
	int ret = 0;

	if (im->formal_at++ == im->formal_count)
		return im_fail(im, -EBADMSG, "its graph has more inputs than it gets");
	if (f->kind == FORMAL_SLICE) {
		ret = add_capture(im, name, f->outer, NULL, &x);
		if (ret)
			return ret;
		at = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, im->iteration, 1, &zero);
		if (f->reverse) {
			len = v_shape_of(im, x, f->axis, axis + 1);
			at = v_binary(im, ACCEL_BINARY_SUB,
				      v_with(im, ACCEL_BINARY_SUB, len, 1), at);
		}
		x = v_gather(im, ACCEL_GATHER_AXIS, f->axis, x, at);
		*value = v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, x, 1, &axis);
		return im->error.code;
	}
	v.name = name;
	v.type = f->kind == FORMAL_VALUE ? 0 : f->kind == FORMAL_ITERATION ?
		 (uint32_t)ACCEL_HOST_S64 : (uint32_t)ACCEL_HOST_BOOL;
	v.rank = f->kind != FORMAL_VALUE && declared->rank == 1;
	v.dims[0] = 1;
	if (f->kind == FORMAL_VALUE) {
		ret = im_ref(im->parent, f->outer, &ref);
		v.type = ref.type;
		v.rank = ref.rank;
	}
	for (i = 0; f->kind == FORMAL_VALUE && i < v.rank && !ret; i++) {
		v.dims[i] = declared->rank == v.rank ? declared->dims[i] : -1;
		if (v.dims[i] < 0)
			ret = im_symbol(im, name, i, &v.dims[i]);
	}
	return ret ? ret : im_graph(im, accel_graph_input(im->model->graph, &v, value));
}

/* Iteration and condition of a graph that does not know them; the condition is its first result. */
static int add_control(struct import *im)
{
	uint32_t go;
	int ret = add_scalar(im, "iteration", ACCEL_HOST_S64, &im->iteration);

	if (!ret)
		ret = add_scalar(im, "condition", ACCEL_HOST_BOOL, &go);
	if (!ret)
		ret = im_graph(im, accel_graph_output(im->model->graph, "condition", go));
	return ret;
}

/* A graph of the node in work, which knows what the import around does; NULL: @im has the error */
static struct import *inner_create(struct import *im, const struct formal *formals,
				   uint32_t count, bool control)
{
	struct import *child;
	int ret;

	if (im->depth == MAX_DEPTH) {
		im_fail(im, -EOPNOTSUPP, "more than %d graphs within graphs", MAX_DEPTH);
		return NULL;
	}
	child = import_create(im->path);
	if (!child) {
		im_fail(im, -ENOMEM, "out of memory");
		return NULL;
	}
	child->parent = im;
	child->depth = im->depth + 1;
	child->maps = im->maps;
	child->opset = im->opset;
	child->others = im->others;
	child->steps = im->steps;
	child->pieces = im->pieces;
	child->grown = im->grown;
	child->functions = im->functions;
	child->function_count = im->function_count;
	child->call = im->call;
	child->calls = im->calls;
	child->called = im->called;
	child->looked = im->looked;
	child->operators = im->operators;
	child->domain_count = im->domain_count;
	memcpy(child->domains, im->domains, sizeof(child->domains));
	child->formals = formals;
	child->formal_count = count;
	ret = accel_graph_create(&child->model->graph);
	if (!ret && control)
		ret = add_control(child);
	/* What fails here is said by who ends it. */
	if (ret && !child->error.code)
		im_fail(child, ret, "out of memory");
	return child;
}

/* The graph is the body's from now on, if it is one. */
static int inner_end(struct import *im, struct import *child, int ret, struct body *body)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	im->maps = child->maps;
	im->steps = child->steps;
	im->pieces = child->pieces;
	im->grown = child->grown;
	im->called = child->called;
	im->looked = child->looked;
	im->model->info.file_bytes += child->model->info.file_bytes;
	im->model->info.constant_count += child->model->info.constant_count;
	im->model->info.constant_bytes += child->model->info.constant_bytes;
	body->graph = child->model->graph;
	body->captures = child->captures;
	body->count = child->capture_count;
	body->outputs = child->model->info.output_count;
	child->maps = NULL;
	free(child->model);
	ret = import_end(child, ret, &e);
	if (!ret)
		return 0;
	body_free(body);
	return im_take_error(im, ret, &e);
}

/* The graph of an attribute */
static int read_body(struct import *im, const char *attr, const struct formal *formals,
		     uint32_t count, bool control, struct body *body)
{
	const struct attr *a = im_attr(im, attr, ATTR_GRAPH);
	struct import *child;
	int ret;

	*body = (struct body) { 0 };
	if (!a)
		return im_fail(im, -EBADMSG, "it has no %s", attr);
	child = inner_create(im, formals, count, control);
	if (!child)
		return im->error.code;
	ret = child->error.code;
	if (!ret)
		ret = read_graph(child, a->s);
	if (!ret && child->formal_at != count)
		ret = im_fail(child, -EBADMSG, "%s has not the inputs that it gets", attr);
	return inner_end(im, child, ret, body);
}

int im_dynamic(struct import *im, struct accel_dynamic_desc *d, const uint32_t *in,
	       uint32_t in_count, uint32_t *out, uint32_t out_count)
{
	int ret = im_source(im);

	if (ret) {
		/* They are the node's also if there is none. */
		accel_graph_destroy(d->body);
		accel_graph_destroy(d->other);
		return ret;
	}
	return im_graph(im, accel_graph_dynamic(im->model->graph, im->name, d, in, in_count, out,
						out_count));
}

int im_give_all(struct import *im, const uint32_t *out, uint32_t count)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < count && !ret; i++)
		ret = im_give(im, i, out[i]);
	return ret;
}

/* A bool that is known while the file is read */
bool im_bool(const struct ref *ref, bool *what)
{
	if (!ref->data || ref->type != ACCEL_HOST_BOOL || ref->rank > 1 ||
	    (ref->rank && ref->dims[0] != 1))
		return false;
	*what = *(const uint8_t *)ref->data;
	return true;
}

int give_refs(struct import *im, const struct ref *out, uint32_t count)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < count && !ret; i++)
		ret = give_ref(im, i, &out[i]);
	return ret;
}

/* The branch that is taken each time is part of the graph. */
static int take_branch(struct import *im, const char *which)
{
	const struct attr *a = im_attr(im, which, ATTR_GRAPH);
	struct ref *out = calloc(MAX_IO, sizeof(*out));
	uint32_t count = 0;
	int ret = !a ? im_fail(im, -EBADMSG, "it has no %s", which) :
		  !out ? im_fail(im, -ENOMEM, "out of memory") :
		  im_inline(im, a->s, NULL, 0, out, &count);

	if (!ret)
		ret = give_refs(im, out, count);
	free(out);
	return ret;
}

static int if_op(struct import *im, uint32_t arg)
{
	struct accel_dynamic_desc d = ACCEL_DYNAMIC_DESC_INIT(ACCEL_DYNAMIC_IF);
	struct body yes = { 0 }, no = { 0 };
	uint32_t *in = NULL, out[MAX_IO] = { 0 }, count = 0;
	bool taken;
	int ret = im_need(im, 1);

	(void)arg;
	if (!ret && im_bool(&im->in[0], &taken))
		return take_branch(im, taken ? "then_branch" : "else_branch");
	if (!ret)
		ret = read_body(im, "then_branch", NULL, 0, false, &yes);
	if (!ret)
		ret = read_body(im, "else_branch", NULL, 0, false, &no);
	if (!ret && (yes.outputs != no.outputs || yes.outputs > MAX_IO || !yes.outputs))
		ret = im_fail(im, -EBADMSG, "%u results, or %u", yes.outputs, no.outputs);
	if (!ret) {
		in = malloc((1 + yes.count + no.count) * sizeof(*in));
		if (!in)
			ret = im_fail(im, -ENOMEM, "out of memory");
	}
	if (!ret && in) {
		in[count++] = im->in[0].value;
		if (yes.count)
			memcpy(in + count, yes.captures, yes.count * sizeof(*in)); /* NOLINT */
		count += yes.count;
		if (no.count)
			memcpy(in + count, no.captures, no.count * sizeof(*in)); /* NOLINT */
		count += no.count;
		d.body = yes.graph;
		d.other = no.graph;
		yes.graph = NULL;
		no.graph = NULL;
		ret = im_dynamic(im, &d, in, count, out, yes.outputs);
		if (!ret)
			ret = im_give_all(im, out, yes.outputs);
	}
	free(in);
	body_free(&yes);
	body_free(&no);
	return ret;
}

/* A loop over @body, which becomes the node's: how often, whether at all, what is carried */
static int add_loop(struct import *im, struct body *body, const uint32_t *first, uint32_t carried,
		    uint32_t *out, uint32_t out_count)
{
	struct accel_dynamic_desc d = ACCEL_DYNAMIC_DESC_INIT(ACCEL_DYNAMIC_LOOP);
	uint32_t *in = malloc((2 + carried + body->count) * sizeof(*in));
	int ret;

	if (!in)
		return im_fail(im, -ENOMEM, "out of memory");
	memcpy(in, first, (2 + carried) * sizeof(*in));
	if (body->count)
		memcpy(in + 2 + carried, body->captures, body->count * sizeof(*in)); /* NOLINT */
	d.body = body->graph;
	d.carried = carried;
	body->graph = NULL;
	ret = im_dynamic(im, &d, in, 2 + carried + body->count, out, out_count);
	free(in);
	return ret;
}

/**
 * im_inner - begin a graph that a node repeats, which no file has
 * @im: import
 * @formals: what is carried from one iteration to the next, which the caller makes inputs first
 * @count: number of @formals
 *
 * Return: import of that graph, to be given to im_repeat(), with its number of the iteration and
 * the condition as inputs; NULL: @im has the error.
 */
struct import *im_inner(struct import *im, const struct formal *formals, uint32_t count)
{
	return inner_create(im, formals, count, true);
}

/**
 * v_outer - a value of the graph around, in the graph of a node
 * @im: import of a graph of a node
 * @outer: value, or NO_VALUE
 * @dims: numbers or symbols of its dimensions, 0 for those that are not known
 *
 * Return: value, NO_VALUE: @outer is, or @im has an error.
 */
uint32_t v_outer(struct import *im, uint32_t outer, const int64_t *dims)
{
	uint32_t value = NO_VALUE;
	char name[32];

	if (im->error.code || outer == NO_VALUE)
		return NO_VALUE;
	/* Its symbols have its name: they are its own. */
	snprintf(name, sizeof(name), "outer %u", im->capture_count);
	return add_capture(im, name, outer, dims, &value) ? NO_VALUE : value;
}

/**
 * im_repeat - a node that repeats a graph so many times
 * @im: import
 * @inner: import of im_inner(), which is given up
 * @times: value: how many, S64
 * @results: of a graph of @inner: what is carried, and elements of lists
 * @count: number of @results
 * @out: out: what is carried at last, and the lists, along a new first dimension
 *
 * Return: 0, or the error that @im has.
 */
int im_repeat(struct import *im, struct import *inner, uint32_t times, const uint32_t *results,
	      uint32_t count, uint32_t *out)
{
	uint32_t first[MAX_REPEATED + 2], carried = inner->formal_count, i;
	struct body body;
	int ret = inner->error.code;

	for (i = 0; i < carried && i < MAX_REPEATED; i++)
		first[2 + i] = inner->formals[i].outer;
	for (i = 0; i < count && !ret; i++)
		ret = im_graph(inner, accel_graph_output(inner->model->graph, NULL, results[i]));
	ret = inner_end(im, inner, ret, &body);
	first[0] = times;
	first[1] = v_number(im, ACCEL_HOST_BOOL, 1);
	if (!ret)
		ret = im->error.code;
	if (!ret)
		ret = add_loop(im, &body, first, carried, out, count);
	body_free(&body);
	return ret;
}

static int loop(struct import *im, uint32_t arg)
{
	uint32_t carried = im->in_count > 2 ? im->in_count - 2 : 0, i;
	uint32_t first[MAX_IO + 2], out[MAX_IO] = { 0 };
	struct formal *formals = calloc(carried + 2, sizeof(*formals));
	struct body body = { 0 };
	int ret = 0;

	(void)arg;
	if (!formals)
		return im_fail(im, -ENOMEM, "out of memory");
	for (i = 0; i < im->in_count; i++)
		if (im->in[i].sequence) {
			free(formals);
			return i < 2 ? im_fail(im, -EBADMSG, "input %u is a sequence", i) :
			       loop_unrolled(im);
		}
	formals[0].kind = FORMAL_ITERATION;
	formals[1].kind = FORMAL_CONDITION;
	for (i = 0; i < carried && !ret; i++) {
		if (!im->in[2 + i].here)
			ret = im_fail(im, -EBADMSG, "input %u is missing", 2 + i);
		formals[2 + i].outer = first[2 + i] = im->in[2 + i].value;
	}
	first[0] = im_input(im, 0)->here ? im->in[0].value : v_number(im, ACCEL_HOST_S64, 0x1p62);
	first[1] = im_input(im, 1)->here ? im->in[1].value : v_number(im, ACCEL_HOST_BOOL, 1);
	if (!ret)
		ret = im->error.code;
	if (!ret)
		ret = read_body(im, "body", formals, carried + 2, false, &body);
	if (!ret && (body.outputs < carried + 1 || body.outputs > MAX_IO))
		ret = im_fail(im, -EBADMSG, "its graph has %u results", body.outputs);
	if (!ret)
		ret = add_loop(im, &body, first, carried, out, body.outputs - 1);
	if (!ret)
		ret = im_give_all(im, out, body.outputs - 1);
	body_free(&body);
	free(formals);
	return ret;
}

static int64_t nth(const struct attr *a, uint32_t index)
{
	return a && index < a->int_count ? a->ints[index] : 0;
}

/* A list of a scan where, and in the order in which, it is wanted */
static uint32_t turn(struct import *im, uint32_t value, int64_t axis, bool reverse)
{
	uint32_t rank = v_rank(im, value), order[ACCEL_GRAPH_MAX_RANK], i, to = 0;

	if (reverse)
		value = v_slice(im, value, 0, -1, INT64_MIN, -1);
	if (im->error.code || im_axis(im, axis, rank, &to) || !to)
		return value;
	for (i = 0; i < rank; i++)
		order[i] = i == to ? 0 : i < to ? i + 1 : i;
	return v_transpose(im, value, order);
}

/* The loop of a scan; @out has room for MAX_IO, lists lie along a new first dimension. */
static int add_scan(struct import *im, const struct attr *axes, const struct attr *ways,
		    uint32_t *out, uint32_t *count)
{
	int64_t parts = im_int(im, "num_scan_inputs", 0);
	uint32_t first[MAX_IO + 2], i, carried;
	struct formal *formals;
	struct body body = { 0 };
	int ret = 0;

	if (parts < 1 || parts > im->in_count)
		return im_fail(im, -EBADMSG, "num_scan_inputs of %u inputs", im->in_count);
	carried = im->in_count - (uint32_t)parts;
	formals = calloc(im->in_count + 1, sizeof(*formals));
	if (!formals)
		return im_fail(im, -ENOMEM, "out of memory");
	for (i = 0; i < im->in_count && !ret; i++) {
		if (!im->in[i].here)
			ret = im_fail(im, -EBADMSG, "input %u is missing", i);
		formals[i].outer = im->in[i].value;
		if (i < carried) {
			first[2 + i] = im->in[i].value;
			continue;
		}
		formals[i].kind = FORMAL_SLICE;
		formals[i].reverse = nth(ways, i - carried);
		ret = im_axis(im, nth(axes, i - carried), im->in[i].rank, &formals[i].axis);
	}
	if (!ret)
		ret = read_body(im, "body", formals, im->in_count, true, &body);
	*count = body.outputs;
	if (!ret && (*count < carried || *count > MAX_IO))
		ret = im_fail(im, -EBADMSG, "its graph has %u results", *count);
	if (!ret) {
		i = formals[carried].axis;
		first[0] = v_shape_of(im, im->in[carried].value, i, (int64_t)i + 1);
		first[1] = v_number(im, ACCEL_HOST_BOOL, 1);
		ret = im->error.code;
	}
	if (!ret)
		ret = add_loop(im, &body, first, carried, out, *count);
	body_free(&body);
	free(formals);
	return ret;
}

/* A value without what lies behind the first @length of its first dimension */
static uint32_t cut(struct import *im, uint32_t value, uint32_t length)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	uint32_t zero = v_ints(im, 1, &(const int64_t) { 0 }), out = NO_VALUE;

	if (im->error.code)
		return NO_VALUE;
	im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, value }, { ACCEL_ARG_B, zero },
				 { ACCEL_ARG_C, length }, { ACCEL_ARG_AUX0, zero }), 5, &out);
	return out;
}

/* A list as long as @length, with zeros behind what it has */
static uint32_t lengthen(struct import *im, uint32_t list, uint32_t length)
{
	uint32_t shape[2] = { v_binary(im, ACCEL_BINARY_SUB, length, v_shape_of(im, list, 0, 1)) };
	uint32_t both[2] = { list };

	if (v_rank(im, list) > 1)
		shape[1] = v_shape_of(im, list, 1, INT64_MAX);
	shape[0] = v_concat(im, 0, v_rank(im, list) > 1 ? 2 : 1, shape);
	both[1] = v_fill(im, v_type(im, list), shape[0], 0);
	return v_concat(im, 0, 2, both);
}

/* One batch of a scan of version 8, in a graph that @im is the import of */
static void scan_batch(struct import *im, uint32_t carried, bool cuts, uint32_t *out,
		       uint32_t *count)
{
	const struct attr *ways = im_attr(im, "directions", ATTR_INTS);
	uint32_t whole = v_shape_of(im, im->in[im->in_count - 1].value, 0, 1), length, i;
	const int64_t zero = 0;

	if (cuts) {
		length = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, im->in[0].value, 1, &zero);
		length = v_with(im, ACCEL_BINARY_MAX, v_cast(im, length, ACCEL_HOST_S64), 0);
		memmove(im->in, im->in + 1, --im->in_count * sizeof(im->in[0]));
		for (i = carried; i < im->in_count && !im->error.code; i++)
			im_ref(im, cut(im, im->in[i].value, length), &im->in[i]);
	}
	if (im->error.code || add_scan(im, NULL, ways, out, count))
		return;
	for (i = carried; i < *count && cuts; i++)
		out[i] = lengthen(im, out[i], whole);
}

/*
 * Version 8 has batches along the first dimension, and is a scan of each, as far as sequence_lens
 * says if it is there.
 */
static int scan_batches(struct import *im, uint32_t *out, uint32_t *count)
{
	const bool cuts = im_input(im, 0)->here;
	const int64_t parts = im_int(im, "num_scan_inputs", 0);
	const uint32_t n = im->in_count, last = n ? n - 1 : 0;
	struct formal *formals = calloc(n + 1, sizeof(*formals));
	const struct accel_value none = ACCEL_VALUE_INIT;
	struct import *inner = NULL;
	uint32_t i, value, results[MAX_IO];
	char name[32];
	int ret = 0;

	if (!formals)
		return im_fail(im, -ENOMEM, "out of memory");
	if (parts < 1 || parts > last)
		ret = im_fail(im, -EBADMSG, "num_scan_inputs of %u inputs", last);
	for (i = !cuts; i < n && !ret; i++) {
		if (!im->in[i].here || im->in[i].rank < (i < n - parts ? 1 : 2))
			ret = im_fail(im, -EBADMSG, "input %u is missing, or has no batches", i);
		formals[i] = (struct formal) { .kind = FORMAL_SLICE, .outer = im->in[i].value };
	}
	if (!ret) {
		inner = inner_create(im, formals + !cuts, n - !cuts, true);
		ret = im->error.code;
	}
	if (inner) {
		memcpy(inner->op, im->op, sizeof(im->op));
		memcpy(inner->name, im->name, sizeof(im->name));
		memcpy(inner->attrs, im->attrs, sizeof(im->attrs));
		inner->attr_count = im->attr_count;
		for (i = !cuts; i < n && !inner->error.code; i++) {
			/* Symbols have the name of what they are of. */
			snprintf(name, sizeof(name), "batch %u", i);
			if (!im_formal(inner, name, &none, &value))
				im_ref(inner, value, &inner->in[inner->in_count++]);
		}
		if (!inner->error.code)
			scan_batch(inner, last - (uint32_t)parts, cuts, results, count);
		/* They are no values that one batch gives to the next. */
		inner->formal_count = 0;
		ret = im_repeat(im, inner, v_shape_of(im, im->in[last].value, 0, 1), results,
				*count, out);
	}
	free(formals);
	return ret;
}

static int scan(struct import *im, uint32_t arg)
{
	const bool old = im->opset < 9;
	const struct attr *axes = im_attr(im, "scan_output_axes", ATTR_INTS);
	const struct attr *ways = im_attr(im, "scan_output_directions", ATTR_INTS);
	const int64_t parts = im_int(im, "num_scan_inputs", 0);
	uint32_t out[MAX_IO] = { 0 }, i, count = 0;
	int ret = !im->out_count ? im_need(im, 0) : old ? scan_batches(im, out, &count) :
		  add_scan(im, im_attr(im, "scan_input_axes", ATTR_INTS),
			   im_attr(im, "scan_input_directions", ATTR_INTS), out, &count);

	(void)arg;
	for (i = im->in_count - (uint32_t)parts; i < count && !ret && !old; i++) {
		out[i] = turn(im, out[i], nth(axes, i + (uint32_t)parts - im->in_count),
			      nth(ways, i + (uint32_t)parts - im->in_count));
		ret = im->error.code;
	}
	return ret ? ret : im_give_all(im, out, count);
}

const struct op onnx_flow[] = { { "If", if_op, 0 },
				{ "Loop", loop, 0 },
				{ "Scan", scan, 0 },
				{ 0 } };
