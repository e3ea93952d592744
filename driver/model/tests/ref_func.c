// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The reference: functions of one number with their bounds, functions of two that
 * jump, and functions of integers.
 */
#include <math.h>
#include <stdlib.h>

#include "mt.h"

/* --- functions ------------------------------------------------------------ */

static double f_none(double x, double p0, double p1)
{
	(void)p0;
	(void)p1;
	return x;
}

#define FUNC(name, expr)						\
static double f_##name(double x, double p0, double p1)			\
{									\
	(void)p0;							\
	(void)p1;							\
	x = expr;							\
	return x;							\
}

static double sigmoid(double x)
{
	return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static double clamp(double x, double lo, double hi)
{
	return x < lo ? lo : x > hi ? hi : x;
}

/* A factor that vanishes wins over infinity, as in the limit. */
static double times(double x, double y)
{
	return y == 0 && isinf(x) ? 0 : x * y;
}

FUNC(relu, x <= 0 ? 0 : x)
FUNC(clamp, clamp(x, p0, p1))
FUNC(leaky, x < 0 ? p0 * x : x)
FUNC(sigmoid, sigmoid(x))
FUNC(tanh, tanh(x))
FUNC(gelu, times(x, 0.5 * erfc(-x / sqrt(2))))
FUNC(gelu_tanh, times(x, sigmoid(2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))))
FUNC(silu, times(x, sigmoid(x)))
FUNC(hard_sigmoid, clamp(p0 * x + p1, 0, 1))
FUNC(hard_swish, times(x, clamp(x / 6 + 0.5, 0, 1)))
FUNC(abs, fabs(x))
FUNC(neg, -x)
FUNC(sqrt, sqrt(x))
FUNC(rsqrt, 1 / sqrt(x))
FUNC(recip, 1 / x)
FUNC(exp, exp(x))
FUNC(log, log(x))
FUNC(erf, erf(x))
FUNC(square, x * x)
FUNC(floor, floor(x))
FUNC(ceil, ceil(x))
FUNC(round, nearbyint(x))
FUNC(sin, sin(x))
FUNC(cos, cos(x))
FUNC(tan, tan(x))
FUNC(asin, asin(x))
FUNC(acos, acos(x))
FUNC(atan, atan(x))
FUNC(sinh, sinh(x))
FUNC(cosh, cosh(x))
FUNC(asinh, asinh(x))
FUNC(acosh, x < 1 ? NAN : acosh(x))
FUNC(atanh, atanh(x))
FUNC(sign, (x > 0) - (x < 0) + (isnan(x) ? x : 0))
FUNC(trunc, trunc(x))
FUNC(is_nan, !!isnan(x))
FUNC(is_inf, !!isinf(x))
FUNC(not, x == 0)
FUNC(elu, x < 0 ? p0 * expm1(x) : x)
FUNC(celu, x < 0 ? p0 * expm1(x / p0) : x)
FUNC(selu, p1 * (x > 0 ? x : p0 * expm1(x)))
FUNC(softplus, x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)))
FUNC(softsign, isinf(x) ? copysign(1, x) : x / (1 + fabs(x)))
FUNC(mish, times(x, x > 40 ? 1 : tanh(log1p(exp(x)))))

#define U	REF_U
#define TINY	REF_TINY
/* Computed in binary64, rounded once */
#define ONCE	(1.0001 * REF_U)

const struct ref_func ref_acts[UMA_ACT_COUNT] = {
	[UMA_ACT_NONE] = { "none", f_none, 0, 0 },
	[UMA_ACT_RELU] = { "relu", f_relu, 0, 0 },
	[UMA_ACT_CLAMP] = { "clamp", f_clamp, 0, 0 },
	[UMA_ACT_LEAKY_RELU] = { "leaky_relu", f_leaky, U, TINY },
	[UMA_ACT_SIGMOID] = { "sigmoid", f_sigmoid, 5 * U, TINY },
	[UMA_ACT_TANH] = { "tanh", f_tanh, 4 * U, TINY },
	[UMA_ACT_GELU] = { "gelu", f_gelu, 12 * U, 32 * TINY },
	[UMA_ACT_GELU_TANH] = { "gelu_tanh", f_gelu_tanh, 8 * U, 32 * TINY },
	[UMA_ACT_SILU] = { "silu", f_silu, 6 * U, 128 * TINY },
	[UMA_ACT_HARD_SIGMOID] = { "hard_sigmoid", f_hard_sigmoid, 2 * U, TINY },
	[UMA_ACT_HARD_SWISH] = { "hard_swish", f_hard_swish, 4 * U, TINY },
	[UMA_ACT_ELU] = { "elu", f_elu, ONCE, TINY },
	[UMA_ACT_CELU] = { "celu", f_celu, ONCE, TINY },
	[UMA_ACT_SELU] = { "selu", f_selu, ONCE, TINY },
	[UMA_ACT_SOFTPLUS] = { "softplus", f_softplus, ONCE, TINY },
	[UMA_ACT_SOFTSIGN] = { "softsign", f_softsign, ONCE, TINY },
	[UMA_ACT_MISH] = { "mish", f_mish, ONCE, TINY },
};

