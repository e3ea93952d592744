// SPDX-License-Identifier: MIT
/*
 * Operators that move elements, or make shapes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

static int shape_node(struct import *im, uint32_t op)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(op);
	uint32_t out;
	int ret = im_need(im, 2);

	if (ret)
		return ret;
	if (op == ACCEL_SHAPE_RESHAPE && im_int(im, "allowzero", 0))
		d.flags = ACCEL_SHAPE_ZERO;
	ret = im_two(im, &d.hdr, im->in[0].value, im->in[1].value, &out);
	return ret ? ret : im_give(im, 0, out);
}

/* Axes are an attribute in old versions; without any all dimensions of 1 go. */
static int squeeze(struct import *im, uint32_t op)
{
	const struct attr *axes = im_attr(im, "axes", ATTR_INTS);
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(op);
	uint32_t list, out;
	bool has = im->in_count > 1 && im->in[1].here;
	int ret = im_need(im, 1);

	if (!ret && axes)
		ret = im_list(im, axes->int_count, axes->ints, &list);
	else if (has)
		list = im->in[1].value;
	if (ret)
		return ret;
	if (!axes && !has)
		return im_give_one(im, &d.hdr);
	ret = im_two(im, &d.hdr, im->in[0].value, list, &out);
	return ret ? ret : im_give(im, 0, out);
}

static int flatten(struct import *im, uint32_t op)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(op);
	int64_t axis = im_int(im, "axis", 1);
	int ret = im_need(im, 1);

	if (ret)
		return ret;
	/* The one behind the last is an axis too. */
	if (axis < -(int64_t)im->in[0].rank || axis > (int64_t)im->in[0].rank)
		return im_fail(im, -EBADMSG, "axis %lld of %u dimensions", (long long)axis,
			       im->in[0].rank);
	d.axis = (int32_t)axis;
	return im_give_one(im, &d.hdr);
}

static int transpose(struct import *im, uint32_t op)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(op);
	const struct attr *perm = im_attr(im, "perm", ATTR_INTS);
	uint32_t i, seen = 0, out;
	int ret = im_need(im, 1);

	if (ret)
		return ret;
	if (perm && perm->int_count != im->in[0].rank)
		return im_fail(im, -EBADMSG, "its permutation is of %u dimensions, not %u",
			       perm->int_count, im->in[0].rank);
	for (i = 0; perm && i < perm->int_count; i++) {
		if (perm->ints[i] < 0 || perm->ints[i] >= im->in[0].rank ||
		    (seen >> perm->ints[i] & 1))
			return im_fail(im, -EBADMSG, "its permutation has %lld",
				       (long long)perm->ints[i]);
		d.order[i] = (uint32_t)perm->ints[i];
		seen |= 1u << d.order[i];
	}
	ret = im_one(im, &d.hdr, im->in[0].value, &out);
	/* Of two dimensions that stay there is nothing to be known. */
	if (!ret && (!perm || d.order[0]))
		ret = halves_turned(im, im->in[0].value, out);
	return ret ? ret : im_give(im, 0, out);
}

/* Bounds are attributes before version 10. */
static int slice(struct import *im, uint32_t op)
{
	static const char *const names[] = { "starts", "ends", "axes" };
	static const uint32_t place[] = {
		ACCEL_ARG_A, ACCEL_ARG_B, ACCEL_ARG_C, ACCEL_ARG_AUX0, ACCEL_ARG_AUX1
	};
	struct accel_graph_arg args[6] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW } };
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(op);
	uint32_t i, n = 1, out;
	int ret = im_need(im, im->opset >= 10 ? 3 : 1);

	for (i = 0; i < 5 && !ret; i++) {
		uint32_t value;

		if (im->opset >= 10 || !i) {
			if (i >= im->in_count || !im->in[i].here)
				continue;
			value = im->in[i].value;
		} else {
			const struct attr *a = i < 4 ? im_attr(im, names[i - 1], ATTR_INTS) : NULL;

			if (!a)
				continue;
			ret = im_list(im, a->int_count, a->ints, &value);
		}
		args[n++] = (struct accel_graph_arg) { place[i], value };
	}
	if (!ret)
		ret = im_node(im, &d.hdr, args, n, &out);
	return ret ? ret : im_give(im, 0, out);
}

