// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Long jobs make room between two of their tasks when somebody else wants the
 * engine, and go on afterwards as if nothing had been. A device of its own, whose
 * tasks take long, so that a job lasts for as long as a test needs it, on a slow machine too, until
 * hurry() has the rest of it done at once. All are in one file, as all need long jobs.
 */
#include <poll.h>
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

/* Many, so that what a test does meanwhile may take a minute. */
#define TASKS	1024u
/* All do the same: these are in memory, and repeated. */
#define TASKS_IN_MEMORY	64u
/* That many have had slices enough. */
#define SOME	10u
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
	start(self, "50000");
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
	const char *node;
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

	l->node = self->in.node;
	client_open_named(&l->c, l->node);
	client_buf_repeated(&l->c, &l->tasks, TASKS_IN_MEMORY * UMA_TASK_SIZE,
			    TASKS / TASKS_IN_MEMORY);
	client_buf(&l->c, &l->data, PAGE);
	for (i = 0; i < WORDS; i++) {
		l->data.f32[i] = 0;
		l->data.f32[WORDS + i] = (float)(i + 1);
	}
	for (i = 0; i < TASKS_IN_MEMORY; i++)
		task_add(&l->tasks.task[i], l->data.va, l->data.va + WORDS * sizeof(float));
	l->queue = queue_create(l->c.fd, l->c.vm, self->engine);
}

/* A neighbour whose jobs wait for nobody. */
static void longjob_realtime(struct longjob *l, struct preempt_fixture *self, __u32 timeout_ms)
{
	struct drm_uma_queue_create realtime = {
		.priority = DRM_UMA_PRIORITY_REALTIME, .timeout_ms = timeout_ms,
	};
	struct drm_uma_query_engine engines[MAX_ENGINES];

	longjob_open(l, self);
	/* Its only queue: tests count them. */
	ASSERT_EQ(0, queue_destroy_try(l->c.fd, l->queue));
	ASSERT_LT(self->engine, query_engines(l->c.fd, engines));
	realtime.vm_id = l->c.vm;
	realtime.engine_class = engines[self->engine].engine_class;
	realtime.instances = 1u << engines[self->engine].instance;
	ASSERT_EQ(0, queue_create_try(l->c.fd, &realtime, &l->queue));
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

/* What has been told apart need not take long any more. */
static void hurry(const struct longjob *l)
{
	ASSERT_TRUE(emu_knob(l->node, "task_us", "0"));
}

/* The job has done all that it should. */
static bool longjob_right(struct longjob *l)
{
	unsigned int i;
	int status;

	hurry(l);
	status = syncobj_result(l->c.fd, l->done);
	for (i = 0; i < WORDS; i++)
		if (l->data.f32[i] != (float)(TASKS * (i + 1)))
			break;
	if (status != 1 || i < WORDS)
		harness_diag("status %d, %u tasks, word %u is wrong", status, longjob_tasks(l), i);
	return status == 1 && i == WORDS;
}

static long long preemptions(struct preempt_fixture *self)
{
	return engine_number(self->in.node, self->engine, "preemptions");
}

/*
 * Three files have long jobs, and a fourth one runs jobs of one task: it gets many
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
	while (longjob_tasks(&l[2]) < 2 * SOME && !syncobj_status(l[2].c.fd, l[2].done))
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
	/* Many slices. */
	while (longjob_tasks(&l) < SOME)
		usleep(1000);
	hurry(&l);
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
	hurry(&l);
	EXPECT_EQ(1, syncobj_result(l.c.fd, behind));
	EXPECT_EQ(1, syncobj_status(l.c.fd, l.done));
	client_close(&l.c);
}

/* As longjob_start(), of fewer tasks, perhaps with a buffer. Returns the stamps of the tasks. */
static struct uma_task_stamp *longjob_start_stamped(struct longjob *l, __u32 tasks,
						    const struct drm_uma_job_bo *bo)
{
	struct drm_uma_job job = {
		.queue_id = l->queue, .tasks_addr = l->tasks.va, .task_count = tasks,
	};
	struct drm_uma_sync sync;
	struct buf stamps;

	client_buf(&l->c, &stamps,
		   (tasks * sizeof(struct uma_task_stamp) + PAGE - 1) & ~(PAGE - 1));
	l->done = syncobj_create(l->c.fd, false);
	sync = sync_out(l->done);
	job.stamps_addr = stamps.va;
	job.syncs = array_of(&sync, sizeof(sync), 1);
	if (bo)
		job.bos = array_of(bo, sizeof(*bo), 1);
	ASSERT_EQ(0, submit_try(l->c.fd, &job, 1, NULL));
	return stamps.map;
}

