// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Devices that do not let go of memory: whoever else has let go of it, nobody gets it
 * before the device is known to leave it alone.
 *
 * Each test has a device of its own. They are one file, as all of them lose it the same way.
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
	/* Without it the emulator looks at what is freed only while a reset does not complete. */
	instance_set(&self->in, "paranoid", getenv("UMA_TEST_PLAIN") ? "0" : "1");
	/* Two, so that slots are short; and resets that fail shall not take long. */
	instance_set(&self->in, "address_spaces", "2");
	instance_set(&self->in, "reset_ms", "500");
	instance_enable(&self->in);
	knob(self, "watch_lost", "1");
	client_open_named(&self->c, self->in.node);
	client_buf(&self->c, &self->tasks, PAGE);
	task_nop(self->tasks.task);
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
	const unsigned int n = 512, times = 32;
	unsigned int i;
	__u32 handle;
	__u64 va;

	client_open_named(&w->c, self->in.node);
	client_buf_repeated(&w->c, &w->tasks, (__u64)n * UMA_TASK_SIZE, times);
	client_buf(&w->c, &w->dst, WILD_SIZE);
	w->user = mmap(NULL, WILD_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(w->user != MAP_FAILED);
	memset(w->user, 1, WILD_SIZE);
	ASSERT_EQ(0, bo_import_user_try(w->c.fd, w->user, WILD_SIZE, 0, &handle));
	va = client_bind_handle(&w->c, handle, WILD_SIZE, 0);
	for (i = 0; i < n; i++)
		task_fill(&w->tasks.task[i], UMA_DTYPE_U8, i & 1 ? va : w->dst.va, WILD_SIZE, 0x44);
	w->queue = queue_create_timeout(w->c.fd, w->c.vm, UMA_ENGINE_GPU, 0, timeout_ms);
	client_start(&w->c, w->queue, w->tasks.va, n * times);
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
	usleep(500000);
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

/* It is lost when the time of its job is up, or has been already. */
static void lose(struct lost_fixture *self)
{
	while (!query_lost(self->c.fd))
		usleep(10000);
}

/* It is lost at once, as somebody has it reset. */
static void lose_now(struct lost_fixture *self)
{
	fail_resets(self, "1000");
	ASSERT_EQ(-ENODEV, device_write_try(self->in.node, "reset", "device"));
	ASSERT_TRUE(query_lost(self->c.fd));
}

/* Its memory is held back, whoever let go of it: jobs that are freed a moment later among them. */
static void held_back(struct lost_fixture *self, long long vms)
{
	while (held(self, "vms") < vms)
		usleep(10000);
	EXPECT_EQ(vms, held(self, "vms"));
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
	wild_start(self, &w, 2000);
	lose(self);
	ASSERT_EQ(0, queue_destroy_try(w.c.fd, w.queue));
	ASSERT_EQ(0, vm_destroy_try(w.c.fd, w.c.vm));
	wild_close(&w);
	held_back(self, 1);
	/* Tasks, buffer and user memory. */
	ASSERT_GE(own_counter(self, "bo_count"), 3);
	EXPECT_GT(pinned_kb(), 0);
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

	wild_start(self, &w, 100000);
	lose_now(self);
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

static long long module_users(void)
{
	return read_number("/sys/module/uma/refcnt");
}

/* A device that goes altogether reaches nothing any more, whoever else is to hear of that. */
TEST_F_TIMEOUT(lost, and_deleted, 300)
{
	long long users = module_users();
	struct wild w;

	wild_start(self, &w, 100000);
	lose_now(self);
	ASSERT_TRUE(bind_driver(self, "unbind"));
	wild_close(&w);
	sleep(1);
	ASSERT_GT(pinned_kb(), 0);
	instance_drop(&self->in);
	EXPECT_EQ(0, pinned_kb());
	/* Fences are freed after a grace period. */
	while (module_users() > users)
		usleep(10000);
	EXPECT_EQ(users, module_users());
}

/* Deleted with its driver, which cannot stop it. */
TEST_F_TIMEOUT(lost, and_deleted_at_once, 300)
{
	struct wild w;

	wild_start(self, &w, 100000);
	lose_now(self);
	instance_drop(&self->in);
	EXPECT_EQ(0, pinned_kb());
	wild_close(&w);
}

/* What was unbound counts as held back as well, while the device may reach it. */
TEST_F_TIMEOUT(lost, and_unbinding, 300)
{
	struct buf mine;
	__u32 queue;

	client_buf(&self->c, &mine, WILD_SIZE);
	queue = queue_create_timeout(self->c.fd, self->c.vm, UMA_ENGINE_GPU, 0, 100000);
	fail_resets(self, "1000");
	knob(self, "hang_step", "1");
	knob(self, "hang_next", "2");
	client_start(&self->c, queue, self->tasks.va, 1);
	ASSERT_TRUE(hang_begins(self->in.node));
	/* Its job does not let go of it, nor does the device. */
	vm_unmap(self->c.fd, self->c.vm, mine.va, WILD_SIZE);
	ASSERT_TRUE(query_lost(self->c.fd));
	ASSERT_EQ(0, queue_destroy_try(self->c.fd, queue));
	ASSERT_EQ(0, vm_destroy_try(self->c.fd, self->c.vm));
	held_back(self, 1);
	EXPECT_GE(held(self, "bytes"), WILD_SIZE + PAGE);
	fail_resets(self, "0");
}

/* Somebody frees what the device does not reach while its driver leaves: none stays mapped. */
TEST_F_TIMEOUT(lost, closing_while_unbound, 300)
{
	enum { FILES = 32 };
	const size_t size = 16 << 20;
	int fds[FILES], i;
	struct wild w;
	__u32 handle;
	void *user;
	pid_t pid;

	fail_resets(self, "1000");
	fail(self, "power", "1000");
	wild_start(self, &w, 100000);
	user = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(user != MAP_FAILED);
	memset(user, 1, size);
	for (i = 0; i < FILES; i++) {
		fds[i] = dev_open_named(self->in.node);
		ASSERT_EQ(0, bo_import_user_try(fds[i], user, size, 0, &handle));
	}
	pid = harness_fork();
	if (!pid) {
		/* Half a second for power, one for the reset. The driver begins with the oldest. */
		usleep(1300000);
		for (i = FILES - 1; i >= 0; i--)
			close(fds[i]);
		_exit(0);
	}
	for (i = 0; i < FILES; i++)
		close(fds[i]);
	ASSERT_TRUE(bind_driver(self, "unbind"));
	EXPECT_EQ(WILD_SIZE >> 10, pinned_kb());
	harness_join(pid);
	wild_close(&w);
	fail(self, "power", "0");
	fail_resets(self, "0");
	ASSERT_TRUE(bind_driver(self, "bind"));
	ASSERT_TRUE(node_of(self->in.device, self->in.node, sizeof(self->in.node)));
	EXPECT_EQ(0, pinned_kb());
}

/* The system goes down, maybe to have another kernel begin: nothing runs on its memory. */
TEST_F_TIMEOUT(lost, shut_down, 300)
{
	char path[128], state[2048];
	struct wild w;
	__u32 done;

	snprintf(path, sizeof(path), "/sys/kernel/debug/uma_emu/%s/state", self->in.device);
	wild_start(self, &w, 100000);
	done = client_start(&w.c, w.queue, w.tasks.va, 1);
	ASSERT_TRUE(read_text(path, state, sizeof(state)));
	ASSERT_TRUE(strstr(state, "enabled busy head"));
	knob(self, "shutdown", "1");
	EXPECT_EQ(-ENODEV, syncobj_result(w.c.fd, done));
	ASSERT_TRUE(read_text(path, state, sizeof(state)));
	EXPECT_FALSE(strstr(state, " enabled "));
	EXPECT_FALSE(strstr(state, "busy head"));
	EXPECT_TRUE(strstr(state, "(modelled): off"));
	EXPECT_TRUE(query_lost(w.c.fd));
	wild_close(&w);
	/* Jobs are freed a moment later, and have held their address space. */
	while (pinned_kb() > 0)
		usleep(10000);
	EXPECT_EQ(0, pinned_kb());
	nobody_writes(self);
	/* Should the system stay after all, it can be had again. */
	ASSERT_TRUE(bind_driver(self, "unbind"));
	ASSERT_TRUE(bind_driver(self, "bind"));
	ASSERT_TRUE(node_of(self->in.device, self->in.node, sizeof(self->in.node)));
	client_open_named(&w.c, self->in.node);
	client_buf(&w.c, &w.tasks, PAGE);
	task_nop(w.tasks.task);
	EXPECT_EQ(0, client_run(&w.c, queue_create(w.c.fd, w.c.vm, 0), w.tasks.va, 1));
	client_close(&w.c);
}

/* What the emulator says about the device. */
static bool state_says(struct lost_fixture *self, const char *text)
{
	char path[128], state[2048];

	snprintf(path, sizeof(path), "/sys/kernel/debug/uma_emu/%s/state", self->in.device);
	ASSERT_TRUE(read_text(path, state, sizeof(state)));
	return strstr(state, text);
}

/* The device anew, with another attribute. */
static void restart(struct lost_fixture *self, const char *attribute, const char *value)
{
	ASSERT_EQ(0, munmap(self->tasks.map, self->tasks.size));
	client_close(&self->c);
	instance_set(&self->in, "enabled", "0");
	instance_set(&self->in, attribute, value);
	instance_enable(&self->in);
	knob(self, "watch_lost", "1");
	client_open_named(&self->c, self->in.node);
	client_buf(&self->c, &self->tasks, PAGE);
	task_nop(self->tasks.task);
}

/*
 * A bind that waits for a reset, which waits for the jobs of others, is nothing that
 * other devices have to wait for before they go, nor is an administrator who has it reset.
 */
TEST_F_TIMEOUT(lost, others_leave, 300)
{
	const unsigned int n = 1000;
	struct client long_job;
	struct instance other;
	struct buf mine, tasks;
	unsigned int i;
	__u32 queue, done;
	int status;
	pid_t bind, reset;

	restart(self, "preempt", "0");
	instance_start(&other, "other", "m1");
	client_buf(&self->c, &mine, PAGE);
	client_open_named(&long_job, self->in.node);
	client_buf(&long_job, &tasks, n * UMA_TASK_SIZE);
	for (i = 0; i < n; i++)
		task_nop(&tasks.task[i]);
	knob(self, "task_us", "100000");
	queue = queue_create_timeout(long_job.fd, long_job.vm, 0, 0, 600000);
	done = client_start(&long_job, queue, tasks.va, n);
	while (!state_says(self, "enabled busy head"))
		usleep(1000);
	/* Its engine does not come back, but the device would, when that job is done. */
	knob(self, "hang_step", "1");
	knob(self, "hang_next", "2");
	queue = queue_create_timeout(self->c.fd, self->c.vm, UMA_ENGINE_GPU, 0, 100000);
	client_start(&self->c, queue, self->tasks.va, 1);
	ASSERT_TRUE(hang_begins(self->in.node));
	fail_resets(self, "1");
	bind = harness_fork();
	if (!bind) {
		vm_unmap(self->c.fd, self->c.vm, mine.va, PAGE);
		_exit(0);
	}
	/* Nobody answers it, and its engine does not come back. */
	while (!state_says(self, "resetting "))
		usleep(1000);
	reset = harness_fork();
	if (!reset) {
		EXPECT_EQ(0, device_write_try(self->in.node, "reset", "device"));
		_exit(0);
	}
	while (!waits_in(reset, "flush_work"))
		usleep(1000);
	ASSERT_EQ(0, waitpid(bind, &status, WNOHANG));
	ASSERT_EQ(0, waitpid(reset, &status, WNOHANG));
	instance_drop(&other);
	EXPECT_EQ(0, waitpid(bind, &status, WNOHANG));
	EXPECT_EQ(0, waitpid(reset, &status, WNOHANG));
	EXPECT_EQ(0, syncobj_status(long_job.fd, done));
	knob(self, "hang_step", "0");
	knob(self, "task_us", "0");
	harness_join(bind);
	harness_join(reset);
	client_close(&long_job);
}

/* The driver leaves a device that runs and whose resets fail. */
TEST_F_TIMEOUT(lost, unbound_and_running, 300)
{
	struct wild w;

	wild_start(self, &w, 100000);
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

/* Lines of this device in the kernel's log that have a text, from where @kmsg stands. */
static int log_lines(struct lost_fixture *self, int kmsg, const char *text)
{
	char device[80], line[4096];
	int count = 0;
	ssize_t n;

	snprintf(device, sizeof(device), ";uma %s: ", self->in.device);
	while ((n = read(kmsg, line, sizeof(line) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		if (n < 0)
			continue;
		line[n] = 0;
		count += strstr(line, device) && strstr(line, text);
	}
	return count;
}

/*
 * The device says how long its resets take, and has that time. It takes longer than one that says
 * nothing would get, of an engine and of all.
 */
TEST_F(lost, slow_resets)
{
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC), lines = 0;
	__u32 queue;

	ASSERT_GE(kmsg, 0);
	lseek(kmsg, 0, SEEK_END);
	restart(self, "reset_ms", "30000");
	queue = queue_create_timeout(self->c.fd, self->c.vm, UMA_ENGINE_GPU, 0, 200);
	knob(self, "slow_reset", "5500");
	knob(self, "hang_next", "2");
	EXPECT_EQ(-ETIME, client_run(&self->c, queue, self->tasks.va, 1));
	while (!lines) {
		lines = log_lines(self, kmsg, " was reset");
		usleep(10000);
	}
	/* Its engine, and not all of the device because that took too long. */
	EXPECT_EQ(1, lines);
	EXPECT_EQ(1, device_number(self->in.node, "engine-gpu0/resets"));
	knob(self, "slow_reset", "10500");
	EXPECT_EQ(0, device_write_try(self->in.node, "reset", "device"));
	EXPECT_FALSE(query_lost(self->c.fd));
	knob(self, "slow_reset", "0");
	queue = queue_create(self->c.fd, self->c.vm, 0);
	EXPECT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
	close(kmsg);
}

/* Whoever reads the log is told that the device is lost, and once that memory is held back. */
TEST_F_TIMEOUT(lost, warns_once, 300)
{
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct client idle;
	struct wild w;
	struct buf own;
	int i, lines = 0;

	ASSERT_GE(kmsg, 0);
	lseek(kmsg, 0, SEEK_END);
	wild_start(self, &w, 100000);
	client_open_named(&idle, self->in.node);
	client_buf(&idle, &own, PAGE);
	task_nop(own.task);
	EXPECT_EQ(0, client_run(&idle, queue_create(idle.fd, idle.vm, 0), own.va, 1));
	lose_now(self);
	/* Lines come a little later than what they are about. */
	while (!lines) {
		lines += log_lines(self, kmsg, "device is lost");
		usleep(10000);
	}
	EXPECT_EQ(1, lines);
	wild_close(&w);
	ASSERT_EQ(0, munmap(own.map, own.size));
	client_close(&idle);
	held_back(self, 2);
	/* It comes, and no other within a while. */
	for (i = 0, lines = 0; i < 100; i += !!lines) {
		lines += log_lines(self, kmsg, "memory is held back");
		usleep(10000);
	}
	EXPECT_EQ(1, lines);
	nothing_freed(self);
	fail_resets(self, "0");
	ASSERT_TRUE(bind_driver(self, "unbind"));
	ASSERT_TRUE(bind_driver(self, "bind"));
	ASSERT_TRUE(node_of(self->in.device, self->in.node, sizeof(self->in.node)));
	close(kmsg);
}

/*
 * Power does not go off, and neither does the reset end that is due for that: the device has not
 * forgotten who has a slot, and nobody else does. Nor if somebody has power switched on in between,
 * which sets up anew what a device without power forgets. The reset may come first: then again.
 */
TEST_F_TIMEOUT(lost, power_stays_on, 300)
{
	bool between = false;
	int round, ret;

	for (round = 0; round < 4 && !between; round++) {
		struct client idle;
		struct buf own;
		__u32 queue;

		if (round) {
			fail(self, "power", "0");
			fail_resets(self, "0");
			ASSERT_EQ(0, munmap(self->tasks.map, self->tasks.size));
			client_close(&self->c);
			ASSERT_TRUE(bind_driver(self, "unbind"));
			ASSERT_TRUE(bind_driver(self, "bind"));
			ASSERT_TRUE(node_of(self->in.device, self->in.node,
					    sizeof(self->in.node)));
			client_open_named(&self->c, self->in.node);
			client_buf(&self->c, &self->tasks, PAGE);
			task_nop(self->tasks.task);
		}
		client_open_named(&idle, self->in.node);
		client_buf(&idle, &own, PAGE);
		task_nop(own.task);
		queue = queue_create(idle.fd, idle.vm, 0);
		EXPECT_EQ(0, client_run(&idle, queue, own.va, 1));
		queue = queue_create(self->c.fd, self->c.vm, 0);
		fail(self, "power", "1000");
		fail_resets(self, "1000");
		while (device_is(self->in.node, "power/runtime_status", "active"))
			usleep(1000);
		/* It waits for power to be on again, and is taken if there is a device then. */
		ret = submit_one_try(self->c.fd, queue, self->tasks.va, 1, NULL, 0);
		between = !ret && !query_lost(self->c.fd);
		lose(self);
		ASSERT_EQ(0, munmap(own.map, own.size));
		client_close(&idle);
		held_back(self, 1);
		nothing_freed(self);
	}
	fail(self, "power", "0");
	fail_resets(self, "0");
	if (!between)
		harness_diag("the reset came first each time");
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
	int status;
	pid_t a, b;

	client_buf(&self->c, &mine, PAGE);
	client_open_named(&idle, self->in.node);
	client_buf(&idle, &own, PAGE);
	task_nop(own.task);
	client_open_named(&wants, self->in.node);
	client_buf(&wants, &tasks, PAGE);
	task_nop(tasks.task);

	ASSERT_EQ(0, device_write_try(self->in.node, "preempt_timeout_ms", "30000"));
	ASSERT_EQ(0, queue_create_try(self->c.fd, &args, &queue));
	knob(self, "hang_next", "2");
	knob(self, "hang_step", "1");
	hung = client_start(&self->c, queue, self->tasks.va, 1);
	ASSERT_TRUE(hang_begins(self->in.node));
	/* Not before: without any job the device would lose its power, and nobody had a slot. */
	EXPECT_EQ(0, client_run(&idle, queue_create(idle.fd, idle.vm, 0), own.va, 1));
	a = harness_fork();
	if (!a) {
		vm_unmap(self->c.fd, self->c.vm, mine.va, PAGE);
		_exit(0);
	}
	inval_waits(self->in.node);
	client_start(&wants, queue_create(wants.fd, wants.vm, 0), tasks.va, 1);
	usleep(500000);
	b = harness_fork();
	if (!b) {
		vm_unmap(idle.fd, idle.vm, own.va, PAGE);
		_exit(0);
	}
	sleep(1);
	EXPECT_EQ(0, syncobj_status(self->c.fd, hung));
	EXPECT_EQ(0, waitpid(b, &status, WNOHANG));
	/* Enough has been seen. */
	ASSERT_EQ(0, device_write_try(self->in.node, "reset", "gpu0"));
	harness_join(a);
	harness_join(b);
	EXPECT_EQ(-ECANCELED, syncobj_result(self->c.fd, hung));
	nothing_freed(self);
	client_close(&wants);
	client_close(&idle);
}

HARNESS_MAIN
