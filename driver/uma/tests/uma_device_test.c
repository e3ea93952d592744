// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which registers are those of a device, that it has power when they are touched at last, what it
 * means that they cannot be read, who is to blame
 * for a command that does not end, what does not begin any more when the device goes, who may
 * take a job away that is about to be pushed, where one goes on that was stopped, and what a device
 * is like after the system has slept.
 *
 * All are in one file, for they share a device without hardware.
 */
#include <linux/delay.h>
#include <linux/dma-fence.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/regmap.h>
#include <linux/sched/task.h>

#include <kunit/device.h>
#include <kunit/test.h>

#include "uma_device.h"
#include "uma_drv.h"

static int uma_device_test_read(void *context, unsigned int reg, unsigned int *value)
{
	*value = 0;
	return 0;
}

/* Registers that may only be touched while who has them has power */
static int uma_device_test_touched, uma_device_test_unpowered;

static int uma_device_test_read_powered(void *parent, unsigned int reg, unsigned int *value)
{
	uma_device_test_touched++;
	uma_device_test_unpowered += !pm_runtime_active(parent);
	*value = reg == UMA_REG_MAGIC ? UMA_MAGIC : 0;
	return 0;
}

static int uma_device_test_write_powered(void *parent, unsigned int reg, unsigned int value)
{
	uma_device_test_touched++;
	uma_device_test_unpowered += !pm_runtime_active(parent);
	return 0;
}

/* A device that is being deleted, and its parent, which has its registers. */
struct uma_device_test_pair {
	struct device *parent;
	struct platform_device *pdev;
	struct uma_device uma;
};

static void uma_device_test_put(void *pdev)
{
	platform_device_put(pdev);
}

static struct uma_device_test_pair *uma_device_test_pair(struct kunit *test)
{
	const struct regmap_config config = {
		.name = UMA_REGMAP,
		.reg_bits = 32,
		.val_bits = 32,
		.reg_stride = 4,
		.reg_read = uma_device_test_read_powered,
		.reg_write = uma_device_test_write_powered,
	};
	struct uma_device_test_pair *pair = kunit_kzalloc(test, sizeof(*pair), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, pair);
	pair->parent = kunit_device_register(test, "uma-test-parent");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pair->parent);
	KUNIT_ASSERT_FALSE(test, IS_ERR(devm_regmap_init(pair->parent, NULL, pair->parent,
							 &config)));
	pair->pdev = platform_device_alloc("uma-test", PLATFORM_DEVID_NONE);
	KUNIT_ASSERT_NOT_NULL(test, pair->pdev);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, uma_device_test_put, pair->pdev), 0);
	pair->pdev->dev.parent = pair->parent;
	pair->uma.drm.dev = &pair->pdev->dev;
	uma_device_test_touched = 0;
	uma_device_test_unpowered = 0;
	pm_runtime_enable(pair->parent);
	KUNIT_EXPECT_TRUE(test, pm_runtime_suspended(pair->parent));
	return pair;
}

/* A device that was deleted: its parent has no reason to stay awake for it. */
static void uma_device_test_deleted(struct kunit *test)
{
	struct uma_device_test_pair *pair = uma_device_test_pair(test);

	KUNIT_EXPECT_TRUE(test, uma_stop_deleted(&pair->uma));
	KUNIT_EXPECT_GT(test, uma_device_test_touched, 0);
	KUNIT_EXPECT_EQ(test, uma_device_test_unpowered, 0);
	/* Nobody keeps it awake for longer. */
	pm_runtime_barrier(pair->parent);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair->parent->power.usage_count), 0);
	pm_runtime_disable(pair->parent);
}

/* Registers without power are not touched, and what is not asked has not stopped. */
static void uma_device_test_asleep(struct kunit *test)
{
	struct uma_device_test_pair *pair = uma_device_test_pair(test);

	/* Late on its way to sleep a system lets nothing resume any more. */
	pm_runtime_disable(pair->parent);
	KUNIT_EXPECT_FALSE(test, uma_stop_deleted(&pair->uma));
	KUNIT_EXPECT_EQ(test, uma_device_test_touched, 0);
	pm_runtime_enable(pair->parent);

	/* Whoever did not sleep by itself was put to sleep: runtime PM does not know of that. */
	pair->parent->power.is_suspended = true;
	KUNIT_EXPECT_FALSE(test, uma_stop_deleted(&pair->uma));
	pm_runtime_get_sync(pair->parent);
	pm_runtime_disable(pair->parent);
	KUNIT_EXPECT_FALSE(test, uma_stop_deleted(&pair->uma));
	pm_runtime_enable(pair->parent);
	KUNIT_EXPECT_EQ(test, uma_device_test_touched, 0);
	pair->parent->power.is_suspended = false;
	KUNIT_EXPECT_TRUE(test, uma_stop_deleted(&pair->uma));
	KUNIT_EXPECT_GT(test, uma_device_test_touched, 0);
	KUNIT_EXPECT_EQ(test, uma_device_test_unpowered, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&pair->parent->power.usage_count), 1);
	pm_runtime_put_sync(pair->parent);
	pm_runtime_disable(pair->parent);
}

/* Reads that fail from now on, the identification among them if @gone */
static int uma_device_test_failures;
static bool uma_device_test_gone;

static int uma_device_test_read_badly(void *context, unsigned int reg, unsigned int *value)
{
	if (uma_device_test_gone || (reg != UMA_REG_MAGIC && uma_device_test_failures-- > 0))
		return -EIO;
	*value = reg == UMA_REG_MAGIC ? UMA_MAGIC : 0;
	return 0;
}

