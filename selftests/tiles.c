// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A job makes room within a task, between two of its tiles: one of a single long task costs its
 * neighbours a slice and a tile, and goes on afterwards as if nothing had been. A device of its
 * own, whose tiles take long until hurry() says otherwise. preempt.c has what is between two tasks.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files.h"
#include "instance.h"
#include "task.h"
#include "watch.h"

/* Elements of a tile, as the emulated device cuts them, and tiles of the task. */
#define TILE	65536u
#define TILES	64u
#define BYTES	(TILES * TILE)

FIXTURE(tiles) {
	struct instance in;
	unsigned int engine;
	bool flag;
};

static void setup(struct tiles_fixture *self, const char *can)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	int fd, engine;

	instance_make(&self->in, "tiles");
	instance_set(&self->in, "profile", "m1");
	instance_set(&self->in, "paranoid", "1");
	instance_set(&self->in, "preempt_tiles", can);
	instance_set(&self->in, "tile_us", "50000");
	instance_enable(&self->in);
	ASSERT_TRUE(instance_timeout(&self->in, 120000));
	fd = dev_open_named(self->in.node);
	engine = engine_for(fd, UMA_OP_BINARY, UMA_DTYPE_U8, UMA_DTYPE_U8, UMA_DTYPE_U8);
	ASSERT_GE(engine, 0);
	self->engine = (unsigned int)engine;
	ASSERT_LT(self->engine, query_engines(fd, engines));
	self->flag = engines[engine].flags & UMA_ENGINE_PREEMPT;
	close(fd);
	expect_log();
}

FIXTURE_SETUP(tiles)
{
	setup(self, "1");
	EXPECT_TRUE(self->flag);
}

FIXTURE_TEARDOWN(tiles)
{
	instance_drop(&self->in);
}

/**
 * struct longtask - a client with a job of one task, that adds one to each of many bytes
 */
struct longtask {
	struct client c;
	struct buf task;
	struct buf data;
	struct buf stamp;
	__u32 queue;
	__u32 done;
};

/* In place: a tile that is done twice, or not at all, can be told. */
static void task_add(struct uma_task *t, __u64 dst, __u64 one)
{
	struct uma_elementwise_params p = { .func = htole32(UMA_BINARY_ADD) };

	task_init(t, UMA_OP_BINARY, 1u << UMA_SLOT_DST | 1u << UMA_SLOT_A | 1u << UMA_SLOT_B);
	memcpy(t->params, &p, sizeof(p));
	task_vector(t, UMA_SLOT_DST, UMA_DTYPE_U8, dst, BYTES);
	task_vector(t, UMA_SLOT_A, UMA_DTYPE_U8, dst, BYTES);
	task_vector(t, UMA_SLOT_B, UMA_DTYPE_U8, one, BYTES);
	t->op[UMA_SLOT_B].strides[0] = 0;
}

static void longtask_open(struct longtask *l, struct tiles_fixture *self, __u32 priority)
{
	struct drm_uma_queue_create create = { .priority = priority };
	struct drm_uma_query_engine engines[MAX_ENGINES];

	client_open_named(&l->c, self->in.node);
	client_buf(&l->c, &l->task, PAGE);
	client_buf(&l->c, &l->data, BYTES + PAGE);
	client_buf(&l->c, &l->stamp, PAGE);
	memset(l->data.map, 0, BYTES);
	((__u8 *)l->data.map)[BYTES] = 1;
	task_add(l->task.task, l->data.va, l->data.va + BYTES);
	/* A short one: see shortjob(). */
	task_nop(&l->task.task[1]);
	ASSERT_LT(self->engine, query_engines(l->c.fd, engines));
	create.vm_id = l->c.vm;
	create.engine_class = engines[self->engine].engine_class;
	create.instances = 1u << engines[self->engine].instance;
	ASSERT_EQ(0, queue_create_try(l->c.fd, &create, &l->queue));
}

