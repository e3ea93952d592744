// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A whole device without a driver: jobs, faults, resets and injected faults,
 * through registers and memory alone. One file, for its helpers are most of it.
 */
#include <kunit/test.h>

#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../emu_compat.h"
#include "../emu_device.h"

#define ORDER		3
#define AS		5
#define TASKS_VA	0x200000ULL
#define DATA_VA		0x300000ULL
#define DATA_PAGES	4

struct emu_device_test {
	struct emu_device *emu;
	__le64 *table[UMA_PT_LEVELS];
	struct uma_ring_entry *ring;
	struct uma_record *records;
	struct uma_task *tasks;
	u32 *data[DATA_PAGES];
	u32 tail;
	u64 seqno;
	u32 engine;
};

static u32 rd(struct emu_device_test *t, u32 reg)
{
	u32 val;

	emu_reg_read(t->emu, reg, &val);
	return val;
}

static u64 rd64(struct emu_device_test *t, u32 reg)
{
	u64 lo = rd(t, reg);

	return lo | (u64)rd(t, reg + 4) << 32;
}

static void wr(struct emu_device_test *t, u32 reg, u32 val)
{
	emu_reg_write(t->emu, reg, val);
}

static void wr64(struct emu_device_test *t, u32 reg, u64 val)
{
	wr(t, reg + 4, upper_32_bits(val));
	wr(t, reg, lower_32_bits(val));
}

static u32 eng(struct emu_device_test *t, u32 reg)
{
	return UMA_REG_ENGINE(t->engine) + reg;
}

/* Wait for bits of a register, at most five seconds: emulation may be slow. */
static bool reaches(struct emu_device_test *t, u32 reg, u32 mask, u32 want)
{
	int i;

	for (i = 0; i < 2500; i++) {
		if ((rd(t, reg) & mask) == want)
			return true;
		usleep_range(1000, 2000);
	}
	return false;
}

static struct uma_record *last(struct emu_device_test *t)
{
	return &t->records[(t->tail - 1) & ((1 << ORDER) - 1)];
}

static bool record_of(struct emu_device_test *t, u64 seqno)
{
	struct uma_record *rec = last(t);
	int i;

	for (i = 0; i < 2500; i++) {
		/* Pairs with the release of the record: the rest of it is read after. */
		if (le64_to_cpu(smp_load_acquire(&rec->seqno)) == seqno)
			return true;
		usleep_range(1000, 2000);
	}
	return false;
}

static void map_page(struct emu_device_test *t, u64 va, void *page, u64 flags)
{
	t->table[3][(va >> 12) & 511] =
		cpu_to_le64(page ? virt_to_phys(page) | UMA_PTE_VALID | flags : 0);
}

static void inval(struct emu_device_test *t, u64 va, u64 size)
{
	wr(t, UMA_REG_INVAL_AS, AS);
	wr64(t, UMA_REG_INVAL_START_LO, va);
	wr64(t, UMA_REG_INVAL_SIZE_LO, size);
	wr(t, UMA_REG_INVAL_CMD, UMA_INVAL_RANGE);
}

static void push(struct emu_device_test *t, u32 count)
{
	struct uma_ring_entry *e = &t->ring[t->tail & ((1 << ORDER) - 1)];

	memset(e, 0, sizeof(*e));
	e->tasks_addr = cpu_to_le64(TASKS_VA);
	e->task_count = cpu_to_le32(count);
	e->as = cpu_to_le32(AS);
	e->seqno = cpu_to_le64(++t->seqno);
	t->tail++;
}

static void ring_doorbell(struct emu_device_test *t)
{
	wr(t, eng(t, UMA_ENG_RING_TAIL), t->tail);
}

static void start_engine(struct emu_device_test *t)
{
	wr64(t, eng(t, UMA_ENG_RING_BASE_LO), virt_to_phys(t->ring));
	wr64(t, eng(t, UMA_ENG_RECORD_BASE_LO), virt_to_phys(t->records));
	wr(t, eng(t, UMA_ENG_RING_ORDER), ORDER);
	wr(t, eng(t, UMA_ENG_CTRL), UMA_ENG_ENABLE);
	t->tail = 0;
}

static void start_device(struct emu_device_test *t)
{
	/* First, for without power the rest is not heard. */
	wr(t, UMA_REG_PWR_CTRL, UMA_PWR_ON);
	wr64(t, UMA_REG_AS_ROOT_LO(AS), virt_to_phys(t->table[0]) | UMA_AS_ENABLE);
	start_engine(t);
}

