// SPDX-License-Identifier: MIT
/*
 * See kv_bench.h. Every row of every sequence is compared to the bit.
 */
#include <math.h>
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

static uint32_t dim_of(const struct bench *b, uint32_t part)
{
	return part && b->o.v_dim ? b->o.v_dim : b->o.head_dim;
}

/* --- rows -------------------------------------------------------------------------- */

/* Element of the row of a token, as the caller's type has it. */
static double element(const struct bench *b, uint32_t token, uint32_t layer, uint32_t part,
		      uint32_t head, uint32_t i)
{
	struct op_case c = {
		.rng = token * 1000003ull + layer * 10007 + part * 5003 + head * 101 + i
	};
	double v = op_uniform(&c, -3, 3);

	/* Some rows are zeros, some large, some have one large element. */
	if (token % 11 == 3)
		v = 0;
	if (token % 13 == 5)
		v *= 1000;
	if (token % 7 == 1 && i == token % dim_of(b, part))
		v *= 50;
	return oracle_round(v, b->src);
}

static void put(void *mem, uint32_t dtype, uint64_t at, double v)
{
	float f = (float)v;
	uint32_t bits;

	memcpy(&bits, &f, 4);
	if (dtype == ACCEL_F32)
		((float *)mem)[at] = f;
	else
		((uint16_t *)mem)[at] = dtype == ACCEL_F16 ? oracle_f16_bits(v) :
							     (uint16_t)(bits >> 16);
}

/* A tensor of rows, in one of several layouts. */
struct accel_tensor bench_rows(struct bench *b, const uint32_t *tokens, uint32_t count,
			       uint32_t layer, uint32_t part)
{
	uint32_t dim = dim_of(b, part), heads = b->o.kv_heads, t, h, i;
	const int64_t dims[3] = { count, heads, dim };
	struct accel_tensor x = accel_tensor_dense(NULL, b->src, 3, dims);
	uint32_t es = accel_dtype_bits(b->src) / 8, style = op_below(&b->c, 3);
	int64_t strides[3] = { (int64_t)heads * dim, dim, 1 };

	if (style == 1) {
		/* Heads outermost. */
		strides[0] = dim;
		strides[1] = (int64_t)count * dim;
	} else if (style == 2) {
		/* Backwards, with gaps. */
		strides[0] = -(int64_t)heads * (dim + 3);
		strides[1] = dim + 3;
		x.offset = (uint64_t)(count ? count - 1 : 0) * heads * (dim + 3) * es;
	}
	if (style) {
		x.flags = ACCEL_TENSOR_STRIDES;
		memcpy(x.strides, strides, sizeof(strides));
	}
	assert_int_equal(accel_bo_create(b->env->ctx, (uint64_t)(count + 1) * heads *
					 (dim + 3) * es, NULL, &x.bo), 0);
	for (t = 0; t < count; t++)
		for (h = 0; h < heads; h++)
			for (i = 0; i < dim; i++)
				put((char *)accel_bo_ptr(x.bo) + x.offset +
				    ((int64_t)t * strides[0] + h * strides[1]) * es, b->src,
				    i, element(b, tokens[t], layer, part, h, i));
	return x;
}

/* --- what is in the cache -------------------------------------------------------------- */

