// SPDX-License-Identifier: MIT
/*
 * The operations, an element at a time.
 */
#include <math.h>
#include <stdlib.h>

#include "oracle.h"

/* Rounding to binary32: half a unit in the last place, relative: 2^-24 */
#define U	(1.0 / (1 << 24))
/* Smallest binary32: what underflow may cost: 2^-149 */
#define TINY	((double)__FLT_DENORM_MIN__)

static struct oracle_num round_step(struct oracle_num x)
{
	x.e += (fabs(x.v) + x.e) * U + TINY;
	return x;
}

static struct oracle_num add(struct oracle_num x, double y)
{
	x.v += y;
	return round_step(x);
}

static struct oracle_num mul(struct oracle_num x, double y)
{
	x.v *= y;
	x.e *= fabs(y);
	return round_step(x);
}

/*
 * @v is f(x), f moves by at most @slope times what x moves by, and is computed
 * to @units of U: the table of Documentation/numerics.rst.
 */
static struct oracle_num func(struct oracle_num x, double v, double slope,
			      double units)
{
	double e = x.e * slope;

	/* A limit is reached or not. */
	if (!isfinite(v))
		return (struct oracle_num){ v, 0 };
	return (struct oracle_num){
		v, e + (fabs(v) + e) * units * U + TINY
	};
}

