// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Mappings: adding, cutting, undoing.
 */
#include <kunit/test.h>
#include <linux/dma-resv.h>

#include "uma_args.h"
#include "uma_gem.h"
#include "uma_test_killed.h"
#include "uma_vm.h"

#define UMA_TEST_MAX	8
#define UMA_TEST_LAST	(BIT_ULL(48) - 1)

/**
 * struct uma_map_test - an address space without a device, and a buffer without memory
 */
struct uma_map_test {
	/** @vm: address space */
	struct uma_vm *vm;
	/** @resv: what the core wants for an address space */
	struct drm_gem_object resv;
	/** @bo: buffer of all mappings */
	struct uma_bo bo;
};

static int uma_map_test_init(struct kunit *test)
{
	struct uma_map_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	const struct uma_va_range range = { .end = UMA_TEST_LAST + 1 };
	struct drm_gem_object *obj;

	if (!t)
		return -ENOMEM;
	t->vm = kzalloc(sizeof(*t->vm), GFP_KERNEL);
	if (!t->vm)
		return -ENOMEM;
	kref_init(&t->resv.refcount);
	obj = &t->bo.shmem.base;
	kref_init(&obj->refcount);
	dma_resv_init(&obj->_resv);
	obj->resv = &obj->_resv;
	drm_gem_gpuva_init(obj);
	uma_map_init(t->vm, NULL, &t->resv, &range, UMA_TEST_MAX);
	test->priv = t;
	return 0;
}

static void uma_map_test_exit(struct kunit *test)
{
	struct uma_map_test *t = test->priv;
	struct drm_gem_object *obj;

	if (!t)
		return;
	obj = &t->bo.shmem.base;
	uma_map_clear(t->vm);
	KUNIT_EXPECT_EQ(test, t->vm->map_count, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->bo.mappings), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&obj->gpuva.list));
	KUNIT_EXPECT_EQ(test, kref_read(&obj->refcount), 1);
	drm_gpuvm_put(&t->vm->base);
	KUNIT_EXPECT_EQ(test, kref_read(&t->resv.refcount), 1);
	dma_resv_fini(&obj->_resv);
}

/* Mappings that the buffer lists, with those that the device may not have forgotten. */
static int uma_map_test_refs(struct kunit *test)
{
	struct uma_map_test *t = test->priv;
	struct drm_gpuvm_bo *vm_bo;
	struct drm_gpuva *va;
	int count = 0;

	drm_gem_for_each_gpuvm_bo(vm_bo, &t->bo.shmem.base)
		drm_gpuvm_bo_for_each_va(va, vm_bo)
			count++;
	KUNIT_EXPECT_EQ(test, atomic_read(&t->bo.mappings), count);
	return count;
}

/* What is mapped as text: "start-last@offset/flags" of each mapping. */
static const char *uma_map_test_text(struct kunit *test)
{
	struct uma_map_test *t = test->priv;
	char *text = kunit_kzalloc(test, 512, GFP_KERNEL);
	struct drm_gpuva *va;
	size_t len = 0;
	u32 count = 0;

	KUNIT_ASSERT_NOT_NULL(test, text);
	drm_gpuvm_for_each_va(va, &t->vm->base) {
		len += scnprintf(text + len, 512 - len, "%s%llx-%llx@%llx/%x", len ? " " : "",
				 va->va.addr, va->va.addr + va->va.range - 1, va->gem.offset,
				 to_uma_mapping(va)->flags);
		count++;
	}
	KUNIT_EXPECT_EQ(test, t->vm->map_count, count);
	/* In the middle of a change what was removed is the buffer's still. */
	KUNIT_EXPECT_GE(test, uma_map_test_refs(test), (int)count);
	return text;
}

static void uma_map_test_begin(struct kunit *test, struct uma_map_txn *txn)
{
	struct uma_map_test *t = test->priv;

	txn->vm = t->vm;
	INIT_LIST_HEAD(&txn->changed);
}

