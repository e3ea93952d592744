// SPDX-License-Identifier: MIT
/*
 * Stages: nets of graphs whose shapes depend on data. A net ends before the first node
 * that cannot be resolved; running it tells what that node needs, which are the facts that
 * the next net begins with. What was computed stays where it is, and the next net goes on
 * from there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

#define BIT(arg)	(1u << ACCEL_ARG_##arg)
/* Dimensions that only running tells, in an example: with many divisors */
#define GUESS		240

/* Arguments whose numbers a node has to know before it can be resolved */
static uint32_t wanted_args(const union node_desc *desc)
{
	switch (desc->hdr.op) {
	case ACCEL_OP_ADDED:
		return desc->added.node->op->d.known_inputs << desc->added.node->out_count;
	case ACCEL_SHAPE_RESHAPE:
	case ACCEL_SHAPE_EXPAND:
	case ACCEL_SHAPE_TILE:
	case ACCEL_SHAPE_SQUEEZE:
	case ACCEL_SHAPE_UNSQUEEZE:
	case ACCEL_SHAPE_PIECE:
		return BIT(B);
	case ACCEL_SHAPE_SLICE:
		return BIT(B) | BIT(C) | BIT(AUX0) | BIT(AUX1);
	case ACCEL_SHAPE_RANGE:
		return BIT(A) | BIT(B) | BIT(C);
	case ACCEL_SHAPE_FILL:
		return BIT(A);
	default:
		return late_args(desc->hdr.op);
	}
}

/* --- facts ------------------------------------------------------------------------- */

void facts_free(struct facts *facts)
{
	uint32_t i;

	for (i = 0; i < facts->count; i++)
		free(facts->list[i].data);
	free(facts->list);
	*facts = (struct facts) { 0 };
}

/* One more, whose data is its own; false: no memory. */
bool facts_add(struct facts *facts, const struct fact *fact)
{
	struct fact *to;

	if (!list_grow(&facts->list, facts->count, &facts->cap, sizeof(*facts->list)))
		return false;
	to = &facts->list[facts->count];
	*to = *fact;
	if (fact->data) {
		to->data = malloc(fact->bytes + 1);
		if (!to->data)
			return false;
		memcpy(to->data, fact->data, fact->bytes);
	}
	facts->count++;
	return true;
}

bool facts_copy(struct facts *to, const struct facts *from)
{
	uint32_t i;

	for (i = 0; i < from->count; i++)
		if (!facts_add(to, &from->list[i]))
			return false;
	return true;
}

bool facts_equal(const struct facts *a, const struct facts *b)
{
	uint32_t i;

	if (a->count != b->count)
		return false;
	for (i = 0; i < a->count; i++) {
		const struct fact *x = &a->list[i], *y = &b->list[i];

		if (x->value != y->value || x->type != y->type || x->rank != y->rank ||
		    memcmp(x->dims, y->dims, x->rank * sizeof(x->dims[0])) ||
		    !x->data != !y->data || x->bytes != y->bytes ||
		    (x->data && memcmp(x->data, y->data, x->bytes)))
			return false;
	}
	return true;
}

/* What is known of a value: its elements, or that it is given; there may be both. */
static const struct fact *find_fact(const struct net *net, uint32_t value, bool elements)
{
	uint32_t i;

	for (i = 0; i < net->facts.count; i++)
		if (net->facts.list[i].value == value && !net->facts.list[i].data == !elements)
			return &net->facts.list[i];
	return NULL;
}

/**
 * stage_fact - a value whose numbers are known becomes a constant
 * @net: net
 * @index: value of the graph, which the net has
 *
 * Return: 0, or the error that the net has.
 */
int stage_fact(struct net *net, uint32_t index)
{
	const struct fact *fact = find_fact(net, index, true);
	uint32_t value;
	void *data;

	if (!fact)
		return 0;
	data = malloc(fact->bytes + 1);
	if (!data)
		return net_nomem(net);
	memcpy(data, fact->data, fact->bytes);
	value = net_constant(net, fact->type, fact->rank, fact->dims, data);
	if (value == NO_VALUE)
		return net_nomem(net);
	net->values[value].name = net->values[net->map[index]].name;
	net->map[index] = value;
	return 0;
}

/* What is known of its results, or inputs again: that does no harm */
int stage_facts(struct net *net, const struct graph_node *from)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < from->arg_count && net->facts.count && !ret; i++)
		if (net->map[from->args[i].value] != NO_VALUE &&
		    !value_const(net, net->map[from->args[i].value]))
			ret = stage_fact(net, from->args[i].value);
	return ret;
}

