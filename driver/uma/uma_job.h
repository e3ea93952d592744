/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_JOB_H_
#define _UMA_JOB_H_

#include <linux/atomic.h>
#include <linux/cleanup.h>
#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

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
struct uma_usage;
struct uma_vm;

/**
 * enum uma_failure - why a job on the device failed
 * @UMA_FAILURE_NONE: it did not
 * @UMA_FAILURE_FAULT: the device reported a fault
 * @UMA_FAILURE_TIMEOUT: it timed out, or delayed an invalidation for too long
 * @UMA_FAILURE_LOST: it was lost in a reset for another reason
 */
enum uma_failure {
	UMA_FAILURE_NONE,
	UMA_FAILURE_FAULT,
	UMA_FAILURE_TIMEOUT,
	UMA_FAILURE_LOST,
};

/**
 * enum uma_engine_state - state of an engine's job
 * @UMA_ENGINE_IDLE: there is none
 * @UMA_ENGINE_HELD: dispatched, but not on the ring yet
 * @UMA_ENGINE_RUNNING: on the ring; the code that finds its record detaches it
 * @UMA_ENGINE_FAILED: failed, but the engine may still be running it; from here on only
 *	&uma_device.reset_wq handles it
 * @UMA_ENGINE_STOPPED: failed, and the engine has been reset
 *
 * Changes with &uma_engine.lock held. The fence of a job is signalled only when the engine has
 * stopped working on it: its memory may be reused after that.
 */
enum uma_engine_state {
	UMA_ENGINE_IDLE,
	UMA_ENGINE_HELD,
	UMA_ENGINE_RUNNING,
	UMA_ENGINE_FAILED,
	UMA_ENGINE_STOPPED,
};

