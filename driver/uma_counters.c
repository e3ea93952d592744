// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What jobs did, added up for their queue and for their engine.
 *
 * The device tells it in the completion record, so that nothing has to be read
 * from registers for a job, and a reset of the device takes nothing away.
 */
#include <linux/capability.h>
#include <linux/nospec.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "uma_counters.h"
#include "uma_device.h"
#include "uma_drv.h"
#include "uma_queue.h"
#include "uma_sched.h"

static void uma_counters_add(struct drm_uma_counters *sum, const struct drm_uma_counters *job)
{
	sum->jobs += job->jobs;
	sum->tasks += job->tasks;
	sum->tiles += job->tiles;
	sum->macs += job->macs;
	sum->read_bytes += job->read_bytes;
	sum->write_bytes += job->write_bytes;
	sum->tlb_misses += job->tlb_misses;
	sum->busy_ns += job->busy_ns;
	sum->stall_ns += job->stall_ns;
	sum->wait_ns += job->wait_ns;
	sum->faults += job->faults;
	sum->timeouts += job->timeouts;
}

/**
 * uma_engine_count - account for a job
 * @engine: engine that the job was on, its lock held
 * @error: error of the job's fence
 * @ns: time that it was on the engine
 */
void uma_engine_count(struct uma_engine *engine, int error, u64 ns)
{
	const struct uma_result *result = &engine->result;
	struct uma_queue *queue = engine->job->queue;
	const struct drm_uma_counters job = {
		.jobs = !error,
		.tasks = result->tasks,
		.tiles = result->tiles,
		.macs = result->macs,
		.read_bytes = result->read_bytes,
		.write_bytes = result->write_bytes,
		.tlb_misses = result->tlb_misses,
		.busy_ns = ns,
		.stall_ns = min(result->stall_ns, ns),
		.wait_ns = max_t(s64, 0, ktime_to_ns(ktime_sub(engine->started,
							       engine->job->submitted))),
		.faults = engine->failure == UMA_FAILURE_FAULT,
		.timeouts = engine->failure == UMA_FAILURE_TIMEOUT,
	};
	unsigned long flags;

	lockdep_assert_held(&engine->lock);

	uma_counters_add(&engine->counters, &job);
	spin_lock_irqsave(&queue->counters_lock, flags);
	uma_counters_add(&queue->counters, &job);
	spin_unlock_irqrestore(&queue->counters_lock, flags);
}

static int uma_counters_of_queue(struct uma_client *client, u32 id,
				 struct drm_uma_counters *counters)
{
	struct uma_queue *queue = uma_queue_find(client, id);

	if (!queue)
		return -ENOENT;
	spin_lock_irq(&queue->counters_lock);
	*counters = queue->counters;
	spin_unlock_irq(&queue->counters_lock);
	uma_queue_put(queue);
	return 0;
}

static int uma_counters_of_engine(struct uma_device *uma, u32 index,
				  struct drm_uma_counters *counters)
{
	struct uma_engine *engine;

	if (index >= uma->info.engine_count)
		return -EINVAL;
	/* What others do. */
	if (!perfmon_capable())
		return -EACCES;
	engine = &uma->engines[array_index_nospec(index, uma->info.engine_count)];
	spin_lock_irq(&engine->lock);
	*counters = engine->counters;
	spin_unlock_irq(&engine->lock);
	return 0;
}

/* DRM_IOCTL_UMA_COUNTERS */
int uma_ioctl_counters(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct uma_device *uma = to_uma_device(drm);
	struct drm_uma_counters_get *args = data;
	struct drm_uma_counters counters;
	int ret;

	if (args->pad || (args->queue_id && args->engine))
		return -EINVAL;
	ret = args->queue_id ?
		uma_counters_of_queue(file->driver_priv, args->queue_id, &counters) :
		uma_counters_of_engine(uma, args->engine, &counters);
	return ret ?: uma_reply(args->data, &args->size, &counters, sizeof(counters));
}
