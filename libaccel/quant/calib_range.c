// SPDX-License-Identifier: MIT
/*
 * From numbers to a range: extremes, percentile, entropy, mean square error.
 *
 * A histogram has bins of equal width on both sides of 0 and ends at a power of
 * two. When a number lies outside, the end moves and bins are added up in
 * groups of a power of two, which gives what binning all numbers with the new
 * end would have given: the order of the numbers does not matter.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "calib.h"

/* Ranges that entropy and mean square error try */
#define STEPS	256u

/* --- the histogram --------------------------------------------------------- */

/* Let the histogram end at 2^exp. */
static void stretch(struct calib_stats *s, int exp)
{
	uint32_t shift = (uint32_t)(exp - s->exp), i;

	if (shift > 31)
		shift = 31;
	for (i = 1; i < s->bins; i++) {
		uint64_t up = s->up[i], down = s->down[i];

		s->up[i] = 0;
		s->down[i] = 0;
		s->up[i >> shift] += up;
		s->down[i >> shift] += down;
	}
	s->exp = exp;
}

/* @x is finite. */
void stats_add(struct calib_stats *s, double x)
{
	uint32_t bin = 0;
	int exp;

	if (x < s->min)
		s->min = x;
	if (x > s->max)
		s->max = x;
	s->values++;
	if (!s->up)
		return;
	if (x != 0) {
		/* |x| is below 2^exp. */
		frexp(x, &exp);
		if (exp > s->exp)
			stretch(s, exp);
		bin = (uint32_t)ldexp(fabs(x) * s->bins, -s->exp);
	}
	(x < 0 ? s->down : s->up)[bin]++;
}

/* Width of a bin. */
static double width(const struct calib_stats *s)
{
	return ldexp(1, s->exp) / s->bins;
}

/* --- scale and zero point --------------------------------------------------- */

/* Before it is rounded to the type of the tables; 0 if the range is empty. */
double calib_scale(const struct calib_range *r, const struct calib_target *t)
{
	/* The largest number of either sign. */
	const int32_t most = (t->hi - t->lo - 1) / 2;

	if (t->asymmetric)
		return (r->hi - r->lo) / (t->hi - t->lo);
	return fmax(-r->lo, r->hi) / most;
}

int32_t calib_zero(const struct calib_range *r, double scale,
		   const struct calib_target *t)
{
	double zero;

	/* The middle: of -128 .. 127 it is 0, of 0 .. 255 it is 128. */
	if (!t->asymmetric)
		return t->lo + (t->hi - t->lo + 1) / 2;
	zero = nearbyint(t->lo - r->lo / scale);
	return (int32_t)fmin(fmax(zero, t->lo), t->hi);
}

/* --- percentile --------------------------------------------------------------- */

/*
 * The number that a share of @n bins is below; linear within a bin. 0 if there
 * is nothing in them.
 */
static double quantile(const uint64_t *bins, uint32_t n, double bin_width,
		       double want)
{
	double below = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		double count = (double)bins[i];

		if (count > 0 && below + count >= want)
			return (i + fmax(want - below, 0) / count) * bin_width;
		below += count;
	}
	return n * bin_width;
}

static int percentile_range(const struct calib_stats *s, double percentile,
			    const struct calib_target *t, struct calib_range *r)
{
	double all = (double)s->values, w = width(s), up = 0, down = 0, outside;
	uint64_t *both;
	uint32_t i;

	if (!t->asymmetric) {
		both = malloc(s->bins * sizeof(*both));
		if (!both)
			return -ENOMEM;
		for (i = 0; i < s->bins; i++)
			both[i] = s->up[i] + s->down[i];
		r->hi = fmin(quantile(both, s->bins, w, all * percentile / 100), r->hi);
		r->lo = -r->hi;
		free(both);
		return 0;
	}
	for (i = 0; i < s->bins; i++) {
		up += (double)s->up[i];
		down += (double)s->down[i];
	}
	/* Half of what is outside at either end. */
	outside = all * (100 - percentile) / 200;
	up = up > outside ? quantile(s->up, s->bins, w, up - outside) : 0;
	down = down > outside ? quantile(s->down, s->bins, w, down - outside) : 0;
	r->hi = fmin(up, s->max);
	r->lo = fmax(-down, s->min);
	return 0;
}

/* --- bins in a row --------------------------------------------------------------- */

/**
 * struct line - the bins of a histogram side by side
 * @count: numbers in each
 * @n: bins
 * @zero: the bin that begins at 0
 * @width: of a bin
 */
struct line {
	uint64_t *count;
	uint32_t n;
	uint32_t zero;
	double width;
};

static uint32_t last_used(const uint64_t *bins, uint32_t n)
{
	while (n && !bins[n - 1])
		n--;
	return n;
}

/* From the least number to the largest; with @fold the magnitudes. */
static int line_make(const struct calib_stats *s, bool fold, struct line *l)
{
	uint32_t up = last_used(s->up, s->bins), down = last_used(s->down, s->bins);
	uint32_t i;

	l->width = width(s);
	l->zero = fold ? 0 : down;
	l->n = fold ? (up > down ? up : down) : up + down;
	l->count = calloc(l->n ? l->n : 1, sizeof(*l->count));
	if (!l->count)
		return -ENOMEM;
	for (i = 0; i < up; i++)
		l->count[l->zero + i] += s->up[i];
	for (i = 0; i < down; i++)
		l->count[fold ? i : l->zero - 1 - i] += s->down[i];
	return 0;
}

/* --- entropy ------------------------------------------------------------------------ */

/*
 * Kullback-Leibler divergence of the bins from..to of @l when they become
 * @levels levels, with what is outside added to the bins at the ends. Infinite
 * if nothing is left at an end that something was added to.
 */
