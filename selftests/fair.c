// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Clients that share an engine: who is served when, as far as it can be told by
 * counting jobs. A device of its own, whose jobs all take some milliseconds.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "instance.h"
#include "rival.h"
#include "task.h"
#include "watch.h"

FIXTURE(fair) {
	struct instance in;
	unsigned int engine;
};

FIXTURE_SETUP(fair)
{
	instance_make(&self->in, "fair");
	instance_set(&self->in, "profile", "m1");
	instance_set(&self->in, "latency_us", "3000");
	instance_enable(&self->in);
	self->engine = rival_engine(self->in.node);
	expect_log();
}

FIXTURE_TEARDOWN(fair)
{
	instance_drop(&self->in);
}

static __u64 completed(struct worker *w)
{
	struct drm_uma_queue_state state;

	queue_state(w->c.fd, w->queue, &state);
	return state.completed;
}

/* Queue n jobs, in one go as far as a call takes them; each leaves a stamp. */
static void queue_many(struct worker *w, unsigned int n, struct buf *stamps)
{
	struct drm_uma_job jobs[64] = {};
	unsigned int i, at;

	client_buf(&w->c, stamps, (n * sizeof(struct uma_task_stamp) + PAGE - 1) & ~(PAGE - 1));
	task_fill(w->tasks.task, UMA_DTYPE_S32, w->results.va, 64, 1);
	for (at = 0; at < n; at += i) {
		for (i = 0; i < 64 && at + i < n; i++)
			jobs[i] = (struct drm_uma_job){
				.queue_id = w->queue, .task_count = 1, .tasks_addr = w->tasks.va,
				.stamps_addr = stamps->va +
					(at + i) * sizeof(struct uma_task_stamp),
			};
		ASSERT_EQ(0, submit_try(w->c.fd, jobs, i, NULL));
	}
}

/* The device's clock. Who is served when is told by that: this process may hear of it late. */
static __u64 ticks(struct worker *w)
{
	struct drm_uma_timestamp t = { 0 };

	ASSERT_EQ(0, do_ioctl(w->c.fd, DRM_IOCTL_UMA_TIMESTAMP, &t));
	return t.device;
}

/* How many jobs that left stamps ended in a span of the device's time. */
static unsigned int ended(const struct buf *stamps, __u64 from, __u64 to)
{
	const struct uma_task_stamp *stamp = stamps->map;
	unsigned int i, n = 0;

	for (i = 0; i < stamps->size / sizeof(*stamp); i++)
		n += le64toh(stamp[i].end) > from && le64toh(stamp[i].end) <= to;
	return n;
}

/* When the last of n jobs ended, once it has. */
static __u64 end_of(struct worker *w, const struct buf *stamps, unsigned int n)
{
	const struct uma_task_stamp *stamp = stamps->map;

	while (completed(w) < n)
		usleep(1000);
	return le64toh(stamp[n - 1].end);
}

/*
 * One has queued 500 jobs before the other comes with 50: when those are done, about as many of
 * the first's are, and not all 500.
 */
TEST_F(fair, long_queue)
{
	struct worker first, second;
	struct buf one, two;
	unsigned int i;
	__u64 begin;

	worker_open(&first, self->in.node, self->engine, DRM_UMA_PRIORITY_NORMAL, 1);
	worker_open(&second, self->in.node, self->engine, DRM_UMA_PRIORITY_NORMAL, 1);
	queue_many(&first, 500, &one);
	queue_many(&second, 50, &two);
	begin = ticks(&first);
	i = ended(&one, begin, end_of(&second, &two, 50));
	harness_diag("%u of the first beside 50 of the second", i);
	EXPECT_LE(i, 200);
	worker_close(&first);
	worker_close(&second);
}

