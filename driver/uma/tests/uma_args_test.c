// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Argument checks.
 */
#include <linux/mm.h>

#include <kunit/test.h>

#include "uma_args.h"

static void uma_args_test_array(struct kunit *test)
{
	struct drm_uma_array a = { .stride = 32, .count = 4, .array = 0x1000 };

	KUNIT_EXPECT_EQ(test, uma_check_array(&a, 32, 4), 0);
	KUNIT_EXPECT_EQ(test, uma_check_array(&a, 24, 4), 0);
	KUNIT_EXPECT_EQ(test, uma_check_array(&a, 40, 4), -EINVAL);
	KUNIT_EXPECT_EQ(test, uma_check_array(&a, 32, 3), -EINVAL);
	a.stride = 36;
	KUNIT_EXPECT_EQ(test, uma_check_array(&a, 32, 4), -EINVAL);
	a.stride = PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, uma_check_array(&a, 32, 4), 0);
	a.stride = PAGE_SIZE + 8;
	KUNIT_EXPECT_EQ(test, uma_check_array(&a, 32, 4), -E2BIG);
	a.stride = 0;
	KUNIT_EXPECT_EQ(test, uma_check_array(&a, 32, 4), -EINVAL);
	a = (struct drm_uma_array) { .stride = 32, .count = 1 };
	KUNIT_EXPECT_EQ(test, uma_check_array(&a, 32, 4), -EINVAL);
	a = (struct drm_uma_array) { .stride = 32, .array = 0x1000 };
	KUNIT_EXPECT_EQ(test, uma_check_array(&a, 32, 4), -EINVAL);
	a = (struct drm_uma_array) { .stride = 32 };
	KUNIT_EXPECT_EQ(test, uma_check_array(&a, 32, 4), 0);
	a = (struct drm_uma_array) {};
	KUNIT_EXPECT_EQ(test, uma_check_array(&a, 32, 4), 0);
	a.count = U32_MAX;
	KUNIT_EXPECT_EQ(test, uma_check_array(&a, 32, 4), -EINVAL);
}

static void uma_args_test_bo(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, uma_check_bo_size(0, SZ_1M), -EINVAL);
	KUNIT_EXPECT_EQ(test, uma_check_bo_size(PAGE_SIZE, SZ_1M), 0);
	KUNIT_EXPECT_EQ(test, uma_check_bo_size(PAGE_SIZE + 1, SZ_1M), -EINVAL);
	KUNIT_EXPECT_EQ(test, uma_check_bo_size(SZ_1M, SZ_1M), 0);
	KUNIT_EXPECT_EQ(test, uma_check_bo_size(SZ_1M + PAGE_SIZE, SZ_1M), -EINVAL);
	KUNIT_EXPECT_EQ(test, uma_check_bo_size(-PAGE_SIZE, SZ_1M), -EINVAL);

	KUNIT_EXPECT_EQ(test, uma_check_bo_range(0, SZ_1M, SZ_1M), 0);
	KUNIT_EXPECT_EQ(test, uma_check_bo_range(1, SZ_1M, SZ_1M), -EINVAL);
	KUNIT_EXPECT_EQ(test, uma_check_bo_range(U64_MAX, 2, SZ_1M), -EINVAL);
	KUNIT_EXPECT_EQ(test, uma_check_bo_range(SZ_1M, 1, SZ_1M), -EINVAL);

	KUNIT_EXPECT_EQ(test, uma_check_label("weights \xc3\xa9", 10), 0);
	KUNIT_EXPECT_EQ(test, uma_check_label("a\nb", 3), -EINVAL);
	KUNIT_EXPECT_EQ(test, uma_check_label("a\0b", 3), -EINVAL);
	KUNIT_EXPECT_EQ(test, uma_check_label("a\x7f", 2), -EINVAL);
}

static void uma_args_test_sync_range(struct kunit *test)
{
	struct drm_uma_sync_range range = { .handle = 1, .flags = 1, .size = 1 };

	KUNIT_EXPECT_EQ(test, uma_check_sync_range(&range), 0);
	range.flags = 3;
	KUNIT_EXPECT_EQ(test, uma_check_sync_range(&range), 0);
	range.flags = 4;
	KUNIT_EXPECT_EQ(test, uma_check_sync_range(&range), -EINVAL);
	range.flags = 0;
	KUNIT_EXPECT_EQ(test, uma_check_sync_range(&range), -EINVAL);
	range = (struct drm_uma_sync_range) { .handle = 1, .flags = 1 };
	KUNIT_EXPECT_EQ(test, uma_check_sync_range(&range), -EINVAL);
}

