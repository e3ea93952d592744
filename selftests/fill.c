// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory of buffers that takes long to come: the device, the process, or the patience of whoever
 * waits for it goes before all of it is there.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "instance.h"
#include "task.h"
#include "watch.h"

#define LARGE	(256ull << 20)

FIXTURE(large) {
	struct instance in;
	struct client c;
};

FIXTURE_SETUP(large)
{
	instance_start(&self->in, "large", "m1");
	client_open_named(&self->c, self->in.node);
}

FIXTURE_TEARDOWN(large)
{
	client_close(&self->c);
	instance_drop(&self->in);
}

struct binder {
	struct large_fixture *self;
	__u32 handle;
	void *map;
	int ret;
};

static void *binder_run(void *p)
{
	struct binder *b = p;

	b->ret = vm_map_try(b->self->c.fd, b->self->c.vm, b->handle, 0, 1ull << 32, LARGE, 0);
	return NULL;
}

static long long meminfo_kb(const char *name)
{
	char text[4096], *line;

	ASSERT_TRUE(read_text("/proc/meminfo", text, sizeof(text)));
	line = strstr(text, name);
	ASSERT_TRUE(line);
	return atoll(line + strlen(name));
}

static long long shmem_kb(void)
{
	return meminfo_kb("\nShmem:");
}

/* Wait until the first pages of a buffer have come. */
static void shmem_grows(long long from)
{
	while (shmem_kb() - from < 4096)
		;
}

/*
 * A device that is taken away does not wait until a buffer has got its memory, and no more comes
 * once it has gone. It may have come before the device goes: then again.
 */
TEST_F_TIMEOUT(large, first_pin, 240)
{
	struct binder b = { .self = self };
	long long before, grown = 0;
	pthread_t thread;
	int try;

	for (try = 0;; try++) {
		b.handle = bo_create(self->c.fd, LARGE, 0);
		before = shmem_kb();
		ASSERT_EQ(0, pthread_create(&thread, NULL, binder_run, &b));
		shmem_grows(before);
		instance_set(&self->in, "enabled", "0");
		ASSERT_EQ(0, pthread_join(thread, NULL));
		grown = shmem_kb() - before;
		if (grown < (long long)(LARGE >> 10) * 3 / 4)
			break;
		client_close(&self->c);
		instance_enable(&self->in);
		client_open_named(&self->c, self->in.node);
	}
	EXPECT_EQ(-ENODEV, b.ret);
}

/* A process that is killed does not wait for the memory of its buffer. */
TEST_F_TIMEOUT(large, killed, 240)
{
	long long before, grown = 0;
	__u32 handle;
	int try, status;
	pid_t pid;

	for (try = 0;; try++) {
		handle = bo_create(self->c.fd, LARGE, 0);
		before = shmem_kb();
		pid = harness_fork();
		if (!pid) {
			if (try % 2)
				vm_map_try(self->c.fd, self->c.vm, handle, 0, 1ull << 32, LARGE, 0);
			else
				bo_map(self->c.fd, handle, LARGE);
			_exit(0);
		}
		shmem_grows(before);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		grown = shmem_kb() - before;
		vm_unmap_try(self->c.fd, self->c.vm, 1ull << 32, LARGE);
		gem_close(self->c.fd, handle);
		if (grown < (long long)(LARGE >> 10) * 3 / 4)
			break;
	}
}

static void *mapper_run(void *p)
{
	struct binder *b = p;

	b->map = bo_map(b->self->c.fd, b->handle, LARGE);
	return NULL;
}

/*
 * While a buffer gets its memory for the CPU, the process maps other things, and whoever wants to
 * know what it has mapped is told. It may have come before that: then again.
 */
TEST_F_TIMEOUT(large, others_map, 240)
{
	const long long all = LARGE >> 10;
	struct binder b = { .self = self };
	unsigned int amid = 0;
	pthread_t thread;
	long long before;
	void *p;

	while (!amid) {
		b.handle = bo_create(self->c.fd, LARGE, 0);
		before = shmem_kb();
		ASSERT_EQ(0, pthread_create(&thread, NULL, mapper_run, &b));
		shmem_grows(before);
		p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ASSERT_TRUE(p != MAP_FAILED);
		amid += shmem_kb() - before < all * 3 / 4;
		ASSERT_EQ(0, pthread_join(thread, NULL));
		EXPECT_GE(shmem_kb() - before, all * 3 / 4);
		ASSERT_EQ(0, munmap(b.map, LARGE));
		ASSERT_EQ(0, munmap(p, PAGE));
		gem_close(self->c.fd, b.handle);
	}
}

