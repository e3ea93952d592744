// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory that goes away while jobs that use it wait or run.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "task.h"
#include "watch.h"

#define SIZE	(16 * PAGE)

FIXTURE(unbind) {
	struct client c;
	unsigned int engine;
	__u32 queue;
	struct buf tasks;
	struct buf src;
	struct buf dst;
	struct buf canary;
};

FIXTURE_SETUP(unbind)
{
	int engine;

	client_open(&self->c);
	engine = engine_for(self->c.fd, UMA_OP_COPY, UMA_DTYPE_U8, 0, UMA_DTYPE_U8);
	if (engine < 0)
		SKIP("no engine copies");
	self->engine = (unsigned int)engine;
	self->queue = queue_create(self->c.fd, self->c.vm, self->engine);
	client_buf(&self->c, &self->tasks, 32 * UMA_TASK_SIZE);
	client_buf(&self->c, &self->src, SIZE);
	client_buf(&self->c, &self->dst, SIZE);
	client_buf(&self->c, &self->canary, SIZE);
	memset(self->src.map, 0x77, SIZE);
	memset(self->canary.map, 0x33, SIZE);
	task_copy(self->tasks.task, UMA_DTYPE_U8, self->dst.va, self->src.va, (__u32)SIZE);
}

FIXTURE_TEARDOWN(unbind)
{
	client_close(&self->c);
}

static void canary_lives(struct unbind_fixture *self)
{
	size_t i;

	for (i = 0; i < SIZE; i++)
		ASSERT_EQ(0x33, self->canary.u8[i]);
}

/* The job has not started: it must find the range gone. */
static void waiting_faults(struct unbind_fixture *self, __u64 va, __u64 size, __u32 reason)
{
	struct drm_uma_queue_state state;
	struct gate gate;
	__u32 done;

	expect_faults(1);
	gate_close(&gate, self->c.fd);
	done = client_start_after(&self->c, self->queue, self->tasks.va, 1, gate.syncobj);
	vm_unmap(self->c.fd, self->c.vm, va, size);
	gate_open(&gate);
	EXPECT_EQ(-EFAULT, syncobj_result(self->c.fd, done));
	queue_state(self->c.fd, self->queue, &state);
	EXPECT_EQ(reason, state.reason);
	EXPECT_EQ(va, state.fault_addr);
	gate_free(&gate);
	canary_lives(self);
}

TEST_F(unbind, source_of_waiting_job)
{
	waiting_faults(self, self->src.va, SIZE, UMA_FAULT_READ);
}

TEST_F(unbind, part_of_source)
{
	waiting_faults(self, self->src.va + 5 * PAGE, PAGE, UMA_FAULT_READ);
}

TEST_F(unbind, destination_of_waiting_job)
{
	waiting_faults(self, self->dst.va, SIZE, UMA_FAULT_WRITE);
}

TEST_F(unbind, tasks_of_waiting_job)
{
	waiting_faults(self, self->tasks.va, self->tasks.size, UMA_FAULT_READ);
}

/* Closing a handle unmaps nothing. */
TEST_F(unbind, handle_closed)
{
	struct gate gate;
	__u32 done;

	gate_close(&gate, self->c.fd);
	done = client_start_after(&self->c, self->queue, self->tasks.va, 1, gate.syncobj);
	gem_close(self->c.fd, self->src.handle);
	gem_close(self->c.fd, self->dst.handle);
	gem_close(self->c.fd, self->tasks.handle);
	gate_open(&gate);
	EXPECT_EQ(1, syncobj_result(self->c.fd, done));
	EXPECT_EQ(0x77, self->dst.u8[SIZE - 1]);
	gate_free(&gate);
}

/* Something else is there by the time the job runs: it uses that. */
TEST_F(unbind, replaced)
{
	struct drm_uma_bind_op ops[2] = {
		{ .op = DRM_UMA_BIND_UNMAP, .va = self->src.va, .size = SIZE },
		{ .op = DRM_UMA_BIND_MAP,
		  .handle = self->canary.handle,
		  .va = self->src.va,
		  .size = SIZE },
	};
	struct gate gate;
	__u32 done;

	gate_close(&gate, self->c.fd);
	done = client_start_after(&self->c, self->queue, self->tasks.va, 1, gate.syncobj);
	ASSERT_EQ(0, vm_bind_try(self->c.fd, self->c.vm, ops, 2, NULL));
	gate_open(&gate);
	EXPECT_EQ(1, syncobj_result(self->c.fd, done));
	EXPECT_EQ(0x33, self->dst.u8[0]);
	EXPECT_EQ(0x33, self->dst.u8[SIZE - 1]);
	gate_free(&gate);
}

/*
 * Under a job that runs: it faults or has been fast. Once the ioctl has
 * returned nothing is written any more, neither to the buffer nor to whoever
 * gets its pages next.
 */
