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

static void statistics(const struct accel_norm_desc *d, struct group *groups)
{
	uint64_t count = oracle_count(&d->d), e;
	int64_t idx[ACCEL_MAX_RANK];
	struct group *g;
	double x, t;

	for (e = 0; e < count; e++) {
		oracle_index(&d->d, e, idx);
		g = &groups[group_of(d, idx)];
		x = oracle_load(&d->a, idx);
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
	for (e = 0; e < count; e++) {
		oracle_index(&d->d, e, idx);
		g = &groups[group_of(d, idx)];
		t = oracle_load(&d->a, idx) - g->mean;
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
	return index ? NULL : &((const struct accel_norm_desc *)desc)->d;
}

static int compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	const struct accel_norm_desc *d = (const void *)desc;
	int64_t idx[ACCEL_MAX_RANK];
	struct group *groups;
	struct oracle_num y;
	uint64_t e;

	if (oracle_begin(r, result(desc, index), false))
		return -1;
	groups = calloc(r->count + 1, sizeof(*groups));
	if (!groups)
		return -1;
	if (d->func != ACCEL_NORM_BATCH)
		statistics(d, groups);
	for (e = 0; e < r->count; e++) {
		oracle_index(&d->d, e, idx);
		if (d->func == ACCEL_NORM_BATCH)
			y = given(d, oracle_load(&d->a, idx), idx);
		else
			y = own(d, &groups[group_of(d, idx)], oracle_load(&d->a, idx));
		r->num[e] = after(d, y, idx);
	}
	free(groups);
	return 0;
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
	op_say_epilogue(&d->epilogue, buf, size);
}

const struct oracle_op oracle_norm = {
	.result = result, .compute = compute, .say = say,
};
