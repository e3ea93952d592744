// SPDX-License-Identifier: MIT
/*
 * Operators of values with more dimensions than engines have: dimensions that a node treats alike
 * become one before it, and are dimensions again behind it. What cannot be told so stays as it is,
 * and is refused by who cannot do it.
 */
#include <errno.h>
#include <string.h>

#include "onnx.h"

#define MANY	(ACCEL_MAX_RANK + 1u)

/**
 * struct lists - dimensions that become a shape
 * @count: number of lists
 * @list: values, each a list
 */
struct lists {
	uint32_t count;
	uint32_t list[2 * ACCEL_GRAPH_MAX_RANK];
};

/* Dimensions of @a, each of them */
static void add_dims(struct import *im, struct lists *l, uint32_t a, uint32_t from, uint32_t to)
{
	if (from < to)
		l->list[l->count++] = v_shape_of(im, a, from, to);
}

/* Dimensions of @a as one */
static void add_product(struct import *im, struct lists *l, uint32_t a, uint32_t from, uint32_t to)
{
	const int64_t one = 1;

	l->list[l->count++] = from == to ? v_ints(im, 1, &one) :
		v_reduce(im, ACCEL_REDUCE_PROD, 0, ACCEL_AXIS(0), v_shape_of(im, a, from, to));
}

static void add_ones(struct import *im, struct lists *l, uint32_t count)
{
	static const int64_t ones[ACCEL_GRAPH_MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };

	if (count)
		l->list[l->count++] = v_ints(im, count, ones);
}

static uint32_t shaped(struct import *im, const struct lists *l, uint32_t a)
{
	return l->count ? v_reshape(im, a, l->count, l->list) :
	       v_shaped_to(im, ACCEL_SHAPE_RESHAPE, a, 0, NULL);
}

/* An input becomes another value, which is no constant that operators look into. */
static void set_input(struct import *im, uint32_t index, uint32_t value)
{
	if (!im->error.code && value != NO_VALUE)
		im_ref(im, value, &im->in[index]);
}

static void set_ints(struct import *im, const char *name, uint32_t type, uint32_t count,
		     const int64_t *ints)
{
	struct attr *a = im->attrs;

	while (a < im->attrs + im->attr_count && (a->type != type || !slice_is(a->name, name)))
		a++;
	if (a == im->attrs + MAX_ATTRS) {
		im_fail(im, -EOPNOTSUPP, "more than %d attributes", MAX_ATTRS - 1);
		return;
	}
	if (a == im->attrs + im->attr_count)
		im->attr_count++;
	*a = (struct attr) { .name = { (const uint8_t *)name, strlen(name) }, .type = type };
	a->i = *ints;
	a->int_count = type == ATTR_INTS ? count : 0;
	memcpy(a->ints, ints, a->int_count * sizeof(*ints));
}

static void set_axis(struct import *im, int64_t axis)
{
	set_ints(im, "axis", ATTR_INT, 1, &axis);
}

/* What the operator gave as its result, 0: nothing that is asked for */
static struct name *result(struct import *im, uint32_t index)
{
	struct name *n;

	if (index >= im->out_count || !im->out[index].n)
		return NULL;
	n = im_name(im, im->out[index]);
	return n && n->text ? n : NULL;
}

static void set_result(struct import *im, struct name *n, const struct lists *l)
{
	const uint32_t value = shaped(im, l, n->value);

	n->value = value;
	n->data = NULL;
}

/* A result that has the dimensions of @a */
static void set_shape(struct import *im, uint32_t index, uint32_t a, uint32_t rank)
{
	struct name *n = result(im, index);
	struct lists l = { 0 };

	if (!n)
		return;
	add_dims(im, &l, a, 0, rank);
	set_result(im, n, &l);
}

static uint32_t around(struct import *im, uint32_t a, uint32_t axis, uint32_t rank)
{
	struct lists l = { 0 };

	add_product(im, &l, a, 0, axis);
	add_dims(im, &l, a, axis, axis + 1);
	add_product(im, &l, a, axis + 1, rank);
	return shaped(im, &l, a);
}

/* Have two inputs the same dimensions, but for one? */
static bool alike(const struct import *im, uint32_t a, uint32_t b, uint32_t but, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (i != but && (im_is_symbol(im, a, i) || im_is_symbol(im, b, i) ||
				 im->in[a].dims[i] != im->in[b].dims[i]))
			return false;
	return im->in[a].rank == im->in[b].rank;
}

