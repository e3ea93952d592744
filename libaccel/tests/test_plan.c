// SPDX-License-Identifier: MIT
/*
 * Plans as objects: what they say of themselves, how long they live, what they
 * hold, and several threads with one of them.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <accel/accel.h>
#include "guest.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static struct accel_device *dev;
static struct accel_ctx *ctx;

static void must(int ret, const char *what)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	if (!ret)
		return;
	accel_ctx_get_error(ctx, &e);
	fail_msg("%s: %d: %s: %s", what, ret, e.field, e.text);
}

#define MUST(call)	must(call, #call)

static struct accel_bo *buffer(uint64_t bytes)
{
	struct accel_bo *bo = NULL;

	MUST(accel_bo_create(ctx, bytes, NULL, &bo));
	return bo;
}

static uint32_t buffers(void)
{
	struct accel_memory_stats stats = { .size = sizeof(stats) };

	assert_int_equal(accel_ctx_get_memory(ctx, &stats), 0);
	return stats.bo_count;
}

/* [m, k] by [k, n] of small integers, exact in fp32. */
static void product_desc(struct accel_gemm_desc *g, int64_t m, int64_t n, int64_t k)
{
	*g = (struct accel_gemm_desc)ACCEL_GEMM_DESC_INIT;
	g->a = accel_tensor_2d(NULL, ACCEL_F32, m, k);
	g->b = accel_tensor_2d(NULL, ACCEL_F32, k, n);
	g->d = accel_tensor_2d(NULL, ACCEL_F32, m, n);
}

static float small(int64_t i, int salt)
{
	return (float)((i * 7 + salt) % 11 - 5);
}

static void fill(struct accel_bo *bo, int64_t count, int salt)
{
	float *p = accel_bo_ptr(bo);
	int64_t i;

	for (i = 0; i < count; i++)
		p[i] = small(i, salt);
}

static bool is_product(const struct accel_bo *bo, int64_t m, int64_t n, int64_t k,
		       int salt_a, int salt_b)
{
	const float *d = accel_bo_ptr(bo);
	int64_t i, j, l;

	for (i = 0; i < m; i++)
		for (j = 0; j < n; j++) {
			double sum = 0;

			for (l = 0; l < k; l++)
				sum += (double)small(i * k + l, salt_a) *
				       (double)small(l * n + j, salt_b);
			if ((double)d[i * n + j] != sum)
				return false;
		}
	return true;
}

static int run_once(struct accel_plan *plan, const struct accel_binding *b, uint32_t n)
{
	struct accel_queue *queue = NULL;
	struct accel_fence *fence = NULL;
	struct accel_job *job = NULL;
	int ret;

	ret = accel_job_create(ctx, NULL, &job);
	if (!ret)
		ret = accel_job_add(job, plan, b, n, NULL, 0, NULL);
	if (!ret)
		ret = accel_queue_create(ctx, NULL, &queue);
	if (!ret)
		ret = accel_queue_submit(queue, job, NULL, &fence);
	if (!ret)
		ret = accel_fence_wait(fence, -1);
	accel_fence_unref(fence);
	accel_queue_destroy(queue);
	accel_job_destroy(job);
	return ret;
}

/* --- what a plan says ------------------------------------------------------------ */

