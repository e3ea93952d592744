// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Fences of jobs as others see them: sync files, timelines, eventfds, other
 * files and processes.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

#include <linux/sync_file.h>

#include "files.h"
#include "task.h"
#include "watch.h"

/* Newer than some copies of drm.h. */
struct syncobj_eventfd {
	__u32 handle;
	__u32 flags;
	__u64 point;
	__s32 fd;
	__u32 pad;
};

#define SYNCOBJ_EVENTFD DRM_IOWR(0xCF, struct syncobj_eventfd)

FIXTURE(sync) {
	struct client c;
	__u32 queue;
	struct gate gate;
	__u32 done;
};

FIXTURE_SETUP(sync)
{
	client_open(&self->c);
	self->queue = queue_create(self->c.fd, self->c.vm, 0);
	gate_close(&self->gate, self->c.fd);
	self->done = syncobj_create(self->c.fd, false);
}

FIXTURE_TEARDOWN(sync)
{
	gate_free(&self->gate);
	client_close(&self->c);
}

/* A job that waits for the gate and signals @done. */
static void start(struct sync_fixture *self)
{
	struct drm_uma_sync syncs[2] = { sync_in(self->gate.syncobj), sync_out(self->done) };

	ASSERT_EQ(0, submit_one_try(self->c.fd, self->queue, 0, 0, syncs, 2));
}

static int sync_file(struct sync_fixture *self, __u32 handle)
{
	int file;

	ASSERT_EQ(0, syncobj_export_try(self->c.fd, handle, true, &file));
	return file;
}

/* Whether it becomes readable (or is now, without waiting). */
static bool readable(int fd, bool wait)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, wait ? -1 : 0) == 1 && p.revents & POLLIN;
}

TEST_F(sync, binary)
{
	start(self);
	EXPECT_FALSE(syncobj_done(self->c.fd, self->done));
	EXPECT_EQ(-ETIME, syncobj_wait_try(self->c.fd, self->done, (int64_t)now_ns() + 1000000, 0));
	gate_open(&self->gate);
	EXPECT_EQ(1, syncobj_result(self->c.fd, self->done));
}

TEST_F(sync, file_export)
{
	int file;

	start(self);
	file = sync_file(self, self->done);
	EXPECT_EQ(0, sync_file_status(file));
	EXPECT_FALSE(readable(file, false));
	gate_open(&self->gate);
	EXPECT_TRUE(readable(file, true));
	EXPECT_EQ(1, sync_file_status(file));
	close(file);
}

TEST_F(sync, file_describes_fence)
{
	struct sync_fence_info fence = { 0 };
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)&fence };
	char engine[32];
	int file;

	engine_name(self->c.fd, 0, engine, sizeof(engine));
	start(self);
	file = sync_file(self, self->done);
	ASSERT_EQ(0, do_ioctl(file, SYNC_IOC_FILE_INFO, &info));
	EXPECT_EQ(1, info.num_fences);
	EXPECT_GT(strnlen(fence.driver_name, sizeof(fence.driver_name)), 0);
	EXPECT_EQ(0, strcmp(engine, fence.obj_name));
	gate_open(&self->gate);
	ASSERT_TRUE(readable(file, true));
	ASSERT_EQ(0, do_ioctl(file, SYNC_IOC_FILE_INFO, &info));
	EXPECT_EQ(1, fence.status);
	EXPECT_GT(fence.timestamp_ns, 0);
	/* The names stay readable when all that they were of has gone. */
	client_close(&self->c);
	memset(&fence, 0, sizeof(fence));
	ASSERT_EQ(0, do_ioctl(file, SYNC_IOC_FILE_INFO, &info));
	EXPECT_GT(strnlen(fence.obj_name, sizeof(fence.obj_name)), 0);
	close(file);
}

TEST_F(sync, file_outlives_client)
{
	int file;

	start(self);
	file = sync_file(self, self->done);
	client_close(&self->c);
	gate_open(&self->gate);
	EXPECT_TRUE(readable(file, true));
	EXPECT_EQ(-ECANCELED, sync_file_status(file));
	close(file);
}

TEST_F(sync, file_import)
{
	__u32 in = syncobj_create(self->c.fd, false), after;
	int file;

	start(self);
	file = sync_file(self, self->done);
	ASSERT_EQ(0, syncobj_import_try(self->c.fd, file, true, &in));
	close(file);
	after = client_start_after(&self->c, queue_create(self->c.fd, self->c.vm, 0), 0, 0, in);
	EXPECT_FALSE(syncobj_done(self->c.fd, after));
	gate_open(&self->gate);
	EXPECT_EQ(1, syncobj_result(self->c.fd, after));
	EXPECT_TRUE(syncobj_done(self->c.fd, self->done));
}

