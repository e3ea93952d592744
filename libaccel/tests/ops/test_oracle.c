// SPDX-License-Identifier: MIT
/*
 * The oracle itself, of which all other tests are as good: numbers that are known without it,
 * and a check that says no where a result is wrong. Nothing runs on a device here.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "libaccel/tests/guest.h"
#include "optest.h"
#include "libaccel/tests/oracle/oracle.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Keys of an attention at most */
#define KEYS		300

static struct accel_device *dev;
static struct accel_ctx *ctx;

static int setup(void **state)
{
	(void)state;
	return accel_device_open("sw", NULL, &dev) || accel_ctx_create(dev, NULL, &ctx);
}

static int teardown(void **state)
{
	(void)state;
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	return 0;
}

/* What sums in double precision may be off by, in parts of the largest */
#define EXACT	0.000000000001L

/* --- attention ------------------------------------------------------------------------ */

/**
 * struct scores - an attention of one query that is zeros, so that scores are the mask
 * @keys: keys
 * @mask: of each
 * @sink: beside them
 * @sinks: there is one
 * @value: of each key
 */
struct scores {
	int64_t keys;
	float mask[KEYS];
	float sink;
	bool sinks;
	float value[KEYS];
};

/* Softmax as it is written down, in more digits than anyone else has. */
static double plain_attention(const struct scores *s)
{
	long double top = s->sinks ? (long double)s->sink : -INFINITY, sum, value = 0, w;
	int64_t j;

	for (j = 0; j < s->keys; j++) {
		if (isnan(s->mask[j]) || s->mask[j] == INFINITY)
			return NAN;
		top = fmaxl(top, (long double)s->mask[j]);
	}
	if (s->sinks && (isnan(s->sink) || s->sink == INFINITY))
		return NAN;
	if (top == -INFINITY)
		return 0;
	sum = s->sinks ? expl((long double)s->sink - top) : 0;
	for (j = 0; j < s->keys; j++) {
		w = expl((long double)s->mask[j] - top);
		sum += w;
		value += w * (long double)s->value[j];
	}
	return (double)(value / sum);
}

static float *numbers(struct op_case *c, struct accel_tensor *t, uint32_t rank,
		      const int64_t *dims)
{
	*t = accel_tensor_dense(NULL, ACCEL_F32, rank, dims);
	assert_int_equal(accel_bo_create(ctx, 4 * (KEYS + 1), NULL, &t->bo), 0);
	c->bos[c->bo_count++] = t->bo;
	return accel_bo_ptr(t->bo);
}

/* What the check says of a result: is it right? */
static bool accepted(const struct accel_tensor *d, const struct oracle_result *r, float result)
{
	char why[200];

	*(float *)accel_bo_ptr(d->bo) = result;
	return !oracle_compare(d, r, why, sizeof(why));
}

