// SPDX-License-Identifier: MIT
/*
 * Pooling and resampling.
 */
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "ops.h"

#define SAME(a, b)	_Static_assert((int)(a) == (int)(b), #a " is " #b)
SAME(ACCEL_POOL_MAX, UMA_POOL_MAX);
SAME(ACCEL_POOL_AVERAGE, UMA_POOL_AVERAGE);
SAME(ACCEL_POOL_LP, UMA_POOL_LP);
SAME(ACCEL_POOL_CEIL, UMA_POOL_CEIL);
SAME(ACCEL_POOL_COUNT_PAD, UMA_POOL_COUNT_PAD);
SAME(ACCEL_RESIZE_NEAREST, UMA_RESIZE_NEAREST);
SAME(ACCEL_RESIZE_LINEAR, UMA_RESIZE_LINEAR);
SAME(ACCEL_RESIZE_CUBIC, UMA_RESIZE_CUBIC);
SAME(ACCEL_NEAREST_CEIL, UMA_NEAREST_CEIL);

#define POOL_FLAGS	(ACCEL_POOL_CEIL | ACCEL_POOL_COUNT_PAD | ACCEL_POOL_GLOBAL)
#define RESIZE_FLAGS	(ACCEL_RESIZE_CUBIC_A | ACCEL_RESIZE_EXCLUDE)

const char *pool_func_name(uint32_t bit)
{
	static const char * const names[] = { "max", "average", "lp" };

	return bit < sizeof(names) / sizeof(names[0]) ? names[bit] : "unknown";
}

const char *resize_func_name(uint32_t bit)
{
	static const char * const names[] = { "nearest", "linear", "cubic" };

	return bit < sizeof(names) / sizeof(names[0]) ? names[bit] : "unknown";
}

static int no_int4(const struct operand *t, struct accel_error *e)
{
	if (uma_is_int4(t->dtype))
		return bad(e, -EINVAL, t->name, "dtype", "no 4-bit type takes part");
	return 0;
}

static int by_tensor(const struct operand *t, struct accel_error *e)
{
	if (t->quant.scheme > ACCEL_QUANT_TENSOR)
		return bad(e, -EINVAL, t->name, "quant.scheme",
			   "has one scale for the tensor, or none");
	return 0;
}

/* D and A, of one rank. */
static int operands(struct request *req, const struct accel_tensor *d, const char *d_name,
		    const struct accel_tensor *a, const char *a_name, struct accel_error *e)
{
	struct operand *to = &req->t[UMA_SLOT_DST], *from = &req->t[UMA_SLOT_A];
	int ret;

	req->slots = UMA_SLOT_BIT(DST) | UMA_SLOT_BIT(A);
	ret = operand_init(to, d, ACCEL_ARG_D, d_name, e);
	if (!ret)
		ret = operand_check_output(to, e);
	if (!ret)
		ret = operand_init(from, a, ACCEL_ARG_A, a_name, e);
	if (!ret)
		ret = no_int4(to, e);
	if (!ret)
		ret = no_int4(from, e);
	if (!ret)
		ret = by_tensor(to, e);
	if (!ret)
		ret = by_tensor(from, e);
	if (ret)
		return ret;
	if (from->rank != to->rank)
		return bad(e, -EINVAL, a_name, "rank", "rank %u, but %s has rank %u", from->rank,
			   d_name, to->rank);
	return 0;
}

/* --- pooling ------------------------------------------------------------------- */

/* The window along one dimension, defaults filled in. */
struct window {
	int64_t kernel;
	int64_t stride;
	int64_t dilation;
	int64_t begin;
	int64_t end;
};

static int limit(const char *field, uint32_t i, uint32_t v, struct accel_error *e)
{
	if (v > UMA_POOL_LIMIT)
		return bad_at(e, -EINVAL, "pool", field, i, "%u is more than %u", v,
			      UMA_POOL_LIMIT);
	return 0;
}

static int window_of(const struct accel_pool_desc *d, uint32_t i, const struct operand *a,
		     struct window *w, struct accel_error *e)
{
	int ret;

