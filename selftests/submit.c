// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * DRM_IOCTL_UMA_SUBMIT: every refusal, and that a refusal leaves nothing behind.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "task.h"
#include "watch.h"

FIXTURE(submit) {
	struct client c;
	struct drm_uma_query_limits l;
	unsigned int engine;
	__u32 queue;
	__u32 queue2;
	struct buf tasks;
	struct buf data;
};

static void setup(struct submit_fixture *self)
{
	int engine;

	client_open(&self->c);
	query_limits(self->c.fd, &self->l);
	engine = engine_for(self->c.fd, UMA_OP_FILL, 0, 0, UMA_DTYPE_S32);
	if (engine < 0)
		SKIP("no engine fills");
	self->engine = (unsigned int)engine;
	self->queue = queue_create(self->c.fd, self->c.vm, self->engine);
	self->queue2 = queue_create(self->c.fd, self->c.vm, self->engine);
	client_buf(&self->c, &self->tasks, 16 * UMA_TASK_SIZE);
	client_buf(&self->c, &self->data, PAGE);
}

FIXTURE_SETUP(submit)
{
	setup(self);
}

FIXTURE_TEARDOWN(submit)
{
	client_close(&self->c);
}

/* Task @i writes @value to word 16 * @i of the data. */
static __u64 fill(struct submit_fixture *self, unsigned int i, __u32 value)
{
	task_fill(&self->tasks.task[i], UMA_DTYPE_S32, self->data.va + 64 * i, 1, value);
	return self->tasks.va + i * UMA_TASK_SIZE;
}

TEST_F(submit, no_tasks)
{
	EXPECT_EQ(0, submit_one_try(self->c.fd, self->queue, 0, 0, NULL, 0));
	EXPECT_EQ(0, client_run(&self->c, self->queue, 0, 0));
}

TEST_F(submit, one_task)
{
	ASSERT_EQ(0, client_run(&self->c, self->queue, fill(self, 0, 0x1234), 1));
	EXPECT_EQ(0x1234, self->data.u32[0]);
}

TEST_F(submit, max_tasks)
{
	__u32 n = self->l.max_job_tasks, i;
	struct buf many;

	if (n > 1024)
		n = 1024;
	client_buf(&self->c, &many, (__u64)n * UMA_TASK_SIZE);
	for (i = 0; i < n; i++)
		task_fill(&many.task[i], UMA_DTYPE_S32, self->data.va, 1, i + 1);
	ASSERT_EQ(0, client_run(&self->c, self->queue, many.va, n));
	EXPECT_EQ(n, self->data.u32[0]);
}

TEST_F(submit, array)
{
	__u32 n = self->l.max_submit_jobs < 16 ? self->l.max_submit_jobs : 16, i, failed;
	__u32 done = syncobj_create(self->c.fd, false);
	struct drm_uma_sync out = sync_out(done);
	struct drm_uma_job jobs[16] = { 0 };

	for (i = 0; i < n; i++) {
		jobs[i].queue_id = self->queue;
		jobs[i].task_count = 1;
		jobs[i].tasks_addr = fill(self, i, i + 100);
	}
	jobs[n - 1].syncs = array_of(&out, sizeof(out), 1);
	ASSERT_EQ(0, submit_try(self->c.fd, jobs, n, &failed));
	EXPECT_EQ(n, failed);
	EXPECT_EQ(1, syncobj_result(self->c.fd, done));
	for (i = 0; i < n; i++)
		EXPECT_EQ(i + 100, self->data.u32[16 * i]);
}

/* Without syncs a queue keeps its order. */
TEST_F(submit, order_in_queue)
{
	__u32 i;

	for (i = 0; i < 16; i++)
		task_fill(&self->tasks.task[i], UMA_DTYPE_S32, self->data.va, 1, i);
	for (i = 0; i < 15; i++)
		ASSERT_EQ(0, submit_one_try(self->c.fd, self->queue,
					    self->tasks.va + i * UMA_TASK_SIZE, 1, NULL, 0));
	ASSERT_EQ(0, client_run(&self->c, self->queue, self->tasks.va + i * UMA_TASK_SIZE, 1));
	EXPECT_EQ(15, self->data.u32[0]);
}