/*
 * A dimension that has to be as large as another: as many elements, of a value that nobody reads.
 * Products of dimensions would tell less of what symbols are, and let others pass.
 */
static void same(struct import *im, uint32_t a, uint32_t at_a, uint32_t b, uint32_t at_b)
{
	const uint32_t list = v_shape_of(im, a, at_a, (int64_t)at_a + 1);

	v_shaped(im, ACCEL_SHAPE_RESHAPE, v_fill(im, ACCEL_F32, list, 0),
		 v_shape_of(im, b, at_b, (int64_t)at_b + 1));
}

/* Are @count dimensions of two inputs, from these on, others? Symbols have to be alike. */
static bool differ(struct import *im, uint32_t a, uint32_t from_a, uint32_t b, uint32_t from_b,
		   uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (im_is_symbol(im, a, from_a + i) || im_is_symbol(im, b, from_b + i))
			same(im, im->in[a].value, from_a + i, im->in[b].value, from_b + i);
		else if (im->in[a].dims[from_a + i] != im->in[b].dims[from_b + i])
			return true;
	}
	return false;
}

/* GatherElements may have fewer indices than elements: the others are cut off. */
static uint32_t cut_to(struct import *im, uint32_t a, uint32_t like, uint32_t axis, uint32_t rank)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	int64_t zeros[ACCEL_GRAPH_MAX_RANK] = { 0 }, axes[ACCEL_GRAPH_MAX_RANK];
	uint32_t i, n = 0, from, to, along, out = NO_VALUE;
	struct lists l = { 0 };

	for (i = 0; i < rank; i++)
		if (i != axis)
			axes[n++] = i;
	add_dims(im, &l, like, 0, axis);
	add_dims(im, &l, like, axis + 1, rank);
	from = v_ints(im, n, zeros);
	to = v_concat(im, 0, l.count, l.list);
	along = v_ints(im, n, axes);
	if (!im->error.code)
		im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, a }, { ACCEL_ARG_B, from },
					 { ACCEL_ARG_C, to }, { ACCEL_ARG_AUX0, along }), 5, &out);
	for (i = 0; i < n && !im->error.code; i++)
		same(im, out, (uint32_t)axes[i], like, (uint32_t)axes[i]);
	return out;
}

/* Along one dimension: those before it are one, and those behind it */
static int along(struct import *im, const struct op *op, int64_t otherwise)
{
	const bool sum = !strcmp(op->name, "CumSum"), gather = !strcmp(op->name, "GatherElements");
	const uint32_t rank = im->in[0].rank, like = v_in(im, gather);
	int64_t at = im_int(im, "axis", otherwise);
	uint32_t axis, i, one;
	struct name *n;
	int ret;

	/* Compress without an axis is one of all elements. */
	if ((sum && !im_numbers(im_input(im, 1), &at, &one, 1)) ||
	    (!strcmp(op->name, "Compress") && !im_attr(im, "axis", ATTR_INT)))
		return op->fn(im, op->arg);
	ret = im_axis(im, at, rank, &axis);
	if (ret)
		return ret;
	if (gather && im_input(im, 1)->rank == rank && !alike(im, 0, 1, axis, rank))
		set_input(im, 0, cut_to(im, im->in[0].value, like, axis, rank));
	for (i = 1; i < im->in_count && !strcmp(op->name, "ScatterElements"); i++)
		if (!alike(im, 0, i, axis, rank))
			return op->fn(im, op->arg);
	/* As one they may be as many all the same. */
	for (i = 1; i < im->in_count && !strcmp(op->name, "Concat"); i++)
		if (im->in[i].rank != rank || differ(im, 0, 0, i, 0, axis) ||
		    differ(im, 0, axis + 1, i, axis + 1, rank - axis - 1))
			return im_fail(im, -EBADMSG, "input %u has other dimensions", i);
	for (i = 0; i < im->in_count && !im->error.code; i++)
		if (im->in[i].here && im->in[i].rank == rank)
			set_input(im, i, around(im, im->in[i].value, axis, rank));
	if (sum)
		im_known(im, ACCEL_HOST_S64, 1, &im->in[1]);
	else
		set_axis(im, 1);
	ret = im->error.code ? im->error.code : op->fn(im, op->arg);
	for (i = 0; i < im->out_count && !ret; i++) {
		struct lists l = { 0 };

		n = result(im, i);
		if (!n)
			continue;
		add_dims(im, &l, like, 0, axis);
		if (v_rank(im, n->value) == 3)
			add_dims(im, &l, n->value, 1, 2);
		add_dims(im, &l, like, axis + 1, rank);
		set_result(im, n, &l);
		ret = im->error.code;
	}
	return ret;
}

