// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Address spaces and their mappings.
 */
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_drv.h"
#include "uma_gem.h"
#include "uma_vm.h"

/* Take a reference; returns @vm. */
struct uma_vm *uma_vm_get(struct uma_vm *vm)
{
	kref_get(&vm->ref);
	return vm;
}

/*
 * Unmap everything, for good. False if the device has not confirmed that: then all mappings and
 * tables are kept, and this can be called again.
 */
static bool uma_vm_kill(struct uma_vm *vm)
{
	struct uma_pt *pt = &vm->pt;
	bool confirmed = true;

	guard(mutex)(&vm->lock);
	if (!vm->dead) {
		vm->dead = true;
		uma_pt_unmap(pt, 0, vm->uma->va.end);
		uma_pt_prune(pt);
	}
	if (pt->dirty_start < pt->dirty_end)
		confirmed = uma_mmu_invalidate_confirmed(vm, pt->dirty_start, pt->dirty_end);
	if (confirmed) {
		uma_pt_finish(pt);
		uma_map_clear(vm);
	}
	return confirmed;
}

/*
 * Hold back an address space that has no users, but that the device may still reach: it stays in
 * the list with all its mappings until uma_vms_release(). False if the device has stopped
 * meanwhile.
 */
static bool uma_vm_hold(struct uma_vm *vm)
{
	struct uma_device *uma = vm->uma;
	bool held, first;

	mutex_lock(&uma->vms_lock);
	held = !READ_ONCE(uma->quiet);
	first = held && !uma->warned_held;
	uma->warned_held |= held;
	uma->vms_held += held;
	vm->held = held;
	if (held)
		uma_dying_done(uma, vm->awaited);
	mutex_unlock(&uma->vms_lock);
	/* From here on uma_vms_release() may free it. */
	if (first)
		drm_warn(&uma->drm, "memory is held back: the device may still use it\n");
	return held;
}

static void uma_vm_free(struct kref *ref)
{
	struct uma_vm *vm = container_of(ref, struct uma_vm, ref);
	struct uma_device *uma = vm->uma;
	bool confirmed;

	confirmed = uma_mmu_detach_confirmed(vm);
	confirmed &= uma_vm_kill(vm);
	if (!confirmed) {
		if (uma_vm_hold(vm))
			return;
		uma_vm_kill(vm);
	}
	scoped_guard(mutex, &vm->lock)
		uma_pt_fini(&vm->pt);
	/* Only now: uma_vms_release() waits for those that are in the list. */
	scoped_guard(mutex, &uma->vms_lock) {
		list_del(&vm->node);
		uma_dying_done(uma, vm->awaited);
	}
	mutex_destroy(&vm->lock);
	drm_gpuvm_put(&vm->base);
}

/* Drop a reference; @vm may be NULL. */
void uma_vm_put(struct uma_vm *vm)
{
	if (vm)
		kref_put(&vm->ref, uma_vm_free);
}

/* Look an address space up. Returns it with a reference, or NULL. */
struct uma_vm *uma_vm_find(struct uma_client *client, u32 id)
{
	struct uma_vm *vm;

	xa_lock(&client->vms);
	vm = xa_load(&client->vms, id);
	if (vm)
		kref_get(&vm->ref);
	xa_unlock(&client->vms);
	return vm;
}

/* The file is closed. Running jobs hold references to their address spaces. */
void uma_vms_close(struct uma_client *client)
{
	struct uma_vm *vm;
	unsigned long id;

	xa_for_each(&client->vms, id, vm)
		uma_vm_put(vm);
	xa_destroy(&client->vms);
}

/**
 * uma_vms_release - unbinding: free what the device cannot reach any more
 * @uma: device; if it is quiet that is everything, including what was held back
 */
void uma_vms_release(struct uma_device *uma)
{
	struct uma_vm *vm, *last = NULL;
	bool confirmed;

	mutex_lock(&uma->vms_lock);
	list_for_each_entry(vm, &uma->vms, node) {
		if (vm->held && uma->quiet) {
			vm->held = false;
			vm->awaited = false;
			uma->vms_held--;
			kref_init(&vm->ref);
		} else if (vm->held) {
			continue;
		} else if (!kref_get_unless_zero(&vm->ref)) {
			vm->awaited = true;
			atomic_inc(&uma->dying);
			continue;
		}
		mutex_unlock(&uma->vms_lock);
		uma_vm_put(last);
		last = vm;
		confirmed = uma_mmu_detach_confirmed(vm) && uma_vm_kill(vm);
		/* Binds that had started have ended now, and none can start any more. */
		scoped_guard(mutex, &vm->lock)
			if (confirmed)
				uma_pt_fini(&vm->pt);
		mutex_lock(&uma->vms_lock);
	}
	mutex_unlock(&uma->vms_lock);
	uma_vm_put(last);
	uma_dying_wait(uma);
}

