// SPDX-License-Identifier: MIT
/*
 * Operators that find, choose and place elements.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "onnx.h"

/* Without the dimension that became 1 */
static uint32_t drop(struct import *im, uint32_t value, int64_t axis)
{
	return v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, value, 1, &axis);
}

static int arg_reduce(struct import *im, uint32_t func)
{
	uint32_t axis = 0, out, flags;
	int ret = im_need(im, 1);

	if (!ret)
		ret = im_axis(im, im_int(im, "axis", 0), im->in[0].rank, &axis);
	if (ret)
		return ret;
	flags = im_int(im, "select_last_index", 0) ? ACCEL_REDUCE_LAST_INDEX : 0;
	out = v_reduce(im, func, flags, ACCEL_AXIS(axis), v_in(im, 0));
	out = v_cast(im, out, ACCEL_HOST_S64);
	if (!im_int(im, "keepdims", 1))
		out = drop(im, out, axis);
	return v_give(im, 0, out);
}

/* 1 where the index is that of the first of the largest */
static int hardmax(struct import *im, uint32_t arg)
{
	struct accel_shape_desc flat = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_FLATTEN);
	uint32_t axis = 0, value, out, shape;
	bool old = im->opset < 13;
	int ret = im_need(im, 1);

	(void)arg;
	if (!ret)
		ret = im_axis(im, im_int(im, "axis", old ? 1 : -1), im->in[0].rank, &axis);
	value = v_in(im, 0);
	shape = v_shape_of(im, value, 0, INT64_MAX);
	flat.axis = (int32_t)axis;
	if (!ret && old)
		ret = im_one(im, &flat.hdr, value, &value);
	if (ret)
		return ret;
	axis = old ? 1 : axis;
	out = v_reduce(im, ACCEL_REDUCE_ARG_MAX, 0, ACCEL_AXIS(axis), value);
	out = v_binary(im, ACCEL_BINARY_EQ, v_cast(im, out, ACCEL_HOST_S64),
		       v_iota_along(im, value, axis));
	out = v_cast(im, out, im->in[0].type);
	return v_give(im, 0, old ? v_shaped(im, ACCEL_SHAPE_RESHAPE, out, shape) : out);
}

/* Indices along the axis compared with 0, 1, ..., negative ones from the end */
static int one_hot(struct import *im, uint32_t arg)
{
	int64_t axis = im_int(im, "axis", -1), list[ACCEL_GRAPH_MAX_RANK], zero = 0;
	uint32_t i, n = 0, index, depth, low, hot, rank;
	int ret = im_need(im, 3);

	(void)arg;
	if (ret)
		return ret;
	rank = im->in[0].rank + 1;
	axis += axis < 0 ? rank : 0;
	if (axis < 0 || axis >= rank || rank > ACCEL_GRAPH_MAX_RANK)
		return im_fail(im, -EBADMSG, "axis %lld of %u dimensions", (long long)axis, rank);
	index = v_cast(im, v_in(im, 0), ACCEL_HOST_S64);
	depth = v_cast(im, v_in(im, 1), ACCEL_HOST_S64);
	if (im->in[1].rank)
		depth = v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, depth, 1, &zero);
	low = v_with(im, ACCEL_BINARY_LT, index, 0);
	index = v_select(im, low, v_binary(im, ACCEL_BINARY_ADD, index, depth), index);
	index = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, index, 1, &axis);
	for (i = 0; i < rank; i++)
		if (i != axis)
			list[n++] = i;
	hot = v_binary(im, ACCEL_BINARY_EQ, index,
		       v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, v_iota(im, depth), n, list));
	return v_give(im, 0, v_select(im, hot, v_slice(im, v_in(im, 2), 0, 1, 2, 1),
				      v_slice(im, v_in(im, 2), 0, 0, 1, 1)));
}

