// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A whole device without a driver: regular operation.
 */
#include <kunit/device.h>
#include <kunit/test.h>

#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "emu_rig.h"

static void emu_device_identifies(struct kunit *test)
{
	struct emu_rig *t = test->priv;
	u64 begin;
	u32 reg;

	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_MAGIC), UMA_MAGIC);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_PROFILE), 0x6c6c7566);	/* "full" */
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_PROFILE + 4), 0);
	KUNIT_EXPECT_GE(test, rig_read(t, UMA_REG_ENGINE_COUNT), 3);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_DEV_STATUS), UMA_DEV_READY);
	begin = rig_read64(t, UMA_REG_TIMESTAMP_LO);
	usleep_range(10, 20);
	KUNIT_EXPECT_LT(test, begin, rig_read64(t, UMA_REG_TIMESTAMP_LO));
	/* Writes of registers that are read-only, or do not exist, have no effect. */
	rig_write(t, UMA_REG_MAGIC, 0);
	rig_write(t, 0xffc, U32_MAX);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_MAGIC), UMA_MAGIC);
	KUNIT_EXPECT_EQ(test, rig_read(t, 0xffc), 0);
	for (reg = UMA_REG_ENGINE(rig_read(t, UMA_REG_ENGINE_COUNT)); reg < UMA_REG_SPACE;
	     reg += 0x1000)
		KUNIT_EXPECT_EQ(test, rig_read(t, reg + UMA_ENG_RING_MAX), 0);
}

static void emu_device_runs(struct kunit *test)
{
	struct emu_rig *t = test->priv;
	int i;

	for (i = 0; i < 20; i++) {
		rig_push(t, 2);
		rig_doorbell(t);
		KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
		KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->reason), UMA_FAULT_NONE);
		KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->task_index), 2);
		KUNIT_EXPECT_GE(test, le64_to_cpu(rig_last(t)->end),
				le64_to_cpu(rig_last(t)->start));
	}
	/* A full ring */
	for (i = 0; i < 1 << RIG_ORDER; i++)
		rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_EXPECT_TRUE(test, rig_record(t, t->seqno));
	KUNIT_EXPECT_TRUE(test, rig_reaches(t, rig_eng(t, UMA_ENG_RING_HEAD), U32_MAX, t->tail));
	KUNIT_EXPECT_EQ(test, rig_counter(t, UMA_CNT_JOBS), 28);
	KUNIT_EXPECT_EQ(test, rig_counter(t, UMA_CNT_TASKS), 48);
	KUNIT_EXPECT_TRUE(test, rig_read(t, UMA_REG_IRQ_STATUS) & UMA_IRQ_ENGINE(t->engine));
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_DEV_STATUS), UMA_DEV_READY);
}

static void emu_device_fills(struct kunit *test)
{
	struct emu_rig *t = test->priv;

	/* Across two pages that are adjacent in the device's address space only. */
	rig_fill(&t->tasks[0], RIG_DATA_VA + 16, 2 * 1024 - 8, 0x3f800000);
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->reason), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, t->data[0][3], 0);
	KUNIT_EXPECT_EQ(test, t->data[0][4], 0x3f800000);
	KUNIT_EXPECT_EQ(test, t->data[0][1023], 0x3f800000);
	KUNIT_EXPECT_EQ(test, t->data[1][1019], 0x3f800000);
	KUNIT_EXPECT_EQ(test, t->data[1][1020], 0);
	KUNIT_EXPECT_EQ(test, rig_counter(t, UMA_CNT_WRITE_BYTES), 4 * 2040);
	KUNIT_EXPECT_GT(test, rig_counter(t, UMA_CNT_TLB_MISSES), 0);
}

