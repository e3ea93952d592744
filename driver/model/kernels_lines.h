/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Part of kernels_impl.h: sums along lines, in binary64.
 *
 * The error of a binary64 sum of 2^24 binary32 numbers is less than half a unit of
 * binary32 of the sum of their magnitudes, and neither their squares nor the sums of
 * these overflow. All sets of kernels use the same lanes, so the bits are the same.
 */

#define LANE_LOOP(expr) do {						\
	__u32 i_ = 0, j_;						\
	for (; i_ + UMA_LANES <= n; i_ += UMA_LANES)			\
		for (j_ = 0; j_ < UMA_LANES; j_++) {			\
			double v = x[i_ + j_], s = a[j_];		\
			a[j_] = (expr);					\
		}							\
	for (j_ = 0; i_ + j_ < n; j_++) {				\
		double v = x[i_ + j_], s = a[j_];			\
		a[j_] = (expr);						\
	}								\
} while (0)

static void sum_line(double *lanes, __u32 func, const float *x, const double *from,
		     __u32 n)
{
	double a[UMA_LANES];
	double d = *from;

	__builtin_memcpy(a, lanes, sizeof(a));
	switch (func) {
	case UMA_SUM_PLAIN:
		LANE_LOOP(s + v);
		break;
	case UMA_SUM_ABS:
		LANE_LOOP(s + dabs(v));
		break;
	case UMA_SUM_SQUARE:
		LANE_LOOP(s + (v - d) * (v - d));
		break;
	default:
		LANE_LOOP(s * v);
		break;
	}
	__builtin_memcpy(lanes, a, sizeof(a));
}

static void fold_line(double *v, const double *lanes, __u32 func, __u64 n, __u32 p)
{
	double a[UMA_LANES], s;
	__u32 half, j;

	__builtin_memcpy(a, lanes, sizeof(a));
	for (half = UMA_LANES / 2; half; half /= 2)
		for (j = 0; j < half; j++)
			a[j] = func == UMA_FOLD_PRODUCT ? a[j] * a[j + half] :
							  a[j] + a[j + half];
	s = a[0];
	switch (func) {
	case UMA_FOLD_MEAN:
		s = s / (double)n;
		break;
	case UMA_FOLD_ROOT:
		s = dsqrt(s);
		break;
	case UMA_FOLD_RECIP:
		s = 1 / s;
		break;
	case UMA_FOLD_RSTD:
		s = 1 / dsqrt(s / (double)n + (double)bits_f32(p));
		break;
	case UMA_FOLD_LOG:
		s = (double)bits_f32(p) + dlog(s);
		break;
	default:
		break;
	}
	*v = s;
}

/* To binary32; every NaN becomes the same one. */
UMA_INLINE float narrow_f64(double x)
{
	return x == x ? (float)x : bits_f32(0x7fc00000);
}

static void widen_line(double *dst, const float *src, __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++)
		dst[i] = src[i];
}

static void narrow_line(float *dst, const double *src, __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++)
		dst[i] = narrow_f64(src[i]);
}

static void affine_line(float *x, const double *p, __u32 n)
{
	double a = p[0], b = p[1], c = p[2];
	__u32 i;

	for (i = 0; i < n; i++)
		x[i] = narrow_f64(((double)x[i] - a - b) * c);
}

/* e^(x - m) for x <= m, from the exact difference in two parts */
UMA_INLINE vf vexp_below(vf x, vf m)
{
	vf neg = (vf)((vi)m ^ (__s32)0x80000000);
	vf hi = x + neg;
	vf b = hi - x;
	vf lo = (x - (hi - b)) + (neg - b);

	/* Below -128 the result is 0; lo may be large there, and is ignored. */
	return vexp2part(hi, vsel(vabs(hi) <= 128.0f, lo, vf_all(0.0f)));
}

static void exp_line(float *row, __u32 bits, __u32 n)
{
	vf m = vf_all(bits_f32(bits));

	MAP_ROW(n, row, row, vexp_below(x, m));
}

static void scan_line(double *acc, float *x, __u32 flags, __u32 n)
{
	double s = *acc, before;
	__u32 i, at;

	for (i = 0; i < n; i++) {
		at = flags & UMA_SCAN_REVERSE ? n - 1 - i : i;
		before = s;
		s = s + (double)x[at];
		x[at] = narrow_f64(flags & UMA_SCAN_EXCLUSIVE ? before : s);
	}
	*acc = s;
}
