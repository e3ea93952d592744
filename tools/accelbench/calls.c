// SPDX-License-Identifier: MIT
/*
 * latency, in-process: the overhead of a call. An empty job; a job that is so small that the
 * submitting thread runs it; one that a worker runs; and a small product, as a call and as one
 * of many in a job.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

/*
 * An attention that a plan assumes to have keys, but whose sequence has none: estimated work
 * without real work
 */
#define KEYS	64
#define QUERIES	2
#define DIM	512

static int run_empty(void *state)
{
	return bench_roundtrip(state, ((struct bench_rig *)state)->empty, NULL);
}

static int run_smallest(void *state)
{
	return bench_roundtrip(state, ((struct bench_rig *)state)->smallest, NULL);
}

/* As ours_impl()'s, but the waiting thread does not help, so a worker has to run it. */
static int run_worker(void *state)
{
	struct accel_fence *fence;
	int ret;

	ret = ours_submit(state, &fence);
	if (ret)
		return ret;
	while ((ret = accel_fence_wait(fence, 0)) == -ETIMEDOUT)
		;
	accel_fence_unref(fence);
	return ret;
}

static void keep(void *state)
{
	(void)state;
}

/* An attention to a sequence whose length, which is read when it runs, is 0 */
static int worker_job(struct perf *perf, struct perf_impl *impl)
{
	struct accel_attention_desc desc = ACCEL_ATTENTION_DESC_INIT;
	struct accel_bo *q = NULL, *kv = NULL, *lengths = NULL;
	struct ours_op op = { 0 };
	int ret;

	desc.q = accel_tensor_dense(NULL, ACCEL_F32, 4, (int64_t[]){ 1, QUERIES, 1, DIM });
	desc.d = desc.q;
	desc.k = accel_tensor_dense(NULL, ACCEL_F32, 4, (int64_t[]){ 1, KEYS, 1, DIM });
	desc.v = desc.k;
	desc.lengths = accel_tensor_dense(NULL, ACCEL_S32, 1, (int64_t[]){ 1 });
	ret = accel_plan_create(perf->ctx, &desc.hdr, &op.plan);
	if (!ret)
		ret = accel_bo_create(perf->ctx, QUERIES * DIM * sizeof(float), NULL, &q);
	if (!ret)
		ret = accel_bo_create(perf->ctx, KEYS * DIM * sizeof(float), NULL, &kv);
	if (!ret)
		ret = accel_bo_create(perf->ctx, sizeof(int32_t), NULL, &lengths);
	ours_bind(&op, ACCEL_ARG_A, q);
	ours_bind(&op, ACCEL_ARG_D, q);
	ours_bind(&op, ACCEL_ARG_B, kv);
	ours_bind(&op, ACCEL_ARG_C, kv);
	ours_bind(&op, ACCEL_ARG_AUX2, lengths);
	if (!ret)
		ret = ours_impl(perf, &op, 1, 0, impl);
	if (!ret)
		impl->run = run_worker;
	/* The job holds the references it needs. */
	accel_plan_unref(op.plan);
	accel_bo_unref(q);
	accel_bo_unref(kv);
	accel_bo_unref(lengths);
	return ret;
}

void call_cases(struct perf *perf)
{
	struct perf_case empty = { .name = "latency/empty", .dtype = "none" };
	struct perf_case smallest = { .name = "latency/inline", .dtype = "fp32" };
	struct perf_case worker = { .name = "latency/worker", .dtype = "fp32" };
	struct perf_impl impl = { .name = "ours", .release = keep, .ops = 1 };
	struct bench_opts opts = *perf->opts;
	struct bench_rig rig;
	int ret;

	opts.threads = perf->threads;
	ret = bench_rig_open(&opts, "sw", &rig);
	if (ret) {
		perf->failed = ret;
		return;
	}
	impl.state = &rig;
	impl.run = run_empty;
	if (perf_wanted(perf, empty.name, empty.dtype))
		perf_measure(perf, &empty, &impl, 1);
	impl.run = run_smallest;
	if (perf_wanted(perf, smallest.name, smallest.dtype))
		perf_measure(perf, &smallest, &impl, 1);
	bench_rig_close(&rig);
	if (perf_wanted(perf, worker.name, worker.dtype)) {
		ret = worker_job(perf, &impl);
		if (ret)
			ours_fail(perf, worker.name, ret);
		else
			perf_measure(perf, &worker, &impl, 1);
	}
	gemm_calls(perf);
}
