// SPDX-License-Identifier: MIT
/*
 * The key-value cache against a model of it that is nothing but lists of
 * tokens. What a token's rows are follows from its number; after every step all
 * rows of all sequences are compared, to the bit.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "kv_bench.h"
#include "libaccel/tests/oracle/oracle.h"

static uint32_t pick_list(struct bench *b, bool used)
{
	uint32_t from = op_below(&b->c, SEQS), i;

	for (i = 0; i < SEQS; i++)
		if (b->list[(from + i) % SEQS].used == used)
			return (from + i) % SEQS;
	return SEQS;
}

static void step_create(struct bench *b)
{
	uint32_t i = pick_list(b, false);

	if (i == SEQS)
		return;
	b->list[i] = (struct list){ .used = true };
	assert_int_equal(accel_kv_seq_create(b->kv, &b->list[i].seq), 0);
}

static void step_destroy(struct bench *b)
{
	uint32_t i = pick_list(b, true);

	if (i == SEQS)
		return;
	b->list[i].used = false;
	assert_int_equal(accel_kv_seq_destroy(b->kv, b->list[i].seq), 0);
	/* Its number means nothing now. */
	assert_int_equal(accel_kv_seq_destroy(b->kv, b->list[i].seq), -ENOENT);
	assert_int_equal(accel_kv_seq_truncate(b->kv, b->list[i].seq, 0), -ENOENT);
}

static void step_fork(struct bench *b)
{
	uint32_t from = pick_list(b, true), to = pick_list(b, false), length, seq;

	if (from == SEQS || to == SEQS)
		return;
	length = op_below(&b->c, b->list[from].length + 1);
	if (op_below(&b->c, 2))
		length = b->list[from].length;
	assert_int_equal(accel_kv_seq_fork(b->kv, b->list[from].seq,
					   b->list[from].length + 1ull, &seq), -EINVAL);
	b->list[to] = b->list[from];
	list_cut(&b->list[to], length);
	assert_int_equal(accel_kv_seq_fork(b->kv, b->list[from].seq, length,
					   &b->list[to].seq), 0);
}

static void step_truncate(struct bench *b)
{
	uint32_t i = pick_list(b, true);
	struct list *l = &b->list[i];

	if (i == SEQS)
		return;
	assert_int_equal(accel_kv_seq_truncate(b->kv, l->seq, l->length + 1ull), -EINVAL);
	list_cut(l, op_below(&b->c, l->length + 1));
	assert_int_equal(accel_kv_seq_truncate(b->kv, l->seq, l->length), 0);
}

static void step_evict(struct bench *b)
{
	uint32_t i = pick_list(b, true), first, last, from, to, size = b->o.page_size;
	struct list *l = &b->list[i];

	if (i == SEQS)
		return;
	first = op_below(&b->c, l->length / 2 + 3);
	last = op_below(&b->c, l->length / 2 + 3);
	assert_int_equal(accel_kv_seq_evict(b->kv, l->seq, first, last), 0);
	/* Whole pages that have none of the tokens that stay. */
	for (from = 0; from < first; from += size)
		;
	if (first + last > l->length)
		return;
	to = (l->length - last) / size * size;
	if (from >= to)
		return;
	memmove(l->token + from, l->token + to, (l->length - to) * sizeof(l->token[0]));
	memmove(l->position + from, l->position + to,
		(l->length - to) * sizeof(l->position[0]));
	l->length -= to - from;
}

static void step_append(struct bench *b)
{
	uint32_t which[SEQS], tokens[SEQS], n = 0, i, from = op_below(&b->c, SEQS), many;
	struct accel_kv_stats s = { .size = sizeof(s) }, after = { .size = sizeof(s) };
	int ret;

	many = 1 + op_below(&b->c, 3);
	for (i = 0; i < SEQS && n < many; i++) {
		which[n] = (from + i) % SEQS;
		tokens[n] = op_below(&b->c, 3) ? op_below(&b->c, 4) : op_below(&b->c, 23);
		n += b->list[which[n]].used && b->list[which[n]].length < TOKENS - 40;
	}
	accel_kv_get_stats(b->kv, &s);
	ret = bench_append(b, which, tokens, n);
	accel_kv_get_stats(b->kv, &after);
	if (ret) {
		assert_int_equal(ret, -ENOSPC);
		assert_memory_equal(&s, &after, sizeof(s));
	}
}

