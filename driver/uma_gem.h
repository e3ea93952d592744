/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_GEM_H_
#define _UMA_GEM_H_

#include <drm/drm_gem_shmem_helper.h>

struct uma_device;
struct uma_user_pages;
struct seq_file;

/**
 * struct uma_bo - a buffer
 */
struct uma_bo {
	/** @shmem: GEM object; of user memory only its base is in use */
	struct drm_gem_shmem_object shmem;
	/** @node: in &uma_device.gems */
	struct list_head node;
	/** @label: text or NULL, protected by &uma_device.gems_lock */
	char *label;
	/** @user: pinned user memory or NULL */
	struct uma_user_pages *user;
	/** @flags: DRM_UMA_BO_*, DRM_UMA_BO_INFO_USER, DRM_UMA_BO_INFO_READONLY */
	u32 flags;
	/** @mappings: mappings in address spaces */
	atomic_t mappings;
};

#define to_uma_bo(obj)	container_of(to_drm_gem_shmem_obj(obj), struct uma_bo, shmem)

struct drm_gem_object *uma_gem_create_object(struct drm_device *drm, size_t size);
struct drm_gem_object *uma_gem_import_sg_table(struct drm_device *drm,
					       struct dma_buf_attachment *attach,
					       struct sg_table *sgt);
int uma_gem_handle_to_fd(struct drm_device *drm, struct drm_file *file, u32 handle, u32 flags,
			 int *fd);
struct uma_bo *uma_bo_find(struct drm_file *file, u32 handle);
void uma_bo_put(struct uma_bo *bo);
struct sg_table *uma_bo_pages(struct uma_bo *bo);
void uma_bo_get_mapping(struct drm_gem_object *obj);
void uma_bo_put_mapping(struct drm_gem_object *obj);
void uma_gem_show(struct uma_device *uma, struct seq_file *m);

int uma_ioctl_bo_create(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_bo_mmap_offset(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_bo_import_user(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_bo_info(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_bo_label(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_bo_sync(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* _UMA_GEM_H_ */
