/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_SCHED_H_
#define _UMA_SCHED_H_

#include <drm/gpu_scheduler.h>

struct uma_device;
struct uma_engine;
struct uma_fence;
struct uma_queue;
struct uma_result;
struct uma_ticket;

/**
 * struct uma_job - a job
 */
struct uma_job {
	/** @base: the scheduler's side */
	struct drm_sched_job base;
	/** @queue: queue, with a reference */
	struct uma_queue *queue;
	/** @fence: allocated ahead of time, NULL once it is in use */
	struct uma_fence *fence;
	/** @ticket: what it waits for its turn with, allocated ahead of time */
	struct uma_ticket *ticket;
	/** @done: the fence that stands for the job on the engine, set by run_job */
	struct dma_fence *done;
	/** @tasks_addr: device address of the tasks */
	u64 tasks_addr;
	/** @stamps_addr: device address of their stamps, 0 for none */
	u64 stamps_addr;
	/** @number: number of the job in its queue */
	u64 number;
	/** @submitted: when it was submitted */
	ktime_t submitted;
	/** @task_count: number of tasks */
	u32 task_count;
	/** @dep_count: entries of @deps */
	u32 dep_count;
	/** @dep_next: the first of @deps that the scheduler has not asked for */
	u32 dep_next;
	/** @deps: jobs of the same submit that it waits for; filled in once they are armed */
	struct dma_fence **deps;
};

/**
 * struct uma_done - a job that an engine is done with
 */
struct uma_done {
	/** @queue: queue; the job that holds it has not been signalled */
	struct uma_queue *queue;
	/** @fence: fence, with a reference */
	struct dma_fence *fence;
	/** @error: 0 or what goes into it */
	int error;
	/** @number: number of the job in its queue */
	u64 number;
	/** @start: device timestamp of its begin, 0 if the device did not say */
	u64 start;
	/** @end: device timestamp of its end, 0 if the device did not say */
	u64 end;
};

#define to_uma_job(sched_job)	container_of(sched_job, struct uma_job, base)

int uma_sched_init(struct uma_device *uma);
void uma_job_free(struct uma_job *job);

void uma_engine_setup(struct uma_engine *engine);
void uma_engine_poll(struct uma_engine *engine, bool irq);
void uma_engine_push(struct uma_engine *engine);
void uma_engine_take(struct uma_engine *engine, int error, struct uma_done *done);
void uma_engine_signal(struct uma_engine *engine, const struct uma_done *done);

#endif /* _UMA_SCHED_H_ */
