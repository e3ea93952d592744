// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Implicit synchronisation: the buffers of a job. All are in one file, as all need the same scene.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <linux/dma-buf.h>

#include "instance.h"
#include "task.h"
#include "watch.h"

#define SIZE	PAGE

/* A client with two queues and a buffer that jobs fill or copy. */
struct scene {
	struct client c;
	struct drm_uma_query_limits l;
	__u32 queue;
	__u32 queue2;
	struct buf tasks;
	struct buf shared;
	struct buf mine;
	struct gate gate;
};

static void scene_make_named(struct scene *s, const char *node)
{
	int engine;

	client_open_named(&s->c, node);
	query_limits(s->c.fd, &s->l);
	engine = engine_for(s->c.fd, UMA_OP_COPY, UMA_DTYPE_S32, 0, UMA_DTYPE_S32);
	if (engine < 0 || !engine_can(s->c.fd, (unsigned int)engine, UMA_OP_FILL, 0, 0,
				      UMA_DTYPE_S32))
		SKIP("no engine both copies and fills");
	s->queue = queue_create(s->c.fd, s->c.vm, (unsigned int)engine);
	s->queue2 = queue_create(s->c.fd, s->c.vm, (unsigned int)engine);
	client_buf(&s->c, &s->tasks, 4 * UMA_TASK_SIZE);
	client_buf(&s->c, &s->shared, SIZE);
	client_buf(&s->c, &s->mine, SIZE);
	task_fill(&s->tasks.task[0], UMA_DTYPE_S32, s->shared.va, SIZE / 4, 0x1234);
	task_copy(&s->tasks.task[1], UMA_DTYPE_S32, s->mine.va, s->shared.va, SIZE / 4);
	s->gate.vgem = -1;
}

static void scene_make(struct scene *s)
{
	scene_make_named(s, dev_name());
}

static void scene_free(struct scene *s)
{
	if (s->gate.vgem >= 0)
		gate_free(&s->gate);
	client_close(&s->c);
}

static struct drm_uma_job_bo reads(__u32 handle)
{
	return (struct drm_uma_job_bo){ .handle = handle };
}

static struct drm_uma_job_bo writes(__u32 handle)
{
	return (struct drm_uma_job_bo){ .handle = handle, .flags = DRM_UMA_JOB_BO_WRITE };
}

/* Submit a task, or none for -1, that uses a buffer; returns a syncobj that it signals. */
static __u32 start(struct scene *s, __u32 queue, int task, const struct drm_uma_job_bo *bo,
		   __u32 after)
{
	__u32 done = syncobj_create(s->c.fd, false);
	struct drm_uma_sync syncs[2] = { sync_out(done), sync_in(after) };
	struct drm_uma_job job = {
		.queue_id = queue,
		.task_count = task >= 0,
		.tasks_addr = task >= 0 ? s->tasks.va + (unsigned int)task * UMA_TASK_SIZE : 0,
		.syncs = array_of(syncs, sizeof(syncs[0]), after ? 2 : 1),
		.bos = array_of(bo, sizeof(*bo), !!bo),
	};

	ASSERT_EQ(0, submit_try(s->c.fd, &job, 1, NULL));
	return done;
}

/* Long enough for a job to get done that does not wait for anything. */
static bool done_soon(int fd, __u32 syncobj)
{
	return syncobj_wait_try(fd, syncobj, (int64_t)(now_ns() + 300000000), 0) == 0;
}

FIXTURE(implicit) {
	struct scene s;
};

FIXTURE_SETUP(implicit)
{
	scene_make(&self->s);
}

FIXTURE_TEARDOWN(implicit)
{
	scene_free(&self->s);
}

/* --- what a submit refuses ---------------------------------------------------------- */