static struct regmap *uma_device_test_regs(struct kunit *test, struct device *dev, const char *name)
{
	const struct regmap_config config = {
		.name = name,
		.reg_bits = 32,
		.val_bits = 32,
		.reg_stride = 4,
		.reg_read = uma_device_test_read,
	};
	struct regmap *regs = devm_regmap_init(dev, NULL, NULL, &config);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, regs);
	return regs;
}

/* The parent is a bus, or a device with several functions: it has registers of its own. */
static void uma_device_test_find_regs(struct kunit *test)
{
	struct device *parent = kunit_device_register(test, "uma-test-parent");
	struct platform_device *pdev;
	struct regmap *regs;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, parent);
	pdev = platform_device_alloc("uma-test", PLATFORM_DEVID_NONE);
	KUNIT_ASSERT_NOT_NULL(test, pdev);
	pdev->dev.parent = parent;

	KUNIT_EXPECT_TRUE(test, IS_ERR(uma_find_regs(pdev)));
	uma_device_test_regs(test, parent, NULL);
	KUNIT_EXPECT_TRUE(test, IS_ERR(uma_find_regs(pdev)));
	uma_device_test_regs(test, parent, "clock");
	KUNIT_EXPECT_TRUE(test, IS_ERR(uma_find_regs(pdev)));
	regs = uma_device_test_regs(test, parent, UMA_REGMAP);
	KUNIT_EXPECT_PTR_EQ(test, uma_find_regs(pdev), regs);
	uma_device_test_regs(test, parent, "power");
	KUNIT_EXPECT_PTR_EQ(test, uma_find_regs(pdev), regs);
	platform_device_put(pdev);
}

/* That one read fails does not mean that the device has gone, and lets go of memory. */
static void uma_device_test_poll(struct kunit *test)
{
	const struct regmap_config config = {
		.reg_bits = 32,
		.val_bits = 32,
		.reg_stride = 4,
		.reg_read = uma_device_test_read_badly,
	};
	struct uma_device *uma = kunit_kzalloc(test, sizeof(*uma), GFP_KERNEL);
	struct device *dev = kunit_device_register(test, "uma-test-device");

	KUNIT_ASSERT_NOT_NULL(test, uma);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	uma->regs = devm_regmap_init(dev, NULL, NULL, &config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, uma->regs);

	uma_device_test_gone = false;
	uma_device_test_failures = 1;
	KUNIT_EXPECT_EQ(test, uma_poll(uma, UMA_REG_INVAL_STATUS, UMA_INVAL_BUSY, 0, 1000), 0);
	uma_device_test_failures = INT_MAX;
	KUNIT_EXPECT_EQ(test, uma_poll(uma, UMA_REG_INVAL_STATUS, UMA_INVAL_BUSY, 0, 10),
			-ETIMEDOUT);
	/* What cannot be read is nothing that it says. */
	KUNIT_EXPECT_EQ(test, uma_poll(uma, UMA_REG_PWR_STATUS, UMA_PWR_ON, UMA_PWR_ON, 10),
			-ETIMEDOUT);
	uma_device_test_gone = true;
	KUNIT_EXPECT_EQ(test, uma_poll(uma, UMA_REG_INVAL_STATUS, UMA_INVAL_BUSY, 0, 1000),
			-ENODEV);
}

/* A device with one engine that has a job. */
struct uma_device_test_rig {
	struct uma_device uma;
	struct uma_engine engine;
	struct uma_job job;
	struct uma_job behind;
	struct uma_queue queue;
	struct uma_usage usage;
	struct dma_fence done[2];
	spinlock_t done_lock; /* of @done */
	struct uma_ring_entry ring[2];
	struct uma_record records[2];
	struct work_struct before;
	struct completion go_on;
};

static u32 uma_device_test_inval_status;
static u32 uma_device_test_engine_status;
static atomic_t uma_device_test_works;

static int uma_device_test_read_status(void *context, unsigned int reg, unsigned int *value)
{
	*value = 0;
	if (reg == UMA_REG_INVAL_STATUS)
		*value = uma_device_test_inval_status;
	else if (reg == UMA_REG_ENGINE(0) + UMA_ENG_STATUS)
		*value = uma_device_test_engine_status;
	return 0;
}

static int uma_device_test_write(void *context, unsigned int reg, unsigned int value)
{
	return 0;
}

static void uma_device_test_work(struct work_struct *work)
{
	atomic_inc(&uma_device_test_works);
}

static void uma_device_test_destroy_wq(void *wq)
{
	destroy_workqueue(wq);
}

static struct uma_device_test_rig *uma_device_test_rig(struct kunit *test)
{
	const struct regmap_config config = {
		.reg_bits = 32,
		.val_bits = 32,
		.reg_stride = 4,
		.reg_read = uma_device_test_read_status,
		.reg_write = uma_device_test_write,
		/* Registers are read with spinlocks held. */
		.disable_locking = true,
	};
	struct uma_device_test_rig *rig = kunit_kzalloc(test, sizeof(*rig), GFP_KERNEL);
	struct device *dev = kunit_device_register(test, "uma-test-rig");
	struct uma_engine *engine;
	struct uma_device *uma;

