// SPDX-License-Identifier: MIT
/*
 * Operators that read images at places which other tensors tell: grids, regions; and the
 * places where maxima were.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "onnx.h"

#define ADD(a, b)	v_binary(im, ACCEL_BINARY_ADD, a, b)
#define SUB(a, b)	v_binary(im, ACCEL_BINARY_SUB, a, b)
#define MUL(a, b)	v_binary(im, ACCEL_BINARY_MUL, a, b)
#define PLUS(a, n)	v_with(im, ACCEL_BINARY_ADD, a, n)
#define TIMES(a, n)	v_with(im, ACCEL_BINARY_MUL, a, n)

/* Places in an image: 1 to 3 dimensions */
struct places {
	uint32_t n;
	uint32_t size[3];
	uint32_t at[3];
};

/* A dimension of @a as a number of a type */
static uint32_t size_of(struct import *im, uint32_t a, uint32_t axis, uint32_t type)
{
	const int64_t zero = 0;

	a = v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v_shape_of(im, a, axis, (int64_t)axis + 1), 1,
			&zero);
	return v_cast(im, a, type);
}

static uint32_t bounded(struct import *im, uint32_t a, double low, uint32_t high)
{
	a = v_binary(im, ACCEL_BINARY_MAX, a, v_number(im, v_type(im, a), low));
	return v_binary(im, ACCEL_BINARY_MIN, a, high);
}

/* --- grids --------------------------------------------------------------------------------- */

enum { OUTSIDE_ZEROS, OUTSIDE_BORDER, OUTSIDE_REFLECTION };
enum { SAMPLE_NEAREST, SAMPLE_LINEAR, SAMPLE_CUBIC };

/**
 * struct grid - how a grid is read
 * @mode: SAMPLE_*
 * @outside: OUTSIDE_*
 * @corners: -1 and 1 are the middles of the outermost elements, not their edges
 * @rows: image as [N, all places, C]
 * @p: sizes as numbers of the grid's type, places as [N, all of the grid, 1]
 */
struct grid {
	uint32_t mode;
	uint32_t outside;
	bool corners;
	uint32_t rows;
	struct places p;
};

/* A place mirrored at both ends until it is within */
static uint32_t reflected(struct import *im, const struct grid *g, uint32_t x, uint32_t size)
{
	double low = g->corners ? 0 : -0.5;
	uint32_t span = g->corners ? PLUS(size, -1) : size, flips, rest, odd, none;

	none = v_with(im, ACCEL_BINARY_LE, span, 0);
	span = v_select(im, none, v_number(im, v_type(im, span), 1), span);
	x = v_unary(im, ACCEL_UNARY_ABS, PLUS(x, -low));
	flips = v_unary(im, ACCEL_UNARY_FLOOR, v_binary(im, ACCEL_BINARY_DIV, x, span));
	rest = SUB(x, MUL(flips, span));
	odd = SUB(flips, TIMES(v_unary(im, ACCEL_UNARY_FLOOR, TIMES(flips, 0.5)), 2));
	odd = v_with(im, ACCEL_BINARY_GT, odd, 0.5);
	x = PLUS(v_select(im, odd, SUB(span, rest), rest), low);
	return v_select(im, none, v_number(im, v_type(im, x), 0), x);
}

static uint32_t kept_inside(struct import *im, const struct grid *g, uint32_t x, uint32_t size)
{
	if (g->outside == OUTSIDE_BORDER)
		return bounded(im, x, 0, PLUS(size, -1));
	return g->outside == OUTSIDE_REFLECTION ? reflected(im, g, x, size) : x;
}

/*
 * The rows at whole places, 0 where there are none: @at[i] is a value of the grid's type along
 * dimension i.
 */
