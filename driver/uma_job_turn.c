// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Turns on an engine, between the scheduler and uma_job_fair.c.
 *
 * The scheduler would run jobs in the order in which they were submitted. So the
 * last thing that it has to wait for, before it runs a job, is a fence of ours:
 * that of the job's ticket, which signals when it is the job's turn. If that is
 * so at once there is no fence.
 *
 * A turn lasts from then until uma_turns_next(), after the fence of the job has
 * signalled. As every job has a timeout, so has every wait for a ticket.
 *
 * All is under &uma_device.queues_lock, so that a queue is never waiting and
 * banned at the same time; fences signal when it has been dropped.
 */
#include <linux/dma-fence.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_drv.h"
#include "uma_job.h"
#include "uma_job_fair.h"

/**
 * struct uma_ticket - what a job waits for its turn with
 */
struct uma_ticket {
	/** @base: fence, from when the job has to wait; the scheduler may be the last to hold it */
	struct dma_fence base;
	/** @lock: its lock */
	spinlock_t lock;
	/** @live: @base has been initialised */
	bool live;
	/** @turn: turn */
	struct uma_turn turn;
	/** @engine: engine */
	struct uma_engine *engine;
};

static struct uma_ticket *to_uma_ticket(struct uma_turn *turn)
{
	return container_of(turn, struct uma_ticket, turn);
}

static const char *uma_ticket_driver_name(struct dma_fence *fence)
{
	return "uma";
}

static const char *uma_ticket_timeline_name(struct dma_fence *fence)
{
	return "turn";
}

/* It does not leave the scheduler, so unlike that of a job it holds nothing. */
static const struct dma_fence_ops uma_ticket_ops = {
	.get_driver_name = uma_ticket_driver_name,
	.get_timeline_name = uma_ticket_timeline_name,
};

/**
 * uma_ticket_alloc - allocate a ticket ahead of time
 *
 * Return: ticket or NULL.
 */
struct uma_ticket *uma_ticket_alloc(void)
{
	return kzalloc_obj(struct uma_ticket, GFP_KERNEL_ACCOUNT);
}

/**
 * uma_ticket_free - a job has no use for its ticket any more
 * @ticket: ticket, may be NULL
 */
void uma_ticket_free(struct uma_ticket *ticket)
{
	if (ticket && ticket->live)
		dma_fence_put(&ticket->base);
	else
		kfree(ticket);
}

/**
 * uma_ticket_holds - has the engine been given to this job?
 * @ticket: ticket of a job that the scheduler runs
 *
 * Return: true if uma_turns_next() has to follow.
 */
bool uma_ticket_holds(const struct uma_ticket *ticket)
{
	return ticket->turn.state == UMA_TURN_GRANTED;
}

static void uma_turn_took(struct uma_turn *turn)
{
	struct uma_queue *queue = (struct uma_queue *)turn->owner;

	if (queue->waiting == turn)
		queue->waiting = NULL;
}

/* Jobs of clients that were punished go without anybody leaving. */
static void uma_turns_arm(struct uma_engine *engine, u64 now)
{
	u64 wake = uma_fair_wake(&engine->fair);

	if (wake != U64_MAX)
		mod_timer(&engine->turn_timer,
			  jiffies + nsecs_to_jiffies(wake > now ? wake - now : 0) + 1);
}

/* What is on the list may go: nobody may find it in its queue any more. */
static void uma_turns_took(struct list_head *ready)
{
	struct uma_turn *turn;

	list_for_each_entry(turn, ready, node) {
		uma_turn_took(turn);
		dma_fence_get(&to_uma_ticket(turn)->base);
	}
}

/**
 * uma_turns_signal - tell jobs that it is their turn
 * @ready: list of turns, with no lock held
 */
void uma_turns_signal(struct list_head *ready)
{
	struct uma_turn *turn;

	while ((turn = list_first_entry_or_null(ready, struct uma_turn, node))) {
		struct uma_ticket *ticket = to_uma_ticket(turn);

		list_del_init(&turn->node);
		dma_fence_signal(&ticket->base);
		dma_fence_put(&ticket->base);
	}
}

/**
 * uma_ticket_wait - may a job run?
 * @engine: engine
 * @job: job that waits for nothing else
 *
 * Return: NULL if it may, else a fence, with a reference, after which to ask
 * again.
 */
