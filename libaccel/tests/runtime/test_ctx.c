// SPDX-License-Identifier: MIT
/* Contexts: options, error record, accounts, isolation. */
#include <inttypes.h>
#include "rt.h"

static void test_opts(void **state)
{
	struct accel_ctx_opts opts = { sizeof(opts), 0 };
	struct rt *rt = *state;
	struct accel_ctx *ctx;

	opts.flags = ACCEL_CTX_REPRODUCIBLE << 1;
	assert_int_equal(accel_ctx_create(rt->dev, &opts, &ctx), -EINVAL);
	opts.flags = 0;
	opts.size = 2;
	assert_int_equal(accel_ctx_create(rt->dev, &opts, &ctx), -EINVAL);
	opts.size = sizeof(opts);
	assert_int_equal(accel_ctx_create(rt->dev, &opts, &ctx), 0);
	accel_ctx_destroy(ctx);
	accel_ctx_destroy(NULL);
}

/* Fails on a context by another field than its creator. */
static void *fail_elsewhere(void *arg)
{
	struct accel_error error = ACCEL_ERROR_INIT;
	struct accel_ctx *ctx = arg;
	struct accel_bo *bo;

	error.code = 1;
	if (accel_ctx_get_error(ctx, &error) || error.code)
		return "it has a record without having failed";
	if (accel_bo_import_dmabuf(ctx, -1, NULL, &bo) != -EBADF)
		return "no failure";
	if (accel_ctx_get_error(ctx, &error) || strcmp(error.field, "fd"))
		return "another field";
	return NULL;
}

/* Each thread has its own record, and that of several contexts. */
static void test_threads(void **state)
{
	struct accel_error error = ACCEL_ERROR_INIT;
	struct rt *rt = *state;
	struct accel_ctx *more[5];
	struct accel_bo *bo;
	pthread_t thread;
	void *what;
	int i;

	assert_fails(rt->ctx, accel_bo_create(rt->ctx, 0, NULL, &bo), -EINVAL, "bytes");
	assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, rt->ctx), 0);
	assert_int_equal(pthread_join(thread, &what), 0);
	if (what)
		fail_msg("%s", (const char *)what);
	assert_int_equal(accel_ctx_get_error(rt->ctx, &error), 0);
	assert_string_equal(error.field, "bytes");
	/* The last four contexts, each with its own. */
	for (i = 0; i < 5; i++) {
		assert_int_equal(accel_ctx_create(rt->dev, NULL, &more[i]), 0);
		assert_int_equal(accel_ctx_get_error(more[i], &error), 0);
		assert_int_equal(error.code, 0);
		assert_fails(more[i], i & 1 ? accel_bo_create(more[i], 0, NULL, &bo) :
			     accel_bo_import_dmabuf(more[i], -1, NULL, &bo),
			     i & 1 ? -EINVAL : -EBADF, i & 1 ? "bytes" : "fd");
	}
	assert_int_equal(accel_ctx_get_error(rt->ctx, &error), 0);
	assert_int_equal(error.code, 0);
	for (i = 1; i < 5; i++) {
		assert_int_equal(accel_ctx_get_error(more[i], &error), 0);
		assert_string_equal(error.field, i & 1 ? "bytes" : "fd");
	}
	for (i = 0; i < 5; i++)
		accel_ctx_destroy(more[i]);
}

static void test_error(void **state)
{
	struct accel_error error = ACCEL_ERROR_INIT;
	struct rt *rt = *state;
	struct accel_bo *bo;

	assert_int_equal(accel_ctx_get_error(rt->ctx, &error), 0);
	assert_int_equal(error.code, 0);
	assert_string_equal(error.field, "");
	assert_fails(rt->ctx, accel_bo_create(rt->ctx, 0, NULL, &bo), -EINVAL,
		     "bytes");
	assert_int_equal(accel_ctx_get_error(rt->ctx, &error), 0);
	assert_int_equal(error.op_index, UINT32_MAX);
	/* A call that works leaves it. */
	bo = rt_bo(rt->ctx, 1);
	accel_bo_unref(bo);
	assert_int_equal(accel_ctx_get_error(rt->ctx, &error), 0);
	assert_int_equal(error.code, -EINVAL);
	error.size = 4;
	assert_int_equal(accel_ctx_get_error(rt->ctx, &error), -EINVAL);
}

