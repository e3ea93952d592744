// SPDX-License-Identifier: MIT
/*
 * Steps of optimisers: the rate, the number of steps so far, then all tensors, all of their
 * gradients, and for each kind of state all of it.
 */
#include <errno.h>

#include "onnx.h"

#define ADD(a, b)	v_binary(im, ACCEL_BINARY_ADD, a, b)
#define SUB(a, b)	v_binary(im, ACCEL_BINARY_SUB, a, b)
#define MUL(a, b)	v_binary(im, ACCEL_BINARY_MUL, a, b)
#define DIV(a, b)	v_binary(im, ACCEL_BINARY_DIV, a, b)
#define PLUS(a, n)	v_with(im, ACCEL_BINARY_ADD, a, n)
#define TIMES(a, n)	v_with(im, ACCEL_BINARY_MUL, a, n)
#define SQUARE(a)	v_unary(im, ACCEL_UNARY_SQUARE, a)
#define ROOT(a)		v_unary(im, ACCEL_UNARY_SQRT, a)

enum optimiser { ADAGRAD, ADAM, MOMENTUM };

/* The number of steps, as a number of the rate's type */
static uint32_t steps(struct import *im)
{
	return v_cast(im, v_in(im, 1), im->in[0].type);
}

static int adagrad(struct import *im, uint32_t n, uint32_t count, uint32_t x, uint32_t g)
{
	double decay = (double)im_float(im, "decay_factor", 0);
	double eps = (double)im_float(im, "epsilon", 0.000001f);
	uint32_t rate = DIV(v_in(im, 0), PLUS(TIMES(steps(im), decay), 1));
	uint32_t h = ADD(v_in(im, 2 + 2 * count + n), SQUARE(g));
	int ret = v_give(im, n, SUB(x, DIV(MUL(g, rate), PLUS(ROOT(h), eps))));

	return ret ? ret : v_give(im, count + n, h);
}

/* The first gradient counts whole, whatever its factor is later. */
static int momentum(struct import *im, uint32_t n, uint32_t count, uint32_t x, uint32_t g)
{
	double alpha = (double)im_float(im, "alpha", 0), beta = (double)im_float(im, "beta", 0);
	uint32_t type = im->in[0].type, first = v_with(im, ACCEL_BINARY_EQ, v_in(im, 1), 0), v;
	uint32_t factor = v_select(im, first, v_number(im, type, 1), v_number(im, type, beta));
	int ret;

	if (!im_string(im, "mode", "nesterov") && !im_string(im, "mode", "standard"))
		return im_fail(im, -EOPNOTSUPP, "its mode is not known");
	v = ADD(TIMES(v_in(im, 2 + 2 * count + n), alpha), MUL(g, factor));
	if (im_string(im, "mode", "nesterov"))
		g = ADD(g, TIMES(v, alpha));
	else
		g = v;
	ret = v_give(im, n, SUB(x, MUL(g, v_in(im, 0))));
	return ret ? ret : v_give(im, count + n, v);
}

/* 1 - x^steps */
static uint32_t rest(struct import *im, double x)
{
	uint32_t power = v_binary(im, ACCEL_BINARY_POW, v_number(im, im->in[0].type, x), steps(im));

	return PLUS(TIMES(power, -1), 1);
}

static int adam(struct import *im, uint32_t n, uint32_t count, uint32_t x, uint32_t g)
{
	double alpha = (double)im_float(im, "alpha", 0.9f);
	double beta = (double)im_float(im, "beta", 0.999f);
	double eps = (double)im_float(im, "epsilon", 0.000001f);
	double post = 1 - (double)im_float(im, "norm_coefficient_post", 0);
	uint32_t later = v_with(im, ACCEL_BINARY_GT, v_in(im, 1), 0), rate, v, h;
	int ret;

	v = ADD(TIMES(v_in(im, 2 + 2 * count + n), alpha), TIMES(g, 1 - alpha));
	h = ADD(TIMES(v_in(im, 2 + 3 * count + n), beta), TIMES(SQUARE(g), 1 - beta));
	rate = DIV(MUL(v_in(im, 0), ROOT(rest(im, beta))), rest(im, alpha));
	rate = v_select(im, later, rate, v_in(im, 0));
	x = SUB(x, DIV(MUL(v, rate), PLUS(ROOT(h), eps)));
	ret = v_give(im, n, TIMES(x, post));
	if (!ret)
		ret = v_give(im, count + n, v);
	return ret ? ret : v_give(im, 2 * count + n, h);
}

static int optimiser(struct import *im, uint32_t which)
{
	static int (*const fn[])(struct import *im, uint32_t n, uint32_t count, uint32_t x,
				 uint32_t g) = { adagrad, adam, momentum };
	uint32_t each = which == ADAM ? 4 : 3, count, n, g;
	double norm = (double)im_float(im, "norm_coefficient", 0);
	int ret = im_need(im, im->in_count > 2 ? im->in_count : 2 + each);

	if (ret)
		return ret;
	count = (im->in_count - 2) / each;
	if (im->in_count != 2 + count * each)
		return im_fail(im, -EBADMSG, "%u inputs", im->in_count);
	for (n = 0; n < count && !ret; n++) {
		g = ADD(v_in(im, 2 + count + n), TIMES(v_in(im, 2 + n), norm));
		ret = fn[which](im, n, count, v_in(im, 2 + n), g);
	}
	return ret;
}

const struct op onnx_train[] = {
	{ "Adagrad", optimiser, ADAGRAD }, { "Adam", optimiser, ADAM },
	{ "Momentum", optimiser, MOMENTUM }, { 0 }
};
