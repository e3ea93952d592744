// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The files of a device in sysfs: each is there, says something sensible, takes
 * what it should and nothing else, from those who may.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "files.h"
#include "instance.h"
#include "task.h"
#include "watch.h"

FIXTURE(sysfs) {
	struct instance in;
	struct client c;
	struct buf tasks;
	const char *node;
};

FIXTURE_SETUP(sysfs)
{
	instance_start(&self->in, "sysfs", "m1");
	client_open_named(&self->c, self->in.node);
	client_buf(&self->c, &self->tasks, PAGE);
	task_nop(self->tasks.task);
	self->node = self->in.node;
}

FIXTURE_TEARDOWN(sysfs)
{
	client_close(&self->c);
	instance_drop(&self->in);
}

static const struct {
	const char *name;
	mode_t mode;
} device_files[] = {
	{ "job_timeout_ms", 0644 },
	{ "preempt_timeout_ms", 0644 },
	{ "time_slice_ms", 0644 },
	{ "power_mode", 0644 },
	{ "npu_busy_time_us", 0444 },
	{ "busy_percent", 0444 },
	{ "memory_used_bytes", 0444 },
	{ "throttled", 0444 },
	{ "throttle_count", 0444 },
	{ "reset", 0200 },
	{ "reset_count", 0444 },
	{ "fault_count", 0444 },
	{ "timeout_count", 0444 },
	{ "missed_count", 0444 },
	{ "wedged", 0444 },
};

static const char *const engine_files[] = {
	"busy_time_us", "jobs", "faults", "timeouts", "preemptions", "resets", "clock_max_mhz",
};

static const char *const class_names[] = { "matrix", "gpu", "neural" };

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

static mode_t mode_of(const char *node, const char *file)
{
	struct stat st;
	char path[300];

	device_path(node, file, path, sizeof(path));
	if (stat(path, &st)) {
		harness_fail(file, 0, "is not there");
		return 0;
	}
	return st.st_mode & 0777;
}

TEST_F(sysfs, files)
{
	unsigned int i;
	char buf[64];

	for (i = 0; i < COUNT(device_files); i++) {
		EXPECT_EQ(device_files[i].mode, mode_of(self->node, device_files[i].name));
		if (device_files[i].mode & 0400)
			EXPECT_GT(device_read_try(self->node, device_files[i].name, buf,
						  sizeof(buf)), 0);
		if (device_files[i].mode == 0444)
			EXPECT_GE(device_number(self->node, device_files[i].name), 0);
	}
}

TEST_F(sysfs, engine_files)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int n = query_engines(self->c.fd, engines), i, j;
	char name[64];

	for (i = 0; i < n; i++) {
		for (j = 0; j < COUNT(engine_files); j++) {
			snprintf(name, sizeof(name), "engine-%s%u/%s",
				 class_names[engines[i].engine_class], engines[i].instance,
				 engine_files[j]);
			EXPECT_EQ(0444, mode_of(self->node, name));
			EXPECT_GE(device_number(self->node, name), 0);
		}
		snprintf(name, sizeof(name), "engine-%s%u/clock_max_mhz",
			 class_names[engines[i].engine_class], engines[i].instance);
		EXPECT_EQ(engines[i].clock_max_mhz, device_number(self->node, name));
	}
}

/* Who sees the node appear finds the files: they come first, and are read at once. */
TEST(files_before_node)
{
	struct instance in;
	int i;

	for (i = 0; i < 5; i++) {
		instance_start(&in, "sysfs-first", "m1");
		EXPECT_TRUE(device_is(in.node, "power_mode", "balanced"));
		EXPECT_EQ(0, device_number(in.node, "engine-gpu0/jobs"));
		instance_drop(&in);
	}
}

