// SPDX-License-Identifier: MIT
/*
 * Jobs: plans with their buffers bound. Tasks are copied from the plans and
 * their addresses filled in when an operation is added; the backend gets them
 * when the job is submitted for the first time.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "libaccel/backend/backend.h"

struct accel_job *job_ref(struct accel_job *job)
{
	atomic_fetch_add_explicit(&job->refs, 1, memory_order_relaxed);
	return job;
}

static void op_release(struct job_op *op)
{
	uint32_t i;

	if (op->bos)
		for (i = 0; i < op->plan->arg_count; i++)
			accel_bo_unref(op->bos[i]);
	free(op->bos);
	free(op->deps);
	accel_bo_unref(op->workspace);
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
		if (job->ops[i].workspace)
			job->workspace = job->ops[i].workspace;
	}
}

void accel_job_destroy(struct accel_job *job)
{
	if (job)
		job_unref(job);
}

static const char *arg_name(const struct accel_plan *plan, uint32_t arg, char *buf,
			    size_t size)
{
	static const char * const common[ACCEL_ARG_COUNT] = {
		"d", "a", "b", "c", "bias", "scale", "residual"
	};
	const char * const *names = plan->arg_names ? plan->arg_names : common;
	const uint32_t table = arg & (ACCEL_ARG_SCALES | ACCEL_ARG_ZEROS);
	const uint32_t base = arg & ~table;

	if (base >= ACCEL_ARG_COUNT || !names[base])
		snprintf(buf, size, "0x%x", arg);
	else
		snprintf(buf, size, "%s%s", names[base],
			 table & ACCEL_ARG_SCALES ? ".scales" :
			 table & ACCEL_ARG_ZEROS ? ".zeros" : "");
	return buf;
}

/* By the name that the caller knows: a binding's, or that of a tensor's field. */
static int fail_binding(struct accel_ctx *ctx, const struct job_bindings *bound, uint32_t i,
			const char *member, const char *text)
{
	const uint32_t table = i < bound->count ?
			       bound->b[i].arg & (ACCEL_ARG_SCALES | ACCEL_ARG_ZEROS) : 0;
	char field[sizeof(((struct accel_error *)0)->field)];

	if (!bound->paths || i >= bound->count)
		snprintf(field, sizeof(field), "bindings[%u].%s", i, member);
	else if (!table)
		snprintf(field, sizeof(field), "%s.%s", bound->paths[i], member);
	else
		snprintf(field, sizeof(field), "%s.quant.%s%s", bound->paths[i],
			 table & ACCEL_ARG_SCALES ? "scales" : "zeros",
			 strcmp(member, "offset") != 0 ? "" : "_offset");
	return ctx_fail(ctx, -EINVAL, field, "%s", text);
}

/* Does the argument lie within its buffer? */
static int check_extent(struct accel_ctx *ctx, const struct job_bindings *bound, uint32_t i,
			const struct accel_plan *plan, const struct plan_arg *arg)
{
	const struct accel_binding *b = &bound->b[i];
	char text[192], name[32];

	arg_name(plan, arg->arg, name, sizeof(name));
	if (!bo_holds(b->bo, b->offset, arg->lo, arg->hi)) {
		snprintf(text, sizeof(text), BO_TOO_SMALL, name, arg->lo, arg->hi, b->offset,
			 b->bo->size);
		return fail_binding(ctx, bound, i, "offset", text);
	}
	if (arg->align > 1 && (b->bo->addr + b->offset) % arg->align) {
		snprintf(text, sizeof(text),
			 "%s needs an address that is a multiple of %u",
			 name, arg->align);
		return fail_binding(ctx, bound, i, "offset", text);
	}
	if (arg->write && b->bo->flags & ACCEL_BO_READONLY) {
		snprintf(text, sizeof(text),
			 "%s is written, and the buffer is read-only", name);
		return fail_binding(ctx, bound, i, "bo", text);
	}
	return 0;
}

/*
 * Find the argument of each binding; @addrs and @bos are in the order of the
 * plan's arguments.
 */
static int match_bindings(struct accel_job *job, struct accel_plan *plan,
			  const struct job_bindings *bound, uint64_t *addrs,
			  struct accel_bo **bos)
{
	struct accel_ctx *ctx = job->ctx;
	char text[96], name[32];
	uint32_t i, a;
	int ret;

