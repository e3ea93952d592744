// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Power: the engines have it while there are jobs, and a little longer.
 *
 * A job holds a reference of runtime PM from its submission, where waiting for
 * the device to come up is allowed, until it is done; so nothing that fences
 * depend on ever waits for power. Without power the device knows no rings, no
 * address spaces and no TLB entries: &uma_device.slots is empty then, so there is
 * nothing to invalidate either. All of that changes under &uma_device.hw_lock.
 */
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/pm_runtime.h>
#include <linux/suspend.h>
#include <linux/sysfs.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include <kunit/visibility.h>

#include "uma_device.h"
#include "uma_job.h"
#include "uma_pm.h"
#include "uma_show.h"
#include "uma_trace.h"

/* How long there may be nothing to do before power is switched off. */
#define UMA_AUTOSUSPEND_MS	100
/* How long a system that goes to sleep waits for jobs to end, or to stop between two tasks. */
#define UMA_SLEEP_DRAIN_MS	5000

static void uma_pm_trace(struct uma_device *uma, const char *state)
{
	trace_uma_power(uma, state, uma_read(uma, UMA_REG_CLOCK_MHZ));
}

/* Give the engines power, and what they forgot without it. */
static int uma_power_on(struct uma_device *uma)
{
	struct uma_engine *engine;
	int ret;

	lockdep_assert_held(&uma->hw_lock);

	uma_write(uma, UMA_REG_PWR_CTRL, UMA_PWR_ON);
	ret = uma_poll(uma, UMA_REG_PWR_STATUS, UMA_PWR_ON, UMA_PWR_ON, uma->power_ms);
	if (ret)
		return ret;
	uma_for_each_engine(uma, engine)
		uma_engine_setup(engine);
	return 0;
}

/* Only without a job on an engine. */
static int uma_power_off(struct uma_device *uma)
{
	int ret;

	lockdep_assert_held(&uma->hw_lock);

	uma_write(uma, UMA_REG_PWR_CTRL, 0);
	ret = uma_poll(uma, UMA_REG_PWR_STATUS, UMA_PWR_ON, 0, uma->power_ms);
	/* Only now it has forgotten the roots. */
	if (!ret)
		uma_slots_init(&uma->slots, uma->as_count);
	return ret;
}

/*
 * A device that does not do as it is told is reset, and lost if that does not
 * help. Jobs are held back until then. Runtime PM is not told: an error would
 * make it give up the device for ever.
 */
static void uma_pm_failed(struct uma_device *uma)
{
	lockdep_assert_held(&uma->hw_lock);

	uma->resetting = true;
	uma_reset_request(uma);
}

/**
 * uma_pm_restore - write the power registers, at first and after a reset
 * @uma: device that is ready, with &uma_device.hw_lock held
 *
 * Return: 0; -ETIMEDOUT; -ENODEV.
 */
int uma_pm_restore(struct uma_device *uma)
{
	unsigned long flags;

	lockdep_assert_held(&uma->hw_lock);

	uma_pm_energy_uj(uma);
	spin_lock_irqsave(&uma->pm_lock, flags);
	if (uma->clock_cap)
		uma_write(uma, UMA_REG_CLOCK_CAP_MHZ, uma->clock_cap);
	spin_unlock_irqrestore(&uma->pm_lock, flags);
	uma_pm_thermal(uma);
	uma_slots_init(&uma->slots, uma->as_count);
	return uma->powered ? uma_power_on(uma) : 0;
}

/**
 * uma_pm_energy_uj - energy since the driver found the device
 * @uma: device
 *
 * The counter of the device begins anew when it is reset, loses its power while the system
 * sleeps, or had another kernel meanwhile; or it does not, as resets fail and some power stays
 * on. Which it was shows when the counter is read before it has passed what it was: so it is
 * read before and after each of these. A read that fails says nothing.
 *
 * Return: microjoules.
 */
u64 uma_pm_energy_uj(struct uma_device *uma)
{
	unsigned long flags;
	u64 energy;

	/* With the lock held: of two who read, the second has the later value. */
	spin_lock_irqsave(&uma->pm_lock, flags);
	energy = uma_read64(uma, UMA_REG_ENERGY_UJ_LO);
	/* All ones: there is no device. */
	if (energy != U64_MAX) {
		if (energy < uma->energy_last)
			uma->energy_base += uma->energy_last;
		uma->energy_last = energy;
	}
	energy = uma->energy_base + uma->energy_last;
	spin_unlock_irqrestore(&uma->pm_lock, flags);
	return energy;
}
EXPORT_SYMBOL_IF_KUNIT(uma_pm_energy_uj);

/**
 * uma_pm_set_clock - limit the clock
 * @uma: device
 * @mhz: the highest that is allowed
 */