TEST_F(sysfs, job_timeout)
{
	static const char *const bad[] = {
		"0", "-1", "600001", "4294967296", "junk", "1 2", "", "0x",
	};
	char buf[32];
	unsigned int i;

	EXPECT_EQ(0, device_write_try(self->node, "job_timeout_ms", "1"));
	EXPECT_EQ(1, device_number(self->node, "job_timeout_ms"));
	EXPECT_EQ(0, device_write_try(self->node, "job_timeout_ms", "600000\n"));
	EXPECT_EQ(600000, device_number(self->node, "job_timeout_ms"));
	for (i = 0; i < COUNT(bad); i++) {
		/* Nothing written is nothing said. */
		if (!bad[i][0])
			continue;
		EXPECT_LT(device_write_try(self->node, "job_timeout_ms", bad[i]), 0);
	}
	EXPECT_GT(device_read_try(self->node, "job_timeout_ms", buf, sizeof(buf)), 0);
	EXPECT_EQ(0, strcmp(buf, "600000"));
}

TEST_F(sysfs, power_mode)
{
	static const char *const modes[] = { "high_performance", "low_power", "balanced" };
	static const char *const bad[] = {
		"high", "balanced2", "BALANCED", "low_power high_performance", "0", "\n", " ",
	};
	unsigned int i;

	for (i = 0; i < COUNT(modes); i++) {
		EXPECT_EQ(0, device_write_try(self->node, "power_mode", modes[i]));
		EXPECT_TRUE(device_is(self->node, "power_mode", modes[i]));
		EXPECT_EQ(0, client_run(&self->c, queue_create(self->c.fd, self->c.vm, 0),
					self->tasks.va, 1));
	}
	for (i = 0; i < COUNT(bad); i++)
		EXPECT_EQ(-EINVAL, device_write_try(self->node, "power_mode", bad[i]));
	EXPECT_TRUE(device_is(self->node, "power_mode", "balanced"));
}

/* Reading is for all, writing is not; a reset is nobody's to read. */
static void as_tester(struct sysfs_fixture *self)
{
	unsigned int i;
	char buf[64];
	int ret;

	become_tester();
	for (i = 0; i < COUNT(device_files); i++) {
		ret = device_read_try(self->node, device_files[i].name, buf, sizeof(buf));
		if (device_files[i].mode & 0004)
			EXPECT_GT(ret, 0);
		else
			EXPECT_EQ(-EACCES, ret);
		EXPECT_EQ(-EACCES, device_write_try(self->node, device_files[i].name, "1"));
	}
	EXPECT_EQ(-EACCES, device_write_try(self->node, "reset", "device"));
	EXPECT_EQ(-EACCES, device_write_try(self->node, "power_mode", "balanced"));
	EXPECT_EQ(0, device_number(self->node, "reset_count"));
	_exit(0);
}

TEST_F(sysfs, unprivileged)
{
	pid_t child = harness_fork();

	if (!child)
		as_tester(self);
	harness_join(child);
}

TEST_F(sysfs, read_only_files)
{
	unsigned int i;

	for (i = 0; i < COUNT(device_files); i++)
		if (!(device_files[i].mode & 0200))
			EXPECT_EQ(-EACCES, device_write_try(self->node, device_files[i].name,
							    "0"));
}

TEST_F(sysfs, jobs_are_counted)
{
	__u32 queue = queue_create(self->c.fd, self->c.vm, 1);
	long long before = device_number(self->node, "npu_busy_time_us");
	int i;

	for (i = 0; i < 20; i++)
		EXPECT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
	EXPECT_EQ(20, device_number(self->node, "engine-gpu0/jobs"));
	EXPECT_EQ(0, device_number(self->node, "engine-matrix0/jobs"));
	EXPECT_GT(device_number(self->node, "npu_busy_time_us"), before);
	EXPECT_EQ(0, device_number(self->node, "engine-matrix0/busy_time_us"));
}

TEST_F(sysfs, memory)
{
	long long before = device_number(self->node, "memory_used_bytes");
	struct buf b;

	EXPECT_GE(before, PAGE);
	client_buf(&self->c, &b, 1 << 20);
	EXPECT_GE(device_number(self->node, "memory_used_bytes"), before + (1 << 20));
	client_free(&self->c, &b);
	EXPECT_EQ(before, device_number(self->node, "memory_used_bytes"));
}

