/* SPDX-License-Identifier: MIT */
/*
 * Buffers: memory that CPU and device share.
 */
#ifndef ACCEL_BUFFER_H
#define ACCEL_BUFFER_H

#include <stddef.h>
#include <stdint.h>
#include <accel/context.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct accel_bo;

/** ACCEL_BO_WC: write-combined CPU mapping, for data that the CPU only writes */
#define ACCEL_BO_WC		(1u << 0)
/** ACCEL_BO_NO_MAP: not mapped for the CPU: accel_bo_ptr() is NULL */
#define ACCEL_BO_NO_MAP		(1u << 1)
/** ACCEL_BO_READONLY: imports only: the device may only read */
#define ACCEL_BO_READONLY	(1u << 2)
/**
 * ACCEL_BO_LAZY: of an import, with ACCEL_BO_READONLY, for memory of the process: pages are not
 * faulted in by the import, but when they are used, so that only those parts of a mapped file are
 * read. Of a created buffer: a sparse use is expected, so the in-process device asks for
 * small pages, each of which takes memory when it is first written
 */
#define ACCEL_BO_LAZY		(1u << 3)

/**
 * struct accel_bo_opts - options of buffers
 */
struct accel_bo_opts {
	/** @size: sizeof(struct accel_bo_opts) */
	uint32_t size;
	/** @flags: ACCEL_BO_* */
	uint32_t flags;
	/** @label: name shown by tools, NULL: none */
	const char *label;
};

/** ACCEL_BO_OPTS_INIT: default options */
#define ACCEL_BO_OPTS_INIT	{ sizeof(struct accel_bo_opts), 0, NULL }

/**
 * accel_bo_create - allocate zeroed memory that CPU and device share
 * @ctx: context
 * @bytes: size, rounded up to whole pages
 * @opts: options, or NULL
 * @bo: out
 *
 * The device address of a buffer is its CPU address.
 *
 * Return: 0; -EINVAL @bytes 0 or above max_bo_size, flags; -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_bo_create(struct accel_ctx *ctx, uint64_t bytes,
			      const struct accel_bo_opts *opts,
			      struct accel_bo **bo);

/**
 * accel_bo_import_ptr - let the device use memory of the process in place
 * @ctx: context
 * @ptr: first byte, any alignment
 * @bytes: size, not 0
 * @opts: options, or NULL
 * @bo: out
 *
 * The pages of the range are pinned until the buffer is released; the memory must stay mapped
 * until then. Ranges that share pages may be imported separately. Nothing is copied.
 *
 * With ACCEL_BO_LAZY the caller must ensure that the range is readable, and that a mapped
 * file is not truncated. The flag has no effect for a device of a kernel driver, which cannot
 * wait for a page: the import pins the range, and so reads it. Import the tensors that are
 * used rather than whole files.
 *
 * Return: 0; -EINVAL size, flags; -EFAULT not mapped, or not writable without
 * ACCEL_BO_READONLY; -EOPNOTSUPP memory that cannot be pinned; -ENOMEM also
 * RLIMIT_MEMLOCK; -ENODEV.
 */
ACCEL_API int accel_bo_import_ptr(struct accel_ctx *ctx, void *ptr,
				  uint64_t bytes,
				  const struct accel_bo_opts *opts,
				  struct accel_bo **bo);

/**
 * accel_bo_import_dmabuf - use a dma-buf of another device or context
 * @ctx: context
 * @fd: dma-buf; remains owned by the caller
 * @opts: options, or NULL
 * @bo: out
 *
 * Return: 0; -EBADF, -EINVAL not a dma-buf; -EOPNOTSUPP its memory cannot be
 * mapped by this device, or may only be read, which takes ACCEL_BO_READONLY;
 * -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_bo_import_dmabuf(struct accel_ctx *ctx, int fd,
				     const struct accel_bo_opts *opts,
				     struct accel_bo **bo);

/**
 * accel_bo_export_dmabuf - export a buffer as a dma-buf
 * @bo: created buffer, not an import or a part of a pool
 * @fd: out: dma-buf (in process: a memfd that accel_bo_import_dmabuf() of the
 *	in-process device and mmap take), close-on-exec
 *
 * In process the first export moves the buffer's memory to the memfd, at the
 * same address: it must not be written during the call.
 *
 * Return: 0; -EOPNOTSUPP an import or a part; -EMFILE; -ENOMEM.
 */
