// SPDX-License-Identifier: MIT
/*
 * The ways to compute a convolution: which are told, which is taken, what it
 * says of those that cannot be; how exact Winograd's are; batch normalisation as
 * an epilogue; descriptors that are wrong.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <accel/accel.h>

#include "guest.h"
#include "libaccel/tests/oracle/oracle.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static struct accel_device *dev;
static struct accel_ctx *ctx;

/* --- what is told ------------------------------------------------------------- */

/**
 * struct told - candidates by algorithm
 */
struct told {
	uint32_t chosen;
	uint32_t possible;
	uint32_t refused;
	uint64_t matrix_ns;
	char algorithm[64];
	char field[64];
};

static int count_told(void *user, const struct accel_candidate *c)
{
	struct told *t = user;
	uint32_t i;

	assert_true(c->algorithm[0]);
	assert_true(c->text[0]);
	for (i = 0; i < ACCEL_CONV_ALGORITHM_COUNT; i++)
		if (!strcmp(c->algorithm, accel_conv_algorithm_name(i)))
			break;
	assert_true(i < ACCEL_CONV_ALGORITHM_COUNT);
	t[i].chosen += c->verdict == ACCEL_CHOSEN;
	t[i].possible += c->verdict == ACCEL_POSSIBLE;
	t[i].refused += c->verdict == ACCEL_REFUSED;
	if (c->engine == ACCEL_ENGINE_MATRIX)
		t[i].matrix_ns = c->estimate_ns;
	if (c->field[0])
		memcpy(t[i].field, c->field, sizeof(t[i].field));
	return 0;
}

/* 3 x 3, 64 to 64 channels, 28 x 28 */
static void base(struct accel_conv_desc *d)
{
	const int64_t a[] = { 1, 64, 28, 28 }, b[] = { 64, 64, 3, 3 };

	*d = (struct accel_conv_desc)ACCEL_CONV_DESC_INIT;
	d->a = accel_tensor_dense(NULL, ACCEL_F32, 4, a);
	d->b = accel_tensor_dense(NULL, ACCEL_F32, 4, b);
	d->d = accel_tensor_dense(NULL, ACCEL_F32, 4, a);
	d->pad_before[0] = d->pad_before[1] = 1;
	d->pad_after[0] = d->pad_after[1] = 1;
}

static void explain(const struct accel_conv_desc *d, struct told *t)
{
	memset(t, 0, ACCEL_CONV_ALGORITHM_COUNT * sizeof(*t));
	assert_int_equal(accel_explain(ctx, &d->hdr, count_told, t), 0);
}

