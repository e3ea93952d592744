// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Buffers: memory from shmem, from user space, or imported as a dma-buf.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string_helpers.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>
#include <drm/drm_prime.h>
#include <drm/drm_vma_manager.h>

#include "uma_device.h"
#include "uma_drv.h"
#include "uma_gem.h"

/* Add a buffer, which is complete, to the device's list. */
void uma_gem_publish(struct uma_bo *bo)
{
	struct uma_device *uma = to_uma_device(bo->shmem.base.dev);

	uma_bo_count(bo);
	guard(mutex)(&uma->gems_lock);
	list_add_tail(&bo->node, &uma->gems);
}

static void uma_gem_free(struct drm_gem_object *obj)
{
	struct uma_device *uma = to_uma_device(obj->dev);
	struct uma_bo *bo = to_uma_bo(obj);
	struct dma_buf *buf;

	/* There are no more references, so it cannot be exported. */
	uma_bo_unmap(bo, xchg(&obj->import_attach, NULL));
	scoped_guard(mutex, &uma->gems_lock) {
		list_del_init(&bo->node);
		uma_dying_done(uma, bo->awaited);
	}
	atomic64_sub(bo->resident, &uma->resident);
	/* One that is needed has left the shrinker's list, or never was in it. */
	if (bo->shmem.madv)
		uma_shrink_remove(bo);
	kfree(bo->label);

	buf = bo->imported;
	if (bo->flags & DRM_UMA_BO_INFO_USER) {
		drm_gem_object_release(obj);
		kfree(bo);
	} else {
		drm_gem_shmem_free(&bo->shmem);
	}
	/* It held the buffer's dma_resv. */
	if (buf)
		dma_buf_put(buf);
}

/* Imported and user memory is mapped through its owner. */
static bool uma_bo_mappable(struct uma_bo *bo)
{
	return !(bo->flags & (DRM_UMA_BO_NO_MMAP | DRM_UMA_BO_INFO_USER)) &&
	       !drm_gem_is_imported(&bo->shmem.base);
}

static int uma_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	struct uma_bo *bo = to_uma_bo(obj);
	struct sg_table *sgt;

	if (!uma_bo_mappable(bo))
		return -EPERM;
	if ((vma->vm_flags & (VM_SHARED | VM_MAYWRITE)) == VM_MAYWRITE)
		return -EINVAL;
	/* Usually populated already, but not if a dma-buf is mapped before the buffer was used. */
	sgt = uma_bo_pin(bo);
	if (!IS_ERR(sgt))
		uma_bo_unpin(bo);
	else if (PTR_ERR(sgt) != -ENODEV || !READ_ONCE(bo->shmem.pages))
		/* Without a device the pages that are there can still be mapped. */
		return PTR_ERR(sgt);
	vm_flags_set(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot = vm_get_page_prot(vma->vm_flags);
	if (bo->shmem.map_wc)
		vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	return 0;
}

/*
 * Not drm_gem_shmem_fault(): the helpers take a reference to the pages for each mapping, and would
 * keep those of a purged buffer until the last is unmapped.
 */
static vm_fault_t uma_gem_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct drm_gem_object *obj = vma->vm_private_data;
	/* Offset in the buffer; the start of the mapping may have been unmapped. */
	pgoff_t page = vmf->pgoff - drm_vma_node_start(&obj->vma_node);
	struct uma_bo *bo = to_uma_bo(obj);
	vm_fault_t ret = VM_FAULT_SIGBUS;

	/*
	 * A killed task does not wait; after any other signal the fault is repeated. A fault
	 * from kernel mode would be repeated until the lock is free, as no signal is delivered.
	 */
	if (!(vmf->flags & FAULT_FLAG_USER))
		dma_resv_lock(obj->resv, NULL);
	else if (dma_resv_lock_interruptible(obj->resv, NULL))
		return VM_FAULT_NOPAGE;
	if (bo->shmem.pages && !uma_bo_purged(bo) && page < obj->size >> PAGE_SHIFT)
		ret = vmf_insert_pfn(vma, vmf->address, page_to_pfn(bo->shmem.pages[page]));
	dma_resv_unlock(obj->resv);
	return ret;
}

static const struct vm_operations_struct uma_gem_vm_ops = {
	.fault = uma_gem_fault,
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
};

static enum drm_gem_object_status uma_gem_status(struct drm_gem_object *obj)
{
	struct uma_bo *bo = to_uma_bo(obj);
	enum drm_gem_object_status status = 0;

