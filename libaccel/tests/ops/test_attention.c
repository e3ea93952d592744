// SPDX-License-Identifier: MIT
/*
 * Attention: types, heads, masks and positions, pages, quantised keys and
 * values, bytes, lengths, pieces; then whatever comes up. In one file, for all of
 * them share how a case is made.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "optest.h"
#include "libaccel/tests/oracle/oracle.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Multiply-adds of a case, at most: the oracle is slow */
#define MAX_MACS	150000

/* What a case has. */
#define CAUSAL		(1u << 0)
#define WINDOW		(1u << 1)
#define OFFSET		(1u << 2)
#define SCALE		(1u << 3)
#define SOFTCAP		(1u << 4)
#define MASK_ADD	(1u << 5)
#define MASK_BOOL	(1u << 6)
#define PAGED		(1u << 7)
#define LENGTHS		(1u << 8)
#define Q_LENGTHS	(1u << 9)	/* with LENGTHS */
#define SLOPES		(1u << 10)
#define SINKS		(1u << 11)
#define RAGGED		(1u << 12)	/* with LENGTHS */
#define KV_RAGGED	(1u << 13)	/* with RAGGED */
#define PIECES		(1u << 14)
#define STYLES		(1u << 15)	/* any layout */
#define ODD_VALUES	(1u << 16)	/* infinities and NaN in keys and values */
#define IN_PLACE	(1u << 17)
#define EVERYTHING	(1u << 18)	/* at random */
#define ODD_QUERIES	(1u << 19)	/* infinities, NaN and zeros in queries */
#define FAR		(1u << 20)	/* masks, sinks, slopes and scores of any magnitude */
#define ODD_SCALES	(1u << 21)	/* zeros, negative numbers and, of the last key, NaN */

/**
 * struct attn_case - an attention; 0: at random
 */
struct attn_case {
	const char *what;
	uint32_t features;
	uint32_t q, k, v, d;
	int64_t batch, queries, keys, kv_heads, group, head;
	uint32_t quant;
	int engine;
};

static double to_number(uint32_t n, const double *list, uint32_t count)
{
	return list[n % count];
}

/* Store a number, rounded: floating-point or an integer. */
static void put(const struct accel_tensor *t, const int64_t *idx, double v)
{
	char *p = (char *)accel_bo_ptr(t->bo) + t->offset;
	int64_t off = oracle_offset(t, idx);
	float f = (float)v;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	switch (t->dtype) {
	case ACCEL_F32:
		((float *)p)[off] = f;
		break;
	case ACCEL_F16:
		((uint16_t *)p)[off] = oracle_f16_bits(v);
		break;
	case ACCEL_BF16:
		/* Not a number needs a bit in the upper half. */
		((uint16_t *)p)[off] = isnan(v) ? 0x7fc0 : (uint16_t)(bits >> 16);
		break;
	case ACCEL_S32:
		((int32_t *)p)[off] = (int32_t)v;
		break;
	default:
		((uint8_t *)p)[off] = (uint8_t)(int)v;
		break;
	}
}

/**
 * struct shape - of a case
 */
struct shape {
	uint32_t has;
	int64_t batch, queries, keys, heads, kv_heads, d, dv;
	int64_t page, pages, max_pages;
	int64_t all_queries, all_keys;
};

static int64_t one_of(struct op_case *c, int64_t wanted, const int64_t *list, uint32_t n)
{
	int64_t any = list[op_below(c, n)];

	return wanted ? wanted : any;
}

#define ONE_OF(c, wanted, ...)						\
	one_of(c, wanted, (const int64_t[]){ __VA_ARGS__ },		\
	       ARRAY_SIZE(((const int64_t[]){ __VA_ARGS__ })))

static uint32_t pick_features(struct op_case *c)
{
	static const uint32_t weights[] = {
		2, 3, 4, 3, 5, 4, 5, 2, 2, 3, 5, 5, 5, 2, 5, 2, 9, 6
	};
	uint32_t has = 0, i;

	for (i = 0; i < ARRAY_SIZE(weights); i++)
		if (!op_below(c, weights[i]))
			has |= 1u << i;
	return has;
}

/* Leave out what does not go together. */
static uint32_t sane(uint32_t has)
{
	/* What a value that is no number counts for is a question of the least weights. */
	if (has & FAR)
		has &= ~(ODD_VALUES | ODD_QUERIES);
	if (has & MASK_BOOL)
		has &= ~MASK_ADD;
	if (!(has & LENGTHS))
		has &= ~(Q_LENGTHS | RAGGED);
	if (!(has & RAGGED) || (has & PAGED))
		has &= ~KV_RAGGED;
	if (has & RAGGED)
		has |= Q_LENGTHS;
	/* Weights that underflow to 0 in binary32 alone decide about infinities. */
	if (has & (SLOPES | SCALE))
		has &= ~ODD_VALUES;
	return has;
}

static void choose_shape(struct op_case *c, const struct attn_case *g, struct shape *s)
{
	int64_t macs;

	s->has = g->features & EVERYTHING ? pick_features(c) : g->features;
	if (g->features & FAR)
		s->has |= FAR | (op_below(c, 4) ? MASK_ADD : 0);
	s->has = sane(s->has);
	s->batch = ONE_OF(c, g->batch, 1, 1, 2, 3);
	s->queries = ONE_OF(c, g->queries, 1, 1, 2, 5, 17, 33, 40);
	s->keys = ONE_OF(c, g->keys, 1, 2, 17, 63, 64, 65, 100, 130, 200);
	s->kv_heads = ONE_OF(c, g->kv_heads, 1, 1, 2, 3);
	s->heads = s->kv_heads * ONE_OF(c, g->group, 1, 1, 2, 4, 5);
	s->d = ONE_OF(c, g->head, 1, 3, 8, 16, 33, 64, 80);
	s->dv = op_below(c, 3) ? s->d : ONE_OF(c, g->head, 1, 7, 16, 40);
	if (!g->keys && !op_below(c, 30))
		s->keys = 0;
	if (!g->queries && !op_below(c, 40))
		s->queries = 0;
	for (;;) {
		macs = s->batch * s->heads * s->queries * s->keys * (s->d + s->dv);
		if (g->head || macs <= (c->small ? MAX_MACS / 10 : MAX_MACS))
			break;
		if (s->queries > 5)
			s->queries /= 2;
		else if (s->d > 8)
			s->d = s->dv = 8;
		else if (s->keys > 17)
			s->keys /= 2;
		else
			s->batch = 1, s->queries = 1;
	}
	if (s->has & IN_PLACE)
		s->dv = s->d;
	s->page = ONE_OF(c, 0, 1, 4, 7, 16);
	s->max_pages = (s->keys + s->page - 1) / s->page;
	s->pages = s->max_pages * s->batch + 1 + op_below(c, 3);
	s->all_queries = s->queries;
	s->all_keys = s->keys;
	if (s->has & RAGGED)
		s->all_queries = s->queries * s->batch + op_below(c, 3);
	if (s->has & KV_RAGGED)
		s->all_keys = s->keys * s->batch + op_below(c, 3);
}

