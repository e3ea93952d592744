// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The inner kernels: all sets against each other, bit for bit; the conversions
 * against arithmetic, for every value of 16 bits; the functions against libm,
 * within the documented bounds.
 */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "mt.h"
#include "tap.h"

#define N	1021

static struct mt_rng rng = { .s = 1 };

/* Any bits, with a liking for the odd ones. */
static uint32_t any_f32(void)
{
	uint32_t b = mt_rand(&rng);

	switch (mt_below(&rng, 8)) {
	case 0:
		return b & 0x807fffff;
	case 1:
		return b | 0x7f800000;
	case 2:
		return (b & 0x80000000) | 0x7f800000;
	case 3:
		return b & 0x80000000;
	default:
		return b;
	}
}

static void fill_any(float *x, uint32_t n)
{
	uint32_t i, b;

	for (i = 0; i < n; i++) {
		b = any_f32();
		memcpy(&x[i], &b, 4);
	}
}

/* NaNs may differ in which operand they come from. */
static int same(const float *a, const float *b, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (memcmp(&a[i], &b[i], 4) && !(isnan(a[i]) && isnan(b[i]))) {
			printf("# %u: %a %a\n", i, (double)a[i], (double)b[i]);
			return 0;
		}
	return 1;
}

/* --- conversions ---------------------------------------------------------- */

static void test_halves(const struct uma_kernels *k)
{
	static float f[65536];
	static uint16_t in[65536], out[65536];
	uint32_t i, d, bad;

	for (i = 0; i < 65536; i++)
		in[i] = (uint16_t)i;
	for (d = UMA_DTYPE_F16; d <= UMA_DTYPE_BF16; d++) {
		k->to_f32[d](f, in, 65536);
		for (i = bad = 0; i < 65536; i++) {
			double want = ref_element((int)d, (uint8_t *)&in[i], 0);

			bad += isnan(want) ? !isnan(f[i]) : f[i] != want ||
				!signbit(f[i]) != !signbit(want);
		}
		tap_ok(!bad, "%s: all values of type %u to binary32", k->name, d);
		k->from_f32[d](out, f, 65536);
		for (i = bad = 0; i < 65536; i++) {
			uint16_t quiet = d == UMA_DTYPE_F16 ? 0x0200 : 0x0040;

			bad += isnan(f[i]) ? out[i] != (in[i] | quiet) : out[i] != in[i];
		}
		tap_ok(!bad, "%s: and back, NaN made quiet", k->name);
	}
}

/* Nearest of the 16-bit type, ties to even: by the neighbours' distances. */
static int nearest(int d, uint16_t got, float x)
{
	double g = ref_element(d, (uint8_t *)&got, 0), err;
	double max = d == UMA_DTYPE_F16 ? 65504 : 0x1fep119;
	double over = d == UMA_DTYPE_F16 ? 65520 : 0x1ffp119;
	int step;

	if (isnan(x))
		return isnan(g);
	if (!signbit(x) != !(got >> 15))
		return 0;
	if (isinf(g))
		return fabs((double)x) >= over;
	if (fabs((double)x) >= over)
		return 0;
	err = fabs(g - (double)x);
	for (step = -1; step <= 1; step += 2) {
		uint16_t other = (uint16_t)(got + step);
		double o;

		if ((other ^ got) & 0x8000)
			continue;
		o = ref_element(d, (uint8_t *)&other, 0);
		if (isinf(o))
			o = copysign(max + (over - max) * 2, (double)x);
		if (fabs(o - (double)x) < err)
			return 0;
		if (fabs(o - (double)x) == err && got & 1)
			return 0;
	}
	return 1;
}

static void test_rounding(const struct uma_kernels *k)
{
	static float x[N];
	static uint16_t h[N];
	uint32_t d, round, i, bad;

	for (d = UMA_DTYPE_F16; d <= UMA_DTYPE_BF16; d++) {
		for (round = bad = 0; round < 300; round++) {
			for (i = 0; i < N; i++) {
				uint32_t b = any_f32();

				/* Half of them in binary16's range, many ties. */
				if (i & 1)
					b = (b & 0x87ffffff) | 0x38000000;
				if (i & 2)
					b &= d == UMA_DTYPE_F16 ? 0xfffff000 : 0xffff8000;
				if ((i & 6) == 4)
					b = (b & 0x83ffffff) + 0x32800000;
				memcpy(&x[i], &b, 4);
			}
			k->from_f32[d](h, x, N);
			for (i = 0; i < N; i++)
				if (!nearest((int)d, h[i], x[i]) && !bad++)
					printf("# %a -> %04x\n", (double)x[i], h[i]);
		}
		tap_ok(!bad, "%s: binary32 to type %u, nearest even", k->name, d);
	}
}

