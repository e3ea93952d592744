// SPDX-License-Identifier: MIT
/*
 * Queues and submission.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "libaccel/backend/backend.h"
#include "libaccel/core/fpmode.h"

struct accel_queue *queue_ref(struct accel_queue *queue)
{
	atomic_fetch_add_explicit(&queue->refs, 1, memory_order_relaxed);
	return queue;
}

void queue_unref(struct accel_queue *queue)
{
	struct accel_ctx *ctx = queue->ctx;

	if (atomic_fetch_sub_explicit(&queue->refs, 1, memory_order_acq_rel) != 1)
		return;
	ctx->dev->ops->queue_destroy(queue);
	free(queue);
	ctx_unref(ctx);
}

static int queue_opts(struct accel_ctx *ctx, const struct accel_queue_opts *opts,
		      struct accel_queue_opts *o)
{
	const struct accel_device_info *info = &ctx->dev->info;
	int ret;

	*o = (struct accel_queue_opts){ .size = sizeof(*o) };
	if (!opts)
		return 0;
	ret = opts_in(ctx, o, sizeof(*o), opts);
	if (ret)
		return ret;
	if (o->engine >= ACCEL_ENGINE_COUNT)
		return ctx_fail(ctx, -EINVAL, "opts.engine",
				"%u is no kind of engine", o->engine);
	if (o->priority > ACCEL_PRIORITY_REALTIME)
		return ctx_fail(ctx, -EINVAL, "opts.priority",
				"%u is no priority", o->priority);
	if (o->timeout_ms > info->max_timeout_ms)
		return ctx_fail(ctx, -EINVAL, "opts.timeout_ms",
				"%u is more than the device's %u", o->timeout_ms,
				info->max_timeout_ms);
	if (o->engine && !device_find_engine(ctx->dev, o->engine))
		return ctx_fail(ctx, -EOPNOTSUPP, "opts.engine",
				"the device has no %s engine",
				accel_engine_name(o->engine));
	if (!(info->priorities & 1u << o->priority))
		return ctx_fail(ctx, -EACCES, "opts.priority",
				"this process may not use priority %u",
				o->priority);
	return 0;
}

int accel_queue_create(struct accel_ctx *ctx, const struct accel_queue_opts *opts,
		       struct accel_queue **out)
{
	struct accel_queue_opts o;
	struct accel_queue *queue;
	int ret;

	if (!ctx)
		return -EINVAL;
	if (!out)
		return ctx_fail(ctx, -EINVAL, "queue", "NULL");
	ret = queue_opts(ctx, opts, &o);
	if (ret)
		return ret;
	queue = calloc(1, ctx->dev->ops->queue_size);
	if (!queue)
		return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
	atomic_init(&queue->refs, 1);
	queue->ctx = ctx;
	queue->id = device_next_id(ctx->dev);
	queue->engine = o.engine;
	queue->priority = o.priority;
	queue->timeout_ms = o.timeout_ms ? o.timeout_ms :
					   ctx->dev->info.default_timeout_ms;
	ret = ctx->dev->ops->queue_create(queue);
	if (ret) {
		free(queue);
		return ret;
	}
	ctx_ref(ctx);
	device_log(ctx->dev, ACCEL_LOG_DEBUG, "queue %" PRIu64 ": %s",
		   queue->id, accel_engine_name(queue->engine));
	*out = queue;
	return 0;
}

void accel_queue_destroy(struct accel_queue *queue)
{
	if (!queue)
		return;
	device_log(queue->ctx->dev, ACCEL_LOG_DEBUG, "queue %" PRIu64 ": destroyed",
		   queue->id);
	queue->ctx->dev->ops->queue_cancel(queue);
	queue_unref(queue);
}

static int submit_opts(struct accel_queue *queue,
		       const struct accel_submit_opts *opts,
		       struct accel_submit_opts *o)
{
	struct accel_ctx *ctx = queue->ctx;
	char field[32];
	uint32_t i;
	int ret;

	*o = (struct accel_submit_opts){ .size = sizeof(*o) };
	if (!opts)
		return 0;
	ret = opts_in(ctx, o, sizeof(*o), opts);
	if (ret)
		return ret;
	if (o->wait_count > MAX_WAITS)
		return ctx_fail(ctx, -EINVAL, "opts.wait_count",
				"%u is more than %u", o->wait_count, MAX_WAITS);
	if (o->wait_count && !o->waits)
		return ctx_fail(ctx, -EINVAL, "opts.waits", "NULL");
	for (i = 0; i < o->wait_count; i++) {
		if (o->waits[i] && o->waits[i]->ctx->dev == ctx->dev)
			continue;
		snprintf(field, sizeof(field), "opts.waits[%u]", i);
		return ctx_fail(ctx, -EINVAL, field, o->waits[i] ?
				"a fence of another device: export and import it" :
				"NULL");
	}
	return 0;
}

/* What the backend makes of a job has numbers, too. */
static int backend_prepares(struct accel_job *job)
{
	FP_MODE_SCOPE();

	return job->ctx->dev->ops->job_prepare(job);
}

