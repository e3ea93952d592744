// SPDX-License-Identifier: MIT
/*
 * Norms, a line at a time; batch norm an element at a time.
 */
#include <string.h>

#include "oracle_lines.h"

#define U	ORACLE_U

/* Elements that share their statistics with the one at an index. */
struct group {
	double *x;
	int64_t n;
	double mean, mean_error;
	double variance, variance_error;
};

static bool has_channels(const struct accel_norm_desc *d)
{
	return d->func >= ACCEL_NORM_GROUP;
}

static bool together(const struct accel_norm_desc *d, const int64_t *a, const int64_t *b)
{
	uint32_t c = axis_of(&d->d, d->channel), axes = d->axes, i;
	int64_t size = 1;

	if (!axes)
		axes = 1u << (d->d.rank - 1);
	if (d->func == ACCEL_NORM_GROUP)
		size = d->d.dims[c] / d->groups;
	for (i = 0; i < d->d.rank; i++) {
		if (!has_channels(d)) {
			if (!(axes >> i & 1) && a[i] != b[i])
				return false;
		} else if (i == c) {
			if (a[i] / size != b[i] / size)
				return false;
		} else if (i == 0 && a[i] != b[i]) {
			return false;
		}
	}
	return true;
}

static void gather(const struct accel_norm_desc *d, const int64_t *idx, struct group *g)
{
	int64_t at[ACCEL_MAX_RANK];
	uint64_t e;

	g->n = 0;
	for (e = 0; e < oracle_count(&d->d); e++) {
		oracle_index(&d->d, e, at);
		if (together(d, idx, at))
			g->x[g->n++] = oracle_load(&d->a, at);
	}
}

static void statistics(const struct accel_norm_desc *d, struct group *g)
{
	double n = (double)g->n, sum = 0, mags = 0, dev = 0, t;
	int64_t i;

	g->mean = 0;
	g->mean_error = 0;
	for (i = 0; i < g->n && d->func != ACCEL_NORM_RMS; i++) {
		sum += g->x[i];
		mags += fabs(g->x[i]);
	}
	if (d->func != ACCEL_NORM_RMS) {
		g->mean = sum / n;
		g->mean_error = mags / n * ORACLE_SUM64(n);
	}
	sum = 0;
	for (i = 0; i < g->n; i++) {
		t = g->x[i] - g->mean;
		sum += t * t;
		dev += fabs(t);
	}
	g->variance = sum / n;
	g->variance_error = g->variance * ORACLE_SUM64(n) +
			    3 * g->mean_error * (dev / n + g->mean_error);
}

static struct oracle_num own(const struct accel_norm_desc *d, const struct group *g, double x)
{
	double var = g->variance + d->eps, s = 1 / sqrt(var);

	return bounded((x - g->mean) * s, U + ORACLE_SUM64(1) + g->variance_error / var,
		       2 * g->mean_error * s);
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
	int64_t idx[ACCEL_MAX_RANK], last[ACCEL_MAX_RANK];
	struct group g = { .n = 0 };
	bool have = false;
	uint64_t e;

	if (oracle_begin(r, result(desc, index), false))
		return -1;
	g.x = calloc(r->count + 1, sizeof(*g.x));
	for (e = 0; g.x && e < r->count; e++) {
		struct oracle_num y;

		oracle_index(&d->d, e, idx);
		if (d->func == ACCEL_NORM_BATCH) {
			y = given(d, oracle_load(&d->a, idx), idx);
		} else {
			if (!have || !together(d, idx, last)) {
				gather(d, idx, &g);
				statistics(d, &g);
				memcpy(last, idx, sizeof(last));
				have = true;
			}
			y = own(d, &g, oracle_load(&d->a, idx));
		}
		r->num[e] = after(d, y, idx);
	}
	free(g.x);
	return g.x ? 0 : -1;
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
