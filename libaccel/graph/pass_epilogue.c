// SPDX-License-Identifier: MIT
/*
 * Epilogues: what is added to a product or a convolution, and the activation behind it or
 * behind an operation on two values, become part of it, if nobody else reads what is in
 * between and an engine can do it.
 */
#include <errno.h>
#include <string.h>

#include "graph.h"

static bool is_product(const struct node *node)
{
	return node->desc->hdr.op == ACCEL_OP_GEMM || node->desc->hdr.op == ACCEL_OP_CONV;
}

/* Can something follow? */
static bool has_end(const struct node *node)
{
	return !node->dead && (is_product(node) || (node->desc->hdr.op == ACCEL_OP_BINARY &&
						    node->desc->any.binary.func <=
						    ACCEL_BINARY_MIN));
}

/* The elements of @value with the dimensions of @like, NO_VALUE: they would have to move. */
static uint32_t shaped(struct net *net, uint32_t value, const struct value *like)
{
	struct value v = net->values[value];
	int64_t dims[MAX_RANK];
	uint32_t view;

	if (value_count(&v) != value_count(like))
		return NO_VALUE;
	memcpy(dims, like->dims, sizeof(dims));
	if (!reshape_view(&v, like->rank, dims))
		return NO_VALUE;
	view = net_view(net, value);
	if (view != NO_VALUE)
		net->values[view] = v;
	return view;
}

/* A vector along the last dimension, in both shapes */
static bool is_vector(const struct value *v, const struct value *a, const struct value *d)
{
	uint32_t i;

	if (!v->rank || !a->rank || !d->rank || v->rank > a->rank)
		return false;
	for (i = 0; i + 1 < v->rank; i++)
		if (v->dims[i] != 1)
			return false;
	return v->dims[v->rank - 1] == a->dims[a->rank - 1] &&
	       v->dims[v->rank - 1] == d->dims[d->rank - 1];
}

/* Take an addition in; @into is changed, but not yet what it writes. */
static bool take_sum(struct net *net, struct node *into, const struct node *user, uint32_t result)
{
	const struct value *d = &net->values[result], *v;
	uint32_t a = node_value(user, ACCEL_ARG_A), b = node_value(user, ACCEL_ARG_B), other;
	const struct value *mine;

	if (user->desc->any.binary.func != ACCEL_BINARY_ADD)
		return false;
	other = net->values[a].store == d->store ? b : a;
	mine = &net->values[other == b ? a : b];
	v = &net->values[other];
	if (v->store == d->store || !value_whole(net, mine) || v->type != d->type ||
	    node_value(into, ACCEL_ARG_RESIDUAL) != NO_VALUE)
		return false;
	/* The result may be wider than what comes from here. */
	if (value_count(&net->values[node_result(user)]) != value_count(d))
		return false;
	if (into->desc->hdr.op == ACCEL_OP_GEMM && node_value(into, ACCEL_ARG_BIAS) == NO_VALUE &&
	    value_const(net, other) && is_vector(v, mine, d)) {
		struct value line = *v;

		if (!reshape_view(&line, 1, &d->dims[d->rank - 1]))
			return false;
		other = net_view(net, other);
		if (other == NO_VALUE)
			return false;
		net->values[other] = line;
		return node_set(into, ACCEL_ARG_BIAS, other);
	}
	if (!same_dims(v, mine))
		return false;
	other = shaped(net, other, d);
	return other != NO_VALUE && node_set(into, ACCEL_ARG_RESIDUAL, other);
}

/* Take the one node that reads the result of another into it; true: done. */
static bool fuse(struct net *net, uint32_t index)
{
	struct node *node = &net->nodes[index], trial = *node, *user;
	uint32_t result = node_result(node), at = NO_VALUE, out, i;
	struct accel_epilogue *epi, old, *theirs;
	bool good;

	if (!is_real(net->values[result].type) || !value_whole(net, &net->values[result]) ||
	    value_uses(net, result, &at) != 1 || at == NO_VALUE)
		return false;
	user = &net->nodes[at];
	epi = desc_epilogue(&node->desc->any);
	old = *epi;
	if (epi->act)
		return false;
	if (user->desc->hdr.op == ACCEL_OP_BINARY && is_product(node))
		good = take_sum(net, &trial, user, result);
	else
		good = user->desc->hdr.op == ACCEL_OP_UNARY &&
		       user->desc->any.unary.func == ACCEL_UNARY_ACT &&
		       value_whole(net, &net->values[node_value(user, ACCEL_ARG_A)]);
	out = node_result(user);
	if (!good || net->values[out].type != net->values[result].type)
		return false;
	out = shaped(net, out, &net->values[result]);
	if (out == NO_VALUE)
		return false;
	theirs = desc_epilogue(&user->desc->any);
	epi->act = theirs->act;
	epi->p0 = theirs->p0;
	epi->p1 = theirs->p1;
	node_set(&trial, ACCEL_ARG_D, out);
	if (!net_can_run(net, &trial)) {
		*epi = old;
		return false;
	}
	trial.rules |= 1u << ACCEL_PASS_EPILOGUE | user->rules;
	trial.fused += 1 + user->fused;
	*node = trial;
	user->dead = true;
	net->stores[net->values[out].store].node = index;
	for (i = 0; i < node->arg_count; i++)
		if (!node->args[i].result)
			net->stores[net->values[node->args[i].value].store].user = index;
	return true;
}

int pass_epilogue(struct net *net)
{
	uint32_t i;

	for (i = 0; i < net->node_count; i++)
		while (has_end(&net->nodes[i]) && fuse(net, i))
			;
	return 0;
}
