// SPDX-License-Identifier: MIT
/* Jobs: bindings, dependencies, running them again. */
#include <sys/ioctl.h>
#include "libaccel/backend/drm/backend_drm.h"
#include "rt.h"

static void test_create(void **state)
{
	struct accel_job_opts opts = ACCEL_JOB_OPTS_INIT;
	struct rt *rt = *state;
	struct accel_job *job;

	opts.flags = 2;
	assert_fails(rt->ctx, accel_job_create(rt->ctx, &opts, &job), -EINVAL,
		     "opts.flags");
	opts.flags = 0;
	opts.size = 0;
	assert_fails(rt->ctx, accel_job_create(rt->ctx, &opts, &job), -EINVAL,
		     "opts.size");
	job = rt_job(rt->ctx, ACCEL_JOB_UNORDERED);
	accel_job_destroy(job);
	accel_job_destroy(NULL);
}

static void test_bindings(void **state)
{
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 400);
	struct accel_plan *plan = rt_copy_plan(rt->ctx, 50, 200);
	struct accel_job *job = rt_job(rt->ctx, 0);
	const struct accel_binding good[2] = {
		{ ACCEL_ARG_D, 0, bo, 0 }, { ACCEL_ARG_A, 0, bo, 200 },
	};
	struct accel_binding b[3];
	uint32_t index = 99;

#define TRY(code, field) \
	assert_fails(rt->ctx, accel_job_add(job, plan, b, 2, NULL, 0, &index), \
		     code, field)
#define RESET() memcpy(b, good, sizeof(good))

	RESET();
	b[1].arg = ACCEL_ARG_BIAS;
	TRY(-EINVAL, "bindings[1].arg");
	RESET();
	b[1].arg = ACCEL_ARG_A | ACCEL_ARG_SCALES;
	TRY(-EINVAL, "bindings[1].arg");
	RESET();
	b[1].arg = 0xffffffff;
	TRY(-EINVAL, "bindings[1].arg");
	RESET();
	b[1].arg = ACCEL_ARG_D;
	TRY(-EINVAL, "bindings[1].arg");
	RESET();
	b[0].op = 1;
	TRY(-EINVAL, "bindings[0].op");
	RESET();
	b[0].bo = NULL;
	TRY(-EINVAL, "bindings[0].bo");
	RESET();
	b[1].offset = 201;
	TRY(-EINVAL, "bindings[1].offset");
	RESET();
	b[1].offset = 204;
	TRY(-EINVAL, "bindings[1].offset");
	RESET();
	b[1].offset = UINT64_MAX - 3;
	TRY(-EINVAL, "bindings[1].offset");
	RESET();
	b[0].offset = 2;
	TRY(-EINVAL, "bindings[0].offset");
	/* The result over the input. */
	RESET();
	b[1].offset = 100;
	TRY(-EINVAL, "bindings[1].offset");
	RESET();
	assert_fails(rt->ctx, accel_job_add(job, plan, b, 1, NULL, 0, NULL),
		     -EINVAL, "bindings");
	assert_fails(rt->ctx, accel_job_add(job, plan, NULL, 2, NULL, 0, NULL),
		     -EINVAL, "bindings");
	b[2] = b[0];
	assert_fails(rt->ctx, accel_job_add(job, plan, b, 3, NULL, 0, NULL),
		     -EINVAL, "bindings[2].arg");
	assert_int_equal(index, 99);

	/* In another order it is the same. */
	b[0] = good[1];
	b[1] = good[0];
	assert_int_equal(accel_job_add(job, plan, b, 2, NULL, 0, &index), 0);
	assert_int_equal(index, 0);

	/* Negative strides reach below. */
	plan->args[1].lo = -100;
	plan->args[1].hi = 4;
	RESET();
	b[1].offset = 96;
	TRY(-EINVAL, "bindings[1].offset");
	b[1].offset = 300;
	assert_int_equal(accel_job_add(job, plan, b, 2, NULL, 0, &index), 0);
	assert_int_equal(index, 1);
