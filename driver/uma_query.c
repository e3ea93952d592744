// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What the device is and what the limits are; its clock.
 */
#include <linux/capability.h>
#include <linux/nospec.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>

#include "uma_device.h"
#include "uma_drv.h"

/**
 * uma_priorities - the priorities that the calling process may use
 *
 * Return: mask of 1 << &enum drm_uma_priority.
 */
u32 uma_priorities(void)
{
	u32 mask = BIT(DRM_UMA_PRIORITY_LOW) | BIT(DRM_UMA_PRIORITY_NORMAL);

	if (capable(CAP_SYS_NICE))
		mask |= BIT(DRM_UMA_PRIORITY_HIGH) | BIT(DRM_UMA_PRIORITY_REALTIME);
	return mask;
}

static void uma_limits(struct uma_device *uma, struct drm_uma_query_limits *limits)
{
	*limits = (struct drm_uma_query_limits) {
		.max_bo_size = uma->max_bo_size,
		.va_start = uma->va.start,
		.va_end = uma->va.end,
		.max_vms = UMA_MAX_VMS,
		.max_queues = UMA_MAX_QUEUES,
		.max_bind_ops = UMA_MAX_BIND_OPS,
		.max_sync_ranges = UMA_MAX_SYNC_RANGES,
		.max_submit_jobs = UMA_MAX_SUBMIT_JOBS,
		.max_job_syncs = UMA_MAX_JOB_SYNCS,
		.max_job_tasks = uma->max_job_tasks,
		.max_label = UMA_MAX_LABEL,
		.max_timeout_ms = UMA_MAX_TIMEOUT_MS,
		.default_timeout_ms = READ_ONCE(uma->job_timeout_ms),
		.max_mappings = UMA_MAX_MAPPINGS,
		.priorities = uma_priorities(),
		.max_queued_jobs = UMA_MAX_QUEUED_JOBS,
		.max_job_bos = UMA_MAX_JOB_BOS,
		.max_submit_bos = UMA_MAX_SUBMIT_BOS,
	};
}

/**
 * uma_reply - give the caller as much of something as there is room for
 * @to: user pointer, or 0 if the caller only wants to know the size
 * @room: in: bytes at @to; out: bytes that there are
 * @from: what there is
 * @size: bytes of it
 *
 * What is left of the room becomes zero.
 *
 * Return: 0 or -EFAULT.
 */
int uma_reply(u64 to, u32 *room, const void *from, size_t size)
{
	void __user *user = u64_to_user_ptr(to);
	size_t space = *room;

	*room = size;
	if (!to)
		return 0;
	if (copy_to_user(user, from, min(space, size)))
		return -EFAULT;
	if (space > size && clear_user(user + size, space - size))
		return -EFAULT;
	return 0;
}

static int uma_query_reply(struct drm_uma_query *args, const void *data, size_t size)
{
	return uma_reply(args->data, &args->size, data, size);
}

/* DRM_IOCTL_UMA_QUERY */
int uma_ioctl_query(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_uma_query_engine engines[UMA_MAX_ENGINES];
	struct uma_device *uma = to_uma_device(drm);
	struct drm_uma_query_limits limits;
	struct drm_uma_query *args = data;
	struct uma_engine *engine;
	u32 i;

	if (args->pad)
		return -EINVAL;
	if (args->index && args->type != DRM_UMA_QUERY_ENGINE_CAPS)
		return -EINVAL;

	switch (args->type) {
	case DRM_UMA_QUERY_DEVICE:
		return uma_query_reply(args, &uma->info, sizeof(uma->info));
	case DRM_UMA_QUERY_ENGINES:
		uma_for_each_engine(uma, engine)
			engines[engine->index] = engine->info;
		return uma_query_reply(args, engines,
				       uma->info.engine_count * sizeof(*engines));
	case DRM_UMA_QUERY_ENGINE_CAPS:
		if (args->index >= uma->info.engine_count)
			return -EINVAL;
		i = array_index_nospec(args->index, uma->info.engine_count);
		engine = &uma->engines[i];
		return uma_query_reply(args, engine->caps,
				       engine->info.cap_count * sizeof(*engine->caps));
	case DRM_UMA_QUERY_MEMORY:
		return uma_query_reply(args, uma->nodes,
				       uma->info.node_count * sizeof(*uma->nodes));
	case DRM_UMA_QUERY_LIMITS:
		uma_limits(uma, &limits);
		return uma_query_reply(args, &limits, sizeof(limits));
	default:
		return -EINVAL;
	}
}

/* DRM_IOCTL_UMA_TIMESTAMP */
int uma_ioctl_timestamp(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct uma_device *uma = to_uma_device(drm);
	struct drm_uma_timestamp *args = data;
	u64 before, after, device;
	unsigned long flags;
	int i;

	if (args->device || args->cpu_ns || args->error_ns || args->pad)
		return -EINVAL;

	/* Somebody may come in between: the closest of some pairs is the best. */
	args->error_ns = U64_MAX;
	for (i = 0; i < 4; i++) {
		local_irq_save(flags);
		before = ktime_get_ns();
		device = uma_read64(uma, UMA_REG_TIMESTAMP_LO);
		after = ktime_get_ns();
		local_irq_restore(flags);
		if (after - before >= args->error_ns)
			continue;
		args->error_ns = after - before;
		args->cpu_ns = before + (after - before) / 2;
		args->device = device;
	}
	return 0;
}
