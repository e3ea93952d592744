// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory cgroups, and memory pressure while the device works: in one file, as the same processes
 * make it.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "task.h"
#include "watch.h"

#define CGROUP	"/sys/fs/cgroup"
#define MIB	(1ull << 20)
/* What processors may have taken ahead of time. */
#define STOCK	(MIB / 2)

static void cg_path(const char *cg, const char *file, char *path, size_t size)
{
	snprintf(path, size, CGROUP "/%s/%s", cg, file);
}

static bool cg_write(const char *cg, const char *file, const char *value)
{
	char path[256];

	cg_path(cg, file, path, sizeof(path));
	return write_text(path, value);
}

static long long cg_current(const char *cg)
{
	char path[256];

	cg_path(cg, "memory.current", path, sizeof(path));
	return read_number(path);
}

/* Bytes of one kind of memory. */
static long long cg_stat(const char *cg, const char *name)
{
	char path[256], text[4096], line[64], *at;

	cg_path(cg, "memory.stat", path, sizeof(path));
	ASSERT_TRUE(read_text(path, text, sizeof(text)));
	snprintf(line, sizeof(line), "\n%s ", name);
	at = strstr(text, line);
	ASSERT_TRUE(at);
	return atoll(at + strlen(line));
}

static void cg_make(char *cg, size_t size, const char *name)
{
	char path[256];

	snprintf(cg, size, "uma-%s-%d", name, (int)getpid());
	if (!cg_write(".", "cgroup.subtree_control", "+memory"))
		SKIP("no memory cgroups");
	cg_path(cg, "", path, sizeof(path));
	ASSERT_EQ(0, mkdir(path, 0755));
}

static void cg_drop(const char *cg)
{
	char path[256];

	cg_path(cg, "", path, sizeof(path));
	while (rmdir(path) && errno == EBUSY)
		usleep(50000);
}

static void cg_enter(const char *cg)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	ASSERT_TRUE(cg_write(cg, "cgroup.procs", pid));
}

static int madvise_try(int fd, __u32 handle, __u32 advice)
{
	struct drm_uma_bo_madvise args = { .handle = handle, .advice = advice };

	return do_ioctl(fd, DRM_IOCTL_UMA_BO_MADVISE, &args) ?: (int)args.retained;
}

static bool purged(int fd, __u32 handle)
{
	struct drm_uma_bo_info info;

	bo_info(fd, handle, &info);
	return info.flags & DRM_UMA_BO_INFO_PURGED;
}

/* --- who pays ------------------------------------------------------------------------ */

FIXTURE(charge) {
	char cg[64];
};

FIXTURE_SETUP(charge)
{
	cg_make(self->cg, sizeof(self->cg), "charge");
}

FIXTURE_TEARDOWN(charge)
{
	cg_drop(self->cg);
}

/*
 * In a process of the cgroup: what does it cost to do something, and are pages back after a
 * close? (A kernel that looks for misuse of memory keeps small objects for a while.)
 */
static void costs(const char *cg, void (*func)(struct client *c), long long least, long long most,
		  bool back)
{
	pid_t pid = harness_fork();

	if (!pid) {
		long long before, during, after;
		struct client c;

		cg_enter(cg);
		client_open(&c);
		before = cg_current(cg);
		func(&c);
		during = cg_current(cg);
		client_close(&c);
		after = cg_current(cg);
		EXPECT_GE(during - before, least - (long long)STOCK);
		EXPECT_LE(during - before, most);
		if (back)
			EXPECT_LE(after - before, least / 4 + (long long)MIB);
		_exit(0);
	}
	harness_join(pid);
}

static void bind_32(struct client *c)
{
	client_bind_handle(c, bo_create(c->fd, 32 * MIB, 0), 32 * MIB, 0);
}

TEST_F(charge, pages_bound)
{
	costs(self->cg, bind_32, 32 * MIB, 40 * MIB, true);
}

static void map_32(struct client *c)
{
	void *p = bo_map(c->fd, bo_create(c->fd, 32 * MIB, 0), 32 * MIB);

	ASSERT_EQ(0, munmap(p, 32 * MIB));
}

TEST_F(charge, pages_mapped)
{
	costs(self->cg, map_32, 32 * MIB, 40 * MIB, true);
}

