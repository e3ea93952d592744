// SPDX-License-Identifier: MIT
/*
 * Convolutions, an element at a time.
 */
#include <math.h>
#include <stdlib.h>

#include "oracle.h"
#include "libaccel/tests/ops/optest.h"

#define U	ORACLE_U
#define TINY	ORACLE_TINY

/**
 * struct tap - a term of the sum of an element
 * @a: of A, if it is @inside
 * @b: of B
 * @inside: not in the padding
 */
struct tap {
	int64_t a, b;
	bool inside;
};

/**
 * struct state - a convolution in progress
 * @d: descriptor
 * @a: values of A, row-major, or NULL
 * @b: values of B
 * @ai: integers of A without the zero point, or NULL
 * @bi: integers of B without theirs
 * @spatial: spatial dimensions
 * @channel: dimension of the channels of A and D
 * @first: first spatial dimension of A and D
 * @groups: groups
 * @ac: input channels of a group
 * @dc: output channels of a group
 * @winograd: error of the sum of each element by Winograd's algorithm, or NULL
 * @tap: where the terms of an element are in its first input channel
 * @taps: how many there are
 * @anext: from one input channel of A to the next
 * @bnext: of B
 */
struct state {
	const struct accel_conv_desc *d;
	double *a, *b;
	int64_t *ai, *bi;
	uint32_t spatial, channel, first;
	int64_t groups, ac, dc;
	double *winograd;
	struct tap *tap;
	int64_t taps, anext, bnext;
};

static int64_t zero_of(const struct accel_tensor *t, const int64_t *idx)
{
	const struct accel_quant *q = &t->quant;

	if (q->scheme == ACCEL_QUANT_TENSOR)
		return q->zero;
	if (!q->zeros)
		return 0;
	return ((int32_t *)((char *)accel_bo_ptr(q->zeros) + q->zeros_offset))[idx[q->axis]];
}

static int read_all(const struct accel_tensor *t, double **v, int64_t **ints, bool integer)
{
	uint64_t count = oracle_count(t), n;
	int64_t idx[ACCEL_MAX_RANK] = { 0 };

	*v = integer ? NULL : calloc(count + 1, sizeof(**v));
	*ints = integer ? calloc(count + 1, sizeof(**ints)) : NULL;
	if (!*v && !*ints)
		return -1;
	for (n = 0; n < count; n++, oracle_next(t, idx)) {
		if (integer)
			(*ints)[n] = oracle_load_int(t, idx) - zero_of(t, idx);
		else
			(*v)[n] = oracle_load(t, idx);
	}
	return 0;
}

static int64_t at(const struct accel_tensor *t, const int64_t *idx)
{
	int64_t n = 0;
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		n = n * t->dims[i] + idx[i];
	return n;
}

/* The input that output @o meets with tap @k, -1 if there is none. */
static int64_t input_of(const struct state *s, uint32_t i, int64_t o, int64_t k)
{
	const struct accel_conv_desc *d = s->d;
	int64_t stride = d->stride[i] ? d->stride[i] : 1;
	int64_t dilation = d->dilation[i] ? d->dilation[i] : 1;
	int64_t in;

	if (d->flags & ACCEL_CONV_TRANSPOSED) {
		in = o + d->pad_before[i] - k * dilation;
		if (in < 0 || in % stride)
			return -1;
		in /= stride;
	} else {
		in = o * stride + k * dilation - d->pad_before[i];
	}
	return in < 0 || in >= d->a.dims[s->first + i] ? -1 : in;
}

/* A term of the sum of an element, in the first input channel: where its factors are. */
static struct tap term(const struct state *s, const int64_t *idx, const int64_t *k)
{
	int64_t m = idx[s->channel], g = m / s->dc;
	int64_t a[ACCEL_MAX_RANK] = { 0 }, b[ACCEL_MAX_RANK] = { 0 };
	bool inside = true;
	uint32_t i;

	a[0] = idx[0];
	a[s->channel] = g * s->ac;
	b[0] = m;
	if (s->d->flags & ACCEL_CONV_TRANSPOSED) {
		b[0] = g * s->ac;
		b[1] = m % s->dc;
	}
	for (i = 0; i < s->spatial; i++) {
		b[2 + i] = k[i];
		a[s->first + i] = input_of(s, i, idx[s->first + i], k[i]);
		inside &= a[s->first + i] >= 0;
	}
	return (struct tap){ at(&s->d->a, a), at(&s->d->b, b), inside };
}

static int64_t taps(const struct state *s, uint32_t i)
{
	return i < s->spatial ? s->d->b.dims[2 + i] : 1;
}

