// SPDX-License-Identifier: MIT
/*
 * Concatenations: who computes a piece writes it where it will be, in its columns of the
 * result's rows, and the concatenation itself has nothing to do any more. The pieces keep
 * stores of their own, which say where in the result's memory they are: each store still has
 * one writer. A result whose pieces lie one behind the other in a larger one already, as in a
 * dense block, is a part of that too. It is done where nobody who reads or writes the pieces
 * gets another kernel by it; all of a concatenation, or nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/* Addresses of the neural engine are multiples of this. */
#define NEURAL_ALIGN	64
/* How often a store may fail to move */
#define TRIES		4

/**
 * struct columns - where a store is in another
 * @wide: elements of a row there
 * @at: of these, where its own begin
 * @run: number of its own
 */
struct columns {
	int64_t wide;
	int64_t at;
	int64_t run;
};

/**
 * struct work - the net by its stores, and a concatenation in work
 * @net: net
 * @value_first: by store: its first value, or NO_VALUE
 * @value_next: by value: the next one of its store, or NO_VALUE
 * @use_first: by store: its first argument, NODE_MAX_ARGS for each node, or NO_VALUE
 * @use_next: by argument: the next one of its store, or NO_VALUE
 * @places: by store: where it is, if it is a part of another
 * @stays: by store, from TRIES on: it is a result of the graph, others are parts of it, or it could
 *	not move so often, so that compiling takes time in proportion to the nodes
 * @node: concatenation
 * @root: store in whose memory its result is
 * @bits: of an element
 * @moves: stores that move there
 * @bytes: of these, as they were
 * @count: their number
 * @old: values as they were, in the order in which they move
 * @old_count: number of @old
 * @old_cap: room in @old
 */
struct work {
	struct net *net;
	uint32_t *value_first;
	uint32_t *value_next;
	uint32_t *use_first;
	uint32_t *use_next;
	struct columns *places;
	uint8_t *stays;
	uint32_t node;
	uint32_t root;
	uint32_t bits;
	uint32_t moves[ACCEL_CONCAT_MAX];
	uint64_t bytes[ACCEL_CONCAT_MAX];
	uint32_t count;
	struct value *old;
	uint32_t old_count;
	uint32_t old_cap;
};

static bool same_steps(const struct value *a, const struct value *b)
{
	uint32_t i;

	for (i = 0; i < a->rank; i++)
		if (a->dims[i] > 1 && a->strides[i] != b->strides[i])
			return false;
	return true;
}

/**
 * concat_in_place - is all that a concatenation puts together where it belongs?
 * @net: net
 * @node: node
 *
 * What the stores say counts, so that it holds for files too.
 */
bool concat_in_place(const struct net *net, const struct node *node)
{
	const struct value *d, *a;
	const struct store *to;
	uint32_t i, axis, value, root;
	struct value part;
	int64_t n = 0;

	if (node->desc->hdr.op != ACCEL_OP_CONCAT || is_quantised(node))
		return false;
	axis = node->desc->any.concat.axis;
	d = &net->values[node_result(node)];
	if (axis >= d->rank || !value_count(d))
		return false;
	to = &net->stores[d->store];
	root = to->part_of == NO_VALUE ? d->store : to->part_of;
	for (i = 0, part = *d; i < node->desc->any.concat.count; i++) {
		value = node_value(node, ACCEL_ARG_A + i);
		if (value == NO_VALUE)
			return false;
		a = &net->values[value];
		part.dims[axis] = a->dims[axis];
		if (net->stores[a->store].part_of != root || a->type != d->type ||
		    a->offset != part.offset || !same_dims(a, &part) || !same_steps(a, &part) ||
		    a->dims[axis] > d->dims[axis] - n)
			return false;
		part.offset += a->dims[axis] * d->strides[axis];
		n += a->dims[axis];
	}
	return n == d->dims[axis];
}

/* --- who touches what moves -------------------------------------------------------- */

static int copy_chosen(void *user, const struct accel_candidate *c)
{
	if (c->verdict != ACCEL_CHOSEN)
		return 0;
	*(struct accel_candidate *)user = *c;
	return 1;
}

/* What runs a node as its values are now; false: nothing that reads any strides does. */
static bool find_kernel(struct net *net, const struct node *node, struct accel_candidate *c)
{
	union any_desc desc;

	if (is_added(node->desc) || !node_full_desc(net, node, &desc))
		return false;
	node_packs(net, node, &desc);
	desc.hdr.engine = net->program->opts.engine;
	return accel_explain(net->program->ctx, &desc.hdr, copy_chosen, c) == 1;
}

static bool same_kernel(const struct accel_candidate *a, const struct accel_candidate *b)
{
	return a->engine == b->engine && !strcmp(a->algorithm, b->algorithm) &&
	       !strcmp(a->kernel, b->kernel) && a->estimate_ns <= b->estimate_ns;
}

