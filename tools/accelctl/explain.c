// SPDX-License-Identifier: MIT
/*
 * See explain.h.
 */
#include <errno.h>
#include <json-c/json.h>

#include "explain.h"

struct explanation {
	struct ctl *ctl;
	struct ctl_grid table;
	struct json_object *list;
	uint32_t chosen;
};

static int explain_one(void *user, const struct accel_candidate *c)
{
	static const char *const verdicts[] = { "chosen", "possible", "refused" };
	const char *verdict = c->verdict <= ACCEL_REFUSED ? verdicts[c->verdict] : "unknown";
	const char *engine = accel_engine_name(c->engine);
	const char *algorithm = c->algorithm && *c->algorithm ? c->algorithm : NULL;
	struct explanation *e = user;
	struct json_object *o, *instances;
	char time[16], bytes[16];
	uint32_t i;

	if (c->verdict == ACCEL_CHOSEN)
		e->chosen = c->engine;
	if (e->list) {
		o = ctl_json_obj(e->list, NULL);
		ctl_json_str(o, "engine", engine);
		instances = ctl_json_arr(o, "instances");
		for (i = 0; i < 32; i++)
			if (c->instances & 1u << i)
				ctl_json_uint(instances, NULL, i);
		ctl_json_str(o, "verdict", verdict);
		ctl_json_uint(o, "estimate_ns", c->estimate_ns);
		ctl_json_uint(o, "bytes", c->bytes);
		ctl_json_str(o, "algorithm", algorithm);
		ctl_json_str(o, "field", *c->field ? c->field : NULL);
		ctl_json_str(o, "text", c->text);
		ctl_json_str(o, "kernel", *c->kernel ? c->kernel : NULL);
		ctl_json_str(o, "kernel_text", *c->kernel_text ? c->kernel_text : NULL);
		return 0;
	}
	ctl_grid_row(&e->table, "%s\t%s\t%s\t%s\t%s\t%s\t%s%s%s%s%s",
		     engine ? engine : "?", verdict,
		     c->estimate_ns ? ctl_time(time, (double)c->estimate_ns / 1e9) : "-",
		     c->bytes ? ctl_bytes(bytes, c->bytes) : "-", algorithm ? algorithm : "-",
		     *c->kernel ? c->kernel : "-", c->field, *c->field ? ": " : "", c->text,
		     *c->kernel_text ? "; reference code: " : "", c->kernel_text);
	return 0;
}

int explain_show(struct ctl *ctl, const struct explain *what)
{
	struct accel_error error = ACCEL_ERROR_INIT;
	struct explanation e = { .ctl = ctl };
	struct accel_plan *plan = NULL;
	struct json_object *doc = NULL;
	int ret, reason;

	if (ctl->json) {
		doc = ctl_schema(ctl);
		e.list = ctl_json_arr(doc, "candidates");
	}
	ctl_grid_row(&e.table, "ENGINE\tVERDICT\tESTIMATE\tBYTES\tALGORITHM\tKERNEL\tREASON");
	e.table.right = 0xc;
	ret = accel_explain(what->ctx, what->desc, explain_one, &e);
	if (ret) {
		accel_ctx_get_error(what->ctx, &error);
		error.code = ret;
		ret = ctl_fail_error(ctl, ctl_status(ret), NULL, &error);
		goto out;
	}
	if (!e.chosen) {
		reason = accel_plan_create(what->ctx, what->plan, &plan);
		accel_ctx_get_error(what->ctx, &error);
		error.code = reason ? reason : -EOPNOTSUPP;
		ret = CTL_UNSUPPORTED;
	}
	if (ctl->json) {
		ctl_json_bool(doc, "ok", e.chosen);
		ctl_json_str(doc, "device", what->device->name);
		ctl_json_str(doc, "chip", what->device->profile);
		ctl_json_str(doc, "chosen", e.chosen ? accel_engine_name(e.chosen) : NULL);
		what->describe(doc, what->data);
		if (!e.chosen)
			json_object_object_add(doc, "error",
					       ctl_error_json(ret, error.code, error.field,
							      error.text, error.engine));
		ctl_json_print(ctl, doc);
		doc = NULL;
	} else {
		ctl_grid_print(ctl, &e.table, 0);
	}
	if (!e.chosen)
		ctl_fail_error(ctl, ret, NULL, &error);
out:
	ctl_grid_clear(&e.table);
	json_object_put(doc);
	accel_plan_unref(plan);
	return ret;
}
