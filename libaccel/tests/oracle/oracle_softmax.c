// SPDX-License-Identifier: MIT
/*
 * Softmax and its logarithm, a line at a time.
 */
#include "oracle_lines.h"

#define U	ORACLE_U
#define TINY	ORACLE_TINY

/* The largest; NaN if there is one. */
static double largest(const double *x, int64_t n)
{
	double m = -INFINITY;
	int64_t i;

	for (i = 0; i < n; i++) {
		if (isnan(x[i]))
			return NAN;
		m = x[i] > m ? x[i] : m;
	}
	return m;
}

static void line(const double *x, int64_t n, bool log_of, struct oracle_num *y)
{
	double m = largest(x, n), sum = 0, log_sum;
	int64_t i;

	for (i = 0; i < n && m == -INFINITY; i++)
		y[i] = (struct oracle_num){ log_of ? -INFINITY : 0, 0 };
	if (m == -INFINITY)
		return;
	for (i = 0; i < n; i++)
		sum += exp(x[i] - m);
	log_sum = log(sum);
	for (i = 0; i < n; i++)
		y[i] = log_of ? bounded(x[i] - m - log_sum, U, 3.1 * U) :
				bounded(exp(x[i] - m) / sum, 7.1 * U, TINY);
}

static const struct accel_tensor *result(const struct accel_desc *desc, uint32_t index)
{
	return index ? NULL : &((const struct accel_softmax_desc *)desc)->d;
}

static int compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	const struct accel_softmax_desc *s = (const void *)desc;
	const struct accel_tensor *d = result(desc, index);
	uint32_t axes = 1u << axis_of(d, s->axis);
	int64_t idx[ACCEL_MAX_RANK], n = line_length(d, axes), i;
	double *x = calloc((size_t)n + 1, sizeof(*x));
	struct oracle_num *y = calloc((size_t)n + 1, sizeof(*y));
	int ret = oracle_begin(r, d, false);
	uint64_t e;

	ret = ret || !x || !y ? -1 : 0;
	for (e = 0; !ret && e < r->count; e++) {
		oracle_index(d, e, idx);
		if (!line_starts(d, axes, idx))
			continue;
		for (i = 0; i < n; i++) {
			line_index(d, axes, i, idx);
			x[i] = oracle_load_broadcast(&s->a, d, idx);
		}
		line(x, n, s->func == ACCEL_SOFTMAX_LOG, y);
		for (i = 0; i < n; i++) {
			line_index(d, axes, i, idx);
			r->num[element_at(d, idx)] = y[i];
		}
	}
	free(x);
	free(y);
	return ret;
}

static void say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_softmax_desc *s = (const void *)desc;

	op_say_text(buf, size, " func %u axis %d", s->func, s->axis);
	op_say_tensor("a", &s->a, buf, size);
	op_say_tensor("d", &s->d, buf, size);
}

const struct oracle_op oracle_softmax = {
	.result = result, .compute = compute, .say = say,
};
