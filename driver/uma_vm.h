/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_VM_H_
#define _UMA_VM_H_

#include <linux/kref.h>
#include <linux/mutex.h>

#include "uma_map.h"
#include "uma_pt.h"

struct drm_device;
struct drm_file;
struct seq_file;
struct uma_client;
struct uma_device;

/**
 * struct uma_vm - an address space
 */
struct uma_vm {
	/** @ref: the file's and the queues' references */
	struct kref ref;
	/** @uma: device */
	struct uma_device *uma;
	/** @node: in &uma_device.vms */
	struct list_head node;
	/** @lock: protects mappings and page table */
	struct mutex lock;
	/** @maps: mappings */
	struct uma_map_tree maps;
	/** @pt: page table */
	struct uma_pt pt;
	/** @shrink: in the shrinker's list of those whose lock it has */
	struct list_head shrink;
	/** @dead: nothing can be bound any more */
	bool dead;
	/** @queues: queues that use it, protected by &uma_client.lock */
	u32 queues;
	/** @pid: who made it, for debugging */
	pid_t pid;
};

struct uma_vm *uma_vm_find(struct uma_client *client, u32 id);
struct uma_vm *uma_vm_get(struct uma_vm *vm);
void uma_vm_put(struct uma_vm *vm);
void uma_vms_close(struct uma_client *client);
void uma_vms_lost(struct uma_device *uma);
u64 uma_vms_blocks(struct uma_device *uma);
void uma_vms_show(struct uma_device *uma, struct seq_file *m);

int uma_ioctl_vm_create(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_vm_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_vm_bind(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* _UMA_VM_H_ */
