// SPDX-License-Identifier: MIT
/*
 * Networks of experts: a router gives each row a few of them, rows are put in the order of their
 * experts, each expert's rows meet its matrix, and what comes out is weighed and added.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "families.h"

#define MAX_EXPERTS	4096

/* The matrices of all experts, one behind the other: a copy, for they lie apart. */
static uint32_t stack(struct family_build *b, const char *pattern, int64_t count)
{
	const char *at = strstr(pattern, "%u");
	struct accel_value v = ACCEL_VALUE_INIT;
	uint32_t value = NO_VALUE, i;
	const struct stored *s;
	uint8_t *data = NULL;
	uint64_t bytes = 0;
	char name[320];

	for (i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%.*s%u%s", (int)(at - pattern), pattern, i, at + 2);
		s = part_find(b, name, ".weight");
		if (!s || s->rank != 2 || !s->type ||
		    (i && (s->type != v.type || s->bytes != bytes || s->dims[0] != v.dims[1]))) {
			im_fail(b->im, -EBADMSG, "%.100s is not there, or unlike the others", name);
			break;
		}
		if (!i) {
			bytes = s->bytes;
			v.type = s->type;
			v.rank = 3;
			v.dims[0] = count;
			v.dims[1] = s->dims[0];
			v.dims[2] = s->dims[1];
			data = reallocarray(NULL, (size_t)count, bytes + 1);
			if (!data) {
				im_fail(b->im, -ENOMEM, "out of memory");
				break;
			}
		}
		memcpy(data + i * bytes, s->data, bytes);
		b->im->model->info.constant_count++;
		b->im->model->info.constant_bytes += bytes;
	}
	if (b->im->error.code || im_graph(b->im, accel_graph_constant(b->im->model->graph, &v, data,
								      free, data, &value))) {
		free(data);
		return NO_VALUE;
	}
	return value;
}

uint32_t part_grouped(struct family_build *b, uint32_t x, uint32_t w, uint32_t counts)
{
	struct accel_gemm_desc d = ACCEL_GEMM_DESC_INIT;
	uint32_t out = NO_VALUE;

	d.flags = ACCEL_GEMM_TRANS_B;
	d.d.dtype = ACCEL_F32;
	if (b->im->error.code || x == NO_VALUE || w == NO_VALUE || counts == NO_VALUE)
		return NO_VALUE;
	return im_node(b->im, &d.hdr, ARGS({ ACCEL_ARG_A, x }, { ACCEL_ARG_B, w },
					   { ACCEL_ARG_AUX0, counts }), 4, &out) ? NO_VALUE : out;
}

/* Rows in the order of experts, by the matrices of these */
static uint32_t product(struct family_build *b, const char *layers, uint32_t layer,
			const char *name, uint32_t x, uint32_t counts, int64_t count)
{
	const char *full = part_name(b, layers, layer, name);
	struct import *im = b->im;
	const struct stored *s;
	uint32_t w;
	char pattern[256], first[320];
	const char *at;

	if (im->error.code)
		return NO_VALUE;
	snprintf(pattern, sizeof(pattern), "%s", full);
	at = strstr(pattern, "%u");
	if (at) {
		snprintf(first, sizeof(first), "%.*s0%s", (int)(at - pattern), pattern, at + 2);
		s = part_find(b, first, ".weight");
		w = stack(b, pattern, count);
	} else {
		s = part_find(b, pattern, ".weight");
		if (!s || s->rank != 3 || s->dims[0] != count) {
			im_fail(im, -EBADMSG, "%.100s: no matrices of %lld experts", pattern,
				(long long)count);
			return NO_VALUE;
		}
		w = part_raw(b, s);
	}
	part_probe(b, s, x, counts, (uint32_t)count);
	return part_adapt_experts(b, pattern, s, x, counts, count, part_grouped(b, x, w, counts));
}

