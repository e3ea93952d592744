// SPDX-License-Identifier: MIT
/*
 * Matrix products: the table of types, shapes, layouts, batches, epilogues,
 * quantisation, packed weights; then whatever comes up. In one file, for all of
 * them share how a case is made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "libaccel/tests/guest.h"
#include "optest.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Multiply-adds of a random case, at most: the oracle is slow */
#define MAX_MACS	100000

enum batch {
	BATCH_NONE,
	BATCH_BOTH,		/* A and B alike */
	BATCH_B_SHARED,		/* B without batch */
	BATCH_A_SHARED,		/* A of one matrix */
	BATCH_CROSSED,		/* [x, 1] by [1, y] */
	BATCH_THREE,		/* rank 5 */
	BATCHES
};

/* A or B is a vector */
#define VECTOR_A	1
#define VECTOR_B	2

/**
 * struct gemm_case - a product; -1: at random; @far: some zero points no number has;
 * @experts: matrices, each with some of the rows
 */
struct gemm_case {
	const char *what;
	int a, b, d;
	int64_t m, n, k;
	int flags;
	int batch;
	int engine;
	int a_quant, b_quant, d_quant, group, zeros;
	int a_style, b_style, d_style;
	int epilogue;
	int vector;
	bool far;
	uint32_t a_group;
	uint32_t experts;
};

#define ANY	-1
/* An epilogue that multiplies by a matrix, whatever else it does */
#define GATE	2
#define RANDOM	.a_quant = ANY, .b_quant = ANY, .d_quant = ANY, .group = ANY, \
		.zeros = ANY, .a_style = ANY, .b_style = ANY, .d_style = ANY
#define PLAIN	.a_quant = ANY, .b_quant = ANY, .d_quant = ANY, .group = ANY, \
		.zeros = ANY

/* Every combination of &struct accel_gemm_desc. */
static const struct {
	uint8_t a, b, d;
} types[] = {
	{ ACCEL_F32, ACCEL_F32, ACCEL_F32 }, { ACCEL_F32, ACCEL_F32, ACCEL_F16 },
	{ ACCEL_F32, ACCEL_F32, ACCEL_BF16 },
	{ ACCEL_F16, ACCEL_F16, ACCEL_F16 }, { ACCEL_F16, ACCEL_F16, ACCEL_F32 },
	{ ACCEL_BF16, ACCEL_BF16, ACCEL_BF16 },
	{ ACCEL_BF16, ACCEL_BF16, ACCEL_F32 },
	{ ACCEL_S8, ACCEL_S8, ACCEL_S32 }, { ACCEL_S8, ACCEL_S8, ACCEL_F32 },
	{ ACCEL_S8, ACCEL_S8, ACCEL_F16 }, { ACCEL_S8, ACCEL_S8, ACCEL_BF16 },
	{ ACCEL_S8, ACCEL_S8, ACCEL_S8 }, { ACCEL_S8, ACCEL_S8, ACCEL_U8 },
	{ ACCEL_U8, ACCEL_S8, ACCEL_S32 }, { ACCEL_U8, ACCEL_S8, ACCEL_F32 },
	{ ACCEL_U8, ACCEL_S8, ACCEL_F16 }, { ACCEL_U8, ACCEL_S8, ACCEL_BF16 },
	{ ACCEL_U8, ACCEL_S8, ACCEL_S8 }, { ACCEL_U8, ACCEL_S8, ACCEL_U8 },
	{ ACCEL_S8, ACCEL_U8, ACCEL_S32 }, { ACCEL_S8, ACCEL_U8, ACCEL_F32 },
	{ ACCEL_S8, ACCEL_U8, ACCEL_F16 }, { ACCEL_S8, ACCEL_U8, ACCEL_BF16 },
	{ ACCEL_S8, ACCEL_U8, ACCEL_S8 }, { ACCEL_S8, ACCEL_U8, ACCEL_U8 },
	{ ACCEL_U8, ACCEL_U8, ACCEL_S32 }, { ACCEL_U8, ACCEL_U8, ACCEL_F32 },
	{ ACCEL_U8, ACCEL_U8, ACCEL_F16 }, { ACCEL_U8, ACCEL_U8, ACCEL_BF16 },
	{ ACCEL_U8, ACCEL_U8, ACCEL_S8 }, { ACCEL_U8, ACCEL_U8, ACCEL_U8 },
	{ ACCEL_F32, ACCEL_S8, ACCEL_F32 },
	{ ACCEL_F16, ACCEL_S8, ACCEL_F16 }, { ACCEL_F16, ACCEL_S8, ACCEL_F32 },
	{ ACCEL_BF16, ACCEL_S8, ACCEL_BF16 }, { ACCEL_BF16, ACCEL_S8, ACCEL_F32 },
	{ ACCEL_F32, ACCEL_S4, ACCEL_F32 },
	{ ACCEL_F16, ACCEL_S4, ACCEL_F16 }, { ACCEL_F16, ACCEL_S4, ACCEL_F32 },
	{ ACCEL_BF16, ACCEL_S4, ACCEL_BF16 }, { ACCEL_BF16, ACCEL_S4, ACCEL_F32 },
	{ ACCEL_F32, ACCEL_U4, ACCEL_F32 },
	{ ACCEL_F16, ACCEL_U4, ACCEL_F16 }, { ACCEL_F16, ACCEL_U4, ACCEL_F32 },
	{ ACCEL_BF16, ACCEL_U4, ACCEL_BF16 }, { ACCEL_BF16, ACCEL_U4, ACCEL_F32 },
	{ ACCEL_S8, ACCEL_S4, ACCEL_S32 }, { ACCEL_S8, ACCEL_S4, ACCEL_F32 },
	{ ACCEL_S8, ACCEL_S4, ACCEL_F16 }, { ACCEL_S8, ACCEL_S4, ACCEL_BF16 },
	{ ACCEL_S8, ACCEL_S4, ACCEL_S8 }, { ACCEL_S8, ACCEL_S4, ACCEL_U8 },
	{ ACCEL_S8, ACCEL_U4, ACCEL_S32 }, { ACCEL_S8, ACCEL_U4, ACCEL_F32 },
	{ ACCEL_S8, ACCEL_U4, ACCEL_F16 }, { ACCEL_S8, ACCEL_U4, ACCEL_BF16 },
	{ ACCEL_S8, ACCEL_U4, ACCEL_S8 }, { ACCEL_S8, ACCEL_U4, ACCEL_U8 },
	{ ACCEL_U8, ACCEL_S4, ACCEL_S32 }, { ACCEL_U8, ACCEL_S4, ACCEL_F32 },
	{ ACCEL_U8, ACCEL_S4, ACCEL_F16 }, { ACCEL_U8, ACCEL_S4, ACCEL_BF16 },
	{ ACCEL_U8, ACCEL_S4, ACCEL_S8 }, { ACCEL_U8, ACCEL_S4, ACCEL_U8 },
	{ ACCEL_U8, ACCEL_U4, ACCEL_S32 }, { ACCEL_U8, ACCEL_U4, ACCEL_F32 },
	{ ACCEL_U8, ACCEL_U4, ACCEL_F16 }, { ACCEL_U8, ACCEL_U4, ACCEL_BF16 },
	{ ACCEL_U8, ACCEL_U4, ACCEL_S8 }, { ACCEL_U8, ACCEL_U4, ACCEL_U8 },
	{ ACCEL_F32, ACCEL_F16, ACCEL_F32 }, { ACCEL_F32, ACCEL_BF16, ACCEL_F32 },
	{ ACCEL_F32, ACCEL_F16, ACCEL_BF16 }, { ACCEL_F32, ACCEL_BF16, ACCEL_F16 },
};

