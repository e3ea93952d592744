// SPDX-License-Identifier: MIT
/*
 * Matrix products, an element at a time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "libaccel/tests/ops/optest.h"

#define U	ORACLE_U
#define TINY	ORACLE_TINY

/**
 * struct matrices - A or B, every element read once
 * @v: values, row-major as stored
 * @min: what is a sum has added to its product, or NULL
 * @i: integers without their zero points, or NULL
 * @row: distance between rows of the matrix that is multiplied
 * @col: between columns
 */
struct matrices {
	double *v;
	double *min;
	int64_t *i;
	int64_t row;
	int64_t col;
};

static int64_t zero_of(const struct accel_tensor *t, int64_t col)
{
	const struct accel_quant *q = &t->quant;

	if (q->scheme == ACCEL_QUANT_TENSOR)
		return q->zero;
	if (!q->zeros)
		return 0;
	return ((int32_t *)((char *)accel_bo_ptr(q->zeros) + q->zeros_offset))[col];
}

static int matrices_read(struct matrices *m, const struct accel_tensor *t,
			 bool trans, bool integer)
{
	uint64_t count = oracle_count(t), n;
	int64_t idx[ACCEL_MAX_RANK] = { 0 };
	uint32_t r = t->rank;

	m->row = trans ? 1 : t->dims[r - 1];
	m->col = trans ? t->dims[r - 1] : 1;
	m->v = integer ? NULL : calloc(count + 1, sizeof(*m->v));
	m->i = integer ? calloc(count + 1, sizeof(*m->i)) : NULL;
	if (!integer && (t->dtype > ACCEL_U4 || t->quant.scheme == ACCEL_QUANT_GROUP_MIN))
		m->min = calloc(count + 1, sizeof(*m->min));
	if (!m->v && !m->i)
		return -1;
	for (n = 0; n < count; n++, oracle_next(t, idx)) {
		if (integer)
			m->i[n] = oracle_load_int(t, idx) -
				  zero_of(t, trans ? idx[r - 2] : idx[r - 1]);
		else
			m->v[n] = oracle_load(t, idx);
		if (m->min)
			m->min[n] = oracle_load_min(t, idx);
	}
	return 0;
}

/* Where the matrix for an index of D starts. */
static int64_t matrix_at(const struct accel_tensor *t, const struct accel_tensor *d,
			 const int64_t *idx)
{
	int64_t n = 0;
	uint32_t i;

	for (i = 0; i + 2 < t->rank; i++)
		n = n * t->dims[i] +
		    (t->dims[i] == 1 ? 0 : idx[d->rank - t->rank + i]);
	return n * t->dims[t->rank - 2] * t->dims[t->rank - 1];
}

/**
 * struct gemm_state - a GEMM in progress
 * @g: as it was described
 * @m: with vectors as matrices of one row or one column
 * @at: the index of D at hand, of the latter
 * @plain: values of A that may be rounded to bf16, with B, instead of bytes; or NULL
 */
struct gemm_state {
	const struct accel_gemm_desc *g;
	struct accel_gemm_desc m;
	int64_t at[ACCEL_MAX_RANK + 1];
	struct matrices a;
	struct matrices b;
	double *plain;
	int64_t k;
};

/* The matrix of B that a row of D has; -1: none. Which of its rows that is goes to @own. */
static int64_t expert_of(const struct accel_gemm_desc *g, int64_t row, int64_t *own)
{
	int64_t left = g->d.dims[0], e, count;

	for (e = 0, *own = row; e < g->rows.dims[0]; e++) {
		count = oracle_load_int(&g->rows, &e);
		count = count < 0 ? 0 : count > left ? left : count;
		if (*own < count)
			return e;
		*own -= count;
		left -= count;
	}
	return -1;
}

/* Where the matrix of B for an index of D starts. */
static int64_t right_at(const struct accel_gemm_desc *g, const int64_t *idx)
{
	int64_t own;

	return g->rows.rank ? expert_of(g, idx[0], &own) * g->b.dims[1] * g->b.dims[2] :
			      matrix_at(&g->b, &g->d, idx);
}

/* What is multiplied or added, of the matrix where that has its own. */
static double side_value(const struct accel_gemm_desc *g, const struct accel_tensor *t,
			 const int64_t *idx)
{
	int64_t at[3], own;

	if (!g->rows.rank || t->rank < 3)
		return oracle_load_broadcast(t, &g->d, idx);
	at[0] = expert_of(g, idx[0], &own);
	at[1] = 0;
	at[2] = t->dims[2] == 1 ? 0 : idx[1];
	return oracle_load(t, at);
}

