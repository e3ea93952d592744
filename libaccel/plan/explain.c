// SPDX-License-Identifier: MIT
/*
 * Explains the choice of an engine, and the refusals of the others. This is only computed on
 * demand: a plan keeps its descriptor, and the engines are asked again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "libaccel/backend/backend.h"
#include "libaccel/core/objects.h"
#include "libaccel/tune/tune.h"
#include "planner.h"

static double us(uint64_t ns)
{
	return (double)ns / 1e3;
}

static void describe(const struct choices *all, uint32_t index,
		     const struct request *req, struct accel_candidate *c)
{
	const struct choice *choice = &all->c[index];
	const struct choice *best = &all->c[all->chosen];
	const struct placement *p = &choice->p;
	const struct way *way = &all->ways[choice->way];

	*c = (struct accel_candidate) {
		.size = sizeof(*c),
		.engine = choice->engine->info.engine,
		.instances = choice->instances,
		.verdict = !choice->ok ? ACCEL_REFUSED :
			   index == all->chosen ? ACCEL_CHOSEN : ACCEL_POSSIBLE,
		.algorithm = choice_algorithm(all, choice),
	};
	if (!choice->ok) {
		c->algorithm = way->name ? way->name : "";
		memcpy(c->field, p->field, sizeof(c->field));
		memcpy(c->text, p->text, sizeof(c->text));
		return;
	}
	c->estimate_ns = p->estimate_ns;
	c->bytes = p->bytes;
	if (index == all->chosen)
		snprintf(c->text, sizeof(c->text),
			 "expected to take %.1f us: %.1f to start, %.1f of arithmetic, %.1f of memory traffic",
			 us(p->estimate_ns), us(p->start_ns), us(p->compute_ns),
			 us(p->memory_ns));
	else if (way->unwanted)
		snprintf(c->text, sizeof(c->text), "expected to take %.1f us, but %s",
			 us(p->estimate_ns), way->unwanted);
	else if (req->reproducible && choice_eligible(all, choice, req) &&
		 p->estimate_ns < best->p.estimate_ns)
		snprintf(c->text, sizeof(c->text),
			 "expected to take %.1f us, but %s on %s is taken for any number of rows",
			 us(p->estimate_ns), choice_algorithm(all, best),
			 accel_engine_name(best->engine->info.engine));
	else if (all->chosen < all->count && best->engine == choice->engine &&
		 p->estimate_ns < best->p.estimate_ns)
		snprintf(c->text, sizeof(c->text),
			 "expected to take %.1f us, but the kernels of this process are faster with %s",
			 us(p->estimate_ns), choice_algorithm(all, best));
	else if (all->chosen == all->count)
		snprintf(c->text, sizeof(c->text),
			 "would take it, but the descriptor asks for %s",
			 accel_engine_name(req->engine));
	else if (req->engine && best->engine->info.engine != c->engine)
		snprintf(c->text, sizeof(c->text),
			 "expected to take %.1f us, but the descriptor asks for %s",
			 us(p->estimate_ns), accel_engine_name(req->engine));
	else
		snprintf(c->text, sizeof(c->text),
			 "expected to take %.1f us, %.3g times as long as %s",
			 us(p->estimate_ns), (double)p->estimate_ns /
			 (double)best->p.estimate_ns,
			 best->engine == choice->engine ? choice_algorithm(all, best) :
			 accel_engine_name(best->engine->info.engine));
}

static int describe_all(const struct choices *all, const struct request *req,
			struct plan_candidates **out)
{
	struct plan_candidates *list;
	uint32_t i;

	list = malloc(sizeof(*list) + all->count * sizeof(list->c[0]));
	if (!list)
		return -ENOMEM;
	list->count = all->count;
	for (i = 0; i < all->count; i++)
		describe(all, i, req, &list->c[i]);
	*out = list;
	return 0;
}

/* For an operation of several tasks, report how many of them were tuned. */
static void note_parts(struct plan_candidates *list, uint32_t tuned, uint32_t parts)
{
	struct accel_candidate *c = list->c;
	uint32_t i;
	size_t len;

	for (i = 0; tuned && i < list->count; i++) {
		len = strlen(c[i].text);
		if (c[i].verdict == ACCEL_CHOSEN)
			snprintf(c[i].text + len, sizeof(c[i].text) - len,
				 "; %u of its %u operations were measured", tuned, parts);
	}
}

/* Ask every engine and describe the answers; @plan: the plan, or NULL. */
static int candidates_create(struct accel_device *dev, const struct request *req,
			     const struct accel_plan *plan, struct plan_candidates **out)
{
	struct choices *all;
	int ret;

	ret = req->parts ? parts_ask(dev, req, &all) : ask_engines(dev, req, true, &all);
	if (ret)
		return ret;
	if (plan && plan->known)
		tune_take(plan->known, req, all);
	ret = describe_all(all, req, out);
	if (!ret && plan && plan->known)
		ret = tune_annotate(out, all, plan->known);
	if (!ret && plan && req->parts)
		note_parts(*out, plan->tuned, req->parts->count);
	free(all);
	return ret;
}