static void step_file(struct bench *b)
{
	uint32_t from = pick_list(b, true), to = pick_list(b, false);
	char path[256];
	int ret;

	if (from == SEQS || to == SEQS)
		return;
	bench_path(path, sizeof(path));
	assert_int_equal(accel_kv_save(b->kv, b->list[from].seq, path), 0);
	b->list[to] = b->list[from];
	ret = accel_kv_load(b->kv, path, &b->list[to].seq);
	if (ret) {
		assert_int_equal(ret, -ENOSPC);
		b->list[to].used = false;
	}
	unlink(path);
}

static void random_steps(struct bench *b, uint32_t steps)
{
	static void (*const step[])(struct bench *b) = {
		step_append, step_append, step_append, step_append, step_append,
		step_create, step_create, step_destroy, step_fork, step_fork,
		step_truncate, step_evict, step_file,
	};
	uint32_t i;

	for (i = 0; i < steps; i++) {
		step[op_below(&b->c, ARRAY_SIZE(step))](b);
		bench_check(b);
		b->env->cases++;
	}
}

/* --- tests --------------------------------------------------------------------------------- */

static void test_random(struct op_env *env)
{
	static const uint32_t types[][3] = {
		{ ACCEL_F32, 0, ACCEL_F32 }, { ACCEL_F16, 0, ACCEL_F32 },
		{ ACCEL_BF16, 0, ACCEL_F16 }, { ACCEL_S8, 0, ACCEL_F32 },
		{ ACCEL_S8, ACCEL_F16, ACCEL_BF16 }, { ACCEL_F32, 0, ACCEL_F16 },
	};
	static const uint32_t sizes[] = { 4, 1, 16, 5 };
	uint32_t i, j, steps = env->small ? 12 : 60;
	const char *cases = getenv("ACCEL_TEST_CASES");
	struct accel_kv_opts o;
	struct bench b;

	if (cases)
		steps = (uint32_t)strtoul(cases, NULL, 0);
	for (i = 0; i < ARRAY_SIZE(types); i++)
		for (j = 0; j < ARRAY_SIZE(sizes); j++) {
			o = bench_small(types[i][0], sizes[j]);
			o.scale_dtype = types[i][1];
			o.v_dim = j & 1 ? 9 : 0;
			o.kv_heads = 1 + i % 3;
			bench_open(&b, env, &o, types[i][2], 100 * i + j);
			random_steps(&b, steps);
			bench_close(&b);
		}
}

/* Each of the steps that are easily wrong, once, in an order that is known. */
static void test_sharing(struct op_env *env)
{
	struct accel_kv_opts o = bench_small(ACCEL_S8, 4);
	struct accel_kv_stats s = { .size = sizeof(s) };
	const uint32_t both[2] = { 0, 1 }, one[2] = { 1, 1 };
	uint32_t which = 0, tokens = 6;
	struct bench b;

	bench_open(&b, env, &o, ACCEL_F32, 5);
	step_create(&b);
	/* The random place does not matter: make it the first. */
	for (which = 0; !b.list[which].used; which++)
		;
	b.list[0] = b.list[which];
	b.list[which].used = which == 0;
	which = 0;
	assert_int_equal(bench_append(&b, &which, &tokens, 1), 0);
	b.list[1] = b.list[0];
	assert_int_equal(accel_kv_seq_fork(b.kv, b.list[0].seq, 6, &b.list[1].seq), 0);
	accel_kv_get_stats(b.kv, &s);
	assert_int_equal(s.used_pages, 2);
	assert_int_equal(s.shared_pages, 2);
	assert_int_equal(s.copied_pages, 0);
	/* Both grow at once: the first copies the page, the other has it alone then. */
	assert_int_equal(bench_append(&b, both, one, 2), 0);
	accel_kv_get_stats(b.kv, &s);
	assert_int_equal(s.used_pages, 3);
	assert_int_equal(s.shared_pages, 1);
	assert_int_equal(s.copied_pages, 1);
	bench_check(&b);
	/* A whole page is never copied. */
	assert_int_equal(bench_append(&b, both, one, 2), 0);
	b.list[2] = b.list[0];
	assert_int_equal(accel_kv_seq_fork(b.kv, b.list[0].seq, 8, &b.list[2].seq), 0);
	which = 2;
	assert_int_equal(bench_append(&b, &which, &tokens, 1), 0);
	accel_kv_get_stats(b.kv, &s);
	assert_int_equal(s.copied_pages, 1);
	bench_check(&b);
	/* Cut within a shared page, and on from there. */
	list_cut(&b.list[2], 2);
	assert_int_equal(accel_kv_seq_truncate(b.kv, b.list[2].seq, 2), 0);
	assert_int_equal(bench_append(&b, &which, &tokens, 1), 0);
	accel_kv_get_stats(b.kv, &s);
	assert_int_equal(s.copied_pages, 2);
	bench_check(&b);
	env->cases++;
	bench_close(&b);
}

