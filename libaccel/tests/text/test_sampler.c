// SPDX-License-Identifier: MIT
/*
 * Samplers: what is left after each step of the chain, worked out by hand; the order of the
 * steps; and what is drawn, by chi-square with seeds that are fixed.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <accel/generate.h>

#define LARGE	5000

/* Logarithms of 0.4, 0.3, 0.2, 0.1, tokens out of order */
static const float four[4] = { -1.6094379f, -0.9162907f, -2.3025851f, -1.2039728f };
enum { T20, T40, T10, T30 };

static void expect_of(struct accel_sampler *s, const float *logits, uint32_t n, const double *want)
{
	double *p = malloc(n * sizeof(*p));
	uint32_t i;

	assert_non_null(p);
	assert_int_equal(accel_sampler_probabilities(s, logits, p), 0);
	for (i = 0; i < n; i++)
		if (!(fabs(p[i] - want[i]) < 0.000001))
			fail_msg("token %u has %g, should have %g", i, p[i], want[i]);
	free(p);
}

static void expect_four(const struct accel_sampler_opts *opts, double t20, double t40, double t10,
			double t30)
{
	const double want[4] = { t20, t40, t10, t30 };
	struct accel_sampler *s;

	assert_int_equal(accel_sampler_create(opts, 4, &s), 0);
	expect_of(s, four, 4, want);
	accel_sampler_destroy(s);
}

static struct accel_sampler_opts warm(void)
{
	struct accel_sampler_opts o = ACCEL_SAMPLER_OPTS_INIT;

	o.temperature = 1;
	return o;
}

static void test_steps(void **state)
{
	const struct accel_token_bias never = { T40, -INFINITY };
	struct accel_sampler_opts o = warm();
	double a, b, c;

	(void)state;
	expect_four(&o, 0.2, 0.4, 0.1, 0.3);
	o.temperature = 0.5f;
	expect_four(&o, 4.0 / 30, 16.0 / 30, 1.0 / 30, 9.0 / 30);
	o.temperature = 0;
	expect_four(&o, 0, 1, 0, 0);
	o = warm();
	o.top_k = 2;
	expect_four(&o, 0, 4.0 / 7, 0, 3.0 / 7);
	o = warm();
	o.top_p = 0.75f;
	expect_four(&o, 2.0 / 9, 4.0 / 9, 0, 3.0 / 9);
	o.top_p = 0;
	expect_four(&o, 0, 1, 0, 0);
	o = warm();
	o.min_p = 0.6f;
	expect_four(&o, 0, 4.0 / 7, 0, 3.0 / 7);
	/* The entropy is 1.2799; 0.3 is next to it, then 0.2, 0.4, 0.1. */
	o = warm();
	o.typical_p = 0.4f;
	expect_four(&o, 0.4, 0, 0, 0.6);
	/* What cuts off does not see the temperature: at 0.1 a top-p of 0.5 would leave one. */
	o = warm();
	o.temperature = 0.1f;
	o.top_p = 0.5f;
	a = pow(0.4, 10);
	b = pow(0.3, 10);
	expect_four(&o, 0, a / (a + b), 0, b / (a + b));
	/* Top-k comes before top-p: 4/7 is above 0.5. */
	o = warm();
	o.top_k = 2;
	o.top_p = 0.5f;
	expect_four(&o, 0, 1, 0, 0);
	o = warm();
	o.bias = &never;
	o.bias_count = 1;
	expect_four(&o, 2.0 / 6, 0, 1.0 / 6, 3.0 / 6);
	a = 0.2;
	b = 0.4;
	c = 0.1;
	expect_four(NULL, a * 0, b / 0.4, c * 0, 0);
}

