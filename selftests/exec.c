// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Tasks run and are right, on every engine that says it takes them.
 */
#include <stdlib.h>
#include <string.h>

#include "task.h"
#include "watch.h"

FIXTURE(exec) {
	struct client c;
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int count;
	struct buf tasks;
	struct buf a;
	struct buf b;
	struct buf d;
};

#define SIZE	(8 * PAGE)

FIXTURE_SETUP(exec)
{
	client_open(&self->c);
	self->count = query_engines(self->c.fd, self->engines);
	client_buf(&self->c, &self->tasks, 32 * UMA_TASK_SIZE);
	client_buf(&self->c, &self->a, SIZE);
	client_buf(&self->c, &self->b, SIZE);
	client_buf(&self->c, &self->d, SIZE);
}

FIXTURE_TEARDOWN(exec)
{
	client_close(&self->c);
}

/* Calls @f for each engine that can; how many did. */
static unsigned int each_engine(struct exec_fixture *self, unsigned int opcode, unsigned int a,
				unsigned int b, unsigned int d,
				void (*f)(struct exec_fixture *self, __u32 queue))
{
	unsigned int i, n = 0;
	__u32 queue;

	for (i = 0; i < self->count; i++) {
		if (!engine_can(self->c.fd, i, opcode, a, b, d))
			continue;
		queue = queue_create(self->c.fd, self->c.vm, i);
		f(self, queue);
		ASSERT_EQ(0, queue_destroy_try(self->c.fd, queue));
		n++;
	}
	return n;
}

static void nop(struct exec_fixture *self, __u32 queue)
{
	int i;

	for (i = 0; i < 4; i++) {
		task_nop(&self->tasks.task[i]);
		self->tasks.task[i].cookie = htole64(0xfeedfacecafebeefull);
	}
	EXPECT_EQ(0, client_run(&self->c, queue, self->tasks.va, 4));
}

TEST_F(exec, nop)
{
	unsigned int i;

	/* It needs no capability. */
	for (i = 0; i < self->count; i++)
		nop(self, queue_create(self->c.fd, self->c.vm, i));
}

static void fill(struct exec_fixture *self, __u32 queue)
{
	__u32 i;

	memset(self->d.map, 0x55, SIZE);
	task_fill(self->tasks.task, UMA_DTYPE_S32, self->d.va + 64, 1500, 0xdeadbeef);
	ASSERT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
	for (i = 0; i < 16; i++)
		EXPECT_EQ(0x55555555, self->d.u32[i]);
	for (; i < 16 + 1500; i++)
		ASSERT_EQ(0xdeadbeef, self->d.u32[i]);
	for (; i < SIZE / 4; i++)
		ASSERT_EQ(0x55555555, self->d.u32[i]);
}

TEST_F(exec, fill)
{
	EXPECT_GE(each_engine(self, UMA_OP_FILL, 0, 0, UMA_DTYPE_S32, fill), 1);
}

static void copy(struct exec_fixture *self, __u32 queue)
{
	static const __u32 lengths[] = { 1, 63, 64, 65, 4095, 4096, 4097, 10000 };
	__u32 i, n;
	size_t k;

	for (i = 0; i < SIZE; i++)
		self->a.u8[i] = (__u8)(i * 7 + i / 251);
	for (k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		n = lengths[k];
		memset(self->d.map, 0xee, SIZE);
		task_copy(self->tasks.task, UMA_DTYPE_U8, self->d.va + 2048, self->a.va + 1024, n);
		ASSERT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
		EXPECT_EQ(0xee, self->d.u8[2047]);
		EXPECT_EQ(0, memcmp(self->d.u8 + 2048, self->a.u8 + 1024, n));
		EXPECT_EQ(0xee, self->d.u8[2048 + n]);
	}
}

TEST_F(exec, copy)
{
	EXPECT_GE(each_engine(self, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8, copy), 1);
}

/* Small whole numbers: every order of adding gives the same in fp32. */
static void gemm_f32(struct exec_fixture *self, __u32 queue)
{
	static const struct {
		__u32 m, n, k;
	} shapes[] = { { 1, 1, 1 }, { 7, 9, 5 }, { 17, 33, 19 }, { 32, 16, 64 } };
	__u32 i, j, l, m, n, k;
	size_t s;

	for (s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		m = shapes[s].m;
		n = shapes[s].n;
		k = shapes[s].k;
		for (i = 0; i < m * k; i++)
			self->a.f32[i] = (float)((int)(i * 37 % 17) - 8);
		for (i = 0; i < k * n; i++)
			self->b.f32[i] = (float)((int)(i * 53 % 13) - 6);
		memset(self->d.map, 0xff, SIZE);
		task_gemm_f32(self->tasks.task, self->d.va, self->a.va, self->b.va, m, n, k);
		ASSERT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
		for (i = 0; i < m; i++) {
			for (j = 0; j < n; j++) {
				float sum = 0;

				for (l = 0; l < k; l++)
					sum += self->a.f32[i * k + l] * self->b.f32[l * n + j];
				ASSERT_TRUE(sum == self->d.f32[i * n + j]);
			}
		}
		EXPECT_EQ(0xffffffff, self->d.u32[m * n]);
	}
}