static void test_choice(void **state)
{
	struct accel_device_info info = { .size = sizeof(info) };
	struct told t[ACCEL_CONV_ALGORITHM_COUNT];
	struct accel_conv_desc d;
	bool fast;

	(void)state;
	assert_int_equal(accel_device_get_info(dev, &info), 0);
	fast = info.kernels[0] && strcmp(info.kernels, "portable") != 0 &&
	       strncmp(info.kernels, "model", 5) != 0;
	base(&d);
	explain(&d, t);
	assert_int_equal(t[ACCEL_CONV_IMPLICIT].chosen, 1);
	assert_true(t[ACCEL_CONV_DIRECT].possible);
	assert_int_equal(t[ACCEL_CONV_GEMM].chosen + t[ACCEL_CONV_GEMM].possible, 0);
	assert_string_equal(t[ACCEL_CONV_GEMM].field, "conv.b.dims[2]");
	assert_string_equal(t[ACCEL_CONV_WINOGRAD_4].field, "conv.flags");
	/* Constant weights: possible, and taken where that is allowed. */
	d.flags = ACCEL_CONV_PACK_B;
	explain(&d, t);
	assert_int_equal(t[ACCEL_CONV_IMPLICIT].chosen, 1);
	assert_true(t[ACCEL_CONV_WINOGRAD_2].possible);
	assert_true(t[ACCEL_CONV_WINOGRAD_6].possible);
	d.flags |= ACCEL_CONV_WINOGRAD;
	explain(&d, t);
	assert_int_equal(t[ACCEL_CONV_WINOGRAD_4].chosen, 1);
	d.algorithm = ACCEL_CONV_DIRECT;
	explain(&d, t);
	assert_int_equal(t[ACCEL_CONV_DIRECT].chosen, 1);
	d.algorithm = ACCEL_CONV_WINOGRAD_6;
	explain(&d, t);
	assert_int_equal(t[ACCEL_CONV_WINOGRAD_6].chosen, 1);
	/* Weights that a chip would wait for, caches here have: there is no node in process. */
	d.algorithm = ACCEL_CONV_AUTO;
	d.a = d.d = accel_tensor_dense(NULL, ACCEL_F32, 4, (int64_t[]){ 1, 512, 7, 7 });
	d.b = accel_tensor_dense(NULL, ACCEL_F32, 4, (int64_t[]){ 512, 512, 3, 3 });
	explain(&d, t);
	assert_int_equal(t[ACCEL_CONV_WINOGRAD_2].chosen, !*info.path);
	/* Of two that take as long as each other that with less to hold; of many images not. */
	d.a = d.d = accel_tensor_dense(NULL, ACCEL_F32, 4, (int64_t[]){ 1, 256, 14, 14 });
	d.b = accel_tensor_dense(NULL, ACCEL_F32, 4, (int64_t[]){ 256, 256, 3, 3 });
	explain(&d, t);
	assert_int_equal(t[ACCEL_CONV_WINOGRAD_2].chosen, 1);
	d.a.dims[0] = d.d.dims[0] = 8;
	explain(&d, t);
	assert_int_equal(t[ACCEL_CONV_WINOGRAD_4].chosen, 1);
	/* With dilation a tile has outputs that are so far apart, as long as there are enough. */
	base(&d);
	d.flags = ACCEL_CONV_PACK_B | ACCEL_CONV_WINOGRAD;
	d.dilation[0] = d.dilation[1] = 2;
	d.pad_before[0] = d.pad_before[1] = d.pad_after[0] = d.pad_after[1] = 2;
	explain(&d, t);
	assert_int_equal(t[ACCEL_CONV_WINOGRAD_4].chosen, 1);
	d.dilation[0] = d.dilation[1] = 20;
	d.pad_before[0] = d.pad_before[1] = d.pad_after[0] = d.pad_after[1] = 20;
	explain(&d, t);
	assert_true(t[ACCEL_CONV_WINOGRAD_4].possible);
	assert_int_equal(t[ACCEL_CONV_IMPLICIT].chosen, 1);
	/* Images that are one image are not copied for it in process. */
	base(&d);
	d.flags = ACCEL_CONV_PACK_B | ACCEL_CONV_WINOGRAD;
	d.a.dims[0] = d.d.dims[0] = 2048;
	explain(&d, t);
	assert_int_equal(t[ACCEL_CONV_WINOGRAD_4].chosen, 1);
	d.a.flags = ACCEL_TENSOR_STRIDES;
	memcpy(d.a.strides, (int64_t[]){ 0, 28 * 28, 28, 1 }, 4 * sizeof(int64_t));
	explain(&d, t);
	assert_int_equal(t[ACCEL_CONV_WINOGRAD_4].chosen, !fast);
	assert_int_equal(t[ACCEL_CONV_IMPLICIT].chosen, fast);
	/* A stride. */
	base(&d);
	d.flags = ACCEL_CONV_PACK_B | ACCEL_CONV_WINOGRAD;
	d.stride[0] = d.stride[1] = 2;
	d.d.dims[2] = d.d.dims[3] = 14;
	explain(&d, t);
	assert_int_equal(t[ACCEL_CONV_IMPLICIT].chosen, 1);
	assert_string_equal(t[ACCEL_CONV_WINOGRAD_2].field, "conv.stride[0]");
	/* 1 by 1: a GEMM where channels lie side by side. */
	base(&d);
	memset(d.pad_before, 0, sizeof(d.pad_before));
	memset(d.pad_after, 0, sizeof(d.pad_after));
	d.b.dims[2] = d.b.dims[3] = 1;
	explain(&d, t);
	assert_int_equal(t[ACCEL_CONV_IMPLICIT].chosen, 1);
	assert_true(t[ACCEL_CONV_GEMM].possible);
	d.flags = ACCEL_CONV_NHWC;
	d.a = d.d = accel_tensor_dense(NULL, ACCEL_F32, 4, (int64_t[]){ 1, 28, 28, 64 });
	explain(&d, t);
	assert_int_equal(t[ACCEL_CONV_GEMM].chosen, 1);
	/* Depthwise. */
	base(&d);
	d.groups = 64;
	d.b.dims[1] = 1;
	explain(&d, t);
	assert_int_equal(t[ACCEL_CONV_DIRECT].chosen, 1);
	assert_string_equal(t[ACCEL_CONV_GEMM].field, "conv.groups");
}

