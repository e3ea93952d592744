// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * From a dispatched job to the ring, and from the completion record to the fence. Which job gets
 * the engine is decided by the run-list of uma_job_dispatch.c.
 *
 * An engine is dispatched to one job at a time. The job is in &uma_engine.job from
 * uma_engine_take() until uma_engine_detach(), after which it is signalled, or until it is
 * preempted; then uma_engine_take() brings it back.
 *
 * A job may wait for its engine for a long time, and repeatedly, so the scheduler cannot time it:
 * &uma_engine.watch checks how long it has run, and notifies its queue's scheduler of a failure.
 */
#include <linux/export.h>
#include <linux/math64.h>
#include <linux/workqueue.h>

#include <kunit/visibility.h>

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

/* Set up the ring of an engine, which is disabled, after power-on or a reset. */
void uma_engine_setup(struct uma_engine *engine)
{
	struct uma_device *uma = engine->uma;

	memset(engine->ring, 0, sizeof(*engine->ring) << engine->ring_order);
	memset(engine->records, 0, sizeof(*engine->records) << engine->ring_order);
	engine->tail = 0;
	uma_write64(uma, uma_engine_reg(engine, UMA_ENG_RING_BASE_LO), engine->ring_dma);
	uma_write64(uma, uma_engine_reg(engine, UMA_ENG_RECORD_BASE_LO), engine->records_dma);
	uma_write(uma, uma_engine_reg(engine, UMA_ENG_RING_ORDER), engine->ring_order);
	/* Clear the ring before CTRL; pairs with the engine's read of the ring after CTRL. */
	wmb();
	uma_write(uma, uma_engine_reg(engine, UMA_ENG_CTRL), UMA_ENG_ENABLE);
}

/* Engine time of the job in ns. Wrong timestamps of the device can only make it shorter. */
static u64 uma_engine_time(struct uma_engine *engine, int error)
{
	u64 ns, wall = uma_engine_elapsed_ns(engine);

	if (error || !wall)
		return wall;
	ns = uma_ticks_to_ns(engine->uma, engine->result.end - engine->result.start);
	return min(ns, wall);
}

/* Account the time of the engine's job. */
static void uma_engine_account(struct uma_engine *engine, bool ended, int error)
{
	u64 ns = uma_engine_time(engine, error);
	struct uma_job *job = engine->job;
	struct uma_usage *usage = job->queue->usage;

	atomic64_add(ns, &usage->ns[engine->info.engine_class]);
	/* Limited by the maximum clock, whatever the device reports. */
	atomic64_add(min(engine->result.cycles,
			 mul_u64_u32_div(ns, engine->info.clock_max_mhz, 1000)),
		     &usage->cycles[engine->info.engine_class]);
	uma_engine_count(engine, ended, error, ns);
	uma_dispatch_charge(engine, job, ns, engine->failure == UMA_FAILURE_TIMEOUT);
	/* Timeouts use the CPU's clock, whatever the device reports. */
	job->run_ns += uma_engine_elapsed_ns(engine);
}

/* The engine has no job any more; it is locked. */
static void uma_engine_clear(struct uma_engine *engine)
{
	struct uma_device *uma = engine->uma;

	/* Under the lock: a reset of the device sets as to -1, as it clears the slots. */
	if (engine->as >= 0 && uma_slots_put(&uma->slots, engine->as) && READ_ONCE(uma->starved))
		queue_work(uma->sched_wq, &uma->kick_work);
	engine->as = -1;
	WRITE_ONCE(engine->job->queue->failed, false);
	engine->job = NULL;
	engine->started = 0;
	engine->state = UMA_ENGINE_IDLE;
	engine->failure = UMA_FAILURE_NONE;
}

/* Prepare to signal a job that no other code can end; the engine is locked. */
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
	/* The count before the fence; pairs with uma_ioctl_queue_state(). */
	smp_wmb();
	/* Taken by uma_submit_push(). Dropped before the fence signals: the queue may go then. */
	atomic_dec(&engine->load);
	atomic_dec(&queue->usage->unfinished);
	uma_pm_put(engine->uma);
	dma_fence_signal(done->fence);
	dma_fence_put(done->fence);
}

/* Error of a job that is ended early: after a reset its queue may still be OK. */
static int uma_job_end_error(const struct uma_job *job)
{
	return uma_queue_error(job->queue) ?: job->task_count ? -ECANCELED : 0;
}

/**
 * uma_job_end - end a job that does not have its engine and will not get it
 * @job: first job of its queue
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
 * uma_engine_detach - detach the job from an engine that is done with it
 * @engine: engine with a job, its lock held
 * @error: 0 or error of the fence
 * @done: out: for uma_engine_signal()
 *
 * The code that detaches a job signals it, so it is signalled exactly once.
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
 * uma_engine_signal - signal a job that was detached, and release the engine
 * @engine: engine that it was on
 * @done: from uma_engine_detach()
 *
 * The scheduler may free the job from here on. Callable from interrupts.
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
 * Is the record of a preempted job valid? There must be progress, or the job might never end. Only
 * the engine knows how many tiles a task has: a job that is continued after the last one faults.
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
 * uma_engine_poll - check whether the job has completed, failed or been preempted
 * @engine: engine
 * @irq: called by its interrupt
 *
 * Callable from interrupts.
 */
