// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unified-memory accelerators: the module, the ioctls, open and close.
 */
#include <linux/compat.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait_bit.h>

#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>

#include "compat.h"
#include "uma_counters.h"
#include "uma_device.h"
#include "uma_drv.h"
#include "uma_gem.h"
#include "uma_queue.h"
#include "uma_shrink.h"
#include "uma_submit.h"
#include "uma_vm.h"

/*
 * Things that outlive an open file and end with a device: the module has to
 * stay until the last is through.
 */
struct workqueue_struct *uma_wq;
static atomic_t uma_devices = ATOMIC_INIT(0);

/**
 * uma_devices_get - there is one more device
 */
void uma_devices_get(void)
{
	atomic_inc(&uma_devices);
}

/**
 * uma_devices_put - a device has been released
 */
void uma_devices_put(void)
{
	if (atomic_dec_and_test(&uma_devices))
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

/*
 * What needs the device fails once the device is lost. Cleaning up and asking
 * what happened go on working until it is unplugged as well, which the core
 * looks after.
 */
#define UMA_IOCTL_DEVICE(func)						\
static int func##_entry(struct drm_device *drm, void *data,		\
			struct drm_file *file)				\
{									\
	int idx, ret = -ENODEV;						\
									\
	if (!drm_dev_enter(drm, &idx))					\
		return ret;						\
	if (!READ_ONCE(to_uma_device(drm)->lost))			\
		ret = func(drm, data, file);				\
	drm_dev_exit(idx);						\
	return ret;							\
}

UMA_IOCTL_DEVICE(uma_ioctl_query)
UMA_IOCTL_DEVICE(uma_ioctl_bo_create)
UMA_IOCTL_DEVICE(uma_ioctl_bo_mmap_offset)
UMA_IOCTL_DEVICE(uma_ioctl_bo_import_user)
UMA_IOCTL_DEVICE(uma_ioctl_bo_info)
UMA_IOCTL_DEVICE(uma_ioctl_bo_label)
UMA_IOCTL_DEVICE(uma_ioctl_bo_sync)
UMA_IOCTL_DEVICE(uma_ioctl_vm_create)
UMA_IOCTL_DEVICE(uma_ioctl_vm_bind)
UMA_IOCTL_DEVICE(uma_ioctl_queue_create)
UMA_IOCTL_DEVICE(uma_ioctl_submit)
UMA_IOCTL_DEVICE(uma_ioctl_timestamp)
UMA_IOCTL_DEVICE(uma_ioctl_bo_madvise)

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

/*
 * The core is going to write all of it anyway, so a byte of each page may well be
 * written now. That costs less than to walk the page table, as every submit would.
 */
static bool uma_writeable(char __user *to, size_t size)
{
	size_t i;
	char c;

	for (i = 0; i < size; i = min(size - 1, i + PAGE_SIZE)) {
		if (get_user(c, to + i) || put_user(c, to + i))
			return false;
		if (i == size - 1)
			break;
	}
	return true;
}

/*
 * What a call has made is there before the core copies its answer out, and would
 * be left behind if that failed: nobody would know its number. So see first that
 * it can be written to. Somebody may still unmap it meanwhile, and then has what
 * was made until the file is closed.
 */
static long uma_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	unsigned int nr = DRM_IOCTL_NR(cmd);

	if (nr >= DRM_COMMAND_BASE && nr < DRM_COMMAND_END && (_IOC_DIR(cmd) & _IOC_READ) &&
	    !uma_writeable((char __user *)arg, _IOC_SIZE(cmd)))
		return -EFAULT;
	return drm_ioctl(file, cmd, arg);
}

#ifdef CONFIG_COMPAT
/* There is nothing to translate in what is ours; the core's goes its own way. */
static long uma_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	if (DRM_IOCTL_NR(cmd) >= DRM_COMMAND_BASE && DRM_IOCTL_NR(cmd) < DRM_COMMAND_END)
		return uma_ioctl(file, cmd, (unsigned long)compat_ptr(arg));
	return drm_compat_ioctl(file, cmd, arg);
}
#else
#define uma_compat_ioctl NULL
#endif

static const struct file_operations uma_fops = {
	.owner = THIS_MODULE,
	.open = accel_open,
	.release = drm_release,
	.unlocked_ioctl = uma_ioctl,
	.compat_ioctl = uma_compat_ioctl,
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
 */
const struct drm_driver uma_drm_driver = {
	.driver_features = DRIVER_COMPUTE_ACCEL | DRIVER_GEM | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.open = uma_open,
	.postclose = uma_postclose,
	.gem_create_object = uma_gem_create_object,
	.gem_prime_import_sg_table = uma_gem_import_sg_table,
	.prime_handle_to_fd = uma_gem_handle_to_fd,
	.show_fdinfo = uma_show_fdinfo,
	.fops = &uma_fops,
	.ioctls = uma_ioctls,
	.num_ioctls = ARRAY_SIZE(uma_ioctls),
	.name = "uma",
	.desc = "Unified-memory accelerator",
	.major = 1,
	.minor = 1,
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
	ret = platform_driver_register(&uma_platform_driver);
	if (ret)
		goto err_wq;
	return 0;

err_wq:
	destroy_workqueue(uma_wq);
err_cache:
	uma_bo_cache_fini();
	return ret;
}
module_init(uma_init);

static void __exit uma_exit(void)
{
	platform_driver_unregister(&uma_platform_driver);
	wait_var_event(&uma_devices, !atomic_read(&uma_devices));
	destroy_workqueue(uma_wq);
	uma_bo_cache_fini();
	/* Fences are freed after a grace period, but by the core's function. */
}
module_exit(uma_exit);

MODULE_DESCRIPTION("DRM-accel driver for unified-memory accelerators");
MODULE_AUTHOR("The uma authors");
MODULE_LICENSE("Dual MIT/GPL");
/* The clock follows the load by it, where it is a module. */
MODULE_SOFTDEP("pre: governor_simpleondemand");
UMA_IMPORT_NS(DMA_BUF);
