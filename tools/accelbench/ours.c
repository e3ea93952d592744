// SPDX-License-Identifier: MIT
/* This library, through its public API. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

/**
 * struct ours - a job
 * @queue: where it runs
 * @job: job
 */
struct ours {
	struct accel_queue *queue;
	struct accel_job *job;
};

int ours_open(struct perf *perf, uint32_t threads)
{
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	struct accel_ctx_opts ctx = ACCEL_CTX_OPTS_INIT;
	struct accel_error error = ACCEL_ERROR_INIT;
	int ret;

	opts.threads = threads;
	opts.error = &error;
	ret = accel_device_open("sw", &opts, &perf->dev);
	if (ret)
		return bench_fail(ret, "cannot open sw: %s", error.text);
	ctx.flags = perf->opts->reproducible ? ACCEL_CTX_REPRODUCIBLE : 0;
	ctx.weights_dir = perf->weights_dir;
	ret = accel_ctx_create(perf->dev, &ctx, &perf->ctx);
	if (!ret)
		ret = accel_queue_create(perf->ctx, NULL, &perf->queue);
	if (ret)
		return bench_fail(ret, "cannot make a queue");
	perf->threads = threads;
	/*
	 * The calling thread, on the first processor, takes part, and the last workers sleep
	 * instead.
	 */
	team_pin_new(1);
	return 0;
}

void ours_close(struct perf *perf)
{
	accel_queue_destroy(perf->queue);
	accel_ctx_destroy(perf->ctx);
	accel_device_unref(perf->dev);
	perf->queue = NULL;
	perf->ctx = NULL;
	perf->dev = NULL;
}

void ours_fail(struct perf *perf, const char *what, int err)
{
	struct accel_error error = ACCEL_ERROR_INIT;

	accel_ctx_get_error(perf->ctx, &error);
	perf->failed = bench_fail(err, "%s: %s: %s", what, error.field, error.text);
}

void ours_bind(struct ours_op *op, uint32_t arg, struct accel_bo *bo)
{
	if (bo)
		op->bind[op->count++] = (struct accel_binding){ .arg = arg, .bo = bo };
}

int ours_submit(void *state, struct accel_fence **fence)
{
	struct ours *o = state;

	return accel_queue_submit(o->queue, o->job, NULL, fence);
}

static int run(void *state)
{
	struct accel_fence *fence;
	int ret;

	ret = ours_submit(state, &fence);
	if (ret)
		return ret;
	ret = accel_fence_wait(fence, -1);
	accel_fence_unref(fence);
	return ret;
}

static void release(void *state)
{
	struct ours *o = state;

	accel_job_destroy(o->job);
	free(o);
}

int ours_impl(struct perf *perf, const struct ours_op *ops, uint32_t count, uint32_t flags,
	      struct perf_impl *impl)
{
	struct accel_job_opts opts = ACCEL_JOB_OPTS_INIT;
	struct ours *o = calloc(1, sizeof(*o));
	uint32_t i;
	int ret;

	if (!o)
		return -ENOMEM;
	o->queue = perf->queue;
	opts.flags = flags;
	ret = accel_job_create(perf->ctx, &opts, &o->job);
	for (i = 0; i < count && !ret; i++)
		ret = accel_job_add(o->job, ops[i].plan, ops[i].bind, ops[i].count, NULL, 0, NULL);
	if (ret) {
		release(o);
		return ret;
	}
	*impl = (struct perf_impl){
		.name = "ours", .run = run, .release = release, .state = o, .ops = count,
		.plan = ops[0].plan,
	};
	return 0;
}

int ours_random(struct perf *perf, uint32_t dtype, uint64_t count, struct accel_bo **bo)
{
	int ret = accel_bo_create(perf->ctx, data_bytes(dtype, count), NULL, bo);

	if (!ret)
		data_fill(&perf->rng, dtype, accel_bo_ptr(*bo), count);
	return ret;
}

int ours_result(struct perf *perf, uint64_t bytes, struct accel_bo **bo)
{
	int ret = accel_bo_create(perf->ctx, bytes, NULL, bo);

	if (!ret)
		memset(accel_bo_ptr(*bo), 0, bytes);
	return ret;
}
