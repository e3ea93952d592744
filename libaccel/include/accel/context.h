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
 * ACCEL_CTX_REPRODUCIBLE: the bits of a row of a result depend neither on the number
 * of rows nor on threads: rows of a product or an FFN, queries of an attention, images of
 * a convolution, lines of a norm. So what is computed for one is what it is among others.
 * In process that leaves out kernels that are made for few rows, or for many, and
 * Winograd's algorithms unless they are asked for by name; what was measured, see
 * accel_tune(), is not looked at. Documentation/numerics.rst has what it costs. A device
 * and the level of kernels "portable" need nothing for it. Bits still depend on the
 * device, on the level of kernels, and on types, strides and forms of the operands.
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
	 * @tune_dir: directory of what was measured, see accel_tune(); NULL:
	 * accel/tune in XDG_CACHE_HOME or, without that, in ~/.cache
	 */
	const char *tune_dir;
	/**
	 * @weights_dir: directory where packed weights are kept for later starts: programs and
	 * &struct accel_weights of the context look there for what they would pack, by its
	 * contents, and leave there what they have packed, if it is 64 KiB or more. NULL: none; "":
	 * accel/weights in XDG_CACHE_HOME or, without that, in ~/.cache. It is made if it is not
	 * there. A directory or a file that belongs to another user, or that others may write, is
	 * not used; a file of another version, chip or level of kernels, or a damaged one, is
	 * refused, and replaced by a new one. What was read of them, and of files that
	 * accel_graph_constant_file() names, is remembered in the file "known" until the next boot:
	 * what has not changed is not read again only to be checked
	 */
	const char *weights_dir;
	/**
	 * @weights_bytes: what was not used longest goes from @weights_dir when there are more
	 * than these, as soon as who wrote or found something there gives its weights up: of those
	 * who share it the smallest limit counts; 0: 4 GiB
	 */
	uint64_t weights_bytes;
};

/** ACCEL_CTX_OPTS_INIT: default options */
#define ACCEL_CTX_OPTS_INIT	{ sizeof(struct accel_ctx_opts), 0, NULL, NULL, 0 }

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
 * accel_ctx_get_error - what the last call of this thread that failed found
 * @ctx: context
 * @error: out
 *
 * The record is the calling thread's: failures of other threads do not touch it.
 * A thread keeps those of the four contexts that it failed in last. Until
 * something failed, the code is 0.
 *
 * Return: 0; -EINVAL size, or there is no context.
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