/* The debugfs file "held": what is held back. */
int uma_vms_show_held(struct seq_file *m, void *unused)
{
	struct uma_device *uma = uma_debugfs_device(m);
	u64 bytes = 0, tables = 0;
	struct uma_vm *vm;

	guard(mutex)(&uma->vms_lock);
	list_for_each_entry(vm, &uma->vms, node) {
		/* Only a shrinker may have locked it, for a moment. */
		if (!vm->held || !mutex_trylock(&vm->lock))
			continue;
		tables += vm->pt.tables;
		bytes += uma_map_bytes(vm);
		mutex_unlock(&vm->lock);
	}
	seq_puts(m, "       vms     tables            bytes\n");
	seq_printf(m, "%10u %10llu %16llu\n", uma->vms_held, tables, bytes);
	return 0;
}

/* Unbinding waits for this, and finds the page table in the list. */
static int uma_vm_publish(struct uma_vm *vm)
{
	struct uma_device *uma = vm->uma;
	int ret;

	if (!uma_dying_begin(uma))
		return -ENODEV;
	ret = uma_pt_init(&vm->pt, &uma_mmu_pt_ops, uma);
	if (!ret) {
		scoped_guard(mutex, &uma->vms_lock)
			list_add_tail(&vm->node, &uma->vms);
	}
	uma_dying_done(uma, true);
	return ret;
}

/* DRM_IOCTL_UMA_VM_CREATE */
int uma_ioctl_vm_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct uma_device *uma = to_uma_device(drm);
	struct uma_client *client = file->driver_priv;
	struct drm_uma_vm_create *args = data;
	struct drm_gem_object *resv;
	struct uma_vm *vm;
	int ret;

	if (args->flags || args->vm_id)
		return -EINVAL;
	vm = kzalloc_obj(*vm, GFP_KERNEL_ACCOUNT);
	resv = drm_gpuvm_resv_object_alloc(drm);
	if (!vm || !resv) {
		drm_gem_object_put(resv);
		kfree(vm);
		return -ENOMEM;
	}
	uma_map_init(vm, drm, resv, &uma->va, UMA_MAX_MAPPINGS);
	drm_gem_object_put(resv);
	kref_init(&vm->ref);
	INIT_LIST_HEAD(&vm->shrink);
	mutex_init(&vm->lock);
	vm->uma = uma;
	vm->pid = task_tgid_nr(current);
	ret = uma_vm_publish(vm);
	if (ret) {
		mutex_destroy(&vm->lock);
		drm_gpuvm_put(&vm->base);
		return ret;
	}

	scoped_guard(mutex, &client->lock) {
		ret = client->vm_count >= UMA_MAX_VMS ? -ENOSPC :
			xa_alloc(&client->vms, &args->vm_id, vm, xa_limit_31b, GFP_KERNEL_ACCOUNT);
		client->vm_count += !ret;
	}
	if (ret)
		uma_vm_put(vm);
	return ret;
}

/* DRM_IOCTL_UMA_VM_DESTROY */
int uma_ioctl_vm_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct uma_client *client = file->driver_priv;
	struct drm_uma_vm_destroy *args = data;
	struct uma_vm *vm;

	if (args->pad)
		return -EINVAL;
	scoped_guard(mutex, &client->lock) {
		vm = xa_load(&client->vms, args->vm_id);
		if (!vm || vm->queues)
			return vm ? -EBUSY : -ENOENT;
		xa_erase(&client->vms, args->vm_id);
		client->vm_count--;
	}

	/* Unmapped even if a job of a destroyed queue still runs. */
	uma_vm_kill(vm);
	uma_vm_put(vm);
	return 0;
}

/* What an operation maps */
struct uma_bind_map {
	struct uma_bo *bo;		/* buffer */
	struct sg_table *pages;		/* its memory, which is pinned until the ioctl returns */
	struct uma_sg_pos pos;		/* where the mapping starts in pages */
};

/* A DRM_IOCTL_UMA_VM_BIND in progress */
struct uma_bind {
	struct drm_uma_bind_op *ops;	/* operations */
	u32 count;			/* number of them */
	u32 failed;			/* index of the operation that an error is about */
	struct uma_bind_map *maps;	/* for each operation that maps */
};

