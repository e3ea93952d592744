// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The run-lists of the engines, between the queues' schedulers and uma_job_sfq.c.
 *
 * A scheduler hands over the jobs of its queue in order, when their dependencies have signalled.
 * The first one requests its engine; the one behind it is kept here, so that it can do so as soon
 * as the first is done. A job that is dispatched has the engine until uma_dispatch_release(),
 * after its fence has signalled, or until it is preempted and requeued by uma_dispatch_requeue().
 * The scheduler does not know of that: for it the job is running. Each job has a timeout, and is
 * preempted after a slice, so each wait for an engine ends.
 *
 * All is under &uma_device.queues_lock, so a queue that is banned has no request queued; jobs are
 * pushed, or ended, after it has been dropped.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>

#include <kunit/visibility.h>

#include "uma_device.h"
#include "uma_drv.h"
#include "uma_job.h"
#include "uma_job_sfq.h"
#include "uma_vm.h"

/*
 * Number of jobs that one interrupt ends. User space chooses how many there are: a queue's next
 * jobs may become runnable as fast as they end. The remaining ones are ended by a work.
 */
#define UMA_DISPATCH_BUDGET	4

/* Set the timer for the end of penalties and for preemption. */
static void uma_dispatch_arm(struct uma_engine *engine, u64 now)
{
	u64 event = uma_sfq_next_event(&engine->sfq);

	if (event != U64_MAX)
		mod_timer(&engine->sfq_timer,
			  jiffies + nsecs_to_jiffies(event > now ? event - now : 0) + 1);
}

/* A request was queued: preempt the running job, now or when its slice ends. */
static void uma_dispatch_contend(struct uma_engine *engine)
{
	struct uma_device *uma = engine->uma;
	u64 seqno, now = ktime_get_ns();
	unsigned long flags;
	bool preempt;

	spin_lock_irqsave(&uma->queues_lock, flags);
	preempt = uma_sfq_preempt(&engine->sfq, now);
	seqno = engine->sfq_seqno;
	uma_dispatch_arm(engine, now);
	spin_unlock_irqrestore(&uma->queues_lock, flags);
	if (preempt)
		uma_engine_preempt(engine, seqno);
}

/* Make a job the first of its queue. If it needs no engine, or cannot run, it is ready to end. */
static void uma_dispatch_turn(struct uma_job *job, struct list_head *ready)
{
	struct uma_engine *engine = job->engine;
	struct uma_queue *queue = job->queue;

	queue->turn = job;
	if (!job->task_count || uma_queue_error_locked(queue) ||
	    uma_sfq_enqueue(&engine->sfq, &queue->usage->shares[engine->index], queue->priority,
			    &queue->request, ktime_get_ns(), ready))
		list_add_tail(&queue->request.node, ready);
}

/* The first job of a queue is done: go on with the one behind it. */
static void uma_dispatch_next(struct uma_queue *queue, struct list_head *ready)
{
	struct uma_engine *contended = NULL;
	struct uma_device *uma = queue->uma;
	unsigned long flags;
	struct uma_job *job;

	spin_lock_irqsave(&uma->queues_lock, flags);
	queue->turn = NULL;
	queue->request.state = UMA_REQUEST_NONE;
	if (queue->closed && queue->vm)
		uma_queue_drop_vm(queue);
	job = list_first_entry_or_null(&queue->behind, struct uma_job, node);
	if (job) {
		list_del(&job->node);
		uma_dispatch_turn(job, ready);
		if (queue->request.state == UMA_REQUEST_QUEUED)
			contended = job->engine;
	}
	spin_unlock_irqrestore(&uma->queues_lock, flags);
	if (contended)
		uma_dispatch_contend(contended);
}

/**
 * uma_dispatch_go - push jobs that were dispatched, and end those that do not run
 * @ready: list of their requests, with no spinlock held
 * @may_sleep: not in an interrupt and with no lock held: do not defer to a work
 *
 * Callable from interrupts.
 */