/* What a process gives, a job writes to first, another device wants, and what is purged. */
TEST_F(sysfs, memory_comes_and_goes)
{
	const long long before = device_number(self->node, "memory_used_bytes");
	struct drm_uma_bo_madvise advice = { .advice = DRM_UMA_MADV_DONTNEED };
	struct drm_uma_bo_info info;
	__u64 offset;
	__u32 handle;
	int vgem, fd;
	void *p;

	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(p != MAP_FAILED);
	ASSERT_EQ(0, bo_import_user_try(self->c.fd, p, PAGE, 0, &handle));
	EXPECT_EQ(before + PAGE, device_number(self->node, "memory_used_bytes"));
	gem_close(self->c.fd, handle);
	EXPECT_EQ(before, device_number(self->node, "memory_used_bytes"));

	handle = bo_create(self->c.fd, 4 * PAGE, 0);
	EXPECT_EQ(before, device_number(self->node, "memory_used_bytes"));
	client_bind_handle(&self->c, handle, 4 * PAGE, 0);
	EXPECT_EQ(before + 4 * PAGE, device_number(self->node, "memory_used_bytes"));
	advice.handle = handle;
	ASSERT_EQ(0, do_ioctl(self->c.fd, DRM_IOCTL_UMA_BO_MADVISE, &advice));
	do {
		if (!write_text("/proc/sys/vm/drop_caches", "2"))
			SKIP("no drop_caches");
		bo_info(self->c.fd, handle, &info);
	} while (!(info.flags & DRM_UMA_BO_INFO_PURGED));
	EXPECT_EQ(before, device_number(self->node, "memory_used_bytes"));

	vgem = vgem_open();
	handle = bo_create(self->c.fd, 2 * PAGE, 0);
	fd = prime_export(self->c.fd, handle);
	prime_import(vgem, fd);
	EXPECT_EQ(before + 2 * PAGE, device_number(self->node, "memory_used_bytes"));
	close(fd);
	close(vgem);
	/* It may be swapped out from here on, */
	EXPECT_EQ(before, device_number(self->node, "memory_used_bytes"));
	/* until it is used again. */
	ASSERT_EQ(0, bo_offset_try(self->c.fd, handle, &offset));
	EXPECT_EQ(before + 2 * PAGE, device_number(self->node, "memory_used_bytes"));
	gem_close(self->c.fd, handle);
	EXPECT_EQ(before, device_number(self->node, "memory_used_bytes"));
	vgem = vgem_open();
	fd = prime_export(vgem, vgem_bo(vgem, PAGE));
	handle = prime_import(self->c.fd, fd);
	EXPECT_EQ(before + PAGE, device_number(self->node, "memory_used_bytes"));
	gem_close(self->c.fd, handle);
	EXPECT_EQ(before, device_number(self->node, "memory_used_bytes"));
	close(fd);
	close(vgem);
}

/* However many there are. */
TEST_F(sysfs, memory_of_many)
{
	const long long before = device_number(self->node, "memory_used_bytes");
	const int many = 600;
	int fd = dev_open_named(self->node), i;

	for (i = 0; i < many; i++)
		ASSERT_EQ(0, munmap(bo_map(fd, bo_create(fd, PAGE, 0), PAGE), PAGE));
	EXPECT_EQ(before + many * (long long)PAGE, device_number(self->node, "memory_used_bytes"));
	close(fd);
	EXPECT_EQ(before, device_number(self->node, "memory_used_bytes"));
}

static __u32 start_hanging(struct sysfs_fixture *self, unsigned int engine, __u32 *queue)
{
	char value[16];
	__u32 done;

	snprintf(value, sizeof(value), "%#x", 1u << engine);
	ASSERT_TRUE(emu_knob(self->node, "hang_next", value));
	*queue = queue_create(self->c.fd, self->c.vm, engine);
	done = client_start(&self->c, *queue, self->tasks.va, 1);
	ASSERT_TRUE(hang_begins(self->in.node));
	return done;
}

