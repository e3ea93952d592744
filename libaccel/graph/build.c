// SPDX-License-Identifier: MIT
/*
 * Graphs as callers describe them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libaccel/core/fpmode.h"
#include "graph.h"

static const struct {
	const char *name;
	uint32_t bits;
} host_types[] = {
	{ "int64", 64 }, { "uint64", 64 }, { "uint32", 32 }, { "int16", 16 }, { "uint16", 16 },
	{ "fp64", 64 }, { "bool", 8 }
};

const char *accel_type_name(uint32_t type)
{
	if (type >= ACCEL_HOST_S64 && type < ACCEL_HOST_TYPE_END)
		return host_types[type - ACCEL_HOST_S64].name;
	return type ? accel_dtype_name(type) : NULL;
}

uint32_t accel_type_bits(uint32_t type)
{
	if (type >= ACCEL_HOST_S64 && type < ACCEL_HOST_TYPE_END)
		return host_types[type - ACCEL_HOST_S64].bits;
	return accel_dtype_bits(type);
}

/* --- constants --------------------------------------------------------------------- */

struct blob *blob_create(const void *data, uint64_t bytes, void (*release)(void *), void *user)
{
	struct blob *blob = calloc(1, sizeof(*blob));

	if (!blob)
		return NULL;
	atomic_init(&blob->refs, 1);
	blob->data = data;
	blob->bytes = bytes;
	blob->release = release;
	blob->user = user;
	return blob;
}

struct blob *blob_ref(struct blob *blob)
{
	atomic_fetch_add_explicit(&blob->refs, 1, memory_order_relaxed);
	return blob;
}

/* Less than this stays: to call the kernel and to bring the pages back costs more. */
#define REST_BYTES	(1u << 18)

/**
 * blob_rest - let the pages of data that will not be read for a while go
 * @blob: data
 *
 * Pages of a file go, but for those that others have a part of, and small data; they come back
 * by themselves.
 */
void blob_rest(const struct blob *blob)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)blob->data + page - 1) / page * page;
	uintptr_t end = ((uintptr_t)blob->data + blob->bytes) / page * page;

	if (blob->mapped && first < end && blob->bytes >= REST_BYTES)
		madvise((void *)first, end - first, MADV_DONTNEED);
}

