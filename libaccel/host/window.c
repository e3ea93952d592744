// SPDX-License-Identifier: MIT
/*
 * Operations on the CPU on windows of images: convolutions and pooling.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "host.h"

static double real_at(const struct host_tensor *t, int64_t place)
{
	const struct host_number n = host_get(t->type, t->data, place);

	return n.real ? n.f : n.large ? (double)(uint64_t)n.i : (double)n.i;
}

static int64_t or_one(uint32_t n)
{
	return n ? n : 1;
}

/*
 * How many of @n taps, which lie @step apart from @at on, are in an image of @size, and which is
 * the first: those in its padding are not walked through, of which there may be any number.
 */
static int64_t clipped(int64_t at, int64_t step, int64_t n, int64_t size, int64_t *first)
{
	int64_t end = at < size ? (size - 1 - at) / step + 1 : 0;

	*first = at < 0 ? (step - 1 - at) / step : 0;
	if (end > n)
		end = n;
	return end > *first ? end - *first : 0;
}

/* --- convolutions ----------------------------------------------------------------------------- */

/**
 * struct conv - a convolution
 * @desc: descriptor
 * @a: input
 * @b: weights
 * @d: result
 * @channel: dimension of the channels of A and D
 * @first: the first spatial dimension
 * @n: spatial dimensions
 * @ins: input channels of a group
 * @outs: output channels of a group
 */
struct conv {
	const struct accel_conv_desc *desc;
	const struct host_tensor *a;
	const struct host_tensor *b;
	const struct host_tensor *d;
	uint32_t channel;
	uint32_t first;
	uint32_t n;
	int64_t ins;
	int64_t outs;
};

/* Where in A a tap of a window of D is along spatial dimension @i; -1: nowhere */
static int64_t input_of(const struct conv *c, uint32_t i, int64_t out, int64_t tap)
{
	int64_t at = tap * or_one(c->desc->dilation[i]), stride = or_one(c->desc->stride[i]);

	if (c->desc->flags & ACCEL_CONV_TRANSPOSED) {
		at = out + c->desc->pad_before[i] - at;
		if (at % stride)
			return -1;
		at /= stride;
	} else {
		at += out * stride - c->desc->pad_before[i];
	}
	return at >= 0 && at < c->a->dims[c->first + i] ? at : -1;
}

/* The taps of a window of D along spatial dimension @i that may be in A */
static int64_t taps_of(const struct conv *c, uint32_t i, int64_t out, int64_t *first)
{
	int64_t size = c->a->dims[c->first + i], stride = or_one(c->desc->stride[i]), at;

	at = out * stride - c->desc->pad_before[i];
	if (c->desc->flags & ACCEL_CONV_TRANSPOSED) {
		/* They go the other way, and lie between elements, too. */
		size *= stride;
		at = size - 1 - (out + c->desc->pad_before[i]);
	}
	return clipped(at, or_one(c->desc->dilation[i]), c->b->dims[2 + i], size, first);
}

/* The sum over a window of all channels that output @at sees */
static double convolved(const struct conv *c, const int64_t *at)
{
	const bool transposed = c->desc->flags & ACCEL_CONV_TRANSPOSED;
	int64_t tap[2] = { 0 }, from[ACCEL_GRAPH_MAX_RANK], w[ACCEL_GRAPH_MAX_RANK], k;
	int64_t first[2], taps[2];
	const int64_t out = at[c->channel], group = out / c->outs;
	double sum = 0;
	uint32_t i;
	bool inside;

	memcpy(from, at, sizeof(from));
	for (i = 0; i < c->n; i++) {
		taps[i] = taps_of(c, i, at[c->first + i], &first[i]);
		if (!taps[i])
			return 0;
	}
	do {
		for (i = 0, inside = true; i < c->n; i++) {
			w[2 + i] = first[i] + tap[i];
			from[c->first + i] = input_of(c, i, at[c->first + i], w[2 + i]);
			inside = inside && from[c->first + i] >= 0;
		}
		for (k = 0; inside && k < c->ins; k++) {
			from[c->channel] = group * c->ins + k;
			w[0] = transposed ? group * c->ins + k : out;
			w[1] = transposed ? out % c->outs : k;
			sum += real_at(c->a, host_place(c->a, from)) *
			       real_at(c->b, host_place(c->b, w));
		}
	} while (host_next(c->n, taps, tap));
	return sum;
}

static bool conv_fits(struct conv *c)
{
	const bool transposed = c->desc->flags & ACCEL_CONV_TRANSPOSED;
	const int64_t groups = or_one(c->desc->groups);

	c->n = c->a->rank - 2;
	if (c->a->rank < 3 || c->a->rank > 4 || c->b->rank != c->a->rank ||
	    c->d->rank != c->a->rank)
		return false;
	c->channel = c->desc->flags & ACCEL_CONV_NHWC ? c->n + 1 : 1;
	c->first = c->desc->flags & ACCEL_CONV_NHWC ? 1 : 2;
	c->ins = c->b->dims[!transposed];
	c->outs = c->b->dims[transposed];
	if (transposed)
		c->ins /= groups;
	else
		c->outs /= groups;
	return c->a->dims[0] == c->d->dims[0] && c->outs > 0 &&
	       c->a->dims[c->channel] == c->ins * groups &&
	       c->d->dims[c->channel] == c->outs * groups;
}

