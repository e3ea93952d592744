// SPDX-License-Identifier: MIT
/* Outputs of a model: compared with expected ones, their largest elements, written to a file. */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kfile.h"
#include "libaccel/tests/oracle/oracle.h"
#include "model.h"

/* Golden files may have only every SPARSE_STEP-th element of outputs of this size. */
#define SPARSE_FROM	200000
#define SPARSE_STEP	97
/* Errors that are no mistakes, if no option says */
#define IN_REALS	0.001
#define IN_BYTES	0.1

void verdict_of(uint32_t type, const void *data, uint64_t step, const struct npy *want,
		struct verdict *r)
{
	double largest = 0, w;
	uint64_t i;

	for (i = 0; i < want->count; i++) {
		w = npy_get(want, i, false);
		r->max_abs = fmax(r->max_abs, oracle_apart(element_get(type, data, i * step), w));
		/* Of an infinity any difference is nothing. */
		if (isfinite(w))
			largest = fmax(largest, fabs(w));
	}
	r->max_rel = r->max_abs > 0 ? r->max_abs / largest : 0;
}

void golden_compare(const struct accel_value *v, const void *data, const struct npy *want,
		    struct verdict *r)
{
	uint64_t count = 1, step = 1;
	bool same = want->rank == v->rank;
	uint32_t i;

	if (!element_descr(v->type)) {
		r->wrong = "its type is not compared";
		return;
	}
	for (i = 0; i < v->rank; i++) {
		count *= (uint64_t)v->dims[i];
		same = same && want->dims[i] == (uint64_t)v->dims[i];
	}
	if (!same && count >= SPARSE_FROM && want->rank == 1 &&
	    want->count == (count + SPARSE_STEP - 1) / SPARSE_STEP)
		step = SPARSE_STEP;
	if (!same && step == 1)
		r->wrong = "another shape than the golden one";
	else
		verdict_of(v->type, data, step, want, r);
}

/* --- how far it may be off --- */

struct document {
	struct json_tokener *tokener;
	struct json_object *doc;
};

static int take_text(void *user, const char *text, uint64_t bytes)
{
	struct document *d = user;

	if (bytes < INT_MAX)
		d->doc = json_tokener_parse_ex(d->tokener, text, (int)bytes);
	return 0;
}

/*
 * Are activations made bytes? What was compiled tells, whatever it came from. Where a rounding
 * goes the other way than in the golden run, a number differs by a step of its bytes, and so do
 * those that follow from it.
 */
static bool rounds(struct session *s)
{
	struct document d = { .tokener = json_tokener_new() };
	struct json_object *is = NULL;
	bool yes;

	if (!d.tokener)
		return false;
	accel_state_explain(s->state, ACCEL_TEXT_JSON, take_text, &d);
	json_object_object_get_ex(d.doc, "rounds", &is);
	yes = json_object_get_boolean(is);
	json_object_put(d.doc);
	json_tokener_free(d.tokener);
	return yes;
}

/* --- telling --- */

static int read_labels(struct session *s, char ***labels, size_t *count)
{
	FILE *f = fopen(s->opts->labels, "re");
	int err = f ? 0 : errno;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while (f && (n = getline(&line, &room, f)) >= 0) {
		while (n && (line[n - 1] == '\n' || line[n - 1] == '\r'))
			line[--n] = 0;
		*labels = realloc(*labels, (*count + 1) * sizeof(**labels));
		if (!*labels)
			abort();
		(*labels)[(*count)++] = text_clean(line);
		line = NULL;
		room = 0;
	}
	free(line);
	if (f && ferror(f))
		err = errno;
	if (f)
		fclose(f);
	return err ? ctl_fail(s->ctl, CTL_FAILED, -err, "--labels", "%s: %s", s->opts->labels,
			      strerror(err)) : CTL_OK;
}

/* NaN is first, as for topk. */
static bool more(double x, double y)
{
	return isnan(x) ? !isnan(y) : x > y;
}

/* The largest elements of each row, in their order */
static void tell_top(struct session *s, const struct accel_value *v, const void *data,
		     struct json_object *o, char **labels, size_t label_count)
{
	const uint64_t n = v->rank ? (uint64_t)v->dims[v->rank - 1] : 1;
	const uint64_t want = s->opts->top ? s->opts->top : 5, k = want < n ? want : n;
	struct json_object *rows = o ? ctl_json_arr(o, "top") : NULL, *row, *e;
	uint64_t count = 1, at, i, j, *best = ctl_alloc(k + 1, sizeof(*best));
	const char *label;
	double x;