void blob_unref(struct blob *blob)
{
	if (!blob || atomic_fetch_sub_explicit(&blob->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (blob->release)
		blob->release(blob->user);
	free(blob);
}

/* --- the graph --------------------------------------------------------------------- */

int graph_fail(struct accel_graph *graph, int code, const char *field, const char *fmt, ...)
{
	struct accel_error *e = &graph->error;
	va_list ap;

	*e = (struct accel_error)ACCEL_ERROR_INIT;
	e->code = code;
	e->op_index = UINT32_MAX;
	snprintf(e->field, sizeof(e->field), "%s", field ? field : "");
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return code;
}

int graph_nomem(struct accel_graph *graph)
{
	return graph_fail(graph, -ENOMEM, NULL, "out of memory");
}

int accel_graph_create(struct accel_graph **out)
{
	struct accel_graph *graph;

	if (!out)
		return -EINVAL;
	graph = calloc(1, sizeof(*graph));
	if (!graph)
		return -ENOMEM;
	atomic_init(&graph->refs, 1);
	atomic_init(&graph->frozen, false);
	graph->error.size = sizeof(graph->error);
	*out = graph;
	return 0;
}

struct accel_graph *graph_ref(struct accel_graph *graph)
{
	atomic_fetch_add_explicit(&graph->refs, 1, memory_order_relaxed);
	return graph;
}

void accel_graph_destroy(struct accel_graph *graph)
{
	uint32_t i;

	if (!graph || atomic_fetch_sub_explicit(&graph->refs, 1, memory_order_acq_rel) != 1)
		return;
	net_free(graph->example);
	net_free(graph->other);
	for (i = 0; i < graph->symbol_count; i++)
		free(graph->symbols[i].name);
	for (i = 0; i < graph->value_count; i++) {
		free(graph->values[i].name);
		blob_unref(graph->values[i].blob);
	}
	for (i = 0; i < graph->node_count; i++) {
		free(graph->nodes[i].name);
		free(graph->nodes[i].desc);
		free(graph->nodes[i].args);
		if (!graph->nodes[i].dynamic)
			continue;
		accel_graph_destroy(graph->nodes[i].dynamic->body[0]);
		accel_graph_destroy(graph->nodes[i].dynamic->body[1]);
		free(graph->nodes[i].dynamic);
	}
	for (i = 0; i < graph->output_count; i++)
		free(graph->outputs[i].name);
	for (i = 0; i < graph->source_count; i++)
		free(graph->sources[i]);
	for (i = 0; i < graph->added_count; i++)
		operator_node_free(graph->added[i]);
	free(graph->added);
	free(graph->sources);
	free(graph->symbols);
	free(graph->values);
	free(graph->nodes);
	free(graph->inputs);
	free(graph->outputs);
	free(graph);
}

int accel_graph_get_error(struct accel_graph *graph, struct accel_error *error)
{
	if (!graph)
		return -EINVAL;
	return struct_out(error, &graph->error, sizeof(graph->error), sizeof(graph->error));
}

int graph_open(struct accel_graph *graph)
{
	if (!graph)
		return -EINVAL;
	if (atomic_load_explicit(&graph->frozen, memory_order_relaxed))
		return graph_fail(graph, -EBUSY, "graph", "it was compiled and does not change");
	return 0;
}

uint32_t symbol_index(int64_t dim)
{
	return (uint32_t)(-1 - dim);
}

int accel_graph_symbol(struct accel_graph *graph, const char *name, int64_t min, int64_t max,
		       int64_t *dim)
{
	struct symbol *s;
	uint32_t i;
	int ret = graph_open(graph);

	if (ret)
		return ret;
	if (!dim)
		return graph_fail(graph, -EINVAL, "dim", "NULL");
	if (!name || min < 0 || max < min || max > MAX_ELEMENTS)
		return graph_fail(graph, -EINVAL, "symbol", "%s is from %" PRId64 " to %" PRId64,
				  name ? name : "NULL", min, max);
	for (i = 0; i < graph->symbol_count && strcmp(graph->symbols[i].name, name); i++)
		;
	*dim = -1 - (int64_t)i;
	if (i < graph->symbol_count) {
		s = &graph->symbols[i];
		if ((min > s->min ? min : s->min) > (max < s->max ? max : s->max))
			return graph_fail(graph, -EINVAL, "symbol", "nothing is left for %s", name);
		s->min = min > s->min ? min : s->min;
		s->max = max < s->max ? max : s->max;
		return 0;
	}
	s = realloc(graph->symbols, (i + 1) * sizeof(*s));
	if (!s)
		return graph_nomem(graph);
	graph->symbols = s;
	s[i] = (struct symbol) { strdup(name), min, max };
	if (!s[i].name)
		return graph_nomem(graph);
	graph->symbol_count++;
	return 0;
}

static int check_value(struct accel_graph *graph, const struct accel_value *desc, bool symbols)
{
	int64_t dims[MAX_RANK];
	uint32_t i;

	if (!desc || desc->size < sizeof(*desc))
		return graph_fail(graph, -EINVAL, "value.size", "shorter than the first version");
	if (!accel_type_bits(desc->type) && (symbols || !type_is_blocks(desc->type)))
		return graph_fail(graph, -EINVAL, "value.type", "%u is no type%s", desc->type,
				  type_is_blocks(desc->type) ? " of inputs" : "");
	if (desc->rank > MAX_RANK)
		return graph_fail(graph, -EINVAL, "value.rank",
				  "%s: %u dimensions, but there are at most %d",
				  desc->name ? desc->name : "", desc->rank, MAX_RANK);
	for (i = 0; i < desc->rank; i++) {
		if (desc->dims[i] > MAX_ELEMENTS ||
		    (desc->dims[i] < 0 &&
		     (!symbols || -1 - desc->dims[i] >= (int64_t)graph->symbol_count)))
			return graph_fail(graph, -EINVAL, "value.dims",
					  "%s: dimension %u is %" PRId64,
					  desc->name ? desc->name : "", i, desc->dims[i]);
		dims[i] = desc->dims[i] < 0 ? 1 : desc->dims[i];
	}
	if (!dims_fit(desc->rank, dims))
		return graph_fail(graph, -EOVERFLOW, "value.dims", "%s: too many elements",
				  desc->name ? desc->name : "");
	if (type_is_blocks(desc->type)) {
		accel_dtype_block(desc->type, &i);
		if (!desc->rank || desc->dims[desc->rank - 1] % i)
			return graph_fail(graph, -EINVAL, "value.dims",
					  "%s: its rows end within blocks of %u",
					  desc->name ? desc->name : "", i);
	}
	return 0;
}

/* A new value, NULL: no memory. */
struct graph_value *graph_add_value(struct accel_graph *graph, const char *name)
{
	struct graph_value *v;

	if (!list_grow(&graph->values, graph->value_count, &graph->value_cap, sizeof(*v)))
		return NULL;
	v = &graph->values[graph->value_count];
	memset(v, 0, sizeof(*v));
	v->input = NO_VALUE;
	if (name) {
		v->name = strdup(name);
		if (!v->name)
			return NULL;
	}
	graph->value_count++;
	return v;
}

static void describe(struct graph_value *v, const struct accel_value *desc)
{
	v->known = true;
	v->type = desc->type;
	v->rank = desc->rank;
	memcpy(v->dims, desc->dims, sizeof(v->dims));
}

int accel_graph_input(struct accel_graph *graph, const struct accel_value *desc, uint32_t *value)
{
	struct graph_value *v;
	uint32_t *inputs;
	int ret = graph_open(graph);

	if (!ret)
		ret = check_value(graph, desc, true);
	if (ret)
		return ret;
	if (!value)
		return graph_fail(graph, -EINVAL, "value", "NULL");
	inputs = realloc(graph->inputs, (graph->input_count + 1) * sizeof(*inputs));
	if (!inputs)
		return graph_nomem(graph);
	graph->inputs = inputs;
	v = graph_add_value(graph, desc->name);
	if (!v)
		return graph_nomem(graph);
	describe(v, desc);
	*value = graph->value_count - 1;
	v->input = graph->input_count;
	graph->inputs[graph->input_count++] = *value;
	return 0;
}

int accel_graph_constant(struct accel_graph *graph, const struct accel_value *desc,
			 const void *data, void (*release)(void *user), void *user,
			 uint32_t *value)
{
	FP_MODE_SCOPE();
	uint64_t elements = 1;
	struct graph_value *v;
	struct blob *blob;
	uint32_t i;
	int ret = graph_open(graph);

	if (!ret)
		ret = check_value(graph, desc, false);
	if (ret)
		return ret;
	if (!value)
		return graph_fail(graph, -EINVAL, "value", "NULL");
	for (i = 0; i < desc->rank; i++)
		elements *= (uint64_t)desc->dims[i];
	if (elements && !data)
		return graph_fail(graph, -EINVAL, "data", "NULL");
	if (desc->flags & ~ACCEL_VALUE_MAPPED)
		return graph_fail(graph, -EINVAL, "flags", "unknown flags 0x%x", desc->flags);
	blob = blob_create(data, type_bytes(desc->type, elements), NULL, user);
	if (!blob)
		return graph_nomem(graph);
	v = graph_add_value(graph, desc->name);
	if (!v) {
		blob_unref(blob);
		return graph_nomem(graph);
	}
	blob->release = release;
	blob->mapped = desc->flags & ACCEL_VALUE_MAPPED;
	describe(v, desc);
	v->blob = blob;
	*value = graph->value_count - 1;
	return 0;
}

int accel_graph_constant_file(struct accel_graph *graph, uint32_t value,
			      const struct accel_file_stamp *stamp, uint64_t offset)
{
	struct blob *blob = NULL;
	int ret = graph_open(graph);

	if (ret)
		return ret;
	if (value < graph->value_count)
		blob = graph->values[value].blob;
	if (!blob || !blob->mapped)
		return graph_fail(graph, -EINVAL, "value", "%u is no constant with ACCEL_VALUE_MAPPED",
				  value);
	if (!stamp)
		return graph_fail(graph, -EINVAL, "stamp", "NULL");
	blob->place = (struct file_place) { *stamp, offset };
	return 0;
}

/* Is @arg one that the operation has? *result: it is written. */
static bool has_arg(union node_desc *desc, uint32_t arg, bool *result)
{
	const struct accel_tensor *t;

	if (is_shape_op(desc->hdr.op)) {
		*result = arg == ACCEL_ARG_D;
		return arg < ACCEL_ARG_COUNT && (shape_args(desc->hdr.op) >> arg & 1);
	}
	*result = false;
	if (!is_table(arg))
		return (arg < ACCEL_ARG_COUNT &&
			((late_args(desc->hdr.op) | over_args(desc->hdr.op)) >> arg & 1)) ||
		       desc_field(&desc->any, arg, result);
	t = desc_field(&desc->any, arg & ~(uint32_t)ARG_TABLES, NULL);
	return t && t->quant.scheme >= ACCEL_QUANT_CHANNEL && (arg & ARG_TABLES) != ARG_TABLES;
}

static int check_args(struct accel_graph *graph, union node_desc *desc,
		      const struct accel_graph_arg *args, uint32_t count)
{
	const char *op = node_op_name(desc->hdr.op);
	uint64_t seen = 0, bit;
	uint32_t i, over;
	bool result;

	for (i = 0; i < count; i++) {
		if (!has_arg(desc, args[i].arg, &result))
			return graph_fail(graph, -EINVAL, "args", "%s has no argument 0x%x", op,
					  args[i].arg);
		/* An argument and its two tables */
		bit = 1ull << ((args[i].arg & 15) + args[i].arg / ACCEL_ARG_SCALES * 16);
		if (seen & bit)
			return graph_fail(graph, -EINVAL, "args", "%s: argument %u twice", op,
					  args[i].arg);
		seen |= bit;
		if (result ? args[i].value != ACCEL_VALUE_NEW : args[i].value >= graph->value_count)
			return graph_fail(graph, -EINVAL, "args", "%s: %s", op, result ?
					  "a result is a new value" : "there is no such value");
	}
	if (!(seen >> ACCEL_ARG_D & 1))
		return graph_fail(graph, -EINVAL, "args", "%s has no result", op);
	for (i = 0; i < ACCEL_ARG_COUNT; i++) {
		over = over_arg(desc->hdr.op, i);
		if (over != NO_VALUE && (seen >> i & 1) != (seen >> over & 1))
			return graph_fail(graph, -EINVAL, "args",
					  "%s: argument %u is written over argument %u", op, i,
					  over);
	}
	return 0;
}

int accel_graph_add(struct accel_graph *graph, const char *name, const struct accel_desc *hdr,
		    struct accel_graph_arg *args, uint32_t count)
{
	FP_MODE_SCOPE();
	struct graph_node *node;
	union node_desc *desc;
	uint32_t i, size, first;
	bool result;
	int ret = graph_open(graph);

	if (ret)
		return ret;
	if (!hdr || (count && !args))
		return graph_fail(graph, -EINVAL, hdr ? "args" : "desc", "NULL");
	size = hdr->op == ACCEL_OP_ADDED ? 0 : desc_size(hdr->op);
	first = graph->value_count;
	if (!size)
		return graph_fail(graph, -EINVAL, "desc.op", "%u is no operation", hdr->op);
	if (count > NODE_MAX_ARGS)
		return graph_fail(graph, -EINVAL, "args", "too many");
	if (!list_grow(&graph->nodes, graph->node_count, &graph->node_cap, sizeof(*node)))
		return graph_nomem(graph);
	desc = calloc(1, size);
	if (!desc)
		return graph_nomem(graph);
	ret = struct_in(desc, size, hdr, size);
	desc->hdr.size = size;
	if (ret)
		ret = graph_fail(graph, ret, "desc.size", "%s: not a size that is known",
				 node_op_name(hdr->op));
	if (!ret)
		ret = check_args(graph, desc, args, count);
	if (ret)
		goto err_desc;
	node = &graph->nodes[graph->node_count];
	*node = (struct graph_node) { .source = graph->source };
	node->args = malloc((count + !count) * sizeof(*args));
	if (name)
		node->name = strdup(name);
	if (!node->args || (name && !node->name))
		goto err_node;
	memcpy(node->args, args, count * sizeof(*args));
	for (i = 0; i < count; i++) {
		has_arg(desc, args[i].arg, &result);
		if (!result)
			continue;
		node->args[i].value = graph->value_count;
		if (!graph_add_value(graph, NULL))
			goto err_node;
	}
	memcpy(args, node->args, count * sizeof(*args));
	node->desc = desc;
	node->arg_count = count;
	graph->node_count++;
	return 0;

err_node:
	free(node->name);
	free(node->args);
	graph->value_count = first;
	ret = graph_nomem(graph);
err_desc:
	free(desc);
	return ret;
}

/* As many values as its graphs take and give? */
static int check_dynamic(struct accel_graph *graph, const struct accel_dynamic_desc *d,
			 uint32_t in_count, uint32_t out_count)
{
	static const uint32_t in[] = { 1, 2, 1, 1, 5 }, out[] = { 1, 1, 1, 4, 1 };
	const struct accel_graph *body = d->body, *other = d->other;
	bool good;

	if (d->op < ACCEL_DYNAMIC_IF || d->op > ACCEL_DYNAMIC_NMS || d->pad)
		return graph_fail(graph, -EINVAL, "desc.op", "%u is no operation", d->op);
	if (body == graph || other == graph || (body && body == other) ||
	    (body && d->op > ACCEL_DYNAMIC_LOOP) || (other && d->op != ACCEL_DYNAMIC_IF))
		return graph_fail(graph, -EINVAL, "desc.body", "%s: not graphs of its own",
				  node_op_name(d->op));
	if (d->op == ACCEL_DYNAMIC_IF)
		good = body && other && body->output_count == out_count &&
		       other->output_count == out_count && in_count >= 1 &&
		       in_count - 1 == body->input_count + other->input_count;
	else if (d->op == ACCEL_DYNAMIC_LOOP)
		good = body && in_count >= 2 && in_count == body->input_count &&
		       d->carried <= in_count - 2 && d->carried <= out_count &&
		       body->output_count == out_count + 1;
	else
		good = in_count == in[d->op - ACCEL_DYNAMIC_IF] &&
		       out_count == out[d->op - ACCEL_DYNAMIC_IF];
	return good ? 0 : graph_fail(graph, -EINVAL, "args", "%s: %u values in, %u out",
				     node_op_name(d->op), in_count, out_count);
}

/* The graphs of a node are resolved, and do not change any more. */
static int close_body(struct accel_graph *graph, struct accel_graph *body)
{
	int ret = body ? graph_example(body) : 0;
	uint32_t i;

	if (body)
		atomic_store_explicit(&body->frozen, true, memory_order_relaxed);
	if (ret)
		graph->error = body->error;
	/* Its inputs lie where this graph's values do, which nobody else may change. */
	for (i = 0; body && !ret && i < body->node_count; i++)
		if (over_args(body->nodes[i].desc->hdr.op))
			ret = graph_fail(graph, -EOPNOTSUPP, "desc.body",
					 "%s writes over an input of a graph that a node runs",
					 node_op_name(body->nodes[i].desc->hdr.op));
	return ret;
}

static int add_dynamic(struct accel_graph *graph, const char *name, struct graph_dynamic *dynamic,
		       const uint32_t *in, uint32_t *out, uint32_t out_count)
{
	uint32_t i, count = dynamic->in_count + out_count, first = graph->value_count;
	struct graph_node *node;

	if (!list_grow(&graph->nodes, graph->node_count, &graph->node_cap, sizeof(*node)))
		goto full;
	node = &graph->nodes[graph->node_count];
	*node = (struct graph_node) { .source = graph->source };
	node->args = calloc(count + !count, sizeof(*node->args));
	node->desc = calloc(1, sizeof(*node->desc));
	if (name)
		node->name = strdup(name);
	if (!node->args || !node->desc || (name && !node->name))
		goto err;
	node->desc->hdr.size = sizeof(node->desc->hdr);
	node->desc->hdr.op = dynamic->d.op;
	for (i = 0; i < count; i++) {
		if (i >= dynamic->in_count && !graph_add_value(graph, NULL))
			goto err;
		node->args[i].value = i < dynamic->in_count ? in[i] : graph->value_count - 1;
		if (i >= dynamic->in_count)
			out[i - dynamic->in_count] = node->args[i].value;
	}
	node->arg_count = count;
	node->dynamic = dynamic;
	graph->node_count++;
	return 0;
err:
	free(node->name);
	free(node->args);
	free(node->desc);
	graph->value_count = first;
full:
	graph_nomem(graph);
	return -ENOMEM;
}

int accel_graph_dynamic(struct accel_graph *graph, const char *name,
			const struct accel_dynamic_desc *desc, const uint32_t *in,
			uint32_t in_count, uint32_t *out, uint32_t out_count)
{
	FP_MODE_SCOPE();
	struct accel_dynamic_desc d = { 0 };
	struct graph_dynamic *dynamic;
	uint32_t i;
	int ret = graph_open(graph);

	if (!graph)
		return ret;
	if (!ret && (!desc || !in || !out))
		ret = graph_fail(graph, -EINVAL, desc ? "args" : "desc", "NULL");
	if (!ret && struct_in(&d, sizeof(d), desc, sizeof(d)))
		ret = graph_fail(graph, -EINVAL, "desc.size", "not a size that is known");
	for (i = 0; in && i < in_count && !ret; i++)
		if (in[i] >= graph->value_count)
			ret = graph_fail(graph, -EINVAL, "args", "there is no value %u", in[i]);
	if (!ret)
		ret = check_dynamic(graph, &d, in_count, out_count);
	if (!ret)
		ret = close_body(graph, d.body);
	if (!ret)
		ret = close_body(graph, d.other);
	dynamic = ret ? NULL : calloc(1, sizeof(*dynamic));
	if (dynamic) {
		*dynamic = (struct graph_dynamic) {
			.d = d, .body = { d.body, d.other }, .in_count = in_count
		};
		ret = add_dynamic(graph, name, dynamic, in, out, out_count);
	} else if (!ret) {
		ret = graph_nomem(graph);
	}
	if (ret) {
		if (d.body != graph)
			accel_graph_destroy(d.body);
		if (d.other != graph && d.other != d.body)
			accel_graph_destroy(d.other);
		free(dynamic);
	}
	return ret;
}

int accel_graph_output(struct accel_graph *graph, const char *name, uint32_t value)
{
	struct graph_output *outputs, *o;
	int ret = graph_open(graph);

	if (ret)
		return ret;
	if (value >= graph->value_count)
		return graph_fail(graph, -EINVAL, "value", "there is no value %u", value);
	outputs = realloc(graph->outputs, (graph->output_count + 1) * sizeof(*outputs));
	if (!outputs)
		return graph_nomem(graph);
	graph->outputs = outputs;
	if (!name)
		name = graph->values[value].name;
	o = &outputs[graph->output_count];
	*o = (struct graph_output) { name ? strdup(name) : NULL, value };
	if (name && !o->name)
		return graph_nomem(graph);
	graph->output_count++;
	return 0;
}

/* The example has the value; an error is the graph's. */
static int look_at(struct accel_graph *graph, uint32_t value)
{
	if (value >= graph->value_count)
		return graph_fail(graph, -EINVAL, "value", "there is no value %u", value);
	if (graph->example && value < graph->example->values_taken)
		return 0;
	return graph_example(graph);
}

int accel_graph_varies(struct accel_graph *graph, uint32_t value, uint32_t dim)
{
	int ret;

	if (!graph)
		return -EINVAL;
	ret = look_at(graph, value);
	if (ret)
		return ret;
	if (dim >= graph->example->values[graph->example->map[value]].rank)
		return graph_fail(graph, -EINVAL, "dim", "there is no dimension %u", dim);
	return graph_varies(graph, value, dim);
}

int accel_graph_get_value(struct accel_graph *graph, uint32_t value, struct accel_value *out)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	const struct value *from;
	int ret;

	if (!graph || !out)
		return -EINVAL;
	ret = look_at(graph, value);
	if (ret)
		return ret;
	from = &graph->example->values[graph->example->map[value]];
	v.type = from->type;
	v.rank = from->rank;
	memcpy(v.dims, from->dims, sizeof(v.dims));
	v.name = graph->values[value].name;
	return struct_out(out, &v, sizeof(v), sizeof(v));
}