/* A page at each of a thousand places that are far from each other: a table for each. */
static void bind_apart(struct client *c)
{
	__u32 handle = bo_create(c->fd, PAGE, 0);
	__u64 va = client_va(c, 1000ull << 21);
	int i;

	for (i = 0; i < 1000; i++)
		vm_map(c->fd, c->vm, handle, 0, va + ((__u64)i << 21), PAGE, 0);
}

TEST_F(charge, page_tables)
{
	costs(self->cg, bind_apart, 1000 * PAGE, 10 * MIB, true);
}

/* Many mappings next to each other: few tables, but a struct for each. */
static void bind_dense(struct client *c)
{
	struct drm_uma_bind_op ops[512];
	__u32 handle = bo_create(c->fd, PAGE, 0);
	__u64 va = client_va(c, 65536 * PAGE);
	int i, k;

	for (i = 0; i < 100; i++) {
		for (k = 0; k < 512; k++)
			ops[k] = (struct drm_uma_bind_op){
				.op = DRM_UMA_BIND_MAP, .handle = handle, .size = PAGE,
				.va = va + (512ull * (unsigned int)i + (unsigned int)k) * PAGE,
			};
		ASSERT_EQ(0, vm_bind_try(c->fd, c->vm, ops, 512, NULL));
	}
}

TEST_F(charge, mappings)
{
	costs(self->cg, bind_dense, 51200 * 128, 40 * MIB, false);
}

/*
 * What has come of a buffer's memory is nothing to be swapped out for what follows, from the first
 * page on, until it is unbound and closed, or purged.
 */
TEST_F(charge, bound_is_not_evictable)
{
	pid_t pid = harness_fork();

	if (!pid) {
		const long long most = 4 * MIB, least = 28 * MIB;
		long long before;
		struct client c;
		__u32 handle;
		__u64 va;

		cg_enter(self->cg);
		client_open(&c);
		before = cg_stat(self->cg, "unevictable");
		handle = bo_create(c.fd, 32 * MIB, 0);
		EXPECT_LE(cg_stat(self->cg, "unevictable") - before, most);
		va = client_bind_handle(&c, handle, 32 * MIB, 0);
		EXPECT_GE(cg_stat(self->cg, "unevictable") - before, least);
		vm_unmap(c.fd, c.vm, va, 32 * MIB);
		gem_close(c.fd, handle);
		EXPECT_LE(cg_stat(self->cg, "unevictable") - before, most);

		handle = bo_create(c.fd, 32 * MIB, 0);
		client_bind_handle(&c, handle, 32 * MIB, 0);
		EXPECT_GE(cg_stat(self->cg, "unevictable") - before, least);
		ASSERT_EQ(1, madvise_try(c.fd, handle, DRM_UMA_MADV_DONTNEED));
		while (!purged(c.fd, handle)) {
			ASSERT_TRUE(write_text("/proc/sys/vm/drop_caches", "2"));
			usleep(10000);
		}
		EXPECT_LE(cg_stat(self->cg, "unevictable") - before, most);
		client_close(&c);
		_exit(0);
	}
	harness_join(pid);
}

/* Kernel memory of all, but for what can be had back. */
static long long slab_now(void)
{
	char text[4096], *at;

	ASSERT_TRUE(read_text("/proc/meminfo", text, sizeof(text)));
	at = strstr(text, "\nSUnreclaim:");
	ASSERT_TRUE(at);
	return atoll(at + strlen("\nSUnreclaim:")) * 1024;
}

#define LEFT_FILES	2u
#define LEFT_BATCHES	16u
#define LEFT_BATCH	256u

/* Fill files with jobs that wait for somebody's fence, and close them. */
static void leave_jobs(int fence)
{
	struct drm_uma_job batch[LEFT_BATCH];
	struct drm_uma_sync in;
	unsigned int i, j, n;
	struct client c;
	__u32 queue = 0;

	for (i = 0; i < LEFT_FILES; i++) {
		client_open(&c);
		in = sync_in(syncobj_create(c.fd, false));
		ASSERT_EQ(0, syncobj_import_try(c.fd, fence, true, &in.handle));
		for (j = 0; j < LEFT_BATCHES; j++) {
			if (j % 4 == 0)
				queue = queue_create(c.fd, c.vm, 0);
			for (n = 0; n < LEFT_BATCH; n++)
				batch[n] = (struct drm_uma_job){
					.queue_id = queue, .syncs = array_of(&in, sizeof(in), 1),
				};
			ASSERT_EQ(0, submit_try(c.fd, batch, LEFT_BATCH, NULL));
		}
		client_close(&c);
	}
}