struct dma_fence *uma_ticket_wait(struct uma_engine *engine, struct uma_job *job)
{
	struct uma_ticket *ticket = job->ticket;
	struct uma_queue *queue = job->queue;
	struct uma_device *uma = engine->uma;
	struct uma_turn *turn = &ticket->turn;
	struct dma_fence *fence = NULL;
	u64 now = ktime_get_ns();
	unsigned long flags;
	LIST_HEAD(ready);
	bool go;

	spin_lock_irqsave(&uma->queues_lock, flags);
	if (turn->state == UMA_TURN_NONE) {
		ticket->engine = engine;
		turn->owner = queue;
		if (!job->task_count || uma_queue_error_locked(queue))
			go = uma_fair_pass(&engine->fair, turn);
		else
			go = uma_fair_enter(&engine->fair,
					    &queue->usage->shares[engine->index],
					    queue->priority, turn, now, &ready);
		if (!go) {
			spin_lock_init(&ticket->lock);
			dma_fence_init(&ticket->base, &uma_ticket_ops, &ticket->lock,
				       queue->fence_context + 1, ++queue->wait_seqno);
			ticket->live = true;
			queue->waiting = turn;
			fence = dma_fence_get(&ticket->base);
			uma_turns_arm(engine, now);
		}
		uma_turns_took(&ready);
	}
	spin_unlock_irqrestore(&uma->queues_lock, flags);
	uma_turns_signal(&ready);
	return fence;
}

/**
 * uma_turns_charge - a job has used its engine
 * @engine: engine
 * @job: job that has it
 * @ns: for how long
 * @hung: it was given up because it did not end
 */
void uma_turns_charge(struct uma_engine *engine, struct uma_job *job, u64 ns, bool hung)
{
	struct uma_device *uma = engine->uma;
	u64 now = ktime_get_ns();
	unsigned long flags;

	spin_lock_irqsave(&uma->queues_lock, flags);
	uma_fair_charge(&engine->fair, job->ticket->turn.flow, ns);
	if (hung) {
		uma_fair_punish(&engine->fair, job->ticket->turn.flow->share, ns, now);
		uma_turns_arm(engine, now);
	}
	spin_unlock_irqrestore(&uma->queues_lock, flags);
}

/**
 * uma_turns_next - the engine is free
 * @engine: engine, whose job has been signalled
 *
 * Callable from interrupts.
 */
void uma_turns_next(struct uma_engine *engine)
{
	struct uma_device *uma = engine->uma;
	unsigned long flags;
	LIST_HEAD(ready);

	spin_lock_irqsave(&uma->queues_lock, flags);
	uma_fair_leave(&engine->fair, ktime_get_ns(), &ready);
	uma_turns_took(&ready);
	spin_unlock_irqrestore(&uma->queues_lock, flags);
	uma_turns_signal(&ready);
}

/**
 * uma_turns_release - do not keep a queue waiting that runs nothing any more
 * @queue: queue, &uma_device.queues_lock held
 * @ready: its turn is added to it, if it may go now
 */
void uma_turns_release(struct uma_queue *queue, struct list_head *ready)
{
	struct uma_turn *turn = queue->waiting;

	lockdep_assert_held(&queue->uma->queues_lock);

	if (!turn || turn->state != UMA_TURN_WAITING)
		return;
	if (uma_fair_pass(&to_uma_ticket(turn)->engine->fair, turn)) {
		queue->waiting = NULL;
		dma_fence_get(&to_uma_ticket(turn)->base);
		list_add_tail(&turn->node, ready);
	}
}

static void uma_turns_timer(struct timer_list *timer)
{
	struct uma_engine *engine = container_of(timer, struct uma_engine, turn_timer);
	struct uma_device *uma = engine->uma;
	u64 now = ktime_get_ns();
	unsigned long flags;
	LIST_HEAD(ready);

	spin_lock_irqsave(&uma->queues_lock, flags);
	uma_fair_expire(&engine->fair, now, &ready);
	uma_turns_took(&ready);
	uma_turns_arm(engine, now);
	spin_unlock_irqrestore(&uma->queues_lock, flags);
	uma_turns_signal(&ready);
}

/**
 * uma_turns_init - nobody wants an engine yet
 * @engine: engine
 */
void uma_turns_init(struct uma_engine *engine)
{
	uma_fair_init(&engine->fair);
	timer_setup(&engine->turn_timer, uma_turns_timer, 0);
}

/**
 * uma_turns_fini - nobody wants an engine any more
 * @engine: engine
 */
void uma_turns_fini(struct uma_engine *engine)
{
	timer_shutdown_sync(&engine->turn_timer);
}
