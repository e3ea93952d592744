// SPDX-License-Identifier: MIT
/*
 * Losses: the element of the class by index, weighted, summed.
 */
#include <errno.h>

#include "onnx.h"

/* [N, C, D]: the dimensions behind the classes are one */
static uint32_t flatten(struct import *im, uint32_t x)
{
	uint32_t list[2] = { v_shape_of(im, x, 0, 2), v_elements(im, x, 2) };

	return v_reshape(im, x, 2, list);
}

static uint32_t total(struct import *im, uint32_t func, uint32_t x)
{
	const int64_t axes[] = { 0, 1, 2 };

	return v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v_reduce(im, func, 0, 7, x), 3, axes);
}

/*
 * -w[t] x[n][t][d], nothing where the target is the index to ignore. Without a weight and
 * with nothing to ignore the average is that of all; else it is by the sum of weights.
 */
static int loss(struct import *im, uint32_t x, uint32_t target, uint32_t weight)
{
	const struct attr *ignore = im_attr(im, "ignore_index", ATTR_INT);
	uint32_t shape = v_shape_of(im, target, 0, INT64_MAX), valid = NO_VALUE, w = NO_VALUE, out;
	uint32_t type = v_type(im, x);
	const int64_t one = 1;

	if (im->in[0].rank < 2)
		return im_fail(im, -EBADMSG, "no classes");
	if (im_attr(im, "reduction", ATTR_STRING) && !im_string(im, "reduction", "none") &&
	    !im_string(im, "reduction", "sum") && !im_string(im, "reduction", "mean"))
		return im_fail(im, -EOPNOTSUPP, "its reduction is not known");
	/* [N, 1, D] */
	target = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, target, 1, &one);
	target = v_cast(im, flatten(im, target), ACCEL_HOST_S64);
	if (ignore) {
		valid = v_with(im, ACCEL_BINARY_NE, target, (double)ignore->i);
		target = v_select(im, valid, target, v_number(im, ACCEL_HOST_S64, 0));
	}
	out = v_gather(im, ACCEL_GATHER_ELEMENTS, 1, flatten(im, x), target);
	out = v_unary(im, ACCEL_UNARY_NEG, out);
	/* What is ignored may be infinite, which a weight of 0 would make no number. */
	if (ignore)
		out = v_select(im, valid, out, v_number(im, type, 0));
	if (weight != NO_VALUE)
		w = v_gather(im, ACCEL_GATHER_AXIS, 0, weight, target);
	if (ignore && w != NO_VALUE)
		w = v_select(im, valid, w, v_number(im, type, 0));
	else if (ignore)
		w = v_cast(im, valid, type);
	if (w != NO_VALUE)
		out = v_binary(im, ACCEL_BINARY_MUL, out, w);
	if (im_string(im, "reduction", "none"))
		return v_give(im, 0, v_shaped(im, ACCEL_SHAPE_RESHAPE, out, shape));
	if (im_string(im, "reduction", "sum"))
		return v_give(im, 0, total(im, ACCEL_REDUCE_SUM, out));
	if (w == NO_VALUE)
		return v_give(im, 0, total(im, ACCEL_REDUCE_MEAN, out));
	return v_give(im, 0, v_binary(im, ACCEL_BINARY_DIV, total(im, ACCEL_REDUCE_SUM, out),
				      total(im, ACCEL_REDUCE_SUM, w)));
}

static int nll(struct import *im, uint32_t arg)
{
	int ret = im_need(im, 2);

	(void)arg;
	return ret ? ret : loss(im, v_in(im, 0), v_in(im, 1), v_in(im, 2));
}

static int cross_entropy(struct import *im, uint32_t arg)
{
	uint32_t log, shape;
	int ret = im_need(im, 2);

	(void)arg;
	if (ret)
		return ret;
	shape = v_shape_of(im, v_in(im, 0), 0, INT64_MAX);
	log = v_softmax(im, ACCEL_SOFTMAX_LOG, 1, flatten(im, v_in(im, 0)));
	log = v_shaped(im, ACCEL_SHAPE_RESHAPE, log, shape);
	ret = im->out_count > 1 ? v_give(im, 1, log) : 0;
	return ret ? ret : loss(im, log, v_in(im, 1), v_in(im, 2));
}

const struct op onnx_loss[] = {
	{ "NegativeLogLikelihoodLoss", nll, 0 }, { "SoftmaxCrossEntropyLoss", cross_entropy, 0 },
	{ 0 }
};
