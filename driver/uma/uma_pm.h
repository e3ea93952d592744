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

struct thermal_cooling_device;
struct uma_device;
struct uma_engine;

/**
 * struct uma_busy - how busy the engines were of late
 */
struct uma_busy {
	/** @work: takes a sample every second while there are jobs */
	struct delayed_work work;
	/** @lock: protects what follows */
	spinlock_t lock;
	/** @running: samples are being taken */
	bool running;
	/** @time: time of the last sample */
	ktime_t time;
	/** @ns: busy time of all engines then */
	u64 ns;
	/** @percent: share of their time in the second before */
	u32 percent;
};

/**
 * uma_busy_percent - share of the time of all engines that was used
 * @busy_ns: time used, of all engines
 * @elapsed_ns: time
 * @engines: number of engines
 *
 * Return: 0 .. 100, rounded to the nearest.
 */
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
 * enum uma_power_mode - what matters more, speed or power
 * @UMA_POWER_HIGH_PERFORMANCE: always the highest clock
 * @UMA_POWER_BALANCED: as high as the jobs need it
 * @UMA_POWER_LOW: always the lowest clock
 * @UMA_POWER_MODES: number of modes
 */
enum uma_power_mode {
	UMA_POWER_HIGH_PERFORMANCE,
	UMA_POWER_BALANCED,
	UMA_POWER_LOW,
	UMA_POWER_MODES,
};

/**
 * struct uma_devfreq - who decides about the clock
 */
struct uma_devfreq {
	/** @lock: protects @mode, @devfreq and the requests */
	struct mutex lock;
	/** @mode: power mode */
	enum uma_power_mode mode;
	/** @min_mhz: lowest clock */
	u32 min_mhz;
	/** @max_mhz: highest clock */
	u32 max_mhz;
	/** @min: request of @mode for at least this clock */
	struct dev_pm_qos_request min;
	/** @max: request of @mode for at most this clock */
	struct dev_pm_qos_request max;
	/** @profile: the device for devfreq */
	struct devfreq_dev_profile profile;
#if IS_ENABLED(CONFIG_DEVFREQ_GOV_SIMPLE_ONDEMAND)
	/** @ondemand: settings of the governor */
	struct devfreq_simple_ondemand_data ondemand;
#endif
	/** @devfreq: NULL where the kernel has none, or no governor */
	struct devfreq *devfreq;
	/** @cooling: NULL where the kernel has no such thing */
	struct thermal_cooling_device *cooling;
	/** @gone: hears of it when the device leaves its bus */
	struct notifier_block gone;
	/** @since: when the status was asked for last */
	ktime_t since;
	/** @busy: busy time of each engine then */
	u64 busy[UMA_MAX_ENGINES];
};

/**
 * uma_devfreq_step - clock of an operating point
 * @min: lowest clock
 * @max: highest clock
 * @step: number of the point
 * @steps: number of points, at least 2
 *
 * Return: a clock; points are at equal distances from @min to @max.
 */
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