/* A record has the counts of its own job, and those of all records add up to the counters. */
static void emu_device_counts(struct kunit *test)
{
	struct emu_rig *t = test->priv;
	int i;

	rig_fill(&t->tasks[0], RIG_DATA_VA, 1024, 1);
	for (i = 0; i < 3; i++) {
		rig_push(t, 2);
		rig_doorbell(t);
		KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
		KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->tasks), 2);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->write_bytes), 4096);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->read_bytes), 2 * UMA_TASK_SIZE);
		KUNIT_EXPECT_GE(test, le64_to_cpu(rig_last(t)->tiles), 1);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->tlb_misses) > 0, i == 0);
		KUNIT_EXPECT_EQ(test, rig_last(t)->tile, 0);
		KUNIT_EXPECT_EQ(test, rig_last(t)->pad, 0);
	}
	KUNIT_EXPECT_EQ(test, rig_counter(t, UMA_CNT_WRITE_BYTES), 3 * 4096);
	KUNIT_EXPECT_EQ(test, rig_counter(t, UMA_CNT_TILES),
			3 * le64_to_cpu(rig_last(t)->tiles));

	/* A job that faults: the counts up to the fault. */
	t->tasks[1].opcode = cpu_to_le16(UMA_OP_COUNT);
	rig_push(t, 2);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->reason), UMA_FAULT_OPCODE);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->tasks), 1);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->write_bytes), 4096);
}

/* Apart from the tasks and the data */
#define RIG_STAMPS_VA	(RIG_TASKS_VA + SZ_4K)

static void push_stamped(struct emu_rig *t, u32 count, u64 stamps)
{
	struct uma_ring_entry *e = &t->ring[t->tail & ((1 << RIG_ORDER) - 1)];

	rig_push(t, count);
	e->flags = cpu_to_le32(UMA_RING_STAMPS);
	e->stamps_addr = cpu_to_le64(stamps);
}

static void emu_device_stamps(struct kunit *test)
{
	struct emu_rig *t = test->priv;
	struct uma_task_stamp *stamps = (void *)t->data[3];
	const u64 va = RIG_DATA_VA + 3 * SZ_4K;
	u64 before;
	int i;

	rig_fill(&t->tasks[0], RIG_DATA_VA, 16, 1);
	push_stamped(t, 2, va + sizeof(*stamps));
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->reason), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->write_bytes), 64 + 2 * sizeof(*stamps));
	before = le64_to_cpu(rig_last(t)->start);
	for (i = 1; i <= 2; i++) {
		KUNIT_EXPECT_LE(test, before, le64_to_cpu(stamps[i].start));
		KUNIT_EXPECT_LE(test, le64_to_cpu(stamps[i].start), le64_to_cpu(stamps[i].end));
		before = le64_to_cpu(stamps[i].end);
	}
	KUNIT_EXPECT_LE(test, before, le64_to_cpu(rig_last(t)->end));
	/* Nothing is written before the first or after the last. */
	KUNIT_EXPECT_NULL(test, memchr_inv(&stamps[0], 0, sizeof(stamps[0])));
	KUNIT_EXPECT_NULL(test, memchr_inv(&stamps[3], 0, sizeof(stamps[3])));

	/* The second stamp is on an unmapped page: its task runs, and then the stamp faults. */
	memset(stamps, 0, SZ_4K);
	push_stamped(t, 2, va + SZ_4K - sizeof(*stamps));
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->reason), UMA_FAULT_WRITE);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->slot), UMA_FAULT_NO_SLOT);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->task_index), 1);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->fault_addr), va + SZ_4K);
	KUNIT_EXPECT_NE(test, le64_to_cpu(stamps[255].end), 0);
}

/* Push an entry for the tasks of a job that follow the first @done. */
static void push_rest(struct emu_rig *t, u32 done, u32 count)
{
	struct uma_ring_entry *e = &t->ring[t->tail & ((1 << RIG_ORDER) - 1)];

	rig_push(t, count - done);
	e->tasks_addr = cpu_to_le64(RIG_TASKS_VA + done * UMA_TASK_SIZE);
}

static void preempt(struct emu_rig *t, u64 seqno)
{
	rig_write64(t, rig_eng(t, UMA_ENG_PREEMPT_LO), seqno);
}

