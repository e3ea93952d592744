// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * When something goes wrong: timeouts, faults, resets.
 *
 * A job that has to be given up costs its queue the right to run more, and its
 * engine a reset. If the engine does not come back, the whole device is reset,
 * after the jobs on the other engines have ended by themselves: what a job has done
 * already cannot be undone, so running it again would not give the same result. If
 * the device does not come back either, it is lost.
 *
 *	runs --fault, timeout--> failed --engine reset works--> given up
 *	  |                        |
 *	  |                        +-----engine reset fails---+
 *	  |                                                   |
 *	  +--device broken----> the others end by themselves <+
 *	                                |
 *	                           device reset: what is left on a ring is lost
 *	                             |        |
 *	                          works     fails: the device is lost, and all
 *	                             |        jobs with it
 *	                        given up
 *
 * All of this runs on one ordered workqueue, so no two recoveries meet.
 */
#include <linux/delay.h>
#include <linux/export.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include <kunit/visibility.h>

#include "uma_device.h"
#include "uma_job.h"
#include "uma_pm.h"
#include "uma_show.h"
#include "uma_trace.h"

/* How often a running job is looked at in case that its interrupt got lost. */
#define UMA_WATCH_MS		500
/* How long the other engines get to finish when there is no time for what their jobs may take. */
#define UMA_SHORT_DRAIN_MS	1000
/* For how long a device says that it is broken, or nothing, before that is believed. */
#define UMA_SURE_MS		10

static u32 uma_engine_read(struct uma_engine *engine, u32 reg)
{
	return uma_read(engine->uma, UMA_REG_ENGINE(engine->index) + reg);
}

/**
 * uma_engine_watch_start - look after a job that has just been pushed
 * @engine: engine
 * @timeout_ms: its timeout
 */
void uma_engine_watch_start(struct uma_engine *engine, u32 timeout_ms)
{
	mod_delayed_work(engine->uma->reset_wq, &engine->watch,
			 msecs_to_jiffies(min_t(u32, timeout_ms, UMA_WATCH_MS)) + 1);
}
EXPORT_SYMBOL_IF_KUNIT(uma_engine_watch_start);

/* A fault without a completion record, if the registers speak of this job. */
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

/**
 * uma_failure_error - how a job ends
 * @failure: what was wrong with it
 *
 * Return: what goes into its fence.
 */
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

/**
 * uma_engine_fail - the job that runs is to be given up
 * @engine: engine, its lock held
 * @failure: why
 */
void uma_engine_fail(struct uma_engine *engine, enum uma_failure failure)
{
	lockdep_assert_held(&engine->lock);
	WARN_ON(engine->state != UMA_ENGINE_RUNNING);

	engine->state = UMA_ENGINE_FAILED;
	engine->failure = failure;
	/* Whoever takes it along with a reset does the rest. */
	if (failure != UMA_FAILURE_LOST) {
		WRITE_ONCE(engine->job->queue->failed, true);
		drm_sched_fault(&engine->job->queue->sched);
	}
	if (failure == UMA_FAILURE_TIMEOUT)
		engine->result.task_index = uma_engine_read(engine, UMA_ENG_TASK_INDEX);
	/* The engine knows what is left of one that was preempted, everybody else all of it. */
	engine->result.task_index += engine->job->first_task;
}

/* Find out how the job on an engine is doing. */
static enum uma_engine_state uma_engine_check(struct uma_engine *engine)
{
	enum uma_engine_state state;

	uma_engine_poll(engine, false);

	spin_lock_irq(&engine->lock);
	if (engine->state == UMA_ENGINE_RUNNING) {
		/* A fault is one however late it is found. */
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

/* End a job that failed, once the engine has let go of it. */
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

	/* Before the fence: who sees that can ask the queue for the reason. */
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

/**
 * uma_reset_abort_held - end a job that was not pushed and never will be
 * @engine: engine of a lost device
 */
void uma_reset_abort_held(struct uma_engine *engine)
{
	uma_engine_abort(engine, true);
}

/**
 * uma_reset_abort - end all jobs of a lost device
 * @uma: device that no longer touches memory
 */
void uma_reset_abort(struct uma_device *uma)
{
	struct uma_engine *engine;
	bool cookie;

	cookie = dma_fence_begin_signalling();
	uma_queues_lost(uma);
	uma_for_each_engine(uma, engine)
		uma_engine_abort(engine, false);
	dma_fence_end_signalling(cookie);
}

/*
 * Let the other engines finish, or stop between two tasks, each as long as its job may run:
 * what a job has done cannot be undone and is not done again. But who knows what a device
 * still gets done that is broken, and a system that goes to sleep cannot wait for long.
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

/* Reset the device. Jobs that were on a ring are marked as failed. */
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
		/* The device knows no slots any more. */
		engine->as = -1;
		spin_unlock_irq(&engine->lock);
	}
	if (!ret)
		ret = uma_hw_start(uma);
	/* What has been reset reaches nothing, whatever becomes of it then. */
	uma->quiet = ret && !uma->wedged;
	return ret;
}

