/* SPDX-License-Identifier: MIT */
/*
 * accelbench: how fast the stack is, measured so that it can be compared.
 */
#ifndef ACCELBENCH_H
#define ACCELBENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** enum bench_format - how results are printed */
enum bench_format {
	BENCH_TEXT,
	BENCH_JSON,
	BENCH_CSV
};

/**
 * struct bench_opts - options
 */
struct bench_opts {
	/** @device: device, NULL: the first node, if there is one, and the one in process */
	const char *device;
	/** @format: &enum bench_format */
	enum bench_format format;
	/** @threads: of the in-process device, 0: one a core */
	uint32_t threads;
	/** @batches: measured batches of each case */
	uint32_t batches;
	/** @batch_ns: intended time of a batch */
	uint64_t batch_ns;
	/** @limit: largest ratio of an empty job to the null ioctl, 0: any */
	double limit;
	/** @growth: submissions of the check for growth, 0: measure time instead */
	uint64_t growth;
	/** @only: pattern that the case, or the case, a slash and its types match; NULL: all */
	const char *only;
	/** @peers: measure other libraries too */
	bool peers;
	/** @reproducible: in contexts that are ACCEL_CTX_REPRODUCIBLE */
	bool reproducible;
	/** @best: the fastest batch instead of the median, for a machine with other work */
	bool best;
	/** @compare: file of earlier results, NULL: none */
	const char *compare;
	/** @plot: directory for rooflines, NULL: none */
	const char *plot;
	/** @seed: of the random operands, 0: another one each time */
	uint64_t seed;
	/** @load: of whole models, the time from a compiled file to the first answer */
	bool load;
	/** @model: "text": file, NULL: models with random weights */
	const char *model;
	/** @cpu: with @load, report the processor time of the process */
	bool cpu;
};

/**
 * struct bench_row - a result
 */
struct bench_row {
	/** @name: case */
	const char *name;
	/** @dtype: element type, NULL if there is none */
	const char *dtype;
	/** @threads: threads that work */
	uint32_t threads;
	/** @impl: implementation: "uma", "sw", "drm" */
	const char *impl;
	/** @us: median of the batches, microseconds for one */
	double us;
	/** @over: most memory that was resident, over the weights, 0: not measured */
	uint64_t over;
	/** @ratio: @us to that of the null ioctl, 0 if there is none */
	double ratio;
	/** @spread: of the batches: (third quartile - first) / median */
	double spread;
};

/* stats.c */

/**
 * stats_now - CLOCK_MONOTONIC
 *
 * Return: nanoseconds.
 */
uint64_t stats_now(void);

/**
 * stats_median - median and spread
 * @values: values; are sorted
 * @count: number of values, not 0
 * @spread: out: (third quartile - first) / median, 0 if the median is; may be NULL
 *
 * Return: the median.
 */
double stats_median(double *values, size_t count, double *spread);

/* main.c */

/**
 * bench_print - print a result immediately
 * @opts: format
 * @row: result
 */
void bench_print(const struct bench_opts *opts, const struct bench_row *row);

/**
 * bench_fail - report an error on stderr
 * @err: negative errno, or 0
 * @fmt: one sentence
 *
 * Return: exit status: that of accelctl for the same error.
 */
int bench_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* apart.c */

/**
 * bench_apart - call a function in a separate process
 * @fn: function; what it writes to @fd, with bench_tell(), is returned in @told. It returns an
 *	exit status
 * @arg: argument for @fn
 * @told: out
 * @bytes: of @told
 *
 * Return: exit status.
 */
int bench_apart(int (*fn)(void *arg, int fd), void *arg, void *told, size_t bytes);

/* Returns 0, or 1 on failure */
int bench_tell(int fd, const void *what, size_t bytes);

/* The most memory that was resident, bytes */
uint64_t bench_peak(void);

/* model.c */

/**
 * bench_models - whole models
 * @opts: options
 * @count: number of @files
 * @files: ONNX files
 *
 * Return: exit status.
 */
int bench_models(const struct bench_opts *opts, int count, char **files);

/* load.c */

/**
 * bench_load - measure the time from a compiled program's file to the first result, and memory
 * @opts: options
 * @path: ONNX file
 * @threads: number of threads
 *
 * Return: exit status.
 */
int bench_load(const struct bench_opts *opts, const char *path, uint32_t threads);

/* text.c */

/**
 * bench_text - language models
 * @opts: options
 *
 * Return: exit status.
 */
int bench_text(const struct bench_opts *opts);

/* latency.c */

struct accel_device;
struct accel_ctx;
struct accel_queue;
struct accel_job;

/**
 * struct bench_rig - what is needed to submit
 */
struct bench_rig {
	/** @dev: device */
	struct accel_device *dev;
	/** @ctx: context */
	struct accel_ctx *ctx;
	/** @queue: queue */
	struct accel_queue *queue;
	/** @empty: job without operations */
	struct accel_job *empty;
	/** @smallest: job with one operation on one element */
	struct accel_job *smallest;
	/** @chain: job of copies, for rebinding */
	struct accel_job *chain;
	/** @places: where they may work */
	struct accel_bo *places[2];
	/** @driver: name of the driver */
	char driver[32];
	/** @path: node, empty in process */
	char path[64];
	/** @threads: threads that run jobs in process, else 1 */
	uint32_t threads;
};

/**
 * bench_rig_open - open a device and create the jobs; errors are reported
 * @opts: options
 * @name: device
 * @rig: out
 *
 * Return: exit status.
 */
int bench_rig_open(const struct bench_opts *opts, const char *name, struct bench_rig *rig);

/**
 * bench_rig_close - give it all up
 * @rig: rig
 */
void bench_rig_close(struct bench_rig *rig);

/**
 * bench_roundtrip - submit a job and wait for it
 * @rig: rig
 * @job: job
 * @submit_ns: the time of the submission is added to this, if it is not NULL
 *
 * Return: 0, or a negative errno.
 */
int bench_roundtrip(struct bench_rig *rig, struct accel_job *job, uint64_t *submit_ns);

/**
 * bench_latency - time of a null ioctl, an empty job and the smallest job
 * @opts: options
 * @name: device
 *
 * Return: exit status.
 */
int bench_latency(const struct bench_opts *opts, const char *name);

/* growth.c */

/**
 * bench_growth - does memory grow during many submissions?
 * @opts: options
 * @name: device
 *
 * Return: exit status.
 */
int bench_growth(const struct bench_opts *opts, const char *name);

#endif /* ACCELBENCH_H */
