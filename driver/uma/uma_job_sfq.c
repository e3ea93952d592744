// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Run-list of an engine: which request is dispatched next, and when a job is preempted.
 *
 * Start-time fair queueing (Goyal, Vin, Cheng 1996). A flow has the requests of one client at one
 * priority. Its virtual time is the engine time that it has used, divided by its weight; when the
 * engine is free the flow with the lowest virtual time is served. So clients that are always
 * backlogged get engine time in proportion to their weights, however many jobs they queue and
 * however long these are, and the length of a job need not be known in advance. The clock of the
 * engine is the virtual time of the flow that was served last; a flow that becomes backlogged
 * starts there if it is behind, so idle time cannot be saved up.
 *
 * A client that opens a file for each job would always start at the clock, which would not advance,
 * and starve those that keep their files. So a new flow starts at the highest virtual time of the
 * flows whose files were closed. Their last run does not count if no other flow waited meanwhile:
 * it delayed nobody, and may be a whole job. So that time is ahead of the clock by no more than a
 * slice and a task, or by a job that cannot be preempted.
 *
 * A job that can be preempted runs for a slice, and then until the virtual time of its flow exceeds
 * that of another one. Without other requests it is not preempted. Real-time flows preempt others
 * at once.
 *
 * A job that hangs occupies the engine for its timeout. Charging for that is not enough: a client
 * that waits for each job before it submits the next has nothing queued when virtual times are
 * compared, and does not save up time, so a client whose jobs always hang would get every other
 * turn. Therefore a client whose job hung is held off the engine for as long again, even if the
 * engine is idle. The others get at least half of the engine.
 */
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include <kunit/visibility.h>

#include "uma_job_sfq.h"

/* Inverse of the weights, which are 1, 4, 16 and 16. */
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

/* A flow with requests is added to the backlogged or to the held flows. */
static void uma_flow_add(struct uma_sfq *sfq, struct uma_flow *flow, u64 now)
{
	unsigned int class = uma_flow_class(flow);

	if (list_empty(&flow->requests))
		return;
	flow->held = flow->share->held_until > now;
	if (flow->held) {
		list_add_tail(&flow->held_node, &sfq->held);
	} else {
		/* A new flow: its client may have closed another file before. */
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

/* Does a flow other than the one that is served wait for the engine? */
static bool uma_sfq_is_crowded(const struct uma_sfq *sfq)
{
	struct rb_node *rb;
	unsigned int class;

	for (class = 0; class < ARRAY_SIZE(sfq->backlogged); class++) {
		rb = rb_first_cached(&sfq->backlogged[class]);
		if (rb && (rb != &sfq->served->node || rb_next(rb)))
			return true;
	}
	return false;
}

/* Dispatch the next request; the engine is free. */
static struct uma_request *uma_sfq_dispatch(struct uma_sfq *sfq, u64 now)
{
	struct uma_request *request;
	struct uma_flow *flow;
	unsigned int class;
	struct rb_node *rb;

	rb = rb_first_cached(&sfq->backlogged[1]) ?: rb_first_cached(&sfq->backlogged[0]);
	if (!rb) {
		/* The engine is idle: the next flow starts after all earlier ones. */
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
	sfq->served = flow;
	sfq->crowded = uma_sfq_is_crowded(sfq) ? now : U64_MAX;
	return request;
}

/* Initialise the run-list of an engine. */
void uma_sfq_init(struct uma_sfq *sfq)
{
	memset(sfq, 0, sizeof(*sfq));
	sfq->backlogged[0] = RB_ROOT_CACHED;
	sfq->backlogged[1] = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&sfq->held);
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_init);

/* Initialise the state of a client on an engine. */
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
 * uma_sfq_enqueue - a job is runnable, for the first time or after it was preempted
 * @sfq: engine
 * @share: state of the client
 * @level: &enum drm_uma_priority
 * @request: request of the job
 * @now: time
 * @ready: if another request is dispatched it is added to this list
 *
 * A preempted job has been charged, and is queued behind the other requests of its flow;
 * uma_sfq_release() is to follow. A queue has one request at a time, as its jobs run in order.
 *
 * Return: true if @request was dispatched at once.
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
	if (sfq->busy) {
		if (sfq->crowded == U64_MAX && uma_sfq_is_crowded(sfq))
			sfq->crowded = now;
		return false;
	}
	/* If the penalty has just ended another request of the flow may be first. */
	first = uma_sfq_dispatch(sfq, now);
	if (first && first != request)
		list_add_tail(&first->node, ready);
	return first == request;
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_enqueue);

/* Remove a queued request. */
void uma_sfq_remove(struct uma_sfq *sfq, struct uma_request *request)
{
	/* Independent of the time: a flow that is held stays so. */
	uma_request_del(sfq, request, request->flow->held ? 0 : U64_MAX);
	request->state = UMA_REQUEST_NONE;
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_remove);

/* Jobs wait for hardware address spaces, so preempt running jobs after a slice; or no longer. */
void uma_sfq_want(struct uma_sfq *sfq, bool wanted)
{
	sfq->wanted = wanted;
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_want);

/* A job that can be preempted, after @slice at the earliest, has started. */
void uma_sfq_start(struct uma_sfq *sfq, struct uma_request *request, u64 slice, u64 now)
{
	sfq->running = request->flow;
	sfq->started = now;
	sfq->slice = slice;
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_start);

/* When the running job has to be preempted, if no other request is queued before. */
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

/* Does the running job have to be preempted? True at most once for each uma_sfq_start(). */
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
	sfq->left[flow->level] = max(sfq->left[flow->level], flow->shared);
}

