// SPDX-License-Identifier: MIT
/*
 * Everything that may be shared, shared: many threads on one device, context
 * and set of queues. Each job has a result that only the right order gives.
 */
#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <time.h>
#include "libaccel/sw/sw.h"
#include "rt.h"

#define THREADS	8
#define QUEUES	3
#define ROUNDS	(rt_is_sw() ? 60 : 12)

struct shared {
	struct rt rt;
	struct accel_queue *queue[QUEUES];
	struct accel_plan *copy;
	struct accel_pool *pool;
	/* the latest fence of anybody */
	pthread_mutex_t lock;
	struct accel_fence *latest;
	int failures;
};

struct worker {
	struct shared *s;
	pthread_t thread;
	unsigned int seed;
};

static void failed(struct shared *s)
{
	pthread_mutex_lock(&s->lock);
	s->failures++;
	pthread_mutex_unlock(&s->lock);
}

static struct accel_fence *exchange(struct shared *s, struct accel_fence *mine)
{
	struct accel_fence *old;

	pthread_mutex_lock(&s->lock);
	old = s->latest;
	s->latest = mine ? accel_fence_ref(mine) : NULL;
	pthread_mutex_unlock(&s->lock);
	return old;
}

/* A chain of copies through a buffer, in jobs on any of the queues. */
static int chain(struct worker *w, float value)
{
	enum { LINKS = 6 };
	struct shared *s = w->s;
	struct accel_fence *last = NULL, *fence, *waits[2];
	struct accel_submit_opts opts = ACCEL_SUBMIT_OPTS_INIT;
	struct accel_job_opts unordered = ACCEL_JOB_OPTS_INIT;
	struct accel_job *job;
	struct accel_bo *bo;
	float *user = NULL;
	int i, ret;

	/* From the heap, a pool, or imported. */
	switch (rand_r(&w->seed) % 3) {
	case 0:
		ret = accel_bo_create(s->rt.ctx, 64 * (LINKS + 1), NULL, &bo);
		break;
	case 1:
		ret = accel_pool_alloc(s->pool, 64 * (LINKS + 1), 0, &bo);
		break;
	default:
		user = malloc(64 * (LINKS + 1));
		ret = user ? accel_bo_import_ptr(s->rt.ctx, user,
						 64 * (LINKS + 1), NULL, &bo) :
			     -ENOMEM;
		break;
	}
	if (ret) {
		free(user);
		return ret;
	}
	rt_floats(bo)[0] = value;
	unordered.flags = ACCEL_JOB_UNORDERED;
	for (i = 0; i < LINKS && !ret; i++) {
		struct accel_binding b[2] = {
			{ ACCEL_ARG_D, 0, bo, 64 * (i + 1) },
			{ ACCEL_ARG_A, 0, bo, 64 * i },
		};

		ret = accel_job_create(s->rt.ctx, rand_r(&w->seed) % 2 ?
				       &unordered : NULL, &job);
		if (ret)
			break;
		ret = accel_job_add(job, s->copy, b, 2, NULL, 0, NULL);
		opts.wait_count = 0;
		opts.waits = waits;
		if (last)
			waits[opts.wait_count++] = last;
		/* And what somebody else does, why not. */
		fence = exchange(s, NULL);
		if (fence)
			waits[opts.wait_count++] = fence;
		if (!ret) {
			struct accel_fence *next;

			ret = accel_queue_submit(s->queue[rand_r(&w->seed) %
							  QUEUES], job, &opts,
						 &next);
			if (!ret) {
				accel_fence_unref(last);
				last = next;
				accel_fence_unref(exchange(s, last));
			}
		}
		accel_fence_unref(fence);
		accel_job_destroy(job);
	}
	if (last && accel_fence_wait(last, -1))
		ret = -EIO;
	if (!ret && rt_floats(bo)[16 * LINKS] != value)
		ret = -EILSEQ;
	accel_fence_unref(last);
	accel_bo_unref(bo);
	free(user);
	return ret;
}

