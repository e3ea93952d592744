// SPDX-License-Identifier: MIT
/*
 * Fences of the kernel driver: syncobjs. A syncobj tells that a job is done but
 * not how it went. If none of a queue's kernel queues has had a failure, all
 * went well; else a sync_file made from the syncobj has the error, and the
 * queue's state tells where it happened.
 *
 * The driver cancels what follows a failed job in its own queue; what follows
 * on other engines has run, but counts as cancelled too.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/sync_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>
#include "backend_drm.h"

struct drm_fence *drm_fence_new(struct accel_ctx *ctx, uint32_t sync_count)
{
	struct drm_fence *fence;
	uint32_t i;

	fence = calloc(1, sizeof(*fence) + sync_count * sizeof(fence->syncs[0]));
	if (!fence)
		return NULL;
	for (i = 0; i < sync_count; i++) {
		if (drm_sync_get(ctx_drm(ctx), &fence->syncs[i]))
			goto err;
	}
	fence->sync_count = sync_count;
	fence_init(&fence->base, ctx);
	return fence;

err:
	while (i--)
		drm_sync_put(ctx_drm(ctx), fence->syncs[i]);
	free(fence);
	return NULL;
}

uint32_t drm_fence_sync(const struct drm_fence *fence)
{
	return fence->syncs[fence->sync_count - 1];
}

int drm_fence_poll(struct drm_fence *fence, int64_t deadline)
{
	uint32_t sync = drm_fence_sync(fence);

	if (!drmSyncobjWait(ctx_drm(fence->base.ctx)->fd, &sync, 1, deadline,
			    DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL, NULL))
		return 0;
	return errno == ETIME ? -ETIMEDOUT : -errno;
}

/* 1 done, 0 not yet, else the error. */
static int sync_status(struct drm_device *dev, uint32_t sync)
{
	struct sync_file_info info = { 0 };
	int fd, ret;

	if (drmSyncobjExportSyncFile(dev->fd, sync, &fd))
		return -errno;
	ret = ioctl(fd, SYNC_IOC_FILE_INFO, &info) ? -errno : info.status;
	close(fd);
	return ret;
}

/* Of all parts of a job: the cause rather than what was cancelled for it. */
static int fence_status(struct drm_fence *fence)
{
	struct drm_device *dev = ctx_drm(fence->base.ctx);
	int worst = 1, ret;
	uint32_t i;

	for (i = 0; i < fence->sync_count; i++) {
		ret = sync_status(dev, fence->syncs[i]);
		if (ret < 0 && (worst >= 0 || worst == -ECANCELED))
			worst = ret;
		else if (!ret && worst > 0)
			worst = 0;
	}
	return worst;
}

int drm_queue_state(struct drm_queue *queue, uint32_t i,
		    struct drm_uma_queue_state *state)
{
	*state = (struct drm_uma_queue_state){ .queue_id = queue->k[i].id };
	if (queue->closed)
		return -ENOENT;
	return drm_call(ctx_drm(queue->base.ctx)->fd, DRM_IOCTL_UMA_QUEUE_STATE,
			state);
}

/* Has anything ever gone wrong? When in doubt, yes. */
static bool queue_is_clean(struct drm_queue *queue)
{
	struct drm_uma_queue_state state;
	uint32_t i;

	if (queue->failed || queue->closed)
		return false;
	for (i = 0; i < queue->kcount; i++)
		if (drm_queue_state(queue, i, &state) ||
		    state.status != DRM_UMA_QUEUE_OK || state.flags)
			return false;
	return true;
}

bool drm_queue_is_banned(struct drm_queue *queue)
{
	struct drm_uma_queue_state state;
	uint32_t i;

	for (i = 0; i < queue->kcount; i++)
		if (!drm_queue_state(queue, i, &state) &&
		    state.status == DRM_UMA_QUEUE_BANNED)
			return true;
	return false;
}

