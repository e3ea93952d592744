/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_VM_H_
#define _UMA_VM_H_

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/types.h>

#include <drm/drm_gpuvm.h>

#include "../uma_regs.h"

struct drm_file;
struct seq_file;
struct uma_client;
struct uma_pt;
struct uma_va_range;

/* A range that maps part of a buffer */
struct uma_mapping {
	struct drm_gpuva va;	/* range and buffer, to which it holds a reference */
	struct list_head link;	/* in &uma_map_txn.changed or &uma_vm.removed */
	u32 flags;		/* DRM_UMA_BIND_* */
	bool added;		/* by the change in progress */
	bool removed;		/* unlinked, but the device may have it cached */
};

static inline struct uma_mapping *to_uma_mapping(struct drm_gpuva *va)
{
	return container_of(va, struct uma_mapping, va);
}

/*
 * A change of mappings, applied step by step, which can be rolled back.
 *
 * Nobody else may access the mappings until uma_map_commit() or uma_map_rollback().
 */
struct uma_map_txn {
	struct uma_vm *vm;		/* address space */
	struct list_head changed;	/* mappings that were added or removed, &uma_mapping.link */
};

void uma_map_init(struct uma_vm *vm, struct drm_device *drm, struct drm_gem_object *resv,
		  const struct uma_va_range *range, u32 max);
void uma_map_clear(struct uma_vm *vm);
u64 uma_map_bytes(struct uma_vm *vm);

int uma_map_add(struct uma_map_txn *txn, u64 start, u64 size, struct drm_gem_object *obj,
		u64 offset, u32 flags);
int uma_map_remove(struct uma_map_txn *txn, u64 start, u64 size);
void uma_map_commit(struct uma_map_txn *txn, bool confirmed);
void uma_map_rollback(struct uma_map_txn *txn);

/* One table */
struct uma_pt_table {
	__le64 *entries;	/* what the device reads */
	dma_addr_t dma;		/* DMA address of entries */
	/* tables that the entries point to, NULL for the last level */
	struct uma_pt_table **child;
	struct list_head link;	/* in one of the lists of &struct uma_pt */
	u32 used;		/* number of valid entries */
};

/* Allocator of tables */
struct uma_pt_ops {
	/* set entries, zeroed, and dma; 0 or -ENOMEM */
	int (*alloc)(struct uma_pt *pt, struct uma_pt_table *table);
	void (*free)(struct uma_pt *pt, struct uma_pt_table *table);	/* undo alloc */
};

/* Tables that a change may need at most */
struct uma_pt_need {
	u32 dirs;	/* tables above the last level */
	u32 leaves;	/* tables of the last level */
};

/*
 * The page table of an address space.
 *
 * A change is made in steps, so that nothing can fail once the first entry has been written:
 * uma_pt_need_map() and uma_pt_need_unmap() count the tables that all its parts may need,
 * uma_pt_reserve() allocates them, uma_pt_map() and uma_pt_unmap() use them, uma_pt_prune()
 * detaches tables that became empty, and after the caller has invalidated dirty_start ..
 * dirty_end, uma_pt_finish() frees what is left. To abort before the first entry is written, call
 * uma_pt_unreserve(). Callers serialise.
 */
struct uma_pt {
	const struct uma_pt_ops *ops;	/* allocator */
	void *priv;			/* for the allocator */
	struct uma_pt_table *root;	/* first level */
	struct list_head spare_dirs;	/* reserved tables above the last level */
	struct list_head spare_leaves;	/* reserved tables of the last level */
	struct list_head dead;		/* detached tables that the device may have cached */
	u64 dirty_start;		/* first address with a valid entry that was changed */
	/* one past the last; not above dirty_start if none changed */
	u64 dirty_end;
	u32 tables;			/* number of tables, for debugfs */
	u32 blocks;			/* number of blocks, for debugfs */
};

/* A position in the DMA addresses of a scatterlist */
struct uma_sg_pos {
	struct scatterlist *sg;	/* entry */
	unsigned int left;	/* entries left, this one included */
	u64 offset;		/* bytes into sg */
};

int uma_pt_init(struct uma_pt *pt, const struct uma_pt_ops *ops, void *priv);
void uma_pt_fini(struct uma_pt *pt);

int uma_pt_need_map(struct uma_pt *pt, u64 va, u64 size, struct uma_sg_pos pos,
		    struct uma_pt_need *need);