static void make_nop(struct uma_task *task)
{
	memset(task, 0, sizeof(*task));
	task->version = cpu_to_le16(UMA_TASK_VERSION);
	task->opcode = cpu_to_le16(UMA_OP_NOP);
}

static void make_fill(struct uma_task *task, u64 addr, u32 count, u32 value)
{
	struct uma_fill_params *p = (struct uma_fill_params *)task->params;
	struct uma_operand *dst = &task->op[UMA_SLOT_DST];

	make_nop(task);
	task->opcode = cpu_to_le16(UMA_OP_FILL);
	task->slots = cpu_to_le32(BIT(UMA_SLOT_DST));
	p->value = cpu_to_le32(value);
	dst->addr = cpu_to_le64(addr);
	dst->dtype = cpu_to_le16(UMA_DTYPE_F32);
	dst->rank = cpu_to_le16(1);
	dst->dims[0] = cpu_to_le32(count);
	dst->strides[0] = cpu_to_le64(1);
}

/* The first engine that can fill, so that tasks have something to write. */
static u32 find_engine(struct emu_device_test *t)
{
	u32 e, i, count = rd(t, UMA_REG_ENGINE_COUNT);

	for (e = 0; e < count; e++) {
		u32 base = UMA_REG_ENGINE(e), rows = rd(t, base + UMA_ENG_CAP_COUNT);

		for (i = 0; i < rows; i++) {
			u32 word = rd(t, base + UMA_ENG_CAPS + i * sizeof(struct uma_op_cap));

			if ((word & 0xffff) == UMA_OP_FILL)
				return e;
		}
	}
	return 0;
}

static int emu_device_test_init(struct kunit *test)
{
	struct emu_device_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct emu_config cfg;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;
	for (i = 0; i < UMA_PT_LEVELS; i++)
		t->table[i] = (void *)get_zeroed_page(GFP_KERNEL);
	for (i = 0; i < DATA_PAGES; i++)
		t->data[i] = (void *)get_zeroed_page(GFP_KERNEL);
	t->ring = (void *)get_zeroed_page(GFP_KERNEL);
	t->records = (void *)get_zeroed_page(GFP_KERNEL);
	t->tasks = (void *)get_zeroed_page(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->tasks);

	emu_config_init(&cfg);
	cfg.paranoid = true;
	cfg.stale_ms = 200;
	t->emu = emu_create_bare(&cfg);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->emu));
	t->engine = find_engine(t);

	for (i = 0; i < 2; i++)
		t->table[i][0] = cpu_to_le64(virt_to_phys(t->table[i + 1]) | UMA_PTE_VALID);
	t->table[2][TASKS_VA >> 21] = cpu_to_le64(virt_to_phys(t->table[3]) | UMA_PTE_VALID);
	map_page(t, TASKS_VA, t->tasks, 0);
	for (i = 0; i < DATA_PAGES; i++)
		map_page(t, DATA_VA + i * SZ_4K, t->data[i], UMA_PTE_WRITE);
	make_nop(&t->tasks[0]);
	make_nop(&t->tasks[1]);
	start_device(t);
	return 0;
}

static void emu_device_test_exit(struct kunit *test)
{
	struct emu_device_test *t = test->priv;
	int i;

	if (!t)
		return;
	if (!IS_ERR_OR_NULL(t->emu))
		emu_destroy(t->emu);
	for (i = 0; i < UMA_PT_LEVELS; i++)
		free_page((unsigned long)t->table[i]);
	for (i = 0; i < DATA_PAGES; i++)
		free_page((unsigned long)t->data[i]);
	free_page((unsigned long)t->ring);
	free_page((unsigned long)t->records);
	free_page((unsigned long)t->tasks);
}

static void emu_device_identifies(struct kunit *test)
{
	struct emu_device_test *t = test->priv;
	u64 begin;
	u32 reg;

	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_MAGIC), UMA_MAGIC);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_PROFILE), 0x6c6c7566);	/* "full" */
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_PROFILE + 4), 0);
	KUNIT_EXPECT_GE(test, rd(t, UMA_REG_ENGINE_COUNT), 3);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_DEV_STATUS), UMA_DEV_READY);
	begin = rd64(t, UMA_REG_TIMESTAMP_LO);
	usleep_range(10, 20);
	KUNIT_EXPECT_LT(test, begin, rd64(t, UMA_REG_TIMESTAMP_LO));
	/* Nothing there, and nothing happens when it is written. */
	wr(t, UMA_REG_MAGIC, 0);
	wr(t, 0xffc, U32_MAX);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_MAGIC), UMA_MAGIC);
	KUNIT_EXPECT_EQ(test, rd(t, 0xffc), 0);
	for (reg = UMA_REG_ENGINE(rd(t, UMA_REG_ENGINE_COUNT)); reg < UMA_REG_SPACE; reg += 0x1000)
		KUNIT_EXPECT_EQ(test, rd(t, reg + UMA_ENG_RING_MAX), 0);
}

