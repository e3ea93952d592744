// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Power: off when there is nothing to do, on when there is, and everything that
 * a device forgets in between is set up again. Modes, clock and throttling.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "files.h"
#include "instance.h"
#include "task.h"
#include "watch.h"

#define WORDS	1024u

FIXTURE(power) {
	struct instance in;
	struct client c;
	struct buf tasks;
	struct buf data;
	const char *node;
	__u32 queue;
};

FIXTURE_SETUP(power)
{
	instance_start(&self->in, "power", "m1");
	client_open_named(&self->c, self->in.node);
	client_buf(&self->c, &self->tasks, PAGE);
	client_buf(&self->c, &self->data, 2 * PAGE);
	self->node = self->in.node;
	self->queue = queue_create(self->c.fd, self->c.vm, 1);
}

FIXTURE_TEARDOWN(power)
{
	client_close(&self->c);
	instance_drop(&self->in);
}

/* Have the device write something, and look whether it did. */
static void fill(struct power_fixture *self, __u64 va, __u32 value)
{
	unsigned int i;

	memset(self->data.map, 0, 2 * PAGE);
	task_fill(self->tasks.task, UMA_DTYPE_F32, va, WORDS, value);
	ASSERT_EQ(0, client_run(&self->c, self->queue, self->tasks.va, 1));
	for (i = 0; i < WORDS; i++)
		if (self->data.u32[i] != value)
			break;
	EXPECT_EQ(WORDS, i);
}

static bool sleeps(struct power_fixture *self)
{
	return device_becomes(self->node, "power/runtime_status", "suspended");
}

static long long usage(struct power_fixture *self)
{
	char buf[32];

	/* Not every kernel shows it. */
	if (device_read_try(self->node, "power/runtime_usage", buf, sizeof(buf)) < 0)
		return 0;
	return device_number(self->node, "power/runtime_usage");
}

static __u32 start_hanging(struct power_fixture *self)
{
	__u32 done;

	ASSERT_TRUE(emu_knob(self->node, "hang_next", "2"));
	done = client_start(&self->c, self->queue, self->tasks.va, 1);
	ASSERT_TRUE(hang_begins(self->in.node));
	return done;
}

static void stop_hanging(struct power_fixture *self, __u32 done)
{
	EXPECT_EQ(0, device_write_try(self->node, "reset", "gpu0"));
	EXPECT_EQ(-ECANCELED, syncobj_result(self->c.fd, done));
}

/* A queue alone is no reason to have power. */
TEST_F(power, autosuspend)
{
	int i;

	EXPECT_GE(device_number(self->node, "power/autosuspend_delay_ms"), 50);
	EXPECT_LE(device_number(self->node, "power/autosuspend_delay_ms"), 100);
	ASSERT_TRUE(sleeps(self));
	for (i = 0; i < 5; i++) {
		fill(self, self->data.va, 0x1000u + (__u32)i);
		ASSERT_TRUE(sleeps(self));
		EXPECT_EQ(0, usage(self));
	}
}

TEST_F(power, on_while_a_job_runs)
{
	__u32 done;

	task_nop(self->tasks.task);
	done = start_hanging(self);
	usleep(500000);
	EXPECT_TRUE(device_is(self->node, "power/runtime_status", "active"));
	EXPECT_GE(usage(self), 0);
	stop_hanging(self, done);
	EXPECT_TRUE(sleeps(self));
	EXPECT_EQ(0, usage(self));
}

