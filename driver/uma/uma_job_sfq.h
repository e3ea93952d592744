/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_JOB_SFQ_H_
#define _UMA_JOB_SFQ_H_

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

/* One flow for each &enum drm_uma_priority; the last one is real-time. */
#define UMA_SFQ_LEVELS		4
/* Minimum charge of a job, as dispatching has a cost too. */
#define UMA_SFQ_MIN_NS		10000

struct uma_share;

/**
 * enum uma_request_state - state of a request
 * @UMA_REQUEST_NONE: not queued, or removed
 * @UMA_REQUEST_QUEUED: waits for the engine
 * @UMA_REQUEST_DISPATCHED: has the engine
 */
enum uma_request_state {
	UMA_REQUEST_NONE,
	UMA_REQUEST_QUEUED,
	UMA_REQUEST_DISPATCHED,
};

/* Request of a queue's job for an engine */
struct uma_request {
	struct list_head node;	/* in &uma_flow.requests, or in a list of requests that are ready */
	struct uma_flow *flow;	/* flow that is charged */
	enum uma_request_state state;
};

/* Requests of a client for an engine at one priority */
struct uma_flow {
	/* in &uma_sfq.backlogged, if requests is not empty and held is false */
	struct rb_node node;
	/* in &uma_sfq.held, if requests is not empty and held is true */
	struct list_head held_node;
	bool held;			/* the client is being penalised, &uma_share.held_until */
	struct list_head requests;	/* queued requests, in FIFO order */
	/* virtual time: engine time that it has used, divided by its weight */
	u64 vtime;
	u64 shared;			/* vtime without its last run while no other flow waited */
	u32 level;			/* priority */
	struct uma_share *share;	/* share that it belongs to */
};

/* State of a client on an engine */
struct uma_share {
	struct uma_flow flow[UMA_SFQ_LEVELS];	/* by priority */
	u64 held_until;				/* end of the penalty for jobs that hung */
	bool left;				/* its file is closed */
};

/*
 * Start-time fair queueing for an engine.
 *
 * Callers serialise. Times are in nanoseconds of one clock.
 */
struct uma_sfq {
	/* flows that are runnable, by virtual time; [1]: of real-time priority */
	struct rb_root_cached backlogged[2];
	u64 clock[2];	/* virtual time of the flow that was served last */
	u64 latest[2];	/* highest virtual time of any flow */
	/* highest uma_flow.shared of flows whose files were closed, by priority */
	u64 left[UMA_SFQ_LEVELS];
	/* flows with requests whose clients are being penalised */
	struct list_head held;
	bool busy;	/* the engine has been dispatched to a request */
	struct uma_flow *served;	/* flow of that request, or of the last */
	u64 crowded;	/* since when another flow waits for it; U64_MAX: none does */
	/* flow of the running job, if it can be preempted and preemption has not been requested */
	struct uma_flow *running;
	u64 started;	/* when it began to run */
	u64 slice;	/* minimum time that it runs */
	bool wanted;	/* a job waits for a hardware address space, so preempt after slice */
};

void uma_sfq_init(struct uma_sfq *sfq);
void uma_share_init(struct uma_share *share);
bool uma_sfq_enqueue(struct uma_sfq *sfq, struct uma_share *share, u32 level,
		     struct uma_request *request, u64 now, struct list_head *ready);
void uma_sfq_remove(struct uma_sfq *sfq, struct uma_request *request);
void uma_sfq_want(struct uma_sfq *sfq, bool wanted);
void uma_sfq_start(struct uma_sfq *sfq, struct uma_request *request, u64 slice, u64 now);
bool uma_sfq_preempt(struct uma_sfq *sfq, u64 now);
void uma_sfq_charge(struct uma_sfq *sfq, struct uma_flow *flow, u64 ns, u64 now);
void uma_sfq_penalize(struct uma_sfq *sfq, struct uma_share *share, u64 ns, u64 now);
void uma_sfq_leave(struct uma_sfq *sfq, struct uma_share *share);
void uma_sfq_release(struct uma_sfq *sfq, u64 now, struct list_head *ready);
void uma_sfq_advance(struct uma_sfq *sfq, u64 now, struct list_head *ready);
u64 uma_sfq_next_event(const struct uma_sfq *sfq);

#endif /* _UMA_JOB_SFQ_H_ */