static int64_t exact_product(const struct gemm_state *s, const int64_t *idx)
{
	const struct accel_gemm_desc *g = &s->m;
	uint32_t r = g->d.rank;
	const int64_t *a, *b;
	int64_t sum = 0, i;

	if (!s->a.i || !s->b.i)
		return 0;
	a = s->a.i + matrix_at(&g->a, &g->d, idx) + idx[r - 2] * s->a.row;
	b = s->b.i + right_at(g, idx) + idx[r - 1] * s->b.col;
	for (i = 0; i < s->k; i++)
		sum += a[i * s->a.col] * b[i * s->b.row];
	return sum;
}

/* @of: values of A */
static struct oracle_num product_of(const struct gemm_state *s, const double *of,
				    const int64_t *idx, double *mags)
{
	const struct accel_gemm_desc *g = &s->m;
	uint32_t r = g->d.rank;
	const bool bf16 = g->a.dtype == ACCEL_BF16 || of == s->plain;
	const double *a = of + matrix_at(&g->a, &g->d, idx) +
			  idx[r - 2] * s->a.row;
	const double *b = s->b.v + right_at(g, idx) +
			  idx[r - 1] * s->b.col;
	const bool mins = g->b.quant.scheme == ACCEL_QUANT_GROUP_MIN;
	const double *min = s->b.min && (mins || g->a.dtype > ACCEL_BF16 || g->a_group) ?
			    s->b.min + (b - s->b.v) : NULL;
	double sum = 0, mag = 0, finite = 0, operands = 0, largest = 0, p, e;
	bool large = false;
	int64_t i;

	for (i = 0; i < s->k; i++) {
		p = a[i * s->a.col] * b[i * s->b.row];
		sum += p;
		mag += fabs(p);
		finite += isfinite(p) ? fabs(p) : 0;
		large |= isfinite(a[i * s->a.col]) && fabs(a[i * s->a.col]) > (double)__FLT_MAX__;
		/* Number and minimum may be multiplied one by one. */
		if (min)
			mag += 2 * fabs(a[i * s->a.col] * min[i * s->b.row]);
	}
	*mags = mag > *mags ? mag : *mags;
	/* Infinite operands; what stands for bytes may be multiplied in parts, of any sign. */
	if (!isfinite(sum) && g->b.dtype <= ACCEL_BF16 &&
	    (isnan(sum) || finite <= (double)__FLT_MAX__))
		return (struct oracle_num){ sum, 0 };
	/* The largest byte stands for a number that binary32 may not have. */
	if (large)
		return (struct oracle_num){ sum, INFINITY };
	/* A sum of numbers of either sign may overflow on its way, in one order or another. */
	if (finite * 1.001 > (double)__FLT_MAX__ && !(fabs(sum) >= mag * 0.999))
		return (struct oracle_num){ sum, INFINITY };
	/* A rounding for each product and each sum, in whatever order. */
	e = mag * (double)(s->k + 1) * U * 1.001 + (double)s->k * TINY;
	/* Either operand rounded to nearest, to eight bits */
	if (of == s->plain)
		e += mag * 1.003 / 128;
	/* What a stored number stands for is rounded: once of a byte, for either operand. */
	if (g->a.quant.scheme || g->a_group || mins)
		e += mag * 3 * U;
	/* Pairs of bf16 lose subnormal elements, products and sums before scales. */
	for (i = 0; i < s->k && bf16; i++) {
		operands += fabs(a[i * s->a.col]) + fabs(b[i * s->b.row]);
		largest = fmax(largest, fabs(b[i * s->b.row]));
	}
	if (bf16)
		e += (operands + 2 * (double)s->k * fmax(largest, 1)) * (double)__FLT_MIN__;
	return (struct oracle_num){ sum, e };
}

/* What is known if it is one of two. */
static struct oracle_num either(struct oracle_num x, struct oracle_num y)
{
	const double lo = fmin(x.v - x.e, y.v - y.e), hi = fmax(x.v + x.e, y.v + y.e);

	if (!isfinite(x.v) && !isfinite(y.v))
		return isnan(x.v) == isnan(y.v) ? x : (struct oracle_num){ 0, INFINITY };
	if (!isfinite(lo) || !isfinite(hi))
		return (struct oracle_num){ 0, INFINITY };
	return (struct oracle_num){ lo / 2 + hi / 2, hi / 2 - lo / 2 };
}

static struct oracle_num float_product(const struct gemm_state *s, const int64_t *idx, double *mags)
{
	const struct oracle_num x = product_of(s, s->a.v, idx, mags);

	return s->plain ? either(x, product_of(s, s->plain, idx, mags)) : x;
}

