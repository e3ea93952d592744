// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Probing a device: identification, start, stop, interrupt.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/export.h>
#include <linux/interrupt.h>
#include <linux/math64.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/string.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include <kunit/visibility.h>

#include "uma_device.h"
#include "uma_gem.h"
#include "uma_job.h"
#include "uma_pm.h"
#include "uma_show.h"
#include "uma_vm.h"

/* At most one job is on a ring at a time: more entries would be of no use. */
#define UMA_RING_ORDER	4

/* For devices that do not say how long they need. */
#define UMA_ENGINE_RESET_MS	1000
#define UMA_DEVICE_RESET_MS	2000
#define UMA_POWER_MS		1000

/**
 * uma_read_state - read a register that a decision depends on
 * @uma: device
 * @reg: offset of a register that is never all ones, which is what a dead bus reads as
 * @value: out: value
 *
 * Return: 0, or a negative errno if the register cannot be read; @value is invalid then.
 */
int uma_read_state(struct uma_device *uma, u32 reg, u32 *value)
{
	int ret = regmap_read(uma->regs, reg, value);

	return ret ? ret : *value == ~0U ? -ENODEV : 0;
}

/* Read a register that is only reported or validated. All ones if it cannot be read. */
u32 uma_read(struct uma_device *uma, u32 reg)
{
	unsigned int value;

	return regmap_read(uma->regs, reg, &value) ? ~0U : value;
}

/* A failed write is not reported: code that writes a command polls for its effect. */
void uma_write(struct uma_device *uma, u32 reg, u32 value)
{
	regmap_write(uma->regs, reg, value);
}

/* Read a pair of registers, the low word at @reg. All ones if one cannot be read. */
u64 uma_read64(struct uma_device *uma, u32 reg)
{
	unsigned int lo, hi;
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&uma->latch_lock, flags);
	ret = regmap_read(uma->regs, reg, &lo);
	ret = ret ?: regmap_read(uma->regs, reg + 4, &hi);
	spin_unlock_irqrestore(&uma->latch_lock, flags);
	return ret ? U64_MAX : (u64)hi << 32 | lo;
}

/* Write a pair of registers, the low word, which has the enable bits, last. */
void uma_write64(struct uma_device *uma, u32 reg, u64 value)
{
	uma_write(uma, reg + 4, upper_32_bits(value));
	uma_write(uma, reg, lower_32_bits(value));
}

/**
 * uma_poll - wait until a register has a value
 * @uma: device
 * @reg: offset
 * @mask: bits to compare
 * @value: their expected value
 * @timeout_ms: timeout
 *
 * Return: 0; -ETIMEDOUT; -ENODEV if the device does not respond.
 */
int uma_poll(struct uma_device *uma, u32 reg, u32 mask, u32 value, unsigned int timeout_ms)
{
	ktime_t end = ktime_add_ms(ktime_get(), timeout_ms);
	unsigned int pause = 0;
	bool late;
	u32 now;
	int ret;

	for (;;) {
		late = ktime_after(ktime_get(), end);
		ret = uma_read_state(uma, reg, &now);
		/* A single read may fail; if MAGIC cannot be read either the device is gone. */
		if (ret && uma_read(uma, UMA_REG_MAGIC) != UMA_MAGIC)
			return -ENODEV;
		if (!ret && (now & mask) == value)
			return 0;
		if (late)
			return -ETIMEDOUT;
		/* Most commands complete at once; some take until the end of a tile. */
		if (pause)
			usleep_range(pause, 2 * pause);
		pause = clamp(2 * pause, 10U, 5000U);
	}
}
EXPORT_SYMBOL_IF_KUNIT(uma_poll);

/* Convert device timestamp ticks to nanoseconds. */
u64 uma_ticks_to_ns(const struct uma_device *uma, u64 ticks)
{
	u64 rest, seconds = div64_u64_rem(ticks, uma->info.timestamp_hz, &rest);

	/* In two steps: @ticks may be anything, and a quotient that overflows traps. */
	return seconds * NSEC_PER_SEC +
	       mul_u64_u64_div_u64(rest, NSEC_PER_SEC, uma->info.timestamp_hz);
}