	if (d->flags & ACCEL_POOL_GLOBAL) {
		if (a->dims[2 + i] < 1 || a->dims[2 + i] > UMA_POOL_LIMIT)
			return bad_at(e, -EINVAL, a->name, "dims", 2 + i,
				      "a window is from 1 to %u, not %lld", UMA_POOL_LIMIT,
				      (long long)a->dims[2 + i]);
		*w = (struct window){ a->dims[2 + i], 1, 1, 0, 0 };
		return 0;
	}
	if (!d->kernel[i])
		return bad_at(e, -EINVAL, "pool", "kernel", i, "a window has 1 position at least");
	ret = limit("kernel", i, d->kernel[i], e);
	if (!ret)
		ret = limit("stride", i, d->stride[i], e);
	if (!ret)
		ret = limit("dilation", i, d->dilation[i], e);
	if (!ret)
		ret = limit("pad_begin", i, d->pad_begin[i], e);
	if (!ret)
		ret = limit("pad_end", i, d->pad_end[i], e);
	*w = (struct window){
		d->kernel[i], d->stride[i] ? d->stride[i] : 1,
		d->dilation[i] ? d->dilation[i] : 1, d->pad_begin[i], d->pad_end[i]
	};
	return ret;
}

/* As the task has it. Returns -1 if not even one window fits. */
static int64_t outputs_of(const struct window *w, int64_t in, bool ceil)
{
	int64_t room, n;

	/* An input without elements may have dimensions of any size. */
	if (__builtin_add_overflow(in, w->begin + w->end, &room))
		return -1;
	room -= w->dilation * (w->kernel - 1) + 1;
	if (room < 0)
		return -1;
	n = room / w->stride + 1;
	if (ceil && room % w->stride && n * w->stride < in + w->begin)
		n++;
	return n;
}

/**
 * pool_outputs - windows along a spatial dimension
 * @d: descriptor
 * @i: spatial dimension
 * @a: input
 *
 * Return: their number; 0 also of a window that does not fit, or is none.
 */
int64_t pool_outputs(const struct accel_pool_desc *d, uint32_t i, const struct operand *a)
{
	struct window w = { .kernel = 1, .stride = 1, .dilation = 1 };
	struct accel_error e;
	int64_t n;

	if (window_of(d, i, a, &w, &e))
		return 0;
	n = outputs_of(&w, a->dims[2 + i], d->flags & ACCEL_POOL_CEIL);
	return n < 0 ? 0 : n;
}

/* What does not belong to a window is zero. */
static int unused(const struct accel_pool_desc *d, uint32_t from, struct accel_error *e)
{
	const struct {
		const char *name;
		const uint32_t *v;
	} field[] = {
		{ "kernel", d->kernel }, { "stride", d->stride }, { "dilation", d->dilation },
		{ "pad_begin", d->pad_begin }, { "pad_end", d->pad_end },
	};
	uint32_t i, j;

	for (i = 0; i < sizeof(field) / sizeof(field[0]); i++)
		for (j = from; j < 3; j++)
			if (field[i].v[j])
				return bad_at(e, -EINVAL, "pool", field[i].name, j,
					      "is set, but there is no such dimension of a window");
	return 0;
}

static int pool_fields(const struct accel_pool_desc *d, struct accel_error *e)
{
	if (d->func >= ACCEL_POOL_COUNT)
		return bad(e, -EINVAL, "pool", "func", "%u is not a function", d->func);
	if (d->flags & ~POOL_FLAGS)
		return bad(e, -EINVAL, "pool", "flags", "0x%x has unknown bits", d->flags);
	if ((d->flags & ACCEL_POOL_COUNT_PAD) && d->func != ACCEL_POOL_AVERAGE)
		return bad(e, -EINVAL, "pool", "flags", "padding counts in averages only");
	if (d->func == ACCEL_POOL_LP && (d->norm < 1 || d->norm > UMA_POOL_NORM_MAX))
		return bad(e, -EINVAL, "pool", "norm", "%u is not from 1 to %u", d->norm,
			   UMA_POOL_NORM_MAX);
	if (d->func != ACCEL_POOL_LP && d->norm)
		return bad(e, -EINVAL, "pool", "norm", "is set, but this function has none");
	if (d->pad)
		return bad(e, -EINVAL, "pool", "pad", "must be zero");
	if (d->pad1)
		return bad(e, -EINVAL, "pool", "pad1", "must be zero");
	return 0;
}

