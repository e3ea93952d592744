// SPDX-License-Identifier: MIT
/*
 * Opening the in-process device.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "sw.h"

uint64_t sw_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* One thread for each processor that the process may use. */
static uint32_t cpu_count(void)
{
	cpu_set_t set;
	long n;

	if (!sched_getaffinity(0, sizeof(set), &set))
		n = CPU_COUNT(&set);
	else
		n = sysconf(_SC_NPROCESSORS_ONLN);
	if (n < 1)
		n = 1;
	return n > SW_MAX_THREADS ? SW_MAX_THREADS : n;
}

static int fill_engines(struct sw_device *dev)
{
	const struct uma_profile *profile = dev->profile;
	const uint32_t count = profile->engine_count;
	struct device_engine *e;
	uint32_t i;

	dev->base.engines = calloc(count, sizeof(*dev->base.engines));
	if (!dev->base.engines)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		const struct uma_engine_desc *desc = &profile->engines[i];

		e = &dev->base.engines[i];
		e->engine_class = desc->engine_class;
		/* The planner gets the rows as constants, so the cast is safe. */
		e->caps = (struct uma_op_cap *)desc->caps;
		e->info.size = sizeof(e->info);
		e->info.engine = engine_of_class(desc->engine_class);
		e->info.instance = desc->instance;
		e->info.node = desc->node;
		if (desc->flags & UMA_ENGINE_DYNAMIC_SHAPES)
			e->info.flags |= ACCEL_ENGINE_DYNAMIC_SHAPES;
		if (desc->flags & UMA_ENGINE_LENGTHS)
			e->info.flags |= ACCEL_ENGINE_LENGTHS;
		if (desc->flags & UMA_ENGINE_PREEMPT)
			e->info.flags |= ACCEL_ENGINE_PREEMPT;
		e->info.cap_count = desc->cap_count;
		e->info.clock_max_mhz = desc->clock_max_mhz;
		e->info.max_job_tasks = desc->max_job_tasks;
		if (desc->max_job_tasks > dev->base.info.max_job_tasks)
			dev->base.info.max_job_tasks = desc->max_job_tasks;
	}
	dev->base.engine_count = count;
	return 0;
}

static int fill_memory(struct sw_device *dev)
{
	const struct uma_profile *profile = dev->profile;
	const uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) *
			     sysconf(_SC_PAGESIZE);
	struct accel_memory_info *m;
	uint32_t i;

	dev->base.memory = calloc(profile->node_count,
				  sizeof(*dev->base.memory));
	if (!dev->base.memory)
		return -ENOMEM;
	for (i = 0; i < profile->node_count; i++) {
		m = &dev->base.memory[i];
		m->size = sizeof(*m);
		m->node = i;
		m->bytes = ram / profile->node_count;
		m->bandwidth = profile->node_bandwidth_mbs[i] * 1000000ull;
	}
	return 0;
}

static void fill_info(struct sw_device *dev, const char *name,
		      const char *kernels)
{
	struct accel_device_info *info = &dev->base.info;

	info->flags = ACCEL_DEVICE_EMULATED | ACCEL_DEVICE_COHERENT;
	info->engine_count = dev->profile->engine_count;
	info->node_count = dev->profile->node_count;
	info->task_version = UMA_TASK_VERSION;
	info->page_size = sysconf(_SC_PAGESIZE);
	info->timestamp_hz = 1000000000;
	info->max_bo_size = 1ull << 40;
	info->priorities = 1u << ACCEL_PRIORITY_NORMAL | 1u << ACCEL_PRIORITY_LOW |
			   1u << ACCEL_PRIORITY_HIGH |
			   1u << ACCEL_PRIORITY_REALTIME;
	info->max_timeout_ms = SW_MAX_TIMEOUT_MS;
	info->default_timeout_ms = SW_DEFAULT_TIMEOUT_MS;
	info->threads = dev->team.thread_count;
	snprintf(info->name, sizeof(info->name), "%s", name);
	snprintf(info->driver, sizeof(info->driver), "sw");
	snprintf(info->profile, sizeof(info->profile), "%s", dev->profile->name);
	snprintf(info->kernels, sizeof(info->kernels), "%s", kernels);
}

