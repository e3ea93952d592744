/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_SHRINK_H_
#define _UMA_SHRINK_H_

struct drm_device;
struct drm_file;
struct drm_gem_object;
struct uma_bo;
struct uma_device;

int uma_shrink_init(struct uma_device *uma);
void uma_shrink_remove(struct uma_bo *bo);

struct uma_bo *uma_bo_alloc(struct uma_device *uma);
int uma_bo_cache_init(void);
void uma_bo_cache_fini(void);

int uma_ioctl_bo_madvise(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* _UMA_SHRINK_H_ */
