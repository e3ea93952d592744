// SPDX-License-Identifier: MIT
/*
 * Attention, a row at a time: all scores, then all weights, then the sum.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "libaccel/tests/ops/optest.h"
#include "oracle.h"

#define U	ORACLE_U
#define TINY	ORACLE_TINY
/* The smallest normal number; what a weight of bf16 is off by */
#define LEAST	ldexp(1, -126)
#define COARSE	(ldexp(1, -8) + ldexp(1, -12))
/* What an element of Q in fixed point is off by, of the largest; and a weight */
#define FIXED_Q	ldexp(1.07, -16)
#define FIXED_W	ldexp(1.07, -17)
/* Most rows of which that may be */
#define FEW	8
/* Magnitudes that may be infinite, and those that are: a row with one between may end anywhere */
#define OVER	(FLT_MAX * (1 - 2 * U))
#define BEYOND	(FLT_MAX * (1 + 2 * U))
/* Errors of the weights, together, beyond which they say nothing of their sum */
#define LOST	0.9

/**
 * struct row - a query and a head
 * @a: descriptor
 * @b: sequence
 * @i: query of it
 * @h: head
 * @g: head of the keys
 * @q: index of the query's row in Q
 * @keys: keys of the sequence
 * @queries: queries of the sequence
 * @kv_start: its first key
 * @score: of each key, then its weight; a score of minus infinity: it is not seen
 * @count: keys that are seen
 * @errors: bounds of all weights' errors; NaN: the row is no number; infinite: it may be
 *	anything
 */
struct row {
	const struct accel_attention_desc *a;
	int64_t b, i, h, g;
	int64_t q[ACCEL_MAX_RANK];
	int64_t keys, queries, kv_start;
	struct oracle_num *score;
	uint64_t count;
	double errors;
};

static int64_t length(const struct accel_tensor *t, int64_t b, int64_t column)
{
	const int64_t idx[ACCEL_MAX_RANK] = { b, column };

	return oracle_load_int(t, idx);
}

static int64_t columns(const struct accel_tensor *t)
{
	return t->rank > 1 ? t->dims[1] : t->rank;
}

static bool narrow_keys(const struct accel_tensor *t)
{
	return t->dtype == ACCEL_BF16 || t->dtype == ACCEL_S8 || t->dtype == ACCEL_U8;
}

/* May products be those of bf16: weights rounded to it, subnormal numbers lost? */
static bool narrow(const struct accel_attention_desc *a)
{
	return narrow_keys(&a->q) && narrow_keys(&a->k) && narrow_keys(&a->v);
}

/* May K or V be multiplied in fixed point? Of a ragged batch each sequence may or may not. */
static bool fixed(const struct row *r, const struct accel_tensor *t)
{
	const struct accel_attention_desc *a = r->a;
	const int64_t queries = a->flags & ACCEL_ATTENTION_RAGGED ? r->queries : a->q.dims[1];

	return (t->dtype == ACCEL_S8 || t->dtype == ACCEL_U8) &&
	       (narrow_keys(&a->q) || a->q.dtype == ACCEL_F16) &&
	       queries * (a->q.dims[2] / a->k.dims[2]) <= FEW && !a->mask.rank &&
	       !a->slopes.rank && !(a->softcap > 0);
}

/* Keys that there is room for. */
static int64_t room(const struct accel_attention_desc *a)
{
	return a->pages.rank ? a->pages.dims[1] * a->k.dims[1] : a->k.dims[1];
}

static void find_lengths(struct row *r)
{
	const struct accel_attention_desc *a = r->a;

	r->keys = room(a);
	r->queries = a->flags & ACCEL_ATTENTION_RAGGED ? (int64_t)a->q_max : a->q.dims[1];
	r->kv_start = 0;
	if (a->lengths.rank)
		r->keys = length(&a->lengths, r->b, 0);
	if (columns(&a->lengths) > 1)
		r->queries = length(&a->lengths, r->b, 1);
	if (columns(&a->lengths) > 3)
		r->kv_start = length(&a->lengths, r->b, 3);
}

/* Which query of which sequence a row of D is. False: nobody's. */
static bool find_row(struct row *r)
{
	const struct accel_attention_desc *a = r->a;
	int64_t start;

	r->h = r->q[2];
	r->g = r->h / (a->q.dims[2] / a->k.dims[2]);
	if (!(a->flags & ACCEL_ATTENTION_RAGGED)) {
		r->b = r->q[0];
		r->i = r->q[1];
		find_lengths(r);
		return true;
	}
	for (r->b = 0; r->b < a->lengths.dims[0]; r->b++) {
		start = length(&a->lengths, r->b, 2);
		find_lengths(r);
		r->i = r->q[1] - start;
		if (r->i >= 0 && r->i < r->queries)
			return true;
	}
	return false;
}

