// SPDX-License-Identifier: MIT
/*
 * A file with fewer bits: which of its nodes can be quantised. The file is imported, so that
 * its names have types and constants.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libaccel/core/fpmode.h"
#include "../families/families.h"
#include "quantize.h"

/* --- the file ------------------------------------------------------------------------------ */

static void read_layer(struct layer *l)
{
	struct slice s = l->raw;
	struct field f;

	while (wire_next(&s, &f) > 0) {
		if (f.id == 1) {
			if (l->in_count < MAX_LAYER_INPUTS)
				l->in[l->in_count] = f.bytes;
			l->in_count++;
		} else if (f.id == 2) {
			if (!l->out_count)
				l->out = f.bytes;
			l->out_count += f.bytes.n > 0;
		} else if (f.id == 3) {
			l->name = f.bytes;
		} else if (f.id == 4) {
			l->type = f.bytes;
		} else if (f.id == 7) {
			l->domain = f.bytes;
		}
	}
}

/* An attribute of a node that is a number */
static double attr_number(const struct layer *l, const char *name, double otherwise)
{
	struct slice s = l->raw, a, key;
	struct field f, g;
	double x = otherwise, value;
	uint32_t bits;
	float real;

	while (wire_next(&s, &f) > 0) {
		if (f.id != 5)
			continue;
		key = (struct slice) { 0 };
		value = otherwise;
		for (a = f.bytes; wire_next(&a, &g) > 0;) {
			if (g.id == 1) {
				key = g.bytes;
			} else if (g.id == 2) {
				bits = (uint32_t)g.number;
				memcpy(&real, &bits, sizeof(real));
				value = (double)real;
			} else if (g.id == 3) {
				value = (double)(int64_t)g.number;
			}
		}
		if (slice_is(key, name))
			x = value;
	}
	return x;
}

/* Type and dimensions of a name; false: there is no such */
bool quantize_look(const struct rewrite *q, struct slice s, struct accel_value *v,
		   const struct name **name)
{
	const struct name *n = s.n ? im_name(q->im, s) : NULL;

	*v = (struct accel_value)ACCEL_VALUE_INIT;
	if (!n || !n->text || accel_graph_get_value(q->im->model->graph, n->value, v))
		return false;
	*name = n;
	return true;
}

/* A value of binary32 that is no constant, of so many dimensions at least */
static bool is_real_input(const struct rewrite *q, struct slice s, uint32_t rank)
{
	const struct name *n;
	struct accel_value v;

	return quantize_look(q, s, &v, &n) && !n->data && v.type == ACCEL_F32 && v.rank >= rank;
}

static bool is_weights(const struct rewrite *q, struct slice s, bool filters)
{
	const struct name *n;
	struct accel_value v;
	uint32_t i;

	if (!quantize_look(q, s, &v, &n) || !n->data || v.type != ACCEL_F32)
		return false;
	for (i = 0; i < v.rank; i++)
		if (v.dims[i] < 1)
			return false;
	return filters ? v.rank >= 3 : v.rank == 2;
}

/* Is a value that of a product or convolution, or follows from one by what keeps its range? */
static bool from_layer(const struct rewrite *q, struct slice s)
{
	static const char *const through[] = { "Relu", "Clip", "MaxPool", "Add" };
	const struct layer *l;
	const struct name *n;
	uint32_t i, steps, at;

	for (steps = 0; steps < 8; steps++) {
		n = im_name(q->im, s);
		at = n && n->text && n->value < q->values ? q->makers[n->value] : 0;
		if (!at)
			return false;
		l = &q->layers[at - 1];
		if (l->kind != KIND_OTHER)
			return true;
		for (i = 0; i < ARRAY_SIZE(through); i++)
			if (slice_is(l->type, through[i]))
				break;
		if (i == ARRAY_SIZE(through) || !l->in_count)
			return false;
		s = l->in[0];
	}
	return false;
}

/* What lies between convolutions is done in bytes too, or they would be made real for it. */
static bool is_between(const struct rewrite *q, const struct layer *l)
{
	static const char *const ops[] = {
		"Add", "Concat", "MaxPool", "AveragePool", "GlobalAveragePool"
	};
	bool any = false;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		if (slice_is(l->type, ops[i]))
			break;
	if (i == ARRAY_SIZE(ops) || !l->in_count || l->in_count > MAX_LAYER_INPUTS)
		return false;
	for (i = 0; i < l->in_count; i++) {
		if (!is_real_input(q, l->in[i], 0))
			return false;
		any |= from_layer(q, l->in[i]);
	}
	return any;
}

static uint64_t weight_count(const struct rewrite *q, const struct layer *l)
{
	const struct name *n;
	struct accel_value v;
	uint64_t count = 1;
	uint32_t i;

	if (l->kind == KIND_BETWEEN || !quantize_look(q, l->in[1], &v, &n))
		return 0;
	for (i = 0; i < v.rank; i++)
		count *= (uint64_t)v.dims[i];
	return count;
}

