// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Page tables of the device. Nothing here touches a register, so that KUnit tests need no device.
 */
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <kunit/visibility.h>

#include "compat.h"
#include "uma_args.h"
#include "uma_vm.h"

#define UMA_PT_LEAF	(UMA_PT_LEVELS - 1)

static unsigned int uma_pt_shift(unsigned int level)
{
	return UMA_PAGE_SHIFT + UMA_PT_BITS * (UMA_PT_LEAF - level);
}

static u64 uma_pt_span(unsigned int level)
{
	return 1ULL << uma_pt_shift(level);
}

static unsigned int uma_pt_index(u64 va, unsigned int level)
{
	return (va >> uma_pt_shift(level)) & (UMA_PT_ENTRIES - 1);
}

/* End of the range of @va's entry, or @end if that is lower. */
static u64 uma_pt_next(u64 va, u64 end, unsigned int level)
{
	return min(end, (va | (uma_pt_span(level) - 1)) + 1);
}

static u64 uma_pt_read(const struct uma_pt_table *table, unsigned int index)
{
	return le64_to_cpu(READ_ONCE(table->entries[index]));
}

static void uma_pt_write(struct uma_pt_table *table, unsigned int index, u64 pte)
{
	WRITE_ONCE(table->entries[index], cpu_to_le64(pte));
}

/**
 * uma_sg_seek - find a byte in a scatterlist
 * @pos: out
 * @sgt: mapped scatterlist
 * @offset: byte, inside of it
 *
 * Return: 0; -EINTR the caller has been killed: there may be many segments.
 */