static int no_s32(const struct operand *t, struct accel_error *e)
{
	if (t->dtype == ACCEL_S32)
		return bad(e, -EINVAL, t->name, "dtype", "int32 is not pooled");
	return 0;
}

int lower_pool(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_pool_desc *d = &any->pool;
	const struct operand *to = &req->t[UMA_SLOT_DST], *a = &req->t[UMA_SLOT_A];
	struct uma_pool_params p = { 0 };
	uint64_t taps = 1;
	uint32_t i, n;
	int ret;

	ret = pool_fields(d, e);
	if (!ret)
		ret = operands(req, &d->d, "pool.d", &d->a, "pool.a", e);
	if (!ret)
		ret = no_s32(to, e);
	if (!ret)
		ret = no_s32(a, e);
	if (ret)
		return ret;
	if (to->rank < 3)
		return bad(e, -EINVAL, "pool.d", "rank",
			   "rank %u, but batches and channels come before what is pooled",
			   to->rank);
	n = to->rank - 2;
	ret = unused(d, d->flags & ACCEL_POOL_GLOBAL ? 0 : n, e);
	for (i = 0; !ret && i < 2; i++)
		if (a->dims[i] != to->dims[i])
			ret = bad_at(e, -EINVAL, "pool.a", "dims", i,
				     "%lld is not %lld, which is pool.d.dims[%u]",
				     (long long)a->dims[i], (long long)to->dims[i], i);
	for (i = 0; !ret && i < n; i++) {
		struct window w = { .kernel = 1, .stride = 1, .dilation = 1 };
		int64_t out;

		ret = window_of(d, i, a, &w, e);
		if (ret)
			break;
		out = outputs_of(&w, a->dims[2 + i], d->flags & ACCEL_POOL_CEIL);
		if (out < 0)
			ret = bad_at(e, -EINVAL, "pool.a", "dims", 2 + i,
				     "%lld and the padding are less than a window of %lld",
				     (long long)a->dims[2 + i],
				     w.dilation * (w.kernel - 1) + 1LL);
		else if (out != to->dims[2 + i])
			ret = bad_at(e, -EINVAL, "pool.d", "dims", 2 + i,
				     "%lld, but there are %lld windows",
				     (long long)to->dims[2 + i], (long long)out);
		taps *= (uint64_t)w.kernel;
		if (!ret && taps > 1u << 31)
			ret = bad_at(e, -EINVAL, "pool", "kernel", i,
				     "a window has more than 2^31 positions");
		p.kernel[i] = htole32((uint32_t)w.kernel);
		p.stride[i] = htole32((uint32_t)w.stride);
		p.dilation[i] = htole32((uint32_t)w.dilation);
		p.pad_begin[i] = htole32((uint32_t)w.begin);
		p.pad_end[i] = htole32((uint32_t)w.end);
	}
	if (ret)
		return ret;
	if (__builtin_mul_overflow(operand_elements(to), taps, &req->macs))
		req->macs = UINT64_MAX;
	req->func = d->func;
	req->funcs = 1u << d->func;
	p.func = htole32(d->func);
	p.flags = htole32(d->flags & ~ACCEL_POOL_GLOBAL);
	p.norm = htole32(d->norm);
	p.spatial = htole32(n);
	memcpy(req->params, &p, sizeof(p));
	return 0;
}

/* --- resampling -------------------------------------------------------------------- */

/* p / q */
struct fraction {
	int64_t p;
	int64_t q;
};

