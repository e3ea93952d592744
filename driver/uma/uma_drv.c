// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The module, the ioctls, open and close.
 */
#include <linux/capability.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>
#include <linux/wait_bit.h>

#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_drv.h"
#include "uma_gem.h"
#include "uma_job.h"
#include "uma_vm.h"

/* Runs work that outlives open files, and the number of devices: module unload waits for both. */
struct workqueue_struct *uma_wq;
static atomic_t uma_devices = ATOMIC_INIT(0);

void uma_devices_get(void)
{
	atomic_inc(&uma_devices);
}

void uma_devices_put(void)
{
	atomic_dec(&uma_devices);
	smp_mb__after_atomic(); /* pairs with the barrier of wait_var_event() in uma_exit() */
	wake_up_var(&uma_devices);
}

static int uma_open(struct drm_device *drm, struct drm_file *file)
{
	struct uma_client *client;

	client = kzalloc_obj(*client, GFP_KERNEL_ACCOUNT);
	if (!client)
		return -ENOMEM;
	client->usage = uma_usage_alloc(to_uma_device(drm)->info.engine_count);
	if (!client->usage) {
		kfree(client);
		return -ENOMEM;
	}
	client->uma = to_uma_device(drm);
	mutex_init(&client->lock);
	mutex_init(&client->submit_lock);
	xa_init_flags(&client->vms, XA_FLAGS_ALLOC1);
	xa_init_flags(&client->queues, XA_FLAGS_ALLOC1);
	file->driver_priv = client;
	return 0;
}

static void uma_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct uma_client *client = file->driver_priv;

	uma_queues_close(client);
	uma_vms_close(client);
	uma_usage_put(client->usage);
	mutex_destroy(&client->submit_lock);
	mutex_destroy(&client->lock);
	kfree(client);
}

/**
 * uma_enter - drm_dev_enter(), unless the device is lost
 * @uma: device
 * @idx: out: for drm_dev_exit()
 *
 * Unplugging any DRM device waits for drm_dev_exit(). So in between do not access user memory: a
 * userfaultfd or FUSE handler may delay the fault for any time. Nor wait for the lock of a buffer
 * or a list, drop a reference to a buffer, which may be the last one, or create a handle, which
 * waits for imports.
 *
 * Return: false if the device is lost or unplugged.
 */
bool uma_enter(struct uma_device *uma, int *idx)
{
	if (!drm_dev_enter(&uma->drm, idx))
		return false;
	if (!READ_ONCE(uma->lost))
		return true;
	drm_dev_exit(*idx);
	return false;
}

/* Is the device lost or unplugged? It may be as soon as this has returned false. */
bool uma_gone(struct uma_device *uma)
{
	return drm_dev_is_unplugged(&uma->drm) || READ_ONCE(uma->lost);
}

/*
 * Ioctls that need the device fail once it is lost. Those that clean up or query state work until
 * it is unplugged, which the core checks.
 */
#define UMA_IOCTL_DEVICE(func)						\
static int func##_entry(struct drm_device *drm, void *data,		\
			struct drm_file *file)				\
{									\
	int idx, ret;							\
									\
	if (!uma_enter(to_uma_device(drm), &idx))			\
		return -ENODEV;						\
	ret = func(drm, data, file);					\
	drm_dev_exit(idx);						\
	return ret;							\
}

/* For ioctls that access user memory or wait: func() calls uma_enter() where that is needed. */
#define UMA_IOCTL_WAITS(func)					\
static int func##_entry(struct drm_device *drm, void *data,		\
			struct drm_file *file)				\
{									\
	if (READ_ONCE(to_uma_device(drm)->lost))			\
		return -ENODEV;						\
	return func(drm, data, file);					\
}

