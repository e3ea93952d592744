// SPDX-License-Identifier: MIT
/*
 * Operators of networks: products, pooling, norms, reductions.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "onnx.h"

/* --- windows --------------------------------------------------------------------------- */

static int window_list(struct import *im, const char *name, uint32_t count, uint32_t *first,
		       uint32_t n, uint32_t *second)
{
	const struct attr *a = im_attr(im, name, ATTR_INTS);
	uint32_t i;

	/* A list of nothing is none. */
	if (!a || !a->int_count)
		return 0;
	if (a->int_count != count)
		return im_fail(im, -EBADMSG, "%s has %u numbers, not %u", name, a->int_count,
			       count);
	for (i = 0; i < count; i++) {
		if (a->ints[i] < 0 || a->ints[i] > 65536)
			return im_fail(im, -EOPNOTSUPP, "%s has %lld", name, (long long)a->ints[i]);
		if (i < n)
			first[i] = (uint32_t)a->ints[i];
		else
			second[i - n] = (uint32_t)a->ints[i];
	}
	return 0;
}

/*
 * Padding that makes results of size in / stride, the odd one behind or before. Steps of one need
 * the same of each size.
 */
static void same_padding(struct import *im, struct window *w, bool upper)
{
	int64_t in, out, pad;
	uint32_t i;

	for (i = 0; i < w->n; i++)
		w->late |= w->stride[i] > 1 && im_is_symbol(im, 0, 2 + i);
	for (i = 0; i < w->n && !w->late; i++) {
		in = im->in[0].dims[2 + i];
		out = (in + w->stride[i] - 1) / w->stride[i];
		pad = (out - 1) * w->stride[i] + 1 - in +
		      ((int64_t)w->kernel[i] - 1) * w->dilation[i];
		pad = pad < 0 ? 0 : pad;
		w->before[i] = (uint32_t)(upper ? pad / 2 : pad - pad / 2);
		w->after[i] = (uint32_t)pad - w->before[i];
	}
}

/**
 * v_same_padded - the padding of same_padding(), which follows from the sizes that are there
 * @im: import of a node with an auto_pad
 * @w: its window, which is @late
 * @a: value
 * @fill: what the padding is
 *
 * Return: @a with padding around, NO_VALUE: @im has an error.
 */
uint32_t v_same_padded(struct import *im, const struct window *w, uint32_t a, double fill)
{
	const bool upper = im_string(im, "auto_pad", "SAME_UPPER");
	struct accel_pad_desc d = ACCEL_PAD_DESC_INIT;
	uint32_t i, in, pad, half, side[2], stride, list, along, out = NO_VALUE;
	int64_t steps[3], more[3], axes[3];

	for (i = 0; i < w->n; i++) {
		axes[i] = 2 + i;
		steps[i] = w->stride[i];
		more[i] = 1 + ((int64_t)w->kernel[i] - 1) * w->dilation[i] - w->stride[i];
	}
	in = v_shape_of(im, a, 2, INT64_MAX);
	stride = v_ints(im, w->n, steps);
	/* As many windows as there are steps, the last one begun too */
	pad = v_with(im, ACCEL_BINARY_ADD, v_binary(im, ACCEL_BINARY_ADD, in, stride), -1);
	pad = v_binary(im, ACCEL_BINARY_QUOT, pad, stride);
	pad = v_binary(im, ACCEL_BINARY_MUL, pad, stride);
	pad = v_binary(im, ACCEL_BINARY_ADD, pad, v_ints(im, w->n, more));
	pad = v_with(im, ACCEL_BINARY_MAX, v_binary(im, ACCEL_BINARY_SUB, pad, in), 0);
	half = v_with(im, ACCEL_BINARY_QUOT, pad, 2);
	side[!upper] = half;
	side[upper] = v_binary(im, ACCEL_BINARY_SUB, pad, half);
	list = v_concat(im, 0, 2, side);
	along = v_ints(im, w->n, axes);
	if (im->error.code || a == NO_VALUE)
		return NO_VALUE;
	d.value = fill;
	return im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, a }, { ACCEL_ARG_B, list },
					{ ACCEL_ARG_AUX0, along }), 4, &out) ? NO_VALUE : out;
}

