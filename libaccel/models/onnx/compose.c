// SPDX-License-Identifier: MIT
/*
 * Nodes for operators that are several operations: each call takes values and returns one.
 * After the first error, which the import keeps, they do nothing and return NO_VALUE; the
 * operator tells in the end, by v_give().
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

static uint32_t finish(int ret, const uint32_t *out)
{
	return ret ? NO_VALUE : *out;
}

/* Is a value missing because something failed? */
static bool lost(struct import *im, uint32_t value)
{
	return im->error.code || value == NO_VALUE;
}

uint32_t v_in(struct import *im, uint32_t index)
{
	return index < im->in_count && im->in[index].here && !im->error.code ?
	       im->in[index].value : NO_VALUE;
}

uint32_t v_type(struct import *im, uint32_t value)
{
	struct ref ref = { 0 };

	if (!lost(im, value))
		im_ref(im, value, &ref);
	return ref.type;
}

uint32_t v_rank(struct import *im, uint32_t value)
{
	struct ref ref = { 0 };

	if (!lost(im, value))
		im_ref(im, value, &ref);
	return ref.rank;
}

uint32_t v_ints(struct import *im, uint32_t count, const int64_t *list)
{
	uint32_t out = NO_VALUE;

	return im->error.code ? NO_VALUE : finish(im_list(im, count, list, &out), &out);
}

/* A number of a type. */
uint32_t v_number(struct import *im, uint32_t type, double number)
{
	bool real = type_is_real(type);
	uint32_t out = NO_VALUE;
	int ret = im->error.code;

	if (!ret)
		ret = im_scalar(im, real && type != ACCEL_HOST_F64 ? ACCEL_F32 :
				real ? type : (uint32_t)ACCEL_HOST_S64, number, &out);
	return ret ? NO_VALUE : v_cast(im, out, type);
}

uint32_t v_cast(struct import *im, uint32_t a, uint32_t type)
{
	uint32_t out = NO_VALUE;

	return lost(im, a) ? NO_VALUE : finish(im_cast(im, a, type, &out), &out);
}

uint32_t v_unary(struct import *im, uint32_t func, uint32_t a)
{
	struct accel_unary_desc d = ACCEL_UNARY_DESC_INIT;
	uint32_t out = NO_VALUE;

	d.func = func;
	if (func >= ACCEL_UNARY_IS_NAN && func <= ACCEL_UNARY_NOT)
		d.d.dtype = ACCEL_HOST_BOOL;
	return lost(im, a) ? NO_VALUE : finish(im_one(im, &d.hdr, a, &out), &out);
}

uint32_t v_act(struct import *im, uint32_t act, float p0, float p1, uint32_t a)
{
	struct accel_unary_desc d = ACCEL_UNARY_DESC_INIT;
	uint32_t out = NO_VALUE;

	d.epilogue.act = act;
	d.epilogue.p0 = p0;
	d.epilogue.p1 = p1;
	return lost(im, a) ? NO_VALUE : finish(im_one(im, &d.hdr, a, &out), &out);
}

uint32_t v_binary(struct import *im, uint32_t func, uint32_t a, uint32_t b)
{
	uint32_t out = NO_VALUE;

	if (lost(im, a) || lost(im, b))
		return NO_VALUE;
	return finish(im_binary(im, func, a, b, &out), &out);
}

/* With a number on the right */
uint32_t v_with(struct import *im, uint32_t func, uint32_t a, double number)
{
	return v_binary(im, func, a, v_number(im, v_type(im, a), number));
}

uint32_t v_select(struct import *im, uint32_t condition, uint32_t a, uint32_t b)
{
	struct accel_select_desc d = ACCEL_SELECT_DESC_INIT;
	uint32_t out = NO_VALUE;

	if (lost(im, condition) || lost(im, a) || lost(im, b))
		return NO_VALUE;
	return finish(im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, condition }, { ACCEL_ARG_B, a },
					       { ACCEL_ARG_C, b }), 4, &out), &out);
}

