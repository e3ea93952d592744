// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The thermal model.
 */
#include <kunit/test.h>

#include <linux/time64.h>

#include "../emu_compat.h"
#include "../emu_device.h"

static void emu_power_thermal(struct kunit *test)
{
	const u64 s = NSEC_PER_SEC;
	const s64 c = 1000000;
	s64 temp = 30 * c;
	int i;

	/* One time constant: 63.2 %, independent of the number of steps. */
	KUNIT_EXPECT_LT(test, emu_thermal_step(30 * c, 130 * c, 10 * s, 10 * s), 93700000);
	KUNIT_EXPECT_GT(test, emu_thermal_step(30 * c, 130 * c, 10 * s, 10 * s), 92700000);
	for (i = 0; i < 10000; i++)
		temp = emu_thermal_step(temp, 130 * c, s / 1000, 10 * s);
	KUNIT_EXPECT_LT(test, temp, 93700000);
	KUNIT_EXPECT_GT(test, temp, 92700000);
	KUNIT_EXPECT_EQ(test, emu_thermal_step(90 * c, 30 * c, 1000 * s, 10 * s), 30 * c);
	KUNIT_EXPECT_EQ(test, emu_thermal_step(90 * c, 30 * c, 0, 10 * s), 90 * c);
}

static struct kunit_case emu_power_tests[] = {
	KUNIT_CASE(emu_power_thermal),
	{}
};

static struct kunit_suite emu_power_suite = {
	.name = "uma_emu_power",
	.test_cases = emu_power_tests,
};

kunit_test_suite(emu_power_suite);