/* @whole: padding that depends on results is found by the caller. */
int read_window(struct import *im, struct window *w, bool whole)
{
	uint32_t i;
	int ret;

	for (i = 0; i < w->n; i++)
		w->stride[i] = w->dilation[i] = 1;
	ret = window_list(im, "kernel_shape", w->n, w->kernel, w->n, NULL);
	if (!ret)
		ret = window_list(im, "strides", w->n, w->stride, w->n, NULL);
	if (!ret)
		ret = window_list(im, "dilations", w->n, w->dilation, w->n, NULL);
	if (ret)
		return ret;
	for (i = 0; i < w->n; i++)
		if (!w->stride[i] || !w->dilation[i] || !w->kernel[i])
			return im_fail(im, -EBADMSG, "a kernel, stride or dilation of 0");
	if (im_string(im, "auto_pad", "SAME_UPPER") || im_string(im, "auto_pad", "SAME_LOWER")) {
		if (!whole)
			same_padding(im, w, im_string(im, "auto_pad", "SAME_UPPER"));
		return 0;
	}
	if (im_string(im, "auto_pad", "VALID"))
		return 0;
	if (im_attr(im, "auto_pad", ATTR_STRING) && !im_string(im, "auto_pad", "NOTSET") &&
	    !im_string(im, "auto_pad", ""))
		return im_fail(im, -EOPNOTSUPP, "its auto_pad is not known");
	return window_list(im, "pads", 2 * w->n, w->before, w->n, w->after);
}

/* The power of a norm, which only such pooling has */
static int read_norm(struct import *im, uint32_t func, uint32_t *norm)
{
	int64_t p = im_int(im, "p", 2);

	if (func != ACCEL_POOL_LP)
		return 0;
	*norm = (uint32_t)p;
	return p < 1 || p > 16 ? im_fail(im, -EOPNOTSUPP, "p of %lld", (long long)p) : 0;
}

/* A pooling whose input gets its padding first: averages are of what is not padding. */
static uint32_t pool_padded(struct import *im, const struct accel_pool_desc *d,
			    const struct window *w)
{
	const uint32_t type = im->in[0].type;
	const double least = type_is_real(type) ? -INFINITY : type == ACCEL_S8 ? INT8_MIN : 0;
	uint32_t a, all, out = NO_VALUE;

	a = v_same_padded(im, w, v_in(im, 0), d->func == ACCEL_POOL_MAX ? least : 0);
	if (im->error.code || im_one(im, &d->hdr, a, &out))
		return NO_VALUE;
	if (d->func != ACCEL_POOL_AVERAGE || d->flags & ACCEL_POOL_COUNT_PAD)
		return out;
	all = v_fill(im, type, v_shape_of(im, v_in(im, 0), 0, INT64_MAX), 1);
	all = v_same_padded(im, w, all, 0);
	if (im->error.code || im_one(im, &d->hdr, all, &all))
		return NO_VALUE;
	return v_binary(im, ACCEL_BINARY_DIV, out, all);
}

