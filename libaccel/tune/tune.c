// SPDX-License-Identifier: MIT
/*
 * What the planner calls: is something known of this operation, or shall it be
 * measured, and what does the plan say of it?
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tune.h"

/**
 * tune_path_create - where the file is
 * @dir: directory, NULL: the user's
 * @path: out: to be given to free(); "" if the user has no directory
 *
 * Return: 0, -ENOMEM.
 */
int tune_path_create(const char *dir, char **path)
{
	if (!dir || !*dir)
		return file_cache_path("tune/" TUNE_FILE, path);
	if (asprintf(path, "%s/" TUNE_FILE, dir) >= 0)
		return 0;
	*path = NULL;
	return -ENOMEM;
}

/**
 * tuning_init - check what the caller wants
 * @ctx: context
 * @opts: options, or NULL
 * @implied: ACCEL_PLAN_TUNE is
 * @t: out; without flags nothing is wanted
 *
 * Return: 0; -EINVAL, -E2BIG with the record filled.
 */
int tuning_init(struct accel_ctx *ctx, const struct accel_plan_opts *opts, bool implied,
		struct tuning *t)
{
	const uint32_t known = ACCEL_PLAN_TUNE | ACCEL_PLAN_TUNE_CACHED | ACCEL_PLAN_TUNE_AGAIN |
			       ACCEL_PLAN_TUNE_KEEP_OUT;
	struct accel_plan_opts o = ACCEL_PLAN_OPTS_INIT;
	int ret;

	memset(t, 0, sizeof(*t));
	t->left = 1;
	if (opts) {
		ret = struct_in(&o, sizeof(o), opts, offsetof(struct accel_plan_opts, weights));
		if (ret)
			return ctx_fail(ctx, ret, "opts.size", "the options are of another size");
	}
	if (implied)
		o.flags |= ACCEL_PLAN_TUNE;
	if (o.flags & ~known)
		return ctx_fail(ctx, -EINVAL, "opts.flags", "unknown flags 0x%x",
				o.flags & ~known);
	if (o.pad)
		return ctx_fail(ctx, -EINVAL, "opts.pad", "must be zero");
	if (o.weights && weights_device(o.weights) != ctx->dev)
		return ctx_fail(ctx, -EINVAL, "opts.weights", "belong to another device");
	if ((o.flags & ACCEL_PLAN_TUNE) && (o.flags & ACCEL_PLAN_TUNE_CACHED))
		return ctx_fail(ctx, -EINVAL, "opts.flags",
				"either measure or use what was measured only");
	if (!(o.flags & ACCEL_PLAN_TUNE) && (o.flags || o.tune_budget_ms) &&
	    (o.flags != ACCEL_PLAN_TUNE_CACHED || o.tune_budget_ms))
		return ctx_fail(ctx, -EINVAL, o.tune_budget_ms ? "opts.tune_budget_ms" :
				"opts.flags", "is set, but nothing is to be measured");
	if (o.tune_budget_ms > TUNE_MAX_MS)
		return ctx_fail(ctx, -EINVAL, "opts.tune_budget_ms", "%u is more than %u",
				o.tune_budget_ms, TUNE_MAX_MS);
	t->flags = o.flags;
	t->weights = o.weights;
	t->deadline = tune_now() + 1000000ull * (o.tune_budget_ms ? o.tune_budget_ms :
						 TUNE_DEFAULT_MS);
	return 0;
}

/**
 * tune_key - what entries of a context have in common
 * @ctx: context
 * @e: out: cpu, version, device, threads
 */
void tune_key(struct accel_ctx *ctx, struct tune_entry *e)
{
	const struct accel_device_info *info = &ctx->dev->info;
	uint32_t version = accel_version();

	tune_cpu_words(info->kernels, e->cpu, sizeof(e->cpu));
	snprintf(e->version, sizeof(e->version), "%u.%u.%u", version >> 16, version & 0xffff,
		 TUNE_REVISION);
	snprintf(e->device, sizeof(e->device), "%s %s", info->driver, info->profile);
	e->threads = info->threads;
}

const struct tune_candidate *tune_winner(const struct tune_entry *e)
{
	uint32_t i;

	for (i = 0; i < e->count; i++)
		if (e->c[i].flags & ACCEL_TUNE_WINNER)
			return &e->c[i];
	return NULL;
}

const struct tune_candidate *tune_default(const struct tune_entry *e)
{
	uint32_t i;

	for (i = 0; i < e->count; i++)
		if (e->c[i].flags & ACCEL_TUNE_DEFAULT)
			return &e->c[i];
	return NULL;
}