static int64_t gcd(int64_t a, int64_t b)
{
	int64_t r;

	a = a < 0 ? -a : a;
	b = b < 0 ? -b : b;
	while (b) {
		r = a % b;
		a = b;
		b = r;
	}
	return a;
}

/* Largest part of the fraction of a scale */
#define SCALE_MAX	(1LL << 28)

/*
 * The simplest fraction within 2^-24 of @v, relative: the first convergent of
 * its continued fraction that is as near. 0 if there is none in range.
 */
static struct fraction simplest(double v)
{
	int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0, a;
	double rest = v;
	int i;

	for (i = 0; i < 64 && rest < (double)SCALE_MAX; i++) {
		struct fraction f;

		a = (int64_t)floor(rest);
		f = (struct fraction){ a * p1 + p0, a * q1 + q0 };
		if (f.p > SCALE_MAX || f.q > SCALE_MAX)
			break;
		if (fabs(v - (double)f.p / (double)f.q) <= v / (1 << 24) && f.p)
			return f;
		if (rest - (double)a < 1 / (double)SCALE_MAX)
			break;
		p0 = p1;
		q0 = q1;
		p1 = f.p;
		q1 = f.q;
		rest = 1 / (rest - (double)a);
	}
	return (struct fraction){ 0, 0 };
}

/* (o num + off) / den */
struct mapping {
	int64_t num;
	int64_t off;
	int64_t den;
};

static struct mapping map_coordinate(uint32_t coord, int64_t in, int64_t out, struct fraction s)
{
	struct mapping m = { 0, 0, 1 };
	int64_t g;

	/* There is one place only. */
	if (in == 1 && out == 1)
		return (struct mapping){ 1, 0, 1 };
	switch (coord) {
	case ACCEL_COORD_ASYMMETRIC:
		m = (struct mapping){ s.q, 0, s.p };
		break;
	case ACCEL_COORD_ALIGN_CORNERS:
		if (out > 1)
			m = (struct mapping){ in - 1, 0, out - 1 };
		break;
	case ACCEL_COORD_PYTORCH_HALF_PIXEL:
		if (out > 1)
			m = (struct mapping){ 2 * s.q, s.q - s.p, 2 * s.p };
		break;
	case ACCEL_COORD_HALF_PIXEL_SYMMETRIC:
		m = (struct mapping){ 2 * s.q, s.q - out * s.q + (in - 1) * s.p, 2 * s.p };
		break;
	default:
		m = (struct mapping){ 2 * s.q, s.q - s.p, 2 * s.p };
		break;
	}
	g = gcd(gcd(m.num, m.den), m.off);
	m.num /= g;
	m.off /= g;
	m.den /= g;
	return m;
}

static int resize_fields(const struct accel_resize_desc *d, struct accel_error *e)
{
	bool cubic = d->func == ACCEL_RESIZE_CUBIC;

	if (d->func >= ACCEL_RESIZE_COUNT)
		return bad(e, -EINVAL, "resize", "func", "%u is not a function", d->func);
	if (d->flags & ~RESIZE_FLAGS)
		return bad(e, -EINVAL, "resize", "flags", "0x%x has unknown bits", d->flags);
	if (d->flags && !cubic)
		return bad(e, -EINVAL, "resize", "flags", "0x%x is for cubic resampling only",
			   d->flags);
	if (d->coord >= ACCEL_COORD_COUNT)
		return bad(e, -EINVAL, "resize", "coord", "%u is no way to find a coordinate",
			   d->coord);
	if (d->nearest >= ACCEL_NEAREST_COUNT)
		return bad(e, -EINVAL, "resize", "nearest", "%u is no way to find the nearest",
			   d->nearest);
	if (d->nearest && d->func != ACCEL_RESIZE_NEAREST)
		return bad(e, -EINVAL, "resize", "nearest", "is set, but this function has none");
	if (!(d->flags & ACCEL_RESIZE_CUBIC_A) && d->cubic != 0)
		return bad(e, -EINVAL, "resize", "cubic", "is set without ACCEL_RESIZE_CUBIC_A");
	if (!isfinite(d->cubic))
		return bad(e, -EINVAL, "resize", "cubic", "is not finite");
	if (d->pad)
		return bad(e, -EINVAL, "resize", "pad", "must be zero");
	return 0;
}