/* The oracle knows what the row is, and tells it from others. */
static void check_scores(const struct scores *s, const char *what)
{
	const int64_t one[] = { 1, 1, 1, 1 }, all[] = { 1, s->keys, 1, 1 };
	struct accel_attention_desc a = ACCEL_ATTENTION_DESC_INIT;
	const double want = plain_attention(s);
	struct op_case c = { .ctx = ctx };
	struct oracle_result r = { 0 };
	double most = 0;
	float *k, *v;
	int64_t j;

	numbers(&c, &a.q, 4, one)[0] = 0;
	k = numbers(&c, &a.k, 4, all);
	v = numbers(&c, &a.v, 4, all);
	numbers(&c, &a.d, 4, one);
	memcpy(numbers(&c, &a.mask, 1, &s->keys), s->mask, 4 * (size_t)s->keys);
	if (s->sinks)
		numbers(&c, &a.sinks, 1, one)[0] = s->sink;
	for (j = 0; j < s->keys; j++) {
		k[j] = 1;
		v[j] = s->value[j];
		most = fmax(most, fabs((double)v[j]));
	}
	assert_int_equal(oracle_compute(&a.hdr, 0, &r), 0);
	if (isnan(want) ? !isnan(r.num[0].v) : !(fabs(r.num[0].v - want) <= (double)EXACT * most))
		fail_msg("%s: %g, not %g", what, r.num[0].v, want);
	if (!(r.num[0].e >= 0 && r.num[0].e <= 0.001 * most))
		fail_msg("%s: known to %g only", what, r.num[0].e);
	if (!accepted(&a.d, &r, (float)want))
		fail_msg("%s: %g is right", what, want);
	if (accepted(&a.d, &r, isnan(want) ? 1 : NAN) ||
	    accepted(&a.d, &r, INFINITY) || accepted(&a.d, &r, -INFINITY) ||
	    accepted(&a.d, &r, (float)(want + 0.01 * most)) == !isnan(want) ||
	    accepted(&a.d, &r, (float)(want - 0.01 * most)) == !isnan(want))
		fail_msg("%s: what is wrong beside %g is taken", what, want);
	oracle_free(&r);
	while (c.bo_count)
		accel_bo_unref(c.bos[--c.bo_count]);
}

static const float magnitudes[] = {
	FLT_TRUE_MIN, 0.001f, 1, 30, 87, 104, 1e4f, 1e9f, 5e9f, 1e10f, 1e12f, 1e20f, 1e30f, 2.3e38f,
	3.2e38f, FLT_MAX,
};

/* @n scores of @low and the others of @high, values that tell keys from each other. */
static struct scores two_kinds(int64_t keys, int64_t n, float low, float high)
{
	struct scores s = { .keys = keys };
	int64_t j;

	for (j = 0; j < keys; j++) {
		s.mask[j] = j < n ? low : high;
		s.value[j] = (float)(j % 7) - 2.5f;
	}
	return s;
}

static void test_attention(void **state)
{
	static const int64_t keys[] = { 1, 2, 63, 129, 300 };
	uint32_t i, j, sign;
	struct scores s;
	float m;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(magnitudes); i++)
		for (sign = 0; sign < 2; sign++)
			for (j = 0; j < ARRAY_SIZE(keys); j++) {
				m = sign ? -magnitudes[i] : magnitudes[i];
				s = two_kinds(keys[j], keys[j], m, 0);
				check_scores(&s, "all equal");
				s = two_kinds(keys[j], keys[j] - 1, m, 0);
				check_scores(&s, "all but one");
				s = two_kinds(keys[j], keys[j] / 2, m, -INFINITY);
				check_scores(&s, "half of them hidden");
				s = two_kinds(keys[j], keys[j] * 3 / 4, m, -m);
				check_scores(&s, "either sign");
				s = two_kinds(keys[j], keys[j] / 2, 0, 1);
				s.sinks = true;
				s.sink = m;
				check_scores(&s, "sink");
				s = two_kinds(keys[j], keys[j], m, 0);
				s.sinks = true;
				check_scores(&s, "sink of 0");
			}
}

static void test_attention_odd(void **state)
{
	static const float odd[] = { NAN, INFINITY, -INFINITY };
	struct scores s;
	uint32_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		s = two_kinds(130, 129, 0, odd[i]);
		check_scores(&s, "one that is odd");
		s = two_kinds(130, 129, odd[i], -1e30f);
		check_scores(&s, "all but one odd");
		s = two_kinds(5, 5, odd[i], 0);
		check_scores(&s, "all odd");
		s = two_kinds(5, 2, -1e30f, 0);
		s.sinks = true;
		s.sink = odd[i];
		check_scores(&s, "odd sink");
	}
}

/* The check that could not see it: 150 of 200 keys hidden, and 50. */
static void test_attention_blind(void **state)
{
	struct scores s = two_kinds(200, 150, -1e30f, 0);

	(void)state;
	check_scores(&s, "150 of 200");
	s = two_kinds(200, 50, -1e30f, 0);
	check_scores(&s, "50 of 200");
}