/* The second queue's job reads what the first queue's job of the same call writes. */
TEST_F(submit, wait_within_call)
{
	__u32 mid = syncobj_create(self->c.fd, false), done = syncobj_create(self->c.fd, false);
	struct drm_uma_sync first = sync_out(mid), second[2] = { sync_in(mid), sync_out(done) };
	struct drm_uma_job jobs[2] = {
		{ .queue_id = self->queue, .task_count = 8, .tasks_addr = self->tasks.va },
		{ .queue_id = self->queue2,
		  .task_count = 1,
		  .tasks_addr = self->tasks.va + 8 * UMA_TASK_SIZE },
	};
	int i;

	if (!engine_can(self->c.fd, self->engine, UMA_OP_COPY, UMA_DTYPE_S32, 0, UMA_DTYPE_S32))
		SKIP("the engine does not copy");
	for (i = 0; i < 8; i++)
		task_fill(&self->tasks.task[i], UMA_DTYPE_S32, self->data.va, 512, (__u32)i + 1);
	task_copy(&self->tasks.task[8], UMA_DTYPE_S32, self->data.va + 2048, self->data.va, 512);
	jobs[0].syncs = array_of(&first, sizeof(first), 1);
	jobs[1].syncs = array_of(second, sizeof(second[0]), 2);
	ASSERT_EQ(0, submit_try(self->c.fd, jobs, 2, NULL));
	EXPECT_EQ(1, syncobj_result(self->c.fd, done));
	EXPECT_EQ(8, self->data.u32[512]);
	EXPECT_EQ(8, self->data.u32[1023]);
}

TEST_F(submit, wait_within_call_timeline)
{
	__u32 t = syncobj_create(self->c.fd, false);
	struct drm_uma_sync syncs[6] = {
		sync_out_point(t, 10),
		sync_in_point(t, 10), sync_out_point(t, 20),
		sync_in_point(t, 15), sync_in_point(t, 20), sync_out_point(t, 30),
	};
	struct drm_uma_job jobs[3] = {
		{ .queue_id = self->queue, .syncs = array_of(syncs, sizeof(syncs[0]), 1) },
		{ .queue_id = self->queue2, .syncs = array_of(syncs + 1, sizeof(syncs[0]), 2) },
		{ .queue_id = self->queue, .syncs = array_of(syncs + 3, sizeof(syncs[0]), 3) },
	};

	ASSERT_EQ(0, submit_try(self->c.fd, jobs, 3, NULL));
	syncobj_wait_point(self->c.fd, t, 30);
	EXPECT_EQ(30, syncobj_query(self->c.fd, t));
}

/* A later job of the call cannot help an earlier one. */
TEST_F(submit, wait_for_later_job)
{
	__u32 s = syncobj_create(self->c.fd, false), failed;
	struct drm_uma_sync in = sync_in(s), out = sync_out(s);
	struct drm_uma_job jobs[2] = {
		{ .queue_id = self->queue, .syncs = array_of(&in, sizeof(in), 1) },
		{ .queue_id = self->queue2, .syncs = array_of(&out, sizeof(out), 1) },
	};

	EXPECT_EQ(-EINVAL, submit_try(self->c.fd, jobs, 2, &failed));
	EXPECT_EQ(0, failed);
	EXPECT_EQ(-EINVAL, syncobj_wait_try(self->c.fd, s, 0, 0));
}

/* One job waits for what was in the syncobj before and leaves its own there: the usual chain. */
TEST_F(submit, same_syncobj_in_and_out)
{
	__u32 s = syncobj_create(self->c.fd, true);
	struct drm_uma_sync syncs[2] = { sync_in(s), sync_out(s) };
	int i;

	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, submit_one_try(self->c.fd, i & 1 ? self->queue : self->queue2, 0, 0,
					    syncs, 2));
	EXPECT_EQ(1, syncobj_result(self->c.fd, s));
}

