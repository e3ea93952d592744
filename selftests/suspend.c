// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A system that goes to sleep, and wakes up, while others submit jobs. The
 * kernel's own test mode stops after the devices, so that no hardware is needed
 * to wake anything up.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "files.h"
#include "instance.h"
#include "task.h"
#include "watch.h"

#define WORDS	256u

FIXTURE(suspend) {
	struct instance in;
	const char *node;
};

/* For so many seconds, five by default, in which the processor spins. */
static void stay_asleep(const char *seconds)
{
	file_write_try("/sys/module/suspend/parameters/pm_test_delay", seconds);
}

FIXTURE_SETUP(suspend)
{
	static char mounts[1 << 16];

	/* Its device forgets what is under way, and who waits for it never wakes up. */
	if (file_read_try("/proc/mounts", mounts, sizeof(mounts)) < 0 || strstr(mounts, " 9p "))
		SKIP("a 9p file system is mounted");
	if (file_write_try("/sys/power/pm_test", "devices"))
		SKIP("this kernel cannot rehearse going to sleep");
	stay_asleep("0");
	instance_make(&self->in, "suspend");
	instance_set(&self->in, "profile", "m1");
	instance_set(&self->in, "paranoid", "1");
	instance_set(&self->in, "latency_us", "20000");
	instance_enable(&self->in);
	self->node = self->in.node;
	/* Others have something to say about it. */
	expect_log();
}

FIXTURE_TEARDOWN(suspend)
{
	instance_drop(&self->in);
	file_write_try("/sys/power/pm_test", "none");
}

static int sleep_try(void)
{
	char states[64];

	if (file_read_try("/sys/power/state", states, sizeof(states)) <= 0)
		return -ENOENT;
	return file_write_try("/sys/power/state", strstr(states, "freeze") ? "freeze" : "mem");
}

static void go_to_sleep(void)
{
	int ret;

	/* What else goes on may keep the system awake for a moment. */
	while ((ret = sleep_try()) == -EBUSY)
		usleep(200000);
	EXPECT_EQ(0, ret);
}

/* Chains of jobs, each of which adds to what the one before has left. */
static void submit_forever(const char *node, bool last, unsigned int *count, unsigned int *stop)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	unsigned int engine = 0, e;
	__u32 queue, done, i, n;
	struct buf tasks, data;
	struct client c;

	client_open_named(&c, node);
	client_buf(&c, &tasks, 8 * UMA_TASK_SIZE);
	client_buf(&c, &data, PAGE);
	for (e = query_engines(c.fd, engines); e-- > 0;) {
		if (!engine_can(c.fd, e, UMA_OP_FILL, 0, 0, UMA_DTYPE_F32))
			continue;
		engine = e;
		if (last)
			break;
	}
	queue = queue_create(c.fd, c.vm, engine);
	for (n = 1; !__atomic_load_n(stop, __ATOMIC_SEQ_CST); n++) {
		for (i = 0; i < 8; i++)
			task_fill(&tasks.task[i], UMA_DTYPE_F32, data.va + i * 4, WORDS - 8,
				  n * 16 + i);
		for (i = 0; i < 7; i++)
			EXPECT_EQ(0, submit_one_try(c.fd, queue, tasks.va + i * UMA_TASK_SIZE, 1,
						    NULL, 0));
		done = client_start(&c, queue, tasks.va + 7 * UMA_TASK_SIZE, 1);
		ASSERT_EQ(1, syncobj_result(c.fd, done));
		syncobj_destroy_try(c.fd, done);
		for (i = 0; i < 8; i++)
			EXPECT_EQ(n * 16 + i, data.u32[i]);
		for (; i < WORDS - 1; i++)
			EXPECT_EQ(n * 16 + 7, data.u32[i]);
		__atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
	}
	client_close(&c);
	_exit(0);
}

/* What a job that runs writes. */
static float float_now(const float *at)
{
	float value;

	__atomic_load(at, &value, __ATOMIC_RELAXED);
	return value;
}

struct shared {
	unsigned int stop;
	unsigned int count[2];
};

static unsigned int rounds(struct shared *shared, unsigned int child)
{
	return __atomic_load_n(&shared->count[child], __ATOMIC_SEQ_CST);
}

