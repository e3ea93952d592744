// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Hardware that misbehaves, by the emulator's knobs: lost and spurious
 * interrupts, bad records, resets that fail, the device's own error flag.
 *
 * Each test has a device of its own, some of them are dead afterwards. All are in
 * one file, for they share that fixture and the files of its knobs.
 */
#include <linux/netlink.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "instance.h"
#include "task.h"
#include "watch.h"

FIXTURE(recovery) {
	struct instance in;
	struct client c;
	struct buf tasks;
};

FIXTURE_VARIANT(recovery) {
	const char *paranoid;
};

/* A device that looks for mistakes of the driver, and one that lets them happen. */
FIXTURE_VARIANT_ADD(recovery, paranoid) { .paranoid = "1" };
FIXTURE_VARIANT_ADD(recovery, plain) { .paranoid = "0" };

FIXTURE_SETUP(recovery)
{
	instance_make(&self->in, "recovery");
	instance_set(&self->in, "profile", "m1");
	instance_set(&self->in, "paranoid", variant->paranoid);
	/* A reset that fails shall not take long; those that do not fail take some milliseconds. */
	instance_set(&self->in, "reset_ms", "1500");
	instance_enable(&self->in);
	client_open_named(&self->c, self->in.node);
	client_buf(&self->c, &self->tasks, PAGE);
	task_nop(self->tasks.task);
	expect_log();
}

FIXTURE_TEARDOWN(recovery)
{
	client_close(&self->c);
	instance_drop(&self->in);
}

static void knob(struct recovery_fixture *self, const char *name, const char *value)
{
	ASSERT_TRUE(emu_knob(self->in.node, name, value));
}

static __u32 impatient(struct recovery_fixture *self)
{
	return queue_create_timeout(self->c.fd, self->c.vm, UMA_ENGINE_GPU, 0, 200);
}

static long long own_counter(struct recovery_fixture *self, const char *name)
{
	char path[256];

	ASSERT_TRUE(dev_debugfs(self->in.node, name, path, sizeof(path)));
	return read_number(path);
}

static void works(struct recovery_fixture *self)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int n = query_engines(self->c.fd, engines), i;

	for (i = 0; i < n; i++)
		EXPECT_EQ(0, client_run(&self->c, queue_create(self->c.fd, self->c.vm, i),
					self->tasks.va, 1));
}

/* Nobody says that the job is done; it is found to be. */
TEST_F(recovery, lost_interrupt)
{
	int i;

	for (i = 0; i < 3; i++) {
		knob(self, "lose_irq", "1");
		EXPECT_EQ(0, client_run(&self->c, queue_create(self->c.fd, self->c.vm, 0),
					self->tasks.va, 1));
	}
	EXPECT_EQ(0, own_counter(self, "reset_counter"));
	works(self);
}

TEST_F(recovery, lost_interrupt_of_a_fault)
{
	knob(self, "lose_irq", "1");
	EXPECT_EQ(-EFAULT, client_run(&self->c, queue_create(self->c.fd, self->c.vm, 0),
				      client_va(&self->c, PAGE), 1));
	EXPECT_EQ(1, own_counter(self, "fault_counter"));
	works(self);
}

TEST_F(recovery, spurious_interrupts)
{
	__u32 queue = queue_create(self->c.fd, self->c.vm, 0);
	int i;

	for (i = 0; i < 10; i++) {
		knob(self, "spurious_irq", "5");
		EXPECT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
	}
	EXPECT_EQ(0, own_counter(self, "reset_counter"));
}

/* Whatever a device writes into its record, the job ends and nothing is believed. */
TEST_F(recovery, bad_record)
{
	int i, ret;

	for (i = 0; i < 3; i++) {
		knob(self, "bad_record", "1");
		ret = client_run(&self->c, impatient(self), self->tasks.va, 1);
		EXPECT_TRUE(ret == 0 || ret == -ETIME || ret == -EFAULT);
	}
	knob(self, "bad_record", "0");
	works(self);
}

TEST_F(recovery, injected_fault)
{
	__u32 queue = queue_create(self->c.fd, self->c.vm, 0);
	struct drm_uma_queue_state state;
	char value[64];

	snprintf(value, sizeof(value), "%#llx %#x", self->tasks.va, UMA_TASK_SIZE);
	knob(self, "fault_addr", value);
	EXPECT_EQ(-EFAULT, client_run(&self->c, queue, self->tasks.va, 1));
	queue_state(self->c.fd, queue, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_FAULTED, state.flags);
	works(self);
}