static bool is_float(int dtype)
{
	return dtype <= ACCEL_BF16;
}

static int pick(struct op_case *c, int wanted, int count)
{
	int random = (int)op_below(c, (uint32_t)count);

	return wanted == ANY ? random : wanted;
}

/* --- shapes -------------------------------------------------------------------- */

/**
 * struct shape - dimensions of a case
 * @rank: of the result
 * @batch: of the result
 */
struct shape {
	int64_t m, n, k;
	uint32_t rank;
	int64_t batch[3];
};

static void choose_shape(struct op_case *c, const struct gemm_case *g, int batch,
			 struct shape *s)
{
	static const uint32_t batch_rank[BATCHES] = { 0, 1, 1, 1, 2, 3 };
	int64_t macs;
	uint32_t i;

	s->rank = 2 + batch_rank[batch];
	for (i = 0; i < 3; i++)
		s->batch[i] = 1 + op_below(c, c->small ? 2 : 4);
	s->m = g->m == ANY ? op_dim(c) : g->m;
	s->n = g->n == ANY ? op_dim(c) : g->n;
	s->k = g->k == ANY ? op_dim(c) * (1 + op_below(c, 3)) : g->k;
	if (g->m == ANY && !op_below(c, 40))
		s->m = 0;
	if (g->n == ANY && !op_below(c, 40))
		s->n = 0;
	if (g->k == ANY && !op_below(c, 30))
		s->k = 0;
	/*
	 * Keep the oracle's time: fewer matrices of a given size, if not all is run, or the
	 * longest side.
	 */
	for (;;) {
		macs = s->m * s->n * s->k;
		for (i = 0; i + 2 < s->rank; i++)
			macs *= s->batch[i];
		if (macs <= (c->small ? MAX_MACS / 10 : MAX_MACS) ||
		    (g->m != ANY && test_every() == 1))
			break;
		if (g->m != ANY) {
			for (i = 0; i < 3 && s->batch[i] == 1; i++)
				;
			if (i == 3)
				break;
			s->batch[i]--;
			continue;
		}
		if (s->m >= s->n && s->m >= s->k)
			s->m = (s->m + 1) / 2;
		else if (s->n >= s->k)
			s->n = (s->n + 1) / 2;
		else
			s->k = (s->k + 1) / 2;
	}
}

/* Dimensions of A (@side 0) or B (@side 1). */
static uint32_t side_dims(const struct shape *s, int batch, int side, bool trans,
			  int64_t *dims)
{
	int64_t row = side ? s->k : s->m, col = side ? s->n : s->k;
	uint32_t r = 0, i;

	switch (batch) {
	case BATCH_B_SHARED:
		if (!side)
			dims[r++] = s->batch[0];
		break;
	case BATCH_A_SHARED:
		dims[r++] = side ? s->batch[0] : 1;
		break;
	case BATCH_CROSSED:
		dims[r++] = side ? 1 : s->batch[0];
		dims[r++] = side ? s->batch[1] : 1;
		break;
	default:
		for (i = 0; i + 2 < s->rank; i++)
			dims[r++] = s->batch[i];
		break;
	}
	dims[r++] = trans ? col : row;
	dims[r++] = trans ? row : col;
	return r;
}

