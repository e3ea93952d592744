// SPDX-License-Identifier: MIT
/*
 * Elementwise operators.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "run.h"

#define UNARY(r, f, a)		lib_unary(r, ACCEL_UNARY_##f, a)
#define BINARY(r, f, a, b)	lib_binary(r, ACCEL_BINARY_##f, a, b)
#define ACT(r, f, p0, p1, a)	lib_act(r, ACCEL_ACT_##f, p0, p1, a)

static int do_unary(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0];

	if (!usable(r, a))
		return r->ret;
	if (!type_is_float(a->type))
		return unsupported(r, "integers");
	return give(r, 0, lib_unary(r, m->arg, a));
}

static int do_neg(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0];

	if (usable(r, a) && a->dtype == ACCEL_S32)
		return give(r, 0, BINARY(r, SUB, constant(r, a->type, 0), a));
	return do_unary(r, m);
}

static int do_act(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0];
	float p0 = 0, p1 = 0;

	if (!usable(r, a))
		return r->ret;
	switch (m->arg) {
	case ACCEL_ACT_LEAKY_RELU:
		p0 = attr_float(r, "alpha", 0.01f);
		break;
	case ACCEL_ACT_HARD_SIGMOID:
		p0 = attr_float(r, "alpha", 0.2f);
		p1 = attr_float(r, "beta", 0.5f);
		break;
	default:
		break;
	}
	return give(r, 0, lib_act(r, m->arg, p0, p1, a));
}

/* --- two operands ------------------------------------------------------------------ */

/* Before version 7 the second operand lay at "axis" of the first. */
static struct value *old_broadcast(struct run *r, struct value *a, struct value *b)
{
	int64_t dims[MAX_RANK], axis = attr_int(r, "axis", -1);
	uint32_t i, rank;

	if (r->ret || r->opset >= 7 || !a || !b || axis < 0 || !attr_int(r, "broadcast", 0))
		return b;
	rank = a->rank - (uint32_t)axis;
	if (axis > a->rank || rank < b->rank)
		return b;
	for (i = 0; i < rank; i++)
		dims[i] = i < b->rank ? b->dims[i] : 1;
	return relabel(r, b, b->type, rank, dims);
}

/* Integers that binary32 and a quotient of two in it are exact for. */
static bool small_numbers(struct run *r, const struct value *v)
{
	uint64_t n;

	for (n = 0; v->dtype == ACCEL_S32 && n < v->count; n++)
		if (fabs(get(v, n)) >= 1 << 24) {
			unsupported(r, "a quotient of integers from 2^24");
			return false;
		}
	return true;
}

/* Integer division truncates: the quotient in binary32 never rounds up to an integer. */
static struct value *int_div(struct run *r, struct value *a, struct value *b)
{
	if (!small_numbers(r, a) || !small_numbers(r, b))
		return NULL;
	return lib_convert(r, lib_trunc(r, BINARY(r, DIV, lib_convert(r, a, T_FLOAT),
						  lib_convert(r, b, T_FLOAT))), a->type);
}

static struct value *arith(struct run *r, uint32_t func, struct value *a, struct value *b)
{
	if (!usable(r, a) || !usable(r, b))
		return NULL;
	if (type_is_float(a->type))
		return lib_binary(r, func, a, b);
	if (func == ACCEL_BINARY_DIV)
		return int_div(r, a, b);
	if (a->dtype == ACCEL_S32 || func == ACCEL_BINARY_MAX || func == ACCEL_BINARY_MIN)
		return lib_binary(r, func, a, b);
	return lib_wrap(r, lib_binary_as(r, func, a, b, T_INT32), a->type);
}

static int do_binary(struct run *r, const struct op_map *m)
{
	return give(r, 0, arith(r, m->arg, r->in[0], old_broadcast(r, r->in[0], r->in[1])));
}

/* Max, Min, Sum of any number. */
static int do_fold(struct run *r, const struct op_map *m)
{
	struct value *v = r->in[0];
	uint32_t i;

	for (i = 1; i < r->n_in; i++)
		v = arith(r, m->arg, v, r->in[i]);
	return give(r, 0, v);
}

static int do_mean(struct run *r, const struct op_map *m)
{
	uint32_t n = r->n_in;

	do_fold(r, m);
	return give(r, 0, lib_times(r, r->out[0], 1.0 / n));
}

