// SPDX-License-Identifier: MIT
/*
 * Rows into slots of a paged cache: types, scales, rows that are skipped and that meet;
 * slots that are nowhere; and a job that is repeated and writes where memory says.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kv_bench.h"
#include "lines_test.h"

/**
 * struct write_case - an operation; rows -1: at random
 */
struct write_case {
	uint32_t a, d, scales;
	int64_t rows, heads, dim;
	bool special;
};

static void fill_slots(struct op_case *c, const struct accel_tensor *t, int64_t places)
{
	int32_t *p = (int32_t *)((uint8_t *)accel_bo_ptr(t->bo) + t->offset);
	int64_t stride = t->flags & ACCEL_TENSOR_STRIDES ? t->strides[0] : 1, i;

	for (i = 0; i < t->dims[0]; i++)
		p[i * stride] = !places || !op_below(c, 5) ? ACCEL_KV_WRITE_SKIP :
				(int32_t)op_below(c, (uint32_t)places);
}

static enum op_style out_style(struct op_case *c)
{
	return op_below(c, 2) ? OP_DENSE : (enum op_style)op_below(c, OP_REPEATED);
}

static const struct accel_desc *build(struct op_case *c, const void *arg)
{
	struct accel_kv_write_desc *w = calloc(1, sizeof(*w));
	const struct write_case *g = arg;
	const bool any = g->rows < 0;
	const int64_t rows = any ? op_below(c, 20) : g->rows;
	const int64_t heads = any ? 1 + op_below(c, 4) : g->heads;
	const int64_t dim = any ? op_dim(c) : g->dim;
	const int64_t from[] = { rows, heads, dim };
	const int64_t pool[] = { 1 + op_below(c, 5), 1 + op_below(c, 17), heads, dim };
	const int64_t table[] = { pool[0], pool[1], heads, 1 };
	static const uint32_t types[] = { ACCEL_F32, ACCEL_F16, ACCEL_BF16, ACCEL_S8, ACCEL_U8 };
	uint32_t d = any ? types[op_below(c, ARRAY_SIZE(types))] : g->d;
	bool bytes = d == ACCEL_S8 || d == ACCEL_U8;

	assert_non_null(w);
	*w = (struct accel_kv_write_desc)ACCEL_KV_WRITE_DESC_INIT;
	w->flags = bytes && op_below(c, 2) ? ACCEL_KV_WRITE_ASYMMETRIC : 0;
	w->hdr.engine = lines_engine(c);
	op_tensor(c, &w->d, d, 4, pool, out_style(c));
	if (bytes)
		op_tensor(c, &w->scales, any ? 1 + op_below(c, 2) : g->scales, 4, table,
			  out_style(c));
	if (w->flags)
		op_tensor(c, &w->zeros, ACCEL_S32, 4, table, out_style(c));
	op_tensor(c, &w->slots, ACCEL_S32, 1, &rows,
		  op_below(c, 2) ? OP_DENSE : (enum op_style)op_below(c, OP_STYLES));
	fill_slots(c, &w->slots, pool[0] * pool[1]);
	c->special = g->special || !op_below(c, 4);
	c->range = op_below(c, 4) ? 2 : op_below(c, 2) ? 1e38 : ldexp(1, -133);
	op_tensor(c, &w->a, any ? 1 + op_below(c, 3) : g->a, 3, from,
		  op_below(c, 2) ? OP_DENSE : (enum op_style)op_below(c, OP_STYLES));
	return &w->hdr;
}

static void test_table(struct op_env *env)
{
	static const struct write_case cases[] = {
		{ ACCEL_F32, ACCEL_F32, 0, 1, 8, 128, false },
		{ ACCEL_F32, ACCEL_F16, 0, 1, 8, 128, false },
		{ ACCEL_F32, ACCEL_BF16, 0, 7, 4, 64, false },
		{ ACCEL_BF16, ACCEL_BF16, 0, 7, 4, 64, true },
		{ ACCEL_F16, ACCEL_F16, 0, 30, 1, 80, true },
		{ ACCEL_F16, ACCEL_F32, 0, 3, 2, 1024, false },
		{ ACCEL_F32, ACCEL_S8, ACCEL_F32, 1, 8, 128, false },
		{ ACCEL_F32, ACCEL_S8, ACCEL_F16, 9, 8, 128, false },
		{ ACCEL_BF16, ACCEL_S8, ACCEL_F16, 200, 5, 33, false },
		{ ACCEL_F16, ACCEL_U8, ACCEL_F32, 40, 3, 100, true },
		{ ACCEL_F32, ACCEL_S8, ACCEL_F16, 40, 3, 1, true },
		{ ACCEL_F32, ACCEL_S8, ACCEL_F32, 0, 3, 9, false },
	};
	char what[64];
	uint32_t i, j;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		for (j = 0; j < 6; j++) {
			snprintf(what, sizeof(what), "kv_write case %u.%u", i, j);
			op_run(env, build, &cases[i], 1000 * i + j, what);
		}
}

