// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Buffers whose contents are not needed, and what happens to them when memory is
 * short.
 */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "task.h"
#include "watch.h"

#define SIZE	(16 * PAGE)

static int madvise_try(int fd, __u32 handle, __u32 advice, __u32 *retained)
{
	struct drm_uma_bo_madvise args = { .handle = handle, .advice = advice };
	int ret;

	ret = do_ioctl(fd, DRM_IOCTL_UMA_BO_MADVISE, &args);
	if (retained)
		*retained = args.retained;
	return ret;
}

static void dontneed(int fd, __u32 handle)
{
	__u32 retained;

	ASSERT_EQ(0, madvise_try(fd, handle, DRM_UMA_MADV_DONTNEED, &retained));
	ASSERT_EQ(1, retained);
}

static bool willneed(int fd, __u32 handle)
{
	__u32 retained;

	ASSERT_EQ(0, madvise_try(fd, handle, DRM_UMA_MADV_WILLNEED, &retained));
	ASSERT_LE(retained, 1);
	return retained;
}

static __u32 flags_of(int fd, __u32 handle)
{
	struct drm_uma_bo_info info;

	bo_info(fd, handle, &info);
	return info.flags;
}

/* Have the kernel shrink what can be shrunk. */
static void shrink(void)
{
	if (!write_text("/proc/sys/vm/drop_caches", "2"))
		SKIP("no right to drop caches");
}

/* ... until it has come to this buffer: somebody else may be at it, or have a lock. */
static void purge(int fd, __u32 handle)
{
	while (!(flags_of(fd, handle) & DRM_UMA_BO_INFO_PURGED)) {
		shrink();
		usleep(10000);
	}
	ASSERT_EQ(DRM_UMA_BO_INFO_PURGED, flags_of(fd, handle) &
		  (DRM_UMA_BO_INFO_PURGED | DRM_UMA_BO_INFO_DONTNEED));
}

static sigjmp_buf jump;

static void on_bus(int sig)
{
	siglongjmp(jump, sig);
}

/* Does touching it end in SIGBUS? */
static bool bus_error(const __u8 *p)
{
	struct sigaction act = { .sa_handler = on_bus }, old;
	/* Not in a register, which would come back with the jump. */
	static bool hit;

	hit = true;
	ASSERT_EQ(0, sigaction(SIGBUS, &act, &old));
	if (!sigsetjmp(jump, 1)) {
		__atomic_load_n(p, __ATOMIC_RELAXED);
		hit = false;
	}
	ASSERT_EQ(0, sigaction(SIGBUS, &old, NULL));
	return hit;
}

FIXTURE(madvise) {
	struct client c;
	struct buf b;
};

FIXTURE_SETUP(madvise)
{
	client_open(&self->c);
	client_buf(&self->c, &self->b, SIZE);
	memset(self->b.map, 0x5a, SIZE);
}

FIXTURE_TEARDOWN(madvise)
{
	client_close(&self->c);
}

/* --- the ioctl ------------------------------------------------------------------- */

TEST_F(madvise, arguments)
{
	struct drm_uma_bo_madvise args = { .handle = self->b.handle, .advice = 2 };

	EXPECT_EQ(-EINVAL, do_ioctl(self->c.fd, DRM_IOCTL_UMA_BO_MADVISE, &args));
	args.advice = ~0u;
	EXPECT_EQ(-EINVAL, do_ioctl(self->c.fd, DRM_IOCTL_UMA_BO_MADVISE, &args));
	EXPECT_EQ(-ENOENT, madvise_try(self->c.fd, BAD_HANDLE, DRM_UMA_MADV_DONTNEED, NULL));
	EXPECT_EQ(-ENOENT, madvise_try(self->c.fd, 0, DRM_UMA_MADV_DONTNEED, NULL));
}