static void test_memory(void **state)
{
	struct accel_memory_stats stats = { sizeof(stats) };
	struct rt *rt = *state;
	struct accel_bo *a, *b, *c;
	static char mem[100];

	a = rt_bo(rt->ctx, 1000);
	b = rt_bo(rt->ctx, 5000);
	assert_int_equal(accel_bo_import_ptr(rt->ctx, mem, 100, NULL, &c), 0);
	assert_int_equal(accel_ctx_get_memory(rt->ctx, &stats), 0);
	assert_int_equal(stats.bo_count, 3);
	assert_int_equal(stats.bo_bytes, 6000);
	assert_int_equal(stats.bo_bytes_peak, 6000);
	assert_int_equal(stats.imported_bytes, 100);
	accel_bo_unref(b);
	accel_bo_unref(c);
	assert_int_equal(accel_ctx_get_memory(rt->ctx, &stats), 0);
	assert_int_equal(stats.bo_count, 1);
	assert_int_equal(stats.bo_bytes, 1000);
	assert_int_equal(stats.bo_bytes_peak, 6000);
	assert_int_equal(stats.imported_bytes, 0);
	accel_bo_unref(a);
	stats.size = 4;
	assert_int_equal(accel_ctx_get_memory(rt->ctx, &stats), -EINVAL);
}

/* What another context has bound is not there. */
static void test_isolation(void **state)
{
	struct accel_fence_info info = { sizeof(info) };
	struct accel_bo *theirs, *ours;
	struct accel_plan *plan;
	struct accel_binding b;
	struct accel_fence *fence;
	struct rt *rt = *state;
	struct accel_ctx *other;
	struct accel_job *job;

	assert_int_equal(accel_ctx_create(rt->dev, NULL, &other), 0);
	theirs = rt_bo(other, 4096);
	ours = rt_bo(rt->ctx, 4096);
	job = rt_job(rt->ctx, 0);
	plan = rt_fill_plan(rt->ctx, 16, 1, 64);
	b = (struct accel_binding){ ACCEL_ARG_D, 0, theirs, 0 };
	assert_fails(rt->ctx, accel_job_add(job, plan, &b, 1, NULL, 0, NULL),
		     -EINVAL, "bindings[0].bo");

	/* A task that names the address all the same. */
	plan->relocs[0].addend = theirs->addr - ours->addr;
	b.bo = ours;
	assert_int_equal(accel_job_add(job, plan, &b, 1, NULL, 0, NULL), 0);
	fence = rt_submit(rt->queue, job, NULL);
	assert_int_equal(accel_fence_wait(fence, -1), -EFAULT);
	assert_int_equal(accel_fence_get_info(fence, &info), 0);
	assert_string_equal(info.reason, "write");
	assert_true(info.addr == theirs->addr);
	assert_true(rt_floats(theirs)[0] == 0);

	accel_fence_unref(fence);
	accel_job_destroy(job);
	accel_plan_unref(plan);
	accel_bo_unref(ours);
	accel_bo_unref(theirs);
	accel_ctx_destroy(other);
}

/* Objects outlive their context's handle. */
static void test_destroy_first(void **state)
{
	struct rt rt;
	struct accel_bo *bo;
	struct accel_job *job;
	struct accel_fence *fence;

	(void)state;
	rt_open(&rt, rt_name(), 0);
	bo = rt_bo(rt.ctx, 4096);
	job = rt_job(rt.ctx, 0);
	accel_ctx_destroy(rt.ctx);
	accel_device_unref(rt.dev);
	rt_add_fill(job, bo, 0, 4, 3, NULL, 0);
	fence = rt_submit(rt.queue, job, NULL);
	accel_job_destroy(job);
	accel_queue_destroy(rt.queue);
	accel_fence_wait(fence, -1);
	accel_fence_unref(fence);
	accel_bo_unref(bo);
}

static void test_wrong_ctx(void **state)
{
	struct rt *rt = *state;
	struct accel_ctx *other;
	struct accel_job *job;
	struct accel_plan *plan;

	assert_int_equal(accel_ctx_create(rt->dev, NULL, &other), 0);
	job = rt_job(other, 0);
	assert_fails(rt->ctx, accel_queue_submit(rt->queue, job, NULL, NULL),
		     -EINVAL, "job");
	plan = rt_fill_plan(rt->ctx, 1, 1, 4);
	assert_fails(other, accel_job_add(job, plan, NULL, 0, NULL, 0, NULL),
		     -EINVAL, "plan");
	accel_plan_unref(plan);
	accel_job_destroy(job);
	accel_ctx_destroy(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_opts, rt_setup, rt_teardown),
		cmocka_unit_test_setup_teardown(test_error, rt_setup, rt_teardown),
		cmocka_unit_test_setup_teardown(test_threads, rt_setup, rt_teardown),
		cmocka_unit_test_setup_teardown(test_memory, rt_setup, rt_teardown),
		cmocka_unit_test_setup_teardown(test_isolation, rt_setup,
						rt_teardown),
		cmocka_unit_test(test_destroy_first),
		cmocka_unit_test_setup_teardown(test_wrong_ctx, rt_setup,
						rt_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
