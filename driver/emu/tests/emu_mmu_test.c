// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Page-table walks of tables that the test builds, and the TLB.
 */
#include <kunit/test.h>

#include <linux/gfp.h>
#include <linux/cpumask.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "../emu_compat.h"
#include "../emu_mmu.h"

/* An address with a different index at each level */
#define VA	0x123456789000ULL

struct emu_mmu_test {
	__le64 *table[UMA_PT_LEVELS];
	struct page *page[2];
	struct emu_tlb *tlb;
	u64 root;
};

static u32 emu_test_index(u64 va, int level)
{
	return (va >> (12 + (3 - level) * 9)) & 511;
}

static u64 emu_test_pte(void *to, u64 flags)
{
	return virt_to_phys(to) | UMA_PTE_VALID | flags;
}

static void emu_test_set(struct emu_mmu_test *t, int level, u64 va, u64 pte)
{
	t->table[level][emu_test_index(va, level)] = cpu_to_le64(pte);
}

static int emu_mmu_test_init(struct kunit *test)
{
	struct emu_mmu_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;
	t->tlb = kunit_kzalloc(test, sizeof(*t->tlb), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->tlb);
	for (i = 0; i < UMA_PT_LEVELS; i++) {
		t->table[i] = (void *)get_zeroed_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, t->table[i]);
	}
	for (i = 0; i < 2; i++) {
		t->page[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		KUNIT_ASSERT_NOT_NULL(test, t->page[i]);
	}
	for (i = 0; i < UMA_PT_LEVELS - 1; i++)
		emu_test_set(t, i, VA, emu_test_pte(t->table[i + 1], 0));
	emu_test_set(t, 3, VA, emu_test_pte(page_address(t->page[0]), UMA_PTE_WRITE));
	t->root = virt_to_phys(t->table[0]) | UMA_AS_ENABLE;
	return 0;
}

static void emu_mmu_test_exit(struct kunit *test)
{
	struct emu_mmu_test *t = test->priv;
	int i;

	if (!t)
		return;
	for (i = 0; i < UMA_PT_LEVELS; i++)
		free_page((unsigned long)t->table[i]);
	for (i = 0; i < 2; i++)
		if (t->page[i])
			__free_page(t->page[i]);
}

static void emu_walk_pages(struct kunit *test)
{
	struct emu_mmu_test *t = test->priv;
	struct emu_xlate x;
	struct emu_trail trail;

	KUNIT_EXPECT_EQ(test, emu_walk(t->root, VA, &x, &trail), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, x.pa, page_to_phys(t->page[0]));
	KUNIT_EXPECT_EQ(test, x.shift, 12);
	KUNIT_EXPECT_TRUE(test, x.write);
	KUNIT_EXPECT_EQ(test, emu_walk(t->root, VA + 0xfff, &x, &trail), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, emu_xlate_pa(&x, VA + 0xfff), page_to_phys(t->page[0]) + 0xfff);

	emu_test_set(t, 3, VA + SZ_4K, emu_test_pte(page_address(t->page[1]), 0));
	KUNIT_EXPECT_EQ(test, emu_walk(t->root, VA + SZ_4K, &x, &trail), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, x.pa, page_to_phys(t->page[1]));
	KUNIT_EXPECT_FALSE(test, x.write);
}

static void emu_walk_absent(struct kunit *test)
{
	struct emu_mmu_test *t = test->priv;
	struct emu_xlate x;
	struct emu_trail trail;
	int level;

	KUNIT_EXPECT_EQ(test, emu_walk(t->root, VA - SZ_4K, &x, &trail), UMA_FAULT_READ);
	KUNIT_EXPECT_EQ(test, emu_walk(t->root, 0, &x, &trail), UMA_FAULT_READ);
	KUNIT_EXPECT_EQ(test, emu_walk(t->root, VA | 1ULL << 48, &x, &trail), UMA_FAULT_READ);
	KUNIT_EXPECT_EQ(test, emu_walk(t->root, U64_MAX, &x, &trail), UMA_FAULT_READ);
	KUNIT_EXPECT_EQ(test, emu_walk(t->root & ~(u64)UMA_AS_ENABLE, VA, &x, &trail),
			UMA_FAULT_READ);

	for (level = 3; level >= 0; level--) {
		u32 index = emu_test_index(VA, level);

		/* The other bits of an entry that is not valid are ignored. */
		t->table[level][index] &= ~cpu_to_le64(UMA_PTE_VALID);
		t->table[level][index] |= cpu_to_le64(GENMASK_ULL(63, 1));
		KUNIT_EXPECT_EQ(test, emu_walk(t->root, VA, &x, &trail), UMA_FAULT_READ);
	}
}

