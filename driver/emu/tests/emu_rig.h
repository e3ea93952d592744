/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A device without a driver, for the suites that test one by its registers.
 */
#ifndef _EMU_RIG_H_
#define _EMU_RIG_H_

#include <kunit/test.h>

#include "../emu_compat.h"
#include "../emu_device.h"

#define RIG_ORDER		3
#define RIG_AS		5
#define RIG_TASKS_VA	0x200000ULL
#define RIG_DATA_VA		0x300000ULL
#define RIG_DATA_PAGES	4
#define RIG_DATA_END	(RIG_DATA_VA + RIG_DATA_PAGES * SZ_4K)

/**
 * struct emu_rig - a device and the memory that it accesses
 * @emu: device
 * @table: page tables of the address space RIG_AS, by level
 * @ring: ring of the engine
 * @records: completion records of the engine
 * @tasks: descriptors at RIG_TASKS_VA
 * @data: pages at RIG_DATA_VA
 * @tail: number of entries pushed
 * @seqno: sequence number of the last entry
 * @engine: index of the engine under test
 */
struct emu_rig {
	struct emu_device *emu;
	__le64 *table[UMA_PT_LEVELS];
	struct uma_ring_entry *ring;
	struct uma_record *records;
	struct uma_task *tasks;
	u32 *data[RIG_DATA_PAGES];
	u32 tail;
	u64 seqno;
	u32 engine;
};

u32 rig_read(struct emu_rig *t, u32 reg);
u64 rig_read64(struct emu_rig *t, u32 reg);
void rig_write(struct emu_rig *t, u32 reg, u32 val);
void rig_write64(struct emu_rig *t, u32 reg, u64 val);
u32 rig_eng(struct emu_rig *t, u32 reg);
u64 rig_counter(struct emu_rig *t, u32 counter);
bool rig_reaches(struct emu_rig *t, u32 reg, u32 mask, u32 want);
bool rig_status(struct emu_rig *t, u32 bits);
struct uma_record *rig_last(struct emu_rig *t);
bool rig_record(struct emu_rig *t, u64 seqno);
void rig_map(struct emu_rig *t, u64 va, void *page, u64 flags);
void rig_inval(struct emu_rig *t, u64 va, u64 size);
void rig_push(struct emu_rig *t, u32 count);
void rig_doorbell(struct emu_rig *t);
void rig_start_engine(struct emu_rig *t);
void rig_start_device(struct emu_rig *t);
void rig_nop(struct uma_task *task);
void rig_fill(struct uma_task *task, u64 addr, u32 count, u32 value);
int rig_init(struct kunit *test);
void rig_exit(struct kunit *test);

#endif /* _EMU_RIG_H_ */
