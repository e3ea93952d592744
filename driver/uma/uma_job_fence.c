// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Hardware fences: a fence for a job on its engine.
 *
 * User space can hold a fence, and ask for its names, for longer than its queue and the device
 * exist. The names of our fences, and of the scheduler's fences, which hold ours, are stored in the
 * queue. So a fence keeps the memory of its queue, which holds a module reference, and so the
 * scheduler's module: neither can be unloaded while somebody holds such a fence. (Kernels that
 * detach a fence's operations when it signals would not need that for our fences. The scheduler's
 * have a release operation, so their module is needed to the end.)
 */

#include <linux/dma-fence.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_job.h"

/* The fence of a job on an engine */
struct uma_fence {
	struct dma_fence base;		/* fence; first member, as it is freed by its address */
	spinlock_t lock;
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
	/* Module unload destroys the workqueue, so it waits for this function to return. */
	module_put(THIS_MODULE);
}

/**
 * uma_queue_free - drop a reference to the memory of a queue
 * @queue: queue, see &uma_queue.keepers
 *
 * Callable from interrupts: the last reference to a fence may be dropped in one.
 */
void uma_queue_free(struct uma_queue *queue)
{
	if (!refcount_dec_and_test(&queue->keepers))
		return;
	INIT_WORK(&queue->vm_work, uma_queue_free_work);
	queue_work(uma_wq, &queue->vm_work);
}

/* Preallocate a fence, for uma_fence_init() or kfree(). Returns NULL without memory. */
struct uma_fence *uma_fence_alloc(void)
{
	return kzalloc_obj(struct uma_fence, GFP_KERNEL_ACCOUNT);
}

/**
 * uma_fence_init - initialise a fence
 * @fence: fence
 * @queue: queue of the job
 *
 * Called from run_job, which is serialised for each queue. The jobs of a queue end in order, those
 * of an engine may not, so each queue has its own fence context.
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