static void emu_device_runs(struct kunit *test)
{
	struct emu_device_test *t = test->priv;
	int i;

	for (i = 0; i < 20; i++) {
		push(t, 2);
		ring_doorbell(t);
		KUNIT_ASSERT_TRUE(test, record_of(t, t->seqno));
		KUNIT_EXPECT_EQ(test, le32_to_cpu(last(t)->reason), UMA_FAULT_NONE);
		KUNIT_EXPECT_EQ(test, le32_to_cpu(last(t)->task_index), 2);
		KUNIT_EXPECT_GE(test, le64_to_cpu(last(t)->end), le64_to_cpu(last(t)->start));
	}
	/* Several at once, up to a full ring. */
	for (i = 0; i < 1 << ORDER; i++)
		push(t, 1);
	ring_doorbell(t);
	KUNIT_EXPECT_TRUE(test, record_of(t, t->seqno));
	KUNIT_EXPECT_TRUE(test, reaches(t, eng(t, UMA_ENG_RING_HEAD), U32_MAX, t->tail));
	KUNIT_EXPECT_EQ(test, rd64(t, eng(t, UMA_ENG_COUNTER(UMA_CNT_JOBS))), 28);
	KUNIT_EXPECT_EQ(test, rd64(t, eng(t, UMA_ENG_COUNTER(UMA_CNT_TASKS))), 48);
	KUNIT_EXPECT_TRUE(test, rd(t, UMA_REG_IRQ_STATUS) & UMA_IRQ_ENGINE(t->engine));
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_DEV_STATUS), UMA_DEV_READY);
}

static void emu_device_fills(struct kunit *test)
{
	struct emu_device_test *t = test->priv;

	/* Across pages that are neighbours for the device only. */
	make_fill(&t->tasks[0], DATA_VA + 16, 2 * 1024 - 8, 0x3f800000);
	push(t, 1);
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, record_of(t, t->seqno));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(last(t)->reason), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, t->data[0][3], 0);
	KUNIT_EXPECT_EQ(test, t->data[0][4], 0x3f800000);
	KUNIT_EXPECT_EQ(test, t->data[0][1023], 0x3f800000);
	KUNIT_EXPECT_EQ(test, t->data[1][1019], 0x3f800000);
	KUNIT_EXPECT_EQ(test, t->data[1][1020], 0);
	KUNIT_EXPECT_EQ(test, rd64(t, eng(t, UMA_ENG_COUNTER(UMA_CNT_WRITE_BYTES))), 4 * 2040);
	KUNIT_EXPECT_GT(test, rd64(t, eng(t, UMA_ENG_COUNTER(UMA_CNT_TLB_MISSES))), 0);
}

/* What a record says is what its own job did, and the records add up to the counters. */
static void emu_device_counts(struct kunit *test)
{
	struct emu_device_test *t = test->priv;
	int i;

	make_fill(&t->tasks[0], DATA_VA, 1024, 1);
	for (i = 0; i < 3; i++) {
		push(t, 2);
		ring_doorbell(t);
		KUNIT_ASSERT_TRUE(test, record_of(t, t->seqno));
		KUNIT_EXPECT_EQ(test, le64_to_cpu(last(t)->tasks), 2);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(last(t)->write_bytes), 4096);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(last(t)->read_bytes), 2 * UMA_TASK_SIZE);
		KUNIT_EXPECT_GE(test, le64_to_cpu(last(t)->tiles), 1);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(last(t)->tlb_misses) > 0, i == 0);
		KUNIT_EXPECT_NULL(test, memchr_inv(last(t)->pad, 0, sizeof(last(t)->pad)));
	}
	KUNIT_EXPECT_EQ(test, rd64(t, eng(t, UMA_ENG_COUNTER(UMA_CNT_WRITE_BYTES))), 3 * 4096);
	KUNIT_EXPECT_EQ(test, rd64(t, eng(t, UMA_ENG_COUNTER(UMA_CNT_TILES))),
			3 * le64_to_cpu(last(t)->tiles));

	/* Up to its fault. */
	t->tasks[1].opcode = cpu_to_le16(UMA_OP_COUNT);
	push(t, 2);
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, record_of(t, t->seqno));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(last(t)->reason), UMA_FAULT_OPCODE);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(last(t)->tasks), 1);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(last(t)->write_bytes), 4096);
}

