// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of ioctl arguments that need no lookup, on the kernel's copy of them.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <kunit/visibility.h>

#include "uma_args.h"

/* A limit, as checking that the tails of longer elements are zero takes time. */
#define UMA_MAX_STRIDE	PAGE_SIZE

/**
 * uma_check_array - check the header of an array, which may be empty
 * @array: header
 * @min_size: size of the first version of an element
 * @max: most elements
 *
 * Return: 0; -EINVAL; -E2BIG the stride is above UMA_MAX_STRIDE.
 */
int uma_check_array(const struct drm_uma_array *array, size_t min_size, __u32 max)
{
	if (!array->count && !array->stride && !array->array)
		return 0;
	if (array->count > max || !array->count != !array->array)
		return -EINVAL;
	if (array->stride < min_size || array->stride % 8)
		return -EINVAL;
	return array->stride > UMA_MAX_STRIDE ? -E2BIG : 0;
}
EXPORT_SYMBOL_IF_KUNIT(uma_check_array);

/**
 * uma_copy_array - copy an array from user memory, once
 * @array: header that passed uma_check_array()
 * @size: size of an element in this kernel
 * @bad: out: index of the element that could not be copied, may be NULL
 *
 * Return: the elements, padded with zeros, to be freed with kvfree(), NULL if there are none;
 * -EFAULT; -E2BIG an element has a nonzero tail that this kernel does not know; -ENOMEM; -EINTR.
 */
void *uma_copy_array(const struct drm_uma_array *array, size_t size, __u32 *bad)
{
	const void __user *from = u64_to_user_ptr(array->array);
	void *elements;
	int ret;
	u32 i;

	if (!array->count)
		return NULL;
	elements = kvmalloc_array(array->count, size, GFP_KERNEL_ACCOUNT);
	if (!elements)
		return ERR_PTR(-ENOMEM);

	for (i = 0; i < array->count; i++) {
		ret = copy_struct_from_user(elements + i * size, size,
					    from + (size_t)i * array->stride, array->stride);
		ret = ret ?: uma_breathe();
		if (ret) {
			if (bad)
				*bad = i;
			kvfree(elements);
			return ERR_PTR(ret);
		}
	}
	return elements;
}

/* Check the size of a buffer. Returns 0 or -EINVAL. */
int uma_check_bo_size(__u64 size, __u64 max)
{
	return !size || !PAGE_ALIGNED(size) || size > max ? -EINVAL : 0;
}
EXPORT_SYMBOL_IF_KUNIT(uma_check_bo_size);

/*
 * Check a label, in any encoding in which control characters are bytes below 32: in debugfs a line
 * break would forge a line. Returns 0 or -EINVAL.
 */
