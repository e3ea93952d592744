// SPDX-License-Identifier: MIT
/*
 * Buffers. The device address of a buffer is its CPU address, so a pointer
 * means the same on both sides.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "libaccel/backend/backend.h"

static int bo_opts(struct accel_ctx *ctx, const struct accel_bo_opts *opts,
		   uint32_t allowed, struct accel_bo_opts *o)
{
	int ret;

	memset(o, 0, sizeof(*o));
	if (!opts)
		return 0;
	ret = opts_in(ctx, o, sizeof(*o), opts);
	if (ret)
		return ret;
	if (o->flags & ~allowed)
		return ctx_fail(ctx, -EINVAL, "opts.flags",
				"flags 0x%x are unknown or not for this call",
				o->flags & ~allowed);
	if ((o->flags & ACCEL_BO_WC) && (o->flags & ACCEL_BO_NO_MAP))
		return ctx_fail(ctx, -EINVAL, "opts.flags",
				"a buffer without CPU mapping cannot be write-combined");
	return 0;
}

static struct accel_bo *bo_new(struct accel_ctx *ctx, enum bo_kind kind,
			       uint32_t flags)
{
	struct accel_bo *bo = calloc(1, ctx->dev->ops->bo_size);

	if (!bo) {
		ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
		return NULL;
	}
	atomic_init(&bo->refs, 1);
	bo->kind = kind;
	bo->ctx = ctx_ref(ctx);
	bo->id = device_next_id(ctx->dev);
	bo->flags = flags;
	return bo;
}

static int bo_finish(struct accel_bo *bo, int ret, struct accel_bo **out)
{
	struct accel_ctx *ctx = bo->ctx;

	if (ret) {
		free(bo);
		ctx_unref(ctx);
		return ret;
	}
	ctx_account(ctx, bo, true);
	device_log(ctx->dev, ACCEL_LOG_DEBUG,
		   "buffer %" PRIu64 ": %" PRIu64 " bytes at 0x%" PRIx64,
		   bo->id, bo->size, bo->addr);
	*out = bo;
	return 0;
}

int accel_bo_create(struct accel_ctx *ctx, uint64_t bytes,
		    const struct accel_bo_opts *opts, struct accel_bo **out)
{
	const struct accel_device_info *info;
	struct accel_bo_opts o;
	struct accel_bo *bo;
	int ret;

	if (!ctx)
		return -EINVAL;
	if (!out)
		return ctx_fail(ctx, -EINVAL, "bo", "NULL");
	info = &ctx->dev->info;
	ret = bo_opts(ctx, opts, ACCEL_BO_WC | ACCEL_BO_NO_MAP | ACCEL_BO_LAZY, &o);
	if (ret)
		return ret;
	if (!bytes || bytes > info->max_bo_size)
		return ctx_fail(ctx, -EINVAL, "bytes",
				"%" PRIu64 " is not from 1 to %" PRIu64,
				bytes, info->max_bo_size);
	bo = bo_new(ctx, BO_CREATED, o.flags);
	if (!bo)
		return -ENOMEM;
	bo->size = bytes;
	bo->map_size = page_up(bytes, info->page_size);
	return bo_finish(bo, ctx->dev->ops->bo_create(bo, o.label), out);
}

int bo_absent(struct accel_ctx *ctx, uint64_t bytes, struct accel_bo **out)
{
	struct accel_bo *bo = bo_new(ctx, BO_ABSENT, ACCEL_BO_NO_MAP);

	if (!bo)
		return -ENOMEM;
	bo->size = bytes;
	/* Aligned as well as any; nothing is there. */
	bo->addr = ctx->dev->info.page_size;
	*out = bo;
	return 0;
}

int accel_bo_import_ptr(struct accel_ctx *ctx, void *ptr, uint64_t bytes,
			const struct accel_bo_opts *opts, struct accel_bo **out)
{
	const struct accel_device_info *info;
	uint64_t addr = (uintptr_t)ptr, end;
	struct accel_bo_opts o;
	struct accel_bo *bo;
	int ret;

	if (!ctx)
		return -EINVAL;
	if (!out)
		return ctx_fail(ctx, -EINVAL, "bo", "NULL");
	info = &ctx->dev->info;
	ret = bo_opts(ctx, opts, ACCEL_BO_READONLY | ACCEL_BO_LAZY, &o);
	if (ret)
		return ret;
	if ((o.flags & ACCEL_BO_LAZY) && !(o.flags & ACCEL_BO_READONLY))
		return ctx_fail(ctx, -EINVAL, "opts.flags",
				"what is written to is not imported lazily");
	if (!ptr)
		return ctx_fail(ctx, -EFAULT, "ptr", "NULL");
	if (!bytes || bytes > info->max_bo_size)
		return ctx_fail(ctx, -EINVAL, "bytes",
				"%" PRIu64 " is not from 1 to %" PRIu64,
				bytes, info->max_bo_size);
	if (__builtin_add_overflow(addr, bytes, &end) ||
	    end > UINT64_MAX - info->page_size)
		return ctx_fail(ctx, -EFAULT, "bytes",
				"the range leaves the address space");
	bo = bo_new(ctx, BO_USER, o.flags);
	if (!bo)
		return -ENOMEM;
	bo->size = bytes;
	bo->addr = addr;
	bo->ptr = ptr;
	bo->map_addr = page_down(addr, info->page_size);
	bo->map_size = page_up(end, info->page_size) - bo->map_addr;
	return bo_finish(bo, ctx->dev->ops->bo_import_ptr(bo, o.label), out);
}