/* A job can be preempted after each of its tasks, and every task runs once. */
static void emu_device_preempts(struct kunit *test)
{
	const u32 count = SZ_4K / UMA_TASK_SIZE;
	struct emu_rig *t = test->priv;
	u32 i, done, entries = 0;

	KUNIT_ASSERT_TRUE(test, rig_read(t, UMA_REG_FEATURES) & UMA_FEATURE_PREEMPT);
	for (i = 0; i < count; i++)
		rig_fill(&t->tasks[i], RIG_DATA_VA + i * sizeof(u32), 1, 100 + i);
	for (done = 0; done < count; done += le32_to_cpu(rig_last(t)->task_index)) {
		push_rest(t, done, count);
		/* Preempted before it starts, it still runs one task. */
		preempt(t, t->seqno);
		rig_doorbell(t);
		KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
		entries++;
		KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->reason), UMA_FAULT_NONE);
		i = le32_to_cpu(rig_last(t)->task_index);
		KUNIT_ASSERT_EQ(test, i, 1);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->tasks), i);
		KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->flags),
				done + i < count ? UMA_RECORD_PREEMPTED : 0);
		KUNIT_EXPECT_EQ(test, rig_counter(t, UMA_CNT_JOBS), done + i == count);
		KUNIT_EXPECT_EQ(test, rig_read(t, rig_eng(t, UMA_ENG_RING_HEAD)), t->tail);
		KUNIT_EXPECT_EQ(test, rig_read(t, rig_eng(t, UMA_ENG_STATUS)), 0);
		KUNIT_EXPECT_EQ(test, t->data[0][done + i - 1], 99 + done + i);
		KUNIT_EXPECT_EQ(test, t->data[0][done + i], 0);
	}
	KUNIT_EXPECT_EQ(test, entries, count);
	KUNIT_EXPECT_EQ(test, rig_counter(t, UMA_CNT_TASKS), count);

	/* Preempted while it runs. */
	t->emu->cfg.task_us = 100000;
	push_rest(t, 0, count);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_reaches(t, rig_eng(t, UMA_ENG_TASK_INDEX), U32_MAX, 1));
	preempt(t, t->seqno);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	KUNIT_EXPECT_GE(test, le32_to_cpu(rig_last(t)->task_index), 2);

	/* Only the job with that sequence number, also if it is pushed later. */
	t->emu->cfg.task_us = 0;
	preempt(t, t->seqno + 2);
	for (i = 1; i <= 2; i++) {
		push_rest(t, 0, count);
		rig_doorbell(t);
		KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
		KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->task_index), i == 1 ? count : 1);
	}
	/* A reset clears the request. */
	preempt(t, t->seqno + 1);
	rig_write(t, rig_eng(t, UMA_ENG_CTRL), UMA_ENG_RESET);
	KUNIT_ASSERT_TRUE(test, rig_reaches(t, rig_eng(t, UMA_ENG_CTRL), U32_MAX, 0));
	KUNIT_EXPECT_EQ(test, rig_read64(t, rig_eng(t, UMA_ENG_PREEMPT_LO)), 0);
	rig_start_engine(t);
	push_rest(t, 0, count);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->task_index), count);
}

/* A task of four tiles; all of its memory is mapped to the same four pages. */
static void fill_tiles(struct emu_rig *t)
{
	u32 i;

	for (i = 0; i < SZ_1M / SZ_4K; i++)
		rig_map(t, RIG_DATA_VA + i * SZ_4K, t->data[i % RIG_DATA_PAGES], UMA_PTE_WRITE);
	rig_fill(&t->tasks[0], RIG_DATA_VA, SZ_1M / sizeof(u32), 7);
}

/* Push an entry of two tasks, the first of which is resumed at @tile. */
static void push_tile(struct emu_rig *t, u64 tile)
{
	struct uma_ring_entry *e = &t->ring[t->tail & ((1 << RIG_ORDER) - 1)];

	push_stamped(t, 2, RIG_STAMPS_VA);
	e->tile = cpu_to_le64(tile);
}

