// SPDX-License-Identifier: MIT
/*
 * The check of results: it accepts what a right device may give, and finds
 * each kind of wrong result. Results are computed here in binary32, element by
 * element.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "gemm.h"

struct fixture {
	struct gemm g;
	struct gemm_opts o;
};

static void allocate(struct gemm_mat *mat, uint32_t dtype, int64_t batch, int64_t rows,
		     int64_t cols, uint32_t stream)
{
	int64_t row, col;
	uint64_t i = 0;

	mat->dtype = dtype;
	mat->batch = batch;
	mat->rows = rows;
	mat->cols = cols;
	mat->ld = dtype == ACCEL_S4 ? (cols + 1) & ~INT64_C(1) : cols;
	mat->ptr = calloc((size_t)(batch * rows * mat->ld), 4);
	assert_non_null(mat->ptr);
	for (row = 0; row < batch * rows; row++)
		for (col = 0; col < cols; col++, i++) {
			uint64_t bits = value_random(3, stream, i);
			double value = (double)(bits >> 11) / 0x1p52 - 1;

			if (dtype == ACCEL_S8 || dtype == ACCEL_S4)
				value = (double)(bits >> 56) - 128;
			value_put(dtype, mat->ptr, (uint64_t)(row * mat->ld + col), value);
		}
}

static void setup(struct fixture *f, uint32_t kind, int64_t m, int64_t n, int64_t k,
		  int64_t batch, bool trans)
{
	static const uint32_t types[GEMM_KINDS][3] = {
		[GEMM_FP32] = { ACCEL_F32, ACCEL_F32, ACCEL_F32 },
		[GEMM_FP16] = { ACCEL_F16, ACCEL_F16, ACCEL_F16 },
		[GEMM_BF16] = { ACCEL_BF16, ACCEL_BF16, ACCEL_BF16 },
		[GEMM_INT8] = { ACCEL_S8, ACCEL_S8, ACCEL_S32 },
		[GEMM_INT4] = { ACCEL_F16, ACCEL_S4, ACCEL_F16 },
	};
	struct gemm *g = &f->g;

	memset(f, 0, sizeof(*f));
	g->opts = &f->o;
	f->o.trans_a = f->o.trans_b = trans;
	g->kind = kind;
	g->m = m;
	g->n = n;
	g->k = k;
	g->batch = batch;
	g->rank = 3;
	g->alpha = 1;
	allocate(&g->a, types[kind][0], batch, trans ? k : m, trans ? m : k, 1);
	allocate(&g->b, types[kind][1], batch, trans ? n : k, trans ? k : n, 2);
	allocate(&g->d, types[kind][2], batch, m, n, 3);
	if (kind == GEMM_INT4) {
		g->group = 16;
		allocate(&g->scales, ACCEL_F16, batch, trans ? n : (k + 15) / 16,
			 trans ? (k + 15) / 16 : n, 4);
	}
}

static void teardown(struct fixture *f)
{
	free(f->g.a.ptr);
	free(f->g.b.ptr);
	free(f->g.c.ptr);
	free(f->g.bias.ptr);
	free(f->g.scales.ptr);
	free(f->g.d.ptr);
}

/* An operand of the product, in binary32; rows and columns as stored, before transposition */
static float operand(const struct gemm_mat *mat, bool trans, int64_t batch, int64_t row,
		     int64_t col)
{
	return (float)value_get(mat->dtype, mat->ptr, (uint64_t)
				(batch * mat->rows * mat->ld +
				 (trans ? col * mat->ld + row : row * mat->ld + col)));
}

/* What a device would give: binary32 throughout, one order of summation */
static void compute_element(struct gemm *g, int64_t b, int64_t i, int64_t j)
{
	const struct gemm_opts *o = g->opts;
	uint64_t at = (uint64_t)((b * g->m + i) * g->n + j);
	int64_t whole = 0, l;
	float sum = 0;

	for (l = 0; l < g->k; l++) {
		float x = operand(&g->a, o->trans_a, b, i, l);
		float y = operand(&g->b, o->trans_b, b, l, j);

		if (g->scales.dtype)
			y *= operand(&g->scales, o->trans_b, b, l / 16, j);
		whole += (int64_t)x * (int64_t)y;
		sum += x * y;
	}
	sum *= (float)g->alpha;
	if (g->c.dtype)
		sum += (float)g->beta * (float)value_get(g->c.dtype, g->c.ptr, at);
	if (g->bias.dtype)
		sum += (float)value_get(g->bias.dtype, g->bias.ptr, (uint64_t)j);
	sum = (float)act_apply(o->act, sum, o->p0, o->p1);
	value_put(g->d.dtype, g->d.ptr, at, g->d.dtype == ACCEL_S32 ? (double)whole : (double)sum);
}