/* Every way in which a job does not run leaves no reference behind. */
TEST_F(power, references_of_failures)
{
	struct drm_uma_queue_create impatient = {
		.vm_id = self->c.vm, .engine_class = UMA_ENGINE_GPU, .instances = 1,
		.priority = DRM_UMA_PRIORITY_NORMAL, .timeout_ms = 100,
	};
	struct drm_uma_sync nowhere = sync_out(BAD_HANDLE);
	__u32 banned, closed, late, done;

	task_nop(self->tasks.task);
	EXPECT_EQ(-ENOENT, submit_one_try(self->c.fd, BAD_HANDLE, self->tasks.va, 1, NULL, 0));
	EXPECT_EQ(-ENOENT, submit_one_try(self->c.fd, self->queue, self->tasks.va, 1, &nowhere,
					  1));
	EXPECT_EQ(0, submit_one_try(self->c.fd, self->queue, 0, 0, NULL, 0));

	/* A fault, and who comes after. */
	banned = queue_create(self->c.fd, self->c.vm, 1);
	EXPECT_EQ(-EFAULT, client_run(&self->c, banned, client_va(&self->c, PAGE), 1));
	EXPECT_EQ(-ECANCELED, submit_one_try(self->c.fd, banned, self->tasks.va, 1, NULL, 0));

	/* A timeout, with a job behind it and a queue that is closed. */
	ASSERT_EQ(0, queue_create_try(self->c.fd, &impatient, &late));
	closed = queue_create(self->c.fd, self->c.vm, 1);
	ASSERT_TRUE(emu_knob(self->node, "hang_next", "2"));
	done = client_start(&self->c, late, self->tasks.va, 1);
	EXPECT_EQ(0, submit_one_try(self->c.fd, late, self->tasks.va, 1, NULL, 0));
	EXPECT_EQ(0, submit_one_try(self->c.fd, closed, self->tasks.va, 1, NULL, 0));
	EXPECT_EQ(0, queue_destroy_try(self->c.fd, closed));
	EXPECT_EQ(-ETIME, syncobj_result(self->c.fd, done));

	EXPECT_EQ(0, device_write_try(self->node, "reset", "device"));
	EXPECT_TRUE(sleeps(self));
	EXPECT_EQ(0, usage(self));
}

/* What is unmapped while there is no power must not be found in a TLB later. */
TEST_F(power, page_tables_change_in_the_dark)
{
	int i;

	for (i = 0; i < 10; i++) {
		fill(self, self->data.va, (__u32)i + 1);
		ASSERT_TRUE(sleeps(self));
		vm_unmap(self->c.fd, self->c.vm, self->data.va, PAGE);
		EXPECT_TRUE(device_is(self->node, "power/runtime_status", "suspended"));
		vm_map(self->c.fd, self->c.vm, self->data.handle, i & 1 ? 0 : PAGE,
		       self->data.va, PAGE, 0);
		memset(self->data.map, 0, 2 * PAGE);
		task_fill(self->tasks.task, UMA_DTYPE_F32, self->data.va, WORDS, 77);
		ASSERT_EQ(0, client_run(&self->c, self->queue, self->tasks.va, 1));
		EXPECT_EQ(77, self->data.u32[i & 1 ? 0 : WORDS]);
		EXPECT_EQ(0, self->data.u32[i & 1 ? WORDS : 0]);
		vm_unmap(self->c.fd, self->c.vm, self->data.va, PAGE);
		vm_map(self->c.fd, self->c.vm, self->data.handle, 0, self->data.va, PAGE,
		       0);
	}
}

/* An address space goes while there is no power. */
TEST_F(power, address_space_goes_in_the_dark)
{
	struct client other;
	struct buf tasks;
	int i;

	for (i = 0; i < 10; i++) {
		client_open_named(&other, self->node);
		client_buf(&other, &tasks, PAGE);
		task_nop(tasks.task);
		EXPECT_EQ(0, client_run(&other, queue_create(other.fd, other.vm, 1), tasks.va, 1));
		ASSERT_TRUE(sleeps(self));
		client_close(&other);
		fill(self, self->data.va, (__u32)i + 100);
	}
}