static uint32_t rows_at(struct import *im, const struct grid *g, const uint32_t *at)
{
	uint32_t i, index = NO_VALUE, inside = NO_VALUE, x, size, row;

	for (i = 0; i < g->p.n; i++) {
		/* Neighbours of what is inside may be outside too. */
		x = kept_inside(im, g, at[i], g->p.size[i]);
		row = v_binary(im, ACCEL_BINARY_AND, v_with(im, ACCEL_BINARY_GE, x, 0),
			       v_binary(im, ACCEL_BINARY_LT, x, g->p.size[i]));
		inside = i ? v_binary(im, ACCEL_BINARY_AND, inside, row) : row;
		/* Whatever it is, a number or none, the index that is read is one that there is. */
		size = v_cast(im, g->p.size[i], ACCEL_S32);
		x = bounded(im, v_cast(im, x, ACCEL_S32), 0, PLUS(size, -1));
		index = i ? ADD(MUL(index, size), x) : x;
	}
	row = NO_VALUE;
	if (!im->error.code && g->rows != NO_VALUE && index != NO_VALUE) {
		struct accel_gather_desc d = ACCEL_GATHER_DESC_INIT;

		d.func = ACCEL_GATHER_ND;
		d.batch = 1;
		if (im_two(im, &d.hdr, g->rows, index, &row))
			return NO_VALUE;
	}
	return v_select(im, inside, row, v_number(im, v_type(im, row), 0));
}

/* How much each of four neighbours counts, @t behind the second of them */
static uint32_t cubic_weight(struct import *im, uint32_t t, uint32_t k)
{
	const double a = -0.75;
	/* Distances 1 + t, t, 1 - t, 2 - t: polynomials within 1, and between 1 and 2 */
	uint32_t x = k == 0 ? PLUS(t, 1) : k == 1 ? t : PLUS(TIMES(t, -1), k == 2 ? 1 : 2), y;

	if (k == 1 || k == 2) {
		y = PLUS(TIMES(x, a + 2), -(a + 3));
		return PLUS(MUL(MUL(y, x), x), 1);
	}
	y = PLUS(MUL(PLUS(TIMES(x, a), -5 * a), x), 8 * a);
	return PLUS(MUL(y, x), -4 * a);
}

/* The sum over the neighbours along dimension @i and those behind it */
static uint32_t sampled(struct import *im, const struct grid *g, uint32_t i, uint32_t *at)
{
	uint32_t k, first, t, w, v, sum = NO_VALUE, taps = g->mode == SAMPLE_CUBIC ? 4 : 2;

	if (i == g->p.n)
		return rows_at(im, g, at);
	if (g->mode == SAMPLE_NEAREST) {
		at[i] = v_unary(im, ACCEL_UNARY_ROUND, g->p.at[i]);
		return sampled(im, g, i + 1, at);
	}
	first = v_unary(im, ACCEL_UNARY_FLOOR, g->p.at[i]);
	t = SUB(g->p.at[i], first);
	for (k = 0; k < taps; k++) {
		at[i] = PLUS(first, taps == 4 ? (double)k - 1 : k);
		if (taps == 4)
			w = cubic_weight(im, t, k);
		else
			w = k ? t : PLUS(TIMES(t, -1), 1);
		v = sampled(im, g, i + 1, at);
		v = MUL(v, v_cast(im, w, v_type(im, v)));
		sum = k ? ADD(sum, v) : v;
	}
	return sum;
}

/* [N, C, ...] as [N, all places, C] */
static uint32_t as_rows(struct import *im, uint32_t a)
{
	static const uint32_t order[] = { 0, 2, 1 };
	const int64_t minus = -1;
	uint32_t shape[] = { v_shape_of(im, a, 0, 2), v_ints(im, 1, &minus) };

	return v_transpose(im, v_reshape(im, a, 2, shape), order);
}