/* What a queue says that it did is what one job does, however often it was stopped. */
TEST_F(preempt, counts)
{
	struct drm_uma_counters sum = {};
	struct drm_uma_counters_get get = {
		.size = sizeof(sum), .data = (uintptr_t)&sum,
	};
	struct uma_task_stamp *stamp;
	struct longjob l, other;
	unsigned int i;

	longjob_open(&l, self);
	longjob_open(&other, self);
	stamp = longjob_start_stamped(&l, TASKS, NULL);
	longjob_start(&other);
	while (preemptions(self) < 2)
		usleep(1000);
	EXPECT_TRUE(longjob_right(&l));
	EXPECT_TRUE(longjob_right(&other));
	get.queue_id = l.queue;
	ASSERT_EQ(0, do_ioctl(l.c.fd, DRM_IOCTL_UMA_COUNTERS, &get));
	EXPECT_EQ(1, sum.jobs);
	EXPECT_EQ(TASKS, sum.tasks);
	EXPECT_EQ(0, sum.faults + sum.timeouts);
	EXPECT_EQ(TASKS * WORDS * sizeof(float) + TASKS * sizeof(*stamp), sum.write_bytes);
	/* Every task has its stamp, in their order. */
	for (i = 0; i < TASKS; i++) {
		EXPECT_LE(le64toh(stamp[i].start), le64toh(stamp[i].end));
		EXPECT_LT(i ? le64toh(stamp[i - 1].start) : 0, le64toh(stamp[i].start));
	}
	client_close(&l.c);
	client_close(&other.c);
}

/* Tasks that ended in a time of the device's clock. */
static unsigned int stamps_between(const struct uma_task_stamp *stamp, __u64 start, __u64 end)
{
	unsigned int i, n = 0;

	for (i = 0; i < TASKS; i++)
		n += le64toh(stamp[i].end) > start && le64toh(stamp[i].end) <= end;
	return n;
}

/*
 * The fence of a preempted job on a shared buffer signals when all of the job is done. Until then
 * each other client has as much of the engine, a slice and a tile, which is less than two tasks.
 */
TEST_F(preempt, fence_of_a_buffer)
{
	/* What begins before the job is queued, on a slow machine, is more than that. */
	const unsigned int tasks = 20, more = 4;
	struct longjob l, other[2];
	struct uma_task_stamp *stamp, *theirs[2];
	struct drm_uma_timestamp now = {};
	struct drm_uma_job_bo bo = { .flags = DRM_UMA_JOB_BO_WRITE };
	struct pollfd fd = { .events = POLLIN };
	unsigned int i, n;

	for (i = 0; i < 2; i++) {
		longjob_open(&other[i], self);
		theirs[i] = longjob_start_stamped(&other[i], TASKS, NULL);
	}
	longjob_open(&l, self);
	bo.handle = l.data.handle;
	ASSERT_EQ(0, prime_export_try(l.c.fd, bo.handle, DRM_CLOEXEC, &fd.fd));
	for (i = 0; i < 2; i++)
		while (!longjob_tasks(&other[i]))
			usleep(1000);
	stamp = longjob_start_stamped(&l, tasks, &bo);
	ASSERT_EQ(0, do_ioctl(l.c.fd, DRM_IOCTL_UMA_TIMESTAMP, &now));
	while (longjob_tasks(&l) < 2)
		usleep(1000);
	EXPECT_EQ(0, poll(&fd, 1, 0));
	EXPECT_EQ(1, poll(&fd, 1, -1));
	EXPECT_EQ(tasks, longjob_tasks(&l));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, syncobj_status(other[i].c.fd, other[i].done));
		n = stamps_between(theirs[i], now.device, le64toh(stamp[tasks - 1].end));
		harness_diag("%u tasks beside %u", n, tasks);
		EXPECT_LE(n, tasks + more);
		EXPECT_GE(n, tasks - more);
	}
	close(fd.fd);
	for (i = 0; i < 2; i++) {
		EXPECT_TRUE(longjob_right(&other[i]));
		client_close(&other[i].c);
	}
	client_close(&l.c);
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
	EXPECT_GE(preemptions(self), 1);
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