#undef TRY
#undef RESET
	accel_job_destroy(job);
	accel_plan_unref(plan);
	accel_bo_unref(bo);
}

static void test_deps(void **state)
{
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 64);
	struct accel_plan *plan = rt_fill_plan(rt->ctx, 1, 1, 4);
	struct accel_job *job = rt_job(rt->ctx, ACCEL_JOB_UNORDERED);
	struct accel_binding b = { ACCEL_ARG_D, 0, bo, 0 };
	uint32_t deps[2] = { 0, 0 };

	assert_fails(rt->ctx, accel_job_add(job, plan, &b, 1, deps, 1, NULL),
		     -EINVAL, "deps[0]");
	assert_fails(rt->ctx, accel_job_add(job, plan, &b, 1, NULL, 1, NULL),
		     -EINVAL, "deps");
	assert_int_equal(accel_job_add(job, plan, &b, 1, NULL, 0, NULL), 0);
	deps[1] = 1;
	assert_fails(rt->ctx, accel_job_add(job, plan, &b, 1, deps, 2, NULL),
		     -EINVAL, "deps[1]");
	deps[1] = 0;
	assert_int_equal(accel_job_add(job, plan, &b, 1, deps, 2, NULL), 0);
	accel_job_destroy(job);
	accel_plan_unref(plan);
	accel_bo_unref(bo);
}

static void test_busy(void **state)
{
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 64);
	struct accel_plan *plan = rt_fill_plan(rt->ctx, 1, 1, 4);
	struct accel_job *job = rt_job(rt->ctx, 0);
	struct accel_binding b = { ACCEL_ARG_D, 0, bo, 0 };

	assert_int_equal(accel_job_add(job, plan, &b, 1, NULL, 0, NULL), 0);
	rt_run(rt->queue, job);
	assert_fails(rt->ctx, accel_job_add(job, plan, &b, 1, NULL, 0, NULL),
		     -EBUSY, "job");
	accel_job_destroy(job);
	accel_plan_unref(plan);
	accel_bo_unref(bo);
}

static void test_empty(void **state)
{
	struct rt *rt = *state;
	struct accel_job *job = rt_job(rt->ctx, 0);

	rt_run(rt->queue, job);
	rt_run(rt->queue, job);
	accel_job_destroy(job);
	job = rt_job(rt->ctx, ACCEL_JOB_UNORDERED);
	rt_run(rt->queue, job);
	accel_job_destroy(job);
}

/* A chain of copies: each operation sees what the one before wrote. */
static void test_order(void **state)
{
	enum { N = 40 };
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 64 * (N + 1));
	struct accel_job *job = rt_job(rt->ctx, 0);
	uint32_t i, round;

	for (i = 0; i < N; i++)
		rt_add_copy(job, bo, 64 * (i + 1), bo, 64 * i, 16, NULL, 0);
	for (round = 1; round < 5; round++) {
		rt_floats(bo)[3] = round;
		rt_run(rt->queue, job);
		assert_true(rt_floats(bo)[16 * N + 3] == round);
	}
	accel_job_destroy(job);
	accel_bo_unref(bo);
}

/*
 * An unordered job: a tree of sums by copies. Node i of a level takes from its
 * parent; every leaf must have the root's value, whatever the order.
 */
static void test_unordered(void **state)
{
	enum { LEVELS = 6, NODES = (1 << LEVELS) - 1 };
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 64 * (NODES + 1));
	struct accel_job *job = rt_job(rt->ctx, ACCEL_JOB_UNORDERED);
	uint32_t index[NODES], i, dep, round;

	for (i = 0; i < NODES; i++) {
		dep = i ? index[(i - 1) / 2] : 0;
		index[i] = rt_add_copy(job, bo, 64 * (i + 1), bo,
				       i ? 64 * ((i - 1) / 2 + 1) : 0, 16, &dep,
				       i ? 1 : 0);
	}
	for (round = 1; round < 8; round++) {
		rt_floats(bo)[0] = round;
		rt_run(rt->queue, job);
		for (i = 0; i < NODES; i++)
			assert_true(rt_floats(bo)[16 * (i + 1)] == round);
	}
	accel_job_destroy(job);
	accel_bo_unref(bo);
}

