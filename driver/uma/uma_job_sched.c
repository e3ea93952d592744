// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The schedulers, one a queue: they see to what a job waits for and to the order within the
 * queue, and hand it over to the run-list of uma_job_dispatch.c.
 *
 * A job that has failed is found by &uma_engine.watch, which tells its queue's scheduler. That
 * calls timedout_job, which recovers the engine and ends the job. Nothing that a scheduler does
 * touches the device: it is the run-list that waits while there is a reset.
 */
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/drm_managed.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_drv.h"
#include "uma_job.h"

/* A queue's job that has its engine or waits for it, and one behind it that is ready. */
#define UMA_SCHED_CREDITS	2

/* Jobs of the same submit had no fence yet when the others were added. */
static struct dma_fence *uma_sched_prepare_job(struct drm_sched_job *sched_job,
					       struct drm_sched_entity *entity)
{
	struct uma_job *job = to_uma_job(sched_job);
	struct dma_fence *fence;

	if (job->dep_next == job->dep_count)
		return NULL;
	fence = job->deps[job->dep_next];
	job->deps[job->dep_next++] = NULL;
	return fence;
}

static struct dma_fence *uma_sched_run_job(struct drm_sched_job *sched_job)
{
	struct uma_job *job = to_uma_job(sched_job);
	struct dma_fence *fence;
	bool cookie;

	cookie = dma_fence_begin_signalling();
	fence = uma_fence_init(job->fence, job->queue);
	job->fence = NULL;
	job->done = dma_fence_get(fence);
	uma_dispatch_add(job);
	dma_fence_end_signalling(cookie);
	return fence;
}

/* The first job that has not been freed may be done: it is another one of the queue that failed. */
static enum drm_gpu_sched_stat uma_sched_timedout_job(struct drm_sched_job *sched_job)
{
	uma_queue_recover(to_uma_job(sched_job)->queue);
	return uma_sched_take_back(sched_job);
}

/**
 * uma_job_free - free a job, be it one that was not armed or one that is done
 * @job: job that drm_sched_job_init() was called for
 */
void uma_job_free(struct uma_job *job)
{
	drm_sched_job_cleanup(&job->base);
	while (job->dep_next < job->dep_count)
		dma_fence_put(job->deps[job->dep_next++]);
	kfree(job->fence);
	uma_queue_put(job->queue);
	kvfree(job->deps);
	kfree(job);
}

static void uma_sched_free_job(struct drm_sched_job *sched_job)
{
	struct uma_job *job = to_uma_job(sched_job);

	/* With this job the scheduler has dropped what it was told of the next. */
	if (READ_ONCE(job->queue->failed))
		drm_sched_fault(&job->queue->sched);
	uma_job_free(job);
}

static const struct drm_sched_backend_ops uma_sched_ops = {
	.prepare_job = uma_sched_prepare_job,
	.run_job = uma_sched_run_job,
	.timedout_job = uma_sched_timedout_job,
	.free_job = uma_sched_free_job,
};

/**
 * uma_sched_start - make the scheduler of a queue
 * @queue: queue
 *
 * Return: 0 or an error.
 */
int uma_sched_start(struct uma_queue *queue)
{
	struct drm_gpu_scheduler *sched = &queue->sched;
	struct uma_device *uma = queue->uma;
	const struct drm_sched_init_args args = {
		.ops = &uma_sched_ops,
		.submit_wq = uma->sched_wq,
		.num_rqs = 1,
		.credit_limit = UMA_SCHED_CREDITS,
		.timeout = MAX_SCHEDULE_TIMEOUT,
		.timeout_wq = uma->reset_wq,
		.name = queue->name,
		.dev = uma->drm.dev,
	};
	int ret;

	ret = drm_sched_init(sched, &args);
	if (ret)
		return ret;
	/* It is the only one: its priority does not matter. */
	ret = drm_sched_entity_init(&queue->entity, DRM_SCHED_PRIORITY_KERNEL, &sched, 1, NULL);
	if (ret)
		drm_sched_fini(sched);
	return ret;
}

/**
 * uma_sched_stop - end the scheduler of a queue
 * @queue: queue that has no jobs, but whose scheduler may be just freeing the last
 */
void uma_sched_stop(struct uma_queue *queue)
{
	drm_sched_entity_destroy(&queue->entity);
	/*
	 * The work that frees the last job may have looked before this stop whether it may ask for
	 * one that runs jobs, and ask after it. When it has ended nobody can: the stop of
	 * drm_sched_fini() finds that one.
	 */
	drm_sched_wqueue_stop(&queue->sched);
	drm_sched_fini(&queue->sched);
}

/**
 * uma_sched_fini - nothing is dispatched any more
 * @uma: device without queues
 */
void uma_sched_fini(struct uma_device *uma)
{
	struct uma_engine *engine;

	uma_for_each_engine(uma, engine)
		uma_dispatch_fini(engine);
	destroy_workqueue(uma->sched_wq);
}

static void uma_sched_release(struct drm_device *drm, void *unused)
{
	/* Queues hold the device, and jobs hold queues: there are none. */
	uma_sched_fini(to_uma_device(drm));
}

/**
 * uma_sched_init - make what the schedulers of the queues share
 * @uma: device
 *
 * Return: 0 or an error.
 */
int uma_sched_init(struct uma_device *uma)
{
	struct uma_engine *engine;

	/* Jobs' fences depend on it, and memory may depend on those. */
	uma->sched_wq = alloc_workqueue("uma-sched", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!uma->sched_wq)
		return -ENOMEM;
	uma_for_each_engine(uma, engine)
		uma_dispatch_init(engine);
	return drmm_add_action_or_reset(&uma->drm, uma_sched_release, NULL);
}