/*
 * The timeout is about time on the engine: a job that was preempted waits for another one for
 * longer than that, and then is done at once.
 */
TEST_F(preempt, timeout_is_engine_time)
{
	const unsigned int timeout_ms = 4000;
	struct longjob l, neighbour;
	unsigned int tasks;
	uint64_t begin;

	ASSERT_TRUE(instance_timeout(&self->in, timeout_ms));
	longjob_open(&l, self);
	longjob_realtime(&neighbour, self, 600000);
	longjob_start(&l);
	while (!longjob_tasks(&l))
		usleep(1000);
	/* It stops after its task, and does not go on before the other one is done. */
	ASSERT_TRUE(emu_knob(self->in.node, "task_us", "500000"));
	longjob_start(&neighbour);
	while (!preemptions(self))
		usleep(1000);
	begin = now_ns();
	tasks = longjob_tasks(&l);
	while (now_ns() - begin < timeout_ms * 1000000ull)
		usleep(10000);
	EXPECT_EQ(0, syncobj_status(neighbour.c.fd, neighbour.done));
	EXPECT_EQ(tasks, longjob_tasks(&l));
	EXPECT_EQ(0, syncobj_status(l.c.fd, l.done));
	EXPECT_TRUE(longjob_right(&neighbour));
	EXPECT_TRUE(longjob_right(&l));
	EXPECT_EQ(0, device_number(self->in.node, "timeout_count"));
	client_close(&l.c);
	client_close(&neighbour.c);
}

/* Who has too much of it in slices is given up all the same. */
TEST_F(preempt, times_out_in_slices)
{
	struct longjob l, other;

	ASSERT_TRUE(instance_timeout(&self->in, 1000));
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

/* From here on no task ends by itself, but for the one that runs. */
static void stand_still(const struct longjob *l)
{
	ASSERT_TRUE(emu_knob(l->node, "task_us", "600000000"));
}

/* The engine is a neighbour's for good: what waits to be continued goes on waiting. */
static void realtime_takes_over(struct longjob *rt, struct preempt_fixture *self)
{
	longjob_realtime(rt, self, 600000);
	longjob_start(rt);
	while (!longjob_tasks(rt))
		usleep(1000);
	stand_still(rt);
}

/* A queue is destroyed while its job waits to be continued: it is ended at once. */
TEST_F(preempt, queue_destroyed)
{
	struct longjob l, neighbour;
	unsigned int tasks;
	__u32 behind;

	longjob_open(&l, self);
	longjob_start(&l);
	while (!longjob_tasks(&l))
		usleep(1000);
	realtime_takes_over(&neighbour, self);
	tasks = longjob_tasks(&l);
	behind = client_start(&l.c, l.queue, l.tasks.va, 1);
	EXPECT_EQ(0, queue_destroy_try(l.c.fd, l.queue));
	EXPECT_EQ(-ECANCELED, syncobj_result(l.c.fd, l.done));
	EXPECT_EQ(-ECANCELED, syncobj_result(l.c.fd, behind));
	EXPECT_EQ(0, syncobj_status(neighbour.c.fd, neighbour.done));
	EXPECT_EQ(tasks, longjob_tasks(&l));
	client_close(&l.c);
	client_close(&neighbour.c);
}

/* A queue is destroyed while its job runs, and nobody else wants the engine: it stops, too. */
TEST_F(preempt, queue_destroyed_while_it_runs)
{
	struct longjob l;

	longjob_open(&l, self);
	longjob_start(&l);
	while (!longjob_tasks(&l))
		usleep(1000);
	EXPECT_EQ(0, queue_destroy_try(l.c.fd, l.queue));
	EXPECT_EQ(-ECANCELED, syncobj_result(l.c.fd, l.done));
	EXPECT_LT(longjob_tasks(&l), TASKS);
	l.queue = queue_create(l.c.fd, l.c.vm, self->engine);
	shortjob(&l);
	client_close(&l.c);
}

/* The administrator resets the device: also what waits to be continued is ended, and no more. */
TEST_F(preempt, reset_ends_all)
{
	struct longjob l[3], neighbour;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		longjob_open(&l[i], self);
		longjob_start(&l[i]);
	}
	for (i = 0; i < 3; i++)
		while (!longjob_tasks(&l[i]))
			usleep(1000);
	realtime_takes_over(&neighbour, self);
	EXPECT_EQ(0, device_write_try(self->in.node, "reset", "device"));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-ECANCELED, syncobj_result(l[i].c.fd, l[i].done));
	EXPECT_EQ(-ECANCELED, syncobj_result(neighbour.c.fd, neighbour.done));
	/* Nobody is to blame. */
	hurry(&neighbour);
	for (i = 0; i < 3; i++) {
		shortjob(&l[i]);
		client_close(&l[i].c);
	}
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
	instance_set(&in, "task_us", "20000");
	instance_set(&in, "address_spaces", "2");
	instance_enable(&in);
	instance_drop(&self->in);
	self->in = in;
	for (i = 0; i < 5; i++) {
		longjob_open(&l[i], self);
		longjob_start(&l[i]);
	}
	/* Each has had one more than once. */
	while (preemptions(self) < 10)
		usleep(1000);
	for (i = 0; i < 5; i++)
		EXPECT_TRUE(longjob_right(&l[i]));
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
	while (read_number(path))
		usleep(1000);
}