static void longtask_close(struct longtask *l)
{
	/* A mapping would keep the file. */
	munmap(l->task.map, l->task.size);
	munmap(l->data.map, l->data.size);
	munmap(l->stamp.map, l->stamp.size);
	client_close(&l->c);
}

static void longtask_start(struct longtask *l)
{
	struct drm_uma_job job = {
		.queue_id = l->queue, .tasks_addr = l->task.va, .task_count = 1,
		.stamps_addr = l->stamp.va,
	};
	struct drm_uma_sync sync;

	l->done = syncobj_create(l->c.fd, false);
	sync = sync_out(l->done);
	job.syncs = array_of(&sync, sizeof(sync), 1);
	ASSERT_EQ(0, submit_try(l->c.fd, &job, 1, NULL));
}

/* Tiles that have begun, as the memory shows. */
static unsigned int longtask_tiles(const struct longtask *l)
{
	const __u8 *data = l->data.map;
	unsigned int n = 0;

	while (n < TILES && __atomic_load_n(&data[n * TILE], __ATOMIC_RELAXED))
		n++;
	return n;
}

/* All bytes up to @tiles have been done once, and those behind not at all. */
static bool longtask_right(const struct longtask *l, unsigned int tiles)
{
	const __u8 *data = l->data.map;
	unsigned int i;

	for (i = 0; i < BYTES; i++)
		if (data[i] != (i < tiles * TILE))
			break;
	if (i < BYTES)
		harness_diag("byte %u is %u, of %u tiles", i, data[i], tiles);
	return i == BYTES;
}

static void longtask_begun(const struct longtask *l)
{
	while (!longtask_tiles(l))
		usleep(1000);
}

static void hurry(struct tiles_fixture *self)
{
	ASSERT_TRUE(emu_knob(self->in.node, "tile_us", "0"));
}

static void shortjob(struct longtask *l)
{
	EXPECT_EQ(0, client_run(&l->c, l->queue, l->task.va + UMA_TASK_SIZE, 1));
}

static long long preemptions(struct tiles_fixture *self)
{
	return engine_number(self->in.node, self->engine, "preemptions");
}

/* What a neighbour waits for is a slice, which is shorter than a tile here, and a tile. */
TEST_F(tiles, neighbours_wait_for_a_tile)
{
	struct longtask l, neighbour;
	unsigned int i, before, after;

	longtask_open(&l, self, DRM_UMA_PRIORITY_NORMAL);
	longtask_open(&neighbour, self, DRM_UMA_PRIORITY_NORMAL);
	longtask_start(&l);
	longtask_begun(&l);
	for (i = 0; i < 5; i++) {
		before = longtask_tiles(&l);
		shortjob(&neighbour);
		after = longtask_tiles(&l);
		harness_diag("%u tiles before, %u after", before, after);
		EXPECT_LE(after, before + 2);
	}
	EXPECT_EQ(0, syncobj_status(l.c.fd, l.done));
	hurry(self);
	EXPECT_EQ(1, syncobj_result(l.c.fd, l.done));
	EXPECT_TRUE(longtask_right(&l, TILES));
	EXPECT_GE(preemptions(self), 5);
	EXPECT_EQ(0, device_number(self->in.node, "reset_count"));
	longtask_close(&l);
	longtask_close(&neighbour);
}

