/* SPDX-License-Identifier: MIT */
/*
 * Random graphs: of what passes look for, and of what is nearly that.
 */
#ifndef LIBACCEL_TESTS_RANDOMGRAPH_H
#define LIBACCEL_TESTS_RANDOMGRAPH_H

#include <float.h>
#include "graphtest.h"

#define MAX_POOL	64

/**
 * struct maker - a graph that grows
 * @bed: device and graph
 * @seed: of the numbers that are drawn
 * @drawn: how many were
 * @pool: values that may be read
 * @count: number of @pool
 * @consts: number of constants
 * @broken: what was put together does not go together
 * @precision: what it is computed in
 */
struct maker {
	struct bed *bed;
	uint64_t seed;
	uint64_t drawn;
	uint32_t pool[MAX_POOL];
	uint32_t count;
	uint64_t consts;
	bool broken;
	uint32_t precision;
};

/* From 0 to @n - 1 */
static inline uint32_t draw(struct maker *m, uint32_t n)
{
	uint64_t z = m->seed * 0x9e3779b97f4a7c15u + ++m->drawn * 0xd1342543de82ef95u;

	z = (z ^ z >> 31) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ z >> 31) >> 16) % n;
}

static inline struct accel_value shape_of(struct maker *m, uint32_t value)
{
	struct accel_value v = ACCEL_VALUE_INIT;

	if (!m->broken && !accel_graph_get_value(m->bed->graph, value, &v))
		return v;
	m->broken = true;
	return value_of(NULL, ACCEL_F32, 3, DIMS(2, 2, 2));
}

static inline uint32_t keep(struct maker *m, uint32_t value)
{
	if (m->count < MAX_POOL)
		m->pool[m->count++] = value;
	return value;
}

/* Numbers of @scale about @mean; the graph has them. */
static inline uint32_t numbers(struct maker *m, uint32_t rank, const int64_t *dims, double mean,
			       double scale)
{
	struct accel_value v = value_of(NULL, ACCEL_F32, rank, dims);
	struct bed *bed = m->bed;
	uint64_t i, n = elements(&v);
	float *data = noise_floats(m->seed * 64 + ++m->consts, n);
	uint32_t value = 0;

	for (i = 0; i < n; i++)
		data[i] = (float)(mean + scale * (double)data[i]);
	MUST_GRAPH(accel_graph_constant(bed->graph, &v, data, free, data, &value));
	return value;
}

/* One number, of any rank and now and then repeated by strides of nothing */
static inline uint32_t scalar(struct maker *m, double x)
{
	return numbers(m, draw(m, 3) ? 0 : 1 + draw(m, 2), DIMS(1, 1), x, 0);
}

static inline uint32_t binary(struct maker *m, uint32_t func, uint32_t a, uint32_t b)
{
	return add_binary(m->bed, "binary", func, a, b);
}

/* Either order */
static inline uint32_t either(struct maker *m, uint32_t func, uint32_t a, uint32_t b)
{
	return draw(m, 2) ? binary(m, func, a, b) : binary(m, func, b, a);
}

static inline uint32_t times(struct maker *m, uint32_t a, uint32_t b)
{
	return either(m, ACCEL_BINARY_MUL, a, b);
}

static inline uint32_t plus(struct maker *m, uint32_t a, uint32_t b)
{
	return either(m, ACCEL_BINARY_ADD, a, b);
}

static inline uint32_t unary(struct maker *m, uint32_t func, uint32_t a)
{
	return add_unary(m->bed, "unary", func, a);
}

static inline uint32_t act(struct maker *m, uint32_t func, uint32_t a)
{
	return add_act(m->bed, "act", func, a);
}

static inline uint32_t shaped(struct maker *m, uint32_t op, uint32_t x, uint32_t count,
			      const int64_t *list)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(op);

	return add_node(m->bed, "shape", &d.hdr, 2,
			(uint32_t[]) { x, add_list(m->bed, count, list) });
}

static inline uint32_t ordered(struct maker *m, uint32_t x, uint32_t rank, const uint32_t *order)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_TRANSPOSE);

	memcpy(d.order, order, rank * sizeof(*order));
	return add_node(m->bed, "order", &d.hdr, 1, &x);
}

