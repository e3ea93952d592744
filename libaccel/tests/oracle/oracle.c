// SPDX-License-Identifier: MIT
/*
 * Numbers and tensors of the oracle; the operations are in oracle_ops.c.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

uint64_t oracle_count(const struct accel_tensor *t)
{
	uint64_t n = 1;
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		n *= (uint64_t)t->dims[i];
	return n;
}

void oracle_strides(const struct accel_tensor *t, int64_t *strides)
{
	int64_t step = 1;
	uint32_t i;

	for (i = t->rank; i-- > 0; ) {
		strides[i] = t->flags & ACCEL_TENSOR_STRIDES ? t->strides[i] : step;
		step *= t->dims[i] ? t->dims[i] : 1;
	}
}

int64_t oracle_offset(const struct accel_tensor *t, const int64_t *idx)
{
	const bool strided = t->flags & ACCEL_TENSOR_STRIDES;
	int64_t off = 0, step = 1;
	uint32_t i;

	/* As oracle_strides() has them; without, for it is asked of each element. */
	for (i = t->rank; i-- > 0; ) {
		off += idx[i] * (strided ? t->strides[i] : step);
		step *= t->dims[i] ? t->dims[i] : 1;
	}
	return off;
}

void oracle_index(const struct accel_tensor *t, uint64_t n, int64_t *idx)
{
	uint32_t i;

	for (i = t->rank; i-- > 0; ) {
		idx[i] = (int64_t)(n % (uint64_t)t->dims[i]);
		n /= (uint64_t)t->dims[i];
	}
}

void oracle_next(const struct accel_tensor *t, int64_t *idx)
{
	uint32_t i;

	for (i = t->rank; i-- > 0 && ++idx[i] == t->dims[i]; )
		idx[i] = 0;
}

/* --- formats ---------------------------------------------------------------- */

/**
 * struct format - a binary floating-point format
 * @digits: of the significand, the hidden one too
 * @emin: exponent of the smallest normal number
 * @max: largest finite number
 */
struct format {
	int digits;
	int emin;
	double max;
};

static struct format format_of(uint32_t dtype)
{
	switch (dtype) {
	case ACCEL_F16:
		return (struct format){ 11, -14, 65504 };
	case ACCEL_BF16:
		return (struct format){ 8, -126, 0x1.fep127 };
	default:
		return (struct format){ 24, -126, 0x1.fffffep127 };
	}
}

/*
 * 2^@exp, of a normal binary64. The functions of the library would take most of the time of
 * all tests.
 */
