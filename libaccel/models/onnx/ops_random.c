// SPDX-License-Identifier: MIT
/*
 * Random numbers, and what is dropped by them.
 */
#include <errno.h>
#include <math.h>

#include "onnx.h"

#define MAX_RANDOM_ATTRS	7

/**
 * struct random - a node of ACCEL_RANDOM
 * @kind: &enum accel_random_kind
 * @type: of the result
 * @a: as there, so the others
 * @seeded: there is @seed
 * @dims: dimensions, if there is no input
 * @rank: number of them
 */
struct random {
	int64_t kind;
	int64_t type;
	float a;
	float b;
	int64_t count;
	bool seeded;
	int64_t seed;
	const int64_t *dims;
	uint32_t rank;
};

static uint32_t v_random(struct import *im, const struct random *r, uint32_t in)
{
	struct accel_operator_desc d = ACCEL_OPERATOR_DESC_INIT;
	struct accel_attr attrs[MAX_RANDOM_ATTRS] = {
		{ .name = "kind", .type = ACCEL_ATTR_INT, .data = &r->kind },
		{ .name = "type", .type = ACCEL_ATTR_INT, .data = &r->type },
		{ .name = "a", .type = ACCEL_ATTR_FLOAT, .data = &r->a },
		{ .name = "b", .type = ACCEL_ATTR_FLOAT, .data = &r->b },
		{ .name = "count", .type = ACCEL_ATTR_INT, .data = &r->count },
	};
	uint32_t out = NO_VALUE, n = 5;

	if (im->error.code || im_source(im))
		return NO_VALUE;
	if (r->seeded)
		attrs[n++] = (struct accel_attr) { "seed", ACCEL_ATTR_INT, 0, 0, &r->seed, NULL };
	if (in == NO_VALUE)
		attrs[n++] = (struct accel_attr) { "dims", ACCEL_ATTR_INTS, 0, r->rank, r->dims,
						   NULL };
	d.domain = ACCEL_RANDOM_DOMAIN;
	d.name = ACCEL_RANDOM;
	d.attrs = attrs;
	d.attr_count = n;
	im_graph(im, accel_graph_operator(im->model->graph, im->name, NULL, &d, &in,
					  in != NO_VALUE, &out, 1));
	return out;
}

/* What a node says of its seed, and, if it does, of the type of its result */
static int read_random(struct import *im, struct random *r, uint32_t type)
{
	const struct attr *seed = im_attr(im, "seed", ATTR_FLOAT);
	const int64_t dtype = im_int(im, "dtype", 0);

	*r = (struct random) { .type = dtype ? type_of(dtype) : type, .b = 1, .count = 1 };
	if (!r->type)
		return no_type(im, dtype, "dtype");
	if (seed && !(fabsf(seed->f) < 0x1p62f))
		return im_fail(im, -EBADMSG, "its seed is no number");
	r->seeded = seed;
	r->seed = seed ? (int64_t)seed->f : 0;
	return 0;
}

static int take_range(struct import *im, struct random *r, uint32_t kind)
{
	r->kind = kind;
	r->a = im_float(im, kind == ACCEL_RANDOM_NORMAL ? "mean" : "low", 0);
	r->b = im_float(im, kind == ACCEL_RANDOM_NORMAL ? "scale" : "high", 1);
	if (!type_is_real((uint32_t)r->type))
		return im_fail(im, -EBADMSG, "its numbers are %s, which are no floating-point ones",
			       accel_type_name((uint32_t)r->type));
	return 0;
}

static int random_numbers(struct import *im, uint32_t arg)
{
	const struct attr *shape = im_attr(im, "shape", ATTR_INTS);
	struct random r;
	int ret = read_random(im, &r, ACCEL_F32);

	if (!ret)
		ret = take_range(im, &r, arg);
	if (ret)
		return ret;
	if (!shape)
		return im_fail(im, -EBADMSG, "it has no shape");
	r.dims = shape->ints;
	r.rank = shape->int_count;
	return v_give(im, 0, v_random(im, &r, NO_VALUE));
}

