/* SPDX-License-Identifier: MIT */
/*
 * The objects of the library. Backends embed them as the first member of their
 * own structs and tell the sizes in their table.
 */
#ifndef LIBACCEL_OBJECTS_H
#define LIBACCEL_OBJECTS_H

#include <pthread.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "internal.h"
#include "libaccel/plan/plan.h"

struct backend_ops;
struct rec;
struct import_table;

/* What bounds the library itself */
#define JOB_MAX_OPS	65536u
#define JOB_MAX_TASKS	262144u
#define MAX_WAITS	1024u

struct accel_device {
	atomic_uint refs;
	const struct backend_ops *ops;
	/* set by the backend when it opens; constant afterwards */
	struct accel_device_info info;
	uint32_t engine_count;
	struct device_engine *engines;
	struct accel_memory_info *memory;
	accel_log_fn *log;
	void *log_user;
	int log_level;
	/* ids of objects, for people and records */
	_Atomic uint64_t next_id;
	/* a device that records, else NULL */
	struct rec *rec;
};

struct accel_ctx {
	atomic_uint refs;
	struct accel_device *dev;
	uint64_t id;
	/* no other context of the process has it, or had it; not 0 */
	uint64_t number;
	/* ACCEL_CTX_REPRODUCIBLE; constant */
	bool reproducible;
	/* protects what follows */
	pthread_mutex_t lock;
	struct accel_memory_stats stats;
	/* imported user memory; has its own lock */
	struct import_table *imports;
	/* file of what was measured, "" if there is no place for one; constant */
	char *tune_path;
	/* directory of packed weights and what it may hold; NULL or "": there is none; constant */
	char *weights_dir;
	uint64_t weights_bytes;
};

enum bo_kind {
	BO_CREATED,
	BO_USER,
	BO_DMABUF,
	BO_PART,
	BO_ABSENT
};

struct accel_bo {
	atomic_uint refs;
	enum bo_kind kind;
	struct accel_ctx *ctx;
	uint64_t id;
	/* as asked for */
	uint64_t size;
	/* whole pages that are bound, first and count in bytes */
	uint64_t map_addr;
	uint64_t map_size;
	/* device address of the first byte */
	uint64_t addr;
	/* the same, or NULL if the CPU does not see it */
	void *ptr;
	uint32_t flags;
	/* BO_PART */
	struct accel_pool *pool;
	/* of weights that are mapped */
	struct file_place place;
};

struct accel_queue {
	atomic_uint refs;
	struct accel_ctx *ctx;
	uint64_t id;
	uint32_t engine;
	uint32_t priority;
	uint32_t timeout_ms;
};

/* No operation of a job; one has at most JOB_MAX_OPS. */
#define JOB_NO_OP	UINT32_MAX
/* No job has as many runs. */
#define JOB_MOVES	(1u << 31)

/* Where the arguments of a plan are, and behind the last its workspace, or NULL */
struct job_place {
	struct accel_bo **bos;
	uint64_t *addrs;
};

/* One operation of a job. */
struct job_op {
	struct accel_plan *plan;
	struct job_place bound;
	/* amid a rebinding: where they are to be; else the same */
	struct job_place next;
	/* is on the list of those that move, and who comes behind it there */
	bool moves;
	uint32_t next_move;
	/* the workspace is the job's, not the caller's */
	bool own_workspace;
	/* first of plan->task_count in accel_job.tasks */
	uint32_t first_task;
	uint32_t dep_count;
	uint32_t *deps;
};

struct accel_job {
	atomic_uint refs;
	struct accel_ctx *ctx;
	uint64_t id;
	uint32_t flags;
	/* mask of 1 << enum accel_engine */
	uint32_t engines;
	uint32_t op_count;
	uint32_t op_cap;
	struct job_op *ops;
	/*
	 * The tasks, addresses filled in; the backend takes what it needs of
	 * them in its job_prepare, after which they are freed.
	 */
	uint32_t task_count;
	uint32_t task_cap;
	struct uma_task *tasks;
	/* that of the last operation that needed one of the job's; the operation holds it */
	struct accel_bo *workspace;
	/* protects the step from building to submitted, and rebinding */
	pthread_mutex_t lock;
	/* backend has seen it: immutable now but for addresses */
	atomic_bool prepared;
	/* runs that have not ended, as far as it is known; with JOB_MOVES it is being rebound */
	atomic_uint flights;
	/* amid a rebinding: operations that move, by index; else JOB_NO_OP */
	uint32_t first_move;
};

