// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which request for an engine is dispatched next, and when it has to make room.
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
 * What a client has had beyond that clock would be forgotten with it: files that are opened for a
 * job each would all start at the clock, which stands still meanwhile, and whoever keeps his file
 * would never be served again. So a flow that is new starts where those have come to whose files
 * were closed. As that is no more than a slice and a task beyond the clock, it costs little.
 *
 * A job that can be preempted has the engine for a slice, and then for as long as its flow
 * would be dispatched again: until the virtual time of another one is less. Nobody is
 * preempted for nobody. Real-time flows preempt others at once.
 *
 * One that hangs has the engine for as long as its timeout is. Without more, a client
 * whose jobs always hang would alternate with one that waits for each job before it
 * submits the next: that one has nothing queued when the virtual times are compared, and
 * no claim afterwards. Therefore who hung for a time stays away from the engine for as
 * long again, also if nobody else wants it. The others have at least half of the
 * engine, whatever they do.
 */
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include <kunit/visibility.h>

#include "uma_job_sfq.h"

/* The inverse of the weights, which are 1, 4, 16 and 16. */
static const u32 uma_sfq_price[UMA_SFQ_LEVELS] = { 16, 4, 1, 1 };

static unsigned int uma_flow_class(const struct uma_flow *flow)
{
	return flow->level == UMA_SFQ_LEVELS - 1;
}

static bool uma_flow_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct uma_flow, node)->vtime <
	       rb_entry(b, struct uma_flow, node)->vtime;
}

/* A flow with requests gets to where it belongs, one without to nowhere. */
static void uma_flow_add(struct uma_sfq *sfq, struct uma_flow *flow, u64 now)
{
	unsigned int class = uma_flow_class(flow);

	if (list_empty(&flow->requests))
		return;
	flow->held = flow->share->held_until > now;
	if (flow->held) {
		list_add_tail(&flow->held_node, &sfq->held);
	} else {
		/* It may be of who has just closed another file. */
		if (!flow->vtime)
			flow->vtime = sfq->left[flow->level];
		flow->vtime = max(flow->vtime, sfq->clock[class]);
		rb_add_cached(&flow->node, &sfq->backlogged[class], uma_flow_less);
	}
}

static void uma_flow_del(struct uma_sfq *sfq, struct uma_flow *flow)
{
	if (list_empty(&flow->requests))
		return;
	if (flow->held)
		list_del(&flow->held_node);
	else
		rb_erase_cached(&flow->node, &sfq->backlogged[uma_flow_class(flow)]);
}

static void uma_request_del(struct uma_sfq *sfq, struct uma_request *request, u64 now)
{
	uma_flow_del(sfq, request->flow);
	list_del_init(&request->node);
	uma_flow_add(sfq, request->flow, now);
}

/* Give the engine, which is free, to whom it is due. */
static struct uma_request *uma_sfq_dispatch(struct uma_sfq *sfq, u64 now)
{
	struct uma_request *request;
	struct uma_flow *flow;
	unsigned int class;
	struct rb_node *rb;

	rb = rb_first_cached(&sfq->backlogged[1]) ?: rb_first_cached(&sfq->backlogged[0]);
	if (!rb) {
		/* What comes next starts after all that was. */
		memcpy(sfq->clock, sfq->latest, sizeof(sfq->clock));
		return NULL;
	}
	flow = rb_entry(rb, struct uma_flow, node);
	class = uma_flow_class(flow);
	request = list_first_entry(&flow->requests, struct uma_request, node);
	sfq->clock[class] = max(sfq->clock[class], flow->vtime);
	uma_request_del(sfq, request, now);
	request->state = UMA_REQUEST_DISPATCHED;
	sfq->busy = true;
	return request;
}

/**
 * uma_sfq_init - an engine that nobody wants
 * @sfq: engine
 */
void uma_sfq_init(struct uma_sfq *sfq)
{
	memset(sfq, 0, sizeof(*sfq));
	sfq->backlogged[0] = RB_ROOT_CACHED;
	sfq->backlogged[1] = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&sfq->held);
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_init);

