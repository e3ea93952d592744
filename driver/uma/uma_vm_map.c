// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The mappings of an address space: drm_gpuvm, with changes that are made completely or not at
 * all. Does not touch the page table.
 */
#include <linux/dma-resv.h>
#include <linux/export.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <kunit/visibility.h>

#include "compat.h"
#include "uma_args.h"
#include "uma_gem.h"
#include "uma_vm.h"

/* Dropping the last mapping of a buffer in an address space drops a reference to both. */
static void uma_map_free(struct uma_mapping *m)
{
	struct drm_gem_object *obj = m->va.gem.obj;

	drm_gem_object_get(obj);
	dma_resv_lock(obj->resv, NULL);
	drm_gpuva_unlink(&m->va);
	dma_resv_unlock(obj->resv);
	atomic_dec(&to_uma_bo(obj)->mappings);
	drm_gem_object_put(obj);
	kfree(m);
	/* User space chooses how many there are, and each one takes a lock. */
	cond_resched();
}

static void uma_map_free_removed(struct uma_vm *vm)
{
	struct uma_mapping *m, *next;

	list_for_each_entry_safe(m, next, &vm->removed, link) {
		list_del(&m->link);
		uma_map_free(m);
	}
}

static void uma_map_take_out(struct uma_mapping *m)
{
	to_uma_vm(m->va.vm)->map_count--;
	drm_gpuva_remove(&m->va);
	m->removed = true;
}

static int uma_map_new(struct uma_map_txn *txn, struct drm_gpuva_op_map *op, u32 flags)
{
	struct drm_gem_object *obj = op->gem.obj;
	struct uma_vm *vm = txn->vm;
	struct drm_gpuvm_bo *vm_bo;
	struct uma_mapping *m;
	int ret;

	m = kzalloc_obj(*m, GFP_KERNEL_ACCOUNT);
	if (!m)
		return -ENOMEM;
	ret = dma_resv_lock_interruptible(obj->resv, NULL);
	if (ret)
		goto err;
	vm_bo = drm_gpuvm_bo_obtain_locked(&vm->base, obj);
	ret = PTR_ERR_OR_ZERO(vm_bo);
	if (!ret) {
		drm_gpuva_map(&vm->base, &m->va, op);
		drm_gpuva_link(&m->va, vm_bo);
		drm_gpuvm_bo_put(vm_bo);
	}
	dma_resv_unlock(obj->resv);
	if (ret)
		goto err;
	atomic_inc(&to_uma_bo(obj)->mappings);
	m->flags = flags;
	m->added = true;
	list_add_tail(&m->link, &txn->changed);
	vm->map_count++;
	return 0;

err:
	kfree(m);
	return ret;
}

static int uma_map_remove_one(struct uma_map_txn *txn, struct drm_gpuva *va)
{
	struct uma_mapping *m = to_uma_mapping(va);
	int ret;

	ret = uma_breathe();
	if (ret)
		return ret;
	uma_map_take_out(m);
	if (!m->added)
		list_add_tail(&m->link, &txn->changed);
	return 0;
}

static int uma_map_step_unmap(struct drm_gpuva_op *op, void *priv)
{
	return uma_map_remove_one(priv, op->unmap.va);
}

static int uma_map_step_remap(struct drm_gpuva_op *op, void *priv)
{
	u32 flags = to_uma_mapping(op->remap.unmap->va)->flags;
	int ret;

	ret = uma_map_remove_one(priv, op->remap.unmap->va);
	if (!ret && op->remap.prev)
		ret = uma_map_new(priv, op->remap.prev, flags);
	if (!ret && op->remap.next)
		ret = uma_map_new(priv, op->remap.next, flags);
	return ret;
}

static struct drm_gpuvm_bo *uma_map_bo_alloc(void)
{
	return kzalloc_obj(struct drm_gpuvm_bo, GFP_KERNEL_ACCOUNT);
}

static void uma_map_vm_free(struct drm_gpuvm *gpuvm)
{
	kfree(to_uma_vm(gpuvm));
}

static const struct drm_gpuvm_ops uma_map_ops = {
	.vm_free = uma_map_vm_free,
	.vm_bo_alloc = uma_map_bo_alloc,
	.sm_step_remap = uma_map_step_remap,
	.sm_step_unmap = uma_map_step_unmap,
};