/* Jobs that outlive their files are counted with none, but most of what they take is charged. */
TEST_F(charge, jobs_of_closed_files)
{
	const long long jobs = (long long)LEFT_FILES * LEFT_BATCHES * LEFT_BATCH;
	long long before, charged, all;
	int fd = dev_open(), fence;
	struct gate gate;
	pid_t pid;

	gate_close(&gate, fd);
	ASSERT_EQ(0, syncobj_export_try(fd, gate.syncobj, true, &fence));
	before = slab_now();
	pid = harness_fork();
	if (!pid) {
		cg_enter(self->cg);
		leave_jobs(fence);
		_exit(0);
	}
	harness_join(pid);
	charged = cg_current(self->cg);
	all = slab_now() - before;
	if (sync_file_status(fence))
		SKIP("a gate opens by itself before this machine has done that");
	harness_diag("%lld jobs: %lld KiB, charged %lld", jobs, all / 1024, charged / 1024);
	gate_open(&gate);
	EXPECT_GE(charged, jobs * 500);
	EXPECT_LE(all, 2 * charged);
	gate_free(&gate);
	close(fence);
	close(fd);
}

#define READERS	250u
#define WRITERS	1000u

/* Others choose for how many fences a job waits that names a buffer. The list is charged. */
TEST_F(charge, fences_of_jobs)
{
	struct drm_uma_job job = {};
	struct drm_uma_job_bo bo = {};
	struct drm_uma_sync in;
	struct client c;
	struct gate gate;
	unsigned int i;
	pid_t pid;

	client_open(&c);
	bo.handle = bo_create(c.fd, PAGE, 0);
	gate_close(&gate, c.fd);
	in = sync_in(gate.syncobj);
	job.bos = array_of(&bo, sizeof(bo), 1);
	job.syncs = array_of(&in, sizeof(in), 1);
	for (i = 0; i < READERS; i++) {
		job.queue_id = queue_create(c.fd, c.vm, 0);
		ASSERT_EQ(0, submit_try(c.fd, &job, 1, NULL));
	}
	pid = harness_fork();
	if (!pid) {
		long long charged;

		cg_enter(self->cg);
		charged = cg_current(self->cg);
		bo.flags = DRM_UMA_JOB_BO_WRITE;
		job.syncs = array_of(NULL, 0, 0);
		for (i = 0; i < WRITERS; i++)
			ASSERT_EQ(0, submit_try(c.fd, &job, 1, NULL));
		charged = cg_current(self->cg) - charged;
		if (syncobj_done(c.fd, gate.syncobj))
			SKIP("a gate opens by itself before this machine has done that");
		harness_diag("%u jobs that wait for %u fences: %lld KiB are charged", WRITERS,
			     READERS, charged / 1024);
		/* A pointer for each fence. */
		EXPECT_GE(charged, WRITERS * READERS * 8);
		_exit(0);
	}
	harness_join(pid);
	gate_open(&gate);
	client_close(&c);
	gate_free(&gate);
}

/* --- limits ---------------------------------------------------------------------------- */

FIXTURE(limit) {
	char cg[64];
};

FIXTURE_SETUP(limit)
{
	cg_make(self->cg, sizeof(self->cg), "limit");
	ASSERT_TRUE(cg_write(self->cg, "memory.max", "67108864"));
}

FIXTURE_TEARDOWN(limit)
{
	cg_drop(self->cg);
}

/* A job, so that one knows that the device is well. */
struct copy {
	struct buf tasks, from, to;
	__u32 queue;
};

static void copy_make(struct client *c, struct copy *k)
{
	int engine = engine_for(c->fd, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8);

	if (engine < 0)
		SKIP("no engine copies");
	client_buf(c, &k->tasks, PAGE);
	client_buf(c, &k->from, 16 * PAGE);
	client_buf(c, &k->to, 16 * PAGE);
	memset(k->from.map, 0x29, k->from.size);
	task_copy(k->tasks.task, UMA_DTYPE_U8, k->to.va, k->from.va, 16 * PAGE);
	k->queue = queue_create(c->fd, c->vm, (unsigned int)engine);
}

