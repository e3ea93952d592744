// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Devices that do not let go of memory: whoever else has let go of it, nobody gets it
 * before the device is known to leave it alone.
 *
 * Each test has a device of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "files.h"
#include "instance.h"
#include "task.h"
#include "watch.h"

FIXTURE(lost) {
	struct instance in;
	struct client c;
	struct buf tasks;
};

static void knob(struct lost_fixture *self, const char *name, const char *value)
{
	ASSERT_TRUE(emu_knob(self->in.node, name, value));
}

FIXTURE_SETUP(lost)
{
	instance_make(&self->in, "lost");
	instance_set(&self->in, "profile", "m1");
	instance_set(&self->in, "paranoid", "1");
	/* Two, so that slots are short; and resets that fail shall not take long. */
	instance_set(&self->in, "address_spaces", "2");
	instance_set(&self->in, "reset_ms", "500");
	instance_enable(&self->in);
	client_open_named(&self->c, self->in.node);
	client_buf(&self->c, &self->tasks, PAGE);
	task_nop(self->tasks.task);
	knob(self, "watch_lost", "1");
	expect_log();
}

FIXTURE_TEARDOWN(lost)
{
	client_close(&self->c);
	instance_drop(&self->in);
}

static long long own_counter(struct lost_fixture *self, const char *name)
{
	char path[256];

	ASSERT_TRUE(dev_debugfs(self->in.node, name, path, sizeof(path)));
	return read_number(path);
}

/* A number of the only row of debugfs' table of what is held back, -1 without one. */
static long long held(struct lost_fixture *self, const char *name)
{
	char path[256], head[512], *row, *word, *value, *h, *r;

	if (!dev_debugfs(self->in.node, "held", path, sizeof(path)) ||
	    !read_text(path, head, sizeof(head)))
		return -1;
	row = strchr(head, '\n');
	if (!row)
		return -1;
	*row++ = 0;
	word = strtok_r(head, " ", &h);
	value = strtok_r(row, "\n ", &r);
	while (word && value) {
		if (!strcmp(word, name))
			return strtoll(value, NULL, 10);
		word = strtok_r(NULL, " ", &h);
		value = strtok_r(NULL, "\n ", &r);
	}
	return -1;
}

/* The emulator's knobs are there with and without a driver. */
static void fail(struct lost_fixture *self, const char *what, const char *count)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/kernel/debug/uma_emu/%s/fail_%s", self->in.device, what);
	ASSERT_TRUE(write_text(path, count));
}

static void fail_resets(struct lost_fixture *self, const char *count)
{
	fail(self, "reset", count);
}

static bool bind_driver(struct lost_fixture *self, const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/bus/platform/drivers/uma/%s", what);
	return write_text(path, self->in.device);
}

#define WILD_SIZE	(1u << 20)

struct wild {
	struct client c;
	struct buf tasks;
	struct buf dst;
	void *user;
	__u32 queue;
};

/* A job that writes for long, to a buffer and to user memory by turns. */
static void wild_start(struct lost_fixture *self, struct wild *w, __u32 timeout_ms)
{
	const unsigned int n = 16384;
	unsigned int i;
	__u32 handle;
	__u64 va;

	client_open_named(&w->c, self->in.node);
	client_buf(&w->c, &w->tasks, (__u64)n * UMA_TASK_SIZE);
	client_buf(&w->c, &w->dst, WILD_SIZE);
	w->user = mmap(NULL, WILD_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(w->user != MAP_FAILED);
	memset(w->user, 1, WILD_SIZE);
	ASSERT_EQ(0, bo_import_user_try(w->c.fd, w->user, WILD_SIZE, 0, &handle));
	va = client_bind_handle(&w->c, handle, WILD_SIZE, 0);
	for (i = 0; i < n; i++)
		task_fill(&w->tasks.task[i], UMA_DTYPE_U8, i & 1 ? va : w->dst.va, WILD_SIZE, 0x44);
	w->queue = queue_create_timeout(w->c.fd, w->c.vm, UMA_ENGINE_GPU, 0, timeout_ms);
	client_start(&w->c, w->queue, w->tasks.va, n);
	/* It has begun once it has written to both. */
	while (__atomic_load_n(&w->dst.u8[0], __ATOMIC_RELAXED) != 0x44 ||
	       __atomic_load_n((__u8 *)w->user, __ATOMIC_RELAXED) != 0x44)
		usleep(1000);
}

/* Let go of all that it could reach. */
static void wild_close(struct wild *w)
{
	ASSERT_EQ(0, munmap(w->tasks.map, w->tasks.size));
	ASSERT_EQ(0, munmap(w->dst.map, w->dst.size));
	ASSERT_EQ(0, munmap(w->user, WILD_SIZE));
	client_close(&w->c);
}

/* What the emulator has seen the device reach after it was freed or unmapped. */
static void nothing_freed(struct lost_fixture *self)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/kernel/debug/uma_emu/%s/freed", self->in.device);
	EXPECT_EQ(0, read_number(path));
}