/* The engine does not come back, so the whole device is reset; whoever was on it is innocent. */
TEST_F(recovery, engine_reset_fails)
{
	__u32 bystander = queue_create(self->c.fd, self->c.vm, 0);
	struct drm_uma_queue_state state;

	EXPECT_EQ(0, client_run(&self->c, bystander, self->tasks.va, 1));
	knob(self, "hang_next", "2");
	knob(self, "fail_reset", "1");
	EXPECT_EQ(-ETIME, client_run(&self->c, impatient(self), self->tasks.va, 1));
	works(self);
	queue_state(self->c.fd, bystander, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_OK, state.status);
	EXPECT_EQ(0, state.flags & ~DRM_UMA_QUEUE_INNOCENT);
	EXPECT_EQ(0, client_run(&self->c, bystander, self->tasks.va, 1));
	EXPECT_GE(own_counter(self, "reset_counter"), 1);
}

/* A reset tells all queues of its engine that they are innocent, and no others, nor later ones. */
TEST_F(recovery, blame_among_many)
{
	enum { CLIENTS = 40 };
	struct drm_uma_queue_state state;
	__u32 hit[CLIENTS], beside[CLIENTS], guilty = impatient(self), faulty;
	struct client c[CLIENTS];
	unsigned int i;

	for (i = 0; i < CLIENTS; i++) {
		client_open_named(&c[i], self->in.node);
		hit[i] = queue_create(c[i].fd, c[i].vm, 1);
		beside[i] = queue_create(c[i].fd, c[i].vm, 0);
	}
	knob(self, "hang_next", "2");
	EXPECT_EQ(-ETIME, client_run(&self->c, guilty, self->tasks.va, 1));
	for (i = 0; i < CLIENTS; i++) {
		queue_state(c[i].fd, hit[i], &state);
		EXPECT_EQ(DRM_UMA_QUEUE_OK, state.status);
		EXPECT_EQ(DRM_UMA_QUEUE_INNOCENT, state.flags);
		queue_state(c[i].fd, beside[i], &state);
		EXPECT_EQ(0, state.flags);
		queue_state(c[i].fd, queue_create(c[i].fd, c[i].vm, 1), &state);
		EXPECT_EQ(0, state.flags);
	}
	queue_state(self->c.fd, guilty, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_TIMEDOUT, state.flags);
	/* Then one of those beside it faults. */
	faulty = beside[0];
	EXPECT_EQ(-EFAULT, client_run(&c[0], faulty, client_va(&c[0], PAGE), 1));
	queue_state(c[0].fd, faulty, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_FAULTED, state.flags);
	for (i = 1; i < CLIENTS; i++) {
		queue_state(c[i].fd, beside[i], &state);
		EXPECT_EQ(DRM_UMA_QUEUE_INNOCENT, state.flags);
	}
	for (i = 0; i < CLIENTS; i++)
		client_close(&c[i]);
}

/* A device that says of itself that it is broken is reset. */
TEST_F(recovery, device_error)
{
	knob(self, "dev_error", "1");
	/* What it finds on an engine it takes along. */
	while (own_counter(self, "reset_counter") < 1)
		usleep(1000);
	works(self);
}

static void hang_here(struct recovery_fixture *self, __u64 tasks)
{
	char value[64];

	snprintf(value, sizeof(value), "%#llx %#x", tasks, UMA_TASK_SIZE);
	knob(self, "hang_addr", value);
	knob(self, "hang_step", "1");
}

/* Does the device, or one of its engines, say that of itself? */
static bool emu_is(struct recovery_fixture *self, const char *what)
{
	char path[200], text[4096];

	snprintf(path, sizeof(path), "/sys/kernel/debug/uma_emu/%s/state", self->in.device);
	ASSERT_TRUE(read_text(path, text, sizeof(text)));
	return strstr(text, what);
}

/* Wait until a job hangs. */
static void hung_here(struct recovery_fixture *self)
{
	while (!emu_is(self, " hung "))
		usleep(1000);
}

static void preempt_timeout(struct recovery_fixture *self, const char *ms)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/accel/%s/device/preempt_timeout_ms",
		 self->in.node);
	ASSERT_TRUE(write_text(path, ms));
}

static __u32 patient(struct client *c)
{
	struct drm_uma_queue_create args = {
		.vm_id = c->vm, .engine_class = UMA_ENGINE_GPU, .instances = 1,
		.priority = DRM_UMA_PRIORITY_NORMAL, .timeout_ms = 600000,
	};
	__u32 queue;

	ASSERT_EQ(0, queue_create_try(c->fd, &args, &queue));
	return queue;
}

