/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Internal state of an emulated device.
 *
 * Locks, outermost first: emu->power.lock, emu->lock, engine->lock,
 * emu->irq.lock. Register callbacks run with interrupts off and take all of
 * them, so none is held while sleeping or during long operations.
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
 * struct emu_irq - interrupt latch and its line
 */
struct emu_irq {
	/** @lock: protects the members below, down to @raised */
	raw_spinlock_t lock;
	/** @status: latched events */
	u32 status;
	/** @enable: events that raise the line */
	u32 enable;
	/** @masked: the interrupt controller masks the line */
	bool masked;
	/** @dead: the device is gone, the line stays low */
	bool dead;
	/** @spurious: number of spurious interrupts left to deliver */
	u32 spurious;
	/** @raised: number of interrupts delivered, for debugfs */
	u64 raised;
	/** @work: delivers interrupts in interrupt context */
	struct irq_work work;
	/** @domain: interrupt domain with this one line */
	struct irq_domain *domain;
	/** @virq: Linux interrupt number of the line */
	unsigned int virq;
};

/**
 * struct emu_inject - faults to inject, from debugfs
 */
struct emu_inject {
	/** @hang: mask of the engines whose next job hangs */
	atomic_t hang;
	/** @hang_start: jobs whose task array begins in [@hang_start, @hang_end) hang */
	u64 hang_start;
	/** @hang_end: end of that range; under &emu_device.lock, as is @hang_start */
	u64 hang_end;
	/** @hang_step: jobs hang within a step, so that invalidations wait for them */
	bool hang_step;
	/** @ecc_error: number of tasks that hit an uncorrectable memory error */
	atomic_t ecc_error;
	/** @lose_irq: number of engine events that are not latched */
	atomic_t lose_irq;
	/** @lose_inval: number of invalidation commands that have no effect */
	atomic_t lose_inval;
	/** @fail_reset: number of resets that do not complete */
	atomic_t fail_reset;
	/** @slow_reset: additional duration of resets, in ms */
	u32 slow_reset;
	/** @fail_power: number of power-offs that have no effect */
	atomic_t fail_power;
	/** @watch_lost: detect accesses to freed memory even if a reset does not complete */
	bool watch_lost;
	/** @no_time: completion records report that jobs took no time */
	bool no_time;
	/** @bad_record: number of completion records that are garbage */
	atomic_t bad_record;
	/** @addr_armed: number of accesses to the range below that fault */
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
	/** @lock: protects the other members, except for @fading */
	spinlock_t lock;
	/** @on: engines have power */
	bool on;
	/** @throttled: the clock is throttled */
	bool throttled;
	/** @fading: a power-off is waiting for engines to stop; under &emu_device.lock */
	bool fading;
	/** @forced: debugfs forces throttling */
	bool forced;
	/** @clock_max: highest clock, MHz */
	u32 clock_max;
	/** @clock_min: lowest clock, MHz */
	u32 clock_min;
	/** @clock_cap: limit that the driver set, MHz */
	u32 clock_cap;
	/** @clock: current clock, MHz */
	u32 clock;
	/** @temp_uc: temperature, microdegrees Celsius */
	s64 temp_uc;
	/** @mw: average power since the last update */
	u32 mw;
	/** @full_mw: power with all engines busy at the highest clock */
	u32 full_mw;
	/** @energy_pj: energy since the last device reset, picojoules */
	u64 energy_pj;
	/** @updated: time of the last update, ns */
	u64 updated;
	/** @busy_seen: busy time of each engine at the last update */
	u64 busy_seen[UMA_MAX_ENGINES];
	/** @work: periodic updates while engines run or the chip is hot */
	struct delayed_work work;
};

/**
 * struct emu_walker - walks page tables at random, as a device may
 *
 * A thread of paranoid mode. It detects tables and pages that the driver unmapped
 * without invalidating them first. An invalidation waits for a walk of its address space.
 */
