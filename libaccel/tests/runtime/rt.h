/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the runtime share: a device and a context, plans made by
 * hand, gates that hold jobs back.
 *
 * A program whose name starts with "node_" tests /dev/accel/accel0, any other
 * the in-process device.
 */
#ifndef LIBACCEL_TESTS_RT_H
#define LIBACCEL_TESTS_RT_H

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cmocka.h>
#include "libaccel/core/objects.h"

static inline int rt_is_sw(void)
{
	return strncmp(program_invocation_short_name, "node_", 5) != 0;
}

static inline const char *rt_name(void)
{
	return rt_is_sw() ? "sw" : "accel0";
}

struct rt {
	struct accel_device *dev;
	struct accel_ctx *ctx;
	struct accel_queue *queue;
};

static inline void rt_open(struct rt *rt, const char *name, uint32_t threads)
{
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;

	opts.threads = threads;
	assert_int_equal(accel_device_open(name, &opts, &rt->dev), 0);
	assert_int_equal(accel_ctx_create(rt->dev, NULL, &rt->ctx), 0);
	assert_int_equal(accel_queue_create(rt->ctx, NULL, &rt->queue), 0);
}

static inline void rt_close(struct rt *rt)
{
	accel_queue_destroy(rt->queue);
	accel_ctx_destroy(rt->ctx);
	accel_device_unref(rt->dev);
}

static inline int rt_setup(void **state)
{
	struct rt *rt = calloc(1, sizeof(*rt));

	/* So that it can be seen which test does not end. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	assert_non_null(rt);
	rt_open(rt, rt_name(), rt_is_sw() ? 2 : 0);
	*state = rt;
	return 0;
}

static inline int rt_teardown(void **state)
{
	struct accel_memory_stats stats = { sizeof(stats) };
	struct rt *rt = *state;

	/* A test that leaves buffers behind leaks. */
	assert_int_equal(accel_ctx_get_memory(rt->ctx, &stats), 0);
	accel_queue_destroy(rt->queue);
	rt->queue = NULL;
	assert_int_equal(accel_ctx_get_memory(rt->ctx, &stats), 0);
	assert_int_equal(stats.bo_count, 0);
	assert_int_equal(stats.bo_bytes, 0);
	assert_int_equal(stats.imported_bytes, 0);
	rt_close(rt);
	free(rt);
	return 0;
}

/* The call fails with a code and blames a field. */
static inline void rt_check_error(struct accel_ctx *ctx, int ret, int code,
				  const char *field, const char *file, int line)
{
	struct accel_error error = ACCEL_ERROR_INIT;

	_assert_int_equal((unsigned long)(long)ret, (unsigned long)(long)code,
			  file, line);
	_assert_int_equal(accel_ctx_get_error(ctx, &error), 0, file, line);
	_assert_int_equal((unsigned long)(long)error.code,
			  (unsigned long)(long)code, file, line);
	_assert_string_equal(error.field, field, file, line);
	_assert_true(error.text[0], "text of the error", file, line);
}

#define assert_fails(ctx, call, code, field) \
	rt_check_error(ctx, call, code, field, __FILE__, __LINE__)

/* --- plans made by hand ---------------------------------------------------- */

static inline struct accel_plan *rt_plan_new(struct accel_ctx *ctx,
					     uint32_t engine, uint32_t tasks)
{
	struct accel_plan *plan = calloc(1, sizeof(*plan));

	assert_non_null(plan);
	atomic_init(&plan->refs, 1);
	atomic_fetch_add(&ctx->refs, 1);
	plan->ctx = ctx;
	plan->info.size = sizeof(plan->info);
	plan->info.engine = engine;
	plan->instances = 1;
	plan->task_count = tasks;
	plan->outputs = 1u << UMA_SLOT_DST;
	plan->in_place = 1u << UMA_SLOT_A;
	plan->tasks = calloc(tasks ? tasks : 1, sizeof(*plan->tasks));
	plan->relocs = calloc(2 * (tasks ? tasks : 1), sizeof(*plan->relocs));
	assert_non_null(plan->tasks);
	assert_non_null(plan->relocs);
	return plan;
}

