// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A job and its engine: onto the ring, and from the completion record to the fence. Which job
 * gets the engine is up to the run-list of uma_job_dispatch.c.
 *
 * An engine is given to one job, and to no other until it has been released. It stays in
 * &uma_engine.job from uma_engine_take() to uma_engine_detach(), after which it is signalled, or
 * until it is preempted; uma_engine_take() brings it back then.
 *
 * A job may wait for its engine for long, and more than once, so how long it has run is for the
 * engine to say: &uma_engine.watch looks after it, and tells its queue's scheduler when it has
 * failed.
 */
#include <linux/export.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/drm_managed.h>

#include <kunit/visibility.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_drv.h"
#include "uma_job.h"
#include "uma_pm.h"
#include "uma_show.h"
#include "uma_trace.h"
#include "uma_vm.h"

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
	/* The ring is empty before the engine may look; pairs with its read of it after CTRL. */
	wmb();
	uma_write(uma, uma_engine_reg(engine, UMA_ENG_CTRL), UMA_ENG_ENABLE);
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

/* Account for the time that an engine has had its job. */
static void uma_engine_account(struct uma_engine *engine, bool ended, int error)
{
	u64 ns = uma_engine_time(engine, error);
	struct uma_job *job = engine->job;
	struct uma_usage *usage = job->queue->usage;

	atomic64_add(ns, &usage->ns[engine->info.engine_class]);
	/* A device that lies does not get faster by it. */
	atomic64_add(min(engine->result.cycles,
			 mul_u64_u32_div(ns, engine->info.clock_max_mhz, 1000)),
		     &usage->cycles[engine->info.engine_class]);
	uma_engine_count(engine, ended, error, ns);
	uma_dispatch_charge(engine, job, ns, engine->failure == UMA_FAILURE_TIMEOUT);
	/* What its timeout is held against is not up to the device. */
	job->run_ns += uma_engine_elapsed_ns(engine);
}

/* The engine has no job any more. */
static void uma_engine_clear(struct uma_engine *engine)
{
	struct uma_device *uma = engine->uma;

	/* With the lock held: a reset of the device forgets the slots of jobs that it finds. */
	if (engine->as >= 0 && uma_slots_put(&uma->slots, engine->as) && READ_ONCE(uma->starved))
		queue_work(uma->sched_wq, &uma->kick_work);
	engine->as = -1;
	WRITE_ONCE(engine->job->queue->failed, false);
	engine->job = NULL;
	engine->started = 0;
	engine->state = UMA_ENGINE_IDLE;
	engine->failure = UMA_FAILURE_NONE;
}

/* Whoever made sure that nobody else ends the job has it signalled with this; engine locked. */
static void uma_done_init(struct uma_engine *engine, struct uma_done *done, struct uma_job *job,
			  int error)
{
	/* Has it been on the ring, now or before? */
	if (engine->started || uma_job_has_begun(job))
		uma_coredump_event(engine, UMA_DUMP_EVENT_DONE, job, error);
	kref_get(&job->queue->ref);
	*done = (struct uma_done) {
		.queue = job->queue, .fence = job->done, .error = error, .number = job->number,
	};
}

static void uma_done_signal(struct uma_engine *engine, const struct uma_done *done)
{
	struct uma_queue *queue = done->queue;

	trace_uma_job_done(engine, done);
	if (done->error)
		dma_fence_set_error(done->fence, done->error);
	atomic64_inc(&queue->completed);
	/* The count is right for who sees the fence; pairs with uma_ioctl_queue_state(). */
	smp_wmb();
	/* What uma_submit_push() took. Whoever sees the fence may let go of the queue. */
	atomic_dec(&engine->load);
	atomic_dec(&queue->usage->unfinished);
	uma_pm_put(engine->uma);
	dma_fence_signal(done->fence);
	dma_fence_put(done->fence);
}

/* What a job gets that is ended before its time: the queue may be fine, if there was a reset. */
static int uma_job_end_error(const struct uma_job *job)
{
	return uma_queue_error(job->queue) ?: job->task_count ? -ECANCELED : 0;
}

/**
 * uma_job_end - end a job that does not have its engine, and does not get it any more
 * @job: job, whose turn it is in its queue
 *
 * The scheduler may free it from here on. Callable from interrupts.
 */
void uma_job_end(struct uma_job *job)
{
	struct uma_engine *engine = job->engine;
	const struct uma_done done = {
		.queue = job->queue, .fence = job->done, .error = uma_job_end_error(job),
		.number = job->number,
	};
	unsigned long flags;

	if (uma_job_has_begun(job)) {
		spin_lock_irqsave(&engine->lock, flags);
		uma_coredump_event(engine, UMA_DUMP_EVENT_DONE, job, done.error);
		spin_unlock_irqrestore(&engine->lock, flags);
	}
	uma_done_signal(engine, &done);
}

/**
 * uma_engine_detach - take the job away from an engine that is done with it
 * @engine: engine with a job, its lock held
 * @error: 0 or what goes into the fence
 * @done: out: what uma_engine_signal() needs
 *
 * Whoever detaches it signals it: that is what makes sure that it happens once.
 */
