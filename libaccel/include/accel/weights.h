/* SPDX-License-Identifier: MIT */
/*
 * Packed constant weights, shared by plans, contexts and processes.
 */
#ifndef ACCEL_WEIGHTS_H
#define ACCEL_WEIGHTS_H

#include <stdint.h>
#include <accel/context.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct accel_weights;

/**
 * struct accel_file_stamp - which file, and which state of it
 */
struct accel_file_stamp {
	/** @v: two numbers that stand for both; zeros: it is not known */
	uint64_t v[2];
};

/**
 * accel_file_stamp_read - identify a file and its present state
 * @fd: file
 * @stamp: out: digest of mount, inode, size and times of the file; zeros: there is none
 *
 * There is no stamp if a change might not be noticed: if the file changed within the last two
 * seconds; if somebody has opened it for writing, which only its owner, or CAP_LEASE, can find
 * out; if it is in another file system than Btrfs, ext2 to ext4, F2FS and XFS; before Linux
 * 6.8, or without /proc. Who opens the file for writing while this call runs waits for some
 * microseconds, or gets EWOULDBLOCK with O_NONBLOCK; this process then receives SIGURG, which is
 * ignored unless it has a handler.
 *
 * Return: 0; -EINVAL @fd is no file, @stamp is NULL; errors of fstat().
 */
ACCEL_API int accel_file_stamp_read(int fd, struct accel_file_stamp *stamp);

/**
 * struct accel_weights_opts - options of accel_weights_create()
 */
struct accel_weights_opts {
	/** @size: sizeof(struct accel_weights_opts) */
	uint32_t size;
	/** @flags: 0 */
	uint32_t flags;
	/**
	 * @max_bytes: limit of the packed weights that are kept, 0: none; the least recently
	 * used ones are dropped
	 */
	uint64_t max_bytes;
};

/** ACCEL_WEIGHTS_OPTS_INIT: default options */
#define ACCEL_WEIGHTS_OPTS_INIT	{ sizeof(struct accel_weights_opts), 0, 0 }

/**
 * accel_weights_create - create a collection of packed constant weights
 * @ctx: context of the device; errors of files are in its error record
 * @opts: options, or NULL
 * @weights: out
 *
 * Plans that are created with it (&struct accel_plan_opts) look here for weights that they
 * would pack (ACCEL_GEMM_PACK_B and similar flags), and store here what they have packed.
 * Packed weights are identified by the values of the weights and by the layout of the engine,
 * not by the other operand, the buffer or the context: plans for many rows and for one row
 * share memory. Weights are read once from their buffer, whose contents must not change as
 * long as @weights exists. Weights in a buffer that the CPU cannot access (ACCEL_BO_NO_MAP)
 * are packed for each plan.
 *
 * Threads: any; weights are packed by one thread at a time.
 *
 * Return: 0; -EINVAL, -E2BIG options; -ENOMEM.
 */
ACCEL_API int accel_weights_create(struct accel_ctx *ctx, const struct accel_weights_opts *opts,
				   struct accel_weights **weights);

/**
 * accel_weights_ref - take another reference
 * @weights: weights
 *
 * Return: @weights.
 */
ACCEL_API struct accel_weights *accel_weights_ref(struct accel_weights *weights);

/**
 * accel_weights_unref - drop a reference
 * @weights: weights, or NULL
 *
 * Plans that were created with it have a reference of their own.
 */
ACCEL_API void accel_weights_unref(struct accel_weights *weights);

/**
 * struct accel_weights_info - statistics of packed weights
 */
struct accel_weights_info {
	/** @size: sizeof(struct accel_weights_info) */
	uint32_t size;
	/** @forms: number of packed weights that are kept */
	uint32_t forms;
	/** @bytes: their size in bytes */
	uint64_t bytes;
	/** @made: number of packed weights that were created, including dropped ones */
	uint64_t made;
	/** @found: number of times that a plan found its weights here */
	uint64_t found;
	/** @refused: number of packed weights of a file that did not match their checksum */
	uint64_t refused;
	/** @read: bytes that were read to know what weights or files have; see weights_dir */
	uint64_t read;
};

/**
 * accel_weights_get_info - describe weights
 * @weights: weights
 * @info: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_weights_get_info(struct accel_weights *weights,
				     struct accel_weights_info *info);

/**
 * accel_weights_save - write all packed weights to a file
 * @weights: weights
 * @path: file; replaced atomically, so that mappings of the old file remain valid
 *
 * Packed weights of a file that was loaded are checked; damaged ones are left out and counted
 * as refused.
 *
 * Return: 0; errors of writing; -EINVAL; -ENOMEM.
 */
ACCEL_API int accel_weights_save(struct accel_weights *weights, const char *path);

/**
 * accel_weights_load - use the packed weights of a file, too
 * @weights: weights
 * @path: file of accel_weights_save(), of any process; must not be changed in place
 *
 * The file is mapped: processes share its pages, and packed weights are read when a plan
 * first needs them. Then their checksum is computed; if it does not match, the plan packs the
 * weights again.
 *
 * Return: 0; errors of opening; -ESTALE created by another version of the library, on another
 * chip or for another instruction set, with the field that differs in the error record;
 * -EBADMSG not such a file, truncated or damaged; -ENOMEM.
 */
ACCEL_API int accel_weights_load(struct accel_weights *weights, const char *path);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_WEIGHTS_H */
