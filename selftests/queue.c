// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Queues: creation, limits, state, destruction with jobs in them.
 */
#include <stdlib.h>
#include <string.h>

#include "task.h"
#include "watch.h"

FIXTURE(queue) {
	struct client c;
	struct drm_uma_query_limits l;
	struct drm_uma_queue_create args;
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int count;
};

FIXTURE_SETUP(queue)
{
	client_open(&self->c);
	query_limits(self->c.fd, &self->l);
	self->count = query_engines(self->c.fd, self->engines);
	self->args = (struct drm_uma_queue_create){
		.vm_id = self->c.vm, .engine_class = self->engines[0].engine_class, .instances = 1,
		.priority = DRM_UMA_PRIORITY_NORMAL,
	};
}

FIXTURE_TEARDOWN(queue)
{
	client_close(&self->c);
}

static int create(struct queue_fixture *self, __u32 *queue)
{
	return queue_create_try(self->c.fd, &self->args, queue);
}

TEST_F(queue, every_engine)
{
	unsigned int i;
	__u32 queue;

	for (i = 0; i < self->count; i++) {
		self->args.engine_class = self->engines[i].engine_class;
		self->args.instances = 1u << self->engines[i].instance;
		EXPECT_EQ(0, create(self, &queue));
		EXPECT_NE(0, queue);
		EXPECT_EQ(0, queue_destroy_try(self->c.fd, queue));
		EXPECT_EQ(-ENOENT, queue_destroy_try(self->c.fd, queue));
	}
}

TEST_F(queue, all_instances)
{
	__u32 masks[UMA_ENGINE_CLASS_COUNT] = { 0 }, queue;
	unsigned int i;

	for (i = 0; i < self->count; i++)
		masks[self->engines[i].engine_class] |= 1u << self->engines[i].instance;
	for (i = 0; i < UMA_ENGINE_CLASS_COUNT; i++) {
		if (!masks[i])
			continue;
		self->args.engine_class = i;
		self->args.instances = masks[i];
		EXPECT_EQ(0, create(self, &queue));
		/* It runs on any of them. */
		EXPECT_EQ(0, client_run(&self->c, queue, 0, 0));
		/* Every bit that is not an engine, alone or with others. */
		self->args.instances = masks[i] + 1;
		EXPECT_EQ(-EINVAL, create(self, &queue));
		self->args.instances = masks[i] | 1u << 31;
		EXPECT_EQ(-EINVAL, create(self, &queue));
		self->args.instances = 0;
		EXPECT_EQ(-EINVAL, create(self, &queue));
		self->args.instances = ~0u;
		EXPECT_EQ(-EINVAL, create(self, &queue));
	}
}

TEST_F(queue, unknown_class)
{
	__u32 queue;

	self->args.engine_class = UMA_ENGINE_CLASS_COUNT;
	EXPECT_EQ(-EINVAL, create(self, &queue));
	self->args.engine_class = 0x80000000u;
	EXPECT_EQ(-EINVAL, create(self, &queue));
	self->args.engine_class = 0xffffffffu;
	EXPECT_EQ(-EINVAL, create(self, &queue));
	EXPECT_EQ(0, queue);
}

TEST_F(queue, priorities)
{
	__u32 queue, p;

	for (p = DRM_UMA_PRIORITY_LOW; p <= DRM_UMA_PRIORITY_REALTIME; p++) {
		self->args.priority = p;
		/* The query tells the truth. */
		EXPECT_EQ(self->l.priorities & 1u << p ? 0 : -EACCES, create(self, &queue));
	}
	self->args.priority = DRM_UMA_PRIORITY_REALTIME + 1;
	EXPECT_EQ(-EINVAL, create(self, &queue));
	self->args.priority = 0xffffffffu;
	EXPECT_EQ(-EINVAL, create(self, &queue));
}

TEST_F(queue, timeouts)
{
	__u32 queue;

	self->args.timeout_ms = 1;
	EXPECT_EQ(0, create(self, &queue));
	self->args.timeout_ms = self->l.max_timeout_ms;
	EXPECT_EQ(0, create(self, &queue));
	/* 600000 is the limit of those that have a longer one. */
	self->args.timeout_ms = self->l.max_timeout_ms + 1;
	EXPECT_EQ(self->l.max_timeout_ms < 600000 ? -EACCES : -EINVAL, create(self, &queue));
	self->args.timeout_ms = 600001;
	EXPECT_EQ(-EINVAL, create(self, &queue));
	self->args.timeout_ms = 0xffffffffu;
	EXPECT_EQ(-EINVAL, create(self, &queue));
}