static double power(int exp)
{
	uint64_t bits = (uint64_t)(exp + 1023) << 52;
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* Distance between neighbours of @v in a format, whose subnormals are normal here. */
static double spacing(double v, const struct format *f)
{
	uint64_t bits;
	int exp;

	if (!isfinite(v))
		return INFINITY;
	memcpy(&bits, &v, sizeof(bits));
	exp = (int)(bits >> 52 & 0x7ff) - 1023;
	return power((exp < f->emin ? f->emin : exp) - f->digits + 1);
}

/* Round to nearest even. */
double oracle_round(double v, uint32_t dtype)
{
	struct format f = format_of(dtype);
	double step, r;

	if (!isfinite(v))
		return v;
	step = spacing(v, &f);
	r = nearbyint(v / step) * step;
	return fabs(r) > f.max ? copysign(INFINITY, v) : r;
}

double oracle_f16_value(uint16_t bits)
{
	int exp = bits >> 10 & 31;
	double mant = bits & 1023, v;

	if (exp == 31)
		v = mant != 0 ? NAN : INFINITY;
	else
		v = exp ? (1024 + mant) * power(exp - 25) : mant * power(-24);
	return bits & 0x8000 ? -v : v;
}

/* The rule of the bits is held against that of their value. */
uint16_t oracle_f16_bits(double v)
{
	double r = oracle_round(fabs(v), ACCEL_F16);
	uint16_t sign = signbit(v) ? 0x8000 : 0, bits;
	uint64_t wide;

	if (isnan(v))
		return 0x7e00;
	if (isinf(r))
		return sign | 0x7c00;
	/*
	 * Subnormal numbers are multiples of the step of the smallest normal ones; these have the
	 * first digits of binary64, with another bias of the exponent.
	 */
	memcpy(&wide, &r, sizeof(wide));
	if (r < 1.0 / (1 << 14))
		bits = (uint16_t)(r * (1 << 24));
	else
		bits = (uint16_t)((wide >> 42) - ((1023 - 15) << 10));
	if (oracle_f16_value(bits) != r)
		abort();
	return sign | bits;
}

static double bf16_value(uint16_t bits)
{
	uint32_t wide = (uint32_t)bits << 16;
	float f;

	memcpy(&f, &wide, sizeof(f));
	return f;
}

/* --- elements ---------------------------------------------------------------- */

static const unsigned char *base(const struct accel_tensor *t)
{
	return (const unsigned char *)accel_bo_ptr(t->bo) + t->offset;
}

int64_t oracle_load_int(const struct accel_tensor *t, const int64_t *idx)
{
	int64_t off = oracle_offset(t, idx);
	const unsigned char *p = base(t);
	int nibble;

	switch (t->dtype) {
	case ACCEL_S32:
		return ((const int32_t *)p)[off];
	case ACCEL_S8:
		return ((const int8_t *)p)[off];
	case ACCEL_U8:
		return p[off];
	default:
		nibble = p[off >> 1] >> (off & 1 ? 4 : 0) & 15;
		return t->dtype == ACCEL_S4 && nibble > 7 ? nibble - 16 : nibble;
	}
}

/* Entry of the tables that belongs to an element. */
static uint64_t table_index(const struct accel_tensor *t, const int64_t *idx)
{
	const struct accel_quant *q = &t->quant;
	uint64_t n = 0;
	uint32_t i;

	if (q->scheme == ACCEL_QUANT_CHANNEL)
		return (uint64_t)idx[q->axis];
	for (i = 0; i < t->rank; i++) {
		uint64_t dim = (uint64_t)t->dims[i], at = (uint64_t)idx[i];

		if (i == q->axis) {
			dim = (dim + q->group - 1) / q->group;
			at /= q->group;
		}
		n = n * dim + at;
	}
	return n;
}

void oracle_quant(const struct accel_tensor *t, const int64_t *idx, double *scale,
		  int64_t *zero)
{
	const struct accel_quant *q = &t->quant;
	const char *scales, *zeros;
	uint64_t n;

	*scale = 1;
	*zero = 0;
	if (q->scheme == ACCEL_QUANT_NONE)
		return;
	if (q->scheme == ACCEL_QUANT_TENSOR) {
		*scale = q->scale;
		*zero = q->zero;
		return;
	}
	n = table_index(t, idx);
	scales = (const char *)accel_bo_ptr(q->scales) + q->scales_offset;
	if (q->scale_dtype == ACCEL_F16)
		*scale = oracle_f16_value(((const uint16_t *)scales)[n]);
	else
		*scale = ((const float *)scales)[n];
	if (q->zeros && q->scheme != ACCEL_QUANT_GROUP_MIN) {
		zeros = (const char *)accel_bo_ptr(q->zeros) + q->zeros_offset;
		*zero = ((const int32_t *)zeros)[n];
	}
}

/* The block that an element is in, and which of it the element is. */
static const unsigned char *block_at(const struct accel_tensor *t, const int64_t *idx, int *at)
{
	const int64_t off = oracle_offset(t, idx);
	uint32_t size, bytes = accel_dtype_block(t->dtype, &size);

	/* Dimensions may run backwards. */
	*at = (int)((off % size + size) % size);
	return base(t) + (off - *at) / size * bytes;
}

/* What is added to the product of an element and its scale. */
static double group_min(const struct accel_tensor *t, const int64_t *idx)
{
	const struct accel_quant *q = &t->quant;
	const char *mins;
	uint64_t n;

	if (q->scheme != ACCEL_QUANT_GROUP_MIN)
		return 0;
	n = table_index(t, idx);
	mins = (const char *)accel_bo_ptr(q->zeros) + q->zeros_offset;
	return q->scale_dtype == ACCEL_F16 ? oracle_f16_value(((const uint16_t *)mins)[n]) :
	       (double)((const float *)mins)[n];
}

double oracle_load_min(const struct accel_tensor *t, const int64_t *idx)
{
	const unsigned char *block;
	int at;

	if (t->dtype <= ACCEL_U4)
		return group_min(t, idx);
	block = block_at(t, idx, &at);
	return oracle_block_min(t->dtype, block, at);
}

double oracle_load(const struct accel_tensor *t, const int64_t *idx)
{
	int64_t off = oracle_offset(t, idx), zero;
	double scale;

	if (t->dtype > ACCEL_U4) {
		const unsigned char *block;
		int at;

		block = block_at(t, idx, &at);
		return (float)oracle_block_value(t->dtype, block, at);
	}
	switch (t->dtype) {
	case ACCEL_F32:
		return ((const float *)base(t))[off];
	case ACCEL_F16:
		return oracle_f16_value(((const uint16_t *)base(t))[off]);
	case ACCEL_BF16:
		return bf16_value(((const uint16_t *)base(t))[off]);
	default:
		break;
	}
	oracle_quant(t, idx, &scale, &zero);
	if (t->quant.scheme == ACCEL_QUANT_NONE)
		return (float)oracle_load_int(t, idx);
	scale = (float)(scale * (double)(float)(oracle_load_int(t, idx) - zero));
	if (t->quant.scheme != ACCEL_QUANT_GROUP_MIN)
		return scale;
	return (float)(scale + group_min(t, idx));
}

/* --- comparing ---------------------------------------------------------------- */

static void int_limits(uint32_t dtype, double *lo, double *hi)
{
	switch (dtype) {
	case ACCEL_S32:
		*lo = INT32_MIN;
		*hi = INT32_MAX;
		break;
	case ACCEL_S8:
		*lo = -128;
		*hi = 127;
		break;
	case ACCEL_U8:
		*lo = 0;
		*hi = 255;
		break;
	case ACCEL_S4:
		*lo = -8;
		*hi = 7;
		break;
	default:
		*lo = 0;
		*hi = 15;
		break;
	}
}

static double clamp(double v, double lo, double hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* Integers that mean themselves. */
bool oracle_plain_int(const struct accel_tensor *t)
{
	return t->dtype > ACCEL_BF16 && t->dtype <= ACCEL_U4 && !t->quant.scheme;
}

double oracle_stored(const struct accel_tensor *t, const int64_t *idx, double v)
{
	double lo, hi, scale;
	int64_t zero;

	if (t->dtype <= ACCEL_BF16)
		return oracle_round(v, t->dtype);
	int_limits(t->dtype, &lo, &hi);
	oracle_quant(t, idx, &scale, &zero);
	v = isnan(v) ? 0 : nearbyint((double)((float)v / (float)scale));
	v = clamp(v + (double)zero, lo, hi) - (double)zero;
	return oracle_plain_int(t) ? v : (float)(scale * (double)(float)v);
}

/* A float: the stored value against a number. */
bool oracle_float_ok(double got, const struct oracle_num *want, uint32_t dtype,
		     double *expect, double *bound)
{
	struct format f = format_of(dtype);

	*expect = want->e == 0 ? oracle_round(want->v, dtype) : want->v;
	*bound = 0;
	/* A sum that may overflow on its way may end anywhere. */
	if (isinf(want->e))
		return true;
	if (isnan(want->v))
		return isnan(got);
	/* Of a zero that is known to the bit the sign is, too. */
	if (want->e == 0 || isinf(want->v))
		return got == *expect && !signbit(got) == !signbit(*expect);
	*bound = want->e + spacing(fabs(want->v) + want->e, &f) / 2;
	/* What rounds to infinity may be infinite. */
	if (isinf(got))
		return copysign(want->v, got * want->v) + *bound >= f.max;
	return fabs(got - want->v) <= *bound;
}

/* An integer: rounded, moved by the zero point, saturated. */
static bool int_ok(const struct accel_tensor *d, const int64_t *idx, double got,
		   const struct oracle_num *want, double *expect, double *bound)
{
	double lo, hi, scale, v;
	int64_t zero;

	int_limits(d->dtype, &lo, &hi);
	oracle_quant(d, idx, &scale, &zero);
	*bound = 0;
	/* No number counts as 0. */
	if (isnan(want->v)) {
		*expect = clamp((double)zero, lo, hi);
		return got == *expect;
	}
	if (isinf(want->e))
		return true;
	if (want->e == 0 || isinf(want->v)) {
		v = nearbyint((double)((float)want->v / (float)scale));
		*expect = clamp(v + (double)zero, lo, hi);
		return got == *expect;
	}
	v = want->v / scale;
	*expect = clamp(v + (double)zero, lo, hi);
	/* Half a step, the error in steps, and the rounding of the division. */
	*bound = 0.5 + want->e / scale + fabs(v) / (1 << 23);
	return fabs(got - *expect) <= *bound;
}

/* Element @n, which is that at @idx. */
static void judge(const struct accel_tensor *d, const struct oracle_result *r, uint64_t n,
		  const int64_t *idx, struct oracle_verdict *v)
{
	bool is_float = d->dtype <= ACCEL_BF16;

	v->got = is_float ? oracle_load(d, idx) : (double)oracle_load_int(d, idx);
	v->bound = 0;
	if (r->exact) {
		v->expect = (double)r->exact[n];
		v->ok = v->got == v->expect;
	} else if (is_float) {
		v->ok = oracle_float_ok(v->got, &r->num[n], d->dtype, &v->expect, &v->bound);
	} else {
		v->ok = int_ok(d, idx, v->got, &r->num[n], &v->expect, &v->bound);
	}
}

void oracle_judge(const struct accel_tensor *d, const struct oracle_result *r, uint64_t n,
		  struct oracle_verdict *v)
{
	int64_t idx[ACCEL_MAX_RANK] = { 0 };

	oracle_index(d, n, idx);
	judge(d, r, n, idx, v);
}

uint64_t oracle_compare(const struct accel_tensor *d,
			const struct oracle_result *r, char *why, size_t size)
{
	int64_t idx[ACCEL_MAX_RANK] = { 0 };
	struct oracle_verdict v = { 0 };
	uint64_t n, wrong = 0;

	for (n = 0; n < r->count; n++, oracle_next(d, idx)) {
		judge(d, r, n, idx, &v);
		if (v.ok || wrong++)
			continue;
		snprintf(why, size,
			 "element %llu (%lld, %lld of the last two): got %.9g, want %.9g within %.3g",
			 (unsigned long long)n,
			 (long long)(d->rank > 1 ? idx[d->rank - 2] : 0),
			 (long long)idx[d->rank - 1], v.got, v.expect, v.bound);
	}
	return wrong;
}

void oracle_free(struct oracle_result *r)
{
	free(r->num);
	free(r->exact);
	r->num = NULL;
	r->exact = NULL;
}