/* Jobs go on, unless somebody has found a reason for another reset meanwhile. */
VISIBLE_IF_KUNIT void uma_reset_end(struct uma_device *uma)
{
	mutex_lock(&uma->hw_lock);
	uma->resetting = work_pending(&uma->reset_work);
	mutex_unlock(&uma->hw_lock);
	uma_engines_push(uma);
}
EXPORT_SYMBOL_IF_KUNIT(uma_reset_end);

static void uma_reset_device(struct uma_device *uma)
{
	struct uma_engine *engine;
	int ret;

	mutex_lock(&uma->hw_lock);
	uma->resetting = true;
	mutex_unlock(&uma->hw_lock);

	uma_reset_drain(uma);
	uma_for_each_engine(uma, engine)
		uma_coredump_job(engine);

	mutex_lock(&uma->hw_lock);
	ret = uma_reset_hardware(uma);
	if (ret)
		uma->lost = true;
	mutex_unlock(&uma->hw_lock);
	trace_uma_reset(uma, "device", ret);
	if (!ret)
		uma_event_reset(uma, NULL);

	/* Before the first fence says -ENODEV: who sees that finds the queue lost. */
	if (ret)
		uma_queues_lost(uma);
	/* While nothing is pushed yet, so that who failed is known by its failure. */
	uma_for_each_engine(uma, engine)
		uma_engine_give_up(engine);
	if (ret) {
		uma_event_wedged(uma);
		/* One that was pulled out is no surprise. */
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
 * uma_queue_recover - reset the engine whose job, which is of a queue, has failed
 * @queue: queue that has a job
 *
 * There is none any more if another reset has ended the job.
 */
void uma_queue_recover(struct uma_queue *queue)
{
	struct uma_device *uma = queue->uma;
	struct uma_engine *engine;
	bool cookie, failed;

	if (READ_ONCE(uma->lost))
		return;
	cookie = dma_fence_begin_signalling();
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
	dma_fence_end_signalling(cookie);
}

/**
 * uma_engine_watch - look after the job that runs
 * @work: &uma_engine.watch
 *
 * Runs every now and then while there is one.
 */
void uma_engine_watch(struct work_struct *work)
{
	struct uma_engine *engine = container_of(work, struct uma_engine, watch.work);
	bool cookie;
	s64 left;

	cookie = dma_fence_begin_signalling();
	if (uma_engine_check(engine) == UMA_ENGINE_RUNNING) {
		left = ktime_ms_delta(engine->deadline, ktime_get());
		uma_engine_watch_start(engine, clamp_t(s64, left, 0, UMA_WATCH_MS));
	}
	dma_fence_end_signalling(cookie);
}

/**
 * uma_kick_work - push jobs that had to wait
 * @work: &uma_device.kick_work
 */
void uma_kick_work(struct work_struct *work)
{
	struct uma_device *uma = container_of(work, struct uma_device, kick_work);
	bool cookie;

	cookie = dma_fence_begin_signalling();
	WRITE_ONCE(uma->starved, false);
	/* Who is still starved says so again: pairs with uma_dispatch_get_as(). */
	smp_mb();
	uma_engines_push(uma);
	dma_fence_end_signalling(cookie);
}

/**
 * uma_reset_work - reset the device
 * @work: &uma_device.reset_work
 */
void uma_reset_work(struct work_struct *work)
{
	struct uma_device *uma = container_of(work, struct uma_device, reset_work);
	bool cookie;

	if (READ_ONCE(uma->lost))
		return;
	cookie = dma_fence_begin_signalling();
	uma_reset_device(uma);
	dma_fence_end_signalling(cookie);
}

/**
 * uma_reset_request - have the device reset
 * @uma: device
 *
 * Callable from interrupts.
 */
void uma_reset_request(struct uma_device *uma)
{
	queue_work(uma->reset_wq, &uma->reset_work);
}

/*
 * Does an invalidation wait for what an engine is in the middle of? A job of the same address space
 * that has let go goes on. A device that cannot tell them apart may wait for any of them.
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
 * uma_reset_holders - give up jobs that do not let go of their address space
 * @uma: device
 * @as: hardware address space that the device is to forget something of
 *
 * They have hung, or are about to. That the device has let go shows in what it
 * was asked for. The caller has asked, and nobody else can.
 */
void uma_reset_holders(struct uma_device *uma, u32 as)
{
	struct uma_engine *engine;
	u32 status;

	lockdep_assert_held(&uma->inval_lock);

	/* One that is going is stopped as a whole. */
	if (READ_ONCE(uma->lost))
		return;
	uma_for_each_engine(uma, engine)
		uma_engine_poll(engine, false);

	mutex_lock(&uma->hw_lock);
	/* It may have let go just now, or been reset: then @as may be somebody else's. */
	if (uma_read_state(uma, UMA_REG_INVAL_STATUS, &status) || !(status & UMA_INVAL_BUSY))
		goto out;
	uma_for_each_engine(uma, engine) {
		if (uma->lost)
			break;
		spin_lock_irq(&engine->lock);
		if (engine->state == UMA_ENGINE_RUNNING && engine->as == as &&
		    uma_engine_holds(engine))
			uma_engine_fail(engine, UMA_FAILURE_TIMEOUT);
		spin_unlock_irq(&engine->lock);
	}
out:
	mutex_unlock(&uma->hw_lock);
}
EXPORT_SYMBOL_IF_KUNIT(uma_reset_holders);

/**
 * struct uma_reset_order - a reset that somebody waits for
 */
struct uma_reset_order {
	/** @work: on &uma_device.reset_wq, like all recovery */
	struct work_struct work;
	/** @uma: device */
	struct uma_device *uma;
	/** @engine: engine, NULL for all of the device */
	struct uma_engine *engine;
	/** @preempted: jobs that wait to be continued are ended, too */
	bool preempted;
};

/* The job on an engine is not waited for, unless it is done already. */
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
	bool cookie;

	if (READ_ONCE(uma->lost))
		return;
	cookie = dma_fence_begin_signalling();
	mutex_lock(&uma->hw_lock);
	/* One that is due anyhow does. */
	only = uma->resetting ? NULL : order->engine;
	uma->resetting = true;
	mutex_unlock(&uma->hw_lock);
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
	dma_fence_end_signalling(cookie);
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
 * @uma: device that no job is pushed to
 *
 * These jobs are -ECANCELED; nobody is banned.
 */
void uma_reset_running(struct uma_device *uma)
{
	struct uma_engine *engine;

	uma_for_each_engine(uma, engine)
		if (READ_ONCE(engine->state) == UMA_ENGINE_RUNNING)
			uma_reset_order(uma, engine, false);
	/* Those that were being given up already. */
	flush_workqueue(uma->reset_wq);
}

/**
 * uma_reset_now - reset an engine or the device, because the administrator says so
 * @uma: device, whose driver may be about to let go of it
 * @engine: engine, NULL for all of the device
 *
 * Jobs that are on the ring and not done, or wait to be continued, are -ECANCELED; nobody is
 * banned.
 *
 * Return: 0 when that is done; -ENODEV if there is no device, or none any more.
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
 * uma_reset_stop - the device is going: no job is pushed any more
 * @uma: device without an interrupt
 */
void uma_reset_stop(struct uma_device *uma)
{
	struct uma_engine *engine;

	mutex_lock(&uma->hw_lock);
	uma->lost = true;
	mutex_unlock(&uma->hw_lock);
	/* Who has still to find out does not start them again: rings are about to go. */
	disable_work_sync(&uma->reset_work);
	uma_for_each_engine(uma, engine)
		disable_delayed_work_sync(&engine->watch);
	disable_work_sync(&uma->kick_work);
	/* A reset that somebody waits for ends; what is ordered later finds the device lost. */
	flush_workqueue(uma->reset_wq);
}
EXPORT_SYMBOL_IF_KUNIT(uma_reset_stop);
