// SPDX-License-Identifier: MIT
/*
 * Operators on images: resampling, norms of channels, unpooling.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

/**
 * struct word - a word of an attribute
 * @text: the word
 * @value: what the library calls it
 */
struct word {
	const char *text;
	uint32_t value;
};

static uint32_t word_of(struct import *im, const char *name, const struct word *words, uint32_t n,
			uint32_t otherwise)
{
	uint32_t i;

	if (!im_attr(im, name, ATTR_STRING))
		return otherwise;
	for (i = 0; i < n; i++)
		if (im_string(im, name, words[i].text))
			return words[i].value;
	im_fail(im, -EOPNOTSUPP, "its %s is not known", name);
	return 0;
}

static const struct word modes[] = {
	{ "nearest", ACCEL_RESIZE_NEAREST }, { "linear", ACCEL_RESIZE_LINEAR },
	{ "bilinear", ACCEL_RESIZE_LINEAR }, { "cubic", ACCEL_RESIZE_CUBIC },
};

static const struct word coords[] = {
	{ "half_pixel", ACCEL_COORD_HALF_PIXEL }, { "asymmetric", ACCEL_COORD_ASYMMETRIC },
	{ "align_corners", ACCEL_COORD_ALIGN_CORNERS },
	{ "pytorch_half_pixel", ACCEL_COORD_PYTORCH_HALF_PIXEL },
	{ "half_pixel_symmetric", ACCEL_COORD_HALF_PIXEL_SYMMETRIC },
};

static const struct word nearests[] = {
	{ "round_prefer_floor", ACCEL_NEAREST_HALF_DOWN },
	{ "round_prefer_ceil", ACCEL_NEAREST_HALF_UP },
	{ "floor", ACCEL_NEAREST_FLOOR }, { "ceil", ACCEL_NEAREST_CEIL },
};

/* D = A by scales or sizes, of which there is one */
static int resample(struct import *im, const struct accel_resize_desc *d, uint32_t scales,
		    uint32_t sizes)
{
	const struct attr *axes = im_attr(im, "axes", ATTR_INTS);
	struct accel_graph_arg args[4] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW } };
	uint32_t n = 3, out;
	int ret;

	args[1] = (struct accel_graph_arg) { ACCEL_ARG_A, im->in[0].value };
	args[2] = (struct accel_graph_arg) { sizes != NO_VALUE ? ACCEL_ARG_B : ACCEL_ARG_C,
					     sizes != NO_VALUE ? sizes : scales };
	if (axes)
		args[n++] = (struct accel_graph_arg) {
			ACCEL_ARG_AUX0, v_ints(im, axes->int_count, axes->ints)
		};
	ret = im->error.code;
	if (!ret)
		ret = im_node(im, &d->hdr, args, n, &out);
	return ret ? ret : im_give(im, 0, out);
}

/* A list that is there and is not known to be empty */
static uint32_t list_in(struct import *im, uint32_t index)
{
	uint32_t v = v_in(im, index);

	return v != NO_VALUE && im->in[index].rank == 1 && !im->in[index].dims[0] ? NO_VALUE : v;
}

/* --- resampling without aliases ------------------------------------------------------------- */

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

/* What an element is made of: a filter as wide as the distance of elements, edges repeated */
static void fill_row(const struct accel_resize_desc *d, int64_t at, int64_t from, int64_t to,
		     double scale, float *row)
{
	const double narrow = scale < 1 ? scale : 1;
	const int64_t start = (int64_t)floor((d->func == ACCEL_RESIZE_LINEAR ? -1 : -2) / narrow) +
			      1;
	const double x = place_of(d->coord, at, from, to, scale), whole = ceil(x) - 1;
	double sum = 0, w;
	int64_t i, k;

	/* Of a place that is an element's the one on its left begins. */
	for (i = start; i < 2 - start; i++) {
		k = (int64_t)whole + i;
		if (!(d->flags & ACCEL_RESIZE_EXCLUDE && (k < 0 || k >= from)))
			sum += filter(d, ((double)i - (x - whole)) * narrow);
	}
	for (i = start; i < 2 - start; i++) {
		k = (int64_t)whole + i;
		if (d->flags & ACCEL_RESIZE_EXCLUDE && (k < 0 || k >= from))
			continue;
		w = filter(d, ((double)i - (x - whole)) * narrow) / sum;
		row[k < 0 ? 0 : k >= from ? from - 1 : k] += (float)w;
	}
}

