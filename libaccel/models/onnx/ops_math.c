// SPDX-License-Identifier: MIT
/*
 * Operators on each element.
 */
#include <errno.h>
#include <float.h>
#include <math.h>

#include "onnx.h"

static int unary(struct import *im, uint32_t func)
{
	struct accel_unary_desc d = ACCEL_UNARY_DESC_INIT;
	int ret = im_need(im, 1);

	if (ret)
		return ret;
	d.func = func;
	if (func >= ACCEL_UNARY_IS_NAN && func <= ACCEL_UNARY_NOT)
		d.d.dtype = ACCEL_HOST_BOOL;
	return im_give_one(im, &d.hdr);
}

static int activation(struct import *im, uint32_t act)
{
	struct accel_unary_desc d = ACCEL_UNARY_DESC_INIT;
	int ret = im_need(im, 1);

	if (ret)
		return ret;
	/* Engines' activations go through fp32, where integers of 32 bits are not exact. */
	if (act == ACCEL_ACT_RELU && !type_is_real(im->in[0].type))
		return v_give(im, 0, v_with(im, ACCEL_BINARY_MAX, im->in[0].value, 0));
	d.epilogue.act = act;
	switch (act) {
	case ACCEL_ACT_LEAKY_RELU:
		d.epilogue.p0 = im_float(im, "alpha", 0.01f);
		break;
	case ACCEL_ACT_ELU:
	case ACCEL_ACT_CELU:
		d.epilogue.p0 = im_float(im, "alpha", 1);
		break;
	case ACCEL_ACT_SELU:
		d.epilogue.p0 = im_float(im, "alpha", 1.67326319217681884765625f);
		d.epilogue.p1 = im_float(im, "gamma", 1.05070102214813232421875f);
		break;
	case ACCEL_ACT_HARD_SIGMOID:
		d.epilogue.p0 = im_float(im, "alpha", 0.2f);
		d.epilogue.p1 = im_float(im, "beta", 0.5f);
		break;
	case ACCEL_ACT_GELU:
		if (im_string(im, "approximate", "tanh"))
			d.epilogue.act = ACCEL_ACT_GELU_TANH;
		else if (im_attr(im, "approximate", ATTR_STRING) &&
			 !im_string(im, "approximate", "none"))
			return im_fail(im, -EOPNOTSUPP, "its approximate is not known");
		break;
	}
	return im_give_one(im, &d.hdr);
}

/* x sigmoid(alpha x); of com.microsoft, QuickGelu, alpha is near that of GELU. */
int swish(struct import *im, uint32_t ms)
{
	float alpha = im_float(im, "alpha", ms ? 1.702f : 1);
	uint32_t value;
	int ret = im_need(im, 1);

	if (ret)
		return ret;
	value = im->in[0].value;
	if (alpha == 1)
		return v_give(im, 0, v_act(im, ACCEL_ACT_SILU, 0, 0, value));
	value = v_with(im, ACCEL_BINARY_MUL, value, (double)alpha);
	value = v_act(im, ACCEL_ACT_SIGMOID, 0, 0, value);
	return v_give(im, 0, v_binary(im, ACCEL_BINARY_MUL, im->in[0].value, value));
}

/*
 * Before version 7 the second operand lies at an axis of the first, or at the last ones;
 * a slope of PRelu lies at the channels.
 */
static int at_axis(struct import *im, uint32_t func, uint32_t *b)
{
	struct accel_shape_desc wrap = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_UNSQUEEZE);
	int64_t list[ACCEL_GRAPH_MAX_RANK], axis;
	uint32_t i, n, rank = im->in[1].rank, value;
	int ret;

	if (im->opset >= 7 || rank >= im->in[0].rank || !rank)
		return 0;
	axis = func == ACCEL_BINARY_PRELU ? 1 : im_int(im, "axis", im->in[0].rank - rank);
	axis += axis < 0 ? im->in[0].rank : 0;
	if (axis < 0 || axis + rank > im->in[0].rank)
		return im_fail(im, -EBADMSG, "axis %lld", (long long)axis);
	n = im->in[0].rank - rank - (uint32_t)axis;
	for (i = 0; i < n; i++)
		list[i] = rank + i;
	ret = im_list(im, n, list, &value);
	return ret ? ret : im_two(im, &wrap.hdr, *b, value, b);
}

