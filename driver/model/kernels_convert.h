/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Part of kernels_impl.h: conversions between types. */

static void f32_to_f32(float *dst, const void *src, __u32 n)
{
	__builtin_memmove(dst, src, 4ul * n);
}

static void f32_from_f32(void *dst, const float *src, __u32 n)
{
	__builtin_memmove(dst, src, 4ul * n);
}

/*
 * binary16 to binary32, exact. With exponent and mantissa shifted into place the number is
 * too small by a factor of 2^112; multiplying by it also normalises subnormal numbers.
 */
UMA_INLINE vf half_to_vf(vh h)
{
#if UMA_VL >= 8 && defined(__F16C__)
	vf r;

	__asm__("vcvtph2ps %1, %0" : "=v"(r) : "v"(h));
	return r;
#else
	vi w = __builtin_convertvector(h, vi);
	vi mag = (w & 0x7fff) << 13;
	vi special = mag >= 0x7c00 << 13;
	vi nan = mag > 0x7c00 << 13;
	vi bits = (vi)((vf)mag * 0x1p112f);

	/* Infinity keeps its mantissa, a NaN becomes quiet. */
	bits = (special & (mag | 0x7f800000)) | (~special & bits);
	bits |= nan & 0x400000;
	return (vf)((vu)bits | ((vu)w & 0x8000) << 16);
#endif
}

/* binary32 to binary16, rounded to nearest even; a NaN becomes quiet. */
UMA_INLINE vh vf_to_half(vf x)
{
#if UMA_VL == 8 && defined(__F16C__)
	vh r;

	__asm__("vcvtps2ph $0, %1, %0" : "=x"(r) : "x"(x));
	return r;
#elif UMA_VL == 16
	vh r;

	__asm__("vcvtps2ph $0, %1, %0" : "=v"(r) : "v"(x));
	return r;
#else
	vi sign = ((vi)x >> 16) & 0x8000;
	vi mag = (vi)x & 0x7fffffff;
	vi nan = mag > 0x7f800000;
	vi big = mag >= 0x47800000;		/* 2^16 and up */
	vi tiny = mag < 0x38800000;		/* below 2^-14: subnormal */
	/* Adding 0.5 shifts the mantissa to where the unit is 2^-24. */
	vi sub = (vi)((vf)mag + 0.5f) - 0x3f000000;
	/*
	 * Add half a unit in the last place less one, and one if that unit is odd: a tie becomes
	 * even. May wrap for a NaN, which is replaced below.
	 */
	vi norm = (vi)((vu)mag + ((__u32)((15 - 127) * (1 << 23)) + 0xfff) +
		       (((vu)mag >> 13) & 1)) >> 13;
	vi r = (tiny & sub) | (~tiny & norm);

	r = (big & 0x7c00) | (~big & r);
	r = (nan & (0x7e00 | ((mag >> 13) & 0x3ff))) | (~nan & r);
	return __builtin_convertvector(r | sign, vh);
#endif
}

UMA_INLINE vh vf_to_bf16(vf x)
{
	vu bits = (vu)x;
	vu nan = (vu)(((vi)x & 0x7fffffff) > 0x7f800000);
	vu r = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;

	r = (nan & ((bits >> 16) | 0x40)) | (~nan & r);
	return __builtin_convertvector(r, vh);
}

/* Convert a row: dst[i] = expr of the vector s of another type. */
#define CONVERT_TO(type, elem, expr) do {				\
	const elem *src_ = src;						\
	__u32 i = 0;							\
	for (; i + UMA_VL <= n; i += UMA_VL) {				\
		type s = VLOAD(type, src_ + i);				\
		VSTORE(dst + i, (expr));				\
	}								\
	if (i < n) {							\
		type s = { 0 };						\
		vf r;							\
		__builtin_memcpy(&s, src_ + i, sizeof(elem) * (n - i));	\
		r = (expr);						\
		__builtin_memcpy(dst + i, &r, 4 * (n - i));		\
	}								\
} while (0)

static void f16_to_f32(float *dst, const void *src, __u32 n)
{
	CONVERT_TO(vh, __u16, half_to_vf(s));
}

static void bf16_to_f32(float *dst, const void *src, __u32 n)
{
	CONVERT_TO(vh, __u16, (vf)(__builtin_convertvector(s, vu) << 16));
}

static void s32_to_f32(float *dst, const void *src, __u32 n)
{
	CONVERT_TO(vi, __s32, __builtin_convertvector(s, vf));
}

static void s8_to_f32(float *dst, const void *src, __u32 n)
{
	CONVERT_TO(vsb, __s8,
		   __builtin_convertvector(__builtin_convertvector(s, vi), vf));
}

static void u8_to_f32(float *dst, const void *src, __u32 n)
{
	CONVERT_TO(vub, __u8,
		   __builtin_convertvector(__builtin_convertvector(s, vi), vf));
}

#define CONVERT_FROM(expr) do {						\
	__u16 *dst_ = dst;						\
	__u32 i = 0;							\
	for (; i + UMA_VL <= n; i += UMA_VL) {				\
		vf s = VLOAD(vf, src + i);				\
		VSTORE(dst_ + i, (expr));				\
	}								\
	if (i < n) {							\
		vf s = { 0 };						\
		vh r;							\
		__builtin_memcpy(&s, src + i, 4 * (n - i));		\
		r = (expr);						\
		__builtin_memcpy(dst_ + i, &r, 2 * (n - i));		\
	}								\
} while (0)

static void f16_from_f32(void *dst, const float *src, __u32 n)
{
	CONVERT_FROM(vf_to_half(s));
}

static void bf16_from_f32(void *dst, const float *src, __u32 n)
{
	CONVERT_FROM(vf_to_bf16(s));
}

static void s64_to_f32(float *dst, const __s64 *src, __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++)
		dst[i] = (float)src[i];
}

static void dequant(float *dst, const __s32 *src, const __s32 *zero,
		    __u32 zstep, const float *scale, __u32 sstep, __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++) {
		__s64 d = (__s64)src[i] - zero[i * zstep];

		dst[i] = scale[i * sstep] * (float)d;
	}
}

static void add(float *x, const float *y, __u32 step, __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++)
		x[i] += y[i * step];
}

/*
 * Clamp before the conversion to 64 bits, far beyond the range of the result, so that it
 * does not overflow.
 */
static void quant(__s32 *dst, const float *src, const __s32 *zero, __u32 zstep,
		  const float *scale, __u32 sstep, __s32 lo, __s32 hi, __u32 n)
{
	__u32 base, i;

	for (base = 0; base < n; base += UMA_VL) {
		__u32 count = n - base < UMA_VL ? n - base : UMA_VL;
		vf x = { 0 }, s = vf_all(1.0f);

		__builtin_memcpy(&x, src + base, 4 * count);
		if (sstep)
			__builtin_memcpy(&s, scale + base, 4 * count);
		else
			s = vf_all(scale[0]);
		x = vrint(x / s);
		x = vsel(x != x, vf_all(0.0f), x);
		x = vsel(x < -0x1p40f, vf_all(-0x1p40f), x);
		x = vsel(x > 0x1p40f, vf_all(0x1p40f), x);
		for (i = 0; i < count; i++) {
			__s64 q = (__s64)x[i] + zero[(base + i) * zstep];

			q = q < lo ? lo : q > hi ? hi : q;
			dst[base + i] = (__s32)q;
		}
	}
}

static void fill(float *dst, __u32 bits, __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++)
		__builtin_memcpy(dst + i, &bits, 4);
}
