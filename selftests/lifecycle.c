// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Devices that leave while they are used: taken away, unplugged, unbound.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/dma-buf.h>
#include <linux/userfaultfd.h>

#include "instance.h"
#include "task.h"
#include "watch.h"

#define SIZE	(4 * PAGE)

enum way {
	DISABLE, UNPLUG, UNBIND,
};

FIXTURE(leave) {
	struct instance in;
	struct client c;
	struct buf tasks;
	struct buf data;
	enum way way;
};

FIXTURE_VARIANT(leave) {
	enum way way;
};

FIXTURE_VARIANT_ADD(leave, disabled) { .way = DISABLE };
FIXTURE_VARIANT_ADD(leave, unplugged) { .way = UNPLUG };
FIXTURE_VARIANT_ADD(leave, unbound) { .way = UNBIND };

FIXTURE_SETUP(leave)
{
	instance_start(&self->in, "leave", "m1");
	client_open_named(&self->c, self->in.node);
	client_buf(&self->c, &self->tasks, 4 * PAGE);
	client_buf(&self->c, &self->data, SIZE);
	task_nop(self->tasks.task);
	self->way = variant->way;
}

FIXTURE_TEARDOWN(leave)
{
	client_close(&self->c);
	instance_drop(&self->in);
}

static void leave(struct leave_fixture *self)
{
	char node[32];

	switch (self->way) {
	case DISABLE:
		instance_set(&self->in, "enabled", "0");
		break;
	case UNPLUG:
		ASSERT_TRUE(emu_knob(self->in.node, "unplug", "1"));
		/* It goes by itself, a little later. */
		while (node_of(self->in.device, node, sizeof(node)))
			usleep(10000);
		break;
	case UNBIND:
		ASSERT_TRUE(write_text("/sys/bus/platform/drivers/uma/unbind", self->in.device));
		break;
	}
	EXPECT_FALSE(node_of(self->in.device, node, sizeof(node)));
}

TEST_F(leave, idle)
{
	leave(self);
}

TEST_F(leave, every_ioctl_says_so)
{
	struct drm_uma_query_device dev;
	struct drm_uma_queue_state state;
	struct drm_uma_timestamp t = { 0 };
	struct drm_uma_sync_range range = {
		.handle = self->data.handle, .flags = DRM_UMA_SYNC_TO_CPU, .size = PAGE,
	};
	struct drm_uma_bo_sync bo_sync = { .ranges = array_of(&range, sizeof(range), 1) };
	struct drm_uma_queue_create create = {
		.vm_id = self->c.vm,
		.engine_class = UMA_ENGINE_GPU,
		.instances = 1,
		.priority = DRM_UMA_PRIORITY_NORMAL,
	};
	__u32 queue = queue_create(self->c.fd, self->c.vm, 0), id, size = sizeof(dev);
	struct drm_uma_bo_info info;
	__u64 offset;
	void *p;
	int fd;

	p = aligned_alloc(PAGE, PAGE);
	ASSERT_TRUE(p);
	memset(p, 0, PAGE);
	leave(self);
	EXPECT_EQ(-ENODEV, query_try(self->c.fd, DRM_UMA_QUERY_DEVICE, 0, &dev, &size));
	EXPECT_EQ(-ENODEV, bo_create_try(self->c.fd, PAGE, 0, &id));
	EXPECT_EQ(-ENODEV, bo_offset_try(self->c.fd, self->data.handle, &offset));
	EXPECT_EQ(-ENODEV, bo_import_user_try(self->c.fd, p, PAGE, 0, &id));
	EXPECT_EQ(-ENODEV, bo_info_try(self->c.fd, self->data.handle, &info));
	EXPECT_EQ(-ENODEV, bo_label_try(self->c.fd, self->data.handle, "x", 1));
	EXPECT_EQ(-ENODEV, do_ioctl(self->c.fd, DRM_IOCTL_UMA_BO_SYNC, &bo_sync));
	EXPECT_EQ(-ENODEV, vm_create_try(self->c.fd, &id));
	EXPECT_EQ(-ENODEV, vm_destroy_try(self->c.fd, self->c.vm));
	EXPECT_EQ(-ENODEV, vm_unmap_try(self->c.fd, self->c.vm, self->data.va, SIZE));
	EXPECT_EQ(-ENODEV, queue_create_try(self->c.fd, &create, &id));
	EXPECT_EQ(-ENODEV, queue_destroy_try(self->c.fd, queue));
	EXPECT_EQ(-ENODEV, queue_state_try(self->c.fd, queue, &state));
	EXPECT_EQ(-ENODEV, submit_one_try(self->c.fd, queue, 0, 0, NULL, 0));
	EXPECT_EQ(-ENODEV, do_ioctl(self->c.fd, DRM_IOCTL_UMA_TIMESTAMP, &t));
	EXPECT_EQ(-ENODEV, gem_close_try(self->c.fd, self->data.handle));
	EXPECT_EQ(-ENODEV, prime_export_try(self->c.fd, self->data.handle, DRM_CLOEXEC, &fd));
}