static void push_stamped(struct emu_device_test *t, u32 count, u64 stamps)
{
	struct uma_ring_entry *e = &t->ring[t->tail & ((1 << ORDER) - 1)];

	push(t, count);
	e->flags = cpu_to_le32(UMA_RING_STAMPS);
	e->stamps_addr = cpu_to_le64(stamps);
}

static void emu_device_stamps(struct kunit *test)
{
	struct emu_device_test *t = test->priv;
	struct uma_task_stamp *stamps = (void *)t->data[3];
	const u64 va = DATA_VA + 3 * SZ_4K;
	u64 before;
	int i;

	make_fill(&t->tasks[0], DATA_VA, 16, 1);
	push_stamped(t, 2, va + sizeof(*stamps));
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, record_of(t, t->seqno));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(last(t)->reason), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(last(t)->write_bytes), 64 + 2 * sizeof(*stamps));
	before = le64_to_cpu(last(t)->start);
	for (i = 1; i <= 2; i++) {
		KUNIT_EXPECT_LE(test, before, le64_to_cpu(stamps[i].start));
		KUNIT_EXPECT_LE(test, le64_to_cpu(stamps[i].start), le64_to_cpu(stamps[i].end));
		before = le64_to_cpu(stamps[i].end);
	}
	KUNIT_EXPECT_LE(test, before, le64_to_cpu(last(t)->end));
	/* None before and none behind. */
	KUNIT_EXPECT_NULL(test, memchr_inv(&stamps[0], 0, sizeof(stamps[0])));
	KUNIT_EXPECT_NULL(test, memchr_inv(&stamps[3], 0, sizeof(stamps[3])));

	/* The second is on a page that is not there: the task has run, its stamp faults. */
	memset(stamps, 0, SZ_4K);
	push_stamped(t, 2, va + SZ_4K - sizeof(*stamps));
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, record_of(t, t->seqno));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(last(t)->reason), UMA_FAULT_WRITE);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(last(t)->slot), UMA_FAULT_NO_SLOT);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(last(t)->task_index), 1);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(last(t)->fault_addr), va + SZ_4K);
	KUNIT_EXPECT_NE(test, le64_to_cpu(stamps[255].end), 0);
}

static void emu_device_faults(struct kunit *test)
{
	struct emu_device_test *t = test->priv;

	make_fill(&t->tasks[1], DATA_VA + DATA_PAGES * SZ_4K - 64, 32, 1);
	push(t, 2);
	push(t, 1);
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, reaches(t, eng(t, UMA_ENG_STATUS), UMA_ENG_HALTED, UMA_ENG_HALTED));
	KUNIT_EXPECT_EQ(test, rd(t, eng(t, UMA_ENG_FAULT_REASON)), UMA_FAULT_WRITE);
	KUNIT_EXPECT_EQ(test, rd(t, eng(t, UMA_ENG_FAULT_SLOT)), UMA_SLOT_DST);
	KUNIT_EXPECT_EQ(test, rd(t, eng(t, UMA_ENG_FAULT_AS)), AS);
	KUNIT_EXPECT_EQ(test, rd64(t, eng(t, UMA_ENG_FAULT_ADDR_LO)), DATA_VA + DATA_PAGES * SZ_4K);
	KUNIT_EXPECT_EQ(test, rd64(t, eng(t, UMA_ENG_FAULT_SEQNO_LO)), t->seqno - 1);
	KUNIT_EXPECT_EQ(test, rd(t, eng(t, UMA_ENG_TASK_INDEX)), 1);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(t->records[0].seqno), t->seqno - 1);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(t->records[0].reason), UMA_FAULT_WRITE);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(t->records[0].fault_addr), DATA_VA + DATA_PAGES * SZ_4K);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(t->records[1].seqno), 0);

	/* Only a reset helps. */
	wr(t, eng(t, UMA_ENG_CTRL), 0);
	wr(t, eng(t, UMA_ENG_CTRL), UMA_ENG_ENABLE);
	KUNIT_EXPECT_EQ(test, rd(t, eng(t, UMA_ENG_STATUS)), UMA_ENG_HALTED);
	wr(t, eng(t, UMA_ENG_CTRL), UMA_ENG_RESET);
	KUNIT_ASSERT_TRUE(test, reaches(t, eng(t, UMA_ENG_CTRL), U32_MAX, 0));
	KUNIT_EXPECT_EQ(test, rd(t, eng(t, UMA_ENG_STATUS)), 0);
	start_engine(t);
	push(t, 1);
	ring_doorbell(t);
	KUNIT_EXPECT_TRUE(test, record_of(t, t->seqno));
	KUNIT_EXPECT_EQ(test, rd64(t, eng(t, UMA_ENG_COUNTER(UMA_CNT_FAULTS))), 1);
}

