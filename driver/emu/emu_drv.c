// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The module, and creation and destruction of emulated devices.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/regmap.h>
#include <linux/slab.h>

#include "emu_compat.h"
#include "emu_device.h"

static bool create_default = true;
module_param(create_default, bool, 0444);
MODULE_PARM_DESC(create_default, "create one device when the module is loaded (default: true)");

static char *profile = "full";
module_param(profile, charp, 0444);
MODULE_PARM_DESC(profile, "chip of that device: m1, m2, m3, ultra, full (default: full)");

static bool paranoid;
module_param(paranoid, bool, 0444);
MODULE_PARM_DESC(paranoid,
		 "that device detects stale TLB entries and accesses to freed memory (default: false)");

static DEFINE_IDA(emu_ids);
static struct emu_device *emu_default;

static const struct regmap_config emu_regmap_config = {
	.name		= UMA_REGMAP,
	.reg_bits	= 32,
	.val_bits	= 32,
	.reg_stride	= 4,
	.max_register	= UMA_REG_SPACE - 4,
	.reg_read	= emu_reg_read,
	.reg_write	= emu_reg_write,
	.fast_io	= true,
	.cache_type	= REGCACHE_NONE,
};

/**
 * emu_name - name of an instance
 * @emu: device
 *
 * Return: name of the platform device, also after that is unregistered.
 */
const char *emu_name(const struct emu_device *emu)
{
	return emu->name;
}

/* Have all steps and walks ended? Later ones find &emu_device.gone set and access no memory. */
static bool emu_is_still(struct emu_device *emu)
{
	unsigned long flags;
	bool still;
	u32 i;

	spin_lock_irqsave(&emu->lock, flags);
	still = !emu->walker.walking;
	for (i = 0; i < emu->engine_count && still; i++) {
		spin_lock(&emu->engines[i].lock);
		still = !emu->engines[i].in_step;
		spin_unlock(&emu->engines[i].lock);
	}
	spin_unlock_irqrestore(&emu->lock, flags);
	return still;
}

/**
 * emu_vanish - surprise removal of the hardware: registers and engines stop working
 * @emu: device
 *
 * The interrupt line goes low, as the driver cannot acknowledge events any more. When
 * this returns the device does not access memory any more.
 */
void emu_vanish(struct emu_device *emu)
{
	unsigned long flags;

	spin_lock_irqsave(&emu->lock, flags);
	WRITE_ONCE(emu->gone, true);
	spin_unlock_irqrestore(&emu->lock, flags);
	emu_irq_kill(&emu->irq);
	emu_engines_wake(emu);
	wait_event_idle(emu->idle, emu_is_still(emu));
}
EXPORT_SYMBOL_IF_KUNIT(emu_vanish);

static void emu_unplug_work(struct work_struct *work)
{
	struct emu_device *emu = container_of(work, struct emu_device, unplug_work);

	if (emu->pdev)
		platform_device_unregister(emu->pdev);
	emu->pdev = NULL;
}

/*
 * Page tables and rings hold DMA addresses, which the emulator uses as physical
 * addresses. Where the two differ (memory encryption, forced bounce buffers) there
 * cannot be an emulated device.
 */
static int emu_check_dma(struct device *dev)
{
	struct page *page = alloc_page(GFP_KERNEL);
	dma_addr_t dma;
	int ret = 0;

	if (!page)
		return -ENOMEM;
	dma = dma_map_page(dev, page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, dma)) {
		ret = -EOPNOTSUPP;
	} else {
		if ((dma & ~EMU_SHADOWED) != page_to_phys(page))
			ret = -EOPNOTSUPP;
		dma_unmap_page(dev, dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
	}
	__free_page(page);
	if (ret)
		pr_err("DMA addresses are not physical addresses here\n");
	return ret;
}

