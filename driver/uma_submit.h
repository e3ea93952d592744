/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_SUBMIT_H_
#define _UMA_SUBMIT_H_

struct drm_device;
struct drm_file;

int uma_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* _UMA_SUBMIT_H_ */