static void test_info(void **state)
{
	struct accel_plan_info info = { .size = sizeof(info) };
	struct accel_copy_desc c = ACCEL_COPY_DESC_INIT;
	struct accel_gemm_desc g;
	struct accel_plan *plan;

	(void)state;
	product_desc(&g, 3, 5, 7);
	g.hdr.engine = ACCEL_ENGINE_GPU;
	MUST(accel_plan_create(ctx, &g.hdr, &plan));
	assert_int_equal(accel_plan_get_info(plan, &info), 0);
	assert_int_equal(info.size, sizeof(info));
	assert_int_equal(info.op, ACCEL_OP_GEMM);
	assert_int_equal(info.engine, ACCEL_ENGINE_GPU);
	assert_int_equal(info.task_count, 1);
	assert_int_equal(info.macs, 3 * 5 * 7);
	assert_int_equal(info.read_bytes, 4 * (3 * 7 + 7 * 5));
	assert_int_equal(info.write_bytes, 4 * 3 * 5);
	assert_int_equal(info.packed_bytes, 0);
	assert_int_equal(info.workspace_bytes, 0);
	assert_true(info.estimate_ns > 0);
	info.size = 8;
	assert_int_equal(accel_plan_get_info(plan, &info), -EINVAL);
	accel_plan_unref(plan);

	/* What is broadcast is read once; D's old contents are read. */
	info.size = sizeof(info);
	c.a = accel_tensor_2d(NULL, ACCEL_S8, 1, 10);
	c.d = accel_tensor_2d(NULL, ACCEL_F16, 6, 10);
	MUST(accel_plan_create(ctx, &c.hdr, &plan));
	accel_plan_get_info(plan, &info);
	assert_int_equal(info.op, ACCEL_OP_COPY);
	assert_int_equal(info.read_bytes, 10);
	assert_int_equal(info.write_bytes, 120);
	assert_int_equal(info.macs, 60);
	accel_plan_unref(plan);
	g.beta = 1;
	MUST(accel_plan_create(ctx, &g.hdr, &plan));
	accel_plan_get_info(plan, &info);
	assert_int_equal(info.read_bytes, 4 * (3 * 7 + 7 * 5 + 3 * 5));
	accel_plan_unref(plan);
	accel_plan_unref(NULL);
}

static int is_winograd(void *user, const struct accel_candidate *c)
{
	if (c->verdict == ACCEL_CHOSEN)
		*(bool *)user = !strcmp(c->kernel, "wino");
	return 0;
}

/*
 * What threads share while a task runs is the in-process device's: reported beside the
 * workspace, which is bound, and not counted as memory of the context. Without kernels, and
 * on a node, there is none.
 */
static void test_host_bytes(void **state)
{
	const int64_t a[] = { 1, 16, 12, 12 }, b[] = { 16, 16, 3, 3 };
	struct accel_memory_stats before = { .size = sizeof(before) }, after = before;
	struct accel_plan_info info = { .size = sizeof(info) };
	struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;
	struct accel_gemm_desc g;
	struct accel_plan *plan;
	bool winograd = false;

	(void)state;
	d.flags = ACCEL_CONV_PACK_B;
	d.algorithm = ACCEL_CONV_WINOGRAD_2;
	d.pad_before[0] = d.pad_before[1] = d.pad_after[0] = d.pad_after[1] = 1;
	d.a = d.d = accel_tensor_dense(NULL, ACCEL_F32, 4, a);
	d.b = accel_tensor_dense(NULL, ACCEL_F32, 4, b);
	d.a.bo = buffer(16 * 12 * 12 * 4);
	d.b.bo = buffer(16 * 16 * 9 * 4);
	d.d.bo = buffer(16 * 12 * 12 * 4);
	MUST(accel_plan_create(ctx, &d.hdr, &plan));
	assert_int_equal(accel_plan_explain(plan, is_winograd, &winograd), 0);
	assert_int_equal(accel_plan_get_info(plan, &info), 0);
	assert_int_equal(info.workspace_bytes, 0);
	assert_int_equal(info.host_bytes > 0, winograd);
	accel_plan_unref(plan);
	assert_int_equal(accel_ctx_get_memory(ctx, &before), 0);
	MUST(accel_run(ctx, &d.hdr));
	assert_int_equal(accel_ctx_get_memory(ctx, &after), 0);
	assert_int_equal(after.bo_bytes, before.bo_bytes);
	assert_int_equal(after.bo_count, before.bo_count);
	accel_bo_unref(d.a.bo);
	accel_bo_unref(d.b.bo);
	accel_bo_unref(d.d.bo);

	product_desc(&g, 3, 5, 7);
	MUST(accel_plan_create(ctx, &g.hdr, &plan));
	assert_int_equal(accel_plan_get_info(plan, &info), 0);
	assert_int_equal(info.host_bytes, 0);
	accel_plan_unref(plan);
}

