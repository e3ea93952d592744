// SPDX-License-Identifier: MIT
/*
 * Numbers with a bound of their error, and what operations have in common.
 */
#include <math.h>
#include <stdlib.h>

#include "oracle.h"

#define U	ORACLE_U
#define TINY	ORACLE_TINY
/* Tuned kernels have 0 for the sigmoid of numbers below -87: e^-87 */
#define SATURATED	(1.5 * (double)__FLT_MIN__)
/* Computed in binary64 and rounded once, in units of U */
#define ONCE	1.0001
/* Halfway from the largest number to what would follow: from here on infinite */
#define BEYOND	0x1.ffffffp127

struct oracle_num oracle_step(struct oracle_num x)
{
	/* An infinity is not off by a part of itself: it is one, unless anything may be. */
	if (!isfinite(x.v))
		return (struct oracle_num){ x.v, isinf(x.e) ? INFINITY : 0 };
	x.e += (fabs(x.v) + x.e) * U + TINY;
	return x;
}

/* As binary32 has it, which is what a step that follows sees: certainly infinite? */
struct oracle_num oracle_seen(struct oracle_num x)
{
	return isfinite(x.v) && fabs(x.v) - x.e >= BEYOND ?
	       (struct oracle_num){ copysign(INFINITY, x.v), 0 } : x;
}

/* @v follows from @x: nothing is known where @x may be infinite, and @v would not be then. */
static struct oracle_num follows(struct oracle_num x, struct oracle_num v)
{
	const double most = (double)__FLT_MAX__;

	if (isfinite(x.v) && fabs(x.v) + x.e > most && !(fabs(v.v) + v.e > most))
		v.e = INFINITY;
	return v;
}

struct oracle_num oracle_add(struct oracle_num x, double y)
{
	struct oracle_num v;

	x = oracle_seen(x);
	v = oracle_step((struct oracle_num){ x.v + y, x.e });
	/* The sum of an infinity and what may have become one */
	if (isinf(y) && isfinite(x.v) && fabs(x.v) + x.e > (double)__FLT_MAX__)
		v.e = INFINITY;
	return follows(x, v);
}

struct oracle_num oracle_mul(struct oracle_num x, double y)
{
	struct oracle_num v;

	x = oracle_seen(x);
	v = x;
	/* Neither sign nor even whether it is 0 is known of what meets an infinity. */
	if (isinf(y) && x.e > 0)
		v.e = isnan(x.v) || fabs(x.v) > x.e ? 0 : INFINITY;
	else if (!isinf(x.e))
		v.e *= fabs(y);
	v.v *= y;
	return follows(x, oracle_step(v));
}

/*
 * @v is f(x), f moves by at most @slope times what x moves by, and is computed
 * to @units of U: the table of Documentation/numerics.rst.
 */
struct oracle_num oracle_func(struct oracle_num x, double v, double slope,
			      double units)
{
	double e = x.e * slope;

	/* Beyond the range of binary32 what follows sees an infinity. */
	if (fabs(v) >= BEYOND)
		v = copysign(INFINITY, v);
	/* A limit is reached or not. */
	if (!isfinite(v))
		return (struct oracle_num){ v, 0 };
	return (struct oracle_num){
		v, e + (fabs(v) + e) * units * U + TINY
	};
}