TEST_F(madvise, back_and_forth)
{
	int fd = self->c.fd, i;

	for (i = 0; i < 3; i++) {
		EXPECT_TRUE(willneed(fd, self->b.handle));
		EXPECT_EQ(0, flags_of(fd, self->b.handle));
		dontneed(fd, self->b.handle);
		EXPECT_EQ(DRM_UMA_BO_INFO_DONTNEED, flags_of(fd, self->b.handle));
		dontneed(fd, self->b.handle);
	}
	/* Nobody was short of memory, or so little that this is as it was. */
	if (willneed(fd, self->b.handle))
		EXPECT_EQ(0x5a, self->b.u8[SIZE - 1]);
}

TEST_F(madvise, close_dontneed)
{
	int i;

	for (i = 0; i < 100; i++) {
		__u32 handle = bo_create(self->c.fd, PAGE, 0);

		dontneed(self->c.fd, handle);
		if (i & 1)
			gem_close(self->c.fd, handle);
	}
	dontneed(self->c.fd, self->b.handle);
}

TEST_F(madvise, user_memory)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u32 handle;

	ASSERT_TRUE(p != MAP_FAILED);
	ASSERT_EQ(0, bo_import_user_try(self->c.fd, p, PAGE, 0, &handle));
	EXPECT_EQ(-EPERM, madvise_try(self->c.fd, handle, DRM_UMA_MADV_DONTNEED, NULL));
	EXPECT_EQ(-EPERM, madvise_try(self->c.fd, handle, DRM_UMA_MADV_WILLNEED, NULL));
}

TEST_F(madvise, imported)
{
	int vgem = vgem_open(), dmabuf;
	__u32 handle;

	dmabuf = prime_export(vgem, vgem_bo(vgem, PAGE));
	handle = prime_import(self->c.fd, dmabuf);
	EXPECT_EQ(-EPERM, madvise_try(self->c.fd, handle, DRM_UMA_MADV_DONTNEED, NULL));
	close(dmabuf);
	close(vgem);
}

TEST_F(madvise, exported)
{
	int fd = prime_export(self->c.fd, self->b.handle);

	EXPECT_EQ(-EBUSY, madvise_try(self->c.fd, self->b.handle, DRM_UMA_MADV_DONTNEED, NULL));
	EXPECT_EQ(-EBUSY, madvise_try(self->c.fd, self->b.handle, DRM_UMA_MADV_WILLNEED, NULL));
	/* Nobody can know who has a copy of it. */
	close(fd);
	EXPECT_EQ(-EBUSY, madvise_try(self->c.fd, self->b.handle, DRM_UMA_MADV_DONTNEED, NULL));
}

TEST_F(madvise, export_dontneed)
{
	int fd;

	dontneed(self->c.fd, self->b.handle);
	EXPECT_EQ(-EBUSY, prime_export_try(self->c.fd, self->b.handle, DRM_CLOEXEC, &fd));
	if (!willneed(self->c.fd, self->b.handle))
		SKIP("memory was short");
	fd = prime_export(self->c.fd, self->b.handle);
	close(fd);
}

/* An export that fails has given nothing away. */
TEST_F(madvise, export_fails)
{
	struct rlimit limit, none = { 0 };
	int fd;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	none.rlim_max = limit.rlim_max;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_EQ(-EMFILE, prime_export_try(self->c.fd, self->b.handle, DRM_CLOEXEC, &fd));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	dontneed(self->c.fd, self->b.handle);
}

/* Nor has one that fails in the driver: for whoever is not root there are no files any more. */
TEST_F(madvise, export_gets_no_file)
{
	const char *max = "/proc/sys/fs/file-max";
	char before[32];
	pid_t pid;
	int fd;

	if (!is_root())
		SKIP("not root");
	ASSERT_TRUE(read_text(max, before, sizeof(before)));
	ASSERT_TRUE(write_text(max, "1"));
	pid = harness_fork();
	if (!pid) {
		become_tester();
		EXPECT_EQ(-ENFILE, prime_export_try(self->c.fd, self->b.handle, DRM_CLOEXEC, &fd));
		_exit(0);
	}
	harness_join(pid);
	ASSERT_TRUE(write_text(max, before));
	dontneed(self->c.fd, self->b.handle);
}