/* Start the device after probe or a reset. Returns 0, -ETIMEDOUT or -ENODEV. */
int uma_hw_start(struct uma_device *uma)
{
	int ret;

	lockdep_assert_held(&uma->hw_lock);

	ret = uma_poll(uma, UMA_REG_DEV_STATUS, UMA_DEV_READY | UMA_DEV_ERROR, UMA_DEV_READY,
		       uma->device_reset_ms);
	if (ret)
		return ret;
	uma_write(uma, UMA_REG_IRQ_STATUS, ~0U);
	uma_write(uma, UMA_REG_IRQ_ENABLE, GENMASK(uma->info.engine_count - 1, 0) |
		  UMA_IRQ_THERMAL | UMA_IRQ_ERROR);
	return uma_pm_restore(uma);
}

/**
 * uma_hw_stop_confirmed - stop the device's memory accesses
 * @uma: device
 *
 * Return: true if the device has confirmed power-off or reset, or is gone; false if it may still
 * access memory.
 */
bool uma_hw_stop_confirmed(struct uma_device *uma)
{
	int off = -ETIMEDOUT, reset;
	u32 ctrl;

	uma_write(uma, UMA_REG_IRQ_ENABLE, 0);
	/* Without power there are no jobs and no roots. During a reset PWR_CTRL is ignored. */
	if (!uma_read_state(uma, UMA_REG_DEV_CTRL, &ctrl) && !(ctrl & UMA_DEV_RESET)) {
		uma_write(uma, UMA_REG_PWR_CTRL, 0);
		off = uma_poll(uma, UMA_REG_PWR_STATUS, UMA_PWR_ON, 0, uma->power_ms);
	}
	uma_write(uma, UMA_REG_DEV_CTRL, UMA_DEV_RESET);
	reset = uma_poll(uma, UMA_REG_DEV_CTRL, UMA_DEV_RESET, 0, uma->device_reset_ms);
	return off != -ETIMEDOUT || reset != -ETIMEDOUT;
}

/* IRQ_NONE also if the status cannot be read. */
VISIBLE_IF_KUNIT irqreturn_t uma_irq(int irq, void *data)
{
	struct uma_device *uma = data;
	struct uma_engine *engine;
	u32 status, enabled;

	if (uma_read_state(uma, UMA_REG_IRQ_STATUS, &status) ||
	    uma_read_state(uma, UMA_REG_IRQ_ENABLE, &enabled))
		return IRQ_NONE;
	status &= enabled;
	if (!status)
		return IRQ_NONE;
	/* Cleared before the records are read: a later completion raises it again. */
	uma_write(uma, UMA_REG_IRQ_STATUS, status);
	uma_for_each_engine(uma, engine)
		if (status & UMA_IRQ_ENGINE(engine->index))
			uma_engine_poll(engine, true);
	if (status & UMA_IRQ_THERMAL)
		uma_pm_thermal(uma);
	if (status & UMA_IRQ_ERROR)
		uma_reset_request(uma);
	return IRQ_HANDLED;
}
EXPORT_SYMBOL_IF_KUNIT(uma_irq);

const char *const uma_class_names[UMA_ENGINE_CLASS_COUNT] = {
	[UMA_ENGINE_MATRIX] = "matrix",
	[UMA_ENGINE_GPU] = "gpu",
	[UMA_ENGINE_NEURAL] = "neural",
};

static size_t uma_ring_size(const struct uma_engine *engine)
{
	return sizeof(*engine->ring) << engine->ring_order;
}

static size_t uma_records_size(const struct uma_engine *engine)
{
	return sizeof(*engine->records) << engine->ring_order;
}

