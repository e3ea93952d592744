// SPDX-License-Identifier: MIT
/*
 * A file with fewer bits: what is written instead of a layer.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quantize.h"

#define BLOCK	32

/* A name with something behind it, to be given to free() */
static char *name_of(struct slice s, const char *end)
{
	char *text;

	return asprintf(&text, "%.*s%s", (int)s.n, s.n ? (const char *)s.p : "", end) < 0 ? NULL :
	       text;
}

static void put_attr(struct message *m, const char *name, int64_t number)
{
	struct message a = { 0 };

	put_text(&a, 1, name);
	put_number(&a, 3, (uint64_t)number);
	put_number(&a, 20, ATTR_INT);
	put_message(m, 5, &a);
}

static void start_node(struct message *m, const char *op)
{
	memset(m, 0, sizeof(*m));
	put_text(m, 4, op);
}

/* Inputs and outputs of a node: a name, and what it ends in */
static void put_name(struct message *m, uint32_t id, struct slice s, const char *end)
{
	char *text = name_of(s, end);

	if (text)
		put_text(m, id, text);
	m->failed |= !text;
	free(text);
}

static void put_in(struct message *m, struct slice s, const char *end)
{
	put_name(m, 1, s, end);
}

static void put_out(struct message *m, struct slice s, const char *end)
{
	put_name(m, 2, s, end);
}

static void end_node(struct rewrite *q, struct message *m)
{
	put_message(&q->nodes, 1, m);
}

static void put_constant(struct rewrite *q, struct slice s, const char *end, enum onnx_type type,
			 uint32_t rank, const uint64_t *dims, const void *data, size_t bytes)
{
	struct message t = { 0 };
	uint32_t i;

	for (i = 0; i < rank; i++)
		put_number(&t, 1, dims[i]);
	put_number(&t, 2, type);
	put_name(&t, 8, s, end);
	put_bytes(&t, 9, data, bytes);
	put_message(&q->constants, 5, &t);
}

/* Once for each name */
static bool first_time(struct rewrite *q, struct slice s, uint32_t marks)
{
	struct name *n = im_name(q->im, s);
	bool first = !(n->marks & marks);

	n->marks |= marks;
	return first;
}

static const struct accel_model_range *find_range(const struct rewrite *q, struct slice s)
{
	uint32_t i;

	for (i = 0; i < q->opts->range_count; i++)
		if (slice_is(s, q->opts->ranges[i].name))
			return &q->opts->ranges[i];
	return NULL;
}

/* An input as bytes by its range, and as a real number again */
static int put_ranged(struct rewrite *q, struct slice s)
{
	const struct accel_model_range *r = find_range(q, s);
	float min, max, scale, zero;
	struct message m;
	uint8_t byte;

	if (!r || !isfinite(r->min) || !isfinite(r->max))
		return im_fail(q->im, -EINVAL, "there is no range for %.*s", slice_shown(s), s.p);
	if (!first_time(q, s, MARK_BYTES))
		return 0;
	min = r->min < 0 ? r->min : 0;
	max = r->max > 0 ? r->max : 0;
	/* Divided first, for a range may be wider than its ends are large. */
	scale = max / 255 - min / 255;
	scale = scale > FLT_MIN ? scale : 1;
	zero = rintf(-min / scale);
	byte = zero > 255 ? 255 : (uint8_t)zero;
	put_constant(q, s, ".scale", ONNX_FLOAT, 0, NULL, &scale, sizeof(scale));
	put_constant(q, s, ".zero", ONNX_UINT8, 0, NULL, &byte, 1);
	start_node(&m, "QuantizeLinear");
	put_in(&m, s, "");
	put_in(&m, s, ".scale");
	put_in(&m, s, ".zero");
	put_out(&m, s, ".bytes");
	end_node(q, &m);
	start_node(&m, "DequantizeLinear");
	put_in(&m, s, ".bytes");
	put_in(&m, s, ".scale");
	put_in(&m, s, ".zero");
	put_out(&m, s, ".real");
	end_node(q, &m);
	return 0;
}