/*
 * Products that overflow, and those that do not though the sum of their magnitudes would: the
 * first of two keys, whose values are 1 and 3, beside one of zeros.
 */
static void test_attention_large(void **state)
{
	static const struct large {
		float q[2], k[2], slope;
		double want;
	} rows[] = {
		{ { 3e38f, 3e38f }, { 1, -0.5f }, 0, 1 },
		{ { 3e38f, 3e38f }, { 0.5f, 0.5f }, 0, 1 },
		{ { 3e38f, 3e38f }, { 1, 1 }, 0, NAN },
		{ { 3e38f, 3e38f }, { -1, -1 }, 0, 3 },
		{ { 3e38f, 3e38f }, { 2, -0.001f }, 0, NAN },
		{ { 0, 0 }, { 1, 1 }, 3e38f, 3 },
		{ { 0, 0 }, { 1, 1 }, -3e38f, NAN },
	};
	static const float results[] = { 1, 2, 3, NAN, INFINITY, 0 };
	const int64_t one[] = { 1, 1, 1, 1 }, q[] = { 1, 1, 1, 2 }, k[] = { 1, 2, 1, 2 };
	const int64_t v[] = { 1, 2, 1, 1 };
	uint32_t i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct accel_attention_desc a = ACCEL_ATTENTION_DESC_INIT;
		struct op_case c = { .ctx = ctx };
		struct oracle_result r = { 0 };
		const double want = rows[i].want;

		a.flags = ACCEL_ATTENTION_SCALE | ACCEL_ATTENTION_OFFSET;
		a.scale = 1;
		a.q_offset = 2;
		memcpy(numbers(&c, &a.q, 4, q), rows[i].q, sizeof(rows[i].q));
		memcpy(numbers(&c, &a.k, 4, k), rows[i].k, sizeof(rows[i].k));
		memcpy(numbers(&c, &a.v, 4, v), ((float[]) { 1, 3 }), 2 * sizeof(float));
		numbers(&c, &a.d, 4, one);
		if (rows[i].slope != 0)
			numbers(&c, &a.slopes, 1, one)[0] = rows[i].slope;
		assert_int_equal(oracle_compute(&a.hdr, 0, &r), 0);
		for (j = 0; j < ARRAY_SIZE(results); j++) {
			const double x = results[j];

			if (accepted(&a.d, &r, results[j]) != (isnan(want) ? isnan(x) : x == want))
				fail_msg("row %u: %g where %g is right", i, x, want);
		}
		oracle_free(&r);
		while (c.bo_count)
			accel_bo_unref(c.bos[--c.bo_count]);
	}
}

/* --- numbers with bounds --------------------------------------------------------------- */

static void check_num(struct oracle_num x, double v, const char *what)
{
	if (isnan(v) ? !isnan(x.v) : x.v != v)
		fail_msg("%s: %g, not %g", what, x.v, v);
	/* Nothing else may pass for it. */
	if (!isfinite(v) && x.e != 0)
		fail_msg("%s: known to %g only", what, x.e);
}

