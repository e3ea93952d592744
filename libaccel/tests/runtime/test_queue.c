// SPDX-License-Identifier: MIT
/* Queues: order, failure, cancellation, timeouts, priorities. */
#include "rt.h"

static void test_opts(void **state)
{
	struct accel_queue_opts opts = ACCEL_QUEUE_OPTS_INIT;
	struct accel_device_info info = { sizeof(info) };
	struct accel_queue *queue;
	struct rt *rt = *state;

	assert_int_equal(accel_device_get_info(rt->dev, &info), 0);
	opts.engine = 7;
	assert_fails(rt->ctx, accel_queue_create(rt->ctx, &opts, &queue), -EINVAL,
		     "opts.engine");
	opts.engine = ACCEL_ENGINE_GPU;
	opts.priority = 4;
	assert_fails(rt->ctx, accel_queue_create(rt->ctx, &opts, &queue), -EINVAL,
		     "opts.priority");
	opts.priority = ACCEL_PRIORITY_LOW;
	opts.timeout_ms = info.max_timeout_ms + 1;
	assert_fails(rt->ctx, accel_queue_create(rt->ctx, &opts, &queue), -EINVAL,
		     "opts.timeout_ms");
	opts.timeout_ms = info.max_timeout_ms;
	assert_int_equal(accel_queue_create(rt->ctx, &opts, &queue), 0);
	accel_queue_destroy(queue);
	accel_queue_destroy(NULL);
	opts.size = 3;
	assert_fails(rt->ctx, accel_queue_create(rt->ctx, &opts, &queue), -EINVAL,
		     "opts.size");
	if (!(info.priorities & 1u << ACCEL_PRIORITY_REALTIME)) {
		opts.size = sizeof(opts);
		opts.priority = ACCEL_PRIORITY_REALTIME;
		assert_fails(rt->ctx, accel_queue_create(rt->ctx, &opts, &queue),
			     -EACCES, "opts.priority");
	}
}

static void test_engine(void **state)
{
	struct accel_queue_opts opts = ACCEL_QUEUE_OPTS_INIT;
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 64);
	struct accel_job *job = rt_job(rt->ctx, 0), *empty = rt_job(rt->ctx, 0);
	struct accel_queue *queue;

	rt_add_fill(job, bo, 0, 4, 1, NULL, 0);
	opts.engine = ACCEL_ENGINE_MATRIX;
	assert_int_equal(accel_queue_create(rt->ctx, &opts, &queue), 0);
	assert_fails(rt->ctx, accel_queue_submit(queue, job, NULL, NULL), -EINVAL,
		     "job");
	rt_run(queue, empty);
	accel_queue_destroy(queue);
	opts.engine = ACCEL_ENGINE_GPU;
	assert_int_equal(accel_queue_create(rt->ctx, &opts, &queue), 0);
	rt_run(queue, job);
	accel_queue_destroy(queue);
	accel_job_destroy(job);
	accel_job_destroy(empty);
	accel_bo_unref(bo);
}

static void test_submit_opts(void **state)
{
	struct accel_submit_opts opts = ACCEL_SUBMIT_OPTS_INIT;
	struct accel_fence *waits[2] = { NULL, NULL }, *fence;
	struct rt *rt = *state;
	struct accel_job *job = rt_job(rt->ctx, 0);
	struct rt other;

	opts.wait_count = 1;
	assert_fails(rt->ctx, accel_queue_submit(rt->queue, job, &opts, NULL),
		     -EINVAL, "opts.waits");
	opts.waits = waits;
	assert_fails(rt->ctx, accel_queue_submit(rt->queue, job, &opts, NULL),
		     -EINVAL, "opts.waits[0]");
	opts.wait_count = 1000000;
	assert_fails(rt->ctx, accel_queue_submit(rt->queue, job, &opts, NULL),
		     -EINVAL, "opts.wait_count");
	opts.wait_count = 2;
	waits[0] = rt_submit(rt->queue, job, NULL);
	rt_open(&other, rt_name(), 0);
	{
		struct accel_job *theirs = rt_job(other.ctx, 0);

		waits[1] = rt_submit(other.queue, theirs, NULL);
		accel_job_destroy(theirs);
	}
	assert_fails(rt->ctx, accel_queue_submit(rt->queue, job, &opts, NULL),
		     -EINVAL, "opts.waits[1]");
	accel_fence_unref(waits[1]);
	waits[1] = waits[0];
	assert_int_equal(accel_queue_submit(rt->queue, job, &opts, &fence), 0);
	assert_int_equal(accel_fence_wait(fence, -1), 0);
	accel_fence_unref(fence);
	accel_fence_unref(waits[0]);
	rt_close(&other);
	/* Nobody needs to want the fence. */
	assert_int_equal(accel_queue_submit(rt->queue, job, NULL, NULL), 0);
	accel_job_destroy(job);
}