void uma_engine_poll(struct uma_engine *engine, bool irq)
{
	struct uma_job *preempted = NULL;
	struct uma_done done = {};
	struct uma_record *rec;
	unsigned long flags;

	guard(uma_signalling)();
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
		else if (!engine->result.preempted)
			uma_engine_detach(engine, 0, &done);
		else if (ktime_after(ktime_get(), engine->deadline))
			/* Each run restarts the watch, which may not have expired yet. */
			uma_engine_fail(engine, UMA_FAILURE_TIMEOUT);
		else
			preempted = uma_engine_preempted(engine);
	}
	spin_unlock_irqrestore(&engine->lock, flags);
	if (preempted && !uma_dispatch_requeue(engine, preempted)) {
		spin_lock_irqsave(&engine->lock, flags);
		uma_done_init(engine, &done, preempted, uma_job_end_error(preempted));
		spin_unlock_irqrestore(&engine->lock, flags);
	}
	if (done.fence)
		uma_engine_signal(engine, &done);
}
EXPORT_SYMBOL_IF_KUNIT(uma_engine_poll);

/**
 * uma_engine_preempt - have an engine stop between two tiles of its job, or two tasks
 * @engine: engine
 * @seqno: sequence number of the job, 0 for any
 *
 * Does nothing if the engine cannot be preempted. Callable from interrupts.
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

/* End a job that is held, of a device that is not lost. */
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
	/* hw_lock keeps a job that is held, unless the device is found to be lost. */
	spin_lock_irq(&engine->lock);
	job = engine->job;
	state = engine->state;
	error = job ? uma_queue_error(job->queue) : 0;
	/* A reset by the administrator ended all jobs that had begun. */
	if (job && !error && uma_job_has_begun(job) && job->drops != READ_ONCE(engine->drops))
		error = -ECANCELED;
	spin_unlock_irq(&engine->lock);
	if (error && state == UMA_ENGINE_HELD) {
		uma_engine_cancel(engine, error);
		return;
	}
	if (uma->resetting || uma->asleep)
		return;
	/* No other job can start meanwhile, so 0 is enough. */
	if (error)
		uma_engine_preempt(engine, 0);
	/* The job holds a runtime PM reference. */
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
	/* The entry before the doorbell; pairs with the engine's read of it after TAIL. */
	wmb();
	uma_write(uma, uma_engine_reg(engine, UMA_ENG_RING_TAIL), engine->tail);
	if (uma->preempts)
		uma_dispatch_start(engine, job);
	spin_unlock_irq(&engine->lock);
	uma_engine_watch_start(engine, div_u64(left, NSEC_PER_MSEC));
}

/**
 * uma_engine_push - put the engine's job on the ring, if it has one that is held
 * @engine: engine
 *
 * If its queue has been closed it is ended instead; one that is on the ring already is to stop
 * after its tile or its task, where the engine can.
 *
 * If it cannot be pushed now, uma_kick_work() does so when a slot is free, or the end of the reset.
 */
void uma_engine_push(struct uma_engine *engine)
{
	guard(mutex)(&engine->uma->hw_lock);
	uma_engine_push_locked(engine);
}
EXPORT_SYMBOL_IF_KUNIT(uma_engine_push);

/* uma_engine_push() of all engines; those with a ticket for a slot first, in their order. */
void uma_engines_push(struct uma_device *uma)
{
	struct uma_engine *engine, *next;
	u64 last = 0;

	guard(mutex)(&uma->hw_lock);
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
}

/* An engine was dispatched to a job; uma_engine_begin() is to follow. Callable from interrupts. */
void uma_engine_take(struct uma_engine *engine, struct uma_job *job)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	WARN_ON(engine->job);
	engine->job = job;
	engine->state = UMA_ENGINE_HELD;
	spin_unlock_irqrestore(&engine->lock, flags);
}

/* Push the job of an engine, in a section that fences depend on. */
void uma_engine_begin(struct uma_engine *engine)
{
	guard(uma_signalling)();
	uma_engine_push(engine);
	/* If the device was lost before the job was set, no other code ends it. */
	if (READ_ONCE(engine->uma->lost))
		uma_reset_abort_held(engine);
}

/* Defers uma_engine_begin(), for callers that may not sleep. */
void uma_engine_begin_work(struct work_struct *work)
{
	uma_engine_begin(container_of(work, struct uma_engine, begin_work));
}
EXPORT_SYMBOL_IF_KUNIT(uma_engine_begin_work);