/* --- quantisation ------------------------------------------------------------------ */

static void quantise_sides(struct op_case *c, const struct gemm_case *g,
			   struct accel_gemm_desc *d, const struct shape *s)
{
	bool tb = d->flags & ACCEL_GEMM_TRANS_B, exact = d->d.dtype == ACCEL_S32;
	bool weights = is_float((int)d->a.dtype) && !is_float((int)d->b.dtype);
	uint32_t r = d->b.rank, scheme;
	bool zeros = pick(c, g->zeros, 2);
	uint32_t group = 16u << pick(c, g->group, 4);
	double root = 1;

	while (root * root < (double)s->k)
		root++;
	if (!is_float((int)d->a.dtype)) {
		bool ta = d->flags & ACCEL_GEMM_TRANS_A;

		scheme = (uint32_t)pick(c, g->a_quant, exact || d->a.rank < 2 ? 2 : 4);
		op_quantise(c, &d->a, scheme, scheme < 2 ? 0 :
			    d->a.rank - (ta == (scheme == ACCEL_QUANT_CHANNEL) ? 1 : 2), group,
			    0.02, zeros);
		if (exact && scheme)
			d->a.quant.scale = 1;
	}
	if (is_float((int)d->b.dtype))
		return;
	scheme = weights ? 1 + (uint32_t)pick(c, g->b_quant, ACCEL_QUANT_COUNT - 1) :
			   (uint32_t)pick(c, g->b_quant, exact ? 2 : ACCEL_QUANT_COUNT);
	/* A vector has one column. */
	if (r == 1) {
		scheme = scheme == ACCEL_QUANT_CHANNEL || !weights ? ACCEL_QUANT_TENSOR : scheme;
		r = 2;
	}
	op_quantise(c, &d->b, scheme, scheme == ACCEL_QUANT_CHANNEL ?
		    (tb ? r - 2 : r - 1) : (tb ? r - 1 : r - 2), group,
		    d->b.dtype >= ACCEL_S4 ? 0.1 : 0.01, zeros);
	if (exact && scheme)
		d->b.quant.scale = 1;
	if (d->d.dtype == ACCEL_S8 || d->d.dtype == ACCEL_U8)
		op_quantise(c, &d->d, (uint32_t)pick(c, g->d_quant, 2), 0, 0,
			    (d->a.quant.scheme && d->b.quant.scheme ? 0.03 : 50) *
			    root, zeros);
}

/* --- epilogue ------------------------------------------------------------------------ */

/* What is added or multiplied, of a shape that broadcasts to D. */
static void add_operand(struct op_case *c, struct accel_tensor *t,
			const struct accel_gemm_desc *d, bool whole)
{
	static const uint8_t floats[] = {
		ACCEL_F32, ACCEL_F16, ACCEL_BF16, ACCEL_S32, ACCEL_S8
	};
	uint32_t dtype = floats[op_below(c, 5)], rank, i;
	int64_t dims[ACCEL_MAX_RANK];

	/* int32 is for products of integers. */
	if (dtype == ACCEL_S32 && is_float((int)d->a.dtype))
		dtype = ACCEL_F32;
	if (d->d.dtype == ACCEL_S32)
		dtype = ACCEL_S32;
	rank = whole ? d->d.rank : 1 + op_below(c, d->d.rank);
	for (i = 0; i < rank; i++) {
		dims[i] = d->d.dims[d->d.rank - rank + i];
		if (!whole && dims[i] && !op_below(c, 3))
			dims[i] = 1;
	}
	op_tensor(c, t, dtype, rank, dims, (enum op_style)op_below(c, OP_STYLES));
	if (d->d.dtype != ACCEL_S32 && (dtype == ACCEL_S8 || dtype == ACCEL_S32))
		op_quantise(c, t, ACCEL_QUANT_TENSOR, 0, 0,
			    dtype == ACCEL_S8 ? 0.01 : 0.00001, dtype == ACCEL_S8);
}

static void add_epilogue(struct op_case *c, struct accel_gemm_desc *d)
{
	bool exact = d->d.dtype == ACCEL_S32;
	uint32_t parts = op_below(c, 32), i;

	if ((parts & 1) && !exact) {
		d->flags |= ACCEL_GEMM_ALPHA;
		d->alpha = (float)op_uniform(c, -2, 2);
	}
	if (parts & 2) {
		d->beta = exact ? 1 : (float)op_uniform(c, -2, 2);
		if (op_below(c, 2)) {
			add_operand(c, &d->c, d, true);
			/* The batch of C may be broadcast. */
			for (i = 0; i + 2 < d->c.rank && !d->c.flags; i++)
				if (!op_below(c, 2))
					d->c.dims[i] = 1;
		}
	}
	if ((parts & 4) && !exact)
		add_operand(c, &d->epilogue.scale, d, false);
	if (parts & 8)
		add_operand(c, &d->epilogue.bias, d, false);
	if (parts & 16)
		add_operand(c, op_below(c, 2) ? &d->epilogue.residual :
			    &d->epilogue.residual_post, d, op_below(c, 2));
	op_activation(c, &d->epilogue, exact);
}

