// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Purgeable buffers, and the shrinker that frees their memory.
 *
 * The shrinker may run in any allocation, with any of the locks held under which memory is
 * allocated, so it only trylocks those. It waits neither for a fence nor for a job: a buffer that
 * is mapped in an address space with jobs on the device is not purged. Jobs that use a purged
 * buffer fault.
 */
#include <linux/list_lru.h>
#include <linux/shmem_fs.h>
#include <linux/shrinker.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_managed.h>
#include <drm/drm_vma_manager.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_gem.h"
#include "uma_vm.h"

/*
 * Buffers have a cache of their own, with accounting, so that the list_lru finds the memory cgroup
 * of each from its address.
 */
static struct kmem_cache *uma_bo_cache;

int uma_bo_cache_init(void)
{
	uma_bo_cache = KMEM_CACHE(uma_bo, SLAB_ACCOUNT);
	return uma_bo_cache ? 0 : -ENOMEM;
}

void uma_bo_cache_fini(void)
{
	kmem_cache_destroy(uma_bo_cache);
}

/* Allocate a zeroed struct, to be freed with kfree(). Returns NULL without memory. */
struct uma_bo *uma_bo_alloc(struct uma_device *uma)
{
	struct uma_bo *bo;

	bo = kmem_cache_alloc_lru(uma_bo_cache, &uma->lru, GFP_KERNEL | __GFP_ZERO);
	if (!bo)
		return NULL;
	INIT_LIST_HEAD(&bo->node);
	/* Older kernels leave it to the driver. */
	drm_gem_gpuva_init(&bo->shmem.base);
	INIT_LIST_HEAD(&bo->lru);
	return bo;
}

static void uma_shrink_add_locked(struct uma_device *uma, struct uma_bo *bo)
{
	lockdep_assert_held(&uma->shrink_lock);

	if (!list_lru_add_obj(&uma->lru, &bo->lru))
		return;
	uma->purgeable_bos++;
	uma->purgeable_pages += bo->shmem.base.size >> PAGE_SHIFT;
}

static void uma_shrink_forget(struct uma_device *uma, struct uma_bo *bo)
{
	lockdep_assert_held(&uma->shrink_lock);

	uma->purgeable_bos--;
	uma->purgeable_pages -= bo->shmem.base.size >> PAGE_SHIFT;
}

/* A buffer is not purgeable any more, or being freed. It may not have been purgeable. */
void uma_shrink_remove(struct uma_bo *bo)
{
	struct uma_device *uma = to_uma_device(bo->shmem.base.dev);

	/* Waits for a shrinker that has isolated it. */
	guard(mutex)(&uma->shrink_lock);
	if (list_lru_del_obj(&uma->lru, &bo->lru))
		uma_shrink_forget(uma, bo);
}

/* Lock all address spaces that map a buffer, if all are idle. On failure some are locked. */
static bool uma_shrink_lock_vms(struct uma_bo *bo, struct list_head *vms)
{
	struct drm_gpuvm_bo *vm_bo;
	struct drm_gpuva *va;

	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->shmem.base) {
		struct uma_vm *vm = to_uma_vm(vm_bo->vm);

		if (!mutex_trylock(&vm->lock))
			return false;
		list_add(&vm->shrink, vms);
		/* Its jobs delay the invalidation: keep the contents then. */
		if (!uma_mmu_tryidle(vm))
			return false;
		drm_gpuvm_bo_for_each_va(va, vm_bo) {
			/* The range may show another buffer by now. */
			if (to_uma_mapping(va)->removed)
				return false;
			/* The number of mappings is up to user space. */
			cond_resched();
		}
	}
	return true;
}

static void uma_shrink_unlock_vms(struct list_head *vms)
{
	struct uma_vm *vm, *next;

	/* They cannot be freed: their mappings cannot go while the dma_resv is locked. */
	list_for_each_entry_safe(vm, next, vms, shrink) {
		list_del_init(&vm->shrink);
		mutex_unlock(&vm->lock);
	}
}

/*
 * Remove a buffer from all page tables. Tables that become empty stay, and the range stays dirty:
 * the next bind prunes them, as that may not be done here. A mapping consists of whole blocks, so
 * none has to be split.
 */
