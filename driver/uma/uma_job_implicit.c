// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implicit synchronisation: jobs wait for the fences in the dma_resvs of their buffers, and add
 * their own.
 */
#include <linux/dma-fence-array.h>
#include <linux/dma-resv.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/xarray.h>

#include <drm/drm_exec.h>
#include <drm/drm_gem.h>
#include <drm/gpu_scheduler.h>

#include <drm/uma_accel.h>

#include "compat.h"
#include "uma_args.h"
#include "uma_device.h"
#include "uma_job.h"

/* Fences in an array: it adds a callback to each with interrupts off, when it is waited for. */
#define UMA_IMPLICIT_ARRAY	128

/**
 * uma_implicit_init - allocate the list of buffers
 * @imp: zeroed
 * @max: number of buffers that all jobs name, may be 0
 *
 * Return: 0 or -ENOMEM; call uma_implicit_fini() in either case.
 */
int uma_implicit_init(struct uma_implicit *imp, u32 max)
{
	if (!max)
		return 0;
	imp->uses = kvcalloc(max, sizeof(*imp->uses) + sizeof(*imp->sorted), GFP_KERNEL_ACCOUNT);
	imp->sorted = (void *)(imp->uses + max);
	return imp->uses ? 0 : -ENOMEM;
}

/* Unlock the buffers and drop the references to them. */
void uma_implicit_fini(struct uma_implicit *imp)
{
	struct dma_fence *fence;
	unsigned long index;
	u32 i;

	if (imp->locked)
		drm_exec_fini(&imp->exec);
	for (i = 0; i < imp->count; i++) {
		struct uma_implicit_use *use = &imp->uses[i];

		drm_gem_object_put(use->obj);
		cond_resched();
		if (use->common != use)
			continue;
		xa_for_each(&use->writers, index, fence)
			dma_fence_put(fence);
		xa_destroy(&use->writers);
	}
	kvfree(imp->uses);
}

static int uma_implicit_cmp(const void *a, const void *b)
{
	const struct uma_implicit_use *x = a, *y = b;
	unsigned long p = (unsigned long)x->obj->resv, q = (unsigned long)y->obj->resv;

	return p < q ? -1 : p > q;
}

static int uma_implicit_cmp_ptr(const void *a, const void *b)
{
	struct uma_implicit_use *const *x = a, *const *y = b;

	return uma_implicit_cmp(*x, *y);
}

/**
 * uma_implicit_add - add the buffers of a job
 * @imp: buffers
 * @file: client
 * @bos: handles and flags
 * @count: entries of @bos
 *
 * A dma_resv that the job names more than once is one use, which writes if one of them does.
 *
 * Return: number of uses, at the end of &uma_implicit.uses and in the order of their dma_resvs;
 * -ENOENT.
 */
int uma_implicit_add(struct uma_implicit *imp, struct drm_file *file,
		     const struct drm_uma_job_bo *bos, u32 count)
{
	struct uma_implicit_use *uses = imp->uses + imp->count;
	u32 i, last = 0;

	for (i = 0; i < count; i++, imp->count++) {
		uses[i].obj = drm_gem_object_lookup(file, bos[i].handle);
		if (!uses[i].obj)
			return -ENOENT;
		uses[i].write = bos[i].flags & DRM_UMA_JOB_BO_WRITE;
	}
	if (!count)
		return 0;
	sort(uses, count, sizeof(*uses), uma_implicit_cmp, NULL);
	for (i = 1; i < count; i++) {
		if (uma_implicit_cmp(&uses[last], &uses[i])) {
			uses[++last] = uses[i];
			continue;
		}
		uses[last].write |= uses[i].write;
		drm_gem_object_put(uses[i].obj);
	}
	imp->count -= count - 1 - last;
	return last + 1;
}

/**
 * uma_implicit_follow - compare the buffers of a job with those of an earlier job
 * @imp: buffers
 * @first_a: first use of the earlier job
 * @count_a: number of its uses
 * @first_b: first use of the other job
 * @count_b: number of its uses
 * @in_order: they are of one queue, so that the other job runs after the earlier one anyway
 *
 * Marks in the uses of both which fences they need not wait for, or add, because of the other job.
 *
 * Return: true if one of them writes to a buffer that the other one uses. Then the other job has to
 * wait for the earlier one.
 */