static int pool(struct import *im, uint32_t func)
{
	struct accel_pool_desc d = ACCEL_POOL_DESC_INIT;
	struct window w = { 0 };
	double taps = 1;
	uint32_t i, out;
	int ret = im_need(im, 1);

	if (ret)
		return ret;
	w.n = im->in[0].rank - 2;
	if (im->in[0].rank < 3 || im->in[0].rank > 5)
		return im_fail(im, -EOPNOTSUPP, "%u dimensions", im->in[0].rank);
	ret = read_window(im, &w, false);
	if (!ret)
		ret = read_norm(im, func, &d.norm);
	if (ret)
		return ret;
	d.func = func;
	d.flags = (im_int(im, "ceil_mode", 0) ? ACCEL_POOL_CEIL : 0) |
		  (im_int(im, "count_include_pad", 0) ? ACCEL_POOL_COUNT_PAD : 0);
	for (i = 0; i < w.n; i++) {
		d.kernel[i] = w.kernel[i];
		d.stride[i] = w.stride[i];
		d.dilation[i] = w.dilation[i];
		d.pad_begin[i] = w.before[i];
		d.pad_end[i] = w.after[i];
		taps *= w.kernel[i];
	}
	if (w.late && im->out_count > 1 && im->out[1].n)
		return im_fail(im, -EOPNOTSUPP, "auto_pad, and indices, of a size that is a symbol");
	if (w.late)
		return v_give(im, 0, pool_padded(im, &d, &w));
	ret = im_one(im, &d.hdr, im->in[0].value, &out);
	if (!ret)
		ret = im_give(im, 0, out);
	if (ret || im->out_count < 2 || !im->out[1].n || func != ACCEL_POOL_MAX)
		return ret;
	if (taps > 1024)
		return im_fail(im, -EOPNOTSUPP, "indices of windows of %.0f elements", taps);
	return v_give(im, 1, v_max_index(im, &w, im->in[0].value, out,
					 im_int(im, "storage_order", 0)));
}

static int global_pool(struct import *im, uint32_t func)
{
	struct accel_pool_desc d = ACCEL_POOL_DESC_INIT;
	int ret = im_need(im, 1);

	if (ret)
		return ret;
	d.func = func;
	d.flags = ACCEL_POOL_GLOBAL;
	ret = read_norm(im, func, &d.norm);
	return ret ? ret : im_give_one(im, &d.hdr);
}

/* --- products --------------------------------------------------------------------------- */

/* A factor; integers that no engine multiplies are computed in 64 bits, whose low ones stay. */
static uint32_t factor(struct import *im, uint32_t index)
{
	uint32_t type = im->in[0].type;

	return v_cast(im, v_in(im, index), type_is_real(type) || type == ACCEL_HOST_U64 ? type :
		      (uint32_t)ACCEL_HOST_S64);
}

static uint32_t v_product_of(struct import *im, struct accel_gemm_desc *d, uint32_t a, uint32_t b,
			     uint32_t bias)
{
	struct accel_graph_arg args[6] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, a } };
	uint32_t n = 2, out = NO_VALUE;
	int ret;

	if (im->error.code || a == NO_VALUE || b == NO_VALUE)
		return NO_VALUE;
	ret = im->in[0].rank < 2 ? 0 : halves_product(im, b, d, args, &n);
	if (!ret)
		args[n++] = (struct accel_graph_arg) { ACCEL_ARG_B, b };
	if (bias != NO_VALUE)
		args[n++] = (struct accel_graph_arg) { ACCEL_ARG_BIAS, bias };
	return ret < 0 || im_node(im, &d->hdr, args, n, &out) ? NO_VALUE : out;
}

static int gemm(struct import *im, uint32_t arg)
{
	struct accel_gemm_desc d = ACCEL_GEMM_DESC_INIT;
	float alpha = im_float(im, "alpha", 1), beta = im_float(im, "beta", 1);
	uint32_t out, c = beta != 0 ? v_in(im, 2) : NO_VALUE;
	int ret = im_need(im, 2);

	(void)arg;
	if (ret)
		return ret;
	if (!type_is_real(im->in[0].type) && (alpha != truncf(alpha) || beta != truncf(beta)))
		return im_fail(im, -EOPNOTSUPP, "integers times %g or %g", (double)alpha,
			       (double)beta);
	d.flags = (im_int(im, "transA", 0) ? ACCEL_GEMM_TRANS_A : 0) |
		  (im_int(im, "transB", 0) ? ACCEL_GEMM_TRANS_B : 0);
	if (alpha != 1) {
		d.flags |= ACCEL_GEMM_ALPHA;
		d.alpha = alpha;
	}
	if (c != NO_VALUE)
		c = factor(im, 2);
	if (c != NO_VALUE && beta != 1)
		c = v_with(im, ACCEL_BINARY_MUL, c, (double)beta);
	out = v_product_of(im, &d, factor(im, 0), factor(im, 1), c);
	return v_give(im, 0, v_cast(im, out, im->in[0].type));
}

