// SPDX-License-Identifier: MIT
/*
 * Calibration over a stream of tensors: one record of statistics for each scale
 * that the quantisation will have.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "calib.h"
#include "libaccel/core/objects.h"
#include "reader.h"

/* Smallest and largest number of binary16 that a scale may be rounded to */
#define HALF_MIN	(1.0 / (1 << 24))
#define HALF_MAX	65504.0

struct accel_calib {
	struct accel_ctx *ctx;
	struct accel_calib_opts opts;
	struct calib_target target;
	/* what the first tensor said */
	uint32_t rank;
	int64_t dims[ACCEL_MAX_RANK];
	uint64_t entries;
	struct calib_stats *stats;
	uint64_t *bins;
	uint64_t tensors;
	uint64_t skipped;
};

static bool has_tables(const struct accel_calib *c)
{
	return c->opts.scheme != ACCEL_QUANT_TENSOR;
}

static int check_opts(struct accel_calib *c, struct accel_error *e)
{
	struct accel_calib_opts *o = &c->opts;
	bool group = o->scheme == ACCEL_QUANT_GROUP;

	if (o->method >= ACCEL_CALIB_COUNT)
		return bad(e, -EINVAL, "calib", "method", "%u is not a method", o->method);
	if (o->flags & ~ACCEL_CALIB_ASYMMETRIC)
		return bad(e, -EINVAL, "calib", "flags", "unknown flags 0x%x",
			   o->flags & ~ACCEL_CALIB_ASYMMETRIC);
	if (!uma_is_int8(o->dtype) && !uma_is_int4(o->dtype))
		return bad(e, -EINVAL, "calib", "dtype",
			   "%u is none of int8, uint8, int4 and uint4", o->dtype);
	if (o->scheme == ACCEL_QUANT_NONE || o->scheme > ACCEL_QUANT_GROUP)
		return bad(e, -EINVAL, "calib", "scheme",
			   "%u: there are scales for a tensor, channels and groups",
			   o->scheme);
	if (has_tables(c) ? o->axis >= ACCEL_MAX_RANK : o->axis)
		return bad(e, -EINVAL, "calib", "axis",
			   "%u is no dimension that has scales", o->axis);
	if (group ? o->group < 16 || o->group > 4096 || o->group & (o->group - 1) :
		    o->group)
		return bad(e, -EINVAL, "calib", "group",
			   "%u: groups are a power of two from 16 to 4096, other schemes have 0",
			   o->group);
	if (o->scale_dtype && (!has_tables(c) || (o->scale_dtype != ACCEL_F32 &&
						  o->scale_dtype != ACCEL_F16)))
		return bad(e, -EINVAL, "calib", "scale_dtype",
			   "%u: tables of scales are fp32 or fp16", o->scale_dtype);
	if (o->bins && (o->bins < 64 || o->bins > 16384 || o->bins & (o->bins - 1)))
		return bad(e, -EINVAL, "calib", "bins",
			   "%u is not a power of two from 64 to 16384", o->bins);
	if (o->bins && o->method == ACCEL_CALIB_MINMAX)
		return bad(e, -EINVAL, "calib", "bins",
			   "is set, but the method does not use it");
	if (o->pad)
		return bad(e, -EINVAL, "calib", "pad", "must be zero");
	if (o->method != ACCEL_CALIB_PERCENTILE && o->percentile != 0)
		return bad(e, -EINVAL, "calib", "percentile",
			   "is set, but the method does not use it");
	if (o->percentile != 0 && !(o->percentile > 50 && o->percentile <= 100))
		return bad(e, -EINVAL, "calib", "percentile",
			   "%g is not above 50 and at most 100", o->percentile);
	if (o->percentile == 0)
		o->percentile = 99.99;
	if (!o->bins)
		o->bins = has_tables(c) ? 256 : 2048;
	return 0;
}

int accel_calib_create(struct accel_ctx *ctx, const struct accel_calib_opts *opts,
		       struct accel_calib **out)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_calib *c;
	int ret;

	if (!ctx)
		return -EINVAL;
	if (!opts)
		return ctx_fail(ctx, -EINVAL, "opts", "NULL");
	if (!out)
		return ctx_fail(ctx, -EINVAL, "calib", "NULL");
	c = calloc(1, sizeof(*c));
	if (!c)
		return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
	ret = struct_in(&c->opts, sizeof(c->opts), opts, sizeof(c->opts));
	if (ret)
		bad(&e, ret, "calib", "size", ret == -EINVAL ?
		    "shorter than the first version" :
		    "options that this library does not know are set");
	else
		ret = check_opts(c, &e);
	if (ret) {
		free(c);
		return ctx_set_error(ctx, &e);
	}
	uma_dtype_limits(c->opts.dtype, &c->target.lo, &c->target.hi);
	c->target.asymmetric = c->opts.flags & ACCEL_CALIB_ASYMMETRIC;
	c->ctx = ctx_ref(ctx);
	*out = c;
	return 0;
}

void accel_calib_destroy(struct accel_calib *c)
{
	if (!c)
		return;
	free(c->stats);
	free(c->bins);
	ctx_unref(c->ctx);
	free(c);
}