static void emu_walk_malformed(struct kunit *test)
{
	struct emu_mmu_test *t = test->priv;
	struct emu_xlate x;
	struct emu_trail trail;
	int level, bit;

	for (level = 0; level < UMA_PT_LEVELS; level++) {
		__le64 *pte = &t->table[level][emu_test_index(VA, level)];
		u64 good = le64_to_cpu(*pte);
		u64 known = UMA_PTE_VALID | UMA_PTE_ADDR;

		known |= level == 3 ? UMA_PTE_WRITE : 0;
		known |= level == 2 ? UMA_PTE_BLOCK : 0;
		for (bit = 0; bit < 64; bit++) {
			if (known & BIT_ULL(bit))
				continue;
			*pte = cpu_to_le64(good | BIT_ULL(bit));
			KUNIT_EXPECT_EQ_MSG(test, emu_walk(t->root, VA, &x, &trail),
					    UMA_FAULT_TABLE, "level %d bit %d", level, bit);
		}
		*pte = cpu_to_le64(good);
	}
	KUNIT_EXPECT_EQ(test, emu_walk(t->root | BIT_ULL(1), VA, &x, &trail), UMA_FAULT_TABLE);
	KUNIT_EXPECT_EQ(test, emu_walk(t->root | BIT_ULL(52), VA, &x, &trail), UMA_FAULT_TABLE);
	KUNIT_EXPECT_EQ(test, emu_walk(t->root, VA, &x, &trail), UMA_FAULT_NONE);
}

static void emu_walk_outside(struct kunit *test)
{
	struct emu_mmu_test *t = test->priv;
	struct emu_xlate x;
	struct emu_trail trail;
	int level;

	for (level = 0; level < UMA_PT_LEVELS; level++) {
		__le64 *pte = &t->table[level][emu_test_index(VA, level)];
		__le64 good = *pte;

		*pte = cpu_to_le64((1ULL << 51) | UMA_PTE_VALID);
		KUNIT_EXPECT_EQ(test, emu_walk(t->root, VA, &x, &trail), UMA_FAULT_BUS);
		*pte = cpu_to_le64((__pa_symbol(&__cpu_possible_mask) & PAGE_MASK) | UMA_PTE_VALID);
		KUNIT_EXPECT_EQ(test, emu_walk(t->root, VA, &x, &trail), UMA_FAULT_BUS);
		*pte = good;
	}
	KUNIT_EXPECT_EQ(test, emu_walk((1ULL << 51) | UMA_AS_ENABLE, VA, &x, &trail),
			UMA_FAULT_BUS);
}

static void emu_walk_blocks(struct kunit *test)
{
	struct emu_mmu_test *t = test->priv;
	u64 start = round_up(page_to_phys(t->page[0]), SZ_2M) - SZ_2M;
	u64 in = page_to_phys(t->page[0]) - start;
	u64 va = VA & ~(SZ_2M - 1ULL);
	struct emu_xlate x;
	struct emu_trail trail;

	emu_test_set(t, 2, VA, start | UMA_PTE_VALID | UMA_PTE_BLOCK | UMA_PTE_WRITE);
	KUNIT_EXPECT_EQ(test, emu_walk(t->root, va + in + 5, &x, &trail), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, x.shift, 21);
	KUNIT_EXPECT_EQ(test, x.pa, start);
	KUNIT_EXPECT_EQ(test, emu_xlate_pa(&x, va + in + 5), page_to_phys(t->page[0]) + 5);

	emu_test_set(t, 2, VA, (start + SZ_4K) | UMA_PTE_VALID | UMA_PTE_BLOCK);
	KUNIT_EXPECT_EQ(test, emu_walk(t->root, va, &x, &trail), UMA_FAULT_TABLE);
	emu_test_set(t, 1, VA, start | UMA_PTE_VALID | UMA_PTE_BLOCK);
	KUNIT_EXPECT_EQ(test, emu_walk(t->root, va, &x, &trail), UMA_FAULT_TABLE);
	emu_test_set(t, 3, VA, emu_test_pte(page_address(t->page[0]), UMA_PTE_BLOCK));
	emu_test_set(t, 2, VA, emu_test_pte(t->table[3], 0));
	emu_test_set(t, 1, VA, emu_test_pte(t->table[2], 0));
	KUNIT_EXPECT_EQ(test, emu_walk(t->root, VA, &x, &trail), UMA_FAULT_TABLE);
}

