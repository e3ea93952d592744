/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Part of kernels_impl.h: functions of rows that are computed in binary64 and rounded to
 * binary32 once.
 *
 * The coefficients of series are those of Taylor, written as fractions, with enough terms
 * for an error far below that of the rounding to binary32. Not vectorised, because these
 * functions are rare.
 */

#define F64_INF		__builtin_inf()
#define F64_NAN		__builtin_nan("")

/* m / 2^e, exact; DTINY() is for e >= 55 */
#define DSCALED(m, e)	((double)(m) / (double)(1ULL << (e)))
#define DTINY(m, e)	(DSCALED(m, 55) / (double)(1ULL << ((e) - 55)))

#define LN2_HI		DSCALED(0xb17217f7, 32)	/* 32 bits: times an exponent exact */
#define LN2_LO		DTINY(0x1a39ef35793c76, 85)
#define LOG2_E		DSCALED(0x171547652b82fe, 52)
#define TWO_OVER_PI	DSCALED(0x145f306dc9c883, 53)
#define PI_2		DSCALED(0x1921fb54442d18, 52)
#define PI_6		DSCALED(0x10c152382d7366, 53)
#define SQRT_3		DSCALED(0x1bb67ae8584caa, 52)

/* Horner's rule: c[0] x^(n - 1) + ... + c[n - 1] */
#define HORNER64(x, c) ({						\
	double r_ = (c)[0];						\
	__u32 j_;							\
	for (j_ = 1; j_ < sizeof(c) / sizeof((c)[0]); j_++)		\
		r_ = r_ * (x) + (c)[j_];				\
	r_; })

UMA_INLINE __u64 f64_bits(double x)
{
	__u64 bits;

	__builtin_memcpy(&bits, &x, 8);
	return bits;
}

UMA_INLINE double bits_f64(__u64 bits)
{
	double x;

	__builtin_memcpy(&x, &bits, 8);
	return x;
}

UMA_INLINE double dabs(double x)
{
	return bits_f64(f64_bits(x) & ~(1ULL << 63));
}

UMA_INLINE double dcopysign(double x, double sign)
{
	return bits_f64((f64_bits(x) & ~(1ULL << 63)) |
			(f64_bits(sign) & 1ULL << 63));
}

UMA_INLINE double dsqrt(double x)
{
#if defined(__x86_64__)
	__asm__("sqrtsd %1, %0" : "=x"(x) : "x"(x));
#elif defined(__aarch64__)
	__asm__("fsqrt %d0, %d1" : "=w"(x) : "w"(x));
#else
#error "no square root for this architecture"
#endif
	return x;
}

/* Round to the nearest integer, for |x| < 2^51; -0 becomes +0. */
UMA_INLINE double drint(double x)
{
	return (x + 0x3p51) - 0x3p51;
}

/* e^r - 1 for |r| < 0.35, without cancellation near 0 */
UMA_INLINE double dexpm1_near(double r)
{
	static const double c[] = {
		1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
		1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6,
		1.0 / 2, 1.0,
	};

	return r * HORNER64(r, c);
}

/* Clamped to stay finite, which is far beyond the range of binary32 */
UMA_INLINE double dexp(double x)
{
	double n, r;

	if (x != x)
		return x;
	x = x > 708 ? 708 : x < -708 ? -708 : x;
	n = drint(x * LOG2_E);
	r = x - n * LN2_HI - n * LN2_LO;
	return (1 + dexpm1_near(r)) * bits_f64((__u64)((__s64)n + 1023) << 52);
}

UMA_INLINE double dexpm1(double x)
{
	return dabs(x) < 0.35 ? dexpm1_near(x) : dexp(x) - 1;
}