/* @x resampled along one dimension: a product with a matrix of weights */
static uint32_t v_resampled(struct import *im, const struct accel_resize_desc *d, uint32_t x,
			    uint32_t axis, int64_t from, int64_t to, double scale)
{
	uint32_t rank = v_rank(im, x), order[ACCEL_GRAPH_MAX_RANK], i, w = NO_VALUE;
	const int64_t dims[2] = { to, from };
	struct accel_value v = ACCEL_VALUE_INIT;
	float *data;
	int64_t at;
	int ret;

	if (im->error.code || x == NO_VALUE)
		return NO_VALUE;
	data = calloc((size_t)(to * from), sizeof(*data));
	if (!data) {
		im_fail(im, -ENOMEM, "out of memory");
		return NO_VALUE;
	}
	for (at = 0; at < to; at++)
		fill_row(d, at, from, to, scale, data + at * from);
	v.type = ACCEL_F32;
	v.rank = 2;
	memcpy(v.dims, dims, sizeof(dims));
	ret = im_graph(im, accel_graph_constant(im->model->graph, &v, data, free, data, &w));
	if (ret) {
		free(data);
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
		*scale = (double)*to / (double)from;
	} else {
		memcpy(&f, (const char *)in->data + at * sizeof(f), sizeof(f));
		*scale = (double)f;
		*to = *scale > 0 && *scale < MAX_ALONG ? (int64_t)floor((double)from * *scale) : 0;
	}
	if (*to < 1 || *to > MAX_ALONG || from < 1 || from > MAX_ALONG ||
	    *to * from > MAX_WEIGHTS)
		return im_fail(im, -EOPNOTSUPP, "antialias from %lld to %lld", (long long)from,
			       (long long)*to);
	return 0;
}

/*
 * With antialias each element is a sum of as many neighbours as its distance from the next one
 * wants. Products with matrices do that, where sizes are known.
 */
static int antialias(struct import *im, const struct accel_resize_desc *d, bool sizes)
{
	const struct attr *axes = im_attr(im, "axes", ATTR_INTS);
	const uint32_t count = axes ? axes->int_count : im->in[0].rank;
	uint32_t x = im->in[0].value, i, axis = 0;
	double scale = 1;
	int64_t to = 0;
	int ret = d->func == ACCEL_RESIZE_NEAREST ?
		  im_fail(im, -EOPNOTSUPP, "antialias of what is nearest") :
		  im->in[0].type != ACCEL_F32 ?
		  im_fail(im, -EOPNOTSUPP, "antialias of another type than fp32") :
		  count > im->in[0].rank ?
		  im_fail(im, -EBADMSG, "%u axes of %u dimensions", count, im->in[0].rank) : 0;

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
	return ret ? ret : v_give(im, 0, x);
}