/* The last two dimensions the other way */
static inline uint32_t turned(struct maker *m, uint32_t x, uint32_t rank)
{
	uint32_t i, order[ACCEL_GRAPH_MAX_RANK];

	for (i = 0; i < rank; i++)
		order[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
	return ordered(m, x, rank, order);
}

static inline uint32_t cut(struct maker *m, uint32_t x, int64_t from, int64_t to, int64_t axis,
			   int64_t step)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	struct bed *bed = m->bed;

	return add_node(bed, "cut", &d.hdr, 5, (uint32_t[]) { x, LIST(from), LIST(to),
							      LIST(axis), LIST(step) });
}

static inline uint32_t reduced(struct maker *m, uint32_t x, uint32_t func, uint32_t axis)
{
	struct accel_reduce_desc d = ACCEL_REDUCE_DESC_INIT;

	d.func = func;
	d.axes = ACCEL_AXIS(axis);
	return add_node(m->bed, "reduce", &d.hdr, 1, &x);
}

static inline uint32_t softmax(struct maker *m, uint32_t x, int32_t axis)
{
	struct accel_softmax_desc d = ACCEL_SOFTMAX_DESC_INIT;

	d.axis = axis;
	return add_node(m->bed, "softmax", &d.hdr, 1, &x);
}

static inline uint32_t product(struct maker *m, uint32_t a, uint32_t b)
{
	struct accel_gemm_desc d = ACCEL_GEMM_DESC_INIT;

	if (!draw(m, 6)) {
		d.flags = ACCEL_GEMM_ALPHA;
		d.alpha = 0.5f;
	}
	return add_node(m->bed, "product", &d.hdr, 2, (uint32_t[]) { a, b });
}

/* --- what passes look for, and what is nearly that ----------------------------------------- */

/* A constant, or one beside it */
static inline double about(struct maker *m, double x)
{
	return draw(m, 12) ? x : x * (draw(m, 2) ? 1.02 : 2);
}

static inline uint32_t gelu(struct maker *m, uint32_t x)
{
	uint32_t t, y = draw(m, 12) ? x : m->pool[0], way = draw(m, 4);
	uint32_t g, one = scalar(m, about(m, 1)), half = scalar(m, about(m, 0.5));

	if (!way) {
		t = draw(m, 2) ? times(m, x, scalar(m, about(m, 0.70710678))) :
		    binary(m, ACCEL_BINARY_DIV, x, scalar(m, about(m, 1.41421356)));
		t = unary(m, ACCEL_UNARY_ERF, t);
	} else if (way == 1) {
		t = draw(m, 2) ? binary(m, ACCEL_BINARY_POW, x, scalar(m, draw(m, 8) ? 3 : 2)) :
		    times(m, times(m, x, x), x);
		t = plus(m, x, times(m, t, scalar(m, about(m, 0.044715))));
		t = act(m, ACCEL_ACT_TANH, times(m, t, scalar(m, about(m, 0.79788456))));
	} else if (way == 2) {
		t = plus(m, scalar(m, 1), times(m, times(m, x, x), scalar(m, 0.044715)));
		t = act(m, ACCEL_ACT_TANH, times(m, times(m, x, scalar(m, 0.79788456)), t));
	} else {
		return times(m, act(m, draw(m, 6) ? ACCEL_ACT_SIGMOID : ACCEL_ACT_TANH, x), y);
	}
	g = draw(m, 10) ? plus(m, t, one) : binary(m, ACCEL_BINARY_SUB, t, one);
	if (!draw(m, 4))
		keep(m, g);
	switch (draw(m, 4)) {
	case 0:
		return times(m, times(m, y, half), g);
	case 1:
		return times(m, y, times(m, g, half));
	case 2:
		return binary(m, ACCEL_BINARY_DIV, times(m, y, g), scalar(m, about(m, 2)));
	default:
		return times(m, times(m, y, g), half);
	}
}

static inline uint32_t squared(struct maker *m, uint32_t x)
{
	switch (draw(m, 4)) {
	case 0:
		return unary(m, ACCEL_UNARY_SQUARE, x);
	case 1:
		return binary(m, ACCEL_BINARY_POW, x, scalar(m, draw(m, 6) ? 2 : 4));
	case 2:
		return times(m, x, draw(m, 8) ? x : unary(m, ACCEL_UNARY_ABS, x));
	default:
		return times(m, x, x);
	}
}

