// SPDX-License-Identifier: MIT
/*
 * Nets: a graph for numbers. Nodes are looked at in the order in which they were
 * added; each finds its inputs resolved, and becomes a view, a constant or a node.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/* Constants up to so many elements are computed once, on the CPU. */
#define FOLD_MAX	(1u << 24)
/* All together have so many bytes, and more for what the graph itself has. */
#define FOLD_BYTES	(256u << 20)
/* Weights from this size on */
#define STAYS_BYTES	65536u

int net_fail(struct net *net, int code, const struct node *node, const char *fmt, ...)
{
	struct accel_error *e = &net->error;
	size_t n = 0;
	va_list ap;

	*e = (struct accel_error)ACCEL_ERROR_INIT;
	e->code = code;
	e->op_index = UINT32_MAX;
	if (node) {
		snprintf(e->field, sizeof(e->field), "%s", node->name ? node->name :
			 desc_name(node->desc));
		n = (size_t)snprintf(e->text, sizeof(e->text), "node %s (%s): ",
				     node->name ? node->name : "without a name",
				     made_for(node->source, node->desc));
	}
	if (n < sizeof(e->text)) {
		va_start(ap, fmt);
		vsnprintf(e->text + n, sizeof(e->text) - n, fmt, ap);
		va_end(ap);
	}
	return code;
}

int net_nomem(struct net *net)
{
	return net_fail(net, -ENOMEM, NULL, "out of memory");
}

/* NO_VALUE: no memory; so for the following ones. */
uint32_t net_store(struct net *net, enum store_kind kind, uint64_t bytes)
{
	if (!list_grow(&net->stores, net->store_count, &net->store_cap, sizeof(*net->stores)))
		return NO_VALUE;
	net->stores[net->store_count] = (struct store) {
		.kind = kind, .bytes = bytes, .index = NO_VALUE, .over = NO_VALUE,
		.node = NO_VALUE, .user = NO_VALUE, .part_of = NO_VALUE
	};
	return net->store_count++;
}

uint32_t net_value(struct net *net, uint32_t type, uint32_t rank, const int64_t *dims,
		   uint32_t store)
{
	struct value v = { .type = type, .rank = rank, .store = store };
	int64_t step = 1;
	uint32_t i;

	for (i = rank; i-- > 0;) {
		v.dims[i] = dims[i];
		v.strides[i] = step;
		step *= dims[i];
	}
	/* @dims may be those of a value that moves now. */
	if (store == NO_VALUE ||
	    !list_grow(&net->values, net->value_count, &net->value_cap, sizeof(v)))
		return NO_VALUE;
	net->values[net->value_count] = v;
	return net->value_count++;
}

/* A dense value in memory of its own. */
uint32_t net_new_value(struct net *net, uint32_t type, uint32_t rank, const int64_t *dims)
{
	uint64_t n = 1;
	uint32_t i;

	if (!dims_fit(rank, dims)) {
		net_fail(net, -EOVERFLOW, NULL, "a value is too large");
		return NO_VALUE;
	}
	for (i = 0; i < rank; i++)
		n *= (uint64_t)dims[i];
	return net_value(net, type, rank, dims, net_store(net, STORE_ARENA, type_bytes(type, n)));
}

/* May there be a constant of so many bytes more? It is counted. */
bool net_may_fold(struct net *net, uint64_t bytes)
{
	if (bytes > FOLD_BYTES + 4 * net->given_bytes - net->folded_bytes)
		return false;
	net->folded_bytes += bytes;
	return true;
}

/* A dense constant; @data is the net's from now on, also if there is no memory. */
uint32_t net_constant(struct net *net, uint32_t type, uint32_t rank, const int64_t *dims,
		      void *data)
{
	uint32_t value = net_new_value(net, type, rank, dims);
	struct store *s;
	struct blob *blob;

	blob = value == NO_VALUE ? NULL :
	       blob_create(data, net->stores[net->values[value].store].bytes, free, data);
	if (!blob) {
		free(data);
		return NO_VALUE;
	}
	s = &net->stores[net->values[value].store];
	s->kind = STORE_CONST;
	s->blob = blob;
	return value;
}

/* Another value of the same elements, to be changed. */
uint32_t net_view(struct net *net, uint32_t value)
{
	if (!list_grow(&net->values, net->value_count, &net->value_cap, sizeof(*net->values)))
		return NO_VALUE;
	net->values[net->value_count] = net->values[value];
	return net->value_count++;
}

/**
 * net_node - a node without arguments
 * @net: net
 * @of: whose name it has, and what it is made for; or NULL
 * @op: operation
 *
 * Return: node, NULL: no memory.
 */
