// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Who may do what. Starts as root and becomes somebody else.
 */
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "files.h"
#include "task.h"
#include "watch.h"

FIXTURE(perms) {
	int fd;
};

FIXTURE_SETUP(perms)
{
	if (!is_root())
		SKIP("needs root");
	self->fd = -1;
}

FIXTURE_TEARDOWN(perms)
{
	if (self->fd >= 0)
		close(self->fd);
}

static void become_nobody(void)
{
	ASSERT_EQ(0, setgroups(0, NULL));
	ASSERT_EQ(0, setresgid(65534, 65534, 65534));
	ASSERT_EQ(0, setresuid(65534, 65534, 65534));
}

TEST_F(perms, nobody_cannot_open)
{
	become_nobody();
	EXPECT_EQ(-1, open(dev_path(), O_RDWR | O_CLOEXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, open(dev_path(), O_RDONLY | O_CLOEXEC));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(perms, group_can_open)
{
	struct drm_uma_query_device dev;

	become_tester();
	self->fd = dev_open();
	query_device(self->fd, &dev);
}

static int create_queue(int fd, __u32 vm, __u32 priority, __u32 *queue)
{
	struct drm_uma_queue_create args = {
		.vm_id = vm, .engine_class = UMA_ENGINE_GPU, .instances = 1, .priority = priority,
	};

	return queue_create_try(fd, &args, queue);
}

static int create(int fd, __u32 vm, __u32 priority)
{
	__u32 queue;

	return create_queue(fd, vm, priority, &queue);
}

static int create_patient(int fd, __u32 vm, __u32 timeout_ms, __u32 *queue)
{
	const struct drm_uma_queue_create args = {
		.vm_id = vm, .engine_class = UMA_ENGINE_GPU, .instances = 1,
		.priority = DRM_UMA_PRIORITY_NORMAL, .timeout_ms = timeout_ms,
	};

	return queue_create_try(fd, &args, queue);
}

/* Who has no right to it cannot have jobs run for longer than the administrator says. */
TEST_F(perms, timeouts)
{
	struct drm_uma_query_limits l;
	__u32 vm, queue;

	self->fd = dev_open();
	vm = vm_create(self->fd);
	query_limits(self->fd, &l);
	EXPECT_EQ(600000, l.max_timeout_ms);
	EXPECT_EQ(0, create_patient(self->fd, vm, 600000, &queue));
	close(self->fd);
	become_tester();
	self->fd = dev_open();
	vm = vm_create(self->fd);
	query_limits(self->fd, &l);
	EXPECT_LT(l.default_timeout_ms, 600000);
	EXPECT_EQ(l.default_timeout_ms, l.max_timeout_ms);
	EXPECT_EQ(0, create_patient(self->fd, vm, l.max_timeout_ms, &queue));
	EXPECT_EQ(-EACCES, create_patient(self->fd, vm, l.max_timeout_ms + 1, &queue));
	EXPECT_EQ(-EACCES, create_patient(self->fd, vm, 600000, &queue));
	EXPECT_EQ(-EINVAL, create_patient(self->fd, vm, 600001, &queue));
}

/* Nor for longer than is said later. */
TEST_F(perms, timeout_lowered)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	char path[256], old[32], mask[16];
	struct client c;
	struct buf tasks;
	__u32 queue;
	int file, i;

	self->fd = dev_open();
	for (i = (int)query_engines(self->fd, engines) - 1; i > 0; i--)
		if (engines[i].engine_class == UMA_ENGINE_GPU && !engines[i].instance)
			break;
	snprintf(mask, sizeof(mask), "%u", 1u << i);
	device_path(dev_name(), "job_timeout_ms", path, sizeof(path));
	ASSERT_GT(file_read_try(path, old, sizeof(old)), 0);
	file = open(path, O_WRONLY | O_CLOEXEC);
	ASSERT_GE(file, 0);
	ASSERT_EQ(6, pwrite(file, "600000", 6, 0));
	if (!emu_knob(dev_name(), "hang_next", mask))
		SKIP("cannot make jobs hang");
	expect_resets(1);
	expect_log();
	become_tester();
	client_open(&c);
	client_buf(&c, &tasks, PAGE);
	task_nop(tasks.task);
	EXPECT_EQ(0, create_patient(c.fd, c.vm, 600000, &queue));
	EXPECT_EQ(3, pwrite(file, "300", 3, 0));
	EXPECT_EQ(-ETIME, client_run(&c, queue, tasks.va, 1));
	EXPECT_EQ((ssize_t)strlen(old), pwrite(file, old, strlen(old), 0));
	client_close(&c);
	close(file);
}

/* How long single jobs of others run is as little for all as what they do. */
TEST_F(perms, busy_time)
{
	struct drm_uma_counters_get get = {};
	struct client c;
	struct buf tasks;
	char path[256];
	__u32 queue;
	int i;

	get.engine = 0;
	client_open(&c);
	client_buf(&c, &tasks, PAGE);
	task_nop(tasks.task);
	queue = queue_create(c.fd, c.vm, 0);
	device_path(dev_name(), "npu_busy_time_us", path, sizeof(path));
	/* That it is in whole hundredths by chance is not so three times, each after a job. */
	for (i = 0; i < 3 && read_number(path) % 10000 == 0; i++)
		EXPECT_EQ(0, client_run(&c, queue, tasks.va, 1));
	EXPECT_LT(i, 3);
	EXPECT_EQ(0, do_ioctl(c.fd, DRM_IOCTL_UMA_COUNTERS, &get));
	become_tester();
	EXPECT_EQ(-EACCES, do_ioctl(c.fd, DRM_IOCTL_UMA_COUNTERS, &get));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, client_run(&c, queue, tasks.va, 1));
		EXPECT_EQ(0, read_number(path) % 10000);
	}
	EXPECT_GT(device_number(dev_name(), "engine-matrix0/jobs"), 2);
	EXPECT_EQ(0, device_number(dev_name(), "engine-matrix0/busy_time_us") % 10000);
	client_close(&c);
}

