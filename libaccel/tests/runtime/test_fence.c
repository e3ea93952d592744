// SPDX-License-Identifier: MIT
/* Fences: waiting, polling, descriptors in and out. */
#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include "rt.h"

static int readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1 && p.revents & POLLIN;
}

static void test_wait(void **state)
{
	struct accel_fence_info info = { sizeof(info) };
	struct rt *rt = *state;
	struct accel_job *job = rt_job(rt->ctx, 0);
	struct accel_fence *fence;
	struct rt_gate gate;

	fence = rt_submit(rt->queue, job, NULL);
	assert_int_equal(accel_fence_wait(fence, -1), 0);
	assert_int_equal(accel_fence_wait(fence, 0), 0);
	assert_int_equal(accel_fence_wait(fence, 1000), 0);
	assert_int_equal(accel_fence_get_info(fence, &info), 0);
	assert_int_equal(info.done, 1);
	assert_int_equal(info.status, 0);
	assert_int_equal(info.op_index, UINT32_MAX);
	assert_string_equal(info.text, "");
	info.size = 8;
	assert_int_equal(accel_fence_get_info(fence, &info), -EINVAL);
	assert_ptr_equal(accel_fence_ref(fence), fence);
	accel_fence_unref(fence);
	accel_fence_unref(fence);
	accel_fence_unref(NULL);

	if (rt_is_sw()) {
		gate = rt_gate(rt->ctx);
		fence = rt_submit(rt->queue, job, gate.fence);
		assert_int_equal(accel_fence_wait(fence, 0), -ETIMEDOUT);
		assert_int_equal(accel_fence_wait(fence, 1000000), -ETIMEDOUT);
		info.size = sizeof(info);
		assert_int_equal(accel_fence_get_info(fence, &info), 0);
		assert_int_equal(info.done, 0);
		rt_gate_open(&gate);
		assert_int_equal(accel_fence_wait(fence, INT64_MAX), 0);
		accel_fence_unref(fence);
		rt_gate_close(&gate);
	}
	accel_job_destroy(job);
}

static void test_export(void **state)
{
	struct rt *rt = *state;
	struct accel_job *job = rt_job(rt->ctx, 0);
	struct accel_fence *fence;
	struct rt_gate gate;
	int a, b, c;

	/* Signalled already. */
	fence = rt_submit(rt->queue, job, NULL);
	assert_int_equal(accel_fence_wait(fence, -1), 0);
	assert_int_equal(accel_fence_export_fd(fence, &a), 0);
	assert_true(readable(a, 0));
	assert_true(fcntl(a, F_GETFD) & FD_CLOEXEC);
	close(a);
	accel_fence_unref(fence);

	if (rt_is_sw()) {
		gate = rt_gate(rt->ctx);
		fence = rt_submit(rt->queue, job, gate.fence);
		assert_int_equal(accel_fence_export_fd(fence, &a), 0);
		assert_int_equal(accel_fence_export_fd(fence, &b), 0);
		assert_int_equal(accel_fence_export_fd(fence, &c), 0);
		close(c);
		assert_false(readable(a, 0));
		/* It outlives the fence. */
		accel_fence_unref(fence);
		rt_gate_open(&gate);
		assert_true(readable(a, -1));
		assert_true(readable(b, -1));
		close(a);
		close(b);
		rt_gate_close(&gate);
	}
	accel_job_destroy(job);
}

/* A fence of one context, as a descriptor, for another. */
static void test_import_own(void **state)
{
	struct rt *rt = *state, other;
	struct accel_job *job, *theirs;
	struct accel_fence *fence, *imported, *after;
	struct accel_bo *bo;
	int fd;

	rt_open(&other, rt_name(), 0);
	bo = rt_bo(rt->ctx, 4096);
	job = rt_job(rt->ctx, 0);
	rt_add_fill(job, bo, 0, 1024, 1, NULL, 0);
	theirs = rt_job(other.ctx, 0);
	fence = rt_submit(rt->queue, job, NULL);
	assert_int_equal(accel_fence_export_fd(fence, &fd), 0);
	assert_int_equal(accel_fence_import_fd(other.ctx, fd, &imported), 0);
	close(fd);
	after = rt_submit(other.queue, theirs, imported);
	assert_int_equal(accel_fence_wait(after, -1), 0);
	assert_int_equal(accel_fence_wait(imported, 0), 0);
	assert_int_equal(accel_fence_wait(fence, 0), 0);
	accel_fence_unref(after);
	accel_fence_unref(imported);
	accel_fence_unref(fence);
	accel_job_destroy(job);
	accel_job_destroy(theirs);
	accel_bo_unref(bo);
	rt_close(&other);
}