	/*
	 * Pages in the page cache stay even if the bind that they are for is interrupted, except
	 * in a mapping that is evictable again: they may be swapped out without notice.
	 */
	if (bo->user || READ_ONCE(bo->shmem.pages) || READ_ONCE(bo->shmem.sgt) ||
	    (obj->filp && READ_ONCE(obj->filp->f_mapping->nrpages) &&
	     mapping_unevictable(obj->filp->f_mapping)))
		status |= DRM_GEM_OBJECT_RESIDENT;
	if (READ_ONCE(bo->shmem.madv) > 0)
		status |= DRM_GEM_OBJECT_PURGEABLE;
	return status;
}

/* Update the accounting of a buffer's memory; its dma_resv is locked, or it is not published. */
void uma_bo_count(struct uma_bo *bo)
{
	struct drm_gem_object *obj = &bo->shmem.base;
	size_t now = uma_gem_status(obj) & DRM_GEM_OBJECT_RESIDENT ? obj->size : 0;

	atomic64_add((s64)now - (s64)bo->resident, &to_uma_device(obj->dev)->resident);
	WRITE_ONCE(bo->resident, now);
}

/* An importer may be the first to populate a buffer, and the last user. */
static int uma_gem_pin(struct drm_gem_object *obj)
{
	int ret = drm_gem_shmem_object_pin(obj);

	uma_bo_count(to_uma_bo(obj));
	return ret;
}

static void uma_gem_unpin(struct drm_gem_object *obj)
{
	drm_gem_shmem_object_unpin(obj);
	uma_bo_count(to_uma_bo(obj));
}

static int uma_gem_vmap(struct drm_gem_object *obj, struct iosys_map *map)
{
	int ret = drm_gem_shmem_object_vmap(obj, map);

	uma_bo_count(to_uma_bo(obj));
	return ret;
}

static void uma_gem_vunmap(struct drm_gem_object *obj, struct iosys_map *map)
{
	drm_gem_shmem_object_vunmap(obj, map);
	uma_bo_count(to_uma_bo(obj));
}

/*
 * The core calls this once for a buffer, with an object that has a handle, and keeps the dma-buf
 * for as long as there is a handle. A shared buffer is never purged: madvise is refused from here
 * on. User memory stays with its owner.
 */
static struct dma_buf *uma_gem_export(struct drm_gem_object *obj, int flags)
{
	struct uma_device *uma = to_uma_device(obj->dev);
	struct uma_bo *bo = to_uma_bo(obj);
	struct dma_buf *buf;
	bool was_shared;

	if (bo->flags & DRM_UMA_BO_INFO_USER)
		return ERR_PTR(-EPERM);
	scoped_guard(mutex, &uma->gems_lock) {
		if (uma_bo_purged(bo))
			return ERR_PTR(-EFAULT);
		if (bo->shmem.madv)
			return ERR_PTR(-EBUSY);
		was_shared = bo->shared;
		bo->shared = true;
	}
	buf = drm_gem_prime_export(obj, flags);
	if (IS_ERR(buf)) {
		guard(mutex)(&uma->gems_lock);
		bo->shared = was_shared;
	}
	return buf;
}

static const struct drm_gem_object_funcs uma_gem_funcs = {
	.free = uma_gem_free,
	.export = uma_gem_export,
	.print_info = drm_gem_shmem_object_print_info,
	.pin = uma_gem_pin,
	.unpin = uma_gem_unpin,
	.get_sg_table = drm_gem_shmem_object_get_sg_table,
	.vmap = uma_gem_vmap,
	.vunmap = uma_gem_vunmap,
	.mmap = uma_gem_mmap,
	.status = uma_gem_status,
	.vm_ops = &uma_gem_vm_ops,
};

/* The gem_create_object callback, for the shmem helpers. */
struct drm_gem_object *uma_gem_create_object(struct drm_device *drm, size_t size)
{
	struct uma_bo *bo = uma_bo_alloc(to_uma_device(drm));

	if (!bo)
		return ERR_PTR(-ENOMEM);
	bo->shmem.base.funcs = &uma_gem_funcs;
	return &bo->shmem.base;
}

/* Look a buffer up. Returns it with a reference, or NULL. */
struct uma_bo *uma_bo_find(struct drm_file *file, u32 handle)
{
	struct drm_gem_object *obj = drm_gem_object_lookup(file, handle);

	return obj ? to_uma_bo(obj) : NULL;
}