static void check_priorities(bool raised)
{
	struct drm_uma_query_limits limits;
	int fd = dev_open();
	__u32 vm = vm_create(fd);

	query_limits(fd, &limits);
	EXPECT_EQ(raised, !!(limits.priorities & 1u << DRM_UMA_PRIORITY_HIGH));
	EXPECT_EQ(raised, !!(limits.priorities & 1u << DRM_UMA_PRIORITY_REALTIME));
	EXPECT_EQ(0, create(fd, vm, DRM_UMA_PRIORITY_LOW));
	EXPECT_EQ(0, create(fd, vm, DRM_UMA_PRIORITY_NORMAL));
	EXPECT_EQ(raised ? 0 : -EACCES, create(fd, vm, DRM_UMA_PRIORITY_HIGH));
	EXPECT_EQ(raised ? 0 : -EACCES, create(fd, vm, DRM_UMA_PRIORITY_REALTIME));
	close(fd);
}

TEST_F(perms, root_may_raise)
{
	check_priorities(true);
}

TEST_F(perms, user_may_not_raise)
{
	become_tester();
	check_priorities(false);
}

/* Root of a user namespace is nobody to the device. */
TEST_F(perms, namespace_root_may_not_raise)
{
	become_tester();
	if (unshare(CLONE_NEWUSER))
		SKIP("no user namespaces: %s", strerror(errno));
	check_priorities(false);
}

/* It is the caller that counts, not who opened the file. */
TEST_F(perms, file_of_root)
{
	__u32 vm;

	self->fd = dev_open();
	vm = vm_create(self->fd);
	become_tester();
	EXPECT_EQ(-EACCES, create(self->fd, vm, DRM_UMA_PRIORITY_HIGH));
}

static int pin(int fd, size_t size, __u32 *handle)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_TRUE(p != MAP_FAILED);
	return bo_import_user_try(fd, p, size, 0, handle);
}