	KUNIT_ASSERT_NOT_NULL(test, rig);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	engine = &rig->engine;
	uma = &rig->uma;
	uma->regs = devm_regmap_init(dev, NULL, NULL, &config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, uma->regs);
	uma->reset_wq = alloc_ordered_workqueue("uma-test", 0);
	KUNIT_ASSERT_NOT_NULL(test, uma->reset_wq);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, uma_device_test_destroy_wq,
							uma->reset_wq), 0);
	uma->sched_wq = alloc_workqueue("uma-test-sched", WQ_UNBOUND, 0);
	KUNIT_ASSERT_NOT_NULL(test, uma->sched_wq);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, uma_device_test_destroy_wq,
							uma->sched_wq), 0);
	mutex_init(&uma->inval_lock);
	mutex_init(&uma->hw_lock);
	spin_lock_init(&uma->latch_lock);
	spin_lock_init(&uma->queues_lock);
	INIT_WORK(&uma->reset_work, uma_device_test_work);
	INIT_WORK(&uma->kick_work, uma_device_test_work);
	INIT_DELAYED_WORK(&engine->watch, uma_device_test_work);
	uma->drm.dev = dev;
	uma->engines = engine;
	uma->info.engine_count = 1;
	uma->powered = true;
	engine->uma = uma;
	spin_lock_init(&engine->lock);
	engine->ring = rig->ring;
	engine->records = rig->records;
	engine->ring_order = 1;
	engine->tail = 1;
	engine->seqno = 7;
	engine->as = 3;
	engine->job = &rig->job;
	engine->state = UMA_ENGINE_RUNNING;
	rig->job.queue = &rig->queue;
	rig->queue.uma = uma;
	rig->queue.sched.timeout_wq = uma->reset_wq;
	INIT_DELAYED_WORK(&rig->queue.sched.work_tdr, uma_device_test_work);
	atomic_set(&uma_device_test_works, 0);
	return rig;
}

/* A command may end while somebody is about to be blamed: its address space may be another's. */
static void uma_device_test_blame(struct kunit *test)
{
	struct uma_device_test_rig *rig = uma_device_test_rig(test);
	struct uma_engine *engine = &rig->engine;
	struct uma_device *uma = &rig->uma;

	uma->tells_inval = true;
	mutex_lock(&uma->inval_lock);
	uma_device_test_inval_status = 0;
	uma_reset_holders(uma, 3);
	KUNIT_EXPECT_EQ(test, engine->state, UMA_ENGINE_RUNNING);
	/* Nor by a device that has gone. */
	uma_device_test_inval_status = ~0U;
	uma_reset_holders(uma, 3);
	KUNIT_EXPECT_EQ(test, engine->state, UMA_ENGINE_RUNNING);
	uma_device_test_inval_status = UMA_INVAL_BUSY;
	uma_device_test_engine_status = UMA_ENG_BUSY | UMA_ENG_INVAL;
	uma_reset_holders(uma, 2);
	KUNIT_EXPECT_EQ(test, engine->state, UMA_ENGINE_RUNNING);
	/* Nor one that has let go: it is another one that the command waits for. */
	uma_device_test_engine_status = UMA_ENG_BUSY;
	uma_reset_holders(uma, 3);
	KUNIT_EXPECT_EQ(test, engine->state, UMA_ENGINE_RUNNING);
	/* Nor one whose status cannot be read. */
	uma_device_test_engine_status = ~0U;
	uma_reset_holders(uma, 3);
	KUNIT_EXPECT_EQ(test, engine->state, UMA_ENGINE_RUNNING);
	uma_device_test_engine_status = UMA_ENG_BUSY | UMA_ENG_INVAL;
	uma_reset_holders(uma, 3);
	KUNIT_EXPECT_EQ(test, engine->state, UMA_ENGINE_FAILED);
	KUNIT_EXPECT_EQ(test, engine->failure, UMA_FAILURE_TIMEOUT);
	mutex_unlock(&uma->inval_lock);
	/* The scheduler of its queue is told. */
	flush_delayed_work(&rig->queue.sched.work_tdr);
	KUNIT_EXPECT_EQ(test, atomic_read(&uma_device_test_works), 1);
}

static int uma_device_test_irq_error;
static u32 uma_device_test_irq_status;

static int uma_device_test_read_irq(void *context, unsigned int reg, unsigned int *value)
{
	*value = reg == UMA_REG_IRQ_STATUS || reg == UMA_REG_IRQ_ENABLE ?
		uma_device_test_irq_status : 0;
	return uma_device_test_irq_error;
}

/* A status that cannot be read tells of no error that the device is reset for. */
static void uma_device_test_irq(struct kunit *test)
{
	const struct regmap_config config = {
		.reg_bits = 32,
		.val_bits = 32,
		.reg_stride = 4,
		.reg_read = uma_device_test_read_irq,
		.reg_write = uma_device_test_write,
	};
	struct uma_device_test_rig *rig = uma_device_test_rig(test);
	struct uma_device *uma = &rig->uma;

	uma->regs = devm_regmap_init(uma->drm.dev, NULL, NULL, &config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, uma->regs);
	uma->info.engine_count = 0;
	uma_device_test_irq_status = UMA_IRQ_ERROR;
	uma_device_test_irq_error = -EIO;
	KUNIT_EXPECT_EQ(test, uma_irq(0, uma), IRQ_NONE);
	uma_device_test_irq_status = ~0U;
	uma_device_test_irq_error = 0;
	KUNIT_EXPECT_EQ(test, uma_irq(0, uma), IRQ_NONE);
	flush_workqueue(uma->reset_wq);
	KUNIT_EXPECT_EQ(test, atomic_read(&uma_device_test_works), 0);
	uma_device_test_irq_status = UMA_IRQ_ERROR;
	KUNIT_EXPECT_EQ(test, uma_irq(0, uma), IRQ_HANDLED);
	flush_workqueue(uma->reset_wq);
	KUNIT_EXPECT_EQ(test, atomic_read(&uma_device_test_works), 1);
}