static enum op_style style(struct op_case *c, const struct shape *s, bool input)
{
	if (!(s->has & STYLES) || !op_below(c, 3))
		return OP_DENSE;
	return (enum op_style)op_below(c, input ? OP_STYLES : OP_REPEATED);
}

/* Queries or results: floating-point numbers, or bytes with one scale. */
static void query_rows(struct op_case *c, struct accel_tensor *t, uint32_t wanted,
		       const int64_t *dims, enum op_style how)
{
	uint32_t any = op_below(c, 4) ? 1 + op_below(c, 3) : ACCEL_S8 + op_below(c, 2);

	op_tensor(c, t, wanted ? wanted : any, 4, dims, how);
	if (t->dtype > ACCEL_BF16)
		op_quantise(c, t, ACCEL_QUANT_TENSOR, 0, 0, 0.02, op_below(c, 2));
}

/* Keys or values. */
static void keys_or_values(struct op_case *c, const struct attn_case *g,
			   const struct shape *s, struct accel_tensor *t, uint32_t wanted,
			   int64_t head)
{
	const int64_t dims[] = {
		s->has & PAGED ? s->pages : s->has & KV_RAGGED ? 1 : s->batch,
		s->has & PAGED ? s->page : s->all_keys, s->kv_heads, head
	};
	uint32_t quants = op_below(c, 2) ? ACCEL_QUANT_GROUP : 1 + op_below(c, 3);
	uint32_t dtype = op_below(c, 2) ? 1 + op_below(c, 3) :
			 op_below(c, 3) ? ACCEL_S8 + op_below(c, 2) : ACCEL_S4 + op_below(c, 2);
	enum op_style how = style(c, s, true);
	uint32_t group = 16;

	if (wanted)
		dtype = wanted;
	if (s->has & FAR && dtype == ACCEL_F16)
		c->range = fmin(c->range, 1e4);
	if (dtype >= ACCEL_S4 && (head & 1) && how == OP_DENSE)
		how = OP_PADDED;
	op_tensor(c, t, dtype, 4, dims, how);
	if (dtype <= ACCEL_BF16)
		return;
	while (group < head && op_below(c, 8))
		group *= 2;
	quants = g->quant ? g->quant : quants;
	op_quantise(c, t, quants, quants == ACCEL_QUANT_CHANNEL ? op_below(c, 4) : 3, group,
		    dtype >= ACCEL_S4 ? 0.2 : 0.012, op_below(c, 2));
}

static void lengths(struct op_case *c, const struct shape *s, struct accel_tensor *t)
{
	uint32_t columns = s->has & KV_RAGGED ? 4 : s->has & RAGGED ? 3 :
			   s->has & Q_LENGTHS ? 2 : 1;
	const int64_t dims[] = { s->batch, columns };
	int64_t idx[ACCEL_MAX_RANK] = { 0 }, q = 0, kv = 0, n;

	op_tensor(c, t, ACCEL_S32, columns > 1 || op_below(c, 2) ? 2 : 1, dims,
		  s->has & STYLES ? (enum op_style)op_below(c, OP_REPEATED) : OP_DENSE);
	for (idx[0] = 0; idx[0] < s->batch; idx[0]++) {
		n = op_below(c, 3) ? op_below(c, (uint32_t)s->keys + 1) : s->keys;
		idx[1] = 0;
		put(t, idx, (double)n);
		if (columns < 2)
			continue;
		idx[1] = 3;
		if (columns > 3)
			put(t, idx, (double)kv);
		kv += n;
		n = op_below(c, 3) ? op_below(c, (uint32_t)s->queries + 1) : s->queries;
		idx[1] = 1;
		put(t, idx, (double)n);
		idx[1] = 2;
		if (columns > 2)
			put(t, idx, (double)q);
		q += n;
	}
}

/* Any pages; those behind the keys of a sequence are not looked at. */
static void pages(struct op_case *c, const struct shape *s, struct accel_attention_desc *d)
{
	const int64_t dims[] = { s->batch, s->max_pages };
	int64_t idx[ACCEL_MAX_RANK] = { 0 }, at[ACCEL_MAX_RANK] = { 0 }, used;

	op_tensor(c, &d->pages, ACCEL_S32, 2, dims, style(c, s, false));
	for (idx[0] = 0; idx[0] < s->batch; idx[0]++)
		for (idx[1] = 0; idx[1] < s->max_pages; idx[1]++) {
			at[0] = idx[0];
			used = s->has & LENGTHS ? oracle_load_int(&d->lengths, at) :
			       s->max_pages * s->page;
			put(&d->pages, idx, idx[1] * s->page < used ?
			    (double)op_below(c, (uint32_t)s->pages) :
			    op_below(c, 2) ? -1 : INT32_MAX);
		}
}

/* A number of any magnitude that there is in the type of @t. */
static double far_number(struct op_case *c, const struct accel_tensor *t)
{
	const double least = log(0.001), most = log(t->dtype == ACCEL_F16 ? 65504 : 3.4e38);

	return exp(op_uniform(c, least, most)) * (op_below(c, 4) ? -1 : 1);
}

/*
 * What exported models add: one number for all that is hidden, at the left, at the right, in
 * whole rows, in places; or each key has one of its own.
 */
static void far_mask(struct op_case *c, const struct accel_tensor *t)
{
	static const double usual[] = { -1e4, -1e9, -5e9, -1e30, -FLT_MAX, -INFINITY };
	const int64_t keys = t->dims[t->rank - 1];
	int64_t idx[ACCEL_MAX_RANK], from = 0, cut = 0;
	uint32_t kind = op_below(c, 5);
	double low = op_below(c, 2) ? far_number(c, t) : usual[op_below(c, 6)], x;
	uint64_t n;

	if (t->dtype == ACCEL_F16)
		low = fmax(low, -65504);
	for (n = 0; n < oracle_count(t); n++) {
		oracle_index(t, n, idx);
		if (!idx[t->rank - 1]) {
			from = op_below(c, (uint32_t)keys + 1);
			cut = op_below(c, 3) ? keys : from;
		}
		x = low;
		if (kind == 0 && idx[t->rank - 1] >= from)
			x = 0;
		else if (kind == 1 && idx[t->rank - 1] < from)
			x = 0;
		else if (kind == 2 && idx[t->rank - 1] >= cut)
			x = 0;
		else if (kind == 3 && op_below(c, 3))
			x = op_below(c, 2) ? 0 : -INFINITY;
		else if (kind == 4)
			x = far_number(c, t);
		put(t, idx, x);
	}
}

/* Each number of any magnitude, one of them in eight as it was. */
static void far_numbers(struct op_case *c, const struct accel_tensor *t)
{
	int64_t idx[ACCEL_MAX_RANK];
	uint64_t n;

	for (n = 0; n < oracle_count(t); n++) {
		oracle_index(t, n, idx);
		if (op_below(c, 8))
			put(t, idx, far_number(c, t));
	}
}