/* The type in which a function of integers is computed so that its low bits are those of ONNX. */
static uint32_t wide_type(uint32_t func, uint32_t type)
{
	bool grows = func == ACCEL_BINARY_ADD || func == ACCEL_BINARY_SUB ||
		     func == ACCEL_BINARY_MUL || func == ACCEL_BINARY_POW;

	if (!grows || type_is_real(type) || accel_type_bits(type) == 64)
		return type;
	if (func != ACCEL_BINARY_POW && accel_type_bits(type) == 8)
		return ACCEL_S32;
	/* Engines have sums and products of these, exact as long as they fit. */
	return type == ACCEL_S32 ? type : ACCEL_HOST_S64;
}

static int binary(struct import *im, uint32_t func)
{
	uint32_t out, a, b, type, wide;
	int ret = im_need(im, 2);

	if (ret)
		return ret;
	a = im->in[0].value;
	b = im->in[1].value;
	type = im->in[0].type;
	ret = at_axis(im, func, &b);
	if (ret)
		return ret;
	if (func == ACCEL_BINARY_DIV && !type_is_real(im->in[0].type))
		func = ACCEL_BINARY_QUOT;
	if (func == ACCEL_BINARY_MOD && im_int(im, "fmod", 0))
		func = ACCEL_BINARY_REM;
	wide = wide_type(func, type);
	/* An exponent may have a type of its own: a real one makes the power real. */
	if (func == ACCEL_BINARY_POW && !type_is_real(type) && type_is_real(im->in[1].type))
		wide = ACCEL_HOST_F64;
	if (wide != type || func == ACCEL_BINARY_POW) {
		ret = im_cast(im, a, wide, &a);
		if (!ret)
			ret = im_cast(im, b, wide, &b);
	}
	if (!ret)
		ret = im_binary(im, func, a, b, &out);
	if (!ret && wide != type)
		ret = im_cast(im, out, type, &out);
	return ret ? ret : im_give(im, 0, out);
}

/* One after the other: Sum, Max, Min, Mean. */
static int several(struct import *im, uint32_t func)
{
	bool mean = func == ACCEL_BINARY_DIV;
	uint32_t i, out, n;
	int ret = im_need(im, im->in_count ? im->in_count : 1);

	if (ret)
		return ret;
	out = im->in[0].value;
	for (i = 1; i < im->in_count && !ret; i++)
		ret = im_binary(im, mean ? ACCEL_BINARY_ADD : func, out, im->in[i].value, &out);
	if (mean && !ret)
		ret = im_scalar(im, im->in[0].type, im->in_count, &n);
	if (mean && !ret)
		ret = im_binary(im, func, out, n, &out);
	return ret ? ret : im_give(im, 0, out);
}

/* A whole number of a type, or the nearest that it has */
static uint32_t nearest(struct import *im, uint32_t type, double number)
{
	uint32_t out = v_number(im, ACCEL_HOST_F64, number);
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;

	copy.d.dtype = type;
	return im->error.code || im_one(im, &copy.hdr, out, &out) ? NO_VALUE : out;
}

