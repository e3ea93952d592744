/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_QUEUE_H_
#define _UMA_QUEUE_H_

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/workqueue.h>

#include <drm/gpu_scheduler.h>

#include <drm/uma_accel.h>

struct drm_device;
struct drm_file;
struct seq_file;
struct uma_client;
struct uma_device;
struct uma_engine;
struct uma_usage;
struct uma_vm;

/**
 * struct uma_queue - a queue
 */
struct uma_queue {
	/** @ref: the file's and the jobs' references */
	struct kref ref;
	/** @uma: device, with a reference */
	struct uma_device *uma;
	/** @vm: address space, with a reference */
	struct uma_vm *vm;
	/** @usage: engine time of the client, with a reference */
	struct uma_usage *usage;
	/** @node: in &uma_device.queues */
	struct list_head node;
	/** @release: frees it; the last job may be freed by the scheduler that is to be told */
	struct work_struct release;
	/** @entity: the scheduler's side */
	struct drm_sched_entity entity;
	/** @scheds: schedulers of the engines that it may use */
	struct drm_gpu_scheduler *scheds[32];
	/** @engines: the same as a mask of indices in the device */
	u32 engines;
	/** @max_job_tasks: what all its engines take */
	u32 max_job_tasks;
	/** @timeout_ms: timeout of its jobs, 0 for the device's */
	u32 timeout_ms;
	/** @priority: &enum drm_uma_priority */
	u32 priority;
	/** @client_id: the core's number of the file that it belongs to */
	u64 client_id;
	/** @pid: who made it, for debugging */
	pid_t pid;
	/** @last: fence of the job that was pushed last, under &uma_client.submit_lock; NULL */
	struct dma_fence *last;
	/** @batch: jobs of the submit that holds &uma_client.submit_lock */
	u32 batch;
	/** @waiting: turn that its first job waits for; under &uma_device.queues_lock */
	struct uma_turn *waiting;
	/** @closed: destroyed by its owner; jobs that have not started are cancelled */
	bool closed;
	/** @submitted: jobs taken */
	atomic64_t submitted;
	/** @completed: jobs whose fences have signalled */
	atomic64_t completed;
	/** @counters_lock: protects @counters; taken with the lock of an engine held */
	spinlock_t counters_lock;
	/** @counters: what its jobs did */
	struct drm_uma_counters counters;
	/** @state: what user space reads, but for counts; under &uma_device.queues_lock */
	struct drm_uma_queue_state state;
};

struct uma_queue *uma_queue_find(struct uma_client *client, u32 id);
void uma_queue_put(struct uma_queue *queue);
int uma_queue_error(struct uma_queue *queue);
int uma_queue_error_locked(struct uma_queue *queue);
void uma_queue_guilty(struct uma_queue *queue, const struct drm_uma_queue_state *state);
void uma_queues_innocent(struct uma_device *uma, u32 engines, struct uma_queue *guilty);
void uma_queues_lost(struct uma_device *uma);
void uma_queues_close(struct uma_client *client);
void uma_queues_show(struct uma_device *uma, struct seq_file *m);

int uma_ioctl_queue_create(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_queue_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_queue_state(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* _UMA_QUEUE_H_ */