static void *submit_many(void *arg)
{
	struct power_fixture *self = arg;
	struct client c;
	struct buf tasks, data;
	__u32 queue, i;

	client_open_named(&c, self->node);
	client_buf(&c, &tasks, PAGE);
	client_buf(&c, &data, PAGE);
	queue = queue_create(c.fd, c.vm, 1);
	for (i = 1; i <= 200; i++) {
		task_fill(tasks.task, UMA_DTYPE_F32, data.va, WORDS, i);
		EXPECT_EQ(0, client_run(&c, queue, tasks.va, 1));
		EXPECT_EQ(i, data.u32[0]);
		EXPECT_EQ(i, data.u32[WORDS - 1]);
		if (!(i % 3))
			usleep(2000);
	}
	client_close(&c);
	return NULL;
}

/* Without a delay power goes off after every job, and comes back for the next. */
TEST_F(power, no_delay)
{
	pthread_t threads[3];
	unsigned int i;

	EXPECT_EQ(0, device_write_try(self->node, "power/autosuspend_delay_ms", "0"));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, submit_many, self));
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	EXPECT_TRUE(sleeps(self));
	EXPECT_EQ(0, usage(self));
	EXPECT_EQ(0, device_number(self->node, "reset_count"));
}

TEST_F(power, always_on)
{
	EXPECT_EQ(0, device_write_try(self->node, "power/control", "on"));
	EXPECT_TRUE(device_becomes(self->node, "power/runtime_status", "active"));
	fill(self, self->data.va, 1);
	usleep(300000);
	EXPECT_TRUE(device_is(self->node, "power/runtime_status", "active"));
	EXPECT_EQ(0, device_write_try(self->node, "power/control", "auto"));
	EXPECT_TRUE(sleeps(self));
	fill(self, self->data.va, 2);
}

TEST_F(power, reset_in_the_dark)
{
	ASSERT_TRUE(sleeps(self));
	EXPECT_EQ(0, device_write_try(self->node, "reset", "gpu0"));
	fill(self, self->data.va, 1);
	ASSERT_TRUE(sleeps(self));
	EXPECT_EQ(0, device_write_try(self->node, "reset", "device"));
	fill(self, self->data.va, 2);
	EXPECT_EQ(2, device_number(self->node, "reset_count"));
}

/* The device says that it is broken while nobody uses it. */
TEST_F(power, error_in_the_dark)
{
	ASSERT_TRUE(sleeps(self));
	ASSERT_TRUE(emu_knob(self->node, "dev_error", "1"));
	EXPECT_TRUE(device_exceeds(self->node, "reset_count", 0));
	EXPECT_TRUE(device_becomes(self->node, "power/runtime_status", "suspended"));
	fill(self, self->data.va, 3);
	EXPECT_TRUE(sleeps(self));
	EXPECT_EQ(0, usage(self));
}

/* --- clock -------------------------------------------------------------------------------- */

static bool devfreq(struct power_fixture *self, const char *file, char *name, size_t size)
{
	char path[300];

	snprintf(name, size, "devfreq/%.32s/%s", self->in.device, file);
	device_path(self->node, name, path, sizeof(path));
	return !access(path, R_OK);
}

TEST_F(power, modes)
{
	char min[96], max[96], cur[96], text[32];
	long long lowest, highest;

	if (!devfreq(self, "cur_freq", cur, sizeof(cur)))
		SKIP("this kernel has no devfreq, or no governor");
	devfreq(self, "min_freq", min, sizeof(min));
	devfreq(self, "max_freq", max, sizeof(max));
	lowest = device_number(self->node, min);
	highest = device_number(self->node, max);
	EXPECT_LT(0, lowest);
	EXPECT_LT(lowest, highest);

	EXPECT_EQ(0, device_write_try(self->node, "power_mode", "low_power"));
	snprintf(text, sizeof(text), "%lld", lowest);
	EXPECT_TRUE(device_becomes(self->node, cur, text));
	EXPECT_EQ(lowest, device_number(self->node, max));
	fill(self, self->data.va, 1);

	EXPECT_EQ(0, device_write_try(self->node, "power_mode", "high_performance"));
	snprintf(text, sizeof(text), "%lld", highest);
	EXPECT_TRUE(device_becomes(self->node, cur, text));
	EXPECT_EQ(highest, device_number(self->node, min));
	fill(self, self->data.va, 2);
	/* What a device forgets when it is reset is set again. */
	EXPECT_EQ(0, device_write_try(self->node, "power_mode", "low_power"));
	EXPECT_EQ(0, device_write_try(self->node, "reset", "device"));
	snprintf(text, sizeof(text), "%lld", lowest);
	EXPECT_TRUE(device_is(self->node, cur, text));

	EXPECT_EQ(0, device_write_try(self->node, "power_mode", "balanced"));
	EXPECT_EQ(lowest, device_number(self->node, min));
	EXPECT_EQ(highest, device_number(self->node, max));
}

