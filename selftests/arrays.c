// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The arrays of extensible structs: stride, count, pointer, tail.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "task.h"
#include "watch.h"

enum which {
	RANGES, OPS, JOBS, SYNCS, BOS,
};

FIXTURE(array) {
	struct client c;
	struct buf bo;
	__u32 queue;
	__u32 syncobj;
	__u32 cap;
	__u8 *page;
	__u8 *edge;
	__u32 index;
};

FIXTURE_VARIANT(array) {
	enum which which;
	size_t size;
	/* of the first version, where it was shorter */
	size_t first;
};

FIXTURE_VARIANT_ADD(array, sync_ranges) {
	.which = RANGES, .size = sizeof(struct drm_uma_sync_range),
};

FIXTURE_VARIANT_ADD(array, bind_ops) { .which = OPS, .size = sizeof(struct drm_uma_bind_op) };
FIXTURE_VARIANT_ADD(array, jobs) {
	.which = JOBS,
	.size = sizeof(struct drm_uma_job),
	.first = offsetof(struct drm_uma_job, bos),
};

FIXTURE_VARIANT_ADD(array, syncs) { .which = SYNCS, .size = sizeof(struct drm_uma_sync) };

FIXTURE_VARIANT_ADD(array, bos) { .which = BOS, .size = sizeof(struct drm_uma_job_bo) };

