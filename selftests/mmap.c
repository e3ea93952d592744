// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * CPU mappings of buffers.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "watch.h"

#define SIZE	(8 * PAGE)

FIXTURE(map) {
	int fd;
	__u32 handle;
	__u64 offset;
};

FIXTURE_VARIANT(map) {
	__u32 flags;
};

FIXTURE_VARIANT_ADD(map, cached) { .flags = 0 };
FIXTURE_VARIANT_ADD(map, wc) { .flags = DRM_UMA_BO_WC };

FIXTURE_SETUP(map)
{
	self->fd = dev_open();
	self->handle = bo_create(self->fd, SIZE, variant->flags);
	ASSERT_EQ(0, bo_offset_try(self->fd, self->handle, &self->offset));
}

FIXTURE_TEARDOWN(map)
{
	close(self->fd);
}

static void *map_at(int fd, size_t size, __u64 offset, int prot, int flags)
{
	void *p = mmap(NULL, size, prot, flags, fd, (off_t)offset);

	return p == MAP_FAILED ? NULL : p;
}

static void check_no_map(int fd, size_t size, __u64 offset)
{
	void *p = map_at(fd, size, offset, PROT_READ | PROT_WRITE, MAP_SHARED);

	EXPECT_TRUE(!p);
	if (p)
		munmap(p, size);
}

TEST_F(map, write_read)
{
	__u32 *a = bo_map(self->fd, self->handle, SIZE);
	__u32 *b = bo_map(self->fd, self->handle, SIZE);
	size_t i;

	EXPECT_TRUE(a != b);
	for (i = 0; i < SIZE / 4; i++)
		a[i] = (__u32)i * 2654435761u;
	for (i = 0; i < SIZE / 4; i++)
		ASSERT_EQ((__u32)i * 2654435761u, b[i]);
}

TEST_F(map, offset_is_stable)
{
	__u64 again;

	EXPECT_NE(0, self->offset);
	EXPECT_EQ(0, self->offset % PAGE);
	ASSERT_EQ(0, bo_offset_try(self->fd, self->handle, &again));
	EXPECT_EQ(self->offset, again);
}

