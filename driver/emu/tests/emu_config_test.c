// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Validation of configurations.
 */
#include <kunit/test.h>

#include <linux/mm.h>
#include <linux/string.h>

#include "../../uma_regs.h"
#include "../emu_compat.h"
#include "../emu_config.h"

static void emu_config_defaults(struct kunit *test)
{
	struct emu_config cfg;
	const char *why = "unset";

	memset(&cfg, 0xff, sizeof(cfg));
	emu_config_init(&cfg);
	KUNIT_EXPECT_TRUE(test, uma_emu_config_is_valid(&cfg, &why));
	KUNIT_EXPECT_NULL(test, why);
	KUNIT_EXPECT_FALSE(test, cfg.paranoid);
	KUNIT_EXPECT_STREQ(test, cfg.profile, "full");
}

static void emu_config_profiles(struct kunit *test)
{
	static const char *const good[] = { "m1", "m2", "m3", "ultra", "full" };
	static const char *const bad[] = { "", "m", "m11", "M1", "m1 ", "none" };
	struct emu_config cfg;
	const char *why;
	size_t i;

	emu_config_init(&cfg);
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		strscpy(cfg.profile, good[i], sizeof(cfg.profile));
		KUNIT_EXPECT_TRUE_MSG(test, uma_emu_config_is_valid(&cfg, NULL), "%s", good[i]);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		strscpy(cfg.profile, bad[i], sizeof(cfg.profile));
		KUNIT_EXPECT_FALSE_MSG(test, uma_emu_config_is_valid(&cfg, &why), "%s", bad[i]);
		KUNIT_EXPECT_STREQ(test, why, "profile");
	}
	/* Not terminated: the end of the array must not be read past. */
	memset(cfg.profile, 'm', sizeof(cfg.profile));
	KUNIT_EXPECT_FALSE(test, uma_emu_config_is_valid(&cfg, NULL));
}

struct emu_config_case {
	const char *field;
	u64 value;
	bool good;
};

static const struct emu_config_case emu_config_cases[] = {
	{ "latency_us", EMU_LATENCY_MAX_US, true },
	{ "latency_us", EMU_LATENCY_MAX_US + 1, false },
	{ "task_us", EMU_LATENCY_MAX_US, true },
	{ "task_us", EMU_LATENCY_MAX_US + 1, false },
	{ "tile_us", EMU_LATENCY_MAX_US, true },
	{ "tile_us", EMU_LATENCY_MAX_US + 1, false },
	{ "stale_ms", 0, true },
	{ "stale_ms", EMU_STALE_MAX_MS, true },
	{ "stale_ms", EMU_STALE_MAX_MS + 1, false },
	{ "reset_ms", 0, false },
	{ "reset_ms", 1, true },
	{ "reset_ms", EMU_RESET_MAX_MS, true },
	{ "reset_ms", EMU_RESET_MAX_MS + 1, false },
	{ "address_spaces", 1, true },
	{ "address_spaces", UMA_MAX_AS, true },
	{ "address_spaces", 0, false },
	{ "address_spaces", UMA_MAX_AS + 1, false },
	{ "ring_order", 1, true },
	{ "ring_order", EMU_RING_ORDER_MAX, true },
	{ "ring_order", 0, false },
	{ "ring_order", EMU_RING_ORDER_MAX + 1, false },
	{ "memory", PAGE_SIZE * 1000ULL, true },
	{ "memory", PAGE_SIZE + 1, false },
};

static void emu_config_set(struct emu_config *cfg, const char *field, u64 value)
{
	if (!strcmp(field, "task_us"))
		cfg->task_us = value;
	else if (!strcmp(field, "tile_us"))
		cfg->tile_us = value;
	else if (!strcmp(field, "latency_us"))
		cfg->latency_us = value;
	else if (!strcmp(field, "stale_ms"))
		cfg->stale_ms = value;
	else if (!strcmp(field, "reset_ms"))
		cfg->reset_ms = value;
	else if (!strcmp(field, "address_spaces"))
		cfg->address_spaces = value;
	else if (!strcmp(field, "ring_order"))
		cfg->ring_order = value;
	else if (!strcmp(field, "memory"))
		cfg->memory = value;
}

static void emu_config_limits(struct kunit *test)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(emu_config_cases); i++) {
		const struct emu_config_case *c = &emu_config_cases[i];
		const char *why = NULL;
		struct emu_config cfg;

		emu_config_init(&cfg);
		emu_config_set(&cfg, c->field, c->value);
		KUNIT_EXPECT_EQ_MSG(test, uma_emu_config_is_valid(&cfg, &why), c->good,
				    "case %zu, %s", i, c->field);
		if (!c->good)
			KUNIT_EXPECT_STREQ(test, why, c->field);
	}
}

static struct kunit_case emu_config_tests[] = {
	KUNIT_CASE(emu_config_defaults),
	KUNIT_CASE(emu_config_profiles),
	KUNIT_CASE(emu_config_limits),
	{}
};

static struct kunit_suite emu_config_suite = {
	.name = "uma_emu_config",
	.test_cases = emu_config_tests,
};

kunit_test_suite(emu_config_suite);

MODULE_IMPORT_NS(EMU_KUNIT_NS);
MODULE_DESCRIPTION("KUnit tests of the emulated unified-memory accelerator");
MODULE_LICENSE("Dual MIT/GPL");
