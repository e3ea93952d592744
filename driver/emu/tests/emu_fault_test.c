// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A whole device without a driver: faults, hangs, resets and fault injection.
 */
#include <kunit/test.h>

#include <linux/delay.h>
#include <linux/io.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "emu_rig.h"

static void emu_fault_reports(struct kunit *test)
{
	struct emu_rig *t = test->priv;

	rig_fill(&t->tasks[1], RIG_DATA_END - 64, 32, 1);
	rig_push(t, 2);
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_status(t, UMA_ENG_HALTED));
	KUNIT_EXPECT_EQ(test, rig_read(t, rig_eng(t, UMA_ENG_FAULT_REASON)), UMA_FAULT_WRITE);
	KUNIT_EXPECT_EQ(test, rig_read(t, rig_eng(t, UMA_ENG_FAULT_SLOT)), UMA_SLOT_DST);
	KUNIT_EXPECT_EQ(test, rig_read(t, rig_eng(t, UMA_ENG_FAULT_AS)), RIG_AS);
	KUNIT_EXPECT_EQ(test, rig_read64(t, rig_eng(t, UMA_ENG_FAULT_ADDR_LO)), RIG_DATA_END);
	KUNIT_EXPECT_EQ(test, rig_read64(t, rig_eng(t, UMA_ENG_FAULT_SEQNO_LO)), t->seqno - 1);
	KUNIT_EXPECT_EQ(test, rig_read(t, rig_eng(t, UMA_ENG_TASK_INDEX)), 1);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(t->records[0].seqno), t->seqno - 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(t->records[0].reason), UMA_FAULT_WRITE);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(t->records[0].fault_addr), RIG_DATA_END);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(t->records[1].seqno), 0);

	/* Only a reset ends the halt. */
	rig_write(t, rig_eng(t, UMA_ENG_CTRL), 0);
	rig_write(t, rig_eng(t, UMA_ENG_CTRL), UMA_ENG_ENABLE);
	KUNIT_EXPECT_EQ(test, rig_read(t, rig_eng(t, UMA_ENG_STATUS)), UMA_ENG_HALTED);
	rig_write(t, rig_eng(t, UMA_ENG_CTRL), UMA_ENG_RESET);
	KUNIT_ASSERT_TRUE(test, rig_reaches(t, rig_eng(t, UMA_ENG_CTRL), U32_MAX, 0));
	KUNIT_EXPECT_EQ(test, rig_read(t, rig_eng(t, UMA_ENG_STATUS)), 0);
	rig_start_engine(t);
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_EXPECT_TRUE(test, rig_record(t, t->seqno));
	KUNIT_EXPECT_EQ(test, rig_counter(t, UMA_CNT_FAULTS), 1);
}

static u32 fault_of(struct kunit *test, struct emu_rig *t)
{
	u32 reason = U32_MAX;

	rig_doorbell(t);
	if (rig_status(t, UMA_ENG_HALTED))
		reason = rig_read(t, rig_eng(t, UMA_ENG_FAULT_REASON));
	rig_write(t, rig_eng(t, UMA_ENG_CTRL), UMA_ENG_RESET);
	KUNIT_EXPECT_TRUE(test, rig_reaches(t, rig_eng(t, UMA_ENG_CTRL), U32_MAX, 0));
	rig_start_engine(t);
	return reason;
}

