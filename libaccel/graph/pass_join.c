// SPDX-License-Identifier: MIT
/*
 * Products of one left matrix by several constants, as queries, keys and values are: one
 * product by all of them side by side. What they had for results are columns of its result,
 * so whoever reads them reads with other strides, and nothing is moved.
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/* Most products that become one */
#define JOIN_MAX	8

/* Arguments of the right matrix, which are put side by side */
static const uint32_t right_args[] = {
	ACCEL_ARG_B, ACCEL_ARG_B | ACCEL_ARG_SCALES, ACCEL_ARG_B | ACCEL_ARG_ZEROS
};

#define RIGHT_ARGS	(sizeof(right_args) / sizeof(right_args[0]))

/* Of numbers that bytes or integers come of, a bias is what they are computed as. */
static uint32_t bias_type(const struct value *d)
{
	return is_real(d->type) || d->type == ACCEL_S32 ? d->type : (uint32_t)ACCEL_F32;
}

/* Is a vector of a constant as long as a row of the result, or is there none? */
static bool fits_bias(const struct net *net, uint32_t bias, const struct value *d)
{
	const struct value *v = bias == NO_VALUE ? NULL : &net->values[bias];

	return !v || (value_const(net, bias) && v->rank == 1 && value_dense(v) &&
		      v->type == bias_type(d) && v->dims[0] == d->dims[d->rank - 1]);
}

/* The dimension of the right matrix that columns of the result are */
static uint32_t columns_axis(const struct accel_gemm_desc *g)
{
	return !(g->flags & ACCEL_GEMM_TRANS_B);
}

/* Is a table of the right matrix a constant that has entries for each column, or is there none? */
static bool fits_table(const struct net *net, const struct node *node, uint32_t arg)
{
	const struct accel_gemm_desc *g = &node->desc->any.gemm;
	const uint32_t value = node_value(node, arg), axis = columns_axis(g);
	const struct value *d = &net->values[node_result(node)];
	const struct value *v = value == NO_VALUE ? NULL : &net->values[value];
	const bool channel = g->b.quant.scheme == ACCEL_QUANT_CHANNEL;

	return !v || (value_const(net, value) && value_dense(v) && v->rank == 2u - channel &&
		      g->b.quant.axis == (channel ? axis : 1 - axis) &&
		      v->dims[channel ? 0 : axis] == d->dims[d->rank - 1]);
}

/* Does a part of the right matrix end with a byte? */
static bool whole_bytes(const struct value *b)
{
	return accel_type_bits(b->type) >= 8 || (b->dims[1] % 2 == 0 && b->offset % 2 == 0);
}

static bool may_join(const struct net *net, const struct node *node)
{
	const struct accel_gemm_desc *g = &node->desc->any.gemm;
	const struct value *b, *d;
	uint32_t i;

	if (node->dead || node->desc->hdr.op != ACCEL_OP_GEMM || g->beta != 0 ||
	    (g->flags & ACCEL_GEMM_SPARSE_B))
		return false;
	for (i = 0; i < node->arg_count; i++) {
		const uint32_t arg = node->args[i].arg & ~(uint32_t)ARG_TABLES;

		if (arg != ACCEL_ARG_A && arg != ACCEL_ARG_B && arg != ACCEL_ARG_D &&
		    arg != ACCEL_ARG_BIAS)
			return false;
	}
	b = &net->values[node_value(node, ACCEL_ARG_B)];
	d = &net->values[node_result(node)];
	/* Blocks are read where they lie, and shall not be copied. */
	if (!value_const(net, node_value(node, ACCEL_ARG_B)) || b->rank != 2 || !value_dense(b) ||
	    type_is_blocks(b->type) || !whole_bytes(b) || d->rank < 2 || !value_count(d) ||
	    accel_type_bits(d->type) < 8 || !fits_table(net, node, right_args[1]) ||
	    !fits_table(net, node, right_args[2]) ||
	    !value_whole(net, d) || !fits_bias(net, node_value(node, ACCEL_ARG_BIAS), d))
		return false;
	for (i = 0; i < net->output_count; i++)
		if (net->values[net->outputs[i]].store == d->store)
			return false;
	return true;
}

static uint32_t type_of(const struct net *net, const struct node *node, uint32_t arg)
{
	const uint32_t value = node_value(node, arg);

	return value == NO_VALUE ? 0 : net->values[value].type;
}