/* Drop a reference; @bo may be NULL. */
void uma_bo_put(struct uma_bo *bo)
{
	if (bo)
		drm_gem_object_put(&bo->shmem.base);
}

/* DRM_IOCTL_UMA_BO_CREATE */
int uma_ioctl_bo_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct uma_device *uma = to_uma_device(drm);
	const u32 kind = DRM_UMA_BO_WC | DRM_UMA_BO_NO_MMAP;
	struct drm_uma_bo_create *args = data;
	struct drm_gem_shmem_object *shmem;
	struct uma_bo *bo;
	int ret;

	if (args->handle || (args->flags & ~(kind | DRM_UMA_BO_NODE_MASK)) ||
	    (args->flags & kind) == kind)
		return -EINVAL;
	if ((args->flags & DRM_UMA_BO_NODE_MASK) >> DRM_UMA_BO_NODE_SHIFT > uma->info.node_count)
		return -EINVAL;
	ret = uma_check_bo_size(args->size, uma->max_bo_size);
	if (ret)
		return ret;

	shmem = drm_gem_shmem_create(drm, args->size);
	if (IS_ERR(shmem)) {
		ret = PTR_ERR(shmem);
		/* shmem returns it if no inode can be allocated. */
		return ret == -ENOSPC ? -ENOMEM : ret;
	}
	bo = to_uma_bo(&shmem->base);
	bo->flags = args->flags;
	shmem->map_wc = bo->flags & DRM_UMA_BO_WC;
	uma_mount_place(uma, bo);
	uma_gem_publish(bo);

	/* As soon as there is a handle user space may close it. */
	ret = drm_gem_handle_create(file, &shmem->base, &args->handle);
	uma_bo_put(bo);
	return ret;
}

/* DRM_IOCTL_UMA_BO_MMAP_OFFSET */
int uma_ioctl_bo_mmap_offset(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_uma_bo_mmap_offset *args = data;
	struct uma_bo *bo __free(uma_bo_put) = NULL;
	struct sg_table *sgt;
	int ret;

	if (args->pad || args->offset)
		return -EINVAL;
	bo = uma_bo_find(file, args->handle);
	if (!bo)
		return -ENOENT;
	if (uma_bo_purged(bo))
		return -EFAULT;
	if (!uma_bo_mappable(bo))
		return -EPERM;
	/* Populate it here: mmap() would do so with the mmap lock held for writing. */
	sgt = uma_bo_pin(bo);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	uma_bo_unpin(bo);
	ret = drm_gem_create_mmap_offset(&bo->shmem.base);
	if (!ret)
		args->offset = drm_vma_node_offset_addr(&bo->shmem.base.vma_node);
	return ret;
}

/* DRM_IOCTL_UMA_BO_IMPORT_USER */
int uma_ioctl_bo_import_user(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct uma_device *uma = to_uma_device(drm);
	struct drm_uma_bo_import_user *args = data;
	struct drm_gem_object *obj;
	struct uma_bo *bo;
	int ret;

	if (args->handle || (args->flags & ~DRM_UMA_USER_READONLY) || !PAGE_ALIGNED(args->addr))
		return -EINVAL;
	ret = uma_check_bo_size(args->size, uma->max_bo_size);
	if (ret)
		return ret;

	obj = uma_gem_create_object(drm, args->size);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	bo = to_uma_bo(obj);
	bo->user = uma_user_pin(uma, args->addr, args->size, args->flags & DRM_UMA_USER_READONLY);
	if (IS_ERR(bo->user)) {
		ret = PTR_ERR(bo->user);
		goto err_bo;
	}
	ret = -ENODEV;
	if (!uma_dying_begin(uma))
		goto err_user;
	ret = uma_user_map(bo->user);
	if (ret)
		goto err_dying;
	drm_gem_private_object_init(drm, obj, args->size);
	bo->flags = DRM_UMA_BO_INFO_USER;
	if (bo->user->readonly)
		bo->flags |= DRM_UMA_BO_INFO_READONLY;
	uma_gem_publish(bo);
	uma_dying_done(uma, true);

	ret = drm_gem_handle_create(file, obj, &args->handle);
	uma_bo_put(bo);
	return ret;

err_dying:
	uma_dying_done(uma, true);
err_user:
	uma_user_unpin(bo->user);
err_bo:
	kfree(bo);
	return ret;
}