UMA_IOCTL_WAITS(uma_ioctl_query)
UMA_IOCTL_WAITS(uma_ioctl_bo_create)
UMA_IOCTL_WAITS(uma_ioctl_bo_mmap_offset)
UMA_IOCTL_WAITS(uma_ioctl_bo_import_user)
UMA_IOCTL_WAITS(uma_ioctl_bo_info)
UMA_IOCTL_WAITS(uma_ioctl_bo_label)
UMA_IOCTL_WAITS(uma_ioctl_bo_sync)
UMA_IOCTL_WAITS(uma_ioctl_vm_create)
UMA_IOCTL_WAITS(uma_ioctl_vm_bind)
UMA_IOCTL_WAITS(uma_ioctl_queue_create)
UMA_IOCTL_WAITS(uma_ioctl_submit)
UMA_IOCTL_DEVICE(uma_ioctl_timestamp)
UMA_IOCTL_WAITS(uma_ioctl_bo_madvise)

#define UMA_IOCTL(id, fn) \
	[DRM_UMA_##id] = { \
		.cmd = DRM_IOCTL_UMA_##id, \
		.func = fn, \
		.flags = DRM_RENDER_ALLOW, \
		.name = "UMA_" #id, \
	}

static const struct drm_ioctl_desc uma_ioctls[] = {
	UMA_IOCTL(QUERY, uma_ioctl_query_entry),
	UMA_IOCTL(BO_CREATE, uma_ioctl_bo_create_entry),
	UMA_IOCTL(BO_MMAP_OFFSET, uma_ioctl_bo_mmap_offset_entry),
	UMA_IOCTL(BO_IMPORT_USER, uma_ioctl_bo_import_user_entry),
	UMA_IOCTL(BO_INFO, uma_ioctl_bo_info_entry),
	UMA_IOCTL(BO_LABEL, uma_ioctl_bo_label_entry),
	UMA_IOCTL(BO_SYNC, uma_ioctl_bo_sync_entry),
	UMA_IOCTL(VM_CREATE, uma_ioctl_vm_create_entry),
	UMA_IOCTL(VM_DESTROY, uma_ioctl_vm_destroy),
	UMA_IOCTL(VM_BIND, uma_ioctl_vm_bind_entry),
	UMA_IOCTL(QUEUE_CREATE, uma_ioctl_queue_create_entry),
	UMA_IOCTL(QUEUE_DESTROY, uma_ioctl_queue_destroy),
	UMA_IOCTL(QUEUE_STATE, uma_ioctl_queue_state),
	UMA_IOCTL(SUBMIT, uma_ioctl_submit_entry),
	UMA_IOCTL(TIMESTAMP, uma_ioctl_timestamp_entry),
	UMA_IOCTL(BO_MADVISE, uma_ioctl_bo_madvise_entry),
	UMA_IOCTL(COUNTERS, uma_ioctl_counters),
};

static const struct file_operations uma_fops = {
	.owner = THIS_MODULE,
	.open = accel_open,
	.release = drm_release,
	.unlocked_ioctl = drm_ioctl,
	.compat_ioctl = drm_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
	.fop_flags = FOP_UNSIGNED_OFFSET,
#ifdef CONFIG_PROC_FS
	.show_fdinfo = drm_show_fdinfo,
#endif
};

/*
 * Interface history:
 * - 1.0 first version
 * - 1.1 BO_MADVISE, COUNTERS; buffers of a job, stamps of its tasks; memory nodes of
 *   buffers
 * - 1.2 max_timeout_ms is the caller's: beyond the administrator's timeout only with
 *   CAP_SYS_NICE
 * - 1.3 max_file_jobs; BO_MMAP_OFFSET gets the memory of a buffer
 * - 1.4 jobs are preempted within a task; UMA_ENGINE_PREEMPT only of engines that can do that
 */
const struct drm_driver uma_drm_driver = {
	.driver_features = DRIVER_COMPUTE_ACCEL | DRIVER_GEM | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.open = uma_open,
	.postclose = uma_postclose,
	.gem_create_object = uma_gem_create_object,
	.gem_prime_import = uma_gem_prime_import,
	.gem_prime_import_sg_table = uma_gem_import_sg_table,
	.show_fdinfo = uma_show_fdinfo,
	.fops = &uma_fops,
	.ioctls = uma_ioctls,
	.num_ioctls = ARRAY_SIZE(uma_ioctls),
	.name = "uma",
	.desc = "Unified-memory accelerator",
	.major = 1,
	.minor = 4,
};