int accel_bo_import_dmabuf(struct accel_ctx *ctx, int fd,
			   const struct accel_bo_opts *opts,
			   struct accel_bo **out)
{
	struct accel_bo_opts o;
	struct accel_bo *bo;
	int ret;

	if (!ctx)
		return -EINVAL;
	if (!out)
		return ctx_fail(ctx, -EINVAL, "bo", "NULL");
	ret = bo_opts(ctx, opts, ACCEL_BO_READONLY, &o);
	if (ret)
		return ret;
	if (fd < 0)
		return ctx_fail(ctx, -EBADF, "fd", "%d is no descriptor", fd);
	bo = bo_new(ctx, BO_DMABUF, o.flags);
	if (!bo)
		return -ENOMEM;
	return bo_finish(bo, ctx->dev->ops->bo_import_dmabuf(bo, fd, o.label),
			 out);
}

int accel_bo_export_dmabuf(struct accel_bo *bo, int *fd)
{
	if (!bo)
		return -EINVAL;
	if (!fd)
		return ctx_fail(bo->ctx, -EINVAL, "fd", "NULL");
	if (bo->kind != BO_CREATED)
		return ctx_fail(bo->ctx, -EOPNOTSUPP, "bo",
				"only a created buffer can be exported, not %s",
				bo->kind == BO_PART ? "a part of a pool" :
						      "an import");
	return bo->ctx->dev->ops->bo_export_dmabuf(bo, fd);
}

struct accel_bo *accel_bo_ref(struct accel_bo *bo)
{
	if (bo)
		atomic_fetch_add_explicit(&bo->refs, 1, memory_order_relaxed);
	return bo;
}

void accel_bo_unref(struct accel_bo *bo)
{
	struct accel_ctx *ctx;

	if (!bo || atomic_fetch_sub_explicit(&bo->refs, 1,
					     memory_order_acq_rel) != 1)
		return;
	ctx = bo->ctx;
	device_log(ctx->dev, ACCEL_LOG_DEBUG, "buffer %" PRIu64 ": freed",
		   bo->id);
	if (bo->kind != BO_ABSENT)
		ctx_account(ctx, bo, false);
	if (bo->kind == BO_PART)
		pool_part_release(bo);
	else if (bo->kind != BO_ABSENT)
		ctx->dev->ops->bo_destroy(bo);
	free(bo);
	ctx_unref(ctx);
}

void *accel_bo_ptr(const struct accel_bo *bo)
{
	return bo ? bo->ptr : NULL;
}

uint64_t accel_bo_size(const struct accel_bo *bo)
{
	return bo ? bo->size : 0;
}

static int bo_access(struct accel_bo *bo, uint64_t offset, uint64_t bytes,
		     uint32_t flags, bool end)
{
	if (!bo)
		return -EINVAL;
	if (!flags || flags & ~(ACCEL_CPU_READ | ACCEL_CPU_WRITE))
		return ctx_fail(bo->ctx, -EINVAL, "flags",
				"0x%x is not ACCEL_CPU_READ, _WRITE or both",
				flags);
	if (offset > bo->size)
		return ctx_fail(bo->ctx, -EINVAL, "offset",
				"%" PRIu64 " is past the %" PRIu64 " bytes of the buffer",
				offset, bo->size);
	if (bytes > bo->size - offset)
		return ctx_fail(bo->ctx, -EINVAL, "bytes",
				"offset %" PRIu64 " plus %" PRIu64 " is past the %" PRIu64 " bytes of the buffer",
				offset, bytes, bo->size);
	if (bo->kind == BO_ABSENT)
		return ctx_fail(bo->ctx, -ENODATA, "bo", "its contents are not there");
	if (!bytes)
		return 0;
	return bo->ctx->dev->ops->bo_sync(bo, offset, bytes, flags, end);
}

int accel_bo_cpu_begin(struct accel_bo *bo, uint64_t offset, uint64_t bytes,
		       uint32_t flags)
{
	return bo_access(bo, offset, bytes, flags, false);
}

int accel_bo_cpu_end(struct accel_bo *bo, uint64_t offset, uint64_t bytes,
		     uint32_t flags)
{
	return bo_access(bo, offset, bytes, flags, true);
}
