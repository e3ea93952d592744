// SPDX-License-Identifier: MIT
/*
 * Operations that consist of several tasks: plans of plans.
 *
 * The parts of an operation are placed together, on the engine with the least time for all of
 * them, and become ordinary plans that belong to the whole one; a job binds the whole plan's
 * arguments and passes them to the parts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/objects.h"
#include "planner.h"
#include "libaccel/tune/tune.h"

/**
 * struct joint - the engines' answers for all parts
 * @whole: for the whole operation
 * @part: for each part
 */
struct joint {
	struct choices *whole;
	struct choices *part[];
};

static void joint_free(struct joint *j, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		free(j->part[i]);
	free(j->whole);
	free(j);
}

/*
 * The best choice for a part on an engine, or a refused one if there is none. @engine is among
 * those that were asked.
 */
static uint32_t best_way(const struct choices *part, const struct device_engine *engine)
{
	uint32_t i, best = part->count;

	for (i = 0; i < part->count; i++) {
		const struct choice *c = &part->c[i];

		if (c->engine != engine)
			continue;
		if (best == part->count ||
		    (c->ok && !part->ways[c->way].unwanted &&
		     (!part->c[best].ok ||
		      c->p.estimate_ns < part->c[best].p.estimate_ns)))
			best = i;
	}
	return best;
}

static bool ends_in(const char *s, const char *end)
{
	size_t len = strlen(s), n = strlen(end);

	return len >= n && !strcmp(s + len - n, end);
}

/* Operands already have the caller's names; other fields of a part do not. */
static void rename_refusal(struct placement *p, const struct request *req, uint32_t part)
{
	const struct part *pt = &req->parts->part[part];
	const char *act = pt->act_field;
	uint32_t s;

	for (s = 0; s < REQUEST_SLOTS; s++)
		if ((pt->req.slots & (1u << s)) && pt->req.t[s].own)
			own_field(p->field, pt->req.t[s].name);
	if (act && ends_in(p->field, ".epilogue.act"))
		snprintf(p->field, sizeof(p->field), "%s", act);
	else if (ends_in(p->field, ".hdr.op"))
		snprintf(p->field, sizeof(p->field), "%s.hdr.op", accel_op_name(req->op));
}

/* Estimate of an engine for all parts: the start of each task but the first is hidden. */
static void join(struct choice *c, const struct joint *j, const struct request *req)
{
	uint64_t start = 0, work = 0, sum;
	struct placement p = { 0 };
	uint32_t i;

	for (i = 0; i < req->parts->count; i++) {
		const struct choice *part;

		part = &j->part[i]->c[best_way(j->part[i], c->engine)];
		if (!part->ok) {
			c->ok = false;
			c->p = part->p;
			rename_refusal(&c->p, req, i);
			return;
		}
		p.bytes += part->p.bytes;
		p.compute_ns += part->p.compute_ns;
		p.memory_ns += part->p.memory_ns;
		start = part->p.start_ns;
		sum = work + (part->p.estimate_ns - start);
		work = sum < work ? UINT64_MAX : sum;
	}
	p.start_ns = start;
	p.estimate_ns = work + start < work ? UINT64_MAX : work + start;
	c->ok = true;
	c->p = p;
}

static int joint_create(struct accel_device *dev, const struct request *req, bool words,
			struct joint **out)
{
	const struct parts *parts = req->parts;
	struct joint *j;
	uint32_t i, n = 0;

	j = calloc(1, sizeof(*j) + parts->count * sizeof(j->part[0]));
	if (!j)
		return -ENOMEM;
	/* The answers for one part also provide the array for the whole. */
	if (ask_engines(dev, &parts->part[0].req, words, &j->whole))
		goto err;
	for (i = 0; i < parts->count; i++)
		if (ask_engines(dev, &parts->part[i].req, words, &j->part[i]))
			goto err;
	/* One choice for each engine, however many algorithms the part has. */
	j->whole->ways[0].name = req->class->algorithm;
	j->whole->ways[0].unwanted = NULL;
	for (i = 0; i < j->whole->count; i++) {
		if (j->whole->c[i].way)
			continue;
		j->whole->c[n] = j->whole->c[i];
		join(&j->whole->c[n++], j, req);
	}
	j->whole->count = n;
	choose(j->whole, req);
	*out = j;
	return 0;
err:
	joint_free(j, parts->count);
	return -ENOMEM;
}

/**
 * parts_ask - ask every engine about all parts, with reasons in words
 * @dev: device
 * @req: request that has parts
 * @out: result, for free()
 *
 * Return: 0, -ENOMEM.
 */
int parts_ask(struct accel_device *dev, const struct request *req, struct choices **out)
{
	struct joint *j;
	int ret;

	ret = joint_create(dev, req, true, &j);
	if (ret)
		return ret;
	*out = j->whole;
	j->whole = NULL;
	joint_free(j, req->parts->count);
	return 0;
}

/* Extend the whole plan's argument by the range that a part accesses. */
static uint32_t whole_arg(struct accel_plan *plan, uint32_t arg,
			  const struct plan_arg *part, int64_t at)
{
	struct plan_arg *a;
	uint32_t i;

	for (i = 0; i < plan->arg_count && plan->args[i].arg != arg; i++)
		;
	a = &plan->args[i];
	if (i == plan->arg_count) {
		plan->arg_count++;
		/* The requirements of the parts determine the alignment. */
		*a = (struct plan_arg) { .arg = arg, .align = 1 };
	}
	a->write |= part->write;
	if (part->lo == part->hi)
		return i;
	if (a->lo == a->hi) {
		a->lo = part->lo + at;
		a->hi = part->hi + at;
	}
	if (part->lo + at < a->lo)
		a->lo = part->lo + at;
	if (part->hi + at > a->hi)
		a->hi = part->hi + at;
	return i;
}

