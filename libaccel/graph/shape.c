// SPDX-License-Identifier: MIT
/*
 * Operations that move no element, or make shapes: they become views and constants.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/**
 * struct shape - an operation in work
 * @net: net
 * @node: what it is, for messages
 * @desc: descriptor
 * @in: values by argument
 * @a: value of A
 * @out: result
 */
struct shape {
	struct net *net;
	struct node node;
	const struct accel_shape_desc *desc;
	uint32_t *in;
	struct value a;
	uint32_t out;
};

/* Sizes of pieces in a list */
#define MAX_PIECES	512

/* A list of numbers that has to be known. */
static int get_list(struct shape *s, uint32_t arg, int64_t *list, uint32_t *count)
{
	if (s->in[arg] == NO_VALUE)
		return net_fail(s->net, -EINVAL, &s->node, "argument %u is missing", arg);
	if (!value_ints(s->net, s->in[arg], list, count, MAX_RANK))
		return net_fail(s->net, -EOPNOTSUPP, &s->node,
				"its shape depends on data, or has more than %d numbers", MAX_RANK);
	return 0;
}

static int get_axis(struct shape *s, int64_t axis, uint32_t rank, uint32_t *out)
{
	if (axis < -(int64_t)rank || axis >= (int64_t)rank)
		return net_fail(s->net, -EINVAL, &s->node, "axis %" PRId64 " of %u dimensions",
				axis,
				rank);
	*out = (uint32_t)(axis < 0 ? axis + rank : axis);
	return 0;
}

static int too_large(struct shape *s)
{
	return net_fail(s->net, -EINVAL, &s->node, "its result is too large");
}

/* The view in s->a is the result. */
static int give_view(struct shape *s)
{
	uint32_t value;

	if (!dims_fit(s->a.rank, s->a.dims))
		return too_large(s);
	value = net_view(s->net, s->in[ACCEL_ARG_A]);
	if (value == NO_VALUE)
		return net_nomem(s->net);
	s->net->values[value] = s->a;
	s->out = value;
	return 0;
}

static int give_reshaped(struct shape *s, uint32_t rank, const int64_t *dims)
{
	uint32_t copy;

	if (!dims_fit(rank, dims))
		return too_large(s);
	if (reshape_view(&s->a, rank, dims))
		return give_view(s);
	copy = net_copy(s->net, s->in[ACCEL_ARG_A], s->a.type, &s->node);
	if (copy == NO_VALUE)
		return net_nomem(s->net);
	s->a = s->net->values[copy];
	reshape_view(&s->a, rank, dims);
	return give_view(s);
}

/* Dimensions of an example that were guessed need not fit: others will, when it runs. */
static bool is_guess(const struct shape *s)
{
	return s->net->guess && (s->a.unsure || s->net->values[s->in[ACCEL_ARG_B]].unsure);
}

static int reshape(struct shape *s)
{
	int64_t dims[MAX_RANK], n = 1, have = (int64_t)value_count(&s->a);
	uint32_t i, rank = 0, open = NO_VALUE;
	int ret = get_list(s, ACCEL_ARG_B, dims, &rank);

	if (ret)
		return ret;
	for (i = 0; i < rank; i++) {
		if (!dims[i] && !(s->desc->flags & ACCEL_SHAPE_ZERO)) {
			if (i >= s->a.rank)
				return net_fail(s->net, -EINVAL, &s->node,
						"there is no dimension %u to keep", i);
			dims[i] = s->a.dims[i];
		}
		if (dims[i] == -1 && open == NO_VALUE)
			open = i;
		else if (dims[i] < 0 || __builtin_mul_overflow(n, dims[i], &n) || n > MAX_ELEMENTS)
			return net_fail(s->net, -EINVAL, &s->node, "dimension %u is %" PRId64, i,
					dims[i]);
	}
	if (open != NO_VALUE) {
		if (!n || (have % n && !is_guess(s)))
			return net_fail(s->net, -EINVAL, &s->node,
					"%" PRId64 " does not divide %" PRId64, n, have);
		dims[open] = have / n;
		n *= dims[open];
	}
	if (n != have && is_guess(s) && dims_fit(rank, dims)) {
		s->out = net_new_value(s->net, s->a.type, rank, dims);
		return s->out == NO_VALUE ? net_nomem(s->net) : 0;
	}
	if (n != have)
		return net_fail(s->net, -EINVAL, &s->node,
				"%" PRId64 " elements become %" PRId64, have, n);
	return give_reshaped(s, rank, dims);
}

