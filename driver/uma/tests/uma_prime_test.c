// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Importing from an exporter that takes its time: it holds up who imports, and no other device.
 */
#include <linux/completion.h>
#include <linux/dma-buf.h>
#include <linux/fcntl.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>

#include <kunit/device.h>
#include <kunit/test.h>

#include "compat.h"
#include "uma_device.h"
#include "uma_gem.h"

/* More than what a device needs to go, on whatever machine. */
#define UMA_PRIME_TEST_WAIT	(60 * HZ)

/* A dma-buf whose exporter sleeps, the device that imports it, and one that goes meanwhile. */
struct uma_prime_test_rig {
	struct uma_device *uma;
	struct uma_device *other;
	struct dma_buf *buf;
	struct workqueue_struct *wq;
	bool sleeps_in_attach;
	struct completion asleep;
	struct completion wake;
	struct completion gone;
	struct work_struct import;
	struct work_struct unplug;
	int ret;
};

static void uma_prime_test_sleep(struct uma_prime_test_rig *rig)
{
	complete(&rig->asleep);
	wait_for_completion(&rig->wake);
}

static int uma_prime_test_attach(struct dma_buf *buf, struct dma_buf_attachment *attach)
{
	struct uma_prime_test_rig *rig = buf->priv;

	if (rig->sleeps_in_attach)
		uma_prime_test_sleep(rig);
	return 0;
}

/* In the end there is nothing to map. */
static struct sg_table *uma_prime_test_map(struct dma_buf_attachment *attach,
					   enum dma_data_direction dir)
{
	struct uma_prime_test_rig *rig = attach->dmabuf->priv;

	if (!rig->sleeps_in_attach)
		uma_prime_test_sleep(rig);
	return ERR_PTR(-EIO);
}

static void uma_prime_test_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
				 enum dma_data_direction dir)
{
}

static void uma_prime_test_release(struct dma_buf *buf)
{
}

static const struct dma_buf_ops uma_prime_test_ops = {
	.attach = uma_prime_test_attach,
	.map_dma_buf = uma_prime_test_map,
	.unmap_dma_buf = uma_prime_test_unmap,
	.release = uma_prime_test_release,
};

static struct drm_gem_object *uma_prime_test_object(struct drm_device *drm,
						    struct dma_buf_attachment *attach,
						    struct sg_table *sgt)
{
	return ERR_PTR(-EIO);
}

static const struct drm_driver uma_prime_test_driver = {
	.driver_features = DRIVER_COMPUTE_ACCEL | DRIVER_GEM,
	.gem_prime_import_sg_table = uma_prime_test_object,
	.name = "uma_prime_test",
	.desc = "unit test",
};

static void uma_prime_test_import(struct work_struct *work)
{
	struct uma_prime_test_rig *rig = container_of(work, struct uma_prime_test_rig, import);
	struct drm_gem_object *obj = uma_gem_prime_import(&rig->uma->drm, rig->buf);

	rig->ret = IS_ERR(obj) ? PTR_ERR(obj) : 0;
}

static void uma_prime_test_unplug(struct work_struct *work)
{
	struct uma_prime_test_rig *rig = container_of(work, struct uma_prime_test_rig, unplug);

	drm_dev_unplug(&rig->other->drm);
	complete(&rig->gone);
}

static struct uma_device *uma_prime_test_device(struct kunit *test, const char *name)
{
	struct device *dev = kunit_device_register(test, name);
	struct uma_device *uma;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	uma = devm_drm_dev_alloc(dev, &uma_prime_test_driver, struct uma_device, drm);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, uma);
	return uma;
}

static void uma_prime_test_destroy_wq(void *wq)
{
	destroy_workqueue(wq);
}

static void uma_prime_test_sleeps(struct kunit *test, bool in_attach)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct uma_prime_test_rig *rig = kunit_kzalloc(test, sizeof(*rig), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rig);
	rig->wq = alloc_workqueue("uma-test", WQ_UNBOUND, 0);
	KUNIT_ASSERT_NOT_NULL(test, rig->wq);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, uma_prime_test_destroy_wq, rig->wq),
			0);
	rig->sleeps_in_attach = in_attach;
	init_completion(&rig->asleep);
	init_completion(&rig->wake);
	init_completion(&rig->gone);
	INIT_WORK(&rig->import, uma_prime_test_import);
	INIT_WORK(&rig->unplug, uma_prime_test_unplug);
	rig->uma = uma_prime_test_device(test, "uma-test-importer");
	rig->other = uma_prime_test_device(test, "uma-test-other");
	info.ops = &uma_prime_test_ops;
	info.size = PAGE_SIZE;
	info.flags = O_RDWR;
	info.priv = rig;
	rig->buf = dma_buf_export(&info);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, rig->buf);

	queue_work(rig->wq, &rig->import);
	wait_for_completion(&rig->asleep);
	/* The driver of the importer would wait for it, */
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->uma->dying), 1);
	/* and nobody else does. */
	queue_work(rig->wq, &rig->unplug);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&rig->gone, UMA_PRIME_TEST_WAIT));
	complete(&rig->wake);
	flush_work(&rig->import);
	flush_work(&rig->unplug);
	KUNIT_EXPECT_EQ(test, rig->ret, -EIO);
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->uma->dying), 0);

	/* Without a device nobody is asked. */
	drm_dev_unplug(&rig->uma->drm);
	queue_work(rig->wq, &rig->import);
	flush_work(&rig->import);
	KUNIT_EXPECT_EQ(test, rig->ret, -ENODEV);
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->uma->dying), 0);
	dma_buf_put(rig->buf);
}

static void uma_prime_test_in_attach(struct kunit *test)
{
	uma_prime_test_sleeps(test, true);
}

static void uma_prime_test_in_map(struct kunit *test)
{
	uma_prime_test_sleeps(test, false);
}

static struct kunit_case uma_prime_test_cases[] = {
	KUNIT_CASE(uma_prime_test_in_attach),
	KUNIT_CASE(uma_prime_test_in_map),
	{}
};

static struct kunit_suite uma_prime_test_suite = {
	.name = "uma_prime",
	.test_cases = uma_prime_test_cases,
};

kunit_test_suite(uma_prime_test_suite);

UMA_IMPORT_NS(DMA_BUF);
