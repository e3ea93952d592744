/* SPDX-License-Identifier: MIT */
/*
 * Measuring the ways to do an operation, and remembering the fastest.
 *
 *	tune.c		options, choice, explanation: what the planner calls
 *	tune_api.c	what programs call
 *	tune_measure.c	candidates in turns, until the time is up
 *	tune_scratch.c	buffers with random numbers for them
 *	tune_desc.c	an operation as text that names no pointers, and back
 *	tune_entry.c	an entry as a line of the file, and back
 *	tune_file.c	the file
 *	tune_cpu.c	the CPU, in words
 *
 * Documentation/tuning.rst describes the file.
 */
#ifndef LIBACCEL_TUNE_H
#define LIBACCEL_TUNE_H

#include <time.h>
#include "libaccel/core/objects.h"
#include "libaccel/plan/planner.h"

/* Changes when kernels become so different that what was measured is void */
#define TUNE_REVISION		1
/* Candidates of an operation, at most */
#define TUNE_MAX		64u
#define TUNE_DEFAULT_MS		200u
#define TUNE_MAX_MS		3600000u
/* Entries of a file, and its bytes, at most */
#define TUNE_MAX_ENTRIES	4096u
#define TUNE_MAX_BYTES		(64u * 1024u * 1024u)
#define TUNE_FILE		"entries.v1"
/* More than noise: the default is replaced by what takes less than this share */
#define TUNE_GAIN		0.97
/* Measurements below which a median means nothing */
#define TUNE_MIN_SAMPLES	3u

/**
 * struct tune_candidate - a way to do an operation
 * @algorithm: as accel_plan_explain() tells it
 * @hint: for the kernel
 * @pieces: attention: pieces of the keys, 0: as the descriptor says
 * @flags: ACCEL_TUNE_*
 * @samples: measurements
 * @ns: their median
 */
struct tune_candidate {
	char algorithm[48];
	struct fast_hint hint;
	uint32_t pieces;
	uint32_t flags;
	uint32_t samples;
	uint64_t ns;
};

/**
 * struct tune_entry - what is known of an operation
 * @cpu: key: CPU, caches, instruction sets
 * @version: key: of the library
 * @device: key: device and profile
 * @threads: key
 * @desc: key: the operation, see tune_desc_encode()
 * @words: the operation for a person
 * @op: &enum accel_op
 * @time: CLOCK_REALTIME seconds
 * @spent_ns: how long it was measured
 * @cached: from the file
 * @count: number of @c
 * @c: candidates; one is the default, one the winner
 */
struct tune_entry {
	char cpu[192];
	char version[24];
	char device[96];
	uint32_t threads;
	char desc[6144];
	char words[320];
	uint32_t op;
	uint64_t time;
	uint64_t spent_ns;
	bool cached;
	uint32_t count;
	struct tune_candidate c[TUNE_MAX];
};

/**
 * struct tuning - what is wanted of a plan, and what became of it
 * @flags: ACCEL_PLAN_*
 * @deadline: CLOCK_MONOTONIC nanoseconds
 * @weights: where packed weights are shared, or NULL
 * @left: operations that share the time
 * @fn: receives results, or NULL
 * @user: passed on
 * @stop: what @fn returned
 * @status: worst of what went wrong: -ENOENT, -ETIME
 * @file_status: why a result could not be kept
 * @done: operations with a result
 */
struct tuning {
	uint32_t flags;
	uint64_t deadline;
	struct accel_weights *weights;
	uint32_t left;
	accel_tune_fn *fn;
	void *user;
	int stop;
	int status;
	int file_status;
	uint32_t done;
};

/* tune.c */
int tune_path_create(const char *dir, char **path);
int tuning_init(struct accel_ctx *ctx, const struct accel_plan_opts *opts, bool implied,
		struct tuning *t);
void tune_key(struct accel_ctx *ctx, struct tune_entry *e);
struct tune_entry *tune_choose(struct accel_ctx *ctx, const struct request *req,
			       struct choices *all);
const struct tune_candidate *tune_winner(const struct tune_entry *e);
const struct tune_candidate *tune_default(const struct tune_entry *e);
void tune_take(const struct tune_entry *e, const struct request *req, struct choices *all);
int tune_annotate(struct plan_candidates **candidates, const struct choices *all,
		  const struct tune_entry *e);
void tune_hint_words(const struct tune_candidate *c, char *buf, size_t size);

/* tune_api.c */
int tune_report(const struct tune_entry *e, uint32_t state, const char *json, uint64_t line,
		accel_tune_fn *fn, void *user);

/* tune_measure.c */
int tune_measure(struct accel_ctx *ctx, const union any_desc *desc, uint64_t deadline,
		 struct tune_entry *e);

/* tune_scratch.c */

/**
 * struct tune_scratch - buffers
 * @count: number of @bo
 * @bo: buffers
 */
struct tune_scratch {
	uint32_t count;
	struct accel_bo *bo[3 * REQUEST_SLOTS];
};

int tune_scratch_create(struct accel_ctx *ctx, const struct request *req,
			struct tune_scratch *s);
void tune_scratch_destroy(struct tune_scratch *s);

/* tune_desc.c */
int tune_desc_make(const struct request *req, uint32_t engine, union any_desc *out);
int tune_desc_encode(const union any_desc *desc, char *buf, size_t size);
int tune_desc_decode(const char *text, union any_desc *desc);
void tune_desc_words(const struct request *req, char *buf, size_t size);

/* tune_entry.c */
uint64_t tune_entry_hash(const struct tune_entry *e);
bool tune_entry_same(const struct tune_entry *a, const struct tune_entry *b);
char *tune_entry_line(const struct tune_entry *e);
int tune_entry_parse(const char *json, size_t size, struct tune_entry *e);

/* tune_file.c */

/**
 * struct tune_line - a line of the file
 * @text: without the newline
 * @size: bytes of it
 * @number: from 1
 * @json: its JSON text, NULL: the checksum does not match
 * @json_size: bytes of that
 * @hash: of its key
 */
struct tune_line {
	const char *text;
	size_t size;
	uint64_t number;
	const char *json;
	size_t json_size;
	uint64_t hash;
};

/**
 * typedef tune_keep_fn - does a line stay in the file?
 */
typedef bool tune_keep_fn(void *user, const struct tune_line *line);

int tune_file_read(const char *path, char **text, size_t *size);
bool tune_file_next(const char *text, size_t size, size_t *at, struct tune_line *line);
int tune_file_find(const char *path, struct tune_entry *e);
int tune_file_edit(const char *path, tune_keep_fn *keep, void *user, const char *add,
		   bool create);
int tune_file_store(const char *path, const struct tune_entry *e);

/* tune_cpu.c */
void tune_cpu_words(const char *kernels, char *buf, size_t size);

static inline uint64_t tune_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

#endif /* LIBACCEL_TUNE_H */
