// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * User memory as a buffer: what can be wrapped, what cannot, who pays.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "task.h"
#include "watch.h"

FIXTURE(userptr) {
	struct client c;
	__u8 *p;
	__u64 max;
};

FIXTURE_VARIANT(userptr) {
	__u32 flags;
};

FIXTURE_VARIANT_ADD(userptr, read_write) { .flags = 0 };
FIXTURE_VARIANT_ADD(userptr, read_only) { .flags = DRM_UMA_USER_READONLY };

#define PAGES	16

static __u8 *anonymous(size_t size, int prot, int flags)
{
	void *p = mmap(NULL, size, prot, flags | MAP_ANONYMOUS, -1, 0);

	ASSERT_TRUE(p != MAP_FAILED);
	return p;
}

FIXTURE_SETUP(userptr)
{
	struct drm_uma_query_limits limits;

	client_open(&self->c);
	query_limits(self->c.fd, &limits);
	self->max = limits.max_bo_size;
	self->p = anonymous(PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
}

FIXTURE_TEARDOWN(userptr)
{
	client_close(&self->c);
}

TEST_F(userptr, create)
{
	struct drm_uma_bo_info info;
	__u32 handle;

	ASSERT_EQ(0,
		  bo_import_user_try(self->c.fd, self->p, PAGES * PAGE, variant->flags, &handle));
	ASSERT_NE(0, handle);
	bo_info(self->c.fd, handle, &info);
	EXPECT_EQ(PAGES * PAGE, info.size);
	EXPECT_EQ(PAGES * PAGE, info.resident);
	EXPECT_EQ(DRM_UMA_BO_INFO_USER | (variant->flags ? DRM_UMA_BO_INFO_READONLY : 0),
		  info.flags);
	gem_close(self->c.fd, handle);
}

TEST_F(userptr, arguments)
{
	static const __u64 sizes[] = { 0, 1, 4095, 4097, ~0ull, ~0ull << 12, 1ull << 63 };
	__u32 handle;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		EXPECT_EQ(-EINVAL, bo_import_user_try(self->c.fd, self->p, sizes[i], variant->flags,
						      &handle));
	for (i = 1; i < PAGE; i *= 2)
		EXPECT_EQ(-EINVAL, bo_import_user_try(self->c.fd, self->p + i, PAGE, variant->flags,
						      &handle));
	EXPECT_EQ(-EINVAL, bo_import_user_try(self->c.fd, self->p, self->max + PAGE, variant->flags,
					      &handle));
}

TEST_F(userptr, nothing_there)
{
	__u32 handle;

	ASSERT_EQ(0, munmap(self->p + 8 * PAGE, PAGE));
	EXPECT_EQ(-EFAULT,
		  bo_import_user_try(self->c.fd, self->p, PAGES * PAGE, variant->flags, &handle));
	EXPECT_EQ(-EFAULT, bo_import_user_try(self->c.fd, self->p + 8 * PAGE, PAGE, variant->flags,
					      &handle));
	EXPECT_EQ(-EFAULT, bo_import_user_try(self->c.fd, NULL, PAGE, variant->flags, &handle));
	EXPECT_EQ(-EFAULT, bo_import_user_try(self->c.fd, (void *)(uintptr_t)0xffff888000000000ull,
					      PAGE, variant->flags, &handle));
	EXPECT_EQ(-EFAULT, bo_import_user_try(self->c.fd, (void *)(uintptr_t)(~0ull << 12), PAGE,
					      variant->flags, &handle));
	/* The half that was pinned before the hole is not any more. */
	EXPECT_EQ(0, pinned_kb());
	ASSERT_EQ(0, bo_import_user_try(self->c.fd, self->p, 8 * PAGE, variant->flags, &handle));
}

TEST_F(userptr, no_access)
{
	__u32 handle;

	ASSERT_EQ(0, mprotect(self->p, PAGES * PAGE, PROT_NONE));
	EXPECT_EQ(-EFAULT,
		  bo_import_user_try(self->c.fd, self->p, PAGES * PAGE, variant->flags, &handle));
}

TEST_F(userptr, read_only_memory)
{
	__u32 handle;

	memset(self->p, 1, PAGES * PAGE);
	ASSERT_EQ(0, mprotect(self->p, PAGES * PAGE, PROT_READ));
	EXPECT_EQ(variant->flags ? 0 : -EFAULT,
		  bo_import_user_try(self->c.fd, self->p, PAGES * PAGE, variant->flags, &handle));
}

TEST_F(userptr, shared_memory)
{
	__u8 *p = anonymous(PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
	__u32 handle;

	EXPECT_EQ(0, bo_import_user_try(self->c.fd, p, PAGES * PAGE, variant->flags, &handle));
}

TEST_F(userptr, device_memory)
{
	__u32 handle = bo_create(self->c.fd, PAGES * PAGE, 0), wrapped;
	void *p = bo_map(self->c.fd, handle, PAGES * PAGE);

	/* Memory of a device, ours as well. */
	EXPECT_EQ(-EOPNOTSUPP,
		  bo_import_user_try(self->c.fd, p, PAGES * PAGE, variant->flags, &wrapped));
}

TEST_F(userptr, file_memory)
{
	const char *path = "/var/tmp/uma-selftest-userptr";
	__u32 handle;
	int fd, ret;
	void *p;

	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		SKIP("no file: %s", strerror(errno));
	unlink(path);
	ASSERT_EQ(0, ftruncate(fd, PAGES * PAGE));
	p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_TRUE(p != MAP_FAILED);
	/* Of a file that is written back, no; of one that lives in memory, yes. */
	ret = bo_import_user_try(self->c.fd, p, PAGES * PAGE, variant->flags, &handle);
	EXPECT_TRUE(ret == 0 || ret == -EOPNOTSUPP);
	close(fd);
}

TEST_F(userptr, memfd)
{
	int fd = memfd_create("uma", MFD_CLOEXEC);
	__u32 handle;
	void *p;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ftruncate(fd, PAGES * PAGE));
	p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_TRUE(p != MAP_FAILED);
	EXPECT_EQ(0, bo_import_user_try(self->c.fd, p, PAGES * PAGE, variant->flags, &handle));
	close(fd);
}

TEST_F(userptr, forbidden)
{
	struct drm_uma_bo_info info;
	__u32 handle;
	__u64 offset;
	int dmabuf;

	ASSERT_EQ(0, bo_import_user_try(self->c.fd, self->p, PAGE, variant->flags, &handle));
	EXPECT_EQ(-EPERM, bo_offset_try(self->c.fd, handle, &offset));
	EXPECT_NE(0, prime_export_try(self->c.fd, handle, DRM_CLOEXEC | DRM_RDWR, &dmabuf));
	bo_info(self->c.fd, handle, &info);
	EXPECT_EQ(0, info.flags & DRM_UMA_BO_INFO_EXPORTED);
}

TEST_F(userptr, accounted)
{
	__u32 a, b;

	if (pinned_kb() < 0)
		SKIP("no VmPin");
	ASSERT_EQ(0, pinned_kb());
	ASSERT_EQ(0, bo_import_user_try(self->c.fd, self->p, 4 * PAGE, variant->flags, &a));
	EXPECT_EQ(16, pinned_kb());
	/* Twice the same memory counts twice. */
	ASSERT_EQ(0, bo_import_user_try(self->c.fd, self->p, 4 * PAGE, variant->flags, &b));
	EXPECT_EQ(32, pinned_kb());
	gem_close(self->c.fd, a);
	EXPECT_EQ(16, pinned_kb());
	close(self->c.fd);
	self->c.fd = -1;
	EXPECT_EQ(0, pinned_kb());
}

TEST_F(userptr, memlock)
{
	struct rlimit limit = { .rlim_cur = 8 * PAGE, .rlim_max = 8 * PAGE };
	__u32 a, b;

	if (is_root())
		become_tester();
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	EXPECT_EQ(-ENOMEM, bo_import_user_try(self->c.fd, self->p, 9 * PAGE, variant->flags, &a));
	ASSERT_EQ(0, bo_import_user_try(self->c.fd, self->p, 8 * PAGE, variant->flags, &a));
	EXPECT_EQ(-ENOMEM, bo_import_user_try(self->c.fd, self->p, PAGE, variant->flags, &b));
	/* What has failed has not been charged. */
	gem_close(self->c.fd, a);
	EXPECT_EQ(0, bo_import_user_try(self->c.fd, self->p, 8 * PAGE, variant->flags, &a));
}

TEST_F(userptr, unmap_keeps_pages)
{
	struct buf tasks, dst;
	__u32 handle, queue;
	__u64 va;

	if (engine_for(self->c.fd, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8) < 0)
		SKIP("no engine copies");
	queue = queue_create(self->c.fd, self->c.vm,
			     (unsigned int)engine_for(self->c.fd, UMA_OP_COPY, UMA_DTYPE_U8, 0,
						      UMA_DTYPE_U8));
	client_buf(&self->c, &tasks, PAGE);
	client_buf(&self->c, &dst, PAGE);
	memset(self->p, 0x3c, PAGE);
	ASSERT_EQ(0, bo_import_user_try(self->c.fd, self->p, PAGE, variant->flags, &handle));
	va = client_bind_handle(&self->c, handle, PAGE, variant->flags ? DRM_UMA_BIND_READONLY : 0);
	ASSERT_EQ(0, munmap(self->p, PAGES * PAGE));
	task_copy(tasks.task, UMA_DTYPE_U8, dst.va, va, 4096);
	ASSERT_EQ(0, client_run(&self->c, queue, tasks.va, 1));
	EXPECT_EQ(0x3c, dst.u8[0]);
	EXPECT_EQ(0x3c, dst.u8[4095]);
}

/* The device works on the process's own memory, nothing is copied. */
TEST_F(userptr, in_place)
{
	struct buf tasks, other;
	__u32 handle, queue;
	int engine;
	__u64 va;

	engine = engine_for(self->c.fd, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8);
	if (engine < 0)
		SKIP("no engine copies");
	queue = queue_create(self->c.fd, self->c.vm, (unsigned int)engine);
	client_buf(&self->c, &tasks, PAGE);
	client_buf(&self->c, &other, PAGE);
	ASSERT_EQ(0, bo_import_user_try(self->c.fd, self->p, 4 * PAGE, variant->flags, &handle));
	if (variant->flags) {
		EXPECT_EQ(-EACCES, vm_map_try(self->c.fd, self->c.vm, handle, 0,
					      client_va(&self->c, 4 * PAGE), 4 * PAGE, 0));
		va = client_bind_handle(&self->c, handle, 4 * PAGE, DRM_UMA_BIND_READONLY);
		memset(self->p + PAGE, 0x17, PAGE);
		task_copy(tasks.task, UMA_DTYPE_U8, other.va, va + PAGE, 4096);
		ASSERT_EQ(0, client_run(&self->c, queue, tasks.va, 1));
		EXPECT_EQ(0x17, other.u8[4095]);
		return;
	}
	va = client_bind_handle(&self->c, handle, 4 * PAGE, 0);
	memset(other.map, 0x71, PAGE);
	task_copy(tasks.task, UMA_DTYPE_U8, va + 2 * PAGE, other.va, 4096);
	ASSERT_EQ(0, client_run(&self->c, queue, tasks.va, 1));
	EXPECT_EQ(0, self->p[2 * PAGE - 1]);
	EXPECT_EQ(0x71, self->p[2 * PAGE]);
	EXPECT_EQ(0x71, self->p[3 * PAGE - 1]);
	EXPECT_EQ(0, self->p[3 * PAGE]);
}

/* A write of the device into what it may only read is a fault, and the memory stays as it was. */
TEST(read_only_is_not_written)
{
	struct drm_uma_queue_state state;
	struct buf tasks;
	struct client c;
	__u32 handle, queue;
	int engine;
	__u64 va;
	__u8 *p;

	expect_faults(1);
	client_open(&c);
	engine = engine_for(c.fd, UMA_OP_FILL, 0, 0, UMA_DTYPE_U8);
	if (engine < 0) {
		expect_faults(0);
		SKIP("no engine fills");
	}
	queue = queue_create(c.fd, c.vm, (unsigned int)engine);
	client_buf(&c, &tasks, PAGE);
	p = anonymous(PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	memset(p, 0x11, PAGE);
	ASSERT_EQ(0, bo_import_user_try(c.fd, p, PAGE, DRM_UMA_USER_READONLY, &handle));
	va = client_bind_handle(&c, handle, PAGE, DRM_UMA_BIND_READONLY);
	task_fill(tasks.task, UMA_DTYPE_U8, va, 4096, 0xff);
	EXPECT_EQ(-EFAULT, client_run(&c, queue, tasks.va, 1));
	EXPECT_EQ(0x11, p[0]);
	queue_state(c.fd, queue, &state);
	EXPECT_EQ(UMA_FAULT_WRITE, state.reason);
	EXPECT_EQ(va, state.fault_addr & ~(PAGE - 1));
}

/* A child has its own copy of what the parent wraps; it does not inherit the device's. */
TEST(forked)
{
	struct client c;
	__u32 handle;
	pid_t pid;
	__u8 *p;

	client_open(&c);
	p = anonymous(4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	memset(p, 5, 4 * PAGE);
	ASSERT_EQ(0, bo_import_user_try(c.fd, p, 4 * PAGE, 0, &handle));
	pid = harness_fork();
	if (!pid) {
		/* The child's memory ends, the parent's stays pinned. */
		memset(p, 6, 4 * PAGE);
		ASSERT_TRUE(pinned_kb() <= 0);
		_exit(0);
	}
	harness_join(pid);
	EXPECT_EQ(5, p[0]);
	gem_close(c.fd, handle);
	client_close(&c);
}

/*
 * The parent's file, the child's memory: whoever asks pays, and it ends with the buffer, not with
 * the process.
 */
TEST(by_a_child_that_dies)
{
	struct client c;
	pid_t pid;

	client_open(&c);
	pid = harness_fork();
	if (!pid) {
		__u8 *p = anonymous(64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
		__u32 handle;

		ASSERT_EQ(0, bo_import_user_try(c.fd, p, 64 * PAGE, 0, &handle));
		_exit(0);
	}
	harness_join(pid);
	EXPECT_TRUE(pinned_kb() <= 0);
	client_close(&c);
}

/* Children leave what they pinned to the file of their parent: all of it is their user's. */
TEST(by_many_that_die)
{
	struct rlimit limit = { .rlim_cur = 8 * PAGE, .rlim_max = 8 * PAGE };
	struct client c;
	__u32 handle;
	pid_t pid;
	__u8 *p;
	int i;

	client_open(&c);
	if (is_root())
		become_tester();
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	p = anonymous(8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	for (i = 0; i < 4; i++) {
		pid = harness_fork();
		if (!pid) {
			EXPECT_EQ(i < 2 ? 0 : -ENOMEM,
				  bo_import_user_try(c.fd, p, 4 * PAGE, 0, &handle));
			_exit(0);
		}
		harness_join(pid);
	}
	/* Until the file is closed. */
	client_close(&c);
	client_open(&c);
	EXPECT_EQ(0, bo_import_user_try(c.fd, p, 8 * PAGE, 0, &handle));
	client_close(&c);
}

HARNESS_MAIN
