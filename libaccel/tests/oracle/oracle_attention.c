// SPDX-License-Identifier: MIT
/*
 * Attention, a row at a time: all scores, then all weights, then the sum.
 */
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
 * @score: of each key; minus infinity: it is not seen
 */
struct row {
	const struct accel_attention_desc *a;
	int64_t b, i, h, g;
	int64_t q[ACCEL_MAX_RANK];
	int64_t keys, queries, kv_start;
	struct oracle_num *score;
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

/* May K or V be multiplied in fixed point? */
static bool fixed(const struct accel_attention_desc *a, const struct accel_tensor *t)
{
	const bool ragged = a->flags & ACCEL_ATTENTION_RAGGED;
	const int64_t queries = ragged ? (int64_t)a->q_max : a->q.dims[1];

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

static struct oracle_num product(const struct row *r, int64_t j)
{
	const struct accel_attention_desc *a = r->a;
	int64_t q[ACCEL_MAX_RANK], k[ACCEL_MAX_RANK];
	double sum = 0, mag = 0, lost = 0, most = 0, keys = 0, p, x, y;
	int64_t e, d = a->q.dims[3];

	for (e = 0; e < 3; e++)
		q[e] = r->q[e];
	for (e = 0; e < d; e++) {
		q[3] = e;
		key_index(r, j, e, k);
		x = oracle_load(&a->q, q);
		y = oracle_load(&a->k, k);
		p = x * y;
		sum += p;
		mag += fabs(p);
		lost += (fabs(x) + fabs(y) + 2) * LEAST;
		most = fmax(most, fabs(x));
		keys += fabs(y);
	}
	/* A scale of Q is a factor of the scores, or rounds each element. */
	if (a->q.quant.scheme)
		mag *= 1 + 2 / (double)(d + 1);
	return (struct oracle_num){ sum, mag * (double)(d + 1) * U * 1.001 +
				     (fixed(a, &a->k) ? most * keys * FIXED_Q : 0) +
				     (narrow(a) ? lost : (double)d * TINY) };
}

static struct oracle_num score(const struct row *r, int64_t j)
{
	const struct accel_attention_desc *a = r->a;
	const struct oracle_num hidden = { -INFINITY, 0 };
	double d = (double)a->q.dims[3], mask = 0, cap = a->softcap, bias;
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
	if (cap > 0) {
		x = oracle_mul(x, 1 / cap);
		x = oracle_func(x, tanh(x.v), 1, 4);
		x = oracle_mul(x, cap);
	}
	if (a->slopes.rank) {
		bias = -slope_at(r) * fabs((double)(p - j));
		x.e += fabs(bias) * 2 * U;
		x = oracle_add(x, bias);
	}
	if (a->mask.rank)
		x = oracle_add(x, mask);
	return x;
}

/*
 * The weights of a row in r->score: value, and bound of the error. Returns the
 * sum of the bounds; NaN if the row is no number.
 */
static double soften(struct row *r, uint64_t *count)
{
	const struct accel_attention_desc *a = r->a;
	/* Every block of keys, piece and sink may rescale what came before. */
	double steps = (double)r->keys / 64 + 4, top = -INFINITY, sum = 0, sink = 0;
	double errors = 0;
	int64_t j;

	if (a->partials.rank)
		steps += 2 * (double)a->partials.dims[0];
	if (a->sinks.rank) {
		const int64_t idx[ACCEL_MAX_RANK] = { r->h };

		sink = oracle_load(&a->sinks, idx);
		top = sink;
	}
	*count = 0;
	for (j = 0; j < r->keys; j++) {
		if (isnan(r->score[j].v))
			return NAN;
		top = r->score[j].v > top ? r->score[j].v : top;
	}
	if (top == -INFINITY)
		return 0;
	if (!isfinite(top))
		return NAN;
	for (j = 0; j < r->keys; j++)
		sum += exp(r->score[j].v - top);
	sum += a->sinks.rank ? exp(sink - top) : 0;
	for (j = 0; j < r->keys; j++) {
		struct oracle_num *x = &r->score[j];
		double below = top - x->v, w = exp(-below) / sum;

		if (x->v == -INFINITY) {
			*x = (struct oracle_num){ 0, 0 };
			continue;
		}
		x->e = w * expm1(x->e + 2 * U * below + (4 * steps + 8) * U) + TINY;
		if (narrow(a))
			x->e += (w + x->e) * COARSE + LEAST;
		x->v = w;
		errors += x->e;
		++*count;
	}
	return errors;
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

/* An element of the result from the weights. */
static struct oracle_num element(const struct row *r, int64_t e, double errors,
				 uint64_t count)
{
	int64_t idx[ACCEL_MAX_RANK], j;
	double sum = 0, mag = 0, err = 0;
	double steps = 2 * (double)count + (double)r->keys / 8 + 16;
	double off = 0, scale;
	int64_t zero;

	if (isnan(errors))
		return (struct oracle_num){ NAN, 0 };
	/* Nothing is seen: zeros, to the bit. */
	if (!count)
		return (struct oracle_num){ 0, 0 };
	if (r->a->partials.rank)
		steps += 8 * (double)r->a->partials.dims[0];
	if (fixed(r->a, &r->a->v))
		off = largest(r) * FIXED_W;
	for (j = 0; j < r->keys; j++) {
		double v;

		if (r->score[j].v == 0)
			continue;
		key_index(r, j, e, idx);
		v = oracle_load(&r->a->v, idx);
		sum += r->score[j].v * v;
		mag += r->score[j].v * fabs(v);
		err += r->score[j].e * fabs(v);
		if (off > 0) {
			oracle_quant(&r->a->v, idx, &scale, &zero);
			err += off * fabs((double)(oracle_load_int(&r->a->v, idx) - zero));
		}
	}
	if (!isfinite(sum))
		return (struct oracle_num){ sum, 0 };
	err += fabs(sum) * errors;
	err += (mag + err) * steps * U;
	if (narrow(r->a))
		err += (double)(count + 1) * 3 * LEAST;
	return (struct oracle_num){ sum, err / (1 - fmin(errors, 0.9)) +
					 (double)(count + 1) * TINY };
}

static int compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	const struct accel_attention_desc *a = (const void *)desc;
	struct row row = { .a = a };
	uint64_t n, dv = (uint64_t)a->d.dims[3], count = 0;
	int64_t idx[ACCEL_MAX_RANK], j;
	double errors = 0;
	bool mine = false;

	(void)index;
	row.score = calloc((size_t)room(a) + 1, sizeof(*row.score));
	if (!row.score || oracle_begin(r, &a->d, false)) {
		free(row.score);
		return -1;
	}
	for (n = 0; n < r->count; n++) {
		oracle_index(&a->d, n, idx);
		if (n % dv == 0) {
			for (j = 0; j < 3; j++)
				row.q[j] = idx[j];
			mine = find_row(&row);
			if (mine && row.i >= row.queries)
				row.keys = 0;
			for (j = 0; mine && j < row.keys; j++)
				row.score[j] = score(&row, j);
			errors = mine ? soften(&row, &count) : 0;
		}
		if (mine && row.i < row.queries)
			r->num[n] = element(&row, idx[3], errors, count);
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