/* --- building -------------------------------------------------------------------------- */

static enum op_style pick_style(struct op_case *c, int wanted, uint32_t dtype,
				bool output)
{
	int n = output ? OP_REPEATED : OP_STYLES;
	int style = op_below(c, 2) ? OP_DENSE : (int)op_below(c, (uint32_t)n);

	(void)dtype;
	return (enum op_style)(wanted == ANY ? style : wanted);
}

/* Tables of zero points hold any s32. */
static void send_far(struct op_case *c, struct accel_quant *q)
{
	static const int32_t far[] = { INT32_MIN, INT32_MAX, 300, -300, INT32_MIN + 100, 1 << 30 };
	int32_t *zero;

	if (!q->zeros)
		return;
	zero = (int32_t *)((char *)accel_bo_ptr(q->zeros) + q->zeros_offset);
	*zero = far[op_below(c, ARRAY_SIZE(far))];
}

/* B as a stack; rows as a router gives them, or as a hostile table has them. */
static void add_experts(struct op_case *c, const struct gemm_case *g, struct accel_gemm_desc *d,
			int64_t *dims)
{
	static const int32_t hostile[] = { -1, INT32_MIN, INT32_MAX, 1 << 30, 1000 };
	const int64_t experts = g->experts, m = d->a.dims[d->flags & ACCEL_GEMM_TRANS_A ? 1 : 0];
	const bool bad = !op_below(c, 4);
	int64_t stride, i;
	int32_t *rows;

	dims[2] = dims[1];
	dims[1] = dims[0];
	dims[0] = experts;
	op_tensor(c, &d->rows, ACCEL_S32, 1, &experts, (enum op_style)op_below(c, OP_REPEATED));
	rows = (int32_t *)((char *)accel_bo_ptr(d->rows.bo) + d->rows.offset);
	stride = d->rows.flags & ACCEL_TENSOR_STRIDES ? d->rows.strides[0] : 1;
	for (i = 0; i < experts; i++)
		rows[i * stride] = bad && !op_below(c, 3) ? hostile[op_below(c, 5)] :
				   !op_below(c, 3) ? 0 :
				   (int32_t)op_below(c, (uint32_t)(2 * m / experts + 2));
}

/* Scale and bias are sometimes the matrices' own. */
static void own_sides(struct op_case *c, struct accel_gemm_desc *d)
{
	struct accel_tensor *side[] = { &d->epilogue.scale, &d->epilogue.bias };
	int64_t dims[3] = { d->b.dims[0], 1, d->d.dims[1] };
	uint32_t i;

	for (i = 0; i < 2; i++) {
		if (!side[i]->rank || op_below(c, 2))
			continue;
		*side[i] = (struct accel_tensor)ACCEL_TENSOR_INIT;
		op_tensor(c, side[i], d->d.dtype == ACCEL_S32 ? ACCEL_S32 : ACCEL_F32, 3, dims,
			  (enum op_style)op_below(c, OP_REPEATED));
	}
}

static const struct accel_desc *build(struct op_case *c, const void *arg)
{
	struct accel_gemm_desc *d = calloc(1, sizeof(*d));
	const struct gemm_case *g = arg;
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t type, r, i;
	struct shape s = { 0 };
	int batch;

	assert_non_null(d);
	*d = (struct accel_gemm_desc)ACCEL_GEMM_DESC_INIT;
	type = op_below(c, ARRAY_SIZE(types));
	d->flags = (uint32_t)(g->flags == ANY ? (int)op_below(c, 4) : g->flags);
	if (g->flags == ANY && !op_below(c, 4))
		d->flags |= ACCEL_GEMM_PACK_B;
	d->a_group = g->a_group;
	batch = pick(c, g->batch, BATCHES);
	choose_shape(c, g, batch, &s);
	if (g->vector & VECTOR_A) {
		d->flags &= ~ACCEL_GEMM_TRANS_A;
		s.m = 1;
	}
	if (g->vector & VECTOR_B) {
		d->flags &= ~ACCEL_GEMM_TRANS_B;
		s.n = 1;
	}
	r = side_dims(&s, batch, 0, d->flags & ACCEL_GEMM_TRANS_A, dims);
	if (g->vector & VECTOR_A) {
		dims[0] = s.k;
		r = 1;
	}
	op_tensor(c, &d->a, g->a == ANY ? types[type].a : (uint32_t)g->a, r, dims,
		  pick_style(c, g->a_style, d->a.dtype, false));
	r = side_dims(&s, batch, 1, d->flags & ACCEL_GEMM_TRANS_B, dims);
	if (g->vector & VECTOR_B) {
		dims[0] = s.k;
		r = 1;
	}
	if (g->experts) {
		add_experts(c, g, d, dims);
		r = 3;
	}
	op_tensor(c, &d->b, g->b == ANY ? types[type].b : (uint32_t)g->b, r, dims,
		  pick_style(c, g->b_style, d->b.dtype, false));
	for (i = 0; i + 2 < s.rank; i++)
		dims[i] = s.batch[i];
	dims[s.rank - 2] = s.m;
	dims[s.rank - 1] = s.n;
	if (g->vector) {
		if (g->vector & VECTOR_A)
			dims[s.rank - 2] = s.n;
		s.rank--;
	}
	op_tensor(c, &d->d, g->d == ANY ? types[type].d : (uint32_t)g->d, s.rank,
		  dims, pick_style(c, g->d_style, d->d.dtype, true));
	quantise_sides(c, g, d, &s);
	if (g->far) {
		/* What is left are sums of integers, with scales of rows. */
		if (d->a.quant.scheme == ACCEL_QUANT_CHANNEL && op_below(c, 2)) {
			d->a.quant.zeros = NULL;
			d->a.quant.zeros_offset = 0;
		}
		send_far(c, &d->a.quant);
		send_far(c, &d->b.quant);
	}
	/* Two of four, where B is held and has an element for each index. */
	if ((d->flags & ACCEL_GEMM_PACK_B) && op_below(c, 2) && !d->b.quant.zero &&
	    !d->b.quant.zeros &&
	    !op_prune24(c, &d->b, d->b.rank == 1 ? 0 : d->b.rank -
			   (d->flags & ACCEL_GEMM_TRANS_B ? 1 : 2)))
		d->flags |= ACCEL_GEMM_SPARSE_B;
	if (g->epilogue)
		add_epilogue(c, d);
	if (g->epilogue == GATE)
		add_operand(c, &d->epilogue.scale, d, true);
	if (g->experts)
		own_sides(c, d);
	d->hdr.engine = g->engine == ANY ?
		(op_below(c, 2) ? 0 : op_below(c, ACCEL_ENGINE_COUNT)) :
		(uint32_t)g->engine;
	return &d->hdr;
}

