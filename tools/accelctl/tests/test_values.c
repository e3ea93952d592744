// SPDX-License-Identifier: MIT
/*
 * Conversions between float64 and the narrow types, all values of each.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "gemm.h"

static bool same(double a, double b)
{
	return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

static void check_round_trip(uint32_t dtype)
{
	uint32_t bits;

	for (bits = 0; bits < 0x10000; bits++) {
		uint16_t from = (uint16_t)bits, to = 0;
		double value = value_get(dtype, &from, 0);

		value_put(dtype, &to, 0, value);
		if (isnan(value))
			assert_true(isnan(value_get(dtype, &to, 0)));
		else
			assert_int_equal(from, to);
		assert_true(same(value_round(dtype, value), value));
	}
}

/* Halfway between neighbours goes to the even one, anything else to the nearer */
static void check_ties(uint32_t dtype, uint32_t last)
{
	uint32_t bits;

	for (bits = 0; bits < last; bits++) {
		uint16_t low = (uint16_t)bits, high = (uint16_t)(bits + 1), to = 0;
		double a = value_get(dtype, &low, 0), b = value_get(dtype, &high, 0);
		double half = a + (b - a) / 2;

		value_put(dtype, &to, 0, half);
		assert_int_equal(to, bits & 1 ? high : low);
		value_put(dtype, &to, 0, nextafter(half, b));
		assert_int_equal(to, high);
		value_put(dtype, &to, 0, nextafter(half, a));
		assert_int_equal(to, low);
		value_put(dtype, &to, 0, -half);
		assert_int_equal(to, 0x8000 | (bits & 1 ? high : low));
	}
}

static void test_f16(void **state)
{
	uint16_t bits = 0;

	(void)state;
	check_round_trip(ACCEL_F16);
	check_ties(ACCEL_F16, 0x7bff);
	value_put(ACCEL_F16, &bits, 0, 1.0 / 3);
	assert_int_equal(bits, 0x3555);
	value_put(ACCEL_F16, &bits, 0, 65519.99);
	assert_int_equal(bits, 0x7bff);
	value_put(ACCEL_F16, &bits, 0, 65520);
	assert_int_equal(bits, 0x7c00);
	value_put(ACCEL_F16, &bits, 0, -1e300);
	assert_int_equal(bits, 0xfc00);
	value_put(ACCEL_F16, &bits, 0, 1 / 0x1p25);
	assert_int_equal(bits, 0);
	value_put(ACCEL_F16, &bits, 0, 1.5 / 0x1p25);
	assert_int_equal(bits, 1);
	value_put(ACCEL_F16, &bits, 0, -0.0);
	assert_int_equal(bits, 0x8000);
}

static void test_bf16(void **state)
{
	uint16_t bits = 0;

	(void)state;
	check_round_trip(ACCEL_BF16);
	check_ties(ACCEL_BF16, 0x7f7f);
	value_put(ACCEL_BF16, &bits, 0, 1.0 / 3);
	assert_int_equal(bits, 0x3eab);
	value_put(ACCEL_BF16, &bits, 0, FLT_MAX);
	assert_int_equal(bits, 0x7f80);
	/* Rounding by way of binary32 would give 0x3f80 */
	value_put(ACCEL_BF16, &bits, 0, 1 + 1 / 0x1p8 + 1 / 0x1p40);
	assert_int_equal(bits, 0x3f81);
}

static void test_integers(void **state)
{
	static const struct {
		uint32_t dtype;
		double in, out;
	} cases[] = {
		{ ACCEL_S8, 127.5, 127 }, { ACCEL_S8, -200, -128 }, { ACCEL_S8, 2.5, 2 },
		{ ACCEL_S8, 3.5, 4 }, { ACCEL_U8, -1, 0 }, { ACCEL_U8, 300, 255 },
		{ ACCEL_S4, 8, 7 }, { ACCEL_S4, -9, -8 }, { ACCEL_U4, 16, 15 },
		{ ACCEL_S32, 3e9, 2147483647 }, { ACCEL_S32, -3e9, -2147483648.0 },
		{ ACCEL_S8, NAN, 0 },
	};
	unsigned char buf[8];
	int32_t value;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(buf, 0, sizeof(buf));
		value_put(cases[i].dtype, buf, 1, cases[i].in);
		assert_true(value_get(cases[i].dtype, buf, 1) == cases[i].out);
	}
	for (value = -128; value < 256; value++) {
		if (value < 128) {
			value_put(ACCEL_S8, buf, 3, value);
			assert_true(value_get(ACCEL_S8, buf, 3) == value);
		}
		if (value >= 0) {
			value_put(ACCEL_U8, buf, 3, value);
			assert_true(value_get(ACCEL_U8, buf, 3) == value);
		}
	}
}

