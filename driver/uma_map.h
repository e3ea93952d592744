/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UMA_MAP_H_
#define _UMA_MAP_H_

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

struct drm_gem_object;
struct uma_map_tree;
struct uma_mapping;

/**
 * struct uma_map_log - one step of a change
 */
struct uma_map_log {
	/** @link: in the change's list, in order */
	struct list_head link;
	/** @mapping: what was added or removed */
	struct uma_mapping *mapping;
	/** @added: which of the two */
	bool added;
};

/**
 * struct uma_mapping - a range that shows part of a buffer
 */
struct uma_mapping {
	/** @rb: in the tree */
	struct rb_node rb;
	/** @start: first address */
	u64 start;
	/** @last: last address */
	u64 last;
	/** @subtree_last: the tree's */
	u64 subtree_last;
	/** @tree: the tree that it is of */
	struct uma_map_tree *tree;
	/** @obj: buffer, with a reference; NULL in tests */
	struct drm_gem_object *obj;
	/** @bo_link: in &uma_bo.maps */
	struct list_head bo_link;
	/** @offset: byte in the buffer that is at @start */
	u64 offset;
	/** @flags: DRM_UMA_BIND_* */
	u32 flags;
	/** @log: steps of the change that is under way, see &enum uma_map_step */
	struct uma_map_log log[2];
};

/**
 * struct uma_map_tree - the mappings of an address space
 */
struct uma_map_tree {
	/** @root: interval tree */
	struct rb_root_cached root;
	/** @count: mappings in it */
	u32 count;
	/** @max: most that there may be */
	u32 max;
	/** @get: takes a reference for a new mapping, may be NULL */
	void (*get)(struct uma_mapping *mapping);
	/** @put: drops it, may be NULL */
	void (*put)(struct uma_mapping *mapping);
};

/**
 * struct uma_map_txn - a change of a tree, applied at once and possible to undo
 */
struct uma_map_txn {
	/** @tree: tree */
	struct uma_map_tree *tree;
	/** @log: steps, &struct uma_map_log */
	struct list_head log;
};

void uma_map_tree_init(struct uma_map_tree *tree, u32 max,
		       void (*get)(struct uma_mapping *mapping),
		       void (*put)(struct uma_mapping *mapping));
void uma_map_tree_clear(struct uma_map_tree *tree);
struct uma_mapping *uma_map_first(struct uma_map_tree *tree, u64 start, u64 last);
struct uma_mapping *uma_map_next(struct uma_mapping *mapping, u64 start, u64 last);

void uma_map_begin(struct uma_map_txn *txn, struct uma_map_tree *tree);
int uma_map_add(struct uma_map_txn *txn, u64 start, u64 last, struct drm_gem_object *obj,
		u64 offset, u32 flags);
int uma_map_remove(struct uma_map_txn *txn, u64 start, u64 last);
void uma_map_commit(struct uma_map_txn *txn);
void uma_map_rollback(struct uma_map_txn *txn);

#endif /* _UMA_MAP_H_ */
