// SPDX-License-Identifier: MIT
/*
 * Common subexpressions: a node that does what an earlier one did takes its results.
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint64_t hash(const struct net *net, const struct node *node)
{
	const unsigned char *p = (const unsigned char *)node->desc;
	uint64_t h = node->desc->hdr.op;
	uint32_t i;

	for (i = 0; i < node->desc->hdr.size; i++)
		if (p[i])
			h = mix(h, (uint64_t)i << 8 | p[i]);
	for (i = 0; i < node->arg_count; i++)
		if (!node->args[i].result)
			h = mix(h, net->values[node->args[i].value].store);
	return h;
}

static bool same_node(const struct net *net, const struct node *a, const struct node *b)
{
	const struct value *x, *y;
	uint32_t i;

	if (a->arg_count != b->arg_count || a->desc->hdr.size != b->desc->hdr.size ||
	    memcmp(a->desc, b->desc, a->desc->hdr.size))
		return false;
	for (i = 0; i < a->arg_count; i++) {
		x = &net->values[a->args[i].value];
		y = &net->values[b->args[i].value];
		if (a->args[i].arg != b->args[i].arg ||
		    (a->args[i].result ? x->type != y->type || !same_dims(x, y) :
		     !same_place(x, y)))
			return false;
	}
	return true;
}

/* The store that has become of one */
static uint32_t store_of(uint32_t *became, uint32_t store)
{
	while (became[store] != store)
		store = became[store] = became[became[store]];
	return store;
}

static bool is_output(const struct net *net, const bool *output, const struct node *node)
{
	uint32_t k;

	for (k = 0; k < node->arg_count; k++)
		if (node->args[k].result && output[net->values[node->args[k].value].store])
			return true;
	return false;
}

/* Look at one node; inputs are what earlier ones have become. */
static void look_at(struct net *net, uint32_t index, uint32_t *table, uint32_t size,
		    uint32_t *became, const bool *output)
{
	struct node *node = &net->nodes[index], *first;
	uint32_t k, at;

	for (k = 0; k < node->arg_count; k++) {
		struct value *v = &net->values[node->args[k].value];

		v->store = store_of(became, v->store);
	}
	for (at = hash(net, node) & (size - 1); table[at] != NO_VALUE; at = (at + 1) & (size - 1))
		if (same_node(net, &net->nodes[table[at]], node) && !is_output(net, output, node))
			break;
	if (table[at] == NO_VALUE) {
		table[at] = index;
		return;
	}
	first = &net->nodes[table[at]];
	for (k = 0; k < node->arg_count; k++)
		if (node->args[k].result)
			became[net->values[node->args[k].value].store] =
				net->values[first->args[k].value].store;
	node->dead = true;
	first->rules |= 1u << ACCEL_PASS_CSE;
	first->fused++;
}

int pass_cse(struct net *net)
{
	uint32_t *became = malloc((net->store_count + 1) * sizeof(*became));
	bool *output = calloc(net->store_count + 1, sizeof(*output));
	uint32_t size = 64, i, *table;

	while (size < 2 * net->node_count)
		size *= 2;
	table = malloc(size * sizeof(*table));
	if (table && became && output) {
		memset(table, 0xff, size * sizeof(*table));
		for (i = 0; i < net->store_count; i++)
			became[i] = i;
		for (i = 0; i < net->output_count; i++)
			output[net->values[net->outputs[i]].store] = true;
		for (i = 0; i < net->node_count; i++)
			if (!net->nodes[i].dead)
				look_at(net, i, table, size, became, output);
		for (i = 0; i < net->value_count; i++)
			net->values[i].store = store_of(became, net->values[i].store);
	}
	i = table && became && output;
	free(table);
	free(became);
	free(output);
	return i ? 0 : net_nomem(net);
}
