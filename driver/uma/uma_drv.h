/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_DRV_H_
#define _UMA_DRV_H_

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/xarray.h>

#include <drm/uma_task.h>

#include "uma_job_sfq.h"

struct drm_device;
struct drm_file;
struct drm_printer;
struct uma_device;

/* Engine time of a client, which its jobs may outlive */
struct uma_usage {
	struct kref ref;
	/* number of queues, including destroyed ones that have not been released yet */
	atomic_t queues;
	/* jobs of all its queues; grows under &uma_client.submit_lock */
	atomic_t unfinished;
	atomic64_t ns[UMA_ENGINE_CLASS_COUNT];		/* time on engines, by class */
	atomic64_t cycles[UMA_ENGINE_CLASS_COUNT];	/* clock cycles on engines, by class */
	/* highest value of ns that was reported, as it must not decrease, by class */
	atomic64_t shown[UMA_ENGINE_CLASS_COUNT];
	u32 count;					/* entries of shares */
	/* state in the run-list of each engine; under &uma_device.queues_lock */
	struct uma_share shares[] __counted_by(count);
};

/* An open file */
struct uma_client {
	struct uma_device *uma;
	struct mutex lock;		/* protects ids and the uses of address spaces by queues */
	struct mutex submit_lock;	/* serialises arming and pushing jobs */
	struct xarray vms;		/* &struct uma_vm by id */
	struct xarray queues;		/* &struct uma_queue by id */
	u32 vm_count;			/* entries of vms */
	struct uma_usage *usage;	/* engine time */
};

struct uma_usage *uma_usage_alloc(u32 engines);
struct uma_usage *uma_usage_get(struct uma_usage *usage);
void uma_usage_put(struct uma_usage *usage);

bool uma_enter(struct uma_device *uma, int *idx);
bool uma_gone(struct uma_device *uma);
int uma_ioctl_query(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_timestamp(struct drm_device *drm, void *data, struct drm_file *file);
bool uma_may(int cap);
u32 uma_priorities(void);
bool uma_timeout_exempt(void);
u32 uma_max_timeout_ms(struct uma_device *uma);
int uma_reply(u64 to, u32 *room, const void *from, size_t size);
u64 uma_usage_ns(struct uma_device *uma, struct uma_usage *usage, u32 engine_class);
void uma_show_fdinfo(struct drm_printer *p, struct drm_file *file);

#endif /* _UMA_DRV_H_ */
