// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Long jobs make room between two of their tasks when somebody else wants the
 * engine, and go on afterwards as if nothing had been. A device of its own, whose
 * tasks take some milliseconds.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "instance.h"
#include "task.h"
#include "watch.h"

#define TASKS	160u
#define WORDS	16u

FIXTURE(preempt) {
	struct instance in;
	unsigned int engine;
};

/* The device, anew if it is there: each task takes that long. */
static void start(struct preempt_fixture *self, const char *task_us)
{
	instance_set(&self->in, "enabled", "0");
	instance_set(&self->in, "task_us", task_us);
	instance_enable(&self->in);
	/* Long jobs are long where every access is checked. */
	ASSERT_TRUE(instance_timeout(&self->in, 120000));
}

static void setup(struct preempt_fixture *self, const char *can)
{
	int fd, engine;

	instance_make(&self->in, "preempt");
	instance_set(&self->in, "profile", "m1");
	instance_set(&self->in, "paranoid", "1");
	instance_set(&self->in, "preempt", can);
	start(self, "5000");
	fd = dev_open_named(self->in.node);
	engine = engine_for(fd, UMA_OP_BINARY, UMA_DTYPE_F32, UMA_DTYPE_F32, UMA_DTYPE_F32);
	close(fd);
	ASSERT_GE(engine, 0);
	self->engine = (unsigned int)engine;
	expect_log();
}

FIXTURE_SETUP(preempt)
{
	setup(self, "1");
}

FIXTURE_TEARDOWN(preempt)
{
	instance_drop(&self->in);
}

/**
 * struct longjob - a client with a job that adds one to each of some words, task by task
 */
struct longjob {
	struct client c;
	struct buf tasks;
	struct buf data;
	__u32 queue;
	__u32 done;
};

/* dst = a + b, in place: a task that is done twice, or not at all, can be told. */
static void task_add(struct uma_task *t, __u64 dst, __u64 b)
{
	struct uma_elementwise_params p = { .func = htole32(UMA_BINARY_ADD) };

	task_init(t, UMA_OP_BINARY, 1u << UMA_SLOT_DST | 1u << UMA_SLOT_A | 1u << UMA_SLOT_B);
	memcpy(t->params, &p, sizeof(p));
	task_vector(t, UMA_SLOT_DST, UMA_DTYPE_F32, dst, WORDS);
	task_vector(t, UMA_SLOT_A, UMA_DTYPE_F32, dst, WORDS);
	task_vector(t, UMA_SLOT_B, UMA_DTYPE_F32, b, WORDS);
}

static void longjob_open(struct longjob *l, struct preempt_fixture *self)
{
	unsigned int i;

	client_open_named(&l->c, self->in.node);
	client_buf(&l->c, &l->tasks, (TASKS * UMA_TASK_SIZE + PAGE - 1) & ~(PAGE - 1));
	client_buf(&l->c, &l->data, PAGE);
	for (i = 0; i < WORDS; i++) {
		l->data.f32[i] = 0;
		l->data.f32[WORDS + i] = (float)(i + 1);
	}
	for (i = 0; i < TASKS; i++)
		task_add(&l->tasks.task[i], l->data.va, l->data.va + WORDS * sizeof(float));
	l->queue = queue_create(l->c.fd, l->c.vm, self->engine);
}

/* A neighbour: one task of it is a short job. */
static void shortjob(struct longjob *l)
{
	EXPECT_EQ(0, client_run(&l->c, l->queue, l->tasks.va, 1));
}

static void longjob_start(struct longjob *l)
{
	l->done = client_start(&l->c, l->queue, l->tasks.va, TASKS);
}

/* Tasks that it has done so far, as its memory shows. */
static unsigned int longjob_tasks(const struct longjob *l)
{
	float tasks;

	__atomic_load(l->data.f32, &tasks, __ATOMIC_RELAXED);
	return (unsigned int)tasks;
}

static bool longjob_right(struct longjob *l)
{
	int status = syncobj_result(l->c.fd, l->done);
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		if (l->data.f32[i] != (float)(TASKS * (i + 1)))
			break;
	if (status != 1 || i < WORDS)
		harness_diag("status %d, %u tasks, word %u is wrong", status, longjob_tasks(l), i);
	return status == 1 && i == WORDS;
}