TEST_F(submit, signalled_twice)
{
	__u32 s = syncobj_create(self->c.fd, false), failed;
	struct drm_uma_sync twice[2] = { sync_out(s), sync_out(s) };
	struct drm_uma_job jobs[2] = {
		{ .queue_id = self->queue, .syncs = array_of(twice, sizeof(twice[0]), 1) },
		{ .queue_id = self->queue, .syncs = array_of(twice, sizeof(twice[0]), 2) },
	};

	EXPECT_EQ(-EINVAL, submit_try(self->c.fd, jobs, 2, &failed));
	EXPECT_EQ(1, failed);
	/* By two jobs it is no mistake: the later fence stays. */
	jobs[1].syncs.count = 1;
	EXPECT_EQ(0, submit_try(self->c.fd, jobs, 2, NULL));
	EXPECT_EQ(1, syncobj_result(self->c.fd, s));
}

TEST_F(submit, two_points_of_one_timeline)
{
	__u32 t = syncobj_create(self->c.fd, false);
	struct drm_uma_sync syncs[2] = { sync_out_point(t, 1), sync_out_point(t, 2) };

	ASSERT_EQ(0, submit_one_try(self->c.fd, self->queue, 0, 0, syncs, 2));
	syncobj_wait_point(self->c.fd, t, 2);
	EXPECT_EQ(2, syncobj_query(self->c.fd, t));
}

TEST_F(submit, many_syncs)
{
	__u32 n = self->l.max_job_syncs, i;
	struct drm_uma_sync *syncs = calloc(n, sizeof(*syncs));

	ASSERT_TRUE(syncs);
	for (i = 0; i < n; i++)
		syncs[i] = i & 1 ? sync_in(syncobj_create(self->c.fd, true)) :
				   sync_out(syncobj_create(self->c.fd, false));
	ASSERT_EQ(0, submit_one_try(self->c.fd, self->queue, 0, 0, syncs, n));
	for (i = 0; i < n; i += 2)
		EXPECT_EQ(1, syncobj_result(self->c.fd, syncs[i].handle));
	free(syncs);
}

/* A good job before a bad one neither runs nor signals. */
TEST_F(submit, all_or_none)
{
	__u32 s = syncobj_create(self->c.fd, false), t = syncobj_create(self->c.fd, false), old,
	      failed;
	struct drm_uma_sync syncs[2] = { sync_out(s), sync_out_point(t, 5) };
	struct drm_uma_job jobs[3] = {
		{ .queue_id = self->queue, .task_count = 1, .tasks_addr = fill(self, 0, 99),
		  .syncs = array_of(syncs, sizeof(syncs[0]), 2) },
		{ .queue_id = self->queue2 },
		{ .queue_id = BAD_HANDLE },
	};
	struct drm_uma_queue_state state;

	EXPECT_EQ(-ENOENT, submit_try(self->c.fd, jobs, 3, &failed));
	EXPECT_EQ(2, failed);
	EXPECT_EQ(-EINVAL, syncobj_wait_try(self->c.fd, s, 0, 0));
	EXPECT_EQ(0, syncobj_query(self->c.fd, t));
	/* Both queues are empty: what is submitted now finishes, with no sign of the others. */
	EXPECT_EQ(0, client_run(&self->c, self->queue, 0, 0));
	EXPECT_EQ(0, client_run(&self->c, self->queue2, 0, 0));
	EXPECT_EQ(0, self->data.u32[0]);
	queue_state(self->c.fd, self->queue, &state);
	EXPECT_EQ(1, state.submitted);
	/* A fence that was in the syncobj before is still there. */
	old = syncobj_create(self->c.fd, true);
	syncs[0] = sync_out(old);
	EXPECT_EQ(-ENOENT, submit_try(self->c.fd, jobs, 3, NULL));
	EXPECT_TRUE(syncobj_done(self->c.fd, old));
}

