/* SPDX-License-Identifier: MIT */
/*
 * The in-process device: runs the tasks of the hardware, with the model that is also used by
 * the emulator in the kernel, on threads of the process.
 *
 *	device.c	opening: chip, kernels, limits
 *	mem.c		memory that a context has bound, and the model's access to it
 *	bo.c		buffers
 *	job.c		tasks, decoded once for all submissions
 *	team.c		threads, and the distribution of work
 *	sched.c		runs: order, dependencies, outcome
 *	exec.c		execution of tiles
 *	ahead.c		weights of files that will be needed
 *	work.c		memory that the threads of a run share
 *	trace.c		events for accelctl trace
 *	kernels/	tuned kernels for whole operations
 *	fence.c		waiting, eventfds, imported descriptors
 */
#ifndef LIBACCEL_SW_H
#define LIBACCEL_SW_H

#include <pthread.h>
#include <stdatomic.h>
#include "libaccel/backend/backend.h"
#include "driver/model/uma_model.h"
#include "libaccel/sw/kernels/fast.h"

/* Maximum number of threads that run tiles */
#define SW_MAX_THREADS		256u
/* Maximum number of unfinished jobs of a queue */
#define SW_MAX_QUEUED		4096u
#define SW_DEFAULT_TIMEOUT_MS	60000u
#define SW_MAX_TIMEOUT_MS	3600000u

/*
 * Maximum work of a job that the submitting thread runs itself, if nothing precedes it: waking
 * another thread, and being woken by it, would cost more. In multiply-adds, as counted by
 * uma_op_work().
 */
#define SW_INLINE_WORK		(256u * 1024u)
/* Minimum work for waking another thread; the same as a time if that is known */
#define SW_SHARE_WORK		(512u * 1024u)
#define SW_SHARE_NS		2000u
/* Work after which the timeout is checked */
#define SW_CLOCK_WORK		(1024u * 1024u)
/* Maximum number of threads with a range of tiles of their own in a stage */
#define SW_TURNS		8u
/*
 * Time for which a thread looks for more work before it sleeps: about the time of a wakeup, so
 * the cost is at most doubled.
 */
#define SW_SPIN_NS		20000u
/* ... and from the last tiles of a shared stage until the next one */
#define SW_ENDING_NS		1000000u

/* --- memory --------------------------------------------------------------- */

struct sw_range {
	uint64_t lo;
	uint64_t hi;
	bool write;
};

/* Memory to be unmapped when no run can access it any more. */
struct sw_retired {
	struct sw_retired *next;
	void *addr;
	size_t size;
};

/*
 * The memory that a context has bound at one time, sorted. Runs hold the table that was current
 * when they started. A table held by a run is not changed: a copy replaces it, and the old one
 * remains, and with it all newer ones, so memory is only unmapped when no run can access it.
 */
struct sw_ranges {
	/* number of this version of the context's table; never 0 */
	uint64_t age;
	uint32_t refs;
	uint32_t count;
	uint32_t cap;
	struct sw_range *r;
	struct sw_ranges *newer;
	struct sw_retired *retired;
};

struct sw_ctx {
	struct accel_ctx base;
	pthread_mutex_t lock;
	struct sw_ranges *ranges;
};

struct sw_mem {
	struct uma_mem base;
	const struct sw_ranges *ranges;
	/* index of the last hit */
	uint32_t last;
};

struct sw_bo {
	struct accel_bo base;
	/* created buffers: the memfd once exported, else -1 */
	pthread_mutex_t lock;
	int fd;
};

void sw_mem_init(struct sw_mem *mem, const struct sw_ranges *ranges);
int sw_ranges_init(struct sw_ctx *ctx);
void sw_ranges_exit(struct sw_ctx *ctx);
struct sw_ranges *sw_ranges_get(struct sw_ctx *ctx);
void sw_ranges_put(struct sw_ctx *ctx, struct sw_ranges *ranges);
int sw_bind(struct sw_ctx *ctx, uint64_t addr, uint64_t size, bool write);
void sw_unbind(struct sw_ctx *ctx, uint64_t addr, uint64_t size, bool unmap);

