// SPDX-License-Identifier: MIT
/* Plan, bind, submit and wait in one call. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "libaccel/core/objects.h"
#include "planner.h"

/* Record the reason for a job's failure in the context. */
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
 * Return: 0, or the error of the step that failed, which the context has recorded.
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

/* Every operand needs a buffer, whose address decides about alignment. */
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
		if (t->quant.zeros && !t->from->quant.zeros)
			return bad(e, -EINVAL, t->name, "quant.zeros",
				   "the minima have no buffer");
		t->addr = t->from->bo->addr + t->from->offset;
	}
	if (req->length && !req->length->length)
		return bad(e, -EINVAL, req->length_name, "length", "the length has no buffer");
	return 0;
}

/* The caller's tensor of an argument. */
static const struct accel_tensor *tensor_of(const struct request *req, uint32_t arg)
{
	uint32_t s;

	if (arg == ACCEL_ARG_LENGTH)
		return req->length;
	if (req->parts)
		return req->parts->tensor[arg];
	for (s = 0; s < REQUEST_SLOTS; s++)
		if ((req->slots & (1u << s)) && req->t[s].arg == arg)
			return req->t[s].from;
	return NULL;
}

/* The buffer of an argument: that of its tensor, of a table, or of the length. */
static struct accel_binding bind_tensor(uint32_t arg, const struct accel_tensor *t)
{
	if (arg & ACCEL_ARG_SCALES)
		return (struct accel_binding) { arg, 0, t->quant.scales, t->quant.scales_offset };
	if (arg & ACCEL_ARG_ZEROS)
		return (struct accel_binding) { arg, 0, t->quant.zeros, t->quant.zeros_offset };
	if (arg == ACCEL_ARG_LENGTH)
		return (struct accel_binding) { arg, 0, t->length, t->length_offset };
	return (struct accel_binding) { arg, 0, t->bo, t->offset };
}

/**
 * plan_bindings - the buffers of the tensors of a request
 * @plan: plan
 * @req: request that it was created from
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

		bindings[i] = bind_tensor(arg, t);
	}
	return plan->arg_count;
}

/* --- names in the descriptor ------------------------------------------------------ */

static void note_tensor(struct accel_plan *plan, const struct request *req,
			const struct accel_tensor *t, uint32_t arg, const char *path)
{
	const uint32_t at = (uint32_t)((const char *)t - (const char *)req->desc);
	uint32_t i;

	/* The old contents of D have the tensor of D. */
	for (i = 0; i < plan->tensor_count && plan->tensors[i].at != at; i++)
		;
	if (i < plan->tensor_count || !t->rank)
		return;
	plan->tensors[plan->tensor_count++] = (struct plan_tensor) { arg, at, path };
}

/**
 * plan_note_tensors - record where the tensors of a plan are in its descriptor
 * @plan: plan
 * @req: request that it was created from
 */
void plan_note_tensors(struct accel_plan *plan, const struct request *req)
{
	uint32_t i;

	for (i = 0; !req->parts && i < REQUEST_SLOTS; i++)
		if (req->slots & (1u << i))
			note_tensor(plan, req, req->t[i].from, req->t[i].arg, req->t[i].name);
	for (i = 0; req->parts && i < ACCEL_ARG_COUNT; i++)
		if (req->parts->tensor[i])
			note_tensor(plan, req, req->parts->tensor[i], i, request_path(req, i));
	if (req->unread)
		note_tensor(plan, req, req->unread, ACCEL_ARG_COUNT, "gemm.c");
}

static struct accel_tensor *tensor_at(union any_desc *desc, const struct plan_tensor *t)
{
	return (struct accel_tensor *)((char *)desc + t->at);
}

/* The tensor of an argument in @desc, or the one that has the buffer of the length. */
static const struct plan_tensor *plan_tensor(const struct accel_plan *plan, uint32_t arg,
					     union any_desc *desc)
{
	const struct plan_tensor *t, *found = NULL;
	uint32_t i;

	for (i = 0; i < plan->tensor_count; i++) {
		t = &plan->tensors[i];
		if (arg != ACCEL_ARG_LENGTH && t->arg == (arg & ~ARG_TABLES))
			return t;
		if (arg == ACCEL_ARG_LENGTH && tensor_at(desc, t)->dynamic &&
		    (!found || (!tensor_at(desc, found)->length && tensor_at(desc, t)->length)))
			found = t;
	}
	return found;
}

