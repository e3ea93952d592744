// SPDX-License-Identifier: MIT
/* Measurement: implementations and the limit run alternately. */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "peers.h"

/* The limit's batches are shorter: it has no noise of its own. */
#define LIMIT_NS	2000000
/* How long threads of others may spin */
#define SETTLE_US	2000

bool perf_wanted(const struct perf *perf, const char *name, const char *dtype)
{
	const char *kind = perf->memory ? "memory/" : "";
	char full[160];

	if (!perf->opts->only)
		return true;
	snprintf(full, sizeof(full), "%s%s/%s", kind, name, dtype);
	if (!fnmatch(perf->opts->only, full, FNM_EXTMATCH))
		return true;
	snprintf(full, sizeof(full), "%s%s", kind, name);
	return !fnmatch(perf->opts->only, full, FNM_EXTMATCH);
}

bool perf_peers(const struct perf *perf)
{
	return perf->opts->peers && !perf->memory;
}

/* --- one that is measured --------------------------------------------------------- */

/**
 * struct racer - an implementation and its times
 * @impl: implementation; NULL: the limit
 * @loops: runs of a batch
 */
struct racer {
	struct perf_impl *impl;
	uint64_t loops;
};

/**
 * struct limit - what the operation is held against
 * @c: case
 * @threads: threads
 * @data: what is read, NULL: nothing is
 * @flops: done by a batch
 */
struct limit {
	const struct perf_case *c;
	uint32_t threads;
	void *data;
	double flops;
};

static int once(struct racer *r, struct limit *l, uint64_t loops, uint64_t *ns)
{
	uint64_t start = stats_now(), i;
	int ret = 0;

	if (r->impl)
		for (i = 0; i < loops && !ret; i++)
			ret = r->impl->run(r->impl->state);
	else if (l->c->bound >= PERF_READ)
		limit_read(l->c->bound, l->data, l->c->read_set, l->threads, loops);
	else
		l->flops = limit_flops(l->c->bound, l->threads, loops);
	*ns = stats_now() - start;
	return ret;
}

/*
 * A batch, after threads that spin since another's turn have gone to sleep, and
 * after one run that wakes those of this one.
 */
static int turn(struct racer *r, struct limit *l, uint64_t *ns)
{
	if (l->threads > 1)
		usleep(SETTLE_US);
	if (r->loops > 4)
		once(r, l, r->loops / 16 + 1, ns);
	return once(r, l, r->loops, ns);
}

static int calibrate(struct racer *r, struct limit *l, uint64_t batch_ns)
{
	uint64_t loops = 1, ns, again;
	int ret, i;

	/* The first run has page faults. */
	ret = once(r, l, 1, &ns);
	for (; !ret; loops *= ns && batch_ns / ns < 8 ? 2 : 8) {
		ret = once(r, l, loops, &ns);
		/* A run may be slow because of other load. */
		for (i = 0; i < 2 && !ret && ns >= batch_ns / 2 && ns < 20 * batch_ns; i++) {
			ret = once(r, l, loops, &again);
			ns = again < ns ? again : ns;
		}
		if (ns >= batch_ns / 2 || loops >= 1ull << 40)
			break;
	}
	loops = ns ? loops * batch_ns / ns : loops;
	r->loops = loops ? loops : 1;
	return ret;
}

/* Time of one operation in a batch that took so long; for the limit, as if it did the operation */
static double time_of(const struct racer *r, const struct limit *l, uint64_t ns)
{
	double us = (double)ns / 1e3 / (double)r->loops;

	if (r->impl)
		return us / r->impl->ops;
	if (l->c->bound >= PERF_READ)
		return us * l->c->read_bytes / (double)l->c->read_set;
	return (double)ns / 1e3 * l->c->flops / l->flops;
}

static int limit_open(struct limit *l)
{
	if (l->c->bound < PERF_READ)
		return 0;
	l->data = aligned_alloc(4096, l->c->read_set);
	/* Numbers of any type that are neither large nor subnormal */
	if (l->data)
		memset(l->data, 0x3c, l->c->read_set);
	return l->data ? 0 : -ENOMEM;
}

/* --- a case ----------------------------------------------------------------------- */

static void row_of(struct perf *perf, const struct perf_case *c, const struct perf_impl *impl,
		   struct perf_row *row)
{
	*row = (struct perf_row){ .threads = perf->threads, .error = -1,
				  .extra = { -1, -1, -1, -1 } };
	snprintf(row->name, sizeof(row->name), "%s", c->name);
	snprintf(row->dtype, sizeof(row->dtype), "%s", c->dtype);
	snprintf(row->impl, sizeof(row->impl), "%s", impl->name);
	if (c->bytes > 0)
		row->intensity = c->flops / c->bytes;
}

static double time_said(const struct perf *perf, double *us, double *spread)
{
	double median = stats_median(us, perf->opts->batches, spread);

	return perf->opts->best ? us[0] : median;
}