/* Along the dimensions in @axes, which become 1 */
uint32_t v_reduce(struct import *im, uint32_t func, uint32_t flags, uint32_t axes, uint32_t a)
{
	struct accel_reduce_desc d = ACCEL_REDUCE_DESC_INIT;
	uint32_t out = NO_VALUE;

	d.func = func;
	d.flags = flags;
	d.axes = axes;
	d.d.dtype = func >= ACCEL_REDUCE_ARG_MAX ? (uint32_t)ACCEL_S32 : v_type(im, a);
	return lost(im, a) ? NO_VALUE : finish(im_one(im, &d.hdr, a, &out), &out);
}

/* Of doubles, which no engine has, from parts */
static uint32_t softmax_parts(struct import *im, uint32_t func, uint32_t axes, uint32_t a)
{
	uint32_t most = v_reduce(im, ACCEL_REDUCE_MAX, 0, axes, a), e, sum;

	/* Where all is hidden nothing is taken off, and the sum is that of zeros. */
	most = v_select(im, v_with(im, ACCEL_BINARY_EQ, most, -INFINITY),
			v_number(im, ACCEL_HOST_F64, 0), most);
	a = v_binary(im, ACCEL_BINARY_SUB, a, most);
	e = v_unary(im, ACCEL_UNARY_EXP, a);
	sum = v_reduce(im, ACCEL_REDUCE_SUM, 0, axes, e);
	if (func == ACCEL_SOFTMAX_LOG) {
		sum = v_unary(im, ACCEL_UNARY_LOG, sum);
		e = v_binary(im, ACCEL_BINARY_SUB, a, sum);
		return v_select(im, v_with(im, ACCEL_BINARY_EQ, sum, -INFINITY), sum, e);
	}
	sum = v_select(im, v_with(im, ACCEL_BINARY_EQ, sum, 0), v_number(im, ACCEL_HOST_F64, 1),
		       sum);
	return v_binary(im, ACCEL_BINARY_DIV, e, sum);
}

/* @axis counts from the beginning */
uint32_t v_softmax(struct import *im, uint32_t func, uint32_t axis, uint32_t a)
{
	struct accel_softmax_desc d = ACCEL_SOFTMAX_DESC_INIT;
	uint32_t out = NO_VALUE;

	if (v_type(im, a) == ACCEL_HOST_F64)
		return softmax_parts(im, func, ACCEL_AXIS(axis), a);
	d.func = func;
	d.axis = (int32_t)axis;
	return lost(im, a) ? NO_VALUE : finish(im_one(im, &d.hdr, a, &out), &out);
}

/* An operation of graphs on @a, with a list where it takes one. */
static uint32_t shaped(struct import *im, const struct accel_shape_desc *d, uint32_t a, uint32_t b)
{
	uint32_t out = NO_VALUE;

	if (lost(im, a))
		return NO_VALUE;
	return finish(b == NO_VALUE ? im_one(im, &d->hdr, a, &out) :
		      im_two(im, &d->hdr, a, b, &out), &out);
}

uint32_t v_shape_of(struct import *im, uint32_t a, int64_t start, int64_t end)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_OF);

	d.start = start;
	d.end = end;
	return shaped(im, &d, a, NO_VALUE);
}

/* How many elements lie along the dimensions of @a from @from on, S64 [1] */
uint32_t v_elements(struct import *im, uint32_t a, uint32_t from)
{
	return v_reduce(im, ACCEL_REDUCE_PROD, 0, ACCEL_AXIS(0),
			v_shape_of(im, a, from, INT64_MAX));
}

/* RESHAPE, EXPAND, SQUEEZE, UNSQUEEZE or TILE by a list that is a value */
uint32_t v_shaped(struct import *im, uint32_t op, uint32_t a, uint32_t list)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(op);

	if (op == ACCEL_SHAPE_RESHAPE)
		d.flags = ACCEL_SHAPE_ZERO;
	return lost(im, list) ? NO_VALUE : shaped(im, &d, a, list);
}

/* The same by numbers; those of RESHAPE may be 0, which keeps a dimension. */
uint32_t v_shaped_to(struct import *im, uint32_t op, uint32_t a, uint32_t count,
		     const int64_t *list)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(op);
	uint32_t value = v_ints(im, count, list);

	return lost(im, value) ? NO_VALUE : shaped(im, &d, a, value);
}