void uma_dispatch_go(struct list_head *ready, bool may_sleep)
{
	unsigned int budget = UMA_DISPATCH_BUDGET;
	struct uma_queue *queue;

	while ((queue = list_first_entry_or_null(ready, struct uma_queue, request.node))) {
		struct uma_job *job = queue->turn;
		struct uma_engine *engine = job->engine;

		list_del_init(&queue->request.node);
		if (queue->request.state == UMA_REQUEST_DISPATCHED) {
			uma_engine_take(engine, job);
			if (may_sleep)
				uma_engine_begin(engine);
			else
				queue_work(engine->uma->sched_wq, &engine->begin_work);
			continue;
		}
		if (!may_sleep && !budget) {
			queue_work(engine->uma->sched_wq, &queue->end_work);
			continue;
		}
		budget--;
		/* The scheduler may free the job, which holds the queue, when it has ended. */
		kref_get(&queue->ref);
		uma_job_end(job);
		uma_dispatch_next(queue, ready);
		uma_queue_put(queue);
	}
}

/* End jobs that exceeded the budget of an interrupt; the first one holds the queue. */
void uma_dispatch_end_work(struct work_struct *work)
{
	struct uma_queue *queue = container_of(work, struct uma_queue, end_work);
	LIST_HEAD(ready);

	guard(uma_signalling)();
	list_add(&queue->request.node, &ready);
	uma_dispatch_go(&ready, true);
}
EXPORT_SYMBOL_IF_KUNIT(uma_dispatch_end_work);

/* The scheduler hands over a job that has no dependencies left. */
void uma_dispatch_add(struct uma_job *job)
{
	struct uma_queue *queue = job->queue;
	struct uma_device *uma = queue->uma;
	bool waits = false;
	LIST_HEAD(ready);

	spin_lock_irq(&uma->queues_lock);
	if (queue->turn) {
		list_add_tail(&job->node, &queue->behind);
	} else {
		uma_dispatch_turn(job, &ready);
		waits = queue->request.state == UMA_REQUEST_QUEUED;
	}
	spin_unlock_irq(&uma->queues_lock);
	if (waits)
		uma_dispatch_contend(job->engine);
	uma_dispatch_go(&ready, true);
}
EXPORT_SYMBOL_IF_KUNIT(uma_dispatch_add);

/* A job is on the ring of an engine that can preempt it. */
void uma_dispatch_start(struct uma_engine *engine, struct uma_job *job)
{
	struct uma_device *uma = engine->uma;
	u64 now = ktime_get_ns();
	unsigned long flags;

	lockdep_assert_held(&engine->lock);

	spin_lock_irqsave(&uma->queues_lock, flags);
	if (!uma_job_has_begun(job))
		job->drops = engine->drops;
	engine->sfq_seqno = engine->seqno;
	uma_sfq_start(&engine->sfq, &job->queue->request,
		      mul_u32_u32(READ_ONCE(uma->time_slice_ms), NSEC_PER_MSEC), now);
	uma_dispatch_arm(engine, now);
	spin_unlock_irqrestore(&uma->queues_lock, flags);
}

/* Charge a client for the engine time of a job, which may have timed out. */
void uma_dispatch_charge(struct uma_engine *engine, struct uma_job *job, u64 ns, bool hung)
{
	struct uma_flow *flow = job->queue->request.flow;
	struct uma_device *uma = engine->uma;
	u64 now = ktime_get_ns();
	unsigned long flags;

	spin_lock_irqsave(&uma->queues_lock, flags);
	uma_sfq_charge(&engine->sfq, flow, ns, now);
	if (hung) {
		uma_sfq_penalize(&engine->sfq, flow->share, ns, now);
		uma_dispatch_arm(engine, now);
	}
	spin_unlock_irqrestore(&uma->queues_lock, flags);
}

/*
 * The job of an engine is done, and its fence has signalled. The caller holds its queue, whose next
 * job may be dispatched now. Callable from interrupts.
 */