	for (i = 0; i < v->rank; i++)
		count *= (uint64_t)v->dims[i];
	for (at = 0; n && at < count; at += n) {
		uint64_t have = 0;

		for (i = 0; i < n; i++) {
			x = element_get(v->type, data, at + i);
			for (j = have; j; j--) {
				if (!more(x, element_get(v->type, data, at + best[j - 1])))
					break;
				if (j < k)
					best[j] = best[j - 1];
			}
			if (j < k)
				best[j] = i;
			have += j < k && have < k;
		}
		row = rows ? ctl_json_arr(rows, NULL) : NULL;
		for (j = 0; j < have; j++) {
			x = element_get(v->type, data, at + best[j]);
			label = best[j] < label_count ? labels[best[j]] : NULL;
			if (row) {
				e = ctl_json_obj(row, NULL);
				ctl_json_uint(e, "index", best[j]);
				ctl_json_real(e, "value", x);
				ctl_json_str(e, "label", label);
			} else {
				printf("  %" PRIu64 ": %" PRIu64 " %s%s%.6g\n", n ? at / n : 0,
				       best[j], label ? label : "", label ? " " : "", x);
			}
		}
	}
	free(best);
}

static struct json_object *tell_output(struct session *s, const struct accel_value *v,
				       const struct verdict *r, struct json_object *list)
{
	struct json_object *o = list ? ctl_json_obj(list, NULL) : NULL, *dims;
	char *name = model_text(v->name);
	uint32_t i;

	if (o) {
		ctl_json_str(o, "name", name);
		ctl_json_str(o, "type", accel_type_name(v->type));
		dims = ctl_json_arr(o, "dims");
		for (i = 0; i < v->rank; i++)
			ctl_json_int(dims, NULL, v->dims[i]);
		if (s->opts->golden) {
			ctl_json_bool(o, "ok", !r->wrong && r->max_rel <= r->most);
			ctl_json_real(o, "max_abs_error", r->wrong ? NAN : r->max_abs);
			ctl_json_real(o, "max_rel_error", r->wrong ? NAN : r->max_rel);
			if (r->wrong)
				ctl_json_str(o, "wrong", r->wrong);
		}
		free(name);
		return o;
	}
	printf("%s: %s[", name, accel_type_name(v->type));
	free(name);
	for (i = 0; i < v->rank; i++)
		printf("%s%" PRId64, i ? "," : "", v->dims[i]);
	printf("]");
	if (s->opts->golden && r->wrong)
		printf(", WRONG: %s", r->wrong);
	else if (s->opts->golden)
		printf(", largest error %.3g, %.3g of the largest number%s", r->max_abs, r->max_rel,
		       r->max_rel <= r->most ? "" : ": WRONG");
	printf("\n");
	return NULL;
}

int outputs_tell(struct session *s, struct json_object *doc, bool *good)
{
	struct json_object *list = doc ? ctl_json_arr(doc, "outputs") : NULL, *o;
	struct accel_value v = ACCEL_VALUE_INIT;
	size_t label_count = 0, n;
	const struct npy *want;
	char **labels = NULL;
	const void *data;
	const bool given = !isnan(s->opts->tolerance);
	const bool bytes = s->opts->golden && !given && rounds(s);
	const double most = given ? s->opts->tolerance : bytes ? IN_BYTES : IN_REALS;
	uint32_t i;
	int ret = s->opts->labels ? read_labels(s, &labels, &label_count) : CTL_OK;

	*good = true;
	for (i = 0; !ret && !accel_state_get_output(s->state, i, &v, &data); i++) {
		struct verdict r = { .most = most };

		want = s->opts->golden ? npz_find(&s->golden, "out.", v.name ? v.name : "") : NULL;
		if (want)
			golden_compare(&v, data, want, &r);
		else if (s->opts->golden)
			r.wrong = "the golden file has no such output";
		*good &= !r.wrong && r.max_rel <= r.most;
		o = tell_output(s, &v, &r, list);
		if ((s->opts->top || s->opts->labels) && element_descr(v.type))
			tell_top(s, &v, data, o, labels, label_count);
	}
	if (s->opts->golden && doc)
		ctl_json_real(doc, "tolerance", most);
	else if (bytes && !ret)
		printf("activations are rounded to bytes, so errors up to %g are right\n", most);
	for (n = 0; n < label_count; n++)
		free(labels[n]);
	free(labels);
	return ret;
}

int outputs_save(struct session *s)
{
	struct accel_value v = ACCEL_VALUE_INIT;
	uint64_t dims[ACCEL_GRAPH_MAX_RANK];
	struct npz_writer w;
	const void *data;
	uint32_t i, k;
	int ret, end;

	ret = npz_open(s->opts->out, &w);
	if (ret)
		return ctl_fail(s->ctl, CTL_FAILED, ret, "--out", "%s: %s", s->opts->out,
				strerror(-ret));
	for (i = 0; !ret && !accel_state_get_output(s->state, i, &v, &data); i++) {
		for (k = 0; k < v.rank; k++)
			dims[k] = (uint64_t)v.dims[k];
		ret = element_descr(v.type) ?
		      npz_put(&w, v.name ? v.name : "", element_descr(v.type),
			      accel_type_bits(v.type) / 8, v.rank, dims, data) : -EOPNOTSUPP;
	}
	end = npz_close(&w);
	ret = ret ? ret : end;
	return ret ? ctl_fail(s->ctl, CTL_FAILED, ret, "--out", "%s: %s", s->opts->out,
			      strerror(-ret)) : CTL_OK;
}
