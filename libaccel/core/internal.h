/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the library share: errors, the device as the planner sees
 * it, sizes of versioned structs.
 */
#ifndef LIBACCEL_INTERNAL_H
#define LIBACCEL_INTERNAL_H

#include <stdbool.h>
#include <accel/accel.h>
#include "errno_text.h"
#include "uma_task.h"

/**
 * struct device_engine - an engine as the backend reported it
 * @info: public description
 * @engine_class: &enum uma_engine_class
 * @caps: info.cap_count rows, little-endian
 */
struct device_engine {
	struct accel_engine_info info;
	uint32_t engine_class;
	struct uma_op_cap *caps;
};

/**
 * device_engines - the engines of a device, in the order of the query
 * @dev: device
 * @count: out
 *
 * Return: borrowed array.
 */
const struct device_engine *device_engines(struct accel_device *dev,
					   uint32_t *count);

struct accel_ctx *ctx_ref(struct accel_ctx *ctx);
void ctx_unref(struct accel_ctx *ctx);

/** ctx_reproducible - is it ACCEL_CTX_REPRODUCIBLE? */
bool ctx_reproducible(const struct accel_ctx *ctx);

/**
 * ctx_fail - record an error on a context and return it
 * @ctx: context
 * @code: negative errno
 * @field: field at fault, or NULL
 * @fmt: sentence for a person
 *
 * Also logs it at ACCEL_LOG_ERROR.
 *
 * Return: @code.
 */
int ctx_fail(struct accel_ctx *ctx, int code, const char *field,
	     const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/** errno_name - its name, "EINVAL"; NULL: none that the library or the driver gives */
const char *errno_name(int code);

/**
 * ctx_set_error - record a complete error
 * @ctx: context
 * @error: record, its size field set
 *
 * Return: error->code.
 */
int ctx_set_error(struct accel_ctx *ctx, const struct accel_error *error);

/**
 * device_log - write a log line if the level is wanted
 * @dev: device
 * @level: &enum accel_log_level
 * @fmt: line
 */
void device_log(struct accel_device *dev, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * struct_in - copy a struct of a caller, maybe older or newer, into ours
 * @dst: zeroed and filled
 * @dst_size: size of the version that the library knows
 * @src: caller's struct, starting with its uint32_t size
 * @min_size: size of the first version
 *
 * Return: 0; -EINVAL shorter than @min_size; -E2BIG unknown tail not zero.
 */
int struct_in(void *dst, size_t dst_size, const void *src, size_t min_size);

/**
 * opts_in_since - struct_in() of the options of a call
 * @ctx: context that gets the error
 * @dst: zeroed and filled
 * @size: of it
 * @opts: the caller's
 * @min_size: size of the first version
 *
 * Return: as struct_in().
 */
int opts_in_since(struct accel_ctx *ctx, void *dst, size_t size, const void *opts,
		  size_t min_size);

/** opts_in - opts_in_since() of options that have had one version */
int opts_in(struct accel_ctx *ctx, void *dst, size_t size, const void *opts);

/**
 * struct_out - fill a struct of a caller
 * @dst: caller's struct, starting with its uint32_t size, which stays
 * @src: ours
 * @src_size: size of ours
 * @min_size: size of the first version
 *
 * What the caller has beyond ours is zeroed.
 *
 * Return: 0; -EINVAL shorter than @min_size.
 */
int struct_out(void *dst, const void *src, size_t src_size, size_t min_size);

/* --- bo.c, file.c ---------------------------------------------------------- */

/**
 * bo_absent - a buffer in the place of one whose contents are not there
 * @ctx: context
 * @bytes: its size
 * @bo: out: it cannot be bound; weights that were packed of it are found in its name
 *
 * Return: 0, -ENOMEM.
 */
int bo_absent(struct accel_ctx *ctx, uint64_t bytes, struct accel_bo **bo);

/**
 * file_write - write all of something at an offset
 * @fd: file
 * @data: bytes
 * @bytes: how many
 * @offset: where
 *
 * Return: 0, errors of pwrite().
 */
int file_write(int fd, const void *data, uint64_t bytes, uint64_t offset);

/**
 * file_read - read something at an offset
 * @fd: file
 * @data: out: bytes
 * @bytes: how many
 * @offset: where
 *
 * Return: 0, errors of pread(), -EBADMSG: the file ends before.
 */
int file_read(int fd, void *data, uint64_t bytes, uint64_t offset);

/**
 * file_cache_path - where something is that may go
 * @name: below accel/ in XDG_CACHE_HOME, or in ~/.cache
 * @path: out: to be given to free(); "" if the user has no such directory
 *
 * Return: 0, -ENOMEM.
 */
int file_cache_path(const char *name, char **path);

/**
 * file_make_dirs - the directory of a file, and those that it is in, for the user alone
 * @path: of the file; of a directory with a slash at its end
 *
 * Return: 0, errors of mkdir(), -ENOMEM.
 */
int file_make_dirs(const char *path);

/**
 * file_replace - put a new file in the place of an old one, as a whole
 * @ctx: context, which gets the error
 * @path: file
 * @fill: writes it
 * @user: for @fill
 *
 * Return: 0, what @fill returned, errors of writing.
 */
int file_replace(struct accel_ctx *ctx, const char *path, int (*fill)(void *user, int fd),
		 void *user);

/* --- names.c --------------------------------------------------------------- */

/* Of a value that is in range */

const char *act_name(uint32_t act);

/* Functions, by bit of a capability row's funcs; NULL out of range */
const char *norm_name(uint32_t bit);
const char *softmax_name(uint32_t func);
const char *reduce_name(uint32_t func);

#endif /* LIBACCEL_INTERNAL_H */
