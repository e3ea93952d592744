// SPDX-License-Identifier: MIT
/*
 * All at once: plan, bind, submit and wait.
 */
#include <errno.h>

#include "libaccel/core/objects.h"
#include "planner.h"

/* Why a job failed, in the context's record. */
static int record_outcome(struct accel_ctx *ctx, struct accel_fence *fence, int ret)
{
	struct accel_fence_info info = { .size = sizeof(info) };
	struct accel_error e = ACCEL_ERROR_INIT;

	if (accel_fence_get_info(fence, &info))
		return ret;
	bad(&e, ret, "", "", "%s", info.text[0] ? info.text : "the job failed");
	e.engine = info.engine;
	e.op_index = info.op_index;
	e.addr = info.addr;
	return ctx_set_error(ctx, &e);
}

/**
 * job_run - submit a job and wait for it
 * @job: job
 *
 * Return: 0, or what the step that failed gave; the context's record has it.
 */
int job_run(struct accel_job *job)
{
	struct accel_queue_opts opts = ACCEL_QUEUE_OPTS_INIT;
	struct accel_ctx *ctx = job->ctx;
	struct accel_fence *fence;
	struct accel_queue *queue;
	int ret;

	if (!job->op_count)
		return 0;
	if (!(job->engines & (job->engines - 1)))
		opts.engine = (uint32_t)__builtin_ctz(job->engines);
	ret = accel_queue_create(ctx, &opts, &queue);
	if (ret)
		return ret;
	ret = accel_queue_submit(queue, job, NULL, &fence);
	if (ret)
		goto out_queue;
	ret = accel_fence_wait(fence, -1);
	if (ret)
		ret = record_outcome(ctx, fence, ret);
	accel_fence_unref(fence);
out_queue:
	accel_queue_destroy(queue);
	return ret;
}

/**
 * plan_run - run a plan once and wait for it
 * @plan: plan
 * @bound: its bindings
 *
 * Return: as job_run().
 */
int plan_run(struct accel_plan *plan, const struct job_bindings *bound)
{
	struct accel_job *job;
	int ret;

	ret = accel_job_create(plan->ctx, NULL, &job);
	if (ret)
		return ret;
	ret = job_add(job, plan, bound, NULL, 0, NULL);
	if (!ret)
		ret = job_run(job);
	accel_job_destroy(job);
	return ret;
}

/* Addresses decide about alignment, and every operand needs a buffer. */
static int look_at_buffers(struct request *req, struct accel_error *e)
{
	uint32_t s, i;
	int ret;

	for (i = 0; req->parts && i < req->parts->count; i++) {
		ret = look_at_buffers(&req->parts->part[i].req, e);
		if (ret)
			return ret;
	}
	for (s = 0; s < REQUEST_SLOTS; s++) {
		struct operand *t = &req->t[s];

		if (!(req->slots & (1u << s)) || t->own)
			continue;
		if (!t->from->bo)
			return bad(e, -EINVAL, t->name, "bo",
				   "the tensor has no buffer");
		if (t->quant.scheme >= ACCEL_QUANT_CHANNEL &&
		    !t->from->quant.scales)
			return bad(e, -EINVAL, t->name, "quant.scales",
				   "the scales have no buffer");
		t->addr = t->from->bo->addr + t->from->offset;
	}
	return 0;
}

/* The path of the caller's tensor that is bound by a number. */
static const char *path_of(const struct request *req, uint32_t arg)
{
	uint32_t i, s;

	for (s = 0; !req->parts && s < REQUEST_SLOTS; s++)
		if ((req->slots & (1u << s)) && req->t[s].arg == arg)
			return req->t[s].name;
	for (i = 0; req->parts && i < req->parts->count; i++) {
		const struct part *part = &req->parts->part[i];

		for (s = 0; s < REQUEST_SLOTS; s++)
			if ((part->req.slots & (1u << s)) && part->arg[s] == arg)
				return part->req.t[s].name;
	}
	return accel_op_name(req->op);
}

