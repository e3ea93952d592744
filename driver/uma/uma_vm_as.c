// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The device's MMU: assigning page tables to hardware address spaces (slots), and invalidation.
 */
#include <kunit/visibility.h>
#include <linux/dma-mapping.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include <drm/drm_drv.h>

#include "uma_device.h"
#include "uma_drv.h"
#include "uma_job.h"
#include "uma_vm.h"

/* Timeout of invalidations of slots without jobs, which do not have to wait for a tile. */
#define UMA_IDLE_INVAL_MS	1000

/* Enters the device for one table only, so that an unplug does not wait for any number of them. */
static int uma_mmu_alloc_table(struct uma_pt *pt, struct uma_pt_table *table)
{
	struct uma_device *uma = pt->priv;
	int idx;

	if (!uma_enter(uma, &idx))
		return -ENODEV;
	table->entries = dma_alloc_coherent(uma->drm.dev, UMA_PT_ENTRIES * sizeof(*table->entries),
					    &table->dma, GFP_KERNEL_ACCOUNT);
	drm_dev_exit(idx);
	return table->entries ? 0 : -ENOMEM;
}

static void uma_mmu_free_table(struct uma_pt *pt, struct uma_pt_table *table)
{
	struct uma_device *uma = pt->priv;

	dma_free_coherent(uma->drm.dev, UMA_PT_ENTRIES * sizeof(*table->entries),
			  table->entries, table->dma);
}

/* The allocator of page tables; its private data is the device. */
const struct uma_pt_ops uma_mmu_pt_ops = {
	.alloc = uma_mmu_alloc_table,
	.free = uma_mmu_free_table,
};
EXPORT_SYMBOL_IF_KUNIT(uma_mmu_pt_ops);

/*
 * The device may walk an enabled root at any time, so a root is never replaced directly: it is
 * disabled, invalidated, and only then its high word is changed.
 */
static void uma_mmu_disable(struct uma_device *uma, unsigned int slot)
{
	uma_write(uma, UMA_REG_AS_ROOT_LO(slot), 0);
}

/* Needs both locks: a command that is written while the device is reset would be ignored. */
static void uma_mmu_write_command(struct uma_device *uma, u32 as, u32 command, u64 start, u64 size)
{
	lockdep_assert_held(&uma->inval_lock);
	lockdep_assert_held(&uma->hw_lock);

	uma_write(uma, UMA_REG_INVAL_AS, as);
	uma_write64(uma, UMA_REG_INVAL_START_LO, start);
	uma_write64(uma, UMA_REG_INVAL_SIZE_LO, size);
	/* Page-table writes before the command; pairs with the device's walks after it. */
	wmb();
	uma_write(uma, UMA_REG_INVAL_CMD, command);
}

/* A device that is gone cannot access anything: that counts as confirmed. */
static int uma_mmu_poll_confirmed(struct uma_device *uma, unsigned int timeout_ms)
{
	int ret = uma_poll(uma, UMA_REG_INVAL_STATUS, UMA_INVAL_BUSY, 0, timeout_ms);

	return ret == -ENODEV ? 0 : ret;
}

static void uma_mmu_unlock(struct uma_device *uma)
{
	mutex_unlock(&uma->inval_lock);
	/* Pairs with the one in uma_dispatch_get_as(), which has set starved if this was locked. */
	smp_mb();
	if (READ_ONCE(uma->starved))
		queue_work(uma->sched_wq, &uma->kick_work);
}

/*
 * The slot of an address space; -ENOENT if the device cannot reach the address space. Otherwise an
 * invalidation has to confirm that, which is not possible if the device is wedged or unbound
 * (-ENODEV), or only after the reset that is pending (-ETIMEDOUT).
 */
static int uma_mmu_slot(struct uma_vm *vm)
{
	struct uma_device *uma = vm->uma;
	int slot;

	lockdep_assert_held(&uma->hw_lock);

	if (uma->quiet)
		return -ENOENT;
	slot = uma_slots_find(&uma->slots, vm);
	if (slot < 0)
		return slot;
	if (uma->wedged || uma->removed)
		return -ENODEV;
	return uma->powered ? slot : -ETIMEDOUT;
}