/* As many queues as one likes are still one client. */
TEST_F(fair, many_queues)
{
	struct worker one, many[8];
	struct buf stamps, of[8];
	unsigned int sum = 0;
	__u64 begin, end;
	int i;

	/* All of one file. */
	worker_open(&many[0], self->in.node, self->engine, DRM_UMA_PRIORITY_NORMAL, 1);
	for (i = 1; i < 8; i++) {
		many[i] = many[0];
		many[i].queue = queue_create(many[0].c.fd, many[0].c.vm, self->engine);
	}
	for (i = 0; i < 8; i++) {
		queue_many(&many[i], 100, &of[i]);
		/* Where addresses are given out is part of what was copied. */
		if (i < 7)
			many[i + 1].c = many[i].c;
	}
	worker_open(&one, self->in.node, self->engine, DRM_UMA_PRIORITY_NORMAL, 1);
	queue_many(&one, 50, &stamps);
	begin = ticks(&one);
	end = end_of(&one, &stamps, 50);
	for (i = 0; i < 8; i++)
		sum += ended(&of[i], begin, end);
	harness_diag("%u of eight queues beside 50 of one", sum);
	EXPECT_LE(sum, 200);
	worker_close(&one);
	worker_close(&many[0]);
}

/* A low priority gets less, but not nothing. */
TEST_F(fair, nobody_starves)
{
	__u64 before, after, end;
	struct worker low, high;
	struct buf lows, highs;
	unsigned int i;

	worker_open(&high, self->in.node, self->engine, DRM_UMA_PRIORITY_HIGH, 1);
	worker_open(&low, self->in.node, self->engine, DRM_UMA_PRIORITY_LOW, 1);
	queue_many(&high, 800, &highs);
	before = ticks(&high);
	queue_many(&low, 10, &lows);
	after = ticks(&high);
	end = end_of(&low, &lows, 10);
	i = ended(&highs, before, end);
	harness_diag("%u of high beside 10 of low priority", i);
	/* 16 to 1, and the first of low goes at once. */
	EXPECT_GE(i, 30);
	EXPECT_LE(ended(&highs, after, end), 400);
	worker_close(&low);
	worker_close(&high);
}

/* Whatever waits, real time is next. */
TEST_F(fair, realtime_is_next)
{
	const struct uma_task_stamp *stamp;
	struct worker many, real;
	struct buf stamps, next;
	__u64 begin;
	int n;

	worker_open(&many, self->in.node, self->engine, DRM_UMA_PRIORITY_HIGH, 1);
	worker_open(&real, self->in.node, self->engine, DRM_UMA_PRIORITY_REALTIME, 1);
	queue_many(&many, 800, &stamps);
	for (n = 1; n <= 20; n++) {
		real.results.u32[0] = 0;
		queue_many(&real, 1, &next);
		begin = ticks(&real);
		while (completed(&real) < (__u64)n)
			usleep(1000);
		stamp = next.map;
		/* The one that runs, and those that ran before the scheduler heard of it. */
		EXPECT_LE(ended(&stamps, begin, le64toh(stamp->start)), 40);
		EXPECT_EQ(1, real.results.u32[0]);
		client_free(&real.c, &next);
	}
	worker_close(&real);
	worker_close(&many);
}

static __u32 start_nothing(struct client *c, __u32 queue, __u32 after)
{
	__u32 done = syncobj_create(c->fd, false);
	struct drm_uma_sync syncs[2] = { sync_out(done), sync_in(after) };

	ASSERT_EQ(0, submit_one_try(c->fd, queue, 0, 0, syncs, after ? 2 : 1));
	return done;
}

/*
 * A job without tasks does not need the engine: it passes one that hangs, but not the jobs that
 * came before it in its queue, nor those that it waits for.
 */
