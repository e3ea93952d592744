// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unbinding: the memory that a device can reach is freed at once if the device has confirmed that
 * it stopped, or held back until it does.
 */
#include <linux/device/bus.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/platform_device.h>
#include <linux/pm_domain.h>
#include <linux/pm_runtime.h>
#include <linux/shrinker.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include <kunit/visibility.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_gem.h"
#include "uma_job.h"
#include "uma_vm.h"

/* Devices that did not stop when the driver was unbound, &uma_device.wild. */
static LIST_HEAD(uma_wild);
static DEFINE_MUTEX(uma_wild_lock);

/* Free what the device cannot reach any more. */
static void uma_release_memory(struct uma_device *uma)
{
	/* Objects that are being created or mapped are in the lists after that. */
	uma_dying_wait(uma);
	uma_vms_release(uma);
	uma_gems_release(uma);
}

/**
 * uma_stop - stop the device for good and end its jobs
 * @uma: device that ioctls cannot enter any more, or that is shut down
 */
void uma_stop(struct uma_device *uma)
{
	bool quiet;

	uma_reset_stop(uma);
	/* A device that is stopping ignores commands, which looks as if it had completed them. */
	scoped_guard(mutex, &uma->inval_lock) {
		quiet = uma_hw_stop_confirmed(uma);
		guard(mutex)(&uma->hw_lock);
		uma->quiet |= quiet;
		uma->removed = true;
	}
	if (!uma->quiet) {
		uma->warned_held = true;
		drm_warn(&uma->drm, "device does not stop: memory that it may reach is held back\n");
	}
	uma_reset_abort(uma);
}

/**
 * uma_let_go - free what the device cannot reach any more
 * @uma: device, after uma_stop()
 *
 * If it did not stop, all that it may reach is held back until a driver that binds to it has
 * stopped it, or it is deleted. The module cannot be unloaded before: its memory is part of that.
 */
void uma_let_go(struct uma_device *uma)
{
	uma_release_memory(uma);
	if (uma->quiet)
		return;

	drm_dev_get(&uma->drm);
	__module_get(THIS_MODULE);
	guard(mutex)(&uma_wild_lock);
	list_add(&uma->wild, &uma_wild);
}

/* Free what was held back for a device, which has stopped now. */
void uma_release_wild(struct device *dev)
{
	struct uma_device *uma, *next;
	LIST_HEAD(tame);

	scoped_guard(mutex, &uma_wild_lock)
		list_for_each_entry_safe(uma, next, &uma_wild, wild)
			if (uma->drm.dev == dev)
				list_move(&uma->wild, &tame);
	list_for_each_entry_safe(uma, next, &tame, wild) {
		list_del_init(&uma->wild);
		scoped_guard(mutex, &uma->hw_lock)
			uma->quiet = true;
		uma_release_memory(uma);
		uma_free_rings(uma);
		drm_dev_put(&uma->drm);
		module_put(THIS_MODULE);
	}
}

/*
 * Late in system suspend runtime PM is disabled, and pm_runtime_get_sync() fails for a device that
 * is suspended. It also fails for one that never had runtime PM, which is no reason not to access
 * the device, and succeeds for one that only system suspend has put to sleep.
 */
static bool uma_power_get(struct device *dev)
{
	bool asleep = pm_runtime_get_sync(dev) < 0;

#ifdef CONFIG_PM
	asleep &= pm_runtime_enabled(dev) || dev->power.last_status != RPM_INVALID;
#endif
	if (!asleep && !dev->power.is_suspended)
		return true;
	pm_runtime_put_noidle(dev);
	return false;
}

/**
 * uma_stop_deleted - last attempt to stop a device
 * @uma: device that has been deleted, so that no driver can bind to it any more
 *
 * The mapping of its registers and its power domain went with the driver, so both are set up
 * again. Registers may not be read without power: a device that is deleted while the system is
 * suspended is not accessed.
 *
 * Return: true if the device has confirmed that it stopped, or is gone.
 */
bool uma_stop_deleted(struct uma_device *uma)
{
	struct device *dev = uma->drm.dev, *parent = dev->parent;
	bool stopped = false;
	struct regmap *regs;
	void *group;

	if (dev->power.is_suspended || (parent && !uma_power_get(parent)))
		return false;
	if (dev_pm_domain_attach(dev, PD_FLAG_ATTACH_POWER_ON))
		goto out_parent;
	group = devres_open_group(dev, NULL, GFP_KERNEL);
	if (!group)
		goto out_domain;
	regs = uma_find_regs(to_platform_device(dev));
	if (!IS_ERR(regs)) {
		uma->regs = regs;
		stopped = uma_hw_stop_confirmed(uma);
	}
	devres_release_group(dev, group);
out_domain:
	dev_pm_domain_detach(dev, true);
out_parent:
	if (parent)
		pm_runtime_put(parent);
	return stopped;
}
EXPORT_SYMBOL_IF_KUNIT(uma_stop_deleted);

static int uma_bus_notify(struct notifier_block *nb, unsigned long action, void *data)
{
	struct uma_device *uma, *wild = NULL;
	struct device *dev = data;

	if (action != BUS_NOTIFY_REMOVED_DEVICE)
		return NOTIFY_DONE;
	scoped_guard(mutex, &uma_wild_lock)
		list_for_each_entry(uma, &uma_wild, wild)
			if (uma->drm.dev == dev)
				wild = uma;
	/* It stays in the list: otherwise only a probe of this device removes it. */
	if (!wild)
		return NOTIFY_DONE;
	if (uma_stop_deleted(wild))
		uma_release_wild(dev);
	else
		drm_warn(&wild->drm, "deleted, but not stopped: its memory is lost until reboot\n");
	return NOTIFY_DONE;
}

/* Before an IOMMU driver detaches the device: after that nothing could be unmapped for it. */
struct notifier_block uma_bus_notifier = {
	.notifier_call = uma_bus_notify,
	.priority = 1,
};

/*
 * On module unload, for devices that did not stop when it unbound them; one that did not stop
 * earlier holds a module reference. Returns the number of devices that will never be released.
 */
unsigned int uma_leak_wild(void)
{
	struct uma_device *uma;
	unsigned int count = 0;

	list_for_each_entry(uma, &uma_wild, wild) {
		drm_warn(&uma->drm, "memory that the device may still use is lost until reboot\n");
		/* It would call into the module. */
		shrinker_free(uma->shrinker);
		/* There are no queues: they hold a module reference. */
		uma_sched_fini(uma);
		count++;
	}
	return count;
}
