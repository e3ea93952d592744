// SPDX-License-Identifier: MIT
/* Creates plans from choices. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "libaccel/backend/backend.h"
#include "libaccel/core/objects.h"
#include "planner.h"
#include "libaccel/tune/tune.h"

/**
 * plan_alloc - create an empty plan
 * @ctx: context; the plan keeps a reference
 * @req: request
 *
 * Return: plan with one reference, NULL if out of memory.
 */
struct accel_plan *plan_alloc(struct accel_ctx *ctx, const struct request *req)
{
	struct accel_plan *plan = calloc(1, sizeof(*plan));

	if (!plan)
		return NULL;
	atomic_init(&plan->refs, 1);
	plan->ctx = ctx_ref(ctx);
	plan->hint.flags = ctx->reproducible ? FAST_HINT_REPRODUCIBLE : 0;
	plan->info.size = sizeof(plan->info);
	plan->info.op = req->op;
	plan->info.macs = req->macs;
	plan->info.read_bytes = request_read_bytes(req);
	plan->info.write_bytes = request_write_bytes(req);
	return plan;
}

/**
 * fill_plan - fill a plan from a choice
 * @plan: empty plan
 * @all: choices; one was chosen
 * @req: request
 * @e: filled on failure, unless the context has the error already: code 0
 *
 * Return: 0, -ENOMEM, or an error of packing.
 */
int fill_plan(struct accel_plan *plan, struct choices *all,
	      const struct request *req, struct accel_error *e)
{
	const struct choice *c = &all->c[all->chosen];
	/* The variant that was placed; the B that the plan holds replaces the original. */
	struct request *form = &all->variants[c->way][c->p.variant];
	struct weights held = { 0 };
	int ret;

	plan->instances = c->instances;
	plan->info.engine = c->engine->info.engine;
	plan->info.estimate_ns = c->p.estimate_ns;
	if (req->pack) {
		ret = weights_prepare(plan->ctx, c, form, &held, e);
		if (ret)
			return ret;
		plan->packed = held.bo;
		if (req->weights)
			plan->weights = accel_weights_ref(req->weights);
		plan->info.packed_bytes = held.bytes;
	}
	ret = emit_plan(plan, form, c->p.row, req->pack ? &held : NULL, UMA_LAYOUT_STRIDED);
	if (ret)
		return bad(e, ret, "", "", "out of memory");
	plan->info.task_count = plan->task_count;
	return 0;
}

/* The same for an attention with fewer pieces of keys than there is memory for. */
static int fill_pieces(struct accel_plan *plan, struct choices *all, const struct request *req,
		       uint32_t pieces, struct accel_error *e)
{
	const struct choice *c = &all->c[all->chosen];
	struct operand *t = &all->variants[c->way][c->p.variant].t[UMA_SLOT_RESIDUAL], saved = *t;
	int ret = 0;

	if (pieces) {
		t->dims[0] = pieces;
		ret = operand_extent(t, e);
	}
	if (!ret)
		ret = fill_plan(plan, all, req, e);
	*t = saved;
	return ret;
}

/**
 * plan_fill_tuned - fill_plan(), with tuning results
 * @plan: empty plan
 * @all: choices; one was chosen, and tuning may choose another one of its engine
 * @req: request
 * @e: filled on failure, unless the context has the error already: code 0
 *
 * Return: as fill_plan().
 */
int plan_fill_tuned(struct accel_plan *plan, struct choices *all,
		    const struct request *req, struct accel_error *e)
{
	struct tune_entry *known = NULL;
	const struct tune_candidate *c;
	int ret;

	/* The fastest candidate depends on the number of rows. */
	if (!plan->ctx->reproducible)
		known = tune_choose(plan->ctx, req, all);

	if (!known)
		return fill_plan(plan, all, req, e);
	c = tune_winner(known);
	ret = fill_pieces(plan, all, req, c->pieces, e);
	plan->hint = c->hint;
	plan->known = known;
	return ret;
}

/**
 * plan_make - create a plan from a choice
 * @ctx: context
 * @req: request of one task
 * @all: choices; one was chosen
 * @pieces: attention: pieces of the keys, 0: as the descriptor says
 * @out: plan
 * @e: filled on failure, unless the context has the error already: code 0
 *
 * Return: as fill_plan().
 */
int plan_make(struct accel_ctx *ctx, const struct request *req, struct choices *all,
	      uint32_t pieces, struct accel_plan **out, struct accel_error *e)
{
	struct accel_plan *plan = plan_alloc(ctx, req);
	int ret;

	if (!plan)
		return bad(e, -ENOMEM, "", "", "out of memory");
	ret = fill_pieces(plan, all, req, pieces, e);
	if (ret) {
		accel_plan_unref(plan);
		return ret;
	}
	*out = plan;
	return 0;
}

/* Ask the engines and choose one. */
static int ask_and_choose(struct accel_ctx *ctx, const struct request *req,
			  struct choices **out, struct accel_error *e)
{
	if (ask_engines(ctx->dev, req, false, out))
		return bad(e, -ENOMEM, "", "", "out of memory");
	if ((*out)->chosen != (*out)->count)
		return 0;
	free(*out);
	return refuse_request(ctx->dev, req, e) == -ENOMEM ? -ENOMEM : -EOPNOTSUPP;
}

/**
 * plan_place - create the plan of a request
 * @ctx: context
 * @req: request
 * @out: plan
 * @e: filled on failure, unless the context has the error already: code 0
 *
 * Return: 0, -EOPNOTSUPP, -ENOMEM, or an error of packing.
 */
