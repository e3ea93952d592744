// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A device that does not see the processor's caches: what one writes the other
 * sees after DRM_IOCTL_UMA_BO_SYNC, and not before; memory that is mapped
 * write-combined needs none.
 *
 * On the emulated device that is certain: it works on shadows. A sync that the
 * driver leaves out loses data here.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "instance.h"
#include "task.h"
#include "watch.h"

#define WORDS	(PAGE / 4)
#define OLD	0x01d01d01u
#define NEW	0x4e4e4e4eu

FIXTURE(noncoherent) {
	struct instance in;
	struct client c;
	__u32 queue;
	struct buf tasks;
};

/* A buffer that is made, mapped and bound with some flags. */
static void buf_make(struct client *c, struct buf *b, __u64 size, __u32 flags)
{
	b->size = size;
	b->handle = bo_create(c->fd, size, flags);
	b->map = bo_map(c->fd, b->handle, size);
	b->va = client_bind_handle(c, b->handle, size, 0);
}

FIXTURE_SETUP(noncoherent)
{
	int ret, engine;

	instance_make(&self->in, "noncoherent");
	ret = instance_set_try(&self->in, "noncoherent", "1");
	if (ret == -EINVAL) {
		instance_drop(&self->in);
		SKIP("this kernel lets no device have DMA operations");
	}
	ASSERT_EQ(0, ret);
	instance_set(&self->in, "profile", "m1");
	instance_set(&self->in, "paranoid", "1");
	instance_enable(&self->in);
	client_open_named(&self->c, self->in.node);
	engine = engine_for(self->c.fd, UMA_OP_COPY, UMA_DTYPE_S32, 0, UMA_DTYPE_S32);
	ASSERT_GE(engine, 0);
	self->queue = queue_create(self->c.fd, self->c.vm, (unsigned int)engine);
	buf_make(&self->c, &self->tasks, 8 * UMA_TASK_SIZE, DRM_UMA_BO_WC);
}

FIXTURE_TEARDOWN(noncoherent)
{
	client_close(&self->c);
	instance_drop(&self->in);
}

static void sync_range(struct client *c, __u32 handle, __u64 offset, __u64 size, __u32 flags)
{
	struct drm_uma_sync_range range = {
		.handle = handle, .flags = flags, .offset = offset, .size = size,
	};
	struct drm_uma_bo_sync args = { .ranges = array_of(&range, sizeof(range), 1) };

	ASSERT_EQ(0, do_ioctl(c->fd, DRM_IOCTL_UMA_BO_SYNC, &args));
}

static void to_device(struct client *c, const struct buf *b)
{
	sync_range(c, b->handle, 0, b->size, DRM_UMA_SYNC_TO_DEVICE);
}

static void to_cpu(struct client *c, const struct buf *b)
{
	sync_range(c, b->handle, 0, b->size, DRM_UMA_SYNC_TO_CPU);
}

static void words_set(struct buf *b, __u32 value)
{
	unsigned int i;

	for (i = 0; i < b->size / 4; i++)
		b->u32[i] = value;
}

static unsigned int words_of(const struct buf *b, __u32 value)
{
	unsigned int i, n = 0;

	for (i = 0; i < b->size / 4; i++)
		n += b->u32[i] == value;
	return n;
}

static void copy(struct noncoherent_fixture *self, const struct buf *dst, const struct buf *src)
{
	task_copy(self->tasks.task, UMA_DTYPE_S32, dst->va, src->va, (__u32)(dst->size / 4));
	ASSERT_EQ(0, client_run(&self->c, self->queue, self->tasks.va, 1));
}

TEST_F(noncoherent, says_so)
{
	struct drm_uma_query_device info;

	query_device(self->c.fd, &info);
	EXPECT_EQ(0, info.flags & DRM_UMA_DEVICE_COHERENT);
}

/* Write-combined memory is seen as it is, in both directions, with no sync at all. */
TEST_F(noncoherent, write_combined)
{
	struct buf src, dst;
	unsigned int i;

	buf_make(&self->c, &src, 4 * PAGE, DRM_UMA_BO_WC);
	buf_make(&self->c, &dst, 4 * PAGE, DRM_UMA_BO_WC);
	for (i = 0; i < 4; i++) {
		words_set(&src, NEW + i);
		copy(self, &dst, &src);
		EXPECT_EQ(4 * WORDS, words_of(&dst, NEW + i));
	}
}

