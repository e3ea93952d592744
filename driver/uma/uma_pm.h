/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_PM_H_
#define _UMA_PM_H_

#include <linux/devfreq.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pm.h>
#include <linux/pm_qos.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "../uma_regs.h"

struct uma_device;
struct uma_engine;

/* Recent load of the engines */
struct uma_busy {
	struct delayed_work work;	/* takes a sample each second while there are jobs */
	spinlock_t lock;		/* protects what follows */
	bool running;			/* work is queued */
	ktime_t time;			/* when the last sample was taken */
	u64 ns;				/* busy time of all engines at time */
	u32 percent;			/* load in the second before time */
};

/* Load in percent, rounded to nearest; @busy_ns is the sum of all engines. */
static inline u32 uma_busy_percent(u64 busy_ns, u64 elapsed_ns, u32 engines)
{
	u64 all = elapsed_ns * engines;

	if (!all)
		return 0;
	return min_t(u64, div64_u64(busy_ns * 100 + all / 2, all), 100);
}

void uma_busy_init(struct uma_device *uma);
void uma_busy_kick(struct uma_device *uma);
void uma_busy_stop(struct uma_device *uma);
u64 uma_engine_busy_ns(struct uma_engine *engine);
u64 uma_busy_ns(struct uma_device *uma);
u32 uma_busy_now(struct uma_device *uma);

/**
 * enum uma_power_mode - power modes
 * @UMA_POWER_HIGH_PERFORMANCE: always the highest clock
 * @UMA_POWER_BALANCED: the clock follows the load
 * @UMA_POWER_LOW: always the lowest clock
 * @UMA_POWER_MODES: number of modes
 */
enum uma_power_mode {
	UMA_POWER_HIGH_PERFORMANCE,
	UMA_POWER_BALANCED,
	UMA_POWER_LOW,
	UMA_POWER_MODES,
};

/* Control of the clock */
struct uma_devfreq {
	struct mutex lock;			/* protects mode, devfreq and the requests */
	enum uma_power_mode mode;		/* power mode */
	u32 min_mhz;				/* lowest clock */
	u32 max_mhz;				/* highest clock */
	struct dev_pm_qos_request min;		/* request of mode for a minimum clock */
	struct dev_pm_qos_request max;		/* request of mode for a maximum clock */
	struct devfreq_dev_profile profile;	/* devfreq profile */
#if IS_ENABLED(CONFIG_DEVFREQ_GOV_SIMPLE_ONDEMAND)
	/* tunables of the governor */
	struct devfreq_simple_ondemand_data ondemand;
#endif
	struct devfreq *devfreq;		/* NULL without devfreq or its governor */
	struct thermal_cooling_device *cooling;	/* NULL without a cooling device */
	struct notifier_block gone;		/* notified when the device leaves its bus */
	ktime_t since;				/* when the status was last queried */
	u64 busy[UMA_MAX_ENGINES];		/* busy time of each engine at since */
};

/* Clock of operating point @step of @steps, which are equidistant from @min to @max. */
static inline u32 uma_devfreq_step(u32 min, u32 max, u32 step, u32 steps)
{
	return min + (u64)(max - min) * step / (steps - 1);
}

extern const char *const uma_power_modes[UMA_POWER_MODES];

int uma_devfreq_init(struct uma_device *uma);
void uma_devfreq_fini(struct uma_device *uma);
void uma_devfreq_suspend(struct uma_device *uma);
void uma_devfreq_resume(struct uma_device *uma);
int uma_devfreq_set_mode(struct uma_device *uma, enum uma_power_mode mode);

extern const struct dev_pm_ops uma_pm_ops;

void uma_pm_init(struct uma_device *uma);
void uma_pm_start(struct uma_device *uma);
void uma_pm_stop(struct uma_device *uma);
int uma_pm_get(struct uma_device *uma);
void uma_pm_get_again(struct uma_device *uma);
void uma_pm_put(struct uma_device *uma);
int uma_pm_restore(struct uma_device *uma);
u64 uma_pm_energy_uj(struct uma_device *uma);
void uma_pm_set_clock(struct uma_device *uma, u32 mhz);
void uma_pm_thermal(struct uma_device *uma);

int uma_hwmon_init(struct uma_device *uma);
void uma_hwmon_fini(struct uma_device *uma);

#endif /* _UMA_PM_H_ */
