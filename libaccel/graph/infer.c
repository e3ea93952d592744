// SPDX-License-Identifier: MIT
/*
 * Results of nodes: types and dimensions that follow from inputs, and those that lie over an
 * input of the graph.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "graph.h"

/* What accel_infer() takes for a type: it is about dimensions. Products of S32 there are none. */
static uint32_t stand_in(uint32_t op, uint32_t type)
{
	if (type == ACCEL_HOST_F64 || (op == ACCEL_OP_GEMM && type >= ACCEL_DTYPE_COUNT))
		return ACCEL_F32;
	if (type == ACCEL_HOST_BOOL)
		return ACCEL_U8;
	return type < ACCEL_DTYPE_COUNT ? type : ACCEL_S32;
}

static bool is_elementwise(uint32_t op)
{
	return op == ACCEL_OP_COPY || op == ACCEL_OP_UNARY || op == ACCEL_OP_BINARY ||
	       op == ACCEL_OP_SELECT;
}

/* As numpy broadcasts; values may have more dimensions than tensors. */
static int infer_broadcast(struct net *net, struct node *node)
{
	uint32_t i, k, rank = 0, type = desc_field(&node->desc->any, ACCEL_ARG_D, NULL)->dtype;
	bool unsure[MAX_RANK] = { false };
	int64_t dims[MAX_RANK], *d;
	const struct value *v;
	uint32_t value;

	for (i = 0; i < node->arg_count; i++)
		if (!node->args[i].result && !is_table(node->args[i].arg) &&
		    net->values[node->args[i].value].rank > rank)
			rank = net->values[node->args[i].value].rank;
	for (k = 0; k < rank; k++)
		dims[k] = 1;
	for (i = 0; i < node->arg_count; i++) {
		if (node->args[i].result || is_table(node->args[i].arg))
			continue;
		v = &net->values[node->args[i].value];
		/* The condition of a selection says nothing about the result. */
		if (!type && !(node->desc->hdr.op == ACCEL_OP_SELECT && node->args[i].arg ==
			       ACCEL_ARG_A))
			type = v->type;
		for (k = 0; k < v->rank; k++) {
			d = &dims[rank - v->rank + k];
			if (v->dims[k] == *d || v->dims[k] == 1)
				continue;
			/* What is known goes before what was guessed. */
			if (*d != 1 && v->unsure)
				continue;
			if (*d != 1 && !unsure[d - dims])
				return net_fail(net, -EINVAL, node,
						"dimensions %" PRId64 " and %" PRId64 " do not broadcast",
						*d, v->dims[k]);
			*d = v->dims[k];
			unsure[d - dims] = v->unsure;
		}
	}
	if (node->desc->hdr.op == ACCEL_OP_UNARY || node->desc->hdr.op == ACCEL_OP_BINARY) {
		uint32_t func = node->desc->any.unary.func;
		bool logic = node->desc->hdr.op == ACCEL_OP_UNARY ?
			     func >= ACCEL_UNARY_IS_NAN && func <= ACCEL_UNARY_NOT :
			     func >= ACCEL_BINARY_EQ && func <= ACCEL_BINARY_XOR;

		if (logic && !desc_field(&node->desc->any, ACCEL_ARG_D, NULL)->dtype)
			type = ACCEL_HOST_BOOL;
	}
	value = net_new_value(net, type, rank, dims);
	for (i = 0; i < node->arg_count; i++)
		if (node->args[i].result)
			node->args[i].value = value;
	return value == NO_VALUE ? -ENOMEM : 0;
}

/* The type that a stand-in is for: one that was asked for, or an input's. */
static uint32_t real_type(const struct net *net, const struct node *node, uint32_t asked,
			  uint32_t inferred)
{
	uint32_t i, type;

	if (asked)
		return asked;
	for (i = 0; i < node->arg_count; i++) {
		if (node->args[i].result)
			continue;
		type = net->values[node->args[i].value].type;
		if (type >= ACCEL_DTYPE_COUNT && stand_in(node->desc->hdr.op, type) == inferred &&
		    node->args[i].arg == ACCEL_ARG_A)
			return type;
	}
	return inferred;
}

static bool overlap(const struct value *a, const struct value *b)
{
	return a->store == b->store && a->offset < b->offset + (int64_t)value_count(b) &&
	       b->offset < a->offset + (int64_t)value_count(a);
}

/*
 * A result in the place of an input's elements, or of what another node made of them: the
 * same memory, and a store of its own, so that who reads the result comes after the node.
 */
