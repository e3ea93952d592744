/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_IMPLICIT_H_
#define _UMA_IMPLICIT_H_

#include <linux/types.h>
#include <linux/ww_mutex.h>

struct dma_fence;
struct drm_file;
struct drm_gem_object;
struct drm_sched_job;
struct drm_uma_job_bo;

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
	/** @objs: buffers, but only one of those that share a dma_resv */
	struct drm_gem_object **objs;
	/** @slots: fences that there will be on each of @objs */
	u32 *slots;
	/** @obj_count: entries of @objs and @slots */
	u32 obj_count;
	/** @locked: the dma_resvs of @objs are locked */
	bool locked;
	/** @ctx: they are locked under this */
	struct ww_acquire_ctx ctx;
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

#endif /* _UMA_IMPLICIT_H_ */
