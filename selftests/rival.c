// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Clients that want the same engine.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "files.h"
#include "rival.h"
#include "task.h"

#define WORDS	256	/* of a result */
#define HANGS	4	/* queues of RIVAL_HANGS */

const char *const rival_names[RIVAL_KINDS] = {
	[RIVAL_SAME] = "beside another one", [RIVAL_HOG] = "beside a long queue",
	[RIVAL_LONG] = "beside long jobs",
	[RIVAL_HANG] = "beside one that hangs", [RIVAL_HANGS] = "beside four that hang",
};

/* What rivals and the worker tell each other. */
struct shared {
	atomic_int ready;
	atomic_int stop;
	unsigned long jobs;
	unsigned long wrong;
};

unsigned int rival_engine(const char *node)
{
	int fd = dev_open_named(node), engine;

	engine = engine_for(fd, UMA_OP_FILL, 0, 0, UMA_DTYPE_S32);
	close(fd);
	ASSERT_GE(engine, 0);
	return (unsigned int)engine;
}

static __u32 queue_on(struct client *c, unsigned int engine, __u32 priority, __u32 timeout_ms)
{
	struct drm_uma_query_engine engines[MAX_ENGINES];
	struct drm_uma_queue_create args = {
		.vm_id = c->vm, .priority = priority, .timeout_ms = timeout_ms,
	};
	__u32 queue;

	ASSERT_LT(engine, query_engines(c->fd, engines));
	args.engine_class = engines[engine].engine_class;
	args.instances = 1u << engines[engine].instance;
	ASSERT_EQ(0, queue_create_try(c->fd, &args, &queue));
	return queue;
}

void worker_open(struct worker *w, const char *node, unsigned int engine, __u32 priority,
		 unsigned int depth)
{
	unsigned int i;

	memset(w, 0, sizeof(*w));
	ASSERT_LE(depth, sizeof(w->done) / sizeof(w->done[0]));
	client_open_named(&w->c, node);
	w->depth = depth;
	w->tasks_each = 1;
	w->queue = queue_on(&w->c, engine, priority, 0);
	client_buf(&w->c, &w->tasks, RIVAL_TASKS * UMA_TASK_SIZE * depth);
	client_buf(&w->c, &w->results, PAGE * depth);
	for (i = 0; i < depth; i++)
		w->done[i] = syncobj_create(w->c.fd, false);
}

void worker_close(struct worker *w)
{
	client_close(&w->c);
}

/* Jobs take the places in turn. */
static unsigned int worker_place(const struct worker *w, unsigned long n)
{
	assert(w->depth);
	return (unsigned int)(n % w->depth);
}

static void worker_submit(struct worker *w, unsigned long n)
{
	unsigned int i = worker_place(w, n), first = i * RIVAL_TASKS, j;
	struct drm_uma_sync out = sync_out(w->done[i]);
	__u64 at = i * PAGE;

	memset(w->results.u8 + at, 0, WORDS * sizeof(__u32));
	for (j = 0; j < w->tasks_each; j++)
		task_fill(&w->tasks.task[first + j], UMA_DTYPE_S32, w->results.va + at, WORDS,
			  (__u32)n + 1);
	ASSERT_EQ(0, submit_one_try(w->c.fd, w->queue, w->tasks.va + first * UMA_TASK_SIZE,
				    w->tasks_each, &out, 1));
}

static void worker_check(struct worker *w, unsigned long n)
{
	unsigned int i = worker_place(w, n), j;
	const __u32 *result = w->results.u32 + i * (PAGE / sizeof(__u32));
	bool right = syncobj_result(w->c.fd, w->done[i]) == 1;

	for (j = 0; j < WORDS; j++)
		right = right && result[j] == (__u32)n + 1;
	w->jobs++;
	w->wrong += !right;
}

void worker_run(struct worker *w, unsigned int ms, const atomic_int *stop)
{
	uint64_t end = now_ns() + ms * 1000000ull;
	unsigned long begun = 0, ended = 0;

	while (now_ns() < end && !(stop && atomic_load(stop))) {
		while (begun < ended + w->depth)
			worker_submit(w, begun++);
		worker_check(w, ended++);
	}
	while (ended < begun)
		worker_check(w, ended++);
}

void rival_arm(const char *node)
{
	char value[64];

	snprintf(value, sizeof(value), "%#llx %#llx", RIVAL_HANG_VA, PAGE);
	if (!emu_knob(node, "hang_addr", value))
		SKIP("cannot make jobs hang");
}

void hang_buf(struct client *c, struct buf *b)
{
	memset(b, 0, sizeof(*b));
	b->size = PAGE;
	b->va = RIVAL_HANG_VA;
	b->handle = bo_create(c->fd, PAGE, 0);
	b->map = bo_map(c->fd, b->handle, PAGE);
	vm_map(c->fd, c->vm, b->handle, 0, b->va, PAGE, 0);
	task_nop(b->task);
}

