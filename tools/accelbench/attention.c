// SPDX-License-Identifier: MIT
/*
 * attention: whole prompts, and single tokens with a cache of earlier ones. [sequence, head,
 * dimension], the layout of projections.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

/* So much is read from the shared cache, not from a core's own */
#define SHARED		(8u << 20)

/* Element types: queries and results, keys and values; limits of prompts, and of single tokens */
static const struct kind {
	const char *name;
	uint32_t q, kv;
	enum perf_bound bound, decode;
} kinds[] = {
	{ "fp32", ACCEL_F32, ACCEL_F32, PERF_FP32, PERF_DOT_FP32 },
	{ "bf16", ACCEL_BF16, ACCEL_BF16, PERF_BF16, PERF_DOT_BF16 },
	{ "bf16*s8", ACCEL_BF16, ACCEL_S8, PERF_BF16, PERF_DOT_INT8 },
};

/**
 * struct attention - an attention that is measured
 * @perf: state
 * @kind: element types
 * @queries: queries
 * @keys: keys and values
 * @heads: heads
 * @dim: dimension of a head
 * @q: queries
 * @kv: keys, values
 * @scales: of keys, of values; NULL: none
 * @d: result
 * @plan: plan
 */
struct attention {
	struct perf *perf;
	const struct kind *kind;
	int64_t queries, keys, heads, dim;
	struct accel_bo *q, *kv[2], *scales[2], *d;
	struct accel_plan *plan;
};

/* --- float64 ---------------------------------------------------------------------- */

static double kv_at(const struct attention *v, int which, int64_t key, int64_t head, int64_t i)
{
	int64_t row = key * v->heads + head;
	double x = data_get(v->kind->kv, accel_bo_ptr(v->kv[which]), (uint64_t)(row * v->dim + i));

	return v->scales[which] ? x * (double)((const float *)accel_bo_ptr(v->scales[which]))[row] :
				  x;
}

static double output(const struct attention *v, int64_t query, int64_t head, int64_t dim)
{
	const void *q = accel_bo_ptr(v->q);
	double sum = 0, weighted = 0, score;
	int64_t key, i;

	for (key = 0; key < v->keys; key++) {
		for (score = 0, i = 0; i < v->dim; i++)
			score += data_get(v->kind->q, q,
					  (uint64_t)((query * v->heads + head) * v->dim + i)) *
				 kv_at(v, 0, key, head, i);
		/* Scores are small, so the maximum need not be subtracted. */
		score = exp(score / sqrt((double)v->dim));
		sum += score;
		weighted += score * kv_at(v, 1, key, head, dim);
	}
	return weighted / sum;
}

static double error_of(const void *d, void *arg)
{
	const struct attention *v = arg;
	int64_t count = v->queries * v->heads * v->dim, i;
	struct data_errors e = { 0 };

	for (i = 0; i < PERF_SAMPLES; i++) {
		/* A prime stride selects elements of all queries, heads and columns */
		int64_t at = i * 1000003 % count, row = at / v->dim;

		data_compare(&e, data_get(v->kind->q, d, (uint64_t)at),
			     output(v, row / v->heads, row % v->heads, at % v->dim));
	}
	return data_error(&e);
}

/* --- ours ------------------------------------------------------------------------- */

static int make_kv(struct attention *v, int which)
{
	uint64_t rows = (uint64_t)(v->keys * v->heads), i;
	float *scales;
	int ret;

	ret = ours_random(v->perf, v->kind->kv, rows * (uint64_t)v->dim, &v->kv[which]);
	if (ret || v->kind->kv != ACCEL_S8)
		return ret;
	ret = ours_random(v->perf, ACCEL_F32, rows, &v->scales[which]);
	if (ret)
		return ret;
	scales = accel_bo_ptr(v->scales[which]);
	for (i = 0; i < rows; i++)
		scales[i] = (1.5f + 0.5f * scales[i]) / 256;
	return 0;
}