void uma_pt_need_unmap(u64 va, u64 size, struct uma_pt_need *need);
int uma_pt_reserve(struct uma_pt *pt, const struct uma_pt_need *need);
void uma_pt_map(struct uma_pt *pt, u64 va, u64 size, struct uma_sg_pos pos, bool write);
void uma_pt_unmap(struct uma_pt *pt, u64 va, u64 size);
void uma_pt_prune(struct uma_pt *pt);
void uma_pt_unreserve(struct uma_pt *pt);
void uma_pt_finish(struct uma_pt *pt);
u32 uma_pt_walk(const struct uma_pt *pt, u64 va, u64 *entries);

int uma_sg_seek(struct uma_sg_pos *pos, struct sg_table *sgt, u64 offset);

/* A hardware address space */
struct uma_slot_entry {
	const void *owner;	/* whose page table is set; NULL: disabled and invalidated */
	u64 stamp;		/* &uma_slots.clock when it was last taken */
	atomic_t busy;		/* number of jobs on the device that use it */
};

/*
 * The hardware address spaces.
 *
 * There may be more address spaces than slots. An address space gets a slot for its first job and
 * keeps it until it has no job on the device and another one needs the slot. Callers serialise,
 * except for uma_slots_put().
 */
struct uma_slots {
	struct uma_slot_entry slot[UMA_MAX_AS];	/* slots */
	u64 clock;				/* counts uma_slots_get() */
	u32 count;				/* slots that the device has */
};

void uma_slots_init(struct uma_slots *slots, u32 count);
int uma_slots_find(const struct uma_slots *slots, const void *owner);
int uma_slots_choose(const struct uma_slots *slots, const void *owner);
void uma_slots_get(struct uma_slots *slots, unsigned int slot, const void *owner);

static inline bool uma_slots_busy(const struct uma_slots *slots, unsigned int slot)
{
	return atomic_read(&slots->slot[slot].busy);
}

/* A job is no longer on the device. Was it the last of this slot? Callable from interrupts. */
static inline bool uma_slots_put(struct uma_slots *slots, unsigned int slot)
{
	return atomic_dec_and_test(&slots->slot[slot].busy);
}

/* Remove the owner of a slot. */
static inline void uma_slots_drop(struct uma_slots *slots, unsigned int slot)
{
	slots->slot[slot].owner = NULL;
}

/* An address space */
struct uma_vm {
	/* mappings; each holds a reference, and so does ref until it drops to zero */
	struct drm_gpuvm base;
	struct kref ref;	/* references of the file and of queues */
	struct uma_device *uma;
	struct list_head node;	/* in &uma_device.vms */
	struct mutex lock;	/* protects mappings and page table */
	/* mappings that the device may have cached, &uma_mapping.link */
	struct list_head removed;
	u32 map_count;		/* number of mappings, without removed */
	u32 map_max;		/* limit of map_count */
	struct uma_pt pt;
	/* in the shrinker's list of address spaces that it has locked */
	struct list_head shrink;
	/* a shrinker changed the page table: the device has to forget it before another job */
	bool zapped;
	bool dead;		/* nothing can be bound any more */
	/* has no users, but the device may still reach it; under &uma_device.vms_lock */
	bool held;
	bool awaited;		/* counted in &uma_device.dying; under &uma_device.vms_lock */
	u32 queues;		/* number of queues that use it, protected by &uma_client.lock */
	pid_t pid;		/* process that created it, for debugfs */
};

static inline struct uma_vm *to_uma_vm(struct drm_gpuvm *gpuvm)
{
	return container_of(gpuvm, struct uma_vm, base);
}

struct uma_vm *uma_vm_find(struct uma_client *client, u32 id);
struct uma_vm *uma_vm_get(struct uma_vm *vm);
void uma_vm_put(struct uma_vm *vm);
void uma_vms_close(struct uma_client *client);
void uma_vms_release(struct uma_device *uma);
int uma_vms_show(struct seq_file *m, void *unused);
int uma_vms_show_held(struct seq_file *m, void *unused);
int uma_vms_show_blocks(struct seq_file *m, void *unused);

int uma_ioctl_vm_create(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_vm_destroy(struct drm_device *drm, void *data, struct drm_file *file);
int uma_ioctl_vm_bind(struct drm_device *drm, void *data, struct drm_file *file);

extern const struct uma_pt_ops uma_mmu_pt_ops;
/* _confirmed: success means that the device has confirmed it, or cannot reach it anyway. */
bool uma_mmu_invalidate_confirmed(struct uma_vm *vm, u64 start, u64 end);
bool uma_mmu_tryidle(struct uma_vm *vm);
int uma_mmu_tryinvalidate_confirmed(struct uma_vm *vm, u64 start, u64 end);
bool uma_mmu_detach_confirmed(struct uma_vm *vm);
int uma_mmu_get_as_confirmed(struct uma_vm *vm);

#endif /* _UMA_VM_H_ */
