/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The device and its engines.
 *
 * Locks, in the order in which they nest:
 *
 *   client->lock         ids of a file
 *   vm->lock             mappings and page table of an address space; memory is
 *                        allocated under it. Recovery only trylocks it, for a dump
 *   a buffer's dma_resv  its memory, madvise state, fences and mappings; memory is
 *                        allocated under it
 *   client->submit_lock  serialises submits: jobs are pushed in the order in which
 *                        they are armed
 *   uma->gems_lock, uma->vms_lock
 *                        lists
 *   uma->shrink_lock     purgeable buffers. The shrinker holds it and only trylocks
 *                        the locks above; nothing is allocated under it
 *   uma->inval_lock      invalidation; held until the device has confirmed it. Only
 *                        trylocked by the shrinker and where jobs depend on it
 *   uma->hw_lock         address-space slots, what is on the rings. Fences depend on
 *                        it: no memory is reclaimed and no fence is waited for under it
 *   engine->lock         irq-safe, like those that follow
 *   uma->queues_lock     states of queues, and the run-lists
 *   uma->pm_lock, uma->latch_lock, uma_released.lock
 */
#ifndef _UMA_DEVICE_H_
#define _UMA_DEVICE_H_

#include <linux/irqreturn.h>
#include <linux/ktime.h>
#include <linux/list_lru.h>
#include <linux/mutex.h>
#include <linux/ratelimit_types.h>
#include <linux/regmap.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>

#include <drm/uma_accel.h>

#include "uma_args.h"
#include "uma_job.h"
#include "uma_job_sfq.h"
#include "uma_pm.h"
#include "../uma_regs.h"
#include "uma_ring.h"
#include "uma_show.h"
#include "uma_vm.h"

struct platform_device;

/* An engine */
struct uma_engine {
	struct uma_device *uma;			/* device */
	char name[16];				/* class and instance */
	u32 index;				/* index in the device */
	struct drm_uma_query_engine info;	/* what the query returns */
	struct uma_op_cap *caps;		/* info.cap_count rows */

	atomic_t load;	/* number of queues that use it, plus their unfinished jobs */
	struct uma_sfq sfq;	/* run-list; under &uma_device.queues_lock */
	u32 drops;	/* resets that cancelled preempted jobs; under &uma_device.queues_lock */
	u64 sfq_seqno;	/* sequence number of the job that sfq may preempt; under the same lock */
	struct timer_list sfq_timer;	/* expires at uma_sfq_next_event() */
	/* pushes the job that was dispatched; on &uma_device.sched_wq */
	struct work_struct begin_work;

	struct uma_ring_entry *ring;	/* entries */
	dma_addr_t ring_dma;		/* DMA address of ring */
	struct uma_record *records;	/* completion records, one for each entry */
	dma_addr_t records_dma;		/* DMA address of records */
	u32 ring_order;			/* log2 of the number of entries */

	struct delayed_work watch; /* detects timeouts and faults of job; on &uma_device.reset_wq */

	spinlock_t lock;	/* protects what follows */
	struct uma_job *job;	/* job that was dispatched, until it is preempted or detached */
	ktime_t started;	/* when job was put on the ring, 0 if it was not */
	u64 busy_seen;	/* highest busy time in ns that was reported, as it must not decrease */
	enum uma_engine_state state;	/* state of job */
	enum uma_failure failure;	/* why job failed, from UMA_ENGINE_FAILED on */
	struct uma_result result;	/* the completion record of job, or the fault registers */
	u32 tail;	/* index one past the last entry on the ring */
	u64 seqno;	/* of the last entry */
	int as;		/* hardware address space of job, -1 for none */
	ktime_t deadline;	/* when job times out */
	u64 as_ticket;	/* order of the jobs that wait for a slot, 0: not waiting; under hw_lock */
	u64 missed;	/* completions that were found by polling, without an interrupt */
	u64 preemptions;	/* jobs that were stopped between two tasks or tiles */
	u64 resets;	/* resets of this engine */
	/* resets of this engine and of the device, see uma_queue_disturbed() */
	atomic_t reset_count;
	struct drm_uma_counters counters;	/* sums over its jobs */
	struct uma_history history;	/* latest events, for dumps */
};

/* The device */
struct uma_device {
	struct drm_device drm;	/* base */
	struct regmap *regs;	/* registers */
	int irq;		/* interrupt */

