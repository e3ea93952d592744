// SPDX-License-Identifier: MIT
/*
 * Where the arguments of an operation are: when it is added to a job, and when it is to
 * be repeated elsewhere.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "libaccel/core/fpmode.h"
#include "libaccel/backend/backend.h"

/* Parts of a workspace are where they would be in memory of its own. */
#define WORKSPACE_ALIGN	64

static const char *arg_name(const struct accel_plan *plan, uint32_t arg, char *buf,
			    size_t size)
{
	static const char * const common[ACCEL_ARG_COUNT] = {
		"d", "a", "b", "c", "bias", "scale", "residual"
	};
	const char * const *names = plan->arg_names ? plan->arg_names : common;
	const uint32_t table = arg & (ACCEL_ARG_SCALES | ACCEL_ARG_ZEROS);
	const uint32_t base = arg & ~table;

	if (arg == ACCEL_ARG_WORKSPACE)
		return "the workspace";
	if (arg == ACCEL_ARG_LENGTH)
		return "the length";
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
	else if (bound->b[i].arg == ACCEL_ARG_LENGTH)
		snprintf(field, sizeof(field), "%s.length%s", bound->paths[i],
			 strcmp(member, "offset") != 0 ? "" : "_offset");
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

	if (!bo_holds(b->bo, b->offset, arg->lo, arg->hi)) {
		snprintf(text, sizeof(text), BO_TOO_SMALL,
			 arg_name(plan, arg->arg, name, sizeof(name)), arg->lo, arg->hi,
			 b->offset, b->bo->size);
		return fail_binding(ctx, bound, i, "offset", text);
	}
	if (arg->align > 1 && (b->bo->addr + b->offset) % arg->align) {
		snprintf(text, sizeof(text),
			 "%s needs an address that is a multiple of %u",
			 arg_name(plan, arg->arg, name, sizeof(name)), arg->align);
		return fail_binding(ctx, bound, i, "offset", text);
	}
	if (arg->write && b->bo->flags & ACCEL_BO_READONLY) {
		snprintf(text, sizeof(text),
			 "%s is written, and the buffer is read-only",
			 arg_name(plan, arg->arg, name, sizeof(name)));
		return fail_binding(ctx, bound, i, "bo", text);
	}
	return 0;
}

/* The argument of a binding, by index; that behind the last is the workspace. */
static int match_binding(struct accel_ctx *ctx, const struct job_bindings *bound, uint32_t i,
			 const struct accel_plan *plan, uint32_t *index)
{
	const struct plan_arg workspace = {
		.arg = ACCEL_ARG_WORKSPACE, .align = WORKSPACE_ALIGN,
		.hi = (int64_t)plan->info.workspace_bytes, .write = true,
	};
	const struct accel_binding *b = &bound->b[i];
	char text[96], name[32];
	uint32_t a;

	for (a = 0; a < plan->arg_count; a++)
		if (plan->args[a].arg == b->arg)
			break;
	if (a == plan->arg_count &&
	    (b->arg != ACCEL_ARG_WORKSPACE || !plan->info.workspace_bytes)) {
		snprintf(text, sizeof(text), "the plan has no argument %s",
			 arg_name(plan, b->arg, name, sizeof(name)));
		return fail_binding(ctx, bound, i, "arg", text);
	}
	if (!b->bo)
		return fail_binding(ctx, bound, i, "bo", "NULL");
	if (b->bo->ctx != ctx)
		return fail_binding(ctx, bound, i, "bo", "belongs to another context");
	if (b->bo->kind == BO_ABSENT)
		return fail_binding(ctx, bound, i, "bo", "its contents are not there");
	*index = a;
	return check_extent(ctx, bound, i, plan,
			    a < plan->arg_count ? &plan->args[a] : &workspace);
}

/* The binding of an operation's argument; else the first of the operation's. */
static uint32_t find_binding(const struct job_bindings *bound, uint32_t op, uint32_t arg)
{
	uint32_t i, first = bound->count;

	for (i = 0; i < bound->count; i++) {
		if (bound->b[i].op != op)
			continue;
		if (bound->b[i].arg == arg)
			return i;
		if (first == bound->count)
			first = i;
	}
	return first;
}