/* Fewer weights than these would gain nothing: a palette of pairs has 2 KiB. */
#define LEAST_WEIGHTS	1024

/* Is there something to gain? */
static bool is_worth(const struct rewrite *q, const struct layer *l)
{
	const struct name *n;
	struct accel_value v;

	if (!quantize_weights_only(q))
		return true;
	if (q->opts->scheme != ACCEL_MODEL_PRUNE24)
		return weight_count(q, l) >= LEAST_WEIGHTS;
	return quantize_look(q, l->in[1], &v, &n) && v.dims[l->rows ? 1 : 0] > 2;
}

static void classify(const struct rewrite *q, struct layer *l)
{
	const bool fixed = q->opts->scheme == ACCEL_MODEL_STATIC, only = quantize_weights_only(q);

	if ((l->domain.n && !slice_is(l->domain, "ai.onnx")) || l->out_count != 1 || !l->out.n ||
	    !l->in_count || !is_real_input(q, l->in[0], 2))
		return;
	if ((fixed || only) && slice_is(l->type, "Conv") && l->in_count > 1 &&
	    is_weights(q, l->in[1], true)) {
		l->kind = KIND_CONV;
		l->rows = true;
	} else if (slice_is(l->type, "Gemm") && l->in_count > 1 && is_weights(q, l->in[1], false) &&
		   (only || (attr_number(l, "transA", 0) == 0 && attr_number(l, "alpha", 1) == 1 &&
			     attr_number(l, "beta", 1) == 1))) {
		l->kind = KIND_GEMM;
		l->rows = attr_number(l, "transB", 0) != 0;
	} else if (slice_is(l->type, "MatMul") && l->in_count == 2 &&
		   is_weights(q, l->in[1], false)) {
		l->kind = KIND_MATMUL;
	} else if (fixed && is_between(q, l)) {
		l->kind = KIND_BETWEEN;
	}
	if (l->kind != KIND_OTHER && !is_worth(q, l))
		l->kind = KIND_OTHER;
}

static int find_layers(struct rewrite *q, struct slice graph)
{
	struct slice s = graph;
	const struct name *n;
	struct layer *l;
	struct field f;
	uint32_t i;

	while (wire_next(&s, &f) > 0)
		q->count += f.id == 1;
	for (i = 0; i < q->im->model->result_count; i++)
		if (q->im->model->results[i].value >= q->values)
			q->values = q->im->model->results[i].value + 1;
	q->layers = calloc((size_t)q->count + 1, sizeof(*q->layers));
	q->makers = calloc((size_t)q->values + 1, sizeof(*q->makers));
	if (!q->layers || !q->makers)
		return im_fail(q->im, -ENOMEM, "out of memory");
	for (s = graph, l = q->layers; wire_next(&s, &f) > 0;) {
		if (f.id != 1)
			continue;
		l->raw = f.bytes;
		read_layer(l);
		classify(q, l);
		l->on = l->kind != KIND_OTHER;
		for (i = 0; i < q->opts->keep_count; i++)
			if (slice_is(l->out, q->opts->keep[i]))
				l->on = false;
		n = l->out.n ? im_name(q->im, l->out) : NULL;
		l++;
		/* What passes its input on gives no value of its own. */
		if (n && n->text && n->value < q->values && !q->makers[n->value])
			q->makers[n->value] = (uint32_t)(l - q->layers);
	}
	return 0;
}

/* Inputs that have a range: of a product the first, else all */
uint32_t quantize_ranged(const struct layer *l)
{
	return l->kind == KIND_BETWEEN ? l->in_count : 1;
}

static int tell_layers(struct rewrite *q)
{
	const char *inputs[MAX_LAYER_INPUTS];
	struct accel_model_layer told = { .size = sizeof(told), .inputs = inputs };
	char type[64], name[256];
	uint32_t i, k;
	int ret = 0;

	for (i = 0; i < q->count && !ret; i++) {
		const struct layer *l = &q->layers[i];

		if (l->kind == KIND_OTHER)
			continue;
		for (k = 0; k < quantize_ranged(l); k++)
			inputs[k] = im_name(q->im, l->in[k])->text;
		snprintf(type, sizeof(type), "%.*s", (int)(l->type.n < 60 ? l->type.n : 60),
			 l->type.p);
		snprintf(name, sizeof(name), "%.*s", (int)(l->name.n < 250 ? l->name.n : 250),
			 l->name.n ? (const char *)l->name.p : "");
		told.input_count = k;
		told.name = im_name(q->im, l->out)->text;
		told.node = name;
		told.op = type;
		told.weights = weight_count(q, l);
		ret = q->opts->layer(q->opts->user, &told);
	}
	return ret;
}