static void compute(struct fixture *f)
{
	int64_t b, i, j;

	for (b = 0; b < f->g.batch; b++)
		for (i = 0; i < f->g.m; i++)
			for (j = 0; j < f->g.n; j++)
				compute_element(&f->g, b, i, j);
}

static void check(struct fixture *f, bool right)
{
	struct gemm_verdict v;
	bool passed;

	assert_int_equal(gemm_check(&f->g, &v), 0);
	passed = v.ratio <= 1;
	if (passed != right)
		print_error("ratio %g, error %g, relative %g, bound %g\n", v.ratio, v.max_abs,
			    v.max_rel, v.bound);
	assert_int_equal(passed, right);
	if (right)
		assert_true(v.max_rel <= v.bound);
}

static void test_right(void **state)
{
	static const int64_t shapes[][4] = {
		{ 1, 1, 1, 1 }, { 3, 5, 7, 2 }, { 17, 9, 33, 1 }, { 64, 64, 300, 2 },
		/* More than one thread */
		{ 130, 130, 260, 1 },
	};
	struct fixture f;
	uint32_t kind, i;

	(void)state;
	for (kind = 0; kind < GEMM_KINDS; kind++)
		for (i = 0; i < 2 * sizeof(shapes) / sizeof(shapes[0]); i++) {
			const int64_t *s = shapes[i / 2];

			setup(&f, kind, s[0], s[1], s[2], s[3], i & 1);
			compute(&f);
			check(&f, true);
			teardown(&f);
		}
}

static void test_epilogue(void **state)
{
	struct fixture f;
	uint32_t act;

	(void)state;
	for (act = 0; act < ACCEL_ACT_COUNT; act++) {
		setup(&f, act & 1 ? GEMM_FP16 : GEMM_FP32, 9, 11, 40, 2, false);
		f.g.alpha = 0.3;
		f.g.beta = -1.7;
		f.o.act = act;
		f.o.p0 = act == ACCEL_ACT_CLAMP ? -1 : 0.1;
		f.o.p1 = 0.7;
		allocate(&f.g.c, f.g.d.dtype, 2, 9, 11, 5);
		allocate(&f.g.bias, ACCEL_F32, 1, 1, 11, 6);
		compute(&f);
		check(&f, true);
		/* Without the bias it is another result */
		free(f.g.bias.ptr);
		allocate(&f.g.bias, ACCEL_F32, 1, 1, 11, 7);
		check(&f, false);
		teardown(&f);
	}
}

/* One product left out, in the last element */
static void test_wrong_element(void **state)
{
	struct fixture f;
	uint32_t kind;

	(void)state;
	for (kind = 0; kind < GEMM_KINDS; kind++) {
		uint64_t at;
		double value;

		setup(&f, kind, 5, 6, 70, 2, false);
		compute(&f);
		at = (uint64_t)(2 * 5 * 6 - 1);
		value = value_get(f.g.d.dtype, f.g.d.ptr, at);
		value_put(f.g.d.dtype, f.g.d.ptr, at, kind == GEMM_INT8 ? value + 1 : value + 0.3);
		check(&f, false);
		teardown(&f);
	}
}

/* Sums in binary16 instead of binary32 */
static void test_narrow_sums(void **state)
{
	struct fixture f;
	int64_t i, j, l;

	(void)state;
	setup(&f, GEMM_FP16, 8, 8, 200, 1, false);
	for (i = 0; i < 8; i++)
		for (j = 0; j < 8; j++) {
			double sum = 0;

			for (l = 0; l < 200; l++)
				sum = value_round(ACCEL_F16, sum +
					value_get(ACCEL_F16, f.g.a.ptr, (uint64_t)(i * 200 + l)) *
					value_get(ACCEL_F16, f.g.b.ptr, (uint64_t)(l * 8 + j)));
			value_put(ACCEL_F16, f.g.d.ptr, (uint64_t)(i * 8 + j), sum);
		}
	check(&f, false);
	teardown(&f);
}