/* Who finds out late that the device is going arms nothing, and touches no ring: they go. */
static void uma_device_test_stop(struct kunit *test)
{
	struct uma_device_test_rig *rig = uma_device_test_rig(test);
	struct uma_engine *engine = &rig->engine;
	struct uma_device *uma = &rig->uma;

	memset(rig->ring, 0x5a, sizeof(rig->ring));
	memset(rig->records, 0x5a, sizeof(rig->records));
	uma_engine_watch_start(engine, 600000);
	uma_reset_stop(uma);
	KUNIT_EXPECT_TRUE(test, uma->lost);
	uma_engine_watch_start(engine, 0);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&engine->watch));
	KUNIT_EXPECT_FALSE(test, queue_work(uma->reset_wq, &uma->reset_work));
	KUNIT_EXPECT_FALSE(test, queue_work(uma->sched_wq, &uma->kick_work));
	engine->state = UMA_ENGINE_HELD;
	uma_engine_push(engine);
	msleep(50);
	flush_workqueue(uma->reset_wq);
	KUNIT_EXPECT_EQ(test, atomic_read(&uma_device_test_works), 0);
	KUNIT_EXPECT_EQ(test, engine->state, UMA_ENGINE_HELD);
	KUNIT_EXPECT_NULL(test, memchr_inv(rig->ring, 0x5a, sizeof(rig->ring)));
	KUNIT_EXPECT_NULL(test, memchr_inv(rig->records, 0x5a, sizeof(rig->records)));
}

/* One read that fails is no broken device: what runs has as long to end as its job may take. */
static void uma_device_test_drain(struct kunit *test)
{
	const struct regmap_config config = {
		.reg_bits = 32,
		.val_bits = 32,
		.reg_stride = 4,
		.reg_read = uma_device_test_read_badly,
		.disable_locking = true,
	};
	struct uma_device_test_rig *rig = uma_device_test_rig(test);
	struct uma_engine *engine = &rig->engine;
	struct uma_device *uma = &rig->uma;

	uma->regs = devm_regmap_init(uma->drm.dev, NULL, NULL, &config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, uma->regs);
	uma_device_test_gone = false;
	uma_device_test_failures = 1;
	engine->deadline = ktime_add_ms(ktime_get(), 3000);
	uma_reset_drain(uma);
	KUNIT_EXPECT_EQ(test, engine->state, UMA_ENGINE_FAILED);
	KUNIT_EXPECT_EQ(test, engine->failure, UMA_FAILURE_TIMEOUT);
	/* There is nothing to wait for where there is no device. */
	uma_device_test_gone = true;
	engine->state = UMA_ENGINE_RUNNING;
	engine->deadline = KTIME_MAX;
	uma_reset_drain(uma);
	KUNIT_EXPECT_EQ(test, engine->state, UMA_ENGINE_RUNNING);
}

static void uma_device_test_wait(struct work_struct *work)
{
	struct uma_device_test_rig *rig = container_of(work, struct uma_device_test_rig, before);

	wait_for_completion(&rig->go_on);
}

/* A job that may have an address space now is pushed though another engine is being recovered. */
static void uma_device_test_kick(struct kunit *test)
{
	struct uma_device_test_rig *rig = uma_device_test_rig(test);
	struct uma_device *uma = &rig->uma;

	uma_sfq_init(&rig->engine.sfq);
	init_completion(&rig->go_on);
	INIT_WORK(&rig->before, uma_device_test_wait);
	queue_work(uma->reset_wq, &rig->before);
	rig->engine.as_ticket = 1;
	mutex_lock(&uma->hw_lock);
	uma_dispatch_drop_as(&rig->engine);
	mutex_unlock(&uma->hw_lock);
	flush_workqueue(uma->sched_wq);
	KUNIT_EXPECT_EQ(test, atomic_read(&uma_device_test_works), 1);
	complete(&rig->go_on);
	flush_workqueue(uma->reset_wq);
}

/* Power that fails while a reset ends is a reason for the next one: nothing is pushed before. */
static void uma_device_test_again(struct kunit *test)
{
	struct uma_device_test_rig *rig = uma_device_test_rig(test);
	struct uma_device *uma = &rig->uma;

	rig->engine.job = NULL;
	rig->engine.state = UMA_ENGINE_IDLE;
	init_completion(&rig->go_on);
	INIT_WORK(&rig->before, uma_device_test_wait);
	queue_work(uma->reset_wq, &rig->before);
	uma->resetting = true;
	queue_work(uma->reset_wq, &uma->reset_work);
	uma_reset_end(uma);
	KUNIT_EXPECT_TRUE(test, uma->resetting);
	complete(&rig->go_on);
	flush_workqueue(uma->reset_wq);
	KUNIT_EXPECT_EQ(test, atomic_read(&uma_device_test_works), 1);
	uma_reset_end(uma);
	KUNIT_EXPECT_FALSE(test, uma->resetting);
}

/* Somebody else's jobs run, and were still running when interrupts were enabled. */
static bool uma_device_test_runs, uma_device_test_ran;
/* The device does not end its reset, and has no other way to stop. */
static bool uma_device_test_stuck;
/* What it says of its energy, which a reset clears */
static u64 uma_device_test_energy;
static int uma_device_test_energy_error;

static int uma_device_test_read_left(void *context, unsigned int reg, unsigned int *value)
{
	*value = 0;
	switch (reg) {
	case UMA_REG_DEV_CTRL:
		*value = uma_device_test_stuck ? UMA_DEV_RESET : 0;
		break;
	case UMA_REG_DEV_STATUS:
		*value = uma_device_test_stuck ? 0 : UMA_DEV_READY;
		break;
	case UMA_REG_ENERGY_UJ_LO:
		*value = lower_32_bits(uma_device_test_energy);
		break;
	case UMA_REG_ENERGY_UJ_HI:
		*value = upper_32_bits(uma_device_test_energy);
		return uma_device_test_energy_error;
	}
	return 0;
}

static int uma_device_test_write_left(void *context, unsigned int reg, unsigned int value)
{
	if (reg == UMA_REG_DEV_CTRL && value == UMA_DEV_RESET && !uma_device_test_stuck) {
		uma_device_test_runs = false;
		uma_device_test_energy = 0;
	}
	if (reg == UMA_REG_IRQ_ENABLE && value)
		uma_device_test_ran = uma_device_test_runs;
	return 0;
}