TEST_F(submit, queue_full)
{
	__u32 n = self->l.max_queued_jobs, i, failed;
	struct drm_uma_job jobs[2] = { { .queue_id = self->queue2 }, { .queue_id = self->queue } };
	struct drm_uma_queue_state state;
	struct drm_uma_sync in;
	struct gate gate;
	int ret = 0;

	if (n > 4096)
		SKIP("%u jobs take too long", n);
	gate_close(&gate, self->c.fd);
	in = sync_in(gate.syncobj);
	for (i = 0; i < n && !ret; i++)
		ret = submit_one_try(self->c.fd, self->queue, 0, 0, &in, 1);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(n, i);
	if (!syncobj_done(self->c.fd, gate.syncobj)) {
		EXPECT_EQ(-EBUSY, submit_one_try(self->c.fd, self->queue, 0, 0, NULL, 0));
		/* Also as one of several, of which none is taken. */
		EXPECT_EQ(-EBUSY, submit_try(self->c.fd, jobs, 2, &failed));
		EXPECT_EQ(1, failed);
		queue_state(self->c.fd, self->queue2, &state);
		EXPECT_EQ(0, state.submitted);
		/* Another queue has room. */
		EXPECT_EQ(0, submit_one_try(self->c.fd, self->queue2, 0, 0, NULL, 0));
	} else {
		harness_diag("too slow: the gate has opened by itself");
	}
	gate_open(&gate);
	/* There is room again as soon as a job has gone. */
	while ((ret = submit_one_try(self->c.fd, self->queue, 0, 0, NULL, 0)) == -EBUSY)
		usleep(1000);
	EXPECT_EQ(0, ret);
	gate_free(&gate);
}

/* Have @n jobs without tasks wait for a syncobj in a new queue. */
static __u32 wait_with(struct submit_fixture *self, __u32 n, __u32 syncobj)
{
	struct drm_uma_sync in = sync_in(syncobj);
	__u32 queue = queue_create(self->c.fd, self->c.vm, self->engine), at, i, count;
	struct drm_uma_job jobs[256] = { 0 };

	for (i = 0; i < 256; i++) {
		jobs[i].queue_id = queue;
		jobs[i].syncs = array_of(&in, sizeof(in), 1);
	}
	for (at = 0; at < n; at += count) {
		count = n - at;
		if (count > self->l.max_submit_jobs)
			count = self->l.max_submit_jobs;
		if (count > 256)
			count = 256;
		ASSERT_EQ(0, submit_try(self->c.fd, jobs, count, NULL));
	}
	return queue;
}

/*
 * The scheduler looks at each job, also at one without tasks, so those of a file are limited:
 * otherwise they pass all together, and whoever comes next waits for a second or two. That their
 * queues were destroyed does not make them less.
 */
TEST_F(submit, file_full)
{
	const __u32 most = self->l.max_file_jobs;
	struct drm_uma_job jobs[2] = { { .queue_id = self->queue }, { .queue_id = self->queue } };
	struct submit_fixture other;
	__u32 n, count, failed = 0;
	struct drm_uma_sync in;
	struct gate gate;
	int ret;

	ASSERT_GE(most, 2);
	ASSERT_LE(most, 16384);
	gate_close(&gate, self->c.fd);
	in = sync_in(gate.syncobj);
	jobs[0].syncs = array_of(&in, sizeof(in), 1);
	jobs[1].syncs = jobs[0].syncs;
	for (n = 0; n < most - 1; n += count) {
		__u32 queue;

		count = most - 1 - n;
		if (count > self->l.max_queued_jobs)
			count = self->l.max_queued_jobs;
		queue = wait_with(self, count, gate.syncobj);
		ASSERT_EQ(0, queue_destroy_try(self->c.fd, queue));
	}
	/* There is room for one, and of two none is taken. */
	ret = submit_try(self->c.fd, jobs, 2, &failed);
	if (!syncobj_done(self->c.fd, gate.syncobj)) {
		EXPECT_EQ(-EBUSY, ret);
		EXPECT_EQ(1, failed);
		EXPECT_EQ(0, submit_try(self->c.fd, jobs, 1, NULL));
		EXPECT_EQ(-EBUSY, submit_one_try(self->c.fd, self->queue2, 0, 0, NULL, 0));
		EXPECT_FALSE(syncobj_done(self->c.fd, gate.syncobj));
	} else {
		harness_diag("too slow: the gate has opened by itself");
	}
	/* Another file has room of its own. */
	setup(&other);
	EXPECT_EQ(0, client_run(&other.c, other.queue, fill(&other, 0, 1), 1));
	client_close(&other.c);
	gate_open(&gate);
	/* There is room again as soon as some have gone. */
	while ((ret = submit_one_try(self->c.fd, self->queue, 0, 0, NULL, 0)) == -EBUSY)
		usleep(1000);
	EXPECT_EQ(0, ret);
	gate_free(&gate);
}

