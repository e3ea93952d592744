/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_TURN_H_
#define _UMA_TURN_H_

#include <linux/list.h>
#include <linux/types.h>

struct dma_fence;
struct uma_device;
struct uma_engine;
struct uma_job;
struct uma_queue;
struct uma_ticket;

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

#endif /* _UMA_TURN_H_ */
