// SPDX-License-Identifier: MIT
/*
 * Memory for values in between. The largest is placed first; each goes where the
 * smallest gap between those that live at the same time is large enough (greedy by
 * size, best fit: Y. Pisarchyk and J. Lee, "Efficient Memory Management for Deep Neural
 * Net Inference", arXiv:2001.03288).
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

#define ARENA_ALIGN	64

static uint64_t padded(uint64_t bytes)
{
	return (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

/* Which steps each store lives for; results live for ever, and parts have no life of their own. */
static void find_lives(struct net *net)
{
	uint32_t i, k;
	struct store *s;

	for (i = 0; i < net->store_count; i++) {
		net->stores[i].first = UINT32_MAX;
		net->stores[i].last = 0;
	}
	for (i = 0; i < net->order_count; i++) {
		const struct node *node = &net->nodes[net->order[i]];

		for (k = 0; k < node->arg_count; k++) {
			s = &net->stores[whole_of(net, net->values[node->args[k].value].store)];
			if (s->first == UINT32_MAX)
				s->first = i;
			s->last = i;
		}
	}
	for (i = 0; i < net->output_count; i++)
		net->stores[whole_of(net, net->values[net->outputs[i]].store)].last = UINT32_MAX;
	for (i = 0; i < net->watch_count; i++)
		net->stores[net->values[node_result(&net->nodes[net->watches[i]])].store].last =
			UINT32_MAX;
}

/* May the result of a node be where an argument is, element by element? */
static bool may_be_in_place(const struct node *node, uint32_t arg)
{
	switch (node->desc->hdr.op) {
	case ACCEL_OP_GEMM:
	case ACCEL_OP_CONV:
		return arg == ACCEL_ARG_RESIDUAL;
	case ACCEL_OP_UNARY:
	case ACCEL_OP_BINARY:
	case ACCEL_OP_SELECT:
	case ACCEL_OP_SOFTMAX:
	case ACCEL_OP_NORM:
	case ACCEL_OP_ROTARY:
		return arg <= ACCEL_ARG_C;
	default:
		return false;
	}
}

/*
 * Does a node read the store of argument @k as that does and in no other order? A residual is
 * nothing else: what is multiplied is read again behind the first results.
 */
static bool read_once(const struct net *net, const struct node *node, uint32_t k)
{
	const struct value *a = &net->values[node->args[k].value], *v;
	uint32_t i;

	for (i = 0; i < node->arg_count; i++) {
		v = &net->values[node->args[i].value];
		if (whole_of(net, v->store) == whole_of(net, a->store) && i != k &&
		    (node->args[k].arg == ACCEL_ARG_RESIDUAL || !same_place(v, a)))
			return false;
	}
	return true;
}

static bool same_order(const struct value *a, const struct value *d)
{
	uint32_t i;

	for (i = 0; i < a->rank; i++)
		if (a->dims[i] != 1 && a->strides[i] != d->strides[i])
			return false;
	return true;
}

/* A result takes the place of an input that nobody reads afterwards. */
static void find_in_place(struct net *net)
{
	uint32_t i, k;

	for (i = 0; i < net->order_count; i++) {
		const struct node *node = &net->nodes[net->order[i]];
		uint32_t out = node_result(node);
		const struct value *d = &net->values[out], *a;
		struct store *from, *to = &net->stores[d->store];

		if (node->host || to->first != i)
			continue;
		for (k = 0; k < node->arg_count && to->over == NO_VALUE; k++) {
			if (node->args[k].result || !may_be_in_place(node, node->args[k].arg))
				continue;
			a = &net->values[node->args[k].value];
			from = &net->stores[a->store];
			if (from->kind != STORE_ARENA || from->last != i ||
			    from->bytes != to->bytes ||
			    !same_dims(a, d) || !value_fills(net, a) || !same_order(a, d) ||
			    engine_type(a->type) != engine_type(d->type) ||
			    !read_once(net, node, k))
				continue;
			to->over = a->store;
		}
	}
}

