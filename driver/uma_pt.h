/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_PT_H_
#define _UMA_PT_H_

#include <linux/list.h>
#include <linux/scatterlist.h>
#include <linux/types.h>

#include "uma_regs.h"

struct uma_pt;

/**
 * struct uma_pt_table - one table
 */
struct uma_pt_table {
	/** @entries: what the device reads */
	__le64 *entries;
	/** @dma: address that the device reads it at */
	dma_addr_t dma;
	/** @child: tables that the entries point to, NULL for the last level */
	struct uma_pt_table **child;
	/** @link: in one of the lists of &struct uma_pt */
	struct list_head link;
	/** @used: valid entries */
	u32 used;
};

/**
 * struct uma_pt_ops - where tables come from
 */
struct uma_pt_ops {
	/** @alloc: set @entries, zeroed, and @dma; 0 or -ENOMEM */
	int (*alloc)(struct uma_pt *pt, struct uma_pt_table *table);
	/** @free: undo @alloc */
	void (*free)(struct uma_pt *pt, struct uma_pt_table *table);
};

/**
 * struct uma_pt_need - tables that a change may need at most
 */
struct uma_pt_need {
	/** @dirs: tables above the last level */
	u32 dirs;
	/** @leaves: tables of the last level */
	u32 leaves;
};

/**
 * struct uma_pt - the page table of an address space
 *
 * A change is made in steps, so that nothing can fail once the first entry is
 * written: uma_pt_need_map() and uma_pt_need_unmap() add up what all its parts
 * may need, uma_pt_reserve() allocates that, uma_pt_map() and uma_pt_unmap()
 * use it, uma_pt_prune() detaches tables that became empty, and once the caller
 * has had the device forget @dirty_start .. @dirty_end, uma_pt_finish() frees
 * what is left. A change that is given up before the first entry is written ends
 * with uma_pt_unreserve(). Callers serialise.
 */
struct uma_pt {
	/** @ops: allocator */
	const struct uma_pt_ops *ops;
	/** @priv: the allocator's */
	void *priv;
	/** @root: first level */
	struct uma_pt_table *root;
	/** @spare_dirs: reserved tables above the last level */
	struct list_head spare_dirs;
	/** @spare_leaves: reserved tables of the last level */
	struct list_head spare_leaves;
	/** @dead: detached tables that the device may still hold */
	struct list_head dead;
	/** @dirty_start: first address whose valid entry changed */
	u64 dirty_start;
	/** @dirty_end: one past the last; not above @dirty_start if none changed */
	u64 dirty_end;
	/** @tables: tables there are, for debugging */
	u32 tables;
	/** @blocks: blocks mapped, for debugging */
	u32 blocks;
};

/**
 * struct uma_sg_pos - a place in the DMA addresses of a scatterlist
 */
struct uma_sg_pos {
	/** @sg: entry */
	struct scatterlist *sg;
	/** @left: entries left, this one included */
	unsigned int left;
	/** @offset: bytes into @sg */
	u64 offset;
};

int uma_pt_init(struct uma_pt *pt, const struct uma_pt_ops *ops, void *priv);
void uma_pt_fini(struct uma_pt *pt);

void uma_pt_need_map(struct uma_pt *pt, u64 va, u64 size, struct uma_sg_pos pos,
		     struct uma_pt_need *need);
void uma_pt_need_unmap(u64 va, u64 size, struct uma_pt_need *need);
int uma_pt_reserve(struct uma_pt *pt, const struct uma_pt_need *need);
void uma_pt_map(struct uma_pt *pt, u64 va, u64 size, struct uma_sg_pos pos, bool write);
void uma_pt_unmap(struct uma_pt *pt, u64 va, u64 size);
void uma_pt_prune(struct uma_pt *pt);
void uma_pt_unreserve(struct uma_pt *pt);
void uma_pt_finish(struct uma_pt *pt);
u32 uma_pt_walk(const struct uma_pt *pt, u64 va, u64 *entries);
u64 uma_pt_lookup(const struct uma_pt *pt, u64 va, u64 *size);

void uma_sg_seek(struct uma_sg_pos *pos, struct sg_table *sgt, u64 offset);

#endif /* _UMA_PT_H_ */
