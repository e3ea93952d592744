// SPDX-License-Identifier: MIT
/*
 * Numbers that symbols may stand for, so that types and ranks are known while a graph is
 * built. Unlike ones are tried first; where an operation wants some to be equal, or to be
 * certain numbers, those are looked for among the sizes that it has. Then come numbers that
 * can be halved often, for nets that add what was halved and doubled to what was not, and
 * then one for all symbols.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/* Nets that are made for one operation that does not fit, and for a graph in all. */
#define TRIES_NODE  128
#define TRIES_GRAPH 1024
/* Numbers that are looked at for symbols, most of which make no net */
#define LOOKS_GRAPH (1u << 24)
#define MAX_HINTS   24
/* Values of an operation whose dimensions are compared */
#define MAX_SHAPES  5
/* Ways in which other numbers are chosen */
#define OTHER_TRIES 4
/* Largest power of two that is tried */
#define MAX_POWER   4096
/* What numbers that can be halved often are multiples of */
#define ROUND	    32

/**
 * struct search - numbers are being looked for
 * @graph: graph
 * @best: net that came furthest
 * @hints: sizes of the operation that does not fit
 * @count: number of @hints
 * @tries: nets that may still be made for it, in this way of choosing numbers
 */
struct search {
	struct accel_graph *graph;
	struct net *best;
	int64_t hints[MAX_HINTS];
	uint32_t count;
	uint32_t tries;
};

static void add_hint(struct search *s, int64_t n)
{
	uint32_t i;

	for (i = 0; i < s->count; i++)
		if (s->hints[i] == n)
			return;
	if (n > 0 && n <= MAX_ELEMENTS && s->count < MAX_HINTS)
		s->hints[s->count++] = n;
}

/* Sizes of a value, or what a list of them says */
static void add_value_hints(struct search *s, uint32_t value)
{
	const struct value *v = &s->best->values[value];
	int64_t list[MAX_RANK], n = 1;
	uint32_t i, count;

	if (v->rank <= 1 && value_ints(s->best, value, list, &count, MAX_RANK)) {
		for (i = 0; i < count; i++)
			if (list[i] > 0 && __builtin_mul_overflow(n, list[i], &n))
				n = 0;
		add_hint(s, n);
		for (i = 0; i < count; i++)
			add_hint(s, list[i]);
		return;
	}
	for (i = 0; i < v->rank; i++)
		add_hint(s, v->dims[i]);
}

/* The node's inputs: how many elements they have comes last, as that fits a window too well. */
static void add_node_hints(struct search *s, const struct graph_node *node)
{
	uint32_t i, value;

	for (i = 0; i < node->arg_count; i++) {
		value = s->best->map[node->args[i].value];
		if (value != NO_VALUE)
			add_value_hints(s, value);
	}
	for (i = 0; i < node->arg_count; i++) {
		value = s->best->map[node->args[i].value];
		if (value != NO_VALUE)
			add_hint(s, (int64_t)value_count(&s->best->values[value]));
	}
	add_hint(s, 1);
}

/**
 * graph_try - a graph for numbers, with guesses for what only running tells
 * @graph: graph
 * @numbers: for its symbols
 * @facts: what is known beside them, or NULL
 *
 * Return: net, as far as it came; NULL: no memory.
 */
struct net *graph_try(struct accel_graph *graph, const int64_t *numbers, const struct facts *facts)
{
	struct net *net = net_alloc(graph);

	if (!net)
		return NULL;
	net->symbols = malloc((graph->symbol_count + 1) * sizeof(*numbers));
	if (!net->symbols || (facts && !facts_copy(&net->facts, facts))) {
		net_free(net);
		return NULL;
	}
	if (graph->symbol_count)
		memcpy(net->symbols, numbers, graph->symbol_count * sizeof(*numbers));
	net->symbol_count = graph->symbol_count;
	net->guess = true;
	net_extend(net);
	return net;
}

static bool may_be(const struct search *s, uint32_t symbol, int64_t n)
{
	if (s->graph->looks)
		s->graph->looks--;
	return n >= s->graph->symbols[symbol].min && n <= s->graph->symbols[symbol].max;
}

/* May another net be made? If not, there may be many symbols left, and more pairs of them. */
static bool may_try(const struct search *s)
{
	return s->tries && s->graph->tries && s->graph->looks;
}

/* Does it go on further with other numbers? Then these are taken. */
static bool try_numbers(struct search *s, const int64_t *numbers)
{
	struct net *net;

	if (!may_try(s))
		return false;
	s->tries--;
	s->graph->tries--;
	net = graph_try(s->graph, numbers, NULL);
	if (!net || (net->error.code && net->nodes_taken <= s->best->nodes_taken)) {
		net_free(net);
		return false;
	}
	net_free(s->best);
	s->best = net;
	return true;
}