/*
 * A job that hangs amid a step does not let go of what it has looked up. Who unbinds its memory
 * does not wait for as long as the job may run, here ten minutes, but the job is given up.
 */
TEST_F(recovery, unbind_of_hung)
{
	__u32 queue = patient(&self->c), bystander = queue_create(self->c.fd, self->c.vm, 0), hung;
	struct drm_uma_queue_state state;
	struct buf other;
	uint64_t begin;

	client_buf(&self->c, &other, PAGE);
	hang_here(self, self->tasks.va);
	hung = client_start(&self->c, queue, self->tasks.va, 1);
	hung_here(self);
	begin = now_ns();
	vm_unmap(self->c.fd, self->c.vm, other.va, PAGE);
	harness_diag("unbound after %llu ms", (unsigned long long)(now_ns() - begin) / 1000000);
	EXPECT_EQ(-ETIME, syncobj_result(self->c.fd, hung));
	queue_state(self->c.fd, queue, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_BANNED, state.status);
	EXPECT_EQ(DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_TIMEDOUT, state.flags);
	/* The engine was reset, and nothing else. */
	queue_state(self->c.fd, bystander, &state);
	EXPECT_EQ(0, state.flags);
	EXPECT_EQ(1, own_counter(self, "reset_counter"));
	knob(self, "hang_addr", "0 0");
	works(self);
}

/* A job of the same address space on another engine has let go after each tile: it goes on. */
TEST_F(recovery, unbind_of_hung_and_innocent)
{
	const __u32 n = 1000;
	__u32 queue = patient(&self->c), innocent, hung, done;
	struct drm_uma_queue_state state;
	struct buf tasks, other;
	unsigned int i;

	client_buf(&self->c, &other, PAGE);
	client_buf(&self->c, &tasks, (n * UMA_TASK_SIZE + PAGE - 1) & ~(PAGE - 1));
	for (i = 0; i < n; i++)
		task_nop(&tasks.task[i]);
	innocent = queue_create_timeout(self->c.fd, self->c.vm, UMA_ENGINE_MATRIX, 0, 600000);
	hang_here(self, self->tasks.va);
	hung = client_start(&self->c, queue, self->tasks.va, 1);
	hung_here(self);
	/* It lasts until the other one has been given up. */
	knob(self, "task_us", "100000");
	done = client_start(&self->c, innocent, tasks.va, n);
	while (!emu_is(self, ": matrix0 enabled busy "))
		usleep(1000);
	vm_unmap(self->c.fd, self->c.vm, other.va, PAGE);
	EXPECT_EQ(0, syncobj_status(self->c.fd, done));
	knob(self, "task_us", "0");
	EXPECT_EQ(-ETIME, syncobj_result(self->c.fd, hung));
	EXPECT_EQ(1, syncobj_result(self->c.fd, done));
	queue_state(self->c.fd, innocent, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_OK, state.status);
	EXPECT_EQ(0, state.flags);
	knob(self, "hang_addr", "0 0");
	works(self);
}

/* While that goes on, others bind, unbind, and run jobs, with address spaces new and old. */
TEST_F(recovery, others_beside_hung)
{
	__u32 queue = patient(&self->c), hung, done;
	struct client old, fresh;
	struct buf other, tasks;
	pid_t pid;

	client_buf(&self->c, &other, PAGE);
	client_open_named(&old, self->in.node);
	client_buf(&old, &tasks, PAGE);
	task_nop(tasks.task);
	EXPECT_EQ(0, client_run(&old, queue_create(old.fd, old.vm, 0), tasks.va, 1));
	hang_here(self, self->tasks.va);
	preempt_timeout(self, "60000");
	hung = client_start(&self->c, queue, self->tasks.va, 1);
	hung_here(self);
	pid = harness_fork();
	if (!pid) {
		vm_unmap(self->c.fd, self->c.vm, other.va, PAGE);
		_exit(0);
	}
	inval_waits(self->in.node);
	knob(self, "hang_addr", "0 0");
	/* One that the device knows runs jobs, one that it does not binds. */
	EXPECT_EQ(0, client_run(&old, queue_create(old.fd, old.vm, 0), tasks.va, 1));
	client_open_named(&fresh, self->in.node);
	client_buf(&fresh, &tasks, PAGE);
	task_nop(tasks.task);
	vm_unmap(fresh.fd, fresh.vm, tasks.va, PAGE);
	vm_map(fresh.fd, fresh.vm, tasks.handle, 0, tasks.va, PAGE, 0);
	EXPECT_EQ(0, syncobj_status(self->c.fd, hung));
	/* The rest waits for the command to end, and then goes on. */
	done = client_start(&fresh, queue_create(fresh.fd, fresh.vm, 0), tasks.va, 1);
	ASSERT_EQ(0, device_write_try(self->in.node, "reset", "gpu0"));
	EXPECT_EQ(1, syncobj_result(fresh.fd, done));
	EXPECT_EQ(-ECANCELED, syncobj_result(self->c.fd, hung));
	harness_join(pid);
	client_close(&fresh);
	client_close(&old);
}