/* All terms of an element in the first input channel; in others they are as far apart. */
static void find_taps(struct state *s, const int64_t *idx)
{
	int64_t k[ACCEL_MAX_RANK] = { 0 }, n = 0;

	for (k[0] = 0; k[0] < taps(s, 0); k[0]++)
		for (k[1] = 0; k[1] < taps(s, 1); k[1]++)
			s->tap[n++] = term(s, idx, k);
}

/* From one index of a dimension to the next, row-major. */
static int64_t step_of(const struct accel_tensor *t, uint32_t dim)
{
	int64_t n = 1;

	while (++dim < t->rank)
		n *= t->dims[dim];
	return n;
}

static int64_t sum_exact(const struct state *s)
{
	int64_t sum = 0, c, i;

	if (!s->ai || !s->bi)
		return 0;
	for (c = 0; c < s->ac; c++)
		for (i = 0; i < s->taps; i++)
			if (s->tap[i].inside)
				sum += s->ai[s->tap[i].a + c * s->anext] *
				       s->bi[s->tap[i].b + c * s->bnext];
	return sum;
}

static struct oracle_num sum_float(const struct state *s)
{
	double sum = 0, mag = 0, k = (double)(s->ac * s->taps), p;
	bool shown = false;
	int64_t c, i;

	for (c = 0; c < s->ac; c++)
		for (i = 0; i < s->taps; i++) {
			const double b = s->b[s->tap[i].b + c * s->bnext];

			if (!s->tap[i].inside) {
				/* Multiplied by a zero of the padding, or not */
				shown |= !isfinite(b);
				continue;
			}
			p = s->a[s->tap[i].a + c * s->anext] * b;
			sum += p;
			mag += isfinite(p) ? fabs(p) : 0;
		}
	if (shown)
		return (struct oracle_num){ sum, INFINITY };
	/* A sum of numbers of either sign may overflow on its way, in one order or another. */
	if (mag * 1.001 > (double)__FLT_MAX__ && !(fabs(sum) >= mag * 0.999 && isfinite(sum)))
		mag = INFINITY;
	/* A rounding for each product and each sum, in whatever order. */
	return (struct oracle_num){ sum, mag * (k + 1) * U * 1.001 + k * TINY };
}

/* Errors of Winograd's algorithm, where it may be taken; AUTO takes one of two. */
static int find_errors(struct state *s)
{
	const struct accel_conv_desc *d = s->d;
	const bool automatic = d->algorithm == ACCEL_CONV_AUTO && d->flags & ACCEL_CONV_WINOGRAD &&
			       d->flags & ACCEL_CONV_PACK_B;
	uint32_t edge;

	if (!s->a || s->spatial != 2 || s->groups > 1 || d->flags & ACCEL_CONV_TRANSPOSED ||
	    s->taps != 9 || d->b.dims[2] != 3 || d->stride[0] > 1 || d->stride[1] > 1 ||
	    (!automatic && d->algorithm < ACCEL_CONV_WINOGRAD_2))
		return 0;
	s->winograd = calloc(oracle_count(&d->d) + 1, sizeof(double));
	for (edge = 2; s->winograd && edge <= 6; edge += 2)
		if ((automatic ? edge < 6 :
		     d->algorithm == ACCEL_CONV_WINOGRAD_2 + (edge - 2) / 2) &&
		    oracle_winograd(d, edge, s->a, s->b, s->winograd))
			return -1;
	return s->winograd ? 0 : -1;
}

/* Scale of an integer sum: that of A times that of the output channel. */
static double sum_scale(const struct state *s, const int64_t *idx)
{
	const struct accel_quant *q = &s->d->b.quant;
	double scale = s->d->a.quant.scheme ? s->d->a.quant.scale : 1;
	int64_t m = idx[s->channel];
	const char *table;

	if (q->scheme == ACCEL_QUANT_TENSOR)
		return scale * q->scale;
	if (q->scheme == ACCEL_QUANT_NONE)
		return scale;
	if (s->d->flags & ACCEL_CONV_TRANSPOSED)
		m %= s->dc;
	table = (const char *)accel_bo_ptr(q->scales) + q->scales_offset;
	if (q->scale_dtype == ACCEL_F16)
		return scale * oracle_f16_value(((const uint16_t *)table)[m]);
	return scale * ((const float *)table)[m];
}

/* An operand of the epilogue: a vector goes along the channels. */
static double load(const struct state *s, const struct accel_tensor *t, const int64_t *idx)
{
	const int64_t one[1] = { t->dims[0] == 1 ? 0 : idx[s->channel] };

	return t->rank == 1 ? oracle_load(t, one) :
			      oracle_load_broadcast(t, &s->d->d, idx);
}

