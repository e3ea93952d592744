// SPDX-License-Identifier: MIT
/*
 * Copies: who computes what is then only put into another order writes it there himself.
 */
#include "graph.h"

/* The operations that write any strides as fast as dense ones, by rows */
static bool writes_rows(const struct node *node)
{
	switch (node->desc->hdr.op) {
	case ACCEL_OP_ATTENTION:
	case ACCEL_OP_UNARY:
	case ACCEL_OP_BINARY:
	case ACCEL_OP_ROTARY:
		return true;
	default:
		return false;
	}
}

/* What @node writes, in the place of what @copy writes of it; false: there is no such view. */
static bool through(const struct net *net, const struct node *node, const struct node *copy,
		    struct value *out)
{
	const struct value *from = &net->values[node_result(node)];
	const struct value *a = &net->values[node_value(copy, ACCEL_ARG_A)];
	const struct value *d = &net->values[node_result(copy)];
	uint32_t i, k, found;

	if (is_quantised(copy))
		return false;
	if (a->type != d->type || from->type != a->type || a->rank != d->rank ||
	    !value_fills(net, from) || !value_fills(net, a) || !value_fills(net, d))
		return false;
	*out = *from;
	out->store = d->store;
	for (i = 0; i < from->rank; i++) {
		if (from->dims[i] == 1)
			continue;
		for (k = 0, found = NO_VALUE; k < a->rank; k++)
			if (a->dims[k] == from->dims[i] && a->strides[k] == from->strides[i])
				found = k;
		if (found == NO_VALUE)
			return false;
		out->strides[i] = d->strides[found];
	}
	/* Rows stay rows. */
	return !from->rank || from->dims[from->rank - 1] == 1 ||
	       out->strides[from->rank - 1] == 1;
}

int pass_copy(struct net *net)
{
	uint32_t i, from, a, view;
	struct node *copy, trial;
	struct value out;

	for (i = 0; i < net->node_count; i++) {
		copy = &net->nodes[i];
		if (copy->dead || copy->desc->hdr.op != ACCEL_OP_COPY)
			continue;
		a = node_value(copy, ACCEL_ARG_A);
		from = value_node(net, a);
		if (from == NO_VALUE || net->nodes[from].dead || !writes_rows(&net->nodes[from]) ||
		    value_uses(net, a, NULL) != 1 ||
		    !through(net, &net->nodes[from], copy, &out))
			continue;
		view = net_view(net, node_result(&net->nodes[from]));
		if (view == NO_VALUE)
			return net_nomem(net);
		net->values[view] = out;
		trial = net->nodes[from];
		node_set(&trial, ACCEL_ARG_D, view);
		if (!net_can_run(net, &trial))
			continue;
		trial.rules |= 1u << ACCEL_PASS_COPY;
		trial.fused++;
		net->nodes[from] = trial;
		copy->dead = true;
		net->stores[out.store].node = from;
	}
	return 0;
}