static void mask(struct op_case *c, const struct shape *s, struct accel_tensor *t)
{
	int64_t dims[] = {
		s->batch, s->heads, s->queries,
		s->has & PAGED ? s->max_pages * s->page : s->all_keys
	};
	uint32_t drop = op_below(c, 4), i;
	int64_t idx[ACCEL_MAX_RANK];
	uint64_t n;

	for (i = drop; i < 3; i++)
		if (!op_below(c, 3))
			dims[i] = 1;
	op_tensor(c, t, s->has & MASK_BOOL ? ACCEL_U8 : 1 + op_below(c, 3), 4 - drop,
		  dims + drop, style(c, s, true));
	if (s->has & FAR && t->dtype <= ACCEL_BF16) {
		far_mask(c, t);
		return;
	}
	for (n = 0; n < oracle_count(t); n++) {
		oracle_index(t, n, idx);
		/* A good many hidden, whole rows in places. */
		if (s->has & MASK_BOOL)
			put(t, idx, op_below(c, 4) != 0 && op_below(c, 5));
		else if (!op_below(c, 4))
			put(t, idx, -INFINITY);
	}
	if (op_below(c, 2) || t->rank < 2)
		return;
	for (n = 0; n < oracle_count(t); n++) {
		oracle_index(t, n, idx);
		if (!idx[t->rank - 2])
			put(t, idx, s->has & MASK_BOOL ? 0 : -INFINITY);
	}
}

/* No number and infinities among the values and, of hidden keys, the keys. */
static void odd_values(struct op_case *c, const struct shape *s,
		       struct accel_attention_desc *d)
{
	static const double odd[] = { NAN, INFINITY, -INFINITY };
	int64_t idx[ACCEL_MAX_RANK];
	uint32_t i;

	for (i = 0; i < 3 && d->v.dtype <= ACCEL_BF16 && oracle_count(&d->v); i++) {
		oracle_index(&d->v, op_below(c, (uint32_t)oracle_count(&d->v)), idx);
		put(&d->v, idx, to_number(i, odd, 3));
	}
	for (i = 0; i < 2 && d->k.dtype <= ACCEL_BF16 && oracle_count(&d->k); i++) {
		oracle_index(&d->k, op_below(c, (uint32_t)oracle_count(&d->k)), idx);
		put(&d->k, idx, NAN);
	}
	(void)s;
}

/* A third of the keys' scales, or of the values', are no usual ones, and that of the last. */
static void odd_scales(struct op_case *c, const struct accel_tensor *t)
{
	char *p = (char *)accel_bo_ptr(t->quant.scales) + t->quant.scales_offset;
	int64_t heads = t->dims[2], keys = t->dims[1], i;

	for (i = 0; i < t->dims[0] * keys * heads; i++) {
		const bool last = i / heads % keys == keys - 1;
		const double x = op_below(c, 2) ? -0.01 : last && op_below(c, 2) ? NAN : 0;
		const float f = (float)x;

		if (!last && op_below(c, 3))
			continue;
		if (t->quant.scale_dtype == ACCEL_F16)
			((uint16_t *)p)[i] = oracle_f16_bits(x);
		else
			memcpy(p + 4 * i, &f, 4);
	}
}

/* A query that is no number in places, one that is zero, one that nearly is. */
static void odd_queries(struct op_case *c, struct accel_attention_desc *d)
{
	static const double odd[] = { NAN, INFINITY, -INFINITY, 1 / 1e38, 0 };
	int64_t idx[ACCEL_MAX_RANK];
	uint64_t n = oracle_count(&d->q);
	uint64_t row = n / (uint64_t)d->q.dims[3] * op_below(c, 8) / 8 * (uint64_t)d->q.dims[3];
	uint32_t kind = op_below(c, 5), i;

	if (kind < 3) {
		oracle_index(&d->q, op_below(c, (uint32_t)n), idx);
		put(&d->q, idx, odd[kind]);
		return;
	}
	for (i = 0; i < d->q.dims[3]; i++) {
		oracle_index(&d->q, row + i, idx);
		put(&d->q, idx, odd[kind]);
	}
}

static void numbers(struct op_case *c, const struct shape *s, struct accel_attention_desc *d)
{
	if (s->has & CAUSAL)
		d->flags |= ACCEL_ATTENTION_CAUSAL;
	if (s->has & SCALE) {
		d->flags |= ACCEL_ATTENTION_SCALE;
		d->scale = (float)op_uniform(c, -0.5, 0.5);
	}
	if (s->has & WINDOW) {
		d->flags |= ACCEL_ATTENTION_WINDOW;
		d->window_left = op_below(c, 3) ? op_below(c, 70) : UINT32_MAX;
		d->window_right = op_below(c, 3) ? op_below(c, 20) : UINT32_MAX;
		d->keep = op_below(c, 2) ? op_below(c, 6) : 0;
	}
	if (s->has & OFFSET) {
		d->flags |= ACCEL_ATTENTION_OFFSET;
		d->q_offset = (int32_t)op_below(c, (uint32_t)s->keys + 20) - 10;
	}
	if (s->has & SOFTCAP)
		d->softcap = (float)op_uniform(c, 0.5, 30);
	if (s->has & RAGGED) {
		d->flags |= ACCEL_ATTENTION_RAGGED;
		d->q_max = (uint32_t)s->queries;
	}
}

static const struct accel_desc *build(struct op_case *c, const void *arg)
{
	struct accel_attention_desc *d = calloc(1, sizeof(*d));
	const struct attn_case *g = arg;
	struct shape s;

	assert_non_null(d);
	*d = (struct accel_attention_desc)ACCEL_ATTENTION_DESC_INIT;
	choose_shape(c, g, &s);
	{
		const int64_t rows = s.has & RAGGED ? s.all_queries : s.queries;
		const int64_t first = s.has & RAGGED ? 1 : s.batch;
		const int64_t q[] = { first, rows, s.heads, s.d };
		const int64_t o[] = { first, rows, s.heads, s.dv };
		const int64_t per_head[] = { s.batch, s.heads };
		const int64_t parts[] = {
			2 + op_below(c, 4), first, rows, s.heads, s.dv + 2
		};
		uint32_t drop = op_below(c, 2);

		c->range = op_below(c, 3) ? 2 : 4;
		query_rows(c, &d->q, g->q, q, style(c, &s, !(s.has & IN_PLACE)));
		if (s.has & IN_PLACE)
			d->d = d->q;
		else
			query_rows(c, &d->d, g->d, o, style(c, &s, false));
		keys_or_values(c, g, &s, &d->k, g->k, s.d);
		if (s.has & FAR && !op_below(c, 3))
			c->range = exp(op_uniform(c, log(0.001), log(1e30)));
		keys_or_values(c, g, &s, &d->v, g->v, s.dv);
		if (s.has & LENGTHS)
			lengths(c, &s, &d->lengths);
		if (s.has & PAGED)
			pages(c, &s, d);
		if (s.has & (MASK_ADD | MASK_BOOL))
			mask(c, &s, &d->mask);
		if (s.has & SLOPES)
			op_tensor(c, &d->slopes, ACCEL_F32, 2 - drop, per_head + drop,
				  style(c, &s, true));
		if (s.has & SINKS)
			op_tensor(c, &d->sinks, 1 + op_below(c, 3), 1, per_head + 1,
				  style(c, &s, true));
		if (s.has & PIECES)
			op_tensor(c, &d->partials, ACCEL_F32, 5, parts, style(c, &s, false));
	}
	if (s.has & FAR && d->sinks.rank)
		far_numbers(c, &d->sinks);
	if (s.has & FAR && d->slopes.rank && op_below(c, 2))
		far_numbers(c, &d->slopes);
	if (s.has & FAR && d->q.dtype <= ACCEL_BF16 && !op_below(c, 4))
		far_numbers(c, &d->q);
	if (s.has & ODD_VALUES)
		odd_values(c, &s, d);
	if (s.has & ODD_SCALES) {
		odd_scales(c, &d->k);
		odd_scales(c, &d->v);
	}
	if (s.has & ODD_QUERIES && d->q.dtype <= ACCEL_BF16)
		odd_queries(c, d);
	numbers(c, &s, d);
	d->hdr.engine = op_below(c, 2) ? op_below(c, ACCEL_ENGINE_COUNT) : 0;
	return &d->hdr;
}

