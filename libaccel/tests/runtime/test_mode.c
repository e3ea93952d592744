// SPDX-License-Identifier: MIT
/*
 * The mode of floating-point arithmetic that a thread comes with changes no result, and
 * is the same afterwards, flags included; nothing traps.
 */
#include <fenv.h>
#include <math.h>

#include "libaccel/core/fpmode.h"
#include "libaccel/tests/ops/samples.h"
#include "rt.h"

#define N	600

#if defined(__x86_64__)
/* Zeros for subnormal numbers, in and out */
#define FLUSH	0x8040u
/* Invalid operations, divisions by zero and overflows trap */
#define TRAPS	0x1900u
#else
#define FLUSH	(1u << 24)
#define TRAPS	0u
#endif

/* [n, n] = [n, n] [n, n], of small multiples, which are exact in every mode. */
static void product(struct rt *rt, uint32_t n, float a, float b, float *out)
{
	const int64_t dims[2] = { n, n };
	const uint64_t bytes = (uint64_t)n * n * sizeof(float);
	struct accel_gemm_desc d = ACCEL_GEMM_DESC_INIT;
	struct accel_bo *bo = rt_bo(rt->ctx, 3 * bytes);
	float *f = accel_bo_ptr(bo);
	uint32_t i;

	for (i = 0; i < n * n; i++) {
		f[i] = a * (float)(1 + i % 7);
		f[n * n + i] = b * (float)(1 + i % 4);
	}
	d.a = accel_tensor_dense(bo, ACCEL_F32, 2, dims);
	d.b = d.a;
	d.b.offset = bytes;
	d.d = d.a;
	d.d.offset = 2 * bytes;
	assert_int_equal(accel_run(rt->ctx, &d.hdr), 0);
	memcpy(out, f + 2 * n * n, bytes);
	accel_bo_unref(bo);
}

/* Subnormal results, by threads that were made by one that has none. */
static void test_made_under(void **state)
{
	static float want[N * N], got[N * N];
	const uint64_t mode = fp_mode_get();
	struct rt rt;

	(void)state;
	rt_open(&rt, rt_name(), rt_is_sw() ? 2 : 0);
	product(&rt, N, ldexpf(1, -80), ldexpf(1, -60), want);
	rt_close(&rt);
	assert_true(want[0] > 0);
	fp_mode_set(mode | FLUSH);
	rt_open(&rt, rt_name(), rt_is_sw() ? 2 : 0);
	fp_mode_set(mode);
	product(&rt, N, ldexpf(1, -80), ldexpf(1, -60), got);
	rt_close(&rt);
	assert_memory_equal(want, got, sizeof(want));
}

static void test_called_under(void **state)
{
	static const int rounding[] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
	static float want[64 * 64], got[64 * 64];
	struct rt *rt = *state;
	uint64_t mode;
	uint32_t i;

	product(rt, 64, ldexpf(5461, -14), ldexpf(0x123456, -20), want);
	for (i = 0; i < ARRAY_SIZE(rounding); i++) {
		assert_int_equal(fesetround(rounding[i]), 0);
		product(rt, 64, ldexpf(5461, -14), ldexpf(0x123456, -20), got);
		assert_int_equal(fegetround(), rounding[i]);
		fesetround(FE_TONEAREST);
		assert_memory_equal(want, got, sizeof(want));
	}
	product(rt, 64, ldexpf(1, -72), ldexpf(1, -62), want);
	mode = fp_mode_get();
	fp_mode_set(mode | FLUSH);
	product(rt, 64, ldexpf(1, -72), ldexpf(1, -62), got);
	assert_int_equal(fp_mode_get() & FLUSH, FLUSH);
	fp_mode_set(mode);
	assert_memory_equal(want, got, sizeof(want));
}

