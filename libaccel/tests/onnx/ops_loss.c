// SPDX-License-Identifier: MIT
/*
 * Losses: the element of the class by index, weighted, summed.
 */
#include <string.h>

#include "run.h"

#define MUL(r, a, b)	lib_binary(r, ACCEL_BINARY_MUL, a, b)

/*
 * -w[t] x[n][t][d] of @x, [N, C, D] with the dimensions behind the classes in
 * one; nothing where the target is the index to ignore. @weight_sum: out: the
 * sum of the weights if they are not all 1.
 */
static struct value *pick(struct run *r, struct value *x, struct value *target,
			  struct value *weight, struct value **weights)
{
	const Onnx__AttributeProto *ignore = attr(r, "ignore_index");
	struct value *valid = NULL, *v;

	*weights = NULL;
	if (ignore) {
		valid = lib_binary_as(r, ACCEL_BINARY_NE, target,
				      constant(r, target->type, (double)ignore->i), T_BOOL);
		target = lib_select(r, valid, target, constant(r, target->type, 0));
	}
	v = lib_unary(r, ACCEL_UNARY_NEG,
		      lib_gather(r, ACCEL_GATHER_ELEMENTS, x, target, 1, 0));
	if (weight)
		*weights = lib_gather(r, ACCEL_GATHER_AXIS, weight, target, 0, 0);
	if (valid && *weights)
		*weights = MUL(r, *weights, valid);
	else if (valid)
		*weights = lib_convert(r, valid, x->type);
	return *weights ? MUL(r, v, *weights) : v;
}

static struct value *sum(struct run *r, uint32_t func, struct value *v)
{
	v = v ? lib_reduce(r, func, 0, v, 7, v->type) : NULL;
	return v ? relabel(r, v, v->type, 0, NULL) : NULL;
}

static struct value *loss(struct run *r, struct value *x, struct value *target,
			  struct value *weight)
{
	struct value *v, *weights = NULL;
	int64_t dims[3];

	if (!usable(r, x) || !usable(r, target) || (weight && !usable(r, weight)))
		return NULL;
	if (x->rank < 2 || !x->dims[0] || !x->dims[1]) {
		unsupported(r, "no classes");
		return NULL;
	}
	dims[0] = x->dims[0];
	dims[1] = x->dims[1];
	dims[2] = (int64_t)x->count / dims[0] / dims[1];
	x = relabel(r, x, x->type, 3, dims);
	dims[1] = 1;
	v = pick(r, x, relabel(r, target, target->type, 3, dims), weight, &weights);
	if (attr_is(r, "reduction", "none", false))
		return v ? relabel(r, v, v->type, target->rank, target->dims) : NULL;
	if (attr_is(r, "reduction", "sum", false))
		return sum(r, ACCEL_REDUCE_SUM, v);
	if (!weights)
		return sum(r, ACCEL_REDUCE_MEAN, v);
	return lib_binary(r, ACCEL_BINARY_DIV, sum(r, ACCEL_REDUCE_SUM, v),
			  sum(r, ACCEL_REDUCE_SUM, weights));
}

static int do_nll(struct run *r, const struct op_map *m)
{
	(void)m;
	return give(r, 0, loss(r, r->in[0], r->in[1], r->in[2]));
}

static int do_cross_entropy(struct run *r, const struct op_map *m)
{
	struct value *x = r->in[0], *v;
	int64_t dims[3];

	(void)m;
	if (!usable(r, x))
		return r->ret;
	if (x->rank < 2 || !x->dims[0] || !x->dims[1])
		return unsupported(r, "no classes");
	dims[0] = x->dims[0];
	dims[1] = x->dims[1];
	dims[2] = (int64_t)x->count / dims[0] / dims[1];
	v = lib_softmax(r, ACCEL_SOFTMAX_LOG, relabel(r, x, x->type, 3, dims), 1);
	v = v ? relabel(r, v, x->type, x->rank, x->dims) : NULL;
	give(r, 1, v);
	return give(r, 0, loss(r, v, r->in[1], r->in[2]));
}

const struct op_map ops_loss[] = {
	{ "NegativeLogLikelihoodLoss", do_nll, BY_LIBRARY, 0, 0 },
	{ "SoftmaxCrossEntropyLoss", do_cross_entropy, BY_LIBRARY, 0, 0 },
	{ NULL, NULL, BY_LIBRARY, 0, 0 }
};