static int choose_profile(struct sw_device *dev, const struct backend_args *args)
{
	const char *name = "full";

	if (!strncmp(args->name, "sw:", 3))
		name = args->name + 3;
	dev->profile = uma_profile_find(name);
	if (!dev->profile)
		return error_set(args->error, -EINVAL, "name",
				 "the in-process device knows no chip \"%.32s\"",
				 name);
	return 0;
}

static int sw_open(struct accel_device *base, const struct backend_args *args)
{
	struct sw_device *dev = to_sw_device(base);
	/* For tests: the level is fixed when the device is opened. */
	const char *wanted = getenv("ACCEL_SW_KERNELS");
	uint32_t threads = args->opts->threads;
	const char *chosen = NULL;
	uint32_t isa = 0;
	int ret;

	ret = choose_profile(dev, args);
	if (ret)
		return ret;
	if (wanted && !*wanted)
		wanted = NULL;
	dev->kernels = sw_kernels(wanted, &chosen, &isa);
	if (!dev->kernels)
		return error_set(args->error, -EINVAL, "ACCEL_SW_KERNELS",
				 "there are no kernels \"%.32s\" for this CPU",
				 wanted);
	if (threads > SW_MAX_THREADS)
		return error_set(args->error, -EINVAL, "opts.threads",
				 "%u is more than %u", threads, SW_MAX_THREADS);
	ret = fill_engines(dev);
	if (!ret)
		ret = fill_memory(dev);
	if (!ret)
		ret = sw_team_init(&dev->team, threads ? threads : cpu_count());
	if (ret) {
		free(base->engines);
		free(base->memory);
		return error_set(args->error, ret, ret == -EAGAIN ?
				 "opts.threads" : NULL, ret == -EAGAIN ?
				 "threads could not be started" :
				 "out of memory");
	}
	dev->team.trace = sw_trace_open();
	fast_cpu_init(&dev->cpu, isa, dev->team.thread_count);
	fill_info(dev, args->name, chosen);
	return 0;
}

static void sw_close(struct accel_device *base)
{
	struct sw_device *dev = to_sw_device(base);

	sw_team_exit(&dev->team);
	sw_trace_close(dev->team.trace);
	free(base->engines);
	free(base->memory);
	free(dev);
}

static int sw_timestamp(struct accel_device *dev, uint64_t *device,
			uint64_t *cpu_ns)
{
	(void)dev;
	*device = *cpu_ns = sw_now();
	return 0;
}

static int sw_ctx_create(struct accel_ctx *ctx)
{
	return sw_ranges_init(to_sw_ctx(ctx));
}

static void sw_ctx_destroy(struct accel_ctx *ctx)
{
	sw_ranges_exit(to_sw_ctx(ctx));
}

const struct backend_ops backend_sw = {
	.name = "sw",
	.device_size = sizeof(struct sw_device),
	.ctx_size = sizeof(struct sw_ctx),
	.bo_size = sizeof(struct sw_bo),
	.queue_size = sizeof(struct sw_queue),
	.job_size = sizeof(struct sw_job),
	.open = sw_open,
	.close = sw_close,
	.timestamp = sw_timestamp,
	.ctx_create = sw_ctx_create,
	.ctx_destroy = sw_ctx_destroy,
	.bo_create = sw_bo_create,
	.bo_import_ptr = sw_bo_import_ptr,
	.bo_import_dmabuf = sw_bo_import_dmabuf,
	.bo_export_dmabuf = sw_bo_export_dmabuf,
	.bo_sync = sw_bo_sync,
	.bo_destroy = sw_bo_destroy,
	.queue_create = sw_queue_create,
	.queue_cancel = sw_queue_cancel,
	.queue_destroy = sw_queue_destroy,
	.plan_host = sw_plan_host,
	.job_hints = sw_job_hints,
	.job_prepare = sw_job_prepare,
	.job_rebind = sw_job_rebind,
	.job_destroy = sw_job_destroy,
	.submit = sw_submit,
	.fence_wait = sw_fence_wait,
	.fence_info = sw_fence_info,
	.fence_export = sw_fence_export,
	.fence_import = sw_fence_import,
	.fence_destroy = sw_fence_destroy,
	.user_pin = sw_user_pin,
	.user_unpin = sw_user_unpin,
	.user_map = sw_user_map,
	.user_unmap = sw_user_unmap,
};