static int matmul(struct import *im, uint32_t arg)
{
	struct accel_gemm_desc d = ACCEL_GEMM_DESC_INIT;
	uint32_t out;
	int ret = im_need(im, 2);

	(void)arg;
	if (ret)
		return ret;
	out = v_product_of(im, &d, factor(im, 0), factor(im, 1), NO_VALUE);
	/* Of two vectors it is a number, which operations have as a list. */
	if (im->in[0].rank == 1 && im->in[1].rank == 1)
		out = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, out, 0, NULL);
	return v_give(im, 0, v_cast(im, out, im->in[0].type));
}

/* --- along dimensions ---------------------------------------------------------------------- */

/* Before version 13 all dimensions from the axis on are one. */
static int softmax(struct import *im, uint32_t func)
{
	struct accel_shape_desc flat = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_FLATTEN);
	uint32_t axis, value, shape = NO_VALUE;
	bool old;
	int ret = im_need(im, 1);

	if (!ret)
		ret = im_axis(im, im_int(im, "axis", im->opset < 13 ? 1 : -1), im->in[0].rank,
			      &axis);
	if (ret)
		return ret;
	value = im->in[0].value;
	old = im->opset < 13 && axis + 1 != im->in[0].rank;
	flat.axis = (int32_t)axis;
	if (old) {
		shape = v_shape_of(im, value, 0, INT64_MAX);
		ret = im_one(im, &flat.hdr, value, &value);
	}
	if (ret)
		return ret;
	value = v_softmax(im, func, old ? 1 : axis, value);
	return v_give(im, 0, old ? v_shaped(im, ACCEL_SHAPE_RESHAPE, value, shape) : value);
}

/* Of doubles, which no engine has, from parts */
static uint32_t norm_parts(struct import *im, uint32_t func, uint32_t axes, double eps, uint32_t a,
			   uint32_t scale, uint32_t bias)
{
	uint32_t shape = v_shape_of(im, a, 0, INT64_MAX), var;

	if ((scale != NO_VALUE && v_rank(im, scale) > v_rank(im, a)) ||
	    (bias != NO_VALUE && v_rank(im, bias) > v_rank(im, a))) {
		im_fail(im, -EBADMSG, "a scale, or a bias, of more than %u dimensions",
			v_rank(im, a));
		return NO_VALUE;
	}
	if (func == ACCEL_NORM_LAYER)
		a = v_binary(im, ACCEL_BINARY_SUB, a, v_reduce(im, ACCEL_REDUCE_MEAN, 0, axes, a));
	var = v_reduce(im, ACCEL_REDUCE_MEAN, 0, axes, v_unary(im, ACCEL_UNARY_SQUARE, a));
	var = v_unary(im, ACCEL_UNARY_SQRT, v_with(im, ACCEL_BINARY_ADD, var, eps));
	a = v_binary(im, ACCEL_BINARY_DIV, a, var);
	if (scale != NO_VALUE)
		a = v_binary(im, ACCEL_BINARY_MUL, a, scale);
	if (bias != NO_VALUE)
		a = v_binary(im, ACCEL_BINARY_ADD, a, bias);
	/* What scales and biases would make larger is refused. */
	return v_shaped(im, ACCEL_SHAPE_RESHAPE, a, shape);
}