void uma_engine_detach(struct uma_engine *engine, int error, struct uma_done *done)
{
	struct uma_job *job = engine->job;

	lockdep_assert_held(&engine->lock);

	uma_done_init(engine, done, job, error);
	if (engine->started)
		uma_engine_account(engine, true, error);
	done->start = engine->started ? engine->result.start : 0;
	done->end = engine->started ? engine->result.end : 0;
	uma_engine_clear(engine);
}

/**
 * uma_engine_signal - tell the world about a job that is done
 * @engine: engine that it was on
 * @done: what uma_engine_detach() gave
 *
 * The scheduler may free the job from here on, and the next one is dispatched. Callable
 * from interrupts.
 */
void uma_engine_signal(struct uma_engine *engine, const struct uma_done *done)
{
	uma_done_signal(engine, done);
	uma_dispatch_release(engine, done->queue);
	uma_queue_put(done->queue);
}

/* Take the job off the engine, which has stopped between two of its tasks or tiles. */
static struct uma_job *uma_engine_preempted(struct uma_engine *engine)
{
	struct uma_job *job = engine->job;

	uma_engine_account(engine, false, 0);
	job->first_task += engine->result.task_index;
	job->first_tile = engine->result.tile;
	engine->preemptions++;
	trace_uma_job_preempt(engine, job);
	uma_coredump_event(engine, UMA_DUMP_EVENT_PREEMPT, job, 0);
	uma_engine_clear(engine);
	return job;
}

/*
 * Does what the engine says about a job that it stopped make sense? It has got on, or it might
 * never end. How many tiles a task has only the engine knows: it refuses to go on behind the last.
 */
static bool uma_engine_stopped_well(const struct uma_engine *engine)
{
	const struct uma_result *res = &engine->result;
	const struct uma_job *job = engine->job;

	if (!engine->uma->preempts || res->task_index >= job->task_count - job->first_task)
		return false;
	if (!res->tile)
		return res->task_index;
	return engine->info.flags & UMA_ENGINE_PREEMPT &&
	       (res->task_index || res->tile > job->first_tile);
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
	struct uma_job *preempted = NULL;
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
		if (engine->result.preempted && !uma_engine_stopped_well(engine))
			engine->result.reason = UMA_FAULT_INTERNAL;
		if (engine->result.reason != UMA_FAULT_NONE)
			uma_engine_fail(engine, UMA_FAILURE_FAULT);
		else if (engine->result.preempted)
			preempted = uma_engine_preempted(engine);
		else
			uma_engine_detach(engine, 0, &done);
	}
	spin_unlock_irqrestore(&engine->lock, flags);
	if (preempted && !uma_dispatch_requeue(engine, preempted)) {
		spin_lock_irqsave(&engine->lock, flags);
		uma_done_init(engine, &done, preempted, uma_job_end_error(preempted));
		spin_unlock_irqrestore(&engine->lock, flags);
	}
	if (done.fence)
		uma_engine_signal(engine, &done);
	dma_fence_end_signalling(cookie);
}
EXPORT_SYMBOL_IF_KUNIT(uma_engine_poll);

/**
 * uma_engine_preempt - have an engine stop between two tiles of its job, or two tasks
 * @engine: engine
 * @seqno: number of the job on the ring, 0: whichever runs
 *
 * Callable from interrupts. Where the engine cannot, or the job is about to end, nothing happens.
 */
void uma_engine_preempt(struct uma_engine *engine, u64 seqno)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	if (engine->uma->preempts && engine->state == UMA_ENGINE_RUNNING &&
	    (!seqno || engine->seqno == seqno))
		uma_write64(engine->uma, uma_engine_reg(engine, UMA_ENG_PREEMPT_LO),
			    engine->seqno);
	spin_unlock_irqrestore(&engine->lock, flags);
}

/* End a job that is held, of a device that is not lost: it does not go to the ring any more. */
static void uma_engine_cancel(struct uma_engine *engine, int error)
{
	struct uma_done done;

	spin_lock_irq(&engine->lock);
	uma_engine_detach(engine, error, &done);
	spin_unlock_irq(&engine->lock);
	uma_dispatch_drop_as(engine);
	uma_engine_signal(engine, &done);
}