struct node *net_node(struct net *net, const struct node *of, uint32_t op)
{
	/* It may lie where nodes move. */
	const char *name = of ? of->name : NULL, *source = of ? of->source : NULL;
	union node_desc *desc = calloc(1, desc_size(op));
	struct node *node;

	if (!desc)
		return NULL;
	if (!list_grow(&net->nodes, net->node_count, &net->node_cap, sizeof(*node))) {
		free(desc);
		return NULL;
	}
	desc->hdr.size = desc_size(op);
	desc->hdr.op = op;
	node = &net->nodes[net->node_count++];
	*node = (struct node) { .name = name, .source = source, .desc = desc };
	return node;
}

int node_arg(struct node *node, uint32_t arg, uint32_t value, bool result)
{
	if (node->arg_count == NODE_MAX_ARGS || value == NO_VALUE)
		return -ENOMEM;
	node->args[node->arg_count++] = (struct node_arg) { arg, value, result };
	return 0;
}

/* The value of an argument, NO_VALUE: it is absent. */
uint32_t node_value(const struct node *node, uint32_t arg)
{
	uint32_t i;

	for (i = 0; i < node->arg_count; i++)
		if (node->args[i].arg == arg)
			return node->args[i].value;
	return NO_VALUE;
}

/* Put another value in the place of an argument, or add an input; false: no room. */
bool node_set(struct node *node, uint32_t arg, uint32_t value)
{
	uint32_t i;

	for (i = 0; i < node->arg_count; i++)
		if (node->args[i].arg == arg) {
			node->args[i].value = value;
			return true;
		}
	return !node_arg(node, arg, value, false);
}

uint32_t node_result(const struct node *node)
{
	return node_value(node, ACCEL_ARG_D);
}

/* --- nodes beside the graph's ------------------------------------------------------- */

/**
 * net_copy - the elements of a value in dense memory of their own
 * @net: net
 * @value: value
 * @type: their type
 * @of: node that wants it, or that it is of
 *
 * Return: value, NO_VALUE: no memory.
 */
uint32_t net_copy(struct net *net, uint32_t value, uint32_t type, const struct node *of)
{
	struct node *node = net_node(net, of, ACCEL_OP_COPY);
	uint32_t out, index = net->node_count - 1;

	if (!node)
		return NO_VALUE;
	out = net_new_value(net, type, net->values[value].rank, net->values[value].dims);
	if (out == NO_VALUE || node_arg(node, ACCEL_ARG_A, value, false) ||
	    node_arg(node, ACCEL_ARG_D, out, true))
		return NO_VALUE;
	net->stores[net->values[out].store].node = index;
	net->values[out].name = net->values[value].name;
	fold_node(net, &net->nodes[index]);
	return out;
}

/**
 * net_copies - room for a copy of each value that there is now
 * @net: net
 *
 * Return: table for net_copy_once(), from malloc(); NULL: no memory.
 */
uint32_t *net_copies(const struct net *net)
{
	uint32_t *made = malloc((net->value_count + 1) * sizeof(*made)), i;

	for (i = 0; made && i < net->value_count; i++)
		made[i] = NO_VALUE;
	return made;
}

/**
 * net_copy_once - net_copy(), unless that was done before: nodes share what they read
 * @net: net
 * @made: table of copies, all in one type
 * @value: as of net_copy(); has a place in @made
 * @type: likewise
 * @of: likewise
 *
 * Return: as net_copy().
 */
uint32_t net_copy_once(struct net *net, uint32_t *made, uint32_t value, uint32_t type,
		       const struct node *of)
{
	if (made[value] == NO_VALUE)
		made[value] = net_copy(net, value, type, of);
	return made[value];
}

/* --- folding ----------------------------------------------------------------------- */

/* Are there more elements than its store has, so many that it takes long to visit them? */
static bool is_repeated(const struct net *net, const struct value *v)
{
	uint64_t n = value_count(v);

	return n > FOLD_MAX && n > net->stores[v->store].bytes * 8 / accel_type_bits(v->type);
}

/**
 * net_release - a node that read a constant reads another one now
 * @net: net; net_count_uses() was called in this pass
 * @value: value
 *
 * One that was computed and that nobody else reads gives its memory back at once: those of all
 * weights together are as large as the model.
 */
void net_release(struct net *net, uint32_t value)
{
	struct store *s = &net->stores[net->values[value].store];

	if (!value_const(net, value) || !s->uses || --s->uses ||
	    atomic_load_explicit(&s->blob->refs, memory_order_acquire) != 1)
		return;
	blob_unref(s->blob);
	s->blob = NULL;
}

