/* SPDX-License-Identifier: MIT */
/*
 * Queues and fences, and functions that plan, submit and wait in one call.
 */
#ifndef ACCEL_QUEUE_H
#define ACCEL_QUEUE_H

#include <stddef.h>
#include <stdint.h>
#include <accel/context.h>
#include <accel/desc.h>
#include <accel/job.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct accel_attention_desc;
struct accel_conv_desc;
struct accel_fence;
struct accel_norm_desc;
struct accel_queue;
struct accel_softmax_desc;

/**
 * enum accel_priority - priorities of queues
 * @ACCEL_PRIORITY_NORMAL: the default
 * @ACCEL_PRIORITY_LOW: below the default
 * @ACCEL_PRIORITY_HIGH: above the default, privileged
 * @ACCEL_PRIORITY_REALTIME: above all, privileged
 */
enum accel_priority {
	ACCEL_PRIORITY_NORMAL = 0,
	ACCEL_PRIORITY_LOW = 1,
	ACCEL_PRIORITY_HIGH = 2,
	ACCEL_PRIORITY_REALTIME = 3
};

/**
 * struct accel_queue_opts - options of accel_queue_create()
 */
struct accel_queue_opts {
	/** @size: sizeof(struct accel_queue_opts) */
	uint32_t size;
	/** @engine: &enum accel_engine; ACCEL_ENGINE_AUTO: plans for all engines */
	uint32_t engine;
	/** @priority: &enum accel_priority */
	uint32_t priority;
	/** @timeout_ms: longest time that a job may run, 0: the device's default */
	uint32_t timeout_ms;
};

/** ACCEL_QUEUE_OPTS_INIT: default options */
#define ACCEL_QUEUE_OPTS_INIT	{ sizeof(struct accel_queue_opts), 0, 0, 0 }

/**
 * accel_queue_create - create a queue, whose jobs run in order of submission
 * @ctx: context
 * @opts: options, or NULL
 * @queue: out
 *
 * Return: 0; -EINVAL, -E2BIG options; -EOPNOTSUPP no such engine; -EACCES
 * priority; -ENOSPC; -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_queue_create(struct accel_ctx *ctx,
				 const struct accel_queue_opts *opts,
				 struct accel_queue **queue);

/**
 * accel_queue_destroy - release a queue
 * @queue: queue, or NULL
 *
 * Jobs that have not started are cancelled; their fences fail with -ECANCELED. On a device of
 * a kernel driver it waits for the running job, which is cancelled after its current task.
 */
ACCEL_API void accel_queue_destroy(struct accel_queue *queue);

/**
 * struct accel_submit_opts - options of accel_queue_submit()
 */
struct accel_submit_opts {
	/** @size: sizeof(struct accel_submit_opts) */
	uint32_t size;
	/** @wait_count: number of @waits */
	uint32_t wait_count;
	/** @waits: fences that the job waits for, of any context of the device, or imported */
	struct accel_fence *const *waits;
};

/** ACCEL_SUBMIT_OPTS_INIT: default options */
#define ACCEL_SUBMIT_OPTS_INIT	{ sizeof(struct accel_submit_opts), 0, NULL }

/**
 * accel_queue_submit - submit a job to run
 * @queue: queue of the same context
 * @job: job; may be submitted again, even while it is running
 * @opts: options, or NULL
 * @fence: out: signals when all of it is done; NULL if not wanted
 *
 * A job that fails bans its queue: jobs submitted after it fail with -ECANCELED, and nothing
 * runs until the failure has been reported. That is the case when accel_fence_wait() or
 * accel_fence_get_info() has returned the failure of one of these jobs, or when a submission
 * has been rejected with -ECANCELED; polling a file descriptor does not count. Then the next
 * job runs; on a device of a kernel driver, after all earlier submissions have ended.
 *
 * Return: 0; -EINVAL a plan for another engine than the queue's, options; -ECANCELED an
 * earlier failure had not been reported, or only part of the job was submitted; -EBUSY too
 * many unfinished jobs; -E2BIG the job has more parts than a queue of the driver accepts:
 * each change of engines begins one; -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_queue_submit(struct accel_queue *queue,
				 struct accel_job *job,
				 const struct accel_submit_opts *opts,
				 struct accel_fence **fence);

/**
 * accel_fence_ref - take another reference
 * @fence: fence
 *
 * Return: @fence.
 */
ACCEL_API struct accel_fence *accel_fence_ref(struct accel_fence *fence);

/**
 * accel_fence_unref - drop a reference
 * @fence: fence, or NULL
 */
ACCEL_API void accel_fence_unref(struct accel_fence *fence);

/**
 * accel_fence_wait - wait until a job is done
 * @fence: fence
 * @timeout_ns: longest wait, 0 to poll, negative: for ever
 *
 * Return: 0 done; -ETIMEDOUT not yet; else the job's own error: -ETIME it exceeded its
 * timeout, -EFAULT a task faulted, -ECANCELED the queue was banned or destroyed, -ENODEV the
 * device is gone.
 */
ACCEL_API int accel_fence_wait(struct accel_fence *fence, int64_t timeout_ns);

/**
 * struct accel_fence_info - outcome of a job
 */
struct accel_fence_info {
	/** @size: sizeof(struct accel_fence_info) */
	uint32_t size;
	/** @done: 1: signalled */
	uint32_t done;
	/** @status: 0, or negative errno as for accel_fence_wait() */
	int32_t status;
	/** @op_index: operation of the job that failed, UINT32_MAX if none or unknown */
	uint32_t op_index;
	/** @engine: &enum accel_engine that it failed on, 0 if none */
	uint32_t engine;
	/** @pad: 0 */
	uint32_t pad;
	/** @addr: device address of a fault, 0 if none */
	uint64_t addr;
	/** @reason: the device's reason: "read", "unsupported", empty if none */
	char reason[32];
	/** @text: one sentence, empty if nothing failed */
	char text[256];
};