FIXTURE_SETUP(array)
{
	struct drm_uma_query_limits limits;

	client_open(&self->c);
	client_buf(&self->c, &self->bo, PAGE);
	query_limits(self->c.fd, &limits);
	self->queue = queue_create(self->c.fd, self->c.vm, 0);
	self->syncobj = syncobj_create(self->c.fd, true);
	switch (variant->which) {
	case RANGES:
		self->cap = limits.max_sync_ranges;
		break;
	case OPS:
		self->cap = limits.max_bind_ops;
		break;
	case JOBS:
		self->cap = limits.max_submit_jobs;
		break;
	case SYNCS:
		self->cap = limits.max_job_syncs;
		break;
	case BOS:
		self->cap = limits.max_job_bos;
		break;
	}
	/* Pages, then a hole. */
	self->page =
		mmap(NULL, 257 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(self->page != MAP_FAILED);
	self->edge = self->page + 256 * PAGE;
	ASSERT_EQ(0, munmap(self->edge, PAGE));
}

FIXTURE_TEARDOWN(array)
{
	client_close(&self->c);
}

/* An element that is valid as often as you like. */
static void element(struct array_fixture *self, enum which which, void *p)
{
	struct drm_uma_sync_range range = { .handle = self->bo.handle,
					    .flags = DRM_UMA_SYNC_TO_CPU,
					    .size = PAGE };
	struct drm_uma_bind_op op = { .op = DRM_UMA_BIND_UNMAP,
				      .va = self->bo.va + 64 * PAGE,
				      .size = PAGE };
	struct drm_uma_job job = { .queue_id = self->queue };
	struct drm_uma_sync sync = sync_in(self->syncobj);
	struct drm_uma_job_bo bo = { .handle = self->bo.handle };

	switch (which) {
	case RANGES:
		memcpy(p, &range, sizeof(range));
		break;
	case OPS:
		memcpy(p, &op, sizeof(op));
		break;
	case JOBS:
		memcpy(p, &job, sizeof(job));
		break;
	case SYNCS:
		memcpy(p, &sync, sizeof(sync));
		break;
	case BOS:
		memcpy(p, &bo, sizeof(bo));
		break;
	}
}

static int call(struct array_fixture *self, enum which which, __u32 stride, __u32 count,
		const void *p)
{
	struct drm_uma_array array = { .stride = stride, .count = count, .array = (uintptr_t)p };
	struct drm_uma_job job = { .queue_id = self->queue };
	struct drm_uma_vm_bind bind = { .vm_id = self->c.vm, .ops = array };
	struct drm_uma_bo_sync sync = { .ranges = array };
	struct drm_uma_submit submit = { .jobs = array };
	int ret;

	switch (which) {
	case RANGES:
		return do_ioctl(self->c.fd, DRM_IOCTL_UMA_BO_SYNC, &sync);
	case OPS:
		ret = do_ioctl(self->c.fd, DRM_IOCTL_UMA_VM_BIND, &bind);
		self->index = bind.failed_op;
		return ret;
	case SYNCS:
	case BOS:
		*(which == SYNCS ? &job.syncs : &job.bos) = array;
		submit.jobs = array_of(&job, sizeof(job), 1);
		/* fall through */
	case JOBS:
		ret = do_ioctl(self->c.fd, DRM_IOCTL_UMA_SUBMIT, &submit);
		self->index = submit.failed_job;
		return ret;
	}
	return -1;
}

TEST_F(array, one)
{
	element(self, variant->which, self->page);
	EXPECT_EQ(0, call(self, variant->which, (__u32)variant->size, 1, self->page));
	if (variant->which == OPS || variant->which == JOBS)
		EXPECT_EQ(1, self->index);
}

TEST_F(array, cap_is_sane)
{
	EXPECT_GE(self->cap, 1);
	/* What a count may be, a hostile caller makes it: 64 MiB of elements are no limit. */
	EXPECT_LE(self->cap * variant->size, 64u << 20);
}

TEST_F(array, full)
{
	__u32 i, n = self->cap;
	__u8 *p;

	/* A queue may have fewer places than a call may have jobs. */
	if (variant->which == JOBS && n > 64)
		n = 64;
	p = calloc(n, variant->size);
	ASSERT_TRUE(p);
	for (i = 0; i < n; i++)
		element(self, variant->which, p + i * variant->size);
	EXPECT_EQ(0, call(self, variant->which, (__u32)variant->size, n, p));
	if (variant->which == OPS || variant->which == JOBS)
		EXPECT_EQ(n, self->index);
	free(p);
}

TEST_F(array, above_cap)
{
	__u8 *p = calloc(self->cap + 1, variant->size);
	__u32 i;

	ASSERT_TRUE(p);
	for (i = 0; i <= self->cap; i++)
		element(self, variant->which, p + i * variant->size);
	EXPECT_EQ(-EINVAL, call(self, variant->which, (__u32)variant->size, self->cap + 1, p));
	EXPECT_EQ(-EINVAL, call(self, variant->which, (__u32)variant->size, 0x80000000u, p));
	EXPECT_EQ(-EINVAL, call(self, variant->which, (__u32)variant->size, 0xffffffffu, p));
	/* Also if the pointer is bad: counts are looked at first. */
	EXPECT_EQ(-EINVAL,
		  call(self, variant->which, (__u32)variant->size, 0xffffffffu, self->edge));
	free(p);
}

TEST_F(array, count_zero)
{
	/* No syncs and no buffers are no error. */
	EXPECT_EQ(variant->which == SYNCS || variant->which == BOS ? 0 : -EINVAL,
		  call(self, variant->which, (__u32)variant->size, 0, NULL));
	/* A pointer to nothing is one. */
	element(self, variant->which, self->page);
	EXPECT_EQ(-EINVAL, call(self, variant->which, (__u32)variant->size, 0, self->page));
}

TEST_F(array, stride_short)
{
	size_t first = variant->first ? variant->first : variant->size;
	__u32 stride;

	element(self, variant->which, self->page);
	for (stride = 0; stride < variant->size; stride++)
		EXPECT_EQ(stride >= first && stride % 8 == 0 ? 0 : -EINVAL,
			  call(self, variant->which, stride, 1, self->page));
}

TEST_F(array, stride_odd)
{
	__u32 i;

	element(self, variant->which, self->page);
	for (i = 1; i < 8; i++)
		EXPECT_EQ(-EINVAL,
			  call(self, variant->which, (__u32)variant->size + i, 1, self->page));
	EXPECT_EQ(-EINVAL, call(self, variant->which, 0xffffffffu, 1, self->page));
}

TEST_F(array, tail_zero)
{
	__u32 tail, i;

	for (tail = 8; tail <= 128; tail += 40) {
		__u32 stride = (__u32)variant->size + tail;

		memset(self->page, 0, PAGE);
		for (i = 0; i < (self->cap < 3 ? self->cap : 3); i++)
			element(self, variant->which, self->page + i * stride);
		EXPECT_EQ(0, call(self, variant->which, stride, i, self->page));
	}
}

TEST_F(array, tail_not_zero)
{
	__u32 stride = (__u32)variant->size + 64, i;

	for (i = 0; i < 64; i++) {
		memset(self->page, 0, PAGE);
		element(self, variant->which, self->page);
		self->page[variant->size + i] = 1;
		EXPECT_EQ(-E2BIG, call(self, variant->which, stride, 1, self->page));
	}
	if (self->cap < 2)
		return;
	/* Also in an element that is not the first. */
	memset(self->page, 0, PAGE);
	element(self, variant->which, self->page);
	element(self, variant->which, self->page + stride);
	self->page[2 * stride - 1] = 0x80;
	EXPECT_EQ(-E2BIG, call(self, variant->which, stride, 2, self->page));
}

TEST_F(array, bad_pointer)
{
	__u32 size = (__u32)variant->size;

	element(self, variant->which, self->edge - size);
	EXPECT_EQ(-EINVAL, call(self, variant->which, size, 1, NULL));
	EXPECT_EQ(-EFAULT, call(self, variant->which, size, 1, self->edge));
	EXPECT_EQ(-EFAULT, call(self, variant->which, size, 1, self->edge - size + 4));
	EXPECT_EQ(-EFAULT,
		  call(self, variant->which, size, 1, (void *)(uintptr_t)0xffff888000000000ull));
	EXPECT_EQ(-EFAULT, call(self, variant->which, size, 1, (void *)(uintptr_t)-8ll));
	if (self->cap > 1)
		EXPECT_EQ(-EFAULT, call(self, variant->which, size, 2, self->edge - size));
	/* A tail counts as part of the element. */
	EXPECT_EQ(-EFAULT, call(self, variant->which, size + 8, 1, self->edge - size));
	EXPECT_EQ(0, call(self, variant->which, size, 1, self->edge - size));
}

TEST_F(array, stride_huge)
{
	int ret;

	element(self, variant->which, self->page);
	/*
	 * No memory goes on for so long, and a driver that counts in 32 bits comes back to the
	 * start.
	 */
	ret = call(self, variant->which, 0xfffffff8u, 1, self->page);
	EXPECT_TRUE(ret == -EINVAL || ret == -EFAULT || ret == -E2BIG);
	if (self->cap > 1) {
		ret = call(self, variant->which, 0x80000000u, 2, self->page);
		EXPECT_TRUE(ret == -EINVAL || ret == -EFAULT || ret == -E2BIG);
	}
}

/* The address of an array need not be aligned. */
TEST_F(array, unaligned_address)
{
	element(self, variant->which, self->page + 1);
	EXPECT_EQ(0, call(self, variant->which, (__u32)variant->size, 1, self->page + 1));
}

HARNESS_MAIN