static void uma_args_test_bind(struct kunit *test)
{
	static const struct uma_va_range range = { .start = PAGE_SIZE, .end = 1ULL << 48 };
	const struct drm_uma_bind_op map = {
		.op = DRM_UMA_BIND_MAP,
		.handle = 1,
		.va = PAGE_SIZE,
		.size = PAGE_SIZE,
	};
	const struct drm_uma_bind_op unmap = {
		.op = DRM_UMA_BIND_UNMAP,
		.va = PAGE_SIZE,
		.size = PAGE_SIZE,
	};
	struct drm_uma_bind_op op;

#define UMA_EXPECT_OP(good, field, value, ret) do {			\
		op = good;						\
		op.field = value;					\
		KUNIT_EXPECT_EQ(test, uma_check_bind_op(&op, &range), ret); \
	} while (0)

	UMA_EXPECT_OP(map, pad, 0, 0);
	UMA_EXPECT_OP(map, pad, 1, -EINVAL);
	UMA_EXPECT_OP(map, flags, DRM_UMA_BIND_READONLY, 0);
	UMA_EXPECT_OP(map, flags, 2, -EINVAL);
	UMA_EXPECT_OP(map, op, 2, -EINVAL);
	UMA_EXPECT_OP(map, size, 0, -EINVAL);
	UMA_EXPECT_OP(map, size, 1, -EINVAL);
	UMA_EXPECT_OP(map, va, 0, -EINVAL);
	UMA_EXPECT_OP(map, va, PAGE_SIZE + 1, -EINVAL);
	UMA_EXPECT_OP(map, va, range.end - PAGE_SIZE, 0);
	UMA_EXPECT_OP(map, va, range.end, -EINVAL);
	UMA_EXPECT_OP(map, va, -PAGE_SIZE, -EINVAL);
	UMA_EXPECT_OP(map, size, range.end - PAGE_SIZE, 0);
	UMA_EXPECT_OP(map, size, range.end, -EINVAL);
	UMA_EXPECT_OP(map, size, -PAGE_SIZE, -EINVAL);
	UMA_EXPECT_OP(map, bo_offset, PAGE_SIZE, 0);
	UMA_EXPECT_OP(map, bo_offset, 1, -EINVAL);
	UMA_EXPECT_OP(map, bo_offset, -PAGE_SIZE, -EINVAL);

	UMA_EXPECT_OP(unmap, pad, 0, 0);
	UMA_EXPECT_OP(unmap, flags, 1, -EINVAL);
	UMA_EXPECT_OP(unmap, handle, 1, -EINVAL);
	UMA_EXPECT_OP(unmap, bo_offset, PAGE_SIZE, -EINVAL);
	UMA_EXPECT_OP(unmap, pad, 1, -EINVAL);
	UMA_EXPECT_OP(unmap, size, range.end - PAGE_SIZE, 0);
#undef UMA_EXPECT_OP
}

static void uma_args_test_queue(struct kunit *test)
{
	const struct drm_uma_queue_create good = { .vm_id = 1, .instances = 1, .timeout_ms = 10 };
	struct drm_uma_queue_create args;

#define UMA_EXPECT_QUEUE(field, value, ret) do {			\
		args = good;						\
		args.field = value;					\
		KUNIT_EXPECT_EQ(test, uma_check_queue(&args, 10), ret);	\
	} while (0)

	UMA_EXPECT_QUEUE(flags, 0, 0);
	UMA_EXPECT_QUEUE(flags, 1, -EINVAL);
	UMA_EXPECT_QUEUE(pad, 1, -EINVAL);
	UMA_EXPECT_QUEUE(queue_id, 1, -EINVAL);
	UMA_EXPECT_QUEUE(instances, 0, -EINVAL);
	UMA_EXPECT_QUEUE(engine_class, UMA_ENGINE_CLASS_COUNT - 1, 0);
	UMA_EXPECT_QUEUE(engine_class, UMA_ENGINE_CLASS_COUNT, -EINVAL);
	UMA_EXPECT_QUEUE(priority, DRM_UMA_PRIORITY_REALTIME, 0);
	UMA_EXPECT_QUEUE(priority, DRM_UMA_PRIORITY_REALTIME + 1, -EINVAL);
	UMA_EXPECT_QUEUE(timeout_ms, 11, -EINVAL);
	UMA_EXPECT_QUEUE(timeout_ms, 0, 0);
#undef UMA_EXPECT_QUEUE
}