static void test_full(struct op_env *env)
{
	struct accel_kv_opts o = bench_small(ACCEL_F16, 4);
	uint32_t which = 0, tokens = 30, two[2] = { 0, 1 }, n[2] = { 2, 3 };
	struct bench b;

	o.pages = 8;
	bench_open(&b, env, &o, ACCEL_F32, 6);
	b.list[0].used = true;
	b.list[1].used = true;
	assert_int_equal(accel_kv_seq_create(b.kv, &b.list[0].seq), 0);
	assert_int_equal(bench_append(&b, &which, &tokens, 1), 0);
	b.list[1] = b.list[0];
	assert_int_equal(accel_kv_seq_fork(b.kv, b.list[0].seq, 30, &b.list[1].seq), 0);
	/* No page for the copy; then, nothing having changed, none for the next. */
	assert_int_equal(bench_append(&b, two, n, 2), -ENOSPC);
	bench_check(&b);
	assert_int_equal(accel_kv_seq_destroy(b.kv, b.list[1].seq), 0);
	b.list[1].used = false;
	tokens = 2;
	assert_int_equal(bench_append(&b, &which, &tokens, 1), 0);
	tokens = 1;
	assert_int_equal(bench_append(&b, &which, &tokens, 1), -ENOSPC);
	bench_check(&b);
	env->cases++;
	bench_close(&b);
}

/* What is not a number, infinite, zero or tiny. */
static void test_special(struct op_env *env)
{
	static const float row[][4] = {
		{ 1, NAN, 2, 3 }, { 1, INFINITY, -2, 3 }, { 0, -0.0f, 0, 0 },
		{ __FLT_DENORM_MIN__ * 700, 0, __FLT_DENORM_MIN__ * -700, 0 },
		{ 3e38f, -3e38f, 1, 0 }, { -5, 5, 1, -1 },
	};
	struct accel_kv_opts o = bench_small(ACCEL_S8, 4);
	struct accel_kv_append a = ACCEL_KV_APPEND_INIT;
	const int64_t dims[3] = { ARRAY_SIZE(row), 1, 4 };
	struct accel_kv_rows rows = { 0, ARRAY_SIZE(row) };
	struct accel_tensor k, v;
	struct accel_job *job;
	int64_t idx[4] = { 0 };
	struct bench b;
	uint32_t i, j;

	o.kv_heads = 1;
	o.head_dim = 4;
	o.layers = 1;
	bench_open(&b, env, &o, ACCEL_F32, 7);
	assert_int_equal(accel_kv_seq_create(b.kv, &rows.seq), 0);
	a.k = accel_tensor_dense(NULL, ACCEL_F32, 3, dims);
	assert_int_equal(accel_bo_create(env->ctx, sizeof(row), NULL, &a.k.bo), 0);
	memcpy(accel_bo_ptr(a.k.bo), row, sizeof(row));
	a.v = a.k;
	a.rows = &rows;
	a.count = 1;
	assert_int_equal(accel_job_create(env->ctx, NULL, &job), 0);
	assert_int_equal(accel_kv_reserve(b.kv, job, &rows, 1, NULL, 0, NULL), 0);
	assert_int_equal(accel_kv_append(b.kv, job, &a, NULL, 0, NULL), 0);
	bench_run(&b, job);
	assert_int_equal(accel_kv_tensors(b.kv, 0, &k, &v), 0);
	for (i = 0; i < ARRAY_SIZE(row); i++)
		for (j = 0; j < 4; j++) {
			double x, most = fmaxf(fabsf(row[i][0]), fabsf(row[i][1]));

			idx[0] = i / 4;
			idx[1] = i % 4;
			idx[3] = j;
			x = oracle_load(&k, idx);
			if (i < 2)
				assert_true(isnan(x));
			else
				assert_true(fabs(x - (double)row[i][j]) <=
					    most / 253 + (double)__FLT_DENORM_MIN__);
			assert_true(isnan(x) || x == oracle_load(&v, idx));
		}
	accel_bo_unref(a.k.bo);
	env->cases++;
	bench_close(&b);
}

/* --- threads ---------------------------------------------------------------------------------- */

#define THREADS		3
#define SEQS_EACH	(SEQS / THREADS)