/* A device without a job, whose system is about to sleep. */
static struct uma_device *uma_device_test_tired(struct kunit *test)
{
	const struct regmap_config config = {
		.reg_bits = 32,
		.val_bits = 32,
		.reg_stride = 4,
		.reg_read = uma_device_test_read_left,
		.reg_write = uma_device_test_write_left,
		.disable_locking = true,
	};
	struct uma_device_test_rig *rig = uma_device_test_rig(test);
	struct uma_device *uma = &rig->uma;

	uma->regs = devm_regmap_init(uma->drm.dev, NULL, NULL, &config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, uma->regs);
	spin_lock_init(&uma->pm_lock);
	dev_set_drvdata(uma->drm.dev, uma);
	rig->engine.job = NULL;
	rig->engine.state = UMA_ENGINE_IDLE;
	uma->powered = false;
	uma_device_test_runs = false;
	uma_device_test_stuck = false;
	uma_device_test_energy = 0;
	uma_device_test_energy_error = 0;
	return uma;
}

/* The image is read by another kernel, which leaves the device running. */
static void uma_device_test_hibernate(struct kunit *test, struct uma_device *uma)
{
	KUNIT_ASSERT_EQ(test, uma_pm_ops.freeze(uma->drm.dev), 0);
	uma_device_test_runs = true;
	KUNIT_ASSERT_NOT_NULL(test, uma_pm_ops.restore_noirq);
	KUNIT_ASSERT_EQ(test, uma_pm_ops.restore_noirq(uma->drm.dev), 0);
}

/* After hibernation the device is as the kernel has left it that read the image. */
static void uma_device_test_restored(struct kunit *test)
{
	struct uma_device *uma = uma_device_test_tired(test);

	uma_device_test_hibernate(test, uma);
	/* It does not run any more when drivers' interrupts and all else go on. */
	KUNIT_EXPECT_FALSE(test, uma_device_test_runs);
	uma_device_test_ran = true;
	KUNIT_ASSERT_EQ(test, uma_pm_ops.restore(uma->drm.dev), 0);
	KUNIT_EXPECT_FALSE(test, uma->stopped);
	KUNIT_EXPECT_FALSE(test, uma->quiet);
	KUNIT_EXPECT_FALSE(test, uma_device_test_ran);
	KUNIT_EXPECT_FALSE(test, uma->resetting);
}

/* Also one that was lost before, which reaches no memory any more then. */
static void uma_device_test_restored_lost(struct kunit *test)
{
	struct uma_device *uma = uma_device_test_tired(test);

	uma->lost = true;
	uma_device_test_hibernate(test, uma);
	KUNIT_EXPECT_FALSE(test, uma_device_test_runs);
	KUNIT_EXPECT_TRUE(test, uma->quiet);
	KUNIT_EXPECT_EQ(test, uma_pm_ops.restore(uma->drm.dev), 0);
}

/* One that does not stop is not used, but reset. */
static void uma_device_test_restored_stuck(struct kunit *test)
{
	struct uma_device *uma = uma_device_test_tired(test);

	uma_device_test_stuck = true;
	uma->lost = true;
	uma_device_test_hibernate(test, uma);
	KUNIT_EXPECT_FALSE(test, uma->quiet);
	uma->lost = false;
	uma_device_test_ran = false;
	KUNIT_EXPECT_EQ(test, uma_pm_ops.restore(uma->drm.dev), 0);
	KUNIT_EXPECT_FALSE(test, uma_device_test_ran);
	KUNIT_EXPECT_TRUE(test, uma->resetting);
	flush_workqueue(uma->reset_wq);
	KUNIT_EXPECT_EQ(test, atomic_read(&uma_device_test_works), 1);
}

/* Whoever has the device while the system sleeps, and whether it has power then: energy adds up. */
static void uma_device_test_energy_slept(struct kunit *test)
{
	struct uma_device *uma = uma_device_test_tired(test);
	const struct dev_pm_ops *ops = &uma_pm_ops;
	struct device *dev = uma->drm.dev;

	uma_device_test_energy = 5000;
	KUNIT_EXPECT_EQ(test, uma_pm_energy_uj(uma), 5000);
	/* What nobody has asked for counts as well. */
	uma_device_test_energy = 6000;
	uma_device_test_hibernate(test, uma);
	KUNIT_EXPECT_EQ(test, uma_pm_energy_uj(uma), 6000);
	KUNIT_ASSERT_EQ(test, ops->restore(dev), 0);
	uma_device_test_energy = 100;
	KUNIT_EXPECT_EQ(test, uma_pm_energy_uj(uma), 6100);
	/* It has power and goes on counting; */
	KUNIT_ASSERT_EQ(test, ops->suspend(dev), 0);
	uma_device_test_energy = 150;
	KUNIT_ASSERT_EQ(test, ops->resume(dev), 0);
	KUNIT_EXPECT_EQ(test, uma_pm_energy_uj(uma), 6150);
	/* it loses it, be it lost itself or not. */
	KUNIT_ASSERT_EQ(test, ops->suspend(dev), 0);
	uma_device_test_energy = 0;
	KUNIT_ASSERT_EQ(test, ops->resume(dev), 0);
	uma_device_test_energy = 10;
	KUNIT_EXPECT_EQ(test, uma_pm_energy_uj(uma), 6160);
	uma->lost = true;
	KUNIT_ASSERT_EQ(test, ops->suspend(dev), 0);
	uma_device_test_energy = 1;
	KUNIT_ASSERT_EQ(test, ops->resume(dev), 0);
	KUNIT_EXPECT_EQ(test, uma_pm_energy_uj(uma), 6161);
	/* Half of a register pair that can be read says nothing. */
	uma_device_test_energy_error = -EIO;
	uma_device_test_energy = 2;
	KUNIT_EXPECT_EQ(test, uma_pm_energy_uj(uma), 6161);
	/* Nor when the system wakes: whether it has begun anew shows later. */
	uma_device_test_energy_error = 0;
	uma_device_test_energy = 50;
	KUNIT_ASSERT_EQ(test, ops->suspend(dev), 0);
	uma_device_test_energy_error = -EIO;
	uma_device_test_energy = 0;
	KUNIT_ASSERT_EQ(test, ops->resume(dev), 0);
	uma_device_test_energy_error = 0;
	KUNIT_EXPECT_EQ(test, uma_pm_energy_uj(uma), 6210);
	uma_device_test_energy = 3;
	KUNIT_EXPECT_EQ(test, uma_pm_energy_uj(uma), 6213);
}