/* The lists one after the other are the dimensions. */
uint32_t v_reshape(struct import *im, uint32_t a, uint32_t count, const uint32_t *lists)
{
	return v_shaped(im, ACCEL_SHAPE_RESHAPE, a, v_concat(im, 0, count, lists));
}

uint32_t v_transpose(struct import *im, uint32_t a, const uint32_t *order)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_TRANSPOSE);

	memcpy(d.order, order, v_rank(im, a) * sizeof(*order));
	return shaped(im, &d, a, NO_VALUE);
}

/* Channels moved from the second dimension to the end, @last, or back from there */
uint32_t v_channels(struct import *im, uint32_t a, bool last)
{
	uint32_t order[ACCEL_GRAPH_MAX_RANK], rank = v_rank(im, a), i;

	for (i = 0; i < rank; i++) {
		if (last)
			order[i] = !i ? 0 : i == rank - 1 ? 1 : i + 1;
		else
			order[i] = !i ? 0 : i == 1 ? rank - 1 : i - 1;
	}
	return v_transpose(im, a, order);
}

/* Elements from @start on, up to @end, of one dimension */
uint32_t v_slice(struct import *im, uint32_t a, int64_t axis, int64_t start, int64_t end,
		 int64_t step)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	uint32_t from = v_ints(im, 1, &start), to = v_ints(im, 1, &end);
	uint32_t along = v_ints(im, 1, &axis), by = v_ints(im, 1, &step), out = NO_VALUE;

	if (lost(im, a) || lost(im, by))
		return NO_VALUE;
	return finish(im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, a }, { ACCEL_ARG_B, from },
					       { ACCEL_ARG_C, to }, { ACCEL_ARG_AUX0, along },
					       { ACCEL_ARG_AUX1, by }), 6, &out), &out);
}

/* 0, 1, ... up to the one number in the list @count, which is of S64 */
uint32_t v_iota(struct import *im, uint32_t count)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_RANGE);
	uint32_t zero = v_number(im, ACCEL_HOST_S64, 0), one = v_number(im, ACCEL_HOST_S64, 1);
	uint32_t out = NO_VALUE;

	if (lost(im, count) || lost(im, one))
		return NO_VALUE;
	return finish(im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, zero }, { ACCEL_ARG_B, count },
					       { ACCEL_ARG_C, one }), 4, &out), &out);
}

/* 0, 1, ... along dimension @axis of @a, which has the others as 1 */
uint32_t v_iota_along(struct import *im, uint32_t a, uint32_t axis)
{
	uint32_t i, n = 0, rank = v_rank(im, a), iota;
	int64_t list[ACCEL_GRAPH_MAX_RANK];
	int64_t zero = 0;
	uint32_t count = v_shape_of(im, a, axis, (int64_t)axis + 1);

	iota = v_iota(im, v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, count, 1, &zero));
	for (i = 0; i < rank; i++)
		if (i != axis)
			list[n++] = i;
	return v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, iota, n, list);
}

/* A number in the shape that a list says */
uint32_t v_fill(struct import *im, uint32_t type, uint32_t shape, double number)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_FILL);

	d.type = type;
	d.value = number;
	return shaped(im, &d, shape, NO_VALUE);
}

/* Eight at a time, then those eight at a time: each element is moved a few times only. */
uint32_t v_concat(struct import *im, uint32_t axis, uint32_t count, const uint32_t *list)
{
	struct accel_graph_arg args[ACCEL_CONCAT_MAX + 1];
	struct accel_concat_desc d = ACCEL_CONCAT_DESC_INIT;
	uint32_t i, n, out = NO_VALUE, *level;

	for (i = 0; i < count; i++)
		if (lost(im, list[i]))
			return NO_VALUE;
	level = malloc((count + 1) * sizeof(*level));
	if (!level) {
		im_fail(im, -ENOMEM, "out of memory");
		return NO_VALUE;
	}
	memcpy(level, list, count * sizeof(*level));
	d.axis = axis;
	while (count > 1) {
		for (i = 0, n = 0; i < count; n++) {
			args[0] = (struct accel_graph_arg) { ACCEL_ARG_D, ACCEL_VALUE_NEW };
			for (d.count = 0; i < count && d.count < ACCEL_CONCAT_MAX; d.count++)
				args[d.count + 1] = (struct accel_graph_arg) {
					ACCEL_ARG_A + d.count, level[i++]
				};
			out = args[1].value;
			if (d.count > 1 && im_node(im, &d.hdr, args, d.count + 1, &out)) {
				free(level);
				return NO_VALUE;
			}
			level[n] = out;
		}
		count = n;
	}
	out = count ? level[0] : NO_VALUE;
	free(level);
	return out;
}