/*
 * A process is killed whose job has not begun, as it waits for one of somebody else's: the job
 * goes on waiting, but no memory with it, pinned or not.
 */
TEST_F(preempt, killed_before_it_begins)
{
	char bos[256], pinned[256];
	long long had_bos, had_pinned;
	struct longjob l, waits;
	int fence, ready[2];
	__u32 after, handle;
	pid_t pid;
	char c;

	ASSERT_TRUE(dev_debugfs(self->in.node, "bo_count", bos, sizeof(bos)));
	ASSERT_TRUE(dev_debugfs(self->in.node, "pinned_pages", pinned, sizeof(pinned)));
	longjob_open(&l, self);
	longjob_start(&l);
	ASSERT_EQ(0, syncobj_export_try(l.c.fd, l.done, false, &fence));
	ASSERT_EQ(0, pipe(ready));
	had_bos = read_number(bos);
	had_pinned = read_number(pinned);
	pid = harness_fork();
	if (!pid) {
		void *p = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		ASSERT_TRUE(p != MAP_FAILED);
		longjob_open(&waits, self);
		ASSERT_EQ(0, bo_import_user_try(waits.c.fd, p, 16 * PAGE, 0, &handle));
		client_bind_handle(&waits.c, handle, 16 * PAGE, 0);
		ASSERT_EQ(0, syncobj_import_try(waits.c.fd, fence, false, &after));
		client_start_after(&waits.c, waits.queue, waits.tasks.va, 1, after);
		ASSERT_EQ(1, write(ready[1], "", 1));
		for (;;)
			pause();
	}
	ASSERT_EQ(1, read(ready[0], &c, 1));
	EXPECT_EQ(had_pinned + 16, read_number(pinned));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while (read_number(bos) > had_bos || read_number(pinned) > had_pinned) {
		ASSERT_EQ(0, syncobj_status(l.c.fd, l.done));
		usleep(1000);
	}
	EXPECT_EQ(0, syncobj_status(l.c.fd, l.done));
	EXPECT_TRUE(longjob_right(&l));
	client_close(&l.c);
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

/*
 * Many processes are killed whose jobs wait to be continued: neither queues nor memory of them
 * are left though another job has the engine all the time.
 */
TEST_F(preempt, many_killed)
{
	struct longjob l, rt;
	char path[256];
	pid_t pid[6];
	unsigned int i;

	ASSERT_TRUE(dev_debugfs(self->in.node, "bo_count", path, sizeof(path)));
	for (i = 0; i < 6; i++) {
		pid[i] = harness_fork();
		if (!pid[i]) {
			longjob_open(&l, self);
			longjob_start(&l);
			for (;;)
				pause();
		}
	}
	/* They have taken turns. */
	while (preemptions(self) < 12 || queue_lines(self) < 6)
		usleep(1000);
	realtime_takes_over(&rt, self);
	for (i = 0; i < 6; i++)
		kill(pid[i], SIGKILL);
	for (i = 0; i < 6; i++)
		waitpid(pid[i], NULL, 0);
	while (queue_lines(self) > 1 || read_number(path) > 2)
		usleep(1000);
	EXPECT_EQ(0, syncobj_status(rt.c.fd, rt.done));
	client_close(&rt.c);
}

/* Jobs that are done while another one waits to be continued are freed before that one is done. */
TEST_F(preempt, others_are_freed)
{
	struct longjob l, neighbour;

	longjob_preempted(&l, &neighbour, self);
	munmap(neighbour.tasks.map, neighbour.tasks.size);
	munmap(neighbour.data.map, neighbour.data.size);
	client_close(&neighbour.c);
	while (queue_lines(self) > 1)
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

	longjob_open(&l, self);
	longjob_start(&l);
	while (!longjob_tasks(&l))
		usleep(1000);
	/* Of the other one: what goes on after the penalty has time for all that comes then. */
	ASSERT_TRUE(instance_timeout(&self->in, 5000));
	other = queue_create(l.c.fd, l.c.vm, self->engine);
	snprintf(mask, sizeof(mask), "%u", 1u << self->engine);
	if (!emu_knob(self->in.node, "hang_next", mask))
		SKIP("cannot make jobs hang");
	done = client_start(&l.c, other, l.tasks.va, 1);
	EXPECT_EQ(-ETIME, syncobj_result(l.c.fd, done));
	ASSERT_TRUE(instance_timeout(&self->in, 120000));
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
	while (queue_lines(self) > 2)
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
	struct longjob l, neighbour;
	unsigned int before = 0;
	int i;

	ASSERT_EQ(0, device_write_try(self->in.node, "time_slice_ms", "600000"));
	longjob_open(&l, self);
	longjob_start(&l);
	longjob_realtime(&neighbour, self, 0);
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

	/* The engine's reset takes its time to fail, and the job longer. */
	instance_set(&self->in, "enabled", "0");
	instance_set(&self->in, "reset_ms", "1500");
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

/* A slice that is longer than the job: its neighbour waits for all of it. */
TEST_F(preempt, no_slices)
{
	struct longjob l, neighbour;
	__u32 done;

	ASSERT_EQ(0, device_write_try(self->in.node, "time_slice_ms", "600000"));
	longjob_open(&l, self);
	longjob_open(&neighbour, self);
	longjob_start(&l);
	done = client_start(&neighbour.c, neighbour.queue, neighbour.tasks.va, 1);
	while (longjob_tasks(&l) < SOME)
		usleep(1000);
	EXPECT_EQ(0, syncobj_status(neighbour.c.fd, done));
	hurry(&l);
	EXPECT_EQ(1, syncobj_result(neighbour.c.fd, done));
	EXPECT_EQ(1, syncobj_status(l.c.fd, l.done));
	EXPECT_TRUE(longjob_right(&l));
	EXPECT_EQ(0, preemptions(self));
	client_close(&l.c);
	client_close(&neighbour.c);
}

/* A device with that many hardware address spaces, in place of the one that the fixture made. */
static void few_address_spaces(struct preempt_fixture *self, const char *count)
{
	instance_set(&self->in, "enabled", "0");
	instance_set(&self->in, "address_spaces", count);
	start(self, "50000");
}

/* A client of another engine than that of the long jobs. */
static void elsewhere(struct preempt_fixture *self, struct client *c, struct buf *tasks,
		      __u32 *queue, unsigned int engine)
{
	client_open_named(c, self->in.node);
	client_buf(c, tasks, PAGE);
	task_nop(tasks->task);
	*queue = queue_create(c->fd, c->vm, engine);
}

/*
 * Two files have all address spaces with long jobs, and nobody else wants their engines: they make
 * room for who wants another engine, and has to wait for an address space.
 */
TEST_F(preempt, address_space_waited_for)
{
	struct longjob l, busy;
	struct client c;
	struct buf tasks;
	unsigned int i;
	__u32 queue;

	few_address_spaces(self, "2");
	longjob_open(&l, self);
	longjob_open(&busy, self);
	for (i = 0; i < TASKS_IN_MEMORY; i++)
		task_nop(&busy.tasks.task[i]);
	longjob_start(&l);
	busy.queue = queue_create(busy.c.fd, busy.c.vm, self->engine ? 0 : 1);
	longjob_start(&busy);
	while (!longjob_tasks(&l))
		usleep(1000);
	elsewhere(self, &c, &tasks, &queue, 2);
	for (i = 0; i < 5; i++)
		EXPECT_EQ(0, client_run(&c, queue, tasks.va, 1));
	EXPECT_EQ(0, syncobj_status(l.c.fd, l.done));
	EXPECT_EQ(0, syncobj_status(busy.c.fd, busy.done));
	EXPECT_TRUE(longjob_right(&l));
	EXPECT_EQ(1, syncobj_result(busy.c.fd, busy.done));
	EXPECT_GE(preemptions(self), 1);
	client_close(&l.c);
	client_close(&busy.c);
	client_close(&c);
}

/* One file has a long job on each of two engines, so that one of them is always on the device. */
TEST_F(preempt, address_space_shared)
{
	struct longjob l;
	struct client c;
	struct buf nops, tasks;
	__u32 queue, beside;
	unsigned int i;

	few_address_spaces(self, "1");
	longjob_open(&l, self);
	client_buf_repeated(&l.c, &nops, l.tasks.size, TASKS / TASKS_IN_MEMORY);
	for (i = 0; i < TASKS_IN_MEMORY; i++)
		task_nop(&nops.task[i]);
	longjob_start(&l);
	queue = queue_create(l.c.fd, l.c.vm, self->engine ? 0 : 1);
	beside = client_start(&l.c, queue, nops.va, TASKS);
	while (!longjob_tasks(&l))
		usleep(1000);
	elsewhere(self, &c, &tasks, &queue, 2);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, client_run(&c, queue, tasks.va, 1));
	EXPECT_EQ(0, syncobj_status(l.c.fd, l.done));
	EXPECT_EQ(0, syncobj_status(l.c.fd, beside));
	EXPECT_TRUE(longjob_right(&l));
	EXPECT_EQ(1, syncobj_result(l.c.fd, beside));
	client_close(&c);
	client_close(&l.c);
}

static void close_files(struct preempt_fixture *self, bool destroy)
{
	struct longjob l[4], neighbour;
	long long before = preemptions(self);
	unsigned int cancelled = 0, i;
	int file[4];

	for (i = 0; i < 4; i++) {
		longjob_open(&l[i], self);
		longjob_start(&l[i]);
	}
	while (preemptions(self) < before + 4)
		usleep(1000);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, syncobj_export_try(l[i].c.fd, l[i].done, true, &file[i]));
		if (destroy)
			EXPECT_EQ(0, queue_destroy_try(l[i].c.fd, l[i].queue));
		/* A mapping would keep the file. */
		munmap(l[i].tasks.map, l[i].tasks.size);
		munmap(l[i].data.map, l[i].data.size);
		client_close(&l[i].c);
	}
	longjob_open(&neighbour, self);
	for (i = 0; i < 5; i++)
		shortjob(&neighbour);
	for (i = 0; i < 4; i++) {
		int status = sync_file_wait(file[i]);

		EXPECT_TRUE(status == -ECANCELED || status >= 0);
		cancelled += status == -ECANCELED;
		close(file[i]);
	}
	/* The one that ran may have been in its last task. */
	EXPECT_GE(cancelled, 3);
	client_close(&neighbour.c);
}

