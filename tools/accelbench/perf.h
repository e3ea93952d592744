/* SPDX-License-Identifier: MIT */
/*
 * accelbench: compares this library with others, and both with the limits of the machine.
 *
 * A case is one operation of one size. Its implementations, and a loop of the limiting
 * instructions (multiply-adds, or reads), run alternately in one process, so that a drift of
 * the machine affects all of them.
 */
#ifndef PERF_H
#define PERF_H

#include <accel/accel.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accelbench.h"

/** PERF_IMPLS: most implementations of a case */
#define PERF_IMPLS	6
/** PERF_SAMPLES: outputs of a large result that are compared with float64 */
#define PERF_SAMPLES	64
/** PERF_COLD: bytes of operands that exceed all caches when they are used in turn */
#define PERF_COLD	(160u << 20)

/**
 * enum perf_bound - limit of an operation
 * @PERF_NONE: none
 * @PERF_FP32: multiply-adds of binary32
 * @PERF_BF16: of bfloat16, into binary32
 * @PERF_INT8: of bytes, into 32 bits
 * @PERF_READ: reading its operands
 * @PERF_DOT_FP32: reading them, with a multiply-add for each number: binary32
 * @PERF_DOT_BF16: bfloat16
 * @PERF_DOT_INT8: bytes
 */
enum perf_bound {
	PERF_NONE,
	PERF_FP32,
	PERF_BF16,
	PERF_INT8,
	PERF_READ,
	PERF_DOT_FP32,
	PERF_DOT_BF16,
	PERF_DOT_INT8
};

/** struct perf_impl - an implementation of the operation */
struct perf_impl {
	/** @name: "ours", or the library */
	const char *name;
	/** @run: do it @ops times; 0 or a negative errno */
	int (*run)(void *state);
	/** @error: error of a result against float64; may be NULL */
	double (*error)(const void *d, void *arg);
	/** @d: result */
	const void *d;
	/** @error_arg: passed on */
	void *error_arg;
	/** @release: release @state */
	void (*release)(void *state);
	/** @state: passed on */
	void *state;
	/** @ops: operations that a run is, at least 1 */
	uint32_t ops;
	/** @plan: ours: plan of the first */
	struct accel_plan *plan;
};

/** struct perf_case - a case */
struct perf_case {
	/** @name: "gemm/32x32x32/packed" */
	char name[64];
	/** @dtype: element types: "fp32", "s8" */
	const char *dtype;
	/** @flops: of one operation: two a multiply-add */
	double flops;
	/** @bytes: that one operation reads and writes at least */
	double bytes;
	/** @bound: &enum perf_bound */
	enum perf_bound bound;
	/** @read_bytes: from PERF_READ on: bytes read by an operation */
	double read_bytes;
	/** @read_set: likewise: bytes that operations read in turn: says which cache */
	size_t read_set;
};

/**
 * struct perf_row - a result
 */
struct perf_row {
	/** @name: case */
	char name[64];
	/** @dtype: element types */
	char dtype[16];
	/** @impl: implementation */
	char impl[24];
	/** @threads: threads that work */
	uint32_t threads;
	/** @gflops: 10^9 operations per second: nominal ones, two for each multiply-add */
	double gflops;
	/** @us: median time of one */
	double us;
	/** @limit: GFLOP/s that the bound allows, measured meanwhile; 0: none */
	double limit;
	/** @spread: (third quartile - first) / median */
	double spread;
	/** @error: largest error against float64, of the largest result; negative: not known */
	double error;
	/** @intensity: operations a byte */
	double intensity;
	/** @extra: "memory": workspace, packed weights, allowed workspace, growth; else -1 */
	double extra[4];
	/** @ratio: "text": another library's time to this one, 0: not known */
	double ratio;
	/** @tokens: "text": tokens per second, 0: does not apply */
	double tokens;
	/** @peak: "text": peak resident memory, 0: does not apply */
	double peak;
	/** @over: "text", "model": peak resident memory without the model's files */
	double over;
	/** @accepted: "text": share of guessed tokens that were right, 0: does not apply */
	double accepted;
};

/**
 * struct perf - the state of a run
 */
struct perf {
	/** @opts: options */
	const struct bench_opts *opts;
	/** @threads: threads at the moment */
	uint32_t threads;
	/** @dev: in-process device with this number of threads */
	struct accel_device *dev;
	/** @ctx: context */
	struct accel_ctx *ctx;
	/** @queue: queue */
	struct accel_queue *queue;
	/** @weights_dir: of the context, NULL: none */
	const char *weights_dir;
	/** @rng: state of the random numbers */
	uint64_t rng;
	/** @rows: results so far */
	struct perf_row *rows;
	/** @count: their number */
	size_t count;
	/** @memory: measure memory instead of time */
	bool memory;
	/** @failed: exit status so far */
	int failed;
};

/* perf.c */

/**
 * perf_wanted - is a case to be done?
 * @perf: state
 * @name: case
 * @dtype: element types
 *
 * Return: whether --only lets it through.
 */
