// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * DMA mappings of buffers: pinning, importing, and unmapping when the driver is unbound, even if
 * somebody still has a reference to the buffer.
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

#include "uma_device.h"
#include "uma_gem.h"

/* Unmap a buffer from the device. The CPU's mappings stay. The caller has taken its attachment. */
void uma_bo_unmap(struct uma_bo *bo, struct dma_buf_attachment *attach)
{
	struct drm_gem_object *obj = &bo->shmem.base;

	dma_resv_lock(obj->resv, NULL);
	if (bo->user)
		uma_user_unpin(bo->user);
	bo->user = NULL;
	if (attach) {
		dma_buf_unmap_attachment(attach, bo->shmem.sgt, uma_bo_dir(bo));
	} else if (bo->shmem.sgt) {
		dma_unmap_sgtable(obj->dev->dev, bo->shmem.sgt, uma_bo_dir(bo), 0);
		sg_free_table(bo->shmem.sgt);
		kfree(bo->shmem.sgt);
	}
	bo->shmem.sgt = NULL;
	dma_resv_unlock(obj->resv);
	if (!attach)
		return;
	/*
	 * An exporter may keep the memory mapped for as long as there is an attachment. The
	 * reference to the dma-buf is kept: its dma_resv is the buffer's.
	 */
	bo->imported = attach->dmabuf;
	dma_buf_detach(bo->imported, attach);
}

/* An export reads the attachment of an imported buffer under this lock, which imports hold. */
static struct dma_buf_attachment *uma_bo_take_attachment(struct drm_gem_object *obj)
{
	guard(mutex)(&obj->dev->object_name_lock);
	return xchg(&obj->import_attach, NULL);
}

/* Unbinding: unmap the buffers that the device cannot reach any more, all if it is quiet. */
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
			uma_bo_unmap(bo, uma_bo_take_attachment(&bo->shmem.base));
		cond_resched();
		mutex_lock(&uma->gems_lock);
	}
	mutex_unlock(&uma->gems_lock);
	uma_bo_put(last);
	uma_dying_wait(uma);
}

/*
 * Populate a buffer, one page at a time and without a lock: that may take long, and has to end
 * when the caller is killed, which drm_gem_shmem_get_pages() does not. That function then finds all
 * pages in the page cache. Other signals do not end it, as the restarted ioctl would begin again.
 */
static int uma_bo_fill(struct uma_bo *bo)
{
	struct drm_gem_object *obj = &bo->shmem.base;
	struct uma_device *uma = to_uma_device(obj->dev);
	pgoff_t page = 0;

	if (READ_ONCE(bo->shmem.pages))
		return 0;
	/* As the helper does: pages must not be swapped out while others are allocated. */
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
 * Undo a uma_bo_pin() that failed. A partly populated buffer is neither accounted nor purgeable, so
 * its pages are freed, unless the device is gone, and all buffers with it, or somebody else is
 * populating it. An exported buffer may have contents.
 */
static void uma_bo_unfill(struct uma_bo *bo, int error)
{
	struct drm_gem_object *obj = &bo->shmem.base;
	/* After a signal that did not kill the ioctl is restarted. */
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
	struct uma_device *uma = to_uma_device(obj->dev);
	struct sg_table *sgt;
	int ret;

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
	/* An imported buffer has no file and is populated. */
	ret = obj->filp ? uma_bo_fill(bo) : 0;
	if (!ret && !uma_dying_begin(uma))
		ret = -ENODEV;
	if (ret)
		goto err;
	/* It locks the buffer. If the driver is unbound meanwhile, uma_gems_release() unmaps it. */
	sgt = drm_gem_shmem_get_pages_sgt(&bo->shmem);
	uma_dying_done(uma, true);
	if (!IS_ERR(sgt)) {
		/* It stays accounted for as long as it is pinned. */
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
	/* shmem returns it when memory would be overcommitted. */
	return ERR_PTR(ret == -ENOSPC ? -ENOMEM : ret);
}

/**
 * uma_bo_pin - populate a buffer and keep it from being purged until uma_bo_unpin()
 * @bo: buffer
 *
 * The pages do not move until the buffer is freed or purged. The device may be unplugged as soon as
 * this returns, and the scatterlist freed: use it only between uma_enter() and drm_dev_exit(). Not
 * to be called there: it waits for the lock of the buffer.
 *
 * Return: mapped scatterlist; -EFAULT the buffer has been purged; -ENODEV; -ENOMEM; -EINTR. After
 * an error it is not pinned.
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

void uma_bo_unpin(struct uma_bo *bo)
{
	atomic_dec(&bo->pins);
}

static bool uma_dma_buf_writable(const struct dma_buf *buf)
{
	return buf->file->f_mode & FMODE_WRITE;
}

/* The gem_prime_import_sg_table callback. */
struct drm_gem_object *uma_gem_import_sg_table(struct drm_device *drm,
					       struct dma_buf_attachment *attach,
					       struct sg_table *sgt)
{
	struct drm_gem_object *obj;
	struct scatterlist *sg;
	struct uma_bo *bo;
	u64 size = 0;
	int i;

	/* Page tables map whole pages, and all of the buffer. */
	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (!PAGE_ALIGNED(sg_dma_address(sg)) || !PAGE_ALIGNED(sg_dma_len(sg)))
			return ERR_PTR(-EINVAL);
		size += sg_dma_len(sg);
		/* There may be as many segments as pages. */
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
 * As drm_gem_prime_import(), but mapped DMA_TO_DEVICE. One of our own buffers is imported as well:
 * its other handles may be writable.
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
 * uma_gem_prime_import - import a dma-buf
 * @drm: device
 * @buf: dma-buf
 *
 * If it was exported without write access, the device may only read it.
 *
 * Attaching and mapping may sleep for any time in the exporter, so that must not happen between
 * drm_dev_enter() and drm_dev_exit(): any unplug would wait.
 *
 * Return: object; -ENODEV; another error.
 */
struct drm_gem_object *uma_gem_prime_import(struct drm_device *drm, struct dma_buf *buf)
{
	struct uma_device *uma = to_uma_device(drm);
	struct drm_gem_object *obj;

	if (!uma_dying_begin(uma))
		return ERR_PTR(-ENODEV);
	/* If the driver is unbound meanwhile, uma_gems_release() waits and finds the buffer. */
	obj = uma_dma_buf_writable(buf) ? drm_gem_prime_import(drm, buf) :
		uma_gem_import_readonly(drm, buf);
	uma_dying_done(uma, true);
	return obj;
}
EXPORT_SYMBOL_IF_KUNIT(uma_gem_prime_import);