TEST_F(exec, gemm_f32)
{
	EXPECT_GE(each_engine(self, UMA_OP_GEMM, UMA_DTYPE_F32, UMA_DTYPE_F32, UMA_DTYPE_F32,
			      gemm_f32),
		  1);
}

static void gemm_s8(struct exec_fixture *self, __u32 queue)
{
	const __u32 m = 19, n = 23, k = 70;
	__s8 *a = self->a.map, *b = self->b.map;
	__u32 i, j, l;

	for (i = 0; i < m * k; i++)
		a[i] = (__s8)(i * 31 + 5);
	for (i = 0; i < k * n; i++)
		b[i] = (__s8)(i * 77 + 128);
	memset(self->d.map, 0, SIZE);
	task_gemm_s8(self->tasks.task, self->d.va, self->a.va, self->b.va, m, n, k);
	ASSERT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
	for (i = 0; i < m; i++) {
		for (j = 0; j < n; j++) {
			__s32 sum = 0;

			for (l = 0; l < k; l++)
				sum += a[i * k + l] * b[l * n + j];
			ASSERT_EQ(sum, self->d.s32[i * n + j]);
		}
	}
	EXPECT_EQ(0, self->d.s32[m * n]);
}

TEST_F(exec, gemm_s8)
{
	EXPECT_GE(each_engine(self, UMA_OP_GEMM, UMA_DTYPE_S8, UMA_DTYPE_S8, UMA_DTYPE_S32,
			      gemm_s8),
		  1);
}

/* A task sees what the tasks before it in the list wrote. */
static void list(struct exec_fixture *self, __u32 queue)
{
	__u32 i;

	memset(self->d.map, 0, SIZE);
	for (i = 0; i < 1024; i++)
		self->a.u32[i] = i;
	task_copy(&self->tasks.task[0], UMA_DTYPE_U8, self->d.va, self->a.va, 4096);
	for (i = 1; i < 8; i++)
		task_copy(&self->tasks.task[i], UMA_DTYPE_U8, self->d.va + i * PAGE,
			  self->d.va + (i - 1) * PAGE, 4096);
	ASSERT_EQ(0, client_run(&self->c, queue, self->tasks.va, 8));
	EXPECT_EQ(0, memcmp(self->d.u8 + 7 * PAGE, self->a.map, PAGE));
}

TEST_F(exec, list)
{
	EXPECT_GE(each_engine(self, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8, list), 1);
}

/*
 * Pages of a buffer in another order, and one of them twice: the tasks see the address space, not
 * the buffer.
 */
static void shuffled(struct exec_fixture *self, __u32 queue)
{
	static const __u8 order[] = { 7, 2, 2, 0 };
	__u64 va = client_va(&self->c, 4 * PAGE);
	__u32 i;

	for (i = 0; i < 8; i++)
		memset(self->a.u8 + i * PAGE, (int)i + 1, PAGE);
	for (i = 0; i < 4; i++)
		vm_map(self->c.fd, self->c.vm, self->a.handle, order[i] * PAGE, va + i * PAGE, PAGE,
		       DRM_UMA_BIND_READONLY);
	task_copy(self->tasks.task, UMA_DTYPE_U8, self->d.va, va, 4 * PAGE);
	ASSERT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(order[i] + 1, self->d.u8[i * PAGE]);
		EXPECT_EQ(order[i] + 1, self->d.u8[i * PAGE + PAGE - 1]);
	}
	vm_unmap(self->c.fd, self->c.vm, va, 4 * PAGE);
}

TEST_F(exec, shuffled_pages)
{
	EXPECT_GE(each_engine(self, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8, shuffled), 1);
}

/* An operand and a task list that start anywhere in a page. */
static void unaligned_list(struct exec_fixture *self, __u32 queue)
{
	struct uma_task t;

	memset(self->a.map, 0x31, SIZE);
	memset(self->d.map, 0, SIZE);
	task_copy(&t, UMA_DTYPE_U8, self->d.va + PAGE - 64, self->a.va, 256);
	memcpy(self->tasks.u8 + PAGE - UMA_TASK_ALIGN, &t, sizeof(t));
	ASSERT_EQ(0, client_run(&self->c, queue, self->tasks.va + PAGE - UMA_TASK_ALIGN, 1));
	EXPECT_EQ(0, self->d.u8[PAGE - 65]);
	EXPECT_EQ(0x31, self->d.u8[PAGE - 64]);
	EXPECT_EQ(0x31, self->d.u8[PAGE + 191]);
	EXPECT_EQ(0, self->d.u8[PAGE + 192]);
}

