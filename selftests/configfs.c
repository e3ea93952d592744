// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The emulated devices' configuration: attributes, what they refuse, and
 * devices that come and go.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "instance.h"
#include "watch.h"

FIXTURE(config) {
	struct instance in;
};

FIXTURE_SETUP(config)
{
	instance_make(&self->in, "test");
}

FIXTURE_TEARDOWN(config)
{
	instance_drop(&self->in);
}

static bool is(struct instance *in, const char *attribute, const char *value)
{
	char text[256];

	instance_get(in, attribute, text, sizeof(text));
	if (strcmp(text, value)) {
		harness_diag("%s is '%s', not '%s'", attribute, text, value);
		return false;
	}
	return true;
}

TEST_F(config, default_values)
{
	EXPECT_TRUE(is(&self->in, "profile", "full"));
	EXPECT_TRUE(is(&self->in, "paranoid", "0"));
	EXPECT_TRUE(is(&self->in, "pace", "0"));
	EXPECT_TRUE(is(&self->in, "latency_us", "0"));
	EXPECT_TRUE(is(&self->in, "task_us", "0"));
	EXPECT_TRUE(is(&self->in, "tile_us", "0"));
	EXPECT_TRUE(is(&self->in, "preempt", "1"));
	EXPECT_TRUE(is(&self->in, "preempt_tiles", "1"));
	EXPECT_TRUE(is(&self->in, "memory", "0"));
	EXPECT_TRUE(is(&self->in, "enabled", "0"));
	EXPECT_TRUE(is(&self->in, "device", ""));
}

FIXTURE(attribute) {
	struct instance in;
};

FIXTURE_VARIANT(attribute) {
	const char *name;
	const char *good[4];
	const char *bad[8];
};

FIXTURE_VARIANT_ADD(attribute, profile) {
	.name = "profile",
	.good = { "m1", "ultra", "full" },
	.bad = { "", "m", "m10", "M1", "m1 m2", "\x01" },
};

FIXTURE_VARIANT_ADD(attribute, noncoherent) {
	.name = "noncoherent", .good = { "0" }, .bad = { "", "2", "maybe" },
};

FIXTURE_VARIANT_ADD(attribute, paranoid) {
	.name = "paranoid", .good = { "1", "0" }, .bad = { "", "2", "maybe" },
};

FIXTURE_VARIANT_ADD(attribute, pace) {
	.name = "pace", .good = { "1", "0" }, .bad = { "", "2" },
};

FIXTURE_VARIANT_ADD(attribute, latency_us) {
	.name = "latency_us",
	.good = { "1", "1000", "0" },
	.bad = { "", "-1", "4294967295", "4294967296", "x", "1x" },
};

FIXTURE_VARIANT_ADD(attribute, task_us) {
	.name = "task_us", .good = { "1", "0" }, .bad = { "", "-1", "1000001", "x" },
};

FIXTURE_VARIANT_ADD(attribute, tile_us) {
	.name = "tile_us", .good = { "1", "0" }, .bad = { "", "-1", "1000001", "x" },
};

FIXTURE_VARIANT_ADD(attribute, preempt_tiles) {
	.name = "preempt_tiles", .good = { "0", "1" }, .bad = { "", "2" },
};

FIXTURE_VARIANT_ADD(attribute, preempt) {
	.name = "preempt", .good = { "0", "1" }, .bad = { "", "2" },
};

FIXTURE_VARIANT_ADD(attribute, stale_ms) {
	.name = "stale_ms", .good = { "1", "500" }, .bad = { "", "-1", "4294967295", "x" },
};

FIXTURE_VARIANT_ADD(attribute, reset_ms) {
	.name = "reset_ms", .good = { "1", "30000" }, .bad = { "", "0", "30001", "-1", "x" },
};

FIXTURE_VARIANT_ADD(attribute, address_spaces) {
	.name = "address_spaces",
	.good = { "1", "2", "64" },
	.bad = { "", "0", "65", "-1", "4294967295", "x" },
};