/* The algorithm with the smallest estimate on the matrix unit of @chip, of those allowed */
static uint32_t cheapest(const char *chip, struct accel_conv_desc *d)
{
	struct told t[ACCEL_CONV_ALGORITHM_COUNT] = { 0 };
	struct accel_device *other;
	struct accel_ctx *on;
	uint32_t i, best = ACCEL_CONV_IMPLICIT;

	d->hdr.engine = ACCEL_ENGINE_MATRIX;
	assert_int_equal(accel_device_open(chip, NULL, &other), 0);
	assert_int_equal(accel_ctx_create(other, NULL, &on), 0);
	assert_int_equal(accel_explain(on, &d->hdr, count_told, t), 0);
	for (i = ACCEL_CONV_WINOGRAD_2; i <= ACCEL_CONV_WINOGRAD_4; i++)
		if (t[i].matrix_ns < t[best].matrix_ns)
			best = i;
	accel_ctx_destroy(on);
	accel_device_unref(other);
	return best;
}

/*
 * A chip is priced by its own rates: one with six times the memory bandwidth reads the larger
 * weights of Winograd's algorithm while it multiplies less, for few tiles as well.
 */
static void test_chips(void **state)
{
	struct accel_conv_desc d;

	(void)state;
	base(&d);
	d.flags = ACCEL_CONV_PACK_B | ACCEL_CONV_WINOGRAD;
	d.a = d.d = accel_tensor_dense(NULL, ACCEL_F32, 4, (int64_t[]){ 1, 512, 6, 6 });
	d.b = accel_tensor_dense(NULL, ACCEL_F32, 4, (int64_t[]){ 512, 512, 3, 3 });
	assert_int_equal(cheapest("sw:m1", &d), ACCEL_CONV_IMPLICIT);
	assert_int_equal(cheapest("sw:ultra", &d), ACCEL_CONV_WINOGRAD_2);
}

/* --- how exact Winograd's are ---------------------------------------------------- */

static float *tensor(struct accel_tensor *t)
{
	uint64_t bytes;

	assert_int_equal(accel_tensor_bytes(t, &bytes), 0);
	assert_int_equal(accel_bo_create(ctx, bytes, NULL, &t->bo), 0);
	return accel_bo_ptr(t->bo);
}

static void fill(float *p, uint64_t n, uint32_t *seed)
{
	while (n--) {
		*seed = *seed * 1664525 + 1013904223;
		*p++ = (float)(*seed >> 8) / (1 << 23) - 1;
	}
}

/* Output (m, y, x) in binary64, with taps @gap apart and as much padding. */
static double exact(const float *a, const float *b, int64_t c, int64_t size, int64_t gap, int64_t m,
		    int64_t y, int64_t x)
{
	int64_t i, ky, kx;
	double sum = 0;

	for (i = 0; i < c; i++)
		for (ky = 0; ky < 3; ky++)
			for (kx = 0; kx < 3; kx++) {
				int64_t iy = y + (ky - 1) * gap, ix = x + (kx - 1) * gap;

				if (iy >= 0 && ix >= 0 && iy < size && ix < size)
					sum += (double)a[(i * size + iy) * size + ix] *
					       b[((m * c + i) * 3 + ky) * 3 + kx];
			}
	return sum;
}

/*
 * Inputs and weights between -1 and 1, uniformly; errors in units of 2^-24 times
 * the standard deviation of an output. Documentation/numerics.rst tells what was
 * seen, the limits are about twice that.
 */