static int uma_mmu_slot_now(struct uma_vm *vm)
{
	guard(mutex)(&vm->uma->hw_lock);
	return uma_mmu_slot(vm);
}

/*
 * Invalidate once. An engine drops an entry at the end of a tile; one that does not within
 * preempt_timeout_ms is reset. It is only blamed for this command: an earlier one, whose issuer
 * gave up, may still be pending and is waited for first.
 */
static int uma_mmu_ask_confirmed(struct uma_vm *vm, u32 command, u64 start, u64 end)
{
	struct uma_device *uma = vm->uma;
	int slot, ret;

	/* Without the lock first: what the device cannot reach need not wait for others. */
	slot = uma_mmu_slot_now(vm);
	if (slot < 0)
		return slot == -ENOENT ? 0 : slot;

	mutex_lock(&uma->inval_lock);
	/* The driver may have been unbound while this waited for the lock. */
	slot = uma_mmu_slot_now(vm);
	if (slot < 0) {
		ret = slot == -ENOENT ? 0 : slot;
		goto out;
	}
	ret = uma_mmu_poll_confirmed(uma, READ_ONCE(uma->preempt_timeout_ms));
	if (ret)
		goto out;
	scoped_guard(mutex, &uma->hw_lock) {
		/* It may have got another slot, or lost its slot, in the meantime. */
		slot = uma_mmu_slot(vm);
		if (slot >= 0 && command == UMA_INVAL_AS)
			uma_mmu_disable(uma, slot);
		if (slot >= 0)
			uma_mmu_write_command(uma, slot, command, start, end - start);
	}
	if (slot < 0) {
		ret = slot == -ENOENT ? 0 : slot;
		goto out;
	}
	ret = uma_mmu_poll_confirmed(uma, READ_ONCE(uma->preempt_timeout_ms));
	if (ret) {
		uma_reset_holders(uma, slot);
		ret = uma_mmu_poll_confirmed(uma, uma->engine_reset_ms);
	}
out:
	uma_mmu_unlock(uma);
	return ret;
}

/* Invalidate, and recover the device if that times out. False if it is beyond recovery. */
static bool uma_mmu_insist_confirmed(struct uma_vm *vm, u32 command, u64 start, u64 end)
{
	struct uma_device *uma = vm->uma;
	int ret;

	ret = uma_mmu_ask_confirmed(vm, command, start, end);
	if (ret == -ETIMEDOUT) {
		/* Recovery that is in progress may suffice. */
		flush_workqueue(uma->reset_wq);
		ret = uma_mmu_ask_confirmed(vm, command, start, end);
	}
	if (ret == -ETIMEDOUT) {
		uma_reset_request(uma);
		flush_work(&uma->reset_work);
		ret = uma_mmu_ask_confirmed(vm, command, start, end);
	}
	return !ret;
}

/**
 * uma_mmu_invalidate_confirmed - invalidate entries of a page table
 * @vm: address space, whose page table has been changed already
 * @start: first address
 * @end: one past the last
 *
 * A job that uses them for longer than &uma_device.preempt_timeout_ms fails; if the device does
 * not confirm the invalidation even then, it is reset.
 *
 * Return: true if the device has stopped using the entries; false if the device was lost without
 * confirming that, and the memory that they pointed to must not be reused.
 */
bool uma_mmu_invalidate_confirmed(struct uma_vm *vm, u64 start, u64 end)
{
	return uma_mmu_insist_confirmed(vm, UMA_INVAL_RANGE, start, end);
}

/**
 * uma_mmu_tryidle - is an address space without jobs on the device?
 * @vm: address space
 *
 * May be called during memory reclaim. An address space with jobs on the device is left alone, as
 * its invalidation would have to wait for them.
 *
 * Return: true if it has none; false also if that is not known at once.
 */