/* A devres action; also runs when a device that did not stop is released later. */
void uma_free_rings(void *data)
{
	struct uma_device *uma = data;
	struct device *dev = uma->drm.dev;
	struct uma_engine *engine;

	/* A device that has not stopped may still write to them. */
	if (!list_empty(&uma->wild))
		return;
	uma_for_each_engine(uma, engine) {
		if (engine->ring)
			dma_free_coherent(dev, uma_ring_size(engine), engine->ring,
					  engine->ring_dma);
		if (engine->records)
			dma_free_coherent(dev, uma_records_size(engine), engine->records,
					  engine->records_dma);
	}
}

static int uma_engine_probe(struct uma_engine *engine, struct uma_device *uma, u32 index)
{
	u32 base = UMA_REG_ENGINE(index), i, j;
	struct device *dev = uma->drm.dev;

	engine->uma = uma;
	engine->index = index;
	spin_lock_init(&engine->lock);
	engine->as = -1;
	INIT_DELAYED_WORK(&engine->watch, uma_engine_watch);
	INIT_WORK(&engine->begin_work, uma_engine_begin_work);
	engine->info = (struct drm_uma_query_engine) {
		.engine_class = uma_read(uma, base + UMA_ENG_CLASS),
		.instance = uma_read(uma, base + UMA_ENG_INSTANCE),
		.flags = uma_read(uma, base + UMA_ENG_FLAGS),
		.node = uma_read(uma, base + UMA_ENG_NODE),
		.cap_count = uma_read(uma, base + UMA_ENG_CAP_COUNT),
		.clock_max_mhz = uma_read(uma, base + UMA_ENG_CLOCK_MAX_MHZ),
		.max_job_tasks = uma_read(uma, base + UMA_ENG_MAX_JOB_TASKS),
	};
	/* Devices that are not preempted between tiles have the flag, too. */
	if (!uma->preempts_tiles)
		engine->info.flags &= ~UMA_ENGINE_PREEMPT;
	if (engine->info.engine_class >= UMA_ENGINE_CLASS_COUNT || engine->info.instance > 31 ||
	    engine->info.cap_count > UMA_MAX_CAPS || engine->info.node >= uma->info.node_count ||
	    !engine->info.max_job_tasks)
		return dev_err_probe(dev, -ENXIO, "engine %u makes no sense\n", index);
	for (i = 0; i < index; i++)
		if (uma->engines[i].info.engine_class == engine->info.engine_class &&
		    uma->engines[i].info.instance == engine->info.instance)
			return dev_err_probe(dev, -ENXIO, "engines %u and %u are the same\n",
					     i, index);
	snprintf(engine->name, sizeof(engine->name), "%s%u",
		 uma_class_names[engine->info.engine_class], engine->info.instance);

	engine->caps = drmm_kcalloc(&uma->drm, engine->info.cap_count, sizeof(*engine->caps),
				    GFP_KERNEL);
	if (!engine->caps)
		return -ENOMEM;
	for (i = 0; i < engine->info.cap_count; i++) {
		u32 row = base + UMA_ENG_CAPS + i * sizeof(*engine->caps);
		__le32 *words = (__le32 *)&engine->caps[i];

		for (j = 0; j < sizeof(*engine->caps) / sizeof(*words); j++)
			words[j] = cpu_to_le32(uma_read(uma, row + j * sizeof(*words)));
	}

	engine->ring_order = min_t(u32, UMA_RING_ORDER, uma_read(uma, base + UMA_ENG_RING_MAX));
	engine->ring = dma_alloc_coherent(dev, uma_ring_size(engine), &engine->ring_dma,
					  GFP_KERNEL);
	engine->records = dma_alloc_coherent(dev, uma_records_size(engine), &engine->records_dma,
					     GFP_KERNEL);
	return engine->ring && engine->records ? 0 : -ENOMEM;
}