static void check_row(const struct bench *b, const struct accel_tensor *pool, uint32_t page,
		      uint32_t slot, uint32_t token, uint32_t layer, uint32_t part)
{
	uint32_t dim = dim_of(b, part), h, i;
	int64_t idx[4] = { page, slot, 0, 0 };
	double most, scale, want, x;

	for (h = 0; h < b->o.kv_heads; h++) {
		most = 0;
		for (i = 0; i < dim; i++)
			most = fmax(most, fabs(element(b, token, layer, part, h, i)));
		scale = oracle_round((double)((float)most / 127.0f),
				     b->o.scale_dtype ? b->o.scale_dtype : ACCEL_F32);
		for (i = 0; i < dim; i++) {
			idx[2] = h;
			idx[3] = i;
			x = element(b, token, layer, part, h, i);
			if (b->o.dtype != ACCEL_S8) {
				assert_true(oracle_load(pool, idx) ==
					    oracle_round(x, b->o.dtype));
				continue;
			}
			want = scale > 0 ? nearbyint((double)((float)x / (float)scale)) : 0;
			want = fmin(fmax(want, -128), 127);
			assert_int_equal(oracle_load_int(pool, idx), (int64_t)want);
			assert_true(oracle_load(pool, idx) == (double)(float)(want * scale));
			/* Half a step from what went in. */
			assert_true(fabs(oracle_load(pool, idx) - x) <=
				    0.51 * scale + (double)__FLT_MIN__);
		}
	}
}

static void check_seq(struct bench *b, const struct list *l, uint32_t *uses)
{
	struct accel_kv_seq_info info = { .size = sizeof(info) };
	uint32_t size = b->o.page_size, pages = (l->length + size - 1) / size, layer, i;
	struct accel_tensor table, lengths, k, v;
	const int32_t *page;

	assert_int_equal(accel_kv_seq_get_info(b->kv, l->seq, &info), 0);
	assert_int_equal(info.length, l->length);
	assert_int_equal(info.length + info.evicted, l->next);
	assert_int_equal(info.pages, pages);
	assert_int_equal(accel_kv_table(b->kv, &l->seq, 1, pages + 2, &table, &lengths), 0);
	assert_int_equal(table.dims[0], 1);
	assert_int_equal(table.dims[1], pages + 2);
	page = (const int32_t *)accel_bo_ptr(table.bo);
	assert_int_equal(page[pages], -1);
	assert_int_equal(((const int32_t *)accel_bo_ptr(lengths.bo))[lengths.offset / 4],
			 l->length);
	for (i = 0; i < pages; i++) {
		assert_in_range(page[i], 0, b->o.pages - 1);
		uses[page[i]]++;
	}
	for (layer = 0; layer < b->o.layers; layer++) {
		assert_int_equal(accel_kv_tensors(b->kv, layer, &k, &v), 0);
		for (i = 0; i < l->length; i++) {
			check_row(b, &k, (uint32_t)page[i / size], i % size, l->token[i],
				  layer, 0);
			check_row(b, &v, (uint32_t)page[i / size], i % size, l->token[i],
				  layer, 1);
		}
	}
	accel_bo_unref(table.bo);
}

void bench_check(struct bench *b)
{
	struct accel_kv_stats s = { .size = sizeof(s) };
	uint32_t *uses = calloc(b->o.pages, sizeof(*uses)), i, used = 0, shared = 0, seqs = 0;
	uint64_t tokens = 0;

	assert_non_null(uses);
	for (i = 0; i < SEQS; i++) {
		if (!b->list[i].used)
			continue;
		check_seq(b, &b->list[i], uses);
		tokens += b->list[i].length;
		seqs++;
	}
	for (i = 0; i < b->o.pages; i++) {
		used += uses[i] > 0;
		shared += uses[i] > 1;
	}
	free(uses);
	assert_int_equal(accel_kv_get_stats(b->kv, &s), 0);
	assert_int_equal(s.sequences, seqs);
	assert_int_equal(s.tokens, tokens);
	assert_int_equal(s.pages, b->o.pages);
	assert_int_equal(s.used_pages, used);
	assert_int_equal(s.shared_pages, shared);
	assert_true(s.used_pages_peak >= used);
}

/* --- the model ----------------------------------------------------------------------------- */

void list_add(struct list *l, uint32_t token)
{
	l->token[l->length] = token;
	l->position[l->length++] = l->next++;
}

