// SPDX-License-Identifier: MIT
/*
 * Norms, a line at a time; batch norm an element at a time.
 */
#include "oracle_lines.h"

#define U	ORACLE_U

/* Elements that share their statistics. */
struct group {
	double n;
	double sum, mags;
	double mean, mean_error;
	double squares, dev;
	double variance, variance_error;
};

static bool has_channels(const struct accel_norm_desc *d)
{
	return d->func >= ACCEL_NORM_GROUP;
}

/* Number of the group of an element: that of its first one. */
static uint64_t group_of(const struct accel_norm_desc *d, const int64_t *idx)
{
	uint32_t c = axis_of(&d->d, d->channel), axes = d->axes, i;
	int64_t at[ACCEL_MAX_RANK], size = 1;

	if (!axes)
		axes = d->d.rank ? 1u << (d->d.rank - 1) : 0;
	if (d->func == ACCEL_NORM_GROUP)
		size = d->d.dims[c] / d->groups;
	for (i = 0; i < d->d.rank; i++) {
		at[i] = idx[i];
		if (!has_channels(d))
			at[i] = axes >> i & 1 ? 0 : idx[i];
		else if (i == c)
			at[i] = idx[i] / size * size;
		else if (i)
			at[i] = 0;
	}
	return element_at(&d->d, at);
}

/* What is normalised: with an addend a sum, rounded once. */
static double input(const struct accel_norm_desc *d, const int64_t *idx)
{
	const double x = oracle_load(&d->a, idx);

	if (!d->addend.rank)
		return x;
	return (float)(x + oracle_load_broadcast(&d->addend, &d->d, idx));
}

static void statistics(const struct accel_norm_desc *d, struct group *groups)
{
	uint64_t count = oracle_count(&d->d), e;
	int64_t idx[ACCEL_MAX_RANK] = { 0 };
	struct group *g;
	double x, t;

	for (e = 0; e < count; e++, oracle_next(&d->d, idx)) {
		g = &groups[group_of(d, idx)];
		x = input(d, idx);
		g->n++;
		g->sum += x;
		g->mags += fabs(x);
	}
	for (g = groups; g < groups + count; g++) {
		if (!g->n || d->func == ACCEL_NORM_RMS)
			continue;
		g->mean = g->sum / g->n;
		g->mean_error = g->mags / g->n * ORACLE_SUM64(g->n);
	}
	for (e = 0; e < count; e++, oracle_next(&d->d, idx)) {
		g = &groups[group_of(d, idx)];
		t = input(d, idx) - g->mean;
		g->squares += t * t;
		g->dev += fabs(t);
	}
	for (g = groups; g < groups + count; g++) {
		if (!g->n)
			continue;
		g->variance = g->squares / g->n;
		g->variance_error = g->variance * ORACLE_SUM64(g->n) +
				    3 * g->mean_error * (g->dev / g->n + g->mean_error);
	}
}

static struct oracle_num own(const struct accel_norm_desc *d, const struct group *g, double x)
{
	double var = g->variance + d->eps, s = 1 / sqrt(var);

	/* What the deviation is, rounding decides. */
	if (g->variance_error * 2 > var)
		return (struct oracle_num){ 0, INFINITY };
	if (isinf(var))
		return (struct oracle_num){ (x - g->mean) * s, 0 };
	return bounded((x - g->mean) * s, 3.1 * U + ORACLE_SUM64(1) + g->variance_error / var,
		       (2 * g->mean_error + 4 * U * U * fabs(g->mean)) * s);
}

/* Each step is rounded to binary32, and there is no other. */
static struct oracle_num given(const struct accel_norm_desc *d, double x, const int64_t *idx)
{
	const int64_t c = idx[axis_of(&d->d, d->channel)];
	float t = (float)(x - oracle_load(&d->mean, &c));
	float v = (float)(oracle_load(&d->variance, &c) + (double)d->eps);
	float s = (float)sqrt((double)v);

	return (struct oracle_num){ (float)((double)t / (double)s), 0 };
}

static double factor(const struct accel_norm_desc *d, const struct accel_tensor *t,
		     const int64_t *idx)
{
	if (has_channels(d))
		return oracle_load(t, &idx[axis_of(&d->d, d->channel)]);
	return oracle_load_broadcast(t, &d->d, idx);
}

