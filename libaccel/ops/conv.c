// SPDX-License-Identifier: MIT
/*
 * Convolutions: which combinations there are, how the caller's tensors become
 * the operands of the task, and the ways to do it, among which the planner
 * chooses.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ops.h"

#define CONV_FLAGS	(ACCEL_CONV_NHWC | ACCEL_CONV_TRANSPOSED | \
			 ACCEL_CONV_PACK_B | ACCEL_CONV_WINOGRAD)

static const char * const names[5] = {
	"conv.epilogue", "conv.epilogue.scale", "conv.epilogue.bias",
	"conv.epilogue.residual", "conv.epilogue.residual_post"
};

/**
 * struct conv - a descriptor being checked
 * @desc: descriptor
 * @transposed: weights are [C, M / groups, ...]
 * @spatial: spatial dimensions
 * @channel: dimension of the channels in A and D as the caller has them
 * @first: first of the spatial dimensions, likewise
 * @groups: at least 1
 * @stride: at least 1
 * @dilation: at least 1
 */
struct conv {
	const struct accel_conv_desc *desc;
	bool transposed;
	uint32_t spatial;
	uint32_t channel;
	uint32_t first;
	uint32_t groups;
	uint32_t stride[2];
	uint32_t dilation[2];
};

static int check_scalars(const struct accel_conv_desc *d, struct accel_error *e)
{
	if (d->flags & ~CONV_FLAGS)
		return bad(e, -EINVAL, "conv", "flags", "unknown flags 0x%x",
			   d->flags & ~CONV_FLAGS);
	if (d->algorithm >= ACCEL_CONV_ALGORITHM_COUNT)
		return bad(e, -EINVAL, "conv", "algorithm", "%u is not an algorithm",
			   d->algorithm);
	if (d->pad)
		return bad(e, -EINVAL, "conv", "pad", "must be zero");
	return 0;
}

/* Strides and the like: up to a limit, none for a dimension that there is not. */
static int check_steps(struct conv *c, struct accel_error *e)
{
	const struct accel_conv_desc *d = c->desc;
	const struct {
		const char *name;
		const uint32_t *v;
		uint32_t max;
	} part[] = {
		{ "stride", d->stride, UMA_CONV_STEP_MAX },
		{ "dilation", d->dilation, UMA_CONV_STEP_MAX },
		{ "pad_before", d->pad_before, UMA_CONV_PAD_MAX },
		{ "pad_after", d->pad_after, UMA_CONV_PAD_MAX },
	};
	uint32_t i, j;

	for (i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		for (j = 0; j < 2; j++) {
			if (part[i].v[j] > part[i].max)
				return bad_at(e, -EINVAL, "conv", part[i].name, j,
					      "%u is more than %u", part[i].v[j],
					      part[i].max);
			if (j >= c->spatial && part[i].v[j])
				return bad_at(e, -EINVAL, "conv", part[i].name, j,
					      "the tensors have one spatial dimension");
		}
	}
	for (j = 0; j < c->spatial; j++) {
		if (d->stride[j])
			c->stride[j] = d->stride[j];
		if (d->dilation[j])
			c->dilation[j] = d->dilation[j];
	}
	return 0;
}

/* The table of &struct accel_conv_desc. */
static int check_types(const struct operand *a, const struct operand *b,
		       const struct operand *d, struct accel_error *e)
{
	bool weights = uma_is_float(a->dtype) && b->dtype != a->dtype;

	if (!uma_is_float(a->dtype) && !uma_is_int8(a->dtype))
		return bad(e, -EINVAL, a->name, "dtype",
			   "%s: an input is fp32, fp16, bf16, int8 or uint8",
			   accel_dtype_name(a->dtype));
	if (weights && b->dtype != ACCEL_S8 && !uma_is_int4(b->dtype))
		return bad(e, -EINVAL, b->name, "dtype",
			   "%s: with an input of type %s, weights are that, int8, int4 or uint4",
			   accel_dtype_name(b->dtype), accel_dtype_name(a->dtype));
	if (uma_is_int8(a->dtype) && !uma_is_int8(b->dtype))
		return bad(e, -EINVAL, b->name, "dtype",
			   "%s: with an input of type %s, weights are int8 or uint8",
			   accel_dtype_name(b->dtype), accel_dtype_name(a->dtype));
	return check_product(a, b, d, e);
}

