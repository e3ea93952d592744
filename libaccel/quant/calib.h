/* SPDX-License-Identifier: MIT */
/*
 * Calibration: what was seen of the numbers that share a scale, and the range
 * that a method makes of it.
 */
#ifndef LIBACCEL_CALIB_H
#define LIBACCEL_CALIB_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/types.h>
#include <accel/accel.h>

/**
 * struct calib_stats - the numbers of one scale
 * @min: least, at most 0
 * @max: largest, at least 0
 * @values: how many
 * @exp: the histogram reaches from -2^exp to 2^exp, both excluded
 * @bins: on either side of 0
 * @up: bins of the numbers from 0 on; @bins of them, NULL without a histogram
 * @down: bins of those below, by magnitude
 */
struct calib_stats {
	double min;
	double max;
	uint64_t values;
	int exp;
	uint32_t bins;
	uint64_t *up;
	uint64_t *down;
};

/**
 * struct calib_target - what the numbers are to be stored as
 * @lo: least stored number
 * @hi: largest
 * @asymmetric: there is a zero point
 */
struct calib_target {
	__s64 lo;
	__s64 hi;
	bool asymmetric;
};

/**
 * struct calib_range - ends, at most and at least 0
 */
struct calib_range {
	double lo;
	double hi;
};

void stats_add(struct calib_stats *s, double x);

int calib_range(const struct calib_stats *s, uint32_t method, double percentile,
		const struct calib_target *target, struct calib_range *range);

double calib_scale(const struct calib_range *r, const struct calib_target *t);
int32_t calib_zero(const struct calib_range *r, double scale,
		   const struct calib_target *t);

#endif /* LIBACCEL_CALIB_H */