/* Index of element @e of key @j, in K and in V. */
static void key_index(const struct row *r, int64_t j, int64_t e, int64_t *idx)
{
	const struct accel_attention_desc *a = r->a;

	idx[0] = r->b;
	idx[1] = j;
	if (a->pages.rank) {
		const int64_t at[ACCEL_MAX_RANK] = { r->b, j / a->k.dims[1] };

		idx[0] = oracle_load_int(&a->pages, at);
		idx[1] = j % a->k.dims[1];
	} else if (columns(&a->lengths) > 3) {
		idx[0] = 0;
		idx[1] = r->kv_start + j;
	}
	idx[2] = r->g;
	idx[3] = e;
}

static bool seen(const struct row *r, int64_t j)
{
	const struct accel_attention_desc *a = r->a;
	int64_t p = r->keys - r->queries + r->i;

	if (a->flags & ACCEL_ATTENTION_OFFSET)
		p = a->q_offset + r->i;
	if ((a->flags & ACCEL_ATTENTION_CAUSAL) && j > p)
		return false;
	if (!(a->flags & ACCEL_ATTENTION_WINDOW) || j < (int64_t)a->keep)
		return true;
	return j >= p - (int64_t)a->window_left && j <= p + (int64_t)a->window_right;
}

static double mask_at(const struct row *r, int64_t j)
{
	const struct accel_tensor *m = &r->a->mask;
	const int64_t full[4] = { r->b, r->h, r->i, j };
	int64_t idx[ACCEL_MAX_RANK] = { 0 };
	uint32_t i;

	for (i = 0; i < m->rank; i++)
		idx[i] = m->dims[i] == 1 ? 0 : full[4 - m->rank + i];
	if (m->dtype == ACCEL_U8)
		return oracle_load_int(m, idx) ? 0 : -INFINITY;
	return oracle_load(m, idx);
}

static double slope_at(const struct row *r)
{
	const struct accel_tensor *t = &r->a->slopes;
	int64_t idx[ACCEL_MAX_RANK] = { 0 };

	idx[0] = t->rank > 1 ? r->b : r->h;
	idx[1] = t->rank > 1 ? r->h : 0;
	return oracle_load(t, idx);
}

/* The magnitude of an element before its scale, which may come after the sum. */
static double unscaled(const struct accel_tensor *t, const int64_t *idx, double v)
{
	double scale;
	int64_t zero;

	oracle_quant(t, idx, &scale, &zero);
	return fabs(scale) < 1 && scale != 0 ? fabs(v / scale) : fabs(v);
}

/*
 * Numbers of binary32 are added in any order: those of one sign may meet on the way. @most:
 * sum of the magnitudes, of which some may have no scale yet.
 */
static bool overflows(const struct accel_attention_desc *a, struct oracle_num *sum, double mag,
		      double most)
{
	const double side = (mag + fabs(sum->v)) / 2;

	/* Infinite operands are something else. */
	if (!isfinite(mag) || (side <= OVER && most <= OVER))
		return false;
	sum->e = INFINITY;
	if (mag - side <= OVER && fabs(sum->v) > BEYOND + mag * (double)a->q.dims[3] * U &&
	    !a->q.quant.scheme && !a->k.quant.scheme)
		*sum = (struct oracle_num){ copysign(INFINITY, sum->v), 0 };
	return true;
}

static struct oracle_num product(const struct row *r, int64_t j)
{
	const struct accel_attention_desc *a = r->a;
	int64_t q[ACCEL_MAX_RANK], k[ACCEL_MAX_RANK];
	double mag = 0, lost = 0, most = 0, keys = 0, raw = 0, p, x, y;
	int64_t e, d = a->q.dims[3];
	struct oracle_num sum = { 0 };

