// SPDX-License-Identifier: MIT
/*
 * Pooling and resampling, an element at a time.
 */
#include <math.h>
#include <stdlib.h>

#include "oracle.h"
#include "libaccel/tests/ops/optest.h"

#define U	ORACLE_U
#define TINY	ORACLE_TINY

/* --- pooling ------------------------------------------------------------------------- */

static const struct accel_tensor *pool_result(const struct accel_desc *desc, uint32_t index)
{
	return index ? NULL : &((const struct accel_pool_desc *)desc)->d;
}

/**
 * struct window - the positions of one output
 * @at: index of A, its spatial part to be filled in
 * @k: position
 * @kernel: of them along each dimension
 */
struct window {
	int64_t at[ACCEL_MAX_RANK];
	int64_t k[3];
	int64_t kernel[3];
};

/* Where a position lies: 2 in A, 1 in the padding, 0 beyond. */
static int place(const struct accel_pool_desc *p, const int64_t *idx, struct window *w)
{
	uint32_t i, n = p->a.rank - 2;
	int where = 2;

	for (i = 0; i < n; i++) {
		int64_t stride = p->stride[i] ? p->stride[i] : 1;
		int64_t dil = p->dilation[i] ? p->dilation[i] : 1;
		int64_t x = idx[2 + i] * stride - p->pad_begin[i] + w->k[i] * dil;

		if (x < -(int64_t)p->pad_begin[i] || x >= p->a.dims[2 + i] + p->pad_end[i])
			return 0;
		if (x < 0 || x >= p->a.dims[2 + i])
			where = 1;
		w->at[2 + i] = x;
	}
	return where;
}

static bool next(struct window *w, uint32_t n)
{
	uint32_t i;

	for (i = n; i-- > 0; ) {
		if (++w->k[i] < w->kernel[i])
			return true;
		w->k[i] = 0;
	}
	return false;
}

/* |x|^norm by binary32 products, which is what a large one overflows in. */
static double power(double x, uint32_t norm)
{
	float p = (float)fabs(x), v = p;

	while (--norm)
		v *= p;
	return (double)v;
}

/*
 * Sums are defined to the last bit: binary32, row-major. Roots beyond the
 * second are not.
 */
static struct oracle_num pool_element(const struct accel_pool_desc *p, const int64_t *idx)
{
	uint32_t n = p->a.rank - 2, i;
	double max = -INFINITY, x;
	struct window w = { 0 };
	struct oracle_num r = { 0, 0 };
	float sum = 0, count = 0;
	int where;

	w.at[0] = idx[0];
	w.at[1] = idx[1];
	for (i = 0; i < n; i++)
		w.kernel[i] = p->flags & ACCEL_POOL_GLOBAL ? p->a.dims[2 + i] : p->kernel[i];
	do {
		where = place(p, idx, &w);
		if (where == 2 || (where == 1 && (p->flags & ACCEL_POOL_COUNT_PAD)))
			count++;
		if (where != 2)
			continue;
		x = oracle_load(&p->a, w.at);
		max = isnan(max) || isnan(x) ? NAN : x >= max ? x : max;
		sum += (float)(p->func == ACCEL_POOL_LP ? power(x, p->norm) : x);
	} while (next(&w, n));

	if (p->func == ACCEL_POOL_MAX) {
		r.v = max;
	} else if (p->func == ACCEL_POOL_AVERAGE) {
		r.v = (double)(sum / (count > 0 ? count : 1));
	} else if (p->norm == 1) {
		r.v = (double)sum;
	} else if (p->norm == 2) {
		r.v = (double)(float)sqrt((double)sum);
	} else {
		/* exp(log(s) / p): the error of the exponent is one of the result. */
		r.v = pow((double)sum, 1.0 / p->norm);
		if (isfinite(r.v) && sum > 0)
			r.e = r.v * U * (fabs(log((double)sum)) / p->norm * 6 + 8) + TINY;
	}
	return r;
}

static int pool_compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	const struct accel_pool_desc *p = (const void *)desc;
	int64_t idx[ACCEL_MAX_RANK] = { 0 };
	uint64_t n;

	(void)index;
	if (oracle_begin(r, &p->d, false))
		return -1;
	for (n = 0; n < r->count; n++, oracle_next(&p->d, idx))
		r->num[n] = pool_element(p, idx);
	return 0;
}