/* Limits are attributes up to version 10, then inputs. */
static int do_clip(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0];

	(void)m;
	if (r->opset < 11)
		return give(r, 0, ACT(r, CLAMP, attr_float(r, "min", -FLT_MAX),
				      attr_float(r, "max", FLT_MAX), a));
	if (r->in[1])
		a = BINARY(r, MAX, a, r->in[1]);
	if (r->in[2])
		a = BINARY(r, MIN, a, r->in[2]);
	return give(r, 0, a);
}

/* --- made of several --------------------------------------------------------------- */

/* Intermediate results are fp32 whatever the operator's type is. */
static struct value *wide(struct run *r)
{
	struct value *a = r->in[0];

	if (usable(r, a) && !type_is_float(a->type))
		unsupported(r, "integers");
	return r->ret ? NULL : lib_convert(r, a, T_FLOAT);
}

static int give_narrow(struct run *r, struct value *v)
{
	return give(r, 0, v ? lib_convert(r, v, r->in[0]->type) : NULL);
}

/* max(x, 0) and min(x, 0) */
static struct value *above(struct run *r, struct value *x)
{
	return ACT(r, RELU, 0, 0, x);
}

static struct value *below(struct run *r, struct value *x)
{
	return x ? BINARY(r, MIN, x, constant(r, T_FLOAT, 0)) : NULL;
}

/* a (e^(min(x, 0) / b) - 1) */
static struct value *elu_tail(struct run *r, struct value *x, float a, float b)
{
	struct value *e = UNARY(r, EXP, lib_times(r, below(r, x), 1.0 / (double)b));

	return lib_times(r, lib_plus(r, e, -1), (double)a);
}

static int do_elu(struct run *r, const struct op_map *m)
{
	struct value *x = wide(r);

	(void)m;
	return give_narrow(r, BINARY(r, ADD, above(r, x),
				     elu_tail(r, x, attr_float(r, "alpha", 1), 1)));
}

static int do_celu(struct run *r, const struct op_map *m)
{
	float alpha = attr_float(r, "alpha", 1);
	struct value *x = wide(r);

	(void)m;
	return give_narrow(r, BINARY(r, ADD, above(r, x), elu_tail(r, x, alpha, alpha)));
}

/* The defaults of the version before 6 had fewer digits. */
static int do_selu(struct run *r, const struct op_map *m)
{
	float alpha = attr_float(r, "alpha", 1.67326319f);
	float gamma = attr_float(r, "gamma", 1.05070102f);
	struct value *x = wide(r);

	(void)m;
	return give_narrow(r, lib_times(r, BINARY(r, ADD, above(r, x), elu_tail(r, x, alpha, 1)),
					(double)gamma));
}

/* max(x, 0) + log(1 + e^-|x|) */
static int do_softplus(struct run *r, const struct op_map *m)
{
	struct value *x = wide(r);
	struct value *e = UNARY(r, EXP, UNARY(r, NEG, UNARY(r, ABS, x)));

	(void)m;
	return give_narrow(r, BINARY(r, ADD, above(r, x), UNARY(r, LOG, lib_plus(r, e, 1))));
}

static int do_softsign(struct run *r, const struct op_map *m)
{
	struct value *x = wide(r);

	(void)m;
	return give_narrow(r, BINARY(r, DIV, x, lib_plus(r, UNARY(r, ABS, x), 1)));
}