/* A queue of its own that fails. */
static int trouble(struct worker *w)
{
	struct shared *s = w->s;
	struct accel_fence *fence;
	struct accel_queue *queue;
	struct accel_plan *plan;
	struct accel_binding b;
	struct accel_job *job;
	struct accel_bo *bo;
	int ret;

	ret = accel_queue_create(s->rt.ctx, NULL, &queue);
	if (ret)
		return ret;
	bo = rt_bo(s->rt.ctx, 4096);
	job = rt_job(s->rt.ctx, 0);
	plan = rt_fill_plan(s->rt.ctx, 4, 1, 16);
	/* Page 0 is never bound. */
	plan->relocs[0].addend = -(int64_t)bo->addr + 64;
	b = (struct accel_binding){ ACCEL_ARG_D, 0, bo, 0 };
	ret = accel_job_add(job, plan, &b, 1, NULL, 0, NULL);
	if (!ret)
		ret = accel_queue_submit(queue, job, NULL, &fence);
	if (!ret) {
		ret = accel_fence_wait(fence, -1) == -EFAULT ? 0 : -EIO;
		accel_fence_unref(fence);
	}
	accel_queue_destroy(queue);
	accel_job_destroy(job);
	accel_plan_unref(plan);
	accel_bo_unref(bo);
	return ret;
}

/* The same job from all threads at once. */
static void *run(void *arg)
{
	struct worker *w = arg;
	struct shared *s = w->s;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (rand_r(&w->seed) % 8 == 0) {
			if (trouble(w))
				failed(s);
		} else if (chain(w, 1 + rand_r(&w->seed) % 1000)) {
			failed(s);
		}
	}
	return NULL;
}

