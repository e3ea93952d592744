// SPDX-License-Identifier: MIT
/*
 * From a compiled program's file to the first result, compared with ONNX Runtime from the
 * optimised model that it wrote: a new process each time, with and without the file in the page
 * cache. Preparation also runs in separate processes, so that memory is not inherited.
 */
#include <accel/accel.h>
#include <accel/model.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ort.h"
#include "perf.h"

#define NAME_MAX_IO	64

/**
 * struct load_io - what a model takes and gives
 * @in_count: inputs
 * @out_count: outputs
 * @in: their names
 * @out: likewise
 * @type: of inputs
 * @rank: likewise
 * @dims: likewise
 * @bytes: likewise
 * @weights: bytes of the model's files
 */
struct load_io {
	uint32_t in_count;
	uint32_t out_count;
	char in[MAX_IO][NAME_MAX_IO];
	char out[MAX_IO][NAME_MAX_IO];
	uint32_t type[MAX_IO];
	uint32_t rank[MAX_IO];
	int64_t dims[MAX_IO][ACCEL_GRAPH_MAX_RANK];
	uint64_t bytes[MAX_IO];
	uint64_t weights;
};

/**
 * struct load - what is measured
 * @opts: options
 * @model: ONNX file
 * @file: compiled program, and optimised model
 * @threads: that work
 * @io: what the model takes
 */
struct load {
	const struct bench_opts *opts;
	const char *model;
	char file[2][PATH_MAX];
	uint32_t threads;
	struct load_io io;
};

/* Results of a process: time, and peak resident memory */
struct load_told {
	uint64_t ns;
	uint64_t peak;
};

/* In processes of their own, which have worked for nothing else before */
static uint64_t load_now(const struct load *l)
{
	struct timespec t;

	if (!l->opts->cpu)
		return stats_now();
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Sizes that the file leaves open are 1. */
static int set_inputs(struct accel_program *program, struct accel_state *state, struct load_io *io)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	uint32_t i, k;
	int ret = 0;

	for (i = 0; i < MAX_IO && !ret && !accel_program_get_input(program, i, &v); i++) {
		for (k = 0; k < v.rank; k++)
			v.dims[k] = v.dims[k] < 0 ? 1 : v.dims[k];
		ret = accel_state_set_input(state, i, v.rank, v.dims, NULL, 0);
		if (ret || !accel_state_get_input(state, i, &io->bytes[i]))
			return ret ? ret : -ENOMEM;
		snprintf(io->in[i], NAME_MAX_IO, "%s", v.name);
		io->type[i] = v.type;
		io->rank[i] = v.rank;
		memcpy(io->dims[i], v.dims, sizeof(v.dims));
		io->in_count = i + 1;
	}
	return ret;
}

static int run_program(struct accel_program *program, struct load_io *io)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	struct accel_state *state = NULL;
	const void *data;
	uint32_t i;
	int ret = accel_state_create(program, &state);

	if (!ret)
		ret = set_inputs(program, state, io);
	if (!ret)
		ret = accel_state_run(state);
	for (i = 0; i < MAX_IO && !ret && !accel_state_get_output(state, i, &v, &data); i++) {
		snprintf(io->out[i], NAME_MAX_IO, "%s", v.name);
		io->out_count = i + 1;
	}
	accel_state_destroy(state);
	return ret;
}

/* Compile, and report the inputs and outputs of the model. */
static int prepare_ours(void *arg, int fd)
{
	struct load *l = arg;
	struct accel_model_info info = { .size = sizeof(info) };
	struct accel_error e = ACCEL_ERROR_INIT;
	struct perf perf = { .opts = l->opts };
	struct accel_program *program = NULL;
	struct accel_model *model = NULL;
	int ret = accel_model_open(l->model, &e, &model);

	if (ret)
		return bench_fail(ret, "%s: %s", l->model, e.text);
	ret = ours_open(&perf, l->threads);
	if (ret)
		return ret;
	ret = accel_graph_compile(perf.ctx, accel_model_graph(model), NULL, &program);
	if (!ret)
		ret = accel_model_get_info(model, &info);
	l->io.weights = info.file_bytes;
	if (!ret)
		ret = run_program(program, &l->io);
	if (!ret)
		ret = accel_program_save(program, l->file[0], ACCEL_PROGRAM_SEEN);
	if (ret)
		return bench_fail(ret, "%s: cannot be compiled into %s", l->model, l->file[0]);
	return bench_tell(fd, &l->io, sizeof(l->io));
}

/* One byte: whether that library is here */
static int prepare_theirs(void *arg, int fd)
{
	struct load *l = arg;
	struct ort ort = { 0 };
	const char is = (char)ort_open(&ort, l->model, l->threads, l->file[1], false);

	ort_close(&ort);
	return bench_tell(fd, &is, 1);
}