static int grid_sample(struct import *im, uint32_t arg)
{
	static const uint32_t order[] = { 0, 2, 1 };
	uint32_t i, rank, v, type, at[3], grid = v_in(im, 1), a = v_in(im, 0);
	const int64_t keep[] = { 0, -1, 1 };
	struct grid g = { 0 };
	int ret = im_need(im, 2);

	(void)arg;
	if (ret)
		return ret;
	rank = im->in[0].rank;
	g.p.n = rank - 2;
	if (rank < 3 || rank > 5 || im->in[1].rank != rank || im->in[1].dims[rank - 1] != g.p.n)
		return im_fail(im, -EBADMSG, "a grid of %u dimensions for %u", im->in[1].rank,
			       rank);
	if (im_string(im, "mode", "nearest"))
		g.mode = SAMPLE_NEAREST;
	else if (im_string(im, "mode", "bicubic") || im_string(im, "mode", "cubic"))
		g.mode = SAMPLE_CUBIC;
	else if (!im_attr(im, "mode", ATTR_STRING) || im_string(im, "mode", "bilinear") ||
		 im_string(im, "mode", "linear"))
		g.mode = SAMPLE_LINEAR;
	else
		return im_fail(im, -EOPNOTSUPP, "its mode is not known");
	if (im_string(im, "padding_mode", "border"))
		g.outside = OUTSIDE_BORDER;
	else if (im_string(im, "padding_mode", "reflection"))
		g.outside = OUTSIDE_REFLECTION;
	else if (im_attr(im, "padding_mode", ATTR_STRING) &&
		 !im_string(im, "padding_mode", "zeros"))
		return im_fail(im, -EOPNOTSUPP, "its padding_mode is not known");
	g.corners = im_int(im, "align_corners", 0);
	type = im->in[1].type == ACCEL_HOST_F64 ? im->in[1].type : (uint32_t)ACCEL_F32;
	if (g.mode != SAMPLE_NEAREST && !type_is_real(im->in[0].type))
		a = v_cast(im, a, ACCEL_F32);
	g.rows = as_rows(im, a);
	for (i = 0; i < g.p.n; i++) {
		g.p.size[i] = size_of(im, a, 2 + i, type);
		/* The last number of a grid's place is along the first dimension. */
		v = v_slice(im, grid, rank - 1, g.p.n - 1 - i, g.p.n - i, 1);
		v = v_cast(im, v_shaped_to(im, ACCEL_SHAPE_RESHAPE, v, 3, keep), type);
		v = PLUS(v, 1);
		v = g.corners ? MUL(v, PLUS(g.p.size[i], -1)) : PLUS(MUL(v, g.p.size[i]), -1);
		v = TIMES(v, 0.5);
		g.p.at[i] = g.mode == SAMPLE_CUBIC ? v : kept_inside(im, &g, v, g.p.size[i]);
	}
	v = v_transpose(im, sampled(im, &g, 0, at), order);
	at[0] = v_shape_of(im, a, 0, 2);
	at[1] = v_shape_of(im, grid, 1, rank - 1);
	v = v_reshape(im, v, 2, at);
	return v_give(im, 0, v_cast(im, v, im->in[0].type));
}

/* The grid of an affine map: theta times the places of an image of that size, from -1 to 1 */
static int affine_grid(struct import *im, uint32_t arg)
{
	bool corners = im_int(im, "align_corners", 0);
	uint32_t i, k, n, type, theta = v_in(im, 0), size = v_in(im, 1), x, at, sum, out[3];
	int64_t list[4], zero = 0;
	int ret = im_need(im, 2);

	(void)arg;
	if (ret)
		return ret;
	type = im->in[0].type;
	n = im->in[0].rank == 3 ? (uint32_t)im->in[0].dims[1] : 0;
	if ((n != 2 && n != 3) || im->in[0].dims[2] != n + 1 || im->in[1].rank != 1 ||
	    im->in[1].dims[0] != n + 2)
		return im_fail(im, -EBADMSG, "no affine maps of two or three dimensions");
	for (k = 0; k < n; k++) {
		sum = NO_VALUE;
		for (i = 0; i <= n; i++) {
			/* [N, 1, 1(, 1)] */
			x = v_slice(im, v_slice(im, theta, 1, k, k + 1, 1), 2, i, i + 1, 1);
			list[0] = 3;
			if (n == 3)
				x = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, x, 1, list);
			if (i < n) {
				uint32_t axis = n - 1 - i, a, m = 0, length;

				length = v_slice(im, size, 0, 2 + axis, 3 + axis, 1);
				length = v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, length, 1, &zero);
				length = v_cast(im, length, ACCEL_HOST_S64);
				at = v_cast(im, v_iota(im, length), type);
				length = v_cast(im, length, type);
				if (corners) {
					/* One place alone is at -1. */
					length = v_binary(im, ACCEL_BINARY_MAX, PLUS(length, -1),
							  v_number(im, type, 1));
					at = v_binary(im, ACCEL_BINARY_DIV, TIMES(at, 2), length);
					at = PLUS(at, -1);
				} else {
					at = PLUS(TIMES(at, 2), 1);
					at = PLUS(v_binary(im, ACCEL_BINARY_DIV, at, length), -1);
				}
				for (a = 0; a <= n; a++)
					if (a != axis + 1)
						list[m++] = a;
				at = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, at, m, list);
				x = MUL(x, at);
			}
			sum = i ? ADD(sum, x) : x;
		}
		list[0] = n + 1;
		out[k] = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, sum, 1, list);
	}
	return v_give(im, 0, v_concat(im, n + 1, n, out));
}

