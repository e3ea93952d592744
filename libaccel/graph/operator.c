// SPDX-License-Identifier: MIT
/*
 * Operators that users add: sets of them, and what nodes say beside their values.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

#define MAX_OPERATORS	4096
#define MAX_NAME	127
#define MAX_ATTRS	256
/* All attributes of a node together: numbers that are larger are constants. */
#define MAX_ATTR_BYTES	(64ull << 20)
/* Attributes are aligned for any element. */
#define ATTR_ALIGN	16

/**
 * struct accel_operators - a set of operators
 * @refs: references: nobody takes another one yet
 * @list: operators
 * @count: their number
 * @cap: room in @list
 */
struct accel_operators {
	atomic_uint refs;
	struct operator **list;
	uint32_t count;
	uint32_t cap;
};

static int __attribute__((format(printf, 4, 5)))
set_fail(struct accel_error *error, int code, const char *field, const char *fmt, ...)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	va_list ap;

	e.code = code;
	e.op_index = UINT32_MAX;
	snprintf(e.field, sizeof(e.field), "%s", field);
	va_start(ap, fmt);
	vsnprintf(e.text, sizeof(e.text), fmt, ap);
	va_end(ap);
	if (error)
		struct_out(error, &e, sizeof(e), sizeof(e));
	return code;
}

/* --- operators --------------------------------------------------------------------- */

static struct operator *operator_ref(struct operator *op)
{
	atomic_fetch_add_explicit(&op->refs, 1, memory_order_relaxed);
	return op;
}

