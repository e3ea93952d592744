/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_COUNTERS_H_
#define _UMA_COUNTERS_H_

#include <linux/types.h>

struct drm_device;
struct drm_file;
struct uma_engine;

void uma_engine_count(struct uma_engine *engine, int error, u64 ns);

int uma_ioctl_counters(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* _UMA_COUNTERS_H_ */
