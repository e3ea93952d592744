// SPDX-License-Identifier: MIT
/*
 * Norms: layer, RMS, group, instance, batch; scale, bias, residual, activation;
 * an addend, two results, bytes with scales of their own; a mean that is far larger
 * than what it is the mean of.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "lines_test.h"

/**
 * struct norm_case - an operation; @rank 0: at random; @apart: a group norm of rank 5 in
 *	tensors whose dimensions do not merge, with an epilogue
 */
struct norm_case {
	uint32_t func, a, d;
	uint32_t rank;
	int64_t dims[5];
	uint32_t axes, groups;
	int32_t channel;
	uint32_t two;
	bool apart;
};

/* struct norm_case.two: an addend, a second result; DYNQUANT is by the flags */
#define ADDEND		0x100
#define SECOND		0x200

static void pick_dims(struct op_case *c, struct accel_norm_desc *n, uint32_t *rank,
		      int64_t *dims)
{
	bool channels = n->func >= ACCEL_NORM_GROUP;
	uint32_t i;

	do {
		*rank = lines_dims(c, dims);
		for (i = 0; i < *rank; i++)
			dims[i] = dims[i] > 2000 ? 2000 + dims[i] % 100 : dims[i];
	} while (channels && *rank < 3);
	if (!channels) {
		n->axes = op_below(c, 1u << *rank);
		return;
	}
	if (op_below(c, 3))
		n->channel = -(int32_t)op_below(c, *rank) - 1;
	i = (uint32_t)(n->channel < 0 ? n->channel + (int32_t)*rank : n->channel);
	if (n->func != ACCEL_NORM_GROUP)
		return;
	n->groups = 1 + op_below(c, 5);
	dims[i] = (int64_t)n->groups * op_below(c, 5);
}

/* What gamma, beta, or a vector of channels looks like. */
static void factor(struct op_case *c, const struct accel_norm_desc *n, struct accel_tensor *t,
		   uint32_t rank, const int64_t *dims)
{
	static const uint32_t types[] = { ACCEL_F32, ACCEL_F32, 0, ACCEL_S8 };
	uint32_t type = types[op_below(c, 4)], drop, i;
	int64_t at[ACCEL_MAX_RANK];

	if (!type || (type == ACCEL_S8 && n->d.dtype != ACCEL_S8))
		type = n->d.dtype;
	if (n->func >= ACCEL_NORM_GROUP) {
		i = (uint32_t)(n->channel < 0 ? n->channel + (int32_t)rank : n->channel);
		op_tensor(c, t, type, 1, dims + i, (enum op_style)op_below(c, OP_STYLES));
	} else {
		drop = op_below(c, rank);
		for (i = drop; i < rank; i++)
			at[i] = op_below(c, 3) ? dims[i] : 1;
		op_tensor(c, t, type, rank - drop, at + drop,
			  (enum op_style)op_below(c, OP_STYLES));
	}
	if (!is_float(type))
		op_quantise(c, t, ACCEL_QUANT_TENSOR, 0, 0, 0.02, op_below(c, 2));
}

static void pick_epilogue(struct op_case *c, struct accel_norm_desc *n, uint32_t rank,
			  const int64_t *dims)
{
	struct accel_tensor *r = op_below(c, 2) ? &n->epilogue.residual :
						  &n->epilogue.residual_post;

	if (op_below(c, 3))
		factor(c, n, &n->scale, rank, dims);
	if (op_below(c, 3))
		factor(c, n, &n->bias, rank, dims);
	if (!op_below(c, 3))
		op_tensor(c, r, is_float(n->d.dtype) ? n->d.dtype : ACCEL_F32, rank, dims,
			  (enum op_style)op_below(c, OP_STYLES));
	if (op_below(c, 3))
		return;
	n->epilogue.act = ACCEL_ACT_RELU + op_below(c, 7);
	if (n->epilogue.act == ACCEL_ACT_CLAMP) {
		n->epilogue.p0 = -0.5f;
		n->epilogue.p1 = 1.25f;
	} else if (n->epilogue.act == ACCEL_ACT_LEAKY_RELU) {
		n->epilogue.p0 = 0.125f;
	}
}

