// SPDX-License-Identifier: MIT
/*
 * Error records, names of faults, and structs that callers of other versions
 * pass.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "objects.h"

#define NAME(code)	{ code, #code }

const char *errno_name(int code)
{
	static const struct {
		int code;
		const char *name;
	} names[] = {
		NAME(EPERM), NAME(ENOENT), NAME(EINTR), NAME(EIO), NAME(ENXIO), NAME(E2BIG),
		NAME(EBADF), NAME(EAGAIN), NAME(ENOMEM), NAME(EACCES), NAME(EFAULT), NAME(EBUSY),
		NAME(EEXIST), NAME(EXDEV), NAME(ENODEV), NAME(ENOTDIR), NAME(EISDIR),
		NAME(EINVAL), NAME(ENFILE), NAME(EMFILE), NAME(ENOTTY), NAME(ETXTBSY),
		NAME(EFBIG), NAME(ENOSPC), NAME(ESPIPE), NAME(EROFS), NAME(EMLINK), NAME(EPIPE),
		NAME(EDOM), NAME(ERANGE), NAME(EDEADLK), NAME(ENAMETOOLONG), NAME(ENOLCK),
		NAME(ENOTEMPTY), NAME(ELOOP), NAME(ENODATA), NAME(ETIME),
		NAME(EREMOTEIO), NAME(EPROTO), NAME(EBADMSG), NAME(EOVERFLOW), NAME(EILSEQ),
		NAME(EOPNOTSUPP), NAME(ENOBUFS), NAME(ESHUTDOWN), NAME(ETIMEDOUT), NAME(EALREADY),
		NAME(EINPROGRESS), NAME(ESTALE), NAME(EDQUOT), NAME(ECANCELED), NAME(EHWPOISON),
	};
	uint32_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].code == code)
			return names[i].name;
	return NULL;
}

static void error_fill(struct accel_error *error, int code, const char *field,
		       const char *fmt, va_list ap)
{
	const uint32_t size = error->size;

	memset(error, 0, sizeof(*error));
	error->size = size;
	error->code = code;
	error->op_index = UINT32_MAX;
	if (field)
		snprintf(error->field, sizeof(error->field), "%s", field);
	vsnprintf(error->text, sizeof(error->text), fmt, ap);
}

int error_set(struct accel_error *error, int code, const char *field,
	      const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_fill(error, code, field, fmt, ap);
	va_end(ap);
	return code;
}

int ctx_fail(struct accel_ctx *ctx, int code, const char *field,
	     const char *fmt, ...)
{
	struct accel_error error = { .size = sizeof(error) };
	va_list ap;

	va_start(ap, fmt);
	error_fill(&error, code, field, fmt, ap);
	va_end(ap);
	return ctx_set_error(ctx, &error);
}

/*
 * The last failure of this thread in each context, as long as these are few: the
 * one that is the longest unused makes room. A context is known by a number that no
 * other has had, for its address may come again.
 */
#define THREAD_ERRORS	4

struct thread_error {
	uint64_t ctx;
	struct accel_error error;
};

static _Thread_local struct thread_error errors[THREAD_ERRORS];

/* The record of a context comes first; NULL: there is none. */
static struct thread_error *thread_error(const struct accel_ctx *ctx)
{
	struct thread_error found;
	uint32_t i;

	for (i = 0; i < THREAD_ERRORS && errors[i].ctx != ctx->number; i++)
		;
	if (i == THREAD_ERRORS)
		return NULL;
	if (i) {
		found = errors[i];
		memmove(errors + 1, errors, i * sizeof(errors[0]));
		errors[0] = found;
	}
	return errors;
}

int ctx_set_error(struct accel_ctx *ctx, const struct accel_error *error)
{
	const char *name = errno_name(-error->code);

	if (!thread_error(ctx))
		memmove(errors + 1, errors, (THREAD_ERRORS - 1) * sizeof(errors[0]));
	errors[0].ctx = ctx->number;
	errors[0].error = *error;
	errors[0].error.size = sizeof(*error);
	device_log(ctx->dev, ACCEL_LOG_ERROR, "%s%s%s (%s)", error->field,
		   error->field[0] ? ": " : "", error->text, name ? name : "unknown");
	return error->code;
}