int sw_bo_create(struct accel_bo *bo, const char *label);
int sw_bo_import_ptr(struct accel_bo *bo, const char *label);
int sw_bo_import_dmabuf(struct accel_bo *bo, int fd, const char *label);
int sw_bo_export_dmabuf(struct accel_bo *bo, int *fd);
int sw_bo_sync(struct accel_bo *bo, uint64_t offset, uint64_t bytes,
	       uint32_t flags, bool end);
void sw_bo_destroy(struct accel_bo *bo);
int sw_user_pin(struct accel_ctx *ctx, uint64_t addr, uint64_t size, uint32_t flags,
		const char *label, uint64_t *handle);
void sw_user_unpin(struct accel_ctx *ctx, uint64_t handle);
int sw_user_map(struct accel_ctx *ctx, uint64_t handle, uint64_t offset,
		uint64_t addr, uint64_t size, bool write, bool replace);
void sw_user_unmap(struct accel_ctx *ctx, uint64_t addr, uint64_t size);

/* --- jobs ----------------------------------------------------------------- */

enum sw_task_state {
	/* the program is complete */
	SW_TASK_READY,
	/* only the operation is complete: the program depends on memory */
	SW_TASK_PREPARE,
	/* rejected: the fault has the reason */
	SW_TASK_FAULTY
};

struct sw_task {
	enum sw_task_state state;
	uint64_t work;
	/* age of the table in which all memory of @fast is known to be bound, 0: none */
	_Atomic uint64_t bound;
	/* class that runs the whole task, if any: otherwise @prog is run */
	struct fast_prog fast;
	struct uma_program prog;
	struct uma_fault_info fault;
};

struct sw_job {
	struct accel_job base;
	/* work of each operation and of all, in multiply-adds */
	uint64_t *op_work;
	uint64_t work;
	/* engine of each operation: index in the device's engines */
	uint32_t *engines;
	struct sw_task *tasks;
	/* ACCEL_JOB_UNORDERED: operations that depend on operation i */
	uint32_t *next_start;
	uint32_t *next;
	/*
	 * an operation has weights that are read from a file when they are accessed; pages that
	 * the process had waited for when the last run began, or SW_AHEAD_*
	 */
	bool lazy;
	_Atomic int64_t waits;
};

void sw_plan_host(const struct accel_plan *plan, struct plan_host *host);
int sw_job_prepare(struct accel_job *job);
int sw_job_rebind(struct accel_job *job);
void sw_job_destroy(struct accel_job *job);
/* Is all memory of the task bound? The task must have a class. */
bool sw_task_bound(struct sw_task *task, struct sw_mem *mem);
/* tune.c */
uint32_t sw_job_hints(struct accel_job *job, struct fast_hint *hints, uint32_t max);

/* Data of a task that depends on memory, for one run. */
struct sw_own {
	struct uma_program prog;
	struct fast_prog fast;
};

/* --- scheduling ----------------------------------------------------------- */

struct sw_team;
struct sw_fence;
struct sw_queue;
struct sw_trace;

/* State that a thread needs to run tiles. */
struct sw_slot {
	struct sw_slot *next;
	struct sw_mem mem;
	/*
	 * time after which the thread stops between tiles, CLOCK_MONOTONIC nanoseconds; 0:
	 * never
	 */
	uint64_t until;
	/* number of the thread in the team, from 0 on: decides which tiles it takes first */
	uint32_t place;
	/* UMA_SCRATCH_SIZE bytes for the model, and FAST_SCRATCH for tuned kernels */
	void *scratch;
};

/* Shared memory of a run; kept for the next one. */
struct sw_work {
	struct sw_work *next;
	size_t size;
	void *mem;
};

/* There was no run; the last one has asked for pages. */
#define SW_AHEAD_NEW	(-1)
#define SW_AHEAD_ASKED	(-2)

/*
 * Reading ahead: does the run look whether it waits, does it ask; pages that the process had waited
 * for when it began, and weights that it has read; operations begin .. end - 1 have been asked for,
 * with @bytes of weights
 */
