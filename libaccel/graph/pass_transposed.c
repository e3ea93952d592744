// SPDX-License-Identifier: MIT
/*
 * Transposed convolutions of fp32 with constant weights become ordinary ones, for which
 * there are fast kernels. Results that lie a stride apart are made by the same taps: they
 * are the channels of a convolution without stride, whose result is then put into order,
 * and what the padding cuts off is left out. (Shi et al., "Is the deconvolution layer the
 * same as a convolutional layer?", 2016.)
 */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/**
 * struct phases - a transposed convolution along one dimension
 * @stride: results that each input reaches with the same tap
 * @kernel: taps
 * @taps: of each phase, at most
 * @in: inputs
 * @out: results
 * @cut: results before the first
 * @places: results of a phase, with those that are cut off
 * @before: zeros before the inputs
 * @after: likewise behind
 */
struct phases {
	int64_t stride;
	int64_t kernel;
	int64_t taps;
	int64_t in;
	int64_t out;
	int64_t cut;
	int64_t places;
	int64_t before;
	int64_t after;
};

static bool find_phases(const struct accel_conv_desc *d, uint32_t axis, const struct value *a,
			const struct value *b, const struct value *out, struct phases *p)
{
	p->stride = d->stride[axis] ? d->stride[axis] : 1;
	p->kernel = b->dims[2 + axis];
	p->taps = (p->kernel + p->stride - 1) / p->stride;
	p->in = a->dims[2 + axis];
	p->out = out->dims[2 + axis];
	p->before = p->taps - 1;
	p->cut = d->pad_before[axis];
	/* Without a stride a result that is cut off needs not be computed. */
	if (p->stride == 1 && p->cut <= p->before) {
		p->before -= p->cut;
		p->cut = 0;
	}
	p->places = (p->out + p->cut + p->stride - 1) / p->stride;
	if (p->places < p->in + p->before - p->taps + 1)
		p->places = p->in + p->before - p->taps + 1;
	p->after = p->places + p->taps - 1 - p->before - p->in;
	/* It is more work, and memory, if most taps are zeros or most results are cut off. */
	if (p->stride / 2 > p->kernel ||
	    p->places * p->stride > 2 * (p->out + p->kernel) + p->stride)
		return false;
	return d->dilation[axis] <= 1 && p->in > 0 && p->out > 0 && p->kernel > 0 &&
	       p->before <= 65536 && p->after <= 65536;
}

static float element(const void *list, int64_t i)
{
	float x;

	memcpy(&x, (const char *)list + i * (int64_t)sizeof(x), sizeof(x));
	return x;
}

/* Weights [C, M, kernel] as [phases * M, C, taps], turned round */
static float *turn_weights(const void *from, int64_t c, int64_t m, const struct phases *y,
			   const struct phases *x)
{
	int64_t count = y->stride * x->stride * m * c * y->taps * x->taps, i, rest, py, px, k;
	float *to = malloc((size_t)count * sizeof(*to) + 1);

	for (i = 0; to && i < count; i++) {
		rest = i;
		px = (x->taps - 1 - rest % x->taps) * x->stride;
		rest /= x->taps;
		py = (y->taps - 1 - rest % y->taps) * y->stride;
		rest /= y->taps;
		k = rest % c * m;
		rest /= c;
		k += rest % m;
		rest /= m;
		px += rest % x->stride;
		py += rest / x->stride;
		to[i] = py < y->kernel && px < x->kernel ?
			element(from, (k * y->kernel + py) * x->kernel + px) : 0;
	}
	return to;
}

/* Elements of a dense value [N, places..., phases, M] as [N, M, places and phases...], cut */
static bool cut_view(struct net *net, uint32_t view, const struct phases *p, uint32_t n, int64_t m)
{
	const uint32_t order[2][MAX_RANK] = { { 0, 2, 1 }, { 0, 3, 1, 2 } };
	struct value *v = &net->values[view];
	int64_t dims[MAX_RANK] = { v->dims[0] };
	uint32_t i;

	for (i = 0; i < n; i++)
		dims[1 + i] = p[i].places * p[i].stride;
	dims[1 + n] = m;
	if (!reshape_view(v, 2 + n, dims))
		return false;
	permute_view(v, order[n - 1]);
	for (i = 0; i < n; i++) {
		v->offset += p[i].cut * v->strides[2 + i];
		v->dims[2 + i] = p[i].out;
	}
	return true;
}

/*
 * A convolution in the node's place, with channels last, and the phases of one place as
 * channels; its result is put into order behind it.
 */
