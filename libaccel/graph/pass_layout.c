// SPDX-License-Identifier: MIT
/*
 * Layouts: what convolutions and poolings write and read lies with channels last. The
 * dimensions of values stay what they are; strides change, of all values of a store at
 * once, so that a transpose that made channels last moves nothing any more. Operations
 * on each element pass the layout on. Who reads a store in a way that its new order
 * does not have gets a copy in the old one, and so does what has kernels only for
 * lines whose elements are side by side.
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/**
 * struct image - a store as a picture
 * @can: it may lie with channels last
 * @want: somebody gains by it; of a group's root
 * @parent: towards the root of those that lie alike
 * @value: all of it, as its writer has it
 * @rank: of @value
 * @dims: likewise
 * @copy: a dense copy in the old order, NO_VALUE: none yet
 */
struct image {
	bool can;
	bool want;
	uint32_t parent;
	uint32_t value;
	uint32_t rank;
	int64_t dims[MAX_RANK];
	uint32_t copy;
};

static bool is_picture(const struct net *net, const struct value *v)
{
	int64_t pixels = 1;
	uint32_t i;

	if (v->rank < 3 || v->rank > ACCEL_MAX_RANK || net->stores[v->store].kind != STORE_ARENA ||
	    !value_dense(v) || !value_whole(net, v) || accel_type_bits(v->type) < 8)
		return false;
	for (i = 2; i < v->rank; i++)
		pixels *= v->dims[i];
	return v->dims[1] > 1 && pixels > 1;
}

static uint32_t root(struct image *images, uint32_t i)
{
	while (images[i].parent != i) {
		images[i].parent = images[images[i].parent].parent;
		i = images[i].parent;
	}
	return i;
}

static void join(struct image *images, uint32_t a, uint32_t b)
{
	a = root(images, a);
	b = root(images, b);
	images[a].parent = b;
	images[b].want |= images[a].want;
}

/* Does it gain by channels that are last? */
static bool gains(uint32_t op)
{
	return op == ACCEL_OP_CONV || op == ACCEL_OP_POOL || op == ACCEL_OP_RESIZE;
}

/* Does it take any layout, if all that it touches has the same? */
static bool passes_on(const struct node *node)
{
	switch (node->desc->hdr.op) {
	case ACCEL_OP_UNARY:
	case ACCEL_OP_BINARY:
	case ACCEL_OP_SELECT:
	case ACCEL_OP_CONCAT:
	case ACCEL_OP_PAD:
		return true;
	case ACCEL_OP_NORM:
		return node->desc->any.norm.func == ACCEL_NORM_BATCH;
	default:
		return false;
	}
}

/* Is it computed line by line, where elements of a line have to be side by side? */
static bool wants_lines(uint32_t op)
{
	return op == ACCEL_OP_NORM || op == ACCEL_OP_SOFTMAX || op == ACCEL_OP_SCAN;
}

static void find_images(const struct net *net, struct image *images)
{
	uint32_t i, k;

	for (i = 0; i < net->store_count; i++)
		images[i] = (struct image) { .parent = i, .copy = NO_VALUE };
	for (i = 0; i < net->node_count; i++) {
		const struct node *node = &net->nodes[i];

		for (k = 0; !node->dead && k < node->arg_count; k++) {
			const struct value *v = &net->values[node->args[k].value];
			struct image *m = &images[v->store];

			if (!node->args[k].result)
				continue;
			/* What a user computes is in the order that the user was promised. */
			m->can = is_picture(net, v) && !is_added(node->desc) &&
				 (passes_on(node) || !wants_lines(node->desc->hdr.op));
			m->value = node->args[k].value;
			m->rank = v->rank;
			memcpy(m->dims, v->dims, sizeof(m->dims));
		}
	}
	for (i = 0; i < net->output_count; i++)
		images[net->values[net->outputs[i]].store].can = false;
}

/*
 * Are the dimensions of a value in the order in which they lie? Those of a transpose of a
 * picture are not, and what is made of it gains nothing by lying as the picture does.
 */