static u32 uma_bo_info_flags(const struct uma_bo *bo)
{
	const struct drm_gem_object *obj = &bo->shmem.base;
	u32 flags = bo->flags;

	if (drm_gem_is_imported(obj))
		flags |= DRM_UMA_BO_INFO_IMPORTED;
	else if (READ_ONCE(obj->dma_buf))
		flags |= DRM_UMA_BO_INFO_EXPORTED;
	if (uma_bo_purged(bo))
		flags |= DRM_UMA_BO_INFO_PURGED;
	else if (READ_ONCE(bo->shmem.madv))
		flags |= DRM_UMA_BO_INFO_DONTNEED;
	return flags;
}

/* DRM_IOCTL_UMA_BO_INFO */
int uma_ioctl_bo_info(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_uma_bo_info *args = data;
	struct uma_bo *bo __free(uma_bo_put) = NULL;
	struct drm_gem_object *obj;

	if (args->flags || args->size || args->resident || args->mappings || args->pad)
		return -EINVAL;
	bo = uma_bo_find(file, args->handle);
	if (!bo)
		return -ENOENT;
	obj = &bo->shmem.base;
	args->flags = uma_bo_info_flags(bo);
	args->size = obj->size;
	args->resident = uma_gem_status(obj) & DRM_GEM_OBJECT_RESIDENT ? obj->size : 0;
	args->mappings = atomic_read(&bo->mappings);
	return 0;
}

/* DRM_IOCTL_UMA_BO_LABEL */
int uma_ioctl_bo_label(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct uma_device *uma = to_uma_device(drm);
	struct drm_uma_bo_label *args = data;
	struct uma_bo *bo __free(uma_bo_put) = NULL;
	char *label __free(kfree) = NULL;
	int ret;

	if (!args->size != !args->label)
		return -EINVAL;
	if (args->size > UMA_MAX_LABEL)
		return -E2BIG;
	if (args->size) {
		label = memdup_user_nul(u64_to_user_ptr(args->label), args->size);
		if (IS_ERR(label))
			return PTR_ERR(label);
		ret = uma_check_label(label, args->size);
		if (ret)
			return ret;
	}

	bo = uma_bo_find(file, args->handle);
	if (!bo)
		return -ENOENT;
	scoped_guard(mutex, &uma->gems_lock)
		swap(bo->label, label);
	return 0;
}

/* Number of pages synced, or segments skipped, before checking for an unplug or a fatal signal. */
#define UMA_SYNC_BATCH	4096

static void uma_bo_sync_piece(struct uma_bo *bo, dma_addr_t dma, size_t size, u32 flags)
{
	struct device *dev = bo->shmem.base.dev->dev;

	if (flags & DRM_UMA_SYNC_TO_DEVICE)
		dma_sync_single_for_device(dev, dma, size, uma_bo_dir(bo));
	if (flags & DRM_UMA_SYNC_TO_CPU)
		dma_sync_single_for_cpu(dev, dma, size, uma_bo_dir(bo));
}

/*
 * Only for devices that are not coherent with the CPU's caches. Syncing all of a buffer for the CPU
 * would discard what the CPU has written outside of the range, so dma_sync_sgtable_*() cannot be
 * used. Pages that are adjacent for the device need not be adjacent in memory, so each is synced by
 * itself. (If user memory has been imported twice, CONFIG_DMA_API_DEBUG cannot tell the mappings
 * apart, and warns, once: only syncing whole scatterlists would satisfy it.)
 */