/* The even element is in the low nibble, and neighbours are left alone */
static void test_nibbles(void **state)
{
	unsigned char buf[8] = { 0 };
	uint64_t i;

	(void)state;
	for (i = 0; i < 16; i++)
		value_put(ACCEL_S4, buf, i, (double)i - 8);
	assert_int_equal(buf[0], 0x98);
	assert_int_equal(buf[7], 0x76);
	for (i = 0; i < 16; i++)
		assert_true(value_get(ACCEL_S4, buf, i) == (double)i - 8);
	value_put(ACCEL_S4, buf, 3, 0);
	assert_true(value_get(ACCEL_S4, buf, 2) == -6);
	assert_true(value_get(ACCEL_S4, buf, 3) == 0);
	assert_true(value_get(ACCEL_S4, buf, 4) == -4);
	assert_true(value_get(ACCEL_U4, buf, 0) == 8);
}

static void test_random(void **state)
{
	unsigned int ones[64] = { 0 }, bit;
	uint64_t i;

	(void)state;
	assert_true(value_random(1, 2, 3) == value_random(1, 2, 3));
	assert_true(value_random(1, 2, 3) != value_random(2, 2, 3));
	assert_true(value_random(1, 2, 3) != value_random(1, 3, 3));
	assert_true(value_random(1, 2, 3) != value_random(1, 2, 4));
	for (i = 0; i < 4096; i++)
		for (bit = 0; bit < 64; bit++)
			ones[bit] += value_random(5, 1, i) >> bit & 1;
	/* Six standard deviations */
	for (bit = 0; bit < 64; bit++)
		assert_in_range(ones[bit], 2048 - 192, 2048 + 192);
}

static void test_activations(void **state)
{
	static const struct {
		uint32_t act;
		double x, p0, p1, y;
	} cases[] = {
		{ ACCEL_ACT_NONE, -2, 0, 0, -2 },
		{ ACCEL_ACT_RELU, -2, 0, 0, 0 },
		{ ACCEL_ACT_RELU, 2, 0, 0, 2 },
		{ ACCEL_ACT_CLAMP, 9, 0, 6, 6 },
		{ ACCEL_ACT_CLAMP, -9, -1, 6, -1 },
		{ ACCEL_ACT_LEAKY_RELU, -2, 0.5, 0, -1 },
		{ ACCEL_ACT_SIGMOID, 0, 0, 0, 0.5 },
		{ ACCEL_ACT_TANH, 1, 0, 0, 0.76159415595576485 },
		{ ACCEL_ACT_GELU, 1, 0, 0, 0.84134474606854293 },
		{ ACCEL_ACT_GELU, -20, 0, 0, -5.507248237212467 / 1e88 },
		{ ACCEL_ACT_GELU_TANH, 1, 0, 0, 0.84119199060827 },
		{ ACCEL_ACT_SILU, 1, 0, 0, 0.73105857863000487 },
		{ ACCEL_ACT_HARD_SIGMOID, 1, 0.25, 0.5, 0.75 },
		{ ACCEL_ACT_HARD_SIGMOID, 9, 0.25, 0.5, 1 },
		{ ACCEL_ACT_HARD_SWISH, 3, 0, 0, 3 },
		{ ACCEL_ACT_HARD_SWISH, -3, 0, 0, 0 },
		{ ACCEL_ACT_ELU, -1, 2, 0, -1.2642411176571153 },
		{ ACCEL_ACT_CELU, -1, 0.5, 0, -0.43233235838169365 },
		{ ACCEL_ACT_SELU, -1, 2, 0.5, -0.63212055882855767 },
		{ ACCEL_ACT_SELU, 3, 2, 0.5, 1.5 },
		{ ACCEL_ACT_SOFTPLUS, 1, 0, 0, 1.3132616875182228 },
		{ ACCEL_ACT_SOFTSIGN, -3, 0, 0, -0.75 },
		{ ACCEL_ACT_MISH, 1, 0, 0, 0.8650983882673103 },
	};
	size_t i;
	uint32_t act;
	int k;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double y = act_apply(cases[i].act, cases[i].x, cases[i].p0, cases[i].p1);

		assert_true(fabs(y - cases[i].y) <= fabs(cases[i].y) / 1e12);
	}
	/* The slope is one: no step is steeper */
	for (act = 0; act < ACCEL_ACT_COUNT; act++) {
		const double low = act == ACCEL_ACT_CLAMP ? -1 : 0.2;

		for (k = -640; k < 640; k++) {
			double x = k / 64.0;
			double p0 = act == ACCEL_ACT_CLAMP ? -1 : 0.2;
			double step = act_apply(act, x + 1.0 / 64, p0, 0.5) -
				      act_apply(act, x, p0, 0.5);

			assert_true(fabs(step) * 64 <= act_slope(act, p0, 0.5) * 1.000000001);
		}
		assert_true(isnan(act_apply(act, NAN, 0, 1)));
		/* Infinities have a value: below a limit, above the number itself or a limit */
		assert_true(act == ACCEL_ACT_NONE || act == ACCEL_ACT_LEAKY_RELU ||
			    fabs(act_apply(act, -INFINITY, low, 0.5)) <= 1);
		assert_true(act_apply(act, INFINITY, low, 0.5) > 0);
	}
	assert_false(signbit(act_apply(ACCEL_ACT_RELU, -0.0, 0, 0)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_f16),
		cmocka_unit_test(test_bf16),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_nibbles),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_activations),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("accelctl_values", tests, NULL, NULL);
}
