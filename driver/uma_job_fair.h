/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_JOB_FAIR_H_
#define _UMA_JOB_FAIR_H_

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

struct dma_fence;
struct uma_device;
struct uma_engine;
struct uma_job;
struct uma_queue;
struct uma_ticket;

/* One flow for each &enum drm_uma_priority; the last one is real-time. */
#define UMA_FAIR_LEVELS		4
/* What the shortest job costs: taking turns is work too. */
#define UMA_FAIR_MIN_NS		10000
/* Jobs that may pass one that runs. They are freed only when it has ended. */
#define UMA_FAIR_PASSES		256

struct uma_share;

/**
 * enum uma_turn_state - how far a job has come
 * @UMA_TURN_NONE: it has not asked
 * @UMA_TURN_WAITING: it waits for the engine
 * @UMA_TURN_PASSING: it does not need the engine, but has to let one go first
 * @UMA_TURN_GRANTED: the engine is its
 * @UMA_TURN_PASSED: it goes without the engine
 */
enum uma_turn_state {
	UMA_TURN_NONE,
	UMA_TURN_WAITING,
	UMA_TURN_PASSING,
	UMA_TURN_GRANTED,
	UMA_TURN_PASSED,
};

/**
 * struct uma_turn - a job's turn on an engine
 */
struct uma_turn {
	/** @node: in &uma_flow.turns, &uma_fair.passing, or a list of those that may go */
	struct list_head node;
	/** @flow: who pays */
	struct uma_flow *flow;
	/** @owner: queue, which is only compared: its jobs do not overtake each other */
	const void *owner;
	/** @state: how far it has come */
	enum uma_turn_state state;
};

/**
 * struct uma_flow - what a client wants of an engine at one priority
 */
struct uma_flow {
	/** @node: in &uma_fair.ready, if @turns is not empty and @held is false */
	struct rb_node node;
	/** @held_node: in &uma_fair.held, if @turns is not empty and @held is true */
	struct list_head held_node;
	/** @held: the client's jobs have to wait */
	bool held;
	/** @turns: jobs that wait, first come first served */
	struct list_head turns;
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
	struct uma_flow flow[UMA_FAIR_LEVELS];
	/** @held_until: a job of it hung; the others wait until then */
	u64 held_until;
};

/**
 * struct uma_fair - who is next on an engine
 *
 * Knows nothing of the engine but whether it has been given to somebody.
 * Callers serialise. Times are in nanoseconds of one clock.
 */
struct uma_fair {
	/** @ready: flows that wait, by virtual time; of real-time priority in the second */
	struct rb_root_cached ready[2];
	/** @clock: virtual time of the flow that was served last */
	u64 clock[2];
	/** @latest: the highest virtual time that any flow has come to */
	u64 latest[2];
	/** @held: flows of clients whose jobs hung */
	struct list_head held;
	/** @passing: turns that go when the engine gets free */
	struct list_head passing;
	/** @passed: turns that passed the one that has the engine */
	u32 passed;
	/** @busy: the engine has been given away */
	bool busy;
	/** @owner: to whom */
	const void *owner;
};

void uma_fair_init(struct uma_fair *fair);
void uma_share_init(struct uma_share *share);
bool uma_fair_enter(struct uma_fair *fair, struct uma_share *share, u32 level,
		    struct uma_turn *turn, u64 now, struct list_head *ready);
bool uma_fair_pass(struct uma_fair *fair, struct uma_turn *turn);
void uma_fair_charge(struct uma_fair *fair, struct uma_flow *flow, u64 ns);
void uma_fair_punish(struct uma_fair *fair, struct uma_share *share, u64 ns, u64 now);
void uma_fair_leave(struct uma_fair *fair, u64 now, struct list_head *ready);
void uma_fair_expire(struct uma_fair *fair, u64 now, struct list_head *ready);
u64 uma_fair_wake(const struct uma_fair *fair);

struct uma_ticket *uma_ticket_alloc(void);
void uma_ticket_free(struct uma_ticket *ticket);
struct dma_fence *uma_ticket_wait(struct uma_engine *engine, struct uma_job *job);
bool uma_ticket_holds(const struct uma_ticket *ticket);

void uma_turns_init(struct uma_engine *engine);
void uma_turns_fini(struct uma_engine *engine);
void uma_turns_charge(struct uma_engine *engine, struct uma_job *job, u64 ns, bool hung);
void uma_turns_next(struct uma_engine *engine);
void uma_turns_release(struct uma_queue *queue, struct list_head *ready);
void uma_turns_signal(struct list_head *ready);

#endif /* _UMA_JOB_FAIR_H_ */