/* Variances are positive. */
static void pick_statistics(struct op_case *c, struct accel_norm_desc *n, uint32_t rank,
			    const int64_t *dims)
{
	uint32_t ch = (uint32_t)(n->channel < 0 ? n->channel + (int32_t)rank : n->channel);
	int64_t i;
	float *p;

	factor(c, n, &n->mean, rank, dims);
	op_tensor(c, &n->variance, ACCEL_F32, 1, dims + ch, OP_DENSE);
	p = (float *)((char *)accel_bo_ptr(n->variance.bo) + n->variance.offset);
	for (i = 0; i < dims[ch]; i++)
		p[i] = (float)op_uniform(c, 0, 4);
}

/* An addend, a second result, scales of its own: any of them. */
static void pick_two(struct op_case *c, struct accel_norm_desc *n, uint32_t two, uint32_t rank,
		     const int64_t *dims)
{
	const uint32_t axes = n->axes || !rank ? n->axes : 1u << (rank - 1);
	const enum op_style style = op_below(c, 2) ? OP_DENSE :
				    (enum op_style)op_below(c, OP_REPEATED);
	int64_t one[ACCEL_MAX_RANK];
	uint32_t i;

	n->flags = two & 0xff;
	if (two & ADDEND)
		op_tensor(c, &n->addend, is_float(n->a.dtype) && op_below(c, 2) ? n->a.dtype :
			  ACCEL_F32, rank, dims, (enum op_style)op_below(c, OP_STYLES));
	if (two & SECOND)
		op_tensor(c, &n->second, op_below(c, 2) ? ACCEL_F32 : ACCEL_BF16, rank, dims,
			  style);
	for (i = 0; i < rank; i++)
		one[i] = axes >> i & 1 ? 1 : dims[i];
	if (n->flags & ACCEL_NORM_DYNQUANT)
		op_tensor(c, &n->scales, ACCEL_F32, rank, one, style);
	if (n->flags & ACCEL_NORM_ASYMMETRIC)
		op_tensor(c, &n->zeros, ACCEL_S32, rank, one, style);
}

/* At random: what a layer or RMS norm may have; a line without elements has no scale. */
static uint32_t any_two(struct op_case *c, const struct accel_norm_desc *n, uint32_t rank,
			const int64_t *dims)
{
	const uint32_t axes = n->axes || !rank ? n->axes : 1u << (rank - 1);
	uint32_t two = op_below(c, 4) << 8, i;
	bool empty = false;

	if (n->func > ACCEL_NORM_RMS || op_below(c, 2))
		return 0;
	for (i = 0; i < rank; i++)
		empty |= (axes >> i & 1) && !dims[i];
	if (two == (ADDEND | SECOND) && op_below(c, 2))
		two |= ACCEL_NORM_KEEP_SUM;
	if (!empty && op_below(c, 2))
		two |= ACCEL_NORM_DYNQUANT | (op_below(c, 2) ? ACCEL_NORM_ASYMMETRIC : 0);
	return two;
}

static const struct accel_desc *build(struct op_case *c, const void *arg)
{
	static const float eps[] = { 0.00001f, 0.000001f, 0.001f, 1 };
	struct accel_norm_desc *n = calloc(1, sizeof(*n));
	const struct norm_case *g = arg;
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t rank, a, i, two;
	bool grouped;

	assert_non_null(n);
	*n = (struct accel_norm_desc)ACCEL_NORM_DESC_INIT;
	n->func = g->rank ? g->func : op_below(c, ACCEL_NORM_COUNT);
	n->eps = eps[op_below(c, 4)];
	n->hdr.engine = lines_engine(c);
	if (g->rank) {
		rank = g->rank;
		for (i = 0; i < rank; i++)
			dims[i] = g->dims[i];
		n->axes = g->axes;
		n->groups = g->groups;
		n->channel = g->channel;
	} else {
		pick_dims(c, n, &rank, dims);
	}
	grouped = n->func == ACCEL_NORM_GROUP;
	a = g->a ? g->a : lines_dtype(c, false);
	/* Groups of these may end within a byte. */
	if (grouped && a >= ACCEL_S4)
		a = ACCEL_S8;
	n->d.dtype = g->d ? g->d : op_below(c, 3) ? 1 + op_below(c, 3) :
				   ACCEL_S8 + op_below(c, 2);
	two = g->rank ? g->two : any_two(c, n, rank, dims);
	if (two & ACCEL_NORM_DYNQUANT)
		n->d.dtype = ACCEL_S8 + op_below(c, 2);
	c->special = !g->rank && !op_below(c, 4);
	c->range = op_below(c, 2) ? 2 : 100;
	op_tensor(c, &n->a, a, rank, dims, g->apart ? (enum op_style)(OP_PADDED + op_below(c, 3)) :
		  (enum op_style)op_below(c, OP_STYLES));
	if (!grouped)
		lines_quant(c, &n->a, 0.02);
	else if (!is_float(a))
		op_quantise(c, &n->a, ACCEL_QUANT_TENSOR, 0, 0, 0.02, false);
	c->special = false;
	c->range = 2;
	if (a != n->d.dtype || (grouped && n->a.quant.scheme) ||
	    two & ACCEL_NORM_DYNQUANT || !lines_in_place(c, &n->d, &n->a)) {
		uint32_t d = n->d.dtype;

		op_tensor(c, &n->d, d, rank, dims, (enum op_style)op_below(c, OP_REPEATED));
		if (!grouped && !(two & ACCEL_NORM_DYNQUANT))
			lines_quant(c, &n->d, 0.02);
	}
	pick_two(c, n, two, rank, dims);
	pick_epilogue(c, n, rank, dims);
	if (n->func == ACCEL_NORM_BATCH)
		pick_statistics(c, n, rank, dims);
	return &n->hdr;
}

