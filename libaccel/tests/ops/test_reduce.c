// SPDX-License-Identifier: MIT
/*
 * Reductions: every function, any set of dimensions, exact for integers,
 * positions of equal elements and of NaN, nothing to reduce.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "lines_test.h"

#define ANY	-1

/**
 * struct reduce_case - an operation; types of 0, a function of ANY, rank 0: at random;
 *	@last: the second dimension lies behind the others
 */
struct reduce_case {
	int func;
	uint32_t a, d;
	uint32_t rank;
	int64_t dims[4];
	uint32_t axes;
	bool special;
	bool last;
};

static bool is_arg(uint32_t func)
{
	return func == ACCEL_REDUCE_ARG_MAX || func == ACCEL_REDUCE_ARG_MIN;
}

/* The dimensions of the result; a position needs one dimension, and not an empty one. */
static void pick_axes(struct op_case *c, struct accel_reduce_desc *r, uint32_t rank,
		      int64_t *dims, int64_t *out, const struct reduce_case *g)
{
	uint32_t i;

	r->axes = g->rank ? g->axes : op_below(c, 1u << rank);
	if (is_arg(r->func)) {
		i = r->axes ? (uint32_t)__builtin_ctz(r->axes) : op_below(c, rank);
		r->axes = ACCEL_AXIS(i);
		dims[i] += !dims[i];
		r->flags = op_below(c, 2) ? ACCEL_REDUCE_LAST_INDEX : 0;
	}
	for (i = 0; i < rank; i++)
		out[i] = !r->axes || (r->axes >> i & 1) ? 1 : dims[i];
}

/* The last dimension becomes the second one, where it lies. */
static void turn(int64_t *v)
{
	const int64_t last = v[3];

	v[3] = v[2];
	v[2] = v[1];
	v[1] = last;
}

static const struct accel_desc *build(struct op_case *c, const void *arg)
{
	const struct reduce_case *g = arg;
	struct accel_reduce_desc *r = calloc(1, sizeof(*r));
	int64_t dims[ACCEL_MAX_RANK], out[ACCEL_MAX_RANK];
	uint32_t rank, a, d, i;

	assert_non_null(r);
	*r = (struct accel_reduce_desc)ACCEL_REDUCE_DESC_INIT;
	rank = g->rank ? g->rank : lines_dims(c, dims);
	for (i = 0; i < rank && g->rank; i++)
		dims[i] = g->dims[i];
	r->func = g->func == ANY ? op_below(c, ACCEL_REDUCE_COUNT) : (uint32_t)g->func;
	pick_axes(c, r, rank, dims, out, g);
	a = g->a ? g->a : lines_dtype(c, false);
	d = g->d ? g->d : lines_dtype(c, true);
	r->hdr.engine = lines_engine(c);
	/* A product of extremes may leave binary64; a logarithm wants a sum. */
	c->special = g->special && op_below(c, 2) && r->func != ACCEL_REDUCE_PROD &&
		     r->func != ACCEL_REDUCE_LOG_SUM;
	c->range = r->func == ACCEL_REDUCE_PROD ? 1.2 : op_below(c, 2) ? 2 : 100;
	/* Few different numbers: some are equal. */
	if (is_arg(r->func) && op_below(c, 2))
		a = ACCEL_S4;
	if (g->last) {
		const int64_t as[] = { dims[0], dims[2], dims[3], dims[1] };

		op_tensor(c, &r->a, a, rank, as, OP_PADDED);
		turn(r->a.dims);
		turn(r->a.strides);
	} else {
		lines_input(c, &r->a, a, rank, dims);
	}
	/* Of integers as they are, too, unless the result is exact. */
	if (r->func == ACCEL_REDUCE_PROD && !is_float(a) &&
	    (is_float(d) || r->a.quant.scheme)) {
		r->a.quant = (struct accel_quant){ 0 };
		op_quantise(c, &r->a, ACCEL_QUANT_TENSOR, 0, 0,
			    a == ACCEL_S32 ? 0.00001 : a >= ACCEL_S4 ? 0.05 : 0.003, false);
	}
	c->special = false;
	op_tensor(c, &r->d, is_arg(r->func) ? ACCEL_S32 : d, rank, out,
		  op_below(c, 2) ? OP_DENSE : (enum op_style)op_below(c, OP_REPEATED));
	if (!is_arg(r->func))
		lines_quant(c, &r->d, 0.5);
	if (r->func == ACCEL_REDUCE_PROD && !is_float(a))
		r->d.quant = (struct accel_quant){ 0 };
	return &r->hdr;
}

