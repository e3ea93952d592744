// SPDX-License-Identifier: MIT
/*
 * The k largest and smallest, with their places: none, all, more than one round
 * of them; equal elements, zeros of both signs, NaN.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "lines_test.h"

/**
 * struct topk_case - an operation; rank 0: at random
 */
struct topk_case {
	uint32_t a, d;
	uint32_t rank;
	int64_t dims[3];
	int32_t axis;
	int64_t k;
	bool special;
};

static const struct accel_desc *build(struct op_case *c, const void *arg)
{
	const struct topk_case *g = arg;
	struct accel_topk_desc *t = calloc(1, sizeof(*t));
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t rank, a, d, i, axis;

	assert_non_null(t);
	*t = (struct accel_topk_desc)ACCEL_TOPK_DESC_INIT;
	rank = g->rank ? g->rank : lines_dims(c, dims);
	for (i = 0; i < rank && g->rank; i++)
		dims[i] = g->dims[i];
	a = g->rank ? g->a : lines_dtype(c, false);
	d = g->rank ? g->d : op_below(c, 2) && a < ACCEL_S4 ? a : lines_dtype(c, true);
	t->flags = op_below(c, 2) ? ACCEL_TOPK_SMALLEST : 0;
	t->axis = g->rank ? g->axis : (int32_t)op_below(c, 2 * rank) - (int32_t)rank;
	t->hdr.engine = lines_engine(c);
	axis = (uint32_t)(t->axis < 0 ? t->axis + (int32_t)rank : t->axis);
	c->special = g->special || op_below(c, 2);
	c->range = 2;
	lines_input(c, &t->a, a, rank, dims);
	c->special = false;
	dims[axis] = g->rank ? g->k : (int64_t)op_below(c, (uint32_t)dims[axis] + 1);
	lines_result(c, &t->d, d, rank, dims, 0.1);
	op_tensor(c, &t->indices, ACCEL_S32, rank, dims, op_below(c, 2) ? OP_DENSE :
		  (enum op_style)op_below(c, OP_REPEATED));
	return &t->hdr;
}

static void test_table(struct op_env *env)
{
	static const struct topk_case cases[] = {
		{ ACCEL_F32, ACCEL_F32, 1, { 1 }, 0, 1, false },
		{ ACCEL_F32, ACCEL_F32, 1, { 1 }, 0, 0, false },
		{ ACCEL_F32, ACCEL_F32, 2, { 5, 100 }, 1, 100, true },
		{ ACCEL_F32, ACCEL_F32, 2, { 5, 1000 }, -1, 7, true },
		{ ACCEL_F32, ACCEL_F32, 2, { 200, 3 }, 0, 13, true },
		{ ACCEL_F16, ACCEL_F16, 2, { 3, 3000 }, -1, 1500, true },
		{ ACCEL_BF16, ACCEL_F32, 2, { 3, 500 }, -1, 50, true },
		{ ACCEL_S32, ACCEL_S32, 2, { 3, 500 }, -1, 50, true },
		{ ACCEL_S8, ACCEL_S8, 2, { 3, 700 }, -1, 600, false },
		{ ACCEL_U8, ACCEL_F16, 3, { 3, 70, 4 }, 1, 9, false },
		{ ACCEL_S4, ACCEL_S32, 2, { 3, 70 }, -1, 70, false },
		{ ACCEL_F32, ACCEL_F32, 1, { 40000 }, 0, 35000, true },
		{ ACCEL_S8, ACCEL_S8, 1, { 20000 }, 0, 16385, false },
		{ ACCEL_F32, ACCEL_F32, 2, { 0, 9 }, 1, 3, false },
	};
	char what[64];
	uint32_t i, j;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		for (j = 0; j < 6; j++) {
			if (env->small && cases[i].dims[0] > 10000 && j)
				continue;
			snprintf(what, sizeof(what), "line %u", i);
			op_run(env, build, &cases[i], 100 * i + j, what);
		}
}

static void test_random(struct op_env *env)
{
	struct topk_case g = { .rank = 0 };

	op_random_cases(env, build, &g, 300, 15);
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "top-k table", test_table },
		{ "top-k random", test_random },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