TEST_F(suspend, idle)
{
	struct client c;
	struct buf tasks;
	int i;

	client_open_named(&c, self->node);
	client_buf(&c, &tasks, PAGE);
	task_nop(tasks.task);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, client_run(&c, queue_create(c.fd, c.vm, 1), tasks.va, 1));
		go_to_sleep();
		EXPECT_EQ(0, client_run(&c, queue_create(c.fd, c.vm, 1), tasks.va, 1));
		EXPECT_TRUE(device_becomes(self->node, "power/runtime_status", "suspended"));
	}
	EXPECT_EQ(0, device_number(self->node, "reset_count"));
	client_close(&c);
}

TEST_F_TIMEOUT(suspend, jobs_queued_and_running, 300)
{
	struct shared *shared;
	unsigned int i, before;
	pid_t child[2];

	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(shared != MAP_FAILED);
	for (i = 0; i < 2; i++) {
		child[i] = harness_fork();
		if (!child[i])
			submit_forever(self->node, i, &shared->count[i], &shared->stop);
	}
	while (!(rounds(shared, 0) && rounds(shared, 1)) && !harness->failures)
		usleep(10000);
	for (i = 0; i < 3; i++) {
		before = rounds(shared, 0);
		/* Once, long enough for what does not know of it. */
		stay_asleep(i ? "0" : "1");
		go_to_sleep();
		while (rounds(shared, 0) < before + 2 && !harness->failures)
			usleep(10000);
	}
	__atomic_store_n(&shared->stop, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < 2; i++)
		harness_join(child[i]);
	harness_diag("%u and %u rounds of 8 jobs", rounds(shared, 0), rounds(shared, 1));
	EXPECT_GT(rounds(shared, 0), 0);
	EXPECT_GT(rounds(shared, 1), 0);
	EXPECT_EQ(0, device_number(self->node, "reset_count"));
	EXPECT_TRUE(device_becomes(self->node, "power/runtime_status", "suspended"));
}

#define ADDS		4000u
#define ADDS_IN_MEMORY	250u

static __u32 queue_patient(struct client *c, __u32 timeout_ms)
{
	struct drm_uma_queue_create args = {
		.vm_id = c->vm, .engine_class = UMA_ENGINE_GPU, .instances = 1,
		.priority = DRM_UMA_PRIORITY_NORMAL, .timeout_ms = timeout_ms,
	};
	__u32 queue;

	ASSERT_EQ(0, queue_create_try(c->fd, &args, &queue));
	return queue;
}

/* A job that would keep the system awake for long stops between two tasks, and is continued. */
TEST_F_TIMEOUT(suspend, long_job, 300)
{
	struct uma_elementwise_params add = { .func = htole32(UMA_BINARY_ADD) };
	struct buf tasks, data;
	struct client c;
	unsigned int i;
	__u32 done;

	instance_set(&self->in, "enabled", "0");
	instance_set(&self->in, "task_us", "50000");
	instance_enable(&self->in);
	self->node = self->in.node;
	client_open_named(&c, self->node);
	client_buf_repeated(&c, &tasks, ADDS_IN_MEMORY * UMA_TASK_SIZE, ADDS / ADDS_IN_MEMORY);
	client_buf(&c, &data, PAGE);
	data.f32[0] = 0;
	data.f32[1] = 1;
	for (i = 0; i < ADDS_IN_MEMORY; i++) {
		task_init(&tasks.task[i], UMA_OP_BINARY,
			  1u << UMA_SLOT_DST | 1u << UMA_SLOT_A | 1u << UMA_SLOT_B);
		memcpy(tasks.task[i].params, &add, sizeof(add));
		task_vector(&tasks.task[i], UMA_SLOT_DST, UMA_DTYPE_F32, data.va, 1);
		task_vector(&tasks.task[i], UMA_SLOT_A, UMA_DTYPE_F32, data.va, 1);
		task_vector(&tasks.task[i], UMA_SLOT_B, UMA_DTYPE_F32, data.va + 4, 1);
	}
	/* Minutes, with a ceiling that it never comes near to. */
	done = client_start(&c, queue_patient(&c, 600000), tasks.va, ADDS);
	while (!float_now(data.f32))
		usleep(1000);
	go_to_sleep();
	EXPECT_EQ(0, syncobj_status(c.fd, done));
	EXPECT_LT(float_now(data.f32), (float)ADDS);
	ASSERT_TRUE(emu_knob(self->in.node, "task_us", "0"));
	EXPECT_EQ(1, syncobj_result(c.fd, done));
	EXPECT_TRUE(data.f32[0] == (float)ADDS);
	EXPECT_EQ(0, device_number(self->node, "reset_count"));
	client_close(&c);
}