/* Its owner has closed the file: a job that runs stops after its task, the others go at once. */
TEST_F(preempt, closed_files_give_way)
{
	close_files(self, false);
}

/* Nor does it help to destroy the queue before. */
TEST_F(preempt, closed_files_without_queues)
{
	close_files(self, true);
}

/* What they waited for is not kept for them: others of their engine, and of another one, get it. */
TEST_F(preempt, closed_files_and_address_spaces)
{
	struct client c;
	struct buf tasks;
	__u32 queue;
	int i;

	few_address_spaces(self, "1");
	for (i = 0; i < 3; i++) {
		close_files(self, false);
		elsewhere(self, &c, &tasks, &queue, 2);
		EXPECT_EQ(0, client_run(&c, queue, tasks.va, 1));
		client_close(&c);
	}
}

#define CROWD		8
#define CROWD_TASKS	64u

/* Open a file, begin jobs on two engines, and close it at a bad moment, again and again. */
static void crowd_closes(struct preempt_fixture *self, unsigned int number, uint64_t end)
{
	unsigned int i, pause = number;
	struct client c;
	struct buf tasks;

	while (now_ns() < end) {
		client_open_named(&c, self->in.node);
		client_buf(&c, &tasks, CROWD_TASKS * UMA_TASK_SIZE);
		for (i = 0; i < CROWD_TASKS; i++)
			task_nop(&tasks.task[i]);
		for (i = 0; i < 2; i++)
			client_start(&c, queue_create(c.fd, c.vm, (number + i) % 3), tasks.va,
				     CROWD_TASKS);
		pause = (pause * 7919 + 1) % 60000;
		usleep(pause);
		munmap(tasks.map, tasks.size);
		client_close(&c);
	}
}

