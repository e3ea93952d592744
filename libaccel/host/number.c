// SPDX-License-Identifier: MIT
/*
 * Elements as numbers, and functions of them.
 */
#include <math.h>
#include <string.h>

#include "host.h"

bool host_type_real(uint32_t type)
{
	return type == ACCEL_F32 || type == ACCEL_F16 || type == ACCEL_BF16 ||
	       type == ACCEL_HOST_F64;
}

static double from_half(uint16_t bits)
{
	int e = bits >> 10 & 31;
	double m = bits & 1023, v;

	if (e == 31)
		v = m != 0 ? NAN : INFINITY;
	else
		v = e ? ldexp(m + 1024, e - 25) : ldexp(m, -24);
	return bits >> 15 ? -v : v;
}

/* To nearest even. */
static uint16_t to_half(double f)
{
	uint16_t sign = signbit(f) ? 0x8000 : 0;
	double a = fabs(f);
	int e;

	if (isnan(f))
		return 0x7e00;
	if (a >= 65520)
		return sign | 0x7c00;
	if (a < 1.0 / 16384)
		return sign | (uint16_t)nearbyint(ldexp(a, 24));
	frexp(a, &e);
	/* A mantissa that rounds up to 2048 carries into the exponent. */
	return (uint16_t)(sign + ((e + 13) << 10) + (int)nearbyint(ldexp(a, 11 - e)));
}