/* The experts that the router gives each row, S32 [rows, k], and what each weighs */
static uint32_t choose(struct family_build *b, uint32_t scores, int64_t k, uint32_t *weights)
{
	struct accel_topk_desc d = ACCEL_TOPK_DESC_INIT;
	struct accel_graph_arg args[] = {
		{ ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, scores },
		{ ACCEL_ARG_B, v_ints(b->im, 1, &k) }, { ACCEL_ARG_AUX0, ACCEL_VALUE_NEW }
	};
	uint32_t best = NO_VALUE;

	if (b->im->error.code || scores == NO_VALUE || im_node(b->im, &d.hdr, args, 4, &best))
		return NO_VALUE;
	/* The shares of all, of which these are made to add up to 1, come to the same. */
	*weights = v_softmax(b->im, ACCEL_SOFTMAX_PLAIN, -1, best);
	return args[3].value;
}

static uint32_t sums_before(struct family_build *b, uint32_t a, int32_t axis)
{
	struct accel_scan_desc d = ACCEL_SCAN_DESC_INIT;
	uint32_t out = NO_VALUE;

	d.flags = ACCEL_SCAN_EXCLUSIVE;
	d.axis = axis;
	if (b->im->error.code || a == NO_VALUE)
		return NO_VALUE;
	return im_one(b->im, &d.hdr, a, &out) ? NO_VALUE : out;
}

uint32_t experts_of(struct family_build *b, const char *layers, uint32_t layer,
		    const char *const names[4], uint32_t act, uint32_t x)
{
	const int64_t count = part_size(b, "num_local_experts", 0, MAX_EXPERTS);
	const int64_t k = part_size(b, "num_experts_per_tok", 0, count);
	const int64_t column[] = { -1, 1 }, flat = -1;
	struct accel_scatter_desc put = ACCEL_SCATTER_DESC_INIT;
	uint32_t rows, scores, chosen, weights = NO_VALUE, mine, counts, at, order, y, gate;
	struct import *im = b->im;
	const int64_t hidden = b->model->shape.hidden, split[] = { -1, k, hidden };
	const int64_t flatter[] = { -1, hidden };

	if (im->error.code)
		return NO_VALUE;
	rows = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, x, 2, flatter);
	scores = part_linear(b, part_name(b, layers, layer, names[0]), rows, 0, NO_VALUE, false);
	chosen = choose(b, scores, k, &weights);
	/* Where each of a row's experts finds it: behind all rows of those before, and its own. */
	mine = v_iota(im, v_number(im, ACCEL_HOST_S64, (double)count));
	chosen = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, chosen, 2, column);
	mine = v_binary(im, ACCEL_BINARY_EQ, chosen, v_cast(im, mine, ACCEL_S32));
	mine = v_cast(im, mine, ACCEL_S32);
	counts = v_reduce(im, ACCEL_REDUCE_SUM, 0, ACCEL_AXIS(0), mine);
	at = v_binary(im, ACCEL_BINARY_ADD, sums_before(b, mine, 0), sums_before(b, counts, 1));
	at = v_reduce(im, ACCEL_REDUCE_SUM, 0, ACCEL_AXIS(1),
		      v_binary(im, ACCEL_BINARY_MUL, at, mine));
	counts = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, counts, 1, &flat);
	/* The row that lies at each place */
	order = v_iota(im, v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v_shape_of(im, at, 0, 1), 1,
				       (const int64_t []) { 0 }));
	order = v_cast(im, v_with(im, ACCEL_BINARY_QUOT, order, (double)k), ACCEL_S32);
	put.func = ACCEL_SCATTER_ND;
	order = v_scatter(im, &put, order, at, order);
	at = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, at, 1, &flat);
	y = v_gather(im, ACCEL_GATHER_AXIS, 0, rows, order);
	gate = part_activate(b, act, product(b, layers, layer, names[1], y, counts, count));
	y = product(b, layers, layer, names[2], y, counts, count);
	y = v_binary(im, ACCEL_BINARY_MUL, gate, y);
	y = product(b, layers, layer, names[3], y, counts, count);
	y = v_gather(im, ACCEL_GATHER_AXIS, 0, y, at);
	/* [rows, k, hidden], weighed and added */
	y = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, y, 3, split);
	weights = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, weights, 1, (const int64_t []) { 2 });
	y = v_reduce(im, ACCEL_REDUCE_SUM, 0, ACCEL_AXIS(1),
		     v_binary(im, ACCEL_BINARY_MUL, y, weights));
	return v_shaped(im, ACCEL_SHAPE_RESHAPE, y, v_shape_of(im, x, 0, 3));
}