/* Rows are those that have a scale each. */
static void take_matrix(const struct rewrite *q, const struct layer *l, struct matrix *w,
			struct accel_value *v)
{
	const struct name *n = NULL;
	uint32_t i;

	quantize_look(q, l->in[1], v, &n);
	w->data = n->data;
	w->rows = (uint64_t)v->dims[0];
	w->cols = 1;
	for (i = 1; i < v->rank; i++)
		w->cols *= (uint64_t)v->dims[i];
	w->row_step = w->cols;
	w->col_step = 1;
	if (!l->rows) {
		w->row_step = 1;
		w->col_step = w->cols;
		w->cols = w->rows;
		w->rows = w->col_step;
	}
}

/* Names of constants of weights end so; one that is read by rows and by columns is there twice. */
static const char *bytes_end(const struct layer *l, const char *rows, const char *columns)
{
	return l->rows ? rows : columns;
}

/* Weights in bytes, with their scales and, which are 0, zero points */
static int put_weights(struct rewrite *q, const struct layer *l, bool across)
{
	/* Before version 13 scales had no dimension. */
	const bool one = q->opts->scheme == ACCEL_MODEL_STATIC && q->im->opset < 13;
	struct accel_value v;
	struct matrix w;
	uint64_t dims[ACCEL_GRAPH_MAX_RANK], scale_count, i;
	int8_t *bytes, *zeros;
	float *scales;
	int ret = 0;

	if (!first_time(q, l->in[1], l->rows ? MARK_ROWS : MARK_COLUMNS))
		return 0;
	take_matrix(q, l, &w, &v);
	scale_count = one ? 1 : w.rows;
	bytes = malloc(w.rows * w.cols);
	zeros = calloc(w.rows, 1);
	scales = malloc(w.rows * sizeof(*scales));
	if (!bytes || !zeros || !scales) {
		ret = im_fail(q->im, -ENOMEM, "out of memory");
		goto out;
	}
	bits_scales(&w, one, scales);
	bits_bytes(&w, scales, one, across, bytes);
	for (i = 0; i < v.rank; i++)
		dims[i] = (uint64_t)v.dims[i];
	if (across) {
		dims[0] = w.cols;
		dims[1] = w.rows;
	}
	put_constant(q, l->in[1], bytes_end(l, ".rows", ".columns"), ONNX_INT8, v.rank, dims, bytes,
		     w.rows * w.cols);
	put_constant(q, l->in[1], bytes_end(l, ".rows.scale", ".columns.scale"), ONNX_FLOAT, !one,
		     &scale_count, scales, scale_count * sizeof(*scales));
	put_constant(q, l->in[1], bytes_end(l, ".rows.zero", ".columns.zero"), ONNX_INT8, !one,
		     &scale_count, zeros, scale_count);
out:
	free(bytes);
	free(zeros);
	free(scales);
	return ret;
}

static void put_weight_inputs(struct message *m, const struct layer *l)
{
	put_in(m, l->in[1], bytes_end(l, ".rows", ".columns"));
	put_in(m, l->in[1], bytes_end(l, ".rows.scale", ".columns.scale"));
	put_in(m, l->in[1], bytes_end(l, ".rows.zero", ".columns.zero"));
}

/* The node again, with names of its weights and other inputs that end so; NULL: it has none */
static void put_again(struct rewrite *q, const struct layer *l, const char *end,
		      const char *weights, const char *others)
{
	struct slice s = l->raw, whole;
	struct message m = { 0 };
	struct field f;
	uint32_t at = 0;

	while (wire_whole(&s, &f, &whole) > 0) {
		if (f.id == 1) {
			put_in(&m, f.bytes, !weights || !at ? others : at == 1 ? weights : "");
			at++;
		} else if (f.id == 2) {
			put_out(&m, f.bytes, end);
		} else if (f.id == 3) {
			put_name(&m, 3, f.bytes, end);
		} else {
			put_fields(&m, whole);
		}
	}
	end_node(q, &m);
}

