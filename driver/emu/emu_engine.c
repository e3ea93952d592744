// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Engines: a kernel thread each, which executes the jobs of its ring.
 *
 * Fences wait for the thread as they wait for hardware. Between the doorbell and
 * the completion record it does not allocate memory, takes no lock that is held
 * during an allocation or a wait, and drops a job within a step when told to.
 */
#include <linux/dma-fence.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "emu_compat.h"
#include "emu_device.h"

static bool emu_engine_may_run(struct emu_engine *engine)
{
	struct emu_device *emu = engine->emu;

	return READ_ONCE(emu->power.on) && !(READ_ONCE(emu->status) & UMA_DEV_ERROR);
}

/**
 * emu_engine_poll_abort - does the job have to be dropped at once, within its tile?
 * @engine: engine
 *
 * Return: true if a reset is pending or the device is gone.
 */
bool emu_engine_poll_abort(struct emu_engine *engine)
{
	return READ_ONCE(engine->reset) || READ_ONCE(engine->emu->gone) ||
	       kthread_should_stop();
}

/**
 * emu_engine_stall - begin or end a stall, and account for its time
 * @engine: engine
 * @begin: true at the begin, false at the end
 */
void emu_engine_stall(struct emu_engine *engine, bool begin)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	if (engine->stall_since)
		engine->cnt[UMA_CNT_STALL_NS] += emu_now() - engine->stall_since;
	engine->stall_since = begin ? emu_now() : 0;
	spin_unlock_irqrestore(&engine->lock, flags);
}

/**
 * emu_engine_poll - check between two steps whether the job may go on
 * @engine: engine, in its worker
 * @tile_end: between two tiles, where a disabled engine stops
 *
 * Waits while there is no power, or UMA_DEV_ERROR is set.
 *
 * Return: 0, or -ECANCELED if the job has to be dropped.
 */
int emu_engine_poll(struct emu_engine *engine, bool tile_end)
{
	if (emu_engine_poll_abort(engine) || (tile_end && READ_ONCE(engine->stopped)))
		return -ECANCELED;
	if (likely(emu_engine_may_run(engine)))
		return 0;

	emu_engine_stall(engine, true);
	wait_event_idle(engine->wait, emu_engine_may_run(engine) ||
			emu_engine_poll_abort(engine) || READ_ONCE(engine->stopped));
	emu_engine_stall(engine, false);
	return emu_engine_may_run(engine) && !emu_engine_poll_abort(engine) ? 0 : -ECANCELED;
}

/**
 * emu_engine_delay - delay the worker
 * @engine: engine, in its worker
 * @ns: duration; 1 ms and more end early if the job has to be dropped
 */
void emu_engine_delay(struct emu_engine *engine, u64 ns)
{
	if (ns < NSEC_PER_MSEC) {
		u32 us = div_u64(ns, NSEC_PER_USEC) + 1;

		usleep_range(us, us + us / 4 + 1);
		return;
	}
	wait_event_idle_timeout(engine->wait, emu_engine_poll_abort(engine) ||
				READ_ONCE(engine->stopped), nsecs_to_jiffies(ns) + 1);
}

/* Is there a job that may begin? Called with and without &emu_engine.lock. */
static bool emu_engine_runnable(struct emu_engine *engine)
{
	return READ_ONCE(engine->enabled) && !READ_ONCE(engine->halted) &&
	       !READ_ONCE(engine->resetting) && !READ_ONCE(engine->emu->gone) &&
	       READ_ONCE(engine->head) != READ_ONCE(engine->tail) &&
	       emu_engine_may_run(engine);
}

static void emu_engine_set_fault(struct emu_fault *to, u32 reason, u32 slot, u64 addr,
				 const char *field)
{
	to->reason = reason;
	to->slot = slot;
	to->addr = addr;
	to->field = field;
}

/**
 * struct emu_job - the job that an engine runs
 */
