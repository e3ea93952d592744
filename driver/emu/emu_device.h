/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * An emulated device from the inside.
 *
 * Locks, outermost first: emu->power.lock, emu->lock, engine->lock,
 * emu->irq.lock. Register callbacks run with interrupts off and take them all,
 * so none is held over anything that sleeps or takes long.
 */
#ifndef _EMU_DEVICE_H_
#define _EMU_DEVICE_H_

#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "../uma_regs.h"
#include "emu_config.h"
#include "emu_mmu.h"
#include "../model/uma_model.h"

struct dentry;
struct device;
struct irq_domain;
struct platform_device;
struct regmap;
struct task_struct;
struct emu_device;

/**
 * struct emu_irq - interrupt latch and the line behind it
 */
struct emu_irq {
	/** @lock: protects the latch */
	raw_spinlock_t lock;
	/** @status: latched events */
	u32 status;
	/** @enable: events that raise the line */
	u32 enable;
	/** @masked: the interrupt controller's mask */
	bool masked;
	/** @dead: the device has gone */
	bool dead;
	/** @spurious: pulses without a cause that are still to come */
	u32 spurious;
	/** @raised: times that the line was seen high, for debugfs */
	u64 raised;
	/** @work: gets from any context to interrupt context */
	struct irq_work work;
	/** @domain: our interrupt controller, of one line */
	struct irq_domain *domain;
	/** @virq: Linux's number of the line */
	unsigned int virq;
};

/**
 * struct emu_inject - faults to inject, from debugfs
 */
struct emu_inject {
	/** @hang: engines whose next job never ends */
	atomic_t hang;
	/** @hang_start: jobs whose tasks begin here or behind never end */
	u64 hang_start;
	/** @hang_end: if they begin before */
	u64 hang_end;
	/** @hang_step: jobs that never end hold on to what they looked up */
	bool hang_step;
	/** @ecc_error: tasks that hit memory with an error that cannot be corrected */
	atomic_t ecc_error;
	/** @lose_irq: engine events that will not be latched */
	atomic_t lose_irq;
	/** @lose_inval: invalidation commands that will do nothing */
	atomic_t lose_inval;
	/** @fail_reset: resets that will not end */
	atomic_t fail_reset;
	/** @slow_reset: milliseconds that resets take longer */
	u32 slow_reset;
	/** @fail_power: times that switching power off has no effect */
	atomic_t fail_power;
	/** @watch_lost: after a reset that did not end, look for what is freed all the same */
	bool watch_lost;
	/** @no_time: completion records say that jobs took none */
	bool no_time;
	/** @bad_record: completion records that will be garbage */
	atomic_t bad_record;
	/** @addr_armed: accesses to the range below that will fault */
	atomic_t addr_armed;
	/** @addr_as: address space, -1: any */
	int addr_as;
	/** @addr_start: first address */
	u64 addr_start;
	/** @addr_end: one past the last address */
	u64 addr_end;
};

/**
 * struct emu_power - modelled clock, temperature and energy
 */
struct emu_power {
	/** @lock: protects all of it */
	spinlock_t lock;
	/** @on: engines have power */
	bool on;
	/** @throttled: too hot */
	bool throttled;
	/** @fading: power was taken away and engines have yet to stop; under &emu_device.lock */
	bool fading;
	/** @forced: throttled by debugfs */
	bool forced;
	/** @clock_max: highest clock, MHz */
	u32 clock_max;
	/** @clock_min: lowest clock, MHz */
	u32 clock_min;
	/** @clock_cap: limit that the driver set, MHz */
	u32 clock_cap;
	/** @clock: now, MHz */
	u32 clock;
	/** @temp_uc: microdegrees Celsius */
	s64 temp_uc;
	/** @mw: average power since the last update */
	u32 mw;
	/** @full_mw: power with all engines busy at the highest clock */
	u32 full_mw;
	/** @energy_pj: since reset of the device, picojoules */
	u64 energy_pj;
	/** @updated: time of the last update, ns */
	u64 updated;
	/** @busy_seen: busy time of each engine at the last update */
	u64 busy_seen[UMA_MAX_ENGINES];
	/** @work: updates while something goes on */
	struct delayed_work work;
};

