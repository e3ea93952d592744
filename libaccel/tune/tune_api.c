// SPDX-License-Identifier: MIT
/*
 * What programs call to measure, and to look after the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libaccel/core/fpmode.h"
#include "tune.h"

const char *accel_tune_path(struct accel_ctx *ctx)
{
	return ctx ? ctx->tune_path : NULL;
}

static void publish(const struct tune_candidate *c, struct accel_tune_candidate *out)
{
	*out = (struct accel_tune_candidate) {
		.size = sizeof(*out),
		.flags = c->flags,
		.ns = c->ns,
		.samples = c->samples,
	};
	memcpy(out->algorithm, c->algorithm, sizeof(out->algorithm));
	tune_hint_words(c, out->hint, sizeof(out->hint));
}

/**
 * tune_report - tell a program of an entry
 * @e: entry; only its state counts if that is ACCEL_TUNE_CORRUPT
 * @state: &enum accel_tune_state
 * @json: its text, NULL: to be made
 * @line: of the file
 * @fn: receives it
 * @user: passed on
 *
 * Return: what @fn returned.
 */
int tune_report(const struct tune_entry *e, uint32_t state, const char *json, uint64_t line,
		accel_tune_fn *fn, void *user)
{
	struct accel_tune_candidate c[TUNE_MAX];
	const struct tune_candidate *own = tune_default(e), *best = tune_winner(e);
	struct accel_tune_entry out = {
		.size = sizeof(out), .state = state, .op = e->op, .threads = e->threads,
		.time = e->time, .spent_ns = e->spent_ns, .cached = e->cached,
		.default_ns = own ? own->ns : 0, .best_ns = best ? best->ns : 0,
		.candidate_count = e->count, .candidates = e->count ? c : NULL,
		.words = e->words, .cpu = e->cpu, .version = e->version, .device = e->device,
		.json = json ? json : "", .line = line,
	};
	union any_desc desc;
	char *text = NULL;
	uint32_t i;
	int ret;

	for (i = 0; i < e->count; i++)
		publish(&e->c[i], &c[i]);
	if (e->desc[0] && !tune_desc_decode(e->desc, &desc))
		out.desc = &desc.hdr;
	if (!json && state != ACCEL_TUNE_CORRUPT) {
		text = tune_entry_line(e);
		/* checksum, hash, and the newline at the end */
		if (text && strlen(text) > 35) {
			text[strlen(text) - 1] = 0;
			out.json = text + 34;
		}
	}
	ret = fn(user, &out);
	free(text);
	return ret;
}

/* Which of them are used in this context? */
static uint32_t state_of(const struct tune_entry *e, const struct tune_entry *key)
{
	if (strcmp(e->version, key->version) != 0)
		return ACCEL_TUNE_OTHER_VERSION;
	if (strcmp(e->cpu, key->cpu) != 0)
		return ACCEL_TUNE_OTHER_CPU;
	if (strcmp(e->device, key->device) != 0 || e->threads != key->threads)
		return ACCEL_TUNE_OTHER_DEVICE;
	return ACCEL_TUNE_VALID;
}

/* Parse a line. Returns its state. */
static uint32_t look_at(const struct tune_line *line, const struct tune_entry *key,
			struct tune_entry *e)
{
	if (!line->json || tune_entry_parse(line->json, line->json_size, e) ||
	    tune_entry_hash(e) != line->hash) {
		memset(e, 0, sizeof(*e));
		return ACCEL_TUNE_CORRUPT;
	}
	return state_of(e, key);
}