/* --- the descriptor of a plan -------------------------------------------------- */

/* Stands for a table of zero points in the descriptor that a plan keeps */
static struct accel_bo some_table;

/*
 * Forget buffers, which may be released; keep the address of a constant, which is relevant for
 * alignment.
 */
static void forget_buffers(struct accel_tensor *t)
{
	if (t->bo)
		t->offset += t->bo->addr;
	t->bo = NULL;
	t->length = NULL;
	t->length_offset = 0;
	t->quant.scales = NULL;
	t->quant.zeros = t->quant.zeros ? &some_table : NULL;
}

/**
 * plan_keep_desc - keep the descriptor of a plan
 * @plan: plan
 * @req: request that it was created from
 *
 * Return: 0, -ENOMEM.
 */
int plan_keep_desc(struct accel_plan *plan, const struct request *req)
{
	uint32_t i;

	plan->desc = calloc(1, sizeof(*plan->desc));
	if (!plan->desc)
		return -ENOMEM;
	memcpy(plan->desc, req->desc, req->class->size);
	plan->desc->hdr.size = (uint32_t)req->class->size;
	plan_note_tensors(plan, req);
	for (i = 0; i < plan->tensor_count; i++)
		forget_buffers((struct accel_tensor *)((char *)plan->desc + plan->tensors[i].at));
	return 0;
}

/* Restore the addresses of constants: see forget_buffers(). */
static void recall_constants(struct request *req)
{
	uint32_t i;

	if (req->pack)
		req->t[UMA_SLOT_B].addr = req->t[UMA_SLOT_B].from->offset;
	for (i = 0; req->parts && i < req->parts->count; i++)
		recall_constants(&req->parts->part[i].req);
}

/* Name the kernels of the in-process device; without a plan, create a temporary one. */
static void name_kernels(struct accel_ctx *ctx, struct request *req,
			 struct accel_plan *plan, struct accel_candidate *c)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct plan_host host = { 0 };
	struct accel_plan *dry = NULL;
	uint32_t i;

	if (!plan && ctx->dev->ops->plan_host) {
		req->dry = true;
		for (i = 0; req->parts && i < req->parts->count; i++)
			req->parts->part[i].req.dry = true;
		if (plan_place(ctx, req, &dry, &e))
			return;
		plan = dry;
	}
	if (plan)
		plan_host(plan, &host);
	memcpy(c->kernel, host.kernel, sizeof(c->kernel));
	memcpy(c->kernel_text, host.text, sizeof(c->kernel_text));
	accel_plan_unref(dry);
}

static int report(struct accel_ctx *ctx, struct request *req, struct accel_plan *plan,
		  struct plan_candidates *list, accel_candidate_fn *fn, void *user)
{
	uint32_t i;
	int ret;

	for (i = 0; i < list->count; i++) {
		if (list->c[i].verdict == ACCEL_CHOSEN) {
			layout_words(req, list->c[i].text, sizeof(list->c[i].text));
			name_kernels(ctx, req, plan, &list->c[i]);
		}
		ret = fn(user, &list->c[i]);
		if (ret)
			return ret;
	}
	return 0;
}

static int explain(struct accel_ctx *ctx, const struct accel_desc *desc,
		   struct accel_plan *plan, accel_candidate_fn *fn, void *user)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct plan_candidates *list;
	struct request req;
	union any_desc copy;
	int ret;

	ret = request_settle(ctx->dev, desc, &copy, &req, &e);
	if (ret)
		return ctx_set_error(ctx, &e);
	req.reproducible = ctx->reproducible;
	if (plan)
		recall_constants(&req);
	ret = candidates_create(accel_ctx_device(ctx), &req, plan, &list);
	if (ret) {
		request_release(&req);
		return ctx_fail(ctx, ret, NULL, "out of memory");
	}
	ret = report(ctx, &req, plan, list, fn, user);
	request_release(&req);
	free(list);
	return ret;
}

int accel_plan_explain(struct accel_plan *plan, accel_candidate_fn *fn, void *user)
{
	FP_MODE_SCOPE();

	if (!plan)
		return -EINVAL;
	if (!fn)
		return ctx_fail(plan->ctx, -EINVAL, "fn", "NULL");
	return explain(plan->ctx, &plan->desc->hdr, plan, fn, user);
}

int accel_explain(struct accel_ctx *ctx, const struct accel_desc *desc,
		  accel_candidate_fn *fn, void *user)
{
	FP_MODE_SCOPE();

	if (!ctx)
		return -EINVAL;
	if (!fn)
		return ctx_fail(ctx, -EINVAL, "fn", "NULL");
	return explain(ctx, desc, NULL, fn, user);
}