struct emu_walker {
	/** @thread: the thread, NULL if the device is not paranoid */
	struct task_struct *thread;
	/** @wait: woken when a root register is written */
	wait_queue_head_t wait;
	/** @walking: a walk of @as is in progress; under &emu_device.lock, as are those below */
	bool walking;
	/** @as: address space */
	u32 as;
	/** @inval_pending: an invalidation waits for the end of the walk */
	bool inval_pending;
	/** @walks: number of walks since creation */
	u64 walks;
};

#define EMU_SUSPECTS	4

/**
 * struct emu_suspect - a TLB entry that differed from the page table
 *
 * The driver changes the table first and then invalidates; in between an engine
 * may still use the old entry. The entry is stale only if no invalidation covers
 * it within &emu_config.stale_ms.
 */
struct emu_suspect {
	/** @valid: waiting for an invalidation */
	bool valid;
	/** @as: address space */
	u32 as;
	/** @va: address accessed */
	u64 va;
	/** @old: translation of the TLB */
	struct emu_xlate old;
	/** @now: translation of the page table */
	struct emu_xlate now;
	/** @fault: result of the page-table walk */
	enum uma_fault fault;
};

/**
 * struct emu_view - the memory of an engine, as the model accesses it
 */
struct emu_view {
	/** @mem: interface to the model */
	struct uma_mem mem;
	/** @engine: engine */
	struct emu_engine *engine;
	/** @as: address space of the job */
	u32 as;
};

/**
 * struct emu_fault - fault of a job, as registers and record report it
 * @reason: enum uma_fault
 * @slot: enum uma_slot or UMA_FAULT_NO_SLOT
 * @as: address space of the job
 * @addr: address, 0 if there is none
 * @seqno: sequence number of the ring entry, 0 if it is not known
 * @field: name of the field at fault, for debugfs
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
 * struct emu_engine - an engine: a block of registers, a ring and a worker
 */
struct emu_engine {
	/** @emu: device */
	struct emu_device *emu;
	/** @index: number of the engine */
	u32 index;
	/** @desc: its description in the profile */
	const struct uma_engine_desc *desc;
	/** @thread: the worker */
	struct task_struct *thread;
	/** @wait: woken for the worker when registers change */
	wait_queue_head_t wait;

	/** @lock: protects the members below, down to @misses_seen */
	spinlock_t lock;
	/** @ring_base: physical address of the entries */
	u64 ring_base;
	/** @record_base: physical address of the records */
	u64 record_base;
	/** @order: log2 of the number of entries */
	u32 order;
	/** @head: index of the entry that runs, else of the next one */
	u32 head;
	/** @tail: one past the index of the last entry */
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
	/** @lose: by a loss of power, which also clears @ring_base, @record_base and @order */
	bool lose;
	/** @stopped: UMA_ENG_ENABLE was cleared: the job is dropped after its current tile */
	bool stopped;
	/** @preempt: sequence number of the job to preempt at its next task or tile boundary */
	u64 preempt;
	/** @hung: the job hangs because debugfs asked for it */
	bool hung;
	/** @task_index: index of the task that runs or faulted */
	u32 task_index;
	/** @fault: fault that halted the engine */
	struct emu_fault fault;
	/** @cnt: counters, without the busy or stall time of an interval that has not ended */
	u64 cnt[UMA_MAX_COUNTERS];
	/** @cnt_hi: high words, latched when the low ones are read */
	u32 cnt_hi[UMA_MAX_COUNTERS];
	/** @busy_since: start time of the job, 0 if there is none */
	u64 busy_since;
	/** @busy_total: busy time since creation; not cleared by resets */
	u64 busy_total;
	/** @stall_since: start time of the stall, 0 if there is none */
	u64 stall_since;
	/** @in_step: the worker may be using the TLB and pointers obtained from it */
	bool in_step;
	/** @flush_pending: the TLB is flushed at the end of the step */
	bool flush_pending;
	/** @inval_pending: @inval is carried out at the end of the step */
	bool inval_pending;
	/** @inval: invalidation command */
	struct emu_inval inval;
	/** @suspect: TLB entries that may be stale; any more are not recorded */
	struct emu_suspect suspect[EMU_SUSPECTS];

	/** @misses_seen: misses of @tlb that @cnt includes */
	u64 misses_seen;