static enum uma_fault emu_test_translate(struct emu_mmu_test *t, u32 as, bool paranoid,
					 struct emu_xlate *x, enum emu_tlb_state *state,
					 struct emu_xlate *old)
{
	struct emu_trail trail;

	return emu_translate(t->tlb, as, t->root, VA, paranoid, x, state, old, &trail);
}

static void emu_tlb_remembers(struct kunit *test)
{
	struct emu_mmu_test *t = test->priv;
	enum emu_tlb_state state;
	struct emu_xlate x, old;

	KUNIT_EXPECT_EQ(test, emu_test_translate(t, 1, false, &x, &state, &old), 0);
	KUNIT_EXPECT_EQ(test, state, EMU_TLB_MISS);
	/* The entry stays cached when the table changes, */
	emu_test_set(t, 3, VA, 0);
	KUNIT_EXPECT_EQ(test, emu_test_translate(t, 1, false, &x, &state, &old), 0);
	KUNIT_EXPECT_EQ(test, state, EMU_TLB_HIT);
	KUNIT_EXPECT_EQ(test, x.pa, page_to_phys(t->page[0]));
	/* but only in its address space. */
	KUNIT_EXPECT_EQ(test, emu_test_translate(t, 2, false, &x, &state, &old),
			UMA_FAULT_READ);
	/* That an address is not mapped is not cached. */
	emu_test_set(t, 3, VA, emu_test_pte(page_address(t->page[1]), 0));
	KUNIT_EXPECT_EQ(test, emu_test_translate(t, 2, false, &x, &state, &old), 0);
	KUNIT_EXPECT_EQ(test, state, EMU_TLB_MISS);
	KUNIT_EXPECT_EQ(test, x.pa, page_to_phys(t->page[1]));
	KUNIT_EXPECT_EQ(test, t->tlb->hits, 1);
	KUNIT_EXPECT_EQ(test, t->tlb->misses, 3);
}

static void emu_tlb_paranoid(struct kunit *test)
{
	struct emu_mmu_test *t = test->priv;
	enum emu_tlb_state state;
	struct emu_xlate x, old;

	KUNIT_EXPECT_EQ(test, emu_test_translate(t, 1, true, &x, &state, &old), 0);
	KUNIT_EXPECT_EQ(test, emu_test_translate(t, 1, true, &x, &state, &old), 0);
	KUNIT_EXPECT_EQ(test, state, EMU_TLB_HIT);
	KUNIT_EXPECT_EQ(test, t->tlb->compared, 1);

	/* Another page: the new one is used, and the old one is reported. */
	emu_test_set(t, 3, VA, emu_test_pte(page_address(t->page[1]), UMA_PTE_WRITE));
	KUNIT_EXPECT_EQ(test, emu_test_translate(t, 1, true, &x, &state, &old), 0);
	KUNIT_EXPECT_EQ(test, state, EMU_TLB_DIFFERS);
	KUNIT_EXPECT_EQ(test, x.pa, page_to_phys(t->page[1]));
	KUNIT_EXPECT_EQ(test, old.pa, page_to_phys(t->page[0]));

	/* The same page without the right to write. */
	emu_test_set(t, 3, VA, emu_test_pte(page_address(t->page[1]), 0));
	KUNIT_EXPECT_EQ(test, emu_test_translate(t, 1, true, &x, &state, &old), 0);
	KUNIT_EXPECT_EQ(test, state, EMU_TLB_DIFFERS);

	/* The page is unmapped. */
	emu_test_set(t, 3, VA, 0);
	KUNIT_EXPECT_EQ(test, emu_test_translate(t, 1, true, &x, &state, &old),
			UMA_FAULT_READ);
	KUNIT_EXPECT_EQ(test, state, EMU_TLB_DIFFERS);
	KUNIT_EXPECT_EQ(test, emu_tlb_count(t->tlb), 0);
}

static void emu_tlb_fill(struct emu_tlb *tlb, u32 as, u64 va, u32 count, u8 shift)
{
	struct emu_xlate x = { .shift = shift };

	for (; count--; va += 1ULL << shift) {
		x.pa = va;
		emu_tlb_insert(tlb, as, va, &x);
	}
}

