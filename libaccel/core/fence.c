// SPDX-License-Identifier: MIT
/*
 * Fences: the outcome of jobs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "libaccel/backend/backend.h"

void fence_init(struct accel_fence *fence, struct accel_ctx *ctx)
{
	atomic_init(&fence->refs, 1);
	fence->ctx = ctx_ref(ctx);
	fence->id = device_next_id(ctx->dev);
}

struct accel_fence *accel_fence_ref(struct accel_fence *fence)
{
	if (fence)
		atomic_fetch_add_explicit(&fence->refs, 1, memory_order_relaxed);
	return fence;
}

void accel_fence_unref(struct accel_fence *fence)
{
	struct accel_ctx *ctx;

	if (!fence || atomic_fetch_sub_explicit(&fence->refs, 1,
						memory_order_acq_rel) != 1)
		return;
	ctx = fence->ctx;
	ctx->dev->ops->fence_destroy(fence);
	ctx_unref(ctx);
}

static void fence_get(struct accel_fence *fence, struct accel_fence_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->op_index = UINT32_MAX;
	fence->ctx->dev->ops->fence_info(fence, info);
}

int accel_fence_wait(struct accel_fence *fence, int64_t timeout_ns)
{
	struct accel_error error = { .size = sizeof(error) };
	struct accel_fence_info info;
	int ret;

	if (!fence)
		return -EINVAL;
	ret = fence->ctx->dev->ops->fence_wait(fence, timeout_ns);
	device_log(fence->ctx->dev, ACCEL_LOG_DEBUG, "fence %" PRIu64 ": %s",
		   fence->id, ret < 0 ? "not yet" : "done");
	if (ret != 0 && ret != 1)
		return ret;
	/* 1: done, and nothing went wrong: no need to look. */
	if (ret == 1)
		return 0;
	fence_get(fence, &info);
	if (!info.status)
		return 0;
	error.code = info.status;
	error.engine = info.engine;
	error.op_index = info.op_index;
	error.addr = info.addr;
	snprintf(error.text, sizeof(error.text), "%s", info.text);
	return ctx_set_error(fence->ctx, &error);
}

int accel_fence_get_info(struct accel_fence *fence,
			 struct accel_fence_info *out)
{
	struct accel_fence_info info;

	if (!fence)
		return -EINVAL;
	fence_get(fence, &info);
	return struct_out(out, &info, sizeof(info), sizeof(info));
}

int accel_fence_export_fd(struct accel_fence *fence, int *fd)
{
	if (!fence)
		return -EINVAL;
	if (!fd)
		return ctx_fail(fence->ctx, -EINVAL, "fd", "NULL");
	return fence->ctx->dev->ops->fence_export(fence, fd);
}

int accel_fence_import_fd(struct accel_ctx *ctx, int fd,
			  struct accel_fence **fence)
{
	if (!ctx)
		return -EINVAL;
	if (!fence)
		return ctx_fail(ctx, -EINVAL, "fence", "NULL");
	if (fd < 0)
		return ctx_fail(ctx, -EBADF, "fd", "%d is no descriptor", fd);
	return ctx->dev->ops->fence_import(ctx, fd, fence);
}

void fence_describe_fault(struct accel_fence_info *info, uint32_t op_index,
			  uint32_t task, const struct device_engine *engine,
			  uint32_t reason, uint32_t slot, uint64_t addr,
			  const char *field)
{
	char where[96] = "", at[64] = "";
	const char *operand = slot_name(slot);

	info->op_index = op_index;
	info->engine = engine ? engine->info.engine : 0;
	info->addr = addr;
	snprintf(info->reason, sizeof(info->reason), "%s", fault_name(reason));
	if (operand && field)
		snprintf(where, sizeof(where), ", operand %s, field %s", operand,
			 field);
	else if (operand)
		snprintf(where, sizeof(where), ", operand %s", operand);
	else if (field)
		snprintf(where, sizeof(where), ", field %s", field);
	if (addr)
		snprintf(at, sizeof(at), " at address 0x%" PRIx64, addr);
	if (op_index == UINT32_MAX)
		snprintf(info->text, sizeof(info->text), "a task faulted: %s%s%s",
			 info->reason, at, where);
	else if (engine)
		snprintf(info->text, sizeof(info->text),
			 "operation %u, task %u, faulted on %s %u: %s%s%s",
			 op_index, task, accel_engine_name(engine->info.engine),
			 engine->info.instance, info->reason, at, where);
	else
		snprintf(info->text, sizeof(info->text),
			 "operation %u, task %u, faulted: %s%s%s", op_index,
			 task, info->reason, at, where);
}

void fence_describe_status(struct accel_fence_info *info)
{
	const char *text = "";

	switch (info->status) {
	case 0:
		break;
	case -ETIME:
		text = "the job ran longer than its queue's timeout";
		break;
	case -ECANCELED:
		text = "the queue was banned or destroyed before the job ran";
		break;
	case -ENODEV:
		text = "the device is gone";
		break;
	case -EFAULT:
		text = "a task faulted";
		break;
	default:
		text = "the job failed";
		break;
	}
	snprintf(info->text, sizeof(info->text), "%s", text);
}
