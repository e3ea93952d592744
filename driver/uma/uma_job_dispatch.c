// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The run-list of the engines, between the queues' schedulers and uma_job_sfq.c.
 *
 * A scheduler hands over the jobs of its queue in their order, when what they wait for is done. It
 * is one job's turn in each queue, which requests its engine; the one behind it is here so that it
 * can do so as soon as that one is done. The engine is the job's until uma_dispatch_release(),
 * after the fence of the job has signalled, or uma_dispatch_requeue(), when it was preempted.
 * The scheduler knows nothing of the latter: for it the job runs. As every job has a timeout, and
 * whoever runs makes room after a slice, every wait for an engine ends.
 *
 * All is under &uma_device.queues_lock, so that a queue is never waiting and
 * banned at the same time; jobs go, or end, when it has been dropped.
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
 * How many jobs are ended in one interrupt. The scheduler may hand over those behind them in their
 * queue as fast as they go, and how many there are is up to a user: the others have a work.
 */
#define UMA_DISPATCH_BUDGET	4

/* Jobs of clients that were penalized go, and jobs are preempted, without anybody's doing. */
static void uma_dispatch_arm(struct uma_engine *engine, u64 now)
{
	u64 event = uma_sfq_next_event(&engine->sfq);

	if (event != U64_MAX)
		mod_timer(&engine->sfq_timer,
			  jiffies + nsecs_to_jiffies(event > now ? event - now : 0) + 1);
}

/* Does the job that runs have to make room, for one that came just now, or after its slice? */
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

/* It is a job's turn in its queue. One that needs no engine, or gets none any more, ends. */
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

/* The job whose turn it was in a queue is done. */
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
 * uma_dispatch_go - let jobs go to the engines that have been given to them, or end
 * @ready: list of requests, with no spinlock held
 * @may_sleep: neither in an interrupt nor with a lock held: all is done here and now
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
		/* The scheduler may free it as soon as it has ended. */
		kref_get(&queue->ref);
		uma_job_end(job);
		uma_dispatch_next(queue, ready);
		uma_queue_put(queue);
	}
}

/**
 * uma_dispatch_end_work - end jobs that were too many for an interrupt
 * @work: &uma_queue.end_work; the job whose turn it is has not ended, and keeps the queue
 */
void uma_dispatch_end_work(struct work_struct *work)
{
	struct uma_queue *queue = container_of(work, struct uma_queue, end_work);
	LIST_HEAD(ready);
	bool cookie;

	cookie = dma_fence_begin_signalling();
	list_add(&queue->request.node, &ready);
	uma_dispatch_go(&ready, true);
	dma_fence_end_signalling(cookie);
}
EXPORT_SYMBOL_IF_KUNIT(uma_dispatch_end_work);

/**
 * uma_dispatch_add - a job waits for nothing any more but its queue's turn and its engine
 * @job: job, which the scheduler hands over
 */
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

/**
 * uma_dispatch_start - a job is on the ring
 * @engine: engine that can stop it, its lock held
 * @job: job
 */
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

/**
 * uma_dispatch_charge - a job has used its engine
 * @engine: engine
 * @job: job that has it
 * @ns: for how long
 * @hung: it was given up because it did not end
 */
void uma_dispatch_charge(struct uma_engine *engine, struct uma_job *job, u64 ns, bool hung)
{
	struct uma_flow *flow = job->queue->request.flow;
	struct uma_device *uma = engine->uma;
	u64 now = ktime_get_ns();
	unsigned long flags;

	spin_lock_irqsave(&uma->queues_lock, flags);
	uma_sfq_charge(&engine->sfq, flow, ns);
	if (hung) {
		uma_sfq_penalize(&engine->sfq, flow->share, ns, now);
		uma_dispatch_arm(engine, now);
	}
	spin_unlock_irqrestore(&uma->queues_lock, flags);
}

/**
 * uma_dispatch_release - the engine is free
 * @engine: engine, whose job has been signalled
 * @queue: its queue, which the caller keeps alive
 *
 * The next job of the queue is among those that may get the engine. Callable from interrupts.
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

/**
 * uma_dispatch_requeue - the engine is free, for its job has been preempted
 * @engine: engine
 * @job: job, which has been charged for what it had
 *
 * Callable from interrupts.
 *
 * Return: false if the queue of the job runs nothing any more, or a reset ended what had begun:
 * it is to be ended, and has the engine until it is.
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

/* A job does not wait for its engine any more: it ends. */
static void uma_dispatch_remove(struct uma_queue *queue, struct list_head *ready)
{
	uma_sfq_remove(&queue->turn->engine->sfq, &queue->request);
	list_add_tail(&queue->request.node, ready);
}

/**
 * uma_dispatch_cancel_preempted - end the jobs that have begun and are not on the ring
 * @uma: device
 * @only: on this engine, NULL for all
 *
 * Those that wait to be continued are ended here. One on its way between the ring and the queue,
 * either way, finds &uma_engine.drops changed: uma_engine_push() is to follow.
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

/**
 * uma_dispatch_cancel - do not keep a queue waiting that runs nothing any more
 * @queue: queue, &uma_device.queues_lock held
 * @ready: a job of it that ends now is added to it, for uma_dispatch_go()
 *
 * A job of it that has its engine is up to others: see uma_engine_push().
 */
void uma_dispatch_cancel(struct uma_queue *queue, struct list_head *ready)
{
	lockdep_assert_held(&queue->uma->queues_lock);

	if (queue->request.state == UMA_REQUEST_QUEUED)
		uma_dispatch_remove(queue, ready);
}

/**
 * uma_dispatch_leave - a file is closed; what it has had of the engines is not forgotten
 * @uma: device
 * @usage: the file's
 */
void uma_dispatch_leave(struct uma_device *uma, struct uma_usage *usage)
{
	struct uma_engine *engine;

	spin_lock_irq(&uma->queues_lock);
	uma_for_each_engine(uma, engine)
		uma_sfq_leave(&engine->sfq, &usage->shares[engine->index]);
	spin_unlock_irq(&uma->queues_lock);
}

/* Jobs wait for what those that run have besides an engine, or no longer. */
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

/* Has another job waited for an address space before this one? */
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
	/* Also who has one already: a file with jobs on several engines would have it for ever. */
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
 * Where there are fewer than engines it may have to wait, and what runs makes room for it, but
 * not to come back before it: first come, first served.
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
		/* Who gives a slot back from now on sees that: pairs with uma_slots_put(). */
		smp_mb();
		as = uma_dispatch_try_as(engine);
	}
	/* An invalidation that is under way costs nobody his turn. */
	if (as == -EBUSY)
		uma_dispatch_set_ticket(engine, engine->as_ticket ?: ++uma->as_tickets);
	else if (as != -EAGAIN)
		uma_dispatch_set_ticket(engine, 0);
	return as;
}
EXPORT_SYMBOL_IF_KUNIT(uma_dispatch_get_as);

/**
 * uma_dispatch_drop_as - a job that may have waited for an address space has been ended
 * @engine: engine that it had, &uma_device.hw_lock held
 */
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

/**
 * uma_dispatch_init - nobody wants an engine yet
 * @engine: engine
 */
void uma_dispatch_init(struct uma_engine *engine)
{
	uma_sfq_init(&engine->sfq);
	timer_setup(&engine->sfq_timer, uma_dispatch_timer, 0);
}

/**
 * uma_dispatch_fini - nobody wants an engine any more
 * @engine: engine
 */
void uma_dispatch_fini(struct uma_engine *engine)
{
	timer_shutdown_sync(&engine->sfq_timer);
}