/* An argument of the plan that lies where its workspace does, -1: none */
static int over_workspace(const struct accel_plan *plan, const struct job_place *at)
{
	const uint64_t lo = at->addrs[plan->arg_count], hi = lo + plan->info.workspace_bytes;
	uint32_t a;

	for (a = 0; a < plan->arg_count; a++) {
		const struct plan_arg *arg = &plan->args[a];

		if (arg->lo < arg->hi && at->addrs[a] + (uint64_t)arg->lo < hi &&
		    lo < at->addrs[a] + (uint64_t)arg->hi)
			return (int)a;
	}
	return -1;
}

/* A result that lies over an input, other than in place, would fault. */
static int check_overlap(struct accel_ctx *ctx, const struct accel_plan *plan,
			 const struct job_bindings *bound, uint32_t op,
			 const struct job_place *at)
{
	const uint64_t workspace = at->addrs[plan->arg_count];
	const char *what = "d";
	char text[96], name[32];
	int a;

	a = plan->parts ? plan_parts_overlap(plan, at->addrs, workspace) :
			  plan_find_overlap(plan, at->addrs);
	if (a < 0 && at->bos[plan->arg_count]) {
		what = "the workspace";
		a = over_workspace(plan, at);
	}
	if (a < 0)
		return 0;
	snprintf(text, sizeof(text), "%s would be written over %s", what,
		 arg_name(plan, plan->args[a].arg, name, sizeof(name)));
	return fail_binding(ctx, bound, find_binding(bound, op, plan->args[a].arg), "offset",
			    text);
}

/* An engine may want more of an argument's pieces than of elements. */
static int check_pieces(struct accel_ctx *ctx, const struct accel_plan *plan,
			const struct job_bindings *bound, uint32_t op,
			const struct job_place *place)
{
	uint64_t at[PLAN_MAX_ARGS];
	char text[96], name[32];
	uint32_t i, a, which;

	for (i = 0; i < plan->part_count; i++) {
		const struct plan_part *part = &plan->parts[i];

		plan_part_addrs(part, place->addrs, place->addrs[plan->arg_count], at);
		for (a = 0; a < part->plan->arg_count; a++) {
			const uint32_t align = part->plan->args[a].align, arg = part->arg[a];

			if (align < 2 || at[a] % align == 0)
				continue;
			which = arg == PLAN_WORKSPACE ? ACCEL_ARG_WORKSPACE : plan->args[arg].arg;
			snprintf(text, sizeof(text),
				 "a piece of %s needs an address that is a multiple of %u",
				 arg_name(plan, which, name, sizeof(name)), align);
			return fail_binding(ctx, bound, find_binding(bound, op, which), "offset",
					    text);
		}
	}
	return 0;
}

/**
 * bind_match - all arguments of a plan
 * @ctx: context of the job
 * @plan: plan
 * @bound: its bindings
 * @at: out: room for PLAN_MAX_ARGS + 1: arguments, and behind them the workspace, or NULL
 *
 * Return: 0, -EINVAL.
 */
int bind_match(struct accel_ctx *ctx, const struct accel_plan *plan,
	       const struct job_bindings *bound, const struct job_place *at)
{
	char text[96], name[32];
	uint32_t i, a = 0;
	int ret;

	memset(at->bos, 0, (plan->arg_count + 1) * sizeof(*at->bos));
	memset(at->addrs, 0, (plan->arg_count + 1) * sizeof(*at->addrs));
	for (i = 0; i < bound->count; i++) {
		if (bound->b[i].op)
			return fail_binding(ctx, bound, i, "op", "must be 0");
		ret = match_binding(ctx, bound, i, plan, &a);
		if (ret)
			return ret;
		if (at->bos[a]) {
			snprintf(text, sizeof(text), "%s is bound twice",
				 arg_name(plan, bound->b[i].arg, name, sizeof(name)));
			return fail_binding(ctx, bound, i, "arg", text);
		}
		at->bos[a] = bound->b[i].bo;
		at->addrs[a] = bound->b[i].bo->addr + bound->b[i].offset;
	}
	for (a = 0; a < plan->arg_count; a++)
		if (!at->bos[a])
			return ctx_fail(ctx, -EINVAL, "bindings", "%s is not bound",
					arg_name(plan, plan->args[a].arg, name, sizeof(name)));
	/* Else the workspace is new memory, or that of this job: it is over nothing. */
	ret = check_pieces(ctx, plan, bound, 0, at);
	if (ret)
		return ret;
	return check_overlap(ctx, plan, bound, 0, at);
}