struct sw_ahead {
	bool looks;
	bool asks;
	int64_t waits;
	uint64_t read;
	uint32_t begin;
	uint32_t end;
	uint64_t bytes;
};

/*
 * A part: a sequence of operations that is run, which is all of an ordered job, or one
 * operation of an unordered one. Protected by the team's lock, except for the atomics, and for
 * members that only the thread that sets up a stage uses.
 */
struct sw_exec {
	/* list of ready parts; @next also: list of parts that one thread has taken */
	struct sw_exec *prev;
	struct sw_exec *next;
	bool listed;
	struct sw_fence *run;
	/* remaining operations: op .. op_end - 1 */
	uint32_t op;
	uint32_t op_end;
	struct sw_ahead ahead;
	/* task of the operation, phase of the task */
	uint32_t task;
	uint32_t phase;
	/* room for a program that must be prepared for this run, else NULL */
	struct sw_own *own;
	/* multiply-adds of the part, and of the current task */
	uint64_t macs;
	uint64_t task_macs;
	/* the current task's program, or its class, or none of both */
	const struct uma_program *prog;
	const struct fast_prog *fast;
	/* shared by the threads; at least @fast's work_bytes */
	struct sw_work *work;
	/* number of threads in the part, and its maximum */
	uint32_t users;
	uint32_t max_users;
	/* unordered: number of operations that it depends on */
	uint32_t pending;
	uint32_t tiles;
	/* number of tiles taken; of a shared stage also of each range */
	atomic_uint next_tile;
	uint32_t turns;
	atomic_uint taken[SW_TURNS];
	/* all tiles of a shared stage are taken, and the next one has not begun */
	bool ending;
	/* work since the timeout was checked */
	uint64_t unclocked;
	/*
	 * tracing: row, kernel (NULL: no operation is running) and start of the current
	 * operation
	 */
	struct {
		uint32_t lane;
		const char *kernel;
		uint64_t start;
	} trace;
};

enum sw_kind {
	SW_RUN,
	SW_IMPORT
};

enum sw_state {
	SW_PENDING,
	/* as above, and a thread sleeps until it changes */
	SW_WAITED,
	SW_DONE
};

/* A depends on B: member of A's array and of B's list. */
struct sw_wait {
	struct sw_wait *next;
	struct sw_fence *run;
	struct sw_fence *on;
};

struct sw_eventfd {
	struct sw_eventfd *next;
	int fd;
};

/* A fence, and the run of a job that signals it. */
struct sw_fence {
	struct accel_fence base;
	enum sw_kind kind;
	/* enum sw_state, a futex */
	atomic_int state;
	/* outcome, constant once state is SW_DONE; number of the ban of its queue */
	int status;
	uint32_t ban;
	uint32_t op;
	uint32_t task;
	uint32_t engine;
	bool faulted;
	struct uma_fault_info fault;
	/* protected by the team's lock from here */
	struct sw_wait *waiters;
	struct sw_eventfd *eventfds;

	/* SW_IMPORT */
	int fd;
	struct sw_fence *import_prev;
	struct sw_fence *import_next;

	/* SW_RUN; after completion only the queue of a failed run */
	struct sw_queue *queue;
	struct sw_job *job;
	struct sw_fence *queue_next;
	struct sw_ranges *ranges;
	/* number of fences that are not done */
	uint32_t waits;
	struct sw_wait *wait_nodes;
	uint32_t wait_count;
	/* CLOCK_MONOTONIC nanoseconds, 0: not started */
	_Atomic uint64_t deadline;
	/* a failure: start no more tiles */
	atomic_bool stop;
	/* in its queue's list; started */
	bool queued;
	bool active;
	/* number of parts that are ready or running, and of those not finished */
	uint32_t live;
	uint32_t left;
	struct sw_exec first;
	/* unordered: one for each operation, else NULL */
	struct sw_exec *execs;
	uint32_t exec_count;
	/* next in a list of completed runs */
	struct sw_fence *ended_next;
	/* tracing: number in its queue, and row while it runs */
	struct {
		uint64_t number;
		uint32_t lane;
		bool runs;
	} trace;
};

