// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The sensors of a device.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "files.h"
#include "instance.h"
#include "task.h"
#include "watch.h"

FIXTURE(hwmon) {
	struct instance in;
	struct client c;
	struct buf tasks;
	const char *node;
	__u32 done;
};

FIXTURE_SETUP(hwmon)
{
	instance_start(&self->in, "hwmon", "m2");
	client_open_named(&self->c, self->in.node);
	client_buf(&self->c, &self->tasks, PAGE);
	task_nop(self->tasks.task);
	self->node = self->in.node;
}

FIXTURE_TEARDOWN(hwmon)
{
	client_close(&self->c);
	instance_drop(&self->in);
}

static const char *const inputs[] = {
	"power1_input", "energy1_input", "temp1_input", "temp1_max", "temp1_max_alarm",
	"freq1_input",
};

static const char *const labels[] = {
	"power1_label", "energy1_label", "temp1_label", "freq1_label",
};

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

static long long sensor(struct hwmon_fixture *self, const char *file)
{
	char name[96];

	hwmon_file(self->node, file, name, sizeof(name));
	return device_number(self->node, name);
}

/* A job that does not end until stop(). */
static void start(struct hwmon_fixture *self)
{
	__u32 queue = queue_create(self->c.fd, self->c.vm, 0);

	ASSERT_TRUE(emu_knob(self->node, "hang_next", "1"));
	self->done = client_start(&self->c, queue, self->tasks.va, 1);
	ASSERT_TRUE(hang_begins(self->in.node));
}

static void stop(struct hwmon_fixture *self)
{
	EXPECT_EQ(0, device_write_try(self->node, "reset", "matrix0"));
	EXPECT_EQ(-ECANCELED, syncobj_result(self->c.fd, self->done));
}

TEST_F(hwmon, files)
{
	struct stat st;
	char name[96], path[300], buf[64];
	unsigned int i;

	hwmon_file(self->node, "name", name, sizeof(name));
	EXPECT_TRUE(device_is(self->node, name, "uma"));
	for (i = 0; i < COUNT(inputs); i++) {
		hwmon_file(self->node, inputs[i], name, sizeof(name));
		device_path(self->node, name, path, sizeof(path));
		ASSERT_EQ(0, stat(path, &st));
		EXPECT_EQ(strcmp(inputs[i], "energy1_input") ? 0444 : 0400, st.st_mode & 0777);
		EXPECT_GE(device_number(self->node, name), 0);
		EXPECT_EQ(-EACCES, device_write_try(self->node, name, "1"));
	}
	/* Nothing here is measured, and everything says so. */
	for (i = 0; i < COUNT(labels); i++) {
		hwmon_file(self->node, labels[i], name, sizeof(name));
		EXPECT_GT(device_read_try(self->node, name, buf, sizeof(buf)), 0);
		EXPECT_TRUE(strstr(buf, "modelled"));
	}
}

/* The energy is not for all: it tells how long jobs of others are. */
TEST_F(hwmon, unprivileged)
{
	pid_t child = harness_fork();
	char name[96], buf[64];
	unsigned int i;

	if (!child) {
		become_tester();
		for (i = 0; i < COUNT(inputs); i++) {
			hwmon_file(self->node, inputs[i], name, sizeof(name));
			if (strcmp(inputs[i], "energy1_input"))
				EXPECT_GE(device_number(self->node, name), 0);
			else
				EXPECT_EQ(-EACCES,
					  device_read_try(self->node, name, buf, sizeof(buf)));
		}
		_exit(0);
	}
	harness_join(child);
}

TEST_F(hwmon, values)
{
	long long energy = sensor(self, "energy1_input"), max = sensor(self, "temp1_max");

	EXPECT_GT(max, 50000);
	EXPECT_LT(max, 150000);
	EXPECT_GT(sensor(self, "temp1_input"), 0);
	EXPECT_LT(sensor(self, "temp1_input"), max);
	EXPECT_EQ(0, sensor(self, "temp1_max_alarm"));
	start(self);
	/* The model looks at what the engines do from time to time. */
	while (sensor(self, "power1_input") <= 0)
		usleep(10000);
	EXPECT_GT(sensor(self, "freq1_input"), 1000000);
	while (sensor(self, "energy1_input") <= energy)
		usleep(10000);
	stop(self);
}

/* A reset of the device clears its register, and not what was used. */
TEST_F(hwmon, energy_survives_resets)
{
	long long energy;
	int i;

	start(self);
	while (sensor(self, "energy1_input") < 1000)
		usleep(10000);
	stop(self);
	for (i = 0; i < 3; i++) {
		energy = sensor(self, "energy1_input");
		EXPECT_GE(energy, 1000);
		EXPECT_EQ(0, device_write_try(self->node, "reset", "device"));
		EXPECT_GE(sensor(self, "energy1_input"), energy);
	}
}

/* Looking at a device that sleeps does not wake it. */
TEST_F(hwmon, reading_wakes_nobody)
{
	unsigned int i, j;

	EXPECT_EQ(0, client_run(&self->c, queue_create(self->c.fd, self->c.vm, 0),
				self->tasks.va, 1));
	ASSERT_TRUE(device_becomes(self->node, "power/runtime_status", "suspended"));
	for (j = 0; j < 20; j++) {
		for (i = 0; i < COUNT(inputs); i++)
			sensor(self, inputs[i]);
		EXPECT_TRUE(device_is(self->node, "power/runtime_status", "suspended"));
	}
	EXPECT_EQ(0, sensor(self, "freq1_input"));
}

TEST_F(hwmon, alarm)
{
	ASSERT_TRUE(emu_knob(self->node, "throttle", "1"));
	ASSERT_TRUE(device_becomes(self->node, "throttled", "1"));
	EXPECT_EQ(1, sensor(self, "temp1_max_alarm"));
	ASSERT_TRUE(emu_knob(self->node, "throttle", "0"));
	ASSERT_TRUE(device_becomes(self->node, "throttled", "0"));
	EXPECT_EQ(0, sensor(self, "temp1_max_alarm"));
}

/* Files that are open when the device goes. */
TEST_F(hwmon, device_goes)
{
	char name[96], path[300], buf[64];
	int fd;

	hwmon_file(self->node, "power1_input", name, sizeof(name));
	device_path(self->node, name, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	instance_set(&self->in, "enabled", "0");
	EXPECT_EQ(-1, read(fd, buf, sizeof(buf)));
	EXPECT_EQ(ENODEV, errno);
	close(fd);
}

HARNESS_MAIN
