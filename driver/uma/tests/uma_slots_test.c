// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Hardware address spaces and who has them.
 */
#include <kunit/test.h>

#include "uma_vm.h"

static int uma_slots_test_init(struct kunit *test)
{
	struct uma_slots *slots = kunit_kzalloc(test, sizeof(*slots), GFP_KERNEL);

	if (!slots)
		return -ENOMEM;
	uma_slots_init(slots, 3);
	test->priv = slots;
	return 0;
}

static const char owners[8];

/* As for a job: choose, have the owner before let go, take. */
static int uma_slots_test_get(struct uma_slots *slots, const void *owner, bool *fresh)
{
	int slot = uma_slots_choose(slots, owner);

	if (slot < 0)
		return slot;
	*fresh = slots->slot[slot].owner != owner;
	if (*fresh)
		uma_slots_drop(slots, slot);
	uma_slots_get(slots, slot, owner);
	return slot;
}

/* Who is chosen to lose its slot has it until it is dropped: the device may still reach it. */
static void uma_slots_test_choose(struct kunit *test)
{
	struct uma_slots *slots = test->priv;
	int slot[3], i;
	bool fresh;

	for (i = 0; i < 3; i++) {
		slot[i] = uma_slots_test_get(slots, &owners[i], &fresh);
		uma_slots_put(slots, slot[i]);
	}
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, uma_slots_choose(slots, &owners[3]), slot[0]);
		KUNIT_EXPECT_EQ(test, uma_slots_find(slots, &owners[0]), slot[0]);
		KUNIT_EXPECT_EQ(test, uma_slots_find(slots, &owners[3]), -ENOENT);
		KUNIT_EXPECT_FALSE(test, uma_slots_busy(slots, slot[0]));
	}
	/* It may even go on with it. */
	KUNIT_EXPECT_EQ(test, uma_slots_test_get(slots, &owners[0], &fresh), slot[0]);
	KUNIT_EXPECT_FALSE(test, fresh);
	KUNIT_EXPECT_TRUE(test, uma_slots_busy(slots, slot[0]));
	KUNIT_EXPECT_EQ(test, uma_slots_choose(slots, &owners[3]), slot[1]);
}

static void uma_slots_test_keep(struct kunit *test)
{
	struct uma_slots *slots = test->priv;
	bool fresh;
	int a, b;

	a = uma_slots_test_get(slots, &owners[0], &fresh);
	KUNIT_EXPECT_GE(test, a, 0);
	KUNIT_EXPECT_TRUE(test, fresh);
	/* A second job of the same owner, and one after it was idle. */
	KUNIT_EXPECT_EQ(test, uma_slots_test_get(slots, &owners[0], &fresh), a);
	KUNIT_EXPECT_FALSE(test, fresh);
	KUNIT_EXPECT_FALSE(test, uma_slots_put(slots, a));
	KUNIT_EXPECT_TRUE(test, uma_slots_put(slots, a));
	KUNIT_EXPECT_EQ(test, uma_slots_find(slots, &owners[0]), a);
	KUNIT_EXPECT_EQ(test, uma_slots_test_get(slots, &owners[0], &fresh), a);
	KUNIT_EXPECT_FALSE(test, fresh);

	b = uma_slots_test_get(slots, &owners[1], &fresh);
	KUNIT_EXPECT_TRUE(test, fresh);
	KUNIT_EXPECT_NE(test, a, b);
	KUNIT_EXPECT_EQ(test, uma_slots_find(slots, &owners[2]), -ENOENT);
}

static void uma_slots_test_steal(struct kunit *test)
{
	struct uma_slots *slots = test->priv;
	int slot[3], i;
	bool fresh;

	for (i = 0; i < 3; i++)
		slot[i] = uma_slots_test_get(slots, &owners[i], &fresh);
	KUNIT_EXPECT_EQ(test, uma_slots_test_get(slots, &owners[3], &fresh), -EBUSY);
	KUNIT_EXPECT_EQ(test, uma_slots_find(slots, &owners[3]), -ENOENT);

	/* The one that has been idle for longest since it was last taken. */
	uma_slots_put(slots, slot[2]);
	uma_slots_put(slots, slot[0]);
	KUNIT_EXPECT_EQ(test, uma_slots_test_get(slots, &owners[3], &fresh), slot[0]);
	KUNIT_EXPECT_TRUE(test, fresh);
	KUNIT_EXPECT_EQ(test, uma_slots_find(slots, &owners[0]), -ENOENT);
	KUNIT_EXPECT_EQ(test, uma_slots_find(slots, &owners[2]), slot[2]);
	KUNIT_EXPECT_EQ(test, uma_slots_find(slots, &owners[1]), slot[1]);

	/* Who lost it gets another, and has to set it up. */
	KUNIT_EXPECT_EQ(test, uma_slots_test_get(slots, &owners[0], &fresh), slot[2]);
	KUNIT_EXPECT_TRUE(test, fresh);
	KUNIT_EXPECT_EQ(test, uma_slots_test_get(slots, &owners[2], &fresh), -EBUSY);
}

static void uma_slots_test_drop(struct kunit *test)
{
	struct uma_slots *slots = test->priv;
	int slot[3], i;
	bool fresh;

	for (i = 0; i < 3; i++) {
		slot[i] = uma_slots_test_get(slots, &owners[i], &fresh);
		uma_slots_put(slots, slot[i]);
	}
	/* A free one before any that somebody still has. */
	uma_slots_drop(slots, slot[2]);
	KUNIT_EXPECT_EQ(test, uma_slots_find(slots, &owners[2]), -ENOENT);
	KUNIT_EXPECT_EQ(test, uma_slots_test_get(slots, &owners[3], &fresh), slot[2]);
	KUNIT_EXPECT_TRUE(test, fresh);
	KUNIT_EXPECT_EQ(test, uma_slots_find(slots, &owners[0]), slot[0]);
}

static struct kunit_case uma_slots_cases[] = {
	KUNIT_CASE(uma_slots_test_keep),
	KUNIT_CASE(uma_slots_test_choose),
	KUNIT_CASE(uma_slots_test_steal),
	KUNIT_CASE(uma_slots_test_drop),
	{}
};

static struct kunit_suite uma_slots_suite = {
	.name = "uma_slots",
	.init = uma_slots_test_init,
	.test_cases = uma_slots_cases,
};

kunit_test_suite(uma_slots_suite);