static int uma_shrink_unmap(struct uma_bo *bo, struct list_head *vms)
{
	struct drm_gpuvm_bo *vm_bo;
	struct drm_gpuva *va;
	struct uma_vm *vm;
	int ret = 0;

	drm_gem_for_each_gpuvm_bo(vm_bo, &bo->shmem.base)
		drm_gpuvm_bo_for_each_va(va, vm_bo)
			uma_pt_unmap(&to_uma_vm(va->vm)->pt, va->va.addr, va->va.range);
	list_for_each_entry(vm, vms, shrink) {
		struct uma_pt *pt = &vm->pt;

		if (pt->dirty_start >= pt->dirty_end)
			continue;
		/* After the entries; else a later job does it: uma_mmu_get_as_confirmed(). */
		smp_store_release(&vm->zapped, true);
		if (uma_mmu_tryinvalidate_confirmed(vm, pt->dirty_start, pt->dirty_end))
			ret = -EBUSY;
	}
	return ret;
}

/* Returns the number of pages that were freed. */
static unsigned long uma_shrink_purge(struct uma_device *uma, struct uma_bo *bo)
{
	struct drm_gem_object *obj = &bo->shmem.base;
	unsigned long pages = 0;
	LIST_HEAD(vms);

	if (!dma_resv_trylock(obj->resv))
		return 0;
	/* The helpers cannot purge a buffer whose DMA mapping is gone. */
	if (READ_ONCE(uma->removed))
		goto out_resv;
	if (atomic_read(&bo->pins) || WARN_ON_ONCE(bo->shmem.madv <= 0 || bo->shared))
		goto out_resv;
	if (!uma_shrink_lock_vms(bo, &vms))
		goto out_vms;

	/* From here on the contents are lost, whether the memory can be freed now or not. */
	WRITE_ONCE(bo->zapped, true);
	drm_vma_node_unmap(&obj->vma_node, obj->dev->anon_inode->i_mapping);
	/* If the device is busy, leave the memory to the next scan. */
	if (uma_shrink_unmap(bo, &vms))
		goto out_vms;
	if (bo->shmem.sgt) {
		pages = obj->size >> PAGE_SHIFT;
		drm_gem_shmem_purge_locked(&bo->shmem);
	} else {
		/* A bind that was interrupted may have populated it. */
		pages = obj->filp->f_mapping->nrpages;
		shmem_truncate_range(file_inode(obj->filp), 0, (loff_t)-1);
		WRITE_ONCE(bo->shmem.madv, -1);
	}
	uma_bo_count(bo);
out_vms:
	uma_shrink_unlock_vms(&vms);
out_resv:
	dma_resv_unlock(obj->resv);
	return pages;
}

/* State of a scan */
struct uma_shrink_walk {
	struct list_head bos;	/* buffers that were isolated, &uma_bo.lru */
	unsigned long pages;	/* number of their pages */
	unsigned long want;	/* number of pages to scan */
	/* nr_to_walk, set to 0 to stop: no return value of the callback does just that */
	unsigned long left;
};

static enum lru_status uma_shrink_take(struct list_head *item, struct list_lru_one *list,
				       UMA_LRU_WALK_LOCK void *arg)
{
	struct uma_bo *bo = container_of(item, struct uma_bo, lru);
	struct uma_shrink_walk *walk = arg;

	list_lru_isolate_move(list, item, &walk->bos);
	walk->pages += bo->shmem.base.size >> PAGE_SHIFT;
	if (walk->pages >= walk->want)
		walk->left = 0;
	return LRU_REMOVED;
}

static unsigned long uma_shrink_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct uma_device *uma = shrinker->private_data;
	unsigned long count = list_lru_shrink_count(&uma->lru, sc);
	unsigned long bos = READ_ONCE(uma->purgeable_bos);

	if (!count || !bos)
		return SHRINK_EMPTY;
	/* Pages are only counted for the whole device, so this is an estimate. */
	return count * DIV_ROUND_UP(READ_ONCE(uma->purgeable_pages), bos) ?: SHRINK_EMPTY;
}