static u32 fault_of(struct kunit *test, struct emu_device_test *t)
{
	u32 reason = U32_MAX;

	ring_doorbell(t);
	if (reaches(t, eng(t, UMA_ENG_STATUS), UMA_ENG_HALTED, UMA_ENG_HALTED))
		reason = rd(t, eng(t, UMA_ENG_FAULT_REASON));
	wr(t, eng(t, UMA_ENG_CTRL), UMA_ENG_RESET);
	KUNIT_EXPECT_TRUE(test, reaches(t, eng(t, UMA_ENG_CTRL), U32_MAX, 0));
	start_engine(t);
	return reason;
}

static void emu_device_fault_reasons(struct kunit *test)
{
	struct emu_device_test *t = test->priv;
	u64 pte = le64_to_cpu(t->table[3][(DATA_VA >> 12) & 511]);

	make_fill(&t->tasks[0], DATA_VA, 32, 1);
	map_page(t, DATA_VA, t->data[0], 0);
	push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_WRITE);
	t->table[3][(DATA_VA >> 12) & 511] = cpu_to_le64(pte | BIT_ULL(60));
	push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_TABLE);
	t->table[3][(DATA_VA >> 12) & 511] = cpu_to_le64((1ULL << 51) | UMA_PTE_VALID);
	push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_BUS);
	t->table[3][(DATA_VA >> 12) & 511] = cpu_to_le64(pte);

	t->tasks[0].pad0 = cpu_to_le32(1);
	push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_PAD);
	make_nop(&t->tasks[0]);
	t->tasks[0].version = cpu_to_le16(99);
	push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_VERSION);

	push(t, 0);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_RING);
	t->tail = (1 << ORDER) + 1;
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_RING);

	map_page(t, TASKS_VA, NULL, 0);
	push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_READ);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_DEV_STATUS), UMA_DEV_READY);
}

static void emu_device_hangs(struct kunit *test)
{
	struct emu_device_test *t = test->priv;

	atomic_set(&t->emu->inject.hang, BIT(t->engine));
	push(t, 1);
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, reaches(t, eng(t, UMA_ENG_STATUS), UMA_ENG_BUSY, UMA_ENG_BUSY));
	wr(t, eng(t, UMA_ENG_CTRL), 0);
	msleep(50);
	KUNIT_EXPECT_EQ(test, rd(t, eng(t, UMA_ENG_STATUS)), UMA_ENG_BUSY);

	/* The first reset does not end, the second does. */
	atomic_set(&t->emu->inject.fail_reset, 1);
	wr(t, eng(t, UMA_ENG_CTRL), UMA_ENG_RESET);
	msleep(50);
	KUNIT_EXPECT_EQ(test, rd(t, eng(t, UMA_ENG_CTRL)), UMA_ENG_RESET);
	wr(t, eng(t, UMA_ENG_CTRL), UMA_ENG_RESET);
	KUNIT_EXPECT_TRUE(test, reaches(t, eng(t, UMA_ENG_CTRL), U32_MAX, 0));
	KUNIT_EXPECT_TRUE(test, reaches(t, eng(t, UMA_ENG_STATUS), U32_MAX, 0));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(t->records[0].seqno), 0);

	start_engine(t);
	push(t, 1);
	ring_doorbell(t);
	KUNIT_EXPECT_TRUE(test, record_of(t, t->seqno));
}