static int split(struct import *im, uint32_t op)
{
	const struct attr *sizes = im_attr(im, "split", ATTR_INTS);
	bool has = im->in_count > 1 && im->in[1].here;
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(op);
	uint32_t list = has ? im->in[1].value : 0, axis = 0, out;
	const int64_t count = im->out_count;
	int ret = im_need(im, 1);

	/* A list of nothing is none. */
	sizes = sizes && sizes->int_count ? sizes : NULL;
	if (!ret && sizes)
		ret = im_list(im, sizes->int_count, sizes->ints, &list);
	if (!ret)
		ret = im_axis(im, im_int(im, "axis", 0), im->in[0].rank, &axis);
	if (!ret && im_int(im, "num_outputs", im->out_count) != im->out_count)
		ret = im_fail(im, -EBADMSG, "%u pieces are not its num_outputs", im->out_count);
	/* Pieces are alike before version 18. */
	if (!ret && !sizes && !has && im->opset < 18 && !im_is_symbol(im, 0, axis) &&
	    im->in[0].dims[axis] % im->out_count)
		ret = im_fail(im, -EBADMSG, "%u pieces of %lld", im->out_count,
			      (long long)im->in[0].dims[axis]);
	if (!ret && !sizes && !has && im->opset < 18 && im_is_symbol(im, 0, axis)) {
		list = v_shape_of(im, im->in[0].value, axis, (int64_t)axis + 1);
		list = v_with(im, ACCEL_BINARY_QUOT, list, (double)count);
		list = v_shaped_to(im, ACCEL_SHAPE_EXPAND, list, 1, &count);
		ret = im->error.code;
		has = true;
	}
	d.axis = (int32_t)axis;
	d.count = im->out_count;
	for (d.index = 0; d.index < im->out_count && !ret; d.index++) {
		if (sizes || has)
			ret = im_two(im, &d.hdr, im->in[0].value, list, &out);
		else
			ret = im_one(im, &d.hdr, im->in[0].value, &out);
		if (!ret)
			ret = im_give(im, d.index, out);
	}
	return ret;
}

static int shape(struct import *im, uint32_t op)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(op);
	int ret = im_need(im, 1);

	if (ret)
		return ret;
	d.start = im_int(im, "start", 0);
	d.end = im_int(im, "end", INT64_MAX);
	return im_give_one(im, &d.hdr);
}

static int range(struct import *im, uint32_t op)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(op);
	uint32_t out;
	int ret = im_need(im, 3);

	if (!ret)
		ret = im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, im->in[0].value },
					       { ACCEL_ARG_B, im->in[1].value },
					       { ACCEL_ARG_C, im->in[2].value }), 4, &out);
	return ret ? ret : im_give(im, 0, out);
}

static int constant_of_shape(struct import *im, uint32_t arg)
{
	const struct attr *a = im_attr(im, "value", ATTR_TENSOR);
	uint32_t value = NO_VALUE;
	struct tensor t;
	int ret = im_need(im, 1);

	(void)arg;
	if (!ret && a)
		ret = tensor_read(im, a->s, &t);
	if (!ret && a) {
		if (t.count != 1) {
			free(t.own);
			return im_fail(im, -EBADMSG, "its value is no single number");
		}
		t.rank = 0;
		ret = tensor_add(im, &t, &value);
	} else if (!ret) {
		value = v_number(im, ACCEL_F32, 0);
	}
	return ret ? ret : v_give(im, 0, v_shaped(im, ACCEL_SHAPE_EXPAND, value, v_in(im, 0)));
}

/*
 * The numbers of a list, however long it is, into @out if that is not NULL; how many there are,
 * UINT64_MAX: they cannot be read
 */
static uint64_t list_numbers(const struct attr *a, void *out)
{
	const bool real = a->type == ATTR_FLOATS;
	struct slice s = a->raw, list;
	uint64_t n = 0, x, count;
	struct field f;

	while (wire_next(&s, &f) > 0) {
		if (f.id != (real ? 7 : 8))
			continue;
		count = real ? f.bytes.n / sizeof(float) : 0;
		if (out && f.has_bytes && count)
			memcpy((float *)out + n, f.bytes.p, count * sizeof(float));
		for (list = f.bytes; !real && f.has_bytes && list.n; count++) {
			if (!wire_varint(&list, &x))
				return UINT64_MAX;
			if (out)
				memcpy((int64_t *)out + n + count, &x, sizeof(x));
		}
		if (!f.has_bytes && out && real)
			memcpy((float *)out + n, &f.number, sizeof(float));
		else if (!f.has_bytes && out)
			memcpy((int64_t *)out + n, &f.number, sizeof(x));
		if (real && f.has_bytes && f.bytes.n % sizeof(float))
			return UINT64_MAX;
		n += f.has_bytes ? count : 1;
	}
	return n;
}