static void test_functions(struct op_env *env)
{
	static const uint32_t types[][2] = {
		{ ACCEL_F32, ACCEL_F32 }, { ACCEL_F16, ACCEL_F16 },
		{ ACCEL_BF16, ACCEL_F32 }, { ACCEL_S32, ACCEL_S32 },
		{ ACCEL_S8, ACCEL_S32 }, { ACCEL_U8, ACCEL_U8 },
		{ ACCEL_S4, ACCEL_F32 }, { ACCEL_S32, ACCEL_F32 },
	};
	static const struct {
		uint32_t rank;
		int64_t dims[4];
		uint32_t axes;
	} shapes[] = {
		{ 1, { 1 }, 1 }, { 1, { 1024 }, 1 }, { 1, { 2049 }, 0 },
		{ 2, { 17, 31 }, 1 }, { 2, { 17, 31 }, 2 }, { 2, { 17, 31 }, 3 },
		{ 4, { 3, 5, 7, 4 }, 10 }, { 4, { 3, 5, 7, 4 }, 5 },
		{ 3, { 3, 11, 130 }, 6 }, { 2, { 5, 0 }, 2 }, { 2, { 0, 5 }, 2 },
		{ 2, { 0, 5 }, 1 },
	};
	uint32_t i, j;
	char what[64];
	int func;

	for (func = 0; func < ACCEL_REDUCE_COUNT; func++)
		for (i = 0; i < ARRAY_SIZE(types); i++)
			for (j = 0; j < ARRAY_SIZE(shapes); j++) {
				struct reduce_case g = {
					func, types[i][0], types[i][1], shapes[j].rank,
					{ 0 }, shapes[j].axes, true
				};
				uint32_t k;

				for (k = 0; k < 4; k++)
					g.dims[k] = shapes[j].dims[k];
				if (env->small && (i + j) % 3)
					continue;
				snprintf(what, sizeof(what), "function %d shape %u", func, j);
				op_run(env, build, &g,
				       10000 * (uint32_t)func + 100 * i + j, what);
			}
}

/* Sums and means over pixels whose channels are side by side. */
static void test_pixels(struct op_env *env)
{
	static const uint32_t types[] = { ACCEL_F32, ACCEL_BF16, ACCEL_F16 };
	static const int64_t channels[] = { 2, 17, 64, 200, 1100 };
	uint32_t i, j, k, v = 0;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		for (j = 0; j < ARRAY_SIZE(channels); j++)
			for (k = 0; k < 8; k++, v++) {
				struct reduce_case g = {
					k % 2 ? ACCEL_REDUCE_SUM : ACCEL_REDUCE_MEAN, types[i],
					k % 3 ? types[i] : ACCEL_F32, 4,
					{ 1 + v % 2, channels[j], 1 + k * 2, 7 },
					k == 6 ? 4 : k == 7 ? 9 : 12, v % 5 == 1, true,
				};

				op_run(env, build, &g, 200000 + v, "pixels");
			}
}

static void test_random(struct op_env *env)
{
	struct reduce_case g = { .func = ANY, .special = true };

	op_random_cases(env, build, &g, 600, 13);
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "reduce functions", test_functions },
		{ "reduce pixels", test_pixels },
		{ "reduce random", test_random },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