static void emu_device_resets(struct kunit *test)
{
	struct emu_device_test *t = test->priv;

	push(t, 1);
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, record_of(t, t->seqno));
	wr(t, UMA_REG_IRQ_ENABLE, UMA_IRQ_ENGINES);
	atomic_set(&t->emu->inject.hang, BIT(t->engine));
	push(t, 1);
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, reaches(t, eng(t, UMA_ENG_STATUS), UMA_ENG_BUSY, UMA_ENG_BUSY));

	atomic_set(&t->emu->inject.fail_reset, 1);
	wr(t, UMA_REG_DEV_CTRL, UMA_DEV_RESET);
	msleep(50);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_DEV_CTRL), UMA_DEV_RESET);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_DEV_STATUS), 0);
	wr(t, UMA_REG_DEV_CTRL, UMA_DEV_RESET);
	KUNIT_ASSERT_TRUE(test, reaches(t, UMA_REG_DEV_CTRL, U32_MAX, 0));

	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_DEV_STATUS), UMA_DEV_READY);
	KUNIT_EXPECT_EQ(test, rd64(t, UMA_REG_AS_ROOT_LO(AS)), 0);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_PWR_CTRL), 0);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_IRQ_STATUS), 0);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_IRQ_ENABLE), 0);
	KUNIT_EXPECT_EQ(test, rd(t, eng(t, UMA_ENG_CTRL)), 0);
	KUNIT_EXPECT_EQ(test, rd(t, eng(t, UMA_ENG_STATUS)), 0);
	KUNIT_EXPECT_EQ(test, rd64(t, eng(t, UMA_ENG_RING_BASE_LO)), 0);
	KUNIT_EXPECT_EQ(test, rd64(t, eng(t, UMA_ENG_COUNTER(UMA_CNT_JOBS))), 0);

	start_device(t);
	push(t, 1);
	ring_doorbell(t);
	KUNIT_EXPECT_TRUE(test, record_of(t, t->seqno));
}

static void emu_device_loses_irq(struct kunit *test)
{
	struct emu_device_test *t = test->priv;

	atomic_set(&t->emu->inject.lose_irq, 1);
	push(t, 1);
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, record_of(t, t->seqno));
	KUNIT_ASSERT_TRUE(test, reaches(t, eng(t, UMA_ENG_STATUS), UMA_ENG_BUSY, 0));
	msleep(20);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_IRQ_STATUS), 0);
	push(t, 1);
	ring_doorbell(t);
	KUNIT_EXPECT_TRUE(test, reaches(t, UMA_REG_IRQ_STATUS, U32_MAX, UMA_IRQ_ENGINE(t->engine)));
}

static void emu_device_bad_record(struct kunit *test)
{
	struct emu_device_test *t = test->priv;

	atomic_set(&t->emu->inject.bad_record, 1);
	push(t, 1);
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, reaches(t, eng(t, UMA_ENG_RING_HEAD), U32_MAX, 1));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(last(t)->seqno), ~t->seqno);
	push(t, 1);
	ring_doorbell(t);
	KUNIT_EXPECT_TRUE(test, record_of(t, t->seqno));
}

static void emu_device_injects_addr(struct kunit *test)
{
	struct emu_device_test *t = test->priv;

	make_fill(&t->tasks[0], DATA_VA, 2048, 1);
	t->emu->inject.addr_as = AS;
	t->emu->inject.addr_start = DATA_VA + SZ_4K + 8;
	t->emu->inject.addr_end = DATA_VA + SZ_4K + 9;
	atomic_set_release(&t->emu->inject.addr_armed, 1);
	push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_WRITE);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->emu->inject.addr_armed), 0);
	push(t, 1);
	ring_doorbell(t);
	KUNIT_EXPECT_TRUE(test, record_of(t, t->seqno));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(last(t)->reason), UMA_FAULT_NONE);
}