static void pool_say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_pool_desc *p = (const void *)desc;
	uint32_t i;

	op_say_text(buf, size, " func %u flags %u norm %u", p->func, p->flags, p->norm);
	for (i = 0; i + 2 < p->a.rank; i++)
		op_say_text(buf, size, " k%u s%u d%u p%u,%u", p->kernel[i], p->stride[i],
			    p->dilation[i], p->pad_begin[i], p->pad_end[i]);
	op_say_tensor("a", &p->a, buf, size);
	op_say_tensor("d", &p->d, buf, size);
}

const struct oracle_op oracle_pool = {
	.result = pool_result, .compute = pool_compute, .say = pool_say,
};

/* --- resampling --------------------------------------------------------------------------- */

static const struct accel_tensor *resize_result(const struct accel_desc *desc, uint32_t index)
{
	return index ? NULL : &((const struct accel_resize_desc *)desc)->d;
}

/* Where an element of D lies in A, the formulas of enum accel_resize_coord. */
static double coordinate(const struct accel_resize_desc *z, uint32_t i, int64_t o)
{
	long double in = z->a.dims[i], out = z->d.dims[i], x, twice;
	long double s = z->scale[i] != 0 ? (long double)z->scale[i] : out / in;

	switch (z->coord) {
	case ACCEL_COORD_ASYMMETRIC:
		x = o / s;
		break;
	case ACCEL_COORD_ALIGN_CORNERS:
		x = out > 1 ? o * (in - 1) / (out - 1) : 0;
		break;
	case ACCEL_COORD_PYTORCH_HALF_PIXEL:
		x = out > 1 ? (o + 0.5L) / s - 0.5L : 0;
		break;
	case ACCEL_COORD_HALF_PIXEL_SYMMETRIC:
		x = in / 2 * (1 - out / (in * s)) + (o + 0.5L) / s - 0.5L;
		break;
	default:
		x = (o + 0.5L) / s - 0.5L;
		break;
	}
	/* Halves are met exactly, whatever the quotients above lost. */
	twice = rintl(2 * x);
	return (double)(fabsl(2 * x - twice) < 0.000001L ? twice / 2 : x);
}

static int64_t nearest(const struct accel_resize_desc *z, double x)
{
	switch (z->nearest) {
	case ACCEL_NEAREST_FLOOR:
		return (int64_t)floor(x);
	case ACCEL_NEAREST_CEIL:
		return (int64_t)ceil(x);
	case ACCEL_NEAREST_HALF_UP:
		return (int64_t)floor(x + 0.5);
	default:
		return (int64_t)ceil(x - 0.5);
	}
}

/* Weight of an element at distance @t, Keys' kernel. */
static double keys(double t, double a)
{
	t = fabs(t);
	if (t <= 1)
		return ((a + 2) * t - (a + 3)) * t * t + 1;
	return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
}

/**
 * struct line - neighbours along a dimension
 * @count: of them
 * @at: where
 * @w: weights
 * @e: error of a weight
 */
struct line {
	int count;
	int64_t at[4];
	double w[4];
	double e;
};

static int64_t inside(int64_t x, int64_t dim)
{
	return x < 0 ? 0 : x >= dim ? dim - 1 : x;
}

static void neighbours(const struct accel_resize_desc *z, uint32_t i, int64_t o, struct line *l)
{
	double a = z->flags & ACCEL_RESIZE_CUBIC_A ? (double)z->cubic : -0.75, sum = 0;
	int64_t dim = z->a.dims[i];
	double x = coordinate(z, i, o), base, y;
	int j;

	*l = (struct line){ .count = 1, .w = { 1 } };
	if (z->func == ACCEL_RESIZE_NEAREST) {
		l->at[0] = inside(nearest(z, x), dim);
		return;
	}
	/* Nothing changes. */
	if (dim == z->d.dims[i] && (z->scale[i] == 0 || z->scale[i] == 1 || dim == 1 ||
				    z->coord == ACCEL_COORD_ALIGN_CORNERS)) {
		l->at[0] = o;
		return;
	}
	/* One neighbour at most counts, that at the edge. */
	if ((z->flags & ACCEL_RESIZE_EXCLUDE) && (x <= -1 || x >= (double)dim))
		x = x < 0 ? 0 : (double)dim - 1;
	base = floor(x);
	if (z->func == ACCEL_RESIZE_LINEAR) {
		l->count = 2;
		l->w[1] = x - base;
		l->w[0] = 1 - l->w[1];
		l->e = 4 * U;
	} else {
		l->count = 4;
		for (j = 0; j < 4; j++)
			l->w[j] = keys(x - base + 1 - j, a);
		l->e = 40 * (1 + fabs(a)) * U;
	}
	for (j = 0; j < l->count; j++) {
		int64_t at = (int64_t)base + j - (l->count == 4);

		if ((z->flags & ACCEL_RESIZE_EXCLUDE) && (at < 0 || at >= dim))
			l->w[j] = 0;
		l->at[j] = inside(at, dim);
		sum += l->w[j];
	}
	if (z->flags & ACCEL_RESIZE_EXCLUDE) {
		for (j = 0; j < 4; j++)
			l->w[j] /= sum;
		/* Near the edge the weights that are left are small, and so are their errors. */
		y = fmin(1, fmin(x + 1, (double)dim - x));
		l->e = l->e * y * 10 / fabs(sum) / fmin(1, fabs(sum) / y);
	}
}

