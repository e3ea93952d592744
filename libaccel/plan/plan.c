// SPDX-License-Identifier: MIT
/*
 * Plans: the choice of an engine, and what is kept of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/backend/backend.h"
#include "libaccel/core/objects.h"
#include "planner.h"
#include "libaccel/tune/tune.h"

static bool same_caps(const struct device_engine *a, const struct device_engine *b)
{
	return a->info.engine == b->info.engine &&
	       a->info.clock_max_mhz == b->info.clock_max_mhz &&
	       a->info.cap_count == b->info.cap_count &&
	       !memcmp(a->caps, b->caps, a->info.cap_count * sizeof(*a->caps));
}

static uint64_t bandwidth_of(const struct accel_device *dev,
			     const struct device_engine *engine)
{
	if (engine->info.node >= dev->info.node_count)
		return 0;
	return dev->memory[engine->info.node].bandwidth;
}

static const char *chip_of(const struct accel_device *dev)
{
	return dev->info.profile[0] ? dev->info.profile : "this device";
}

static void make_ways(const struct request *req, struct choices *all)
{
	uint32_t i;

	all->way_count = 1;
	if (req->class->ways)
		all->way_count = req->class->ways(req, all->ways);
	else
		all->ways[0] = (struct way) { .req = *req };
	for (i = 0; i < all->way_count; i++)
		all->variant_count[i] = make_variants(&all->ways[i].req, all->variants[i]);
}

/* What does this engine make of a way? */
static void ask(struct accel_device *dev, struct choices *all, struct choice *c)
{
	const struct way *way = &all->ways[c->way];

	if (way->field) {
		c->ok = false;
		memset(&c->p, 0, sizeof(c->p));
		snprintf(c->p.field, sizeof(c->p.field), "%s", way->field);
		snprintf(c->p.text, sizeof(c->p.text), "%s", way->text);
		return;
	}
	c->ok = place_on(c->engine, chip_of(dev), all->variants[c->way],
			 all->variant_count[c->way], &c->p);
	if (c->ok)
		cost(c->engine, bandwidth_of(dev, c->engine),
		     &all->variants[c->way][c->p.variant], &c->p);
}

/* Is this the same engine again? */
static bool merge_engine(struct accel_device *dev, struct choices *all,
			 const struct device_engine *engine)
{
	bool found = false;
	uint32_t i;

	for (i = 0; i < all->count; i++)
		if (same_caps(all->c[i].engine, engine) &&
		    bandwidth_of(dev, all->c[i].engine) == bandwidth_of(dev, engine)) {
			all->c[i].instances |= 1u << engine->info.instance;
			found = true;
		}
	return found;
}

/* May it be taken? */
bool choice_eligible(const struct choices *all, const struct choice *c,
		     const struct request *req)
{
	return c->ok && !all->ways[c->way].unwanted &&
	       (!req->engine || req->engine == c->engine->info.engine);
}

/**
 * choose - take the fastest of the engines that can
 * @all: choices
 * @req: says whether it must be a certain kind
 */
void choose(struct choices *all, const struct request *req)
{
	uint32_t i;

	all->chosen = all->count;
	for (i = 0; i < all->count; i++) {
		const struct choice *c = &all->c[i];

		if (choice_eligible(all, c, req) &&
		    (all->chosen == all->count ||
		     c->p.estimate_ns < all->c[all->chosen].p.estimate_ns))
			all->chosen = i;
	}
}

/*
 * The bandwidth is the chip's. In process, where caches hold most weights, that way of
 * the engine's is taken that has the least arithmetic.
 */
static void choose_in_process(struct choices *all, const struct request *req)
{
	const struct device_engine *engine;
	uint32_t i;

	if (all->chosen == all->count)
		return;
	engine = all->c[all->chosen].engine;
	for (i = 0; i < all->count; i++)
		if (all->c[i].engine == engine && choice_eligible(all, &all->c[i], req) &&
		    all->c[i].p.compute_ns < all->c[all->chosen].p.compute_ns)
			all->chosen = i;
}

