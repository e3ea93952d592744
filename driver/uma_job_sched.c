// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Jobs on their way through an engine: from the scheduler onto the ring, and
 * from the completion record to the fence.
 *
 * The last that the scheduler waits for before it calls run_job is the job's
 * turn, and there is no other turn until the fence of the job has signalled: an
 * engine has at most one job. It stays in &uma_engine.job from run_job to
 * uma_engine_take(), after which it is signalled. The scheduler's own timeout is
 * not in use: recovery happens behind its back, before the fence signals, so it
 * never has to be stopped.
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_drv.h"
#include "uma_job.h"
#include "uma_job_fair.h"
#include "uma_pm.h"
#include "uma_show.h"
#include "uma_trace.h"
#include "uma_vm.h"

/* One for the job that runs and one for a job that goes without the engine. */
#define UMA_SCHED_CREDITS	2

static u32 uma_engine_reg(const struct uma_engine *engine, u32 reg)
{
	return UMA_REG_ENGINE(engine->index) + reg;
}

/**
 * uma_engine_setup - give an engine its ring, at first or after a reset
 * @engine: engine, disabled
 */
void uma_engine_setup(struct uma_engine *engine)
{
	struct uma_device *uma = engine->uma;

	memset(engine->ring, 0, sizeof(*engine->ring) << engine->ring_order);
	memset(engine->records, 0, sizeof(*engine->records) << engine->ring_order);
	engine->tail = 0;
	uma_write64(uma, uma_engine_reg(engine, UMA_ENG_RING_BASE_LO), engine->ring_dma);
	uma_write64(uma, uma_engine_reg(engine, UMA_ENG_RECORD_BASE_LO), engine->records_dma);
	uma_write(uma, uma_engine_reg(engine, UMA_ENG_RING_ORDER), engine->ring_order);
	wmb(); /* the ring is empty before the engine may look */
	uma_write(uma, uma_engine_reg(engine, UMA_ENG_CTRL), UMA_ENG_ENABLE);
}

static void uma_job_signal(struct uma_queue *queue, struct dma_fence *fence, int error)
{
	if (error)
		dma_fence_set_error(fence, error);
	atomic64_inc(&queue->completed);
	smp_wmb(); /* the count is right for whoever sees the fence */
	/* What uma_submit_push() took. Whoever sees the fence may let go of the queue. */
	uma_pm_put(queue->uma);
	dma_fence_signal(fence);
}

/* Time that the engine's job has used. A device that lies only makes it less. */
static u64 uma_engine_time(struct uma_engine *engine, int error)
{
	u64 ns, wall = uma_engine_elapsed_ns(engine);

	if (error || !wall)
		return wall;
	ns = uma_ticks_to_ns(engine->uma, engine->result.end - engine->result.start);
	return min(ns, wall);
}

/**
 * uma_engine_take - take the job away from an engine that is done with it
 * @engine: engine with a job, its lock held
 * @error: 0 or what goes into the fence
 * @done: out: what uma_engine_signal() needs
 *
 * Whoever takes it signals it: that is what makes sure that it happens once.
 */
void uma_engine_take(struct uma_engine *engine, int error, struct uma_done *done)
{
	struct uma_device *uma = engine->uma;
	u64 ns = uma_engine_time(engine, error);

	lockdep_assert_held(&engine->lock);

	done->queue = engine->job->queue;
	done->fence = engine->job->done;
	done->error = error;
	done->number = engine->job->number;
	done->start = engine->started ? engine->result.start : 0;
	done->end = engine->started ? engine->result.end : 0;
	if (engine->started) {
		atomic64_add(ns, &done->queue->usage->ns[engine->info.engine_class]);
		/* A device that lies does not get faster by it. */
		atomic64_add(min(engine->result.cycles,
				 mul_u64_u32_div(ns, engine->info.clock_max_mhz, 1000)),
			     &done->queue->usage->cycles[engine->info.engine_class]);
		uma_engine_count(engine, error, ns);
		uma_turns_charge(engine, engine->job, ns, engine->failure == UMA_FAILURE_TIMEOUT);
	}
	uma_coredump_event(engine, UMA_DUMP_EVENT_DONE, engine->job, error);
	/* With the lock held: a reset of the device forgets the slots of jobs that it finds. */
	if (engine->as >= 0 && uma_slots_put(&uma->slots, engine->as) && READ_ONCE(uma->starved))
		queue_work(uma->reset_wq, &uma->kick_work);
	engine->as = -1;
	engine->job = NULL;
	engine->started = 0;
	engine->state = UMA_ENGINE_IDLE;
	engine->failure = UMA_FAILURE_NONE;
}