TEST_F(implicit, arguments)
{
	struct drm_uma_job_bo bo = reads(self->s.shared.handle);
	struct drm_uma_job jobs[2] = {
		{ .queue_id = self->s.queue },
		{ .queue_id = self->s.queue, .bos = array_of(&bo, sizeof(bo), 1) },
	};
	__u32 failed, bit;

	EXPECT_EQ(0, submit_try(self->s.c.fd, jobs, 2, NULL));
	bo.handle = BAD_HANDLE;
	EXPECT_EQ(-ENOENT, submit_try(self->s.c.fd, jobs, 2, &failed));
	EXPECT_EQ(1, failed);
	bo.handle = 0;
	EXPECT_EQ(-ENOENT, submit_try(self->s.c.fd, jobs, 2, &failed));
	bo.handle = BAD_HANDLE;
	for (bit = 1; bit < 32; bit++) {
		bo.flags = 1u << bit;
		EXPECT_EQ(-EINVAL, submit_try(self->s.c.fd, jobs, 2, &failed));
		EXPECT_EQ(1, failed);
	}
}

TEST_F(implicit, named_twice)
{
	struct drm_uma_job_bo bos[3] = {
		reads(self->s.shared.handle), writes(self->s.shared.handle),
		reads(self->s.shared.handle),
	};
	struct drm_uma_job job = { .queue_id = self->s.queue,
				   .bos = array_of(bos, sizeof(bos[0]), 3) };
	struct drm_uma_job_bo bo = reads(self->s.shared.handle);
	struct drm_uma_sync in;
	__u32 done;

	gate_close(&self->s.gate, self->s.c.fd);
	in = sync_in(self->s.gate.syncobj);
	job.syncs = array_of(&in, sizeof(in), 1);
	ASSERT_EQ(0, submit_try(self->s.c.fd, &job, 1, NULL));
	/* It writes: a reader has to wait. */
	done = start(&self->s, self->s.queue2, -1, &bo, 0);
	EXPECT_FALSE(done_soon(self->s.c.fd, done));
	gate_open(&self->s.gate);
	syncobj_wait(self->s.c.fd, done);
}

/* The limit of a whole submit counts all its jobs. */
TEST_F(implicit, too_many)
{
	__u32 n = self->s.l.max_submit_bos / self->s.l.max_job_bos + 1, i, failed;
	struct drm_uma_job_bo *bos = calloc(self->s.l.max_job_bos, sizeof(*bos));
	struct drm_uma_job *jobs = calloc(n, sizeof(*jobs));

	ASSERT_TRUE(bos && jobs && n <= self->s.l.max_submit_jobs);
	for (i = 0; i < self->s.l.max_job_bos; i++)
		bos[i] = writes(self->s.shared.handle);
	for (i = 0; i < n; i++)
		jobs[i] = (struct drm_uma_job){
			.queue_id = i & 1 ? self->s.queue : self->s.queue2,
			.bos = array_of(bos, sizeof(*bos), self->s.l.max_job_bos),
		};
	EXPECT_EQ(-EINVAL, submit_try(self->s.c.fd, jobs, n, &failed));
	EXPECT_EQ(n - 1, failed);
	jobs[n - 1].bos.count = self->s.l.max_submit_bos - (n - 1) * self->s.l.max_job_bos;
	if (!jobs[n - 1].bos.count)
		jobs[n - 1].bos = array_of(NULL, 0, 0);
	EXPECT_EQ(0, submit_try(self->s.c.fd, jobs, n, NULL));
	free(jobs);
	free(bos);
}

/* --- jobs among themselves ------------------------------------------------------------ */

FIXTURE(order) {
	struct scene s;
};

FIXTURE_VARIANT(order) {
	bool first_writes;
	bool second_writes;
	bool waits;
};

FIXTURE_VARIANT_ADD(order, read_read) { false, false, false };
FIXTURE_VARIANT_ADD(order, read_write) { false, true, true };
FIXTURE_VARIANT_ADD(order, write_read) { true, false, true };
FIXTURE_VARIANT_ADD(order, write_write) { true, true, true };

FIXTURE_SETUP(order)
{
	scene_make(&self->s);
	gate_close(&self->s.gate, self->s.c.fd);
}

FIXTURE_TEARDOWN(order)
{
	scene_free(&self->s);
}