/* The dimensions of @a in another order, which the result has; they go back where they were. */
static void turn_back(struct import *im, struct name *d, uint32_t a, uint32_t rank,
		      const uint32_t *order)
{
	uint32_t i, back[ACCEL_GRAPH_MAX_RANK];
	struct lists l = { 0 };

	for (i = 0; i < rank; i++) {
		add_dims(im, &l, a, order[i], order[i] + 1);
		back[order[i]] = i;
	}
	set_result(im, d, &l);
	d->value = v_transpose(im, d->value, back);
}

/* What is kept comes first, as one dimension; a norm keeps all of them. */
static int reduction(struct import *im, const struct op *op, int64_t norms)
{
	const uint32_t rank = im->in[0].rank, a = im->in[0].value;
	const struct attr *attr = im_attr(im, "axes", ATTR_INTS);
	int64_t list[ACCEL_GRAPH_MAX_RANK] = { 0, 2, 3 };
	uint32_t i, count = norms ? 3 : 0, axes = 0, axis, order[ACCEL_GRAPH_MAX_RANK], kept = 0, n;
	struct lists in = { 0 }, out = { 0 };
	struct name *d;
	int ret = 0;

	if (attr && attr->int_count <= ACCEL_GRAPH_MAX_RANK) {
		count = attr->int_count;
		memcpy(list, attr->ints, count * sizeof(*list));
	} else if (attr || (im_input(im, 1)->here &&
			    !im_numbers(&im->in[1], list, &count, ACCEL_GRAPH_MAX_RANK))) {
		return op->fn(im, op->arg);
	}
	if (!count && im_int(im, "noop_with_empty_axes", 0))
		return op->fn(im, op->arg);
	for (i = 0; i < count && !ret; i++) {
		ret = im_axis(im, list[i], rank, &axis);
		axes |= ret ? 0 : 1u << axis;
	}
	if (ret)
		return ret;
	axes = count ? axes : (1u << rank) - 1;
	for (i = 0; i < rank; i++)
		if (!(axes >> i & 1))
			order[kept++] = i;
	for (i = 0, n = kept; i < rank; i++)
		if (axes >> i & 1)
			order[n++] = i;
	set_input(im, 0, v_transpose(im, a, order));
	add_product(im, &in, im->in[0].value, 0, kept);
	add_product(im, &in, im->in[0].value, kept, rank);
	set_input(im, 0, shaped(im, &in, im->in[0].value));
	im->in_count = 1;
	set_ints(im, "axes", ATTR_INTS, 1, (const int64_t[]) { 1 });
	ret = im->error.code ? im->error.code : op->fn(im, op->arg);
	d = ret ? NULL : result(im, 0);
	if (!d)
		return ret;
	if (norms) {
		turn_back(im, d, a, rank, order);
		return im->error.code;
	}
	for (i = 0; i < rank; i++) {
		if (!(axes >> i & 1))
			add_dims(im, &out, a, i, i + 1);
		else if (im_int(im, "keepdims", 1))
			add_ones(im, &out, 1);
	}
	set_result(im, d, &out);
	return im->error.code;
}

static int gather(struct import *im, const struct op *op, int64_t otherwise)
{
	const struct ref data = im->in[0], at = *im_input(im, 1);
	struct lists out = { 0 };
	struct name *n;
	uint32_t axis;
	int ret = im_axis(im, im_int(im, "axis", otherwise), data.rank, &axis);

	if (ret || !at.here)
		return ret ? ret : op->fn(im, op->arg);
	set_input(im, 0, around(im, data.value, axis, data.rank));
	if (at.rank > 1)
		set_input(im, 1, v_shaped_to(im, ACCEL_SHAPE_RESHAPE, at.value, 1,
					     (const int64_t[]) { -1 }));
	set_axis(im, 1);
	ret = im->error.code ? im->error.code : op->fn(im, op->arg);
	n = ret ? NULL : result(im, 0);
	if (!n)
		return ret;
	add_dims(im, &out, data.value, 0, axis);
	add_dims(im, &out, at.value, 0, at.rank);
	add_dims(im, &out, data.value, axis + 1, data.rank);
	set_result(im, n, &out);
	return im->error.code;
}