/* Jobs of a queue run in order, whichever engine they are for. */
static void test_order(void **state)
{
	enum { N = 60 };
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 64 * (N + 1));
	struct accel_fence *last = NULL;
	int i;

	rt_floats(bo)[1] = 9;
	for (i = 0; i < N; i++) {
		struct accel_job *job = rt_job(rt->ctx, 0);

		rt_add_copy(job, bo, 64 * (i + 1), bo, 64 * i, 16, NULL, 0);
		accel_fence_unref(last);
		last = rt_submit(rt->queue, job, NULL);
		accel_job_destroy(job);
	}
	assert_int_equal(accel_fence_wait(last, -1), 0);
	accel_fence_unref(last);
	assert_true(rt_floats(bo)[16 * N + 1] == 9);
	accel_bo_unref(bo);
}

/* Two queues, one after the other by fences. */
static void test_waits(void **state)
{
	enum { N = 30 };
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 64 * (N + 1));
	struct accel_fence *last = NULL, *fence;
	struct accel_queue *other;
	int i;

	assert_int_equal(accel_queue_create(rt->ctx, NULL, &other), 0);
	rt_floats(bo)[1] = 9;
	for (i = 0; i < N; i++) {
		struct accel_job *job = rt_job(rt->ctx, 0);

		rt_add_copy(job, bo, 64 * (i + 1), bo, 64 * i, 16, NULL, 0);
		fence = rt_submit(i % 2 ? other : rt->queue, job, last);
		accel_fence_unref(last);
		last = fence;
		accel_job_destroy(job);
	}
	assert_int_equal(accel_fence_wait(last, -1), 0);
	accel_fence_unref(last);
	assert_true(rt_floats(bo)[16 * N + 1] == 9);
	accel_queue_destroy(other);
	accel_bo_unref(bo);
}

/*
 * A fault bans the queue: what follows is cancelled, other queues go on. It takes
 * jobs again when somebody has been told.
 */
static void test_banned(void **state)
{
	struct accel_fence_info info = { sizeof(info) };
	struct accel_error error = ACCEL_ERROR_INIT;
	struct rt *rt = *state;
	struct accel_fence *bad, *after, *cancelled;
	struct accel_job *faulty, *good;
	struct accel_queue *other;
	struct accel_bo *bo, *src;
	void *mem;

	bo = rt_bo(rt->ctx, 16384);
	src = rt_lonely_bo(rt->ctx, &mem);
	faulty = rt_faulty_job(rt->ctx, bo, src);
	good = rt_job(rt->ctx, 0);
	rt_add_fill(good, bo, 0, 4, 6, NULL, 0);
	assert_int_equal(accel_queue_create(rt->ctx, NULL, &other), 0);
	bad = rt_submit(rt->queue, faulty, NULL);
	/* In time to be taken or not: either way it must not run. */
	if (accel_queue_submit(rt->queue, good, NULL, &after))
		after = NULL;
	rt_poll(bad);
	/* If that was refused, this is the next. */
	assert_int_equal(accel_queue_submit(rt->queue, good, NULL, &cancelled),
			 after ? -ECANCELED : 0);
	if (!after)
		accel_fence_unref(cancelled);

	assert_int_equal(accel_fence_wait(bad, -1), -EFAULT);
	assert_int_equal(accel_ctx_get_error(rt->ctx, &error), 0);
	assert_int_equal(error.code, -EFAULT);
	assert_int_equal(error.op_index, 1);
	assert_int_equal(error.engine, ACCEL_ENGINE_GPU);
	assert_true(error.addr == (uintptr_t)mem + sysconf(_SC_PAGESIZE));
	assert_int_equal(accel_fence_get_info(bad, &info), 0);
	assert_int_equal(info.done, 1);
	assert_int_equal(info.status, -EFAULT);
	assert_int_equal(info.op_index, 1);
	assert_int_equal(info.engine, ACCEL_ENGINE_GPU);
	assert_string_equal(info.reason, "read");
	assert_true(info.addr == error.addr);
	assert_non_null(strstr(info.text, "operation 1"));
	if (after) {
		assert_int_equal(accel_fence_wait(after, -1), -ECANCELED);
		accel_fence_unref(after);
	}
	rt_run(rt->queue, good);
	assert_true(rt_floats(bo)[0] == 6);
	rt_run(other, good);

	/* Again, and again: a failure that was known long ago revives nothing. */
	cancelled = rt_submit(rt->queue, faulty, NULL);
	rt_poll(cancelled);
	assert_int_equal(accel_fence_wait(bad, -1), -EFAULT);
	assert_int_equal(accel_queue_submit(rt->queue, good, NULL, NULL), -ECANCELED);
	assert_int_equal(accel_fence_get_info(cancelled, &info), 0);
	assert_int_equal(info.status, -EFAULT);
	rt_run(rt->queue, good);
	accel_fence_unref(cancelled);
	accel_fence_unref(bad);
	accel_job_destroy(faulty);
	accel_job_destroy(good);
	accel_queue_destroy(other);
	accel_bo_unref(src);
	accel_bo_unref(bo);
	free(mem);
}