static void test_table(struct op_env *env)
{
	static const struct norm_case cases[] = {
		{ ACCEL_NORM_LAYER, ACCEL_F32, ACCEL_F32, 2, { 3, 768 }, 0, 0, 1 },
		{ ACCEL_NORM_LAYER, ACCEL_F32, ACCEL_F32, 2, { 2, 4097 }, 2, 0, 1 },
		{ ACCEL_NORM_LAYER, ACCEL_F32, ACCEL_F32, 2, { 1, 1 }, 2, 0, 1 },
		{ ACCEL_NORM_LAYER, ACCEL_F16, ACCEL_F16, 3, { 2, 5, 64 }, 4, 0, 1 },
		{ ACCEL_NORM_LAYER, ACCEL_BF16, ACCEL_BF16, 3, { 2, 5, 64 }, 6, 0, 1 },
		{ ACCEL_NORM_LAYER, ACCEL_F32, ACCEL_F32, 4, { 2, 5, 7, 3 }, 13, 0, 1 },
		{ ACCEL_NORM_LAYER, ACCEL_F32, ACCEL_F32, 2, { 4, 0 }, 2, 0, 1 },
		{ ACCEL_NORM_RMS, ACCEL_F32, ACCEL_F32, 2, { 3, 512 }, 0, 0, 1 },
		{ ACCEL_NORM_RMS, ACCEL_F16, ACCEL_F32, 2, { 3, 2049 }, 0, 0, 1 },
		{ ACCEL_NORM_RMS, ACCEL_S8, ACCEL_S8, 2, { 3, 129 }, 0, 0, 1 },
		{ ACCEL_NORM_LAYER, ACCEL_F32, ACCEL_S8, 2, { 5, 768 }, 0, 0, 1,
		  ADDEND | SECOND },
		{ ACCEL_NORM_LAYER, ACCEL_F32, ACCEL_S8, 2, { 5, 768 }, 0, 0, 1,
		  ADDEND | SECOND | ACCEL_NORM_DYNQUANT },
		{ ACCEL_NORM_LAYER, ACCEL_BF16, ACCEL_U8, 2, { 3, 2049 }, 0, 0, 1,
		  ADDEND | SECOND | ACCEL_NORM_DYNQUANT | ACCEL_NORM_ASYMMETRIC },
		{ ACCEL_NORM_RMS, ACCEL_F32, ACCEL_BF16, 2, { 3, 512 }, 0, 0, 1,
		  ADDEND | SECOND | ACCEL_NORM_KEEP_SUM },
		{ ACCEL_NORM_RMS, ACCEL_F32, ACCEL_S8, 2, { 3, 2048 }, 0, 0, 1,
		  ADDEND | SECOND | ACCEL_NORM_KEEP_SUM | ACCEL_NORM_DYNQUANT },
		{ ACCEL_NORM_RMS, ACCEL_F32, ACCEL_S8, 3, { 3, 7, 40 }, 5, 0, 1,
		  ACCEL_NORM_DYNQUANT | ACCEL_NORM_ASYMMETRIC },
		{ ACCEL_NORM_RMS, ACCEL_F32, ACCEL_F32, 2, { 3, 33 }, 0, 0, 1, SECOND },
		{ ACCEL_NORM_LAYER, ACCEL_S8, ACCEL_U8, 2, { 3, 100 }, 0, 0, 1,
		  ADDEND | ACCEL_NORM_DYNQUANT },
		{ ACCEL_NORM_GROUP, ACCEL_F32, ACCEL_F32, 4, { 2, 8, 5, 7 }, 0, 4, 1 },
		{ ACCEL_NORM_GROUP, ACCEL_F16, ACCEL_F16, 4, { 2, 5, 7, 6 }, 0, 3, -1 },
		{ ACCEL_NORM_GROUP, ACCEL_F32, ACCEL_F32, 5, { 2, 6, 2, 3, 4 }, 0, 2, 1 },
		{ ACCEL_NORM_GROUP, ACCEL_F32, ACCEL_F32, 5, { 1, 6, 5, 3, 16 },
		  0, 2, 1, 0, true },
		{ ACCEL_NORM_GROUP, ACCEL_F16, ACCEL_F32, 5, { 1, 3, 5, 3, 24 },
		  0, 3, -1, 0, true },
		{ ACCEL_NORM_GROUP, ACCEL_F32, ACCEL_F32, 5, { 2, 6, 5, 3, 16 },
		  0, 1, 1, 0, true },
		{ ACCEL_NORM_GROUP, ACCEL_BF16, ACCEL_F32, 5, { 2, 6, 5, 3, 16 },
		  0, 6, 1, 0, true },
		/* An image is an operation, or a group is. */
		{ ACCEL_NORM_GROUP, ACCEL_F32, ACCEL_F32, 5, { 2, 6, 5, 3, 16 },
		  0, 2, 1, 0, true },
		{ ACCEL_NORM_GROUP, ACCEL_F16, ACCEL_F32, 5, { 3, 5, 2, 3, 6 },
		  0, 3, -1, 0, true },
		{ ACCEL_NORM_GROUP, ACCEL_S8, ACCEL_F32, 5, { 4, 5, 9, 3, 7 },
		  0, 3, 2, 0, true },
		{ ACCEL_NORM_GROUP, ACCEL_F32, ACCEL_F32, 5, { 6, 2, 5, 3, 7 },
		  0, 3, 0, 0, true },
		{ ACCEL_NORM_GROUP, ACCEL_F32, ACCEL_F32, 4, { 2, 8, 9, 70 }, 0, 4, 1 },
		{ ACCEL_NORM_GROUP, ACCEL_F32, ACCEL_F32, 2, { 3, 12 }, 0, 12, 1 },
		{ ACCEL_NORM_INSTANCE, ACCEL_F32, ACCEL_F32, 4, { 2, 3, 9, 11 }, 0, 0, 1 },
		{ ACCEL_NORM_INSTANCE, ACCEL_BF16, ACCEL_F32, 3, { 2, 9, 3 }, 0, 0, -1 },
		{ ACCEL_NORM_BATCH, ACCEL_F32, ACCEL_F32, 4, { 2, 3, 33, 37 }, 0, 0, 1 },
		{ ACCEL_NORM_BATCH, ACCEL_F16, ACCEL_F16, 4, { 2, 5, 7, 16 }, 0, 0, -1 },
		{ ACCEL_NORM_BATCH, ACCEL_U8, ACCEL_S8, 2, { 5, 7 }, 0, 0, 1 },
	};
	char what[64];
	uint32_t i, j;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		for (j = 0; j < 5; j++) {
			snprintf(what, sizeof(what), "line %u", i);
			op_run(env, build, &cases[i], 100 * i + j, what);
		}
}

