// SPDX-License-Identifier: MIT
/* Limits of the machine, with which the speed of an answer is compared. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sys.h"
#include "text.h"
#include "tools/accelbench/perf.h"

/* Larger than caches: more bytes do not change the rate */
#define READ_MOST	(256ull << 20)
/*
 * Seconds of a batch, and batches: the best of them is the limit. An answer waits for them; the
 * threads look for work between two of them, so that a batch begins within microseconds.
 */
#define BATCH_S		0.002
#define BATCHES		5

double machine_read_rate(uint64_t bytes, uint32_t threads)
{
	const size_t page = 4096, n = (size_t)(bytes < READ_MOST ? bytes : READ_MOST);
	const size_t all = (n / page + 1) * page;
	char *data = aligned_alloc(page, all);
	double start, took, best = INFINITY;
	uint64_t loops = 1;
	int i;

	if (!data)
		return NAN;
	memset(data, 1, all);
	/* The first time wakes threads up. */
	limit_read(PERF_READ, data, all, threads, 1);
	for (i = 0; i < BATCHES;) {
		start = speaker_now();
		limit_read(PERF_READ, data, all, threads, loops);
		took = speaker_now() - start;
		if (took < BATCH_S && loops < 1u << 20) {
			loops *= 2;
			continue;
		}
		best = fmin(best, took / (double)loops);
		i++;
	}
	free(data);
	return (double)all / best;
}

double machine_energy(const struct speaker *s, bool *modelled)
{
	struct accel_device_info info = { .size = sizeof(info) };
	const struct sys_opts opts = { .root = "" };
	struct ctl ctl = *s->ctl;
	struct sys_nodes nodes;
	int64_t uj;

	*modelled = false;
	if (accel_device_get_info(s->dev, &info) || strncmp(info.name, "accel", 5))
		return NAN;
	ctl.device = info.name;
	if (sys_find(&ctl, &opts, &nodes))
		return NAN;
	uj = sys_number(nodes.list[0].hwmon, "energy1_input");
	*modelled = sys_modelled(&nodes.list[0]);
	sys_nodes_free(&nodes);
	return uj == SYS_UNKNOWN ? NAN : (double)uj / 1e6;
}