/* Its elements are there, from a stage before. */
static void is_given(struct net *net, uint32_t value, uint32_t index)
{
	struct store *s = &net->stores[net->values[value].store];

	s->node = NO_VALUE;
	/* What was written over an input is there. */
	if (s->kind == STORE_INPUT)
		return;
	s->kind = STORE_GIVEN;
	s->index = index;
}

/**
 * stage_done - the results of a node that ran in a stage before
 * @net: net
 * @from: node of the graph
 * @node: node of the net, resolved and not constant
 */
void stage_done(struct net *net, const struct graph_node *from, struct node *node)
{
	uint32_t i, k;

	for (i = 0; i < node->arg_count; i++)
		for (k = 0; node->args[i].result && k < from->arg_count; k++)
			if (from->args[k].arg == node->args[i].arg)
				is_given(net, node->args[i].value, from->args[k].value);
	node->dead = true;
}

/* --- guesses: examples ------------------------------------------------------------- */

/**
 * struct guess - numbers in the place of those that only running tells
 * @type: their type
 * @count: how many
 * @data: they
 */
struct guess {
	uint32_t type;
	int64_t count;
	void *data;
};

static void put_guess(struct guess *g, int64_t i, int64_t integer, double real)
{
	const struct host_number n = {
		.real = host_type_real(g->type), .f = real, .i = integer
	};

	host_put(g->type, g->data, i, n);
}

static void guess_reshape(struct guess *g, const struct value *a)
{
	int64_t i, last = 1;

	for (i = 0; i < a->rank; i++)
		last *= i < g->count - 1 ? 1 : a->dims[i];
	for (i = 0; i < g->count; i++)
		put_guess(g, i, i == g->count - 1 ? last : i < a->rank ? a->dims[i] : 1, 1);
}

/* Dimensions of 1 as far as there are any */
static void guess_squeeze(struct guess *g, const struct value *a)
{
	int64_t n = 0;
	uint32_t i;

	for (i = 0; i < a->rank && n < g->count; i++)
		if (a->dims[i] == 1)
			put_guess(g, n++, i, i);
}

static void guess_pieces(struct guess *g, const struct value *a, int32_t axis)
{
	int64_t i, dim, size;
	uint32_t at = (uint32_t)(axis < 0 ? axis + (int32_t)a->rank : axis);

	if (at >= a->rank || !g->count)
		return;
	dim = a->dims[at];
	size = dim / g->count;
	for (i = 0; i < g->count; i++)
		put_guess(g, i, i < g->count - 1 ? size : dim - size * i, 1);
}

static void guess_numbers(struct guess *g, const struct graph_node *from, uint32_t arg,
			  const struct value *a)
{
	uint32_t op = from->desc->hdr.op;
	int64_t i, n;

	if (op == ACCEL_SHAPE_RESHAPE) {
		guess_reshape(g, a);
		return;
	}
	if (op == ACCEL_SHAPE_SQUEEZE) {
		guess_squeeze(g, a);
		return;
	}
	if (op == ACCEL_SHAPE_PIECE) {
		guess_pieces(g, a, from->desc->shape.axis);
		return;
	}
	for (i = 0; i < g->count; i++) {
		n = i;
		if (op == ACCEL_SHAPE_EXPAND || op == ACCEL_SHAPE_TILE || op == ACCEL_OP_TOPK ||
		    op == ACCEL_OP_ADDED)
			n = 1;
		else if (op == ACCEL_SHAPE_FILL)
			n = g->count > 2 ? 4 + i : GUESS + i;
		else if (op == ACCEL_SHAPE_RANGE)
			n = arg == ACCEL_ARG_A ? 0 : arg == ACCEL_ARG_B ? GUESS : 1;
		else if (op == ACCEL_SHAPE_SLICE && arg != ACCEL_ARG_AUX0)
			n = arg == ACCEL_ARG_B ? 0 : arg == ACCEL_ARG_C ? INT32_MAX : 1;
		else if (op == ACCEL_OP_PAD && arg != ACCEL_ARG_AUX0)
			n = 0;
		else if (op == ACCEL_OP_RESIZE && arg != ACCEL_ARG_AUX0)
			n = arg == ACCEL_ARG_B && i < a->rank ? a->dims[i] : 1;
		put_guess(g, i, n, (double)n);
	}
}

