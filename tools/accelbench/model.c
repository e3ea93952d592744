// SPDX-License-Identifier: MIT
/*
 * Whole models in ONNX files: this library and ONNX Runtime alternately, on the same inputs.
 */
#include <accel/accel.h>
#include <accel/model.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ort.h"
#include "perf.h"

/* Dimensions that the file leaves open, except for the first: those of a picture, or tokens */
#define PICTURE		224
#define TOKENS		128
/* Nanoseconds after which another library's threads have stopped spinning */
#define SETTLE		150000000
/*
 * How far results may be apart, of the largest: each library rounds integers its own way, and in
 * twelve layers whose scales depend on what was rounded (bert-base-dynq) that makes 0.05.
 */
#define APART		0.001
#define APART_INTEGERS	0.08

/* --- one model ---------------------------------------------------------------------- */

/**
 * struct both - a model on both sides
 * @perf: device and context
 * @model: model
 * @program: program
 * @state: state whose inputs are set
 * @ort: the other side
 * @in_count: inputs
 * @out_count: outputs
 * @in: names of inputs
 * @out: names of outputs
 */
struct both {
	struct perf perf;
	struct accel_model *model;
	struct accel_program *program;
	struct accel_state *state;
	struct ort ort;
	uint32_t in_count;
	uint32_t out_count;
	const char *in[MAX_IO];
	const char *out[MAX_IO];
};

static int failed(struct both *b, const char *path, int ret)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	if (b->perf.ctx)
		accel_ctx_get_error(b->perf.ctx, &e);
	return bench_fail(ret, "%s: %s", path, e.code == ret ? e.text : "failed");
}

/* Whole numbers are 1, others between -1 and 1. */
static int set_input(struct both *b, uint32_t index, int64_t batch)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	uint64_t bytes = 0, i;
	unsigned char *p;
	uint32_t k;
	int ret;

	ret = accel_program_get_input(b->program, index, &v);
	for (k = 0; !ret && k < v.rank; k++)
		if (v.dims[k] < 0)
			v.dims[k] = !k ? batch : v.rank == 4 ? PICTURE : TOKENS;
	b->in[index] = v.name;
	if (!ret)
		ret = accel_state_set_input(b->state, index, v.rank, v.dims, NULL, 0);
	if (ret)
		return ret;
	p = accel_state_get_input(b->state, index, &bytes);
	if (!p)
		return -ENOMEM;
	for (i = 0; i < bytes * 8 / accel_type_bits(v.type); i++)
		if (v.type == ACCEL_F32)
			((float *)(void *)p)[i] = (float)(i * 2654435761u % 65536) / 32768 - 1;
		else if (v.type == ACCEL_HOST_S64)
			((int64_t *)(void *)p)[i] = 1;
		else
			p[i * accel_type_bits(v.type) / 8] = 1;
	if (!b->ort.session || !b->ort.api)
		return 0;
	return ort_good(b->ort.api, b->ort.api->create_tensor(b->ort.info, p, bytes, v.dims, v.rank,
							      ort_type(v.type),
							      &b->ort.in[index]), v.name) ?
	       0 : -EINVAL;
}

static bool ort_run(struct both *b)
{
	const void *const *in = (const void *const *)b->ort.in;
	const struct ort_api *api = b->ort.api;

	return api && ort_good(api, api->run(b->ort.session, NULL, b->in, in, b->in_count, b->out,
					     b->out_count, b->ort.out), "run");
}

/* The largest difference of an output of numbers with a point, of the largest */
static double difference(struct both *b, uint32_t index)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	struct data_errors e = { 0 };
	const void *data = NULL;
	const float *x, *y;
	void *other = NULL;
	uint64_t n = 1, i;

	if (accel_state_get_output(b->state, index, &v, &data) || v.type != ACCEL_F32 ||
	    b->ort.api->get_data(b->ort.out[index], &other))
		return 0;
	x = data;
	y = other;
	for (i = 0; i < v.rank; i++)
		n *= (uint64_t)v.dims[i];
	for (i = 0; i < n; i++)
		data_compare(&e, (double)x[i], (double)y[i]);
	return data_error(&e);
}

static int open_both(struct both *b, const char *path, uint32_t threads, int64_t batch, bool peers)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_value v = ACCEL_VALUE_INIT;
	const void *data;
	uint32_t i;
	int ret = accel_model_open(path, &e, &b->model);

	if (ret)
		return bench_fail(ret, "%s: %s", path, e.text);
	ret = ours_open(&b->perf, threads);
	if (ret)
		return ret;
	ret = accel_graph_compile(b->perf.ctx, accel_model_graph(b->model), NULL, &b->program);
	if (!ret)
		ret = accel_state_create(b->program, &b->state);
	if (ret)
		return failed(b, path, ret);
	if (peers)
		ort_open(&b->ort, path, threads, NULL, false);
	for (i = 0; i < MAX_IO && !accel_program_get_input(b->program, i, &v); i++)
		b->in_count = i + 1;
	for (i = 0; i < b->in_count && !ret; i++)
		ret = set_input(b, i, batch);
	if (!ret)
		ret = accel_state_run(b->state);
	if (ret)
		return failed(b, path, ret);
	for (i = 0; i < MAX_IO && !accel_state_get_output(b->state, i, &v, &data); i++) {
		b->out[i] = v.name;
		b->out_count = i + 1;
	}
	return b->ort.session && !ort_run(b) ? 1 : 0;
}

