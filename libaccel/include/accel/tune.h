/* SPDX-License-Identifier: MIT */
/*
 * Tuning: measuring candidates on the device, and keeping the results.
 */
#ifndef ACCEL_TUNE_H
#define ACCEL_TUNE_H

#include <stdint.h>
#include <accel/context.h>
#include <accel/desc.h>
#include <accel/plan.h>
#include <accel/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** ACCEL_TUNE_WINNER: the fastest; tuned plans use it */
#define ACCEL_TUNE_WINNER	(1u << 0)
/** ACCEL_TUNE_DEFAULT: used by plans that are not tuned */
#define ACCEL_TUNE_DEFAULT	(1u << 1)
/** ACCEL_TUNE_DROPPED: clearly slower, so not measured to the end */
#define ACCEL_TUNE_DROPPED	(1u << 2)
/** ACCEL_TUNE_FAILED: failed, or did not end in time */
#define ACCEL_TUNE_FAILED	(1u << 3)

/**
 * struct accel_tune_candidate - a measured candidate for an operation
 */
struct accel_tune_candidate {
	/** @size: sizeof(struct accel_tune_candidate) */
	uint32_t size;
	/** @flags: ACCEL_TUNE_* */
	uint32_t flags;
	/** @ns: median time, 0 if it failed */
	uint64_t ns;
	/** @samples: number of measurements */
	uint32_t samples;
	/** @pad: 0 */
	uint32_t pad;
	/** @algorithm: as in &struct accel_candidate */
	char algorithm[48];
	/** @hint: hint to the kernel: "variant 1, tile 8x32"; empty: none */
	char hint[80];
};

/**
 * enum accel_tune_state - is an entry of the file used?
 * @ACCEL_TUNE_VALID: yes
 * @ACCEL_TUNE_OTHER_DEVICE: another device, profile or number of threads
 * @ACCEL_TUNE_OTHER_CPU: another CPU, or other instruction sets
 * @ACCEL_TUNE_OTHER_VERSION: another version of the library
 * @ACCEL_TUNE_CORRUPT: the checksum does not match; its contents are unknown
 * @ACCEL_TUNE_STATE_COUNT: number of values
 */
enum accel_tune_state {
	ACCEL_TUNE_VALID = 0,
	ACCEL_TUNE_OTHER_DEVICE = 1,
	ACCEL_TUNE_OTHER_CPU = 2,
	ACCEL_TUNE_OTHER_VERSION = 3,
	ACCEL_TUNE_CORRUPT = 4,
	ACCEL_TUNE_STATE_COUNT = 5
};

/**
 * struct accel_tune_entry - measurements of an operation
 */
struct accel_tune_entry {
	/** @size: sizeof(struct accel_tune_entry) */
	uint32_t size;
	/** @state: &enum accel_tune_state */
	uint32_t state;
	/** @op: &enum accel_op */
	uint32_t op;
	/** @threads: number of threads of the device, 0: not relevant */
	uint32_t threads;
	/** @time: time of the measurement, CLOCK_REALTIME seconds */
	uint64_t time;
	/** @default_ns: median time of the default candidate */
	uint64_t default_ns;
	/** @best_ns: median time of the winner */
	uint64_t best_ns;
	/** @spent_ns: duration of the measurement */
	uint64_t spent_ns;
	/** @cached: 1: from the file, 0: just measured */
	uint32_t cached;
	/** @candidate_count: number of @candidates */
	uint32_t candidate_count;
	/** @candidates: measured candidates, or NULL */
	const struct accel_tune_candidate *candidates;
	/**
	 * @desc: the operation, with its engine, without buffers; NULL if this library does
	 * not support it
	 */
	const struct accel_desc *desc;
	/** @words: description of the operation, or "" */
	const char *words;
	/** @cpu: CPU, caches and instruction sets */
	const char *cpu;
	/** @version: version of the library */
	const char *version;
	/** @device: device and profile */
	const char *device;
	/** @json: the whole entry, one JSON object, or "" */
	const char *json;
	/** @line: line of the file, from 1; 0: not from the file */
	uint64_t line;
};

/**
 * typedef accel_tune_fn - receives measurements
 * @user: pointer given with it
 * @entry: valid during the call
 *
 * Return: 0 to go on, anything else to stop.
 */
typedef int accel_tune_fn(void *user, const struct accel_tune_entry *entry);

/**
 * accel_tune - measure the candidates for an operation, and keep the result
 * @ctx: context
 * @desc: the first field of a descriptor; buffers of the tensors are ignored
 * @opts: options; ACCEL_PLAN_TUNE is implied; NULL: default options
 * @fn: called with the result; for an operation that consists of others, with each; may be
 *	NULL
 * @user: passed on
 *
 * Candidates differ in the algorithm, in the number of pieces of the keys of an attention,
 * and in options of the kernels of the in-process device: variant, tile, threads. They run
 * alternately, on buffers of their own with random numbers; clearly slower ones are dropped
 * early. Medians are compared, and the default candidate is replaced only by one that is
 * faster by more than the noise. The measurement ends within the budget, except for weights
 * that are being packed. A result with too few samples is not written.
 *
 * Tuning affects speed only: the error bounds of results hold for all candidates, and a hint
 * that does not apply is ignored. But algorithms may round differently, so the results of a
 * tuned and an untuned plan may differ within these bounds.
 *
 * The entry is written to the file of the context, see accel_tune_path(), which is replaced
 * atomically. Several processes may do this at the same time.
 *
 * Threads: any. Other load of the machine disturbs the measurement.
 *
 * Return: 0; what @fn returned if not 0; -EINVAL, -E2BIG options or descriptor; -ENOENT there
 * is one candidate only; -ETIME the budget was too short; errors of writing the file, whose
 * path is in the error record; errors of accel_plan_create() and accel_bo_create().
 */
ACCEL_API int accel_tune(struct accel_ctx *ctx, const struct accel_desc *desc,
			 const struct accel_plan_opts *opts, accel_tune_fn *fn,
			 void *user);

/**
 * accel_tune_path - path of the file of measurements
 * @ctx: context
 *
 * It need not exist.
 *
 * Return: valid as long as the context; "" if there is none, for instance without HOME.
 */
ACCEL_API const char *accel_tune_path(struct accel_ctx *ctx);

/**
 * accel_tune_list - list the measurements of the file
 * @ctx: context
 * @fn: called for each entry in the order of the file, including those that are not used
 * @user: passed on
 *
 * Return: 0, also without a file; what @fn returned; errors of open() and read();
 * -EFBIG a file that is too large to be one; -ENOMEM.
 */
ACCEL_API int accel_tune_list(struct accel_ctx *ctx, accel_tune_fn *fn, void *user);

/**
 * accel_tune_prune - remove entries
 * @ctx: context
 * @states: mask of 1 << &enum accel_tune_state: entries to remove
 * @max_age_s: remove entries that are older, 0: none
 * @removed: out: their number, may be NULL
 *
 * Return: 0, also without a file; errors of reading and writing it.
 */
ACCEL_API int accel_tune_prune(struct accel_ctx *ctx, uint32_t states,
			       uint64_t max_age_s, uint64_t *removed);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_TUNE_H */