const struct ref_func ref_unaries[UMA_UNARY_COUNT] = {
	[UMA_UNARY_ACT] = { "act", f_none, 0, 0 },
	[UMA_UNARY_ABS] = { "abs", f_abs, 0, 0 },
	[UMA_UNARY_NEG] = { "neg", f_neg, 0, 0 },
	[UMA_UNARY_SQRT] = { "sqrt", f_sqrt, U, 0 },
	[UMA_UNARY_RSQRT] = { "rsqrt", f_rsqrt, 3 * U, 0 },
	[UMA_UNARY_RECIP] = { "recip", f_recip, U, TINY },
	[UMA_UNARY_EXP] = { "exp", f_exp, 3 * U, TINY },
	[UMA_UNARY_LOG] = { "log", f_log, 3 * U, 0 },
	[UMA_UNARY_ERF] = { "erf", f_erf, 4 * U, TINY },
	[UMA_UNARY_SQUARE] = { "square", f_square, U, TINY },
	[UMA_UNARY_FLOOR] = { "floor", f_floor, 0, 0 },
	[UMA_UNARY_CEIL] = { "ceil", f_ceil, 0, 0 },
	[UMA_UNARY_ROUND] = { "round", f_round, 0, 0 },
	[UMA_UNARY_SIN] = { "sin", f_sin, ONCE, TINY },
	[UMA_UNARY_COS] = { "cos", f_cos, ONCE, TINY },
	[UMA_UNARY_TAN] = { "tan", f_tan, ONCE, TINY },
	[UMA_UNARY_ASIN] = { "asin", f_asin, ONCE, TINY },
	[UMA_UNARY_ACOS] = { "acos", f_acos, ONCE, TINY },
	[UMA_UNARY_ATAN] = { "atan", f_atan, ONCE, TINY },
	[UMA_UNARY_SINH] = { "sinh", f_sinh, ONCE, TINY },
	[UMA_UNARY_COSH] = { "cosh", f_cosh, ONCE, TINY },
	[UMA_UNARY_ASINH] = { "asinh", f_asinh, ONCE, TINY },
	[UMA_UNARY_ACOSH] = { "acosh", f_acosh, ONCE, TINY },
	[UMA_UNARY_ATANH] = { "atanh", f_atanh, ONCE, TINY },
	[UMA_UNARY_SIGN] = { "sign", f_sign, 0, 0 },
	[UMA_UNARY_TRUNC] = { "trunc", f_trunc, 0, 0 },
	[UMA_UNARY_IS_NAN] = { "is_nan", f_is_nan, 0, 0 },
	[UMA_UNARY_IS_INF] = { "is_inf", f_is_inf, 0, 0 },
	[UMA_UNARY_NOT] = { "not", f_not, 0, 0 },
};

double ref_saturated;

/* What a bound needs beside its multiple of the result. */
double ref_extra(const struct ref_func *f, double x, double p0, double p1)
{
	if (f == &ref_acts[UMA_ACT_SIGMOID])
		return ref_saturated;
	if (f == &ref_acts[UMA_ACT_SILU])
		return 87 * ref_saturated;
	/* Cancellation: relative to the terms, not to the result. */
	if (f == &ref_acts[UMA_ACT_HARD_SIGMOID])
		return 2 * U * (fabs(p0 * x) + fabs(p1));
	if (f == &ref_acts[UMA_ACT_HARD_SWISH])
		return f->f(x, p0, p1) != 0 ? 2 * U * fabs(x) : 0;
	/* The exponential takes the rounding of its argument as it is. */
	if (f == &ref_acts[UMA_ACT_GELU_TANH] && x < 0) {
		double y = f->f(x, p0, p1);

		return (y != 0 ? 8 * U * fabs(y * (x + 0.044715 * x * x * x)) : 0) +
		       10 * ref_saturated;
	}
	return 0;
}

