// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Mappings: adding, cutting, undoing.
 */
#include <kunit/test.h>

#include "uma_test_killed.h"
#include "uma_vm.h"

#define UMA_TEST_MAX	8

/* Stands for references to buffers: every mapping has one. */
static int uma_map_test_refs;

static void uma_map_test_get(struct uma_mapping *mapping)
{
	uma_map_test_refs++;
}

static void uma_map_test_put(struct uma_mapping *mapping)
{
	uma_map_test_refs--;
}

static int uma_map_test_init(struct kunit *test)
{
	struct uma_map_tree *tree = kunit_kzalloc(test, sizeof(*tree), GFP_KERNEL);

	if (!tree)
		return -ENOMEM;
	uma_map_test_refs = 0;
	uma_map_tree_init(tree, UMA_TEST_MAX, uma_map_test_get, uma_map_test_put);
	test->priv = tree;
	return 0;
}

static void uma_map_test_exit(struct kunit *test)
{
	if (!test->priv)
		return;
	uma_map_tree_clear(test->priv);
	KUNIT_EXPECT_EQ(test, uma_map_test_refs, 0);
}

/* The tree as text: "start-last@offset/flags" of each mapping. */
static const char *uma_map_test_text(struct kunit *test)
{
	struct uma_map_tree *tree = test->priv;
	char *text = kunit_kzalloc(test, 512, GFP_KERNEL);
	struct uma_mapping *m;
	size_t len = 0;
	u32 count = 0;

	KUNIT_ASSERT_NOT_NULL(test, text);
	for (m = uma_map_first(tree, 0, U64_MAX); m; m = uma_map_next(m, 0, U64_MAX)) {
		len += scnprintf(text + len, 512 - len, "%s%llx-%llx@%llx/%x", len ? " " : "",
				 m->start, m->last, m->offset, m->flags);
		count++;
	}
	KUNIT_EXPECT_EQ(test, tree->count, count);
	/* In the middle of a change what was removed has its reference still. */
	KUNIT_EXPECT_GE(test, uma_map_test_refs, (int)count);
	return text;
}

static void uma_map_test_one(struct kunit *test, u64 start, u64 last, u64 offset, u32 flags)
{
	struct uma_map_txn txn;

	uma_map_begin(&txn, test->priv);
	KUNIT_EXPECT_EQ(test, uma_map_add(&txn, start, last, NULL, offset, flags), 0);
	uma_map_commit(&txn);
}

static int uma_map_test_cut(struct kunit *test, u64 start, u64 last)
{
	struct uma_map_txn txn;
	int ret;

	uma_map_begin(&txn, test->priv);
	ret = uma_map_remove(&txn, start, last);
	if (ret)
		uma_map_rollback(&txn);
	else
		uma_map_commit(&txn);
	return ret;
}

static void uma_map_test_overlap(struct kunit *test)
{
	struct uma_map_txn txn;

	uma_map_test_one(test, 0x1000, 0x2fff, 0, 0);
	uma_map_begin(&txn, test->priv);
	KUNIT_EXPECT_EQ(test, uma_map_add(&txn, 0x2000, 0x3fff, NULL, 0, 0), -EEXIST);
	KUNIT_EXPECT_EQ(test, uma_map_add(&txn, 0x0, 0x1000, NULL, 0, 0), -EEXIST);
	KUNIT_EXPECT_EQ(test, uma_map_add(&txn, 0x0, 0xffff, NULL, 0, 0), -EEXIST);
	KUNIT_EXPECT_EQ(test, uma_map_add(&txn, 0x1800, 0x18ff, NULL, 0, 0), -EEXIST);
	/* Neighbours are fine, on both sides. */
	KUNIT_EXPECT_EQ(test, uma_map_add(&txn, 0x0, 0xfff, NULL, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, uma_map_add(&txn, 0x3000, 0x3fff, NULL, 0, 0), 0);
	uma_map_commit(&txn);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test), "0-fff@0/0 1000-2fff@0/0 3000-3fff@0/0");
}