/* The messages of the kernel to whoever looks after devices. */
static int uevents_open(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	if (fd < 0)
		SKIP("no uevents");
	ASSERT_EQ(0, bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	return fd;
}

/* Wait for an event of the device with these two variables; how many with @count came by then. */
static unsigned int uevent(struct recovery_fixture *self, int fd, const char *wanted,
			   const char *with, const char *count)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	unsigned int counted = 0;
	char buf[8192], node[64];
	bool ours, found, also;
	const char *s;
	ssize_t n;

	snprintf(node, sizeof(node), "DEVNAME=accel/%s", self->in.node);
	for (;;) {
		ASSERT_EQ(1, poll(&p, 1, -1));
		n = recv(fd, buf, sizeof(buf) - 1, 0);
		if (n <= 0)
			continue;
		buf[n] = 0;
		ours = found = also = false;
		for (s = buf; s < buf + n; s += strlen(s) + 1) {
			ours |= !strcmp(s, node);
			found |= !strcmp(s, wanted);
			also |= !strcmp(s, with);
			counted += count && !strncmp(s, count, strlen(count));
		}
		if (ours && found && also)
			return counted;
	}
}

/* What is told does not depend on whether the device looks for mistakes. */
static void once(const struct recovery_variant *variant)
{
	if (variant->paranoid[0] == '0')
		SKIP("with a paranoid device");
}

/* What anybody can cause as often as he likes is told every ten seconds, or not at all. */
TEST_F_TIMEOUT(recovery, events, 240)
{
	int fd = uevents_open(), i;
	uint64_t begin = now_ns();
	unsigned int n;

	once(variant);
	for (i = 0; i < 20; i++)
		EXPECT_EQ(-EFAULT, client_run(&self->c, queue_create(self->c.fd, self->c.vm, 0),
					      client_va(&self->c, PAGE), 1));
	knob(self, "hang_next", "2");
	EXPECT_EQ(-ETIME, client_run(&self->c, impatient(self), self->tasks.va, 1));
	knob(self, "dev_error", "1");
	n = uevent(self, fd, "UMA_EVENT=RESET", "ENGINE=device", "UMA_EVENT=");
	EXPECT_GE(n, 3);
	/* Two engines, once at first and once more every ten seconds; and that of the device. */
	EXPECT_LE(n, 3 + 2 * (now_ns() - begin) / 10000000000ull);
	works(self);
	close(fd);
}

TEST_F(recovery, faults_are_no_events)
{
	int fd = uevents_open();

	EXPECT_EQ(-EFAULT, client_run(&self->c, queue_create(self->c.fd, self->c.vm, 0),
				      client_va(&self->c, PAGE), 1));
	EXPECT_EQ(0, uevent(self, fd, "UMA_EVENT=RESET", "ENGINE=matrix0", "UMA_EVENT=FAULT"));
	close(fd);
}

/* --- the kernel's log ------------------------------------------------------------------- */

static int kmsg_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		SKIP("no /dev/kmsg");
	lseek(fd, 0, SEEK_END);
	return fd;
}

