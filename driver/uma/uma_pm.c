// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Power management: the engines are powered while there are jobs, and a little longer.
 *
 * A job holds a runtime PM reference from its submission, where waiting for the device to resume is
 * allowed, until it is done; so fences never depend on a resume. Without power the device has no
 * rings, no roots and no TLB entries, so there is nothing to invalidate, and &uma_device.slots is
 * empty. All of that changes under &uma_device.hw_lock.
 */
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/pm_runtime.h>
#include <linux/suspend.h>
#include <linux/sysfs.h>

#include <kunit/visibility.h>

#include "uma_device.h"
#include "uma_job.h"
#include "uma_pm.h"
#include "uma_show.h"
#include "uma_trace.h"

/* Autosuspend delay. */
#define UMA_AUTOSUSPEND_MS	100
/* How long system suspend waits for running jobs to end or to be preempted. */
#define UMA_SLEEP_DRAIN_MS	5000

static void uma_pm_trace(struct uma_device *uma, const char *state)
{
	trace_uma_power(uma, state, uma_read(uma, UMA_REG_CLOCK_MHZ));
}

/* Switch the engines on, and set up what they lose without power. */
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

/* No engine may have a job. */
static int uma_power_off(struct uma_device *uma)
{
	int ret;

	lockdep_assert_held(&uma->hw_lock);

	uma_write(uma, UMA_REG_PWR_CTRL, 0);
	ret = uma_poll(uma, UMA_REG_PWR_STATUS, UMA_PWR_ON, 0, uma->power_ms);
	/* The device keeps the roots until it is off. */
	if (!ret)
		uma_slots_init(&uma->slots, uma->as_count);
	return ret;
}

/*
 * Reset a device that does not change its power state; it is lost if that fails. Until then no job
 * is pushed. Runtime PM gets no error, as it would refuse to resume the device from then on.
 */
static void uma_pm_failed(struct uma_device *uma)
{
	lockdep_assert_held(&uma->hw_lock);

	uma->resetting = true;
	uma_reset_request(uma);
}

/* Write the power registers after probe or a reset. Returns 0, -ETIMEDOUT or -ENODEV. */
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
 * uma_pm_energy_uj - energy since probe
 * @uma: device
 *
 * The device's counter may restart when it is reset, loses power in system sleep, or was used by
 * another kernel; or not, if the reset fails or some power stays on. A restart is detected by a
 * lower value, so the counter has to be read before and after each of these.
 *
 * Return: microjoules.
 */
