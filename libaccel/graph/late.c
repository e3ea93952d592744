// SPDX-License-Identifier: MIT
/*
 * Numbers of descriptors that are values of the graph: how far to pad, how many to find,
 * along which dimensions. They are known when the shapes are.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "graph.h"

#define BIT(arg)	(1u << ACCEL_ARG_##arg)

/**
 * late_args - arguments that are numbers of the descriptor
 * @op: operation
 *
 * Return: mask of 1 << &enum accel_arg.
 */
uint32_t late_args(uint32_t op)
{
	switch (op) {
	case ACCEL_OP_PAD:
	case ACCEL_OP_RESIZE:
		return BIT(B) | BIT(C) | BIT(AUX0);
	case ACCEL_OP_TOPK:
	case ACCEL_OP_REDUCE:
	case ACCEL_OP_SCAN:
		return BIT(B);
	default:
		return 0;
	}
}

static int get_list(struct net *net, const struct node *node, uint32_t value, int64_t *list,
		    uint32_t *count, uint32_t max)
{
	if (value_ints(net, value, list, count, max))
		return 0;
	return net_fail(net, -EOPNOTSUPP, node, "its numbers depend on data, or are more than %u",
			max);
}

/* The dimensions that lists are about: those in a list, or all; each once. */
static int get_axes(struct net *net, const struct node *node, uint32_t value, uint32_t rank,
		    uint32_t *axes, uint32_t *count)
{
	int64_t list[MAX_RANK];
	uint32_t i, seen = 0;
	int ret;

	if (value == NO_VALUE) {
		for (i = 0; i < rank; i++)
			axes[i] = i;
		*count = rank;
		return 0;
	}
	ret = get_list(net, node, value, list, count, MAX_RANK);
	for (i = 0; i < *count && !ret; i++) {
		list[i] += list[i] < 0 ? rank : 0;
		if (list[i] < 0 || list[i] >= rank || (seen >> list[i] & 1))
			return net_fail(net, -EINVAL, node, "axis %" PRId64 " of %u dimensions",
					list[i], rank);
		axes[i] = (uint32_t)list[i];
		seen |= 1u << axes[i];
	}
	return ret;
}

/* What is cut off is cut off before; the rest is added. */
static int set_pad(struct net *net, struct node *node, const uint32_t *in)
{
	struct accel_pad_desc *d = &node->desc->any.pad;
	uint32_t a = in[ACCEL_ARG_A], axes[MAX_RANK] = { 0 }, i, n = 0, count = 0;
	int64_t list[2 * MAX_RANK], start, end;
	struct value v = net->values[a];
	bool cut = false;
	int ret;

	ret = get_axes(net, node, in[ACCEL_ARG_AUX0], v.rank, axes, &n);
	if (!ret)
		ret = get_list(net, node, in[ACCEL_ARG_B], list, &count, 2 * MAX_RANK);
	if (!ret && (count != 2 * n || v.rank > ACCEL_MAX_RANK))
		ret = net_fail(net, -EINVAL, node, "%u numbers for %u dimensions", count, n);
	if (ret)
		return ret;
	if (in[ACCEL_ARG_C] != NO_VALUE && !value_scalar(net, in[ACCEL_ARG_C], &d->value))
		return net_fail(net, -EOPNOTSUPP, node, "what it pads with depends on data");
	for (i = 0; i < n; i++) {
		if (list[i] < -MAX_ELEMENTS || list[i] > MAX_ELEMENTS ||
		    list[n + i] < -MAX_ELEMENTS || list[n + i] > MAX_ELEMENTS)
			return net_fail(net, -EINVAL, node, "%" PRId64 " before, %" PRId64 " behind",
					list[i], list[n + i]);
		start = list[i] < 0 ? -list[i] : 0;
		end = list[n + i] < 0 ? -list[n + i] : 0;
		d->before[axes[i]] = list[i] > 0 ? list[i] : 0;
		d->after[axes[i]] = list[n + i] > 0 ? list[n + i] : 0;
		if (!start && !end)
			continue;
		if (start > v.dims[axes[i]] || end > v.dims[axes[i]] - start)
			return net_fail(net, -EINVAL, node, "it cuts off more than there is");
		v.offset += start * v.strides[axes[i]];
		v.dims[axes[i]] -= start + end;
		cut = true;
	}
	if (!cut)
		return 0;
	a = net_view(net, a);
	if (a == NO_VALUE)
		return net_nomem(net);
	net->values[a] = v;
	node_set(node, ACCEL_ARG_A, a);
	return 0;
}