/* Scale of an integer product: that of A times that of the column of B. */
static double product_scale(const struct accel_gemm_desc *g, const int64_t *idx)
{
	const struct accel_quant *q = &g->b.quant;
	double s = g->a.quant.scheme ? g->a.quant.scale : 1;
	const char *table;
	int64_t col = idx[g->d.rank - 1];

	if (q->scheme == ACCEL_QUANT_TENSOR)
		return s * q->scale;
	if (q->scheme == ACCEL_QUANT_NONE)
		return s;
	table = (const char *)accel_bo_ptr(q->scales) + q->scales_offset;
	if (q->scale_dtype == ACCEL_F16)
		return s * oracle_f16_value(((const uint16_t *)table)[col]);
	return s * ((const float *)table)[col];
}

static int64_t gemm_exact(const struct gemm_state *s, const int64_t *idx)
{
	const struct accel_gemm_desc *g = s->g;
	const struct accel_epilogue *epi = &g->epilogue;
	int64_t v = exact_product(s, s->at);

	if (g->beta != 0)
		v += oracle_load_int_broadcast(g->c.rank ? &g->c : &g->d, &g->d, idx);
	v += g->rows.rank && epi->bias.rank > 2 ? (int64_t)side_value(g, &epi->bias, idx) :
	     oracle_load_int_broadcast(&epi->bias, &g->d, idx);
	v += oracle_load_int_broadcast(&epi->residual, &g->d, idx);
	if (epi->act == ACCEL_ACT_RELU && v < 0)
		v = 0;
	v += oracle_load_int_broadcast(&epi->residual_post, &g->d, idx);
	return v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v;
}

static struct oracle_num gemm_float(const struct gemm_state *s,
				    const int64_t *idx, double *mags)
{
	const struct accel_gemm_desc *g = s->g;
	const struct accel_epilogue *epi = &g->epilogue;
	const struct accel_tensor *d = &g->d;
	struct oracle_num x;

	if (!s->a.i) {
		x = float_product(s, s->at, mags);
	} else {
		x.v = (double)exact_product(s, s->at);
		x.e = 0;
		x = oracle_mul(oracle_step(x), product_scale(&s->m, s->at));
		/* The product of the scales is rounded too. */
		x = oracle_step(x);
	}
	/* Even an exact sum is bounded, not known: its order is open. */
	x.e += TINY;
	if (g->flags & ACCEL_GEMM_ALPHA)
		x = oracle_mul(x, g->alpha);
	if (g->beta != 0) {
		double c = g->beta * oracle_load_broadcast(g->c.rank ? &g->c : d, d, idx);

		c = isinf(oracle_round(c, ACCEL_F32)) ? copysign(INFINITY, c) : c;
		x.e += isfinite(c) ? fabs(c) * U : 0;
		x = oracle_add(x, c);
	}
	if (epi->scale.rank)
		x = oracle_mul(x, side_value(g, &epi->scale, idx));
	if (epi->bias.rank)
		x = oracle_add(x, side_value(g, &epi->bias, idx));
	if (epi->residual.rank)
		x = oracle_add(x, oracle_load_broadcast(&epi->residual, d, idx));
	x = oracle_activation(x, epi);
	if (epi->residual_post.rank)
		x = oracle_add(x, oracle_load_broadcast(&epi->residual_post, d, idx));
	return x;
}

static void insert_dim(int64_t *dims, uint32_t rank, uint32_t at, int64_t value)
{
	uint32_t i;

	for (i = rank; i > at; i--)
		dims[i] = dims[i - 1];
	dims[at] = value;
}

/* Where M or N is put into the dimensions of D, its rank if nowhere. */
static uint32_t missing(const struct accel_gemm_desc *g)
{
	return g->a.rank == 1 ? g->d.rank - 1 : g->d.rank;
}

static void widen(struct accel_tensor *t, uint32_t at)
{
	oracle_strides(t, t->strides);
	t->flags |= ACCEL_TENSOR_STRIDES;
	insert_dim(t->dims, t->rank, at, 1);
	insert_dim(t->strides, t->rank, at, 0);
	t->quant.axis += t->quant.scheme >= ACCEL_QUANT_CHANNEL && t->quant.axis >= at;
	t->rank++;
}

