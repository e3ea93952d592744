// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Buffers and the device's DMA: what is mapped for it, and unmapping that when the
 * driver lets go of the device, whoever still has the buffer.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_prime.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_gem.h"

/**
 * uma_bo_mapped - note whether a buffer is mapped for DMA of the device
 * @bo: buffer
 * @mapped: it is
 */
void uma_bo_mapped(struct uma_bo *bo, bool mapped)
{
	struct uma_device *uma = to_uma_device(bo->shmem.base.dev);

	if (xchg(&bo->mapped, mapped) == mapped)
		return;
	if (mapped)
		uma_dma_get(uma);
	else
		uma_dma_put(uma);
}

/*
 * An exporter may leave the memory mapped for as long as there is an attachment. The
 * dma-buf itself stays: it has the dma_resv that locks the buffer.
 */
static void uma_bo_detach(struct uma_bo *bo)
{
	struct drm_gem_object *obj = &bo->shmem.base;
	struct dma_buf_attachment *attach = obj->import_attach;

	bo->imported = attach->dmabuf;
	dma_buf_unmap_attachment_unlocked(attach, bo->shmem.sgt, DMA_BIDIRECTIONAL);
	dma_buf_detach(bo->imported, attach);
	bo->shmem.sgt = NULL;
	obj->import_attach = NULL;
}

/**
 * uma_bo_unmap - the device does not use a buffer any more
 * @bo: buffer; what the CPU has of it stays as it is
 */
void uma_bo_unmap(struct uma_bo *bo)
{
	struct drm_gem_object *obj = &bo->shmem.base;

	if (drm_gem_is_imported(obj))
		uma_bo_detach(bo);
	dma_resv_lock(obj->resv, NULL);
	if (bo->user)
		uma_user_unpin(bo->user);
	bo->user = NULL;
	if (bo->shmem.sgt) {
		dma_unmap_sgtable(obj->dev->dev, bo->shmem.sgt, DMA_BIDIRECTIONAL, 0);
		sg_free_table(bo->shmem.sgt);
		kfree(bo->shmem.sgt);
	}
	bo->shmem.sgt = NULL;
	uma_bo_mapped(bo, false);
	dma_resv_unlock(obj->resv);
}

/**
 * uma_gems_release - the device has gone: unmap what it cannot reach
 * @uma: device; if it is quiet that is everything
 */
void uma_gems_release(struct uma_device *uma)
{
	struct uma_bo *bo, *last = NULL;

	mutex_lock(&uma->gems_lock);
	list_for_each_entry(bo, &uma->gems, node) {
		if ((!uma->quiet && atomic_read(&bo->mappings)) ||
		    !kref_get_unless_zero(&bo->shmem.base.refcount))
			continue;
		mutex_unlock(&uma->gems_lock);
		uma_bo_put(last);
		last = bo;
		uma_bo_unmap(bo);
		mutex_lock(&uma->gems_lock);
	}
	mutex_unlock(&uma->gems_lock);
	uma_bo_put(last);
}

/**
 * uma_bo_pin - the memory of a buffer
 * @bo: buffer
 *
 * Memory that was there once stays where it is until the buffer goes or is
 * purged. It is not purged before uma_bo_unpin().
 *
 * Return: mapped scatterlist; -EFAULT the buffer has been purged; -ENOMEM;
 * -EINTR. After an error it is not pinned.
 */
struct sg_table *uma_bo_pin(struct uma_bo *bo)
{
	struct drm_gem_object *obj = &bo->shmem.base;
	struct sg_table *sgt;
	int ret;

	if (bo->user) {
		atomic_inc(&bo->pins);
		return &bo->user->sgt;
	}
	ret = dma_resv_lock_interruptible(obj->resv, NULL);
	if (ret)
		return ERR_PTR(ret);
	if (uma_bo_purged(bo))
		ret = -EFAULT;
	else
		atomic_inc(&bo->pins);
	dma_resv_unlock(obj->resv);
	if (ret)
		return ERR_PTR(ret);
	sgt = drm_gem_shmem_get_pages_sgt(&bo->shmem);
	if (IS_ERR(sgt))
		uma_bo_unpin(bo);
	else
		uma_bo_mapped(bo, true);
	return sgt;
}

/**
 * uma_bo_unpin - undo uma_bo_pin()
 * @bo: buffer
 */
void uma_bo_unpin(struct uma_bo *bo)
{
	atomic_dec(&bo->pins);
}

/**
 * uma_gem_import_sg_table - make a buffer of an imported dma-buf
 * @drm: device
 * @attach: attachment
 * @sgt: its memory, mapped for the device
 *
 * Return: object or an error.
 */
struct drm_gem_object *uma_gem_import_sg_table(struct drm_device *drm,
					       struct dma_buf_attachment *attach,
					       struct sg_table *sgt)
{
	struct drm_gem_object *obj;
	struct scatterlist *sg;
	u64 size = 0;
	int i;

	/* The page table is filled in whole pages, for all of the buffer. */
	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (!PAGE_ALIGNED(sg_dma_address(sg)) || !PAGE_ALIGNED(sg_dma_len(sg)))
			return ERR_PTR(-EINVAL);
		size += sg_dma_len(sg);
	}
	if (!attach->dmabuf->size || size < PAGE_ALIGN(attach->dmabuf->size))
		return ERR_PTR(-EINVAL);
	obj = drm_gem_shmem_prime_import_sg_table(drm, attach, sgt);
	if (!IS_ERR(obj)) {
		uma_bo_mapped(to_uma_bo(obj), true);
		uma_gem_publish(to_uma_bo(obj));
	}
	return obj;
}

/**
 * uma_gem_prime_import - import a buffer
 * @drm: device
 * @buf: dma-buf
 *
 * Return: object; -ENODEV there is no device to map it for; another error.
 */
struct drm_gem_object *uma_gem_prime_import(struct drm_device *drm, struct dma_buf *buf)
{
	struct drm_gem_object *obj;
	int idx;

	if (!drm_dev_enter(drm, &idx))
		return ERR_PTR(-ENODEV);
	obj = drm_gem_prime_import(drm, buf);
	drm_dev_exit(idx);
	return obj;
}
