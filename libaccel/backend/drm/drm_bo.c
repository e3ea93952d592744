// SPDX-License-Identifier: MIT
/*
 * Buffers of the kernel driver. A buffer is mapped for the CPU first, wherever
 * the kernel likes, and then bound for the device at the same address; one that
 * the CPU does not see gets an address that nothing else can have.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xf86drm.h>
#include "backend_drm.h"

static struct drm_bo *to_drm_bo(struct accel_bo *bo)
{
	return (struct drm_bo *)bo;
}

/* --- handles -------------------------------------------------------------- */

/* With the lock. */
static int handle_ref(struct drm_device *dev, uint32_t handle)
{
	uint32_t cap = dev->handle_cap ? dev->handle_cap : 64, *grown;

	while (cap <= handle)
		cap *= 2;
	if (cap != dev->handle_cap) {
		grown = realloc(dev->handle_refs, cap * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memset(grown + dev->handle_cap, 0,
		       (cap - dev->handle_cap) * sizeof(*grown));
		dev->handle_refs = grown;
		dev->handle_cap = cap;
	}
	dev->handle_refs[handle]++;
	return 0;
}

static int handle_track(struct drm_device *dev, uint32_t handle)
{
	int ret;

	pthread_mutex_lock(&dev->lock);
	ret = handle_ref(dev, handle);
	pthread_mutex_unlock(&dev->lock);
	if (ret)
		drmCloseBufferHandle(dev->fd, handle);
	return ret;
}

static void handle_put(struct drm_device *dev, uint32_t handle)
{
	pthread_mutex_lock(&dev->lock);
	if (!--dev->handle_refs[handle])
		drmCloseBufferHandle(dev->fd, handle);
	pthread_mutex_unlock(&dev->lock);
}

/* The same buffer gives the same handle, so the lock is held over both steps. */
static int handle_import(struct drm_device *dev, int fd, uint32_t *handle)
{
	int ret;

	pthread_mutex_lock(&dev->lock);
	ret = drmPrimeFDToHandle(dev->fd, fd, handle) ? -errno : 0;
	if (!ret) {
		ret = handle_ref(dev, *handle);
		if (ret && (*handle >= dev->handle_cap ||
			    !dev->handle_refs[*handle]))
			drmCloseBufferHandle(dev->fd, *handle);
	}
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

/* Names are for people: what the driver does not take is left out. */
static void set_label(struct accel_ctx *ctx, uint32_t handle, const char *label)
{
	struct drm_device *dev = ctx_drm(ctx);
	struct drm_uma_bo_label l = { .handle = handle };
	int ret;

	if (!label || !*label)
		return;
	l.size = strnlen(label, dev->limits.max_label);
	l.label = (uintptr_t)label;
	ret = drm_call(dev->fd, DRM_IOCTL_UMA_BO_LABEL, &l);
	if (ret)
		device_log(ctx->dev, ACCEL_LOG_WARN,
			   "the driver does not take the label: %s",
			   errno_text(-ret));
}

/* --- bindings ------------------------------------------------------------- */

static int vm_bind(struct accel_ctx *ctx, struct drm_uma_bind_op *ops,
		   uint32_t count)
{
	struct drm_uma_vm_bind bind = {
		.vm_id = to_drm_ctx(ctx)->vm_id,
		.ops = { sizeof(*ops), count, (uintptr_t)ops },
	};

	return drm_call(ctx_drm(ctx)->fd, DRM_IOCTL_UMA_VM_BIND, &bind);
}

static int vm_map(struct accel_ctx *ctx, uint32_t handle, uint64_t offset,
		  uint64_t addr, uint64_t size, bool write, bool replace)
{
	const struct drm_uma_query_limits *limits = &ctx_drm(ctx)->limits;
	struct drm_uma_bind_op ops[2] = {
		{ .op = DRM_UMA_BIND_UNMAP, .va = addr, .size = size },
		{
			.op = DRM_UMA_BIND_MAP, .handle = handle,
			.flags = write ? 0 : DRM_UMA_BIND_READONLY,
			.bo_offset = offset, .va = addr, .size = size,
		},
	};
	int ret;

	if (addr < limits->va_start || addr > limits->va_end ||
	    size > limits->va_end - addr)
		return ctx_fail(ctx, -EOPNOTSUPP, NULL,
				"the device cannot reach address 0x%" PRIx64,
				addr);
	if (replace)
		ret = vm_bind(ctx, ops, 2);
	else
		ret = vm_bind(ctx, &ops[1], 1);
	/* There is no code of its own for "too many mappings". */
	if (ret == -ENOSPC)
		return ctx_fail(ctx, -ENOMEM, NULL,
				"the context has as many buffers as the device can map (%u)",
				limits->max_mappings);
	if (ret)
		return ctx_fail(ctx, ret, NULL, "binding failed: %s",
				errno_text(-ret));
	return 0;
}

static void vm_unmap(struct accel_ctx *ctx, uint64_t addr, uint64_t size)
{
	struct drm_uma_bind_op op = {
		.op = DRM_UMA_BIND_UNMAP, .va = addr, .size = size,
	};
	int ret;

	ret = vm_bind(ctx, &op, 1);
	if (ret && ret != -ENODEV)
		device_log(ctx->dev, ACCEL_LOG_WARN, "unbinding failed: %s",
			   errno_text(-ret));
}

/*
 * Addresses that nothing else in the process has; at a multiple of the device's
 * large page if the buffer is as large.
 */
static void *reserve(struct accel_ctx *ctx, size_t size)
{
	const uint64_t block = ctx_drm(ctx)->block_size;
	const size_t slack = block && size >= block ? block : 0;
	uintptr_t start, at;
	void *p;

	p = mmap(NULL, size + slack, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED || !slack)
		return p;
	start = (uintptr_t)p;
	at = (start + block - 1) & ~(uintptr_t)(block - 1);
	if (at > start)
		munmap(p, at - start);
	if (start + slack > at)
		munmap((void *)(at + size), start + slack - at);
	return (void *)at;
}

static int bo_place(struct accel_bo *bo, uint32_t handle, void *p, bool cpu,
		    bool write)
{
	int ret;

	bo->map_addr = (uintptr_t)p;
	bo->addr = bo->map_addr;
	bo->ptr = cpu ? p : NULL;
	to_drm_bo(bo)->handle = handle;
	ret = vm_map(bo->ctx, handle, 0, bo->addr, bo->map_size, write, false);
	if (ret)
		munmap(p, bo->map_size);
	return ret;
}

/* --- buffers -------------------------------------------------------------- */

static int map_created(struct accel_bo *bo, uint32_t handle, void *at)
{
	struct drm_uma_bo_mmap_offset off = { .handle = handle };
	const int fd = ctx_drm(bo->ctx)->fd;
	int ret;

	if (bo->flags & ACCEL_BO_NO_MAP)
		return 0;
	ret = drm_call(fd, DRM_IOCTL_UMA_BO_MMAP_OFFSET, &off);
	if (ret)
		return ret;
	if (mmap(at, bo->map_size, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, off.offset) == MAP_FAILED)
		return -errno;
	return 0;
}

int drm_bo_create(struct accel_bo *bo, const char *label)
{
	struct drm_uma_bo_create create = { .size = bo->map_size };
	struct accel_ctx *ctx = bo->ctx;
	struct drm_device *dev = ctx_drm(ctx);
	void *p;
	int ret;

	if (bo->flags & ACCEL_BO_WC)
		create.flags |= DRM_UMA_BO_WC;
	if (bo->flags & ACCEL_BO_NO_MAP)
		create.flags |= DRM_UMA_BO_NO_MMAP;
	ret = drm_call(dev->fd, DRM_IOCTL_UMA_BO_CREATE, &create);
	if (!ret)
		ret = handle_track(dev, create.handle);
	if (ret)
		return ctx_fail(ctx, ret, NULL, "no buffer of %" PRIu64 " bytes: %s",
				bo->map_size, errno_text(-ret));
	p = reserve(ctx, bo->map_size);
	ret = p == MAP_FAILED ? -errno : map_created(bo, create.handle, p);
	if (ret) {
		ctx_fail(ctx, ret, NULL, "the buffer cannot be mapped: %s",
			 errno_text(-ret));
		goto err_unmap;
	}
	set_label(ctx, create.handle, label);
	ret = bo_place(bo, create.handle, p, !(bo->flags & ACCEL_BO_NO_MAP),
		       true);
	if (ret)
		goto err_handle;
	return 0;

err_unmap:
	if (p != MAP_FAILED)
		munmap(p, bo->map_size);
err_handle:
	handle_put(dev, create.handle);
	return ret;
}

int drm_bo_import_dmabuf(struct accel_bo *bo, int fd, const char *label)
{
	const bool write = !(bo->flags & ACCEL_BO_READONLY);
	struct accel_ctx *ctx = bo->ctx;
	struct drm_device *dev = ctx_drm(ctx);
	bool cpu = true;
	uint32_t handle;
	off_t end;
	void *p;
	int ret;

	ret = handle_import(dev, fd, &handle);
	if (ret == -EBADF || ret == -EINVAL)
		return ctx_fail(ctx, ret, "fd", "%d is no dma-buf", fd);
	if (ret)
		return ctx_fail(ctx, ret == -ENOMEM || ret == -ENODEV ? ret :
				-EOPNOTSUPP, "fd",
				"the device cannot use its memory: %s",
				errno_text(-ret));
	end = lseek(fd, 0, SEEK_END);
	lseek(fd, 0, SEEK_SET);
	if (end <= 0 || (uint64_t)end > dev->limits.max_bo_size ||
	    end % dev->base.info.page_size) {
		ret = ctx_fail(ctx, -EOPNOTSUPP, "fd",
			       "its size cannot be bound");
		goto err_handle;
	}
	bo->size = bo->map_size = end;
	p = mmap(NULL, end, write ? PROT_READ | PROT_WRITE : PROT_READ,
		 MAP_SHARED, fd, 0);
	if (p == MAP_FAILED && errno == EACCES) {
		ret = ctx_fail(ctx, -EOPNOTSUPP, "fd", "it cannot be mapped: %s",
			       errno_text(EACCES));
		goto err_handle;
	}
	if (p == MAP_FAILED) {
		/* Not everybody lets the CPU see their memory. */
		cpu = false;
		p = reserve(ctx, end);
	}
	if (p == MAP_FAILED) {
		ret = ctx_fail(ctx, -errno, NULL, "no addresses for it");
		goto err_handle;
	}
	set_label(ctx, handle, label);
	ret = bo_place(bo, handle, p, cpu, write);
	if (ret)
		goto err_handle;
	return 0;

err_handle:
	handle_put(dev, handle);
	return ret;
}

int drm_bo_export_dmabuf(struct accel_bo *bo, int *out)
{
	int fd;

	if (drmPrimeHandleToFD(ctx_drm(bo->ctx)->fd, to_drm_bo(bo)->handle,
			       DRM_CLOEXEC | DRM_RDWR, &fd))
		return ctx_fail(bo->ctx, -errno, "bo", "it cannot be exported: %s",
				errno_text(errno));
	*out = fd;
	return 0;
}

void drm_bo_destroy(struct accel_bo *bo)
{
	if (bo->kind == BO_USER) {
		import_remove(bo->ctx, bo->map_addr, bo->map_size);
		return;
	}
	/* In this order: who gets the address next must find it free. */
	vm_unmap(bo->ctx, bo->map_addr, bo->map_size);
	munmap((void *)(uintptr_t)bo->map_addr, bo->map_size);
	handle_put(ctx_drm(bo->ctx), to_drm_bo(bo)->handle);
}

/* --- user memory ---------------------------------------------------------- */

int drm_bo_import_ptr(struct accel_bo *bo, const char *label)
{
	return import_add(bo->ctx, bo->map_addr, bo->map_size,
			  bo->flags, label);
}

int drm_user_pin(struct accel_ctx *ctx, uint64_t addr, uint64_t size,
		 uint32_t flags, const char *label, uint64_t *handle)
{
	const bool write = !(flags & ACCEL_BO_READONLY);
	struct drm_uma_bo_import_user import = {
		.addr = addr, .size = size,
		.flags = write ? 0 : DRM_UMA_USER_READONLY,
	};
	struct drm_device *dev = ctx_drm(ctx);
	const char *why;
	int ret;

	ret = drm_call(dev->fd, DRM_IOCTL_UMA_BO_IMPORT_USER, &import);
	if (!ret)
		ret = handle_track(dev, import.handle);
	switch (ret) {
	case 0:
		set_label(ctx, import.handle, label);
		*handle = import.handle;
		return 0;
	case -EFAULT:
		why = write ? "the range is not mapped, or not writable" :
			      "the range is not mapped, or not readable";
		break;
	case -EOPNOTSUPP:
		why = "memory of this kind cannot be pinned";
		break;
	case -ENOMEM:
		why = "out of memory, or more than RLIMIT_MEMLOCK allows";
		break;
	default:
		why = errno_text(-ret);
		break;
	}
	return ctx_fail(ctx, ret, "ptr", "%s", why);
}

void drm_user_unpin(struct accel_ctx *ctx, uint64_t handle)
{
	handle_put(ctx_drm(ctx), handle);
}

int drm_user_map(struct accel_ctx *ctx, uint64_t handle, uint64_t offset,
		 uint64_t addr, uint64_t size, bool write, bool replace)
{
	return vm_map(ctx, handle, offset, addr, size, write, replace);
}

void drm_user_unmap(struct accel_ctx *ctx, uint64_t addr, uint64_t size)
{
	vm_unmap(ctx, addr, size);
}

/* --- caches --------------------------------------------------------------- */

struct sync_args {
	struct accel_ctx *ctx;
	uint32_t flags;
};

static int sync_range(void *user, uint64_t handle, uint64_t offset,
		      uint64_t size)
{
	const struct sync_args *args = user;
	struct drm_uma_sync_range range = {
		.handle = handle, .flags = args->flags, .offset = offset,
		.size = size,
	};
	struct drm_uma_bo_sync sync = {
		.ranges = { sizeof(range), 1, (uintptr_t)&range },
	};
	int ret;

	ret = drm_call(ctx_drm(args->ctx)->fd, DRM_IOCTL_UMA_BO_SYNC, &sync);
	if (ret)
		return ctx_fail(args->ctx, ret, NULL, "syncing failed: %s",
				errno_text(-ret));
	return 0;
}

int drm_bo_sync(struct accel_bo *bo, uint64_t offset, uint64_t bytes,
		uint32_t flags, bool end)
{
	struct sync_args args = { .ctx = bo->ctx };
	struct accel_bo *owner = bo;

	if (bo->ctx->dev->info.flags & ACCEL_DEVICE_COHERENT)
		return 0;
	/* Before the CPU writes part of a cache line it must have the rest. */
	if (!end)
		args.flags = DRM_UMA_SYNC_TO_CPU;
	else if (flags & ACCEL_CPU_WRITE)
		args.flags = DRM_UMA_SYNC_TO_DEVICE;
	else
		return 0;
	if (bo->kind == BO_USER)
		return import_for_each(bo->ctx, bo->addr + offset, bytes,
				       sync_range, &args);
	if (bo->kind == BO_PART)
		owner = pool_bo(bo->pool);
	return sync_range(&args, to_drm_bo(owner)->handle,
			  bo->addr - owner->addr + offset, bytes);
}