static inline uint32_t norm(struct maker *m, uint32_t x, const struct accel_value *v)
{
	uint32_t axis = draw(m, 5) ? v->rank - 1 : draw(m, v->rank), from = x, s, d, y;
	uint32_t mean_axis = draw(m, 8) ? axis : draw(m, v->rank);
	int64_t n = v->dims[v->rank - 1];
	bool outside = !draw(m, 8);

	if (draw(m, 2)) {
		d = reduced(m, x, ACCEL_REDUCE_MEAN, mean_axis);
		from = binary(m, ACCEL_BINARY_SUB, draw(m, 10) ? x : m->pool[0], d);
		from = draw(m, 10) ? from : binary(m, ACCEL_BINARY_SUB, d, x);
	}
	d = draw(m, 4) || from == x ? from :
	    binary(m, ACCEL_BINARY_SUB, x, reduced(m, x, ACCEL_REDUCE_MEAN, axis));
	s = reduced(m, squared(m, d), draw(m, 12) ? ACCEL_REDUCE_MEAN : ACCEL_REDUCE_SUM, axis);
	if (!draw(m, 8))
		s = times(m, s, scalar(m, 1.5));
	if (!outside)
		s = plus(m, s, draw(m, 10) ? scalar(m, 0.2) :
			 numbers(m, 1, v->dims + v->rank - 1, 0.5, 0.4));
	switch (draw(m, 3)) {
	case 0:
		s = binary(m, ACCEL_BINARY_POW, s, scalar(m, draw(m, 8) ? 0.5 : 1));
		break;
	default:
		s = unary(m, ACCEL_UNARY_SQRT, s);
	}
	if (outside)
		s = plus(m, s, scalar(m, 0.2));
	d = draw(m, 10) ? from : x;
	switch (draw(m, 3)) {
	case 0:
		y = times(m, d, unary(m, ACCEL_UNARY_RECIP, s));
		break;
	case 1:
		y = times(m, binary(m, ACCEL_BINARY_DIV, scalar(m, about(m, 1)), s), d);
		break;
	default:
		y = binary(m, ACCEL_BINARY_DIV, d, s);
	}
	if (!draw(m, 10))
		y = binary(m, ACCEL_BINARY_DIV, y, s);
	if (!draw(m, 4))
		keep(m, y);
	if (draw(m, 2))
		y = times(m, y, draw(m, 6) ? numbers(m, 1, &n, 1, 0.5) :
			  numbers(m, v->rank, v->dims, 1, 0.5));
	if (draw(m, 2))
		y = plus(m, y, draw(m, 6) ? numbers(m, 1, &n, 0, 1) : scalar(m, 0.5));
	return y;
}

/* Some keys are not seen, or none is. */
static inline uint32_t hidden(struct maker *m, uint32_t rank, const int64_t *dims, float low)
{
	struct accel_value v = value_of(NULL, ACCEL_F32, rank, dims);
	uint64_t i, n = elements(&v), all = draw(m, 6);
	float *data = malloc((n + 1) * sizeof(*data));
	uint32_t value = 0;

	assert_non_null(data);
	for (i = 0; i < n; i++)
		data[i] = !all || draw(m, 3) ? low : 0;
	must_graph(m->bed, accel_graph_constant(m->bed->graph, &v, data, free, data, &value), "mask");
	return value;
}

/* A mask of any shape that goes with the scores */
static inline uint32_t mask(struct maker *m, const struct accel_value *s)
{
	uint32_t rank = draw(m, s->rank + 1), i;
	int64_t dims[ACCEL_GRAPH_MAX_RANK];

	for (i = 0; i < rank; i++)
		dims[i] = draw(m, 2) ? 1 : s->dims[s->rank - rank + i];
	if (draw(m, 2))
		return numbers(m, rank, dims, 0, 2);
	return hidden(m, rank, dims, draw(m, 3) ? draw(m, 2) ? -FLT_MAX : -1e30f : -INFINITY);
}

static inline uint32_t choice(struct maker *m, uint32_t cond, uint32_t a, uint32_t b)
{
	struct accel_select_desc d = ACCEL_SELECT_DESC_INIT;

	return add_node(m->bed, "where", &d.hdr, 3, (uint32_t[]) { cond, a, b });
}