static void count_bytes(struct accel_plan *plan, const struct part *part)
{
	uint32_t s;

	for (s = 0; s < REQUEST_SLOTS; s++) {
		const struct operand *t = &part->req.t[s];

		if (!(part->req.slots & (1u << s)) || part->arg[s] == ARG_WORKSPACE)
			continue;
		if (uma_op_class(part->req.opcode)->outputs >> s & 1)
			plan->info.write_bytes += operand_bytes(t);
		else
			plan->info.read_bytes += operand_bytes(t);
		plan->info.read_bytes += operand_table_bytes(t);
	}
}

static void add_part(struct accel_plan *plan, const struct parts *parts, uint32_t index)
{
	const struct part *part = &parts->part[index];
	struct plan_part *pp = &plan->parts[index];
	const struct accel_plan *sub = pp->plan;
	uint32_t i, arg;

	for (i = 0; i < sub->arg_count; i++) {
		arg = part->arg[sub->args[i].arg & ~ARG_TABLES];
		pp->at[i] = part_distance(parts, part, sub->args[i].arg);
		pp->arg[i] = PLAN_WORKSPACE;
		if (arg != ARG_WORKSPACE)
			pp->arg[i] = whole_arg(plan, arg | (sub->args[i].arg & ARG_TABLES),
					       &sub->args[i], pp->at[i]);
	}
	count_bytes(plan, part);
	plan->task_count += sub->task_count;
	plan->info.macs += sub->info.macs;
	plan->info.packed_bytes += sub->info.packed_bytes;
}

static int fill_parts(struct accel_plan *plan, struct joint *j,
		      const struct request *req, struct accel_error *e)
{
	const struct parts *parts = req->parts;
	struct plan_part *pp;
	uint32_t i;
	int ret;

	for (i = 0; i < parts->count; i++) {
		pp = &plan->parts[i];
		pp->plan = plan_alloc(plan->ctx, &parts->part[i].req);
		if (!pp->plan)
			return bad(e, -ENOMEM, "", "", "out of memory");
		plan->part_count++;
		j->part[i]->chosen = best_way(j->part[i],
					      j->whole->c[j->whole->chosen].engine);
		ret = plan_fill_tuned(pp->plan, j->part[i], &parts->part[i].req, e);
		if (ret)
			return ret;
		add_part(plan, parts, i);
	}
	plan->tuned = req->tuning ? req->tuning->done : 0;
	return 0;
}

/**
 * parts_tune - measure the parts without creating a plan
 * @ctx: context
 * @req: request that has parts; its tuning receives the results
 * @e: filled on failure
 *
 * Return: 0, -EOPNOTSUPP, -ENOMEM.
 */
int parts_tune(struct accel_ctx *ctx, const struct request *req, struct accel_error *e)
{
	const struct parts *parts = req->parts;
	struct joint *j;
	uint32_t i;
	int ret = 0;

	if (joint_create(ctx->dev, req, false, &j))
		return bad(e, -ENOMEM, "", "", "out of memory");
	if (j->whole->chosen == j->whole->count)
		ret = refuse_request(ctx->dev, req, e);
	for (i = 0; i < parts->count && !ret; i++) {
		j->part[i]->chosen = best_way(j->part[i],
					      j->whole->c[j->whole->chosen].engine);
		free(tune_choose(ctx, &parts->part[i].req, j->part[i]));
	}
	joint_free(j, parts->count);
	return ret;
}

/**
 * parts_place - create the plan of an operation of several tasks
 * @ctx: context
 * @req: request that has parts
 * @out: plan
 * @e: filled on failure, unless the context has the error already: code 0
 *
 * Return: 0, -EOPNOTSUPP, -ENOMEM, or an error of packing.
 */
int parts_place(struct accel_ctx *ctx, const struct request *req,
		struct accel_plan **out, struct accel_error *e)
{
	const struct choice *c;
	struct accel_plan *plan;
	struct joint *j;
	int ret;

	if (joint_create(ctx->dev, req, false, &j))
		return bad(e, -ENOMEM, "", "", "out of memory");
	if (j->whole->chosen == j->whole->count) {
		ret = refuse_request(ctx->dev, req, e);
		goto out_free;
	}
	ret = -ENOMEM;
	plan = plan_alloc(ctx, req);
	if (plan)
		plan->parts = calloc(req->parts->count, sizeof(*plan->parts));
	if (!plan || !plan->parts) {
		bad(e, ret, "", "", "out of memory");
		goto out_plan;
	}
	c = &j->whole->c[j->whole->chosen];
	plan->instances = c->instances;
	plan->arg_names = req->class->args;
	plan->pieces = req->parts->pieces;
	plan->info.engine = c->engine->info.engine;
	plan->info.estimate_ns = c->p.estimate_ns;
	plan->info.workspace_bytes = req->parts->workspace;
	ret = fill_parts(plan, j, req, e);
	if (ret)
		goto out_plan;
	plan->info.task_count = plan->task_count;
	device_log(ctx->dev, ACCEL_LOG_INFO, "%s: %s, %u tasks, expected %.1f us",
		   accel_op_name(req->op), accel_engine_name(plan->info.engine),
		   plan->task_count, (double)plan->info.estimate_ns / 1e3);
	*out = plan;
	plan = NULL;
out_plan:
	accel_plan_unref(plan);
out_free:
	joint_free(j, req->parts->count);
	return ret;
}