static int resize(struct import *im, uint32_t arg)
{
	struct accel_resize_desc d = ACCEL_RESIZE_DESC_INIT;
	uint32_t scales, sizes;
	int ret = im_need(im, 1);

	(void)arg;
	if (ret)
		return ret;
	d.func = word_of(im, "mode", modes, ARRAY_SIZE(modes), ACCEL_RESIZE_NEAREST);
	d.coord = word_of(im, "coordinate_transformation_mode", coords, ARRAY_SIZE(coords),
			  im->opset < 11 ? ACCEL_COORD_ASYMMETRIC : ACCEL_COORD_HALF_PIXEL);
	if (d.func == ACCEL_RESIZE_NEAREST)
		d.nearest = word_of(im, "nearest_mode", nearests, ARRAY_SIZE(nearests),
				    im->opset < 11 ? ACCEL_NEAREST_FLOOR : ACCEL_NEAREST_HALF_DOWN);
	if (d.func == ACCEL_RESIZE_CUBIC) {
		d.flags = ACCEL_RESIZE_CUBIC_A;
		d.cubic = im_float(im, "cubic_coeff_a", -0.75f);
		if (im_int(im, "exclude_outside", 0))
			d.flags |= ACCEL_RESIZE_EXCLUDE;
	}
	if (im->error.code)
		return im->error.code;
	if (im_attr(im, "keep_aspect_ratio_policy", ATTR_STRING) &&
	    !im_string(im, "keep_aspect_ratio_policy", "stretch"))
		return im_fail(im, -EOPNOTSUPP, "its keep_aspect_ratio_policy is not known");
	scales = list_in(im, im->opset < 11 ? 1 : 2);
	sizes = im->opset < 11 ? NO_VALUE : list_in(im, 3);
	if (scales == NO_VALUE && sizes == NO_VALUE)
		return im_fail(im, -EBADMSG, "neither scales nor sizes");
	if (im_int(im, "antialias", 0))
		return antialias(im, &d, sizes != NO_VALUE);
	return resample(im, &d, scales, sizes);
}

/* Scales are an attribute before version 9. */
static int upsample(struct import *im, uint32_t arg)
{
	const struct attr *list = im_attr(im, "scales", ATTR_FLOATS);
	struct accel_resize_desc d = ACCEL_RESIZE_DESC_INIT;
	uint32_t scales = v_in(im, 1), one[8], i;
	const int64_t axis = 0;
	int ret = im_need(im, 1);

	(void)arg;
	if (ret)
		return ret;
	d.func = word_of(im, "mode", modes, 3, ACCEL_RESIZE_NEAREST);
	d.coord = ACCEL_COORD_ASYMMETRIC;
	if (d.func == ACCEL_RESIZE_NEAREST)
		d.nearest = ACCEL_NEAREST_FLOOR;
	if (scales == NO_VALUE && list && list->float_count &&
	    list->float_count <= ARRAY_SIZE(one)) {
		for (i = 0; i < list->float_count; i++)
			one[i] = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE,
					     v_number(im, ACCEL_F32, (double)list->floats[i]), 1,
					     &axis);
		scales = v_concat(im, 0, list->float_count, one);
	}
	if (im->error.code)
		return im->error.code;
	if (scales == NO_VALUE)
		return im_fail(im, -EOPNOTSUPP, "it has no scales");
	return resample(im, &d, scales, NO_VALUE);
}

/* --- norms ---------------------------------------------------------------------------------- */

/* Before version 21 a norm of groups has a number for each of them: it is that of its channels. */
static uint32_t of_channels(struct import *im, uint32_t index, int64_t groups)
{
	uint32_t v = v_in(im, index), dims[2];
	const int64_t minus = -1, one = 1;

	if (im->opset >= 21 || im->in[index].rank != 1 || im->in[index].dims[0] != groups)
		return v;
	dims[0] = v_ints(im, 1, &groups);
	dims[1] = v_with(im, ACCEL_BINARY_QUOT, v_shape_of(im, v_in(im, 0), 1, 2), (double)groups);
	v = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, v, 1, &one);
	v = v_shaped(im, ACCEL_SHAPE_EXPAND, v, v_concat(im, 0, 2, dims));
	return v_shaped_to(im, ACCEL_SHAPE_RESHAPE, v, 1, &minus);
}

