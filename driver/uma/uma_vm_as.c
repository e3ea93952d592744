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
#include "uma_drv.h"
#include "uma_job.h"
#include "uma_trace.h"
#include "uma_vm.h"

/* How long the device may take to forget what no job uses: it has nothing to wait for. */
#define UMA_IDLE_INVAL_MS	1000

/* For each by itself: an unplug does not wait for as many as somebody binds. */
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

static const struct uma_pt_ops uma_mmu_pt_ops = {
	.alloc = uma_mmu_alloc_table,
	.free = uma_mmu_free_table,
};

/**
 * uma_mmu_init - make the page table of an address space
 * @uma: device
 * @vm: address space
 *
 * Return: 0; -ENOMEM; -ENODEV.
 */
int uma_mmu_init(struct uma_device *uma, struct uma_vm *vm)
{
	return uma_pt_init(&vm->pt, &uma_mmu_pt_ops, uma);
}
EXPORT_SYMBOL_IF_KUNIT(uma_mmu_init);

/**
 * uma_mmu_fini - free the page table of an address space
 * @vm: address space, detached
 */
void uma_mmu_fini(struct uma_vm *vm)
{
	uma_pt_fini(&vm->pt);
}
EXPORT_SYMBOL_IF_KUNIT(uma_mmu_fini);

/*
 * The device may walk at any time whatever the low word enables, so a root is never replaced
 * by another: it is disabled, the device forgets it, and only then the high word changes.
 */
static void uma_mmu_disable(struct uma_device *uma, unsigned int slot)
{
	uma_write(uma, UMA_REG_AS_ROOT_LO(slot), 0);
}

/* Written under both locks, so not while the device is reset, which would not hear it. */
static void uma_mmu_write_command(struct uma_device *uma, u32 as, u32 command, u64 start, u64 size)
{
	lockdep_assert_held(&uma->inval_lock);
	lockdep_assert_held(&uma->hw_lock);

	uma_write(uma, UMA_REG_INVAL_AS, as);
	uma_write64(uma, UMA_REG_INVAL_START_LO, start);
	uma_write64(uma, UMA_REG_INVAL_SIZE_LO, size);
	/* The device finds the page table as we left it; pairs with its walks after the command. */
	wmb();
	uma_write(uma, UMA_REG_INVAL_CMD, command);
}

/* A device that has gone has let go of everything as well. */
static int uma_mmu_poll_confirmed(struct uma_device *uma, unsigned int timeout_ms)
{
	int ret = uma_poll(uma, UMA_REG_INVAL_STATUS, UMA_INVAL_BUSY, 0, timeout_ms);

	return ret == -ENODEV ? 0 : ret;
}

static void uma_mmu_unlock(struct uma_device *uma)
{
	mutex_unlock(&uma->inval_lock);
	smp_mb(); /* pairs with the one in uma_dispatch_get_as(): who found it locked has said so */
	if (READ_ONCE(uma->starved))
		queue_work(uma->sched_wq, &uma->kick_work);
}

/*
 * The slot of an address space, -ENOENT if the device cannot reach it. Else whoever
 * wants to know that it cannot has to ask, which works unless there is nobody to
 * ask any more (-ENODEV) or not before a reset that is due (-ETIMEDOUT).
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
	int slot;

	mutex_lock(&vm->uma->hw_lock);
	slot = uma_mmu_slot(vm);
	mutex_unlock(&vm->uma->hw_lock);
	return slot;
}

/*
 * Ask once. There is patience only for jobs that behave: an engine lets go of an
 * entry after a tile. One that does not is reset, as others wait for the command.
 * It is to blame for nothing but this command: one that somebody has given up may
 * still be in the way, and is waited for first.
 */