static long long preemptions(struct preempt_fixture *self)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	static const char *const names[] = { "matrix", "gpu", "neural" };
	char file[64];
	int fd = dev_open_named(self->in.node);

	ASSERT_LT(self->engine, query_engines(fd, engines));
	close(fd);
	snprintf(file, sizeof(file), "engine-%s%u/preemptions",
		 names[engines[self->engine].engine_class], engines[self->engine].instance);
	return device_number(self->in.node, file);
}

/*
 * Three files have jobs of 160 tasks, and a fourth one runs jobs of one task: it gets many
 * done before any of the long ones is.
 */
TEST_F(preempt, neighbours_wait_for_a_slice)
{
	struct longjob l[3], neighbour;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		longjob_open(&l[i], self);
		longjob_start(&l[i]);
	}
	longjob_open(&neighbour, self);
	for (i = 0; i < 5; i++)
		shortjob(&neighbour);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, syncobj_status(l[i].c.fd, l[i].done));
	/* They share, too: none of them has waited for another to be done. */
	while (longjob_tasks(&l[2]) < TASKS / 2 && !syncobj_status(l[2].c.fd, l[2].done))
		usleep(1000);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, syncobj_status(l[i].c.fd, l[i].done));
	for (i = 0; i < 3; i++)
		EXPECT_TRUE(longjob_right(&l[i]));
	harness_diag("%lld preemptions", preemptions(self));
	EXPECT_GE(preemptions(self), 6);
	EXPECT_EQ(0, device_number(self->in.node, "reset_count"));
	for (i = 0; i < 3; i++)
		client_close(&l[i].c);
	client_close(&neighbour.c);
}

/* Nobody makes room for nobody, nor for the next job of its own queue. */
TEST_F(preempt, alone)
{
	struct longjob l;
	__u32 second;

	longjob_open(&l, self);
	longjob_start(&l);
	second = client_start(&l.c, l.queue, l.tasks.va, 1);
	EXPECT_EQ(1, syncobj_result(l.c.fd, second));
	EXPECT_EQ(1, syncobj_status(l.c.fd, l.done));
	EXPECT_EQ(0, preemptions(self));
	client_close(&l.c);
}

/* Two queues of one file: the long job of the one does not keep the other waiting. */
TEST_F(preempt, own_queues)
{
	struct longjob l;
	__u32 other, behind;

	longjob_open(&l, self);
	longjob_start(&l);
	other = queue_create(l.c.fd, l.c.vm, self->engine);
	behind = client_start(&l.c, l.queue, 0, 0);
	EXPECT_EQ(0, client_run(&l.c, other, l.tasks.va + PAGE, 1));
	EXPECT_EQ(0, syncobj_status(l.c.fd, l.done));
	/* What comes behind it in its own queue waits, be it ever so short. */
	EXPECT_EQ(0, syncobj_status(l.c.fd, behind));
	EXPECT_EQ(1, syncobj_result(l.c.fd, behind));
	EXPECT_EQ(1, syncobj_status(l.c.fd, l.done));
	client_close(&l.c);
}

/* What a queue says that it did is what one job does, however often it was stopped. */
TEST_F(preempt, counts)
{
	struct drm_uma_counters sum = {};
	struct drm_uma_counters_get get = {
		.size = sizeof(sum), .data = (uintptr_t)&sum,
	};
	struct drm_uma_job job = { .task_count = TASKS };
	struct uma_task_stamp *stamp;
	struct drm_uma_sync sync;
	struct longjob l, other;
	struct buf stamps;
	unsigned int i;

	longjob_open(&l, self);
	longjob_open(&other, self);
	client_buf(&l.c, &stamps, (TASKS * sizeof(*stamp) + PAGE - 1) & ~(PAGE - 1));
	l.done = syncobj_create(l.c.fd, false);
	sync = sync_out(l.done);
	job.queue_id = l.queue;
	job.tasks_addr = l.tasks.va;
	job.stamps_addr = stamps.va;
	job.syncs = array_of(&sync, sizeof(sync), 1);
	ASSERT_EQ(0, submit_try(l.c.fd, &job, 1, NULL));
	longjob_start(&other);
	EXPECT_TRUE(longjob_right(&l));
	EXPECT_TRUE(longjob_right(&other));
	EXPECT_GE(preemptions(self), 2);
	get.queue_id = l.queue;
	ASSERT_EQ(0, do_ioctl(l.c.fd, DRM_IOCTL_UMA_COUNTERS, &get));
	EXPECT_EQ(1, sum.jobs);
	EXPECT_EQ(TASKS, sum.tasks);
	EXPECT_EQ(0, sum.faults + sum.timeouts);
	EXPECT_EQ(TASKS * WORDS * sizeof(float) + TASKS * sizeof(*stamp), sum.write_bytes);
	/* Every task has its stamp, in their order. */
	stamp = stamps.map;
	for (i = 0; i < TASKS; i++) {
		EXPECT_LE(le64toh(stamp[i].start), le64toh(stamp[i].end));
		EXPECT_LT(i ? le64toh(stamp[i - 1].start) : 0, le64toh(stamp[i].start));
	}
	client_close(&l.c);
	client_close(&other.c);
}