/* Numbers instead of scores that are not seen; now and then not far enough away */
static inline uint32_t chosen(struct maker *m, uint32_t s, const struct accel_value *v)
{
	static const float far[] = { -INFINITY, -FLT_MAX, -1e30f, -10000, 0 };
	uint32_t cond = draw(m, 6) ? mask(m, v) : s;
	uint32_t number = scalar(m, far[draw(m, draw(m, 4) ? 3 : 5)]);

	cond = binary(m, ACCEL_BINARY_GT, cond, scalar(m, draw(m, 4) ? -0.5 : 50));
	return draw(m, 2) ? choice(m, cond, s, number) : choice(m, cond, number, s);
}

/* Zeros instead of what is no number */
static inline uint32_t guarded(struct maker *m, uint32_t s)
{
	uint32_t nan = unary(m, ACCEL_UNARY_IS_NAN, s), zero = scalar(m, draw(m, 10) ? 0 : 1), y;

	y = draw(m, 10) ? choice(m, nan, zero, s) : choice(m, nan, s, zero);
	if (!draw(m, 6))
		keep(m, y);
	return y;
}

static inline uint32_t attention(struct maker *m, uint32_t x, const struct accel_value *v)
{
	int64_t size = v->dims[v->rank - 1], keys = v->dims[v->rank - 2], dims[8];
	uint32_t q = x, k, w, s, i, rank = v->rank;
	struct accel_value shape;

	memcpy(dims, v->dims, sizeof(dims));
	for (i = 0; i + 2 < rank; i++)
		if (!draw(m, 8))
			dims[i] = 1;
	dims[rank - 2] = keys;
	if (!draw(m, 6))
		rank -= rank > 2 && dims[0] == 1;
	w = draw(m, 4) ? x : numbers(m, rank, dims + v->rank - rank, 0, 1);
	rank = shape_of(m, w).rank;
	/* Square keys may also be read the wrong way. */
	k = keys == size && !draw(m, 3) ? w : turned(m, w, rank);
	if (!draw(m, 4))
		k = times(m, k, scalar(m, 0.7));
	if (!draw(m, 4))
		q = draw(m, 2) ? times(m, q, scalar(m, 0.7)) :
		    binary(m, ACCEL_BINARY_DIV, q, scalar(m, 1.7));
	if (!draw(m, 10))
		q = binary(m, ACCEL_BINARY_DIV, scalar(m, 1), plus(m, squared(m, q), scalar(m, 1)));
	s = product(m, q, k);
	if (draw(m, 2))
		s = draw(m, 2) ? times(m, s, scalar(m, 0.4)) :
		    binary(m, ACCEL_BINARY_DIV, s, scalar(m, 2));
	if (!draw(m, 6))
		s = times(m, s, scalar(m, 0.6));
	shape = shape_of(m, s);
	for (i = draw(m, 5); i > 0; i--)
		s = draw(m, 2) ? plus(m, s, mask(m, &shape)) : chosen(m, s, &shape);
	if (!draw(m, 6))
		s = times(m, s, scalar(m, 0.8));
	if (!draw(m, 6))
		keep(m, s);
	s = softmax(m, s, draw(m, 6) ? -1 : (int32_t)draw(m, shape.rank));
	if (!draw(m, 6))
		keep(m, s);
	if (!draw(m, 3))
		s = guarded(m, s);
	if (!draw(m, 8))
		return product(m, turned(m, w, rank), s);
	return product(m, s, draw(m, 4) ? w : times(m, w, scalar(m, 2)));
}

static inline uint32_t heads(struct maker *m, uint32_t x, const struct accel_value *v)
{
	uint32_t y;

	if (v->rank != 3 || v->dims[2] % 2)
		return x;
	y = shaped(m, ACCEL_SHAPE_RESHAPE, x, 4, DIMS(v->dims[0], v->dims[1], 2, v->dims[2] / 2));
	return ordered(m, y, 4, (uint32_t[]) { 0, 2, 1, 3 });
}