/* All lengths must be the same, since a task has only one address for them. */
static int check_lengths(const struct accel_plan *plan, union any_desc *desc,
			 struct accel_error *e)
{
	const struct plan_tensor *first = plan_tensor(plan, ACCEL_ARG_LENGTH, desc);
	uint32_t i;

	for (i = 0; first && i < plan->tensor_count; i++) {
		const struct accel_tensor *t = tensor_at(desc, &plan->tensors[i]);

		if (t->length && (t->length != tensor_at(desc, first)->length ||
				  t->length_offset != tensor_at(desc, first)->length_offset))
			return bad(e, -EINVAL, plan->tensors[i].path, "length",
				   "is another number than that of %s: an operation reads one",
				   first->path);
	}
	return 0;
}

/* Name the difference between two tensors. */
static int other_tensor(const struct accel_tensor *t, const struct accel_tensor *want,
			const char *path, struct accel_error *e)
{
	static const char text[] = "is another than the plan was made for";
	uint32_t i;

	if (t->dtype != want->dtype)
		return bad(e, -EINVAL, path, "dtype", "%s", text);
	if (t->rank != want->rank)
		return bad(e, -EINVAL, path, "rank", "%s", text);
	if (t->flags != want->flags)
		return bad(e, -EINVAL, path, "flags", "%s", text);
	if (t->dynamic != want->dynamic)
		return bad(e, -EINVAL, path, "dynamic", "%s", text);
	for (i = 0; i < ACCEL_MAX_RANK; i++)
		if (t->dims[i] != want->dims[i])
			return bad_at(e, -EINVAL, path, "dims", i, "%s", text);
	for (i = 0; i < ACCEL_MAX_RANK; i++)
		if (t->strides[i] != want->strides[i])
			return bad_at(e, -EINVAL, path, "strides", i, "%s", text);
	return bad(e, -EINVAL, path, "quant", "%s", text);
}

/* Strides that were left to the plan may be unset again, or be those that the plan has chosen. */
static void take_layout(struct accel_tensor *t, const struct accel_tensor *want)
{
	if (!(want->flags & ACCEL_TENSOR_ANY))
		return;
	if (tensor_open(t) && t->rank == want->rank)
		memcpy(t->strides, want->strides, sizeof(t->strides));
	t->flags |= t->flags & (ACCEL_TENSOR_ANY | ACCEL_TENSOR_STRIDES) ? want->flags : 0;
}

/*
 * Except for the buffers, is it the descriptor that the plan was created from? If so it need
 * not be checked again.
 */
static int check_desc(const struct accel_plan *plan, const union any_desc *desc,
		      struct accel_error *e)
{
	const size_t size = op_class(plan->desc->hdr.op)->size;
	union any_desc plain = *desc;
	uint32_t i;

	plain.hdr.size = plan->desc->hdr.size;
	for (i = 0; plain.hdr.op == plan->desc->hdr.op && i < plan->tensor_count; i++) {
		const struct accel_tensor *want = tensor_at(plan->desc, &plan->tensors[i]);
		struct accel_tensor *t = tensor_at(&plain, &plan->tensors[i]);

		take_layout(t, want);
		t->bo = NULL;
		t->offset = want->offset;
		t->quant.scales = NULL;
		t->quant.scales_offset = want->quant.scales_offset;
		if (!t->quant.zeros == !want->quant.zeros)
			t->quant.zeros = want->quant.zeros;
		t->quant.zeros_offset = want->quant.zeros_offset;
		t->length = NULL;
		t->length_offset = 0;
		if (memcmp(t, want, sizeof(*t)) != 0)
			return other_tensor(t, want, plan->tensors[i].path, e);
	}
	if (memcmp(&plain, plan->desc, size) != 0)
		return bad(e, -EINVAL, "desc", "", "is another than the plan was made for");
	return 0;
}

/* Bind the buffers of a descriptor to a plan that was created from an equal one. */
static int add_by_name(struct accel_job *job, struct accel_plan *plan,
		       const struct accel_desc *desc, const uint32_t *deps, uint32_t dep_count,
		       uint32_t *index)
{
	struct accel_binding bindings[PLAN_MAX_ARGS];
	const char *paths[PLAN_MAX_ARGS];
	struct job_bindings bound = { bindings, plan->arg_count, paths };
	struct accel_error e = ACCEL_ERROR_INIT;
	const struct plan_tensor *t;
	union any_desc copy;
	uint32_t i;
	int ret;

	ret = desc_in(desc, &copy, &e);
	if (!ret)
		ret = check_desc(plan, &copy, &e);
	if (!ret)
		ret = check_lengths(plan, &copy, &e);
	if (ret)
		return ctx_set_error(job->ctx, &e);
	for (i = 0; i < plan->arg_count; i++) {
		t = plan_tensor(plan, plan->args[i].arg, &copy);
		bindings[i] = bind_tensor(plan->args[i].arg, tensor_at(&copy, t));
		paths[i] = t->path;
	}
	return job_add(job, plan, &bound, deps, dep_count, index);
}