/* A job that runs counts while it does. */
TEST_F(sysfs, running_job_is_busy)
{
	long long last = 0, now;
	__u32 queue, done;
	int i;

	done = start_hanging(self, 0, &queue);
	ASSERT_TRUE(device_exceeds(self->node, "engine-matrix0/busy_time_us", 100000));
	for (i = 0; i < 10; i++) {
		now = device_number(self->node, "npu_busy_time_us");
		EXPECT_GT(now, last);
		last = now;
		usleep(10000);
	}
	EXPECT_TRUE(device_exceeds(self->node, "busy_percent", 0));
	EXPECT_EQ(0, device_write_try(self->node, "reset", "matrix0"));
	EXPECT_EQ(-ECANCELED, syncobj_result(self->c.fd, done));
	/* It never goes back, and a device that does nothing says so in the end. */
	EXPECT_GE(device_number(self->node, "npu_busy_time_us"), last);
	EXPECT_TRUE(device_becomes(self->node, "busy_percent", "0"));
}

TEST_F(sysfs, reset_of_an_idle_engine)
{
	__u32 queue = queue_create(self->c.fd, self->c.vm, 0);
	struct drm_uma_queue_state state;

	EXPECT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
	EXPECT_EQ(0, device_write_try(self->node, "reset", "matrix0"));
	EXPECT_EQ(1, device_number(self->node, "reset_count"));
	EXPECT_EQ(1, device_number(self->node, "engine-matrix0/resets"));
	EXPECT_EQ(0, device_number(self->node, "engine-gpu0/resets"));
	EXPECT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
	queue_state(self->c.fd, queue, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_OK, state.status);
	EXPECT_EQ(0, state.flags & DRM_UMA_QUEUE_GUILTY);
}

/* The job on it is cancelled, nobody is to blame, what waits behind it runs. */
TEST_F(sysfs, reset_of_a_busy_engine)
{
	struct drm_uma_queue_state state;
	__u32 queue, done, behind;

	done = start_hanging(self, 0, &queue);
	behind = client_start(&self->c, queue, self->tasks.va, 1);
	EXPECT_EQ(0, device_write_try(self->node, "reset", "matrix0\n"));
	EXPECT_EQ(-ECANCELED, syncobj_result(self->c.fd, done));
	EXPECT_EQ(1, syncobj_result(self->c.fd, behind));
	queue_state(self->c.fd, queue, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_OK, state.status);
	EXPECT_EQ(DRM_UMA_QUEUE_INNOCENT, state.flags);
	EXPECT_EQ(0, device_number(self->node, "timeout_count"));
	EXPECT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
}

TEST_F(sysfs, reset_of_the_device)
{
	struct drm_uma_queue_state state;
	__u32 queue[2], done[2];
	unsigned int i;

	for (i = 0; i < 2; i++)
		done[i] = start_hanging(self, i, &queue[i]);
	EXPECT_EQ(0, device_write_try(self->node, "reset", "device"));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(-ECANCELED, syncobj_result(self->c.fd, done[i]));
		queue_state(self->c.fd, queue[i], &state);
		EXPECT_EQ(DRM_UMA_QUEUE_OK, state.status);
		EXPECT_EQ(DRM_UMA_QUEUE_INNOCENT, state.flags);
		EXPECT_EQ(0, client_run(&self->c, queue[i], self->tasks.va, 1));
	}
	EXPECT_EQ(1, device_number(self->node, "reset_count"));
	EXPECT_EQ(0, device_number(self->node, "wedged"));
}