/* A constant in the place of what only running tells. */
static int guess_value(struct net *net, const struct graph_node *from, uint32_t *in, uint32_t arg)
{
	const struct value *v = &net->values[in[arg]];
	uint32_t value = in[ACCEL_ARG_A] == NO_VALUE ? in[arg] : in[ACCEL_ARG_A];
	struct guess g = { .type = v->type, .count = (int64_t)value_count(v) };

	g.data = calloc((size_t)g.count + 1, 8);
	if (!g.data)
		return net_nomem(net);
	guess_numbers(&g, from, arg, &net->values[value]);
	in[arg] = net_constant(net, v->type, v->rank, v->dims, g.data);
	return in[arg] == NO_VALUE ? net_nomem(net) : 0;
}

/**
 * stage_wants - what a node has to know before it can be resolved
 * @net: net
 * @from: node of the graph
 * @in: its values by argument; an example gets guesses for what it does not know
 * @stop: out: it has to wait
 *
 * Return: 0, or the error that the net has.
 */
int stage_wants(struct net *net, const struct graph_node *from, uint32_t *in, bool *stop)
{
	uint32_t args = wanted_args(from->desc), i;
	const struct value *v;
	int ret;

	for (i = 0; i < ACCEL_ARG_COUNT; i++) {
		if (!(args >> i & 1) || in[i] == NO_VALUE || value_const(net, in[i]))
			continue;
		v = &net->values[in[i]];
		/* The node says what is wrong with the others. */
		if (v->rank > 1 || value_count(v) > MAX_WANTED || accel_type_bits(v->type) < 8)
			continue;
		if (net->guess) {
			net->guessed = true;
			ret = guess_value(net, from, in, i);
			if (ret)
				return ret;
			continue;
		}
		*stop = true;
	}
	return 0;
}

/* Is a graph's value one whose numbers the node that the net stops at wants? */
static bool is_wanted(const struct net *net, const struct graph_node *node,
		      const struct accel_graph_arg *arg)
{
	const struct value *v;

	if (node->dynamic || is_table(arg->arg) ||
	    !(wanted_args(node->desc) >> arg->arg & 1) || net->map[arg->value] == NO_VALUE)
		return false;
	v = &net->values[net->map[arg->value]];
	return !value_const(net, net->map[arg->value]) && v->rank <= 1 &&
	       value_count(v) <= MAX_WANTED && accel_type_bits(v->type) >= 8;
}

/* --- dynamic nodes --------------------------------------------------------------------- */

static uint32_t given_value(struct net *net, const struct fact *fact)
{
	uint32_t value = net_new_value(net, fact->type, fact->rank, fact->dims);

	if (value != NO_VALUE)
		is_given(net, value, fact->value);
	return value;
}

/* The number that a value of an example is; @otherwise if only running tells */
static double known_number(const struct net *net, uint32_t index, double otherwise)
{
	double number;

	return value_scalar(net, net->map[index], &number) ? number : otherwise;
}

/* A graph of a node for the sizes that its inputs have in an example, as far as they fit */
static struct net *example_body(struct net *net, const struct graph_node *from, uint32_t which)
{
	struct accel_graph *body = from->dynamic->body[which];
	uint32_t i, k, first = from->dynamic->d.op == ACCEL_DYNAMIC_IF;
	int64_t *numbers = malloc((body->symbol_count + 1) * sizeof(*numbers));
	struct net *out;

	if (!numbers)
		return NULL;
	if (body->symbol_count)
		memcpy(numbers, body->example->symbols, body->symbol_count * sizeof(*numbers));
	if (which)
		first += from->dynamic->body[0]->input_count;
	for (i = 0; i < body->input_count; i++) {
		const struct graph_value *in = &body->values[body->inputs[i]];
		const struct value *v = &net->values[net->map[from->args[first + i].value]];

		for (k = 0; k < in->rank && in->rank == v->rank; k++)
			if (in->dims[k] < 0)
				numbers[symbol_index(in->dims[k])] = v->dims[k];
	}
	out = graph_try(body, numbers, NULL);
	free(numbers);
	if (out && out->error.code) {
		net_free(out);
		return NULL;
	}
	return out;
}

/* The graph that a node runs, in an example: that of a condition which is known there */
static uint32_t guess_branch(const struct net *net, const struct graph_node *from)
{
	return from->dynamic->d.op == ACCEL_DYNAMIC_IF &&
	       known_number(net, from->args[0].value, 1) == 0;
}