TEST_F(order, two_submits)
{
	struct drm_uma_job_bo a = reads(self->s.shared.handle), b = a;
	__u32 first, second, free;
	int fd = self->s.c.fd;

	a.flags = variant->first_writes ? DRM_UMA_JOB_BO_WRITE : 0;
	b.flags = variant->second_writes ? DRM_UMA_JOB_BO_WRITE : 0;
	first = start(&self->s, self->s.queue, 0, &a, self->s.gate.syncobj);
	/* One that names no buffer waits for none. */
	free = start(&self->s, self->s.queue2, -1, NULL, 0);
	EXPECT_EQ(0, syncobj_wait_try(fd, free, FOREVER, 0));
	second = start(&self->s, self->s.queue2, 1, &b, 0);
	if (variant->waits)
		EXPECT_FALSE(done_soon(fd, second));
	else
		EXPECT_EQ(0, syncobj_wait_try(fd, second, FOREVER, 0));
	EXPECT_FALSE(syncobj_done(fd, first));
	gate_open(&self->s.gate);
	EXPECT_EQ(1, syncobj_result(fd, second));
	EXPECT_EQ(1, syncobj_result(fd, first));
	EXPECT_EQ(variant->waits ? 0x1234 : 0, self->s.mine.u32[SIZE / 4 - 1]);
}

TEST_F(order, one_submit)
{
	struct drm_uma_job_bo a = reads(self->s.shared.handle), b = a;
	__u32 done = syncobj_create(self->s.c.fd, false);
	struct drm_uma_sync in = sync_in(self->s.gate.syncobj), out = sync_out(done);
	struct drm_uma_job jobs[2] = {
		{
			.queue_id = self->s.queue, .task_count = 1, .tasks_addr = self->s.tasks.va,
			.syncs = array_of(&in, sizeof(in), 1), .bos = array_of(&a, sizeof(a), 1),
		}, {
			.queue_id = self->s.queue2, .task_count = 1,
			.tasks_addr = self->s.tasks.va + UMA_TASK_SIZE,
			.syncs = array_of(&out, sizeof(out), 1), .bos = array_of(&b, sizeof(b), 1),
		},
	};
	int fd = self->s.c.fd;

	a.flags = variant->first_writes ? DRM_UMA_JOB_BO_WRITE : 0;
	b.flags = variant->second_writes ? DRM_UMA_JOB_BO_WRITE : 0;
	ASSERT_EQ(0, submit_try(fd, jobs, 2, NULL));
	if (variant->waits)
		EXPECT_FALSE(done_soon(fd, done));
	else
		EXPECT_EQ(0, syncobj_wait_try(fd, done, FOREVER, 0));
	gate_open(&self->s.gate);
	EXPECT_EQ(1, syncobj_result(fd, done));
	EXPECT_EQ(variant->waits ? 0x1234 : 0, self->s.mine.u32[SIZE / 4 - 1]);
}

/* Who uses the buffer before the jobs of a submit. Nobody: then the first waits for a gate. */
enum before { NOBODY, READER, WRITER };

struct three {
	struct drm_uma_job job[3];
	struct drm_uma_job_bo bo[3];
	struct drm_uma_sync syncs[3][2];
	/* of the three, and of a reader and a writer that come after them */
	__u32 done[5];
	bool waits[5];
};

static void three_expect(struct three *t, enum before before)
{
	int i, j;

	t->waits[3] = before == WRITER;
	t->waits[4] = before != NOBODY;
	for (i = 0; i < 3; i++) {
		t->waits[i] = before == WRITER || (before == READER && t->bo[i].flags) ||
			      (before == NOBODY && !i);
		for (j = 0; j < i; j++)
			t->waits[i] |= t->waits[j] &&
				       (t->job[i].queue_id == t->job[j].queue_id ||
					t->bo[i].flags || t->bo[j].flags);
		t->waits[3] |= t->waits[i] && t->bo[i].flags;
		t->waits[4] |= t->waits[i];
	}
}