static void test_penalties(void **state)
{
	struct accel_sampler_opts o = warm();
	const float logits[3] = { 1, -1, 2 };
	double want[3], sum;
	struct accel_sampler *s;
	uint32_t i;

	(void)state;
	o.repeat_penalty = 2;
	o.frequency_penalty = 0.25f;
	o.presence_penalty = 0.5f;
	o.last = 3;
	assert_int_equal(accel_sampler_create(&o, 3, &s), 0);
	assert_int_equal(accel_sampler_accept(s, 3), -EINVAL);
	/* The first is forgotten: the last three are 0, 0, 1. */
	assert_int_equal(accel_sampler_accept(s, 2), 0);
	assert_int_equal(accel_sampler_accept(s, 0), 0);
	assert_int_equal(accel_sampler_accept(s, 0), 0);
	assert_int_equal(accel_sampler_accept(s, 1), 0);
	want[0] = exp(1.0 / 2 - 2 * 0.25 - 0.5);
	want[1] = exp(-1.0 * 2 - 0.25 - 0.5);
	want[2] = exp(2);
	sum = want[0] + want[1] + want[2];
	for (i = 0; i < 3; i++)
		want[i] /= sum;
	expect_of(s, logits, 3, want);
	accel_sampler_destroy(s);
}

/* Logits of many tokens: i * 7919 is a permutation of them. */
static void make_large(float *logits)
{
	uint32_t i;

	for (i = 0; i < LARGE; i++)
		logits[i] = -0.01f * (float)(i * 7919ull % LARGE);
}

/* Geometric: what is cut off has a closed form, and equal logits go by token. */
static void test_many(void **state)
{
	static const uint32_t ks[] = { 1, 2, 3, 127, 128, 129, 1000, 4999, 5000 };
	float *logits = malloc(LARGE * sizeof(*logits));
	struct accel_chosen top[200];
	struct accel_sampler_opts o = warm();
	double *p = malloc(LARGE * sizeof(*p)), r = exp(-0.01), sum;
	struct accel_sampler *s;
	uint32_t i, k, n, rank;

	(void)state;
	assert_non_null(logits);
	assert_non_null(p);
	make_large(logits);
	for (k = 0; k < sizeof(ks) / sizeof(ks[0]); k++) {
		o.top_k = ks[k];
		assert_int_equal(accel_sampler_create(&o, LARGE, &s), 0);
		assert_int_equal(accel_sampler_probabilities(s, logits, p), 0);
		for (i = 0; i < LARGE; i++) {
			rank = (uint32_t)(i * 7919ull % LARGE);
			sum = rank < ks[k] ? pow(r, rank) * (1 - r) / (1 - pow(r, ks[k])) : 0;
			assert_true(fabs(p[i] - sum) < 0.00001 * sum + 0.000000000001);
		}
		accel_sampler_destroy(s);
	}
	/* 1 - r^n >= 0.9 (1 - r^5000): n = 231 */
	o = warm();
	o.top_p = 0.9f;
	assert_int_equal(accel_sampler_create(&o, LARGE, &s), 0);
	assert_int_equal(accel_sampler_probabilities(s, logits, p), 0);
	for (i = 0, n = 0; i < LARGE; i++)
		n += p[i] > 0;
	assert_int_equal(n, 231);
	assert_int_equal(accel_sampler_top(s, logits, top, 200), 0);
	for (i = 0; i < 200; i++) {
		assert_int_equal(top[i].token * 7919ull % LARGE, i);
		assert_true(fabs((double)top[i].logprob - log((1 - r) / (1 - pow(r, LARGE))) +
				 0.01 * i) < 0.0001);
	}
	for (i = 0; i < LARGE; i++)
		logits[i] = 0;
	assert_int_equal(accel_sampler_top(s, logits, top, 200), 0);
	for (i = 0; i < 200; i++)
		assert_int_equal(top[i].token, i);
	accel_sampler_destroy(s);
	free(logits);
	free(p);
}