/* The first tokens only: what comes next stands behind the last of them. */
void list_cut(struct list *l, uint32_t length)
{
	if (length < l->length)
		l->next = length ? l->position[length - 1] + 1 : 0;
	l->length = length;
}

/* --- steps ------------------------------------------------------------------------------- */

void bench_open(struct bench *b, struct op_env *env, const struct accel_kv_opts *o,
		uint32_t src, uint64_t seed)
{
	memset(b, 0, sizeof(*b));
	b->env = env;
	b->o = *o;
	b->src = src;
	b->c.rng = seed;
	b->next = 1;
	assert_int_equal(accel_kv_create(env->ctx, o, &b->kv), 0);
	assert_int_equal(accel_queue_create(env->ctx, NULL, &b->queue), 0);
}

void bench_close(struct bench *b)
{
	accel_queue_destroy(b->queue);
	accel_kv_destroy(b->kv);
}

void bench_run(struct bench *b, struct accel_job *job)
{
	struct accel_fence *fence;

	assert_int_equal(accel_queue_submit(b->queue, job, NULL, &fence), 0);
	assert_int_equal(accel_fence_wait(fence, -1), 0);
	accel_fence_unref(fence);
	accel_job_destroy(job);
}

/* Tokens for some sequences at once. Returns what the reservation did. */
int bench_append(struct bench *b, const uint32_t *which, const uint32_t *tokens, uint32_t n)
{
	const struct accel_job_opts opts = { sizeof(opts), ACCEL_JOB_UNORDERED };
	struct accel_kv_append a = ACCEL_KV_APPEND_INIT;
	uint32_t all[TOKENS], count = 0, i, j, layer, last;
	struct accel_kv_rows rows[SEQS];
	struct accel_job *job;
	bool unordered = op_below(&b->c, 2);
	int ret;

	for (i = 0; i < n; i++) {
		rows[i] = (struct accel_kv_rows){ b->list[which[i]].seq, tokens[i] };
		for (j = 0; j < tokens[i]; j++)
			all[count++] = b->next + j;
		b->next += tokens[i];
	}
	assert_int_equal(accel_job_create(b->env->ctx, unordered ? &opts : NULL, &job), 0);
	ret = accel_kv_reserve(b->kv, job, rows, n, NULL, 0, &last);
	if (ret) {
		/* The job is as it was: empty. */
		bench_run(b, job);
		return ret;
	}
	a.rows = rows;
	a.count = n;
	for (layer = 0; layer < b->o.layers; layer++) {
		a.layer = layer;
		a.k = bench_rows(b, all, count, layer, 0);
		a.v = bench_rows(b, all, count, layer, 1);
		assert_int_equal(accel_kv_append(b->kv, job, &a, &last, last != UINT32_MAX,
						 &last), 0);
		accel_bo_unref(a.k.bo);
		accel_bo_unref(a.v.bo);
	}
	bench_run(b, job);
	for (i = 0, count = 0; i < n; i++)
		for (j = 0; j < tokens[i]; j++)
			list_add(&b->list[which[i]], all[count++]);
	return 0;
}

/* --- files --------------------------------------------------------------------------- */

void bench_path(char *path, size_t size)
{
	const char *dir = getenv("TMPDIR");

	snprintf(path, size, "%s/test_kv.%ld", dir ? dir : "/tmp", (long)getpid());
}

void bench_write(const char *path, const void *data, size_t size)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

size_t bench_read(const char *path, unsigned char *data, size_t size)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	assert_non_null(f);
	n = fread(data, 1, size, f);
	fclose(f);
	return n;
}

/* A cache of few tokens. */
struct accel_kv_opts bench_small(uint32_t dtype, uint32_t page_size)
{
	struct accel_kv_opts o = ACCEL_KV_OPTS_INIT;

	o.layers = 2;
	o.kv_heads = 2;
	o.head_dim = 6;
	o.dtype = dtype;
	o.page_size = page_size;
	o.pages = 160 / page_size;
	return o;
}
