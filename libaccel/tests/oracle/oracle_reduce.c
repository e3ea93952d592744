// SPDX-License-Identifier: MIT
/*
 * Reductions, running sums, and the k largest: a line at a time.
 */
#include <float.h>
#include <string.h>

#include "oracle_lines.h"

#define U	ORACLE_U
/* Beyond every int32 */
#define BIG	(1LL << 40)

/* --- reductions --------------------------------------------------------------------- */

static bool reduce_exact(const struct accel_reduce_desc *d)
{
	switch (d->func) {
	case ACCEL_REDUCE_ARG_MAX:
	case ACCEL_REDUCE_ARG_MIN:
		return true;
	case ACCEL_REDUCE_SUM:
	case ACCEL_REDUCE_MAX:
	case ACCEL_REDUCE_MIN:
	case ACCEL_REDUCE_PROD:
	case ACCEL_REDUCE_L1:
	case ACCEL_REDUCE_SUM_SQUARE:
		return is_plain(&d->a) && is_plain(&d->d);
	default:
		return false;
	}
}

/* Numbers of this magnitude stay beyond int32, whatever is added or multiplied. */
static int64_t hold(int64_t v)
{
	return v > BIG ? BIG : v < -BIG ? -BIG : v;
}

static int64_t reduce_ints(uint32_t func, const int64_t *x, int64_t n)
{
	int64_t v = func == ACCEL_REDUCE_PROD ? 1 : func == ACCEL_REDUCE_MAX ? INT64_MIN :
		    func == ACCEL_REDUCE_MIN ? INT64_MAX : 0;
	int64_t i;

	for (i = 0; i < n; i++)
		switch (func) {
		case ACCEL_REDUCE_SUM:
			v += x[i];
			break;
		case ACCEL_REDUCE_L1:
			v += llabs(x[i]);
			break;
		case ACCEL_REDUCE_SUM_SQUARE:
			v = hold(v + x[i] * x[i]);
			break;
		case ACCEL_REDUCE_PROD:
			v = (int64_t)fmin(fmax((double)v * (double)x[i], -(double)BIG),
					  (double)BIG);
			break;
		case ACCEL_REDUCE_MAX:
			v = x[i] > v ? x[i] : v;
			break;
		default:
			v = x[i] < v ? x[i] : v;
			break;
		}
	return v;
}

/* Is @a better than @b? A NaN is, whatever is looked for. */
static bool beats(double a, double b, bool smallest)
{
	if (isnan(a) || isnan(b))
		return isnan(a) && !isnan(b);
	return smallest ? a < b : a > b;
}

static int64_t position(const double *x, int64_t n, bool smallest, bool last)
{
	int64_t at = 0, i;

	for (i = 1; i < n; i++)
		if (beats(x[i], x[at], smallest) ||
		    (last && !beats(x[at], x[i], smallest)))
			at = i;
	return at;
}

/* -0 is below +0 here, though not where positions are asked for. */
static double best_of(const double *x, int64_t n, bool smallest)
{
	double v = smallest ? INFINITY : -INFINITY;
	int64_t i;

	for (i = 0; i < n; i++)
		if (beats(x[i], v, smallest) ||
		    (x[i] == 0 && v == 0 && !signbit(x[i]) != smallest))
			v = x[i];
	return v;
}

static struct oracle_num log_sum_exp(const double *x, int64_t n)
{
	double m = best_of(x, n, false), sum = 0, v;
	int64_t i;

	if (!isfinite(m))
		return (struct oracle_num){ m, 0 };
	for (i = 0; i < n; i++)
		sum += exp(x[i] - m);
	v = m + log(sum);
	return bounded(v, U, 3.1 * U);
}

static struct oracle_num reduce_floats(uint32_t func, const double *x, int64_t n)
{
	long double sum = 0, mags = 0, squares = 0, product = 1, big = 1, small = 1;
	double rel = ORACLE_SUM64(n), v;
	int64_t i;