	/** @view: the worker's memory view */
	struct emu_view view;
	/** @tlb: the worker's TLB */
	struct emu_tlb tlb;
	/** @fpu_sections: number of floating-point sections since creation */
	u64 fpu_sections;
	/** @fpu_ns: time spent in these sections */
	u64 fpu_ns;
	/** @fpu_max_ns: duration of the longest section */
	u64 fpu_max_ns;
	/** @task: copy of the descriptor */
	struct uma_task *task;
	/** @op: the decoded descriptor */
	struct uma_op *op;
	/** @prog: the prepared task */
	struct uma_program *prog;
	/** @posted: copies of the entries, taken at the doorbell; NULL if the device is coherent */
	struct uma_ring_entry *posted;
	/** @scratch: UMA_SCRATCH_SIZE bytes */
	void *scratch;
};

/**
 * struct emu_device - an emulated device
 */
struct emu_device {
	/** @cfg: its configuration */
	struct emu_config cfg;
	/** @profile: description of the chip */
	const struct uma_profile *profile;
	/** @kernels: inner kernels of the model for this CPU */
	const struct uma_kernels *kernels;
	/** @parent: holds the regmap, which has to exist before the driver probes */
	struct device *parent;
	/** @pdev: platform device that the driver binds to */
	struct platform_device *pdev;
	/** @regmap: access to the registers */
	struct regmap *regmap;
	/** @name: of the platform device */
	char name[EMU_NAME_MAX];
	/** @id: number of the instance */
	int id;

	/** @lock: protects the members below, down to @ts_hi */
	spinlock_t lock;
	/** @as_root: root registers */
	u64 as_root[UMA_MAX_AS];
	/** @inval_as: UMA_REG_INVAL_AS */
	u32 inval_as;
	/** @inval_start: UMA_REG_INVAL_START */
	u64 inval_start;
	/** @inval_size: UMA_REG_INVAL_SIZE */
	u64 inval_size;
	/** @inval_busy: number of engines and walkers that the command still waits for */
	atomic_t inval_busy;
	/** @inval_ignored: number of commands written while another was busy */
	u32 inval_ignored;
	/** @roots_torn: number of writes to the high word of a root that was enabled */
	u32 roots_torn;
	/** @inval_count: number of commands carried out */
	u64 inval_count;
	/** @status: UMA_DEV_ERROR, UMA_DEV_STALE_TLB */
	u32 status;
	/** @resetting: UMA_DEV_RESET reads 1 */
	bool resetting;
	/** @reset_queued: @reset_work is pending and will clear @resetting */
	bool reset_queued;
	/** @gone: unplugged: registers read as all ones, engines stop */
	bool gone;
	/** @ts_hi: high word of the timestamp, latched */
	u32 ts_hi;
	/** @energy_hi: high word of the energy, latched; under the lock of @regmap */
	u32 energy_hi;

	/** @freed: number of accesses to memory that was not mapped for the device any more */
	atomic64_t freed;
	/** @knows_mapped: @mapped covers all memory that is mapped for the device */
	bool knows_mapped;
	/** @mapped: number of DMA mappings of each page, by page frame number */
	struct xarray mapped;
	/** @shadows: &struct emu_shadow of each page that has one, by page frame number */
	struct xarray shadows;
	/** @dma_dev: device whose DMA mappings are tracked */
	struct device *dma_dev;
	/** @dma_link: in the list of the devices that have a @dma_dev */
	struct list_head dma_link;
	/** @walker: walks page tables at random */
	struct emu_walker walker;

	/** @irq: interrupt */
	struct emu_irq irq;
	/** @inject: faults to inject */
	struct emu_inject inject;
	/** @power: clock, temperature, energy */
	struct emu_power power;
	/** @wq: workqueue of the device */
	struct workqueue_struct *wq;
	/** @reset_work: carries out a device reset */
	struct work_struct reset_work;
	/** @unplug_work: unregisters @pdev, for debugfs */
	struct work_struct unplug_work;
	/** @idle: woken when an engine or the walker has stopped */
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
 * emu_has_tiles - can jobs be preempted within a task?
 * @emu: device
 *
 * Return: true if the device has UMA_FEATURE_TILES.
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