/*
 * Queues on all instances of their class, several jobs of each in one call with dependencies
 * across: whatever instance
 * a job is given to, it gives back there what it took, so that afterwards every engine still takes
 * jobs.
 */
TEST_F(submit, instances_within_call)
{
	__u32 masks[UMA_ENGINE_CLASS_COUNT] = { 0 }, queues[UMA_ENGINE_CLASS_COUNT], n_queues = 0,
	      t, i, round;
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int n = query_engines(self->c.fd, engines);
	struct drm_uma_sync syncs[12][2];
	struct drm_uma_job jobs[12];
	__u64 tasks[12];

	/* Written once: from the second round on the device may be reading them. */
	for (i = 0; i < 12; i++)
		tasks[i] = fill(self, i, i + 1);
	for (i = 0; i < n; i++)
		masks[engines[i].engine_class] |= 1u << engines[i].instance;
	for (i = 0; i < UMA_ENGINE_CLASS_COUNT; i++) {
		struct drm_uma_queue_create args = {
			.vm_id = self->c.vm, .engine_class = i, .instances = masks[i],
			.priority = DRM_UMA_PRIORITY_NORMAL,
		};

		if (masks[i])
			ASSERT_EQ(0, queue_create_try(self->c.fd, &args, &queues[n_queues++]));
	}
	t = syncobj_create(self->c.fd, false);
	for (round = 0; round < 10; round++) {
		for (i = 0; i < 12; i++) {
			__u64 point = round * 12 + i;

			syncs[i][0] = sync_out_point(t, point + 1);
			syncs[i][1] = sync_in_point(t, point);
			jobs[i] = (struct drm_uma_job){
				.queue_id = queues[i % n_queues],
				.task_count = 1,
				.tasks_addr = tasks[i],
				.syncs = array_of(syncs[i], sizeof(syncs[i][0]), point ? 2 : 1),
			};
		}
		ASSERT_EQ(0, submit_try(self->c.fd, jobs, 12, NULL));
	}
	syncobj_wait_point(self->c.fd, t, round * 12);
	for (i = 0; i < 12; i++)
		EXPECT_EQ(i + 1, self->data.u32[16 * i]);
	for (i = 0; i < n; i++)
		EXPECT_EQ(0, client_run(&self->c, queue_create(self->c.fd, self->c.vm, i),
					self->tasks.va, 1));
}

/* --- a wait for nothing --------------------------------------------------------------- */

TEST_F(submit, wait_without_fence)
{
	struct drm_uma_sync in = sync_in(syncobj_create(self->c.fd, false));

	EXPECT_EQ(-EINVAL, submit_one_try(self->c.fd, self->queue, 0, 0, &in, 1));
}

