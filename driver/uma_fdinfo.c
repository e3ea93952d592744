// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What /proc/PID/fdinfo says about a client; keys as in the kernel's
 * drm-usage-stats documentation.
 */
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "uma_device.h"
#include "uma_drv.h"
#include "uma_queue.h"
#include "uma_sched.h"

/**
 * uma_usage_alloc - a client that has not used anything
 * @engines: engines of the device
 *
 * Return: usage with a reference, or NULL.
 */
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

/**
 * uma_usage_get - take a reference
 * @usage: engine time
 *
 * Return: @usage.
 */
struct uma_usage *uma_usage_get(struct uma_usage *usage)
{
	kref_get(&usage->ref);
	return usage;
}

/**
 * uma_usage_put - drop a reference
 * @usage: engine time
 */
void uma_usage_put(struct uma_usage *usage)
{
	kref_put(&usage->ref, uma_usage_free);
}

/**
 * uma_usage_ns - time that a client has used on the engines of a class
 * @uma: device
 * @usage: engine time
 * @engine_class: &enum uma_engine_class
 *
 * Jobs that run now count as far as they are. What the device says in the end
 * may be less than what the CPU's clock said meanwhile; for who looks, time
 * never goes back.
 *
 * Return: nanoseconds.
 */
u64 uma_usage_ns(struct uma_device *uma, struct uma_usage *usage, u32 engine_class)
{
	/* First, so that a job that ends in between is not counted twice. */
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

/**
 * uma_show_fdinfo - print engine time and memory of a client
 * @p: output
 * @file: client
 */
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
