// SPDX-License-Identifier: MIT
/*
 * Softmax and its logarithm: any dimension, masked lines, numbers that would
 * overflow, lines that are longer than a chunk.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "lines_test.h"

/**
 * struct softmax_case - an operation; types of 0: at random
 */
struct softmax_case {
	uint32_t func, a, d;
	uint32_t rank;
	int64_t dims[3];
	int32_t axis;
	bool special;
};

static const struct accel_desc *build(struct op_case *c, const void *arg)
{
	const struct softmax_case *g = arg;
	struct accel_softmax_desc *s = calloc(1, sizeof(*s));
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t rank, a, d, i;

	assert_non_null(s);
	*s = (struct accel_softmax_desc)ACCEL_SOFTMAX_DESC_INIT;
	rank = g->rank ? g->rank : lines_dims(c, dims);
	for (i = 0; i < rank && g->rank; i++)
		dims[i] = g->dims[i];
	a = g->a ? g->a : lines_dtype(c, false);
	d = g->d ? g->d : op_below(c, 4) ? 1 + op_below(c, 3) : ACCEL_S8 + op_below(c, 2);
	s->func = g->rank ? g->func : op_below(c, ACCEL_SOFTMAX_COUNT);
	s->axis = g->rank ? g->axis : (int32_t)op_below(c, 2 * rank) - (int32_t)rank;
	s->hdr.engine = lines_engine(c);
	c->special = g->special && op_below(c, 2);
	c->range = op_below(c, 2) ? 2 : op_below(c, 2) ? 20 : 200;
	lines_input(c, &s->a, a, rank, dims);
	if (a != d || !lines_in_place(c, &s->d, &s->a))
		lines_result(c, &s->d, d, rank, dims, s->func ? 0.1 : 0.005);
	return &s->hdr;
}

static void test_table(struct op_env *env)
{
	static const struct softmax_case cases[] = {
		{ 0, ACCEL_F32, ACCEL_F32, 1, { 1 }, 0, false },
		{ 0, ACCEL_F32, ACCEL_F32, 1, { 1024 }, 0, false },
		{ 0, ACCEL_F32, ACCEL_F32, 1, { 1025 }, -1, false },
		{ 0, ACCEL_F32, ACCEL_F32, 1, { 70001 }, 0, false },
		{ 0, ACCEL_F16, ACCEL_F16, 2, { 7, 513 }, 1, false },
		{ 0, ACCEL_BF16, ACCEL_BF16, 2, { 7, 513 }, 0, false },
		{ 0, ACCEL_F32, ACCEL_F32, 2, { 3, 0 }, 1, false },
		{ 0, ACCEL_F32, ACCEL_F32, 2, { 0, 3 }, 1, false },
		{ 0, ACCEL_F32, ACCEL_F32, 3, { 2, 21, 13 }, 1, true },
		{ 0, ACCEL_S8, ACCEL_U8, 2, { 5, 97 }, -1, false },
		{ 0, ACCEL_S32, ACCEL_F32, 2, { 5, 97 }, -1, true },
		{ 0, ACCEL_U4, ACCEL_F16, 2, { 5, 96 }, -1, false },
		{ 0, ACCEL_F32, ACCEL_F32, 2, { 64, 33 }, -1, true },
	};
	struct softmax_case g;
	char what[64];
	uint32_t i, j;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		for (j = 0; j < 6; j++) {
			g = cases[i];
			g.func = j & 1;
			if (env->small && g.dims[0] > 60000)
				g.dims[0] = 3001;
			snprintf(what, sizeof(what), "line %u", i);
			op_run(env, build, &g, 100 * i + j, what);
		}
}

static void test_random(struct op_env *env)
{
	struct softmax_case g = { .special = true };

	op_random_cases(env, build, &g, 400, 11);
}

/* What the bounds do not say: which lines are zeros, and that rows add up to 1. */
static void test_masked(struct op_env *env)
{
	struct accel_softmax_desc s = ACCEL_SOFTMAX_DESC_INIT;
	const int64_t dims[] = { 3, 5 };
	struct accel_bo *bo = NULL;
	float *p, sum;
	int i;

	assert_int_equal(accel_bo_create(env->ctx, 4096, NULL, &bo), 0);
	p = accel_bo_ptr(bo);
	for (i = 0; i < 15; i++)
		p[i] = i < 5 ? -INFINITY : i < 10 ? (float)i * 1e30f : i == 12 ? 3 : -INFINITY;
	s.a = accel_tensor_dense(bo, ACCEL_F32, 2, dims);
	s.d = s.a;
	s.d.offset = 1024;
	assert_int_equal(accel_run(env->ctx, &s.hdr), 0);
	p += 256;
	for (i = 0, sum = 0; i < 5; i++) {
		assert_true(p[i] == 0);
		sum += p[5 + i];
		assert_true(p[10 + i] == (i == 2 ? 1 : 0));
	}
	assert_true(sum == 1);
	s.func = ACCEL_SOFTMAX_LOG;
	assert_int_equal(accel_run(env->ctx, &s.hdr), 0);
	for (i = 0; i < 5; i++) {
		assert_true(p[i] == -INFINITY);
		assert_true(p[10 + i] == (i == 2 ? 0 : -INFINITY));
	}
	accel_bo_unref(bo);
	env->cases += 2;
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "softmax table", test_table },
		{ "softmax masked", test_masked },
		{ "softmax random", test_random },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
