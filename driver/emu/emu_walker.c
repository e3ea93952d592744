// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The walker reads page tables at random, as a device may: at any time, from every root
 * that is enabled, whether a job needs them or not. Everything that it reaches has to be
 * mapped for the device, so it detects a driver that frees a table before invalidating
 * it, even if no job uses that table.
 */
#include <linux/delay.h>
#include <linux/dma-fence.h>
#include <linux/kthread.h>
#include <linux/random.h>

#include "emu_compat.h"
#include "emu_device.h"

/* Walks are allowed while accesses are checked and no reset or power-off is in progress. */
static bool emu_walker_may(struct emu_device *emu)
{
	return !READ_ONCE(emu->gone) && !READ_ONCE(emu->reset_queued) &&
	       !READ_ONCE(emu->power.fading) && emu_is_watched(emu);
}

/* Find an enabled address space, starting at a random one; UMA_MAX_AS if there is none. */
static u32 emu_walker_pick(struct emu_device *emu)
{
	u32 first = get_random_u32_below(UMA_MAX_AS), i;

	for (i = 0; i < UMA_MAX_AS && emu_walker_may(emu); i++) {
		u32 as = (first + i) % UMA_MAX_AS;

		if (READ_ONCE(emu->as_root[as]) & UMA_AS_ENABLE)
			return as;
	}
	return UMA_MAX_AS;
}

/**
 * emu_walker_begin - begin a walk, for whose end invalidations of the address space wait
 * @emu: device
 * @as: address space
 * @root: out: its root
 *
 * Return: false if there is nothing to walk.
 */
bool emu_walker_begin(struct emu_device *emu, u32 as, u64 *root)
{
	struct emu_walker *walker = &emu->walker;
	unsigned long flags;

	spin_lock_irqsave(&emu->lock, flags);
	*root = emu->as_root[as];
	walker->walking = (*root & UMA_AS_ENABLE) && emu_walker_may(emu);
	walker->as = as;
	walker->walks += walker->walking;
	spin_unlock_irqrestore(&emu->lock, flags);
	return walker->walking;
}
EXPORT_SYMBOL_IF_KUNIT(emu_walker_begin);

/**
 * emu_walker_end - end a walk
 * @emu: device
 */
void emu_walker_end(struct emu_device *emu)
{
	struct emu_walker *walker = &emu->walker;
	unsigned long flags;
	bool done;

	spin_lock_irqsave(&emu->lock, flags);
	done = walker->inval_pending;
	walker->inval_pending = false;
	walker->walking = false;
	spin_unlock_irqrestore(&emu->lock, flags);
	if (done)
		atomic_dec_return_release(&emu->inval_busy);
	emu_engine_faded(emu);
	wake_up(&emu->idle);
}
EXPORT_SYMBOL_IF_KUNIT(emu_walker_end);

/**
 * emu_walker_inval - does an invalidation have to wait for the walker?
 * @emu: device, locked
 * @as: address space of the command
 *
 * Return: true if so: emu_walker_end() will decrement &emu_device.inval_busy.
 */
bool emu_walker_inval(struct emu_device *emu, u32 as)
{
	struct emu_walker *walker = &emu->walker;

	lockdep_assert_held(&emu->lock);

	walker->inval_pending |= walker->walking && walker->as == as;
	return walker->inval_pending;
}

/* Pick any entry of a table, or in three of four cases a valid one if there is one. */
static u64 emu_walker_entry(const __le64 *table, u32 *index)
{
	u32 valid = 0, i;

	*index = get_random_u32_below(UMA_PT_ENTRIES);
	if (!get_random_u32_below(4))
		return le64_to_cpu(READ_ONCE(table[*index]));

	for (i = 0; i < UMA_PT_ENTRIES; i++)
		valid += !!(le64_to_cpu(READ_ONCE(table[i])) & UMA_PTE_VALID);
	valid = valid ? get_random_u32_below(valid) : 0;
	for (i = 0; i < UMA_PT_ENTRIES; i++) {
		u64 pte = le64_to_cpu(READ_ONCE(table[i]));

		*index = i;
		if ((pte & UMA_PTE_VALID) && !valid--)
			return pte;
	}
	return 0;
}

/* Returns false if the walk reached memory that is not mapped. */
static bool emu_walker_walk(struct emu_device *emu, u32 as, u64 root)
{
	u64 at = root & UMA_PTE_ADDR, va = 0, pte;
	const __le64 *table;
	u32 level, index;

	for (level = 0; level < UMA_PT_LEVELS; level++) {
		u32 shift = UMA_PAGE_SHIFT + (UMA_PT_LEVELS - 1 - level) * UMA_PT_BITS;

		/* Long walks are likelier to race with a driver that frees without waiting. */
		if (!get_random_u32_below(8))
			usleep_range(10, 100);
		table = emu_phys_ptr(at, PAGE_SIZE);
		if (!table)
			return true;
		if (!emu_check_memory(emu, NULL, "table", as, va, at))
			return false;
		pte = emu_walker_entry(table, &index);
		if (!(pte & UMA_PTE_VALID))
			return true;
		va |= (u64)index << shift;
		at = pte & UMA_PTE_ADDR;
		if (shift == UMA_BLOCK_SHIFT && (pte & UMA_PTE_BLOCK)) {
			at += get_random_u32_below(1U << UMA_BLOCK_SHIFT) & PAGE_MASK;
			break;
		}
	}
	return emu_check_memory(emu, NULL, "page", as, va, at);
}

static int emu_walker_thread(void *data)
{
	struct emu_device *emu = data;
	struct emu_walker *walker = &emu->walker;
	bool signalling, clean = true;
	u64 root;
	u32 as;

	while (!kthread_should_stop()) {
		wait_event_idle(walker->wait, kthread_should_stop() ||
				emu_walker_pick(emu) < UMA_MAX_AS);
		as = emu_walker_pick(emu);
		if (as < UMA_MAX_AS && emu_walker_begin(emu, as, &root)) {
			/* Invalidations wait for the walk, and jobs for invalidations. */
			signalling = dma_fence_begin_signalling();
			clean = emu_walker_walk(emu, as, root);
			emu_walker_end(emu);
			dma_fence_end_signalling(signalling);
		}
		/* Back off after an error, which would only be found and logged again. */
		wait_event_idle_timeout(walker->wait, kthread_should_stop(),
					clean ? 1 + get_random_u32_below(3) : HZ);
	}
	return 0;
}

/**
 * emu_walker_init - start the walker of a paranoid device
 * @emu: device
 *
 * Return: 0 or a negative error.
 */
int emu_walker_init(struct emu_device *emu)
{
	struct task_struct *thread;

	if (!emu->cfg.paranoid)
		return 0;
	thread = kthread_run(emu_walker_thread, emu, "uma_emu%d/walk", emu->id);
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	emu->walker.thread = thread;
	return 0;
}

/**
 * emu_walker_fini - stop the walker
 * @emu: device
 */
void emu_walker_fini(struct emu_device *emu)
{
	if (emu->walker.thread)
		kthread_stop(emu->walker.thread);
	emu->walker.thread = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(emu_walker_fini);