static int uma_read_info(struct uma_device *uma)
{
	struct drm_uma_query_device *info = &uma->info;
	struct device *dev = uma->drm.dev;
	u32 features, i;
	int ret;

	if (uma_read(uma, UMA_REG_MAGIC) != UMA_MAGIC)
		return dev_err_probe(dev, -ENXIO, "no device behind the registers\n");
	info->hw_version = uma_read(uma, UMA_REG_VERSION);
	if (info->hw_version >> 16 != UMA_HW_VERSION >> 16 || info->hw_version < UMA_HW_VERSION_MIN)
		return dev_err_probe(dev, -ENXIO, "unknown register contract %u.%u\n",
				     info->hw_version >> 16, info->hw_version & 0xffff);

	features = uma_read(uma, UMA_REG_FEATURES);
	uma->preempts = features & UMA_FEATURE_PREEMPT;
	uma->preempts_tiles = uma->preempts && features & UMA_FEATURE_TILES;
	uma->tells_inval = features & UMA_FEATURE_INVAL;
	if (features & UMA_FEATURE_EMULATED)
		info->flags |= DRM_UMA_DEVICE_EMULATED;
	if (features & UMA_FEATURE_MODELLED_POWER)
		info->flags |= DRM_UMA_DEVICE_MODELLED_POWER;
	if (features & UMA_FEATURE_COHERENT)
		info->flags |= DRM_UMA_DEVICE_COHERENT;
	for (i = 0; i < sizeof(info->profile); i += 4) {
		__le32 word = cpu_to_le32(uma_read(uma, UMA_REG_PROFILE + i));

		memcpy(info->profile + i, &word, sizeof(word));
	}
	info->profile[sizeof(info->profile) - 1] = 0;
	info->task_version = uma_read(uma, UMA_REG_TASK_VERSION);
	info->engine_count = uma_read(uma, UMA_REG_ENGINE_COUNT);
	info->node_count = uma_read(uma, UMA_REG_NODE_COUNT);
	info->timestamp_hz = uma_read64(uma, UMA_REG_TIMESTAMP_HZ);
	info->va_bits = uma_read(uma, UMA_REG_VA_BITS);
	info->page_size = PAGE_SIZE;
	info->block_size = 1ULL << UMA_BLOCK_SHIFT;
	uma->as_count = uma_read(uma, UMA_REG_AS_COUNT);
	uma->engine_reset_ms = uma_read(uma, UMA_REG_ENG_RESET_MS) ?: UMA_ENGINE_RESET_MS;
	uma->device_reset_ms = uma_read(uma, UMA_REG_DEV_RESET_MS) ?: UMA_DEVICE_RESET_MS;
	uma->power_ms = uma_read(uma, UMA_REG_PWR_MS) ?: UMA_POWER_MS;
	if (!info->engine_count || info->engine_count > UMA_MAX_ENGINES ||
	    !info->node_count || info->node_count > UMA_MAX_NODES ||
	    !uma->as_count || uma->as_count > UMA_MAX_AS || !info->timestamp_hz ||
	    uma->engine_reset_ms > UMA_MAX_WAIT_MS || uma->device_reset_ms > UMA_MAX_WAIT_MS ||
	    uma->power_ms > UMA_MAX_WAIT_MS ||
	    info->va_bits < 32 || info->va_bits > UMA_PAGE_SHIFT + UMA_PT_LEVELS * UMA_PT_BITS)
		return dev_err_probe(dev, -ENXIO, "identification makes no sense\n");

	for (i = 0; i < info->node_count; i++) {
		u64 size = uma_read64(uma, UMA_REG_NODE(i) + UMA_NODE_SIZE_LO);

		uma->nodes[i].node = i;
		uma->nodes[i].size = size ?:
			div_u64((u64)totalram_pages() << PAGE_SHIFT, info->node_count);
		uma->nodes[i].bandwidth =
			1000000ULL * uma_read(uma, UMA_REG_NODE(i) + UMA_NODE_BANDWIDTH_MBS);
	}

	uma->va.start = PAGE_SIZE;
	uma->va.end = 1ULL << info->va_bits;
	/* Not larger than RAM: such a buffer could never be populated. */
	uma->max_bo_size = min_t(u64, SZ_64G, (u64)totalram_pages() << PAGE_SHIFT);
	uma->job_timeout_ms = UMA_DEFAULT_TIMEOUT_MS;
	uma->preempt_timeout_ms = UMA_PREEMPT_MS;
	uma->time_slice_ms = UMA_TIME_SLICE_MS;

	uma->engines = drmm_kcalloc(&uma->drm, info->engine_count, sizeof(*uma->engines),
				    GFP_KERNEL);
	if (!uma->engines)
		return -ENOMEM;
	ret = devm_add_action_or_reset(dev, uma_free_rings, uma);
	if (ret)
		return ret;
	uma->max_job_tasks = U32_MAX;
	for (i = 0; i < info->engine_count; i++) {
		ret = uma_engine_probe(&uma->engines[i], uma, i);
		if (ret)
			return ret;
		uma->max_job_tasks = min(uma->max_job_tasks,
					 uma->engines[i].info.max_job_tasks);
	}
	return 0;
}