/* --- tests ------------------------------------------------------------------------------- */

static void run_case(struct op_env *env, const struct gemm_case *g, uint64_t seed)
{
	char what[128];

	snprintf(what, sizeof(what), "%s %s x %s -> %s, %lld x %lld x %lld, flags %d",
		 g->what, accel_dtype_name((uint32_t)g->a),
		 accel_dtype_name((uint32_t)g->b), accel_dtype_name((uint32_t)g->d),
		 (long long)g->m, (long long)g->n, (long long)g->k, g->flags);
	op_run(env, build, g, seed, what);
}

/* Each combination of types, at sizes around the blocks of the engines. */
static void test_types(struct op_env *env)
{
	static const int64_t sizes[][3] = {
		{ 1, 1, 1 }, { 3, 5, 7 }, { 17, 33, 20 }, { 70, 66, 65 }
	};
	uint32_t i, j, engine;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		for (j = 0; j < (env->small ? 3 : ARRAY_SIZE(sizes)); j++)
			for (engine = 0; engine < ACCEL_ENGINE_COUNT; engine++) {
				struct gemm_case g = {
					"types", types[i].a, types[i].b, types[i].d,
					sizes[j][0], sizes[j][1], sizes[j][2],
					.flags = (int)(i + engine) % 4,
					.engine = (int)engine, PLAIN,
					.epilogue = j == 1,
				};

				run_case(env, &g, 100 * i + j);
			}
}

/* Larger than any tile, in each direction; tall, flat, and products of vectors. */
static void test_shapes(struct op_env *env)
{
	static const int64_t sizes[][3] = {
		{ 1, 300, 70 }, { 300, 1, 70 }, { 1, 1, 1000 }, { 130, 140, 3 },
		{ 67, 129, 255 }, { 2, 3, 1500 }, { 0, 5, 5 }, { 5, 0, 5 },
		{ 5, 6, 0 }, { 0, 0, 0 }, { 260, 33, 17 }, { 33, 520, 9 },
	};
	static const uint8_t some[] = { 0, 3, 5, 7, 17, 25, 36, 43, 70, 71 };
	uint32_t i, j, flags;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (j = 0; j < ARRAY_SIZE(some); j++)
			for (flags = 0; flags < 4; flags++) {
				struct gemm_case g = {
					"shapes", types[some[j]].a, types[some[j]].b,
					types[some[j]].d, sizes[i][0], sizes[i][1],
					sizes[i][2], .flags = (int)flags, PLAIN,
				};

				if (env->small && sizes[i][0] * sizes[i][1] *
				    sizes[i][2] > 20000)
					continue;
				if (flags != (i + j) % 4 && sizes[i][2] > 200)
					continue;
				run_case(env, &g, 1000 + 100 * i + j);
			}
}

static void test_batches(struct op_env *env)
{
	uint32_t i, batch, flags;

	for (i = 0; i < ARRAY_SIZE(types); i += 3)
		for (batch = 0; batch < BATCHES; batch++)
			for (flags = 0; flags < 16; flags += flags == 3 ? 5 : 1) {
				struct gemm_case g = {
					"batches", types[i].a, types[i].b,
					types[i].d, 5, 6, 34, .flags = (int)flags,
					.batch = (int)batch, RANDOM, .epilogue = 1,
				};

				run_case(env, &g, 5000 + 100 * i + 10 * batch + flags);
			}
}