static struct accel_plan *fill_on(struct rt *rt, uint32_t engine, double value,
				  int64_t n)
{
	struct accel_fill_desc desc = ACCEL_FILL_DESC_INIT;
	struct accel_plan *plan;

	desc.hdr.engine = engine;
	desc.value = value;
	desc.d = accel_tensor_dense(NULL, ACCEL_F32, 1, &n);
	if (engine == ACCEL_ENGINE_NEURAL)
		desc.d.dtype = ACCEL_F16;
	assert_int_equal(accel_plan_create(rt->ctx, &desc.hdr, &plan), 0);
	return plan;
}

static struct accel_plan *gemm_on(struct rt *rt, uint32_t engine)
{
	struct accel_gemm_desc desc = ACCEL_GEMM_DESC_INIT;
	struct accel_plan *plan;

	desc.hdr.engine = engine;
	desc.a = accel_tensor_2d(NULL, ACCEL_F32, 4, 4);
	desc.b = desc.a;
	desc.d = desc.a;
	assert_int_equal(accel_plan_create(rt->ctx, &desc.hdr, &plan), 0);
	return plan;
}

static void add_gemm(struct accel_job *job, struct accel_plan *plan,
		     struct accel_bo *bo, uint64_t d, uint64_t a, uint64_t b,
		     const uint32_t *deps, uint32_t count)
{
	const struct accel_binding bind[3] = {
		{ ACCEL_ARG_D, 0, bo, d }, { ACCEL_ARG_A, 0, bo, a },
		{ ACCEL_ARG_B, 0, bo, b },
	};

	assert_int_equal(accel_job_add(job, plan, bind, 3, deps, count, NULL), 0);
}

/* Operations that change between engines, in order and by dependency. */
static void across_engines(struct rt *rt, uint32_t flags)
{
	struct accel_plan *matrix = gemm_on(rt, ACCEL_ENGINE_MATRIX);
	struct accel_plan *gpu = gemm_on(rt, ACCEL_ENGINE_GPU);
	struct accel_plan *two = fill_on(rt, ACCEL_ENGINE_GPU, 2, 16);
	struct accel_bo *bo = rt_bo(rt->ctx, 4096);
	struct accel_job *job = rt_job(rt->ctx, flags);
	struct accel_binding b = { ACCEL_ARG_D, 0, bo, 0 };
	uint32_t deps[2], i;

	/* x0 = 2; x1 = x0 x0 = 16; x2 = x1 x0 = 128; x3 = x2 x0 ... */
	assert_int_equal(accel_job_add(job, two, &b, 1, NULL, 0, NULL), 0);
	for (i = 1; i < 5; i++) {
		deps[0] = i - 1;
		deps[1] = 0;
		add_gemm(job, i % 2 ? matrix : gpu, bo, 64 * i, 64 * (i - 1), 0,
			 deps, 2);
	}
	/* A last one on the first engine that nothing waits for. */
	add_gemm(job, gpu, bo, 64 * 5, 0, 0, deps + 1, 1);
	for (i = 0; i < 3; i++) {
		memset(accel_bo_ptr(bo), 0, 4096);
		rt_run(rt->queue, job);
		assert_true(rt_floats(bo)[0] == 2);
		assert_true(rt_floats(bo)[16 + 5] == 16);
		assert_true(rt_floats(bo)[32] == 128);
		assert_true(rt_floats(bo)[48 + 1] == 1024);
		assert_true(rt_floats(bo)[64 + 15] == 8192);
		assert_true(rt_floats(bo)[80] == 16);
	}
	accel_job_destroy(job);
	accel_plan_unref(matrix);
	accel_plan_unref(gpu);
	accel_plan_unref(two);
	accel_bo_unref(bo);
}

static void test_engines(void **state)
{
	across_engines(*state, 0);
}