static int random_like(struct import *im, uint32_t arg)
{
	struct random r;
	int ret = im_need(im, 1);

	if (!ret)
		ret = read_random(im, &r, im->in[0].type);
	if (!ret)
		ret = take_range(im, &r, arg);
	return ret ? ret : v_give(im, 0, v_random(im, &r, v_in(im, 0)));
}

/* Bernoulli and Multinomial: by numbers that are floating-point ones */
static int random_by(struct import *im, uint32_t arg)
{
	struct random r;
	int ret = im_need(im, 1);

	if (!ret)
		ret = read_random(im, &r, arg == ACCEL_RANDOM_CLASS ? (uint32_t)ACCEL_S32 :
				  im->in[0].type);
	if (ret)
		return ret;
	r.kind = arg;
	r.count = im_int(im, "sample_size", 1);
	return v_give(im, 0, v_random(im, &r, v_in(im, 0)));
}

/* --- Dropout ----------------------------------------------------------------------------- */

static uint32_t v_ones(struct import *im, uint32_t type)
{
	return v_fill(im, type, v_shape_of(im, v_in(im, 0), 0, INT64_MAX), 1);
}

/* Nothing is dropped when a model is used: the mask is of ones. */
static int keep_all(struct import *im)
{
	int ret = im_give_data(im, 0, im->in[0].value, im->in[0].data);

	if (ret || im->out_count < 2 || !im->out[1].n)
		return ret;
	return v_give(im, 1, v_ones(im, im->opset < 10 ? im->in[0].type :
				    (uint32_t)ACCEL_HOST_BOOL));
}

/* In training elements are dropped; what stays is larger, so that the mean is what it was. */
static int dropout(struct import *im, uint32_t arg)
{
	const uint32_t type = im->in[0].type;
	const struct ref *mode = im_input(im, 2);
	const struct attr *seed = im_attr(im, "seed", ATTR_INT);
	struct random r = { .type = ACCEL_HOST_F64, .b = 1, .count = 1, .seeded = seed };
	uint32_t ratio, keep, left, x, none;
	int ret = im_need(im, 1);

	(void)arg;
	if (ret)
		return ret;
	if (mode->here && (mode->type != ACCEL_HOST_BOOL || mode->rank))
		return im_fail(im, -EBADMSG, "its training_mode is %s of %u dimensions, not one bool",
			       accel_type_name(mode->type), mode->rank);
	if (!mode->here || (mode->data && !*(const uint8_t *)mode->data))
		return keep_all(im);
	r.seed = seed ? seed->i : 0;
	ratio = im_input(im, 1)->here ? v_in(im, 1) : v_number(im, ACCEL_F32, 0.5);
	ratio = v_cast(im, ratio, ACCEL_HOST_F64);
	keep = v_binary(im, ACCEL_BINARY_GE, v_random(im, &r, v_in(im, 0)), ratio);
	keep = v_cast(im, keep, ACCEL_HOST_BOOL);
	left = v_binary(im, ACCEL_BINARY_SUB, v_number(im, ACCEL_HOST_F64, 1), ratio);
	none = v_cast(im, v_number(im, ACCEL_F32, 0), type);
	x = v_binary(im, ACCEL_BINARY_DIV, v_in(im, 0), v_cast(im, left, type));
	x = v_select(im, keep, x, none);
	x = v_select(im, v_in(im, 2), x, v_in(im, 0));
	ret = v_give(im, 0, x);
	if (ret || im->out_count < 2 || !im->out[1].n)
		return ret;
	return v_give(im, 1, v_select(im, v_in(im, 2), keep, v_ones(im, ACCEL_HOST_BOOL)));
}

const struct op onnx_random[] = {
	{ "RandomUniform", random_numbers, ACCEL_RANDOM_UNIFORM },
	{ "RandomNormal", random_numbers, ACCEL_RANDOM_NORMAL },
	{ "RandomUniformLike", random_like, ACCEL_RANDOM_UNIFORM },
	{ "RandomNormalLike", random_like, ACCEL_RANDOM_NORMAL },
	{ "Bernoulli", random_by, ACCEL_RANDOM_CHANCE },
	{ "Multinomial", random_by, ACCEL_RANDOM_CLASS },
	{ "Dropout", dropout, 0 },
	{ 0 }
};
