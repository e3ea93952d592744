/* SPDX-License-Identifier: MIT */
/*
 * Constant weights in the forms that plans hold, shared by plans, contexts and processes.
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
 * accel_file_stamp - by what a file is recognised while it does not change
 * @fd: file
 * @stamp: out: of device, inode, size and times of the file; zeros: it changed within the last
 *	two seconds, so that another change may not be seen, or lies in another file system than
 *	Btrfs, ext2 to ext4, F2FS, OverlayFS, tmpfs and XFS
 *
 * A change through a shared mapping may not be seen either, since the system gives it a time only
 * when it writes the page: nobody may do that to a file of weights that is in use.
 *
 * Return: 0; -EINVAL @fd is no file, @stamp is NULL; errors of fstat().
 */
ACCEL_API int accel_file_stamp(int fd, struct accel_file_stamp *stamp);

/**
 * struct accel_weights_opts - options of accel_weights_create()
 */
struct accel_weights_opts {
	/** @size: sizeof(struct accel_weights_opts) */
	uint32_t size;
	/** @flags: 0 */
	uint32_t flags;
	/** @max_bytes: forms that are kept, 0: no limit; those that were not used longest go */
	uint64_t max_bytes;
};

/** ACCEL_WEIGHTS_OPTS_INIT: default options */
#define ACCEL_WEIGHTS_OPTS_INIT	{ sizeof(struct accel_weights_opts), 0, 0 }

/**
 * accel_weights_create - a place for constant weights in the forms that plans hold
 * @ctx: context of the device; its error record gets what goes wrong with the file
 * @opts: options, or NULL
 * @weights: out
 *
 * Plans that are made with it (&struct accel_plan_opts) look here for what they would
 * pack (ACCEL_GEMM_PACK_B and its like), and leave here what they have packed. A form is
 * found by the numbers that it was made of, and by what the engine wants, so it does not
 * depend on rows of the other operand, on the buffer or on the context: plans for many rows
 * and for one have the same memory. A buffer that weights were taken from is read once;
 * its contents must not change as long as @weights exists. Weights whose buffer the CPU
 * does not see (ACCEL_BO_NO_MAP) are packed for each plan.
 *
 * Threads: any; weights are packed one after the other.
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
 * Plans that were made with it have one.
 */
ACCEL_API void accel_weights_unref(struct accel_weights *weights);

/**
 * struct accel_weights_info - what is there
 */
struct accel_weights_info {
	/** @size: sizeof(struct accel_weights_info) */
	uint32_t size;
	/** @forms: forms that are kept */
	uint32_t forms;
	/** @bytes: of them */
	uint64_t bytes;
	/** @made: forms that were made, also those that have gone since */
	uint64_t made;
	/** @found: how often a plan found what it wanted */
	uint64_t found;
	/** @refused: forms of a file whose contents were not what the file says */
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
 * accel_weights_save - write all forms to a file
 * @weights: weights
 * @path: file; it is replaced as a whole, so that who has mapped the old one keeps that
 *
 * Forms of a file that was loaded are checked; those that are damaged are left out and
 * counted as refused.
 *
 * Return: 0; errors of writing; -EINVAL; -ENOMEM.
 */
ACCEL_API int accel_weights_save(struct accel_weights *weights, const char *path);

/**
 * accel_weights_load - use the forms of a file, too
 * @weights: weights
 * @path: file of accel_weights_save(), of any process; it must not be changed in place
 *
 * The file is mapped, not read: processes share its pages, and a form is read when a
 * plan first wants it. Then its checksum is computed; if that differs the plan makes
 * the form anew.
 *
 * Return: 0; errors of opening; -ESTALE made by another version of the library, on
 * another chip or for another level of kernels, with the field that differs in the
 * error record; -EBADMSG not such a file, cut or damaged; -ENOMEM.
 */
ACCEL_API int accel_weights_load(struct accel_weights *weights, const char *path);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_WEIGHTS_H */
