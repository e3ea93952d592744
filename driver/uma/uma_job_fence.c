// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The fences that stand for a job on an engine.
 *
 * User space can hold a fence for longer than the queue and the device exist that made it, and ask
 * for its names. Those of ours and of the scheduler, whose fences hold ours, are the queue's. So a
 * fence keeps what is left of its queue, which holds the module, which holds the scheduler's: as
 * long as somebody has a fence of either none of the two is unloaded. (A fence of ours could do
 * without from when it has signalled where kernels let go of its operations then; one of the
 * scheduler's has a release operation, and needs its module to the end.)
 */

#include <linux/dma-fence.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_job.h"

/**
 * struct uma_fence - the fence of a job on an engine
 */
struct uma_fence {
	/** @base: fence, first: it is freed by its address */
	struct dma_fence base;
	/** @lock: its lock */
	spinlock_t lock;
	/** @queue: queue of the job */
	struct uma_queue *queue;
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
	return to_uma_fence(fence)->queue->name;
}

static void uma_fence_release(struct dma_fence *fence)
{
	struct uma_queue *queue = to_uma_fence(fence)->queue;

	dma_fence_free(fence);
	uma_queue_free(queue);
}

static const struct dma_fence_ops uma_fence_ops = {
	.get_driver_name = uma_fence_driver_name,
	.get_timeline_name = uma_fence_timeline_name,
	.release = uma_fence_release,
};

static void uma_queue_free_work(struct work_struct *work)
{
	struct uma_queue *queue = container_of(work, struct uma_queue, vm_work);

	kfree_rcu(queue, rcu);
	/* Unloading waits for the workqueue, so nothing of us is left running. */
	module_put(THIS_MODULE);
}

/**
 * uma_queue_free - somebody needs what is left of a queue no longer
 * @queue: queue that has been ended, or is kept by others
 *
 * Callable from interrupts: the last reference to a fence may go in one.
 */
void uma_queue_free(struct uma_queue *queue)
{
	if (!refcount_dec_and_test(&queue->keepers))
		return;
	INIT_WORK(&queue->vm_work, uma_queue_free_work);
	queue_work(uma_wq, &queue->vm_work);
}

/**
 * uma_fence_alloc - allocate a fence ahead of time
 *
 * Return: fence, to be given to uma_fence_init() or kfree(); NULL without memory.
 */
struct uma_fence *uma_fence_alloc(void)
{
	return kzalloc_obj(struct uma_fence, GFP_KERNEL_ACCOUNT);
}

/**
 * uma_fence_init - make a fence live
 * @fence: fence
 * @queue: queue of the job
 *
 * Called from run_job, one at a time per queue. Jobs of a queue end in their order,
 * those of an engine need not: each queue has a context of its own.
 *
 * Return: fence, with one reference.
 */
struct dma_fence *uma_fence_init(struct uma_fence *fence, struct uma_queue *queue)
{
	spin_lock_init(&fence->lock);
	fence->queue = queue;
	refcount_inc(&queue->keepers);
	dma_fence_init(&fence->base, &uma_fence_ops, &fence->lock, queue->fence_context,
		       ++queue->fence_seqno);
	return &fence->base;
}