static int load_ours(void *arg, int fd)
{
	struct load *l = arg;
	struct perf perf = { .opts = l->opts };
	struct accel_program *program = NULL;
	struct load_told told = { .ns = load_now(l) };
	int ret = ours_open(&perf, l->threads);

	if (ret)
		return ret;
	ret = accel_program_load(perf.ctx, l->file[0], NULL, &program);
	if (!ret)
		ret = run_program(program, &l->io);
	if (ret)
		return bench_fail(ret, "%s", l->file[0]);
	told.ns = load_now(l) - told.ns;
	told.peak = bench_peak();
	return bench_tell(fd, &told, sizeof(told));
}

static int load_theirs(void *arg, int fd)
{
	struct load *l = arg;
	const char *in[MAX_IO], *out[MAX_IO];
	struct load_io *io = &l->io;
	struct ort ort = { 0 };
	struct load_told told = { .ns = load_now(l) };
	uint32_t i;
	void *data;

	if (!ort_open(&ort, l->file[1], l->threads, NULL, true))
		return 1;
	for (i = 0; i < io->in_count; i++) {
		in[i] = io->in[i];
		data = calloc(1, io->bytes[i] + 1);
		if (!ort_good(ort.api,
			      ort.api->create_tensor(ort.info, data, io->bytes[i], io->dims[i],
						     io->rank[i], ort_type(io->type[i]),
						     &ort.in[i]), in[i]))
			return 1;
	}
	for (i = 0; i < io->out_count; i++)
		out[i] = io->out[i];
	if (!ort_good(ort.api, ort.api->run(ort.session, NULL, in, (const void *const *)ort.in,
					    io->in_count, out, io->out_count, ort.out), "run"))
		return 1;
	told.ns = load_now(l) - told.ns;
	told.peak = bench_peak();
	return bench_tell(fd, &told, sizeof(told));
}

/* No page of a file is in the cache, where the file system lets them go. */
static void make_cold(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	fdatasync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

/* Evict external data that an optimised model leaves in its files */
static int make_item_cold(void *user, const struct accel_model_item *item)
{
	const struct load *l = user;
	const char *slash = strrchr(l->model, '/');
	char path[PATH_MAX];

	if (item->kind == ACCEL_MODEL_FILE &&
	    snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash - l->model) + 1 : 0,
		     l->model, item->name) < (int)sizeof(path))
		make_cold(path);
	return 0;
}

static int measure(struct load *l, bool cold, bool theirs)
{
	static int (*const fns[])(void *arg, int fd) = { load_ours, load_theirs };
	static const char *const impls[] = { "ours", "onnxruntime" };
	double *times = calloc(2 * l->opts->batches, sizeof(*times)), us[2] = { 0 }, spread[2];
	uint64_t peak[2] = { 0 };
	struct load_told told = { 0 };
	char name[64];
	uint32_t i, k;
	int ret = 0;

	if (!times)
		return bench_fail(-ENOMEM, "out of memory");
	for (i = 0; i < l->opts->batches && !ret; i++)
		for (k = 0; k <= theirs && !ret; k++) {
			if (cold)
				make_cold(l->file[k]);
			if (cold && k)
				accel_model_scan(l->model, make_item_cold, l);
			ret = bench_apart(fns[k], l, &told, sizeof(told));
			times[k * l->opts->batches + i] = (double)told.ns / 1000;
			peak[k] = told.peak > peak[k] ? told.peak : peak[k];
		}
	for (k = 0; k <= theirs && !ret; k++)
		us[k] = stats_median(times + k * l->opts->batches, l->opts->batches, &spread[k]);
	model_case(l->model, cold ? "cold" : "warm", name, sizeof(name));
	for (k = 0; k <= theirs && !ret; k++) {
		const struct bench_row row = {
			.name = name, .threads = l->threads, .impl = impls[k],
			.us = us[k], .ratio = k ? 0 : us[1] / us[0], .spread = spread[k],
			.over = peak[k] > l->io.weights ? peak[k] - l->io.weights : 1
		};

		bench_print(l->opts, &row);
	}
	free(times);
	return ret;
}

int bench_load(const struct bench_opts *opts, const char *path, uint32_t threads)
{
	struct load l = { .opts = opts, .model = path, .threads = threads };
	char is = 0;
	int ret, n;

	/* In the directory of the model, because external data are found relative to it. */
	n = snprintf(l.file[0], sizeof(l.file[0]), "%s.%d.program", path, (int)getpid());
	snprintf(l.file[1], sizeof(l.file[1]), "%.*soptimised", n - 7, l.file[0]);
	if (n + 3 >= (int)sizeof(l.file[0]))
		return bench_fail(-ENAMETOOLONG, "%s", path);
	ret = bench_apart(prepare_ours, &l, &l.io, sizeof(l.io));
	if (!ret && opts->peers)
		ret = bench_apart(prepare_theirs, &l, &is, 1);
	if (!ret)
		ret = measure(&l, false, is);
	if (!ret)
		ret = measure(&l, true, is);
	unlink(l.file[0]);
	unlink(l.file[1]);
	return ret;
}
