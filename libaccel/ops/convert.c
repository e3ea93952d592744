// SPDX-License-Identifier: MIT
/*
 * The constant of a fill, in the type that it is stored as.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "ops.h"

/*
 * Round to a binary format narrower than binary32, from binary64 at once: by
 * way of binary32 it would be rounded twice.
 */
static uint32_t narrow(double v, int mant_bits, int exp_bits)
{
	const int bias = (1 << (exp_bits - 1)) - 1;
	uint32_t sign = signbit(v) ? 1u << (mant_bits + exp_bits) : 0;
	uint32_t inf = ((1u << exp_bits) - 1) << mant_bits;
	double mag = fabs(v), scaled;
	int exp;

	if (isnan(v))
		return sign | inf | 1u << (mant_bits - 1);
	if (isinf(v))
		return sign | inf;
	if (mag == 0)
		return sign;
	exp = ilogb(mag);
	if (exp < 1 - bias)
		exp = 1 - bias;
	/*
	 * In units of the last place: exact in binary64 but for numbers far
	 * below the smallest one, which round to 0 either way.
	 */
	scaled = nearbyint(scalbn(mag, mant_bits - exp));
	/* A carry moves into the exponent, and from the largest to infinity. */
	if (exp > bias || scalbn(scaled, exp - mant_bits) >= scalbn(1, bias + 1))
		return sign | inf;
	if (scaled < (1u << mant_bits))
		return sign | (uint32_t)scaled;
	return sign | (((uint32_t)(exp + bias) << mant_bits) +
		       ((uint32_t)scaled - (1u << mant_bits)));
}

static int64_t saturate(double v, int64_t lo, int64_t hi)
{
	v = nearbyint(v);
	return v <= (double)lo ? lo : v >= (double)hi ? hi : (int64_t)v;
}

/**
 * fill_bits - the bits of a constant
 * @value: constant
 * @dtype: &enum accel_dtype
 * @bits: out: right-aligned
 *
 * Rounded to nearest, ties to even. Out of range: infinity, integers saturate.
 * Assumes the default rounding mode.
 *
 * Return: 0, or -EINVAL: no number, and the type has no place for that.
 */
int fill_bits(double value, uint32_t dtype, uint32_t *bits)
{
	float f = (float)value;

	if (dtype == ACCEL_F32) {
		memcpy(bits, &f, sizeof(f));
		return 0;
	}
	if (dtype == ACCEL_F16 || dtype == ACCEL_BF16) {
		*bits = dtype == ACCEL_F16 ? narrow(value, 10, 5) :
					     narrow(value, 7, 8);
		return 0;
	}
	if (isnan(value))
		return -EINVAL;
	switch (dtype) {
	case ACCEL_S32:
		*bits = (uint32_t)saturate(value, INT32_MIN, INT32_MAX);
		return 0;
	case ACCEL_S8:
		*bits = (uint32_t)saturate(value, INT8_MIN, INT8_MAX) & 0xff;
		return 0;
	case ACCEL_U8:
		*bits = (uint32_t)saturate(value, 0, UINT8_MAX);
		return 0;
	case ACCEL_S4:
		*bits = (uint32_t)saturate(value, -8, 7) & 0xf;
		return 0;
	default:
		*bits = (uint32_t)saturate(value, 0, 15);
		return 0;
	}
}
