// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The clock: devfreq sets a limit by the load of the engines, within what the power mode, user
 * space and the thermal framework request. Below that limit the device throttles itself.
 */
#include <linux/devfreq_cooling.h>
#include <linux/pm_opp.h>
#include <linux/units.h>

#include <drm/drm_print.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_pm.h"

#define UMA_OPP_COUNT		6
#define UMA_DEVFREQ_POLL_MS	100

const char *const uma_power_modes[UMA_POWER_MODES] = {
	[UMA_POWER_HIGH_PERFORMANCE] = "high_performance",
	[UMA_POWER_BALANCED] = "balanced",
	[UMA_POWER_LOW] = "low_power",
};

static int uma_devfreq_target(struct device *dev, unsigned long *freq, u32 flags)
{
	struct uma_device *uma = dev_get_drvdata(dev);
	struct dev_pm_opp *opp;

	opp = devfreq_recommended_opp(dev, freq, flags);
	if (IS_ERR(opp))
		return PTR_ERR(opp);
	dev_pm_opp_put(opp);
	/* The register works without power. */
	uma_pm_set_clock(uma, *freq / HZ_PER_MHZ);
	return 0;
}

/* The engines share the clock, so the busiest one counts. */
static int uma_devfreq_status(struct device *dev, struct devfreq_dev_status *status)
{
	struct uma_device *uma = dev_get_drvdata(dev);
	struct uma_devfreq *df = &uma->devfreq;
	ktime_t now = ktime_get();
	struct uma_engine *engine;
	u64 busy = 0, total;

	uma_for_each_engine(uma, engine) {
		u64 ns = uma_engine_busy_ns(engine);

		busy = max(busy, ns - df->busy[engine->index]);
		df->busy[engine->index] = ns;
	}
	total = ktime_us_delta(now, df->since);
	df->since = now;
	status->total_time = total;
	status->busy_time = min(div_u64(busy, NSEC_PER_USEC), total);
	status->current_frequency = (unsigned long)READ_ONCE(uma->clock_cap) * HZ_PER_MHZ;
	return 0;
}

int uma_devfreq_set_mode(struct uma_device *uma, enum uma_power_mode mode)
{
	struct uma_devfreq *df = &uma->devfreq;
	s32 min = PM_QOS_MIN_FREQUENCY_DEFAULT_VALUE, max = PM_QOS_MAX_FREQUENCY_DEFAULT_VALUE;
	int ret = 0;

	if (mode == UMA_POWER_HIGH_PERFORMANCE)
		min = df->max_mhz * KHZ_PER_MHZ;
	else if (mode == UMA_POWER_LOW)
		max = df->min_mhz * KHZ_PER_MHZ;

	guard(mutex)(&df->lock);
	if (df->devfreq) {
		ret = dev_pm_qos_update_request(&df->max, max);
		if (ret >= 0)
			ret = dev_pm_qos_update_request(&df->min, min);
	} else {
		uma_pm_set_clock(uma, mode == UMA_POWER_LOW ? df->min_mhz : df->max_mhz);
	}
	if (ret >= 0)
		WRITE_ONCE(df->mode, mode);
	return min(ret, 0);
}

/* The engines lose power. */
void uma_devfreq_suspend(struct uma_device *uma)
{
	struct uma_devfreq *df = &uma->devfreq;

	guard(mutex)(&df->lock);
	if (df->devfreq)
		devfreq_suspend_device(df->devfreq);
}

/* The engines get power. */
void uma_devfreq_resume(struct uma_device *uma)
{
	struct uma_devfreq *df = &uma->devfreq;

	guard(mutex)(&df->lock);
	if (df->devfreq)
		devfreq_resume_device(df->devfreq);
}

static int uma_devfreq_opps(struct uma_device *uma)
{
	struct uma_devfreq *df = &uma->devfreq;
	u32 i, mhz, last = 0;
	int ret;

	for (i = 0; i < UMA_OPP_COUNT; i++) {
		mhz = uma_devfreq_step(df->min_mhz, df->max_mhz, i, UMA_OPP_COUNT);
		if (mhz == last)
			continue;
		ret = dev_pm_opp_add(uma->drm.dev, mhz * HZ_PER_MHZ, 0);
		if (ret)
			return ret;
		last = mhz;
	}
	return 0;
}