struct accel_fence {
	atomic_uint refs;
	struct accel_ctx *ctx;
	uint64_t id;
};

/* device.c */
uint64_t device_next_id(struct accel_device *dev);
const struct device_engine *device_find_engine(struct accel_device *dev,
					       uint32_t engine);

/* ctx.c */
void ctx_account(struct accel_ctx *ctx, const struct accel_bo *bo, bool add);

/* suballoc.c */
struct accel_bo *pool_bo(struct accel_pool *pool);
void pool_part_release(struct accel_bo *bo);

/* queue.c */
struct accel_queue *queue_ref(struct accel_queue *queue);
void queue_unref(struct accel_queue *queue);

/* Do the bytes from @lo to @hi around @offset lie within a buffer? */
static inline bool bo_holds(const struct accel_bo *bo, uint64_t offset, int64_t lo, int64_t hi)
{
	if (offset > bo->size)
		return false;
	return hi <= lo || ((hi <= 0 || (uint64_t)hi <= bo->size - offset) &&
			    (lo >= 0 || -(uint64_t)lo <= offset));
}

/* What is said of it otherwise: of what, @lo, @hi, @offset, the buffer's size */
#define BO_TOO_SMALL	"%s needs the bytes from %" PRId64 " to %" PRId64 \
			" around offset %" PRIu64 ", the buffer has %" PRIu64

/* job.c */

/**
 * struct job_bindings - the bindings of an operation, and what they are to the caller
 * @b: bindings
 * @count: their number
 * @paths: path of each one's tensor in the caller's descriptor; NULL: the bindings are
 *	the caller's
 */
struct job_bindings {
	const struct accel_binding *b;
	uint32_t count;
	const char *const *paths;
};

int job_add(struct accel_job *job, struct accel_plan *plan, const struct job_bindings *bound,
	    const uint32_t *deps, uint32_t dep_count, uint32_t *index);
struct accel_job *job_ref(struct accel_job *job);
void job_unref(struct accel_job *job);
void job_cut(struct accel_job *job, uint32_t count);

/* A run that was submitted has ended: the backend says so, once, when it knows. */
static inline void job_ended(struct accel_job *job)
{
	/* Pairs with accel_job_rebind(). */
	atomic_fetch_sub_explicit(&job->flights, 1, memory_order_release);
}

/* bind.c */
int bind_match(struct accel_ctx *ctx, const struct accel_plan *plan,
	       const struct job_bindings *bound, const struct job_place *at);
void bind_tasks(const struct job_op *op, struct uma_task *tasks);
void rebind_tasks(const struct job_op *op, struct uma_task *tasks);

/* fence.c */
void fence_init(struct accel_fence *fence, struct accel_ctx *ctx);

/**
 * fence_describe_fault - fill the outcome of a task that faulted
 * @info: out: op_index, engine, addr, reason and text
 * @op_index: operation of the job
 * @task: task of the operation
 * @engine: engine that it ran on, NULL if unknown
 * @reason: &enum uma_fault
 * @slot: &enum uma_slot or UMA_FAULT_NO_SLOT
 * @addr: address or 0
 * @field: field of the descriptor, or NULL
 */
void fence_describe_fault(struct accel_fence_info *info, uint32_t op_index,
			  uint32_t task, const struct device_engine *engine,
			  uint32_t reason, uint32_t slot, uint64_t addr,
			  const char *field);
/* fence_describe_status - fill the text of an outcome that is no fault */
void fence_describe_status(struct accel_fence_info *info);

/* error.c */
int error_set(struct accel_error *error, int code, const char *field,
	      const char *fmt, ...) __attribute__((format(printf, 4, 5)));
const char *fault_name(uint32_t reason);
const char *slot_name(uint32_t slot);

/* engine kinds: the library counts from 1, the device from 0 */
static inline uint32_t engine_of_class(uint32_t engine_class)
{
	return engine_class + 1;
}

static inline uint32_t class_of_engine(uint32_t engine)
{
	return engine - 1;
}

static inline uint64_t page_down(uint64_t v, uint64_t page)
{
	return v & ~(page - 1);
}

static inline uint64_t page_up(uint64_t v, uint64_t page)
{
	return (v + page - 1) & ~(page - 1);
}

#endif /* LIBACCEL_OBJECTS_H */
