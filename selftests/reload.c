// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Modules that are removed and loaded again, in use or not. Last of all tests
 * but one: the device under test goes with them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "task.h"
#include "watch.h"

FIXTURE(reload) {
	char parameters[128];
};

static int run(const char *program, const char *a, const char *b)
{
	int status;
	pid_t pid;

	pid = harness_fork();
	if (!pid) {
		execlp(program, program, a, b, (char *)NULL);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Straight to the kernel: tools retry and wait as they like. */
static int unload(const char *module)
{
	return syscall(SYS_delete_module, module, O_NONBLOCK) ? -errno : 0;
}

/* What holds it lets go of it a moment later: fences are freed after a grace period. */
static void unload_after_all(void)
{
	while (unload("uma") == -EAGAIN)
		usleep(10000);
	EXPECT_EQ(-1, access("/sys/module/uma", F_OK));
}

static void load(struct reload_fixture *self)
{
	struct stat st;
	int i;

	ASSERT_EQ(0, run("modprobe", "uma", NULL));
	ASSERT_EQ(0, run("modprobe", "uma_emu", self->parameters));
	/* Whoever sets the permissions of nodes here takes a moment, and later tests need them. */
	for (i = 0; i < 1000; i++) {
		if (!stat(dev_path(), &st) && (st.st_gid || i > 200))
			return;
		usleep(10000);
	}
	harness_fail(__FILE__, __LINE__, "no %s", dev_path());
	harness_end();
}

FIXTURE_SETUP(reload)
{
	char paranoid[8] = "";

	if (!is_root())
		SKIP("needs root");
	if (!read_text("/sys/module/uma_emu/parameters/paranoid", paranoid, sizeof(paranoid)))
		SKIP("no uma_emu module");
	snprintf(self->parameters, sizeof(self->parameters), "paranoid=%c",
		 paranoid[0] == 'Y' ? '1' : '0');
	expect_gone();
	harness->log = 0;
}

FIXTURE_TEARDOWN(reload)
{
	if (access("/sys/module/uma_emu", F_OK))
		load(self);
}

TEST_F_TIMEOUT(reload, idle, 240)
{
	const char *rounds = getenv("UMA_RELOADS");
	int n = rounds ? atoi(rounds) : 10, i;
	struct client c;

	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, unload("uma_emu"));
		EXPECT_EQ(-1, access(dev_path(), F_OK));
		unload_after_all();
		load(self);
		client_open(&c);
		ASSERT_EQ(0, client_run(&c, queue_create(c.fd, c.vm, 0), 0, 0));
		client_close(&c);
	}
}

/* The device may go, the driver's code may not, as long as a file of it is open. */
TEST_F_TIMEOUT(reload, file_open, 240)
{
	struct client c;
	struct buf b;
	__u32 size = 0;

	client_open(&c);
	client_buf(&c, &b, PAGE);
	b.u8[0] = 1;
	EXPECT_EQ(-EAGAIN, unload("uma"));
	ASSERT_EQ(0, unload("uma_emu"));
	EXPECT_EQ(-EAGAIN, unload("uma"));
	EXPECT_EQ(-ENODEV, query_try(c.fd, DRM_UMA_QUERY_DEVICE, 0, NULL, &size));
	ASSERT_EQ(0, munmap(b.map, b.size));
	client_close(&c);
	unload_after_all();
	load(self);
}

TEST_F_TIMEOUT(reload, jobs_waiting, 240)
{
	struct gate gate;
	struct client c;
	int file, ret;
	__u32 done;

	client_open(&c);
	gate_close(&gate, c.fd);
	done = client_start_after(&c, queue_create(c.fd, c.vm, 0), 0, 0, gate.syncobj);
	ASSERT_EQ(0, syncobj_export_try(c.fd, done, true, &file));
	ASSERT_EQ(0, unload("uma_emu"));
	gate_open(&gate);
	client_close(&c);
	/* The fence outlives the file. Either its code stays for as long, or it can do without. */
	ret = unload("uma");
	EXPECT_TRUE(ret == 0 || ret == -EAGAIN);
	EXPECT_LT(sync_file_wait(file), 0);
	close(file);
	gate_free(&gate);
	unload_after_all();
	load(self);
}