static void emu_fault_reasons(struct kunit *test)
{
	struct emu_rig *t = test->priv;
	u64 pte = le64_to_cpu(t->table[3][(RIG_DATA_VA >> 12) & 511]);

	rig_fill(&t->tasks[0], RIG_DATA_VA, 32, 1);
	rig_map(t, RIG_DATA_VA, t->data[0], 0);
	rig_push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_WRITE);
	t->table[3][(RIG_DATA_VA >> 12) & 511] = cpu_to_le64(pte | BIT_ULL(60));
	rig_push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_TABLE);
	t->table[3][(RIG_DATA_VA >> 12) & 511] = cpu_to_le64((1ULL << 51) | UMA_PTE_VALID);
	rig_push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_BUS);
	t->table[3][(RIG_DATA_VA >> 12) & 511] = cpu_to_le64(pte);

	t->tasks[0].pad0 = cpu_to_le32(1);
	rig_push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_PAD);
	rig_nop(&t->tasks[0]);
	t->tasks[0].version = cpu_to_le16(99);
	rig_push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_VERSION);

	rig_push(t, 0);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_RING);
	t->tail = (1 << RIG_ORDER) + 1;
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_RING);

	rig_map(t, RIG_TASKS_VA, NULL, 0);
	rig_push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_READ);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_DEV_STATUS), UMA_DEV_READY);
}

static void emu_fault_hangs(struct kunit *test)
{
	struct emu_rig *t = test->priv;

	atomic_set(&t->emu->inject.hang, BIT(t->engine));
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_status(t, UMA_ENG_BUSY));
	rig_write(t, rig_eng(t, UMA_ENG_CTRL), 0);
	msleep(50);
	KUNIT_EXPECT_EQ(test, rig_read(t, rig_eng(t, UMA_ENG_STATUS)), UMA_ENG_BUSY);

	/* The first reset does not complete, the second does. */
	atomic_set(&t->emu->inject.fail_reset, 1);
	rig_write(t, rig_eng(t, UMA_ENG_CTRL), UMA_ENG_RESET);
	msleep(50);
	KUNIT_EXPECT_EQ(test, rig_read(t, rig_eng(t, UMA_ENG_CTRL)), UMA_ENG_RESET);
	rig_write(t, rig_eng(t, UMA_ENG_CTRL), UMA_ENG_RESET);
	KUNIT_EXPECT_TRUE(test, rig_reaches(t, rig_eng(t, UMA_ENG_CTRL), U32_MAX, 0));
	KUNIT_EXPECT_TRUE(test, rig_reaches(t, rig_eng(t, UMA_ENG_STATUS), U32_MAX, 0));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(t->records[0].seqno), 0);

	rig_start_engine(t);
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_EXPECT_TRUE(test, rig_record(t, t->seqno));
}

static void emu_fault_resets(struct kunit *test)
{
	struct emu_rig *t = test->priv;

	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	rig_write(t, UMA_REG_IRQ_ENABLE, UMA_IRQ_ENGINES);
	atomic_set(&t->emu->inject.hang, BIT(t->engine));
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_status(t, UMA_ENG_BUSY));

	atomic_set(&t->emu->inject.fail_reset, 1);
	rig_write(t, UMA_REG_DEV_CTRL, UMA_DEV_RESET);
	msleep(50);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_DEV_CTRL), UMA_DEV_RESET);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_DEV_STATUS), 0);
	rig_write(t, UMA_REG_DEV_CTRL, UMA_DEV_RESET);
	KUNIT_ASSERT_TRUE(test, rig_reaches(t, UMA_REG_DEV_CTRL, U32_MAX, 0));

	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_DEV_STATUS), UMA_DEV_READY);
	KUNIT_EXPECT_EQ(test, rig_read64(t, UMA_REG_AS_ROOT_LO(RIG_AS)), 0);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_PWR_CTRL), 0);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_IRQ_STATUS), 0);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_IRQ_ENABLE), 0);
	KUNIT_EXPECT_EQ(test, rig_read(t, rig_eng(t, UMA_ENG_CTRL)), 0);
	KUNIT_EXPECT_EQ(test, rig_read(t, rig_eng(t, UMA_ENG_STATUS)), 0);
	KUNIT_EXPECT_EQ(test, rig_read64(t, rig_eng(t, UMA_ENG_RING_BASE_LO)), 0);
	KUNIT_EXPECT_EQ(test, rig_counter(t, UMA_CNT_JOBS), 0);

	rig_start_device(t);
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_EXPECT_TRUE(test, rig_record(t, t->seqno));
}

