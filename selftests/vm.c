// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Address spaces and what is mapped in them.
 */
#include <stdlib.h>
#include <string.h>

#include "task.h"
#include "watch.h"

#define MAP(h, off, addr, bytes) \
	{ .op = DRM_UMA_BIND_MAP, .handle = (h), .bo_offset = (off), .va = (addr), .size = (bytes) }
#define UNMAP(addr, bytes) { .op = DRM_UMA_BIND_UNMAP, .va = (addr), .size = (bytes) }
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

FIXTURE(vm) {
	struct client c;
	struct drm_uma_query_limits l;
	__u32 bo;
	__u64 va;
};

#define SIZE	(16 * PAGE)

FIXTURE_SETUP(vm)
{
	client_open(&self->c);
	query_limits(self->c.fd, &self->l);
	self->bo = bo_create(self->c.fd, SIZE, 0);
	self->va = client_va(&self->c, 64 * PAGE);
}

FIXTURE_TEARDOWN(vm)
{
	client_close(&self->c);
}

static __u32 mappings(struct vm_fixture *self)
{
	struct drm_uma_bo_info info;

	bo_info(self->c.fd, self->bo, &info);
	return info.mappings;
}

static int bind(struct vm_fixture *self, const struct drm_uma_bind_op *ops, size_t n, __u32 *failed)
{
	return vm_bind_try(self->c.fd, self->c.vm, ops, (unsigned int)n, failed);
}

/* Whether every page of a range is free, seen by mapping it (and unmapping it again). */
static bool is_free(struct vm_fixture *self, __u64 va, __u64 size)
{
	int ret = vm_map_try(self->c.fd, self->c.vm, self->bo, 0, va, size, 0);

	ASSERT_TRUE(ret == 0 || ret == -EEXIST);
	if (!ret)
		vm_unmap(self->c.fd, self->c.vm, va, size);
	return ret == 0;
}

TEST_F(vm, create_destroy)
{
	__u32 a = vm_create(self->c.fd), b = vm_create(self->c.fd);

	EXPECT_NE(a, b);
	EXPECT_NE(self->c.vm, a);
	EXPECT_EQ(0, vm_destroy_try(self->c.fd, a));
	EXPECT_EQ(-ENOENT, vm_destroy_try(self->c.fd, a));
	EXPECT_EQ(0, vm_destroy_try(self->c.fd, b));
}

TEST_F(vm, max_vms)
{
	__u32 *ids = calloc(self->l.max_vms + 1, sizeof(*ids)), extra, i;
	int fd = dev_open();

	for (i = 0; i < self->l.max_vms; i++)
		ids[i] = vm_create(fd);
	EXPECT_EQ(-ENOSPC, vm_create_try(fd, &extra));
	EXPECT_EQ(0, extra);
	/* One goes, one comes; another file has a limit of its own. */
	EXPECT_EQ(0, vm_destroy_try(fd, ids[i / 2]));
	vm_create(fd);
	EXPECT_EQ(-ENOSPC, vm_create_try(fd, &extra));
	vm_create(self->c.fd);
	close(fd);
	free(ids);
}

TEST_F(vm, destroy_mapped)
{
	vm_map(self->c.fd, self->c.vm, self->bo, 0, self->va, SIZE, 0);
	EXPECT_EQ(1, mappings(self));
	ASSERT_EQ(0, vm_destroy_try(self->c.fd, self->c.vm));
	EXPECT_EQ(0, mappings(self));
}

TEST_F(vm, destroy_busy)
{
	__u32 queue = queue_create(self->c.fd, self->c.vm, 0);

	EXPECT_EQ(-EBUSY, vm_destroy_try(self->c.fd, self->c.vm));
	/* It is as it was. */
	vm_map(self->c.fd, self->c.vm, self->bo, 0, self->va, SIZE, 0);
	ASSERT_EQ(0, queue_destroy_try(self->c.fd, queue));
	EXPECT_EQ(0, vm_destroy_try(self->c.fd, self->c.vm));
}