/* --- functions of two ------------------------------------------------------ */

static double modulo(double a, double b)
{
	double r = fmod(a, b);

	if (r == 0)
		return copysign(0, b);
	return (r < 0) != (b < 0) ? (float)(r + b) : r;
}

/* Functions that compare, and those that jump. */
double ref_jump(uint32_t func, double a, double b)
{
	switch (func) {
	case UMA_BINARY_MOD:
		return modulo(a, b);
	case UMA_BINARY_REM:
		return fmod(a, b);
	case UMA_BINARY_QUOT:
		return trunc((float)(a / b));
	case UMA_BINARY_EQ:
		return a == b;
	case UMA_BINARY_NE:
		return a != b;
	case UMA_BINARY_LT:
		return a < b;
	case UMA_BINARY_LE:
		return a <= b;
	case UMA_BINARY_GT:
		return a > b;
	case UMA_BINARY_GE:
		return a >= b;
	case UMA_BINARY_AND:
		return a != 0 && b != 0;
	case UMA_BINARY_OR:
		return a != 0 || b != 0;
	case UMA_BINARY_XOR:
		return (a != 0) != (b != 0);
	default:
		return a < 0 ? (float)(b * a) : a;
	}
}

/* The low bits of @v, as a number of the type. */
static int64_t low_bits(int64_t v, int dtype)
{
	int width = dtype == UMA_DTYPE_S32 ? 32 : dtype >= UMA_DTYPE_S4 ? 4 : 8;
	int64_t low = v & (int64_t)((1ULL << width) - 1);

	if ((dtype == UMA_DTYPE_S32 || dtype == UMA_DTYPE_S8 || dtype == UMA_DTYPE_S4) &&
	    low >> (width - 1))
		low -= 1LL << width;
	return low;
}

static int64_t int_modulo(int64_t a, int64_t b)
{
	int64_t r = a % b;

	return r && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t int_power(int64_t a, int64_t b)
{
	double y = pow((double)a, (double)b);

	return isnan(y) ? 0 : (int64_t)fmin(fmax(trunc(y), -4e9), 4e9);
}

int64_t ref_int_binary(uint32_t func, int64_t a, int64_t b, int dtype)
{
	int out = b < 0 || b > 31;

	switch (func) {
	case UMA_BINARY_ADD:
		return a + b;
	case UMA_BINARY_SUB:
		return a - b;
	case UMA_BINARY_MUL:
		return a * b;
	case UMA_BINARY_MAX:
		return a > b ? a : b;
	case UMA_BINARY_MIN:
		return a < b ? a : b;
	case UMA_BINARY_MOD:
		return b ? int_modulo(a, b) : 0;
	case UMA_BINARY_REM:
		return b ? a % b : 0;
	case UMA_BINARY_QUOT:
		return b ? a / b : 0;
	case UMA_BINARY_POW:
		return int_power(a, b);
	case UMA_BINARY_BIT_AND:
		return low_bits(a & b, dtype);
	case UMA_BINARY_BIT_OR:
		return low_bits(a | b, dtype);
	case UMA_BINARY_BIT_XOR:
		return low_bits(a ^ b, dtype);
	case UMA_BINARY_SHL:
		return out ? 0 : low_bits((int64_t)((uint64_t)a << b), dtype);
	case UMA_BINARY_SHR:
		return low_bits(a >> (out ? 63 : b), dtype);
	case UMA_BINARY_PRELU:
		return a < 0 ? a * b : a;
	default:
		return (int64_t)ref_jump(func, (double)a, (double)b);
	}
}

int64_t ref_int_unary(uint32_t func, int64_t a, int dtype)
{
	switch (func) {
	case UMA_UNARY_ABS:
		return llabs(a);
	case UMA_UNARY_NEG:
		return -a;
	case UMA_UNARY_SQUARE:
		return a * a;
	case UMA_UNARY_SIGN:
		return (a > 0) - (a < 0);
	case UMA_UNARY_NOT:
		return a == 0;
	default:
		return low_bits(-a - 1, dtype);
	}
}
