// SPDX-License-Identifier: MIT
/*
 * fp32 products against a library that shares nothing with this one: OpenBLAS.
 * Two results of the same product differ by at most the sum of their bounds.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cblas.h>
#include <cmocka.h>
#include <accel/accel.h>
#include "guest.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static struct accel_device *dev;
static struct accel_ctx *ctx;

static uint64_t rng = 42;

static float number(void)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (float)((double)(rng >> 11) / (1ull << 52) - 1);
}

static float *numbers(int64_t count)
{
	float *p = malloc((size_t)(count + 1) * sizeof(*p));
	int64_t i;

	assert_non_null(p);
	for (i = 0; i < count; i++)
		p[i] = number();
	return p;
}

static struct accel_bo *import(float *p, int64_t count)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_bo *bo;

	if (accel_bo_import_ptr(ctx, p, (uint64_t)count * sizeof(*p), NULL, &bo)) {
		accel_ctx_get_error(ctx, &e);
		fail_msg("import: %s", e.text);
	}
	return bo;
}

static void product(int m, int n, int k, int ta, int tb, float alpha, float beta)
{
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	float *a = numbers((int64_t)m * k), *b = numbers((int64_t)k * n);
	float *d = numbers((int64_t)m * n), *want = numbers((int64_t)m * n);
	/* Magnitudes are below 1: so is each product. Units of 2^-24. */
	double bound = 2 * (fabsf(alpha) * (k + 4.0) * (k + 1.0) + 2 * fabsf(beta)) /
		       (1 << 24);
	struct accel_error e = ACCEL_ERROR_INIT;
	int i;

	memcpy(want, d, (size_t)m * (size_t)n * sizeof(*d));
	g.flags = ACCEL_GEMM_ALPHA | (ta ? ACCEL_GEMM_TRANS_A : 0u) |
		  (tb ? ACCEL_GEMM_TRANS_B : 0u);
	g.alpha = alpha;
	g.beta = beta;
	g.a = ta ? accel_tensor_2d(NULL, ACCEL_F32, k, m) :
		   accel_tensor_2d(NULL, ACCEL_F32, m, k);
	g.b = tb ? accel_tensor_2d(NULL, ACCEL_F32, n, k) :
		   accel_tensor_2d(NULL, ACCEL_F32, k, n);
	g.d = accel_tensor_2d(NULL, ACCEL_F32, m, n);
	g.a.bo = import(a, (int64_t)m * k);
	g.b.bo = import(b, (int64_t)k * n);
	g.d.bo = import(d, (int64_t)m * n);
	if (accel_run(ctx, &g.hdr)) {
		accel_ctx_get_error(ctx, &e);
		fail_msg("%d x %d x %d: %s: %s", m, n, k, e.field, e.text);
	}
	cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans,
		    tb ? CblasTrans : CblasNoTrans, m, n, k, alpha, a, ta ? m : k,
		    b, tb ? k : n, beta, want, n);
	for (i = 0; i < m * n; i++)
		if (!(fabs((double)d[i] - (double)want[i]) <= bound))
			fail_msg("%d x %d x %d, trans %d %d: element %d: %.9g, OpenBLAS %.9g, within %.3g",
				 m, n, k, ta, tb, i, (double)d[i], (double)want[i],
				 bound);
	accel_bo_unref(g.a.bo);
	accel_bo_unref(g.b.bo);
	accel_bo_unref(g.d.bo);
	free(a);
	free(b);
	free(d);
	free(want);
}

static void test_sizes(void **state)
{
	static const int sizes[] = { 1, 2, 7, 16, 31, 64, 65, 128, 130, 257 };
	bool small = test_small();
	uint32_t i, j, l, n = small ? 4 : ARRAY_SIZE(sizes);

	(void)state;
	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			for (l = 0; l < n; l++)
				product(sizes[i], sizes[j], sizes[l], (i + j) & 1,
					(j + l) & 1, l & 1 ? 1 : -0.75f,
					i & 1 ? 0 : 1.5f);
}

static void test_large(void **state)
{
	(void)state;
	if (test_small()) {
		printf("# large sizes are for faster machines\n");
		return;
	}
	product(500, 501, 499, 0, 0, 1, 0);
	product(128, 768, 3072, 0, 1, 1, 0);
	product(1, 4096, 1024, 0, 0, 1, 0);
	product(1000, 3, 1000, 1, 1, 2, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes), cmocka_unit_test(test_large)
	};
	int ret;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	/* Its threads are nobody's business here. */
	openblas_set_num_threads(1);
	if (accel_device_open(test_device("sw"), NULL, &dev) ||
	    accel_ctx_create(dev, NULL, &ctx)) {
		printf("1..0\nBail out! no device\n");
		return 1;
	}
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	return ret ? 1 : 0;
}
