// SPDX-License-Identifier: MIT
/*
 * Determines the ranges of values: one pass for their extremes and, if requested, a second one
 * for their distribution.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "probe.h"
#include "progress.h"

#define BINS	2048u

/**
 * struct spread - how a value is spread
 * @min: least number
 * @max: largest number
 * @bins: numbers by their magnitude, from 0 to the largest
 * @low: those below 0 by theirs
 */
struct spread {
	float min;
	float max;
	uint64_t bins[BINS];
	uint64_t low[BINS];
};

static float reach(const struct spread *s)
{
	return s->max > -s->min ? s->max : -s->min;
}

static void take(struct spread *s, const float *x, uint64_t count, bool ends)
{
	const float scale = reach(s) > 0 ? BINS / reach(s) : 0;
	uint64_t i;
	uint32_t at;

	for (i = 0; i < count; i++) {
		/* Zero is always exact in bytes, so the number of zeros does not matter. */
		if (!isfinite(x[i]) || x[i] == 0)
			continue;
		if (ends) {
			s->min = x[i] < s->min ? x[i] : s->min;
			s->max = x[i] > s->max ? x[i] : s->max;
			continue;
		}
		at = (uint32_t)(fabsf(x[i]) * scale);
		at = at < BINS ? at : BINS - 1;
		s->bins[at]++;
		s->low[at] += x[i] < 0;
	}
}

static int go(struct probe *p, const struct samples *samples, struct spread *spreads,
	      uint32_t count, bool ends)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	const void *data;
	uint32_t i, k, d;
	uint64_t n;
	int ret = CTL_OK;

	for (i = 0; i < samples_all(samples) && !ret; i++) {
		ctl_progress("calibrating", i, samples_all(samples));
		ret = probe_run(p, samples, i);
		for (k = 0; k < count && !ret; k++) {
			if (accel_state_get_output(p->s.state, p->own + k, &v, &data) ||
			    v.type != ACCEL_F32)
				return ctl_fail(p->s.ctl, CTL_FAILED, 0, v.name,
						"cannot be calibrated");
			for (n = 1, d = 0; d < v.rank; d++)
				n *= (uint64_t)v.dims[d];
			take(&spreads[k], data, n, ends);
		}
		if (!ret && ctl_interrupted())
			ret = CTL_INTERRUPTED;
	}
	ctl_progress("calibrating", samples_all(samples), samples_all(samples));
	return ret;
}

/* The magnitude that a share of the numbers of one sign exceeds */
static float tail(const struct spread *s, bool negative, double share)
{
	uint64_t all = 0, beyond = 0, n;
	uint32_t i;

	for (i = 0; i < BINS; i++)
		all += s->bins[i];
	for (i = BINS - 1; i < BINS; i--) {
		n = negative ? s->low[i] : s->bins[i] - s->low[i];
		beyond += n;
		if ((double)beyond > share * (double)all)
			return reach(s) * (float)(i + 1) / BINS;
	}
	return 0;
}

/*
 * Information loss if magnitudes beyond a number of bins are clipped, and the rest is quantised
 * to a number of levels: the divergence of both distributions.
 */
static double divergence(const struct spread *s, uint32_t bins, uint32_t levels)
{
	double cut = 0, sum = 0, lost = 0, all = 0, p, q;
	uint32_t i, level, from, to;
	uint64_t n, used;

	for (i = 0; i < BINS; i++) {
		all += (double)s->bins[i];
		cut += i >= bins ? (double)s->bins[i] : 0;
	}
	for (level = 0; level < levels; level++) {
		from = (uint32_t)((uint64_t)level * bins / levels);
		to = (uint32_t)((uint64_t)(level + 1) * bins / levels);
		n = used = 0;
		for (i = from; i < to; i++) {
			n += s->bins[i];
			used += s->bins[i] || (i + 1 == bins && cut > 0);
		}
		for (i = from; i < to; i++) {
			p = (double)s->bins[i] + (i + 1 == bins ? cut : 0);
			if (p <= 0)
				continue;
			q = (double)n / (double)used;
			sum += q;
			/*
			 * A bin that only has clipped numbers does not exist in the other
			 * distribution.
			 */
			lost += p * log(p / (q > 0 ? q : 0.001));
		}
	}
	return sum > 0 ? lost / all + log(sum / all) : INFINITY;
}

static float least_lost(const struct spread *s)
{
	const uint32_t levels = s->min < 0 ? 128 : 256;
	double lost, least = INFINITY;
	uint32_t bins, best = BINS;

	for (bins = levels; bins <= BINS; bins += 16) {
		lost = divergence(s, bins, levels);
		if (lost < least) {
			least = lost;
			best = bins;
		}
	}
	return reach(s) * (float)best / BINS;
}

static void range_of(const struct model_opts *o, const struct spread *s,
		     struct accel_model_range *r)
{
	float low = -s->min, high = s->max, cut;

	if (o->method == METHOD_PERCENTILE) {
		low = fminf(low, tail(s, true, (1 - o->percentile / 100) / 2));
		high = fminf(high, tail(s, false, (1 - o->percentile / 100) / 2));
	} else if (o->method == METHOD_ENTROPY) {
		cut = least_lost(s);
		low = fminf(low, cut);
		high = fminf(high, cut);
	}
	r->min = -low;
	r->max = high;
}

int calibrate(struct probe *p, const struct samples *samples, struct accel_model_range *ranges,
	      uint32_t count)
{
	struct spread *spreads = ctl_alloc((size_t)count + 1, sizeof(*spreads));
	uint32_t i;
	int ret = go(p, samples, spreads, count, true);

	if (!ret && p->opts.method != METHOD_MINMAX)
		ret = go(p, samples, spreads, count, false);
	for (i = 0; i < count && !ret; i++)
		range_of(&p->opts, &spreads[i], &ranges[i]);
	free(spreads);
	return ret;
}
