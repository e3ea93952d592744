// SPDX-License-Identifier: MIT
/*
 * model quantize
 */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"
#include "probe.h"
#include "progress.h"

/**
 * struct candidate - a layer that can be quantised
 * @name: name of its result
 * @node: name of its node
 * @op: operator
 * @weights: elements of its constant
 * @kept: not quantised, by request of the caller
 * @own: error of its result with exact inputs
 * @whole: error of its result in the quantised model
 * @order: number of layers with larger errors of their own
 */
struct candidate {
	char *name;
	char *node;
	char *op;
	uint64_t weights;
	bool kept;
	double own;
	double whole;
	uint32_t order;
};

/**
 * struct work - a model that is being quantised
 * @ctl: invocation
 * @opts: options
 * @path: model
 * @part: file that candidates of the result are written to
 * @layers: layers that there are
 * @count: their number
 * @inputs: values that need ranges
 * @input_count: their number
 * @ranges: their ranges
 * @samples: inputs
 * @before: the model
 * @gaps: errors of outputs, then of layers
 * @dropped: layers that stay as they are, those that lose most first
 * @threshold: error that an output may have
 */
struct work {
	struct ctl *ctl;
	const struct model_opts *opts;
	const char *path;
	char *part;
	struct candidate *layers;
	uint32_t count;
	char **inputs;
	uint32_t input_count;
	struct accel_model_range *ranges;
	struct samples samples;
	struct probe before;
	struct gap *gaps;
	uint32_t dropped;
	double threshold;
};

/* --- layers --- */

static void *more_of(void *list, uint32_t count, size_t size)
{
	void *more = realloc(list, (count + 1) * size);

	if (!more)
		abort();
	return more;
}

static char *copy(const char *text)
{
	char *s = strdup(text);

	if (!s)
		abort();
	return s;
}

static int take_layer(void *user, const struct accel_model_layer *layer)
{
	struct work *w = user;
	struct candidate *c;
	uint32_t i, k;

	w->layers = more_of(w->layers, w->count, sizeof(*w->layers));
	c = &w->layers[w->count++];
	*c = (struct candidate) { copy(layer->name), copy(layer->node), copy(layer->op),
				  layer->weights, false, 0, 0, 0 };
	for (i = 0; i < w->opts->keep.count; i++)
		c->kept |= !strcmp(c->name, w->opts->keep.v[i]) ||
			   !strcmp(c->node, w->opts->keep.v[i]);
	for (i = 0; i < layer->input_count; i++) {
		for (k = 0; k < w->input_count; k++)
			if (!strcmp(w->inputs[k], layer->inputs[i]))
				break;
		if (k < w->input_count)
			continue;
		w->inputs = more_of(w->inputs, w->input_count, sizeof(*w->inputs));
		w->inputs[w->input_count++] = copy(layer->inputs[i]);
	}
	return 0;
}

/* Write the model; layers of so high an order, and more, are quantised. */
static int write_part(struct work *w, uint32_t flags, uint32_t dropped)
{
	struct accel_model_quantize_opts o = ACCEL_MODEL_QUANTIZE_OPTS_INIT(w->opts->scheme + 1);
	const char **keep = ctl_alloc((size_t)w->count + 1, sizeof(*keep));
	struct accel_error error = ACCEL_ERROR_INIT;
	uint32_t i;
	int ret;

	o.flags = flags;
	o.ranges = w->ranges;
	o.range_count = w->ranges ? w->input_count : 0;
	o.keep = keep;
	for (i = 0; i < w->count; i++)
		if (w->layers[i].kept || w->layers[i].order < dropped)
			keep[o.keep_count++] = w->layers[i].name;
	ret = accel_model_quantize(w->path, &o, w->part, &error);
	free(keep);
	return ret ? ctl_fail_error(w->ctl, ctl_status(ret), w->path, &error) : CTL_OK;
}

