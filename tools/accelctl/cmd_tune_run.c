// SPDX-License-Identifier: MIT
/*
 * tune run gemm, tune run conv, tune run attention, tune run op
 */
#include <errno.h>
#include <json-c/json.h>

#include "tuning.h"

struct tuned {
	struct tune_session s;
	struct json_object *list;
	uint32_t count;
};

static const char *role(const struct accel_tune_candidate *c)
{
	if (c->flags & ACCEL_TUNE_WINNER)
		return c->flags & ACCEL_TUNE_DEFAULT ? "fastest, untuned" : "fastest";
	if (c->flags & ACCEL_TUNE_FAILED)
		return "too slow";
	if (c->flags & ACCEL_TUNE_DEFAULT)
		return "untuned";
	return c->flags & ACCEL_TUNE_DROPPED ? "dropped" : "";
}

static int show(void *user, const struct accel_tune_entry *e)
{
	struct ctl_grid table = { .right = 0xc };
	struct tuned *t = user;
	struct ctl *ctl = t->s.ctl;
	char time[16];
	uint32_t i;

	t->count++;
	if (t->list) {
		tune_json(t->list, e);
		return 0;
	}
	printf("%s%s%s, on %s (%s), %u threads: %s, %.2f times as fast as untuned\n",
	       ctl_tone(ctl, CTL_HEAD), e->words, ctl_tone(ctl, CTL_PLAIN), t->s.info.name,
	       t->s.info.profile, e->threads, e->cached ? "known" : "measured",
	       e->best_ns ? (double)e->default_ns / (double)e->best_ns : 1);
	ctl_grid_row(&table, "WAY\tHINT\tTIME\tSAMPLES\t");
	for (i = 0; i < e->candidate_count; i++) {
		const struct accel_tune_candidate *c = &e->candidates[i];

		ctl_grid_row(&table, "%s\t%s\t%s\t%u\t%s", c->algorithm, *c->hint ? c->hint : "-",
			     c->ns ? ctl_time(time, (double)c->ns / 1e9) : "-", c->samples,
			     role(c));
	}
	ctl_grid_print(ctl, &table, 2);
	return 0;
}

static int tune(struct ctl *ctl, const struct tune_opts *o, const struct accel_desc *desc)
{
	struct accel_plan_opts opts = ACCEL_PLAN_OPTS_INIT;
	struct tuned t = { .count = 0 };
	struct json_object *doc = NULL;
	int ret;

	ret = tune_open(ctl, o, &t.s);
	if (ret)
		goto out;
	if (ctl->json) {
		doc = ctl_schema(ctl);
		ctl_json_bool(doc, "ok", true);
		ctl_json_str(doc, "path", accel_tune_path(t.s.ctx));
		t.list = ctl_json_arr(doc, "entries");
	}
	opts.tune_budget_ms = (uint32_t)o->budget_ms;
	opts.flags = (o->again ? ACCEL_PLAN_TUNE_AGAIN : 0) |
		     (o->dry ? ACCEL_PLAN_TUNE_KEEP_OUT : 0);
	ret = accel_tune(t.s.ctx, desc, &opts, show, &t);
	/* One way only is no failure, and nothing to write down. */
	if (ret && (ret != -ENOENT || t.count)) {
		ret = tune_fail(&t.s, ret);
		goto out;
	}
	if (ctl->json) {
		ctl_json_print(ctl, doc);
		doc = NULL;
	} else if (ret) {
		printf("there is one way to do it on %s: nothing to measure\n", t.s.info.name);
	}
	ret = CTL_OK;
out:
	json_object_put(doc);
	tune_close(&t.s);
	return ret;
}

int cmd_tune_gemm(struct ctl *ctl, void *data, const char *operand)
{
	const struct tune_opts *o = data;
	struct gemm g;
	int ret;

	(void)operand;
	ret = gemm_init(ctl, &o->op.gemm, &g);
	if (!ret)
		ret = tune(ctl, o, &g.desc.hdr);
	gemm_fini(&g);
	return ret;
}

int cmd_tune_conv(struct ctl *ctl, void *data, const char *operand)
{
	const struct tune_opts *o = data;
	struct conv c;
	int ret;

	(void)operand;
	ret = conv_init(ctl, &o->op.conv, &c);
	if (!ret) {
		conv_describe(&c);
		if (o->pack || o->winograd)
			c.desc.flags |= ACCEL_CONV_PACK_B;
		if (o->winograd)
			c.desc.flags |= ACCEL_CONV_WINOGRAD;
		ret = tune(ctl, o, &c.desc.hdr);
	}
	conv_fini(&c);
	return ret;
}

int cmd_tune_attention(struct ctl *ctl, void *data, const char *operand)
{
	const struct tune_opts *o = data;
	struct attn a;
	int ret;

	(void)operand;
	ret = attn_init(ctl, &o->op.attn, &a);
	if (!ret)
		ret = tune(ctl, o, &a.desc.hdr);
	attn_fini(&a);
	return ret;
}

int cmd_tune_op(struct ctl *ctl, void *data, const char *operand)
{
	const struct tune_opts *o = data;
	struct op op;
	int ret;

	ret = op_init(ctl, operand, &o->op.op, &op);
	if (!ret)
		ret = tune(ctl, o, &op.desc.hdr);
	op_fini(&op);
	return ret;
}