TEST_F(fair, empty_jobs)
{
	__u32 hung, behind, waits;
	struct worker bad, good;
	struct buf b;
	int i;

	rival_arm(self->in.node);
	worker_open(&bad, self->in.node, self->engine, DRM_UMA_PRIORITY_NORMAL, 1);
	worker_open(&good, self->in.node, self->engine, DRM_UMA_PRIORITY_NORMAL, 1);
	hang_buf(&bad.c, &b);
	hung = client_start(&bad.c, bad.queue, b.va, 1);
	behind = start_nothing(&bad.c, bad.queue, 0);
	waits = start_nothing(&bad.c, queue_create(bad.c.fd, bad.c.vm, self->engine), hung);
	for (i = 0; i < 200; i++)
		EXPECT_EQ(1, syncobj_result(good.c.fd, start_nothing(&good.c, good.queue, 0)));
	EXPECT_EQ(0, syncobj_status(bad.c.fd, behind));
	EXPECT_EQ(0, syncobj_status(bad.c.fd, waits));
	EXPECT_EQ(0, syncobj_status(bad.c.fd, hung));
	EXPECT_EQ(1, syncobj_result(bad.c.fd, waits));
	EXPECT_EQ(-ETIME, syncobj_status(bad.c.fd, hung));
	EXPECT_EQ(-ECANCELED, syncobj_result(bad.c.fd, behind));
	worker_close(&bad);
	worker_close(&good);
}

/* What a job without tasks waits for on its own engine is done when it is. */
TEST_F(fair, empty_job_waits)
{
	struct worker w;
	__u32 queue, first, second;
	int i;

	worker_open(&w, self->in.node, self->engine, DRM_UMA_PRIORITY_NORMAL, 1);
	queue = queue_create(w.c.fd, w.c.vm, self->engine);
	task_fill(w.tasks.task, UMA_DTYPE_S32, w.results.va, 64, 1);
	for (i = 0; i < 50; i++) {
		first = client_start(&w.c, w.queue, w.tasks.va, 1);
		second = start_nothing(&w.c, queue, first);
		EXPECT_EQ(1, syncobj_result(w.c.fd, second));
		EXPECT_EQ(1, syncobj_status(w.c.fd, first));
	}
	worker_close(&w);
}

/* Whose job hung has to wait, but gets what it waits for, and not what it gives up. */
TEST_F(fair, after_a_hang)
{
	__u32 queue[3], done[3];
	struct worker w, other;
	struct buf b;
	int i;

	rival_arm(self->in.node);
	worker_open(&w, self->in.node, self->engine, DRM_UMA_PRIORITY_NORMAL, 1);
	worker_open(&other, self->in.node, self->engine, DRM_UMA_PRIORITY_NORMAL, 1);
	hang_buf(&w.c, &b);
	task_fill(w.tasks.task, UMA_DTYPE_S32, w.results.va, 64, 1);
	ASSERT_TRUE(instance_timeout(&self->in, 2000));
	EXPECT_EQ(-ETIME, client_run(&w.c, w.queue, b.va, 1));
	for (i = 0; i < 3; i++) {
		queue[i] = queue_create(w.c.fd, w.c.vm, self->engine);
		done[i] = client_start(&w.c, queue[i], w.tasks.va, 1);
	}
	ASSERT_EQ(0, queue_destroy_try(w.c.fd, queue[1]));
	EXPECT_EQ(-ECANCELED, syncobj_result(w.c.fd, done[1]));
	/* Nobody else has to. */
	worker_run(&other, 1, NULL);
	EXPECT_EQ(0, other.wrong);
	EXPECT_EQ(0, syncobj_status(w.c.fd, done[0]));
	EXPECT_EQ(1, syncobj_result(w.c.fd, done[0]));
	EXPECT_EQ(1, syncobj_result(w.c.fd, done[2]));
	worker_close(&w);
	worker_close(&other);
}

/* A file is closed while its jobs wait because one of them hung. */
TEST_F(fair, closed_after_a_hang)
{
	struct worker w;
	struct buf b;
	int i, file;

	rival_arm(self->in.node);
	ASSERT_TRUE(instance_timeout(&self->in, 1000));
	worker_open(&w, self->in.node, self->engine, DRM_UMA_PRIORITY_NORMAL, 1);
	hang_buf(&w.c, &b);
	task_fill(w.tasks.task, UMA_DTYPE_S32, w.results.va, 64, 1);
	EXPECT_EQ(-ETIME, client_run(&w.c, w.queue, b.va, 1));
	for (i = 0; i < 3; i++) {
		__u32 queue = queue_create(w.c.fd, w.c.vm, self->engine);
		__u32 done = client_start(&w.c, queue, w.tasks.va, 1);

		ASSERT_EQ(0, syncobj_export_try(w.c.fd, done, true, &file));
	}
	/* A mapping would keep the file. */
	munmap(b.map, b.size);
	munmap(w.tasks.map, w.tasks.size);
	munmap(w.results.map, w.results.size);
	worker_close(&w);
	EXPECT_EQ(-ECANCELED, sync_file_wait(file));
	close(file);
}