int host_conv(const struct accel_conv_desc *desc, const struct host_tensor *t, uint32_t count)
{
	const struct host_tensor *bias = host_arg(t, count, ACCEL_ARG_BIAS);
	const struct accel_unary_desc act = { .epilogue = desc->epilogue };
	struct conv c = { .desc = desc, .a = host_arg(t, count, ACCEL_ARG_A),
			  .b = host_arg(t, count, ACCEL_ARG_B),
			  .d = host_arg(t, count, ACCEL_ARG_D) };
	int64_t at[ACCEL_GRAPH_MAX_RANK] = { 0 };
	struct host_number n;

	if (!c.a || !c.b || !conv_fits(&c) || host_arg(t, count, ACCEL_ARG_SCALE) ||
	    host_arg(t, count, ACCEL_ARG_RESIDUAL) ||
	    (bias && (bias->rank != 1 || bias->dims[0] != c.d->dims[c.channel])))
		return -EINVAL;
	if (host_is_empty(c.d))
		return 0;
	do {
		n = (struct host_number) { .real = true };
		if (!host_is_empty(c.b))
			n.f = convolved(&c, at);
		if (bias)
			n.f += real_at(bias, at[c.channel] * bias->strides[0]);
		if (desc->epilogue.act != ACCEL_ACT_NONE)
			n = host_unary(&act, n);
		host_put(c.d->type, c.d->data, host_place(c.d, at), n);
	} while (host_next(c.d->rank, c.d->dims, at));
	return 0;
}

/* --- pooling ------------------------------------------------------------------------------ */

/* What a window becomes whose first position is @first and whose kernel is @kernel */
static double pooled(const struct accel_pool_desc *desc, const struct host_tensor *a,
		     const int64_t *first, const int64_t *kernel)
{
	int64_t tap[3] = { 0 }, from[ACCEL_GRAPH_MAX_RANK], n = 1, padded = 1, start[3], taps[3];
	const bool max = desc->func == ACCEL_POOL_MAX, global = desc->flags & ACCEL_POOL_GLOBAL;
	double sum = max ? -INFINITY : 0, x;
	int64_t step[3], end;
	uint32_t i;

	memcpy(from, first, sizeof(from));
	for (i = 0; i + 2 < a->rank; i++) {
		step[i] = global ? 1 : or_one(desc->dilation[i]);
		end = a->dims[2 + i] + (global ? 0 : desc->pad_end[i]);
		/* Those before the image count as well. */
		padded *= clipped(0, step[i], kernel[i], end - first[2 + i], &start[i]);
		taps[i] = clipped(first[2 + i], step[i], kernel[i], a->dims[2 + i], &start[i]);
		n *= taps[i];
	}
	if (!n)
		return sum;
	do {
		for (i = 0; i + 2 < a->rank; i++)
			from[2 + i] = first[2 + i] + (start[i] + tap[i]) * step[i];
		x = real_at(a, host_place(a, from));
		if (max)
			sum = isnan(sum) || sum > x ? sum : x;
		else
			sum += desc->func == ACCEL_POOL_LP ? pow(fabs(x), desc->norm) : x;
	} while (host_next(a->rank - 2, taps, tap));
	if (desc->func == ACCEL_POOL_LP)
		return pow(sum, 1.0 / desc->norm);
	if (max)
		return sum;
	return sum / (double)(desc->flags & ACCEL_POOL_COUNT_PAD ? padded : n);
}

int host_pool(const struct accel_pool_desc *desc, const struct host_tensor *t, uint32_t count)
{
	const struct host_tensor *a = host_arg(t, count, ACCEL_ARG_A);
	const struct host_tensor *d = host_arg(t, count, ACCEL_ARG_D);
	int64_t at[ACCEL_GRAPH_MAX_RANK] = { 0 }, first[ACCEL_GRAPH_MAX_RANK], kernel[3];
	const bool global = desc->flags & ACCEL_POOL_GLOBAL;
	struct host_number n = { .real = true };
	uint32_t i;

	if (!a || a->rank < 3 || a->rank > 5 || d->rank != a->rank || a->dims[0] != d->dims[0] ||
	    a->dims[1] != d->dims[1] || (desc->func == ACCEL_POOL_LP && !desc->norm))
		return -EINVAL;
	for (i = 0; i + 2 < a->rank; i++)
		kernel[i] = global ? a->dims[2 + i] : desc->kernel[i];
	if (host_is_empty(d))
		return 0;
	do {
		memcpy(first, at, sizeof(first));
		for (i = 0; i + 2 < a->rank; i++)
			first[2 + i] = global ? 0 : at[2 + i] * or_one(desc->stride[i]) -
				       desc->pad_begin[i];
		n.f = pooled(desc, a, first, kernel);
		host_put(d->type, d->data, host_place(d, at), n);
	} while (host_next(d->rank, d->dims, at));
	return 0;
}