static void test_random(struct op_env *env)
{
	static const struct write_case any = { .rows = -1 };

	op_random_cases(env, build, &any, 400, 5);
}

/* --- a step of a decoder --------------------------------------------------------- */

#define HEADS	2
#define DIM	40
#define PLACES	12

static struct accel_tensor tensor(struct op_env *env, uint32_t dtype, int64_t n, int64_t page,
				  int64_t heads, int64_t dim)
{
	const int64_t dims[4] = { n, page, heads, dim };
	struct accel_tensor t = accel_tensor_dense(NULL, dtype, page ? 4 : heads ? 3 : 1,
						   page ? dims : heads ? dims + 1 : dims);
	uint64_t bytes;

	if (!page && heads)
		t.dims[0] = n;
	assert_int_equal(accel_tensor_bytes(&t, &bytes), 0);
	assert_int_equal(accel_bo_create(env->ctx, bytes, NULL, &t.bo), 0);
	memset(accel_bo_ptr(t.bo), 0, bytes);
	return t;
}

static struct accel_kv_write_desc step_desc(struct op_env *env)
{
	struct accel_kv_write_desc w = ACCEL_KV_WRITE_DESC_INIT;

	w.hdr.engine = ACCEL_ENGINE_GPU;
	w.a = tensor(env, ACCEL_F32, 2, 0, HEADS, DIM);
	w.slots = tensor(env, ACCEL_S32, 2, 0, 0, 0);
	w.d = tensor(env, ACCEL_S8, PLACES / 4, 4, HEADS, DIM);
	w.scales = tensor(env, ACCEL_F32, PLACES / 4, 4, HEADS, 1);
	return w;
}

static void step_free(struct accel_kv_write_desc *w)
{
	accel_bo_unref(w->a.bo);
	accel_bo_unref(w->slots.bo);
	accel_bo_unref(w->d.bo);
	accel_bo_unref(w->scales.bo);
}

static int32_t run_step(struct op_env *env, struct accel_queue *queue, struct accel_job *job)
{
	struct accel_fence *fence;
	int ret;

	(void)env;
	assert_int_equal(accel_queue_submit(queue, job, NULL, &fence), 0);
	ret = accel_fence_wait(fence, -1);
	accel_fence_unref(fence);
	return ret;
}

/* One job, submitted again and again: it writes where the slots say each time. */
static void test_replay(struct op_env *env)
{
	struct accel_kv_write_desc w = step_desc(env);
	const int8_t *bytes = accel_bo_ptr(w.d.bo);
	const float *scales = accel_bo_ptr(w.scales.bo);
	int32_t *slots = accel_bo_ptr(w.slots.bo);
	float *rows = accel_bo_ptr(w.a.bo);
	struct accel_queue *queue;
	struct accel_job *job;
	int32_t step, i, s, k;

	assert_int_equal(accel_queue_create(env->ctx, NULL, &queue), 0);
	assert_int_equal(accel_job_create(env->ctx, NULL, &job), 0);
	assert_int_equal(accel_job_add_desc(job, NULL, &w.hdr, NULL, 0, NULL), 0);
	for (step = 0; step < PLACES; step++) {
		slots[0] = step * 5 % PLACES;
		slots[1] = step & 1 ? ACCEL_KV_WRITE_SKIP : slots[0];
		for (i = 0; i < 2 * HEADS * DIM; i++)
			rows[i] = (float)(step + 1) * (i < HEADS * DIM || step & 1 ? 1 : -2);
		assert_int_equal(run_step(env, queue, job), 0);
		env->cases++;
	}
	for (s = 0; s < PLACES; s++) {
		/* The step that had this slot: the last row of those that meet stays. */
		step = s * 5 % PLACES;
		for (i = 0; i < HEADS; i++) {
			float want = (float)(step + 1) * (step & 1 ? 1 : 2) / 127;

			assert_true(scales[s * HEADS + i] == want);
			for (k = 0; k < DIM; k++)
				assert_int_equal(bytes[(s * HEADS + i) * DIM + k],
						 step & 1 ? 127 : -127);
		}
	}
	/* A slot that is nowhere: the job fails, and the queue goes on. */
	slots[0] = PLACES;
	assert_true(run_step(env, queue, job) < 0);
	slots[0] = -2;
	assert_true(run_step(env, queue, job) < 0);
	slots[0] = 0;
	assert_int_equal(run_step(env, queue, job), 0);
	accel_job_destroy(job);
	accel_queue_destroy(queue);
	step_free(&w);
}

/* --- the same with a cache's books ------------------------------------------------- */

#define REPLAY_LAYERS	2

/* Two tokens' rows that lie as they lay before. */
static struct accel_tensor same_rows(struct bench *b, const uint32_t *tokens, uint32_t layer,
				     uint32_t part)
{
	struct accel_tensor t = bench_rows(b, tokens, 2, layer, part);

	while (t.flags) {
		accel_bo_unref(t.bo);
		t = bench_rows(b, tokens, 2, layer, part);
	}
	return t;
}

