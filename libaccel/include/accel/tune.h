/* SPDX-License-Identifier: MIT */
/*
 * Tuning: candidates measured on the device, and what is known of them.
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

/** ACCEL_TUNE_WINNER: the fastest; plans take it */
#define ACCEL_TUNE_WINNER	(1u << 0)
/** ACCEL_TUNE_DEFAULT: what a plan takes that was not tuned */
#define ACCEL_TUNE_DEFAULT	(1u << 1)
/** ACCEL_TUNE_DROPPED: it was clearly slower and was not measured further */
#define ACCEL_TUNE_DROPPED	(1u << 2)
/** ACCEL_TUNE_FAILED: it did not end within the time, or failed */
#define ACCEL_TUNE_FAILED	(1u << 3)

/**
 * struct accel_tune_candidate - a way to do an operation, measured
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
	/** @algorithm: as of &struct accel_candidate */
	char algorithm[48];
	/** @hint: what the kernel was told: "variant 1, tile 8x32"; empty: nothing */
	char hint[80];
};

/**
 * enum accel_tune_state - whether an entry of the file is used
 * @ACCEL_TUNE_VALID: it is
 * @ACCEL_TUNE_OTHER_DEVICE: another device, profile or number of threads
 * @ACCEL_TUNE_OTHER_CPU: another CPU, or other instruction sets of it
 * @ACCEL_TUNE_OTHER_VERSION: another version of the library
 * @ACCEL_TUNE_CORRUPT: the checksum does not match; nothing of it is known
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
 * struct accel_tune_entry - what is known of an operation
 */
struct accel_tune_entry {
	/** @size: sizeof(struct accel_tune_entry) */
	uint32_t size;
	/** @state: &enum accel_tune_state */
	uint32_t state;
	/** @op: &enum accel_op */
	uint32_t op;
	/** @threads: of the device when it was measured, 0: not of interest */
	uint32_t threads;
	/** @time: when it was measured, CLOCK_REALTIME seconds */
	uint64_t time;
	/** @default_ns: median time of what a plan takes that was not tuned */
	uint64_t default_ns;
	/** @best_ns: that of the winner */
	uint64_t best_ns;
	/** @spent_ns: how long it was measured */
	uint64_t spent_ns;
	/** @cached: 1: it comes from the file, 0: it was measured just now */
	uint32_t cached;
	/** @candidate_count: number of @candidates */
	uint32_t candidate_count;
	/** @candidates: what was measured, or NULL */
	const struct accel_tune_candidate *candidates;
	/**
	 * @desc: the operation, its tensors without buffers and the engine settled;
	 * NULL if this library would not take it
	 */
	const struct accel_desc *desc;
	/** @words: the operation for a person, or "" */
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
 * typedef accel_tune_fn - receives what was measured
 * @user: pointer given with it
 * @entry: valid during the call
 *
 * Return: 0 to go on, anything else to stop.
 */
typedef int accel_tune_fn(void *user, const struct accel_tune_entry *entry);

/**
 * accel_tune - measure the ways to do an operation, and remember the fastest
 * @ctx: context
 * @desc: the first field of a descriptor; buffers of the tensors are not looked at
 * @opts: options; ACCEL_PLAN_TUNE is implied; NULL: default options
 * @fn: called with the result, of an operation that consists of others with each;
 *	may be NULL
 * @user: passed on
 *
 * Candidates are the algorithms, where there are several, the pieces in which the
 * keys of an attention are cut, and what kernels of the in-process device offer:
 * variant, tile, threads. They run on buffers of their own with random numbers,
 * in turns; what is clearly slower is dropped early. The median counts, and what
 * a plan would take anyway is replaced only by what is faster by more than the
 * noise. All of that ends within the budget, save for weights that are being
 * packed when it does. A result that is too thin to tell is not written.
 *
 * What is remembered decides about speed only: results, and the bound of their
 * error, hold for every candidate, and a hint that does not fit is ignored. But
 * algorithms may round differently, so results may differ between an untuned and
 * a tuned plan by as much.
 *
 * The entry goes into the file of the context, see accel_tune_path(), which is
 * replaced at once. Other processes may do the same at the same time.
 *
 * Threads: any. What else runs on the machine disturbs the measurement.
 *
 * Return: 0; what @fn returned if not 0; -EINVAL, -E2BIG options or descriptor;
 * -ENOENT there is one way only, nothing to measure; -ETIME the budget was too
 * short; errors of writing the file: the record says the path; errors of
 * accel_plan_create() and accel_bo_create().
 */
ACCEL_API int accel_tune(struct accel_ctx *ctx, const struct accel_desc *desc,
			 const struct accel_plan_opts *opts, accel_tune_fn *fn,
			 void *user);

/**
 * accel_tune_path - the file of what was measured
 * @ctx: context
 *
 * It need not exist.
 *
 * Return: static for the context; "" if there is none, as without HOME.
 */
ACCEL_API const char *accel_tune_path(struct accel_ctx *ctx);

/**
 * accel_tune_list - what was measured
 * @ctx: context
 * @fn: called for each entry in the order of the file, those that are not used too
 * @user: passed on
 *
 * Return: 0, also without a file; what @fn returned; errors of open() and read();
 * -EFBIG a file that is too large to be one; -ENOMEM.
 */
ACCEL_API int accel_tune_list(struct accel_ctx *ctx, accel_tune_fn *fn, void *user);

/**
 * accel_tune_prune - remove entries
 * @ctx: context
 * @states: mask of 1 << &enum accel_tune_state: entries with these go
 * @max_age_s: so do those that are older, 0: none
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