static int find_ranges(struct work *w)
{
	struct probe p = { 0 };
	uint32_t i;
	int ret;

	ret = probe_open(&p, w->ctl, w->opts, w->ctl->device, w->path,
			 (const char *const *)w->inputs, w->input_count);
	if (!ret) {
		w->ranges = ctl_alloc((size_t)w->input_count + 1, sizeof(*w->ranges));
		for (i = 0; i < w->input_count; i++)
			w->ranges[i].name = w->inputs[i];
		ret = calibrate(&p, &w->samples, w->ranges, w->input_count);
	}
	session_close(&p.s);
	return ret;
}

/* Determine the error of each layer with the inputs of the original model */
static int find_own(struct work *w)
{
	const char **names = ctl_alloc((size_t)w->count * 2 + 1, sizeof(*names));
	struct gap *gaps = ctl_alloc((size_t)w->count + 1, sizeof(*gaps));
	struct probe p = { 0 };
	uint32_t i, n = 0, k;
	char *name;
	int ret = write_part(w, ACCEL_MODEL_BESIDE, 0);

	for (i = 0; i < w->count; i++) {
		if (w->layers[i].kept)
			continue;
		if (asprintf(&name, "%s%s", w->layers[i].name, ACCEL_MODEL_BESIDE_NAME) < 0)
			abort();
		names[2 * n] = w->layers[i].name;
		names[2 * n++ + 1] = name;
	}
	if (!ret)
		ret = probe_open(&p, w->ctl, w->opts, w->ctl->device, w->part, names, 2 * n);
	for (i = 0; i < samples_all(&w->samples) && !ret; i++) {
		ctl_progress("each layer", i, samples_all(&w->samples));
		ret = probe_run(&p, &w->samples, i);
		for (k = 0; k < n && !ret; k++)
			gap_add(&gaps[k], &p, p.own + 2 * k, &p, p.own + 2 * k + 1);
		if (!ret && ctl_interrupted())
			ret = CTL_INTERRUPTED;
	}
	ctl_progress("each layer", 1, 1);
	for (i = k = 0; i < w->count && !ret; i++)
		if (!w->layers[i].kept)
			w->layers[i].own = gap_share(&gaps[k++]);
	session_close(&p.s);
	for (i = 0; i < n; i++)
		free((void *)(uintptr_t)names[2 * i + 1]);
	free(names);
	free(gaps);
	return ret;
}

static void put_in_order(struct work *w)
{
	uint32_t i, k;

	for (i = 0; i < w->count; i++) {
		w->layers[i].order = 0;
		for (k = 0; k < w->count; k++)
			w->layers[i].order += w->layers[k].own > w->layers[i].own ||
					      (w->layers[k].own == w->layers[i].own && k < i);
	}
}

/* --- the model --- */

static double worst_output(const struct work *w)
{
	double worst = 0, share;
	uint32_t i;

	for (i = 0; i < w->before.own; i++) {
		share = gap_share(&w->gaps[i]);
		worst = share > worst ? share : worst;
	}
	return worst;
}

/* Errors of the model with @dropped layers that are not quantised */
static int try(struct work *w, uint32_t dropped, bool *good)
{
	const char **names = ctl_alloc((size_t)w->count + 1, sizeof(*names));
	struct probe p = { 0 };
	uint32_t i;
	int ret = write_part(w, 0, dropped);

	for (i = 0; i < w->count; i++)
		names[i] = w->layers[i].name;
	if (!ret)
		ret = probe_open(&p, w->ctl, w->opts, w->ctl->device, w->part, names, w->count);
	if (!ret)
		ret = probe_gaps(&w->before, &p, &w->samples, w->gaps, w->before.own + w->count);
	session_close(&p.s);
	free(names);
	*good = !ret && worst_output(w) <= w->threshold;
	w->dropped = dropped;
	return ret;
}

