// SPDX-License-Identifier: MIT
/*
 * Calls of operators that users add: what their functions are told, and may ask.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/**
 * struct accel_call - a call of one of an operator's functions
 * @node: what the node says
 * @infer: it is for types and dimensions
 * @here: inputs that are there, and results that were given
 * @values: results, then inputs
 * @text: what is wrong, "": nothing was said
 */
struct accel_call {
	const struct operator_node *node;
	bool infer;
	bool here[ACCEL_OPERATOR_MAX_VALUES];
	struct accel_call_value values[ACCEL_OPERATOR_MAX_VALUES];
	char text[160];
};

static void put_value(struct accel_call *call, uint32_t arg, uint32_t type, uint32_t rank,
		      const int64_t *dims, void *data)
{
	struct accel_call_value *v = &call->values[arg];
	uint32_t i;

	*v = (struct accel_call_value) {
		.size = sizeof(*v), .type = type, .rank = rank, .count = 1, .data = data
	};
	for (i = 0; i < rank; i++) {
		v->dims[i] = dims[i];
		v->count *= (uint64_t)dims[i];
	}
	call->here[arg] = true;
}

/* --- what functions ask ------------------------------------------------------------ */

int accel_call_fail(struct accel_call *call, int code, const char *fmt, ...)
{
	va_list ap;

	if (!call || !fmt)
		return call ? code : -EINVAL;
	va_start(ap, fmt);
	vsnprintf(call->text, sizeof(call->text), fmt, ap);
	va_end(ap);
	return code;
}

uint32_t accel_call_inputs(const struct accel_call *call)
{
	return call ? call->node->in_count : 0;
}

uint32_t accel_call_outputs(const struct accel_call *call)
{
	return call ? call->node->out_count : 0;
}

const struct accel_call_value *accel_call_input(const struct accel_call *call, uint32_t index)
{
	if (!call || index >= call->node->in_count || !call->here[call->node->out_count + index])
		return NULL;
	return &call->values[call->node->out_count + index];
}

const struct accel_call_value *accel_call_output(const struct accel_call *call, uint32_t index)
{
	return call && index < call->node->out_count && call->here[index] ? &call->values[index] :
	       NULL;
}

int accel_call_give(struct accel_call *call, uint32_t index, uint32_t type, uint32_t rank,
		    const int64_t *dims)
{
	uint32_t i;

	if (!call || (rank && !dims))
		return call ? accel_call_fail(call, -EINVAL, "the dimensions of result %u are NULL",
					      index) : -EINVAL;
	if (!call->infer || index >= call->node->out_count)
		return accel_call_fail(call, -EINVAL, "result %u %s", index, call->infer ?
				       "is not there" : "is what it is");
	if (!operator_type_bytes(type) || rank > MAX_RANK)
		return accel_call_fail(call, -EINVAL, "result %u has type %u, %u dimensions", index,
				       type, rank);
	for (i = 0; i < rank; i++)
		if (dims[i] < 0)
			return accel_call_fail(call, -EINVAL, "result %u has dimension %" PRId64,
					       index, dims[i]);
	if (!dims_fit(rank, dims))
		return accel_call_fail(call, -EINVAL, "result %u is too large", index);
	put_value(call, index, type, rank, dims, NULL);
	return 0;
}

static const char *const attr_names[] = {
	[ACCEL_ATTR_INT] = "an integer", [ACCEL_ATTR_FLOAT] = "a number",
	[ACCEL_ATTR_STRING] = "text", [ACCEL_ATTR_INTS] = "a list of integers",
	[ACCEL_ATTR_FLOATS] = "a list of numbers", [ACCEL_ATTR_TENSOR] = "a tensor"
};

static int find_attr(struct accel_call *call, const char *name, uint32_t type, bool room,
		     const struct accel_call_value **out)
{
	const struct operator_attr *a;
	uint32_t i;

	if (!call)
		return -EINVAL;
	if (!name || !room)
		return accel_call_fail(call, -EINVAL, "NULL for an attribute");
	for (i = 0; i < call->node->attr_count; i++) {
		a = &call->node->attrs[i];
		if (strcmp(a->name, name) != 0)
			continue;
		if (a->type != type)
			return accel_call_fail(call, -EINVAL, "attribute %.60s is %s, not %s", name,
					       attr_names[a->type], attr_names[type]);
		*out = &a->value;
		return 0;
	}
	return -ENOENT;
}