	for (a = 0; a < plan->arg_count; a++)
		bos[a] = NULL;
	for (i = 0; i < bound->count; i++) {
		const struct accel_binding *b = &bound->b[i];

		for (a = 0; a < plan->arg_count; a++)
			if (plan->args[a].arg == b->arg)
				break;
		arg_name(plan, b->arg, name, sizeof(name));
		if (a == plan->arg_count) {
			snprintf(text, sizeof(text),
				 "the plan has no argument %s", name);
			return fail_binding(ctx, bound, i, "arg", text);
		}
		if (bos[a]) {
			snprintf(text, sizeof(text), "%s is bound twice", name);
			return fail_binding(ctx, bound, i, "arg", text);
		}
		if (b->pad)
			return fail_binding(ctx, bound, i, "pad", "must be 0");
		if (!b->bo)
			return fail_binding(ctx, bound, i, "bo", "NULL");
		if (b->bo->ctx != ctx)
			return fail_binding(ctx, bound, i, "bo",
					    "belongs to another context");
		ret = check_extent(ctx, bound, i, plan, &plan->args[a]);
		if (ret)
			return ret;
		bos[a] = b->bo;
		addrs[a] = b->bo->addr + b->offset;
	}
	for (a = 0; a < plan->arg_count; a++)
		if (!bos[a])
			return ctx_fail(ctx, -EINVAL, "bindings",
					"%s is not bound",
					arg_name(plan, plan->args[a].arg, name,
						 sizeof(name)));
	return 0;
}

