/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_DEVFREQ_H_
#define _UMA_DEVFREQ_H_

#include <linux/devfreq.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pm_qos.h>

#include "uma_regs.h"

struct thermal_cooling_device;
struct uma_device;

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

#endif /* _UMA_DEVFREQ_H_ */