/* Rows of A as the bytes that they become, in binary32 as the definition has it. */
static void round_rows(struct matrices *m, const struct accel_tensor *t, int64_t k, uint32_t group)
{
	const uint64_t lines = k ? oracle_count(t) / (uint64_t)k : 0;
	uint64_t line;
	int64_t i, j;

	for (line = 0; line < lines && m->v; line++) {
		/* Lines along K: rows as stored, or columns of each matrix. */
		const uint64_t rows = m->col <= 1 ? 1 : (uint64_t)m->col;
		double *x = m->v + (m->col == 1 ? line * (uint64_t)k :
				    line / rows * rows * (uint64_t)k + line % rows);

		for (i = 0; i < k; i += group) {
			const int64_t end = i + group < k ? i + group : k;
			float scale = 0, q;

			for (j = i; j < end; j++) {
				q = fabsf((float)x[j * m->col]);
				scale = isnan(q) || isnan(scale) ? NAN : fmaxf(scale, q);
			}
			scale /= 127;
			if (scale == 0)
				scale = 1;
			for (j = i; j < end; j++) {
				q = rintf((float)x[j * m->col] / scale);
				q = isnan(q) ? 0 : fmaxf(-128, fminf(127, q));
				/* Beyond binary32, too: see float_product(). */
				x[j * m->col] = (double)q * (double)scale;
			}
		}
	}
}

static int gemm_begin(struct gemm_state *s, const struct accel_desc *desc)
{
	const struct accel_gemm_desc *g = (const void *)desc;
	bool ta = g->flags & ACCEL_GEMM_TRANS_A, tb = g->flags & ACCEL_GEMM_TRANS_B;
	/* Scales that differ along a sum, or from row to row, make it one of numbers. */
	bool integer = g->a.dtype > ACCEL_BF16 && g->a.quant.scheme <= ACCEL_QUANT_TENSOR &&
		       g->b.quant.scheme < ACCEL_QUANT_GROUP && g->b.dtype <= ACCEL_U4;

	s->g = g;
	s->m = *g;
	if (g->a.rank == 1 || g->b.rank == 1)
		widen(&s->m.d, missing(g));
	if (g->a.rank == 1)
		widen(&s->m.a, 0);
	if (g->b.rank == 1)
		widen(&s->m.b, 1);
	g = &s->m;
	s->k = g->a.dims[g->a.rank - (ta ? 2 : 1)];
	if (matrices_read(&s->a, &g->a, ta, integer) || matrices_read(&s->b, &g->b, tb, integer))
		return -1;
	if (g->flags & ACCEL_GEMM_BF16) {
		const uint64_t count = oracle_count(&g->a);

		s->plain = calloc(count + 1, sizeof(*s->plain));
		if (!s->plain)
			return -1;
		memcpy(s->plain, s->a.v, count * sizeof(*s->plain));
	}
	if (g->a_group)
		round_rows(&s->a, &g->a, s->k, g->a_group);
	return 0;
}

static void gemm_end(struct gemm_state *s)
{
	free(s->plain);
	free(s->a.min);
	free(s->b.min);
	free(s->a.v);
	free(s->a.i);
	free(s->b.v);
	free(s->b.i);
}

static int compute(const struct accel_desc *desc, uint32_t index, struct oracle_result *r)
{
	const struct accel_tensor *d = &((const struct accel_gemm_desc *)desc)->d;
	int64_t idx[ACCEL_MAX_RANK] = { 0 };
	struct gemm_state s = { 0 };
	int64_t own;
	uint64_t n;
	int ret;

	(void)index;
	ret = oracle_begin(r, d, d->dtype == ACCEL_S32);
	if (!ret)
		ret = gemm_begin(&s, desc);
	for (n = 0; !ret && n < r->count; n++, oracle_next(d, idx)) {
		memcpy(s.at, idx, sizeof(idx));
		/* Rows that no matrix has stay what they are. */
		if (s.g->rows.rank && expert_of(s.g, idx[0], &own) < 0) {
			if (r->exact)
				r->exact[n] = oracle_load_int(d, idx);
			else
				r->num[n].v = oracle_load(d, idx);
			continue;
		}
		if (s.m.d.rank > d->rank)
			insert_dim(s.at, d->rank, missing(s.g), 0);
		if (r->exact)
			r->exact[n] = gemm_exact(&s, idx);
		else
			r->num[n] = gemm_float(&s, idx, &r->sums);
	}
	gemm_end(&s);
	return ret;
}

static const struct accel_tensor *result(const struct accel_desc *desc, uint32_t index)
{
	return index ? NULL : &((const struct accel_gemm_desc *)desc)->d;
}

static void say(const struct accel_desc *desc, char *buf, size_t size)
{
	const struct accel_gemm_desc *g = (const void *)desc;

	op_say_text(buf, size, " flags %u alpha %g beta %g", g->flags, (double)g->alpha,
		    (double)g->beta);
	op_say_tensor("a", &g->a, buf, size);
	op_say_tensor("b", &g->b, buf, size);
	op_say_tensor("c", &g->c, buf, size);
	op_say_tensor("d", &g->d, buf, size);
	op_say_tensor("rows", &g->rows, buf, size);
	op_say_epilogue(&g->epilogue, buf, size);
}

const struct oracle_op oracle_gemm = {
	.result = result, .compute = compute, .say = say,
};