/* Sequences of its own, in a cache that it shares. */
static void *work(void *arg)
{
	struct bench *b = arg;
	uint32_t i, which, tokens, step;

	for (i = 0; i < SEQS_EACH; i++) {
		b->list[i].used = true;
		assert_int_equal(accel_kv_seq_create(b->kv, &b->list[i].seq), 0);
	}
	for (step = 0; step < 20; step++) {
		which = op_below(&b->c, SEQS_EACH);
		tokens = op_below(&b->c, 6);
		assert_int_equal(bench_append(b, &which, &tokens, 1), 0);
		if (step % 5 != 4)
			continue;
		/* Its jobs have ended: what it gives up may go to the others. */
		i = (which + 1) % SEQS_EACH;
		assert_int_equal(accel_kv_seq_destroy(b->kv, b->list[i].seq), 0);
		b->list[i] = b->list[which];
		assert_int_equal(accel_kv_seq_fork(b->kv, b->list[which].seq,
						   b->list[which].length, &b->list[i].seq), 0);
	}
	return NULL;
}

static void test_threads(struct op_env *env)
{
	static struct bench all, own[THREADS];
	struct accel_kv_opts o = bench_small(ACCEL_S8, 4);
	pthread_t thread[THREADS];
	uint32_t i;

	o.pages = 400;
	bench_open(&all, env, &o, ACCEL_F32, 12);
	for (i = 0; i < THREADS; i++) {
		own[i] = all;
		own[i].c.rng = i;
		own[i].next = 1 + 10000 * i;
		assert_int_equal(accel_queue_create(env->ctx, NULL, &own[i].queue), 0);
		assert_int_equal(pthread_create(&thread[i], NULL, work, &own[i]), 0);
	}
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(thread[i], NULL), 0);
		accel_queue_destroy(own[i].queue);
		memcpy(all.list + i * SEQS_EACH, own[i].list,
		       SEQS_EACH * sizeof(all.list[0]));
	}
	bench_check(&all);
	env->cases++;
	bench_close(&all);
}

/* --- refusals --------------------------------------------------------------------------- */

static void refuse_opts(struct op_env *env, const struct accel_kv_opts *o, const char *field)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_kv *kv;

	assert_int_equal(accel_kv_create(env->ctx, o, &kv), -EINVAL);
	accel_ctx_get_error(env->ctx, &e);
	assert_string_equal(e.field, field);
	env->cases++;
}

static void test_bad_opts(struct op_env *env)
{
	const struct accel_kv_opts good = bench_small(ACCEL_S8, 4);
	struct accel_kv_opts o;

#define BAD(name, value) do {						\
	o = good;							\
	o.name = value;							\
	refuse_opts(env, &o, "kv." #name);				\
} while (0)
	BAD(size, 8);
	BAD(layers, 0);
	BAD(layers, 4097);
	BAD(kv_heads, 0);
	BAD(kv_heads, UINT32_MAX);
	BAD(head_dim, 0);
	BAD(head_dim, 1025);
	BAD(v_dim, UINT32_MAX);
	BAD(dtype, 0);
	BAD(dtype, ACCEL_S4);
	BAD(dtype, ACCEL_S32);
	BAD(scale_dtype, ACCEL_BF16);
	BAD(page_size, 4097);
	BAD(pages, 0);
	BAD(pages, 1u << 31);
	BAD(engine, ACCEL_ENGINE_COUNT);
#undef BAD
	o = bench_small(ACCEL_F32, 4);
	o.scale_dtype = ACCEL_F32;
	refuse_opts(env, &o, "kv.scale_dtype");
	assert_int_equal(accel_kv_create(env->ctx, NULL, NULL), -EINVAL);
}

static void refuse_append(struct bench *b, struct accel_job *job,
			  const struct accel_kv_append *a, int code, const char *field)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	assert_int_equal(accel_kv_append(b->kv, job, a, NULL, 0, NULL), code);
	accel_ctx_get_error(b->env->ctx, &e);
	assert_string_equal(e.field, field);
	b->env->cases++;
}