#define LARGE	(128ull << 20)

struct exporter {
	struct client *c;
	__u32 handle;
	int fd;
	int ret;
	int bound;
};

static void *bind_large(void *p)
{
	struct exporter *e = p;

	e->bound = vm_map_try(e->c->fd, e->c->vm, e->handle, 0, client_va(e->c, LARGE), LARGE, 0);
	return NULL;
}

static void *export_large(void *p)
{
	struct exporter *e = p;

	e->ret = prime_export_try(e->c->fd, e->handle, DRM_CLOEXEC, &e->fd);
	return NULL;
}

/*
 * A buffer whose memory is still being allocated is exported, closed meanwhile, and another one,
 * that may be purged, gets its handle: that one is not what is given away.
 */
TEST_F_TIMEOUT(madvise, export_meets_close, 240)
{
	const __u32 both = DRM_UMA_BO_INFO_EXPORTED | DRM_UMA_BO_INFO_DONTNEED;
	unsigned int i, same = 0;

	for (i = 0; i < 10; i++) {
		struct exporter e = { .c = &self->c, .handle = bo_create(self->c.fd, LARGE, 0) };
		pthread_t binder, exporter;
		__u32 other, retained;
		int ret;

		ASSERT_EQ(0, pthread_create(&binder, NULL, bind_large, &e));
		usleep(2000 + 1000 * i);
		ASSERT_EQ(0, pthread_create(&exporter, NULL, export_large, &e));
		usleep(5000);
		gem_close(self->c.fd, e.handle);
		other = bo_create(self->c.fd, PAGE, 0);
		same += other == e.handle;
		/* Where it is slow, it is this one that has been exported, and has to stay. */
		ret = madvise_try(self->c.fd, other, DRM_UMA_MADV_DONTNEED, &retained);
		EXPECT_TRUE(!ret || ret == -EBUSY);
		ASSERT_EQ(0, pthread_join(exporter, NULL));
		ASSERT_EQ(0, pthread_join(binder, NULL));
		/* Where it is slow, what it binds may be closed before, or be the other one. */
		EXPECT_TRUE(!e.bound || e.bound == -ENOENT || e.bound == -EINVAL);
		EXPECT_NE(both, flags_of(self->c.fd, other) & both);
		EXPECT_TRUE(!e.ret || e.ret == -ENOENT || e.ret == -EBUSY);
		if (!e.ret)
			close(e.fd);
		gem_close(self->c.fd, other);
		if (!e.bound)
			vm_unmap(self->c.fd, self->c.vm, self->c.va - LARGE - PAGE, LARGE);
	}
	harness_diag("%u of %u had the same handle", same, i);
}

/* --- purging ---------------------------------------------------------------------- */

/* As a task of this process sees memory, in bytes. */
static long long shmem_bytes(void)
{
	static char text[8192];
	char *at;

	ASSERT_TRUE(read_text("/proc/meminfo", text, sizeof(text)));
	at = strstr(text, "\nShmem:");
	ASSERT_TRUE(at);
	return strtoll(at + 7, NULL, 10) * 1024;
}