struct emu_job {
	/** @entry: copy of the ring entry */
	struct uma_ring_entry entry;
	/** @fault: reason is UMA_FAULT_NONE unless it faulted */
	struct emu_fault fault;
	/** @ring_base: physical address of the ring */
	u64 ring_base;
	/** @order: log2 of the number of the ring's entries */
	u32 order;
	/** @head: index of the entry */
	u32 head;
	/** @start: start time */
	u64 start;
	/** @tasks: number of tasks done */
	u32 tasks;
	/** @tile: number of tiles done of the current task */
	u64 tile;
	/** @preempted: the job was preempted before its end */
	bool preempted;
	/** @cnt: the engine's counters at the start */
	u64 cnt[UMA_MAX_COUNTERS];
};

static bool emu_engine_hangs(struct emu_engine *engine, u64 tasks)
{
	struct emu_inject *inject = &engine->emu->inject;
	unsigned long flags;
	bool hangs;

	if (atomic_read(&inject->hang) & BIT(engine->index)) {
		atomic_andnot(BIT(engine->index), &inject->hang);
		return true;
	}
	spin_lock_irqsave(&engine->emu->lock, flags);
	hangs = tasks >= inject->hang_start && tasks < inject->hang_end;
	spin_unlock_irqrestore(&engine->emu->lock, flags);
	return hangs;
}

static void emu_engine_hang(struct emu_engine *engine)
{
	bool step = READ_ONCE(engine->emu->inject.hang_step);

	if (step)
		emu_step_begin(engine);
	WRITE_ONCE(engine->hung, true);
	wait_event_idle(engine->wait, emu_engine_poll_abort(engine));
	WRITE_ONCE(engine->hung, false);
	if (step)
		emu_step_end(engine);
}

/**
 * emu_engine_flags - value of UMA_ENG_FLAGS
 * @engine: engine
 *
 * Return: UMA_ENGINE_*, without those that the configuration disables.
 */
u32 emu_engine_flags(const struct emu_engine *engine)
{
	return engine->desc->flags & ~(emu_has_tiles(engine->emu) ? 0 : UMA_ENGINE_PREEMPT);
}

/**
 * emu_engine_preempts - is a job to be preempted?
 * @engine: engine
 * @seqno: sequence number of the job, 0 if it cannot be preempted
 *
 * Return: true if it has to stop at the next task or tile boundary.
 */
bool emu_engine_preempts(struct emu_engine *engine, u64 seqno)
{
	unsigned long flags;
	bool preempts;

	spin_lock_irqsave(&engine->lock, flags);
	preempts = seqno && engine->preempt == seqno;
	spin_unlock_irqrestore(&engine->lock, flags);
	return preempts;
}