static int map_dim(const struct accel_resize_desc *d, uint32_t i, int64_t in, int64_t out,
		   struct mapping *m, struct accel_error *e)
{
	struct fraction s = { out, in };
	double scale = d->scale[i];

	if (!isfinite(scale) || scale < 0)
		return bad_at(e, -EINVAL, "resize", "scale", i, "%g is no scale", scale);
	/* A dimension that is not sampled keeps its size, which the device checks. */
	*m = in == out ? (struct mapping){ 1, 0, 1 } : (struct mapping){ 2, 0, 2 };
	if (!out || (in == out && scale == 0))
		return 0;
	if (!in)
		return bad_at(e, -EINVAL, "resize.a", "dims", i, "there is nothing to sample");
	if (in > SCALE_MAX || out > SCALE_MAX)
		return bad_at(e, -EINVAL, "resize.d", "dims", i,
			      "%lld of %lld elements: more than %lld are not resampled",
			      (long long)out, (long long)in, SCALE_MAX);
	if (scale != 0) {
		s = simplest(scale);
		if (!s.p)
			return bad_at(e, -EINVAL, "resize", "scale", i,
				      "%g is too large or too small", scale);
		if (fabs((double)in * scale - (double)out) > 1 + (double)out / (1 << 20))
			return bad_at(e, -EINVAL, "resize", "scale", i,
				      "%g times %lld is not %lld", scale, (long long)in,
				      (long long)out);
	}
	*m = map_coordinate(d->coord, in, out, s);
	/* Elements may stay where they are though their number changes. */
	if (m->num == 1 && m->den == 1 && !m->off && in != out)
		*m = (struct mapping){ 2, 0, 2 };
	return 0;
}

int lower_resize(const union any_desc *any, struct request *req, struct accel_error *e)
{
	const struct accel_resize_desc *d = &any->resize;
	const struct operand *to = &req->t[UMA_SLOT_DST], *a = &req->t[UMA_SLOT_A];
	float cubic = d->flags & ACCEL_RESIZE_CUBIC_A ? d->cubic : -0.75f;
	struct uma_resize_params p = { 0 };
	uint32_t i, bits, resized = 0;
	int ret;

	ret = resize_fields(d, e);
	if (!ret)
		ret = operands(req, &d->d, "resize.d", &d->a, "resize.a", e);
	for (i = 0; !ret && i < ACCEL_MAX_RANK; i++) {
		struct mapping m = { 1, 0, 1 };

		if (i >= to->rank) {
			if (d->scale[i] != 0)
				ret = bad_at(e, -EINVAL, "resize", "scale", i,
					     "is set, but there is no such dimension");
			continue;
		}
		ret = map_dim(d, i, a->dims[i], to->dims[i], &m, e);
		if (ret)
			break;
		resized += m.num != 1 || m.den != 1 || m.off;
		p.num[i] = htole32((uint32_t)m.num);
		p.den[i] = htole32((uint32_t)m.den);
		p.off[i] = htole64((uint64_t)m.off);
	}
	if (ret)
		return ret;
	if (d->func != ACCEL_RESIZE_NEAREST && resized > 3)
		return bad(e, -EINVAL, "resize.d", "dims",
			   "%u dimensions change, and only the nearest is found in more than 3",
			   resized);
	req->macs = operand_elements(to);
	req->func = d->func;
	req->funcs = 1u << d->func;
	p.func = htole32(d->func);
	p.flags = htole32(d->flags & ACCEL_RESIZE_EXCLUDE ? UMA_RESIZE_EXCLUDE : 0);
	p.nearest = htole32(d->nearest);
	memcpy(&bits, &cubic, sizeof(bits));
	p.cubic = d->func == ACCEL_RESIZE_CUBIC ? htole32(bits) : 0;
	memcpy(req->params, &p, sizeof(p));
	return 0;
}