static void emu_device_power(struct kunit *test)
{
	struct emu_device_test *t = test->priv;
	u32 max = rd(t, UMA_REG_CLOCK_MAX_MHZ), min = rd(t, UMA_REG_CLOCK_MIN_MHZ);

	/* A job that runs is dropped, and everything that was set up is lost. */
	push(t, 1);
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, record_of(t, t->seqno));
	KUNIT_EXPECT_GT(test, emu_tlb_count(&t->emu->engines[t->engine].tlb), 0);
	atomic_set(&t->emu->inject.hang, BIT(t->engine));
	push(t, 1);
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, reaches(t, eng(t, UMA_ENG_STATUS), UMA_ENG_BUSY, UMA_ENG_BUSY));
	wr(t, UMA_REG_PWR_CTRL, 0);
	KUNIT_ASSERT_TRUE(test, reaches(t, UMA_REG_PWR_STATUS, UMA_PWR_ON, 0));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(last(t)->seqno), 0);
	KUNIT_EXPECT_EQ(test, rd(t, eng(t, UMA_ENG_STATUS)), 0);
	KUNIT_EXPECT_EQ(test, rd(t, eng(t, UMA_ENG_CTRL)), 0);
	KUNIT_EXPECT_EQ(test, rd64(t, eng(t, UMA_ENG_RING_BASE_LO)), 0);
	KUNIT_EXPECT_EQ(test, rd64(t, eng(t, UMA_ENG_RECORD_BASE_LO)), 0);
	KUNIT_EXPECT_EQ(test, rd64(t, UMA_REG_AS_ROOT_LO(AS)), 0);
	KUNIT_EXPECT_EQ(test, emu_tlb_count(&t->emu->engines[t->engine].tlb), 0);
	KUNIT_EXPECT_EQ(test, rd64(t, eng(t, UMA_ENG_COUNTER(UMA_CNT_JOBS))), 1);

	/* Nobody listens in the dark. */
	start_engine(t);
	wr64(t, UMA_REG_AS_ROOT_LO(AS), virt_to_phys(t->table[0]) | UMA_AS_ENABLE);
	wr(t, UMA_REG_PWR_CTRL, UMA_PWR_ON);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_PWR_STATUS), UMA_PWR_ON);
	KUNIT_EXPECT_EQ(test, rd(t, eng(t, UMA_ENG_CTRL)), 0);
	KUNIT_EXPECT_EQ(test, rd64(t, eng(t, UMA_ENG_RING_BASE_LO)), 0);
	KUNIT_EXPECT_EQ(test, rd64(t, UMA_REG_AS_ROOT_LO(AS)), 0);
	start_device(t);
	push(t, 1);
	ring_doorbell(t);
	KUNIT_EXPECT_TRUE(test, record_of(t, t->seqno));

	KUNIT_EXPECT_LT(test, min, max);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_CLOCK_MHZ), max);
	wr(t, UMA_REG_CLOCK_CAP_MHZ, min + 1);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_CLOCK_MHZ), min + 1);
	wr(t, UMA_REG_CLOCK_CAP_MHZ, 0);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_CLOCK_MHZ), min);
	wr(t, UMA_REG_CLOCK_CAP_MHZ, U32_MAX);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_CLOCK_CAP_MHZ), max);

	emu_power_force(t->emu, true);
	KUNIT_EXPECT_TRUE(test, rd(t, UMA_REG_PWR_STATUS) & UMA_PWR_THROTTLED);
	KUNIT_EXPECT_TRUE(test, rd(t, UMA_REG_IRQ_STATUS) & UMA_IRQ_THERMAL);
	KUNIT_EXPECT_LT(test, rd(t, UMA_REG_CLOCK_MHZ), max);
	emu_power_force(t->emu, false);
	KUNIT_EXPECT_TRUE(test, reaches(t, UMA_REG_PWR_STATUS, UMA_PWR_THROTTLED, 0));
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_CLOCK_MHZ), max);
	KUNIT_EXPECT_GT(test, rd64(t, UMA_REG_ENERGY_UJ_LO), 0);
}

static void emu_device_invalidates(struct kunit *test)
{
	struct emu_device_test *t = test->priv;

	make_fill(&t->tasks[0], DATA_VA, 16, 1);
	push(t, 1);
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, record_of(t, t->seqno));

	/* A page is replaced as it should be. */
	map_page(t, DATA_VA, t->data[1], UMA_PTE_WRITE);
	inval(t, DATA_VA, SZ_4K);
	KUNIT_EXPECT_TRUE(test, reaches(t, UMA_REG_INVAL_STATUS, UMA_INVAL_BUSY, 0));
	push(t, 1);
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, record_of(t, t->seqno));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(last(t)->reason), UMA_FAULT_NONE);
	KUNIT_EXPECT_EQ(test, t->data[1][0], 1);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_DEV_STATUS), UMA_DEV_READY);
}

/* The driver's invalidation comes a little after the table changed: no harm. */
static void emu_device_late_inval(struct kunit *test)
{
	struct emu_device_test *t = test->priv;

	make_fill(&t->tasks[0], DATA_VA, 16, 1);
	push(t, 1);
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, record_of(t, t->seqno));

	map_page(t, DATA_VA, NULL, 0);
	push(t, 1);
	ring_doorbell(t);
	msleep(20);
	inval(t, DATA_VA, SZ_4K);
	KUNIT_EXPECT_TRUE(test, reaches(t, eng(t, UMA_ENG_STATUS), UMA_ENG_HALTED, UMA_ENG_HALTED));
	KUNIT_EXPECT_EQ(test, rd(t, eng(t, UMA_ENG_FAULT_REASON)), UMA_FAULT_WRITE);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_DEV_STATUS), UMA_DEV_READY);
}