int accel_ctx_get_error(struct accel_ctx *ctx, struct accel_error *error)
{
	struct accel_error none = ACCEL_ERROR_INIT;
	const struct thread_error *mine;

	if (!ctx)
		return -EINVAL;
	none.op_index = UINT32_MAX;
	mine = thread_error(ctx);
	return struct_out(error, mine ? &mine->error : &none, sizeof(none), sizeof(none));
}

int struct_in(void *dst, size_t dst_size, const void *src, size_t min_size)
{
	uint32_t size, known, i;

	if (!src)
		return -EINVAL;
	memcpy(&size, src, sizeof(size));
	if (size < min_size)
		return -EINVAL;
	known = size < dst_size ? size : dst_size;
	for (i = known; i < size; i++)
		if (((const unsigned char *)src)[i])
			return -E2BIG;
	memcpy(dst, src, known);
	memset((char *)dst + known, 0, dst_size - known);
	return 0;
}

int opts_in(struct accel_ctx *ctx, void *dst, size_t size, const void *opts)
{
	return opts_in_since(ctx, dst, size, opts, size);
}

int opts_in_since(struct accel_ctx *ctx, void *dst, size_t size, const void *opts,
		  size_t min_size)
{
	int ret = struct_in(dst, size, opts, min_size);

	if (!ret)
		return 0;
	return ctx_fail(ctx, ret, "opts.size", ret == -EINVAL ?
			"shorter than the first version" :
			"options that this library does not know are set");
}

int struct_out(void *dst, const void *src, size_t src_size, size_t min_size)
{
	uint32_t size, known;

	if (!dst)
		return -EINVAL;
	memcpy(&size, dst, sizeof(size));
	if (size < min_size)
		return -EINVAL;
	known = size < src_size ? size : src_size;
	memcpy(dst, src, known);
	memset((char *)dst + known, 0, size - known);
	memcpy(dst, &size, sizeof(size));
	return 0;
}

const char *fault_name(uint32_t reason)
{
	static const char * const names[UMA_FAULT_COUNT] = {
		[UMA_FAULT_NONE] = "none",
		[UMA_FAULT_VERSION] = "version",
		[UMA_FAULT_OPCODE] = "opcode",
		[UMA_FAULT_FLAGS] = "flags",
		[UMA_FAULT_PAD] = "pad",
		[UMA_FAULT_SLOT] = "slot",
		[UMA_FAULT_DTYPE] = "dtype",
		[UMA_FAULT_RANK] = "rank",
		[UMA_FAULT_DIMS] = "dims",
		[UMA_FAULT_STRIDES] = "strides",
		[UMA_FAULT_LAYOUT] = "layout",
		[UMA_FAULT_QUANT] = "quant",
		[UMA_FAULT_EPILOGUE] = "epilogue",
		[UMA_FAULT_PARAMS] = "params",
		[UMA_FAULT_ALIGN] = "align",
		[UMA_FAULT_RANGE] = "range",
		[UMA_FAULT_OVERLAP] = "overlap",
		[UMA_FAULT_UNSUPPORTED] = "unsupported",
		[UMA_FAULT_READ] = "read",
		[UMA_FAULT_WRITE] = "write",
		[UMA_FAULT_TABLE] = "table",
		[UMA_FAULT_BUS] = "bus",
		[UMA_FAULT_ABORT] = "abort",
		[UMA_FAULT_STALE] = "stale",
		[UMA_FAULT_RING] = "ring",
		[UMA_FAULT_INTERNAL] = "internal",
	};

	if (reason >= UMA_FAULT_COUNT || !names[reason])
		return "unknown";
	return names[reason];
}

const char *slot_name(uint32_t slot)
{
	static const char * const names[] = {
		[UMA_SLOT_DST] = "d",
		[UMA_SLOT_A] = "a",
		[UMA_SLOT_B] = "b",
		[UMA_SLOT_C] = "c",
		[UMA_SLOT_BIAS] = "bias",
		[UMA_SLOT_SCALE] = "scale",
		[UMA_SLOT_RESIDUAL] = "residual",
	};

	return slot < sizeof(names) / sizeof(names[0]) ? names[slot] : NULL;
}