static int norm(struct import *im, uint32_t func)
{
	struct accel_norm_desc d = ACCEL_NORM_DESC_INIT;
	int64_t groups = im_int(im, "num_groups", 1);
	uint32_t out, scale, bias;
	int ret = im_need(im, 3);

	if (!ret && (groups < 1 || groups > 1 << 20))
		ret = im_fail(im, -EBADMSG, "%lld groups", (long long)groups);
	if (ret)
		return ret;
	d.func = func;
	d.eps = im_float(im, "epsilon", 0.00001f);
	scale = v_in(im, 1);
	bias = v_in(im, 2);
	if (func == ACCEL_NORM_GROUP) {
		d.groups = (uint32_t)groups;
		scale = of_channels(im, 1, groups);
		bias = of_channels(im, 2, groups);
	}
	ret = im->error.code;
	if (!ret)
		ret = im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, im->in[0].value },
					       { ACCEL_ARG_SCALE, scale },
					       { ACCEL_ARG_BIAS, bias }), 4, &out);
	return ret ? ret : im_give(im, 0, out);
}

/* Mean 0 and variance 1 along dimensions; all but the channels unless it says so */
static int mean_variance(struct import *im, uint32_t arg)
{
	const struct attr *axes = im_attr(im, "axes", ATTR_INTS);
	struct accel_norm_desc d = ACCEL_NORM_DESC_INIT;
	uint32_t i, axis = 0;
	int ret = im_need(im, 1);

	(void)arg;
	if (ret)
		return ret;
	/* ONNX adds 1e-9 to the deviation, so that a constant is none. */
	d.eps = 0.000000001f * 0.000000001f;
	for (i = 0, d.axes = axes ? 0 : 13; axes && i < axes->int_count; i++) {
		if (im_axis(im, axes->ints[i], im->in[0].rank, &axis))
			return im->error.code;
		d.axes |= ACCEL_AXIS(axis);
	}
	return im_give_one(im, &d.hdr);
}

/* x / (sum of abs(x)^p)^(1/p) along a dimension */
static int lp_norm(struct import *im, uint32_t arg)
{
	uint32_t axis = 0, a = v_in(im, 0), sum;
	int64_t p = im_int(im, "p", 2);
	int ret = im_need(im, 1);

	(void)arg;
	if (!ret)
		ret = im_axis(im, im_int(im, "axis", -1), im->in[0].rank, &axis);
	if (!ret && p != 1 && p != 2)
		ret = im_fail(im, -EOPNOTSUPP, "p of %lld", (long long)p);
	if (ret)
		return ret;
	sum = v_reduce(im, p == 1 ? ACCEL_REDUCE_L1 : ACCEL_REDUCE_L2, 0, ACCEL_AXIS(axis), a);
	/* Where all is zero so is the result. */
	sum = v_select(im, v_with(im, ACCEL_BINARY_EQ, sum, 0),
		       v_number(im, im->in[0].type, 1), sum);
	return v_give(im, 0, v_binary(im, ACCEL_BINARY_DIV, a, sum));
}

/*
 * x / (bias + alpha mean)^beta, where the mean is that of the squares of @size
 * channels, with zeros where there are none: an average over channels.
 */
static int lrn(struct import *im, uint32_t arg)
{
	double alpha = (double)im_float(im, "alpha", 0.0001f);
	double beta = (double)im_float(im, "beta", 0.75f);
	double bias = (double)im_float(im, "bias", 1);
	struct accel_pool_desc d = ACCEL_POOL_DESC_INIT;
	int64_t size = im_int(im, "size", 1);
	const int64_t minus = -1, one = 1;
	uint32_t a = v_in(im, 0), list[2], shape, v;
	int ret = im_need(im, 1);

	(void)arg;
	if (ret)
		return ret;
	if (im->in[0].rank < 3 || size < 1 || size > 65536)
		return im_fail(im, -EOPNOTSUPP, "%u dimensions, a size of %lld", im->in[0].rank,
			       (long long)size);
	d.func = ACCEL_POOL_AVERAGE;
	d.flags = ACCEL_POOL_COUNT_PAD;
	d.kernel[0] = (uint32_t)size;
	d.kernel[1] = 1;
	d.pad_begin[0] = (uint32_t)(size - 1) / 2;
	d.pad_end[0] = (uint32_t)(size - 1) - d.pad_begin[0];
	shape = v_shape_of(im, a, 0, INT64_MAX);
	v = v_unary(im, ACCEL_UNARY_SQUARE, a);
	/* [N, 1, C, all] */
	list[0] = v_shape_of(im, a, 0, 2);
	list[1] = v_ints(im, 1, &minus);
	v = v_reshape(im, v, 2, list);
	v = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, v, 1, &one);
	if (im->error.code || im_one(im, &d.hdr, v, &v))
		return im->error.code;
	v = v_shaped(im, ACCEL_SHAPE_RESHAPE, v, shape);
	v = v_with(im, ACCEL_BINARY_ADD, v_with(im, ACCEL_BINARY_MUL, v, alpha), bias);
	v = v_with(im, ACCEL_BINARY_POW, v, beta);
	return v_give(im, 0, v_binary(im, ACCEL_BINARY_DIV, a, v));
}