static int flatten(struct shape *s)
{
	int64_t dims[2] = { 1, 1 }, axis = s->desc->axis;
	uint32_t i;

	/* One past the last dimension is an axis too. */
	if (axis < 0)
		axis += s->a.rank;
	if (axis < 0 || axis > (int64_t)s->a.rank)
		return net_fail(s->net, -EINVAL, &s->node, "axis %d of %u dimensions",
				s->desc->axis,
				s->a.rank);
	for (i = 0; i < s->a.rank; i++)
		dims[i >= axis] *= s->a.dims[i];
	return give_reshaped(s, 2, dims);
}

static int transpose(struct shape *s)
{
	uint32_t order[MAX_RANK], i, seen = 0, any = 0;

	for (i = 0; i < s->a.rank; i++) {
		order[i] = s->desc->order[i];
		any |= order[i];
		if (order[i] >= s->a.rank)
			break;
		seen |= 1u << order[i];
	}
	if (!any) {
		for (i = 0; i < s->a.rank; i++)
			order[i] = s->a.rank - 1 - i;
	} else if (i < s->a.rank || seen != (1u << s->a.rank) - 1) {
		return net_fail(s->net, -EINVAL, &s->node,
				"its order is no permutation of %u dimensions",
				s->a.rank);
	}
	permute_view(&s->a, order);
	return give_view(s);
}

static int squeeze(struct shape *s)
{
	int64_t axes[MAX_RANK], dims[MAX_RANK];
	uint32_t i, count = 0, rank = 0, mask = 0, axis = 0;
	int ret;

	if (s->in[ACCEL_ARG_B] != NO_VALUE) {
		ret = get_list(s, ACCEL_ARG_B, axes, &count);
		for (i = 0; !ret && i < count; i++) {
			ret = get_axis(s, axes[i], s->a.rank, &axis);
			if (!ret && s->a.dims[axis] != 1)
				ret = net_fail(s->net, -EINVAL, &s->node,
					       "dimension %u is %" PRId64,
					       axis, s->a.dims[axis]);
			if (!ret)
				mask |= 1u << axis;
		}
		if (ret)
			return ret;
	} else {
		for (i = 0; i < s->a.rank; i++)
			mask |= (s->a.dims[i] == 1) << i;
	}
	for (i = 0; i < s->a.rank; i++)
		if (!(mask >> i & 1))
			dims[rank++] = s->a.dims[i];
	return give_reshaped(s, rank, dims);
}

static int unsqueeze(struct shape *s)
{
	int64_t axes[MAX_RANK], dims[MAX_RANK];
	uint32_t i, count = 0, rank, mask = 0, axis = 0, from = 0;
	int ret = get_list(s, ACCEL_ARG_B, axes, &count);

	if (ret)
		return ret;
	rank = s->a.rank + count;
	if (rank > MAX_RANK)
		return net_fail(s->net, -EINVAL, &s->node, "%u dimensions", rank);
	for (i = 0; i < count; i++) {
		ret = get_axis(s, axes[i], rank, &axis);
		if (ret)
			return ret;
		if (mask >> axis & 1)
			return net_fail(s->net, -EINVAL, &s->node, "axis %u twice", axis);
		mask |= 1u << axis;
	}
	for (i = 0; i < rank; i++)
		dims[i] = mask >> i & 1 ? 1 : s->a.dims[from++];
	return give_reshaped(s, rank, dims);
}