static void uma_engine_push_locked(struct uma_engine *engine)
{
	struct uma_device *uma = engine->uma;
	enum uma_engine_state state;
	struct uma_queue *queue;
	struct uma_job *job;
	int as, error;
	u64 stamps;
	u32 limit;
	s64 left;

	lockdep_assert_held(&uma->hw_lock);

	if (uma->lost)
		return;
	/* With hw_lock held only we, and who finds the device lost, change one that is held. */
	spin_lock_irq(&engine->lock);
	job = engine->job;
	state = engine->state;
	error = job ? uma_queue_error(job->queue) : 0;
	/* A reset by the administrator ended all that had begun. */
	if (job && !error && uma_job_has_begun(job) && job->drops != READ_ONCE(engine->drops))
		error = -ECANCELED;
	spin_unlock_irq(&engine->lock);
	if (error && state == UMA_ENGINE_HELD) {
		uma_engine_cancel(engine, error);
		return;
	}
	if (uma->resetting || uma->asleep)
		return;
	/* Only we start another one. */
	if (error)
		uma_engine_preempt(engine, 0);
	/* The job holds a reference of the power. */
	if (state != UMA_ENGINE_HELD || WARN_ON_ONCE(!uma->powered))
		return;
	queue = job->queue;
	as = uma_dispatch_get_as(engine);
	if (as < 0) {
		if (as != -EBUSY && as != -EAGAIN)
			uma_reset_request(uma);
		return;
	}
	limit = READ_ONCE(uma->job_timeout_ms);
	if (queue->timeout_ms && (queue->exempt || queue->timeout_ms < limit))
		limit = queue->timeout_ms;
	left = max_t(s64, 0, mul_u32_u32(limit, NSEC_PER_MSEC) - job->run_ns);
	stamps = job->stamps_addr ?
		job->stamps_addr + (u64)job->first_task * sizeof(struct uma_task_stamp) : 0;

	spin_lock_irq(&engine->lock);
	engine->as = as;
	engine->started = ktime_get();
	engine->deadline = ktime_add_ns(engine->started, left);
	engine->result = (struct uma_result) { .slot = UMA_FAULT_NO_SLOT };
	uma_ring_write(&engine->ring[uma_ring_index(engine->tail, engine->ring_order)],
		       job->tasks_addr + (u64)job->first_task * UMA_TASK_SIZE,
		       job->task_count - job->first_task, as, ++engine->seqno, stamps,
		       job->first_tile);
	engine->tail++;
	engine->state = UMA_ENGINE_RUNNING;
	trace_uma_job_run(engine, job);
	uma_coredump_event(engine, UMA_DUMP_EVENT_RUN, job, 0);
	/* The entry is there before the doorbell rings; pairs with the engine's read after TAIL. */
	wmb();
	uma_write(uma, uma_engine_reg(engine, UMA_ENG_RING_TAIL), engine->tail);
	if (uma->preempts)
		uma_dispatch_start(engine, job);
	spin_unlock_irq(&engine->lock);
	uma_engine_watch_start(engine, div_u64(left, NSEC_PER_MSEC));
}

/**
 * uma_engine_push - put the engine's job on the ring, if there is one and it can be done
 * @engine: engine
 *
 * If its queue has been closed it is ended instead; one that is on the ring already is to stop
 * after its tile or its task, where the engine can.
 *
 * If it cannot be done now it is tried again: by uma_kick_work() when a slot
 * gets free or the device has been reset.
 */
void uma_engine_push(struct uma_engine *engine)
{
	mutex_lock(&engine->uma->hw_lock);
	uma_engine_push_locked(engine);
	mutex_unlock(&engine->uma->hw_lock);
}
EXPORT_SYMBOL_IF_KUNIT(uma_engine_push);

/**
 * uma_engines_push - as uma_engine_push(), of all engines
 * @uma: device
 */
void uma_engines_push(struct uma_device *uma)
{
	struct uma_engine *engine, *next;
	u64 last = 0;

	mutex_lock(&uma->hw_lock);
	do {
		next = NULL;
		uma_for_each_engine(uma, engine)
			if (engine->as_ticket > last &&
			    (!next || engine->as_ticket < next->as_ticket))
				next = engine;
		if (next) {
			last = next->as_ticket;
			uma_engine_push_locked(next);
		}
	} while (next);
	uma_for_each_engine(uma, engine)
		if (!engine->as_ticket)
			uma_engine_push_locked(engine);
	mutex_unlock(&uma->hw_lock);
}

/**
 * uma_engine_take - an engine has been given to a job
 * @engine: engine
 * @job: job
 *
 * uma_engine_begin() is to follow. Callable from interrupts.
 */
void uma_engine_take(struct uma_engine *engine, struct uma_job *job)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	WARN_ON(engine->job);
	engine->job = job;
	engine->state = UMA_ENGINE_HELD;
	spin_unlock_irqrestore(&engine->lock, flags);
}

/**
 * uma_engine_begin - begin with what an engine has taken, or go on with it
 * @engine: engine
 */
void uma_engine_begin(struct uma_engine *engine)
{
	bool cookie;

	cookie = dma_fence_begin_signalling();
	uma_engine_push(engine);
	/* If the device went before the job was seen, nobody else ends it. */
	if (READ_ONCE(engine->uma->lost))
		uma_reset_abort_held(engine);
	dma_fence_end_signalling(cookie);
}

/**
 * uma_engine_begin_work - as uma_engine_begin(), from where that cannot be called
 * @work: &uma_engine.begin_work
 */
void uma_engine_begin_work(struct work_struct *work)
{
	uma_engine_begin(container_of(work, struct uma_engine, begin_work));
}
EXPORT_SYMBOL_IF_KUNIT(uma_engine_begin_work);