TEST_F(sync, file_merge)
{
	struct sync_merge_data merge = { .name = "both" };
	__u32 free_job, in = syncobj_create(self->c.fd, false), after;
	int a, b;

	start(self);
	free_job = client_start(&self->c, queue_create(self->c.fd, self->c.vm, 0), 0, 0);
	a = sync_file(self, self->done);
	b = sync_file(self, free_job);
	merge.fd2 = b;
	ASSERT_EQ(0, do_ioctl(a, SYNC_IOC_MERGE, &merge));
	syncobj_wait(self->c.fd, free_job);
	EXPECT_EQ(0, sync_file_status(merge.fence));
	ASSERT_EQ(0, syncobj_import_try(self->c.fd, merge.fence, true, &in));
	after = client_start_after(&self->c, queue_create(self->c.fd, self->c.vm, 0), 0, 0, in);
	EXPECT_FALSE(syncobj_done(self->c.fd, after));
	gate_open(&self->gate);
	EXPECT_EQ(1, syncobj_result(self->c.fd, after));
	EXPECT_EQ(1, sync_file_status(merge.fence));
	close(a);
	close(b);
	close(merge.fence);
}

TEST_F(sync, timeline)
{
	__u32 t = syncobj_create(self->c.fd, false);
	struct drm_uma_sync first[2] = { sync_in(self->gate.syncobj), sync_out_point(t, 3) };
	struct drm_uma_sync second = sync_out_point(t, 7);

	ASSERT_EQ(0, submit_one_try(self->c.fd, self->queue, 0, 0, first, 2));
	ASSERT_EQ(0, submit_one_try(self->c.fd, self->queue, 0, 0, &second, 1));
	EXPECT_EQ(0, syncobj_query(self->c.fd, t));
	EXPECT_EQ(-ETIME, syncobj_wait_point_try(self->c.fd, t, 3, 0, 0));
	EXPECT_EQ(-ETIME, syncobj_wait_point_try(self->c.fd, t, 7, 0, 0));
	gate_open(&self->gate);
	syncobj_wait_point(self->c.fd, t, 2);
	syncobj_wait_point(self->c.fd, t, 7);
	EXPECT_EQ(7, syncobj_query(self->c.fd, t));
}

TEST_F(sync, wait_for_submit)
{
	__u32 t = syncobj_create(self->c.fd, false);
	struct drm_uma_sync out = sync_out_point(t, 1);
	pid_t pid;

	/*
	 * A waiter may come before the job does: that is the core's business, and it works with
	 * ours.
	 */
	pid = harness_fork();
	if (!pid) {
		usleep(20000);
		ASSERT_EQ(0, submit_one_try(self->c.fd, self->queue, 0, 0, &out, 1));
		_exit(0);
	}
	EXPECT_EQ(0, syncobj_wait_point_try(self->c.fd, t, 1, FOREVER,
					    DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT));
	harness_join(pid);
}

TEST_F(sync, destroyed_while_in_use)
{
	__u32 after;

	start(self);
	after = client_start_after(&self->c, queue_create(self->c.fd, self->c.vm, 0), 0, 0,
				   self->done);
	ASSERT_EQ(0, syncobj_destroy_try(self->c.fd, self->done));
	ASSERT_EQ(0, syncobj_destroy_try(self->c.fd, self->gate.syncobj));
	EXPECT_FALSE(syncobj_done(self->c.fd, after));
	gate_open(&self->gate);
	EXPECT_EQ(1, syncobj_result(self->c.fd, after));
}

TEST_F(sync, reset_while_in_use)
{
	__u32 after;

	start(self);
	after = client_start_after(&self->c, queue_create(self->c.fd, self->c.vm, 0), 0, 0,
				   self->done);
	ASSERT_EQ(0, syncobj_reset_try(self->c.fd, self->done));
	EXPECT_FALSE(syncobj_done(self->c.fd, after));
	gate_open(&self->gate);
	EXPECT_EQ(1, syncobj_result(self->c.fd, after));
	EXPECT_EQ(-EINVAL, syncobj_wait_try(self->c.fd, self->done, 0, 0));
}

TEST_F(sync, binary_to_timeline)
{
	__u32 t = syncobj_create(self->c.fd, false);
	struct drm_syncobj_transfer args = { .src_handle = self->done,
					     .dst_handle = t,
					     .dst_point = 9 };
	struct drm_uma_sync in = sync_in_point(t, 9);

	start(self);
	ASSERT_EQ(0, do_ioctl(self->c.fd, DRM_IOCTL_SYNCOBJ_TRANSFER, &args));
	ASSERT_EQ(0, submit_one_try(self->c.fd, self->queue, 0, 0, &in, 1));
	EXPECT_EQ(0, syncobj_query(self->c.fd, t));
	gate_open(&self->gate);
	syncobj_wait_point(self->c.fd, t, 9);
}

TEST_F(sync, eventfd)
{
	struct syncobj_eventfd args = { .handle = self->done, .fd = eventfd(0, EFD_CLOEXEC) };
	uint64_t value = 0;
	int ret;

	start(self);
	ret = do_ioctl(self->c.fd, SYNCOBJ_EVENTFD, &args);
	if (ret == -EINVAL)
		SKIP("no eventfd for syncobjs");
	ASSERT_EQ(0, ret);
	EXPECT_FALSE(readable(args.fd, false));
	gate_open(&self->gate);
	EXPECT_TRUE(readable(args.fd, true));
	EXPECT_EQ(8, read(args.fd, &value, sizeof(value)));
	EXPECT_EQ(1, value);
	close(args.fd);
}