static int emu_add_pdev(struct emu_device *emu)
{
	const struct resource res = DEFINE_RES_IRQ(emu->irq.virq);
	struct platform_device *pdev;
	int ret;

	pdev = platform_device_alloc("uma", emu->id);
	if (!pdev)
		return -ENOMEM;
	pdev->dev.parent = emu->parent;
	pdev->platform_dma_mask = DMA_BIT_MASK(64);
	pdev->dev.dma_mask = &pdev->platform_dma_mask;
	pdev->dev.coherent_dma_mask = DMA_BIT_MASK(64);
#ifdef CONFIG_ARCH_HAS_SYNC_DMA_FOR_DEVICE
	/* The emulator accesses memory through the CPU's caches. */
	pdev->dev.dma_coherent = !emu->cfg.noncoherent;
#endif

	ret = platform_device_add_resources(pdev, &res, 1);
	if (ret)
		goto err_put;
	emu_dma_attach(emu, &pdev->dev);
	ret = emu_check_dma(&pdev->dev);
	if (ret)
		goto err_put;

	/* Set first, as platform_device_add() may probe the driver. */
	emu->pdev = pdev;
	ret = platform_device_add(pdev);
	if (ret) {
		emu->pdev = NULL;
		goto err_put;
	}
	return 0;

err_put:
	platform_device_put(pdev);
	return ret;
}

static void emu_free(struct emu_device *emu)
{
	u32 i;

	WRITE_ONCE(emu->gone, true);
	if (emu->engines) {
		emu_engines_wake(emu);
		/* The reset waits for the engines' threads, so it has to end before they do. */
		cancel_work_sync(&emu->reset_work);
		emu_walker_fini(emu);
		for (i = 0; i < emu->engine_count; i++)
			emu_engine_fini(&emu->engines[i]);
		emu_power_fini(emu);
		kvfree(emu->engines);
	}
	emu_dma_detach(emu);
	if (emu->wq)
		destroy_workqueue(emu->wq);
	if (emu->regmap)
		regmap_exit(emu->regmap);
	emu_irq_fini(&emu->irq);
	if (emu->parent)
		root_device_unregister(emu->parent);
	if (emu->id >= 0)
		ida_free(&emu_ids, emu->id);
	kfree(emu);
}

static int emu_add_engines(struct emu_device *emu)
{
	u32 i, count = emu->profile->engine_count;
	int ret;

	emu->engines = kvcalloc(count, sizeof(*emu->engines), GFP_KERNEL);
	if (!emu->engines)
		return -ENOMEM;
	emu_power_init(emu);
	for (i = 0; i < count; i++) {
		/* Counted before, so that emu_free() also cleans up an engine that fails here. */
		emu->engine_count = i + 1;
		ret = emu_engine_init(emu, i);
		if (ret)
			return ret;
	}
	return emu_walker_init(emu);
}

static int emu_build(struct emu_device *emu)
{
	char name[EMU_NAME_MAX];
	int ret;

	emu->id = ida_alloc(&emu_ids, GFP_KERNEL);
	if (emu->id < 0)
		return emu->id;
	snprintf(emu->name, sizeof(emu->name), "uma.%d", emu->id);
	snprintf(name, sizeof(name), "uma_emu.%d", emu->id);

	emu->parent = root_device_register(name);
	if (IS_ERR(emu->parent)) {
		ret = PTR_ERR(emu->parent);
		emu->parent = NULL;
		return ret;
	}
	emu->wq = alloc_workqueue("%s", WQ_UNBOUND | WQ_MEM_RECLAIM, 0, name);
	if (!emu->wq)
		return -ENOMEM;
	ret = emu_irq_init(&emu->irq);
	if (ret)
		return ret;
	ret = emu_add_engines(emu);
	if (ret)
		return ret;

	/* On the parent: regmap_init() adds devres, and a device with devres cannot be probed. */
	emu->regmap = regmap_init(emu->parent, NULL, emu, &emu_regmap_config);
	if (IS_ERR(emu->regmap)) {
		ret = PTR_ERR(emu->regmap);
		emu->regmap = NULL;
		return ret;
	}
	return 0;
}

/**
 * emu_create_bare - create an instance without a platform device
 * @cfg: configuration
 *
 * Return: the device, or an error pointer.
 */
struct emu_device *emu_create_bare(const struct emu_config *cfg)
{
	struct emu_device *emu;
	const char *why;
	int ret;