void uma_pm_set_clock(struct uma_device *uma, u32 mhz)
{
	unsigned long flags;
	bool changed;

	spin_lock_irqsave(&uma->pm_lock, flags);
	changed = uma->clock_cap != mhz;
	uma->clock_cap = mhz;
	if (changed)
		uma_write(uma, UMA_REG_CLOCK_CAP_MHZ, mhz);
	spin_unlock_irqrestore(&uma->pm_lock, flags);
	if (changed)
		uma_pm_trace(uma, "clock");
}

/**
 * uma_pm_thermal - look whether the device throttles itself
 * @uma: device
 *
 * Callable from interrupts.
 */
void uma_pm_thermal(struct uma_device *uma)
{
	bool now = false, changed = false;
	unsigned long flags;
	u32 status;

	spin_lock_irqsave(&uma->pm_lock, flags);
	if (!uma_read_state(uma, UMA_REG_PWR_STATUS, &status)) {
		now = status & UMA_PWR_THROTTLED;
		changed = now != uma->throttled;
	}
	if (changed) {
		WRITE_ONCE(uma->throttled, now);
		if (now)
			uma->throttle_count++;
	}
	spin_unlock_irqrestore(&uma->pm_lock, flags);
	if (!changed)
		return;
	uma_pm_trace(uma, now ? "throttled" : "cool");
	if (now)
		uma_event_hot(uma);
	queue_work(uma_wq, &uma->thermal_work);
}

/* Whoever polls the file wants to know. */
static void uma_pm_thermal_work(struct work_struct *work)
{
	struct uma_device *uma = container_of(work, struct uma_device, thermal_work);

	sysfs_notify(&uma->drm.dev->kobj, NULL, "throttled");
	sysfs_notify(&uma->drm.dev->kobj, NULL, "throttle_count");
}

/**
 * uma_pm_get - have the engines powered
 * @uma: device
 *
 * Sleeps until they are. Not for anything that a fence depends on.
 *
 * Return: 0 or an error.
 */
int uma_pm_get(struct uma_device *uma)
{
	return pm_runtime_resume_and_get(uma->drm.dev);
}

/**
 * uma_pm_get_again - take one more reference
 * @uma: device that the caller has one of
 */
void uma_pm_get_again(struct uma_device *uma)
{
	pm_runtime_get_noresume(uma->drm.dev);
}

/**
 * uma_pm_put - drop a reference
 * @uma: device
 *
 * Callable from interrupts: if it was the last, power goes off some time later.
 */
void uma_pm_put(struct uma_device *uma)
{
	pm_runtime_mark_last_busy(uma->drm.dev);
	pm_runtime_put_autosuspend(uma->drm.dev);
}

static int uma_pm_runtime_suspend(struct device *dev)
{
	struct uma_device *uma = dev_get_drvdata(dev);

	mutex_lock(&uma->hw_lock);
	if (uma->asleep) {
		uma->powered_later = false;
	} else if (uma->powered) {
		uma->powered = false;
		if (!uma->lost && uma_power_off(uma))
			uma_pm_failed(uma);
		uma_pm_trace(uma, "off");
	}
	mutex_unlock(&uma->hw_lock);
	uma_devfreq_suspend(uma);
	return 0;
}

static int uma_pm_runtime_resume(struct device *dev)
{
	struct uma_device *uma = dev_get_drvdata(dev);

	mutex_lock(&uma->hw_lock);
	if (uma->asleep) {
		uma->powered_later = true;
	} else if (!uma->powered) {
		uma->powered = true;
		if (!uma->lost && uma_power_on(uma))
			uma_pm_failed(uma);
		uma_pm_trace(uma, "on");
	}
	mutex_unlock(&uma->hw_lock);
	uma_devfreq_resume(uma);
	uma_busy_kick(uma);
	return 0;
}

static bool uma_pm_drained(struct uma_device *uma)
{
	struct uma_engine *engine;
	bool drained = true;

	uma_for_each_engine(uma, engine) {
		spin_lock_irq(&engine->lock);
		drained &= engine->state <= UMA_ENGINE_HELD;
		spin_unlock_irq(&engine->lock);
	}
	return drained;
}

static void uma_pm_wake(struct uma_device *uma)
{
	mutex_lock(&uma->hw_lock);
	uma->asleep = false;
	/* Not if the engines were not even stopped. */
	if (uma->powered != uma->powered_later || uma->stopped) {
		uma->powered = uma->powered_later;
		uma->stopped = false;
		if (!uma->lost && uma_hw_start(uma))
			uma_pm_failed(uma);
	}
	uma_pm_trace(uma, "resume");
	mutex_unlock(&uma->hw_lock);
	uma_engines_push(uma);
}