/**
 * accel_fence_get_info - state and outcome of a job
 * @fence: fence
 * @info: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_fence_get_info(struct accel_fence *fence,
				   struct accel_fence_info *info);

/**
 * accel_fence_export_fd - create a file descriptor that polls readable when the job is done
 * @fence: fence
 * @fd: out: a sync_file on a node, an eventfd in process; close-on-exec
 *
 * Return: 0; -EMFILE; -ENOMEM.
 */
ACCEL_API int accel_fence_export_fd(struct accel_fence *fence, int *fd);

/**
 * accel_fence_import_fd - create a fence from a sync_file
 * @ctx: context
 * @fd: sync_file; in process: any descriptor that polls readable when done; remains owned by
 *	the caller
 * @fence: out
 *
 * Return: 0; -EBADF; -EINVAL not a sync_file; -ENOMEM.
 */
ACCEL_API int accel_fence_import_fd(struct accel_ctx *ctx, int fd,
				    struct accel_fence **fence);

/**
 * accel_run - plan, bind, submit and wait
 * @ctx: context
 * @desc: the first field of a descriptor whose tensors all have their buffers
 *
 * Return: 0, or the error of the step that failed; the error record has it.
 */
ACCEL_API int accel_run(struct accel_ctx *ctx, const struct accel_desc *desc);

/**
 * accel_gemm - compute D = epilogue(A x B) and wait
 * @ctx: context
 * @a: left matrix; its buffer must be set, as those of @b and @d
 * @b: right matrix
 * @d: result; its type and dimensions must be set
 * @epilogue: epilogue, or NULL
 *
 * The same as accel_run() of a &struct accel_gemm_desc with only these set: each call creates
 * a plan.
 *
 * Return: as accel_run(); -EINVAL for a tensor that is NULL.
 */
ACCEL_API int accel_gemm(struct accel_ctx *ctx, const struct accel_tensor *a,
			 const struct accel_tensor *b, const struct accel_tensor *d,
			 const struct accel_epilogue *epilogue);

/**
 * accel_conv - compute D = epilogue(A convolved with B) and wait
 * @ctx: context
 * @a: input; its buffer must be set, as those of @b and @d
 * @b: weights
 * @d: result
 * @how: descriptor with strides, padding, epilogue and so on, whose tensors a, b and d are
 *	ignored; NULL: ACCEL_CONV_DESC_INIT
 *
 * The same as accel_run() of @how with these tensors, as are the functions below.
 *
 * Return: as accel_run(); -EINVAL for a tensor that is NULL, a descriptor of another
 * operation.
 */
ACCEL_API int accel_conv(struct accel_ctx *ctx, const struct accel_tensor *a,
			 const struct accel_tensor *b, const struct accel_tensor *d,
			 const struct accel_conv_desc *how);

/**
 * accel_attention - compute D = softmax(scale * Q x K^T + ...) x V and wait
 * @ctx: context
 * @q: queries
 * @k: keys
 * @v: values
 * @d: result
 * @how: mask, window and so on, as for accel_conv(); NULL: ACCEL_ATTENTION_DESC_INIT
 *
 * Return: as accel_conv().
 */
ACCEL_API int accel_attention(struct accel_ctx *ctx, const struct accel_tensor *q,
			      const struct accel_tensor *k, const struct accel_tensor *v,
			      const struct accel_tensor *d,
			      const struct accel_attention_desc *how);

/**
 * accel_norm - compute D = norm(A) and wait
 * @ctx: context
 * @a: input
 * @d: result
 * @how: function, scale, bias and so on, as for accel_conv(); NULL: ACCEL_NORM_DESC_INIT, a
 *	layer norm along the last dimension
 *
 * Return: as accel_conv().
 */
ACCEL_API int accel_norm(struct accel_ctx *ctx, const struct accel_tensor *a,
			 const struct accel_tensor *d, const struct accel_norm_desc *how);

/**
 * accel_softmax - compute D = softmax(A) and wait
 * @ctx: context
 * @a: input
 * @d: result
 * @how: function and dimension, as for accel_conv(); NULL: ACCEL_SOFTMAX_DESC_INIT, along the
 *	last dimension
 *
 * Return: as accel_conv().
 */
ACCEL_API int accel_softmax(struct accel_ctx *ctx, const struct accel_tensor *a,
			    const struct accel_tensor *d,
			    const struct accel_softmax_desc *how);

/**
 * accel_copy - copy A to D, in D's type, quantisation and layout, and wait
 * @ctx: context
 * @a: input
 * @d: result
 *
 * Return: as accel_conv().
 */
ACCEL_API int accel_copy(struct accel_ctx *ctx, const struct accel_tensor *a,
			 const struct accel_tensor *d);

/**
 * accel_unary - compute D = f(A) elementwise and wait
 * @ctx: context
 * @func: &enum accel_unary
 * @a: input
 * @d: result
 *
 * Return: as accel_conv().
 */
ACCEL_API int accel_unary(struct accel_ctx *ctx, uint32_t func, const struct accel_tensor *a,
			  const struct accel_tensor *d);

/**
 * accel_binary - compute D = f(A, B) elementwise and wait
 * @ctx: context
 * @func: &enum accel_binary
 * @a: first input
 * @b: second input
 * @d: result
 *
 * Return: as accel_conv().
 */
ACCEL_API int accel_binary(struct accel_ctx *ctx, uint32_t func, const struct accel_tensor *a,
			   const struct accel_tensor *b, const struct accel_tensor *d);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_QUEUE_H */