/* As few layers stay as they were as there have to be. */
static int find_mixture(struct work *w)
{
	uint32_t low = 0, high = 1, mid;
	bool good;
	int ret = try(w, 0, &good);

	if (ret || good)
		return ret;
	for (;;) {
		high = high < w->count ? high : w->count;
		ctl_progress("mixing", high, w->count + 1);
		ret = try(w, high, &good);
		if (ret || good || high == w->count)
			break;
		low = high;
		high *= 2;
	}
	while (!ret && high - low > 1) {
		mid = (low + high) / 2;
		ret = try(w, mid, &good);
		if (good)
			high = mid;
		else
			low = mid;
	}
	if (!ret && w->dropped != high)
		ret = try(w, high, &good);
	ctl_progress("mixing", 1, 1);
	return ret;
}

/* --- telling --- */

static uint64_t file_bytes(const char *path)
{
	struct accel_model_info info = { .size = sizeof(info) };
	struct accel_model *model = NULL;

	if (!accel_model_open(path, NULL, &model))
		accel_model_get_info(model, &info);
	accel_model_close(model);
	return info.file_bytes;
}

static const char *precision(const struct work *w, const struct candidate *c)
{
	static const char *const names[] = {
		[ACCEL_MODEL_DYNAMIC] = "8 bits", [ACCEL_MODEL_STATIC] = "8 bits",
		[ACCEL_MODEL_BITS4] = "4 bits", [ACCEL_MODEL_PRUNE24] = "2 of 4",
		[ACCEL_MODEL_PALETTE256] = "256 numbers", [ACCEL_MODEL_PALETTE16] = "16 numbers"
	};

	return c->kept || c->order < w->dropped ? "float" : names[w->opts->scheme + 1];
}

static void tell_json(struct work *w, uint64_t was, uint64_t is)
{
	struct json_object *doc = ctl_schema(w->ctl), *list, *o;
	struct accel_value v = ACCEL_VALUE_INIT;
	const struct candidate *c;
	const void *data;
	uint32_t i;

	ctl_json_bool(doc, "ok", true);
	ctl_json_uint(doc, "file_bytes_before", was);
	ctl_json_uint(doc, "file_bytes", is);
	ctl_json_uint(doc, "samples", samples_all(&w->samples));
	ctl_json_real(doc, "threshold", w->threshold);
	list = ctl_json_arr(doc, "outputs");
	for (i = 0; i < w->before.own; i++) {
		accel_state_get_output(w->before.s.state, i, &v, &data);
		o = ctl_json_obj(list, NULL);
		model_json(o, "name", v.name);
		ctl_json_real(o, "rms_rel_error", gap_share(&w->gaps[i]));
		ctl_json_real(o, "max_abs_error", w->gaps[i].largest);
		ctl_json_uint(o, "rows", w->gaps[i].rows);
		ctl_json_uint(o, "same_largest", w->gaps[i].same);
	}
	list = ctl_json_arr(doc, "layers");
	for (i = 0; i < w->count; i++) {
		c = &w->layers[i];
		o = ctl_json_obj(list, NULL);
		model_json(o, "name", c->name);
		model_json(o, "node", c->node);
		ctl_json_str(o, "op", c->op);
		ctl_json_uint(o, "weights", c->weights);
		ctl_json_str(o, "precision", precision(w, c));
		ctl_json_real(o, "own_error", c->own);
		ctl_json_real(o, "error", c->whole);
	}
	ctl_json_print(w->ctl, doc);
}

static void tell_text(struct work *w, uint64_t was, uint64_t is)
{
	struct ctl_grid table = { .right = 0x3c };
	struct accel_value v = ACCEL_VALUE_INIT;
	const struct candidate *c;
	uint32_t i, floats = 0;
	const void *data;
	char a[16], b[16], *name;

	ctl_grid_row(&table, "LAYER\tOPERATOR\tWEIGHTS\tBY ITSELF\tERROR\tIN");
	for (i = 0; i < w->count; i++) {
		c = &w->layers[i];
		floats += c->kept || c->order < w->dropped;
		ctl_grid_row(&table, "%s\t%s\t%llu\t%.3g\t%.3g\t%s",
			     c->node[0] ? c->node : c->name, c->op, (unsigned long long)c->weights,
			     c->own, c->whole, precision(w, c));
	}
	ctl_grid_print(w->ctl, &table, 0);
	for (i = 0; i < w->before.own; i++) {
		accel_state_get_output(w->before.s.state, i, &v, &data);
		name = model_text(v.name);
		printf("output %s: error %.3g of it, largest %.3g", name,
		       gap_share(&w->gaps[i]), w->gaps[i].largest);
		free(name);
		if (w->gaps[i].rows)
			printf(", largest element in the same place in %llu of %llu rows",
			       (unsigned long long)w->gaps[i].same,
			       (unsigned long long)w->gaps[i].rows);
		printf("\n");
	}
	printf("%u of %u layers stay as they were; files of %s became %s\n", floats, w->count,
	       ctl_bytes(a, was), ctl_bytes(b, is));
}

