// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The device's MMU: which page table is in which hardware address space, and
 * having the device forget what it cached.
 */
#include <kunit/visibility.h>
#include <linux/dma-mapping.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <drm/drm_drv.h>

#include "uma_device.h"
#include "uma_job.h"
#include "uma_trace.h"
#include "uma_vm.h"

static int uma_mmu_alloc_table(struct uma_pt *pt, struct uma_pt_table *table)
{
	struct uma_device *uma = pt->priv;

	table->entries = dma_alloc_coherent(uma->drm.dev, UMA_PT_ENTRIES * sizeof(*table->entries),
					    &table->dma, GFP_KERNEL_ACCOUNT);
	return table->entries ? 0 : -ENOMEM;
}

static void uma_mmu_free_table(struct uma_pt *pt, struct uma_pt_table *table)
{
	struct uma_device *uma = pt->priv;

	dma_free_coherent(uma->drm.dev, UMA_PT_ENTRIES * sizeof(*table->entries),
			  table->entries, table->dma);
}

static const struct uma_pt_ops uma_mmu_pt_ops = {
	.alloc = uma_mmu_alloc_table,
	.free = uma_mmu_free_table,
};

/**
 * uma_mmu_init - make the page table of an address space
 * @uma: device
 * @vm: address space
 *
 * Return: 0 or -ENOMEM.
 */
int uma_mmu_init(struct uma_device *uma, struct uma_vm *vm)
{
	return uma_pt_init(&vm->pt, &uma_mmu_pt_ops, uma);
}

/**
 * uma_mmu_fini - free the page table of an address space
 * @vm: address space, detached
 */
void uma_mmu_fini(struct uma_vm *vm)
{
	uma_pt_fini(&vm->pt);
}

static int uma_mmu_command(struct uma_device *uma, u32 as, u32 command, u64 start, u64 size)
{
	lockdep_assert_held(&uma->inval_lock);

	uma_write(uma, UMA_REG_INVAL_AS, as);
	uma_write64(uma, UMA_REG_INVAL_START_LO, start);
	uma_write64(uma, UMA_REG_INVAL_SIZE_LO, size);
	/* The device shall find the page table as we left it. */
	wmb();
	uma_write(uma, UMA_REG_INVAL_CMD, command);
	return uma_poll(uma, UMA_REG_INVAL_STATUS, UMA_INVAL_BUSY, 0,
			READ_ONCE(uma->preempt_timeout_ms));
}

/*
 * As before, but with patience only for jobs that behave: an engine lets go of an
 * entry after a tile. One that does not is reset, as others wait for the command.
 */
static int uma_mmu_command_or_reset(struct uma_device *uma, u32 as, u32 command, u64 start,
				    u64 size)
{
	int ret = uma_mmu_command(uma, as, command, start, size);

	if (ret != -ETIMEDOUT)
		return ret;
	uma_reset_holders(uma, as);
	return uma_poll(uma, UMA_REG_INVAL_STATUS, UMA_INVAL_BUSY, 0, UMA_ENGINE_RESET_MS);
}

static void uma_mmu_unlock(struct uma_device *uma)
{
	mutex_unlock(&uma->inval_lock);
	smp_mb(); /* who found it locked has said so, or will find it unlocked */
	if (READ_ONCE(uma->starved))
		queue_work(uma->reset_wq, &uma->kick_work);
}

/* The slot of an address space that has one, while there is a device that knows it. */
static int uma_mmu_slot(struct uma_vm *vm)
{
	struct uma_device *uma = vm->uma;
	int slot = -ENODEV;

	mutex_lock(&uma->hw_lock);
	/* One that is being removed is lost already, but runs until it has been stopped. */
	if (!uma->removed && (!uma->lost || READ_ONCE(uma->going)))
		slot = uma_slots_find(&uma->slots, vm);
	mutex_unlock(&uma->hw_lock);
	return slot;
}

/* Have the whole device forget everything, for it did not when asked. */
static void uma_mmu_reset(struct uma_device *uma)
{
	uma_reset_request(uma);
	flush_work(&uma->reset_work);
}