TEST_F(vm, map_unmap)
{
	vm_map(self->c.fd, self->c.vm, self->bo, 0, self->va, SIZE, 0);
	EXPECT_EQ(1, mappings(self));
	vm_unmap(self->c.fd, self->c.vm, self->va, SIZE);
	EXPECT_EQ(0, mappings(self));
	EXPECT_TRUE(is_free(self, self->va, SIZE));
}

TEST_F(vm, part_of_buffer)
{
	vm_map(self->c.fd, self->c.vm, self->bo, 3 * PAGE, self->va, PAGE, 0);
	vm_map(self->c.fd, self->c.vm, self->bo, SIZE - PAGE, self->va + PAGE, PAGE, 0);
	EXPECT_EQ(2, mappings(self));
}

TEST_F(vm, one_buffer_many_times)
{
	__u32 i;

	for (i = 0; i < 100; i++)
		vm_map(self->c.fd, self->c.vm, self->bo, 0, self->va + i * SIZE, SIZE, 0);
	EXPECT_EQ(100, mappings(self));
	vm_unmap(self->c.fd, self->c.vm, self->va, 100 * SIZE);
	EXPECT_EQ(0, mappings(self));
}

TEST_F(vm, two_vms)
{
	__u32 other = vm_create(self->c.fd);

	vm_map(self->c.fd, self->c.vm, self->bo, 0, self->va, SIZE, 0);
	vm_map(self->c.fd, other, self->bo, 0, self->va, SIZE, DRM_UMA_BIND_READONLY);
	EXPECT_EQ(2, mappings(self));
	vm_unmap(self->c.fd, other, self->va, SIZE);
	EXPECT_EQ(1, mappings(self));
	EXPECT_FALSE(is_free(self, self->va, PAGE));
}

TEST_F(vm, mapping_keeps_buffer)
{
	vm_map(self->c.fd, self->c.vm, self->bo, 0, self->va, SIZE, 0);
	gem_close(self->c.fd, self->bo);
	self->bo = bo_create(self->c.fd, SIZE, 0);
	EXPECT_FALSE(is_free(self, self->va, PAGE));
	vm_unmap(self->c.fd, self->c.vm, self->va, SIZE);
	EXPECT_TRUE(is_free(self, self->va, SIZE));
}

TEST_F(vm, conflicts)
{
	vm_map(self->c.fd, self->c.vm, self->bo, 0, self->va + 4 * PAGE, 4 * PAGE, 0);
	/* The same, inside, around, over either edge. */
	EXPECT_EQ(-EEXIST, vm_map_try(self->c.fd, self->c.vm, self->bo, 0, self->va + 4 * PAGE,
				      4 * PAGE, 0));
	EXPECT_EQ(-EEXIST,
		  vm_map_try(self->c.fd, self->c.vm, self->bo, 0, self->va + 5 * PAGE, PAGE, 0));
	EXPECT_EQ(-EEXIST, vm_map_try(self->c.fd, self->c.vm, self->bo, 0, self->va, 16 * PAGE, 0));
	EXPECT_EQ(-EEXIST, vm_map_try(self->c.fd, self->c.vm, self->bo, 0, self->va + 3 * PAGE,
				      2 * PAGE, 0));
	EXPECT_EQ(-EEXIST, vm_map_try(self->c.fd, self->c.vm, self->bo, 0, self->va + 7 * PAGE,
				      2 * PAGE, 0));
	/* Neighbours. */
	EXPECT_EQ(0, vm_map_try(self->c.fd, self->c.vm, self->bo, 0, self->va + 3 * PAGE, PAGE, 0));
	EXPECT_EQ(0, vm_map_try(self->c.fd, self->c.vm, self->bo, 0, self->va + 8 * PAGE, PAGE, 0));
	EXPECT_EQ(3, mappings(self));
}

TEST_F(vm, unmap_nothing)
{
	EXPECT_EQ(0, vm_unmap_try(self->c.fd, self->c.vm, self->va, SIZE));
	EXPECT_EQ(0, vm_unmap_try(self->c.fd, self->c.vm, self->l.va_start,
				  self->l.va_end - self->l.va_start));
}