static sigjmp_buf jump;

static void on_bus(int sig __attribute__((unused)))
{
	siglongjmp(jump, 1);
}

/* Memory is still there, or reading it is SIGBUS: both can be lived with, anything else cannot. */
TEST_F(leave, mapped_buffer)
{
	struct sigaction sa = { .sa_handler = on_bus };
	__u8 *p = self->data.map;

	p[0] = 1;
	leave(self);
	ASSERT_EQ(0, sigaction(SIGBUS, &sa, NULL));
	if (!sigsetjmp(jump, 1)) {
		EXPECT_EQ(1, __atomic_load_n(&p[0], __ATOMIC_SEQ_CST));
		__atomic_store_n(&p[1], 2, __ATOMIC_SEQ_CST);
		/* A page that was not touched before. */
		__atomic_store_n(&p[2 * PAGE], 3, __ATOMIC_SEQ_CST);
	}
	ASSERT_EQ(0, munmap(self->data.map, SIZE));
}

/* Fences of what waits are signalled: nobody waits for a device that is gone. */
TEST_F(leave, waiting_job)
{
	struct gate gate;
	__u32 done[4];
	int files[4], i;

	gate_close(&gate, self->c.fd);
	for (i = 0; i < 4; i++) {
		__u32 queue = queue_create(self->c.fd, self->c.vm, (unsigned int)i % 3);

		done[i] = client_start_after(&self->c, queue, self->tasks.va, 1, gate.syncobj);
		ASSERT_EQ(0, syncobj_export_try(self->c.fd, done[i], true, &files[i]));
	}
	leave(self);
	gate_open(&gate);
	for (i = 0; i < 4; i++) {
		EXPECT_LT(sync_file_wait(files[i]), 0);
		close(files[i]);
	}
	gate_free(&gate);
}

TEST_F(leave, running_job)
{
	__u32 queue = queue_create(self->c.fd, self->c.vm, 0), running, behind;
	int file, file2, status;

	ASSERT_TRUE(emu_knob(self->in.node, "hang_next", "1"));
	running = client_start(&self->c, queue, self->tasks.va, 1);
	behind = client_start(&self->c, queue, self->tasks.va, 1);
	ASSERT_EQ(0, syncobj_export_try(self->c.fd, running, true, &file));
	ASSERT_EQ(0, syncobj_export_try(self->c.fd, behind, true, &file2));
	ASSERT_TRUE(hang_begins(self->in.node));
	leave(self);
	EXPECT_EQ(-ENODEV, sync_file_wait(file));
	status = sync_file_wait(file2);
	EXPECT_TRUE(status == -ENODEV || status == -ECANCELED);
	close(file);
	close(file2);
}