/* Start a job and have it preempted: a neighbour got a job done before it. */
static void longjob_preempted(struct longjob *l, struct longjob *neighbour,
			      struct preempt_fixture *self)
{
	longjob_open(l, self);
	longjob_open(neighbour, self);
	longjob_start(l);
	while (!longjob_tasks(l))
		usleep(1000);
	shortjob(neighbour);
	EXPECT_GE(preemptions(self), 1);
	EXPECT_EQ(0, syncobj_status(l->c.fd, l->done));
}

/* A job hangs after it was stopped and continued: the state names the task in all of the job. */
TEST_F(preempt, hangs_later)
{
	struct drm_uma_queue_state state;
	struct longjob l, neighbour;
	char value[64];
	int i;

	ASSERT_TRUE(instance_timeout(&self->in, 3000));
	longjob_open(&l, self);
	longjob_open(&neighbour, self);
	/* Where it begins the first time is well, wherever it is continued is not. */
	snprintf(value, sizeof(value), "%#llx %#llx", l.tasks.va + UMA_TASK_SIZE,
		 (__u64)(TASKS - 1) * UMA_TASK_SIZE);
	if (!emu_knob(self->in.node, "hang_addr", value))
		SKIP("cannot make jobs hang");
	longjob_start(&l);
	for (i = 0; i < 3; i++)
		shortjob(&neighbour);
	EXPECT_EQ(-ETIME, syncobj_result(l.c.fd, l.done));
	shortjob(&neighbour);
	queue_state(l.c.fd, l.queue, &state);
	EXPECT_EQ(DRM_UMA_QUEUE_GUILTY | DRM_UMA_QUEUE_TIMEDOUT, state.flags);
	EXPECT_EQ(l.tasks.va, state.tasks_addr);
	EXPECT_EQ(longjob_tasks(&l), state.task_index);
	EXPECT_GE(state.task_index, 1);
	EXPECT_LT(state.task_index, TASKS);
	client_close(&l.c);
	client_close(&neighbour.c);
}

/* A task deep in the job faults. */
TEST_F(preempt, faults_later)
{
	const unsigned int bad = 40;
	struct drm_uma_queue_state state;
	struct longjob l, other;

	longjob_open(&l, self);
	longjob_open(&other, self);
	task_init(&l.tasks.task[bad], UMA_OP_COUNT, 0);
	longjob_start(&l);
	longjob_start(&other);
	EXPECT_EQ(-EFAULT, syncobj_result(l.c.fd, l.done));
	queue_state(l.c.fd, l.queue, &state);
	EXPECT_EQ(bad, state.task_index);
	EXPECT_EQ(UMA_FAULT_OPCODE, state.reason);
	EXPECT_EQ(bad, longjob_tasks(&l));
	EXPECT_GE(preemptions(self), 1);
	EXPECT_TRUE(longjob_right(&other));
	client_close(&l.c);
	client_close(&other.c);
}