/* The arguments of all that moves, one after the other; NO_VALUE: there is no other. */
static uint32_t next_use(const struct work *w, uint32_t *part, uint32_t use)
{
	use = use == NO_VALUE ? w->use_first[w->moves[*part]] : w->use_next[use];
	while (use == NO_VALUE || use / NODE_MAX_ARGS == w->node) {
		if (use == NO_VALUE && ++*part == w->count)
			return NO_VALUE;
		use = use == NO_VALUE ? w->use_first[w->moves[*part]] : w->use_next[use];
	}
	return use;
}

/* The kernels of all who touch what moves, which are many only where a value is read often. */
static struct accel_candidate *find_kernels(const struct work *w)
{
	struct accel_candidate *list = NULL;
	uint32_t use, part = 0, count = 0, cap = 0;

	for (use = next_use(w, &part, NO_VALUE); use != NO_VALUE; use = next_use(w, &part, use)) {
		if (!list_grow(&list, count, &cap, sizeof(*list)) ||
		    !find_kernel(w->net, &w->net->nodes[use / NODE_MAX_ARGS], &list[count++])) {
			free(list);
			return NULL;
		}
	}
	return list;
}

static bool keep_kernels(const struct work *w, const struct accel_candidate *before)
{
	uint32_t use, part = 0, i = 0;
	struct accel_candidate c;

	for (use = next_use(w, &part, NO_VALUE); use != NO_VALUE; use = next_use(w, &part, use)) {
		const struct node *node = &w->net->nodes[use / NODE_MAX_ARGS];
		const uint32_t value = node->args[use % NODE_MAX_ARGS].value;

		if (!find_kernel(w->net, node, &c) || !same_kernel(&c, &before[i++]) ||
		    (c.engine == ACCEL_ENGINE_NEURAL &&
		     w->net->values[value].offset * w->bits / 8 % NEURAL_ALIGN))
			return false;
	}
	return true;
}

/* --- moving ------------------------------------------------------------------------ */

/* All values of what moves become what they will be; false: some cannot, or there is no memory. */
static bool move(struct work *w)
{
	struct net *net = w->net;
	uint32_t i, k;

	w->old_count = 0;
	for (i = 0; i < w->count; i++) {
		const struct columns *c = &w->places[w->moves[i]];
		struct store *s = &net->stores[w->moves[i]];

		for (k = w->value_first[w->moves[i]]; k != NO_VALUE; k = w->value_next[k]) {
			if (!list_grow(&w->old, w->old_count, &w->old_cap, sizeof(*w->old)))
				return false;
			w->old[w->old_count++] = net->values[k];
			if (accel_type_bits(net->values[k].type) != w->bits ||
			    !move_columns(&net->values[k], c->run, c->wide, c->at))
				return false;
		}
		s->part_of = w->root;
		s->bytes = net->stores[w->root].bytes;
	}
	return true;
}

static void move_back(struct work *w)
{
	struct net *net = w->net;
	uint32_t i, k, count = 0;

	for (i = 0; i < w->count; i++) {
		for (k = w->value_first[w->moves[i]]; k != NO_VALUE && count < w->old_count;
		     k = w->value_next[k])
			net->values[k] = w->old[count++];
		net->stores[w->moves[i]].part_of = NO_VALUE;
		net->stores[w->moves[i]].bytes = w->bytes[i];
	}
}

/* May the store of a value move? What a concatenation has twice needs a copy. */
static bool add_move(struct work *w, const struct value *v, const struct columns *to)
{
	const struct store *s = &w->net->stores[v->store];
	uint32_t i;

	if (s->kind != STORE_ARENA || s->node == NO_VALUE || w->stays[v->store] >= TRIES ||
	    !value_fills(w->net, v))
		return false;
	for (i = 0; i < w->count; i++)
		if (w->moves[i] == v->store)
			return false;
	w->places[v->store] = *to;
	w->bytes[w->count] = s->bytes;
	w->moves[w->count++] = v->store;
	return true;
}

/* Finds what has to move, and where to; false: it cannot. */
static bool find_moves(struct work *w, const struct node *node)
{
	const struct accel_concat_desc *desc = &node->desc->any.concat;
	const struct value *d = &w->net->values[node_result(node)];
	const struct value *a = &w->net->values[node_value(node, ACCEL_ARG_A)];
	const struct store *stores = w->net->stores;
	const int64_t inner = d->strides[desc->axis], run = d->dims[desc->axis] * inner;
	struct columns to = { .wide = run };
	uint32_t i;

	w->count = 0;
	w->root = d->store;
	if (stores[d->store].part_of != NO_VALUE) {
		w->root = stores[d->store].part_of;
		to = w->places[d->store];
		if (to.run != run)
			return false;
	} else if (stores[a->store].part_of != NO_VALUE) {
		w->root = stores[a->store].part_of;
		to = w->places[a->store];
		to.run = run;
		return to.at + run <= to.wide && add_move(w, d, &to);
	} else if (!value_fills(w->net, d)) {
		return false;
	}
	for (i = 0; i < desc->count; i++, to.at += to.run) {
		a = &w->net->values[node_value(node, ACCEL_ARG_A + i)];
		to.run = a->dims[desc->axis] * inner;
		if (!to.run || (stores[a->store].part_of == NO_VALUE && !add_move(w, a, &to)))
			return false;
	}
	return w->count;
}