/* Three jobs of one submit, of two queues, that read and write one buffer in all ways. */
TEST_F(implicit, three_of_one_submit)
{
	struct drm_uma_job_bo r = reads(self->s.shared.handle), w = writes(self->s.shared.handle);
	int fd = self->s.c.fd, how, before, i;
	struct gate *gate = &self->s.gate;
	struct drm_uma_sync in;
	__u32 queues[3];
	struct three t;

	for (i = 0; i < 3; i++)
		queues[i] = queue_create(fd, self->s.c.vm, 0);
	memset(&t, 0, sizeof(t));
	for (i = 0; i < 3; i++)
		t.done[i] = syncobj_create(fd, false);
	for (how = 0; how < 3 * 64; how++) {
		before = how / 64;
		gate_close(gate, fd);
		in = sync_in(gate->syncobj);
		for (i = 0; i < 3; i++) {
			t.bo[i] = how >> (2 * i) & 1 ? w : r;
			t.syncs[i][0] = sync_out(t.done[i]);
			t.syncs[i][1] = in;
			t.job[i] = (struct drm_uma_job){
				.queue_id = how >> (2 * i) & 2 ? self->s.queue : self->s.queue2,
				.syncs = array_of(t.syncs[i], sizeof(in), before || i ? 1 : 2),
				.bos = array_of(&t.bo[i], sizeof(r), 1),
			};
		}
		three_expect(&t, before);
		if (before != NOBODY)
			start(&self->s, queues[0], -1, before == WRITER ? &w : &r, gate->syncobj);
		ASSERT_EQ(0, submit_try(fd, t.job, 3, NULL));
		t.done[3] = start(&self->s, queues[1], -1, &r, 0);
		t.done[4] = start(&self->s, queues[2], -1, &w, 0);
		for (i = 0; i < 5; i++)
			if (!t.waits[i])
				EXPECT_EQ(0, syncobj_wait_try(fd, t.done[i], FOREVER, 0));
		usleep(5000);
		for (i = 0; i < 5; i++)
			if (t.waits[i] && syncobj_done(fd, t.done[i]))
				harness_fail(__FILE__, __LINE__, "way %d: %d did not wait", how, i);
		gate_open(gate);
		for (i = 0; i < 5; i++)
			syncobj_wait(fd, t.done[i]);
		ASSERT_EQ(0, syncobj_destroy_try(fd, t.done[3]));
		ASSERT_EQ(0, syncobj_destroy_try(fd, t.done[4]));
		ASSERT_EQ(0, syncobj_destroy_try(fd, gate->syncobj));
		gate_free(gate);
	}
	gate->vgem = -1;
}

/* The error of who was there before is no reason not to run. */
TEST_F(implicit, error_does_not_travel)
{
	struct drm_uma_job_bo bo = writes(self->s.shared.handle);
	__u32 bad, good;

	expect_faults(1);
	task_fill(&self->s.tasks.task[2], UMA_DTYPE_S32, self->s.shared.va + 64 * SIZE, 1, 1);
	bad = start(&self->s, self->s.queue, 2, &bo, 0);
	good = start(&self->s, self->s.queue2, 0, &bo, 0);
	EXPECT_EQ(-EFAULT, syncobj_result(self->s.c.fd, bad));
	EXPECT_EQ(1, syncobj_result(self->s.c.fd, good));
	EXPECT_EQ(0x1234, self->s.shared.u32[0]);
}

/* A job that was refused has left no fence. */
TEST_F(implicit, refused)
{
	struct drm_uma_job_bo bo = writes(self->s.shared.handle);
	struct drm_uma_sync in;
	struct drm_uma_job jobs[2] = {
		{ .queue_id = self->s.queue, .bos = array_of(&bo, sizeof(bo), 1) },
		{ .queue_id = BAD_HANDLE },
	};
	__u32 done;

	gate_close(&self->s.gate, self->s.c.fd);
	in = sync_in(self->s.gate.syncobj);
	jobs[0].syncs = array_of(&in, sizeof(in), 1);
	EXPECT_EQ(-ENOENT, submit_try(self->s.c.fd, jobs, 2, NULL));
	done = start(&self->s, self->s.queue2, 0, &bo, 0);
	EXPECT_EQ(0, syncobj_wait_try(self->s.c.fd, done, FOREVER, 0));
	gate_open(&self->s.gate);
}