/* A job can be preempted after each tile of a task, and every tile runs once. */
static void emu_device_stops_at_tiles(struct kunit *test)
{
	struct emu_rig *t = test->priv;
	struct uma_task_stamp *stamps;
	u32 flags = rig_read(t, rig_eng(t, UMA_ENG_FLAGS));
	u64 start = 0, i;

	KUNIT_ASSERT_TRUE(test, rig_read(t, UMA_REG_FEATURES) & UMA_FEATURE_TILES);
	KUNIT_ASSERT_TRUE(test, flags & UMA_ENGINE_PREEMPT);
	fill_tiles(t);
	stamps = (void *)get_zeroed_page(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, stamps);
	rig_map(t, RIG_STAMPS_VA, stamps, UMA_PTE_WRITE);
	for (i = 0; i < 4; i++) {
		push_tile(t, i);
		preempt(t, t->seqno);
		rig_doorbell(t);
		if (!rig_record(t, t->seqno))
			break;
		KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->reason), UMA_FAULT_NONE);
		KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->flags), UMA_RECORD_PREEMPTED);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->tiles), 1);
		/* After the last tile it is between two tasks. */
		KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->task_index), i == 3);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->tile), i == 3 ? 0 : i + 1);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->tasks), i == 3);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->macs),
				i == 3 ? SZ_1M / sizeof(u32) : 0);
		/* Its start is when it first started, its end when it was last preempted. */
		start = start ?: le64_to_cpu(stamps->start);
		KUNIT_EXPECT_NE(test, start, 0);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(stamps->start), start);
		KUNIT_EXPECT_GE(test, le64_to_cpu(stamps->end),
				le64_to_cpu(rig_last(t)->start));
		KUNIT_EXPECT_EQ(test, stamps[1].end, 0);
	}
	KUNIT_EXPECT_EQ(test, i, 4);
	KUNIT_EXPECT_EQ(test, rig_counter(t, UMA_CNT_TILES), 4);
	KUNIT_EXPECT_EQ(test, rig_counter(t, UMA_CNT_TASKS), 1);
	KUNIT_EXPECT_EQ(test, rig_counter(t, UMA_CNT_JOBS), 0);
	KUNIT_EXPECT_EQ(test, rig_counter(t, UMA_CNT_WRITE_BYTES),
			SZ_1M + 3 * sizeof(stamps->end) + sizeof(*stamps));
	rig_map(t, RIG_STAMPS_VA, NULL, 0);
	rig_inval(t, RIG_STAMPS_VA, SZ_4K);
	KUNIT_EXPECT_TRUE(test, rig_reaches(t, UMA_REG_INVAL_STATUS, U32_MAX, 0));
	free_page((unsigned long)stamps);
}

/* A task may have changed when it is resumed: a tile that it does not have is a fault. */
static void emu_device_tile_behind(struct kunit *test)
{
	static const u64 behind[] = { 4, 5, U32_MAX, U64_MAX };
	struct emu_rig *t = test->priv;
	u32 i;

	fill_tiles(t);
	for (i = 0; i < ARRAY_SIZE(behind); i++) {
		rig_push(t, 1);
		t->ring[(t->tail - 1) & ((1 << RIG_ORDER) - 1)].tile = cpu_to_le64(behind[i]);
		rig_doorbell(t);
		KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
		KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->reason), UMA_FAULT_DIMS);
		KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->slot), UMA_FAULT_NO_SLOT);
		KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->task_index), 0);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->write_bytes), 0);
		rig_write(t, rig_eng(t, UMA_ENG_CTRL), UMA_ENG_RESET);
		KUNIT_ASSERT_TRUE(test, rig_reaches(t, rig_eng(t, UMA_ENG_CTRL), U32_MAX, 0));
		rig_start_engine(t);
	}
	/* The same for a task without tiles. */
	rig_nop(&t->tasks[0]);
	rig_push(t, 1);
	t->ring[(t->tail - 1) & ((1 << RIG_ORDER) - 1)].tile = cpu_to_le64(1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->reason), UMA_FAULT_DIMS);
}