/* Resets are slow until slow_reset is cleared; a power-off is no reset. */
static void emu_fault_slow_resets(struct kunit *test)
{
	struct emu_rig *t = test->priv;
	u32 engine = rig_eng(t, UMA_ENG_CTRL), device = UMA_REG_DEV_CTRL;
	u32 *ms = &t->emu->inject.slow_reset;

	WRITE_ONCE(*ms, 20000);
	rig_write(t, UMA_REG_PWR_CTRL, 0);
	KUNIT_EXPECT_TRUE(test, rig_reaches(t, UMA_REG_PWR_STATUS, UMA_PWR_ON, 0));
	rig_start_device(t);
	rig_write(t, engine, UMA_ENG_RESET);
	msleep(50);
	KUNIT_EXPECT_EQ(test, rig_read(t, engine) & UMA_ENG_RESET, UMA_ENG_RESET);
	WRITE_ONCE(*ms, 0);
	KUNIT_EXPECT_TRUE(test, rig_reaches(t, engine, U32_MAX, 0));
	WRITE_ONCE(*ms, 20000);
	rig_write(t, device, UMA_DEV_RESET);
	msleep(50);
	KUNIT_EXPECT_EQ(test, rig_read(t, device), UMA_DEV_RESET);
	WRITE_ONCE(*ms, 0);
	KUNIT_EXPECT_TRUE(test, rig_reaches(t, device, U32_MAX, 0));
}

static void emu_fault_loses_irq(struct kunit *test)
{
	struct emu_rig *t = test->priv;

	atomic_set(&t->emu->inject.lose_irq, 1);
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	KUNIT_ASSERT_TRUE(test, rig_reaches(t, rig_eng(t, UMA_ENG_STATUS), UMA_ENG_BUSY, 0));
	msleep(20);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_IRQ_STATUS), 0);
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_EXPECT_TRUE(test, rig_reaches(t, UMA_REG_IRQ_STATUS, U32_MAX,
					    UMA_IRQ_ENGINE(t->engine)));
}

static void emu_fault_bad_record(struct kunit *test)
{
	struct emu_rig *t = test->priv;

	atomic_set(&t->emu->inject.bad_record, 1);
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_reaches(t, rig_eng(t, UMA_ENG_RING_HEAD), U32_MAX, 1));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(rig_last(t)->seqno), ~t->seqno);
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_EXPECT_TRUE(test, rig_record(t, t->seqno));
}

static void emu_fault_injects_addr(struct kunit *test)
{
	struct emu_rig *t = test->priv;

	rig_fill(&t->tasks[0], RIG_DATA_VA, 2048, 1);
	t->emu->inject.addr_as = RIG_AS;
	t->emu->inject.addr_start = RIG_DATA_VA + SZ_4K + 8;
	t->emu->inject.addr_end = RIG_DATA_VA + SZ_4K + 9;
	atomic_set_release(&t->emu->inject.addr_armed, 1);
	rig_push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_WRITE);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->emu->inject.addr_armed), 0);
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_EXPECT_TRUE(test, rig_record(t, t->seqno));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->reason), UMA_FAULT_NONE);
}

static void emu_fault_invalidates(struct kunit *test)
{
	struct emu_rig *t = test->priv;

	rig_fill(&t->tasks[0], RIG_DATA_VA, 16, 1);
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));

	/* A page is replaced, followed by an invalidation. */
	rig_map(t, RIG_DATA_VA, t->data[1], UMA_PTE_WRITE);
	rig_inval(t, RIG_DATA_VA, SZ_4K);
	KUNIT_EXPECT_TRUE(test, rig_reaches(t, UMA_REG_INVAL_STATUS, UMA_INVAL_BUSY, 0));
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rig_last(t)->reason), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, t->data[1][0], 1);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_DEV_STATUS), UMA_DEV_READY);
}