static void test_quant(const struct uma_kernels *k)
{
	static float x[N], y[N], s[N];
	static int32_t q[N], z[N];
	uint32_t i, bad = 0, round;

	for (round = 0; round < 200; round++) {
		int wide = round & 1, step = round >> 1 & 1;
		int32_t lo = wide ? INT32_MIN : -128, hi = wide ? INT32_MAX : 127;

		for (i = 0; i < N; i++) {
			x[i] = mt_one_in(&rng, 9) ? mt_float(any_f32()) :
				ldexpf((float)((int)mt_below(&rng, 4001) - 2000),
				       (int)mt_below(&rng, wide ? 40 : 4) - 4);
			s[i] = ldexpf(1.0f + (float)mt_below(&rng, 3) / 2,
				      (int)mt_below(&rng, 5) - 2);
			z[i] = wide ? (int32_t)mt_rand(&rng) : (int32_t)mt_below(&rng, 256) - 128;
		}
		k->quant(q, x, z, (uint32_t)step, s, (uint32_t)step, lo, hi, N);
		for (i = 0; i < N; i++) {
			float d = x[i] / s[step ? i : 0];
			double r = isnan(d) ? 0 : nearbyint((double)d);

			r += z[step ? i : 0];
			r = r < lo ? lo : r > hi ? hi : r;
			if (r != q[i] && !bad++)
				printf("# %a / %a + %d -> %d\n", (double)x[i],
				       (double)s[step ? i : 0], z[step ? i : 0], q[i]);
		}
		k->dequant(y, q, z, (uint32_t)step, s, (uint32_t)step, N);
		for (i = 0; i < N; i++) {
			float want = s[step ? i : 0] * (float)((int64_t)q[i] - z[step ? i : 0]);

			bad += memcmp(&want, &y[i], 4) != 0;
		}
	}
	tap_ok(!bad, "%s: quantise and dequantise", k->name);
}

/* --- functions ------------------------------------------------------------ */

/* How far off, in units of the bound. */
static double excess(const struct ref_func *f, float x, float y, double p0, double p1)
{
	double want = f->f((double)x, p0, p1), tol;

	if (isnan(want))
		return isnan(y) ? 0 : 1e9;
	if (isinf(want) || fabs(want) > 0x1fffffefp99)
		return (double)y == copysign((double)INFINITY, want) ? 0 : 1e9;
	tol = f->rel * fabs(want) + f->abs + ref_extra(f, (double)x, p0, p1);
	if ((double)y == want)
		return 0;
	if (isnan(y))
		return 1e9;
	if (isinf(y))
		return fabs(want) + tol >= 0x1fffffefp99 ? 0 : 1e9;
	return tol > 0 ? fabs((double)y - want) / tol : 1e9;
}

/* Which part of the bound is in use, for the documentation. */
static double relative(const struct ref_func *f, float x, float y, double p0, double p1)
{
	double want = f->f((double)x, p0, p1);

	if (!isfinite(want) || !isfinite(y) || fabs(want) < ldexp(1, -120))
		return 0;
	return fabs((double)y - want) / fabs(want) / REF_U;
}

static void test_function(const struct uma_kernels *k, const struct ref_func *f,
			  uint32_t act, uint32_t unary, uint32_t stride)
{
	static float x[N], y[N];
	uint32_t p0 = act == UMA_ACT_CLAMP ? mt_bits(-0.75f) : mt_bits(0.2f);
	uint32_t p1 = act == UMA_ACT_CLAMP ? mt_bits(1.25f) : mt_bits(0.5f);
	double worst = 0, rel = 0, e, a0 = mt_float(p0), a1 = mt_float(p1);
	uint64_t b = mt_below(&rng, stride);
	float at = 0;
	uint32_t i;

	while (b < 1ULL << 32) {
		for (i = 0; i < N; i++, b += stride) {
			uint32_t bits = (uint32_t)(b < 1ULL << 32 ? b : 0);

			memcpy(&x[i], &bits, 4);
			/* Of a sample, every other one where the function does something. */
			if (stride > 1 && i & 1)
				x[i] = ((float)bits / 4294967296.0f - 0.5f) * 30.0f;
		}
		memcpy(y, x, sizeof(x));
		if (act)
			k->act[act](y, p0, p1, N);
		else
			k->unary[unary](y, N);
		for (i = 0; i < N; i++) {
			e = excess(f, x[i], y[i], a0, a1);
			if (e > worst) {
				worst = e;
				at = x[i];
			}
			rel = fmax(rel, relative(f, x[i], y[i], a0, a1));
		}
	}
	tap_ok(worst <= 1, "%s: %s within its bound (%.2f of it at %a, %.2f u)",
	       k->name, f->name, worst, (double)at, rel);
}