static int expand(struct shape *s)
{
	struct value *a = &s->a, old = s->a;
	int64_t want[MAX_RANK], dim;
	uint32_t i, count = 0, rank;
	int ret = get_list(s, ACCEL_ARG_B, want, &count);

	if (ret)
		return ret;
	rank = count > a->rank ? count : a->rank;
	for (i = 0; i < rank; i++) {
		bool mine = i + old.rank >= rank, theirs = i + count >= rank;

		a->dims[i] = mine ? old.dims[i + old.rank - rank] : 1;
		a->strides[i] = mine ? old.strides[i + old.rank - rank] : 0;
		dim = theirs ? want[i + count - rank] : 1;
		if (dim == a->dims[i] || dim == 1)
			continue;
		if (a->dims[i] != 1 || dim < 0)
			return net_fail(s->net, -EINVAL, &s->node,
					"%" PRId64 " cannot become %" PRId64, a->dims[i], dim);
		a->dims[i] = dim;
		a->strides[i] = 0;
	}
	a->rank = rank;
	return give_view(s);
}

static int64_t clamp(int64_t x, int64_t min, int64_t max)
{
	return x < min ? min : x > max ? max : x;
}

static void cut(struct value *v, uint32_t axis, int64_t start, int64_t count, int64_t step)
{
	if (count)
		v->offset += start * v->strides[axis];
	v->dims[axis] = count;
	/* One element steps nowhere: the product may be too large. */
	v->strides[axis] = count > 1 ? v->strides[axis] * step : 1;
}

static int slice(struct shape *s)
{
	int64_t start[MAX_RANK], end[MAX_RANK], axes[MAX_RANK], step[MAX_RANK], dim, from, to, n;
	uint32_t i, count = 0, other = 0, axis = 0;
	int ret;

	ret = get_list(s, ACCEL_ARG_B, start, &count);
	if (!ret)
		ret = get_list(s, ACCEL_ARG_C, end, &other);
	if (!ret && other != count)
		ret = net_fail(s->net, -EINVAL, &s->node, "%u starts, %u ends", count, other);
	for (i = 0; i < count && !ret; i++) {
		axes[i] = i;
		step[i] = 1;
	}
	if (!ret && s->in[ACCEL_ARG_AUX0] != NO_VALUE)
		ret = get_list(s, ACCEL_ARG_AUX0, axes, &other);
	if (!ret && other == count && s->in[ACCEL_ARG_AUX1] != NO_VALUE)
		ret = get_list(s, ACCEL_ARG_AUX1, step, &other);
	if (!ret && other != count)
		ret = net_fail(s->net, -EINVAL, &s->node, "%u starts, %u axes or steps", count,
			       other);
	if (ret)
		return ret;
	for (i = 0; i < count; i++) {
		ret = get_axis(s, axes[i], s->a.rank, &axis);
		if (ret)
			return ret;
		if (!step[i] || accel_type_bits(s->a.type) < 8)
			return net_fail(s->net, -EINVAL, &s->node, "a step of 0, or of half bytes");
		dim = s->a.dims[axis];
		/* Negative ones count from the end, and none leaves the dimension. */
		from = start[i] < 0 ? clamp(start[i], -dim, 0) + dim : start[i];
		to = end[i] < 0 ? clamp(end[i], -dim - 1, 0) + dim : end[i];
		if (step[i] > 0) {
			from = clamp(from, 0, dim);
			to = clamp(to, 0, dim);
			n = to > from ? (to - from - 1) / step[i] + 1 : 0;
		} else {
			from = clamp(from, 0, dim - 1);
			to = clamp(to, -1, dim - 1);
			n = from > to && dim ? (int64_t)((uint64_t)(from - to - 1) /
							 (0 - (uint64_t)step[i])) + 1 : 0;
		}
		cut(&s->a, axis, from, n, step[i]);
	}
	return give_view(s);
}

