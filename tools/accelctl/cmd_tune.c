// SPDX-License-Identifier: MIT
/*
 * tune list, tune export, tune prune, tune verify
 */
#include <json-c/json.h>
#include <string.h>
#include <time.h>

#include "interrupt.h"
#include "tuning.h"

/* Tolerance of verify for noise: factor of the best time */
#define HOLDS	1.1

struct listing {
	struct tune_session s;
	struct ctl_grid table;
	struct json_object *doc;
	struct json_object *list;
	uint64_t count[ACCEL_TUNE_STATE_COUNT];
};

static uint64_t total(const struct listing *l)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < ACCEL_TUNE_STATE_COUNT; i++)
		n += l->count[i];
	return n;
}

static void age_of(uint64_t then, char buf[24])
{
	uint64_t now = (uint64_t)time(NULL), s = now > then ? now - then : 0;

	if (s < 3600)
		snprintf(buf, 24, "%llu min", (unsigned long long)s / 60);
	else if (s < 48 * 3600)
		snprintf(buf, 24, "%llu h", (unsigned long long)s / 3600);
	else
		snprintf(buf, 24, "%llu d", (unsigned long long)s / 86400);
}

static int list_one(void *user, const struct accel_tune_entry *e)
{
	const struct accel_tune_candidate *best = tune_find(e, ACCEL_TUNE_WINNER);
	char way[136], time[16], own[16], age[24];
	struct listing *l = user;

	l->count[e->state]++;
	if (l->list) {
		tune_json(l->list, e);
		return 0;
	}
	if (!best) {
		ctl_grid_row(&l->table, "%s\tline %llu\t-\t-\t-\t-\t-\t-",
			     tune_state_name(e->state), (unsigned long long)e->line);
		return 0;
	}
	age_of(e->time, age);
	ctl_grid_row(&l->table, "%s\t%s\t%s\t%s\t%s\t%.2f\t%u\t%s ago", tune_state_name(e->state),
		     e->words, tune_way(best, way), ctl_time(time, (double)e->best_ns / 1e9),
		     ctl_time(own, (double)e->default_ns / 1e9),
		     e->best_ns ? (double)e->default_ns / (double)e->best_ns : 1, e->threads, age);
	return 0;
}

static int list_all(struct listing *l)
{
	int ret = accel_tune_list(l->s.ctx, list_one, l);

	return ret ? tune_fail(&l->s, ret) : CTL_OK;
}

int cmd_tune_list(struct ctl *ctl, void *data, const char *operand)
{
	struct listing l = { .table = { .right = 0xf8 } };
	int ret;

	(void)operand;
	ret = tune_open(ctl, data, &l.s);
	if (ret)
		goto out;
	if (ctl->json) {
		l.doc = ctl_schema(ctl);
		ctl_json_bool(l.doc, "ok", true);
		ctl_json_str(l.doc, "path", accel_tune_path(l.s.ctx));
		l.list = ctl_json_arr(l.doc, "entries");
	}
	ctl_grid_row(&l.table, "STATE\tOPERATION\tFASTEST\tTIME\tUNTUNED\tGAIN\tTHREADS\tMEASURED");
	ret = list_all(&l);
	if (ret)
		goto out;
	if (ctl->json) {
		ctl_json_print(ctl, l.doc);
		l.doc = NULL;
	} else if (total(&l)) {
		ctl_grid_print(ctl, &l.table, 0);
	} else {
		ctl_note(ctl, "nothing was measured yet: there are no entries in %s",
			 accel_tune_path(l.s.ctx));
	}
out:
	ctl_grid_clear(&l.table);
	json_object_put(l.doc);
	tune_close(&l.s);
	return ret;
}

/* --- export -------------------------------------------------------------------- */

static int export_one(void *user, const struct accel_tune_entry *e)
{
	struct json_object *list = user, *o;

	if (e->state == ACCEL_TUNE_CORRUPT)
		return 0;
	o = json_tokener_parse(e->json);
	if (!o)
		return 0;
	ctl_json_str(o, "state", tune_state_name(e->state));
	json_object_array_add(list, o);
	return 0;
}

int cmd_tune_export(struct ctl *ctl, void *data, const char *operand)
{
	struct json_object *doc, *list;
	struct tune_session s;
	int ret;

	(void)operand;
	ret = tune_open(ctl, data, &s);
	if (!ret) {
		doc = ctl_schema(ctl);
		ctl_json_bool(doc, "ok", true);
		ctl_json_str(doc, "path", accel_tune_path(s.ctx));
		list = ctl_json_arr(doc, "entries");
		ret = accel_tune_list(s.ctx, export_one, list);
		if (ret) {
			json_object_put(doc);
			ret = tune_fail(&s, ret);
		} else {
			ctl_json_print(ctl, doc);
		}
	}
	tune_close(&s);
	return ret;
}

