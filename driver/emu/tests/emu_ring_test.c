// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Ring arithmetic, entries and records.
 */
#include <kunit/test.h>

#include <linux/gfp.h>
#include <linux/cpumask.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "../emu_compat.h"
#include "../emu_device.h"

static void emu_ring_counts(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, emu_ring_pending(0, 0, 4), 0);
	KUNIT_EXPECT_EQ(test, emu_ring_pending(0, 1, 4), 1);
	KUNIT_EXPECT_EQ(test, emu_ring_pending(0, 16, 4), 16);
	KUNIT_EXPECT_LT(test, emu_ring_pending(0, 17, 4), 0);
	KUNIT_EXPECT_LT(test, emu_ring_pending(1, 0, 4), 0);
	/* Indices wrap at 2^32, not at the size of the ring. */
	KUNIT_EXPECT_EQ(test, emu_ring_pending(U32_MAX, 0, 4), 1);
	KUNIT_EXPECT_EQ(test, emu_ring_pending(U32_MAX - 7, 8, 4), 16);
	KUNIT_EXPECT_LT(test, emu_ring_pending(U32_MAX - 7, 9, 4), 0);
	KUNIT_EXPECT_EQ(test, emu_ring_pending(5, 6, 0), 1);
	KUNIT_EXPECT_LT(test, emu_ring_pending(5, 7, 0), 0);
}

static void emu_ring_entries(struct kunit *test)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	struct uma_ring_entry *ring, entry;
	u64 base, image = __pa_symbol(&__cpu_possible_mask) & PAGE_MASK;

	KUNIT_ASSERT_NOT_NULL(test, page);
	ring = page_address(page);
	base = page_to_phys(page);
	ring[5].seqno = cpu_to_le64(77);

	KUNIT_EXPECT_EQ(test, emu_ring_fetch(base, 3, 5, &entry), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(entry.seqno), 77);
	KUNIT_EXPECT_EQ(test, emu_ring_fetch(base, 3, 0xfffffffd, &entry), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(entry.seqno), 77);
	KUNIT_EXPECT_EQ(test, emu_ring_fetch(base, 3, 4, &entry), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(entry.seqno), 0);

	KUNIT_EXPECT_EQ(test, emu_ring_fetch(base + 8, 3, 0, &entry), UMA_FAULT_BUS);
	KUNIT_EXPECT_EQ(test, emu_ring_fetch(1ULL << 51, 3, 0, &entry), UMA_FAULT_BUS);
	KUNIT_EXPECT_EQ(test, emu_ring_fetch(1ULL << 60, 3, 0, &entry), UMA_FAULT_BUS);
	/* The kernel image is memory too, but the device must not access it. */
	KUNIT_EXPECT_EQ(test, emu_ring_fetch(image, 3, 0, &entry), UMA_FAULT_BUS);
	__free_page(page);
}

static void emu_ring_checks(struct kunit *test)
{
	const struct uma_ring_entry good = {
		.tasks_addr = cpu_to_le64(0x10000),
		.task_count = cpu_to_le32(8),
		.as = cpu_to_le32(3),
		.seqno = cpu_to_le64(1),
	};
	struct uma_ring_entry e = good;
	int i;

	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, false), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 7, 4, false), UMA_FAULT_RING);
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 3, false), UMA_FAULT_RING);
	e.seqno = 0;
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, false), UMA_FAULT_RING);
	e = good;
	e.task_count = 0;
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, false), UMA_FAULT_RING);
	e = good;
	e.flags = cpu_to_le32(2);
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, false), UMA_FAULT_RING);
	e = good;
	e.pad0 = cpu_to_le32(1);
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, false), UMA_FAULT_RING);
	/* Resumed within a task: only where tasks can be preempted. */
	e = good;
	e.tile = cpu_to_le64(1ULL << 32);
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, false), UMA_FAULT_RING);
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, true), UMA_FAULT_NONE);
	/* An address of time stamps only with the flag, aligned and within the address space. */
	e = good;
	e.stamps_addr = cpu_to_le64(0x20000);
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, false), UMA_FAULT_RING);
	e.flags = cpu_to_le32(UMA_RING_STAMPS);
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, false), UMA_FAULT_NONE);
	e.stamps_addr = cpu_to_le64(0x20008);
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, false), UMA_FAULT_RING);
	e.stamps_addr = cpu_to_le64((1ULL << 48) - 8 * sizeof(struct uma_task_stamp));
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, false), UMA_FAULT_NONE);
	e.stamps_addr = cpu_to_le64((1ULL << 48) - 7 * sizeof(struct uma_task_stamp));
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, false), UMA_FAULT_RING);
	e.stamps_addr = cpu_to_le64(-(u64)sizeof(struct uma_task_stamp));
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, false), UMA_FAULT_RING);
	e = good;
	e.tasks_addr = cpu_to_le64(0x10020);
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, false), UMA_FAULT_RING);
	e.tasks_addr = cpu_to_le64(1ULL << 48);
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, false), UMA_FAULT_RING);
	e.tasks_addr = cpu_to_le64((1ULL << 48) - 8 * UMA_TASK_SIZE);
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, false), UMA_FAULT_NONE);
	e.tasks_addr = cpu_to_le64((1ULL << 48) - 8 * UMA_TASK_SIZE + 64);
	KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, false), UMA_FAULT_RING);
	for (i = 0; i < ARRAY_SIZE(e.pad); i++) {
		e = good;
		e.pad[i] = cpu_to_le32(0x80000000);
		KUNIT_EXPECT_EQ(test, emu_ring_check(&e, 8, 4, false), UMA_FAULT_RING);
	}
}

static void emu_ring_records(struct kunit *test)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	struct uma_record rec = {
		.seqno = cpu_to_le64(9),
		.start = cpu_to_le64(1),
		.end = cpu_to_le64(2),
		.reason = cpu_to_le32(UMA_FAULT_READ),
		.task_index = cpu_to_le32(4),
	};
	struct uma_record *to;

	KUNIT_ASSERT_NOT_NULL(test, page);
	to = page_address(page);
	KUNIT_EXPECT_TRUE(test, emu_ring_complete(page_to_phys(page), 2, 7, &rec));
	KUNIT_EXPECT_MEMEQ(test, &to[3], &rec, sizeof(rec));
	KUNIT_EXPECT_NULL(test, memchr_inv(to, 0, 3 * sizeof(rec)));
	KUNIT_EXPECT_NULL(test, memchr_inv(to + 4, 0, PAGE_SIZE - 4 * sizeof(rec)));
	KUNIT_EXPECT_FALSE(test, emu_ring_complete(1ULL << 51, 2, 7, &rec));
	__free_page(page);
}

static void emu_inject_counts(struct kunit *test)
{
	atomic_t count = ATOMIC_INIT(2);

	KUNIT_EXPECT_TRUE(test, emu_inject_take(&count));
	KUNIT_EXPECT_TRUE(test, emu_inject_take(&count));
	KUNIT_EXPECT_FALSE(test, emu_inject_take(&count));
	KUNIT_EXPECT_EQ(test, atomic_read(&count), 0);
}

static struct kunit_case emu_ring_tests[] = {
	KUNIT_CASE(emu_ring_counts),
	KUNIT_CASE(emu_ring_entries),
	KUNIT_CASE(emu_ring_checks),
	KUNIT_CASE(emu_ring_records),
	KUNIT_CASE(emu_inject_counts),
	{}
};

static struct kunit_suite emu_ring_suite = {
	.name = "uma_emu_ring",
	.test_cases = emu_ring_tests,
};

kunit_test_suite(emu_ring_suite);