static void test_random(struct op_env *env)
{
	struct norm_case g = { .rank = 0 };

	op_random_cases(env, build, &g, 400, 12);
}

/* A mean of 2^20 with deviations of 1: nothing of them is lost. */
static void test_large_mean(struct op_env *env)
{
	struct accel_norm_desc n = ACCEL_NORM_DESC_INIT;
	const int64_t dims[] = { 1, 2000 };
	struct accel_bo *bo = NULL;
	float *p;
	int i;

	assert_int_equal(accel_bo_create(env->ctx, 16384, NULL, &bo), 0);
	p = accel_bo_ptr(bo);
	for (i = 0; i < 2000; i++)
		p[i] = 1048576.0f + (i & 1 ? 1 : -1);
	n.a = accel_tensor_dense(bo, ACCEL_F32, 2, dims);
	n.d = n.a;
	n.eps = 0;
	assert_int_equal(accel_run(env->ctx, &n.hdr), 0);
	for (i = 0; i < 2000; i++)
		assert_true(p[i] == (i & 1 ? 1 : -1));
	accel_bo_unref(bo);
	env->cases++;
}

/*
 * A group norm of several tasks, with channels or images innermost, gives the same in place: no
 * period tells the elements of one piece from those of another.
 */
static void test_pieces(struct op_env *env)
{
	static const int64_t strides[][ACCEL_MAX_RANK] = {
		{ 289, 1, 94, 33, 6 }, { 321, 1, 104, 38, 7 },
		{ 1, 4, 251, 123, 24 }, { 1, 4, 261, 128, 25 },
	};
	const int64_t dims[] = { 4, 6, 3, 2, 5 };
	struct accel_norm_desc n = ACCEL_NORM_DESC_INIT;
	struct accel_bo *a = NULL, *d = NULL;
	const size_t bytes = 16384;
	uint32_t i, j;
	float *p;

	n.func = ACCEL_NORM_GROUP;
	n.groups = 3;
	n.channel = 1;
	assert_int_equal(accel_bo_create(env->ctx, bytes, NULL, &a), 0);
	assert_int_equal(accel_bo_create(env->ctx, bytes, NULL, &d), 0);
	p = accel_bo_ptr(a);
	for (i = 0; i < ARRAY_SIZE(strides); i++) {
		for (j = 0; j < bytes / sizeof(*p); j++)
			p[j] = (float)(j * 37 % 101);
		memcpy(accel_bo_ptr(d), p, bytes);
		n.a = accel_tensor_dense(a, ACCEL_F32, 5, dims);
		n.a.flags |= ACCEL_TENSOR_STRIDES;
		memcpy(n.a.strides, strides[i], sizeof(strides[i]));
		n.d = n.a;
		n.d.bo = d;
		assert_int_equal(accel_run(env->ctx, &n.hdr), 0);
		/* The second image of A is not the first of D. */
		n.d = n.a;
		n.d.offset = (uint64_t)n.a.strides[0] * sizeof(*p);
		assert_int_equal(accel_run(env->ctx, &n.hdr), -EINVAL);
		n.d.offset = 0;
		assert_int_equal(accel_run(env->ctx, &n.hdr), 0);
		assert_memory_equal(p, accel_bo_ptr(d), bytes);
		env->cases++;
	}
	accel_bo_unref(a);
	accel_bo_unref(d);
}

