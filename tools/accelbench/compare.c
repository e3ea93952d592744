// SPDX-License-Identifier: MIT
/*
 * Compares new results with old ones. A slowdown is reported if it exceeds both runs' spreads
 * and the drift of machines, in time and also in the share of the limit: a machine that is
 * slower altogether is not the library's fault.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

/* Drift of a machine between two runs */
#define DRIFT	0.08

static double slower(const struct perf_row *now, const struct perf_row *old)
{
	double by = now->us / old->us, share;

	if (now->limit > 0 && old->limit > 0) {
		share = report_share(old) / report_share(now);
		by = share < by ? share : by;
	}
	return by - 1;
}

int compare_rows(const struct perf_row *rows, size_t count, const char *path)
{
	struct perf_row *old = NULL;
	size_t old_count = 0, compared = 0, worse = 0, i;
	int ret;

	ret = report_load(path, &old, &old_count);
	for (i = 0; i < count && !ret; i++) {
		const struct perf_row *was;
		double by, noise;

		if (strcmp(rows[i].impl, "ours") != 0)
			continue;
		was = report_find(old, old_count, &rows[i], "ours");
		if (!was || !(was->us > 0))
			continue;
		compared++;
		by = slower(&rows[i], was);
		noise = DRIFT + rows[i].spread + was->spread;
		if (by <= noise)
			continue;
		worse++;
		fprintf(stderr, "slower: %s/%s on %u: %.4g us, was %.4g: %.0f %%, noise %.0f %%\n",
			rows[i].name, rows[i].dtype, rows[i].threads, rows[i].us, was->us,
			100 * by, 100 * noise);
	}
	free(old);
	if (ret)
		return ret;
	fprintf(stderr, "%zu of %zu results are slower than in %s\n", worse, compared, path);
	return worse ? 1 : 0;
}