static const char *uma_device_test_fence_name(struct dma_fence *fence)
{
	return "uma_device_test";
}

/* It is part of what the test allocates. */
static void uma_device_test_fence_release(struct dma_fence *fence)
{
}

static const struct dma_fence_ops uma_device_test_fence_ops = {
	.get_driver_name = uma_device_test_fence_name,
	.get_timeline_name = uma_device_test_fence_name,
	.release = uma_device_test_fence_release,
};

/* A job that waits to be pushed, of a queue that is closed. */
static struct uma_device_test_rig *uma_device_test_closed(struct kunit *test, u32 first_task)
{
	struct uma_device_test_rig *rig = uma_device_test_rig(test);
	struct uma_engine *engine = &rig->engine;
	u64 context = dma_fence_context_alloc(1);
	struct uma_job *job = &rig->job;
	struct uma_device *uma = &rig->uma;
	u32 i;

	uma_sfq_init(&engine->sfq);
	INIT_WORK(&engine->begin_work, uma_engine_begin_work);
	kref_init(&rig->queue.ref);
	rig->queue.usage = &rig->usage;
	rig->queue.closed = true;
	rig->queue.turn = job;
	rig->queue.request.state = UMA_REQUEST_DISPATCHED;
	INIT_LIST_HEAD(&rig->queue.behind);
	spin_lock_init(&rig->done_lock);
	for (i = 0; i < ARRAY_SIZE(rig->done); i++)
		dma_fence_init(&rig->done[i], &uma_device_test_fence_ops, &rig->done_lock, context,
			       i + 1);
	job->engine = engine;
	job->done = dma_fence_get(&rig->done[0]);
	job->task_count = 2;
	job->first_task = first_task;
	engine->state = UMA_ENGINE_HELD;
	engine->as = -1;
	engine->as_ticket = 1;
	pm_runtime_get_noresume(uma->drm.dev);
	return rig;
}

/*
 * A job whose queue is closed is not continued. Whoever has the lock under which jobs are pushed
 * may be about to push it: until then it stays where it is, and what comes after it waits.
 */
static void uma_device_test_orphan(struct kunit *test)
{
	struct uma_device_test_rig *rig = uma_device_test_closed(test, 1);
	struct uma_engine *engine = &rig->engine;
	struct uma_job *behind = &rig->behind;
	struct uma_device *uma = &rig->uma;
	bool stays;

	behind->engine = engine;
	behind->queue = &rig->queue;
	behind->done = dma_fence_get(&rig->done[1]);
	pm_runtime_get_noresume(uma->drm.dev);

	mutex_lock(&uma->hw_lock);
	queue_work(system_unbound_wq, &engine->begin_work);
	uma_dispatch_add(behind);
	msleep(100);
	/* To fail an expectation takes memory, for which fences are not waited for. */
	stays = engine->state == UMA_ENGINE_HELD && engine->job == &rig->job &&
		!dma_fence_is_signaled(&rig->done[0]) && !dma_fence_is_signaled(&rig->done[1]);
	mutex_unlock(&uma->hw_lock);
	KUNIT_EXPECT_TRUE(test, stays);
	flush_work(&engine->begin_work);
	KUNIT_EXPECT_EQ(test, engine->state, UMA_ENGINE_IDLE);
	KUNIT_EXPECT_NULL(test, engine->job);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&rig->done[0]), -ECANCELED);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&rig->done[1]), -ECANCELED);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->queue.completed), 2);
	KUNIT_EXPECT_NULL(test, rig->queue.turn);
	/* It gives up its place among those that wait for an address space. */
	KUNIT_EXPECT_EQ(test, engine->as_ticket, 0);
	flush_workqueue(uma->sched_wq);
	KUNIT_EXPECT_EQ(test, atomic_read(&uma_device_test_works), 1);
	/* It had begun, and ends without a number of the ring: the last is another's. */
	KUNIT_EXPECT_EQ(test, engine->history.count, 1);
	KUNIT_EXPECT_EQ(test, engine->history.events[0].type,
			(__force u32)cpu_to_le32(UMA_DUMP_EVENT_DONE));
	KUNIT_EXPECT_EQ(test, engine->history.events[0].seqno, 0);
	dma_fence_put(&rig->done[0]);
	dma_fence_put(&rig->done[1]);
}