bool perf_wanted(const struct perf *perf, const char *name, const char *dtype);

/**
 * perf_peers - are others to be measured too?
 * @perf: state
 *
 * Return: whether they are.
 */
bool perf_peers(const struct perf *perf);

/**
 * perf_measure - measure implementations alternately, check them, print, give them up
 * @perf: state
 * @c: case
 * @impls: implementations; all are released
 * @count: number of them
 *
 * One that fails is reported and left out.
 */
void perf_measure(struct perf *perf, const struct perf_case *c, struct perf_impl *impls,
		  uint32_t count);

/**
 * perf_add - keep and print a result
 * @perf: state
 * @row: result
 */
void perf_add(struct perf *perf, const struct perf_row *row);

/**
 * perf_main - gemm, gemv, pack, conv, attention, lines, latency, memory, all
 * @opts: options
 * @command: which
 *
 * Return: exit status.
 */
int perf_main(const struct bench_opts *opts, const char *command);

/* team.c */

/**
 * team_run - call a function on several pinned threads at once
 * @threads: number, the caller being the first
 * @fn: function; its first argument is the thread's number
 * @arg: passed on
 */
void team_run(uint32_t threads, void (*fn)(uint32_t thread, void *arg), void *arg);

/**
 * team_pin_self - keep the calling thread on the first processor of the process
 */
void team_pin_self(void);

/**
 * team_pin_new - pin the threads of the process that were not there last time
 * @place: processor of the first, from 0; the others follow in turn
 */
void team_pin_new(uint32_t place);

/**
 * team_cpus - processors that the process may use
 *
 * Return: their number.
 */
uint32_t team_cpus(void);

/* limits.c */

/**
 * limit_flops - do nothing but multiply-adds
 * @bound: PERF_FP32, PERF_BF16, PERF_INT8
 * @threads: threads
 * @loops: rounds, some tens of nanoseconds each
 *
 * Return: operations done, two a multiply-add.
 */
double limit_flops(enum perf_bound bound, uint32_t threads, uint64_t loops);

/**
 * limit_read - do nothing but read, and perhaps multiply
 * @bound: PERF_READ, PERF_DOT_*
 * @data: 64-byte aligned
 * @bytes: size, a multiple of 4096
 * @threads: threads that have a part each
 * @loops: how often
 */
void limit_read(enum perf_bound bound, const void *data, size_t bytes, uint32_t threads,
		uint64_t loops);

/**
 * limit_name - which instruction a limit is measured with
 * @bound: anything but PERF_NONE
 *
 * Return: "vfmadd, 512 bits".
 */
const char *limit_name(enum perf_bound bound);

/* data.c */

/**
 * data_fill - random numbers: floats between -1 and 1, bytes of the whole range
 * @rng: state of the random numbers
 * @dtype: &enum accel_dtype
 * @data: where to
 * @count: elements
 */
void data_fill(uint64_t *rng, uint32_t dtype, void *data, uint64_t count);

/**
 * data_get - an element as it is stored
 * @dtype: &enum accel_dtype
 * @data: tensor
 * @i: index
 *
 * Return: its value.
 */
double data_get(uint32_t dtype, const void *data, uint64_t i);

/**
 * data_name - short name of an element type: "fp32", "s8"
 * @dtype: &enum accel_dtype
 *
 * Return: static string.
 */
const char *data_name(uint32_t dtype);

/**
 * data_bytes - bytes of so many elements
 * @dtype: &enum accel_dtype
 * @count: elements
 *
 * Return: bytes.
 */
uint64_t data_bytes(uint32_t dtype, uint64_t count);

/**
 * struct data_errors - the largest error so far
 */
struct data_errors {
	/** @diff: largest difference */
	double diff;
	/** @size: largest magnitude of a right result */
	double size;
};

/**
 * data_compare - take another result into account
 * @e: errors so far
 * @got: result
 * @want: right result
 */
void data_compare(struct data_errors *e, double got, double want);

/**
 * data_error - the largest difference, of the largest magnitude
 * @e: errors
 *
 * Return: the quotient.
 */
double data_error(const struct data_errors *e);

/* ours.c */

/**
 * ours_open - open the in-process device
 * @perf: state
 * @threads: threads
 *
 * Return: exit status.
 */
int ours_open(struct perf *perf, uint32_t threads);

/**
 * ours_close - the opposite
 * @perf: state
 */
void ours_close(struct perf *perf);

/**
 * struct ours_op - an operation of a job: a plan and its buffers
 */
struct ours_op {
	/** @plan: plan */
	struct accel_plan *plan;
	/** @bind: bindings */
	struct accel_binding bind[10];
	/** @count: number of them */
	uint32_t count;
};

/**
 * ours_bind - bind a buffer
 * @op: operation
 * @arg: &enum accel_arg
 * @bo: buffer; NULL: there is none, nothing is bound
 */
void ours_bind(struct ours_op *op, uint32_t arg, struct accel_bo *bo);

/**
 * ours_impl - a job as an implementation
 * @perf: state
 * @ops: operations
 * @count: number of them
 * @flags: ACCEL_JOB_*
 * @impl: out
 *
 * Return: 0 or a negative errno.
 */
