/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_PM_H_
#define _UMA_PM_H_

struct uma_device;

void uma_pm_get(struct uma_device *uma);
void uma_pm_put(struct uma_device *uma);
void uma_pm_restore(struct uma_device *uma);

#endif /* _UMA_PM_H_ */
