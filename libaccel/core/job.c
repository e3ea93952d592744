// SPDX-License-Identifier: MIT
/*
 * Jobs: plans with their buffers bound. Tasks are copied from the plans and
 * their addresses filled in when an operation is added; the backend gets them
 * when the job is submitted for the first time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "libaccel/core/fpmode.h"
#include "libaccel/backend/backend.h"

struct accel_job *job_ref(struct accel_job *job)
{
	atomic_fetch_add_explicit(&job->refs, 1, memory_order_relaxed);
	return job;
}

static void op_release(struct job_op *op)
{
	uint32_t i;

	for (i = 0; i <= op->plan->arg_count; i++)
		accel_bo_unref(op->bound.bos[i]);
	free(op->bound.bos);
	free(op->deps);
	accel_plan_unref(op->plan);
}

void job_unref(struct accel_job *job)
{
	struct accel_ctx *ctx = job->ctx;
	uint32_t i;

	if (atomic_fetch_sub_explicit(&job->refs, 1, memory_order_acq_rel) != 1)
		return;
	ctx->dev->ops->job_destroy(job);
	for (i = 0; i < job->op_count; i++)
		op_release(&job->ops[i]);
	pthread_mutex_destroy(&job->lock);
	free(job->ops);
	free(job->tasks);
	free(job);
	ctx_unref(ctx);
}

int accel_job_create(struct accel_ctx *ctx, const struct accel_job_opts *opts,
		     struct accel_job **out)
{
	struct accel_job_opts o = { sizeof(o), 0 };
	struct accel_job *job;
	int ret;

	if (!ctx)
		return -EINVAL;
	if (!out)
		return ctx_fail(ctx, -EINVAL, "job", "NULL");
	if (opts) {
		ret = opts_in(ctx, &o, sizeof(o), opts);
		if (ret)
			return ret;
	}
	if (o.flags & ~ACCEL_JOB_UNORDERED)
		return ctx_fail(ctx, -EINVAL, "opts.flags",
				"unknown flags 0x%x",
				o.flags & ~ACCEL_JOB_UNORDERED);
	job = calloc(1, ctx->dev->ops->job_size);
	if (!job)
		return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
	atomic_init(&job->refs, 1);
	atomic_init(&job->prepared, false);
	atomic_init(&job->flights, 0);
	job->first_move = JOB_NO_OP;
	pthread_mutex_init(&job->lock, NULL);
	job->ctx = ctx_ref(ctx);
	job->id = device_next_id(ctx->dev);
	job->flags = o.flags;
	*out = job;
	return 0;
}

/* Forget the operations from @count on: a failed call changes nothing. */
void job_cut(struct accel_job *job, uint32_t count)
{
	uint32_t i;

	if (count >= job->op_count)
		return;
	job->task_count = job->ops[count].first_task;
	while (job->op_count > count)
		op_release(&job->ops[--job->op_count]);
	job->engines = 0;
	job->workspace = NULL;
	for (i = 0; i < count; i++) {
		job->engines |= 1u << job->ops[i].plan->info.engine;
		if (job->ops[i].own_workspace)
			job->workspace = job->ops[i].bound.bos[job->ops[i].plan->arg_count];
	}
}

void accel_job_destroy(struct accel_job *job)
{
	if (job)
		job_unref(job);
}

static int job_reserve(struct accel_job *job, uint32_t tasks)
{
	struct job_op *ops;
	struct uma_task *t;
	size_t cap;

	if (job->op_count == job->op_cap) {
		cap = job->op_cap ? 2 * job->op_cap : 4;
		ops = realloc(job->ops, cap * sizeof(*ops));
		if (!ops)
			return -ENOMEM;
		job->ops = ops;
		job->op_cap = cap;
	}
	if (tasks > job->task_cap - job->task_count) {
		/* A job of one operation gets what it needs and no more. */
		cap = job->task_cap;
		if (!cap)
			cap = tasks;
		while (cap < (size_t)job->task_count + tasks)
			cap *= 2;
		t = realloc(job->tasks, cap * sizeof(*t));
		if (!t)
			return -ENOMEM;
		job->tasks = t;
		job->task_cap = cap;
	}
	return 0;
}

/*
 * Memory for a plan that needs it, if the caller has none for it. Operations that run one
 * after the other share it.
 */
static int job_workspace(struct accel_job *job, const struct accel_plan *plan, struct job_op *op,
			 const struct job_place *at)
{
	const struct accel_bo_opts opts = { sizeof(opts), ACCEL_BO_NO_MAP, "workspace" };
	const uint64_t bytes = plan->info.workspace_bytes;
	struct accel_bo **bo = &at->bos[plan->arg_count];
	int ret;

	if (!bytes || *bo)
		return 0;
	if (job->workspace && !(job->flags & ACCEL_JOB_UNORDERED) &&
	    job->workspace->size >= bytes) {
		*bo = accel_bo_ref(job->workspace);
	} else {
		ret = accel_bo_create(job->ctx, bytes, &opts, bo);
		if (ret)
			return ret;
	}
	op->own_workspace = true;
	at->addrs[plan->arg_count] = (*bo)->addr;
	return 0;
}