static int check_quants(const struct conv *c, const struct operand *a,
			const struct operand *b, const struct operand *d,
			struct accel_error *e)
{
	if (a->quant.scheme > ACCEL_QUANT_TENSOR)
		return bad(e, -EINVAL, a->name, "quant.scheme",
			   "an input has one scale");
	if (d->quant.scheme > ACCEL_QUANT_TENSOR)
		return bad(e, -EINVAL, d->name, "quant.scheme",
			   "a result has one scale");
	if (d->dtype == ACCEL_S32 && d->quant.scheme)
		return bad(e, -EINVAL, d->name, "quant.scheme",
			   "a result of type int32 is exact: it has no scale");
	if (b->quant.scheme == ACCEL_QUANT_GROUP)
		return bad(e, -EINVAL, b->name, "quant.scheme",
			   "weights have one scale, or one for each output channel");
	if (b->quant.scheme == ACCEL_QUANT_CHANNEL &&
	    b->quant.axis != c->transposed)
		return bad(e, -EINVAL, b->name, "quant.axis",
			   "the output channels of the weights are dimension %u",
			   (uint32_t)c->transposed);
	return 0;
}

static int check_channels(const struct conv *c, const struct operand *a,
			  const struct operand *b, const struct operand *d,
			  struct accel_error *e)
{
	int64_t in = a->dims[c->channel], out = d->dims[c->channel];
	int64_t outer = c->transposed ? in : out;
	int64_t inner = (c->transposed ? out : in) / c->groups;

	if (d->dims[0] != a->dims[0])
		return bad_at(e, -EINVAL, d->name, "dims", 0,
			      "%lld images, but the input has %lld",
			      (long long)d->dims[0], (long long)a->dims[0]);
	if (in % c->groups)
		return bad_at(e, -EINVAL, a->name, "dims", c->channel,
			      "%lld channels are no multiple of %u groups",
			      (long long)in, c->groups);
	if (out % c->groups)
		return bad_at(e, -EINVAL, d->name, "dims", c->channel,
			      "%lld channels are no multiple of %u groups",
			      (long long)out, c->groups);
	if (b->dims[0] != outer)
		return bad_at(e, -EINVAL, b->name, "dims", 0,
			      "%lld, but the %s has %lld channels",
			      (long long)b->dims[0], c->transposed ? "input" : "result",
			      (long long)outer);
	if (b->dims[1] != inner)
		return bad_at(e, -EINVAL, b->name, "dims", 1,
			      "%lld, but a group of the %s has %lld channels",
			      (long long)b->dims[1], c->transposed ? "result" : "input",
			      (long long)inner);
	return 0;
}

/**
 * conv_outputs - elements of the result along a spatial dimension
 * @desc: descriptor
 * @i: spatial dimension
 * @in: elements of the input
 * @taps: of the kernel
 *
 * Return: their number; transposed the least, without output padding; INT64_MAX if
 * there are more.
 */