static int finish(struct work *w)
{
	uint64_t was = file_bytes(w->path), is;
	uint32_t i;

	for (i = 0; i < w->count; i++)
		w->layers[i].whole = gap_share(&w->gaps[w->before.own + i]);
	if (rename(w->part, w->opts->out))
		return ctl_fail(w->ctl, CTL_FAILED, -errno, "--out", "%s: %s", w->opts->out,
				strerror(errno));
	is = file_bytes(w->opts->out);
	if (w->ctl->json)
		tell_json(w, was, is);
	else
		tell_text(w, was, is);
	return CTL_OK;
}

/* --- all of it --- */

/* Options are for ONNX files, or, with --type, for folders and GGUF files. */
static int check_kind(struct ctl *ctl, const struct model_opts *o)
{
	const struct {
		const char *name;
		bool given, typed;
	} options[] = {
		{ "--scheme", o->scheme, false }, { "--calibrate", o->samples.count, false },
		{ "--threshold", o->threshold > 0, false }, { "--keep", o->keep.count, false },
		{ "--input", o->inputs.count, false }, { "--golden", o->golden, false },
		{ "--table-type", o->table_type, true }, { "--tokenizer", o->tokenizer, true },
		{ "--text", o->text, true }, { "--limit", o->limit, true },
		{ "--imatrix", o->imatrix, true }, { "--imatrix-from", o->imatrix_from, true },
		{ "--imatrix-out", o->imatrix_out, true }
	};
	uint32_t i;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i].given && options[i].typed != !!o->type)
			return ctl_fail(ctl, CTL_USAGE, 0, options[i].name, o->type ?
					"is for ONNX files, which take no --type" :
					"is for folders and GGUF files, which take --type");
	return CTL_OK;
}

/* A misspelt layer would be quantised. */
static int check_kept(const struct work *w)
{
	const struct ctl_strings *keep = &w->opts->keep;
	uint32_t i, k;

	for (i = 0; i < keep->count; i++) {
		for (k = 0; k < w->count; k++)
			if (!strcmp(w->layers[k].name, keep->v[i]) ||
			    !strcmp(w->layers[k].node, keep->v[i]))
				break;
		if (k == w->count)
			return ctl_fail(w->ctl, CTL_USAGE, 0, "--keep",
					"no layer that this scheme quantises is called %s",
					keep->v[i]);
	}
	return CTL_OK;
}