static void run_copy(struct client *c)
{
	struct copy k;

	copy_make(c, &k);
	EXPECT_EQ(0, client_run(c, k.queue, k.tasks.va, 1));
	EXPECT_EQ(0x29, k.to.u8[16 * PAGE - 1]);
}

TEST_F(limit, enomem)
{
	pid_t pid = harness_fork();

	if (!pid) {
		__u32 handles[8];
		struct client c;
		int i, n, ret = 0;

		cg_enter(self->cg);
		client_open(&c);
		for (n = 0; n < 8 && !ret; n++) {
			handles[n] = bo_create(c.fd, 16 * MIB, 0);
			ret = vm_map_try(c.fd, c.vm, handles[n], 0, client_va(&c, 16 * MIB),
					 16 * MIB, 0);
		}
		EXPECT_EQ(-ENOMEM, ret);
		EXPECT_GE(n, 2);
		EXPECT_LE(n, 4);
		for (i = 0; i < n; i++)
			gem_close(c.fd, handles[i]);
		/* The mappings hold them still. */
		vm_unmap(c.fd, c.vm, c.va - 8 * (16 * MIB + PAGE), 8 * (16 * MIB + PAGE));
		run_copy(&c);
		client_close(&c);
		_exit(0);
	}
	harness_join(pid);
}

/* Four times as much as there may be, but none of it is needed: the cgroup gets it from itself. */
TEST_F(limit, purges_its_own)
{
	pid_t pid = harness_fork();

	if (!pid) {
		__u32 handles[32], gone = 0;
		struct client c;
		int i;

		cg_enter(self->cg);
		client_open(&c);
		for (i = 0; i < 32; i++) {
			handles[i] = bo_create(c.fd, 8 * MIB, 0);
			client_bind_handle(&c, handles[i], 8 * MIB, 0);
			ASSERT_EQ(1, madvise_try(c.fd, handles[i], DRM_UMA_MADV_DONTNEED));
		}
		for (i = 0; i < 32; i++)
			gone += purged(c.fd, handles[i]);
		EXPECT_GE(gone, 24);
		EXPECT_LT(gone, 32);
		/* The oldest go first. */
		EXPECT_TRUE(purged(c.fd, handles[0]));
		EXPECT_FALSE(purged(c.fd, handles[31]));
		run_copy(&c);
		client_close(&c);
		_exit(0);
	}
	harness_join(pid);
}

#define PLACES	2048u

/* So that it takes long to remove a buffer from a page table. */
static void bind_often(struct client *c, __u32 handle, __u64 size)
{
	struct drm_uma_bind_op ops[64];
	/* Where no blocks may be. */
	__u64 va = ((client_va(c, size * PLACES + 4 * MIB) + 2 * MIB) & ~(2 * MIB - 1)) + PAGE;
	unsigned int i, k;

	for (i = 0; i < PLACES; i += 64) {
		for (k = 0; k < 64; k++)
			ops[k] = (struct drm_uma_bind_op){
				.op = DRM_UMA_BIND_MAP, .handle = handle, .size = size,
				.va = va + (i + k) * size,
			};
		ASSERT_EQ(0, vm_bind_try(c->fd, c->vm, ops, 64, NULL));
	}
}

/*
 * Whoever reclaims memory gets two percent of a processor, and takes a buffer that is bound very
 * often. Neither the jobs of others wait for him, nor does who frees his own buffers.
 */
