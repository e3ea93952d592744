// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * dma-bufs: to ourselves, between two files, from vgem, udmabuf and dma-heaps,
 * and to vgem.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>

#include "task.h"
#include "watch.h"

#define SIZE	(4 * PAGE)

FIXTURE(self_import) {
	struct client c;
	struct client other;
};

FIXTURE_SETUP(self_import)
{
	client_open(&self->c);
	client_open(&self->other);
}

FIXTURE_TEARDOWN(self_import)
{
	client_close(&self->c);
	client_close(&self->other);
}

TEST_F(self_import, same_file)
{
	__u32 handle = bo_create(self->c.fd, SIZE, 0);
	struct drm_uma_bo_info info;
	int fd;

	fd = prime_export(self->c.fd, handle);
	/* One buffer has one handle in a file. */
	EXPECT_EQ(handle, prime_import(self->c.fd, fd));
	bo_info(self->c.fd, handle, &info);
	EXPECT_EQ(DRM_UMA_BO_INFO_EXPORTED, info.flags);
	close(fd);
	gem_close(self->c.fd, handle);
	EXPECT_EQ(-ENOENT, bo_info_try(self->c.fd, handle, &info));
}

TEST_F(self_import, two_files)
{
	__u32 a = bo_create(self->c.fd, SIZE, 0), b;
	struct drm_uma_bo_info info;
	__u8 *p, *q;
	int fd;

	fd = prime_export(self->c.fd, a);
	b = prime_import(self->other.fd, fd);
	close(fd);
	/* The same object, so the other file may map it too. */
	p = bo_map(self->c.fd, a, SIZE);
	q = bo_map(self->other.fd, b, SIZE);
	p[5] = 55;
	EXPECT_EQ(55, q[5]);
	bo_info(self->other.fd, b, &info);
	EXPECT_EQ(SIZE, info.size);
	/* It outlives the handle of who made it. */
	gem_close(self->c.fd, a);
	bo_info(self->other.fd, b, &info);
	q[6] = 66;
	EXPECT_EQ(66, p[6]);
}

TEST_F(self_import, two_buffers)
{
	__u32 a = bo_create(self->c.fd, SIZE, 0), b = bo_create(self->c.fd, SIZE, 0), x, y;
	int fa = prime_export(self->c.fd, a), fb = prime_export(self->c.fd, b);

	x = prime_import(self->other.fd, fa);
	y = prime_import(self->other.fd, fb);
	EXPECT_NE(x, y);
	EXPECT_EQ(x, prime_import(self->other.fd, fa));
	close(fa);
	close(fb);
}

TEST_F(self_import, fd_dup)
{
	__u32 handle = bo_create(self->c.fd, SIZE, 0);
	int fd = prime_export(self->c.fd, handle), fd2 = dup(fd);

	close(fd);
	EXPECT_EQ(handle, prime_import(self->c.fd, fd2));
	close(fd2);
}

TEST_F(self_import, exporter_closed)
{
	__u32 handle = bo_create(self->c.fd, SIZE, 0);
	struct drm_uma_bo_info info;
	__u8 *p;
	int fd;

	p = bo_map(self->c.fd, handle, SIZE);
	memset(p, 0x42, SIZE);
	ASSERT_EQ(0, munmap(p, SIZE));
	fd = prime_export(self->c.fd, handle);
	client_close(&self->c);
	handle = prime_import(self->other.fd, fd);
	close(fd);
	bo_info(self->other.fd, handle, &info);
	EXPECT_EQ(SIZE, info.size);
	p = bo_map(self->other.fd, handle, SIZE);
	EXPECT_EQ(0x42, p[SIZE - 1]);
}

TEST_F(self_import, size_by_seek)
{
	__u32 handle = bo_create(self->c.fd, SIZE, 0);
	int fd = prime_export(self->c.fd, handle);

	EXPECT_EQ(SIZE, (__u64)lseek(fd, 0, SEEK_END));
	EXPECT_EQ(-1, lseek(fd, 1, SEEK_END));
	close(fd);
}