/* @us: the batches' times of each, one after the other */
static void report(struct perf *perf, const struct perf_case *c, const struct perf_impl *impls,
		   uint32_t count, double *us)
{
	size_t batches = perf->opts->batches;
	double limit = 0;
	struct perf_row row;
	uint32_t i;

	if (c->bound != PERF_NONE)
		limit = c->flops / time_said(perf, us + count * batches, NULL) / 1e3;
	for (i = 0; i < count; i++) {
		const struct perf_impl *impl = &impls[i];

		if (!impl->run)
			continue;
		row_of(perf, c, impl, &row);
		row.us = time_said(perf, us + i * batches, &row.spread);
		row.gflops = c->flops / row.us / 1e3;
		row.limit = limit;
		if (impl->error)
			row.error = impl->error(impl->d, impl->error_arg);
		perf_add(perf, &row);
	}
}

/* Run all of them alternately; those that fail are left out */
static int race(struct perf *perf, struct limit *l, struct racer *racers, uint32_t count,
		double *us)
{
	size_t batches = perf->opts->batches, batch;
	uint32_t i;
	uint64_t ns;
	int ret = 0;

	for (i = 0; i < count; i++) {
		struct perf_impl *impl = racers[i].impl;
		int err;

		/* How much a thread does in the time does not depend on their number. */
		l->threads = impl ? perf->threads : 1;
		err = calibrate(&racers[i], l, impl ? perf->opts->batch_ns : LIMIT_NS);
		l->threads = perf->threads;
		if (!err || !impl)
			continue;
		perf->failed = bench_fail(err, "%s/%s: %s failed", l->c->name, l->c->dtype,
					  impl->name);
		impl->run = NULL;
	}
	for (batch = 0; batch < batches; batch++)
		for (i = 0; i < count && !ret; i++) {
			if (racers[i].impl && !racers[i].impl->run)
				continue;
			ret = turn(&racers[i], l, &ns);
			us[i * batches + batch] = time_of(&racers[i], l, ns);
		}
	return ret;
}

void perf_measure(struct perf *perf, const struct perf_case *c, struct perf_impl *impls,
		  uint32_t count)
{
	uint32_t racer_count = count + (c->bound != PERF_NONE), i;
	struct limit limit = { .c = c, .threads = perf->threads };
	struct racer racers[PERF_IMPLS + 1] = { 0 };
	double *us;
	int ret = -ENOMEM;

	if (perf->memory) {
		memory_measure(perf, c, &impls[0]);
		goto out;
	}
	us = calloc((size_t)racer_count * perf->opts->batches, sizeof(*us));
	for (i = 0; i < count; i++)
		racers[i].impl = &impls[i];
	if (us && !limit_open(&limit)) {
		ret = race(perf, &limit, racers, racer_count, us);
		if (!ret)
			report(perf, c, impls, count, us);
	}
	if (ret)
		perf->failed = bench_fail(ret, "%s/%s", c->name, c->dtype);
	free(limit.data);
	free(us);
out:
	for (i = 0; i < count; i++)
		impls[i].release(impls[i].state);
}

void perf_add(struct perf *perf, const struct perf_row *row)
{
	struct perf_row *rows;

	rows = realloc(perf->rows, (perf->count + 1) * sizeof(*rows));
	if (!rows) {
		perf->failed = bench_fail(-ENOMEM, "out of memory");
		return;
	}
	perf->rows = rows;
	rows[perf->count++] = *row;
	report_row(perf->opts, row);
}

/* --- a run ------------------------------------------------------------------------ */

static const struct command {
	const char *name;
	void (*cases)(struct perf *perf);
} commands[] = {
	{ "memory", memory_cases },
	{ "latency", call_cases },
	{ "gemm", gemm_cases },
	{ "job", job_cases },
	{ "gemv", gemv_cases },
	{ "pack", pack_cases },
	{ "conv", conv_cases },
	{ "attention", attention_cases },
	{ "lines", line_cases },
	{ "limits", limit_cases },
};

static int run(struct perf *perf, const char *command, uint32_t threads)
{
	size_t i;
	int ret;

	ret = ours_open(perf, threads);
	if (!ret && perf->opts->peers)
		peers_load(threads);
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]) && !ret; i++)
		if (!strcmp(command, commands[i].name) || !strcmp(command, "all"))
			commands[i].cases(perf);
	ours_close(perf);
	return ret;
}

int perf_main(const struct bench_opts *opts, const char *command)
{
	struct perf perf = { .opts = opts };
	struct timespec now;
	int ret, err;

	clock_gettime(CLOCK_REALTIME, &now);
	perf.rng = (uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec ^ 1;
	if (opts->seed)
		perf.rng = opts->seed;
	team_pin_new(0);
	if (opts->peers)
		peers_load(opts->threads ? opts->threads : team_cpus());
	team_pin_self();
	/* The default is one thread, and then one for each processor */
	ret = run(&perf, command, opts->threads ? opts->threads : 1);
	if (!ret && !opts->threads && team_cpus() > 1)
		ret = run(&perf, command, team_cpus());
	if (!ret && opts->peers && opts->format == BENCH_TEXT)
		peers_print();
	if (!ret)
		ret = perf.failed;
	if (opts->plot) {
		err = plot_rows(perf.rows, perf.count, opts->plot);
		ret = ret ? ret : err;
	}
	if (opts->compare) {
		err = compare_rows(perf.rows, perf.count, opts->compare);
		ret = ret ? ret : err;
	}
	free(perf.rows);
	return ret;
}
