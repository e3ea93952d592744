// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Where the memory of buffers is: huge pages, and memory nodes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instance.h"
#include "task.h"
#include "watch.h"

#define MIB	(1ull << 20)
#define BLOCK	(2 * MIB)
#define SIZE	(4 * MIB)

static long long blocks(void)
{
	char path[300];

	if (!dev_debugfs(dev_name(), "blocks", path, sizeof(path)))
		SKIP("no debugfs");
	return read_number(path);
}

static __u64 aligned_va(struct client *c, __u64 size)
{
	return (client_va(c, size + BLOCK) + BLOCK - 1) & ~(BLOCK - 1);
}

/* A buffer that was given huge pages, if there is one to be had in a few attempts. */
static __u32 huge_bo(struct client *c, __u64 *va)
{
	long long before = blocks();
	int i;

	if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK))
		SKIP("no huge pages");
	for (i = 0; i < 10; i++) {
		__u32 handle = bo_create(c->fd, SIZE, 0);

		*va = aligned_va(c, SIZE);
		vm_map(c->fd, c->vm, handle, 0, *va, SIZE, 0);
		if (blocks() - before == SIZE / BLOCK)
			return handle;
		vm_unmap(c->fd, c->vm, *va, SIZE);
		gem_close(c->fd, handle);
		write_text("/proc/sys/vm/compact_memory", "1");
	}
	EXPECT_EQ(SIZE / BLOCK, blocks() - before);
	harness_end();
}

TEST(huge_pages)
{
	long long before = blocks();
	struct buf tasks, data;
	struct client c;
	__u32 handle;
	int engine;
	__u64 va;
	__u8 *p;

	client_open(&c);
	handle = huge_bo(&c, &va);
	p = bo_map(c.fd, handle, SIZE);
	engine = engine_for(c.fd, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8);
	if (engine < 0)
		SKIP("no engine copies");
	client_buf(&c, &tasks, PAGE);
	client_buf(&c, &data, 16 * PAGE);
	memset(data.map, 0x6b, 16 * PAGE);
	/* Across the border of two blocks. */
	task_copy(tasks.task, UMA_DTYPE_U8, va + BLOCK - 8 * PAGE, data.va, 16 * PAGE);
	EXPECT_EQ(0, client_run(&c, queue_create(c.fd, c.vm, (unsigned int)engine), tasks.va, 1));
	EXPECT_EQ(0, p[BLOCK - 8 * PAGE - 1]);
	EXPECT_EQ(0x6b, p[BLOCK - 8 * PAGE]);
	EXPECT_EQ(0x6b, p[BLOCK + 8 * PAGE - 1]);
	EXPECT_EQ(0, p[BLOCK + 8 * PAGE]);
	/* One that is cut is no block any more. */
	vm_unmap(c.fd, c.vm, va + PAGE, PAGE);
	EXPECT_EQ(before + 1, blocks());
	vm_unmap(c.fd, c.vm, va, SIZE);
	EXPECT_EQ(before, blocks());
	client_close(&c);
}

/* A small one gets none, nor does a large one at a crooked address. */
TEST(no_blocks)
{
	long long before = blocks();
	struct client c;
	__u32 handle;
	__u64 va;

	client_open(&c);
	handle = huge_bo(&c, &va);
	vm_unmap(c.fd, c.vm, va, SIZE);
	vm_map(c.fd, c.vm, handle, 0, va + PAGE, SIZE, 0);
	EXPECT_EQ(before, blocks());
	client_close(&c);
}

/* --- memory nodes -------------------------------------------------------------------- */

/* Shared memory on a node, in bytes, -1 where there is no such node. */
static long long node_shmem(int node)
{
	char path[64], text[4096], *at;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
	if (!read_text(path, text, sizeof(text)))
		return -1;
	at = strstr(text, "Shmem:");
	return at ? strtoll(at + 6, NULL, 10) * 1024 : -1;
}

TEST(node_flags)
{
	struct drm_uma_query_device dev;
	struct drm_uma_bo_info info;
	int fd = dev_open();
	__u32 handle, n;

	query_device(fd, &dev);
	for (n = 0; n < 15; n++) {
		int ret = bo_create_try(fd, PAGE, DRM_UMA_BO_NODE(n), &handle);

		EXPECT_EQ(n < dev.node_count ? 0 : -EINVAL, ret);
		if (ret)
			continue;
		bo_info(fd, handle, &info);
		EXPECT_EQ(DRM_UMA_BO_NODE(n), info.flags);
		gem_close(fd, handle);
	}
	EXPECT_EQ(0, bo_create_try(fd, PAGE, DRM_UMA_BO_WC | DRM_UMA_BO_NODE(0), &handle));
	EXPECT_EQ(-EINVAL, bo_create_try(fd, PAGE, DRM_UMA_BO_WC | DRM_UMA_BO_NO_MMAP |
					 DRM_UMA_BO_NODE(0), &handle));
	close(fd);
}

TEST(nodes)
{
	const __u64 size = 16 * MIB;
	struct instance in;
	struct client c;
	__u32 n;

	instance_start(&in, "nodes", "ultra");
	client_open_named(&c, in.node);
	for (n = 0; n < 2; n++) {
		__u32 handle = bo_create(c.fd, size, DRM_UMA_BO_NODE(n));
		long long before = node_shmem((int)n), other = node_shmem(!n);

		client_bind_handle(&c, handle, size, 0);
		/* On a machine with one node it is there all the same. */
		if (before < 0 || other < 0)
			continue;
		EXPECT_GE(node_shmem((int)n) - before, (long long)(size / 8 * 7));
		EXPECT_LE(node_shmem(!n) - other, (long long)(size / 8));
	}
	n = node_shmem(0) < 0 || node_shmem(1) < 0;
	client_close(&c);
	instance_drop(&in);
	if (n)
		SKIP("fewer than two memory nodes");
}

HARNESS_MAIN