/* A transposed convolution, of which padding cuts off anything but all */
static inline uint32_t back(struct maker *m, uint32_t x, const struct accel_value *v)
{
	struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;
	struct accel_graph_arg args[4] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, x } };
	int64_t c = v->dims[1], out, dims[5], size;
	uint32_t i, pixels = v->rank - 2;

	d.flags = ACCEL_CONV_TRANSPOSED;
	out = 1 + draw(m, 4);
	dims[0] = c;
	dims[1] = out;
	for (i = 0; i < pixels; i++) {
		dims[2 + i] = 1 + draw(m, 5);
		d.stride[i] = draw(m, 4) + (draw(m, 10) ? 0 : 5);
		size = (v->dims[2 + i] - 1) * (d.stride[i] ? d.stride[i] : 1) + dims[2 + i];
		d.pad_before[i] = draw(m, 2) ? draw(m, (uint32_t)size) : draw(m, 2);
		d.pad_before[i] = d.pad_before[i] < size ? d.pad_before[i] : 0;
		size -= d.pad_before[i];
		d.pad_after[i] = draw(m, 2) ? draw(m, (uint32_t)size) : 0;
	}
	args[2] = (struct accel_graph_arg) { ACCEL_ARG_B, numbers(m, v->rank, dims, 0, 0.5) };
	args[3] = (struct accel_graph_arg) { ACCEL_ARG_BIAS, numbers(m, 1, &out, 0, 1) };
	must_graph(m->bed, accel_graph_add(m->bed->graph, "back", &d.hdr, args, 3 + draw(m, 2)),
		   "back");
	return args[0].value;
}

static inline uint32_t conv(struct maker *m, uint32_t x, const struct accel_value *v)
{
	struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;
	struct accel_graph_arg args[4] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, x } };
	int64_t c = v->dims[1], out, dims[5];
	uint32_t i, k = draw(m, 2) ? 1 : 3, pixels = v->rank - 2;

	d.groups = draw(m, 3) ? 1 : (uint32_t)c;
	out = d.groups > 1 ? c : 1 + draw(m, 6);
	dims[0] = out;
	dims[1] = d.groups > 1 ? 1 : c;
	for (i = 0; i < pixels; i++) {
		dims[2 + i] = k;
		d.pad_before[i] = d.pad_after[i] = k / 2;
		d.stride[i] = draw(m, 4) ? 1 : 2;
	}
	args[2] = (struct accel_graph_arg) { ACCEL_ARG_B, numbers(m, v->rank, dims, 0, 0.5) };
	args[3] = (struct accel_graph_arg) { ACCEL_ARG_BIAS, numbers(m, 1, &out, 0, 1) };
	must_graph(m->bed, accel_graph_add(m->bed->graph, "conv", &d.hdr, args, 3 + draw(m, 2)),
		   "conv");
	return args[0].value;
}

static inline uint32_t pool(struct maker *m, uint32_t x, const struct accel_value *v)
{
	struct accel_pool_desc d = ACCEL_POOL_DESC_INIT;
	uint32_t i;

	d.func = draw(m, 2) ? ACCEL_POOL_MAX : ACCEL_POOL_AVERAGE;
	for (i = 0; i + 2 < v->rank; i++) {
		d.kernel[i] = 2;
		d.pad_begin[i] = 1;
		d.pad_end[i] = 1;
		d.stride[i] = 1 + draw(m, 2);
	}
	return add_node(m->bed, "pool", &d.hdr, 1, &x);
}

static inline uint32_t batchnorm(struct maker *m, uint32_t x, const struct accel_value *v)
{
	struct accel_norm_desc d = ACCEL_NORM_DESC_INIT;
	const int64_t *n = &v->dims[1];
	struct accel_graph_arg args[] = {
		{ ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, x },
		{ ACCEL_ARG_AUX0, numbers(m, 1, n, 0, 1) },
		{ ACCEL_ARG_AUX1, numbers(m, 1, n, 1, 0.5) },
		{ ACCEL_ARG_SCALE, numbers(m, 1, n, 0, 1) },
		{ ACCEL_ARG_BIAS, numbers(m, 1, n, 0, 1) },
	};

	d.func = ACCEL_NORM_BATCH;
	d.channel = draw(m, 3) ? 1 : 1 - (int32_t)v->rank;
	d.eps = 0.001f;
	must_graph(m->bed, accel_graph_add(m->bed->graph, "batchnorm", &d.hdr, args,
					   4 + draw(m, 3)), "batchnorm");
	return args[0].value;
}

/* To bytes and back, with another scale or the same */
static inline uint32_t quantised(struct maker *m, uint32_t x)
{
	struct accel_copy_desc to = ACCEL_COPY_DESC_INIT, back = ACCEL_COPY_DESC_INIT;
	struct accel_quant q = ACCEL_QUANT_INIT;

	q.scheme = ACCEL_QUANT_TENSOR;
	q.scale = draw(m, 2) ? 0.03f : 0.02f;
	to.d.dtype = draw(m, 2) ? ACCEL_S8 : ACCEL_U8;
	q.zero = to.d.dtype == ACCEL_U8 ? 128 : (int32_t)draw(m, 3);
	to.d.quant = q;
	back.a.quant = q;
	if (!draw(m, 6))
		back.a.quant.scale = 0.025f;
	if (!draw(m, 6))
		back.a.quant.zero += 3;
	back.d.dtype = ACCEL_F32;
	x = add_node(m->bed, "bytes", &to.hdr, 1, &x);
	return add_node(m->bed, "real", &back.hdr, 1, &x);
}

