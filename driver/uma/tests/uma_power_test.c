// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Arithmetic of load and clock.
 */
#include <kunit/test.h>

#include <linux/time64.h>

#include "uma_pm.h"

static void uma_power_percent(struct kunit *test)
{
	const u64 s = NSEC_PER_SEC;

	KUNIT_EXPECT_EQ(test, uma_busy_percent(0, s, 4), 0);
	KUNIT_EXPECT_EQ(test, uma_busy_percent(s, s, 4), 25);
	KUNIT_EXPECT_EQ(test, uma_busy_percent(4 * s, s, 4), 100);
	KUNIT_EXPECT_EQ(test, uma_busy_percent(s / 200 - 1, s, 1), 0);
	KUNIT_EXPECT_EQ(test, uma_busy_percent(s / 200, s, 1), 1);
	/* The device's clock and ours differ a little. */
	KUNIT_EXPECT_EQ(test, uma_busy_percent(s + 5, s, 1), 100);
	KUNIT_EXPECT_EQ(test, uma_busy_percent(s, 0, 1), 0);
	KUNIT_EXPECT_EQ(test, uma_busy_percent(s, s, 0), 0);
	/* A day that nobody looked. */
	KUNIT_EXPECT_EQ(test, uma_busy_percent(86400 * s * 12, 86400 * s, 24), 50);
}

static void uma_power_steps(struct kunit *test)
{
	u32 i, last = 0, mhz;

	KUNIT_EXPECT_EQ(test, uma_devfreq_step(600, 1600, 0, 6), 600);
	KUNIT_EXPECT_EQ(test, uma_devfreq_step(600, 1600, 1, 6), 800);
	KUNIT_EXPECT_EQ(test, uma_devfreq_step(600, 1600, 5, 6), 1600);
	KUNIT_EXPECT_EQ(test, uma_devfreq_step(5, 5, 3, 6), 5);
	KUNIT_EXPECT_EQ(test, uma_devfreq_step(0, U32_MAX, 1, 2), U32_MAX);
	for (i = 0; i < 6; i++) {
		mhz = uma_devfreq_step(1, 3, i, 6);
		KUNIT_EXPECT_GE(test, mhz, last);
		KUNIT_EXPECT_GE(test, mhz, 1);
		KUNIT_EXPECT_LE(test, mhz, 3);
		last = mhz;
	}
}

static struct kunit_case uma_power_tests[] = {
	KUNIT_CASE(uma_power_percent),
	KUNIT_CASE(uma_power_steps),
	{}
};

static struct kunit_suite uma_power_suite = {
	.name = "uma_power",
	.test_cases = uma_power_tests,
};

kunit_test_suite(uma_power_suite);