/* Indices of several dimensions: those behind these are one, and those of the indices */
static int gather_nd(struct import *im, const struct op *op, int64_t scatters)
{
	const struct ref data = im->in[0], at = *im_input(im, 1);
	struct lists to = { 0 }, list = { 0 }, new = { 0 }, out = { 0 };
	uint32_t width, places = at.rank - 1;
	struct name *n;
	int ret;

	if (!at.here || !at.rank || im_is_symbol(im, 1, places) || at.dims[places] < 1 ||
	    at.dims[places] >= ACCEL_MAX_RANK || at.dims[places] >= data.rank ||
	    im_int(im, "batch_dims", 0))
		return op->fn(im, op->arg);
	width = (uint32_t)at.dims[places];
	if (scatters && im_input(im, 2)->here) {
		if (im->in[2].rank != places + data.rank - width)
			return im_fail(im, -EBADMSG, "updates of %u dimensions", im->in[2].rank);
		if (differ(im, 1, 0, 2, 0, places) ||
		    differ(im, 0, width, 2, places, data.rank - width))
			return im_fail(im, -EBADMSG, "updates of other dimensions");
	}
	add_dims(im, &to, data.value, 0, width);
	add_product(im, &to, data.value, width, data.rank);
	set_input(im, 0, shaped(im, &to, data.value));
	add_product(im, &list, at.value, 0, places);
	add_dims(im, &list, at.value, places, at.rank);
	set_input(im, 1, shaped(im, &list, at.value));
	if (scatters && im_input(im, 2)->here) {
		add_product(im, &new, im->in[2].value, 0, places);
		add_product(im, &new, im->in[2].value, places, im->in[2].rank);
		set_input(im, 2, shaped(im, &new, im->in[2].value));
	}
	ret = im->error.code ? im->error.code : op->fn(im, op->arg);
	n = ret ? NULL : result(im, 0);
	if (!n)
		return ret;
	add_dims(im, &out, scatters ? data.value : at.value, 0, scatters ? data.rank : places);
	if (!scatters)
		add_dims(im, &out, data.value, width, data.rank);
	set_result(im, n, &out);
	return im->error.code;
}

/* How far each dimension is padded, by constants; false: they are none */
static bool read_pads(struct import *im, int64_t *before, int64_t *after)
{
	const struct attr *a = im_attr(im, im->opset < 2 ? "paddings" : "pads", ATTR_INTS);
	const uint32_t rank = im->in[0].rank;
	int64_t list[2 * ACCEL_GRAPH_MAX_RANK], axes[ACCEL_GRAPH_MAX_RANK];
	uint32_t i, count, n = rank, axis;

	for (i = 0; i < rank; i++)
		axes[i] = i;
	if (im->opset >= 11) {
		if (!im_numbers(im_input(im, 1), list, &count, 2 * ACCEL_GRAPH_MAX_RANK) ||
		    (im_input(im, 3)->here &&
		     !im_numbers(&im->in[3], axes, &n, ACCEL_GRAPH_MAX_RANK)))
			return false;
	} else if (a && a->int_count <= 2 * rank) {
		count = a->int_count;
		memcpy(list, a->ints, count * sizeof(*list));
	} else {
		return false;
	}
	memset(before, 0, rank * sizeof(*before));
	memset(after, 0, rank * sizeof(*after));
	for (i = 0; i < n && count == 2 * n; i++) {
		if (im_axis(im, axes[i], rank, &axis))
			return false;
		before[axis] = list[i];
		after[axis] = list[n + i];
	}
	return count == 2 * n;
}

