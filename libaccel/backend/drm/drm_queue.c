// SPDX-License-Identifier: MIT
/*
 * Queues of the kernel driver. A queue of the library is a number of kernel
 * queues, one for each set of engines that its jobs needed so far; the order
 * between them is kept with syncobjs. Its lock is held over the ioctl, so that
 * the order of submission is one for all of them.
 *
 * Unfinished jobs are on a list that holds a reference to each, because the
 * buffers of a job that nobody waits for must stay bound until it has finished.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xf86drm.h>
#include "backend_drm.h"

/* Look for finished jobs when there are so many more than the last time. */
#define REAP_STEP	32

static uint32_t kernel_priority(uint32_t priority)
{
	switch (priority) {
	case ACCEL_PRIORITY_LOW:
		return DRM_UMA_PRIORITY_LOW;
	case ACCEL_PRIORITY_HIGH:
		return DRM_UMA_PRIORITY_HIGH;
	case ACCEL_PRIORITY_REALTIME:
		return DRM_UMA_PRIORITY_REALTIME;
	default:
		return DRM_UMA_PRIORITY_NORMAL;
	}
}

static int kqueue_create(struct drm_queue *queue, struct drm_key key,
			 uint32_t *index)
{
	struct accel_ctx *ctx = queue->base.ctx;
	struct drm_uma_queue_create create = {
		.vm_id = to_drm_ctx(ctx)->vm_id,
		.engine_class = key.engine_class,
		.instances = key.instances,
		.priority = kernel_priority(queue->base.priority),
		.timeout_ms = queue->base.timeout_ms,
	};
	struct drm_kqueue *grown;
	int ret;

	grown = realloc(queue->k, (queue->kcount + 1) * sizeof(*grown));
	if (!grown)
		return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
	queue->k = grown;
	ret = drm_call(ctx_drm(ctx)->fd, DRM_IOCTL_UMA_QUEUE_CREATE, &create);
	if (ret)
		return ctx_fail(ctx, ret, NULL, "the driver gives no queue: %s",
				errno_text(-ret));
	*index = queue->kcount++;
	queue->k[*index] = (struct drm_kqueue){ key, create.queue_id };
	return 0;
}

static int kqueue_get(struct drm_queue *queue, struct drm_key key,
		      uint32_t *index)
{
	uint32_t i;

	for (i = 0; i < queue->kcount; i++) {
		if (queue->k[i].key.engine_class == key.engine_class &&
		    queue->k[i].key.instances == key.instances) {
			*index = i;
			return 0;
		}
	}
	return kqueue_create(queue, key, index);
}

/* For a job without operations any engine will do. */
static struct drm_key default_key(struct drm_queue *queue)
{
	struct accel_device *dev = queue->base.ctx->dev;
	const struct device_engine *e = &dev->engines[0];
	struct drm_key key;
	uint32_t i;

	if (queue->kcount)
		return queue->k[0].key;
	if (queue->base.engine)
		e = device_find_engine(dev, queue->base.engine);
	key = (struct drm_key){ e->engine_class, 0 };
	for (i = 0; i < dev->engine_count; i++)
		if (dev->engines[i].engine_class == e->engine_class)
			key.instances |= 1u << dev->engines[i].info.instance;
	return key;
}

int drm_queue_create(struct accel_queue *base)
{
	struct drm_queue *queue = to_drm_queue(base);
	uint32_t index;
	int ret = 0;

	/* If the engine is known, so that -ENOSPC and the like come now. */
	queue->reap_at = REAP_STEP;
	if (base->engine)
		ret = kqueue_create(queue, default_key(queue), &index);
	if (ret) {
		free(queue->k);
		return ret;
	}
	pthread_mutex_init(&queue->lock, NULL);
	return 0;
}

/* Give up the kernel queues: what has not started is cancelled by the driver. */
static void kqueues_destroy(struct drm_queue *queue)
{
	uint32_t i;

	for (i = 0; i < queue->kcount; i++) {
		struct drm_uma_queue_destroy destroy = { queue->k[i].id, 0 };

		drm_call(ctx_drm(queue->base.ctx)->fd, DRM_IOCTL_UMA_QUEUE_DESTROY,
			 &destroy);
	}
}

/*
 * New kernel queues for the banned ones. What was submitted to those is over first:
 * cancelled, or done on another engine than the one that failed.
 */
static void revive(struct drm_queue *queue, struct drm_fence **gone)
{
	struct drm_fence *fence;

	while ((fence = queue->head)) {
		drm_fence_poll(fence, INT64_MAX);
		drm_resolve(fence, gone);
	}
	kqueues_destroy(queue);
	queue->kcount = 0;
	queue->failed = false;
	queue->banned = false;
	queue->told = false;
}

