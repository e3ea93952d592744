// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Threads that pull handles from under each other. Every call may fail as it is
 * documented to; none may do harm, and afterwards everything works.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <signal.h>

#include "task.h"
#include "watch.h"

#define ROUNDS	150
#define JOBS	64	/* of a submit */

enum victim {
	BIND, MMAP, EXPORT, INFO, LABEL, SYNC, IMPORT_SAME, SUBMIT_QUEUE, SUBMIT_JOBS, STATE, VM,
	SYNCOBJ,
};

FIXTURE(race) {
	struct client c;
	__u32 queue;
	enum victim victim;
	__u32 handle;
	int dmabuf;
	struct buf tasks;
	unsigned int submit_us;
	pthread_barrier_t barrier;
};

FIXTURE_VARIANT(race) {
	enum victim victim;
};

#define RACE(v, x) FIXTURE_VARIANT_ADD(race, v) { .victim = x }
RACE(close_vs_bind, BIND);
RACE(close_vs_mmap, MMAP);
RACE(close_vs_export, EXPORT);
RACE(close_vs_info, INFO);
RACE(close_vs_label, LABEL);
RACE(close_vs_sync, SYNC);
RACE(close_vs_import, IMPORT_SAME);
RACE(destroy_queue_vs_submit, SUBMIT_QUEUE);
RACE(destroy_queue_vs_jobs, SUBMIT_JOBS);
RACE(destroy_queue_vs_state, STATE);
RACE(destroy_vm_vs_bind, VM);
RACE(destroy_syncobj_vs_submit, SYNCOBJ);

FIXTURE_SETUP(race)
{
	client_open(&self->c);
	self->queue = queue_create(self->c.fd, self->c.vm, 0);
	self->victim = variant->victim;
	self->dmabuf = -1;
	self->submit_us = 1000;
	client_buf(&self->c, &self->tasks, PAGE);
	task_nop(self->tasks.task);
	ASSERT_EQ(0, pthread_barrier_init(&self->barrier, NULL, 2));
}

FIXTURE_TEARDOWN(race)
{
	munmap(self->tasks.map, self->tasks.size);
	client_close(&self->c);
}

static __u32 make(struct race_fixture *self)
{
	__u32 handle;

	switch (self->victim) {
	case SUBMIT_QUEUE:
	case SUBMIT_JOBS:
	case STATE:
		return queue_create(self->c.fd, self->c.vm, 0);
	case VM:
		return vm_create(self->c.fd);
	case SYNCOBJ:
		return syncobj_create(self->c.fd, true);
	case IMPORT_SAME:
		if (self->dmabuf >= 0)
			close(self->dmabuf);
		handle = bo_create(self->c.fd, PAGE, 0);
		self->dmabuf = prime_export(self->c.fd, handle);
		return handle;
	default:
		return bo_create(self->c.fd, PAGE, 0);
	}
}

static int unmake(struct race_fixture *self, __u32 handle)
{
	switch (self->victim) {
	case SUBMIT_QUEUE:
	case SUBMIT_JOBS:
	case STATE:
		return queue_destroy_try(self->c.fd, handle);
	case VM:
		return vm_destroy_try(self->c.fd, handle);
	case SYNCOBJ:
		return syncobj_destroy_try(self->c.fd, handle);
	default:
		return gem_close_try(self->c.fd, handle);
	}
}

/* Jobs begin, end and are freed while others of the same call are still being pushed. */
static int use_jobs(struct race_fixture *self, __u32 queue)
{
	__u32 done = syncobj_create(self->c.fd, false);
	struct drm_uma_sync sync = sync_out(done);
	struct drm_uma_job jobs[JOBS];
	uint64_t begin = now_ns();
	int i, ret, status;

	for (i = 0; i < JOBS; i++)
		jobs[i] = (struct drm_uma_job){
			.queue_id = queue, .task_count = 1, .tasks_addr = self->tasks.va,
		};
	jobs[JOBS - 1].syncs = array_of(&sync, sizeof(sync), 1);
	ret = submit_try(self->c.fd, jobs, JOBS, NULL);
	/* How long it takes if nobody is in the way: somewhere in it the queue is to go. */
	self->submit_us = ret ? 2 * self->submit_us : (unsigned int)((now_ns() - begin) / 1000);
	if (!ret) {
		status = syncobj_result(self->c.fd, done);
		ASSERT_TRUE(status == 1 || status == -ECANCELED);
	}
	ASSERT_EQ(0, syncobj_destroy_try(self->c.fd, done));
	return ret;
}