/* The invalidation never comes: found, told, and the old page left alone. */
static void emu_device_stale(struct kunit *test)
{
	struct emu_device_test *t = test->priv;

	make_fill(&t->tasks[0], DATA_VA, 16, 1);
	push(t, 1);
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, record_of(t, t->seqno));
	memset(t->data[0], 0, SZ_4K);

	kunit_info(test, "the next line about a stale TLB entry is expected\n");
	map_page(t, DATA_VA, NULL, 0);
	push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_STALE);
	KUNIT_EXPECT_NULL(test, memchr_inv(t->data[0], 0, SZ_4K));
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_DEV_STATUS), UMA_DEV_READY | UMA_DEV_STALE_TLB);
	KUNIT_EXPECT_TRUE(test, rd(t, UMA_REG_IRQ_STATUS) & UMA_IRQ_ERROR);

	/* A command that covers something else does not help. */
	map_page(t, DATA_VA, t->data[0], UMA_PTE_WRITE);
	push(t, 1);
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, record_of(t, t->seqno));
	kunit_info(test, "the next line about a stale TLB entry is expected\n");
	map_page(t, DATA_VA, t->data[1], UMA_PTE_WRITE);
	inval(t, DATA_VA + SZ_4K, SZ_4K);
	push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_STALE);

	/* Nor one that got lost. */
	push(t, 1);
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, record_of(t, t->seqno));
	kunit_info(test, "the next line about a stale TLB entry is expected\n");
	atomic_set(&t->emu->inject.lose_inval, 1);
	map_page(t, DATA_VA, t->data[2], UMA_PTE_WRITE);
	inval(t, DATA_VA, SZ_4K);
	push(t, 1);
	KUNIT_EXPECT_EQ(test, fault_of(test, t), UMA_FAULT_STALE);
}

static void emu_device_error(struct kunit *test)
{
	struct emu_device_test *t = test->priv;

	emu_raise_status(t->emu, UMA_DEV_ERROR);
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_IRQ_STATUS), UMA_IRQ_ERROR);
	push(t, 1);
	ring_doorbell(t);
	msleep(50);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(last(t)->seqno), 0);
	wr(t, UMA_REG_DEV_CTRL, UMA_DEV_RESET);
	KUNIT_ASSERT_TRUE(test, reaches(t, UMA_REG_DEV_CTRL, U32_MAX, 0));
	start_device(t);
	push(t, 1);
	ring_doorbell(t);
	KUNIT_EXPECT_TRUE(test, record_of(t, t->seqno));
}

/* Taken away with a job that never ends. */
static void emu_device_goes(struct kunit *test)
{
	struct emu_device_test *t = test->priv;

	atomic_set(&t->emu->inject.hang, BIT(t->engine));
	push(t, 1);
	ring_doorbell(t);
	KUNIT_ASSERT_TRUE(test, reaches(t, eng(t, UMA_ENG_STATUS), UMA_ENG_BUSY, UMA_ENG_BUSY));
	emu_irq_raise(&t->emu->irq, UMA_IRQ_ERROR);
	wr(t, UMA_REG_IRQ_ENABLE, UMA_IRQ_ERROR);
	KUNIT_EXPECT_TRUE(test, emu_irq_line(&t->emu->irq));
	emu_vanish(t->emu);
	/* Nobody could acknowledge what is latched: the line may not stay high. */
	KUNIT_EXPECT_FALSE(test, emu_irq_line(&t->emu->irq));
	KUNIT_EXPECT_EQ(test, rd(t, UMA_REG_MAGIC), U32_MAX);
	wr(t, UMA_REG_DEV_CTRL, UMA_DEV_RESET);
	emu_destroy(t->emu);
	t->emu = NULL;
	KUNIT_EXPECT_EQ(test, le64_to_cpu(last(t)->seqno), 0);
}

static struct kunit_case emu_device_tests[] = {
	KUNIT_CASE(emu_device_identifies),
	KUNIT_CASE(emu_device_runs),
	KUNIT_CASE(emu_device_fills),
	KUNIT_CASE(emu_device_counts),
	KUNIT_CASE(emu_device_stamps),
	KUNIT_CASE(emu_device_faults),
	KUNIT_CASE(emu_device_fault_reasons),
	KUNIT_CASE(emu_device_hangs),
	KUNIT_CASE(emu_device_resets),
	KUNIT_CASE(emu_device_loses_irq),
	KUNIT_CASE(emu_device_bad_record),
	KUNIT_CASE(emu_device_injects_addr),
	KUNIT_CASE(emu_device_power),
	KUNIT_CASE(emu_device_invalidates),
	KUNIT_CASE(emu_device_late_inval),
	KUNIT_CASE(emu_device_stale),
	KUNIT_CASE(emu_device_error),
	KUNIT_CASE(emu_device_goes),
	{}
};

static struct kunit_suite emu_device_suite = {
	.name = "uma_emu_device",
	.init = emu_device_test_init,
	.exit = emu_device_test_exit,
	.test_cases = emu_device_tests,
};

kunit_test_suite(emu_device_suite);