static void close_both(struct both *b)
{
	ort_close(&b->ort);
	accel_state_destroy(b->state);
	accel_program_unref(b->program);
	ours_close(&b->perf);
	accel_model_close(b->model);
}

/*
 * A library's threads spin for a while after a run, on the processors that ours need: without a
 * pause two threads of ours were no faster than one after two of ONNX Runtime.
 */
static void settle(const struct both *b)
{
	const struct timespec ts = { .tv_nsec = SETTLE };

	if (b->ort.session)
		nanosleep(&ts, NULL);
}

/* Runs in turns; a first one of each was not measured. */
static int measure(const struct bench_opts *opts, struct both *b, double *ours, double *theirs)
{
	uint64_t start;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < opts->batches && !ret; i++) {
		settle(b);
		start = stats_now();
		ret = accel_state_run(b->state);
		ours[i] = (double)(stats_now() - start) / 1000;
		if (ret || !b->ort.session)
			continue;
		ort_forget(&b->ort);
		/* As cold as ours. */
		settle(b);
		start = stats_now();
		if (!ort_run(b))
			return 1;
		theirs[i] = (double)(stats_now() - start) / 1000;
	}
	return ret;
}

/* Is any operator one of quantised numbers? */
static bool has_integers(struct accel_model *model)
{
	const char *name;
	uint32_t i, count;

	for (i = 0; (name = accel_model_get_op(model, i, &count)); i++)
		if (strstr(name, "Quant") || strstr(name, "Integer") || strstr(name, "NBits"))
			return true;
	return false;
}

static double summary(const struct bench_opts *opts, double *list, double *spread)
{
	double median = stats_median(list, opts->batches, spread);

	return opts->best ? list[0] : median;
}

void model_case(const char *path, const char *what, char *name, size_t size)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t length = strlen(base);

	if (length > 5 && !strcmp(base + length - 5, ".onnx"))
		length -= 5;
	snprintf(name, size, "model/%.*s/%s", length < 40 ? (int)length : 40, base, what);
}

static int one(const struct bench_opts *opts, const char *path, uint32_t threads, int64_t batch)
{
	double *times = calloc(2 * opts->batches, sizeof(*times)), ours, theirs = 0, error = 0;
	struct both b = { .perf.opts = opts };
	struct bench_row row = { .threads = threads, .impl = "ours" };
	double spread[2] = { 0, 0 };
	char name[64], size[24];
	uint32_t i;
	int ret;

	if (!times)
		return bench_fail(-ENOMEM, "out of memory");
	ret = open_both(&b, path, threads, batch, opts->peers);
	if (!ret)
		ret = measure(opts, &b, times, times + opts->batches);
	if (!ret) {
		ours = summary(opts, times, &spread[0]);
		if (b.ort.session)
			theirs = summary(opts, times + opts->batches, &spread[1]);
		for (i = 0; b.ort.session && i < b.out_count; i++)
			error = fmax(error, difference(&b, i));
		snprintf(size, sizeof(size), "%lld", (long long)batch);
		model_case(path, size, name, sizeof(name));
		row.name = name;
		row.us = ours;
		row.ratio = theirs / ours;
		row.spread = spread[0];
		bench_print(opts, &row);
		row.impl = "onnxruntime";
		row.us = theirs;
		row.ratio = 0;
		row.spread = spread[1];
		if (b.ort.session)
			bench_print(opts, &row);
		if (!(error < (has_integers(b.model) ? APART_INTEGERS : APART)))
			ret = bench_fail(0, "%s: results differ by %g of the largest", path, error);
	}
	close_both(&b);
	free(times);
	return ret < 0 ? bench_fail(ret, "%s", path) : ret;
}

/* May the first dimension of an input be anything? */
static int has_batch(const struct bench_opts *opts, const char *path, bool *has)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_value v = ACCEL_VALUE_INIT;
	struct accel_model *model = NULL;
	struct accel_program *program = NULL;
	struct perf perf = { .opts = opts };
	int ret = accel_model_open(path, &e, &model);

	if (ret)
		return bench_fail(ret, "%s: %s", path, e.text);
	ret = ours_open(&perf, 1);
	/* With symbols nothing is made yet. */
	if (!ret && !accel_graph_compile(perf.ctx, accel_model_graph(model), NULL, &program))
		*has = !accel_program_get_input(program, 0, &v) && v.rank && v.dims[0] < 0;
	accel_program_unref(program);
	ours_close(&perf);
	accel_model_close(model);
	return ret;
}

int bench_models(const struct bench_opts *opts, int count, char **files)
{
	uint32_t threads, first = opts->threads ? opts->threads : 1;
	uint32_t last = opts->threads ? opts->threads : 2;
	bool batches = false;
	int i, ret, worst = 0;

	for (i = 0; i < count; i++) {
		batches = false;
		ret = has_batch(opts, files[i], &batches);
		for (threads = first; threads <= last && !ret; threads++) {
			ret = opts->load ? bench_load(opts, files[i], threads) :
			      one(opts, files[i], threads, 1);
			if (!ret && batches && !opts->load)
				ret = one(opts, files[i], threads, 8);
		}
		worst = worst ? worst : ret;
	}
	return worst;
}