static inline uint32_t concat_of(struct maker *m, uint32_t axis, uint32_t count,
				 const uint32_t *in)
{
	struct accel_concat_desc d = ACCEL_CONCAT_DESC_INIT;

	d.axis = axis;
	d.count = count;
	return add_node(m->bed, "concat", &d.hdr, count, in);
}

static inline uint32_t concat(struct maker *m, uint32_t x, const struct accel_value *v)
{
	uint32_t in[3] = { x, x, x }, axis = draw(m, v->rank), count = 2 + draw(m, 2);

	if (v->dims[axis] > 1 && draw(m, 2))
		in[1] = cut(m, x, draw(m, 2), v->dims[axis], axis, 1 + draw(m, 2));
	if (draw(m, 2))
		in[0] = numbers(m, v->rank, v->dims, 0, 1);
	return concat_of(m, axis, count, in);
}

static inline uint32_t reordered(struct maker *m, uint32_t x, const struct accel_value *v)
{
	uint32_t i, k, t, order[ACCEL_GRAPH_MAX_RANK];

	for (i = 0; i < v->rank; i++)
		order[i] = i;
	for (i = v->rank; i-- > 1;) {
		k = draw(m, i + 1);
		t = order[i];
		order[i] = order[k];
		order[k] = t;
	}
	return v->rank > 1 ? ordered(m, x, v->rank, order) : x;
}

/* Other dimensions: two become one, or one becomes two, or all */
static inline uint32_t reshaped(struct maker *m, uint32_t x, const struct accel_value *v)
{
	uint32_t i, at = draw(m, v->rank), rank = 0;
	int64_t dims[8];

	if (v->rank < 5 && draw(m, 2)) {
		for (i = 0; i < v->rank; i++) {
			dims[rank++] = v->dims[i];
			if (i != at)
				continue;
			dims[rank - 1] = v->dims[i] % 2 ? v->dims[i] : 2;
			dims[rank++] = v->dims[i] % 2 ? 1 : v->dims[i] / 2;
		}
	} else {
		for (i = 0; i < v->rank; i++) {
			if (i == at && i + 1 < v->rank) {
				dims[rank++] = v->dims[i] * v->dims[i + 1];
				i++;
			} else {
				dims[rank++] = v->dims[i];
			}
		}
	}
	return shaped(m, ACCEL_SHAPE_RESHAPE, x, rank, dims);
}

static inline uint32_t joined(struct maker *m, uint32_t x, const struct accel_value *v)
{
	uint32_t i, y = m->pool[draw(m, m->count)], rank = draw(m, v->rank + 1);
	struct accel_value w = shape_of(m, y);
	int64_t dims[8];

	if (w.rank != v->rank || memcmp(w.dims, v->dims, w.rank * sizeof(*w.dims)) != 0) {
		for (i = 0; i < rank; i++)
			dims[i] = draw(m, 3) ? v->dims[v->rank - rank + i] : 1;
		y = numbers(m, rank, dims, 0, 1);
	}
	return either(m, draw(m, 2) ? ACCEL_BINARY_ADD : draw(m, 2) ? ACCEL_BINARY_SUB :
		      ACCEL_BINARY_MUL, x, y);
}

/* Products of one value by several constants, as queries, keys and values are */
static inline uint32_t several(struct maker *m, uint32_t x, const struct accel_value *v)
{
	uint32_t i, count = 2 + draw(m, 2), y, in[3];
	int64_t n = draw(m, 2) ? v->dims[v->rank - 1] : 1 + draw(m, 6);
	bool biased = draw(m, 2), relu = !draw(m, 4);

	for (i = 0; i < count; i++) {
		if (!draw(m, 6))
			n = 1 + draw(m, 6);
		y = product(m, x, numbers(m, 2, DIMS(v->dims[v->rank - 1], n), 0, 0.7));
		if (biased && draw(m, 6))
			y = plus(m, y, numbers(m, 1, &n, 0, 1));
		if (relu && draw(m, 6))
			y = act(m, ACCEL_ACT_RELU, y);
		keep(m, y);
		/* What is read next is not what is put side by side. */
		in[i] = i ? unary(m, ACCEL_UNARY_SIN, y) : y;
	}
	return concat_of(m, v->rank - 1, count, in);
}