/* A queue */
struct uma_queue {
	struct kref ref;		/* references of the file and of jobs */
	struct uma_device *uma;		/* device, with a reference */
	/*
	 * address space, with a reference; NULL once no job can run any more. Under
	 * &uma_device.queues_lock, except while a job of the queue has its engine
	 */
	struct uma_vm *vm;
	struct work_struct vm_work; /* drops vm, see uma_queue_drop_vm(); later frees the queue */
	struct uma_usage *usage;	/* engine time of the client, with a reference */
	struct list_head node;		/* in &uma_device.queues */
	/*
	 * frees it: not where the last reference is dropped, which may be its own scheduler's work,
	 * and after a grace period, see uma_queue_release()
	 */
	struct rcu_work release;
	u32 releases; /* of what it held that have not ended, see uma_release_begin() */
	ktime_t release_begun;		/* when the first of them began */
	struct list_head release_node;	/* in a list of queues with releases */
	char name[48]; /* class and instances of its engines: "matrix0", "gpu0-3" */
	/* resolves dependencies, keeps the order, handles timeouts */
	struct drm_gpu_scheduler sched;
	struct drm_sched_entity entity;	/* the only one of sched */
	/* names of a fence may be read until a grace period after it has signalled */
	struct rcu_head rcu;
	/* references of fences, plus one of the queue's own: see uma_queue_free() */
	refcount_t keepers;
	u32 engine_class;		/* &enum uma_engine_class */
	u32 engines; /* mask of the engines that it may use, by their index in the device */
	/* engine of its jobs, NULL before the first; under &uma_client.submit_lock */
	struct uma_engine *engine;
	u32 max_job_tasks;		/* lowest limit of its engines */
	u32 timeout_ms;			/* timeout of its jobs, 0 for the device's */
	bool exempt;			/* timeout_ms may exceed the device's timeout */
	u32 priority;			/* &enum drm_uma_priority */
	u64 client_id;			/* &drm_file.client_id of its file */
	struct pid *pid;		/* process that created it, with a reference */
	/* fence of the last job that was pushed, or NULL; under &uma_client.submit_lock */
	struct dma_fence *last;
	u32 batch; /* number of its jobs in the current submit; under &uma_client.submit_lock */
	u64 fence_context;		/* context of its jobs' fences */
	u64 fence_seqno;		/* number of the last of these; only used by run_job */
	u32 reset_count; /* sum of its engines' when it was created: uma_queue_disturbed() */
	/* its first job that is runnable and not done; under &uma_device.queues_lock */
	struct uma_job *turn;
	/* request of turn for its engine; under &uma_device.queues_lock */
	struct uma_request request;
	/* runnable jobs after turn, &uma_job.node; under &uma_device.queues_lock */
	struct list_head behind;
	/* ends jobs when an interrupt may end no more; on &uma_device.sched_wq */
	struct work_struct end_work;
	bool failed; /* its job on the engine has failed; under &uma_engine.lock */
	bool closed; /* destroyed: its jobs are cancelled; under &uma_device.queues_lock */
	atomic64_t submitted;		/* number of jobs submitted */
	atomic64_t completed;		/* number of jobs whose fences have signalled */
	spinlock_t counters_lock;	/* protects counters; nests inside of &uma_engine.lock */
	struct drm_uma_counters counters;	/* sums over its jobs */
	/* for DRM_IOCTL_UMA_QUEUE_STATE; under &uma_device.queues_lock */
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
int uma_queues_show(struct seq_file *m, void *unused);

int uma_ioctl_queue_create(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_queue_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_queue_state(struct drm_device *drm, void *data, struct drm_file *file);

struct uma_fence *uma_fence_alloc(void);
struct dma_fence *uma_fence_init(struct uma_fence *fence, struct uma_queue *queue);
void uma_queue_free(struct uma_queue *queue);

/* A buffer that a job uses, or several with one dma_resv */
struct uma_implicit_use {
	struct drm_gem_object *obj;	/* buffer, with a reference */
	bool write;			/* the job writes to it */
	/* an earlier job of the submit, which this one runs after, waits for its fences */
	bool waited;
	/* a later job of the submit, of the same queue, adds its fence instead */
	bool superseded;
	/* if several jobs wait for the writers, the use of one of them, which has writers */
	struct uma_implicit_use *common;
	bool collected;			/* writers is complete */
	struct xarray writers;		/* fences that signal when those of all writers have */
};

/* The buffers of the jobs of a submit */
struct uma_implicit {
	struct uma_implicit_use *uses;	/* of all jobs, job by job, each once for a dma_resv */
	u32 count;			/* entries of uses */
	struct uma_implicit_use **sorted;	/* all uses, sorted by dma_resv */
	bool locked;			/* exec has been initialised */
	struct drm_exec exec;		/* the locks of their dma_resvs */
};

int uma_implicit_init(struct uma_implicit *imp, u32 max);
void uma_implicit_fini(struct uma_implicit *imp);
int uma_implicit_add(struct uma_implicit *imp, struct drm_file *file,
		     const struct drm_uma_job_bo *bos, u32 count);
bool uma_implicit_follow(struct uma_implicit *imp, u32 first_a, u32 count_a,
			 u32 first_b, u32 count_b, bool in_order);
int uma_implicit_lock(struct uma_implicit *imp);
int uma_implicit_wait(struct uma_implicit *imp, u32 first, u32 count, struct drm_sched_job *job);
void uma_implicit_publish(struct uma_implicit *imp, u32 first, u32 count,
			  struct dma_fence *done);

/* A job */
struct uma_job {
	struct drm_sched_job base;	/* the scheduler's side */
	struct uma_queue *queue;	/* queue, with a reference */
	struct uma_fence *fence;	/* preallocated, NULL once it is initialised */
	struct dma_fence *done;		/* its hardware fence, set by run_job */
	struct uma_engine *engine;
	struct list_head node;		/* in &uma_queue.behind */
	u64 tasks_addr;			/* device address of the tasks */
	u64 stamps_addr;		/* device address of their stamps, 0 for none */
	u64 number;			/* number of the job in its queue */
	ktime_t submitted;		/* when it was submitted */
	u32 task_count;			/* number of tasks */
	u32 first_task;			/* the first one that has not ended, if it was preempted */
	/* its tiles that are done: the engine's number, never the user's */
	u64 first_tile;
	u64 run_ns;			/* time that it had the engine before it was preempted */
	/* &uma_engine.drops when it started; under &uma_device.queues_lock */
	u32 drops;
	u32 dep_count;			/* entries of deps */
	/* first entry of deps that prepare_job has not returned yet */
	u32 dep_next;
	/* fences of jobs of the same submit; filled in once these are armed */
	struct dma_fence **deps;
};

/* A section that fences depend on */
DEFINE_LOCK_GUARD_0(uma_signalling, _T->cookie = dma_fence_begin_signalling(),
		    dma_fence_end_signalling(_T->cookie), bool cookie)

/* A job that was detached from its engine, to be signalled */
struct uma_done {
	struct uma_queue *queue;	/* queue, with a reference */
	struct dma_fence *fence;	/* fence, with a reference */
	int error;			/* 0 or the error of fence */
	u64 number;			/* number of the job in its queue */
	/* device timestamp when it started, or was continued; 0: unknown */
	u64 start;
	u64 end;			/* device timestamp when it ended; 0: unknown */
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

/* Default of &uma_device.preempt_timeout_ms. */
#define UMA_PREEMPT_MS		1000
/* Default of &uma_device.time_slice_ms. */
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