static int guess_body(struct net *net, const struct graph_node *from, uint32_t index,
		      const struct net *made, struct fact *fact)
{
	bool loop = from->dynamic->d.op == ACCEL_DYNAMIC_LOOP;
	struct accel_graph *body = from->dynamic->body[guess_branch(net, from)];
	const struct net *use = made ? made : body->example;
	const struct value *v = &use->values[use->map[body->outputs[index + loop].value]];
	uint32_t list = loop && index >= from->dynamic->d.carried;
	double trips = loop ? known_number(net, from->args[0].value, GUESS) : GUESS;

	fact->type = v->type;
	fact->rank = v->rank + list;
	if (fact->rank > MAX_RANK)
		return -EOPNOTSUPP;
	fact->dims[0] = trips >= 0 && trips <= MAX_ITERATIONS ? (int64_t)trips : GUESS;
	memcpy(fact->dims + list, v->dims, v->rank * sizeof(v->dims[0]));
	return 0;
}

/* Types, dimensions as they may be */
static int guess_result(struct net *net, const struct graph_node *from, uint32_t index,
			const struct net *made, struct fact *fact)
{
	const struct graph_dynamic *dyn = from->dynamic;
	const struct value *a = &net->values[net->map[from->args[0].value]];
	int32_t axis = dyn->d.axis < 0 ? dyn->d.axis + (int32_t)a->rank : dyn->d.axis;

	fact->type = ACCEL_HOST_S64;
	fact->rank = 1;
	fact->dims[0] = GUESS;
	switch (dyn->d.op) {
	case ACCEL_DYNAMIC_NONZERO:
		fact->rank = 2;
		fact->dims[0] = a->rank ? a->rank : 1;
		fact->dims[1] = GUESS;
		return 0;
	case ACCEL_DYNAMIC_NMS:
		fact->rank = 2;
		fact->dims[1] = 3;
		return 0;
	case ACCEL_DYNAMIC_UNIQUE:
		if (index)
			return 0;
		fact->type = a->type;
		if (!(dyn->d.flags & ACCEL_DYNAMIC_AXIS))
			return 0;
		if (axis < 0 || axis >= (int32_t)a->rank)
			return -EINVAL;
		fact->rank = a->rank;
		memcpy(fact->dims, a->dims, sizeof(fact->dims));
		fact->dims[axis] = GUESS;
		return 0;
	default:
		return guess_body(net, from, index, made, fact);
	}
}

/* Does a node read a value? */
static bool is_read(const struct accel_graph *graph, uint32_t value)
{
	uint32_t i, k;

	for (i = 0; i < graph->node_count; i++)
		for (k = 0; k < graph->nodes[i].arg_count; k++)
			if (graph->nodes[i].args[k].value == value &&
			    !(graph->nodes[i].dynamic && k >= graph->nodes[i].dynamic->in_count))
				return true;
	return false;
}

/* The nodes behind were described for what the example has: with other ranks they mean others. */
static bool is_expected(const struct net *net, const struct fact *fact)
{
	const struct net *example = net->graph->example;
	const struct value *v;

	if (!example || fact->value >= example->values_taken ||
	    example->map[fact->value] == NO_VALUE)
		return true;
	v = &example->values[example->map[fact->value]];
	return (v->rank == fact->rank && v->type == fact->type) ||
	       !is_read(net->graph, fact->value);
}

/* A result of a dynamic node becomes a value. */
static int take_result(struct net *net, const struct graph_node *from, uint32_t index,
		       const struct net *made)
{
	const struct node say = { .name = from->name, .source = from->source, .desc = from->desc };
	uint32_t arg = from->dynamic->in_count + index, value;
	struct fact guess = { .value = from->args[arg].value };
	const struct fact *fact = net->guess ? &guess : find_fact(net, guess.value, false);
	int ret = net->guess ? guess_result(net, from, index, made, &guess) : 0;

	if (ret || !fact)
		return net_fail(net, ret ? ret : -EINVAL, &say, "result %u does not fit", index);
	if (!net->guess && !is_expected(net, fact))
		return net_fail(net, -EOPNOTSUPP, &say,
				"result %u is %s of %u dimensions, which those behind do not expect",
				index, accel_type_name(fact->type), fact->rank);
	value = given_value(net, fact);
	if (value == NO_VALUE)
		return net->error.code ? net->error.code : net_nomem(net);
	net->values[value].unsure = net->guess;
	net->values[value].name = from->name;
	net->map[guess.value] = value;
	return stage_fact(net, guess.value);
}

/**
 * stage_dynamic - take a node whose results have dimensions that only running tells
 * @net: net
 * @from: node of the graph
 * @index: its number
 *
 * Return: 0; 1: it has to run first; or the error that the net has.
 */
