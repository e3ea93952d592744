/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_PM_H_
#define _UMA_PM_H_

#include <linux/pm.h>
#include <linux/types.h>

struct uma_device;

extern const struct dev_pm_ops uma_pm_ops;

void uma_pm_init(struct uma_device *uma);
void uma_pm_start(struct uma_device *uma);
void uma_pm_stop(struct uma_device *uma);
int uma_pm_get(struct uma_device *uma);
void uma_pm_get_again(struct uma_device *uma);
void uma_pm_put(struct uma_device *uma);
int uma_pm_restore(struct uma_device *uma);
void uma_pm_before_reset(struct uma_device *uma);
u64 uma_pm_energy_uj(struct uma_device *uma);
void uma_pm_set_clock(struct uma_device *uma, u32 mhz);
void uma_pm_thermal(struct uma_device *uma);

#endif /* _UMA_PM_H_ */
