// SPDX-License-Identifier: MIT
/*
 * What the machine could do: the limit that an answer's speed is a share of.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "tools/accelbench/perf.h"

/* Larger than caches: what more bytes cannot change */
#define READ_MOST	(256ull << 20)
/* Seconds of a batch, and batches: the best of them is the limit */
#define BATCH_S		0.01
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
