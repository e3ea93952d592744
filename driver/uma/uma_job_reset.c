// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Recovery: timeouts, faults, resets.
 *
 * A job that fails bans its queue and resets its engine. If the engine does not recover the whole
 * device is reset, after the jobs on the other engines have ended by themselves: the effects of a
 * job cannot be undone, so running it again would give another result. If the device does not
 * recover either, it is lost.
 *
 *	running --fault, timeout--> failed --engine reset works--> signalled with an error
 *	  |                           |
 *	  |                           +----engine reset fails---+
 *	  |                                                     |
 *	  +--device error--> the other engines are drained <----+
 *	                                |
 *	                           device reset: jobs that are still on a ring are lost
 *	                             |        |
 *	                          works     fails: the device is lost, and all jobs are ended
 *	                             |
 *	                      signalled with an error
 *
 * All of this runs on one ordered workqueue, so recoveries do not overlap.
 */
#include <linux/delay.h>
#include <linux/export.h>

#include <drm/drm_print.h>

#include <kunit/visibility.h>

#include "uma_device.h"
#include "uma_job.h"
#include "uma_pm.h"
#include "uma_show.h"
#include "uma_trace.h"

/* Interval at which a running job is polled, in case its interrupt was lost. */
#define UMA_WATCH_MS		500
/* Limit of the time to drain the other engines when jobs' timeouts cannot be waited for. */
#define UMA_SHORT_DRAIN_MS	1000
/* How long a device has to report an error, or not to respond, to be considered broken. */
#define UMA_SURE_MS		10

static u32 uma_engine_read(struct uma_engine *engine, u32 reg)
{
	return uma_read(engine->uma, UMA_REG_ENGINE(engine->index) + reg);
}

/**
 * uma_engine_watch_start - watch a job that has just been pushed
 * @engine: engine
 * @timeout_ms: its timeout
 */
void uma_engine_watch_start(struct uma_engine *engine, u32 timeout_ms)
{
	mod_delayed_work(engine->uma->reset_wq, &engine->watch,
			 msecs_to_jiffies(min_t(u32, timeout_ms, UMA_WATCH_MS)) + 1);
}
EXPORT_SYMBOL_IF_KUNIT(uma_engine_watch_start);

/* A fault without a completion record, if the fault registers are about this job. */
static bool uma_engine_halted(struct uma_engine *engine)
{
	u32 base = UMA_REG_ENGINE(engine->index);
	struct uma_device *uma = engine->uma;

	if (!(uma_read(uma, base + UMA_ENG_STATUS) & UMA_ENG_HALTED) ||
	    uma_read64(uma, base + UMA_ENG_FAULT_SEQNO_LO) != engine->seqno)
		return false;
	engine->result.reason = uma_read(uma, base + UMA_ENG_FAULT_REASON);
	if (!engine->result.reason || engine->result.reason >= UMA_FAULT_COUNT)
		engine->result.reason = UMA_FAULT_INTERNAL;
	engine->result.slot = uma_read(uma, base + UMA_ENG_FAULT_SLOT);
	engine->result.task_index = uma_read(uma, base + UMA_ENG_TASK_INDEX);
	engine->result.fault_addr = uma_read64(uma, base + UMA_ENG_FAULT_ADDR_LO);
	return true;
}

/* Returns the error for the fence of a job that failed. */
int uma_failure_error(enum uma_failure failure)
{
	switch (failure) {
	case UMA_FAILURE_FAULT:
		return -EFAULT;
	case UMA_FAILURE_TIMEOUT:
		return -ETIME;
	default:
		return -ECANCELED;
	}
}

/* The running job has failed; the engine is locked. */
void uma_engine_fail(struct uma_engine *engine, enum uma_failure failure)
{
	lockdep_assert_held(&engine->lock);
	WARN_ON(engine->state != UMA_ENGINE_RUNNING);

	engine->state = UMA_ENGINE_FAILED;
	engine->failure = failure;
	/* A job that is lost is ended by the code that resets the engine. */
	if (failure != UMA_FAILURE_LOST) {
		WRITE_ONCE(engine->job->queue->failed, true);
		drm_sched_fault(&engine->job->queue->sched);
	}
	if (failure == UMA_FAILURE_TIMEOUT && !engine->result.preempted)
		engine->result.task_index = uma_engine_read(engine, UMA_ENG_TASK_INDEX);
	/* The engine counts from where the job was continued if it was preempted. */
	engine->result.task_index += engine->job->first_task;
}

