// SPDX-License-Identifier: MIT
/*
 * Operators on images: norms of channels, unpooling.
 */
#include <errno.h>
#include <string.h>

#include "onnx.h"

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

/* Of doubles: each group, or channel, is a line that is normed. */
static uint32_t norm_lines(struct import *im, int64_t groups, float eps, uint32_t scale,
			   uint32_t bias)
{
	uint32_t a = v_in(im, 0), y, shape, channels = v_shape_of(im, a, 1, 2), lines[4];
	const int64_t one = 1;

	shape = v_shape_of(im, a, 0, INT64_MAX);
	/* All sizes are told: channels that groups do not divide are refused. */
	lines[0] = v_shape_of(im, a, 0, 1);
	lines[1] = groups ? v_ints(im, 1, &groups) : channels;
	lines[2] = groups ? v_with(im, ACCEL_BINARY_QUOT, channels, (double)groups) :
		   v_ints(im, 1, &one);
	lines[3] = v_elements(im, a, 2);
	y = v_reshape(im, a, 4, lines);
	y = v_norm(im, ACCEL_NORM_LAYER, ACCEL_AXIS(2) | ACCEL_AXIS(3), eps, y, NO_VALUE,
		   NO_VALUE);
	y = v_shaped(im, ACCEL_SHAPE_RESHAPE, y, shape);
	scale = v_of_channels(im, a, scale);
	bias = v_of_channels(im, a, bias);
	return v_binary(im, ACCEL_BINARY_ADD, v_binary(im, ACCEL_BINARY_MUL, y, scale), bias);
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
	if (im->in[0].type == ACCEL_HOST_F64 && im->in[0].rank >= 3)
		return v_give(im, 0, norm_lines(im, d.groups, d.eps, scale, bias));
	ret = im->error.code;
	if (!ret)
		ret = im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, im->in[0].value },
					       { ACCEL_ARG_SCALE, scale },
					       { ACCEL_ARG_BIAS, bias }), 4, &out);
	return ret ? ret : im_give(im, 0, out);
}

/* Mean 0 and variance 1 along dimensions: of images, unless it says which; all, if it says none */
static int mean_variance(struct import *im, uint32_t arg)
{
	static const int64_t most[] = { 0, 2, 3 };
	const struct attr *a = im_attr(im, "axes", ATTR_INTS);
	uint32_t i, axis = 0, mask = 0, count = a ? a->int_count : ARRAY_SIZE(most);
	int ret = im_need(im, 1);

	(void)arg;
	for (i = 0; i < count && !ret; i++) {
		ret = im_axis(im, a ? a->ints[i] : most[i], im->in[0].rank, &axis);
		mask |= ACCEL_AXIS(axis);
	}
	if (ret)
		return ret;
	/* A number is its own mean, also where it is not finite. */
	if (!im->in[0].rank)
		return v_give(im, 0, v_binary(im, ACCEL_BINARY_SUB, v_in(im, 0), v_in(im, 0)));
	for (i = 0; !count && i < im->in[0].rank; i++)
		mask |= ACCEL_AXIS(i);
	/* ONNX adds 1e-9 to the deviation, so that a constant is none. */
	return v_give(im, 0, v_norm(im, ACCEL_NORM_LAYER, mask, 0.000000001f * 0.000000001f,
				    v_in(im, 0), NO_VALUE, NO_VALUE));
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
	const int64_t one = 1;
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
	list[1] = v_elements(im, a, 2);
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
	{ "InstanceNormalization", norm, ACCEL_NORM_INSTANCE },
	{ "GroupNormalization", norm, ACCEL_NORM_GROUP },
	{ "MeanVarianceNormalization", mean_variance, 0 },
	{ "LpNormalization", lp_norm, 0 }, { "LRN", lrn, 0 }, { "MaxUnpool", max_unpool, 0 },
	{ 0 }
};