static void test_bad_append(struct op_env *env)
{
	struct accel_kv_opts o = bench_small(ACCEL_S8, 4);
	struct accel_kv_append good = ACCEL_KV_APPEND_INIT, a;
	struct accel_kv_rows rows[2] = { { 0, 3 }, { 0, 1 } };
	const uint32_t ids[] = { 1, 2, 3 };
	struct accel_tensor pages, lengths;
	struct accel_job *job;
	uint32_t child;
	struct bench b;

	bench_open(&b, env, &o, ACCEL_F32, 9);
	assert_int_equal(accel_kv_seq_create(b.kv, &rows[0].seq), 0);
	rows[1].seq = rows[0].seq;
	assert_int_equal(accel_job_create(env->ctx, NULL, &job), 0);
	assert_int_equal(accel_kv_reserve(b.kv, job, rows, 2, NULL, 0, NULL), -EINVAL);
	rows[1].seq = 99;
	assert_int_equal(accel_kv_reserve(b.kv, job, rows, 2, NULL, 0, NULL), -ENOENT);
	assert_int_equal(accel_kv_reserve(b.kv, NULL, rows, 1, NULL, 0, NULL), -EINVAL);
	assert_int_equal(accel_kv_reserve(b.kv, job, NULL, 1, NULL, 0, NULL), -EINVAL);
	assert_int_equal(accel_kv_reserve(b.kv, job, rows, 1, NULL, 0, NULL), 0);
	rows[1] = (struct accel_kv_rows){ rows[0].seq, UINT32_MAX };
	assert_int_equal(accel_kv_reserve(b.kv, job, rows + 1, 1, NULL, 0, NULL), -EINVAL);
	good.rows = rows;
	good.count = 1;
	good.k = bench_rows(&b, ids, 3, 0, 0);
	good.v = bench_rows(&b, ids, 3, 0, 1);
#define BAD(code, field, ...) do {					\
	a = good;							\
	__VA_ARGS__;							\
	refuse_append(&b, job, &a, code, field);			\
} while (0)
	BAD(-EINVAL, "append.size", a.size = 4);
	BAD(-EINVAL, "append.layer", a.layer = 2);
	BAD(-EINVAL, "append.pad", a.pad = 1);
	BAD(-EINVAL, "append.k.dtype", a.k.dtype = ACCEL_S8);
	BAD(-EINVAL, "append.k.rank", a.k.rank = 0);
	BAD(-EINVAL, "append.v.dims[0]", a.v.dims[0] = 4);
	BAD(-EINVAL, "append.v.dims[1]", a.v.dims[1] = 1);
	BAD(-EINVAL, "append.v.dims[2]", a.v.dims[2] = 5);
	BAD(-EINVAL, "append.v.bo", a.v.bo = NULL);
	BAD(-EINVAL, "append.v.flags", a.v.flags = 8);
	BAD(-EINVAL, "rows[0].tokens", a.rows = rows + 1);
	BAD(-EINVAL, "append.count", a.slots = a.k);
	BAD(-EINVAL, "append.slots.dtype", a.slots = a.k, a.count = 0);
	BAD(-EINVAL, "append.slots.rank", a.count = 0,
	    a.slots = accel_tensor_dense(good.k.bo, ACCEL_S32, 2, good.k.dims));
	BAD(-EINVAL, "append.slots.bo", a.count = 0,
	    a.slots = accel_tensor_dense(NULL, ACCEL_S32, 1, good.k.dims));
	/* The pages are shared since. */
	assert_int_equal(accel_kv_seq_fork(b.kv, rows[0].seq, 2, &child), 0);
	BAD(-EBUSY, "rows[0].tokens", (void)0);
	assert_int_equal(accel_kv_seq_destroy(b.kv, child), 0);
	rows[0].seq = child;
	BAD(-ENOENT, "rows[0].seq", (void)0);
#undef BAD
	assert_int_equal(accel_kv_append(b.kv, job, NULL, NULL, 0, NULL), -EINVAL);
	assert_int_equal(accel_kv_tensors(b.kv, 2, &good.k, &good.v), -EINVAL);
	assert_int_equal(accel_kv_table(b.kv, &child, 1, 0, &pages, &lengths), -ENOENT);
	assert_int_equal(accel_kv_table(b.kv, &child, 0, 0, &pages, &lengths), -EINVAL);
	assert_int_equal(accel_kv_table(b.kv, NULL, 1, 0, &pages, &lengths), -EINVAL);
	accel_bo_unref(good.k.bo);
	accel_bo_unref(good.v.bo);
	/* Nothing of what was refused is in the job. */
	bench_run(&b, job);
	bench_close(&b);
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "kv sharing", test_sharing },
		{ "kv full", test_full },
		{ "kv special numbers", test_special },
		{ "kv threads", test_threads },
		{ "kv bad options", test_bad_opts },
		{ "kv bad appends", test_bad_append },
		{ "kv random", test_random },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