/**
 * struct emu_walker - reads page tables at random, as a device may
 *
 * A thread of paranoid mode. What it finds are tables and pages that the driver has
 * taken back before the device was told; what it uses, invalidations wait for.
 */
struct emu_walker {
	/** @thread: the walker, NULL if the device is not paranoid */
	struct task_struct *thread;
	/** @wait: where it waits for an address space to be enabled */
	wait_queue_head_t wait;
	/** @walking: it is under way in @as; under &emu_device.lock, as is what follows */
	bool walking;
	/** @as: address space */
	u32 as;
	/** @inval_pending: an invalidation waits for the end of the walk */
	bool inval_pending;
	/** @walks: walks so far */
	u64 walks;
};

#define EMU_SUSPECTS	4

/**
 * struct emu_suspect - a TLB entry that differed from the page table
 *
 * The driver changes the table first and invalidates then; in between an
 * engine may well meet the old entry. Only one that stays without a covering
 * invalidation is stale.
 */
struct emu_suspect {
	/** @valid: waiting for an invalidation */
	bool valid;
	/** @as: address space */
	u32 as;
	/** @va: address accessed */
	u64 va;
	/** @old: what the TLB said */
	struct emu_xlate old;
	/** @now: what the table said */
	struct emu_xlate now;
	/** @fault: what the walk returned */
	enum uma_fault fault;
};

/**
 * struct emu_view - the model's memory, as an engine sees it
 */
struct emu_view {
	/** @mem: the model's part */
	struct uma_mem mem;
	/** @engine: engine */
	struct emu_engine *engine;
	/** @as: address space of the job */
	u32 as;
};

/**
 * struct emu_fault - fault of a job, as registers and record show it
 * @reason: enum uma_fault
 * @slot: enum uma_slot or UMA_FAULT_NO_SLOT
 * @as: address space of the job
 * @addr: device address, else 0
 * @seqno: that of the ring entry, 0 if that is not known
 * @field: what was at fault, for debugfs
 */
struct emu_fault {
	u32 reason;
	u32 slot;
	u32 as;
	u64 addr;
	u64 seqno;
	const char *field;
};

/**
 * enum emu_reset - how much of an engine is reset
 * @EMU_RESET_ENGINE: what the reset bit of the engine does
 * @EMU_RESET_POWER: what the loss of power does: where ring and records are, too
 * @EMU_RESET_DEVICE: what a device reset does: counters, too
 */
enum emu_reset {
	EMU_RESET_ENGINE,
	EMU_RESET_POWER,
	EMU_RESET_DEVICE,
};

/**
 * struct emu_engine - an engine: a block of registers, a ring and a worker
 */
struct emu_engine {
	/** @emu: device */
	struct emu_device *emu;
	/** @index: number of the engine */
	u32 index;
	/** @desc: what it can do */
	const struct uma_engine_desc *desc;
	/** @thread: the worker */
	struct task_struct *thread;
	/** @wait: where the worker waits for registers to change */
	wait_queue_head_t wait;