/* --- addresses in tasks -------------------------------------------------------- */

/**
 * plan_reloc_addr - the address that goes where a relocation says
 * @plan: plan
 * @r: its relocation
 * @addrs: of the plan's arguments
 *
 * Return: device address.
 */
uint64_t plan_reloc_addr(const struct accel_plan *plan, const struct plan_reloc *r,
			 const uint64_t *addrs)
{
	return (r->arg != PLAN_NO_ARG ? addrs[r->arg] : plan->packed ? plan->packed->addr :
		PLAN_UNMADE) + (uint64_t)r->addend;
}

static void put_addr(struct uma_task *task, const struct plan_reloc *r, uint64_t addr)
{
	struct uma_operand *op = &task->op[r->slot];

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
	case PLAN_SHAPE_ADDR:
		task->shape_addr = htole64(addr);
		break;
	}
}

/* Addresses into the tasks of a plan. */
static void readdress(const struct accel_plan *plan, uint32_t first, uint32_t count,
		      const uint64_t *addrs, struct uma_task *tasks)
{
	uint32_t i;

	for (i = 0; i < plan->reloc_count; i++) {
		const struct plan_reloc *r = &plan->relocs[i];

		if (r->task >= first && r->task - first < count)
			put_addr(&tasks[r->task - first], r, plan_reloc_addr(plan, r, addrs));
	}
}

/**
 * plan_relocate - tasks of a plan, with addresses
 * @plan: plan that has tasks of its own
 * @first: the first of them
 * @count: how many
 * @addrs: of its arguments
 * @tasks: out: room for them
 */
void plan_relocate(const struct accel_plan *plan, uint32_t first, uint32_t count,
		   const uint64_t *addrs, struct uma_task *tasks)
{
	memcpy(tasks, plan->tasks + first, count * sizeof(*tasks));
	readdress(plan, first, count, addrs, tasks);
}

/* Go through the plans that have tasks, those of a plan's parts one after the other. */
static void each_plan(const struct job_op *op, const struct job_place *at, struct uma_task *tasks,
		      void (*fn)(const struct accel_plan *, uint32_t, uint32_t, const uint64_t *,
				 struct uma_task *))
{
	const struct accel_plan *plan = op->plan;
	uint64_t addrs[PLAN_MAX_ARGS];
	uint32_t i;

	tasks += op->first_task;
	if (!plan->parts && plan->task_count)
		fn(plan, 0, plan->task_count, at->addrs, tasks);
	for (i = 0; plan->parts && i < plan->part_count; i++) {
		plan_part_addrs(&plan->parts[i], at->addrs, at->addrs[plan->arg_count], addrs);
		fn(plan->parts[i].plan, 0, plan->parts[i].plan->task_count, addrs, tasks);
		tasks += plan->parts[i].plan->task_count;
	}
}

/**
 * bind_tasks - the tasks of an operation
 * @op: operation, bound
 * @tasks: out: those of the job
 */
void bind_tasks(const struct job_op *op, struct uma_task *tasks)
{
	each_plan(op, &op->bound, tasks, plan_relocate);
}

/**
 * rebind_tasks - write new addresses into the tasks of an operation
 * @op: operation, whose @next says where its arguments are to be
 * @tasks: those of the job
 */
void rebind_tasks(const struct job_op *op, struct uma_task *tasks)
{
	each_plan(op, &op->next, tasks, readdress);
}

