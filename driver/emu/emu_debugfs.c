// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * debugfs: fault injection, and state that no register shows.
 */
#include <linux/debugfs.h>
#include <linux/platform_device.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "emu_device.h"

static struct dentry *emu_debugfs_root;

static int emu_throttle_get(void *data, u64 *val)
{
	struct emu_device *emu = data;

	*val = emu->power.forced;
	return 0;
}

static int emu_throttle_set(void *data, u64 val)
{
	emu_power_force(data, val);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(emu_throttle_fops, emu_throttle_get, emu_throttle_set, "%llu\n");

static int emu_spurious_set(void *data, u64 val)
{
	struct emu_device *emu = data;

	/* Any number: the kernel disables a line with too many, as on real hardware. */
	if (val > U32_MAX)
		return -EINVAL;
	emu_irq_spurious(&emu->irq, val);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(emu_spurious_fops, NULL, emu_spurious_set, "%llu\n");

static int emu_dev_error_set(void *data, u64 val)
{
	if (val != 1)
		return -EINVAL;
	emu_raise_status(data, UMA_DEV_ERROR);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(emu_dev_error_fops, NULL, emu_dev_error_set, "%llu\n");

static int emu_unplug_set(void *data, u64 val)
{
	struct emu_device *emu = data;

	if (val != 1)
		return -EINVAL;
	/* Surprise removal: the hardware is gone before the driver is told. */
	emu_vanish(emu);
	queue_work(emu->wq, &emu->unplug_work);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(emu_unplug_fops, NULL, emu_unplug_set, "%llu\n");

/* Call the driver's shutdown callback, as the kernel does before it powers off. */
static int emu_shutdown_set(void *data, u64 val)
{
	struct emu_device *emu = data;
	struct device *dev;

	if (val != 1)
		return -EINVAL;
	dev = bus_find_device_by_name(&platform_bus_type, NULL, emu_name(emu));
	if (!dev)
		return -ENODEV;
	device_lock(dev);
	if (dev->driver)
		dev->bus->shutdown(dev);
	device_unlock(dev);
	put_device(dev);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(emu_shutdown_fops, NULL, emu_shutdown_set, "%llu\n");

static int emu_freed_get(void *data, u64 *val)
{
	struct emu_device *emu = data;

	*val = atomic64_read(&emu->freed);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(emu_freed_fops, emu_freed_get, NULL, "%llu\n");

static int emu_hang_get(void *data, u64 *val)
{
	struct emu_device *emu = data;

	*val = (u32)atomic_read(&emu->inject.hang);
	return 0;
}

static int emu_hang_set(void *data, u64 val)
{
	struct emu_device *emu = data;

	if (val >> emu->engine_count)
		return -EINVAL;
	atomic_set(&emu->inject.hang, val);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(emu_hang_fops, emu_hang_get, emu_hang_set, "%#llx\n");

/* "START SIZE [AS]": the next access of a task to that range faults. */
static ssize_t emu_fault_addr_write(struct file *file, const char __user *ubuf,
				    size_t count, loff_t *ppos)
{
	struct emu_device *emu = file_inode(file)->i_private;
	struct emu_inject *inject = &emu->inject;
	unsigned long long start, size;
	unsigned long flags;
	u64 end;
	int as = -1, fields;
	char *buf;

	if (count > 128)
		return -EINVAL;
	buf = memdup_user_nul(ubuf, count);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	fields = sscanf(buf, "%lli %lli %i", &start, &size, &as);
	kfree(buf);
	if (fields < 2 || !size || check_add_overflow((u64)start, (u64)size, &end) ||
	    (fields == 3 && (as < 0 || as >= emu->cfg.address_spaces)))
		return -EINVAL;

	spin_lock_irqsave(&emu->lock, flags);
	atomic_set(&inject->addr_armed, 0);
	inject->addr_as = as;
	inject->addr_start = start;
	inject->addr_end = end;
	atomic_set_release(&inject->addr_armed, 1);
	spin_unlock_irqrestore(&emu->lock, flags);
	return count;
}

static ssize_t emu_fault_addr_read(struct file *file, char __user *ubuf, size_t count,
				   loff_t *ppos)
{
	struct emu_device *emu = file_inode(file)->i_private;
	struct emu_inject *inject = &emu->inject;
	char buf[80];
	int len;

	if (atomic_read(&inject->addr_armed))
		len = scnprintf(buf, sizeof(buf), "%#llx %#llx %d\n", inject->addr_start,
				inject->addr_end - inject->addr_start, inject->addr_as);
	else
		len = scnprintf(buf, sizeof(buf), "none\n");
	return simple_read_from_buffer(ubuf, count, ppos, buf, len);
}

static const struct file_operations emu_fault_addr_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.read	= emu_fault_addr_read,
	.write	= emu_fault_addr_write,
	.llseek	= default_llseek,
};

/* "START SIZE": jobs whose task array begins in that range hang; a size of 0 disarms it. */
static ssize_t emu_hang_addr_write(struct file *file, const char __user *ubuf,
				   size_t count, loff_t *ppos)
{
	struct emu_device *emu = file_inode(file)->i_private;
	unsigned long long start, size;
	unsigned long flags;
	int fields;
	char *buf;
	u64 end;

	if (count > 128)
		return -EINVAL;
	buf = memdup_user_nul(ubuf, count);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	fields = sscanf(buf, "%lli %lli", &start, &size);
	kfree(buf);
	if (fields != 2 || check_add_overflow((u64)start, (u64)size, &end))
		return -EINVAL;
	spin_lock_irqsave(&emu->lock, flags);
	emu->inject.hang_start = start;
	emu->inject.hang_end = end;
	spin_unlock_irqrestore(&emu->lock, flags);
	return count;
}

static const struct file_operations emu_hang_addr_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= emu_hang_addr_write,
	.llseek	= default_llseek,
};

static void emu_show_engine(struct seq_file *m, struct emu_engine *engine)
{
	static const char *const classes[] = { "matrix", "gpu", "neural" };
	const struct uma_engine_desc *desc = engine->desc;
	struct emu_fault fault;
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	fault = engine->fault;
	seq_printf(m, "engine %u: %s%u %s%s%s%s%s%shead %u tail %u order %u task %u\n",
		   engine->index,
		   desc->engine_class < ARRAY_SIZE(classes) ? classes[desc->engine_class] : "?",
		   desc->instance, engine->enabled ? "enabled " : "",
		   engine->busy ? "busy " : "", engine->halted ? "halted " : "",
		   engine->hung ? "hung " : "", engine->resetting ? "resetting " : "",
		   engine->stall_since ? "stalled " : "",
		   engine->head, engine->tail, engine->order, engine->task_index);
	spin_unlock_irqrestore(&engine->lock, flags);

	if (fault.reason)
		seq_printf(m, "  fault: %s field %s slot %u as %u addr %#llx seqno %llu\n",
			   uma_fault_name(fault.reason), fault.field ?: "?", fault.slot,
			   fault.as, fault.addr, fault.seqno);
}

static int emu_state_show(struct seq_file *m, void *unused)
{
	struct emu_device *emu = m->private;
	struct emu_power *power = &emu->power;
	u32 i;

	emu_power_update(emu);
	seq_printf(m, "profile: %s\nkernels: %s\nparanoid: %d\n", emu->profile->name,
		   emu_fpu_kernels_name(), emu->cfg.paranoid);
	seq_printf(m, "status:%s%s%s%s\n", emu->status & UMA_DEV_ERROR ? " error" : "",
		   emu->status & UMA_DEV_STALE_TLB ? " stale-tlb" : "",
		   emu->resetting ? " resetting" : " ready", emu->gone ? " gone" : "");
	seq_printf(m, "irq: status %#x enable %#x masked %d raised %llu\n", emu->irq.status,
		   emu->irq.enable, emu->irq.masked, emu->irq.raised);
	seq_printf(m, "power (modelled): %s%s clock %u MHz cap %u temp %lld uC power %u mW\n",
		   power->on ? "on" : "off", power->throttled ? " throttled" : "",
		   power->clock, power->clock_cap, power->temp_uc, power->mw);
	seq_printf(m, "invalidations: %llu ignored %u busy %d\n", emu->inval_count,
		   emu->inval_ignored, atomic_read(&emu->inval_busy));
	seq_printf(m, "freed: %lld walks %llu\n", atomic64_read(&emu->freed), emu->walker.walks);
	for (i = 0; i < emu->engine_count; i++)
		emu_show_engine(m, &emu->engines[i]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(emu_state);

static int emu_tlb_show(struct seq_file *m, void *unused)
{
	struct emu_device *emu = m->private;
	u32 i;

	seq_puts(m, "engine entries hits misses invalidated compared shortened\n");
	for (i = 0; i < emu->engine_count; i++) {
		const struct emu_tlb *tlb = &emu->engines[i].tlb;

		seq_printf(m, "%u %u %llu %llu %llu %llu %llu\n", i, emu_tlb_count(tlb), tlb->hits,
			   tlb->misses, tlb->invalidated, tlb->compared, tlb->shortened);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(emu_tlb);

static int emu_counters_show(struct seq_file *m, void *unused)
{
	struct emu_device *emu = m->private;
	u32 i, c;

	seq_puts(m, "engine jobs tasks tiles macs read_bytes write_bytes tlb_misses busy_ns stall_ns faults\n");
	for (i = 0; i < emu->engine_count; i++) {
		struct emu_engine *engine = &emu->engines[i];
		u64 cnt[UMA_MAX_COUNTERS];
		unsigned long flags;

		spin_lock_irqsave(&engine->lock, flags);
		memcpy(cnt, engine->cnt, sizeof(cnt));
		spin_unlock_irqrestore(&engine->lock, flags);

		seq_printf(m, "%u", i);
		for (c = 0; c < UMA_MAX_COUNTERS; c++)
			seq_printf(m, " %llu", cnt[c]);
		seq_putc(m, '\n');
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(emu_counters);

static int emu_fpu_show(struct seq_file *m, void *unused)
{
	struct emu_device *emu = m->private;
	u32 i;

	seq_puts(m, "engine sections total_ns max_ns\n");
	for (i = 0; i < emu->engine_count; i++) {
		const struct emu_engine *engine = &emu->engines[i];

		seq_printf(m, "%u %llu %llu %llu\n", i, engine->fpu_sections, engine->fpu_ns,
			   engine->fpu_max_ns);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(emu_fpu);

/**
 * emu_debugfs_add - create the files of a device
 * @emu: device
 */
void emu_debugfs_add(struct emu_device *emu)
{
	struct emu_inject *inject = &emu->inject;
	struct dentry *dir;

	dir = debugfs_create_dir(emu_name(emu), emu_debugfs_root);
	emu->debugfs = dir;

	debugfs_create_file("hang_next", 0600, dir, emu, &emu_hang_fops);
	debugfs_create_file("hang_addr", 0200, dir, emu, &emu_hang_addr_fops);
	debugfs_create_bool("hang_step", 0600, dir, &inject->hang_step);
	debugfs_create_atomic_t("ecc_error", 0600, dir, &inject->ecc_error);
	debugfs_create_atomic_t("lose_irq", 0600, dir, &inject->lose_irq);
	debugfs_create_atomic_t("lose_inval", 0600, dir, &inject->lose_inval);
	debugfs_create_atomic_t("fail_reset", 0600, dir, &inject->fail_reset);
	debugfs_create_u32("slow_reset", 0600, dir, &inject->slow_reset);
	debugfs_create_atomic_t("fail_power", 0600, dir, &inject->fail_power);
	debugfs_create_bool("watch_lost", 0600, dir, &inject->watch_lost);
	debugfs_create_bool("no_time", 0600, dir, &inject->no_time);
	debugfs_create_atomic_t("bad_record", 0600, dir, &inject->bad_record);
	debugfs_create_u32("task_us", 0600, dir, &emu->cfg.task_us);
	debugfs_create_u32("tile_us", 0600, dir, &emu->cfg.tile_us);
	debugfs_create_file("fault_addr", 0600, dir, emu, &emu_fault_addr_fops);
	debugfs_create_file("spurious_irq", 0200, dir, emu, &emu_spurious_fops);
	debugfs_create_file("dev_error", 0200, dir, emu, &emu_dev_error_fops);
	debugfs_create_file("throttle", 0600, dir, emu, &emu_throttle_fops);
	debugfs_create_file("unplug", 0200, dir, emu, &emu_unplug_fops);
	debugfs_create_file("shutdown", 0200, dir, emu, &emu_shutdown_fops);

	debugfs_create_file("freed", 0400, dir, emu, &emu_freed_fops);
	debugfs_create_u32("inval_ignored", 0400, dir, &emu->inval_ignored);
	debugfs_create_u32("roots_torn", 0400, dir, &emu->roots_torn);
	debugfs_create_atomic_t("inval_busy", 0400, dir, &emu->inval_busy);
	debugfs_create_file("state", 0400, dir, emu, &emu_state_fops);
	debugfs_create_file("tlb", 0400, dir, emu, &emu_tlb_fops);
	debugfs_create_file("counters", 0400, dir, emu, &emu_counters_fops);
	debugfs_create_file("fpu", 0400, dir, emu, &emu_fpu_fops);
}

/**
 * emu_debugfs_remove - remove the files of a device
 * @emu: device
 */
void emu_debugfs_remove(struct emu_device *emu)
{
	debugfs_remove_recursive(emu->debugfs);
	emu->debugfs = NULL;
}

/**
 * emu_debugfs_register - create the directory of all devices
 */
void emu_debugfs_register(void)
{
	emu_debugfs_root = debugfs_create_dir("uma_emu", NULL);
}

/**
 * emu_debugfs_unregister - remove the directory of all devices
 */
void emu_debugfs_unregister(void)
{
	debugfs_remove_recursive(emu_debugfs_root);
}