/* The caller's tensor that is bound by a number. */
static const struct accel_tensor *tensor_of(const struct request *req, uint32_t arg)
{
	uint32_t s;

	if (req->parts)
		return req->parts->tensor[arg];
	for (s = 0; s < REQUEST_SLOTS; s++)
		if ((req->slots & (1u << s)) && req->t[s].arg == arg)
			return req->t[s].from;
	return NULL;
}

/**
 * plan_bindings - the buffers of the tensors that a plan was made of
 * @plan: plan
 * @req: request that it was made of
 * @bindings: out: room for PLAN_MAX_ARGS
 *
 * Return: their number.
 */
uint32_t plan_bindings(const struct accel_plan *plan, const struct request *req,
		       struct accel_binding *bindings)
{
	uint32_t i;

	for (i = 0; i < plan->arg_count; i++) {
		uint32_t arg = plan->args[i].arg;
		const struct accel_tensor *t = tensor_of(req, arg & ~ARG_TABLES);

		bindings[i] = (struct accel_binding) { .arg = arg };
		if (arg & ACCEL_ARG_SCALES) {
			bindings[i].bo = t->quant.scales;
			bindings[i].offset = t->quant.scales_offset;
		} else if (arg & ACCEL_ARG_ZEROS) {
			bindings[i].bo = t->quant.zeros;
			bindings[i].offset = t->quant.zeros_offset;
		} else {
			bindings[i].bo = t->bo;
			bindings[i].offset = t->offset;
		}
	}
	return plan->arg_count;
}

/**
 * struct called - a call of an operation with its buffers
 * @plan: plan
 * @bound: @bindings
 * @bindings: its bindings
 * @paths: their names in the descriptor
 */
struct called {
	struct accel_plan *plan;
	struct job_bindings bound;
	struct accel_binding bindings[PLAN_MAX_ARGS];
	const char *paths[PLAN_MAX_ARGS];
};

/* The request stays until the names are not needed any more. */
static int call_init(struct accel_ctx *ctx, struct request *req, struct called *call,
		     struct accel_error *e)
{
	uint32_t i;
	int ret;

	ret = look_at_buffers(req, e);
	if (!ret)
		ret = plan_place(ctx, req, &call->plan, e);
	if (ret)
		return ret;
	call->bound = (struct job_bindings) { call->bindings, 0, call->paths };
	call->bound.count = plan_bindings(call->plan, req, call->bindings);
	for (i = 0; i < call->bound.count; i++)
		call->paths[i] = path_of(req, call->bindings[i].arg & ~ARG_TABLES);
	return 0;
}

/* Plan it, add it to @job, and run that if it is this call's own: NULL. */
static int add_or_run(struct accel_ctx *ctx, struct accel_job *job, const struct accel_desc *desc)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_job *own = NULL;
	struct called call;
	struct request req;
	union any_desc copy;
	int ret;

	ret = request_create(desc, &copy, &req, &e);
	if (!ret)
		ret = call_init(ctx, &req, &call, &e);
	if (ret) {
		request_release(&req);
		return e.code ? ctx_set_error(ctx, &e) : ret;
	}
	if (!job)
		ret = accel_job_create(ctx, NULL, &own);
	if (!ret)
		ret = job_add(job ? job : own, call.plan, &call.bound, NULL, 0, NULL);
	request_release(&req);
	accel_plan_unref(call.plan);
	if (!ret && own)
		ret = job_run(own);
	accel_job_destroy(own);
	return ret;
}

/**
 * job_add_desc - add an operation to a job by its descriptor
 * @job: job
 * @desc: descriptor whose tensors have their buffers
 *
 * Return: 0, or what went wrong, which the context's record has, by the descriptor's names.
 */
int job_add_desc(struct accel_job *job, const struct accel_desc *desc)
{
	return add_or_run(job->ctx, job, desc);
}

int accel_run(struct accel_ctx *ctx, const struct accel_desc *desc)
{
	return add_or_run(ctx, NULL, desc);
}
