/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_GEM_H_
#define _UMA_GEM_H_

#include <linux/cleanup.h>
#include <linux/dma-direction.h>
#include <linux/scatterlist.h>
#include <linux/types.h>

#include <drm/drm_gem_shmem_helper.h>
#include <drm/uma_accel.h>

struct seq_file;
struct uma_device;

/* Pinned user memory */
struct uma_user_pages {
	struct uma_device *uma;
	/* user whose RLIMIT_MEMLOCK is charged, NULL with CAP_IPC_LOCK */
	struct user_struct *owner;
	struct mm_struct *mm;	/* address space that the memory is accounted to as pinned */
	struct page **pages;	/* pinned pages */
	unsigned long count;	/* number of pages */
	bool readonly;		/* the device may only read it */
	/* direction of the DMA mapping */
	enum dma_data_direction dir;
	bool mapped;		/* sgt is mapped for the device */
	struct sg_table sgt;	/* scatterlist of pages */
};

struct uma_user_pages *uma_user_pin(struct uma_device *uma, u64 addr, u64 size, bool readonly);
int uma_user_map(struct uma_user_pages *user);
void uma_user_unpin(struct uma_user_pages *user);

/*
 * A buffer.
 *
 * &drm_gem_shmem_object.madv is 0, 1 if the buffer is purgeable, or -1 once it has been purged. It
 * becomes 1 under the dma_resv lock and &uma_device.gems_lock.
 */
struct uma_bo {
	/* GEM object; only its base is used for user memory */
	struct drm_gem_shmem_object shmem;
	struct list_head node;	/* in &uma_device.gems */
	char *label;		/* text or NULL, protected by &uma_device.gems_lock */
	/* dma-buf that an imported buffer has been detached from, or NULL */
	struct dma_buf *imported;
	/* pinned user memory or NULL */
	struct uma_user_pages *user;
	u32 flags;		/* DRM_UMA_BO_*, DRM_UMA_BO_INFO_USER, DRM_UMA_BO_INFO_READONLY */
	atomic_t mappings;	/* number of mappings in address spaces */
	struct list_head lru;	/* in &uma_device.lru while it is purgeable */
	atomic_t pins;		/* pin count; increases under the dma_resv lock only */
	/* its part of &uma_device.resident; protected by the dma_resv lock */
	size_t resident;
	bool shared;		/* it has been exported; protected by &uma_device.gems_lock */
	/* being purged: unmapped, or about to be; protected by the dma_resv lock */
	bool zapped;
	/* counted in &uma_device.dying; protected by &uma_device.gems_lock */
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
DEFINE_FREE(uma_bo_put, struct uma_bo *, uma_bo_put(_T))
struct sg_table *uma_bo_pin(struct uma_bo *bo);
void uma_bo_unpin(struct uma_bo *bo);
void uma_gem_publish(struct uma_bo *bo);
void uma_bo_count(struct uma_bo *bo);
void uma_bo_unmap(struct uma_bo *bo, struct dma_buf_attachment *attach);
void uma_gems_release(struct uma_device *uma);
int uma_gem_show(struct seq_file *m, void *unused);

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