TEST_F(perms, memlock)
{
	struct rlimit limit = { .rlim_cur = PAGE, .rlim_max = PAGE };
	__u32 handle;

	self->fd = dev_open();
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	/* CAP_IPC_LOCK is above the limit. */
	EXPECT_EQ(0, pin(self->fd, 4 * PAGE, &handle));
	gem_close(self->fd, handle);
	become_tester();
	EXPECT_EQ(-ENOMEM, pin(self->fd, 4 * PAGE, &handle));
	EXPECT_EQ(0, pin(self->fd, PAGE, &handle));
}

/* Somebody who lets go of queues all the time. */
static pid_t churn(void)
{
	pid_t pid = fork();
	struct client c;

	ASSERT_GE(pid, 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	become_tester();
	client_open(&c);
	for (;;)
		queue_destroy_try(c.fd, queue_create(c.fd, c.vm, 0));
}

#define CHURNERS	8

/* Who is at a limit does not wait for what others begin to let go of. */
TEST_F(perms, refused_beside_others)
{
	struct rlimit limit = { .rlim_cur = 2 * PAGE, .rlim_max = 2 * PAGE };
	uint64_t queue_ns = 0, pin_ns = 0, begin, most;
	struct drm_uma_query_limits l;
	pid_t others[CHURNERS];
	__u32 vm, i, handle, queue = 0;

	self->fd = dev_open();
	query_limits(self->fd, &l);
	vm = vm_create(self->fd);
	for (i = 0; i < l.max_queues; i++)
		ASSERT_EQ(0, create_queue(self->fd, vm, DRM_UMA_PRIORITY_NORMAL, &queue));
	/* What the release of one takes on this machine. */
	begin = now_ns();
	ASSERT_EQ(0, queue_destroy_try(self->fd, queue));
	ASSERT_EQ(0, create(self->fd, vm, DRM_UMA_PRIORITY_NORMAL));
	most = 1000000000 + 2 * CHURNERS * (now_ns() - begin);
	for (i = 0; i < CHURNERS; i++)
		others[i] = churn();
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	become_tester();
	EXPECT_EQ(0, pin(self->fd, PAGE, &handle));
	for (i = 0; i < 4; i++) {
		usleep(100000);
		begin = now_ns();
		EXPECT_EQ(-ENOSPC, create(self->fd, vm, DRM_UMA_PRIORITY_NORMAL));
		queue_ns += now_ns() - begin;
		usleep(100000);
		begin = now_ns();
		EXPECT_EQ(-ENOMEM, pin(self->fd, 2 * PAGE, &handle));
		pin_ns += now_ns() - begin;
	}
	for (i = 0; i < CHURNERS; i++) {
		EXPECT_EQ(0, waitpid(others[i], NULL, WNOHANG));
		kill(others[i], SIGKILL);
		EXPECT_EQ(others[i], waitpid(others[i], NULL, 0));
	}
	harness_diag("refused four times in %llu and %llu of %llu ms",
		     (unsigned long long)queue_ns / 1000000, (unsigned long long)pin_ns / 1000000,
		     (unsigned long long)most / 1000000);
	EXPECT_LT(queue_ns, most);
	EXPECT_LT(pin_ns, most);
}

TEST_F(perms, test_hooks_are_for_root)
{
	char path[256];

	become_tester();
	EXPECT_FALSE(emu_knob(dev_name(), "hang_next", "1"));
	EXPECT_FALSE(emu_knob(dev_name(), "unplug", "1"));
	if (dev_debugfs(dev_name(), "reset_counter", path, sizeof(path)))
		EXPECT_FALSE(write_text(path, "0"));
}

TEST_F(perms, sysfs_is_for_root)
{
	become_tester();
	EXPECT_FALSE(write_text("/sys/bus/platform/drivers/uma/unbind", "uma.0"));
	EXPECT_FALSE(write_text("/sys/bus/platform/drivers/uma/bind", "uma.0"));
}

/*
 * The core's ioctls for a master of a display are not for us, and flink names leak buffers to
 * anybody.
 */
TEST_F(perms, no_global_names)
{
	struct drm_gem_flink flink = { 0 };

	become_tester();
	self->fd = dev_open();
	flink.handle = bo_create(self->fd, PAGE, 0);
	EXPECT_NE(0, do_ioctl(self->fd, DRM_IOCTL_GEM_FLINK, &flink));
}

HARNESS_MAIN