/* A result that lies over an input, other than in place, would fault. */
static int check_overlap(struct accel_job *job, const struct accel_plan *plan,
			 const struct job_bindings *bound, const uint64_t *addrs,
			 uint64_t workspace)
{
	const int a = plan->parts ? plan_parts_overlap(plan, addrs, workspace) :
				    plan_find_overlap(plan, addrs);
	char text[96], name[32];
	uint32_t i;

	if (a < 0)
		return 0;
	for (i = 0; i < bound->count && bound->b[i].arg != plan->args[a].arg; i++)
		;
	snprintf(text, sizeof(text), "d would be written over %s",
		 arg_name(plan, plan->args[a].arg, name, sizeof(name)));
	return fail_binding(job->ctx, bound, i, "offset", text);
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

/**
 * plan_relocate - the tasks of a plan, with addresses
 * @plan: plan that has tasks of its own
 * @addrs: of its arguments
 * @tasks: out: room for its tasks
 */
void plan_relocate(const struct accel_plan *plan, const uint64_t *addrs, struct uma_task *tasks)
{
	uint32_t i;

	memcpy(tasks, plan->tasks, plan->task_count * sizeof(*tasks));
	for (i = 0; i < plan->reloc_count; i++) {
		const struct plan_reloc *r = &plan->relocs[i];
		struct uma_operand *op = &tasks[r->task].op[r->slot];
		uint64_t addr;

		addr = r->arg == PLAN_NO_ARG ? plan->packed->addr :
					       addrs[r->arg];
		addr += (uint64_t)r->addend;
		switch (r->field) {
		case PLAN_ADDR:
			op->addr = htole64(addr);
			break;
		case PLAN_SCALE_ADDR:
			op->scale_addr = htole64(addr);
			break;
		case PLAN_ZERO_ADDR:
			op->zero_addr = htole64(addr);
			break;
		}
	}
}

/* The tasks of a plan, those of its parts one after the other. */
static void relocate_all(struct uma_task *tasks, const struct accel_plan *plan,
			 const uint64_t *addrs, uint64_t workspace)
{
	uint64_t at[PLAN_MAX_ARGS];
	uint32_t i;

	if (!plan->parts) {
		plan_relocate(plan, addrs, tasks);
		return;
	}
	for (i = 0; i < plan->part_count; i++) {
		plan_part_addrs(&plan->parts[i], addrs, workspace, at);
		plan_relocate(plan->parts[i].plan, at, tasks);
		tasks += plan->parts[i].plan->task_count;
	}
}

/* An engine may want more of an argument's pieces than of elements. */
static int check_pieces(struct accel_job *job, const struct accel_plan *plan,
			const struct job_bindings *bound, const uint64_t *addrs)
{
	uint64_t at[PLAN_MAX_ARGS];
	char text[96], name[32];
	uint32_t i, a, b;

	for (i = 0; i < plan->part_count; i++) {
		const struct plan_part *part = &plan->parts[i];

		plan_part_addrs(part, addrs, 0, at);
		for (a = 0; a < part->plan->arg_count; a++) {
			uint32_t align = part->plan->args[a].align, arg = part->arg[a];

			if (align < 2 || at[a] % align == 0)
				continue;
			for (b = 0; b < bound->count && arg != PLAN_WORKSPACE; b++)
				if (bound->b[b].arg == plan->args[arg].arg)
					break;
			snprintf(text, sizeof(text),
				 "a piece of %s needs an address that is a multiple of %u",
				 arg_name(plan, arg == PLAN_WORKSPACE ? 0 :
					  plan->args[arg].arg, name, sizeof(name)),
				 align);
			return fail_binding(job->ctx, bound, b, "offset", text);
		}
	}
	return 0;
}

/*
 * Memory for a plan that needs it. Operations that run one after the other share
 * it.
 */
static int job_workspace(struct accel_job *job, const struct accel_plan *plan,
			 struct accel_bo **bo)
{
	const struct accel_bo_opts opts = { sizeof(opts), ACCEL_BO_NO_MAP, "workspace" };
	uint64_t bytes = plan->info.workspace_bytes;

	*bo = NULL;
	if (!bytes)
		return 0;
	if (job->workspace && !(job->flags & ACCEL_JOB_UNORDERED) &&
	    job->workspace->size >= bytes) {
		*bo = accel_bo_ref(job->workspace);
		return 0;
	}
	return accel_bo_create(job->ctx, bytes, &opts, bo);
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
	struct accel_bo *bos[PLAN_MAX_ARGS];
	struct accel_ctx *ctx = job->ctx;
	uint64_t addrs[PLAN_MAX_ARGS] = { 0 };
	struct job_op op = { 0 };
	uint32_t i;
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
	ret = match_bindings(job, plan, bound, addrs, bos);
	if (ret)
		return ret;
	ret = check_pieces(job, plan, bound, addrs);
	if (ret)
		return ret;
	/* The workspace is new memory, or that of this job: it is over nothing. */
	ret = check_overlap(job, plan, bound, addrs, 0);
	if (ret)
		return ret;
	ret = check_deps(job, deps, dep_count);
	if (ret)
		return ret;
	ret = job_workspace(job, plan, &op.workspace);
	if (ret)
		return ret;
	ret = job_reserve(job, plan->task_count);
	if (ret)
		goto err_nomem;

	op.first_task = job->task_count;
	if (plan->arg_count) {
		op.bos = malloc(plan->arg_count * sizeof(*op.bos));
		if (!op.bos)
			goto err_nomem;
	}
	if (dep_count) {
		op.deps = malloc(dep_count * sizeof(*op.deps));
		if (!op.deps)
			goto err_bos;
		memcpy(op.deps, deps, dep_count * sizeof(*op.deps));
		op.dep_count = dep_count;
	}
	for (i = 0; i < plan->arg_count; i++)
		op.bos[i] = accel_bo_ref(bos[i]);
	op.plan = accel_plan_ref(plan);
	if (plan->task_count)
		relocate_all(job->tasks + job->task_count, plan, addrs,
			     op.workspace ? op.workspace->addr : 0);
	if (op.workspace)
		job->workspace = op.workspace;
	job->task_count += plan->task_count;
	job->engines |= 1u << plan->info.engine;
	job->ops[job->op_count] = op;
	if (index)
		*index = job->op_count;
	job->op_count++;
	return 0;

err_bos:
	free(op.bos);
err_nomem:
	accel_bo_unref(op.workspace);
	return ctx_fail(ctx, -ENOMEM, NULL, "out of memory");
}

int accel_job_add(struct accel_job *job, struct accel_plan *plan,
		  const struct accel_binding *bindings, uint32_t count,
		  const uint32_t *deps, uint32_t dep_count, uint32_t *index)
{
	const struct job_bindings bound = { bindings, count, NULL };

	return job_add(job, plan, &bound, deps, dep_count, index);
}
