/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * For older kernels. The driver is written against the newest interfaces; Kbuild looks for them in
 * the headers and defines UMA_HAVE_*.
 */
#ifndef _UMA_COMPAT_H_
#define _UMA_COMPAT_H_

#include <linux/dma-fence-array.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pm_domain.h>
#include <linux/slab.h>

#include <drm/drm_gem_shmem_helper.h>
#include <drm/drm_gpuvm.h>
#include <drm/gpu_scheduler.h>

#ifndef UMA_HAVE_SCHED_INIT_ARGS
struct drm_sched_init_args {
	const struct drm_sched_backend_ops *ops;
	struct workqueue_struct *submit_wq;
	struct workqueue_struct *timeout_wq;
	u32 num_rqs;
	u32 credit_limit;
	unsigned int hang_limit;
	long timeout;
	atomic_t *score;
	const char *name;
	struct device *dev;
};

static inline int uma_sched_init_args(struct drm_gpu_scheduler *sched,
				      const struct drm_sched_init_args *args)
{
	return drm_sched_init(sched, args->ops, args->submit_wq, args->num_rqs,
			      args->credit_limit, args->hang_limit, args->timeout,
			      args->timeout_wq, args->score, args->name, args->dev);
}

#define drm_sched_init(sched, args) uma_sched_init_args(sched, args)
#endif

#ifndef UMA_HAVE_SCHED_CLIENT_ID
#define drm_sched_job_init(job, entity, credits, owner, client_id) \
	drm_sched_job_init(job, entity, credits, owner)
#endif

/*
 * What timedout_job returns for a job that has ended: the scheduler puts it back into its list, to
 * free it. Before 6.17 the driver has to do so; it is not freed while the lock is held.
 */
static inline enum drm_gpu_sched_stat uma_sched_take_back(struct drm_sched_job *job)
{
#ifdef UMA_HAVE_SCHED_STAT_NO_HANG
	return DRM_GPU_SCHED_STAT_NO_HANG;
#else
	struct drm_gpu_scheduler *sched = job->sched;

	spin_lock(&sched->job_list_lock);
	list_add(&job->list, &sched->pending_list);
	drm_sched_wqueue_start(sched);
	spin_unlock(&sched->job_list_lock);
	return DRM_GPU_SCHED_STAT_NOMINAL;
#endif
}

/* Older kernels also have arrays that signal with the first of their fences. */
#ifdef UMA_HAVE_FENCE_ARRAY_ANY
#define dma_fence_array_init(array, count, fences, context, seqno) \
	dma_fence_array_init(array, count, fences, context, seqno, false)
#endif

#ifndef UMA_HAVE_GPUVM_OBTAIN_LOCKED
#define drm_gpuvm_bo_obtain_locked(gpuvm, obj) drm_gpuvm_bo_obtain(gpuvm, obj)
#endif

#ifndef UMA_HAVE_SHMEM_LOCKED
#define drm_gem_shmem_purge_locked(shmem) drm_gem_shmem_purge(shmem)
#endif

#ifdef UMA_HAVE_SHMEM_VMA_FLAGS
#define UMA_SHMEM_NORESERVE mk_vma_flags(VMA_NORESERVE_BIT)
#else
#define UMA_SHMEM_NORESERVE VM_NORESERVE
#endif

/* Before 6.13 a list_lru walk callback was given the lock. */
#ifdef UMA_HAVE_LRU_WALK_LOCK
#define UMA_LRU_WALK_LOCK spinlock_t *lock,
#else
#define UMA_LRU_WALK_LOCK
#endif

/* 7.0 */
#ifndef kzalloc_obj
#define kzalloc_obj(obj, gfp) kzalloc(sizeof(obj), gfp)
#endif

/* Newer kernels support devfreq cooling devices with a device tree only, and warn otherwise. */
#if !defined(UMA_HAVE_COOLING_ID) || IS_ENABLED(CONFIG_THERMAL_OF)
#define UMA_HAVE_COOLING
#endif

/* Older kernels have no attributes for a page that is mapped twice; only DMA debugging warns. */
#ifndef DMA_ATTR_REQUIRE_COHERENT
#define DMA_ATTR_REQUIRE_COHERENT 0
#endif
#ifndef DMA_ATTR_DEBUGGING_IGNORE_CACHELINES
#define DMA_ATTR_DEBUGGING_IGNORE_CACHELINES 0
#endif

/* A bool before 6.17. */
#ifndef PD_FLAG_ATTACH_POWER_ON
#define PD_FLAG_ATTACH_POWER_ON true
#endif

/* Strings since 6.13. */
#ifdef UMA_HAVE_STRING_NS
#define UMA_IMPORT_NS(ns) MODULE_IMPORT_NS(#ns)
#else
#define UMA_IMPORT_NS(ns) MODULE_IMPORT_NS(ns)
#endif

#endif /* _UMA_COMPAT_H_ */
