/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Configuration of an emulated device: plain data, filled in by configfs, module
 * parameters or a test.
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
 * struct emu_config - configuration of an emulated device
 */
struct emu_config {
	/** @profile: name of the chip, see uma_profile_find() */
	char profile[EMU_NAME_MAX];
	/** @paranoid: compare TLB hits with the page table, detect accesses to freed memory */
	bool paranoid;
	/** @noncoherent: the device is not cache coherent, see emu_dma.c */
	bool noncoherent;
	/** @pace: run tasks no faster than the modelled clock would */
	bool pace;
	/** @latency_us: delay before the first task of every job */
	u32 latency_us;
	/** @task_us: delay before every task */
	u32 task_us;
	/** @tile_us: delay before every tile */
	u32 tile_us;
	/** @preempt: jobs can be preempted at task boundaries */
	bool preempt;
	/** @preempt_tiles: with @preempt, also within a task, between two tiles */
	bool preempt_tiles;
	/** @stale_ms: how long an invalidation may lag behind the change of the page table */
	u32 stale_ms;
	/** @reset_ms: reported limit of engine reset and power-off; of device reset: twice that */
	u32 reset_ms;
	/** @address_spaces: hardware address spaces, 1 .. UMA_MAX_AS */
	u32 address_spaces;
	/** @ring_order: log2 of the largest number of ring entries */
	u32 ring_order;
	/** @memory: size that each memory node reports, 0 to let the driver use that of RAM */
	u64 memory;
};

void emu_config_init(struct emu_config *cfg);
bool uma_emu_config_is_valid(const struct emu_config *cfg, const char **why);

#endif /* _EMU_CONFIG_H_ */
