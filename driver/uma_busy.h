/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_BUSY_H_
#define _UMA_BUSY_H_

#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

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

#endif /* _UMA_BUSY_H_ */