/* A device that can only be preempted between two tasks. */
static void emu_device_keeps_its_tiles(struct kunit *test)
{
	struct emu_rig *t = test->priv;

	t->emu->cfg.preempt_tiles = false;
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_FEATURES) &
			(UMA_FEATURE_PREEMPT | UMA_FEATURE_TILES), UMA_FEATURE_PREEMPT);
	KUNIT_EXPECT_FALSE(test, rig_read(t, rig_eng(t, UMA_ENG_FLAGS)) & UMA_ENGINE_PREEMPT);
	fill_tiles(t);
	rig_push(t, 2);
	preempt(t, t->seqno);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->flags), UMA_RECORD_PREEMPTED);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->task_index), 1);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->tile), 0);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->tiles), 4);
	rig_push(t, 1);
	t->ring[(t->tail - 1) & ((1 << RIG_ORDER) - 1)].tile = cpu_to_le64(1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->reason), UMA_FAULT_RING);
}

/* A device without preemption ignores the request. */
static void emu_device_does_not_preempt(struct kunit *test)
{
	struct emu_rig *t = test->priv;

	t->emu->cfg.preempt = false;
	KUNIT_EXPECT_FALSE(test, rig_read(t, UMA_REG_FEATURES) & UMA_FEATURE_PREEMPT);
	preempt(t, t->seqno + 1);
	rig_push(t, 2);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->task_index), 2);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->flags), 0);
	KUNIT_EXPECT_EQ(test, rig_read64(t, rig_eng(t, UMA_ENG_PREEMPT_LO)), 0);
}

static void emu_device_power(struct kunit *test)
{
	struct emu_rig *t = test->priv;
	u32 max = rig_read(t, UMA_REG_CLOCK_MAX_MHZ), min = rig_read(t, UMA_REG_CLOCK_MIN_MHZ);

	/* A running job is dropped, and registers and TLB are cleared. */
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	KUNIT_EXPECT_GT(test, emu_tlb_count(&t->emu->engines[t->engine].tlb), 0);
	atomic_set(&t->emu->inject.hang, BIT(t->engine));
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_status(t, UMA_ENG_BUSY));
	rig_write(t, UMA_REG_PWR_CTRL, 0);
	KUNIT_ASSERT_TRUE(test, rig_reaches(t, UMA_REG_PWR_STATUS, UMA_PWR_ON, 0));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->seqno), 0);
	KUNIT_EXPECT_EQ(test, rig_read(t, rig_eng(t, UMA_ENG_STATUS)), 0);
	KUNIT_EXPECT_EQ(test, rig_read(t, rig_eng(t, UMA_ENG_CTRL)), 0);
	KUNIT_EXPECT_EQ(test, rig_read64(t, rig_eng(t, UMA_ENG_RING_BASE_LO)), 0);
	KUNIT_EXPECT_EQ(test, rig_read64(t, rig_eng(t, UMA_ENG_RECORD_BASE_LO)), 0);
	KUNIT_EXPECT_EQ(test, rig_read64(t, UMA_REG_AS_ROOT_LO(RIG_AS)), 0);
	KUNIT_EXPECT_EQ(test, emu_tlb_count(&t->emu->engines[t->engine].tlb), 0);
	KUNIT_EXPECT_EQ(test, rig_counter(t, UMA_CNT_JOBS), 1);

	/* Without power, writes have no effect. */
	rig_start_engine(t);
	rig_write64(t, UMA_REG_AS_ROOT_LO(RIG_AS), virt_to_phys(t->table[0]) | UMA_AS_ENABLE);
	rig_write(t, UMA_REG_PWR_CTRL, UMA_PWR_ON);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_PWR_STATUS), UMA_PWR_ON);
	KUNIT_EXPECT_EQ(test, rig_read(t, rig_eng(t, UMA_ENG_CTRL)), 0);
	KUNIT_EXPECT_EQ(test, rig_read64(t, rig_eng(t, UMA_ENG_RING_BASE_LO)), 0);
	KUNIT_EXPECT_EQ(test, rig_read64(t, UMA_REG_AS_ROOT_LO(RIG_AS)), 0);
	rig_start_device(t);
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_EXPECT_TRUE(test, rig_record(t, t->seqno));

	KUNIT_EXPECT_LT(test, min, max);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_CLOCK_MHZ), max);
	rig_write(t, UMA_REG_CLOCK_CAP_MHZ, min + 1);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_CLOCK_MHZ), min + 1);
	rig_write(t, UMA_REG_CLOCK_CAP_MHZ, 0);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_CLOCK_MHZ), min);
	rig_write(t, UMA_REG_CLOCK_CAP_MHZ, U32_MAX);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_CLOCK_CAP_MHZ), max);

	emu_power_force(t->emu, true);
	KUNIT_EXPECT_TRUE(test, rig_read(t, UMA_REG_PWR_STATUS) & UMA_PWR_THROTTLED);
	KUNIT_EXPECT_TRUE(test, rig_read(t, UMA_REG_IRQ_STATUS) & UMA_IRQ_THERMAL);
	KUNIT_EXPECT_LT(test, rig_read(t, UMA_REG_CLOCK_MHZ), max);
	emu_power_force(t->emu, false);
	KUNIT_EXPECT_TRUE(test, rig_reaches(t, UMA_REG_PWR_STATUS, UMA_PWR_THROTTLED, 0));
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_CLOCK_MHZ), max);
	KUNIT_EXPECT_GT(test, rig_read64(t, UMA_REG_ENERGY_UJ_LO), 0);
}