static uint16_t to_bf16(double f)
{
	float s = (float)f;
	uint32_t bits;

	memcpy(&bits, &s, sizeof(bits));
	if (isnan(s))
		return 0x7fc0;
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#define LOAD(type, member) \
	do { \
		type x; \
		memcpy(&x, p + index * (int64_t)sizeof(x), sizeof(x)); \
		n.member = x; \
	} while (0)

struct host_number host_get(uint32_t type, const void *data, int64_t index)
{
	struct host_number n = { host_type_real(type), type == ACCEL_HOST_U64, 0, 0 };
	const char *p = data;
	uint32_t wide;
	uint16_t half;
	float f;

	switch (type) {
	case ACCEL_F32:
		LOAD(float, f);
		break;
	case ACCEL_HOST_F64:
		LOAD(double, f);
		break;
	case ACCEL_F16:
		memcpy(&half, p + 2 * index, 2);
		n.f = from_half(half);
		break;
	case ACCEL_BF16:
		memcpy(&half, p + 2 * index, 2);
		wide = (uint32_t)half << 16;
		memcpy(&f, &wide, sizeof(f));
		n.f = f;
		break;
	case ACCEL_S32:
		LOAD(int32_t, i);
		break;
	case ACCEL_HOST_U32:
		LOAD(uint32_t, i);
		break;
	case ACCEL_HOST_S16:
		LOAD(int16_t, i);
		break;
	case ACCEL_HOST_U16:
		LOAD(uint16_t, i);
		break;
	case ACCEL_S8:
		LOAD(int8_t, i);
		break;
	case ACCEL_HOST_S64:
	case ACCEL_HOST_U64:
		LOAD(int64_t, i);
		break;
	case ACCEL_U4:
	case ACCEL_S4:
		n.i = (uint8_t)p[index / 2] >> index % 2 * 4 & 15;
		n.i -= type == ACCEL_S4 ? (n.i & 8) * 2 : 0;
		break;
	default:
		LOAD(uint8_t, i);
	}
	return n;
}

static double to_real(struct host_number n)
{
	return n.real ? n.f : n.large ? (double)(uint64_t)n.i : (double)n.i;
}

/* As copies of engines convert: to nearest even, saturated; NaN is 0. */
static int64_t to_integer(struct host_number n, int64_t min, int64_t max)
{
	double f;

	if (!n.real && n.large && n.i < 0)
		return max;
	if (!n.real)
		return n.i < min ? min : n.i > max ? max : n.i;
	f = nearbyint(n.f);
	if (isnan(f))
		return 0;
	/* The largest int64_t is no double: the one above it is. */
	return f <= (double)min ? min : f >= (double)max ? max : (int64_t)f;
}

/* Of an integer its bits */
static uint64_t to_unsigned(struct host_number n)
{
	double f = nearbyint(n.f);

	if (!n.real)
		return (uint64_t)n.i;
	return !(f > 0) ? 0 : f >= 0x1p64 ? UINT64_MAX : (uint64_t)f;
}

#define STORE(type, x) \
	do { \
		type y = (type)(x); \
		memcpy(p + index * (int64_t)sizeof(y), &y, sizeof(y)); \
	} while (0)

void host_put(uint32_t type, void *data, int64_t index, struct host_number n)
{
	double f = to_real(n);
	char *p = data;

	switch (type) {
	case ACCEL_F32:
		STORE(float, f);
		break;
	case ACCEL_HOST_F64:
		STORE(double, f);
		break;
	case ACCEL_F16:
		STORE(uint16_t, to_half(f));
		break;
	case ACCEL_BF16:
		STORE(uint16_t, to_bf16(f));
		break;
	case ACCEL_S32:
		STORE(int32_t, to_integer(n, INT32_MIN, INT32_MAX));
		break;
	case ACCEL_HOST_U32:
		STORE(uint32_t, to_integer(n, 0, UINT32_MAX));
		break;
	case ACCEL_HOST_S16:
		STORE(int16_t, to_integer(n, INT16_MIN, INT16_MAX));
		break;
	case ACCEL_HOST_U16:
		STORE(uint16_t, to_integer(n, 0, UINT16_MAX));
		break;
	case ACCEL_S8:
		STORE(int8_t, to_integer(n, INT8_MIN, INT8_MAX));
		break;
	case ACCEL_HOST_S64:
		/* The same bits, of an unsigned one too */
		STORE(int64_t, n.real ? to_integer(n, INT64_MIN, INT64_MAX) : n.i);
		break;
	case ACCEL_HOST_U64:
		STORE(uint64_t, to_unsigned(n));
		break;
	case ACCEL_HOST_BOOL:
		STORE(uint8_t, n.real ? n.f != 0 : n.i != 0);
		break;
	default:
		STORE(uint8_t, to_integer(n, 0, UINT8_MAX));
	}
}

static double unary_real(uint32_t func, double a)
{
	switch (func) {
	case ACCEL_UNARY_ABS:
		return fabs(a);
	case ACCEL_UNARY_NEG:
		return -a;
	case ACCEL_UNARY_SQRT:
		return sqrt(a);
	case ACCEL_UNARY_RSQRT:
		return 1 / sqrt(a);
	case ACCEL_UNARY_RECIP:
		return 1 / a;
	case ACCEL_UNARY_EXP:
		return exp(a);
	case ACCEL_UNARY_LOG:
		return log(a);
	case ACCEL_UNARY_ERF:
		return erf(a);
	case ACCEL_UNARY_SQUARE:
		return a * a;
	case ACCEL_UNARY_FLOOR:
		return floor(a);
	case ACCEL_UNARY_CEIL:
		return ceil(a);
	case ACCEL_UNARY_ROUND:
		return nearbyint(a);
	case ACCEL_UNARY_SIN:
		return sin(a);
	case ACCEL_UNARY_COS:
		return cos(a);
	case ACCEL_UNARY_TAN:
		return tan(a);
	case ACCEL_UNARY_ASIN:
		return asin(a);
	case ACCEL_UNARY_ACOS:
		return acos(a);
	case ACCEL_UNARY_ATAN:
		return atan(a);
	case ACCEL_UNARY_SINH:
		return sinh(a);
	case ACCEL_UNARY_COSH:
		return cosh(a);
	case ACCEL_UNARY_ASINH:
		return asinh(a);
	case ACCEL_UNARY_ACOSH:
		/* That of musl gives numbers below -2. */
		return a < 1 ? NAN : acosh(a);
	case ACCEL_UNARY_ATANH:
		return atanh(a);
	case ACCEL_UNARY_SIGN:
		return a > 0 ? 1 : a < 0 ? -1 : a;
	case ACCEL_UNARY_TRUNC:
		return trunc(a);
	case ACCEL_UNARY_IS_NAN:
		return isnan(a);
	case ACCEL_UNARY_IS_INF:
		return isinf(a) != 0;
	case ACCEL_UNARY_NOT:
		return a == 0;
	default:
		return a;
	}
}

/* @a times how much of it is let through: nothing of what is far below 0 */
static double through(double a, double part)
{
	return a == -INFINITY ? 0 : a * part;
}

/* Without what overflows */
static double softplus(double a)
{
	return isnan(a) ? a : fmax(a, 0) + log1p(exp(-fabs(a)));
}

static double clamp(double a, double low, double high)
{
	return isnan(a) ? a : fmin(fmax(a, low), high);
}

static double activate(const struct accel_epilogue *epi, double a)
{
	const double p0 = (double)epi->p0, p1 = (double)epi->p1;
	double u;

	switch (epi->act) {
	case ACCEL_ACT_RELU:
		return a > 0 || isnan(a) ? a : 0;
	case ACCEL_ACT_CLAMP:
		return clamp(a, p0, p1);
	case ACCEL_ACT_LEAKY_RELU:
		return a < 0 ? p0 * a : a;
	case ACCEL_ACT_SIGMOID:
		return 1 / (1 + exp(-a));
	case ACCEL_ACT_TANH:
		return tanh(a);
	case ACCEL_ACT_GELU:
		return through(a, 0.5 * erfc(-a * M_SQRT1_2));
	case ACCEL_ACT_GELU_TANH:
		u = sqrt(2 / M_PI) * (a + 0.044715 * a * a * a);
		return through(a, 1 / (1 + exp(-2 * u)));
	case ACCEL_ACT_SILU:
		return through(a, 1 / (1 + exp(-a)));
	case ACCEL_ACT_HARD_SIGMOID:
		return clamp(p0 * a + p1, 0, 1);
	case ACCEL_ACT_HARD_SWISH:
		return through(a, clamp(a / 6 + 0.5, 0, 1));
	case ACCEL_ACT_ELU:
		return a < 0 ? p0 * expm1(a) : a;
	case ACCEL_ACT_CELU:
		return a < 0 ? p0 * expm1(a / p0) : a;
	case ACCEL_ACT_SELU:
		return p1 * (a > 0 ? a : p0 * expm1(a));
	case ACCEL_ACT_SOFTPLUS:
		return softplus(a);
	case ACCEL_ACT_SOFTSIGN:
		return isinf(a) ? copysign(1, a) : a / (1 + fabs(a));
	case ACCEL_ACT_MISH:
		return through(a, tanh(softplus(a)));
	default:
		return a;
	}
}

/* An integer that a function of reals leaves as it is stays one, also where it is no double. */
static struct host_number kept(struct host_number a, double f)
{
	return !a.real && f == to_real(a) ? a : (struct host_number) { .real = true, .f = f };
}

struct host_number host_unary(const struct accel_unary_desc *desc, struct host_number a)
{
	/* Of integers these are exact. */
	if (!a.real && desc->epilogue.act == ACCEL_ACT_NONE) {
		switch (desc->func) {
		case ACCEL_UNARY_ABS:
			a.i = a.i < 0 && !a.large ? (int64_t)(0 - (uint64_t)a.i) : a.i;
			return a;
		case ACCEL_UNARY_NEG:
			a.i = (int64_t)(0 - (uint64_t)a.i);
			return a;
		case ACCEL_UNARY_NOT:
			a.i = !a.i;
			return a;
		case ACCEL_UNARY_BIT_NOT:
			a.i = ~a.i;
			return a;
		case ACCEL_UNARY_SIGN:
			a.i = a.large ? a.i != 0 : (a.i > 0) - (a.i < 0);
			return a;
		default:
			break;
		}
	}
	return kept(a, activate(&desc->epilogue, unary_real(desc->func, to_real(a))));
}

static bool is_logic(uint32_t func)
{
	return func >= ACCEL_BINARY_EQ && func <= ACCEL_BINARY_XOR;
}

/* Comparisons and logic: how the numbers compare (a NaN in no way), and whether each is not 0. */
static bool holds(uint32_t func, bool less, bool equal, bool greater, bool a, bool b)
{
	switch (func) {
	case ACCEL_BINARY_EQ:
		return equal;
	case ACCEL_BINARY_NE:
		return !equal;
	case ACCEL_BINARY_LT:
		return less;
	case ACCEL_BINARY_LE:
		return less || equal;
	case ACCEL_BINARY_GT:
		return greater;
	case ACCEL_BINARY_GE:
		return greater || equal;
	case ACCEL_BINARY_AND:
		return a && b;
	case ACCEL_BINARY_OR:
		return a || b;
	default:
		return a != b;
	}
}

static double binary_real(uint32_t func, double a, double b)
{
	if (is_logic(func))
		return holds(func, a < b, a == b, a > b, a != 0, b != 0);
	switch (func) {
	case ACCEL_BINARY_ADD:
		return a + b;
	case ACCEL_BINARY_SUB:
		return a - b;
	case ACCEL_BINARY_MUL:
		return a * b;
	case ACCEL_BINARY_DIV:
		return a / b;
	case ACCEL_BINARY_MAX:
		return isnan(a) || isnan(b) ? NAN : fmax(a, b);
	case ACCEL_BINARY_MIN:
		return isnan(a) || isnan(b) ? NAN : fmin(a, b);
	case ACCEL_BINARY_MOD:
		return a - b * floor(a / b);
	case ACCEL_BINARY_REM:
		return fmod(a, b);
	case ACCEL_BINARY_QUOT:
		return trunc(a / b);
	case ACCEL_BINARY_POW:
		return pow(a, b);
	case ACCEL_BINARY_PRELU:
		return a < 0 ? a * b : a;
	default:
		return NAN;
	}
}

/* Less than, equal to or larger than 0. A NaN counts as larger than all numbers. */
int host_compare(struct host_number a, struct host_number b)
{
	if (a.real) {
		if (isnan(a.f) || isnan(b.f))
			return (isnan(a.f) != 0) - (isnan(b.f) != 0);
		return (a.f > b.f) - (a.f < b.f);
	}
	if (a.large)
		return ((uint64_t)a.i > (uint64_t)b.i) - ((uint64_t)a.i < (uint64_t)b.i);
	return (a.i > b.i) - (a.i < b.i);
}

static int64_t int_power(int64_t a, int64_t b)
{
	uint64_t r = 1, x = (uint64_t)a;

	if (b < 0)
		return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
	for (; b; b >>= 1, x *= x)
		if (b & 1)
			r *= x;
	return (int64_t)r;
}

/* Sums and products wrap around, as those of two's complement do; a division by 0 is 0. */
static int64_t binary_int(uint32_t func, int64_t a, int64_t b)
{
	/* The one quotient that overflows is its own opposite. */
	int64_t quot = b == -1 ? (int64_t)(0 - (uint64_t)a) : b ? a / b : 0;
	int64_t rem = b == -1 || !b ? 0 : a % b;

	if (is_logic(func))
		return holds(func, a < b, a == b, a > b, a, b);
	switch (func) {
	case ACCEL_BINARY_ADD:
		return (int64_t)((uint64_t)a + (uint64_t)b);
	case ACCEL_BINARY_SUB:
		return (int64_t)((uint64_t)a - (uint64_t)b);
	case ACCEL_BINARY_MUL:
		return (int64_t)((uint64_t)a * (uint64_t)b);
	case ACCEL_BINARY_DIV:
	case ACCEL_BINARY_QUOT:
		return quot;
	case ACCEL_BINARY_MAX:
		return a > b ? a : b;
	case ACCEL_BINARY_MIN:
		return a < b ? a : b;
	case ACCEL_BINARY_MOD:
		return rem && (rem ^ b) < 0 ? rem + b : rem;
	case ACCEL_BINARY_REM:
		return rem;
	case ACCEL_BINARY_POW:
		return int_power(a, b);
	case ACCEL_BINARY_BIT_AND:
		return a & b;
	case ACCEL_BINARY_BIT_OR:
		return a | b;
	case ACCEL_BINARY_BIT_XOR:
		return a ^ b;
	case ACCEL_BINARY_SHL:
		return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b);
	case ACCEL_BINARY_SHR:
		return b < 0 || b > 63 ? 0 : a >> b;
	default:
		return a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a;
	}
}