bool uma_mmu_tryidle(struct uma_vm *vm)
{
	struct uma_device *uma = vm->uma;
	bool idle;
	int slot;

	if (!mutex_trylock(&uma->hw_lock))
		return false;
	slot = uma_mmu_slot(vm);
	idle = slot == -ENOENT || (slot >= 0 && !uma_slots_busy(&uma->slots, slot));
	mutex_unlock(&uma->hw_lock);
	return idle;
}

/**
 * uma_mmu_tryinvalidate_confirmed - as uma_mmu_invalidate_confirmed(), without waiting
 * @vm: address space, whose page table has been changed already, and &uma_vm.zapped set
 * @start: first address that has been changed
 * @end: one past the last
 *
 * May be called during memory reclaim.
 *
 * Return: 0 confirmed; -EBUSY not now; -ENODEV the device cannot confirm it any more.
 */
int uma_mmu_tryinvalidate_confirmed(struct uma_vm *vm, u64 start, u64 end)
{
	struct uma_device *uma = vm->uma;
	int slot, ret = -EBUSY;

	if (!mutex_trylock(&uma->inval_lock))
		return -EBUSY;
	if (!mutex_trylock(&uma->hw_lock))
		goto out;
	slot = uma_mmu_slot(vm);
	if (slot == -ENOENT)
		ret = 0;
	else if (slot == -ENODEV)
		ret = slot;
	if (slot >= 0 && !uma_slots_busy(&uma->slots, slot) && !uma_mmu_poll_confirmed(uma, 0)) {
		uma_mmu_write_command(uma, slot, UMA_INVAL_RANGE, start, end - start);
		/* No engine is in the middle of a tile in this address space. */
		ret = uma_mmu_poll_confirmed(uma, 1) ? -EBUSY : 0;
	}
	if (!ret)
		WRITE_ONCE(vm->zapped, false);
	mutex_unlock(&uma->hw_lock);
out:
	uma_mmu_unlock(uma);
	return ret;
}

/**
 * uma_mmu_detach_confirmed - remove the page table of an address space from the device
 * @vm: address space without jobs
 *
 * Return: true if the device cannot reach it any more; else as uma_mmu_invalidate_confirmed().
 */
bool uma_mmu_detach_confirmed(struct uma_vm *vm)
{
	struct uma_device *uma = vm->uma;
	int slot;

	if (!uma_mmu_insist_confirmed(vm, UMA_INVAL_AS, 0, 0))
		return false;
	guard(mutex)(&uma->hw_lock);
	slot = uma_slots_find(&uma->slots, vm);
	if (slot >= 0)
		uma_slots_drop(&uma->slots, slot);
	return true;
}

/* Invalidate all of a slot without jobs, and disable it first if it is not to be used again. */
static int uma_mmu_flush_confirmed(struct uma_device *uma, unsigned int slot, bool disable)
{
	int ret;

	lockdep_assert_held(&uma->hw_lock);

	/* The holder may be waiting for a job to fail, which must not delay other jobs. */
	if (!mutex_trylock(&uma->inval_lock))
		return -EAGAIN;
	ret = uma_mmu_poll_confirmed(uma, UMA_IDLE_INVAL_MS);
	if (!ret) {
		if (disable)
			uma_mmu_disable(uma, slot);
		uma_mmu_write_command(uma, slot, UMA_INVAL_AS, 0, 0);
		ret = uma_mmu_poll_confirmed(uma, UMA_IDLE_INVAL_MS);
	}
	mutex_unlock(&uma->inval_lock);
	if (!ret)
		return 0;
	/* The slot is disabled or has stale entries, so no job may be pushed before the reset. */
	uma->resetting = true;
	uma_reset_request(uma);
	return ret;
}