/* An interrupt ends few of the jobs behind the one that it is about, however many there are. */
static void uma_device_test_budget(struct kunit *test)
{
	struct uma_device_test_rig *rig = uma_device_test_closed(test, 0);
	const u32 count = 100;
	struct uma_engine *engine = &rig->engine;
	u64 context = dma_fence_context_alloc(1);
	struct uma_device *uma = &rig->uma;
	struct dma_fence *done;
	struct uma_job *jobs;
	u32 i, at_once;

	jobs = kunit_kcalloc(test, count, sizeof(*jobs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, jobs);
	done = kunit_kcalloc(test, count, sizeof(*done), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, done);
	for (i = 0; i < count; i++) {
		dma_fence_init(&done[i], &uma_device_test_fence_ops, &rig->done_lock, context,
			       i + 1);
		jobs[i].engine = engine;
		jobs[i].queue = &rig->queue;
		jobs[i].done = dma_fence_get(&done[i]);
		list_add_tail(&jobs[i].node, &rig->queue.behind);
		pm_runtime_get_noresume(uma->drm.dev);
	}
	/* The work comes when it may. */
	uma->sched_wq = uma->reset_wq;
	INIT_WORK(&rig->queue.end_work, uma_dispatch_end_work);
	init_completion(&rig->go_on);
	INIT_WORK(&rig->before, uma_device_test_wait);
	queue_work(uma->reset_wq, &rig->before);

	uma_dispatch_release(engine, &rig->queue);
	at_once = atomic64_read(&rig->queue.completed);
	complete(&rig->go_on);
	flush_workqueue(uma->reset_wq);
	KUNIT_EXPECT_GT(test, at_once, 0);
	KUNIT_EXPECT_LT(test, at_once, 10);
	KUNIT_EXPECT_EQ(test, atomic64_read(&rig->queue.completed), count);
	KUNIT_EXPECT_NULL(test, rig->queue.turn);
	for (i = 0; i < count; i++) {
		KUNIT_EXPECT_EQ(test, dma_fence_get_status(&done[i]), -ECANCELED);
		dma_fence_put(&done[i]);
	}
	/* The job that was there before had it. */
	pm_runtime_put_noidle(uma->drm.dev);
}

/* What the engine was never given does not end there, as far as a dump tells. */
static void uma_device_test_never_begun(struct kunit *test)
{
	struct uma_device_test_rig *rig = uma_device_test_closed(test, 0);
	struct uma_engine *engine = &rig->engine;

	uma_engine_push(engine);
	KUNIT_EXPECT_EQ(test, engine->state, UMA_ENGINE_IDLE);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&rig->done[0]), -ECANCELED);
	KUNIT_EXPECT_EQ(test, engine->history.count, 0);
	flush_workqueue(rig->uma.reset_wq);
	dma_fence_put(&rig->done[0]);
	dma_fence_put(&rig->done[1]);
}

/* Where a job that was stopped goes on, by what the engine says, or that this makes no sense. */
struct uma_device_test_stop {
	const char *name;
	u64 first_tile;
	u64 tile;
	u32 index;
	u32 flags;
	bool good;
	bool late;
};

static const struct uma_device_test_stop uma_device_test_stops[] = {
	{ "a tile further", 3, 4, 0, UMA_ENGINE_PREEMPT, true },
	{ "many tiles further", 0, U64_MAX, 0, UMA_ENGINE_PREEMPT, true },
	{ "at the next task", 3, 0, 1, UMA_ENGINE_PREEMPT, true },
	{ "in the last task", 3, 1, 2, UMA_ENGINE_PREEMPT, true },
	{ "nowhere", 0, 0, 0, UMA_ENGINE_PREEMPT, false },
	{ "where it was", 3, 3, 0, UMA_ENGINE_PREEMPT, false },
	{ "before where it was", 3, 2, 0, UMA_ENGINE_PREEMPT, false },
	{ "at its beginning again", 3, 0, 0, UMA_ENGINE_PREEMPT, false },
	{ "behind the last task", 3, 1, 3, UMA_ENGINE_PREEMPT, false },
	{ "at the next task of an engine without tiles", 0, 0, 1, 0, true },
	{ "in a task of an engine without tiles", 0, 1, 0, 0, false },
	{ "in the next task of an engine without tiles", 0, 1, 1, 0, false },
	/* Whoever is stopped before each look at the clock is not exempt from it. */
	{ "when its time is up", 3, 1, 2, UMA_ENGINE_PREEMPT, false, true },
};