/* An invalidation shortly after the change of the page table is no error. */
static void emu_fault_late_inval(struct kunit *test)
{
	struct emu_rig *t = test->priv;

	t->emu->cfg.stale_ms = EMU_STALE_MAX_MS;
	rig_fill(&t->tasks[0], RIG_DATA_VA, 16, 1);
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));

	rig_map(t, RIG_DATA_VA, NULL, 0);
	rig_push(t, 1);
	rig_doorbell(t);
	msleep(20);
	rig_inval(t, RIG_DATA_VA, SZ_4K);
	KUNIT_EXPECT_TRUE(test, rig_status(t, UMA_ENG_HALTED));
	KUNIT_EXPECT_EQ(test, rig_read(t, rig_eng(t, UMA_ENG_FAULT_REASON)), UMA_FAULT_WRITE);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_DEV_STATUS), UMA_DEV_READY);
}

/* A missing invalidation is detected and reported, and the old page is not accessed. */
static void emu_fault_stale(struct kunit *test)
{
	struct emu_rig *t = test->priv;

	rig_fill(&t->tasks[0], RIG_DATA_VA, 16, 1);
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	memset(t->data[0], 0, SZ_4K);

	kunit_info(test, "the next line about a stale TLB entry is expected\n");
	rig_map(t, RIG_DATA_VA, NULL, 0);
	rig_push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_STALE);
	KUNIT_EXPECT_NULL(test, memchr_inv(t->data[0], 0, SZ_4K));
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_DEV_STATUS), UMA_DEV_READY | UMA_DEV_STALE_TLB);
	KUNIT_EXPECT_TRUE(test, rig_read(t, UMA_REG_IRQ_STATUS) & UMA_IRQ_ERROR);

	/* An invalidation of another range does not count. */
	rig_map(t, RIG_DATA_VA, t->data[0], UMA_PTE_WRITE);
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	kunit_info(test, "the next line about a stale TLB entry is expected\n");
	rig_map(t, RIG_DATA_VA, t->data[1], UMA_PTE_WRITE);
	rig_inval(t, RIG_DATA_VA + SZ_4K, SZ_4K);
	rig_push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_STALE);

	/* Nor does one that is lost. */
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	kunit_info(test, "the next line about a stale TLB entry is expected\n");
	atomic_set(&t->emu->inject.lose_inval, 1);
	rig_map(t, RIG_DATA_VA, t->data[2], UMA_PTE_WRITE);
	rig_inval(t, RIG_DATA_VA, SZ_4K);
	rig_push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_STALE);
}

/* A job in a step keeps an invalidation busy, and a second one is ignored meanwhile. */
static void emu_fault_ignored_inval(struct kunit *test)
{
	struct emu_rig *t = test->priv;

	t->emu->inject.hang_step = true;
	atomic_set(&t->emu->inject.hang, BIT(t->engine));
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_status(t, UMA_ENG_BUSY));
	while (!READ_ONCE(t->emu->engines[t->engine].hung))
		usleep_range(1000, 2000);
	rig_inval(t, RIG_DATA_VA, SZ_4K);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_INVAL_STATUS), UMA_INVAL_BUSY);
	KUNIT_EXPECT_EQ(test, t->emu->inval_ignored, 0);
	kunit_info(test, "the next line about invalidation ignored is expected\n");
	rig_inval(t, RIG_DATA_VA, SZ_4K);
	KUNIT_EXPECT_EQ(test, t->emu->inval_ignored, 1);
	rig_write(t, rig_eng(t, UMA_ENG_CTRL), UMA_ENG_RESET);
	KUNIT_EXPECT_TRUE(test, rig_reaches(t, UMA_REG_INVAL_STATUS, UMA_INVAL_BUSY, 0));
}