/* The node with real numbers from bytes as its inputs */
static int put_static(struct rewrite *q, const struct layer *l, const char *end)
{
	const bool weights = l->kind != KIND_BETWEEN;
	char real[32];
	struct message m;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < quantize_ranged(l) && !ret; i++)
		ret = put_ranged(q, l->in[i]);
	if (!ret && weights)
		ret = put_weights(q, l, false);
	if (ret)
		return ret;
	snprintf(real, sizeof(real), "%s.real", bytes_end(l, ".rows", ".columns"));
	if (weights && first_time(q, l->in[1], l->rows ? MARK_ROWS << 8 : MARK_COLUMNS << 8)) {
		start_node(&m, "DequantizeLinear");
		put_weight_inputs(&m, l);
		put_out(&m, l->in[1], real);
		if (q->im->opset >= 13)
			put_attr(&m, "axis", l->rows ? 0 : 1);
		end_node(q, &m);
	}
	put_again(q, l, end, weights ? real : NULL, ".real");
	return 0;
}

/* The last step of a product: its bias, or nothing but its name */
static void put_bias(struct rewrite *q, const struct layer *l, const char *end)
{
	struct message m;

	if (l->kind != KIND_GEMM || l->in_count < 3 || !l->in[2].n)
		return;
	start_node(&m, "Add");
	put_in(&m, l->out, ".product");
	put_in(&m, l->in[2], "");
	put_out(&m, l->out, end);
	end_node(q, &m);
}

static const char *product_end(const struct layer *l, const char *end)
{
	return l->kind == KIND_GEMM && l->in_count > 2 && l->in[2].n ? ".product" : end;
}

static int put_dynamic(struct rewrite *q, const struct layer *l, const char *end)
{
	struct message m;
	int ret = put_weights(q, l, true);

	if (ret)
		return ret;
	if (first_time(q, l->in[0], MARK_BYTES)) {
		start_node(&m, "DynamicQuantizeLinear");
		put_in(&m, l->in[0], "");
		put_out(&m, l->in[0], ".bytes");
		put_out(&m, l->in[0], ".scale");
		put_out(&m, l->in[0], ".zero");
		end_node(q, &m);
	}
	start_node(&m, "MatMulInteger");
	put_in(&m, l->in[0], ".bytes");
	put_in(&m, l->in[1], bytes_end(l, ".rows", ".columns"));
	put_in(&m, l->in[0], ".zero");
	put_in(&m, l->in[1], bytes_end(l, ".rows.zero", ".columns.zero"));
	put_out(&m, l->out, ".sums");
	end_node(q, &m);
	start_node(&m, "Cast");
	put_in(&m, l->out, ".sums");
	put_out(&m, l->out, ".sums.real");
	put_attr(&m, "to", ONNX_FLOAT);
	end_node(q, &m);
	start_node(&m, "Mul");
	put_in(&m, l->in[0], ".scale");
	put_in(&m, l->in[1], bytes_end(l, ".rows.scale", ".columns.scale"));
	put_out(&m, l->out, ".scales");
	end_node(q, &m);
	start_node(&m, "Mul");
	put_in(&m, l->out, ".sums.real");
	put_in(&m, l->out, ".scales");
	put_out(&m, l->out, product_end(l, end));
	end_node(q, &m);
	put_bias(q, l, end);
	return 0;
}