static void test_quantised(struct op_env *env)
{
	static const uint8_t some[] = { 31, 32, 34, 36, 37, 38, 39, 41, 43, 45 };
	uint32_t i, scheme, group, v;

	for (i = 0; i < ARRAY_SIZE(some); i++)
		for (scheme = 0; scheme < 4; scheme++)
			for (group = 0; group < (scheme >= 2 ? 5 : 1); group++)
				/* With 48 columns tables have whole vectors. */
				for (v = 0; v < 16; v++) {
					struct gemm_case g = {
						"quantised", types[some[i]].a,
						types[some[i]].b, types[some[i]].d,
						v & 8 ? 1 + 3 * (int)group : 3, v & 8 ? 48 : 18,
						150, .b_quant = (int)scheme,
						.group = (int)group, .zeros = v & 1,
						.flags = (v & 2) | (v & 4 ? 8 : 0),
						.batch = v % 3 == 2 ? BATCH_B_SHARED : 0,
					};

					run_case(env, &g, 9000 + 100 * i + 16 * group + v +
						 (scheme == 3 ? 50000 : 0));
				}
}

/* Rows or groups of bytes, with zero points that no kernel for bytes can take. */
static void test_far(struct op_env *env)
{
	static const uint8_t right[] = { ACCEL_S8, ACCEL_U8, ACCEL_S4, ACCEL_U4 };
	static const int64_t rows[] = { 1, 7, 30, 37, 90 };
	uint32_t i, v;

	for (i = 0; i < ARRAY_SIZE(right); i++)
		for (v = 0; v < 24; v++) {
			struct gemm_case g = {
				"far zero points", v & 1 ? ACCEL_U8 : ACCEL_S8, right[i], ACCEL_F32,
				v & 2 ? 1 : 21, v & 4 ? 48 : 18, 150,
				.a_quant = v & 8 ? ACCEL_QUANT_GROUP : ACCEL_QUANT_CHANNEL,
				.b_quant = v & 16 ? ACCEL_QUANT_GROUP : ACCEL_QUANT_CHANNEL,
				.group = 1, .zeros = 1,
				.flags = v & 4 ? 8 : 0, .far = true,
			};

			run_case(env, &g, 12000 + 100 * i + v);
			/* Numbers that are rounded to bytes */
			if (right[i] == ACCEL_U8)
				continue;
			g.a = ACCEL_F32 + (int)v % 3;
			g.a_quant = 0;
			g.b_quant--;
			g.a_group = 16u << v % 4;
			run_case(env, &g, 13000 + 100 * i + v);
		}
	/* Sums of integers; only columns have zero points. Few rows, or many, some with scales */
	for (i = 0; i < ARRAY_SIZE(right); i++)
		for (v = 0; v < 80; v++) {
			struct gemm_case g = {
				"far zero points of columns", v & 1 ? ACCEL_U8 : ACCEL_S8,
				right[i], ACCEL_F32, rows[v / 16], v & 2 ? 48 : 70, 150,
				.a_quant = v & 4 ? ACCEL_QUANT_CHANNEL : ACCEL_QUANT_TENSOR,
				.b_quant = ACCEL_QUANT_CHANNEL, .zeros = 1,
				.flags = (v & 2 ? ACCEL_GEMM_PACK_B : 0) |
					 (v & 8 ? ACCEL_GEMM_TRANS_B : 0),
				.experts = v % 7 == 6 ? 3 : 0, .far = true,
			};

			run_case(env, &g, 14000 + 100 * i + v);
		}
}

/*
 * Weights that lie along K, whole runs of 16 bytes of them or not, by bytes with scales and by
 * numbers that are rounded to such; shapes on all sides of what kernels take at once.
 */
static void test_along(struct op_env *env)
{
	static const uint8_t right[] = { ACCEL_S8, ACCEL_U8, ACCEL_S4, ACCEL_U4 };
	static const int depth[] = { 32, 96, 80, 160, 1056, 2080, 4160 }, rows[] = { 1, 5, 38 };
	uint32_t i, k, v;

	for (i = 0; i < ARRAY_SIZE(right); i++)
		for (k = 0; k < ARRAY_SIZE(depth); k++)
			for (v = 0; v < 24; v++) {
				const bool round = v % 8 > 4 && (right[i] != ACCEL_U8);
				const int groups = (v / 2 + k) % 2 ? ACCEL_QUANT_GROUP :
								     ACCEL_QUANT_GROUP_MIN;
				struct gemm_case g = {
					"along K",
					round ? (int)(v % 3) + 1 : v & 1 ? ACCEL_U8 : ACCEL_S8,
					right[i], ACCEL_F32,
					rows[(v + k) % 3],
					v & 2 ? 64 : 45, depth[k],
					.a_quant = v & 8 ? ACCEL_QUANT_GROUP : ACCEL_QUANT_CHANNEL,
					/* Weights by numbers always have scales. */
					.b_quant = (v & 16 ? groups : ACCEL_QUANT_CHANNEL) - round,
					.group = (int)(v + i) % 4, .zeros = v % 5 == 4,
					.flags = (v % 7 ? 2 : v & 4 ? 8 : 0) |
						 (round && k % 2 ? ACCEL_GEMM_BF16 : 0),
					.batch = v % 11 == 10 ? BATCH_BOTH : 0,
					.a_group = round ? 16u << (v + k) % 4 : 0,
				};

				if (env->small && (v + k) % 5)
					continue;
				/* Long sums: few rows and some more, if not all is run */
				if (depth[k] > 2000 && test_every() > 1 && g.m > 11)
					g.m = 11;
				run_case(env, &g, 15000 + 1000 * i + 30 * k + v);
			}
	/* Rows of one number by positive ones: no error of rounding cancels another. */
	for (v = 0; v < 6; v++) {
		struct gemm_case g = {
			"rows of one number", ACCEL_F32, ACCEL_U4, ACCEL_F32, 40, 16, 64,
			.b_quant = ACCEL_QUANT_CHANNEL - 1, .flags = ACCEL_GEMM_BF16,
			.a_style = OP_REPEATED, .a_group = 32,
		};

		run_case(env, &g, 19500 + v);
	}
}