TEST_F(vm, unmap_whole_space)
{
	__u32 i;

	for (i = 0; i < 50; i++)
		vm_map(self->c.fd, self->c.vm, self->bo, 0, self->va + (__u64)i * (1ull << 30),
		       PAGE, 0);
	EXPECT_EQ(50, mappings(self));
	vm_unmap(self->c.fd, self->c.vm, self->l.va_start, self->l.va_end - self->l.va_start);
	EXPECT_EQ(0, mappings(self));
}

TEST_F(vm, unmap_middle)
{
	vm_map(self->c.fd, self->c.vm, self->bo, 0, self->va, SIZE, 0);
	vm_unmap(self->c.fd, self->c.vm, self->va + 4 * PAGE, 4 * PAGE);
	EXPECT_EQ(2, mappings(self));
	EXPECT_FALSE(is_free(self, self->va + 3 * PAGE, PAGE));
	EXPECT_TRUE(is_free(self, self->va + 4 * PAGE, 4 * PAGE));
	EXPECT_FALSE(is_free(self, self->va + 8 * PAGE, PAGE));
}

TEST_F(vm, unmap_edges)
{
	vm_map(self->c.fd, self->c.vm, self->bo, 0, self->va + 8 * PAGE, 8 * PAGE, 0);
	vm_unmap(self->c.fd, self->c.vm, self->va, 9 * PAGE);
	EXPECT_TRUE(is_free(self, self->va + 8 * PAGE, PAGE));
	EXPECT_FALSE(is_free(self, self->va + 9 * PAGE, PAGE));
	vm_unmap(self->c.fd, self->c.vm, self->va + 15 * PAGE, 9 * PAGE);
	EXPECT_TRUE(is_free(self, self->va + 15 * PAGE, PAGE));
	EXPECT_FALSE(is_free(self, self->va + 14 * PAGE, PAGE));
	EXPECT_EQ(1, mappings(self));
}

TEST_F(vm, unmap_across_several)
{
	__u32 i;

	for (i = 0; i < 6; i++)
		vm_map(self->c.fd, self->c.vm, self->bo, 0, self->va + i * 3 * PAGE, 2 * PAGE, 0);
	/* From the middle of the second to the middle of the fifth. */
	vm_unmap(self->c.fd, self->c.vm, self->va + 4 * PAGE, 9 * PAGE);
	EXPECT_EQ(4, mappings(self));
	EXPECT_FALSE(is_free(self, self->va + 3 * PAGE, PAGE));
	EXPECT_TRUE(is_free(self, self->va + 4 * PAGE, 9 * PAGE));
	EXPECT_FALSE(is_free(self, self->va + 13 * PAGE, PAGE));
}

TEST_F(vm, page_by_page)
{
	__u32 i;

	vm_map(self->c.fd, self->c.vm, self->bo, 0, self->va, SIZE, 0);
	/* Odd pages, then even ones. */
	for (i = 1; i < 16; i += 2)
		vm_unmap(self->c.fd, self->c.vm, self->va + i * PAGE, PAGE);
	EXPECT_EQ(8, mappings(self));
	for (i = 0; i < 16; i += 2)
		vm_unmap(self->c.fd, self->c.vm, self->va + i * PAGE, PAGE);
	EXPECT_EQ(0, mappings(self));
}

TEST_F(vm, array)
{
	const struct drm_uma_bind_op ops[] = {
		MAP(self->bo, 0, self->va, 2 * PAGE),
		MAP(self->bo, 2 * PAGE, self->va + 4 * PAGE, PAGE),
		UNMAP(self->va + PAGE, PAGE),
		MAP(self->bo, 8 * PAGE, self->va + PAGE, 3 * PAGE),
	};
	__u32 failed;

	EXPECT_EQ(0, bind(self, ops, COUNT(ops), &failed));
	EXPECT_EQ(COUNT(ops), failed);
	EXPECT_EQ(3, mappings(self));
}