TEST_F_TIMEOUT(reload, job_running, 240)
{
	struct client c;
	struct buf b;
	__u32 done;
	int file;

	client_open(&c);
	client_buf(&c, &b, PAGE);
	task_nop(b.task);
	ASSERT_TRUE(emu_knob(dev_name(), "hang_next", "1"));
	done = client_start(&c, queue_create(c.fd, c.vm, 0), b.va, 1);
	ASSERT_EQ(0, syncobj_export_try(c.fd, done, true, &file));
	ASSERT_TRUE(hang_begins(dev_name()));
	ASSERT_EQ(0, unload("uma_emu"));
	EXPECT_EQ(-ENODEV, sync_file_status(file));
	close(file);
	ASSERT_EQ(0, munmap(b.map, b.size));
	client_close(&c);
	unload_after_all();
	load(self);
}

/* A finished fence in a sync file, with the driver gone and come back. */
TEST_F_TIMEOUT(reload, fence_kept, 240)
{
	struct client c;
	struct buf b;
	__u32 done;
	int file;

	client_open(&c);
	client_buf(&c, &b, PAGE);
	/* A job without tasks has no fence of the driver. */
	task_nop(b.task);
	done = client_start(&c, queue_create(c.fd, c.vm, 0), b.va, 1);
	syncobj_wait(c.fd, done);
	ASSERT_EQ(0, syncobj_export_try(c.fd, done, true, &file));
	ASSERT_EQ(0, munmap(b.map, b.size));
	client_close(&c);
	ASSERT_EQ(0, unload("uma_emu"));
	EXPECT_EQ(-EAGAIN, unload("uma"));
	/* If it is a module. */
	if (!access("/sys/module/gpu_sched/initstate", F_OK))
		EXPECT_EQ(-EAGAIN, unload("gpu_sched"));
	EXPECT_EQ(1, sync_file_status(file));
	close(file);
	unload_after_all();
	load(self);
}

TEST_F_TIMEOUT(reload, dmabuf_kept, 240)
{
	struct client c;
	struct buf b;
	__u8 *p;
	int fd;

	client_open(&c);
	client_buf(&c, &b, PAGE);
	memset(b.map, 0x1d, PAGE);
	fd = prime_export(c.fd, b.handle);
	ASSERT_EQ(0, munmap(b.map, b.size));
	client_close(&c);
	ASSERT_EQ(0, unload("uma_emu"));
	EXPECT_EQ(-EAGAIN, unload("uma"));
	p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) {
		EXPECT_EQ(0x1d, p[0]);
		ASSERT_EQ(0, munmap(p, PAGE));
	}
	close(fd);
	unload_after_all();
	load(self);
}

/* Names in trace records are copies: reading them needs no module. */
TEST_F_TIMEOUT(reload, trace_kept, 240)
{
	const char *dir = "/sys/kernel/tracing", *on = "/sys/kernel/tracing/events/uma/enable";
	static char text[1 << 20];
	struct client c;
	struct buf b;

	if (access(on, W_OK))
		SKIP("no events in %s", dir);
	ASSERT_TRUE(write_text(on, "1"));
	client_open(&c);
	client_buf(&c, &b, PAGE);
	task_nop(b.task);
	ASSERT_EQ(0, client_run(&c, queue_create(c.fd, c.vm, 0), b.va, 1));
	ASSERT_EQ(0, munmap(b.map, b.size));
	client_close(&c);
	ASSERT_TRUE(read_text("/sys/kernel/tracing/trace", text, sizeof(text)));
	EXPECT_TRUE(strstr(text, "uma_job_done"));
	ASSERT_EQ(0, unload("uma_emu"));
	/* The device has gone, the module has not. */
	ASSERT_TRUE(read_text("/sys/kernel/tracing/trace", text, sizeof(text)));
	EXPECT_TRUE(strstr(text, "uma_job_done"));
	ASSERT_TRUE(write_text(on, "0"));
	unload_after_all();
	/* Nor the module; the kernel may have thrown the records away. */
	ASSERT_TRUE(read_text("/sys/kernel/tracing/trace", text, sizeof(text)));
	load(self);
}

HARNESS_MAIN