/* Whoever gets memory now owns it alone. */
static void nobody_writes(struct lost_fixture *self)
{
	const size_t size = 128 << 20;
	__u8 *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i, bad = 0;

	ASSERT_TRUE(p != MAP_FAILED);
	memset(p, 0x5a, size);
	sleep(2);
	for (i = 0; i < size; i++)
		bad += p[i] != 0x5a;
	EXPECT_EQ(0, bad);
	ASSERT_EQ(0, munmap(p, size));
	nothing_freed(self);
}

static bool query_lost(int fd)
{
	struct drm_uma_query_device dev;
	__u32 size = sizeof(dev);

	return query_try(fd, DRM_UMA_QUERY_DEVICE, 0, &dev, &size) == -ENODEV;
}

static void lose(struct lost_fixture *self)
{
	int i;

	for (i = 0; i < 6000 && !query_lost(self->c.fd); i++)
		usleep(10000);
	ASSERT_TRUE(query_lost(self->c.fd));
}

/*
 * Lost, and an engine goes on: what it can reach is kept until the device has stopped, whoever let
 * go of it.
 */
TEST_F_TIMEOUT(lost, and_running, 300)
{
	struct wild w;

	EXPECT_EQ(0, held(self, "vms"));
	fail_resets(self, "1000");
	wild_start(self, &w, 200);
	lose(self);
	ASSERT_EQ(0, queue_destroy_try(w.c.fd, w.queue));
	ASSERT_EQ(0, vm_destroy_try(w.c.fd, w.c.vm));
	wild_close(&w);
	sleep(1);
	/* Tasks, buffer and user memory. */
	ASSERT_GE(own_counter(self, "bo_count"), 3);
	EXPECT_GT(pinned_kb(), 0);
	EXPECT_EQ(1, held(self, "vms"));
	EXPECT_GE(held(self, "bytes"), 2 * WILD_SIZE);
	nobody_writes(self);

	/* It comes to rest when its driver lets go of it. */
	fail_resets(self, "0");
	ASSERT_TRUE(bind_driver(self, "unbind"));
	EXPECT_EQ(0, pinned_kb());
	ASSERT_TRUE(bind_driver(self, "bind"));
	ASSERT_TRUE(node_of(self->in.device, self->in.node, sizeof(self->in.node)));
	EXPECT_EQ(0, held(self, "vms"));
}

/* Nor does it stop when the driver leaves: only the next one that comes can stop it. */
TEST_F_TIMEOUT(lost, and_unbound, 300)
{
	struct wild w;

	fail_resets(self, "1000");
	wild_start(self, &w, 200);
	lose(self);
	ASSERT_TRUE(bind_driver(self, "unbind"));
	wild_close(&w);
	sleep(1);
	ASSERT_GT(pinned_kb(), 0);
	nobody_writes(self);
	/* It cannot be used until it has stopped. */
	EXPECT_FALSE(bind_driver(self, "bind"));
	EXPECT_GT(pinned_kb(), 0);
	fail_resets(self, "0");
	ASSERT_TRUE(bind_driver(self, "bind"));
	EXPECT_EQ(0, pinned_kb());
	ASSERT_TRUE(node_of(self->in.device, self->in.node, sizeof(self->in.node)));
	EXPECT_EQ(0, held(self, "vms"));
}

/* The driver leaves a device that runs and whose resets fail. */
TEST_F_TIMEOUT(lost, unbound_and_running, 300)
{
	struct wild w;

	wild_start(self, &w, 100000);
	usleep(200000);
	fail_resets(self, "1000");
	ASSERT_TRUE(bind_driver(self, "unbind"));
	wild_close(&w);
	nobody_writes(self);
	fail_resets(self, "0");
	ASSERT_TRUE(bind_driver(self, "bind"));
	EXPECT_EQ(0, pinned_kb());
	ASSERT_TRUE(node_of(self->in.device, self->in.node, sizeof(self->in.node)));
}

/*
 * A file is closed while the driver waits for the device to stop: a command that the device does
 * not hear looks as if it had been carried out.
 */
