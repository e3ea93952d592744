// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Buffer objects: creation, sizes, contents, handles, CPU sync.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "task.h"
#include "watch.h"

FIXTURE(bo) {
	int fd;
	struct drm_uma_query_limits limits;
};

FIXTURE_VARIANT(bo) {
	__u32 flags;
};

FIXTURE_VARIANT_ADD(bo, cached) { .flags = 0 };
FIXTURE_VARIANT_ADD(bo, wc) { .flags = DRM_UMA_BO_WC };
FIXTURE_VARIANT_ADD(bo, no_mmap) { .flags = DRM_UMA_BO_NO_MMAP };

FIXTURE_SETUP(bo)
{
	self->fd = dev_open();
	query_limits(self->fd, &self->limits);
}

FIXTURE_TEARDOWN(bo)
{
	close(self->fd);
}

TEST_F(bo, create)
{
	struct drm_uma_bo_info info;
	__u32 handle;

	handle = bo_create(self->fd, 3 * PAGE, variant->flags);
	bo_info(self->fd, handle, &info);
	EXPECT_EQ(3 * PAGE, info.size);
	EXPECT_EQ(variant->flags, info.flags);
	EXPECT_EQ(0, info.mappings);
	EXPECT_LE(info.resident, info.size);
	gem_close(self->fd, handle);
	EXPECT_EQ(-ENOENT, bo_info_try(self->fd, handle, &info));
}

TEST_F(bo, sizes)
{
	static const __u64 bad[] = {
		0, 1, 4095, 4097, PAGE + 2048, ~0ull, ~0ull << 12, 1ull << 63, (1ull << 32) + 1,
	};
	static const __u64 good[] = { PAGE, 2 * PAGE, 511 * PAGE, 512 * PAGE, 513 * PAGE };
	struct drm_uma_bo_info info;
	__u32 handle;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EXPECT_EQ(-EINVAL, bo_create_try(self->fd, bad[i], variant->flags, &handle));
		EXPECT_EQ(0, handle);
	}
	EXPECT_EQ(-EINVAL, bo_create_try(self->fd, self->limits.max_bo_size + PAGE, variant->flags,
					 &handle));
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		handle = bo_create(self->fd, good[i], variant->flags);
		bo_info(self->fd, handle, &info);
		EXPECT_EQ(good[i], info.size);
		gem_close(self->fd, handle);
	}
}

/*
 * As large as it may be: there is memory for it or not, but the limit is no lie about the
 * arguments.
 */
TEST_F(bo, max_size)
{
	__u32 handle;
	int ret;

	ret = bo_create_try(self->fd, self->limits.max_bo_size, variant->flags, &handle);
	EXPECT_TRUE(ret == 0 || ret == -ENOMEM || ret == -ENOSPC);
	if (!ret)
		gem_close(self->fd, handle);
}

TEST_F(bo, handles_differ)
{
	__u32 handles[64];
	int i, k;

	for (i = 0; i < 64; i++) {
		handles[i] = bo_create(self->fd, PAGE, variant->flags);
		for (k = 0; k < i; k++)
			ASSERT_NE(handles[k], handles[i]);
	}
	for (i = 0; i < 64; i++)
		gem_close(self->fd, handles[i]);
}

TEST_F(bo, close_twice)
{
	__u32 handle = bo_create(self->fd, PAGE, variant->flags);

	gem_close(self->fd, handle);
	EXPECT_EQ(-EINVAL, gem_close_try(self->fd, handle));
}

TEST_F(bo, close_with_file)
{
	int fd = dev_open(), i;

	for (i = 0; i < 100; i++)
		bo_create(fd, 16 * PAGE, variant->flags);
	close(fd);
}

TEST(flags_together)
{
	int fd = dev_open();
	__u32 handle;

	EXPECT_EQ(-EINVAL, bo_create_try(fd, PAGE, DRM_UMA_BO_WC | DRM_UMA_BO_NO_MMAP, &handle));
	EXPECT_EQ(0, handle);
	close(fd);
}

/* Memory that another buffer had, full of its data, comes back zeroed. */
TEST(zeroed)
{
	const size_t size = 64 * PAGE;
	int fd = dev_open(), round;
	__u32 handle;
	size_t i;
	__u64 *p;

	for (round = 0; round < 4; round++) {
		handle = bo_create(fd, size, round & 1 ? DRM_UMA_BO_WC : 0);
		p = bo_map(fd, handle, size);
		for (i = 0; i < size / sizeof(*p); i++)
			ASSERT_EQ(0, p[i]);
		memset(p, 0xa5, size);
		ASSERT_EQ(0, munmap(p, size));
		gem_close(fd, handle);
	}
	close(fd);
}

