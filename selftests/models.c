// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Mistakes that drivers like this one have made, and that it must not make. The
 * manual's chapter on testing lists them with the tests that look for each.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "task.h"
#include "watch.h"

FIXTURE(models) {
	struct client c;
	__u32 queue;
	struct buf tasks;
};

FIXTURE_SETUP(models)
{
	client_open(&self->c);
	self->queue = queue_create(self->c.fd, self->c.vm, 0);
	client_buf(&self->c, &self->tasks, PAGE);
	task_nop(self->tasks.task);
}

FIXTURE_TEARDOWN(models)
{
	client_close(&self->c);
}

/* --- sizes and counts ------------------------------------------------------------- */

/* A count that makes an allocation of more than INT_MAX bytes is a warning if nobody caps it. */
TEST_F(models, huge_counts)
{
	static const __u32 counts[] = { 0xffffffff, 0x80000000, 0x7fffffff, 0x10000000, 0x01000000,
					0x00100000 };
	struct drm_uma_sync syncs[1] = { sync_out(syncobj_create(self->c.fd, false)) };
	struct drm_uma_job job = { .queue_id = self->queue };
	size_t i;
	void *p;

	/* As much as the smallest of them needs, so that nothing else is wrong. */
	p = mmap(NULL, 64ull << 20, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT_TRUE(p != MAP_FAILED);
	memcpy(p, syncs, sizeof(syncs));
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct drm_uma_bo_sync sync = {
			.ranges = array_of(p, sizeof(struct drm_uma_sync_range), counts[i]),
		};
		struct drm_uma_vm_bind bind = {
			.vm_id = self->c.vm,
			.ops = array_of(p, sizeof(struct drm_uma_bind_op), counts[i]),
		};
		struct drm_uma_submit submit = {
			.jobs = array_of(p, sizeof(struct drm_uma_job), counts[i]),
		};
		__u32 size = counts[i];

		EXPECT_EQ(-EINVAL, do_ioctl(self->c.fd, DRM_IOCTL_UMA_BO_SYNC, &sync));
		EXPECT_EQ(-EINVAL, do_ioctl(self->c.fd, DRM_IOCTL_UMA_VM_BIND, &bind));
		EXPECT_EQ(-EINVAL, do_ioctl(self->c.fd, DRM_IOCTL_UMA_SUBMIT, &submit));
		job.syncs = array_of(p, sizeof(syncs[0]), counts[i]);
		EXPECT_EQ(-EINVAL, submit_try(self->c.fd, &job, 1, NULL));
		job.syncs = array_of(NULL, 0, 0);
		job.bos = array_of(p, sizeof(struct drm_uma_job_bo), counts[i]);
		EXPECT_EQ(-EINVAL, submit_try(self->c.fd, &job, 1, NULL));
		job.bos = array_of(NULL, 0, 0);
		EXPECT_EQ(-E2BIG, bo_label_try(self->c.fd, self->tasks.handle, p, counts[i]));
		/* This one says how much there is, whatever room it is given. */
		EXPECT_NE(-ENOMEM, query_try(self->c.fd, DRM_UMA_QUERY_LIMITS, 0, p, &size));
	}
	ASSERT_EQ(0, munmap(p, 64ull << 20));
}

/* --- what does not exist ------------------------------------------------------------ */

/* An id that nobody has is an error, not another word for none. */
TEST_F(models, unknown_ids)
{
	struct drm_uma_counters counters;
	struct drm_uma_counters_get get = {
		.queue_id = BAD_HANDLE, .size = sizeof(counters), .data = (uintptr_t)&counters,
	};
	struct drm_uma_sync sync = sync_in(BAD_HANDLE);
	struct drm_uma_job_bo bo = { .handle = BAD_HANDLE };
	struct drm_uma_job job = { .queue_id = self->queue, .bos = array_of(&bo, sizeof(bo), 1) };

	EXPECT_EQ(-ENOENT, do_ioctl(self->c.fd, DRM_IOCTL_UMA_COUNTERS, &get));
	EXPECT_EQ(-ENOENT, submit_try(self->c.fd, &job, 1, NULL));
	job.bos = array_of(NULL, 0, 0);
	job.syncs = array_of(&sync, sizeof(sync), 1);
	EXPECT_EQ(-ENOENT, submit_try(self->c.fd, &job, 1, NULL));
	EXPECT_EQ(-ENOENT, submit_one_try(self->c.fd, BAD_HANDLE, 0, 0, NULL, 0));
	EXPECT_EQ(0, client_run(&self->c, self->queue, self->tasks.va, 1));
}