TEST_F(submit, wait_for_future_point)
{
	__u32 t = syncobj_create(self->c.fd, false);
	struct drm_uma_sync sync = sync_in_point(t, 1);

	EXPECT_EQ(-EINVAL, submit_one_try(self->c.fd, self->queue, 0, 0, &sync, 1));
	sync = sync_out_point(t, 5);
	ASSERT_EQ(0, submit_one_try(self->c.fd, self->queue, 0, 0, &sync, 1));
	sync = sync_in_point(t, 6);
	EXPECT_EQ(-EINVAL, submit_one_try(self->c.fd, self->queue, 0, 0, &sync, 1));
	sync = sync_in_point(t, ~0ull);
	EXPECT_EQ(-EINVAL, submit_one_try(self->c.fd, self->queue, 0, 0, &sync, 1));
	sync = sync_in_point(t, 3);
	EXPECT_EQ(0, submit_one_try(self->c.fd, self->queue, 0, 0, &sync, 1));
	sync = sync_in_point(t, 5);
	EXPECT_EQ(0, submit_one_try(self->c.fd, self->queue, 0, 0, &sync, 1));
	/* Also after it has signalled. */
	syncobj_wait_point(self->c.fd, t, 5);
	EXPECT_EQ(0, submit_one_try(self->c.fd, self->queue, 0, 0, &sync, 1));
	sync = sync_in_point(t, 6);
	EXPECT_EQ(-EINVAL, submit_one_try(self->c.fd, self->queue, 0, 0, &sync, 1));
}

TEST_F(submit, wait_after_reset)
{
	__u32 s = syncobj_create(self->c.fd, true);
	struct drm_uma_sync in = sync_in(s);

	ASSERT_EQ(0, submit_one_try(self->c.fd, self->queue, 0, 0, &in, 1));
	ASSERT_EQ(0, syncobj_reset_try(self->c.fd, s));
	EXPECT_EQ(-EINVAL, submit_one_try(self->c.fd, self->queue, 0, 0, &in, 1));
}

TEST_F(submit, wait_for_host_signal)
{
	__u32 s = syncobj_create(self->c.fd, false);
	struct drm_uma_sync in = sync_in(s);

	ASSERT_EQ(0, syncobj_signal_try(self->c.fd, s));
	EXPECT_EQ(0, submit_one_try(self->c.fd, self->queue, 0, 0, &in, 1));
}

/* --- one bad field --------------------------------------------------------------------- */

enum field {
	TASK_COUNT, TASKS_ADDR, SYNC_TYPE, SYNC_FLAGS, SYNC_PAD, SYNC_POINT,
};

FIXTURE(bad) {
	FIXTURE(submit) s;
	__u32 syncobj;
};

FIXTURE_VARIANT(bad) {
	enum field field;
	__u64 value;
	bool tasks;
	bool timeline;
	bool signal;
	int error;
};

FIXTURE_SETUP(bad)
{
	setup(&self->s);
	self->syncobj = syncobj_create(self->s.c.fd, true);
}

FIXTURE_TEARDOWN(bad)
{
	client_close(&self->s.c);
}

#define JOB_FIELD(v, f, val, t) \
	FIXTURE_VARIANT_ADD(bad, v) { .field = f, .value = (val), .tasks = (t), .error = -EINVAL }
#define SYNC_FIELD(v, f, val, tl, sig)                                                          \
	FIXTURE_VARIANT_ADD(bad, v)                                                             \
	{                                                                                       \
		.field = f, .value = (val), .timeline = (tl), .signal = (sig), .error = -EINVAL \
	}
/* A count of UINT_MAX stands for one more than there may be. */
JOB_FIELD(task_count_over, TASK_COUNT, 0xffffffffu, true);
JOB_FIELD(task_count_high, TASK_COUNT, 0x80000001u, true);
JOB_FIELD(tasks_without_count, TASK_COUNT, 0, true);
JOB_FIELD(tasks_addr_off_by_1, TASKS_ADDR, 1, true);
JOB_FIELD(tasks_addr_off_by_8, TASKS_ADDR, 8, true);
JOB_FIELD(tasks_addr_off_by_32, TASKS_ADDR, 32, true);
JOB_FIELD(tasks_addr_wraps, TASKS_ADDR, 1ull << 63, true);
JOB_FIELD(tasks_addr_without_tasks, TASKS_ADDR, 64, false);
SYNC_FIELD(sync_type_2, SYNC_TYPE, 2, false, false);
SYNC_FIELD(sync_type_high, SYNC_TYPE, 0x80000000u, false, false);
SYNC_FIELD(sync_flag_1, SYNC_FLAGS, 2, false, false);
SYNC_FIELD(sync_flag_high, SYNC_FLAGS, 1u << 31, false, true);
SYNC_FIELD(sync_pad, SYNC_PAD, 1, false, false);
SYNC_FIELD(sync_pad_high, SYNC_PAD, 1u << 31, false, true);
SYNC_FIELD(binary_wait_point, SYNC_POINT, 1, false, false);
SYNC_FIELD(binary_signal_point, SYNC_POINT, 1ull << 63, false, true);
SYNC_FIELD(timeline_signal_0, SYNC_POINT, 0, true, true);