static int clip(struct import *im, uint32_t arg)
{
	struct accel_unary_desc d = ACCEL_UNARY_DESC_INIT;
	double min = im_float(im, "min", -FLT_MAX), max = im_float(im, "max", FLT_MAX);
	bool here[3], known = true;
	uint32_t out, i, bound;
	int ret = im_need(im, 1);

	(void)arg;
	if (ret)
		return ret;
	for (i = 1; i < 3; i++) {
		here[i] = i < im->in_count && im->in[i].here;
		if (here[i])
			known &= im_real(&im->in[i], i == 1 ? &min : &max);
	}
	out = im->in[0].value;
	/* An activation has bounds of fp32, which are none of doubles. */
	if (known && type_is_real(im->in[0].type) && im->in[0].type != ACCEL_HOST_F64 &&
	    min >= -FLT_MAX && max <= FLT_MAX && min <= max) {
		d.epilogue.act = ACCEL_ACT_CLAMP;
		d.epilogue.p0 = (float)min;
		d.epilogue.p1 = (float)max;
		ret = im_one(im, &d.hdr, out, &out);
		return ret ? ret : im_give(im, 0, out);
	}
	for (i = 1; i < 3; i++) {
		if (here[i])
			bound = im->in[i].value;
		else if (im->opset < 11 && (type_is_real(im->in[0].type) ||
					    fabs(i == 1 ? min : max) < (double)FLT_MAX))
			/* Attributes, and what they are if there are none, are of fp32. */
			bound = type_is_real(im->in[0].type) ?
				v_number(im, im->in[0].type, i == 1 ? min : max) :
				nearest(im, im->in[0].type, i == 1 ? ceil(min) : floor(max));
		else
			continue;
		out = v_binary(im, i == 1 ? ACCEL_BINARY_MAX : ACCEL_BINARY_MIN, out, bound);
	}
	return v_give(im, 0, out);
}

static int where(struct import *im, uint32_t arg)
{
	struct accel_select_desc d = ACCEL_SELECT_DESC_INIT;
	uint32_t out;
	int ret = im_need(im, 3);

	(void)arg;
	if (!ret)
		ret = im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, im->in[0].value },
					       { ACCEL_ARG_B, im->in[1].value },
					       { ACCEL_ARG_C, im->in[2].value }), 4, &out);
	return ret ? ret : im_give(im, 0, out);
}

static bool is_half(uint32_t type)
{
	return type == ACCEL_S4 || type == ACCEL_U4;
}

/* Rows of half bytes that do not end at a byte, where a dimension with a name has any size */
static bool is_ragged(const struct import *im, const struct ref *ref)
{
	return ref->rank > 1 && ref->dims[ref->rank - 1] % 2 &&
	       !accel_graph_varies(im->model->graph, ref->value, ref->rank - 1);
}

static int cast(struct import *im, uint32_t like)
{
	const struct ref *a = &im->in[0];
	uint32_t type, out, all, shape;
	bool flat;
	int ret = im_need(im, like ? 2 : 1);

	if (ret)
		return ret;
	type = like ? im->in[1].type : type_of(im_int(im, "to", 0));
	if (!type)
		return no_type(im, im_int(im, "to", 0), "to");
	out = a->value;
	if (type == a->type)
		return im_give(im, 0, out);
	ret = tensor_bytes(im, a, &out);
	/* What has no place in half bytes is undefined; ONNX's vectors take the low bits. */
	if (!ret && is_half(type) && type_is_real(a->type))
		ret = im_cast(im, out, ACCEL_S32, &out);
	/* No operation has such rows, but in a file all elements are one. */
	flat = (is_half(type) || is_half(v_type(im, out))) && is_ragged(im, a);
	if (!ret && flat) {
		shape = v_shape_of(im, out, 0, INT64_MAX);
		all = v_elements(im, out, 0);
		out = v_reshape(im, out, 1, &all);
		ret = im->error.code;
	}
	if (!ret)
		ret = im_cast(im, out, type, &out);
	return ret ? ret : v_give(im, 0, flat ? v_reshape(im, out, 1, &shape) : out);
}