static inline uint32_t grow(struct maker *m, bool bytes)
{
	uint32_t x = m->pool[m->count - 1 - draw(m, draw(m, 3) ? 1 : m->count)], axis;
	struct accel_value v = shape_of(m, x);
	static const uint32_t acts[] = {
		ACCEL_ACT_RELU, ACCEL_ACT_TANH, ACCEL_ACT_SIGMOID, ACCEL_ACT_SILU, ACCEL_ACT_GELU
	};

	if (!v.rank)
		return times(m, x, numbers(m, 2, DIMS(3, 4), 0, 1));
	if (elements(&v) > 6000)
		return cut(m, x, 0, 2, draw(m, v.rank), 1);
	axis = draw(m, v.rank);
	if (bytes && draw(m, 2))
		return quantised(m, x);
	switch (draw(m, 21)) {
	case 0:
	case 1:
		return v.rank > 1 ? norm(m, x, &v) : x;
	case 2:
		return gelu(m, x);
	case 3:
	case 4:
		return v.rank > 2 ? attention(m, x, &v) : x;
	case 5:
		return heads(m, x, &v);
	case 6:
	case 7:
		if (v.rank > 2 && v.rank < 5 && elements(&v) && !draw(m, 3))
			return back(m, x, &v);
		return v.rank > 2 && v.rank < 5 ? conv(m, x, &v) : act(m, acts[draw(m, 5)], x);
	case 8:
		return v.rank > 2 && v.rank < 5 ? pool(m, x, &v) : act(m, ACCEL_ACT_RELU, x);
	case 9:
		return v.rank > 1 ? batchnorm(m, x, &v) : x;
	case 10:
		return concat(m, x, &v);
	case 11:
	case 12:
		return reordered(m, x, &v);
	case 13:
		return reshaped(m, x, &v);
	case 14:
		if (v.dims[axis] < 2)
			return act(m, ACCEL_ACT_TANH, x);
		return cut(m, x, draw(m, 2), v.dims[axis], axis, 1 + draw(m, 2));
	case 15:
		return softmax(m, x, (int32_t)axis);
	case 16:
		return v.rank > 1 ? product(m, x, numbers(m, 2, DIMS(v.dims[v.rank - 1],
								     1 + draw(m, 6)), 0, 0.7)) :
		       unary(m, ACCEL_UNARY_SIN, x);
	case 17:
		return reduced(m, x, draw(m, 2) ? ACCEL_REDUCE_MEAN : ACCEL_REDUCE_MAX, axis);
	case 18:
		return act(m, acts[draw(m, 5)], x);
	case 19:
		return v.rank > 1 ? several(m, x, &v) : x;
	default:
		return joined(m, x, &v);
	}
}

/* A graph with one input and some results */
static inline void make(struct maker *m, bool bytes)
{
	static const int64_t shapes[][5] = {
		{ 6 }, { 4, 6 }, { 2, 4, 6 }, { 1, 5, 4 }, { 4, 4, 4 }, { 2, 3, 5, 4 },
		{ 1, 4, 6, 6 }, { 2, 2, 4, 4 }, { 2, 1, 4, 3 }, { 2, 1, 3, 2, 4 },
		{ 1, 3, 2, 2, 2 },
		{ 0, 3, 4 }
	};
	static const uint32_t ranks[] = { 1, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5, 3 };
	uint32_t pick = draw(m, 60), nodes = 2 + draw(m, 9), i;

	pick = pick == 59 ? 11 : pick % 11;
	m->count = 0;
	keep(m, add_input(m->bed, "x", ACCEL_F32, ranks[pick], shapes[pick]));
	for (i = 0; i < nodes && !m->broken; i++)
		keep(m, grow(m, bytes));
	for (i = 0; i < m->count; i++)
		shape_of(m, m->pool[i]);
	add_output(m->bed, "last", m->pool[m->count - 1]);
	for (i = draw(m, 3); i; i--)
		add_output(m->bed, "also", m->pool[draw(m, m->count)]);
}

#endif /* LIBACCEL_TESTS_RANDOMGRAPH_H */