/* Slopes of one dimension were those of the channels before version 7. */
static int do_prelu(struct run *r, const struct op_map *m)
{
	int64_t dims[MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	struct value *slope = r->in[1], *x = wide(r);

	(void)m;
	if (!usable(r, x) || !usable(r, slope))
		return r->ret;
	if (r->opset < 7 && slope->rank == 1 && slope->count > 1 && x->rank > 1) {
		dims[0] = slope->dims[0];
		slope = relabel(r, slope, slope->type, x->rank - 1, dims);
	}
	return give_narrow(r, BINARY(r, ADD, above(r, x), BINARY(r, MUL, below(r, x), slope)));
}

enum hyperbolic { SINH, COSH, ASINH, ACOSH, ATANH };

static int do_hyperbolic(struct run *r, const struct op_map *m)
{
	struct value *x = wide(r), *v, *w;

	switch (m->arg) {
	case SINH:
	case COSH:
		v = lib_times(r, UNARY(r, EXP, x), 0.5);
		w = lib_times(r, UNARY(r, EXP, UNARY(r, NEG, x)), 0.5);
		v = lib_binary(r, m->arg == SINH ? ACCEL_BINARY_SUB : ACCEL_BINARY_ADD, v, w);
		break;
	case ASINH:
	case ACOSH:
		v = lib_plus(r, UNARY(r, SQUARE, x), m->arg == ASINH ? 1 : -1);
		v = UNARY(r, LOG, BINARY(r, ADD, x, UNARY(r, SQRT, v)));
		break;
	default:
		v = lib_plus(r, x, 1);
		w = lib_plus(r, UNARY(r, NEG, x), 1);
		v = lib_times(r, UNARY(r, LOG, BINARY(r, DIV, v, w)), 0.5);
	}
	return give_narrow(r, v);
}

const struct op_map ops_math[] = {
	{ "Abs", do_unary, BY_LIBRARY, ACCEL_UNARY_ABS, 0 },
	{ "Neg", do_neg, BY_LIBRARY, ACCEL_UNARY_NEG, 0 },
	{ "Sqrt", do_unary, BY_LIBRARY, ACCEL_UNARY_SQRT, 0 },
	{ "Reciprocal", do_unary, BY_LIBRARY, ACCEL_UNARY_RECIP, 0 },
	{ "Exp", do_unary, BY_LIBRARY, ACCEL_UNARY_EXP, 0 },
	{ "Log", do_unary, BY_LIBRARY, ACCEL_UNARY_LOG, 0 },
	{ "Erf", do_unary, BY_LIBRARY, ACCEL_UNARY_ERF, 0 },
	{ "Floor", do_unary, BY_LIBRARY, ACCEL_UNARY_FLOOR, 0 },
	{ "Ceil", do_unary, BY_LIBRARY, ACCEL_UNARY_CEIL, 0 },
	{ "Round", do_unary, BY_LIBRARY, ACCEL_UNARY_ROUND, 0 },
	{ "Relu", do_act, BY_LIBRARY, ACCEL_ACT_RELU, 0 },
	{ "LeakyRelu", do_act, BY_LIBRARY, ACCEL_ACT_LEAKY_RELU, 0 },
	{ "Sigmoid", do_act, BY_LIBRARY, ACCEL_ACT_SIGMOID, 0 },
	{ "Tanh", do_act, BY_LIBRARY, ACCEL_ACT_TANH, 0 },
	{ "HardSigmoid", do_act, BY_LIBRARY, ACCEL_ACT_HARD_SIGMOID, 0 },
	{ "HardSwish", do_act, BY_LIBRARY, ACCEL_ACT_HARD_SWISH, 0 },
	{ "Add", do_binary, BY_LIBRARY, ACCEL_BINARY_ADD, 0 },
	{ "Sub", do_binary, BY_LIBRARY, ACCEL_BINARY_SUB, 0 },
	{ "Mul", do_binary, BY_LIBRARY, ACCEL_BINARY_MUL, 0 },
	{ "Div", do_binary, BY_LIBRARY, ACCEL_BINARY_DIV, 0 },
	{ "Max", do_fold, BY_LIBRARY, ACCEL_BINARY_MAX, 0 },
	{ "Min", do_fold, BY_LIBRARY, ACCEL_BINARY_MIN, 0 },
	{ "Sum", do_fold, BY_LIBRARY, ACCEL_BINARY_ADD, 0 },
	{ "Mean", do_mean, BY_LIBRARY, ACCEL_BINARY_ADD, 0 },
	{ "Clip", do_clip, BY_LIBRARY, 0, 0 },
	{ "Elu", do_elu, BY_LIBRARY, 0, 0 },
	{ "Celu", do_celu, BY_LIBRARY, 0, 0 },
	{ "Selu", do_selu, BY_LIBRARY, 0, 6 },
	{ "Softplus", do_softplus, BY_LIBRARY, 0, 0 },
	{ "Softsign", do_softsign, BY_LIBRARY, 0, 0 },
	{ "PRelu", do_prelu, BY_LIBRARY, 0, 0 },
	{ "Sinh", do_hyperbolic, BY_LIBRARY, SINH, 0 },
	{ "Cosh", do_hyperbolic, BY_LIBRARY, COSH, 0 },
	{ "Asinh", do_hyperbolic, BY_LIBRARY, ASINH, 0 },
	{ "Acosh", do_hyperbolic, BY_LIBRARY, ACOSH, 0 },
	{ "Atanh", do_hyperbolic, BY_LIBRARY, ATANH, 0 },
	{ NULL, NULL, BY_LIBRARY, 0, 0 }
};