static int start(struct work *w)
{
	static const double most[] = {
		[ACCEL_MODEL_DYNAMIC] = 0.1, [ACCEL_MODEL_STATIC] = 0.1,
		[ACCEL_MODEL_BITS4] = 0.25, [ACCEL_MODEL_PRUNE24] = 0.4,
		[ACCEL_MODEL_PALETTE256] = 0.1, [ACCEL_MODEL_PALETTE16] = 0.25
	};
	struct accel_model_quantize_opts o = ACCEL_MODEL_QUANTIZE_OPTS_INIT(w->opts->scheme + 1);
	const bool fixed = o.scheme == ACCEL_MODEL_STATIC;
	struct accel_error error = ACCEL_ERROR_INIT;
	struct stat old;
	int ret, fd;

	if (!w->path)
		return ctl_fail(w->ctl, CTL_USAGE, 0, "FILE", "which model?");
	if (!w->opts->out)
		return ctl_fail(w->ctl, CTL_USAGE, 0, "--out", "is missing");
	if (w->opts->percentile <= 50 || w->opts->percentile > 100)
		return ctl_fail(w->ctl, CTL_USAGE, 0, "--percentile", "is from 50 to 100");
	if (w->opts->threshold < 0)
		return ctl_fail(w->ctl, CTL_USAGE, 0, "--threshold", "is below 0");
	w->threshold = w->opts->threshold > 0 ? w->opts->threshold : most[o.scheme];
	if (fixed && !w->opts->samples.count && !w->opts->inputs.count && !w->opts->golden)
		return ctl_fail(w->ctl, CTL_USAGE, 0, "--calibrate",
				"ranges come from inputs, and there are none");
	ret = session_no_program(w->ctl, w->path);
	if (ret)
		return ret;
	if (!stat(w->opts->out, &old) && !S_ISREG(old.st_mode))
		return ctl_fail(w->ctl, CTL_FAILED, -EEXIST, "--out", "%s is no file that could be replaced",
				w->opts->out);
	if (asprintf(&w->part, "%s.XXXXXX", w->opts->out) < 0)
		abort();
	/* mkstemp() reserves the name, so that no other process uses it. */
	fd = mkstemp(w->part);
	if (fd < 0) {
		ret = -errno;
		free(w->part);
		w->part = NULL;
		return ctl_fail(w->ctl, CTL_FAILED, ret, "--out", "%s: %s", w->opts->out,
				strerror(-ret));
	}
	close(fd);
	o.layer = take_layer;
	o.user = w;
	ret = accel_model_quantize(w->path, &o, NULL, &error);
	if (ret)
		return ctl_fail_error(w->ctl, ctl_status(ret), w->path, &error);
	if (!w->count)
		return ctl_fail(w->ctl, CTL_UNSUPPORTED, 0, w->path,
				"has no layer that this scheme quantises");
	ret = check_kept(w);
	return ret ? ret : samples_find(w->ctl, w->opts, &w->samples);
}

int cmd_model_quantize(struct ctl *ctl, void *data, const char *operand)
{
	struct work w = { .ctl = ctl, .opts = data, .path = ctl->rest[0] };
	const char **names;
	uint32_t i;
	int ret = check_kind(ctl, w.opts);

	if (ret)
		return ret;
	if (w.opts->type)
		return cmd_model_convert(ctl, data, operand);
	if (w.path && ctl->rest[1])
		return ctl_fail(ctl, CTL_USAGE, 0, ctl->rest[1],
				"is not expected: folders and GGUF files take --type");
	operand = w.path;
	/* Intermediate files are in another directory. */
	((struct model_opts *)data)->pictures = operand;
	ret = start(&w);
	names = ctl_alloc((size_t)w.count + 1, sizeof(*names));
	for (i = 0; i < w.count; i++)
		names[i] = w.layers[i].name;
	if (!ret && w.opts->scheme + 1 == ACCEL_MODEL_STATIC)
		ret = find_ranges(&w);
	if (!ret)
		ret = find_own(&w);
	if (!ret) {
		put_in_order(&w);
		ret = probe_open(&w.before, ctl, w.opts, ctl->device, operand, names, w.count);
	}
	if (!ret) {
		w.gaps = ctl_alloc((size_t)w.before.own + w.count + 1, sizeof(*w.gaps));
		ret = find_mixture(&w);
	}
	if (!ret)
		ret = finish(&w);
	if (ret && w.part)
		unlink(w.part);
	session_close(&w.before.s);
	for (i = 0; i < w.count; i++) {
		free(w.layers[i].name);
		free(w.layers[i].node);
		free(w.layers[i].op);
	}
	for (i = 0; i < w.input_count; i++)
		free(w.inputs[i]);
	samples_free(&w.samples);
	free(w.layers);
	free(w.inputs);
	free(w.ranges);
	free(w.gaps);
	free(w.part);
	free(names);
	return ret;
}
