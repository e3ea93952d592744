/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Ring entries and completion records.
 */
#ifndef _UMA_RING_H_
#define _UMA_RING_H_

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/types.h>

#include <asm/barrier.h>

#include <drm/uma_task.h>

#include "../uma_regs.h"

/* A completion record in CPU byte order */
struct uma_result {
	u64 start;		/* device timestamp when the job started, or was continued */
	u64 end;		/* device timestamp when it ended */
	u64 fault_addr;		/* device address of the fault */
	u32 reason;		/* &enum uma_fault */
	u32 slot;		/* &enum uma_slot or UMA_FAULT_NO_SLOT */
	u32 task_index;		/* task that faulted, or the number of tasks done */
	bool preempted;		/* it stopped before this task, or in it */
	u64 tile;		/* tiles of this task that are done */
	u64 tasks;		/* tasks that ended without a fault */
	u64 tiles;		/* number of tiles */
	u64 macs;		/* number of multiply-adds */
	u64 read_bytes;		/* bytes read */
	u64 write_bytes;	/* bytes written */
	u64 tlb_misses;		/* number of translations that needed a walk */
	u64 stall_ns;		/* time waiting for power or invalidations */
	u64 cycles;		/* cycles of the engine's clock */
};

/* Index into the ring and the records of entry @index since the ring was enabled, modulo 2^32. */
static inline u32 uma_ring_index(u32 index, u32 order)
{
	return index & ((1U << order) - 1);
}

/**
 * uma_ring_write - write a job
 * @entry: entry in the ring
 * @tasks_addr: device address of the tasks
 * @task_count: number of tasks
 * @as: hardware address space
 * @seqno: number to look for in the record
 * @stamps_addr: device address of the stamps, 0 for none
 * @tile: tiles of the first task that have been done
 */
static inline void uma_ring_write(struct uma_ring_entry *entry, u64 tasks_addr, u32 task_count,
				  u32 as, u64 seqno, u64 stamps_addr, u64 tile)
{
	*entry = (struct uma_ring_entry) {
		.tasks_addr = cpu_to_le64(tasks_addr),
		.task_count = cpu_to_le32(task_count),
		.as = cpu_to_le32(as),
		.seqno = cpu_to_le64(seqno),
		.flags = cpu_to_le32(stamps_addr ? UMA_RING_STAMPS : 0),
		.stamps_addr = cpu_to_le64(stamps_addr),
		.tile = cpu_to_le64(tile),
	};
}

/**
 * uma_record_read - read a completion record, if it is there
 * @rec: record, which the device may be writing
 * @seqno: expected sequence number
 * @res: out: contents
 *
 * An undefined reason is replaced by UMA_FAULT_INTERNAL, so that callers need not handle it.
 *
 * Return: true if the record has @seqno.
 */
static inline bool uma_record_read(const struct uma_record *rec, u64 seqno,
				   struct uma_result *res)
{
	if (le64_to_cpu(READ_ONCE(rec->seqno)) != seqno)
		return false;
	/* The device writes the seqno last; pairs with its write barrier before that. */
	dma_rmb();
	res->start = le64_to_cpu(rec->start);
	res->end = le64_to_cpu(rec->end);
	res->fault_addr = le64_to_cpu(rec->fault_addr);
	res->reason = le32_to_cpu(rec->reason);
	res->slot = le32_to_cpu(rec->slot);
	res->task_index = le32_to_cpu(rec->task_index);
	res->preempted = le32_to_cpu(rec->flags) & UMA_RECORD_PREEMPTED;
	res->tile = le64_to_cpu(rec->tile);
	res->tasks = le64_to_cpu(rec->tasks);
	res->tiles = le64_to_cpu(rec->tiles);
	res->macs = le64_to_cpu(rec->macs);
	res->read_bytes = le64_to_cpu(rec->read_bytes);
	res->write_bytes = le64_to_cpu(rec->write_bytes);
	res->tlb_misses = le64_to_cpu(rec->tlb_misses);
	res->stall_ns = le64_to_cpu(rec->stall_ns);
	res->cycles = le64_to_cpu(rec->cycles);
	if (res->reason >= UMA_FAULT_COUNT)
		res->reason = UMA_FAULT_INTERNAL;
	return true;
}

#endif /* _UMA_RING_H_ */