/* --- results ----------------------------------------------------------------------------- */

/* A submit of which every job is refused, or the last one, does not return 0. */
TEST_F(models, submit_says_what_failed)
{
	struct drm_uma_job jobs[3] = {
		{ .queue_id = self->queue, .task_count = 1, .tasks_addr = 1 },
		{ .queue_id = self->queue, .task_count = 1, .tasks_addr = 1 },
		{ .queue_id = self->queue, .task_count = 1, .tasks_addr = 1 },
	};
	struct drm_uma_queue_state state;
	__u32 failed;

	EXPECT_EQ(-EINVAL, submit_try(self->c.fd, jobs, 3, &failed));
	EXPECT_EQ(0, failed);
	jobs[0].tasks_addr = self->tasks.va;
	jobs[1].tasks_addr = self->tasks.va;
	EXPECT_EQ(-EINVAL, submit_try(self->c.fd, jobs, 3, &failed));
	EXPECT_EQ(2, failed);
	queue_state(self->c.fd, self->queue, &state);
	EXPECT_EQ(0, state.submitted);
}

/* A fence appears with the job that will signal it, or not at all: also on buffers. */
TEST_F(models, no_fence_without_a_job)
{
	__u32 binary = syncobj_create(self->c.fd, false), line = syncobj_create(self->c.fd, false);
	struct drm_uma_sync syncs[3] = { sync_out(binary), sync_out_point(line, 7),
					 sync_in(syncobj_create(self->c.fd, false)) };
	struct drm_uma_job_bo bo = { .handle = self->tasks.handle, .flags = DRM_UMA_JOB_BO_WRITE };
	struct drm_uma_job job = {
		.queue_id = self->queue, .task_count = 1, .tasks_addr = self->tasks.va,
		.syncs = array_of(syncs, sizeof(syncs[0]), 3), .bos = array_of(&bo, sizeof(bo), 1),
	};
	int i;

	/* The wait for nothing comes last, after everything else was found good. */
	for (i = 0; i < 100; i++)
		EXPECT_EQ(-EINVAL, submit_try(self->c.fd, &job, 1, NULL));
	EXPECT_EQ(-EINVAL, syncobj_wait_try(self->c.fd, binary, 0, 0));
	EXPECT_EQ(0, syncobj_query(self->c.fd, line));
	/* Whoever waits for the buffer has nothing to wait for, and the next job of it runs. */
	job.syncs.count = 2;
	ASSERT_EQ(0, submit_try(self->c.fd, &job, 1, NULL));
	EXPECT_EQ(1, syncobj_result(self->c.fd, binary));
}

/* Times are points in time: 0 is in the past, and asks without waiting. */
TEST_F(models, times_are_absolute)
{
	struct gate gate;
	__u32 done;

	gate_close(&gate, self->c.fd);
	done = client_start_after(&self->c, self->queue, self->tasks.va, 1, gate.syncobj);
	if (!syncobj_done(self->c.fd, gate.syncobj)) {
		EXPECT_EQ(-ETIME, syncobj_wait_try(self->c.fd, done, 0, 0));
		EXPECT_EQ(-ETIME, syncobj_wait_try(self->c.fd, done, 1, 0));
		EXPECT_EQ(-ETIME, syncobj_wait_try(self->c.fd, done, (int64_t)now_ns() + 20000000,
						   0));
	}
	gate_open(&gate);
	syncobj_wait(self->c.fd, done);
	gate_free(&gate);
}

/* --- arguments ------------------------------------------------------------------------------ */