/* --- rows by themselves ------------------------------------------------------------------ */

/* The bits of a row alone are those that it has among others; test_rows has all operations. */
static void test_reproducible(void **state)
{
	const uint32_t m = 19, n = 48, k = 320;
	struct accel_ctx_opts opts = ACCEL_CTX_OPTS_INIT;
	struct accel_gemm_desc g, one;
	struct accel_ctx *c;
	float *a, *b, *all, *row;
	uint32_t i, packed;

	(void)state;
	opts.flags = ACCEL_CTX_REPRODUCIBLE;
	assert_int_equal(accel_ctx_create(dev, &opts, &c), 0);
	product_desc(&g, m, n, k);
	product_desc(&one, 1, n, k);
	assert_int_equal(accel_bo_create(c, 4ull * m * k, NULL, &g.a.bo), 0);
	assert_int_equal(accel_bo_create(c, 4ull * k * n, NULL, &g.b.bo), 0);
	assert_int_equal(accel_bo_create(c, 4ull * m * n, NULL, &g.d.bo), 0);
	assert_int_equal(accel_bo_create(c, 4ull * n, NULL, &one.d.bo), 0);
	one.a.bo = g.a.bo;
	one.b.bo = g.b.bo;
	a = accel_bo_ptr(g.a.bo);
	b = accel_bo_ptr(g.b.bo);
	all = accel_bo_ptr(g.d.bo);
	row = accel_bo_ptr(one.d.bo);
	/* Sums that are rounded, in whatever order */
	for (i = 0; i < m * k; i++)
		a[i] = (float)(i * 2654435761u >> 8) / (1 << 23) - 1;
	for (i = 0; i < k * n; i++)
		b[i] = (float)((i + m * k) * 2654435761u >> 8) / (1 << 23) - 1;
	for (packed = 0; packed < 2; packed++) {
		g.flags = one.flags = packed ? ACCEL_GEMM_PACK_B : 0;
		assert_int_equal(accel_run(c, &g.hdr), 0);
		for (i = 0; i < m; i += 6) {
			one.a.offset = 4ull * i * k;
			assert_int_equal(accel_run(c, &one.hdr), 0);
			assert_memory_equal(row, all + i * n, 4ul * n);
		}
	}
	accel_bo_unref(one.d.bo);
	accel_bo_unref(g.d.bo);
	accel_bo_unref(g.b.bo);
	accel_bo_unref(g.a.bo);
	accel_ctx_destroy(c);
}

/* --- how long it lives -------------------------------------------------------------- */

static void test_lifetime(void **state)
{
	struct accel_plan_info info = { .size = sizeof(info) };
	struct accel_device *d2;
	struct accel_ctx *c2;
	struct accel_gemm_desc g;
	struct accel_plan *plan;

	(void)state;
	assert_int_equal(accel_device_open("sw", NULL, &d2), 0);
	assert_int_equal(accel_ctx_create(d2, NULL, &c2), 0);
	accel_device_unref(d2);
	product_desc(&g, 4, 4, 4);
	assert_int_equal(accel_plan_create(c2, &g.hdr, &plan), 0);
	assert_ptr_equal(accel_plan_ref(plan), plan);
	accel_ctx_destroy(c2);
	accel_plan_unref(plan);
	assert_int_equal(accel_plan_get_info(plan, &info), 0);
	accel_plan_unref(plan);
}