/* What was queued behind the bad job is cancelled with it. */
static void test_ban_cancels(void **state)
{
	enum { N = 20 };
	struct rt *rt = *state;
	struct accel_fence *bad, *after[N], *elsewhere;
	struct accel_job *faulty, *good;
	struct accel_queue *other;
	struct accel_bo *bo, *src;
	struct rt_gate gate;
	void *mem;
	int i;

	if (!rt_is_sw())
		skip();
	gate = rt_gate(rt->ctx);
	bo = rt_bo(rt->ctx, 16384);
	src = rt_lonely_bo(rt->ctx, &mem);
	faulty = rt_faulty_job(rt->ctx, bo, src);
	good = rt_job(rt->ctx, 0);
	rt_add_fill(good, bo, 64, 4, 6, NULL, 0);
	assert_int_equal(accel_queue_create(rt->ctx, NULL, &other), 0);
	bad = rt_submit(rt->queue, faulty, gate.fence);
	for (i = 0; i < N; i++)
		after[i] = rt_submit(rt->queue, good, i % 3 ? gate.fence : NULL);
	/* A job that waits for a failed one in another queue runs all the same. */
	elsewhere = rt_submit(other, good, after[N - 1]);
	assert_int_equal(accel_fence_wait(after[0], 0), -ETIMEDOUT);
	rt_gate_open(&gate);
	assert_int_equal(accel_fence_wait(bad, -1), -EFAULT);
	for (i = 0; i < N; i++) {
		assert_int_equal(accel_fence_wait(after[i], -1), -ECANCELED);
		accel_fence_unref(after[i]);
	}
	rt_run(rt->queue, good);
	assert_int_equal(accel_fence_wait(elsewhere, -1), 0);
	assert_true(rt_floats(bo)[16] == 6);
	accel_fence_unref(elsewhere);
	accel_fence_unref(bad);
	accel_queue_destroy(other);
	accel_job_destroy(faulty);
	accel_job_destroy(good);
	accel_bo_unref(src);
	accel_bo_unref(bo);
	free(mem);
	rt_gate_close(&gate);
}

/* Destroying a queue cancels what has not started. */
static void test_destroy(void **state)
{
	struct rt *rt = *state;
	struct accel_fence *a, *b, *c;
	struct accel_queue *queue, *other;
	struct accel_job *job;
	struct rt_gate gate;
	struct accel_bo *bo;

	if (!rt_is_sw())
		skip();
	gate = rt_gate(rt->ctx);
	bo = rt_bo(rt->ctx, 64);
	job = rt_job(rt->ctx, 0);
	rt_add_fill(job, bo, 0, 4, 6, NULL, 0);
	assert_int_equal(accel_queue_create(rt->ctx, NULL, &queue), 0);
	assert_int_equal(accel_queue_create(rt->ctx, NULL, &other), 0);
	a = rt_submit(queue, job, gate.fence);
	b = rt_submit(queue, job, NULL);
	c = rt_submit(other, job, b);
	accel_queue_destroy(queue);
	assert_int_equal(accel_fence_wait(a, -1), -ECANCELED);
	assert_int_equal(accel_fence_wait(b, -1), -ECANCELED);
	assert_int_equal(accel_fence_wait(c, -1), 0);
	accel_fence_unref(a);
	accel_fence_unref(b);
	accel_fence_unref(c);
	accel_queue_destroy(other);
	accel_job_destroy(job);
	accel_bo_unref(bo);
	rt_gate_open(&gate);
	rt_gate_close(&gate);
}

static void test_full(void **state)
{
	struct accel_fence *fence = NULL, *next;
	struct rt *rt = *state;
	struct accel_queue *queue;
	struct accel_job *job;
	struct rt_gate gate;
	int i, ret = 0;

	if (!rt_is_sw())
		skip();
	gate = rt_gate(rt->ctx);
	job = rt_job(rt->ctx, 0);
	assert_int_equal(accel_queue_create(rt->ctx, NULL, &queue), 0);
	fence = rt_submit(queue, job, gate.fence);
	for (i = 0; i < 100000; i++) {
		ret = accel_queue_submit(queue, job, NULL, &next);
		if (ret)
			break;
		accel_fence_unref(fence);
		fence = next;
	}
	assert_int_equal(ret, -EBUSY);
	assert_true(i > 100);
	rt_gate_open(&gate);
	assert_int_equal(accel_fence_wait(fence, -1), 0);
	rt_run(queue, job);
	accel_fence_unref(fence);
	accel_queue_destroy(queue);
	accel_job_destroy(job);
	rt_gate_close(&gate);
}