/* Registers of real hardware are memory-mapped. */
static struct regmap *uma_map_regs(struct platform_device *pdev)
{
#if IS_REACHABLE(CONFIG_REGMAP_MMIO)
	static const struct regmap_config config = {
		.reg_bits = 32,
		.val_bits = 32,
		.reg_stride = 4,
		.max_register = UMA_REG_SPACE - 4,
		.fast_io = true,
	};
	void __iomem *base = devm_platform_ioremap_resource(pdev, 0);

	if (IS_ERR(base))
		return ERR_CAST(base);
	return devm_regmap_init_mmio(&pdev->dev, base, &config);
#else
	return ERR_PTR(-ENODEV);
#endif
}

/**
 * uma_find_regs - find the registers of a device
 * @pdev: device
 *
 * Those of an emulated device are a regmap of its parent, looked up by name as the parent may
 * have others.
 *
 * Return: registers or an error.
 */
struct regmap *uma_find_regs(struct platform_device *pdev)
{
	struct regmap *regs = NULL;

	if (pdev->dev.parent)
		regs = dev_get_regmap(pdev->dev.parent, UMA_REGMAP);
	return regs ?: uma_map_regs(pdev);
}
EXPORT_SYMBOL_IF_KUNIT(uma_find_regs);

static void uma_release_device(struct drm_device *drm, void *data)
{
	uma_devices_put();
}

static void uma_release_wq(struct drm_device *drm, void *wq)
{
	destroy_workqueue(wq);
}

static int uma_init_software(struct uma_device *uma)
{
	int ret;

	/* Added first, so it runs last: the module must not be unloaded before. */
	uma_devices_get();
	ret = drmm_add_action_or_reset(&uma->drm, uma_release_device, NULL);
	if (ret)
		return ret;

	ret = drmm_mutex_init(&uma->drm, &uma->hw_lock);
	ret = ret ?: drmm_mutex_init(&uma->drm, &uma->inval_lock);
	ret = ret ?: drmm_mutex_init(&uma->drm, &uma->gems_lock);
	ret = ret ?: drmm_mutex_init(&uma->drm, &uma->vms_lock);
	ret = ret ?: uma_shrink_init(uma);
	if (ret)
		return ret;
	spin_lock_init(&uma->latch_lock);
	spin_lock_init(&uma->queues_lock);
	uma_pm_init(uma);
	uma_busy_init(uma);
	INIT_LIST_HEAD(&uma->gems);
	INIT_LIST_HEAD(&uma->vms);
	INIT_LIST_HEAD(&uma->queues);
	INIT_LIST_HEAD(&uma->wild);
	INIT_WORK(&uma->reset_work, uma_reset_work);
	INIT_WORK(&uma->kick_work, uma_kick_work);
	uma_events_init(uma);

	/* Fences depend on it, and memory reclaim may depend on these fences. */
	uma->reset_wq = alloc_ordered_workqueue("uma-reset", WQ_MEM_RECLAIM);
	if (!uma->reset_wq)
		return -ENOMEM;
	return drmm_add_action_or_reset(&uma->drm, uma_release_wq, uma->reset_wq);
}