static void test_signs(const struct uma_kernels *k)
{
	static const uint32_t odd[][2] = {
		/* unary, input with its wanted output in the next table */
		{ UMA_UNARY_ABS, 0x80000000 }, { UMA_UNARY_NEG, 0x00000000 },
		{ UMA_UNARY_NEG, 0x7f800000 }, { UMA_UNARY_SQRT, 0x80000000 },
		{ UMA_UNARY_RECIP, 0x80000000 }, { UMA_UNARY_FLOOR, 0x80000000 },
		{ UMA_UNARY_CEIL, 0xbe99999a }, { UMA_UNARY_ROUND, 0xbf000000 },
		{ UMA_UNARY_ROUND, 0x3fc00000 }, { UMA_UNARY_ROUND, 0x40200000 },
		{ UMA_UNARY_LOG, 0x80000000 }, { UMA_UNARY_EXP, 0xff800000 },
		{ UMA_UNARY_ERF, 0x80000000 }, { UMA_UNARY_FLOOR, 0xff800000 },
	};
	static const uint32_t want[] = {
		0x00000000, 0x80000000, 0xff800000, 0x80000000, 0xff800000, 0x80000000,
		0x80000000, 0x80000000, 0x40000000, 0x40000000, 0xff800000, 0x00000000,
		0x80000000, 0xff800000,
	};
	uint32_t i, bad = 0, got;
	float x;

	for (i = 0; i < sizeof(want) / 4; i++) {
		x = mt_float(odd[i][1]);
		k->unary[odd[i][0]](&x, 1);
		memcpy(&got, &x, 4);
		if (got != want[i] && ++bad)
			printf("# unary %u of %08x is %08x\n", odd[i][0], odd[i][1], got);
	}
	tap_ok(!bad, "%s: zeros, infinities and ties keep their signs", k->name);
}

/* --- sets against each other ---------------------------------------------- */

static void test_agree(const struct uma_kernels *p, const struct uma_kernels *k)
{
	static float a[N], b[N], x[N], y[N];
	static __s64 wide[N];
	static uint16_t h1[N], h2[N];
	uint32_t round, f, n, bad = 0;

	for (round = 0; round < 40; round++) {
		n = round < 35 ? round + 1 : N - round;
		fill_any(a, n);
		fill_any(b, n);
		for (f = 0; f < UMA_BINARY_COUNT; f++) {
			/* Functions of bits are none of binary32. */
			if (!p->binary[f])
				continue;
			p->binary[f](x, a, b, n);
			k->binary[f](y, a, b, n);
			bad += !same(x, y, n);
		}
		for (f = 1; f < UMA_UNARY_COUNT; f++) {
			if (!p->unary[f])
				continue;
			memcpy(x, a, sizeof(x));
			memcpy(y, a, sizeof(x));
			p->unary[f](x, n);
			k->unary[f](y, n);
			bad += !same(x, y, n);
		}
		for (f = 1; f < UMA_ACT_COUNT; f++) {
			memcpy(x, a, sizeof(x));
			memcpy(y, a, sizeof(x));
			p->act[f](x, mt_bits(-0.5f), mt_bits(0.75f), n);
			k->act[f](y, mt_bits(-0.5f), mt_bits(0.75f), n);
			bad += !same(x, y, n);
		}
		memcpy(x, a, sizeof(x));
		memcpy(y, a, sizeof(x));
		p->axpy(x, mt_bits(1.5f), b, n);
		k->axpy(y, mt_bits(1.5f), b, n);
		p->scale(x, mt_bits(0.7f), n);
		k->scale(y, mt_bits(0.7f), n);
		bad += !same(x, y, n);
		for (f = UMA_DTYPE_F32; f <= UMA_DTYPE_U8; f++) {
			p->to_f32[f](x, a, n);
			k->to_f32[f](y, a, n);
			bad += !same(x, y, n);
		}
		for (f = UMA_DTYPE_F16; f <= UMA_DTYPE_BF16; f++) {
			p->from_f32[f](h1, a, n);
			k->from_f32[f](h2, a, n);
			bad += memcmp(h1, h2, 2 * n) != 0;
		}
		for (f = 0; f < n; f++)
			wide[f] = (int64_t)((uint64_t)mt_rand(&rng) << 32 | mt_rand(&rng)) >>
				mt_below(&rng, 40);
		p->s64_to_f32(x, wide, n);
		k->s64_to_f32(y, wide, n);
		bad += !same(x, y, n);
		p->fill(x, 0x12345678, n);
		k->fill(y, 0x12345678, n);
		bad += memcmp(x, y, 4 * n) != 0;
	}
	tap_ok(!bad, "%s and %s: same bits in all rows", p->name, k->name);
}