int accel_call_int(struct accel_call *call, const char *name, int64_t *value)
{
	const struct accel_call_value *v = NULL;
	int ret = find_attr(call, name, ACCEL_ATTR_INT, value, &v);

	if (!ret)
		*value = *(const int64_t *)v->data;
	return ret;
}

int accel_call_float(struct accel_call *call, const char *name, float *value)
{
	const struct accel_call_value *v = NULL;
	int ret = find_attr(call, name, ACCEL_ATTR_FLOAT, value, &v);

	if (!ret)
		*value = *(const float *)v->data;
	return ret;
}

int accel_call_string(struct accel_call *call, const char *name, const char **text,
		      uint64_t *bytes)
{
	const struct accel_call_value *v = NULL;
	int ret = find_attr(call, name, ACCEL_ATTR_STRING, text, &v);

	if (ret)
		return ret;
	*text = v->data;
	if (bytes)
		*bytes = v->count;
	return 0;
}

static int find_list(struct accel_call *call, const char *name, uint32_t type, const void **list,
		     uint64_t *count)
{
	const struct accel_call_value *v = NULL;
	int ret;

	if (!list || !count)
		return find_attr(call, name, type, false, &v);
	ret = find_attr(call, name, type, true, &v);
	if (ret)
		return ret;
	*list = v->data;
	*count = v->count;
	return 0;
}

int accel_call_ints(struct accel_call *call, const char *name, const int64_t **list,
		    uint64_t *count)
{
	return find_list(call, name, ACCEL_ATTR_INTS, (const void **)list, count);
}

int accel_call_floats(struct accel_call *call, const char *name, const float **list,
		      uint64_t *count)
{
	return find_list(call, name, ACCEL_ATTR_FLOATS, (const void **)list, count);
}

int accel_call_tensor(struct accel_call *call, const char *name,
		      const struct accel_call_value **tensor)
{
	return find_attr(call, name, ACCEL_ATTR_TENSOR, tensor, tensor);
}

/* --- types and dimensions ------------------------------------------------------------ */

/* What a function returned is an error, and @call has words for it. */
static int call_error(struct accel_call *call, const char *function, int ret)
{
	if (ret > 0)
		return accel_call_fail(call, -EINVAL, "%s returned %d, which is no error", function,
				       ret);
	if (!call->text[0])
		accel_call_fail(call, ret, "%s failed: %s", function, errno_text(-ret));
	return ret;
}

/* The elements of a constant one after the other; NULL: they are not known, or no memory */
static void *known_elements(const struct net *net, uint32_t value)
{
	const struct value *v = &net->values[value];
	uint64_t n = value_count(v), size = operator_type_bytes(v->type), i, at;
	const char *from;
	int64_t place;
	uint32_t k;
	char *to;

	if (!value_const(net, value) || v->rank > 1 || n > MAX_WANTED)
		return NULL;
	from = value_data(net, value);
	to = from ? malloc(n * size + 1) : NULL;
	for (i = 0; to && i < n; i++) {
		for (place = 0, at = i, k = v->rank; k-- > 0; at /= (uint64_t)v->dims[k])
			place += (int64_t)(at % (uint64_t)v->dims[k]) * v->strides[k];
		memcpy(to + i * size, from + place * (int64_t)size, size);
	}
	return to;
}

static int add_inputs(struct net *net, const struct node *node, struct accel_call *call)
{
	const struct operator_node *o = call->node;
	const struct value *v;
	uint32_t i, index;
	void *data;

	for (i = 0; i < node->arg_count; i++) {
		if (node->args[i].result)
			continue;
		index = node->args[i].arg - o->out_count;
		v = &net->values[node->args[i].value];
		if (!operator_type_bytes(v->type))
			return net_fail(net, -EOPNOTSUPP, node,
					"input %u is %s, whose elements are not whole bytes",
					index, accel_type_name(v->type));
		data = NULL;
		if (o->op->d.known_inputs >> index & 1) {
			data = known_elements(net, node->args[i].value);
			if (!data)
				return net_fail(net, -EOPNOTSUPP, node,
						"the elements of input %u have to be known, and are more than %u, or of more than one dimension",
						index, MAX_WANTED);
		}
		put_value(call, node->args[i].arg, v->type, v->rank, v->dims, data);
	}
	return 0;
}