/* Returns -ECANCELED if the job has to be dropped, else 0 with job->fault set. */
static int emu_engine_run(struct emu_engine *engine, struct emu_job *job)
{
	struct emu_device *emu = engine->emu;
	struct uma_ring_entry *entry = &job->entry;
	struct emu_fault *fault = &job->fault;
	bool tiles = emu_engine_flags(engine) & UMA_ENGINE_PREEMPT;
	u32 count, reason;
	int ret;

	reason = emu_ring_fetch(job->ring_base, job->order, job->head, entry);
	if (engine->posted)
		*entry = engine->posted[job->head & ((1u << job->order) - 1)];
	if (emu_is_watched(emu) &&
	    !emu_check_memory(emu, engine, "ring", 0, 0, job->ring_base))
		reason = UMA_FAULT_BUS;
	if (reason) {
		emu_engine_set_fault(fault, reason, UMA_FAULT_NO_SLOT, job->ring_base, "ring");
		return 0;
	}
	fault->seqno = le64_to_cpu(entry->seqno);
	fault->as = le32_to_cpu(entry->as);
	reason = emu_ring_check(entry, engine->desc->max_job_tasks, emu->cfg.address_spaces,
				tiles);
	if (reason) {
		emu_engine_set_fault(fault, reason, UMA_FAULT_NO_SLOT, 0, "entry");
		return 0;
	}
	engine->view.as = fault->as;

	if (emu_engine_hangs(engine, le64_to_cpu(entry->tasks_addr))) {
		emu_engine_hang(engine);
		return -ECANCELED;
	}
	if (emu->cfg.latency_us)
		emu_engine_delay(engine, (u64)emu->cfg.latency_us * NSEC_PER_USEC);

	count = le32_to_cpu(entry->task_count);
	job->tile = le64_to_cpu(entry->tile);
	for (job->tasks = 0; job->tasks < count; job->tasks++, job->tile = 0) {
		u64 addr = le64_to_cpu(entry->tasks_addr) + (u64)job->tasks * UMA_TASK_SIZE;
		struct uma_fault_info info = { .slot = UMA_FAULT_NO_SLOT };
		u64 stamp = le64_to_cpu(entry->stamps_addr), start;
		u32 task_us = READ_ONCE(emu->cfg.task_us);
		bool begins = !job->tile;

		job->preempted = job->tasks && emu_engine_preempts(engine, fault->seqno);
		if (job->preempted)
			return 0;
		WRITE_ONCE(engine->task_index, job->tasks);
		ret = emu_engine_poll(engine, true);
		start = emu_now();
		if (!ret && task_us && begins)
			emu_engine_delay(engine, (u64)task_us * NSEC_PER_USEC);
		if (!ret && emu_inject_take(&emu->inject.ecc_error)) {
			emu_engine_set_fault(fault, UMA_FAULT_BUS, UMA_FAULT_NO_SLOT, addr, "ecc");
			return 0;
		}
		if (!ret)
			ret = emu_exec_task(engine, addr, tiles ? fault->seqno : 0, &job->tile,
					    &info);
		job->preempted = ret > 0;
		stamp += (u64)job->tasks * sizeof(struct uma_task_stamp);
		if (ret >= 0 && (entry->flags & cpu_to_le32(UMA_RING_STAMPS)))
			ret = emu_exec_stamp(engine, stamp, begins ? start : 0, &info);
		if (ret == -ECANCELED)
			return ret;
		if (ret < 0) {
			job->preempted = false;
			emu_engine_set_fault(fault, info.reason ?: UMA_FAULT_INTERNAL, info.slot,
					     info.addr, info.field);
			return 0;
		}
		if (job->preempted)
			return 0;
		cond_resched();
	}
	return 0;
}

/* Increase of a counter since the start of the job */
static __le64 emu_job_count(const struct emu_engine *engine, const struct emu_job *job, u32 c)
{
	return cpu_to_le64(engine->cnt[c] - job->cnt[c]);
}

static void emu_engine_complete(struct emu_engine *engine, struct emu_job *job, u64 now)
{
	struct emu_device *emu = engine->emu;
	u32 mhz = emu_power_engine_mhz(emu, engine->desc);
	struct emu_fault *fault = &job->fault;
	struct uma_record rec = {
		.seqno = job->entry.seqno,
		.start = cpu_to_le64(job->start),
		.end = cpu_to_le64(READ_ONCE(emu->inject.no_time) ? job->start : now),
		.fault_addr = cpu_to_le64(fault->addr),
		.reason = cpu_to_le32(fault->reason),
		.slot = cpu_to_le32(fault->reason ? fault->slot : 0),
		.task_index = cpu_to_le32(job->tasks),
		.flags = cpu_to_le32(job->preempted ? UMA_RECORD_PREEMPTED : 0),
		.tile = cpu_to_le64(job->preempted ? job->tile : 0),
		.tasks = emu_job_count(engine, job, UMA_CNT_TASKS),
		.tiles = emu_job_count(engine, job, UMA_CNT_TILES),
		.macs = emu_job_count(engine, job, UMA_CNT_MACS),
		.read_bytes = emu_job_count(engine, job, UMA_CNT_READ_BYTES),
		.write_bytes = emu_job_count(engine, job, UMA_CNT_WRITE_BYTES),
		.tlb_misses = emu_job_count(engine, job, UMA_CNT_TLB_MISSES),
		.stall_ns = emu_job_count(engine, job, UMA_CNT_STALL_NS),
		/* By the current clock, which rarely changes within a job. */
		.cycles = cpu_to_le64(mul_u64_u32_div(now - job->start, mhz, 1000)),
	};

	lockdep_assert_held(&engine->lock);

	/* Without an entry there is no record: only the registers report the fault. */
	if (fault->seqno) {
		if (emu_inject_take(&emu->inject.bad_record)) {
			rec.seqno = ~rec.seqno;
			rec.reason = cpu_to_le32(U32_MAX);
			rec.task_index = cpu_to_le32(U32_MAX);
		}
		if (emu->cfg.noncoherent) {
			emu_ring_spoil(engine->record_base, job->order, job->head);
			udelay(20);
		}
		if ((emu_is_watched(emu) &&
		     !emu_check_memory(emu, engine, "record", fault->as, 0, engine->record_base)) ||
		    !emu_ring_complete(engine->record_base, job->order, job->head, &rec))
			emu_engine_set_fault(fault, UMA_FAULT_BUS, UMA_FAULT_NO_SLOT,
					     engine->record_base, "record");
	}

	if (fault->reason) {
		engine->cnt[UMA_CNT_FAULTS]++;
		engine->fault = *fault;
		engine->task_index = job->tasks;
		engine->halted = true;
	} else {
		engine->cnt[UMA_CNT_JOBS] += !job->preempted;
		engine->head++;
	}
}