static void test_special(void **state)
{
	struct gemm_verdict v;
	struct fixture f;
	float *a, *d;

	(void)state;
	setup(&f, GEMM_FP32, 2, 3, 4, 1, false);
	a = f.g.a.ptr;
	d = f.g.d.ptr;
	compute(&f);
	d[4] = NAN;
	check(&f, false);
	assert_int_equal(gemm_check(&f.g, &v), 0);
	assert_int_equal(v.row, 1);
	assert_int_equal(v.col, 1);
	assert_true(isinf(v.max_abs));
	d[4] = INFINITY;
	check(&f, false);
	/* A NaN in a row of A is one in that row of the result, and nowhere else */
	compute(&f);
	check(&f, true);
	a[0] = NAN;
	check(&f, false);
	compute(&f);
	check(&f, true);
	a[0] = INFINITY;
	compute(&f);
	check(&f, true);
	d[0] = -d[0];
	check(&f, false);
	teardown(&f);

	/* Beyond the largest number of a narrow result is infinity */
	setup(&f, GEMM_FP16, 1, 1, 2, 1, false);
	value_put(ACCEL_F16, f.g.a.ptr, 0, 300);
	value_put(ACCEL_F16, f.g.b.ptr, 0, 300);
	compute(&f);
	assert_true(isinf(value_get(ACCEL_F16, f.g.d.ptr, 0)));
	check(&f, true);
	value_put(ACCEL_F16, f.g.d.ptr, 0, -INFINITY);
	check(&f, false);
	value_put(ACCEL_F16, f.g.d.ptr, 0, 1);
	check(&f, false);
	/* What is no number is not */
	value_put(ACCEL_F16, f.g.d.ptr, 0, NAN);
	check(&f, false);
	teardown(&f);

	/* Products below the smallest normal number */
	setup(&f, GEMM_FP16, 1, 1, 1, 1, false);
	value_put(ACCEL_F16, f.g.a.ptr, 0, 0x1.004p0 / 0x1p12);
	value_put(ACCEL_F16, f.g.b.ptr, 0, 1.5 / 0x1p11);
	compute(&f);
	check(&f, true);
	value_put(ACCEL_F16, f.g.d.ptr, 0, 5 / 0x1p24);
	check(&f, false);
	teardown(&f);
}

static void test_int32_saturates(void **state)
{
	struct fixture f;
	int64_t l;

	(void)state;
	setup(&f, GEMM_INT8, 1, 1, 140000, 1, false);
	for (l = 0; l < 140000; l++) {
		value_put(ACCEL_S8, f.g.a.ptr, (uint64_t)l, -128);
		value_put(ACCEL_S8, f.g.b.ptr, (uint64_t)l, -128);
	}
	compute(&f);
	assert_true(value_get(ACCEL_S32, f.g.d.ptr, 0) == INT32_MAX);
	check(&f, true);
	value_put(ACCEL_S32, f.g.d.ptr, 0, -2001000000.0);
	check(&f, false);
	teardown(&f);
}

static void test_compare(void **state)
{
	struct npy other = {
		.kind = 'i', .itemsize = 4, .rank = 3, .dims = { 1, 4, 5 }, .count = 20
	};
	struct gemm_verdict v;
	struct fixture f;

	(void)state;
	setup(&f, GEMM_INT8, 4, 5, 6, 1, false);
	compute(&f);
	other.data = f.g.d.ptr;
	assert_int_equal(gemm_compare(&f.g, &other, &v), 0);
	assert_true(v.ratio == 0 && v.differing == 0);
	other.data = malloc(80);
	memcpy(other.data, f.g.d.ptr, 80);
	other.data[76] ^= 1;
	assert_int_equal(gemm_compare(&f.g, &other, &v), 0);
	assert_true(v.ratio > 1);
	assert_int_equal(v.differing, 1);
	assert_int_equal(v.row, 3);
	assert_int_equal(v.col, 4);
	npy_free(&other);
	teardown(&f);

	/* A last bit is within the bound, a whole number is not */
	setup(&f, GEMM_FP32, 4, 5, 6, 1, false);
	compute(&f);
	other.kind = 'f';
	other.data = malloc(80);
	memcpy(other.data, f.g.d.ptr, 80);
	other.data[0] ^= 1;
	assert_int_equal(gemm_compare(&f.g, &other, &v), 0);
	assert_true(v.ratio > 0 && v.ratio <= 1);
	assert_int_equal(v.differing, 1);
	((float *)other.data)[0] += 1;
	assert_int_equal(gemm_compare(&f.g, &other, &v), 0);
	assert_true(v.ratio > 1);
	((float *)other.data)[0] = NAN;
	assert_int_equal(gemm_compare(&f.g, &other, &v), 0);
	assert_true(v.ratio > 1 && isinf(v.max_abs));
	npy_free(&other);
	teardown(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_epilogue),
		cmocka_unit_test(test_wrong_element),
		cmocka_unit_test(test_narrow_sums),
		cmocka_unit_test(test_special),
		cmocka_unit_test(test_int32_saturates),
		cmocka_unit_test(test_compare),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("accelctl_check", tests, NULL, NULL);
}