struct sw_queue {
	struct accel_queue base;
	/*
	 * Protected by the team's lock: a job has failed, and no caller has been told yet;
	 * number of such failures
	 */
	bool banned;
	uint32_t bans;
	uint32_t count;
	/* number of traced runs */
	uint64_t runs;
	struct sw_fence *head;
	struct sw_fence *tail;
	/*
	 * threads that wait for a run, and those of them that are running tiles; @waited: one
	 * did for the previous run
	 */
	uint32_t waiters;
	uint32_t helping;
	bool waited;
	/* number of parts in the list of ready ones, and of those between shared stages */
	atomic_int open;
	atomic_int ending;
};

struct sw_thread {
	struct sw_team *team;
	pthread_t thread;
	/* protected by the team's lock; not changed by spurious wakeups */
	bool asleep;
	pthread_cond_t wake;
	/* set if the thread itself closed the device */
	bool *gone;
	struct sw_slot slot;
};

#define SW_LEVELS	4

struct sw_team {
	pthread_mutex_t lock;
	bool stop;
	/* workers: number of sleeping ones, and of those looking for work */
	uint32_t idle;
	uint32_t spinning;
	/*
	 * number of threads that run tiles, and of those of them that wait for a fence or
	 * submit
	 */
	uint32_t running;
	uint32_t helping;
	/*
	 * number of submissions for which no worker was woken because the waiting thread runs
	 * them; its value when the last worker stopped watching for such submissions; a worker
	 * is watching
	 */
	uint32_t trusted;
	uint32_t tired;
	bool watched;
	uint32_t thread_count;
	struct sw_thread *threads;
	/* ready parts by priority, LOW first; circular lists */
	struct sw_exec *ready[SW_LEVELS];
	/* highest priority with a ready part, -1: none */
	atomic_int top;
	/* number of parts between shared stages */
	atomic_int ending;
	/* scratch memory for submitting threads */
	struct sw_slot *slots;
	uint32_t slot_count;
	/* memory of completed runs, the latest first */
	pthread_mutex_t work_lock;
	struct sw_work *works;
	/* imported descriptors; the thread is started when it is first needed */
	bool polling;
	struct sw_thread poller;
	int epoll_fd;
	int poll_wake;
	struct sw_fence *imports;
	/* tracing, or NULL */
	struct sw_trace *trace;
};

struct sw_device {
	struct accel_device base;
	const struct uma_profile *profile;
	const struct uma_kernels *kernels;
	struct fast_cpu cpu;
	struct sw_team team;
};

static inline struct sw_device *to_sw_device(struct accel_device *dev)
{
	return (struct sw_device *)dev;
}

static inline struct sw_ctx *to_sw_ctx(struct accel_ctx *ctx)
{
	return (struct sw_ctx *)ctx;
}

static inline struct sw_device *sw_fence_device(const struct sw_fence *fence)
{
	return to_sw_device(fence->base.ctx->dev);
}

static inline struct sw_team *sw_fence_team(const struct sw_fence *fence)
{
	return &sw_fence_device(fence)->team;
}

uint64_t sw_now(void);

/* Relax while polling a variable that another thread is about to change. */
static inline void sw_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static inline int sw_level(const struct sw_fence *run)
{
	switch (run->queue->base.priority) {
	case ACCEL_PRIORITY_LOW:
		return 0;
	case ACCEL_PRIORITY_HIGH:
		return 2;
	case ACCEL_PRIORITY_REALTIME:
		return 3;
	default:
		return 1;
	}
}

/* team.c; with the team's lock, except for the first three */
int sw_team_init(struct sw_team *team, uint32_t threads);
/* Stops all threads except for the caller's, which ends when it returns. */
void sw_team_exit(struct sw_team *team);
/* End a thread of the team: immediately if called by another thread, else as soon as possible. */
void sw_thread_end(struct sw_thread *thread);
/* Add a part to the ready list; then kick, unless the caller is a thread that looks for parts. */
void sw_exec_list(struct sw_team *team, struct sw_exec *exec);
void sw_exec_unlist(struct sw_team *team, struct sw_exec *exec);
void sw_team_kick(struct sw_team *team);
/* After a submission to @queue: kick, unless the caller will run it when waiting. */
void sw_team_submitted(struct sw_team *team, const struct sw_queue *queue);
/*
 * A thread has taken a part, or allowed more threads in it: wake another one if there is more
 * work.
 */