/**
 * uma_map_init - initialise the mappings of an address space
 * @vm: zeroed, freed by drm_gpuvm_put() of its base from now on
 * @drm: device
 * @resv: dma_resv for buffers that are private to the address space, of which there are none
 * @range: addresses that can be mapped
 * @max: limit of the number of mappings
 */
void uma_map_init(struct uma_vm *vm, struct drm_device *drm, struct drm_gem_object *resv,
		  const struct uma_va_range *range, u32 max)
{
	drm_gpuvm_init(&vm->base, "uma", 0, drm, resv, range->start, range->end - range->start,
		       0, 0, &uma_map_ops);
	INIT_LIST_HEAD(&vm->removed);
	vm->map_max = max;
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_init);

/* Remove all mappings, with those that were kept for the device. */
void uma_map_clear(struct uma_vm *vm)
{
	struct drm_gpuva *va, *next;

	uma_map_free_removed(vm);
	drm_gpuvm_for_each_va_safe(va, next, &vm->base) {
		uma_map_take_out(to_uma_mapping(va));
		uma_map_free(to_uma_mapping(va));
	}
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_clear);

/* Bytes of all mappings, with those that were kept for the device. */
u64 uma_map_bytes(struct uma_vm *vm)
{
	struct uma_mapping *m;
	struct drm_gpuva *va;
	u64 bytes = 0;

	drm_gpuvm_for_each_va(va, &vm->base) {
		bytes += va->va.range;
		cond_resched();
	}
	list_for_each_entry(m, &vm->removed, link)
		bytes += m->va.va.range;
	return bytes;
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_bytes);

/**
 * uma_map_add - add a mapping
 * @txn: change
 * @start: first address
 * @size: bytes
 * @obj: buffer
 * @offset: offset in the buffer
 * @flags: DRM_UMA_BIND_*
 *
 * Return: 0; -EEXIST the range is not empty; -ENOSPC too many mappings; -ENOMEM; -EINTR.
 */
int uma_map_add(struct uma_map_txn *txn, u64 start, u64 size, struct drm_gem_object *obj,
		u64 offset, u32 flags)
{
	struct drm_gpuva_op_map op = {
		.va.addr = start,
		.va.range = size,
		.gem.obj = obj,
		.gem.offset = offset,
	};
	int ret;

	ret = uma_breathe();
	if (ret)
		return ret;
	if (!drm_gpuvm_interval_empty(&txn->vm->base, start, size))
		return -EEXIST;
	if (txn->vm->map_count >= txn->vm->map_max)
		return -ENOSPC;
	return uma_map_new(txn, &op, flags);
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_add);

/**
 * uma_map_remove - remove the mappings of a range
 * @txn: change
 * @start: first address
 * @size: bytes
 *
 * A mapping that crosses an end of the range is split.
 *
 * Return: 0; -ENOSPC too many mappings; -ENOMEM; -EINTR.
 */
int uma_map_remove(struct uma_map_txn *txn, u64 start, u64 size)
{
	int ret = drm_gpuvm_sm_unmap(&txn->vm->base, txn, start, size);

	return ret ?: txn->vm->map_count > txn->vm->map_max ? -ENOSPC : 0;
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_remove);

/**
 * uma_map_commit - complete a change
 * @txn: change
 * @confirmed: the device has invalidated the range, so mappings that were removed, by this change
 *	or by one that was not confirmed, can be freed
 */
void uma_map_commit(struct uma_map_txn *txn, bool confirmed)
{
	struct uma_mapping *m, *next;

	list_for_each_entry_safe(m, next, &txn->changed, link) {
		list_del(&m->link);
		m->added = false;
		if (m->removed)
			list_add_tail(&m->link, &txn->vm->removed);
		cond_resched();
	}
	if (confirmed)
		uma_map_free_removed(txn->vm);
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_commit);

/* Undo a change, which has not reached the page table. */
void uma_map_rollback(struct uma_map_txn *txn)
{
	struct uma_vm *vm = txn->vm;
	struct uma_mapping *m, *next;

	list_for_each_entry(m, &txn->changed, link) {
		if (!m->removed)
			uma_map_take_out(m);
		cond_resched();
	}
	list_for_each_entry_safe(m, next, &txn->changed, link) {
		list_del(&m->link);
		if (m->added) {
			uma_map_free(m);
			continue;
		}
		WARN_ON_ONCE(drm_gpuva_insert(&vm->base, &m->va));
		m->removed = false;
		vm->map_count++;
		cond_resched();
	}
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_rollback);