int uma_check_label(const char *label, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		if ((unsigned char)label[i] < 0x20 || label[i] == 0x7f)
			return -EINVAL;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(uma_check_label);

/* Check a range to sync, except for its buffer. Returns 0 or -EINVAL. */
int uma_check_sync_range(const struct drm_uma_sync_range *range)
{
	if (!range->flags || (range->flags & ~(DRM_UMA_SYNC_TO_DEVICE | DRM_UMA_SYNC_TO_CPU)))
		return -EINVAL;
	return range->size ? 0 : -EINVAL;
}
EXPORT_SYMBOL_IF_KUNIT(uma_check_sync_range);

/* Check that a range lies inside of a buffer. Returns 0 or -EINVAL. */
int uma_check_bo_range(__u64 offset, __u64 size, __u64 bo_size)
{
	u64 end;

	return check_add_overflow(offset, size, &end) || end > bo_size ? -EINVAL : 0;
}
EXPORT_SYMBOL_IF_KUNIT(uma_check_bo_range);

/* Check an operation, except for its buffer. Returns 0 or -EINVAL. */
int uma_check_bind_op(const struct drm_uma_bind_op *op, const struct uma_va_range *range)
{
	u64 end;

	if (op->pad || !op->size)
		return -EINVAL;
	if (!PAGE_ALIGNED(op->va) || !PAGE_ALIGNED(op->size) || !PAGE_ALIGNED(op->bo_offset))
		return -EINVAL;
	if (check_add_overflow(op->va, op->size, &end) || op->va < range->start ||
	    end > range->end)
		return -EINVAL;

	switch (op->op) {
	case DRM_UMA_BIND_MAP:
		if (op->flags & ~DRM_UMA_BIND_READONLY)
			return -EINVAL;
		return check_add_overflow(op->bo_offset, op->size, &end) ? -EINVAL : 0;
	case DRM_UMA_BIND_UNMAP:
		return op->flags || op->handle || op->bo_offset ? -EINVAL : 0;
	default:
		return -EINVAL;
	}
}
EXPORT_SYMBOL_IF_KUNIT(uma_check_bind_op);

/* Check the arguments of a new queue, except for VM and engines. Returns 0 or -EINVAL. */
int uma_check_queue(const struct drm_uma_queue_create *args, __u32 max_timeout_ms)
{
	if (args->flags || args->pad || args->queue_id)
		return -EINVAL;
	if (args->engine_class >= UMA_ENGINE_CLASS_COUNT || !args->instances)
		return -EINVAL;
	if (args->priority > DRM_UMA_PRIORITY_REALTIME || args->timeout_ms > max_timeout_ms)
		return -EINVAL;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(uma_check_queue);

/* Check a job, except for its queue, syncs and buffers. Returns 0 or -EINVAL. */
int uma_check_job(const struct drm_uma_job *job, __u32 max_tasks, __u64 va_end)
{
	u64 end;

	if (!job->task_count)
		return job->tasks_addr || job->stamps_addr ? -EINVAL : 0;
	if (job->task_count > max_tasks || job->tasks_addr % UMA_TASK_ALIGN)
		return -EINVAL;
	if (check_add_overflow(job->tasks_addr, (u64)job->task_count * UMA_TASK_SIZE, &end) ||
	    end > va_end)
		return -EINVAL;
	if (job->stamps_addr % sizeof(struct uma_task_stamp))
		return -EINVAL;
	if (check_add_overflow(job->stamps_addr,
			       (u64)job->task_count * sizeof(struct uma_task_stamp), &end) ||
	    end > va_end)
		return -EINVAL;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(uma_check_job);

/* Check a sync of a job. Returns 0 or -EINVAL. */
int uma_check_sync(const struct drm_uma_sync *sync)
{
	bool signal = sync->flags & DRM_UMA_SYNC_SIGNAL;

	if ((sync->flags & ~DRM_UMA_SYNC_SIGNAL) || sync->pad)
		return -EINVAL;

	switch (sync->type) {
	case DRM_UMA_SYNC_BINARY:
		return sync->point ? -EINVAL : 0;
	case DRM_UMA_SYNC_TIMELINE:
		return signal && !sync->point ? -EINVAL : 0;
	default:
		return -EINVAL;
	}
}
EXPORT_SYMBOL_IF_KUNIT(uma_check_sync);

/*
 * Check the syncs of a job. Returns 0; -EINVAL one is invalid, or two signal the same binary
 * syncobj or point.
 */
int uma_check_syncs(const struct drm_uma_sync *syncs, __u32 count)
{
	u32 i, j;
	int ret;

	for (i = 0; i < count; i++) {
		ret = uma_check_sync(&syncs[i]);
		if (ret)
			return ret;
		if (!(syncs[i].flags & DRM_UMA_SYNC_SIGNAL))
			continue;
		for (j = 0; j < i; j++)
			if ((syncs[j].flags & DRM_UMA_SYNC_SIGNAL) &&
			    syncs[j].handle == syncs[i].handle &&
			    syncs[j].type == syncs[i].type && syncs[j].point == syncs[i].point)
				return -EINVAL;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(uma_check_syncs);