static void test_everything(void **state)
{
	struct worker w[THREADS];
	struct shared s = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct accel_memory_stats stats = { sizeof(stats) };
	int i;

	(void)state;
	rt_open(&s.rt, rt_name(), rt_is_sw() ? 3 : 0);
	for (i = 0; i < QUEUES; i++)
		assert_int_equal(accel_queue_create(s.rt.ctx, NULL, &s.queue[i]),
				 0);
	assert_int_equal(accel_pool_create(s.rt.ctx, 1 << 20, NULL, &s.pool), 0);
	s.copy = rt_copy_plan(s.rt.ctx, 16, 64);
	for (i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .s = &s, .seed = i };
		assert_int_equal(pthread_create(&w[i].thread, NULL, run, &w[i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(w[i].thread, NULL), 0);
	assert_int_equal(s.failures, 0);
	accel_fence_unref(s.latest);
	for (i = 0; i < QUEUES; i++)
		accel_queue_destroy(s.queue[i]);
	accel_plan_unref(s.copy);
	accel_pool_destroy(s.pool);
	assert_int_equal(accel_ctx_get_memory(s.rt.ctx, &stats), 0);
	assert_int_equal(stats.bo_count, 0);
	rt_close(&s.rt);
}

struct same {
	struct rt *rt;
	struct accel_job *job;
	pthread_t thread;
	int failures;
};

static void *same_job(void *arg)
{
	struct same *s = arg;
	struct accel_fence *fence;
	int i;

	/* One queue: the job writes to the same place each time. */
	for (i = 0; i < ROUNDS; i++) {
		if (accel_queue_submit(s->rt->queue, s->job, NULL, &fence)) {
			s->failures++;
			continue;
		}
		s->failures += !!accel_fence_wait(fence, -1);
		accel_fence_unref(fence);
	}
	return NULL;
}

/* A job is submitted for the first time by all threads at once. */
static void test_first_submit(void **state)
{
	struct rt *rt = *state;
	struct same s[THREADS];
	struct accel_job *job;
	struct accel_bo *bo;
	int i, round;

	for (round = 0; round < 4; round++) {
		bo = rt_bo(rt->ctx, 4096);
		job = rt_job(rt->ctx, round % 2 ? ACCEL_JOB_UNORDERED : 0);
		rt_add_fill(job, bo, 0, 16, 1, NULL, 0);
		rt_add_fill(job, bo, 64, 16, 2, NULL, 0);
		for (i = 0; i < THREADS; i++) {
			s[i] = (struct same){ .rt = rt, .job = job };
			assert_int_equal(pthread_create(&s[i].thread, NULL,
							same_job, &s[i]), 0);
		}
		for (i = 0; i < THREADS; i++) {
			assert_int_equal(pthread_join(s[i].thread, NULL), 0);
			assert_int_equal(s[i].failures, 0);
		}
		assert_true(rt_floats(bo)[16] == 2);
		accel_job_destroy(job);
		accel_bo_unref(bo);
	}
}

/* Work that is worth all threads gives what it gives on one. */
static void test_shared_tiles(void **state)
{
	const int64_t n = rt_is_sw() ? 200 : 48;
	struct accel_gemm_desc desc = ACCEL_GEMM_DESC_INIT;
	struct accel_bo *bo[3];
	struct rt rt;
	float *one, *p;
	int64_t i, j;
	int threads;

	(void)state;
	one = malloc(n * n * 4);
	assert_non_null(one);
	for (threads = 1; threads < 5; threads++) {
		rt_open(&rt, rt_name(), rt_is_sw() ? threads : 0);
		for (i = 0; i < 3; i++)
			bo[i] = rt_bo(rt.ctx, n * n * 4);
		for (i = 0; i < 2; i++)
			for (p = accel_bo_ptr(bo[i]), j = 0; j < n * n; j++)
				p[j] = (float)((j * 7 + i) % 31 - 15) / 8;
		desc.a = accel_tensor_2d(bo[0], ACCEL_F32, n, n);
		desc.b = accel_tensor_2d(bo[1], ACCEL_F32, n, n);
		desc.d = accel_tensor_2d(bo[2], ACCEL_F32, n, n);
		assert_int_equal(accel_run(rt.ctx, &desc.hdr), 0);
		if (threads == 1)
			memcpy(one, accel_bo_ptr(bo[2]), n * n * 4);
		else
			assert_memory_equal(one, accel_bo_ptr(bo[2]), n * n * 4);
		for (i = 0; i < 3; i++)
			accel_bo_unref(bo[i]);
		rt_close(&rt);
	}
	free(one);
}

/* Nanoseconds of processor time that all workers have had, but for the busiest one. */
static uint64_t others_time(uint64_t *busiest)
{
	struct dirent *entry;
	uint64_t sum = 0, ns;
	char path[300], name[16];
	FILE *file;
	DIR *dir;
	int got;

	*busiest = 0;
	dir = opendir("/proc/self/task");
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		got = fscanf(file, "%15s", name);
		fclose(file);
		if (got != 1 || strcmp(name, "accel"))
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		got = fscanf(file, "%" SCNu64, &ns);
		fclose(file);
		if (got != 1)
			continue;
		sum += ns;
		if (ns > *busiest)
			*busiest = ns;
	}
	closedir(dir);
	return sum - *busiest;
}

static void *open_later(void *gate)
{
	const struct timespec ts = { .tv_nsec = 20000000 };

	nanosleep(&ts, NULL);
	rt_gate_open(gate);
	return NULL;
}

/*
 * Who waits for a job that cannot start yet goes to sleep, and is not expected to do its
 * share of an ordered job any more: the second worker does.
 */
static void test_sleeper(void **state)
{
	struct accel_submit_opts opts = ACCEL_SUBMIT_OPTS_INIT;
	struct accel_gemm_desc desc = ACCEL_GEMM_DESC_INIT;
	struct accel_binding bind[3] = { 0 };
	struct accel_fence *fence;
	uint64_t others, busiest;
	struct accel_plan *plan;
	struct accel_job *job;
	struct accel_bo *bo[3];
	struct rt_gate gate;
	pthread_t thread;
	struct rt rt;
	int i;

	(void)state;
	if (!rt_is_sw() || access("/proc/self/schedstat", R_OK))
		skip();
	rt_open(&rt, rt_name(), 2);
	desc.a = accel_tensor_2d(NULL, ACCEL_F32, 256, 256);
	desc.b = desc.a;
	desc.d = desc.a;
	assert_int_equal(accel_plan_create(rt.ctx, &desc.hdr, &plan), 0);
	for (i = 0; i < 3; i++) {
		bo[i] = rt_bo(rt.ctx, 256 * 256 * 4);
		bind[i].bo = bo[i];
	}
	bind[0].arg = ACCEL_ARG_A;
	bind[1].arg = ACCEL_ARG_B;
	bind[2].arg = ACCEL_ARG_D;
	job = rt_job(rt.ctx, 0);
	for (i = 0; i < 400; i++)
		assert_int_equal(accel_job_add(job, plan, bind, 3, NULL, 0, NULL), 0);

	gate = rt_gate(rt.ctx);
	opts.wait_count = 1;
	opts.waits = &gate.fence;
	assert_int_equal(accel_queue_submit(rt.queue, job, &opts, &fence), 0);
	assert_int_equal(pthread_create(&thread, NULL, open_later, &gate), 0);
	assert_int_equal(accel_fence_wait(fence, -1), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	others = others_time(&busiest);
	/* Half of it each; a tenth allows for a machine that is busy with something else. */
	assert_true(others > busiest / 10);

	accel_fence_unref(fence);
	rt_gate_close(&gate);
	accel_job_destroy(job);
	accel_plan_unref(plan);
	for (i = 0; i < 3; i++)
		accel_bo_unref(bo[i]);
	rt_close(&rt);
}

/*
 * Small jobs run on the thread that submits them, but not while as many threads are at
 * work as the device was opened with.
 */
static void test_inline_counts(void **state)
{
	struct accel_fence *fence;
	struct accel_job *job;
	struct sw_team *team;
	struct accel_bo *bo;
	struct rt rt;

	(void)state;
	if (!rt_is_sw())
		skip();
	rt_open(&rt, rt_name(), 1);
	team = &to_sw_device(rt.dev)->team;
	bo = rt_bo(rt.ctx, 4096);
	job = rt_job(rt.ctx, 0);
	rt_add_fill(job, bo, 0, 16, 1, NULL, 0);
	assert_int_equal(accel_queue_submit(rt.queue, job, NULL, &fence), 0);
	assert_int_equal(accel_fence_wait(fence, 0), 0);
	accel_fence_unref(fence);

	pthread_mutex_lock(&team->lock);
	team->running++;
	pthread_mutex_unlock(&team->lock);
	assert_int_equal(accel_queue_submit(rt.queue, job, NULL, &fence), 0);
	assert_int_equal(accel_fence_wait(fence, 0), -ETIMEDOUT);
	pthread_mutex_lock(&team->lock);
	team->running--;
	pthread_mutex_unlock(&team->lock);
	assert_int_equal(accel_fence_wait(fence, -1), 0);
	accel_fence_unref(fence);
	pthread_mutex_lock(&team->lock);
	assert_int_equal(team->running, 0);
	assert_int_equal(team->helping, 0);
	pthread_mutex_unlock(&team->lock);
	accel_job_destroy(job);
	accel_bo_unref(bo);
	rt_close(&rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inline_counts),
		cmocka_unit_test(test_everything),
		cmocka_unit_test_setup_teardown(test_first_submit, rt_setup,
						rt_teardown),
		cmocka_unit_test(test_shared_tiles),
		cmocka_unit_test(test_sleeper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