static void emu_engine_job(struct emu_engine *engine)
{
	struct emu_device *emu = engine->emu;
	struct emu_job job = {};
	unsigned long flags;
	bool signalling, done;
	int pending, ret = 0;
	u64 now;

	spin_lock_irqsave(&engine->lock, flags);
	if (!emu_engine_runnable(engine) || engine->reset || engine->stopped) {
		engine->stopped = false;
		spin_unlock_irqrestore(&engine->lock, flags);
		return;
	}
	pending = emu_ring_pending(engine->head, engine->tail, engine->order);
	job.ring_base = engine->ring_base;
	job.order = engine->order;
	job.head = engine->head;
	job.start = emu_now();
	memcpy(job.cnt, engine->cnt, sizeof(job.cnt));
	engine->task_index = 0;
	engine->busy = true;
	engine->busy_since = job.start;
	spin_unlock_irqrestore(&engine->lock, flags);

	emu_power_kick(emu);
	signalling = dma_fence_begin_signalling();
	if (pending < 0)
		emu_engine_set_fault(&job.fault, UMA_FAULT_RING, UMA_FAULT_NO_SLOT, 0, "tail");
	else
		ret = emu_engine_run(engine, &job);

	/*
	 * Registers and record change together under the lock: after reading the new
	 * state of one, the driver must not read the old state of the other.
	 */
	spin_lock_irqsave(&engine->lock, flags);
	now = emu_now();
	done = !ret && !engine->reset && !engine->stopped && !emu->gone;
	if (done)
		emu_engine_complete(engine, &job, now);
	engine->cnt[UMA_CNT_BUSY_NS] += now - engine->busy_since;
	engine->busy_total += now - engine->busy_since;
	engine->busy_since = 0;
	engine->busy = false;
	engine->stopped = false;
	memset(engine->suspect, 0, sizeof(engine->suspect));
	spin_unlock_irqrestore(&engine->lock, flags);

	if (done && !emu_inject_take(&emu->inject.lose_irq))
		emu_irq_raise(&emu->irq, UMA_IRQ_ENGINE(engine->index));
	dma_fence_end_signalling(signalling);
}

/* The worker is idle, or is the caller. A device reset (@device) also clears the counters. */
static void emu_engine_reset_regs(struct emu_engine *engine, bool device)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	engine->enabled = false;
	engine->halted = false;
	engine->head = 0;
	engine->tail = 0;
	engine->task_index = 0;
	engine->preempt = 0;
	memset(&engine->fault, 0, sizeof(engine->fault));
	emu_tlb_flush(&engine->tlb);
	if (engine->lose || device) {
		engine->ring_base = 0;
		engine->record_base = 0;
		engine->order = 0;
	}
	if (device) {
		memset(engine->cnt, 0, sizeof(engine->cnt));
		memset(engine->cnt_hi, 0, sizeof(engine->cnt_hi));
	}
	engine->resetting = false;
	engine->lose = false;
	engine->reset = false;
	spin_unlock_irqrestore(&engine->lock, flags);
}