TEST_F(map, partial)
{
	__u8 *whole = bo_map(self->fd, self->handle, SIZE), *part;

	part = map_at(self->fd, PAGE, self->offset, PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_TRUE(part);
	part[7] = 42;
	EXPECT_EQ(42, whole[7]);
	/* Holes in a mapping, and what remains of it. */
	whole[3 * PAGE] = 1;
	whole[5 * PAGE] = 2;
	ASSERT_EQ(0, munmap(whole + 4 * PAGE, PAGE));
	EXPECT_EQ(1, whole[3 * PAGE]);
	EXPECT_EQ(2, whole[5 * PAGE]);
	ASSERT_EQ(0, munmap(whole, SIZE));
	EXPECT_EQ(42, part[7]);
}

/* What is left of a mapping shows what it showed before. */
TEST_F(map, head_unmapped)
{
	__u8 *p = bo_map(self->fd, self->handle, SIZE), *q;
	unsigned int i;

	q = map_at(self->fd, SIZE, self->offset, PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_TRUE(q);
	for (i = 0; i < SIZE / PAGE; i++)
		p[i * PAGE] = (__u8)(i + 1);
	ASSERT_EQ(0, munmap(q, 3 * PAGE));
	ASSERT_EQ(0, munmap(q + 5 * PAGE, PAGE));
	EXPECT_EQ(4, q[3 * PAGE]);
	EXPECT_EQ(5, q[4 * PAGE]);
	EXPECT_EQ(7, q[6 * PAGE]);
	EXPECT_EQ(8, q[7 * PAGE]);
}

TEST_F(map, bad_ranges)
{
	check_no_map(self->fd, SIZE + PAGE, self->offset);
	check_no_map(self->fd, PAGE, 0);
	check_no_map(self->fd, PAGE, self->offset - PAGE);
	check_no_map(self->fd, SIZE, self->offset + PAGE);
	check_no_map(self->fd, PAGE, self->offset + SIZE);
	check_no_map(self->fd, PAGE, 1ull << 62);
	check_no_map(self->fd, 1ull << 40, self->offset);
}

TEST_F(map, after_handle_close)
{
	__u8 *p = bo_map(self->fd, self->handle, SIZE);

	memset(p, 3, SIZE);
	gem_close(self->fd, self->handle);
	/* The mapping keeps the memory; the offset is gone. */
	EXPECT_EQ(3, p[SIZE - 1]);
	p[0] = 4;
	EXPECT_EQ(4, p[0]);
	check_no_map(self->fd, SIZE, self->offset);
}

TEST_F(map, after_file_close)
{
	int fd = dev_open();
	__u8 *p;

	p = bo_map(fd, bo_create(fd, SIZE, variant->flags), SIZE);
	close(fd);
	memset(p, 9, SIZE);
	EXPECT_EQ(9, p[PAGE]);
	ASSERT_EQ(0, munmap(p, SIZE));
}

TEST_F(map, of_another_file)
{
	int other = dev_open();

	/* An offset is no secret and no key: only who holds a handle may map. */
	check_no_map(other, SIZE, self->offset);
	close(other);
}

TEST_F(map, private_copy)
{
	__u8 *shared = bo_map(self->fd, self->handle, SIZE);
	__u8 *p = map_at(self->fd, SIZE, self->offset, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	/* Copy-on-write of device memory is refused or a copy, never a way to the memory. */
	if (!p)
		return;
	shared[0] = 1;
	p[0] = 2;
	EXPECT_EQ(1, shared[0]);
}

TEST_F(map, read_only)
{
	const __u8 *p = map_at(self->fd, SIZE, self->offset, PROT_READ, MAP_SHARED);
	__u8 *w = bo_map(self->fd, self->handle, SIZE);

	ASSERT_TRUE(p);
	w[100] = 77;
	EXPECT_EQ(77, p[100]);
}

static sigjmp_buf jump;
static int caught;

static void on_signal(int sig)
{
	__atomic_store_n(&caught, sig, __ATOMIC_SEQ_CST);
	siglongjmp(jump, 1);
}

TEST_F(map, write_to_read_only)
{
	struct sigaction sa = { .sa_handler = on_signal };
	__u8 *p = map_at(self->fd, SIZE, self->offset, PROT_READ, MAP_SHARED);

	ASSERT_TRUE(p);
	ASSERT_EQ(0, sigaction(SIGSEGV, &sa, NULL));
	if (!sigsetjmp(jump, 1))
		__atomic_store_n(&p[0], 1, __ATOMIC_SEQ_CST);
	EXPECT_EQ(SIGSEGV, __atomic_load_n(&caught, __ATOMIC_SEQ_CST));
}

TEST_F(map, forked)
{
	__u8 *p = bo_map(self->fd, self->handle, SIZE);
	pid_t pid;

	p[0] = 1;
	pid = harness_fork();
	if (!pid) {
		ASSERT_EQ(1, p[0]);
		p[1] = 2;
		_exit(0);
	}
	harness_join(pid);
	EXPECT_EQ(2, p[1]);
}

TEST_F(map, remap)
{
	__u8 *p = bo_map(self->fd, self->handle, SIZE), *q;

	p[PAGE] = 5;
	/* It may move, but never grow beyond the buffer. */
	q = mremap(p, SIZE, 2 * SIZE, MREMAP_MAYMOVE);
	EXPECT_TRUE(q == MAP_FAILED);
	if (q == MAP_FAILED)
		EXPECT_EQ(5, p[PAGE]);
}

TEST_F(map, not_executable)
{
	/* Nothing asks for it; no matter how it ends, data stays data. */
	void *p = map_at(self->fd, SIZE, self->offset, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_SHARED);

	if (p)
		ASSERT_EQ(0, munmap(p, SIZE));
}

TEST_F(map, many)
{
	void *p[256];
	int i;

	for (i = 0; i < 256; i++)
		p[i] = bo_map(self->fd, self->handle, SIZE);
	for (i = 0; i < 256; i++)
		ASSERT_EQ(0, munmap(p[i], SIZE));
}

TEST(no_mmap_flag)
{
	int fd = dev_open();
	__u64 offset;

	EXPECT_EQ(-EPERM, bo_offset_try(fd, bo_create(fd, PAGE, DRM_UMA_BO_NO_MMAP), &offset));
	EXPECT_EQ(0, offset);
	close(fd);
}

/* Offsets follow a pattern: one that is guessed must not be one that works. */
TEST(no_mmap_guessed)
{
	__u32 before, hidden, after;
	__u64 a, b, offset;
	int fd = dev_open();

	before = bo_create(fd, PAGE, 0);
	ASSERT_EQ(0, bo_offset_try(fd, before, &a));
	hidden = bo_create(fd, PAGE, DRM_UMA_BO_NO_MMAP);
	after = bo_create(fd, PAGE, 0);
	ASSERT_EQ(0, bo_offset_try(fd, after, &b));
	ASSERT_NE(a, b);
	for (offset = (a < b ? a : b) - 16 * PAGE; offset <= (a < b ? b : a) + 16 * PAGE;
	     offset += PAGE) {
		if (offset != a && offset != b)
			check_no_map(fd, PAGE, offset);
	}
	gem_close(fd, hidden);
	close(fd);
}

HARNESS_MAIN