static double clamp(double v, double lo, double hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

static struct oracle_num activation(struct oracle_num x,
				    const struct accel_epilogue *epi)
{
	double v = x.v, p0 = epi->p0, p1 = epi->p1, u;

	if (isnan(v))
		return x;
	switch (epi->act) {
	case ACCEL_ACT_RELU:
		x.v = v > 0 ? v : 0;
		return x;
	case ACCEL_ACT_CLAMP:
		x.v = clamp(v, p0, p1);
		return x;
	case ACCEL_ACT_LEAKY_RELU:
		if (x.e == 0) {
			x.v = v < 0 ? (float)(p0 * v) : v;
			return x;
		}
		x.v = v < 0 ? p0 * v : v;
		x.e *= fabs(p0) > 1 ? fabs(p0) : 1;
		return round_step(x);
	case ACCEL_ACT_SIGMOID:
		return func(x, 1 / (1 + exp(-v)), 0.25, 5);
	case ACCEL_ACT_TANH:
		return func(x, tanh(v), 1, 4);
	case ACCEL_ACT_GELU:
		x.e += 32 * TINY;
		return func(x, v == -INFINITY ? 0 : v * 0.5 * erfc(-v * M_SQRT1_2),
			    1.13, 12);
	case ACCEL_ACT_GELU_TANH:
		/* Far below zero the error of the exponent is that of the result. */
		u = sqrt(2 / M_PI) * (v + 0.044715 * v * v * v);
		v = x.v == -INFINITY ? 0 : x.v / (1 + exp(-2 * u));
		x.e += 32 * TINY;
		if (x.v < 0 && isfinite(x.v))
			x.e += fabs(v) * fabs(u) / sqrt(2 / M_PI) * 8 * U;
		return func(x, v, 1.13, 8);
	case ACCEL_ACT_SILU:
		x.e += 128 * TINY;
		return func(x, v == -INFINITY ? 0 : v / (1 + exp(-v)), 1.13, 6);
	case ACCEL_ACT_HARD_SIGMOID:
		x.e = x.e * fabs(p0) + (fabs(p0 * v) + fabs(p1) + 1) * 2 * U + TINY;
		x.v = clamp(p0 * v + p1, 0, 1);
		if (isinf(v))
			x.e = 0;
		return x;
	case ACCEL_ACT_HARD_SWISH:
		x.v = v == -INFINITY ? 0 : v * clamp(v / 6 + 0.5, 0, 1);
		/* The sum is rounded when it may be near 0, times v. */
		if (isfinite(v))
			x.e = x.e * 1.5 + (fabs(v) * 2 + fabs(x.v) * 4) * U + TINY;
		return x;
	default:
		return x;
	}
}

/* Index of @t for an index of @d: trailing dimensions match or are 1. */
static void broadcast_index(const struct accel_tensor *t,
			    const struct accel_tensor *d, const int64_t *idx,
			    int64_t *out)
{
	uint32_t i, pad = d->rank - t->rank;

	for (i = 0; i < t->rank; i++)
		out[i] = t->dims[i] == 1 ? 0 : idx[pad + i];
}

static double load_broadcast(const struct accel_tensor *t,
			     const struct accel_tensor *d, const int64_t *idx)
{
	int64_t at[ACCEL_MAX_RANK];

	broadcast_index(t, d, idx, at);
	return oracle_load(t, at);
}

static int64_t load_int_broadcast(const struct accel_tensor *t,
				  const struct accel_tensor *d, const int64_t *idx)
{
	int64_t at[ACCEL_MAX_RANK];

	if (!t->rank)
		return 0;
	broadcast_index(t, d, idx, at);
	return oracle_load_int(t, at);
}

/* --- GEMM ----------------------------------------------------------------------- */

/**
 * struct matrices - A or B, every element read once
 * @v: values, row-major as stored
 * @i: integers without their zero points, or NULL
 * @row: distance between rows of the matrix that is multiplied
 * @col: between columns
 */
struct matrices {
	double *v;
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
	int64_t idx[ACCEL_MAX_RANK];
	uint32_t r = t->rank;

	m->row = trans ? 1 : t->dims[r - 1];
	m->col = trans ? t->dims[r - 1] : 1;
	m->v = integer ? NULL : calloc(count + 1, sizeof(*m->v));
	m->i = integer ? calloc(count + 1, sizeof(*m->i)) : NULL;
	if (!m->v && !m->i)
		return -1;
	for (n = 0; n < count; n++) {
		oracle_index(t, n, idx);
		if (integer)
			m->i[n] = oracle_load_int(t, idx) -
				  zero_of(t, trans ? idx[r - 2] : idx[r - 1]);
		else
			m->v[n] = oracle_load(t, idx);
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
 */
struct gemm_state {
	const struct accel_gemm_desc *g;
	struct matrices a;
	struct matrices b;
	int64_t k;
};

static int64_t exact_product(const struct gemm_state *s, const int64_t *idx)
{
	const struct accel_gemm_desc *g = s->g;
	uint32_t r = g->d.rank;
	const int64_t *a, *b;
	int64_t sum = 0, i;

	if (!s->a.i || !s->b.i)
		return 0;
	a = s->a.i + matrix_at(&g->a, &g->d, idx) + idx[r - 2] * s->a.row;
	b = s->b.i + matrix_at(&g->b, &g->d, idx) + idx[r - 1] * s->b.col;
	for (i = 0; i < s->k; i++)
		sum += a[i * s->a.col] * b[i * s->b.row];
	return sum;
}

static struct oracle_num float_product(const struct gemm_state *s,
				       const int64_t *idx, double *mags)
{
	const struct accel_gemm_desc *g = s->g;
	uint32_t r = g->d.rank;
	const double *a = s->a.v + matrix_at(&g->a, &g->d, idx) +
			  idx[r - 2] * s->a.row;
	const double *b = s->b.v + matrix_at(&g->b, &g->d, idx) +
			  idx[r - 1] * s->b.col;
	double sum = 0, mag = 0, p;
	int64_t i;

	for (i = 0; i < s->k; i++) {
		p = a[i * s->a.col] * b[i * s->b.row];
		sum += p;
		mag += fabs(p);
	}
	*mags = mag > *mags ? mag : *mags;
	/* A rounding for each product and each sum, in whatever order. */
	return (struct oracle_num){ sum, mag * (double)(s->k + 1) * U * 1.001 +
				     (double)s->k * TINY };
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
	int64_t v = exact_product(s, idx);

	if (g->beta != 0)
		v += load_int_broadcast(g->c.rank ? &g->c : &g->d, &g->d, idx);
	v += load_int_broadcast(&epi->bias, &g->d, idx);
	v += load_int_broadcast(&epi->residual, &g->d, idx);
	if (epi->act == ACCEL_ACT_RELU && v < 0)
		v = 0;
	v += load_int_broadcast(&epi->residual_post, &g->d, idx);
	return v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v;
}

static struct oracle_num gemm_float(const struct gemm_state *s,
				    const int64_t *idx, double *mags)
{
	const struct accel_gemm_desc *g = s->g;
	const struct accel_epilogue *epi = &g->epilogue;
	const struct accel_tensor *d = &g->d;
	struct oracle_num x;

	if (g->a.dtype <= ACCEL_BF16) {
		x = float_product(s, idx, mags);
	} else {
		x.v = (double)exact_product(s, idx);
		x.e = 0;
		x = mul(round_step(x), product_scale(g, idx));
		/* The product of the scales is rounded too. */
		x = round_step(x);
	}
	/* Even an exact sum is bounded, not known: its order is open. */
	x.e += TINY;
	if (g->flags & ACCEL_GEMM_ALPHA)
		x = mul(x, g->alpha);
	if (g->beta != 0) {
		double c = g->beta * load_broadcast(g->c.rank ? &g->c : d, d, idx);

		x.e += fabs(c) * U;
		x = add(x, c);
	}
	if (epi->scale.rank)
		x = mul(x, load_broadcast(&epi->scale, d, idx));
	if (epi->bias.rank)
		x = add(x, load_broadcast(&epi->bias, d, idx));
	if (epi->residual.rank)
		x = add(x, load_broadcast(&epi->residual, d, idx));
	x = activation(x, epi);
	if (epi->residual_post.rank)
		x = add(x, load_broadcast(&epi->residual_post, d, idx));
	return x;
}

/* --- elementwise ------------------------------------------------------------------ */

static struct oracle_num unary(double x, uint32_t f)
{
	struct oracle_num in = { x, 0 };

	switch (f) {
	case ACCEL_UNARY_ABS:
		in.v = fabs(x);
		return in;
	case ACCEL_UNARY_NEG:
		in.v = -x;
		return in;
	case ACCEL_UNARY_SQRT:
		in.v = (float)sqrt(x);
		return in;
	case ACCEL_UNARY_RSQRT:
		return func(in, 1 / sqrt(x), 0, 3);
	case ACCEL_UNARY_RECIP:
		in.v = (float)(1 / x);
		return in;
	case ACCEL_UNARY_EXP:
		return func(in, exp(x), 0, 3);
	case ACCEL_UNARY_LOG:
		return func(in, log(x), 0, 3);
	case ACCEL_UNARY_ERF:
		return func(in, erf(x), 0, 4);
	case ACCEL_UNARY_SQUARE:
		in.v = (float)(x * x);
		return in;
	case ACCEL_UNARY_FLOOR:
		in.v = floor(x);
		return in;
	case ACCEL_UNARY_CEIL:
		in.v = ceil(x);
		return in;
	case ACCEL_UNARY_ROUND:
		in.v = nearbyint(x);
		return in;
	default:
		return in;
	}
}

/* Each is a single operation of binary32: rounded once, so known. */
static struct oracle_num binary(double a, double b, uint32_t f)
{
	struct oracle_num x = { 0, 0 };

	switch (f) {
	case ACCEL_BINARY_ADD:
		x.v = (float)(a + b);
		break;
	case ACCEL_BINARY_SUB:
		x.v = (float)(a - b);
		break;
	case ACCEL_BINARY_MUL:
		x.v = (float)(a * b);
		break;
	case ACCEL_BINARY_DIV:
		x.v = (float)(a / b);
		break;
	case ACCEL_BINARY_MAX:
		x.v = isnan(a) || isnan(b) ? NAN : a > b ? a : b;
		break;
	default:
		x.v = isnan(a) || isnan(b) ? NAN : a < b ? a : b;
		break;
	}
	return x;
}

static int64_t binary_exact(int64_t a, int64_t b, uint32_t f)
{
	switch (f) {
	case ACCEL_BINARY_ADD:
		return a + b;
	case ACCEL_BINARY_SUB:
		return a - b;
	case ACCEL_BINARY_MUL:
		return a * b;
	case ACCEL_BINARY_MAX:
		return a > b ? a : b;
	default:
		return a < b ? a : b;
	}
}

static bool plain_int(const struct accel_tensor *t)
{
	return t->dtype > ACCEL_BF16 && !t->quant.scheme;
}

static bool plain_s32(const struct accel_tensor *t)
{
	return t->dtype == ACCEL_S32 && !t->quant.scheme;
}

/* --- all of them --------------------------------------------------------------------- */

static const struct accel_tensor *result_of(const struct accel_desc *desc)
{
	switch (desc->op) {
	case ACCEL_OP_GEMM:
		return &((const struct accel_gemm_desc *)desc)->d;
	case ACCEL_OP_COPY:
		return &((const struct accel_copy_desc *)desc)->d;
	case ACCEL_OP_FILL:
		return &((const struct accel_fill_desc *)desc)->d;
	case ACCEL_OP_UNARY:
		return &((const struct accel_unary_desc *)desc)->d;
	default:
		return &((const struct accel_binary_desc *)desc)->d;
	}
}

/* Formed in integers from beginning to end? */
static bool is_exact(const struct accel_desc *desc)
{
	const struct accel_gemm_desc *g = (const void *)desc;
	const struct accel_copy_desc *c = (const void *)desc;
	const struct accel_binary_desc *b = (const void *)desc;

	switch (desc->op) {
	case ACCEL_OP_GEMM:
		return g->d.dtype == ACCEL_S32;
	case ACCEL_OP_COPY:
		return plain_int(&c->a) && plain_int(&c->d);
	case ACCEL_OP_FILL:
		return result_of(desc)->dtype > ACCEL_BF16;
	case ACCEL_OP_BINARY:
		return plain_s32(&b->a) && plain_s32(&b->b) && plain_s32(&b->d);
	default:
		return false;
	}
}

static int64_t saturate(int64_t v, uint32_t dtype)
{
	static const int64_t lo[] = {
		[ACCEL_S32] = INT32_MIN, [ACCEL_S8] = -128, [ACCEL_U8] = 0,
		[ACCEL_S4] = -8, [ACCEL_U4] = 0
	}, hi[] = {
		[ACCEL_S32] = INT32_MAX, [ACCEL_S8] = 127, [ACCEL_U8] = 255,
		[ACCEL_S4] = 7, [ACCEL_U4] = 15
	};

	return v < lo[dtype] ? lo[dtype] : v > hi[dtype] ? hi[dtype] : v;
}

static int64_t element_exact(const struct accel_desc *desc, const int64_t *idx)
{
	const struct accel_copy_desc *c = (const void *)desc;
	const struct accel_fill_desc *f = (const void *)desc;
	const struct accel_binary_desc *b = (const void *)desc;
	int64_t v;

	if (desc->op == ACCEL_OP_COPY)
		return saturate(load_int_broadcast(&c->a, &c->d, idx), c->d.dtype);
	if (desc->op == ACCEL_OP_FILL)
		return saturate((int64_t)clamp(nearbyint(f->value), -1e18, 1e18),
				f->d.dtype);
	v = saturate(binary_exact(load_int_broadcast(&b->a, &b->d, idx),
				  load_int_broadcast(&b->b, &b->d, idx), b->func),
		     ACCEL_S32);
	return b->epilogue.act == ACCEL_ACT_RELU && v < 0 ? 0 : v;
}

static struct oracle_num element(const struct accel_desc *desc, const int64_t *idx)
{
	const struct accel_copy_desc *c = (const void *)desc;
	const struct accel_fill_desc *f = (const void *)desc;
	const struct accel_unary_desc *u = (const void *)desc;
	const struct accel_binary_desc *b = (const void *)desc;

	switch (desc->op) {
	case ACCEL_OP_COPY:
		return (struct oracle_num){ load_broadcast(&c->a, &c->d, idx), 0 };
	case ACCEL_OP_FILL:
		return (struct oracle_num){ f->value, 0 };
	case ACCEL_OP_UNARY:
		return activation(unary(load_broadcast(&u->a, &u->d, idx), u->func),
				  &u->epilogue);
	default:
		return activation(binary(load_broadcast(&b->a, &b->d, idx),
					 load_broadcast(&b->b, &b->d, idx), b->func),
				  &b->epilogue);
	}
}

static int gemm_begin(struct gemm_state *s, const struct accel_desc *desc)
{
	const struct accel_gemm_desc *g = (const void *)desc;
	bool ta = g->flags & ACCEL_GEMM_TRANS_A, tb = g->flags & ACCEL_GEMM_TRANS_B;
	bool integer = g->a.dtype > ACCEL_BF16;

	s->g = g;
	s->k = g->a.dims[g->a.rank - (ta ? 2 : 1)];
	return matrices_read(&s->a, &g->a, ta, integer) ||
	       matrices_read(&s->b, &g->b, tb, integer) ? -1 : 0;
}

static void gemm_end(struct gemm_state *s)
{
	free(s->a.v);
	free(s->a.i);
	free(s->b.v);
	free(s->b.i);
}

int oracle_compute(const struct accel_desc *desc, struct oracle_result *r)
{
	const struct accel_tensor *d = result_of(desc);
	int64_t idx[ACCEL_MAX_RANK];
	bool exact = is_exact(desc), gemm = desc->op == ACCEL_OP_GEMM;
	struct gemm_state s = { 0 };
	uint64_t n;

	*r = (struct oracle_result){ .count = oracle_count(d) };
	if (exact)
		r->exact = calloc(r->count + 1, sizeof(*r->exact));
	else
		r->num = calloc(r->count + 1, sizeof(*r->num));
	if ((!r->exact && !r->num) || (gemm && gemm_begin(&s, desc))) {
		gemm_end(&s);
		return -1;
	}
	for (n = 0; n < r->count; n++) {
		oracle_index(d, n, idx);
		if (r->exact)
			r->exact[n] = gemm ? gemm_exact(&s, idx) :
					     element_exact(desc, idx);
		else
			r->num[n] = gemm ? gemm_float(&s, idx, &r->sums) :
					   element(desc, idx);
	}
	gemm_end(&s);
	return 0;
}
