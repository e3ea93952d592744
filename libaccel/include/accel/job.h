/* SPDX-License-Identifier: MIT */
/*
 * Jobs: plans with their buffers bound.
 */
#ifndef ACCEL_JOB_H
#define ACCEL_JOB_H

#include <stdint.h>
#include <accel/buffer.h>
#include <accel/context.h>
#include <accel/desc.h>
#include <accel/plan.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct accel_job;

/**
 * enum accel_arg - tensors of an operation, for bindings
 * @ACCEL_ARG_D: result
 * @ACCEL_ARG_A: first input
 * @ACCEL_ARG_B: second input
 * @ACCEL_ARG_C: addend
 * @ACCEL_ARG_BIAS: epilogue
 * @ACCEL_ARG_SCALE: epilogue
 * @ACCEL_ARG_RESIDUAL: epilogue, either residual
 * @ACCEL_ARG_AUX0: depends on the operation, as the next four
 * @ACCEL_ARG_AUX1: see @ACCEL_ARG_AUX0
 * @ACCEL_ARG_AUX2: see @ACCEL_ARG_AUX0
 * @ACCEL_ARG_AUX3: see @ACCEL_ARG_AUX0
 * @ACCEL_ARG_AUX4: see @ACCEL_ARG_AUX0
 * @ACCEL_ARG_COUNT: number of values
 *
 * ACCEL_ARG_SCALES and ACCEL_ARG_ZEROS are added to a value for the tables of
 * its quantisation.
 */
enum accel_arg {
	ACCEL_ARG_D = 0,
	ACCEL_ARG_A = 1,
	ACCEL_ARG_B = 2,
	ACCEL_ARG_C = 3,
	ACCEL_ARG_BIAS = 4,
	ACCEL_ARG_SCALE = 5,
	ACCEL_ARG_RESIDUAL = 6,
	ACCEL_ARG_AUX0 = 7,
	ACCEL_ARG_AUX1 = 8,
	ACCEL_ARG_AUX2 = 9,
	ACCEL_ARG_AUX3 = 10,
	ACCEL_ARG_AUX4 = 11,
	ACCEL_ARG_COUNT = 12
};

/** ACCEL_ARG_SCALES: the scale table of an argument */
#define ACCEL_ARG_SCALES	0x100
/** ACCEL_ARG_ZEROS: the zero-point table of an argument */
#define ACCEL_ARG_ZEROS		0x200
/** ACCEL_ARG_LENGTH: the size of dynamic dimensions, see &struct accel_tensor */
#define ACCEL_ARG_LENGTH	0x800
/** ACCEL_ARG_WORKSPACE: additional memory, workspace_bytes of the plan; optional */
#define ACCEL_ARG_WORKSPACE	0x400

/**
 * struct accel_binding - a buffer for an argument
 */
struct accel_binding {
	/** @arg: &enum accel_arg */
	uint32_t arg;
	/** @op: accel_job_rebind(): index of the operation; else 0 */
	uint32_t op;
	/** @bo: buffer */
	struct accel_bo *bo;
	/** @offset: bytes to element (0, 0, ...) */
	uint64_t offset;
};

/**
 * ACCEL_JOB_UNORDERED: operations wait for their dependencies only; else each for the
 * previous one
 */
#define ACCEL_JOB_UNORDERED	(1u << 0)

/**
 * struct accel_job_opts - options of accel_job_create()
 */
struct accel_job_opts {
	/** @size: sizeof(struct accel_job_opts) */
	uint32_t size;
	/** @flags: ACCEL_JOB_* */
	uint32_t flags;
};

/** ACCEL_JOB_OPTS_INIT: default options */
#define ACCEL_JOB_OPTS_INIT	{ sizeof(struct accel_job_opts), 0 }

/**
 * accel_job_create - create an empty job
 * @ctx: context
 * @opts: options, or NULL
 * @job: out
 *
 * Return: 0; -EINVAL, -E2BIG options; -ENOMEM.
 */
ACCEL_API int accel_job_create(struct accel_ctx *ctx,
			       const struct accel_job_opts *opts,
			       struct accel_job **job);

/**
 * accel_job_add - add an operation
 * @job: job that was not submitted yet
 * @plan: plan of the same context
 * @bindings: one for each argument of the plan, in any order
 * @count: number of bindings
 * @deps: indices of operations of this job that it waits for, or NULL
 * @dep_count: number of @deps
 * @index: out: its index, may be NULL
 *
 * The job keeps the buffers alive; they must be large enough. A workspace that the plan needs
 * may be bound, at a multiple of 64 bytes; else the job allocates it. Operations may share a
 * workspace if they do not run at the same time: in a job without ACCEL_JOB_UNORDERED, or if
 * one depends on the other. Its contents are undefined afterwards.
 *
 * Return: 0; -EINVAL a binding is missing, twice, unknown, misaligned, too small, or
 * read-only although it is written, the result overlaps an input, a dependency is not an
 * earlier index; -EBUSY the job was submitted; -ENOSPC too many operations; -ENOMEM.
 */
ACCEL_API int accel_job_add(struct accel_job *job, struct accel_plan *plan,
			    const struct accel_binding *bindings,
			    uint32_t count, const uint32_t *deps,
			    uint32_t dep_count, uint32_t *index);

/**
 * accel_job_add_desc - add an operation by its descriptor
 * @job: job that was not submitted yet
 * @plan: plan of the same context, created from this descriptor; NULL: one is created
 * @desc: the first field of a descriptor whose tensors all have their buffers
 * @deps: as for accel_job_add()
 * @dep_count: as for accel_job_add()
 * @index: as for accel_job_add()
 *
 * Binds the buffers of the descriptor's tensors; errors name its fields. With a plan, only
 * buffers and their offsets may differ from the descriptor that it was created from; tensors
 * that the plan has packed are ignored. Without one, a plan is created for these addresses,
 * at the cost of accel_plan_create().
 *
 * Return: as accel_job_add(), -EINVAL also for another descriptor than the plan's;
 * without @plan also as accel_plan_create().
 */
ACCEL_API int accel_job_add_desc(struct accel_job *job, struct accel_plan *plan,
				 const struct accel_desc *desc, const uint32_t *deps,
				 uint32_t dep_count, uint32_t *index);

/**
 * accel_job_rebind - change the buffers of operations of a job
 * @job: job, submitted or not
 * @bindings: operations, arguments, and their new buffers
 * @count: number of bindings
 *
 * Other arguments do not change. The checks of accel_job_add() apply to the result of all of
 * @bindings; of two for the same argument the later one is used. On failure nothing is
 * changed. Nothing is planned, lowered or allocated.
 *
 * The job must not be running: accel_fence_wait() or accel_fence_get_info() must have
 * reported that each of its submissions is done. A workspace that the job allocated can be
 * replaced by one of the caller, but not the reverse.
 *
 * Rebinding is fastest if addresses change by multiples of 64 bytes, and if results that
 * replace an input still do.
 *
 * Return: 0; -EINVAL as for accel_job_add(), or no such operation; -EBUSY the job is running;
 * -ENODEV.
 */
ACCEL_API int accel_job_rebind(struct accel_job *job, const struct accel_binding *bindings,
			       uint32_t count);

/**
 * accel_job_destroy - release a job; one that is running finishes
 * @job: job, or NULL
 */
ACCEL_API void accel_job_destroy(struct accel_job *job);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_JOB_H */