/* The next line of this device; false if there is none yet. */
static bool next_line(struct recovery_fixture *self, int kmsg, char *buf, size_t size)
{
	char device[80];
	ssize_t n;

	snprintf(device, sizeof(device), ";uma %s: ", self->in.device);
	while ((n = read(kmsg, buf, size - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		if (n > 0)
			buf[n] = 0;
		if (n > 0 && strstr(buf, device))
			return true;
	}
	return false;
}

/* Wait for a line with this text: it comes a little later than what it is about. */
static void logs(struct recovery_fixture *self, int kmsg, const char *text)
{
	char buf[4096];

	for (;;) {
		while (next_line(self, kmsg, buf, sizeof(buf))) {
			if (strstr(buf, text))
				return;
			harness_diag("%s", strchr(buf, ';') + 1);
		}
		usleep(10000);
	}
}

TEST_F(recovery, log)
{
	int kmsg = kmsg_open();
	char text[128];

	/* Whatever a process calls itself, it does not write lines of its own. */
	ASSERT_EQ(0, prctl(PR_SET_NAME, "odd\n6,name"));
	EXPECT_EQ(-EFAULT, client_run(&self->c, queue_create(self->c.fd, self->c.vm, 0),
				      client_va(&self->c, PAGE), 1));
	logs(self, kmsg, "matrix0 was reset");
	/* The log has a backslash as its code. */
	snprintf(text, sizeof(text), "matrix0: job 1 of odd\\x5cn6,name[%d] faulted", getpid());
	logs(self, kmsg, text);

	ASSERT_EQ(0, prctl(PR_SET_NAME, "plain"));
	knob(self, "hang_next", "2");
	EXPECT_EQ(-ETIME, client_run(&self->c, impatient(self), self->tasks.va, 1));
	snprintf(text, sizeof(text), "gpu0: job 1 of plain[%d] hung", getpid());
	logs(self, kmsg, text);

	knob(self, "throttle", "1");
	logs(self, kmsg, "too hot");
	knob(self, "throttle", "0");
	knob(self, "dev_error", "1");
	logs(self, kmsg, "device was reset");
	works(self);
	close(kmsg);
}

/* However often it happens, the log stays readable. */
TEST_F(recovery, log_is_limited)
{
	unsigned int lines = 0, most;
	int kmsg = kmsg_open(), i;
	uint64_t begin = now_ns();
	char buf[4096];

	once(variant);
	for (i = 0; i < 40; i++)
		EXPECT_EQ(-EFAULT, client_run(&self->c, queue_create(self->c.fd, self->c.vm, 0),
					      client_va(&self->c, PAGE), 1));
	/* Of two kinds, so many in ten seconds. */
	most = 2 * 5 * (unsigned int)(1 + (now_ns() - begin) / 10000000000ull);
	while (next_line(self, kmsg, buf, sizeof(buf)))
		lines++;
	EXPECT_GE(lines, 2);
	EXPECT_LE(lines, most);
	close(kmsg);
}

/* Memory with an error that cannot be corrected. */
TEST_F(recovery, ecc_error)
{
	__u32 queue = queue_create(self->c.fd, self->c.vm, 0);
	struct drm_uma_queue_state state;

	knob(self, "ecc_error", "1");
	EXPECT_EQ(-EFAULT, client_run(&self->c, queue, self->tasks.va, 1));
	queue_state(self->c.fd, queue, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_FAULTED, state.flags);
	EXPECT_EQ(UMA_FAULT_BUS, state.reason);
	EXPECT_EQ(self->tasks.va, state.fault_addr);
	EXPECT_EQ(1, own_counter(self, "reset_counter"));
	works(self);
}

/* Nothing helps: the device is lost, and everybody is told so. */
TEST_F_TIMEOUT(recovery, nothing_helps, 240)
{
	__u32 queue = impatient(self), other = queue_create(self->c.fd, self->c.vm, 0), done,
	      waiting;
	struct drm_uma_queue_state state;
	int ret, fd, fd2, events, kmsg = kmsg_open();

	events = uevents_open();
	knob(self, "hang_next", "2");
	knob(self, "fail_reset", "1000");
	done = client_start(&self->c, queue, self->tasks.va, 1);
	waiting = client_start_after(&self->c, other, self->tasks.va, 1, done);
	ASSERT_EQ(0, syncobj_export_try(self->c.fd, done, true, &fd));
	ASSERT_EQ(0, syncobj_export_try(self->c.fd, waiting, true, &fd2));
	ret = sync_file_wait(fd);
	EXPECT_TRUE(ret == -ETIME || ret == -ENODEV);
	EXPECT_EQ(-ENODEV, sync_file_wait(fd2));
	close(fd);
	close(fd2);
	uevent(self, events, "UMA_EVENT=WEDGED", "WEDGED=rebind", NULL);
	close(events);
	logs(self, kmsg, "device is lost");
	close(kmsg);
	ret = queue_state_try(self->c.fd, other, &state);
	EXPECT_TRUE(ret == -ENODEV || (ret == 0 && state.status == DRM_UMA_QUEUE_LOST));
	EXPECT_EQ(-ENODEV, submit_one_try(self->c.fd, other, self->tasks.va, 1, NULL, 0));
}

/* --- who is to blame for a command that does not end ------------------------------------ */

/*
 * One hangs amid a step and its engine does not come back, so the command of who unbinds its memory
 * does not end before the whole device is reset. Another one has a long job that does as it should,
 * and unbinds something meanwhile.
 */
static void behind_another(struct recovery_fixture *self, const char *patience)
{
	__u32 queue = patient(&self->c), good, hung, done;
	const unsigned int n = 1000;
	struct drm_uma_queue_state state;
	struct buf mine, tasks, other;
	struct client b;
	unsigned int i;
	pid_t pid;

	client_buf(&self->c, &mine, PAGE);
	client_open_named(&b, self->in.node);
	client_buf(&b, &tasks, n * UMA_TASK_SIZE);
	client_buf(&b, &other, PAGE);
	for (i = 0; i < n; i++)
		task_nop(&tasks.task[i]);
	good = queue_create_timeout(b.fd, b.vm, UMA_ENGINE_MATRIX, 0, 600000);

	hang_here(self, self->tasks.va);
	hung = client_start(&self->c, queue, self->tasks.va, 1);
	hung_here(self);
	/* By its address: the other's tasks may have the same. */
	knob(self, "hang_addr", "0 0");
	knob(self, "task_us", "100000");
	done = client_start(&b, good, tasks.va, n);
	knob(self, "fail_reset", "1");
	pid = harness_fork();
	if (!pid) {
		vm_unmap(self->c.fd, self->c.vm, mine.va, PAGE);
		_exit(0);
	}
	/* Its patience is what there is when it begins. */
	inval_waits(self->in.node);
	preempt_timeout(self, patience);
	vm_unmap(b.fd, b.vm, other.va, PAGE);
	harness_join(pid);
	knob(self, "task_us", "0");
	/* Who was told that it is done has asked, and was heard. */
	EXPECT_EQ(0, emu_number(self->in.node, "inval_ignored"));
	EXPECT_EQ(-ETIME, syncobj_result(self->c.fd, hung));
	queue_state(self->c.fd, queue, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_TIMEDOUT, state.flags);
	/* It took its time, but it did it. */
	EXPECT_EQ(1, syncobj_result(b.fd, done));
	queue_state(b.fd, good, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_OK, state.status);
	EXPECT_EQ(0, state.flags & DRM_UMA_QUEUE_GUILTY);
	works(self);
	client_close(&b);
}

/*
 * Memory is taken from somebody while the device is busy with an invalidation that does not end:
 * his jobs go on, and the engine with them. The memory waits.
 */
TEST_F_TIMEOUT(recovery, purged_behind_another, 240)
{
	struct drm_uma_bo_madvise args = { .advice = DRM_UMA_MADV_DONTNEED };
	struct buf mine, tasks, data;
	struct drm_uma_bo_info info;
	__u32 good, hung;
	struct client b;
	pid_t pid;

	client_buf(&self->c, &mine, PAGE);
	client_open_named(&b, self->in.node);
	client_buf(&b, &tasks, PAGE);
	task_nop(tasks.task);
	data.handle = bo_create(b.fd, 16 * PAGE, 0);
	client_bind_handle(&b, data.handle, 16 * PAGE, 0);
	good = queue_create_timeout(b.fd, b.vm, UMA_ENGINE_MATRIX, 0, 0);

	hang_here(self, self->tasks.va);
	hung = client_start(&self->c, patient(&self->c), self->tasks.va, 1);
	hung_here(self);
	knob(self, "hang_addr", "0 0");
	/* The device knows its address space now, and does not lose its power any more. */
	EXPECT_EQ(0, client_run(&b, good, tasks.va, 1));
	preempt_timeout(self, "10000");
	pid = harness_fork();
	if (!pid) {
		vm_unmap(self->c.fd, self->c.vm, mine.va, PAGE);
		_exit(0);
	}
	inval_waits(self->in.node);
	args.handle = data.handle;
	ASSERT_EQ(0, do_ioctl(b.fd, DRM_IOCTL_UMA_BO_MADVISE, &args));
	do {
		ASSERT_TRUE(write_text("/proc/sys/vm/drop_caches", "2"));
		usleep(10000);
		bo_info(b.fd, data.handle, &info);
	} while (!(info.flags & DRM_UMA_BO_INFO_PURGED));
	EXPECT_EQ(0, client_run(&b, good, tasks.va, 1));
	EXPECT_EQ(0, syncobj_status(self->c.fd, hung));
	ASSERT_EQ(0, device_write_try(self->in.node, "reset", "gpu0"));
	harness_join(pid);
	EXPECT_EQ(-ECANCELED, syncobj_result(self->c.fd, hung));
	EXPECT_EQ(0, client_run(&b, good, tasks.va, 1));
	works(self);
	client_close(&b);
}

/* The other one gives up before the device is reset, */
TEST_F_TIMEOUT(recovery, command_behind_another, 240)
{
	behind_another(self, "1000");
}

/* and waits for longer: the first command ends by itself while it does. */
TEST_F_TIMEOUT(recovery, command_ends_behind_another, 240)
{
	if (variant->paranoid[0] == '1')
		SKIP("the log would say it as well");
	behind_another(self, "60000");
}

static void shrink(void)
{
	if (!write_text("/proc/sys/vm/drop_caches", "2"))
		SKIP("no right to drop caches");
}

/* Memory is short while a job hangs: nobody waits for it because of that, and nobody ends it. */
TEST_F(recovery, reclaim_beside_hung)
{
	struct drm_uma_bo_madvise args = { .advice = DRM_UMA_MADV_DONTNEED };
	__u32 queue = patient(&self->c), hung;
	struct drm_uma_queue_state state;
	struct buf unneeded, other;
	struct drm_uma_bo_info info;
	struct client b;

	client_buf(&self->c, &unneeded, 4 << 20);
	memset(unneeded.map, 1, 4 << 20);
	args.handle = unneeded.handle;
	hang_here(self, self->tasks.va);
	hung = client_start(&self->c, queue, self->tasks.va, 1);
	hung_here(self);
	ASSERT_EQ(0, do_ioctl(self->c.fd, DRM_IOCTL_UMA_BO_MADVISE, &args));
	shrink();
	client_open_named(&b, self->in.node);
	client_buf(&b, &other, PAGE);
	client_free(&b, &other);
	client_close(&b);
	shrink();
	EXPECT_EQ(0, syncobj_status(self->c.fd, hung));
	queue_state(self->c.fd, queue, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_OK, state.status);
	EXPECT_EQ(0, own_counter(self, "reset_counter"));

	/* When the address space is idle it is its turn. */
	knob(self, "hang_addr", "0 0");
	ASSERT_EQ(0, device_write_try(self->in.node, "reset", "device"));
	EXPECT_EQ(-ECANCELED, syncobj_result(self->c.fd, hung));
	for (;;) {
		bo_info(self->c.fd, unneeded.handle, &info);
		if (info.flags & DRM_UMA_BO_INFO_PURGED)
			break;
		shrink();
		usleep(10000);
	}
	EXPECT_EQ(DRM_UMA_BO_INFO_PURGED, info.flags);
	EXPECT_EQ(0, info.resident);
}

/*
 * Whoever is at a limit waits for what was let go of just now, but not for what others let go of:
 * here they wait for a job that hangs, whose memory somebody unbinds.
 */
TEST_F_TIMEOUT(recovery, limits_beside_an_invalidation, 240)
{
	struct drm_uma_queue_create create = {
		.engine_class = UMA_ENGINE_GPU, .instances = 1,
		.priority = DRM_UMA_PRIORITY_NORMAL,
	};
	__u32 queue = patient(&self->c), hung, i;
	struct drm_uma_query_limits limits;
	struct client full, other;
	struct buf tasks, mine;
	pid_t unbinds, closes[4], pins;

	client_buf(&self->c, &mine, PAGE);
	client_open_named(&full, self->in.node);
	query_limits(full.fd, &limits);
	for (i = 0; i < limits.max_queues; i++)
		queue_create(full.fd, full.vm, 0);
	create.vm_id = full.vm;

	hang_here(self, self->tasks.va);
	hung = client_start(&self->c, queue, self->tasks.va, 1);
	hung_here(self);
	knob(self, "hang_addr", "0 0");
	preempt_timeout(self, "30000");
	/* They have hardware address spaces, and let go of them while there is an invalidation. */
	for (i = 0; i < 4; i++) {
		int ready[2];
		char c;

		ASSERT_EQ(0, pipe(ready));
		closes[i] = harness_fork();
		if (!closes[i]) {
			client_open_named(&other, self->in.node);
			client_buf(&other, &tasks, PAGE);
			task_nop(tasks.task);
			queue = queue_create(other.fd, other.vm, 0);
			ASSERT_EQ(0, client_run(&other, queue, tasks.va, 1));
			ASSERT_EQ(1, write(ready[1], "", 1));
			inval_waits(self->in.node);
			_exit(0);
		}
		ASSERT_EQ(1, read(ready[0], &c, 1));
	}
	unbinds = harness_fork();
	if (!unbinds) {
		vm_unmap(self->c.fd, self->c.vm, mine.va, PAGE);
		_exit(0);
	}
	/* Some of them wait themselves as they exit, but not all. */
	inval_waits(self->in.node);
	usleep(500000);

	EXPECT_EQ(-ENOSPC, queue_create_try(full.fd, &create, &queue));
	EXPECT_EQ(0, waitpid(unbinds, NULL, WNOHANG));
	pins = harness_fork();
	if (!pins) {
		const struct rlimit none = {};
		__u32 handle;
		void *p;

		p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ASSERT_TRUE(p != MAP_FAILED);
		ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &none));
		become_tester();
		EXPECT_EQ(-ENOMEM, bo_import_user_try(full.fd, p, PAGE, 0, &handle));
		_exit(0);
	}
	harness_join(pins);
	EXPECT_EQ(0, waitpid(unbinds, NULL, WNOHANG));
	ASSERT_EQ(0, device_write_try(self->in.node, "reset", "device"));
	harness_join(unbinds);
	for (i = 0; i < 4; i++)
		harness_join(closes[i]);
	EXPECT_EQ(-ECANCELED, syncobj_result(self->c.fd, hung));
	client_close(&full);
}