/* What is not the same for the bits of unsigned numbers */
static int64_t binary_large(uint32_t func, uint64_t a, uint64_t b)
{
	uint64_t r;

	if (is_logic(func))
		return holds(func, a < b, a == b, a > b, a, b);
	switch (func) {
	case ACCEL_BINARY_DIV:
	case ACCEL_BINARY_QUOT:
		return (int64_t)(b ? a / b : 0);
	case ACCEL_BINARY_MOD:
	case ACCEL_BINARY_REM:
		return (int64_t)(b ? a % b : 0);
	case ACCEL_BINARY_MAX:
		return (int64_t)(a > b ? a : b);
	case ACCEL_BINARY_MIN:
		return (int64_t)(a < b ? a : b);
	case ACCEL_BINARY_SHR:
		return b > 63 ? 0 : (int64_t)(a >> b);
	case ACCEL_BINARY_POW:
		for (r = 1; b; b >>= 1, a *= a)
			if (b & 1)
				r *= a;
		return (int64_t)r;
	case ACCEL_BINARY_PRELU:
		return (int64_t)a;
	default:
		return binary_int(func, (int64_t)a, (int64_t)b);
	}
}

struct host_number host_binary(const struct accel_binary_desc *desc, struct host_number a,
			       struct host_number b)
{
	struct host_number n = { a.real || b.real, (a.large || b.large) && !is_logic(desc->func),
				 0, 0 };

	if (n.real)
		n.f = binary_real(desc->func, to_real(a), to_real(b));
	else if (a.large || b.large)
		n.i = binary_large(desc->func, (uint64_t)a.i, (uint64_t)b.i);
	else
		n.i = binary_int(desc->func, a.i, b.i);
	return desc->epilogue.act == ACCEL_ACT_NONE ? n :
	       kept(n, activate(&desc->epilogue, to_real(n)));
}
