// SPDX-License-Identifier: MIT
/*
 * Element types by arithmetic: written for clarity and used as the reference,
 * so nothing here is shared with the library.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "gemm.h"

/*
 * A binary format: p bits of precision, exponents from emin. Rounds to nearest
 * even, straight from float64, also into the subnormals.
 */
static double round_binary(double value, int p, int emin, double max)
{
	double quantum;
	int e;

	if (value == 0 || !isfinite(value))
		return value;
	e = ilogb(value);
	if (e < emin)
		e = emin;
	quantum = ldexp(1, e - (p - 1));
	value = nearbyint(value / quantum) * quantum;
	if (fabs(value) > max)
		return copysign(INFINITY, value);
	return value;
}

static double saturate(double value, double min, double max)
{
	if (isnan(value))
		return 0;
	return fmin(fmax(nearbyint(value), min), max);
}

double value_max(uint32_t dtype)
{
	return dtype == ACCEL_F16 ? 65504 : dtype == ACCEL_BF16 ? 0x1.fep127 : FLT_MAX;
}

double value_round(uint32_t dtype, double value)
{
	switch (dtype) {
	case ACCEL_F32:
		return (float)value;
	case ACCEL_F16:
		return round_binary(value, 11, -14, value_max(dtype));
	case ACCEL_BF16:
		return round_binary(value, 8, -126, value_max(dtype));
	case ACCEL_S32:
		return saturate(value, INT32_MIN, INT32_MAX);
	case ACCEL_S8:
		return saturate(value, -128, 127);
	case ACCEL_U8:
		return saturate(value, 0, 255);
	case ACCEL_S4:
		return saturate(value, -8, 7);
	case ACCEL_U4:
		return saturate(value, 0, 15);
	default:
		return value;
	}
}

static double f16_value(uint16_t bits)
{
	int exponent = bits >> 10 & 31;
	int fraction = bits & 1023;
	double value;

	if (exponent == 31)
		value = fraction ? NAN : INFINITY;
	else if (exponent == 0)
		value = ldexp(fraction, -24);
	else
		value = ldexp(1024 + fraction, exponent - 25);
	return bits & 0x8000 ? -value : value;
}

static uint16_t f16_bits(double value)
{
	uint16_t sign = signbit(value) ? 0x8000 : 0;
	int e;

	if (isnan(value))
		return 0x7e00;
	value = fabs(value_round(ACCEL_F16, value));
	if (isinf(value))
		return sign | 0x7c00;
	if (value < 1 / 0x1p14)
		return sign | (uint16_t)ldexp(value, 24);
	e = ilogb(value);
	return sign | (uint16_t)((e + 15) << 10) | (uint16_t)(ldexp(value, 10 - e) - 1024);
}

static double bf16_value(uint16_t bits)
{
	uint32_t word = (uint32_t)bits << 16;
	float value;

	memcpy(&value, &word, sizeof(value));
	return value;
}

static uint16_t bf16_bits(double value)
{
	float rounded = (float)value_round(ACCEL_BF16, value);
	uint32_t word;

	if (isnan(value))
		return 0x7fc0;
	memcpy(&word, &rounded, sizeof(word));
	return (uint16_t)(word >> 16);
}

double value_get(uint32_t dtype, const void *base, uint64_t index)
{
	const unsigned char *p = base;
	uint16_t half;
	int32_t word;
	float single;
	int nibble;

	switch (dtype) {
	case ACCEL_F32:
		memcpy(&single, p + index * 4, 4);
		return single;
	case ACCEL_F16:
		memcpy(&half, p + index * 2, 2);
		return f16_value(half);
	case ACCEL_BF16:
		memcpy(&half, p + index * 2, 2);
		return bf16_value(half);
	case ACCEL_S32:
		memcpy(&word, p + index * 4, 4);
		return word;
	case ACCEL_S8:
		return (signed char)p[index];
	case ACCEL_U8:
		return p[index];
	case ACCEL_S4:
	case ACCEL_U4:
		nibble = index & 1 ? p[index / 2] >> 4 : p[index / 2] & 15;
		return dtype == ACCEL_S4 && nibble > 7 ? nibble - 16 : nibble;
	default:
		return NAN;
	}
}