/* An infinity that comes from an operand is known, as is no number. */
static void test_numbers(void **state)
{
	const struct oracle_num x = { 2, 0.000001 }, zero = { 0, 0.000001 }, inf = { INFINITY, 0 };
	const struct oracle_num nan = { NAN, 0 }, far = { -1, 1e6 }, below = { -1e6, 1 };
	double expect, bound;

	(void)state;
	check_num(oracle_add(x, INFINITY), INFINITY, "2 + inf");
	check_num(oracle_add(x, -INFINITY), -INFINITY, "2 - inf");
	check_num(oracle_add(inf, 1), INFINITY, "inf + 1");
	check_num(oracle_add(inf, -INFINITY), NAN, "inf - inf");
	check_num(oracle_add(x, NAN), NAN, "2 + nan");
	check_num(oracle_add(nan, INFINITY), NAN, "nan + inf");
	check_num(oracle_mul(x, INFINITY), INFINITY, "2 inf");
	check_num(oracle_mul(x, -INFINITY), -INFINITY, "2 -inf");
	check_num(oracle_mul(inf, -2), -INFINITY, "inf -2");
	check_num(oracle_mul(inf, 0), NAN, "inf 0");
	check_num(oracle_mul(x, NAN), NAN, "2 nan");
	check_num(oracle_mul(x, 0), 0, "2 0");
	check_num(oracle_step(inf), INFINITY, "inf");
	/* What may be 0, or of either sign, times an infinity may be anything. */
	assert_true(isinf(oracle_mul(zero, INFINITY).e));
	assert_true(oracle_mul(x, 0).e < (double)FLT_MIN / 128);
	assert_true(oracle_add(x, -FLT_MAX).e < FLT_MAX * 0.0000001);
	assert_true(oracle_mul(x, FLT_TRUE_MIN).e < 8 * (double)FLT_TRUE_MIN);
	/* Stored as an infinity of either sign that it may have, and of no other */
	assert_true(oracle_float_ok(INFINITY, &far, ACCEL_F16, &expect, &bound));
	assert_true(oracle_float_ok(-INFINITY, &far, ACCEL_F16, &expect, &bound));
	assert_true(oracle_float_ok(-INFINITY, &below, ACCEL_F16, &expect, &bound));
	assert_false(oracle_float_ok(INFINITY, &below, ACCEL_F16, &expect, &bound));
	assert_false(oracle_float_ok(-INFINITY, &x, ACCEL_F16, &expect, &bound));
}

/* A product with an infinity in it is that infinity, and nothing else is. */
static void test_gemm(void **state)
{
	static const struct gemm_row {
		float a[3], b[3], bias;
		float want;
	} rows[] = {
		{ { 1, 2, 3 }, { 1, 1, 1 }, 1, 7 },
		{ { 1, INFINITY, 3 }, { 1, 1, 1 }, 0, INFINITY },
		{ { 1, INFINITY, 3 }, { 1, -1, 1 }, 5, -INFINITY },
		{ { 1, INFINITY, 3 }, { 1, 0, 1 }, 0, NAN },
		{ { 1, INFINITY, INFINITY }, { 1, 1, -1 }, 0, NAN },
		{ { 1, 2, 3 }, { 1, 1, 1 }, -INFINITY, -INFINITY },
		{ { 1, INFINITY, 3 }, { 1, 1, 1 }, -INFINITY, NAN },
		{ { 1, 2, NAN }, { 1, 1, 1 }, 0, NAN },
		{ { FLT_MAX, 0, 0 }, { 1, 1, 1 }, 0, FLT_MAX },
		{ { 0, 0, 0 }, { 1, -1, 1 }, FLT_TRUE_MIN, FLT_TRUE_MIN },
	};
	static const float wrong[] = { NAN, INFINITY, -INFINITY, 17 };
	const int64_t a[] = { 1, 3 }, b[] = { 3, 1 }, one[] = { 1, 1 };
	uint32_t i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
		struct op_case c = { .ctx = ctx };
		struct oracle_result r = { 0 };
		const float want = rows[i].want;

		memcpy(numbers(&c, &g.a, 2, a), rows[i].a, sizeof(rows[i].a));
		memcpy(numbers(&c, &g.b, 2, b), rows[i].b, sizeof(rows[i].b));
		numbers(&c, &g.epilogue.bias, 1, one)[0] = rows[i].bias;
		numbers(&c, &g.d, 2, one);
		assert_int_equal(oracle_compute(&g.hdr, 0, &r), 0);
		if (!accepted(&g.d, &r, want))
			fail_msg("row %u: %g is right, not %g", i, (double)want, r.num[0].v);
		for (j = 0; j < ARRAY_SIZE(wrong); j++) {
			/* Rounding may go beyond the last number. */
			const bool same = memcmp(&wrong[j], &want, 4) == 0 ||
					  (isnan(wrong[j]) && isnan(want)) ||
					  (want == FLT_MAX && wrong[j] == INFINITY);

			if (accepted(&g.d, &r, wrong[j]) != same)
				fail_msg("row %u: %g beside %g", i, (double)wrong[j], (double)want);
		}
		oracle_free(&r);
		while (c.bo_count)
			accel_bo_unref(c.bos[--c.bo_count]);
	}
}

