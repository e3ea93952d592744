// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Buffers and the device's DMA: what is mapped for it, and unmapping that when the
 * driver lets go of the device, whoever still has the buffer.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_prime.h>

#include <kunit/visibility.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_gem.h"

/*
 * An exporter may leave the memory mapped for as long as there is an attachment. The
 * dma-buf itself stays: it has the dma_resv that locks the buffer.
 */
static void uma_bo_detach(struct uma_bo *bo)
{
	struct drm_gem_object *obj = &bo->shmem.base;
	struct dma_buf_attachment *attach = obj->import_attach;

	bo->imported = attach->dmabuf;
	dma_buf_unmap_attachment_unlocked(attach, bo->shmem.sgt, uma_bo_dir(bo));
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
		dma_unmap_sgtable(obj->dev->dev, bo->shmem.sgt, uma_bo_dir(bo), 0);
		sg_free_table(bo->shmem.sgt);
		kfree(bo->shmem.sgt);
	}
	bo->shmem.sgt = NULL;
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
		if (!kref_get_unless_zero(&bo->shmem.base.refcount)) {
			bo->awaited = true;
			atomic_inc(&uma->dying);
			continue;
		}
		mutex_unlock(&uma->gems_lock);
		uma_bo_put(last);
		last = bo;
		if (uma->quiet || !atomic_read(&bo->mappings))
			uma_bo_unmap(bo);
		cond_resched();
		mutex_lock(&uma->gems_lock);
	}
	mutex_unlock(&uma->gems_lock);
	uma_bo_put(last);
	uma_dying_wait(uma);
}

/*
 * To allocate a large buffer takes long, longer where others have to be swapped out for it: that is
 * done here, a page at a time and without a lock, so that the helper, which does not look for
 * anything while it is at it, finds all pages in the page cache. Signals that do not kill
 * wait: who gets one now and then would never be done.
 */
static int uma_bo_fill(struct uma_bo *bo)
{
	struct drm_gem_object *obj = &bo->shmem.base;
	struct uma_device *uma = to_uma_device(obj->dev);
	pgoff_t page = 0;

	if (READ_ONCE(bo->shmem.pages))
		return 0;
	/* As the helper does: what has come already is not swapped out for what follows. */
	mapping_set_unevictable(obj->filp->f_mapping);
	while (page < obj->size >> PAGE_SHIFT) {
		struct folio *folio;

		if (uma_breathe())
			return -EINTR;
		if (READ_ONCE(uma->going))
			return -ENODEV;
		folio = shmem_read_folio(obj->filp->f_mapping, page);
		if (IS_ERR(folio))
			return PTR_ERR(folio);
		page = folio_next_index(folio);
		folio_put(folio);
	}
	return 0;
}

/*
 * Undo uma_bo_pin(), which failed. Part of a buffer's memory would neither be counted nor purged,
 * as for us there is none yet, so it is given back, unless the device has gone, and its
 * buffers with it, or somebody else is at it. What was exported may have contents.
 */
static void uma_bo_unfill(struct uma_bo *bo, int error)
{
	struct drm_gem_object *obj = &bo->shmem.base;
	/* Who was interrupted, but not killed, comes again. */
	bool keep = error == -ENODEV || (error == -EINTR && !fatal_signal_pending(current));

	if (!obj->filp) {
		uma_bo_unpin(bo);
		return;
	}
	dma_resv_lock(obj->resv, NULL);
	if (atomic_dec_and_test(&bo->pins) && !keep && !bo->shmem.pages && !READ_ONCE(bo->shared))
		shmem_truncate_range(file_inode(obj->filp), 0, (loff_t)-1);
	uma_bo_count(bo);
	dma_resv_unlock(obj->resv);
}

static struct sg_table *uma_bo_pin_shmem(struct uma_bo *bo)
{
	struct drm_gem_object *obj = &bo->shmem.base;
	struct sg_table *sgt;
	int idx, ret;

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
	/* An imported buffer has no file, and all of its memory. */
	ret = obj->filp ? uma_bo_fill(bo) : 0;
	if (!ret && !drm_dev_enter(obj->dev, &idx))
		ret = -ENODEV;
	if (ret)
		goto err;
	sgt = drm_gem_shmem_get_pages_sgt(&bo->shmem);
	drm_dev_exit(idx);
	if (!IS_ERR(sgt)) {
		/* Once it counts, it does for as long as it is pinned. */
		if (!READ_ONCE(bo->resident)) {
			dma_resv_lock(obj->resv, NULL);
			uma_bo_count(bo);
			dma_resv_unlock(obj->resv);
		}
		return sgt;
	}
	ret = PTR_ERR(sgt);
err:
	uma_bo_unfill(bo, ret);
	/* shmem says this where more must not be promised than there is. */
	return ERR_PTR(ret == -ENOSPC ? -ENOMEM : ret);
}