static struct oracle_num after(const struct accel_norm_desc *d, struct oracle_num y,
			       const int64_t *idx)
{
	const struct accel_epilogue *epi = &d->epilogue;

	if (d->scale.rank)
		y = oracle_mul(y, factor(d, &d->scale, idx));
	if (d->bias.rank)
		y = oracle_add(y, factor(d, &d->bias, idx));
	if (epi->residual.rank)
		y = oracle_add(y, oracle_load_broadcast(&epi->residual, &d->d, idx));
	y = oracle_activation(y, epi);
	if (epi->residual_post.rank)
		y = oracle_add(y, oracle_load_broadcast(&epi->residual_post, &d->d, idx));
	return y;
}

static const struct accel_tensor *result(const struct accel_desc *desc, uint32_t index)
{
	const struct accel_norm_desc *d = (const void *)desc;

	return index == 0 ? &d->d : index == 1 ? &d->second : index == 2 ? &d->scales :
	       index == 3 ? &d->zeros : NULL;
}

/* --- scales that follow ------------------------------------------------------------ */

/**
 * struct own_scale - of a line: what it should be, and how far it may be from that
 * @max: largest result, or 0
 * @min: smallest, or 0
 * @error: largest error of one
 * @nan: one is not a number
 * @scale: scale
 * @zero: zero point, before it is rounded
 */
struct own_scale {
	double max, min, error;
	bool nan;
	struct oracle_num scale, zero;
};

static void see(struct own_scale *s, struct oracle_num y)
{
	/* As binary32 has it */
	const double v = fabs(y.v) > (double)__FLT_MAX__ ? copysign(INFINITY, y.v) : y.v;

	s->nan |= isnan(v);
	s->max = v > s->max ? v : s->max;
	s->min = v < s->min ? v : s->min;
	s->error = y.e > s->error ? y.e : s->error;
}

static void find_scale(const struct accel_norm_desc *d, struct own_scale *s)
{
	const bool asym = d->flags & ACCEL_NORM_ASYMMETRIC;
	const double lo = d->d.dtype == ACCEL_S8 ? -128 : 0, steps = asym ? 255 : 127;
	const double range = asym ? s->max - s->min : fmax(s->max, -s->min);

	s->zero = (struct oracle_num){ lo + 128, 0 };
	if (s->nan) {
		s->scale = (struct oracle_num){ NAN, 0 };
		s->zero.v = asym ? lo : lo + 128;
		return;
	}
	s->scale.v = range / steps;
	s->scale.e = (2 * s->error + 3 * U * range) / steps + ORACLE_TINY;
	/* Whether there is anything but 0 cannot be said: then it may be 1. */
	if (range <= 2 * s->error + 300 * ORACLE_TINY) {
		if (s->error == 0 && range == 0)
			s->scale = (struct oracle_num){ 1, 0 };
		else
			s->scale.e = s->zero.e = INFINITY;
		if (s->error == 0 && range == 0 && asym)
			s->zero.v = lo;
		return;
	}
	if (isinf(range))
		s->scale.e = 0;
	if (!asym)
		return;
	s->zero.v = lo + (isinf(range) ? 0 : -s->min / s->scale.v);
	s->zero.e = isinf(range) ? 0 : (s->error + (s->zero.v - lo + 1) * s->scale.e) / s->scale.v;
}

/* The stored number of a result; half a step is the comparison's. */
static struct oracle_num stored(const struct own_scale *s, struct oracle_num y)
{
	struct oracle_num q = { s->zero.v, s->zero.e };

	if (!isfinite(y.v) || !isfinite(s->scale.v) || isinf(s->scale.e)) {
		/* By a scale that is infinite or no number all are the zero point. */
		q.e += s->scale.e > 0 ? INFINITY : 0;
		return q;
	}
	q.v += y.v / s->scale.v;
	q.e += (y.e + fabs(y.v / s->scale.v) * s->scale.e) / s->scale.v + 1.0 / (1 << 20);
	/* The zero point is rounded before. */
	if (s->zero.e > 0)
		q.e += 0.5;
	return q;
}