/* A vector with a number for each channel of @a, along these */
uint32_t v_of_channels(struct import *im, uint32_t a, uint32_t v)
{
	uint32_t channels = v_shape_of(im, a, 1, 2), i, n = 0;
	int64_t list[ACCEL_GRAPH_MAX_RANK];

	if (v != NO_VALUE && v_rank(im, v) != 1) {
		im_fail(im, -EBADMSG, "%u dimensions of a vector of channels", v_rank(im, v));
		return NO_VALUE;
	}
	for (i = 1; i + 1 < v_rank(im, a); i++)
		list[n++] = i;
	/* One alone is not repeated. */
	v = v_reshape(im, v, 1, &channels);
	return n ? v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, v, n, list) : v;
}

/* A norm along dimensions; what is NO_VALUE is absent. */
uint32_t v_norm(struct import *im, uint32_t func, uint32_t axes, float eps, uint32_t a,
		uint32_t scale, uint32_t bias)
{
	struct accel_graph_arg args[4] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, a } };
	struct accel_norm_desc d = ACCEL_NORM_DESC_INIT;
	uint32_t n = 2, out = NO_VALUE;

	if (v_type(im, a) == ACCEL_HOST_F64)
		return norm_parts(im, func, axes, (double)eps, a, scale, bias);
	if (im->error.code || a == NO_VALUE)
		return NO_VALUE;
	d.func = func;
	d.eps = eps;
	d.channel = 0;
	d.axes = axes;
	if (scale != NO_VALUE)
		args[n++] = (struct accel_graph_arg) { ACCEL_ARG_SCALE, scale };
	if (bias != NO_VALUE)
		args[n++] = (struct accel_graph_arg) { ACCEL_ARG_BIAS, bias };
	return im_node(im, &d.hdr, args, n, &out) ? NO_VALUE : out;
}

static int layer_norm(struct import *im, uint32_t func)
{
	float eps = im_float(im, "epsilon", 0.00001f);
	uint32_t axis, axes = 0;
	int ret = im_need(im, 1);

	if (!ret)
		ret = im_axis(im, im_int(im, "axis", -1), im->in[0].rank, &axis);
	if (ret)
		return ret;
	for (; axis < im->in[0].rank; axis++)
		axes |= ACCEL_AXIS(axis);
	ret = v_give(im, 0, v_norm(im, func, axes, eps, v_in(im, 0), v_in(im, 1), v_in(im, 2)));
	return ret ? ret : give_moments(im, v_in(im, 0), axes, func, (double)eps);
}

static uint32_t variance(struct import *im, uint32_t a, uint32_t mean, uint32_t axes)
{
	a = v_unary(im, ACCEL_UNARY_SQUARE, v_binary(im, ACCEL_BINARY_SUB, a, mean));
	return v_reduce(im, ACCEL_REDUCE_MEAN, 0, axes, a);
}

/*
 * Output 1: the mean along dimensions; output 2: what the deviations were multiplied by. A norm
 * by the root of the mean square has that alone, which of one operator is output 1.
 */
int give_moments(struct import *im, uint32_t a, uint32_t axes, uint32_t func, double eps)
{
	bool one = im->out_count > 1 && im->out[1].n, two = im->out_count > 2 && im->out[2].n;
	uint32_t mean, var;
	int ret;

	if (!one && !two)
		return 0;
	/* These are of the type in which the norm is computed. */
	if (v_type(im, a) != ACCEL_HOST_F64)
		a = v_cast(im, a, ACCEL_F32);
	if (func == ACCEL_NORM_RMS) {
		var = v_reduce(im, ACCEL_REDUCE_MEAN, 0, axes, v_unary(im, ACCEL_UNARY_SQUARE, a));
		var = v_unary(im, ACCEL_UNARY_RSQRT, v_with(im, ACCEL_BINARY_ADD, var, eps));
		return v_give(im, two ? 2 : 1, var);
	}
	mean = v_reduce(im, ACCEL_REDUCE_MEAN, 0, axes, a);
	ret = one ? v_give(im, 1, mean) : 0;
	if (ret || !two)
		return ret;
	var = v_with(im, ACCEL_BINARY_ADD, variance(im, a, mean, axes), eps);
	return v_give(im, 2, v_unary(im, ACCEL_UNARY_RSQRT, var));
}