/* --- the same elsewhere ------------------------------------------------------------ */

/* Note where an argument is to be; the operation joins the list of those that move. */
static int move_one(struct accel_job *job, const struct job_bindings *bound, uint32_t i)
{
	const struct accel_binding *b = &bound->b[i];
	struct job_op *op;
	uint32_t a = 0;
	int ret;

	if (b->op >= job->op_count)
		return fail_binding(job->ctx, bound, i, "op", "the job has no such operation");
	op = &job->ops[b->op];
	ret = match_binding(job->ctx, bound, i, op->plan, &a);
	if (ret)
		return ret;
	if (!op->moves) {
		op->moves = true;
		op->next_move = job->first_move;
		job->first_move = b->op;
	}
	op->next.bos[a] = b->bo;
	op->next.addrs[a] = b->bo->addr + b->offset;
	return 0;
}

/* An operation has another workspace: what the job made for it may be gone with this. */
static void leave_workspace(struct accel_job *job, struct job_op *op)
{
	if (job->workspace == op->bound.bos[op->plan->arg_count])
		job->workspace = NULL;
	op->own_workspace = false;
}

/* Empty the list: operations are where they were to be if it is @done, else where they were. */
static void end_moves(struct accel_job *job, bool done)
{
	uint32_t i, a, n;

	for (i = job->first_move; i != JOB_NO_OP; i = job->ops[i].next_move) {
		struct job_op *op = &job->ops[i];

		n = op->plan->arg_count + 1;
		for (a = 0; done && a < n; a++) {
			if (op->next.bos[a] == op->bound.bos[a])
				continue;
			if (a == n - 1)
				leave_workspace(job, op);
			accel_bo_ref(op->next.bos[a]);
			accel_bo_unref(op->bound.bos[a]);
			op->bound.bos[a] = op->next.bos[a];
		}
		memcpy(done ? op->bound.addrs : op->next.addrs,
		       done ? op->next.addrs : op->bound.addrs, n * sizeof(*op->next.addrs));
		if (!done)
			memcpy(op->next.bos, op->bound.bos, n * sizeof(*op->next.bos));
		op->moves = false;
	}
	job->first_move = JOB_NO_OP;
}

static int move_all(struct accel_job *job, const struct job_bindings *bound)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < bound->count && !ret; i++)
		ret = move_one(job, bound, i);
	for (i = job->first_move; i != JOB_NO_OP && !ret; i = job->ops[i].next_move) {
		const struct job_op *op = &job->ops[i];

		ret = check_pieces(job->ctx, op->plan, bound, i, &op->next);
		if (!ret)
			ret = check_overlap(job->ctx, op->plan, bound, i, &op->next);
	}
	if (ret)
		return ret;
	if (atomic_load_explicit(&job->prepared, memory_order_acquire))
		return job->ctx->dev->ops->job_rebind(job);
	for (i = job->first_move; i != JOB_NO_OP; i = job->ops[i].next_move)
		rebind_tasks(&job->ops[i], job->tasks);
	return 0;
}

int accel_job_rebind(struct accel_job *job, const struct accel_binding *bindings, uint32_t count)
{
	FP_MODE_SCOPE();
	const struct job_bindings bound = { bindings, count, NULL };
	unsigned int none = 0;
	int ret;

	if (!job)
		return -EINVAL;
	if (count && !bindings)
		return ctx_fail(job->ctx, -EINVAL, "bindings", "NULL");
	pthread_mutex_lock(&job->lock);
	/* Pairs with job_ended(): what runs have read of it, they have read. */
	if (!atomic_compare_exchange_strong_explicit(&job->flights, &none, JOB_MOVES,
						     memory_order_acquire,
						     memory_order_relaxed)) {
		ret = ctx_fail(job->ctx, -EBUSY, "job", "a run of it has not ended");
	} else {
		ret = move_all(job, &bound);
		end_moves(job, !ret);
		atomic_fetch_sub_explicit(&job->flights, JOB_MOVES, memory_order_release);
	}
	pthread_mutex_unlock(&job->lock);
	return ret;
}