TEST_F(madvise, purged)
{
	const __u64 size = 64ull << 20;
	struct drm_uma_bo_info info;
	long long before, after;
	struct buf big;
	__u32 failed;
	__u64 offset;
	int fd;

	client_buf(&self->c, &big, size);
	memset(big.map, 1, size);
	dontneed(self->c.fd, big.handle);
	before = shmem_bytes();
	purge(self->c.fd, big.handle);
	after = shmem_bytes();
	/* The memory is back although there are mappings on both sides. */
	EXPECT_LE(after, before - (long long)size / 4 * 3);
	bo_info(self->c.fd, big.handle, &info);
	EXPECT_EQ(DRM_UMA_BO_INFO_PURGED, info.flags);
	EXPECT_EQ(size, info.size);
	EXPECT_EQ(0, info.resident);
	EXPECT_EQ(1, info.mappings);

	/* It is good for nothing. */
	EXPECT_FALSE(willneed(self->c.fd, big.handle));
	EXPECT_EQ(0, madvise_try(self->c.fd, big.handle, DRM_UMA_MADV_DONTNEED, &failed));
	EXPECT_EQ(0, failed);
	EXPECT_EQ(DRM_UMA_BO_INFO_PURGED, flags_of(self->c.fd, big.handle));
	EXPECT_TRUE(bus_error(big.u8));
	EXPECT_TRUE(bus_error(big.u8 + size - 1));
	EXPECT_EQ(-EFAULT, bo_offset_try(self->c.fd, big.handle, &offset));
	EXPECT_EQ(-EFAULT, vm_map_try(self->c.fd, self->c.vm, big.handle, 0,
				      client_va(&self->c, PAGE), PAGE, 0));
	EXPECT_EQ(-EFAULT, prime_export_try(self->c.fd, big.handle, DRM_CLOEXEC, &fd));
	EXPECT_EQ(0, bo_label_try(self->c.fd, big.handle, "gone", 4));
	client_free(&self->c, &big);
	/* What is needed has not been touched. */
	EXPECT_EQ(0x5a, self->b.u8[0]);
	EXPECT_EQ(0x5a, self->b.u8[SIZE - 1]);
}

TEST_F(madvise, purged_names_operation)
{
	struct drm_uma_bind_op ops[3];
	__u32 handle, failed = 0;
	int i;

	handle = bo_create(self->c.fd, SIZE, 0);
	client_bind_handle(&self->c, handle, SIZE, 0);
	dontneed(self->c.fd, handle);
	purge(self->c.fd, handle);
	for (i = 0; i < 3; i++)
		ops[i] = (struct drm_uma_bind_op){
			.op = DRM_UMA_BIND_MAP,
			.handle = i == 1 ? handle : self->b.handle,
			.va = client_va(&self->c, PAGE),
			.size = PAGE,
		};
	EXPECT_EQ(-EFAULT, vm_bind_try(self->c.fd, self->c.vm, ops, 3, &failed));
	EXPECT_EQ(1, failed);
	EXPECT_EQ(0, vm_unmap_try(self->c.fd, self->c.vm, ops[0].va, PAGE));
}

/* One that never had memory may go as well. */
TEST_F(madvise, purge_empty)
{
	__u32 handle = bo_create(self->c.fd, SIZE, 0);

	dontneed(self->c.fd, handle);
	purge(self->c.fd, handle);
	EXPECT_FALSE(willneed(self->c.fd, handle));
}

TEST_F(madvise, purge_write_combined)
{
	__u32 handle = bo_create(self->c.fd, SIZE, DRM_UMA_BO_WC);
	__u8 *p = bo_map(self->c.fd, handle, SIZE);

	memset(p, 7, SIZE);
	dontneed(self->c.fd, handle);
	purge(self->c.fd, handle);
	EXPECT_TRUE(bus_error(p));
}

TEST_F(madvise, purge_in_many_places)
{
	struct client other;
	__u32 handle = bo_create(self->c.fd, SIZE, 0), vm2 = vm_create(self->c.fd);
	struct drm_uma_bo_info info;
	int i;

	client_open(&other);
	for (i = 0; i < 20; i++) {
		__u64 va = client_va(&self->c, 1 << 21);

		vm_map(self->c.fd, i & 1 ? vm2 : self->c.vm, handle, 0, va, SIZE, 0);
		if (i % 3 == 0)	/* in two pieces */
			vm_unmap(self->c.fd, i & 1 ? vm2 : self->c.vm, va + PAGE, PAGE);
	}
	dontneed(self->c.fd, handle);
	purge(self->c.fd, handle);
	bo_info(self->c.fd, handle, &info);
	EXPECT_EQ(27, info.mappings);
	EXPECT_EQ(0, vm_destroy_try(self->c.fd, vm2));
	client_close(&other);
}