/* The same with another number for a symbol */
static bool try_number(struct search *s, uint32_t symbol, int64_t n)
{
	const int64_t old = s->best->symbols[symbol];

	if (!may_be(s, symbol, n) || n == old)
		return false;
	s->best->symbols[symbol] = n;
	if (try_numbers(s, s->best->symbols))
		return true;
	s->best->symbols[symbol] = old;
	return false;
}

/* Symbols that a value has as dimensions become what another has there: several at once */
static bool try_shape(struct search *s, uint32_t value, uint32_t like)
{
	const struct value *v = &s->best->values[value], *w = &s->best->values[like];
	const uint32_t count = s->graph->symbol_count;
	int64_t *numbers = malloc((count + 1) * sizeof(*numbers));
	uint32_t d, i, changed = 0;
	bool found;

	if (!numbers)
		return false;
	memcpy(numbers, s->best->symbols, count * sizeof(*numbers));
	for (d = 1; d <= v->rank && d <= w->rank; d++) {
		const int64_t from = v->dims[v->rank - d], to = w->dims[w->rank - d];

		for (i = 0; i < count && from != to && to > 1; i++)
			if (s->best->symbols[i] == from && may_be(s, i, to)) {
				numbers[i] = to;
				changed++;
			}
	}
	found = changed > 1 && try_numbers(s, numbers);
	free(numbers);
	return found;
}

static bool try_shapes(struct search *s, const struct graph_node *node)
{
	uint32_t i, k, value, like;

	for (i = 0; i < node->arg_count && i < MAX_SHAPES; i++) {
		value = s->best->map[node->args[i].value];
		for (k = 0; k < node->arg_count && k < MAX_SHAPES && value != NO_VALUE; k++) {
			like = s->best->map[node->args[k].value];
			if (k != i && like != NO_VALUE && try_shape(s, value, like))
				return true;
		}
	}
	return false;
}

/* Two that have to be others at the same time */
static bool try_pair(struct search *s, uint32_t a, uint32_t b)
{
	const int64_t old = s->best->symbols[a];
	uint32_t i, k;

	for (i = 0; i < s->count; i++) {
		if (s->hints[i] == old || !may_be(s, a, s->hints[i]))
			continue;
		s->best->symbols[a] = s->hints[i];
		for (k = 0; k < s->count; k++)
			if (try_number(s, b, s->hints[k]))
				return true;
		s->best->symbols[a] = old;
	}
	return false;
}

/* In the ratio of two sizes, or by their difference: one of them follows from the symbol. */
static bool try_symbol(struct search *s, uint32_t symbol)
{
	int64_t old = s->best->symbols[symbol], p, q;
	uint32_t i, k;

	for (i = 0; i < s->count; i++)
		if (s->hints[i] != 1 && try_number(s, symbol, s->hints[i]))
			return true;
	for (i = 0; i < s->count; i++) {
		for (k = 0; k < s->count; k++) {
			int64_t n;

			p = s->hints[i];
			q = s->hints[k];
			if (i == k || __builtin_mul_overflow(old, p, &n))
				continue;
			if (!(n % q) && n / q > 1 && try_number(s, symbol, n / q))
				return true;
			if (old + p - q > 1 && try_number(s, symbol, old + p - q))
				return true;
		}
	}
	return false;
}

/* Another number for a symbol, so that the operation that did not fit does; false: none. */
static bool advance(struct search *s)
{
	const struct graph_node *node;
	uint32_t i, k;
	int64_t n;

	/* A node that does not fit has been counted; a value that is too large is none. */
	if (!s->best->nodes_taken)
		return false;
	node = &s->graph->nodes[s->best->nodes_taken - 1];
	s->count = 0;
	s->tries = TRIES_NODE;
	add_node_hints(s, node);
	if (try_shapes(s, node))
		return true;
	for (i = 0; i < s->graph->symbol_count && may_try(s); i++)
		if (try_symbol(s, i))
			return true;
	s->tries = TRIES_NODE;
	for (i = 0; i < s->graph->symbol_count && may_try(s); i++)
		if (try_number(s, i, 1))
			return true;
	s->tries = TRIES_NODE;
	for (i = 0; i < s->graph->symbol_count && may_try(s); i++)
		for (k = 0; k < i && may_try(s); k++)
			if (try_pair(s, i, k))
				return true;
	/* So many that windows fit, and so few that one is left where that is wanted */
	s->tries = TRIES_NODE;
	for (n = 2; n <= MAX_POWER; n *= 2)
		for (i = 0; i < s->graph->symbol_count && may_try(s); i++)
			if (try_number(s, i, n))
				return true;
	return false;
}