/*
 * Where no more may be promised than there is, a buffer gets a part of its memory: nobody would
 * know of that, so it is given back.
 */
TEST_F_TIMEOUT(large, half, 240)
{
	const char *mode = "/proc/sys/vm/overcommit_memory";
	const char *most = "/proc/sys/vm/overcommit_kbytes";
	const __u32 handle = bo_create(self->c.fd, LARGE, 0);
	const long long before = shmem_kb();
	char text[32];
	int ret;

	snprintf(text, sizeof(text), "%lld",
		 meminfo_kb("\nCommitted_AS:") + (long long)(LARGE >> 10) / 2);
	ASSERT_TRUE(write_text(most, text));
	ASSERT_TRUE(write_text(mode, "2"));
	ret = vm_map_try(self->c.fd, self->c.vm, handle, 0, 1ull << 32, LARGE, 0);
	ASSERT_TRUE(write_text(mode, "0"));
	EXPECT_EQ(-ENOMEM, ret);
	EXPECT_LT(shmem_kb() - before, (long long)(LARGE >> 10) / 16);
	vm_map(self->c.fd, self->c.vm, handle, 0, 1ull << 32, LARGE, 0);
}

#define PIECES		(64ull << 20)
#define PIECE_OPS	1024

/* Memory of which no two pages are neighbours, as far as that is up to who takes it. */
static void *pieces_map(void)
{
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *mine = mmap(NULL, PIECES, prot, flags, -1, 0);
	char *between = mmap(NULL, PIECES, prot, flags, -1, 0);
	size_t i;

	ASSERT_TRUE(mine != MAP_FAILED && between != MAP_FAILED);
	madvise(mine, PIECES, MADV_NOHUGEPAGE);
	madvise(between, PIECES, MADV_NOHUGEPAGE);
	for (i = 0; i < PIECES; i += PAGE) {
		mine[i] = 1;
		between[i] = 1;
	}
	munmap(between, PIECES);
	return mine;
}

/* Is a bind under way? */
static bool binds(struct large_fixture *self)
{
	char path[300], text[4096];

	ASSERT_TRUE(dev_debugfs(self->in.node, "vms", path, sizeof(path)));
	ASSERT_TRUE(read_text(path, text, sizeof(text)));
	return strstr(text, "busy");
}

/*
 * To find the end of a buffer in many pieces takes long, and a bind may ask for it a thousand
 * times: whoever is killed does not wait for that.
 */
TEST_F_TIMEOUT(large, many_pieces, 240)
{
	const __u64 last = (1ull << 32) + (PIECE_OPS - 1) * PAGE;
	static struct drm_uma_bind_op ops[PIECE_OPS];
	void *memory = pieces_map();
	unsigned int i, seen = 0;
	bool ended = false;
	pid_t pid, gone;
	__u32 handle;
	int status;

	ASSERT_EQ(0, bo_import_user_try(self->c.fd, memory, PIECES, 0, &handle));
	for (i = 0; i < PIECE_OPS; i++)
		ops[i] = (struct drm_uma_bind_op) {
			.op = DRM_UMA_BIND_MAP, .handle = handle, .bo_offset = PIECES - PAGE,
			.va = (1ull << 32) + i * PAGE, .size = PAGE,
		};
	for (i = 0; !ended; i++) {
		pid = harness_fork();
		if (!pid)
			_exit(vm_bind_try(self->c.fd, self->c.vm, ops, PIECE_OPS, NULL) != 0);
		do {
			gone = waitpid(pid, &status, WNOHANG);
		} while (!gone && !binds(self));
		if (!gone) {
			ASSERT_EQ(0, kill(pid, SIGKILL));
			ASSERT_EQ(pid, waitpid(pid, &status, 0));
			seen++;
		}
		/* All or nothing has been bound. */
		ended = !vm_map_try(self->c.fd, self->c.vm, handle, 0, last, PAGE, 0);
		vm_unmap(self->c.fd, self->c.vm, 1ull << 32, PIECE_OPS * PAGE);
	}
	harness_diag("%u of %u were killed in time", seen, i);
	munmap(memory, PIECES);
}