	struct drm_uma_query_device info;	/* what the query returns */
	struct drm_uma_query_memory nodes[UMA_MAX_NODES];	/* memory */
	/* shmem mounts for buffers: 0 of any node, n + 1 of node n; NULL: the kernel's */
	struct vfsmount *mounts[UMA_MAX_NODES + 1];
	u32 as_count;		/* hardware address spaces */
	u32 engine_reset_ms;	/* longest time that a reset of an engine takes */
	u32 device_reset_ms;	/* ... of the device */
	u32 power_ms;		/* longest time that switching power takes */
	struct uma_va_range va;	/* addresses that can be bound */
	u64 max_bo_size;	/* bytes */
	u32 max_job_tasks;	/* lowest limit of all engines */
	u32 job_timeout_ms;	/* timeout of queues without one of their own */
	u32 preempt_timeout_ms;	/* how long a job may delay an invalidation */
	u32 time_slice_ms;	/* how long a job runs before it may be preempted for others */
	bool preempts;		/* engines can be preempted between two tasks */
	bool preempts_tiles;	/* those with UMA_ENGINE_PREEMPT can stop between two tiles */
	bool tells_inval;	/* engines say whether an invalidation waits for them */

	struct uma_engine *engines;	/* info.engine_count engines */
	/* for reads of 64 bits: that of the low word latches the high word */
	spinlock_t latch_lock;

	struct mutex inval_lock;	/* serialises invalidation */
	struct mutex hw_lock;	/* serialises slots and pushing of jobs */
	struct uma_slots slots;	/* hardware address spaces */
	u64 as_tickets;	/* latest &uma_engine.as_ticket */
	/* a job waits for a slot, or for an invalidation that blocks setting one up */
	bool starved;
	bool resetting;	/* no job is pushed, as the device is being reset */
	bool powered;	/* engines have power and are set up */
	bool asleep;	/* no job is pushed, as the system is suspended or about to be */
	bool stopped;	/* power and interrupts were switched off for suspend */
	bool powered_later;	/* value of powered after resume */
	bool lost;	/* the device is gone or did not recover; set under hw_lock, for good */
	bool wedged;	/* stuck in a reset, ignores commands; set under hw_lock, for good */
	bool quiet;	/* confirmed to access no memory any more; set under hw_lock, for good */
	bool removed;	/* the driver is unbound; set under hw_lock, for good */

	bool going;	/* the driver is about to be unbound: jobs are not waited for */

	struct workqueue_struct *sched_wq;	/* of the queues' schedulers and the run-lists */
	/* ordered: recovery of engines and of the device, the schedulers' timeouts */
	struct workqueue_struct *reset_wq;
	struct work_struct reset_work;		/* resets the whole device */
	/*
	 * pushes jobs that could not be pushed before; on sched_wq, as they are not to wait for the
	 * recovery of another engine
	 */
	struct work_struct kick_work;
	struct delayed_work event_work;		/* sends the uevents noted in events */
	/* uevents that are pending: a bit for each engine, see UMA_EVENT_DEVICE */
	unsigned long events;
	unsigned long event_next; /* earliest time of the next uevent for a reset, in jiffies */
	struct ratelimit_state log[UMA_LOG_KINDS]; /* rate limits of the lines in the kernel log */
	/* dump of the last failure; NULL without CONFIG_DEV_COREDUMP */
	struct uma_coredump *coredump;
	atomic_t reset_count;			/* resets of engines and of the device */
	atomic_t fault_count;			/* jobs that faulted */

	struct mutex gems_lock;		/* protects gems and labels */
	struct list_head gems;		/* buffers, &uma_bo.node */
	struct shrinker *shrinker;	/* frees the memory of purgeable buffers */
	struct mutex shrink_lock;	/* protects lru and what is in it */
	struct list_lru lru;		/* purgeable buffers, by memory cgroup, &uma_bo.lru */
	unsigned long purgeable_bos;	/* entries of lru */
	unsigned long purgeable_pages;	/* their pages */
	atomic64_t resident;		/* bytes of all buffers that are populated */
	atomic_long_t pinned_pages;	/* pages of user memory that are pinned */

	struct mutex vms_lock;	/* protects vms */
	struct list_head vms;	/* address spaces, &uma_vm.node */
	u32 vms_held;		/* how many of them are held back, &uma_vm.held */
	bool warned_held;	/* the warning about memory held back has been printed */
	/*
	 * what unbinding waits for: memory that is being imported or mapped, address spaces that
	 * are being made, address spaces and buffers that are being freed
	 */
	atomic_t dying;
	/* in the list of devices that did not stop when the driver was unbound */
	struct list_head wild;

	spinlock_t queues_lock;	/* protects queues, the states of queues, and &uma_engine.sfq */
	struct list_head queues;	/* queues, &uma_queue.node */

