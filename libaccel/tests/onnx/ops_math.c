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
	case ACCEL_ACT_ELU:
	case ACCEL_ACT_CELU:
		p0 = attr_float(r, "alpha", 1);
		break;
	case ACCEL_ACT_SELU:
		p0 = attr_float(r, "alpha", 1.67326319f);
		p1 = attr_float(r, "gamma", 1.05070102f);
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

static struct value *arith(struct run *r, uint32_t func, struct value *a, struct value *b)
{
	if (!usable(r, a) || !usable(r, b))
		return NULL;
	if (type_is_float(a->type))
		return lib_binary(r, func, a, b);
	if (func == ACCEL_BINARY_DIV)
		func = ACCEL_BINARY_QUOT;
	/* Sums, differences and products of bytes may leave their type. */
	if (a->dtype == ACCEL_S32 || func > ACCEL_BINARY_MUL)
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

/* Slopes of one dimension were those of the channels before version 7. */
static int do_prelu(struct run *r, const struct op_map *m)
{
	int64_t dims[MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	struct value *slope = r->in[1], *x = r->in[0];

	(void)m;
	if (!usable(r, x) || !usable(r, slope))
		return r->ret;
	if (r->opset < 7 && slope->rank == 1 && slope->count > 1 && x->rank > 1) {
		dims[0] = slope->dims[0];
		slope = relabel(r, slope, slope->type, x->rank - 1, dims);
	}
	return give(r, 0, BINARY(r, PRELU, x, slope));
}

/*
 * Of integers in fp32, where every power below 2^24 is exact if the function
 * is: rounded to the nearest integer, which its error does not reach.
 */
static int do_pow(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0], *b = old_broadcast(r, a, r->in[1]), *v;
	uint64_t n;

	(void)m;
	if (!usable(r, a) || !usable(r, b))
		return r->ret;
	if (type_is_float(a->type))
		return give(r, 0, BINARY(r, POW, a, b));
	v = lib_binary_as(r, ACCEL_BINARY_POW, a, b, T_FLOAT);
	for (n = 0; v && n < v->count; n++)
		if (!(fabs(get(v, n)) < 1 << 20))
			return unsupported(r, "powers of integers from 2^20");
	return give(r, 0, v ? lib_convert(r, UNARY(r, ROUND, v), a->type) : NULL);
}

/* The sign of the divisor, or with fmod that of the dividend */
static int do_mod(struct run *r, const struct op_map *m)
{
	(void)m;
	return give(r, 0, attr_int(r, "fmod", 0) ? BINARY(r, REM, r->in[0], r->in[1]) :
						   BINARY(r, MOD, r->in[0], r->in[1]));
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
	{ "Elu", do_act, BY_LIBRARY, ACCEL_ACT_ELU, 0 },
	{ "Celu", do_act, BY_LIBRARY, ACCEL_ACT_CELU, 0 },
	{ "Selu", do_act, BY_LIBRARY, ACCEL_ACT_SELU, 6 },
	{ "Softplus", do_act, BY_LIBRARY, ACCEL_ACT_SOFTPLUS, 0 },
	{ "Softsign", do_act, BY_LIBRARY, ACCEL_ACT_SOFTSIGN, 0 },
	{ "PRelu", do_prelu, BY_LIBRARY, 0, 0 },
	{ "Pow", do_pow, BY_LIBRARY, 0, 0 },
	{ "Mod", do_mod, BY_LIBRARY, 0, 0 },
	{ "Sin", do_unary, BY_LIBRARY, ACCEL_UNARY_SIN, 0 },
	{ "Cos", do_unary, BY_LIBRARY, ACCEL_UNARY_COS, 0 },
	{ "Tan", do_unary, BY_LIBRARY, ACCEL_UNARY_TAN, 0 },
	{ "Asin", do_unary, BY_LIBRARY, ACCEL_UNARY_ASIN, 0 },
	{ "Acos", do_unary, BY_LIBRARY, ACCEL_UNARY_ACOS, 0 },
	{ "Atan", do_unary, BY_LIBRARY, ACCEL_UNARY_ATAN, 0 },
	{ "Sinh", do_unary, BY_LIBRARY, ACCEL_UNARY_SINH, 0 },
	{ "Cosh", do_unary, BY_LIBRARY, ACCEL_UNARY_COSH, 0 },
	{ "Asinh", do_unary, BY_LIBRARY, ACCEL_UNARY_ASINH, 0 },
	{ "Acosh", do_unary, BY_LIBRARY, ACCEL_UNARY_ACOSH, 0 },
	{ "Atanh", do_unary, BY_LIBRARY, ACCEL_UNARY_ATANH, 0 },
	{ "Sign", do_unary, BY_LIBRARY, ACCEL_UNARY_SIGN, 0 },
	{ NULL, NULL, BY_LIBRARY, 0, 0 }
};
