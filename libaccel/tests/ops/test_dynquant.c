// SPDX-License-Identifier: MIT
/*
 * Scales that follow from the numbers: of a tensor, of rows, of any dimensions;
 * zeros, extremes, NaN and infinities; then a product with what comes of it.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lines_test.h"

/**
 * struct dynquant_case - an operation; rank 0: at random
 */
struct dynquant_case {
	uint32_t a, d;
	uint32_t rank;
	int64_t dims[3];
	uint32_t axes;
	double range;
	bool special;
};

static const struct accel_desc *build(struct op_case *c, const void *arg)
{
	const struct dynquant_case *g = arg;
	struct accel_dynquant_desc *q = calloc(1, sizeof(*q));
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t rank, axes, i;

	assert_non_null(q);
	*q = (struct accel_dynquant_desc)ACCEL_DYNQUANT_DESC_INIT;
	rank = g->rank ? g->rank : lines_dims(c, dims);
	for (i = 0; i < rank && g->rank; i++)
		dims[i] = g->dims[i];
	q->flags = op_below(c, 2) ? ACCEL_DYNQUANT_ASYMMETRIC : 0;
	q->axes = g->rank ? g->axes : op_below(c, 1u << rank);
	q->hdr.engine = lines_engine(c);
	axes = q->axes ? q->axes : (1u << rank) - 1;
	/* A line without elements is refused, unless there is none. */
	for (i = 0; i < rank; i++)
		if ((axes >> i & 1) && !dims[i])
			dims[i] = 1;
	c->special = g->special || !op_below(c, 4);
	c->range = g->range != 0 ? g->range : op_below(c, 4) ? 2 : ldexp(1, -133);
	lines_input(c, &q->a, g->rank ? g->a : 1 + op_below(c, 3), rank, dims);
	c->special = false;
	op_tensor(c, &q->d, g->rank ? g->d : op_below(c, 2) ? ACCEL_S8 : ACCEL_U8, rank, dims,
		  op_below(c, 2) ? OP_DENSE : (enum op_style)op_below(c, OP_REPEATED));
	for (i = 0; i < rank; i++)
		dims[i] = axes >> i & 1 ? 1 : dims[i];
	op_tensor(c, &q->scales, ACCEL_F32, rank, dims, op_below(c, 2) ? OP_DENSE :
		  (enum op_style)op_below(c, OP_REPEATED));
	if (q->flags)
		op_tensor(c, &q->zeros, ACCEL_S32, rank, dims, op_below(c, 2) ? OP_DENSE :
			  (enum op_style)op_below(c, OP_REPEATED));
	return &q->hdr;
}

static void test_table(struct op_env *env)
{
	static const struct dynquant_case cases[] = {
		{ ACCEL_F32, ACCEL_S8, 1, { 1 }, 0, 2, false },
		{ ACCEL_F32, ACCEL_S8, 2, { 5, 100 }, 2, 2, false },
		{ ACCEL_F32, ACCEL_U8, 2, { 5, 100 }, 2, 2, false },
		{ ACCEL_F16, ACCEL_S8, 2, { 5, 1023 }, 2, 100, false },
		{ ACCEL_BF16, ACCEL_U8, 2, { 3, 1025 }, 2, 2, false },
		{ ACCEL_F32, ACCEL_S8, 2, { 3, 4000 }, 2, 2, false },
		{ ACCEL_F32, ACCEL_U8, 2, { 1500, 3 }, 1, 2, false },
		{ ACCEL_F32, ACCEL_S8, 3, { 7, 30, 11 }, 0, 2, false },
		{ ACCEL_F32, ACCEL_S8, 3, { 7, 30, 11 }, 5, 2, false },
		{ ACCEL_F32, ACCEL_U8, 3, { 7, 30, 11 }, 6, 2, true },
		{ ACCEL_F32, ACCEL_S8, 2, { 40, 9 }, 2, 2, true },
		{ ACCEL_F16, ACCEL_U8, 2, { 40, 9 }, 2, 2, true },
		{ ACCEL_F32, ACCEL_U8, 2, { 5, 70 }, 2, 3e38, false },
		{ ACCEL_F32, ACCEL_S8, 2, { 5, 70 }, 2, (double)__FLT_DENORM_MIN__ * 128, false },
		{ ACCEL_F32, ACCEL_S8, 2, { 0, 9 }, 2, 2, false },
		{ ACCEL_F32, ACCEL_S8, 1, { 40000 }, 0, 2, false },
		{ ACCEL_F16, ACCEL_U8, 2, { 3, 20000 }, 2, 2, true },
		{ ACCEL_F32, ACCEL_U8, 3, { 2, 250, 90 }, 6, 2, false },
	};
	char what[64];
	uint32_t i, j;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		for (j = 0; j < 6; j++) {
			if (env->small && cases[i].dims[0] > 10000 && j)
				break;
			snprintf(what, sizeof(what), "dynquant case %u.%u", i, j);
			op_run(env, build, &cases[i], 1000 * i + j, what);
		}
}