/* --- tests ------------------------------------------------------------------------- */

static void run_table(struct op_env *env, const struct attn_case *table, uint32_t n,
		      uint64_t seed)
{
	uint32_t i, j;

	for (i = 0; i < n; i++)
		for (j = 0; j < (env->small ? 2 : 6); j++)
			op_run(env, build, &table[i], seed + 100 * i + j, table[i].what);
}

static void test_types(struct op_env *env)
{
	static const uint32_t types[] = {
		ACCEL_F32, ACCEL_F16, ACCEL_BF16, ACCEL_S8, ACCEL_U8, ACCEL_S4, ACCEL_U4
	};
	uint32_t q, k, d;

	for (q = 0; q < 5; q++)
		for (k = 0; k < ARRAY_SIZE(types); k++)
			for (d = 0; d < 5; d++) {
				struct attn_case g = {
					.what = "types", .features = CAUSAL, .q = types[q],
					.k = types[k], .v = types[(k + d) % 7], .d = types[d]
				};

				op_run(env, build, &g, 1000 + 100 * q + 10 * k + d, g.what);
			}
}

static void test_masks(struct op_env *env)
{
	static const struct attn_case table[] = {
		{ .what = "plain" },
		{ .what = "causal", .features = CAUSAL },
		{ .what = "more queries than keys", .features = CAUSAL, .queries = 33,
		  .keys = 5 },
		{ .what = "window", .features = WINDOW },
		{ .what = "causal window", .features = WINDOW | CAUSAL },
		{ .what = "offset", .features = CAUSAL | OFFSET },
		{ .what = "offset window", .features = CAUSAL | OFFSET | WINDOW },
		{ .what = "additive mask", .features = MASK_ADD },
		{ .what = "boolean mask", .features = MASK_BOOL | CAUSAL },
		{ .what = "softcap", .features = SOFTCAP | SCALE },
		{ .what = "slopes", .features = SLOPES | CAUSAL },
		{ .what = "slopes both ways", .features = SLOPES | OFFSET },
		{ .what = "sinks", .features = SINKS | WINDOW | CAUSAL },
		{ .what = "in place", .features = IN_PLACE | CAUSAL },
		{ .what = "layouts", .features = STYLES | MASK_ADD },
		{ .what = "no numbers", .features = ODD_VALUES | CAUSAL },
		{ .what = "no numbers, hidden", .features = ODD_VALUES | MASK_BOOL },
		{ .what = "no numbers, added", .features = ODD_VALUES | MASK_ADD, .keys = 17 },
	};

	run_table(env, table, ARRAY_SIZE(table), 20000);
}

static void test_heads(struct op_env *env)
{
	static const struct attn_case table[] = {
		{ .what = "one head", .kv_heads = 1, .group = 1 },
		{ .what = "multi-query", .kv_heads = 1, .group = 7, .features = CAUSAL },
		{ .what = "grouped", .kv_heads = 3, .group = 4, .features = CAUSAL },
		{ .what = "decode, grouped", .kv_heads = 2, .group = 8, .queries = 1,
		  .features = CAUSAL | STYLES },
		{ .what = "large heads", .head = 1024, .queries = 3, .keys = 70, .batch = 1,
		  .kv_heads = 1, .group = 1 },
		{ .what = "large heads, odd", .head = 577, .queries = 40, .keys = 5, .batch = 1,
		  .kv_heads = 1, .group = 1, .features = CAUSAL },
		{ .what = "many keys", .keys = 1500, .queries = 2, .head = 8, .batch = 1,
		  .kv_heads = 1, .group = 1 },
	};

	run_table(env, table, ARRAY_SIZE(table), 40000);
}

/* Few rows by keys and values of bytes and of bf16, as a step of decoding has them. */
static void test_decode(struct op_env *env)
{
	static const uint32_t types[] = { ACCEL_BF16, ACCEL_S8, ACCEL_U8 };
	static const int64_t heads[] = { 16, 48, 64, 80, 128, 208, 256, 272 };
	static const int64_t keys[] = { 1, 15, 130, 200, 300 };
	static const int64_t groups[] = { 1, 3, 8 };
	uint32_t i;

	for (i = 0; i < (env->small ? 36 : 144); i++) {
		const struct attn_case g = {
			.what = "decode", .queries = 1, .batch = 1,
			.q = i % 5 == 4 ? types[1 + i % 2] : i % 5 ? ACCEL_BF16 : ACCEL_F16,
			.k = types[i % 3], .v = types[i / 3 % 3],
			.d = i % 8 == 7 ? ACCEL_S8 : i % 7 ? ACCEL_F32 : ACCEL_BF16,
			.kv_heads = 1 + i / 8 % 2, .group = groups[i / 9 % 3],
			.head = heads[i % ARRAY_SIZE(heads)],
			.keys = keys[i % ARRAY_SIZE(keys)],
			.quant = i % 4 ? ACCEL_QUANT_GROUP : ACCEL_QUANT_TENSOR,
			.features = (i % 6 == 5 ? ODD_VALUES : 0) |
				    (i % 11 == 10 ? ODD_QUERIES : 0) |
				    (i % 13 == 12 ? SINKS : 0) |
				    (i % 17 == 16 ? WINDOW : 0) |
				    (i % 10 == 9 ? PAGED | LENGTHS : 0),
		};

		op_run(env, build, &g, 50000 + i, g.what);
	}
}