static int put_halves(struct rewrite *q, const struct layer *l)
{
	struct accel_value v;
	struct matrix w;
	uint64_t dims[3], blocks, zero_bytes;
	uint8_t *bytes, *zeros;
	float *scales;
	int ret = 0;

	take_matrix(q, l, &w, &v);
	blocks = (w.cols + BLOCK - 1) / BLOCK;
	zero_bytes = (blocks + 1) / 2;
	bytes = calloc(w.rows, blocks * BLOCK / 2);
	zeros = calloc(w.rows, zero_bytes);
	scales = malloc(w.rows * blocks * sizeof(*scales));
	if (!bytes || !zeros || !scales) {
		ret = im_fail(q->im, -ENOMEM, "out of memory");
		goto out;
	}
	bits_halves(&w, BLOCK, bytes, scales, zeros);
	dims[0] = w.rows;
	dims[1] = blocks;
	dims[2] = BLOCK / 2;
	put_constant(q, l->in[1], bytes_end(l, ".rows.4", ".columns.4"), ONNX_UINT8, 3, dims, bytes,
		     w.rows * blocks * BLOCK / 2);
	put_constant(q, l->in[1], bytes_end(l, ".rows.4.scale", ".columns.4.scale"), ONNX_FLOAT, 2,
		     dims, scales, w.rows * blocks * sizeof(*scales));
	dims[1] = zero_bytes;
	put_constant(q, l->in[1], bytes_end(l, ".rows.4.zero", ".columns.4.zero"), ONNX_UINT8, 2,
		     dims, zeros, w.rows * zero_bytes);
out:
	free(bytes);
	free(zeros);
	free(scales);
	return ret;
}

static int put_bits4(struct rewrite *q, const struct layer *l, const char *end)
{
	struct accel_value v;
	struct message m;
	struct matrix w;
	int ret = 0;

	take_matrix(q, l, &w, &v);
	if (first_time(q, l->in[1], l->rows ? MARK_HALVES : MARK_HALVES << 8))
		ret = put_halves(q, l);
	if (ret)
		return ret;
	start_node(&m, "MatMulNBits");
	put_text(&m, 7, "com.microsoft");
	put_in(&m, l->in[0], "");
	put_in(&m, l->in[1], bytes_end(l, ".rows.4", ".columns.4"));
	put_in(&m, l->in[1], bytes_end(l, ".rows.4.scale", ".columns.4.scale"));
	put_in(&m, l->in[1], bytes_end(l, ".rows.4.zero", ".columns.4.zero"));
	put_out(&m, l->out, product_end(l, end));
	put_attr(&m, "K", (int64_t)w.cols);
	put_attr(&m, "N", (int64_t)w.rows);
	put_attr(&m, "bits", 4);
	put_attr(&m, "block_size", BLOCK);
	end_node(q, &m);
	put_bias(q, l, end);
	return 0;
}

static int put_pruned(struct rewrite *q, const struct layer *l, const char *end)
{
	const char *pruned = bytes_end(l, ".rows.24", ".columns.24");
	uint64_t dims[ACCEL_GRAPH_MAX_RANK], step = 1;
	struct accel_value v;
	struct matrix w;
	float *x;
	uint32_t i;

	if (first_time(q, l->in[1], l->rows ? MARK_ROWS : MARK_COLUMNS)) {
		take_matrix(q, l, &w, &v);
		for (i = 0; i < v.rank; i++) {
			dims[i] = (uint64_t)v.dims[i];
			step *= i > 1 ? dims[i] : 1;
		}
		x = calloc(w.rows * w.cols, sizeof(*x));
		if (!x)
			return im_fail(q->im, -ENOMEM, "out of memory");
		bits_prune(&w, step, x);
		put_constant(q, l->in[1], pruned, ONNX_FLOAT, v.rank, dims, x,
			     w.rows * w.cols * sizeof(*x));
		free(x);
	}
	put_again(q, l, end, pruned, "");
	return 0;
}

/* The numbers of all pairs of places in a palette of 16, the first place in the lower bits */
static void pair_up(const float *palette, float *pairs)
{
	uint32_t i;

	for (i = 0; i < 256; i++) {
		pairs[2 * i] = palette[i & 15];
		pairs[2 * i + 1] = palette[i >> 4];
	}
}

