// SPDX-License-Identifier: MIT
/*
 * Passes: which there are, and what they share.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

static const char *const names[ACCEL_PASS_COUNT] = {
	"cse", "pack", "winograd", "epilogue", "layout", "idiom", "attention",
	"batchnorm", "copy", "qdq", "join", "concat", "transposed"
};

const char *accel_pass_name(uint32_t pass)
{
	return pass < ACCEL_PASS_COUNT ? names[pass] : NULL;
}

/**
 * net_count_uses - count who reads each store
 * @net: net
 *
 * Passes find it as it was before them, and put right what they ask for again. What the graph's
 * nodes from the one on that the net stops at read counts too where it is no result of the net:
 * they read that where it lies.
 */
void net_count_uses(struct net *net)
{
	const struct accel_graph *graph = net->graph;
	uint32_t i, k, value;
	struct store *s;

	for (i = 0; i < net->store_count; i++) {
		net->stores[i].uses = 0;
		net->stores[i].user = NO_VALUE;
	}
	for (i = 0; i < net->node_count; i++) {
		const struct node *node = &net->nodes[i];

		for (k = 0; !node->dead && k < node->arg_count; k++) {
			if (node->args[k].result)
				continue;
			s = &net->stores[net->values[node->args[k].value].store];
			s->uses++;
			s->user = i;
		}
	}
	for (i = 0; i < net->output_count; i++)
		net->stores[net->values[net->outputs[i]].store].uses++;
	for (i = net->stop; i < graph->node_count; i++)
		for (k = 0; k < graph->nodes[i].arg_count; k++) {
			value = net->map[graph->nodes[i].args[k].value];
			s = value == NO_VALUE ? NULL : &net->stores[net->values[value].store];
			if (s && s->kind != STORE_ARENA)
				s->uses++;
		}
}

/**
 * value_uses - how often the elements of a value are read
 * @net: net
 * @value: value
 * @user: out: a node that reads them, NO_VALUE: none; may be NULL
 *
 * Views of the same store count too, and so do a result of the graph and nodes behind the net.
 *
 * Return: number of arguments and results, by net_count_uses().
 */
uint32_t value_uses(const struct net *net, uint32_t value, uint32_t *user)
{
	const struct store *s = &net->stores[net->values[value].store];

	if (user)
		*user = s->user;
	return s->uses;
}

/**
 * value_maker - the node whose result a value is
 * @net: net
 * @value: value
 * @op: operation that it has to be
 *
 * Return: the node, NULL: the value is a view of something, or of another operation.
 */
const struct node *value_maker(const struct net *net, uint32_t value, uint32_t op)
{
	const struct value *v = &net->values[value];
	uint32_t from = value_node(net, value), d;
	const struct node *node = from == NO_VALUE ? NULL : &net->nodes[from];

	if (!node || node->dead || node->desc->hdr.op != op)
		return NULL;
	d = node_result(node);
	return d != NO_VALUE && same_place(&net->values[d], v) ? node : NULL;
}

static int stop_at_chosen(void *user, const struct accel_candidate *c)
{
	(void)user;
	return c->verdict == ACCEL_CHOSEN;
}

/* Is there an engine, of those that may be used, that does it? */
bool net_can_run(struct net *net, const struct node *node)
{
	union any_desc desc;

	if (!node_full_desc(net, node, &desc))
		return false;
	desc.hdr.engine = net->program->opts.engine;
	return accel_explain(net->program->ctx, &desc.hdr, stop_at_chosen, NULL) == 1;
}

/**
 * pass_dead - drop nodes that nobody needs
 * @net: net
 *
 * Return: 0, -ENOMEM.
 */
int pass_dead(struct net *net)
{
	bool *needed = calloc(net->node_count + 1, sizeof(*needed));
	uint32_t *pending = malloc((net->node_count + 1) * sizeof(*pending));
	uint32_t i, count = 0, from;

	if (!needed || !pending) {
		free(needed);
		free(pending);
		return net_nomem(net);
	}
	for (i = 0; i < net->output_count; i++) {
		from = value_node(net, net->outputs[i]);
		if (from != NO_VALUE && !needed[from]) {
			needed[from] = true;
			pending[count++] = from;
		}
	}
	/* What is written over inputs stays there for the next run; sums are looked at. */
	for (i = 0; i < net->node_count; i++)
		if (!net->nodes[i].dead && !needed[i] &&
		    (over_args(net->nodes[i].desc->hdr.op) || net->nodes[i].rules & RULE_WATCH)) {
			needed[i] = true;
			pending[count++] = i;
		}
	while (count) {
		const struct node *node = &net->nodes[pending[--count]];

		for (i = 0; i < node->arg_count; i++) {
			from = value_node(net, node->args[i].value);
			if (from == NO_VALUE || needed[from])
				continue;
			needed[from] = true;
			pending[count++] = from;
		}
	}
	for (i = 0; i < net->node_count; i++)
		if (!needed[i])
			net->nodes[i].dead = true;
	free(needed);
	free(pending);
	return 0;
}

static const struct {
	uint32_t level;
	uint32_t pass;
	int (*fn)(struct net *net);
} passes[] = {
	{ 1, ACCEL_PASS_CSE, pass_cse },
	{ 2, ACCEL_PASS_QDQ, pass_scale },
	{ 1, ACCEL_PASS_BATCHNORM, pass_batchnorm },
	{ 1, ACCEL_PASS_TRANSPOSED, pass_transposed },
	{ 1, ACCEL_PASS_IDIOM, pass_idiom },
	{ 1, ACCEL_PASS_ATTENTION, pass_attention },
	{ 1, ACCEL_PASS_EPILOGUE, pass_epilogue },
	{ 2, ACCEL_PASS_QDQ, pass_qdq },
	{ 1, ACCEL_PASS_JOIN, pass_join },
	{ 1, ACCEL_PASS_COPY, pass_copy },
	{ 1, ACCEL_PASS_LAYOUT, pass_layout },
	{ 1, ACCEL_PASS_CONCAT, pass_concat },
};

/**
 * net_passes - make a net better
 * @net: net
 * @opts: options of the program
 *
 * Return: 0, or the error that the net has.
 */
int net_passes(struct net *net, const struct accel_compile_opts *opts)
{
	uint32_t i;
	int ret = pass_dead(net);

	for (i = 0; i < ARRAY_SIZE(passes) && !ret; i++) {
		/* What recognises operations has seen them as they were. */
		if (passes[i].pass == ACCEL_PASS_COPY) {
			ret = pass_precision(net);
			if (!ret)
				ret = pass_widen(net);
		}
		if (ret || opts->level < passes[i].level || (opts->off >> passes[i].pass & 1))
			continue;
		net_count_uses(net);
		ret = passes[i].fn(net);
		if (!ret)
			ret = pass_dead(net);
	}
	net_count_uses(net);
	return ret;
}
