/* SPDX-License-Identifier: MIT */
/*
 * Plans: how an operation will run, chosen once.
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
 * accel_plan_create - check a descriptor and decide how it is done
 * @ctx: context
 * @desc: the first field of a descriptor
 * @plan: out
 *
 * Chooses engine and algorithm and lowers to tasks. Buffers of the tensors are
 * not looked at, save for weights that are to be packed; those are read before
 * this returns. A plan is immutable and may be used by several threads.
 *
 * Return: 0; -EINVAL, -E2BIG bad descriptor; -EOPNOTSUPP valid, but the engine
 * asked for, or every engine, refuses it: the error record says which field and
 * which engine would take it; -ENOMEM; -ENODEV; errors of packing as of
 * accel_fence_wait().
 */
ACCEL_API int accel_plan_create(struct accel_ctx *ctx,
				const struct accel_desc *desc,
				struct accel_plan **plan);

/** ACCEL_PLAN_TUNE: use what was measured before; measure now if nothing was */
#define ACCEL_PLAN_TUNE		(1u << 0)
/** ACCEL_PLAN_TUNE_CACHED: use what was measured before, but measure nothing */
#define ACCEL_PLAN_TUNE_CACHED	(1u << 1)
/** ACCEL_PLAN_TUNE_AGAIN: with ACCEL_PLAN_TUNE: measure also if it was measured before */
#define ACCEL_PLAN_TUNE_AGAIN	(1u << 2)
/** ACCEL_PLAN_TUNE_KEEP_OUT: with ACCEL_PLAN_TUNE: write no file */
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

/** ACCEL_PLAN_OPTS_INIT: default options: nothing is measured, no file is read or shared */
#define ACCEL_PLAN_OPTS_INIT	{ sizeof(struct accel_plan_opts), 0, 0, 0, NULL }

/**
 * accel_plan_create_opts - the same, with a say in how it decides
 * @ctx: context
 * @desc: the first field of a descriptor
 * @opts: options, or NULL
 * @plan: out
 *
 * The engine is always the one that accel_plan_create() takes. With
 * ACCEL_PLAN_TUNE the ways to do the operation there are measured, see
 * accel_tune(), and the plan takes the fastest. Of an operation that consists of
 * others each of those is measured, and has a share of the time. If nothing can
 * be measured, or the winner cannot be written to the file, the plan is made all
 * the same, and the log says what was in the way. accel_plan_explain() tells what
 * was measured, of an operation that consists of others how many of those.
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
 * struct accel_plan_info - what a plan came to
 */
struct accel_plan_info {
	/** @size: sizeof(struct accel_plan_info) */
	uint32_t size;
	/** @op: &enum accel_op */
	uint32_t op;
	/** @engine: &enum accel_engine chosen */
	uint32_t engine;
	/** @task_count: tasks that it lowers to */
	uint32_t task_count;
	/** @macs: multiply-adds, or elements where there are none */
	uint64_t macs;
	/** @read_bytes: bytes of the inputs */
	uint64_t read_bytes;
	/** @write_bytes: bytes of the result */
	uint64_t write_bytes;
	/** @packed_bytes: bytes of packed weights that it holds, alone or with other plans */
	uint64_t packed_bytes;
	/** @workspace_bytes: memory that its tasks need beside; see ACCEL_ARG_WORKSPACE */
	uint64_t workspace_bytes;
	/** @estimate_ns: time on the chip, modelled from clock and bandwidth */
	uint64_t estimate_ns;
	/** @host_bytes: memory that the threads of a run in process share; the device keeps it */
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
 * struct accel_arg_info - what a job binds for a plan
 */
struct accel_arg_info {
	/** @size: sizeof(struct accel_arg_info) */
	uint32_t size;
	/** @arg: &enum accel_arg, with ACCEL_ARG_SCALES or ACCEL_ARG_ZEROS for tables */
	uint32_t arg;
	/** @flags: ACCEL_ARG_WRITTEN */
	uint32_t flags;
	/** @align: what the address is a multiple of, at least 1 */
	uint32_t align;
	/** @before: bytes before the address that are touched: negative strides */
	uint64_t before;
	/** @bytes: bytes from the address on that are touched */
	uint64_t bytes;
	/** @field_offset: where in the descriptor the tensor is, that of a table its owner */
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
 * These are what accel_job_add() wants bindings for: the tensors of the descriptor
 * and their tables, but for what is packed, which the plan holds, and what is not
 * read.
 *
 * Return: 0; -ENOENT there are no more; -EINVAL size.
 */
ACCEL_API int accel_plan_get_arg(struct accel_plan *plan, uint32_t index,
				 struct accel_arg_info *info);

/**
 * enum accel_verdict - what became of a candidate
 * @ACCEL_CHOSEN: the plan uses it
 * @ACCEL_POSSIBLE: it could run there, but another is expected to be faster, or was asked for
 * @ACCEL_REFUSED: it cannot run there: see field and text
 */
enum accel_verdict {
	ACCEL_CHOSEN = 0,
	ACCEL_POSSIBLE = 1,
	ACCEL_REFUSED = 2
};

/**
 * struct accel_candidate - one way to do an operation
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
	/** @field: field that was refused, or empty */
	char field[64];
	/** @text: the reason, one sentence */
	char text[256];
	/** @measured_ns: median of what was measured, 0: it was not */
	uint64_t measured_ns;
	/** @samples: number of measurements */
	uint32_t samples;
	/** @pad: 0 */
	uint32_t pad;
	/**
	 * @kernel: in process, if it is chosen: the kernels that its tasks run, "gemv" or
	 * "gemm, gemm"; "model" where none takes a task and the reference code does; else empty
	 */
	char kernel[64];
	/** @kernel_text: why none takes it, one clause; empty: one does, or nobody knows */
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
 * accel_plan_explain - why a plan is what it is
 * @plan: plan
 * @fn: called for each candidate
 * @user: passed on
 *
 * The engines are asked again, so that a plan costs nothing that nobody reads. In
 * process the kernels are asked, too: buffers that lie otherwise than well aligned and
 * apart may get another one.
 *
 * Return: 0, -ENOMEM, or what @fn returned.
 */
ACCEL_API int accel_plan_explain(struct accel_plan *plan,
				 accel_candidate_fn *fn, void *user);

/**
 * struct accel_cost - what an operation takes on an engine, as the model of the chip says
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
 * accel_cost - what an operation takes, without a plan and without words
 * @ctx: context
 * @desc: the first field of a descriptor; its tensors need no buffers
 * @engine: &enum accel_engine; ACCEL_ENGINE_AUTO: that which a plan would have
 * @cost: out: of the way to do it that a plan would take there
 *
 * Whichever engine the descriptor asks for, @engine counts. Of engines of a kind
 * that are not alike it is the fastest.
 *
 * Return: 0; -EINVAL, -E2BIG bad descriptor, engine or size; -EOPNOTSUPP the engine,
 * or every one, refuses it: accel_explain() has the reason; -ENOMEM.
 */
ACCEL_API int accel_cost(struct accel_ctx *ctx, const struct accel_desc *desc,
			 uint32_t engine, struct accel_cost *cost);

/**
 * accel_explain - accel_plan_explain() without making a plan, also when there is none
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