int uma_sg_seek(struct uma_sg_pos *pos, struct sg_table *sgt, u64 offset)
{
	pos->sg = sgt->sgl;
	pos->left = sgt->nents;
	pos->offset = offset;
	while (pos->left && pos->offset >= sg_dma_len(pos->sg)) {
		pos->offset -= sg_dma_len(pos->sg);
		pos->sg = sg_next(pos->sg);
		pos->left--;
		if (uma_breathe())
			return -EINTR;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(uma_sg_seek);

/* The DMA address at @pos, and in @len the contiguous bytes from there, at most @want. */
static dma_addr_t uma_sg_run(const struct uma_sg_pos *pos, u64 want, u64 *len)
{
	struct scatterlist *sg = pos->sg;
	unsigned int left = pos->left;
	dma_addr_t dma;

	if (WARN_ON_ONCE(!left)) {
		*len = 0;
		return 0;
	}
	dma = sg_dma_address(sg) + pos->offset;
	*len = sg_dma_len(sg) - pos->offset;
	while (*len < want && --left) {
		sg = sg_next(sg);
		if (sg_dma_address(sg) != dma + *len)
			break;
		*len += sg_dma_len(sg);
	}
	*len = min(*len, want);
	return dma;
}

static void uma_sg_advance(struct uma_sg_pos *pos, u64 bytes)
{
	pos->offset += bytes;
	while (pos->left && pos->offset >= sg_dma_len(pos->sg)) {
		pos->offset -= sg_dma_len(pos->sg);
		pos->sg = sg_next(pos->sg);
		pos->left--;
	}
}

static struct uma_pt_table *uma_pt_table_new(struct uma_pt *pt, bool leaf)
{
	struct uma_pt_table *table;
	int ret = -ENOMEM;

	table = kzalloc_obj(*table, GFP_KERNEL_ACCOUNT);
	if (!table)
		return ERR_PTR(ret);
	if (!leaf) {
		table->child = kcalloc(UMA_PT_ENTRIES, sizeof(*table->child), GFP_KERNEL_ACCOUNT);
		if (!table->child)
			goto err_free;
	}
	ret = pt->ops->alloc(pt, table);
	if (ret)
		goto err_child;
	INIT_LIST_HEAD(&table->link);
	pt->tables++;
	return table;

err_child:
	kfree(table->child);
err_free:
	kfree(table);
	return ERR_PTR(ret);
}

static void uma_pt_table_free(struct uma_pt *pt, struct uma_pt_table *table)
{
	pt->tables--;
	pt->ops->free(pt, table);
	kfree(table->child);
	kfree(table);
}

static void uma_pt_clean(struct uma_pt *pt)
{
	pt->dirty_start = U64_MAX;
	pt->dirty_end = 0;
}

static void uma_pt_dirty(struct uma_pt *pt, u64 start, u64 end)
{
	pt->dirty_start = min(pt->dirty_start, start);
	pt->dirty_end = max(pt->dirty_end, end);
}

/**
 * uma_pt_init - make an empty page table
 * @pt: page table
 * @ops: allocator
 * @priv: the allocator's
 *
 * Return: 0 or an error of the allocator's.
 */
int uma_pt_init(struct uma_pt *pt, const struct uma_pt_ops *ops, void *priv)
{
	struct uma_pt_table *root;

	memset(pt, 0, sizeof(*pt));
	pt->ops = ops;
	pt->priv = priv;
	INIT_LIST_HEAD(&pt->spare_dirs);
	INIT_LIST_HEAD(&pt->spare_leaves);
	INIT_LIST_HEAD(&pt->dead);
	uma_pt_clean(pt);
	root = uma_pt_table_new(pt, false);
	if (IS_ERR(root))
		return PTR_ERR(root);
	pt->root = root;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(uma_pt_init);

static void uma_pt_free_tree(struct uma_pt *pt, struct uma_pt_table *table)
{
	unsigned int i;

	for (i = 0; table->child && i < UMA_PT_ENTRIES; i++)
		if (table->child[i])
			uma_pt_free_tree(pt, table->child[i]);
	uma_pt_table_free(pt, table);
	cond_resched();
}

/* Free a page table that the device no longer uses. */
void uma_pt_fini(struct uma_pt *pt)
{
	uma_pt_finish(pt);
	if (pt->root)
		uma_pt_free_tree(pt, pt->root);
	pt->root = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(uma_pt_fini);

static void uma_pt_free_list(struct uma_pt *pt, struct list_head *list)
{
	struct uma_pt_table *table, *next;

	list_for_each_entry_safe(table, next, list, link) {
		list_del(&table->link);
		uma_pt_table_free(pt, table);
		cond_resched();
	}
}

/* Free what was reserved for a change that is not made. The dirty range stays. */
void uma_pt_unreserve(struct uma_pt *pt)
{
	uma_pt_free_list(pt, &pt->spare_dirs);
	uma_pt_free_list(pt, &pt->spare_leaves);
}
EXPORT_SYMBOL_IF_KUNIT(uma_pt_unreserve);

/* Free spare and detached tables, once the device has invalidated the dirty range. */
void uma_pt_finish(struct uma_pt *pt)
{
	uma_pt_unreserve(pt);
	uma_pt_free_list(pt, &pt->dead);
	uma_pt_clean(pt);
}
EXPORT_SYMBOL_IF_KUNIT(uma_pt_finish);

/* A block needs an aligned entry, all of it mapped by contiguous, aligned memory. */
static bool uma_pt_block_fits(u64 va, u64 end, dma_addr_t dma, u64 run)
{
	u64 mask = (1ULL << UMA_BLOCK_SHIFT) - 1;

	return !(va & mask) && end - va > mask && run > mask && !(dma & mask);
}

/**
 * uma_pt_need_map - count the tables that a map may need
 * @pt: page table, as it is before the whole change
 * @va: first address
 * @size: bytes
 * @pos: memory
 * @need: counts, to be added to
 *
 * Every part of a change is counted against the state before the first part, so the sum may be too
 * high, but not too low: no part removes a table.
 *
 * Return: 0; -EINTR the caller has been killed.
 */
int uma_pt_need_map(struct uma_pt *pt, u64 va, u64 size, struct uma_sg_pos pos,
		    struct uma_pt_need *need)
{
	u64 end = va + size, last[UMA_PT_LEVELS];
	unsigned int level;

	memset(last, 0xff, sizeof(last));
	while (va < end) {
		u64 next = uma_pt_next(va, end, UMA_PT_LEAF - 1), run;
		struct uma_pt_table *table = pt->root;
		dma_addr_t dma;

		dma = uma_sg_run(&pos, next - va, &run);
		for (level = 0; level < UMA_PT_LEAF; level++) {
			if (table)
				table = table->child[uma_pt_index(va, level)];
			if (table || last[level] == va >> uma_pt_shift(level))
				continue;
			if (level < UMA_PT_LEAF - 1) {
				need->dirs++;
			} else {
				if (uma_pt_block_fits(va, end, dma, run))
					continue;
				need->leaves++;
			}
			last[level] = va >> uma_pt_shift(level);
		}
		uma_sg_advance(&pos, next - va);
		va = next;
		if (uma_breathe())
			return -EINTR;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(uma_pt_need_map);

/**
 * uma_pt_need_unmap - count the tables that an unmap may need
 * @va: first address
 * @size: bytes
 * @need: counts, to be added to
 *
 * A block that is only partly unmapped is split.
 */
void uma_pt_need_unmap(u64 va, u64 size, struct uma_pt_need *need)
{
	u64 mask = (1ULL << UMA_BLOCK_SHIFT) - 1;

	need->leaves += !!(va & mask) + !!((va + size) & mask);
}
EXPORT_SYMBOL_IF_KUNIT(uma_pt_need_unmap);

static int uma_pt_reserve_list(struct uma_pt *pt, struct list_head *list, u32 count, bool leaf)
{
	struct uma_pt_table *table;

	while (count--) {
		/* The number is up to user space. */
		if (uma_breathe())
			return -EINTR;
		table = uma_pt_table_new(pt, leaf);
		if (IS_ERR(table))
			return PTR_ERR(table);
		list_add(&table->link, list);
	}
	return 0;
}

/**
 * uma_pt_reserve - allocate tables for a change
 * @pt: page table
 * @need: how many
 *
 * Return: 0; an error of the allocator's; -EINTR the caller is killed. uma_pt_unreserve() is for
 * any of them.
 */
int uma_pt_reserve(struct uma_pt *pt, const struct uma_pt_need *need)
{
	int ret;

	ret = uma_pt_reserve_list(pt, &pt->spare_dirs, need->dirs, false);
	return ret ?: uma_pt_reserve_list(pt, &pt->spare_leaves, need->leaves, true);
}
EXPORT_SYMBOL_IF_KUNIT(uma_pt_reserve);

static struct uma_pt_table *uma_pt_take(struct uma_pt *pt, bool leaf)
{
	struct list_head *list = leaf ? &pt->spare_leaves : &pt->spare_dirs;
	struct uma_pt_table *table;

	table = list_first_entry_or_null(list, struct uma_pt_table, link);
	if (WARN_ON_ONCE(!table))
		return NULL;
	list_del_init(&table->link);
	return table;
}

/* Have @parent's entry point to @table. */
static void uma_pt_link(struct uma_pt_table *parent, unsigned int index, struct uma_pt_table *table)
{
	/* Write its entries first; pairs with the device's reads through the address set here. */
	dma_wmb();
	if (!(uma_pt_read(parent, index) & UMA_PTE_VALID))
		parent->used++;
	parent->child[index] = table;
	uma_pt_write(parent, index, table->dma | UMA_PTE_VALID);
}

/* The table at @level that translates @va, created from the spare ones if it is missing. */
static struct uma_pt_table *uma_pt_get(struct uma_pt *pt, u64 va, unsigned int level)
{
	struct uma_pt_table *table = pt->root;
	unsigned int l;

	for (l = 0; l < level; l++) {
		unsigned int index = uma_pt_index(va, l);

		if (!table->child[index]) {
			struct uma_pt_table *child = uma_pt_take(pt, l + 1 == UMA_PT_LEAF);

			if (!child)
				return NULL;
			uma_pt_link(table, index, child);
		}
		table = table->child[index];
	}
	return table;
}

static void uma_pt_set(struct uma_pt_table *table, unsigned int index, u64 pte)
{
	WARN_ON_ONCE(uma_pt_read(table, index) & UMA_PTE_VALID);
	uma_pt_write(table, index, pte);
	table->used++;
}

static void uma_pt_clear(struct uma_pt_table *table, unsigned int index)
{
	uma_pt_write(table, index, 0);
	table->used--;
}

/**
 * uma_pt_map - map memory
 * @pt: page table with enough tables reserved
 * @va: first address of a range in which nothing is mapped
 * @size: bytes
 * @pos: memory
 * @write: tasks may write to it
 */
void uma_pt_map(struct uma_pt *pt, u64 va, u64 size, struct uma_sg_pos pos, bool write)
{
	u64 flags = UMA_PTE_VALID | (write ? UMA_PTE_WRITE : 0);
	u64 end = va + size;

	while (va < end) {
		u64 next = uma_pt_next(va, end, UMA_PT_LEAF - 1), run;
		unsigned int index = uma_pt_index(va, UMA_PT_LEAF - 1);
		struct uma_pt_table *dir, *leaf;
		dma_addr_t dma;

		cond_resched();
		dir = uma_pt_get(pt, va, UMA_PT_LEAF - 1);
		if (!dir)
			return;
		dma = uma_sg_run(&pos, next - va, &run);
		if (!dir->child[index] && uma_pt_block_fits(va, end, dma, run)) {
			uma_pt_set(dir, index, dma | flags | UMA_PTE_BLOCK);
			pt->blocks++;
			uma_sg_advance(&pos, next - va);
			va = next;
			continue;
		}
		leaf = uma_pt_get(pt, va, UMA_PT_LEAF);
		if (!leaf)
			return;
		while (va < next) {
			u64 left;

			dma = uma_sg_run(&pos, next - va, &run);
			if (!run)
				return;
			for (left = run; left; left -= 1 << UMA_PAGE_SHIFT) {
				uma_pt_set(leaf, uma_pt_index(va, UMA_PT_LEAF), dma | flags);
				va += 1 << UMA_PAGE_SHIFT;
				dma += 1 << UMA_PAGE_SHIFT;
			}
			uma_sg_advance(&pos, run);
		}
	}
}
EXPORT_SYMBOL_IF_KUNIT(uma_pt_map);

/* Replace a block by a table of equivalent pages. */
static struct uma_pt_table *uma_pt_split(struct uma_pt *pt, struct uma_pt_table *dir,
					 unsigned int index, u64 va)
{
	u64 pte = uma_pt_read(dir, index) & ~UMA_PTE_BLOCK;
	struct uma_pt_table *leaf = uma_pt_take(pt, true);
	unsigned int i;

	if (!leaf)
		return NULL;
	for (i = 0; i < UMA_PT_ENTRIES; i++)
		uma_pt_set(leaf, i, pte + ((u64)i << UMA_PAGE_SHIFT));
	uma_pt_link(dir, index, leaf);
	pt->blocks--;
	/* The device may have the block cached. */
	va &= ~((1ULL << UMA_BLOCK_SHIFT) - 1);
	uma_pt_dirty(pt, va, va + (1ULL << UMA_BLOCK_SHIFT));
	return leaf;
}

static void uma_pt_unmap_leaf(struct uma_pt *pt, struct uma_pt_table *leaf, u64 va, u64 end)
{
	for (; va < end; va += 1 << UMA_PAGE_SHIFT) {
		unsigned int index = uma_pt_index(va, UMA_PT_LEAF);

		if (!(uma_pt_read(leaf, index) & UMA_PTE_VALID))
			continue;
		uma_pt_clear(leaf, index);
		uma_pt_dirty(pt, va, va + (1 << UMA_PAGE_SHIFT));
	}
}

/**
 * uma_pt_unmap - unmap a range
 * @pt: page table with enough tables reserved
 * @va: first address
 * @size: bytes, not all of which need to be mapped
 */
void uma_pt_unmap(struct uma_pt *pt, u64 va, u64 size)
{
	u64 end = va + size;

	while (va < end) {
		struct uma_pt_table *table = pt->root;
		unsigned int index, level = 0;
		u64 next;

		/* Descend as far as there are tables. */
		while (level < UMA_PT_LEAF && table->child[uma_pt_index(va, level)])
			table = table->child[uma_pt_index(va, level++)];

		next = uma_pt_next(va, end, level == UMA_PT_LEAF ? level - 1 : level);
		index = uma_pt_index(va, level);
		if (level == UMA_PT_LEAF - 1 && (uma_pt_read(table, index) & UMA_PTE_VALID)) {
			if (next - va == 1ULL << UMA_BLOCK_SHIFT) {
				uma_pt_clear(table, index);
				pt->blocks--;
				uma_pt_dirty(pt, va, next);
			} else {
				table = uma_pt_split(pt, table, index, va);
				if (!table)
					return;
				level++;
			}
		}
		if (level == UMA_PT_LEAF)
			uma_pt_unmap_leaf(pt, table, va, next);
		va = next;
		cond_resched();
	}
}
EXPORT_SYMBOL_IF_KUNIT(uma_pt_unmap);

static void uma_pt_prune_table(struct uma_pt *pt, struct uma_pt_table *table, unsigned int level,
			       u64 va, u64 end)
{
	for (; va < end; va = uma_pt_next(va, end, level)) {
		unsigned int index = uma_pt_index(va, level);
		struct uma_pt_table *child = table->child[index];
		u64 start = va & ~(uma_pt_span(level) - 1);

		cond_resched();
		if (!child)
			continue;
		if (level + 1 < UMA_PT_LEAF)
			uma_pt_prune_table(pt, child, level + 1, va, uma_pt_next(va, end, level));
		if (child->used)
			continue;
		table->child[index] = NULL;
		uma_pt_clear(table, index);
		list_add(&child->link, &pt->dead);
		/* The device may have the entry cached for any address below it. */
		uma_pt_dirty(pt, start, start + uma_pt_span(level));
	}
}

/* Detach the tables that a change left empty. */
void uma_pt_prune(struct uma_pt *pt)
{
	if (pt->dirty_start < pt->dirty_end)
		uma_pt_prune_table(pt, pt->root, 0, pt->dirty_start, pt->dirty_end);
}
EXPORT_SYMBOL_IF_KUNIT(uma_pt_prune);

/**
 * uma_pt_walk - read the entries of all levels for an address
 * @pt: page table
 * @va: address
 * @entries: out: UMA_PT_LEVELS entries
 *
 * Return: number of entries read. The last one is a leaf or not valid.
 */
u32 uma_pt_walk(const struct uma_pt *pt, u64 va, u64 *entries)
{
	const struct uma_pt_table *table = pt->root;
	u32 level;

	for (level = 0; table && level < UMA_PT_LEVELS; level++) {
		unsigned int index = uma_pt_index(va, level);

		entries[level] = uma_pt_read(table, index);
		/* There is no table below a block. */
		table = table->child ? table->child[index] : NULL;
	}
	return level;
}
EXPORT_SYMBOL_IF_KUNIT(uma_pt_walk);