/* Not for numbers that are subnormal in binary64; no binary32 number is. */
UMA_INLINE double dlog(double x)
{
	static const double c[] = {
		2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7,
		2.0 / 5, 2.0 / 3, 2.0,
	};
	__u64 bits = f64_bits(x) - 0x3fe6a09e667f3bcdULL;	/* sqrt(1/2) */
	double e = (double)((__s64)bits >> 52);
	double m, s;

	if (x == 0)
		return -F64_INF;
	if (!(x > 0))
		return F64_NAN;
	if (x == F64_INF)
		return x;
	m = bits_f64((bits & ((1ULL << 52) - 1)) + 0x3fe6a09e667f3bcdULL);
	s = (m - 1) / (m + 1);
	return e * LN2_HI + (s * HORNER64(s * s, c) + e * LN2_LO);
}

/* log(1 + y) for y >= 0 */
UMA_INLINE double dlog1p(double y)
{
	static const double c[] = {
		1.0 / 5, -1.0 / 4, 1.0 / 3, -1.0 / 2, 1.0,
	};

	return y < DSCALED(1, 10) ? y * HORNER64(y, c) : dlog(1 + y);
}

/*
 * Reduce a large x: |x| = n pi / 2 + r with |r| <= pi / 4. Bits of 2 / pi whose product with
 * x is a multiple of 4 are skipped. Returns n modulo 4.
 */
UMA_INLINE __u32 reduce_far(float x, double *r)
{
	static const __u32 bits_of_2_over_pi[] = {
		0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
		0xfe5163ab, 0xdebbc561,
	};
	__u32 bits, skip, at, shift, i, w[3], n;
	__u64 m, lo, mid, part;

	__builtin_memcpy(&bits, &x, 4);
	m = (bits & 0x7fffff) | 0x800000;
	/* x = m 2^e with e from 2 to 104: the first e - 2 bits of 2 / pi give multiples of 4. */
	skip = ((bits >> 23) & 255) - 152;
	at = skip / 32;
	shift = skip % 32;
	for (i = 0; i < 3; i++)
		w[i] = (__u32)((((__u64)bits_of_2_over_pi[at + i] << 32 |
				 bits_of_2_over_pi[at + i + 1]) << shift) >> 32);
	/* The upper 64 bits of m times these 96 bits, modulo 2^96 */
	lo = m * w[2];
	mid = m * w[1] + (lo >> 32);
	part = ((m * w[0] + (mid >> 32)) << 32) | (mid & 0xffffffff);
	n = (__u32)(part >> 62);
	part <<= 2;
	n += (__u32)(part >> 63);
	/* The remaining bits are a signed fraction of pi / 2. */
	*r = (double)(__s64)part * DTINY(1, 64) * PI_2;
	return n & 3;
}

/* Reduce x = n pi / 2 + r. Returns n modulo 4; r is NaN for an infinity or NaN. */
UMA_INLINE __u32 reduce_pi_2(float f, double *r)
{
	double x = f, n;
	__u32 q;

	if (!(dabs(x) < F64_INF)) {
		*r = F64_NAN;
		return 0;
	}
	if (dabs(x) < 0x1p25) {
		n = drint(x * TWO_OVER_PI);
		/* pi / 2 in three parts; the first two have 28 bits: times n exact */
		*r = x - n * DSCALED(0xc90fdaa, 27) - n * DSCALED(0x885a308, 57) -
		     n * DTINY(0x1a62633145c06e, 110);
		return (__u32)(__s64)n & 3;
	}
	q = reduce_far(f, r);
	if (x > 0)
		return q;
	*r = -*r;
	return (0u - q) & 3;
}

/* For |r| <= pi / 4 */
UMA_INLINE double dsin_near(double r)
{
	static const double c[] = {
		-1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800,
		1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1.0,
	};

	return r * HORNER64(r * r, c);
}

UMA_INLINE double dcos_near(double r)
{
	static const double c[] = {
		1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600,
		-1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -1.0 / 2, 1.0,
	};

	return HORNER64(r * r, c);
}

/* sin(x + quarter * pi / 2) */
UMA_INLINE double dsin(float x, __u32 quarter)
{
	double r, y;
	__u32 n = reduce_pi_2(x, &r) + quarter;

	y = n & 1 ? dcos_near(r) : dsin_near(r);
	return n & 2 ? -y : y;
}