static uint32_t write_over(struct net *net, const struct node *node, uint32_t from)
{
	const struct value *v = &net->values[from];
	uint32_t i, k, store, value, index = net->stores[v->store].index;

	if (net->stores[v->store].kind != STORE_INPUT || !value_dense(v)) {
		net_fail(net, -EINVAL, node, "it writes over what is no part of an input, in order");
		return NO_VALUE;
	}
	for (i = 0; i < net->node_count; i++) {
		const struct node *n = &net->nodes[i];

		for (k = 0; n != node && k < n->arg_count; k++)
			if (!is_table(n->args[k].arg) &&
			    (over_args(n->desc->hdr.op) >> n->args[k].arg & 1) &&
			    overlap(&net->values[n->args[k].value], v)) {
				net_fail(net, -EINVAL, node,
					 "another node writes over it too, and not over its result");
				return NO_VALUE;
			}
	}
	store = net_store(net, STORE_INPUT, net->stores[v->store].bytes);
	value = store == NO_VALUE ? NO_VALUE : net_view(net, from);
	if (value == NO_VALUE) {
		net_nomem(net);
		return NO_VALUE;
	}
	net->stores[store].index = index;
	net->values[value].store = store;
	return value;
}

static bool tensor_empty(const struct accel_tensor *t)
{
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		if (!t->dims[i])
			return true;
	return false;
}

/* What a descriptor leaves to the values: the most queries that a sequence can have */
static void set_from_values(const struct net *net, struct node *node)
{
	struct accel_attention_desc *d = &node->desc->any.attention;
	uint32_t q = node_value(node, ACCEL_ARG_A);

	if (d->hdr.op == ACCEL_OP_ATTENTION && (d->flags & ACCEL_ATTENTION_RAGGED) && !d->q_max &&
	    q != NO_VALUE && net->values[q].rank == 4 && net->values[q].dims[1] <= INT32_MAX)
		d->q_max = (uint32_t)net->values[q].dims[1];
}

/**
 * net_infer - make the results of a node
 * @net: net
 * @node: node whose inputs are there; its results become values
 *
 * Return: 0, or the error that the net has.
 */
int net_infer(struct net *net, struct node *node)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	uint32_t asked[NODE_MAX_ARGS] = { 0 }, i, value;
	struct accel_tensor *t;
	union any_desc desc;
	uint32_t over;
	int ret;

	if (is_added(node->desc))
		return call_infer(net, node);
	if (is_elementwise(node->desc->hdr.op))
		return infer_broadcast(net, node);
	set_from_values(net, node);
	memcpy(&desc, node->desc, node->desc->hdr.size);
	for (i = 0; i < node->arg_count; i++) {
		struct accel_quant quant;

		t = desc_field(&desc, node->args[i].arg, NULL);
		if (!t)
			continue;
		asked[i] = t->dtype;
		quant = t->quant;
		over = over_arg(desc.hdr.op, node->args[i].arg);
		if (node->args[i].result && over == NO_VALUE) {
			if (t->dtype)
				t->dtype = stand_in(desc.hdr.op, t->dtype);
			continue;
		}
		value = over == NO_VALUE ? node->args[i].value : node_value(node, over);
		if (net->values[value].rank > ACCEL_MAX_RANK)
			return net_fail(net, -EOPNOTSUPP, node, "more than %d dimensions",
					ACCEL_MAX_RANK);
		value_tensor(&net->values[value], t);
		t->quant = quant;
		t->dtype = stand_in(desc.hdr.op, net->values[value].type);
		t->flags = 0;
		memset(t->strides, 0, sizeof(t->strides));
	}
	ret = accel_infer(&desc.hdr, &e);
	if (ret)
		return net_fail(net, ret, node, "%s: %s", e.field, e.text);
	/* Where sizes are free, they are no example if a window is larger than what it is for. */
	if (net->guess && net->symbol_count && desc.hdr.op == ACCEL_OP_CONV &&
	    tensor_empty(&desc.conv.d) && !tensor_empty(&desc.conv.a))
		return net_fail(net, -EINVAL, node,
				"the input and the padding are less than a window");
	for (i = 0; i < node->arg_count; i++) {
		if (!node->args[i].result)
			continue;
		t = desc_field(&desc, node->args[i].arg, NULL);
		over = over_arg(desc.hdr.op, node->args[i].arg);
		value = over == NO_VALUE ?
			net_new_value(net, real_type(net, node, asked[i], t->dtype), t->rank,
				      t->dims) :
			write_over(net, node, node_value(node, over));
		if (value == NO_VALUE)
			return net->error.code ? net->error.code : net_nomem(net);
		node->args[i].value = value;
	}
	return 0;
}