static int piece(struct shape *s)
{
	int64_t sizes[MAX_PIECES], dim, size, start;
	uint32_t axis = 0, i, count;
	int ret = get_axis(s, s->desc->axis, s->a.rank, &axis);

	if (ret)
		return ret;
	dim = s->a.dims[axis];
	if (s->desc->index >= s->desc->count || accel_type_bits(s->a.type) < 8)
		return net_fail(s->net, -EINVAL, &s->node, "piece %u of %u, or of half bytes",
				s->desc->index, s->desc->count);
	if (s->in[ACCEL_ARG_B] == NO_VALUE) {
		size = (dim + s->desc->count - 1) / s->desc->count;
		start = clamp(size * s->desc->index, 0, dim);
		cut(&s->a, axis, start, clamp(size, 0, dim - start), 1);
		return give_view(s);
	}
	if (!value_ints(s->net, s->in[ACCEL_ARG_B], sizes, &count, MAX_PIECES))
		return net_fail(s->net, -EOPNOTSUPP, &s->node,
				"its pieces depend on data, or are more than %d", MAX_PIECES);
	for (i = 0, start = 0, size = 0; i < count && sizes[i] >= 0; i++) {
		if (__builtin_add_overflow(size, sizes[i], &size))
			break;
		start += i < s->desc->index ? sizes[i] : 0;
	}
	/* What a symbol is in an example need not fit; nor does what such a list gives. */
	if (count != s->desc->count || i < count || size > dim ||
	    (size < dim && !is_guess(s) && !(s->net->guess && s->net->symbol_count)))
		return net_fail(s->net, -EINVAL, &s->node,
				"its pieces are not those of %" PRId64 " elements", dim);
	cut(&s->a, axis, start, sizes[s->desc->index], 1);
	return give_view(s);
}

static int shape_of(struct shape *s)
{
	int64_t start = s->desc->start, end = s->desc->end, rank = s->a.rank, n;
	int64_t *list;

	start = clamp(start < 0 ? start + rank : start, 0, rank);
	end = clamp(end < 0 ? end + rank : end, 0, rank);
	n = end > start ? end - start : 0;
	list = malloc((MAX_RANK + 1) * sizeof(*list));
	if (!list)
		return net_nomem(s->net);
	memcpy(list, s->a.dims + start, (size_t)n * sizeof(*list));
	s->out = net_constant(s->net, ACCEL_HOST_S64, 1, &n, list);
	return s->out == NO_VALUE ? net_nomem(s->net) : 0;
}

static bool get_number(struct shape *s, uint32_t arg, struct host_number *n)
{
	const struct value *v;
	struct host_tensor t;

	if (s->in[arg] == NO_VALUE || !value_const(s->net, s->in[arg]))
		return false;
	v = &s->net->values[s->in[arg]];
	if (value_count(v) != 1)
		return false;
	t = value_host(v, value_data(s->net, s->in[arg]));
	*n = host_get(t.type, t.data, 0);
	return true;
}

static int range(struct shape *s)
{
	uint32_t type = s->desc->type ? s->desc->type : s->a.type;
	struct host_number start, end, step, x;
	double span;
	int64_t n, i;
	void *data;

	if (!get_number(s, ACCEL_ARG_A, &start) || !get_number(s, ACCEL_ARG_B, &end) ||
	    !get_number(s, ACCEL_ARG_C, &step))
		return net_fail(s->net, -EOPNOTSUPP, &s->node, "its length depends on data");
	if (start.real != end.real || start.real != step.real ||
	    !(step.real ? step.f != 0 : step.i))
		return net_fail(s->net, -EINVAL, &s->node, "a step of 0, or unlike types");
	span = start.real ? ceil((end.f - start.f) / step.f) :
	       ceil(((double)end.i - (double)start.i) / (double)step.i);
	n = span > 0 && span < 1 << 26 ? (int64_t)span : 0;
	if (!(span < 1 << 26) || !net_may_fold(s->net, (uint64_t)n * 8))
		return net_fail(s->net, -EINVAL, &s->node, "%g numbers", span);
	data = calloc((size_t)n + 1, 8);
	if (!data)
		return net_nomem(s->net);
	for (i = 0; i < n; i++) {
		x = start;
		x.f += (double)i * step.f;
		x.i = (int64_t)((uint64_t)x.i + (uint64_t)i * (uint64_t)step.i);
		host_put(type, data, i, x);
	}
	s->out = net_constant(s->net, type, 1, &n, data);
	return s->out == NO_VALUE ? net_nomem(s->net) : 0;
}