/* Neighbours that are not padded are one. */
static int padding(struct import *im, const struct op *op, int64_t otherwise)
{
	const struct ref data = im->in[0];
	int64_t before[ACCEL_GRAPH_MAX_RANK], after[ACCEL_GRAPH_MAX_RANK];
	int64_t list[2 * ACCEL_GRAPH_MAX_RANK] = { 0 };
	uint32_t first[ACCEL_GRAPH_MAX_RANK + 1], i, n = 0;
	struct lists in = { 0 }, out = { 0 };
	bool padded, was = true;
	struct name *d;
	int ret;

	(void)otherwise;
	if (!read_pads(im, before, after))
		return im->error.code ? im->error.code : op->fn(im, op->arg);
	for (i = 0; i < data.rank; i++) {
		padded = before[i] || after[i]; /* NOLINT: all of them are set */
		if (padded || was)
			first[n++] = i;
		was = padded;
	}
	first[n] = data.rank;
	if (n > ACCEL_MAX_RANK)
		return op->fn(im, op->arg);
	for (i = 0; i < n; i++) {
		add_product(im, &in, data.value, first[i], first[i + 1]);
		list[i] = before[first[i]];
		list[n + i] = after[first[i]];
	}
	set_input(im, 0, shaped(im, &in, data.value));
	if (im->opset >= 11) {
		set_input(im, 1, v_ints(im, 2 * n, list));
		if (im->in_count > 3)
			im->in[3].here = false;
	} else {
		set_ints(im, im->opset < 2 ? "paddings" : "pads", ATTR_INTS, 2 * n, list);
	}
	ret = im->error.code ? im->error.code : op->fn(im, op->arg);
	d = ret ? NULL : result(im, 0);
	if (!d)
		return ret;
	for (i = 0; i < n; i++) {
		if (list[i] || list[n + i])
			add_dims(im, &out, d->value, i, i + 1);
		else
			add_dims(im, &out, data.value, first[i], first[i + 1]);
	}
	set_result(im, d, &out);
	return im->error.code;
}

/* Norms of the dimensions from one on */
static int norm(struct import *im, const struct op *op, int64_t otherwise)
{
	const struct ref data = im->in[0];
	struct lists l = { 0 }, out = { 0 };
	uint32_t axis, i, k;
	struct name *n;
	int ret = im_axis(im, im_int(im, "axis", otherwise), data.rank, &axis);

	if (ret)
		return ret;
	for (i = 1; i < im->in_count; i++) {
		for (k = 0; k < im->in[i].rank; k++)
			if (im->in[i].rank != data.rank - axis || im_is_symbol(im, i, k) ||
			    im_is_symbol(im, 0, axis + k) ||
			    im->in[i].dims[k] != data.dims[axis + k])
				return op->fn(im, op->arg);
		if (im->in[i].rank > 1)
			set_input(im, i, v_shaped_to(im, ACCEL_SHAPE_RESHAPE, im->in[i].value, 1,
						     (const int64_t[]) { -1 }));
	}
	add_product(im, &l, data.value, 0, axis);
	add_product(im, &l, data.value, axis, data.rank);
	set_input(im, 0, shaped(im, &l, data.value));
	set_axis(im, 1);
	ret = im->error.code ? im->error.code : op->fn(im, op->arg);
	if (ret)
		return ret;
	set_shape(im, 0, data.value, data.rank);
	add_dims(im, &out, data.value, 0, axis);
	add_ones(im, &out, data.rank - axis);
	for (i = 1; i < 3; i++) {
		n = result(im, i);
		if (n)
			set_result(im, n, &out);
	}
	return im->error.code;
}

/* [N, C, ...]: all places are one dimension. */
static int channels(struct import *im, const struct op *op, int64_t otherwise)
{
	const struct ref data = im->in[0];
	struct lists l = { 0 };
	int ret;

	(void)otherwise;
	add_dims(im, &l, data.value, 0, 2);
	add_product(im, &l, data.value, 2, data.rank);
	set_input(im, 0, shaped(im, &l, data.value));
	ret = im->error.code ? im->error.code : op->fn(im, op->arg);
	if (!ret)
		set_shape(im, 0, data.value, data.rank);
	return ret ? ret : im->error.code;
}

/* Products whose batches are alike, or of which the second factor has none */
static int product(struct import *im, const struct op *op, int64_t otherwise)
{
	const struct ref a = im->in[0], b = *im_input(im, 1);
	const bool lone = b.rank <= 2;
	struct lists l[2] = { 0 }, out = { 0 };
	struct name *n;
	int ret;

	(void)otherwise;
	if (!b.here || a.rank < MANY || !b.rank ||
	    (!lone && !alike(im, 0, 1, NO_VALUE, a.rank - 2)))
		return op->fn(im, op->arg);
	add_product(im, &l[0], a.value, 0, a.rank - 1 - !lone);
	add_dims(im, &l[0], a.value, a.rank - 1 - !lone, a.rank);
	set_input(im, 0, shaped(im, &l[0], a.value));
	if (!lone) {
		add_product(im, &l[1], b.value, 0, b.rank - 2);
		add_dims(im, &l[1], b.value, b.rank - 2, b.rank);
		set_input(im, 1, shaped(im, &l[1], b.value));
	}
	ret = im->error.code ? im->error.code : op->fn(im, op->arg);
	n = ret ? NULL : result(im, 0);
	if (!n)
		return ret;
	add_dims(im, &out, a.value, 0, a.rank - 1);
	if (b.rank > 1)
		add_dims(im, &out, b.value, b.rank - 1, b.rank);
	set_result(im, n, &out);
	return im->error.code;
}

