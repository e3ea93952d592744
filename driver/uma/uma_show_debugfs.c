// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * debugfs files, for debugging and for tests.
 */
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string_helpers.h>

#include <drm/drm_debugfs.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>

#include "uma_device.h"
#include "uma_drv.h"
#include "uma_gem.h"
#include "uma_job.h"
#include "uma_show.h"
#include "uma_vm.h"

/* The device that a file is of. */
struct uma_device *uma_debugfs_device(struct seq_file *m)
{
	struct drm_debugfs_entry *entry = m->private;

	return to_uma_device(entry->dev);
}

static int uma_debugfs_engines(struct seq_file *m, void *unused)
{
	static const char *const states[] = {
		[UMA_ENGINE_IDLE] = "idle",
		[UMA_ENGINE_HELD] = "waiting",
		[UMA_ENGINE_RUNNING] = "running",
		[UMA_ENGINE_FAILED] = "failed",
		[UMA_ENGINE_STOPPED] = "stopped",
	};
	struct uma_device *uma = uma_debugfs_device(m);
	struct uma_engine *engine;
	int idx;

	if (!drm_dev_enter(&uma->drm, &idx))
		return -ENODEV;
	seq_puts(m, "engine           status head tail       jobs    busy_ns   faults timeouts   missed   resets state\n");
	uma_for_each_engine(uma, engine) {
		const struct drm_uma_counters *count = &engine->counters;
		u32 base = UMA_REG_ENGINE(engine->index);

		spin_lock_irq(&engine->lock);
		seq_printf(m, "%-16s %6x %4u %4u %10llu %10llu %8llu %8llu %8llu %8llu %s\n",
			   engine->name, uma_read(uma, base + UMA_ENG_STATUS),
			   uma_read(uma, base + UMA_ENG_RING_HEAD), engine->tail, count->jobs,
			   count->busy_ns, count->faults, count->timeouts, engine->missed,
			   engine->resets,
			   states[engine->state]);
		spin_unlock_irq(&engine->lock);
	}
	drm_dev_exit(idx);
	return 0;
}

static u64 uma_client_bytes(struct drm_file *file)
{
	struct drm_gem_object *obj;
	u64 bytes = 0;
	int id = 0;

	/* There may be any number of handles, and each ioctl that uses one needs the lock. */
	do {
		spin_lock(&file->table_lock);
		obj = idr_get_next(&file->object_idr, &id);
		bytes += obj ? obj->size : 0;
		spin_unlock(&file->table_lock);
		id++;
	} while (obj && !uma_breathe());
	return bytes;
}

static int uma_debugfs_clients(struct seq_file *m, void *unused)
{
	struct uma_device *uma = uma_debugfs_device(m);
	struct drm_file *file;

	seq_puts(m, "    pid client queues        bytes    matrix_ns       gpu_ns    neural_ns comm\n");
	guard(mutex)(&uma->drm.filelist_mutex);
	list_for_each_entry(file, &uma->drm.filelist, lhead) {
		struct uma_client *client = file->driver_priv;
		char comm[TASK_COMM_LEN] = "";
		struct task_struct *task;
		struct pid *pid;

		rcu_read_lock();
		pid = rcu_dereference(file->pid);
		task = pid_task(pid, PIDTYPE_TGID);
		if (task)
			strscpy(comm, task->comm, sizeof(comm));
		seq_printf(m, "%7d %6llu %6u ", pid_nr(pid), file->client_id,
			   atomic_read(&client->usage->queues));
		rcu_read_unlock();
		seq_printf(m, "%12llu %12llu %12llu %12llu \"", uma_client_bytes(file),
			   uma_usage_ns(uma, client->usage, UMA_ENGINE_MATRIX),
			   uma_usage_ns(uma, client->usage, UMA_ENGINE_GPU),
			   uma_usage_ns(uma, client->usage, UMA_ENGINE_NEURAL));
		seq_escape_str(m, comm, ESCAPE_OCTAL | ESCAPE_SPACE, "\"\\\n\t\r\v\f");
		seq_puts(m, "\"\n");
	}
	return 0;
}

/* Ring entries that were used since the ring was set up, and their completion records. */
static int uma_debugfs_rings(struct seq_file *m, void *unused)
{
	struct uma_device *uma = uma_debugfs_device(m);
	struct uma_engine *engine;
	u32 i;

	seq_puts(m, "engine           index      seqno as count            tasks           stamps record            start              end reason operand task\n");
	uma_for_each_engine(uma, engine) {
		spin_lock_irq(&engine->lock);
		for (i = 0; i < 1U << engine->ring_order; i++) {
			const struct uma_ring_entry *entry = &engine->ring[i];
			const struct uma_record *rec = &engine->records[i];
			bool done = rec->seqno == entry->seqno;

			if (!entry->seqno)
				continue;
			seq_printf(m, "%-16s %5u %10llu %2u %5u %#16llx %#16llx ", engine->name, i,
				   le64_to_cpu(entry->seqno), le32_to_cpu(entry->as),
				   le32_to_cpu(entry->task_count), le64_to_cpu(entry->tasks_addr),
				   le64_to_cpu(entry->stamps_addr));
			if (done)
				seq_printf(m, "done   %16llu %16llu %6u %7u %4u\n",
					   le64_to_cpu(rec->start), le64_to_cpu(rec->end),
					   le32_to_cpu(rec->reason), le32_to_cpu(rec->slot),
					   le32_to_cpu(rec->task_index));
			else
				seq_puts(m, "none   - - - - -\n");
		}
		spin_unlock_irq(&engine->lock);
	}
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

	guard(mutex)(&uma->gems_lock);
	seq_printf(m, "%zu\n", list_count_nodes(&uma->gems));
	return 0;
}

static int uma_debugfs_pinned_pages(struct seq_file *m, void *unused)
{
	seq_printf(m, "%ld\n", atomic_long_read(&uma_debugfs_device(m)->pinned_pages));
	return 0;
}

static int uma_debugfs_coredumps(struct seq_file *m, void *unused)
{
	u32 taken, dropped;

	uma_coredump_counts(uma_debugfs_device(m), &taken, &dropped);
	seq_printf(m, "     taken    dropped\n%10u %10u\n", taken, dropped);
	return 0;
}

static const struct drm_debugfs_info uma_debugfs_files[] = {
	{ "clients", uma_debugfs_clients },
	{ "gems", uma_gem_show },
	{ "vms", uma_vms_show },
	{ "held", uma_vms_show_held },
	{ "queues", uma_queues_show },
	{ "engines", uma_debugfs_engines },
	{ "rings", uma_debugfs_rings },
	{ "reset_counter", uma_debugfs_reset_counter },
	{ "fault_counter", uma_debugfs_fault_counter },
	{ "bo_count", uma_debugfs_bo_count },
	{ "coredumps", uma_debugfs_coredumps },
	{ "blocks", uma_vms_show_blocks },
	{ "pinned_pages", uma_debugfs_pinned_pages },
};

/* Called before the device is registered. */
void uma_debugfs_init(struct uma_device *uma)
{
	drm_debugfs_add_files(&uma->drm, uma_debugfs_files, ARRAY_SIZE(uma_debugfs_files));
}
