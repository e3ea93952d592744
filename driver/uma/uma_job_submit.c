// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Submitting jobs: first everything that can fail, then the jobs are armed and pushed, which
 * cannot be undone.
 */
#include <linux/dma-fence-chain.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_syncobj.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_drv.h"
#include "uma_job.h"
#include "uma_pm.h"
#include "uma_trace.h"

/* A syncobj that a job signals */
struct uma_signal {
	struct list_head node;		/* in &uma_submit.signals, in the order of the jobs */
	struct drm_syncobj *syncobj;	/* syncobj, with a reference */
	/* preallocated chain link of a timeline, NULL for a binary syncobj */
	struct dma_fence_chain *chain;
	u64 point;			/* point of the timeline */
	u32 handle;			/* handle of syncobj */
	u32 job;			/* index of the job */
};

/* A job of a submit */
struct uma_submit_job {
	struct drm_uma_sync *syncs;	/* its syncs */
	struct drm_uma_job_bo *bos;	/* its buffers */
	u32 first_use;			/* index of its first use in &uma_submit.implicit */
	u32 uses;			/* number of its uses */
	struct uma_job *job;
	struct dma_fence *done;		/* its finished fence, once it is armed */
	/* indices of jobs of this submit that it depends on, &uma_job.dep_count of them */
	u32 *deps;
};

/* A DRM_IOCTL_UMA_SUBMIT in progress */
struct uma_submit {
	struct uma_device *uma;
	struct drm_file *file;
	struct drm_uma_job *args;	/* copy of the caller's jobs */
	struct uma_submit_job *jobs;	/* the jobs */
	u32 count;			/* number of jobs */
	u32 failed;			/* index of the job that an error is about */
	struct list_head signals;	/* list of &struct uma_signal */
	struct uma_implicit implicit;	/* buffers of all jobs */
};

static int uma_submit_check_bos(struct uma_submit *submit, u32 i, u32 *total)
{
	const struct drm_uma_array *array = &submit->args[i].bos;
	struct drm_uma_job_bo *bos;
	u32 j;
	int ret;

	ret = uma_check_array(array, UMA_MIN_JOB_BO, UMA_MAX_JOB_BOS);
	if (ret)
		return ret;
	*total += array->count;
	if (*total > UMA_MAX_SUBMIT_BOS)
		return -EINVAL;
	bos = uma_copy_array(array, sizeof(*bos), NULL);
	if (IS_ERR(bos))
		return PTR_ERR(bos);
	submit->jobs[i].bos = bos;
	for (j = 0; j < array->count; j++)
		if (bos[j].flags & ~DRM_UMA_JOB_BO_WRITE)
			return -EINVAL;
	return 0;
}

/* Checks that need no lookup. */
static int uma_submit_check(struct uma_submit *submit)
{
	u32 i, total = 0;
	int ret;

	for (i = 0; i < submit->count; i++) {
		const struct drm_uma_job *args = &submit->args[i];
		struct drm_uma_sync *syncs;

		submit->failed = i;
		ret = uma_check_job(args, U32_MAX, submit->uma->va.end);
		ret = ret ?: uma_check_array(&args->syncs, UMA_MIN_SYNC, UMA_MAX_JOB_SYNCS);
		if (ret)
			return ret;
		syncs = uma_copy_array(&args->syncs, sizeof(*syncs), NULL);
		if (IS_ERR(syncs))
			return PTR_ERR(syncs);
		submit->jobs[i].syncs = syncs;
		ret = uma_check_syncs(syncs, args->syncs.count);
		ret = ret ?: uma_submit_check_bos(submit, i, &total);
		if (ret)
			return ret;
	}
	submit->failed = 0;
	return uma_implicit_init(&submit->implicit, total);
}