	for (i = 0; i < n; i++) {
		sum += x[i];
		mags += fabs(x[i]);
		squares += (long double)x[i] * x[i];
		product *= x[i];
		if (isfinite(x[i]) && x[i] != 0) {
			big *= fmax(1, fabs(x[i]));
			small *= fmin(1, fabs(x[i]));
		}
	}
	v = (double)sum;
	switch (func) {
	case ACCEL_REDUCE_SUM:
		return bounded(v, U, (double)mags * rel);
	case ACCEL_REDUCE_MEAN:
		return bounded(v / (double)n, U, (double)mags / (double)n * rel);
	case ACCEL_REDUCE_MAX:
	case ACCEL_REDUCE_MIN:
		return (struct oracle_num){ best_of(x, n, func == ACCEL_REDUCE_MIN), 0 };
	case ACCEL_REDUCE_PROD:
		/* In some order it leaves the range of binary64 on its way. */
		if (big > DBL_MAX || small < DBL_MIN)
			return (struct oracle_num){ (double)product, INFINITY };
		return bounded((double)product, U + rel, 0);
	case ACCEL_REDUCE_L1:
		return bounded((double)mags, U + rel, 0);
	case ACCEL_REDUCE_L2:
		return bounded((double)sqrtl(squares), U + rel, 0);
	case ACCEL_REDUCE_SUM_SQUARE:
		return bounded((double)squares, U + rel, 0);
	case ACCEL_REDUCE_LOG_SUM:
		/* Neither the sign of the sum is known nor whether it is 0. */
		if (isfinite(v) && (double)mags * rel * 4 > fabs(v))
			return (struct oracle_num){ v, INFINITY };
		return bounded(log(v), U, 1.0 / (1ll << 45) + 2 * (double)mags * rel / fabs(v));
	default:
		return log_sum_exp(x, n);
	}
}

static const struct accel_tensor *reduce_result(const struct accel_desc *desc, uint32_t index)
{
	return index ? NULL : &((const struct accel_reduce_desc *)desc)->d;
}

static int reduce_compute(const struct accel_desc *desc, uint32_t index,
			  struct oracle_result *r)
{
	const struct accel_reduce_desc *d = (const void *)desc;
	uint32_t axes = d->axes ? d->axes : (1u << d->a.rank) - 1;
	int64_t idx[ACCEL_MAX_RANK], n = line_length(&d->a, axes), i;
	double *x = calloc((size_t)n + 1, sizeof(*x));
	int64_t *ints = calloc((size_t)n + 1, sizeof(*ints));
	int ret = oracle_begin(r, &d->d, reduce_exact(d));
	bool plain = is_plain(&d->a);
	uint64_t e;

	ret = ret || !x || !ints ? -1 : 0;
	(void)index;
	for (e = 0; !ret && e < r->count; e++) {
		oracle_index(&d->d, e, idx);
		for (i = 0; i < n; i++) {
			line_index(&d->a, axes, i, idx);
			ints[i] = plain ? oracle_load_int(&d->a, idx) : 0;
			x[i] = oracle_load(&d->a, idx);
		}
		if (d->func >= ACCEL_REDUCE_ARG_MAX) {
			for (i = 0; i < n && plain; i++)
				x[i] = (double)ints[i];
			r->exact[e] = position(x, n, d->func == ACCEL_REDUCE_ARG_MIN,
					       d->flags & ACCEL_REDUCE_LAST_INDEX);
		} else if (r->exact) {
			r->exact[e] = oracle_saturate(reduce_ints(d->func, ints, n), d->d.dtype);
		} else {
			r->num[e] = reduce_floats(d->func, x, n);
		}
	}
	free(x);
	free(ints);
	return ret;
}

static void reduce_say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_reduce_desc *d = (const void *)desc;

	op_say_text(buf, size, " func %u axes 0x%x flags %u", d->func, d->axes, d->flags);
	op_say_tensor("a", &d->a, buf, size);
	op_say_tensor("d", &d->d, buf, size);
}

const struct oracle_op oracle_reduce = {
	.result = reduce_result, .compute = reduce_compute, .say = reduce_say,
};

/* --- running sums -------------------------------------------------------------------- */

static const struct accel_tensor *scan_result(const struct accel_desc *desc, uint32_t index)
{
	return index ? NULL : &((const struct accel_scan_desc *)desc)->d;
}

