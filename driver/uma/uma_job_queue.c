// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Queues and their states.
 */
#include <linux/capability.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_drv.h"
#include "uma_job.h"
#include "uma_vm.h"

/* Queues of all devices that are releasing what they held; waiters for that, and its lock. */
static LIST_HEAD(uma_releases);
DECLARE_WAIT_QUEUE_HEAD(uma_released);

static void uma_release_begin(struct uma_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&uma_released.lock, flags);
	if (!queue->releases++) {
		queue->release_begun = ktime_get();
		list_add_tail(&queue->release_node, &uma_releases);
	}
	spin_unlock_irqrestore(&uma_released.lock, flags);
}

static void uma_release_done(struct uma_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&uma_released.lock, flags);
	if (!--queue->releases)
		list_del(&queue->release_node);
	wake_up_all_locked(&uma_released);
	spin_unlock_irqrestore(&uma_released.lock, flags);
}

/* Has everything been released whose release had begun at that time? */
bool uma_released_since(ktime_t time)
{
	struct uma_queue *first;
	bool released;

	spin_lock_irq(&uma_released.lock);
	first = list_first_entry_or_null(&uma_releases, struct uma_queue, release_node);
	released = !first || ktime_after(first->release_begun, time);
	spin_unlock_irq(&uma_released.lock);
	return released;
}

/*
 * An entity is never killed with jobs in it: the jobs of a queue that is closed or banned pass
 * through the scheduler as usual, and end when it is their turn. That keeps the order, and they get
 * the documented errors instead of the scheduler's.
 */
static void uma_queue_release_work(struct work_struct *work)
{
	struct uma_queue *queue = container_of(to_rcu_work(work), struct uma_queue, release);
	struct uma_device *uma = queue->uma;

	uma_sched_stop(queue);
	dma_fence_put(queue->last);
	if (queue->engine)
		atomic_dec(&queue->engine->load);
	spin_lock_irq(&uma->queues_lock);
	list_del(&queue->node);
	spin_unlock_irq(&uma->queues_lock);
	uma_vm_put(queue->vm);
	atomic_dec(&queue->usage->queues);
	uma_usage_put(queue->usage);
	put_pid(queue->pid);
	uma_release_done(queue);
	uma_queue_free(queue);
	drm_dev_put(&uma->drm);
}

static void uma_queue_vm_work(struct work_struct *work)
{
	struct uma_queue *queue = container_of(work, struct uma_queue, vm_work);
	struct uma_device *uma = queue->uma;
	struct uma_vm *vm = NULL;

	spin_lock_irq(&uma->queues_lock);
	/* Otherwise it is called again when that job is done. */
	if (queue->request.state != UMA_REQUEST_DISPATCHED)
		swap(vm, queue->vm);
	spin_unlock_irq(&uma->queues_lock);
	uma_vm_put(vm);
	/* If this is the last reference, the release of the queue is waited for, too. */
	refcount_inc(&queue->keepers);
	uma_queue_put(queue);
	uma_release_done(queue);
	uma_queue_free(queue);
}

/*
 * A dependency's callback makes the job runnable before it wakes the scheduler. In between the
 * scheduler may run, end and free the job, and drop the last reference. The callback runs with
 * interrupts off, so it has returned after a grace period.
 */
static void uma_queue_release(struct kref *ref)
{
	struct uma_queue *queue = container_of(ref, struct uma_queue, ref);

	uma_release_begin(queue);
	queue_rcu_work(uma_wq, &queue->release);
}

/* Drop a reference; @queue may be NULL. */
void uma_queue_put(struct uma_queue *queue)
{
	if (queue)
		kref_put(&queue->ref, uma_queue_release);
}

/*
 * Drop the address space of a queue that is closed. If a job of it has its engine, this is called
 * again when the job is done. Other jobs may wait for somebody else's fence for any time, but do
 * not run any more, so the memory that they use need not be kept. Callable from interrupts.
 */
void uma_queue_drop_vm(struct uma_queue *queue)
{
	kref_get(&queue->ref);
	uma_release_begin(queue);
	if (queue_work(uma_wq, &queue->vm_work))
		return;
	uma_release_done(queue);
	uma_queue_put(queue);
}

/* Look a queue up. Returns it with a reference, or NULL. */
struct uma_queue *uma_queue_find(struct uma_client *client, u32 id)
{
	struct uma_queue *queue;