static int uma_submit_alloc_job(struct uma_submit *submit, u32 i)
{
	struct uma_client *client = submit->file->driver_priv;
	const struct drm_uma_job *args = &submit->args[i];
	struct uma_queue *queue;
	struct uma_job *job;
	u32 deps;
	int ret;

	queue = uma_queue_find(client, args->queue_id);
	if (!queue)
		return -ENOENT;
	ret = -EINVAL;
	if (args->task_count > queue->max_job_tasks)
		goto err_queue;

	ret = -ENOMEM;
	job = kzalloc_obj(*job, GFP_KERNEL_ACCOUNT);
	if (!job)
		goto err_queue;
	job->tasks_addr = args->tasks_addr;
	job->task_count = args->task_count;
	job->stamps_addr = args->stamps_addr;
	job->fence = uma_fence_alloc();
	if (!job->fence)
		goto err_job;
	/* Through its buffers it may depend on each earlier job. */
	deps = args->syncs.count + (args->bos.count ? i : 0);
	if (deps) {
		job->deps = kvcalloc(deps, sizeof(*job->deps), GFP_KERNEL_ACCOUNT);
		submit->jobs[i].deps = kvcalloc(deps, sizeof(u32), GFP_KERNEL_ACCOUNT);
		if (!job->deps || !submit->jobs[i].deps)
			goto err_deps;
	}
	ret = drm_sched_job_init(&job->base, &queue->entity, 1, client,
				 submit->file->client_id);
	if (ret)
		goto err_deps;
	/* The core has initialised it; again, as others choose how many fences a job waits for. */
	xa_init_flags(&job->base.dependencies, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	job->queue = queue;
	submit->jobs[i].job = job;
	return 0;

err_deps:
	kvfree(job->deps);
	kfree(job->fence);
err_job:
	kfree(job);
err_queue:
	uma_queue_put(queue);
	return ret;
}

static int uma_submit_signal(struct uma_submit *submit, u32 i, const struct drm_uma_sync *sync)
{
	struct uma_signal *signal;

	signal = kzalloc_obj(*signal, GFP_KERNEL_ACCOUNT);
	if (!signal)
		return -ENOMEM;
	list_add_tail(&signal->node, &submit->signals);
	signal->handle = sync->handle;
	signal->point = sync->point;
	signal->job = i;
	if (sync->type == DRM_UMA_SYNC_TIMELINE) {
		signal->chain = dma_fence_chain_alloc();
		if (!signal->chain)
			return -ENOMEM;
	}
	signal->syncobj = drm_syncobj_find(submit->file, sync->handle);
	return signal->syncobj ? 0 : -ENOENT;
}

/*
 * Find the signal of an earlier job that satisfies a wait: of a timeline the lowest point that is
 * high enough, else the latest signal.
 */
static struct uma_signal *uma_submit_earlier(struct uma_submit *submit, u32 i,
					     const struct drm_uma_sync *sync)
{
	struct uma_signal *signal, *best = NULL;

	list_for_each_entry(signal, &submit->signals, node) {
		if (signal->job >= i)
			break;
		if (signal->handle != sync->handle)
			continue;
		if (!sync->point)
			best = signal;
		else if (signal->chain && signal->point >= sync->point &&
			 (!best || signal->point < best->point))
			best = signal;
	}
	return best;
}

static int uma_submit_wait(struct uma_submit *submit, u32 i, const struct drm_uma_sync *sync)
{
	struct uma_submit_job *sj = &submit->jobs[i];
	struct uma_signal *earlier;
	struct dma_fence *fence;
	int ret = -EINVAL;

	/* A point that has a fence already takes precedence over an earlier job of this submit. */
	earlier = uma_submit_earlier(submit, i, sync);
	if (!earlier || sync->point)
		ret = drm_syncobj_find_fence(submit->file, sync->handle, sync->point, 0, &fence);
	if (!ret)
		return drm_sched_job_add_dependency(&sj->job->base, fence);
	if (!earlier)
		return ret;
	/* Jobs of one queue run in order anyway. */
	if (submit->jobs[earlier->job].job->queue != sj->job->queue)
		sj->deps[sj->job->dep_count++] = earlier->job;
	return 0;
}

/* Look up the buffers of a job, and find the earlier jobs of this submit that conflict with it. */
static int uma_submit_bos(struct uma_submit *submit, u32 i)
{
	struct uma_submit_job *sj = &submit->jobs[i];
	bool in_order;
	u32 j;
	int ret;

	sj->first_use = submit->implicit.count;
	ret = uma_implicit_add(&submit->implicit, submit->file, sj->bos, submit->args[i].bos.count);
	if (ret < 0)
		return ret;
	sj->uses = ret;
	for (j = 0; j < i && sj->uses; j++) {
		in_order = submit->jobs[j].job->queue == sj->job->queue;
		if (uma_implicit_follow(&submit->implicit, submit->jobs[j].first_use,
					submit->jobs[j].uses, sj->first_use, sj->uses, in_order) &&
		    !in_order)
			sj->deps[sj->job->dep_count++] = j;
	}
	return 0;
}

static int uma_submit_prepare(struct uma_submit *submit)
{
	u32 i, j;
	int ret;

	for (i = 0; i < submit->count; i++) {
		struct uma_submit_job *sj = &submit->jobs[i];

		submit->failed = i;
		ret = uma_submit_alloc_job(submit, i);
		if (ret)
			return ret;
		for (j = 0; j < submit->args[i].syncs.count; j++) {
			ret = sj->syncs[j].flags & DRM_UMA_SYNC_SIGNAL ?
				uma_submit_signal(submit, i, &sj->syncs[j]) :
				uma_submit_wait(submit, i, &sj->syncs[j]);
			/* Each wait searches the signals of all earlier jobs. */
			ret = ret ?: uma_breathe();
			if (ret)
				return ret;
		}
		ret = uma_submit_bos(submit, i) ?: uma_breathe();
		if (ret)
			return ret;
	}
	return 0;
}

/* While the buffers are locked nobody else adds a fence to them. */
static int uma_submit_lock(struct uma_submit *submit)
{
	u32 i;
	int ret;

	submit->failed = 0;
	ret = uma_implicit_lock(&submit->implicit);
	for (i = 0; i < submit->count && !ret; i++)
		ret = uma_implicit_wait(&submit->implicit, submit->jobs[i].first_use,
					submit->jobs[i].uses, &submit->jobs[i].job->base);
	return ret;
}

/* The last checks that can fail, under the lock under which jobs are pushed. */
static int uma_submit_admit(struct uma_submit *submit)
{
	struct uma_client *client = submit->file->driver_priv;
	u32 unfinished = atomic_read(&client->usage->unfinished), i;
	int ret;

	for (i = 0; i < submit->count; i++)
		submit->jobs[i].job->queue->batch = 0;
	for (i = 0; i < submit->count; i++) {
		struct uma_queue *queue = submit->jobs[i].job->queue;
		s64 completed = atomic64_read(&queue->completed);
		s64 pending = atomic64_read(&queue->submitted) - completed;

		submit->failed = i;
		ret = uma_queue_error(queue);
		/* Destroyed after it was looked up: as if it had been destroyed before. */
		if (ret == -ECANCELED && READ_ONCE(queue->closed))
			ret = -ENOENT;
		if (ret)
			return ret;
		if (pending + ++queue->batch > UMA_MAX_QUEUED_JOBS ||
		    unfinished + i >= UMA_MAX_FILE_JOBS)
			return -EBUSY;
	}
	return 0;
}

/* A job without tasks whose dependencies have signalled is done as soon as it is submitted. */
static bool uma_submit_is_done(struct uma_job *job)
{
	struct dma_fence *last = job->queue->last, *dep;
	unsigned long index;

	if (job->task_count || job->dep_count || (last && !dma_fence_is_signaled(last)))
		return false;
	xa_for_each(&job->base.dependencies, index, dep)
		if (!dma_fence_is_signaled(dep))
			return false;
	return true;
}

/*
 * Complete such a job here: the scheduler would wake two workers for that. It was not armed, so it
 * is freed with the submit.
 */
static void uma_submit_finish(struct uma_submit *submit, struct uma_submit_job *sj)
{
	struct uma_queue *queue = sj->job->queue;
	struct uma_done done = {
		.queue = queue, .fence = dma_fence_get_stub(), .number = sj->job->number,
	};

	trace_uma_job_submit(queue, done.number, 0, 0);
	trace_uma_job_done(sj->job->engine, &done);
	atomic64_inc(&queue->completed);
	sj->done = done.fence;
}

static void uma_submit_push(struct uma_submit *submit)
{
	struct uma_signal *signal;
	u32 i, j;

	for (i = 0; i < submit->count; i++) {
		struct uma_submit_job *sj = &submit->jobs[i];
		struct uma_job *job = sj->job;
		struct uma_queue *queue = job->queue;

		job->engine = uma_queue_choose_engine(queue);
		job->number = atomic64_inc_return(&queue->submitted);
		if (uma_submit_is_done(job)) {
			uma_submit_finish(submit, sj);
			continue;
		}
		job->submitted = ktime_get();
		/* These are dropped by uma_done_signal(). */
		atomic_inc(&queue->usage->unfinished);
		atomic_inc(&job->engine->load);
		uma_pm_get_again(submit->uma);

		drm_sched_job_arm(&job->base);
		sj->done = dma_fence_get(&job->base.s_fence->finished);
		uma_implicit_publish(&submit->implicit, sj->first_use, sj->uses, sj->done);
		for (j = 0; j < job->dep_count; j++)
			job->deps[j] = dma_fence_get(submit->jobs[sj->deps[j]].done);
		trace_uma_job_submit(queue, job->number, job->tasks_addr, job->task_count);
		/* Before it is pushed: after that the job may be done and freed. */
		dma_fence_put(queue->last);
		queue->last = dma_fence_get(sj->done);
		/* Owned by the scheduler from here on. */
		sj->job = NULL;
		/* Some kernels wake the queue's scheduler when the job may have ended already. */
		kref_get(&queue->ref);
		drm_sched_entity_push_job(&job->base);
		uma_queue_put(queue);
		cond_resched();
	}
	list_for_each_entry(signal, &submit->signals, node) {
		struct dma_fence *done = submit->jobs[signal->job].done;

		if (signal->chain)
			drm_syncobj_add_point(signal->syncobj, signal->chain, done, signal->point);
		else
			drm_syncobj_replace_fence(signal->syncobj, done);
		/* Owned by the syncobj now. */
		signal->chain = NULL;
		cond_resched();
	}
}

static void uma_submit_cleanup(struct uma_submit *submit)
{
	struct uma_signal *signal, *next;
	u32 i;

	uma_implicit_fini(&submit->implicit);
	list_for_each_entry_safe(signal, next, &submit->signals, node) {
		dma_fence_chain_free(signal->chain);
		if (signal->syncobj)
			drm_syncobj_put(signal->syncobj);
		kfree(signal);
		cond_resched();
	}
	for (i = 0; submit->jobs && i < submit->count; i++) {
		struct uma_submit_job *sj = &submit->jobs[i];

		if (sj->job) {
			/* Its dependencies were counted, but their fences not taken yet. */
			sj->job->dep_count = 0;
			uma_job_free(sj->job);
		}
		dma_fence_put(sj->done);
		kvfree(sj->deps);
		kvfree(sj->bos);
		kvfree(sj->syncs);
		cond_resched();
	}
	kvfree(submit->jobs);
	kvfree(submit->args);
}

/*
 * After the caller's arrays were copied. Not between uma_enter() and drm_dev_exit(), for which
 * unplugs wait: others may hold the locks for long, and jobs are pushed one by one. If the device
 * is unplugged meanwhile, the jobs end as those that were pushed before.
 */
static int uma_submit_run(struct uma_submit *submit)
{
	struct uma_client *client = submit->file->driver_priv;
	struct uma_device *uma = submit->uma;
	int ret;

	/* -ENODEV takes precedence over other errors. */
	if (uma_gone(uma))
		return -ENODEV;
	ret = uma_submit_prepare(submit) ?: uma_submit_lock(submit) ?:
	      mutex_lock_interruptible(&client->submit_lock);
	if (ret)
		return ret;
	submit->failed = 0;
	/* Resume the device here, where sleeping is allowed; where jobs are pushed it is not. */
	ret = uma_pm_get(uma);
	if (!ret) {
		ret = uma_gone(uma) ? -ENODEV : uma_submit_admit(submit);
		if (!ret)
			uma_submit_push(submit);
		uma_pm_put(uma);
	} else {
		/* Not -EBUSY: user space would retry when jobs are done, which would not help. */
		ret = uma_gone(uma) ? -ENODEV : ret == -EBUSY ? -EIO : ret;
	}
	mutex_unlock(&client->submit_lock);
	return ret;
}

/* DRM_IOCTL_UMA_SUBMIT */
int uma_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_uma_submit *args = data;
	struct uma_submit submit = {
		.uma = to_uma_device(drm),
		.file = file,
		.count = args->jobs.count,
		.signals = LIST_HEAD_INIT(submit.signals),
	};
	int ret;

	if (args->flags || args->failed_job)
		return -EINVAL;
	ret = uma_check_array(&args->jobs, UMA_MIN_JOB, UMA_MAX_SUBMIT_JOBS);
	if (ret || !submit.count)
		return ret ?: -EINVAL;
	submit.args = uma_copy_array(&args->jobs, sizeof(*submit.args), &submit.failed);
	if (IS_ERR(submit.args)) {
		ret = PTR_ERR(submit.args);
		goto out;
	}
	submit.jobs = kvcalloc(submit.count, sizeof(*submit.jobs), GFP_KERNEL_ACCOUNT);
	ret = submit.jobs ? uma_submit_check(&submit) ?: uma_submit_run(&submit) : -ENOMEM;
	uma_submit_cleanup(&submit);
out:
	if (!ret)
		args->failed_job = submit.count;
	else if (ret != -EINTR && ret != -ERESTARTSYS && ret != -ENODEV)
		args->failed_job = submit.failed;
	return ret;
}