static void test_error(void **state)
{
	static const struct {
		uint32_t algorithm;
		double limit;
	} rows[] = {
		{ ACCEL_CONV_DIRECT, 140 }, { ACCEL_CONV_IMPLICIT, 140 },
		{ ACCEL_CONV_WINOGRAD_2, 45 }, { ACCEL_CONV_WINOGRAD_4, 1000 },
		{ ACCEL_CONV_WINOGRAD_6, 1500 },
	};
	int64_t c = test_small() ? 8 : 64, m = test_small() ? 4 : 32, size = 18, i, y, x;
	uint32_t seed = 1, j;
	struct accel_conv_desc d;
	float *a, *b, *out;
	double unit;

	(void)state;
	base(&d);
	d.a.dims[1] = d.b.dims[1] = c;
	d.b.dims[0] = d.d.dims[1] = m;
	d.a.dims[2] = d.a.dims[3] = d.d.dims[2] = d.d.dims[3] = size;
	a = tensor(&d.a);
	b = tensor(&d.b);
	out = tensor(&d.d);
	fill(a, (uint64_t)(c * size * size), &seed);
	fill(b, (uint64_t)(m * c * 9), &seed);
	d.flags = ACCEL_CONV_PACK_B;
	/* 9 c products of variance 1/9. */
	unit = sqrt((double)c) / (1 << 24);
	for (j = 0; j < ARRAY_SIZE(rows); j++) {
		double worst = 0, squares = 0;

		d.algorithm = rows[j].algorithm;
		assert_int_equal(accel_run(ctx, &d.hdr), 0);
		for (i = 0; i < m; i++)
			for (y = 0; y < size; y++)
				for (x = 0; x < size; x++) {
					double e = oracle_apart(out[(i * size + y) * size + x],
								exact(a, b, c, size, 1, i, y, x));

					worst = fmax(worst, e);
					squares += e * e;
				}
		printf("# %s: largest error %.1f units, root mean square %.2f\n",
		       accel_conv_algorithm_name(d.algorithm), worst / unit,
		       sqrt(squares / (double)(m * size * size)) / unit);
		assert_true(worst / unit < rows[j].limit);
	}
	accel_bo_unref(d.a.bo);
	accel_bo_unref(d.b.bo);
	accel_bo_unref(d.d.bo);
}

/* A tensor of @dtype; the numbers @x, @n of them, are converted exactly. */
static void tensor_of(struct accel_tensor *t, uint32_t dtype, const float *x, uint32_t n)
{
	uint32_t i;
	float *p;

	t->dtype = dtype;
	p = tensor(t);
	for (i = 0; i < n; i++) {
		if (dtype == ACCEL_F32)
			p[i] = x[i];
		else if (dtype == ACCEL_F16)
			((uint16_t *)(void *)p)[i] = oracle_f16_bits((double)x[i]);
		else
			memcpy((uint16_t *)(void *)p + i, (const uint8_t *)&x[i] + 2, 2);
	}
}

/* Small integers, multiples of @unit */
static float *integers(struct accel_tensor *t, uint32_t n, uint32_t dtype, uint32_t range,
		       float unit, uint32_t *seed)
{
	float *x = malloc(n * sizeof(*x));
	uint32_t i;

	assert_non_null(x);
	for (i = 0; i < n; i++) {
		*seed = *seed * 1664525 + 1013904223;
		x[i] = unit * ((float)((*seed >> 8) % (2 * range + 1)) - (float)range);
	}
	tensor_of(t, dtype, x, n);
	return x;
}

/*
 * Weights that are multiples of what the transforms divide by: F(2x2) and F(4x4) compute integers
 * only. The quarters of F(6x6) do not fit into 24 bits beside its sums; an output is a multiple of
 * the unit, and what is lost is less than half a part in ten thousand of it.
 */