/**
 * uma_engine_signal - tell the world about a job that is done
 * @engine: engine that it was taken from
 * @done: what uma_engine_take() gave
 *
 * The scheduler may free the job, and with it the queue, from here on. It is the
 * next one's turn. Callable from interrupts.
 */
void uma_engine_signal(struct uma_engine *engine, const struct uma_done *done)
{
	trace_uma_job_done(engine, done);
	uma_job_signal(done->queue, done->fence, done->error);
	dma_fence_put(done->fence);
	uma_turns_next(engine);
}

/**
 * uma_engine_poll - look whether the job is done
 * @engine: engine
 * @irq: an interrupt said so
 *
 * Callable from interrupts.
 */
void uma_engine_poll(struct uma_engine *engine, bool irq)
{
	struct uma_device *uma = engine->uma;
	struct uma_done done = {};
	struct uma_record *rec;
	unsigned long flags;
	bool cookie;

	cookie = dma_fence_begin_signalling();
	spin_lock_irqsave(&engine->lock, flags);
	rec = &engine->records[uma_ring_index(engine->tail - 1, engine->ring_order)];
	if (engine->state == UMA_ENGINE_RUNNING &&
	    uma_record_read(rec, engine->seqno, &engine->result)) {
		if (!irq)
			engine->missed++;
		if (engine->result.reason == UMA_FAULT_NONE) {
			uma_engine_take(engine, 0, &done);
		} else {
			uma_engine_fail(engine, UMA_FAILURE_FAULT);
			mod_delayed_work(uma->reset_wq, &engine->watch, 0);
		}
	}
	spin_unlock_irqrestore(&engine->lock, flags);
	if (done.fence)
		uma_engine_signal(engine, &done);
	dma_fence_end_signalling(cookie);
}

/**
 * uma_engine_push - put the engine's job on the ring, if there is one and it can be done
 * @engine: engine
 *
 * If it cannot be done now it is tried again: by uma_kick_work() when a slot
 * gets free or the device has been reset.
 */
void uma_engine_push(struct uma_engine *engine)
{
	struct uma_device *uma = engine->uma;
	struct uma_queue *queue;
	struct uma_job *job;
	u32 timeout;
	int as;

	mutex_lock(&uma->hw_lock);
	/* With the lock held nobody but us, or who finds the device lost, changes one that is held. */
	if (READ_ONCE(engine->state) != UMA_ENGINE_HELD || uma->resetting || uma->asleep ||
	    uma->lost)
		goto out;
	job = engine->job;
	/* The job holds a reference. */
	if (WARN_ON_ONCE(!uma->powered))
		goto out;
	queue = job->queue;
	as = uma_mmu_get_as_confirmed(queue->vm);
	if (as == -EBUSY) {
		WRITE_ONCE(uma->starved, true);
		smp_mb(); /* try again: who gives a slot back from now on sees it */
		as = uma_mmu_get_as_confirmed(queue->vm);
	}
	if (as < 0) {
		if (as != -EBUSY)
			uma_reset_request(uma);
		goto out;
	}
	timeout = queue->timeout_ms ?: READ_ONCE(uma->job_timeout_ms);

	spin_lock_irq(&engine->lock);
	engine->as = as;
	engine->started = ktime_get();
	engine->deadline = ktime_add_ms(engine->started, timeout);
	engine->result = (struct uma_result) { .slot = UMA_FAULT_NO_SLOT };
	uma_ring_write(&engine->ring[uma_ring_index(engine->tail, engine->ring_order)],
		       job->tasks_addr, job->task_count, as, ++engine->seqno, job->stamps_addr);
	engine->tail++;
	engine->state = UMA_ENGINE_RUNNING;
	trace_uma_job_run(engine, job);
	uma_coredump_event(engine, UMA_DUMP_EVENT_RUN, job, 0);
	wmb(); /* the entry is there before the doorbell rings */
	uma_write(uma, uma_engine_reg(engine, UMA_ENG_RING_TAIL), engine->tail);
	spin_unlock_irq(&engine->lock);
	uma_engine_watch_start(engine, timeout);
out:
	mutex_unlock(&uma->hw_lock);
}