/* Many jobs on all engines, that end as they do. */
TEST_F(leave, busy)
{
	__u32 queues[3], done = 0;
	int i, file, status;

	task_fill(self->tasks.task, UMA_DTYPE_U8, self->data.va, (__u32)SIZE, 0x12);
	for (i = 0; i < 3; i++)
		queues[i] = queue_create(self->c.fd, self->c.vm, (unsigned int)i);
	for (i = 0; i < 60; i++)
		done = client_start(&self->c, queues[i % 3], self->tasks.va, 1);
	ASSERT_EQ(0, syncobj_export_try(self->c.fd, done, true, &file));
	leave(self);
	status = sync_file_wait(file);
	EXPECT_TRUE(status == 1 || status == -ENODEV || status == -ECANCELED);
	/* Once it has gone, it writes nothing. */
	memset(self->data.map, 0x99, SIZE);
	usleep(50000);
	for (i = 0; i < (int)SIZE; i++)
		ASSERT_EQ(0x99, self->data.u8[i]);
	close(file);
}

/* A process sleeps in a wait for a job when the device goes. */
TEST_F(leave, with_a_waiter)
{
	__u32 queue = queue_create(self->c.fd, self->c.vm, 0), done;
	pid_t pid;

	ASSERT_TRUE(emu_knob(self->in.node, "hang_next", "1"));
	done = client_start(&self->c, queue, self->tasks.va, 1);
	pid = harness_fork();
	if (!pid) {
		int ret = syncobj_wait_try(self->c.fd, done, FOREVER, 0);

		_exit(ret == 0 || ret == -ENODEV ? 0 : 1);
	}
	while (!waits_in(pid, "drm_syncobj"))
		usleep(1000);
	leave(self);
	harness_join(pid);
}

TEST_F(leave, exported_buffer)
{
	int fd = prime_export(self->c.fd, self->data.handle), other;
	__u8 *p;

	memset(self->data.map, 0x5b, SIZE);
	leave(self);
	client_close(&self->c);
	other = dev_open();
	EXPECT_NE(0, prime_import(other, fd));
	p = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED)
		EXPECT_EQ(0x5b, p[SIZE - 1]);
	close(other);
	close(fd);
}

TEST_F(leave, imported_buffer)
{
	int other = dev_open(), fd;
	__u32 handle = bo_create(other, SIZE, 0);
	__u8 *p = bo_map(other, handle, SIZE);

	fd = prime_export(other, handle);
	client_bind_handle(&self->c, prime_import(self->c.fd, fd), SIZE, 0);
	close(fd);
	leave(self);
	memset(p, 1, SIZE);
	gem_close(other, handle);
	close(other);
}

TEST_F(leave, user_memory)
{
	__u8 *p = aligned_alloc(PAGE, SIZE);
	__u32 handle;

	ASSERT_TRUE(p);
	memset(p, 1, SIZE);
	ASSERT_EQ(0, bo_import_user_try(self->c.fd, p, SIZE, 0, &handle));
	client_bind_handle(&self->c, handle, SIZE, 0);
	leave(self);
	/* A mapping keeps the file open as well as a descriptor does. */
	ASSERT_EQ(0, munmap(self->tasks.map, self->tasks.size));
	ASSERT_EQ(0, munmap(self->data.map, self->data.size));
	client_close(&self->c);
	/* Whoever takes the device away may be the last to look at an address space. */
	while (pinned_kb() > 0)
		usleep(10000);
	memset(p, 2, SIZE);
}

TEST_F(leave, file_stays_open)
{
	int fds[10], i;

	for (i = 0; i < 10; i++)
		fds[i] = dev_open_named(self->in.node);
	leave(self);
	/* Another device may come while the files of the first are still open. */
	if (self->way == DISABLE) {
		instance_enable(&self->in);
		EXPECT_EQ(0, close(dev_open_named(self->in.node)));
	}
	for (i = 0; i < 10; i++)
		EXPECT_EQ(0, close(fds[i]));
}