/* The timeout is about time on the engine: waiting for others does not count. */
TEST_F_TIMEOUT(preempt, timeout_is_engine_time, 240)
{
	enum { FILES = 8 };
	struct longjob l[FILES];
	unsigned int i, ms;
	uint64_t begin;

	longjob_open(&l[0], self);
	begin = now_ns();
	longjob_start(&l[0]);
	EXPECT_TRUE(longjob_right(&l[0]));
	ms = (unsigned int)((now_ns() - begin) / 1000000);
	client_close(&l[0].c);
	/* Half of what they need together, and four times what one needs. */
	ASSERT_TRUE(instance_timeout(&self->in, ms * FILES / 2));
	for (i = 0; i < FILES; i++) {
		longjob_open(&l[i], self);
		longjob_start(&l[i]);
	}
	for (i = 0; i < FILES; i++)
		EXPECT_TRUE(longjob_right(&l[i]));
	EXPECT_EQ(0, device_number(self->in.node, "timeout_count"));
	for (i = 0; i < FILES; i++)
		client_close(&l[i].c);
}

/* Who has too much of it in slices is given up all the same. */
TEST_F(preempt, times_out_in_slices)
{
	struct longjob l, other;

	ASSERT_TRUE(instance_timeout(&self->in, 400));
	longjob_open(&l, self);
	longjob_open(&other, self);
	longjob_start(&l);
	longjob_start(&other);
	EXPECT_EQ(-ETIME, syncobj_result(l.c.fd, l.done));
	EXPECT_EQ(-ETIME, syncobj_result(other.c.fd, other.done));
	EXPECT_GE(longjob_tasks(&l), 1);
	EXPECT_GE(preemptions(self), 1);
	client_close(&l.c);
	client_close(&other.c);
}

/* A queue is destroyed while its job waits to be continued: what has begun finishes. */
TEST_F(preempt, queue_destroyed)
{
	struct longjob l, neighbour;
	__u32 behind;

	longjob_preempted(&l, &neighbour, self);
	behind = client_start(&l.c, l.queue, l.tasks.va, 1);
	EXPECT_EQ(0, queue_destroy_try(l.c.fd, l.queue));
	shortjob(&neighbour);
	EXPECT_TRUE(longjob_right(&l));
	EXPECT_EQ(-ECANCELED, syncobj_result(l.c.fd, behind));
	client_close(&l.c);
	client_close(&neighbour.c);
}

/* Memory goes while the job waits: it goes on with what it still has, or faults. */
TEST_F(preempt, memory_unbound)
{
	struct longjob l, neighbour;
	struct buf other;

	longjob_preempted(&l, &neighbour, self);
	client_buf(&l.c, &other, PAGE);
	vm_unmap(l.c.fd, l.c.vm, other.va, PAGE);
	shortjob(&neighbour);
	EXPECT_EQ(0, syncobj_status(l.c.fd, l.done));
	vm_unmap(l.c.fd, l.c.vm, l.data.va, PAGE);
	EXPECT_EQ(-EFAULT, syncobj_result(l.c.fd, l.done));
	shortjob(&neighbour);
	client_close(&l.c);
	client_close(&neighbour.c);
}

/* Fewer hardware address spaces than clients: each slice may need one set up. */
TEST_F(preempt, address_spaces_are_stolen)
{
	struct longjob l[5];
	struct instance in;
	unsigned int i;

	instance_make(&in, "preempt-as");
	instance_set(&in, "profile", "m1");
	instance_set(&in, "paranoid", "1");
	instance_set(&in, "task_us", "2000");
	instance_set(&in, "address_spaces", "2");
	instance_enable(&in);
	instance_drop(&self->in);
	self->in = in;
	for (i = 0; i < 5; i++) {
		longjob_open(&l[i], self);
		longjob_start(&l[i]);
	}
	for (i = 0; i < 5; i++)
		EXPECT_TRUE(longjob_right(&l[i]));
	EXPECT_GE(preemptions(self), 5);
	for (i = 0; i < 5; i++)
		client_close(&l[i].c);
}