static void operator_unref(struct operator *op)
{
	if (!op || atomic_fetch_sub_explicit(&op->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (op->d.release)
		op->d.release(op->d.user);
	free(op->label);
	free(op);
}

/* The default domain has two names, and none. */
static const char *plain_domain(const char *domain)
{
	return !domain || !strcmp(domain, "ai.onnx") ? "" : domain;
}

/* Names stand in messages, documents and files as they are. */
static bool good_name(const char *name)
{
	size_t i;
	char c;

	for (i = 0; name[i]; i++) {
		c = name[i];
		if (i == MAX_NAME || !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				       (c >= '0' && c <= '9') || strchr("._-:/", c)))
			return false;
	}
	return true;
}

static int check_operator(const struct accel_operator *d, struct accel_error *error)
{
	const uint32_t most = ACCEL_OPERATOR_MAX_VALUES;

	if (d->flags & ~ACCEL_OPERATOR_REPLACE)
		return set_fail(error, -EINVAL, "flags", "unknown flags 0x%x", d->flags);
	if (!d->name || !d->name[0] || !good_name(d->name))
		return set_fail(error, -EINVAL, "name", "\"%.130s\" is no name", d->name ?
				d->name : "");
	if (!good_name(plain_domain(d->domain)))
		return set_fail(error, -EINVAL, "domain", "\"%.130s\" is none", d->domain);
	if (d->since > INT32_MAX)
		return set_fail(error, -EINVAL, "since", "%u is no version", d->since);
	if (d->max_inputs > most - 1 || d->min_inputs > d->max_inputs)
		return set_fail(error, -EINVAL, "min_inputs", "from %u to %u inputs, of %u at most",
				d->min_inputs, d->max_inputs, most - 1);
	if (d->max_outputs > most || d->min_outputs > d->max_outputs ||
	    d->min_inputs + d->min_outputs > most)
		return set_fail(error, -EINVAL, "min_outputs",
				"from %u to %u results beside %u inputs, of %u at most",
				d->min_outputs, d->max_outputs, d->min_inputs, most);
	if (d->known_inputs >> d->max_inputs)
		return set_fail(error, -EINVAL, "known_inputs", "0x%x, of %u inputs",
				d->known_inputs, d->max_inputs);
	if (!d->infer || !d->compute)
		return set_fail(error, -EINVAL, d->infer ? "compute" : "infer", "NULL");
	return 0;
}

static struct operator *operator_create(const struct accel_operator *d)
{
	struct operator *op = calloc(1, sizeof(*op));
	const char *domain = plain_domain(d->domain);

	if (!op)
		return NULL;
	atomic_init(&op->refs, 1);
	op->d = *d;
	/* Both names in one, and the domain by itself behind it */
	if (asprintf(&op->label, "%s%s%s%c%s", domain, domain[0] ? "." : "", d->name, 0,
		     domain) < 0) {
		free(op);
		return NULL;
	}
	op->d.name = op->label + (domain[0] ? strlen(domain) + 1 : 0);
	op->d.domain = op->label + strlen(op->label) + 1;
	return op;
}

int accel_operators_create(struct accel_operators **out)
{
	struct accel_operators *set;

	if (!out)
		return -EINVAL;
	set = calloc(1, sizeof(*set));
	if (!set)
		return -ENOMEM;
	atomic_init(&set->refs, 1);
	*out = set;
	return 0;
}

void accel_operators_unref(struct accel_operators *set)
{
	uint32_t i;

	if (!set || atomic_fetch_sub_explicit(&set->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (i = 0; i < set->count; i++)
		operator_unref(set->list[i]);
	free(set->list);
	free(set);
}

int accel_operators_add(struct accel_operators *set, const struct accel_operator *from,
			struct accel_error *error)
{
	struct accel_operator d = { 0 };
	uint32_t i;
	int ret;

	if (!set || !from)
		return set_fail(error, -EINVAL, set ? "op" : "operators", "NULL");
	ret = struct_in(&d, sizeof(d), from, sizeof(d));
	if (ret)
		return set_fail(error, ret, "size", "not a size that is known");
	d.since += !d.since;
	d.min_outputs += !d.min_outputs;
	if (!d.max_inputs)
		d.max_inputs = ACCEL_OPERATOR_MAX_VALUES - 1;
	if (!d.max_outputs)
		d.max_outputs = ACCEL_OPERATOR_MAX_VALUES;
	ret = check_operator(&d, error);
	if (ret)
		return ret;
	for (i = 0; i < set->count; i++)
		if (set->list[i]->d.since == d.since && !strcmp(set->list[i]->d.name, d.name) &&
		    !strcmp(set->list[i]->d.domain, plain_domain(d.domain)))
			return set_fail(error, -EEXIST, "name", "%s of version %u is there already",
					set->list[i]->label, d.since);
	if (set->count == MAX_OPERATORS)
		return set_fail(error, -E2BIG, "operators", "more than %d", MAX_OPERATORS);
	if (!list_grow(&set->list, set->count, &set->cap, sizeof(struct operator *)))
		return set_fail(error, -ENOMEM, "", "out of memory");
	set->list[set->count] = operator_create(&d);
	if (!set->list[set->count])
		return set_fail(error, -ENOMEM, "", "out of memory");
	set->count++;
	return 0;
}

/* The newest that is not newer than @version; NULL: there is none */
struct operator *operator_find(const struct accel_operators *set, const char *domain,
			       const char *name, uint32_t version)
{
	struct operator *best = NULL;
	uint32_t i;

	for (i = 0; set && i < set->count; i++) {
		struct operator *op = set->list[i];

		if (op->d.since <= version && (!best || op->d.since > best->d.since) &&
		    !strcmp(op->d.name, name) && !strcmp(op->d.domain, plain_domain(domain)))
			best = op;
	}
	return best;
}

uint32_t accel_operators_find(const struct accel_operators *set, const char *domain,
			      const char *name, uint32_t version, uint32_t *flags)
{
	const struct operator *op = name ? operator_find(set, domain, name, version) : NULL;

	if (op && flags)
		*flags = op->d.flags;
	return op ? op->d.since : 0;
}

/* --- attributes -------------------------------------------------------------------- */

/* Bytes of an element, 0: not of whole bytes, or no type */
uint32_t operator_type_bytes(uint32_t type)
{
	return type_is_blocks(type) ? 0 : accel_type_bits(type) / 8;
}

/* Bytes of an attribute's data; false: it is none */
bool operator_attr_bytes(const struct accel_attr *a, uint64_t *bytes)
{
	uint64_t size = 0;
	uint32_t i;

	*bytes = 0;
	if (!a->name || a->pad)
		return false;
	switch (a->type) {
	case ACCEL_ATTR_INT:
		*bytes = sizeof(int64_t);
		break;
	case ACCEL_ATTR_FLOAT:
		*bytes = sizeof(float);
		break;
	case ACCEL_ATTR_STRING:
	case ACCEL_ATTR_INTS:
	case ACCEL_ATTR_FLOATS:
		size = a->type == ACCEL_ATTR_STRING ? 1 : a->type == ACCEL_ATTR_INTS ? 8 : 4;
		/* What is too much is for who adds up; nothing overflows here. */
		if (a->count > 1ull << 40)
			return false;
		*bytes = a->count * size;
		break;
	case ACCEL_ATTR_TENSOR:
		if (!a->tensor || a->tensor->size < sizeof(*a->tensor) ||
		    !dims_fit(a->tensor->rank, a->tensor->dims))
			return false;
		*bytes = operator_type_bytes(a->tensor->type);
		for (i = 0; i < a->tensor->rank; i++)
			*bytes *= (uint64_t)a->tensor->dims[i];
		if (!operator_type_bytes(a->tensor->type))
			return false;
		break;
	default:
		return false;
	}
	return a->data || !*bytes;
}

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + ATTR_ALIGN - 1) / ATTR_ALIGN * ATTR_ALIGN;
}

static void copy_attr(struct operator_attr *to, const struct accel_attr *a, uint64_t bytes,
		      char *name, char *data)
{
	struct accel_call_value *v = &to->value;
	uint32_t i;

	memcpy(name, a->name, strlen(a->name) + 1);
	if (bytes)
		memcpy(data, a->data, bytes);
	data[bytes] = 0;
	*to = (struct operator_attr) { .name = name, .type = a->type, .bytes = bytes };
	*v = (struct accel_call_value) { .size = sizeof(*v), .count = a->count, .data = data };
	if (a->type != ACCEL_ATTR_TENSOR)
		return;
	v->type = a->tensor->type;
	v->rank = a->tensor->rank;
	for (i = 0, v->count = 1; i < v->rank; i++) {
		v->dims[i] = a->tensor->dims[i];
		v->count *= (uint64_t)v->dims[i];
	}
}

/**
 * operator_node_create - what a node says beside its values
 * @op: operator
 * @d: description, checked for its size
 * @in_count: inputs
 * @out_count: results
 * @out: out
 * @field: out: which part of @d or which count is wrong
 *
 * Return: 0; -EINVAL, -E2BIG, -ENOMEM.
 */
int operator_node_create(struct operator *op, const struct accel_operator_desc *d,
			 uint32_t in_count, uint32_t out_count, struct operator_node **out,
			 const char **field)
{
	struct operator_node *n;
	uint64_t bytes, data = 0, all = 0;
	uint32_t i, k;
	char *p;

	*field = "in";
	if (in_count < op->d.min_inputs || in_count > op->d.max_inputs)
		return -EINVAL;
	*field = "out";
	if (out_count < op->d.min_outputs || out_count > op->d.max_outputs ||
	    in_count + out_count > ACCEL_OPERATOR_MAX_VALUES)
		return -EINVAL;
	*field = "attrs";
	if (d->attr_count > MAX_ATTRS)
		return -E2BIG;
	for (i = 0; i < d->attr_count; i++) {
		if (!operator_attr_bytes(&d->attrs[i], &bytes))
			return -EINVAL;
		for (k = 0; k < i; k++)
			if (!strcmp(d->attrs[k].name, d->attrs[i].name))
				return -EINVAL;
		data += bytes;
		if (data > MAX_ATTR_BYTES)
			return -E2BIG;
		all += aligned(bytes + 1) + aligned(strlen(d->attrs[i].name) + 1);
	}
	n = aligned_alloc(ATTR_ALIGN, aligned(sizeof(*n) + d->attr_count * sizeof(n->attrs[0])) +
			  all);
	if (!n)
		return -ENOMEM;
	*n = (struct operator_node) {
		.op = operator_ref(op), .version = d->version, .in_count = in_count,
		.out_count = out_count, .attr_count = d->attr_count,
	};
	p = (char *)n + aligned(sizeof(*n) + d->attr_count * sizeof(n->attrs[0]));
	for (i = 0; i < d->attr_count; i++) {
		operator_attr_bytes(&d->attrs[i], &bytes);
		copy_attr(&n->attrs[i], &d->attrs[i], bytes, p + aligned(bytes + 1), p);
		p += aligned(bytes + 1) + aligned(strlen(d->attrs[i].name) + 1);
	}
	*out = n;
	return 0;
}

void operator_node_free(struct operator_node *node)
{
	if (!node)
		return;
	operator_unref(node->op);
	free(node);
}

/* --- nodes of graphs --------------------------------------------------------------- */

/* What a node says is a graph's from now on, also if there is no memory. */
bool graph_owns(struct accel_graph *graph, struct operator_node *added)
{
	if (!list_grow(&graph->added, graph->added_count, &graph->added_cap,
		       sizeof(struct operator_node *))) {
		operator_node_free(added);
		return false;
	}
	graph->added[graph->added_count++] = added;
	return true;
}

/**
 * graph_add_operator - a node of an operator that a user added
 * @graph: graph, which has @added
 * @name: name, or NULL
 * @added: what it says
 * @in: its inputs, or ACCEL_VALUE_NONE
 * @out: out: its results
 *
 * Return: 0, or the error that the graph has.
 */
int graph_add_operator(struct accel_graph *graph, const char *name,
		       const struct operator_node *added, const uint32_t *in, uint32_t *out)
{
	const uint32_t count = added->in_count + added->out_count, first = graph->value_count;
	struct graph_node *node;
	uint32_t i;

	for (i = 0; i < added->in_count; i++) {
		if (in[i] == ACCEL_VALUE_NONE ? i < added->op->d.min_inputs :
		    in[i] >= graph->value_count)
			return graph_fail(graph, -EINVAL, "in", "%s: input %u is %s",
					  added->op->label, i, in[i] == ACCEL_VALUE_NONE ?
					  "absent" : "no value of the graph");
	}
	if (!list_grow(&graph->nodes, graph->node_count, &graph->node_cap, sizeof(*node)))
		return graph_nomem(graph);
	node = &graph->nodes[graph->node_count];
	*node = (struct graph_node) { .source = graph->source };
	node->args = calloc(count, sizeof(*node->args));
	node->desc = calloc(1, sizeof(*node->desc));
	if (name)
		node->name = strdup(name);
	if (!node->args || !node->desc || (name && !node->name))
		goto err;
	node->desc->hdr.size = sizeof(node->desc->added);
	node->desc->hdr.op = ACCEL_OP_ADDED;
	node->desc->added.node = added;
	for (i = 0; i < added->out_count; i++) {
		if (!graph_add_value(graph, NULL))
			goto err;
		out[i] = graph->value_count - 1;
		node->args[node->arg_count++] = (struct accel_graph_arg) { i, out[i] };
	}
	for (i = 0; i < added->in_count; i++)
		if (in[i] != ACCEL_VALUE_NONE)
			node->args[node->arg_count++] = (struct accel_graph_arg) {
				added->out_count + i, in[i]
			};
	graph->node_count++;
	return 0;
err:
	free(node->name);
	free(node->args);
	free(node->desc);
	graph->value_count = first;
	return graph_nomem(graph);
}

int accel_graph_operator(struct accel_graph *graph, const char *name,
			 struct accel_operators *operators, const struct accel_operator_desc *desc,
			 const uint32_t *in, uint32_t in_count, uint32_t *out, uint32_t out_count)
{
	struct accel_operator_desc d = { 0 };
	struct operator_node *added = NULL;
	struct operator *op;
	const char *field;
	int ret = graph_open(graph);

	if (ret)
		return ret;
	if (!desc || (in_count && !in) || !out)
		return graph_fail(graph, -EINVAL, !desc ? "desc" : out ? "in" : "out", "NULL");
	ret = struct_in(&d, sizeof(d), desc, sizeof(d));
	if (ret)
		return graph_fail(graph, ret, "desc.size", "not a size that is known");
	if (!d.name || d.pad || (d.attr_count && !d.attrs))
		return graph_fail(graph, -EINVAL, !d.name ? "desc.name" : d.pad ? "desc.pad" :
				  "desc.attrs", d.pad ? "not 0" : "NULL");
	op = operator_find(operators, d.domain, d.name, d.version);
	if (!op)
		op = operator_built_in(d.domain, d.name);
	if (!op)
		return graph_fail(graph, -EOPNOTSUPP, "desc.name",
				  "%.60s%s%.60s of version %u is no operator of the set",
				  d.domain ? d.domain : "", d.domain && d.domain[0] ? "." : "",
				  d.name, d.version);
	ret = operator_node_create(op, &d, in_count, out_count, &added, &field);
	if (ret == -ENOMEM)
		return graph_nomem(graph);
	if (ret && strcmp(field, "attrs") != 0)
		return graph_fail(graph, ret, field,
				  "%s: %u inputs and %u results, it takes %u to %u and gives %u to %u, %u in all",
				  op->label, in_count, out_count, op->d.min_inputs,
				  op->d.max_inputs, op->d.min_outputs, op->d.max_outputs,
				  ACCEL_OPERATOR_MAX_VALUES);
	if (ret)
		return graph_fail(graph, ret, field, "%s: %s", op->label, ret == -E2BIG ?
				  "attributes that are too many or too large" :
				  "an attribute of no type, without data, or of a name that is there");
	if (!graph_owns(graph, added))
		return graph_nomem(graph);
	return graph_add_operator(graph, name, added, in, out);
}