/* Drawn 20,000 times; with three degrees of freedom chi-square is above 16.3 once in 1,000. */
static void chi_square(const struct accel_sampler_opts *opts, uint64_t seed, const double *want)
{
	struct accel_sampler_opts o = *opts;
	struct accel_chosen chosen;
	double n[4] = { 0 }, chi = 0;
	struct accel_sampler *s;
	uint32_t i;

	o.seed = seed;
	assert_int_equal(accel_sampler_create(&o, 4, &s), 0);
	for (i = 0; i < 20000; i++) {
		assert_int_equal(accel_sampler_sample(s, four, &chosen), 0);
		n[chosen.token]++;
		assert_true(fabs((double)chosen.logprob - (double)four[chosen.token]) < 0.00001);
	}
	for (i = 0; i < 4; i++) {
		if (want[i] == 0) {
			assert_true(n[i] == 0);
			continue;
		}
		chi += (n[i] - 20000 * want[i]) * (n[i] - 20000 * want[i]) / (20000 * want[i]);
	}
	if (!(chi <= 16.3))
		fail_msg("seed %llu: chi-square %g", (unsigned long long)seed, chi);
	accel_sampler_destroy(s);
}

static void test_draws(void **state)
{
	struct accel_sampler_opts o = warm();
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 10; seed++) {
		chi_square(&o, seed, (const double[]) { 0.2, 0.4, 0.1, 0.3 });
		o.temperature = 2;
		chi_square(&o, seed, (const double[]) {
			sqrt(0.2) / 1.94431, sqrt(0.4) / 1.94431, sqrt(0.1) / 1.94431,
			sqrt(0.3) / 1.94431 });
		o.temperature = 1;
		o.top_k = 3;
		chi_square(&o, seed, (const double[]) { 2.0 / 9, 4.0 / 9, 0, 3.0 / 9 });
		o.top_k = 0;
	}
}

/* The numbers are those of the generator, whatever else there is. */
static void test_generator(void **state)
{
	struct accel_sampler_opts o = warm();
	struct accel_sampler *s;

	(void)state;
	o.seed = 1234567;
	assert_int_equal(accel_sampler_create(&o, 4, &s), 0);
	/* Of the reference: 6457827717110365317, 3203168211198807973 */
	assert_true(fabs(accel_sampler_uniform(s) - 0.350079716) < 0.000001);
	assert_true(fabs(accel_sampler_uniform(s) - 0.173644653) < 0.000001);
	accel_sampler_destroy(s);
}

static int is_odd(void *user, uint32_t token)
{
	++*(uint32_t *)user;
	return token & 1;
}

static int is_none(void *user, uint32_t token)
{
	(void)user;
	(void)token;
	return 0;
}

static void test_mask(void **state)
{
	struct accel_sampler_opts o = warm();
	uint32_t asked = 0, i, n[4] = { 0 };
	struct accel_chosen chosen;
	struct accel_sampler *s;

	(void)state;
	assert_int_equal(accel_sampler_create(NULL, 4, &s), 0);
	assert_int_equal(accel_sampler_set_mask(s, is_odd, &asked), 0);
	assert_int_equal(accel_sampler_sample(s, four, &chosen), 0);
	assert_int_equal(chosen.token, T40);
	/* The winner was allowed: nobody else is asked about. */
	assert_int_equal(asked, 1);
	accel_sampler_set_mask(s, is_none, NULL);
	assert_int_equal(accel_sampler_sample(s, four, &chosen), -ENODATA);
	accel_sampler_destroy(s);
	assert_int_equal(accel_sampler_create(&o, 4, &s), 0);
	accel_sampler_set_mask(s, is_odd, &asked);
	for (i = 0; i < 7000; i++) {
		assert_int_equal(accel_sampler_sample(s, four, &chosen), 0);
		n[chosen.token]++;
	}
	assert_int_equal(n[T20] + n[T10], 0);
	/* 4/7 of 7000: five times the deviation of 41 */
	assert_true(n[T40] > 3795 && n[T40] < 4205);
	accel_sampler_destroy(s);
}

static int not_40(void *user, uint32_t token)
{
	return user ? -ENOLINK : token != T40;
}

