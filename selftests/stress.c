// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Many jobs of many threads of several processes, on all engines, with
 * dependencies across all of them; and processes that are killed amid that.
 */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "files.h"
#include "task.h"
#include "watch.h"

#define PROCESSES	4
#define PER_PROCESS	2
#define THREADS		(PROCESSES * PER_PROCESS)
#define JOBS		10000
#define ENOUGH_S	40	/* a machine that has not done them by then does no more */
#define SLOT		64	/* bytes of a job's result and its salt */

/*
 * Job g of the graph leaves low8(v[a]) + low8(v[b]) + salt in its slot, where a
 * and b are the jobs that it waits for. Whoever runs before what it waits for
 * reads zero, and has a wrong sum for ever.
 */
struct node {
	__u32 a;
	__u32 b;
	__u32 waits;	/* how many of the two */
};

struct shared {
	__u32 submitted[THREADS];
	__u32 refused;
	struct node nodes[];
};

struct world {
	struct shared *shared;
	__u32 per_thread;
	uint64_t until;		/* no more jobs after that time, 0: all of them */
	int results;		/* dma-buf of the slots */
	int timelines[THREADS];
};

struct process {
	const struct world *world;
	struct client c;
	__u32 timelines[THREADS];
	__u64 results;
	__u64 ones;
	unsigned int engines[MAX_ENGINES];
	unsigned int engine_count;
};

struct thread {
	pthread_t id;
	struct process *p;
	unsigned int number;
};

static __s32 salt(__u32 g)
{
	return (__s32)(g * 2654435761u) >> 8;
}

/* DST = A + C, A the low byte of another job's result. */
static void task_add(struct uma_task *t, __u64 dst, __u64 a, __u64 one, __u64 c)
{
	struct uma_gemm_params p = { .alpha = htole32(float_bits(1)),
				     .beta = htole32(float_bits(1)) };

	task_gemm_s8(t, dst, a, one, 1, 1, 1);
	memcpy(t->params, &p, sizeof(p));
	t->slots = htole32(le32toh(t->slots) | 1u << UMA_SLOT_C);
	task_matrix(t, UMA_SLOT_C, UMA_DTYPE_S32, c, 1, 1);
}

/* A job that is in the queues already, so that there is a fence to wait for. */
static bool pick(const struct world *w, unsigned int *seed, __u32 *g, unsigned int *thread,
		 __u32 *point)
{
	unsigned int t = (unsigned int)rand_r(seed) % THREADS;
	__u32 n = __atomic_load_n(&w->shared->submitted[t], __ATOMIC_ACQUIRE);

	if (!n)
		return false;
	/* Mostly one of the last, as these may still run. */
	*point = rand_r(seed) % 4 ? n - (__u32)rand_r(seed) % (n < 8 ? n : 8) :
				    1 + (__u32)rand_r(seed) % n;
	*thread = t;
	*g = t * w->per_thread + *point - 1;
	return true;
}