/* Number of scales for a tensor of this shape; 0: more than there is memory. */
static uint64_t count_entries(const struct accel_calib *c, const struct operand *t)
{
	uint64_t n = 1;
	uint32_t i;

	if (!has_tables(c))
		return 1;
	if (c->opts.scheme == ACCEL_QUANT_CHANNEL)
		return (uint64_t)t->dims[c->opts.axis];
	for (i = 0; i < t->rank; i++) {
		uint64_t dim = (uint64_t)t->dims[i];

		if (i == c->opts.axis)
			dim = dim / c->opts.group + (dim % c->opts.group != 0);
		if (__builtin_mul_overflow(n, dim, &n) || n > UINT32_MAX)
			return 0;
	}
	return n;
}

/* The first tensor says how many scales there are. */
static int begin(struct accel_calib *c, const struct operand *t)
{
	bool histogram = c->opts.method != ACCEL_CALIB_MINMAX;
	uint64_t entries = count_entries(c, t), i;
	uint32_t bins = c->opts.bins;

	if (!entries || entries > UINT32_MAX)
		return -ENOMEM;
	c->stats = calloc(entries, sizeof(*c->stats));
	if (histogram)
		c->bins = calloc(entries, 2ul * bins * sizeof(*c->bins));
	if (!c->stats || (histogram && !c->bins)) {
		free(c->stats);
		free(c->bins);
		c->stats = NULL;
		c->bins = NULL;
		return -ENOMEM;
	}
	for (i = 0; i < entries; i++) {
		/* Below every number: the first one sets the end. */
		c->stats[i].exp = -2000;
		c->stats[i].bins = bins;
		if (!histogram)
			continue;
		c->stats[i].up = c->bins + 2 * i * bins;
		c->stats[i].down = c->stats[i].up + bins;
	}
	c->entries = entries;
	c->rank = t->rank;
	memcpy(c->dims, t->dims, sizeof(c->dims));
	return 0;
}

/* Does the shape fit the scales? */
static int check_shape(const struct accel_calib *c, const struct operand *t,
		       struct accel_error *e)
{
	uint32_t i;

	if (!uma_is_float(t->dtype))
		return bad(e, -EINVAL, "t", "dtype",
			   "%s: what is calibrated is fp32, fp16 or bf16",
			   accel_dtype_name(t->dtype));
	if (!has_tables(c))
		return 0;
	if (c->opts.axis >= t->rank)
		return bad(e, -EINVAL, "t", "rank",
			   "rank %u, but the scales belong to dimension %u",
			   t->rank, c->opts.axis);
	if (!c->tensors)
		return 0;
	if (c->opts.scheme == ACCEL_QUANT_GROUP && t->rank != c->rank)
		return bad(e, -EINVAL, "t", "rank",
			   "rank %u, but that of the first tensor was %u",
			   t->rank, c->rank);
	for (i = 0; i < t->rank; i++)
		if ((c->opts.scheme == ACCEL_QUANT_GROUP || i == c->opts.axis) &&
		    t->dims[i] != c->dims[i])
			return bad_at(e, -EINVAL, "t", "dims", i,
				      "%lld, but the first tensor had %lld",
				      (long long)t->dims[i], (long long)c->dims[i]);
	return 0;
}

int accel_calib_observe(struct accel_calib *c, const struct accel_tensor *from)
{
	FP_MODE_SCOPE();
	struct accel_error e = ACCEL_ERROR_INIT;
	int64_t idx[ACCEL_MAX_RANK] = { 0 };
	struct reader r;
	int ret;

	if (!c)
		return -EINVAL;
	if (!from)
		return ctx_fail(c->ctx, -EINVAL, "t", "NULL");
	ret = reader_open(&r, from, "t", &e);
	if (!ret)
		ret = check_shape(c, &r.t, &e);
	if (ret)
		return ctx_set_error(c->ctx, &e);
	/* There is nothing to see, and maybe no scale. */
	if (operand_empty(&r.t))
		return 0;
	if (!c->tensors && begin(c, &r.t))
		return ctx_fail(c->ctx, -ENOMEM, NULL, "out of memory");
	c->tensors++;
	do {
		double x = reader_value(&r, idx);

		if (isfinite(x))
			stats_add(&c->stats[reader_entry(&r.t, c->opts.scheme, c->opts.axis,
							 c->opts.group, idx)], x);
		else
			c->skipped++;
	} while (reader_next(&r.t, idx));
	return 0;
}

int accel_calib_get_info(struct accel_calib *c, struct accel_calib_info *out)
{
	struct accel_calib_info info = { 0 };
	uint64_t i;

	if (!c)
		return -EINVAL;
	info.entries = c->entries;
	info.tensors = c->tensors;
	info.skipped = c->skipped;
	for (i = 0; i < c->entries; i++)
		info.values += c->stats[i].values;
	return struct_out(out, &info, sizeof(info), sizeof(info));
}

static int range_of(const struct accel_calib *c, uint64_t entry,
		    struct calib_range *r)
{
	return calib_range(&c->stats[entry], c->opts.method, c->opts.percentile,
			   &c->target, r);
}