static int uma_map_test_add(struct kunit *test, struct uma_map_txn *txn, u64 start, u64 last,
			    u64 offset, u32 flags)
{
	struct uma_map_test *t = test->priv;

	return uma_map_add(txn, start, last - start + 1, &t->bo.shmem.base, offset, flags);
}

static int uma_map_test_remove(struct uma_map_txn *txn, u64 start, u64 last)
{
	return uma_map_remove(txn, start, last - start + 1);
}

static void uma_map_test_one(struct kunit *test, u64 start, u64 last, u64 offset, u32 flags)
{
	struct uma_map_txn txn;

	uma_map_test_begin(test, &txn);
	KUNIT_EXPECT_EQ(test, uma_map_test_add(test, &txn, start, last, offset, flags), 0);
	uma_map_commit(&txn, true);
}

static int uma_map_test_cut(struct kunit *test, u64 start, u64 last)
{
	struct uma_map_txn txn;
	int ret;

	uma_map_test_begin(test, &txn);
	ret = uma_map_test_remove(&txn, start, last);
	if (ret)
		uma_map_rollback(&txn);
	else
		uma_map_commit(&txn, true);
	return ret;
}

/* As a caller that is killed: without an expectation. */
static int uma_map_test_try(struct kunit *test, u64 start, u64 last)
{
	struct uma_map_txn txn;
	int ret;

	uma_map_test_begin(test, &txn);
	ret = uma_map_test_add(test, &txn, start, last, 0, 0);
	uma_map_rollback(&txn);
	return ret;
}

static void uma_map_test_overlap(struct kunit *test)
{
	struct uma_map_txn txn;

	uma_map_test_one(test, 0x1000, 0x2fff, 0, 0);
	uma_map_test_begin(test, &txn);
	KUNIT_EXPECT_EQ(test, uma_map_test_add(test, &txn, 0x2000, 0x3fff, 0, 0), -EEXIST);
	KUNIT_EXPECT_EQ(test, uma_map_test_add(test, &txn, 0x0, 0x1000, 0, 0), -EEXIST);
	KUNIT_EXPECT_EQ(test, uma_map_test_add(test, &txn, 0x0, 0xffff, 0, 0), -EEXIST);
	KUNIT_EXPECT_EQ(test, uma_map_test_add(test, &txn, 0x1800, 0x18ff, 0, 0), -EEXIST);
	/* Neighbours are fine, on both sides. */
	KUNIT_EXPECT_EQ(test, uma_map_test_add(test, &txn, 0x0, 0xfff, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, uma_map_test_add(test, &txn, 0x3000, 0x3fff, 0, 0), 0);
	uma_map_commit(&txn, true);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test), "0-fff@0/0 1000-2fff@0/0 3000-3fff@0/0");
}

static void uma_map_test_partial(struct kunit *test)
{
	uma_map_test_one(test, 0x10000, 0x1ffff, 0x5000, 1);
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0x14000, 0x15fff), 0);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test),
			   "10000-13fff@5000/1 16000-1ffff@b000/1");
	/* The head of one, the tail of the other, and the hole. */
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0x12000, 0x17fff), 0);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test),
			   "10000-11fff@5000/1 18000-1ffff@d000/1");
	/* Where nothing is. */
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0x12000, 0x17fff), 0);
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0x20000, UMA_TEST_LAST), 0);
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0, 0xffff), 0);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test),
			   "10000-11fff@5000/1 18000-1ffff@d000/1");
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0, UMA_TEST_LAST), 0);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test), "");
}