/* Take a slot without jobs from its owner, who keeps it unless the device confirms. */
static int uma_mmu_evict_confirmed(struct uma_device *uma, unsigned int slot)
{
	int ret;

	ret = uma_mmu_flush_confirmed(uma, slot, true);
	if (!ret)
		uma_slots_drop(&uma->slots, slot);
	return ret;
}

/**
 * uma_mmu_get_as_confirmed - get a slot for a job, with the page table of its address space
 * @vm: address space
 *
 * Called with &uma_device.hw_lock held, to push a job; uma_slots_put() undoes it when the job is
 * done. A previous owner keeps the slot until the device has confirmed its invalidation.
 *
 * Return: slot; -EBUSY all have jobs; -EAGAIN an invalidation is in progress; -ETIMEDOUT the
 * device is going to be reset.
 */
int uma_mmu_get_as_confirmed(struct uma_vm *vm)
{
	struct uma_device *uma = vm->uma;
	int slot, ret;

	lockdep_assert_held(&uma->hw_lock);

	slot = uma_slots_choose(&uma->slots, vm);
	if (slot < 0)
		return slot;
	if (uma->slots.slot[slot].owner == vm) {
		/*
		 * The shrinker could not have it done. What it changes after this, or others'
		 * invalidations in progress, leave to the next job: the pages are kept.
		 */
		if (!uma_slots_busy(&uma->slots, slot) && xchg(&vm->zapped, false)) {
			ret = uma_mmu_flush_confirmed(uma, slot, false);
			if (ret)
				WRITE_ONCE(vm->zapped, true);
			if (ret && ret != -EAGAIN)
				return ret;
		}
	} else {
		if (uma->slots.slot[slot].owner) {
			ret = uma_mmu_evict_confirmed(uma, slot);
			if (ret)
				return ret;
		}
		/* A slot without an owner is disabled and invalidated. */
		/* The table before the root; pairs with the device's read of the root. */
		wmb();
		uma_write64(uma, UMA_REG_AS_ROOT_LO(slot), vm->pt.root->dma | UMA_AS_ENABLE);
	}
	uma_slots_get(&uma->slots, slot, vm);
	return slot;
}

/* Initialise slots without owners. The device has @count of them, 1 .. UMA_MAX_AS. */
void uma_slots_init(struct uma_slots *slots, u32 count)
{
	memset(slots, 0, sizeof(*slots));
	slots->count = count;
}
EXPORT_SYMBOL_IF_KUNIT(uma_slots_init);

/* Returns the index of the slot of an owner, or -ENOENT. */
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
 * uma_slots_choose - find a slot for an owner
 * @slots: slots
 * @owner: owner, not NULL
 *
 * In this order: the owner's slot, a free one, the least recently taken one without jobs, whose
 * owner has to be evicted first. Changes nothing.
 *
 * Return: index; -EBUSY if all have jobs.
 */
int uma_slots_choose(const struct uma_slots *slots, const void *owner)
{
	int slot = uma_slots_find(slots, owner);
	unsigned int i;

	if (slot >= 0)
		return slot;
	for (i = 0; i < slots->count; i++) {
		/* Acquire: pairs with the full barrier of the decrement in uma_slots_put(). */
		if (atomic_read_acquire(&slots->slot[i].busy))
			continue;
		if (!slots->slot[i].owner)
			return i;
		if (slot < 0 || slots->slot[i].stamp < slots->slot[slot].stamp)
			slot = i;
	}
	return slot < 0 ? -EBUSY : slot;
}
EXPORT_SYMBOL_IF_KUNIT(uma_slots_choose);

/* Take a slot for a job, as uma_slots_choose() says; it is owned by @owner or free. */
void uma_slots_get(struct uma_slots *slots, unsigned int slot, const void *owner)
{
	WARN_ON_ONCE(slots->slot[slot].owner && slots->slot[slot].owner != owner);
	slots->slot[slot].owner = owner;
	slots->slot[slot].stamp = ++slots->clock;
	atomic_inc(&slots->slot[slot].busy);
}
EXPORT_SYMBOL_IF_KUNIT(uma_slots_get);