static int scatter(struct import *im, uint32_t func)
{
	static const char *const words[] = { "none", "add", "mul", "max", "min" };
	struct accel_scatter_desc d = ACCEL_SCATTER_DESC_INIT;
	uint32_t indices = v_in(im, 1), updates = v_in(im, 2);
	const int64_t zero = 0;
	int ret = im_need(im, 3);

	d.func = func;
	if (!ret && func == ACCEL_SCATTER_ELEMENTS)
		ret = im_axis(im, im_int(im, "axis", 0), im->in[0].rank, &d.axis);
	if (ret)
		return ret;
	if (im_attr(im, "reduction", ATTR_STRING)) {
		while (d.reduce < ARRAY_SIZE(words) && !im_string(im, "reduction", words[d.reduce]))
			d.reduce++;
		if (d.reduce == ARRAY_SIZE(words))
			return im_fail(im, -EOPNOTSUPP, "its reduction is not known");
	}
	/* The index of one element is a row of a list, and that a list of one. */
	if (func == ACCEL_SCATTER_ND && im->in[1].rank == 1 && !im->in[2].rank) {
		indices = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, indices, 1, &zero);
		updates = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, updates, 1, &zero);
	}
	return v_give(im, 0, v_scatter(im, &d, v_in(im, 0), indices, updates));
}

/*
 * Rows of a cache along an axis, of which those from an index of each batch on are replaced by
 * what is new: each row comes from one of both. In a circle the last is followed by the first.
 */
static int tensor_scatter(struct import *im, uint32_t arg)
{
	uint32_t order[ACCEL_GRAPH_MAX_RANK], i, axis = 0, rank, side[2], rows, fresh, at, off;
	uint32_t mine, last, fits;
	const int64_t zero = 0, column[] = { -1, 1 }, two = 2;
	struct accel_gather_desc d = ACCEL_GATHER_DESC_INIT;
	bool circle = im_string(im, "mode", "circular");
	int ret = im_need(im, 2);

	(void)arg;
	if (!ret)
		ret = im_axis(im, im_int(im, "axis", -2), im->in[0].rank, &axis);
	if (ret)
		return ret;
	rank = im->in[0].rank;
	if (!axis || im->in[1].rank != rank)
		return im_fail(im, -EBADMSG, "axis %u, %u dimensions and %u that are new", axis,
			       rank, im->in[1].rank);
	if (!circle && im_attr(im, "mode", ATTR_STRING) && !im_string(im, "mode", "linear"))
		return im_fail(im, -EOPNOTSUPP, "its mode is not known");
	for (i = 0; i < rank; i++)
		order[i] = i == 1 ? axis : i == axis ? 1 : i;
	for (i = 0; i < 2; i++)
		side[i] = axis == 1 ? v_in(im, i) : v_transpose(im, v_in(im, i), order);
	rows = v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v_shape_of(im, side[0], 1, 2), 1, &zero);
	fresh = v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v_shape_of(im, side[1], 1, 2), 1, &zero);
	at = v_in(im, 2);
	if (at == NO_VALUE)
		at = v_fill(im, ACCEL_HOST_S64, v_shape_of(im, side[0], 0, 1), 0);
	at = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, v_cast(im, at, ACCEL_HOST_S64), 2, column);
	off = v_binary(im, ACCEL_BINARY_SUB, v_iota(im, rows), at);
	if (circle)
		off = v_binary(im, ACCEL_BINARY_MOD, off, rows);
	mine = v_binary(im, ACCEL_BINARY_AND, v_with(im, ACCEL_BINARY_GE, off, 0),
			v_binary(im, ACCEL_BINARY_LT, off, fresh));
	/* What is new has room: of a batch where it has not, no row is one that there is. */
	last = v_binary(im, ACCEL_BINARY_SUB, rows, fresh);
	fits = v_with(im, ACCEL_BINARY_GE, circle ? last : at, 0);
	if (!circle)
		fits = v_binary(im, ACCEL_BINARY_AND, fits,
				v_binary(im, ACCEL_BINARY_LE, at, last));
	at = v_select(im, mine, v_binary(im, ACCEL_BINARY_ADD, off, rows), v_iota(im, rows));
	at = v_select(im, fits, at, v_number(im, ACCEL_HOST_S64, INT32_MAX));
	at = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, v_cast(im, at, ACCEL_S32), 1, &two);
	side[0] = v_concat(im, 1, 2, side);
	d.func = ACCEL_GATHER_ND;
	d.batch = 1;
	if (!im->error.code && side[0] != NO_VALUE && at != NO_VALUE)
		ret = im_two(im, &d.hdr, side[0], at, &side[0]);
	if (axis != 1)
		side[0] = v_transpose(im, side[0], order);
	return ret ? ret : v_give(im, 0, side[0]);
}