static int no_data(struct accel_calib *c)
{
	return ctx_fail(c->ctx, -ENODATA, NULL, "no tensor was seen");
}

int accel_calib_get_range(struct accel_calib *c, uint64_t entry, double *lo,
			  double *hi)
{
	FP_MODE_SCOPE();
	struct calib_range r;

	if (!c)
		return -EINVAL;
	if (!lo)
		return ctx_fail(c->ctx, -EINVAL, "lo", "NULL");
	if (!hi)
		return ctx_fail(c->ctx, -EINVAL, "hi", "NULL");
	if (!c->tensors)
		return no_data(c);
	if (entry >= c->entries)
		return ctx_fail(c->ctx, -EINVAL, "entry",
				"%llu, but there are %llu scales",
				(unsigned long long)entry,
				(unsigned long long)c->entries);
	if (range_of(c, entry, &r))
		return ctx_fail(c->ctx, -ENOMEM, NULL, "out of memory");
	*lo = r.lo;
	*hi = r.hi;
	return 0;
}

/* Scale, as it will be stored, and zero point of an entry. */
static int make_entry(const struct accel_calib *c, uint64_t entry, double *scale,
		      int32_t *zero)
{
	bool half = has_tables(c) && c->opts.scale_dtype == ACCEL_F16;
	struct calib_range r;
	uint32_t bits;
	int ret;

	ret = range_of(c, entry, &r);
	if (ret)
		return ret;
	*scale = calib_scale(&r, &c->target);
	if (*scale == 0)
		*scale = 1;
	if (half) {
		*scale = fmin(fmax(*scale, HALF_MIN), HALF_MAX);
		fill_bits(*scale, ACCEL_F16, &bits);
		*scale = half_value((uint16_t)bits);
	} else {
		/* A quotient by a subnormal scale would lose its precision. */
		*scale = (float)fmin(fmax(*scale, FLT_MIN), FLT_MAX);
	}
	*zero = calib_zero(&r, *scale, &c->target);
	return 0;
}

/* The tables; @zeros is NULL where all zero points are 0. */
static int make_tables(struct accel_calib *c, struct accel_bo *scales,
		       struct accel_bo *zeros)
{
	bool half = c->opts.scale_dtype == ACCEL_F16;
	uint32_t bits;
	double scale;
	int32_t zero;
	uint64_t i;
	int ret;

	for (i = 0; i < c->entries; i++) {
		ret = make_entry(c, i, &scale, &zero);
		if (ret)
			return ret;
		fill_bits(scale, half ? ACCEL_F16 : ACCEL_F32, &bits);
		if (half)
			((uint16_t *)scales->ptr)[i] = (uint16_t)bits;
		else
			((uint32_t *)scales->ptr)[i] = bits;
		if (zeros)
			((int32_t *)zeros->ptr)[i] = zero;
	}
	ret = accel_bo_cpu_end(scales, 0, scales->size, ACCEL_CPU_WRITE);
	if (!ret && zeros)
		ret = accel_bo_cpu_end(zeros, 0, zeros->size, ACCEL_CPU_WRITE);
	return ret;
}

static int get_tables(struct accel_calib *c, struct accel_quant *q)
{
	const struct accel_bo_opts opts = { sizeof(opts), 0, "scales" };
	uint32_t bytes = c->opts.scale_dtype == ACCEL_F16 ? 2 : 4;
	int ret;

	q->axis = c->opts.axis;
	q->group = c->opts.group;
	q->scale_dtype = c->opts.scale_dtype;
	ret = accel_bo_create(c->ctx, c->entries * bytes, &opts, &q->scales);
	if (ret)
		return ret;
	/* In the middle of a signed type is 0. */
	if (c->target.asymmetric || c->target.lo == 0)
		ret = accel_bo_create(c->ctx, c->entries * sizeof(int32_t), &opts,
				      &q->zeros);
	if (!ret)
		ret = make_tables(c, q->scales, q->zeros);
	if (ret == -ENOMEM)
		ctx_fail(c->ctx, ret, NULL, "out of memory");
	if (ret)
		accel_quant_release(q);
	return ret;
}

int accel_calib_get_quant(struct accel_calib *c, struct accel_quant *out)
{
	FP_MODE_SCOPE();
	struct accel_quant q = { 0 };
	double scale;
	int ret;

	if (!c)
		return -EINVAL;
	if (!out)
		return ctx_fail(c->ctx, -EINVAL, "quant", "NULL");
	q.scheme = c->opts.scheme;
	if (!c->tensors)
		return no_data(c);
	if (has_tables(c)) {
		ret = get_tables(c, &q);
		if (ret)
			return ret;
	} else {
		if (make_entry(c, 0, &scale, &q.zero))
			return ctx_fail(c->ctx, -ENOMEM, NULL, "out of memory");
		q.scale = (float)scale;
	}
	*out = q;
	return 0;
}

void accel_quant_release(struct accel_quant *q)
{
	if (!q)
		return;
	accel_bo_unref(q->scales);
	accel_bo_unref(q->zeros);
	memset(q, 0, sizeof(*q));
}