/* The alternatives of the epilogue: each random, so many. */
static void test_epilogues(struct op_env *env)
{
	struct gemm_case g = {
		"epilogues", ANY, ANY, ANY, 7, 19, 21, .flags = ANY, .batch = ANY,
		.engine = 0, PLAIN, .epilogue = 1,
	};

	op_random_cases(env, build, &g, 250, 77);
}

/* Bytes with a scale for each row, and a factor for each element: few rows, many, matrices. */
static void test_gates(struct op_env *env)
{
	static const uint8_t right[] = { ACCEL_S8, ACCEL_U8, ACCEL_S4 };
	static const uint8_t results[] = { ACCEL_F32, ACCEL_BF16, ACCEL_F16, ACCEL_S8 };
	static const int rows[] = { 1, 3, 9, 40, 130 }, columns[] = { 48, 33, 130 };
	uint32_t v;

	for (v = 0; v < (env->small ? 30 : 120); v++) {
		struct gemm_case g = {
			"row scales and a gate", v & 1 ? ACCEL_U8 : ACCEL_S8, right[v / 2 % 3],
			results[v / 3 % 4], rows[v % 5], columns[v / 5 % 3], v % 7 ? 96 : 131,
			.a_quant = ACCEL_QUANT_CHANNEL, .b_quant = (int)(v / 4 % 3),
			.d_quant = 1, .zeros = v % 11 == 10, .epilogue = GATE,
			.flags = (v & 2) | (v % 3 ? 8 : 0), .batch = v % 9 == 8 ? BATCH_BOTH : 0,
		};

		run_case(env, &g, 40000 + v);
	}
}

static void test_layouts(struct op_env *env)
{
	uint32_t i, a, b, d;

	for (i = 0; i < ARRAY_SIZE(types); i += 4)
		for (a = 0; a < OP_STYLES; a++)
			for (b = 0; b < OP_STYLES; b++)
				for (d = 0; d < OP_REPEATED; d++) {
					struct gemm_case g = {
						"layouts", types[i].a, types[i].b,
						types[i].d, 6, 10, 14, PLAIN,
						.flags = (int)(a + b + d) % 4,
						.a_style = (int)a, .b_style = (int)b,
						.d_style = (int)d,
						.batch = (a + b) % 2 ? BATCH_BOTH : 0,
					};

					if (env->small && (a + b + d) % 5)
						continue;
					run_case(env, &g, 20000 + 100 * i + 20 * a +
						 5 * b + d);
				}
}

/*
 * Rows that belong to matrices: few and many of them, more matrices than rows, tables that
 * nobody should write, in every type.
 */
static void test_experts(struct op_env *env)
{
	static const int64_t sizes[][4] = {
		{ 1, 40, 33, 17 }, { 7, 64, 150, 3 }, { 40, 48, 64, 4 }, { 3, 260, 130, 5 },
		{ 90, 31, 33, 2 }, { 12, 16, 96, 1 }, { 3, 260, 130, 17 },
	};
	/* The last ones if all is run */
	const uint32_t count = ARRAY_SIZE(sizes) - (test_every() > 1);
	uint32_t i, j, v;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		for (j = 0; j < count; j++)
			for (v = 0; v < 2; v++) {
				struct gemm_case g = {
					"experts", types[i].a, types[i].b, types[i].d,
					sizes[j][0], sizes[j][1], sizes[j][2],
					.experts = (uint32_t)sizes[j][3], RANDOM,
					.flags = (int)((i + j) % 4 + (v ? ACCEL_GEMM_PACK_B : 0)),
					.engine = v && j % 3 ? (int)(i % ACCEL_ENGINE_COUNT) : 0,
					.epilogue = (int)(j % 2),
				};

				if (env->small && (i + j + v) % 5)
					continue;
				/* Matrices that begin in the middle of a byte are refused. */
				if (types[i].b >= ACCEL_S4)
					g.b_style = OP_DENSE;
				/* So are groups of a transposed left matrix. */
				if (!is_float(types[i].a))
					g.flags &= ~ACCEL_GEMM_TRANS_A;
				/* Rounded to bytes, where that may be. */
				if (is_float(types[i].a) && !is_float(types[i].b) && j % 3 == 2)
					g.a_group = 16u << v;
				run_case(env, &g, 110000 + 100 * i + 10 * j + v);
			}
}

/*
 * Rows of A that have no place in the scratch memory of a thread, while fewer or more of them need
 * less of their own: such a number of them is left to the model, whose B has no header.
 */
static void test_long_experts(struct op_env *env)
{
	uint32_t v;

	for (v = 3; v < (env->small ? 4 : 8); v++) {
		struct gemm_case g = {
			"long experts", ACCEL_F32, ACCEL_S8, ACCEL_F32, 8, 16, 65536, PLAIN,
			.a_style = OP_DENSE, .flags = ACCEL_GEMM_PACK_B, .a_group = 16,
			.experts = 1 + v % 2,
		};

		run_case(env, &g, 130000 + v);
	}
}