static int uma_bo_sync(struct uma_bo *bo, const struct drm_uma_sync_range *range)
{
	struct drm_gem_object *obj = &bo->shmem.base;
	u64 start = 0, at = range->offset, end = range->offset + range->size;
	struct uma_device *uma = to_uma_device(obj->dev);
	struct dma_buf *buf = NULL;
	struct sg_table *sgt;
	struct scatterlist *sg;
	unsigned int steps = 0;
	int idx, ret;
	bool ours;

	if (!uma_enter(uma, &idx))
		return -ENODEV;
	if (drm_gem_is_imported(obj)) {
		buf = obj->import_attach->dmabuf;
		get_dma_buf(buf);
	}
	drm_dev_exit(idx);
	/* The exporter may wait for other devices' jobs, which must not delay an unplug. */
	if (buf) {
		ret = range->flags & DRM_UMA_SYNC_TO_DEVICE ?
			dma_buf_end_cpu_access(buf, uma_bo_dir(bo)) : 0;
		if (!ret && (range->flags & DRM_UMA_SYNC_TO_CPU))
			ret = dma_buf_begin_cpu_access(buf, uma_bo_dir(bo));
		/* Other exporters sync for their importers; their memory may have no pages. */
		ours = buf->owner == THIS_MODULE;
		dma_buf_put(buf);
		if (ret || !ours)
			return ret;
	}

	/* A buffer that is not mapped for the device yet is synced when it is mapped. */
	if (!(bo->flags & DRM_UMA_BO_INFO_USER) && !READ_ONCE(bo->shmem.sgt) && !uma_bo_purged(bo))
		return uma_gone(uma) ? -ENODEV : 0;

	sgt = uma_bo_pin(bo);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	ret = uma_enter(uma, &idx) ? 0 : -ENODEV;
	if (ret)
		goto out_unpin;
	for (sg = sgt->sgl; at < end; steps++) {
		u64 next = start + sg_dma_len(sg);

		/*
		 * The mapping is not removed between uma_enter() and drm_dev_exit(). Signals that
		 * do not kill have to wait: the restarted ioctl begins again.
		 */
		if (steps == UMA_SYNC_BATCH) {
			drm_dev_exit(idx);
			ret = uma_breathe() ?: uma_enter(uma, &idx) ? 0 : -ENODEV;
			if (ret)
				goto out_unpin;
			steps = 0;
		}
		if (at >= next) {
			start = next;
			sg = sg_next(sg);
			continue;
		}
		next = min3(next, end, (at | ~PAGE_MASK) + 1);
		uma_bo_sync_piece(bo, sg_dma_address(sg) + (at - start), next - at, range->flags);
		at = next;
		cond_resched();
	}
	drm_dev_exit(idx);
out_unpin:
	uma_bo_unpin(bo);
	return ret;
}

/* DRM_IOCTL_UMA_BO_SYNC */
int uma_ioctl_bo_sync(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct uma_device *uma = to_uma_device(drm);
	struct drm_uma_bo_sync *args = data;
	struct drm_uma_sync_range *ranges __free(kvfree) = NULL;
	struct uma_bo **bos __free(kvfree) = NULL;
	u32 count = args->ranges.count, i;
	int ret;

	ret = uma_check_array(&args->ranges, UMA_MIN_SYNC_RANGE, UMA_MAX_SYNC_RANGES);
	if (ret || !count)
		return ret ?: -EINVAL;
	ranges = uma_copy_array(&args->ranges, sizeof(*ranges), NULL);
	if (IS_ERR(ranges))
		return PTR_ERR(ranges);
	for (i = 0; i < count && !ret; i++)
		ret = uma_check_sync_range(&ranges[i]);
	if (ret)
		return ret;

	bos = kvcalloc(count, sizeof(*bos), GFP_KERNEL_ACCOUNT);
	if (!bos)
		return -ENOMEM;
	for (i = 0; i < count && !ret; i++) {
		bos[i] = uma_bo_find(file, ranges[i].handle);
		ret = !bos[i] ? -ENOENT :
			uma_check_bo_range(ranges[i].offset, ranges[i].size,
					   bos[i]->shmem.base.size);
	}
	if (!ret && !(uma->info.flags & DRM_UMA_DEVICE_COHERENT)) {
		for (i = 0; i < count && !ret; i++)
			ret = uma_breathe() ?: uma_bo_sync(bos[i], &ranges[i]);
	}
	for (i = 0; i < count; i++)
		uma_bo_put(bos[i]);
	return ret;
}

/* The debugfs file "gems". */
int uma_gem_show(struct seq_file *m, void *unused)
{
	struct uma_device *uma = uma_debugfs_device(m);
	struct uma_bo *bo;

	seq_puts(m, "refs mappings         size     resident    flags label\n");
	guard(mutex)(&uma->gems_lock);
	list_for_each_entry(bo, &uma->gems, node) {
		struct drm_gem_object *obj = &bo->shmem.base;
		size_t now = uma_gem_status(obj) & DRM_GEM_OBJECT_RESIDENT ? obj->size : 0;

		seq_printf(m, "%4u %8u %12zu %12zu %#8x \"", kref_read(&obj->refcount),
			   atomic_read(&bo->mappings), obj->size, now, uma_bo_info_flags(bo));
		/* A label is a single word in the row, whatever it contains. */
		seq_escape_str(m, bo->label ?: "", ESCAPE_OCTAL, "\"\\");
		seq_puts(m, "\"\n");
		if (uma_breathe())
			break;
	}
	return 0;
}