/**
 * tune_hint_words - what a kernel is told
 * @c: candidate
 * @buf: out: "variant 1, tile 8x32x256, 2 threads, 4 pieces", "" for nothing
 * @size: bytes of @buf
 */
void tune_hint_words(const struct tune_candidate *c, char *buf, size_t size)
{
	const struct fast_hint *h = &c->hint;
	char part[4][32] = { { 0 } };
	size_t len = 0;
	uint32_t i;

	if (h->variant)
		snprintf(part[0], sizeof(part[0]), "variant %u", h->variant);
	if (h->mt || h->nt || h->kt)
		snprintf(part[1], sizeof(part[1]), h->kt ? "tile %ux%ux%u" : "tile %ux%u", h->mt,
			 h->nt, h->kt);
	if (h->threads)
		snprintf(part[2], sizeof(part[2]), "%u thread%s", h->threads,
			 h->threads > 1 ? "s" : "");
	if (c->pieces)
		snprintf(part[3], sizeof(part[3]), "%u piece%s", c->pieces,
			 c->pieces > 1 ? "s" : "");
	buf[0] = 0;
	for (i = 0; i < 4; i++)
		if (part[i][0] && len < size)
			len += (size_t)snprintf(buf + len, size - len, "%s%s", len ? ", " : "",
						part[i]);
}

/* The choice that an entry names, or count if there is none. */
static uint32_t find_choice(const struct choices *all, const struct request *req,
			    const char *algorithm)
{
	uint32_t engine = all->c[all->chosen].engine->info.engine, i;

	for (i = 0; i < all->count; i++)
		if (all->c[i].engine->info.engine == engine &&
		    choice_eligible(all, &all->c[i], req) &&
		    !strcmp(choice_algorithm(all, &all->c[i]), algorithm))
			return i;
	return all->count;
}

/* The winner is something that this plan can do. */
static bool fits(const struct choices *all, const struct request *req,
		 const struct tune_entry *e)
{
	const struct tune_candidate *c = tune_winner(e);

	return c && find_choice(all, req, c->algorithm) < all->count &&
	       (!c->pieces || (req->op == ACCEL_OP_ATTENTION &&
			       (req->slots >> UMA_SLOT_RESIDUAL & 1) &&
			       c->pieces <= req->t[UMA_SLOT_RESIDUAL].dims[0]));
}

/* Its share of the time, if others come after it. */
static uint64_t share(const struct tuning *t)
{
	uint64_t now = tune_now();

	return now < t->deadline ? now + (t->deadline - now) / t->left : now;
}

static int measure(struct accel_ctx *ctx, struct tuning *t, const union any_desc *desc,
		   struct tune_entry *e)
{
	struct timespec ts;
	int ret;

	ret = tune_measure(ctx, desc, share(t), e);
	if (ret)
		return ret;
	clock_gettime(CLOCK_REALTIME, &ts);
	e->time = (uint64_t)ts.tv_sec;
	if (t->flags & ACCEL_PLAN_TUNE_KEEP_OUT)
		return 0;
	ret = tune_file_store(ctx->tune_path, e);
	if (ret) {
		t->file_status = ret;
		device_log(ctx->dev, ACCEL_LOG_WARN, "what was measured cannot be kept in %s: %s",
			   *ctx->tune_path ? ctx->tune_path : "a cache directory",
			   errno_text(-ret));
	}
	return 0;
}

/* Something is known, or is now. */
static int know(struct accel_ctx *ctx, const struct request *req, const struct choices *all,
		struct tune_entry *e)
{
	uint32_t engine = all->c[all->chosen].engine->info.engine;
	struct tuning *t = req->tuning;
	union any_desc desc;
	int ret;

	ret = tune_desc_make(req, engine, &desc);
	if (!ret)
		ret = tune_desc_encode(&desc, e->desc, sizeof(e->desc));
	if (ret)
		return -ENOENT;
	tune_key(ctx, e);
	e->op = req->op;
	tune_desc_words(req, e->words, sizeof(e->words));
	if (!(t->flags & ACCEL_PLAN_TUNE_AGAIN)) {
		ret = tune_file_find(ctx->tune_path, e);
		if (!ret && fits(all, req, e))
			return 0;
		if (ret && ret != -ENOENT)
			device_log(ctx->dev, ACCEL_LOG_WARN, "%s: cannot be read: %s",
				   ctx->tune_path, errno_text(-ret));
		e->cached = false;
	}
	if (!(t->flags & ACCEL_PLAN_TUNE))
		return -ENOENT;
	ret = measure(ctx, t, &desc, e);
	if (ret)
		return ret;
	return fits(all, req, e) ? 0 : -ENOENT;
}