TEST_F(exec, unaligned_list)
{
	EXPECT_GE(each_engine(self, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8, unaligned_list), 1);
}

/* Blocks: a buffer that is large and aligned enough for a larger page of the device. */
static void block(struct exec_fixture *self, __u32 queue)
{
	struct drm_uma_query_device dev;
	__u32 handle;
	__u64 va;
	__u8 *p;

	query_device(self->c.fd, &dev);
	handle = bo_create(self->c.fd, 2 * dev.block_size, 0);
	va = (client_va(&self->c, 4 * dev.block_size) + dev.block_size - 1) & ~(dev.block_size - 1);
	vm_map(self->c.fd, self->c.vm, handle, 0, va, 2 * dev.block_size, 0);
	p = bo_map(self->c.fd, handle, 2 * dev.block_size);
	memset(p + dev.block_size - PAGE, 0x24, 2 * PAGE);
	task_copy(self->tasks.task, UMA_DTYPE_U8, self->d.va, va + dev.block_size - 2048, 4096);
	ASSERT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
	EXPECT_EQ(0x24, self->d.u8[0]);
	EXPECT_EQ(0x24, self->d.u8[4095]);
	/* A hole in the middle of the first block; the rest stays. */
	vm_unmap(self->c.fd, self->c.vm, va + dev.block_size / 2, PAGE);
	ASSERT_EQ(0, client_run(&self->c, queue, self->tasks.va, 1));
	vm_unmap(self->c.fd, self->c.vm, va, 2 * dev.block_size);
	gem_close(self->c.fd, handle);
}

TEST_F(exec, large_pages)
{
	EXPECT_GE(each_engine(self, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8, block), 1);
}

TEST_F(exec, write_combined)
{
	int engine = engine_for(self->c.fd, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8);
	__u32 handle = bo_create(self->c.fd, PAGE, DRM_UMA_BO_WC);
	__u64 va = client_bind_handle(&self->c, handle, PAGE, 0);
	__u8 *p = bo_map(self->c.fd, handle, PAGE);

	ASSERT_GE(engine, 0);
	memset(p, 0x6b, PAGE);
	task_copy(self->tasks.task, UMA_DTYPE_U8, self->d.va, va, 4096);
	ASSERT_EQ(0,
		  client_run(&self->c, queue_create(self->c.fd, self->c.vm, (unsigned int)engine),
			     self->tasks.va, 1));
	EXPECT_EQ(0x6b, self->d.u8[4095]);
}

TEST_F(exec, no_mmap_buffer)
{
	int engine = engine_for(self->c.fd, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8);
	__u64 va = client_bind_handle(&self->c, bo_create(self->c.fd, PAGE, DRM_UMA_BO_NO_MMAP),
				      PAGE, 0);

	ASSERT_GE(engine, 0);
	memset(self->a.map, 0x6c, PAGE);
	task_copy(&self->tasks.task[0], UMA_DTYPE_U8, va, self->a.va, 4096);
	task_copy(&self->tasks.task[1], UMA_DTYPE_U8, self->d.va, va, 4096);
	ASSERT_EQ(0,
		  client_run(&self->c, queue_create(self->c.fd, self->c.vm, (unsigned int)engine),
			     self->tasks.va, 2));
	EXPECT_EQ(0x6c, self->d.u8[0]);
	EXPECT_EQ(0x6c, self->d.u8[4095]);
}

/*
 * Every opcode, type and engine is what the capabilities say: a row that is missing is refused at
 * run time.
 */
TEST_F(exec, capabilities_are_kept)
{
	static const unsigned int dtypes[] = { UMA_DTYPE_F32, UMA_DTYPE_F16, UMA_DTYPE_BF16 };
	struct drm_uma_queue_state state;
	unsigned int i, refused = 0;
	size_t k;
	int ret;

	expect_faults(-1);
	memset(self->a.map, 0, SIZE);
	memset(self->b.map, 0, SIZE);
	for (i = 0; i < self->count; i++) {
		for (k = 0; k < 3; k++) {
			__u32 queue = queue_create(self->c.fd, self->c.vm, i);
			bool can = engine_can(self->c.fd, i, UMA_OP_GEMM, dtypes[k], dtypes[k],
					      dtypes[k]);

			task_gemm(self->tasks.task, dtypes[k], dtypes[k], self->d.va, self->a.va,
				  self->b.va, 4, 4, 4);
			ret = client_run(&self->c, queue, self->tasks.va, 1);
			EXPECT_EQ(can ? 0 : -EFAULT, ret);
			queue_state(self->c.fd, queue, &state);
			EXPECT_EQ(can ? UMA_FAULT_NONE : UMA_FAULT_UNSUPPORTED, state.reason);
			refused += !can;
		}
	}
	if (!refused)
		harness_diag("the device takes them all");
}

HARNESS_MAIN