static int uma_bind_lookup(struct uma_bind *bind, struct drm_file *file)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < bind->count; i++) {
		const struct drm_uma_bind_op *op = &bind->ops[i];
		struct uma_bo *bo;

		if (op->op != DRM_UMA_BIND_MAP)
			continue;
		bind->failed = i;
		bo = uma_bo_find(file, op->handle);
		if (!bo)
			return -ENOENT;
		bind->maps[i].bo = bo;
		if (uma_check_bo_range(op->bo_offset, op->size, bo->shmem.base.size))
			return -EINVAL;
		if ((bo->flags & DRM_UMA_BO_INFO_READONLY) && !(op->flags & DRM_UMA_BIND_READONLY))
			return -EACCES;
	}
	/* Only when all arguments are valid: this allocates memory. */
	for (i = 0; i < bind->count && !ret; i++) {
		struct uma_bind_map *map = &bind->maps[i];

		if (!map->bo)
			continue;
		bind->failed = i;
		map->pages = uma_bo_pin(map->bo);
		ret = PTR_ERR_OR_ZERO(map->pages) ?: uma_breathe();
	}
	if (!ret || ret == -ENODEV)
		bind->failed = 0;
	return ret;
}

/*
 * Everything that can fail: the mappings, which can be undone, and memory for the page table.
 * What follows may have to wait for jobs, and for a reset. No unplug shall wait for that, nor for
 * any number of operations and tables: it waits for one table at most. Unbinding this device waits
 * for the lock of the address space, while it has a page table; a bind in progress then fails at
 * its next table.
 */
static int uma_bind_prepare(struct uma_bind *bind, struct uma_vm *vm, struct uma_map_txn *txn)
{
	struct uma_pt_need need = {};
	int ret = 0;
	u32 i;

	/* This locks buffers, whose locks others may hold until jobs have ended. */
	for (i = 0; i < bind->count && !ret && !uma_gone(vm->uma); i++) {
		const struct drm_uma_bind_op *op = &bind->ops[i];

		bind->failed = i;
		if (op->op == DRM_UMA_BIND_MAP)
			ret = uma_map_add(txn, op->va, op->size, &bind->maps[i].bo->shmem.base,
					  op->bo_offset, op->flags);
		else
			ret = uma_map_remove(txn, op->va, op->size);
	}
	/* If the device has gone, so have the pages; else they stay while the lock is held. */
	if (!ret && uma_gone(vm->uma)) {
		bind->failed = 0;
		ret = -ENODEV;
	}
	if (ret)
		return ret;
	for (i = 0; i < bind->count && !ret; i++) {
		const struct drm_uma_bind_op *op = &bind->ops[i];
		struct uma_bind_map *map = &bind->maps[i];

		bind->failed = i;
		if (op->op == DRM_UMA_BIND_MAP) {
			ret = uma_sg_seek(&map->pos, map->pages, op->bo_offset);
			ret = ret ?: uma_pt_need_map(&vm->pt, op->va, op->size, map->pos, &need);
		} else {
			uma_pt_need_unmap(op->va, op->size, &need);
		}
	}
	if (!ret) {
		bind->failed = 0;
		ret = uma_pt_reserve(&vm->pt, &need);
	}
	return ret;
}

/* False if the device was lost without confirming the invalidation. */
static bool uma_bind_apply_confirmed(struct uma_bind *bind, struct uma_vm *vm)
{
	struct uma_pt *pt = &vm->pt;
	u32 i;

	for (i = 0; i < bind->count; i++) {
		const struct drm_uma_bind_op *op = &bind->ops[i];

		if (op->op == DRM_UMA_BIND_MAP)
			uma_pt_map(pt, op->va, op->size, bind->maps[i].pos,
				   !(op->flags & DRM_UMA_BIND_READONLY));
		else
			uma_pt_unmap(pt, op->va, op->size);
	}
	uma_pt_prune(pt);
	return pt->dirty_start >= pt->dirty_end ||
	       uma_mmu_invalidate_confirmed(vm, pt->dirty_start, pt->dirty_end);
}

static int uma_bind_run(struct uma_bind *bind, struct uma_vm *vm)
{
	struct uma_map_txn txn = { .vm = vm, .changed = LIST_HEAD_INIT(txn.changed) };
	bool confirmed;
	int ret;

	ret = mutex_lock_interruptible(&vm->lock);
	if (ret)
		return ret;
	if (vm->dead) {
		mutex_unlock(&vm->lock);
		return uma_gone(vm->uma) ? -ENODEV : -ENOENT;
	}
	ret = uma_bind_prepare(bind, vm, &txn);
	if (ret) {
		uma_pt_unreserve(&vm->pt);
		uma_map_rollback(&txn);
	} else {
		confirmed = uma_bind_apply_confirmed(bind, vm);
		if (confirmed)
			uma_pt_finish(&vm->pt);
		else
			uma_pt_unreserve(&vm->pt);
		uma_map_commit(&txn, confirmed);
	}
	mutex_unlock(&vm->lock);
	return ret;
}