/* --- what is read ----------------------------------------------------------------------- */

static void mark(struct rewrite *q, struct slice s, uint32_t marks)
{
	struct name *n = s.n ? im_name(q->im, s) : NULL;

	if (n && n->text)
		n->marks |= marks;
}

/* Names that a node reads, and those of graphs that it has; their depth was bounded before. */
static void mark_reads(struct rewrite *q, struct slice node)
{
	struct slice attr, graph;
	struct field f, g, h;

	while (wire_next(&node, &f) > 0) {
		if (f.id == 1)
			mark(q, f.bytes, MARK_READ);
		for (attr = f.bytes; f.id == 5 && wire_next(&attr, &g) > 0;) {
			if (g.id != 6)
				continue;
			for (graph = g.bytes; wire_next(&graph, &h) > 0;) {
				if (h.id == 1)
					mark_reads(q, h.bytes);
				else if (h.id == 12)
					mark(q, h.bytes, MARK_READ);
			}
		}
	}
}

static void mark_output(struct rewrite *q, struct slice s)
{
	struct field f;

	while (wire_next(&s, &f) > 0)
		if (f.id == 1)
			mark(q, f.bytes, MARK_READ);
}

void quantize_mark(struct rewrite *q, struct slice graph)
{
	struct layer *l;
	struct field f;
	uint32_t i, k;

	for (i = 0; i < q->count; i++) {
		l = &q->layers[i];
		if (!l->on || (q->opts->flags & ACCEL_MODEL_BESIDE)) {
			mark_reads(q, l->raw);
			continue;
		}
		for (k = 0; k < l->in_count && k < MAX_LAYER_INPUTS; k++)
			mark(q, l->in[k], k == 1 && l->kind != KIND_BETWEEN ? MARK_WEIGHTS :
			     MARK_READ);
	}
	while (wire_next(&graph, &f) > 0)
		if (f.id == 12)
			mark_output(q, f.bytes);
}

/* A constant that was read by what is quantised, and by nothing else */
bool quantize_gone(const struct rewrite *q, struct slice s)
{
	const struct name *n = s.n ? im_name(q->im, s) : NULL;

	return n && n->text && (n->marks & MARK_WEIGHTS) && !(n->marks & MARK_READ);
}

static int check_opts(struct import *im, const struct accel_model_quantize_opts *o)
{
	static const int64_t least[] = {
		[ACCEL_MODEL_DYNAMIC] = 11, [ACCEL_MODEL_STATIC] = 10, [ACCEL_MODEL_BITS4] = 1,
		[ACCEL_MODEL_PRUNE24] = 1, [ACCEL_MODEL_PALETTE256] = 6, [ACCEL_MODEL_PALETTE16] = 6
	};

	if (im->opset < least[o->scheme])
		return im_fail(im, -EOPNOTSUPP,
			       "operators of version %" PRId64 ", %" PRId64 " are needed",
			       im->opset, least[o->scheme]);
	return 0;
}

int accel_model_quantize(const char *path, const struct accel_model_quantize_opts *opts,
			 const char *out, struct accel_error *error)
{
	FP_MODE_SCOPE();
	bool good = path && opts && opts->size >= sizeof(*opts) &&
		    opts->scheme >= ACCEL_MODEL_DYNAMIC && opts->scheme <= ACCEL_MODEL_PALETTE16 &&
		    !(opts->flags & ~ACCEL_MODEL_BESIDE) && !opts->pad &&
		    (opts->keep || !opts->keep_count) && (opts->ranges || !opts->range_count);
	struct import *im = good ? import_create(path) : NULL;
	struct rewrite q = { .im = im, .opts = opts };
	struct accel_model *model;
	struct mapping *map;
	struct slice file = { 0 }, graph = { 0 };
	int ret;

	if (!im)
		return good ? -ENOMEM : -EINVAL;
	model = im->model;
	ret = accel_graph_create(&model->graph);
	if (!ret && family_is(path))
		ret = im_fail(im, -EOPNOTSUPP,
			      "folders and GGUF files have blocks instead, by accel_model_convert()");
	if (!ret)
		ret = map_file(im, NULL, &map);
	if (!ret) {
		file = (struct slice) { map->data, map->bytes };
		ret = read_model(im, file);
	}
	if (!ret)
		ret = check_opts(im, opts);
	if (!ret)
		ret = find_graph(im, file, &graph);
	if (!ret)
		ret = find_layers(&q, graph);
	if (!ret && opts->layer)
		ret = tell_layers(&q);
	if (!ret && out)
		ret = quantize_write(&q, file, graph, out);
	free(q.layers);
	free(q.makers);
	message_free(&q.nodes);
	message_free(&q.constants);
	ret = import_end(im, ret, error);
	accel_model_close(model);
	return ret;
}