int accel_plan_get_arg(struct accel_plan *plan, uint32_t index, struct accel_arg_info *info)
{
	struct accel_arg_info all = { .size = sizeof(all) };
	const struct plan_tensor *t;
	const struct plan_arg *arg;

	if (!plan || !info)
		return -EINVAL;
	if (index >= plan->arg_count)
		return -ENOENT;
	arg = &plan->args[index];
	t = plan_tensor(plan, arg->arg, plan->desc);
	all.arg = arg->arg;
	all.flags = arg->write ? ACCEL_ARG_WRITTEN : 0;
	all.align = arg->align;
	all.before = arg->lo < 0 ? -(uint64_t)arg->lo : 0;
	all.bytes = arg->hi > 0 ? (uint64_t)arg->hi : 0;
	all.field_offset = t->at;
	all.tensor = *tensor_at(plan->desc, t);
	all.tensor.bo = NULL;
	all.tensor.offset = 0;
	all.tensor.quant.zeros = NULL;
	snprintf(all.name, sizeof(all.name), "%s%s", t->path,
		 arg->arg == ACCEL_ARG_LENGTH ? ".length" :
		 arg->arg & ACCEL_ARG_SCALES ? ".quant.scales" :
		 arg->arg & ACCEL_ARG_ZEROS ? ".quant.zeros" : "");
	return struct_out(info, &all, sizeof(all), sizeof(all));
}

/* --- in one call ------------------------------------------------------------------- */

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

/* The request must stay valid until the names are no longer needed. */
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
		call->paths[i] = request_path(req, call->bindings[i].arg & ~ARG_TABLES);
	return 0;
}

/* Plan an operation and add it to @job, or, with NULL, run it in a job of its own. */
static int add_or_run(struct accel_ctx *ctx, struct accel_job *job, const struct accel_desc *desc,
		      const uint32_t *deps, uint32_t dep_count, uint32_t *index)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_job *own = NULL;
	struct called call;
	struct request req;
	union any_desc copy;
	int ret;

	ret = request_create(desc, &copy, &req, &e);
	req.reproducible = ctx->reproducible;
	if (!ret)
		ret = call_init(ctx, &req, &call, &e);
	if (ret) {
		request_release(&req);
		return e.code ? ctx_set_error(ctx, &e) : ret;
	}
	if (!job)
		ret = accel_job_create(ctx, NULL, &own);
	if (!ret)
		ret = job_add(job ? job : own, call.plan, &call.bound, deps, dep_count, index);
	request_release(&req);
	accel_plan_unref(call.plan);
	if (!ret && own)
		ret = job_run(own);
	accel_job_destroy(own);
	return ret;
}

int accel_job_add_desc(struct accel_job *job, struct accel_plan *plan,
		       const struct accel_desc *desc, const uint32_t *deps, uint32_t dep_count,
		       uint32_t *index)
{
	FP_MODE_SCOPE();

	if (!job)
		return -EINVAL;
	if (plan)
		return add_by_name(job, plan, desc, deps, dep_count, index);
	return add_or_run(job->ctx, job, desc, deps, dep_count, index);
}

int accel_run(struct accel_ctx *ctx, const struct accel_desc *desc)
{
	FP_MODE_SCOPE();

	if (!ctx)
		return -EINVAL;
	return add_or_run(ctx, NULL, desc, NULL, 0, NULL);
}

/* --- functions with tensors as arguments ---------------------------------------------- */

/**
 * struct given - a tensor of a call
 * @name: its name in the call
 * @tensor: the caller's
 * @at: bytes from the start of the descriptor to its place
 */
struct given {
	const char *name;
	const struct accel_tensor *tensor;
	size_t at;
};

#define GIVEN(desc, field)	{ #field, field, offsetof(struct accel_##desc##_desc, field) }

/*
 * Run @desc with the tensors of a call; @how has the rest of the descriptor, NULL: @desc has it
 * already.
 */