void uma_dispatch_release(struct uma_engine *engine, struct uma_queue *queue)
{
	struct uma_device *uma = engine->uma;
	unsigned long flags;
	LIST_HEAD(ready);

	uma_dispatch_next(queue, &ready);
	spin_lock_irqsave(&uma->queues_lock, flags);
	uma_sfq_release(&engine->sfq, ktime_get_ns(), &ready);
	spin_unlock_irqrestore(&uma->queues_lock, flags);
	uma_dispatch_go(&ready, false);
}
EXPORT_SYMBOL_IF_KUNIT(uma_dispatch_release);

/*
 * Requeue a job that was preempted and charged. Returns false if its queue is banned or closed, or
 * a reset cancelled preempted jobs: then it has the engine until the caller ends it. Callable from
 * interrupts.
 */
bool uma_dispatch_requeue(struct uma_engine *engine, struct uma_job *job)
{
	struct uma_device *uma = engine->uma;
	u64 now = ktime_get_ns();
	unsigned long flags;
	LIST_HEAD(ready);

	spin_lock_irqsave(&uma->queues_lock, flags);
	if (uma_queue_error_locked(job->queue) || job->drops != engine->drops) {
		spin_unlock_irqrestore(&uma->queues_lock, flags);
		return false;
	}
	uma_dispatch_turn(job, &ready);
	uma_sfq_release(&engine->sfq, now, &ready);
	uma_dispatch_arm(engine, now);
	spin_unlock_irqrestore(&uma->queues_lock, flags);
	uma_dispatch_go(&ready, false);
	return true;
}

/* Remove the queued request of a job, to end the job. */
static void uma_dispatch_remove(struct uma_queue *queue, struct list_head *ready)
{
	uma_sfq_remove(&queue->turn->engine->sfq, &queue->request);
	list_add_tail(&queue->request.node, ready);
}

/**
 * uma_dispatch_cancel_preempted - cancel jobs that were preempted
 * @uma: device
 * @only: on this engine, NULL for all
 *
 * Those that are queued end here. One that is being requeued, or was dispatched but not pushed,
 * finds &uma_engine.drops changed: uma_engine_push() is to follow.
 */
void uma_dispatch_cancel_preempted(struct uma_device *uma, const struct uma_engine *only)
{
	struct uma_engine *engine;
	struct uma_queue *queue;
	LIST_HEAD(ready);

	spin_lock_irq(&uma->queues_lock);
	uma_for_each_engine(uma, engine)
		if (!only || engine == only)
			engine->drops++;
	list_for_each_entry(queue, &uma->queues, node)
		if (queue->request.state == UMA_REQUEST_QUEUED && uma_job_has_begun(queue->turn) &&
		    (!only || queue->turn->engine == only))
			uma_dispatch_remove(queue, &ready);
	spin_unlock_irq(&uma->queues_lock);
	uma_dispatch_go(&ready, true);
}

/*
 * Cancel the request of a queue that is banned or closed. Its job is added to @ready, for
 * uma_dispatch_go(). A job that has its engine is handled by uma_engine_push().
 */
void uma_dispatch_cancel(struct uma_queue *queue, struct list_head *ready)
{
	lockdep_assert_held(&queue->uma->queues_lock);

	if (queue->request.state == UMA_REQUEST_QUEUED)
		uma_dispatch_remove(queue, ready);
}

/* A file is closed: keep the virtual times of its flows. */
void uma_dispatch_leave(struct uma_device *uma, struct uma_usage *usage)
{
	struct uma_engine *engine;

	spin_lock_irq(&uma->queues_lock);
	uma_for_each_engine(uma, engine)
		uma_sfq_leave(&engine->sfq, &usage->shares[engine->index]);
	spin_unlock_irq(&uma->queues_lock);
}

/* Jobs wait for a hardware address space that running jobs use, or no longer. */
static void uma_dispatch_want(struct uma_device *uma, bool wanted)
{
	struct uma_engine *engine;
	u64 now = ktime_get_ns();
	unsigned long flags;

	spin_lock_irqsave(&uma->queues_lock, flags);
	uma_for_each_engine(uma, engine) {
		uma_sfq_want(&engine->sfq, wanted);
		uma_dispatch_arm(engine, now);
	}
	spin_unlock_irqrestore(&uma->queues_lock, flags);
}

