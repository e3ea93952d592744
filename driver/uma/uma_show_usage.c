// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Engine time and counters: /proc/PID/fdinfo, with the keys of the kernel's drm-usage-stats
 * documentation, and DRM_IOCTL_UMA_COUNTERS.
 */
#include <linux/capability.h>
#include <linux/nospec.h>
#include <linux/slab.h>

#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "uma_device.h"
#include "uma_drv.h"
#include "uma_job.h"

/* Returns a usage with one reference, or NULL. */
struct uma_usage *uma_usage_alloc(u32 engines)
{
	struct uma_usage *usage;
	u32 i;

	usage = kzalloc(struct_size(usage, shares, engines), GFP_KERNEL_ACCOUNT);
	if (!usage)
		return NULL;
	kref_init(&usage->ref);
	usage->count = engines;
	for (i = 0; i < engines; i++)
		uma_share_init(&usage->shares[i]);
	return usage;
}

static void uma_usage_free(struct kref *ref)
{
	kfree(container_of(ref, struct uma_usage, ref));
}

struct uma_usage *uma_usage_get(struct uma_usage *usage)
{
	kref_get(&usage->ref);
	return usage;
}

void uma_usage_put(struct uma_usage *usage)
{
	kref_put(&usage->ref, uma_usage_free);
}

/**
 * uma_usage_ns - engine time of a client on the engines of a class
 * @uma: device
 * @usage: engine time
 * @engine_class: &enum uma_engine_class
 *
 * Includes running jobs, by the CPU's clock. The device may report less time when they are done,
 * but a value that was reported must not decrease.
 *
 * Return: nanoseconds.
 */
u64 uma_usage_ns(struct uma_device *uma, struct uma_usage *usage, u32 engine_class)
{
	/* Read first, so that a job that ends in between is not counted twice. */
	s64 ns = atomic64_read(&usage->ns[engine_class]), shown;
	struct uma_engine *engine;

	uma_for_each_engine(uma, engine) {
		if (engine->info.engine_class != engine_class)
			continue;
		spin_lock_irq(&engine->lock);
		if (engine->job && engine->job->queue->usage == usage)
			ns += uma_engine_elapsed_ns(engine);
		spin_unlock_irq(&engine->lock);
	}
	shown = atomic64_read(&usage->shown[engine_class]);
	do {
		if (ns <= shown)
			return shown;
	} while (!atomic64_try_cmpxchg(&usage->shown[engine_class], &shown, ns));
	return ns;
}

/* The show_fdinfo callback. */
void uma_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct uma_client *client = file->driver_priv;
	u32 capacity[UMA_ENGINE_CLASS_COUNT] = {}, mhz[UMA_ENGINE_CLASS_COUNT] = {};
	struct uma_engine *engine;
	u32 i;

	uma_for_each_engine(client->uma, engine) {
		capacity[engine->info.engine_class]++;
		mhz[engine->info.engine_class] = max(mhz[engine->info.engine_class],
						     engine->info.clock_max_mhz);
	}
	for (i = 0; i < ARRAY_SIZE(uma_class_names); i++) {
		if (!capacity[i])
			continue;
		drm_printf(p, "drm-engine-%s:\t%llu ns\n", uma_class_names[i],
			   uma_usage_ns(client->uma, client->usage, i));
		drm_printf(p, "drm-engine-capacity-%s:\t%u\n", uma_class_names[i], capacity[i]);
		drm_printf(p, "drm-cycles-%s:\t%llu\n", uma_class_names[i],
			   (u64)atomic64_read(&client->usage->cycles[i]));
		drm_printf(p, "drm-maxfreq-%s:\t%u MHz\n", uma_class_names[i], mhz[i]);
	}
	drm_show_memory_stats(p, file);
}

/*
 * Counters, all of 64 bits: sums over the jobs of a queue or of an engine. Their source are the
 * completion records, so no registers are read, and a reset of the device does not clear them.
 */
static void uma_counters_add(struct drm_uma_counters *sum, const struct drm_uma_counters *job)
{
	const __u64 *from = (const __u64 *)job;
	__u64 *to = (__u64 *)sum;
	u32 i;

	for (i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

/* Update the counters after a job, which had the engine for @ns, ended or was preempted. */
void uma_engine_count(struct uma_engine *engine, bool ended, int error, u64 ns)
{
	const struct uma_result *result = &engine->result;
	struct uma_queue *queue = engine->job->queue;
	const struct drm_uma_counters job = {
		.jobs = ended && !error,
		.tasks = result->tasks,
		.tiles = result->tiles,
		.macs = result->macs,
		.read_bytes = result->read_bytes,
		.write_bytes = result->write_bytes,
		.tlb_misses = result->tlb_misses,
		.busy_ns = ns,
		.stall_ns = min(result->stall_ns, ns),
		.wait_ns = uma_job_has_begun(engine->job) ? 0 :
			max_t(s64, 0, ktime_to_ns(ktime_sub(engine->started,
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
	/* They reveal what other users do. */
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