/* An attention whose job is submitted, for the first time, in another rounding. */
static void attend(struct rt *rt, int rounding, float *out)
{
	const int64_t q[] = { 1, 1, 4, 18 }, k[] = { 1, 18, 2, 18 };
	struct accel_attention_desc d = ACCEL_ATTENTION_DESC_INIT;
	struct accel_bo *bo = rt_bo(rt->ctx, 3 * 4096);
	struct accel_queue *queue;
	struct accel_fence *fence;
	struct accel_job *job;
	float *f = accel_bo_ptr(bo);
	uint32_t i;

	for (i = 0; i < 2048; i++)
		f[i] = 0.1f + 0.01f * (float)(i * 37 % 81);
	d.q = accel_tensor_dense(bo, ACCEL_F32, 4, q);
	d.k = accel_tensor_dense(bo, ACCEL_F32, 4, k);
	d.k.offset = 4096;
	d.v = d.k;
	d.d = d.q;
	d.d.offset = 8192;
	assert_int_equal(accel_queue_create(rt->ctx, NULL, &queue), 0);
	assert_int_equal(accel_job_create(rt->ctx, NULL, &job), 0);
	assert_int_equal(accel_job_add_desc(job, NULL, &d.hdr, NULL, 0, NULL), 0);
	assert_int_equal(fesetround(rounding), 0);
	assert_int_equal(accel_queue_submit(queue, job, NULL, &fence), 0);
	assert_int_equal(fegetround(), rounding);
	fesetround(FE_TONEAREST);
	assert_int_equal(accel_fence_wait(fence, -1), 0);
	memcpy(out, f + 2048, 4 * 18 * sizeof(*out));
	accel_fence_unref(fence);
	accel_job_destroy(job);
	accel_queue_destroy(queue);
	accel_bo_unref(bo);
}

static void test_submitted_under(void **state)
{
	static const int rounding[] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
	float want[4 * 18], got[4 * 18];
	struct rt *rt = *state;
	uint32_t i;

	attend(rt, FE_TONEAREST, want);
	for (i = 0; i < ARRAY_SIZE(rounding); i++) {
		attend(rt, rounding[i], got);
		assert_memory_equal(want, got, sizeof(want));
	}
}

static void soft(struct rt *rt, uint32_t n)
{
	const int64_t dims[2] = { 3, n };
	struct accel_softmax_desc d = ACCEL_SOFTMAX_DESC_INIT;
	struct accel_bo *bo = rt_bo(rt->ctx, 4096);
	float *f = accel_bo_ptr(bo);
	uint32_t i;

	for (i = 0; i < 3 * n; i++)
		f[i] = (float)(i % 5) - 2;
	d.a = accel_tensor_dense(bo, ACCEL_F32, 2, dims);
	d.d = d.a;
	d.d.offset = 2048;
	assert_int_equal(accel_run(rt->ctx, &d.hdr), 0);
	assert_true(f[512] > 0 && f[512] <= 1);
	accel_bo_unref(bo);
}

/* Opened and used by a thread that wants exceptions to trap: the library's are its own. */
static void test_traps(void **state)
{
	static const uint32_t lengths[] = { 1, 2, 15, 16, 17, 32 };
	const uint64_t mode = fp_mode_get();
	struct rt rt;
	uint32_t i;

	(void)state;
	/* Not every processor has traps that can be turned on. */
	if (!TRAPS)
		skip();
	fp_mode_set((FP_MODE_DEFAULT & ~0xffffull) | TRAPS);
	rt_open(&rt, rt_name(), rt_is_sw() ? 2 : 0);
	for (i = 0; i < ARRAY_SIZE(lengths); i++)
		soft(&rt, lengths[i]);
	rt_close(&rt);
	assert_int_equal(fp_mode_get() & 0xffc0, TRAPS);
	fp_mode_set(mode);
}

/* Seven tenths of ten are seven, if the product is rounded to nearest. */
static void test_inferred(void **state)
{
	static const int rounding[] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
	const int64_t dims[] = { 10 };
	struct accel_resize_desc d;
	uint32_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rounding); i++) {
		d = (struct accel_resize_desc)ACCEL_RESIZE_DESC_INIT;
		d.a = accel_tensor_dense(NULL, ACCEL_F32, 1, dims);
		d.scale[0] = 0.7;
		assert_int_equal(fesetround(rounding[i]), 0);
		assert_int_equal(accel_infer(&d.hdr, NULL), 0);
		assert_int_equal(fegetround(), rounding[i]);
		fesetround(FE_TONEAREST);
		assert_int_equal(d.d.dims[0], 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made_under),
		cmocka_unit_test_setup_teardown(test_called_under, rt_setup, rt_teardown),
		cmocka_unit_test_setup_teardown(test_submitted_under, rt_setup, rt_teardown),
		cmocka_unit_test(test_traps),
		cmocka_unit_test(test_inferred),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
