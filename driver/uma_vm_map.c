// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which buffer is where in an address space: an interval tree and changes of
 * it that are done completely or not at all. Pure bookkeeping.
 */
#include <linux/export.h>
#include <linux/interval_tree_generic.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <kunit/visibility.h>

#include "compat.h"
#include "uma_args.h"
#include "uma_vm.h"

/**
 * enum uma_map_step - index of &uma_mapping.log
 * @UMA_MAP_ADDED: the step that added the mapping
 * @UMA_MAP_REMOVED: the step that removed it
 */
enum uma_map_step {
	UMA_MAP_ADDED,
	UMA_MAP_REMOVED,
};

#define UMA_MAP_START(m)	((m)->start)
#define UMA_MAP_LAST(m)		((m)->last)

INTERVAL_TREE_DEFINE(struct uma_mapping, rb, u64, subtree_last, UMA_MAP_START, UMA_MAP_LAST,
		     static, uma_it)

/**
 * uma_map_tree_init - make an empty tree
 * @tree: tree
 * @max: most mappings that it may have
 * @get: takes a reference for a new mapping, may be NULL
 * @put: drops it, may be NULL
 */
void uma_map_tree_init(struct uma_map_tree *tree, u32 max,
		       void (*get)(struct uma_mapping *mapping),
		       void (*put)(struct uma_mapping *mapping))
{
	tree->root = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&tree->retired);
	tree->count = 0;
	tree->max = max;
	tree->get = get;
	tree->put = put;
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_tree_init);

/**
 * uma_map_first - the first mapping that touches a range
 * @tree: tree
 * @start: first address
 * @last: last address
 *
 * Return: mapping or NULL.
 */
struct uma_mapping *uma_map_first(struct uma_map_tree *tree, u64 start, u64 last)
{
	return uma_it_iter_first(&tree->root, start, last);
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_first);

/**
 * uma_map_next - the next mapping that touches a range
 * @mapping: the one before
 * @start: first address
 * @last: last address
 *
 * Return: mapping or NULL.
 */
struct uma_mapping *uma_map_next(struct uma_mapping *mapping, u64 start, u64 last)
{
	return uma_it_iter_next(mapping, start, last);
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_next);

static u64 uma_map_size(const struct uma_mapping *mapping)
{
	return mapping->last - mapping->start + 1;
}

/**
 * uma_map_bytes - what the device may reach by a tree
 * @tree: tree
 *
 * Return: bytes of all its mappings, with those that were retired.
 */
u64 uma_map_bytes(struct uma_map_tree *tree)
{
	struct uma_mapping *mapping;
	struct uma_map_log *log;
	u64 bytes = 0;

	for (mapping = uma_map_first(tree, 0, U64_MAX); mapping;
	     mapping = uma_map_next(mapping, 0, U64_MAX)) {
		bytes += uma_map_size(mapping);
		cond_resched();
	}
	list_for_each_entry(log, &tree->retired, link)
		bytes += uma_map_size(log->mapping);
	return bytes;
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_bytes);

static void uma_map_free(struct uma_map_tree *tree, struct uma_mapping *mapping)
{
	if (tree->put)
		tree->put(mapping);
	kfree(mapping);
	/* There may be max_mappings of them, and who drops one waits for a lock. */
	cond_resched();
}

static void uma_map_free_retired(struct uma_map_tree *tree)
{
	struct uma_map_log *log, *next;

	list_for_each_entry_safe(log, next, &tree->retired, link) {
		list_del(&log->link);
		uma_map_free(tree, log->mapping);
	}
}

/**
 * uma_map_tree_clear - drop all mappings, with those that were retired
 * @tree: tree
 */
void uma_map_tree_clear(struct uma_map_tree *tree)
{
	struct uma_mapping *mapping;

	uma_map_free_retired(tree);
	while ((mapping = uma_map_first(tree, 0, U64_MAX))) {
		uma_it_remove(mapping, &tree->root);
		tree->count--;
		uma_map_free(tree, mapping);
	}
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_tree_clear);

static void uma_map_log(struct uma_map_txn *txn, struct uma_mapping *mapping,
			enum uma_map_step step)
{
	struct uma_map_log *log = &mapping->log[step];

	log->mapping = mapping;
	log->added = step == UMA_MAP_ADDED;
	list_add_tail(&log->link, &txn->log);
	if (log->added) {
		uma_it_insert(mapping, &txn->tree->root);
		txn->tree->count++;
	} else {
		uma_it_remove(mapping, &txn->tree->root);
		txn->tree->count--;
	}
}

