// SPDX-License-Identifier: MIT
/*
 * Operations on the CPU that move elements, and reductions.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host.h"

/* The next index of @dims; false after the last. */
bool host_next(uint32_t rank, const int64_t *dims, int64_t *at)
{
	uint32_t i;

	for (i = rank; i-- > 0;) {
		if (++at[i] < dims[i])
			return true;
		at[i] = 0;
	}
	return false;
}

bool host_is_empty(const struct host_tensor *t)
{
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		if (!t->dims[i])
			return true;
	return false;
}

int64_t host_place(const struct host_tensor *t, const int64_t *at)
{
	int64_t n = 0;
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		n += at[i] * t->strides[i];
	return n;
}

int host_concat(const struct accel_concat_desc *desc, const struct host_tensor *t, uint32_t count)
{
	const struct host_tensor *d = host_arg(t, count, ACCEL_ARG_D), *a;
	int64_t at[ACCEL_GRAPH_MAX_RANK], start = 0, pos;
	uint32_t i;

	for (i = 0; i < desc->count; i++) {
		a = host_arg(t, count, ACCEL_ARG_A + i);
		if (!a || a->rank != d->rank || desc->axis >= d->rank)
			return -EINVAL;
		memset(at, 0, sizeof(at));
		if (host_is_empty(a))
			continue;
		do {
			pos = host_place(d, at) + start * d->strides[desc->axis];
			host_put(d->type, d->data, pos,
				 host_get(a->type, a->data, host_place(a, at)));
		} while (host_next(a->rank, a->dims, at));
		start += a->dims[desc->axis];
	}
	return 0;
}

/* An index, which counts from the end if it is negative; -1: out of range. */
int64_t host_index(struct host_number n, int64_t dim)
{
	int64_t i = n.real ? (int64_t)n.f : n.i;

	if (i < 0)
		i += dim;
	return i >= 0 && i < dim ? i : -1;
}

int host_out_of_range(char *why, size_t size, struct host_number n, int64_t dim)
{
	snprintf(why, size, "index %" PRId64 " is not within %" PRId64 " elements",
		 n.real ? (int64_t)n.f : n.i, dim);
	return -EFAULT;
}

static int gather_axis(const struct accel_gather_desc *desc, const struct host_tensor *a,
		       const struct host_tensor *b, const struct host_tensor *d, char *why,
		       size_t size)
{
	int64_t at[ACCEL_GRAPH_MAX_RANK] = { 0 }, from[ACCEL_GRAPH_MAX_RANK], i;
	uint32_t axis = desc->axis, k;
	struct host_number n;

	if (axis >= a->rank || d->rank != a->rank - 1 + b->rank)
		return -EINVAL;
	do {
		n = host_get(b->type, b->data, host_place(b, at + axis));
		i = host_index(n, a->dims[axis]);
		if (i < 0)
			return host_out_of_range(why, size, n, a->dims[axis]);
		for (k = 0; k < axis; k++)
			from[k] = at[k];
		from[axis] = i;
		for (k = axis + 1; k < a->rank; k++)
			from[k] = at[k - 1 + b->rank];
		host_put(d->type, d->data, host_place(d, at),
			 host_get(a->type, a->data, host_place(a, from)));
	} while (host_next(d->rank, d->dims, at));
	return 0;
}

static int gather_elements(const struct accel_gather_desc *desc, const struct host_tensor *a,
			   const struct host_tensor *b, const struct host_tensor *d, char *why,
			   size_t size)
{
	int64_t at[ACCEL_GRAPH_MAX_RANK] = { 0 }, from[ACCEL_GRAPH_MAX_RANK], i;
	uint32_t axis = desc->axis;
	struct host_number n;

	if (axis >= a->rank || b->rank != a->rank || d->rank != a->rank)
		return -EINVAL;
	do {
		n = host_get(b->type, b->data, host_place(b, at));
		i = host_index(n, a->dims[axis]);
		if (i < 0)
			return host_out_of_range(why, size, n, a->dims[axis]);
		memcpy(from, at, sizeof(from));
		from[axis] = i;
		host_put(d->type, d->data, host_place(d, at),
			 host_get(a->type, a->data, host_place(a, from)));
	} while (host_next(d->rank, d->dims, at));
	return 0;
}

static int gather_nd(const struct accel_gather_desc *desc, const struct host_tensor *a,
		     const struct host_tensor *b, const struct host_tensor *d, char *why,
		     size_t size)
{
	int64_t at[ACCEL_GRAPH_MAX_RANK] = { 0 }, from[ACCEL_GRAPH_MAX_RANK];
	int64_t key[ACCEL_GRAPH_MAX_RANK], i;
	uint32_t batch = desc->batch, head, k, n;
	struct host_number x;

	if (!b->rank || b->dims[b->rank - 1] < 1 || b->dims[b->rank - 1] > a->rank ||
	    batch >= b->rank || batch + b->dims[b->rank - 1] > a->rank)
		return -EINVAL;
	head = b->rank - 1;
	n = (uint32_t)b->dims[head];
	if (d->rank != head + a->rank - batch - n)
		return -EINVAL;
	do {
		memcpy(key, at, head * sizeof(key[0]));
		memcpy(from, at, batch * sizeof(from[0]));
		for (k = 0; k < n; k++) {
			key[head] = k;
			x = host_get(b->type, b->data, host_place(b, key));
			i = host_index(x, a->dims[batch + k]);
			if (i < 0)
				return host_out_of_range(why, size, x, a->dims[batch + k]);
			from[batch + k] = i;
		}
		for (k = batch + n; k < a->rank; k++)
			from[k] = at[head + k - batch - n];
		host_put(d->type, d->data, host_place(d, at),
			 host_get(a->type, a->data, host_place(a, from)));
	} while (host_next(d->rank, d->dims, at));
	return 0;
}