int64_t conv_outputs(const struct accel_conv_desc *desc, uint32_t i, int64_t in, int64_t taps)
{
	int64_t stride = desc->stride[i] ? desc->stride[i] : 1;
	int64_t dilation = desc->dilation[i] ? desc->dilation[i] : 1;
	int64_t pads = (int64_t)desc->pad_before[i] + desc->pad_after[i], window, n;

	if (__builtin_mul_overflow(taps - 1, dilation, &window) ||
	    __builtin_add_overflow(window, 1, &window))
		return desc->flags & ACCEL_CONV_TRANSPOSED ? INT64_MAX : 0;
	if (desc->flags & ACCEL_CONV_TRANSPOSED) {
		if (!in)
			return 0;
		if (__builtin_mul_overflow(in - 1, stride, &n) ||
		    __builtin_add_overflow(n, window, &n))
			return INT64_MAX;
		return n > pads ? n - pads : 0;
	}
	if (__builtin_add_overflow(in, pads, &n))
		return INT64_MAX;
	return n < window ? 0 : (n - window) / stride + 1;
}

/* What the sizes of input, kernel and padding make of the result's. */
static int check_spatial(const struct conv *c, const struct operand *a,
			 const struct operand *b, const struct operand *d,
			 struct accel_error *e)
{
	const struct accel_conv_desc *desc = c->desc;
	uint32_t i;

	for (i = 0; i < c->spatial; i++) {
		int64_t in = a->dims[c->first + i], out = d->dims[c->first + i];
		int64_t want = conv_outputs(desc, i, in, b->dims[2 + i]), slack;

		if (!b->dims[2 + i])
			return bad_at(e, -EINVAL, b->name, "dims", 2 + i,
				      "a kernel has at least one tap");
		if (!c->transposed) {
			if (out == want)
				continue;
			return bad_at(e, -EINVAL, d->name, "dims", c->first + i,
				      "%lld, but input, kernel and padding make it %lld",
				      (long long)out, (long long)want);
		}
		slack = c->stride[i] > c->dilation[i] ? c->stride[i] : c->dilation[i];
		if (out >= want && out - want < slack)
			continue;
		return bad_at(e, -EINVAL, d->name, "dims", c->first + i,
			      "%lld, but input, kernel and padding make it %lld to %lld",
			      (long long)out, (long long)want,
			      (long long)(want < INT64_MAX - slack ? want + slack - 1 : want));
	}
	return 0;
}

/* Channels last to channels second. */
static void channels_second(struct operand *t)
{
	uint32_t last = t->rank - 1;
	int64_t dim = t->dims[last], stride = t->strides[last];
	uint32_t i;

	for (i = last; i > 1; i--) {
		t->dims[i] = t->dims[i - 1];
		t->strides[i] = t->strides[i - 1];
	}
	t->dims[1] = dim;
	t->strides[1] = stride;
}

static void write_params(const struct conv *c, uint32_t func, struct request *req)
{
	struct uma_conv_params w = {
		.func = htole32(func),
		.flags = htole32(c->transposed ? UMA_CONV_TRANSPOSED : 0),
		.groups = htole32(c->groups),
	};
	uint32_t i;

	for (i = 0; i < c->spatial; i++) {
		w.stride[i] = htole32(c->stride[i]);
		w.dilation[i] = htole32(c->dilation[i]);
		w.pad[i] = htole32(c->desc->pad_before[i]);
	}
	memcpy(req->params, &w, sizeof(w));
	req->funcs = 1u << func;
}

/* Products for each element of D, saturated: for the estimate, and for k_max. */
static int64_t count_k(const struct conv *c, const struct operand *b)
{
	int64_t k = c->transposed ? b->dims[0] / c->groups : b->dims[1];
	uint32_t i;

	for (i = 0; i < c->spatial; i++)
		if (__builtin_mul_overflow(k, b->dims[2 + i], &k))
			return INT64_MAX;
	return k;
}

static uint64_t count_macs(const struct operand *d, uint64_t n)
{
	uint32_t i;

	if (operand_empty(d))
		return 0;
	for (i = 0; i < d->rank; i++)
		if (__builtin_mul_overflow(n, (uint64_t)d->dims[i], &n))
			return UINT64_MAX;
	return n;
}