TEST_F(vm, replace)
{
	const struct drm_uma_bind_op ops[] = {
		UNMAP(self->va, SIZE),
		MAP(self->bo, 0, self->va, SIZE),
	};
	int i;

	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, bind(self, ops, COUNT(ops), NULL));
	EXPECT_EQ(1, mappings(self));
}

TEST_F(vm, conflict_within_call)
{
	const struct drm_uma_bind_op ops[] = {
		MAP(self->bo, 0, self->va, 2 * PAGE),
		MAP(self->bo, 0, self->va + PAGE, PAGE),
	};
	__u32 failed;

	EXPECT_EQ(-EEXIST, bind(self, ops, COUNT(ops), &failed));
	EXPECT_EQ(1, failed);
	EXPECT_EQ(0, mappings(self));
}

/* A call that fails at its last operation leaves maps, unmaps and cuts undone. */
TEST_F(vm, all_or_nothing)
{
	const struct drm_uma_bind_op ops[] = {
		UNMAP(self->va + 2 * PAGE, PAGE),
		MAP(self->bo, 0, self->va + 32 * PAGE, 4 * PAGE),
		UNMAP(self->va, PAGE),
		MAP(self->bo, 0, self->va + 33 * PAGE, PAGE),
	};
	__u32 failed;

	vm_map(self->c.fd, self->c.vm, self->bo, 0, self->va, 4 * PAGE, 0);
	EXPECT_EQ(-EEXIST, bind(self, ops, COUNT(ops), &failed));
	EXPECT_EQ(3, failed);
	EXPECT_EQ(1, mappings(self));
	EXPECT_FALSE(is_free(self, self->va, PAGE));
	EXPECT_FALSE(is_free(self, self->va + 2 * PAGE, PAGE));
	EXPECT_TRUE(is_free(self, self->va + 32 * PAGE, 4 * PAGE));
}

TEST_F(vm, bad_handle_in_array)
{
	const struct drm_uma_bind_op ops[] = {
		MAP(self->bo, 0, self->va, PAGE),
		MAP(BAD_HANDLE, 0, self->va + PAGE, PAGE),
		MAP(self->bo, 0, self->va + 2 * PAGE, PAGE),
	};
	__u32 failed;

	EXPECT_EQ(-ENOENT, bind(self, ops, COUNT(ops), &failed));
	EXPECT_EQ(1, failed);
	EXPECT_EQ(0, mappings(self));
}

TEST_F(vm, read_only_buffer)
{
	void *p = aligned_alloc(PAGE, PAGE);
	__u32 handle, failed;

	ASSERT_TRUE(p);
	memset(p, 0, PAGE);
	ASSERT_EQ(0, bo_import_user_try(self->c.fd, p, PAGE, DRM_UMA_USER_READONLY, &handle));

	const struct drm_uma_bind_op ops[] = {
		MAP(self->bo, 0, self->va, PAGE),
		MAP(handle, 0, self->va + PAGE, PAGE),
	};

	EXPECT_EQ(-EACCES, bind(self, ops, COUNT(ops), &failed));
	EXPECT_EQ(1, failed);
	EXPECT_EQ(0, mappings(self));
	EXPECT_EQ(0, vm_map_try(self->c.fd, self->c.vm, handle, 0, self->va + PAGE, PAGE,
				DRM_UMA_BIND_READONLY));
}

TEST_F(vm, edges_of_space)
{
	EXPECT_EQ(0, vm_map_try(self->c.fd, self->c.vm, self->bo, 0, self->l.va_start, PAGE, 0));
	EXPECT_EQ(0,
		  vm_map_try(self->c.fd, self->c.vm, self->bo, 0, self->l.va_end - PAGE, PAGE, 0));
	EXPECT_EQ(2, mappings(self));
}