int host_gather(const struct accel_gather_desc *desc, const struct host_tensor *t,
		uint32_t count, char *why, size_t size)
{
	const struct host_tensor *a = host_arg(t, count, ACCEL_ARG_A);
	const struct host_tensor *b = host_arg(t, count, ACCEL_ARG_B);
	const struct host_tensor *d = host_arg(t, count, ACCEL_ARG_D);

	if (!a || !b)
		return -EINVAL;
	if (host_is_empty(d))
		return 0;
	if (desc->func == ACCEL_GATHER_ELEMENTS)
		return gather_elements(desc, a, b, d, why, size);
	if (desc->func == ACCEL_GATHER_ND)
		return gather_nd(desc, a, b, d, why, size);
	return gather_axis(desc, a, b, d, why, size);
}

static void accumulate(uint32_t func, struct host_number *sum, struct host_number x, bool first)
{
	struct accel_binary_desc op = { .func = ACCEL_BINARY_ADD };

	struct accel_unary_desc one = { .func = ACCEL_UNARY_ACT };

	if (func == ACCEL_REDUCE_MAX)
		op.func = ACCEL_BINARY_MAX;
	else if (func == ACCEL_REDUCE_MIN)
		op.func = ACCEL_BINARY_MIN;
	else if (func == ACCEL_REDUCE_PROD)
		op.func = ACCEL_BINARY_MUL;
	else if (func == ACCEL_REDUCE_L1)
		one.func = ACCEL_UNARY_ABS;
	if (one.func != ACCEL_UNARY_ACT)
		x = host_unary(&one, x);
	else if (func == ACCEL_REDUCE_L2 || func == ACCEL_REDUCE_SUM_SQUARE)
		x = host_binary(&(struct accel_binary_desc) { .func = ACCEL_BINARY_MUL }, x, x);
	*sum = first ? x : host_binary(&op, *sum, x);
}

/* The number of nothing */
static struct host_number none(uint32_t func, uint32_t type)
{
	struct host_number n = { .real = host_type_real(type) };

	switch (func) {
	case ACCEL_REDUCE_MEAN:
		n.f = NAN;
		break;
	case ACCEL_REDUCE_LOG_SUM:
	case ACCEL_REDUCE_LOG_SUM_EXP:
		n.f = -INFINITY;
		n.real = true;
		break;
	case ACCEL_REDUCE_PROD:
		n.f = 1;
		n.i = 1;
		break;
	case ACCEL_REDUCE_MAX:
		n.f = -INFINITY;
		n.i = INT64_MIN;
		break;
	case ACCEL_REDUCE_MIN:
		n.f = INFINITY;
		n.i = INT64_MAX;
		break;
	}
	return n;
}

/* Sums of bytes that are taken in one go, as weights have their columns side by side */
#define SUMS	256

/* @width sums of @n bytes that lie evenly apart: of all columns of weights these are many. */
static void sum_bytes(const struct host_tensor *a, int64_t first, int64_t step, int64_t n,
		      int64_t width, int64_t sums[SUMS])
{
	const int64_t next = a->strides[a->rank - 1];
	const uint8_t *u = (const uint8_t *)a->data + first;
	int64_t i, k;

	memset(sums, 0, (size_t)width * sizeof(*sums));
	for (k = 0; width == 1 && k < n; k++, u += step)
		sums[0] += a->type == ACCEL_S8 ? *(const int8_t *)u : *u;
	for (; k < n; k++, u += step) {
		const int8_t *s = (const int8_t *)u;

		if (a->type == ACCEL_S8)
			for (i = 0; i < width; i++)
				sums[i] += s[i * next];
		else
			for (i = 0; i < width; i++)
				sums[i] += u[i * next];
	}
}

/* The one dimension of more than one element along which bytes are summed, else no dimension */
static uint32_t byte_axis(const struct accel_reduce_desc *desc, const struct host_tensor *a,
			  const int64_t *span)
{
	uint32_t i, axis = a->rank;

	if (desc->func != ACCEL_REDUCE_SUM || (a->type != ACCEL_S8 && a->type != ACCEL_U8))
		return a->rank;
	for (i = 0; i < a->rank; i++) {
		if (span[i] == 1)
			continue;
		if (axis != a->rank)
			return a->rank;
		axis = i;
	}
	return axis;
}