/*
 * Jobs that wait to be continued are ended as their files are closed while others, for which an
 * address space has just got free, are pushed.
 */
TEST_F_TIMEOUT(preempt, closed_files_in_a_crowd, 240)
{
	uint64_t end;
	pid_t pid[CROWD];
	unsigned int i;

	few_address_spaces(self, "1");
	ASSERT_TRUE(emu_knob(self->in.node, "task_us", "1000"));
	ASSERT_EQ(0, device_write_try(self->in.node, "time_slice_ms", "2"));
	end = now_ns() + 15000000000ull;
	for (i = 0; i < CROWD; i++) {
		pid[i] = harness_fork();
		if (!pid[i]) {
			crowd_closes(self, i, end);
			_exit(0);
		}
	}
	for (i = 0; i < CROWD; i++)
		harness_join(pid[i]);
	EXPECT_GT(preemptions(self), 0);
	EXPECT_EQ(0, device_number(self->in.node, "reset_count"));
}

#define OPENERS		4

/* Open a file, run a job of one task, close the file, again and again; count the jobs. */
static void open_run_close(struct preempt_fixture *self, _Atomic unsigned int *jobs)
{
	struct longjob l;

	for (;;) {
		longjob_open(&l, self);
		shortjob(&l);
		munmap(l.tasks.map, l.tasks.size);
		munmap(l.data.map, l.data.size);
		client_close(&l.c);
		(*jobs)++;
	}
}