/* Sizes and scales, of which there is one at least; where both are, the sizes are rounded. */
static int set_resize(struct net *net, struct node *node, const uint32_t *in)
{
	const bool sizes = in[ACCEL_ARG_B] != NO_VALUE, scales = in[ACCEL_ARG_C] != NO_VALUE;
	struct accel_resize_desc *d = &node->desc->any.resize;
	const struct value *a = &net->values[in[ACCEL_ARG_A]];
	uint32_t axes[MAX_RANK] = { 0 }, i, n = 0, count = 0;
	double scale[MAX_RANK];
	int64_t list[MAX_RANK];
	int ret;

	ret = get_axes(net, node, in[ACCEL_ARG_AUX0], a->rank, axes, &n);
	if (ret)
		return ret;
	if (a->rank > ACCEL_MAX_RANK)
		return net_fail(net, -EOPNOTSUPP, node, "%u dimensions", a->rank);
	d->d.rank = a->rank;
	for (i = 0; i < a->rank; i++) {
		d->d.dims[i] = a->dims[i];
		d->scale[i] = sizes ? 0 : 1;
	}
	if (sizes)
		ret = get_list(net, node, in[ACCEL_ARG_B], list, &count, MAX_RANK);
	if (!ret && scales && (!sizes || count == n) &&
	    !value_reals(net, in[ACCEL_ARG_C], scale, &count, MAX_RANK))
		ret = net_fail(net, -EOPNOTSUPP, node, "its scales depend on data");
	if (!ret && count != n)
		ret = net_fail(net, -EINVAL, node, "%u numbers for %u dimensions", count, n);
	for (i = 0; i < n && !ret; i++) {
		/* Of nothing, nothing */
		if (sizes && list[i] < !!a->dims[axes[i]])
			return net_fail(net, -EINVAL, node, "a size of %" PRId64, list[i]);
		if (scales && !(scale[i] > 0 && scale[i] < 65536))
			return net_fail(net, -EINVAL, node, "a scale of %g", scale[i]);
		/* Sizes that are guessed are not those of a scale. */
		if (scales && !(sizes && net->guess))
			d->scale[axes[i]] = scale[i];
		d->d.dims[axes[i]] = sizes ? list[i] :
				     (int64_t)((double)a->dims[axes[i]] * scale[i]);
	}
	return ret;
}

static int set_topk(struct net *net, struct node *node, const uint32_t *in)
{
	struct accel_topk_desc *d = &node->desc->any.topk;
	const struct value *a = &net->values[in[ACCEL_ARG_A]];
	int64_t k = 0, axis = d->axis < 0 ? (int64_t)d->axis + a->rank : d->axis;
	uint32_t count = 0, i;
	int ret = get_list(net, node, in[ACCEL_ARG_B], &k, &count, 1);

	if (ret)
		return ret;
	if (count != 1 || axis < 0 || axis >= a->rank || a->rank > ACCEL_MAX_RANK || k < 0 ||
	    k > a->dims[axis])
		return net_fail(net, -EINVAL, node, "%" PRId64 " of dimension %" PRId64, k, axis);
	d->d.rank = d->indices.rank = a->rank;
	for (i = 0; i < a->rank; i++)
		d->d.dims[i] = d->indices.dims[i] = i == axis ? k : a->dims[i];
	return 0;
}

static int set_reduce(struct net *net, struct node *node, const uint32_t *in)
{
	struct accel_reduce_desc *d = &node->desc->any.reduce;
	uint32_t axes[MAX_RANK] = { 0 }, i, n = 0;
	int ret = get_axes(net, node, in[ACCEL_ARG_B], net->values[in[ACCEL_ARG_A]].rank, axes, &n);

	for (i = 0, d->axes = 0; i < n && !ret; i++)
		d->axes |= ACCEL_AXIS(axes[i]);
	return ret;
}

static int set_scan(struct net *net, struct node *node, const uint32_t *in)
{
	uint32_t rank = net->values[in[ACCEL_ARG_A]].rank, count = 0;
	int64_t axis = 0;
	int ret = get_list(net, node, in[ACCEL_ARG_B], &axis, &count, 1);

	if (!ret && (count != 1 || axis < -(int64_t)rank || axis >= rank))
		ret = net_fail(net, -EINVAL, node, "axis %" PRId64 " of %u dimensions", axis, rank);
	node->desc->any.scan.axis = (int32_t)axis;
	return ret;
}

/**
 * late_resolve - put the numbers where they belong
 * @net: net
 * @node: node of an operation that has late_args(); they are not among its arguments
 * @in: values by argument
 *
 * Return: 0, or the error that the net has.
 */
int late_resolve(struct net *net, struct node *node, const uint32_t *in)
{
	uint32_t b = in[ACCEL_ARG_B], c = in[ACCEL_ARG_C];

	if (in[ACCEL_ARG_A] == NO_VALUE)
		return net_fail(net, -EINVAL, node, "it has no input");
	switch (node->desc->hdr.op) {
	case ACCEL_OP_PAD:
		return b == NO_VALUE ? 0 : set_pad(net, node, in);
	case ACCEL_OP_RESIZE:
		return b == NO_VALUE && c == NO_VALUE ? 0 : set_resize(net, node, in);
	case ACCEL_OP_TOPK:
		return b == NO_VALUE ? 0 : set_topk(net, node, in);
	case ACCEL_OP_REDUCE:
		return b == NO_VALUE ? 0 : set_reduce(net, node, in);
	case ACCEL_OP_SCAN:
		return b == NO_VALUE ? 0 : set_scan(net, node, in);
	default:
		return 0;
	}
}