/* drm-active-memory: what a fence is on. */
TEST_F(implicit, active)
{
	struct drm_uma_job_bo bo = writes(self->s.shared.handle);
	char path[64], text[8192];
	__u32 done;

	gate_close(&self->s.gate, self->s.c.fd);
	done = start(&self->s, self->s.queue, 0, &bo, self->s.gate.syncobj);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", self->s.c.fd);
	ASSERT_TRUE(read_text(path, text, sizeof(text)));
	EXPECT_TRUE(strstr(text, "drm-active-memory:\t4 KiB"));
	gate_open(&self->s.gate);
	EXPECT_EQ(1, syncobj_result(self->s.c.fd, done));
	ASSERT_TRUE(read_text(path, text, sizeof(text)));
	EXPECT_FALSE(strstr(text, "drm-active-memory:\t4 KiB"));
}

/* --- dma-bufs --------------------------------------------------------------------------- */

FIXTURE(dmabuf) {
	struct scene s;
	int fd;
};

FIXTURE_SETUP(dmabuf)
{
	scene_make(&self->s);
	gate_close(&self->s.gate, self->s.c.fd);
	self->fd = prime_export(self->s.c.fd, self->s.shared.handle);
}

FIXTURE_TEARDOWN(dmabuf)
{
	close(self->fd);
	scene_free(&self->s);
}

static bool ready(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	ASSERT_GE(poll(&p, 1, 0), 0);
	return p.revents & events;
}

static void ready_at_last(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	ASSERT_EQ(1, poll(&p, 1, -1));
}

static int export_sync_file(int dmabuf, __u32 flags)
{
	struct dma_buf_export_sync_file args = { .flags = flags, .fd = -1 };

	ASSERT_EQ(0, do_ioctl(dmabuf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &args));
	return args.fd;
}

TEST_F(dmabuf, poll_write)
{
	struct drm_uma_job_bo bo = writes(self->s.shared.handle);
	__u32 done;

	EXPECT_TRUE(ready(self->fd, POLLIN));
	EXPECT_TRUE(ready(self->fd, POLLOUT));
	done = start(&self->s, self->s.queue, 0, &bo, self->s.gate.syncobj);
	EXPECT_FALSE(ready(self->fd, POLLIN));
	EXPECT_FALSE(ready(self->fd, POLLOUT));
	gate_open(&self->s.gate);
	ready_at_last(self->fd, POLLIN);
	ready_at_last(self->fd, POLLOUT);
	EXPECT_TRUE(syncobj_done(self->s.c.fd, done));
	EXPECT_EQ(0x1234, self->s.shared.u32[0]);
}

TEST_F(dmabuf, poll_read)
{
	struct drm_uma_job_bo bo = reads(self->s.shared.handle);

	start(&self->s, self->s.queue, 1, &bo, self->s.gate.syncobj);
	EXPECT_TRUE(ready(self->fd, POLLIN));
	EXPECT_FALSE(ready(self->fd, POLLOUT));
	gate_open(&self->s.gate);
	ready_at_last(self->fd, POLLOUT);
}

TEST_F(dmabuf, export_sync_file)
{
	struct drm_uma_job_bo bo = writes(self->s.shared.handle);
	int r, rw;

	r = export_sync_file(self->fd, DMA_BUF_SYNC_READ);
	EXPECT_EQ(1, sync_file_status(r));
	close(r);
	start(&self->s, self->s.queue, 0, &bo, self->s.gate.syncobj);
	r = export_sync_file(self->fd, DMA_BUF_SYNC_READ);
	rw = export_sync_file(self->fd, DMA_BUF_SYNC_RW);
	EXPECT_EQ(0, sync_file_status(r));
	EXPECT_EQ(0, sync_file_status(rw));
	gate_open(&self->s.gate);
	EXPECT_EQ(1, sync_file_wait(r));
	EXPECT_EQ(1, sync_file_wait(rw));
	EXPECT_EQ(0x1234, self->s.shared.u32[0]);
	close(r);
	close(rw);
}

