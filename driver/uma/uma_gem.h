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
 * struct uma_user_pages - pinned user memory
 */
struct uma_user_pages {
	/** @uma: device */
	struct uma_device *uma;
	/** @owner: user whose RLIMIT_MEMLOCK is charged, NULL with CAP_IPC_LOCK */
	struct user_struct *owner;
	/** @mm: address space that the memory is accounted to as pinned */
	struct mm_struct *mm;
	/** @pages: pinned pages */
	struct page **pages;
	/** @count: number of pages */
	unsigned long count;
	/** @readonly: the device may only read it */
	bool readonly;
	/** @dir: direction of the DMA mapping */
	enum dma_data_direction dir;
	/** @mapped: @sgt is mapped for the device */
	bool mapped;
	/** @sgt: scatterlist of @pages */
	struct sg_table sgt;
};

struct uma_user_pages *uma_user_pin(struct uma_device *uma, u64 addr, u64 size, bool readonly);
int uma_user_map(struct uma_user_pages *user);
void uma_user_unpin(struct uma_user_pages *user);

/**
 * struct uma_bo - a buffer
 *
 * &drm_gem_shmem_object.madv is 0, 1 if the buffer is purgeable, or -1 once it has been purged. It
 * becomes 1 under the dma_resv lock and &uma_device.gems_lock.
 */
struct uma_bo {
	/** @shmem: GEM object; only its base is used for user memory */
	struct drm_gem_shmem_object shmem;
	/** @node: in &uma_device.gems */
	struct list_head node;
	/** @label: text or NULL, protected by &uma_device.gems_lock */
	char *label;
	/** @imported: dma-buf that an imported buffer has been detached from, or NULL */
	struct dma_buf *imported;
	/** @user: pinned user memory or NULL */
	struct uma_user_pages *user;
	/** @flags: DRM_UMA_BO_*, DRM_UMA_BO_INFO_USER, DRM_UMA_BO_INFO_READONLY */
	u32 flags;
	/** @mappings: number of mappings in address spaces */
	atomic_t mappings;
	/** @lru: in &uma_device.lru while it is purgeable */
	struct list_head lru;
	/** @pins: pin count; increases under the dma_resv lock only */
	atomic_t pins;
	/** @resident: its part of &uma_device.resident; protected by the dma_resv lock */
	size_t resident;
	/** @shared: it has been exported; protected by &uma_device.gems_lock */
	bool shared;
	/** @zapped: being purged: unmapped, or about to be; protected by the dma_resv lock */
	bool zapped;
	/** @awaited: counted in &uma_device.dying; protected by &uma_device.gems_lock */
	bool awaited;
};

/* Has the buffer been purged? The answer may be outdated unless its dma_resv is locked. */
static inline bool uma_bo_purged(const struct uma_bo *bo)
{
	return READ_ONCE(bo->shmem.madv) < 0 || READ_ONCE(bo->zapped);
}

/*
 * Direction of all of a buffer's DMA mappings and syncs. With DMA_BIDIRECTIONAL for memory that the
 * user may only read, a sync for the CPU could revert what its owner has written.
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
