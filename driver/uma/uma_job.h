/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_JOB_H_
#define _UMA_JOB_H_

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <drm/drm_exec.h>
#include <drm/gpu_scheduler.h>

#include <drm/uma_accel.h>

#include "uma_job_sfq.h"

struct drm_device;
struct drm_file;
struct drm_gem_object;
struct drm_uma_job_bo;
struct pid;
struct seq_file;
struct uma_client;
struct uma_device;
struct uma_engine;
struct uma_fence;
struct uma_result;
struct uma_usage;
struct uma_vm;

/**
 * enum uma_failure - why a job on the device has to be given up
 * @UMA_FAILURE_NONE: it has not
 * @UMA_FAILURE_FAULT: the device reported a fault
 * @UMA_FAILURE_TIMEOUT: it ran too long, or did not let go of its address space
 * @UMA_FAILURE_LOST: a reset took it along that it did not cause
 */
enum uma_failure {
	UMA_FAILURE_NONE,
	UMA_FAILURE_FAULT,
	UMA_FAILURE_TIMEOUT,
	UMA_FAILURE_LOST,
};

/**
 * enum uma_engine_state - what an engine does with its job
 * @UMA_ENGINE_IDLE: there is none
 * @UMA_ENGINE_HELD: it is not on the ring, and waits for better times
 * @UMA_ENGINE_RUNNING: it is on the ring; whoever finds its record takes it away
 * @UMA_ENGINE_FAILED: it is to be given up, but the engine may still be working on
 *	it; from here on it belongs to &uma_device.reset_wq
 * @UMA_ENGINE_STOPPED: as before, and the engine has let go of it
 *
 * Changes with &uma_engine.lock held. A job is given up only when nothing works on it any
 * more: its memory may be used for something else once its fence has signalled.
 */
enum uma_engine_state {
	UMA_ENGINE_IDLE,
	UMA_ENGINE_HELD,
	UMA_ENGINE_RUNNING,
	UMA_ENGINE_FAILED,
	UMA_ENGINE_STOPPED,
};

/**
 * struct uma_queue - a queue
 */