/* An axis that is not known: the sums along that of all axes which it is */
static int cum_sum_anywhere(struct import *im, struct accel_scan_desc *d)
{
	uint32_t i, rank = im->in[0].rank, out = NO_VALUE, v = NO_VALUE, axis, here;
	int64_t all[ACCEL_GRAPH_MAX_RANK];
	const int64_t one = 1;

	axis = v_cast(im, v_in(im, 1), ACCEL_HOST_S64);
	axis = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, axis, 1, &one);
	/* Of all that there are: others are none. */
	for (i = 0; i < rank; i++)
		all[i] = i;
	axis = v_gather(im, ACCEL_GATHER_AXIS, 0, v_ints(im, rank, all), axis);
	for (i = 0; i < rank; i++) {
		d->axis = (int32_t)i;
		if (im->error.code || im_one(im, &d->hdr, im->in[0].value, &v))
			return im->error.code;
		here = v_with(im, ACCEL_BINARY_EQ, axis, i);
		out = i ? v_select(im, here, v, out) : v;
	}
	return v_give(im, 0, out);
}

static int cum_sum(struct import *im, uint32_t arg)
{
	struct accel_scan_desc d = ACCEL_SCAN_DESC_INIT;
	uint32_t out;
	int ret = im_need(im, 2);

	(void)arg;
	if (ret)
		return ret;
	d.flags = (im_int(im, "exclusive", 0) ? ACCEL_SCAN_EXCLUSIVE : 0) |
		  (im_int(im, "reverse", 0) ? ACCEL_SCAN_REVERSE : 0);
	d.d.dtype = im->in[0].type;
	if (!im->in[1].data)
		return cum_sum_anywhere(im, &d);
	ret = im_two(im, &d.hdr, im->in[0].value, im->in[1].value, &out);
	return ret ? ret : im_give(im, 0, out);
}

/* How many there are is an attribute before version 10. */
static int top_k(struct import *im, uint32_t arg)
{
	struct accel_topk_desc d = ACCEL_TOPK_DESC_INIT;
	int64_t k = im_int(im, "k", 0);
	uint32_t axis = 0, value;
	int ret = im_need(im, im->opset < 10 ? 1 : 2);

	(void)arg;
	if (!ret)
		ret = im_axis(im, im_int(im, "axis", -1), im->in[0].rank, &axis);
	if (ret)
		return ret;
	d.axis = (int32_t)axis;
	d.flags = im_int(im, "largest", 1) ? 0 : ACCEL_TOPK_SMALLEST;
	value = im->opset < 10 ? v_ints(im, 1, &k) : v_in(im, 1);
	if (im->error.code)
		return im->error.code;
	struct accel_graph_arg args[] = {
		{ ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_AUX0, ACCEL_VALUE_NEW },
		{ ACCEL_ARG_A, im->in[0].value }, { ACCEL_ARG_B, value }
	};
	ret = im_node(im, &d.hdr, args, 4, &value);
	if (!ret)
		ret = im_give(im, 0, args[0].value);
	return ret ? ret : v_give(im, 1, v_cast(im, args[1].value, ACCEL_HOST_S64));
}

/* Elements on one side of a diagonal: where the column is not before, or behind, the row + k. */
static int trilu(struct import *im, uint32_t arg)
{
	uint32_t a = v_in(im, 0), rows, cols, keep, k, rank;
	bool upper = im_int(im, "upper", 1);
	int ret = im_need(im, 1);

	(void)arg;
	if (ret)
		return ret;
	rank = im->in[0].rank;
	if (rank < 2)
		return im_fail(im, -EBADMSG, "no matrix");
	rows = v_iota_along(im, a, rank - 2);
	cols = v_iota_along(im, a, rank - 1);
	k = im->in_count > 1 && im->in[1].here ? v_in(im, 1) : v_number(im, ACCEL_HOST_S64, 0);
	keep = v_binary(im, upper ? ACCEL_BINARY_GE : ACCEL_BINARY_LE,
			v_binary(im, ACCEL_BINARY_SUB, cols, rows), k);
	return v_give(im, 0, v_select(im, keep, a, v_number(im, im->in[0].type, 0)));
}