	for (e = 0; e < 3; e++)
		q[e] = r->q[e];
	for (e = 0; e < d; e++) {
		q[3] = e;
		key_index(r, j, e, k);
		x = oracle_load(&a->q, q);
		y = oracle_load(&a->k, k);
		p = x * y;
		sum.v += p;
		mag += fabs(p);
		if (a->q.quant.scheme || a->k.quant.scheme)
			raw += unscaled(&a->q, q, x) * unscaled(&a->k, k, y);
		lost += (fabs(x) + fabs(y) + 2) * LEAST;
		most = fmax(most, fabs(x));
		keys += fabs(y);
	}
	if (overflows(a, &sum, mag, raw))
		return sum;
	/* A scale of Q is a factor of the scores, or rounds each element. */
	if (a->q.quant.scheme)
		mag *= 1 + 2 / (double)(d + 1);
	sum.e = mag * (double)(d + 1) * U * 1.001 +
		(fixed(r, &a->k) ? most * keys * FIXED_Q : 0) +
		(narrow(a) ? lost : (double)d * TINY);
	return sum;
}

/*
 * A product with a slope that is beyond the largest number is infinite, unless it is rounded
 * only with the sum.
 */
static struct oracle_num add_bias(struct oracle_num x, double bias)
{
	const struct oracle_num y = oracle_add((struct oracle_num){ x.v, x.e + fabs(bias) * 2 * U },
					       bias);

	if (!isfinite(y.v) || isinf(y.e) || fmax(fabs(bias), fabs(y.v) + y.e) <= OVER)
		return y;
	if (fabs(y.v) - y.e > BEYOND)
		return (struct oracle_num){ copysign(INFINITY, y.v), 0 };
	return (struct oracle_num){ y.v, INFINITY };
}

/*
 * The sum of a score and a mask is rounded once: of a mask that is large it is the same
 * number, to the bit, for all that the score may be.
 */
static struct oracle_num add_mask(struct oracle_num x, double mask)
{
	const double lo = oracle_round(x.v - x.e + mask, ACCEL_F32);
	const double hi = oracle_round(x.v + x.e + mask, ACCEL_F32);

	if (isinf(x.e) || !isfinite(x.v) || !isfinite(mask))
		return (struct oracle_num){ x.v + mask, x.e };
	/* Infinite, or the last number before that */
	if (isinf(lo) || isinf(hi))
		return (struct oracle_num){ x.v + mask, hi > 0 ? INFINITY : FLT_MAX };
	return (struct oracle_num){ lo / 2 + hi / 2, hi / 2 - lo / 2 };
}

static struct oracle_num score(const struct row *r, int64_t j)
{
	const struct accel_attention_desc *a = r->a;
	const struct oracle_num hidden = { -INFINITY, 0 };
	double d = (double)a->q.dims[3], mask = 0, cap = a->softcap;
	int64_t p = r->keys - r->queries + r->i;
	struct oracle_num x;

	if (a->flags & ACCEL_ATTENTION_OFFSET)
		p = a->q_offset + r->i;
	if (!seen(r, j))
		return hidden;
	if (a->mask.rank)
		mask = mask_at(r, j);
	if (mask == -INFINITY)
		return hidden;
	x = product(r, j);
	if (a->flags & ACCEL_ATTENTION_SCALE) {
		x = oracle_mul(x, a->scale);
	} else {
		/* The scale itself is rounded: the root and its reciprocal. */
		x = oracle_mul(x, d > 0 ? 1 / sqrt(d) : 1);
		x.e += fabs(x.v) * 2 * U;
	}
	/* The scale may come with the difference from the largest, which is finite. */
	if (isfinite(x.v) && fabs(x.v) + x.e > OVER)
		x.e = INFINITY;
	if (cap > 0) {
		x = oracle_mul(x, 1 / cap);
		x = oracle_func(x, tanh(x.v), 1, 4);
		/* Unless it may be no number */
		if (isfinite(x.e))
			x.e = fmin(x.e, 1 + fabs(x.v));
		x = oracle_mul(x, cap);
	}
	if (a->slopes.rank)
		x = add_bias(x, -slope_at(r) * fabs((double)(p - j)));
	return a->mask.rank ? add_mask(x, mask) : x;
}

static double sink_at(const struct row *r)
{
	const int64_t idx[ACCEL_MAX_RANK] = { r->h };

	return r->a->sinks.rank ? oracle_load(&r->a->sinks, idx) : -INFINITY;
}

/*
 * The largest score, a sink among them; NaN if one is no number or infinite. *@errors: an
 * infinity, if by what scores may be off the largest may be an infinity. *@at: its key.
 */
