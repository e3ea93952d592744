// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The device's MMU: walks page tables by physical address, and validates
 * everything that it reads.
 */
#include <linux/mm.h>
#include <linux/memory_hotplug.h>
#include <linux/io.h>
#include <linux/string.h>

#include "emu_compat.h"
#include "emu_mmu.h"

/* Memory is accessed through the direct map, which lacks high memory on 32-bit kernels. */
#ifndef CONFIG_64BIT
#error "uma_emu needs a 64-bit kernel"
#endif

/**
 * emu_phys_ptr - memory at a physical address
 * @pa: physical address
 * @size: bytes, within one page
 *
 * A bad address from the driver has to cause a fault of the device and not of the
 * kernel: only memory of the page allocator is accessible, neither MMIO nor the
 * kernel image.
 *
 * Return: pointer, NULL if there is no such memory.
 */
void *emu_phys_ptr(u64 pa, u64 size)
{
	struct page *page;

	if (!size || (pa & ~UMA_PTE_ADDR & ~(u64)(PAGE_SIZE - 1)) ||
	    offset_in_page(pa) + size > PAGE_SIZE)
		return NULL;

	page = pfn_to_online_page(PHYS_PFN(pa));
	if (!page)
		return NULL;
	/* The zero page is reserved too, but user memory may be mapped to it. */
	if (PageReserved(page) && page != ZERO_PAGE(0))
		return NULL;
	return phys_to_virt(pa);
}
EXPORT_SYMBOL_IF_KUNIT(emu_phys_ptr);

/* log2 of the number of addresses that a table at @level translates */
static u32 emu_table_shift(u32 level)
{
	return UMA_PAGE_SHIFT + (UMA_PT_LEVELS - level) * UMA_PT_BITS;
}

static enum uma_fault emu_walk_on(u64 va, struct emu_xlate *x, struct emu_trail *trail)
{
	u64 table = trail->table[trail->first];
	u32 level;

	for (level = trail->first; level < UMA_PT_LEVELS; level++) {
		u32 shift = emu_table_shift(level + 1);
		u32 index = (va >> shift) & (UMA_PT_ENTRIES - 1);
		bool leaf = level == UMA_PT_LEVELS - 1;
		u64 known = UMA_PTE_VALID | UMA_PTE_ADDR;
		__le64 *entry;
		u64 pte;

		entry = emu_phys_ptr(table + index * sizeof(*entry), sizeof(*entry));
		if (!entry)
			return UMA_FAULT_BUS;
		trail->table[level] = table;
		trail->end = level + 1;

		/* The driver may change an entry during the walk: read it only once. */
		pte = le64_to_cpu(READ_ONCE(*entry));
		if (!(pte & UMA_PTE_VALID))
			return UMA_FAULT_READ;

		if (shift == UMA_BLOCK_SHIFT && (pte & UMA_PTE_BLOCK)) {
			leaf = true;
			known |= UMA_PTE_BLOCK;
		}
		if (leaf)
			known |= UMA_PTE_WRITE;
		if (pte & ~known)
			return UMA_FAULT_TABLE;

		table = pte & UMA_PTE_ADDR;
		if (!leaf)
			continue;
		if (table & ((1ULL << shift) - 1))
			return UMA_FAULT_TABLE;

		x->pa = table;
		x->shift = shift;
		x->write = pte & UMA_PTE_WRITE;
		/* Only the page that is accessed: others of a block need not be memory. */
		if (!emu_phys_ptr(emu_xlate_pa(x, va) & ~EMU_SHADOWED, 1))
			return UMA_FAULT_BUS;
		return UMA_FAULT_NONE;
	}
	return UMA_FAULT_TABLE;
}

/**
 * emu_walk - translate an address by the page table
 * @root: address of the root table, bit 0 enables it
 * @va: device address
 * @x: out: translation
 * @trail: out: tables that were read
 *
 * Return: UMA_FAULT_NONE; UMA_FAULT_READ if nothing is mapped there,
 * UMA_FAULT_TABLE for a malformed entry, UMA_FAULT_BUS if the table or the page
 * is not in memory.
 */
