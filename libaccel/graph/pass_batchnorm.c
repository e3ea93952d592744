// SPDX-License-Identifier: MIT
/*
 * Batch norms with constants are a factor and an addend for each channel. Behind a
 * convolution that nobody else reads they become part of its weights and its bias;
 * elsewhere they become a product and a sum, which other passes know.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/* Vectors of @n floats of a constant, NULL: they are something else. Files align none. */
static const void *line(const struct net *net, uint32_t value, int64_t n)
{
	const struct value *v = value == NO_VALUE ? NULL : &net->values[value];

	if (!v || !value_const(net, value) || v->type != ACCEL_F32 || v->rank != 1 ||
	    v->dims[0] != n || !value_dense(v))
		return NULL;
	return value_host(v, value_data(net, value)).data;
}

static float number(const void *line, uint64_t i)
{
	float x;

	memcpy(&x, (const char *)line + i * sizeof(x), sizeof(x));
	return x;
}

/* @factor and @addend of each channel; false: they are not constant. */
static bool find_lines(const struct net *net, const struct node *node, int64_t n, float *factor,
		       float *addend)
{
	const void *scale = line(net, node_value(node, ACCEL_ARG_SCALE), n);
	const void *bias = line(net, node_value(node, ACCEL_ARG_BIAS), n);
	const void *mean = line(net, node_value(node, ACCEL_ARG_AUX0), n);
	const void *variance = line(net, node_value(node, ACCEL_ARG_AUX1), n);
	uint64_t i;

	if (!mean || !variance ||
	    (node_value(node, ACCEL_ARG_SCALE) != NO_VALUE && !scale) ||
	    (node_value(node, ACCEL_ARG_BIAS) != NO_VALUE && !bias))
		return false;
	for (i = 0; i < (uint64_t)n; i++) {
		double f = (scale ? (double)number(scale, i) : 1) /
			   sqrt((double)number(variance, i) + (double)node->desc->any.norm.eps);

		factor[i] = (float)f;
		addend[i] = (float)((bias ? (double)number(bias, i) : 0) -
				    (double)number(mean, i) * f);
	}
	return true;
}

/* Weights [M, ...] times the factors, and the bias likewise: they are the convolution's now. */
static bool into_conv(struct net *net, struct node *conv, const struct node *norm, int64_t n,
		      const float *factor, float *addend)
{
	uint32_t b = node_value(conv, ACCEL_ARG_B), had = node_value(conv, ACCEL_ARG_BIAS), w, c;
	const struct value *v = &net->values[b];
	const void *from, *bias = had == NO_VALUE ? NULL : line(net, had, n);
	uint64_t i, count = value_count(v), each = count / (uint64_t)n;
	float *to;

	if ((had != NO_VALUE && !bias) || !value_const(net, b) || v->type != ACCEL_F32 ||
	    !value_dense(v) || v->dims[0] != n || conv->desc->any.conv.epilogue.act ||
	    node_value(conv, ACCEL_ARG_RESIDUAL) != NO_VALUE ||
	    (conv->desc->any.conv.flags & ACCEL_CONV_TRANSPOSED) ||
	    !net_may_fold(net, count * sizeof(float)))
		return false;
	to = malloc(count * sizeof(*to) + 1);
	if (!to)
		return false;
	from = value_host(v, value_data(net, b)).data;
	for (i = 0; i < count; i++)
		to[i] = number(from, i) * factor[i / each];
	blob_rest(net->stores[v->store].blob);
	for (i = 0; bias && i < (uint64_t)n; i++)
		addend[i] += number(bias, i) * factor[i];
	w = net_constant(net, ACCEL_F32, v->rank, v->dims, to);
	to = w == NO_VALUE ? NULL : malloc((size_t)n * sizeof(*to));
	if (!to)
		return false;
	memcpy(to, addend, (size_t)n * sizeof(*to));
	c = net_constant(net, ACCEL_F32, 1, &n, to);
	if (c == NO_VALUE || !node_set(conv, ACCEL_ARG_BIAS, c))
		return false;
	node_set(conv, ACCEL_ARG_B, w);
	node_set(conv, ACCEL_ARG_D, node_result(norm));
	conv->rules |= 1u << ACCEL_PASS_BATCHNORM;
	conv->fused++;
	return true;
}