/* With syncs data gets through; where one is left out, what was there before is still there. */
TEST_F(noncoherent, cached)
{
	struct buf src, dst;

	buf_make(&self->c, &src, 4 * PAGE, 0);
	buf_make(&self->c, &dst, 4 * PAGE, 0);
	words_set(&src, OLD);
	to_device(&self->c, &src);
	copy(self, &dst, &src);
	EXPECT_EQ(0, words_of(&dst, OLD));
	to_cpu(&self->c, &dst);
	EXPECT_EQ(4 * WORDS, words_of(&dst, OLD));

	words_set(&src, NEW);
	copy(self, &dst, &src);
	to_cpu(&self->c, &dst);
	EXPECT_EQ(4 * WORDS, words_of(&dst, OLD));

	to_device(&self->c, &src);
	copy(self, &dst, &src);
	EXPECT_EQ(4 * WORDS, words_of(&dst, OLD));
	to_cpu(&self->c, &dst);
	EXPECT_EQ(4 * WORDS, words_of(&dst, NEW));
}

/* A range is synced, and not its neighbours; a line that nobody wrote takes nothing back. */
TEST_F(noncoherent, ranges)
{
	struct buf src, dst;

	buf_make(&self->c, &src, 2 * PAGE, 0);
	buf_make(&self->c, &dst, 2 * PAGE, 0);
	words_set(&src, OLD);
	to_device(&self->c, &src);
	words_set(&src, NEW);
	sync_range(&self->c, src.handle, PAGE - 64, 128, DRM_UMA_SYNC_TO_DEVICE);
	copy(self, &dst, &src);
	/* What the processor has of it is old, and nothing that it wrote. */
	to_device(&self->c, &dst);
	sync_range(&self->c, dst.handle, PAGE, PAGE, DRM_UMA_SYNC_TO_CPU);
	EXPECT_EQ(16, words_of(&dst, NEW));
	EXPECT_EQ(WORDS - 16, words_of(&dst, OLD));
	to_cpu(&self->c, &dst);
	EXPECT_EQ(32, words_of(&dst, NEW));
	EXPECT_EQ(2 * WORDS - 32, words_of(&dst, OLD));
}