static int lower_tensors(struct conv *c, struct request *req, struct accel_error *e)
{
	const struct accel_conv_desc *desc = c->desc;
	struct operand *a = &req->t[UMA_SLOT_A];
	struct operand *b = &req->t[UMA_SLOT_B];
	struct operand *d = &req->t[UMA_SLOT_DST];
	int ret;

	ret = operand_init(a, &desc->a, ACCEL_ARG_A, "conv.a", e);
	if (!ret)
		ret = operand_init(b, &desc->b, ACCEL_ARG_B, "conv.b", e);
	if (!ret)
		ret = operand_init(d, &desc->d, ACCEL_ARG_D, "conv.d", e);
	if (ret)
		return ret;
	if (a->rank != 3 && a->rank != 4)
		return bad(e, -EINVAL, a->name, "rank",
			   "rank %u: an input has 3 dimensions, or 4", a->rank);
	if (b->rank != a->rank)
		return bad(e, -EINVAL, b->name, "rank", "%u, but the input has rank %u",
			   b->rank, a->rank);
	if (d->rank != a->rank)
		return bad(e, -EINVAL, d->name, "rank", "%u, but the input has rank %u",
			   d->rank, a->rank);
	c->spatial = a->rank - 2;
	c->channel = desc->flags & ACCEL_CONV_NHWC ? a->rank - 1 : 1;
	c->first = desc->flags & ACCEL_CONV_NHWC ? 1 : 2;
	ret = check_steps(c, e);
	if (!ret)
		ret = check_types(a, b, d, e);
	if (!ret)
		ret = check_quants(c, a, b, d, e);
	if (!ret)
		ret = check_channels(c, a, b, d, e);
	if (!ret)
		ret = check_spatial(c, a, b, d, e);
	return ret ? ret : operand_check_output(d, e);
}

/* An algorithm that was asked for must be possible. */
static int check_algorithm(const struct request *req, struct accel_error *e)
{
	uint32_t algorithm = req->desc->conv.algorithm;
	struct way *way;
	int ret = 0;

	if (algorithm == ACCEL_CONV_AUTO)
		return 0;
	way = malloc(sizeof(*way));
	if (!way)
		return bad(e, -ENOMEM, "", "", "out of memory");
	conv_way(req, algorithm, way);
	if (way->field)
		ret = bad(e, -EINVAL, "conv", "algorithm", "%s: %s (%s)",
			  accel_conv_algorithm_name(algorithm), way->text, way->field);
	free(way);
	return ret;
}

int lower_conv(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_conv_desc *desc = &any->conv;
	struct conv c = {
		.desc = desc,
		.transposed = desc->flags & ACCEL_CONV_TRANSPOSED,
		.groups = desc->groups ? desc->groups : 1,
		.stride = { 1, 1 },
		.dilation = { 1, 1 },
	};
	uint32_t s;
	int ret;

	req->pack = desc->flags & ACCEL_CONV_PACK_B;
	req->slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A) | UMA_SLOT_BIT(B);
	ret = check_scalars(desc, e);
	if (!ret)
		ret = lower_tensors(&c, req, e);
	if (!ret)
		ret = epilogue_lower(&desc->epilogue, names, c.channel, req, e);
	if (!ret && req->t[UMA_SLOT_DST].dtype == ACCEL_S32)
		ret = check_exact(req, names, e);
	if (ret)
		return ret;
	if (desc->flags & ACCEL_CONV_NHWC)
		for (s = 0; s < REQUEST_SLOTS; s++)
			if (s != UMA_SLOT_B && (req->slots >> s & 1))
				channels_second(&req->t[s]);
	write_params(&c, UMA_CONV_IMPLICIT, req);
	req->k = count_k(&c, &req->t[UMA_SLOT_B]);
	req->k_field = c.transposed ? "conv.b.dims[0]" : "conv.b.dims[1]";
	req->macs = count_macs(&req->t[UMA_SLOT_DST], (uint64_t)req->k);
	return check_algorithm(req, e);
}