/*
 * No copy in another type is wanted of these weights: in an example, which is for types and
 * shapes, and of a file where nothing is to be packed.
 */
static bool stays(const struct net *net, const struct node *node)
{
	uint32_t a = node_value(node, ACCEL_ARG_A);
	const struct blob *blob = a == NO_VALUE ? NULL : net->stores[net->values[a].store].blob;

	if (node->desc->hdr.op != ACCEL_OP_COPY || !blob || blob->bytes < STAYS_BYTES)
		return false;
	return net->guess || (blob->mapped && net->program &&
			      net->program->opts.off >> ACCEL_PASS_PACK & 1);
}

/* Does it take more time than its results take memory? Engines are faster. */
static bool is_slow(uint32_t op)
{
	return op == ACCEL_OP_GEMM || op == ACCEL_OP_CONV || op == ACCEL_OP_POOL;
}

/**
 * fold_node - compute a node whose inputs are constants
 * @net: net
 * @node: node whose results are there
 *
 * Return: true: they are constants now and the node is dead.
 */
bool fold_node(struct net *net, struct node *node)
{
	struct host_tensor t[NODE_MAX_ARGS];
	uint32_t i, value, result = NO_VALUE;
	struct blob *blob = NULL;
	struct store *s;
	char why[128];
	void *data;

	if (!host_can(&node->desc->hdr) || is_quantised(node) ||
	    is_slow(node->desc->hdr.op) || stays(net, node))
		return false;
	for (i = 0; i < node->arg_count; i++) {
		value = node->args[i].value;
		/*
		 * Numbers of half bytes are read where they begin with a byte, and if there is one
		 * net: each for other sizes would have numbers of its own, eight times as large.
		 */
		if (accel_type_bits(net->values[value].type) < 8 &&
		    (node->args[i].result || node->desc->hdr.op != ACCEL_OP_COPY ||
		     net->values[value].offset % 2 || net->symbol_count))
			return false;
		if (node->args[i].result) {
			if (result != NO_VALUE ||
			    value_count(&net->values[value]) > (net->idle ? MAX_WANTED : FOLD_MAX))
				return false;
			result = value;
		} else {
			if (!value_const(net, value) || is_repeated(net, &net->values[value]) ||
			    !value_data(net, value))
				return false;
			t[i] = value_host(&net->values[value], value_data(net, value));
		}
		t[i].arg = node->args[i].arg;
	}
	s = &net->stores[net->values[result].store];
	if (!net_may_fold(net, s->bytes))
		return false;
	data = calloc(1, s->bytes + 1);
	if (!data)
		return false;
	for (i = 0; i < node->arg_count; i++)
		if (node->args[i].result) {
			t[i] = value_host(&net->values[result], data);
			t[i].arg = node->args[i].arg;
		}
	/* What fails now fails, with a message, when it runs. */
	if (!host_run(&node->desc->hdr, t, node->arg_count, why, sizeof(why)))
		blob = blob_create(data, s->bytes, free, data);
	for (i = 0; i < node->arg_count; i++)
		if (value_const(net, node->args[i].value))
			blob_rest(net->stores[net->values[node->args[i].value].store].blob);
	if (!blob) {
		free(data);
		return false;
	}
	s->kind = STORE_CONST;
	s->blob = blob;
	s->node = NO_VALUE;
	node->dead = true;
	return true;
}

/* --- from the graph ---------------------------------------------------------------- */

static int take_value(struct net *net, uint32_t index)
{
	const struct graph_value *from = &net->graph->values[index];
	int64_t dims[MAX_RANK];
	uint32_t i, value;
	struct store *s;

	for (i = 0; i < from->rank; i++)
		dims[i] = from->dims[i] < 0 ? net->symbols[symbol_index(from->dims[i])] :
			  from->dims[i];
	value = net_new_value(net, from->type, from->rank, dims);
	if (value == NO_VALUE)
		return net->error.code ? net->error.code : net_nomem(net);
	s = &net->stores[net->values[value].store];
	s->kind = from->blob ? STORE_CONST : STORE_INPUT;
	s->index = from->input;
	if (from->blob) {
		s->blob = blob_ref(from->blob);
		net->given_bytes += from->blob->bytes;
	}
	net->values[value].name = from->name;
	net->map[index] = value;
	return stage_fact(net, index);
}

