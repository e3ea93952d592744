// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The device's MMU: which page table is in which hardware address space, and
 * having the device forget what it cached.
 */
#include <linux/dma-mapping.h>

#include <drm/drm_drv.h>

#include "uma_device.h"
#include "uma_mmu.h"
#include "uma_reset.h"
#include "uma_trace.h"
#include "uma_vm.h"

/* An engine lets go of an entry after a tile; emulated on a slow machine that takes a while. */
#define UMA_INVAL_MS	10000

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
	lockdep_assert_held(&uma->hw_lock);

	uma_write(uma, UMA_REG_INVAL_AS, as);
	uma_write64(uma, UMA_REG_INVAL_START_LO, start);
	uma_write64(uma, UMA_REG_INVAL_SIZE_LO, size);
	/* The device shall find the page table as we left it. */
	wmb();
	uma_write(uma, UMA_REG_INVAL_CMD, command);
	return uma_poll(uma, UMA_REG_INVAL_STATUS, UMA_INVAL_BUSY, 0, UMA_INVAL_MS);
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

	mutex_lock(&uma->hw_lock);
	slot = uma_slots_find(&uma->slots, vm);
	/* One that is being removed is lost already, but runs until it has been stopped. */
	if (slot >= 0 && !uma->removed && (!uma->lost || READ_ONCE(uma->going)))
		ret = uma_mmu_command(uma, slot, UMA_INVAL_RANGE, start, end - start);
	mutex_unlock(&uma->hw_lock);
	return ret;
}

/**
 * uma_mmu_invalidate - have the device forget entries of a page table
 * @vm: address space, whose page table has been changed already
 * @start: first address
 * @end: one past the last
 *
 * When it returns nothing uses the entries any more, nor is in the middle of
 * something that does. If the device does not say so, it is reset.
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
 * Return: hardware address space; -EBUSY all are in use; -ETIMEDOUT the device
 * has to be reset.
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
	uma_write64(uma, UMA_REG_AS_ROOT_LO(slot), vm->pt.root->dma | UMA_AS_ENABLE);
	ret = uma_mmu_command(uma, slot, UMA_INVAL_AS, 0, 0);
	if (!ret)
		return slot;
	uma_slots_put(&uma->slots, slot);
	uma_slots_drop(&uma->slots, slot);
	return ret;
}