TEST_F_TIMEOUT(limit, slow_reclaim, 240)
{
	struct client c, other;
	uint64_t begin, jobs_ns, free_ns;
	char slow[64];
	pid_t pid;

	cg_make(slow, sizeof(slow), "slow");
	if (!cg_write(".", "cgroup.subtree_control", "+cpu") ||
	    !cg_write(slow, "cpu.max", "2000 100000")) {
		cg_drop(slow);
		SKIP("no cgroups of processor time");
	}
	pid = harness_fork();
	if (!pid) {
		struct copy mine, others;
		__u32 handle, done;
		pid_t reclaims;

		cg_enter(self->cg);
		client_open(&c);
		client_open(&other);
		copy_make(&c, &mine);
		copy_make(&other, &others);
		EXPECT_EQ(0, client_run(&c, mine.queue, mine.tasks.va, 1));
		handle = bo_create(c.fd, 8 * MIB, 0);
		bind_often(&c, handle, 8 * MIB);
		ASSERT_EQ(1, madvise_try(c.fd, handle, DRM_UMA_MADV_DONTNEED));
		reclaims = harness_fork();
		if (!reclaims) {
			cg_enter(slow);
			cg_write(self->cg, "memory.reclaim", "8388608");
			_exit(0);
		}
		while (!purged(c.fd, handle))
			usleep(1000);
		begin = now_ns();
		done = client_start(&c, mine.queue, mine.tasks.va, 1);
		EXPECT_EQ(0, client_run(&other, others.queue, others.tasks.va, 1));
		jobs_ns = now_ns() - begin;
		begin = now_ns();
		gem_close(other.fd, bo_create(other.fd, PAGE, 0));
		free_ns = now_ns() - begin;
		EXPECT_EQ(0, waitpid(reclaims, NULL, WNOHANG));
		EXPECT_EQ(1, syncobj_result(c.fd, done));
		ASSERT_TRUE(cg_write(slow, "cpu.max", "max"));
		harness_join(reclaims);
		harness_diag("jobs took %llu ms, to free a buffer %llu ms",
			     (unsigned long long)jobs_ns / 1000000,
			     (unsigned long long)free_ns / 1000000);
		EXPECT_LT(jobs_ns, 1000000000);
		EXPECT_LT(free_ns, 1000000000);
		client_close(&c);
		client_close(&other);
		_exit(0);
	}
	harness_join(pid);
	cg_drop(slow);
}

/* memory.reclaim of a cgroup takes from its buffers and from nobody else's. */
TEST_F(limit, reclaim)
{
	__u32 outside[4], gone = 0;
	struct client c;
	pid_t pid;
	int i;

	client_open(&c);
	for (i = 0; i < 4; i++) {
		outside[i] = bo_create(c.fd, 4 * MIB, 0);
		client_bind_handle(&c, outside[i], 4 * MIB, 0);
		ASSERT_EQ(1, madvise_try(c.fd, outside[i], DRM_UMA_MADV_DONTNEED));
	}
	pid = harness_fork();
	if (!pid) {
		long long before;
		__u32 handles[12];
		struct client d;

		cg_enter(self->cg);
		client_open(&d);
		for (i = 0; i < 12; i++) {
			handles[i] = bo_create(d.fd, 4 * MIB, 0);
			client_bind_handle(&d, handles[i], 4 * MIB, 0);
			ASSERT_EQ(1, madvise_try(d.fd, handles[i], DRM_UMA_MADV_DONTNEED));
		}
		before = cg_current(self->cg);
		if (!cg_write(self->cg, "memory.reclaim", "33554432") && errno == ENOENT)
			SKIP("no memory.reclaim");
		EXPECT_LE(cg_current(self->cg), before - (long long)(16 * MIB));
		client_close(&d);
		_exit(0);
	}
	harness_join(pid);
	for (i = 0; i < 4; i++)
		gone += purged(c.fd, outside[i]);
	EXPECT_EQ(0, gone);
	client_close(&c);
}

/* --- pressure and fences ----------------------------------------------------------------- */

FIXTURE(pressure) {
	char cg[64];
	uint64_t until;
	__u64 *work;
};

FIXTURE_SETUP(pressure)
{
	cg_make(self->cg, sizeof(self->cg), "pressure");
	ASSERT_TRUE(cg_write(self->cg, "memory.max", "134217728"));
	self->until = now_ns() + 15000000000ull;
	self->work = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(self->work != MAP_FAILED);
}

FIXTURE_TEARDOWN(pressure)
{
	cg_drop(self->cg);
}

struct worker {
	struct client c;
	unsigned int engine;
	struct buf tasks;
	struct buf data;
};

static void worker_make(struct worker *w)
{
	int engine;

	client_open(&w->c);
	engine = engine_for(w->c.fd, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8);
	if (engine < 0)
		SKIP("no engine copies");
	w->engine = (unsigned int)engine;
	client_buf(&w->c, &w->tasks, PAGE);
	client_buf(&w->c, &w->data, 64 * PAGE);
}

/* What is needed is there, whatever happens to others. */
static void do_jobs(struct pressure_fixture *self, __u64 *count)
{
	struct worker w;
	__u32 queue;
	__u8 n = 0;

	worker_make(&w);
	queue = queue_create(w.c.fd, w.c.vm, w.engine);
	task_copy(w.tasks.task, UMA_DTYPE_U8, w.data.va + 32 * PAGE, w.data.va, 32 * PAGE);
	for (; now_ns() < self->until; ++*count) {
		memset(w.data.map, ++n, 32 * PAGE);
		ASSERT_EQ(0, client_run(&w.c, queue, w.tasks.va, 1));
		ASSERT_EQ(n, w.data.u8[32 * PAGE]);
		ASSERT_EQ(n, w.data.u8[64 * PAGE - 1]);
	}
}

