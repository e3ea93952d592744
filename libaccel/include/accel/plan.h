/* SPDX-License-Identifier: MIT */
/*
 * Plans: how an operation is executed, chosen once.
 */
#ifndef ACCEL_PLAN_H
#define ACCEL_PLAN_H

#include <stdint.h>
#include <accel/context.h>
#include <accel/desc.h>
#include <accel/types.h>
#include <accel/weights.h>

#if defined(__cplusplus)
extern "C" {
#endif

struct accel_plan;

/**
 * accel_plan_create - check a descriptor and choose how to execute it
 * @ctx: context
 * @desc: the first field of a descriptor
 * @plan: out
 *
 * Chooses engine and algorithm, and lowers the operation to tasks. Buffers of the tensors are
 * ignored, except for weights to be packed, which are read before the function returns. A
 * plan is immutable and may be used by several threads.
 *
 * Return: 0; -EINVAL, -E2BIG bad descriptor; -EOPNOTSUPP valid, but not supported by the
 * requested engine or by any engine: the error record has the field, and an engine that
 * supports it; -ENOMEM; -ENODEV; errors of packing as for accel_fence_wait().
 */
ACCEL_API int accel_plan_create(struct accel_ctx *ctx,
				const struct accel_desc *desc,
				struct accel_plan **plan);

/** ACCEL_PLAN_TUNE: use an earlier measurement; measure if there is none */
#define ACCEL_PLAN_TUNE		(1u << 0)
/** ACCEL_PLAN_TUNE_CACHED: use an earlier measurement, but do not measure */
#define ACCEL_PLAN_TUNE_CACHED	(1u << 1)
/** ACCEL_PLAN_TUNE_AGAIN: with ACCEL_PLAN_TUNE: measure even if there is an earlier measurement */
#define ACCEL_PLAN_TUNE_AGAIN	(1u << 2)
/** ACCEL_PLAN_TUNE_KEEP_OUT: with ACCEL_PLAN_TUNE: do not write measurements to a file */
#define ACCEL_PLAN_TUNE_KEEP_OUT	(1u << 3)

/**
 * struct accel_plan_opts - options of accel_plan_create_opts() and accel_tune()
 */
struct accel_plan_opts {
	/** @size: sizeof(struct accel_plan_opts) */
	uint32_t size;
	/** @flags: ACCEL_PLAN_* */
	uint32_t flags;
	/** @tune_budget_ms: longest time to measure, at most 3600000; 0: 200 */
	uint32_t tune_budget_ms;
	/** @pad: 0 */
	uint32_t pad;
	/** @weights: where packed weights are shared with other plans, or NULL */
	struct accel_weights *weights;
};

/** ACCEL_PLAN_OPTS_INIT: default options: no measurements, no files, no shared weights */
#define ACCEL_PLAN_OPTS_INIT	{ sizeof(struct accel_plan_opts), 0, 0, 0, NULL }

/**
 * accel_plan_create_opts - accel_plan_create() with options
 * @ctx: context
 * @desc: the first field of a descriptor
 * @opts: options, or NULL
 * @plan: out
 *
 * The engine is the one that accel_plan_create() chooses. With ACCEL_PLAN_TUNE the candidates
 * on that engine are measured, see accel_tune(), and the plan uses the fastest. Of an
 * operation that consists of others each one is measured, with a share of the time. If
 * nothing can be measured, or the result cannot be written to the file, the plan is created
 * nevertheless, and the log has the reason. accel_plan_explain() reports what was measured;
 * for an operation that consists of others, how many of them.
 *
 * Return: 0; -EINVAL, -E2BIG options; else as accel_plan_create().
 */
ACCEL_API int accel_plan_create_opts(struct accel_ctx *ctx,
				     const struct accel_desc *desc,
				     const struct accel_plan_opts *opts,
				     struct accel_plan **plan);

/**
 * accel_plan_ref - take another reference
 * @plan: plan
 *
 * Return: @plan.
 */
ACCEL_API struct accel_plan *accel_plan_ref(struct accel_plan *plan);

/**
 * accel_plan_unref - drop a reference
 * @plan: plan, or NULL
 */
ACCEL_API void accel_plan_unref(struct accel_plan *plan);

/**
 * struct accel_plan_info - description of a plan
 */
struct accel_plan_info {
	/** @size: sizeof(struct accel_plan_info) */
	uint32_t size;
	/** @op: &enum accel_op */
	uint32_t op;
	/** @engine: &enum accel_engine chosen */
	uint32_t engine;
	/** @task_count: number of tasks */
	uint32_t task_count;
	/** @macs: multiply-adds, or elements where there are none */
	uint64_t macs;
	/** @read_bytes: bytes of the inputs */
	uint64_t read_bytes;
	/** @write_bytes: bytes of the result */
	uint64_t write_bytes;
	/** @packed_bytes: bytes of packed weights that it holds, alone or with other plans */
	uint64_t packed_bytes;
	/** @workspace_bytes: additional memory that its tasks need; see ACCEL_ARG_WORKSPACE */
	uint64_t workspace_bytes;
	/** @estimate_ns: time on the chip, modelled from clock and bandwidth */
	uint64_t estimate_ns;
	/** @host_bytes: in process: memory that the threads of a run share; owned by the device */
	uint64_t host_bytes;
};

/**
 * accel_plan_get_info - describe a plan
 * @plan: plan
 * @info: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_plan_get_info(struct accel_plan *plan,
				  struct accel_plan_info *info);

/** ACCEL_ARG_WRITTEN: the operation writes it; it may read it, too */
#define ACCEL_ARG_WRITTEN	(1u << 0)

/**
 * struct accel_arg_info - an argument of a plan, which a job binds to a buffer
 */
struct accel_arg_info {
	/** @size: sizeof(struct accel_arg_info) */
	uint32_t size;
	/** @arg: &enum accel_arg, with ACCEL_ARG_SCALES or ACCEL_ARG_ZEROS for tables */
	uint32_t arg;
	/** @flags: ACCEL_ARG_WRITTEN */
	uint32_t flags;
	/** @align: alignment of the address in bytes, at least 1 */
	uint32_t align;
	/** @before: bytes before the address that are accessed, with negative strides */
	uint64_t before;
	/** @bytes: bytes from the address on that are accessed */
	uint64_t bytes;
	/**
	 * @field_offset: offset of the tensor in the descriptor; for a table, of the tensor
	 * that has it
	 */
	uint64_t field_offset;
	/** @name: path in the descriptor: "attention.k", "gemm.b.quant.scales" */
	char name[64];
	/** @tensor: the tensor at @field_offset, without buffers */
	struct accel_tensor tensor;
};

/**
 * accel_plan_get_arg - describe an argument of a plan
 * @plan: plan
 * @index: from 0 on
 * @info: out
 *
 * accel_job_add() needs a binding for each: the tensors of the descriptor and their tables,
 * except for those packed into the plan and those that are not read.
 *
 * Return: 0; -ENOENT no such argument; -EINVAL size.
 */
ACCEL_API int accel_plan_get_arg(struct accel_plan *plan, uint32_t index,
				 struct accel_arg_info *info);

/**
 * enum accel_verdict - result of considering a candidate
 * @ACCEL_CHOSEN: the plan uses it
 * @ACCEL_POSSIBLE: supported, but another is expected to be faster, or was requested
 * @ACCEL_REFUSED: not supported: see field and text
 */
enum accel_verdict {
	ACCEL_CHOSEN = 0,
	ACCEL_POSSIBLE = 1,
	ACCEL_REFUSED = 2
};

/**
 * struct accel_candidate - an engine and an algorithm for an operation
 */
struct accel_candidate {
	/** @size: sizeof(struct accel_candidate) */
	uint32_t size;
	/** @engine: &enum accel_engine */
	uint32_t engine;
	/** @instances: mask of the engines of that kind that it holds for */
	uint32_t instances;
	/** @verdict: &enum accel_verdict */
	uint32_t verdict;
	/** @estimate_ns: modelled time, 0 if refused */
	uint64_t estimate_ns;
	/** @bytes: bytes moved, 0 if refused */
	uint64_t bytes;
	/** @algorithm: static string: "blocked", "blocked, packed" */
	const char *algorithm;
	/** @field: field that is not supported, or empty */
	char field[64];
	/** @text: the reason, one sentence */
	char text[256];
	/** @measured_ns: median of the measurements, 0: not measured */
	uint64_t measured_ns;
	/** @samples: number of measurements */
	uint32_t samples;
	/** @pad: 0 */
	uint32_t pad;
	/**
	 * @kernel: in process, if it is chosen: the kernels of its tasks, "gemv" or "gemm,
	 * gemm"; "model" for the reference code, if no kernel supports a task; else empty
	 */
	char kernel[64];
	/** @kernel_text: why no kernel supports it, one clause; empty: one does, or unknown */
	char kernel_text[128];
};

/**
 * typedef accel_candidate_fn - receives candidates
 * @user: pointer given with it
 * @candidate: valid during the call
 *
 * Return: 0 to go on, anything else to stop.
 */
typedef int accel_candidate_fn(void *user,
			       const struct accel_candidate *candidate);

/**
 * accel_plan_explain - explain the choices of a plan
 * @plan: plan
 * @fn: called for each candidate
 * @user: passed on
 *
 * The candidates are evaluated again, so that plans need not store them. In process this
 * includes the kernels, for buffers that are well aligned and do not overlap; others may get
 * other kernels.
 *
 * Return: 0, -ENOMEM, or what @fn returned.
 */
ACCEL_API int accel_plan_explain(struct accel_plan *plan,
				 accel_candidate_fn *fn, void *user);

/**
 * struct accel_cost - modelled cost of an operation on an engine
 */
struct accel_cost {
	/** @size: sizeof(struct accel_cost) */
	uint32_t size;
	/** @engine: &enum accel_engine */
	uint32_t engine;
	/** @instances: mask of the engines of that kind that it holds for */
	uint32_t instances;
	/** @pad: 0 */
	uint32_t pad;
	/** @ns: time from the start to the end, modelled from clock and bandwidth */
	uint64_t ns;
	/** @energy_pj: picojoules of the engine for that time at full clock; 0: it has no model */
	uint64_t energy_pj;
	/** @bytes: bytes moved */
	uint64_t bytes;
	/** @macs: multiply-adds, or elements where there are none */
	uint64_t macs;
};

/**
 * accel_cost - compute the modelled cost of an operation, without a plan
 * @ctx: context
 * @desc: the first field of a descriptor; its tensors need no buffers
 * @engine: &enum accel_engine; ACCEL_ENGINE_AUTO: the one that a plan would use
 * @cost: out: cost of the algorithm that a plan would use there
 *
 * @engine overrides the engine of the descriptor. If engines of that kind differ, the cost is
 * that of the fastest.
 *
 * Return: 0; -EINVAL, -E2BIG bad descriptor, engine or size; -EOPNOTSUPP the engine, or every
 * one, does not support it: accel_explain() has the reason; -ENOMEM.
 */
ACCEL_API int accel_cost(struct accel_ctx *ctx, const struct accel_desc *desc,
			 uint32_t engine, struct accel_cost *cost);

/**
 * accel_explain - accel_plan_explain() without a plan, also if none is possible
 * @ctx: context
 * @desc: the first field of a descriptor
 * @fn: called for each candidate
 * @user: passed on
 *
 * Return: 0, what @fn returned, or -EINVAL, -E2BIG for a descriptor that no
 * engine could do.
 */
ACCEL_API int accel_explain(struct accel_ctx *ctx,
			    const struct accel_desc *desc,
			    accel_candidate_fn *fn, void *user);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_PLAN_H */