int ours_impl(struct perf *perf, const struct ours_op *ops, uint32_t count, uint32_t flags,
	      struct perf_impl *impl);

/**
 * ours_submit - submit the job of ours_impl()
 * @state: its state
 * @fence: out
 *
 * Return: 0 or a negative errno.
 */
int ours_submit(void *state, struct accel_fence **fence);

/**
 * ours_fail - report what a call on the context has failed with
 * @perf: state
 * @what: case
 * @err: negative errno
 */
void ours_fail(struct perf *perf, const char *what, int err);

/**
 * ours_random - a buffer of random numbers
 * @perf: state
 * @dtype: &enum accel_dtype
 * @count: elements
 * @bo: out
 *
 * Return: 0 or a negative errno.
 */
int ours_random(struct perf *perf, uint32_t dtype, uint64_t count, struct accel_bo **bo);

/**
 * ours_result - a buffer whose pages are there
 * @perf: state
 * @bytes: size
 * @bo: out
 *
 * Return: 0 or a negative errno.
 */
int ours_result(struct perf *perf, uint64_t bytes, struct accel_bo **bo);

/* The commands: gemm.c, conv.c, attention.c, lines.c, calls.c, memory.c */

/**
 * gemm_cases - square and BERT's products
 * @perf: state
 */
void gemm_cases(struct perf *perf);

/**
 * job_cases - long jobs of products in order
 * @perf: state
 */
void job_cases(struct perf *perf);

/**
 * gemv_cases - products with few rows
 * @perf: state
 */
void gemv_cases(struct perf *perf);

/**
 * pack_cases - weights that a plan holds
 * @perf: state
 */
void pack_cases(struct perf *perf);

/**
 * conv_cases - ResNet-50's and MobileNet's convolutions
 * @perf: state
 */
void conv_cases(struct perf *perf);

/**
 * attention_cases - attention of prompts and of single tokens
 * @perf: state
 */
void attention_cases(struct perf *perf);

/**
 * line_cases - norms, functions of elements, conversions, layouts
 * @perf: state
 */
void line_cases(struct perf *perf);

/**
 * call_cases - what a call costs beside the work
 * @perf: state
 */
void call_cases(struct perf *perf);

/**
 * memory_cases - workspace of plans, and what running them takes
 * @perf: state
 */
void memory_cases(struct perf *perf);

/**
 * limit_cases - what the machine can do at most
 * @perf: state
 */
void limit_cases(struct perf *perf);

/**
 * gemm_calls - a small product, as a call and as one of many
 * @perf: state
 */
void gemm_calls(struct perf *perf);

/**
 * memory_measure - run a plan, and see what that takes
 * @perf: state
 * @c: case
 * @impl: ours
 */
void memory_measure(struct perf *perf, const struct perf_case *c, const struct perf_impl *impl);

/* report.c */

/* The heads of columns, if the format has them, once */
void report_head(const struct bench_opts *opts);

/**
 * report_row - print a result
 * @opts: format
 * @row: result
 */
void report_row(const struct bench_opts *opts, const struct perf_row *row);

/**
 * report_load - read results that were printed as JSON
 * @path: file
 * @rows: out: results; the caller frees them
 * @count: out: number of them
 *
 * Return: 0; an exit status after an error was reported.
 */
int report_load(const char *path, struct perf_row **rows, size_t *count);

/**
 * report_share - share of the limit
 * @row: result
 *
 * Return: share, 0 if there is no limit.
 */
double report_share(const struct perf_row *row);

/**
 * report_find - a result
 * @rows: results
 * @count: number of them
 * @like: one with the case, type, threads wanted
 * @impl: who
 *
 * Return: the last that fits, or NULL.
 */
const struct perf_row *report_find(const struct perf_row *rows, size_t count,
				   const struct perf_row *like, const char *impl);

/* compare.c */

/**
 * compare_rows - say what has become slower than it was
 * @rows: new results
 * @count: number of them
 * @path: old results
 *
 * Return: 0; 1 something has; other exit statuses.
 */
int compare_rows(const struct perf_row *rows, size_t count, const char *path);

/* plot.c */

/**
 * plot_rows - write rooflines for gnuplot, and draw them if it is there
 * @rows: results
 * @count: number of them
 * @dir: directory; made if it is not there
 *
 * Return: exit status.
 */
int plot_rows(const struct perf_row *rows, size_t count, const char *dir);

/* model.c */

/**
 * model_case - name of a case of a whole model
 * @path: its file
 * @what: the rest of the name
 * @name: out: "model/resnet50/8"
 * @size: of @name
 */
void model_case(const char *path, const char *what, char *name, size_t size);

/* bars.c */

/**
 * bars_print - hold results against what they should be
 * @rows: results
 * @count: number of them
 * @all: every case, not only those that miss
 *
 * Return: 0; 1 if a bar was missed.
 */
int bars_print(const struct perf_row *rows, size_t count, bool all);

#endif /* PERF_H */