struct creator {
	struct recovery_fixture *self;
	pthread_t thread;
	pid_t tid;
	int ret;
};

static void *creator_run(void *p)
{
	struct creator *creator = p;
	struct drm_uma_queue_create args = {
		.vm_id = creator->self->c.vm, .engine_class = UMA_ENGINE_GPU, .instances = 1,
		.priority = DRM_UMA_PRIORITY_NORMAL,
	};
	__u32 queue;

	__atomic_store_n(&creator->tid, gettid(), __ATOMIC_RELEASE);
	creator->ret = queue_create_try(creator->self->c.fd, &args, &queue);
	return NULL;
}

/* Does a thread wait in QUEUE_CREATE for the queues that were destroyed? */
static bool creator_waits(const struct creator *creator)
{
	pid_t tid = __atomic_load_n(&creator->tid, __ATOMIC_ACQUIRE);

	return tid && waits_in(tid, "flush_workqueue");
}

static void *unbind_run(void *p)
{
	struct recovery_fixture *self = p;

	EXPECT_EQ(0, file_write_try("/sys/bus/platform/drivers/uma/unbind", self->in.device));
	return NULL;
}

/*
 * Whoever makes a queue waits for those that were destroyed, here for a job that waits for a reset.
 * The device goes meanwhile, as far as its files are concerned.
 */
