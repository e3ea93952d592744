// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Page tables: what the device would find in them.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include <kunit/test.h>

#include "compat.h"
#include "uma_test_killed.h"
#include "uma_vm.h"

#define UMA_TEST_SEGS	8
#define PAGES(n)	((u64)(n) << UMA_PAGE_SHIFT)
#define BLOCKS(n)	((u64)(n) << UMA_BLOCK_SHIFT)

/**
 * struct uma_pt_test - a page table and memory to map
 */
struct uma_pt_test {
	/** @pt: page table */
	struct uma_pt pt;
	/** @sgt: memory; only DMA addresses are looked at, so there is none */
	struct sg_table sgt;
	/** @allocs: tables that the allocator gave and did not get back */
	int allocs;
	/** @fail: allocations until one fails, below 0: none does */
	int fail;
};

static int uma_pt_test_alloc(struct uma_pt *pt, struct uma_pt_table *table)
{
	struct uma_pt_test *t = pt->priv;

	if (t->fail >= 0 && !t->fail--)
		return -ENOMEM;
	table->entries = kcalloc(UMA_PT_ENTRIES, sizeof(*table->entries), GFP_KERNEL);
	if (!table->entries)
		return -ENOMEM;
	table->dma = virt_to_phys(table->entries);
	t->allocs++;
	return 0;
}

static void uma_pt_test_free(struct uma_pt *pt, struct uma_pt_table *table)
{
	struct uma_pt_test *t = pt->priv;

	/* Whoever still reads it finds malformed entries. */
	memset(table->entries, 0xff, UMA_PT_ENTRIES * sizeof(*table->entries));
	kfree(table->entries);
	t->allocs--;
}

static const struct uma_pt_ops uma_pt_test_ops = {
	.alloc = uma_pt_test_alloc,
	.free = uma_pt_test_free,
};

static int uma_pt_test_init(struct kunit *test)
{
	struct uma_pt_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	t->fail = -1;
	if (sg_alloc_table(&t->sgt, UMA_TEST_SEGS, GFP_KERNEL))
		return -ENOMEM;
	if (uma_pt_init(&t->pt, &uma_pt_test_ops, t)) {
		sg_free_table(&t->sgt);
		return -ENOMEM;
	}
	test->priv = t;
	return 0;
}

static void uma_pt_test_exit(struct kunit *test)
{
	struct uma_pt_test *t = test->priv;

	if (!t)
		return;
	uma_pt_fini(&t->pt);
	sg_free_table(&t->sgt);
	KUNIT_EXPECT_EQ(test, t->allocs, 0);
	KUNIT_EXPECT_EQ(test, t->pt.tables, 0);
}

/* Memory of pieces at the given addresses. */
static void uma_pt_test_memory(struct uma_pt_test *t, const u64 *dma, const u64 *len, u32 count)
{
	struct scatterlist *sg = t->sgt.sgl;
	u32 i;

	for (i = 0; i < count; i++, sg = sg_next(sg)) {
		sg_dma_address(sg) = dma[i];
		sg_dma_len(sg) = len[i];
	}
	t->sgt.nents = count;
}

static void uma_pt_test_flat(struct uma_pt_test *t, u64 dma, u64 len)
{
	uma_pt_test_memory(t, &dma, &len, 1);
}

static struct uma_sg_pos uma_pt_test_pos(struct uma_pt_test *t, u64 offset)
{
	struct uma_sg_pos pos;

	uma_sg_seek(&pos, &t->sgt, offset);
	return pos;
}

static void uma_pt_test_map(struct kunit *test, u64 va, u64 size, u64 offset, bool write)
{
	struct uma_pt_test *t = test->priv;
	struct uma_pt_need need = {};

	uma_pt_need_map(&t->pt, va, size, uma_pt_test_pos(t, offset), &need);
	KUNIT_ASSERT_EQ(test, uma_pt_reserve(&t->pt, &need), 0);
	uma_pt_map(&t->pt, va, size, uma_pt_test_pos(t, offset), write);
	/* Of one map alone the count is exact, and what was not mapped needs no invalidation. */
	KUNIT_EXPECT_TRUE(test, list_empty(&t->pt.spare_dirs));
	KUNIT_EXPECT_TRUE(test, list_empty(&t->pt.spare_leaves));
	KUNIT_EXPECT_GE(test, t->pt.dirty_start, t->pt.dirty_end);
	uma_pt_prune(&t->pt);
	uma_pt_finish(&t->pt);
}