static int make(struct attention *v)
{
	struct accel_attention_desc desc = ACCEL_ATTENTION_DESC_INIT;
	uint64_t count = (uint64_t)(v->queries * v->heads * v->dim);
	int64_t q_dims[4] = { 1, v->queries, v->heads, v->dim };
	int64_t kv_dims[4] = { 1, v->keys, v->heads, v->dim };
	int ret;

	ret = ours_random(v->perf, v->kind->q, count, &v->q);
	if (!ret)
		ret = make_kv(v, 0);
	if (!ret)
		ret = make_kv(v, 1);
	if (!ret)
		ret = ours_result(v->perf, data_bytes(v->kind->q, count), &v->d);
	if (ret)
		return ret;
	desc.q = accel_tensor_dense(NULL, v->kind->q, 4, q_dims);
	desc.d = desc.q;
	desc.k = accel_tensor_dense(NULL, v->kind->kv, 4, kv_dims);
	/* A scale for each row of a head */
	if (v->scales[0])
		desc.k.quant = (struct accel_quant){
			.scheme = ACCEL_QUANT_GROUP, .axis = 3, .group = (uint32_t)v->dim,
		};
	desc.v = desc.k;
	desc.k.quant.scales = v->scales[0];
	desc.v.quant.scales = v->scales[1];
	return accel_plan_create(v->perf->ctx, &desc.hdr, &v->plan);
}

static int make_ours(struct attention *v, struct perf_impl *impl)
{
	struct ours_op op = { .plan = v->plan };
	int ret;

	ours_bind(&op, ACCEL_ARG_D, v->d);
	ours_bind(&op, ACCEL_ARG_A, v->q);
	ours_bind(&op, ACCEL_ARG_B, v->kv[0]);
	ours_bind(&op, ACCEL_ARG_C, v->kv[1]);
	ours_bind(&op, ACCEL_ARG_B | ACCEL_ARG_SCALES, v->scales[0]);
	ours_bind(&op, ACCEL_ARG_C | ACCEL_ARG_SCALES, v->scales[1]);
	ret = ours_impl(v->perf, &op, 1, 0, impl);
	if (!ret) {
		impl->error = error_of;
		impl->error_arg = v;
		impl->d = accel_bo_ptr(v->d);
	}
	return ret;
}

static void measure(struct attention *v, struct perf_case *c)
{
	double kv, rows = 2 * (double)v->keys * (double)v->heads;
	struct perf_impl impl;
	int i, ret;

	c->dtype = v->kind->name;
	if (!perf_wanted(v->perf, c->name, c->dtype))
		return;
	kv = rows * (double)data_bytes(v->kind->kv, (uint64_t)v->dim);
	if (v->kind->kv == ACCEL_S8)
		kv += rows * sizeof(float);
	c->flops = 4.0 * (double)v->queries * (double)v->keys * (double)v->heads * (double)v->dim;
	c->bytes = kv + 2 * (double)data_bytes(v->kind->q,
					       (uint64_t)(v->queries * v->heads * v->dim));
	c->bound = v->queries == 1 ? v->kind->decode : v->kind->bound;
	c->read_bytes = kv;
	/* With several layers, the data do not stay in a core's private caches. */
	c->read_set = ((size_t)kv + 4095) & ~(size_t)4095;
	c->read_set = c->read_set < SHARED ? SHARED : c->read_set;
	ret = make(v);
	if (!ret)
		ret = make_ours(v, &impl);
	if (ret)
		ours_fail(v->perf, c->name, ret);
	else
		perf_measure(v->perf, c, &impl, 1);
	accel_plan_unref(v->plan);
	accel_bo_unref(v->d);
	for (i = 0; i < 2; i++) {
		accel_bo_unref(v->scales[i]);
		accel_bo_unref(v->kv[i]);
	}
	accel_bo_unref(v->q);
}

void attention_cases(struct perf *perf)
{
	static const struct {
		int64_t queries, keys, heads, dim;
	} sizes[] = {
		{ 128, 128, 12, 64 }, { 512, 512, 12, 64 }, { 2048, 2048, 12, 64 },
		{ 4096, 4096, 12, 64 }, { 1024, 1024, 32, 128 },
		{ 1, 512, 12, 64 }, { 1, 2048, 12, 64 }, { 1, 4096, 12, 64 },
	};
	size_t i, j;

	for (j = 0; j < sizeof(kinds) / sizeof(kinds[0]); j++)
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct attention v = {
				.perf = perf, .kind = &kinds[j], .queries = sizes[i].queries,
				.keys = sizes[i].keys, .heads = sizes[i].heads,
				.dim = sizes[i].dim,
			};
			struct perf_case c = { 0 };

			if (v.queries == 1)
				snprintf(c.name, sizeof(c.name), "attention/decode-h%lldd%lld@%lld",
					 (long long)v.heads, (long long)v.dim, (long long)v.keys);
			else
				snprintf(c.name, sizeof(c.name), "attention/h%lldd%lld@%lld",
					 (long long)v.heads, (long long)v.dim, (long long)v.keys);
			measure(&v, &c);
		}
}
