// SPDX-License-Identifier: MIT
/*
 * Chooses engine and algorithm: asks every engine about every algorithm, and takes the fastest
 * eligible one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/objects.h"
#include "planner.h"

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

/* Has the device tuned kernels in this process? */
static bool has_kernels(const struct accel_device *dev)
{
	const char *level = dev->info.kernels;

	return level[0] && strcmp(level, "portable") != 0 && strncmp(level, "model", 5) != 0;
}

/*
 * No kernel of the in-process device supports the 2:4 packed format, and the task model is far
 * slower than a kernel that also multiplies by the zeros. It also sums in another order: if
 * batches are not contiguous, whether B can be packed depends on the number of rows.
 */
static bool packs_dense(const struct accel_device *dev, const struct request *req)
{
	return dev->info.kernels[0] && (req->reproducible || has_kernels(dev));
}

/*
 * What else is faster in process than Winograd's algorithms? AMX multiplies bf16 eight times as
 * fast as vectors, which they use: a convolution without a transform takes half the time. They
 * have no kernel for fp16 nor for a large input that repeats elements, other algorithms do.
 */
static const char *faster_than_winograd(const struct accel_device *dev,
					const struct request *way)
{
	const uint32_t dtype = way->t[UMA_SLOT_A].dtype;
	struct uma_tensor_view a;

	if (!way->winograd || way->desc->conv.algorithm)
		return NULL;
	if (dtype == ACCEL_BF16 && !strcmp(dev->info.kernels, "amx"))
		return "tiles of bf16 are faster";
	if (dtype == ACCEL_F16 && has_kernels(dev))
		return "there is no kernel for fp16";
	if (has_kernels(dev) && operand_view(&way->t[UMA_SLOT_A], &a) &&
	    fast_wino_copies_repeats(a.dims, a.strides, dtype == ACCEL_F32 ? 4 : 2))
		return "its kernel would copy an input that repeats elements";
	return NULL;
}

static void make_ways(const struct accel_device *dev, const struct request *req,
		      struct choices *all)
{
	uint32_t i;

	all->way_count = 1;
	if (req->class->ways)
		all->way_count = req->class->ways(req, all->ways);
	else
		all->ways[0] = (struct way) { .req = *req };
	for (i = 0; i < all->way_count; i++) {
		const char *faster = faster_than_winograd(dev, &all->ways[i].req);

		if (!all->ways[i].field && faster)
			all->ways[i].unwanted = faster;
		all->ways[i].req.dense = packs_dense(dev, req);
		all->variant_count[i] = make_variants(&all->ways[i].req, all->variants[i]);
	}
}

/* Match an algorithm with an engine. */
static void ask(struct accel_device *dev, struct choices *all, struct choice *c, bool words)
{
	const struct way *way = &all->ways[c->way];

	if (way->field) {
		c->ok = false;
		memset(&c->p, 0, sizeof(c->p));
		if (words) {
			snprintf(c->p.field, sizeof(c->p.field), "%s", way->field);
			snprintf(c->p.text, sizeof(c->p.text), "%s", way->text);
		}
		return;
	}
	c->ok = place_on(c->engine, words ? chip_of(dev) : NULL, all->variants[c->way],
			 all->variant_count[c->way], &c->p);
	if (c->ok)
		cost(c->engine, bandwidth_of(dev, c->engine),
		     &all->variants[c->way][c->p.variant], &c->p);
}

/* Add an engine that is identical to an earlier one to that one's group. */
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

/* May this choice be used? */
bool choice_eligible(const struct choices *all, const struct choice *c,
		     const struct request *req)
{
	return c->ok && !all->ways[c->way].unwanted &&
	       (!req->engine || req->engine == c->engine->info.engine);
}

/* Arithmetic of an algorithm, which gives the same order of algorithms for any number of rows. */
static uint64_t work_of(const struct choices *all, const struct choice *c)
{
	const struct request *way = &all->ways[c->way].req;

	/* It is better the more tiles there are: use it only if nothing else is supported. */
	return way->winograd ? UINT64_MAX : way->work ? way->work : way->macs;
}

/*
 * The algorithm with the least work is the same for any number of rows; the engine does not
 * matter.
 */