/* The same with memory of the process. */
TEST_F(noncoherent, user_memory)
{
	struct buf src = { .size = 4 * PAGE }, dst = { .size = 4 * PAGE };

	src.map = mmap(NULL, src.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	dst.map = mmap(NULL, dst.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(src.map != MAP_FAILED);
	ASSERT_TRUE(dst.map != MAP_FAILED);
	words_set(&src, OLD);
	ASSERT_EQ(0, bo_import_user_try(self->c.fd, src.map, src.size, 0, &src.handle));
	ASSERT_EQ(0, bo_import_user_try(self->c.fd, dst.map, dst.size, 0, &dst.handle));
	src.va = client_bind_handle(&self->c, src.handle, src.size, 0);
	dst.va = client_bind_handle(&self->c, dst.handle, dst.size, 0);

	words_set(&src, NEW);
	copy(self, &dst, &src);
	to_cpu(&self->c, &dst);
	EXPECT_EQ(4 * WORDS, words_of(&dst, OLD));
	to_device(&self->c, &src);
	copy(self, &dst, &src);
	EXPECT_EQ(4 * WORDS, words_of(&dst, OLD));
	to_cpu(&self->c, &dst);
	EXPECT_EQ(4 * WORDS, words_of(&dst, NEW));
}

/* What the device only reads is handed over in that direction. */
TEST_F(noncoherent, read_only)
{
	struct buf src = { .size = 4 * PAGE }, dst;

	src.map = mmap(NULL, src.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(src.map != MAP_FAILED);
	words_set(&src, OLD);
	ASSERT_EQ(0, bo_import_user_try(self->c.fd, src.map, src.size, DRM_UMA_USER_READONLY,
					&src.handle));
	src.va = client_bind_handle(&self->c, src.handle, src.size, DRM_UMA_BIND_READONLY);
	buf_make(&self->c, &dst, src.size, DRM_UMA_BO_WC);
	words_set(&src, NEW);
	to_device(&self->c, &src);
	copy(self, &dst, &src);
	EXPECT_EQ(4 * WORDS, words_of(&dst, NEW));
	to_cpu(&self->c, &src);
	EXPECT_EQ(4 * WORDS, words_of(&src, NEW));
	/* Nothing is taken back from the device: who may only read undoes what others write. */
	words_set(&src, OLD);
	to_cpu(&self->c, &src);
	EXPECT_EQ(4 * WORDS, words_of(&src, OLD));
}

/* Memory that lies together is mapped in pieces that the device takes. */
TEST_F(noncoherent, huge_page)
{
	const size_t size = 2 << 20;
	struct buf src = { .size = size }, dst;
	__u8 *p;

	p = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(p != MAP_FAILED);
	src.map = (void *)(((uintptr_t)p + size - 1) & ~(size - 1));
	if (madvise(src.map, size, MADV_HUGEPAGE))
		SKIP("no huge pages");
	words_set(&src, NEW);
	ASSERT_EQ(0, bo_import_user_try(self->c.fd, src.map, size, 0, &src.handle));
	src.va = client_bind_handle(&self->c, src.handle, size, 0);
	buf_make(&self->c, &dst, size, DRM_UMA_BO_WC);
	to_device(&self->c, &src);
	copy(self, &dst, &src);
	EXPECT_EQ(size / 4, words_of(&dst, NEW));
}

struct waiter {
	struct client *c;
	__u32 handle;
	__u64 size;
	pid_t tid;
	bool done;
	int ret;
};

static void *waiter_run(void *p)
{
	struct waiter *w = p;
	struct drm_uma_sync_range range = {
		.handle = w->handle, .flags = DRM_UMA_SYNC_TO_DEVICE | DRM_UMA_SYNC_TO_CPU,
		.size = w->size,
	};
	struct drm_uma_bo_sync args = { .ranges = array_of(&range, sizeof(range), 1) };

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	w->ret = do_ioctl(w->c->fd, DRM_IOCTL_UMA_BO_SYNC, &args);
	__atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * Who waits for another device's job to be done with a buffer of that device keeps nobody from
 * taking this one away, and looks at nothing of it afterwards.
 */
TEST_F(noncoherent, imported_and_gone)
{
	struct waiter w = { .c = &self->c, .size = PAGE };
	struct drm_uma_job_bo bo = { .flags = DRM_UMA_JOB_BO_WRITE };
	struct drm_uma_job job = { .bos = array_of(&bo, sizeof(bo), 1) };
	struct client other;
	struct gate gate;
	struct drm_uma_sync wait;
	pthread_t thread;
	pid_t tid;
	int fd;

	client_open(&other);
	bo.handle = bo_create(other.fd, PAGE, 0);
	fd = prime_export(other.fd, bo.handle);
	w.handle = prime_import(self->c.fd, fd);
	close(fd);
	gate_close(&gate, other.fd);
	wait = sync_in(gate.syncobj);
	job.queue_id = queue_create(other.fd, other.vm, 0);
	job.syncs = array_of(&wait, sizeof(wait), 1);
	ASSERT_EQ(0, submit_try(other.fd, &job, 1, NULL));
	ASSERT_EQ(0, pthread_create(&thread, NULL, waiter_run, &w));
	while (!(tid = __atomic_load_n(&w.tid, __ATOMIC_ACQUIRE)) ||
	       !waits_in(tid, "dma_resv_wait_timeout"))
		usleep(1000);
	EXPECT_FALSE(__atomic_load_n(&w.done, __ATOMIC_ACQUIRE));
	instance_set(&self->in, "enabled", "0");
	EXPECT_FALSE(__atomic_load_n(&w.done, __ATOMIC_ACQUIRE));
	gate_open(&gate);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(-ENODEV, w.ret);
	gate_free(&gate);
	client_close(&other);
}

/*
 * A device that is taken away does not wait for a large sync to end. The sync may end before the
 * device goes: then again.
 */
TEST_F_TIMEOUT(noncoherent, large_and_gone, 240)
{
	struct waiter w = { .c = &self->c, .size = 64 << 20 };
	pthread_t thread;
	struct buf buf;
	__u32 queue;

	for (;;) {
		buf_make(&self->c, &buf, w.size, 0);
		w.handle = buf.handle;
		queue = queue_create(self->c.fd, self->c.vm,
				     (unsigned int)engine_for(self->c.fd, UMA_OP_FILL, 0, 0,
							      UMA_DTYPE_S32));
		task_fill(&self->tasks.task[0], UMA_DTYPE_S32, buf.va, WORDS, NEW);
		ASSERT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
		EXPECT_EQ(0, words_of(&buf, NEW));
		ASSERT_EQ(0, pthread_create(&thread, NULL, waiter_run, &w));
		/* It has begun. */
		while (__atomic_load_n(&buf.u32[0], __ATOMIC_RELAXED) != NEW)
			sched_yield();
		instance_set(&self->in, "enabled", "0");
		ASSERT_EQ(0, pthread_join(thread, NULL));
		if (w.ret)
			break;
		ASSERT_EQ(0, munmap(buf.map, buf.size));
		ASSERT_EQ(0, munmap(self->tasks.map, self->tasks.size));
		client_close(&self->c);
		instance_enable(&self->in);
		client_open_named(&self->c, self->in.node);
		buf_make(&self->c, &self->tasks, 8 * UMA_TASK_SIZE, DRM_UMA_BO_WC);
	}
	EXPECT_EQ(-ENODEV, w.ret);
}

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec ts;

	ASSERT_EQ(0, clock_gettime(clock, &ts));
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * Nor does a process that is killed have to finish what it has begun: the time that it still uses
 * the processor for is held against that of one range, so that it does not matter who else does.
 */
TEST_F_TIMEOUT(noncoherent, killed, 240)
{
	enum { RANGES = 256 };
	struct drm_uma_sync_range ranges[RANGES];
	struct drm_uma_bo_sync args = { .ranges = array_of(ranges, sizeof(*ranges), RANGES) };
	uint64_t begin, one, all;
	struct rusage usage;
	struct buf buf;
	unsigned int i;
	clockid_t clock;
	int status;
	pid_t pid;

	buf_make(&self->c, &buf, 8 << 20, 0);
	begin = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	to_device(&self->c, &buf);
	one = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	for (i = 0; i < RANGES; i++)
		ranges[i] = (struct drm_uma_sync_range){
			.handle = buf.handle, .flags = DRM_UMA_SYNC_TO_DEVICE, .size = buf.size,
		};
	pid = harness_fork();
	if (!pid) {
		/* However fast that is, it is at it. */
		while (!do_ioctl(self->c.fd, DRM_IOCTL_UMA_BO_SYNC, &args))
			;
		_exit(0);
	}
	ASSERT_EQ(0, clock_getcpuclockid(pid, &clock));
	while (cpu_ns(clock) < 2 * one)
		usleep(1000);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	begin = cpu_ns(clock);
	ASSERT_EQ(pid, wait4(pid, &status, 0, &usage));
	EXPECT_TRUE(WIFSIGNALED(status));
	all = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
	      (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
	EXPECT_LT(all - begin, RANGES / 4 * one);
}

/* What has no memory yet gets none for being synced: it is mapped as it is when it has. */
TEST_F(noncoherent, untouched)
{
	struct drm_uma_bo_info info;
	struct buf src, dst;

	src.size = 4 * PAGE;
	src.handle = bo_create(self->c.fd, src.size, 0);
	to_device(&self->c, &src);
	to_cpu(&self->c, &src);
	bo_info(self->c.fd, src.handle, &info);
	EXPECT_EQ(0, info.resident);
	src.map = bo_map(self->c.fd, src.handle, src.size);
	words_set(&src, NEW);
	to_device(&self->c, &src);
	bo_info(self->c.fd, src.handle, &info);
	EXPECT_EQ(src.size, info.resident);
	src.va = client_bind_handle(&self->c, src.handle, src.size, 0);
	buf_make(&self->c, &dst, src.size, DRM_UMA_BO_WC);
	copy(self, &dst, &src);
	EXPECT_EQ(4 * WORDS, words_of(&dst, NEW));
}

/* What another device that is not coherent has exported is synced for this one, too. */
TEST_F(noncoherent, imported)
{
	struct instance in;
	struct client other;
	struct buf src, dst;
	int fd;

	instance_make(&in, "exporter");
	instance_set(&in, "noncoherent", "1");
	instance_set(&in, "profile", "m1");
	instance_enable(&in);
	client_open_named(&other, in.node);
	src.size = PAGE;
	src.handle = bo_create(other.fd, src.size, 0);
	src.map = bo_map(other.fd, src.handle, src.size);
	words_set(&src, OLD);
	fd = prime_export(other.fd, src.handle);
	src.handle = prime_import(self->c.fd, fd);
	close(fd);
	src.va = client_bind_handle(&self->c, src.handle, src.size, 0);
	buf_make(&self->c, &dst, src.size, DRM_UMA_BO_WC);
	words_set(&src, NEW);
	to_device(&self->c, &src);
	copy(self, &dst, &src);
	EXPECT_EQ(WORDS, words_of(&dst, NEW));
	/* And back. */
	words_set(&dst, OLD);
	copy(self, &src, &dst);
	to_cpu(&self->c, &src);
	EXPECT_EQ(WORDS, words_of(&src, OLD));
	client_close(&other);
	instance_drop(&in);
}

/* What was exported without write access is only read, as imported memory of a process is. */
TEST_F(noncoherent, imported_read_only)
{
	struct buf src = { .size = PAGE }, dst;
	struct client other;
	int fd;

	if (!access("/sys/kernel/debug/dma-api", F_OK))
		SKIP("CONFIG_DMA_API_DEBUG does not know two mappings of a page apart");
	client_open_named(&other, self->in.node);
	src.handle = bo_create(other.fd, src.size, 0);
	src.map = bo_map(other.fd, src.handle, src.size);
	words_set(&src, OLD);
	ASSERT_EQ(0, prime_export_try(other.fd, src.handle, DRM_CLOEXEC, &fd));
	src.handle = prime_import(self->c.fd, fd);
	close(fd);
	src.va = client_bind_handle(&self->c, src.handle, src.size, DRM_UMA_BIND_READONLY);
	buf_make(&self->c, &dst, src.size, DRM_UMA_BO_WC);
	words_set(&src, NEW);
	to_device(&self->c, &src);
	copy(self, &dst, &src);
	EXPECT_EQ(WORDS, words_of(&dst, NEW));
	words_set(&src, OLD);
	to_cpu(&self->c, &src);
	EXPECT_EQ(WORDS, words_of(&src, OLD));
	client_close(&other);
}

/* What is written when the buffer goes is handed back with it. */
TEST_F(noncoherent, given_back)
{
	struct buf dst = { .size = PAGE }, src;

	dst.map = mmap(NULL, dst.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(dst.map != MAP_FAILED);
	words_set(&dst, OLD);
	ASSERT_EQ(0, bo_import_user_try(self->c.fd, dst.map, dst.size, 0, &dst.handle));
	dst.va = client_bind_handle(&self->c, dst.handle, dst.size, 0);
	buf_make(&self->c, &src, PAGE, DRM_UMA_BO_WC);
	words_set(&src, NEW);
	copy(self, &dst, &src);
	EXPECT_EQ(WORDS, words_of(&dst, OLD));
	vm_unmap(self->c.fd, self->c.vm, dst.va, dst.size);
	gem_close(self->c.fd, dst.handle);
	EXPECT_EQ(WORDS, words_of(&dst, NEW));
}

/*
 * Entries are taken as they are when the doorbell rings, and records are garbage until their
 * sequence number is there: many laps of rings and records, and each job's result is right.
 */
TEST_F(noncoherent, rings_and_records)
{
	__u32 done[8], queues[2], i, k;
	struct buf dst;

	buf_make(&self->c, &dst, PAGE, DRM_UMA_BO_WC);
	queues[0] = self->queue;
	queues[1] = queue_create(self->c.fd, self->c.vm,
				 (unsigned int)engine_for(self->c.fd, UMA_OP_FILL, 0, 0,
							  UMA_DTYPE_S32));
	for (i = 0; i < 80; i++) {
		for (k = 0; k < 8; k++) {
			task_fill(&self->tasks.task[k], UMA_DTYPE_S32, dst.va + 64 * k, 1,
				  8 * i + k + 1);
			done[k] = client_start(&self->c, queues[1],
					       self->tasks.va + k * UMA_TASK_SIZE, 1);
		}
		for (k = 0; k < 8; k++) {
			EXPECT_EQ(1, syncobj_result(self->c.fd, done[k]));
			EXPECT_EQ(8 * i + k + 1, dst.u32[16 * k]);
			ASSERT_EQ(0, syncobj_destroy_try(self->c.fd, done[k]));
		}
	}
}

HARNESS_MAIN
