// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Dispatching jobs to an engine, between the scheduler and uma_job_sfq.c.
 *
 * The scheduler would run jobs in the order in which they were submitted. So the
 * last thing that it has to wait for, before it runs a job, is a fence of ours, which
 * signals when the job's request is dispatched. If that is so at once there is no fence.
 *
 * The engine is the job's until uma_dispatch_release(), after the fence of the job has
 * signalled, or uma_dispatch_requeue(), when it was preempted. The scheduler knows nothing
 * of the latter: for it the job runs. As every job has a timeout, and whoever runs
 * makes room after a slice, every wait for a dispatch ends.
 *
 * All is under &uma_device.queues_lock, so that a queue is never waiting and
 * banned at the same time; fences signal when it has been dropped.
 */
#include <linux/dma-fence.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include <kunit/visibility.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_drv.h"
#include "uma_job.h"
#include "uma_job_sfq.h"
#include "uma_vm.h"

/**
 * struct uma_dispatch - how a job comes to its engine
 */
struct uma_dispatch {
	/** @base: fence, from when the job has to wait; the scheduler may be the last to hold it */
	struct dma_fence base;
	/** @lock: its lock */
	spinlock_t lock;
	/** @live: @base has been initialised */
	bool live;
	/** @preempted: the job has had the engine and was preempted: nobody waits for @base */
	bool preempted;
	/** @request: request for the engine */
	struct uma_request request;
	/** @engine: engine */
	struct uma_engine *engine;
	/** @job: job */
	struct uma_job *job;
};

static struct uma_dispatch *to_uma_dispatch(struct uma_request *request)
{
	return container_of(request, struct uma_dispatch, request);
}

static const char *uma_dispatch_driver_name(struct dma_fence *fence)
{
	return "uma";
}

static const char *uma_dispatch_timeline_name(struct dma_fence *fence)
{
	return "dispatch";
}

/* It does not leave the scheduler, so unlike that of a job it holds nothing. */
static const struct dma_fence_ops uma_dispatch_ops = {
	.get_driver_name = uma_dispatch_driver_name,
	.get_timeline_name = uma_dispatch_timeline_name,
};

/**
 * uma_dispatch_alloc - allocate what a job is dispatched with
 *
 * Return: it or NULL.
 */
struct uma_dispatch *uma_dispatch_alloc(void)
{
	return kzalloc_obj(struct uma_dispatch, GFP_KERNEL_ACCOUNT);
}

/**
 * uma_dispatch_free - a job is not dispatched any more
 * @dispatch: what uma_dispatch_alloc() returned, may be NULL
 */
void uma_dispatch_free(struct uma_dispatch *dispatch)
{
	if (dispatch && dispatch->live)
		dma_fence_put(&dispatch->base);
	else
		kfree(dispatch);
}

/**
 * uma_dispatch_has_engine - has the engine been given to this job?
 * @dispatch: of a job that the scheduler runs
 *
 * Return: true if uma_dispatch_release() has to follow.
 */
bool uma_dispatch_has_engine(const struct uma_dispatch *dispatch)
{
	return dispatch->request.state == UMA_REQUEST_DISPATCHED;
}

/* Jobs of clients that were penalized go, and jobs are preempted, without anybody's doing. */
static void uma_dispatch_arm(struct uma_engine *engine, u64 now)
{
	u64 event = uma_sfq_next_event(&engine->sfq);

	if (event != U64_MAX)
		mod_timer(&engine->sfq_timer,
			  jiffies + nsecs_to_jiffies(event > now ? event - now : 0) + 1);
}

/* A job may go: nobody may find its request in its queue any more. */
static void uma_dispatch_note(struct uma_request *request)
{
	struct uma_queue *queue = (struct uma_queue *)request->owner;

	if (queue->waiting == request)
		queue->waiting = NULL;
	if (request->state == UMA_REQUEST_DISPATCHED) {
		/* One that was preempted is counted until it is done, or ended. */
		if (!to_uma_dispatch(request)->preempted)
			queue->begun++;
		queue->preempted = NULL;
	}
}

/* Those on the list may go. Once the lock has been dropped, uma_dispatch_signal() follows. */
static void uma_dispatch_note_all(struct list_head *ready)
{
	struct uma_request *request;

	list_for_each_entry(request, ready, node) {
		struct uma_dispatch *dispatch = to_uma_dispatch(request);

		uma_dispatch_note(request);
		/* One that was preempted is not done, so there is no need to. */
		if (!dispatch->preempted)
			dma_fence_get(&dispatch->base);
	}
}

/**
 * uma_dispatch_signal - let jobs go
 * @ready: list of requests, with no lock held
 *
 * Callable from interrupts, but not with what uma_dispatch_end() has put on the list.
 */