/* Places, and a table of what is there; of an odd number each place has a byte of its own. */
static int put_palette(struct rewrite *q, const struct layer *l, uint64_t *dims, bool *two)
{
	const uint32_t count = q->opts->scheme == ACCEL_MODEL_PALETTE16 ? 16 : 256;
	const uint64_t table[] = { 256, 2 };
	float palette[256] = { 0 }, pairs[512];
	struct accel_value v;
	struct matrix w;
	uint8_t *bytes;
	uint64_t n, i;
	int ret;

	take_matrix(q, l, &w, &v);
	n = w.rows * w.cols;
	*two = count == 16 && n % 2 == 0;
	for (i = 0; i < v.rank; i++)
		dims[i] = (uint64_t)v.dims[i];
	bytes = malloc(n);
	ret = bytes ? bits_palette(w.data, n, count, bytes, palette) : -ENOMEM;
	if (ret) {
		free(bytes);
		return im_fail(q->im, ret, "out of memory");
	}
	if (*two) {
		for (n /= 2, i = 0; i < n; i++)
			bytes[i] = (uint8_t)(bytes[2 * i] | bytes[2 * i + 1] << 4);
		pair_up(palette, pairs);
		put_constant(q, l->in[1], ".palette", ONNX_FLOAT, 2, table, pairs, sizeof(pairs));
		put_constant(q, l->in[1], ".places", ONNX_UINT8, 1, &n, bytes, n);
		n = v.rank;
		put_constant(q, l->in[1], ".dims", ONNX_INT64, 1, &n, dims, n * sizeof(*dims));
	} else {
		n = count;
		put_constant(q, l->in[1], ".palette", ONNX_FLOAT, 1, &n, palette,
			     n * sizeof(*palette));
		put_constant(q, l->in[1], ".places", ONNX_UINT8, v.rank, dims, bytes,
			     w.rows * w.cols);
	}
	free(bytes);
	return 0;
}

/* Weights that are looked up, which runners do once, since all is constant */
static int put_looked_up(struct rewrite *q, const struct layer *l, const char *end)
{
	uint64_t dims[ACCEL_GRAPH_MAX_RANK];
	struct message m;
	bool two = false;
	int ret;

	if (first_time(q, l->in[1], MARK_HALVES)) {
		ret = put_palette(q, l, dims, &two);
		if (ret)
			return ret;
		start_node(&m, "Cast");
		put_in(&m, l->in[1], ".places");
		put_out(&m, l->in[1], ".places.32");
		put_attr(&m, "to", ONNX_INT32);
		end_node(q, &m);
		start_node(&m, "Gather");
		put_in(&m, l->in[1], ".palette");
		put_in(&m, l->in[1], ".places.32");
		put_out(&m, l->in[1], two ? ".pairs" : ".real");
		end_node(q, &m);
		if (two) {
			start_node(&m, "Reshape");
			put_in(&m, l->in[1], ".pairs");
			put_in(&m, l->in[1], ".dims");
			put_out(&m, l->in[1], ".real");
			end_node(q, &m);
		}
	}
	put_again(q, l, end, ".real", "");
	return 0;
}

/* The nodes of a layer that is quantised, and its constants */
int quantize_put(struct rewrite *q, const struct layer *l, const char *end)
{
	switch (q->opts->scheme) {
	case ACCEL_MODEL_STATIC:
		return put_static(q, l, end);
	case ACCEL_MODEL_DYNAMIC:
		return put_dynamic(q, l, end);
	case ACCEL_MODEL_PRUNE24:
		return put_pruned(q, l, end);
	case ACCEL_MODEL_PALETTE256:
	case ACCEL_MODEL_PALETTE16:
		return put_looked_up(q, l, end);
	default:
		return put_bits4(q, l, end);
	}
}