/**
 * call_infer - make the results of a node
 * @net: net
 * @node: node whose inputs are there; its results become values
 *
 * Return: 0, or the error that the net has.
 */
int call_infer(struct net *net, struct node *node)
{
	const struct operator_node *o = node->desc->added.node;
	struct accel_call call = { .node = o, .infer = true };
	uint32_t i;
	int ret;

	ret = add_inputs(net, node, &call);
	if (!ret) {
		ret = o->op->d.infer(o->op->d.user, &call);
		if (ret) {
			ret = call_error(&call, "its function of dimensions", ret);
			net_fail(net, ret, node, "%s", call.text);
		}
	}
	for (i = o->out_count; i < o->out_count + o->in_count; i++)
		free(call.values[i].data);
	for (i = 0; i < node->arg_count && !ret; i++) {
		const struct accel_call_value *v = &call.values[node->args[i].arg];

		if (!node->args[i].result)
			continue;
		if (!call.here[node->args[i].arg])
			return net_fail(net, -EINVAL, node,
					"its function of dimensions said nothing of result %u",
					node->args[i].arg);
		node->args[i].value = net_new_value(net, v->type, v->rank, v->dims);
		if (node->args[i].value == NO_VALUE)
			return net->error.code ? net->error.code : net_nomem(net);
	}
	return ret;
}

/* A constant at a place where its elements cannot be read as such, as they may lie in files */
static bool is_askew(const struct net *net, uint32_t value)
{
	const struct value *v = &net->values[value];

	return value_const(net, value) &&
	       (uintptr_t)value_data(net, value) % operator_type_bytes(v->type);
}

static uint32_t straight(struct net *net, uint32_t value)
{
	const struct value v = net->values[value];
	uint64_t bytes = type_bytes(v.type, value_count(&v));
	void *data = malloc(bytes + 1);

	if (!data)
		return NO_VALUE;
	memcpy(data, value_data(net, value), bytes);
	return net_constant(net, v.type, v.rank, v.dims, data);
}

/**
 * call_lower - a node gets its inputs as its operator was promised them
 * @net: net
 * @index: node; copies that it needs are added behind
 *
 * Return: 0, or the error that the net has.
 */
int call_lower(struct net *net, uint32_t index)
{
	const struct value *v;
	uint32_t i, value;

	net->nodes[index].host = true;
	for (i = 0; i < net->nodes[index].arg_count; i++) {
		const struct node *node = &net->nodes[index];

		value = node->args[i].value;
		v = &net->values[value];
		if (node->args[i].result) {
			if (!value_dense(v))
				return net_fail(net, -EINVAL, node, "a result that is not dense");
			continue;
		}
		if (!operator_type_bytes(v->type))
			return net_fail(net, -EINVAL, node, "an input that is not of whole bytes");
		if (!value_dense(v))
			value = net_copy(net, value, v->type, node);
		else if (is_askew(net, value))
			value = straight(net, value);
		if (value == NO_VALUE)
			return net_nomem(net);
		net->nodes[index].args[i].value = value;
	}
	return 0;
}

/* --- running ------------------------------------------------------------------------- */

/**
 * call_compute - run a node
 * @node: node
 * @t: its tensors, by argument
 * @why: out: one sentence if it fails
 * @size: of @why
 *
 * Return: 0, -EINVAL an input that is not aligned, or what the operator returned.
 */
int call_compute(const struct node *node, const struct host_tensor *t, char *why, size_t size)
{
	const struct operator_node *o = node->desc->added.node;
	struct accel_call call = { .node = o };
	uint32_t i, step;
	int ret;

	for (i = 0; i < node->arg_count; i++) {
		step = operator_type_bytes(t[i].type);
		if ((uintptr_t)t[i].data % step) {
			snprintf(why, size, "input %u lies at no multiple of %u bytes",
				 t[i].arg - o->out_count, step);
			return -EINVAL;
		}
		put_value(&call, t[i].arg, t[i].type, t[i].rank, t[i].dims, t[i].data);
	}
	ret = o->op->d.compute(o->op->d.user, &call);
	if (ret) {
		ret = call_error(&call, "its function", ret);
		snprintf(why, size, "%s", call.text);
	}
	return ret;
}