/* Many rows of bf16 and of bytes, with sizes about those of tiles and of blocks of keys. */
static void test_prompts(struct op_env *env)
{
	static const uint32_t types[] = { ACCEL_BF16, ACCEL_S8, ACCEL_BF16, ACCEL_U8 };
	static const int64_t queries[] = { 9, 16, 17, 31, 32, 33, 50 };
	static const int64_t keys[] = { 1, 15, 16, 17, 31, 32, 33, 127, 128, 129, 161 };
	static const int64_t heads[] = { 1, 15, 16, 31, 32, 33, 64, 80 };
	uint32_t i;

	for (i = 0; i < (env->small ? 40 : 176); i++) {
		const struct attn_case g = {
			.what = "prompts", .batch = 1, .q = i % 5 == 4 ? ACCEL_S8 : ACCEL_BF16,
			.k = types[i % 4], .v = types[i / 4 % 4],
			.d = i % 3 ? ACCEL_F32 : ACCEL_BF16, .queries = queries[i % 7],
			.keys = keys[i % 11], .head = heads[i % 8], .kv_heads = 1,
			.group = 1 + i % 3, .quant = i % 6 ? ACCEL_QUANT_GROUP : ACCEL_QUANT_TENSOR,
			.features = (i % 2 ? CAUSAL : 0) | (i % 7 == 3 ? WINDOW : 0) |
				    (i % 9 == 2 ? MASK_ADD : i % 9 == 5 ? MASK_BOOL : 0) |
				    (i % 8 == 1 ? SINKS : 0) | (i % 10 == 6 ? SOFTCAP : 0) |
				    (i % 13 == 4 ? PAGED | LENGTHS : 0) |
				    (i % 13 == 9 ? RAGGED | LENGTHS | KV_RAGGED : 0) |
				    (i % 6 == 5 ? ODD_VALUES : i % 11 == 7 ? SLOPES : 0) |
				    (i % 12 == 10 ? ODD_QUERIES : 0) | (i % 15 == 8 ? STYLES : 0),
		};

		op_run(env, build, &g, 52000 + i, g.what);
	}
}

/* Bytes in and bytes out: what a graph of integers has, many rows and few. */
static void test_bytes(struct op_env *env)
{
	static const int64_t queries[] = { 1, 2, 40, 17 };
	static const int64_t heads[] = { 64, 16, 33, 80 };
	static const uint32_t types[] = { ACCEL_S8, ACCEL_U8, ACCEL_BF16 };
	uint32_t i;

	for (i = 0; i < (env->small ? 24 : 96); i++) {
		const struct attn_case g = {
			.what = "bytes", .q = types[i % 2], .k = types[i / 2 % 3],
			.v = types[i / 4 % 3], .d = types[i / 3 % 2], .batch = 1 + i % 2,
			.queries = queries[i % 4], .keys = i % 5 ? 130 : 63, .kv_heads = 2,
			.group = 1 + i / 5 % 2, .head = heads[i / 4 % 4],
			.quant = i % 3 ? ACCEL_QUANT_TENSOR : ACCEL_QUANT_GROUP,
			.features = (i % 4 == 1 ? CAUSAL : 0) | (i % 7 == 6 ? STYLES : 0) |
				    (i % 5 == 4 ? MASK_ADD : 0) | (i % 9 == 8 ? IN_PLACE : 0) |
				    (i % 11 == 10 ? SCALE : 0) | (i % 6 == 5 ? SINKS : 0),
		};

		op_run(env, build, &g, 55000 + i, g.what);
	}
}

static void test_cache(struct op_env *env)
{
	static const struct attn_case table[] = {
		{ .what = "lengths", .features = LENGTHS | CAUSAL },
		{ .what = "lengths of both", .features = LENGTHS | Q_LENGTHS | CAUSAL },
		{ .what = "pages", .features = PAGED },
		{ .what = "pages, lengths", .features = PAGED | LENGTHS | CAUSAL | STYLES },
		{ .what = "decode", .features = PAGED | LENGTHS | CAUSAL, .queries = 1,
		  .k = ACCEL_S8, .v = ACCEL_S8, .quant = ACCEL_QUANT_GROUP },
		{ .what = "prefill in chunks", .features = PAGED | LENGTHS | Q_LENGTHS | CAUSAL,
		  .queries = 17, .k = ACCEL_S8, .v = ACCEL_F16, .quant = ACCEL_QUANT_GROUP },
		{ .what = "window of pages", .features = PAGED | LENGTHS | CAUSAL | WINDOW },
		{ .what = "ragged", .features = RAGGED | LENGTHS | CAUSAL },
		{ .what = "ragged, pages", .features = RAGGED | LENGTHS | PAGED | CAUSAL },
		{ .what = "few rows and more", .features = RAGGED | LENGTHS | PAGED | CAUSAL,
		  .queries = 5, .group = 4, .head = 64, .k = ACCEL_F16, .v = ACCEL_F16 },
		{ .what = "ragged keys", .features = RAGGED | LENGTHS | KV_RAGGED | CAUSAL |
		  MASK_ADD },
		{ .what = "pieces", .features = PIECES, .queries = 1 },
		{ .what = "pieces of pages", .features = PIECES | PAGED | LENGTHS | CAUSAL |
		  SINKS },
		{ .what = "pieces, ragged", .features = PIECES | RAGGED | LENGTHS | CAUSAL |
		  WINDOW | STYLES },
		{ .what = "scales that are odd", .features = ODD_SCALES | CAUSAL, .batch = 1,
		  .queries = 4, .keys = 200, .kv_heads = 2, .group = 2, .head = 16, .k = ACCEL_S8,
		  .v = ACCEL_S8, .quant = ACCEL_QUANT_GROUP },
	};

	/* With VNNI the products of some of these sequences are those of integers. */
	static const struct attn_case bytes = {
		.features = RAGGED | LENGTHS | CAUSAL, .queries = 12, .keys = 5, .kv_heads = 1,
		.group = 2, .head = 16, .q = ACCEL_F16, .k = ACCEL_F16, .v = ACCEL_S8,
		.d = ACCEL_F32, .quant = ACCEL_QUANT_GROUP,
	};

	run_table(env, table, ARRAY_SIZE(table), 60000);
	op_run(env, build, &bytes, 90005, "few rows and more, of bytes");
}

static void test_random(struct op_env *env)
{
	static const struct attn_case g = { .features = EVERYTHING };

	op_random_cases(env, build, &g, 300, 7);
}

/* A page that is none, and more keys than there is room for: the job fails. */
static void test_lies(struct op_env *env)
{
	static const struct attn_case g = {
		.features = PAGED | LENGTHS | CAUSAL, .batch = 2, .keys = 17, .queries = 2,
		.q = ACCEL_F32, .k = ACCEL_F32, .v = ACCEL_F32, .d = ACCEL_F32
	};
	int64_t first[ACCEL_MAX_RANK] = { 0 };
	struct accel_attention_desc *d;
	struct accel_ctx *ctx;
	uint32_t i;
	int ret;

	/* What a node does with a job that faults has tests of its own. */
	if (strncmp(env->name, "sw", 2) != 0)
		return;
	for (i = 0; i < 3; i++) {
		struct op_case c = { .rng = i, .seed = i };

		/* Its own: what faults may lose its context. */
		assert_int_equal(accel_ctx_create(env->dev, NULL, &ctx), 0);
		c.ctx = ctx;
		d = (struct accel_attention_desc *)build(&c, &g);
		d->hdr.engine = ACCEL_ENGINE_GPU;
		put(&d->lengths, first, i == 2 ? 1000 : 17);
		for (first[1] = d->pages.dims[1]; first[1]-- > 0;)
			put(&d->pages, first, i == 1 && !first[1] ? -1 : 0);
		first[1] = 0;
		ret = accel_run(ctx, &d->hdr);
		if (ret != (i ? -EFAULT : 0))
			fail_msg("table %u: %d", i, ret);
		free(d);
		while (c.bo_count)
			accel_bo_unref(c.bos[--c.bo_count]);
		accel_ctx_destroy(ctx);
	}
}

