/* SPDX-License-Identifier: MIT */
/*
 * The kernel driver behind the library's table.
 *
 *	backend_drm.c	nodes: opening, what they have, contexts
 *	drm_bo.c	buffers and bindings
 *	drm_job.c	jobs cut into what the driver takes
 *	drm_queue.c	queues and submission
 *	drm_fence.c	fences, and whose fault it was
 */
#ifndef LIBACCEL_BACKEND_DRM_H
#define LIBACCEL_BACKEND_DRM_H

#include "libaccel/backend/backend.h"
#include "uma_accel.h"

struct drm_device {
	struct accel_device base;
	int fd;
	struct drm_uma_query_limits limits;
	uint64_t block_size;
	/* protects what follows */
	pthread_mutex_t lock;
	/* The same dma-buf gives the same handle each time: users of each. */
	uint32_t *handle_refs;
	uint32_t handle_cap;
	/* syncobjs to be used again */
	uint32_t *syncs;
	uint32_t sync_count;
	uint32_t sync_cap;
};

struct drm_vm {
	struct accel_ctx base;
	uint32_t vm_id;
};

struct drm_bo {
	struct accel_bo base;
	uint32_t handle;
};

/* Engines that a kernel queue may use. */
struct drm_key {
	uint32_t engine_class;
	uint32_t instances;
};

/* Operations in a row that one kernel queue runs as one job of the driver. */
struct drm_segment {
	uint32_t key;
	uint32_t first_task;
	uint32_t task_count;
	/* its syncobj, 0 if no other segment waits for it */
	uint32_t sync;
	/* for each key the segment of it that this one waits for, or -1 */
	int32_t *deps;
	/* for each key the last segment that has ended before this one ends */
	int32_t *done;
};

/* Where a task comes from. */
struct drm_origin {
	uint32_t op;
	uint32_t task;
};

struct drm_job {
	struct accel_job base;
	struct accel_bo *tasks;
	struct drm_origin *origins;
	uint32_t key_count;
	struct drm_key *keys;
	uint32_t segment_count;
	uint32_t segment_cap;
	struct drm_segment *segments;
	/* deps and done of all segments */
	int32_t *vectors;
	/* for each key its first and last segment */
	int32_t *first;
	int32_t *last;
	/* the last segment does not end last: something must wait for all */
	bool join;
};

struct drm_kqueue {
	struct drm_key key;
	uint32_t id;
};

struct drm_queue {
	struct accel_queue base;
	pthread_mutex_t lock;
	/* takes no jobs; somebody has been told that one failed */
	bool banned;
	bool told;
	/* kernel queues are gone */
	bool closed;
	uint32_t kcount;
	struct drm_kqueue *k;
	/* unfinished jobs as far as we know, oldest first */
	struct drm_fence *head;
	struct drm_fence *tail;
	uint32_t count;
	uint32_t reap_at;
	uint64_t next_seq;
	/* the first job that failed, if any did */
	bool failed;
	uint64_t failed_seq;
};

struct drm_fence {
	struct accel_fence base;
	/* NULL: imported */
	struct drm_queue *queue;
	struct drm_job *job;
	struct drm_fence *prev;
	struct drm_fence *next;
	bool listed;
	uint64_t seq;
	/* the outcome is known; protected by the queue's lock until it is set */
	atomic_bool resolved;
	struct accel_fence_info info;
	/* kernel queue of the last part */
	uint32_t kqueue;
	/* the last of these signals when all is done */
	uint32_t sync_count;
	uint32_t syncs[];
};

static inline struct drm_device *to_drm_device(struct accel_device *dev)
{
	return (struct drm_device *)dev;
}

static inline struct drm_vm *to_drm_ctx(struct accel_ctx *ctx)
{
	return (struct drm_vm *)ctx;
}

static inline struct drm_job *to_drm_job(struct accel_job *job)
{
	return (struct drm_job *)job;
}

static inline struct drm_queue *to_drm_queue(struct accel_queue *queue)
{
	return (struct drm_queue *)queue;
}

static inline struct drm_fence *to_drm_fence(struct accel_fence *fence)
{
	return (struct drm_fence *)fence;
}

static inline struct drm_device *ctx_drm(struct accel_ctx *ctx)
{
	return to_drm_device(ctx->dev);
}

/* backend_drm.c */
int drm_call(int fd, unsigned long request, void *arg);
int drm_sync_get(struct drm_device *dev, uint32_t *sync);
void drm_sync_put(struct drm_device *dev, uint32_t sync);

/* drm_bo.c */
int drm_bo_create(struct accel_bo *bo, const char *label);
int drm_bo_import_ptr(struct accel_bo *bo, const char *label);
int drm_bo_import_dmabuf(struct accel_bo *bo, int fd, const char *label);
int drm_bo_export_dmabuf(struct accel_bo *bo, int *fd);
int drm_bo_sync(struct accel_bo *bo, uint64_t offset, uint64_t bytes,
		uint32_t flags, bool end);
void drm_bo_destroy(struct accel_bo *bo);
int drm_user_pin(struct accel_ctx *ctx, uint64_t addr, uint64_t size,
		 uint32_t flags, const char *label, uint64_t *handle);
void drm_user_unpin(struct accel_ctx *ctx, uint64_t handle);
int drm_user_map(struct accel_ctx *ctx, uint64_t handle, uint64_t offset,
		 uint64_t addr, uint64_t size, bool write, bool replace);
void drm_user_unmap(struct accel_ctx *ctx, uint64_t addr, uint64_t size);

/* drm_job.c */
int drm_job_prepare(struct accel_job *job);
int drm_job_rebind(struct accel_job *job);
void drm_job_destroy(struct accel_job *job);

/* drm_queue.c */
int drm_queue_create(struct accel_queue *queue);
void drm_queue_cancel(struct accel_queue *queue);
void drm_queue_destroy(struct accel_queue *queue);
int drm_submit(struct accel_queue *queue, struct accel_job *job,
	       struct accel_fence *const *waits, uint32_t wait_count,
	       struct accel_fence **fence);

/* drm_fence.c */
struct drm_fence *drm_fence_new(struct accel_ctx *ctx, uint32_t sync_count);
uint32_t drm_fence_sync(const struct drm_fence *fence);
int drm_fence_wait(struct accel_fence *fence, int64_t timeout_ns);
void drm_fence_info(struct accel_fence *fence, struct accel_fence_info *info);
int drm_fence_export(struct accel_fence *fence, int *fd);
int drm_fence_import(struct accel_ctx *ctx, int fd, struct accel_fence **fence);
void drm_fence_destroy(struct accel_fence *fence);
/* With the queue's lock: 0 signalled, -ETIMEDOUT, another error: never will be. */
int drm_fence_poll(struct drm_fence *fence, int64_t deadline);
/*
 * With the queue's lock: find the outcome of a job that is done, and of those
 * before it. They leave the queue's list for *gone, with the list's references.
 */
void drm_resolve(struct drm_fence *fence, struct drm_fence **gone);
void drm_unref_gone(struct drm_fence *gone);
/* With the lock: what the driver says of a kernel queue. */
int drm_queue_state(struct drm_queue *queue, uint32_t i, struct drm_uma_queue_state *state);
/* With the lock: has a kernel queue stopped taking jobs? */
bool drm_queue_is_banned(struct drm_queue *queue);

#endif /* LIBACCEL_BACKEND_DRM_H */