static inline void rt_operand(struct uma_operand *op, uint32_t n)
{
	op->dtype = htole16(UMA_DTYPE_F32);
	op->rank = htole16(1);
	op->dims[0] = htole32(n);
	op->strides[0] = htole64(1);
}

static inline void rt_reloc(struct accel_plan *plan, uint32_t task,
			    uint32_t slot, uint32_t arg)
{
	plan->relocs[plan->reloc_count++] = (struct plan_reloc){
		.task = task, .slot = slot, .field = PLAN_ADDR, .arg = arg,
	};
}

/* d[0 .. n) = value; @claim: bytes that the plan says it touches */
static inline struct accel_plan *rt_fill_plan(struct accel_ctx *ctx, uint32_t n,
					      float value, int64_t claim)
{
	struct accel_plan *plan = rt_plan_new(ctx, ACCEL_ENGINE_GPU, 1);
	struct uma_task *task = plan->tasks;
	struct uma_fill_params params = { 0 };
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	params.value = htole32(bits);
	memcpy(task->params, &params, sizeof(params));
	task->version = htole16(UMA_TASK_VERSION);
	task->opcode = htole16(UMA_OP_FILL);
	task->slots = htole32(1u << UMA_SLOT_DST);
	rt_operand(&task->op[UMA_SLOT_DST], n);
	rt_reloc(plan, 0, UMA_SLOT_DST, 0);
	plan->info.op = ACCEL_OP_FILL;
	plan->arg_count = 1;
	plan->args[0] = (struct plan_arg){ ACCEL_ARG_D, 4, 0, claim, true };
	return plan;
}

/* d[i] = a[i] */
static inline struct accel_plan *rt_copy_plan(struct accel_ctx *ctx, uint32_t n,
					      int64_t claim)
{
	struct accel_plan *plan = rt_plan_new(ctx, ACCEL_ENGINE_GPU, 1);
	struct uma_task *task = plan->tasks;

	task->version = htole16(UMA_TASK_VERSION);
	task->opcode = htole16(UMA_OP_COPY);
	task->slots = htole32(1u << UMA_SLOT_DST | 1u << UMA_SLOT_A);
	rt_operand(&task->op[UMA_SLOT_DST], n);
	rt_operand(&task->op[UMA_SLOT_A], n);
	rt_reloc(plan, 0, UMA_SLOT_DST, 0);
	rt_reloc(plan, 0, UMA_SLOT_A, 1);
	plan->info.op = ACCEL_OP_COPY;
	plan->arg_count = 2;
	plan->args[0] = (struct plan_arg){ ACCEL_ARG_D, 4, 0, 4ll * n, true };
	plan->args[1] = (struct plan_arg){ ACCEL_ARG_A, 4, 0, claim, false };
	return plan;
}

/* --- jobs ------------------------------------------------------------------ */

static inline struct accel_bo *rt_bo(struct accel_ctx *ctx, uint64_t bytes)
{
	struct accel_bo *bo;

	assert_int_equal(accel_bo_create(ctx, bytes, NULL, &bo), 0);
	return bo;
}

static inline struct accel_job *rt_job(struct accel_ctx *ctx, uint32_t flags)
{
	struct accel_job_opts opts = ACCEL_JOB_OPTS_INIT;
	struct accel_job *job;

	opts.flags = flags;
	assert_int_equal(accel_job_create(ctx, &opts, &job), 0);
	return job;
}

static inline uint32_t rt_add_fill(struct accel_job *job, struct accel_bo *d,
				   uint64_t offset, uint32_t n, float value,
				   const uint32_t *deps, uint32_t dep_count)
{
	struct accel_plan *plan = rt_fill_plan(job->ctx, n, value, 4ll * n);
	struct accel_binding b = { ACCEL_ARG_D, 0, d, offset };
	uint32_t index;

	assert_int_equal(accel_job_add(job, plan, &b, 1, deps, dep_count, &index),
			 0);
	accel_plan_unref(plan);
	return index;
}