/* The modes reach the hardware. */
TEST_F(power, modes_in_hardware)
{
	char freq[96];
	long long high, low;
	__u32 done;

	hwmon_file(self->node, "freq1_input", freq, sizeof(freq));
	EXPECT_EQ(0, device_write_try(self->node, "power_mode", "high_performance"));
	task_nop(self->tasks.task);
	done = start_hanging(self);
	high = device_number(self->node, freq);
	EXPECT_EQ(0, device_write_try(self->node, "power_mode", "low_power"));
	low = device_number(self->node, freq);
	EXPECT_LT(0, low);
	EXPECT_LT(low, high);
	stop_hanging(self, done);
}

/* The governor lets an idle device down, and a busy one up. */
TEST_F(power, clock_follows_load)
{
	char cur[96], max[96], text[32];
	__u32 done;

	if (!devfreq(self, "cur_freq", cur, sizeof(cur)))
		SKIP("this kernel has no devfreq, or no governor");
	devfreq(self, "max_freq", max, sizeof(max));
	snprintf(text, sizeof(text), "%lld", device_number(self->node, max));
	EXPECT_EQ(0, device_write_try(self->node, "power/control", "on"));
	/* Idle with power. */
	while (device_is(self->node, cur, text))
		usleep(10000);
	task_nop(self->tasks.task);
	done = start_hanging(self);
	EXPECT_TRUE(device_becomes(self->node, cur, text));
	stop_hanging(self, done);
	EXPECT_EQ(0, device_write_try(self->node, "power/control", "auto"));
}

/* --- throttling --------------------------------------------------------------------------- */

TEST_F(power, throttle)
{
	char path[300], freq[96], buf[16];
	struct pollfd p = { .events = POLLPRI };
	long long cool, hot;
	__u32 done;

	EXPECT_EQ(0, device_write_try(self->node, "power_mode", "high_performance"));
	hwmon_file(self->node, "freq1_input", freq, sizeof(freq));
	task_nop(self->tasks.task);
	done = start_hanging(self);
	cool = device_number(self->node, freq);

	device_path(self->node, "throttled", path, sizeof(path));
	p.fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_GE(p.fd, 0);
	ASSERT_GT(read(p.fd, buf, sizeof(buf)), 0);
	EXPECT_EQ('0', buf[0]);
	EXPECT_EQ(0, device_number(self->node, "throttle_count"));

	ASSERT_TRUE(emu_knob(self->node, "throttle", "1"));
	EXPECT_EQ(1, poll(&p, 1, -1));
	EXPECT_TRUE(p.revents & POLLPRI);
	EXPECT_TRUE(device_is(self->node, "throttled", "1"));
	EXPECT_EQ(1, device_number(self->node, "throttle_count"));
	hot = device_number(self->node, freq);
	EXPECT_LT(0, hot);
	EXPECT_LT(hot, cool);

	ASSERT_EQ(0, lseek(p.fd, 0, SEEK_SET));
	ASSERT_GT(read(p.fd, buf, sizeof(buf)), 0);
	ASSERT_TRUE(emu_knob(self->node, "throttle", "0"));
	EXPECT_EQ(1, poll(&p, 1, -1));
	EXPECT_TRUE(device_is(self->node, "throttled", "0"));
	EXPECT_EQ(1, device_number(self->node, "throttle_count"));
	EXPECT_EQ(cool, device_number(self->node, freq));
	close(p.fd);
	stop_hanging(self, done);
}

