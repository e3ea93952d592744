/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_USER_H_
#define _UMA_USER_H_

#include <linux/scatterlist.h>
#include <linux/types.h>

struct mm_struct;
struct page;
struct uma_device;

/**
 * struct uma_user_pages - user memory that the device can reach
 */
struct uma_user_pages {
	/** @uma: device */
	struct uma_device *uma;
	/** @mm: who is charged */
	struct mm_struct *mm;
	/** @pages: pinned pages */
	struct page **pages;
	/** @count: number of pages */
	unsigned long count;
	/** @readonly: the device only reads */
	bool readonly;
	/** @sgt: mapped for the device */
	struct sg_table sgt;
};

struct uma_user_pages *uma_user_pin(struct uma_device *uma, u64 addr, u64 size, bool readonly);
void uma_user_unpin(struct uma_user_pages *user);

#endif /* _UMA_USER_H_ */