static int __init uma_init(void)
{
	int ret;

	ret = uma_bo_cache_init();
	if (ret)
		return ret;
	uma_wq = alloc_workqueue("uma", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!uma_wq) {
		ret = -ENOMEM;
		goto err_cache;
	}
	ret = bus_register_notifier(&platform_bus_type, &uma_bus_notifier);
	if (ret)
		goto err_wq;
	ret = platform_driver_register(&uma_platform_driver);
	if (ret)
		goto err_notifier;
	return 0;

err_notifier:
	bus_unregister_notifier(&platform_bus_type, &uma_bus_notifier);
err_wq:
	destroy_workqueue(uma_wq);
err_cache:
	uma_bo_cache_fini();
	return ret;
}
module_init(uma_init);

static void __exit uma_exit(void)
{
	unsigned int leaked;

	platform_driver_unregister(&uma_platform_driver);
	bus_unregister_notifier(&platform_bus_type, &uma_bus_notifier);
	leaked = uma_leak_wild();
	wait_var_event(&uma_devices, atomic_read(&uma_devices) == leaked);
	destroy_workqueue(uma_wq);
	if (!leaked)
		uma_bo_cache_fini();
	/* Fences are freed after a grace period, but by a function of the core. */
}
module_exit(uma_exit);

MODULE_DESCRIPTION("DRM-accel driver for unified-memory accelerators");
MODULE_AUTHOR("The uma authors");
MODULE_LICENSE("Dual MIT/GPL");
/* The governor of the clock, which may be a module. */
MODULE_SOFTDEP("pre: governor_simpleondemand");
UMA_IMPORT_NS(DMA_BUF);

/* Queries, limits and timestamps. */

/* Does the calling process have a capability? Unlike capable() this creates no audit record. */
bool uma_may(int cap)
{
	return ns_capable_noaudit(&init_user_ns, cap);
}

/* The priorities that the calling process may use, a mask of 1 << &enum drm_uma_priority. */
u32 uma_priorities(void)
{
	u32 mask = BIT(DRM_UMA_PRIORITY_LOW) | BIT(DRM_UMA_PRIORITY_NORMAL);

	if (uma_may(CAP_SYS_NICE))
		mask |= BIT(DRM_UMA_PRIORITY_HIGH) | BIT(DRM_UMA_PRIORITY_REALTIME);
	return mask;
}

/* May the calling process set timeouts above the administrator's? */
bool uma_timeout_exempt(void)
{
	return uma_may(CAP_SYS_NICE);
}

/* The longest timeout that the calling process may set. */
u32 uma_max_timeout_ms(struct uma_device *uma)
{
	return uma_timeout_exempt() ? UMA_MAX_TIMEOUT_MS : READ_ONCE(uma->job_timeout_ms);
}

static void uma_limits(struct uma_device *uma, struct drm_uma_query_limits *limits)
{
	*limits = (struct drm_uma_query_limits) {
		.max_bo_size = uma->max_bo_size,
		.va_start = uma->va.start,
		.va_end = uma->va.end,
		.max_vms = UMA_MAX_VMS,
		.max_queues = UMA_MAX_QUEUES,
		.max_bind_ops = UMA_MAX_BIND_OPS,
		.max_sync_ranges = UMA_MAX_SYNC_RANGES,
		.max_submit_jobs = UMA_MAX_SUBMIT_JOBS,
		.max_job_syncs = UMA_MAX_JOB_SYNCS,
		.max_job_tasks = uma->max_job_tasks,
		.max_label = UMA_MAX_LABEL,
		.max_timeout_ms = uma_max_timeout_ms(uma),
		.default_timeout_ms = READ_ONCE(uma->job_timeout_ms),
		.max_mappings = UMA_MAX_MAPPINGS,
		.priorities = uma_priorities(),
		.max_queued_jobs = UMA_MAX_QUEUED_JOBS,
		.max_job_bos = UMA_MAX_JOB_BOS,
		.max_submit_bos = UMA_MAX_SUBMIT_BOS,
		.max_file_jobs = UMA_MAX_FILE_JOBS,
	};
}