static void emu_device_error(struct kunit *test)
{
	struct emu_rig *t = test->priv;

	emu_raise_status(t->emu, UMA_DEV_ERROR);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_IRQ_STATUS), UMA_IRQ_ERROR);
	rig_push(t, 1);
	rig_doorbell(t);
	msleep(50);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->seqno), 0);
	rig_write(t, UMA_REG_DEV_CTRL, UMA_DEV_RESET);
	KUNIT_ASSERT_TRUE(test, rig_reaches(t, UMA_REG_DEV_CTRL, U32_MAX, 0));
	rig_start_device(t);
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_EXPECT_TRUE(test, rig_record(t, t->seqno));
}

/* The device is removed while a job hangs. */
static void emu_device_goes(struct kunit *test)
{
	struct emu_rig *t = test->priv;

	atomic_set(&t->emu->inject.hang, BIT(t->engine));
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_status(t, UMA_ENG_BUSY));
	emu_irq_raise(&t->emu->irq, UMA_IRQ_ERROR);
	rig_write(t, UMA_REG_IRQ_ENABLE, UMA_IRQ_ERROR);
	KUNIT_EXPECT_TRUE(test, emu_irq_line(&t->emu->irq));
	emu_vanish(t->emu);
	/* The driver cannot acknowledge the event any more: the line must not stay high. */
	KUNIT_EXPECT_FALSE(test, emu_irq_line(&t->emu->irq));
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_MAGIC), U32_MAX);
	rig_write(t, UMA_REG_DEV_CTRL, UMA_DEV_RESET);
	emu_destroy(t->emu);
	t->emu = NULL;
	KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->seqno), 0);
}