/* A job that writes the rows of @kv where @slots says. */
static struct accel_job *step_job(struct bench *b, struct accel_tensor (*kv)[2],
				  const struct accel_tensor *slots)
{
	struct accel_kv_append a = ACCEL_KV_APPEND_INIT;
	const uint32_t none[2] = { 0, 0 };
	struct accel_job *job;
	uint32_t part;

	assert_int_equal(accel_job_create(b->env->ctx, NULL, &job), 0);
	a.slots = *slots;
	for (a.layer = 0; a.layer < REPLAY_LAYERS; a.layer++) {
		for (part = 0; part < 2; part++)
			kv[a.layer][part] = same_rows(b, none, a.layer, part);
		a.k = kv[a.layer][0];
		a.v = kv[a.layer][1];
		assert_int_equal(accel_kv_append(b->kv, job, &a, NULL, 0, NULL), 0);
	}
	return job;
}

/* Other numbers into the rows of the job, and where they go into its slots. */
static void next_step(struct bench *b, struct accel_tensor (*kv)[2], const uint32_t *tokens,
		      const struct accel_kv_rows *rows, const struct accel_tensor *slots)
{
	struct accel_job *empty;
	struct accel_tensor t;
	uint32_t layer, part;

	assert_int_equal(accel_job_create(b->env->ctx, NULL, &empty), 0);
	assert_int_equal(accel_kv_reserve(b->kv, empty, rows, 2, NULL, 0, NULL), 0);
	accel_job_destroy(empty);
	assert_int_equal(accel_kv_slots(b->kv, rows, 2, slots), 0);
	for (layer = 0; layer < REPLAY_LAYERS; layer++)
		for (part = 0; part < 2; part++) {
			t = same_rows(b, tokens, layer, part);
			memcpy(accel_bo_ptr(kv[layer][part].bo), accel_bo_ptr(t.bo),
			       accel_bo_size(t.bo));
			accel_bo_unref(t.bo);
		}
}

/* Two sequences that grow by a token each: what moves is in memory, not in the job. */
static void test_cache(struct op_env *env)
{
	struct accel_kv_opts o = ACCEL_KV_OPTS_INIT;
	struct accel_kv_rows rows[2] = { { 0, 1 }, { 0, 1 } };
	struct accel_tensor kv[REPLAY_LAYERS][2], slots, wide;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_fence *fence;
	const int64_t two = 2;
	struct accel_job *job;
	struct bench b;
	uint32_t step, i;

	o.layers = REPLAY_LAYERS;
	o.kv_heads = 2;
	o.head_dim = 6;
	o.dtype = ACCEL_S8;
	o.page_size = 4;
	o.pages = 40;
	bench_open(&b, env, &o, ACCEL_F32, 14);
	for (i = 0; i < 2; i++) {
		b.list[i].used = true;
		assert_int_equal(accel_kv_seq_create(b.kv, &b.list[i].seq), 0);
		rows[i].seq = b.list[i].seq;
	}
	slots = accel_tensor_dense(NULL, ACCEL_S32, 1, &two);
	assert_int_equal(accel_bo_create(env->ctx, 8, NULL, &slots.bo), 0);
	job = step_job(&b, kv, &slots);
	for (step = 0; step < 11; step++) {
		const uint32_t tokens[2] = { b.next, b.next + 1 };

		b.next += 2;
		next_step(&b, kv, tokens, rows, &slots);
		assert_int_equal(accel_queue_submit(b.queue, job, NULL, &fence), 0);
		assert_int_equal(accel_fence_wait(fence, -1), 0);
		accel_fence_unref(fence);
		for (i = 0; i < 2; i++)
			list_add(&b.list[i], tokens[i]);
		bench_check(&b);
		env->cases++;
	}
	/* What is not a place for these tokens. */
	rows[0].tokens = 2;
	assert_int_equal(accel_kv_slots(b.kv, rows, 2, &slots), -EINVAL);
	assert_int_equal(accel_kv_slots(b.kv, rows, 1, &kv[0][0]), -EINVAL);
	rows[1].seq = rows[0].seq;
	assert_int_equal(accel_kv_slots(b.kv, rows, 2, &slots), -EINVAL);
	assert_int_equal(accel_kv_slots(b.kv, NULL, 1, &slots), -EINVAL);
	rows[0].tokens = 1;
	wide = slots;
	assert_int_equal(accel_bo_create(env->ctx, 16, NULL, &wide.bo), 0);
	wide.offset = 2;
	wide.dims[0] = 1;
	assert_int_equal(accel_kv_slots(b.kv, rows, 1, &wide), -EINVAL);
	accel_ctx_get_error(env->ctx, &e);
	assert_string_equal(e.field, "slots.offset");
	accel_bo_unref(wide.bo);
	accel_job_destroy(job);
	for (i = 0; i < 2 * REPLAY_LAYERS; i++)
		accel_bo_unref(kv[i / 2][i % 2].bo);
	accel_bo_unref(slots.bo);
	bench_close(&b);
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "kv_write table", test_table },
		{ "kv_write replay", test_replay },
		{ "kv_write cache", test_cache },
		{ "kv_write random", test_random },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
