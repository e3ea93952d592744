// SPDX-License-Identifier: MIT
/*
 * model compare
 */
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

/**
 * struct pair - two models
 * @ctl: invocation
 * @opts: options
 * @paths: of both
 * @names: results that both have
 * @ops: operators of the first that give them
 * @count: their number
 * @gaps: errors of outputs, then of these
 */
struct pair {
	struct ctl *ctl;
	const struct model_opts *opts;
	const char *paths[2];
	char **names;
	char **ops;
	uint32_t count;
	struct gap *gaps;
};

/* Numbers that are compared: none of constants, of shapes, or of less than a byte */
static bool is_seen(struct accel_model *model, const struct accel_model_result *r,
		    struct accel_value *v)
{
	*v = (struct accel_value)ACCEL_VALUE_INIT;
	return strcmp(r->op, "Constant") &&
	       !accel_graph_get_value(accel_model_graph(model), r->value, v) &&
	       element_real(v->type);
}

static bool has_result(struct accel_model *model, const char *name, uint32_t rank)
{
	struct accel_model_result r = { .size = sizeof(r) };
	struct accel_value v;
	uint32_t i;

	for (i = 0; !accel_model_get_result(model, i, &r); i++)
		if (!strcmp(r.name, name))
			return is_seen(model, &r, &v) && v.rank == rank;
	return false;
}

static int find_common(struct pair *p)
{
	struct accel_model_result r = { .size = sizeof(r) };
	struct accel_model *models[2] = { NULL };
	struct accel_model_info info[2] = { { .size = sizeof(info[0]) },
					    { .size = sizeof(info[0]) } };
	struct accel_value v;
	uint32_t i;
	int ret = session_model(p->ctl, p->opts, p->paths[0], &models[0]);

	if (!ret)
		ret = session_model(p->ctl, p->opts, p->paths[1], &models[1]);
	for (i = 0; !ret && !accel_model_get_result(models[0], i, &r); i++) {
		if (!is_seen(models[0], &r, &v) || !has_result(models[1], r.name, v.rank))
			continue;
		p->names = realloc(p->names, (p->count + 1) * sizeof(*p->names));
		p->ops = realloc(p->ops, (p->count + 1) * sizeof(*p->ops));
		if (!p->names || !p->ops)
			abort();
		p->names[p->count] = strdup(r.name);
		p->ops[p->count++] = strdup(r.op);
	}
	if (!ret) {
		accel_model_get_info(models[0], &info[0]);
		accel_model_get_info(models[1], &info[1]);
		if (info[0].output_count != info[1].output_count)
			ret = ctl_fail(p->ctl, CTL_USAGE, 0, p->paths[1],
				       "it has %u outputs, the other has %u",
				       info[1].output_count, info[0].output_count);
	}
	accel_model_close(models[0]);
	accel_model_close(models[1]);
	return ret;
}

/* Find the first layer whose error exceeds the limit, and the number of such outputs */
static void judge(const struct pair *p, uint32_t own, uint32_t *first, uint32_t *bad)
{
	uint32_t i;

	*bad = 0;
	for (i = 0; i < own; i++)
		*bad += gap_share(&p->gaps[i]) > p->opts->tolerance;
	for (i = 0; i < p->count; i++)
		if (gap_share(&p->gaps[own + i]) > p->opts->tolerance)
			break;
	*first = i;
}

static void tell_json(struct pair *p, struct probe *a)
{
	struct json_object *doc = ctl_schema(p->ctl), *list, *o;
	struct accel_value v = ACCEL_VALUE_INIT;
	const void *data;
	uint32_t i, first, bad;

	judge(p, a->own, &first, &bad);
	ctl_json_bool(doc, "ok", !bad);
	if (first < p->count)
		model_json(doc, "part_at", p->names[first]);
	else
		ctl_json_str(doc, "part_at", NULL);
	list = ctl_json_arr(doc, "outputs");
	for (i = 0; i < a->own; i++) {
		accel_state_get_output(a->s.state, i, &v, &data);
		o = ctl_json_obj(list, NULL);
		model_json(o, "name", v.name);
		ctl_json_real(o, "rms_rel_error", gap_share(&p->gaps[i]));
		ctl_json_real(o, "max_abs_error", p->gaps[i].largest);
	}
	list = ctl_json_arr(doc, "layers");
	for (i = 0; i < p->count; i++) {
		o = ctl_json_obj(list, NULL);
		model_json(o, "name", p->names[i]);
		model_json(o, "op", p->ops[i]);
		ctl_json_real(o, "rms_rel_error", gap_share(&p->gaps[a->own + i]));
		ctl_json_real(o, "max_abs_error", p->gaps[a->own + i].largest);
	}
	ctl_json_print(p->ctl, doc);
}

