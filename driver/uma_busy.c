// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * How busy the engines are.
 */
#include "uma_busy.h"
#include "uma_device.h"

#define UMA_BUSY_MS	1000

/**
 * uma_engine_busy_ns - time that an engine has had jobs
 * @engine: engine
 *
 * The device tells how long a job took when it is done; until then it counts
 * from the doorbell, which may be a little more. The sum never goes back.
 *
 * Return: nanoseconds, with the job that runs.
 */
u64 uma_engine_busy_ns(struct uma_engine *engine)
{
	unsigned long flags;
	u64 ns;

	spin_lock_irqsave(&engine->lock, flags);
	ns = engine->counters.busy_ns + uma_engine_elapsed_ns(engine);
	engine->busy_seen = max(engine->busy_seen, ns);
	ns = engine->busy_seen;
	spin_unlock_irqrestore(&engine->lock, flags);
	return ns;
}

/**
 * uma_busy_ns - time that engines have had jobs
 * @uma: device
 *
 * Return: nanoseconds, the sum of all engines.
 */
u64 uma_busy_ns(struct uma_device *uma)
{
	struct uma_engine *engine;
	u64 ns = 0;

	uma_for_each_engine(uma, engine)
		ns += uma_engine_busy_ns(engine);
	return ns;
}

/**
 * uma_busy_now - share of the engines' time that was used in the last second
 * @uma: device
 *
 * Return: 0 .. 100.
 */
u32 uma_busy_now(struct uma_device *uma)
{
	return READ_ONCE(uma->busy.percent);
}

static void uma_busy_work(struct work_struct *work)
{
	struct uma_device *uma = container_of(work, struct uma_device, busy.work.work);
	struct uma_busy *busy = &uma->busy;
	u64 ns = uma_busy_ns(uma);
	ktime_t now = ktime_get();
	unsigned long flags;

	spin_lock_irqsave(&busy->lock, flags);
	WRITE_ONCE(busy->percent,
		   uma_busy_percent(ns - busy->ns, ktime_to_ns(ktime_sub(now, busy->time)),
				    uma->info.engine_count));
	/* After a second without a job the next one begins anew. */
	busy->running = ns != busy->ns || READ_ONCE(uma->powered);
	busy->time = now;
	busy->ns = ns;
	if (busy->running)
		queue_delayed_work(system_freezable_wq, &busy->work,
				   msecs_to_jiffies(UMA_BUSY_MS));
	spin_unlock_irqrestore(&busy->lock, flags);
}

/**
 * uma_busy_kick - the engines get power, so there will be jobs
 * @uma: device
 */
void uma_busy_kick(struct uma_device *uma)
{
	struct uma_busy *busy = &uma->busy;
	u64 ns = uma_busy_ns(uma);
	unsigned long flags;

	spin_lock_irqsave(&busy->lock, flags);
	if (!busy->running) {
		busy->running = true;
		busy->time = ktime_get();
		busy->ns = ns;
		queue_delayed_work(system_freezable_wq, &busy->work,
				   msecs_to_jiffies(UMA_BUSY_MS));
	}
	spin_unlock_irqrestore(&busy->lock, flags);
}

/**
 * uma_busy_init - before anything else
 * @uma: device
 */
void uma_busy_init(struct uma_device *uma)
{
	spin_lock_init(&uma->busy.lock);
	INIT_DELAYED_WORK(&uma->busy.work, uma_busy_work);
}

/**
 * uma_busy_stop - no more samples
 * @uma: device that gets no power any more
 */
void uma_busy_stop(struct uma_device *uma)
{
	cancel_delayed_work_sync(&uma->busy.work);
}