/**
 * uma_bo_pin - the memory of a buffer
 * @bo: buffer
 *
 * Memory that was there once stays where it is until the buffer goes or is
 * purged. It is not purged before uma_bo_unpin(). The device may go as soon as this
 * returns, and the scatterlist with it: to look at that, enter the device (again).
 *
 * Return: mapped scatterlist; -EFAULT the buffer has been purged; -ENODEV the device has
 * gone; -ENOMEM; -EINTR. After an error it is not pinned.
 */
struct sg_table *uma_bo_pin(struct uma_bo *bo)
{
	struct drm_device *drm = bo->shmem.base.dev;
	struct sg_table *sgt;
	int idx;

	if (!(bo->flags & DRM_UMA_BO_INFO_USER))
		return uma_bo_pin_shmem(bo);
	if (!drm_dev_enter(drm, &idx))
		return ERR_PTR(-ENODEV);
	atomic_inc(&bo->pins);
	sgt = &bo->user->sgt;
	drm_dev_exit(idx);
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

static bool uma_dma_buf_writable(const struct dma_buf *buf)
{
	return buf->file->f_mode & FMODE_WRITE;
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
	struct uma_bo *bo;
	u64 size = 0;
	int i;

	/* The page table is filled in whole pages, for all of the buffer. */
	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (!PAGE_ALIGNED(sg_dma_address(sg)) || !PAGE_ALIGNED(sg_dma_len(sg)))
			return ERR_PTR(-EINVAL);
		size += sg_dma_len(sg);
		/* There may be as many pieces as pages. */
		if (uma_breathe())
			return ERR_PTR(-EINTR);
	}
	if (!attach->dmabuf->size || size < PAGE_ALIGN(attach->dmabuf->size))
		return ERR_PTR(-EINVAL);
	obj = drm_gem_shmem_prime_import_sg_table(drm, attach, sgt);
	if (IS_ERR(obj))
		return obj;
	bo = to_uma_bo(obj);
	if (!uma_dma_buf_writable(attach->dmabuf))
		bo->flags |= DRM_UMA_BO_INFO_READONLY;
	uma_gem_publish(bo);
	return obj;
}

/*
 * As drm_gem_prime_import(), but mapped for reading, and a buffer of our own is an import, too: its
 * other handles may write.
 */
static struct drm_gem_object *uma_gem_import_readonly(struct drm_device *drm, struct dma_buf *buf)
{
	struct dma_buf_attachment *attach = dma_buf_attach(buf, drm->dev);
	struct drm_gem_object *obj;
	struct sg_table *sgt;

	if (IS_ERR(attach))
		return ERR_CAST(attach);
	get_dma_buf(buf);
	sgt = dma_buf_map_attachment_unlocked(attach, DMA_TO_DEVICE);
	if (IS_ERR(sgt)) {
		obj = ERR_CAST(sgt);
		goto err_detach;
	}
	obj = drm->driver->gem_prime_import_sg_table(drm, attach, sgt);
	if (IS_ERR(obj))
		goto err_unmap;
	obj->import_attach = attach;
	obj->resv = buf->resv;
	return obj;

err_unmap:
	dma_buf_unmap_attachment_unlocked(attach, sgt, DMA_TO_DEVICE);
err_detach:
	dma_buf_detach(buf, attach);
	dma_buf_put(buf);
	return obj;
}

/**
 * uma_gem_prime_import - import a buffer
 * @drm: device
 * @buf: dma-buf
 *
 * What was exported without write access is read only for the device, too.
 *
 * An exporter may sleep for as long as it likes before its memory can be attached and mapped. While
 * it does, our device is kept, but others are not: drm_dev_enter() would have every unplug wait.
 *
 * Return: object; -ENODEV there is no device to map it for; another error.
 */
struct drm_gem_object *uma_gem_prime_import(struct drm_device *drm, struct dma_buf *buf)
{
	struct uma_device *uma = to_uma_device(drm);
	struct drm_gem_object *obj;
	int idx;

	if (!drm_dev_enter(drm, &idx))
		return ERR_PTR(-ENODEV);
	atomic_inc(&uma->dying);
	drm_dev_exit(idx);
	/* If the driver wants to let go meanwhile, uma_gems_release() finds what comes of it. */
	obj = uma_dma_buf_writable(buf) ? drm_gem_prime_import(drm, buf) :
		uma_gem_import_readonly(drm, buf);
	uma_dying_done(uma, true);
	return obj;
}
EXPORT_SYMBOL_IF_KUNIT(uma_gem_prime_import);