static void tell_text(struct pair *p, struct probe *a)
{
	struct ctl_grid table = { .right = 0xc };
	struct accel_value v = ACCEL_VALUE_INIT;
	const void *data;
	uint32_t i, first, bad;
	double share, most = -1;
	char *name;

	judge(p, a->own, &first, &bad);
	ctl_grid_row(&table, "RESULT\tOPERATOR\tERROR\tLARGEST");
	for (i = 0; i < p->count; i++) {
		share = gap_share(&p->gaps[a->own + i]);
		if (share <= most && i != first && !p->opts->all)
			continue;
		most = share > most ? share : most;
		ctl_grid_row(&table, "%s\t%s\t%.3g\t%.3g", p->names[i], p->ops[i], share,
			     p->gaps[a->own + i].largest);
	}
	ctl_grid_print(p->ctl, &table, 0);
	for (i = 0; i < a->own; i++) {
		accel_state_get_output(a->s.state, i, &v, &data);
		name = model_text(v.name);
		if (p->gaps[i].wrong)
			printf("output %s: the other has another shape\n", name);
		else
			printf("output %s: error %.3g of it, largest %.3g\n", name,
			       gap_share(&p->gaps[i]), p->gaps[i].largest);
		free(name);
	}
	name = first < p->count ? model_text(p->names[first]) : NULL;
	if (!p->count)
		printf("they have no result in common\n");
	else if (name)
		printf("they part at %s (%s), result %u of %u that both have\n", name,
		       p->ops[first], first + 1, p->count);
	else
		printf("they do not part: %u results that both have are the same within %.3g\n",
		       p->count, p->opts->tolerance);
	free(name);
}

static int compare(struct pair *p)
{
	const char *second = p->opts->with_device ? p->opts->with_device : p->ctl->device;
	const char *const *names = (const char *const *)p->names;
	struct probe a = { 0 }, b = { 0 };
	struct samples none = { 0 };
	struct model_opts other;
	uint32_t first, bad = 0;
	int ret;

	memcpy(&other, p->opts, sizeof(other));
	/* Both get the same. */
	other.pictures = p->paths[0];
	if (other.with_level <= 3)
		other.level = other.with_level;
	if (other.with_dtype != MODEL_SAME)
		other.dtype = other.with_dtype;
	ret = probe_open(&a, p->ctl, p->opts, p->ctl->device, p->paths[0], names, p->count);
	if (!ret)
		ret = probe_open(&b, p->ctl, &other, second, p->paths[1], names, p->count);
	if (!ret) {
		p->gaps = ctl_alloc((size_t)a.own + p->count + 1, sizeof(*p->gaps));
		ret = probe_gaps(&a, &b, &none, p->gaps, a.own + p->count);
	}
	if (!ret && p->ctl->json)
		tell_json(p, &a);
	else if (!ret)
		tell_text(p, &a);
	if (!ret)
		judge(p, a.own, &first, &bad);
	session_close(&a.s);
	session_close(&b.s);
	return ret ? ret : bad ? CTL_MISMATCH : CTL_OK;
}

int cmd_model_compare(struct ctl *ctl, void *data, const char *operand)
{
	struct pair p = { .ctl = ctl, .opts = data };
	uint32_t i;
	int ret = CTL_OK;

	(void)operand;
	p.paths[0] = ctl->rest[0];
	p.paths[1] = p.paths[0] && ctl->rest[1] ? ctl->rest[1] : p.paths[0];
	if (!p.paths[0])
		ret = ctl_fail(ctl, CTL_USAGE, 0, "FILE", "which model?");
	else if (ctl->rest[1] && ctl->rest[2])
		ret = ctl_fail(ctl, CTL_USAGE, 0, ctl->rest[2], "is not expected");
	else if (!ctl->rest[1] && !p.opts->with_device && p.opts->with_level > 3 &&
		 p.opts->with_dtype == MODEL_SAME)
		ret = ctl_fail(ctl, CTL_USAGE, 0, "FILE",
			       "with what? A model, or one of --with-device, --with-level and --with-dtype is missing");
	if (!ret)
		ret = find_common(&p);
	if (!ret)
		ret = compare(&p);
	for (i = 0; i < p.count; i++) {
		free(p.names[i]);
		free(p.ops[i]);
	}
	free(p.names);
	free(p.ops);
	free(p.gaps);
	return ret;
}
