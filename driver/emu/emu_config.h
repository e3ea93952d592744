/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What an emulated device is like. Plain data: who fills it in (configfs, a
 * module parameter, a test) is none of its business.
 */
#ifndef _EMU_CONFIG_H_
#define _EMU_CONFIG_H_

#include <linux/types.h>

#define EMU_NAME_MAX		32
#define EMU_LATENCY_MAX_US	1000000
#define EMU_STALE_MAX_MS	10000
#define EMU_RESET_MAX_MS	30000
#define EMU_RING_ORDER_MAX	12

/**
 * struct emu_config - an emulated device, before it exists
 */
struct emu_config {
	/** @profile: name of the chip, as uma_profile_find() knows it */
	char profile[EMU_NAME_MAX];
	/** @paranoid: compare every TLB hit with the page table, look for memory that was freed */
	bool paranoid;
	/** @noncoherent: the device does not see the processor's caches, see emu_dma.c */
	bool noncoherent;
	/** @pace: take at least the time that the modelled clock would take */
	bool pace;
	/** @latency_us: time that every job takes before its first task */
	u32 latency_us;
	/** @task_us: time that every task takes before it begins */
	u32 task_us;
	/** @tile_us: time that every tile takes before it begins */
	u32 tile_us;
	/** @preempt: jobs can be stopped at task boundaries */
	bool preempt;
	/** @preempt_tiles: with @preempt: within a task too, between two tiles */
	bool preempt_tiles;
	/** @stale_ms: time that an invalidation may lag behind the page table */
	u32 stale_ms;
	/** @reset_ms: time that engine and power are said to need to stop; the device twice that */
	u32 reset_ms;
	/** @address_spaces: hardware address spaces, 1 .. UMA_MAX_AS */
	u32 address_spaces;
	/** @ring_order: log2 of the largest number of ring entries */
	u32 ring_order;
	/** @memory: bytes that each memory node reports, 0: whatever there is */
	u64 memory;
};

void emu_config_init(struct emu_config *cfg);
bool uma_emu_config_is_valid(const struct emu_config *cfg, const char **why);

#endif /* _EMU_CONFIG_H_ */