static void do_binds(struct pressure_fixture *self, __u64 *count)
{
	struct worker w;

	worker_make(&w);
	for (; now_ns() < self->until; ++*count) {
		__u64 va = w.c.va + (*count % 64 << 21);
		__u32 handle;
		int ret;

		ASSERT_EQ(0, bo_create_try(w.c.fd, 2 * MIB, 0, &handle));
		ret = vm_map_try(w.c.fd, w.c.vm, handle, 0, va, 2 * MIB, 0);
		ASSERT_TRUE(ret == 0 || ret == -ENOMEM);
		gem_close(w.c.fd, handle);
		vm_unmap(w.c.fd, w.c.vm, va, 2 * MIB);
	}
}

/* CPU faults of buffers and of plain memory. */
static void do_faults(struct pressure_fixture *self, __u64 *count)
{
	struct worker w;

	worker_make(&w);
	for (; now_ns() < self->until; ++*count) {
		__u8 *p, *q;
		__u64 offset;
		__u32 handle;
		int ret;

		ASSERT_EQ(0, bo_create_try(w.c.fd, 2 * MIB, 0, &handle));
		ret = bo_offset_try(w.c.fd, handle, &offset);
		ASSERT_TRUE(ret == 0 || ret == -ENOMEM);
		p = ret ? MAP_FAILED : mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED,
					    w.c.fd, (off_t)offset);
		q = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ASSERT_TRUE(q != MAP_FAILED);
		memset(q, 1, 2 * MIB);
		if (p != MAP_FAILED) {
			memset(p, 1, 2 * MIB);
			ASSERT_EQ(0, munmap(p, 2 * MIB));
		}
		ASSERT_EQ(0, munmap(q, 2 * MIB));
		gem_close(w.c.fd, handle);
	}
}

/* Buffers that are not needed, and jobs that use them all the same: these may fault. */
static void do_dontneed(struct pressure_fixture *self, __u64 *count)
{
	struct buf b[16] = {};
	struct worker w;
	__u32 queue = 0;

	worker_make(&w);
	for (; now_ns() < self->until; ++*count) {
		struct buf *p = &b[*count % 16];
		int ret;

		if (p->handle) {
			vm_unmap(w.c.fd, w.c.vm, p->va, p->size);
			gem_close(w.c.fd, p->handle);
			p->handle = 0;
		}
		p->size = 4 * MIB;
		ASSERT_EQ(0, bo_create_try(w.c.fd, p->size, 0, &p->handle));
		p->va = client_va(&w.c, p->size);
		ret = vm_map_try(w.c.fd, w.c.vm, p->handle, 0, p->va, p->size, 0);
		ASSERT_TRUE(ret == 0 || ret == -ENOMEM);
		if (ret)
			continue;
		ASSERT_EQ(1, madvise_try(w.c.fd, p->handle, DRM_UMA_MADV_DONTNEED));
		if (!queue)
			queue = queue_create(w.c.fd, w.c.vm, w.engine);
		task_copy(w.tasks.task, UMA_DTYPE_U8, w.data.va, b[*count * 7 % 16].va, 32 * PAGE);
		ret = client_run(&w.c, queue, w.tasks.va, 1);
		ASSERT_TRUE(ret == 0 || ret == -EFAULT);
		if (ret) {
			ASSERT_EQ(0, queue_destroy_try(w.c.fd, queue));
			queue = 0;
		}
	}
}