/* The device goes while jobs wait for their turn, some because one of theirs hung. */
TEST_F(fair, unplugged)
{
	struct worker w, other;
	int file[2], i;
	char mask[16];
	struct buf b;

	rival_arm(self->in.node);
	ASSERT_TRUE(instance_timeout(&self->in, 1000));
	worker_open(&w, self->in.node, self->engine, DRM_UMA_PRIORITY_NORMAL, 1);
	worker_open(&other, self->in.node, self->engine, DRM_UMA_PRIORITY_NORMAL, 1);
	hang_buf(&w.c, &b);
	task_fill(w.tasks.task, UMA_DTYPE_S32, w.results.va, 64, 1);
	task_fill(other.tasks.task, UMA_DTYPE_S32, other.results.va, 64, 1);
	EXPECT_EQ(-ETIME, client_run(&w.c, w.queue, b.va, 1));
	/* A job that does not end before all is over: what comes after it waits. */
	ASSERT_TRUE(instance_timeout(&self->in, 60000));
	snprintf(mask, sizeof(mask), "%#x", 1u << self->engine);
	ASSERT_TRUE(emu_knob(self->in.node, "hang_next", mask));
	client_start(&other.c, other.queue, other.tasks.va, 1);
	for (i = 0; i < 2; i++) {
		__u32 queue = queue_create(w.c.fd, w.c.vm, self->engine);
		__u32 done = client_start(&w.c, queue, w.tasks.va, 1);

		ASSERT_EQ(0, syncobj_export_try(w.c.fd, done, true, &file[i]));
	}
	queue_many(&other, 300, &b);
	ASSERT_TRUE(emu_knob(self->in.node, "unplug", "1"));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(-ENODEV, sync_file_wait(file[i]));
		close(file[i]);
	}
	close(w.c.fd);
	close(other.c.fd);
}

/* Two queues that may use either of two engines do not both use the same. */
TEST(balance)
{
	struct drm_uma_queue_create args = { .priority = DRM_UMA_PRIORITY_NORMAL };
	char path[256], text[4096], *line;
	struct instance in;
	struct client c;
	__u32 queue[4], done[4];
	unsigned int used = 0, i, n;
	struct buf b;

	instance_make(&in, "balance");
	instance_set(&in, "profile", "ultra");
	instance_set(&in, "latency_us", "3000");
	instance_enable(&in);
	expect_log();
	client_open_named(&c, in.node);
	client_buf(&c, &b, PAGE);
	task_nop(b.task);
	args.vm_id = c.vm;
	args.engine_class = UMA_ENGINE_MATRIX;
	args.instances = 0xf;
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, queue_create_try(c.fd, &args, &queue[i]));
	for (n = 0; n < 20; n++) {
		for (i = 0; i < 4; i++)
			done[i] = client_start(&c, queue[i], b.va, 1);
		for (i = 0; i < 4; i++)
			EXPECT_EQ(1, syncobj_result(c.fd, done[i]));
	}
	ASSERT_TRUE(dev_debugfs(in.node, "engines", path, sizeof(path)));
	ASSERT_TRUE(read_text(path, text, sizeof(text)));
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned long long jobs;

		if (sscanf(line, "matrix%*u %*s %*u %*u %llu", &jobs) != 1)
			continue;
		used += jobs >= 10;
		harness_diag("%.64s", line);
	}
	EXPECT_EQ(4, used);
	client_close(&c);
	instance_drop(&in);
}

HARNESS_MAIN