/**
 * struct fold - an operator that can do with fewer dimensions
 * @name: operator of the default domain
 * @fn: adds it
 * @otherwise: the axis that it has by default, or what @fn wants to know else
 * @since: version of the operators; those before mean something else
 */
struct fold {
	const char *name;
	int (*fn)(struct import *im, const struct op *op, int64_t otherwise);
	int64_t otherwise;
	int64_t since;
};

static const struct fold folds[] = {
	{ "ArgMax", along, 0, 1 }, { "ArgMin", along, 0, 1 },
	{ "BatchNormalization", channels, 0, 9 },
	{ "Compress", along, 0, 1 }, { "Concat", along, 0, 4 }, { "CumSum", along, 0, 1 },
	{ "Gather", gather, 0, 1 },
	{ "GatherElements", along, 0, 1 }, { "GatherND", gather_nd, 0, 1 },
	{ "GroupNormalization", channels, 0, 1 }, { "Hardmax", along, -1, 13 },
	{ "InstanceNormalization", channels, 0, 1 }, { "LayerNormalization", norm, -1, 1 },
	{ "LogSoftmax", along, -1, 13 }, { "LpNormalization", along, -1, 1 },
	{ "MatMul", product, 0, 1 }, { "MeanVarianceNormalization", reduction, 1, 1 },
	{ "Pad", padding, 0, 1 }, { "RMSNormalization", norm, -1, 1 },
	{ "ReduceL1", reduction, 0, 1 }, { "ReduceL2", reduction, 0, 1 },
	{ "ReduceLogSum", reduction, 0, 1 }, { "ReduceLogSumExp", reduction, 0, 1 },
	{ "ReduceMax", reduction, 0, 1 }, { "ReduceMean", reduction, 0, 1 },
	{ "ReduceMin", reduction, 0, 1 }, { "ReduceProd", reduction, 0, 1 },
	{ "ReduceSum", reduction, 0, 1 }, { "ReduceSumSquare", reduction, 0, 1 },
	{ "ScatterElements", along, 0, 1 }, { "ScatterND", gather_nd, 1, 1 },
	{ "Softmax", along, -1, 13 }, { "TopK", along, -1, 1 },
};

/**
 * fold_op - add an operator, with fewer dimensions where there are more than engines have
 * @im: import, with the node in work
 * @op: its operator
 *
 * Return: 0, or the error that @im has.
 */
int fold_op(struct import *im, const struct op *op)
{
	const struct ref *a = im_input(im, 0), *b = im_input(im, 1);
	const struct fold *f = NULL;
	uint32_t i, rank = a->rank > b->rank ? a->rank : b->rank;

	if (!a->here || a->sequence || b->sequence)
		return op->fn(im, op->arg);
	for (i = 0; i < ARRAY_SIZE(folds) && !f; i++)
		if (!strcmp(folds[i].name, op->name) && im->opset >= folds[i].since)
			f = &folds[i];
	/* What is gathered has the dimensions of both, less those that an index takes away. */
	if (f && (f->fn == gather || (f->fn == gather_nd && !f->otherwise)) && b->here && b->rank) {
		i = f->fn == gather || im_is_symbol(im, 1, b->rank - 1) ||
		    b->dims[b->rank - 1] > a->rank ? 1 : (uint32_t)b->dims[b->rank - 1];
		i = a->rank + b->rank - (f->fn == gather ? 1 : 1 + i);
		rank = rank > i ? rank : i;
	}
	if (f && f->fn == gather_nd && f->otherwise && im_input(im, 2)->rank > rank)
		rank = im->in[2].rank;
	return f && rank >= MANY ? f->fn(im, op, f->otherwise) : op->fn(im, op->arg);
}