static double largest_score(const struct row *r, double sink, double *errors, int64_t *at)
{
	double top = sink, e = 0;
	int64_t j;

	*errors = 0;
	*at = -1;
	for (j = 0; j < r->keys; j++) {
		const struct oracle_num *x = &r->score[j];

		if (isnan(x->v))
			return NAN;
		if (isinf(x->e))
			*errors = INFINITY;
		if (x->v > top) {
			top = x->v;
			e = x->e;
			*at = j;
		}
	}
	if (isnan(sink) || top == INFINITY)
		return NAN;
	if (e >= FLT_MAX)
		*errors = INFINITY;
	return top;
}

/*
 * What the weight @w, e^-@below of all weights' @sum, may be off by where its exponent is by
 * @d. Scores may be off by more than the weight would bear as a factor, and yet be so far
 * below the largest that it is nothing.
 */
static double weight_error(double w, double below, double d, double sum)
{
	return fmin(1, d < 1 ? w * expm1(d) : exp(d - below) / sum);
}

/* Scores become weights: value, and bound of the error. */
static void soften(struct row *r)
{
	const struct accel_attention_desc *a = r->a;
	/* Every block of keys, piece and sink may rescale what came before. */
	double steps = (double)r->keys / 64 + 4, sink = sink_at(r), top, sum, off = 0;
	int64_t j, at;

	if (a->partials.rank)
		steps += 2 * (double)a->partials.dims[0];
	r->count = 0;
	top = largest_score(r, sink, &r->errors, &at);
	if (isnan(top))
		r->errors = NAN;
	if (top == -INFINITY || r->errors != 0)
		return;
	sum = exp(sink - top);
	for (j = 0; j < r->keys; j++)
		sum += exp(r->score[j].v - top);
	/* Only differences count. Where the largest is off by much, it is the others that are. */
	if (at >= 0 && r->score[at].e >= 1) {
		off = r->score[at].e;
		r->score[at].e = -off;
		r->errors = weight_error(exp(sink - top) / sum, top - sink, off, sum);
	}
	for (j = 0; j < r->keys; j++) {
		struct oracle_num *x = &r->score[j];
		double below = top - x->v, w = exp(-below) / sum;

		if (x->v == -INFINITY) {
			*x = (struct oracle_num){ 0, 0 };
			continue;
		}
		x->e = TINY + weight_error(w, below, x->e + off + 2 * U * below +
					   (4 * steps + 8) * U, sum);
		if (narrow(a))
			x->e += (w + x->e) * COARSE + LEAST;
		x->v = w;
		r->errors += x->e;
		r->count++;
	}
}

/* The largest product of a weight and the scale of its value. */
static double largest(const struct row *r)
{
	int64_t idx[ACCEL_MAX_RANK], j, zero;
	double top = 0, scale;

	for (j = 0; j < r->keys; j++) {
		key_index(r, j, 0, idx);
		oracle_quant(&r->a->v, idx, &scale, &zero);
		top = fmax(top, (r->score[j].v + r->score[j].e) * fabs(scale));
	}
	return top;
}

/**
 * struct mean - an element of the result
 * @sum: of weights and values
 * @mag: of the magnitudes of these
 * @err: of bounds
 * @lo: smallest of the values that may have a weight worth naming, 0 if a sink may have it
 * @hi: largest of them
 * @rest: bounds of the others
 * @coarse: of what is off beside the weights
 */
struct mean {
	double sum, mag, err;
	double lo, hi, rest, coarse;
};

static void add_value(const struct row *r, int64_t j, int64_t e, double off, struct mean *m)
{
	const struct oracle_num *w = &r->score[j];
	int64_t idx[ACCEL_MAX_RANK], zero;
	double v, scale;

	key_index(r, j, e, idx);
	v = oracle_load(&r->a->v, idx);
	/* A weight of 0 times what is no number counts for nothing, if it is 0. */
	if (w->v == 0 && !isfinite(v)) {
		m->err += w->e > 2 * LEAST ? INFINITY : 0;
		return;
	}
	m->sum += w->v * v;
	m->mag += w->v * fabs(v);
	m->err += w->e * fabs(v);
	if (off > 0) {
		oracle_quant(&r->a->v, idx, &scale, &zero);
		m->coarse += off * fabs((double)(oracle_load_int(&r->a->v, idx) - zero));
	}
	if (w->v + w->e > LEAST) {
		m->lo = fmin(m->lo, v);
		m->hi = fmax(m->hi, v);
	} else {
		m->rest += w->e * fabs(v);
	}
}

/*
 * Where the weights themselves are not known, the result is still none but what lies between
 * the values.
 */
