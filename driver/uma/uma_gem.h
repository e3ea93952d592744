/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_GEM_H_
#define _UMA_GEM_H_

#include <linux/dma-direction.h>
#include <linux/scatterlist.h>
#include <linux/types.h>

#include <drm/drm_gem_shmem_helper.h>
#include <drm/uma_accel.h>

struct drm_device;
struct drm_file;
struct drm_gem_object;
struct mm_struct;
struct page;
struct seq_file;
struct uma_device;
struct user_struct;

/**
 * struct uma_user_pages - user memory that the device uses in place
 */
struct uma_user_pages {
	/** @uma: device */
	struct uma_device *uma;
	/** @owner: who is charged, NULL with CAP_IPC_LOCK */
	struct user_struct *owner;
	/** @mm: whose memory it is, of which /proc tells how much is pinned */
	struct mm_struct *mm;
	/** @pages: pinned pages */
	struct page **pages;
	/** @count: number of pages */
	unsigned long count;
	/** @readonly: the device only reads */
	bool readonly;
	/** @dir: who writes */
	enum dma_data_direction dir;
	/** @mapped: the device can reach it */
	bool mapped;
	/** @sgt: its pages, with their addresses for the device once they are mapped */
	struct sg_table sgt;
};

struct uma_user_pages *uma_user_pin(struct uma_device *uma, u64 addr, u64 size, bool readonly);
int uma_user_map(struct uma_user_pages *user);
void uma_user_unpin(struct uma_user_pages *user);

/**
 * struct uma_bo - a buffer
 *
 * &drm_gem_shmem_object.madv is 0, 1 if it may be purged, -1 once it has been. It
 * becomes 1 under the dma_resv lock and &uma_device.gems_lock.
 */
struct uma_bo {
	/** @shmem: GEM object; of user memory only its base is in use */
	struct drm_gem_shmem_object shmem;
	/** @node: in &uma_device.gems */
	struct list_head node;
	/** @label: text or NULL, protected by &uma_device.gems_lock */
	char *label;
	/** @imported: dma-buf that it was imported from, once it is no longer attached, or NULL */
	struct dma_buf *imported;
	/** @user: pinned user memory or NULL */
	struct uma_user_pages *user;
	/** @flags: DRM_UMA_BO_*, DRM_UMA_BO_INFO_USER, DRM_UMA_BO_INFO_READONLY */
	u32 flags;
	/** @mappings: mappings in address spaces, which the object lists under its dma_resv lock */
	atomic_t mappings;
	/** @lru: in &uma_device.lru while it may be purged */
	struct list_head lru;
	/** @pins: reasons to leave the memory where it is; grows under the dma_resv lock only */
	atomic_t pins;
	/** @resident: what it counts for in &uma_device.resident; protected by the dma_resv lock */
	size_t resident;
	/** @shared: it has been exported, for good; protected by &uma_device.gems_lock */
	bool shared;
	/** @zapped: the device shall not find it any more; protected by the dma_resv lock */
	bool zapped;
	/** @awaited: counts in &uma_device.dying; protected by &uma_device.gems_lock */
	bool awaited;
};

/**
 * uma_bo_purged - have the contents gone?
 * @bo: buffer
 *
 * Return: true if they have; false may be too old unless its dma_resv is locked.
 */
static inline bool uma_bo_purged(const struct uma_bo *bo)
{
	return READ_ONCE(bo->shmem.madv) < 0 || READ_ONCE(bo->zapped);
}

/**
 * uma_bo_dir - who writes to a buffer
 * @bo: buffer
 *
 * It is mapped for the device so, and synced and unmapped so: who may only read memory could
 * take back by a sync what its owner has written to it.
 *
 * Return: direction for the DMA API.
 */
static inline enum dma_data_direction uma_bo_dir(const struct uma_bo *bo)
{
	return bo->flags & DRM_UMA_BO_INFO_READONLY ? DMA_TO_DEVICE : DMA_BIDIRECTIONAL;
}

#define to_uma_bo(obj)	container_of(to_drm_gem_shmem_obj(obj), struct uma_bo, shmem)

struct drm_gem_object *uma_gem_create_object(struct drm_device *drm, size_t size);
struct drm_gem_object *uma_gem_prime_import(struct drm_device *drm, struct dma_buf *buf);
struct drm_gem_object *uma_gem_import_sg_table(struct drm_device *drm,
					       struct dma_buf_attachment *attach,
					       struct sg_table *sgt);
struct uma_bo *uma_bo_find(struct drm_file *file, u32 handle);
void uma_bo_put(struct uma_bo *bo);
struct sg_table *uma_bo_pin(struct uma_bo *bo);
void uma_bo_unpin(struct uma_bo *bo);
void uma_gem_publish(struct uma_bo *bo);
void uma_bo_count(struct uma_bo *bo);
void uma_bo_unmap(struct uma_bo *bo);
void uma_gems_release(struct uma_device *uma);
void uma_gem_show(struct uma_device *uma, struct seq_file *m);

int uma_ioctl_bo_create(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_bo_mmap_offset(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_bo_import_user(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_bo_info(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_bo_label(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_bo_sync(struct drm_device *drm, void *data, struct drm_file *file);

int uma_mount_init(struct uma_device *uma);
void uma_mount_place(struct uma_device *uma, struct uma_bo *bo);

int uma_shrink_init(struct uma_device *uma);
void uma_shrink_remove(struct uma_bo *bo);

struct uma_bo *uma_bo_alloc(struct uma_device *uma);
int uma_bo_cache_init(void);
void uma_bo_cache_fini(void);

int uma_ioctl_bo_madvise(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* _UMA_GEM_H_ */
