// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Files for people who look for a bug, and for tests.
 */
#include <linux/seq_file.h>

#include <drm/drm_debugfs.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "uma_debugfs.h"
#include "uma_device.h"
#include "uma_gem.h"
#include "uma_queue.h"
#include "uma_vm.h"

static struct uma_device *uma_debugfs_device(struct seq_file *m)
{
	struct drm_debugfs_entry *entry = m->private;

	return to_uma_device(entry->dev);
}

static int uma_debugfs_gems(struct seq_file *m, void *unused)
{
	uma_gem_show(uma_debugfs_device(m), m);
	return 0;
}

static int uma_debugfs_vms(struct seq_file *m, void *unused)
{
	uma_vms_show(uma_debugfs_device(m), m);
	return 0;
}

static int uma_debugfs_queues(struct seq_file *m, void *unused)
{
	uma_queues_show(uma_debugfs_device(m), m);
	return 0;
}

static int uma_debugfs_engines(struct seq_file *m, void *unused)
{
	struct uma_device *uma = uma_debugfs_device(m);
	struct uma_engine *engine;
	int idx;

	if (!drm_dev_enter(&uma->drm, &idx))
		return -ENODEV;
	seq_puts(m, "engine           status head tail       jobs    busy_ns   faults timeouts   missed   resets\n");
	uma_for_each_engine(uma, engine) {
		u32 base = UMA_REG_ENGINE(engine->index);

		spin_lock_irq(&engine->lock);
		seq_printf(m, "%-16s %6x %4u %4u %10llu %10llu %8llu %8llu %8llu %8llu%s\n",
			   engine->name, uma_read(uma, base + UMA_ENG_STATUS),
			   uma_read(uma, base + UMA_ENG_RING_HEAD), engine->tail, engine->jobs,
			   engine->busy_ns, engine->faults, engine->timeouts,
			   engine->missed, engine->resets,
			   !engine->job ? "" : engine->pushed ? " running" : " waiting");
		spin_unlock_irq(&engine->lock);
	}
	drm_dev_exit(idx);
	return 0;
}

static int uma_debugfs_reset_counter(struct seq_file *m, void *unused)
{
	seq_printf(m, "%d\n", atomic_read(&uma_debugfs_device(m)->reset_count));
	return 0;
}

static int uma_debugfs_fault_counter(struct seq_file *m, void *unused)
{
	seq_printf(m, "%d\n", atomic_read(&uma_debugfs_device(m)->fault_count));
	return 0;
}

static int uma_debugfs_bo_count(struct seq_file *m, void *unused)
{
	struct uma_device *uma = uma_debugfs_device(m);

	mutex_lock(&uma->gems_lock);
	seq_printf(m, "%zu\n", list_count_nodes(&uma->gems));
	mutex_unlock(&uma->gems_lock);
	return 0;
}

static int uma_debugfs_pinned_pages(struct seq_file *m, void *unused)
{
	seq_printf(m, "%ld\n", atomic_long_read(&uma_debugfs_device(m)->pinned_pages));
	return 0;
}

static int uma_debugfs_blocks(struct seq_file *m, void *unused)
{
	seq_printf(m, "%llu\n", uma_vms_blocks(uma_debugfs_device(m)));
	return 0;
}

static const struct drm_debugfs_info uma_debugfs_files[] = {
	{ "gems", uma_debugfs_gems },
	{ "vms", uma_debugfs_vms },
	{ "queues", uma_debugfs_queues },
	{ "engines", uma_debugfs_engines },
	{ "reset_counter", uma_debugfs_reset_counter },
	{ "fault_counter", uma_debugfs_fault_counter },
	{ "bo_count", uma_debugfs_bo_count },
	{ "blocks", uma_debugfs_blocks },
	{ "pinned_pages", uma_debugfs_pinned_pages },
};

/**
 * uma_debugfs_init - make the files, before the device is registered
 * @uma: device
 */
void uma_debugfs_init(struct uma_device *uma)
{
	drm_debugfs_add_files(&uma->drm, uma_debugfs_files, ARRAY_SIZE(uma_debugfs_files));
}