UMA_INLINE double dtan(float x)
{
	double r;
	__u32 n = reduce_pi_2(x, &r);

	return n & 1 ? -dcos_near(r) / dsin_near(r) : dsin_near(r) / dcos_near(r);
}

/*
 * The series converges fast for |x| <= tan(pi / 12); larger x are reduced by way of pi / 6
 * and pi / 2.
 */
UMA_INLINE double datan(double x)
{
	static const double c[] = {
		1.0 / 25, -1.0 / 23, 1.0 / 21, -1.0 / 19, 1.0 / 17, -1.0 / 15,
		1.0 / 13, -1.0 / 11, 1.0 / 9, -1.0 / 7, 1.0 / 5, -1.0 / 3, 1.0,
	};
	double a = dabs(x), far = a > 1 ? 1 / a : a, r;

	r = far > 0.268 ? (far * SQRT_3 - 1) / (far + SQRT_3) : far;
	r = r * HORNER64(r * r, c);
	r = far > 0.268 ? r + PI_6 : r;
	return dcopysign(a > 1 ? PI_2 - r : r, x);
}

UMA_INLINE double dasin(double x)
{
	return datan(x / dsqrt((1 - x) * (1 + x)));
}

UMA_INLINE double dacos(double x)
{
	/* At -1 the quotient is infinite and its arc tangent is pi / 2. */
	return 2 * datan(dsqrt((1 - x) / (1 + x)));
}

UMA_INLINE double dsinh(double x)
{
	static const double c[] = {
		1.0 / 1307674368000, 1.0 / 6227020800, 1.0 / 39916800,
		1.0 / 362880, 1.0 / 5040, 1.0 / 120, 1.0 / 6, 1.0,
	};
	double a = dabs(x), e;

	if (a < 1)
		return x * HORNER64(x * x, c);
	e = dexp(a);
	return dcopysign(0.5 * e - 0.5 / e, x);
}

UMA_INLINE double dcosh(double x)
{
	double e = dexp(dabs(x));

	return 0.5 * e + 0.5 / e;
}

UMA_INLINE double dasinh(double x)
{
	static const double c[] = {
		35.0 / 1152, -5.0 / 112, 3.0 / 40, -1.0 / 6, 1.0,
	};
	double a = dabs(x);

	if (a < DSCALED(1, 6))
		return x * HORNER64(x * x, c);
	return dcopysign(dlog(a + dsqrt(a * a + 1)), x);
}

UMA_INLINE double dacosh(double x)
{
	double d = x - 1;

	return x < 1 ? F64_NAN : dlog1p(d + dsqrt(d * (d + 2)));
}

UMA_INLINE double datanh(double x)
{
	static const double c[] = {
		1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0,
	};
	double a = dabs(x);

	if (a < DSCALED(1, 6))
		return x * HORNER64(x * x, c);
	return dcopysign(0.5 * dlog((1 + a) / (1 - a)), x);
}

UMA_INLINE double dsoftplus(double x)
{
	return x > 0 ? x + dlog1p(dexp(-x)) : dlog1p(dexp(x));
}

/* x tanh(softplus(x)) = x n / (n + 2) with n = e^x (e^x + 2) */
UMA_INLINE double dmish(double x)
{
	double e = dexp(x > 40 ? 40 : x), n = e * (e + 2);

	/* The limit at -infinity is -0. */
	return (x == -F64_INF ? -1 : x) * (n / (n + 2));
}

UMA_INLINE double dsoftsign(double x)
{
	return dabs(x) > 0x1p60 ? dcopysign(1, x) : x / (1 + dabs(x));
}

/* Returns 0 if x is not an integer, 1 if it is even, 2 if it is odd. */
UMA_INLINE int integrality(double x)
{
	if (dabs(x) >= 0x1p51)
		return 1;
	if (drint(x) != x)
		return 0;
	return (__s64)x & 1 ? 2 : 1;
}