static void uma_map_test_partial(struct kunit *test)
{
	uma_map_test_one(test, 0x10000, 0x1ffff, 0x5000, 1);
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0x14000, 0x15fff), 0);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test),
			   "10000-13fff@5000/1 16000-1ffff@b000/1");
	/* The head of one, the tail of the other, and the hole. */
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0x12000, 0x17fff), 0);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test),
			   "10000-11fff@5000/1 18000-1ffff@d000/1");
	/* Where nothing is. */
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0x12000, 0x17fff), 0);
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0x20000, U64_MAX), 0);
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0, 0xffff), 0);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test),
			   "10000-11fff@5000/1 18000-1ffff@d000/1");
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0, U64_MAX), 0);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test), "");
}

static void uma_map_test_rollback(struct kunit *test)
{
	struct uma_map_txn txn;
	const char *before;

	uma_map_test_one(test, 0x10000, 0x1ffff, 0, 0);
	uma_map_test_one(test, 0x30000, 0x3ffff, 0x100000, 1);
	before = uma_map_test_text(test);

	/* Add, cut what was added, cut what was there, fill the hole, fail. */
	uma_map_begin(&txn, test->priv);
	KUNIT_EXPECT_EQ(test, uma_map_add(&txn, 0x20000, 0x2ffff, NULL, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, uma_map_remove(&txn, 0x18000, 0x33fff), 0);
	KUNIT_EXPECT_EQ(test, uma_map_add(&txn, 0x18000, 0x33fff, NULL, 0x7000, 0), 0);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test),
			   "10000-17fff@0/0 18000-33fff@7000/0 34000-3ffff@104000/1");
	KUNIT_EXPECT_EQ(test, uma_map_remove(&txn, 0x20000, 0x20fff), 0);
	KUNIT_EXPECT_EQ(test, uma_map_add(&txn, 0x17000, 0x17fff, NULL, 0, 0), -EEXIST);
	uma_map_rollback(&txn);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test), before);
	KUNIT_EXPECT_EQ(test, uma_map_test_refs, 2);

	/* The same, kept. */
	uma_map_begin(&txn, test->priv);
	KUNIT_EXPECT_EQ(test, uma_map_add(&txn, 0x20000, 0x2ffff, NULL, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, uma_map_remove(&txn, 0x18000, 0x33fff), 0);
	uma_map_commit(&txn);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test), "10000-17fff@0/0 34000-3ffff@104000/1");
	KUNIT_EXPECT_EQ(test, uma_map_test_refs, 2);
}

static void uma_map_test_limit(struct kunit *test)
{
	struct uma_map_txn txn;
	const char *before;
	u64 i;

	for (i = 0; i < UMA_TEST_MAX; i++)
		uma_map_test_one(test, i * 0x10000, i * 0x10000 + 0x2fff, 0, 0);
	before = uma_map_test_text(test);
	uma_map_begin(&txn, test->priv);
	KUNIT_EXPECT_EQ(test, uma_map_add(&txn, 0x8000, 0x8fff, NULL, 0, 0), -ENOSPC);
	uma_map_rollback(&txn);
	/* Cutting one in two makes one too many; cutting an end off does not. */
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0x1000, 0x1fff), -ENOSPC);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test), before);
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0x2000, 0x2fff), 0);
	/* In exchange for another it is allowed. */
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0x1000, 0x10fff), 0);
}

/* Random changes against a plain array of pages. */
static void uma_map_test_random(struct kunit *test)
{
	struct uma_map_tree *tree = test->priv;
	u32 seed = 12345, page, i;
	u8 *truth, *kept;

	tree->max = 1000;
	truth = kunit_kzalloc(test, 256, GFP_KERNEL);
	kept = kunit_kzalloc(test, 256, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, truth);
	KUNIT_ASSERT_NOT_NULL(test, kept);

	for (i = 0; i < 2000; i++) {
		struct uma_map_txn txn;
		u32 steps, n;

		memcpy(kept, truth, 256);
		uma_map_begin(&txn, tree);
		seed = seed * 1664525 + 1013904223;
		steps = 1 + (seed >> 28) % 4;
		for (n = 0; n < steps; n++) {
			u32 start, count;

			seed = seed * 1664525 + 1013904223;
			start = (seed >> 8) & 0xff;
			count = min(1 + ((seed >> 16) & 31), 256 - start);
			if (seed >> 31) {
				KUNIT_ASSERT_EQ(test, 0, uma_map_remove(&txn, start,
									start + count - 1));
				memset(truth + start, 0, count);
			} else {
				/* The offset is the page, so that cuts show. */
				int ret = uma_map_add(&txn, start, start + count - 1, NULL,
						      start, 0);

				KUNIT_ASSERT_EQ(test, ret, memchr_inv(truth + start, 0, count) ?
						-EEXIST : 0);
				if (!ret)
					memset(truth + start, 1, count);
			}
		}
		if (seed & BIT(20)) {
			uma_map_rollback(&txn);
			memcpy(truth, kept, 256);
		} else {
			uma_map_commit(&txn);
		}
		KUNIT_ASSERT_EQ(test, uma_map_test_refs, (int)tree->count);
		for (page = 0; page < 256; page++) {
			struct uma_mapping *m = uma_map_first(tree, page, page);

			KUNIT_ASSERT_EQ(test, !!m, truth[page]);
			if (m)
				KUNIT_ASSERT_EQ(test, m->offset + (page - m->start), page);
		}
	}
}