static void test_engines_unordered(void **state)
{
	across_engines(*state, ACCEL_JOB_UNORDERED);
}

/* What the driver can never take is not refused as if it could later. */
static void test_too_large(void **state)
{
	enum { N = 2 * 1030 };
	struct accel_plan *matrix, *gpu;
	struct accel_fence *fence;
	struct rt *rt = *state;
	struct accel_job *job;
	struct accel_bo *bo;
	int i;

	if (rt_is_sw())
		skip();
	matrix = gemm_on(rt, ACCEL_ENGINE_MATRIX);
	gpu = gemm_on(rt, ACCEL_ENGINE_GPU);
	bo = rt_bo(rt->ctx, 4096);
	job = rt_job(rt->ctx, 0);
	for (i = 0; i < N; i++)
		add_gemm(job, i % 2 ? matrix : gpu, bo, 64, 0, 0, NULL, 0);
	assert_int_equal(accel_queue_submit(rt->queue, job, NULL, &fence), -E2BIG);
	accel_job_destroy(job);
	/* Nothing of it runs. */
	job = rt_job(rt->ctx, 0);
	add_gemm(job, gpu, bo, 64, 0, 0, NULL, 0);
	rt_run(rt->queue, job);
	accel_job_destroy(job);
	accel_plan_unref(matrix);
	accel_plan_unref(gpu);
	accel_bo_unref(bo);
}

/* Calls of SUBMIT that go through before one fails with an error of the test's. */
static int submits_left = -1, submit_error;

/* Calls of it; jobs that each queue of the driver is said to have, besides those that it has. */
static unsigned int submits, backlog;

/* In place of libdrm's, whose header this need not have. */
__attribute__((visibility("default"))) int drmIoctl(int fd, unsigned long request, void *arg);
int drmIoctl(int fd, unsigned long request, void *arg)
{
	int ret;

	submits += request == DRM_IOCTL_UMA_SUBMIT;
	if (request == DRM_IOCTL_UMA_SUBMIT && submits_left >= 0 && !submits_left--) {
		errno = submit_error;
		return -1;
	}
	do {
		ret = ioctl(fd, request, arg);
	} while (ret == -1 && (errno == EINTR || errno == EAGAIN));
	if (request == DRM_IOCTL_UMA_QUEUE_STATE)
		((struct drm_uma_queue_state *)arg)->submitted += backlog;
	return ret;
}

/* Jobs that the driver has taken, and is not done with, of all queues behind one of ours. */
static uint64_t unfinished(struct rt *rt)
{
	const struct drm_queue *queue = to_drm_queue(rt->queue);
	uint64_t sum = 0;
	uint32_t k;

	assert_true(queue->kcount);
	for (k = 0; k < queue->kcount; k++) {
		struct drm_uma_queue_state state = { .queue_id = queue->k[k].id };

		assert_int_equal(drmIoctl(to_drm_device(rt->dev)->fd, DRM_IOCTL_UMA_QUEUE_STATE,
					  &state), 0);
		sum += state.submitted - state.completed;
	}
	return sum;
}

/* Changes engines so often that the driver takes it in several calls. */
static struct accel_job *alternating(struct rt *rt, struct accel_bo *bo, int n)
{
	struct accel_plan *matrix = gemm_on(rt, ACCEL_ENGINE_MATRIX);
	struct accel_plan *gpu = gemm_on(rt, ACCEL_ENGINE_GPU);
	struct accel_job *job = rt_job(rt->ctx, 0);
	int i;

	for (i = 0; i < n; i++)
		add_gemm(job, i % 2 ? matrix : gpu, bo, 64, 0, 0, NULL, 0);
	accel_plan_unref(matrix);
	accel_plan_unref(gpu);
	return job;
}