/**
 * uma_map_begin - start a change
 * @txn: change
 * @tree: tree, nobody else may touch it until uma_map_commit() or uma_map_rollback()
 */
void uma_map_begin(struct uma_map_txn *txn, struct uma_map_tree *tree)
{
	txn->tree = tree;
	INIT_LIST_HEAD(&txn->log);
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_begin);

static int uma_map_new(struct uma_map_txn *txn, u64 start, u64 last, struct drm_gem_object *obj,
		       u64 offset, u32 flags)
{
	struct uma_map_tree *tree = txn->tree;
	struct uma_mapping *mapping;

	mapping = kzalloc_obj(*mapping, GFP_KERNEL_ACCOUNT);
	if (!mapping)
		return -ENOMEM;
	mapping->start = start;
	mapping->last = last;
	mapping->tree = tree;
	mapping->obj = obj;
	mapping->offset = offset;
	mapping->flags = flags;
	if (tree->get)
		tree->get(mapping);
	uma_map_log(txn, mapping, UMA_MAP_ADDED);
	return 0;
}

/**
 * uma_map_add - add a mapping
 * @txn: change
 * @start: first address
 * @last: last address
 * @obj: buffer
 * @offset: byte of the buffer that is at @start
 * @flags: DRM_UMA_BIND_*
 *
 * Return: 0; -EEXIST something is mapped there; -ENOSPC too many mappings;
 * -ENOMEM.
 */
int uma_map_add(struct uma_map_txn *txn, u64 start, u64 last, struct drm_gem_object *obj,
		u64 offset, u32 flags)
{
	if (uma_map_first(txn->tree, start, last))
		return -EEXIST;
	if (txn->tree->count >= txn->tree->max)
		return -ENOSPC;
	return uma_map_new(txn, start, last, obj, offset, flags);
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_add);

/**
 * uma_map_remove - remove what is mapped in a range
 * @txn: change
 * @start: first address
 * @last: last address
 *
 * What lies across an edge is cut there.
 *
 * Return: 0; -ENOSPC too many mappings; -ENOMEM; -EINTR the caller is killed.
 */
int uma_map_remove(struct uma_map_txn *txn, u64 start, u64 last)
{
	struct uma_mapping *m;
	int ret;

	while ((m = uma_map_first(txn->tree, start, last))) {
		ret = uma_breathe();
		if (ret)
			return ret;
		uma_map_log(txn, m, UMA_MAP_REMOVED);
		if (m->start < start) {
			ret = uma_map_new(txn, m->start, start - 1, m->obj, m->offset, m->flags);
			if (ret)
				return ret;
		}
		if (m->last > last) {
			ret = uma_map_new(txn, last + 1, m->last, m->obj,
					  m->offset + (last + 1 - m->start), m->flags);
			if (ret)
				return ret;
		}
	}
	return txn->tree->count > txn->tree->max ? -ENOSPC : 0;
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_remove);

/**
 * uma_map_commit - keep a change
 * @txn: change; what it removed is freed, so the device must have forgotten it
 */
void uma_map_commit(struct uma_map_txn *txn)
{
	struct uma_map_log *log, *next;

	list_for_each_entry_safe(log, next, &txn->log, link) {
		list_del(&log->link);
		if (!log->added)
			uma_map_free(txn->tree, log->mapping);
	}
	/* What the device has forgotten now includes what it had not before. */
	uma_map_free_retired(txn->tree);
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_commit);

/**
 * uma_map_retire - keep a change, and what it removed until one is committed
 * @txn: change of which the device may not have forgotten the old state
 */
void uma_map_retire(struct uma_map_txn *txn)
{
	struct uma_map_log *log, *next;

	list_for_each_entry_safe(log, next, &txn->log, link) {
		list_del(&log->link);
		if (log->added)
			continue;
		log->mapping->retired = true;
		list_add_tail(&log->link, &txn->tree->retired);
		cond_resched();
	}
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_retire);

/**
 * uma_map_rollback - undo a change
 * @txn: change
 */
void uma_map_rollback(struct uma_map_txn *txn)
{
	struct uma_map_tree *tree = txn->tree;
	struct uma_map_log *log, *next;

	list_for_each_entry_safe_reverse(log, next, &txn->log, link) {
		list_del(&log->link);
		if (log->added) {
			uma_it_remove(log->mapping, &tree->root);
			tree->count--;
			uma_map_free(tree, log->mapping);
		} else {
			uma_it_insert(log->mapping, &tree->root);
			tree->count++;
			cond_resched();
		}
	}
}
EXPORT_SYMBOL_IF_KUNIT(uma_map_rollback);
