/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_SLOTS_H_
#define _UMA_SLOTS_H_

#include <linux/atomic.h>
#include <linux/types.h>

#include "uma_regs.h"

/**
 * struct uma_slot_entry - a hardware address space
 */
struct uma_slot_entry {
	/** @owner: who it holds the page table of, NULL if nobody */
	const void *owner;
	/** @stamp: when it was last taken */
	u64 stamp;
	/** @busy: jobs on the device that use it */
	atomic_t busy;
};

/**
 * struct uma_slots - the hardware address spaces
 *
 * There are more address spaces than the device can hold at once. One has a
 * slot from its first job until another takes it away while it has no job.
 * Callers serialise, but for uma_slots_put().
 */
struct uma_slots {
	/** @slot: slots */
	struct uma_slot_entry slot[UMA_MAX_AS];
	/** @clock: counts uma_slots_get() */
	u64 clock;
	/** @count: slots that the device has */
	u32 count;
};

void uma_slots_init(struct uma_slots *slots, u32 count);
int uma_slots_find(const struct uma_slots *slots, const void *owner);
int uma_slots_get(struct uma_slots *slots, const void *owner, bool *fresh);
bool uma_slots_put(struct uma_slots *slots, unsigned int slot);
void uma_slots_drop(struct uma_slots *slots, unsigned int slot);

#endif /* _UMA_SLOTS_H_ */