/* --- memory that does not arrive ------------------------------------------------------------- */

enum reader_of {
	OF_ANSWER, OF_USER_MEMORY, OF_LABEL, OF_RANGES, OF_OPS, OF_JOBS, OF_SYNCS, OF_BOS,
	OF_COUNTERS,
	READERS,
};

struct reader {
	struct leave_fixture *self;
	enum reader_of of;
	pthread_t thread;
	__u32 queue;
	void *page;
	int ret;
};

struct readers {
	struct reader reader[READERS];
	int uffd;
	__u8 *pages;
	bool left;
	bool late;
};

/* An ioctl that needs what is on a page, by its kind. */
static int reader_call(struct reader *r)
{
	struct drm_uma_array page = array_of(r->page, 64, 1);
	struct drm_uma_counters_get counters = {
		.queue_id = r->queue, .size = PAGE, .data = (uintptr_t)r->page,
	};
	struct drm_uma_bo_sync sync = { .ranges = page };
	struct drm_uma_job job = { .queue_id = r->queue };
	__u32 id, size = PAGE;
	int fd = r->self->c.fd;

	switch (r->of) {
	case OF_ANSWER:
		return query_try(fd, DRM_UMA_QUERY_DEVICE, 0, r->page, &size);
	case OF_USER_MEMORY:
		return bo_import_user_try(fd, r->page, PAGE, 0, &id);
	case OF_LABEL:
		return bo_label_try(fd, r->self->data.handle, r->page, 8);
	case OF_RANGES:
		return do_ioctl(fd, DRM_IOCTL_UMA_BO_SYNC, &sync);
	case OF_OPS:
		return vm_bind_try(fd, r->self->c.vm, r->page, 1, NULL);
	case OF_JOBS:
		return submit_try(fd, r->page, 1, NULL);
	case OF_SYNCS:
		job.syncs = page;
		return submit_try(fd, &job, 1, NULL);
	case OF_BOS:
		job.bos = page;
		return submit_try(fd, &job, 1, NULL);
	default:
		return do_ioctl(fd, DRM_IOCTL_UMA_COUNTERS, &counters);
	}
}

static void *reader_run(void *p)
{
	struct reader *r = p;

	r->ret = reader_call(r);
	return NULL;
}

/* Who waits for the page of an ioctl waits no longer. */
static void pages_arrive(struct readers *all)
{
	struct uffdio_zeropage zero = {
		.range = { .start = (uintptr_t)all->pages, .len = READERS * PAGE },
	};

	EXPECT_EQ(0, do_ioctl(all->uffd, UFFDIO_ZEROPAGE, &zero));
}

/* If the device does not go without them, they arrive in the end, so that it can. */
static void *pages_arrive_late(void *p)
{
	struct readers *all = p;
	int i;

	for (i = 0; i < 600 && !__atomic_load_n(&all->left, __ATOMIC_ACQUIRE); i++)
		usleep(100000);
	all->late = !__atomic_load_n(&all->left, __ATOMIC_ACQUIRE);
	pages_arrive(all);
	return NULL;
}

/*
 * A page that does not arrive, because the file system or the process that is to bring it takes its
 * time, holds up who needs it and nobody else: the device goes, with ioctls waiting for one.
 */