static void uma_device_test_stop_name(const struct uma_device_test_stop *stop, char *name)
{
	strscpy(name, stop->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(uma_device_test_stop, uma_device_test_stops, uma_device_test_stop_name);

static void uma_device_test_stopped(struct kunit *test)
{
	struct uma_device_test_rig *rig = uma_device_test_closed(test, 1);
	const struct uma_device_test_stop *stop = test->param_value;
	struct uma_share *share = kunit_kzalloc(test, sizeof(*share), GFP_KERNEL);
	struct uma_engine *engine = &rig->engine;
	struct uma_job *job = &rig->job;
	struct uma_device *uma = &rig->uma;

	KUNIT_ASSERT_NOT_NULL(test, share);
	uma_share_init(share);
	rig->queue.request.flow = &share->flow[0];
	spin_lock_init(&rig->queue.counters_lock);
	uma->preempts = true;
	engine->info.flags = stop->flags;
	engine->state = UMA_ENGINE_RUNNING;
	job->task_count = 4;
	job->first_tile = stop->first_tile;
	engine->deadline = ktime_add_ms(ktime_get(), stop->late ? -1 : 60000);
	rig->records[0] = (struct uma_record) {
		.seqno = cpu_to_le64(engine->seqno),
		.task_index = cpu_to_le32(stop->index),
		.tile = cpu_to_le64(stop->tile),
		.flags = cpu_to_le32(UMA_RECORD_PREEMPTED),
	};
	uma_engine_poll(engine, true);
	KUNIT_EXPECT_EQ(test, job->first_task, stop->good ? 1 + stop->index : 1);
	KUNIT_EXPECT_EQ(test, job->first_tile, stop->good ? stop->tile : stop->first_tile);
	KUNIT_EXPECT_EQ(test, engine->preemptions, stop->good);
	if (stop->good) {
		/* Its queue is closed: it is not given back to it. */
		KUNIT_EXPECT_EQ(test, engine->state, UMA_ENGINE_IDLE);
		KUNIT_EXPECT_EQ(test, dma_fence_get_status(&rig->done[0]), -ECANCELED);
	} else {
		KUNIT_EXPECT_EQ(test, engine->state, UMA_ENGINE_FAILED);
		KUNIT_EXPECT_EQ(test, engine->failure,
				stop->late ? UMA_FAILURE_TIMEOUT : UMA_FAILURE_FAULT);
		KUNIT_EXPECT_EQ(test, engine->result.reason,
				stop->late ? UMA_FAULT_NONE : UMA_FAULT_INTERNAL);
		KUNIT_EXPECT_EQ(test, engine->result.task_index, 1 + stop->index);
		KUNIT_EXPECT_EQ(test, dma_fence_get_status(&rig->done[0]), 0);
		pm_runtime_put_noidle(uma->drm.dev);
	}
	flush_workqueue(uma->reset_wq);
	dma_fence_put(&rig->done[0]);
	dma_fence_put(&rig->done[1]);
}

/* Whoever waits for an address space keeps its turn while there is an invalidation. */
static void uma_device_test_turn(struct kunit *test)
{
	struct uma_device_test_rig *rig = uma_device_test_rig(test);
	struct uma_engine *engine = &rig->engine;
	struct uma_device *uma = &rig->uma;
	static const char idle;
	struct uma_vm vm = {};

	uma_sfq_init(&engine->sfq);
	uma_slots_init(&uma->slots, 1);
	rig->queue.vm = &vm;
	vm.uma = uma;
	engine->state = UMA_ENGINE_HELD;
	mutex_lock(&uma->hw_lock);
	/* Another address space has jobs; */
	uma_slots_get(&uma->slots, 0, &idle);
	KUNIT_EXPECT_EQ(test, uma_dispatch_get_as(engine), -EBUSY);
	KUNIT_EXPECT_EQ(test, engine->as_ticket, 1);
	/* then it has none, but cannot be told to let go. */
	uma_slots_put(&uma->slots, 0);
	mutex_unlock(&uma->hw_lock);
	mutex_lock(&uma->inval_lock);
	mutex_lock(&uma->hw_lock);
	KUNIT_EXPECT_EQ(test, uma_dispatch_get_as(engine), -EAGAIN);
	KUNIT_EXPECT_EQ(test, engine->as_ticket, 1);
	/* Nobody else is asked to make room only because of that. */
	engine->as_ticket = 0;
	KUNIT_EXPECT_EQ(test, uma_dispatch_get_as(engine), -EAGAIN);
	KUNIT_EXPECT_EQ(test, engine->as_ticket, 0);
	mutex_unlock(&uma->hw_lock);
	mutex_unlock(&uma->inval_lock);
}

/*
 * Tables for a bind, of which there may be many: an unplug does not wait for all of them, and when
 * the device has gone, whichever way, there are no more.
 */
static void uma_device_test_tables(struct kunit *test)
{
	const struct uma_pt_need need = { .dirs = 1, .leaves = 2 };
	struct uma_device_test_rig *rig = uma_device_test_rig(test);
	struct uma_device *uma = &rig->uma;
	struct uma_vm vm = { .uma = uma };

	uma->drm.dev->coherent_dma_mask = DMA_BIT_MASK(64);
	KUNIT_ASSERT_EQ(test, uma_pt_init(&vm.pt, &uma_mmu_pt_ops, uma), 0);
	KUNIT_EXPECT_EQ(test, uma_pt_reserve(&vm.pt, &need), 0);
	uma->drm.unplugged = true;
	KUNIT_EXPECT_EQ(test, uma_pt_reserve(&vm.pt, &need), -ENODEV);
	uma->drm.unplugged = false;
	uma->lost = true;
	KUNIT_EXPECT_EQ(test, uma_pt_reserve(&vm.pt, &need), -ENODEV);
	KUNIT_EXPECT_EQ(test, vm.pt.tables, 4);
	/* What was there before can be given back. */
	uma_pt_unreserve(&vm.pt);
	KUNIT_EXPECT_EQ(test, vm.pt.tables, 1);
	uma_pt_fini(&vm.pt);
	KUNIT_EXPECT_EQ(test, vm.pt.tables, 0);
}

static struct kunit_case uma_device_test_cases[] = {
	KUNIT_CASE(uma_device_test_find_regs),
	KUNIT_CASE(uma_device_test_deleted),
	KUNIT_CASE(uma_device_test_asleep),
	KUNIT_CASE(uma_device_test_poll),
	KUNIT_CASE(uma_device_test_irq),
	KUNIT_CASE(uma_device_test_blame),
	KUNIT_CASE(uma_device_test_drain),
	KUNIT_CASE(uma_device_test_kick),
	KUNIT_CASE(uma_device_test_again),
	KUNIT_CASE(uma_device_test_restored),
	KUNIT_CASE(uma_device_test_restored_lost),
	KUNIT_CASE(uma_device_test_restored_stuck),
	KUNIT_CASE(uma_device_test_energy_slept),
	KUNIT_CASE(uma_device_test_stop),
	KUNIT_CASE(uma_device_test_orphan),
	KUNIT_CASE(uma_device_test_budget),
	KUNIT_CASE(uma_device_test_never_begun),
	KUNIT_CASE_PARAM(uma_device_test_stopped, uma_device_test_stop_gen_params),
	KUNIT_CASE(uma_device_test_turn),
	KUNIT_CASE(uma_device_test_tables),
	{}
};

static struct kunit_suite uma_device_test_suite = {
	.name = "uma_device",
	.test_cases = uma_device_test_cases,
};

kunit_test_suite(uma_device_test_suite);