static int run_given(struct accel_ctx *ctx, union any_desc *desc, const struct accel_desc *how,
		     const struct given *given, uint32_t count)
{
	const uint32_t op = desc->hdr.op;
	struct accel_error e = ACCEL_ERROR_INIT;
	uint32_t i;

	if (!ctx)
		return -EINVAL;
	if (how && desc_in(how, desc, &e))
		return ctx_set_error(ctx, &e);
	if (desc->hdr.op != op)
		return ctx_fail(ctx, -EINVAL, "how", "is a descriptor of %s, not of %s",
				accel_op_name(desc->hdr.op), accel_op_name(op));
	for (i = 0; i < count; i++) {
		if (!given[i].tensor)
			return ctx_fail(ctx, -EINVAL, given[i].name, "NULL");
		memcpy((char *)desc + given[i].at, given[i].tensor, sizeof(*given[i].tensor));
	}
	return accel_run(ctx, &desc->hdr);
}

#define RUN_GIVEN(ctx, desc, how, given) \
	run_given(ctx, desc, (how) ? &(how)->hdr : NULL, given, sizeof(given) / sizeof((given)[0]))

int accel_gemm(struct accel_ctx *ctx, const struct accel_tensor *a, const struct accel_tensor *b,
	       const struct accel_tensor *d, const struct accel_epilogue *epilogue)
{
	const struct given given[] = { GIVEN(gemm, a), GIVEN(gemm, b), GIVEN(gemm, d) };
	union any_desc desc = { .gemm = ACCEL_GEMM_DESC_INIT };

	if (epilogue)
		desc.gemm.epilogue = *epilogue;
	return run_given(ctx, &desc, NULL, given, 3);
}

int accel_conv(struct accel_ctx *ctx, const struct accel_tensor *a, const struct accel_tensor *b,
	       const struct accel_tensor *d, const struct accel_conv_desc *how)
{
	const struct given given[] = { GIVEN(conv, a), GIVEN(conv, b), GIVEN(conv, d) };
	union any_desc desc = { .conv = ACCEL_CONV_DESC_INIT };

	return RUN_GIVEN(ctx, &desc, how, given);
}

int accel_attention(struct accel_ctx *ctx, const struct accel_tensor *q,
		    const struct accel_tensor *k, const struct accel_tensor *v,
		    const struct accel_tensor *d, const struct accel_attention_desc *how)
{
	const struct given given[] = {
		GIVEN(attention, q), GIVEN(attention, k), GIVEN(attention, v),
		GIVEN(attention, d),
	};
	union any_desc desc = { .attention = ACCEL_ATTENTION_DESC_INIT };

	return RUN_GIVEN(ctx, &desc, how, given);
}

int accel_norm(struct accel_ctx *ctx, const struct accel_tensor *a, const struct accel_tensor *d,
	       const struct accel_norm_desc *how)
{
	const struct given given[] = { GIVEN(norm, a), GIVEN(norm, d) };
	union any_desc desc = { .norm = ACCEL_NORM_DESC_INIT };

	return RUN_GIVEN(ctx, &desc, how, given);
}

int accel_softmax(struct accel_ctx *ctx, const struct accel_tensor *a,
		  const struct accel_tensor *d, const struct accel_softmax_desc *how)
{
	const struct given given[] = { GIVEN(softmax, a), GIVEN(softmax, d) };
	union any_desc desc = { .softmax = ACCEL_SOFTMAX_DESC_INIT };

	return RUN_GIVEN(ctx, &desc, how, given);
}

int accel_copy(struct accel_ctx *ctx, const struct accel_tensor *a, const struct accel_tensor *d)
{
	const struct given given[] = { GIVEN(copy, a), GIVEN(copy, d) };
	union any_desc desc = { .copy = ACCEL_COPY_DESC_INIT };

	return run_given(ctx, &desc, NULL, given, 2);
}

int accel_unary(struct accel_ctx *ctx, uint32_t func, const struct accel_tensor *a,
		const struct accel_tensor *d)
{
	const struct given given[] = { GIVEN(unary, a), GIVEN(unary, d) };
	union any_desc desc = { .unary = ACCEL_UNARY_DESC_INIT };

	desc.unary.func = func;
	return run_given(ctx, &desc, NULL, given, 2);
}

int accel_binary(struct accel_ctx *ctx, uint32_t func, const struct accel_tensor *a,
		 const struct accel_tensor *b, const struct accel_tensor *d)
{
	const struct given given[] = { GIVEN(binary, a), GIVEN(binary, b), GIVEN(binary, d) };
	union any_desc desc = { .binary = ACCEL_BINARY_DESC_INIT };

	desc.binary.func = func;
	return run_given(ctx, &desc, NULL, given, 3);
}