/* The store whose place it has in the end; chains are made short on the way. */
static uint32_t root_of(struct net *net, uint32_t store)
{
	struct store *s;

	store = whole_of(net, store);
	s = &net->stores[store];
	while (s->over != NO_VALUE) {
		if (net->stores[s->over].over != NO_VALUE)
			s->over = net->stores[s->over].over;
		store = s->over;
		s = &net->stores[store];
	}
	return store;
}

struct placed {
	uint32_t store;
	uint32_t first;
	uint32_t last;
	uint64_t bytes;
	uint64_t offset;
};

static int by_size(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->store < y->store ? -1 : 1;
}

/* The lowest of the smallest gaps that are large enough. @list is sorted by offset. */
static uint64_t find_gap(const struct placed *list, uint32_t count, const struct placed *p)
{
	uint64_t end = 0, best = UINT64_MAX, at = 0, gap;
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (list[i].first > p->last || list[i].last < p->first)
			continue;
		if (list[i].offset > end) {
			gap = list[i].offset - end;
			if (gap >= p->bytes && gap < best) {
				best = gap;
				at = end;
			}
		}
		if (list[i].offset + list[i].bytes > end)
			end = list[i].offset + list[i].bytes;
	}
	return best == UINT64_MAX ? end : at;
}

static void place(struct net *net, struct placed *list, uint32_t count)
{
	struct placed p;
	uint32_t i, k;

	qsort(list, count, sizeof(*list), by_size);
	for (i = 0; i < count; i++) {
		p = list[i];
		p.offset = find_gap(list, i, &p);
		net->stores[p.store].offset = p.offset;
		if (p.offset + p.bytes > net->arena_bytes)
			net->arena_bytes = p.offset + p.bytes;
		/* Those that are placed stay sorted by offset. */
		for (k = i; k > 0 && list[k - 1].offset > p.offset; k--)
			list[k] = list[k - 1];
		list[k] = p;
	}
}

/* The largest sum of what lives at one step: what comes and goes at each is added up. */
static uint64_t lower_bound(const struct net *net, const struct placed *list, uint32_t count,
			    int64_t *change)
{
	int64_t most = 0, sum = 0;
	uint32_t i;

	for (i = 0; i < count; i++) {
		change[list[i].first] += (int64_t)list[i].bytes;
		if (list[i].last < net->order_count)
			change[list[i].last + 1] -= (int64_t)list[i].bytes;
	}
	for (i = 0; i < net->order_count; i++) {
		sum += change[i];
		most = sum > most ? sum : most;
	}
	return (uint64_t)most;
}

/**
 * net_arena - place all values in between
 * @net: net with an order
 * @in_place: results may take the place of inputs
 *
 * Return: 0, -ENOMEM.
 */
int net_arena(struct net *net, bool in_place)
{
	struct placed *list = calloc(net->store_count + 1, sizeof(*list));
	int64_t *change = calloc(net->order_count + 1, sizeof(*change));
	uint32_t i, root, count = 0;

	if (!list || !change) {
		free(list);
		free(change);
		return net_nomem(net);
	}
	find_lives(net);
	if (in_place)
		find_in_place(net);
	for (i = 0; i < net->store_count; i++) {
		root = root_of(net, i);
		if (root != i && net->stores[i].last > net->stores[root].last)
			net->stores[root].last = net->stores[i].last;
	}
	for (i = 0; i < net->store_count; i++) {
		const struct store *s = &net->stores[i];

		if (s->kind != STORE_ARENA || s->first == UINT32_MAX || s->over != NO_VALUE)
			continue;
		list[count++] = (struct placed) { i, s->first, s->last,
						 padded(s->bytes + !s->bytes), 0 };
	}
	net->arena_bytes = 0;
	place(net, list, count);
	net->arena_bound = lower_bound(net, list, count, change);
	for (i = 0; i < net->store_count; i++)
		net->stores[i].offset = net->stores[root_of(net, i)].offset;
	free(list);
	free(change);
	return 0;
}