/* With the moments of what is there; outputs 1 and 2: those that a run keeps, moved towards them */
static int batch_norm_training(struct import *im)
{
	double momentum = (double)im_float(im, "momentum", 0.9f);
	uint32_t a = v_in(im, 0), axes = 0, i, moment[2], y, v;
	int ret = 0;

	for (i = 0; i < im->in[0].rank; i++)
		axes |= i == 1 ? 0 : ACCEL_AXIS(i);
	moment[0] = v_reduce(im, ACCEL_REDUCE_MEAN, 0, axes, a);
	moment[1] = variance(im, a, moment[0], axes);
	y = v_binary(im, ACCEL_BINARY_SUB, a, moment[0]);
	v = v_with(im, ACCEL_BINARY_ADD, moment[1], (double)im_float(im, "epsilon", 0.00001f));
	y = v_binary(im, ACCEL_BINARY_DIV, y, v_unary(im, ACCEL_UNARY_SQRT, v));
	for (i = 1; i < 3; i++)
		y = v_binary(im, i == 1 ? ACCEL_BINARY_MUL : ACCEL_BINARY_ADD, y,
			     v_of_channels(im, a, v_in(im, i)));
	for (i = 0; i < 2 && !ret; i++) {
		v = v_shaped(im, ACCEL_SHAPE_RESHAPE, moment[i],
			     v_shape_of(im, v_in(im, 3 + i), 0, INT64_MAX));
		v = v_with(im, ACCEL_BINARY_MUL, v_cast(im, v, im->in[3 + i].type), 1 - momentum);
		v = v_binary(im, ACCEL_BINARY_ADD,
			     v_with(im, ACCEL_BINARY_MUL, v_in(im, 3 + i), momentum), v);
		ret = v_give(im, 1 + i, v);
	}
	return ret ? ret : v_give(im, 0, y);
}

/* Of doubles: the moments and what follows are those of channels. */
static int batch_norm_parts(struct import *im)
{
	static const uint32_t funcs[] = {
		0, ACCEL_BINARY_MUL, ACCEL_BINARY_ADD, ACCEL_BINARY_SUB, ACCEL_BINARY_DIV
	};
	const double eps = (double)im_float(im, "epsilon", 0.00001f);
	uint32_t i, k, y = v_in(im, 0), v;

	for (i = 0; i < 4; i++) {
		/* The mean, the variance, the scale, the bias */
		k = i < 2 ? 3 + i : i - 1;
		v = v_cast(im, v_in(im, k), ACCEL_HOST_F64);
		if (k == 4)
			v = v_unary(im, ACCEL_UNARY_SQRT, v_with(im, ACCEL_BINARY_ADD, v, eps));
		y = v_binary(im, funcs[k], y, v_of_channels(im, v_in(im, 0), v));
	}
	return v_give(im, 0, y);
}

static int batch_norm(struct import *im, uint32_t arg)
{
	struct accel_norm_desc d = ACCEL_NORM_DESC_INIT;
	uint32_t out;
	int ret = im_need(im, 5);

	(void)arg;
	if (ret)
		return ret;
	if (im->opset < 9 && !im_int(im, "spatial", 1) && im->in[1].rank != 1)
		return im_fail(im, -EOPNOTSUPP, "moments of each element");
	if (im_int(im, "training_mode", 0) && im->in[0].rank >= 2)
		return batch_norm_training(im);
	if (im->in[0].type == ACCEL_HOST_F64 && im->in[0].rank >= 2)
		return batch_norm_parts(im);
	d.func = ACCEL_NORM_BATCH;
	d.eps = im_float(im, "epsilon", 0.00001f);
	ret = im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, im->in[0].value },
				       { ACCEL_ARG_SCALE, im->in[1].value },
				       { ACCEL_ARG_BIAS, im->in[2].value },
				       { ACCEL_ARG_AUX0, im->in[3].value },
				       { ACCEL_ARG_AUX1, im->in[4].value }), 6, &out);
	return ret ? ret : im_give(im, 0, out);
}