/*
 * Count a run of a job that is prepared, without the lock. Returns false if it is not prepared
 * yet, or is being rebound.
 */
static bool job_starts(struct accel_job *job)
{
	if (!atomic_load_explicit(&job->prepared, memory_order_acquire))
		return false;
	/* Pairs with accel_job_rebind(): the run sees what it has changed. */
	if (!(atomic_fetch_add_explicit(&job->flights, 1, memory_order_acquire) & JOB_MOVES))
		return true;
	job_ended(job);
	return false;
}

/* What the backend makes of a job is made once; from now on it is not rebound. */
static int job_prepare(struct accel_job *job)
{
	int ret = 0;

	if (job_starts(job))
		return 0;
	pthread_mutex_lock(&job->lock);
	if (!atomic_load_explicit(&job->prepared, memory_order_relaxed)) {
		ret = backend_prepares(job);
		if (!ret) {
			free(job->tasks);
			job->tasks = NULL;
			job->task_cap = 0;
			atomic_store_explicit(&job->prepared, true,
					      memory_order_release);
		}
	}
	if (!ret)
		atomic_fetch_add_explicit(&job->flights, 1, memory_order_relaxed);
	pthread_mutex_unlock(&job->lock);
	return ret;
}

int accel_queue_submit(struct accel_queue *queue, struct accel_job *job,
		       const struct accel_submit_opts *opts,
		       struct accel_fence **out)
{
	struct accel_submit_opts o;
	struct accel_fence *fence;
	struct accel_ctx *ctx;
	int ret;

	if (!queue)
		return -EINVAL;
	ctx = queue->ctx;
	if (!job)
		return ctx_fail(ctx, -EINVAL, "job", "NULL");
	if (job->ctx != ctx)
		return ctx_fail(ctx, -EINVAL, "job",
				"belongs to another context than the queue");
	if (queue->engine && job->engines & ~(1u << queue->engine))
		return ctx_fail(ctx, -EINVAL, "job",
				"has operations for other engines than the queue's, %s",
				accel_engine_name(queue->engine));
	ret = submit_opts(queue, opts, &o);
	if (ret)
		return ret;
	ret = job_prepare(job);
	if (ret)
		return ret;
	ret = ctx->dev->ops->submit(queue, job, o.waits, o.wait_count, &fence);
	if (ret) {
		job_ended(job);
		return ret;
	}
	device_log(ctx->dev, ACCEL_LOG_DEBUG,
		   "queue %" PRIu64 ": job %" PRIu64 ", fence %" PRIu64,
		   queue->id, job->id, fence->id);
	if (out)
		*out = fence;
	else
		accel_fence_unref(fence);
	return 0;
}
