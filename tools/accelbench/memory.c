// SPDX-License-Identifier: MIT
/*
 * memory: the workspace that a plan reports, and the growth of the process when it runs. Growth
 * beyond the workspace would be a hidden copy.
 *
 * limits: the loops of the limits alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf.h"

/* Allowed workspace of a thread, in addition to packed weights */
#define PER_THREAD	(2u << 20)
/* How often an operation is run */
#define RUNS		3
/* Rounds of a loop of multiply-adds: long against starting other threads */
#define LOOPS		100000
/* Likewise of reads */
#define READ_BYTES	(32u << 20)

static double resident(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	long size, pages = 0;

	if (f) {
		if (fscanf(f, "%ld %ld", &size, &pages) != 2)
			pages = 0;
		fclose(f);
	}
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

void memory_measure(struct perf *perf, const struct perf_case *c, const struct perf_impl *impl)
{
	struct accel_plan_info info = { .size = sizeof(info) };
	struct perf_row row = { .threads = perf->threads, .error = -1 };
	double before = resident(), after;
	uint64_t start = stats_now();
	int ret, i;

	snprintf(row.name, sizeof(row.name), "memory/%.56s", c->name);
	snprintf(row.dtype, sizeof(row.dtype), "%s", c->dtype);
	strcpy(row.impl, impl->name);
	ret = accel_plan_get_info(impl->plan, &info);
	for (i = 0; i < RUNS && !ret; i++)
		ret = impl->run(impl->state);
	after = resident();
	if (ret) {
		perf->failed = bench_fail(ret, "%s/%s failed", row.name, row.dtype);
		return;
	}
	row.us = (double)(stats_now() - start) / 1e3 / RUNS / impl->ops;
	row.extra[0] = (double)info.workspace_bytes + (double)info.host_bytes;
	row.extra[1] = (double)info.packed_bytes;
	row.extra[2] = (double)info.packed_bytes + (double)perf->threads * PER_THREAD;
	row.extra[3] = after > before ? after - before : 0;
	perf_add(perf, &row);
}

void memory_cases(struct perf *perf)
{
	perf->memory = true;
	gemm_cases(perf);
	conv_cases(perf);
	attention_cases(perf);
	perf->memory = false;
}

/* --- limits ----------------------------------------------------------------------- */

/**
 * struct loop - a loop that does nothing else
 * @perf: state
 * @bound: of what
 * @data: what is read
 * @bytes: its size
 * @loops: how often
 */
struct loop {
	struct perf *perf;
	enum perf_bound bound;
	void *data;
	size_t bytes;
	uint64_t loops;
};

static int run_loop(void *state)
{
	struct loop *l = state;

	if (l->bound >= PERF_READ)
		limit_read(l->bound, l->data, l->bytes, l->perf->threads, l->loops);
	else
		limit_flops(l->bound, l->perf->threads, LOOPS);
	return 0;
}

static void keep(void *state)
{
	(void)state;
}

/* For reads, GFLOP/s are GB/s */
void limit_cases(struct perf *perf)
{
	static const struct {
		const char *name, *dtype;
		enum perf_bound bound;
		size_t bytes;
	} loops[] = {
		{ "limit/multiply-add", "fp32", PERF_FP32, 0 },
		{ "limit/multiply-add", "bf16", PERF_BF16, 0 },
		{ "limit/multiply-add", "s8", PERF_INT8, 0 },
		{ "limit/read-32K", "bytes", PERF_READ, 32 << 10 },
		{ "limit/read-512K", "bytes", PERF_READ, 512 << 10 },
		{ "limit/read-8M", "bytes", PERF_READ, 8 << 20 },
		{ "limit/read-256M", "bytes", PERF_READ, 256 << 20 },
		{ "limit/dot-8M", "fp32", PERF_DOT_FP32, 8 << 20 },
		{ "limit/dot-8M", "bf16", PERF_DOT_BF16, 8 << 20 },
		{ "limit/dot-8M", "s8", PERF_DOT_INT8, 8 << 20 },
	};
	size_t i;

	for (i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
		struct loop l = { perf, loops[i].bound, NULL, loops[i].bytes * perf->threads };
		struct perf_case c = { .dtype = loops[i].dtype };
		struct perf_impl impl = {
			.name = "limit", .run = run_loop, .release = keep, .state = &l, .ops = 1,
		};

		snprintf(c.name, sizeof(c.name), "%s", loops[i].name);
		if (!perf_wanted(perf, c.name, c.dtype))
			continue;
		/* Each thread has so much, of its own caches */
		if (loops[i].bytes > 32 << 20)
			l.bytes = loops[i].bytes;
		/* Long against starting other threads */
		l.loops = l.bytes && l.bytes < READ_BYTES ? READ_BYTES / l.bytes : 1;
		c.flops = (double)l.bytes * (double)l.loops;
		if (loops[i].bound >= PERF_READ) {
			l.data = aligned_alloc(4096, l.bytes);
			if (!l.data) {
				perf->failed = bench_fail(-ENOMEM, "%s", c.name);
				continue;
			}
			memset(l.data, 0x3c, l.bytes);
		} else {
			c.flops = limit_flops(loops[i].bound, perf->threads, LOOPS);
		}
		perf_measure(perf, &c, &impl, 1);
		free(l.data);
	}
}