/* --- softmax ------------------------------------------------------------------------- */

static void check_softmax(const float *x, int64_t n)
{
	long double top = -INFINITY, sum = 0, want;
	struct oracle_result r = { 0 };
	struct accel_softmax_desc s = ACCEL_SOFTMAX_DESC_INIT;
	struct op_case c = { .ctx = ctx };
	bool nan = false;
	int64_t i;

	memcpy(numbers(&c, &s.a, 1, &n), x, 4 * (size_t)n);
	numbers(&c, &s.d, 1, &n);
	for (i = 0; i < n; i++) {
		nan |= isnan(x[i]) || x[i] == INFINITY;
		top = fmaxl(top, (long double)x[i]);
	}
	for (i = 0; i < n && !nan; i++)
		sum += top == -INFINITY ? 0 : expl((long double)x[i] - top);
	assert_int_equal(oracle_compute(&s.hdr, 0, &r), 0);
	for (i = 0; i < n; i++) {
		want = nan ? NAN : sum == 0 ? 0 : expl((long double)x[i] - top) / sum;
		if (nan ? !isnan(r.num[i].v) : !(fabsl((long double)r.num[i].v - want) <= EXACT))
			fail_msg("softmax: %g, not %Lg", r.num[i].v, want);
		if (!(r.num[i].e >= 0 && r.num[i].e <= 0.00001))
			fail_msg("softmax: %g known to %g only", r.num[i].v, r.num[i].e);
	}
	oracle_free(&r);
	while (c.bo_count)
		accel_bo_unref(c.bos[--c.bo_count]);
}

static void test_softmax(void **state)
{
	static const float odd[] = { NAN, INFINITY, -INFINITY, 0 };
	struct scores s;
	uint32_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(magnitudes); i++) {
		s = two_kinds(100, 100, magnitudes[i], 0);
		check_softmax(s.mask, s.keys);
		s = two_kinds(100, 99, -magnitudes[i], 0);
		check_softmax(s.mask, s.keys);
		s = two_kinds(100, 50, -magnitudes[i], magnitudes[i]);
		check_softmax(s.mask, s.keys);
	}
	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		s = two_kinds(10, 9, 1, odd[i]);
		check_softmax(s.mask, s.keys);
		s = two_kinds(10, 10, odd[i], 0);
		check_softmax(s.mask, s.keys);
	}
}

/* Of cases one of four, of tables of whatever period as well; each is run in one of four turns. */
static void test_left_out_evenly(void **state)
{
	uint32_t period, phase, i, turn, run;

	(void)state;
	setenv("ACCEL_TEST_EVERY", "4", 1);
	for (i = 0; i < 10000; i++) {
		for (turn = run = 0; turn < 4; turn++)
			run += !test_left_out(i, turn + i % 3);
		assert_int_equal(run, 1);
	}
	for (period = 1; period < 100; period++)
		for (phase = 0; phase < period; phase++) {
			for (i = run = 0; i < 40; i++)
				run += !test_left_out(phase + period * i, 0);
			/* Five times the standard deviation */
			if (run < 1 || run > 23)
				fail_msg("of every %uth from %u on %u of 40 are run",
					 period, phase, run);
		}
	unsetenv("ACCEL_TEST_EVERY");
}

/* Seeds of the cases that were built */
static uint64_t built[100];
static uint32_t built_count;