static void test_integers(void **state)
{
	static const struct {
		uint32_t algorithm, dtype;
		float unit;
		int64_t c, size;
		uint32_t gap;
		double limit;
	} cases[] = {
		{ ACCEL_CONV_WINOGRAD_2, ACCEL_F32, 4, 50, 9, 1, 0 },
		{ ACCEL_CONV_WINOGRAD_2, ACCEL_BF16, 4, 50, 9, 1, 0 },
		{ ACCEL_CONV_WINOGRAD_2, ACCEL_F16, 4, 20, 9, 1, 0 },
		{ ACCEL_CONV_WINOGRAD_2, ACCEL_F32, 4, 3, 33, 16, 0 },
		{ ACCEL_CONV_WINOGRAD_4, ACCEL_F32, 576, 50, 9, 1, 0 },
		{ ACCEL_CONV_WINOGRAD_4, ACCEL_BF16, 576, 50, 9, 1, 0 },
		{ ACCEL_CONV_WINOGRAD_4, ACCEL_F16, 576, 20, 9, 1, 0 },
		{ ACCEL_CONV_WINOGRAD_4, ACCEL_F32, 576, 20, 17, 3, 0 },
		{ ACCEL_CONV_WINOGRAD_6, ACCEL_F32, 8100, 5, 13, 1, 0.5 },
		{ ACCEL_CONV_WINOGRAD_6, ACCEL_F32, 8100, 5, 20, 2, 0.5 },
	};
	const int64_t m = 19;
	uint32_t seed = 7, j;

	(void)state;
	for (j = 0; j < ARRAY_SIZE(cases); j++) {
		const int64_t c = cases[j].c, size = cases[j].size;
		double worst = 0, most = 0;
		struct accel_conv_desc d;
		float *a, *b, *out;
		int64_t i, y, x;

		base(&d);
		d.algorithm = cases[j].algorithm;
		d.flags = ACCEL_CONV_PACK_B;
		d.a.dims[1] = d.b.dims[1] = c;
		d.b.dims[0] = d.d.dims[1] = m;
		d.a.dims[2] = d.a.dims[3] = d.d.dims[2] = d.d.dims[3] = size;
		for (i = 0; i < 2; i++)
			d.dilation[i] = d.pad_before[i] = d.pad_after[i] = cases[j].gap;
		a = integers(&d.a, (uint32_t)(c * size * size), cases[j].dtype, 2, 1, &seed);
		b = integers(&d.b, (uint32_t)(m * c * 9), cases[j].dtype, 1, cases[j].unit, &seed);
		out = tensor(&d.d);
		assert_int_equal(accel_run(ctx, &d.hdr), 0);
		for (i = 0; i < m; i++)
			for (y = 0; y < size; y++)
				for (x = 0; x < size; x++) {
					double want = exact(a, b, c, size, cases[j].gap, i, y, x);
					double got = out[(i * size + y) * size + x];

					worst = fmax(worst, oracle_apart(got, want));
					most = fmax(most, fabs(want));
				}
		printf("# %s, %s, dilation %u: largest error %g of %g\n",
		       accel_conv_algorithm_name(d.algorithm), accel_dtype_name(cases[j].dtype),
		       cases[j].gap, worst, most);
		assert_true(worst <= cases[j].limit);
		accel_bo_unref(d.a.bo);
		accel_bo_unref(d.b.bo);
		accel_bo_unref(d.d.bo);
		free(a);
		free(b);
	}
}

/*
 * Each input of a tile alone by each tap alone: a convolution is bilinear, so these are all numbers
 * of the transforms, and every product of them is exact.
 */
static void test_impulses(void **state)
{
	static const float units[] = { 4, 576, 8100 };
	uint32_t dtype, points, i, j, k;
	int64_t edge, size;

	(void)state;
	for (i = 0; i < 3 * ARRAY_SIZE(units); i++) {
		struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;
		float a[64 * 64] = { 0 }, b[9 * 9] = { 0 };
		const float *out;

		edge = 2 + 2 * (i / 3);
		size = edge + 2;
		points = (uint32_t)(size * size);
		dtype = ACCEL_F32 + i % 3;
		if (edge == 6 && dtype != ACCEL_F32)
			continue;
		for (j = 0; j < points; j++)
			a[j * points + j] = 1;
		for (j = 0; j < 9; j++)
			b[j * 9 + j] = units[i / 3];
		d.algorithm = ACCEL_CONV_WINOGRAD_2 + i / 3;
		d.flags = ACCEL_CONV_PACK_B;
		d.a = accel_tensor_dense(NULL, dtype, 4, (int64_t[]){ points, 1, size, size });
		d.b = accel_tensor_dense(NULL, dtype, 4, (int64_t[]){ 9, 1, 3, 3 });
		d.d = accel_tensor_dense(NULL, ACCEL_F32, 4, (int64_t[]){ points, 9, edge, edge });
		tensor_of(&d.a, dtype, a, points * points);
		tensor_of(&d.b, dtype, b, 81);
		out = tensor(&d.d);
		assert_int_equal(accel_run(ctx, &d.hdr), 0);
		for (j = 0; j < points; j++)
			for (k = 0; k < 9 * edge * edge; k++) {
				int64_t tap = k / edge / edge, y = k / edge % edge;
				bool meet = (y + tap / 3) * size + k % edge + tap % 3 == j;
				double got = out[j * 9 * edge * edge + k];

				/* Of three types an algorithm */
				if (oracle_apart(got, meet ? units[i / 3] : 0))
					fail_msg("case %u: input %u, output %u: %g", i, j, k, got);
			}
		accel_bo_unref(d.a.bo);
		accel_bo_unref(d.b.bo);
		accel_bo_unref(d.d.bo);
	}
}