/* Vectors on either side, and on both. */
static void test_vectors(struct op_env *env)
{
	uint32_t i, vector, v;

	for (i = 0; i < ARRAY_SIZE(types); i += 3)
		for (vector = 1; vector < 4; vector++)
			for (v = 0; v < (env->small ? 2 : 6); v++) {
				struct gemm_case g = {
					"vectors", types[i].a, types[i].b, types[i].d,
					v ? 1 + (int)v * 17 : 0, v == 2 ? 1 : 40,
					v == 1 ? 5 : 150, .flags = v % 2 ? 0 : 8 + (int)v % 3,
					.batch = vector == 3 ? BATCH_NONE :
						 (int)(v + i) % BATCHES,
					RANDOM, .epilogue = 1, .vector = (int)vector,
				};

				run_case(env, &g, 70000 + 100 * i + 10 * vector + v);
			}
}

/* Floating-point weights as they lie, on all sides of vectors and of groups of rows */
static void test_few(struct op_env *env)
{
	static const int64_t sizes[][2] = {
		{ 67, 70 }, { 64, 64 }, { 33, 130 }, { 260, 17 }, { 1, 4099 }, { 5003, 1 },
	};
	static const uint8_t rows[] = { 1, 2, 3, 4, 7, 8, 9 };
	uint32_t i, j, m, flags;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		for (j = 0; j < ARRAY_SIZE(sizes); j++)
			for (m = 0; m < ARRAY_SIZE(rows); m++)
				for (flags = 0; flags < 4; flags++) {
					struct gemm_case g = {
						"few", types[i].a, types[i].b, types[i].d,
						rows[m], sizes[j][0], sizes[j][1],
						.flags = (int)flags, RANDOM, .epilogue = 1,
						.batch = (i + m) % 3 ? 0 : (int)j % BATCHES,
					};

					if (!is_float(types[i].b) || ((flags & 1) && (m + j) % 4))
						continue;
					if (env->small && (i + j + m + flags) % 7)
						continue;
					run_case(env, &g,
						 80000 + 1000 * i + 100 * j + 10 * m + flags);
				}
}

/* Few rows by 4-bit integers that lie along K: whole lines of a kernel and not, all groups */
static void test_few_along(struct op_env *env)
{
	static const int64_t sizes[][2] = { { 67, 70 }, { 64, 256 }, { 33, 130 }, { 6, 1030 } };
	static const int left[] = { ACCEL_F32, ACCEL_BF16, ACCEL_F16 };
	static const uint8_t rows[] = { 1, 2, 4, 8 };
	uint32_t i, j, v;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (j = 0; j < ARRAY_SIZE(rows); j++)
			for (v = 0; v < 4; v++) {
				struct gemm_case g = {
					"few along K", left[(i + j + v) % 3],
					v & 1 ? ACCEL_U4 : ACCEL_S4, ACCEL_F32,
					rows[j] - (j && v == 3), sizes[i][0], sizes[i][1],
					/* Weights by numbers always have scales. */
					.flags = 2, .b_quant = ACCEL_QUANT_GROUP - 1,
					.group = (int)(v + j) % 4,
					.batch = (i + j + v) % 5 ? 0 : BATCH_BOTH,
				};

				if (env->small && (i + j + v) % 3)
					continue;
				run_case(env, &g, 85000 + 100 * i + 10 * j + v);
			}
}

/* Few rows by packed weights: more columns than a tile has, as many threads as there may be. */
static void test_packed_rows(struct op_env *env)
{
	static const uint8_t rows[] = { 1, 2, 3, 4, 5, 6, 7, 8, 12, 17 };
	/* By groups, by channel, by groups with minima */
	static const int64_t columns[] = { 128, 352, 144 };
	static const int schemes[] = { 2, 1, 3 };
	uint32_t i, m, n;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		for (m = 0; m < ARRAY_SIZE(rows); m++)
			for (n = 0; n < ARRAY_SIZE(columns); n++) {
				struct gemm_case g = {
					"packed rows", types[i].a, types[i].b, types[i].d,
					rows[m], columns[n], 128, .flags = 8 + 2 * (m & 1),
					.group = 1, .zeros = ANY, .b_quant = schemes[n],
				};

				/* One result for a pair: the sums are the same for others. */
				if (!is_float(types[i].d) || (env->small && (i + m + n) % 7))
					continue;
				run_case(env, &g, 90000 + 100 * i + 10 * m + n);
			}
}

static void test_random(struct op_env *env)
{
	struct gemm_case g = {
		"random", ANY, ANY, ANY, ANY, ANY, ANY, .flags = ANY, .batch = ANY,
		.engine = ANY, RANDOM, .epilogue = 1,
	};

	op_random_cases(env, build, &g, 400, 1);
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "gemm types", test_types },
		{ "gemm shapes", test_shapes },
		{ "gemm batches", test_batches },
		{ "gemm quantised", test_quantised },
		{ "gemm far zero points", test_far },
		{ "gemm along K", test_along },
		{ "gemm epilogues", test_epilogues },
		{ "gates", test_gates },
		{ "gemm layouts", test_layouts },
		{ "gemm experts", test_experts },
		{ "gemm long experts", test_long_experts },
		{ "gemm vectors", test_vectors },
		{ "gemm few rows", test_few },
		{ "gemm few rows along K", test_few_along },
		{ "gemm packed rows", test_packed_rows },
		{ "gemm random", test_random },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