	xa_lock(&client->queues);
	queue = xa_load(&client->queues, id);
	if (queue)
		kref_get(&queue->ref);
	xa_unlock(&client->queues);
	return queue;
}

static u32 uma_queue_reset_count(const struct uma_queue *queue)
{
	struct uma_device *uma = queue->uma;
	struct uma_engine *engine;
	u32 count = 0;

	uma_for_each_engine(uma, engine)
		if (queue->engines & BIT(engine->index))
			count += atomic_read(&engine->reset_count);
	return count;
}

/*
 * Has an engine of a queue been reset because of others? Evaluated on query, so that a reset need
 * not visit all queues.
 */
static bool uma_queue_disturbed(const struct uma_queue *queue)
{
	lockdep_assert_held(&queue->uma->queues_lock);

	return !(queue->state.flags & DRM_UMA_QUEUE_GUILTY) &&
	       uma_queue_reset_count(queue) != queue->reset_count;
}

/* As uma_queue_error(), with &uma_device.queues_lock held. */
int uma_queue_error_locked(struct uma_queue *queue)
{
	lockdep_assert_held(&queue->uma->queues_lock);

	if (queue->state.status == DRM_UMA_QUEUE_LOST)
		return -ENODEV;
	return queue->state.status != DRM_UMA_QUEUE_OK || queue->closed ? -ECANCELED : 0;
}

/* May a queue run jobs? Returns 0; -ECANCELED banned or closed; -ENODEV the device is lost. */
int uma_queue_error(struct uma_queue *queue)
{
	struct uma_device *uma = queue->uma;
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&uma->queues_lock, flags);
	ret = uma_queue_error_locked(queue);
	spin_unlock_irqrestore(&uma->queues_lock, flags);
	return ret;
}

/*
 * Choose the engine of a queue's next job, with &uma_client.submit_lock held. A queue keeps its
 * engine until it has no jobs. Then it gets the one with the lowest load.
 */
struct uma_engine *uma_queue_choose_engine(struct uma_queue *queue)
{
	struct uma_engine *engine, *best = NULL;
	struct uma_device *uma = queue->uma;

	if (atomic64_read(&queue->submitted) != atomic64_read(&queue->completed))
		return queue->engine;
	if (queue->engine)
		atomic_dec(&queue->engine->load);
	uma_for_each_engine(uma, engine)
		if (queue->engines & BIT(engine->index) &&
		    (!best || atomic_read(&engine->load) < atomic_read(&best->load)))
			best = engine;
	atomic_inc(&best->load);
	queue->engine = best;
	return best;
}

/* Ban a queue. @state is the reason, and is ignored if the queue is banned already. */
void uma_queue_guilty(struct uma_queue *queue, const struct drm_uma_queue_state *state)
{
	struct uma_device *uma = queue->uma;
	unsigned long flags;
	LIST_HEAD(ready);

	spin_lock_irqsave(&uma->queues_lock, flags);
	if (!(queue->state.flags & DRM_UMA_QUEUE_GUILTY)) {
		struct drm_uma_queue_state old = queue->state;

		if (uma_queue_disturbed(queue))
			old.flags |= DRM_UMA_QUEUE_INNOCENT;
		queue->state = *state;
		queue->state.queue_id = old.queue_id;
		queue->state.flags |= old.flags;
		/* A lost device takes precedence over a ban. */
		queue->state.status = max(state->status, old.status);
		uma_dispatch_cancel(queue, &ready);
	}
	spin_unlock_irqrestore(&uma->queues_lock, flags);
	uma_dispatch_go(&ready, true);
}

/* Mark all queues as lost, and end their jobs that are not on an engine. */
void uma_queues_lost(struct uma_device *uma)
{
	struct uma_queue *queue;
	unsigned long flags;
	LIST_HEAD(ready);

	spin_lock_irqsave(&uma->queues_lock, flags);
	list_for_each_entry(queue, &uma->queues, node) {
		queue->state.status = DRM_UMA_QUEUE_LOST;
		uma_dispatch_cancel(queue, &ready);
	}
	spin_unlock_irqrestore(&uma->queues_lock, flags);
	uma_dispatch_go(&ready, true);
}