/* Do both do the same, but for what is in B and the bias? */
static bool alike(const struct net *net, const struct node *a, const struct node *b)
{
	uint32_t i;

	for (i = 0; i < RIGHT_ARGS; i++)
		if (type_of(net, a, right_args[i]) != type_of(net, b, right_args[i]))
			return false;
	for (i = ACCEL_ARG_SCALES; i <= ACCEL_ARG_ZEROS; i += ACCEL_ARG_ZEROS - ACCEL_ARG_SCALES)
		if (node_value(a, ACCEL_ARG_A | i) != node_value(b, ACCEL_ARG_A | i))
			return false;
	return same_place(&net->values[node_value(a, ACCEL_ARG_A)],
			  &net->values[node_value(b, ACCEL_ARG_A)]) &&
	       net->values[node_result(a)].type == net->values[node_result(b)].type &&
	       net->values[node_result(a)].rank == net->values[node_result(b)].rank &&
	       !memcmp(a->desc, b->desc, a->desc->hdr.size);
}

/**
 * struct join - products that become one
 * @count: their number
 * @node: nodes
 * @n: columns of each
 * @wide: columns of all
 * @axis: the dimension of the right matrix that they are
 */
struct join {
	uint32_t count;
	uint32_t node[JOIN_MAX];
	int64_t n[JOIN_MAX];
	int64_t wide;
	uint32_t axis;
};

/**
 * struct by_store - values in the order of their stores
 * @first: by store: its first value, or NO_VALUE
 * @next: by value: the next one of its store, or NO_VALUE
 */
struct by_store {
	uint32_t *first;
	uint32_t *next;
};

/* Every value of the results, as it would be; @commit: as it is now, in @store. */
static bool move_all(struct net *net, const struct by_store *by, const struct join *j,
		     uint32_t store, bool commit)
{
	uint32_t i, k, from;
	int64_t at = 0;

	for (k = 0; k < j->count; at += j->n[k++]) {
		from = net->values[node_result(&net->nodes[j->node[k]])].store;
		for (i = by->first[from]; i != NO_VALUE; i = by->next[i]) {
			struct value v = net->values[i];

			if (!move_columns(&v, j->n[k], j->wide, at))
				return false;
			v.store = store;
			if (commit)
				net->values[i] = v;
		}
	}
	return true;
}

static const char *constant_at(const struct net *net, uint32_t value)
{
	return value_host(&net->values[value], value_data(net, value)).data;
}

/* The constants that are argument @arg side by side, along their columns' dimension. */
static uint32_t join_right(struct net *net, const struct join *j, uint32_t arg)
{
	const struct value *v = &net->values[node_value(&net->nodes[j->node[0]], arg)];
	const uint32_t axis = v->rank > 1 ? j->axis : 0, bits = accel_type_bits(v->type);
	const int64_t rows = axis ? v->dims[0] : 1, each = v->rank > 1 && !axis ? v->dims[1] : 1;
	const size_t whole = (size_t)(j->wide * each) * bits / 8, bytes = (size_t)rows * whole;
	int64_t dims[2] = { v->dims[0], v->rank > 1 ? v->dims[1] : 0 }, row;
	char *data, *to;
	uint32_t i;

	if (!net_may_fold(net, bytes))
		return NO_VALUE;
	data = malloc(bytes + 1);
	if (!data)
		return NO_VALUE;
	dims[axis] = j->wide;
	for (i = 0, to = data; i < j->count; i++) {
		const uint32_t value = node_value(&net->nodes[j->node[i]], arg);
		const size_t part = (size_t)(j->n[i] * each) * bits / 8;
		const char *from = constant_at(net, value);

		for (row = 0; row < rows; row++)
			memcpy(to + (size_t)row * whole, from + (size_t)row * part, part);
		to += part;
		blob_rest(net->stores[net->values[value].store].blob);
	}
	return net_constant(net, v->type, v->rank, dims, data);
}

/* Biases one after the other, zeros where there is none; NO_VALUE: there is no memory. */
static uint32_t join_bias(struct net *net, const struct join *j)
{
	const uint32_t type = bias_type(&net->values[node_result(&net->nodes[j->node[0]])]);
	const size_t size = accel_type_bits(type) / 8;
	char *data = calloc((size_t)j->wide, size), *to = data;
	uint32_t i, bias;

	for (i = 0; data && i < j->count; i++, to += (size_t)j->n[i - 1] * size) {
		bias = node_value(&net->nodes[j->node[i]], ACCEL_ARG_BIAS);
		if (bias != NO_VALUE)
			memcpy(to, constant_at(net, bias), (size_t)j->n[i] * size);
	}
	return data ? net_constant(net, type, 1, &j->wide, data) : NO_VALUE;
}