/* Who reads does not have to wait for who reads. */
TEST_F(dmabuf, export_sync_file_of_reader)
{
	struct drm_uma_job_bo bo = reads(self->s.shared.handle);
	int r, rw;

	start(&self->s, self->s.queue, 1, &bo, self->s.gate.syncobj);
	r = export_sync_file(self->fd, DMA_BUF_SYNC_READ);
	rw = export_sync_file(self->fd, DMA_BUF_SYNC_RW);
	EXPECT_EQ(1, sync_file_status(r));
	EXPECT_EQ(0, sync_file_status(rw));
	gate_open(&self->s.gate);
	EXPECT_EQ(1, sync_file_wait(rw));
	close(r);
	close(rw);
}

TEST_F(dmabuf, import_sync_file)
{
	struct dma_buf_import_sync_file import = { .flags = DMA_BUF_SYNC_WRITE };
	struct drm_uma_job_bo bo = reads(self->s.shared.handle);
	__u32 done, free;

	ASSERT_EQ(0, syncobj_export_try(self->s.c.fd, self->s.gate.syncobj, true, &import.fd));
	ASSERT_EQ(0, do_ioctl(self->fd, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import));
	close(import.fd);
	done = start(&self->s, self->s.queue, 1, &bo, 0);
	free = start(&self->s, self->s.queue2, 1, NULL, 0);
	EXPECT_EQ(0, syncobj_wait_try(self->s.c.fd, free, FOREVER, 0));
	EXPECT_FALSE(done_soon(self->s.c.fd, done));
	gate_open(&self->s.gate);
	EXPECT_EQ(1, syncobj_result(self->s.c.fd, done));
}

/* Two files have one object, and with it one set of fences. */
TEST_F(dmabuf, two_files)
{
	struct drm_uma_job_bo w = writes(self->s.shared.handle), r;
	struct scene other;
	__u32 done;
	__u64 va;

	scene_make(&other);
	r = reads(prime_import(other.c.fd, self->fd));
	va = client_bind_handle(&other.c, r.handle, SIZE, DRM_UMA_BIND_READONLY);
	task_copy(&other.tasks.task[1], UMA_DTYPE_S32, other.mine.va, va, SIZE / 4);
	start(&self->s, self->s.queue, 0, &w, self->s.gate.syncobj);
	done = start(&other, other.queue, 1, &r, 0);
	EXPECT_FALSE(done_soon(other.c.fd, done));
	gate_open(&self->s.gate);
	EXPECT_EQ(1, syncobj_result(other.c.fd, done));
	EXPECT_EQ(0x1234, other.mine.u32[SIZE / 4 - 1]);
	scene_free(&other);
}

/* --- vgem ---------------------------------------------------------------------------------- */

struct vgem_fence_attach {
	__u32 handle;
	__u32 flags;
	__u32 out_fence;
	__u32 pad;
};

#define VGEM_FENCE_WRITE	0x1
#define VGEM_FENCE_ATTACH	DRM_IOWR(DRM_COMMAND_BASE + 0x1, struct vgem_fence_attach)

static int attach_try(int vgem, __u32 handle, __u32 flags, __u32 *fence)
{
	struct vgem_fence_attach args = { .handle = handle, .flags = flags };
	int ret;

	ret = do_ioctl(vgem, VGEM_FENCE_ATTACH, &args);
	*fence = args.out_fence;
	return ret;
}

FIXTURE(vgem) {
	struct scene s;
	__u32 theirs;
	__u32 ours;
	int dmabuf;
	__u64 va;
	__u32 *p;
};

