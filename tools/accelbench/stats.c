// SPDX-License-Identifier: MIT
/*
 * Clock and statistics.
 */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "accelbench.h"

uint64_t stats_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Between two values where there is none */
static double quantile(const double *values, size_t count, double at)
{
	double place = at * (double)(count - 1);
	size_t i = (size_t)place;

	if (i + 1 >= count)
		return values[count - 1];
	return values[i] + (values[i + 1] - values[i]) * (place - (double)i);
}

double stats_median(double *values, size_t count, double *spread)
{
	double median;

	qsort(values, count, sizeof(*values), compare);
	median = quantile(values, count, 0.5);
	if (spread)
		*spread = median > 0 ? (quantile(values, count, 0.75) -
					quantile(values, count, 0.25)) / median : 0;
	return median;
}