/*
 * Nobody submits any more. Jobs on the engines stop between two of their tasks and are
 * continued when the system is awake, or run to their end where engines cannot do that, or
 * into their timeout; those that wait stay where they are. What the engines are not done
 * with when a system cannot be asked to wait any longer is lost: it is not known
 * what it has written, so it cannot run again.
 */
static int uma_pm_suspend(struct device *dev)
{
	struct uma_device *uma = dev_get_drvdata(dev);
	ktime_t end = ktime_add_ms(ktime_get(), UMA_SLEEP_DRAIN_MS);
	struct uma_engine *engine;

	mutex_lock(&uma->hw_lock);
	uma->asleep = true;
	uma->powered_later = uma->powered;
	mutex_unlock(&uma->hw_lock);

	uma_for_each_engine(uma, engine)
		uma_engine_preempt(engine, 0);
	while (!uma_pm_drained(uma)) {
		if (pm_wakeup_pending()) {
			uma_pm_wake(uma);
			return -EBUSY;
		}
		if (ktime_after(ktime_get(), end))
			uma_reset_running(uma);
		usleep_range(1000, 5000);
	}
	/* Whatever recovery is under way ends first. */
	flush_workqueue(uma->reset_wq);

	mutex_lock(&uma->hw_lock);
	if (uma->powered && !uma->lost && uma_power_off(uma))
		uma_pm_failed(uma);
	uma->powered = false;
	uma->stopped = true;
	mutex_unlock(&uma->hw_lock);
	flush_workqueue(uma->reset_wq);

	mutex_lock(&uma->hw_lock);
	if (!uma->lost)
		uma_write(uma, UMA_REG_IRQ_ENABLE, 0);
	uma_pm_energy_uj(uma);
	uma_pm_trace(uma, "suspend");
	mutex_unlock(&uma->hw_lock);
	return 0;
}

static int uma_pm_resume(struct device *dev)
{
	uma_pm_wake(dev_get_drvdata(dev));
	return 0;
}

/*
 * The kernel that read the image had the device before us, and may have left it running, in memory
 * that is ours. It is stopped before there are interrupts again, also one that was lost to us. If
 * that fails it is not ready either, which uma_pm_wake() finds.
 */
static int uma_pm_restore_noirq(struct device *dev)
{
	struct uma_device *uma = dev_get_drvdata(dev);

	mutex_lock(&uma->hw_lock);
	uma_pm_energy_uj(uma);
	/* What it was lost amid has ended with that. */
	uma->quiet |= uma_hw_stop_confirmed(uma) && uma->lost;
	uma_pm_energy_uj(uma);
	mutex_unlock(&uma->hw_lock);
	return 0;
}

const struct dev_pm_ops uma_pm_ops = {
	.suspend = pm_sleep_ptr(uma_pm_suspend),
	.resume = pm_sleep_ptr(uma_pm_resume),
	.freeze = pm_sleep_ptr(uma_pm_suspend),
	.thaw = pm_sleep_ptr(uma_pm_resume),
	.poweroff = pm_sleep_ptr(uma_pm_suspend),
	.restore_noirq = pm_sleep_ptr(uma_pm_restore_noirq),
	.restore = pm_sleep_ptr(uma_pm_resume),
	RUNTIME_PM_OPS(uma_pm_runtime_suspend, uma_pm_runtime_resume, NULL)
};
EXPORT_SYMBOL_IF_KUNIT(uma_pm_ops);

/**
 * uma_pm_init - set up what needs no device
 * @uma: device
 */
void uma_pm_init(struct uma_device *uma)
{
	spin_lock_init(&uma->pm_lock);
	INIT_WORK(&uma->thermal_work, uma_pm_thermal_work);
}

/**
 * uma_pm_start - let runtime PM decide about the power from here on
 * @uma: device that has been started, without power
 */
void uma_pm_start(struct uma_device *uma)
{
	struct device *dev = uma->drm.dev;

	pm_runtime_set_autosuspend_delay(dev, UMA_AUTOSUSPEND_MS);
	pm_runtime_use_autosuspend(dev);
	pm_runtime_enable(dev);
	/* A kernel that has no runtime PM: always on. */
	if (!pm_runtime_enabled(dev))
		uma_pm_runtime_resume(dev);
}

/**
 * uma_pm_stop - undo uma_pm_start()
 * @uma: device; what holds references still may drop them later
 */
void uma_pm_stop(struct uma_device *uma)
{
	struct device *dev = uma->drm.dev;

	pm_runtime_disable(dev);
	pm_runtime_dont_use_autosuspend(dev);
	uma_busy_stop(uma);
	cancel_work_sync(&uma->thermal_work);
}