/* --- unpooling ----------------------------------------------------------------------------- */

/*
 * Indices count in the shape that pooling came from, as far as the attributes
 * tell; another shape of the output has that one in its corner.
 */
static int max_unpool(struct import *im, uint32_t arg)
{
	struct accel_scatter_desc d = ACCEL_SCATTER_DESC_INIT;
	uint32_t i, rank = im->in[0].rank, v, a = v_in(im, 0);
	int64_t dims[ACCEL_GRAPH_MAX_RANK], pads[2 * ACCEL_GRAPH_MAX_RANK] = { 0 };
	const int64_t minus = -1;
	int64_t all = 1;
	struct window w = { 0 };
	int ret = im_need(im, 2);

	(void)arg;
	if (ret)
		return ret;
	w.n = rank - 2;
	if (rank < 3 || rank > 5 || !im_attr(im, "kernel_shape", ATTR_INTS))
		return im_fail(im, -EOPNOTSUPP, "%u dimensions, or no kernel", rank);
	for (i = 0; i < rank; i++)
		if (im_is_symbol(im, 0, i))
			return im_fail(im, -EOPNOTSUPP, "an input whose size is a symbol");
	ret = read_window(im, &w, false);
	if (ret)
		return ret;
	for (i = 0; i < rank; i++) {
		dims[i] = im->in[0].dims[i];
		if (i >= 2)
			dims[i] = (dims[i] - 1) * w.stride[i - 2] + w.kernel[i - 2] -
				  w.before[i - 2] - w.after[i - 2];
		if (dims[i] < 0 || __builtin_mul_overflow(all, dims[i], &all))
			return im_fail(im, -EBADMSG, "its result has no size");
	}
	v = v_fill(im, im->in[0].type, v_ints(im, 1, &all), 0);
	v = v_scatter(im, &d, v, v_shaped_to(im, ACCEL_SHAPE_RESHAPE, v_in(im, 1), 1, &minus),
		      v_shaped_to(im, ACCEL_SHAPE_RESHAPE, a, 1, &minus));
	v = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, v, rank, dims);
	if (v_in(im, 2) != NO_VALUE) {
		struct accel_pad_desc pad = ACCEL_PAD_DESC_INIT;
		uint32_t zeros = v_ints(im, rank, pads), after;

		after = v_binary(im, ACCEL_BINARY_SUB, v_in(im, 2), v_ints(im, rank, dims));
		after = v_concat(im, 0, 2, (uint32_t[]) { zeros, after });
		ret = im->error.code ? im->error.code : im_two(im, &pad.hdr, v, after, &v);
	}
	return ret ? ret : v_give(im, 0, v);
}

const struct op onnx_image[] = {
	{ "Resize", resize, 0 }, { "Upsample", upsample, 0 },
	{ "InstanceNormalization", norm, ACCEL_NORM_INSTANCE },
	{ "GroupNormalization", norm, ACCEL_NORM_GROUP },
	{ "MeanVarianceNormalization", mean_variance, 0 },
	{ "LpNormalization", lp_norm, 0 }, { "LRN", lrn, 0 }, { "MaxUnpool", max_unpool, 0 },
	{ 0 }
};