TEST_F_TIMEOUT(leave, pages_do_not_arrive, 240)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct readers all = { 0 };
	bool waiting[READERS] = { 0 };
	unsigned int i, count = 0;
	struct uffd_msg msg;
	pthread_t late;

	all.uffd = (int)syscall(__NR_userfaultfd, O_CLOEXEC);
	if (all.uffd < 0)
		SKIP("no userfaultfd");
	ASSERT_EQ(0, do_ioctl(all.uffd, UFFDIO_API, &api));
	all.pages = mmap(NULL, READERS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	ASSERT_TRUE(all.pages != MAP_FAILED);
	reg.range.start = (uintptr_t)all.pages;
	reg.range.len = READERS * PAGE;
	ASSERT_EQ(0, do_ioctl(all.uffd, UFFDIO_REGISTER, &reg));
	for (i = 0; i < READERS; i++) {
		struct reader *r = &all.reader[i];

		r->self = self;
		r->of = (enum reader_of)i;
		r->page = all.pages + i * PAGE;
		r->queue = queue_create(self->c.fd, self->c.vm, 0);
		ASSERT_EQ(0, pthread_create(&r->thread, NULL, reader_run, r));
	}
	while (count < READERS) {
		struct pollfd p = { .fd = all.uffd, .events = POLLIN };

		ASSERT_EQ(1, poll(&p, 1, -1));
		ASSERT_EQ((ssize_t)sizeof(msg), read(all.uffd, &msg, sizeof(msg)));
		ASSERT_EQ(UFFD_EVENT_PAGEFAULT, msg.event);
		i = (unsigned int)((msg.arg.pagefault.address - (uintptr_t)all.pages) / PAGE);
		ASSERT_LT(i, READERS);
		count += !waiting[i];
		waiting[i] = true;
	}
	ASSERT_EQ(0, pthread_create(&late, NULL, pages_arrive_late, &all));
	leave(self);
	__atomic_store_n(&all.left, true, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(late, NULL));
	EXPECT_FALSE(all.late);
	/* What they were about to do they do not. */
	for (i = 0; i < READERS; i++) {
		int ret;

		ASSERT_EQ(0, pthread_join(all.reader[i].thread, NULL));
		ret = all.reader[i].ret;
		EXPECT_TRUE(ret == -ENODEV || ret == -EINVAL ||
			    (!ret && (i == OF_ANSWER || i == OF_COUNTERS)));
	}
	close(all.uffd);
}

/* --- and nothing of it stays ----------------------------------------------------------------- */

#define TRACEFS	"/sys/kernel/tracing"

static void trace_begin(void)
{
	int fd = open(TRACEFS "/trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0 || !write_text(TRACEFS "/events/dma/enable", "1"))
		SKIP("this kernel does not trace DMA mappings");
	close(fd);
}

static void trace_end(void)
{
	ASSERT_TRUE(write_text(TRACEFS "/events/dma/enable", "0"));
}

/* How often an event of the device's DMA mappings has been since tracing began. */
static unsigned int traced(struct leave_fixture *self, const char *event)
{
	char line[1024], want[128];
	unsigned int n = 0;
	FILE *f;

	snprintf(want, sizeof(want), " %s: %s ", event, self->in.device);
	f = fopen(TRACEFS "/trace", "re");
	ASSERT_TRUE(f);
	while (fgets(line, sizeof(line), f))
		n += !!strstr(line, want);
	ASSERT_EQ(0, fclose(f));
	return n;
}

/* Whatever files are still open: once the driver has left, nothing is mapped for the device. */
TEST_F(leave, unmapped)
{
	int other = dev_open(), fd;
	unsigned int n;
	__u32 handle;
	__u8 *p;

	handle = bo_create(other, SIZE, 0);
	bo_map(other, handle, SIZE);
	fd = prime_export(other, handle);
	client_bind_handle(&self->c, prime_import(self->c.fd, fd), SIZE, 0);
	close(fd);
	p = aligned_alloc(PAGE, SIZE);
	ASSERT_TRUE(p);
	memset(p, 1, SIZE);
	ASSERT_EQ(0, bo_import_user_try(self->c.fd, p, SIZE, 0, &handle));
	memset(self->data.map, 0x5b, SIZE);

	trace_begin();
	leave(self);
	/* Two buffers, an imported one, user memory; when it is unplugged that takes a while. */
	while (traced(self, "dma_unmap_sg") < 4)
		usleep(10000);
	n = traced(self, "dma_unmap_sg");
	EXPECT_EQ(4, n);
	while (pinned_kb() > 0)
		usleep(10000);
	EXPECT_EQ(0x5b, self->data.u8[0]);
	ASSERT_EQ(0, munmap(self->tasks.map, self->tasks.size));
	ASSERT_EQ(0, munmap(self->data.map, self->data.size));
	client_close(&self->c);
	EXPECT_EQ(n, traced(self, "dma_unmap_sg"));
	trace_end();
	close(other);
}

/* Nor is anything mapped anew: who has a dma-buf has what was in it before. */
TEST_F(leave, not_mapped_anew)
{
	__u32 empty = bo_create(self->c.fd, SIZE, 0);
	int filled_fd, empty_fd;
	__u8 *p;

	memset(self->data.map, 0x5b, SIZE);
	filled_fd = prime_export(self->c.fd, self->data.handle);
	empty_fd = prime_export(self->c.fd, empty);
	leave(self);
	trace_begin();
	EXPECT_TRUE(mmap(NULL, SIZE, PROT_READ, MAP_SHARED, empty_fd, 0) == MAP_FAILED);
	p = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, filled_fd, 0);
	trace_end();
	EXPECT_EQ(0, traced(self, "dma_map_sg"));
	ASSERT_TRUE(p != MAP_FAILED);
	EXPECT_EQ(0x5b, p[SIZE - 1]);
	close(filled_fd);
	close(empty_fd);
}

