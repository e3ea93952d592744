// SPDX-License-Identifier: MIT
/*
 * Operations that are several tasks: plans of plans.
 *
 * An operation is lowered to descriptors of other operations, its parts. They
 * are placed together, on the engine that takes least for all of them, and
 * become ordinary plans that the whole holds; a job binds the whole's arguments
 * and hands them down.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/objects.h"
#include "planner.h"
#include "libaccel/tune/tune.h"

/* Where tables begin is said by a bit of the argument's number. */
#define TABLES	(ACCEL_ARG_SCALES | ACCEL_ARG_ZEROS)

/**
 * parts_alloc - room for the parts of a request
 * @req: request; has them until request_release()
 * @count: most parts that there can be; parts->count is how many there are
 *
 * Return: the parts, NULL without memory.
 */
struct parts *parts_alloc(struct request *req, uint32_t count)
{
	struct parts *parts = calloc(1, sizeof(*parts) + count * sizeof(parts->part[0]));

	req->parts = parts;
	return parts;
}

/* Give up what a request holds. */
void request_release(struct request *req)
{
	free(req->parts);
	req->parts = NULL;
}

/*
 * What lies in the workspace is no tensor of the caller: its type is a field of
 * the descriptor, "ffn.hidden_dtype" for "ffn.hidden".
 */
static void own_field(char *field, const char *name)
{
	size_t len = strlen(name);

	if (!strncmp(field, name, len) && !strcmp(field + len, ".dtype"))
		field[len] = '_';
}

/* Errors of a part are told with the names that the caller knows. */
static void rename_field(struct accel_error *e, const struct part *part,
			 const char *const *names, const uint32_t *args)
{
	static const char * const ends[REQUEST_SLOTS] = {
		[UMA_SLOT_DST] = "d", [UMA_SLOT_A] = "a", [UMA_SLOT_B] = "b",
		[UMA_SLOT_C] = "c", [UMA_SLOT_BIAS] = "epilogue.bias",
		[UMA_SLOT_SCALE] = "epilogue.scale",
		[UMA_SLOT_RESIDUAL] = "epilogue.residual",
	};
	const char *op = accel_op_name(part->desc.hdr.op);
	char old[64], field[sizeof(e->field)];
	size_t len;
	uint32_t s;

	for (s = 0; s < REQUEST_SLOTS; s++) {
		if (!names[s] || !ends[s])
			continue;
		len = (size_t)snprintf(old, sizeof(old), "%s.%s", op, ends[s]);
		if (strncmp(e->field, old, len) != 0 ||
		    (e->field[len] && e->field[len] != '.'))
			continue;
		snprintf(field, sizeof(field), "%.*s%s", 40, names[s], e->field + len);
		memcpy(e->field, field, sizeof(field));
		if (args[s] == ARG_WORKSPACE)
			own_field(e->field, names[s]);
		return;
	}
}

/* Bytes from element 0 of an argument, or of its tables, to those of an operand. */
static int64_t distance(const struct parts *parts, const struct part *part, uint32_t arg)
{
	uint32_t slot = arg & ~TABLES;
	const struct accel_tensor *t = part->req.t[slot].from, *whole;

	if (part->arg[slot] == ARG_WORKSPACE)
		return (int64_t)t->offset;
	whole = parts->tensor[part->arg[slot]];
	if (arg & ACCEL_ARG_SCALES)
		return (int64_t)(t->quant.scales_offset - whole->quant.scales_offset);
	if (arg & ACCEL_ARG_ZEROS)
		return (int64_t)(t->quant.zeros_offset - whole->quant.zeros_offset);
	return (int64_t)(t->offset - whole->offset);
}

/**
 * part_lower - lower the descriptor of the next part, parts->part[parts->count]
 * @parts: parts; the descriptor and the caller's tensors are set
 * @op: &enum accel_op that it is
 * @names: by slot: path of the operand in the caller's descriptor
 * @args: by slot: &enum accel_arg of the whole, or ARG_WORKSPACE
 * @e: filled on failure
 *
 * Return: 0, -EINVAL, -EOPNOTSUPP.
 */
int part_lower(struct parts *parts, uint32_t op, const char *const *names,
	       const uint32_t *args, struct accel_error *e)
{
	struct part *part = &parts->part[parts->count];
	struct request *req = &part->req;
	uint32_t s;
	int ret;

	memset(req, 0, sizeof(*req));
	req->op = op;
	req->desc = &part->desc;
	req->class = op_class(op);
	req->opcode = req->class->opcode;
	ret = req->class->lower(&part->desc, req, e);
	if (ret) {
		rename_field(e, part, names, args);
		return ret;
	}
	for (s = 0; s < REQUEST_SLOTS; s++) {
		struct operand *t = &req->t[s];

		if (!(req->slots & (1u << s)))
			continue;
		t->arg = s;
		t->name = names[s];
		part->arg[s] = args[s];
		t->own = args[s] == ARG_WORKSPACE;
		t->addr = (uint64_t)distance(parts, part, s);
	}
	parts->count++;
	return 0;
}

/**
 * struct joint - the engines' answers to all parts
 * @whole: taken together
 * @part: each by itself
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
 * The best way to do a part on an engine; one of those that cannot be, if there
 * is none. @engine is among those that were asked.
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

/* Operands have the caller's names already; the rest of a part has not. */
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

/* What an engine needs for all: each task but the first starts at once. */
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
	/* The answers to one part have the place for those to all. */
	if (ask_engines(dev, &parts->part[0].req, words, &j->whole))
		goto err;
	for (i = 0; i < parts->count; i++)
		if (ask_engines(dev, &parts->part[i].req, words, &j->part[i]))
			goto err;
	/* One of each engine, however many ways there are for the part. */
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
 * parts_ask - ask every engine about all parts, for the words
 * @dev: device
 * @req: request that has parts
 * @out: to be given to free()
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

/* The argument of the whole with all that its parts touch of it. */
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
		/* Alignment is that of its pieces. */
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
		arg = part->arg[sub->args[i].arg & ~TABLES];
		pp->at[i] = distance(parts, part, sub->args[i].arg);
		pp->arg[i] = PLAN_WORKSPACE;
		if (arg != ARG_WORKSPACE)
			pp->arg[i] = whole_arg(plan, arg | (sub->args[i].arg & TABLES),
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
 * parts_tune - measure the parts without making a plan
 * @ctx: context
 * @req: request that has parts; its tuning gets the results
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
 * parts_place - decide how an operation of several tasks is done
 * @ctx: context
 * @req: request that has parts
 * @out: plan
 * @e: filled on failure, unless the context's record has it already: code 0
 *
 * Return: 0, -EOPNOTSUPP, -ENOMEM, what packing gives.
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