TEST_F_TIMEOUT(lost, closed_while_stopping, 300)
{
	struct client other;
	struct buf tasks;
	__u32 handle, queue;
	void *user;
	pid_t pid;

	client_open_named(&other, self->in.node);
	user = mmap(NULL, WILD_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(user != MAP_FAILED);
	memset(user, 1, WILD_SIZE);
	ASSERT_EQ(0, bo_import_user_try(other.fd, user, WILD_SIZE, 0, &handle));
	client_bind_handle(&other, handle, WILD_SIZE, 0);
	client_buf(&other, &tasks, PAGE);
	task_nop(tasks.task);
	EXPECT_EQ(0, client_run(&other, queue_create(other.fd, other.vm, 0), tasks.va, 1));
	/* A mapping would keep the file open, in the child as well. */
	ASSERT_EQ(0, munmap(tasks.map, tasks.size));
	/* This one keeps the power on. */
	knob(self, "hang_next", "2");
	queue = queue_create_timeout(self->c.fd, self->c.vm, UMA_ENGINE_GPU, 0, 100000);
	client_start(&self->c, queue, self->tasks.va, 1);
	fail(self, "power", "1000");
	fail_resets(self, "1000");

	pid = harness_fork();
	if (!pid) {
		close(other.fd);
		ASSERT_TRUE(bind_driver(self, "unbind"));
		_exit(0);
	}
	/* Half a second for power, then one for the reset. */
	usleep(900000);
	close(other.fd);
	harness_join(pid);
	sleep(1);
	EXPECT_GT(pinned_kb(), 0);
	nothing_freed(self);
	fail(self, "power", "0");
	fail_resets(self, "0");
	ASSERT_TRUE(bind_driver(self, "bind"));
	EXPECT_EQ(0, pinned_kb());
	ASSERT_TRUE(node_of(self->in.device, self->in.node, sizeof(self->in.node)));
}

/* The device says how long its resets take: one that says little is given up soon. */
TEST_F(lost, soon)
{
	__u32 queue = queue_create_timeout(self->c.fd, self->c.vm, UMA_ENGINE_GPU, 0, 200);
	uint64_t begin = now_ns();

	fail_resets(self, "1000");
	knob(self, "hang_next", "2");
	EXPECT_LT(client_run(&self->c, queue, self->tasks.va, 1), 0);
	lose(self);
	EXPECT_LT(now_ns() - begin, 10000000000ull);
}

/* --- two hardware address spaces for three ------------------------------------------------- */

/*
 * While a command hangs no slot can be taken from anybody, so who has had one still has it: what it
 * unbinds is not free before the device says so.
 */
TEST_F_TIMEOUT(lost, slot_not_stolen, 240)
{
	struct drm_uma_queue_create args = {
		.vm_id = self->c.vm, .engine_class = UMA_ENGINE_GPU, .instances = 1,
		.priority = DRM_UMA_PRIORITY_NORMAL, .timeout_ms = 600000,
	};
	struct client idle, wants;
	struct buf tasks, own, mine;
	__u32 hung, queue;
	int status, i;
	pid_t a, b;

	client_buf(&self->c, &mine, PAGE);
	client_open_named(&idle, self->in.node);
	client_buf(&idle, &own, PAGE);
	task_nop(own.task);
	EXPECT_EQ(0, client_run(&idle, queue_create(idle.fd, idle.vm, 0), own.va, 1));
	client_open_named(&wants, self->in.node);
	client_buf(&wants, &tasks, PAGE);
	task_nop(tasks.task);

	ASSERT_EQ(0, device_write_try(self->in.node, "preempt_timeout_ms", "20000"));
	ASSERT_EQ(0, queue_create_try(self->c.fd, &args, &queue));
	knob(self, "hang_next", "2");
	knob(self, "hang_step", "1");
	hung = client_start(&self->c, queue, self->tasks.va, 1);
	ASSERT_TRUE(hang_begins(self->in.node));
	a = harness_fork();
	if (!a) {
		vm_unmap(self->c.fd, self->c.vm, mine.va, PAGE);
		_exit(0);
	}
	/* Not a walk of the device's own, which is over by then. */
	for (i = 0; i < 100; i++) {
		i = emu_number(self->in.node, "inval_busy") > 0 ? i : 0;
		usleep(10000);
	}
	client_start(&wants, queue_create(wants.fd, wants.vm, 0), tasks.va, 1);
	usleep(500000);
	b = harness_fork();
	if (!b) {
		vm_unmap(idle.fd, idle.vm, own.va, PAGE);
		_exit(0);
	}
	sleep(3);
	EXPECT_EQ(0, syncobj_status(self->c.fd, hung));
	EXPECT_EQ(0, waitpid(b, &status, WNOHANG));
	harness_join(a);
	harness_join(b);
	EXPECT_EQ(-ETIME, syncobj_result(self->c.fd, hung));
	nothing_freed(self);
	client_close(&wants);
	client_close(&idle);
}

HARNESS_MAIN