/* The buffer of the gate has a fence of a writer on it, and is memory like any other. */
FIXTURE_SETUP(vgem)
{
	scene_make(&self->s);
	gate_close(&self->s.gate, self->s.c.fd);
	self->theirs = self->s.gate.handle;
	self->dmabuf = prime_export(self->s.gate.vgem, self->theirs);
	self->ours = prime_import(self->s.c.fd, self->dmabuf);
	self->va = client_bind_handle(&self->s.c, self->ours, SIZE, 0);
	self->p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, self->dmabuf, 0);
	ASSERT_TRUE(self->p != MAP_FAILED);
	task_fill(&self->s.tasks.task[0], UMA_DTYPE_S32, self->va, SIZE / 4, 0x4321);
	task_copy(&self->s.tasks.task[1], UMA_DTYPE_S32, self->s.mine.va, self->va, SIZE / 4);
}

FIXTURE_TEARDOWN(vgem)
{
	close(self->dmabuf);
	scene_free(&self->s);
}

/* Their writer, our reader. */
TEST_F(vgem, fence_read)
{
	struct drm_uma_job_bo bo = reads(self->ours);
	__u32 done;

	done = start(&self->s, self->s.queue, 1, &bo, 0);
	EXPECT_FALSE(done_soon(self->s.c.fd, done));
	self->p[SIZE / 4 - 1] = 77;
	gate_open(&self->s.gate);
	EXPECT_EQ(1, syncobj_result(self->s.c.fd, done));
	EXPECT_EQ(77, self->s.mine.u32[SIZE / 4 - 1]);
}

/* Our writer: vgem refuses a fence to whoever would have to wait, and poll waits. */
TEST_F(vgem, fence_write)
{
	struct drm_uma_job_bo bo = writes(self->ours);
	__u32 done, fence;

	done = start(&self->s, self->s.queue, 0, &bo, 0);
	EXPECT_FALSE(done_soon(self->s.c.fd, done));
	EXPECT_EQ(-EBUSY, attach_try(self->s.gate.vgem, self->theirs, 0, &fence));
	gate_open(&self->s.gate);
	ready_at_last(self->dmabuf, POLLIN);
	EXPECT_TRUE(syncobj_done(self->s.c.fd, done));
	EXPECT_EQ(0x4321, self->p[0]);
	EXPECT_EQ(0, attach_try(self->s.gate.vgem, self->theirs, 0, &fence));
}

/* Somebody else's fence does not hold up who does not name the buffer. */
TEST_F(vgem, explicit)
{
	__u32 done = start(&self->s, self->s.queue, 0, NULL, 0);

	EXPECT_EQ(0, syncobj_wait_try(self->s.c.fd, done, FOREVER, 0));
	EXPECT_EQ(0x4321, self->p[0]);
	gate_open(&self->s.gate);
}

/* --- two devices ----------------------------------------------------------------------------- */

TEST(two_devices)
{
	struct drm_uma_job_bo w, r;
	struct scene a, b;
	struct instance in;
	__u32 done;
	__u64 va;
	int fd;

	instance_start(&in, "implicit", "m1");
	scene_make(&a);
	scene_make_named(&b, in.node);
	gate_close(&a.gate, a.c.fd);
	fd = prime_export(a.c.fd, a.shared.handle);
	w = writes(a.shared.handle);
	r = reads(prime_import(b.c.fd, fd));
	va = client_bind_handle(&b.c, r.handle, SIZE, DRM_UMA_BIND_READONLY);
	task_copy(&b.tasks.task[1], UMA_DTYPE_S32, b.mine.va, va, SIZE / 4);
	start(&a, a.queue, 0, &w, a.gate.syncobj);
	done = start(&b, b.queue, 1, &r, 0);
	EXPECT_FALSE(done_soon(b.c.fd, done));
	gate_open(&a.gate);
	EXPECT_EQ(1, syncobj_result(b.c.fd, done));
	EXPECT_EQ(0x1234, b.mine.u32[SIZE / 4 - 1]);
	/* And back: the first waits for the reader on the second. */
	done = start(&a, a.queue2, 0, &w, 0);
	EXPECT_EQ(1, syncobj_result(a.c.fd, done));
	close(fd);
	scene_free(&a);
	scene_free(&b);
	instance_drop(&in);
}