TEST_F(self_import, mmap_of_dmabuf)
{
	__u32 handle = bo_create(self->c.fd, SIZE, 0);
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	__u8 *p = bo_map(self->c.fd, handle, SIZE), *q;
	int fd = prime_export(self->c.fd, handle);

	q = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_TRUE(q != MAP_FAILED);
	ASSERT_EQ(0, do_ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
	q[1] = 11;
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW;
	ASSERT_EQ(0, do_ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync));
	EXPECT_EQ(11, p[1]);
	EXPECT_TRUE(mmap(NULL, SIZE + PAGE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
	EXPECT_TRUE(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, SIZE) == MAP_FAILED);
	close(fd);
	EXPECT_EQ(11, q[1]);
}

TEST_F(self_import, read_only_fd)
{
	__u32 handle = bo_create(self->c.fd, SIZE, 0);
	int fd;

	ASSERT_EQ(0, prime_export_try(self->c.fd, handle, DRM_CLOEXEC, &fd));
	EXPECT_TRUE(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	EXPECT_TRUE(mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED);
	close(fd);
}

/* Exported without write access: the device reads it, and it is mapped for nothing else. */
static void reads_only(struct client *c, int fd, __u8 value)
{
	__u32 handle = prime_import(c->fd, fd), queue;
	struct drm_uma_bo_info info;
	struct buf tasks, mine;
	__u64 offset, va;
	int engine;

	bo_info(c->fd, handle, &info);
	EXPECT_EQ(DRM_UMA_BO_INFO_IMPORTED | DRM_UMA_BO_INFO_READONLY, info.flags);
	EXPECT_EQ(-EPERM, bo_offset_try(c->fd, handle, &offset));
	EXPECT_EQ(-EACCES, vm_map_try(c->fd, c->vm, handle, 0, client_va(c, SIZE), SIZE, 0));
	va = client_bind_handle(c, handle, SIZE, DRM_UMA_BIND_READONLY);
	engine = engine_for(c->fd, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8);
	if (engine < 0)
		SKIP("no engine copies");
	queue = queue_create(c->fd, c->vm, (unsigned int)engine);
	client_buf(c, &tasks, PAGE);
	client_buf(c, &mine, SIZE);
	task_copy(tasks.task, UMA_DTYPE_U8, mine.va, va, SIZE);
	ASSERT_EQ(0, client_run(c, queue, tasks.va, 1));
	EXPECT_EQ(value, mine.u8[0]);
	EXPECT_EQ(value, mine.u8[SIZE - 1]);
}

TEST_F(self_import, read_only)
{
	__u32 handle = bo_create(self->c.fd, SIZE, 0);
	int fd;

	memset(bo_map(self->c.fd, handle, SIZE), 0x42, SIZE);
	ASSERT_EQ(0, prime_export_try(self->c.fd, handle, DRM_CLOEXEC, &fd));
	reads_only(&self->other, fd, 0x42);
	/* Who made it has what it had. */
	EXPECT_EQ(handle, prime_import(self->c.fd, fd));
	client_bind_handle(&self->c, handle, SIZE, 0);
	/* It goes before the import does. */
	client_close(&self->c);
	close(fd);
}

TEST_F(self_import, read_only_of_vgem)
{
	int vgem = vgem_open(), fd;

	ASSERT_EQ(0, prime_export_try(vgem, vgem_bo(vgem, SIZE), DRM_CLOEXEC, &fd));
	reads_only(&self->c, fd, 0);
	close(fd);
	close(vgem);
}

TEST_F(self_import, export_bad_flags)
{
	__u32 handle = bo_create(self->c.fd, SIZE, 0);
	int fd;

	EXPECT_EQ(-EINVAL, prime_export_try(self->c.fd, handle, 1u << 30, &fd));
}

/* What has no CPU mapping here has none through the dma-buf either. */
TEST_F(self_import, no_mmap_stays)
{
	__u32 handle = bo_create(self->c.fd, SIZE, DRM_UMA_BO_NO_MMAP), b;
	__u64 offset;
	int fd;

	if (prime_export_try(self->c.fd, handle, DRM_CLOEXEC | DRM_RDWR, &fd))
		return;
	EXPECT_TRUE(mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
	b = prime_import(self->other.fd, fd);
	EXPECT_EQ(-EPERM, bo_offset_try(self->other.fd, b, &offset));
	close(fd);
}

TEST_F(self_import, no_dmabuf)
{
	int fds[2], memfd = memfd_create("x", MFD_CLOEXEC);
	__u32 handle;

	ASSERT_EQ(0, pipe(fds));
	EXPECT_EQ(-EINVAL, prime_import_try(self->c.fd, fds[0], &handle));
	EXPECT_EQ(-EINVAL, prime_import_try(self->c.fd, memfd, &handle));
	EXPECT_EQ(-EINVAL, prime_import_try(self->c.fd, self->c.fd, &handle));
	EXPECT_EQ(-EBADF, prime_import_try(self->c.fd, -1, &handle));
	EXPECT_EQ(-EBADF, prime_import_try(self->c.fd, 9999, &handle));
}

TEST_F(self_import, to_a_child)
{
	__u32 handle = bo_create(self->c.fd, SIZE, 0);
	__u8 *p = bo_map(self->c.fd, handle, SIZE);
	int fd = prime_export(self->c.fd, handle);
	pid_t pid;

	pid = harness_fork();
	if (!pid) {
		int mine = dev_open();
		__u8 *q = bo_map(mine, prime_import(mine, fd), SIZE);

		memset(q, 0x99, SIZE);
		_exit(0);
	}
	harness_join(pid);
	EXPECT_EQ(0x99, p[0]);
	EXPECT_EQ(0x99, p[SIZE - 1]);
}

/* --- buffers of others ------------------------------------------------------------ */

enum peer {
	VGEM, UDMABUF, HEAP,
};

FIXTURE(foreign) {
	struct client c;
	int dmabuf;
	__u8 *p;
	int vgem;
	__u32 vgem_handle;
};

FIXTURE_VARIANT(foreign) {
	enum peer peer;
};

FIXTURE_VARIANT_ADD(foreign, vgem) { .peer = VGEM };
FIXTURE_VARIANT_ADD(foreign, udmabuf) { .peer = UDMABUF };
FIXTURE_VARIANT_ADD(foreign, heap) { .peer = HEAP };

static int from_udmabuf(size_t size)
{
	struct udmabuf_create args = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = size };
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;

	if (dev < 0)
		SKIP("/dev/udmabuf: %s", strerror(errno));
	args.memfd = (__u32)memfd_create("udmabuf", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	ASSERT_EQ(0, ftruncate((int)args.memfd, (off_t)size));
	ASSERT_EQ(0, fcntl((int)args.memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	fd = ioctl(dev, UDMABUF_CREATE, &args);
	ASSERT_GE(fd, 0);
	close((int)args.memfd);
	close(dev);
	return fd;
}

static int from_heap(size_t size)
{
	struct dma_heap_allocation_data args = { .len = size, .fd_flags = O_RDWR | O_CLOEXEC };
	int dev = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC);

	if (dev < 0)
		SKIP("/dev/dma_heap/system: %s", strerror(errno));
	ASSERT_EQ(0, do_ioctl(dev, DMA_HEAP_IOCTL_ALLOC, &args));
	close(dev);
	return (int)args.fd;
}

FIXTURE_SETUP(foreign)
{
	client_open(&self->c);
	self->vgem = -1;
	switch (variant->peer) {
	case VGEM:
		self->vgem = vgem_open();
		self->vgem_handle = vgem_bo(self->vgem, SIZE);
		self->dmabuf = prime_export(self->vgem, self->vgem_handle);
		break;
	case UDMABUF:
		self->dmabuf = from_udmabuf(SIZE);
		break;
	case HEAP:
		self->dmabuf = from_heap(SIZE);
		break;
	}
	self->p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, self->dmabuf, 0);
	ASSERT_TRUE(self->p != MAP_FAILED);
}

FIXTURE_TEARDOWN(foreign)
{
	client_close(&self->c);
	close(self->dmabuf);
	if (self->vgem >= 0)
		close(self->vgem);
}

TEST_F(foreign, import)
{
	struct drm_uma_bo_info info;
	__u32 handle;

	handle = prime_import(self->c.fd, self->dmabuf);
	bo_info(self->c.fd, handle, &info);
	EXPECT_EQ((__u64)lseek(self->dmabuf, 0, SEEK_END), info.size);
	EXPECT_EQ(DRM_UMA_BO_INFO_IMPORTED, info.flags & ~DRM_UMA_BO_INFO_EXPORTED);
	EXPECT_EQ(handle, prime_import(self->c.fd, self->dmabuf));
	gem_close(self->c.fd, handle);
}

TEST_F(foreign, no_mmap)
{
	__u32 handle = prime_import(self->c.fd, self->dmabuf);
	__u64 offset;

	EXPECT_EQ(-EPERM, bo_offset_try(self->c.fd, handle, &offset));
}

/* Only the owner gives a buffer away. What comes out is the owner's dma-buf, or nothing. */
TEST_F(foreign, reexport)
{
	__u32 handle = prime_import(self->c.fd, self->dmabuf);
	int fd, other;

	if (prime_export_try(self->c.fd, handle, DRM_CLOEXEC | DRM_RDWR, &fd))
		return;
	other = dev_open();
	EXPECT_EQ(prime_import(other, self->dmabuf), prime_import(other, fd));
	close(fd);
	close(other);
}

TEST_F(foreign, device_reads_and_writes)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	struct buf tasks, mine;
	__u32 handle, queue;
	int engine;
	__u64 va;

	engine = engine_for(self->c.fd, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8);
	if (engine < 0)
		SKIP("no engine copies");
	queue = queue_create(self->c.fd, self->c.vm, (unsigned int)engine);
	client_buf(&self->c, &tasks, 2 * UMA_TASK_SIZE);
	client_buf(&self->c, &mine, SIZE);
	handle = prime_import(self->c.fd, self->dmabuf);
	va = client_bind_handle(&self->c, handle, SIZE, 0);
	ASSERT_EQ(0, do_ioctl(self->dmabuf, DMA_BUF_IOCTL_SYNC, &sync));
	memset(self->p, 0x21, SIZE);
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW;
	ASSERT_EQ(0, do_ioctl(self->dmabuf, DMA_BUF_IOCTL_SYNC, &sync));
	memset(mine.map, 0x12, SIZE);
	/* Theirs to ours in the first half, ours to theirs in the second. */
	task_copy(&tasks.task[0], UMA_DTYPE_U8, mine.va, va, SIZE / 2);
	task_copy(&tasks.task[1], UMA_DTYPE_U8, va + SIZE / 2, mine.va + SIZE / 2, SIZE / 2);
	ASSERT_EQ(0, client_run(&self->c, queue, tasks.va, 2));
	sync.flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW;
	ASSERT_EQ(0, do_ioctl(self->dmabuf, DMA_BUF_IOCTL_SYNC, &sync));
	EXPECT_EQ(0x21, mine.u8[0]);
	EXPECT_EQ(0x21, mine.u8[SIZE / 2 - 1]);
	EXPECT_EQ(0x12, mine.u8[SIZE / 2]);
	EXPECT_EQ(0x21, self->p[SIZE / 2 - 1]);
	EXPECT_EQ(0x12, self->p[SIZE / 2]);
	EXPECT_EQ(0x12, self->p[SIZE - 1]);
}

/* All that the exporter let go of stays as long as it is bound. */
TEST_F(foreign, outlives_exporter)
{
	struct buf tasks, mine;
	__u32 handle, queue;
	int engine;
	__u64 va;

	engine = engine_for(self->c.fd, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8);
	if (engine < 0)
		SKIP("no engine copies");
	queue = queue_create(self->c.fd, self->c.vm, (unsigned int)engine);
	client_buf(&self->c, &tasks, PAGE);
	client_buf(&self->c, &mine, SIZE);
	memset(self->p, 0x77, SIZE);
	handle = prime_import(self->c.fd, self->dmabuf);
	va = client_bind_handle(&self->c, handle, SIZE, 0);
	ASSERT_EQ(0, munmap(self->p, SIZE));
	close(self->dmabuf);
	if (self->vgem >= 0)
		close(self->vgem);
	self->vgem = -1;
	self->dmabuf = -1;
	gem_close(self->c.fd, handle);
	task_copy(tasks.task, UMA_DTYPE_U8, mine.va, va, SIZE);
	ASSERT_EQ(0, client_run(&self->c, queue, tasks.va, 1));
	EXPECT_EQ(0x77, mine.u8[SIZE - 1]);
}

TEST_F(foreign, bind_beyond)
{
	__u32 handle = prime_import(self->c.fd, self->dmabuf);
	__u64 size = (__u64)lseek(self->dmabuf, 0, SEEK_END);

	EXPECT_EQ(-EINVAL, vm_map_try(self->c.fd, self->c.vm, handle, 0,
				      client_va(&self->c, size + PAGE), size + PAGE, 0));
	EXPECT_EQ(-EINVAL, vm_map_try(self->c.fd, self->c.vm, handle, size,
				      client_va(&self->c, PAGE), PAGE, 0));
}

TEST_F(foreign, sync)
{
	struct drm_uma_sync_range range = {
		.handle = prime_import(self->c.fd, self->dmabuf),
		.flags = DRM_UMA_SYNC_TO_CPU,
		.size = SIZE,
	};
	struct drm_uma_bo_sync args = { .ranges = array_of(&range, sizeof(range), 1) };

	EXPECT_EQ(0, do_ioctl(self->c.fd, DRM_IOCTL_UMA_BO_SYNC, &args));
}

/* --- ours elsewhere ---------------------------------------------------------------- */

TEST(to_vgem)
{
	struct client c;
	struct buf b;
	__u32 handle;
	int vgem, fd;
	__u8 *p;

	vgem = vgem_open();
	client_open(&c);
	client_buf(&c, &b, SIZE);
	fd = prime_export(c.fd, b.handle);
	handle = prime_import(vgem, fd);
	EXPECT_NE(0, handle);
	/* And back: it is ours again. */
	close(fd);
	fd = prime_export(vgem, handle);
	EXPECT_EQ(b.handle, prime_import(c.fd, fd));
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_TRUE(p != MAP_FAILED);
	p[3] = 33;
	EXPECT_EQ(33, b.u8[3]);
	client_close(&c);
	p[4] = 44;
	close(fd);
	close(vgem);
}

HARNESS_MAIN