/* A child that inherited the mapping is no better off, and its exit no problem. */
TEST_F(madvise, purge_forked)
{
	struct buf b;
	pid_t pid;
	int go[2];

	ASSERT_EQ(0, pipe(go));
	client_buf(&self->c, &b, SIZE);
	memset(b.map, 1, SIZE);
	dontneed(self->c.fd, b.handle);
	pid = harness_fork();
	if (!pid) {
		char byte;

		ASSERT_EQ(1, read(go[0], &byte, 1));
		EXPECT_TRUE(bus_error(b.u8));
		_exit(0);
	}
	purge(self->c.fd, b.handle);
	ASSERT_EQ(1, write(go[1], "", 1));
	harness_join(pid);
	client_free(&self->c, &b);
}

/* --- with tasks --------------------------------------------------------------------- */

FIXTURE(used) {
	struct client c;
	struct buf tasks;
	struct buf from;
	struct buf to;
	__u32 queue;
};

FIXTURE_VARIANT(used) {
	__u64 size;
};

FIXTURE_VARIANT_ADD(used, pages) { .size = SIZE };
FIXTURE_VARIANT_ADD(used, blocks) { .size = 4ull << 20 };

FIXTURE_SETUP(used)
{
	int engine;

	client_open(&self->c);
	engine = engine_for(self->c.fd, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8);
	if (engine < 0)
		SKIP("no engine copies");
	self->queue = queue_create(self->c.fd, self->c.vm, (unsigned int)engine);
	client_buf(&self->c, &self->tasks, UMA_TASK_SIZE);
	/* At a place where blocks may be. */
	self->c.va = (self->c.va + (1 << 21) - 1) & ~((1ull << 21) - 1);
	client_buf(&self->c, &self->from, variant->size);
	self->c.va = (self->c.va + (1 << 21) - 1) & ~((1ull << 21) - 1);
	client_buf(&self->c, &self->to, variant->size);
	memset(self->from.map, 0x3c, variant->size);
	task_copy(self->tasks.task, UMA_DTYPE_U8, self->to.va, self->from.va, SIZE);
}

FIXTURE_TEARDOWN(used)
{
	client_close(&self->c);
}

TEST_F(used, retained)
{
	dontneed(self->c.fd, self->from.handle);
	if (!willneed(self->c.fd, self->from.handle))
		SKIP("memory was short");
	EXPECT_EQ(0, client_run(&self->c, self->queue, self->tasks.va, 1));
	EXPECT_EQ(0x3c, self->to.u8[SIZE - 1]);
	shrink();
	EXPECT_EQ(0, client_run(&self->c, self->queue, self->tasks.va, 1));
}

/* The device has it in its TLB from the job before, so this shows that it has to forget. */
TEST_F(used, faults)
{
	struct drm_uma_queue_state state;

	expect_faults(1);
	EXPECT_EQ(0, client_run(&self->c, self->queue, self->tasks.va, 1));
	dontneed(self->c.fd, self->from.handle);
	purge(self->c.fd, self->from.handle);
	EXPECT_EQ(-EFAULT, client_run(&self->c, self->queue, self->tasks.va, 1));
	queue_state(self->c.fd, self->queue, &state);
	EXPECT_EQ(UMA_FAULT_READ, state.reason);
	EXPECT_EQ(UMA_SLOT_A, state.slot);
	EXPECT_EQ(self->from.va, state.fault_addr);
}

/* The addresses can be used again. */
TEST_F(used, rebind)
{
	struct buf b;

	EXPECT_EQ(0, client_run(&self->c, self->queue, self->tasks.va, 1));
	dontneed(self->c.fd, self->from.handle);
	purge(self->c.fd, self->from.handle);
	client_buf(&self->c, &b, variant->size);
	memset(b.map, 0x77, variant->size);
	EXPECT_EQ(-EEXIST, vm_map_try(self->c.fd, self->c.vm, b.handle, 0, self->from.va,
				      variant->size, 0));
	vm_unmap(self->c.fd, self->c.vm, self->from.va, variant->size);
	vm_map(self->c.fd, self->c.vm, b.handle, 0, self->from.va, variant->size, 0);
	EXPECT_EQ(0, client_run(&self->c, self->queue, self->tasks.va, 1));
	EXPECT_EQ(0x77, self->to.u8[0]);
	EXPECT_EQ(0x77, self->to.u8[SIZE - 1]);
}

