// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Jobs that never end: who is to blame, who is not, and that the device goes on.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "instance.h"
#include "task.h"
#include "watch.h"

#define TIMEOUT_MS	300

FIXTURE(hang) {
	struct instance in;
	int resets;
	struct client c;
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int count;
	struct buf tasks;
};

FIXTURE_VARIANT(hang) {
	bool plain;
};

/* The device of all tests, and one of its own that is not paranoid. */
FIXTURE_VARIANT_ADD(hang, paranoid) { .plain = false };
FIXTURE_VARIANT_ADD(hang, plain) { .plain = true };

FIXTURE_SETUP(hang)
{
	if (!emu_knob(dev_name(), "hang_next", "0"))
		SKIP("cannot make jobs hang");
	if (variant->plain) {
		instance_make(&self->in, "hang");
		instance_enable(&self->in);
		ASSERT_EQ(0, setenv("UMA_DEVICE", self->in.node, 1));
	}
	client_open(&self->c);
	self->count = query_engines(self->c.fd, self->engines);
	client_buf(&self->c, &self->tasks, 4 * UMA_TASK_SIZE);
	task_nop(&self->tasks.task[0]);
	/* What a driver has to say about a job that it had to kill, it may. */
	expect_log();
}

FIXTURE_TEARDOWN(hang)
{
	emu_knob(dev_name(), "hang_next", "0");
	client_close(&self->c);
	if (self->in.dir[0] && self->resets >= 0)
		EXPECT_EQ(self->resets, counter("reset_counter"));
	instance_drop(&self->in);
}

/* The device of all tests is watched, and the other one's counter begins with zero. */
static void resets(struct hang_fixture *self, int n)
{
	self->resets = n;
	if (!self->in.dir[0])
		expect_resets(n);
}

static __u32 queue_of(struct client *c, const struct drm_uma_query_engine *engine, __u32 timeout_ms)
{
	return queue_create_timeout(c->fd, c->vm, engine->engine_class, engine->instance,
				    timeout_ms);
}

static void hang_next(unsigned int engines)
{
	char value[16];

	snprintf(value, sizeof(value), "%#x", engines);
	ASSERT_TRUE(emu_knob(dev_name(), "hang_next", value));
}

static void check_guilty(struct hang_fixture *self, __u32 queue, unsigned int engine)
{
	struct drm_uma_queue_state state;

	queue_state(self->c.fd, queue, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_BANNED, state.status);
	EXPECT_EQ(DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_TIMEDOUT, state.flags);
	EXPECT_EQ(engine, state.engine);
	EXPECT_EQ(ETIME, state.error);
	EXPECT_EQ(UMA_FAULT_NONE, state.reason);
	EXPECT_EQ(0, state.fault_addr);
	EXPECT_EQ(self->tasks.va, state.tasks_addr);
	EXPECT_EQ(state.submitted, state.completed);
	EXPECT_EQ(-ECANCELED, submit_one_try(self->c.fd, queue, self->tasks.va, 1, NULL, 0));
}

TEST_F(hang, times_out)
{
	__u32 queue = queue_of(&self->c, &self->engines[0], TIMEOUT_MS);

	resets(self, 1);
	hang_next(1);
	EXPECT_EQ(-ETIME, client_run(&self->c, queue, self->tasks.va, 1));
	check_guilty(self, queue, 0);
	EXPECT_EQ(0, client_run(&self->c, queue_of(&self->c, &self->engines[0], 0), self->tasks.va,
				1));
}

TEST_F(hang, every_engine)
{
	unsigned int i;
	__u32 queue;

	resets(self, (int)self->count);
	for (i = 0; i < self->count; i++) {
		queue = queue_of(&self->c, &self->engines[i], TIMEOUT_MS);
		hang_next(1u << i);
		EXPECT_EQ(-ETIME, client_run(&self->c, queue, self->tasks.va, 1));
		check_guilty(self, queue, i);
	}
}

