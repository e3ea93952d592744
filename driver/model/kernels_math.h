/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Part of kernels_impl.h: functions of rows.
 *
 * The polynomials are Chebyshev fits of the functions given in the comments, with
 * coefficients rounded to binary32, the highest power first.
 * Documentation/numerics.rst states the error of each; the tests check it.
 */

/* m / 2^e, exact: stands for a hexadecimal floating-point constant. */
#define SCALED(m, e)	((m) / (float)(1ULL << (e)))

#define FLT_BIG		0x1fffffep103f

#define HORNER(x, c) ({							\
	vf r_ = vf_all((c)[0]);						\
	__u32 j_;							\
	for (j_ = 1; j_ < sizeof(c) / sizeof((c)[0]); j_++)		\
		r_ = r_ * (x) + (c)[j_];				\
	r_; })

/* x * 2^n for -252 <= n <= 252, rounded once */
UMA_INLINE vf scale_exp(vf x, vi n)
{
	vi half = n >> 1;
	vf a = (vf)((half + 127) << 23);
	vf b = (vf)((n - half + 127) << 23);

	return x * a * b;
}

/*
 * e^(hi + lo), with |lo| small compared to |hi|. The polynomial is (e^r - 1 - r) / r^2 for
 * |r| <= ln(2) / 2.
 */
UMA_INLINE vf vexp2part(vf hi, vf lo)
{
	static const float c[] = {
		SCALED(0x16d1606, 34), SCALED(0x112106c, 31), SCALED(0x1555516, 29),
		SCALED(0x15554d8, 27), 0.5f,
	};
	vf x = vsel(hi > 89.0f, vf_all(89.0f), hi);
	vf n, r, p;

	x = vsel(x < -104.0f, vf_all(-104.0f), x);
	n = vrint(x * SCALED(0x1715476, 24));		/* 1 / ln 2 */
	r = x - n * SCALED(0x162e4, 17);		/* upper 15 bits of ln 2: exact product */
	r = r - n * SCALED(0x17f7d1c, 44);		/* lower bits of ln 2 */
	r = r + lo;
	p = HORNER(r, c);
	p = (r * r) * p + r + 1.0f;
	p = scale_exp(p, __builtin_convertvector(n, vi));
	return vsel(hi != hi, hi, p);
}

UMA_INLINE vf vexp(vf x)
{
	return vexp2part(x, vf_all(0.0f));
}

/*
 * The polynomial is (log(1 + f) - f + f^2 / 2) / f^3, for f from sqrt(1/2) - 1 to
 * sqrt(2) - 1.
 */