struct uma_queue {
	/** @ref: the file's and the jobs' references */
	struct kref ref;
	/** @uma: device, with a reference */
	struct uma_device *uma;
	/**
	 * @vm: address space, with a reference; NULL once no job of the queue goes to an engine any
	 * more. Under &uma_device.queues_lock, but for who has a job that has its engine
	 */
	struct uma_vm *vm;
	/** @vm_work: drops it, see uma_queue_drop_vm(); in the end frees the queue */
	struct work_struct vm_work;
	/** @usage: engine time of the client, with a reference */
	struct uma_usage *usage;
	/** @node: in &uma_device.queues */
	struct list_head node;
	/**
	 * @release: ends it; the last job may be freed by the scheduler that is to be ended. After
	 * a grace period: who signals a fence may still be telling it, see uma_queue_release()
	 */
	struct rcu_work release;
	/** @name: class and instances of its engines, for traces and fences: "matrix0", "gpu0-3" */
	char name[48];
	/** @sched: sees to what its jobs wait for, to their order, and to timeouts */
	struct drm_gpu_scheduler sched;
	/** @entity: the only one of @sched */
	struct drm_sched_entity entity;
	/** @rcu: whoever asks a fence for its names as it signals may still be at it */
	struct rcu_head rcu;
	/** @keepers: fences that may still be asked for them, and one: see uma_queue_free() */
	refcount_t keepers;
	/** @engine_class: &enum uma_engine_class */
	u32 engine_class;
	/** @engines: mask of those that it may use, by their index in the device */
	u32 engines;
	/** @engine: which its jobs use; under &uma_client.submit_lock, NULL: no job yet */
	struct uma_engine *engine;
	/** @max_job_tasks: what all its engines take */
	u32 max_job_tasks;
	/** @timeout_ms: timeout of its jobs, 0 for the device's */
	u32 timeout_ms;
	/** @exempt: the device's timeout is no limit to @timeout_ms */
	bool exempt;
	/** @priority: &enum drm_uma_priority */
	u32 priority;
	/** @client_id: the core's number of the file that it belongs to */
	u64 client_id;
	/** @pid: process that made it, with a reference: its number may be another's by now */
	struct pid *pid;
	/** @last: fence of the job that was pushed last, under &uma_client.submit_lock; NULL */
	struct dma_fence *last;
	/** @batch: jobs of the submit that holds &uma_client.submit_lock */
	u32 batch;
	/** @fence_context: of its jobs' fences */
	u64 fence_context;
	/** @fence_seqno: number of the last fence of a job; only run_job touches it */
	u64 fence_seqno;
	/** @reset_count: of its engines, added up, when it was made: uma_queue_disturbed() */
	u32 reset_count;
	/** @turn: the first job that is not done; under &uma_device.queues_lock */
	struct uma_job *turn;
	/** @request: with which it waits for the engine; likewise */
	struct uma_request request;
	/** @behind: those that come after it, &uma_job.node; likewise */
	struct list_head behind;
	/** @end_work: ends jobs that are too many for an interrupt; on &uma_device.sched_wq */
	struct work_struct end_work;
	/** @failed: its job is to be given up; under &uma_engine.lock */
	bool failed;
	/** @closed: destroyed: its jobs are cancelled; under &uma_device.queues_lock */
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
void uma_queue_drop_vm(struct uma_queue *queue);
int uma_queue_error(struct uma_queue *queue);
int uma_queue_error_locked(struct uma_queue *queue);
struct uma_engine *uma_queue_choose_engine(struct uma_queue *queue);
void uma_queue_guilty(struct uma_queue *queue, const struct drm_uma_queue_state *state);
void uma_queues_lost(struct uma_device *uma);
void uma_queues_close(struct uma_client *client);
void uma_queues_show(struct uma_device *uma, struct seq_file *m);

int uma_ioctl_queue_create(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_queue_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_queue_state(struct drm_device *drm, void *data, struct drm_file *file);

struct uma_fence *uma_fence_alloc(void);
struct dma_fence *uma_fence_init(struct uma_fence *fence, struct uma_queue *queue);
void uma_queue_free(struct uma_queue *queue);

/**
 * struct uma_implicit_use - a job uses a buffer
 */
struct uma_implicit_use {
	/** @obj: buffer, with a reference */
	struct drm_gem_object *obj;
	/** @write: it writes to it */
	bool write;
};

/**
 * struct uma_implicit - the buffers of the jobs of a submit
 */
struct uma_implicit {
	/** @uses: what jobs use, job by job */
	struct uma_implicit_use *uses;
	/** @count: entries of @uses */
	u32 count;
	/** @max: room in @uses */
	u32 max;
	/** @objs: buffers of @uses, those that share a dma_resv side by side */
	struct drm_gem_object **objs;
	/** @locked: @exec has been initialised */
	bool locked;
	/** @exec: the locks of their dma_resvs */
	struct drm_exec exec;
};

int uma_implicit_init(struct uma_implicit *imp, u32 max);
void uma_implicit_fini(struct uma_implicit *imp);
int uma_implicit_add(struct uma_implicit *imp, struct drm_file *file,
		     const struct drm_uma_job_bo *bo);
bool uma_implicit_conflict(const struct uma_implicit *imp, u32 first_a, u32 count_a,
			   u32 first_b, u32 count_b);
int uma_implicit_lock(struct uma_implicit *imp);
int uma_implicit_wait(struct uma_implicit *imp, u32 first, u32 count, struct drm_sched_job *job);
void uma_implicit_publish(struct uma_implicit *imp, u32 first, u32 count,
			  struct dma_fence *done);

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
	/** @done: the fence that stands for the job on the engine, set by run_job */
	struct dma_fence *done;
	/** @engine: engine */
	struct uma_engine *engine;
	/** @node: in &uma_queue.behind */
	struct list_head node;
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
	/** @first_task: the first one that has not ended, if it was preempted */
	u32 first_task;
	/** @first_tile: its tiles that are done: the engine's number, never the user's */
	u64 first_tile;
	/** @run_ns: time that it had the engine before it was preempted */
	u64 run_ns;
	/** @drops: &uma_engine.drops when it began; under &uma_device.queues_lock */
	u32 drops;
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
	/** @queue: queue, with a reference */
	struct uma_queue *queue;
	/** @fence: fence, with a reference */
	struct dma_fence *fence;
	/** @error: 0 or what goes into it */
	int error;
	/** @number: number of the job in its queue */
	u64 number;
	/** @start: device timestamp of the begin of its last run, 0 if the device did not say */
	u64 start;
	/** @end: device timestamp of its end, 0 if the device did not say */
	u64 end;
};

#define to_uma_job(sched_job)	container_of(sched_job, struct uma_job, base)

int uma_sched_init(struct uma_device *uma);
void uma_sched_fini(struct uma_device *uma);
int uma_sched_start(struct uma_queue *queue);
void uma_sched_stop(struct uma_queue *queue);
void uma_job_free(struct uma_job *job);
void uma_job_end(struct uma_job *job);

void uma_engine_setup(struct uma_engine *engine);
void uma_engine_poll(struct uma_engine *engine, bool irq);
void uma_engine_push(struct uma_engine *engine);
void uma_engines_push(struct uma_device *uma);
/**
 * uma_job_has_begun - has a job been on the ring, and been preempted?
 * @job: job
 *
 * Return: true if there is something left of it that continues.
 */
static inline bool uma_job_has_begun(const struct uma_job *job)
{
	return job->first_task || job->first_tile;
}

void uma_engine_preempt(struct uma_engine *engine, u64 seqno);
void uma_engine_take(struct uma_engine *engine, struct uma_job *job);
void uma_engine_begin(struct uma_engine *engine);
void uma_engine_begin_work(struct work_struct *work);
void uma_engine_detach(struct uma_engine *engine, int error, struct uma_done *done);
void uma_engine_signal(struct uma_engine *engine, const struct uma_done *done);

void uma_dispatch_add(struct uma_job *job);
void uma_dispatch_init(struct uma_engine *engine);
void uma_dispatch_fini(struct uma_engine *engine);
void uma_dispatch_start(struct uma_engine *engine, struct uma_job *job);
void uma_dispatch_charge(struct uma_engine *engine, struct uma_job *job, u64 ns, bool hung);
void uma_dispatch_release(struct uma_engine *engine, struct uma_queue *queue);
bool uma_dispatch_requeue(struct uma_engine *engine, struct uma_job *job);
void uma_dispatch_cancel(struct uma_queue *queue, struct list_head *ready);
void uma_dispatch_leave(struct uma_device *uma, struct uma_usage *usage);
void uma_dispatch_cancel_preempted(struct uma_device *uma, const struct uma_engine *only);
void uma_dispatch_go(struct list_head *ready, bool may_sleep);
void uma_dispatch_end_work(struct work_struct *work);
int uma_dispatch_get_as(struct uma_engine *engine);
void uma_dispatch_drop_as(struct uma_engine *engine);

int uma_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *file);

