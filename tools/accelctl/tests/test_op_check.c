// SPDX-License-Identifier: MIT
/*
 * Verdicts on results that are right and on results that are not.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "op_check.h"

#define N	4

struct fixture {
	struct accel_device *dev;
	struct accel_ctx *ctx;
	struct accel_bo *bo;
};

static int setup(void **state)
{
	static struct fixture f;

	assert_int_equal(accel_device_open("sw", NULL, &f.dev), 0);
	assert_int_equal(accel_ctx_create(f.dev, NULL, &f.ctx), 0);
	assert_int_equal(accel_bo_create(f.ctx, 8192, NULL, &f.bo), 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	accel_bo_unref(f->bo);
	accel_ctx_destroy(f->ctx);
	accel_device_unref(f->dev);
	return 0;
}

/* The verdict on @got as func(@a); fp32, or the result in int8 */
static struct op_verdict judge(struct fixture *f, uint32_t func, const float *a,
			       uint32_t dtype, const void *got)
{
	struct accel_unary_desc desc = ACCEL_UNARY_DESC_INIT;
	const int64_t dims[] = { N };
	struct oracle_result ref = { 0 };
	struct op_verdict v = { 0 };
	char *p = accel_bo_ptr(f->bo);
	uint64_t n;

	desc.func = func;
	desc.a = accel_tensor_dense(f->bo, ACCEL_F32, 1, dims);
	desc.d = accel_tensor_dense(f->bo, dtype, 1, dims);
	desc.d.offset = 4096;
	memcpy(p, a, N * sizeof(*a));
	memcpy(p + 4096, got, N * accel_dtype_bits(dtype) / 8);
	assert_int_equal(oracle_compute(&desc.hdr, 0, &ref), 0);
	assert_int_equal(ref.count, N);
	for (n = 0; n < N; n++)
		op_judge(&desc.d, &ref, n, &v);
	oracle_free(&ref);
	return v;
}

static void test_exact(void **state)
{
	const float a[N] = { -1, 2, -INFINITY, NAN }, right[N] = { 1, 2, INFINITY, NAN };
	const float off[N] = { 1, 2.5f, INFINITY, NAN }, inf[N] = { 1, INFINITY, INFINITY, NAN };
	const float number[N] = { 1, 2, INFINITY, 3 }, nan[N] = { NAN, 2, INFINITY, NAN };
	const float zeros[N] = { 0, 0, 0, 0 }, below[N] = { 0, -0.0f, 0, 0 };
	struct op_verdict v = judge(*state, ACCEL_UNARY_ABS, a, ACCEL_F32, right);

	assert_true(v.ratio == 0 && v.max_abs == 0 && v.differing == 0);
	v = judge(*state, ACCEL_UNARY_ABS, a, ACCEL_F32, off);
	assert_true(v.ratio > 1 && v.max_abs == 0.5 && v.differing == 1);
	assert_true(v.worst.got == 2.5 && v.worst.expect == 2);
	v = judge(*state, ACCEL_UNARY_ABS, a, ACCEL_F32, inf);
	assert_true(v.ratio > 1 && v.differing == 1);
	/* Where NaN belongs a number is wrong */
	v = judge(*state, ACCEL_UNARY_ABS, a, ACCEL_F32, number);
	assert_true(v.ratio > 1 && v.differing == 1);
	/* And where a number belongs NaN is, by any size */
	v = judge(*state, ACCEL_UNARY_ABS, a, ACCEL_F32, nan);
	assert_true(v.ratio > 1 && v.differing == 1 && isinf(v.max_abs));
	/* A zero has a sign */
	v = judge(*state, ACCEL_UNARY_ABS, zeros, ACCEL_F32, below);
	assert_true(v.ratio > 1 && v.differing == 1);
}

static void test_bound(void **state)
{
	const float a[N] = { 0, 1, -1, 2 };
	float got[N];
	struct op_verdict v;
	int i;

	for (i = 0; i < N; i++)
		got[i] = expf(a[i]);
	v = judge(*state, ACCEL_UNARY_EXP, a, ACCEL_F32, got);
	assert_true(v.ratio <= 1);
	got[3] *= 1.001f;
	v = judge(*state, ACCEL_UNARY_EXP, a, ACCEL_F32, got);
	assert_true(v.ratio > 100 && isfinite(v.ratio) && v.differing >= 1);
	assert_true(fabs(v.worst.expect - exp(2)) < 0.000001);
}

static void test_bytes(void **state)
{
	const float a[N] = { 1.4f, -3, 200, -0.6f };
	signed char got[N] = { 1, 3, 127, 1 };
	struct op_verdict v = judge(*state, ACCEL_UNARY_ABS, a, ACCEL_S8, got);

	assert_true(v.ratio <= 1 && v.max_abs == 0 && v.differing == 0);
	got[2] = 126;
	v = judge(*state, ACCEL_UNARY_ABS, a, ACCEL_S8, got);
	assert_true(v.ratio > 1 && v.max_abs == 1 && v.differing == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