/**
 * uma_share_init - a client that wants nothing
 * @share: client's part in an engine
 */
void uma_share_init(struct uma_share *share)
{
	u32 i;

	memset(share, 0, sizeof(*share));
	for (i = 0; i < UMA_SFQ_LEVELS; i++) {
		INIT_LIST_HEAD(&share->flow[i].requests);
		share->flow[i].level = i;
		share->flow[i].share = share;
	}
}
EXPORT_SYMBOL_IF_KUNIT(uma_share_init);

/**
 * uma_sfq_enqueue - a job is ready to run, for the first time or again
 * @sfq: engine
 * @share: client's part in it
 * @level: &enum drm_uma_priority
 * @request: request of the job
 * @now: time
 * @ready: another request that is dispatched is added to it
 *
 * One that was preempted, and charged for what it had, comes behind the client's other requests;
 * uma_sfq_release() follows. A queue has one request at a time: its jobs do not overtake each
 * other, and none makes room for the one behind it.
 *
 * Return: true if the engine is its at once; else it has to wait.
 */
bool uma_sfq_enqueue(struct uma_sfq *sfq, struct uma_share *share, u32 level,
		     struct uma_request *request, u64 now, struct list_head *ready)
{
	struct uma_flow *flow = &share->flow[level];
	struct uma_request *first;

	request->flow = flow;
	request->state = UMA_REQUEST_QUEUED;
	uma_flow_del(sfq, flow);
	list_add_tail(&request->node, &flow->requests);
	uma_flow_add(sfq, flow, now);
	if (sfq->busy)
		return false;
	/* Another of the flow comes first if its time to wait ended just now. */
	first = uma_sfq_dispatch(sfq, now);
	if (first && first != request)
		list_add_tail(&first->node, ready);
	return first == request;
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_enqueue);

/**
 * uma_sfq_remove - a job does not wait for the engine any more
 * @sfq: engine
 * @request: request, which is queued
 */
void uma_sfq_remove(struct uma_sfq *sfq, struct uma_request *request)
{
	/* Time does not matter: who is held goes on being so. */
	uma_request_del(sfq, request, request->flow->held ? 0 : U64_MAX);
	request->state = UMA_REQUEST_NONE;
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_remove);

/**
 * uma_sfq_want - others wait for what a job has besides the engine, or no longer
 * @sfq: engine
 * @wanted: they do: whatever runs on it makes room after a slice
 */
void uma_sfq_want(struct uma_sfq *sfq, bool wanted)
{
	sfq->wanted = wanted;
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_want);

/**
 * uma_sfq_start - the engine has begun with a job that can be preempted
 * @sfq: engine
 * @request: request of the job, which has been dispatched
 * @slice: for how long it may run whoever else waits
 * @now: time
 */
void uma_sfq_start(struct uma_sfq *sfq, struct uma_request *request, u64 slice, u64 now)
{
	sfq->running = request->flow;
	sfq->started = now;
	sfq->slice = slice;
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_start);

/* When does the job that runs have to make room, as things are? */
static u64 uma_sfq_preempt_at(const struct uma_sfq *sfq)
{
	const struct uma_flow *running = sfq->running, *flow;
	struct rb_node *rb;
	u64 ns;

	if (!running)
		return U64_MAX;
	if (!uma_flow_class(running) && rb_first_cached(&sfq->backlogged[1]))
		return sfq->started;
	if (sfq->wanted)
		return sfq->started + sfq->slice;
	rb = rb_first_cached(&sfq->backlogged[uma_flow_class(running)]);
	if (!rb)
		return U64_MAX;
	flow = rb_entry(rb, struct uma_flow, node);
	ns = flow->vtime > running->vtime ? flow->vtime - running->vtime : 0;
	return sfq->started + max(sfq->slice, div_u64(ns, uma_sfq_price[running->level]));
}

/**
 * uma_sfq_preempt - does the job that runs have to make room?
 * @sfq: engine
 * @now: time
 *
 * Return: true if it has to, which is said once for each uma_sfq_start().
 */