static void run_thread(struct thread *th)
{
	struct process *p = th->p;
	const struct world *w = p->world;
	unsigned int seed = 77 + th->number, i, dep[2], from = th->number;
	__u32 queues[MAX_ENGINES], k, point[2], g, waits[2];
	struct drm_uma_sync syncs[3];
	struct client c = p->c;
	struct buf tasks;
	struct node *node;
	int ret;

	assert(p->engine_count);
	/* Addresses of its own within the address space that the threads of a process share. */
	c.va += (th->number + 1ull) << 32;
	client_buf(&c, &tasks, (__u64)w->per_thread * 2 * UMA_TASK_SIZE);
	for (i = 0; i < p->engine_count; i++)
		queues[i] = queue_create(c.fd, c.vm, p->engines[i]);
	for (k = 1; k <= w->per_thread; k++) {
		struct uma_task *t = &tasks.task[2 * (k - 1)];
		__u64 slot;
		__u32 n = 0, tasks_n = 0;

		if (w->until && now_ns() > w->until)
			break;
		g = from * w->per_thread + k - 1;
		slot = p->results + (__u64)g * SLOT;
		node = &w->shared->nodes[g];
		for (i = 0; i < 2; i++) {
			if (pick(w, &seed, &waits[n], &dep[n], &point[n]))
				n++;
		}
		node->waits = n;
		node->a = n > 0 ? waits[0] : 0;
		node->b = n > 1 ? waits[1] : 0;
		for (i = 0; i < n; i++) {
			task_add(&t[tasks_n++], slot, p->results + (__u64)waits[i] * SLOT, p->ones,
				 i ? slot : slot + 4);
			syncs[i] = sync_in_point(p->timelines[dep[i]], point[i]);
		}
		if (!n)
			task_fill(&t[tasks_n++], UMA_DTYPE_S32, slot, 1, (__u32)salt(g));
		syncs[n] = sync_out_point(p->timelines[from], k);
		i = (unsigned int)rand_r(&seed) % p->engine_count;
		while ((ret = submit_one_try(c.fd, queues[i],
					     tasks.va + (k - 1) * 2ull * UMA_TASK_SIZE, tasks_n,
					     syncs, n + 1)) == -EBUSY) {
			__atomic_fetch_add(&w->shared->refused, 1, __ATOMIC_RELAXED);
			syncobj_wait_point(c.fd, p->timelines[from], k > 100 ? k - 100 : 1);
		}
		ASSERT_EQ(0, ret);
		__atomic_store_n(&w->shared->submitted[from], k, __ATOMIC_RELEASE);
	}
	syncobj_wait_point(c.fd, p->timelines[from], k - 1);
	for (i = 0; i < p->engine_count; i++) {
		struct drm_uma_queue_state state;

		queue_state(c.fd, queues[i], &state);
		EXPECT_EQ(state.submitted, state.completed);
		EXPECT_EQ(DRM_UMA_QUEUE_OK, state.status);
	}
}

static void *thread_main(void *arg)
{
	run_thread(arg);
	return NULL;
}

static void run_process(const struct world *w, unsigned int number)
{
	struct thread threads[PER_PROCESS];
	struct drm_uma_query_engine engines[MAX_ENGINES];
	struct process p = { .world = w };
	unsigned int n, i;
	__u32 handle;
	__s8 *ones;

	client_open(&p.c);
	n = query_engines(p.c.fd, engines);
	for (i = 0; i < n; i++) {
		if (engine_can(p.c.fd, i, UMA_OP_GEMM, UMA_DTYPE_S8, UMA_DTYPE_S8, UMA_DTYPE_S32) &&
		    engine_can(p.c.fd, i, UMA_OP_FILL, 0, 0, UMA_DTYPE_S32))
			p.engines[p.engine_count++] = i;
	}
	ASSERT_GT(p.engine_count, 0);
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, syncobj_import_try(p.c.fd, w->timelines[i], false, &p.timelines[i]));
	handle = prime_import(p.c.fd, w->results);
	p.results = client_bind_handle(&p.c, handle, (__u64)lseek(w->results, 0, SEEK_END), 0);
	ones = aligned_alloc(PAGE, PAGE);
	ASSERT_TRUE(ones);
	memset(ones, 1, PAGE);
	ASSERT_EQ(0, bo_import_user_try(p.c.fd, ones, PAGE, DRM_UMA_USER_READONLY, &handle));
	p.ones = client_bind_handle(&p.c, handle, PAGE, DRM_UMA_BIND_READONLY);
	for (i = 0; i < PER_PROCESS; i++) {
		threads[i].p = &p;
		threads[i].number = number * PER_PROCESS + i;
		ASSERT_EQ(0, pthread_create(&threads[i].id, NULL, thread_main, &threads[i]));
	}
	for (i = 0; i < PER_PROCESS; i++)
		ASSERT_EQ(0, pthread_join(threads[i].id, NULL));
}

/* What was used last is freed a moment after the last reference, in a work item. */
static void expect_back(const char *file, long long before)
{
	while (counter(file) > before)
		usleep(10000);
	EXPECT_EQ(before, counter(file));
}