/* One plan, several jobs and buffers. */
static void test_reuse(void **state)
{
	struct accel_bo *a = buffer(4096), *b = buffer(4096), *d[3];
	struct accel_gemm_desc g;
	struct accel_plan *plan;
	int i;

	(void)state;
	product_desc(&g, 5, 6, 7);
	MUST(accel_plan_create(ctx, &g.hdr, &plan));
	for (i = 0; i < 3; i++) {
		struct accel_binding bind[] = {
			{ ACCEL_ARG_B, 0, b, 0 }, { ACCEL_ARG_D, 0, NULL, 256 },
			{ ACCEL_ARG_A, 0, a, 0 },
		};
		struct accel_bo *part;

		d[i] = bind[1].bo = buffer(4096);
		fill(a, 35, i);
		fill(b, 42, 2 * i);
		MUST(run_once(plan, bind, 3));
		/* The part of the buffer behind the offset. */
		MUST(accel_bo_create(ctx, 4096, NULL, &part));
		memcpy(accel_bo_ptr(part), (char *)accel_bo_ptr(d[i]) + 256, 120);
		assert_true(is_product(part, 5, 6, 7, i, 2 * i));
		accel_bo_unref(part);
	}
	accel_plan_unref(plan);
	for (i = 0; i < 3; i++)
		accel_bo_unref(d[i]);
	accel_bo_unref(a);
	accel_bo_unref(b);
}

/* D's old contents are the addend: D is bound, C is not. */
static void test_accumulate(void **state)
{
	struct accel_bo *a = buffer(4096), *b = buffer(4096), *d = buffer(4096);
	struct accel_binding bind[] = {
		{ ACCEL_ARG_A, 0, a, 0 }, { ACCEL_ARG_B, 0, b, 0 },
		{ ACCEL_ARG_D, 0, d, 0 }, { ACCEL_ARG_C, 0, d, 0 },
	};
	struct accel_gemm_desc g;
	struct accel_plan *plan;
	float *p = accel_bo_ptr(d);
	int i;

	(void)state;
	product_desc(&g, 5, 6, 7);
	g.beta = 1;
	MUST(accel_plan_create(ctx, &g.hdr, &plan));
	fill(a, 35, 1);
	fill(b, 42, 2);
	memset(p, 0, 120);
	assert_int_equal(run_once(plan, bind, 4), -EINVAL);
	MUST(run_once(plan, bind, 3));
	assert_true(is_product(d, 5, 6, 7, 1, 2));
	MUST(run_once(plan, bind, 3));
	for (i = 0; i < 30; i++)
		p[i] /= 2;
	assert_true(is_product(d, 5, 6, 7, 1, 2));
	accel_plan_unref(plan);
	accel_bo_unref(a);
	accel_bo_unref(b);
	accel_bo_unref(d);
}

/* --- what it holds -------------------------------------------------------------------- */

static int find_algorithm(void *user, const struct accel_candidate *c)
{
	if (c->verdict == ACCEL_CHOSEN)
		*(const char **)user = c->algorithm;
	return 0;
}

/* B is gone after planning, and it does not matter. */
static void test_packed(void **state)
{
	struct accel_plan_info info = { .size = sizeof(info) };
	struct accel_bo *a = buffer(1 << 16), *d = buffer(1 << 16), *b;
	struct accel_binding bind[] = {
		{ ACCEL_ARG_A, 0, a, 0 }, { ACCEL_ARG_D, 0, d, 0 },
	};
	const char *algorithm = "";
	uint32_t engine, before = buffers();
	struct accel_gemm_desc g;
	struct accel_plan *plan;

	(void)state;
	for (engine = 1; engine < ACCEL_ENGINE_COUNT; engine++) {
		b = buffer(1 << 16);
		product_desc(&g, 19, 37, 45);
		g.hdr.engine = engine;
		g.flags = ACCEL_GEMM_PACK_B;
		g.b.bo = b;
		fill(a, 19 * 45, 3);
		fill(b, 45 * 37, 4);
		MUST(accel_plan_create(ctx, &g.hdr, &plan));
		memset(accel_bo_ptr(b), 0x55, 1 << 16);
		accel_bo_unref(b);
		accel_plan_get_info(plan, &info);
		/* At least the matrix, at most its blocks and the header. */
		assert_in_range(info.packed_bytes, 4 * 45 * 37 + 64,
				4 * 48 * 64 + 64 + 64);
		accel_plan_explain(plan, find_algorithm, &algorithm);
		assert_string_equal(algorithm, "blocked, packed");
		memset(accel_bo_ptr(d), 0, 4096);
		MUST(run_once(plan, bind, 2));
		assert_true(is_product(d, 19, 37, 45, 3, 4));
		accel_plan_unref(plan);
	}
	assert_int_equal(buffers(), before);
	accel_bo_unref(a);
	accel_bo_unref(d);
}

