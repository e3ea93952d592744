// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Rings: entries in, completion records out.
 */
#include <linux/align.h>
#include <linux/string.h>

#include "emu_compat.h"
#include "emu_device.h"

static_assert(sizeof(struct uma_ring_entry) == 64);
static_assert(sizeof(struct uma_record) == 128);

/**
 * emu_ring_pending - number of entries between head and tail
 * @head: index modulo 2^32
 * @tail: index modulo 2^32
 * @order: log2 of the number of entries
 *
 * Return: number of entries, negative if it exceeds the size of the ring.
 */
int emu_ring_pending(u32 head, u32 tail, u32 order)
{
	u32 pending = tail - head;

	return pending <= 1u << order ? pending : -1;
}
EXPORT_SYMBOL_IF_KUNIT(emu_ring_pending);

/* Entries and records are aligned to their size, so that none crosses a page boundary. */
static void *emu_ring_slot(u64 base, u32 order, u32 index, u32 size)
{
	if (!IS_ALIGNED(base, size))
		return NULL;
	return emu_phys_ptr(base + (u64)(index & ((1u << order) - 1)) * size, size);
}

/**
 * emu_ring_fetch - copy an entry
 * @base: physical address of the ring
 * @order: log2 of the number of entries
 * @head: index
 * @entry: out
 *
 * Return: UMA_FAULT_NONE, UMA_FAULT_BUS if the ring is not in memory.
 */
enum uma_fault emu_ring_fetch(u64 base, u32 order, u32 head,
			      struct uma_ring_entry *entry)
{
	const void *from = emu_ring_slot(base, order, head, sizeof(*entry));

	if (!from)
		return UMA_FAULT_BUS;
	/* The tail before the entry; pairs with the driver's wmb() before the doorbell. */
	dma_rmb();
	memcpy(entry, from, sizeof(*entry));
	return UMA_FAULT_NONE;
}
EXPORT_SYMBOL_IF_KUNIT(emu_ring_fetch);

/**
 * emu_ring_check - check an entry
 * @entry: copy of the entry
 * @max_tasks: largest number of tasks
 * @as_count: number of address spaces
 * @tiles: the job may begin within its first task
 *
 * Return: UMA_FAULT_NONE or UMA_FAULT_RING.
 */
enum uma_fault emu_ring_check(const struct uma_ring_entry *entry, u32 max_tasks,
			      u32 as_count, bool tiles)
{
	u64 stamps = le64_to_cpu(entry->stamps_addr), addr = le64_to_cpu(entry->tasks_addr);
	u32 count = le32_to_cpu(entry->task_count), flags = le32_to_cpu(entry->flags);

	if (!entry->seqno || (flags & ~UMA_RING_STAMPS) || entry->pad0 ||
	    (entry->tile && !tiles) || memchr_inv(entry->pad, 0, sizeof(entry->pad)))
		return UMA_FAULT_RING;
	if (flags & UMA_RING_STAMPS ? !IS_ALIGNED(stamps, sizeof(struct uma_task_stamp)) : !!stamps)
		return UMA_FAULT_RING;
	if (!count || count > max_tasks || le32_to_cpu(entry->as) >= as_count)
		return UMA_FAULT_RING;
	if (!IS_ALIGNED(addr, UMA_TASK_ALIGN) || addr >> EMU_VA_BITS ||
	    addr + (u64)count * UMA_TASK_SIZE > 1ULL << EMU_VA_BITS)
		return UMA_FAULT_RING;
	if (stamps >> EMU_VA_BITS ||
	    stamps + (u64)count * sizeof(struct uma_task_stamp) > 1ULL << EMU_VA_BITS)
		return UMA_FAULT_RING;
	return UMA_FAULT_NONE;
}
EXPORT_SYMBOL_IF_KUNIT(emu_ring_check);

/**
 * emu_ring_spoil - write garbage to a completion record before it is written
 * @base: physical address of the records
 * @order: log2 of their number
 * @head: index of the entry
 *
 * Devices may write all but the sequence number in any order, and more than once.
 */
void emu_ring_spoil(u64 base, u32 order, u32 head)
{
	struct uma_record *to = emu_ring_slot(base, order, head, sizeof(*to));

	if (to)
		memset((u8 *)to + sizeof(to->seqno), 0xa5, sizeof(*to) - sizeof(to->seqno));
}

/**
 * emu_ring_complete - write a completion record
 * @base: physical address of the records
 * @order: log2 of their number
 * @head: index of the entry
 * @rec: record
 *
 * Return: false if the records are not in memory.
 */
bool emu_ring_complete(u64 base, u32 order, u32 head, const struct uma_record *rec)
{
	struct uma_record *to = emu_ring_slot(base, order, head, sizeof(*to));
	const size_t skip = sizeof(rec->seqno);

	if (!to)
		return false;
	memcpy((u8 *)to + skip, (const u8 *)rec + skip, sizeof(*rec) - skip);
	/* After the record and the job's writes; pairs with dma_rmb() in uma_record_read(). */
	smp_store_release(&to->seqno, rec->seqno);
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(emu_ring_complete);