static bool any_bias(const struct net *net, const struct join *j)
{
	uint32_t i;

	for (i = 0; i < j->count; i++)
		if (node_value(&net->nodes[j->node[i]], ACCEL_ARG_BIAS) != NO_VALUE)
			return true;
	return false;
}

/* Everything of the right matrices in @trial; false: something cannot be had. */
static bool set_right(struct net *net, const struct join *j, struct node *trial)
{
	uint32_t i, value;

	for (i = 0; i < RIGHT_ARGS; i++) {
		if (node_value(trial, right_args[i]) == NO_VALUE)
			continue;
		value = join_right(net, j, right_args[i]);
		if (value == NO_VALUE || !node_set(trial, right_args[i], value))
			return false;
	}
	return true;
}

/* What cannot be done stays as it is. */
static void join(struct net *net, const struct by_store *by, struct join *j)
{
	struct node trial = net->nodes[j->node[0]];
	const struct value d = net->values[node_result(&trial)];
	const uint32_t first = node_value(&trial, ACCEL_ARG_B);
	int64_t dims[MAX_RANK];
	uint32_t i, out, bias = NO_VALUE;
	const bool biased = any_bias(net, j);

	j->wide = 0;
	j->axis = columns_axis(&trial.desc->any.gemm);
	for (i = 0; i < j->count; i++) {
		const struct value *v = &net->values[node_result(&net->nodes[j->node[i]])];

		j->n[i] = v->dims[v->rank - 1];
		j->wide += j->n[i];
	}
	memcpy(dims, d.dims, sizeof(dims));
	dims[d.rank - 1] = j->wide;
	if (j->count < 2 || !move_all(net, by, j, NO_VALUE, false) ||
	    !set_right(net, j, &trial))
		return;
	if (biased)
		bias = join_bias(net, j);
	out = net_new_value(net, d.type, d.rank, dims);
	if (out == NO_VALUE || (biased && bias == NO_VALUE) ||
	    !node_set(&trial, ACCEL_ARG_D, out) ||
	    (biased && !node_set(&trial, ACCEL_ARG_BIAS, bias)) || !net_can_run(net, &trial))
		return;
	move_all(net, by, j, net->values[out].store, true);
	net->stores[net->values[out].store].node = j->node[0];
	trial.rules |= 1u << ACCEL_PASS_JOIN;
	net_release(net, first);
	for (i = 1; i < j->count; i++) {
		net_release(net, node_value(&net->nodes[j->node[i]], ACCEL_ARG_B));
		trial.rules |= net->nodes[j->node[i]].rules;
		trial.fused += 1 + net->nodes[j->node[i]].fused;
		net->nodes[j->node[i]].dead = true;
	}
	net->nodes[j->node[0]] = trial;
}

int pass_join(struct net *net)
{
	const uint32_t count = net->node_count, values = net->value_count;
	uint32_t *next = malloc((count + 1) * sizeof(*next));
	uint32_t *last = malloc((net->store_count + 1) * sizeof(*last)), i, k, *of;
	bool *taken = calloc(count + 1, sizeof(*taken));
	struct by_store by = {
		malloc((net->store_count + 1) * sizeof(*by.first)),
		malloc((values + 1) * sizeof(*by.next)),
	};
	struct join j;
	int ret = 0;

	if (!next || !last || !taken || !by.first || !by.next) {
		ret = net_nomem(net);
		goto out;
	}
	for (i = 0; i < net->store_count; i++)
		last[i] = by.first[i] = NO_VALUE;
	/* What a join adds has stores of its own, and no join takes it up again. */
	for (i = values; i-- > 0;) {
		by.next[i] = by.first[net->values[i].store];
		by.first[net->values[i].store] = i;
	}
	/* Those that read one store; from the end, so that they come in order */
	for (i = count; i-- > 0;) {
		next[i] = NO_VALUE;
		taken[i] = !may_join(net, &net->nodes[i]);
		if (taken[i])
			continue;
		of = &last[net->values[node_value(&net->nodes[i], ACCEL_ARG_A)].store];
		next[i] = *of;
		*of = i;
	}
	for (i = 0; i < count; i++) {
		if (taken[i])
			continue;
		j = (struct join){ .node = { i }, .count = 1 };
		for (k = next[i]; k != NO_VALUE && j.count < JOIN_MAX; k = next[k])
			if (!taken[k] && alike(net, &net->nodes[i], &net->nodes[k])) {
				taken[k] = true;
				j.node[j.count++] = k;
			}
		join(net, &by, &j);
	}
out:
	free(by.next);
	free(by.first);
	free(taken);
	free(last);
	free(next);
	return ret;
}