static int eye_like(struct import *im, uint32_t arg)
{
	uint32_t a = v_in(im, 0), on, type;
	const int64_t k = im_int(im, "k", 0);
	int ret = im_need(im, 1);

	(void)arg;
	if (ret)
		return ret;
	type = im_attr(im, "dtype", ATTR_INT) ? type_of(im_int(im, "dtype", 0)) : im->in[0].type;
	if (!type)
		return no_type(im, im_int(im, "dtype", 0), "dtype");
	if (im->in[0].rank != 2)
		return im_fail(im, -EBADMSG, "no matrix");
	on = v_binary(im, ACCEL_BINARY_SUB, v_iota_along(im, a, 1), v_iota_along(im, a, 0));
	on = v_binary(im, ACCEL_BINARY_EQ, on, v_ints(im, 1, &k));
	return v_give(im, 0, v_cast(im, on, type));
}

/*
 * The first elements of each batch backwards: element t of it is that of lens - 1 - t
 * as long as t < lens.
 */
static int reverse_sequence(struct import *im, uint32_t arg)
{
	uint32_t a = v_in(im, 0), time = 0, batch = 0, t, lens, at;
	int64_t list[ACCEL_GRAPH_MAX_RANK];
	int ret = im_need(im, 2);
	uint32_t i, n = 0;

	(void)arg;
	if (!ret)
		ret = im_axis(im, im_int(im, "batch_axis", 1), im->in[0].rank, &batch);
	if (!ret)
		ret = im_axis(im, im_int(im, "time_axis", 0), im->in[0].rank, &time);
	if (ret)
		return ret;
	for (i = 0; i < im->in[0].rank; i++)
		if (i != batch)
			list[n++] = i;
	t = v_iota_along(im, a, time);
	lens = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, v_in(im, 1), n, list);
	lens = v_cast(im, lens, ACCEL_HOST_S64);
	at = v_with(im, ACCEL_BINARY_SUB, v_binary(im, ACCEL_BINARY_SUB, lens, t), 1);
	at = v_select(im, v_binary(im, ACCEL_BINARY_LT, t, lens), at, t);
	at = v_shaped(im, ACCEL_SHAPE_EXPAND, at, v_shape_of(im, a, 0, INT64_MAX));
	return v_give(im, 0, v_gather(im, ACCEL_GATHER_ELEMENTS, time, a, at));
}

static int tile(struct import *im, uint32_t arg)
{
	int ret = im_need(im, 2);

	(void)arg;
	return ret ? ret : v_give(im, 0, v_shaped(im, ACCEL_SHAPE_TILE, v_in(im, 0), v_in(im, 1)));
}