void uma_dispatch_signal(struct list_head *ready)
{
	struct uma_request *request;

	while ((request = list_first_entry_or_null(ready, struct uma_request, node))) {
		struct uma_dispatch *dispatch = to_uma_dispatch(request);

		list_del_init(&request->node);
		if (!dispatch->preempted) {
			dma_fence_signal(&dispatch->base);
			dma_fence_put(&dispatch->base);
		} else if (request->state == UMA_REQUEST_DISPATCHED) {
			uma_engine_resume(dispatch->engine, dispatch->job);
		} else {
			uma_job_abandon(dispatch->engine, dispatch->job);
		}
	}
}

/* May a job of a queue go that does not need the engine? */
static bool uma_dispatch_bypass(struct uma_engine *engine, struct uma_queue *queue,
				struct uma_request *request)
{
	return uma_sfq_bypass(&engine->sfq, request, queue->begun > 0);
}

/**
 * uma_dispatch_wait - may a job run?
 * @engine: engine
 * @job: job that waits for nothing else
 *
 * Return: NULL if it may, else a fence, with a reference, after which to ask
 * again.
 */
struct dma_fence *uma_dispatch_wait(struct uma_engine *engine, struct uma_job *job)
{
	struct uma_dispatch *dispatch = job->dispatch;
	struct uma_request *request = &dispatch->request;
	struct uma_queue *queue = job->queue;
	struct uma_device *uma = engine->uma;
	struct dma_fence *fence = NULL;
	u64 now = ktime_get_ns();
	bool go, preempt = false;
	unsigned long flags;
	LIST_HEAD(ready);
	u64 seqno = 0;

	spin_lock_irqsave(&uma->queues_lock, flags);
	if (request->state == UMA_REQUEST_NONE) {
		dispatch->engine = engine;
		dispatch->job = job;
		request->owner = queue;
		if (!job->task_count || uma_queue_error_locked(queue))
			go = uma_dispatch_bypass(engine, queue, request);
		else
			go = uma_sfq_enqueue(&engine->sfq, &queue->usage->shares[engine->index],
					     queue->priority, request, now, &ready);
		if (go) {
			uma_dispatch_note(request);
		} else {
			spin_lock_init(&dispatch->lock);
			dma_fence_init(&dispatch->base, &uma_dispatch_ops, &dispatch->lock,
				       queue->fence_context + 1, ++queue->wait_seqno);
			dispatch->live = true;
			queue->waiting = request;
			fence = dma_fence_get(&dispatch->base);
			preempt = uma_sfq_preempt(&engine->sfq, now);
			seqno = engine->sfq_seqno;
			uma_dispatch_arm(engine, now);
		}
		uma_dispatch_note_all(&ready);
	}
	spin_unlock_irqrestore(&uma->queues_lock, flags);
	uma_dispatch_signal(&ready);
	if (preempt)
		uma_engine_preempt(engine, seqno);
	return fence;
}

/**
 * uma_dispatch_start - a job is on the ring
 * @engine: engine that can stop it between two tasks, its lock held
 * @job: job
 */
void uma_dispatch_start(struct uma_engine *engine, struct uma_job *job)
{
	struct uma_device *uma = engine->uma;
	u64 now = ktime_get_ns();
	unsigned long flags;

	lockdep_assert_held(&engine->lock);

	spin_lock_irqsave(&uma->queues_lock, flags);
	if (!job->first_task)
		job->drops = engine->drops;
	engine->sfq_seqno = engine->seqno;
	uma_sfq_start(&engine->sfq, &job->dispatch->request,
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
	struct uma_request *request = &job->dispatch->request;
	struct uma_device *uma = engine->uma;
	u64 now = ktime_get_ns();
	unsigned long flags;

	spin_lock_irqsave(&uma->queues_lock, flags);
	uma_sfq_charge(&engine->sfq, request->flow, ns);
	if (hung) {
		uma_sfq_penalize(&engine->sfq, request->flow->share, ns, now);
		uma_dispatch_arm(engine, now);
	}
	spin_unlock_irqrestore(&uma->queues_lock, flags);
}

/* A job of a queue that had the engine is done: nobody has to let it go first any more. */
static void uma_dispatch_unblock(struct uma_engine *engine, struct uma_queue *queue,
				 struct list_head *ready)
{
	struct uma_request *request = queue->waiting;

	/* When a reset has ended one that was preempted, the next may have the engine already. */
	if (--queue->begun)
		return;
	if (request && request->state == UMA_REQUEST_BLOCKED && list_empty(&request->node) &&
	    uma_dispatch_bypass(engine, queue, request))
		list_add_tail(&request->node, ready);
}

/**
 * uma_dispatch_release - the engine is free
 * @engine: engine, whose job has been signalled
 * @queue: its queue, which the caller keeps alive
 *
 * Callable from interrupts.
 */
void uma_dispatch_release(struct uma_engine *engine, struct uma_queue *queue)
{
	struct uma_device *uma = engine->uma;
	u64 now = ktime_get_ns();
	unsigned long flags;
	LIST_HEAD(ready);

	spin_lock_irqsave(&uma->queues_lock, flags);
	uma_sfq_release(&engine->sfq, now, &ready);
	uma_dispatch_unblock(engine, queue, &ready);
	uma_dispatch_note_all(&ready);
	spin_unlock_irqrestore(&uma->queues_lock, flags);
	uma_dispatch_signal(&ready);
}

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
	struct uma_request *request = &job->dispatch->request;
	struct uma_device *uma = engine->uma;
	u64 now = ktime_get_ns();
	unsigned long flags;
	LIST_HEAD(ready);

	spin_lock_irqsave(&uma->queues_lock, flags);
	if (uma_queue_error_locked(job->queue) || job->drops != engine->drops) {
		spin_unlock_irqrestore(&uma->queues_lock, flags);
		return false;
	}
	job->dispatch->preempted = true;
	uma_sfq_requeue(&engine->sfq, request, now);
	job->queue->preempted = request;
	uma_sfq_release(&engine->sfq, now, &ready);
	uma_dispatch_arm(engine, now);
	uma_dispatch_note_all(&ready);
	spin_unlock_irqrestore(&uma->queues_lock, flags);
	uma_dispatch_signal(&ready);
	return true;
}