/* Axes are an input in newer versions; UINT32_MAX of them are not known yet. */
static int reduce_axes(struct import *im, int64_t *axes, uint32_t *count)
{
	const struct attr *a = im_attr(im, "axes", ATTR_INTS);
	uint32_t i;

	*count = 0;
	if (a) {
		if (a->int_count > ACCEL_GRAPH_MAX_RANK)
			return im_fail(im, -EBADMSG, "%u axes", a->int_count);
		*count = a->int_count;
		for (i = 0; i < a->int_count; i++)
			axes[i] = a->ints[i];
	} else if (im->in_count > 1 && im->in[1].here &&
		   !(im->in[1].rank == 1 && !im->in[1].dims[0] &&
		     !im_is_symbol(im, 1, 0))) {
		if (!im_numbers(&im->in[1], axes, count, ACCEL_GRAPH_MAX_RANK))
			*count = UINT32_MAX;
	}
	return 0;
}

/* The mean of integers: their sum by their number, towards zero */
static uint32_t integer_mean(struct import *im, uint32_t axes)
{
	uint32_t type = im->in[0].type, count[2], sum, i;

	sum = v_cast(im, v_in(im, 0), type == ACCEL_HOST_U64 ? type : (uint32_t)ACCEL_HOST_S64);
	sum = v_reduce(im, ACCEL_REDUCE_SUM, 0, axes, sum);
	for (i = 0; i < 2; i++)
		count[i] = v_reduce(im, ACCEL_REDUCE_PROD, 0, 1,
				    v_shape_of(im, i ? sum : v_in(im, 0), 0, INT64_MAX));
	count[0] = v_binary(im, ACCEL_BINARY_QUOT, count[0], count[1]);
	return v_cast(im, v_binary(im, ACCEL_BINARY_QUOT, sum,
				   v_cast(im, count[0], v_type(im, sum))), type);
}

/* Along no dimensions: what else a reduction does to each element */
static int reduce_nothing(struct import *im, uint32_t func)
{
	uint32_t a = v_in(im, 0), type = im->in[0].type;

	if (func == ACCEL_REDUCE_L1 || func == ACCEL_REDUCE_L2)
		a = v_unary(im, ACCEL_UNARY_ABS, a);
	else if (func == ACCEL_REDUCE_SUM_SQUARE)
		a = v_binary(im, ACCEL_BINARY_MUL, a, a);
	else if (func == ACCEL_REDUCE_LOG_SUM)
		a = v_unary(im, ACCEL_UNARY_LOG,
			    type_is_real(type) ? a : v_cast(im, a, ACCEL_HOST_F64));
	return v_give(im, 0, v_cast(im, a, type));
}

/* Along dimensions that are known when the shapes are */
static int reduce_late(struct import *im, const struct accel_reduce_desc *d, bool keep)
{
	uint32_t out, axes = v_in(im, 1);
	int ret;

	if (!type_is_real(im->in[0].type) && (d->func == ACCEL_REDUCE_MEAN ||
					      d->func == ACCEL_REDUCE_L2 ||
					      d->func >= ACCEL_REDUCE_LOG_SUM))
		return im_fail(im, -EOPNOTSUPP, "integers along axes that are not constant");
	/* No axes at all would be all of them, or none. */
	if (im->in[1].rank != 1 || im_is_symbol(im, 1, 0))
		return im_fail(im, -EOPNOTSUPP, "an unknown number of axes");
	ret = im_two(im, &d->hdr, im->in[0].value, axes, &out);
	if (!ret && !keep)
		out = v_shaped(im, ACCEL_SHAPE_SQUEEZE, out, axes);
	return ret ? ret : v_give(im, 0, out);
}