/* How far, and with what, is said by attributes before version 11. */
static int pad(struct import *im, uint32_t arg)
{
	static const char *const words[] = { "constant", "edge", "reflect", "wrap" };
	const struct attr *pads = im_attr(im, im->opset < 2 ? "paddings" : "pads", ATTR_INTS);
	struct accel_graph_arg args[5] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW } };
	struct accel_pad_desc d = ACCEL_PAD_DESC_INIT;
	uint32_t i, n = 2, out;
	int ret = im_need(im, im->opset < 11 ? 1 : 2);

	(void)arg;
	if (ret)
		return ret;
	if (im_attr(im, "mode", ATTR_STRING)) {
		while (d.mode < ARRAY_SIZE(words) && !im_string(im, "mode", words[d.mode]))
			d.mode++;
		if (d.mode == ARRAY_SIZE(words))
			return im_fail(im, -EOPNOTSUPP, "its mode is not known");
	}
	/* A number has nothing that could be padded. */
	if (!im->in[0].rank && (im->opset < 11 ? pads && pads->int_count :
				im->in[1].rank != 1 || im_is_symbol(im, 1, 0) || im->in[1].dims[0]))
		return im_fail(im, -EBADMSG, "it pads a number without dimensions");
	if (!im->in[0].rank)
		return im_give(im, 0, im->in[0].value);
	args[1] = (struct accel_graph_arg) { ACCEL_ARG_A, im->in[0].value };
	if (im->opset < 11) {
		if (!pads)
			return im_fail(im, -EBADMSG, "it says not how far");
		d.value = (double)im_float(im, "value", 0);
		args[n++] = (struct accel_graph_arg) { ACCEL_ARG_B,
						       v_ints(im, pads->int_count, pads->ints) };
	}
	for (i = 1; i < 4 && i < im->in_count && im->opset >= 11; i++)
		if (im->in[i].here && (i != 2 || d.mode == ACCEL_PAD_CONSTANT))
			args[n++] = (struct accel_graph_arg) {
				i == 3 ? ACCEL_ARG_AUX0 : ACCEL_ARG_A + i, im->in[i].value
			};
	ret = im->error.code;
	if (!ret)
		ret = im_node(im, &d.hdr, args, n, &out);
	return ret ? ret : im_give(im, 0, out);
}

/* Depth or space as six dimensions, permuted; the sizes follow from the shape. */
static int depth_space(struct import *im, uint32_t to_space)
{
	static const uint32_t dcr[] = { 0, 3, 4, 1, 5, 2 }, crd[] = { 0, 1, 4, 2, 5, 3 };
	static const uint32_t depth[] = { 0, 3, 5, 1, 2, 4 };
	bool rows = im_string(im, "mode", "CRD");
	const struct attr *mode = im_attr(im, "mode", ATTR_STRING);
	int64_t b = im_int(im, "blocksize", 1);
	uint32_t a = v_in(im, 0), part[6], i, n = 0, block, list[4];
	int ret = im_need(im, 1);

	if (ret)
		return ret;
	if (im->in[0].rank != 4 || b < 1 || b > 65536)
		return im_fail(im, -EBADMSG, "%u dimensions, blocks of %lld", im->in[0].rank,
			       (long long)b);
	if (to_space && mode && !rows && !im_string(im, "mode", "DCR"))
		return im_fail(im, -EOPNOTSUPP, "its mode is not known");
	block = v_ints(im, 1, &b);
	for (i = 0; i < 4; i++)
		list[i] = v_shape_of(im, a, i, i + 1);
	if (to_space) {
		uint32_t c = v_with(im, ACCEL_BINARY_QUOT, list[1], (double)(b * b));

		part[n++] = list[0];
		part[n++] = rows ? c : block;
		part[n++] = block;
		part[n++] = rows ? block : c;
		part[n++] = list[2];
		part[n++] = list[3];
		list[1] = c;
		list[2] = v_with(im, ACCEL_BINARY_MUL, list[2], (double)b);
		list[3] = v_with(im, ACCEL_BINARY_MUL, list[3], (double)b);
	} else {
		list[2] = v_with(im, ACCEL_BINARY_QUOT, list[2], (double)b);
		list[3] = v_with(im, ACCEL_BINARY_QUOT, list[3], (double)b);
		part[n++] = list[0];
		part[n++] = list[1];
		part[n++] = list[2];
		part[n++] = block;
		part[n++] = list[3];
		part[n++] = block;
		list[1] = v_with(im, ACCEL_BINARY_MUL, list[1], (double)(b * b));
	}
	a = v_reshape(im, a, 6, part);
	a = v_transpose(im, a, !to_space ? depth : rows ? crd : dcr);
	return v_give(im, 0, v_reshape(im, a, 4, list));
}

static int size_of(struct import *im, uint32_t arg)
{
	int ret = im_need(im, 1);
	uint32_t out;

	(void)arg;
	if (ret)
		return ret;
	out = v_shape_of(im, v_in(im, 0), 0, INT64_MAX);
	out = v_reduce(im, ACCEL_REDUCE_PROD, 0, 1, out);
	return v_give(im, 0, drop(im, out, 0));
}