/* Let the thermal framework limit the clock, if this kernel supports it. */
static void uma_devfreq_cool(struct uma_devfreq *df)
{
#ifdef UMA_HAVE_COOLING
	struct thermal_cooling_device *cooling = devfreq_cooling_register(df->devfreq);

	if (!IS_ERR(cooling))
		df->cooling = cooling;
#endif
}

static int uma_devfreq_add(struct uma_device *uma)
{
	struct uma_devfreq *df = &uma->devfreq;
	struct device *dev = uma->drm.dev;
	struct devfreq *devfreq;
	void *data = NULL;
	int ret;

	ret = uma_devfreq_opps(uma);
	if (ret)
		goto err_opp;
	ret = dev_pm_qos_add_request(dev, &df->min, DEV_PM_QOS_MIN_FREQUENCY,
				     PM_QOS_MIN_FREQUENCY_DEFAULT_VALUE);
	if (ret < 0)
		goto err_opp;
	ret = dev_pm_qos_add_request(dev, &df->max, DEV_PM_QOS_MAX_FREQUENCY,
				     PM_QOS_MAX_FREQUENCY_DEFAULT_VALUE);
	if (ret < 0)
		goto err_min;

	df->profile.timer = DEVFREQ_TIMER_DELAYED;
	df->profile.polling_ms = UMA_DEVFREQ_POLL_MS;
	df->profile.initial_freq = df->max_mhz * HZ_PER_MHZ;
	df->profile.target = uma_devfreq_target;
	df->profile.get_dev_status = uma_devfreq_status;
#if IS_ENABLED(CONFIG_DEVFREQ_GOV_SIMPLE_ONDEMAND)
	df->ondemand.upthreshold = 80;
	df->ondemand.downdifferential = 30;
	data = &df->ondemand;
#endif
	devfreq = devfreq_add_device(dev, &df->profile, "simple_ondemand", data);
	if (IS_ERR(devfreq)) {
		ret = PTR_ERR(devfreq);
		goto err_max;
	}
	df->devfreq = devfreq;
	/* The engines are not powered yet. */
	devfreq_suspend_device(devfreq);
	uma_devfreq_cool(df);
	return 0;

err_max:
	dev_pm_qos_remove_request(&df->max);
err_min:
	dev_pm_qos_remove_request(&df->min);
err_opp:
	dev_pm_opp_remove_all_dynamic(dev);
	return ret;
}

static void uma_devfreq_remove(struct uma_device *uma)
{
	struct uma_devfreq *df = &uma->devfreq;
	struct devfreq *devfreq;

	scoped_guard(mutex, &df->lock) {
		devfreq = df->devfreq;
		df->devfreq = NULL;
	}
	if (!devfreq)
		return;
	if (df->cooling)
		devfreq_cooling_unregister(df->cooling);
	df->cooling = NULL;
	devfreq_remove_device(devfreq);
	dev_pm_qos_remove_request(&df->max);
	dev_pm_qos_remove_request(&df->min);
	dev_pm_opp_remove_all_dynamic(uma->drm.dev);
}

/*
 * The core removes the PM QoS requests of a device that is deleted before it unbinds the driver,
 * and the cooling device would remove its own a second time: unregister it before.
 */
static int uma_devfreq_gone(struct notifier_block *gone, unsigned long action, void *data)
{
	struct uma_device *uma = container_of(gone, struct uma_device, devfreq.gone);

	if (action == BUS_NOTIFY_DEL_DEVICE && data == uma->drm.dev)
		uma_devfreq_remove(uma);
	return NOTIFY_DONE;
}

/**
 * uma_devfreq_init - let the clock follow the load
 * @uma: device that has been started
 *
 * Without devfreq or its governor only the power mode sets the clock.
 *
 * Return: 0 or an error; -ENXIO the device reports invalid clocks.
 */