static int constant(struct import *im, uint32_t arg)
{
	const struct attr *a = im->attr_count ? &im->attrs[0] : NULL;
	struct tensor t = { .count = 1 };
	const void *from = NULL;
	uint32_t value;
	int ret;

	(void)arg;
	if (!im->out_count)
		return im_fail(im, -EBADMSG, "it has no output");
	if (!a || im->attr_count != 1)
		return im_fail(im, -EBADMSG, "it has not one attribute");
	if ((slice_is(a->name, "value") && a->type == ATTR_TENSOR) ||
	    (slice_is(a->name, "sparse_value") && a->type == ATTR_SPARSE)) {
		ret = a->type == ATTR_TENSOR ? tensor_read(im, a->s, &t) :
		      sparse_read(im, a->s, &t);
		if (ret)
			return ret;
		if (!t.name.n)
			t.name = im->out[0];
		goto add;
	}
	if (slice_is(a->name, "value_float") && a->type == ATTR_FLOAT) {
		t.type = ACCEL_F32;
		from = &a->f;
	} else if (slice_is(a->name, "value_floats") && a->type == ATTR_FLOATS) {
		t.type = ACCEL_F32;
	} else if (slice_is(a->name, "value_int") && a->type == ATTR_INT) {
		t.type = ACCEL_HOST_S64;
		from = &a->i;
	} else if (slice_is(a->name, "value_ints") && a->type == ATTR_INTS) {
		t.type = ACCEL_HOST_S64;
	} else {
		return im_fail(im, -EOPNOTSUPP, "its attribute %.*s is not supported",
			       slice_shown(a->name), a->name.p);
	}
	t.rank = a->type == ATTR_FLOATS || a->type == ATTR_INTS;
	if (t.rank)
		t.count = list_numbers(a, NULL);
	if (t.count == UINT64_MAX)
		return im_fail(im, -EBADMSG, "attribute %.*s cannot be read", slice_shown(a->name),
			       a->name.p);
	t.dims[0] = t.rank ? (int64_t)t.count : 0;
	t.bytes = t.count * accel_type_bits(t.type) / 8;
	t.own = malloc(t.bytes + 1);
	if (!t.own)
		return im_fail(im, -ENOMEM, "out of memory");
	if (from)
		memcpy(t.own, from, t.bytes);
	else
		list_numbers(a, t.own);
	t.data = t.own;
	t.name = im->out[0];
add:
	from = t.data;
	ret = tensor_add(im, &t, &value);
	return ret ? ret : im_give_data(im, 0, value, from);
}

static int concat(struct import *im, uint32_t arg)
{
	uint32_t i, axis = 0, list[MAX_IO];
	int ret = im_need(im, im->in_count ? im->in_count : 1);

	(void)arg;
	if (!ret)
		ret = im_axis(im, im_int(im, "axis", 1), im->in[0].rank, &axis);
	for (i = 0; i < im->in_count && !ret; i++)
		list[i] = im->in[i].value;
	return ret ? ret : v_give(im, 0, v_concat(im, axis, im->in_count, list));
}

static int gather(struct import *im, uint32_t func)
{
	struct accel_shape_desc wrap = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_UNSQUEEZE);
	struct accel_shape_desc drop = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SQUEEZE);
	struct accel_gather_desc d = ACCEL_GATHER_DESC_INIT;
	int64_t axis = im_int(im, "batch_dims", 0);
	uint32_t out, at, list;
	bool lone;
	int ret = im_need(im, 2);

	if (!ret && (axis < 0 || axis > ACCEL_GRAPH_MAX_RANK))
		ret = im_fail(im, -EBADMSG, "%lld dimensions of batches", (long long)axis);
	if (ret)
		return ret;
	d.func = func;
	at = im->in[1].value;
	if (func == ACCEL_GATHER_ND)
		d.batch = (uint32_t)axis;
	else
		ret = im_axis(im, im_int(im, "axis", 0), im->in[0].rank, &d.axis);
	/* A scalar index takes its dimension away, and the one index of an element all. */
	lone = !im->in[1].rank || (func == ACCEL_GATHER_ND && im->in[1].rank == 1 &&
				   im->in[1].dims[0] == im->in[0].rank);
	if (!ret && lone) {
		ret = im_list(im, 1, (const int64_t[]) { 0 }, &list);
		if (!ret)
			ret = im_two(im, &wrap.hdr, at, list, &at);
	}
	if (!ret)
		ret = im_two(im, &d.hdr, im->in[0].value, at, &out);
	if (!ret && lone) {
		axis = func == ACCEL_GATHER_ND ? 0 : d.axis;
		ret = im_list(im, 1, &axis, &list);
		if (!ret)
			ret = im_two(im, &drop.hdr, out, list, &out);
	}
	return ret ? ret : im_give(im, 0, out);
}

const struct op onnx_shape[] = {
	{ "Reshape", shape_node, ACCEL_SHAPE_RESHAPE }, { "Expand", shape_node,
							 ACCEL_SHAPE_EXPAND },
	{ "Squeeze", squeeze, ACCEL_SHAPE_SQUEEZE }, { "Unsqueeze", squeeze,
						      ACCEL_SHAPE_UNSQUEEZE },
	{ "Flatten", flatten, ACCEL_SHAPE_FLATTEN }, { "Transpose", transpose,
						      ACCEL_SHAPE_TRANSPOSE },
	{ "Slice", slice, ACCEL_SHAPE_SLICE }, { "Split", split, ACCEL_SHAPE_PIECE },
	{ "Shape", shape, ACCEL_SHAPE_OF }, { "Range", range, ACCEL_SHAPE_RANGE },
	{ "ConstantOfShape", constant_of_shape, 0 },
	{ "Constant", constant, 0 },
	{ "Concat", concat, 0 }, { "Gather", gather, ACCEL_GATHER_AXIS },
	{ "GatherElements", gather, ACCEL_GATHER_ELEMENTS },
	{ "GatherND", gather, ACCEL_GATHER_ND },
	{ 0 }
};