/* The engine does not come back, so all of the device is reset. */
TEST_F(sysfs, reset_that_fails)
{
	expect_log();
	ASSERT_TRUE(emu_knob(self->node, "fail_reset", "1"));
	EXPECT_EQ(0, device_write_try(self->node, "reset", "gpu0"));
	EXPECT_EQ(0, client_run(&self->c, queue_create(self->c.fd, self->c.vm, 1),
				self->tasks.va, 1));
	EXPECT_EQ(0, device_number(self->node, "wedged"));
	ASSERT_TRUE(emu_knob(self->node, "fail_reset", "1000"));
	EXPECT_EQ(-ENODEV, device_write_try(self->node, "reset", "gpu0"));
	EXPECT_EQ(1, device_number(self->node, "wedged"));
	EXPECT_EQ(-ENODEV, device_write_try(self->node, "reset", "device"));
}

TEST_F(sysfs, reset_of_nothing)
{
	static const char *const bad[] = {
		"gpu", "gpu1", "gpu00", "Device", "devices", "engine-gpu0", "0", "1", "\n", "all",
	};
	unsigned int i;

	for (i = 0; i < COUNT(bad); i++)
		EXPECT_EQ(-EINVAL, device_write_try(self->node, "reset", bad[i]));
	EXPECT_EQ(0, device_number(self->node, "reset_count"));
}

static void read_it(const char *path)
{
	static char buf[1 << 16];

	/* Some files cannot be read, or not by everybody: an answer is enough. */
	file_read_try(path, buf, sizeof(buf));
}

static void feed_it(const char *path)
{
	static const char *const junk[] = {
		"junk", "-1", "99999999999999999999", "\n", "0x", "%n%s%n", "1 2 3 4 5 6 7 8 9",
	};
	static char large[8192];
	struct stat st;
	unsigned int i;

	if (stat(path, &st) || !(st.st_mode & 0222))
		return;
	memset(large, 'A', sizeof(large) - 1);
	for (i = 0; i < COUNT(junk); i++)
		file_write_try(path, junk[i]);
	file_write_try(path, large);
	/* This one takes any name, and no driver has it. */
	if (strstr(path, "/driver_override"))
		file_write_try(path, "\n");
}

static void each_place(struct sysfs_fixture *self, void (*f)(const char *path))
{
	char path[300];

	device_path(self->node, ".", path, sizeof(path));
	EXPECT_GT(each_file(path, f), 40);
	snprintf(path, sizeof(path), "/sys/kernel/debug/uma_emu/%s", self->in.device);
	EXPECT_GT(each_file(path, f), 10);
	snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%s", self->in.device);
	if (access(path, X_OK))
		snprintf(path, sizeof(path), "/sys/kernel/debug/accel/%s", self->node + 5);
	EXPECT_GT(each_file(path, f), 5);
}

/* core_sysfs@read-all-entries, core_debugfs@read-all-entries */
TEST_F(sysfs, read_all_entries)
{
	__u32 queue, done;

	each_place(self, read_it);
	done = start_hanging(self, 0, &queue);
	each_place(self, read_it);
	EXPECT_EQ(0, device_write_try(self->node, "reset", "device"));
	EXPECT_EQ(-ECANCELED, syncobj_result(self->c.fd, done));
}

TEST_F(sysfs, read_all_entries_as_tester)
{
	pid_t child = harness_fork();
	char path[300];

	if (!child) {
		become_tester();
		device_path(self->node, ".", path, sizeof(path));
		EXPECT_GT(each_file(path, read_it), 40);
		_exit(0);
	}
	harness_join(child);
}

TEST_F(sysfs, junk_for_all_entries)
{
	/* Governors that there are not, and the like. */
	expect_log();
	each_place(self, feed_it);
	each_place(self, read_it);
	/* What the emulator took for an order may still be under way. */
	EXPECT_EQ(0, device_write_try(self->node, "reset", "device"));
	EXPECT_EQ(0, client_run(&self->c, queue_create(self->c.fd, self->c.vm, 0),
				self->tasks.va, 1));
	EXPECT_EQ(0, device_number(self->node, "wedged"));
}

HARNESS_MAIN