/* What the device may still use stays, until it has forgotten something for certain. */
static void uma_map_test_retire(struct kunit *test)
{
	struct uma_map_tree *tree = test->priv;
	struct uma_map_txn txn;

	uma_map_begin(&txn, tree);
	KUNIT_ASSERT_EQ(test, 0, uma_map_add(&txn, 0, 9, NULL, 0, 0));
	uma_map_commit(&txn);
	KUNIT_EXPECT_EQ(test, uma_map_bytes(tree), 10);
	uma_map_begin(&txn, tree);
	/* Cut in three, of which one goes at once. */
	KUNIT_ASSERT_EQ(test, 0, uma_map_remove(&txn, 4, 5));
	KUNIT_ASSERT_EQ(test, 0, uma_map_add(&txn, 4, 4, NULL, 0, 0));
	KUNIT_ASSERT_EQ(test, 0, uma_map_remove(&txn, 4, 4));
	uma_map_retire(&txn);
	KUNIT_EXPECT_NULL(test, uma_map_first(tree, 4, 5));
	KUNIT_EXPECT_EQ(test, tree->count, 2);
	KUNIT_EXPECT_EQ(test, uma_map_test_refs, 4);
	/* Both ends, all of what was cut, and the one between. */
	KUNIT_EXPECT_EQ(test, uma_map_bytes(tree), 4 + 4 + 10 + 1);
	uma_map_begin(&txn, tree);
	uma_map_commit(&txn);
	KUNIT_EXPECT_EQ(test, uma_map_bytes(tree), 4 + 4);
	KUNIT_EXPECT_EQ(test, uma_map_test_refs, 2);
	uma_map_tree_clear(tree);
	KUNIT_EXPECT_EQ(test, tree->count, 0);
	KUNIT_EXPECT_EQ(test, uma_map_test_refs, 0);
}

/* There may be as many as fit into an address space: whoever is killed does not look at all. */
static void uma_map_test_killed(struct kunit *test)
{
	const char *before;
	int ret;

	uma_map_test_one(test, 0x10000, 0x1ffff, 0, 0);
	uma_map_test_one(test, 0x30000, 0x3ffff, 0x100000, 1);
	before = uma_map_test_text(test);
	uma_test_kill();
	ret = uma_map_test_cut(test, 0x18000, U64_MAX);
	uma_test_revive();
	KUNIT_EXPECT_EQ(test, ret, -EINTR);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test), before);
	KUNIT_EXPECT_EQ(test, uma_map_test_refs, 2);
}

static struct kunit_case uma_map_cases[] = {
	KUNIT_CASE(uma_map_test_killed),
	KUNIT_CASE(uma_map_test_retire),
	KUNIT_CASE(uma_map_test_overlap),
	KUNIT_CASE(uma_map_test_partial),
	KUNIT_CASE(uma_map_test_rollback),
	KUNIT_CASE(uma_map_test_limit),
	KUNIT_CASE_SLOW(uma_map_test_random),
	{}
};

static struct kunit_suite uma_map_suite = {
	.name = "uma_map",
	.init = uma_map_test_init,
	.exit = uma_map_test_exit,
	.test_cases = uma_map_cases,
};

kunit_test_suite(uma_map_suite);