static void test_import_errors(void **state)
{
	struct rt *rt = *state;
	struct accel_fence *fence;
	int fd;

	assert_fails(rt->ctx, accel_fence_import_fd(rt->ctx, -1, &fence), -EBADF,
		     "fd");
	assert_fails(rt->ctx, accel_fence_import_fd(rt->ctx, 1000000, &fence),
		     rt_is_sw() ? -EBADF : -EINVAL, "fd");
	if (rt_is_sw())
		return;
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_fails(rt->ctx, accel_fence_import_fd(rt->ctx, fd, &fence), -EINVAL,
		     "fd");
	close(fd);
}

/* In process anything that polls readable will do. */
static void test_import_any(void **state)
{
	struct rt *rt = *state;
	struct accel_job *job;
	struct accel_fence *in, *out, *never;
	int p[2], fd;

	if (!rt_is_sw())
		skip();
	job = rt_job(rt->ctx, 0);
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	assert_int_equal(accel_fence_import_fd(rt->ctx, p[0], &in), 0);
	/* One that nobody will ever signal is no trouble. */
	assert_int_equal(accel_fence_import_fd(rt->ctx, p[0], &never), 0);
	out = rt_submit(rt->queue, job, in);
	assert_int_equal(accel_fence_wait(in, 1000), -ETIMEDOUT);
	assert_int_equal(accel_fence_wait(out, 1000), -ETIMEDOUT);
	assert_int_equal(write(p[1], "x", 1), 1);
	assert_int_equal(accel_fence_wait(out, -1), 0);
	assert_int_equal(accel_fence_wait(in, 0), 0);
	accel_fence_unref(in);
	accel_fence_unref(out);
	accel_fence_unref(never);
	close(p[0]);
	close(p[1]);

	/* A regular file is always readable. */
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(accel_fence_import_fd(rt->ctx, fd, &in), 0);
	assert_int_equal(accel_fence_wait(in, 0), 0);
	accel_fence_unref(in);
	close(fd);

	/* Nobody waits for it any more before it comes. */
	fd = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(accel_fence_import_fd(rt->ctx, fd, &never), 0);
	accel_fence_unref(never);
	close(fd);
	accel_job_destroy(job);
}

static void *waiter(void *arg)
{
	return (void *)(intptr_t)accel_fence_wait(arg, -1);
}

static void test_many_waiters(void **state)
{
	enum { N = 6 };
	struct rt *rt = *state;
	struct accel_fence *fence;
	pthread_t thread[N];
	struct accel_job *job;
	struct rt_gate gate;
	void *ret;
	int i;

	if (!rt_is_sw())
		skip();
	gate = rt_gate(rt->ctx);
	job = rt_job(rt->ctx, 0);
	fence = rt_submit(rt->queue, job, gate.fence);
	for (i = 0; i < N; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, waiter, fence), 0);
	rt_gate_open(&gate);
	for (i = 0; i < N; i++) {
		assert_int_equal(pthread_join(thread[i], &ret), 0);
		assert_null(ret);
	}
	accel_fence_unref(fence);
	accel_job_destroy(job);
	rt_gate_close(&gate);
}