/* The high half of a root must not be written while the root is enabled. */
static void emu_fault_torn_root(struct kunit *test)
{
	const u32 lo = UMA_REG_AS_ROOT_LO(RIG_AS), hi = UMA_REG_AS_ROOT_HI(RIG_AS);
	struct emu_rig *t = test->priv;
	u64 root = rig_read64(t, lo);

	KUNIT_EXPECT_EQ(test, t->emu->roots_torn, 0);
	kunit_info(test, "the next line about a torn root is expected\n");
	rig_write(t, hi, upper_32_bits(root));
	KUNIT_EXPECT_EQ(test, t->emu->roots_torn, 1);
	rig_write(t, lo, 0);
	rig_write(t, hi, upper_32_bits(root));
	rig_write(t, lo, lower_32_bits(root));
	KUNIT_EXPECT_EQ(test, t->emu->roots_torn, 1);
	KUNIT_EXPECT_EQ(test, rig_read64(t, lo), root);
}

/* Map the memory of the rig for the device, and nothing else. */
static void own_all(struct kunit *test, struct emu_rig *t)
{
	void *const pages[] = { t->table[0], t->table[1], t->table[2], t->table[3], t->data[0],
				t->data[1], t->data[2], t->data[3], t->ring, t->records, t->tasks };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pages); i++)
		KUNIT_ASSERT_EQ(test, emu_dma_own(t->emu, virt_to_phys(pages[i]), SZ_4K), 0);
	WRITE_ONCE(t->emu->knows_mapped, true);
}

static bool freed_found(struct emu_rig *t, s64 count)
{
	int i;

	for (i = 0; i < 2500 && atomic64_read(&t->emu->freed) < count; i++)
		usleep_range(1000, 2000);
	return atomic64_read(&t->emu->freed) == count;
}

/* The walker detects a table or a page that was unmapped too early, without any job. */
static void emu_fault_freed_table(struct kunit *test)
{
	struct emu_rig *t = test->priv;
	u64 table = virt_to_phys(t->table[2]), page = virt_to_phys(t->data[1]);

	own_all(test, t);
	/* The third begins when the second has ended. */
	while (READ_ONCE(t->emu->walker.walks) < 3)
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, atomic64_read(&t->emu->freed), 0);

	kunit_info(test, "the next line about freed memory is expected\n");
	emu_dma_disown(t->emu, table, SZ_4K);
	KUNIT_EXPECT_TRUE(test, freed_found(t, 1));
	KUNIT_ASSERT_EQ(test, emu_dma_own(t->emu, table, SZ_4K), 0);

	kunit_info(test, "the next line about freed memory is expected\n");
	emu_dma_disown(t->emu, page, SZ_4K);
	KUNIT_EXPECT_TRUE(test, freed_found(t, 2));
	KUNIT_ASSERT_EQ(test, emu_dma_own(t->emu, page, SZ_4K), 0);

	/* The walker ignores a root that is not enabled. */
	rig_write(t, UMA_REG_AS_ROOT_LO(RIG_AS), 0);
	rig_write(t, UMA_REG_INVAL_AS, RIG_AS);
	rig_write(t, UMA_REG_INVAL_CMD, UMA_INVAL_AS);
	KUNIT_EXPECT_TRUE(test, rig_reaches(t, UMA_REG_INVAL_STATUS, UMA_INVAL_BUSY, 0));
	emu_dma_disown(t->emu, table, SZ_4K);
	msleep(1200);
	KUNIT_EXPECT_EQ(test, atomic64_read(&t->emu->freed), 2);
}