/* --- and comes back -------------------------------------------------------------------------- */

TEST_TIMEOUT(unbind_bind, 240)
{
	struct instance in;
	struct client c, held;
	struct buf b;
	int i;

	instance_start(&in, "rebind", "m1");
	client_open_named(&held, in.node);
	client_buf(&held, &b, PAGE);
	for (i = 0; i < 5; i++) {
		ASSERT_TRUE(write_text("/sys/bus/platform/drivers/uma/unbind", in.device));
		ASSERT_TRUE(write_text("/sys/bus/platform/drivers/uma/bind", in.device));
		ASSERT_TRUE(node_of(in.device, in.node, sizeof(in.node)));
		client_open_named(&c, in.node);
		EXPECT_EQ(0, client_run(&c, queue_create(c.fd, c.vm, 0), 0, 0));
		client_close(&c);
	}
	b.u8[0] = 1;
	client_close(&held);
	instance_drop(&in);
}

/* Others open, use and close it all the time. */
TEST_TIMEOUT(unbind_bind_under_load, 240)
{
	struct instance in;
	pid_t pids[3];
	int i;

	instance_start(&in, "load", "m1");
	for (i = 0; i < 3; i++) {
		pids[i] = harness_fork();
		if (!pids[i]) {
			char path[64];

			snprintf(path, sizeof(path), "/dev/accel/%s", in.node);
			for (;;) {
				int fd = open(path, O_RDWR | O_CLOEXEC);
				__u32 vm, handle;

				if (fd < 0) {
					usleep(1000);
					continue;
				}
				if (!vm_create_try(fd, &vm) &&
				    !bo_create_try(fd, PAGE, 0, &handle) &&
				    !vm_map_try(fd, vm, handle, 0, 1 << 20, PAGE, 0)) {
					struct drm_uma_queue_create args = {
						.vm_id = vm,
						.engine_class = UMA_ENGINE_GPU,
						.instances = 1,
						.priority = DRM_UMA_PRIORITY_NORMAL,
					};
					__u32 queue;

					if (!queue_create_try(fd, &args, &queue))
						submit_one_try(fd, queue, 1 << 20, 1, NULL, 0);
				}
				close(fd);
			}
		}
	}
	for (i = 0; i < 4; i++) {
		usleep(30000);
		ASSERT_TRUE(write_text("/sys/bus/platform/drivers/uma/unbind", in.device));
		ASSERT_TRUE(write_text("/sys/bus/platform/drivers/uma/bind", in.device));
	}
	for (i = 0; i < 3; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	instance_drop(&in);
}

HARNESS_MAIN