/* One that does not stop is not waited for: it is lost, its queue goes on, the system sleeps. */
TEST_F(suspend, endless_job)
{
	struct drm_uma_queue_state state;
	__u32 queue, done, behind;
	struct client c;
	struct buf tasks;

	client_open_named(&c, self->node);
	client_buf(&c, &tasks, PAGE);
	task_nop(tasks.task);
	queue = queue_patient(&c, 600000);
	ASSERT_TRUE(emu_knob(self->node, "hang_next", "2"));
	done = client_start(&c, queue, tasks.va, 1);
	behind = client_start(&c, queue, tasks.va, 1);
	ASSERT_TRUE(hang_begins(self->in.node));
	go_to_sleep();
	EXPECT_EQ(-ECANCELED, syncobj_result(c.fd, done));
	EXPECT_EQ(1, syncobj_result(c.fd, behind));
	queue_state(c.fd, queue, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_OK, state.status);
	EXPECT_EQ(DRM_UMA_QUEUE_INNOCENT, state.flags);
	EXPECT_EQ(1, device_number(self->node, "reset_count"));
	client_close(&c);
}

/* An engine that does not come back from its reset is no reason to wait for the other's timeout. */
TEST_F_TIMEOUT(suspend, reset_fails, 240)
{
	struct drm_uma_queue_create patient = {
		.priority = DRM_UMA_PRIORITY_NORMAL, .timeout_ms = 200000,
	};
	__u32 queue, done[2];
	struct buf tasks;
	struct client c;
	int i;

	client_open_named(&c, self->node);
	client_buf(&c, &tasks, PAGE);
	task_nop(tasks.task);
	patient.vm_id = c.vm;
	ASSERT_TRUE(emu_knob(self->node, "hang_next", "3"));
	ASSERT_TRUE(emu_knob(self->node, "fail_reset", "1"));
	for (i = 0; i < 2; i++) {
		patient.engine_class = i ? UMA_ENGINE_GPU : UMA_ENGINE_MATRIX;
		patient.instances = 1;
		ASSERT_EQ(0, queue_create_try(c.fd, &patient, &queue));
		done[i] = client_start(&c, queue, tasks.va, 1);
	}
	ASSERT_TRUE(hang_begins(self->node));
	go_to_sleep();
	/* Had it waited for that, one of them would have timed out. */
	for (i = 0; i < 2; i++)
		EXPECT_EQ(-ECANCELED, syncobj_result(c.fd, done[i]));
	client_close(&c);
}

/* A job that never ends runs into its timeout; the system sleeps all the same. */
TEST_F(suspend, hanging_job)
{
	struct drm_uma_queue_create impatient = {
		.engine_class = UMA_ENGINE_GPU, .instances = 1,
		.priority = DRM_UMA_PRIORITY_NORMAL, .timeout_ms = 2000,
	};
	__u32 queue, done, behind;
	struct client c;
	struct buf tasks;

	client_open_named(&c, self->node);
	client_buf(&c, &tasks, PAGE);
	task_nop(tasks.task);
	impatient.vm_id = c.vm;
	ASSERT_EQ(0, queue_create_try(c.fd, &impatient, &queue));
	ASSERT_TRUE(emu_knob(self->node, "hang_next", "2"));
	done = client_start(&c, queue, tasks.va, 1);
	behind = client_start(&c, queue_create(c.fd, c.vm, 1), tasks.va, 1);
	ASSERT_TRUE(hang_begins(self->in.node));
	go_to_sleep();
	EXPECT_EQ(-ETIME, syncobj_result(c.fd, done));
	EXPECT_EQ(1, syncobj_result(c.fd, behind));
	EXPECT_EQ(1, device_number(self->node, "reset_count"));
	client_close(&c);
}

/* What was set stays set. */
TEST_F(suspend, settings)
{
	ASSERT_EQ(0, device_write_try(self->node, "power_mode", "low_power"));
	ASSERT_EQ(0, device_write_try(self->node, "job_timeout_ms", "1234"));
	ASSERT_TRUE(emu_knob(self->node, "throttle", "1"));
	ASSERT_TRUE(device_becomes(self->node, "throttled", "1"));
	go_to_sleep();
	EXPECT_TRUE(device_is(self->node, "power_mode", "low_power"));
	EXPECT_EQ(1234, device_number(self->node, "job_timeout_ms"));
	EXPECT_TRUE(device_is(self->node, "throttled", "1"));
	ASSERT_TRUE(emu_knob(self->node, "throttle", "0"));
	EXPECT_TRUE(device_becomes(self->node, "throttled", "0"));
}

HARNESS_MAIN