static void test_random(struct op_env *env)
{
	static const struct dynquant_case any;

	op_random_cases(env, build, &any, 300, 5);
}

/* --- a product with it -------------------------------------------------------------- */

#define M	9
#define N	13
#define K	70

static struct accel_tensor tensor(struct op_env *env, uint32_t dtype, int64_t rows,
				  int64_t cols)
{
	const int64_t dims[2] = { rows, cols };
	struct accel_tensor t = accel_tensor_rows(NULL, dtype, 2, dims);
	uint64_t bytes;

	assert_int_equal(accel_tensor_bytes(&t, &bytes), 0);
	assert_int_equal(accel_bo_create(env->ctx, bytes, NULL, &t.bo), 0);
	return t;
}

/* A row of D is within the rounding of A and B to steps of their scales. */
static void check_rows(const float *a, const float *b, const float *d, const float *scales,
		       const float *b_scales)
{
	double want, bound, p;
	int i, j, k;

	for (i = 0; i < M; i++)
		for (j = 0; j < N; j++) {
			want = bound = 0;
			for (k = 0; k < K; k++) {
				p = (double)a[i * K + k] * b[k * N + j];
				want += p;
				bound += fabs(a[i * K + k]) * b_scales[j] / 2 +
					 fabs(b[k * N + j]) * scales[i] / 2 +
					 (double)scales[i] * b_scales[j] / 4;
			}
			if (!(fabs(d[i * N + j] - want) <= bound * 1.001))
				fail_msg("d[%d][%d] is %g, not %g within %g", i, j,
					 (double)d[i * N + j], want, bound);
		}
}

/*
 * fp32 activations, quantised row by row on the device, by int4 weights with a
 * scale for each column that came from a calibration.
 */
static void test_product(struct op_env *env)
{
	struct accel_tensor a = tensor(env, ACCEL_F32, M, K), w = tensor(env, ACCEL_F32, K, N);
	struct accel_dynquant_desc q = ACCEL_DYNQUANT_DESC_INIT;
	struct accel_calib_opts opts = ACCEL_CALIB_OPTS_INIT;
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	struct op_case c = { .rng = 3 };
	struct accel_quant quant;
	struct accel_calib *calib;
	int i;

	for (i = 0; i < M * K; i++)
		((float *)accel_bo_ptr(a.bo))[i] =
			(float)(op_uniform(&c, -1, 1) * ldexp(1, i / K * 3));
	for (i = 0; i < K * N; i++)
		((float *)accel_bo_ptr(w.bo))[i] = (float)op_uniform(&c, -1, 1);
	opts.dtype = ACCEL_S4;
	opts.scheme = ACCEL_QUANT_CHANNEL;
	opts.axis = 1;
	assert_int_equal(accel_calib_create(env->ctx, &opts, &calib), 0);
	assert_int_equal(accel_calib_observe(calib, &w), 0);
	assert_int_equal(accel_calib_get_quant(calib, &quant), 0);
	accel_calib_destroy(calib);

	q.hdr.engine = g.hdr.engine = ACCEL_ENGINE_GPU;
	q.axes = ACCEL_AXIS(1);
	q.a = a;
	q.d = tensor(env, ACCEL_S8, M, K);
	q.scales = tensor(env, ACCEL_F32, M, 1);
	assert_int_equal(accel_run(env->ctx, &q.hdr), 0);
	g.a = q.d;
	assert_int_equal(accel_quantise(env->ctx, &w, ACCEL_S4, &quant, &g.b), 0);
	g.d = tensor(env, ACCEL_F32, M, N);
	g.epilogue.scale = q.scales;
	assert_int_equal(accel_run(env->ctx, &g.hdr), 0);
	check_rows(accel_bo_ptr(a.bo), accel_bo_ptr(w.bo), accel_bo_ptr(g.d.bo),
		   accel_bo_ptr(q.scales.bo), accel_bo_ptr(quant.scales));
	accel_quant_release(&quant);
	accel_bo_unref(a.bo);
	accel_bo_unref(w.bo);
	accel_bo_unref(q.d.bo);
	accel_bo_unref(q.scales.bo);
	accel_bo_unref(g.b.bo);
	accel_bo_unref(g.d.bo);
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "dynquant table", test_table },
		{ "dynquant random", test_random },
		{ "dynquant product", test_product },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