/* Does another job wait for an address space with an earlier ticket? */
static bool uma_dispatch_is_behind(const struct uma_engine *engine)
{
	const struct uma_engine *other;

	uma_for_each_engine(engine->uma, other)
		if (other->as_ticket && other != engine &&
		    (!engine->as_ticket || other->as_ticket < engine->as_ticket))
			return true;
	return false;
}

static int uma_dispatch_try_as(struct uma_engine *engine)
{
	/* Even if it has one: a file with jobs on several engines would keep it forever. */
	return uma_dispatch_is_behind(engine) ? -EBUSY :
	       uma_mmu_get_as_confirmed(engine->job->queue->vm);
}

static void uma_dispatch_set_ticket(struct uma_engine *engine, u64 ticket)
{
	struct uma_engine *other;
	bool wanted = false;

	if (ticket == engine->as_ticket)
		return;
	engine->as_ticket = ticket;
	uma_for_each_engine(engine->uma, other)
		wanted |= !!other->as_ticket;
	uma_dispatch_want(engine->uma, wanted);
}

/**
 * uma_dispatch_get_as - get a hardware address space for the engine's job
 * @engine: engine with a job that is held, &uma_device.hw_lock held
 *
 * If there are fewer than engines the job may have to wait. Then running jobs are preempted after a
 * slice, and slots are given out in the order of requests.
 *
 * Return: as uma_mmu_get_as_confirmed().
 */
int uma_dispatch_get_as(struct uma_engine *engine)
{
	struct uma_device *uma = engine->uma;
	int as;

	lockdep_assert_held(&uma->hw_lock);

	as = uma_dispatch_try_as(engine);
	if (as == -EBUSY || as == -EAGAIN) {
		WRITE_ONCE(uma->starved, true);
		/* Whoever drops a slot from now on sees starved; pairs with uma_slots_put(). */
		smp_mb();
		as = uma_dispatch_try_as(engine);
	}
	/* Waiting for an invalidation does not change its place in the order. */
	if (as == -EBUSY)
		uma_dispatch_set_ticket(engine, engine->as_ticket ?: ++uma->as_tickets);
	else if (as != -EAGAIN)
		uma_dispatch_set_ticket(engine, 0);
	return as;
}
EXPORT_SYMBOL_IF_KUNIT(uma_dispatch_get_as);

/* A job that may have waited for an address space ended; &uma_device.hw_lock is held. */
void uma_dispatch_drop_as(struct uma_engine *engine)
{
	struct uma_device *uma = engine->uma;

	lockdep_assert_held(&uma->hw_lock);

	if (!engine->as_ticket)
		return;
	uma_dispatch_set_ticket(engine, 0);
	queue_work(uma->sched_wq, &uma->kick_work);
}
EXPORT_SYMBOL_IF_KUNIT(uma_dispatch_drop_as);

static void uma_dispatch_timer(struct timer_list *timer)
{
	struct uma_engine *engine = container_of(timer, struct uma_engine, sfq_timer);
	struct uma_device *uma = engine->uma;
	unsigned long flags;
	LIST_HEAD(ready);

	spin_lock_irqsave(&uma->queues_lock, flags);
	uma_sfq_advance(&engine->sfq, ktime_get_ns(), &ready);
	spin_unlock_irqrestore(&uma->queues_lock, flags);
	uma_dispatch_go(&ready, false);
	uma_dispatch_contend(engine);
}

void uma_dispatch_init(struct uma_engine *engine)
{
	uma_sfq_init(&engine->sfq);
	timer_setup(&engine->sfq_timer, uma_dispatch_timer, 0);
}

void uma_dispatch_fini(struct uma_engine *engine)
{
	timer_shutdown_sync(&engine->sfq_timer);
}
