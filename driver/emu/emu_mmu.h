/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Page-table walk and translation lookaside buffer.
 */
#ifndef _EMU_MMU_H_
#define _EMU_MMU_H_

#include <linux/types.h>

#include "../uma_regs.h"
#include "../model/uma_model.h"

#define EMU_VA_BITS	48

/* Marks addresses of shadowed pages, see emu_dma.c; no CPU has memory there. */
#define EMU_SHADOWED	BIT_ULL(47)

/* Sizes of an engine's TLB: small, so that every test causes evictions */
#define EMU_TLB_WAYS	4
#define EMU_TLB_SETS	64	/* 4 KiB entries */
#define EMU_TLB_BSETS	16	/* 2 MiB entries */
#define EMU_TLB_DIRS	4	/* tables of each level but the first */

/**
 * struct emu_xlate - a translation
 * @pa: physical address of the first byte of the page or block
 * @shift: UMA_PAGE_SHIFT or UMA_BLOCK_SHIFT
 * @write: tasks may write
 */
struct emu_xlate {
	u64 pa;
	u8 shift;
	bool write;
};

static inline u64 emu_xlate_pa(const struct emu_xlate *x, u64 va)
{
	return x->pa + (va & ((1ULL << x->shift) - 1));
}

/**
 * struct emu_tlb_entry - a cached translation
 * @va: first address of the page or block
 * @x: what it translates to
 * @as: address space
 * @valid: in use
 */
struct emu_tlb_entry {
	u64 va;
	struct emu_xlate x;
	u16 as;
	bool valid;
};

/**
 * struct emu_tlb_dir - an entry of the page-walk cache, which points to a table
 * @va: first address that the table translates
 * @table: physical address of the table
 * @as: address space
 * @valid: in use
 */
struct emu_tlb_dir {
	u64 va;
	u64 table;
	u16 as;
	bool valid;
};

/**
 * struct emu_inval - an invalidation command
 * @as: address space
 * @all: the whole address space, else [@start, @end)
 * @start: first address
 * @end: one past the last address
 */
struct emu_inval {
	u32 as;
	bool all;
	u64 start;
	u64 end;
};

/**
 * struct emu_tlb - the TLB of an engine
 *
 * Used by the engine's worker during a step, by others only between two steps
 * and with &emu_engine.lock held.
 */
struct emu_tlb {
	/** @page: entries of 4 KiB */
	struct emu_tlb_entry page[EMU_TLB_SETS][EMU_TLB_WAYS];
	/** @block: entries of 2 MiB */
	struct emu_tlb_entry block[EMU_TLB_BSETS][EMU_TLB_WAYS];
	/** @dir: page-walk cache, by level of the table minus one */
	struct emu_tlb_dir dir[UMA_PT_LEVELS - 1][EMU_TLB_DIRS];
	/** @next_dir: entry to replace next */
	u8 next_dir[UMA_PT_LEVELS - 1];
	/** @next_page: way to replace next */
	u8 next_page[EMU_TLB_SETS];
	/** @next_block: way to replace next */
	u8 next_block[EMU_TLB_BSETS];
	/** @hits: since creation */
	u64 hits;
	/** @misses: since creation */
	u64 misses;
	/** @shortened: walks that began at an entry of @dir, since creation */
	u64 shortened;
	/** @invalidated: entries that invalidations dropped, since creation */
	u64 invalidated;
	/** @compared: hits that paranoid mode compared with the page table */
	u64 compared;
};

/**
 * struct emu_trail - the tables that a walk has read
 * @table: physical addresses of the tables, by level
 * @first: level at which the walk began
 * @end: one past the last level that it reached
 */
struct emu_trail {
	u64 table[UMA_PT_LEVELS];
	u32 first;
	u32 end;
};

void *emu_phys_ptr(u64 pa, u64 size);
enum uma_fault emu_walk(u64 root, u64 va, struct emu_xlate *x, struct emu_trail *trail);

struct emu_tlb_entry *emu_tlb_lookup(struct emu_tlb *tlb, u32 as, u64 va);
struct emu_tlb_entry *emu_tlb_insert(struct emu_tlb *tlb, u32 as, u64 va,
				     const struct emu_xlate *x);
u32 emu_tlb_inval(struct emu_tlb *tlb, const struct emu_inval *inv);
void emu_tlb_flush(struct emu_tlb *tlb);
u32 emu_tlb_count(const struct emu_tlb *tlb);
bool emu_inval_covers(const struct emu_inval *inv, u32 as, u64 va, u8 shift);

/**
 * enum emu_tlb_state - result of a lookup
 * @EMU_TLB_MISS: the page table was walked
 * @EMU_TLB_HIT: an entry was used
 * @EMU_TLB_DIFFERS: an entry differed from the page table, and was replaced
 */
enum emu_tlb_state {
	EMU_TLB_MISS,
	EMU_TLB_HIT,
	EMU_TLB_DIFFERS,
};

enum uma_fault emu_translate(struct emu_tlb *tlb, u32 as, u64 root, u64 va,
			     bool paranoid, struct emu_xlate *x,
			     enum emu_tlb_state *state, struct emu_xlate *old,
			     struct emu_trail *trail);

#endif /* _EMU_MMU_H_ */