/* --- prune ----------------------------------------------------------------------- */

int cmd_tune_prune(struct ctl *ctl, void *data, const char *operand)
{
	const struct tune_opts *o = data;
	uint32_t states = 1u << ACCEL_TUNE_OTHER_CPU | 1u << ACCEL_TUNE_OTHER_VERSION |
			  1u << ACCEL_TUNE_CORRUPT;
	struct tune_session s;
	struct json_object *doc;
	uint64_t removed = 0;
	int ret;

	(void)operand;
	if (o->devices)
		states |= 1u << ACCEL_TUNE_OTHER_DEVICE;
	if (o->all)
		states = (1u << ACCEL_TUNE_STATE_COUNT) - 1;
	ret = tune_open(ctl, o, &s);
	if (ret)
		goto out;
	ret = accel_tune_prune(s.ctx, states, o->older * 86400, &removed);
	if (ret) {
		ret = tune_fail(&s, ret);
	} else if (ctl->json) {
		doc = ctl_schema(ctl);
		ctl_json_bool(doc, "ok", true);
		ctl_json_str(doc, "path", accel_tune_path(s.ctx));
		ctl_json_uint(doc, "removed", removed);
		ctl_json_print(ctl, doc);
	} else {
		printf("%llu removed from %s\n", (unsigned long long)removed,
		       accel_tune_path(s.ctx));
	}
out:
	tune_close(&s);
	return ret;
}

/* --- verify ---------------------------------------------------------------------- */

/**
 * struct verifying - entries that are measured again
 * @l: listing
 * @seen: valid entries so far
 * @sampled: entries that were measured again
 * @lost: entries whose winner is no longer as fast as the best
 * @open: entries that could not be measured
 * @old: entry that is being measured again
 * @verdict: its verdict
 * @now_ns: time of its winner now
 * @best_ns: time of the best now
 * @best: the best
 */
struct verifying {
	struct listing l;
	uint64_t seen;
	uint64_t sampled;
	uint64_t lost;
	uint64_t open;
	const struct accel_tune_entry *old;
	const char *verdict;
	uint64_t now_ns;
	uint64_t best_ns;
	char best[136];
};

static bool same_way(const struct accel_tune_candidate *a, const struct accel_tune_candidate *b)
{
	return !strcmp(a->algorithm, b->algorithm) && !strcmp(a->hint, b->hint);
}

static int compare(void *user, const struct accel_tune_entry *e)
{
	const struct accel_tune_candidate *was, *best = tune_find(e, ACCEL_TUNE_WINNER);
	struct verifying *v = user;
	uint32_t i;

	was = tune_find(v->old, ACCEL_TUNE_WINNER);
	v->best_ns = e->best_ns;
	tune_way(best, v->best);
	for (i = 0; i < e->candidate_count && !same_way(&e->candidates[i], was); i++)
		;
	v->now_ns = i < e->candidate_count ? e->candidates[i].ns : 0;
	v->verdict = v->now_ns && (double)v->now_ns <= HOLDS * (double)v->best_ns ? "holds" :
		     "no longer holds";
	return 0;
}

/* Is this entry part of a sample of @want of @count entries at equal distances? */
static bool is_sampled(uint64_t index, uint64_t want, uint64_t count)
{
	return want >= count || (index + 1) * want / count > index * want / count;
}

static int verify_one(void *user, const struct accel_tune_entry *e)
{
	struct accel_plan_opts opts = ACCEL_PLAN_OPTS_INIT;
	char was[136], old[16], now[16], best[16];
	struct verifying *v = user;
	struct tune_session *s = &v->l.s;
	struct json_object *o;
	int ret;

	if (e->state != ACCEL_TUNE_VALID || !e->desc ||
	    !is_sampled(v->seen++, s->opts->sample, v->l.count[ACCEL_TUNE_VALID]))
		return 0;
	if (ctl_interrupted())
		return ctl_fail(s->ctl, CTL_INTERRUPTED, 0, NULL, "interrupted");
	opts.flags = ACCEL_PLAN_TUNE_AGAIN | ACCEL_PLAN_TUNE_KEEP_OUT;
	opts.tune_budget_ms = (uint32_t)s->opts->budget_ms;
	v->old = e;
	v->verdict = "cannot be measured";
	v->now_ns = v->best_ns = 0;
	v->best[0] = 0;
	ret = accel_tune(s->ctx, e->desc, &opts, compare, v);
	v->sampled++;
	v->open += ret != 0;
	v->lost += !ret && !strcmp(v->verdict, "no longer holds");
	tune_way(tune_find(e, ACCEL_TUNE_WINNER), was);
	if (v->l.list) {
		o = ctl_json_obj(v->l.list, NULL);
		ctl_json_uint(o, "line", e->line);
		ctl_json_str(o, "words", e->words);
		ctl_json_str(o, "verdict", v->verdict);
		ctl_json_str(o, "way", was);
		ctl_json_uint(o, "then_ns", e->best_ns);
		ctl_json_uint(o, "now_ns", v->now_ns);
		ctl_json_str(o, "best_way", *v->best ? v->best : NULL);
		ctl_json_uint(o, "best_ns", v->best_ns);
		return 0;
	}
	ctl_grid_row(&v->l.table, "%s\t%s\t%s\t%s\t%s\t%s\t%s", v->verdict, e->words, was,
		     ctl_time(old, (double)e->best_ns / 1e9),
		     v->now_ns ? ctl_time(now, (double)v->now_ns / 1e9) : "-",
		     *v->best ? v->best : "-",
		     v->best_ns ? ctl_time(best, (double)v->best_ns / 1e9) : "-");
	return 0;
}