/* How long a job may hold on to what is being unbound, unless somebody says otherwise. */
#define UMA_PREEMPT_MS		1000
/* How long a job may run while others wait, unless somebody says otherwise. */
#define UMA_TIME_SLICE_MS	10

int uma_failure_error(enum uma_failure failure);
void uma_engine_fail(struct uma_engine *engine, enum uma_failure failure);
void uma_queue_recover(struct uma_queue *queue);
void uma_engine_watch(struct work_struct *work);
void uma_engine_watch_start(struct uma_engine *engine, u32 timeout_ms);
void uma_kick_work(struct work_struct *work);
void uma_reset_work(struct work_struct *work);
void uma_reset_request(struct uma_device *uma);
void uma_reset_holders(struct uma_device *uma, u32 as);
void uma_reset_running(struct uma_device *uma);
int uma_reset_now(struct uma_device *uma, struct uma_engine *engine);
void uma_reset_stop(struct uma_device *uma);
void uma_reset_abort(struct uma_device *uma);
void uma_reset_abort_held(struct uma_engine *engine);
#if IS_ENABLED(CONFIG_KUNIT)
void uma_reset_drain(struct uma_device *uma);
void uma_reset_end(struct uma_device *uma);
#endif

void uma_engine_count(struct uma_engine *engine, bool ended, int error, u64 ns);

int uma_ioctl_counters(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* _UMA_JOB_H_ */