/**
 * ask_engines - ask every engine; what differs in nothing is asked once
 * @dev: device
 * @req: request
 * @out: to be given to free(); for one device its engines have always one order
 *
 * Return: 0, -ENOMEM.
 */
int ask_engines(struct accel_device *dev, const struct request *req,
		struct choices **out)
{
	const struct device_engine *engines;
	struct choices *all;
	uint32_t i, w, n;

	engines = device_engines(dev, &n);
	all = malloc(sizeof(*all) + n * MAX_WAYS * sizeof(all->c[0]));
	if (!all)
		return -ENOMEM;
	make_ways(req, all);
	all->count = 0;
	for (i = 0; i < n; i++) {
		if (merge_engine(dev, all, &engines[i]))
			continue;
		for (w = 0; w < all->way_count; w++) {
			struct choice *c = &all->c[all->count++];

			c->engine = &engines[i];
			c->instances = 1u << engines[i].info.instance;
			c->way = w;
			ask(dev, all, c);
		}
	}
	choose(all, req);
	if (dev->info.kernels[0])
		choose_in_process(all, req);
	*out = all;
	return 0;
}

/* How it does it, as accel_plan_explain() tells it: a static string. */
const char *choice_algorithm(const struct choices *all, const struct choice *c)
{
	const struct request *req = &all->ways[c->way].req;
	const struct placement *p = &c->p;

	if (all->ways[c->way].name)
		return all->ways[c->way].name;
	if (req->opcode != UMA_OP_GEMM)
		return req->class->algorithm;
	if (p->held == HELD_PACKED)
		return p->layout == UMA_LAYOUT_GEMM_B24 ? "blocked, packed 2:4" :
							  "blocked, packed";
	return p->held == HELD_COPY ? "blocked, copied" : "blocked";
}

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
	else if (all->chosen < all->count && best->engine == choice->engine &&
		 p->estimate_ns < best->p.estimate_ns)
		snprintf(c->text, sizeof(c->text),
			 "expected to take %.1f us, but in process %s, which has less arithmetic, is faster",
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

/* What accel_plan_explain() will tell. */
int describe_all(const struct choices *all, const struct request *req,
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

/**
 * candidates_create - ask every engine and describe the answers
 * @dev: device
 * @req: request
 * @out: to be given to free()
 *
 * Return: 0, -ENOMEM.
 */
int candidates_create(struct accel_device *dev, const struct request *req,
		      struct plan_candidates **out)
{
	struct choices *all;
	int ret;

	ret = req->parts ? parts_ask(dev, req, &all) : ask_engines(dev, req, &all);
	if (ret)
		return ret;
	ret = describe_all(all, req, out);
	free(all);
	return ret;
}

/* Who would take it: "; gpu, neural would take it", or that nobody would. */
static void name_takers(const struct choices *all, char *text, size_t size)
{
	bool named[ACCEL_ENGINE_COUNT] = { false };
	uint32_t i, n = 0, engine;
	size_t at;

	for (i = 0; i < all->count; i++) {
		engine = all->c[i].engine->info.engine;
		if (!all->c[i].ok || all->ways[all->c[i].way].unwanted || named[engine])
			continue;
		named[engine] = true;
		at = strlen(text);
		snprintf(text + at, size - at, "%s%s", n++ ? " or " : "; ",
			 accel_engine_name(engine));
	}
	at = strlen(text);
	snprintf(text + at, size - at, "%s", n ? " would take it" :
		 "; no other engine would take it");
}

/* Nothing was chosen: the refusal that says most to the caller. */
int refused(struct accel_device *dev, const struct choices *all,
	    const struct request *req, struct accel_error *e)
{
	const struct choice *why = NULL;
	uint32_t i;

	for (i = 0; i < all->count; i++) {
		const struct choice *c = &all->c[i];

		/* Not a way that does not fit, or was not asked for. */
		if (all->ways[c->way].field || all->ways[c->way].unwanted)
			continue;
		/* If every engine refuses, a GPU is the one that does most. */
		if (req->engine ? c->engine->info.engine == req->engine :
		    !why || c->engine->info.engine == ACCEL_ENGINE_GPU) {
			why = c;
			if (req->engine)
				break;
		}
	}
	if (!why) {
		bad(e, -EOPNOTSUPP, accel_op_name(req->op), "hdr.engine",
		    "there is no %s engine on %s",
		    accel_engine_name(req->engine), chip_of(dev));
	} else {
		bad(e, -EOPNOTSUPP, why->p.field, "", "%s", why->p.text);
		e->engine = why->engine->info.engine;
	}
	name_takers(all, e->text, sizeof(e->text));
	return -EOPNOTSUPP;
}

/**
 * plan_alloc - an empty plan
 * @ctx: context, kept alive by it
 * @req: request
 *
 * Return: plan with one reference, NULL without memory.
 */
struct accel_plan *plan_alloc(struct accel_ctx *ctx, const struct request *req)
{
	struct accel_plan *plan = calloc(1, sizeof(*plan));

	if (!plan)
		return NULL;
	atomic_init(&plan->refs, 1);
	plan->ctx = ctx_ref(ctx);
	plan->info.size = sizeof(plan->info);
	plan->info.op = req->op;
	plan->info.macs = req->macs;
	plan->info.read_bytes = request_read_bytes(req);
	plan->info.write_bytes = request_write_bytes(req);
	return plan;
}

/**
 * fill_plan - put what was chosen into a plan
 * @plan: empty plan
 * @all: choices; one was chosen
 * @req: request
 * @e: filled on failure, unless the context's record has it already: code 0
 *
 * Return: 0, -ENOMEM, what packing gives.
 */
int fill_plan(struct accel_plan *plan, struct choices *all,
	      const struct request *req, struct accel_error *e)
{
	const struct choice *c = &all->c[all->chosen];
	/* In the form that was placed; what is held of B replaces it. */
	struct request *form = &all->variants[c->way][c->p.variant];
	struct held_b held = { 0 };
	int ret;

	plan->instances = c->instances;
	plan->info.engine = c->engine->info.engine;
	plan->info.estimate_ns = c->p.estimate_ns;
	ret = describe_all(all, req, &plan->candidates);
	if (!ret && req->pack) {
		ret = hold_b(plan, form, &c->p, &held, e);
		if (ret)
			return ret;
		plan->info.packed_bytes = held.bytes;
	}
	if (!ret)
		ret = emit_plan(plan, form, c->p.row, req->pack ? &held : NULL,
				UMA_LAYOUT_STRIDED);
	if (ret)
		return bad(e, ret, "", "", "out of memory");
	plan->info.task_count = plan->task_count;
	return 0;
}

/* The same with fewer pieces of an attention's keys than there is memory for. */
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
 * plan_fill_tuned - fill_plan(), after a look at what was measured
 * @plan: empty plan
 * @all: choices; one was chosen, another of its engine may be afterwards
 * @req: request
 * @e: filled on failure, unless the context's record has it already: code 0
 *
 * Return: as fill_plan().
 */
int plan_fill_tuned(struct accel_plan *plan, struct choices *all,
		    const struct request *req, struct accel_error *e)
{
	struct tune_entry *known = tune_choose(plan->ctx, req, all);
	const struct tune_candidate *c;
	int ret;

	if (!known)
		return fill_plan(plan, all, req, e);
	c = tune_winner(known);
	ret = fill_pieces(plan, all, req, c->pieces, e);
	plan->hint = c->hint;
	if (!ret && tune_annotate(plan, all, known))
		ret = bad(e, -ENOMEM, "", "", "out of memory");
	free(known);
	return ret;
}

/**
 * plan_make - a plan of what was chosen
 * @ctx: context
 * @req: request of one task
 * @all: choices; one was chosen
 * @pieces: attention: pieces of the keys, 0: as the descriptor says
 * @out: plan
 * @e: filled on failure, unless the context's record has it already: code 0
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

/* Ask the engines; one is chosen. */
static int ask_and_choose(struct accel_ctx *ctx, const struct request *req,
			  struct choices **out, struct accel_error *e)
{
	if (ask_engines(ctx->dev, req, out)) {
		bad(e, -ENOMEM, "", "", "out of memory");
		return -ENOMEM;
	}
	if ((*out)->chosen != (*out)->count)
		return 0;
	refused(ctx->dev, *out, req, e);
	free(*out);
	return -EOPNOTSUPP;
}

/**
 * plan_place - decide how a request is done
 * @ctx: context
 * @req: request
 * @out: plan
 * @e: filled on failure, unless the context's record has it already: code 0
 *
 * Return: 0, -EOPNOTSUPP, -ENOMEM, what packing gives.
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
	device_log(ctx->dev, ACCEL_LOG_INFO, "%s: %s, %s, expected %.1f us",
		   accel_op_name(req->op), accel_engine_name(plan->info.engine),
		   choice_algorithm(all, &all->c[all->chosen]),
		   us(plan->info.estimate_ns));
	*out = plan;
out_free:
	free(all);
	return ret;
}

/**
 * plan_tune - measure without making a plan
 * @ctx: context
 * @req: request; its tuning gets the results
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

/* The parts of an operation share what is wanted, and the time. */
void request_tune(struct request *req, struct tuning *tuning)
{
	uint32_t i;

	req->tuning = tuning;
	for (i = 0; req->parts && i < req->parts->count; i++)
		req->parts->part[i].req.tuning = tuning;
	tuning->left = req->parts ? req->parts->count : 1;
}

/* What is packed is read now, so its address counts. */
static void look_at_constants(struct request *req)
{
	const struct accel_tensor *b = req->t[UMA_SLOT_B].from;
	uint32_t i;

	if (req->pack && b->bo)
		req->t[UMA_SLOT_B].addr = b->bo->addr + b->offset;
	for (i = 0; req->parts && i < req->parts->count; i++)
		look_at_constants(&req->parts->part[i].req);
}

int accel_plan_create_opts(struct accel_ctx *ctx, const struct accel_desc *desc,
			   const struct accel_plan_opts *opts, struct accel_plan **plan)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct tuning tuning;
	struct request req;
	union any_desc copy;
	int ret;

	ret = tuning_init(ctx, opts, false, &tuning);
	if (ret)
		return ret;
	ret = request_create(desc, &copy, &req, &e);
	if (!ret) {
		look_at_constants(&req);
		if (tuning.flags)
			request_tune(&req, &tuning);
		ret = plan_place(ctx, &req, plan, &e);
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
	free(plan->candidates);
	free(plan->relocs);
	free(plan->tasks);
	ctx_unref(plan->ctx);
	free(plan);
}

/* What the threads of a run share; of a plan of several tasks, one after the other, the most. */
static uint64_t work_of(struct accel_plan *plan)
{
	const struct backend_ops *ops = plan->ctx->dev->ops;
	uint64_t most = 0, work;
	uint32_t i;

	if (!plan->part_count)
		return ops->plan_work ? ops->plan_work(plan) : 0;
	for (i = 0; i < plan->part_count; i++) {
		work = work_of(plan->parts[i].plan);
		if (work > most)
			most = work;
	}
	return most;
}

int accel_plan_get_info(struct accel_plan *plan, struct accel_plan_info *info)
{
	struct accel_plan_info all = plan->info;

	all.workspace_bytes += work_of(plan);
	return struct_out(info, &all, sizeof(all), sizeof(all));
}