/* All lines' scales, by the number of their first element; @y: results. */
static struct own_scale *scales(const struct accel_norm_desc *d, const struct oracle_num *y,
				uint64_t count)
{
	struct own_scale *s = calloc(count + 1, sizeof(*s));
	int64_t idx[ACCEL_MAX_RANK] = { 0 };
	uint64_t e;

	if (!s)
		return NULL;
	for (e = 0; e < count; e++, oracle_next(&d->d, idx))
		see(&s[group_of(d, idx)], y[e]);
	for (e = 0; e < count; e++)
		find_scale(d, &s[e]);
	return s;
}

static void put_scales(const struct accel_norm_desc *d, uint32_t index, const struct own_scale *s,
		       struct oracle_result *r)
{
	int64_t idx[ACCEL_MAX_RANK] = { 0 };
	uint64_t e;

	for (e = 0; s && e < r->count; e++, oracle_next(&d->scales, idx)) {
		r->num[e] = index == 2 ? s[element_at(&d->d, idx)].scale :
					 s[element_at(&d->d, idx)].zero;
		/* It is rounded to an integer, which may go either way. */
		if (index == 3 && r->num[e].e > 0)
			r->num[e].e += 1.0 / (1 << 20);
	}
}

static struct oracle_num *results(const struct accel_norm_desc *d, uint64_t count)
{
	struct oracle_num *y = calloc(count + 1, sizeof(*y));
	struct group *groups = calloc(count + 1, sizeof(*groups));
	int64_t idx[ACCEL_MAX_RANK] = { 0 };
	uint64_t e;

	if (!y || !groups) {
		free(y);
		free(groups);
		return NULL;
	}
	if (d->func != ACCEL_NORM_BATCH)
		statistics(d, groups);
	for (e = 0; e < count; e++, oracle_next(&d->d, idx)) {
		if (d->func == ACCEL_NORM_BATCH)
			y[e] = given(d, oracle_load(&d->a, idx), idx);
		else
			y[e] = own(d, &groups[group_of(d, idx)], input(d, idx));
		y[e] = after(d, y[e], idx);
	}
	free(groups);
	return y;
}

static int compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	const struct accel_norm_desc *d = (const void *)desc;
	const uint64_t count = oracle_count(&d->d);
	const bool own_scales = d->flags & ACCEL_NORM_DYNQUANT;
	struct oracle_num *y = results(d, count);
	struct own_scale *s = y && own_scales ? scales(d, y, count) : NULL;
	int64_t idx[ACCEL_MAX_RANK] = { 0 };
	int ret = -1;
	uint64_t e;

	if (!y || (own_scales && !s) || oracle_begin(r, result(desc, index), false))
		goto out;
	for (e = 0; e < r->count && index < 2; e++, oracle_next(&d->d, idx)) {
		if (index == 1 && d->flags & ACCEL_NORM_KEEP_SUM)
			r->num[e] = (struct oracle_num){ input(d, idx), 0 };
		else if (index == 0 && own_scales)
			r->num[e] = stored(&s[group_of(d, idx)], y[e]);
		else
			r->num[e] = y[e];
	}
	if (index >= 2)
		put_scales(d, index, s, r);
	ret = 0;
out:
	free(y);
	free(s);
	return ret;
}

static void say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_norm_desc *d = (const void *)desc;

	op_say_text(buf, size, " func %u axes 0x%x channel %d groups %u eps %g", d->func,
		    d->axes, d->channel, d->groups, (double)d->eps);
	op_say_tensor("a", &d->a, buf, size);
	op_say_tensor("scale", &d->scale, buf, size);
	op_say_tensor("bias", &d->bias, buf, size);
	op_say_tensor("mean", &d->mean, buf, size);
	op_say_tensor("variance", &d->variance, buf, size);
	op_say_tensor("d", &d->d, buf, size);
	op_say_text(buf, size, " flags 0x%x", d->flags);
	op_say_tensor("addend", &d->addend, buf, size);
	op_say_tensor("second", &d->second, buf, size);
	op_say_tensor("scales", &d->scales, buf, size);
	op_say_tensor("zeros", &d->zeros, buf, size);
	op_say_epilogue(&d->epilogue, buf, size);
}

const struct oracle_op oracle_norm = {
	.result = result, .compute = compute, .say = say,
};