/* --- regions ------------------------------------------------------------------------------- */

/* Edge @k of the regions, in the image, as [R, 1] */
static uint32_t edge(struct import *im, uint32_t k, double scale, double off)
{
	return PLUS(TIMES(v_slice(im, v_in(im, 1), 1, k, k + 1, 1), scale), off);
}

/**
 * struct line - where samples lie along a dimension
 * @begin: edges of the regions, [R, 1]
 * @end: likewise
 * @low: index of the neighbour before, S32 [R, samples]
 * @high: of the one behind
 * @t: how much that one counts
 * @inside: whether there are any
 */
struct line {
	uint32_t begin;
	uint32_t end;
	uint32_t low;
	uint32_t high;
	uint32_t t;
	uint32_t inside;
};

static void sample_line(struct import *im, bool half, int64_t bins, int64_t samples,
			uint32_t size, struct line *l)
{
	uint32_t length = SUB(l->end, l->begin), x, last, type = v_type(im, l->begin);
	int64_t all = bins * samples, zero = 0;

	if (!half)
		length = v_binary(im, ACCEL_BINARY_MAX, length, v_number(im, type, 1));
	x = v_cast(im, v_iota(im, v_number(im, ACCEL_HOST_S64, (double)all)), type);
	x = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, TIMES(PLUS(x, 0.5), 1 / (double)all), 1, &zero);
	x = ADD(l->begin, MUL(x, length));
	l->inside = v_binary(im, ACCEL_BINARY_AND, v_with(im, ACCEL_BINARY_GE, x, -1),
			     v_binary(im, ACCEL_BINARY_LE, x, size));
	last = PLUS(size, -1);
	x = bounded(im, x, 0, last);
	l->low = v_unary(im, ACCEL_UNARY_FLOOR, x);
	l->t = SUB(x, l->low);
	l->high = v_cast(im, v_binary(im, ACCEL_BINARY_MIN, PLUS(l->low, 1), last), ACCEL_S32);
	l->low = v_cast(im, l->low, ACCEL_S32);
}

/*
 * Averages, or maxima, of samples of bins of regions. A maximum is one of the weighted
 * neighbours, not of the samples: so are those of ONNX.
 */