static int use(struct race_fixture *self, __u32 handle)
{
	struct drm_uma_sync_range range = { .handle = handle,
					    .flags = DRM_UMA_SYNC_TO_CPU,
					    .size = PAGE };
	struct drm_uma_bo_sync bo_sync = { .ranges = array_of(&range, sizeof(range), 1) };
	struct drm_uma_sync sync = sync_in(handle);
	struct drm_uma_queue_state state;
	struct drm_uma_bo_info info;
	__u64 offset, va;
	__u32 again;
	int ret, fd;
	void *p;

	switch (self->victim) {
	case BIND:
		va = client_va(&self->c, PAGE);
		ret = vm_map_try(self->c.fd, self->c.vm, handle, 0, va, PAGE, 0);
		if (!ret)
			vm_unmap(self->c.fd, self->c.vm, va, PAGE);
		return ret;
	case MMAP:
		ret = bo_offset_try(self->c.fd, handle, &offset);
		if (ret)
			return ret;
		p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, self->c.fd, (off_t)offset);
		if (p != MAP_FAILED) {
			__atomic_store_n((__u8 *)p, 1, __ATOMIC_SEQ_CST);
			munmap(p, PAGE);
		}
		return 0;
	case EXPORT:
		ret = prime_export_try(self->c.fd, handle, DRM_CLOEXEC, &fd);
		if (!ret)
			close(fd);
		return ret;
	case INFO:
		return bo_info_try(self->c.fd, handle, &info);
	case LABEL:
		return bo_label_try(self->c.fd, handle, "racing", 6);
	case SYNC:
		return do_ioctl(self->c.fd, DRM_IOCTL_UMA_BO_SYNC, &bo_sync);
	case IMPORT_SAME:
		/*
		 * The buffer lives through the dma-buf, whatever became of the handle: this one
		 * always works.
		 */
		ASSERT_EQ(0, prime_import_try(self->c.fd, self->dmabuf, &again));
		ret = gem_close_try(self->c.fd, again);
		ASSERT_TRUE(ret == 0 || ret == -EINVAL);
		return 0;
	case SUBMIT_QUEUE:
		return submit_one_try(self->c.fd, handle, 0, 0, NULL, 0);
	case SUBMIT_JOBS:
		return use_jobs(self, handle);
	case STATE:
		return queue_state_try(self->c.fd, handle, &state);
	case VM:
		return vm_unmap_try(self->c.fd, handle, client_va(&self->c, PAGE), PAGE);
	case SYNCOBJ:
		return submit_one_try(self->c.fd, self->queue, 0, 0, &sync, 1);
	}
	return -1;
}

static void *destroyer(void *p)
{
	struct race_fixture *self = p;
	unsigned int delay;
	int i, ret;

	for (i = 0; i < ROUNDS; i++) {
		delay = self->submit_us * (unsigned int)(i % 16) / 16;
		pthread_barrier_wait(&self->barrier);
		if (self->victim == SUBMIT_JOBS)
			usleep(delay);
		ret = unmake(self, self->handle);
		/* With an import beside it the handle may be the import's already. */
		ASSERT_TRUE(ret == 0 || (self->victim == IMPORT_SAME && ret == -EINVAL));
		pthread_barrier_wait(&self->barrier);
	}
	return NULL;
}

TEST_F_TIMEOUT(race, two_threads, 240)
{
	pthread_t thread;
	int i, ret, gone = 0;

	ASSERT_EQ(0, pthread_create(&thread, NULL, destroyer, self));
	for (i = 0; i < ROUNDS; i++) {
		self->handle = make(self);
		pthread_barrier_wait(&self->barrier);
		ret = use(self, self->handle);
		ASSERT_TRUE(ret == 0 || ret == -ENOENT);
		gone += ret == -ENOENT;
		pthread_barrier_wait(&self->barrier);
	}
	ASSERT_EQ(0, pthread_join(thread, NULL));
	harness_diag("gone before its use in %d of %d rounds", gone, ROUNDS);
	EXPECT_EQ(0, client_run(&self->c, self->queue, 0, 0));
}

/* --- one thread guesses the handle that another is about to get -------------------------- */

struct guess {
	int fd;
	bool stop;
};

static void *guesser(void *p)
{
	struct guess *g = p;

	/* Handles are small numbers: they can be closed before their owner knows them. */
	while (!__atomic_load_n(&g->stop, __ATOMIC_ACQUIRE)) {
		__u32 i;

		for (i = 1; i < 4; i++)
			gem_close_try(g->fd, i);
	}
	return NULL;
}