/* Files that are opened for a job each do not keep the engine from one that is kept. */
TEST_F(preempt, files_for_a_job_each)
{
	/* Of the others, and of the file that is kept. */
	_Atomic unsigned int *jobs = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid[OPENERS + 1];
	struct longjob l;
	unsigned int i;

	ASSERT_TRUE(jobs != MAP_FAILED);
	for (i = 0; i < OPENERS; i++) {
		pid[i] = harness_fork();
		if (!pid[i])
			open_run_close(self, &jobs[0]);
	}
	pid[i] = harness_fork();
	if (!pid[i]) {
		longjob_open(&l, self);
		for (;;) {
			shortjob(&l);
			jobs[1]++;
		}
	}
	while (jobs[0] < 40 * OPENERS)
		usleep(1000);
	harness_diag("%u beside %u of %u others", jobs[1], jobs[0], OPENERS);
	/* As many as each of them. */
	EXPECT_GE(jobs[1], 20);
	for (i = 0; i <= OPENERS; i++)
		kill(pid[i], SIGKILL);
	for (i = 0; i <= OPENERS; i++)
		waitpid(pid[i], NULL, 0);
}

/* How long it was on the engine is not up to the device. */
TEST_F(preempt, times_out_though_the_device_lies)
{
	struct longjob l, other;

	ASSERT_TRUE(instance_timeout(&self->in, 1000));
	ASSERT_TRUE(emu_knob(self->in.node, "no_time", "1"));
	longjob_open(&l, self);
	longjob_open(&other, self);
	longjob_start(&l);
	longjob_start(&other);
	EXPECT_EQ(-ETIME, syncobj_result(l.c.fd, l.done));
	EXPECT_EQ(-ETIME, syncobj_result(other.c.fd, other.done));
	EXPECT_GE(preemptions(self), 2);
	client_close(&l.c);
	client_close(&other.c);
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
	__u32 done;

	longjob_open(&l, &self->f);
	longjob_start(&l);
	longjob_open(&neighbour, &self->f);
	done = client_start(&neighbour.c, neighbour.queue, neighbour.tasks.va, 1);
	while (longjob_tasks(&l) < SOME)
		usleep(1000);
	EXPECT_EQ(0, syncobj_status(neighbour.c.fd, done));
	hurry(&l);
	EXPECT_EQ(1, syncobj_result(neighbour.c.fd, done));
	EXPECT_EQ(1, syncobj_status(l.c.fd, l.done));
	EXPECT_TRUE(longjob_right(&l));
	EXPECT_EQ(0, preemptions(&self->f));
	client_close(&l.c);
	client_close(&neighbour.c);
}