static int uma_mmu_ask_confirmed(struct uma_vm *vm, u32 command, u64 start, u64 end)
{
	struct uma_device *uma = vm->uma;
	int slot, ret;

	/* What the device cannot reach need not wait for others. */
	slot = uma_mmu_slot_now(vm);
	if (slot < 0)
		return slot == -ENOENT ? 0 : slot;

	mutex_lock(&uma->inval_lock);
	/* The driver may have let go of the device while we waited for the lock. */
	slot = uma_mmu_slot_now(vm);
	if (slot < 0) {
		ret = slot == -ENOENT ? 0 : slot;
		goto out;
	}
	ret = uma_mmu_poll_confirmed(uma, READ_ONCE(uma->preempt_timeout_ms));
	if (ret)
		goto out;
	mutex_lock(&uma->hw_lock);
	/* It may have got another one, or none, in the meantime. */
	slot = uma_mmu_slot(vm);
	if (slot >= 0) {
		if (command == UMA_INVAL_AS)
			uma_mmu_disable(uma, slot);
		uma_mmu_write_command(uma, slot, command, start, end - start);
	}
	mutex_unlock(&uma->hw_lock);
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

/* Ask, and see to it that there is an answer; false if the device is beyond that. */
static bool uma_mmu_insist_confirmed(struct uma_vm *vm, u32 command, u64 start, u64 end)
{
	struct uma_device *uma = vm->uma;
	int ret;

	ret = uma_mmu_ask_confirmed(vm, command, start, end);
	if (ret == -ETIMEDOUT) {
		/* Recovery that is under way may be all that it takes. */
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
 * uma_mmu_invalidate_confirmed - have the device forget entries of a page table
 * @vm: address space, whose page table has been changed already
 * @start: first address
 * @end: one past the last
 *
 * A job that does not let go of them within &uma_device.preempt_timeout_ms is
 * given up; if the device does not say that it is done even then, it is reset.
 *
 * Return: true if nothing uses the entries any more, nor is in the middle of
 * something that does; false if the device has been lost without saying so, and
 * what the entries pointed to may not be used for anything else.
 */
bool uma_mmu_invalidate_confirmed(struct uma_vm *vm, u64 start, u64 end)
{
	return uma_mmu_insist_confirmed(vm, UMA_INVAL_RANGE, start, end);
}

/**
 * uma_mmu_tryinvalidate_confirmed - as uma_mmu_invalidate_confirmed(), without any wait
 * @vm: address space, whose page table has been changed already
 * @start: first address
 * @end: one past the last; not above @start to only see whether now is the time
 *
 * Memory may be reclaimed by it. No job is given up: an address space that has jobs
 * on the device is left alone, as the answer would have to wait for them.
 *
 * Return: 0 the device has confirmed it; -EBUSY not now; -ENODEV it cannot any more.
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
	else if (slot >= 0 && !uma_slots_busy(&uma->slots, slot) && !uma_mmu_poll_confirmed(uma, 0))
		ret = 0;
	if (!ret && slot >= 0 && start < end) {
		uma_mmu_write_command(uma, slot, UMA_INVAL_RANGE, start, end - start);
		/* Nobody is in the middle of anything there. */
		ret = uma_mmu_poll_confirmed(uma, 1) ? -EBUSY : 0;
	}
	mutex_unlock(&uma->hw_lock);
out:
	uma_mmu_unlock(uma);
	return ret;
}

/**
 * uma_mmu_detach_confirmed - take the page table of an address space from the device
 * @vm: address space without jobs
 *
 * Return: true if the device cannot reach it any more; false as
 * uma_mmu_invalidate_confirmed().
 */
bool uma_mmu_detach_confirmed(struct uma_vm *vm)
{
	struct uma_device *uma = vm->uma;
	int slot;

	if (!uma_mmu_insist_confirmed(vm, UMA_INVAL_AS, 0, 0))
		return false;
	mutex_lock(&uma->hw_lock);
	slot = uma_slots_find(&uma->slots, vm);
	if (slot >= 0)
		uma_slots_drop(&uma->slots, slot);
	mutex_unlock(&uma->hw_lock);
	return true;
}

/* Take a slot that has no jobs from its owner, who keeps it unless the device confirms. */
static int uma_mmu_evict_confirmed(struct uma_device *uma, unsigned int slot)
{
	int ret;

	lockdep_assert_held(&uma->hw_lock);

	/* Who has the lock may be waiting for a job to be given up: no job waits for that. */
	if (!mutex_trylock(&uma->inval_lock))
		return -EAGAIN;
	ret = uma_mmu_poll_confirmed(uma, UMA_IDLE_INVAL_MS);
	if (!ret) {
		uma_mmu_disable(uma, slot);
		uma_mmu_write_command(uma, slot, UMA_INVAL_AS, 0, 0);
		ret = uma_mmu_poll_confirmed(uma, UMA_IDLE_INVAL_MS);
	}
	mutex_unlock(&uma->inval_lock);
	if (!ret) {
		uma_slots_drop(&uma->slots, slot);
		return 0;
	}
	/* The owner's next job would find nothing there: no job before the reset. */
	uma->resetting = true;
	uma_reset_request(uma);
	return ret;
}

/**
 * uma_mmu_get_as_confirmed - have the device know the page table of an address space
 * @vm: address space
 *
 * Called to push a job, with &uma_device.hw_lock held. uma_slots_put() undoes
 * it when the job is done. Who has had the slot before keeps it until the device
 * has confirmed that it let go of it.
 *
 * Return: hardware address space; -EBUSY all are in use; -EAGAIN the device is busy
 * with an invalidation; -ETIMEDOUT it is going to be reset.
 */
int uma_mmu_get_as_confirmed(struct uma_vm *vm)
{
	struct uma_device *uma = vm->uma;
	int slot, ret;

	lockdep_assert_held(&uma->hw_lock);

	slot = uma_slots_choose(&uma->slots, vm);
	if (slot < 0)
		return slot;
	if (uma->slots.slot[slot].owner != vm) {
		if (uma->slots.slot[slot].owner) {
			ret = uma_mmu_evict_confirmed(uma, slot);
			if (ret)
				return ret;
		}
		/* A slot without an owner is disabled, and the device has nothing of it cached. */
		/* The table is there before the device looks; pairs with its read of the root. */
		wmb();
		uma_write64(uma, UMA_REG_AS_ROOT_LO(slot), vm->pt.root->dma | UMA_AS_ENABLE);
	}
	uma_slots_get(&uma->slots, slot, vm);
	return slot;
}

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
 * uma_slots_choose - the slot that an owner has, or could take
 * @slots: slots
 * @owner: owner, not NULL
 *
 * Chooses, in this order: the owner's, a free one, the one whose owner has had no
 * job for the longest time, which that one has to let go of first. Nothing changes.
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

/**
 * uma_slots_get - take a slot for a job
 * @slots: slots
 * @slot: what uma_slots_choose() returned, @owner's or nobody's
 * @owner: owner
 */
void uma_slots_get(struct uma_slots *slots, unsigned int slot, const void *owner)
{
	WARN_ON_ONCE(slots->slot[slot].owner && slots->slot[slot].owner != owner);
	slots->slot[slot].owner = owner;
	slots->slot[slot].stamp = ++slots->clock;
	atomic_inc(&slots->slot[slot].busy);
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