TEST_F(vm, many_ops)
{
	struct drm_uma_bind_op *ops = calloc(self->l.max_bind_ops, sizeof(*ops));
	__u32 n = self->l.max_bind_ops, i, failed;

	ASSERT_TRUE(ops);
	for (i = 0; i < n; i++)
		ops[i] = (struct drm_uma_bind_op)MAP(self->bo, 0, self->va + 2 * i * PAGE, PAGE);
	ASSERT_EQ(0, bind(self, ops, n, &failed));
	EXPECT_EQ(n, failed);
	EXPECT_EQ(n, mappings(self));
	vm_unmap(self->c.fd, self->c.vm, self->va, 2 * n * PAGE);
	EXPECT_EQ(0, mappings(self));
	/* The last one bad: none. */
	ops[n - 1].va = ops[0].va;
	EXPECT_EQ(-EEXIST, bind(self, ops, n, &failed));
	EXPECT_EQ(n - 1, failed);
	EXPECT_EQ(0, mappings(self));
	free(ops);
}

TEST_F_TIMEOUT(vm, max_mappings, 240)
{
	struct drm_uma_bind_op *ops = calloc(self->l.max_bind_ops, sizeof(*ops));
	__u32 done, n, i, failed;

	uint64_t begin = now_ns();

	ASSERT_TRUE(ops);
	for (done = 0; done < self->l.max_mappings; done += n) {
		__u64 va = self->va + 2ull * done * PAGE;

		n = self->l.max_mappings - done;
		if (n > self->l.max_bind_ops)
			n = self->l.max_bind_ops;
		for (i = 0; i < n; i++)
			ops[i] = (struct drm_uma_bind_op)MAP(self->bo, 0, va + 2 * i * PAGE, PAGE);
		ASSERT_EQ(0, bind(self, ops, n, &failed));
		/* With all checkers on and no hardware virtualisation this is minutes of work. */
		if (!done && (now_ns() - begin) * (self->l.max_mappings / n) > 30000000000ull)
			SKIP("%u mappings take too long here", self->l.max_mappings);
	}
	EXPECT_EQ(self->l.max_mappings, mappings(self));
	ops[0] = (struct drm_uma_bind_op)UNMAP(self->va + 4 * PAGE, PAGE);
	ops[1] = (struct drm_uma_bind_op)MAP(self->bo, 0, self->va + PAGE, PAGE);
	ops[2] = (struct drm_uma_bind_op)MAP(self->bo, 0, self->va + 3 * PAGE, PAGE);
	EXPECT_EQ(-ENOSPC, bind(self, ops + 1, 1, &failed));
	/* One for one fits; two for one do not. */
	EXPECT_EQ(-ENOSPC, bind(self, ops, 3, &failed));
	EXPECT_EQ(2, failed);
	EXPECT_EQ(0, bind(self, ops, 2, &failed));
	EXPECT_EQ(self->l.max_mappings, mappings(self));
	vm_unmap(self->c.fd, self->c.vm, self->l.va_start, self->l.va_end - self->l.va_start);
	EXPECT_EQ(0, mappings(self));
	free(ops);
}

/* --- one bad operation -------------------------------------------------------------- */

FIXTURE(op) {
	struct client c;
	struct drm_uma_query_limits l;
	__u32 bo;
	__u64 va;
};

/*
 * The operation differs from a good map or unmap by what is set here; "wild" adds to the start or
 * end of the space.
 */
FIXTURE_VARIANT(op) {
	__u32 op;
	__u32 flags;
	__u32 pad;
	__u32 use_handle;
	__u64 offset;
	__u64 va_add;
	__u64 size_add;
	int wild;
};