TEST_F(sync, other_file)
{
	struct client other;
	__u32 shared, after;
	int fd;

	client_open(&other);
	ASSERT_EQ(0, syncobj_export_try(self->c.fd, self->done, false, &fd));
	ASSERT_EQ(0, syncobj_import_try(other.fd, fd, false, &shared));
	close(fd);
	start(self);
	after = client_start_after(&other, queue_create(other.fd, other.vm, 0), 0, 0, shared);
	EXPECT_FALSE(syncobj_done(other.fd, after));
	gate_open(&self->gate);
	EXPECT_EQ(1, syncobj_result(other.fd, after));
	client_close(&other);
}

TEST_F(sync, other_process)
{
	int fd;
	pid_t pid;

	ASSERT_EQ(0, syncobj_export_try(self->c.fd, self->done, false, &fd));
	start(self);
	pid = harness_fork();
	if (!pid) {
		struct client other;
		__u32 shared;

		client_open(&other);
		ASSERT_EQ(0, syncobj_import_try(other.fd, fd, false, &shared));
		EXPECT_EQ(1, syncobj_result(other.fd,
					    client_start_after(&other,
							       queue_create(other.fd, other.vm, 0),
							       0, 0, shared)));
		_exit(harness->failures ? 1 : 0);
	}
	gate_open(&self->gate);
	harness_join(pid);
	close(fd);
}

/* One fence behind many: all of them let go. */
TEST_F(sync, fan_out)
{
	__u32 after[32];
	int i;

	start(self);
	for (i = 0; i < 32; i++)
		after[i] = client_start_after(&self->c, queue_create(self->c.fd, self->c.vm, 0), 0,
					      0, self->done);
	for (i = 0; i < 32; i++)
		EXPECT_FALSE(syncobj_done(self->c.fd, after[i]));
	gate_open(&self->gate);
	for (i = 0; i < 32; i++)
		EXPECT_EQ(1, syncobj_result(self->c.fd, after[i]));
}

/* Across all engines and back, each link on another one. */
TEST_F(sync, chain_over_engines)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int n = query_engines(self->c.fd, engines), i;
	__u32 last, queues[MAX_ENGINES];

	for (i = 0; i < n; i++)
		queues[i] = queue_create(self->c.fd, self->c.vm, i);
	start(self);
	last = self->done;
	for (i = 0; i < 3 * n; i++)
		last = client_start_after(&self->c, queues[i * 5 % n], 0, 0, last);
	EXPECT_FALSE(syncobj_done(self->c.fd, last));
	gate_open(&self->gate);
	EXPECT_EQ(1, syncobj_result(self->c.fd, last));
}

/* --- errors in fences ------------------------------------------------------------------ */

TEST(fault_in_sync_file)
{
	struct drm_uma_sync syncs[2];
	__u32 queue, t, binary;
	struct client c;
	int file;

	expect_faults(1);
	client_open(&c);
	queue = queue_create(c.fd, c.vm, 0);
	t = syncobj_create(c.fd, false);
	binary = syncobj_create(c.fd, false);
	syncs[0] = sync_out(binary);
	syncs[1] = sync_out_point(t, 4);
	/* No task is mapped there. */
	ASSERT_EQ(0, submit_one_try(c.fd, queue, client_va(&c, PAGE), 1, syncs, 2));
	ASSERT_EQ(0, syncobj_export_try(c.fd, binary, true, &file));
	syncobj_wait(c.fd, binary);
	EXPECT_EQ(-EFAULT, sync_file_status(file));
	/* To a waiter an error is a signal; a timeline reaches its point. */
	syncobj_wait_point(c.fd, t, 4);
	EXPECT_EQ(4, syncobj_query(c.fd, t));
	EXPECT_TRUE(readable(file, false));
	close(file);
	client_close(&c);
}

/* Another queue that waits for a job that failed is not stuck. */
TEST(wait_for_a_job_that_faults)
{
	struct client c, other;
	__u32 failed, shared, queue;
	int fd;

	expect_faults(1);
	client_open(&c);
	client_open(&other);
	failed = client_start(&c, queue_create(c.fd, c.vm, 0), client_va(&c, PAGE), 1);
	ASSERT_EQ(0, syncobj_export_try(c.fd, failed, false, &fd));
	ASSERT_EQ(0, syncobj_import_try(other.fd, fd, false, &shared));
	queue = queue_create(other.fd, other.vm, 0);
	syncobj_wait(other.fd, client_start_after(&other, queue, 0, 0, shared));
	/* And its queue is as good as before. */
	EXPECT_EQ(0, client_run(&other, queue, 0, 0));
	client_close(&c);
	client_close(&other);
}

HARNESS_MAIN
