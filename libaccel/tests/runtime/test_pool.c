// SPDX-License-Identifier: MIT
/* Pools: many buffers in one. */
#include "rt.h"

#define POOL_BYTES	65536

static struct accel_pool *pool_new(struct rt *rt, uint64_t bytes)
{
	struct accel_pool *pool;

	assert_int_equal(accel_pool_create(rt->ctx, bytes, NULL, &pool), 0);
	return pool;
}

static void test_alloc(void **state)
{
	struct rt *rt = *state;
	struct accel_pool *pool = pool_new(rt, POOL_BYTES);
	struct accel_bo *a, *b, *c;

	assert_int_equal(accel_pool_alloc(pool, 10, 0, &a), 0);
	assert_int_equal(accel_pool_alloc(pool, 100, 4096, &b), 0);
	assert_int_equal(accel_pool_alloc(pool, 1, 1, &c), 0);
	assert_int_equal(accel_bo_size(a), 10);
	assert_int_equal((uintptr_t)accel_bo_ptr(a) % 64, 0);
	assert_int_equal((uintptr_t)accel_bo_ptr(b) % 4096, 0);
	assert_int_equal((uintptr_t)accel_bo_ptr(c) % 64, 0);
	memset(accel_bo_ptr(a), 1, 10);
	memset(accel_bo_ptr(b), 2, 100);
	*(char *)accel_bo_ptr(c) = 3;
	assert_int_equal(((char *)accel_bo_ptr(a))[9], 1);
	assert_int_equal(((char *)accel_bo_ptr(b))[99], 2);
	accel_bo_unref(a);
	accel_bo_unref(b);
	accel_bo_unref(c);
	accel_pool_destroy(pool);
	accel_pool_destroy(NULL);
}

static void test_errors(void **state)
{
	struct rt *rt = *state;
	struct accel_pool *pool;
	struct accel_bo *bo;
	int fd;

	assert_fails(rt->ctx, accel_pool_create(rt->ctx, 0, NULL, &pool), -EINVAL,
		     "bytes");
	pool = pool_new(rt, POOL_BYTES);
	assert_fails(rt->ctx, accel_pool_alloc(pool, 0, 0, &bo), -EINVAL, "bytes");
	assert_fails(rt->ctx, accel_pool_alloc(pool, 1, 3, &bo), -EINVAL, "align");
	assert_fails(rt->ctx, accel_pool_alloc(pool, 1, 1 << 20, &bo), -EINVAL,
		     "align");
	assert_fails(rt->ctx, accel_pool_alloc(pool, POOL_BYTES + 1, 0, &bo),
		     -ENOSPC, "bytes");
	assert_fails(rt->ctx, accel_pool_alloc(pool, UINT64_MAX, 0, &bo), -ENOSPC,
		     "bytes");
	assert_int_equal(accel_pool_alloc(pool, 1, 0, &bo), 0);
	assert_fails(rt->ctx, accel_bo_export_dmabuf(bo, &fd), -EOPNOTSUPP, "bo");
	accel_bo_unref(bo);
	accel_pool_destroy(pool);
}

/* All of it can be had, and again after it was given back in any order. */
static void test_exhaust(void **state)
{
	enum { N = POOL_BYTES / 64 };
	struct rt *rt = *state;
	struct accel_pool *pool = pool_new(rt, POOL_BYTES);
	static struct accel_bo *bo[N];
	struct accel_bo *all;
	int i, round;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < N; i++) {
			assert_int_equal(accel_pool_alloc(pool, 64, 0, &bo[i]), 0);
			*(int *)accel_bo_ptr(bo[i]) = i;
		}
		assert_int_equal(accel_pool_alloc(pool, 1, 0, &all), -ENOSPC);
		for (i = 0; i < N; i++)
			assert_int_equal(*(int *)accel_bo_ptr(bo[i]), i);
		for (i = 0; i < N; i += 2)
			accel_bo_unref(bo[i]);
		assert_int_equal(accel_pool_alloc(pool, 65, 0, &all), -ENOSPC);
		for (i = round ? 1 : N - 1; i > 0 && i < N; i += round ? 2 : -2)
			accel_bo_unref(bo[i]);
		assert_int_equal(accel_pool_alloc(pool, POOL_BYTES, 0, &all), 0);
		accel_bo_unref(all);
	}
	accel_pool_destroy(pool);
}

/* Random sizes against a map of bytes: no two overlap, nothing is lost. */
static void test_random(void **state)
{
	enum { N = 64 };
	struct rt *rt = *state;
	struct accel_pool *pool = pool_new(rt, POOL_BYTES);
	struct accel_bo *bo[N] = { NULL }, *all;
	unsigned int seed = 1, i, k;
	uint32_t bytes;
	uint8_t *p;

	for (i = 0; i < 4000; i++) {
		k = rand_r(&seed) % N;
		if (bo[k]) {
			p = accel_bo_ptr(bo[k]);
			for (bytes = accel_bo_size(bo[k]); bytes--; )
				assert_int_equal(p[bytes], k);
			accel_bo_unref(bo[k]);
			bo[k] = NULL;
			continue;
		}
		bytes = 1 + rand_r(&seed) % 3000;
		if (accel_pool_alloc(pool, bytes, 1u << rand_r(&seed) % 13,
				     &bo[k])) {
			bo[k] = NULL;
			continue;
		}
		memset(accel_bo_ptr(bo[k]), k, bytes);
	}
	for (k = 0; k < N; k++)
		accel_bo_unref(bo[k]);
	assert_int_equal(accel_pool_alloc(pool, POOL_BYTES, 0, &all), 0);
	accel_bo_unref(all);
	accel_pool_destroy(pool);
}

/* Parts are buffers like any other, and keep the pool's memory. */
static void test_use(void **state)
{
	struct rt *rt = *state;
	struct accel_pool *pool = pool_new(rt, POOL_BYTES);
	struct accel_bo *a, *b;
	struct accel_job *job;

	assert_int_equal(accel_pool_alloc(pool, 64, 0, &a), 0);
	assert_int_equal(accel_pool_alloc(pool, 64, 0, &b), 0);
	accel_pool_destroy(pool);
	job = rt_job(rt->ctx, 0);
	rt_add_fill(job, a, 0, 16, 4, NULL, 0);
	rt_add_copy(job, b, 0, a, 0, 16, NULL, 0);
	rt_run(rt->queue, job);
	assert_true(rt_floats(b)[15] == 4);
	assert_int_equal(accel_bo_cpu_begin(b, 0, 64, ACCEL_CPU_READ), 0);
	accel_job_destroy(job);
	accel_bo_unref(a);
	accel_bo_unref(b);
}

static void test_hidden(void **state)
{
	struct accel_bo_opts opts = ACCEL_BO_OPTS_INIT;
	struct accel_pool *pool;
	struct rt *rt = *state;
	struct accel_bo *bo;

	opts.flags = ACCEL_BO_NO_MAP;
	assert_int_equal(accel_pool_create(rt->ctx, POOL_BYTES, &opts, &pool), 0);
	assert_int_equal(accel_pool_alloc(pool, 64, 0, &bo), 0);
	assert_null(accel_bo_ptr(bo));
	accel_bo_unref(bo);
	accel_pool_destroy(pool);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, rt_setup, rt_teardown)
	const struct CMUnitTest tests[] = {
		T(test_alloc), T(test_errors), T(test_exhaust), T(test_random),
		T(test_use), T(test_hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