/* --- batch normalisation ------------------------------------------------------------ */

static void test_batch_norm(void **state)
{
	const float gamma[] = { 1, 2, -0.5f }, beta[] = { 0, 1, 2 }, mean[] = { 0.5f, -1, 0 };
	const float var[] = { 1, 0.25f, 4 }, bias[] = { 3, -1, 0.5f };
	struct accel_batch_norm bn = {
		.size = sizeof(bn), .channels = 3, .gamma = gamma, .beta = beta,
		.mean = mean, .var = var, .epsilon = 0.001f, .bias = bias,
	};
	float scale[3], shift[3];
	uint32_t i;

	(void)state;
	assert_int_equal(accel_fold_batch_norm(&bn, scale, shift), 0);
	for (i = 0; i < 3; i++) {
		double s = gamma[i] / sqrt(var[i] + 0.001), x = 1.75;

		assert_true(fabs(scale[i] - s) < 0.000001);
		assert_true(fabs(x * scale[i] + shift[i] -
				 (s * (x + bias[i] - mean[i]) + beta[i])) < 0.00001);
	}
	/* Without what may be left out. */
	bn.gamma = bn.beta = bn.bias = NULL;
	assert_int_equal(accel_fold_batch_norm(&bn, scale, shift), 0);
	for (i = 0; i < 3; i++)
		assert_true(fabs(shift[i] + mean[i] / sqrt(var[i] + 0.001)) < 0.000001);
	bn.epsilon = -2;
	assert_int_equal(accel_fold_batch_norm(&bn, scale, shift), -EINVAL);
	bn.epsilon = NAN;
	assert_int_equal(accel_fold_batch_norm(&bn, scale, shift), -EINVAL);
	bn.epsilon = 0;
	bn.var = NULL;
	assert_int_equal(accel_fold_batch_norm(&bn, scale, shift), -EINVAL);
	bn.var = var;
	bn.size = 4;
	assert_int_equal(accel_fold_batch_norm(&bn, scale, shift), -EINVAL);
}

/* --- descriptors that are wrong -------------------------------------------------------- */

/**
 * struct row - a change, and the field that must be named
 */
struct row {
	int line;
	const char *field;
	struct {
		uint16_t offset, size;
		uint64_t value;
	} poke[3];
};

#define P(f, v)	{ offsetof(struct accel_conv_desc, f), \
		  sizeof(((struct accel_conv_desc *)0)->f), (uint64_t)(v) }
#define BAD(field, ...)	{ __LINE__, field, { __VA_ARGS__ } }