/* The client is killed while its job waits to be continued. */
TEST_F(preempt, killed)
{
	struct longjob l, neighbour;
	char path[256];
	pid_t pid;
	int i;

	ASSERT_TRUE(dev_debugfs(self->in.node, "bo_count", path, sizeof(path)));
	pid = harness_fork();
	if (!pid) {
		longjob_preempted(&l, &neighbour, self);
		for (;;)
			shortjob(&neighbour);
	}
	while (!preemptions(self))
		usleep(1000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	longjob_open(&neighbour, self);
	for (i = 0; i < 5; i++)
		shortjob(&neighbour);
	/* A mapping would keep the file. */
	munmap(neighbour.tasks.map, neighbour.tasks.size);
	munmap(neighbour.data.map, neighbour.data.size);
	client_close(&neighbour.c);
	/* Nothing of either is left in the end. */
	for (i = 0; i < 5000 && read_number(path); i++)
		usleep(1000);
	EXPECT_EQ(0, read_number(path));
}

/* Lines of the list of queues, but for its head. */
static int queue_lines(struct preempt_fixture *self)
{
	char path[256], line[256];
	int n = -1;
	FILE *f;

	ASSERT_TRUE(dev_debugfs(self->in.node, "queues", path, sizeof(path)));
	f = fopen(path, "r");
	ASSERT_TRUE(f);
	while (fgets(line, sizeof(line), f))
		n++;
	fclose(f);
	return n;
}

/* Jobs that are done while another one waits to be continued are freed before that one is done. */
TEST_F(preempt, others_are_freed)
{
	struct longjob l, neighbour;
	int i;

	start(self, "50000");
	longjob_preempted(&l, &neighbour, self);
	munmap(neighbour.tasks.map, neighbour.tasks.size);
	munmap(neighbour.data.map, neighbour.data.size);
	client_close(&neighbour.c);
	for (i = 0; i < 2000 && queue_lines(self) > 1; i++)
		usleep(1000);
	EXPECT_EQ(1, queue_lines(self));
	EXPECT_EQ(0, syncobj_status(l.c.fd, l.done));
	EXPECT_TRUE(longjob_right(&l));
	client_close(&l.c);
}

/* Nor when it waits for long, as its client is penalized for another one. */
TEST_F_TIMEOUT(preempt, others_are_freed_amid_a_penalty, 240)
{
	struct longjob l, neighbour;
	struct drm_uma_job jobs[64];
	struct drm_uma_sync sync;
	__u32 other, done;
	unsigned int i, n;
	char mask[16];

	ASSERT_TRUE(instance_timeout(&self->in, 8000));
	longjob_open(&l, self);
	longjob_start(&l);
	while (!longjob_tasks(&l))
		usleep(1000);
	other = queue_create(l.c.fd, l.c.vm, self->engine);
	snprintf(mask, sizeof(mask), "%u", 1u << self->engine);
	if (!emu_knob(self->in.node, "hang_next", mask))
		SKIP("cannot make jobs hang");
	done = client_start(&l.c, other, l.tasks.va, 1);
	EXPECT_EQ(-ETIME, syncobj_result(l.c.fd, done));
	EXPECT_EQ(0, syncobj_status(l.c.fd, l.done));
	longjob_open(&neighbour, self);
	memset(jobs, 0, sizeof(jobs));
	for (i = 0; i < 64; i++)
		jobs[i].queue_id = neighbour.queue;
	jobs[0].tasks_addr = neighbour.tasks.va;
	jobs[0].task_count = 1;
	for (n = 0; n < 20; n++) {
		done = syncobj_create(neighbour.c.fd, false);
		sync = sync_out(done);
		jobs[63].syncs = array_of(&sync, sizeof(sync), 1);
		ASSERT_EQ(0, submit_try(neighbour.c.fd, jobs, 64, NULL));
		EXPECT_EQ(1, syncobj_result(neighbour.c.fd, done));
		syncobj_destroy_try(neighbour.c.fd, done);
	}
	munmap(neighbour.tasks.map, neighbour.tasks.size);
	munmap(neighbour.data.map, neighbour.data.size);
	client_close(&neighbour.c);
	for (i = 0; i < 1000 && queue_lines(self) > 2; i++)
		usleep(1000);
	EXPECT_EQ(2, queue_lines(self));
	EXPECT_EQ(0, syncobj_status(l.c.fd, l.done));
	EXPECT_TRUE(longjob_right(&l));
	client_close(&l.c);
}

/* The device goes with jobs that run, that wait to be continued, and that wait behind these. */
TEST_F(preempt, unplugged)
{
	struct longjob l[3];
	int file[6], i;
	__u32 behind;

	start(self, "100000");
	for (i = 0; i < 3; i++) {
		longjob_open(&l[i], self);
		longjob_start(&l[i]);
		behind = client_start(&l[i].c, l[i].queue, 0, 0);
		ASSERT_EQ(0, syncobj_export_try(l[i].c.fd, l[i].done, true, &file[2 * i]));
		ASSERT_EQ(0, syncobj_export_try(l[i].c.fd, behind, true, &file[2 * i + 1]));
	}
	while (preemptions(self) < 3)
		usleep(1000);
	instance_drop(&self->in);
	for (i = 0; i < 6; i++) {
		EXPECT_EQ(-ENODEV, sync_file_wait(file[i]));
		close(file[i]);
	}
	for (i = 0; i < 3; i++)
		client_close(&l[i].c);
}

/* Real time does not wait for a slice to be over. */
TEST_F(preempt, realtime_at_once)
{
	struct drm_uma_queue_create realtime = { .priority = DRM_UMA_PRIORITY_REALTIME };
	struct drm_uma_query_engine engines[MAX_ENGINES];
	struct longjob l, neighbour;
	unsigned int before = 0;
	int i;

	ASSERT_EQ(0, device_write_try(self->in.node, "time_slice_ms", "600000"));
	longjob_open(&l, self);
	longjob_start(&l);
	longjob_open(&neighbour, self);
	ASSERT_LT(self->engine, query_engines(neighbour.c.fd, engines));
	realtime.vm_id = neighbour.c.vm;
	realtime.engine_class = engines[self->engine].engine_class;
	realtime.instances = 1u << engines[self->engine].instance;
	ASSERT_EQ(0, queue_create_try(neighbour.c.fd, &realtime, &neighbour.queue));
	for (i = 0; i < 3; i++) {
		before = longjob_tasks(&l);
		shortjob(&neighbour);
	}
	EXPECT_LT(before, TASKS);
	EXPECT_EQ(0, syncobj_status(l.c.fd, l.done));
	EXPECT_TRUE(longjob_right(&l));
	client_close(&l.c);
	client_close(&neighbour.c);
}

/* A reset of the whole device, because another engine does not come back: the job is continued. */
TEST_F_TIMEOUT(preempt, survives_a_device_reset, 240)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	struct longjob l;
	struct client c;
	struct buf tasks;
	char mask[16];
	unsigned int n, other;
	__u32 queue;

	/* The engine's reset takes its time to fail. */
	start(self, "100000");
	longjob_open(&l, self);
	longjob_start(&l);
	while (!longjob_tasks(&l))
		usleep(1000);
	client_open_named(&c, self->in.node);
	client_buf(&c, &tasks, PAGE);
	task_nop(tasks.task);
	n = query_engines(c.fd, engines);
	other = self->engine ? 0 : n - 1;
	snprintf(mask, sizeof(mask), "%u", 1u << other);
	if (!emu_knob(self->in.node, "hang_next", mask))
		SKIP("cannot make jobs hang");
	ASSERT_TRUE(emu_knob(self->in.node, "fail_reset", "1"));
	queue = queue_create_timeout(c.fd, c.vm, engines[other].engine_class,
				     engines[other].instance, 100);
	EXPECT_EQ(-ETIME, client_run(&c, queue, tasks.va, 1));
	EXPECT_LT(longjob_tasks(&l), TASKS);
	EXPECT_TRUE(longjob_right(&l));
	client_close(&c);
	client_close(&l.c);
}

/* A device that cannot stop between tasks: others wait for all of the job. */
FIXTURE(unable) {
	struct preempt_fixture f;
};

FIXTURE_SETUP(unable)
{
	setup(&self->f, "0");
}

FIXTURE_TEARDOWN(unable)
{
	instance_drop(&self->f.in);
}

TEST_F(unable, waits)
{
	struct longjob l, neighbour;

	longjob_open(&l, &self->f);
	longjob_start(&l);
	longjob_open(&neighbour, &self->f);
	shortjob(&neighbour);
	EXPECT_EQ(1, syncobj_status(l.c.fd, l.done));
	EXPECT_TRUE(longjob_right(&l));
	EXPECT_EQ(0, preemptions(&self->f));
	client_close(&l.c);
	client_close(&neighbour.c);
}

HARNESS_MAIN