bool uma_implicit_follow(struct uma_implicit *imp, u32 first_a, u32 count_a,
			 u32 first_b, u32 count_b, bool in_order)
{
	struct uma_implicit_use *a = imp->uses + first_a, *end_a = a + count_a;
	struct uma_implicit_use *b = imp->uses + first_b, *end_b = b + count_b;
	bool conflict = false;
	int cmp;

	while (a < end_a && b < end_b) {
		cmp = uma_implicit_cmp(a, b);
		if (!cmp) {
			conflict |= a->write || b->write;
			b->waited |= a->write || (in_order && !b->write);
			a->superseded |= in_order && (b->write || !a->write);
		}
		a += cmp <= 0;
		b += cmp >= 0;
	}
	return conflict;
}

/* Uses of a dma_resv by several jobs become adjacent. Those that wait for the same are noted. */
static void uma_implicit_sort(struct uma_implicit *imp)
{
	struct uma_implicit_use *common = NULL;
	u32 i;

	for (i = 0; i < imp->count; i++)
		imp->sorted[i] = &imp->uses[i];
	sort(imp->sorted, imp->count, sizeof(*imp->sorted), uma_implicit_cmp_ptr, NULL);
	for (i = 0; i < imp->count; i++) {
		struct uma_implicit_use *use = imp->sorted[i];

		/* Of the jobs that write to it only the first waits for these fences. */
		if (use->write || use->waited)
			continue;
		if (!common || uma_implicit_cmp(common, use)) {
			common = use;
			continue;
		}
		if (!common->common)
			xa_init_flags(&common->writers, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
		common->common = common;
		use->common = common;
	}
}

/* Unbinding waits for the locks of the buffers, so submits end then. */
static int uma_implicit_breathe(const struct uma_implicit_use *use)
{
	return READ_ONCE(to_uma_device(use->obj->dev)->going) ? -ENODEV : uma_breathe();
}

/**
 * uma_implicit_lock - lock all buffers and reserve slots for the fences of all jobs
 * @imp: buffers
 *
 * Return: 0; -ENOMEM; -EINTR; -ENODEV the driver is about to be unbound.
 */
int uma_implicit_lock(struct uma_implicit *imp)
{
	u32 i, next;
	int ret;

	if (!imp->count)
		return 0;
	uma_implicit_sort(imp);
	drm_exec_init(&imp->exec, DRM_EXEC_INTERRUPTIBLE_WAIT, imp->count);
	imp->locked = true;
	drm_exec_until_all_locked(&imp->exec) {
		for (i = 0; i < imp->count; i = next) {
			for (next = i + 1; next < imp->count; next++)
				if (uma_implicit_cmp(imp->sorted[i], imp->sorted[next]))
					break;
			ret = drm_exec_prepare_obj(&imp->exec, imp->sorted[i]->obj, next - i);
			drm_exec_retry_on_contention(&imp->exec);
			/* A dma_resv may have any number of fences. */
			ret = ret ?: uma_implicit_breathe(imp->sorted[i]);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/* The last fence of each context on a buffer, by the context; the lock of the buffer keeps it. */
static int uma_implicit_collect(struct xarray *last, const struct uma_implicit_use *use)
{
	struct dma_fence *fence, *other;
	struct dma_resv_iter cursor;
	int ret;

	dma_resv_for_each_fence(&cursor, use->obj->resv, dma_resv_usage_rw(use->write), fence) {
		ret = uma_implicit_breathe(use);
		if (ret)
			return ret;
		other = xa_load(last, fence->context);
		if (dma_fence_is_signaled(fence) || (other && !dma_fence_is_later(fence, other)))
			continue;
		ret = xa_err(xa_store(last, fence->context, fence, GFP_KERNEL_ACCOUNT));
		if (ret)
			return ret;
	}
	return 0;
}

/* Add one fence that signals when all of some have. The array of these is consumed. */
static int uma_implicit_add_array(struct xarray *to, struct dma_fence **fences, u32 count)
{
	struct dma_fence *all = fences[0];
	struct dma_fence_array *array;
	int ret;
	u32 id;

	if (count > 1) {
		array = kzalloc(struct_size(array, callbacks, count), GFP_KERNEL_ACCOUNT);
		if (!array) {
			kfree(fences);
			return -ENOMEM;
		}
		for (id = 0; id < count; id++)
			dma_fence_get(fences[id]);
		dma_fence_array_init(array, count, fences, dma_fence_context_alloc(1), 1);
		all = &array->base;
	} else {
		dma_fence_get(all);
		kfree(fences);
	}
	ret = xa_alloc(to, &id, all, xa_limit_32b, GFP_KERNEL_ACCOUNT);
	if (ret)
		dma_fence_put(all);
	return ret;
}

/* The fences of a buffer's writers, for all jobs that wait for these. */
static int uma_implicit_collect_writers(struct uma_implicit_use *use)
{
	unsigned long next = 0;
	struct xarray last;
	int ret;

	if (use->collected)
		return 0;
	xa_init_flags(&last, XA_FLAGS_ACCOUNT);
	ret = uma_implicit_collect(&last, use);
	while (!ret) {
		struct dma_fence **fences;
		unsigned int count;

		fences = kmalloc_array(UMA_IMPLICIT_ARRAY, sizeof(*fences), GFP_KERNEL_ACCOUNT);
		if (!fences) {
			ret = -ENOMEM;
			break;
		}
		count = xa_extract(&last, (void **)fences, next, ULONG_MAX, UMA_IMPLICIT_ARRAY,
				   XA_PRESENT);
		if (!count) {
			kfree(fences);
			break;
		}
		next = fences[count - 1]->context + 1;
		ret = uma_implicit_add_array(&use->writers, fences, count) ?:
		      uma_implicit_breathe(use);
	}
	xa_destroy(&last);
	use->collected = !ret;
	return ret;
}

static int uma_implicit_depend(struct drm_sched_job *job, const struct uma_implicit_use *use,
			       struct xarray *fences)
{
	struct dma_fence *fence;
	unsigned long index;
	int ret;
	u32 id;

	xa_for_each(fences, index, fence) {
		ret = uma_implicit_breathe(use) ?:
		      xa_alloc(&job->dependencies, &id, fence, xa_limit_32b, GFP_KERNEL_ACCOUNT);
		if (ret)
			return ret;
		dma_fence_get(fence);
	}
	return 0;
}

/**
 * uma_implicit_wait - add the fences of a job's buffers as its dependencies
 * @imp: locked buffers
 * @first: first use of the job
 * @count: number of its uses
 * @job: job
 *
 * There may be any number of fences, and others wait for the locks of the buffers. So they are not
 * passed to drm_sched_job_add_dependency(), which compares each with all that the job has. A job
 * skips those that an earlier job of the submit, which it runs after, waits for. And if several
 * jobs wait for the writers of a buffer, their fences are collected once.
 *
 * Return: 0; -ENOMEM; -EINTR the caller is killed; -ENODEV the driver is about to be unbound.
 */
int uma_implicit_wait(struct uma_implicit *imp, u32 first, u32 count, struct drm_sched_job *job)
{
	struct uma_implicit_use *use = imp->uses + first, *end = use + count;
	struct xarray last;
	int ret = 0;

	/* Fences of different contexts must not have the same index. */
	static_assert(sizeof(unsigned long) == sizeof_field(struct dma_fence, context));

	xa_init_flags(&last, XA_FLAGS_ACCOUNT);
	for (; use < end && !ret; use++) {
		if (use->waited)
			continue;
		if (use->common)
			ret = uma_implicit_collect_writers(use->common) ?:
			      uma_implicit_depend(job, use, &use->common->writers);
		else
			ret = uma_implicit_collect(&last, use);
	}
	if (!ret && count)
		ret = uma_implicit_depend(job, end - 1, &last);
	xa_destroy(&last);
	return ret;
}

/**
 * uma_implicit_publish - add the fence of a job to its buffers
 * @imp: locked buffers
 * @first: first use of the job
 * @count: number of its uses
 * @done: fence of the job
 */
void uma_implicit_publish(struct uma_implicit *imp, u32 first, u32 count, struct dma_fence *done)
{
	u32 i;

	for (i = first; i < first + count; i++) {
		/* The later job's replaces it, before the buffer is unlocked. */
		if (imp->uses[i].superseded)
			continue;
		dma_resv_add_fence(imp->uses[i].obj->resv, done,
				   imp->uses[i].write ? DMA_RESV_USAGE_WRITE :
							DMA_RESV_USAGE_READ);
		/* It looks at all that are there. */
		cond_resched();
	}
}