/* Jobs that have not started are cancelled by the driver; one may still be in a task. */
void drm_queue_cancel(struct accel_queue *base)
{
	struct drm_queue *queue = to_drm_queue(base);
	struct drm_fence *gone = NULL, *fence;

	pthread_mutex_lock(&queue->lock);
	queue->banned = true;
	/* Whose fault a failure was can be asked only as long as they exist. */
	while ((fence = queue->head) && !drm_fence_poll(fence, 0))
		drm_resolve(fence, &gone);
	kqueues_destroy(queue);
	queue->closed = true;
	while ((fence = queue->head)) {
		drm_fence_poll(fence, INT64_MAX);
		drm_resolve(fence, &gone);
	}
	pthread_mutex_unlock(&queue->lock);
	drm_unref_gone(gone);
}

void drm_queue_destroy(struct accel_queue *base)
{
	struct drm_queue *queue = to_drm_queue(base);

	pthread_mutex_destroy(&queue->lock);
	free(queue->k);
}

/* --- submission ----------------------------------------------------------- */

struct batch {
	struct drm_queue *queue;
	uint32_t job_count;
	uint32_t job_cap;
	struct drm_uma_job *jobs;
	uint32_t sync_count;
	uint32_t sync_cap;
	/* ranges of jobs: indices while the array may still move */
	struct drm_uma_sync *syncs;
	uint32_t sync_max;
};