/* --- who counts it -------------------------------------------------------------------- */

/* A memory key of fdinfo in bytes, -1 if it is not there. */
static long long fdinfo(int fd, const char *key)
{
	static char path[64], text[8192];
	char *at, *end;
	long long n;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	ASSERT_TRUE(read_text(path, text, sizeof(text)));
	at = strstr(text, key);
	if (!at)
		return -1;
	n = strtoll(strchr(at, ':') + 1, &end, 10);
	if (!strncmp(end, " KiB", 4))
		n <<= 10;
	else if (!strncmp(end, " MiB", 4))
		n <<= 20;
	return n;
}

TEST(fdinfo_memory)
{
	const __u64 size = 1ull << 20;
	struct client c;
	struct buf b[4];
	int i, fd;

	client_open(&c);
	for (i = 0; i < 4; i++)
		client_buf(&c, &b[i], size);
	bo_create(c.fd, size, 0);
	EXPECT_EQ(5 * size, fdinfo(c.fd, "drm-total-memory:"));
	EXPECT_EQ(4 * size, fdinfo(c.fd, "drm-resident-memory:"));
	EXPECT_EQ(0, fdinfo(c.fd, "drm-shared-memory:"));
	EXPECT_LE(fdinfo(c.fd, "drm-purgeable-memory:"), 0);
	fd = prime_export(c.fd, b[0].handle);
	EXPECT_EQ(size, fdinfo(c.fd, "drm-shared-memory:"));
	dontneed(c.fd, b[1].handle);
	dontneed(c.fd, b[2].handle);
	EXPECT_EQ(2 * size, fdinfo(c.fd, "drm-purgeable-memory:"));
	purge(c.fd, b[1].handle);
	purge(c.fd, b[2].handle);
	EXPECT_LE(fdinfo(c.fd, "drm-purgeable-memory:"), 0);
	EXPECT_EQ(2 * size, fdinfo(c.fd, "drm-resident-memory:"));
	EXPECT_EQ(5 * size, fdinfo(c.fd, "drm-total-memory:"));
	close(fd);
	client_close(&c);
}

/* The shrinker's files, where the kernel has them, know it by the device's name. */
TEST(debugfs)
{
	char path[300], text[256];
	struct dirent *d;
	struct client c;
	bool freed = false;
	DIR *dir;
	__u32 handle;
	int i;

	dir = opendir("/sys/kernel/debug/shrinker");
	if (!dir)
		SKIP("no /sys/kernel/debug/shrinker");
	client_open(&c);
	handle = bo_create(c.fd, SIZE, 0);
	bo_map(c.fd, handle, SIZE);
	dontneed(c.fd, handle);
	while ((d = readdir(dir))) {
		char *line, *save;

		if (strncmp(d->d_name, "uma:", 4))
			continue;
		snprintf(path, sizeof(path), "/sys/kernel/debug/shrinker/%s/count", d->d_name);
		ASSERT_TRUE(read_text(path, text, sizeof(text)));
		snprintf(path, sizeof(path), "/sys/kernel/debug/shrinker/%s/scan", d->d_name);
		/* Each line is a cgroup and its count on each node. */
		for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
			char request[64];

			snprintf(request, sizeof(request), "%llu 0 4096", strtoull(line, NULL, 10));
			for (i = 0; i < 20; i++) {
				ASSERT_TRUE(write_text(path, request));
				if (flags_of(c.fd, handle) & DRM_UMA_BO_INFO_PURGED)
					freed = true;
			}
		}
	}
	closedir(dir);
	EXPECT_TRUE(freed);
	client_close(&c);
}

HARNESS_MAIN