/* The leaf entry of an address as the driver knows it, 0 if there is none. */
static u64 uma_pt_test_lookup(const struct uma_pt *pt, u64 va, u64 *size)
{
	u64 entries[UMA_PT_LEVELS];
	u32 level = uma_pt_walk(pt, va, entries) - 1;

	*size = 1ULL << (UMA_PAGE_SHIFT + UMA_PT_BITS * (UMA_PT_LEVELS - 1 - level));
	return entries[level] & UMA_PTE_VALID ? entries[level] : 0;
}

static void uma_pt_test_unmap(struct kunit *test, u64 va, u64 size)
{
	struct uma_pt_test *t = test->priv;
	struct uma_pt_need need = {};
	u64 left;

	uma_pt_need_unmap(va, size, &need);
	KUNIT_ASSERT_EQ(test, uma_pt_reserve(&t->pt, &need), 0);
	uma_pt_unmap(&t->pt, va, size);
	uma_pt_prune(&t->pt);
	if (t->pt.dirty_start < t->pt.dirty_end) {
		KUNIT_EXPECT_FALSE(test, uma_pt_test_lookup(&t->pt, t->pt.dirty_start, &left) &&
				   t->pt.dirty_start >= va && t->pt.dirty_start < va + size);
	}
	uma_pt_finish(&t->pt);
}

/* Walk the tables as they are in memory, with nothing but what the device knows. */
static u64 uma_pt_test_walk(struct kunit *test, u64 va, u64 *size)
{
	struct uma_pt_test *t = test->priv;
	u64 table = t->pt.root->dma;
	unsigned int shift;

	for (shift = 39; ; shift -= UMA_PT_BITS) {
		__le64 *entries = phys_to_virt(table);
		u64 pte = le64_to_cpu(entries[(va >> shift) & (UMA_PT_ENTRIES - 1)]);

		*size = 1ULL << shift;
		if (!(pte & UMA_PTE_VALID))
			return 0;
		if (shift == UMA_PAGE_SHIFT || (pte & UMA_PTE_BLOCK)) {
			KUNIT_EXPECT_TRUE(test, shift <= UMA_BLOCK_SHIFT);
			KUNIT_EXPECT_EQ(test, pte & UMA_PTE_ADDR & (*size - 1), 0);
			return pte;
		}
		KUNIT_EXPECT_EQ(test, pte & ~(UMA_PTE_ADDR | UMA_PTE_VALID), 0);
		table = pte & UMA_PTE_ADDR;
	}
}

/* Where does an address lead to? ~0 nowhere. */
static u64 uma_pt_test_at(struct kunit *test, u64 va)
{
	struct uma_pt_test *t = test->priv;
	u64 size, size2, pte;

	pte = uma_pt_test_walk(test, va, &size);
	KUNIT_EXPECT_EQ(test, uma_pt_test_lookup(&t->pt, va, &size2), pte);
	if (!pte)
		return U64_MAX;
	KUNIT_EXPECT_EQ(test, size, size2);
	return (pte & UMA_PTE_ADDR) + (va & (size - 1));
}

static void uma_pt_test_pages(struct kunit *test)
{
	const u64 dma[] = { PAGES(100), PAGES(50), PAGES(51), PAGES(7) };
	const u64 len[] = { PAGES(2), PAGES(1), PAGES(2), PAGES(1) };
	static const u64 want[] = { 100, 101, 50, 51, 52, 7 };
	struct uma_pt_test *t = test->priv;
	u64 va = 0x7f1234567000, size, i;

	uma_pt_test_memory(t, dma, len, ARRAY_SIZE(dma));
	uma_pt_test_map(test, va, PAGES(6), 0, false);
	for (i = 0; i < 6; i++) {
		KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va + PAGES(i)), PAGES(want[i]));
		KUNIT_EXPECT_FALSE(test, uma_pt_test_walk(test, va + PAGES(i), &size) &
				   UMA_PTE_WRITE);
		KUNIT_EXPECT_EQ(test, size, PAGES(1));
	}
	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va - 1), U64_MAX);
	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va + PAGES(6)), U64_MAX);
	KUNIT_EXPECT_EQ(test, t->pt.tables, 4);

	/* From the middle of the memory, into the same tables, to be written. */
	uma_pt_test_map(test, va + PAGES(6), PAGES(3), PAGES(3), true);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va + PAGES(6 + i)), PAGES(want[3 + i]));
		KUNIT_EXPECT_TRUE(test, uma_pt_test_walk(test, va + PAGES(6 + i), &size) &
				  UMA_PTE_WRITE);
	}
	KUNIT_EXPECT_EQ(test, t->pt.tables, 4);
	uma_pt_test_unmap(test, va, PAGES(9));
	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va), U64_MAX);
	KUNIT_EXPECT_EQ(test, t->pt.tables, 1);
}