/* The file of a client was closed; a job of it may still have the engine. */
void uma_sfq_leave(struct uma_sfq *sfq, struct uma_share *share)
{
	u32 i;

	share->left = true;
	for (i = 0; i < UMA_SFQ_LEVELS; i++)
		uma_flow_leave(sfq, &share->flow[i]);
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_leave);

/* Charge a flow for @ns of engine time. */
void uma_sfq_charge(struct uma_sfq *sfq, struct uma_flow *flow, u64 ns, u64 now)
{
	u64 crowded = sfq->crowded < now ? min(ns, now - sfq->crowded) : 0;
	unsigned int class = uma_flow_class(flow);
	bool backlogged = !list_empty(&flow->requests) && !flow->held;

	sfq->running = NULL;
	if (backlogged)
		rb_erase_cached(&flow->node, &sfq->backlogged[class]);
	flow->vtime += max_t(u64, ns, UMA_SFQ_MIN_NS) * uma_sfq_price[flow->level];
	flow->shared = flow->vtime - (ns - crowded) * uma_sfq_price[flow->level];
	sfq->latest[class] = max(sfq->latest[class], flow->vtime);
	if (flow->share->left)
		uma_flow_leave(sfq, flow);
	if (backlogged)
		rb_add_cached(&flow->node, &sfq->backlogged[class], uma_flow_less);
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_charge);

/* Hold a client off the engine for @ns, as long as its job had the engine before it hung. */
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

/* The engine is free. If a request is dispatched, it is added to @ready. */
void uma_sfq_release(struct uma_sfq *sfq, u64 now, struct list_head *ready)
{
	sfq->running = NULL;
	sfq->busy = false;
	uma_sfq_advance(sfq, now, ready);
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_release);

/* End penalties. If the engine is free and a request is dispatched, it is added to @ready. */
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

/* When uma_sfq_advance() or uma_sfq_preempt() has to be called next; U64_MAX: at no known time. */
u64 uma_sfq_next_event(const struct uma_sfq *sfq)
{
	const struct uma_flow *flow;
	u64 event = uma_sfq_preempt_at(sfq);

	list_for_each_entry(flow, &sfq->held, held_node)
		event = min(event, flow->share->held_until);
	return event;
}
EXPORT_SYMBOL_IF_KUNIT(uma_sfq_next_event);