static int scan_compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	const struct accel_scan_desc *s = (const void *)desc;
	uint32_t axes = 1u << axis_of(&s->d, s->axis);
	int64_t idx[ACCEL_MAX_RANK], n = line_length(&s->d, axes), i, at;
	bool exclusive = s->flags & ACCEL_SCAN_EXCLUSIVE;
	uint64_t e;

	(void)index;
	if (oracle_begin(r, &s->d, is_plain(&s->a) && is_plain(&s->d)))
		return -1;
	for (e = 0; e < r->count; e++) {
		double sum = 0, mags = 0, x, before, mags_before;
		int64_t ints = 0, v, ints_before;

		oracle_index(&s->d, e, idx);
		if (!line_starts(&s->d, axes, idx))
			continue;
		for (i = 0; i < n; i++) {
			line_index(&s->d, axes, s->flags & ACCEL_SCAN_REVERSE ? n - 1 - i : i,
				   idx);
			at = (int64_t)element_at(&s->d, idx);
			before = sum;
			mags_before = mags;
			ints_before = ints;
			if (r->exact) {
				v = oracle_load_int_broadcast(&s->a, &s->d, idx);
				ints += v;
				r->exact[at] = oracle_saturate(exclusive ? ints_before : ints,
							       s->d.dtype);
				continue;
			}
			x = oracle_load_broadcast(&s->a, &s->d, idx);
			sum += x;
			mags += fabs(x);
			r->num[at] = bounded(exclusive ? before : sum, U,
					     2 * ORACLE_SUM64(i) *
					     (exclusive ? mags_before : mags));
		}
	}
	return 0;
}

static void scan_say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_scan_desc *s = (const void *)desc;

	op_say_text(buf, size, " flags %u axis %d", s->flags, s->axis);
	op_say_tensor("a", &s->a, buf, size);
	op_say_tensor("d", &s->d, buf, size);
}

const struct oracle_op oracle_scan = {
	.result = scan_result, .compute = scan_compute, .say = scan_say,
};

/* --- the k largest --------------------------------------------------------------------- */

struct entry {
	double v;
	int64_t i;
	int64_t at;
	bool smallest;
};

/* A NaN is larger than all numbers here, and of equal ones the earlier is first. */
static int order(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;
	bool nan_a = isnan(a->v), nan_b = isnan(b->v);
	int r;

	if (nan_a || nan_b)
		r = nan_a == nan_b ? 0 : nan_a ? -1 : 1;
	else
		r = a->v > b->v ? -1 : a->v < b->v ? 1 : 0;
	if (r)
		return a->smallest ? -r : r;
	return a->at < b->at ? -1 : a->at > b->at;
}

static const struct accel_tensor *topk_result(const struct accel_desc *desc, uint32_t index)
{
	const struct accel_topk_desc *t = (const void *)desc;

	return index == 0 ? &t->d : index == 1 ? &t->indices : NULL;
}

static int topk_compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	const struct accel_topk_desc *t = (const void *)desc;
	uint32_t axes = 1u << axis_of(&t->d, t->axis);
	int64_t n = line_length(&t->a, axes), k = line_length(&t->d, axes);
	struct entry *list = calloc((size_t)n + 1, sizeof(*list));
	bool plain = is_plain(&t->a);
	int64_t idx[ACCEL_MAX_RANK], i;
	uint64_t e, at;
	int ret = oracle_begin(r, &t->d, index || (plain && is_plain(&t->d)));

	ret = ret || !list ? -1 : 0;
	for (e = 0; !ret && e < r->count; e++) {
		oracle_index(&t->d, e, idx);
		if (!line_starts(&t->d, axes, idx))
			continue;
		for (i = 0; i < n; i++) {
			line_index(&t->a, axes, i, idx);
			list[i] = (struct entry){
				.i = plain ? oracle_load_int(&t->a, idx) : 0, .at = i,
				.smallest = t->flags & ACCEL_TOPK_SMALLEST,
			};
			list[i].v = plain ? (double)list[i].i : oracle_load(&t->a, idx);
		}
		qsort(list, (size_t)n, sizeof(*list), order);
		for (i = 0; i < k; i++) {
			line_index(&t->d, axes, i, idx);
			at = element_at(&t->d, idx);
			if (index)
				r->exact[at] = list[i].at;
			else if (r->exact)
				r->exact[at] = oracle_saturate(list[i].i, t->d.dtype);
			else
				r->num[at] = (struct oracle_num){ (float)list[i].v, 0 };
		}
	}
	free(list);
	return ret;
}

static void topk_say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_topk_desc *t = (const void *)desc;

	op_say_text(buf, size, " flags %u axis %d", t->flags, t->axis);
	op_say_tensor("a", &t->a, buf, size);
	op_say_tensor("d", &t->d, buf, size);
	op_say_tensor("indices", &t->indices, buf, size);
}

const struct oracle_op oracle_topk = {
	.result = topk_result, .compute = topk_compute, .say = topk_say,
};
