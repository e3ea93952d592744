/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_JOB_SFQ_H_
#define _UMA_JOB_SFQ_H_

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

/* One flow for each &enum drm_uma_priority; the last one is real-time. */
#define UMA_SFQ_LEVELS		4
/* What the shortest job costs: dispatching one is work too. */
#define UMA_SFQ_MIN_NS		10000

struct uma_share;

/**
 * enum uma_request_state - how far a request has come
 * @UMA_REQUEST_NONE: it has not been made, or was taken back
 * @UMA_REQUEST_QUEUED: it waits for the engine
 * @UMA_REQUEST_DISPATCHED: the engine is its
 */
enum uma_request_state {
	UMA_REQUEST_NONE,
	UMA_REQUEST_QUEUED,
	UMA_REQUEST_DISPATCHED,
};

/**
 * struct uma_request - the request for an engine of a queue's job
 */
struct uma_request {
	/** @node: in &uma_flow.requests, or a list of those that may go */
	struct list_head node;
	/** @flow: who pays */
	struct uma_flow *flow;
	/** @state: how far it has come */
	enum uma_request_state state;
};

/**
 * struct uma_flow - what a client wants of an engine at one priority
 */
struct uma_flow {
	/** @node: in &uma_sfq.backlogged, if @requests is not empty and @held is false */
	struct rb_node node;
	/** @held_node: in &uma_sfq.held, if @requests is not empty and @held is true */
	struct list_head held_node;
	/** @held: the client's jobs have to wait */
	bool held;
	/** @requests: those that are queued, first come first served */
	struct list_head requests;
	/** @vtime: engine time that it has had, by weight */
	u64 vtime;
	/** @level: priority */
	u32 level;
	/** @share: the client's */
	struct uma_share *share;
};

/**
 * struct uma_share - a client's part in an engine
 */
struct uma_share {
	/** @flow: by priority */
	struct uma_flow flow[UMA_SFQ_LEVELS];
	/** @held_until: a job of it hung; the others wait until then */
	u64 held_until;
	/** @left: its file is closed */
	bool left;
};

/**
 * struct uma_sfq - start-time fair queueing for an engine
 *
 * Knows nothing of the engine but whether it has been given to somebody.
 * Callers serialise. Times are in nanoseconds of one clock.
 */
struct uma_sfq {
	/** @backlogged: flows with requests, by virtual time; of real time in the second */
	struct rb_root_cached backlogged[2];
	/** @clock: virtual time of the flow that was served last */
	u64 clock[2];
	/** @latest: the highest virtual time that any flow has come to */
	u64 latest[2];
	/** @left: likewise, of flows whose files are closed, by priority */
	u64 left[UMA_SFQ_LEVELS];
	/** @held: flows of clients whose jobs hung */
	struct list_head held;
	/** @busy: the engine has been given away */
	bool busy;
	/** @running: flow of a job that can be preempted; NULL once it has been told to */
	struct uma_flow *running;
	/** @started: when it began to run */
	u64 started;
	/** @slice: for how long it runs at least */
	u64 slice;
	/** @wanted: others of the device wait for what a job has besides the engine */
	bool wanted;
};

void uma_sfq_init(struct uma_sfq *sfq);
void uma_share_init(struct uma_share *share);
bool uma_sfq_enqueue(struct uma_sfq *sfq, struct uma_share *share, u32 level,
		     struct uma_request *request, u64 now, struct list_head *ready);
void uma_sfq_remove(struct uma_sfq *sfq, struct uma_request *request);
void uma_sfq_want(struct uma_sfq *sfq, bool wanted);
void uma_sfq_start(struct uma_sfq *sfq, struct uma_request *request, u64 slice, u64 now);
bool uma_sfq_preempt(struct uma_sfq *sfq, u64 now);
void uma_sfq_charge(struct uma_sfq *sfq, struct uma_flow *flow, u64 ns);
void uma_sfq_penalize(struct uma_sfq *sfq, struct uma_share *share, u64 ns, u64 now);
void uma_sfq_leave(struct uma_sfq *sfq, struct uma_share *share);
void uma_sfq_release(struct uma_sfq *sfq, u64 now, struct list_head *ready);
void uma_sfq_advance(struct uma_sfq *sfq, u64 now, struct list_head *ready);
u64 uma_sfq_next_event(const struct uma_sfq *sfq);

#endif /* _UMA_JOB_SFQ_H_ */