/* Have all engines carried out their reset, and is no walk in progress? */
static bool emu_engines_reset_done(struct emu_device *emu)
{
	u32 i;

	for (i = 0; i < emu->engine_count; i++)
		if (READ_ONCE(emu->engines[i].reset))
			return false;
	return !READ_ONCE(emu->walker.walking);
}

/**
 * emu_engine_faded - complete a power-off if all engines and the walker have stopped
 * @emu: device
 */
void emu_engine_faded(struct emu_device *emu)
{
	unsigned long flags;

	spin_lock_irqsave(&emu->lock, flags);
	if (emu->power.fading && emu_engines_reset_done(emu)) {
		memset(emu->as_root, 0, sizeof(emu->as_root));
		WRITE_ONCE(emu->power.fading, false);
	}
	spin_unlock_irqrestore(&emu->lock, flags);
}

/**
 * emu_engines_power_off - begin a power-off, which drops jobs and the state of engines
 * @emu: device, its lock held
 *
 * &emu_power.fading is cleared when the power-off is complete.
 */
void emu_engines_power_off(struct emu_device *emu)
{
	u32 i;

	lockdep_assert_held(&emu->lock);

	WRITE_ONCE(emu->power.fading, true);
	for (i = 0; i < emu->engine_count; i++) {
		struct emu_engine *engine = &emu->engines[i];

		spin_lock(&engine->lock);
		engine->lose = true;
		engine->reset = true;
		spin_unlock(&engine->lock);
		wake_up(&engine->wait);
	}
}

/* Delay a reset by &emu_inject.slow_reset, which may change in the meantime. */
static void emu_engine_dawdle(const struct emu_engine *engine)
{
	const struct emu_device *emu = engine->emu;
	ktime_t begin = ktime_get();

	/* Not for a power-off, which is no reset. */
	while ((READ_ONCE(engine->resetting) || READ_ONCE(emu->resetting)) &&
	       ktime_ms_delta(ktime_get(), begin) < READ_ONCE(emu->inject.slow_reset) &&
	       !READ_ONCE(emu->gone) && !kthread_should_stop())
		usleep_range(1000, 2000);
}

static int emu_engine_thread(void *data)
{
	struct emu_engine *engine = data;

	while (!kthread_should_stop()) {
		wait_event_idle(engine->wait, kthread_should_stop() ||
				READ_ONCE(engine->reset) || emu_engine_runnable(engine));
		if (READ_ONCE(engine->reset)) {
			emu_engine_dawdle(engine);
			emu_engine_reset_regs(engine, false);
			emu_engine_faded(engine->emu);
			wake_up(&engine->emu->idle);
		} else {
			emu_engine_job(engine);
		}
		cond_resched();
	}
	return 0;
}

/**
 * emu_engine_ctrl - handle a write of UMA_ENG_CTRL
 * @engine: engine
 * @val: value
 */
void emu_engine_ctrl(struct emu_engine *engine, u32 val)
{
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	if (val & UMA_ENG_RESET) {
		engine->resetting = true;
		if (!emu_inject_take(&engine->emu->inject.fail_reset))
			engine->reset = true;
	} else if (!engine->resetting && !engine->halted) {
		if (engine->enabled && !(val & UMA_ENG_ENABLE)) {
			engine->stopped = engine->busy;
		} else if (!engine->enabled && (val & UMA_ENG_ENABLE)) {
			engine->head = 0;
			engine->tail = 0;
		}
		engine->enabled = val & UMA_ENG_ENABLE;
	}
	spin_unlock_irqrestore(&engine->lock, flags);
	wake_up(&engine->wait);
}

/**
 * emu_engine_busy_ns - total busy time of an engine
 * @engine: engine
 * @now: timestamp
 *
 * Return: nanoseconds since creation, the running job included.
 */