TEST_F(bad, refused)
{
	struct drm_uma_sync sync = {
		.type = variant->timeline ? DRM_UMA_SYNC_TIMELINE : DRM_UMA_SYNC_BINARY,
		.flags = variant->signal ? DRM_UMA_SYNC_SIGNAL : 0, .handle = self->syncobj,
	};
	struct drm_uma_job jobs[3] = { { .queue_id = self->s.queue },
				       { 0 },
				       { .queue_id = self->s.queue2 } };
	struct drm_uma_job *job = &jobs[1];
	struct drm_uma_queue_state state;
	__u32 failed;

	job->queue_id = self->s.queue;
	if (variant->tasks) {
		job->task_count = 1;
		job->tasks_addr = fill(&self->s, 0, 7);
	}
	job->syncs = array_of(&sync, sizeof(sync), 1);
	switch (variant->field) {
	case TASK_COUNT:
		job->task_count = variant->value == 0xffffffffu ? self->s.l.max_job_tasks + 1 :
								  (__u32)variant->value;
		break;
	case TASKS_ADDR:
		job->tasks_addr += variant->value;
		break;
	case SYNC_TYPE:
		sync.type = (__u32)variant->value;
		break;
	case SYNC_FLAGS:
		sync.flags |= (__u32)variant->value;
		break;
	case SYNC_PAD:
		sync.pad = (__u32)variant->value;
		break;
	case SYNC_POINT:
		sync.point = variant->value;
		break;
	}
	EXPECT_EQ(variant->error, submit_try(self->s.c.fd, job, 1, &failed));
	EXPECT_EQ(0, failed);
	EXPECT_EQ(variant->error, submit_try(self->s.c.fd, jobs, 3, &failed));
	EXPECT_EQ(1, failed);
	EXPECT_EQ(0, client_run(&self->s.c, self->s.queue, 0, 0));
	EXPECT_EQ(0, self->s.data.u32[0]);
	queue_state(self->s.c.fd, self->s.queue, &state);
	EXPECT_EQ(1, state.submitted);
}

/* --- several threads -------------------------------------------------------------------- */

#define THREADS		4
#define EACH		50

struct submitter {
	pthread_t thread;
	struct submit_fixture *self;
	__u32 timeline;
};

static void *submitter(void *p)
{
	struct submitter *s = p;
	__u32 i;

	for (i = 1; i <= EACH; i++) {
		struct drm_uma_sync out = sync_out_point(s->timeline, i);

		ASSERT_EQ(0, submit_one_try(s->self->c.fd, s->self->queue, 0, 0, &out, 1));
	}
	syncobj_wait_point(s->self->c.fd, s->timeline, EACH);
	return NULL;
}

TEST_F(submit, threads_on_one_queue)
{
	struct drm_uma_queue_state state;
	struct submitter s[THREADS];
	int i;

	for (i = 0; i < THREADS; i++) {
		s[i].self = self;
		s[i].timeline = syncobj_create(self->c.fd, false);
		ASSERT_EQ(0, pthread_create(&s[i].thread, NULL, submitter, &s[i]));
	}
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_join(s[i].thread, NULL));
	queue_state(self->c.fd, self->queue, &state);
	EXPECT_EQ(THREADS * EACH, state.submitted);
	EXPECT_EQ(THREADS * EACH, state.completed);
}

HARNESS_MAIN