/* What is drawn again counts with what was drawn at once: 3/7 + 4/7 * 3/5, and 4/7 * 2/5. */
static void test_mask_probabilities(void **state)
{
	const double want[4] = { 8.0 / 35, 0, 0, 27.0 / 35 };
	struct accel_sampler_opts o = warm();
	struct accel_chosen chosen;
	struct accel_sampler *s;
	uint32_t i, n[4] = { 0 };
	double p[4];

	(void)state;
	o.top_k = 2;
	o.seed = 11;
	assert_int_equal(accel_sampler_create(&o, 4, &s), 0);
	accel_sampler_set_mask(s, not_40, NULL);
	expect_of(s, four, 4, want);
	for (i = 0; i < 7000; i++) {
		assert_int_equal(accel_sampler_sample(s, four, &chosen), 0);
		n[chosen.token]++;
	}
	/* 1600: five times the deviation of 35 */
	assert_true(n[T20] > 1425 && n[T20] < 1775 && n[T20] + n[T30] == 7000);
	accel_sampler_set_mask(s, not_40, n);
	assert_int_equal(accel_sampler_sample(s, four, &chosen), -ENOLINK);
	assert_int_equal(accel_sampler_probabilities(s, four, p), -ENOLINK);
	accel_sampler_destroy(s);
}

static void test_mistakes(void **state)
{
	const float odd[3][4] = {
		{ NAN, 1, 2, -INFINITY }, { 0, 1, INFINITY, -INFINITY }, { NAN, NAN, NAN, NAN }
	};
	const float none[4] = { -INFINITY, -INFINITY, -INFINITY, -INFINITY };
	const struct accel_token_bias beyond = { 4, 1 };
	struct accel_sampler_opts o = warm();
	struct accel_chosen chosen;
	struct accel_sampler *s;
	double p[4];
	uint32_t i;

	(void)state;
	assert_int_equal(accel_sampler_create(&o, 4, &s), 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(accel_sampler_sample(s, odd[i], &chosen), -EDOM);
		assert_int_equal(accel_sampler_top(s, odd[i], &chosen, 1), -EDOM);
		assert_int_equal(accel_sampler_probabilities(s, odd[i], p), -EDOM);
	}
	assert_int_equal(accel_sampler_sample(s, none, &chosen), -ENODATA);
	assert_int_equal(accel_sampler_top(s, four, &chosen, 5), -EINVAL);
	accel_sampler_destroy(s);
	accel_sampler_destroy(NULL);
	assert_int_equal(accel_sampler_create(&o, 0, &s), -EINVAL);
	o.top_p = NAN;
	assert_int_equal(accel_sampler_create(&o, 4, &s), -EINVAL);
	o = warm();
	o.temperature = -1;
	assert_int_equal(accel_sampler_create(&o, 4, &s), -EINVAL);
	o = warm();
	o.bias = &beyond;
	o.bias_count = 1;
	assert_int_equal(accel_sampler_create(&o, 4, &s), -EINVAL);
	o = warm();
	o.last = 65537;
	assert_int_equal(accel_sampler_create(&o, 4, &s), -EINVAL);
	o = warm();
	o.size++;
	assert_int_equal(accel_sampler_create(&o, 4, &s), -E2BIG);
	assert_int_equal(accel_sampler_create(NULL, 4, NULL), -EINVAL);
	assert_int_equal(accel_sampler_sample(NULL, four, &chosen), -EINVAL);
	assert_int_equal(accel_sampler_set_mask(NULL, NULL, NULL), -EINVAL);
	assert_int_equal(accel_sampler_probabilities(NULL, four, NULL), -EINVAL);
	assert_true(accel_sampler_uniform(NULL) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_penalties),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_draws),
		cmocka_unit_test(test_generator),
		cmocka_unit_test(test_mask),
		cmocka_unit_test(test_mask_probabilities),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests_name("sampler", tests, NULL, NULL);
}