/* A queue that was destroyed while its job runs counts for as long as that does. */
TEST_F(unable, destroyed_queues_count)
{
	struct drm_uma_queue_create args = { .instances = 1, .priority = DRM_UMA_PRIORITY_NORMAL };
	struct drm_uma_query_limits limits;
	struct longjob l;
	__u32 id, n = 0;
	int ret;

	longjob_open(&l, &self->f);
	query_limits(l.c.fd, &limits);
	args.vm_id = l.c.vm;
	longjob_start(&l);
	while (!longjob_tasks(&l))
		usleep(1000);
	/* It does not end before hurry(). */
	ASSERT_TRUE(emu_knob(l.node, "task_us", "2000000"));
	EXPECT_EQ(0, queue_destroy_try(l.c.fd, l.queue));
	while (!(ret = queue_create_try(l.c.fd, &args, &id)))
		n++;
	EXPECT_EQ(-ENOSPC, ret);
	EXPECT_EQ(limits.max_queues - 1, n);
	EXPECT_EQ(0, syncobj_status(l.c.fd, l.done));
	/* It cannot be stopped between two of its tasks. */
	EXPECT_TRUE(longjob_right(&l));
	/* Its last traces go by themselves, in a while. */
	while (queue_create_try(l.c.fd, &args, &id) == -ENOSPC)
		usleep(1000);
	client_close(&l.c);
}

/* Is there an engine whose job waits for better times? */
static bool job_held(struct preempt_fixture *self)
{
	char path[256], line[256];
	bool held = false;
	FILE *f;

	ASSERT_TRUE(dev_debugfs(self->in.node, "engines", path, sizeof(path)));
	f = fopen(path, "r");
	ASSERT_TRUE(f);
	while (fgets(line, sizeof(line), f))
		held |= !!strstr(line, " waiting");
	fclose(f);
	return held;
}

/* A queue is destroyed whose job has its engine, but waits for an address space: not any more. */
TEST_F(unable, destroyed_without_address_space)
{
	struct longjob l;
	struct client c;
	struct buf tasks;
	__u32 queue, done;

	few_address_spaces(&self->f, "1");
	longjob_open(&l, &self->f);
	longjob_start(&l);
	while (!longjob_tasks(&l))
		usleep(1000);
	stand_still(&l);
	elsewhere(&self->f, &c, &tasks, &queue, 2);
	done = client_start(&c, queue, tasks.va, 1);
	while (!job_held(&self->f))
		usleep(1000);
	EXPECT_EQ(0, queue_destroy_try(c.fd, queue));
	EXPECT_EQ(-ECANCELED, syncobj_result(c.fd, done));
	EXPECT_EQ(0, syncobj_status(l.c.fd, l.done));
	client_close(&c);
	client_close(&l.c);
}

/* Jobs without tasks do not need the engine, however many there are, and are freed at once. */
TEST_F(unable, bypassed_by_many)
{
	struct drm_uma_job jobs[64] = {};
	struct drm_uma_sync after, sync;
	struct longjob l, neighbour;
	unsigned int i, n;
	__u32 done;

	longjob_open(&l, &self->f);
	longjob_open(&neighbour, &self->f);
	longjob_start(&l);
	while (!longjob_tasks(&l))
		usleep(1000);
	for (i = 0; i < 64; i++)
		jobs[i].queue_id = neighbour.queue;
	/* One that there is something to wait for, or the scheduler would not see them. */
	for (n = 0; n < 6; n++) {
		struct gate gate;

		gate_close(&gate, neighbour.c.fd);
		after = sync_in(gate.syncobj);
		jobs[0].syncs = array_of(&after, sizeof(after), 1);
		done = syncobj_create(neighbour.c.fd, false);
		sync = sync_out(done);
		jobs[63].syncs = array_of(&sync, sizeof(sync), 1);
		ASSERT_EQ(0, submit_try(neighbour.c.fd, jobs, 64, NULL));
		EXPECT_EQ(0, syncobj_status(neighbour.c.fd, done));
		gate_open(&gate);
		EXPECT_EQ(1, syncobj_result(neighbour.c.fd, done));
		EXPECT_EQ(0, syncobj_status(l.c.fd, l.done));
		gate_free(&gate);
	}
	munmap(neighbour.tasks.map, neighbour.tasks.size);
	munmap(neighbour.data.map, neighbour.data.size);
	client_close(&neighbour.c);
	while (queue_lines(&self->f) > 1)
		usleep(1000);
	EXPECT_EQ(1, queue_lines(&self->f));
	EXPECT_EQ(0, syncobj_status(l.c.fd, l.done));
	EXPECT_TRUE(longjob_right(&l));
	client_close(&l.c);
}

HARNESS_MAIN