static int64_t load_int(const struct state *s, const struct accel_tensor *t,
			const int64_t *idx)
{
	const int64_t one[1] = { t->dims[0] == 1 ? 0 : idx[s->channel] };

	return t->rank == 1 ? oracle_load_int(t, one) :
			      oracle_load_int_broadcast(t, &s->d->d, idx);
}

static int64_t element_exact(const struct state *s, const int64_t *idx)
{
	const struct accel_epilogue *epi = &s->d->epilogue;
	int64_t v = sum_exact(s);

	v += load_int(s, &epi->bias, idx);
	v += load_int(s, &epi->residual, idx);
	if (epi->act == ACCEL_ACT_RELU && v < 0)
		v = 0;
	v += load_int(s, &epi->residual_post, idx);
	return oracle_saturate(v, ACCEL_S32);
}

static struct oracle_num element(const struct state *s, const int64_t *idx)
{
	const struct accel_epilogue *epi = &s->d->epilogue;
	struct oracle_num x;

	if (s->a) {
		x = sum_float(s);
		if (s->winograd && isfinite(x.e)) {
			double e = s->winograd[at(&s->d->d, idx)];

			x.e = s->d->algorithm ? e : fmax(x.e, e);
		}
	} else {
		x.v = (double)sum_exact(s);
		x.e = 0;
		x = oracle_mul(oracle_step(x), sum_scale(s, idx));
		/* The product of the scales is rounded too. */
		x = oracle_step(x);
	}
	/* Even an exact sum is bounded, not known: its order is open. */
	x.e += TINY;
	if (epi->scale.rank)
		x = oracle_mul(x, load(s, &epi->scale, idx));
	if (epi->bias.rank)
		x = oracle_add(x, load(s, &epi->bias, idx));
	if (epi->residual.rank)
		x = oracle_add(x, load(s, &epi->residual, idx));
	x = oracle_activation(x, epi);
	if (epi->residual_post.rank)
		x = oracle_add(x, load(s, &epi->residual_post, idx));
	return x;
}

static int begin(struct state *s, const struct accel_desc *desc)
{
	const struct accel_conv_desc *d = (const void *)desc;
	bool integer = d->a.dtype > ACCEL_BF16;

	s->d = d;
	s->spatial = d->a.rank - 2;
	s->channel = d->flags & ACCEL_CONV_NHWC ? d->a.rank - 1 : 1;
	s->first = d->flags & ACCEL_CONV_NHWC ? 1 : 2;
	s->groups = d->groups ? d->groups : 1;
	s->ac = d->a.dims[s->channel] / s->groups;
	s->dc = d->d.dims[s->channel] / s->groups;
	s->taps = taps(s, 0) * taps(s, 1);
	s->anext = step_of(&d->a, s->channel);
	s->bnext = step_of(&d->b, d->flags & ACCEL_CONV_TRANSPOSED ? 0 : 1);
	s->tap = calloc((size_t)s->taps + 1, sizeof(*s->tap));
	return !s->tap || read_all(&d->a, &s->a, &s->ai, integer) ||
	       read_all(&d->b, &s->b, &s->bi, integer) || find_errors(s) ? -1 : 0;
}

static int compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	const struct accel_tensor *d = &((const struct accel_conv_desc *)desc)->d;
	int64_t idx[ACCEL_MAX_RANK] = { 0 };
	struct state s = { 0 };
	uint64_t n;
	int ret;

	(void)index;
	ret = oracle_begin(r, d, d->dtype == ACCEL_S32);
	if (!ret)
		ret = begin(&s, desc);
	for (n = 0; !ret && n < r->count; n++, oracle_next(d, idx)) {
		find_taps(&s, idx);
		if (r->exact)
			r->exact[n] = element_exact(&s, idx);
		else
			r->num[n] = element(&s, idx);
	}
	free(s.a);
	free(s.b);
	free(s.ai);
	free(s.bi);
	free(s.winograd);
	free(s.tap);
	return ret;
}

static const struct accel_tensor *result(const struct accel_desc *desc, uint32_t index)
{
	return index ? NULL : &((const struct accel_conv_desc *)desc)->d;
}

static void say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_conv_desc *d = (const void *)desc;

	op_say_text(buf, size,
		    " flags %u algorithm %u groups %u stride %ux%u dilation %ux%u pad %u+%u, %u+%u",
		    d->flags, d->algorithm, d->groups, d->stride[0], d->stride[1],
		    d->dilation[0], d->dilation[1], d->pad_before[0], d->pad_after[0],
		    d->pad_before[1], d->pad_after[1]);
	op_say_tensor("a", &d->a, buf, size);
	op_say_tensor("b", &d->b, buf, size);
	op_say_tensor("d", &d->d, buf, size);
	op_say_epilogue(&d->epilogue, buf, size);
}

const struct oracle_op oracle_conv = {
	.result = result, .compute = compute, .say = say,
};