/* Two of them take turns; what they say that they did is what one that is not stopped does. */
TEST_F(tiles, long_tasks_share)
{
	struct drm_uma_counters sum = {};
	struct drm_uma_counters_get get = {
		.size = sizeof(sum), .data = (uintptr_t)&sum,
	};
	const struct uma_task_stamp *stamp;
	struct longtask l[2];
	unsigned int i;

	for (i = 0; i < 2; i++)
		longtask_open(&l[i], self, DRM_UMA_PRIORITY_NORMAL);
	for (i = 0; i < 2; i++)
		longtask_start(&l[i]);
	for (i = 0; i < 2; i++)
		while (longtask_tiles(&l[i]) < 4)
			usleep(1000);
	EXPECT_GE(preemptions(self), 4);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, syncobj_status(l[i].c.fd, l[i].done));
	hurry(self);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(1, syncobj_result(l[i].c.fd, l[i].done));
		EXPECT_TRUE(longtask_right(&l[i], TILES));
		get.queue_id = l[i].queue;
		ASSERT_EQ(0, do_ioctl(l[i].c.fd, DRM_IOCTL_UMA_COUNTERS, &get));
		EXPECT_EQ(1, sum.jobs);
		EXPECT_EQ(1, sum.tasks);
		EXPECT_EQ(TILES, sum.tiles);
		EXPECT_EQ(BYTES, sum.macs);
		/* All of its turns, and what came between them. */
		stamp = l[i].stamp.map;
		EXPECT_GE(le64toh(stamp->end) - le64toh(stamp->start), sum.busy_ns / 2);
		EXPECT_EQ(0, stamp[1].end);
	}
	for (i = 0; i < 2; i++)
		longtask_close(&l[i]);
}

/* Its queue is destroyed while the task runs, and nobody else wants the engine. */
TEST_F(tiles, destroyed_while_it_runs)
{
	struct longtask l;
	unsigned int tiles;

	longtask_open(&l, self, DRM_UMA_PRIORITY_NORMAL);
	longtask_start(&l);
	longtask_begun(&l);
	tiles = longtask_tiles(&l);
	EXPECT_EQ(0, queue_destroy_try(l.c.fd, l.queue));
	EXPECT_EQ(-ECANCELED, syncobj_result(l.c.fd, l.done));
	EXPECT_LE(longtask_tiles(&l), tiles + 2);
	/* The tile that it was in has been done. */
	EXPECT_TRUE(longtask_right(&l, longtask_tiles(&l)));
	EXPECT_EQ(0, device_number(self->in.node, "reset_count"));
	longtask_close(&l);
}

/* A job waits in the middle of its task, as somebody of a higher priority has the engine. */
static void longtask_waits(struct longtask *l, struct longtask *rt, struct tiles_fixture *self)
{
	longtask_open(l, self, DRM_UMA_PRIORITY_NORMAL);
	longtask_open(rt, self, DRM_UMA_PRIORITY_REALTIME);
	longtask_start(l);
	longtask_begun(l);
	longtask_start(rt);
	longtask_begun(rt);
	ASSERT_LT(longtask_tiles(l), TILES);
}

/* Its file is closed while it waits: it ends at once. */
TEST_F(tiles, closed_while_it_waits)
{
	struct longtask l, rt;
	int file;

	longtask_waits(&l, &rt, self);
	ASSERT_EQ(0, syncobj_export_try(l.c.fd, l.done, true, &file));
	longtask_close(&l);
	EXPECT_EQ(-ECANCELED, sync_file_wait(file));
	EXPECT_EQ(0, syncobj_status(rt.c.fd, rt.done));
	close(file);
	hurry(self);
	EXPECT_EQ(1, syncobj_result(rt.c.fd, rt.done));
	EXPECT_TRUE(longtask_right(&rt, TILES));
	longtask_close(&rt);
}

/* A reset by the administrator ends what has begun, also what has not got further than a tile. */
TEST_F(tiles, reset_ends_what_waits)
{
	struct longtask l, rt;

	longtask_waits(&l, &rt, self);
	EXPECT_EQ(0, device_write_try(self->in.node, "reset", "device"));
	EXPECT_EQ(-ECANCELED, syncobj_result(l.c.fd, l.done));
	EXPECT_EQ(-ECANCELED, syncobj_result(rt.c.fd, rt.done));
	shortjob(&l);
	longtask_close(&l);
	longtask_close(&rt);
}

/* Its time is counted over all of its turns. */
TEST_F(tiles, times_out_in_slices)
{
	struct longtask l[2];
	unsigned int i;

	ASSERT_TRUE(instance_timeout(&self->in, 1000));
	for (i = 0; i < 2; i++) {
		longtask_open(&l[i], self, DRM_UMA_PRIORITY_NORMAL);
		longtask_start(&l[i]);
	}
	for (i = 0; i < 2; i++)
		EXPECT_EQ(-ETIME, syncobj_result(l[i].c.fd, l[i].done));
	EXPECT_GE(preemptions(self), 4);
	for (i = 0; i < 2; i++)
		longtask_close(&l[i]);
}

