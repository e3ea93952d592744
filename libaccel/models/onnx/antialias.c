// SPDX-License-Identifier: MIT
/*
 * Resampling without aliases, by matrices that blur.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

/* Elements along the dimensions that are resampled, and of a matrix for one, at most */
#define MAX_ALONG	(1 << 16)
#define MAX_WEIGHTS	(1 << 26)

/* Where element @at of @to is among @from, in units of these */
static double place_of(uint32_t coord, int64_t at, int64_t from, int64_t to, double scale)
{
	const double x = (double)at;

	switch (coord) {
	case ACCEL_COORD_ASYMMETRIC:
		return x / scale;
	case ACCEL_COORD_ALIGN_CORNERS:
		return to > 1 ? x * (double)(from - 1) / (double)(to - 1) : 0;
	case ACCEL_COORD_PYTORCH_HALF_PIXEL:
		return to > 1 ? (x + 0.5) / scale - 0.5 : -0.5;
	case ACCEL_COORD_HALF_PIXEL_SYMMETRIC:
		return (double)from / 2 * (1 - (double)to / (scale * (double)from)) +
		       (x + 0.5) / scale - 0.5;
	default:
		return (x + 0.5) / scale - 0.5;
	}
}

/* How much a neighbour counts that is so far away: a triangle, or Keys' cubic */
static double filter(const struct accel_resize_desc *d, double x)
{
	const double a = (double)d->cubic;

	x = fabs(x);
	if (d->func == ACCEL_RESIZE_LINEAR)
		return x < 1 ? 1 - x : 0;
	return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 :
	       x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/**
 * struct weights - a matrix that resamples
 * @data: its elements
 * @wide: they are doubles, else floats
 * @from: elements of a row
 * @to: rows
 */
struct weights {
	void *data;
	bool wide;
	int64_t from;
	int64_t to;
};

static void add_weight(struct weights *m, int64_t at, int64_t k, double w)
{
	if (m->wide)
		((double *)m->data)[at * m->from + k] += w;
	else
		((float *)m->data)[at * m->from + k] += (float)w;
}

/*
 * What an element is made of: a filter as wide as the distance of elements, edges repeated; false:
 * weights that are nothing in all, or no numbers
 */
static bool fill_row(const struct accel_resize_desc *d, int64_t at, double scale,
		     struct weights *m)
{
	const int64_t from = m->from;
	const double narrow = scale < 1 ? scale : 1;
	const int64_t start = (int64_t)floor((d->func == ACCEL_RESIZE_LINEAR ? -1 : -2) / narrow) +
			      1;
	const double x = place_of(d->coord, at, from, m->to, scale), whole = ceil(x) - 1;
	double sum = 0, w;
	int64_t i, k;

	/* Of a place that is an element's the one on its left begins. */
	for (i = start; i < 2 - start; i++) {
		k = (int64_t)whole + i;
		if (!(d->flags & ACCEL_RESIZE_EXCLUDE && (k < 0 || k >= from)))
			sum += filter(d, ((double)i - (x - whole)) * narrow);
	}
	for (i = start; sum != 0 && i < 2 - start; i++) {
		k = (int64_t)whole + i;
		if (d->flags & ACCEL_RESIZE_EXCLUDE && (k < 0 || k >= from))
			continue;
		w = filter(d, ((double)i - (x - whole)) * narrow) / sum;
		add_weight(m, at, k < 0 ? 0 : k >= from ? from - 1 : k, w);
	}
	return isfinite(sum) && sum != 0;
}

/* @x resampled along one dimension: a product with a matrix of weights */
static uint32_t v_resampled(struct import *im, const struct accel_resize_desc *d, uint32_t x,
			    uint32_t axis, int64_t from, int64_t to, double scale)
{
	uint32_t rank = v_rank(im, x), order[ACCEL_GRAPH_MAX_RANK], i, w = NO_VALUE;
	struct weights m = { NULL, v_type(im, x) == ACCEL_HOST_F64, from, to };
	struct accel_value v = ACCEL_VALUE_INIT;
	int64_t at;
	int ret;

	if (im->error.code || x == NO_VALUE)
		return NO_VALUE;
	m.data = calloc((size_t)(to * from), m.wide ? sizeof(double) : sizeof(float));
	if (!m.data) {
		im_fail(im, -ENOMEM, "out of memory");
		return NO_VALUE;
	}
	for (at = 0; at < to; at++)
		if (!fill_row(d, at, scale, &m)) {
			free(m.data);
			im_fail(im, -EOPNOTSUPP, "antialias with weights of no sum");
			return NO_VALUE;
		}
	v.type = m.wide ? ACCEL_HOST_F64 : ACCEL_F32;
	v.rank = 2;
	v.dims[0] = to;
	v.dims[1] = from;
	ret = im_graph(im, accel_graph_constant(im->model->graph, &v, m.data, free, m.data, &w));
	if (ret) {
		free(m.data);
		return NO_VALUE;
	}
	for (i = 0; i < rank; i++)
		order[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
	if (axis != rank - 1)
		x = v_transpose(im, x, order);
	x = v_product(im, ACCEL_GEMM_TRANS_B, ACCEL_ACT_NONE, x, w, NO_VALUE, NO_VALUE);
	return axis == rank - 1 ? x : v_transpose(im, x, order);
}

/* Size and scale of a dimension, from lists that have to be known */
static int new_size(struct import *im, bool sizes, uint32_t at, uint32_t count, int64_t from,
		    int64_t *to, double *scale)
{
	const struct ref *in = im_input(im, sizes ? 3 : 2);
	int64_t list[ACCEL_GRAPH_MAX_RANK];
	uint32_t n = 0;
	float f;

	if (sizes ? !im_numbers(in, list, &n, ACCEL_GRAPH_MAX_RANK) :
	    !in->data || in->type != ACCEL_F32 || in->rank != 1)
		return im_fail(im, -EOPNOTSUPP, "antialias to what is not constant");
	if ((sizes ? n : (uint64_t)in->dims[0]) != count)
		return im_fail(im, -EBADMSG, "a list that is not as long as its axes");
	if (sizes) {
		*to = list[at];
		*scale = from ? (double)*to / (double)from : 1;
	} else {
		memcpy(&f, (const char *)in->data + at * sizeof(f), sizeof(f));
		*scale = (double)f;
		*to = *scale > 0 && *scale < MAX_ALONG ? (int64_t)floor((double)from * *scale) : 0;
	}
	/* Of nothing, as long as it stays so */
	if (!from && !*to && *scale > 0)
		*scale = 1;
	else if (*to < 1 || *to > MAX_ALONG || from < 1 || from > MAX_ALONG ||
		 *to * from > MAX_WEIGHTS)
		return im_fail(im, -EOPNOTSUPP, "antialias from %lld to %lld", (long long)from,
			       (long long)*to);
	return 0;
}

/*
 * With antialias each element is a sum of as many neighbours as its distance from the next one
 * wants. Products with matrices do that, where sizes are known.
 */
int im_antialias(struct import *im, const struct accel_resize_desc *d, bool sizes)
{
	const struct attr *axes = im_attr(im, "axes", ATTR_INTS);
	const uint32_t count = axes ? axes->int_count : im->in[0].rank;
	const uint32_t type = im->in[0].type;
	uint32_t x = im->in[0].value, i, axis = 0;
	double scale = 1;
	int64_t to = 0;
	int ret = !type_is_real(type) ?
		  im_fail(im, -EOPNOTSUPP, "antialias of %s", accel_type_name(type)) :
		  d->coord >= ACCEL_COORD_COUNT ?
		  im_fail(im, -EOPNOTSUPP, "antialias with such coordinates") :
		  count > im->in[0].rank ?
		  im_fail(im, -EBADMSG, "%u axes of %u dimensions", count, im->in[0].rank) : 0;

	if (type != ACCEL_HOST_F64)
		x = v_cast(im, x, ACCEL_F32);
	for (i = 0; i < count && !ret; i++) {
		ret = im_axis(im, axes ? axes->ints[i] : i, im->in[0].rank, &axis);
		/* A size as it is may be a symbol. */
		if (!ret && im_is_symbol(im, 0, axis) && (axes || axis > 1))
			ret = im_fail(im, -EOPNOTSUPP, "antialias of dimension %u, a symbol", axis);
		if (!ret)
			ret = new_size(im, sizes, i, count, im->in[0].dims[axis], &to, &scale);
		if (!ret && (to != im->in[0].dims[axis] || scale < 1 || scale > 1))
			x = v_resampled(im, d, x, axis, im->in[0].dims[axis], to, scale);
	}
	return ret ? ret : v_give(im, 0, v_cast(im, x, type));
}
