/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_HWMON_H_
#define _UMA_HWMON_H_

struct uma_device;

int uma_hwmon_init(struct uma_device *uma);
void uma_hwmon_fini(struct uma_device *uma);

#endif /* _UMA_HWMON_H_ */