	/** @lock: protects what follows, down to @misses_seen */
	spinlock_t lock;
	/** @ring_base: physical address of the entries */
	u64 ring_base;
	/** @record_base: physical address of the records */
	u64 record_base;
	/** @order: log2 of the number of entries */
	u32 order;
	/** @head: entry that runs or would run next */
	u32 head;
	/** @tail: one past the last entry */
	u32 tail;
	/** @enabled: UMA_ENG_ENABLE */
	bool enabled;
	/** @halted: UMA_ENG_HALTED */
	bool halted;
	/** @busy: UMA_ENG_BUSY */
	bool busy;
	/** @resetting: UMA_ENG_RESET reads 1 */
	bool resetting;
	/** @reset: the worker has to carry out a reset */
	bool reset;
	/** @lose: it was power that was taken: where ring and records are is lost as well */
	bool lose;
	/** @stopped: enable was taken away; the job ends after the tile */
	bool stopped;
	/** @preempt: sequence number of the job that is to stop at a task boundary, or a tile's */
	u64 preempt;
	/** @hung: the job never ends, by debugfs */
	bool hung;
	/** @task_index: task that runs, or faulted */
	u32 task_index;
	/** @fault: fault that halted the engine */
	struct emu_fault fault;
	/** @cnt: counters but for busy and stall time that is still running */
	u64 cnt[UMA_MAX_COUNTERS];
	/** @cnt_hi: high words, latched by reading the low ones */
	u32 cnt_hi[UMA_MAX_COUNTERS];
	/** @busy_since: time when the job began, 0 if none */
	u64 busy_since;
	/** @busy_total: busy time since creation; resets leave it alone */
	u64 busy_total;
	/** @stall_since: time when the stall began, 0 if none */
	u64 stall_since;
	/** @in_step: the worker may be using the TLB and pointers made from it */
	bool in_step;
	/** @flush_pending: entries of other address spaces wait for the end of the step */
	bool flush_pending;
	/** @inval_pending: @inval waits for the end of the step */
	bool inval_pending;
	/** @inval: invalidation command */
	struct emu_inval inval;
	/** @suspect: entries that may turn out stale; more are not remembered */
	struct emu_suspect suspect[EMU_SUSPECTS];

	/** @misses_seen: misses of @tlb that are in the counter */
	u64 misses_seen;

	/** @view: the worker's memory view */
	struct emu_view view;
	/** @tlb: its TLB */
	struct emu_tlb tlb;
	/** @fpu_sections: floating-point sections so far */
	u64 fpu_sections;
	/** @fpu_ns: time spent in them */
	u64 fpu_ns;
	/** @fpu_max_ns: the longest */
	u64 fpu_max_ns;
	/** @task: copy of the descriptor */
	struct uma_task *task;
	/** @op: the decoded descriptor */
	struct uma_op *op;
	/** @prog: the prepared task */
	struct uma_program *prog;
	/** @posted: entries as they were when the doorbell rang; NULL if the device is coherent */
	struct uma_ring_entry *posted;
	/** @scratch: UMA_SCRATCH_SIZE bytes */
	void *scratch;
};

/**
 * struct emu_device - an emulated device
 */
struct emu_device {
	/** @cfg: what it was made from */
	struct emu_config cfg;
	/** @profile: the chip */
	const struct uma_profile *profile;
	/** @kernels: inner kernels that suit this processor */
	const struct uma_kernels *kernels;
	/** @parent: holds the regmap, so that it is there before the driver probes */
	struct device *parent;
	/** @pdev: what the driver binds to */
	struct platform_device *pdev;
	/** @regmap: access to the registers */
	struct regmap *regmap;
	/** @name: of the platform device */
	char name[EMU_NAME_MAX];
	/** @id: number of the instance */
	int id;

	/** @lock: protects what follows, down to @irq */
	spinlock_t lock;
	/** @as_root: root registers */
	u64 as_root[UMA_MAX_AS];
	/** @inval_as: UMA_REG_INVAL_AS */
	u32 inval_as;
	/** @inval_start: UMA_REG_INVAL_START */
	u64 inval_start;
	/** @inval_size: UMA_REG_INVAL_SIZE */
	u64 inval_size;
	/** @inval_busy: engines that have yet to carry out the command */
	atomic_t inval_busy;
	/** @inval_ignored: commands written while one was busy */
	u32 inval_ignored;
	/** @roots_torn: roots whose high word was written while they were enabled */
	u32 roots_torn;
	/** @inval_count: commands carried out */
	u64 inval_count;
	/** @status: UMA_DEV_ERROR, UMA_DEV_STALE_TLB */
	u32 status;
	/** @resetting: UMA_DEV_RESET reads 1 */
	bool resetting;
	/** @reset_queued: @reset_work will end that */
	bool reset_queued;
	/** @gone: unplugged: reads give ones, engines stand still */
	bool gone;
	/** @ts_hi: high word of the timestamp, latched */
	u32 ts_hi;
	/** @energy_hi: high word of the energy, latched */
	u32 energy_hi;