/* A constant for each channel, [n, 1, ...], as it broadcasts to the channels' dimension */
static uint32_t channels(struct net *net, uint32_t rank, int64_t n, const float *list)
{
	int64_t dims[MAX_RANK] = { n, 1, 1, 1, 1, 1, 1, 1 };
	float *data = malloc((size_t)n * sizeof(*data) + 1);

	if (!data)
		return NO_VALUE;
	memcpy(data, list, (size_t)n * sizeof(*data));
	return net_constant(net, ACCEL_F32, rank, dims, data);
}

/* A product in the norm's place, and a sum behind it that has its result. */
static int apart(struct net *net, uint32_t index, int64_t n, const float *factor,
		 const float *addend)
{
	const struct value d = net->values[node_result(&net->nodes[index])];
	uint32_t scale = channels(net, d.rank - 1, n, factor);
	uint32_t bias = channels(net, d.rank - 1, n, addend), between, a, out;
	struct node *times, *plus = net_node(net, &net->nodes[index], ACCEL_OP_BINARY);
	union node_desc *desc = calloc(1, desc_size(ACCEL_OP_BINARY));

	between = net_new_value(net, d.type, d.rank, d.dims);
	if (!plus || !desc || scale == NO_VALUE || bias == NO_VALUE || between == NO_VALUE) {
		free(desc);
		return net_nomem(net);
	}
	times = &net->nodes[index];
	a = node_value(times, ACCEL_ARG_A);
	out = node_result(times);
	desc->hdr.size = desc_size(ACCEL_OP_BINARY);
	desc->hdr.op = ACCEL_OP_BINARY;
	desc->any.binary.func = ACCEL_BINARY_MUL;
	plus->desc->any.binary.func = ACCEL_BINARY_ADD;
	plus->desc->any.binary.epilogue.act = times->desc->any.norm.epilogue.act;
	plus->desc->any.binary.epilogue.p0 = times->desc->any.norm.epilogue.p0;
	plus->desc->any.binary.epilogue.p1 = times->desc->any.norm.epilogue.p1;
	free(times->desc);
	times->desc = desc;
	times->arg_count = 0;
	times->rules |= 1u << ACCEL_PASS_BATCHNORM;
	plus->rules |= 1u << ACCEL_PASS_BATCHNORM;
	node_arg(times, ACCEL_ARG_A, a, false);
	node_arg(times, ACCEL_ARG_B, scale, false);
	node_arg(times, ACCEL_ARG_D, between, true);
	node_arg(plus, ACCEL_ARG_A, between, false);
	node_arg(plus, ACCEL_ARG_B, bias, false);
	node_arg(plus, ACCEL_ARG_D, out, true);
	net->stores[net->values[between].store].node = index;
	net->stores[d.store].node = (uint32_t)(plus - net->nodes);
	return 0;
}

static int replace(struct net *net, uint32_t index)
{
	const struct node *norm = &net->nodes[index];
	uint32_t a = node_value(norm, ACCEL_ARG_A), from = value_node(net, a);
	/* Values move when there are more of them. */
	const struct value result = net->values[node_result(norm)], *d = &result;
	int64_t n = d->rank > 1 ? d->dims[1] : 0;
	const struct accel_norm_desc *desc = &norm->desc->any.norm;
	float *lines;
	int ret = 0;

	if (n < 1 || (desc->channel != 1 && desc->channel != 1 - (int32_t)d->rank) ||
	    d->type != ACCEL_F32 || net->values[a].type != ACCEL_F32 || !desc->eps ||
	    node_value(norm, ACCEL_ARG_RESIDUAL) != NO_VALUE)
		return 0;
	lines = malloc((size_t)n * 2 * sizeof(*lines));
	if (!lines)
		return net_nomem(net);
	if (find_lines(net, norm, n, lines, lines + n)) {
		if (from != NO_VALUE && !desc->epilogue.act &&
		    value_maker(net, a, ACCEL_OP_CONV) && value_uses(net, a, NULL) == 1 &&
		    into_conv(net, &net->nodes[from], norm, n, lines, lines + n)) {
			net->nodes[index].dead = true;
			net->stores[d->store].node = from;
		} else {
			ret = apart(net, index, n, lines, lines + n);
		}
	}
	free(lines);
	return ret;
}

int pass_batchnorm(struct net *net)
{
	uint32_t i, count = net->node_count;
	int ret = 0;

	for (i = 0; i < count && !ret; i++)
		if (!net->nodes[i].dead && net->nodes[i].desc->hdr.op == ACCEL_OP_NORM &&
		    net->nodes[i].desc->any.norm.func == ACCEL_NORM_BATCH)
			ret = replace(net, i);
	return ret;
}