/* One accumulator, k ascending: the documented order, and not another. */
static void test_gemm_f32(const struct uma_kernels *k, int fused)
{
	static float a[40 * 80], b[80 * 64], c[40 * 64], want[40 * 64];
	uint32_t m, kk, i, j, l, bad = 0;

	for (i = 0; i < 40 * 80; i++)
		a[i] = (float)((int)mt_below(&rng, 2001) - 1000) / 777.0f;
	for (i = 0; i < 80 * 64; i++)
		b[i] = (float)((int)mt_below(&rng, 2001) - 1000) / 333.0f;
	for (m = 1; m <= 40; m++) {
		kk = 1 + mt_below(&rng, 79);
		for (l = 0; l < 2; l++) {
			struct uma_gemm_block g = {
				.m = m, .n = 64, .k = kk, .a = a, .b = b, .c = c,
				.a_ms = l ? 1 : 80, .a_ks = l ? 40 : 1, .b_ks = 64,
				.c_ms = 64, .accumulate = (int)l,
			};
			uint32_t t;

			for (i = 0; i < m; i++)
				for (j = 0; j < 64; j++) {
					float acc = l ? c[i * 64 + j] : 0;

					for (t = 0; t < kk; t++) {
						float x = a[i * g.a_ms + t * g.a_ks];
						float y = b[t * 64 + j];
						float p = x * y;

						acc = fused ? fmaf(x, y, acc) : acc + p;
					}
					want[i * 64 + j] = acc;
				}
			k->gemm_f32(&g);
			bad += memcmp(want, c, 4 * 64 * m) != 0;
		}
	}
	tap_ok(!bad, "%s: binary32 block product, %s, in the order of k", k->name,
	       fused ? "fused" : "not fused");
}

static void test_gemm_s16(const struct uma_kernels *k)
{
	static int16_t a[40 * 80], b[80 * 64];
	static int32_t c[40 * 64];
	uint32_t m, i, j, t, bad = 0;

	for (i = 0; i < 40 * 80; i++)
		a[i] = (int16_t)(mt_one_in(&rng, 3) ? 255 : (int)mt_below(&rng, 384) - 128);
	for (i = 0; i < 80 * 64; i++)
		b[i] = (int16_t)(mt_one_in(&rng, 3) ? 255 : (int)mt_below(&rng, 384) - 128);
	for (m = 1; m <= 40; m++) {
		struct uma_gemm_block g = {
			.m = m, .n = 64, .k = 1 + mt_below(&rng, 40), .a = a, .b = b,
			.c = c, .a_ms = 40, .a_ks = 1, .b_ks = 64, .c_ms = 64,
		};

		k->gemm_s16(&g);
		g.accumulate = 1;
		k->gemm_s16(&g);
		for (i = 0; i < m; i++)
			for (j = 0; j < 64; j++) {
				int32_t sum = 0;

				for (t = 0; t < 2 * g.k; t++)
					sum += a[i * 80 + t] * b[t / 2 * 128 + 2 * j + t % 2];
				bad += c[i * 64 + j] != 2 * sum;
			}
	}
	tap_ok(!bad, "%s: 16-bit block product is exact", k->name);
}

int main(int argc, char **argv)
{
	/* With an argument the functions are tried that densely: 1 is every float. */
	uint32_t stride = argc > 1 ? (uint32_t)atoi(argv[1]) : 4099;
	const struct uma_kernels *const *k = mt_kernels(), *portable = *k;
	uint32_t f;

	fesetround(FE_TONEAREST);
	for (f = 1; f < UMA_ACT_COUNT; f++)
		test_function(portable, &ref_acts[f], f, 0, stride);
	for (f = 1; f < UMA_UNARY_COUNT; f++)
		if (portable->unary[f])
			test_function(portable, &ref_unaries[f], 0, f, stride);
	for (; *k; k++) {
		test_halves(*k);
		test_rounding(*k);
		test_quant(*k);
		test_signs(*k);
#if defined(__aarch64__)
		test_gemm_f32(*k, 1);
#else
		test_gemm_f32(*k, *k != portable);
#endif
		test_gemm_s16(*k);
		if (*k != portable)
			test_agree(portable, *k);
	}
	return tap_done();
}