/* What the driver has taken of a job, before it refused the rest, is over when that is told. */
static void test_half(void **state)
{
	static const int errors[] = { ENOMEM, ECANCELED };
	struct accel_fence *fence;
	struct rt *rt = *state;
	struct accel_job *job;
	struct accel_bo *bo;
	size_t i;

	if (rt_is_sw())
		skip();
	for (i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		bo = rt_bo(rt->ctx, 4096);
		job = alternating(rt, bo, 560);
		submit_error = errors[i];
		submits_left = 1;
		assert_int_equal(accel_queue_submit(rt->queue, job, NULL, &fence), -ECANCELED);
		assert_int_equal(submits_left, -1);
		assert_int_equal(unfinished(rt), 0);
		/* Of the whole of it nothing is left over, and it can run. */
		rt_run(rt->queue, job);
		accel_job_destroy(job);
		accel_bo_unref(bo);
	}
}

/* A job that the driver takes in several calls is taken as a whole, or not at all. */
static void test_room(void **state)
{
	struct accel_fence *fence;
	struct rt *rt = *state;
	struct accel_job *job;
	struct accel_bo *bo;
	int i;

	if (rt_is_sw())
		skip();
	bo = rt_bo(rt->ctx, 4096);
	job = alternating(rt, bo, 560);
	rt_run(rt->queue, job);
	for (i = 0; i < 3; i++) {
		/* A queue of the driver takes 1024 jobs: two calls of three would be taken. */
		backlog = 800;
		submits = 0;
		assert_int_equal(accel_queue_submit(rt->queue, job, NULL, &fence), -EBUSY);
		assert_int_equal(submits, 0);
		backlog = 700;
		rt_run(rt->queue, job);
		assert_int_equal(submits, 3);
	}
	backlog = 0;
	/* What the context has besides may fill it up between two calls; that ends by itself. */
	submit_error = EBUSY;
	submits_left = 1;
	submits = 0;
	rt_run(rt->queue, job);
	assert_int_equal(submits, 4);
	accel_job_destroy(job);
	accel_bo_unref(bo);
}

/* The same job many times at once. */
static void test_resubmit(void **state)
{
	enum { N = 50 };
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 256);
	struct accel_job *job = rt_job(rt->ctx, 0);
	struct accel_fence *fence[N];
	int i;

	rt_add_fill(job, bo, 0, 16, 1, NULL, 0);
	rt_add_copy(job, bo, 64, bo, 0, 16, NULL, 0);
	for (i = 0; i < N; i++)
		fence[i] = rt_submit(rt->queue, job, NULL);
	accel_job_destroy(job);
	for (i = N - 1; i >= 0; i--) {
		assert_int_equal(accel_fence_wait(fence[i], -1), 0);
		accel_fence_unref(fence[i]);
	}
	assert_true(rt_floats(bo)[16] == 1);
	accel_bo_unref(bo);
}

/* More tasks than fit into one job of an engine. */
static void test_long(void **state)
{
	struct accel_device_info info = { sizeof(info) };
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 8192);
	struct accel_plan *up = rt_copy_plan(rt->ctx, 1, 4);
	struct accel_job *job = rt_job(rt->ctx, 0);
	uint32_t i, n;

	assert_int_equal(accel_device_get_info(rt->dev, &info), 0);
	n = info.max_job_tasks + 10;
	if (n > 5000)
		n = 5000;
	for (i = 0; i < n; i++) {
		struct accel_binding b[2] = {
			{ ACCEL_ARG_D, 0, bo, 4 * ((i + 1) % 2048) },
			{ ACCEL_ARG_A, 0, bo, 4 * (i % 2048) },
		};

		assert_int_equal(accel_job_add(job, up, b, 2, NULL, 0, NULL), 0);
	}
	rt_floats(bo)[0] = 77;
	rt_run(rt->queue, job);
	assert_true(rt_floats(bo)[n % 2048] == 77);
	accel_job_destroy(job);
	accel_plan_unref(up);
	accel_bo_unref(bo);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, rt_setup, rt_teardown)
	const struct CMUnitTest tests[] = {
		T(test_create), T(test_bindings), T(test_deps), T(test_busy),
		T(test_empty), T(test_order), T(test_unordered),
		T(test_engines), T(test_engines_unordered), T(test_half),
		T(test_room), T(test_too_large), T(test_resubmit), T(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
