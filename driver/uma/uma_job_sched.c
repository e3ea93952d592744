// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The schedulers, one for each queue: they resolve dependencies, keep the order of a queue's jobs,
 * and hand runnable jobs over to the run-list of uma_job_dispatch.c.
 *
 * &uma_engine.watch finds a job that has failed and notifies its queue's scheduler, whose
 * timedout_job resets the engine and ends the job. The schedulers never access the device: during
 * a reset it is the run-list that waits.
 */
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/drm_managed.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_job.h"

/* Two jobs: one that has its engine or waits for it, and the runnable one after it. */
#define UMA_SCHED_CREDITS	2

/* Dependencies on jobs of the same submit, which were not armed when the others were added. */
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

/* @sched_job may be done, but not freed yet: another job of the queue has failed. */
static enum drm_gpu_sched_stat uma_sched_timedout_job(struct drm_sched_job *sched_job)
{
	uma_queue_recover(to_uma_job(sched_job)->queue);
	return uma_sched_take_back(sched_job);
}

/* Free a job that is done, or was not armed; after drm_sched_job_init(). */
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

	/* The scheduler cancelled the timeout, and with it the fault of the next job: repeat. */
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

/* Initialise the scheduler of a queue. Returns 0 or an error. */
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
	/* The only entity: its priority does not matter. */
	ret = drm_sched_entity_init(&queue->entity, DRM_SCHED_PRIORITY_KERNEL, &sched, 1, NULL);
	if (ret)
		drm_sched_fini(sched);
	return ret;
}

/* Free the scheduler of a queue without jobs. */
void uma_sched_stop(struct uma_queue *queue)
{
	drm_sched_entity_destroy(&queue->entity);
	/*
	 * The work that frees the last job may have checked for a stop before this, and queue the
	 * work that runs jobs after it. When this returns the former has ended, so the second stop,
	 * in drm_sched_fini(), waits for the latter.
	 */
	drm_sched_wqueue_stop(&queue->sched);
	drm_sched_fini(&queue->sched);
}

/* Of a device without queues. */
void uma_sched_fini(struct uma_device *uma)
{
	struct uma_engine *engine;

	uma_for_each_engine(uma, engine)
		uma_dispatch_fini(engine);
	destroy_workqueue(uma->sched_wq);
}

static void uma_sched_release(struct drm_device *drm, void *unused)
{
	/* There are no queues: they hold a reference to the device. */
	uma_sched_fini(to_uma_device(drm));
}

/* Set up what the schedulers share. Returns 0 or -ENOMEM. */
int uma_sched_init(struct uma_device *uma)
{
	struct uma_engine *engine;

	/* Fences depend on it, and memory reclaim may depend on these fences. */
	uma->sched_wq = alloc_workqueue("uma-sched", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!uma->sched_wq)
		return -ENOMEM;
	uma_for_each_engine(uma, engine)
		uma_dispatch_init(engine);
	return drmm_add_action_or_reset(&uma->drm, uma_sched_release, NULL);
}
