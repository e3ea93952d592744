// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Engine time in fdinfo: whose it is, and that it grows while a job runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task.h"
#include "watch.h"

#define TIMEOUT_MS	1500

static const char *const class_names[UMA_ENGINE_CLASS_COUNT] = {
	[UMA_ENGINE_MATRIX] = "matrix", [UMA_ENGINE_GPU] = "gpu", [UMA_ENGINE_NEURAL] = "neural",
};

FIXTURE(drm_fdinfo) {
	struct client c;
	struct client other;
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int count;
	struct buf tasks;
};

FIXTURE_SETUP(drm_fdinfo)
{
	client_open(&self->c);
	client_open(&self->other);
	self->count = query_engines(self->c.fd, self->engines);
	client_buf(&self->c, &self->tasks, PAGE);
	task_nop(self->tasks.task);
}

FIXTURE_TEARDOWN(drm_fdinfo)
{
	client_close(&self->other);
	client_close(&self->c);
}

/* The value of a key for a class of engines, -1 if there is no such key. */
static long long value_of(int fd, const char *what, unsigned int engine_class, const char *unit)
{
	char path[64], key[64], text[8192], *line;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	snprintf(key, sizeof(key), "drm-%s-%s:", what, class_names[engine_class]);
	ASSERT_TRUE(read_text(path, text, sizeof(text)));
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char *end;
		long long value;

		if (strncmp(line, key, strlen(key)))
			continue;
		value = strtoll(line + strlen(key), &end, 10);
		EXPECT_TRUE(!strcmp(end, unit));
		return value;
	}
	return -1;
}

static long long engine_ns(int fd, unsigned int engine_class)
{
	return value_of(fd, "engine", engine_class, " ns");
}

static __u32 start_hang(struct drm_fdinfo_fixture *self, unsigned int engine)
{
	char value[16];
	__u32 queue;

	snprintf(value, sizeof(value), "%#x", 1u << engine);
	if (!emu_knob(dev_name(), "hang_next", value))
		SKIP("cannot make jobs hang");
	expect_resets(1);
	expect_log();
	queue = queue_create_timeout(self->c.fd, self->c.vm, self->engines[engine].engine_class,
				     self->engines[engine].instance, TIMEOUT_MS);
	return client_start(&self->c, queue, self->tasks.va, 1);
}

TEST_F(drm_fdinfo, utilization_idle)
{
	unsigned int i;

	queue_create(self->c.fd, self->c.vm, 0);
	usleep(50000);
	for (i = 0; i < self->count; i++)
		EXPECT_EQ(0, engine_ns(self->c.fd, self->engines[i].engine_class));
}

/* A job that runs counts while it runs, and one that fails has used its time all the same. */
TEST_F(drm_fdinfo, utilization_full_load)
{
	unsigned int class = self->engines[0].engine_class;
	__u32 done = start_hang(self, 0);
	long long last = 0, now;
	unsigned int grown = 0;

	while (!syncobj_done(self->c.fd, done)) {
		now = engine_ns(self->c.fd, class);
		EXPECT_GE(now, last);
		grown += now > last;
		last = now;
		usleep(10000);
	}
	EXPECT_EQ(-ETIME, syncobj_result(self->c.fd, done));
	/* Seen more than once before it was over. */
	EXPECT_GE(grown, 2);
	EXPECT_GE(engine_ns(self->c.fd, class), last);
	EXPECT_GE(engine_ns(self->c.fd, class), TIMEOUT_MS * 1000000ll);
	last = engine_ns(self->c.fd, class);
	usleep(20000);
	EXPECT_EQ(last, engine_ns(self->c.fd, class));
}

/* Neither other clients nor other classes. */
TEST_F(drm_fdinfo, utilization_isolation)
{
	unsigned int class = self->engines[0].engine_class, i;
	__u32 done = start_hang(self, 0);

	while (!engine_ns(self->c.fd, class))
		usleep(1000);
	EXPECT_FALSE(syncobj_done(self->c.fd, done));
	for (i = 0; i < self->count; i++) {
		EXPECT_EQ(0, engine_ns(self->other.fd, self->engines[i].engine_class));
		if (self->engines[i].engine_class != class)
			EXPECT_EQ(0, engine_ns(self->c.fd, self->engines[i].engine_class));
	}
	EXPECT_EQ(-ETIME, syncobj_result(self->c.fd, done));
	EXPECT_EQ(0, engine_ns(self->other.fd, class));
}

TEST_F(drm_fdinfo, utilization_destroy_queue)
{
	unsigned int class = self->engines[0].engine_class;
	__u32 queue = queue_create(self->c.fd, self->c.vm, 0);
	long long ns;

	ASSERT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
	ns = engine_ns(self->c.fd, class);
	EXPECT_GT(ns, 0);
	ASSERT_EQ(0, queue_destroy_try(self->c.fd, queue));
	EXPECT_EQ(ns, engine_ns(self->c.fd, class));
	ASSERT_EQ(0, client_run(&self->c, queue_create(self->c.fd, self->c.vm, 0), self->tasks.va,
				1));
	EXPECT_GT(engine_ns(self->c.fd, class), ns);
}

/* As many as the time at the highest clock can have, and some. */
TEST_F(drm_fdinfo, cycles)
{
	unsigned int class = self->engines[0].engine_class;
	__u32 queue = queue_create(self->c.fd, self->c.vm, 0);
	long long mhz = value_of(self->c.fd, "maxfreq", class, " MHz"), cycles;

	EXPECT_GE(mhz, self->engines[0].clock_max_mhz);
	EXPECT_EQ(0, value_of(self->c.fd, "cycles", class, ""));
	ASSERT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
	cycles = value_of(self->c.fd, "cycles", class, "");
	EXPECT_GT(cycles, 0);
	EXPECT_LE(cycles, engine_ns(self->c.fd, class) * mhz / 1000);
	EXPECT_EQ(0, value_of(self->other.fd, "cycles", class, ""));
}

TEST_F(drm_fdinfo, never_goes_back)
{
	unsigned int class = self->engines[0].engine_class;
	__u32 queue = queue_create(self->c.fd, self->c.vm, 0), done = 0;
	long long last = 0, now;
	int i;

	for (i = 0; i < 100; i++)
		done = client_start(&self->c, queue, self->tasks.va, 1);
	do {
		now = engine_ns(self->c.fd, class);
		EXPECT_GE(now, last);
		last = now;
	} while (!syncobj_done(self->c.fd, done));
	EXPECT_GE(engine_ns(self->c.fd, class), last);
}

HARNESS_MAIN