static bool in_order(const struct value *v)
{
	int64_t last = INT64_MAX;
	uint32_t i;

	for (i = 0; i < v->rank; i++) {
		if (v->dims[i] == 1 || !v->strides[i])
			continue;
		if (v->strides[i] > last)
			return false;
		last = v->strides[i];
	}
	return true;
}

/* Strides of a picture: channels last, or as it was */
static void picture_strides(const struct image *m, bool last, int64_t *strides)
{
	int64_t step = last ? m->dims[1] : 1;
	uint32_t i;

	for (i = m->rank; i-- > 0;) {
		if (last && i == 1) {
			strides[i] = 1;
			continue;
		}
		strides[i] = step;
		step *= m->dims[i];
	}
}

static void find_groups(const struct net *net, struct image *images)
{
	uint32_t i, k, d;

	for (i = 0; i < net->node_count; i++) {
		const struct node *node = &net->nodes[i];

		if (node->dead)
			continue;
		d = node_result(node) == NO_VALUE ? NO_VALUE :
		    net->values[node_result(node)].store;
		for (k = 0; k < node->arg_count; k++) {
			const struct value *v = &net->values[node->args[k].value];

			if (!images[v->store].can)
				continue;
			/* A transpose that makes channels last has what it gains by already. */
			if (gains(node->desc->hdr.op))
				images[root(images, v->store)].want |= in_order(v);
			else if (passes_on(node) && d != NO_VALUE && images[d].can &&
				 in_order(v) && images[d].rank == images[v->store].rank)
				join(images, v->store, d);
		}
	}
}

/*
 * Several dimensions of the picture in one step, from @i outwards: do they follow each
 * other in the new order too?
 */
static bool merged(const struct image *m, const int64_t *new, int64_t *used, uint32_t i,
		   int64_t count)
{
	int64_t span = 1, step = new[i];

	for (i++; i-- > 0 && span < count; span *= m->dims[i]) {
		if (m->dims[i] != 1 && (new[i] != step * span || used[i]))
			return false;
		used[i] = m->dims[i] - 1;
	}
	return span == count;
}

/* The same elements in the new order; false: there is no such view, @v is unchanged. */
static bool restride(const struct image *m, struct value *v)
{
	int64_t old[MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 }, new[MAX_RANK] = { 0 };
	int64_t strides[MAX_RANK] = { 0 }, used[MAX_RANK] = { 0 };
	int64_t rest = v->offset, offset = 0, by;
	uint32_t i, k;

	picture_strides(m, false, old);
	picture_strides(m, true, new);
	for (i = 0; i < m->rank; i++) {
		used[i] = rest / old[i];
		rest %= old[i];
		offset += used[i] * new[i];
	}
	for (i = 0; i < v->rank; i++) {
		strides[i] = 0;
		if (v->dims[i] == 1 || !v->strides[i])
			continue;
		/* The outermost dimension that it is a whole number of steps along */
		for (k = 0; k < m->rank; k++)
			if (m->dims[k] != 1 && v->strides[i] >= old[k] && !(v->strides[i] % old[k]))
				break;
		if (k == m->rank)
			return false;
		by = v->strides[i] / old[k];
		strides[i] = by * new[k];
		if (used[k] + (v->dims[i] - 1) * by < m->dims[k])
			used[k] += (v->dims[i] - 1) * by;
		else if (by != 1 || !merged(m, new, used, k, v->dims[i]))
			return false;
	}
	memcpy(v->strides, strides, sizeof(strides));
	v->offset = offset;
	return true;
}

/*
 * Does a node read nothing of the dimensions of its result but what has channels last, where
 * a transpose made them so? If its result lies like that, all goes from one end to the other.
 */