static int uma_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	struct uma_device *uma;
	int ret;

	uma = devm_drm_dev_alloc(dev, &uma_drm_driver, struct uma_device, drm);
	if (IS_ERR(uma))
		return PTR_ERR(uma);
	platform_set_drvdata(pdev, uma);

	ret = uma_init_software(uma);
	if (ret)
		return ret;
	uma->regs = uma_find_regs(pdev);
	if (IS_ERR(uma->regs))
		return dev_err_probe(dev, PTR_ERR(uma->regs), "no registers\n");
	uma->irq = platform_get_irq(pdev, 0);
	if (uma->irq < 0)
		return uma->irq;
	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(48));
	if (ret)
		return dev_err_probe(dev, ret, "no DMA\n");
	dma_set_max_seg_size(dev, UINT_MAX);

	ret = uma_read_info(uma);
	if (ret)
		return ret;
	ret = uma_coredump_init(uma);
	ret = ret ?: uma_mount_init(uma);
	ret = ret ?: uma_sched_init(uma);
	if (ret)
		return ret;
	/* A previous owner may have left it running. */
	if (!uma_hw_stop_confirmed(uma))
		return dev_err_probe(dev, -ETIMEDOUT, "device does not stop\n");
	uma_release_wild(dev);
	scoped_guard(mutex, &uma->hw_lock)
		ret = uma_hw_start(uma);
	if (ret)
		return dev_err_probe(dev, ret, "device does not get ready\n");
	ret = request_irq(uma->irq, uma_irq, 0, dev_name(dev), uma);
	if (ret)
		goto err_stop;
	ret = uma_devfreq_init(uma);
	if (ret)
		goto err_irq;
	uma_pm_start(uma);
	ret = uma_hwmon_init(uma);
	if (ret)
		goto err_pm;
	uma_debugfs_init(uma);
	ret = uma_sysfs_init(uma) ?: drm_dev_register(&uma->drm, 0);
	if (ret)
		goto err_hwmon;
	drm_info(&uma->drm, "%s: %u engines%s\n", uma->info.profile, uma->info.engine_count,
		 uma->info.flags & DRM_UMA_DEVICE_EMULATED ? ", emulated" : "");
	return 0;

err_hwmon:
	uma_hwmon_fini(uma);
err_pm:
	uma_pm_stop(uma);
	uma_devfreq_fini(uma);
err_irq:
	free_irq(uma->irq, uma);
err_stop:
	/* A broken device may have requested a reset. */
	uma_stop(uma);
	uma_events_stop(uma);
	uma_coredump_stop(uma);
	uma_let_go(uma);
	return ret;
}

static void uma_remove(struct platform_device *pdev)
{
	struct uma_device *uma = platform_get_drvdata(pdev);

	WRITE_ONCE(uma->going, true);
	/* From here on no ioctl starts, and none is between drm_dev_enter() and drm_dev_exit(). */
	drm_dev_unplug(&uma->drm);
	uma_hwmon_fini(uma);
	free_irq(uma->irq, uma);
	uma_stop(uma);
	uma_events_stop(uma);
	uma_coredump_stop(uma);
	uma_pm_stop(uma);
	uma_devfreq_fini(uma);
	uma_let_go(uma);
}

/*
 * On reboot and kexec. The next kernel considers all memory free, so the device must not access
 * any; from here on it is treated as lost.
 */
static void uma_shutdown(struct platform_device *pdev)
{
	struct uma_device *uma = platform_get_drvdata(pdev);

	WRITE_ONCE(uma->going, true);
	uma_stop(uma);
}

static const struct of_device_id uma_of_match[] = {
	{ .compatible = "uma,accel" },
	{ }
};
MODULE_DEVICE_TABLE(of, uma_of_match);

static const struct platform_device_id uma_ids[] = {
	{ .name = "uma" },
	{ }
};
MODULE_DEVICE_TABLE(platform, uma_ids);

struct platform_driver uma_platform_driver = {
	.probe = uma_probe,
	.remove = uma_remove,
	.shutdown = uma_shutdown,
	.id_table = uma_ids,
	.driver = {
		.name = "uma",
		.of_match_table = uma_of_match,
		.pm = pm_ptr(&uma_pm_ops),
	},
};