UMA_INLINE vf vlog(vf x)
{
	static const float c[] = {
		SCALED(0x11d8ea6, 28), -SCALED(0x1d635bc, 28), SCALED(0x1dea282, 28),
		-SCALED(0x1fcf4c6, 28), SCALED(0x123d21a, 27), -SCALED(0x1555b4a, 27),
		SCALED(0x1999d5a, 27), -SCALED(0x1fffffc, 27), SCALED(0x1555554, 26),
	};
	vi small = x < bits_f32(0x00800000);
	vf y = vsel(small, x * 0x1p23f, x);
	vi bits = (vi)((vu)y - 0x3f3504f3u);		/* sqrt(1/2) */
	vi e = bits >> 23;
	vf f = (vf)((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
	vf n = __builtin_convertvector(e - (small & 23), vf);
	vf sq = f * f;
	vf r = f * sq * HORNER(f, c);

	r = r + n * SCALED(0x17f7d1c, 44);
	r = r - 0.5f * sq;
	r = r + f;
	r = r + n * SCALED(0x162e4, 17);
	r = vsel(x == 0.0f, vf_all(-__builtin_inff()), r);
	r = vsel(x < 0.0f, vf_all(__builtin_nanf("")), r);
	r = vsel(x == __builtin_inff(), x, r);
	return vsel(x != x, x, r);
}

/* The polynomial in x^2 is (tanh(x) / x - 1) / x^2, for |x| <= 0.625. Larger x use e^2x. */
UMA_INLINE vf vtanh(vf x)
{
	static const float c[] = {
		SCALED(0x12c83c, 29), -SCALED(0x1116a16, 31), SCALED(0x164a976, 30),
		-SCALED(0x1ba08c4, 29), SCALED(0x11110ea, 27), -SCALED(0x1555556, 26),
	};
	/* tanh is 1 in binary32 from 10 on. Clamp so that e^2x does not overflow. */
	vf a = vsel(vabs(x) > 16.0f, vf_all(16.0f), vabs(x));
	vf z = a * a;
	vf near = a + a * (z * HORNER(z, c));
	vf far = 1.0f - 2.0f / (vexp(a + a) + 1.0f);

	far = (vf)((vi)vsel(a < 0.625f, near, far) | vsign(x));
	return vsel(x != x, x, far);
}

/* 1 / (1 + e^-x), accurate for both signs of x */
UMA_INLINE vf vsigmoid(vf x)
{
	vf z = vexp((vf)((vi)x | (__s32)0x80000000));	/* e^-|x| */
	vf r = vsel(x < 0.0f, z, vf_all(1.0f)) / (1.0f + z);

	return vsel(x != x, x, r);
}

/*
 * erfc(t) / e^(-t^2) for 0 <= t <= 10.5, as a polynomial in (t - 3) / (t + 3), divided by
 * 1 + 2 t
 */
UMA_INLINE vf verfcx(vf t)
{
	static const float c[] = {
		-SCALED(0x11ee2de, 36), -SCALED(0x19d33c6, 35), SCALED(0x106604c, 33),
		SCALED(0x151c0f4, 33), -SCALED(0x185da0e, 30), SCALED(0x117ba6e, 28),
		-SCALED(0x1e889ac, 28), SCALED(0x1098438, 27), -SCALED(0x185a16a, 29),
		-SCALED(0x115c08a, 27), SCALED(0x140c522, 24),
	};
	vf w = (t - 3.0f) / (t + 3.0f);

	return HORNER(w, c) / (1.0f + (t + t));
}

/* e^(-s x^2), with x^2 in two parts to avoid its rounding error */
UMA_INLINE vf vexp_minus_square(vf x, float s)
{
	vf hi = (vf)((vi)x & (__s32)0xfffff000);
	vf lo = (x - hi) * (x + hi);

	return vexp2part(hi * hi * -s, lo * -s);
}

/* The polynomial in x^2 is erf(x) / x, for |x| <= 1. Larger x use 1 - erfc(x). */
UMA_INLINE vf verf(vf x)
{
	static const float c[] = {
		SCALED(0x14a569, 34), -SCALED(0x1a45088, 35), SCALED(0x154127, 28),
		-SCALED(0x1b7faba, 30), SCALED(0x1ce2d1, 24), -SCALED(0x181273e, 26),
		SCALED(0x120dd74, 24),
	};
	vf a = vabs(x);
	vf t = vsel(a > 4.5f, vf_all(4.5f), a);
	vf z = x * x;
	vf near = x * HORNER(z, c);
	vf far = 1.0f - vexp_minus_square(t, 1.0f) * verfcx(t);

	far = (vf)((vi)far | vsign(x));
	far = vsel(x != x, x, far);
	return vsel(a < 1.0f, near, far);
}

/* Replaces -infinity, whose product with the 0 of its limit would be NaN. */
UMA_INLINE vf vfinite_below(vf x)
{
	return vsel(x < -FLT_BIG, vf_all(-FLT_BIG), x);
}

/* x Phi(x) = x erfc(-x / sqrt(2)) / 2 */
UMA_INLINE vf vgelu(vf x)
{
	vf a = vabs(x);
	vf q;

	a = vsel(a > 14.5f, vf_all(14.5f), a);
	q = 0.5f * vexp_minus_square(a, 0.5f) * verfcx(a * SCALED(0x16a09e6, 25));
	q = vsel(x < 0.0f, q, 1.0f - q);
	q = vfinite_below(x) * q;
	return vsel(x != x, x, q);
}

UMA_INLINE vf vsilu(vf x)
{
	return vfinite_below(x) * vsigmoid(x);
}

/* 0.5 x (1 + tanh(u)) = x sigmoid(2 u) */
UMA_INLINE vf vgelu_tanh(vf x)
{
	/* 2 sqrt(2 / pi), and the same times 0.044715 */
	vf u = x * (SCALED(0x1988454, 24) + (x * x) * SCALED(0x12444f2, 28));

	return vfinite_below(x) * vsigmoid(u);
}

UMA_INLINE vf vclamp(vf x, vf lo, vf hi)
{
	x = vsel(x < lo, lo, x);
	return vsel(x > hi, hi, x);
}

UMA_INLINE vf vhard_swish(vf x)
{
	return vfinite_below(x) *
	       vclamp(x / 6.0f + 0.5f, vf_all(0.0f), vf_all(1.0f));
}

UMA_INLINE vf vfloor(vf x)
{
	vf r = vrint(x);

	r = r - (vf)((vi)vf_all(1.0f) & (r > x));
	return (vf)(((vi)r & 0x7fffffff) | vsign(x));
}

UMA_INLINE vf vceil(vf x)
{
	vf r = vrint(x);

	r = r + (vf)((vi)vf_all(1.0f) & (r < x));
	return (vf)(((vi)r & 0x7fffffff) | vsign(x));
}

UMA_INLINE vf vtrunc(vf x)
{
	return (vf)((vi)vfloor(vabs(x)) | vsign(x));
}

/* 1.0 in lanes where the mask is set, else 0 */
UMA_INLINE vf vone(vi mask)
{
	return (vf)((vi)vf_all(1.0f) & mask);
}

/* Is exactly one of the two not zero? */
UMA_INLINE vi vxor(vf a, vf b)
{
	return (a != 0.0f) ^ (b != 0.0f);
}

#define UNARY(name, expr)						\
static void unary_##name(float *row, __u32 n)				\
{									\
	MAP_ROW(n, row, row, expr);					\
}

UNARY(abs, vabs(x))
UNARY(neg, (vf)((vi)x ^ (__s32)0x80000000))
UNARY(sqrt, vsqrt(x))
UNARY(rsqrt, 1.0f / vsqrt(x))
UNARY(recip, 1.0f / x)
UNARY(exp, vexp(x))
UNARY(log, vlog(x))
UNARY(erf, verf(x))
UNARY(square, x * x)
UNARY(floor, vfloor(x))
UNARY(ceil, vceil(x))
UNARY(round, vrint(x))
UNARY(sign, vsel(x > 0.0f, vf_all(1.0f), vsel(x < 0.0f, vf_all(-1.0f), x)))
UNARY(trunc, vtrunc(x))
UNARY(is_nan, vone(x != x))
UNARY(is_inf, vone(vabs(x) == __builtin_inff()))
UNARY(not, vone(x == 0.0f))

#define ACT(name, expr)							\
static void act_##name(float *row, __u32 b0, __u32 b1, __u32 n)	\
{									\
	vf p0 = vf_all(bits_f32(b0)), p1 = vf_all(bits_f32(b1));	\
									\
	(void)p0;							\
	(void)p1;							\
	MAP_ROW(n, row, row, expr);					\
}

ACT(relu, vsel(x <= 0.0f, vf_all(0.0f), x))
ACT(clamp, vclamp(x, p0, p1))
ACT(leaky_relu, vsel(x < 0.0f, p0 * x, x))
ACT(sigmoid, vsigmoid(x))
ACT(tanh, vtanh(x))
ACT(gelu, vgelu(x))
ACT(gelu_tanh, vgelu_tanh(x))
ACT(silu, vsilu(x))
ACT(hard_sigmoid, vclamp(p0 * x + p1, vf_all(0.0f), vf_all(1.0f)))
ACT(hard_swish, vhard_swish(x))

#define BINARY(name, expr)						\
static void binary_##name(float *dst, const float *pa, const float *pb,	\
			  __u32 n)					\
{									\
	__u32 i = 0;							\
									\
	for (; i + UMA_VL <= n; i += UMA_VL) {				\
		vf a = VLOAD(vf, pa + i), b = VLOAD(vf, pb + i);	\
		VSTORE(dst + i, (expr));				\
	}								\
	if (i < n) {							\
		vf a = vf_all(pa[i]), b = vf_all(pb[i]), r;		\
		__builtin_memcpy(&a, pa + i, 4 * (n - i));		\
		__builtin_memcpy(&b, pb + i, 4 * (n - i));		\
		r = (expr);						\
		__builtin_memcpy(dst + i, &r, 4 * (n - i));		\
	}								\
}

BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, a * b)
BINARY(div, a / b)
BINARY(max, vsel((a > b) | (a != a), a, b))
BINARY(min, vsel((a < b) | (a != a), a, b))
BINARY(quot, vtrunc(a / b))
BINARY(eq, vone(a == b))
BINARY(ne, vone(a != b))
BINARY(lt, vone(a < b))
BINARY(le, vone(a <= b))
BINARY(gt, vone(a > b))
BINARY(ge, vone(a >= b))
BINARY(and, vone((a != 0.0f) & (b != 0.0f)))
BINARY(or, vone((a != 0.0f) | (b != 0.0f)))
BINARY(xor, vone(vxor(a, b)))
BINARY(prelu, vsel(a < 0.0f, b * a, a))

static void scale_row(float *row, __u32 bits, __u32 n)
{
	vf s = vf_all(bits_f32(bits));

	MAP_ROW(n, row, row, x * s);
}

static void axpy_row(float *row, __u32 bits, const float *y, __u32 n)
{
	vf s = vf_all(bits_f32(bits));
	__u32 i = 0;

	for (; i + UMA_VL <= n; i += UMA_VL) {
		vf x = VLOAD(vf, row + i), v = VLOAD(vf, y + i);

		VSTORE(row + i, x + s * v);
	}
	for (; i < n; i++) {
		float p = bits_f32(bits) * y[i];

		row[i] = row[i] + p;
	}
}