	/** @freed: accesses to memory that is not mapped for the device any more */
	atomic64_t freed;
	/** @knows_mapped: @mapped is complete */
	bool knows_mapped;
	/** @mapped: how often each page is mapped for the device, by frame number */
	struct xarray mapped;
	/** @shadows: what the device sees of a page instead of the page, by frame number */
	struct xarray shadows;
	/** @dma_dev: device that memory is mapped for */
	struct device *dma_dev;
	/** @dma_link: in the list of all devices that have @dma_dev */
	struct list_head dma_link;
	/** @walker: reads page tables at random */
	struct emu_walker walker;

	/** @irq: interrupt */
	struct emu_irq irq;
	/** @inject: faults to inject */
	struct emu_inject inject;
	/** @power: clock, temperature, energy */
	struct emu_power power;
	/** @wq: whole-device work */
	struct workqueue_struct *wq;
	/** @reset_work: carries out a device reset */
	struct work_struct reset_work;
	/** @unplug_work: takes the device away, by debugfs */
	struct work_struct unplug_work;
	/** @idle: where the device reset waits for the engines */
	wait_queue_head_t idle;
	/** @debugfs: directory */
	struct dentry *debugfs;
	/** @engine_count: number of @engines */
	u32 engine_count;
	/** @engines: the engines */
	struct emu_engine *engines;
};

/* emu_drv.c */
struct emu_device *emu_create_bare(const struct emu_config *cfg);
struct emu_device *emu_create(const struct emu_config *cfg);
void emu_destroy(struct emu_device *emu);
void emu_vanish(struct emu_device *emu);
const char *emu_name(const struct emu_device *emu);

/* emu_regs.c */
int emu_reg_read(void *context, unsigned int reg, unsigned int *val);
int emu_reg_write(void *context, unsigned int reg, unsigned int val);
void emu_regs_reset(struct emu_device *emu);
u64 emu_now(void);
bool emu_inject_take(atomic_t *count);
void emu_raise_status(struct emu_device *emu, u32 status);

/* emu_irq.c */
int emu_irq_init(struct emu_irq *irq);
void emu_irq_fini(struct emu_irq *irq);
void emu_irq_raise(struct emu_irq *irq, u32 events);
void emu_irq_ack(struct emu_irq *irq, u32 events);
void emu_irq_enable(struct emu_irq *irq, u32 events);
void emu_irq_reset(struct emu_irq *irq);
void emu_irq_kill(struct emu_irq *irq);
void emu_irq_spurious(struct emu_irq *irq, u32 count);
bool emu_irq_line(struct emu_irq *irq);

/**
 * emu_has_tiles - can jobs be stopped within a task?
 * @emu: device
 *
 * Return: UMA_FEATURE_TILES, as a truth.
 */
static inline bool emu_has_tiles(const struct emu_device *emu)
{
	return emu->cfg.preempt && emu->cfg.preempt_tiles;
}

/* emu_ring.c */
int emu_ring_pending(u32 head, u32 tail, u32 order);
enum uma_fault emu_ring_fetch(u64 base, u32 order, u32 head,
			      struct uma_ring_entry *entry);
enum uma_fault emu_ring_check(const struct uma_ring_entry *entry, u32 max_tasks,
			      u32 as_count, bool tiles);
void emu_ring_spoil(u64 base, u32 order, u32 head);
bool emu_ring_complete(u64 base, u32 order, u32 head, const struct uma_record *rec);

/* emu_mem.c */
bool emu_is_watched(const struct emu_device *emu);
bool emu_check_memory(struct emu_device *emu, const struct emu_engine *engine, const char *what,
		      u32 as, u64 va, u64 pa);