void value_put(uint32_t dtype, void *base, uint64_t index, double value)
{
	unsigned char *p = base;
	uint16_t half;
	int32_t word;
	float single;
	int nibble;

	switch (dtype) {
	case ACCEL_F32:
		single = (float)value;
		memcpy(p + index * 4, &single, 4);
		break;
	case ACCEL_F16:
		half = f16_bits(value);
		memcpy(p + index * 2, &half, 2);
		break;
	case ACCEL_BF16:
		half = bf16_bits(value);
		memcpy(p + index * 2, &half, 2);
		break;
	case ACCEL_S32:
		word = (int32_t)value_round(dtype, value);
		memcpy(p + index * 4, &word, 4);
		break;
	case ACCEL_S8:
	case ACCEL_U8:
		p[index] = (unsigned char)(int)value_round(dtype, value);
		break;
	case ACCEL_S4:
	case ACCEL_U4:
		nibble = (int)value_round(dtype, value) & 15;
		if (index & 1)
			p[index / 2] = (unsigned char)((p[index / 2] & 15) | nibble << 4);
		else
			p[index / 2] = (unsigned char)((p[index / 2] & 0xf0) | nibble);
		break;
	}
}

/* The finaliser of splitmix64 over a counter: order and thread do not matter */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

uint64_t value_random(uint64_t seed, uint32_t stream, uint64_t index)
{
	uint64_t key = mix(seed * 0x9e3779b97f4a7c15ull + stream);

	return mix(key + (index + 1) * 0x9e3779b97f4a7c15ull);
}

static double clamp(double x, double lo, double hi)
{
	/* A NaN is kept: comparisons with it are false */
	if (x < lo)
		return lo;
	if (x > hi)
		return hi;
	return x;
}

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

double act_apply(uint32_t act, double x, double p0, double p1)
{
	const double root = sqrt(2 / M_PI);

	/* Limits, where the formula is 0 times or by infinity */
	if (isinf(x) && act == ACCEL_ACT_SOFTSIGN)
		return copysign(1, x);
	if (x == -INFINITY && (act == ACCEL_ACT_GELU || act == ACCEL_ACT_GELU_TANH ||
			       act == ACCEL_ACT_SILU || act == ACCEL_ACT_HARD_SWISH ||
			       act == ACCEL_ACT_MISH))
		return -0.0;
	switch (act) {
	case ACCEL_ACT_RELU:
		return x > 0 || isnan(x) ? x : 0;
	case ACCEL_ACT_CLAMP:
		return clamp(x, p0, p1);
	case ACCEL_ACT_LEAKY_RELU:
		return x < 0 ? p0 * x : x;
	case ACCEL_ACT_SIGMOID:
		return sigmoid(x);
	case ACCEL_ACT_TANH:
		return tanh(x);
	case ACCEL_ACT_GELU:
		return x * 0.5 * erfc(-x * M_SQRT1_2);
	case ACCEL_ACT_GELU_TANH:
		return 0.5 * x * (1 + tanh(root * (x + 0.044715 * x * x * x)));
	case ACCEL_ACT_SILU:
		return x * sigmoid(x);
	case ACCEL_ACT_HARD_SIGMOID:
		return clamp(p0 * x + p1, 0, 1);
	case ACCEL_ACT_HARD_SWISH:
		return x * clamp(x / 6 + 0.5, 0, 1);
	case ACCEL_ACT_ELU:
		return x < 0 ? p0 * expm1(x) : x;
	case ACCEL_ACT_CELU:
		return x < 0 ? p0 * expm1(x / p0) : x;
	case ACCEL_ACT_SELU:
		return p1 * (x > 0 ? x : p0 * expm1(x));
	case ACCEL_ACT_SOFTPLUS:
		return fmax(x, 0) + log1p(exp(-fabs(x)));
	case ACCEL_ACT_SOFTSIGN:
		return x / (1 + fabs(x));
	case ACCEL_ACT_MISH:
		return x * tanh(fmax(x, 0) + log1p(exp(-fabs(x))));
	default:
		return x;
	}
}

double act_slope(uint32_t act, double p0, double p1)
{
	switch (act) {
	case ACCEL_ACT_LEAKY_RELU:
	case ACCEL_ACT_ELU:
		return fmax(1, fabs(p0));
	case ACCEL_ACT_SELU:
		return fabs(p1) * fmax(1, fabs(p0));
	case ACCEL_ACT_SIGMOID:
		return 0.25;
	case ACCEL_ACT_GELU:
	case ACCEL_ACT_GELU_TANH:
		return 1.13;
	case ACCEL_ACT_SILU:
	case ACCEL_ACT_MISH:
		return 1.1;
	case ACCEL_ACT_HARD_SIGMOID:
		return fabs(p0);
	case ACCEL_ACT_HARD_SWISH:
		return 1.5;
	default:
		return 1;
	}
}
