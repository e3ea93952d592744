// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The reference: functions of two numbers that jump, and of integers.
 */
#include <math.h>
#include <stdlib.h>

#include "mt.h"

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