enum uma_fault emu_walk(u64 root, u64 va, struct emu_xlate *x, struct emu_trail *trail)
{
	trail->first = 0;
	trail->end = 0;
	trail->table[0] = root & ~(u64)UMA_AS_ENABLE;
	if (!(root & UMA_AS_ENABLE) || va >> EMU_VA_BITS)
		return UMA_FAULT_READ;
	if (trail->table[0] & ~UMA_PTE_ADDR)
		return UMA_FAULT_TABLE;
	return emu_walk_on(va, x, trail);
}
EXPORT_SYMBOL_IF_KUNIT(emu_walk);

static u32 emu_page_set(u64 va)
{
	return (va >> UMA_PAGE_SHIFT) % EMU_TLB_SETS;
}

static u32 emu_block_set(u64 va)
{
	return (va >> UMA_BLOCK_SHIFT) % EMU_TLB_BSETS;
}

static struct emu_tlb_entry *emu_tlb_find(struct emu_tlb_entry *way, u32 as, u64 va)
{
	int i;

	for (i = 0; i < EMU_TLB_WAYS; i++)
		if (way[i].valid && way[i].as == as && way[i].va == va)
			return &way[i];
	return NULL;
}

/**
 * emu_tlb_lookup - find a cached translation
 * @tlb: TLB
 * @as: address space
 * @va: device address
 *
 * Return: entry or NULL.
 */
struct emu_tlb_entry *emu_tlb_lookup(struct emu_tlb *tlb, u32 as, u64 va)
{
	struct emu_tlb_entry *entry;

	entry = emu_tlb_find(tlb->page[emu_page_set(va)], as,
			     va & ~((1ULL << UMA_PAGE_SHIFT) - 1));
	if (entry)
		return entry;
	return emu_tlb_find(tlb->block[emu_block_set(va)], as,
			    va & ~((1ULL << UMA_BLOCK_SHIFT) - 1));
}
EXPORT_SYMBOL_IF_KUNIT(emu_tlb_lookup);

/**
 * emu_tlb_insert - cache a translation
 * @tlb: TLB
 * @as: address space
 * @va: device address that was translated
 * @x: translation
 *
 * Replaces the entry of the same address, else a free one, else one chosen
 * round-robin from the set.
 *
 * Return: the entry.
 */
struct emu_tlb_entry *emu_tlb_insert(struct emu_tlb *tlb, u32 as, u64 va,
				     const struct emu_xlate *x)
{
	struct emu_tlb_entry *way, *entry;
	u8 *next;
	int i;

	if (x->shift == UMA_BLOCK_SHIFT) {
		way = tlb->block[emu_block_set(va)];
		next = &tlb->next_block[emu_block_set(va)];
	} else {
		way = tlb->page[emu_page_set(va)];
		next = &tlb->next_page[emu_page_set(va)];
	}
	va &= ~((1ULL << x->shift) - 1);

	entry = emu_tlb_find(way, as, va);
	for (i = 0; !entry && i < EMU_TLB_WAYS; i++)
		if (!way[i].valid)
			entry = &way[i];
	if (!entry) {
		entry = &way[*next];
		*next = (*next + 1) % EMU_TLB_WAYS;
	}

	entry->va = va;
	entry->x = *x;
	entry->as = as;
	entry->valid = true;
	return entry;
}
EXPORT_SYMBOL_IF_KUNIT(emu_tlb_insert);

/**
 * emu_inval_covers - does an invalidation command cover an entry?
 * @inv: command
 * @as: address space of the entry
 * @va: first address of the entry
 * @shift: log2 of its size
 *
 * An entry is covered if any of its bytes is in the range.
 *
 * Return: true if it does.
 */
bool emu_inval_covers(const struct emu_inval *inv, u32 as, u64 va, u8 shift)
{
	if (inv->as != as)
		return false;
	return inv->all || (va < inv->end && va + (1ULL << shift) > inv->start);
}
EXPORT_SYMBOL_IF_KUNIT(emu_inval_covers);