static int replace(struct net *net, uint32_t index)
{
	static const uint32_t last[2][MAX_RANK] = { { 0, 2, 1 }, { 0, 3, 1, 2 } };
	static const uint32_t rows[MAX_RANK] = { 0, 1, 3, 2, 4 };
	/* In one dimension rows are one. */
	struct phases both[2] = { { .stride = 1, .kernel = 1, .taps = 1 } }, *p;
	struct node *node = &net->nodes[index];
	struct accel_conv_desc *d = &node->desc->any.conv;
	const uint32_t from = node_value(node, ACCEL_ARG_B), result = node_result(node);
	const uint32_t bias = node_value(node, ACCEL_ARG_BIAS), n = net->values[from].rank - 2;
	const struct value a = net->values[node_value(node, ACCEL_ARG_A)];
	const struct value b = net->values[from], out = net->values[result];
	const int64_t c = b.dims[0], m = b.dims[1];
	int64_t dims[MAX_RANK] = { a.dims[0] }, k;
	uint32_t i, w, vector = NO_VALUE, y, view;
	float *list;

	if (n < 1 || n > 2 || a.rank != b.rank || a.rank != out.rank || a.type != ACCEL_F32 ||
	    b.type != ACCEL_F32 || out.type != ACCEL_F32 || d->groups > 1 ||
	    node->arg_count != (bias == NO_VALUE ? 3 : 4) || d->flags & ACCEL_CONV_NHWC ||
	    is_quantised(node) || !value_const(net, from) || !value_dense(&b))
		return 0;
	if (bias != NO_VALUE && !(value_const(net, bias) && value_dense(&net->values[bias]) &&
				  net->values[bias].type == ACCEL_F32 &&
				  net->values[bias].rank == 1 && net->values[bias].dims[0] == m))
		return 0;
	p = &both[2 - n];
	for (i = 0; i < n; i++)
		if (!find_phases(d, i, &a, &b, &out, &p[i]))
			return 0;
	k = both[0].stride * both[1].stride * m;
	for (i = 0; i < n; i++)
		dims[1 + i] = p[i].places;
	dims[1 + n] = k;
	if (k > 65536 || !dims_fit(a.rank, dims) ||
	    !net_may_fold(net, (uint64_t)(k * (c * both[0].taps * both[1].taps + 1)) *
			  sizeof(float)))
		return 0;
	y = net_new_value(net, ACCEL_F32, a.rank, dims);
	list = turn_weights(value_host(&b, value_data(net, from)).data, c, m, &both[0], &both[1]);
	blob_rest(net->stores[b.store].blob);
	dims[0] = k;
	dims[1] = c;
	for (i = 0; i < n; i++)
		dims[2 + i] = p[i].taps;
	w = list ? net_constant(net, ACCEL_F32, a.rank, dims, list) : NO_VALUE;
	if (bias != NO_VALUE) {
		list = malloc((size_t)k * sizeof(*list));
		for (i = 0; list && i < k; i++)
			list[i] = element(value_host(&net->values[bias],
						     value_data(net, bias)).data, i % m);
		vector = list ? net_constant(net, ACCEL_F32, 1, &k, list) : NO_VALUE;
	}
	view = y == NO_VALUE ? NO_VALUE : net_view(net, y);
	if (view == NO_VALUE || w == NO_VALUE || (bias != NO_VALUE && vector == NO_VALUE))
		return net_nomem(net);
	permute_view(&net->values[view], last[n - 1]);
	node = &net->nodes[index];
	d = &node->desc->any.conv;
	d->flags &= ~ACCEL_CONV_TRANSPOSED;
	for (i = 0; i < n; i++) {
		d->stride[i] = 1;
		d->pad_before[i] = (uint32_t)p[i].before;
		d->pad_after[i] = (uint32_t)p[i].after;
	}
	node_set(node, ACCEL_ARG_B, w);
	node_set(node, ACCEL_ARG_D, view);
	if (bias != NO_VALUE)
		node_set(node, ACCEL_ARG_BIAS, vector);
	node->rules |= 1u << ACCEL_PASS_TRANSPOSED;
	net->stores[net->values[y].store].node = index;
	/* Rows of one phase after the other */
	if (n == 2 && p[0].stride > 1) {
		const int64_t split[] = {
			a.dims[0], p[0].places, p[1].places, p[0].stride, k / p[0].stride
		};

		view = net_view(net, y);
		if (view == NO_VALUE || !reshape_view(&net->values[view], 5, split))
			return net_nomem(net);
		permute_view(&net->values[view], rows);
		y = net_copy(net, view, ACCEL_F32, &net->nodes[index]);
	}
	view = y == NO_VALUE ? NO_VALUE : net_view(net, y);
	node = view == NO_VALUE ? NULL : net_node(net, &net->nodes[index], ACCEL_OP_COPY);
	if (!node || !cut_view(net, view, p, n, m))
		return net_nomem(net);
	node_arg(node, ACCEL_ARG_A, view, false);
	node_arg(node, ACCEL_ARG_D, result, true);
	node->rules |= 1u << ACCEL_PASS_TRANSPOSED;
	net->stores[out.store].node = (uint32_t)(node - net->nodes);
	return 0;
}

int pass_transposed(struct net *net)
{
	uint32_t i, count = net->node_count;
	int ret = 0;

	for (i = 0; i < count && !ret; i++)
		if (!net->nodes[i].dead && net->nodes[i].desc->hdr.op == ACCEL_OP_CONV &&
		    (net->nodes[i].desc->any.conv.flags & ACCEL_CONV_TRANSPOSED))
			ret = replace(net, i);
	return ret;
}
