// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A device without a driver: page table, ring and buffers are set up by the test,
 * which drives it through registers and memory.
 */
#include <kunit/test.h>

#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "emu_rig.h"

u32 rig_read(struct emu_rig *t, u32 reg)
{
	u32 val;

	emu_reg_read(t->emu, reg, &val);
	return val;
}

u64 rig_read64(struct emu_rig *t, u32 reg)
{
	u64 lo = rig_read(t, reg);

	return lo | (u64)rig_read(t, reg + 4) << 32;
}

void rig_write(struct emu_rig *t, u32 reg, u32 val)
{
	emu_reg_write(t->emu, reg, val);
}

void rig_write64(struct emu_rig *t, u32 reg, u64 val)
{
	rig_write(t, reg + 4, upper_32_bits(val));
	rig_write(t, reg, lower_32_bits(val));
}

u32 rig_eng(struct emu_rig *t, u32 reg)
{
	return UMA_REG_ENGINE(t->engine) + reg;
}

u64 rig_counter(struct emu_rig *t, u32 counter)
{
	return rig_read64(t, rig_eng(t, UMA_ENG_COUNTER(counter)));
}

/* Wait for bits of a register, for at least 2.5 s: an emulated CPU is slow. */
bool rig_reaches(struct emu_rig *t, u32 reg, u32 mask, u32 want)
{
	int i;

	for (i = 0; i < 2500; i++) {
		if ((rig_read(t, reg) & mask) == want)
			return true;
		usleep_range(1000, 2000);
	}
	return false;
}

bool rig_status(struct emu_rig *t, u32 bits)
{
	return rig_reaches(t, rig_eng(t, UMA_ENG_STATUS), bits, bits);
}

struct uma_record *rig_last(struct emu_rig *t)
{
	return &t->records[(t->tail - 1) & ((1 << RIG_ORDER) - 1)];
}

bool rig_record(struct emu_rig *t, u64 seqno)
{
	struct uma_record *rec = rig_last(t);
	int i;

	for (i = 0; i < 2500; i++) {
		/* The seqno before the rest of the record; pairs with emu_ring_complete(). */
		if (le64_to_cpu(smp_load_acquire(&rec->seqno)) == seqno)
			return true;
		usleep_range(1000, 2000);
	}
	return false;
}

void rig_map(struct emu_rig *t, u64 va, void *page, u64 flags)
{
	t->table[3][(va >> 12) & 511] =
		cpu_to_le64(page ? virt_to_phys(page) | UMA_PTE_VALID | flags : 0);
}

void rig_inval(struct emu_rig *t, u64 va, u64 size)
{
	rig_write(t, UMA_REG_INVAL_AS, RIG_AS);
	rig_write64(t, UMA_REG_INVAL_START_LO, va);
	rig_write64(t, UMA_REG_INVAL_SIZE_LO, size);
	rig_write(t, UMA_REG_INVAL_CMD, UMA_INVAL_RANGE);
}

void rig_push(struct emu_rig *t, u32 count)
{
	struct uma_ring_entry *e = &t->ring[t->tail & ((1 << RIG_ORDER) - 1)];

	memset(e, 0, sizeof(*e));
	e->tasks_addr = cpu_to_le64(RIG_TASKS_VA);
	e->task_count = cpu_to_le32(count);
	e->as = cpu_to_le32(RIG_AS);
	e->seqno = cpu_to_le64(++t->seqno);
	t->tail++;
}

void rig_doorbell(struct emu_rig *t)
{
	rig_write(t, rig_eng(t, UMA_ENG_RING_TAIL), t->tail);
}

void rig_start_engine(struct emu_rig *t)
{
	rig_write64(t, rig_eng(t, UMA_ENG_RING_BASE_LO), virt_to_phys(t->ring));
	rig_write64(t, rig_eng(t, UMA_ENG_RECORD_BASE_LO), virt_to_phys(t->records));
	rig_write(t, rig_eng(t, UMA_ENG_RING_ORDER), RIG_ORDER);
	rig_write(t, rig_eng(t, UMA_ENG_CTRL), UMA_ENG_ENABLE);
	t->tail = 0;
}

void rig_start_device(struct emu_rig *t)
{
	/* First, because without power writes to other registers have no effect. */
	rig_write(t, UMA_REG_PWR_CTRL, UMA_PWR_ON);
	rig_write64(t, UMA_REG_AS_ROOT_LO(RIG_AS), virt_to_phys(t->table[0]) | UMA_AS_ENABLE);
	rig_start_engine(t);
}

void rig_nop(struct uma_task *task)
{
	memset(task, 0, sizeof(*task));
	task->version = cpu_to_le16(UMA_TASK_VERSION);
	task->opcode = cpu_to_le16(UMA_OP_NOP);
}

void rig_fill(struct uma_task *task, u64 addr, u32 count, u32 value)
{
	struct uma_fill_params *p = (struct uma_fill_params *)task->params;
	struct uma_operand *dst = &task->op[UMA_SLOT_DST];

	rig_nop(task);
	task->opcode = cpu_to_le16(UMA_OP_FILL);
	task->slots = cpu_to_le32(BIT(UMA_SLOT_DST));
	p->value = cpu_to_le32(value);
	dst->addr = cpu_to_le64(addr);
	dst->dtype = cpu_to_le16(UMA_DTYPE_F32);
	dst->rank = cpu_to_le16(1);
	dst->dims[0] = cpu_to_le32(count);
	dst->strides[0] = cpu_to_le64(1);
}

/* The first engine that supports UMA_OP_FILL, so that tasks can write memory. */
static u32 find_engine(struct emu_rig *t)
{
	u32 e, i, count = rig_read(t, UMA_REG_ENGINE_COUNT);

	for (e = 0; e < count; e++) {
		u32 base = UMA_REG_ENGINE(e), rows = rig_read(t, base + UMA_ENG_CAP_COUNT);

		for (i = 0; i < rows; i++) {
			u32 word = rig_read(t, base + UMA_ENG_CAPS + i * sizeof(struct uma_op_cap));

			if ((word & 0xffff) == UMA_OP_FILL)
				return e;
		}
	}
	return 0;
}

int rig_init(struct kunit *test)
{
	struct emu_rig *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct emu_config cfg;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;
	for (i = 0; i < UMA_PT_LEVELS; i++)
		t->table[i] = (void *)get_zeroed_page(GFP_KERNEL);
	for (i = 0; i < RIG_DATA_PAGES; i++)
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
	t->table[2][RIG_TASKS_VA >> 21] = cpu_to_le64(virt_to_phys(t->table[3]) | UMA_PTE_VALID);
	rig_map(t, RIG_TASKS_VA, t->tasks, 0);
	for (i = 0; i < RIG_DATA_PAGES; i++)
		rig_map(t, RIG_DATA_VA + i * SZ_4K, t->data[i], UMA_PTE_WRITE);
	rig_nop(&t->tasks[0]);
	rig_nop(&t->tasks[1]);
	rig_start_device(t);
	return 0;
}

void rig_exit(struct kunit *test)
{
	struct emu_rig *t = test->priv;
	int i;

	if (!t)
		return;
	if (!IS_ERR_OR_NULL(t->emu))
		emu_destroy(t->emu);
	for (i = 0; i < UMA_PT_LEVELS; i++)
		free_page((unsigned long)t->table[i]);
	for (i = 0; i < RIG_DATA_PAGES; i++)
		free_page((unsigned long)t->data[i]);
	free_page((unsigned long)t->ring);
	free_page((unsigned long)t->records);
	free_page((unsigned long)t->tasks);
}