/* Update the state of the job on an engine, and return it. */
static enum uma_engine_state uma_engine_check(struct uma_engine *engine)
{
	enum uma_engine_state state;

	uma_engine_poll(engine, false);

	spin_lock_irq(&engine->lock);
	if (engine->state == UMA_ENGINE_RUNNING) {
		/* A fault that is found after the deadline still is a fault. */
		if (uma_engine_halted(engine))
			uma_engine_fail(engine, UMA_FAILURE_FAULT);
		else if (ktime_after(ktime_get(), engine->deadline))
			uma_engine_fail(engine, UMA_FAILURE_TIMEOUT);
	}
	state = engine->state;
	spin_unlock_irq(&engine->lock);
	return state;
}

static int uma_engine_reset(struct uma_engine *engine)
{
	u32 ctrl = UMA_REG_ENGINE(engine->index) + UMA_ENG_CTRL;
	struct uma_device *uma = engine->uma;
	int ret;

	uma_coredump_job(engine);
	uma_write(uma, ctrl, UMA_ENG_RESET);
	ret = uma_poll(uma, ctrl, UMA_ENG_RESET, 0, uma->engine_reset_ms);
	trace_uma_reset(uma, engine->name, ret);
	spin_lock_irq(&engine->lock);
	uma_coredump_event(engine, UMA_DUMP_EVENT_RESET, NULL, ret);
	if (!ret && engine->state == UMA_ENGINE_FAILED)
		engine->state = UMA_ENGINE_STOPPED;
	spin_unlock_irq(&engine->lock);
	if (ret)
		return ret;
	atomic_inc(&uma->reset_count);
	engine->resets++;
	uma_event_reset(uma, engine);
	uma_coredump_send(uma);
	uma_engine_setup(engine);
	return 0;
}

/* End a job that failed, once its engine has been reset. */
static void uma_engine_give_up(struct uma_engine *engine)
{
	struct drm_uma_queue_state state = {
		.status = DRM_UMA_QUEUE_BANNED,
		.slot = UMA_FAULT_NO_SLOT,
	};
	struct uma_device *uma = engine->uma;
	struct uma_done done;
	int error;

	spin_lock_irq(&engine->lock);
	if (engine->state != UMA_ENGINE_STOPPED) {
		spin_unlock_irq(&engine->lock);
		return;
	}
	error = uma_failure_error(engine->failure);
	if (engine->failure == UMA_FAILURE_TIMEOUT) {
		state.flags = DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_TIMEDOUT;
	} else if (engine->failure == UMA_FAILURE_FAULT) {
		state.flags = DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_FAULTED;
		atomic_inc(&uma->fault_count);
		state.reason = engine->result.reason;
		state.slot = engine->result.slot;
		state.fault_addr = engine->result.fault_addr;
		trace_uma_fault(engine, engine->job->queue, &engine->result);
	} else if (READ_ONCE(uma->lost)) {
		error = -ENODEV;
	}
	state.engine = engine->index;
	state.task_index = engine->result.task_index;
	state.tasks_addr = engine->job->tasks_addr;
	state.error = -error;
	uma_engine_detach(engine, error, &done);
	spin_unlock_irq(&engine->lock);

	/* Before the fence signals: a process that waits for it can query the reason. */
	if (state.flags) {
		uma_queue_guilty(done.queue, &state);
		uma_event_job(engine, done.queue->pid, done.number, &state);
	}
	atomic_inc(&engine->reset_count);
	uma_engine_signal(engine, &done);
}

static void uma_engine_abort(struct uma_engine *engine, bool held_only)
{
	struct uma_done done = {};

	spin_lock_irq(&engine->lock);
	if (engine->job && !(held_only && engine->state != UMA_ENGINE_HELD))
		uma_engine_detach(engine, -ENODEV, &done);
	spin_unlock_irq(&engine->lock);
	if (done.fence)
		uma_engine_signal(engine, &done);
}

/* End a job of a lost device that was not pushed. */
void uma_reset_abort_held(struct uma_engine *engine)
{
	uma_engine_abort(engine, true);
}