bool uma_sfq_preempt(struct uma_sfq *sfq, u64 now)
{
	if (uma_sfq_preempt_at(sfq) > now)
		return false;
	sfq->running = NULL;
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_preempt);

static void uma_flow_leave(struct uma_sfq *sfq, const struct uma_flow *flow)
{
	sfq->left[flow->level] = max(sfq->left[flow->level], flow->vtime);
}

/**
 * uma_sfq_leave - the file of a client is closed
 * @sfq: engine
 * @share: client's part in it; a job of it may still have the engine
 */
void uma_sfq_leave(struct uma_sfq *sfq, struct uma_share *share)
{
	u32 i;

	share->left = true;
	for (i = 0; i < UMA_SFQ_LEVELS; i++)
		uma_flow_leave(sfq, &share->flow[i]);
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_leave);

/**
 * uma_sfq_charge - a job has used the engine
 * @sfq: engine
 * @flow: flow of its request
 * @ns: for how long
 */
void uma_sfq_charge(struct uma_sfq *sfq, struct uma_flow *flow, u64 ns)
{
	unsigned int class = uma_flow_class(flow);
	bool backlogged = !list_empty(&flow->requests) && !flow->held;

	sfq->running = NULL;
	if (backlogged)
		rb_erase_cached(&flow->node, &sfq->backlogged[class]);
	flow->vtime += max_t(u64, ns, UMA_SFQ_MIN_NS) * uma_sfq_price[flow->level];
	sfq->latest[class] = max(sfq->latest[class], flow->vtime);
	if (flow->share->left)
		uma_flow_leave(sfq, flow);
	if (backlogged)
		rb_add_cached(&flow->node, &sfq->backlogged[class], uma_flow_less);
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_charge);

/**
 * uma_sfq_penalize - a job of a client hung
 * @sfq: engine
 * @share: client's part in it
 * @ns: for how long
 * @now: time
 */
void uma_sfq_penalize(struct uma_sfq *sfq, struct uma_share *share, u64 ns, u64 now)
{
	u32 i;

	for (i = 0; i < UMA_SFQ_LEVELS; i++)
		uma_flow_del(sfq, &share->flow[i]);
	share->held_until = max(share->held_until, now) + ns;
	for (i = 0; i < UMA_SFQ_LEVELS; i++)
		uma_flow_add(sfq, &share->flow[i], now);
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_penalize);

/**
 * uma_sfq_release - the engine is free
 * @sfq: engine that somebody had
 * @now: time
 * @ready: requests that may go now are added to it
 */
void uma_sfq_release(struct uma_sfq *sfq, u64 now, struct list_head *ready)
{
	sfq->running = NULL;
	sfq->busy = false;
	uma_sfq_advance(sfq, now, ready);
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_release);

/**
 * uma_sfq_advance - time has passed
 * @sfq: engine
 * @now: time
 * @ready: a request that is dispatched is added to it
 */
void uma_sfq_advance(struct uma_sfq *sfq, u64 now, struct list_head *ready)
{
	struct uma_request *request;
	struct uma_flow *flow, *next;

	list_for_each_entry_safe(flow, next, &sfq->held, held_node) {
		if (flow->share->held_until > now)
			continue;
		list_del(&flow->held_node);
		uma_flow_add(sfq, flow, now);
	}
	if (sfq->busy)
		return;
	request = uma_sfq_dispatch(sfq, now);
	if (request)
		list_add_tail(&request->node, ready);
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_advance);

/**
 * uma_sfq_next_event - when does time matter?
 * @sfq: engine
 *
 * Return: when uma_sfq_advance() or uma_sfq_preempt() have something to say, U64_MAX for
 * never as things are.
 */
u64 uma_sfq_next_event(const struct uma_sfq *sfq)
{
	const struct uma_flow *flow;
	u64 event = uma_sfq_preempt_at(sfq);

	list_for_each_entry(flow, &sfq->held, held_node)
		event = min(event, flow->share->held_until);
	return event;
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_next_event);