void emu_view_init(struct emu_view *view, struct emu_engine *engine);
void emu_step_begin(struct emu_engine *engine);
void emu_step_end(struct emu_engine *engine);
bool emu_step_suspect(struct emu_engine *engine, struct uma_fault_info *fault);
void emu_invalidate(struct emu_device *emu, u32 cmd);
u32 emu_copy_from(struct emu_view *view, u64 addr, void *to, u64 size);
u32 emu_copy_to(struct emu_view *view, u64 addr, const void *from, u64 size);

/* emu_dma.c */
int emu_dma_own(struct emu_device *emu, u64 pa, u64 size);
void emu_dma_disown(struct emu_device *emu, u64 pa, u64 size);
void *emu_dma_ptr(struct emu_device *emu, u64 pa);
bool emu_dma_owned(struct emu_device *emu, u64 pa);
void emu_dma_attach(struct emu_device *emu, struct device *dev);
void emu_dma_detach(struct emu_device *emu);

/* emu_walker.c */
int emu_walker_init(struct emu_device *emu);
void emu_walker_fini(struct emu_device *emu);
bool emu_walker_begin(struct emu_device *emu, u32 as, u64 *root);
void emu_walker_end(struct emu_device *emu);
bool emu_walker_inval(struct emu_device *emu, u32 as);

/* emu_engine.c */
int emu_engine_init(struct emu_device *emu, u32 index);
void emu_engine_fini(struct emu_engine *engine);
void emu_engine_ctrl(struct emu_engine *engine, u32 val);
void emu_engine_reset_regs(struct emu_engine *engine, enum emu_reset how);
void emu_engine_faded(struct emu_device *emu);
void emu_engines_power_off(struct emu_device *emu);
u64 emu_engine_busy_ns(struct emu_engine *engine, u64 now);
u32 emu_engine_flags(const struct emu_engine *engine);
bool emu_engine_preempts(struct emu_engine *engine, u64 seqno);
int emu_engine_poll(struct emu_engine *engine, bool tile_end);
bool emu_engine_poll_abort(struct emu_engine *engine);
void emu_engine_stall(struct emu_engine *engine, bool begin);
void emu_engine_delay(struct emu_engine *engine, u64 ns);
void emu_engines_wake(struct emu_device *emu);
void emu_device_reset(struct emu_device *emu);
void emu_reset_work(struct work_struct *work);

/* emu_exec.c */
int emu_exec_task(struct emu_engine *engine, u64 addr, u64 seqno, u64 *tile,
		  struct uma_fault_info *fault);
int emu_exec_stamp(struct emu_engine *engine, u64 addr, u64 start, struct uma_fault_info *fault);

/* emu_fpu.c */
int emu_fpu_init(void);
void emu_fpu_run(struct emu_engine *engine, void (*fn)(void *arg), void *arg);
const struct uma_kernels *emu_fpu_kernels(void);
const char *emu_fpu_kernels_name(void);

/* emu_power.c */
u32 emu_power_engine_mhz(const struct emu_device *emu, const struct uma_engine_desc *desc);
void emu_power_init(struct emu_device *emu);
void emu_power_fini(struct emu_device *emu);
void emu_power_reset(struct emu_device *emu);
void emu_power_update(struct emu_device *emu);
void emu_power_kick(struct emu_device *emu);
void emu_power_switch(struct emu_device *emu, bool on);
void emu_power_cap(struct emu_device *emu, u32 mhz);
void emu_power_force(struct emu_device *emu, bool throttle);
u32 emu_power_read(struct emu_device *emu, u32 reg);
u64 emu_power_energy_uj(struct emu_device *emu);
s64 emu_thermal_step(s64 temp_uc, s64 target_uc, u64 dt_ns, u64 tau_ns);

/* emu_debugfs.c */
void emu_debugfs_register(void);
void emu_debugfs_unregister(void);
void emu_debugfs_add(struct emu_device *emu);
void emu_debugfs_remove(struct emu_device *emu);

/* emu_configfs.c */
int emu_configfs_register(void);
void emu_configfs_unregister(void);

#endif /* _EMU_DEVICE_H_ */