static bool holds(const struct accel_binary_desc *op, struct host_number a, struct host_number b)
{
	struct host_number n = host_binary(op, a, b);

	return n.real ? n.f != 0 : n.i != 0;
}

/* Which of @n elements is the largest or smallest; a NaN is both. */
static int64_t arg_of(const struct accel_reduce_desc *desc, const struct host_tensor *a,
		      int64_t first, int64_t step, int64_t n)
{
	bool last = desc->flags & ACCEL_REDUCE_LAST_INDEX;
	struct host_number best = host_get(a->type, a->data, first), x;
	struct accel_binary_desc better = {
		.func = desc->func == ACCEL_REDUCE_ARG_MAX ? ACCEL_BINARY_GT : ACCEL_BINARY_LT
	};
	struct accel_binary_desc equal = { .func = ACCEL_BINARY_EQ };
	int64_t i, at = 0;

	for (i = 1; i < n && !(best.real && isnan(best.f)); i++) {
		x = host_get(a->type, a->data, first + i * step);
		if ((x.real && isnan(x.f)) || holds(&better, x, best) ||
		    (last && holds(&equal, x, best))) {
			best = x;
			at = i;
		}
	}
	return at;
}

static double real_of(struct host_number n)
{
	return n.real ? n.f : n.large ? (double)(uint64_t)n.i : (double)n.i;
}

/* What the sum becomes in the end; @max: what was taken off before the powers */
static struct host_number finished(uint32_t func, struct host_number sum, int64_t n, double max)
{
	double f = real_of(sum);

	switch (func) {
	case ACCEL_REDUCE_MEAN:
		f /= (double)n;
		break;
	case ACCEL_REDUCE_L2:
		f = sqrt(f);
		break;
	case ACCEL_REDUCE_LOG_SUM:
		f = log(f);
		break;
	case ACCEL_REDUCE_LOG_SUM_EXP:
		f = log(f) + max;
		break;
	default:
		return sum;
	}
	return (struct host_number) { .real = true, .f = f };
}

/* The sum, or what stands for it, of the elements from @at on in @span */
static struct host_number reduced(uint32_t func, const struct host_tensor *a, const int64_t *at,
				  const int64_t *span, double shift)
{
	int64_t in[ACCEL_GRAPH_MAX_RANK] = { 0 }, from[ACCEL_GRAPH_MAX_RANK];
	struct host_number sum = { 0 }, x;
	bool first = true;
	uint32_t i;

	do {
		for (i = 0; i < a->rank; i++)
			from[i] = at[i] + in[i];
		x = host_get(a->type, a->data, host_place(a, from));
		if (func == ACCEL_REDUCE_LOG_SUM_EXP)
			x = (struct host_number) { .real = true, .f = exp(real_of(x) - shift) };
		accumulate(func, &sum, x, first);
		first = false;
	} while (host_next(a->rank, span, in));
	return sum;
}

int host_reduce(const struct accel_reduce_desc *desc, const struct host_tensor *t, uint32_t count)
{
	const struct host_tensor *a = host_arg(t, count, ACCEL_ARG_A);
	const struct host_tensor *d = host_arg(t, count, ACCEL_ARG_D);
	int64_t at[ACCEL_GRAPH_MAX_RANK] = { 0 }, span[ACCEL_GRAPH_MAX_RANK], n = 1;
	bool arg = desc->func >= ACCEL_REDUCE_ARG_MAX;
	int64_t sums[SUMS], last, left;
	struct host_number sum;
	uint32_t i, axis = 0;
	double max = 0;

	if (!a || a->rank != d->rank)
		return -EINVAL;
	for (i = 0; i < a->rank; i++) {
		span[i] = !desc->axes || (desc->axes >> i & 1) ? a->dims[i] : 1;
		n *= span[i];
		if (desc->axes >> i & 1)
			axis = i;
	}
	if (host_is_empty(d))
		return 0;
	if (arg && (!n || desc->axes != ACCEL_AXIS(axis)))
		return -EINVAL;
	if (!arg)
		axis = byte_axis(desc, a, span);
	do {
		sum = (struct host_number) { false };
		if (arg) {
			sum.i = arg_of(desc, a, host_place(a, at), a->strides[axis], n);
		} else if (axis < a->rank) {
			last = at[a->rank - 1];
			left = d->dims[a->rank - 1] - last;
			if (last % SUMS == 0)
				sum_bytes(a, host_place(a, at), a->strides[axis], span[axis],
					  left < SUMS ? left : SUMS, sums);
			sum.i = sums[last % SUMS];
		} else if (!n) {
			sum = none(desc->func, a->type);
		} else {
			if (desc->func == ACCEL_REDUCE_LOG_SUM_EXP)
				max = real_of(reduced(ACCEL_REDUCE_MAX, a, at, span, 0));
			max = isfinite(max) ? max : 0;
			sum = finished(desc->func, reduced(desc->func, a, at, span, max), n, max);
		}
		host_put(d->type, d->data, host_place(d, at), sum);
	} while (host_next(d->rank, d->dims, at));
	return 0;
}