/**
 * uma_reply - copy as much of a struct or array to user memory as there is room for
 * @to: user pointer, or 0 to query the size
 * @room: in: bytes at @to; out: @size
 * @from: data
 * @size: bytes of @from
 *
 * The rest of the room is cleared.
 *
 * Return: 0; -EFAULT; -EINTR the caller is killed.
 */
int uma_reply(u64 to, u32 *room, const void *from, size_t size)
{
	void __user *user = u64_to_user_ptr(to);
	size_t space = *room, piece;
	int ret;

	*room = size;
	if (!to)
		return 0;
	ret = copy_to_user(user, from, min(space, size)) ? -EFAULT : 0;
	for (; space > size && !ret; size += piece) {
		piece = min_t(size_t, space - size, SZ_1M);
		ret = clear_user(user + size, piece) ? -EFAULT : uma_breathe();
	}
	return ret;
}

static int uma_query_reply(struct drm_uma_query *args, const void *data, size_t size)
{
	return uma_reply(args->data, &args->size, data, size);
}

/* DRM_IOCTL_UMA_QUERY. The results do not change, except for timeouts and priorities. */
int uma_ioctl_query(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_uma_query_engine engines[UMA_MAX_ENGINES];
	struct uma_device *uma = to_uma_device(drm);
	struct drm_uma_query_limits limits;
	struct drm_uma_query *args = data;
	struct uma_engine *engine;
	u32 i;

	if (args->pad)
		return -EINVAL;
	if (args->index && args->type != DRM_UMA_QUERY_ENGINE_CAPS)
		return -EINVAL;

	switch (args->type) {
	case DRM_UMA_QUERY_DEVICE:
		return uma_query_reply(args, &uma->info, sizeof(uma->info));
	case DRM_UMA_QUERY_ENGINES:
		uma_for_each_engine(uma, engine)
			engines[engine->index] = engine->info;
		return uma_query_reply(args, engines,
				       uma->info.engine_count * sizeof(*engines));
	case DRM_UMA_QUERY_ENGINE_CAPS:
		if (args->index >= uma->info.engine_count)
			return -EINVAL;
		i = array_index_nospec(args->index, uma->info.engine_count);
		engine = &uma->engines[i];
		return uma_query_reply(args, engine->caps,
				       engine->info.cap_count * sizeof(*engine->caps));
	case DRM_UMA_QUERY_MEMORY:
		return uma_query_reply(args, uma->nodes,
				       uma->info.node_count * sizeof(*uma->nodes));
	case DRM_UMA_QUERY_LIMITS:
		uma_limits(uma, &limits);
		return uma_query_reply(args, &limits, sizeof(limits));
	default:
		return -EINVAL;
	}
}

/* DRM_IOCTL_UMA_TIMESTAMP */
int uma_ioctl_timestamp(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct uma_device *uma = to_uma_device(drm);
	struct drm_uma_timestamp *args = data;
	u64 before, after, device;
	int i;

	if (args->device || args->cpu_ns || args->error_ns || args->pad)
		return -EINVAL;

	/*
	 * The thread may be interrupted between two reads, so the pair with the smallest
	 * difference counts. Interrupts stay on, as the regmap may take a sleeping lock.
	 */
	args->error_ns = U64_MAX;
	for (i = 0; i < 8; i++) {
		before = ktime_get_ns();
		device = uma_read64(uma, UMA_REG_TIMESTAMP_LO);
		after = ktime_get_ns();
		if (after - before >= args->error_ns)
			continue;
		args->error_ns = after - before;
		args->cpu_ns = before + (after - before) / 2;
		args->device = device;
	}
	return 0;
}