/* What one device writes to the other's memory the CPU sees through either's dma-buf. */
TEST(two_devices_share)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	struct scene a, b;
	struct instance in;
	__u32 handle, *p;
	__u64 va;
	int fd;

	instance_start(&in, "share", "m1");
	scene_make(&a);
	scene_make_named(&b, in.node);
	fd = prime_export(a.c.fd, a.shared.handle);
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_TRUE(p != MAP_FAILED);
	handle = prime_import(b.c.fd, fd);
	va = client_bind_handle(&b.c, handle, SIZE, 0);
	task_fill(&b.tasks.task[0], UMA_DTYPE_S32, va, SIZE / 8, 0x5678);
	EXPECT_EQ(0, client_run(&b.c, b.queue, b.tasks.va, 1));
	ASSERT_EQ(0, do_ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
	EXPECT_EQ(0x5678, p[0]);
	EXPECT_EQ(0x5678, p[SIZE / 8 - 1]);
	EXPECT_EQ(0, p[SIZE / 8]);
	p[SIZE / 8] = 0x9abc;
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW;
	ASSERT_EQ(0, do_ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
	/* Its owner reads both. */
	EXPECT_EQ(0, client_run(&a.c, a.queue, a.tasks.va + UMA_TASK_SIZE, 1));
	EXPECT_EQ(0x5678, a.mine.u32[0]);
	EXPECT_EQ(0x9abc, a.mine.u32[SIZE / 8]);
	/* The importer goes first, then the device that it was of. */
	client_close(&b.c);
	instance_drop(&in);
	EXPECT_EQ(0x5678, p[0]);
	close(fd);
	scene_free(&a);
}

/* --- many at once ---------------------------------------------------------------------- */

#define BOS	64
#define ROUNDS	100

struct racer {
	pthread_t id;
	struct scene s;
	struct drm_uma_job_bo bos[BOS];
	unsigned int seed;
};

static void *race(void *arg)
{
	struct racer *r = arg;
	struct drm_uma_job job = { .queue_id = r->s.queue };
	__u32 done = syncobj_create(r->s.c.fd, false);
	struct drm_uma_sync out = sync_out(done);
	int i, k;

	job.bos = array_of(r->bos, sizeof(r->bos[0]), BOS);
	for (i = 0; i < ROUNDS; i++) {
		/* In another order each time, some of them to write. */
		for (k = BOS - 1; k > 0; k--) {
			int j = rand_r(&r->seed) % (k + 1);
			struct drm_uma_job_bo bo = r->bos[k];

			r->bos[k] = r->bos[j];
			r->bos[j] = bo;
			r->bos[k].flags = rand_r(&r->seed) % 4 ? 0 : DRM_UMA_JOB_BO_WRITE;
		}
		if (i == ROUNDS - 1)
			job.syncs = array_of(&out, sizeof(out), 1);
		EXPECT_EQ(0, submit_try(r->s.c.fd, &job, 1, NULL));
	}
	EXPECT_EQ(1, syncobj_result(r->s.c.fd, done));
	return NULL;
}

TEST(deadlock_avoidance)
{
	static struct racer racers[4];
	int i, k, fd;

	for (i = 0; i < 4; i++) {
		racers[i].seed = (unsigned int)i + 1;
		scene_make(&racers[i].s);
	}
	for (k = 0; k < BOS; k++) {
		racers[0].bos[k].handle = bo_create(racers[0].s.c.fd, PAGE, 0);
		fd = prime_export(racers[0].s.c.fd, racers[0].bos[k].handle);
		for (i = 1; i < 4; i++)
			racers[i].bos[k].handle = prime_import(racers[i].s.c.fd, fd);
		close(fd);
	}
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&racers[i].id, NULL, race, &racers[i]));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_join(racers[i].id, NULL));
	for (i = 0; i < 4; i++)
		scene_free(&racers[i].s);
}

HARNESS_MAIN