	spinlock_t pm_lock;	/* protects what follows */
	u32 clock_cap;		/* limit of the clock in MHz, 0 for none */
	bool throttled;		/* the device has lowered its clock because of its temperature */
	u64 throttle_count;	/* times that throttling began */
	u64 energy_base; /* microjoules before the device's counter last restarted from zero */
	u64 energy_last;	/* value of that counter when it was last read */

	struct uma_busy busy;			/* recent load of the engines */
	struct uma_devfreq devfreq;		/* control of the clock */
	struct device *hwmon;			/* sensors */
	struct work_struct thermal_work;	/* notifies user space of a change of throttled */
};

#define to_uma_device(dev)	container_of_const(dev, struct uma_device, drm)

#define uma_for_each_engine(uma, engine) \
	for ((engine) = (uma)->engines; \
	     (engine) < (uma)->engines + (uma)->info.engine_count; (engine)++)

/* Nanoseconds since the engine's job was put on the ring, 0 if none is on it. */
static inline u64 uma_engine_elapsed_ns(const struct uma_engine *engine)
{
	lockdep_assert_held(&engine->lock);

	return engine->started ? ktime_to_ns(ktime_sub(ktime_get(), engine->started)) : 0;
}

/*
 * Have the unbind of this device wait until uma_dying_done(), but no unplug of other devices: used
 * where locks are taken that others may hold for long. False if the device has been unplugged.
 */
static inline bool uma_dying_begin(struct uma_device *uma)
{
	int idx;

	if (!drm_dev_enter(&uma->drm, &idx))
		return false;
	atomic_inc(&uma->dying);
	drm_dev_exit(idx);
	return true;
}

/* Wait for all &uma_vm.awaited and &uma_bo.awaited to be freed, and for mapping to end. */
static inline void uma_dying_wait(struct uma_device *uma)
{
	wait_var_event(&uma->dying, !atomic_read(&uma->dying));
}

/* The unbind need not wait for this any more; @awaited is read under the lock that protects it. */
static inline void uma_dying_done(struct uma_device *uma, bool awaited)
{
	if (awaited && atomic_dec_and_test(&uma->dying))
		wake_up_var(&uma->dying);
}

struct regmap *uma_find_regs(struct platform_device *pdev);
int uma_read_state(struct uma_device *uma, u32 reg, u32 *value);
u32 uma_read(struct uma_device *uma, u32 reg);
void uma_write(struct uma_device *uma, u32 reg, u32 value);
u64 uma_read64(struct uma_device *uma, u32 reg);
void uma_write64(struct uma_device *uma, u32 reg, u64 value);
int uma_poll(struct uma_device *uma, u32 reg, u32 mask, u32 value, unsigned int timeout_ms);

u64 uma_ticks_to_ns(const struct uma_device *uma, u64 ticks);
int uma_hw_start(struct uma_device *uma);
#if IS_ENABLED(CONFIG_KUNIT)
irqreturn_t uma_irq(int irq, void *data);
#endif
bool uma_hw_stop_confirmed(struct uma_device *uma);
void uma_free_rings(void *data);

void uma_stop(struct uma_device *uma);
void uma_let_go(struct uma_device *uma);
void uma_release_wild(struct device *dev);
bool uma_stop_deleted(struct uma_device *uma);

extern const char *const uma_class_names[UMA_ENGINE_CLASS_COUNT];

/* Of the driver, not of a device: outlives the last file and frees devices. */
extern struct workqueue_struct *uma_wq;
extern wait_queue_head_t uma_released;
bool uma_released_since(ktime_t time);

/* How long a release may have to wait for unbinds of other clients, or for an exporter */
#define UMA_RELEASE_MS		2000

/**
 * uma_wait_released - wait until closed queues have released their resources
 * @condition: ends the wait
 *
 * Does not wait for releases that begin meanwhile, nor for longer than UMA_RELEASE_MS, as others
 * may delay a release for any time. The caller checks its condition again after that.
 */
#define uma_wait_released(condition)							\
({											\
	ktime_t __now = ktime_get();							\
											\
	wait_event_killable_timeout(uma_released, (condition) || uma_released_since(__now),	\
				    msecs_to_jiffies(UMA_RELEASE_MS));			\
})

void uma_devices_get(void);
void uma_devices_put(void);
unsigned int uma_leak_wild(void);

extern struct notifier_block uma_bus_notifier;
extern const struct drm_driver uma_drm_driver;
extern struct platform_driver uma_platform_driver;

#endif /* _UMA_DEVICE_H_ */