static double divergence(const struct line *l, uint32_t from, uint32_t to,
			 uint32_t levels)
{
	uint64_t below = 0, above = 0, inside = 0, all;
	uint32_t n = to - from, level, i;
	double sum = 0;

	for (i = 0; i < l->n; i++) {
		if (i < from)
			below += l->count[i];
		else if (i < to)
			inside += l->count[i];
		else
			above += l->count[i];
	}
	all = below + inside + above;
	if (!inside || (below && !l->count[from]) || (above && !l->count[to - 1]))
		return INFINITY;
	for (level = 0; level < levels; level++) {
		uint32_t a = from + (uint32_t)((uint64_t)level * n / levels);
		uint32_t b = from + (uint32_t)((uint64_t)(level + 1) * n / levels);
		uint64_t mass = 0;
		uint32_t used = 0;

		for (i = a; i < b; i++) {
			mass += l->count[i];
			used += l->count[i] != 0;
		}
		for (i = a; i < b; i++) {
			uint64_t count = l->count[i];
			double p, q;

			if (!count)
				continue;
			count += i == from ? below : 0;
			count += i == to - 1 ? above : 0;
			p = (double)count / (double)all;
			q = (double)mass / used / (double)inside;
			sum += p * log(p / q);
		}
	}
	return sum;
}

static int entropy_range(const struct calib_stats *s, const struct calib_target *t,
			 struct calib_range *r)
{
	/* Of magnitudes there is half as many levels, 0 among them. */
	uint32_t levels = (uint32_t)(t->hi - t->lo + 1) / (t->asymmetric ? 1 : 2);
	double best = INFINITY, d;
	uint32_t step, from, to;
	struct line l;
	int ret;

	ret = line_make(s, !t->asymmetric, &l);
	if (ret)
		return ret;
	for (step = STEPS; step > 0; step--) {
		from = l.zero - (uint32_t)((uint64_t)l.zero * step / STEPS);
		to = l.zero + (uint32_t)((uint64_t)(l.n - l.zero) * step / STEPS);
		if (step < STEPS && to - from < levels)
			break;
		if (to == from)
			continue;
		d = divergence(&l, from, to, levels);
		if (d >= best)
			continue;
		best = d;
		r->hi = fmin((to - l.zero) * l.width, t->asymmetric ? s->max :
			     fmax(s->max, -s->min));
		r->lo = t->asymmetric ?
			fmax(((double)from - l.zero) * l.width, s->min) : -r->hi;
	}
	free(l.count);
	return 0;
}

/* --- mean square error ----------------------------------------------------------------- */

/* Sum of the squared errors, each number in the middle of its bin. */
static double square_error(const struct line *l, const struct calib_range *r,
			   const struct calib_target *t)
{
	double scale = calib_scale(r, t), sum = 0, x, q, e;
	int32_t zero;
	uint32_t i;

	if (scale <= 0)
		return INFINITY;
	zero = calib_zero(r, scale, t);
	for (i = 0; i < l->n; i++) {
		if (!l->count[i])
			continue;
		x = ((double)i - l->zero + 0.5) * l->width;
		q = nearbyint(x / scale) + zero;
		q = fmin(fmax(q, t->lo), t->hi);
		e = scale * (q - zero) - x;
		sum += (double)l->count[i] * e * e;
	}
	return sum;
}

/* Move one end, or both alike, to where the error is least. */
static bool improve(const struct line *l, const struct calib_range *all,
		    const struct calib_target *t, bool lo, bool hi,
		    struct calib_range *r, double *best)
{
	struct calib_range try = *r;
	bool better = false;
	uint32_t step;
	double e;

	for (step = STEPS; step > 0; step--) {
		if (lo)
			try.lo = all->lo * step / STEPS;
		if (hi)
			try.hi = all->hi * step / STEPS;
		e = square_error(l, &try, t);
		if (e < *best) {
			*best = e;
			*r = try;
			better = true;
		}
	}
	return better;
}

static int mse_range(const struct calib_stats *s, const struct calib_target *t,
		     struct calib_range *r)
{
	struct calib_range all = *r;
	double best = INFINITY;
	struct line l;
	int round, ret;

	ret = line_make(s, false, &l);
	if (ret)
		return ret;
	improve(&l, &all, t, true, true, r, &best);
	/* Each end on its own, in turn: it settles within a few rounds. */
	for (round = 0; t->asymmetric && round < 4; round++) {
		bool better = improve(&l, &all, t, true, false, r, &best);

		better |= improve(&l, &all, t, false, true, r, &best);
		if (!better)
			break;
	}
	free(l.count);
	return 0;
}

/**
 * calib_range - the range that a method chooses
 * @s: what was seen
 * @method: &enum accel_calib_method
 * @percentile: in percent
 * @target: what the numbers become
 * @range: out
 *
 * Return: 0; -ENOMEM.
 */
int calib_range(const struct calib_stats *s, uint32_t method, double percentile,
		const struct calib_target *target, struct calib_range *range)
{
	*range = (struct calib_range) { s->min, s->max };
	if (!target->asymmetric) {
		range->hi = fmax(-s->min, s->max);
		range->lo = -range->hi;
	}
	/* Only zeros, or nothing at all */
	if (range->lo == range->hi)
		return 0;
	switch (method) {
	case ACCEL_CALIB_PERCENTILE:
		return percentile_range(s, percentile, target, range);
	case ACCEL_CALIB_ENTROPY:
		return entropy_range(s, target, range);
	case ACCEL_CALIB_MSE:
		return mse_range(s, target, range);
	default:
		return 0;
	}
}