static bool reads_last(const struct net *net, const struct node *node, struct image *images,
		       const struct image *m)
{
	int64_t strides[MAX_RANK];
	uint32_t i, k, found = 0;

	picture_strides(m, true, strides);
	for (k = 0; k < node->arg_count; k++) {
		struct value v = net->values[node->args[k].value];
		bool can = images[v.store].can, want = can && images[root(images, v.store)].want;

		if (node->args[k].result || v.rank != m->rank ||
		    memcmp(v.dims, m->dims, m->rank * sizeof(v.dims[0])))
			continue;
		if (want && !restride(&images[v.store], &v))
			return false;
		for (i = 0; i < m->rank && (m->dims[i] == 1 || v.strides[i] == strides[i]); i++)
			;
		/* What lies in order yet, and may change, changes with the result. */
		if (i < m->rank && (want || !can || !in_order(&v)))
			return false;
		found += i == m->rank;
	}
	return found > 0;
}

static void find_results(const struct net *net, struct image *images)
{
	uint32_t i, d;

	for (i = 0; i < net->node_count; i++) {
		const struct node *node = &net->nodes[i];

		d = node->dead || !passes_on(node) || node_result(node) == NO_VALUE ? NO_VALUE :
		    net->values[node_result(node)].store;
		if (d != NO_VALUE && images[d].can && !images[root(images, d)].want)
			images[root(images, d)].want = reads_last(net, node, images, &images[d]);
	}
}

/* A reader of the old order gets it. */
static int read_copy(struct net *net, struct image *m, uint32_t index, uint32_t k)
{
	uint32_t view, value = net->nodes[index].args[k].value;

	if (m->copy == NO_VALUE)
		m->copy = net_copy(net, m->value, net->values[m->value].type, &net->nodes[index]);
	view = m->copy == NO_VALUE ? NO_VALUE : net_view(net, value);
	if (view == NO_VALUE)
		return net_nomem(net);
	net->values[view].store = net->values[m->copy].store;
	net->nodes[index].args[k].value = view;
	return 0;
}

/* Have elements of the last dimension come apart? */
static bool apart(const struct value *old, const struct value *now)
{
	uint32_t last = old->rank - 1;

	return old->rank && old->dims[last] > 1 && old->strides[last] == 1 &&
	       now->strides[last] != 1;
}

static int change(struct net *net, struct image *images, bool *kept, bool *lost)
{
	uint32_t i, k, s, values = net->value_count, nodes = net->node_count;
	uint32_t stores = net->store_count;
	struct value old;
	int ret = 0;

	for (i = 0; i < values; i++) {
		old = net->values[i];
		s = old.store;
		kept[i] = images[s].can && images[root(images, s)].want &&
			  !restride(&images[s], &net->values[i]);
		lost[i] = apart(&old, &net->values[i]);
	}
	for (i = 0; i < nodes && !ret; i++)
		for (k = 0; !net->nodes[i].dead && k < net->nodes[i].arg_count && !ret; k++) {
			s = net->nodes[i].args[k].value;
			if (s < values && kept[s] && net->values[s].store < stores) {
				ret = read_copy(net, &images[net->values[s].store], i, k);
			} else if (s < values && lost[s] && !passes_on(&net->nodes[i]) &&
				   wants_lines(net->nodes[i].desc->hdr.op)) {
				s = net_copy(net, s, net->values[s].type, &net->nodes[i]);
				if (s == NO_VALUE)
					return net_nomem(net);
				net->nodes[i].args[k].value = s;
			} else if (s < values && !kept[s] && images[net->values[s].store].can &&
				   images[root(images, net->values[s].store)].want) {
				net->nodes[i].rules |= 1u << ACCEL_PASS_LAYOUT;
			}
		}
	return ret;
}

int pass_layout(struct net *net)
{
	struct image *images = calloc(net->store_count + 1, sizeof(*images));
	bool *kept = calloc(net->value_count + 1, sizeof(*kept));
	bool *lost = calloc(net->value_count + 1, sizeof(*lost));
	int ret;

	if (images && kept && lost) {
		find_images(net, images);
		find_groups(net, images);
		find_results(net, images);
		ret = change(net, images, kept, lost);
	} else {
		ret = net_nomem(net);
	}
	free(images);
	free(kept);
	free(lost);
	return ret;
}