/* End all jobs of a lost device, which does not access memory any more. */
void uma_reset_abort(struct uma_device *uma)
{
	struct uma_engine *engine;

	guard(uma_signalling)();
	uma_queues_lost(uma);
	uma_for_each_engine(uma, engine)
		uma_engine_abort(engine, false);
}

/*
 * Let the other engines finish, or stop between two tasks, for as long as their jobs may run: the
 * effects of a job cannot be undone, so it cannot be repeated. But a broken device may never finish
 * them, and system suspend cannot wait for long.
 */
VISIBLE_IF_KUNIT void uma_reset_drain(struct uma_device *uma)
{
	bool running, broken = uma_poll(uma, UMA_REG_DEV_STATUS, UMA_DEV_ERROR, 0, UMA_SURE_MS);
	ktime_t end = ktime_add_ms(ktime_get(), UMA_SHORT_DRAIN_MS);
	struct uma_engine *engine;

	uma_for_each_engine(uma, engine)
		uma_engine_preempt(engine, 0);
	for (;;) {
		running = false;
		uma_for_each_engine(uma, engine)
			running |= uma_engine_check(engine) == UMA_ENGINE_RUNNING;
		if (!running || READ_ONCE(uma->going) ||
		    ((broken || READ_ONCE(uma->asleep)) && ktime_after(ktime_get(), end)))
			break;
		usleep_range(5000, 10000);
	}
}
EXPORT_SYMBOL_IF_KUNIT(uma_reset_drain);

/* Reset the device. Jobs that were on a ring fail. */
static int uma_reset_hardware(struct uma_device *uma)
{
	struct uma_engine *engine;
	int ret;

	uma_pm_energy_uj(uma);
	uma_write(uma, UMA_REG_IRQ_ENABLE, 0);
	uma_write(uma, UMA_REG_DEV_CTRL, UMA_DEV_RESET);
	ret = uma_poll(uma, UMA_REG_DEV_CTRL, UMA_DEV_RESET, 0, uma->device_reset_ms);
	uma->wedged = ret == -ETIMEDOUT;
	atomic_inc(&uma->reset_count);

	uma_for_each_engine(uma, engine) {
		spin_lock_irq(&engine->lock);
		if (engine->state == UMA_ENGINE_RUNNING)
			uma_engine_fail(engine, UMA_FAILURE_LOST);
		if (engine->state == UMA_ENGINE_FAILED)
			engine->state = UMA_ENGINE_STOPPED;
		/* After the reset no slot is in use. */
		engine->as = -1;
		spin_unlock_irq(&engine->lock);
	}
	if (!ret)
		ret = uma_hw_start(uma);
	/* A device that was reset does not access memory, even if it does not start again. */
	uma->quiet = ret && !uma->wedged;
	return ret;
}

/* Jobs may be pushed again, unless another reset has been requested meanwhile. */
VISIBLE_IF_KUNIT void uma_reset_end(struct uma_device *uma)
{
	scoped_guard(mutex, &uma->hw_lock)
		uma->resetting = work_pending(&uma->reset_work);
	uma_engines_push(uma);
}
EXPORT_SYMBOL_IF_KUNIT(uma_reset_end);

static void uma_reset_device(struct uma_device *uma)
{
	struct uma_engine *engine;
	int ret;

	scoped_guard(mutex, &uma->hw_lock)
		uma->resetting = true;

	uma_reset_drain(uma);
	uma_for_each_engine(uma, engine)
		uma_coredump_job(engine);

	scoped_guard(mutex, &uma->hw_lock) {
		ret = uma_reset_hardware(uma);
		if (ret)
			uma->lost = true;
	}
	trace_uma_reset(uma, "device", ret);
	if (!ret)
		uma_event_reset(uma, NULL);

	/* Before the first fence signals -ENODEV: then its queue has to be lost. */
	if (ret)
		uma_queues_lost(uma);
	/* While nothing is pushed yet, so that the failed jobs get their own errors. */
	uma_for_each_engine(uma, engine)
		uma_engine_give_up(engine);
	if (ret) {
		uma_event_wedged(uma);
		/* Removal of the device is no surprise. */
		if (ret != -ENODEV) {
			uma_coredump_wedged(uma);
			drm_err(&uma->drm, "device is lost: it does not come back from a reset (%d)\n",
				ret);
		}
		uma_coredump_send(uma);
		uma_reset_abort(uma);
		return;
	}
	uma_coredump_send(uma);
	uma_for_each_engine(uma, engine)
		atomic_inc(&engine->reset_count);
	uma_reset_end(uma);
}