uint32_t v_gather(struct import *im, uint32_t func, uint32_t axis, uint32_t a, uint32_t indices)
{
	struct accel_gather_desc d = ACCEL_GATHER_DESC_INIT;
	uint32_t out = NO_VALUE;

	d.func = func;
	d.axis = axis;
	if (lost(im, a) || lost(im, indices))
		return NO_VALUE;
	return finish(im_two(im, &d.hdr, a, indices, &out), &out);
}

uint32_t v_scatter(struct import *im, const struct accel_scatter_desc *d, uint32_t a,
		   uint32_t indices, uint32_t updates)
{
	uint32_t out = NO_VALUE;

	if (lost(im, a) || lost(im, indices) || lost(im, updates))
		return NO_VALUE;
	return finish(im_node(im, &d->hdr, ARGS({ ACCEL_ARG_A, a }, { ACCEL_ARG_B, indices },
						{ ACCEL_ARG_C, updates }), 4, &out), &out);
}

/* act(a b + bias + residual), b transposed if so; what is NO_VALUE is absent. */
uint32_t v_product(struct import *im, uint32_t flags, uint32_t act, uint32_t a, uint32_t b,
		   uint32_t bias, uint32_t residual)
{
	struct accel_graph_arg args[5] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, a },
					   { ACCEL_ARG_B, b } };
	struct accel_gemm_desc d = ACCEL_GEMM_DESC_INIT;
	uint32_t n = 3, out = NO_VALUE;

	if (lost(im, a) || lost(im, b))
		return NO_VALUE;
	d.flags = flags;
	d.epilogue.act = act;
	if (bias != NO_VALUE)
		args[n++] = (struct accel_graph_arg) { ACCEL_ARG_BIAS, bias };
	if (residual != NO_VALUE)
		args[n++] = (struct accel_graph_arg) { ACCEL_ARG_RESIDUAL, residual };
	return finish(im_node(im, &d.hdr, args, n, &out), &out);
}

/* A dimension of @a as a number of a type */
uint32_t v_size_of(struct import *im, uint32_t a, uint32_t axis, uint32_t type)
{
	const int64_t zero = 0;

	a = v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v_shape_of(im, a, axis, (int64_t)axis + 1), 1,
			&zero);
	return v_cast(im, a, type);
}

/* At least @low, and at most @high */
uint32_t v_bounded(struct import *im, uint32_t a, double low, uint32_t high)
{
	a = v_binary(im, ACCEL_BINARY_MAX, a, v_number(im, v_type(im, a), low));
	return v_binary(im, ACCEL_BINARY_MIN, a, high);
}

uint32_t v_is_finite(struct import *im, uint32_t a)
{
	return v_with(im, ACCEL_BINARY_LT, v_unary(im, ACCEL_UNARY_ABS, a), INFINITY);
}

/* [N, C, ...] as [N, all places, C] */
uint32_t v_rows(struct import *im, uint32_t a)
{
	static const uint32_t order[] = { 0, 2, 1 };
	uint32_t shape[] = { v_shape_of(im, a, 0, 2), v_elements(im, a, 2) };

	return v_transpose(im, v_reshape(im, a, 2, shape), order);
}

/* The node's output is a value, unless something failed. */
int v_give(struct import *im, uint32_t index, uint32_t value)
{
	if (im->error.code)
		return im->error.code;
	return value == NO_VALUE ? im_fail(im, -EBADMSG, "an input is missing") :
	       im_give(im, index, value);
}