/* Entries of a page table that no query sees change nothing, whatever they are. */
static void unseen_pages(struct accel_ctx *ctx, uint32_t dtype, int64_t queries, bool beyond)
{
	const int64_t q[] = { 1, queries, 1, 32 }, pool[] = { 60, 4, 1, 32 }, table[] = { 1, 50 };
	const int64_t first = beyond ? 200 : 200 - queries - 5;
	struct accel_attention_desc d = ACCEL_ATTENTION_DESC_INIT;
	struct op_case c = { .ctx = ctx, .rng = 9, .seed = 9 };
	float *got, want[40 * 32];
	int64_t i;

	d.flags = ACCEL_ATTENTION_CAUSAL | ACCEL_ATTENTION_WINDOW;
	d.window_left = 5;
	d.keep = 3;
	if (beyond) {
		d.flags |= ACCEL_ATTENTION_OFFSET;
		d.q_offset = 400;
	}
	c.range = 2;
	op_tensor(&c, &d.q, dtype, 4, q, OP_DENSE);
	op_tensor(&c, &d.k, dtype, 4, pool, OP_DENSE);
	op_tensor(&c, &d.v, dtype, 4, pool, OP_DENSE);
	op_tensor(&c, &d.d, ACCEL_F32, 4, q, OP_DENSE);
	op_tensor(&c, &d.pages, ACCEL_S32, 2, table, OP_DENSE);
	for (i = 0; i < 50; i++)
		put(&d.pages, (int64_t[]) { 0, i }, (double)(7 * i % 60));
	assert_int_equal(accel_run(ctx, &d.hdr), 0);
	got = (float *)((char *)accel_bo_ptr(d.d.bo) + d.d.offset);
	memcpy(want, got, (size_t)queries * 32 * 4);
	for (i = 1; 4 * i + 4 <= first; i++)
		put(&d.pages, (int64_t[]) { 0, i }, i % 2 ? -1 : INT32_MAX);
	assert_int_equal(accel_run(ctx, &d.hdr), 0);
	assert_memory_equal(got, want, (size_t)queries * 32 * 4);
	while (c.bo_count)
		accel_bo_unref(c.bos[--c.bo_count]);
}

static void test_unseen(struct op_env *env)
{
	struct accel_ctx_opts opts = ACCEL_CTX_OPTS_INIT;
	struct accel_ctx *ctx;
	uint32_t i;

	opts.flags = ACCEL_CTX_REPRODUCIBLE;
	assert_int_equal(accel_ctx_create(env->dev, &opts, &ctx), 0);
	for (i = 0; i < 16; i++)
		unseen_pages(i & 1 ? ctx : env->ctx, i & 2 ? ACCEL_BF16 : ACCEL_F32,
			     i & 4 ? 40 : 3, i & 8);
	accel_ctx_destroy(ctx);
}

/* --- scores far from 0 ---------------------------------------------------------------- */

#define FAR_KEYS	150
#define FAR_HEAD	32

/**
 * struct far_case - scores that are all the same, or nearly, and far from 0
 * @low: what the mask adds to each of them; 0: no mask, the scores themselves are so
 * @seen: keys from here on have a mask of nothing
 */
static const struct far_case {
	float low;
	int64_t seen;
} far_cases[] = {
	{ -1e30f, FAR_KEYS }, { -FLT_MAX, FAR_KEYS }, { -1e10f, FAR_KEYS }, { 1e30f, FAR_KEYS },
	{ -3e38f, FAR_KEYS }, { FLT_MAX, FAR_KEYS }, { -1e30f, 140 }, { -FLT_MAX, 140 },
	{ 0, FAR_KEYS },
};

/*
 * A row all of whose keys are as far away as each other is the mean of their values; rows
 * with odd numbers have a mask of nothing, beside it.
 */
static void far_case(struct op_env *env, const struct far_case *f, uint32_t dtype, int64_t queries)
{
	const int64_t q[] = { 1, queries, 1, FAR_HEAD }, k[] = { 1, FAR_KEYS, 1, FAR_HEAD };
	const int64_t m[] = { 1, 1, queries, FAR_KEYS };
	struct accel_attention_desc d = ACCEL_ATTENTION_DESC_INIT;
	struct op_case c = { .ctx = env->ctx, .rng = 5, .seed = 5 };
	int64_t r, j, e;

	op_tensor(&c, &d.q, dtype, 4, q, OP_DENSE);
	op_tensor(&c, &d.k, dtype, 4, k, OP_DENSE);
	op_tensor(&c, &d.v, dtype, 4, k, OP_DENSE);
	op_tensor(&c, &d.d, ACCEL_F32, 4, q, OP_DENSE);
	if (f->low != 0)
		op_tensor(&c, &d.mask, ACCEL_F32, 4, m, OP_DENSE);
	for (r = 0; r < queries; r++) {
		for (e = 0; e < FAR_HEAD; e++)
			put(&d.q, (int64_t[]) { 0, r, 0, e },
			    f->low != 0 ? 0 : r % 2 ? -0x1p60 : 0x1p60);
		for (j = 0; j < FAR_KEYS && f->low != 0; j++)
			put(&d.mask, (int64_t[]) { 0, 0, r, j },
			    r % 2 || j >= f->seen ? 0 : (double)f->low);
	}
	for (j = 0; j < FAR_KEYS; j++)
		for (e = 0; e < FAR_HEAD; e++) {
			put(&d.k, (int64_t[]) { 0, j, 0, e }, f->low != 0 ? 1 : 0x1.8p40);
			put(&d.v, (int64_t[]) { 0, j, 0, e }, (double)(j % 5 + e));
		}
	if (accel_run(env->ctx, &d.hdr))
		fail_msg("%s: mask %g does not run", env->kernels, (double)f->low);
	for (r = 0; r < queries; r++)
		for (e = 0; e < FAR_HEAD; e++) {
			const double got = oracle_load(&d.d, (int64_t[]) { 0, r, 0, e });

			/* 150 keys, and the last ten, alike: each remainder by 5 as often */
			if (!(fabs(got - (double)(2 + e)) <= 0.01 * (double)(2 + e)))
				fail_msg("%s %s: type %u, mask %g up to %d, row %d of %d: %g, not %d",
					 env->name, env->kernels, dtype, (double)f->low,
					 (int)f->seen, (int)r, (int)queries, got, (int)(2 + e));
		}
	while (c.bo_count)
		accel_bo_unref(c.bos[--c.bo_count]);
}