/* Is it the beginning of what is put together elsewhere? */
static bool begins_other(const struct net *net, uint32_t index)
{
	const uint32_t a = node_value(&net->nodes[index], ACCEL_ARG_A);
	const uint32_t d = node_result(&net->nodes[index]);

	return net->stores[net->values[a].store].part_of != NO_VALUE &&
	       net->stores[net->values[d].store].part_of == NO_VALUE;
}

static void try_concat(struct work *w, uint32_t index)
{
	struct node *node = &w->net->nodes[index];
	const struct value *d = &w->net->values[node_result(node)];
	struct accel_candidate *before;
	uint32_t i;

	w->node = index;
	w->bits = accel_type_bits(d->type);
	if (is_quantised(node) || w->bits < 8 || !value_count(d) ||
	    d->strides[node->desc->any.concat.axis] < 1 || !find_moves(w, node))
		return;
	before = find_kernels(w);
	if (before && move(w) && concat_in_place(w->net, node) && keep_kernels(w, before)) {
		w->stays[w->root] = TRIES;
		node->rules |= 1u << ACCEL_PASS_CONCAT;
	} else {
		if (before)
			move_back(w);
		for (i = 0; i < w->count; i++)
			w->stays[w->moves[i]] += w->stays[w->moves[i]] < TRIES;
	}
	free(before);
}

/* --- the pass ---------------------------------------------------------------------- */

struct sized {
	uint32_t node;
	uint64_t bytes;
};

/* What is a part of another is smaller than that, or comes before. */
static int by_size(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->node < y->node ? 1 : -1;
}

static void find_stores(struct work *w)
{
	const struct net *net = w->net;
	uint32_t i, k, store;

	for (i = 0; i < net->store_count; i++)
		w->value_first[i] = w->use_first[i] = NO_VALUE;
	for (i = net->value_count; i-- > 0;) {
		store = net->values[i].store;
		w->value_next[i] = w->value_first[store];
		w->value_first[store] = i;
	}
	for (i = net->node_count; i-- > 0;)
		for (k = 0; !net->nodes[i].dead && k < net->nodes[i].arg_count; k++) {
			store = net->values[net->nodes[i].args[k].value].store;
			w->use_next[i * NODE_MAX_ARGS + k] = w->use_first[store];
			w->use_first[store] = i * NODE_MAX_ARGS + k;
		}
	for (i = 0; i < net->output_count; i++)
		w->stays[net->values[net->outputs[i]].store] = TRIES;
}

int pass_concat(struct net *net)
{
	const uint32_t stores = net->store_count + 1, uses = (net->node_count + 1) * NODE_MAX_ARGS;
	struct sized *list = malloc((net->node_count + 1) * sizeof(*list));
	uint32_t i, count = 0;
	struct work w = {
		.net = net,
		.value_first = malloc(stores * sizeof(*w.value_first)),
		.value_next = malloc((net->value_count + 1) * sizeof(*w.value_next)),
		.use_first = malloc(stores * sizeof(*w.use_first)),
		.use_next = malloc((size_t)uses * sizeof(*w.use_next)),
		.places = malloc(stores * sizeof(*w.places)),
		.stays = calloc(stores, sizeof(*w.stays)),
	};
	int ret = 0;

	if (!list || !w.value_first || !w.value_next || !w.use_first || !w.use_next || !w.places ||
	    !w.stays) {
		ret = net_nomem(net);
		goto out;
	}
	find_stores(&w);
	for (i = 0; i < net->node_count; i++)
		if (!net->nodes[i].dead && net->nodes[i].desc->hdr.op == ACCEL_OP_CONCAT)
			list[count++] = (struct sized) {
				i, net->stores[net->values[node_result(&net->nodes[i])].store].bytes
			};
	qsort(list, count, sizeof(*list), by_size);
	/* The whole comes before its parts, and what begins it behind those that it consists of. */
	for (i = 0; i < count; i++)
		if (!begins_other(net, list[i].node))
			try_concat(&w, list[i].node);
	while (count-- > 0)
		if (begins_other(net, list[count].node))
			try_concat(&w, list[count].node);
out:
	free(w.old);
	free(w.stays);
	free(w.places);
	free(w.use_next);
	free(w.use_first);
	free(w.value_next);
	free(w.value_first);
	free(list);
	return ret;
}