static struct dma_fence *uma_sched_prepare_job(struct drm_sched_job *sched_job,
					       struct drm_sched_entity *entity)
{
	struct uma_engine *engine = container_of(sched_job->sched, struct uma_engine, sched);
	struct uma_job *job = to_uma_job(sched_job);
	struct dma_fence *fence;

	if (job->dep_next < job->dep_count) {
		fence = job->deps[job->dep_next];
		job->deps[job->dep_next++] = NULL;
		return fence;
	}
	return uma_ticket_wait(engine, job);
}

static struct dma_fence *uma_sched_run_job(struct drm_sched_job *sched_job)
{
	struct uma_engine *engine = container_of(sched_job->sched, struct uma_engine, sched);
	struct uma_job *job = to_uma_job(sched_job);
	struct uma_device *uma = engine->uma;
	struct dma_fence *fence;
	bool cookie, turn;
	int error;

	cookie = dma_fence_begin_signalling();
	fence = uma_fence_init(job->fence, engine, job->queue);
	job->fence = NULL;

	turn = uma_ticket_holds(job->ticket);
	error = uma_queue_error(job->queue);
	if (error || !turn) {
		const struct uma_done done = {
			.queue = job->queue, .fence = fence, .error = error, .number = job->number,
		};

		trace_uma_job_done(engine, &done);
		WARN_ON(!error && job->task_count);
		uma_job_signal(job->queue, fence, error);
		if (turn)
			uma_turns_next(engine);
		goto out;
	}

	job->done = dma_fence_get(fence);
	spin_lock_irq(&engine->lock);
	WARN_ON(engine->job);
	engine->job = job;
	engine->state = UMA_ENGINE_HELD;
	spin_unlock_irq(&engine->lock);
	uma_engine_push(engine);
	/* If the device went before the job was seen, nobody else ends it. */
	if (READ_ONCE(uma->lost))
		uma_reset_abort_held(engine);
out:
	dma_fence_end_signalling(cookie);
	return fence;
}

/* Never called: no timeout is set, see above. */
static enum drm_gpu_sched_stat uma_sched_timedout_job(struct drm_sched_job *sched_job)
{
	return DRM_GPU_SCHED_STAT_RESET;
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
	uma_fence_discard(job->fence);
	uma_ticket_free(job->ticket);
	uma_queue_put(job->queue);
	kvfree(job->deps);
	kfree(job);
}

static void uma_sched_free_job(struct drm_sched_job *sched_job)
{
	uma_job_free(to_uma_job(sched_job));
}

static const struct drm_sched_backend_ops uma_sched_ops = {
	.prepare_job = uma_sched_prepare_job,
	.run_job = uma_sched_run_job,
	.timedout_job = uma_sched_timedout_job,
	.free_job = uma_sched_free_job,
};

static void uma_sched_fini(struct drm_device *drm, void *sched)
{
	/* Queues hold the device, and jobs hold queues: there are none. */
	uma_turns_fini(container_of(sched, struct uma_engine, sched));
	drm_sched_fini(sched);
}

/**
 * uma_sched_init - make the schedulers
 * @uma: device
 *
 * Return: 0 or an error.
 */
int uma_sched_init(struct uma_device *uma)
{
	struct uma_engine *engine;
	int ret;

	uma_for_each_engine(uma, engine) {
		const struct drm_sched_init_args args = {
			.ops = &uma_sched_ops,
			.num_rqs = DRM_SCHED_PRIORITY_COUNT,
			.credit_limit = UMA_SCHED_CREDITS,
			.timeout = MAX_SCHEDULE_TIMEOUT,
			.name = engine->name,
			.dev = uma->drm.dev,
		};

		uma_turns_init(engine);
		ret = drm_sched_init(&engine->sched, &args);
		if (ret)
			return ret;
		ret = drmm_add_action_or_reset(&uma->drm, uma_sched_fini, &engine->sched);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * The fences that stand for a job on an engine.
 *
 * User space can hold a fence for longer than the device that made it exists,
 * and ask for its names. Every fence of the scheduler holds one of ours, which
 * in turn holds the device and the module, so that names, operations and the
 * scheduler's own pointers stay valid. A module whose fences somebody keeps
 * cannot be unloaded.
 */

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