static void test_far(struct op_env *env)
{
	static const int64_t queries[] = { 1, 6, 70 };
	uint32_t i, j;

	for (i = 0; i < ARRAY_SIZE(far_cases); i++)
		for (j = 0; j < ARRAY_SIZE(queries); j++) {
			far_case(env, &far_cases[i], ACCEL_F32, queries[j]);
			far_case(env, &far_cases[i], ACCEL_BF16, queries[j]);
		}
}

/* Sixteen rows after each other, as vectors have them, and the only one not */
static bool falls(int64_t row, int64_t queries)
{
	return (row / 16 + queries) % 2 == 0;
}

/* Each key's score is @step above the one before it, or below. */
static void growing_case(struct op_env *env, double step, uint32_t dtype, int64_t queries,
			 double unit)
{
	const int64_t q[] = { 1, queries, 1, FAR_HEAD }, k[] = { 1, 2 * FAR_KEYS, 1, FAR_HEAD };
	struct accel_attention_desc d = ACCEL_ATTENTION_DESC_INIT;
	struct op_case c = { .ctx = env->ctx, .rng = 6, .seed = 6 };
	double want[FAR_HEAD][2] = { 0 }, sum[2] = { 0 };
	const int64_t last = 2 * FAR_KEYS - 1;
	int64_t r, j, e;

	op_tensor(&c, &d.q, dtype, 4, q, OP_DENSE);
	op_tensor(&c, &d.k, dtype, 4, k, OP_DENSE);
	op_tensor(&c, &d.v, dtype, 4, k, OP_DENSE);
	op_tensor(&c, &d.d, ACCEL_F32, 4, q, OP_DENSE);
	d.flags |= ACCEL_ATTENTION_SCALE;
	d.scale = (float)step;
	for (r = 0; r < queries; r++)
		for (e = 0; e < FAR_HEAD; e++)
			put(&d.q, (int64_t[]) { 0, r, 0, e },
			    e > 1 ? 0 : falls(r, queries) ? -1 : 1);
	for (j = 0; j <= last; j++) {
		/* Two addends that bf16 holds */
		put(&d.k, (int64_t[]) { 0, j, 0, 0 }, (double)(j & ~7));
		put(&d.k, (int64_t[]) { 0, j, 0, 1 }, (double)(j & 7));
		for (e = 0; e < FAR_HEAD; e++)
			put(&d.v, (int64_t[]) { 0, j, 0, e }, unit * (double)(j * 5 % 7 + e));
		for (r = 0; r < 2; r++) {
			const double x = exp(step * (double)(r ? -j : j - last));

			sum[r] += x;
			for (e = 0; e < FAR_HEAD; e++)
				want[e][r] += x * (double)(j * 5 % 7 + e);
		}
	}
	if (accel_run(env->ctx, &d.hdr))
		fail_msg("%s: growing scores do not run", env->kernels);
	for (r = 0; r < queries; r++)
		for (e = 0; e < FAR_HEAD; e++) {
			const double got = oracle_load(&d.d, (int64_t[]) { 0, r, 0, e }) / unit;
			const uint32_t down = falls(r, queries);
			const double is = want[e][down] / sum[down];

			if (!(fabs(got - is) <= 0.005 * (is + 6)))
				fail_msg("%s %s: type %u, steps of %g, row %d of %d: %g, not %g",
					 env->name, env->kernels, dtype, step, (int)r, (int)queries,
					 got, is);
		}
	while (c.bo_count)
		accel_bo_unref(c.bos[--c.bo_count]);
}

static void test_growing(struct op_env *env)
{
	static const double steps[] = { 0.01, 0.04, 0.05, 0.3, 2 };
	static const int64_t queries[] = { 1, 20, 70 };
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(steps) * ARRAY_SIZE(queries); i++) {
		growing_case(env, steps[i / 3], ACCEL_F32, queries[i % 3], 1);
		growing_case(env, steps[i / 3], ACCEL_BF16, queries[i % 3], 1);
		/* Weighted sums are as large as numbers may be, as weights are at most 1. */
		growing_case(env, steps[i / 3], ACCEL_BF16, queries[i % 3], 0x1p114);
	}
}

/**
 * struct hidden_case - some keys hidden by a finite number, left or right of one that is not
 * @keys: keys
 * @hidden: how many of them; all: they count alike
 * @low: what hides them
 * @sink: beside them; 0: none
 */
static const struct hidden_case {
	int64_t keys, hidden;
	float low, sink;
} hidden_cases[] = {
	{ 129, 128, -5e9f, 0 }, { 129, 128, -1e10f, 0 }, { 129, 128, -1e20f, 0 },
	{ 129, 128, -1e30f, 0 }, { 129, 128, -2.3e38f, 0 }, { 129, 128, -FLT_MAX, 0 },
	{ 257, 256, -1e4f, 0 }, { 300, 299, -5e9f, 0 }, { 300, 299, -FLT_MAX, 0 },
	{ 1, 1, -5e9f, 0 }, { 1, 1, -1e12f, 0 }, { 1, 1, -FLT_MAX, 0 },
	{ 200, 200, -5e9f, 0 }, { 200, 200, -FLT_MAX, 0 },
	{ 129, 128, -1e30f, 3e38f }, { 129, 129, -1e30f, 3e38f }, { 1, 1, 0, 3e38f },
	{ 129, 128, -1e30f, -3e38f }, { 130, 130, 3e38f, -3e38f }, { 130, 129, -3e38f, FLT_MIN },
};

/**
 * struct hidden_how - in which of the ways there are
 * @left: at the left, else at the right
 * @high: values of the keys that are hidden
 * @dtype: of queries, keys and values
 * @queries: queries
 * @head: elements of a head
 * @pieces: of the keys; 0: none are asked for
 */
struct hidden_how {
	bool left;
	double high;
	uint32_t dtype;
	int64_t queries, head, pieces;
};

/* What a row is: values are @high where a key is hidden, 2 elsewhere. */
static double hidden_value(const struct hidden_case *h, double high)
{
	const double keys = h->hidden == h->keys ? high : 2;

	/* A sink is far below the keys, far above them, or the same as the one that is seen. */
	return h->sink == 0 || h->sink < -1 ? keys : h->sink > 1 ? 0 : keys / 2;
}