/* The operation behind a task of a task list of the job. */
static bool find_origin(const struct drm_job *job,
			const struct drm_uma_queue_state *state,
			struct drm_origin *origin)
{
	uint64_t index;

	if (!job->tasks || state->tasks_addr < job->tasks->addr)
		return false;
	index = (state->tasks_addr - job->tasks->addr) / sizeof(struct uma_task) +
		state->task_index;
	if (index >= job->tasks->size / sizeof(struct uma_task))
		return false;
	*origin = job->origins[index];
	return true;
}

/* Which of the kernel queues had the job that failed, and what happened to it. */
static void describe(struct drm_fence *fence)
{
	struct accel_device *dev = fence->base.ctx->dev;
	struct accel_fence_info *info = &fence->info;
	struct drm_queue *queue = fence->queue;
	const struct device_engine *engine;
	struct drm_uma_queue_state state;
	struct drm_origin origin;
	uint32_t i;

	if (!queue || queue->closed)
		return;
	for (i = 0; i < queue->kcount; i++) {
		if (drm_queue_state(queue, i, &state) ||
		    !(state.flags & DRM_UMA_QUEUE_GUILTY) ||
		    (int)state.error != -info->status ||
		    !find_origin(fence->job, &state, &origin))
			continue;
		engine = state.engine < dev->engine_count ?
			 &dev->engines[state.engine] : NULL;
		if (state.flags & DRM_UMA_QUEUE_FAULTED) {
			fence_describe_fault(info, origin.op, origin.task,
					     engine, state.reason, state.slot,
					     state.fault_addr, NULL);
		} else {
			info->op_index = origin.op;
			info->engine = engine ? engine->info.engine : 0;
		}
		return;
	}
}

/* Record an outcome; the queue's lock is held if there is one. */
static void settle(struct drm_fence *fence, int status)
{
	struct drm_queue *queue = fence->queue;
	struct accel_fence_info *info = &fence->info;

	if (queue && queue->failed && fence->seq > queue->failed_seq && !status)
		status = -ECANCELED;
	info->done = 1;
	info->status = status;
	info->op_index = UINT32_MAX;
	fence_describe_status(info);
	if (status && queue && !queue->failed) {
		queue->failed = true;
		queue->failed_seq = fence->seq;
		queue->banned = true;
		if (status == -EFAULT || status == -ETIME)
			describe(fence);
	}
	if (fence->job)
		job_ended(&fence->job->base);
	atomic_store_explicit(&fence->resolved, true, memory_order_release);
}

static void unlist(struct drm_queue *queue, struct drm_fence *fence,
		   struct drm_fence **gone)
{
	if (fence->prev)
		fence->prev->next = fence->next;
	else
		queue->head = fence->next;
	if (fence->next)
		fence->next->prev = fence->prev;
	else
		queue->tail = fence->prev;
	queue->count--;
	fence->listed = false;
	fence->prev = NULL;
	fence->next = *gone;
	*gone = fence;
}

void drm_resolve(struct drm_fence *fence, struct drm_fence **gone)
{
	struct drm_queue *queue = fence->queue;
	struct drm_fence *f, *next;
	const uint64_t seq = fence->seq;
	bool clean;
	int status;

	if (!fence->listed)
		return;
	clean = queue_is_clean(queue);
	for (f = queue->head; f && f->seq <= seq; f = next) {
		next = f->next;
		status = clean ? 1 : fence_status(f);
		/*
		 * The one that was asked for is done; an earlier one that is
		 * not is still running on another engine than the one that
		 * failed.
		 */
		if (!status && f != fence)
			continue;
		settle(f, status > 0 ? 0 : status);
		unlist(queue, f, gone);
	}
	queue->reap_at = queue->count + 32;
}

void drm_unref_gone(struct drm_fence *gone)
{
	struct drm_fence *fence;

	while ((fence = gone)) {
		gone = fence->next;
		fence->next = NULL;
		accel_fence_unref(&fence->base);
	}
}