ACCEL_API int accel_bo_export_dmabuf(struct accel_bo *bo, int *fd);

/**
 * accel_bo_ref - take another reference
 * @bo: buffer
 *
 * Return: @bo.
 */
ACCEL_API struct accel_bo *accel_bo_ref(struct accel_bo *bo);

/**
 * accel_bo_unref - drop a reference
 * @bo: buffer, or NULL
 *
 * Jobs that use it keep it until they have finished.
 */
ACCEL_API void accel_bo_unref(struct accel_bo *bo);

/**
 * accel_bo_ptr - CPU address of a buffer
 * @bo: buffer
 *
 * Return: address, NULL for ACCEL_BO_NO_MAP.
 */
ACCEL_API void *accel_bo_ptr(const struct accel_bo *bo);

/**
 * accel_bo_size - size of a buffer in bytes
 * @bo: buffer
 *
 * Return: size as requested, not rounded.
 */
ACCEL_API uint64_t accel_bo_size(const struct accel_bo *bo);

/** ACCEL_CPU_READ: the CPU will read */
#define ACCEL_CPU_READ		(1u << 0)
/** ACCEL_CPU_WRITE: the CPU will write */
#define ACCEL_CPU_WRITE		(1u << 1)

/**
 * accel_bo_cpu_begin - begin access of the CPU to a buffer that a device wrote
 * @bo: buffer
 * @offset: first byte
 * @bytes: size
 * @flags: ACCEL_CPU_*
 *
 * Does not wait: wait for the fence first. A no-op on coherent devices.
 *
 * Return: 0; -EINVAL a range outside the buffer, flags; -ENODEV.
 */
ACCEL_API int accel_bo_cpu_begin(struct accel_bo *bo, uint64_t offset,
				 uint64_t bytes, uint32_t flags);

/**
 * accel_bo_cpu_end - end access of the CPU to a buffer, before a job uses it
 * @bo: buffer
 * @offset: first byte
 * @bytes: size
 * @flags: ACCEL_CPU_*
 *
 * Return: as accel_bo_cpu_begin().
 */
ACCEL_API int accel_bo_cpu_end(struct accel_bo *bo, uint64_t offset,
			       uint64_t bytes, uint32_t flags);

struct accel_pool;

/**
 * accel_pool_create - create a buffer to allocate small buffers from
 * @ctx: context
 * @bytes: size
 * @opts: options, or NULL
 * @pool: out
 *
 * Return: as accel_bo_create().
 */
ACCEL_API int accel_pool_create(struct accel_ctx *ctx, uint64_t bytes,
				const struct accel_bo_opts *opts,
				struct accel_pool **pool);

/**
 * accel_pool_alloc - allocate a part
 * @pool: pool
 * @bytes: size, not 0
 * @align: power of two up to the page size, 0 for 64
 * @bo: out: a buffer like any other; its space returns to the pool with the
 *	last reference. Its contents are undefined
 *
 * Return: 0; -EINVAL; -ENOSPC no free range is large enough; -ENOMEM.
 */
ACCEL_API int accel_pool_alloc(struct accel_pool *pool, uint64_t bytes,
			       uint64_t align, struct accel_bo **bo);

/**
 * accel_pool_destroy - release a pool; parts keep its memory alive
 * @pool: pool, or NULL
 */
ACCEL_API void accel_pool_destroy(struct accel_pool *pool);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_BUFFER_H */