/* Queries are zeros, so the scores are the mask. */
static void hidden_case(struct op_env *env, const struct hidden_case *h,
			const struct hidden_how *how)
{
	const double want = hidden_value(h, how->high);
	const int64_t q[] = { 1, how->queries, 1, how->head }, k[] = { 1, h->keys, 1, how->head };
	const int64_t parts[] = { how->pieces, 1, how->queries, 1, how->head + 2 };
	const int64_t one = 1;
	struct accel_attention_desc d = ACCEL_ATTENTION_DESC_INIT;
	struct op_case c = { .ctx = env->ctx, .rng = 3, .seed = 3 };
	uint64_t n;
	int64_t j, e;

	op_tensor(&c, &d.q, how->dtype, 4, q, OP_DENSE);
	op_tensor(&c, &d.k, how->dtype, 4, k, OP_DENSE);
	op_tensor(&c, &d.v, how->dtype, 4, k, OP_DENSE);
	op_tensor(&c, &d.d, ACCEL_F32, 4, q, OP_DENSE);
	if (h->low != 0)
		op_tensor(&c, &d.mask, ACCEL_F32, 1, &h->keys, OP_DENSE);
	if (h->sink != 0)
		op_tensor(&c, &d.sinks, ACCEL_F32, 1, &one, OP_DENSE);
	if (how->pieces)
		op_tensor(&c, &d.partials, ACCEL_F32, 5, parts, OP_DENSE);
	for (n = 0; n < oracle_count(&d.q); n++) {
		int64_t idx[ACCEL_MAX_RANK];

		oracle_index(&d.q, n, idx);
		put(&d.q, idx, 0);
	}
	for (j = 0; j < h->keys; j++) {
		const bool hide = how->left ? j < h->hidden : j >= h->keys - h->hidden;

		if (d.mask.rank)
			put(&d.mask, &j, hide ? (double)h->low : 0);
		for (e = 0; e < how->head; e++)
			put(&d.v, (int64_t[]) { 0, j, 0, e }, hide ? how->high : 2);
	}
	if (d.sinks.rank)
		put(&d.sinks, (int64_t[]) { 0 }, (double)h->sink);
	if (accel_run(env->ctx, &d.hdr))
		fail_msg("%s: mask %g does not run", env->kernels, (double)h->low);
	for (n = 0; n < oracle_count(&d.d); n++) {
		const double got = ((const float *)accel_bo_ptr(d.d.bo))[d.d.offset / 4 + n];

		if (!(fabs(got - want) <= 0.00001 * want))
			fail_msg("%s %s: type %u, %d of %d keys hidden by %g at the %s, values %g there, sink %g, %d queries, head of %d, %d pieces: %g, not %g",
				 env->name, env->kernels, how->dtype, (int)h->hidden, (int)h->keys,
				 (double)h->low, how->left ? "left" : "right", how->high,
				 (double)h->sink, (int)how->queries, (int)how->head,
				 (int)how->pieces, got, want);
	}
	while (c.bo_count)
		accel_bo_unref(c.bos[--c.bo_count]);
}

static void test_hidden(struct op_env *env)
{
	static const struct hidden_how ways[] = {
		{ .dtype = ACCEL_F32, .queries = 1, .head = 1, .pieces = 0 },
		{ .dtype = ACCEL_F32, .queries = 1, .head = 32, .pieces = 0 },
		{ .dtype = ACCEL_F32, .queries = 70, .head = 16, .pieces = 0 },
		{ .dtype = ACCEL_F32, .queries = 1, .head = 16, .pieces = 3 },
		{ .dtype = ACCEL_F32, .queries = 9, .head = 1, .pieces = 2 },
		{ .dtype = ACCEL_F16, .queries = 1, .head = 1, .pieces = 0 },
		{ .dtype = ACCEL_F16, .queries = 70, .head = 16, .pieces = 0 },
		{ .dtype = ACCEL_F16, .queries = 1, .head = 16, .pieces = 3 },
		{ .dtype = ACCEL_BF16, .queries = 1, .head = 1, .pieces = 0 },
		{ .dtype = ACCEL_BF16, .queries = 70, .head = 16, .pieces = 0 },
		{ .dtype = ACCEL_BF16, .queries = 1, .head = 16, .pieces = 3 },
	};
	uint32_t i, j;

	for (i = 0; i < ARRAY_SIZE(hidden_cases); i++)
		for (j = 0; j < 4 * ARRAY_SIZE(ways); j++) {
			const struct hidden_case *h = &hidden_cases[i];
			struct hidden_how how = ways[j / 4];

			how.left = j & 1;
			how.high = j & 2 ? INFINITY : how.dtype == ACCEL_F16 ? 1024 : 0x1p66;
			/* What has a weight shows. */
			if (isfinite(how.high) || h->hidden < h->keys || h->sink > 1)
				hidden_case(env, h, &how);
		}
}

/* A product that is nearly the largest number there is, and its negative: the key of that one. */
static void test_winner(struct op_env *env)
{
	static const int64_t q[] = { 1, 1, 1, 16 }, k[] = { 1, 140, 1, 16 };
	struct accel_attention_desc d = ACCEL_ATTENTION_DESC_INIT;
	struct op_case c = { .ctx = env->ctx, .rng = 4, .seed = 4 };
	int64_t j, e;

	op_tensor(&c, &d.q, ACCEL_F32, 4, q, OP_DENSE);
	op_tensor(&c, &d.k, ACCEL_F32, 4, k, OP_DENSE);
	op_tensor(&c, &d.v, ACCEL_F32, 4, k, OP_DENSE);
	op_tensor(&c, &d.d, ACCEL_F32, 4, q, OP_DENSE);
	d.flags |= ACCEL_ATTENTION_SCALE;
	d.scale = 1;
	for (e = 0; e < 16; e++)
		put(&d.q, (int64_t[]) { 0, 0, 0, e }, e ? 0 : 1);
	for (j = 0; j < 140; j++)
		for (e = 0; e < 16; e++) {
			put(&d.k, (int64_t[]) { 0, j, 0, e }, j == 133 ? 3.2e38 : -3.2e38);
			put(&d.v, (int64_t[]) { 0, j, 0, e }, (double)j);
		}
	assert_int_equal(accel_run(env->ctx, &d.hdr), 0);
	for (e = 0; e < 16; e++)
		assert_true(oracle_load(&d.d, (int64_t[]) { 0, 0, 0, e }) == 133);
	while (c.bo_count)
		accel_bo_unref(c.bos[--c.bo_count]);
}

/* Masks, sinks, slopes and scores of any magnitude. */
static void test_any_mask(struct op_env *env)
{
	static const struct attn_case g = { .features = EVERYTHING | FAR };
	/* Few queries by keys that get their scale when all is added up */
	static const struct attn_case bytes = {
		.features = FAR, .queries = 1, .q = ACCEL_F32, .k = ACCEL_S8, .v = ACCEL_S8,
		.head = 16, .quant = ACCEL_QUANT_GROUP,
	};

	/* What such a search has found */
	op_run(env, build, &g, 0xf6449d43170136de, "slopes that overflow");
	op_run(env, build, &bytes, 0x2cbcb58a316a3c44, "sums without a scale");
	op_random_cases(env, build, &g, 120, 23);
	op_random_cases(env, build, &bytes, 60, 29);
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "types", test_types },
		{ "scores far from 0", test_far },
		{ "scores that grow", test_growing },
		{ "hidden by a number", test_hidden },
		{ "one winner", test_winner },
		{ "any mask", test_any_mask },
		{ "masks and positions", test_masks },
		{ "heads", test_heads },
		{ "decode", test_decode },
		{ "prompts", test_prompts },
		{ "bytes", test_bytes },
		{ "caches", test_cache },
		{ "tables that lie", test_lies },
		{ "pages that are not seen", test_unseen },
		{ "random", test_random },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