static unsigned long uma_shrink_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct uma_device *uma = shrinker->private_data;
	struct uma_shrink_walk walk = {
		.bos = LIST_HEAD_INIT(walk.bos),
		.want = sc->nr_to_scan,
		.left = ULONG_MAX,
	};
	unsigned long freed = 0;
	struct uma_bo *bo, *next;

	/* Without __GFP_FS the caller may be inside of a file system, such as shmem. */
	if (!(sc->gfp_mask & __GFP_FS) || !mutex_trylock(&uma->shrink_lock))
		return SHRINK_STOP;
	list_lru_walk_one(&uma->lru, sc->nid, sc->memcg, uma_shrink_take, &walk,
			  &walk.left);
	list_for_each_entry_safe(bo, next, &walk.bos, lru) {
		list_del_init(&bo->lru);
		uma_shrink_forget(uma, bo);
		freed += uma_shrink_purge(uma, bo);
		/* To the tail: others are tried first. */
		if (READ_ONCE(bo->shmem.madv) > 0)
			uma_shrink_add_locked(uma, bo);
	}
	mutex_unlock(&uma->shrink_lock);
	sc->nr_scanned = walk.pages;
	return freed ?: SHRINK_STOP;
}

static void uma_shrink_fini(struct drm_device *drm, void *data)
{
	struct uma_device *uma = data;

	shrinker_free(uma->shrinker);
	list_lru_destroy(&uma->lru);
}

int uma_shrink_init(struct uma_device *uma)
{
	int ret;

	ret = drmm_mutex_init(&uma->drm, &uma->shrink_lock);
	if (ret)
		return ret;
	uma->shrinker = shrinker_alloc(SHRINKER_NUMA_AWARE | SHRINKER_MEMCG_AWARE, "uma:%s",
				       dev_name(uma->drm.dev));
	if (!uma->shrinker)
		return -ENOMEM;
	ret = list_lru_init_memcg(&uma->lru, uma->shrinker);
	if (ret) {
		shrinker_free(uma->shrinker);
		return ret;
	}
	uma->shrinker->count_objects = uma_shrink_count;
	uma->shrinker->scan_objects = uma_shrink_scan;
	uma->shrinker->seeks = 0;
	uma->shrinker->private_data = uma;
	shrinker_register(uma->shrinker);
	return drmm_add_action_or_reset(&uma->drm, uma_shrink_fini, uma);
}

static int uma_bo_advise(struct uma_device *uma, struct uma_bo *bo, u32 advice)
{
	struct drm_gem_object *obj = &bo->shmem.base;
	int ret;

	if (bo->user || drm_gem_is_imported(obj))
		return -EPERM;
	ret = dma_resv_lock_interruptible(obj->resv, NULL);
	if (ret)
		return ret;
	/* Serialises with uma_gem_export(). */
	scoped_guard(mutex, &uma->gems_lock) {
		/* Unbinding takes user memory and imports away, which then look like others. */
		if (READ_ONCE(uma->removed))
			ret = -ENODEV;
		else if (bo->shared)
			ret = -EBUSY;
		else if (!uma_bo_purged(bo))
			WRITE_ONCE(bo->shmem.madv, advice == DRM_UMA_MADV_DONTNEED);
	}
	if (!ret && !uma_bo_purged(bo)) {
		if (bo->shmem.madv) {
			scoped_guard(mutex, &uma->shrink_lock)
				uma_shrink_add_locked(uma, bo);
		} else {
			uma_shrink_remove(bo);
		}
		ret = 1;
	}
	dma_resv_unlock(obj->resv);
	return ret;
}

/* DRM_IOCTL_UMA_BO_MADVISE */
int uma_ioctl_bo_madvise(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_uma_bo_madvise *args = data;
	struct uma_bo *bo __free(uma_bo_put) = NULL;
	int ret;

	if (args->retained || args->pad || args->advice > DRM_UMA_MADV_DONTNEED)
		return -EINVAL;
	bo = uma_bo_find(file, args->handle);
	if (!bo)
		return -ENOENT;
	ret = uma_bo_advise(to_uma_device(drm), bo, args->advice);
	if (ret < 0)
		return ret;
	args->retained = ret;
	return 0;
}