static double clamp(double v, double lo, double hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* What a sigmoid of this may be off by because of that */
static double saturated(struct oracle_num x)
{
	return isfinite(x.v) && x.v - x.e < -86.9 ? SATURATED : 0;
}

static struct oracle_num activation(struct oracle_num x, const struct accel_epilogue *epi)
{
	double v = x.v, p0 = epi->p0, p1 = epi->p1, u;

	if (isnan(v))
		return x;
	switch (epi->act) {
	case ACCEL_ACT_RELU:
		x.v = v > 0 ? v : 0;
		return x;
	case ACCEL_ACT_CLAMP:
		x.v = clamp(v, p0, p1);
		return x;
	case ACCEL_ACT_LEAKY_RELU:
		if (x.e == 0) {
			x.v = v < 0 ? (float)(p0 * v) : v;
			return x;
		}
		x.v = v < 0 ? p0 * v : v;
		x.e *= fabs(p0) > 1 ? fabs(p0) : 1;
		return oracle_step(x);
	case ACCEL_ACT_SIGMOID:
		u = saturated(x);
		x = oracle_func(x, 1 / (1 + exp(-v)), 0.25, 5);
		x.e += u;
		return x;
	case ACCEL_ACT_TANH:
		return oracle_func(x, tanh(v), 1, 4);
	case ACCEL_ACT_GELU:
		x.e += 32 * TINY;
		return oracle_func(x, v == -INFINITY ? 0 : v * 0.5 * erfc(-v * M_SQRT1_2),
			    1.13, 12);
	case ACCEL_ACT_GELU_TANH:
		/* Far below zero the error of the exponent is that of the result. */
		u = sqrt(2 / M_PI) * (v + 0.044715 * v * v * v);
		v = x.v == -INFINITY ? 0 : x.v / (1 + exp(-2 * u));
		x.e += 32 * TINY + 10 * saturated((struct oracle_num){ 2 * u, 30 * x.e });
		if (x.v < 0 && isfinite(x.v))
			x.e += fabs(v) * fabs(u) / sqrt(2 / M_PI) * 8 * U;
		return oracle_func(x, v, 1.13, 8);
	case ACCEL_ACT_SILU:
		x.e += 128 * TINY + 87 * saturated(x);
		return oracle_func(x, v == -INFINITY ? 0 : v / (1 + exp(-v)), 1.13, 6);
	case ACCEL_ACT_HARD_SIGMOID:
		x.e = x.e * fabs(p0) + (fabs(p0 * v) + fabs(p1) + 1) * 2 * U + TINY;
		x.v = clamp(p0 * v + p1, 0, 1);
		if (isinf(v))
			x.e = 0;
		return x;
	case ACCEL_ACT_HARD_SWISH:
		x.v = v == -INFINITY ? -0.0 : v * clamp(v / 6 + 0.5, 0, 1);
		/* The sum is rounded when it may be near 0, times v. */
		if (isfinite(v))
			x.e = x.e * 1.5 + (fabs(v) * 2 + fabs(x.v) * 4) * U + TINY;
		return x;
	case ACCEL_ACT_ELU:
		if (v >= 0) {
			x.e *= fmax(1, fabs(p0));
			return x;
		}
		return oracle_func(x, p0 * expm1(v), fmax(1, fabs(p0)), ONCE);
	case ACCEL_ACT_CELU:
		if (v >= 0)
			return x;
		return oracle_func(x, p0 * expm1(v / p0), 1, ONCE);
	case ACCEL_ACT_SELU:
		return oracle_func(x, p1 * (v > 0 ? v : p0 * expm1(v)),
				   fabs(p1) * fmax(1, fabs(p0)), ONCE);
	case ACCEL_ACT_SOFTPLUS:
		return oracle_func(x, fmax(v, 0) + log1p(exp(-fabs(v))), 1, ONCE);
	case ACCEL_ACT_SOFTSIGN:
		return oracle_func(x, isinf(v) ? copysign(1, v) : v / (1 + fabs(v)), 1, ONCE);
	case ACCEL_ACT_MISH:
		u = tanh(fmax(v, 0) + log1p(exp(-fabs(v))));
		return oracle_func(x, v == -INFINITY ? 0 : v * u, 1.1, ONCE);
	default:
		return x;
	}
}

struct oracle_num oracle_activation(struct oracle_num x, const struct accel_epilogue *epi)
{
	struct oracle_num v;

	if (epi->act == ACCEL_ACT_NONE)
		return x;
	x = oracle_seen(x);
	v = activation(x, epi);
	/* Where nothing is known, nothing is afterwards; */
	if (isinf(x.e))
		v.e = INFINITY;
	/* a bounded function has the same of either. */
	return fabs(v.v) > 1e6 ? follows(x, v) : v;
}

/* Index of @t for an index of @d: trailing dimensions match or are 1. */
static void broadcast_index(const struct accel_tensor *t,
			    const struct accel_tensor *d, const int64_t *idx,
			    int64_t *out)
{
	uint32_t i, pad = d->rank - t->rank;

	for (i = 0; i < t->rank; i++)
		out[i] = t->dims[i] == 1 ? 0 : idx[pad + i];
}

double oracle_load_broadcast(const struct accel_tensor *t,
			     const struct accel_tensor *d, const int64_t *idx)
{
	int64_t at[ACCEL_MAX_RANK];

	broadcast_index(t, d, idx, at);
	return oracle_load(t, at);
}

int64_t oracle_load_int_broadcast(const struct accel_tensor *t,
				  const struct accel_tensor *d, const int64_t *idx)
{
	int64_t at[ACCEL_MAX_RANK];

	if (!t->rank)
		return 0;
	broadcast_index(t, d, idx, at);
	return oracle_load_int(t, at);
}

int64_t oracle_saturate(int64_t v, uint32_t dtype)
{
	static const int64_t lo[] = {
		[ACCEL_S32] = INT32_MIN, [ACCEL_S8] = -128, [ACCEL_U8] = 0,
		[ACCEL_S4] = -8, [ACCEL_U4] = 0
	}, hi[] = {
		[ACCEL_S32] = INT32_MAX, [ACCEL_S8] = 127, [ACCEL_U8] = 255,
		[ACCEL_S4] = 7, [ACCEL_U4] = 15
	};

	return v < lo[dtype] ? lo[dtype] : v > hi[dtype] ? hi[dtype] : v;
}

/* A constant as an integer; no number counts as 0. */
int64_t oracle_whole(double v, uint32_t dtype)
{
	v = isnan(v) ? 0 : fmin(fmax(nearbyint(v), -1e18), 1e18);
	return oracle_saturate((int64_t)v, dtype);
}

/* Room for a result. Returns 0, -1 without memory. */
int oracle_begin(struct oracle_result *r, const struct accel_tensor *d, bool exact)
{
	*r = (struct oracle_result){ .count = oracle_count(d) };
	if (exact)
		r->exact = calloc(r->count + 1, sizeof(*r->exact));
	else
		r->num = calloc(r->count + 1, sizeof(*r->num));
	return r->exact || r->num ? 0 : -1;
}
