// SPDX-License-Identifier: MIT
/*
 * Buffers of the in-process device.
 *
 * A created buffer is anonymous memory, for which the kernel uses huge pages and which needs no
 * file descriptor. A memfd replaces it at the same address when it is exported: descriptors for
 * all buffers could exceed the process's limit, and shared memory has small pages on most
 * systems. So the first export copies the buffer; after that all users share the memfd's
 * memory, and nothing is copied again. The buffer must not be written to during that call.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "sw.h"

#ifndef DMA_BUF_MAGIC
#define DMA_BUF_MAGIC 0x444d4142
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#define HUGE_PAGE	(2ull << 20)

static struct sw_bo *to_sw_bo(struct accel_bo *bo)
{
	return (struct sw_bo *)bo;
}

/* Zeroed memory; large buffers are aligned to huge pages, unless they are lazy. */
static void *map_anonymous(size_t size, bool lazy)
{
	const size_t slack = size >= HUGE_PAGE && !lazy ? HUGE_PAGE : 0;
	uintptr_t start, end, at;
	void *p;

	p = mmap(NULL, size + slack, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED && lazy)
		madvise(p, size, MADV_NOHUGEPAGE);
	if (p == MAP_FAILED || !slack)
		return p;
	start = (uintptr_t)p;
	end = start + size + slack;
	at = (start + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	if (at > start)
		munmap(p, at - start);
	if (end > at + size)
		munmap((void *)(at + size), end - at - size);
	/* Huge pages are optional. */
	madvise((void *)at, size, MADV_HUGEPAGE);
	return (void *)at;
}

static void bo_init(struct accel_bo *bo)
{
	pthread_mutex_init(&to_sw_bo(bo)->lock, NULL);
	to_sw_bo(bo)->fd = -1;
}

int sw_bo_create(struct accel_bo *bo, const char *label)
{
	struct accel_ctx *ctx = bo->ctx;
	void *p;
	int ret;

	(void)label;
	p = map_anonymous(bo->map_size, bo->flags & ACCEL_BO_LAZY);
	if (p == MAP_FAILED)
		return ctx_fail(ctx, -ENOMEM, "bytes", "no memory for %llu bytes",
				(unsigned long long)bo->map_size);
	bo->map_addr = (uintptr_t)p;
	bo->addr = bo->map_addr;
	bo->ptr = bo->flags & ACCEL_BO_NO_MAP ? NULL : p;
	ret = sw_bind(to_sw_ctx(ctx), bo->map_addr, bo->map_size, true);
	if (ret) {
		munmap(p, bo->map_size);
		return ctx_fail(ctx, ret, NULL, "out of memory");
	}
	bo_init(bo);
	return 0;
}

int sw_bo_import_ptr(struct accel_bo *bo, const char *label)
{
	int ret;

	ret = import_add(bo->ctx, bo->map_addr, bo->map_size,
			 bo->flags, label);
	if (!ret)
		bo_init(bo);
	return ret;
}

/*
 * The CPU is the device, so memory need not be pinned; but it must be mapped, and writable if
 * tasks write to it, before a thread of the device accesses it.
 */
int sw_user_pin(struct accel_ctx *ctx, uint64_t addr, uint64_t size, uint32_t flags,
		const char *label, uint64_t *handle)
{
	const bool write = !(flags & ACCEL_BO_READONLY);
	int ret;

	(void)label;
	*handle = 0;
	/* Check that it is mapped without reading it. */
	if (flags & ACCEL_BO_LAZY) {
		if (!msync((void *)(uintptr_t)addr, size, MS_ASYNC))
			return 0;
		return ctx_fail(ctx, -EFAULT, "ptr", "the range is not mapped");
	}
	do {
		ret = madvise((void *)(uintptr_t)addr, size,
			      write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
	} while (ret && (errno == EINTR || errno == EAGAIN));
	if (!ret)
		return 0;
	if (errno == ENOMEM && msync((void *)(uintptr_t)addr, size, MS_ASYNC) == 0)
		return ctx_fail(ctx, -ENOMEM, "bytes",
				"no memory for the pages of the range");
	/*
	 * EINVAL means that access is not allowed, or a kernel before 5.14; such a kernel only
	 * allows checking that the range is mapped.
	 */
	if (errno == EINVAL) {
		const uint64_t page = ctx->dev->info.page_size;
		void *probe = (void *)((uintptr_t)&ret & ~(uintptr_t)(page - 1));

		if (madvise(probe, 1, MADV_POPULATE_READ) && errno == EINVAL &&
		    !msync((void *)(uintptr_t)addr, size, MS_ASYNC))
			return 0;
	}
	return ctx_fail(ctx, -EFAULT, "ptr", write ?
			"the range is not mapped, or not writable" :
			"the range is not mapped, or not readable");
}

void sw_user_unpin(struct accel_ctx *ctx, uint64_t handle)
{
	(void)ctx;
	(void)handle;
}

int sw_user_map(struct accel_ctx *ctx, uint64_t handle, uint64_t offset,
		uint64_t addr, uint64_t size, bool write, bool replace)
{
	(void)handle;
	(void)offset;
	(void)replace;
	if (sw_bind(to_sw_ctx(ctx), addr, size, write))
		return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
	return 0;
}

void sw_user_unmap(struct accel_ctx *ctx, uint64_t addr, uint64_t size)
{
	sw_unbind(to_sw_ctx(ctx), addr, size, false);
}

/*
 * A memfd that could shrink would crash the process, so it must be sealed; a dma-buf cannot
 * shrink.
 */
static int check_fd(struct accel_ctx *ctx, int fd, uint64_t *size)
{
	struct statfs fs;
	struct stat st;
	int seals;
	off_t end;

	if (fstat(fd, &st))
		return ctx_fail(ctx, -errno, "fd", "%d is no descriptor", fd);
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0) {
		if (fstatfs(fd, &fs) || fs.f_type != DMA_BUF_MAGIC)
			return ctx_fail(ctx, -EINVAL, "fd",
					"neither a dma-buf nor a memfd");
	} else if (!(seals & F_SEAL_SHRINK)) {
		return ctx_fail(ctx, -EINVAL, "fd",
				"the memfd is not sealed against shrinking (F_SEAL_SHRINK)");
	}
	/*
	 * The file offset of a memfd belongs to its owner, so use fstat(). A dma-buf has no
	 * offset; its end is its size.
	 */
	end = seals < 0 ? lseek(fd, 0, SEEK_END) : st.st_size;
	if (end <= 0 || (uint64_t)end > ctx->dev->info.max_bo_size)
		return ctx_fail(ctx, -EINVAL, "fd", "its size is out of range");
	*size = end;
	return 0;
}

int sw_bo_import_dmabuf(struct accel_bo *bo, int fd, const char *label)
{
	const bool write = !(bo->flags & ACCEL_BO_READONLY);
	struct accel_ctx *ctx = bo->ctx;
	void *p;
	int ret;

	(void)label;
	ret = check_fd(ctx, fd, &bo->size);
	if (ret)
		return ret;
	bo->map_size = page_up(bo->size, ctx->dev->info.page_size);
	p = mmap(NULL, bo->map_size, write ? PROT_READ | PROT_WRITE : PROT_READ,
		 MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return ctx_fail(ctx, errno == ENOMEM ? -ENOMEM : -EOPNOTSUPP,
				"fd", "it cannot be mapped: %s",
				errno_text(errno));
	bo->map_addr = (uintptr_t)p;
	bo->addr = bo->map_addr;
	bo->ptr = p;
	ret = sw_bind(to_sw_ctx(ctx), bo->map_addr, bo->map_size, write);
	if (ret) {
		munmap(p, bo->map_size);
		return ctx_fail(ctx, ret, NULL, "out of memory");
	}
	bo_init(bo);
	return 0;
}

/* Replace the buffer's memory by a memfd with the same contents. */
static int make_memfd(struct accel_bo *bo)
{
	const size_t size = bo->map_size;
	size_t done = 0;
	ssize_t n;
	int fd, ret;
	void *p;

	fd = memfd_create("accel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, size))
		goto err;
	while (done < size) {
		n = pwrite(fd, (char *)(uintptr_t)bo->map_addr + done,
			   size - done, done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			goto err;
		done += n;
	}
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		goto err;
	p = mmap((void *)(uintptr_t)bo->map_addr, size, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, 0);
	if (p == MAP_FAILED)
		goto err;
	return fd;

err:
	/* tmpfs returns ENOSPC if out of memory */
	ret = errno == ENOSPC ? -ENOMEM : -errno;
	close(fd);
	return ret;
}

int sw_bo_export_dmabuf(struct accel_bo *base, int *out)
{
	struct sw_bo *bo = to_sw_bo(base);
	int fd = -1, ret = 0;

	pthread_mutex_lock(&bo->lock);
	if (bo->fd < 0)
		ret = make_memfd(base);
	if (ret > 0 || bo->fd >= 0) {
		if (bo->fd < 0)
			bo->fd = ret;
		fd = fcntl(bo->fd, F_DUPFD_CLOEXEC, 0);
		ret = fd < 0 ? -errno : 0;
	}
	pthread_mutex_unlock(&bo->lock);
	if (ret)
		return ctx_fail(base->ctx, ret, "bo",
				"no descriptor for it: %s", errno_text(-ret));
	*out = fd;
	return 0;
}

/* The caches are those of the CPU, so there is nothing to do. */
int sw_bo_sync(struct accel_bo *bo, uint64_t offset, uint64_t bytes,
	       uint32_t flags, bool end)
{
	(void)bo;
	(void)offset;
	(void)bytes;
	(void)flags;
	(void)end;
	return 0;
}

void sw_bo_destroy(struct accel_bo *base)
{
	struct sw_bo *bo = to_sw_bo(base);

	if (base->kind == BO_USER)
		import_remove(base->ctx, base->map_addr, base->map_size);
	else
		sw_unbind(to_sw_ctx(base->ctx), base->map_addr, base->map_size,
			  true);
	if (bo->fd >= 0)
		close(bo->fd);
	pthread_mutex_destroy(&bo->lock);
}