static struct oracle_num resize_element(const struct accel_resize_desc *z, const int64_t *idx)
{
	struct line l[ACCEL_MAX_RANK];
	struct oracle_num r = { 0, 0 };
	double mag = 0, err = 0, finite = 0;
	uint32_t i, n, count = 1;

	for (i = 0; i < z->d.rank; i++) {
		neighbours(z, i, idx[i], &l[i]);
		count *= (uint32_t)l[i].count;
	}
	/* Nothing is added up: the element as it is, of a zero the sign, too. */
	if (count == 1) {
		int64_t at[ACCEL_MAX_RANK];

		for (i = 0; i < z->d.rank; i++)
			at[i] = l[i].at[0];
		r.v = oracle_load(&z->a, at);
		return r;
	}
	for (n = 0; n < count; n++) {
		int64_t at[ACCEL_MAX_RANK];
		double w = 1, slack = 0, v;
		uint32_t rest = n;

		for (i = z->d.rank; i-- > 0; ) {
			uint32_t j = rest % (uint32_t)l[i].count;

			rest /= (uint32_t)l[i].count;
			at[i] = l[i].at[j];
			/* (w + e)(v + f) - w v */
			slack = slack * (fabs(l[i].w[j]) + l[i].e) + fabs(w) * l[i].e;
			w *= l[i].w[j];
		}
		v = oracle_load(&z->a, at);
		r.v += w * v;
		mag += fabs(w * v);
		finite += isfinite(v) ? fabs(w * v) : 0;
		err += slack * fabs(v);
	}
	/* Weights of either sign: the sum may overflow on its way. */
	if (!isnan(r.v) && finite * 1.01 > (double)__FLT_MAX__ && z->func == ACCEL_RESIZE_CUBIC)
		r.e = INFINITY;
	else if (isfinite(r.v))
		r.e = err + mag * (count + 8) * U + count * TINY;
	return r;
}

static int resize_compute(const struct accel_desc *desc, uint32_t index,
			  struct oracle_result *r)
{
	const struct accel_resize_desc *z = (const void *)desc;
	bool exact = z->func == ACCEL_RESIZE_NEAREST && oracle_plain_int(&z->a) &&
		     oracle_plain_int(&z->d);
	int64_t idx[ACCEL_MAX_RANK] = { 0 }, at[ACCEL_MAX_RANK];
	uint64_t n;
	uint32_t i;

	(void)index;
	if (oracle_begin(r, &z->d, exact))
		return -1;
	for (n = 0; n < r->count; n++, oracle_next(&z->d, idx)) {
		if (!exact) {
			r->num[n] = resize_element(z, idx);
			continue;
		}
		for (i = 0; i < z->d.rank; i++)
			at[i] = inside(nearest(z, coordinate(z, i, idx[i])), z->a.dims[i]);
		r->exact[n] = oracle_saturate(oracle_load_int(&z->a, at), z->d.dtype);
	}
	return 0;
}

static void resize_say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_resize_desc *z = (const void *)desc;
	uint32_t i;

	op_say_text(buf, size, " func %u flags %u coord %u nearest %u", z->func, z->flags,
		    z->coord, z->nearest);
	for (i = 0; i < z->a.rank; i++)
		op_say_text(buf, size, " x%.9g", z->scale[i]);
	op_say_tensor("a", &z->a, buf, size);
	op_say_tensor("d", &z->d, buf, size);
}

const struct oracle_op oracle_resize = {
	.result = resize_result, .compute = resize_compute, .say = resize_say,
};