/*
 * The task is another one when it goes on: the device looks at it as if it had never seen it, and
 * does not go on behind its end. Nobody else has anything of that.
 */
FIXTURE(changed) {
	struct tiles_fixture f;
};

FIXTURE_VARIANT(changed) {
	unsigned int reason;
	void (*change)(struct longtask *l);
};

static void change_to_little(struct longtask *l)
{
	task_fill(l->task.task, UMA_DTYPE_U8, l->data.va, 16, 9);
}

static void change_to_nothing(struct longtask *l)
{
	task_nop(l->task.task);
}

static void change_to_garbage(struct longtask *l)
{
	memset(l->task.task, 0xff, UMA_TASK_SIZE);
}

FIXTURE_VARIANT_ADD(changed, little) {
	.reason = UMA_FAULT_DIMS, .change = change_to_little,
};

FIXTURE_VARIANT_ADD(changed, nothing) {
	.reason = UMA_FAULT_DIMS, .change = change_to_nothing,
};

FIXTURE_VARIANT_ADD(changed, garbage) {
	.reason = UMA_FAULT_VERSION, .change = change_to_garbage,
};

FIXTURE_SETUP(changed)
{
	setup(&self->f, "1");
}

FIXTURE_TEARDOWN(changed)
{
	instance_drop(&self->f.in);
}

TEST_F(changed, faults)
{
	struct drm_uma_queue_state state;
	struct longtask l, rt;
	unsigned int tiles;

	longtask_waits(&l, &rt, &self->f);
	tiles = longtask_tiles(&l);
	variant->change(&l);
	hurry(&self->f);
	EXPECT_EQ(-EFAULT, syncobj_result(l.c.fd, l.done));
	queue_state(l.c.fd, l.queue, &state);
	EXPECT_EQ(0, state.task_index);
	EXPECT_EQ(variant->reason, state.reason);
	EXPECT_TRUE(longtask_right(&l, tiles));
	EXPECT_EQ(1, syncobj_result(rt.c.fd, rt.done));
	EXPECT_TRUE(longtask_right(&rt, TILES));
	shortjob(&rt);
	longtask_close(&l);
	longtask_close(&rt);
}

/* A device that stops between two tasks only: others wait for all of the task. */
FIXTURE(whole) {
	struct tiles_fixture f;
};

FIXTURE_SETUP(whole)
{
	setup(&self->f, "0");
	EXPECT_FALSE(self->f.flag);
}

FIXTURE_TEARDOWN(whole)
{
	instance_drop(&self->f.in);
}

TEST_F(whole, waits)
{
	struct longtask l, neighbour;
	__u32 done;

	longtask_open(&l, &self->f, DRM_UMA_PRIORITY_NORMAL);
	longtask_open(&neighbour, &self->f, DRM_UMA_PRIORITY_NORMAL);
	longtask_start(&l);
	longtask_begun(&l);
	done = client_start(&neighbour.c, neighbour.queue, neighbour.task.va + UMA_TASK_SIZE, 1);
	while (longtask_tiles(&l) < 10)
		usleep(1000);
	EXPECT_EQ(0, syncobj_status(neighbour.c.fd, done));
	/* Nor does it end before, whatever becomes of its queue. */
	EXPECT_EQ(0, queue_destroy_try(l.c.fd, l.queue));
	hurry(&self->f);
	EXPECT_EQ(1, syncobj_result(l.c.fd, l.done));
	EXPECT_EQ(1, syncobj_result(neighbour.c.fd, done));
	EXPECT_TRUE(longtask_right(&l, TILES));
	EXPECT_EQ(0, preemptions(&self->f));
	longtask_close(&l);
	longtask_close(&neighbour);
}

HARNESS_MAIN