int stage_dynamic(struct net *net, const struct graph_node *from, uint32_t index)
{
	uint32_t i, count = from->arg_count - from->dynamic->in_count;
	struct net *made = NULL;
	int ret = 0;

	if (!net->guess && index >= net->first)
		return 1;
	/* Once for all results: what is in the graph is guessed in turn. */
	if (net->guess && from->dynamic->d.op <= ACCEL_DYNAMIC_LOOP)
		made = example_body(net, from, guess_branch(net, from));
	for (i = 0; i < count && !ret; i++)
		ret = take_result(net, from, i, made);
	net_free(made);
	return ret;
}

/* --- where a net ends ---------------------------------------------------------------- */

static bool in_arena(const struct net *net, uint32_t value)
{
	return net->stores[net->values[value].store].kind == STORE_ARENA;
}

/* Can it be read where it is, as it is? */
static bool is_direct(const struct net *net, uint32_t value)
{
	return value_const(net, value) ||
	       (!in_arena(net, value) && value_dense(&net->values[value]));
}

/* Is an argument of a node of the graph one of its results? */
bool is_result(const struct graph_node *node, uint32_t k)
{
	if (node->dynamic)
		return k >= node->dynamic->in_count;
	return desc_writes(node->desc, node->args[k].arg);
}

/* What nodes from the one on that the net stops at read, and the graph gives */
static void mark_later(const struct net *net, bool *need)
{
	const struct accel_graph *graph = net->graph;
	uint32_t i, k;

	for (i = net->stop; i < graph->node_count; i++)
		for (k = 0; k < graph->nodes[i].arg_count && !net->unread[i]; k++)
			need[graph->nodes[i].args[k].value] = true;
	for (i = 0; i < graph->output_count; i++)
		need[graph->outputs[i].value] = true;
}

/* Views need what they are views of; the rest is what has to be kept. */
static void find_kept(struct net *net, bool *need, bool *keep)
{
	const struct accel_graph *graph = net->graph;
	uint32_t i, k, value;

	for (i = net->stop; i-- > 0;) {
		const struct graph_node *node = &graph->nodes[i];
		bool view = !node->dynamic && is_shape_op(node->desc->hdr.op);

		for (k = 0; k < node->arg_count; k++) {
			value = node->args[k].value;
			if (!is_result(node, k) || !need[value] ||
			    value_const(net, net->map[value]))
				continue;
			if (!view) {
				keep[value] = in_arena(net, net->map[value]);
				continue;
			}
			for (k = 0; k < node->arg_count; k++)
				need[node->args[k].value] = true;
			break;
		}
	}
}

/**
 * stage_end - what a net has for the next one
 * @net: net; its results are chosen
 *
 * Return: 0, or the error that the net has.
 */
int stage_end(struct net *net)
{
	const struct accel_graph *graph = net->graph;
	const struct graph_node *node;
	bool *need, *keep;
	uint32_t i, value;

	net->out_values = malloc((graph->value_count + graph->output_count + 1) *
				 sizeof(*net->out_values));
	if (!net->out_values)
		return net_nomem(net);
	if (net->stop == graph->node_count) {
		for (i = 0; i < graph->output_count; i++)
			net->out_values[net->output_count++] = graph->outputs[i].value;
		return 0;
	}
	node = &graph->nodes[net->stop];
	need = calloc(graph->value_count + 1, 2 * sizeof(*need));
	if (!need)
		return net_nomem(net);
	keep = need + graph->value_count;
	net->peek = !node->dynamic;
	for (i = 0; i < node->arg_count; i++) {
		value = node->args[i].value;
		if (node->dynamic && i < node->dynamic->in_count)
			keep[value] = !is_direct(net, net->map[value]);
		else if (is_wanted(net, node, &node->args[i]))
			keep[value] = in_arena(net, net->map[value]);
		net->peek = net->peek && !keep[value];
	}
	if (!net->peek) {
		mark_later(net, need);
		find_kept(net, need, keep);
		for (i = 0; i < graph->value_count; i++)
			if (keep[i])
				net->out_values[net->output_count++] = i;
	}
	free(need);
	return 0;
}

/**
 * stage_next - is a value one that the next net has to know the numbers of?
 * @net: net that stopped
 * @index: argument of the node that it stopped at
 *
 * Return: value of the graph, NO_VALUE: no.
 */
uint32_t stage_next(const struct net *net, uint32_t index)
{
	const struct graph_node *node = &net->graph->nodes[net->stop];

	return is_wanted(net, node, &node->args[index]) ? node->args[index].value : NO_VALUE;
}