/* Tables of constant weights come along; B transposed, as weights are stored. */
static void test_packed_tables(void **state)
{
	enum { M = 3, N = 6, K = 70, GROUP = 32, GROUPS = 3 };
	struct accel_bo *a = buffer(4096), *d = buffer(4096), *b = buffer(4096);
	struct accel_bo *scales = buffer(4096), *zeros = buffer(4096);
	struct accel_binding bind[] = {
		{ ACCEL_ARG_A, 0, a, 0 }, { ACCEL_ARG_D, 0, d, 0 },
	};
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	struct accel_plan *plan;
	float *pa = accel_bo_ptr(a), *pd = accel_bo_ptr(d), *s = accel_bo_ptr(scales);
	int32_t *z = accel_bo_ptr(zeros);
	int8_t *w = accel_bo_ptr(b);
	double want[M * N];
	int i, j, k;

	(void)state;
	for (i = 0; i < M * K; i++)
		pa[i] = small(i, 0);
	for (i = 0; i < N * K; i++)
		w[i] = (int8_t)(i * 37 % 251 - 125);
	for (i = 0; i < N * GROUPS; i++) {
		s[i] = (float)(1 << i % 4);
		z[i] = i - 8;
	}
	for (i = 0; i < M; i++)
		for (j = 0; j < N; j++) {
			want[i * N + j] = 0;
			for (k = 0; k < K; k++) {
				int t = j * GROUPS + k / GROUP;

				want[i * N + j] += (double)pa[i * K + k] *
					(double)s[t] * (w[j * K + k] - z[t]);
			}
		}
	g.flags = ACCEL_GEMM_PACK_B | ACCEL_GEMM_TRANS_B;
	g.a = accel_tensor_2d(NULL, ACCEL_F32, M, K);
	g.b = accel_tensor_2d(b, ACCEL_S8, N, K);
	g.b.quant.scheme = ACCEL_QUANT_GROUP;
	g.b.quant.axis = 1;
	g.b.quant.group = GROUP;
	g.b.quant.scales = scales;
	g.b.quant.zeros = zeros;
	g.d = accel_tensor_2d(NULL, ACCEL_F32, M, N);
	MUST(accel_plan_create(ctx, &g.hdr, &plan));
	memset(w, 1, 4096);
	memset(s, 1, 4096);
	memset(z, 1, 4096);
	accel_bo_unref(b);
	accel_bo_unref(scales);
	accel_bo_unref(zeros);
	MUST(run_once(plan, bind, 2));
	/* Whole numbers below 2^24: exact. */
	for (i = 0; i < M * N; i++)
		assert_true((double)pd[i] == want[i]);
	accel_plan_unref(plan);
	accel_bo_unref(a);
	accel_bo_unref(d);
}