/* A chip may cool down, or heat up, while nothing has power, and while it is reset. */
TEST_F(power, throttle_in_the_dark)
{
	int i;

	for (i = 1; i <= 3; i++) {
		ASSERT_TRUE(sleeps(self));
		ASSERT_TRUE(emu_knob(self->node, "throttle", "1"));
		EXPECT_TRUE(device_becomes(self->node, "throttled", "1"));
		EXPECT_EQ(i, device_number(self->node, "throttle_count"));
		fill(self, self->data.va, 5);
		EXPECT_EQ(0, device_write_try(self->node, "reset", "device"));
		EXPECT_TRUE(device_is(self->node, "throttled", "1"));
		ASSERT_TRUE(emu_knob(self->node, "throttle", "0"));
		EXPECT_TRUE(device_becomes(self->node, "throttled", "0"));
	}
}

/* --- leaving ------------------------------------------------------------------------------ */

TEST_F(power, unbind_in_the_dark)
{
	int i;

	client_close(&self->c);
	for (i = 0; i < 5; i++) {
		ASSERT_TRUE(sleeps(self));
		ASSERT_TRUE(write_text("/sys/bus/platform/drivers/uma/unbind", self->in.device));
		ASSERT_TRUE(write_text("/sys/bus/platform/drivers/uma/bind", self->in.device));
		ASSERT_TRUE(node_of(self->in.device, self->in.node, sizeof(self->in.node)));
		client_open_named(&self->c, self->in.node);
		client_buf(&self->c, &self->tasks, PAGE);
		task_nop(self->tasks.task);
		EXPECT_EQ(0, client_run(&self->c, queue_create(self->c.fd, self->c.vm, 1),
					self->tasks.va, 1));
		client_close(&self->c);
	}
	client_open_named(&self->c, self->in.node);
}

TEST_F(power, unplug_in_the_dark)
{
	char node[32];

	fill(self, self->data.va, 9);
	ASSERT_TRUE(sleeps(self));
	ASSERT_TRUE(emu_knob(self->node, "unplug", "1"));
	while (node_of(self->in.device, node, sizeof(node)))
		usleep(10000);
	EXPECT_EQ(-ENODEV, submit_one_try(self->c.fd, self->queue, self->tasks.va, 1, NULL, 0));
}

static void *submit_until_gone(void *arg)
{
	struct power_fixture *self = arg;
	int ret = 0;

	/* With pauses, so that many of them have to bring the device up. */
	while (!ret) {
		ret = submit_one_try(self->c.fd, self->queue, self->tasks.va, 1, NULL, 0);
		if (ret == -EBUSY || ret == -ECANCELED)
			ret = 0;
		usleep(500);
	}
	EXPECT_EQ(-ENODEV, ret);
	return NULL;
}

TEST_F_TIMEOUT(power, unplug_while_it_comes_up, 300)
{
	pthread_t thread;
	char node[32];
	int i;

	for (i = 0; i < 10; i++) {
		if (i) {
			instance_start(&self->in, "power-again", "m1");
			client_open_named(&self->c, self->in.node);
			client_buf(&self->c, &self->tasks, PAGE);
			self->queue = queue_create(self->c.fd, self->c.vm, 1);
		}
		task_nop(self->tasks.task);
		EXPECT_EQ(0, device_write_try(self->in.node, "power/autosuspend_delay_ms", "0"));
		ASSERT_EQ(0, pthread_create(&thread, NULL, submit_until_gone, self));
		usleep(20000 + 3000 * (unsigned int)i);
		ASSERT_TRUE(emu_knob(self->in.node, "unplug", "1"));
		pthread_join(thread, NULL);
		while (node_of(self->in.device, node, sizeof(node)))
			usleep(10000);
		client_close(&self->c);
		instance_drop(&self->in);
	}
	instance_start(&self->in, "power-last", "m1");
	client_open_named(&self->c, self->in.node);
}

HARNESS_MAIN