/**
 * tune_take - choose what an entry says
 * @e: entry that fits
 * @req: request of one task
 * @all: choices; one was chosen, and its engine stays
 */
void tune_take(const struct tune_entry *e, const struct request *req, struct choices *all)
{
	all->chosen = find_choice(all, req, tune_winner(e)->algorithm);
}

/**
 * tune_choose - take what is fastest, if that is wanted and known
 * @ctx: context
 * @req: request of one task
 * @all: choices; one was chosen, and its engine stays
 *
 * Return: entry, to be given to free(): its winner is now chosen; or NULL.
 */
struct tune_entry *tune_choose(struct accel_ctx *ctx, const struct request *req,
			       struct choices *all)
{
	struct tuning *t = req->tuning;
	struct tune_entry *e;
	int ret = -ENOMEM;

	/* How long it takes depends on what is in memory. */
	if (req->length || !t || t->stop ||
	    !(t->flags & (ACCEL_PLAN_TUNE | ACCEL_PLAN_TUNE_CACHED)))
		return NULL;
	e = calloc(1, sizeof(*e));
	if (e)
		ret = know(ctx, req, all, e);
	t->left -= t->left > 1;
	if (ret) {
		if (!t->status || t->status == -ENOENT)
			t->status = ret;
		device_log(ctx->dev, ACCEL_LOG_INFO, "%s: not tuned: %s", accel_op_name(req->op),
			   ret == -ENOENT ? "nothing is known, or there is one way only" :
			   errno_text(-ret));
		free(e);
		return NULL;
	}
	t->done++;
	tune_take(e, req, all);
	if (t->fn)
		t->stop = tune_report(e, ACCEL_TUNE_VALID, NULL, 0, t->fn, t->user);
	return e;
}

/* --- what the plan tells --------------------------------------------------------------- */

static void say(const struct tune_entry *e, const struct tune_candidate *c,
		struct accel_candidate *out)
{
	const struct tune_candidate *own = tune_default(e), *best = tune_winner(e);
	char hint[80], how[96];

	tune_hint_words(c, hint, sizeof(hint));
	snprintf(how, sizeof(how), "%s%s", hint, *hint ? ": " : "");
	out->measured_ns = c->ns;
	out->samples = c->samples;
	if (c->flags & ACCEL_TUNE_FAILED)
		snprintf(out->text, sizeof(out->text), "%smeasured: it took too long or failed",
			 how);
	else if (c == best)
		snprintf(out->text, sizeof(out->text),
			 "%smeasured %s: %.1f us, the best of %u ways; without tuning it would be %.3g times that",
			 how, e->cached ? "before" : "now", (double)c->ns / 1e3, e->count,
			 (double)own->ns / (double)(best->ns ? best->ns : 1));
	else
		snprintf(out->text, sizeof(out->text), "%smeasured %s: %.1f us, %.3g times the best%s",
			 how, e->cached ? "before" : "now", (double)c->ns / 1e3,
			 (double)c->ns / (double)(best->ns ? best->ns : 1),
			 c->flags & ACCEL_TUNE_DROPPED ? ", dropped" : "");
}

/**
 * tune_annotate - add what was measured to what a plan explains
 * @candidates: of a plan of one task; replaced, or given to free() on failure
 * @all: choices that they describe
 * @e: entry of tune_choose()
 *
 * Return: 0, -ENOMEM.
 */
int tune_annotate(struct plan_candidates **candidates, const struct choices *all,
		  const struct tune_entry *e)
{
	const uint32_t engine = all->c[all->chosen].engine->info.engine;
	struct plan_candidates *list, *old = *candidates;
	bool used[TUNE_MAX] = { false };
	uint32_t i, j, n = 0;

	list = malloc(sizeof(*list) + (old->count + e->count) * sizeof(list->c[0]));
	for (i = 0; list && i < old->count; i++) {
		struct accel_candidate base = old->c[i];

		/* One for each candidate that was measured; as it was if none was. */
		for (j = 0; j < e->count && base.engine == engine && i < all->count; j++) {
			if (used[j] || strcmp(e->c[j].algorithm, base.algorithm) != 0 ||
			    base.verdict == ACCEL_REFUSED)
				continue;
			used[j] = true;
			list->c[n] = base;
			list->c[n].verdict = e->c[j].flags & ACCEL_TUNE_WINNER ? ACCEL_CHOSEN :
							      ACCEL_POSSIBLE;
			say(e, &e->c[j], &list->c[n++]);
			base.size = 0;
		}
		if (base.size)
			list->c[n++] = base;
	}
	free(old);
	*candidates = list;
	if (!list)
		return -ENOMEM;
	list->count = n;
	return 0;
}
