// SPDX-License-Identifier: MIT
/*
 * Running sums: from either end, with and without the element itself, exact for
 * integers, in place.
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
 * struct scan_case - an operation; rank 0: at random
 */
struct scan_case {
	uint32_t flags, a, d;
	uint32_t rank;
	int64_t dims[3];
	int32_t axis;
};

static const struct accel_desc *build(struct op_case *c, const void *arg)
{
	const struct scan_case *g = arg;
	struct accel_scan_desc *s = calloc(1, sizeof(*s));
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t rank, a, d, i;

	assert_non_null(s);
	*s = (struct accel_scan_desc)ACCEL_SCAN_DESC_INIT;
	rank = g->rank ? g->rank : lines_dims(c, dims);
	for (i = 0; i < rank && g->rank; i++)
		dims[i] = g->dims[i];
	a = g->rank ? g->a : lines_dtype(c, false);
	d = g->rank ? g->d : lines_dtype(c, true);
	s->flags = g->rank ? g->flags : op_below(c, 4);
	s->axis = g->rank ? g->axis : (int32_t)op_below(c, 2 * rank) - (int32_t)rank;
	s->hdr.engine = lines_engine(c);
	c->special = !op_below(c, 4);
	c->range = op_below(c, 2) ? 2 : 1000;
	lines_input(c, &s->a, a, rank, dims);
	if (a != d || !lines_in_place(c, &s->d, &s->a))
		lines_result(c, &s->d, d, rank, dims, 0.5);
	return &s->hdr;
}

static void test_table(struct op_env *env)
{
	static const struct scan_case cases[] = {
		{ 0, ACCEL_F32, ACCEL_F32, 1, { 1 }, 0 },
		{ 0, ACCEL_F32, ACCEL_F32, 1, { 4099 }, 0 },
		{ 0, ACCEL_F16, ACCEL_F32, 2, { 7, 1030 }, 1 },
		{ 0, ACCEL_BF16, ACCEL_BF16, 2, { 130, 5 }, 0 },
		{ 0, ACCEL_S32, ACCEL_S32, 2, { 3, 2050 }, -1 },
		{ 0, ACCEL_S8, ACCEL_S8, 3, { 3, 40, 5 }, 1 },
		{ 0, ACCEL_U8, ACCEL_S32, 3, { 3, 40, 5 }, 0 },
		{ 0, ACCEL_S4, ACCEL_S32, 2, { 4, 96 }, 1 },
		{ 0, ACCEL_F32, ACCEL_F32, 2, { 4, 0 }, 1 },
		{ 0, ACCEL_S32, ACCEL_F32, 2, { 4, 33 }, 1 },
	};
	struct scan_case g;
	char what[64];
	uint32_t i, j;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		for (j = 0; j < 8; j++) {
			g = cases[i];
			g.flags = j & 3;
			snprintf(what, sizeof(what), "line %u", i);
			op_run(env, build, &g, 100 * i + j, what);
		}
}

static void test_random(struct op_env *env)
{
	struct scan_case g = { .rank = 0 };

	op_random_cases(env, build, &g, 400, 14);
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "scan table", test_table },
		{ "scan random", test_random },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