static int roi_align(struct import *im, uint32_t arg)
{
	int64_t high = im_int(im, "output_height", 1), wide = im_int(im, "output_width", 1);
	static const uint32_t order[] = { 0, 3, 1, 2 };
	double scale = (double)im_float(im, "spatial_scale", 1), off;
	bool half = im->opset >= 16 && !im_string(im, "coordinate_transformation_mode",
						  "output_half_pixel");
	bool max = im_string(im, "mode", "max");
	int64_t s = im_int(im, "sampling_ratio", 0), one = 1, two = 2, shape[5];
	uint32_t a = v_in(im, 0), rows, batch, size[2], lists[2], k, v, sum = NO_VALUE, w, inside;
	struct line y, x;
	int ret = im_need(im, 3);

	(void)arg;
	if (ret)
		return ret;
	if (im->in[0].rank != 4 || im->in[1].rank != 2 || high < 1 || wide < 1 || high > 4096 ||
	    wide > 4096)
		return im_fail(im, -EBADMSG, "regions of %lld by %lld", (long long)high,
			       (long long)wide);
	if (s < 1 || s > 64)
		return im_fail(im, -EOPNOTSUPP, "a sampling_ratio of %lld", (long long)s);
	off = half ? -0.5 : 0;
	for (k = 0; k < 2; k++)
		size[k] = size_of(im, a, 2 + k, im->in[1].type);
	y.begin = edge(im, 1, scale, off);
	y.end = edge(im, 3, scale, off);
	sample_line(im, half, high, s, size[0], &y);
	x.begin = edge(im, 0, scale, off);
	x.end = edge(im, 2, scale, off);
	sample_line(im, half, wide, s, size[1], &x);
	/* Samples along y are [R, all, 1], along x [R, 1, all]. */
	inside = v_binary(im, ACCEL_BINARY_AND,
			  v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, y.inside, 1, &two),
			  v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, x.inside, 1, &one));
	rows = as_rows(im, a);
	batch = v_cast(im, v_in(im, 2), ACCEL_S32);
	shape[0] = -1;
	shape[1] = shape[2] = 1;
	batch = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, batch, 3, shape);
	batch = MUL(batch, MUL(v_cast(im, size[0], ACCEL_S32), v_cast(im, size[1], ACCEL_S32)));
	/* All images one after the other */
	lists[0] = v_ints(im, 1, shape);
	lists[1] = v_shape_of(im, rows, 2, 3);
	rows = v_reshape(im, rows, 2, lists);
	for (k = 0; k < 4; k++) {
		uint32_t wy = k & 2 ? y.t : PLUS(TIMES(y.t, -1), 1);
		uint32_t wx = k & 1 ? x.t : PLUS(TIMES(x.t, -1), 1);

		v = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, k & 2 ? y.high : y.low, 1, &two);
		v = MUL(v, v_cast(im, size[1], ACCEL_S32));
		v = ADD(v, v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, k & 1 ? x.high : x.low, 1, &one));
		v = v_gather(im, ACCEL_GATHER_AXIS, 0, rows, ADD(v, batch));
		w = MUL(v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, wy, 1, &two),
			v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, wx, 1, &one));
		w = v_select(im, inside, w, v_number(im, v_type(im, w), 0));
		w = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, w, 1, (int64_t[]) { 3 });
		v = MUL(v, v_cast(im, w, v_type(im, v)));
		sum = !k ? v : max ? v_binary(im, ACCEL_BINARY_MAX, sum, v) : ADD(sum, v);
	}
	/* [R high, samples, wide, samples, C] */
	shape[0] = -1;
	shape[1] = shape[3] = s;
	shape[2] = wide;
	lists[0] = v_ints(im, 4, shape);
	v = v_reduce(im, max ? ACCEL_REDUCE_MAX : ACCEL_REDUCE_MEAN, 0,
		     ACCEL_AXIS(1) | ACCEL_AXIS(3), v_reshape(im, sum, 2, lists));
	shape[1] = high;
	lists[0] = v_ints(im, 3, shape);
	v = v_reshape(im, v, 2, lists);
	return v_give(im, 0, v_transpose(im, v, order));
}

/* --- where maxima were --------------------------------------------------------------------- */

/* One element of each window: @of is padded; as many as the result of pooling has */
static uint32_t tap(struct import *im, const struct window *w, uint32_t of, uint32_t pooled,
		    const uint32_t *at)
{
	uint32_t i, starts[3], ends[3], axes, steps, from, to, out = NO_VALUE;
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	int64_t list[3], by[3], n;

	for (i = 0; i < w->n; i++) {
		n = (int64_t)at[i] * w->dilation[i];
		starts[i] = v_ints(im, 1, &n);
		ends[i] = TIMES(PLUS(v_shape_of(im, pooled, 2 + i, 3 + i), -1), w->stride[i]);
		ends[i] = PLUS(ends[i], (double)(n + 1));
		list[i] = 2 + i;
		by[i] = w->stride[i];
	}
	from = v_concat(im, 0, w->n, starts);
	to = v_concat(im, 0, w->n, ends);
	axes = v_ints(im, w->n, list);
	steps = v_ints(im, w->n, by);
	if (im->error.code || of == NO_VALUE || steps == NO_VALUE)
		return NO_VALUE;
	return im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, of }, { ACCEL_ARG_B, from },
					{ ACCEL_ARG_C, to }, { ACCEL_ARG_AUX0, axes },
					{ ACCEL_ARG_AUX1, steps }), 6, &out) ? NO_VALUE : out;
}

/*
 * Where in all of the input each maximum was: windows are compared element by element, and
 * what lies in the padding has the index -1, which every other one replaces.
 */