static void uma_queue_close(struct uma_queue *queue)
{
	struct uma_device *uma = queue->uma;
	struct uma_engine *engine;
	LIST_HEAD(ready);

	spin_lock_irq(&uma->queues_lock);
	queue->closed = true;
	uma_dispatch_cancel(queue, &ready);
	spin_unlock_irq(&uma->queues_lock);
	uma_dispatch_go(&ready, true);
	uma_queue_drop_vm(queue);
	/* A job that has its engine is ended or preempted by uma_engine_push(). */
	uma_for_each_engine(uma, engine)
		if (queue->engines & BIT(engine->index))
			queue_work(uma->sched_wq, &engine->begin_work);
	uma_queue_put(queue);
}

/*
 * Close the queues of a file that is closed. A running job is preempted and ends, the others are
 * cancelled, so opening and closing files gives no more engine time, and keeps no memory.
 */
void uma_queues_close(struct uma_client *client)
{
	struct uma_queue *queue;
	unsigned long id;

	uma_dispatch_leave(client->uma, client->usage);
	xa_for_each(&client->queues, id, queue)
		uma_queue_close(queue);
	xa_destroy(&client->queues);
}

static struct uma_queue *uma_queue_alloc(struct uma_device *uma,
					 const struct drm_uma_queue_create *args)
{
	unsigned long instances = args->instances;
	struct uma_engine *engine;
	struct uma_queue *queue;
	u32 found = 0;
	int ret;

	queue = kzalloc_obj(*queue, GFP_KERNEL_ACCOUNT);
	if (!queue)
		return ERR_PTR(-ENOMEM);
	kref_init(&queue->ref);
	INIT_RCU_WORK(&queue->release, uma_queue_release_work);
	INIT_WORK(&queue->end_work, uma_dispatch_end_work);
	INIT_WORK(&queue->vm_work, uma_queue_vm_work);
	spin_lock_init(&queue->counters_lock);
	refcount_set(&queue->keepers, 1);
	INIT_LIST_HEAD(&queue->behind);
	queue->uma = uma;
	queue->engine_class = args->engine_class;
	queue->fence_context = dma_fence_context_alloc(1);
	queue->timeout_ms = args->timeout_ms;
	queue->exempt = uma_timeout_exempt();
	queue->priority = args->priority;
	queue->max_job_tasks = U32_MAX;
	queue->state.slot = UMA_FAULT_NO_SLOT;

	uma_for_each_engine(uma, engine) {
		if (engine->info.engine_class != args->engine_class ||
		    !(args->instances & BIT(engine->info.instance)))
			continue;
		found |= BIT(engine->info.instance);
		queue->engines |= BIT(engine->index);
		queue->max_job_tasks = min(queue->max_job_tasks, engine->info.max_job_tasks);
	}
	ret = -EINVAL;
	if (found != args->instances)
		goto err_free;
	snprintf(queue->name, sizeof(queue->name), "%s%*pbl", uma_class_names[args->engine_class],
		 (int)BITS_PER_TYPE(args->instances), &instances);
	ret = uma_sched_start(queue);
	if (ret)
		goto err_free;
	return queue;

err_free:
	kfree(queue);
	return ERR_PTR(ret);
}

/*
 * Destroyed queues count until they are freed: wait for those without jobs. Their last job may be
 * about to be freed, which only a reset delays.
 */
static void uma_queues_flush(struct uma_device *uma, struct uma_usage *usage)
{
	flush_workqueue(uma->sched_wq);
	uma_wait_released(atomic_read(&usage->queues) < UMA_MAX_QUEUES);
}

