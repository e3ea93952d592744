// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Rings and completion records.
 */
#include <kunit/test.h>

#include "uma_ring.h"

static void uma_ring_test_index(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, uma_ring_index(0, 4), 0);
	KUNIT_EXPECT_EQ(test, uma_ring_index(15, 4), 15);
	KUNIT_EXPECT_EQ(test, uma_ring_index(16, 4), 0);
	KUNIT_EXPECT_EQ(test, uma_ring_index(U32_MAX, 4), 15);
	KUNIT_EXPECT_EQ(test, uma_ring_index(U32_MAX + 1U, 4), 0);
	KUNIT_EXPECT_EQ(test, uma_ring_index(123456, 0), 0);
}

static void uma_ring_test_entry(struct kunit *test)
{
	struct uma_ring_entry entry;
	unsigned int i;

	memset(&entry, 0xa5, sizeof(entry));
	uma_ring_write(&entry, 0x123456789a40, 77, 63, 0xfedcba9876543210, 0, 0);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(entry.tasks_addr), 0x123456789a40);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(entry.task_count), 77);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(entry.as), 63);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(entry.seqno), 0xfedcba9876543210);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(entry.flags), 0);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(entry.stamps_addr), 0);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(entry.pad0), 0);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(entry.tile), 0);
	for (i = 0; i < ARRAY_SIZE(entry.pad); i++)
		KUNIT_EXPECT_EQ(test, le32_to_cpu(entry.pad[i]), 0);
	KUNIT_EXPECT_EQ(test, sizeof(entry), 64);
	KUNIT_EXPECT_EQ(test, offsetof(struct uma_ring_entry, stamps_addr), 32);
	KUNIT_EXPECT_EQ(test, sizeof(struct uma_record), 128);
	KUNIT_EXPECT_EQ(test, offsetof(struct uma_record, tasks), 48);

	uma_ring_write(&entry, 0x1000, 1, 2, 3, 0x765432109870, 0x900000009);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(entry.flags), UMA_RING_STAMPS);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(entry.stamps_addr), 0x765432109870);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(entry.tile), 0x900000009);
	KUNIT_EXPECT_EQ(test, offsetof(struct uma_ring_entry, tile), 40);
	KUNIT_EXPECT_EQ(test, offsetof(struct uma_record, tile), 112);
}

static void uma_ring_test_record(struct kunit *test)
{
	struct uma_record rec = {
		.seqno = cpu_to_le64(41),
		.start = cpu_to_le64(1000),
		.end = cpu_to_le64(1500),
		.fault_addr = cpu_to_le64(0x7000),
		.reason = cpu_to_le32(UMA_FAULT_WRITE),
		.slot = cpu_to_le32(UMA_SLOT_A),
		.task_index = cpu_to_le32(3),
		.tasks = cpu_to_le64(0x100000001),
		.tiles = cpu_to_le64(0x200000002),
		.macs = cpu_to_le64(0x300000003),
		.read_bytes = cpu_to_le64(0x400000004),
		.write_bytes = cpu_to_le64(0x500000005),
		.tlb_misses = cpu_to_le64(0x600000006),
		.stall_ns = cpu_to_le64(0x700000007),
		.tile = cpu_to_le64(0x800000008),
	};
	struct uma_result res = { .reason = 99 };

	/* Somebody else's record says nothing, and leaves what there was. */
	KUNIT_EXPECT_FALSE(test, uma_record_read(&rec, 42, &res));
	KUNIT_EXPECT_EQ(test, res.reason, 99);
	/* Numbers are compared in full. */
	KUNIT_EXPECT_FALSE(test, uma_record_read(&rec, 41 + (1ULL << 32), &res));

	KUNIT_EXPECT_TRUE(test, uma_record_read(&rec, 41, &res));
	KUNIT_EXPECT_EQ(test, res.start, 1000);
	KUNIT_EXPECT_EQ(test, res.end, 1500);
	KUNIT_EXPECT_EQ(test, res.fault_addr, 0x7000);
	KUNIT_EXPECT_EQ(test, res.reason, UMA_FAULT_WRITE);
	KUNIT_EXPECT_EQ(test, res.slot, UMA_SLOT_A);
	KUNIT_EXPECT_EQ(test, res.task_index, 3);
	KUNIT_EXPECT_EQ(test, res.tasks, 0x100000001);
	KUNIT_EXPECT_EQ(test, res.tiles, 0x200000002);
	KUNIT_EXPECT_EQ(test, res.macs, 0x300000003);
	KUNIT_EXPECT_EQ(test, res.read_bytes, 0x400000004);
	KUNIT_EXPECT_EQ(test, res.write_bytes, 0x500000005);
	KUNIT_EXPECT_EQ(test, res.tlb_misses, 0x600000006);
	KUNIT_EXPECT_EQ(test, res.stall_ns, 0x700000007);
	KUNIT_EXPECT_EQ(test, res.tile, 0x800000008);

	/* What is not defined is a failure, and not a success. */
	rec.reason = cpu_to_le32(UMA_FAULT_COUNT);
	KUNIT_EXPECT_TRUE(test, uma_record_read(&rec, 41, &res));
	KUNIT_EXPECT_EQ(test, res.reason, UMA_FAULT_INTERNAL);
	rec.reason = cpu_to_le32(U32_MAX);
	KUNIT_EXPECT_TRUE(test, uma_record_read(&rec, 41, &res));
	KUNIT_EXPECT_EQ(test, res.reason, UMA_FAULT_INTERNAL);
}

static struct kunit_case uma_ring_cases[] = {
	KUNIT_CASE(uma_ring_test_index),
	KUNIT_CASE(uma_ring_test_entry),
	KUNIT_CASE(uma_ring_test_record),
	{}
};

static struct kunit_suite uma_ring_suite = {
	.name = "uma_ring",
	.test_cases = uma_ring_cases,
};

kunit_test_suite(uma_ring_suite);
