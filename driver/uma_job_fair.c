// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Who is next on an engine.
 *
 * Start-time fair queueing (Goyal, Vin, Cheng 1996). A flow is what one client
 * wants at one priority. Its virtual time is the engine time that it has had,
 * divided by its weight, and when the engine is free the flow with the least of
 * it goes next. So clients that always want the engine get parts of its time as
 * large as their weights, however many jobs they queue and however long these
 * are, and what a job takes need not be known before it has run. The clock of
 * the engine is the virtual time of the flow that was served last; who comes
 * anew or after a pause starts there, so that nobody saves up time by not using
 * it.
 *
 * Nothing is taken from an engine before it is done, so one that hangs has it
 * for as long as its timeout is. Without more, a client whose jobs always hang
 * would take turns with one that waits for each job before it submits the next:
 * that one has nothing queued when the virtual times are compared, and no claim
 * afterwards. Therefore who hung for a time stays away from the engine for as
 * long again, also if nobody else wants it. The others have at least half of the
 * engine, whatever they do.
 */
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include <kunit/visibility.h>

#include "uma_job_fair.h"

/* The inverse of the weights, which are 1, 4, 16 and 16. */
static const u32 uma_fair_price[UMA_FAIR_LEVELS] = { 16, 4, 1, 1 };

static unsigned int uma_flow_class(const struct uma_flow *flow)
{
	return flow->level == UMA_FAIR_LEVELS - 1;
}

static bool uma_flow_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct uma_flow, node)->vtime <
	       rb_entry(b, struct uma_flow, node)->vtime;
}

/* One that waits gets to where it belongs, one that does not to nowhere. */
static void uma_flow_add(struct uma_fair *fair, struct uma_flow *flow, u64 now)
{
	unsigned int class = uma_flow_class(flow);

	if (list_empty(&flow->turns))
		return;
	flow->held = flow->share->held_until > now;
	if (flow->held) {
		list_add_tail(&flow->held_node, &fair->held);
	} else {
		flow->vtime = max(flow->vtime, fair->clock[class]);
		rb_add_cached(&flow->node, &fair->ready[class], uma_flow_less);
	}
}

static void uma_flow_del(struct uma_fair *fair, struct uma_flow *flow)
{
	if (list_empty(&flow->turns))
		return;
	if (flow->held)
		list_del(&flow->held_node);
	else
		rb_erase_cached(&flow->node, &fair->ready[uma_flow_class(flow)]);
}

static void uma_turn_del(struct uma_fair *fair, struct uma_turn *turn, u64 now)
{
	uma_flow_del(fair, turn->flow);
	list_del_init(&turn->node);
	uma_flow_add(fair, turn->flow, now);
}

/* Give the engine, which is free, to whom it is due. */
static struct uma_turn *uma_fair_grant(struct uma_fair *fair, u64 now)
{
	struct uma_turn *turn;
	struct uma_flow *flow;
	unsigned int class;
	struct rb_node *rb;

	rb = rb_first_cached(&fair->ready[1]) ?: rb_first_cached(&fair->ready[0]);
	if (!rb) {
		/* What comes next starts after all that was. */
		memcpy(fair->clock, fair->latest, sizeof(fair->clock));
		return NULL;
	}
	flow = rb_entry(rb, struct uma_flow, node);
	class = uma_flow_class(flow);
	turn = list_first_entry(&flow->turns, struct uma_turn, node);
	fair->clock[class] = max(fair->clock[class], flow->vtime);
	uma_turn_del(fair, turn, now);
	turn->state = UMA_TURN_GRANTED;
	fair->owner = turn->owner;
	fair->busy = true;
	return turn;
}

/**
 * uma_fair_init - an engine that nobody wants
 * @fair: engine
 */
void uma_fair_init(struct uma_fair *fair)
{
	memset(fair, 0, sizeof(*fair));
	fair->ready[0] = RB_ROOT_CACHED;
	fair->ready[1] = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&fair->held);
	INIT_LIST_HEAD(&fair->passing);
}
EXPORT_SYMBOL_IF_KUNIT(uma_fair_init);

/**
 * uma_share_init - a client that wants nothing
 * @share: client's part in an engine
 */
void uma_share_init(struct uma_share *share)
{
	u32 i;

	memset(share, 0, sizeof(*share));
	for (i = 0; i < UMA_FAIR_LEVELS; i++) {
		INIT_LIST_HEAD(&share->flow[i].turns);
		share->flow[i].level = i;
		share->flow[i].share = share;
	}
}
EXPORT_SYMBOL_IF_KUNIT(uma_share_init);

/**
 * uma_fair_enter - a job is ready to run
 * @fair: engine
 * @share: client's part in it
 * @level: &enum drm_uma_priority
 * @turn: turn of the job; @turn->owner is set
 * @now: time
 * @ready: another turn that may go now is added to it
 *
 * Return: true if the engine is its at once; else it has to wait.
 */
bool uma_fair_enter(struct uma_fair *fair, struct uma_share *share, u32 level,
		    struct uma_turn *turn, u64 now, struct list_head *ready)
{
	struct uma_flow *flow = &share->flow[level];
	struct uma_turn *granted;