static void uma_pt_test_blocks(struct kunit *test)
{
	struct uma_pt_test *t = test->priv;
	u64 va = BLOCKS(512 * 3 - 1), dma = BLOCKS(9), size, i;

	/* A page, a block at the end of a table, a block at the start of the next, a page. */
	uma_pt_test_flat(t, dma - PAGES(1), BLOCKS(2) + PAGES(2));
	uma_pt_test_map(test, va - PAGES(1), BLOCKS(2) + PAGES(2), 0, true);
	KUNIT_EXPECT_EQ(test, t->pt.blocks, 2);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va + BLOCKS(i) + 12345),
				dma + BLOCKS(i) + 12345);
		uma_pt_test_walk(test, va + BLOCKS(i), &size);
		KUNIT_EXPECT_EQ(test, size, BLOCKS(1));
	}
	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va - 1), dma - 1);
	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va + BLOCKS(2) + 1), dma + BLOCKS(2) + 1);
	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va + BLOCKS(2) + PAGES(1)), U64_MAX);
	uma_pt_test_unmap(test, va - PAGES(1), BLOCKS(2) + PAGES(2));
	KUNIT_EXPECT_EQ(test, t->pt.blocks, 0);
	KUNIT_EXPECT_EQ(test, t->pt.tables, 1);

	/* Memory that does not lie right for it. */
	uma_pt_test_flat(t, dma + PAGES(1), BLOCKS(2));
	uma_pt_test_map(test, va, BLOCKS(1), 0, true);
	KUNIT_EXPECT_EQ(test, t->pt.blocks, 0);
	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va + 5), dma + PAGES(1) + 5);
	uma_pt_test_unmap(test, va, BLOCKS(1));

	/* Two pieces without a gap are as good as one. */
	{
		const u64 two[] = { dma, dma + PAGES(100) };
		const u64 len[] = { PAGES(100), BLOCKS(1) - PAGES(100) };

		uma_pt_test_memory(t, two, len, 2);
		uma_pt_test_map(test, va, BLOCKS(1), 0, true);
		KUNIT_EXPECT_EQ(test, t->pt.blocks, 1);
	}
}

static void uma_pt_test_split(struct kunit *test)
{
	struct uma_pt_test *t = test->priv;
	u64 va = BLOCKS(100), dma = BLOCKS(33), size, i;

	uma_pt_test_flat(t, dma, BLOCKS(3));
	uma_pt_test_map(test, va, BLOCKS(3), 0, true);
	KUNIT_EXPECT_EQ(test, t->pt.blocks, 3);

	/* A hole inside of one. */
	uma_pt_test_unmap(test, va + PAGES(3), PAGES(2));
	KUNIT_EXPECT_EQ(test, t->pt.blocks, 2);
	for (i = 0; i < 512; i++) {
		u64 at = uma_pt_test_at(test, va + PAGES(i));

		KUNIT_EXPECT_EQ(test, at, i == 3 || i == 4 ? U64_MAX : dma + PAGES(i));
		if (at != U64_MAX)
			KUNIT_EXPECT_TRUE(test, uma_pt_test_walk(test, va + PAGES(i), &size) &
					  UMA_PTE_WRITE);
	}
	/* From the middle of one to the middle of another. */
	uma_pt_test_unmap(test, va + BLOCKS(1) + PAGES(511), PAGES(2));
	KUNIT_EXPECT_EQ(test, t->pt.blocks, 0);
	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va + BLOCKS(2) - PAGES(2)),
			dma + BLOCKS(2) - PAGES(2));
	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va + BLOCKS(2) - PAGES(1)), U64_MAX);
	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va + BLOCKS(2)), U64_MAX);
	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va + BLOCKS(2) + PAGES(1)),
			dma + BLOCKS(2) + PAGES(1));
	/* The hole takes pages again. */
	uma_pt_test_map(test, va + PAGES(3), PAGES(2), PAGES(300), false);
	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va + PAGES(4)), dma + PAGES(301));
	uma_pt_test_unmap(test, 0, 1ULL << 48);
	KUNIT_EXPECT_EQ(test, t->pt.tables, 1);
	/* Now that the tables are gone, blocks fit again. */
	uma_pt_test_map(test, va, BLOCKS(3), 0, true);
	KUNIT_EXPECT_EQ(test, t->pt.blocks, 3);
}

