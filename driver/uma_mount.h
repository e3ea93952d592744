/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_MOUNT_H_
#define _UMA_MOUNT_H_

struct uma_bo;
struct uma_device;

int uma_mount_init(struct uma_device *uma);
void uma_mount_place(struct uma_device *uma, struct uma_bo *bo);

#endif /* _UMA_MOUNT_H_ */