/* A task that the model refuses: the reason and the operation are told. */
static void test_refused_task(void **state)
{
	struct accel_fence_info info = { sizeof(info) };
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 4096);
	struct accel_plan *plan = rt_fill_plan(rt->ctx, 4, 1, 16);
	struct accel_binding b = { ACCEL_ARG_D, 0, bo, 0 };
	struct accel_job *job = rt_job(rt->ctx, 0);
	struct accel_fence *fence;

	rt_add_fill(job, bo, 64, 4, 3, NULL, 0);
	rt_add_fill(job, bo, 128, 4, 3, NULL, 0);
	plan->tasks[0].version = htole16(999);
	assert_int_equal(accel_job_add(job, plan, &b, 1, NULL, 0, NULL), 0);
	fence = rt_submit(rt->queue, job, NULL);
	assert_int_equal(accel_fence_wait(fence, -1), -EFAULT);
	assert_int_equal(accel_fence_get_info(fence, &info), 0);
	assert_int_equal(info.op_index, 2);
	assert_string_equal(info.reason, "version");
	assert_int_equal(info.engine, ACCEL_ENGINE_GPU);
	assert_true(info.addr == 0);
	/* Those before it have run. */
	assert_true(rt_floats(bo)[32] == 3);
	accel_fence_unref(fence);
	accel_job_destroy(job);
	accel_plan_unref(plan);
	accel_bo_unref(bo);
}

static int thread_count(void)
{
	char line[128];
	int n = -1;
	FILE *f = fopen("/proc/self/status", "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Threads: %d", &n) == 1)
			break;
	fclose(f);
	return n;
}

/*
 * The last to let go of a device may be one of its own threads, when a job ends
 * that nobody waits for.
 */
static void test_last_reference(void **state)
{
	const struct timespec ms = { 0, 1000000 };
	struct accel_fence *fence;
	struct accel_job *job;
	struct accel_bo *bo;
	struct rt_gate gate;
	struct rt rt;
	int before, fd, round;

	(void)state;
	if (!rt_is_sw())
		skip();
	before = thread_count();
	for (round = 0; round < 10; round++) {
		rt_open(&rt, "sw", 2);
		gate = rt_gate(rt.ctx);
		bo = rt_bo(rt.ctx, 4096);
		job = rt_job(rt.ctx, 0);
		if (round % 2)
			rt_add_fill(job, bo, 0, 4, 1, NULL, 0);
		/* An unordered dependency keeps the run alive, not the queue. */
		fence = rt_submit(rt.queue, job, gate.fence);
		assert_int_equal(accel_fence_export_fd(fence, &fd), 0);
		accel_fence_unref(fence);
		accel_fence_unref(gate.fence);
		accel_job_destroy(job);
		accel_bo_unref(bo);
		accel_ctx_destroy(rt.ctx);
		accel_device_unref(rt.dev);
		rt_gate_open(&gate);
		assert_true(readable(fd, -1));
		accel_queue_destroy(rt.queue);
		close(fd);
		close(gate.fd);
		while (thread_count() > before)
			nanosleep(&ms, NULL);
		assert_int_equal(thread_count(), before);
	}
}

/* Who has always waited at once, and done the work itself, may as well not come once. */
static void test_nobody_waits(void **state)
{
	enum { N = 1 << 20, ROUNDS = 20 };
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct accel_fence_info info = { .size = sizeof(info) };
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 4ul * N);
	struct accel_job *job = rt_job(rt->ctx, 0);
	struct accel_fence *fence;
	int round;

	rt_add_fill(job, bo, 0, N, 1, NULL, 0);
	for (round = 1; round <= ROUNDS; round++) {
		fence = rt_submit(rt->queue, job, NULL);
		if (round % 5)
			assert_int_equal(accel_fence_wait(fence, -1), 0);
		for (info.done = 0; !info.done;) {
			assert_int_equal(accel_fence_get_info(fence, &info), 0);
			if (!info.done)
				nanosleep(&ms, NULL);
		}
		accel_fence_unref(fence);
	}
	accel_job_destroy(job);
	accel_bo_unref(bo);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, rt_setup, rt_teardown)
	const struct CMUnitTest tests[] = {
		T(test_wait), T(test_export), T(test_import_own),
		T(test_import_errors), T(test_import_any), T(test_many_waiters),
		T(test_refused_task), T(test_nobody_waits), cmocka_unit_test(test_last_reference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