static void uma_map_test_rollback(struct kunit *test)
{
	struct uma_map_txn txn;
	const char *before;

	uma_map_test_one(test, 0x10000, 0x1ffff, 0, 0);
	uma_map_test_one(test, 0x30000, 0x3ffff, 0x100000, 1);
	before = uma_map_test_text(test);

	/* Add, cut what was added, cut what was there, fill the hole, fail. */
	uma_map_test_begin(test, &txn);
	KUNIT_EXPECT_EQ(test, uma_map_test_add(test, &txn, 0x20000, 0x2ffff, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, uma_map_test_remove(&txn, 0x18000, 0x33fff), 0);
	KUNIT_EXPECT_EQ(test, uma_map_test_add(test, &txn, 0x18000, 0x33fff, 0x7000, 0), 0);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test),
			   "10000-17fff@0/0 18000-33fff@7000/0 34000-3ffff@104000/1");
	KUNIT_EXPECT_EQ(test, uma_map_test_remove(&txn, 0x20000, 0x20fff), 0);
	KUNIT_EXPECT_EQ(test, uma_map_test_add(test, &txn, 0x17000, 0x17fff, 0, 0), -EEXIST);
	uma_map_rollback(&txn);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test), before);
	KUNIT_EXPECT_EQ(test, uma_map_test_refs(test), 2);

	/* The same, kept. */
	uma_map_test_begin(test, &txn);
	KUNIT_EXPECT_EQ(test, uma_map_test_add(test, &txn, 0x20000, 0x2ffff, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, uma_map_test_remove(&txn, 0x18000, 0x33fff), 0);
	uma_map_commit(&txn, true);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test), "10000-17fff@0/0 34000-3ffff@104000/1");
	KUNIT_EXPECT_EQ(test, uma_map_test_refs(test), 2);
}

static void uma_map_test_limit(struct kunit *test)
{
	struct uma_map_txn txn;
	const char *before;
	u64 i;

	for (i = 0; i < UMA_TEST_MAX; i++)
		uma_map_test_one(test, i * 0x10000, i * 0x10000 + 0x2fff, 0, 0);
	before = uma_map_test_text(test);
	uma_map_test_begin(test, &txn);
	KUNIT_EXPECT_EQ(test, uma_map_test_add(test, &txn, 0x8000, 0x8fff, 0, 0), -ENOSPC);
	uma_map_rollback(&txn);
	/* Cutting one in two makes one too many; cutting an end off does not. */
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0x1000, 0x1fff), -ENOSPC);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test), before);
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0x2000, 0x2fff), 0);
	/* In exchange for another it is allowed. */
	KUNIT_EXPECT_EQ(test, uma_map_test_cut(test, 0x1000, 0x10fff), 0);
}

/* Random changes against a plain array of pages. */
static void uma_map_test_random(struct kunit *test)
{
	struct uma_map_test *t = test->priv;
	u32 seed = 12345, page, i;
	u8 *truth, *kept;

	t->vm->map_max = 1000;
	truth = kunit_kzalloc(test, 256, GFP_KERNEL);
	kept = kunit_kzalloc(test, 256, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, truth);
	KUNIT_ASSERT_NOT_NULL(test, kept);

	for (i = 0; i < 2000; i++) {
		struct uma_map_txn txn;
		u32 steps, n;

		memcpy(kept, truth, 256);
		uma_map_test_begin(test, &txn);
		seed = seed * 1664525 + 1013904223;
		steps = 1 + (seed >> 28) % 4;
		for (n = 0; n < steps; n++) {
			u32 start, count;

			seed = seed * 1664525 + 1013904223;
			start = (seed >> 8) & 0xff;
			count = min(1 + ((seed >> 16) & 31), 256 - start);
			if (seed >> 31) {
				KUNIT_ASSERT_EQ(test, 0, uma_map_remove(&txn, start, count));
				memset(truth + start, 0, count);
			} else {
				/* The offset is the page, so that cuts show. */
				int ret = uma_map_add(&txn, start, count, &t->bo.shmem.base,
						      start, 0);

				KUNIT_ASSERT_EQ(test, ret, memchr_inv(truth + start, 0, count) ?
						-EEXIST : 0);
				if (!ret)
					memset(truth + start, 1, count);
			}
		}
		if (seed & BIT(20)) {
			uma_map_rollback(&txn);
			memcpy(truth, kept, 256);
		} else {
			uma_map_commit(&txn, true);
		}
		KUNIT_ASSERT_EQ(test, uma_map_test_refs(test), (int)t->vm->map_count);
		for (page = 0; page < 256; page++) {
			struct drm_gpuva *va = drm_gpuva_find_first(&t->vm->base, page, 1);

			KUNIT_ASSERT_EQ(test, !!va, truth[page]);
			if (va)
				KUNIT_ASSERT_EQ(test, va->gem.offset + (page - va->va.addr), page);
		}
	}
}