#define BAD_MAP(v, ...) \
	FIXTURE_VARIANT_ADD(op, map_##v) { .op = DRM_UMA_BIND_MAP, .use_handle = 1, __VA_ARGS__ }
#define BAD_UNMAP(v, ...) \
	FIXTURE_VARIANT_ADD(op, unmap_##v) { .op = DRM_UMA_BIND_UNMAP, __VA_ARGS__ }
FIXTURE_VARIANT_ADD(op, unknown_op) { .op = 2, .use_handle = 1 };
FIXTURE_VARIANT_ADD(op, unknown_op_high) { .op = 0x80000000u, .use_handle = 1 };
BAD_MAP(unknown_flag, .flags = 1u << 1);
BAD_MAP(high_flag, .flags = 1u << 31);
BAD_MAP(pad, .pad = 1);
BAD_MAP(size_zero, .size_add = -PAGE);
BAD_MAP(size_odd, .size_add = 1);
BAD_MAP(size_half, .size_add = -(PAGE / 2));
BAD_MAP(size_over, .size_add = SIZE);
BAD_MAP(size_huge, .size_add = ~0ull << 13);
BAD_MAP(offset_odd, .offset = 1);
BAD_MAP(offset_half, .offset = PAGE / 2);
BAD_MAP(offset_end, .offset = SIZE);
BAD_MAP(offset_over, .offset = SIZE + PAGE);
BAD_MAP(offset_wraps, .offset = ~0ull << 12);
BAD_MAP(offset_huge, .offset = 1ull << 63);
BAD_MAP(va_odd, .va_add = 1);
BAD_MAP(va_half, .va_add = PAGE / 2);
BAD_MAP(va_zero, .wild = -1, .va_add = 0);
BAD_MAP(va_below, .wild = 1, .va_add = -PAGE);
BAD_MAP(va_at_end, .wild = 2, .va_add = 0);
BAD_MAP(va_over_end, .wild = 2, .va_add = -PAGE, .size_add = PAGE);
BAD_MAP(va_wraps, .wild = -1, .va_add = ~0ull << 12);
BAD_MAP(va_huge, .wild = -1, .va_add = 1ull << 63);
BAD_UNMAP(flags, .flags = DRM_UMA_BIND_READONLY);
BAD_UNMAP(unknown_flag, .flags = 1u << 1);
BAD_UNMAP(pad, .pad = 1u << 31);
BAD_UNMAP(handle, .use_handle = 1);
BAD_UNMAP(offset, .offset = PAGE);
BAD_UNMAP(size_zero, .size_add = -PAGE);
BAD_UNMAP(size_odd, .size_add = 1);
BAD_UNMAP(size_huge, .size_add = ~0ull << 13);
BAD_UNMAP(va_odd, .va_add = 2048);
BAD_UNMAP(va_zero, .wild = -1, .va_add = 0);
BAD_UNMAP(va_below, .wild = 1, .va_add = -PAGE);
BAD_UNMAP(va_over_end, .wild = 2, .va_add = -PAGE, .size_add = PAGE);
BAD_UNMAP(va_wraps, .wild = -1, .va_add = ~0ull << 12, .size_add = PAGE);

FIXTURE_SETUP(op)
{
	client_open(&self->c);
	query_limits(self->c.fd, &self->l);
	self->bo = bo_create(self->c.fd, SIZE, 0);
	self->va = client_va(&self->c, 64 * PAGE);
}

FIXTURE_TEARDOWN(op)
{
	client_close(&self->c);
}

TEST_F(op, einval)
{
	const __u64 base[] = { 0, self->va, self->l.va_start, self->l.va_end };
	struct drm_uma_bind_op ops[3] = {
		MAP(self->bo, 0, self->va + 32 * PAGE, PAGE),
		{
			.op = variant->op, .flags = variant->flags, .pad = variant->pad,
			.handle = variant->use_handle ? self->bo : 0, .bo_offset = variant->offset,
			.va = base[variant->wild < 0 ? 0 : variant->wild + 1] + variant->va_add,
			.size = PAGE + variant->size_add,
		},
		MAP(self->bo, 0, self->va + 34 * PAGE, PAGE),
	};
	struct drm_uma_bo_info info;
	__u32 failed;

	/* Alone and among good ones. */
	EXPECT_EQ(-EINVAL, vm_bind_try(self->c.fd, self->c.vm, ops + 1, 1, &failed));
	EXPECT_EQ(0, failed);
	EXPECT_EQ(-EINVAL, vm_bind_try(self->c.fd, self->c.vm, ops, 3, &failed));
	EXPECT_EQ(1, failed);
	bo_info(self->c.fd, self->bo, &info);
	EXPECT_EQ(0, info.mappings);
}

HARNESS_MAIN