TEST_F(hang, all_engines_at_once)
{
	__u32 queues[MAX_ENGINES] = {}, done[MAX_ENGINES] = {};
	unsigned int i;

	resets(self, (int)self->count);
	hang_next((1u << self->count) - 1);
	for (i = 0; i < self->count; i++) {
		queues[i] = queue_of(&self->c, &self->engines[i], TIMEOUT_MS);
		done[i] = client_start(&self->c, queues[i], self->tasks.va, 1);
	}
	for (i = 0; i < self->count; i++) {
		EXPECT_EQ(-ETIME, syncobj_result(self->c.fd, done[i]));
		check_guilty(self, queues[i], i);
	}
	for (i = 0; i < self->count; i++)
		EXPECT_EQ(0, client_run(&self->c, queue_of(&self->c, &self->engines[i], 0),
					self->tasks.va, 1));
}

/*
 * Several jobs of a queue in one call, so that all are there before the first runs into its
 * timeout.
 */
static void start_all(struct client *c, __u32 queue, __u64 tasks, __u32 *done, unsigned int n)
{
	struct drm_uma_sync syncs[8];
	struct drm_uma_job jobs[8];
	unsigned int i;

	ASSERT_LE(n, 8);
	for (i = 0; i < n; i++) {
		done[i] = syncobj_create(c->fd, false);
		syncs[i] = sync_out(done[i]);
		jobs[i] = (struct drm_uma_job){
			.queue_id = queue, .task_count = 1, .tasks_addr = tasks,
			.syncs = array_of(&syncs[i], sizeof(syncs[0]), 1),
		};
	}
	ASSERT_EQ(0, submit_try(c->fd, jobs, n, NULL));
}

/*
 * Behind the job that hangs: its own queue's are cancelled, the others' run; other engines notice
 * nothing.
 */
TEST_F(hang, guilty_and_innocent)
{
	__u32 bad = queue_of(&self->c, &self->engines[0], TIMEOUT_MS), good, elsewhere = 0, own[4],
	      others[3];
	struct drm_uma_queue_state state;
	struct client other;
	struct buf tasks;
	int i;

	resets(self, 1);
	client_open(&other);
	client_buf(&other, &tasks, PAGE);
	task_nop(tasks.task);
	good = queue_of(&other, &self->engines[0], 0);
	if (self->count > 1)
		elsewhere = queue_of(&other, &self->engines[1], 0);
	hang_next(1);
	start_all(&self->c, bad, self->tasks.va, own, 4);
	for (i = 0; i < 3; i++)
		others[i] = client_start(&other, good, tasks.va, 1);
	if (elsewhere)
		EXPECT_EQ(0, client_run(&other, elsewhere, tasks.va, 1));
	EXPECT_EQ(-ETIME, syncobj_result(self->c.fd, own[0]));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(-ECANCELED, syncobj_result(self->c.fd, own[i + 1]));
		EXPECT_EQ(1, syncobj_result(other.fd, others[i]));
	}
	check_guilty(self, bad, 0);
	queue_state(other.fd, good, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_OK, state.status);
	EXPECT_EQ(DRM_UMA_QUEUE_INNOCENT, state.flags);
	EXPECT_EQ(0, state.error);
	if (elsewhere) {
		queue_state(other.fd, elsewhere, &state);
		EXPECT_EQ(0, state.flags);
	}
	EXPECT_EQ(0, client_run(&other, good, tasks.va, 1));
	client_close(&other);
}

TEST_F(hang, task_index)
{
	__u32 queue = queue_of(&self->c, &self->engines[0], TIMEOUT_MS);
	struct drm_uma_queue_state state;

	resets(self, 1);
	task_nop(&self->tasks.task[1]);
	hang_next(1);
	EXPECT_EQ(-ETIME, client_run(&self->c, queue, self->tasks.va, 2));
	queue_state(self->c.fd, queue, &state);
	/* Whichever it was, it is one of the job. */
	EXPECT_LT(state.task_index, 2);
	EXPECT_EQ(UMA_FAULT_NO_SLOT, state.slot);
}

/* Two queues may have two patiences. */
TEST_F(hang, again_and_again)
{
	__u32 queue;
	int i;

	resets(self, 5);
	for (i = 0; i < 5; i++) {
		queue = queue_of(&self->c, &self->engines[0], 100 + 50 * (__u32)i);
		hang_next(1);
		EXPECT_EQ(-ETIME, client_run(&self->c, queue, self->tasks.va, 1));
		ASSERT_EQ(0, queue_destroy_try(self->c.fd, queue));
		EXPECT_EQ(0, client_run(&self->c, queue_of(&self->c, &self->engines[0], 0),
					self->tasks.va, 1));
	}
}