/* Up to 64 tasks; an empty one may have dimensions beyond any memory. */
static void test_most_pieces(struct op_env *env)
{
	static const struct {
		int64_t dims[5], stride;
		uint32_t groups;
		int ret;
	} cases[] = {
		{ { 64, 130, 2, 2, 3 }, 3251, 65, 0 },
		{ { 65, 128, 2, 2, 3 }, 3201, 64, 0 },
		{ { 65, 130, 2, 2, 3 }, 3251, 65, -EOPNOTSUPP },
		{ { 0, 6, 1LL << 32, 1LL << 32, 1LL << 32 }, 1, 2, -EOPNOTSUPP },
		{ { 0, 4, 0xffffffffLL, 0xffffffffLL, 0xffffffffLL }, 1, 2, -EOPNOTSUPP },
		{ { 3, 0, 1LL << 32, 1LL << 32, 1LL << 32 }, 1LL << 62, 4, -EOPNOTSUPP },
	};
	struct accel_norm_desc n = ACCEL_NORM_DESC_INIT;
	struct accel_plan *plan;
	uint32_t i;

	n.func = ACCEL_NORM_GROUP;
	n.channel = 1;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const int64_t strides[] = { cases[i].stride, 25, 10, 4, 1 };

		n.groups = cases[i].groups;
		n.a = accel_tensor_dense(NULL, ACCEL_F32, 5, cases[i].dims);
		n.a.flags |= ACCEL_TENSOR_STRIDES;
		memcpy(n.a.strides, strides, sizeof(strides));
		n.d = n.a;
		plan = NULL;
		assert_int_equal(accel_plan_create(env->ctx, &n.hdr, &plan), cases[i].ret);
		accel_plan_unref(plan);
		env->cases++;
	}
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "norm table", test_table },
		{ "norm of a large mean", test_large_mean },
		{ "group norm of pieces", test_pieces },
		{ "group norm of most pieces", test_most_pieces },
		{ "norm random", test_random },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
