// SPDX-License-Identifier: MIT
/*
 * Another precision: products and convolutions take their operands in 16 bits, sum in 32, and
 * give what only they read in 16 bits too. What is added up over many layers stays as it is.
 */
#include <stdlib.h>

#include "watch.h"

static uint32_t wanted(const struct net *net)
{
	return net->program->opts.precision == ACCEL_PRECISION_BF16 ? ACCEL_BF16 : ACCEL_F16;
}

/* The elements of a value in 16 bits, made once; NO_VALUE: there is no memory. */
static uint32_t narrow(struct net *net, uint32_t *made, uint32_t value, const struct node *of)
{
	if (net->values[value].type == wanted(net))
		return value;
	return net_copy_once(net, made, value, wanted(net), of);
}

/* Operands of the node in 16 bits, if an engine does that then */
static int take(struct net *net, uint32_t *made, uint32_t index, uint32_t ordinal)
{
	static const uint32_t args[] = { ACCEL_ARG_A, ACCEL_ARG_B };
	struct node trial = net->nodes[index];
	uint32_t i, value, old[2], first = net->node_count;

	for (i = 0; i < ARRAY_SIZE(args); i++) {
		old[i] = node_value(&trial, args[i]);
		if (old[i] == NO_VALUE)
			return 0;
		/* Weights may be in 16 bits, though not in these. */
		if (net->values[old[i]].type != ACCEL_F32 &&
		    !(i && is_real(net->values[old[i]].type)))
			return 0;
	}
	if (is_quantised(&trial))
		return 0;
	if (wanted(net) == ACCEL_F16 &&
	    (watch_kept(net, &trial, ordinal) || !watch_fits(net, old[0]) ||
	     !watch_fits(net, old[1]))) {
		net->nodes[index].rules |= RULE_KEPT;
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(args); i++) {
		value = narrow(net, made, old[i], &trial);
		if (value == NO_VALUE)
			return net_nomem(net);
		node_set(&trial, args[i], value);
	}
	if (net_can_run(net, &trial)) {
		net->nodes[index] = trial;
		/* What could not be converted now is still read, by what converts it. */
		for (i = 0; i < ARRAY_SIZE(args); i++)
			if (node_value(&trial, args[i]) != old[i] &&
			    value_const(net, node_value(&trial, args[i])))
				net_release(net, old[i]);
		return 0;
	}
	for (i = first; i < net->node_count; i++)
		net->nodes[i].dead = true;
	for (i = 0; i < ARRAY_SIZE(args); i++)
		if (made[old[i]] != NO_VALUE && value_node(net, made[old[i]]) >= first)
			made[old[i]] = NO_VALUE;
	return 0;
}

/* A value that is read in 16 bits alone is written so. */
static void give(struct net *net, uint32_t index)
{
	const struct node *copy = &net->nodes[index];
	uint32_t a = node_value(copy, ACCEL_ARG_A), d = node_result(copy), from;
	struct accel_tensor *t;
	struct node trial;

	from = value_node(net, a);
	if (from == NO_VALUE || net->nodes[from].dead || value_uses(net, a, NULL) != 1 ||
	    is_quantised(copy) || is_quantised(&net->nodes[from]))
		return;
	trial = net->nodes[from];
	if (node_result(&trial) == NO_VALUE ||
	    !same_place(&net->values[node_result(&trial)], &net->values[a]) ||
	    !same_dims(&net->values[a], &net->values[d]) ||
	    net->values[a].type != ACCEL_F32)
		return;
	t = desc_field(&trial.desc->any, ACCEL_ARG_D, NULL);
	if (!t)
		return;
	node_set(&trial, ACCEL_ARG_D, d);
	t->dtype = wanted(net);
	if (!net_can_run(net, &trial)) {
		t->dtype = ACCEL_F32;
		return;
	}
	trial.fused++;
	net->nodes[from] = trial;
	net->nodes[index].dead = true;
	net->stores[net->values[d].store].node = from;
}

/**
 * pass_precision - compute in the precision of the options
 * @net: net
 *
 * Return: 0, or the error that the net has.
 */
int pass_precision(struct net *net)
{
	uint32_t i, count = net->node_count, first = count, *made;
	uint32_t values = net->value_count, ordinal = 0;
	int ret = 0;

	if (!net->program->opts.precision)
		return 0;
	made = net_copies(net);
	if (!made)
		return net_nomem(net);
	net_count_uses(net);
	for (i = 0; i < count && !ret; i++)
		if (!net->nodes[i].dead && (net->nodes[i].desc->hdr.op == ACCEL_OP_GEMM ||
					    net->nodes[i].desc->hdr.op == ACCEL_OP_CONV))
			ret = take(net, made, i, ordinal++);
	net_count_uses(net);
	for (i = first; i < net->node_count && !ret; i++)
		if (!net->nodes[i].dead && net->nodes[i].desc->hdr.op == ACCEL_OP_COPY)
			give(net, i);
	if (!ret)
		ret = pass_dead(net);
	if (!ret)
		ret = watch_add(net, made, values);
	free(made);
	return ret;
}