/**
 * uma_queue_recover - reset the engine on which a job of a queue has failed
 * @queue: queue that has a job
 *
 * Does nothing if another reset has ended the job already.
 */
void uma_queue_recover(struct uma_queue *queue)
{
	struct uma_device *uma = queue->uma;
	struct uma_engine *engine;
	bool failed;

	if (READ_ONCE(uma->lost))
		return;
	guard(uma_signalling)();
	uma_for_each_engine(uma, engine) {
		spin_lock_irq(&engine->lock);
		failed = engine->state == UMA_ENGINE_FAILED && engine->job->queue == queue;
		spin_unlock_irq(&engine->lock);
		if (!failed)
			continue;
		if (!uma_engine_reset(engine))
			uma_engine_give_up(engine);
		else
			uma_reset_device(uma);
		break;
	}
}

/* The work of &uma_engine.watch: runs repeatedly while a job is on the ring. */
void uma_engine_watch(struct work_struct *work)
{
	struct uma_engine *engine = container_of(work, struct uma_engine, watch.work);
	s64 left;

	guard(uma_signalling)();
	if (uma_engine_check(engine) == UMA_ENGINE_RUNNING) {
		left = ktime_ms_delta(engine->deadline, ktime_get());
		uma_engine_watch_start(engine, clamp_t(s64, left, 0, UMA_WATCH_MS));
	}
}

/* The work of &uma_device.kick_work: pushes jobs that had to wait. */
void uma_kick_work(struct work_struct *work)
{
	struct uma_device *uma = container_of(work, struct uma_device, kick_work);

	guard(uma_signalling)();
	WRITE_ONCE(uma->starved, false);
	/* A job that still has to wait sets it again; pairs with uma_dispatch_get_as(). */
	smp_mb();
	uma_engines_push(uma);
}

/* The work of &uma_device.reset_work: resets the device. */
void uma_reset_work(struct work_struct *work)
{
	struct uma_device *uma = container_of(work, struct uma_device, reset_work);

	if (READ_ONCE(uma->lost))
		return;
	guard(uma_signalling)();
	uma_reset_device(uma);
}

/* Request a reset of the device. Callable from interrupts. */
void uma_reset_request(struct uma_device *uma)
{
	queue_work(uma->reset_wq, &uma->reset_work);
}

/*
 * Does an invalidation wait for this engine? One that has dropped the entries may have gone on with
 * a job of the same address space. Without UMA_FEATURE_INVAL it may wait for any engine.
 */
static bool uma_engine_holds(struct uma_engine *engine)
{
	u32 status;

	if (!engine->uma->tells_inval)
		return true;
	return !uma_read_state(engine->uma, UMA_REG_ENGINE(engine->index) + UMA_ENG_STATUS,
			       &status) && status & UMA_ENG_INVAL;
}

/**
 * uma_reset_holders - fail the jobs that delay an invalidation for too long
 * @uma: device
 * @as: hardware address space
 *
 * Such a job hangs, or is about to time out. The caller has issued the invalidation, and waits for
 * it after this.
 */
void uma_reset_holders(struct uma_device *uma, u32 as)
{
	struct uma_engine *engine;
	u32 status;

	lockdep_assert_held(&uma->inval_lock);

	/* A device that is being unbound is stopped as a whole. */
	if (READ_ONCE(uma->lost))
		return;
	uma_for_each_engine(uma, engine)
		uma_engine_poll(engine, false);

	guard(mutex)(&uma->hw_lock);
	/* It may have completed just now, or been reset: then @as may have another owner. */
	if (uma_read_state(uma, UMA_REG_INVAL_STATUS, &status) || !(status & UMA_INVAL_BUSY))
		return;
	uma_for_each_engine(uma, engine) {
		if (uma->lost)
			break;
		spin_lock_irq(&engine->lock);
		if (engine->state == UMA_ENGINE_RUNNING && engine->as == as &&
		    uma_engine_holds(engine))
			uma_engine_fail(engine, UMA_FAILURE_TIMEOUT);
		spin_unlock_irq(&engine->lock);
	}
}
EXPORT_SYMBOL_IF_KUNIT(uma_reset_holders);