static void uma_args_test_job(struct kunit *test)
{
	struct drm_uma_job job = { .queue_id = 1, .task_count = 2, .tasks_addr = 0x1000 };
	u64 end = 1ULL << 48;

	KUNIT_EXPECT_EQ(test, uma_check_job(&job, 2, end), 0);
	KUNIT_EXPECT_EQ(test, uma_check_job(&job, 1, end), -EINVAL);
	job.tasks_addr = 0x1001;
	KUNIT_EXPECT_EQ(test, uma_check_job(&job, 2, end), -EINVAL);
	job.tasks_addr = end - 2 * UMA_TASK_SIZE;
	KUNIT_EXPECT_EQ(test, uma_check_job(&job, 2, end), 0);
	job.tasks_addr += UMA_TASK_ALIGN;
	KUNIT_EXPECT_EQ(test, uma_check_job(&job, 2, end), -EINVAL);
	job.tasks_addr = -(u64)UMA_TASK_ALIGN;
	KUNIT_EXPECT_EQ(test, uma_check_job(&job, 2, end), -EINVAL);
	/* Without tasks there is no address. */
	job.task_count = 0;
	KUNIT_EXPECT_EQ(test, uma_check_job(&job, 2, end), -EINVAL);
	job.tasks_addr = 0;
	KUNIT_EXPECT_EQ(test, uma_check_job(&job, 2, end), 0);
	/* Nor stamps. */
	job.stamps_addr = 0x1000;
	KUNIT_EXPECT_EQ(test, uma_check_job(&job, 2, end), -EINVAL);
}

static void uma_args_test_stamps(struct kunit *test)
{
	struct drm_uma_job job = { .queue_id = 1, .task_count = 3, .tasks_addr = 0x1000 };
	u64 end = 1ULL << 48;

	job.stamps_addr = 0x2010;
	KUNIT_EXPECT_EQ(test, uma_check_job(&job, 3, end), 0);
	job.stamps_addr = 0x2018;
	KUNIT_EXPECT_EQ(test, uma_check_job(&job, 3, end), -EINVAL);
	job.stamps_addr = end - 3 * sizeof(struct uma_task_stamp);
	KUNIT_EXPECT_EQ(test, uma_check_job(&job, 3, end), 0);
	job.stamps_addr += sizeof(struct uma_task_stamp);
	KUNIT_EXPECT_EQ(test, uma_check_job(&job, 3, end), -EINVAL);
	job.stamps_addr = -(u64)sizeof(struct uma_task_stamp);
	KUNIT_EXPECT_EQ(test, uma_check_job(&job, 3, end), -EINVAL);
}

static void uma_args_test_syncs(struct kunit *test)
{
	struct drm_uma_sync syncs[] = {
		{ .type = DRM_UMA_SYNC_BINARY, .handle = 1 },
		{ .type = DRM_UMA_SYNC_BINARY, .handle = 1, .flags = DRM_UMA_SYNC_SIGNAL },
		{ .type = DRM_UMA_SYNC_TIMELINE, .handle = 2, .point = 5,
		  .flags = DRM_UMA_SYNC_SIGNAL },
		{ .type = DRM_UMA_SYNC_TIMELINE, .handle = 2, .point = 6,
		  .flags = DRM_UMA_SYNC_SIGNAL },
		{ .type = DRM_UMA_SYNC_TIMELINE, .handle = 2 },
	};

	KUNIT_EXPECT_EQ(test, uma_check_syncs(syncs, ARRAY_SIZE(syncs)), 0);
	syncs[3].point = 5;
	KUNIT_EXPECT_EQ(test, uma_check_syncs(syncs, ARRAY_SIZE(syncs)), -EINVAL);
	syncs[3] = syncs[1];
	KUNIT_EXPECT_EQ(test, uma_check_syncs(syncs, ARRAY_SIZE(syncs)), -EINVAL);
	syncs[3].handle = 3;
	KUNIT_EXPECT_EQ(test, uma_check_syncs(syncs, ARRAY_SIZE(syncs)), 0);
	/* To signal point 0 means nothing, nor has a binary one a point. */
	syncs[2].point = 0;
	KUNIT_EXPECT_EQ(test, uma_check_sync(&syncs[2]), -EINVAL);
	syncs[1].point = 1;
	KUNIT_EXPECT_EQ(test, uma_check_sync(&syncs[1]), -EINVAL);
	syncs[0].pad = 1;
	KUNIT_EXPECT_EQ(test, uma_check_sync(&syncs[0]), -EINVAL);
	syncs[0] = (struct drm_uma_sync) { .flags = 2, .handle = 1 };
	KUNIT_EXPECT_EQ(test, uma_check_sync(&syncs[0]), -EINVAL);
	syncs[0] = (struct drm_uma_sync) { .type = 2, .handle = 1 };
	KUNIT_EXPECT_EQ(test, uma_check_sync(&syncs[0]), -EINVAL);
}

static struct kunit_case uma_args_cases[] = {
	KUNIT_CASE(uma_args_test_array),
	KUNIT_CASE(uma_args_test_bo),
	KUNIT_CASE(uma_args_test_sync_range),
	KUNIT_CASE(uma_args_test_bind),
	KUNIT_CASE(uma_args_test_queue),
	KUNIT_CASE(uma_args_test_job),
	KUNIT_CASE(uma_args_test_stamps),
	KUNIT_CASE(uma_args_test_syncs),
	{}
};

static struct kunit_suite uma_args_suite = {
	.name = "uma_args",
	.test_cases = uma_args_cases,
};

kunit_test_suite(uma_args_suite);
