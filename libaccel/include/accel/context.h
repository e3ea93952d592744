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
 * ACCEL_CTX_REPRODUCIBLE: the bits of a row of a result depend neither on the number of rows
 * nor on threads, so a row computed alone is the same as in a batch. Rows are those of a
 * product or an FFN, queries of an attention, images of a convolution, lines of a norm. In
 * process this excludes kernels for few or for many rows, Winograd's algorithms unless they
 * are requested by name, and measurements of accel_tune(); Documentation/numerics.rst has the
 * cost. Devices of a kernel driver, and the kernels "portable", always have this property.
 * Bits still depend on the device, on the instruction set of the kernels, and on types,
 * strides and forms of the operands.
 */
#define ACCEL_CTX_REPRODUCIBLE	(1u << 0)

/**
 * struct accel_ctx_opts - options of accel_ctx_create()
 */
struct accel_ctx_opts {
	/** @size: sizeof(struct accel_ctx_opts) */
	uint32_t size;
	/** @flags: ACCEL_CTX_* */
	uint32_t flags;
	/**
	 * @tune_dir: directory of the measurements of accel_tune(); NULL: accel/tune in
	 * XDG_CACHE_HOME or, without that, in ~/.cache
	 */
	const char *tune_dir;
	/**
	 * @weights_dir: directory that keeps packed weights for later starts. NULL: none; "":
	 * accel/weights in XDG_CACHE_HOME or, without that, in ~/.cache. Programs and &struct
	 * accel_weights of the context look there, by contents, for weights that they would
	 * pack, and store there what they have packed if it is 64 KiB or more. The directory
	 * is created if it does not exist. A directory or file that belongs to another user,
	 * or that others may write, is not used; a file that is damaged, or is of another
	 * version, chip or instruction set, is replaced. Digests of these files, and of those
	 * that accel_graph_constant_file() names, are kept in the file "known" until the next
	 * boot, so that unchanged files are not read again only to be checked
	 */
	const char *weights_dir;
	/**
	 * @weights_bytes: size limit of @weights_dir, 0: 4 GiB. If it is exceeded when a user
	 * of the directory releases its weights, the least recently used files are removed.
	 * The smallest limit of those who share the directory applies
	 */
	uint64_t weights_bytes;
};

/** ACCEL_CTX_OPTS_INIT: default options */
#define ACCEL_CTX_OPTS_INIT	{ sizeof(struct accel_ctx_opts), 0, NULL, NULL, 0 }

/**
 * accel_ctx_create - create a context
 * @dev: device
 * @opts: options, or NULL
 * @ctx: out
 *
 * Contexts see nothing of each other's buffers unless shared by dma-buf or by
 * importing the same memory.
 *
 * Return: 0; -EINVAL, -E2BIG options; -ENOSPC the device supports no more contexts; -ENODEV;
 * -ENOMEM.
 */
ACCEL_API int accel_ctx_create(struct accel_device *dev,
			       const struct accel_ctx_opts *opts,
			       struct accel_ctx **ctx);

/**
 * accel_ctx_destroy - release a context, without waiting
 * @ctx: context, or NULL
 *
 * Its buffers, plans, queues and fences remain usable until they are released.
 */
ACCEL_API void accel_ctx_destroy(struct accel_ctx *ctx);

/**
 * accel_ctx_get_error - get the error of the last failed call of this thread
 * @ctx: context
 * @error: out
 *
 * Each thread has records of its own, for the four contexts in which its calls failed last.
 * The code is 0 if no call has failed.
 *
 * Return: 0; -EINVAL size, or @ctx is NULL.
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
	/** @bo_count: number of buffers, including those of plans and jobs */
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