/* What the device may still use stays, until it has forgotten something for certain. */
static void uma_map_test_retire(struct kunit *test)
{
	struct uma_map_test *t = test->priv;
	struct uma_map_txn txn;

	uma_map_test_begin(test, &txn);
	KUNIT_ASSERT_EQ(test, 0, uma_map_test_add(test, &txn, 0, 9, 0, 0));
	uma_map_commit(&txn, true);
	KUNIT_EXPECT_EQ(test, uma_map_bytes(t->vm), 10);
	uma_map_test_begin(test, &txn);
	/* Cut in three, of which one goes at once. */
	KUNIT_ASSERT_EQ(test, 0, uma_map_test_remove(&txn, 4, 5));
	KUNIT_ASSERT_EQ(test, 0, uma_map_test_add(test, &txn, 4, 4, 0, 0));
	KUNIT_ASSERT_EQ(test, 0, uma_map_test_remove(&txn, 4, 4));
	uma_map_commit(&txn, false);
	KUNIT_EXPECT_TRUE(test, drm_gpuvm_interval_empty(&t->vm->base, 4, 2));
	KUNIT_EXPECT_EQ(test, t->vm->map_count, 2);
	KUNIT_EXPECT_EQ(test, uma_map_test_refs(test), 4);
	/* Both ends, all of what was cut, and the one between. */
	KUNIT_EXPECT_EQ(test, uma_map_bytes(t->vm), 4 + 4 + 10 + 1);
	uma_map_test_begin(test, &txn);
	uma_map_commit(&txn, true);
	KUNIT_EXPECT_EQ(test, uma_map_bytes(t->vm), 4 + 4);
	KUNIT_EXPECT_EQ(test, uma_map_test_refs(test), 2);
	uma_map_clear(t->vm);
	KUNIT_EXPECT_EQ(test, t->vm->map_count, 0);
	KUNIT_EXPECT_EQ(test, uma_map_test_refs(test), 0);
}

/* There may be as many as fit into an address space: whoever is killed does not look at all. */
static void uma_map_test_killed(struct kunit *test)
{
	const char *before;
	int cut, add;

	uma_map_test_one(test, 0x10000, 0x1ffff, 0, 0);
	uma_map_test_one(test, 0x30000, 0x3ffff, 0x100000, 1);
	before = uma_map_test_text(test);
	uma_test_kill();
	cut = uma_map_test_cut(test, 0x18000, UMA_TEST_LAST);
	add = uma_map_test_try(test, 0x20000, 0x2ffff);
	uma_test_revive();
	KUNIT_EXPECT_EQ(test, cut, -EINTR);
	KUNIT_EXPECT_EQ(test, add, -EINTR);
	KUNIT_EXPECT_STREQ(test, uma_map_test_text(test), before);
	KUNIT_EXPECT_EQ(test, uma_map_test_refs(test), 2);
}

static struct kunit_case uma_map_cases[] = {
	KUNIT_CASE(uma_map_test_killed),
	KUNIT_CASE(uma_map_test_retire),
	KUNIT_CASE(uma_map_test_overlap),
	KUNIT_CASE(uma_map_test_partial),
	KUNIT_CASE(uma_map_test_rollback),
	KUNIT_CASE(uma_map_test_limit),
	KUNIT_CASE_SLOW(uma_map_test_random),
	{}
};

static struct kunit_suite uma_map_suite = {
	.name = "uma_map",
	.init = uma_map_test_init,
	.exit = uma_map_test_exit,
	.test_cases = uma_map_cases,
};

kunit_test_suite(uma_map_suite);