/**
 * struct crowd - threads that have a buffer locked most of the time, and one that is interrupted
 */
struct crowd {
	struct client c;
	__u32 queue;
	/** @handle: the buffer, 0 for none */
	__u32 handle;
	bool stop;
	/** @binder: who is sent signals, while @signals says so */
	pthread_t binder;
	bool signals;
};

#define CROWD		3
#define CROWD_SIZE	(8ull << 20)

/* Jobs without tasks are done once they are taken, but not before all that they name is locked. */
static void *crowd_locks(void *p)
{
	struct drm_uma_job_bo bo = { .flags = DRM_UMA_JOB_BO_WRITE };
	struct drm_uma_job jobs[256] = {};
	struct crowd *crowd = p;
	int i;

	for (i = 0; i < 256; i++) {
		jobs[i].queue_id = crowd->queue;
		jobs[i].bos = array_of(&bo, sizeof(bo), 1);
	}
	while (!__atomic_load_n(&crowd->stop, __ATOMIC_ACQUIRE)) {
		bo.handle = __atomic_load_n(&crowd->handle, __ATOMIC_ACQUIRE);
		if (bo.handle)
			submit_try(crowd->c.fd, jobs, 256, NULL);
		else
			usleep(1000);
	}
	return NULL;
}

static void *crowd_signals(void *p)
{
	struct crowd *crowd = p;
	unsigned int pause = 0;

	while (!__atomic_load_n(&crowd->stop, __ATOMIC_ACQUIRE)) {
		pause = (pause + 7919) % 30000;
		usleep(pause + 100);
		if (__atomic_load_n(&crowd->signals, __ATOMIC_ACQUIRE))
			pthread_kill(crowd->binder, SIGUSR1);
	}
	return NULL;
}

static unsigned int signals_seen;

static void on_signal(int sig __attribute__((unused)))
{
	__atomic_fetch_add(&signals_seen, 1, __ATOMIC_SEQ_CST);
}

/* A signal ends a bind that waits for the buffer, and leaves what has been filled already. */
static bool crowd_fills(struct crowd *crowd)
{
	struct drm_uma_bind_op op = {
		.op = DRM_UMA_BIND_MAP, .handle = crowd->handle, .va = 1ull << 32,
		.size = CROWD_SIZE,
	};
	struct drm_uma_vm_bind args = {
		.vm_id = crowd->c.vm, .ops = array_of(&op, sizeof(op), 1),
	};
	const long long before = shmem_kb();
	int ret;

	__atomic_store_n(&crowd->signals, true, __ATOMIC_RELEASE);
	do {
		ret = ioctl(crowd->c.fd, DRM_IOCTL_UMA_VM_BIND, &args);
	} while (ret && errno == EINTR && shmem_kb() - before < (long long)(CROWD_SIZE >> 11));
	__atomic_store_n(&crowd->signals, false, __ATOMIC_RELEASE);
	if (!ret)
		vm_unmap(crowd->c.fd, crowd->c.vm, 1ull << 32, CROWD_SIZE);
	return ret && errno == EINTR;
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

/* That memory is there: it counts, and goes like any other that is not needed. */
TEST_TIMEOUT(interrupted_bind_is_purged, 240)
{
	const struct sigaction act = { .sa_handler = on_signal };
	const uint64_t end = now_ns() + 60000000000ull;
	struct crowd crowd = { .binder = pthread_self() };
	struct drm_uma_bo_info info;
	pthread_t threads[CROWD + 1];
	unsigned int seen = 0;
	int i;

	ASSERT_EQ(0, sigaction(SIGUSR1, &act, NULL));
	client_open(&crowd.c);
	crowd.queue = queue_create(crowd.c.fd, crowd.c.vm, 0);
	for (i = 0; i <= CROWD; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, i < CROWD ? crowd_locks :
								       crowd_signals, &crowd));
	while (!seen && now_ns() < end) {
		const long long before = shmem_kb();
		__u32 handle = bo_create(crowd.c.fd, CROWD_SIZE, 0);
		bool filled;

		__atomic_store_n(&crowd.handle, handle, __ATOMIC_RELEASE);
		filled = crowd_fills(&crowd);
		__atomic_store_n(&crowd.handle, 0, __ATOMIC_RELEASE);
		if (filled) {
			seen++;
			bo_info(crowd.c.fd, handle, &info);
			EXPECT_EQ(CROWD_SIZE, info.resident);
			ASSERT_EQ(1, madvise_try(crowd.c.fd, handle, DRM_UMA_MADV_DONTNEED));
			while (!purged(crowd.c.fd, handle)) {
				ASSERT_TRUE(write_text("/proc/sys/vm/drop_caches", "2"));
				usleep(10000);
			}
			EXPECT_LT(shmem_kb() - before, (long long)(CROWD_SIZE >> 11));
		}
		gem_close(crowd.c.fd, handle);
	}
	__atomic_store_n(&crowd.stop, true, __ATOMIC_RELEASE);
	for (i = 0; i <= CROWD; i++)
		pthread_join(threads[i], NULL);
	client_close(&crowd.c);
	harness_diag("%u binds were interrupted when all was there", seen);
	if (!seen)
		SKIP("no bind was interrupted in time");
}