TEST(resident)
{
	struct drm_uma_bo_info info;
	int fd = dev_open();
	__u32 handle;
	__u8 *p;

	handle = bo_create(fd, 8 * PAGE, 0);
	p = bo_map(fd, handle, 8 * PAGE);
	memset(p, 1, 8 * PAGE);
	bo_info(fd, handle, &info);
	EXPECT_EQ(8 * PAGE, info.resident);
	close(fd);
}

static int sync_try(int fd, const struct drm_uma_sync_range *ranges, unsigned int n)
{
	struct drm_uma_bo_sync args = { .ranges = array_of(ranges, sizeof(*ranges), n) };

	return do_ioctl(fd, DRM_IOCTL_UMA_BO_SYNC, &args);
}

FIXTURE(sync_range) {
	int fd;
	__u32 handle;
};

FIXTURE_VARIANT(sync_range) {
	__u32 flags;
	__u64 offset;
	__u64 size;
	int error;
};

#define RANGE(v, f, o, s, e)                                   \
	FIXTURE_VARIANT_ADD(sync_range, v)                     \
	{                                                      \
		.flags = f, .offset = o, .size = s, .error = e \
	}
RANGE(to_device, DRM_UMA_SYNC_TO_DEVICE, 0, 4 * PAGE, 0);
RANGE(to_cpu, DRM_UMA_SYNC_TO_CPU, 0, 4 * PAGE, 0);
RANGE(both, DRM_UMA_SYNC_TO_CPU | DRM_UMA_SYNC_TO_DEVICE, 100, 7, 0);
RANGE(last_byte, DRM_UMA_SYNC_TO_CPU, 4 * PAGE - 1, 1, 0);
RANGE(no_flags, 0, 0, PAGE, -EINVAL);
RANGE(unknown_flag, DRM_UMA_SYNC_TO_CPU | 1u << 2, 0, PAGE, -EINVAL);
RANGE(high_flag, DRM_UMA_SYNC_TO_CPU | 1u << 31, 0, PAGE, -EINVAL);
RANGE(size_zero, DRM_UMA_SYNC_TO_CPU, 0, 0, -EINVAL);
RANGE(size_over, DRM_UMA_SYNC_TO_CPU, 0, 4 * PAGE + 1, -EINVAL);
RANGE(end_over, DRM_UMA_SYNC_TO_CPU, 4 * PAGE - 1, 2, -EINVAL);
RANGE(offset_at_end, DRM_UMA_SYNC_TO_CPU, 4 * PAGE, 1, -EINVAL);
RANGE(offset_huge, DRM_UMA_SYNC_TO_CPU, ~0ull, 1, -EINVAL);
RANGE(wraps, DRM_UMA_SYNC_TO_CPU, ~0ull - 10, 12, -EINVAL);
RANGE(size_huge, DRM_UMA_SYNC_TO_CPU, 1, ~0ull, -EINVAL);

FIXTURE_SETUP(sync_range)
{
	self->fd = dev_open();
	self->handle = bo_create(self->fd, 4 * PAGE, 0);
}

FIXTURE_TEARDOWN(sync_range)
{
	close(self->fd);
}

TEST_F(sync_range, alone)
{
	struct drm_uma_sync_range range = {
		.handle = self->handle,
		.flags = variant->flags,
		.offset = variant->offset,
		.size = variant->size,
	};

	EXPECT_EQ(variant->error, sync_try(self->fd, &range, 1));
}

TEST_F(sync_range, among_good_ones)
{
	struct drm_uma_sync_range ranges[5];
	int i;

	for (i = 0; i < 5; i++)
		ranges[i] = (struct drm_uma_sync_range){
			.handle = self->handle, .flags = DRM_UMA_SYNC_TO_DEVICE, .size = PAGE,
		};
	ranges[3].flags = variant->flags;
	ranges[3].offset = variant->offset;
	ranges[3].size = variant->size;
	EXPECT_EQ(variant->error, sync_try(self->fd, ranges, 5));
}

TEST(sync_of_every_kind)
{
	static const __u32 flags[] = { 0, DRM_UMA_BO_WC, DRM_UMA_BO_NO_MMAP };
	struct drm_uma_sync_range range = { .flags = DRM_UMA_SYNC_TO_DEVICE | DRM_UMA_SYNC_TO_CPU,
					    .size = PAGE };
	int fd = dev_open();
	size_t i;

	for (i = 0; i < 3; i++) {
		range.handle = bo_create(fd, PAGE, flags[i]);
		EXPECT_EQ(0, sync_try(fd, &range, 1));
	}
	close(fd);
}

HARNESS_MAIN