static u32 emu_tlb_drop(struct emu_tlb_entry *entry, u32 count,
			const struct emu_inval *inv)
{
	u32 dropped = 0;

	for (; count--; entry++) {
		if (!entry->valid ||
		    !emu_inval_covers(inv, entry->as, entry->va, entry->x.shift))
			continue;
		entry->valid = false;
		dropped++;
	}
	return dropped;
}

/**
 * emu_tlb_inval - carry out an invalidation command
 * @tlb: TLB
 * @inv: command
 *
 * Return: entries dropped.
 */
u32 emu_tlb_inval(struct emu_tlb *tlb, const struct emu_inval *inv)
{
	u32 dropped, level, i;

	dropped = emu_tlb_drop(&tlb->page[0][0], EMU_TLB_SETS * EMU_TLB_WAYS, inv);
	dropped += emu_tlb_drop(&tlb->block[0][0], EMU_TLB_BSETS * EMU_TLB_WAYS, inv);
	tlb->invalidated += dropped;

	for (level = 1; level < UMA_PT_LEVELS; level++) {
		struct emu_tlb_dir *dir = tlb->dir[level - 1];

		for (i = 0; i < EMU_TLB_DIRS; i++)
			if (emu_inval_covers(inv, dir[i].as, dir[i].va, emu_table_shift(level)))
				dir[i].valid = false;
	}
	return dropped;
}
EXPORT_SYMBOL_IF_KUNIT(emu_tlb_inval);

/**
 * emu_tlb_flush - drop all entries, as a reset does
 * @tlb: TLB
 */
void emu_tlb_flush(struct emu_tlb *tlb)
{
	memset(tlb->page, 0, sizeof(tlb->page));
	memset(tlb->block, 0, sizeof(tlb->block));
	memset(tlb->dir, 0, sizeof(tlb->dir));
}
EXPORT_SYMBOL_IF_KUNIT(emu_tlb_flush);

/**
 * emu_tlb_count - entries in use
 * @tlb: TLB
 *
 * Return: number of valid entries.
 */
u32 emu_tlb_count(const struct emu_tlb *tlb)
{
	const struct emu_tlb_entry *entry;
	u32 i, count = 0;

	for (i = 0, entry = &tlb->page[0][0]; i < EMU_TLB_SETS * EMU_TLB_WAYS; i++)
		count += entry[i].valid;
	for (i = 0, entry = &tlb->block[0][0]; i < EMU_TLB_BSETS * EMU_TLB_WAYS; i++)
		count += entry[i].valid;
	return count;
}
EXPORT_SYMBOL_IF_KUNIT(emu_tlb_count);

/* The entry of the page-walk cache for the table at @level that translates @va. */
static struct emu_tlb_dir *emu_tlb_dir(struct emu_tlb *tlb, u32 as, u64 va, u32 level)
{
	struct emu_tlb_dir *dir = tlb->dir[level - 1];
	u32 i;

	va &= ~((1ULL << emu_table_shift(level)) - 1);
	for (i = 0; i < EMU_TLB_DIRS; i++)
		if (dir[i].valid && dir[i].as == as && dir[i].va == va)
			return &dir[i];
	return NULL;
}

/* Add the tables of a walk to the page-walk cache: the entries that point to them were valid. */
static void emu_tlb_remember(struct emu_tlb *tlb, u32 as, u64 va, const struct emu_trail *trail)
{
	u32 level;

	for (level = trail->first + 1; level < trail->end; level++) {
		struct emu_tlb_dir *dir = emu_tlb_dir(tlb, as, va, level);
		u8 *next = &tlb->next_dir[level - 1];

		if (!dir) {
			dir = &tlb->dir[level - 1][*next];
			*next = (*next + 1) % EMU_TLB_DIRS;
		}
		dir->va = va & ~((1ULL << emu_table_shift(level)) - 1);
		dir->table = trail->table[level];
		dir->as = as;
		dir->valid = true;
	}
}

/* Walk from the lowest table in the page-walk cache, without comparing that with memory. */
static enum uma_fault emu_tlb_walk(struct emu_tlb *tlb, u32 as, u64 root, u64 va,
				   struct emu_xlate *x, struct emu_trail *trail)
{
	struct emu_tlb_dir *dir = NULL;
	enum uma_fault fault;
	u32 level;