static inline uint32_t rt_add_copy(struct accel_job *job, struct accel_bo *d,
				   uint64_t d_offset, struct accel_bo *a,
				   uint64_t a_offset, uint32_t n,
				   const uint32_t *deps, uint32_t dep_count)
{
	struct accel_plan *plan = rt_copy_plan(job->ctx, n, 4ll * n);
	struct accel_binding b[2] = {
		{ ACCEL_ARG_D, 0, d, d_offset }, { ACCEL_ARG_A, 0, a, a_offset },
	};
	uint32_t index;

	assert_int_equal(accel_job_add(job, plan, b, 2, deps, dep_count, &index),
			 0);
	accel_plan_unref(plan);
	return index;
}

/* A job that reads one element past what is bound behind @a. */
static inline struct accel_job *rt_faulty_job(struct accel_ctx *ctx,
					      struct accel_bo *d,
					      struct accel_bo *a)
{
	const uint32_t n = accel_bo_size(a) / 4 + 1;
	struct accel_plan *plan = rt_copy_plan(ctx, n, 4);
	struct accel_binding b[2] = {
		{ ACCEL_ARG_D, 0, d, 0 }, { ACCEL_ARG_A, 0, a, 0 },
	};
	struct accel_job *job = rt_job(ctx, 0);

	rt_add_fill(job, d, 0, 1, 1, NULL, 0);
	assert_int_equal(accel_job_add(job, plan, b, 2, NULL, 0, NULL), 0);
	accel_plan_unref(plan);
	return job;
}

/*
 * A range of pages with nothing bound behind it: the last of three buffers in
 * one reservation would do, but buffers lie where the kernel likes. So the
 * source is memory of the process, followed by pages that are not imported.
 */
static inline struct accel_bo *rt_lonely_bo(struct accel_ctx *ctx, void **mem)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	struct accel_bo *bo;

	assert_int_equal(posix_memalign(mem, page, 3 * page), 0);
	memset(*mem, 0, 3 * page);
	assert_int_equal(accel_bo_import_ptr(ctx, *mem, page, NULL, &bo), 0);
	return bo;
}

static inline struct accel_fence *rt_submit(struct accel_queue *queue,
					    struct accel_job *job,
					    struct accel_fence *wait)
{
	struct accel_submit_opts opts = ACCEL_SUBMIT_OPTS_INIT;
	struct accel_fence *fence;

	opts.wait_count = wait ? 1 : 0;
	opts.waits = &wait;
	assert_int_equal(accel_queue_submit(queue, job, &opts, &fence), 0);
	return fence;
}

/* Wait for the end of a job without being told how it went. */
static inline void rt_poll(struct accel_fence *fence)
{
	struct pollfd p = { .events = POLLIN };

	assert_int_equal(accel_fence_export_fd(fence, &p.fd), 0);
	assert_int_equal(poll(&p, 1, -1), 1);
	close(p.fd);
}

static inline void rt_run(struct accel_queue *queue, struct accel_job *job)
{
	struct accel_fence *fence = rt_submit(queue, job, NULL);

	assert_int_equal(accel_fence_wait(fence, -1), 0);
	accel_fence_unref(fence);
}

/* --- gates ----------------------------------------------------------------- */

/* A fence that signals when the test says so; in process only. */
struct rt_gate {
	int fd;
	struct accel_fence *fence;
};

static inline struct rt_gate rt_gate(struct accel_ctx *ctx)
{
	struct rt_gate gate;

	gate.fd = eventfd(0, EFD_CLOEXEC);
	assert_true(gate.fd >= 0);
	assert_int_equal(accel_fence_import_fd(ctx, gate.fd, &gate.fence), 0);
	return gate;
}

static inline void rt_gate_open(struct rt_gate *gate)
{
	uint64_t one = 1;

	assert_int_equal(write(gate->fd, &one, sizeof(one)), sizeof(one));
}

static inline void rt_gate_close(struct rt_gate *gate)
{
	accel_fence_unref(gate->fence);
	close(gate->fd);
}

static inline float *rt_floats(struct accel_bo *bo)
{
	return accel_bo_ptr(bo);
}

#endif /* LIBACCEL_TESTS_RT_H */