	if (!uma_emu_config_is_valid(cfg, &why)) {
		pr_err("bad configuration: %s\n", why);
		return ERR_PTR(-EINVAL);
	}

	emu = kzalloc(sizeof(*emu), GFP_KERNEL);
	if (!emu)
		return ERR_PTR(-ENOMEM);
	emu->id = -1;
	emu->cfg = *cfg;
	emu->inject.watch_lost = cfg->paranoid;
	emu->profile = uma_profile_find(cfg->profile);
	emu->kernels = emu_fpu_kernels();
	spin_lock_init(&emu->lock);
	init_waitqueue_head(&emu->idle);
	init_waitqueue_head(&emu->walker.wait);
	xa_init(&emu->mapped);
	xa_init(&emu->shadows);
	INIT_WORK(&emu->reset_work, emu_reset_work);
	INIT_WORK(&emu->unplug_work, emu_unplug_work);

	ret = emu_build(emu);
	if (ret) {
		emu_free(emu);
		return ERR_PTR(ret);
	}
	return emu;
}
EXPORT_SYMBOL_IF_KUNIT(emu_create_bare);

/**
 * emu_create - create an instance
 * @cfg: configuration
 *
 * Return: the device, to which a driver may be bound already, or an error pointer.
 */
struct emu_device *emu_create(const struct emu_config *cfg)
{
	struct emu_device *emu = emu_create_bare(cfg);
	int ret;

	if (IS_ERR(emu))
		return emu;
	/* First, so that the files exist once the device is visible. */
	emu_debugfs_add(emu);
	ret = emu_add_pdev(emu);
	if (ret) {
		emu_debugfs_remove(emu);
		flush_work(&emu->unplug_work);
		emu_free(emu);
		return ERR_PTR(ret);
	}
	pr_info("%s: profile %s, %u engines, %s kernels%s%s\n", emu->name, emu->profile->name,
		emu->engine_count, emu_fpu_kernels_name(), cfg->paranoid ? ", paranoid" : "",
		cfg->noncoherent ? ", not coherent" : "");
	return emu;
}

/**
 * emu_destroy - destroy an instance
 * @emu: device; its driver may be bound and jobs may run
 *
 * The driver is unbound first, while registers and engines still work.
 */
void emu_destroy(struct emu_device *emu)
{
	emu_debugfs_remove(emu);
	flush_work(&emu->unplug_work);
	if (emu->pdev) {
		device_release_driver(&emu->pdev->dev);
		/* The driver may have failed to stop the engines: end their memory accesses. */
		emu_vanish(emu);
		platform_device_unregister(emu->pdev);
	}
	emu_free(emu);
}
EXPORT_SYMBOL_IF_KUNIT(emu_destroy);

static int __init emu_init(void)
{
	struct emu_config cfg;
	int ret;

	ret = emu_fpu_init();
	if (ret) {
		pr_err("no floating point in this kernel\n");
		return ret;
	}
	emu_debugfs_register();
	ret = emu_configfs_register();
	if (ret)
		goto err_debugfs;

	if (create_default) {
		emu_config_init(&cfg);
		if (strscpy(cfg.profile, profile, sizeof(cfg.profile)) < 0) {
			ret = -EINVAL;
			goto err_configfs;
		}
		cfg.paranoid = paranoid;
		emu_default = emu_create(&cfg);
		if (IS_ERR(emu_default)) {
			ret = PTR_ERR(emu_default);
			goto err_configfs;
		}
	}
	return 0;

err_configfs:
	emu_configfs_unregister();
err_debugfs:
	emu_debugfs_unregister();
	return ret;
}
module_init(emu_init);

static void __exit emu_exit(void)
{
	if (emu_default)
		emu_destroy(emu_default);
	emu_configfs_unregister();
	emu_debugfs_unregister();
	ida_destroy(&emu_ids);
}
module_exit(emu_exit);

MODULE_DESCRIPTION("Emulated unified-memory accelerator");
MODULE_LICENSE("Dual MIT/GPL");