/* A job faults on such a page, but not if one of two mappings of the page is left. */
static void emu_fault_freed_page(struct kunit *test)
{
	struct emu_rig *t = test->priv;
	u64 page = virt_to_phys(t->data[0]);

	emu_walker_fini(t->emu);
	own_all(test, t);
	KUNIT_ASSERT_EQ(test, emu_dma_own(t->emu, page, SZ_4K), 0);
	emu_dma_disown(t->emu, page, SZ_4K);
	rig_fill(&t->tasks[0], RIG_DATA_VA, 16, 1);
	rig_push(t, 1);
	rig_doorbell(t);
	KUNIT_ASSERT_TRUE(test, rig_record(t, t->seqno));
	KUNIT_EXPECT_EQ(test, t->data[0][0], 1);

	kunit_info(test, "the next line about freed memory is expected\n");
	emu_dma_disown(t->emu, page, SZ_4K);
	rig_fill(&t->tasks[0], RIG_DATA_VA, 16, 2);
	rig_push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_BUS);
	KUNIT_EXPECT_EQ(test, t->data[0][0], 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&t->emu->freed), 1);

	kunit_info(test, "the next line about freed memory is expected\n");
	emu_dma_disown(t->emu, virt_to_phys(t->records), SZ_4K);
	rig_nop(&t->tasks[0]);
	rig_push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_BUS);
	KUNIT_EXPECT_EQ(test, atomic64_read(&t->emu->freed), 2);
}

/* An invalidation and a power-off wait for a walk that is in progress. */
static void emu_fault_walk_waited_for(struct kunit *test)
{
	struct emu_rig *t = test->priv;
	u64 root;

	emu_walker_fini(t->emu);
	KUNIT_EXPECT_FALSE(test, emu_walker_begin(t->emu, RIG_AS + 1, &root));
	KUNIT_ASSERT_TRUE(test, emu_walker_begin(t->emu, RIG_AS, &root));
	KUNIT_EXPECT_EQ(test, root, virt_to_phys(t->table[0]) | UMA_AS_ENABLE);
	rig_write(t, UMA_REG_INVAL_AS, RIG_AS + 1);
	rig_write(t, UMA_REG_INVAL_CMD, UMA_INVAL_AS);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_INVAL_STATUS), 0);
	rig_inval(t, RIG_DATA_VA, SZ_4K);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_INVAL_STATUS), UMA_INVAL_BUSY);
	emu_walker_end(t->emu);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_INVAL_STATUS), 0);

	KUNIT_ASSERT_TRUE(test, emu_walker_begin(t->emu, RIG_AS, &root));
	rig_write(t, UMA_REG_PWR_CTRL, 0);
	msleep(50);
	KUNIT_EXPECT_EQ(test, rig_read(t, UMA_REG_PWR_STATUS), UMA_PWR_ON);
	emu_walker_end(t->emu);
	KUNIT_EXPECT_TRUE(test, rig_reaches(t, UMA_REG_PWR_STATUS, UMA_PWR_ON, 0));
	KUNIT_EXPECT_FALSE(test, emu_walker_begin(t->emu, RIG_AS, &root));
}

static struct kunit_case emu_fault_tests[] = {
	KUNIT_CASE(emu_fault_reports),
	KUNIT_CASE(emu_fault_reasons),
	KUNIT_CASE(emu_fault_hangs),
	KUNIT_CASE(emu_fault_resets),
	KUNIT_CASE(emu_fault_slow_resets),
	KUNIT_CASE(emu_fault_loses_irq),
	KUNIT_CASE(emu_fault_bad_record),
	KUNIT_CASE(emu_fault_injects_addr),
	KUNIT_CASE(emu_fault_invalidates),
	KUNIT_CASE(emu_fault_late_inval),
	KUNIT_CASE(emu_fault_stale),
	KUNIT_CASE(emu_fault_ignored_inval),
	KUNIT_CASE(emu_fault_torn_root),
	KUNIT_CASE(emu_fault_freed_table),
	KUNIT_CASE(emu_fault_freed_page),
	KUNIT_CASE(emu_fault_walk_waited_for),
	{}
};

static struct kunit_suite emu_fault_suite = {
	.name = "uma_emu_fault",
	.init = rig_init,
	.exit = rig_exit,
	.test_cases = emu_fault_tests,
};

kunit_test_suite(emu_fault_suite);