/* Keep where the arguments are, twice: as it is, and for the next rebinding. */
static int keep_place(struct job_op *op, const struct accel_plan *plan, const struct job_place *at)
{
	const size_t n = plan->arg_count + 1;
	char *mem;
	size_t i;

	mem = malloc(2 * n * (sizeof(*at->bos) + sizeof(*at->addrs)));
	if (!mem)
		return -ENOMEM;
	op->bound.bos = (struct accel_bo **)mem;
	op->next.bos = op->bound.bos + n;
	op->bound.addrs = (uint64_t *)(op->next.bos + n);
	op->next.addrs = op->bound.addrs + n;
	memcpy(op->bound.bos, at->bos, n * sizeof(*at->bos));
	memcpy(op->next.bos, at->bos, n * sizeof(*at->bos));
	memcpy(op->bound.addrs, at->addrs, n * sizeof(*at->addrs));
	memcpy(op->next.addrs, at->addrs, n * sizeof(*at->addrs));
	/* The job has a reference to a workspace of its own already. */
	for (i = 0; i < n; i++)
		if (at->bos[i] && !(op->own_workspace && i == plan->arg_count))
			accel_bo_ref(at->bos[i]);
	return 0;
}

static int check_deps(struct accel_job *job, const uint32_t *deps,
		      uint32_t count)
{
	char field[32];
	uint32_t i;

	if (count && !deps)
		return ctx_fail(job->ctx, -EINVAL, "deps", "NULL");
	for (i = 0; i < count; i++) {
		if (deps[i] < job->op_count)
			continue;
		snprintf(field, sizeof(field), "deps[%u]", i);
		return ctx_fail(job->ctx, -EINVAL, field,
				"%u is not the index of an earlier operation",
				deps[i]);
	}
	return 0;
}

/**
 * job_add - accel_job_add(), for callers who may know bindings by other names
 * @job: job
 * @plan: plan
 * @bound: its bindings
 * @deps: as of accel_job_add()
 * @dep_count: likewise
 * @index: likewise
 *
 * Return: as accel_job_add().
 */
int job_add(struct accel_job *job, struct accel_plan *plan, const struct job_bindings *bound,
	    const uint32_t *deps, uint32_t dep_count, uint32_t *index)
{
	struct accel_bo *bos[PLAN_MAX_ARGS + 1];
	uint64_t addrs[PLAN_MAX_ARGS + 1];
	const struct job_place at = { bos, addrs };
	struct accel_ctx *ctx = job->ctx;
	struct job_op op = { 0 };
	int ret;

	if (plan->ctx != ctx)
		return ctx_fail(ctx, -EINVAL, "plan",
				"belongs to another context than the job");
	if (bound->count && !bound->b)
		return ctx_fail(ctx, -EINVAL, "bindings", "NULL");
	if (atomic_load_explicit(&job->prepared, memory_order_acquire))
		return ctx_fail(ctx, -EBUSY, "job", "was submitted already");
	if (job->op_count == JOB_MAX_OPS ||
	    plan->task_count > JOB_MAX_TASKS - job->task_count)
		return ctx_fail(ctx, -ENOSPC, "job",
				"a job has at most %u operations and %u tasks",
				JOB_MAX_OPS, JOB_MAX_TASKS);
	ret = bind_match(ctx, plan, bound, &at);
	if (ret)
		return ret;
	ret = check_deps(job, deps, dep_count);
	if (ret)
		return ret;
	ret = job_workspace(job, plan, &op, &at);
	if (ret)
		return ret;
	ret = job_reserve(job, plan->task_count);
	if (!ret)
		ret = keep_place(&op, plan, &at);
	if (ret)
		goto err_workspace;

	op.first_task = job->task_count;
	if (dep_count) {
		op.deps = malloc(dep_count * sizeof(*op.deps));
		if (!op.deps)
			goto err_place;
		memcpy(op.deps, deps, dep_count * sizeof(*op.deps));
		op.dep_count = dep_count;
	}
	op.plan = accel_plan_ref(plan);
	bind_tasks(&op, job->tasks);
	if (op.own_workspace)
		job->workspace = bos[plan->arg_count];
	job->task_count += plan->task_count;
	job->engines |= 1u << plan->info.engine;
	job->ops[job->op_count] = op;
	if (index)
		*index = job->op_count;
	job->op_count++;
	return 0;

err_place:
	op.plan = accel_plan_ref(plan);
	op_release(&op);
	return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
err_workspace:
	if (op.own_workspace)
		accel_bo_unref(bos[plan->arg_count]);
	return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
}

int accel_job_add(struct accel_job *job, struct accel_plan *plan,
		  const struct accel_binding *bindings, uint32_t count,
		  const uint32_t *deps, uint32_t dep_count, uint32_t *index)
{
	FP_MODE_SCOPE();
	const struct job_bindings bound = { bindings, count, NULL };

	if (!job)
		return -EINVAL;
	if (!plan)
		return ctx_fail(job->ctx, -EINVAL, "plan", "NULL");
	return job_add(job, plan, &bound, deps, dep_count, index);
}
