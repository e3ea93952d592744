/* SPDX-License-Identifier: MIT */
/*
 * Contexts: an address space on a device, with its errors and its memory.
 */
#ifndef ACCEL_CONTEXT_H
#define ACCEL_CONTEXT_H

#include <stddef.h>
#include <stdint.h>
#include <accel/device.h>
#include <accel/error.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct accel_ctx;

/**
 * struct accel_ctx_opts - options of accel_ctx_create()
 */
struct accel_ctx_opts {
	/** @size: sizeof(struct accel_ctx_opts) */
	uint32_t size;
	/** @flags: 0 */
	uint32_t flags;
	/**
	 * @tune_dir: directory of what was measured, see accel_tune(); NULL:
	 * accel/tune in XDG_CACHE_HOME or, without that, in ~/.cache
	 */
	const char *tune_dir;
};

/** ACCEL_CTX_OPTS_INIT: default options */
#define ACCEL_CTX_OPTS_INIT	{ sizeof(struct accel_ctx_opts), 0, NULL }

/**
 * accel_ctx_create - create an address space
 * @dev: device
 * @opts: options, or NULL
 * @ctx: out
 *
 * Contexts see nothing of each other's buffers unless shared by dma-buf or by
 * importing the same memory.
 *
 * Return: 0; -EINVAL, -E2BIG options; -ENOSPC the device has no more; -ENODEV;
 * -ENOMEM.
 */
ACCEL_API int accel_ctx_create(struct accel_device *dev,
			       const struct accel_ctx_opts *opts,
			       struct accel_ctx **ctx);

/**
 * accel_ctx_destroy - give up a context; waits for nothing
 * @ctx: context, or NULL
 *
 * Buffers, plans, queues and fences of it stay usable until they are given up
 * themselves.
 */
ACCEL_API void accel_ctx_destroy(struct accel_ctx *ctx);

/**
 * accel_ctx_get_error - what the last failed call on this context found
 * @ctx: context
 * @error: out
 *
 * The record is the context's: with several threads it is the latest failure
 * of any of them.
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_ctx_get_error(struct accel_ctx *ctx,
				  struct accel_error *error);

/**
 * accel_ctx_device - device of a context
 * @ctx: context
 *
 * Return: borrowed reference.
 */
ACCEL_API struct accel_device *accel_ctx_device(struct accel_ctx *ctx);

/**
 * struct accel_memory_stats - memory of a context
 */
struct accel_memory_stats {
	/** @size: sizeof(struct accel_memory_stats) */
	uint32_t size;
	/** @bo_count: buffers alive, those of plans and jobs included */
	uint32_t bo_count;
	/** @bo_bytes: bytes of created buffers */
	uint64_t bo_bytes;
	/** @bo_bytes_peak: largest value of @bo_bytes */
	uint64_t bo_bytes_peak;
	/** @imported_bytes: bytes of imported pointers and dma-bufs */
	uint64_t imported_bytes;
};

/**
 * accel_ctx_get_memory - memory accounting of a context
 * @ctx: context
 * @stats: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_ctx_get_memory(struct accel_ctx *ctx,
				   struct accel_memory_stats *stats);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_CONTEXT_H */