static const struct row rows[] = {
	BAD("conv.flags", P(flags, 1u << 4)),
	BAD("conv.algorithm", P(algorithm, ACCEL_CONV_ALGORITHM_COUNT)),
	BAD("conv.algorithm", P(algorithm, ACCEL_CONV_GEMM)),
	BAD("conv.algorithm", P(algorithm, ACCEL_CONV_WINOGRAD_2)),
	BAD("conv.algorithm", P(algorithm, ACCEL_CONV_WINOGRAD_2),
	    P(flags, ACCEL_CONV_PACK_B | ACCEL_CONV_TRANSPOSED)),
	BAD("conv.pad", P(pad, 1)),
	BAD("conv.stride[0]", P(stride[0], 65537)),
	BAD("conv.stride[1]", P(stride[1], 1u << 31)),
	BAD("conv.dilation[0]", P(dilation[0], 65537)),
	BAD("conv.pad_before[1]", P(pad_before[1], 65537)),
	BAD("conv.pad_after[0]", P(pad_after[0], ~0u)),
	BAD("conv.a.rank", P(a.rank, 5), P(a.dims[4], 1)),
	BAD("conv.a.rank", P(a.rank, 0)),
	BAD("conv.b.rank", P(b.rank, 3), P(b.dims[3], 0)),
	BAD("conv.d.rank", P(d.rank, 3), P(d.dims[3], 0)),
	BAD("conv.d.dims[0]", P(d.dims[0], 2)),
	BAD("conv.a.dims[1]", P(groups, 3)),
	BAD("conv.d.dims[1]", P(groups, 64), P(d.dims[1], 65)),
	BAD("conv.b.dims[0]", P(b.dims[0], 63)),
	BAD("conv.b.dims[1]", P(b.dims[1], 63)),
	BAD("conv.b.dims[1]", P(groups, 2)),
	BAD("conv.b.dims[2]", P(b.dims[2], 0)),
	BAD("conv.d.dims[2]", P(d.dims[2], 27)),
	BAD("conv.d.dims[3]", P(pad_after[1], 0)),
	BAD("conv.d.dims[2]", P(stride[0], 2)),
	BAD("conv.d.dims[3]", P(flags, ACCEL_CONV_TRANSPOSED), P(d.dims[3], 29)),
	BAD("conv.d.dims[3]", P(flags, ACCEL_CONV_TRANSPOSED), P(d.dims[3], 27)),
	BAD("conv.a.dtype", P(a.dtype, ACCEL_S32)),
	BAD("conv.b.dtype", P(b.dtype, ACCEL_F16)),
	BAD("conv.b.dtype", P(b.dtype, ACCEL_U8)),
	BAD("conv.b.quant.scheme", P(b.dtype, ACCEL_S8)),
	BAD("conv.d.dtype", P(d.dtype, ACCEL_S8)),
	BAD("conv.d.strides[0]", P(d.strides[0], 1)),
	BAD("conv.epilogue.act", P(epilogue.act, ACCEL_ACT_COUNT)),
	BAD("conv.epilogue.bias.dims[0]", P(epilogue.bias.rank, 1),
	    P(epilogue.bias.dtype, ACCEL_F32), P(epilogue.bias.dims[0], 28)),
};

static void poke(struct accel_conv_desc *d, const struct row *r)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(r->poke); i++)
		memcpy((char *)d + r->poke[i].offset, &r->poke[i].value, r->poke[i].size);
}

static void test_wrong(void **state)
{
	struct accel_plan *plan = NULL;
	struct accel_error e;
	struct accel_conv_desc d;
	uint32_t i;
	int ret;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		e = (struct accel_error)ACCEL_ERROR_INIT;
		base(&d);
		poke(&d, &rows[i]);
		ret = accel_plan_create(ctx, &d.hdr, &plan);
		accel_ctx_get_error(ctx, &e);
		if (ret != -EINVAL || strcmp(e.field, rows[i].field) != 0 || !e.text[0])
			fail_msg("line %d: %d, %s: %s", rows[i].line, ret, e.field, e.text);
	}
}

/* --- channels first -------------------------------------------------------------- */

/* Bytes of A, B, D and a residual */
static uint8_t bytes[4][1 << 16];