	turn->flow = flow;
	turn->state = UMA_TURN_WAITING;
	uma_flow_del(fair, flow);
	list_add_tail(&turn->node, &flow->turns);
	uma_flow_add(fair, flow, now);
	if (fair->busy)
		return false;
	/* Another of the flow comes first if its time to wait ended just now. */
	granted = uma_fair_grant(fair, now);
	if (granted && granted != turn)
		list_add_tail(&granted->node, ready);
	return granted == turn;
}
EXPORT_SYMBOL_IF_KUNIT(uma_fair_enter);

/**
 * uma_fair_pass - a job does not need the engine, or no longer
 * @fair: engine
 * @turn: turn of the job, which may be waiting; @turn->owner is set
 *
 * Return: true if it may go at once; else it has to wait for the one that runs,
 * because that is of the same queue or has been passed by too many.
 */
bool uma_fair_pass(struct uma_fair *fair, struct uma_turn *turn)
{
	/* Time does not matter: who is held goes on being so. */
	if (turn->state == UMA_TURN_WAITING)
		uma_turn_del(fair, turn, turn->flow->held ? 0 : U64_MAX);
	if (!fair->busy || (fair->owner != turn->owner && fair->passed < UMA_FAIR_PASSES)) {
		fair->passed += fair->busy;
		turn->state = UMA_TURN_PASSED;
		return true;
	}
	list_add_tail(&turn->node, &fair->passing);
	turn->state = UMA_TURN_PASSING;
	return false;
}
EXPORT_SYMBOL_IF_KUNIT(uma_fair_pass);

/**
 * uma_fair_charge - a job has used the engine
 * @fair: engine
 * @flow: flow of its turn
 * @ns: for how long
 */
void uma_fair_charge(struct uma_fair *fair, struct uma_flow *flow, u64 ns)
{
	unsigned int class = uma_flow_class(flow);
	bool ready = !list_empty(&flow->turns) && !flow->held;

	if (ready)
		rb_erase_cached(&flow->node, &fair->ready[class]);
	flow->vtime += max_t(u64, ns, UMA_FAIR_MIN_NS) * uma_fair_price[flow->level];
	fair->latest[class] = max(fair->latest[class], flow->vtime);
	if (ready)
		rb_add_cached(&flow->node, &fair->ready[class], uma_flow_less);
}
EXPORT_SYMBOL_IF_KUNIT(uma_fair_charge);

/**
 * uma_fair_punish - a job of a client hung
 * @fair: engine
 * @share: client's part in it
 * @ns: for how long
 * @now: time
 */
void uma_fair_punish(struct uma_fair *fair, struct uma_share *share, u64 ns, u64 now)
{
	u32 i;

	for (i = 0; i < UMA_FAIR_LEVELS; i++)
		uma_flow_del(fair, &share->flow[i]);
	share->held_until = max(share->held_until, now) + ns;
	for (i = 0; i < UMA_FAIR_LEVELS; i++)
		uma_flow_add(fair, &share->flow[i], now);
}
EXPORT_SYMBOL_IF_KUNIT(uma_fair_punish);

/**
 * uma_fair_leave - the engine is free
 * @fair: engine that somebody had
 * @now: time
 * @ready: turns that may go now are added to it
 */
void uma_fair_leave(struct uma_fair *fair, u64 now, struct list_head *ready)
{
	struct uma_turn *turn;

	list_for_each_entry(turn, &fair->passing, node)
		turn->state = UMA_TURN_PASSED;
	list_splice_tail_init(&fair->passing, ready);
	fair->busy = false;
	fair->owner = NULL;
	fair->passed = 0;
	uma_fair_expire(fair, now, ready);
}
EXPORT_SYMBOL_IF_KUNIT(uma_fair_leave);

/**
 * uma_fair_expire - time has passed
 * @fair: engine
 * @now: time, as uma_fair_wake() said
 * @ready: a turn that may go now is added to it
 */
void uma_fair_expire(struct uma_fair *fair, u64 now, struct list_head *ready)
{
	struct uma_flow *flow, *next;
	struct uma_turn *turn;

	list_for_each_entry_safe(flow, next, &fair->held, held_node) {
		if (flow->share->held_until > now)
			continue;
		list_del(&flow->held_node);
		uma_flow_add(fair, flow, now);
	}
	if (fair->busy)
		return;
	turn = uma_fair_grant(fair, now);
	if (turn)
		list_add_tail(&turn->node, ready);
}
EXPORT_SYMBOL_IF_KUNIT(uma_fair_expire);

/**
 * uma_fair_wake - when does time matter?
 * @fair: engine
 *
 * Return: when uma_fair_expire() is due, U64_MAX if it is not.
 */
u64 uma_fair_wake(const struct uma_fair *fair)
{
	const struct uma_flow *flow;
	u64 wake = U64_MAX;

	list_for_each_entry(flow, &fair->held, held_node)
		wake = min(wake, flow->share->held_until);
	return wake;
}
EXPORT_SYMBOL_IF_KUNIT(uma_fair_wake);