u64 emu_engine_busy_ns(struct emu_engine *engine, u64 now)
{
	unsigned long flags;
	u64 busy;

	spin_lock_irqsave(&engine->lock, flags);
	busy = engine->busy_total;
	if (engine->busy_since && now > engine->busy_since)
		busy += now - engine->busy_since;
	spin_unlock_irqrestore(&engine->lock, flags);
	return busy;
}

/**
 * emu_engines_wake - wake all workers after a change of state
 * @emu: device
 */
void emu_engines_wake(struct emu_device *emu)
{
	u32 i;

	for (i = 0; i < emu->engine_count; i++)
		wake_up(&emu->engines[i].wait);
}
EXPORT_SYMBOL_IF_KUNIT(emu_engines_wake);

/**
 * emu_device_reset - handle a write of UMA_DEV_RESET
 * @emu: device
 */
void emu_device_reset(struct emu_device *emu)
{
	unsigned long flags;

	spin_lock_irqsave(&emu->lock, flags);
	emu->resetting = true;
	/* Not queued twice: the second would run after the driver saw the first complete. */
	if (!emu->reset_queued && !emu_inject_take(&emu->inject.fail_reset)) {
		emu->reset_queued = true;
		queue_work(emu->wq, &emu->reset_work);
	}
	spin_unlock_irqrestore(&emu->lock, flags);
}

/**
 * emu_reset_work - carry out a device reset
 * @work: &emu_device.reset_work
 */
void emu_reset_work(struct work_struct *work)
{
	struct emu_device *emu = container_of(work, struct emu_device, reset_work);
	unsigned long flags;
	u32 i;

	for (i = 0; i < emu->engine_count; i++) {
		struct emu_engine *engine = &emu->engines[i];

		spin_lock_irqsave(&engine->lock, flags);
		engine->reset = true;
		spin_unlock_irqrestore(&engine->lock, flags);
		wake_up(&engine->wait);
	}
	wait_event_idle(emu->idle, emu_engines_reset_done(emu));

	/* Writes have no effect during a device reset, so no engine has been enabled again. */
	for (i = 0; i < emu->engine_count; i++)
		emu_engine_reset_regs(&emu->engines[i], true);
	emu_irq_reset(&emu->irq);
	emu_power_reset(emu);
	emu_regs_reset(emu);
}

/**
 * emu_engine_init - create an engine
 * @emu: device
 * @index: number of the engine
 *
 * Allocates everything that jobs need: the worker must not allocate.
 *
 * Return: 0 or a negative error; emu_engine_fini() cleans up in both cases.
 */
int emu_engine_init(struct emu_device *emu, u32 index)
{
	struct emu_engine *engine = &emu->engines[index];
	struct task_struct *thread;

	engine->emu = emu;
	engine->index = index;
	engine->desc = &emu->profile->engines[index];
	spin_lock_init(&engine->lock);
	init_waitqueue_head(&engine->wait);
	emu_view_init(&engine->view, engine);

	engine->task = kzalloc(sizeof(*engine->task), GFP_KERNEL);
	engine->op = kzalloc(sizeof(*engine->op), GFP_KERNEL);
	engine->prog = kzalloc(sizeof(*engine->prog), GFP_KERNEL);
	engine->scratch = kvzalloc(UMA_SCRATCH_SIZE, GFP_KERNEL);
	if (!engine->task || !engine->op || !engine->prog || !engine->scratch)
		return -ENOMEM;
	if (emu->cfg.noncoherent) {
		engine->posted = kvcalloc(1u << emu->cfg.ring_order, sizeof(*engine->posted),
					  GFP_KERNEL);
		if (!engine->posted)
			return -ENOMEM;
	}

	thread = kthread_run(emu_engine_thread, engine, "uma_emu%d/%u", emu->id, index);
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	engine->thread = thread;
	return 0;
}

/**
 * emu_engine_fini - destroy an engine
 * @engine: engine, idle or not
 */
void emu_engine_fini(struct emu_engine *engine)
{
	if (engine->thread)
		kthread_stop(engine->thread);
	kvfree(engine->posted);
	kvfree(engine->scratch);
	kfree(engine->prog);
	kfree(engine->op);
	kfree(engine->task);
}