static const struct accel_desc *build_fill(struct op_case *c, const void *arg)
{
	struct accel_fill_desc *f = calloc(1, sizeof(*f));
	const int64_t dim = 3;

	(void)arg;
	assert_non_null(f);
	*f = (struct accel_fill_desc)ACCEL_FILL_DESC_INIT;
	op_tensor(c, &f->d, ACCEL_F32, 1, &dim, OP_DENSE);
	assert_true(built_count < ARRAY_SIZE(built));
	built[built_count++] = c->seed;
	return &f->hdr;
}

/* So many random cases as were asked for, other ones on each device. */
static void test_cases_counted(void **state)
{
	struct op_env env = { .ctx = ctx, .every = 4 };
	uint32_t i, j;

	(void)state;
	setenv("ACCEL_TEST_EVERY", "4", 1);
	setenv("ACCEL_TEST_CASES", "5", 1);
	for (env.turn = 0; env.turn < 4; env.turn++) {
		built_count = 5 * env.turn;
		op_random_cases(&env, build_fill, NULL, 1000, 1);
		assert_int_equal(built_count, 5 * env.turn + 5);
	}
	for (i = 0; i < built_count; i++)
		for (j = 0; j < i; j++)
			assert_true(built[i] != built[j]);
	unsetenv("ACCEL_TEST_CASES");
	/* Thinned out, all of them are run on one device or another. */
	built_count = 0;
	for (env.turn = 0; env.turn < 4; env.turn++) {
		env.seen = 0;
		op_random_cases(&env, build_fill, NULL, 60, 1);
	}
	assert_int_equal(built_count, 60);
	for (i = 0; i < built_count; i++)
		for (j = 0; j < i; j++)
			assert_true(built[i] != built[j]);
	unsetenv("ACCEL_TEST_EVERY");
}

/* --- walking and formats ---------------------------------------------------------------- */

/* Each index is the one that division gives, and behind the last comes the first. */
static void test_walk(void **state)
{
	static const int64_t dims[][ACCEL_MAX_RANK] = {
		{ 2, 3, 1, 5 }, { 4, 1, 1, 1 }, { 1, 1, 1, 7 }, { 1, 1, 1, 1 }, { 3, 2, 4, 2 },
	};
	int64_t idx[ACCEL_MAX_RANK], want[ACCEL_MAX_RANK];
	struct accel_tensor t;
	uint32_t i, rank;
	uint64_t n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(dims); i++)
		for (rank = 1; rank <= 4; rank++) {
			t = accel_tensor_dense(NULL, ACCEL_F32, rank, dims[i]);
			memset(idx, 0, sizeof(idx));
			for (n = 0; n <= oracle_count(&t); n++, oracle_next(&t, idx)) {
				oracle_index(&t, n % oracle_count(&t), want);
				assert_memory_equal(idx, want, rank * sizeof(*idx));
			}
		}
}

/* Each binary16 but NaNs is that of its value, and of what is a little beside. */
static void test_halves(void **state)
{
	const double part = 1.0 / (1 << 13);
	uint32_t bits, sign;

	(void)state;
	for (bits = 0; bits <= 0x7c00; bits++)
		for (sign = 0; sign <= 0x8000; sign += 0x8000) {
			const double v = oracle_f16_value((uint16_t)(bits | sign));

			assert_int_equal(oracle_f16_bits(v), bits | sign);
			assert_int_equal(oracle_f16_bits(v * (1 + part)), bits | sign);
			assert_int_equal(oracle_f16_bits(v * (1 - part)), bits | sign);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_left_out_evenly),
		cmocka_unit_test(test_cases_counted),
		cmocka_unit_test(test_attention),
		cmocka_unit_test(test_attention_odd),
		cmocka_unit_test(test_attention_blind),
		cmocka_unit_test(test_attention_large),
		cmocka_unit_test(test_softmax),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_gemm),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_halves),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
