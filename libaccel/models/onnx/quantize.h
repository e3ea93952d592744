/* SPDX-License-Identifier: MIT */
/*
 * A file with fewer bits: between what finds its layers and what writes them.
 */
#ifndef LIBACCEL_MODELS_QUANTIZE_H
#define LIBACCEL_MODELS_QUANTIZE_H

#include "onnx.h"

#define MAX_LAYER_INPUTS	16
/* Graphs of nodes in each other */
#define MAX_DEPTH		16

/* What is known of a name */
enum mark {
	MARK_READ = 1,		/* something reads it that is copied */
	MARK_WEIGHTS = 2,	/* something read it that is quantised */
	MARK_BYTES = 4,		/* there are bytes of it */
	MARK_ROWS = 8,		/* weights: bytes with a scale for each of its rows */
	MARK_COLUMNS = 16,	/* with one for each of its columns */
	MARK_HALVES = 32,
	MARK_GONE = 64		/* a constant that nobody needs */
};

enum kind {
	KIND_OTHER, KIND_CONV, KIND_GEMM, KIND_MATMUL, KIND_BETWEEN
};

/**
 * struct layer - a node of the file
 * @raw: message
 * @kind: &enum kind; not KIND_OTHER: it can be quantised
 * @on: it is
 * @rows: its weights have outputs in rows
 * @in: inputs
 * @in_count: their number; more than there is room for: the first are there
 * @out: its result
 * @type: operator
 * @name: name
 */
struct layer {
	struct slice raw;
	enum kind kind;
	bool on;
	bool rows;
	struct slice in[MAX_LAYER_INPUTS];
	uint32_t in_count;
	uint32_t out_count;
	struct slice out;
	struct slice type;
	struct slice domain;
	struct slice name;
};

/**
 * struct rewrite - a model that is written anew
 * @im: the model, imported
 * @opts: options
 * @layers: its nodes
 * @count: their number
 * @makers: for each value of the graph the node that gives it, plus 1
 * @values: entries of that
 * @nodes: fields of the graph that come to be: nodes
 * @constants: constants
 * @depth: graphs of nodes around what is copied
 */
struct rewrite {
	struct import *im;
	const struct accel_model_quantize_opts *opts;
	struct layer *layers;
	uint32_t count;
	uint32_t *makers;
	uint32_t values;
	struct message nodes;
	struct message constants;
	uint32_t depth;
};

/* Do weights alone change, and layers stay the operators that they are? */
static inline bool quantize_weights_only(const struct rewrite *q)
{
	return q->opts->scheme >= ACCEL_MODEL_PRUNE24;
}

bool quantize_look(const struct rewrite *q, struct slice s, struct accel_value *v,
		   const struct name **name);
uint32_t quantize_ranged(const struct layer *l);
void quantize_mark(struct rewrite *q, struct slice graph);
bool quantize_gone(const struct rewrite *q, struct slice s);
int quantize_put(struct rewrite *q, const struct layer *l, const char *end);
bool copy_next(struct rewrite *q, struct slice *s, struct field *f, struct slice *whole, int *ret);
void copy_head(struct message *m, struct slice s);
int copy_field(struct rewrite *q, struct message *m, const struct field *f, struct slice whole);
int copy_rest(struct rewrite *q, struct message *m, const struct field *f, struct slice whole);
int quantize_write(struct rewrite *q, struct slice model, struct slice graph, const char *path);

#endif /* LIBACCEL_MODELS_QUANTIZE_H */
