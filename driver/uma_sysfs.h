/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_SYSFS_H_
#define _UMA_SYSFS_H_

struct uma_device;

int uma_sysfs_init(struct uma_device *uma);

#endif /* _UMA_SYSFS_H_ */