TEST_F(recovery, unplug_waits_for_no_queue)
{
	struct creator creator = { .self = self };
	struct drm_uma_query_limits limits;
	char node[64], slow[128];
	pthread_t unbind;
	__u32 queue = 0, i;

	client_close(&self->c);
	instance_set(&self->in, "enabled", "0");
	instance_set(&self->in, "reset_ms", "30000");
	instance_enable(&self->in);
	snprintf(node, sizeof(node), "/dev/accel/%s", self->in.node);
	/* The node goes before the reset may end. */
	snprintf(slow, sizeof(slow), "/sys/kernel/debug/uma_emu/%s/slow_reset", self->in.device);
	client_open_named(&self->c, self->in.node);
	client_buf(&self->c, &self->tasks, PAGE);
	task_nop(self->tasks.task);
	/* Whoever submits does not wait for power. */
	ASSERT_EQ(0, device_write_try(self->in.node, "power/control", "on"));
	query_limits(self->c.fd, &limits);
	for (i = 0; i < limits.max_queues; i++)
		queue = queue_create(self->c.fd, self->c.vm, 0);
	ASSERT_TRUE(write_text(slow, "600000"));
	knob(self, "dev_error", "1");
	while (!emu_is(self, " resetting"))
		usleep(1000);
	client_start(&self->c, queue, self->tasks.va, 1);
	ASSERT_EQ(0, pthread_create(&creator.thread, NULL, creator_run, &creator));
	while (!creator_waits(&creator))
		usleep(1000);
	ASSERT_EQ(0, pthread_create(&unbind, NULL, unbind_run, self));
	while (!access(node, F_OK))
		usleep(1000);
	/* It still does: nobody has waited for it. */
	EXPECT_TRUE(creator_waits(&creator));
	ASSERT_TRUE(write_text(slow, "0"));
	ASSERT_EQ(0, pthread_join(creator.thread, NULL));
	ASSERT_EQ(0, pthread_join(unbind, NULL));
	EXPECT_EQ(-ENOSPC, creator.ret);
}

HARNESS_MAIN