/* Everything that makes the kernel look for memory. */
static void do_reclaim(struct pressure_fixture *self, __u64 *count)
{
	const char *shrinkers = "/sys/kernel/debug/shrinker";
	struct dirent *d;
	DIR *dir;

	for (; now_ns() < self->until; ++*count) {
		ASSERT_TRUE(write_text("/proc/sys/vm/drop_caches", *count & 1 ? "2" : "3"));
		cg_write(self->cg, "memory.reclaim", "16777216");
		dir = opendir(shrinkers);
		while (dir && (d = readdir(dir))) {
			char path[512], text[1024], request[64], *line, *save;

			if (strncmp(d->d_name, "uma:", 4))
				continue;
			snprintf(path, sizeof(path), "%s/%s/count", shrinkers, d->d_name);
			ASSERT_TRUE(read_text(path, text, sizeof(text)));
			snprintf(path, sizeof(path), "%s/%s/scan", shrinkers, d->d_name);
			/* Each line is a cgroup, which may have gone, and its count. */
			for (line = strtok_r(text, "\n", &save); line;
			     line = strtok_r(NULL, "\n", &save)) {
				snprintf(request, sizeof(request), "%llu 0 1024",
					 strtoull(line, NULL, 10));
				write_text(path, request);
			}
		}
		if (dir)
			closedir(dir);
		usleep(1000);
	}
}

TEST_F_TIMEOUT(pressure, with_fences, 600)
{
	static void (*const work[])(struct pressure_fixture *self, __u64 *count) = {
		do_reclaim, do_jobs, do_binds, do_faults, do_dontneed,
	};
	enum { WORKERS = sizeof(work) / sizeof(work[0]) };
	pid_t pids[WORKERS];
	int i;

	expect_faults(-1);
	for (i = 0; i < WORKERS; i++) {
		pids[i] = harness_fork();
		if (!pids[i]) {
			/* Who makes the pressure is outside. */
			if (i)
				cg_enter(self->cg);
			work[i](self, &self->work[i]);
			_exit(0);
		}
	}
	for (i = 0; i < WORKERS; i++)
		harness_join(pids[i]);
	for (i = 0; i < WORKERS; i++)
		EXPECT_GT(self->work[i], 0);
	harness_diag("%llu reclaims, %llu jobs, %llu binds, %llu faults, %llu not needed",
		     (unsigned long long)self->work[0], (unsigned long long)self->work[1],
		     (unsigned long long)self->work[2], (unsigned long long)self->work[3],
		     (unsigned long long)self->work[4]);
}

/*
 * The device forgets what the shrinker takes before a job can use it, however busy it is with
 * jobs and invalidations of others.
 */
TEST_F_TIMEOUT(pressure, forgotten, 120)
{
	static void (*const work[])(struct pressure_fixture *self, __u64 *count) = {
		do_jobs, do_binds,
	};
	__u64 rounds, gone = 0;
	struct worker w;
	pid_t pids[2];
	int i;

	expect_faults(-1);
	self->until = now_ns() + 4000000000ull;
	for (i = 0; i < 2; i++) {
		pids[i] = harness_fork();
		if (!pids[i]) {
			work[i](self, &self->work[i]);
			_exit(0);
		}
	}
	worker_make(&w);
	for (rounds = 0; now_ns() < self->until; rounds++) {
		__u32 queue = queue_create(w.c.fd, w.c.vm, w.engine);
		struct drm_uma_queue_state state = {};
		struct buf b = { .size = 16 * PAGE };
		int ret;

		b.handle = bo_create(w.c.fd, b.size, 0);
		b.va = client_va(&w.c, b.size);
		vm_map(w.c.fd, w.c.vm, b.handle, 0, b.va, b.size, 0);
		task_copy(w.tasks.task, UMA_DTYPE_U8, w.data.va, b.va, b.size);
		ASSERT_EQ(0, client_run(&w.c, queue, w.tasks.va, 1));
		ASSERT_EQ(1, madvise_try(w.c.fd, b.handle, DRM_UMA_MADV_DONTNEED));
		ASSERT_TRUE(write_text("/proc/sys/vm/drop_caches", "2"));
		ret = client_run(&w.c, queue, w.tasks.va, 1);
		ASSERT_TRUE(ret == 0 || ret == -EFAULT);
		if (ret) {
			queue_state(w.c.fd, queue, &state);
			ASSERT_EQ(UMA_FAULT_READ, state.reason);
			gone++;
		}
		ASSERT_EQ(0, queue_destroy_try(w.c.fd, queue));
		vm_unmap(w.c.fd, w.c.vm, b.va, b.size);
		gem_close(w.c.fd, b.handle);
	}
	for (i = 0; i < 2; i++)
		harness_join(pids[i]);
	EXPECT_GT(gone, 0);
	harness_diag("%llu of %llu buffers were taken", (unsigned long long)gone,
		     (unsigned long long)rounds);
}

HARNESS_MAIN