/* Syncs of a page between the CPU and a device that is not coherent. */
static void emu_device_shadows(struct kunit *test)
{
	struct emu_config cfg;
	struct emu_device *emu;
	struct device *dev;
	dma_addr_t dma, again;
	u8 *page, *seen;

	emu_config_init(&cfg);
	cfg.noncoherent = true;
	if (!uma_emu_config_is_valid(&cfg, NULL))
		kunit_skip(test, "no device has DMA operations of its own here");
	page = kunit_kzalloc(test, SZ_512K, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, page);
	dev = kunit_device_register(test, "uma-emu-shadows");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	dev->coherent_dma_mask = DMA_BIT_MASK(64);
	dev->dma_mask = &dev->coherent_dma_mask;
	emu = emu_create_bare(&cfg);
	KUNIT_ASSERT_FALSE(test, IS_ERR(emu));
	emu_dma_attach(emu, dev);

	page[0] = 1;
	dma = dma_map_single(dev, page, PAGE_SIZE, DMA_BIDIRECTIONAL);
	KUNIT_EXPECT_FALSE(test, dma_mapping_error(dev, dma));
	KUNIT_EXPECT_EQ(test, dma, virt_to_phys(page) | EMU_SHADOWED);
	seen = emu_dma_ptr(emu, dma);
	KUNIT_EXPECT_NOT_NULL(test, seen);
	if (!seen)
		goto out;
	KUNIT_EXPECT_EQ(test, seen[0], 1);

	/* Only the lines of the range are synced. */
	page[0] = 2;
	page[64] = 3;
	KUNIT_EXPECT_EQ(test, seen[0], 1);
	dma_sync_single_for_device(dev, dma, 1, DMA_BIDIRECTIONAL);
	KUNIT_EXPECT_EQ(test, seen[0], 2);
	KUNIT_EXPECT_EQ(test, seen[64], 0);
	seen[128] = 4;
	KUNIT_EXPECT_EQ(test, page[128], 0);
	dma_sync_single_for_cpu(dev, dma + 128, 64, DMA_BIDIRECTIONAL);
	KUNIT_EXPECT_EQ(test, page[128], 4);
	/* A dirty line is copied as a whole, a clean one not at all. */
	page[192] = 5;
	seen[193] = 6;
	seen[256] = 7;
	dma_sync_single_for_device(dev, dma + 192, 128, DMA_BIDIRECTIONAL);
	KUNIT_EXPECT_EQ(test, seen[192], 5);
	KUNIT_EXPECT_EQ(test, seen[193], 0);
	KUNIT_EXPECT_EQ(test, seen[256], 7);

	/* A page that is mapped twice keeps its shadow until both mappings are gone. */
	again = dma_map_single(dev, page, PAGE_SIZE, DMA_TO_DEVICE);
	KUNIT_EXPECT_FALSE(test, dma_mapping_error(dev, again));
	KUNIT_EXPECT_EQ(test, again, dma);
	dma_unmap_single(dev, dma, PAGE_SIZE, DMA_TO_DEVICE);
	KUNIT_EXPECT_EQ(test, page[256], 0);
	KUNIT_EXPECT_PTR_EQ(test, emu_dma_ptr(emu, dma), (void *)seen);
	dma_unmap_single(dev, dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
	KUNIT_EXPECT_EQ(test, page[256], 7);
	KUNIT_EXPECT_NULL(test, emu_dma_ptr(emu, dma));
	KUNIT_EXPECT_FALSE(test, emu_dma_owned(emu, dma));

	/* A mapping must not exceed the reported limit. */
	KUNIT_EXPECT_EQ(test, dma_max_mapping_size(dev), SZ_256K);
	dma = dma_map_single(dev, page, SZ_512K, DMA_BIDIRECTIONAL);
	KUNIT_EXPECT_TRUE(test, dma_mapping_error(dev, dma));
	dma = dma_map_single(dev, page, SZ_256K, DMA_BIDIRECTIONAL);
	KUNIT_EXPECT_FALSE(test, dma_mapping_error(dev, dma));
	dma_unmap_single(dev, dma, SZ_256K, DMA_BIDIRECTIONAL);
out:
	emu_destroy(emu);
}

static struct kunit_case emu_device_tests[] = {
	KUNIT_CASE(emu_device_identifies),
	KUNIT_CASE(emu_device_runs),
	KUNIT_CASE(emu_device_fills),
	KUNIT_CASE(emu_device_counts),
	KUNIT_CASE(emu_device_stamps),
	KUNIT_CASE(emu_device_preempts),
	KUNIT_CASE(emu_device_stops_at_tiles),
	KUNIT_CASE(emu_device_tile_behind),
	KUNIT_CASE(emu_device_keeps_its_tiles),
	KUNIT_CASE(emu_device_does_not_preempt),
	KUNIT_CASE(emu_device_power),
	KUNIT_CASE(emu_device_error),
	KUNIT_CASE(emu_device_goes),
	KUNIT_CASE(emu_device_shadows),
	{}
};

static struct kunit_suite emu_device_suite = {
	.name = "uma_emu_device",
	.init = rig_init,
	.exit = rig_exit,
	.test_cases = emu_device_tests,
};

kunit_test_suite(emu_device_suite);