/* Run @d with a level of kernels; false: the processor does not have it. */
static bool run_by(const char *level, struct accel_conv_desc *d, float *bias)
{
	struct accel_tensor *const t[] = { &d->a, &d->b, &d->d, &d->epilogue.residual };
	struct accel_tensor *const vec = &d->epilogue.bias;
	struct accel_device *other;
	struct accel_ctx *on;
	uint32_t i;
	int ret;

	setenv("ACCEL_SW_KERNELS", level, 1);
	ret = accel_device_open("sw", NULL, &other);
	unsetenv("ACCEL_SW_KERNELS");
	if (ret)
		return false;
	assert_int_equal(accel_ctx_create(other, NULL, &on), 0);
	for (i = 0; i < ARRAY_SIZE(t) && t[i]->rank; i++)
		assert_int_equal(accel_bo_import_ptr(on, bytes[i], 1 << 16, NULL, &t[i]->bo), 0);
	assert_int_equal(accel_bo_import_ptr(on, bias, 96 * sizeof(*bias), NULL, &vec->bo), 0);
	assert_int_equal(accel_run(on, &d->hdr), 0);
	while (i--)
		accel_bo_unref(t[i]->bo);
	accel_bo_unref(vec->bo);
	accel_ctx_destroy(on);
	accel_device_unref(other);
	return true;
}

/* Bytes of every level are those of the model, whatever is transposed. */
static void test_channels_first(void **state)
{
	static const char *const levels[] = {
		"avx2", "avx512", "avx512-vnni", "avx512-bf16", "amx"
	};
	static const int64_t shapes[][4] = {
		/* channels, outputs, pixels along a side, taps along a side */
		{ 64, 96, 13, 1 }, { 17, 33, 9, 3 }, { 16, 64, 30, 1 }, { 32, 80, 3, 1 },
	};
	static uint8_t want[1 << 16];
	static float bias[96];
	struct accel_conv_desc d;
	uint32_t seed = 7, i, l;
	size_t n;

	(void)state;
	for (i = 0; i < sizeof(bytes); i++) {
		seed = seed * 1664525 + 1013904223;
		bytes[i >> 16][i & 0xffff] = (uint8_t)(seed >> 24);
	}
	fill(bias, ARRAY_SIZE(bias), &seed);
	for (i = 0; i < 3 * ARRAY_SIZE(shapes); i++) {
		const int64_t *s = shapes[i / 3];
		const struct accel_quant q = { .scheme = ACCEL_QUANT_TENSOR, .scale = 0.02f,
					       .zero = 3 };

		base(&d);
		d.flags = ACCEL_CONV_PACK_B;
		d.a = accel_tensor_dense(NULL, ACCEL_U8, 4, (int64_t[]){ 1, s[0], s[2], s[2] });
		d.b = accel_tensor_dense(NULL, ACCEL_S8, 4, (int64_t[]){ s[1], s[0], s[3], s[3] });
		d.d = accel_tensor_dense(NULL, ACCEL_U8, 4, (int64_t[]){ 1, s[1], s[2], s[2] });
		d.pad_before[0] = d.pad_before[1] = (uint32_t)s[3] / 2;
		d.pad_after[0] = d.pad_after[1] = (uint32_t)s[3] / 2;
		d.a.quant = d.d.quant = q;
		d.b.quant = (struct accel_quant){ .scheme = ACCEL_QUANT_TENSOR, .scale = 0.0005f };
		d.epilogue.bias = accel_tensor_dense(NULL, ACCEL_F32, 1, &s[1]);
		if (i % 3)
			d.epilogue.residual = d.d;
		if (i % 3 == 1)
			d.epilogue.residual.dtype = ACCEL_S8;
		d.epilogue.act = ACCEL_ACT_RELU;
		n = (size_t)(s[1] * s[2] * s[2]);
		assert_true(run_by("portable", &d, bias));
		memcpy(want, bytes[2], n);
		for (l = 0; l < ARRAY_SIZE(levels); l++) {
			memset(bytes[2], 0, n);
			if (run_by(levels[l], &d, bias) && memcmp(bytes[2], want, n) != 0)
				fail_msg("%s: shape %u differs", levels[l], i / 3);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choice), cmocka_unit_test(test_chips),
		cmocka_unit_test(test_error), cmocka_unit_test(test_integers),
		cmocka_unit_test(test_impulses), cmocka_unit_test(test_batch_norm),
		cmocka_unit_test(test_wrong), cmocka_unit_test(test_channels_first),
	};
	int ret;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (accel_device_open(test_device("sw:full"), NULL, &dev) ||
	    accel_ctx_create(dev, NULL, &ctx)) {
		printf("1..0\nBail out! no device\n");
		return 1;
	}
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	return ret;
}