/* No job hangs here, but a busy host may let a processor of the machine stand still for long. */
FIXTURE(stress) {
	char timeout[16];
};

FIXTURE_SETUP(stress)
{
	ASSERT_GT(device_read_try(dev_name(), "job_timeout_ms", self->timeout,
				  sizeof(self->timeout)), 0);
	ASSERT_EQ(0, device_write_try(dev_name(), "job_timeout_ms", "600000"));
}

FIXTURE_TEARDOWN(stress)
{
	EXPECT_EQ(0, device_write_try(dev_name(), "job_timeout_ms", self->timeout));
}

TEST_F_TIMEOUT(stress, dependencies, 600)
{
	long long bos = counter("bo_count"), pinned = counter("pinned_pages");
	const char *jobs = getenv("UMA_STRESS_JOBS");
	struct world w = { .per_thread = (__u32)((jobs ? atoi(jobs) : JOBS) / THREADS) };
	__u32 total = w.per_thread * THREADS, g, wrong = 0, edges = 0, done = 0;
	pid_t pids[PROCESSES];
	struct client c;
	__u32 handle;
	__u64 size;
	__s32 *v;
	int i;

	ASSERT_GT(total, 0);
	/* Who names a number gets it, however long it takes. */
	if (!jobs)
		w.until = now_ns() + ENOUGH_S * 1000000000ull;
	w.shared = mmap(NULL, sizeof(*w.shared) + total * sizeof(struct node),
			PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(w.shared != MAP_FAILED);
	client_open(&c);
	size = ((__u64)total * SLOT + PAGE - 1) & ~(PAGE - 1);
	handle = bo_create(c.fd, size, 0);
	v = bo_map(c.fd, handle, size);
	for (g = 0; g < total; g++)
		v[g * (SLOT / 4) + 1] = salt(g);
	w.results = prime_export(c.fd, handle);
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, syncobj_export_try(c.fd, syncobj_create(c.fd, false), false,
						&w.timelines[i]));

	for (i = 0; i < PROCESSES; i++) {
		pids[i] = harness_fork();
		if (!pids[i]) {
			run_process(&w, (unsigned int)i);
			_exit(harness->failures ? 1 : 0);
		}
	}
	for (i = 0; i < PROCESSES; i++)
		harness_join(pids[i]);

	for (i = 0; i < THREADS; i++) {
		EXPECT_GT(w.shared->submitted[i], 0);
		done += w.shared->submitted[i];
	}
	if (!w.until)
		EXPECT_EQ(total, done);
	for (g = 0; g < total; g++) {
		const struct node *node = &w.shared->nodes[g];
		__s32 sum = salt(g);

		if (g % w.per_thread >= w.shared->submitted[g / w.per_thread])
			continue;
		if (node->waits > 0)
			sum += (__s8)v[node->a * (SLOT / 4)];
		if (node->waits > 1)
			sum += (__s8)v[node->b * (SLOT / 4)];
		edges += node->waits;
		if (v[g * (SLOT / 4)] == sum)
			continue;
		if (wrong++ < 5)
			harness_diag("job %u has %d, not %d (waits for %u and %u)", g,
				     v[g * (SLOT / 4)], sum, node->a, node->b);
	}
	EXPECT_EQ(0, wrong);
	harness_diag("%u of %u jobs, %u dependencies, %u times a queue was full", done, total,
		     edges, w.shared->refused);

	ASSERT_EQ(0, munmap(v, size));
	client_close(&c);
	close(w.results);
	for (i = 0; i < THREADS; i++)
		close(w.timelines[i]);
	expect_back("bo_count", bos);
	expect_back("pinned_pages", pinned);
}

/* --- clients that are killed ------------------------------------------------------------- */