static long faults(void)
{
	struct rusage usage;

	ASSERT_EQ(0, getrusage(RUSAGE_THREAD, &usage));
	return usage.ru_minflt + usage.ru_majflt;
}

/*
 * Pages that the kernel itself reads for a call: a signal that waits for the end of the call
 * does not have each fault come again and again until the buffer's lock is free.
 */
TEST_TIMEOUT(kernel_faults_once, 240)
{
	enum { PAGES = 512, ROUNDS = 20 };
	const struct sigaction act = { .sa_handler = on_signal };
	struct crowd crowd = { .binder = pthread_self() };
	int copy = memfd_create("copy", MFD_CLOEXEC), i;
	unsigned int seen = 0, before;
	pthread_t threads[CROWD + 1];
	void *maps[ROUNDS];
	long most = 0, n;
	__u32 handle;

	ASSERT_GE(copy, 0);
	ASSERT_EQ(0, sigaction(SIGUSR1, &act, NULL));
	client_open(&crowd.c);
	crowd.queue = queue_create(crowd.c.fd, crowd.c.vm, 0);
	handle = bo_create(crowd.c.fd, PAGES * PAGE, 0);
	for (i = 0; i < ROUNDS; i++)
		maps[i] = bo_map(crowd.c.fd, handle, PAGES * PAGE);
	__atomic_store_n(&crowd.handle, handle, __ATOMIC_RELEASE);
	for (i = 0; i <= CROWD; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, i < CROWD ? crowd_locks :
								       crowd_signals, &crowd));
	for (i = 0; i < ROUNDS; i++) {
		before = __atomic_load_n(&signals_seen, __ATOMIC_SEQ_CST);
		n = faults();
		__atomic_store_n(&crowd.signals, true, __ATOMIC_RELEASE);
		EXPECT_EQ(PAGES * PAGE, pwrite(copy, maps[i], PAGES * PAGE, 0));
		__atomic_store_n(&crowd.signals, false, __ATOMIC_RELEASE);
		n = faults() - n;
		most = n > most ? n : most;
		seen += __atomic_load_n(&signals_seen, __ATOMIC_SEQ_CST) != before;
	}
	__atomic_store_n(&crowd.stop, true, __ATOMIC_RELEASE);
	for (i = 0; i <= CROWD; i++)
		pthread_join(threads[i], NULL);
	harness_diag("%u of %d calls met a signal, %ld faults at most", seen, ROUNDS, most);
	/* A few are of this program's own memory. */
	EXPECT_LE(most, PAGES + 16);
	client_close(&crowd.c);
	close(copy);
	if (!seen)
		SKIP("no call met a signal in time");
}

HARNESS_MAIN