/* Entries that point to tables are cached, too, until an invalidation overlaps their range. */
static void emu_tlb_directories(struct kunit *test)
{
	struct emu_mmu_test *t = test->priv;
	struct emu_inval inv = { .as = 1, .start = VA + SZ_2M, .end = VA + SZ_2M + SZ_4K };
	enum emu_tlb_state state;
	struct emu_xlate x, old;
	struct emu_trail trail;

	emu_test_set(t, 3, VA + SZ_4K, emu_test_pte(page_address(t->page[1]), 0));
	KUNIT_EXPECT_EQ(test, emu_test_translate(t, 1, false, &x, &state, &old), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, t->tlb->shortened, 0);
	/* The root's entry is gone, but the cached table is still used, in this address space. */
	emu_test_set(t, 0, VA, 0);
	KUNIT_EXPECT_EQ(test, emu_translate(t->tlb, 1, t->root, VA + SZ_4K, false, &x, &state,
					    &old, &trail), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, x.pa, page_to_phys(t->page[1]));
	KUNIT_EXPECT_EQ(test, trail.first, UMA_PT_LEVELS - 1);
	KUNIT_EXPECT_EQ(test, t->tlb->shortened, 1);
	KUNIT_EXPECT_EQ(test, emu_test_translate(t, 2, false, &x, &state, &old), UMA_FAULT_READ);

	/* A range outside of the last table drops only the entries of the levels above. */
	emu_tlb_inval(t->tlb, &inv);
	inv.start = VA;
	inv.end = VA + SZ_8K;
	KUNIT_EXPECT_EQ(test, emu_translate(t->tlb, 1, t->root, VA + 2 * SZ_4K, false, &x, &state,
					    &old, &trail), UMA_FAULT_READ);
	KUNIT_EXPECT_EQ(test, t->tlb->shortened, 2);
	emu_tlb_inval(t->tlb, &inv);
	KUNIT_EXPECT_EQ(test, emu_test_translate(t, 1, false, &x, &state, &old), UMA_FAULT_READ);
	KUNIT_EXPECT_EQ(test, t->tlb->shortened, 2);
}

/* Paranoid mode compares these entries with the page table, also for other addresses. */
static void emu_tlb_stale_directory(struct kunit *test)
{
	struct emu_mmu_test *t = test->priv;
	enum emu_tlb_state state;
	struct emu_xlate x, old;
	struct emu_trail trail;

	emu_test_set(t, 3, VA + SZ_4K, emu_test_pte(page_address(t->page[1]), 0));
	KUNIT_EXPECT_EQ(test, emu_test_translate(t, 1, true, &x, &state, &old), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, state, EMU_TLB_MISS);
	KUNIT_EXPECT_EQ(test, emu_translate(t->tlb, 1, t->root, VA + SZ_4K, true, &x, &state,
					    &old, &trail), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, state, EMU_TLB_MISS);
	emu_test_set(t, 2, VA, 0);
	KUNIT_EXPECT_EQ(test, emu_translate(t->tlb, 1, t->root, VA + 2 * SZ_4K, true, &x, &state,
					    &old, &trail), UMA_FAULT_READ);
	KUNIT_EXPECT_EQ(test, state, EMU_TLB_DIFFERS);
	KUNIT_EXPECT_EQ(test, old.pa, virt_to_phys(t->table[3]));
	KUNIT_EXPECT_EQ(test, old.shift, 21);
	KUNIT_EXPECT_EQ(test, t->tlb->shortened, 0);
}

static void emu_tlb_ranges(struct kunit *test)
{
	struct emu_mmu_test *t = test->priv;
	struct emu_tlb *tlb = t->tlb;
	struct emu_inval inv = { .as = 1, .start = 0x10000, .end = 0x12000 };

	emu_tlb_fill(tlb, 1, 0xe000, 6, 12);
	emu_tlb_fill(tlb, 2, 0xe000, 6, 12);
	KUNIT_EXPECT_EQ(test, emu_tlb_inval(tlb, &inv), 2);
	KUNIT_EXPECT_NOT_NULL(test, emu_tlb_lookup(tlb, 1, 0xffff));
	KUNIT_EXPECT_NULL(test, emu_tlb_lookup(tlb, 1, 0x10000));
	KUNIT_EXPECT_NULL(test, emu_tlb_lookup(tlb, 1, 0x11fff));
	KUNIT_EXPECT_NOT_NULL(test, emu_tlb_lookup(tlb, 1, 0x12000));
	KUNIT_EXPECT_NOT_NULL(test, emu_tlb_lookup(tlb, 2, 0x10000));

	/* One byte of an entry is enough, an empty range is not. */
	inv.start = 0x12fff;
	inv.end = 0x13000;
	KUNIT_EXPECT_EQ(test, emu_tlb_inval(tlb, &inv), 1);
	inv.start = 0x13000;
	KUNIT_EXPECT_EQ(test, emu_tlb_inval(tlb, &inv), 0);

	inv.all = true;
	KUNIT_EXPECT_EQ(test, emu_tlb_inval(tlb, &inv), 3);
	KUNIT_EXPECT_EQ(test, emu_tlb_count(tlb), 6);
	emu_tlb_flush(tlb);
	KUNIT_EXPECT_EQ(test, emu_tlb_count(tlb), 0);
}