/* --- comparisons, bits ----------------------------------------------------------------- */

static int is_inf(struct import *im, uint32_t arg)
{
	bool positive = im_int(im, "detect_positive", 1);
	bool negative = im_int(im, "detect_negative", 1);
	uint32_t a = v_in(im, 0), out;
	int ret = im_need(im, 1);

	(void)arg;
	if (ret)
		return ret;
	out = v_unary(im, ACCEL_UNARY_IS_INF, a);
	if (!positive)
		out = v_binary(im, ACCEL_BINARY_AND, out, v_with(im, ACCEL_BINARY_LT, a, 0));
	if (!negative)
		out = v_binary(im, ACCEL_BINARY_AND, out, v_with(im, ACCEL_BINARY_GT, a, 0));
	return v_give(im, 0, out);
}

static int shift(struct import *im, uint32_t arg)
{
	bool left = im_string(im, "direction", "LEFT");
	int ret = im_need(im, 2);

	(void)arg;
	if (!ret && !left && !im_string(im, "direction", "RIGHT"))
		ret = im_fail(im, -EBADMSG, "its direction is neither LEFT nor RIGHT");
	return ret ? ret : v_give(im, 0, v_binary(im, left ? ACCEL_BINARY_SHL : ACCEL_BINARY_SHR,
						  v_in(im, 0), v_in(im, 1)));
}

static int bitwise(struct import *im, uint32_t func)
{
	int ret = im_need(im, func ? 2 : 1);

	if (ret)
		return ret;
	return v_give(im, 0, func ? v_binary(im, func, v_in(im, 0), v_in(im, 1)) :
		      v_unary(im, ACCEL_UNARY_BIT_NOT, v_in(im, 0)));
}

static int thresholded_relu(struct import *im, uint32_t arg)
{
	uint32_t a = v_in(im, 0), above;
	int ret = im_need(im, 1);

	(void)arg;
	if (ret)
		return ret;
	above = v_with(im, ACCEL_BINARY_GT, a, (double)im_float(im, "alpha", 1));
	return v_give(im, 0, v_select(im, above, a, v_number(im, im->in[0].type, 0)));
}

/* x < -lambd ? x + bias : x > lambd ? x - bias : 0 */
static int shrink(struct import *im, uint32_t arg)
{
	double lambd = (double)im_float(im, "lambd", 0.5f), bias = (double)im_float(im, "bias", 0);
	uint32_t a = v_in(im, 0), out;
	int ret = im_need(im, 1);

	(void)arg;
	if (ret)
		return ret;
	out = v_select(im, v_with(im, ACCEL_BINARY_GT, a, lambd),
		       v_with(im, ACCEL_BINARY_SUB, a, bias), v_number(im, im->in[0].type, 0));
	return v_give(im, 0, v_select(im, v_with(im, ACCEL_BINARY_LT, a, -lambd),
				      v_with(im, ACCEL_BINARY_ADD, a, bias), out));
}

/* --- as many results as there are ------------------------------------------------------- */

/* Places of what is not 0, [dimensions of @a, n] in S64 */
uint32_t v_nonzero(struct import *im, uint32_t a)
{
	struct accel_dynamic_desc d = ACCEL_DYNAMIC_DESC_INIT(ACCEL_DYNAMIC_NONZERO);
	uint32_t out = NO_VALUE;

	return im->error.code || im_dynamic(im, &d, &a, 1, &out, 1) ? NO_VALUE : out;
}

static int nonzero(struct import *im, uint32_t arg)
{
	int ret = im_need(im, 1);
	uint32_t out;

	(void)arg;
	if (ret)
		return ret;
	out = v_nonzero(im, im->in[0].value);
	/* A number without dimensions has no places, as many as it is not 0. */
	if (!im->in[0].rank)
		out = v_slice(im, out, 0, 0, 0, 1);
	return v_give(im, 0, out);
}