static void rival_hog(const char *node, unsigned int engine, struct shared *shared)
{
	struct drm_uma_job jobs[64] = {};
	struct worker w;
	__u32 i;
	int ret;

	worker_open(&w, node, engine, DRM_UMA_PRIORITY_NORMAL, 1);
	task_fill(w.tasks.task, UMA_DTYPE_S32, w.results.va, WORDS, 7);
	for (i = 0; i < 64; i++)
		jobs[i] = (struct drm_uma_job){
			.queue_id = w.queue, .task_count = 1, .tasks_addr = w.tasks.va,
		};
	while (!shared->stop) {
		ret = submit_try(w.c.fd, jobs, 64, NULL);
		ASSERT_TRUE(!ret || ret == -EBUSY);
		if (ret == -EBUSY) {
			shared->ready = 1;
			usleep(5000);
		}
	}
	worker_close(&w);
}

static void rival_hang(const char *node, unsigned int engine, unsigned int queues,
		       struct shared *shared)
{
	__u32 queue[HANGS], done[HANGS];
	struct client c;
	struct buf b;
	unsigned int i;

	client_open_named(&c, node);
	hang_buf(&c, &b);
	while (!shared->stop) {
		for (i = 0; i < queues; i++) {
			queue[i] = queue_on(&c, engine, DRM_UMA_PRIORITY_NORMAL, RIVAL_HANG_MS);
			done[i] = client_start(&c, queue[i], b.va, 1);
		}
		shared->ready = 1;
		for (i = 0; i < queues; i++) {
			shared->wrong += syncobj_result(c.fd, done[i]) != -ETIME;
			shared->jobs++;
			ASSERT_EQ(0, queue_destroy_try(c.fd, queue[i]));
			ASSERT_EQ(0, syncobj_destroy_try(c.fd, done[i]));
			if (shared->stop)
				break;
		}
	}
	client_close(&c);
}

static void rival_works(const char *node, unsigned int engine, unsigned int depth,
			unsigned int tasks, struct shared *shared)
{
	struct worker w;

	worker_open(&w, node, engine, DRM_UMA_PRIORITY_NORMAL, depth);
	w.tasks_each = tasks;
	shared->ready = 1;
	worker_run(&w, 1000000, &shared->stop);
	shared->jobs = w.jobs;
	shared->wrong = w.wrong;
	worker_close(&w);
}

static pid_t rival_start(const char *node, unsigned int engine, enum rival_kind kind,
			 unsigned int depth, struct shared *shared)
{
	pid_t pid = harness_fork();

	if (pid)
		return pid;
	switch (kind) {
	case RIVAL_SAME:
		rival_works(node, engine, depth, 1, shared);
		break;
	case RIVAL_LONG:
		rival_works(node, engine, depth, RIVAL_TASKS, shared);
		break;
	case RIVAL_HOG:
		rival_hog(node, engine, shared);
		break;
	default:
		rival_hang(node, engine, kind == RIVAL_HANGS ? HANGS : 1, shared);
		break;
	}
	_exit(0);
}

/* How long the engine has been busy, and how long with jobs of the worker. */
static void busy_times(const char *node, unsigned int engine, struct worker *w, __u64 *all,
		       __u64 *own)
{
	struct drm_uma_counters counters = {};
	struct drm_uma_counters_get get = {
		.queue_id = w->queue, .size = sizeof(counters), .data = (uintptr_t)&counters,
	};

	*all = (__u64)engine_number(node, engine, "busy_time_us") * 1000;
	ASSERT_EQ(0, do_ioctl(w->c.fd, DRM_IOCTL_UMA_COUNTERS, &get));
	*own = counters.busy_ns;
}

unsigned int rival_share(const char *node, unsigned int engine, enum rival_kind kind,
			 unsigned int depth, unsigned int ms)
{
	__u64 all[2], own[2];
	struct shared *shared;
	unsigned int share;
	struct worker w;
	pid_t pid;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	ASSERT_TRUE(shared != MAP_FAILED);
	worker_open(&w, node, engine, DRM_UMA_PRIORITY_NORMAL, depth);
	pid = rival_start(node, engine, kind, depth, shared);
	while (!shared->ready)
		usleep(1000);
	busy_times(node, engine, &w, &all[0], &own[0]);
	worker_run(&w, ms, NULL);
	busy_times(node, engine, &w, &all[1], &own[1]);
	ASSERT_LT(all[0], all[1]);
	share = (unsigned int)((own[1] - own[0]) * 100 / (all[1] - all[0]));
	shared->stop = 1;
	harness_join(pid);
	harness_diag("%s, %u in flight: %u %% of %llu ms, %lu jobs, %lu wrong; the other %lu, %lu wrong",
		     rival_names[kind], depth, share,
		     (unsigned long long)(all[1] - all[0]) / 1000000, w.jobs, w.wrong, shared->jobs,
		     shared->wrong);
	EXPECT_EQ(0, w.wrong);
	EXPECT_EQ(0, shared->wrong);
	worker_close(&w);
	munmap(shared, sizeof(*shared));
	return share;
}