TEST_F(queue, max_queues)
{
	__u32 *ids = calloc(self->l.max_queues, sizeof(*ids)), extra, i;

	ASSERT_TRUE(ids);
	for (i = 0; i < self->l.max_queues; i++)
		ASSERT_EQ(0, create(self, &ids[i]));
	EXPECT_EQ(-ENOSPC, create(self, &extra));
	EXPECT_EQ(0, extra);
	ASSERT_EQ(0, queue_destroy_try(self->c.fd, ids[i / 3]));
	EXPECT_EQ(0, create(self, &extra));
	EXPECT_EQ(-ENOSPC, create(self, &ids[0]));
	free(ids);
}

TEST_F(queue, state_of_new)
{
	struct drm_uma_queue_state state;
	__u32 queue;

	ASSERT_EQ(0, create(self, &queue));
	memset(&state, 0, sizeof(state));
	queue_state(self->c.fd, queue, &state);
	EXPECT_EQ(queue, state.queue_id);
	EXPECT_EQ(DRM_UMA_QUEUE_OK, state.status);
	EXPECT_EQ(0, state.flags);
	EXPECT_EQ(0, state.error);
	EXPECT_EQ(0, state.fault_addr);
	EXPECT_EQ(0, state.tasks_addr);
	EXPECT_EQ(UMA_FAULT_NONE, state.reason);
	EXPECT_EQ(0, state.submitted);
	EXPECT_EQ(0, state.completed);
}

TEST_F(queue, state_counts)
{
	struct drm_uma_queue_state state;
	__u32 queue;
	int i;

	ASSERT_EQ(0, create(self, &queue));
	for (i = 1; i <= 5; i++) {
		ASSERT_EQ(0, client_run(&self->c, queue, 0, 0));
		queue_state(self->c.fd, queue, &state);
		EXPECT_EQ(i, state.submitted);
		EXPECT_EQ(i, state.completed);
	}
}

TEST_F(queue, state_of_waiting)
{
	struct drm_uma_queue_state state;
	struct gate gate;
	__u32 queue, done;

	ASSERT_EQ(0, create(self, &queue));
	gate_close(&gate, self->c.fd);
	done = client_start_after(&self->c, queue, 0, 0, gate.syncobj);
	queue_state(self->c.fd, queue, &state);
	EXPECT_EQ(1, state.submitted);
	EXPECT_EQ(0, state.completed);
	EXPECT_EQ(DRM_UMA_QUEUE_OK, state.status);
	gate_open(&gate);
	EXPECT_EQ(1, syncobj_result(self->c.fd, done));
	queue_state(self->c.fd, queue, &state);
	EXPECT_EQ(1, state.completed);
	gate_free(&gate);
}

/*
 * What waits in a queue that goes is cancelled, and waiters see it: as soon as it could have run.
 */
TEST_F(queue, destroy_with_waiting_jobs)
{
	__u32 queue, done[8];
	struct gate gate;
	int i;

	ASSERT_EQ(0, create(self, &queue));
	gate_close(&gate, self->c.fd);
	for (i = 0; i < 8; i++)
		done[i] = client_start_after(&self->c, queue, 0, 0, gate.syncobj);
	ASSERT_EQ(0, queue_destroy_try(self->c.fd, queue));
	gate_open(&gate);
	for (i = 0; i < 8; i++)
		EXPECT_EQ(-ECANCELED, syncobj_result(self->c.fd, done[i]));
	gate_free(&gate);
}

TEST_F(queue, vm_after_queue)
{
	__u32 queue;

	ASSERT_EQ(0, create(self, &queue));
	ASSERT_EQ(0, client_run(&self->c, queue, 0, 0));
	EXPECT_EQ(-EBUSY, vm_destroy_try(self->c.fd, self->c.vm));
	ASSERT_EQ(0, queue_destroy_try(self->c.fd, queue));
	EXPECT_EQ(0, vm_destroy_try(self->c.fd, self->c.vm));
	EXPECT_EQ(-ENOENT, create(self, &queue));
}

TEST_F(queue, create_destroy_often)
{
	__u32 queue;
	int i;

	for (i = 0; i < 200; i++) {
		ASSERT_EQ(0, create(self, &queue));
		ASSERT_EQ(0, submit_one_try(self->c.fd, queue, 0, 0, NULL, 0));
		ASSERT_EQ(0, queue_destroy_try(self->c.fd, queue));
	}
}

TEST_F(queue, left_to_the_file)
{
	struct client c;
	int i, k;

	for (i = 0; i < 10; i++) {
		client_open(&c);
		for (k = 0; k < 10; k++)
			ASSERT_EQ(0, submit_one_try(c.fd,
						    queue_create(c.fd, c.vm,
								 (unsigned int)k % self->count),
						    0, 0, NULL, 0));
		client_close(&c);
	}
}

HARNESS_MAIN
