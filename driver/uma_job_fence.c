// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The fences that stand for a job on an engine.
 *
 * User space can hold a fence for longer than the device that made it exists,
 * and ask for its names. Every fence of the scheduler holds one of ours, which
 * in turn holds the device and the module, so that names, operations and the
 * scheduler's own pointers stay valid. A module whose fences somebody keeps
 * cannot be unloaded.
 */

#include <linux/dma-fence.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/drm_drv.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_drv.h"
#include "uma_job.h"

/**
 * struct uma_fence - the fence of a job on an engine
 */
struct uma_fence {
	/** @base: fence */
	struct dma_fence base;
	/** @lock: its lock */
	spinlock_t lock;
	/** @engine: engine */
	struct uma_engine *engine;
	/** @release: lets go of the device; the last reference to a fence may go in an interrupt */
	struct work_struct release;
};

static struct uma_fence *to_uma_fence(struct dma_fence *fence)
{
	return container_of(fence, struct uma_fence, base);
}

static const char *uma_fence_driver_name(struct dma_fence *fence)
{
	return "uma";
}

static const char *uma_fence_timeline_name(struct dma_fence *fence)
{
	return to_uma_fence(fence)->engine->name;
}

static void uma_fence_release_work(struct work_struct *work)
{
	struct uma_fence *fence = container_of(work, struct uma_fence, release);
	struct drm_device *drm = &fence->engine->uma->drm;

	dma_fence_free(&fence->base);
	drm_dev_put(drm);
	/* Unloading waits for the workqueue, so nothing of us is left running. */
	module_put(THIS_MODULE);
}

static void uma_fence_release(struct dma_fence *base)
{
	struct uma_fence *fence = to_uma_fence(base);

	INIT_WORK(&fence->release, uma_fence_release_work);
	queue_work(uma_wq, &fence->release);
}

static const struct dma_fence_ops uma_fence_ops = {
	.get_driver_name = uma_fence_driver_name,
	.get_timeline_name = uma_fence_timeline_name,
	.release = uma_fence_release,
};

/**
 * uma_fence_alloc - allocate a fence ahead of time
 *
 * Called with a file open, which holds the module until the fence does.
 *
 * Return: fence, to be given to uma_fence_init() or uma_fence_discard(); NULL
 * without memory.
 */
struct uma_fence *uma_fence_alloc(void)
{
	struct uma_fence *fence = kzalloc_obj(*fence, GFP_KERNEL_ACCOUNT);

	if (fence)
		__module_get(THIS_MODULE);
	return fence;
}

/**
 * uma_fence_discard - free a fence that was not used
 * @fence: fence, may be NULL; a file is open still if it is not
 */
void uma_fence_discard(struct uma_fence *fence)
{
	if (fence)
		module_put(THIS_MODULE);
	kfree(fence);
}

/**
 * uma_fence_init - make a fence live
 * @fence: fence
 * @engine: engine that its job goes to
 * @queue: queue of the job
 *
 * Called from run_job, one at a time per queue. Jobs of a queue end in their order,
 * those of an engine need not: each queue has a context of its own.
 *
 * Return: fence, with one reference.
 */
struct dma_fence *uma_fence_init(struct uma_fence *fence, struct uma_engine *engine,
				 struct uma_queue *queue)
{
	spin_lock_init(&fence->lock);
	fence->engine = engine;
	drm_dev_get(&engine->uma->drm);
	dma_fence_init(&fence->base, &uma_fence_ops, &fence->lock, queue->fence_context,
		       ++queue->fence_seqno);
	return &fence->base;
}