TEST_TIMEOUT(closed_during_create, 240)
{
	struct guess g = { .fd = dev_open() };
	struct drm_uma_bo_info info;
	pthread_t thread;
	__u32 handle;
	void *p;
	int i;

	p = aligned_alloc(PAGE, PAGE);
	ASSERT_TRUE(p);
	memset(p, 0, PAGE);
	ASSERT_EQ(0, pthread_create(&thread, NULL, guesser, &g));
	for (i = 0; i < 300; i++) {
		ASSERT_EQ(0, bo_create_try(g.fd, PAGE, 0, &handle));
		bo_info_try(g.fd, handle, &info);
		gem_close_try(g.fd, handle);
		ASSERT_EQ(0, bo_import_user_try(g.fd, p, PAGE, 0, &handle));
		gem_close_try(g.fd, handle);
	}
	__atomic_store_n(&g.stop, true, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	close(g.fd);
}

/* --- arguments that change under the driver's eyes --------------------------------------- */

struct flip {
	struct drm_uma_bind_op *op;
	struct drm_uma_bind_op good, bad;
	bool stop;
};

static void *flipper(void *p)
{
	struct flip *f = p;

	while (!__atomic_load_n(&f->stop, __ATOMIC_ACQUIRE)) {
		memcpy(f->op, &f->bad, sizeof(f->bad));
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		memcpy(f->op, &f->good, sizeof(f->good));
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* What is checked must be what is used: a bad value that wins the race is refused or never seen. */
TEST_TIMEOUT(arguments_change, 240)
{
	struct drm_uma_bind_op op[2];
	struct drm_uma_bo_info info;
	struct flip f = { .op = op };
	struct client c;
	pthread_t thread;
	int i, ret;

	client_open(&c);
	f.good = (struct drm_uma_bind_op){
		.op = DRM_UMA_BIND_MAP,
		.handle = bo_create(c.fd, 4 * PAGE, 0),
		.va = client_va(&c, 64 * PAGE),
		.size = 4 * PAGE,
	};
	f.bad = f.good;
	f.bad.bo_offset = 1ull << 40;
	f.bad.size = 1ull << 40;
	f.bad.va = 0;
	op[0] = f.good;
	ASSERT_EQ(0, pthread_create(&thread, NULL, flipper, &f));
	for (i = 0; i < 500; i++) {
		ret = vm_bind_try(c.fd, c.vm, op, 1, NULL);
		ASSERT_TRUE(ret == 0 || ret == -EINVAL);
		if (!ret)
			vm_unmap(c.fd, c.vm, f.good.va - 8 * PAGE, 16 * PAGE);
	}
	__atomic_store_n(&f.stop, true, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	bo_info(c.fd, f.good.handle, &info);
	/*
	 * A mixture that was valid may be bound elsewhere, but never more than one at a time per
	 * call.
	 */
	EXPECT_LE(info.mappings, 500);
	client_close(&c);
}

/* --- signals ----------------------------------------------------------------------------- */

static void on_alarm(int sig __attribute__((unused)))
{
}

/* Interrupted calls can be repeated as they are, and are done once. */
TEST_TIMEOUT(signals, 240)
{
	struct itimerval timer = { .it_interval.tv_usec = 500, .it_value.tv_usec = 500 };
	struct sigaction sa = { .sa_handler = on_alarm };
	struct drm_uma_queue_state state;
	struct drm_uma_bo_info info;
	struct client c;
	__u32 queue, bo;
	__u64 va;
	int i;

	client_open(&c);
	queue = queue_create(c.fd, c.vm, 0);
	bo = bo_create(c.fd, 64 * PAGE, 0);
	ASSERT_EQ(0, sigaction(SIGALRM, &sa, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &timer, NULL));
	for (i = 0; i < 100; i++) {
		va = client_va(&c, 64 * PAGE);
		vm_map(c.fd, c.vm, bo, 0, va, 64 * PAGE, 0);
		ASSERT_EQ(0, submit_one_try(c.fd, queue, 0, 0, NULL, 0));
	}
	timer = (struct itimerval){ 0 };
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &timer, NULL));
	bo_info(c.fd, bo, &info);
	EXPECT_EQ(100, info.mappings);
	ASSERT_EQ(0, client_run(&c, queue, 0, 0));
	queue_state(c.fd, queue, &state);
	EXPECT_EQ(101, state.submitted);
	client_close(&c);
}

/* --- many of everything ------------------------------------------------------------------ */

static void *opener(void *p __attribute__((unused)))
{
	struct client c;
	struct buf b;
	int i;

	for (i = 0; i < 15; i++) {
		client_open(&c);
		client_buf(&c, &b, PAGE);
		task_nop(b.task);
		ASSERT_EQ(0, client_run(&c, queue_create(c.fd, c.vm, 0), b.va, 1));
		ASSERT_EQ(0, submit_one_try(c.fd, queue_create(c.fd, c.vm, 0), b.va, 1, NULL, 0));
		ASSERT_EQ(0, munmap(b.map, b.size));
		client_close(&c);
	}
	return NULL;
}

TEST_TIMEOUT(files_come_and_go, 240)
{
	pthread_t threads[4];
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, opener, NULL));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
}

HARNESS_MAIN