/* DRM_IOCTL_UMA_QUEUE_CREATE. A queue created while the device is lost is lost from the start. */
int uma_ioctl_queue_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct uma_device *uma = to_uma_device(drm);
	struct uma_client *client = file->driver_priv;
	struct drm_uma_queue_create *args = data;
	struct uma_queue *queue;
	struct uma_vm *vm;
	int ret;

	ret = uma_check_queue(args, UMA_MAX_TIMEOUT_MS);
	if (ret)
		return ret;
	/* Check the capability only if it is needed: a refusal may create an audit record. */
	if ((args->priority > DRM_UMA_PRIORITY_NORMAL ||
	     args->timeout_ms > READ_ONCE(uma->job_timeout_ms)) && !capable(CAP_SYS_NICE))
		return -EACCES;
	if (atomic_read(&client->usage->queues) >= UMA_MAX_QUEUES)
		uma_queues_flush(uma, client->usage);
	queue = uma_queue_alloc(uma, args);
	if (IS_ERR(queue))
		return PTR_ERR(queue);

	mutex_lock(&client->lock);
	vm = xa_load(&client->vms, args->vm_id);
	if (!vm) {
		ret = -ENOENT;
		goto err_unlock;
	}
	if (atomic_read(&client->usage->queues) >= UMA_MAX_QUEUES) {
		ret = -ENOSPC;
		goto err_unlock;
	}
	/* Reserve the id: once the queue can be looked up it has to be complete. */
	ret = xa_alloc(&client->queues, &args->queue_id, NULL, xa_limit_31b, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto err_unlock;
	atomic_inc(&client->usage->queues);
	vm->queues++;
	queue->vm = uma_vm_get(vm);
	queue->usage = uma_usage_get(client->usage);
	queue->state.queue_id = args->queue_id;
	queue->client_id = file->client_id;
	queue->pid = get_task_pid(current, PIDTYPE_TGID);
	drm_dev_get(drm);
	/* Safe, as the open file holds a module reference. */
	__module_get(THIS_MODULE);
	queue->reset_count = uma_queue_reset_count(queue);
	spin_lock_irq(&uma->queues_lock);
	list_add_tail(&queue->node, &uma->queues);
	if (READ_ONCE(uma->lost))
		queue->state.status = DRM_UMA_QUEUE_LOST;
	spin_unlock_irq(&uma->queues_lock);
	xa_store(&client->queues, args->queue_id, queue, GFP_KERNEL);
	mutex_unlock(&client->lock);
	return 0;

err_unlock:
	mutex_unlock(&client->lock);
	uma_sched_stop(queue);
	kfree(queue);
	return ret;
}

/* DRM_IOCTL_UMA_QUEUE_DESTROY */
int uma_ioctl_queue_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct uma_client *client = file->driver_priv;
	struct drm_uma_queue_destroy *args = data;
	struct uma_queue *queue;

	if (args->pad)
		return -EINVAL;
	mutex_lock(&client->lock);
	queue = xa_erase(&client->queues, args->queue_id);
	if (queue)
		queue->vm->queues--;
	mutex_unlock(&client->lock);
	if (!queue)
		return -ENOENT;
	uma_queue_close(queue);
	return 0;
}

/* DRM_IOCTL_UMA_QUEUE_STATE */
int uma_ioctl_queue_state(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct uma_device *uma = to_uma_device(drm);
	struct uma_client *client = file->driver_priv;
	struct drm_uma_queue_state *args = data;
	struct uma_queue *queue;
	u64 completed;

	if (args->status || args->flags || args->engine || args->task_index || args->reason ||
	    args->slot || args->error || args->fault_addr || args->tasks_addr ||
	    args->submitted || args->completed)
		return -EINVAL;
	queue = uma_queue_find(client, args->queue_id);
	if (!queue)
		return -ENOENT;
	completed = atomic64_read(&queue->completed);
	/*
	 * Read before the rest, so that a job that counts as completed also shows in the state,
	 * and is counted in submitted. Pairs with uma_done_signal().
	 */
	smp_rmb();
	spin_lock_irq(&uma->queues_lock);
	*args = queue->state;
	if (uma_queue_disturbed(queue))
		args->flags |= DRM_UMA_QUEUE_INNOCENT;
	spin_unlock_irq(&uma->queues_lock);
	args->completed = completed;
	args->submitted = atomic64_read(&queue->submitted);
	uma_queue_put(queue);
	return 0;
}

/* The debugfs file "queues". */
int uma_queues_show(struct seq_file *m, void *unused)
{
	static const char *const status[] = {
		[DRM_UMA_QUEUE_OK] = "ok",
		[DRM_UMA_QUEUE_BANNED] = "banned",
		[DRM_UMA_QUEUE_LOST] = "lost",
	};
	struct uma_device *uma = uma_debugfs_device(m);
	struct uma_queue *queue;

	seq_puts(m, "    pid client queue  engines prio status  submitted  completed closed\n");
	spin_lock_irq(&uma->queues_lock);
	list_for_each_entry(queue, &uma->queues, node)
		seq_printf(m, "%7d %6llu %5u %#8x %4u %-6s %10lld %10lld %6d\n",
			   pid_nr(queue->pid), queue->client_id, queue->state.queue_id,
			   queue->engines, queue->priority, status[queue->state.status],
			   atomic64_read(&queue->submitted), atomic64_read(&queue->completed),
			   queue->closed);
	spin_unlock_irq(&uma->queues_lock);
	return 0;
}