static double between(const struct row *r, const struct mean *m, double steps)
{
	const double most = fmax(fabs(m->lo), fabs(m->hi));

	return fmax(m->hi - m->sum, m->sum - m->lo) + m->rest + m->coarse +
	       most * (steps * U + (narrow(r->a) ? 3 * COARSE : 0));
}

/* An element of the result from the weights. */
static struct oracle_num element(const struct row *r, int64_t e)
{
	struct mean m = { .lo = INFINITY, .hi = -INFINITY };
	double steps = 2 * (double)r->count + (double)r->keys / 8 + 16;
	double least = narrow(r->a) ? (double)(r->count + 1) * 3 * LEAST : 0;
	double off = 0, err;
	int64_t j;

	if (isnan(r->errors))
		return (struct oracle_num){ NAN, 0 };
	/* An infinity on the way, or none */
	if (isinf(r->errors) && !r->count)
		return (struct oracle_num){ 0, INFINITY };
	/* Nothing is seen: zeros, to the bit. */
	if (!r->count)
		return (struct oracle_num){ 0, 0 };
	if (r->a->partials.rank)
		steps += 8 * (double)r->a->partials.dims[0];
	if (r->a->sinks.rank)
		m.lo = m.hi = 0;
	if (fixed(r, &r->a->v))
		off = largest(r) * FIXED_W;
	for (j = 0; j < r->keys; j++)
		if (r->score[j].v != 0 || r->score[j].e > 2 * TINY)
			add_value(r, j, e, off, &m);
	if (!isfinite(m.sum))
		return (struct oracle_num){ m.sum, 0 };
	if (isinf(m.err))
		return (struct oracle_num){ m.sum, INFINITY };
	if (r->errors >= LOST) {
		err = between(r, &m, steps) + least;
	} else {
		err = m.err + m.coarse + fabs(m.sum) * r->errors;
		err = (err + (m.mag + err) * steps * U + least) / (1 - r->errors);
	}
	return (struct oracle_num){ m.sum, err + (double)(r->count + 1) * TINY };
}

static int compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	const struct accel_attention_desc *a = (const void *)desc;
	struct row row = { .a = a };
	uint64_t n, dv = (uint64_t)a->d.dims[3];
	int64_t idx[ACCEL_MAX_RANK] = { 0 }, j;
	bool mine = false;

	(void)index;
	row.score = calloc((size_t)room(a) + 1, sizeof(*row.score));
	if (!row.score || oracle_begin(r, &a->d, false)) {
		free(row.score);
		return -1;
	}
	for (n = 0; n < r->count; n++, oracle_next(&a->d, idx)) {
		if (n % dv == 0) {
			for (j = 0; j < 3; j++)
				row.q[j] = idx[j];
			mine = find_row(&row);
			if (mine && row.i >= row.queries)
				row.keys = 0;
			for (j = 0; mine && j < row.keys; j++)
				row.score[j] = score(&row, j);
			if (mine)
				soften(&row);
		}
		if (mine && row.i < row.queries)
			r->num[n] = element(&row, idx[3]);
		else
			/* No query: zeros. No sequence: as it was. */
			r->num[n].v = mine ? 0 : oracle_load(&a->d, idx);
	}
	free(row.score);
	return 0;
}

static const struct accel_tensor *result(const struct accel_desc *desc, uint32_t index)
{
	return index ? NULL : &((const struct accel_attention_desc *)desc)->d;
}

static void say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_attention_desc *a = (const void *)desc;

	op_say_text(buf, size, " flags %u scale %g softcap %g window %u %u keep %u offset %d q_max %u",
		    a->flags, (double)a->scale, (double)a->softcap, a->window_left,
		    a->window_right, a->keep, a->q_offset, a->q_max);
	op_say_tensor("q", &a->q, buf, size);
	op_say_tensor("k", &a->k, buf, size);
	op_say_tensor("v", &a->v, buf, size);
	op_say_tensor("d", &a->d, buf, size);
	op_say_tensor("mask", &a->mask, buf, size);
	op_say_tensor("pages", &a->pages, buf, size);
	op_say_tensor("lengths", &a->lengths, buf, size);
	op_say_tensor("slopes", &a->slopes, buf, size);
	op_say_tensor("sinks", &a->sinks, buf, size);
	op_say_tensor("partials", &a->partials, buf, size);
}

const struct oracle_op oracle_attention = {
	.result = result, .compute = compute, .say = say,
};
