// SPDX-License-Identifier: MIT
/*
 * Graphs: names, attributes, nodes one after the other.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

static const struct op_map *const tables[] = {
	ops_math, ops_shape, ops_move, ops_gemm, ops_cast, ops_logic, ops_reduce, ops_norm,
	ops_conv, ops_index, ops_pool, ops_loss, ops_rnn, ops_train, ops_flow, ops_signal,
};

/**
 * struct without - an operator that there is no mapping for
 * @name: ONNX's name
 * @why: why not
 */
static const struct without {
	const char *name;
	const char *why;
} without[] = {
	{ "Bernoulli", "random numbers" },
	{ "RandomUniformLike", "random numbers" },
	{ "DFT", "sums that cancel: fp32 does not reach a tolerance of 1e-7" },
	{ "STFT", "sums that cancel: fp32 does not reach a tolerance of 1e-7" },
	{ "Det", "no operation of the library factorises" },
	{ "Gradient", "no operation of the library differentiates" },
	{ "NonMaxSuppression", "the size of the result depends on numbers" },
	{ "NonZero", "the size of the result depends on numbers" },
	{ "Unique", "the size of the result depends on numbers" },
	{ "RoiAlign", "no operation of the library samples at given places" },
	{ "GridSample", "no operation of the library samples at given places" },
	{ "TfIdfVectorizer", "text" },
	{ "StringNormalizer", "text" },
	{ "SequenceConstruct", "sequences" },
	{ "SequenceEmpty", "sequences" },
	{ "SplitToSequence", "sequences" },
};

static const char *reason(const char *name)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(without); i++)
		if (!strcmp(name, without[i].name))
			return without[i].why;
	return "there is no mapping for it";
}

const struct op_map *find_op(const char *domain, const char *name)
{
	const struct op_map *m;
	uint32_t i;

	if (domain && *domain && strcmp(domain, "ai.onnx") &&
	    strcmp(domain, "ai.onnx.preview.training"))
		return NULL;
	for (i = 0; i < ARRAY_SIZE(tables); i++)
		for (m = tables[i]; m->name; m++)
			if (!strcmp(m->name, name))
				return m;
	return NULL;
}

/* The first reason counts. */
static int stop(struct run *r, int ret, const char *fmt, va_list args)
{
	if (r->why[0])
		return r->ret;
	r->ret = ret;
	vsnprintf(r->why, sizeof(r->why), fmt, args);
	snprintf(r->culprit, sizeof(r->culprit), "%s",
		 r->node && r->node->op_type ? r->node->op_type : "");
	return ret;
}

/* The vector asks for what there is not. */
int unsupported(struct run *r, const char *fmt, ...)
{
	va_list args;
	int ret;

	va_start(args, fmt);
	ret = stop(r, -EOPNOTSUPP, fmt, args);
	va_end(args);
	return ret;
}

/* Something that should have worked did not. */
int broken(struct run *r, const char *fmt, ...)
{
	va_list args;
	int ret;

	va_start(args, fmt);
	ret = stop(r, -EINVAL, fmt, args);
	va_end(args);
	return ret;
}

/* --- attributes -------------------------------------------------------------------- */

const Onnx__AttributeProto *attr(struct run *r, const char *name)
{
	size_t i;

	for (i = 0; i < r->node->n_attribute; i++)
		if (!strcmp(r->node->attribute[i]->name, name))
			return r->node->attribute[i];
	return NULL;
}

int64_t attr_int(struct run *r, const char *name, int64_t otherwise)
{
	const Onnx__AttributeProto *a = attr(r, name);

	return a && a->has_i ? a->i : otherwise;
}

float attr_float(struct run *r, const char *name, float otherwise)
{
	const Onnx__AttributeProto *a = attr(r, name);

	return a && a->has_f ? a->f : otherwise;
}

/* Is the string @text? @otherwise if there is none. */
bool attr_is(struct run *r, const char *name, const char *text, bool otherwise)
{
	const Onnx__AttributeProto *a = attr(r, name);

	if (!a || !a->has_s)
		return otherwise;
	return a->s.len == strlen(text) && !memcmp(a->s.data, text, a->s.len);
}

/* Integers of a list; 0 if there is none. */
uint32_t attr_ints(struct run *r, const char *name, int64_t *list, uint32_t max)
{
	const Onnx__AttributeProto *a = attr(r, name);
	size_t i;

	if (!a)
		return 0;
	if (a->n_ints > max) {
		unsupported(r, "%s has %zu numbers", name, a->n_ints);
		return 0;
	}
	for (i = 0; i < a->n_ints; i++)
		list[i] = a->ints[i];
	return (uint32_t)a->n_ints;
}

/* --- names ------------------------------------------------------------------------- */

void bind_name(struct run *r, const char *name, struct value *v)
{
	struct binding *b = calloc(1, sizeof(*b));

	if (!b) {
		r->ret = -ENOMEM;
		return;
	}
	b->name = name;
	b->v = v;
	b->next = r->names;
	r->names = b;
}

struct value *find_name(struct run *r, const char *name)
{
	struct binding *b;

	for (b = r->names; b; b = b->next)
		if (!strcmp(b->name, name))
			return b->v;
	return NULL;
}

/* --- nodes ------------------------------------------------------------------------- */

static int run_node(struct run *r, const Onnx__NodeProto *node)
{
	const struct op_map *m = find_op(node->domain, node->op_type);
	uint32_t i;

	r->node = node;
	memset(r->in, 0, sizeof(r->in));
	memset(r->out, 0, sizeof(r->out));
	r->n_in = 0;
	if (!m)
		return unsupported(r, "%s", reason(node->op_type));
	if (m->since && r->opset < (int64_t)m->since)
		return unsupported(r, "its form before version %u", m->since);
	if (node->n_input > MAX_ARGS || node->n_output > MAX_ARGS)
		return unsupported(r, "%zu inputs, %zu outputs", node->n_input, node->n_output);
	for (i = 0; i < node->n_input; i++) {
		if (!node->input[i][0])
			continue;
		r->in[i] = find_name(r, node->input[i]);
		if (!r->in[i])
			return broken(r, "the graph has no %s", node->input[i]);
		r->n_in = i + 1;
	}
	r->n_out = (uint32_t)node->n_output;
	if (!r->ret)
		m->fn(r, m);
	if (r->ret) {
		if (!r->why[0])
			broken(r, "error %d", r->ret);
		return r->ret;
	}
	for (i = 0; i < r->n_out; i++) {
		if (!node->output[i][0])
			continue;
		if (!r->out[i])
			return unsupported(r, "output %u", i);
		bind_name(r, node->output[i], r->out[i]);
	}
	return r->ret;
}

/* Everything in a graph; its inputs have been bound. */
int run_graph(struct run *r, const Onnx__GraphProto *g)
{
	const Onnx__NodeProto *outer = r->node;
	size_t i;

	for (i = 0; i < g->n_initializer && !r->ret; i++)
		bind_name(r, g->initializer[i]->name, value_from_proto(r, g->initializer[i]));
	for (i = 0; i < g->n_node && !r->ret; i++)
		run_node(r, g->node[i]);
	r->node = outer;
	return r->ret;
}