static int64_t deadline_of(int64_t timeout_ns)
{
	struct timespec ts;
	int64_t now;

	if (!timeout_ns)
		return 0;
	if (timeout_ns < 0)
		return INT64_MAX;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = ts.tv_sec * 1000000000ll + ts.tv_nsec;
	return timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}

static bool is_resolved(struct drm_fence *fence)
{
	return atomic_load_explicit(&fence->resolved, memory_order_acquire);
}

/* It has signalled, or never will because the device is gone. */
static void learn(struct drm_fence *fence, int ret)
{
	struct drm_queue *queue = fence->queue;
	struct drm_fence *gone = NULL;
	int status;

	if (!queue) {
		status = ret ? ret : sync_status(ctx_drm(fence->base.ctx),
						 drm_fence_sync(fence));
		pthread_mutex_lock(&fence->base.ctx->lock);
		if (!is_resolved(fence))
			settle(fence, status > 0 ? 0 : status);
		pthread_mutex_unlock(&fence->base.ctx->lock);
		return;
	}
	pthread_mutex_lock(&queue->lock);
	if (!is_resolved(fence))
		drm_resolve(fence, &gone);
	pthread_mutex_unlock(&queue->lock);
	drm_unref_gone(gone);
}

int drm_fence_wait(struct accel_fence *base, int64_t timeout_ns)
{
	struct drm_fence *fence = to_drm_fence(base);
	int ret;

	if (!is_resolved(fence)) {
		ret = drm_fence_poll(fence, deadline_of(timeout_ns));
		if (ret == -ETIMEDOUT)
			return ret;
		learn(fence, ret);
	}
	return !fence->info.status;
}

/* Its failure is known now: the queue may go on, if it was stopped by it. */
static void tell(struct drm_fence *fence)
{
	struct drm_queue *queue = fence->queue;

	if (!queue)
		return;
	pthread_mutex_lock(&queue->lock);
	if (queue->failed && fence->seq >= queue->failed_seq)
		queue->told = true;
	pthread_mutex_unlock(&queue->lock);
}

void drm_fence_info(struct accel_fence *base, struct accel_fence_info *info)
{
	struct drm_fence *fence = to_drm_fence(base);
	const uint32_t size = info->size;

	if (drm_fence_wait(base, 0) == -ETIMEDOUT)
		return;
	*info = fence->info;
	info->size = size;
	if (info->status)
		tell(fence);
}

int drm_fence_export(struct accel_fence *base, int *fd)
{
	struct drm_fence *fence = to_drm_fence(base);

	if (drmSyncobjExportSyncFile(ctx_drm(base->ctx)->fd,
				     drm_fence_sync(fence), fd))
		return ctx_fail(base->ctx, -errno, NULL,
				"no sync_file for the fence: %s",
				errno_text(errno));
	return 0;
}

int drm_fence_import(struct accel_ctx *ctx, int fd, struct accel_fence **out)
{
	struct drm_fence *fence;
	int ret;

	fence = drm_fence_new(ctx, 1);
	if (!fence)
		return ctx_fail(ctx, -ENOMEM, NULL, "no syncobj for the fence");
	if (drmSyncobjImportSyncFile(ctx_drm(ctx)->fd, fence->syncs[0], fd)) {
		ret = errno == EBADF || errno == ENOMEM || errno == ENODEV ?
		      -errno : -EINVAL;
		accel_fence_unref(&fence->base);
		return ctx_fail(ctx, ret, "fd", "%d is no sync_file", fd);
	}
	*out = &fence->base;
	return 0;
}

void drm_fence_destroy(struct accel_fence *base)
{
	struct drm_fence *fence = to_drm_fence(base);
	uint32_t i;

	for (i = 0; i < fence->sync_count; i++)
		drm_sync_put(ctx_drm(base->ctx), fence->syncs[i]);
	if (fence->job)
		job_unref(&fence->job->base);
	if (fence->queue)
		queue_unref(&fence->queue->base);
	free(fence);
}