	for (level = UMA_PT_LEVELS - 1; level && !dir && !(va >> EMU_VA_BITS); level--)
		dir = emu_tlb_dir(tlb, as, va, level);
	if (dir) {
		tlb->shortened++;
		trail->first = level + 1;
		trail->end = trail->first;
		trail->table[trail->first] = dir->table;
		fault = emu_walk_on(va, x, trail);
	} else {
		fault = emu_walk(root, va, x, trail);
	}
	emu_tlb_remember(tlb, as, va, trail);
	return fault;
}

/*
 * Compare the page-walk cache with the tables of a walk from the root, and drop entries that
 * differ. @old is set to the last of these, in the form of a translation.
 */
static bool emu_tlb_dirs_differ(struct emu_tlb *tlb, u32 as, u64 va, const struct emu_trail *trail,
				struct emu_xlate *old)
{
	bool differ = false;
	u32 level;

	for (level = 1; level < UMA_PT_LEVELS; level++) {
		struct emu_tlb_dir *dir = emu_tlb_dir(tlb, as, va, level);

		if (!dir || (level < trail->end && trail->table[level] == dir->table))
			continue;
		*old = (struct emu_xlate) { .pa = dir->table, .shift = emu_table_shift(level) };
		dir->valid = false;
		differ = true;
	}
	return differ;
}

/**
 * emu_translate - translate an address by the TLB, or else by the page table
 * @tlb: TLB
 * @as: address space
 * @root: its root register
 * @va: device address
 * @paranoid: compare a hit with the page table
 * @x: out: translation of the page or block that holds @va
 * @state: out: how it was found
 * @old: out: translation of the TLB, if it differed
 * @trail: out: tables that were read; untouched if none was
 *
 * In paranoid mode an entry that differs from the page table is dropped, and the
 * translation of the page table is used. Hardware may evict an entry at any time,
 * so a driver has to expect this result anyway, and memory that the driver has
 * freed is not accessed.
 *
 * Return: UMA_FAULT_NONE or what emu_walk() returns.
 */
enum uma_fault emu_translate(struct emu_tlb *tlb, u32 as, u64 root, u64 va,
			     bool paranoid, struct emu_xlate *x,
			     enum emu_tlb_state *state, struct emu_xlate *old,
			     struct emu_trail *trail)
{
	struct emu_tlb_entry *entry = emu_tlb_lookup(tlb, as, va);
	enum uma_fault fault;
	bool differs = false;

	if (entry && !paranoid) {
		tlb->hits++;
		*state = EMU_TLB_HIT;
		*x = entry->x;
		/* The walk checked only the page of the block that was accessed then. */
		if (x->shift == UMA_BLOCK_SHIFT &&
		    !emu_phys_ptr(emu_xlate_pa(x, va) & ~EMU_SHADOWED, 1))
			return UMA_FAULT_BUS;
		return UMA_FAULT_NONE;
	}

	if (paranoid) {
		fault = emu_walk(root, va, x, trail);
		differs = emu_tlb_dirs_differ(tlb, as, va, trail, old);
		emu_tlb_remember(tlb, as, va, trail);
	} else {
		fault = emu_tlb_walk(tlb, as, root, va, x, trail);
	}
	if (entry) {
		tlb->hits++;
		tlb->compared++;
		*state = differs ? EMU_TLB_DIFFERS : EMU_TLB_HIT;
		if (!fault && emu_xlate_pa(&entry->x, va) == emu_xlate_pa(x, va) &&
		    entry->x.write == x->write) {
			*x = entry->x;
			return UMA_FAULT_NONE;
		}
		*state = EMU_TLB_DIFFERS;
		*old = entry->x;
		entry->valid = false;
	} else {
		tlb->misses++;
		*state = differs ? EMU_TLB_DIFFERS : EMU_TLB_MISS;
	}
	if (!fault)
		emu_tlb_insert(tlb, as, va, x);
	return fault;
}
EXPORT_SYMBOL_IF_KUNIT(emu_translate);