static int batch_job(struct batch *b, uint32_t kqueue)
{
	struct drm_uma_job *grown;
	uint32_t cap;

	if (b->job_count == b->job_cap) {
		cap = b->job_cap ? 2 * b->job_cap : 8;
		grown = realloc(b->jobs, cap * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		b->jobs = grown;
		b->job_cap = cap;
	}
	b->jobs[b->job_count++] = (struct drm_uma_job){
		.queue_id = b->queue->k[kqueue].id,
		.syncs = { sizeof(struct drm_uma_sync), 0, b->sync_count },
	};
	return 0;
}

/* Add a sync to the last job. */
static int batch_sync(struct batch *b, uint32_t handle, uint32_t flags)
{
	struct drm_uma_sync *grown;
	uint32_t cap;

	if (b->sync_count == b->sync_cap) {
		cap = b->sync_cap ? 2 * b->sync_cap : 16;
		grown = realloc(b->syncs, cap * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		b->syncs = grown;
		b->sync_cap = cap;
	}
	b->syncs[b->sync_count++] = (struct drm_uma_sync){
		.type = DRM_UMA_SYNC_BINARY, .flags = flags, .handle = handle,
	};
	b->jobs[b->job_count - 1].syncs.count++;
	return 0;
}

/* Add a wait; what one job cannot take goes to one without tasks before it. */
static int batch_wait(struct batch *b, uint32_t kqueue, uint32_t handle)
{
	int ret;

	if (b->jobs[b->job_count - 1].syncs.count >= b->sync_max) {
		ret = batch_job(b, kqueue);
		if (ret)
			return ret;
	}
	return batch_sync(b, handle, 0);
}

/* A job failed, and this is the first that is heard of it. */
static int refuse(struct drm_queue *queue)
{
	queue->banned = true;
	queue->told = true;
	return ctx_fail(queue->base.ctx, -ECANCELED, "queue",
			"a job of it failed: this one was refused, the next will not be");
}

/*
 * Is there room for all of a job that the driver takes in several calls? Nobody else submits
 * to these queues, so there will not be less when the last is made.
 */
static int batch_fits(const struct batch *b)
{
	const uint32_t max = ctx_drm(b->queue->base.ctx)->limits.max_queued_jobs;
	struct drm_uma_queue_state state;
	uint32_t i, k, n;
	int ret;

	for (k = 0; k < b->queue->kcount; k++) {
		ret = drm_queue_state(b->queue, k, &state);
		if (ret)
			return ret;
		for (n = 0, i = 0; i < b->job_count; i++)
			n += b->jobs[i].queue_id == b->queue->k[k].id;
		/* Not even when nothing is unfinished: who waits for that waits for ever. */
		if (n > max)
			return -E2BIG;
		if (n && state.submitted - state.completed + n > max)
			return -EBUSY;
	}
	return 0;
}

static int submit_failed(struct drm_queue *queue, int error)
{
	return ctx_fail(queue->base.ctx, error, NULL, error == -ECANCELED ?
			"a job of the queue failed" :
			error == -EBUSY ?
			"the queue, or the context, has too many unfinished jobs" :
			error == -E2BIG ?
			"the job changes engines more often than the driver takes" :
			"the driver refuses the job");
}

/*
 * What the driver has taken of a job runs, and uses what the caller may free as soon as he is
 * told that there is no job. Of its syncobjs some have no fence yet, and a job that signals another
 * may be refused as well: so the queues are asked until they are through, or have gone.
 */
static void batch_wait_taken(const struct batch *b)
{
	struct timespec pause = { 0, 50000 };
	struct drm_uma_queue_state state;
	uint32_t k;

	for (k = 0; k < b->queue->kcount; k++) {
		while (!drm_queue_state(b->queue, k, &state) && state.completed < state.submitted) {
			nanosleep(&pause, NULL);
			if (pause.tv_nsec < 5000000)
				pause.tv_nsec *= 2;
		}
	}
}

static int batch_send(struct batch *b)
{
	struct accel_ctx *ctx = b->queue->base.ctx;
	const struct drm_device *dev = ctx_drm(ctx);
	const struct timespec pause = { 0, 1000000 };
	uint32_t i, at, n;
	int ret;

	for (i = 0; i < b->job_count; i++) {
		struct drm_uma_array *a = &b->jobs[i].syncs;

		if (a->count)
			a->array = (uintptr_t)(b->syncs + a->array);
		else
			*a = (struct drm_uma_array){ 0 };
	}
	ret = b->job_count > dev->limits.max_submit_jobs ? batch_fits(b) : 0;
	if (ret)
		return submit_failed(b->queue, ret);
	for (at = 0; at < b->job_count; at += n) {
		struct drm_uma_submit submit = { 0 };

		n = b->job_count - at;
		if (n > dev->limits.max_submit_jobs)
			n = dev->limits.max_submit_jobs;
		submit.jobs = (struct drm_uma_array){
			sizeof(*b->jobs), n, (uintptr_t)(b->jobs + at)
		};
		ret = drm_call(dev->fd, DRM_IOCTL_UMA_SUBMIT, &submit);
		if (!ret)
			continue;
		/* Its queues have room, but the context has not: its jobs end without us. */
		if (at && ret == -EBUSY) {
			nanosleep(&pause, NULL);
			n = 0;
			continue;
		}
		/*
		 * Part of the job runs already, the rest will not: nothing may
		 * come after it. Who hears of that now need not hear of it again.
		 */
		if (at) {
			batch_wait_taken(b);
			b->queue->banned = true;
			b->queue->told = true;
			return ctx_fail(ctx, ret == -ENODEV ? ret : -ECANCELED, NULL,
					"the driver took only part of the job: %s",
					errno_text(-ret));
		}
		return ret == -ECANCELED ? refuse(b->queue) : submit_failed(b->queue, ret);
	}
	return 0;
}

/* What a job waits for before its first part on a kernel queue. */
static int add_waits(struct batch *b, uint32_t kqueue,
		     struct accel_fence *const *waits, uint32_t count)
{
	const struct drm_fence *before = b->queue->tail;
	uint32_t i;
	int ret = 0;

	/* A kernel queue keeps the order itself. */
	if (before && before->kqueue != kqueue)
		ret = batch_wait(b, kqueue, drm_fence_sync(before));
	for (i = 0; i < count && !ret; i++) {
		const struct drm_fence *fence = to_drm_fence(waits[i]);

		if (!atomic_load_explicit(&fence->resolved, memory_order_acquire))
			ret = batch_wait(b, kqueue, drm_fence_sync(fence));
	}
	return ret;
}

static int add_segment(struct batch *b, const struct drm_job *job, uint32_t i,
		       uint32_t kqueue, struct drm_fence *fence)
{
	const struct drm_segment *s = &job->segments[i];
	struct drm_uma_job *j;
	uint32_t k;
	int ret = 0;

	for (k = 0; k < job->key_count && !ret; k++)
		if (s->deps[k] >= 0)
			ret = batch_wait(b, kqueue,
					 job->segments[s->deps[k]].sync);
	if (ret)
		return ret;
	/* The waits may have taken several jobs; the last has the tasks. */
	j = &b->jobs[b->job_count - 1];
	j->task_count = s->task_count;
	if (s->task_count)
		j->tasks_addr = job->tasks->addr +
				(uint64_t)s->first_task * sizeof(struct uma_task);
	if (s->sync)
		ret = batch_sync(b, s->sync, DRM_UMA_SYNC_SIGNAL);
	if (!ret && job->last[s->key] == (int32_t)i)
		ret = batch_sync(b, fence->syncs[s->key], DRM_UMA_SYNC_SIGNAL);
	return ret;
}

static int fill_batch(struct batch *b, const struct drm_job *job,
		      const uint32_t *kqueues, struct accel_fence *const *waits,
		      uint32_t wait_count, struct drm_fence *fence)
{
	uint32_t i, k, kq;
	int ret;

	for (i = 0; i < job->segment_count; i++) {
		k = job->segments[i].key;
		kq = kqueues[k];
		ret = batch_job(b, kq);
		if (!ret && job->first[k] == (int32_t)i)
			ret = add_waits(b, kq, waits, wait_count);
		if (!ret)
			ret = add_segment(b, job, i, kq, fence);
		if (ret)
			return ret;
		fence->kqueue = kq;
	}
	if (job->segment_count && !job->join)
		return 0;
	/* A job without tasks that ends when all of it has. */
	kq = job->segment_count ? fence->kqueue : kqueues[0];
	ret = batch_job(b, kq);
	if (!ret && !job->segment_count)
		ret = add_waits(b, kq, waits, wait_count);
	for (k = 0; k < job->key_count && !ret; k++)
		if (kqueues[k] != kq)
			ret = batch_wait(b, kq, fence->syncs[k]);
	if (!ret)
		ret = batch_sync(b, fence->syncs[fence->sync_count - 1],
				 DRM_UMA_SYNC_SIGNAL);
	fence->kqueue = kq;
	return ret;
}

/* The last of a fence's syncobjs must be that of the last part. */
static void order_syncs(const struct drm_job *job, struct drm_fence *fence)
{
	const uint32_t last = fence->sync_count - 1;
	uint32_t key, sync;

	if (!job->segment_count || job->join)
		return;
	key = job->segments[job->segment_count - 1].key;
	sync = fence->syncs[key];
	fence->syncs[key] = fence->syncs[last];
	fence->syncs[last] = sync;
}

static void reap(struct drm_queue *queue, struct drm_fence **gone)
{
	struct drm_fence *fence;

	if (queue->count < queue->reap_at)
		return;
	while ((fence = queue->head) && drm_fence_poll(fence, 0) != -ETIMEDOUT)
		drm_resolve(fence, gone);
	queue->reap_at = queue->count + REAP_STEP;
}

static void list_fence(struct drm_queue *queue, struct drm_fence *fence)
{
	fence->seq = queue->next_seq++;
	fence->prev = queue->tail;
	if (queue->tail)
		queue->tail->next = fence;
	else
		queue->head = fence;
	queue->tail = fence;
	queue->count++;
	fence->listed = true;
	accel_fence_ref(&fence->base);
}

static int submit_locked(struct drm_queue *queue, struct drm_job *job,
			 struct accel_fence *const *waits, uint32_t wait_count,
			 struct drm_fence *fence, uint32_t *kqueues)
{
	const struct drm_device *dev = ctx_drm(queue->base.ctx);
	struct batch b = {
		.queue = queue,
		/* room for what the last part signals */
		.sync_max = dev->limits.max_job_syncs - 2,
	};
	uint32_t k;
	int ret = 0;

	if (queue->banned || (queue->kcount > 1 && drm_queue_is_banned(queue)))
		return refuse(queue);
	if (!job->key_count)
		ret = kqueue_get(queue, default_key(queue), &kqueues[0]);
	for (k = 0; k < job->key_count && !ret; k++)
		ret = kqueue_get(queue, job->keys[k], &kqueues[k]);
	if (ret)
		return ret;

	/* Syncobjs between segments are the job's own. */
	pthread_mutex_lock(&job->base.lock);
	ret = fill_batch(&b, job, kqueues, waits, wait_count, fence);
	if (ret)
		ctx_fail(queue->base.ctx, ret, NULL, "out of memory");
	else
		ret = batch_send(&b);
	pthread_mutex_unlock(&job->base.lock);
	free(b.jobs);
	free(b.syncs);
	if (ret)
		return ret;
	order_syncs(job, fence);
	list_fence(queue, fence);
	return 0;
}

int drm_submit(struct accel_queue *base, struct accel_job *base_job,
	       struct accel_fence *const *waits, uint32_t wait_count,
	       struct accel_fence **out)
{
	struct drm_queue *queue = to_drm_queue(base);
	struct drm_job *job = to_drm_job(base_job);
	struct drm_fence *fence, *gone = NULL;
	uint32_t few[8] = { 0 }, *kqueues = few;
	int ret;

	if (job->key_count > 8) {
		kqueues = calloc(job->key_count, sizeof(*kqueues));
		if (!kqueues)
			return ctx_fail(base->ctx, -ENOMEM, NULL,
					"out of memory");
	}
	fence = drm_fence_new(base->ctx, job->key_count +
			      (job->join || !job->key_count));
	if (!fence) {
		ret = ctx_fail(base->ctx, -ENOMEM, NULL,
			       "no syncobj for the job");
		goto out;
	}
	queue_ref(base);
	job_ref(base_job);
	fence->queue = queue;
	fence->job = job;

	pthread_mutex_lock(&queue->lock);
	reap(queue, &gone);
	if (queue->told)
		revive(queue, &gone);
	ret = submit_locked(queue, job, waits, wait_count, fence, kqueues);
	pthread_mutex_unlock(&queue->lock);
	drm_unref_gone(gone);
	if (ret)
		accel_fence_unref(&fence->base);
	else
		*out = &fence->base;
out:
	if (kqueues != few)
		free(kqueues);
	return ret;
}