int uma_devfreq_init(struct uma_device *uma)
{
	struct uma_devfreq *df = &uma->devfreq;
	int ret;

	mutex_init(&df->lock);
	df->mode = UMA_POWER_BALANCED;
	df->min_mhz = uma_read(uma, UMA_REG_CLOCK_MIN_MHZ);
	df->max_mhz = uma_read(uma, UMA_REG_CLOCK_MAX_MHZ);
	/* In kHz it has to fit into a PM QoS request, in Hz into a long. */
	if (!df->min_mhz || df->min_mhz > df->max_mhz || df->max_mhz > S32_MAX / KHZ_PER_MHZ ||
	    df->max_mhz > ULONG_MAX / HZ_PER_MHZ)
		return dev_err_probe(uma->drm.dev, -ENXIO, "clocks make no sense\n");
	uma_pm_set_clock(uma, df->max_mhz);
	df->since = ktime_get();
	df->gone.notifier_call = uma_devfreq_gone;
	ret = bus_register_notifier(uma->drm.dev->bus, &df->gone);
	if (ret)
		return ret;
	ret = uma_devfreq_add(uma);
	if (ret)
		drm_info(&uma->drm, "clock does not follow the load (%d)\n", ret);
	return 0;
}

void uma_devfreq_fini(struct uma_device *uma)
{
	bus_unregister_notifier(uma->drm.dev->bus, &uma->devfreq.gone);
	uma_devfreq_remove(uma);
}

#define UMA_BUSY_MS	1000

/*
 * Busy time of an engine in nanoseconds. The device reports the time of a job when it is done;
 * until then the time since the doorbell counts, which may be longer. The sum must not decrease.
 */
u64 uma_engine_busy_ns(struct uma_engine *engine)
{
	unsigned long flags;
	u64 ns;

	spin_lock_irqsave(&engine->lock, flags);
	ns = engine->counters.busy_ns + uma_engine_elapsed_ns(engine);
	engine->busy_seen = max(engine->busy_seen, ns);
	ns = engine->busy_seen;
	spin_unlock_irqrestore(&engine->lock, flags);
	return ns;
}

/* Sum of all engines, in nanoseconds. */
u64 uma_busy_ns(struct uma_device *uma)
{
	struct uma_engine *engine;
	u64 ns = 0;

	uma_for_each_engine(uma, engine)
		ns += uma_engine_busy_ns(engine);
	return ns;
}

/* Load of the engines in the last second, in percent. */
u32 uma_busy_now(struct uma_device *uma)
{
	return READ_ONCE(uma->busy.percent);
}

static void uma_busy_work(struct work_struct *work)
{
	struct uma_device *uma = container_of(work, struct uma_device, busy.work.work);
	struct uma_busy *busy = &uma->busy;
	u64 ns = uma_busy_ns(uma);
	ktime_t now = ktime_get();
	unsigned long flags;

	spin_lock_irqsave(&busy->lock, flags);
	WRITE_ONCE(busy->percent,
		   uma_busy_percent(ns - busy->ns, ktime_to_ns(ktime_sub(now, busy->time)),
				    uma->info.engine_count));
	/* Stop after a second without jobs or power. */
	busy->running = ns != busy->ns || READ_ONCE(uma->powered);
	busy->time = now;
	busy->ns = ns;
	if (busy->running)
		queue_delayed_work(system_freezable_wq, &busy->work,
				   msecs_to_jiffies(UMA_BUSY_MS));
	spin_unlock_irqrestore(&busy->lock, flags);
}

/* The engines get power: start to sample. */
void uma_busy_kick(struct uma_device *uma)
{
	struct uma_busy *busy = &uma->busy;
	u64 ns = uma_busy_ns(uma);
	unsigned long flags;

	spin_lock_irqsave(&busy->lock, flags);
	if (!busy->running) {
		busy->running = true;
		busy->time = ktime_get();
		busy->ns = ns;
		queue_delayed_work(system_freezable_wq, &busy->work,
				   msecs_to_jiffies(UMA_BUSY_MS));
	}
	spin_unlock_irqrestore(&busy->lock, flags);
}

/* Called before anything else can use it. */
void uma_busy_init(struct uma_device *uma)
{
	spin_lock_init(&uma->busy.lock);
	INIT_DELAYED_WORK(&uma->busy.work, uma_busy_work);
}

void uma_busy_stop(struct uma_device *uma)
{
	cancel_delayed_work_sync(&uma->busy.work);
}