int plan_place(struct accel_ctx *ctx, const struct request *req,
	       struct accel_plan **out, struct accel_error *e)
{
	struct choices *all;
	struct accel_plan *plan;
	int ret;

	if (req->parts)
		return parts_place(ctx, req, out, e);
	ret = ask_and_choose(ctx, req, &all, e);
	if (ret)
		return ret;
	plan = plan_alloc(ctx, req);
	if (!plan) {
		ret = bad(e, -ENOMEM, "", "", "out of memory");
		goto out_free;
	}
	ret = plan_fill_tuned(plan, all, req, e);
	if (ret) {
		accel_plan_unref(plan);
		goto out_free;
	}
	plan->algorithm = choice_algorithm(all, &all->c[all->chosen]);
	device_log(ctx->dev, ACCEL_LOG_INFO, "%s: %s, %s, expected %.1f us",
		   accel_op_name(req->op), accel_engine_name(plan->info.engine),
		   plan->algorithm,
		   (double)plan->info.estimate_ns / 1e3);
	*out = plan;
out_free:
	free(all);
	return ret;
}

/**
 * plan_tune - measure without creating a plan
 * @ctx: context
 * @req: request; its tuning receives the results
 * @e: filled on failure
 *
 * Return: 0, -EOPNOTSUPP, -ENOMEM.
 */
int plan_tune(struct accel_ctx *ctx, const struct request *req, struct accel_error *e)
{
	struct choices *all;
	int ret;

	if (req->parts)
		return parts_tune(ctx, req, e);
	ret = ask_and_choose(ctx, req, &all, e);
	if (ret)
		return ret;
	free(tune_choose(ctx, req, all));
	free(all);
	return 0;
}

/* The parts of an operation share the tuning options and the time budget. */
void request_tune(struct request *req, struct tuning *tuning)
{
	uint32_t i;

	req->tuning = tuning;
	for (i = 0; req->parts && i < req->parts->count; i++)
		req->parts->part[i].req.tuning = tuning;
	tuning->left = req->parts ? req->parts->count : 1;
}

/* Packing reads B now, so its alignment matters; look for existing forms in @weights. */
static void look_at_constants(struct request *req, struct accel_weights *weights)
{
	const struct accel_tensor *b = req->t[UMA_SLOT_B].from;
	uint32_t i;

	req->weights = weights;
	if (req->pack && b->bo)
		req->t[UMA_SLOT_B].addr = b->bo->addr + b->offset;
	for (i = 0; req->parts && i < req->parts->count; i++)
		look_at_constants(&req->parts->part[i].req, weights);
}

int accel_plan_create_opts(struct accel_ctx *ctx, const struct accel_desc *desc,
			   const struct accel_plan_opts *opts, struct accel_plan **plan)
{
	FP_MODE_SCOPE();
	struct accel_error e = ACCEL_ERROR_INIT;
	struct tuning tuning;
	struct request req;
	union any_desc copy;
	int ret;

	if (!ctx)
		return -EINVAL;
	if (!plan)
		return ctx_fail(ctx, -EINVAL, "plan", "NULL");
	ret = tuning_init(ctx, opts, false, &tuning);
	if (ret)
		return ret;
	ret = request_settle(ctx->dev, desc, &copy, &req, &e);
	if (!ret) {
		req.reproducible = ctx->reproducible;
		look_at_constants(&req, tuning.weights);
		if (tuning.flags)
			request_tune(&req, &tuning);
		ret = plan_place(ctx, &req, plan, &e);
	}
	if (!ret && req.parts)
		(*plan)->algorithm = req.class->algorithm;
	if (!ret && plan_keep_desc(*plan, &req)) {
		accel_plan_unref(*plan);
		*plan = NULL;
		ret = bad(&e, -ENOMEM, "", "", "out of memory");
	}
	request_release(&req);
	if (ret && e.code)
		ctx_set_error(ctx, &e);
	return ret;
}

int accel_plan_create(struct accel_ctx *ctx, const struct accel_desc *desc,
		      struct accel_plan **plan)
{
	return accel_plan_create_opts(ctx, desc, NULL, plan);
}

struct accel_plan *accel_plan_ref(struct accel_plan *plan)
{
	if (plan)
		atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
	return plan;
}

void accel_plan_unref(struct accel_plan *plan)
{
	uint32_t i;

	if (!plan ||
	    atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (i = 0; i < plan->part_count; i++)
		accel_plan_unref(plan->parts[i].plan);
	free(plan->parts);
	accel_bo_unref(plan->packed);
	accel_weights_unref(plan->weights);
	free(plan->desc);
	free(plan->known);
	free(plan->relocs);
	free(plan->tasks);
	ctx_unref(plan->ctx);
	free(plan);
}

/**
 * plan_host - describe how the in-process device runs a plan
 * @plan: plan; the tasks of a plan with several run one after the other
 * @host: out; all zeros for other devices
 */
void plan_host(const struct accel_plan *plan, struct plan_host *host)
{
	const struct backend_ops *ops = plan->ctx->dev->ops;
	uint32_t i;

	for (i = 0; i < plan->part_count; i++)
		plan_host(plan->parts[i].plan, host);
	if (!plan->part_count && ops->plan_host)
		ops->plan_host(plan, host);
}

int accel_plan_get_info(struct accel_plan *plan, struct accel_plan_info *info)
{
	struct plan_host host = { 0 };
	struct accel_plan_info all;

	if (!plan || !info)
		return -EINVAL;
	plan_host(plan, &host);
	all = plan->info;
	all.host_bytes = host.work_bytes;
	return struct_out(info, &all, sizeof(all), offsetof(struct accel_plan_info, host_bytes));
}
