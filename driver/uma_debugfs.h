/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_DEBUGFS_H_
#define _UMA_DEBUGFS_H_

struct uma_device;

void uma_debugfs_init(struct uma_device *uma);

#endif /* _UMA_DEBUGFS_H_ */