/* One number that is repeated. */
static int fill(struct shape *s)
{
	uint32_t type = s->desc->type ? s->desc->type : ACCEL_F32, rank = 0;
	struct host_number n = { .real = true, .f = s->desc->value };
	int64_t dims[MAX_RANK];
	struct value *v;
	void *data;
	int ret = get_list(s, ACCEL_ARG_A, dims, &rank);

	if (ret)
		return ret;
	if (!dims_fit(rank, dims))
		return too_large(s);
	data = calloc(1, 8);
	if (!data)
		return net_nomem(s->net);
	host_put(type, data, 0, n);
	s->out = net_constant(s->net, type, 0, NULL, data);
	if (s->out == NO_VALUE)
		return net_nomem(s->net);
	v = &s->net->values[s->out];
	v->rank = rank;
	memcpy(v->dims, dims, rank * sizeof(*dims));
	return 0;
}

/* Repeats are dimensions without a stride before those that they repeat. */
static int tile(struct shape *s)
{
	int64_t repeats[MAX_RANK] = { 0 }, dims[MAX_RANK], n;
	uint32_t i, count = 0, rank = 0;
	struct value old = s->a;
	int ret = get_list(s, ACCEL_ARG_B, repeats, &count);

	if (!ret && count != old.rank)
		ret = net_fail(s->net, -EINVAL, &s->node, "%u repeats for %u dimensions", count,
			       old.rank);
	for (i = 0; i < old.rank && !ret; i++) {
		if (repeats[i] < 0 || __builtin_mul_overflow(old.dims[i], repeats[i], &n))
			return net_fail(s->net, -EINVAL, &s->node, "%" PRId64 " repeats",
					repeats[i]);
		dims[i] = n;
		if (rank + 2 > MAX_RANK + (uint32_t)(repeats[i] == 1 || old.dims[i] == 1))
			return net_fail(s->net, -EOPNOTSUPP, &s->node, "too many dimensions");
		if (repeats[i] != 1) {
			s->a.dims[rank] = repeats[i];
			s->a.strides[rank++] = 0;
		}
		if (repeats[i] != 1 && old.dims[i] == 1)
			continue;
		s->a.dims[rank] = old.dims[i];
		s->a.strides[rank++] = old.strides[i];
	}
	s->a.rank = rank;
	if (ret)
		return ret;
	if (!dims_fit(old.rank, dims))
		return too_large(s);
	s->in[ACCEL_ARG_A] = net_view(s->net, s->in[ACCEL_ARG_A]);
	if (s->in[ACCEL_ARG_A] == NO_VALUE)
		return net_nomem(s->net);
	s->net->values[s->in[ACCEL_ARG_A]] = s->a;
	return give_reshaped(s, old.rank, dims);
}

static int (*const functions[])(struct shape *s) = {
	reshape, flatten, transpose, squeeze, unsqueeze, expand, slice, piece, shape_of, range,
	fill, tile
};

/**
 * shape_resolve - do an operation that moves no element
 * @net: net
 * @from: what it is
 * @in: values by argument
 * @out: out: its result
 *
 * Return: 0, or the error that the net has.
 */
int shape_resolve(struct net *net, const struct graph_node *from, uint32_t *in, uint32_t *out)
{
	struct shape s = {
		.net = net, .desc = &from->desc->shape, .in = in, .out = NO_VALUE,
		.node = { .name = from->name, .source = from->source, .desc = from->desc },
	};
	int ret;

	if (in[ACCEL_ARG_A] == NO_VALUE)
		return net_fail(net, -EINVAL, &s.node, "it has no input");
	s.a = net->values[in[ACCEL_ARG_A]];
	ret = functions[from->desc->hdr.op - ACCEL_SHAPE_RESHAPE](&s);
	if (!ret && from->name && s.out != NO_VALUE)
		net->values[s.out].name = from->name;
	*out = s.out;
	return ret;
}