/*
 * The core gives drivers as much of an argument as they know and says nothing about the rest, so
 * what is behind the structs of today means nothing, and never will.
 */
TEST_F(models, longer_arguments)
{
	struct {
		struct drm_uma_timestamp t;
		__u64 more[4];
	} longer = { .more = { ~0ull, ~0ull, ~0ull, ~0ull } };
	unsigned long request = DRM_IOWR(DRM_COMMAND_BASE + DRM_UMA_TIMESTAMP, longer);

	EXPECT_EQ(0, do_ioctl(self->c.fd, request, &longer));
	EXPECT_GT(longer.t.cpu_ns, 0);
	/* Of elements of arrays, which may grow, nothing is ignored. */
	struct {
		struct drm_uma_job job;
		__u64 more;
	} job = { .job.queue_id = self->queue };
	struct drm_uma_submit args = { .jobs = array_of(&job, sizeof(job), 1) };

	EXPECT_EQ(0, do_ioctl(self->c.fd, DRM_IOCTL_UMA_SUBMIT, &args));
	job.more = 1ull << 63;
	args.failed_job = 0;
	EXPECT_EQ(-E2BIG, do_ioctl(self->c.fd, DRM_IOCTL_UMA_SUBMIT, &args));
}

#ifdef __x86_64__
/* An ioctl as a 32-bit program does it. */
static int ioctl32(int fd, __u32 request, void *arg)
{
	long ret = 54;

	asm volatile("int $0x80"
		     : "+a"(ret)
		     : "b"((long)fd), "c"((long)request), "d"(arg)
		     : "memory", "r8", "r9", "r10", "r11");
	return (int)ret;
}

/* Structs are the same for programs of both widths, so both get the same answers. */
TEST_F(models, thirty_two_bits)
{
	struct {
		struct drm_uma_query q;
		struct drm_uma_bo_create bo;
		struct drm_uma_queue_state state;
		struct drm_uma_submit submit;
		struct drm_uma_job job;
		struct drm_uma_query_limits limits;
	} *low;
	struct drm_uma_query_limits limits;
	int ret;

	low = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1,
		   0);
	ASSERT_TRUE(low != MAP_FAILED);
	/* A kernel without that call kills who tries. */
	if (!access("/proc/sys/abi/vsyscall32", F_OK))
		ret = ioctl32(self->c.fd, (__u32)DRM_IOCTL_UMA_QUERY, &low->q);
	else
		SKIP("no 32-bit programs on this kernel");
	EXPECT_EQ(-EINVAL, ret);
	low->q.type = DRM_UMA_QUERY_LIMITS;
	low->q.size = sizeof(low->limits);
	low->q.data = (uintptr_t)&low->limits;
	EXPECT_EQ(0, ioctl32(self->c.fd, (__u32)DRM_IOCTL_UMA_QUERY, &low->q));
	query_limits(self->c.fd, &limits);
	EXPECT_EQ(0, memcmp(&limits, &low->limits, sizeof(limits)));
	low->bo.size = PAGE;
	EXPECT_EQ(0, ioctl32(self->c.fd, (__u32)DRM_IOCTL_UMA_BO_CREATE, &low->bo));
	EXPECT_EQ(0, gem_close_try(self->c.fd, low->bo.handle));
	low->job.queue_id = self->queue;
	low->job.task_count = 1;
	low->job.tasks_addr = self->tasks.va;
	low->submit.jobs = array_of(&low->job, sizeof(low->job), 1);
	EXPECT_EQ(0, ioctl32(self->c.fd, (__u32)DRM_IOCTL_UMA_SUBMIT, &low->submit));
	EXPECT_EQ(1, low->submit.failed_job);
	EXPECT_EQ(0, client_run(&self->c, self->queue, self->tasks.va, 1));
	low->state.queue_id = self->queue;
	EXPECT_EQ(0, ioctl32(self->c.fd, (__u32)DRM_IOCTL_UMA_QUEUE_STATE, &low->state));
	EXPECT_EQ(2, low->state.submitted);
	ASSERT_EQ(0, munmap(low, PAGE));
}
#endif

HARNESS_MAIN