/* A dependency that hangs does not take along what waits for it in another queue. */
TEST_F(hang, waited_for)
{
	__u32 queue = queue_of(&self->c, &self->engines[0], TIMEOUT_MS), first;
	__u32 other = queue_of(&self->c, &self->engines[self->count - 1], 0);

	resets(self, 1);
	hang_next(1);
	first = client_start(&self->c, queue, self->tasks.va, 1);
	syncobj_wait(self->c.fd, client_start_after(&self->c, other, self->tasks.va, 1, first));
	EXPECT_EQ(-ETIME, syncobj_status(self->c.fd, first));
	EXPECT_EQ(0, client_run(&self->c, other, self->tasks.va, 1));
}

/*
 * Everything that a client can do to a job that hangs: none of it may wait for longer than the job
 * may.
 */
TEST_F(hang, queue_destroyed)
{
	__u32 queue = queue_of(&self->c, &self->engines[0], TIMEOUT_MS), done[2];

	resets(self, 1);
	hang_next(1);
	start_all(&self->c, queue, self->tasks.va, done, 2);
	ASSERT_TRUE(hang_begins(dev_name()));
	ASSERT_EQ(0, queue_destroy_try(self->c.fd, queue));
	EXPECT_EQ(-ETIME, syncobj_result(self->c.fd, done[0]));
	EXPECT_EQ(-ECANCELED, syncobj_result(self->c.fd, done[1]));
}

TEST_F(hang, memory_unbound)
{
	__u32 queue = queue_of(&self->c, &self->engines[0], TIMEOUT_MS), running;

	resets(self, -1);
	if (!self->in.dir[0])
		expect_faults(-1);
	hang_next(1);
	running = client_start(&self->c, queue, self->tasks.va, 1);
	ASSERT_TRUE(hang_begins(dev_name()));
	vm_unmap(self->c.fd, self->c.vm, self->tasks.va, self->tasks.size);
	EXPECT_LT(syncobj_result(self->c.fd, running), 0);
}

TEST_F(hang, file_closed)
{
	struct client other;
	struct buf tasks;

	resets(self, 1);
	client_open(&other);
	client_buf(&other, &tasks, PAGE);
	task_nop(tasks.task);
	hang_next(1);
	client_start(&self->c, queue_of(&self->c, &self->engines[0], TIMEOUT_MS), self->tasks.va,
		     1);
	ASSERT_TRUE(hang_begins(dev_name()));
	client_close(&self->c);
	EXPECT_EQ(0, client_run(&other, queue_of(&other, &self->engines[0], 0), tasks.va, 1));
	client_close(&other);
}

TEST_F(hang, killed)
{
	struct client other;
	struct buf tasks;
	int status;
	pid_t pid;

	resets(self, 1);
	hang_next(1);
	pid = harness_fork();
	if (!pid) {
		client_open(&other);
		client_buf(&other, &tasks, PAGE);
		task_nop(tasks.task);
		client_start(&other, queue_of(&other, &self->engines[0], TIMEOUT_MS), tasks.va, 1);
		client_start(&other, queue_of(&other, &self->engines[0], TIMEOUT_MS), tasks.va, 1);
		ASSERT_TRUE(hang_begins(dev_name()));
		raise(SIGKILL);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(0, client_run(&self->c, queue_of(&self->c, &self->engines[0], 0), self->tasks.va,
				1));
}

/*
 * The longest timeout is the queue's, not the engine's: a patient client is not cut short by an
 * impatient one.
 */
TEST_F(hang, patience_is_the_queues)
{
	__u32 impatient = queue_of(&self->c, &self->engines[0], 50);
	__u32 patient = queue_of(&self->c, &self->engines[0], TIMEOUT_MS);
	uint64_t begin;

	resets(self, 2);
	hang_next(1);
	EXPECT_EQ(-ETIME, client_run(&self->c, impatient, self->tasks.va, 1));
	hang_next(1);
	begin = now_ns();
	EXPECT_EQ(-ETIME, client_run(&self->c, patient, self->tasks.va, 1));
	/* A timeout may come late, but never early. */
	EXPECT_GE(now_ns() - begin, TIMEOUT_MS * 1000000ull);
}

HARNESS_MAIN
