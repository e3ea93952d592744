// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Who has which hardware address space.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <kunit/visibility.h>

#include "uma_slots.h"

/**
 * uma_slots_init - forget all owners
 * @slots: slots
 * @count: slots that the device has, 1 .. UMA_MAX_AS
 */
void uma_slots_init(struct uma_slots *slots, u32 count)
{
	memset(slots, 0, sizeof(*slots));
	slots->count = count;
}
EXPORT_SYMBOL_IF_KUNIT(uma_slots_init);

/**
 * uma_slots_find - the slot of an owner
 * @slots: slots
 * @owner: owner
 *
 * Return: index or -ENOENT.
 */
int uma_slots_find(const struct uma_slots *slots, const void *owner)
{
	unsigned int i;

	for (i = 0; i < slots->count; i++)
		if (slots->slot[i].owner == owner)
			return i;
	return -ENOENT;
}
EXPORT_SYMBOL_IF_KUNIT(uma_slots_find);

/**
 * uma_slots_get - take a slot for a job
 * @slots: slots
 * @owner: owner, not NULL
 * @fresh: out: the slot was not @owner's before and has to be set up
 *
 * Takes, in this order: the owner's, a free one, the one whose owner has had no
 * job for the longest time.
 *
 * Return: index; -EBUSY if all have jobs.
 */
int uma_slots_get(struct uma_slots *slots, const void *owner, bool *fresh)
{
	int slot = uma_slots_find(slots, owner);
	unsigned int i;

	*fresh = slot < 0;
	for (i = 0; *fresh && i < slots->count; i++) {
		if (atomic_read_acquire(&slots->slot[i].busy))
			continue;
		if (!slots->slot[i].owner) {
			slot = i;
			break;
		}
		if (slot < 0 || slots->slot[i].stamp < slots->slot[slot].stamp)
			slot = i;
	}
	if (slot < 0)
		return -EBUSY;
	slots->slot[slot].owner = owner;
	slots->slot[slot].stamp = ++slots->clock;
	atomic_inc(&slots->slot[slot].busy);
	return slot;
}
EXPORT_SYMBOL_IF_KUNIT(uma_slots_get);

/**
 * uma_slots_put - a job is no longer on the device
 * @slots: slots
 * @slot: what uma_slots_get() returned
 *
 * Return: true if it was the last one of this slot. Callable from interrupts.
 */
bool uma_slots_put(struct uma_slots *slots, unsigned int slot)
{
	return atomic_dec_and_test(&slots->slot[slot].busy);
}
EXPORT_SYMBOL_IF_KUNIT(uma_slots_put);

/**
 * uma_slots_drop - take a slot from its owner
 * @slots: slots
 * @slot: slot
 */
void uma_slots_drop(struct uma_slots *slots, unsigned int slot)
{
	slots->slot[slot].owner = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(uma_slots_drop);