u64 uma_pm_energy_uj(struct uma_device *uma)
{
	unsigned long flags;
	u64 energy;

	/* Read under the lock, so that values are processed in order. */
	spin_lock_irqsave(&uma->pm_lock, flags);
	energy = uma_read64(uma, UMA_REG_ENERGY_UJ_LO);
	/* All ones: the read failed. */
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

/* Limit the clock. */
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

/* Update the throttling state. Callable from interrupts. */
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

/* Wake up processes that poll the files. */
static void uma_pm_thermal_work(struct work_struct *work)
{
	struct uma_device *uma = container_of(work, struct uma_device, thermal_work);

	sysfs_notify(&uma->drm.dev->kobj, NULL, "throttled");
	sysfs_notify(&uma->drm.dev->kobj, NULL, "throttle_count");
}

/* Resume the engines, or return an error. Sleeps: not for anything that a fence depends on. */
int uma_pm_get(struct uma_device *uma)
{
	return pm_runtime_resume_and_get(uma->drm.dev);
}

/* Take a further reference. */
void uma_pm_get_again(struct uma_device *uma)
{
	pm_runtime_get_noresume(uma->drm.dev);
}

/* Drop a reference, with an autosuspend after the last. Callable from interrupts. */
void uma_pm_put(struct uma_device *uma)
{
	pm_runtime_mark_last_busy(uma->drm.dev);
	pm_runtime_put_autosuspend(uma->drm.dev);
}

static int uma_pm_runtime_suspend(struct device *dev)
{
	struct uma_device *uma = dev_get_drvdata(dev);

	scoped_guard(mutex, &uma->hw_lock) {
		if (uma->asleep) {
			uma->powered_later = false;
		} else if (uma->powered) {
			uma->powered = false;
			if (!uma->lost && uma_power_off(uma))
				uma_pm_failed(uma);
			uma_pm_trace(uma, "off");
		}
	}
	uma_devfreq_suspend(uma);
	return 0;
}

static int uma_pm_runtime_resume(struct device *dev)
{
	struct uma_device *uma = dev_get_drvdata(dev);

	scoped_guard(mutex, &uma->hw_lock) {
		if (uma->asleep) {
			uma->powered_later = true;
		} else if (!uma->powered) {
			uma->powered = true;
			if (!uma->lost && uma_power_on(uma))
				uma_pm_failed(uma);
			uma_pm_trace(uma, "on");
		}
	}
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
	/* Unless suspend was aborted before the engines were stopped. */
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
 * User space is frozen. Running jobs are preempted and continued after resume; where engines
 * cannot be preempted they run until they are done or time out. Queued jobs stay queued. Jobs that
 * have not stopped when the time is over are lost: it is not known what they have written, so they
 * cannot be restarted.
 */
static int uma_pm_suspend(struct device *dev)
{
	struct uma_device *uma = dev_get_drvdata(dev);
	ktime_t end = ktime_add_ms(ktime_get(), UMA_SLEEP_DRAIN_MS);
	struct uma_engine *engine;

	scoped_guard(mutex, &uma->hw_lock) {
		uma->asleep = true;
		uma->powered_later = uma->powered;
	}
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
	/* Wait for recovery that is in progress. */
	flush_workqueue(uma->reset_wq);

	scoped_guard(mutex, &uma->hw_lock) {
		if (uma->powered && !uma->lost && uma_power_off(uma))
			uma_pm_failed(uma);
		uma->powered = false;
		uma->stopped = true;
	}
	flush_workqueue(uma->reset_wq);

	guard(mutex)(&uma->hw_lock);
	if (!uma->lost)
		uma_write(uma, UMA_REG_IRQ_ENABLE, 0);
	uma_pm_energy_uj(uma);
	uma_pm_trace(uma, "suspend");
	return 0;
}

static int uma_pm_resume(struct device *dev)
{
	uma_pm_wake(dev_get_drvdata(dev));
	return 0;
}

/*
 * The kernel that loaded the hibernation image may have left the device running, in memory that is
 * ours now. Stop it before interrupts are enabled, even if it was lost. If it does not stop it does
 * not get ready either, which uma_pm_wake() detects.
 */
static int uma_pm_restore_noirq(struct device *dev)
{
	struct uma_device *uma = dev_get_drvdata(dev);

	guard(mutex)(&uma->hw_lock);
	uma_pm_energy_uj(uma);
	/* A lost device that has confirmed this stop cannot access memory any more. */
	uma->quiet |= uma_hw_stop_confirmed(uma) && uma->lost;
	uma_pm_energy_uj(uma);
	return 0;
}

const struct dev_pm_ops uma_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(uma_pm_suspend, uma_pm_resume)
	.restore_noirq = pm_sleep_ptr(uma_pm_restore_noirq),
	RUNTIME_PM_OPS(uma_pm_runtime_suspend, uma_pm_runtime_resume, NULL)
};
EXPORT_SYMBOL_IF_KUNIT(uma_pm_ops);

void uma_pm_init(struct uma_device *uma)
{
	spin_lock_init(&uma->pm_lock);
	INIT_WORK(&uma->thermal_work, uma_pm_thermal_work);
}

/* Enable runtime PM, for a device that has been started and is not powered. */
void uma_pm_start(struct uma_device *uma)
{
	struct device *dev = uma->drm.dev;

	pm_runtime_set_autosuspend_delay(dev, UMA_AUTOSUSPEND_MS);
	pm_runtime_use_autosuspend(dev);
	pm_runtime_enable(dev);
	/* Without runtime PM in the kernel the engines are always powered. */
	if (!pm_runtime_enabled(dev))
		uma_pm_runtime_resume(dev);
}

/* Undo uma_pm_start(). Holders of references may still drop them later. */
void uma_pm_stop(struct uma_device *uma)
{
	struct device *dev = uma->drm.dev;

	pm_runtime_disable(dev);
	pm_runtime_dont_use_autosuspend(dev);
	uma_busy_stop(uma);
	cancel_work_sync(&uma->thermal_work);
}