/* As in IEEE 754, x^0 and 1^y are 1 even for NaN. */
UMA_INLINE double dpow(double x, double y)
{
	double r;
	int kind;

	if (y == 0 || x == 1)
		return 1;
	if (x != x || y != y)
		return F64_NAN;
	if (x == -1 && dabs(y) == F64_INF)
		return 1;
	r = dexp(y * dlog(dabs(x)));
	if (!(f64_bits(x) >> 63))
		return r;
	kind = integrality(y);
	if (!kind && x != 0 && x != -F64_INF)
		return F64_NAN;
	return kind == 2 ? -r : r;
}

/*
 * Remainder of a / b with the sign of a, exact: divides the significands as integers, 39
 * bits of the quotient at a time.
 */
UMA_INLINE double drem(double a, double b)
{
	__u64 ma, mb, r;
	__s32 ea, eb, d;

	if (a != a || b != b || b == 0 || dabs(a) == F64_INF)
		return F64_NAN;
	if (dabs(a) < dabs(b))
		return a;
	if (a == 0)
		return a;
	/* Significands of 24 bits: numbers of binary32 have zeros in the lower 29 of 53. */
	ea = (__s32)(f64_bits(a) >> 52 & 2047);
	eb = (__s32)(f64_bits(b) >> 52 & 2047);
	ma = (f64_bits(a) >> 29 & 0x7fffff) | 0x800000;
	mb = (f64_bits(b) >> 29 & 0x7fffff) | 0x800000;
	r = ma % mb;
	for (d = ea - eb; d > 0; d -= 39)
		r = (r << (d < 39 ? d : 39)) % mb;
	/* Exact, since r is below 2^24 and only scaled by a power of two. */
	return dcopysign((double)r * bits_f64((__u64)(eb - 23) << 52), a);
}

/* Remainder with the sign of b. Where b is added the signs differ, so nothing overflows. */
UMA_INLINE float fmodulo(float a, float b)
{
	float r = (float)drem(a, b);

	if (r == 0)
		return (float)dcopysign(r, b);
	return (r < 0) != (b < 0) ? r + b : r;
}

#define UNARY64(name, expr)						\
static void unary_##name(float *row, __u32 n)				\
{									\
	__u32 i;							\
									\
	for (i = 0; i < n; i++) {					\
		float x = row[i];					\
		row[i] = (float)(expr);					\
	}								\
}

UNARY64(sin, dsin(x, 0))
UNARY64(cos, dsin(x, 1))
UNARY64(tan, dtan(x))
UNARY64(asin, dasin(x))
UNARY64(acos, dacos(x))
UNARY64(atan, datan(x))
UNARY64(sinh, dsinh(x))
UNARY64(cosh, dcosh(x))
UNARY64(asinh, dasinh(x))
UNARY64(acosh, dacosh(x))
UNARY64(atanh, datanh(x))

#define ACT64(name, expr)						\
static void act_##name(float *row, __u32 b0, __u32 b1, __u32 n)	\
{									\
	double p0 = bits_f32(b0), p1 = bits_f32(b1);			\
	__u32 i;							\
									\
	(void)p0;							\
	(void)p1;							\
	for (i = 0; i < n; i++) {					\
		double x = row[i];					\
		row[i] = (float)(expr);					\
	}								\
}

ACT64(elu, x < 0 ? p0 * dexpm1(x) : x)
ACT64(celu, x < 0 ? p0 * dexpm1(x / p0) : x)
ACT64(selu, x > 0 ? p1 * x : p1 * (p0 * dexpm1(x)))
ACT64(softplus, dsoftplus(x))
ACT64(softsign, dsoftsign(x))
ACT64(mish, dmish(x))

#define BINARY64(name, expr)						\
static void binary_##name(float *dst, const float *pa, const float *pb,	\
			  __u32 n)					\
{									\
	__u32 i;							\
									\
	for (i = 0; i < n; i++) {					\
		float a = pa[i], b = pb[i];				\
		dst[i] = (float)(expr);					\
	}								\
}

BINARY64(mod, fmodulo(a, b))
BINARY64(rem, drem(a, b))
BINARY64(pow, dpow(a, b))