/* One B for batches that cannot become rows: a copy is held, not a packed one. */
static void test_copied(void **state)
{
	const int64_t dims[] = { 2, 5, 7 }, r[] = { 2, 5, 6 };
	struct accel_bo *a = buffer(4096), *b = buffer(4096), *d = buffer(4096);
	struct accel_binding bind[] = {
		{ ACCEL_ARG_A, 0, a, 0 }, { ACCEL_ARG_D, 0, d, 0 },
	};
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	const char *algorithm = "";
	struct accel_plan *plan;

	(void)state;
	g.flags = ACCEL_GEMM_PACK_B;
	g.a = accel_tensor_dense(NULL, ACCEL_F32, 3, dims);
	/* A gap between the batches. */
	g.a.flags = ACCEL_TENSOR_STRIDES;
	g.a.strides[0] = 50;
	g.a.strides[1] = 7;
	g.a.strides[2] = 1;
	g.b = accel_tensor_2d(b, ACCEL_F32, 7, 6);
	g.d = accel_tensor_dense(NULL, ACCEL_F32, 3, r);
	fill(b, 42, 9);
	fill(a, 35, 5);
	memcpy((float *)accel_bo_ptr(a) + 50, accel_bo_ptr(a), 35 * sizeof(float));
	MUST(accel_plan_create(ctx, &g.hdr, &plan));
	accel_plan_explain(plan, find_algorithm, &algorithm);
	assert_string_equal(algorithm, "blocked, copied");
	memset(accel_bo_ptr(b), 0, 4096);
	accel_bo_unref(b);
	MUST(run_once(plan, bind, 2));
	assert_true(is_product(d, 5, 6, 7, 5, 9));
	memmove(accel_bo_ptr(d), (float *)accel_bo_ptr(d) + 30, 30 * sizeof(float));
	assert_true(is_product(d, 5, 6, 7, 5, 9));
	accel_plan_unref(plan);
	/* Without the gap the batches are rows, and B is packed. */
	g.a.flags = 0;
	memset(g.a.strides, 0, sizeof(g.a.strides));
	g.b.bo = a;
	MUST(accel_plan_create(ctx, &g.hdr, &plan));
	accel_plan_explain(plan, find_algorithm, &algorithm);
	assert_string_equal(algorithm, "blocked, packed");
	accel_plan_unref(plan);
	accel_bo_unref(a);
	accel_bo_unref(d);
}

/* --- threads ------------------------------------------------------------------------------ */

#define THREADS	4

/**
 * struct worker - a thread with buffers of its own and the plan of all
 */
struct worker {
	pthread_t thread;
	struct accel_plan *plan;
	struct accel_bo *a, *b, *d;
	int salt, rounds, wrong;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct accel_binding bind[] = {
		{ ACCEL_ARG_A, 0, w->a, 0 }, { ACCEL_ARG_B, 0, w->b, 0 },
		{ ACCEL_ARG_D, 0, w->d, 0 },
	};
	struct accel_gemm_desc g;
	struct accel_plan *own;
	int i;

	for (i = 0; i < w->rounds; i++) {
		fill(w->a, 9 * 11, w->salt + i);
		fill(w->b, 11 * 10, w->salt);
		accel_plan_ref(w->plan);
		w->wrong += run_once(w->plan, bind, 3) != 0;
		w->wrong += !is_product(w->d, 9, 10, 11, w->salt + i, w->salt);
		accel_plan_unref(w->plan);
		/* Planning takes nothing that is shared either. */
		product_desc(&g, 9, 10, 11);
		if (accel_plan_create(ctx, &g.hdr, &own))
			w->wrong++;
		else
			accel_plan_unref(own);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct worker w[THREADS] = { 0 };
	struct accel_gemm_desc g;
	struct accel_plan *plan;
	int i;

	(void)state;
	product_desc(&g, 9, 10, 11);
	MUST(accel_plan_create(ctx, &g.hdr, &plan));
	for (i = 0; i < THREADS; i++) {
		w[i].plan = plan;
		w[i].a = buffer(4096);
		w[i].b = buffer(4096);
		w[i].d = buffer(4096);
		w[i].salt = i;
		w[i].rounds = test_small() ? 5 : 50;
		assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		assert_int_equal(w[i].wrong, 0);
		accel_bo_unref(w[i].a);
		accel_bo_unref(w[i].b);
		accel_bo_unref(w[i].d);
	}
	accel_plan_unref(plan);
}

static void small_gemm(struct accel_gemm_desc *d)
{
	const int64_t a[] = { 2, 3, 4 }, b[] = { 2, 4, 5 }, r[] = { 2, 3, 5 };

	*d = (struct accel_gemm_desc)ACCEL_GEMM_DESC_INIT;
	d->a = accel_tensor_dense(NULL, ACCEL_F32, 3, a);
	d->b = accel_tensor_dense(NULL, ACCEL_F32, 3, b);
	d->d = accel_tensor_dense(NULL, ACCEL_F32, 3, r);
}

/* Nothing is run, and constant weights stop the plan already. */
static void refuses(const struct accel_gemm_desc *d, const char *field)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_plan *plan;