static int reduce(struct import *im, uint32_t func)
{
	struct accel_shape_desc drop = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SQUEEZE);
	struct accel_reduce_desc d = ACCEL_REDUCE_DESC_INIT;
	int64_t axes[ACCEL_GRAPH_MAX_RANK];
	uint32_t i, count, axis, out, list;
	bool keep = im_int(im, "keepdims", 1);
	int ret = im_need(im, 1);

	if (!ret)
		ret = reduce_axes(im, axes, &count);
	if (ret)
		return ret;
	/* A number has no dimensions to begin with. */
	if (!count && (im_int(im, "noop_with_empty_axes", 0) || !im->in[0].rank))
		return reduce_nothing(im, func);
	d.func = func;
	d.d.dtype = im->in[0].type;
	if (count == UINT32_MAX)
		return reduce_late(im, &d, keep);
	for (i = 0; i < count && !ret; i++) {
		ret = im_axis(im, axes[i], im->in[0].rank, &axis);
		if (ret)
			return ret;
		axes[i] = axis;
		d.axes |= ACCEL_AXIS(axis);
	}
	for (i = 0; !count && i < im->in[0].rank; i++)
		axes[i] = i;
	if (!ret && func == ACCEL_REDUCE_MEAN && !type_is_real(im->in[0].type)) {
		out = integer_mean(im, d.axes);
		ret = im->error.code;
	} else if (!ret && !type_is_real(im->in[0].type) &&
		   (func == ACCEL_REDUCE_L2 || func >= ACCEL_REDUCE_LOG_SUM)) {
		/* Roots and logarithms of integers go towards zero. */
		out = v_reduce(im, func, 0, d.axes, v_cast(im, v_in(im, 0), ACCEL_HOST_F64));
		out = v_cast(im, out, im->in[0].type);
		ret = im->error.code;
	} else if (!ret) {
		ret = im_one(im, &d.hdr, im->in[0].value, &out);
	}
	count = count ? count : im->in[0].rank;
	if (!ret && !keep) {
		ret = im_list(im, count, axes, &list);
		if (!ret)
			ret = im_two(im, &drop.hdr, out, list, &out);
	}
	return ret ? ret : im_give(im, 0, out);
}

const struct op onnx_nn[] = {
	{ "MaxPool", pool, ACCEL_POOL_MAX },
	{ "AveragePool", pool, ACCEL_POOL_AVERAGE },
	{ "GlobalAveragePool", global_pool, ACCEL_POOL_AVERAGE },
	{ "GlobalMaxPool", global_pool, ACCEL_POOL_MAX },
	{ "LpPool", pool, ACCEL_POOL_LP }, { "GlobalLpPool", global_pool, ACCEL_POOL_LP },
	{ "Gemm", gemm, 0 }, { "MatMul", matmul, 0 },
	{ "Softmax", softmax, ACCEL_SOFTMAX_PLAIN }, { "LogSoftmax", softmax, ACCEL_SOFTMAX_LOG },
	{ "LayerNormalization", layer_norm, ACCEL_NORM_LAYER },
	{ "RMSNormalization", layer_norm, ACCEL_NORM_RMS },
	{ "SimplifiedLayerNormalization", layer_norm, ACCEL_NORM_RMS },
	{ "BatchNormalization", batch_norm, 0 },
	{ "ReduceSum", reduce, ACCEL_REDUCE_SUM }, { "ReduceMean", reduce, ACCEL_REDUCE_MEAN },
	{ "ReduceMax", reduce, ACCEL_REDUCE_MAX }, { "ReduceMin", reduce, ACCEL_REDUCE_MIN },
	{ "ReduceProd", reduce, ACCEL_REDUCE_PROD }, { "ReduceL1", reduce, ACCEL_REDUCE_L1 },
	{ "ReduceL2", reduce, ACCEL_REDUCE_L2 },
	{ "ReduceSumSquare", reduce, ACCEL_REDUCE_SUM_SQUARE },
	{ "ReduceLogSum", reduce, ACCEL_REDUCE_LOG_SUM },
	{ "ReduceLogSumExp", reduce, ACCEL_REDUCE_LOG_SUM_EXP },
	{ 0 }
};