/* A client that does everything that a client can do, for as long as it lives. */
static void wild(unsigned int seed)
{
	struct client c;
	struct buf b[4], tasks;
	struct drm_uma_query_engine engines[MAX_ENGINES];
	__u32 queues[MAX_ENGINES], handle, timeline;
	void *p = aligned_alloc(PAGE, 4 * PAGE);
	struct drm_uma_sync out;
	__u64 point = 0;
	unsigned int n, i;
	int fd;

	client_open(&c);
	timeline = syncobj_create(c.fd, false);
	n = query_engines(c.fd, engines);
	for (i = 0; i < n; i++)
		queues[i] = queue_create(c.fd, c.vm, i);
	client_buf(&c, &tasks, 16 * UMA_TASK_SIZE);
	for (i = 0; i < 4; i++)
		client_buf(&c, &b[i], 4 * PAGE);
	for (i = 0; i < 16; i++)
		task_fill(&tasks.task[i], UMA_DTYPE_U8, b[i % 4].va, 4 * PAGE, i);
	memset(p, 0, 4 * PAGE);
	for (;;) {
		switch (rand_r(&seed) % 6) {
		case 0:
		case 1:
		case 2:
			/*
			 * Some in flight, but no backlog that others would stand behind for
			 * minutes.
			 */
			if (point > 16)
				syncobj_wait_point(c.fd, timeline, point - 16);
			out = sync_out_point(timeline, point + 1);
			ASSERT_EQ(0,
				  submit_one_try(c.fd, queues[(unsigned int)rand_r(&seed) % n],
						 tasks.va, 1 + (__u32)rand_r(&seed) % 16, &out, 1));
			point++;
			break;
		case 3:
			if (!bo_import_user_try(c.fd, p, 4 * PAGE, 0, &handle)) {
				client_bind_handle(&c, handle, 4 * PAGE, 0);
				gem_close_try(c.fd, handle);
			}
			break;
		case 4:
			if (!prime_export_try(c.fd, b[0].handle, DRM_CLOEXEC, &fd))
				close(fd);
			break;
		case 5:
			handle = bo_create(c.fd, 64 * PAGE, 0);
			client_bind_handle(&c, handle, 64 * PAGE, 0);
			vm_unmap(c.fd, c.vm, c.va - 65 * PAGE, 64 * PAGE);
			gem_close(c.fd, handle);
			break;
		}
	}
}

TEST_F_TIMEOUT(stress, killed, 240)
{
	long long bos = counter("bo_count"), pinned = counter("pinned_pages");
	int round, i, engine, errors = 0;
	struct buf tasks, src, dst;
	struct client c;
	__u32 queue, k;
	pid_t pids[4];

	client_open(&c);
	engine = engine_for(c.fd, UMA_OP_COPY, UMA_DTYPE_S32, 0, UMA_DTYPE_S32);
	ASSERT_GE(engine, 0);
	queue = queue_create(c.fd, c.vm, (unsigned int)engine);
	client_buf(&c, &tasks, PAGE);
	client_buf(&c, &src, PAGE);
	client_buf(&c, &dst, PAGE);
	task_copy(tasks.task, UMA_DTYPE_S32, dst.va, src.va, 1024);
	for (round = 0; round < 8; round++) {
		for (i = 0; i < 4; i++) {
			pids[i] = harness_fork();
			if (!pids[i])
				wild((unsigned int)(round * 4 + i));
		}
		/* Meanwhile an innocent client computes. */
		for (i = 0; i < 6; i++) {
			for (k = 0; k < 1024; k++)
				src.u32[k] = (__u32)(round * 6 + i) * 1024 + k;
			EXPECT_EQ(0, client_run(&c, queue, tasks.va, 1));
			errors += memcmp(src.map, dst.map, PAGE) != 0;
		}
		for (i = 0; i < 4; i++) {
			int status;

			kill(pids[i], SIGKILL);
			ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
			EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		}
	}
	EXPECT_EQ(0, errors);
	ASSERT_EQ(0, munmap(tasks.map, PAGE));
	ASSERT_EQ(0, munmap(src.map, PAGE));
	ASSERT_EQ(0, munmap(dst.map, PAGE));
	client_close(&c);
	/* Jobs that were running when their client died hold what they use until they end. */
	expect_back("bo_count", bos);
	expect_back("pinned_pages", pinned);
}

HARNESS_MAIN
