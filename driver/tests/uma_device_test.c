// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which registers are those of a device, and what it means that they cannot be read.
 */
#include <linux/platform_device.h>
#include <linux/regmap.h>

#include <kunit/device.h>
#include <kunit/test.h>

#include "uma_device.h"

static int uma_device_test_read(void *context, unsigned int reg, unsigned int *value)
{
	*value = 0;
	return 0;
}

/* Reads that fail from now on, the identification among them if @gone */
static int uma_device_test_failures;
static bool uma_device_test_gone;

static int uma_device_test_read_badly(void *context, unsigned int reg, unsigned int *value)
{
	if (uma_device_test_gone || (reg != UMA_REG_MAGIC && uma_device_test_failures-- > 0))
		return -EIO;
	*value = reg == UMA_REG_MAGIC ? UMA_MAGIC : 0;
	return 0;
}

static struct regmap *uma_device_test_regs(struct kunit *test, struct device *dev, const char *name)
{
	const struct regmap_config config = {
		.name = name,
		.reg_bits = 32,
		.val_bits = 32,
		.reg_stride = 4,
		.reg_read = uma_device_test_read,
	};
	struct regmap *regs = devm_regmap_init(dev, NULL, NULL, &config);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, regs);
	return regs;
}

/* The parent is a bus, or a device with several functions: it has registers of its own. */
static void uma_device_test_find_regs(struct kunit *test)
{
	struct device *parent = kunit_device_register(test, "uma-test-parent");
	struct platform_device *pdev;
	struct regmap *regs;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, parent);
	pdev = platform_device_alloc("uma-test", PLATFORM_DEVID_NONE);
	KUNIT_ASSERT_NOT_NULL(test, pdev);
	pdev->dev.parent = parent;

	KUNIT_EXPECT_TRUE(test, IS_ERR(uma_find_regs(pdev)));
	uma_device_test_regs(test, parent, NULL);
	KUNIT_EXPECT_TRUE(test, IS_ERR(uma_find_regs(pdev)));
	uma_device_test_regs(test, parent, "clock");
	KUNIT_EXPECT_TRUE(test, IS_ERR(uma_find_regs(pdev)));
	regs = uma_device_test_regs(test, parent, UMA_REGMAP);
	KUNIT_EXPECT_PTR_EQ(test, uma_find_regs(pdev), regs);
	uma_device_test_regs(test, parent, "power");
	KUNIT_EXPECT_PTR_EQ(test, uma_find_regs(pdev), regs);
	platform_device_put(pdev);
}

/* That one read fails does not mean that the device has gone, and lets go of memory. */
static void uma_device_test_poll(struct kunit *test)
{
	const struct regmap_config config = {
		.reg_bits = 32,
		.val_bits = 32,
		.reg_stride = 4,
		.reg_read = uma_device_test_read_badly,
	};
	struct uma_device *uma = kunit_kzalloc(test, sizeof(*uma), GFP_KERNEL);
	struct device *dev = kunit_device_register(test, "uma-test-device");

	KUNIT_ASSERT_NOT_NULL(test, uma);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	uma->regs = devm_regmap_init(dev, NULL, NULL, &config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, uma->regs);

	uma_device_test_gone = false;
	uma_device_test_failures = 1;
	KUNIT_EXPECT_EQ(test, uma_poll(uma, UMA_REG_INVAL_STATUS, UMA_INVAL_BUSY, 0, 1000), 0);
	uma_device_test_failures = INT_MAX;
	KUNIT_EXPECT_EQ(test, uma_poll(uma, UMA_REG_INVAL_STATUS, UMA_INVAL_BUSY, 0, 10),
			-ETIMEDOUT);
	uma_device_test_gone = true;
	KUNIT_EXPECT_EQ(test, uma_poll(uma, UMA_REG_INVAL_STATUS, UMA_INVAL_BUSY, 0, 1000),
			-ENODEV);
}

static struct kunit_case uma_device_test_cases[] = {
	KUNIT_CASE(uma_device_test_find_regs),
	KUNIT_CASE(uma_device_test_poll),
	{}
};

static struct kunit_suite uma_device_test_suite = {
	.name = "uma_device",
	.test_cases = uma_device_test_cases,
};

kunit_test_suite(uma_device_test_suite);