FIXTURE_VARIANT_ADD(attribute, ring_order) {
	.name = "ring_order",
	.good = { "1", "8" },
	.bad = { "", "0", "32", "-1", "4294967295", "x" },
};

FIXTURE_VARIANT_ADD(attribute, memory) {
	.name = "memory", .good = { "1073741824", "0" },
	.bad = { "", "1", "4097", "-1", "18446744073709551616", "x" },
};

FIXTURE_SETUP(attribute)
{
	instance_make(&self->in, variant->name);
}

FIXTURE_TEARDOWN(attribute)
{
	instance_drop(&self->in);
}

TEST_F(attribute, values)
{
	size_t i;

	for (i = 0; variant->good[i]; i++) {
		EXPECT_EQ(0, instance_set_try(&self->in, variant->name, variant->good[i]));
		EXPECT_TRUE(is(&self->in, variant->name, variant->good[i]));
	}
	for (i = 0; variant->bad[i]; i++) {
		int ret = instance_set_try(&self->in, variant->name, variant->bad[i]);

		/* Nothing written is nothing heard. */
		if (!variant->bad[i][0])
			continue;
		EXPECT_TRUE(ret == -EINVAL || ret == -ERANGE);
		if (ret != -EINVAL && ret != -ERANGE)
			harness_diag("'%s' gives %d", variant->bad[i], ret);
	}
	/* A value that was refused changes nothing. */
	for (i = 0; variant->good[i]; i++)
		;
	EXPECT_TRUE(is(&self->in, variant->name, variant->good[i - 1]));
}

TEST_F(attribute, fixed_while_enabled)
{
	char before[64];

	instance_get(&self->in, variant->name, before, sizeof(before));
	instance_enable(&self->in);
	EXPECT_EQ(-EBUSY, instance_set_try(&self->in, variant->name, variant->good[0]));
	EXPECT_TRUE(is(&self->in, variant->name, before));
	instance_set(&self->in, "enabled", "0");
	EXPECT_EQ(0, instance_set_try(&self->in, variant->name, variant->good[0]));
}

TEST_F(config, enabled_values)
{
	EXPECT_EQ(-EINVAL, instance_set_try(&self->in, "enabled", "2"));
	EXPECT_EQ(-EINVAL, instance_set_try(&self->in, "enabled", "perhaps"));
	EXPECT_TRUE(is(&self->in, "enabled", "0"));
	/* Twice is once. */
	instance_set(&self->in, "enabled", "0");
	instance_enable(&self->in);
	EXPECT_TRUE(is(&self->in, "enabled", "1"));
	EXPECT_EQ(0, instance_set_try(&self->in, "enabled", "1"));
	EXPECT_TRUE(is(&self->in, "device", self->in.device));
	instance_set(&self->in, "enabled", "0");
	EXPECT_TRUE(is(&self->in, "device", ""));
}

/* Where the kernel lets a device have DMA operations of its own it need not be coherent. */
TEST_F(config, noncoherent)
{
	struct drm_uma_query_device dev;
	int fd;

	if (instance_set_try(&self->in, "noncoherent", "1") == -EINVAL)
		SKIP("this kernel lets no device have DMA operations");
	EXPECT_TRUE(is(&self->in, "noncoherent", "1"));
	EXPECT_EQ(-EINVAL, instance_set_try(&self->in, "noncoherent", "2"));
	EXPECT_TRUE(is(&self->in, "noncoherent", "1"));
	instance_enable(&self->in);
	fd = dev_open_named(self->in.node);
	query_device(fd, &dev);
	EXPECT_EQ(0, dev.flags & DRM_UMA_DEVICE_COHERENT);
	close(fd);
	EXPECT_EQ(-EBUSY, instance_set_try(&self->in, "noncoherent", "0"));
	instance_set(&self->in, "enabled", "0");
	EXPECT_EQ(0, instance_set_try(&self->in, "noncoherent", "0"));
	instance_enable(&self->in);
	fd = dev_open_named(self->in.node);
	query_device(fd, &dev);
	EXPECT_NE(0, dev.flags & DRM_UMA_DEVICE_COHERENT);
	close(fd);
}