/**
 * uma_dispatch_abandoned - a job that was preempted has been ended without its engine
 * @engine: engine
 * @queue: its queue, which the caller keeps alive
 */
void uma_dispatch_abandoned(struct uma_engine *engine, struct uma_queue *queue)
{
	struct uma_device *uma = engine->uma;
	unsigned long flags;
	LIST_HEAD(ready);

	spin_lock_irqsave(&uma->queues_lock, flags);
	uma_dispatch_unblock(engine, queue, &ready);
	uma_dispatch_note_all(&ready);
	spin_unlock_irqrestore(&uma->queues_lock, flags);
	uma_dispatch_signal(&ready);
}

/* The job of a queue that was preempted, if there is one, does not get its engine back. */
static void uma_dispatch_end(struct uma_queue *queue, struct list_head *ready)
{
	struct uma_request *preempted = queue->preempted;

	if (!preempted)
		return;
	uma_sfq_remove(&to_uma_dispatch(preempted)->engine->sfq, preempted);
	list_add_tail(&preempted->node, ready);
	queue->preempted = NULL;
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
		if (!only || (queue->preempted &&
			      to_uma_dispatch(queue->preempted)->engine == only))
			uma_dispatch_end(queue, &ready);
	spin_unlock_irq(&uma->queues_lock);
	uma_dispatch_signal(&ready);
}

/**
 * uma_dispatch_cancel - do not keep a queue waiting that runs nothing any more
 * @queue: queue, &uma_device.queues_lock held
 * @ready: requests of it that may go now are added to it
 *
 * A job of it that has its engine is up to others: see uma_engine_push().
 */
void uma_dispatch_cancel(struct uma_queue *queue, struct list_head *ready)
{
	struct uma_request *request = queue->waiting;
	struct uma_engine *engine;

	lockdep_assert_held(&queue->uma->queues_lock);

	uma_dispatch_end(queue, ready);
	if (!request || request->state != UMA_REQUEST_QUEUED)
		return;
	engine = to_uma_dispatch(request)->engine;
	if (uma_dispatch_bypass(engine, queue, request)) {
		queue->waiting = NULL;
		dma_fence_get(&to_uma_dispatch(request)->base);
		list_add_tail(&request->node, ready);
	}
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
	queue_work(uma->reset_wq, &uma->kick_work);
}

static void uma_dispatch_timer(struct timer_list *timer)
{
	struct uma_engine *engine = container_of(timer, struct uma_engine, sfq_timer);
	struct uma_device *uma = engine->uma;
	u64 seqno, now = ktime_get_ns();
	unsigned long flags;
	LIST_HEAD(ready);
	bool preempt;

	spin_lock_irqsave(&uma->queues_lock, flags);
	uma_sfq_advance(&engine->sfq, now, &ready);
	preempt = uma_sfq_preempt(&engine->sfq, now);
	seqno = engine->sfq_seqno;
	uma_dispatch_arm(engine, now);
	uma_dispatch_note_all(&ready);
	spin_unlock_irqrestore(&uma->queues_lock, flags);
	uma_dispatch_signal(&ready);
	if (preempt)
		uma_engine_preempt(engine, seqno);
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