/*
 * Large enough for a few halvings and @step apart, multiples of that; unlike ones, which are one
 * apart, are those of the example before, if there was one.
 */
static struct net *first(struct accel_graph *graph, int64_t step)
{
	int64_t *numbers = malloc((graph->symbol_count + 1) * sizeof(*numbers)), n;
	const struct net *old = graph->example;
	struct net *net;
	uint32_t i;

	if (!numbers)
		return NULL;
	for (i = 0; i < graph->symbol_count; i++) {
		n = step == 1 && old && i < old->symbol_count ? old->symbols[i] :
		    64 + step * (int64_t)i;
		n = n > graph->symbols[i].max ? graph->symbols[i].max : n;
		numbers[i] = n < graph->symbols[i].min ? graph->symbols[i].min : n;
	}
	net = graph_try(graph, numbers, NULL);
	free(numbers);
	return net;
}

/**
 * graph_example - resolve all of a graph for numbers that fit
 * @graph: graph
 *
 * Return: 0, or the error that the graph has.
 */
int graph_example(struct accel_graph *graph)
{
	static const int64_t steps[] = { ROUND, 0 };
	struct search s = { .graph = graph };
	struct accel_error error;
	struct net *net;
	uint32_t i;
	int ret;

	if (!graph->example) {
		graph->tries = TRIES_GRAPH;
		graph->looks = LOOKS_GRAPH;
	}
	/* Numbers that were found are kept as long as they fit. */
	if (graph->example && graph->example->symbol_count == graph->symbol_count) {
		ret = net_extend(graph->example);
		if (!ret)
			return 0;
	}
	s.best = first(graph, 1);
	net_free(graph->example);
	graph->example = NULL;
	if (!s.best) {
		graph->error = (struct accel_error)ACCEL_ERROR_INIT;
		return graph->error.code = -ENOMEM;
	}
	/* What is said is what unlike numbers, or those that fitted so far, came to. */
	error = s.best->error;
	while (s.best->error.code && s.best->error.code != -ENOMEM && advance(&s))
		;
	for (i = 0; i < ARRAY_SIZE(steps) && graph->symbol_count && s.best->error.code &&
	     s.best->error.code != -ENOMEM; i++) {
		net = first(graph, steps[i]);
		if (net) {
			net_free(s.best);
			s.best = net;
		}
		while (s.best->error.code && s.best->error.code != -ENOMEM && advance(&s))
			;
	}
	if (s.best->error.code) {
		graph->error = error;
		net_free(s.best);
		return error.code;
	}
	graph->example = s.best;
	return 0;
}

/* Numbers unlike those of the example: the same function of each, so that some stay equal. */
static struct net *another(struct accel_graph *graph, uint32_t way)
{
	int64_t *numbers = malloc((graph->symbol_count + 1) * sizeof(*numbers)), n;
	struct net *net;
	uint32_t i;

	if (!numbers)
		return NULL;
	for (i = 0; i < graph->symbol_count; i++) {
		const struct symbol *sym = &graph->symbols[i];

		n = graph->example->symbols[i];
		n = way == 0 ? 2 * n : way == 1 ? 3 * n : n + (int64_t)way - 1;
		if (n > sym->max)
			n = graph->example->symbols[i] / 2;
		numbers[i] = n < sym->min ? sym->min : n;
	}
	net = graph_try(graph, numbers, NULL);
	free(numbers);
	return net;
}

/**
 * graph_varies - does a dimension depend on symbols?
 * @graph: graph that has an example
 * @value: value
 * @dim: dimension
 *
 * Return: true: it does, or nobody knows.
 */
bool graph_varies(struct accel_graph *graph, uint32_t value, uint32_t dim)
{
	const struct net *example = graph->example;
	uint32_t i;

	if (example->values[example->map[value]].unsure)
		return true;
	if (!graph->symbol_count)
		return false;
	if (graph->other && graph->other->symbol_count == graph->symbol_count)
		net_extend(graph->other);
	while (!graph->other || graph->other->error.code ||
	       graph->other->symbol_count != graph->symbol_count) {
		net_free(graph->other);
		graph->other = NULL;
		if (graph->other_tries == OTHER_TRIES)
			return true;
		graph->other = another(graph, graph->other_tries++);
	}
	/* A symbol of one number only says nothing about the dimensions that it is. */
	for (i = 0; i < graph->symbol_count; i++)
		if (graph->other->symbols[i] == example->symbols[i] &&
		    graph->symbols[i].min != graph->symbols[i].max)
			return true;
	return example->values[example->map[value]].dims[dim] !=
	       graph->other->values[graph->other->map[value]].dims[dim];
}