TEST_F(config, device_is_read_only)
{
	EXPECT_EQ(-EACCES, instance_set_try(&self->in, "device", "uma.99"));
	EXPECT_TRUE(is(&self->in, "device", ""));
}

TEST_F(config, no_such_attribute)
{
	EXPECT_NE(0, instance_set_try(&self->in, "colour", "red"));
}

TEST_F(config, name_taken)
{
	EXPECT_EQ(-1, mkdir(self->in.dir, 0755));
	EXPECT_EQ(EEXIST, errno);
}

TEST_F(config, values_reach_the_device)
{
	struct drm_uma_query_memory memory;
	struct drm_uma_query_device dev;
	__u32 size = sizeof(memory);
	int fd;

	instance_set(&self->in, "profile", "m2");
	instance_set(&self->in, "memory", "268435456");
	instance_enable(&self->in);
	fd = dev_open_named(self->in.node);
	query_device(fd, &dev);
	EXPECT_EQ(0, strcmp(dev.profile, "m2"));
	ASSERT_EQ(0, query_try(fd, DRM_UMA_QUERY_MEMORY, 0, &memory, &size));
	EXPECT_EQ(268435456, memory.size);
	close(fd);
}

/* A chip with room for one address space only, and a ring of two jobs: slow, but right. */
TEST_F_TIMEOUT(config, smallest_device, 240)
{
	struct client c[3];
	__u32 queues[3];
	int i, k;

	instance_set(&self->in, "address_spaces", "1");
	instance_set(&self->in, "ring_order", "1");
	instance_set(&self->in, "paranoid", "1");
	instance_enable(&self->in);
	for (i = 0; i < 3; i++) {
		client_open_named(&c[i], self->in.node);
		queues[i] = queue_create(c[i].fd, c[i].vm, 0);
	}
	for (k = 0; k < 10; k++) {
		for (i = 0; i < 3; i++)
			EXPECT_EQ(0, client_run(&c[i], queues[i], 0, 0));
	}
	for (i = 0; i < 3; i++)
		client_close(&c[i]);
}

TEST_F_TIMEOUT(config, enable_disable, 240)
{
	struct client c;
	int i;

	instance_set(&self->in, "paranoid", "1");
	for (i = 0; i < 10; i++) {
		instance_enable(&self->in);
		client_open_named(&c, self->in.node);
		EXPECT_EQ(0, client_run(&c, queue_create(c.fd, c.vm, 0), 0, 0));
		client_close(&c);
		instance_set(&self->in, "enabled", "0");
	}
}

TEST_F(config, remove_while_enabled)
{
	instance_enable(&self->in);
	EXPECT_EQ(0, rmdir(self->in.dir));
	EXPECT_FALSE(node_of(self->in.device, self->in.node, sizeof(self->in.node)));
	memset(&self->in, 0, sizeof(self->in));
}

TEST_TIMEOUT(many, 240)
{
	static const char *const profiles[] = { "m1", "m2", "m3", "ultra", "full", "m1" };
	struct instance in[6];
	struct client c[6];
	char name[16];
	int i;

	for (i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "many%d", i);
		instance_start(&in[i], name, profiles[i]);
		client_open_named(&c[i], in[i].node);
	}
	for (i = 0; i < 6; i++)
		EXPECT_EQ(0, client_run(&c[i], queue_create(c[i].fd, c[i].vm, 0), 0, 0));
	/* In another order than they came. */
	for (i = 0; i < 6; i++) {
		instance_drop(&in[(i * 5 + 2) % 6]);
		client_close(&c[i]);
	}
}

HARNESS_MAIN