/* Several parts in one change, in the ways in which one can spoil the count of another. */
static void uma_pt_test_change(struct kunit *test)
{
	struct uma_pt_test *t = test->priv;
	struct uma_pt_need need = {};
	u64 va = BLOCKS(700), dma = BLOCKS(5);

	uma_pt_test_flat(t, dma, BLOCKS(2));
	uma_pt_test_map(test, va, BLOCKS(2), 0, true);

	/* Replace a block by pages, a block by a block, and cut the new one. */
	uma_pt_need_unmap(va, BLOCKS(2), &need);
	uma_pt_need_map(&t->pt, va, PAGES(5), uma_pt_test_pos(t, PAGES(1)), &need);
	uma_pt_need_map(&t->pt, va + BLOCKS(1), BLOCKS(1), uma_pt_test_pos(t, BLOCKS(1)), &need);
	uma_pt_need_unmap(va + BLOCKS(1) + PAGES(8), PAGES(1), &need);
	uma_pt_need_map(&t->pt, va + BLOCKS(1) + PAGES(8), PAGES(1), uma_pt_test_pos(t, 0), &need);
	KUNIT_ASSERT_EQ(test, uma_pt_reserve(&t->pt, &need), 0);

	uma_pt_unmap(&t->pt, va, BLOCKS(2));
	uma_pt_map(&t->pt, va, PAGES(5), uma_pt_test_pos(t, PAGES(1)), true);
	uma_pt_map(&t->pt, va + BLOCKS(1), BLOCKS(1), uma_pt_test_pos(t, BLOCKS(1)), true);
	uma_pt_unmap(&t->pt, va + BLOCKS(1) + PAGES(8), PAGES(1));
	uma_pt_map(&t->pt, va + BLOCKS(1) + PAGES(8), PAGES(1), uma_pt_test_pos(t, 0), true);
	uma_pt_prune(&t->pt);
	KUNIT_EXPECT_LE(test, t->pt.dirty_start, va);
	KUNIT_EXPECT_GE(test, t->pt.dirty_end, va + BLOCKS(2));
	uma_pt_finish(&t->pt);

	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va + PAGES(4)), dma + PAGES(5));
	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va + PAGES(5)), U64_MAX);
	va += BLOCKS(1);
	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va + PAGES(7)), dma + BLOCKS(1) + PAGES(7));
	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va + PAGES(8)), dma);
	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, va + PAGES(9)), dma + BLOCKS(1) + PAGES(9));
}

/* Tables that are taken out stay until the device has forgotten them, and their ranges are said. */
static void uma_pt_test_prune(struct kunit *test)
{
	struct uma_pt_test *t = test->priv;
	struct uma_pt_need need = {};
	int before;

	uma_pt_test_flat(t, PAGES(1), PAGES(4));
	uma_pt_test_map(test, 1ULL << 40, PAGES(1), 0, true);
	before = t->allocs;
	uma_pt_need_unmap(1ULL << 40, PAGES(1), &need);
	KUNIT_ASSERT_EQ(test, uma_pt_reserve(&t->pt, &need), 0);
	uma_pt_unmap(&t->pt, 1ULL << 40, PAGES(1));
	uma_pt_prune(&t->pt);
	KUNIT_EXPECT_FALSE(test, list_empty(&t->pt.dead));
	KUNIT_EXPECT_GE(test, t->allocs, before);
	/* Three levels went, of which the highest covers 512 GiB. */
	KUNIT_EXPECT_EQ(test, t->pt.dirty_start, 1ULL << 40);
	KUNIT_EXPECT_EQ(test, t->pt.dirty_end, (1ULL << 40) + (1ULL << 39));
	uma_pt_finish(&t->pt);
	KUNIT_EXPECT_EQ(test, t->allocs, 1);
}

/* Without memory for all of it nothing changes. */
static void uma_pt_test_nomem(struct kunit *test)
{
	struct uma_pt_test *t = test->priv;
	struct uma_pt_need need = {};
	int n;

	uma_pt_test_flat(t, PAGES(1), BLOCKS(3));
	uma_pt_need_map(&t->pt, BLOCKS(511), BLOCKS(3), uma_pt_test_pos(t, 0), &need);
	/* One of the first level, two below it, three leaves. */
	KUNIT_EXPECT_EQ(test, need.dirs, 3);
	KUNIT_EXPECT_EQ(test, need.leaves, 3);
	for (n = 0; n < 6; n++) {
		t->fail = n;
		KUNIT_EXPECT_EQ(test, uma_pt_reserve(&t->pt, &need), -ENOMEM);
		uma_pt_finish(&t->pt);
		KUNIT_EXPECT_EQ(test, t->allocs, 1);
	}
	t->fail = 6;
	KUNIT_EXPECT_EQ(test, uma_pt_reserve(&t->pt, &need), 0);
	t->fail = -1;
	uma_pt_finish(&t->pt);
	KUNIT_EXPECT_EQ(test, uma_pt_test_at(test, BLOCKS(511)), U64_MAX);
}