void sw_team_share(struct sw_team *team, const struct sw_queue *queue);
struct sw_slot *sw_slot_get(struct sw_team *team);
void sw_slot_put(struct sw_team *team, struct sw_slot *slot);
/*
 * Without the lock. The caller waits for @run, until @until (0: for ever), and can run parts of
 * it.
 */
void sw_help(struct sw_fence *run, uint64_t until);

/* exec.c */
/*
 * With the team's lock, which it releases, and a part, or a list of small ones, that the thread
 * has taken: returns when they have ended, others continue them, or they are back in the list.
 */
void sw_exec_work(struct sw_team *team, struct sw_exec *exec, struct sw_slot *slot,
		  struct sw_fence **ended);
/* Must the thread stop running tiles? */
bool sw_exec_leaves(const struct sw_slot *slot);
void sw_run_inline(struct sw_fence *run, struct sw_slot *slot);

/* ahead.c */
void sw_ahead_prepare(struct sw_job *job);
/* An operation of a part begins: ask for the pages of weights of those behind it. */
void sw_ahead(struct sw_exec *exec);

/* work.c */
struct sw_work *sw_work_get(struct sw_team *team, size_t size);
void sw_work_put(struct sw_team *team, struct sw_work *work);
void sw_work_exit(struct sw_team *team);
void *sw_scratch_new(void);
void sw_scratch_free(void *scratch);

/*
 * sched.c. sw_exec_done() and sw_complete() need the team's lock; completed runs are added to
 * *ended, and the caller passes that to sw_release() after releasing the lock.
 */
int sw_queue_create(struct accel_queue *queue);
void sw_queue_cancel(struct accel_queue *queue);
void sw_queue_told(struct sw_fence *fence);
void sw_queue_destroy(struct accel_queue *queue);
int sw_submit(struct accel_queue *queue, struct accel_job *job,
	      struct accel_fence *const *waits, uint32_t wait_count,
	      struct accel_fence **fence);
void sw_fail(struct sw_fence *run, int status, const struct sw_exec *exec,
	     const struct uma_fault_info *fault);
void sw_exec_done(struct sw_team *team, struct sw_exec *exec,
		  struct sw_fence **ended);
void sw_complete(struct sw_team *team, struct sw_fence *fence,
		 struct sw_fence **ended);
void sw_release(struct sw_fence *ended);
/* Free what is only needed while a run is not done. */
void sw_run_free_parts(struct sw_fence *run);

/* fence.c */
static inline bool sw_fence_done(struct sw_fence *fence)
{
	return atomic_load_explicit(&fence->state, memory_order_acquire) == SW_DONE;
}

int sw_fence_wait(struct accel_fence *fence, int64_t timeout_ns);
void sw_fence_info(struct accel_fence *fence, struct accel_fence_info *info);
int sw_fence_export(struct accel_fence *fence, int *fd);
int sw_fence_import(struct accel_ctx *ctx, int fd, struct accel_fence **fence);
void sw_fence_destroy(struct accel_fence *fence);
/* With the team's lock: wake all waiting threads. */
void sw_fence_signal(struct sw_fence *fence);
void sw_poller_exit(struct sw_team *team);

/* trace.c; functions other than open are only called with tracing */
struct sw_trace *sw_trace_open(void);
void sw_trace_close(struct sw_trace *trace);
void sw_trace_submit(struct sw_fence *run);
void sw_trace_run(struct sw_fence *run);
void sw_trace_done(struct sw_fence *run);
void sw_trace_op_begin(struct sw_exec *exec);
void sw_trace_op_end(struct sw_exec *exec);

/* kernels.c */
/* The requested level, or the best one; @isa: instruction sets for tuned kernels of that level. */
const struct uma_kernels *sw_kernels(const char *name, const char **chosen, uint32_t *isa);

#endif /* LIBACCEL_SW_H */
