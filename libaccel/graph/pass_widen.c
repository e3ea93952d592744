// SPDX-License-Identifier: MIT
/*
 * Products that no engine computes: the driver may be older than this library, or the engine that
 * was asked for lacks them. Weights of 16 bits are widened to fp32, and A is not quantised.
 */
#include <stdlib.h>

#include "graph.h"

/* @a_group permits bytes; where no engine quantises A, the product is that of A itself. */
static void keep_floats(struct net *net, const struct node *node)
{
	struct accel_gemm_desc *d = &node->desc->any.gemm;
	const uint32_t group = d->a_group, flags = d->flags;

	if (!group || net_can_run(net, node))
		return;
	d->a_group = 0;
	d->flags &= ~ACCEL_GEMM_BF16;
	/* The error names the descriptor as it was. */
	if (!net_can_run(net, node)) {
		d->a_group = group;
		d->flags = flags;
	}
}

/**
 * pass_widen - make products that no engine computes such that one does
 * @net: net
 *
 * Return: 0, or the error that the net has.
 */
int pass_widen(struct net *net)
{
	const uint32_t args[] = { ACCEL_ARG_A, ACCEL_ARG_B }, count = net->node_count;
	uint32_t i, j, types[2], b, wide, *made = net_copies(net);

	if (!made)
		return net_nomem(net);
	net_count_uses(net);
	for (i = 0; i < count; i++) {
		if (net->nodes[i].dead || net->nodes[i].desc->hdr.op != ACCEL_OP_GEMM)
			continue;
		keep_floats(net, &net->nodes[i]);
		for (j = 0; j < 2; j++) {
			b = node_value(&net->nodes[i], args[j]);
			types[j] = b == NO_VALUE ? 0 : net->values[b].type;
		}
		if (types[0] != ACCEL_F32 || types[1] == ACCEL_F32 || !is_real(types[1]) ||
		    net_can_run(net, &net->nodes[i]))
			continue;
		wide = net_copy_once(net, made, b, ACCEL_F32, &net->nodes[i]);
		if (wide == NO_VALUE)
			break;
		node_set(&net->nodes[i], ACCEL_ARG_B, wide);
		if (value_const(net, wide))
			net_release(net, b);
	}
	free(made);
	return i < count ? net_nomem(net) : 0;
}
