/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_ARGS_H_
#define _UMA_ARGS_H_

#include <linux/compiler_types.h>
#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/stddef.h>

#include <drm/uma_accel.h>

/* The caps on counts that do not depend on the device; DRM_UMA_QUERY_LIMITS reports them. */
#define UMA_MAX_VMS		64
#define UMA_MAX_QUEUES		256
#define UMA_MAX_BIND_OPS	1024
#define UMA_MAX_SYNC_RANGES	1024
#define UMA_MAX_SUBMIT_JOBS	256
#define UMA_MAX_JOB_SYNCS	64
#define UMA_MAX_JOB_BOS		64
#define UMA_MAX_SUBMIT_BOS	1024
#define UMA_MAX_LABEL		255
#define UMA_MAX_MAPPINGS	65536
#define UMA_MAX_QUEUED_JOBS	1024
#define UMA_MAX_FILE_JOBS	4096
#define UMA_MAX_TIMEOUT_MS	600000
#define UMA_DEFAULT_TIMEOUT_MS	10000

/* Sizes of the first versions of the structs in arrays: a shorter element is refused. */
#define UMA_MIN_SYNC_RANGE	offsetofend(struct drm_uma_sync_range, size)
#define UMA_MIN_BIND_OP		offsetofend(struct drm_uma_bind_op, size)
#define UMA_MIN_JOB		offsetofend(struct drm_uma_job, syncs)
#define UMA_MIN_JOB_BO		offsetofend(struct drm_uma_job_bo, flags)
#define UMA_MIN_SYNC		offsetofend(struct drm_uma_sync, point)

/* Addresses that can be bound */
struct uma_va_range {
	__u64 start;	/* first */
	__u64 end;	/* one past the last */
};

/* For loops whose length user space chooses. Returns -EINTR if the caller has been killed. */
static inline int uma_breathe(void)
{
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

int uma_check_array(const struct drm_uma_array *array, size_t min_size, __u32 max);
int uma_check_bo_size(__u64 size, __u64 max);
int uma_check_label(const char *label, size_t size);
int uma_check_sync_range(const struct drm_uma_sync_range *range);
int uma_check_bo_range(__u64 offset, __u64 size, __u64 bo_size);
int uma_check_bind_op(const struct drm_uma_bind_op *op, const struct uma_va_range *range);
int uma_check_queue(const struct drm_uma_queue_create *args, __u32 max_timeout_ms);
int uma_check_job(const struct drm_uma_job *job, __u32 max_tasks, __u64 va_end);
int uma_check_sync(const struct drm_uma_sync *sync);
int uma_check_syncs(const struct drm_uma_sync *syncs, __u32 count);

void *uma_copy_array(const struct drm_uma_array *array, size_t size, __u32 *bad);

#endif /* _UMA_ARGS_H_ */