/* A reset that is waited for */
struct uma_reset_order {
	struct work_struct work;	/* on &uma_device.reset_wq, like all recovery */
	struct uma_device *uma;
	struct uma_engine *engine;	/* engine, NULL for the device */
	bool preempted;			/* also cancel jobs that were preempted */
};

/* Do not wait for the job on an engine, unless it is done already. */
static void uma_engine_drop(struct uma_engine *engine)
{
	uma_engine_poll(engine, false);
	spin_lock_irq(&engine->lock);
	if (engine->state == UMA_ENGINE_RUNNING)
		uma_engine_fail(engine, UMA_FAILURE_LOST);
	spin_unlock_irq(&engine->lock);
}

static void uma_engine_reset_now(struct uma_engine *engine)
{
	struct uma_device *uma = engine->uma;

	if (uma_engine_reset(engine)) {
		uma_reset_device(uma);
		return;
	}
	uma_engine_give_up(engine);
	uma_reset_end(uma);
}

static void uma_reset_ordered(struct work_struct *work)
{
	struct uma_reset_order *order = container_of(work, struct uma_reset_order, work);
	struct uma_device *uma = order->uma;
	struct uma_engine *engine, *only;

	if (READ_ONCE(uma->lost))
		return;
	guard(uma_signalling)();
	scoped_guard(mutex, &uma->hw_lock) {
		/* A device reset that is pending includes the engine. */
		only = uma->resetting ? NULL : order->engine;
		uma->resetting = true;
	}
	uma_for_each_engine(uma, engine)
		if (!only || engine == only)
			uma_engine_drop(engine);
	if (order->preempted) {
		uma_dispatch_cancel_preempted(uma, only);
		uma_for_each_engine(uma, engine)
			if (!only || engine == only)
				uma_engine_push(engine);
	}
	if (only)
		uma_engine_reset_now(only);
	else
		uma_reset_device(uma);
}

static void uma_reset_order(struct uma_device *uma, struct uma_engine *engine, bool preempted)
{
	struct uma_reset_order order = { .uma = uma, .engine = engine, .preempted = preempted };

	INIT_WORK_ONSTACK(&order.work, uma_reset_ordered);
	queue_work(uma->reset_wq, &order.work);
	flush_work(&order.work);
	destroy_work_on_stack(&order.work);
}

/**
 * uma_reset_running - reset the engines that still have a job
 * @uma: device to which no job is pushed
 *
 * Their jobs end with -ECANCELED; no queue is banned.
 */
void uma_reset_running(struct uma_device *uma)
{
	struct uma_engine *engine;

	uma_for_each_engine(uma, engine)
		if (READ_ONCE(engine->state) == UMA_ENGINE_RUNNING)
			uma_reset_order(uma, engine, false);
	/* Wait for the recovery of jobs that had failed already. */
	flush_workqueue(uma->reset_wq);
}

/**
 * uma_reset_now - reset an engine or the device on request of the administrator
 * @uma: device, whose driver may be about to be unbound
 * @engine: engine, NULL for the device
 *
 * Jobs that are on the ring and not done, or were preempted, end with -ECANCELED; no queue is
 * banned.
 *
 * Return: 0 when that is done; -ENODEV if the device is lost.
 */
int uma_reset_now(struct uma_device *uma, struct uma_engine *engine)
{
	int ret;

	if (READ_ONCE(uma->lost))
		return -ENODEV;
	ret = uma_pm_get(uma);
	if (ret)
		return READ_ONCE(uma->lost) ? -ENODEV : ret;
	uma_reset_order(uma, engine, true);
	uma_pm_put(uma);
	return READ_ONCE(uma->lost) ? -ENODEV : 0;
}

/**
 * uma_reset_stop - stop recovery for good: no job is pushed any more
 * @uma: device whose interrupt has been freed, or that is shut down
 */
void uma_reset_stop(struct uma_device *uma)
{
	struct uma_engine *engine;

	scoped_guard(mutex, &uma->hw_lock)
		uma->lost = true;
	/* Disabled, as others may still try to queue them: the rings are about to be freed. */
	disable_work_sync(&uma->reset_work);
	uma_for_each_engine(uma, engine)
		disable_delayed_work_sync(&engine->watch);
	disable_work_sync(&uma->kick_work);
	/* Wait for uma_reset_order(); a later one finds the device lost. */
	flush_workqueue(uma->reset_wq);
}
EXPORT_SYMBOL_IF_KUNIT(uma_reset_stop);