static void emu_tlb_blocks(struct kunit *test)
{
	struct emu_mmu_test *t = test->priv;
	struct emu_tlb *tlb = t->tlb;
	struct emu_inval inv = { .as = 1, .start = SZ_2M + SZ_4K, .end = SZ_2M + SZ_8K };

	emu_tlb_fill(tlb, 1, 0, 3, 21);
	KUNIT_EXPECT_NOT_NULL(test, emu_tlb_lookup(tlb, 1, SZ_2M * 2 - 1));
	KUNIT_EXPECT_EQ(test, emu_tlb_inval(tlb, &inv), 1);
	KUNIT_EXPECT_NULL(test, emu_tlb_lookup(tlb, 1, SZ_2M * 2 - 1));
	KUNIT_EXPECT_NOT_NULL(test, emu_tlb_lookup(tlb, 1, SZ_2M - 1));
	KUNIT_EXPECT_NOT_NULL(test, emu_tlb_lookup(tlb, 1, SZ_2M * 2));
}

static void emu_tlb_evicts(struct kunit *test)
{
	struct emu_mmu_test *t = test->priv;
	const u64 way = (u64)EMU_TLB_SETS << 12;
	struct emu_xlate x = { .shift = 12 };
	int i;

	for (i = 0; i <= EMU_TLB_WAYS; i++)
		emu_tlb_insert(t->tlb, 0, i * way, &x);
	KUNIT_EXPECT_EQ(test, emu_tlb_count(t->tlb), EMU_TLB_WAYS);
	KUNIT_EXPECT_NULL(test, emu_tlb_lookup(t->tlb, 0, 0));
	KUNIT_EXPECT_NOT_NULL(test, emu_tlb_lookup(t->tlb, 0, way));
	KUNIT_EXPECT_NOT_NULL(test, emu_tlb_lookup(t->tlb, 0, EMU_TLB_WAYS * way));
	/* An address is never in two ways. */
	x.pa = SZ_4K;
	emu_tlb_insert(t->tlb, 0, way, &x);
	KUNIT_EXPECT_EQ(test, emu_tlb_count(t->tlb), EMU_TLB_WAYS);
	KUNIT_EXPECT_EQ(test, emu_tlb_lookup(t->tlb, 0, way)->x.pa, SZ_4K);
}

static void emu_mmu_phys(struct kunit *test)
{
	struct emu_mmu_test *t = test->priv;
	u64 pa = page_to_phys(t->page[0]);

	KUNIT_EXPECT_PTR_EQ(test, emu_phys_ptr(pa + 8, 8), page_address(t->page[0]) + 8);
	KUNIT_EXPECT_PTR_EQ(test, emu_phys_ptr(page_to_phys(ZERO_PAGE(0)), 8),
			    page_address(ZERO_PAGE(0)));
	KUNIT_EXPECT_NULL(test, emu_phys_ptr(pa + 4092, 8));
	KUNIT_EXPECT_NULL(test, emu_phys_ptr(pa, 0));
	KUNIT_EXPECT_NULL(test, emu_phys_ptr(pa | 1ULL << 52, 8));
	KUNIT_EXPECT_NULL(test, emu_phys_ptr(pa | 1ULL << 63, 8));
}

static struct kunit_case emu_mmu_tests[] = {
	KUNIT_CASE(emu_mmu_phys),
	KUNIT_CASE(emu_walk_pages),
	KUNIT_CASE(emu_walk_absent),
	KUNIT_CASE(emu_walk_malformed),
	KUNIT_CASE(emu_walk_outside),
	KUNIT_CASE(emu_walk_blocks),
	KUNIT_CASE(emu_tlb_remembers),
	KUNIT_CASE(emu_tlb_paranoid),
	KUNIT_CASE(emu_tlb_directories),
	KUNIT_CASE(emu_tlb_stale_directory),
	KUNIT_CASE(emu_tlb_ranges),
	KUNIT_CASE(emu_tlb_blocks),
	KUNIT_CASE(emu_tlb_evicts),
	{}
};

static struct kunit_suite emu_mmu_suite = {
	.name = "uma_emu_mmu",
	.init = emu_mmu_test_init,
	.exit = emu_mmu_test_exit,
	.test_cases = emu_mmu_tests,
};

kunit_test_suite(emu_mmu_suite);