/* Results of a node whose inputs were guessed are guesses. */
static void spread_doubt(struct net *net, const struct graph_node *from, uint32_t values)
{
	uint32_t i, value;

	for (i = 0; i < from->arg_count && !net->guessed; i++) {
		value = net->map[from->args[i].value];
		net->guessed = value != NO_VALUE && net->values[value].unsure;
	}
	for (; net->guessed && values < net->value_count; values++)
		net->values[values].unsure = true;
}

/* 1: it has to wait for what only running tells */
static int take_node(struct net *net, const struct graph_node *from, bool done)
{
	const struct node of = { .name = from->name, .source = from->source };
	uint32_t i, in[ACCEL_ARG_COUNT], out, index, value, late = late_args(from->desc->hdr.op);
	uint32_t values = net->value_count;
	bool result, stop = false;
	struct node *node;
	int ret;

	for (i = 0; i < ACCEL_ARG_COUNT; i++)
		in[i] = NO_VALUE;
	for (i = 0; i < from->arg_count; i++)
		if (!is_table(from->args[i].arg))
			in[from->args[i].arg] = net->map[from->args[i].value];
	net->guessed = false;
	ret = stage_wants(net, from, in, &stop);
	if (ret || stop)
		return ret ? ret : 1;
	if (is_shape_op(from->desc->hdr.op)) {
		ret = shape_resolve(net, from, in, &out);
		if (ret)
			return ret;
		for (i = 0; i < from->arg_count; i++)
			if (from->args[i].arg == ACCEL_ARG_D)
				net->map[from->args[i].value] = out;
		if (net->guess)
			spread_doubt(net, from, values);
		return stage_facts(net, from);
	}
	node = net_node(net, &of, from->desc->hdr.op);
	if (!node)
		return net_nomem(net);
	index = net->node_count - 1;
	memcpy(node->desc, from->desc, from->desc->hdr.size);
	for (i = 0; i < from->arg_count; i++) {
		if (!is_table(from->args[i].arg) && (late >> from->args[i].arg & 1))
			continue;
		result = desc_writes(node->desc, from->args[i].arg);
		/* Guesses are in the place of what an operator wants to know. */
		value = result ? 0 : is_added(node->desc) ? in[from->args[i].arg] :
			net->map[from->args[i].value];
		node_arg(node, from->args[i].arg, value, result);
	}
	ret = late ? late_resolve(net, node, in) : 0;
	if (!ret)
		ret = net_infer(net, node);
	if (ret)
		return net->error.code ? net->error.code : net_nomem(net);
	for (i = 0; i < from->arg_count; i++) {
		if (!desc_writes(node->desc, from->args[i].arg))
			continue;
		value = node_value(node, from->args[i].arg);
		net->map[from->args[i].value] = value;
		net->stores[net->values[value].store].node = index;
		net->values[value].name = from->name;
	}
	if (!fold_node(net, node) && done)
		stage_done(net, from, node);
	if (net->guess)
		spread_doubt(net, from, values);
	return stage_facts(net, from);
}

/* A result is dense memory of the state: no view, constant or input, and none twice. */
static int take_outputs(struct net *net)
{
	uint32_t i, k, value;

	for (i = 0; i < net->output_count; i++) {
		const struct value *v;
		bool again = false;

		value = net->map[net->out_values[i]];
		v = &net->values[value];
		for (k = 0; k < i; k++)
			again |= net->values[net->outputs[k]].store == v->store;
		if (again || net->stores[v->store].kind != STORE_ARENA || !value_whole(net, v)) {
			const uint32_t maker = net->stores[v->store].node;
			const struct node of = {
				.name = v->name,
				.source = maker == NO_VALUE ? NULL : net->nodes[maker].source
			};
			struct node *node = net_node(net, &of, ACCEL_OP_COPY);
			uint32_t index = net->node_count - 1, out;

			if (!node)
				return net_nomem(net);
			out = net_new_value(net, v->type, v->rank, v->dims);
			if (node_arg(node, ACCEL_ARG_A, value, false) ||
			    node_arg(node, ACCEL_ARG_D, out, true))
				return net_nomem(net);
			net->stores[net->values[out].store].node = index;
			value = out;
		}
		net->outputs[i] = value;
	}
	return 0;
}

/* A net of nothing, NULL: no memory. */
struct net *net_alloc(struct accel_graph *graph)
{
	struct net *net = calloc(1, sizeof(*net));

	if (!net)
		return NULL;
	atomic_init(&net->refs, 1);
	net->error.size = sizeof(net->error);
	net->graph = graph;
	return net;
}

/**
 * net_extend - resolve what was added to a graph
 * @net: net with a number for each symbol
 *
 * Return: 0, or the error that the net has.
 */