/* Slices along an axis, or elements, where the condition holds */
static int compress(struct import *im, uint32_t arg)
{
	static const int64_t all = -1;
	const struct attr *a = im_attr(im, "axis", ATTR_INT);
	uint32_t axis = 0, x, at;
	int ret = im_need(im, 2);

	(void)arg;
	if (!ret && a)
		ret = im_axis(im, a->i, im->in[0].rank, &axis);
	if (ret)
		return ret;
	x = im->in[0].value;
	if (!a)
		x = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, x, 1, &all);
	at = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, v_nonzero(im, im->in[1].value), 1, &all);
	return v_give(im, 0, v_gather(im, ACCEL_GATHER_AXIS, axis, x, at));
}

static int unique(struct import *im, uint32_t arg)
{
	struct accel_dynamic_desc d = ACCEL_DYNAMIC_DESC_INIT(ACCEL_DYNAMIC_UNIQUE);
	const struct attr *a = im_attr(im, "axis", ATTR_INT);
	uint32_t axis = 0, out[4];
	int ret = im_need(im, 1);

	(void)arg;
	if (!ret && a)
		ret = im_axis(im, a->i, im->in[0].rank, &axis);
	d.axis = (int32_t)axis;
	d.flags = (a ? ACCEL_DYNAMIC_AXIS : 0) |
		  (im_int(im, "sorted", 1) ? ACCEL_DYNAMIC_SORTED : 0);
	if (!ret)
		ret = im_dynamic(im, &d, &im->in[0].value, 1, out, 4);
	return ret ? ret : im_give_all(im, out, 4);
}

static int nms(struct import *im, uint32_t arg)
{
	struct accel_dynamic_desc d = ACCEL_DYNAMIC_DESC_INIT(ACCEL_DYNAMIC_NMS);
	uint32_t in[5], i, out;
	int ret = im_need(im, 2);

	(void)arg;
	if (ret)
		return ret;
	d.flags = im_int(im, "center_point_box", 0) ? ACCEL_DYNAMIC_CENTRE : 0;
	for (i = 0; i < 5; i++) {
		if (im_input(im, i)->here)
			in[i] = im->in[i].value;
		else
			in[i] = v_number(im, i == 2 ? ACCEL_HOST_S64 : ACCEL_F32,
					 i == 4 ? (double)-INFINITY : 0);
	}
	ret = im->error.code;
	if (!ret)
		ret = im_dynamic(im, &d, in, 5, &out, 1);
	return ret ? ret : im_give(im, 0, out);
}

const struct op onnx_index[] = {
	{ "ArgMax", arg_reduce, ACCEL_REDUCE_ARG_MAX }, { "ArgMin", arg_reduce,
							 ACCEL_REDUCE_ARG_MIN },
	{ "Hardmax", hardmax, 0 }, { "OneHot", one_hot, 0 },
	{ "Scatter", scatter, ACCEL_SCATTER_ELEMENTS },
	{ "ScatterElements", scatter, ACCEL_SCATTER_ELEMENTS },
	{ "ScatterND", scatter, ACCEL_SCATTER_ND }, { "TensorScatter", tensor_scatter, 0 },
	{ "CumSum", cum_sum, 0 }, { "TopK", top_k, 0 }, { "Trilu", trilu, 0 },
	{ "EyeLike", eye_like, 0 }, { "ReverseSequence", reverse_sequence, 0 },
	{ "Tile", tile, 0 }, { "Pad", pad, 0 }, { "DepthToSpace", depth_space, 1 },
	{ "SpaceToDepth", depth_space, 0 }, { "Size", size_of, 0 },
	{ "IsInf", is_inf, 0 }, { "BitShift", shift, 0 },
	{ "BitwiseAnd", bitwise, ACCEL_BINARY_BIT_AND },
	{ "BitwiseOr", bitwise, ACCEL_BINARY_BIT_OR },
	{ "BitwiseXor", bitwise, ACCEL_BINARY_BIT_XOR }, { "BitwiseNot", bitwise, 0 },
	{ "ThresholdedRelu", thresholded_relu, 0 }, { "Shrink", shrink, 0 },
	{ "NonZero", nonzero, 0 }, { "Compress", compress, 0 }, { "Unique", unique, 0 },
	{ "NonMaxSuppression", nms, 0 },
	{ 0 }
};