static void choose_alike(struct choices *all, const struct request *req)
{
	uint32_t i;

	for (i = 0; i < all->count; i++)
		if (choice_eligible(all, &all->c[i], req) &&
		    (all->chosen == all->count ||
		     work_of(all, &all->c[i]) < work_of(all, &all->c[all->chosen])))
			all->chosen = i;
}

/**
 * choose - choose the fastest eligible engine
 * @all: choices
 * @req: requested kind of engine, and whether the choice may depend on the number of rows
 */
void choose(struct choices *all, const struct request *req)
{
	uint32_t i;

	all->chosen = all->count;
	if (req->reproducible) {
		choose_alike(all, req);
		return;
	}
	for (i = 0; i < all->count; i++) {
		const struct choice *c = &all->c[i];

		if (choice_eligible(all, c, req) &&
		    (all->chosen == all->count ||
		     c->p.estimate_ns < all->c[all->chosen].p.estimate_ns))
			all->chosen = i;
	}
}

/*
 * The bandwidth in the estimate is that of the chip. In process, where caches hold most
 * weights, use the chosen engine's algorithm that the kernels are fastest with.
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
		    all->c[i].p.host_ns < all->c[all->chosen].p.host_ns)
			all->chosen = i;
}

/**
 * ask_engines - ask every engine; identical ones are asked once
 * @dev: device
 * @req: request
 * @words: describe the reasons for refusals in words
 * @out: result, for free(); the order of engines is always the same for a device
 *
 * Return: 0, -ENOMEM.
 */
int ask_engines(struct accel_device *dev, const struct request *req, bool words,
		struct choices **out)
{
	const struct device_engine *engines;
	struct choices *all;
	uint32_t i, w, n;

	engines = device_engines(dev, &n);
	all = malloc(sizeof(*all) + n * MAX_WAYS * sizeof(all->c[0]));
	if (!all)
		return -ENOMEM;
	make_ways(dev, req, all);
	all->count = 0;
	for (i = 0; i < n; i++) {
		if (merge_engine(dev, all, &engines[i]))
			continue;
		for (w = 0; w < all->way_count; w++) {
			struct choice *c = &all->c[all->count++];

			c->engine = &engines[i];
			c->instances = 1u << engines[i].info.instance;
			c->way = w;
			ask(dev, all, c, words);
		}
	}
	choose(all, req);
	if (dev->info.kernels[0] && !req->reproducible)
		choose_in_process(all, req);
	*out = all;
	return 0;
}

/* The algorithm, as accel_plan_explain() reports it: a static string. */
const char *choice_algorithm(const struct choices *all, const struct choice *c)
{
	const struct request *req = &all->ways[c->way].req;
	const struct placement *p = &c->p;

	if (all->ways[c->way].name)
		return all->ways[c->way].name;
	if (req->opcode != UMA_OP_GEMM)
		return req->class->algorithm;
	return p->form == WEIGHTS_SPARSE ? "blocked, packed 2:4" :
	       p->form == WEIGHTS_PACKED ?
			(req->sparse ? "blocked, packed, 2:4 as dense" : "blocked, packed") :
	       p->form == WEIGHTS_DENSE ? "blocked, copied" : "blocked";
}

/* The engines that support it: "; gpu, neural would take it", or that none does. */
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

/* Nothing was chosen: report the most useful refusal. */
static void refused(struct accel_device *dev, const struct choices *all,
		    const struct request *req, struct accel_error *e)
{
	const struct choice *why = NULL;
	uint32_t i;

	for (i = 0; i < all->count; i++) {
		const struct choice *c = &all->c[i];

		/* Skip algorithms that do not apply, or were not requested. */
		if (all->ways[c->way].field || all->ways[c->way].unwanted)
			continue;
		/* If all engines refuse, report the GPU's reason: it supports most. */
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
}

/**
 * refuse_request - ask again, for the reasons of a refusal
 * @dev: device
 * @req: request that no engine supports
 * @e: filled
 *
 * Return: -EOPNOTSUPP, -ENOMEM.
 */
int refuse_request(struct accel_device *dev, const struct request *req, struct accel_error *e)
{
	struct choices *all;

	if (req->parts ? parts_ask(dev, req, &all) : ask_engines(dev, req, true, &all))
		return bad(e, -ENOMEM, "", "", "out of memory");
	refused(dev, all, req, e);
	free(all);
	return -EOPNOTSUPP;
}
