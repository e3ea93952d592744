// SPDX-License-Identifier: MIT
/*
 * Normalisations.
 */
#include <string.h>

#include "run.h"

/* A vector of channels as it broadcasts to [N, C, ...] of @rank dimensions */
static struct value *by_channel(struct run *r, struct value *v, uint32_t rank)
{
	int64_t dims[MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };

	if (!usable(r, v) || rank < 2)
		return NULL;
	dims[0] = (int64_t)v->count;
	return relabel(r, v, v->type, rank - 1, dims);
}

/* LAYER along the dimensions in @mask; @scale and @bias may be NULL */
static struct value *layer(struct run *r, struct value *a, uint32_t mask, float eps,
			   struct value *scale, struct value *bias)
{
	struct accel_norm_desc d = ACCEL_NORM_DESC_INIT;
	struct value *v;

	if (!usable(r, a))
		return NULL;
	v = new_like(r, a);
	d.axes = mask;
	d.eps = eps;
	if (!tensor_of(r, &d.a, a) || !tensor_of(r, &d.d, v) ||
	    (scale && !tensor_of(r, &d.scale, scale)) ||
	    (bias && !tensor_of(r, &d.bias, bias)) || lib_run(r, &d.hdr))
		return NULL;
	return v;
}

/* Mean and mean of the squares of what is left without it */
static void statistics(struct run *r, struct value *a, uint32_t mask, struct value **mean,
		       struct value **variance)
{
	*mean = lib_reduce(r, ACCEL_REDUCE_MEAN, 0, a, mask, a->type);
	*variance = lib_reduce(r, ACCEL_REDUCE_MEAN, 0,
			       lib_unary(r, ACCEL_UNARY_SQUARE,
					 lib_binary(r, ACCEL_BINARY_SUB, a, *mean)), mask, a->type);
}

static int do_layer(struct run *r, const struct op_map *m)
{
	float eps = attr_float(r, "epsilon", 0.00001f);
	struct value *a = r->in[0], *mean, *variance;
	uint32_t mask, axis;

	(void)m;
	if (!usable(r, a))
		return r->ret;
	axis = axis_of(r, attr_int(r, "axis", -1), a->rank);
	mask = (1u << a->rank) - (1u << axis);
	give(r, 0, layer(r, a, mask, eps, r->in[1], r->in[2]));
	if (r->n_out < 2 || r->ret)
		return r->ret;
	statistics(r, a, mask, &mean, &variance);
	give(r, 1, mean);
	return give(r, 2, lib_unary(r, ACCEL_UNARY_RSQRT, lib_plus(r, variance, (double)eps)));
}

static int do_mvn(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0];
	int64_t mask;

	(void)m;
	if (!usable(r, a))
		return r->ret;
	mask = axes_of(r, a->rank);
	return give(r, 0, layer(r, a, mask < 0 ? 13 : (uint32_t)mask, 0, NULL, NULL));
}

static int do_instance(struct run *r, const struct op_map *m)
{
	struct accel_norm_desc d = ACCEL_NORM_DESC_INIT;
	struct value *v = new_like(r, r->in[0]);

	(void)m;
	d.func = ACCEL_NORM_INSTANCE;
	d.eps = attr_float(r, "epsilon", 0.00001f);
	if (tensor_of(r, &d.a, r->in[0]) && tensor_of(r, &d.d, v) &&
	    tensor_of(r, &d.scale, r->in[1]) && tensor_of(r, &d.bias, r->in[2]))
		lib_run(r, &d.hdr);
	return give(r, 0, v);
}

/* A running statistic: the old one decays, the new one comes in. */
static struct value *running(struct run *r, struct value *old, struct value *now)
{
	double momentum = (double)attr_float(r, "momentum", 0.9f);

	if (!usable(r, old) || !usable(r, now))
		return NULL;
	now = relabel(r, now, now->type, 1, old->dims);
	return lib_binary(r, ACCEL_BINARY_ADD, lib_times(r, old, momentum),
			  lib_times(r, now, 1 - momentum));
}

static int do_batch_training(struct run *r)
{
	struct value *a = r->in[0], *mean, *variance;
	uint32_t mask = ((1u << a->rank) - 1) & ~2u;

	give(r, 0, layer(r, a, mask, attr_float(r, "epsilon", 0.00001f),
			 by_channel(r, r->in[1], a->rank), by_channel(r, r->in[2], a->rank)));
	if (r->ret)
		return r->ret;
	statistics(r, a, mask, &mean, &variance);
	give(r, 1, running(r, r->in[3], mean));
	return give(r, 2, running(r, r->in[4], variance));
}

static int do_batch(struct run *r, const struct op_map *m)
{
	struct accel_norm_desc d = ACCEL_NORM_DESC_INIT;
	struct value *v = new_like(r, r->in[0]);

	(void)m;
	if (!usable(r, r->in[0]))
		return r->ret;
	if (attr_int(r, "training_mode", 0))
		return do_batch_training(r);
	if (r->n_out > 1 || !attr_int(r, "spatial", 1) || !attr_int(r, "is_test", r->opset >= 7))
		return unsupported(r, "its older form with statistics");
	d.func = ACCEL_NORM_BATCH;
	d.eps = attr_float(r, "epsilon", 0.00001f);
	if (tensor_of(r, &d.a, r->in[0]) && tensor_of(r, &d.d, v) &&
	    tensor_of(r, &d.scale, r->in[1]) && tensor_of(r, &d.bias, r->in[2]) &&
	    tensor_of(r, &d.mean, r->in[3]) && tensor_of(r, &d.variance, r->in[4]))
		lib_run(r, &d.hdr);
	return give(r, 0, v);
}

const struct op_map ops_norm[] = {
	{ "LayerNormalization", do_layer, BY_LIBRARY, 0, 0 },
	{ "BatchNormalization", do_batch, BY_LIBRARY, 0, 0 },
	{ "InstanceNormalization", do_instance, BY_LIBRARY, 0, 6 },
	{ "MeanVarianceNormalization", do_mvn, BY_LIBRARY, 0, 0 },
	{ NULL, NULL, BY_LIBRARY, 0, 0 }
};