	assert_int_equal(accel_run(ctx, &d->hdr), -EINVAL);
	accel_ctx_get_error(ctx, &e);
	assert_string_equal(e.field, field);
	if (!(d->flags & ACCEL_GEMM_PACK_B))
		return;
	assert_int_equal(accel_plan_create(ctx, &d->hdr, &plan), -EINVAL);
	accel_ctx_get_error(ctx, &e);
	assert_string_equal(e.field, field);
}

/* accel_run() wants buffers, large enough, and results that lie over no input. */
static void test_buffers(void **state)
{
	struct accel_bo *bo, *small;
	struct accel_gemm_desc d;

	(void)state;
	assert_int_equal(accel_bo_create(ctx, 4096, NULL, &bo), 0);
	assert_int_equal(accel_bo_create(ctx, 100, NULL, &small), 0);
	small_gemm(&d);
	refuses(&d, "gemm.d.bo");
	d.a.bo = d.b.bo = d.d.bo = bo;
	d.b.offset = 1024;
	d.d.offset = 2048;
	assert_int_equal(accel_run(ctx, &d.hdr), 0);
	d.d.offset = 1024 + 4 * 40 - 4;
	refuses(&d, "gemm.b.offset");
	d.d.offset = 1024 + 4 * 40;
	assert_int_equal(accel_run(ctx, &d.hdr), 0);
	/* One element too short. */
	d.d.offset = 4096 - 4 * 30 + 4;
	assert_int_equal(accel_run(ctx, &d.hdr), -EINVAL);
	d.d.offset = 4096 - 4 * 30;
	assert_int_equal(accel_run(ctx, &d.hdr), 0);
	d.d.bo = small;
	d.d.offset = 0;
	refuses(&d, "gemm.d.offset");
	d.d.bo = bo;
	/* Between two elements. */
	d.d.offset = 2050;
	assert_int_equal(accel_run(ctx, &d.hdr), -EINVAL);
	d.d.offset = UINT64_MAX - 3;
	assert_int_equal(accel_run(ctx, &d.hdr), -EINVAL);
	/* Constant weights need their tables, too. */
	d = (struct accel_gemm_desc)ACCEL_GEMM_DESC_INIT;
	d.a = accel_tensor_2d(bo, ACCEL_F16, 3, 64);
	d.b = accel_tensor_2d(bo, ACCEL_U4, 64, 6);
	d.b.quant.scheme = ACCEL_QUANT_GROUP;
	d.b.quant.group = 32;
	d.d = accel_tensor_2d(bo, ACCEL_F16, 3, 6);
	d.a.bo = d.b.bo = d.d.bo = bo;
	d.b.offset = 1024;
	d.d.offset = 2048;
	refuses(&d, "gemm.b.quant.scales");
	d.flags = ACCEL_GEMM_PACK_B;
	refuses(&d, "gemm.b.quant.scales");
	d.b.quant.scales = small;
	d.b.quant.scales_offset = 96;
	refuses(&d, "gemm.b.quant.scales_offset");
	d.flags = 0;
	refuses(&d, "gemm.b.quant.scales_offset");
	/* They are read while planning, from all of their buffer. */
	small_gemm(&d);
	d.flags = ACCEL_GEMM_PACK_B;
	d.a.bo = d.d.bo = bo;
	d.b.bo = small;
	refuses(&d, "gemm.b.offset");
	accel_bo_unref(bo);
	accel_bo_unref(small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_info), cmocka_unit_test(test_lifetime),
		cmocka_unit_test(test_reuse), cmocka_unit_test(test_accumulate),
		cmocka_unit_test(test_packed), cmocka_unit_test(test_packed_tables),
		cmocka_unit_test(test_copied), cmocka_unit_test(test_threads),
		cmocka_unit_test(test_buffers), cmocka_unit_test(test_host_bytes),
		cmocka_unit_test(test_reproducible),
	};
	int ret;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (accel_device_open(test_device("sw"), NULL, &dev) ||
	    accel_ctx_create(dev, NULL, &ctx)) {
		printf("1..0\nBail out! no device\n");
		return 1;
	}
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	return ret ? 1 : 0;
}