static int count_one(void *user, const struct accel_tune_entry *e)
{
	struct listing *l = user;

	l->count[e->state]++;
	return 0;
}

static void show_verified(struct verifying *v)
{
	const uint64_t *n = v->l.count;
	struct ctl *ctl = v->l.s.ctl;
	uint64_t corrupt = n[ACCEL_TUNE_CORRUPT];

	if (v->l.doc) {
		ctl_json_uint(v->l.doc, "valid", n[ACCEL_TUNE_VALID]);
		ctl_json_uint(v->l.doc, "foreign", total(&v->l) - corrupt - n[ACCEL_TUNE_VALID]);
		ctl_json_uint(v->l.doc, "corrupt", corrupt);
		ctl_json_uint(v->l.doc, "measured", v->sampled);
		ctl_json_uint(v->l.doc, "lost", v->lost);
		ctl_json_uint(v->l.doc, "not_measured", v->open);
		ctl_json_bool(v->l.doc, "ok", !corrupt && !v->lost);
		ctl_json_print(ctl, v->l.doc);
		v->l.doc = NULL;
		return;
	}
	if (v->sampled)
		ctl_grid_print(ctl, &v->l.table, 0);
	printf("%llu entries in %s: %llu valid, %llu of other machines or versions, %llu corrupt; %llu measured again, of which %llu no longer hold\n",
	       (unsigned long long)total(&v->l), accel_tune_path(v->l.s.ctx),
	       (unsigned long long)n[ACCEL_TUNE_VALID],
	       (unsigned long long)(total(&v->l) - corrupt - n[ACCEL_TUNE_VALID]),
	       (unsigned long long)corrupt, (unsigned long long)v->sampled,
	       (unsigned long long)v->lost);
}

int cmd_tune_verify(struct ctl *ctl, void *data, const char *operand)
{
	struct verifying v = { .l = { .table = { .right = 0x58 } } };
	int ret;

	(void)operand;
	ret = tune_open(ctl, data, &v.l.s);
	if (ret)
		goto out;
	if (ctl->json) {
		v.l.doc = ctl_schema(ctl);
		ctl_json_str(v.l.doc, "path", accel_tune_path(v.l.s.ctx));
		v.l.list = ctl_json_arr(v.l.doc, "entries");
	}
	ctl_grid_row(&v.l.table, "VERDICT\tOPERATION\tFASTEST THEN\tTIME\tNOW\tFASTEST NOW\tTIME");
	ret = accel_tune_list(v.l.s.ctx, count_one, &v.l);
	if (ret) {
		ret = tune_fail(&v.l.s, ret);
		goto out;
	}
	ret = accel_tune_list(v.l.s.ctx, verify_one, &v);
	if (ret) {
		ret = ret < 0 ? tune_fail(&v.l.s, ret) : ret;
		goto out;
	}
	show_verified(&v);
	if (v.l.count[ACCEL_TUNE_CORRUPT])
		ret = ctl_fail(ctl, CTL_MISMATCH, 0, NULL, "%llu entries are corrupt: accelctl tune prune removes them",
			       (unsigned long long)v.l.count[ACCEL_TUNE_CORRUPT]);
	else if (v.lost)
		ret = ctl_fail(ctl, CTL_MISMATCH, 0, NULL, "%llu entries no longer hold: measure them with accelctl tune run --again",
			       (unsigned long long)v.lost);
out:
	ctl_grid_clear(&v.l.table);
	json_object_put(v.l.doc);
	tune_close(&v.l.s);
	return ret;
}