int net_extend(struct net *net)
{
	struct accel_graph *graph = net->graph;
	uint32_t i;
	int ret = 0;

	/* A node of a file at a time: room for one more each time would be copied each time. */
	while (net->map_cap <= graph->value_count)
		if (!list_grow(&net->map, net->map_cap, &net->map_cap, sizeof(*net->map)))
			return net_nomem(net);
	for (i = net->values_taken; i < graph->value_count; i++)
		net->map[i] = NO_VALUE;
	for (; !ret && net->values_taken < graph->value_count; net->values_taken++)
		if (graph->values[net->values_taken].known)
			ret = take_value(net, net->values_taken);
	for (; !ret && net->nodes_taken < graph->node_count; net->nodes_taken++) {
		const struct graph_node *from = &graph->nodes[net->nodes_taken];

		net->idle = net->unread && net->unread[net->nodes_taken];
		ret = from->dynamic ? stage_dynamic(net, from, net->nodes_taken) :
		      take_node(net, from, net->nodes_taken < net->first);
		if (ret == 1)
			break;
	}
	net->idle = false;
	net->stop = net->nodes_taken;
	return ret < 0 ? ret : 0;
}

/*
 * Nodes whose results nobody reads, and those that only such nodes read. What is written over
 * inputs stays there for the next run, and dynamic nodes run. NULL: no memory.
 */
static bool *find_unread(const struct accel_graph *graph)
{
	bool *read = calloc(graph->value_count + 1, sizeof(*read));
	bool *unread = calloc(graph->node_count + 1, sizeof(*unread));
	uint32_t i, k;

	if (!read || !unread) {
		free(read);
		free(unread);
		return NULL;
	}
	for (i = 0; i < graph->output_count; i++)
		read[graph->outputs[i].value] = true;
	/* Those that read a node's results come after it. */
	for (i = graph->node_count; i-- > 0;) {
		const struct graph_node *node = &graph->nodes[i];

		unread[i] = !node->dynamic && !over_args(node->desc->hdr.op);
		for (k = 0; k < node->arg_count; k++)
			unread[i] = unread[i] && !(is_result(node, k) && read[node->args[k].value]);
		for (k = 0; k < node->arg_count && !unread[i]; k++)
			read[node->args[k].value] = true;
	}
	free(read);
	return unread;
}

/**
 * net_create - resolve a graph
 * @program: of the graph
 * @key: what its symbols stand for, and what else is known
 * @out: net; also if it fails otherwise than for memory: then it has the error
 *
 * Return: 0 or an error.
 */
int net_create(struct accel_program *program, const struct net_key *key, struct net **out)
{
	struct accel_graph *graph = program->graph;
	struct net *net = net_alloc(graph);
	uint32_t i;
	int ret;

	*out = net;
	if (!net)
		return -ENOMEM;
	net->program = program;
	graph_ref(graph);
	net->symbols = calloc(graph->symbol_count + 1, sizeof(*net->symbols));
	net->unread = find_unread(graph);
	if (!net->symbols || !net->unread || !facts_copy(&net->facts, key->facts))
		return net_nomem(net);
	for (i = 0; i < graph->symbol_count; i++)
		net->symbols[i] = key->symbols[i];
	net->symbol_count = graph->symbol_count;
	net->first = key->first;
	ret = net_extend(net);
	if (!ret)
		ret = stage_end(net);
	if (ret)
		return ret;
	net->outputs = malloc((net->output_count + 1) * sizeof(*net->outputs));
	return net->outputs ? take_outputs(net) : net_nomem(net);
}

/**
 * net_free - give up a net, but not its graph
 * @net: net, or NULL
 */
void net_free(struct net *net)
{
	uint32_t i;

	if (!net)
		return;
	for (i = 0; i < net->store_count; i++)
		blob_unref(net->stores[i].blob);
	for (i = 0; i < net->node_count; i++) {
		accel_plan_unref(net->nodes[i].plan);
		free(net->nodes[i].desc);
	}
	free(net->stores);
	free(net->values);
	free(net->nodes);
	free(net->order);
	free(net->watches);
	free(net->map);
	free(net->unread);
	free(net->out_values);
	free(net->outputs);
	facts_free(&net->facts);
	free(net->symbols);
	free(net);
}

void net_unref(struct net *net)
{
	struct accel_graph *graph;

	if (!net || atomic_fetch_sub_explicit(&net->refs, 1, memory_order_acq_rel) != 1)
		return;
	graph = net->graph;
	net_free(net);
	accel_graph_destroy(graph);
}