uint32_t v_max_index(struct import *im, const struct window *w, uint32_t a, uint32_t pooled,
		     bool columns)
{
	uint32_t order[ACCEL_GRAPH_MAX_RANK], shape[ACCEL_GRAPH_MAX_RANK], at[3] = { 0 }, index;
	uint32_t i, rank = v_rank(im, a);
	uint32_t best = NO_VALUE, where = NO_VALUE, x, n, better;
	struct accel_pad_desc pad = ACCEL_PAD_DESC_INIT, none;
	int64_t zero = 0;

	/* Numbers of the elements; of columns those of a transposed image */
	for (i = 0; i < rank; i++) {
		order[i] = i < 2 || !columns ? i : rank + 1 - i;
		shape[i] = v_shape_of(im, a, order[i], (int64_t)order[i] + 1);
	}
	n = v_reduce(im, ACCEL_REDUCE_PROD, 0, 1, v_shape_of(im, a, 0, INT64_MAX));
	index = v_iota(im, v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, n, 1, &zero));
	index = v_transpose(im, v_reshape(im, index, rank, shape), order);
	for (i = 0; i < w->n; i++) {
		pad.before[2 + i] = w->before[i];
		/* Windows at the end may reach further when these are rounded up. */
		pad.after[2 + i] = (int64_t)w->after[i] + w->stride[i];
	}
	none = pad;
	none.value = -1;
	pad.value = -(double)INFINITY;
	if (!type_is_real(v_type(im, a)))
		a = v_cast(im, a, ACCEL_F32);
	if (im->error.code || a == NO_VALUE || index == NO_VALUE ||
	    im_one(im, &pad.hdr, a, &a) || im_one(im, &none.hdr, index, &index))
		return NO_VALUE;
	for (;;) {
		x = tap(im, w, a, pooled, at);
		n = tap(im, w, index, pooled, at);
		if (best == NO_VALUE) {
			best = x;
			where = n;
		} else {
			better = v_binary(im, ACCEL_BINARY_OR,
					  v_binary(im, ACCEL_BINARY_GT, x, best),
					  v_with(im, ACCEL_BINARY_LT, where, 0));
			best = v_select(im, better, x, best);
			where = v_select(im, better, n, where);
		}
		if (im->error.code)
			return NO_VALUE;
		for (i = w->n; i-- > 0;) {
			if (++at[i] < w->kernel[i])
				break;
			at[i] = 0;
		}
		if (i == UINT32_MAX)
			return where;
	}
}

/* --- other sizes ---------------------------------------------------------------------------- */

/* As much cut off, or added, before as behind; the odd one behind */
static int center_crop_pad(struct import *im, uint32_t arg)
{
	const struct attr *axes = im_attr(im, "axes", ATTR_INTS);
	uint32_t i, n, axis, more[ACCEL_GRAPH_MAX_RANK], before, after, list, out;
	struct accel_pad_desc d = ACCEL_PAD_DESC_INIT;
	int64_t which[ACCEL_GRAPH_MAX_RANK];
	int ret = im_need(im, 2);

	(void)arg;
	if (ret)
		return ret;
	n = axes ? axes->int_count : im->in[0].rank;
	if (n > im->in[0].rank || im->in[1].rank != 1 || im->in[1].dims[0] != n)
		return im_fail(im, -EBADMSG, "sizes of %u dimensions", n);
	for (i = 0; i < n; i++) {
		ret = im_axis(im, axes ? axes->ints[i] : (int64_t)i, im->in[0].rank, &axis);
		if (ret)
			return ret;
		which[i] = axis;
		more[i] = v_shape_of(im, v_in(im, 0), axis, (int64_t)axis + 1);
	}
	list = v_cast(im, v_in(im, 1), ACCEL_HOST_S64);
	list = SUB(list, v_concat(im, 0, n, more));
	before = v_with(im, ACCEL_BINARY_QUOT, list, 2);
	after = SUB(list, before);
	list = v_concat(im, 0, 2, (uint32_t[]) { before, after });
	axis = v_ints(im, n, which);
	if (im->error.code)
		return im->error.code;
	ret = im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, im->in[0].value }, { ACCEL_ARG_B, list },
				       { ACCEL_ARG_AUX0, axis }), 4, &out);
	return ret ? ret : im_give(im, 0, out);
}

const struct op onnx_sample[] = {
	{ "GridSample", grid_sample, 0 }, { "AffineGrid", affine_grid, 0 },
	{ "RoiAlign", roi_align, 0 }, { "CenterCropPad", center_crop_pad, 0 },
	{ 0 }
};