TEST_F_TIMEOUT(unbind, under_a_running_job, 240)
{
	int round, status, faults = 0, i;
	struct buf other;
	__u32 queue, done;
	size_t k;

	expect_faults(-1);
	for (round = 0; round < 12; round++) {
		struct buf dst;

		client_buf(&self->c, &dst, SIZE);
		queue = queue_create(self->c.fd, self->c.vm, self->engine);
		for (i = 0; i < 32; i++)
			task_copy(&self->tasks.task[i], UMA_DTYPE_U8, dst.va, self->src.va,
				  (__u32)SIZE);
		done = client_start(&self->c, queue, self->tasks.va, 32);
		usleep(round * 300);
		vm_unmap(self->c.fd, self->c.vm, dst.va, SIZE);
		/* The CPU still has it mapped: what it writes now stays. */
		memset(dst.map, 0x99, SIZE);
		status = syncobj_result(self->c.fd, done);
		EXPECT_TRUE(status == 1 || status == -EFAULT);
		faults += status == -EFAULT;
		for (k = 0; k < SIZE; k++)
			ASSERT_EQ(0x99, dst.u8[k]);
		gem_close(self->c.fd, dst.handle);
		client_buf(&self->c, &other, SIZE);
		for (k = 0; k < SIZE; k++)
			ASSERT_EQ(0, other.u8[k]);
		ASSERT_EQ(0, queue_destroy_try(self->c.fd, queue));
	}
	harness_diag("%d of %d jobs faulted", faults, round);
	canary_lives(self);
}

/* The address space itself goes, as soon as its queue has, with the job still in flight. */
TEST_F(unbind, vm_destroyed)
{
	struct gate gate;
	__u32 done;

	expect_faults(-1);
	gate_close(&gate, self->c.fd);
	done = client_start_after(&self->c, self->queue, self->tasks.va, 1, gate.syncobj);
	ASSERT_EQ(0, queue_destroy_try(self->c.fd, self->queue));
	EXPECT_EQ(0, vm_destroy_try(self->c.fd, self->c.vm));
	gate_open(&gate);
	EXPECT_LT(syncobj_result(self->c.fd, done), 0);
	EXPECT_EQ(0, self->dst.u8[0]);
	gate_free(&gate);
	canary_lives(self);
}

TEST_F_TIMEOUT(unbind, vm_destroyed_under_running_job, 240)
{
	int round, status;
	__u32 done, queue;
	size_t k;

	expect_faults(-1);
	for (round = 0; round < 8; round++) {
		struct client c = { .fd = self->c.fd,
				    .vm = vm_create(self->c.fd),
				    .va = self->c.va };
		struct buf dst, tasks;
		int i;

		client_buf(&c, &dst, SIZE);
		client_buf(&c, &tasks, 16 * UMA_TASK_SIZE);
		for (i = 0; i < 16; i++)
			task_fill(&tasks.task[i], UMA_DTYPE_U8, dst.va, (__u32)SIZE, 0x44);
		queue = queue_create(c.fd, c.vm, self->engine);
		done = client_start(&c, queue, tasks.va, 16);
		usleep(round * 300);
		ASSERT_EQ(0, queue_destroy_try(c.fd, queue));
		ASSERT_EQ(0, vm_destroy_try(c.fd, c.vm));
		memset(dst.map, 0x99, SIZE);
		status = syncobj_result(c.fd, done);
		EXPECT_TRUE(status == 1 || status == -EFAULT || status == -ECANCELED);
		for (k = 0; k < SIZE; k++)
			ASSERT_EQ(0x99, dst.u8[k]);
		gem_close(c.fd, dst.handle);
		gem_close(c.fd, tasks.handle);
	}
	canary_lives(self);
}

/* --- a thread that binds against one that submits --------------------------------------- */

struct churn {
	struct unbind_fixture *self;
	bool stop;
};

static void *churn(void *p)
{
	struct churn *ch = p;
	struct unbind_fixture *self = ch->self;
	struct drm_uma_bind_op ops[2] = {
		{ .op = DRM_UMA_BIND_UNMAP, .va = self->src.va, .size = SIZE },
		{ .op = DRM_UMA_BIND_MAP,
		  .handle = self->src.handle,
		  .va = self->src.va,
		  .size = SIZE },
	};

	while (!__atomic_load_n(&ch->stop, __ATOMIC_ACQUIRE)) {
		ASSERT_EQ(0, vm_bind_try(self->c.fd, self->c.vm, ops, 2, NULL));
		/* And somewhere where no job is: that must not disturb anybody. */
		ASSERT_EQ(0, vm_map_try(self->c.fd, self->c.vm, self->canary.handle, 0,
					self->src.va + (1ull << 32), SIZE, 0));
		ASSERT_EQ(0,
			  vm_unmap_try(self->c.fd, self->c.vm, self->src.va + (1ull << 32), SIZE));
	}
	return NULL;
}

/*
 * Replaced by the same buffer in one call: there is no moment without a mapping that could not be a
 * fault.
 */
TEST_F_TIMEOUT(unbind, replaced_by_the_same, 240)
{
	struct churn ch = { .self = self };
	struct drm_uma_queue_state state;
	int i, status, faults = 0;
	pthread_t thread;
	__u32 queue;

	expect_faults(-1);
	ASSERT_EQ(0, pthread_create(&thread, NULL, churn, &ch));
	for (i = 0; i < 40; i++) {
		queue = queue_create(self->c.fd, self->c.vm, self->engine);
		memset(self->dst.map, 0, SIZE);
		status = client_run(&self->c, queue, self->tasks.va, 1);
		if (status) {
			faults++;
			ASSERT_EQ(-EFAULT, status);
			queue_state(self->c.fd, queue, &state);
			EXPECT_EQ(UMA_FAULT_READ, state.reason);
			EXPECT_EQ(UMA_SLOT_A, state.slot);
		} else {
			ASSERT_EQ(0x77, self->dst.u8[0]);
			ASSERT_EQ(0x77, self->dst.u8[SIZE - 1]);
		}
		ASSERT_EQ(0, queue_destroy_try(self->c.fd, queue));
	}
	__atomic_store_n(&ch.stop, true, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	harness_diag("%d of %d jobs met the gap", faults, i);
	canary_lives(self);
}

HARNESS_MAIN