const struct op onnx_math[] = {
	{ "Abs", unary, ACCEL_UNARY_ABS }, { "Neg", unary, ACCEL_UNARY_NEG },
	{ "Sqrt", unary, ACCEL_UNARY_SQRT }, { "Reciprocal", unary, ACCEL_UNARY_RECIP },
	{ "Exp", unary, ACCEL_UNARY_EXP }, { "Log", unary, ACCEL_UNARY_LOG },
	{ "Erf", unary, ACCEL_UNARY_ERF }, { "Floor", unary, ACCEL_UNARY_FLOOR },
	{ "Ceil", unary, ACCEL_UNARY_CEIL }, { "Round", unary, ACCEL_UNARY_ROUND },
	{ "Sin", unary, ACCEL_UNARY_SIN }, { "Cos", unary, ACCEL_UNARY_COS },
	{ "Tan", unary, ACCEL_UNARY_TAN }, { "Asin", unary, ACCEL_UNARY_ASIN },
	{ "Acos", unary, ACCEL_UNARY_ACOS }, { "Atan", unary, ACCEL_UNARY_ATAN },
	{ "Sinh", unary, ACCEL_UNARY_SINH }, { "Cosh", unary, ACCEL_UNARY_COSH },
	{ "Asinh", unary, ACCEL_UNARY_ASINH }, { "Acosh", unary, ACCEL_UNARY_ACOSH },
	{ "Atanh", unary, ACCEL_UNARY_ATANH }, { "Sign", unary, ACCEL_UNARY_SIGN },
	{ "IsNaN", unary, ACCEL_UNARY_IS_NAN }, { "Not", unary, ACCEL_UNARY_NOT },
	{ "Relu", activation, ACCEL_ACT_RELU }, { "Sigmoid", activation, ACCEL_ACT_SIGMOID },
	{ "Tanh", activation, ACCEL_ACT_TANH }, { "Gelu", activation, ACCEL_ACT_GELU },
	{ "LeakyRelu", activation, ACCEL_ACT_LEAKY_RELU }, { "Elu", activation, ACCEL_ACT_ELU },
	{ "Selu", activation, ACCEL_ACT_SELU }, { "Celu", activation, ACCEL_ACT_CELU },
	{ "HardSigmoid", activation, ACCEL_ACT_HARD_SIGMOID },
	{ "HardSwish", activation, ACCEL_ACT_HARD_SWISH },
	{ "Softplus", activation, ACCEL_ACT_SOFTPLUS },
	{ "Softsign", activation, ACCEL_ACT_SOFTSIGN }, { "Mish", activation, ACCEL_ACT_MISH },
	{ "Swish", swish, 0 },
	{ "Add", binary, ACCEL_BINARY_ADD }, { "Sub", binary, ACCEL_BINARY_SUB },
	{ "Mul", binary, ACCEL_BINARY_MUL }, { "Div", binary, ACCEL_BINARY_DIV },
	{ "Pow", binary, ACCEL_BINARY_POW }, { "Mod", binary, ACCEL_BINARY_MOD },
	{ "PRelu", binary, ACCEL_BINARY_PRELU },
	{ "Equal", binary, ACCEL_BINARY_EQ }, { "Less", binary, ACCEL_BINARY_LT },
	{ "LessOrEqual", binary, ACCEL_BINARY_LE }, { "Greater", binary, ACCEL_BINARY_GT },
	{ "GreaterOrEqual", binary, ACCEL_BINARY_GE }, { "And", binary, ACCEL_BINARY_AND },
	{ "Or", binary, ACCEL_BINARY_OR }, { "Xor", binary, ACCEL_BINARY_XOR },
	{ "Sum", several, ACCEL_BINARY_ADD }, { "Max", several, ACCEL_BINARY_MAX },
	{ "Min", several, ACCEL_BINARY_MIN }, { "Mean", several, ACCEL_BINARY_DIV },
	{ "Clip", clip, 0 }, { "Where", where, 0 }, { "Cast", cast, 0 }, { "CastLike", cast, 1 },
	{ 0 }
};