/* Much work in a short time. */
static void test_timeout(void **state)
{
	struct accel_queue_opts opts = ACCEL_QUEUE_OPTS_INIT;
	struct accel_fence_info info = { sizeof(info) };
	const int64_t n = rt_is_sw() ? 512 : 192;
	struct accel_gemm_desc desc = ACCEL_GEMM_DESC_INIT;
	struct accel_binding b[3];
	struct accel_fence *fence;
	struct accel_queue *queue;
	struct accel_plan *plan;
	struct rt *rt = *state;
	struct accel_bo *bo;
	struct accel_job *job;
	int i;

	bo = rt_bo(rt->ctx, 3 * n * n * 4);
	desc.a = desc.b = desc.d = accel_tensor_2d(NULL, ACCEL_F32, n, n);
	assert_int_equal(accel_plan_create(rt->ctx, &desc.hdr, &plan), 0);
	for (i = 0; i < 3; i++)
		b[i] = (struct accel_binding){ i, 0, bo, i * n * n * 4 };
	job = rt_job(rt->ctx, 0);
	for (i = 0; i < 64; i++)
		assert_int_equal(accel_job_add(job, plan, b, 3, NULL, 0, NULL), 0);
	/* The small job behind it is to fit into that, where a machine is emulated, too. */
	opts.timeout_ms = rt_is_sw() ? 1 : 50;
	assert_int_equal(accel_queue_create(rt->ctx, &opts, &queue), 0);
	fence = rt_submit(queue, job, NULL);
	assert_int_equal(accel_fence_wait(fence, -1), -ETIME);
	assert_int_equal(accel_fence_get_info(fence, &info), 0);
	assert_int_equal(info.status, -ETIME);
	assert_true(info.engine != 0);
	assert_true(info.op_index < 64);
	accel_fence_unref(fence);
	accel_job_destroy(job);
	job = rt_job(rt->ctx, 0);
	rt_add_fill(job, bo, 0, 4, 6, NULL, 0);
	rt_run(queue, job);
	assert_true(rt_floats(bo)[3] == 6);
	accel_queue_destroy(queue);
	accel_job_destroy(job);
	accel_plan_unref(plan);
	accel_bo_unref(bo);
}

/* With one thread, of jobs that become ready at once the higher one is first. */
static void test_priority(void **state)
{
	struct accel_queue_opts opts = ACCEL_QUEUE_OPTS_INIT;
	struct accel_queue *low, *high;
	struct accel_fence *f[2];
	struct accel_job *job[2];
	struct accel_bo *bo;
	struct rt_gate gate;
	struct rt rt;
	int order;

	(void)state;
	if (!rt_is_sw())
		skip();
	for (order = 0; order < 2; order++) {
		rt_open(&rt, "sw", 1);
		gate = rt_gate(rt.ctx);
		bo = rt_bo(rt.ctx, 128);
		opts.priority = ACCEL_PRIORITY_LOW;
		assert_int_equal(accel_queue_create(rt.ctx, &opts, &low), 0);
		opts.priority = ACCEL_PRIORITY_HIGH;
		assert_int_equal(accel_queue_create(rt.ctx, &opts, &high), 0);
		/* high writes what low copies */
		job[0] = rt_job(rt.ctx, 0);
		rt_add_fill(job[0], bo, 0, 1, 5, NULL, 0);
		job[1] = rt_job(rt.ctx, 0);
		rt_add_copy(job[1], bo, 64, bo, 0, 1, NULL, 0);
		f[order] = rt_submit(order ? low : high, job[order], gate.fence);
		f[!order] = rt_submit(order ? high : low, job[!order], gate.fence);
		rt_gate_open(&gate);
		assert_int_equal(accel_fence_wait(f[0], -1), 0);
		assert_int_equal(accel_fence_wait(f[1], -1), 0);
		assert_true(rt_floats(bo)[16] == 5);
		accel_fence_unref(f[0]);
		accel_fence_unref(f[1]);
		accel_job_destroy(job[0]);
		accel_job_destroy(job[1]);
		accel_queue_destroy(low);
		accel_queue_destroy(high);
		accel_bo_unref(bo);
		rt_gate_close(&gate);
		rt_close(&rt);
	}
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, rt_setup, rt_teardown)
	const struct CMUnitTest tests[] = {
		T(test_opts), T(test_engine), T(test_submit_opts), T(test_order),
		T(test_waits), T(test_banned), T(test_ban_cancels),
		T(test_destroy), T(test_full), T(test_timeout),
		cmocka_unit_test(test_priority),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