int accel_tune_list(struct accel_ctx *ctx, accel_tune_fn *fn, void *user)
{
	FP_MODE_SCOPE();
	struct tune_entry *e, *key;
	struct tune_line line = { 0 };
	size_t size = 0, at = 0;
	char *text = NULL;
	int ret = -ENOMEM;

	if (!ctx)
		return -EINVAL;
	if (!fn)
		return ctx_fail(ctx, -EINVAL, "fn", "NULL");
	e = calloc(2, sizeof(*e));
	key = e + 1;
	if (!e)
		return ctx_fail(ctx, ret, NULL, "out of memory");
	tune_key(ctx, key);
	ret = tune_file_read(ctx->tune_path, &text, &size);
	if (ret)
		ctx_fail(ctx, ret, "opts.tune_dir", "%s cannot be read: %s", ctx->tune_path,
			 errno_text(-ret));
	while (!ret && tune_file_next(text, size, &at, &line)) {
		uint32_t state = look_at(&line, key, e);

		ret = tune_report(e, state, NULL, line.number, fn, user);
	}
	free(text);
	free(e);
	return ret;
}

struct pruning {
	struct tune_entry *e;
	struct tune_entry *key;
	uint32_t states;
	uint64_t oldest;
	uint64_t removed;
};

static bool keep_rest(void *user, const struct tune_line *line)
{
	struct pruning *p = user;
	uint32_t state = look_at(line, p->key, p->e);
	bool keep = !(p->states >> state & 1) &&
		    (state == ACCEL_TUNE_CORRUPT || p->e->time >= p->oldest);

	p->removed += !keep;
	return keep;
}

int accel_tune_prune(struct accel_ctx *ctx, uint32_t states, uint64_t max_age_s,
		     uint64_t *removed)
{
	FP_MODE_SCOPE();
	struct pruning p = { .states = states };
	struct timespec now;
	int ret = -ENOMEM;

	if (!ctx)
		return -EINVAL;
	if (removed)
		*removed = 0;
	if (states >> ACCEL_TUNE_STATE_COUNT)
		return ctx_fail(ctx, -EINVAL, "states", "0x%x: there are no such states", states);
	clock_gettime(CLOCK_REALTIME, &now);
	if (max_age_s && (uint64_t)now.tv_sec > max_age_s)
		p.oldest = (uint64_t)now.tv_sec - max_age_s;
	p.e = calloc(2, sizeof(*p.e));
	if (!p.e)
		return ctx_fail(ctx, ret, NULL, "out of memory");
	p.key = p.e + 1;
	tune_key(ctx, p.key);
	ret = tune_file_edit(ctx->tune_path, keep_rest, &p, NULL, false);
	free(p.e);
	if (ret == -ENOENT)
		return 0;
	if (ret)
		return ctx_fail(ctx, ret, "opts.tune_dir", "%s cannot be changed: %s",
				ctx->tune_path, errno_text(-ret));
	if (removed)
		*removed = p.removed;
	return 0;
}

int accel_tune(struct accel_ctx *ctx, const struct accel_desc *desc,
	       const struct accel_plan_opts *opts, accel_tune_fn *fn, void *user)
{
	FP_MODE_SCOPE();
	struct accel_error e = ACCEL_ERROR_INIT;
	struct request req;
	union any_desc copy;
	struct tuning t;
	int ret;

	if (!ctx)
		return -EINVAL;
	ret = tuning_init(ctx, opts, true, &t);
	if (ret)
		return ret;
	t.fn = fn;
	t.user = user;
	ret = request_create(desc, &copy, &req, &e);
	if (ret)
		return ctx_set_error(ctx, &e);
	request_tune(&req, &t);
	ret = plan_tune(ctx, &req, &e);
	request_release(&req);
	if (ret)
		return e.code ? ctx_set_error(ctx, &e) : ret;
	if (t.stop)
		return t.stop;
	if (t.file_status)
		return ctx_fail(ctx, t.file_status, "opts.tune_dir",
				"what was measured cannot be kept in %s: %s",
				*ctx->tune_path ? ctx->tune_path : "a cache directory",
				errno_text(-t.file_status));
	/* Of several, those that have one way only are no failure. */
	if (t.status == -ENOENT && t.done)
		return 0;
	if (t.status == -ENOENT)
		return ctx_fail(ctx, -ENOENT, NULL, "there is one way to do it, nothing to measure");
	if (t.status == -ETIME)
		return ctx_fail(ctx, -ETIME, "opts.tune_budget_ms",
				"the time is too short to measure the candidates");
	return t.status;
}