/**
 * uma_mmu_forget - try to have the device forget entries of a page table
 * @vm: address space, whose page table has been changed already
 * @start: first address
 * @end: one past the last
 *
 * Waits for the device and for nothing else, so memory may be reclaimed by it.
 *
 * Return: 0 nothing uses the entries any more, nor is in the middle of something
 * that does; else the device did not say so.
 */
int uma_mmu_forget(struct uma_vm *vm, u64 start, u64 end)
{
	struct uma_device *uma = vm->uma;
	int slot, ret = 0;

	/*
	 * If the slot gets another owner meanwhile, or this address space another
	 * slot, that one is invalidated as a whole before it is used. The same goes
	 * for one that has none, and need not wait for others.
	 */
	if (uma_mmu_slot(vm) < 0)
		return 0;
	mutex_lock(&uma->inval_lock);
	slot = uma_mmu_slot(vm);
	if (slot >= 0)
		ret = uma_mmu_command_or_reset(uma, slot, UMA_INVAL_RANGE, start, end - start);
	uma_mmu_unlock(uma);
	return ret;
}

/**
 * uma_mmu_invalidate - have the device forget entries of a page table
 * @vm: address space, whose page table has been changed already
 * @start: first address
 * @end: one past the last
 *
 * When it returns nothing uses the entries any more, nor is in the middle of
 * something that does. A job that does not let go of them within
 * &uma_device.preempt_timeout_ms is given up; if the device does not say that it
 * is done even then, it is reset.
 */
void uma_mmu_invalidate(struct uma_vm *vm, u64 start, u64 end)
{
	if (uma_mmu_forget(vm, start, end))
		uma_mmu_reset(vm->uma);
}

/**
 * uma_mmu_detach - take the page table of an address space from the device
 * @vm: address space without jobs
 */
void uma_mmu_detach(struct uma_vm *vm)
{
	struct uma_device *uma = vm->uma;
	int slot, idx, ret = 0;
	bool there;

	there = drm_dev_enter(&uma->drm, &idx);
	mutex_lock(&uma->inval_lock);
	mutex_lock(&uma->hw_lock);
	slot = uma_slots_find(&uma->slots, vm);
	if (slot >= 0) {
		uma_slots_drop(&uma->slots, slot);
		if (there && !uma->lost) {
			uma_write64(uma, UMA_REG_AS_ROOT_LO(slot), 0);
			ret = uma_mmu_command(uma, slot, UMA_INVAL_AS, 0, 0);
		}
	}
	mutex_unlock(&uma->hw_lock);
	uma_mmu_unlock(uma);
	if (ret)
		uma_mmu_reset(uma);
	if (there)
		drm_dev_exit(idx);
}

/**
 * uma_mmu_get_as - have the device know the page table of an address space
 * @vm: address space
 *
 * Called to push a job, with &uma_device.hw_lock held. uma_slots_put() undoes
 * it when the job is done.
 *
 * Return: hardware address space; -EBUSY all are in use, or the device is busy
 * with an invalidation; -ETIMEDOUT the device has to be reset.
 */
int uma_mmu_get_as(struct uma_vm *vm)
{
	struct uma_device *uma = vm->uma;
	bool fresh;
	int slot, ret;

	lockdep_assert_held(&uma->hw_lock);

	slot = uma_slots_get(&uma->slots, vm, &fresh);
	if (slot < 0 || !fresh)
		return slot;
	/* Who has the lock may be waiting for a job to be given up: no job waits for that. */
	ret = -EBUSY;
	if (mutex_trylock(&uma->inval_lock)) {
		uma_write64(uma, UMA_REG_AS_ROOT_LO(slot), vm->pt.root->dma | UMA_AS_ENABLE);
		ret = uma_mmu_command(uma, slot, UMA_INVAL_AS, 0, 0);
		mutex_unlock(&uma->inval_lock);
	}
	if (!ret)
		return slot;
	uma_slots_put(&uma->slots, slot);
	uma_slots_drop(&uma->slots, slot);
	return ret;
}

/*
 * Who has which hardware address space.
 */

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