/* Random changes against a plain array. */
static void uma_pt_test_random(struct kunit *test)
{
	enum { WINDOW = 4 * 512 };
	struct uma_pt_test *t = test->priv;
	u64 base = BLOCKS(510), dma = BLOCKS(64);
	u32 seed = 4711, i, page;
	u16 *truth;

	truth = kunit_kzalloc(test, WINDOW * sizeof(*truth), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, truth);
	uma_pt_test_flat(t, dma, PAGES(WINDOW));
	for (i = 0; i < 300; i++) {
		u32 start, count, k;

		seed = seed * 1664525 + 1013904223;
		start = (seed >> 8) % WINDOW;
		count = min(1 + (seed >> 20) % 1500, WINDOW - start);
		/* Often just where blocks begin. */
		if (seed & BIT(7)) {
			start &= ~511;
			count = min(ALIGN(count, 512), WINDOW - start);
		}
		uma_pt_test_unmap(test, base + PAGES(start), PAGES(count));
		memset(truth + start, 0, count * sizeof(*truth));
		if (seed >> 31) {
			/* The memory that lies right, or one page further. */
			k = seed & BIT(6) ? start : min(start + 1, WINDOW - count);
			uma_pt_test_map(test, base + PAGES(start), PAGES(count), PAGES(k), true);
			for (page = 0; page < count; page++)
				truth[start + page] = k + page + 1;
		}
		for (page = 0; page < WINDOW; page += 1 + (seed + page) % 3)
			KUNIT_ASSERT_EQ(test, uma_pt_test_at(test, base + PAGES(page)),
					truth[page] ? dma + PAGES(truth[page] - 1) : U64_MAX);
	}
}

/* Memory may be in as many pieces as it has pages, and be as large as there is memory. */
static void uma_pt_test_killed(struct kunit *test)
{
	static const u64 dma[2] = { BLOCKS(5), BLOCKS(7) }, len[2] = { BLOCKS(1), BLOCKS(1) };
	struct uma_pt_test *t = test->priv;
	struct uma_pt_need need = {};
	struct uma_sg_pos pos;
	int seek, map, reserve;

	uma_pt_test_memory(t, dma, len, 2);
	uma_test_kill();
	seek = uma_sg_seek(&pos, &t->sgt, BLOCKS(1));
	uma_sg_seek(&pos, &t->sgt, 0);
	map = uma_pt_need_map(&t->pt, BLOCKS(700), BLOCKS(2), pos, &need);
	need.leaves = 1;
	reserve = uma_pt_reserve(&t->pt, &need);
	uma_test_revive();
	KUNIT_EXPECT_EQ(test, seek, -EINTR);
	KUNIT_EXPECT_EQ(test, map, -EINTR);
	KUNIT_EXPECT_EQ(test, reserve, -EINTR);
	KUNIT_EXPECT_EQ(test, uma_sg_seek(&pos, &t->sgt, BLOCKS(1)), 0);
	KUNIT_EXPECT_EQ(test, uma_pt_need_map(&t->pt, BLOCKS(700), BLOCKS(1), pos, &need), 0);
}

static struct kunit_case uma_pt_cases[] = {
	KUNIT_CASE(uma_pt_test_killed),
	KUNIT_CASE(uma_pt_test_pages),
	KUNIT_CASE(uma_pt_test_blocks),
	KUNIT_CASE(uma_pt_test_split),
	KUNIT_CASE(uma_pt_test_change),
	KUNIT_CASE(uma_pt_test_prune),
	KUNIT_CASE(uma_pt_test_nomem),
	KUNIT_CASE_SLOW(uma_pt_test_random),
	{}
};

static struct kunit_suite uma_pt_suite = {
	.name = "uma_pt",
	.init = uma_pt_test_init,
	.exit = uma_pt_test_exit,
	.test_cases = uma_pt_cases,
};

kunit_test_suite(uma_pt_suite);

MODULE_DESCRIPTION("Unit tests of the uma driver");
MODULE_LICENSE("Dual MIT/GPL");
UMA_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