static int uma_bind_ops(struct uma_bind *bind, struct drm_file *file, struct uma_vm *vm)
{
	u32 i;
	int ret;

	bind->maps = kvcalloc(bind->count, sizeof(*bind->maps), GFP_KERNEL_ACCOUNT);
	if (!bind->maps)
		return -ENOMEM;
	ret = uma_bind_lookup(bind, file) ?: uma_bind_run(bind, vm);
	for (i = 0; i < bind->count; i++) {
		if (!IS_ERR_OR_NULL(bind->maps[i].pages))
			uma_bo_unpin(bind->maps[i].bo);
		uma_bo_put(bind->maps[i].bo);
	}
	kvfree(bind->maps);
	return ret;
}

/* DRM_IOCTL_UMA_VM_BIND */
int uma_ioctl_vm_bind(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct uma_device *uma = to_uma_device(drm);
	struct uma_client *client = file->driver_priv;
	struct drm_uma_vm_bind *args = data;
	struct uma_bind bind = { .count = args->ops.count };
	struct uma_vm *vm;
	int ret;
	u32 i;

	if (args->failed_op)
		return -EINVAL;
	ret = uma_check_array(&args->ops, UMA_MIN_BIND_OP, UMA_MAX_BIND_OPS);
	if (ret || !bind.count)
		return ret ?: -EINVAL;
	bind.ops = uma_copy_array(&args->ops, sizeof(*bind.ops), &bind.failed);
	if (IS_ERR(bind.ops)) {
		ret = PTR_ERR(bind.ops);
		args->failed_op = ret == -EINTR ? 0 : bind.failed;
		return ret;
	}
	for (i = 0; i < bind.count && !ret; i++) {
		bind.failed = i;
		ret = uma_check_bind_op(&bind.ops[i], &uma->va);
	}
	if (ret)
		goto out;
	bind.failed = 0;

	ret = -ENOENT;
	vm = uma_vm_find(client, args->vm_id);
	if (vm)
		ret = uma_bind_ops(&bind, file, vm);
	uma_vm_put(vm);
out:
	if (!ret)
		args->failed_op = bind.count;
	else if (ret != -EINTR && ret != -ERESTARTSYS)
		args->failed_op = bind.failed;
	kvfree(bind.ops);
	return ret;
}

/* The debugfs file "blocks": their number in all page tables. */
int uma_vms_show_blocks(struct seq_file *m, void *unused)
{
	struct uma_device *uma = uma_debugfs_device(m);
	struct uma_vm *vm;
	u64 blocks = 0;

	guard(mutex)(&uma->vms_lock);
	list_for_each_entry(vm, &uma->vms, node)
		blocks += READ_ONCE(vm->pt.blocks);
	seq_printf(m, "%llu\n", blocks);
	return 0;
}

/* The debugfs file "vms". */
int uma_vms_show(struct seq_file *m, void *unused)
{
	struct uma_device *uma = uma_debugfs_device(m);
	struct drm_gpuva *va;
	struct uma_vm *vm;
	u32 n = 0;

	seq_puts(m, "vm     pid state tables blocks            start             last   offset access\n");
	guard(mutex)(&uma->vms_lock);
	list_for_each_entry(vm, &uma->vms, node) {
		/* Trylock, as it nests outside of vms_lock. */
		if (!mutex_trylock(&vm->lock)) {
			seq_printf(m, "%2u %7d busy - - - - - -\n", n++, vm->pid);
			continue;
		}
		/* A row for each mapping, and for an address space without any. */
		if (!vm->map_count)
			seq_printf(m, "%2u %7d %-5s %6u %6u - - - -\n", n, vm->pid,
				   vm->held ? "held" : vm->dead ? "dead" : "ok",
				   vm->pt.tables, vm->pt.blocks);
		drm_gpuvm_for_each_va(va, &vm->base) {
			seq_printf(m, "%2u %7d %-5s %6u %6u %#16llx %#16llx %#8llx %s\n", n,
				   vm->pid, vm->held ? "held" : vm->dead ? "dead" : "ok",
				   vm->pt.tables, vm->pt.blocks, va->va.addr,
				   va->va.addr + va->va.range - 1, va->gem.offset,
				   to_uma_mapping(va)->flags & DRM_UMA_BIND_READONLY ? "ro" : "rw");
			if (uma_breathe())
				break;
		}
		n++;
		mutex_unlock(&vm->lock);
	}
	return 0;
}
