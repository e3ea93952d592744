// SPDX-License-Identifier: MIT
/*
 * Attention from its parts: one operation, or, where scores are asked for, capped behind a mask
 * or doubles, several.
 */
#include <math.h>
#include <string.h>

#include "attend.h"

#define ADD(a, b)	v_binary(im, ACCEL_BINARY_ADD, a, b)
#define AND(a, b)	v_binary(im, ACCEL_BINARY_AND, a, b)

/* A mask so low that no key of it was to be seen, whatever is done to scores behind it */
#define HIDDEN	(-10000.0)

const uint32_t heads_turned[] = { 0, 2, 1, 3 };

const struct heads no_heads = {
	.groups = 1, .bias = NO_VALUE, .seen = NO_VALUE, .past = NO_VALUE, .sinks = NO_VALUE,
	.scores = UINT32_MAX
};

uint32_t both_seen(struct import *im, uint32_t a, uint32_t b)
{
	return a == NO_VALUE ? b : b == NO_VALUE ? a : AND(a, b);
}

/* A dimension as a number, S64 [] */
uint32_t length_of(struct import *im, uint32_t a, uint32_t axis)
{
	const int64_t zero = 0;

	return v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v_shape_of(im, a, axis, (int64_t)axis + 1), 1,
			   &zero);
}

/* 0, 1, ... as [n, 1] or [n] */
uint32_t count_up(struct import *im, uint32_t n, bool down)
{
	const int64_t one = 1;

	n = v_iota(im, n);
	return down ? v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, n, 1, &one) : n;
}

/* [B] as [B, 1, 1, 1] in S64 */
uint32_t of_batches(struct import *im, uint32_t a)
{
	const int64_t list[] = { -1, 1, 1, 1 };

	return v_cast(im, v_shaped_to(im, ACCEL_SHAPE_RESHAPE, a, 4, list), ACCEL_HOST_S64);
}

bool is_fixed(const struct import *im, uint32_t value, uint32_t axis)
{
	return !accel_graph_varies(im->model->graph, value, axis);
}

/* Are there as many keys as queries, or, with @past 0, does the first query lie at the first? */
static bool is_square(struct import *im, const struct heads *h)
{
	struct ref q = { 0 }, k = { 0 };

	if (im->error.code || h->q == NO_VALUE || h->k == NO_VALUE || im_ref(im, h->q, &q) ||
	    im_ref(im, h->k, &k))
		return false;
	return is_fixed(im, h->q, 1) && is_fixed(im, h->k, 1) && q.dims[1] == k.dims[1];
}

/* Which keys are seen from which queries, by where both are */
static void see_by_place(struct import *im, struct heads *h)
{
	uint32_t row = count_up(im, length_of(im, h->q, 1), true);
	uint32_t key = count_up(im, length_of(im, h->k, 1), false);

	if (h->past != NO_VALUE)
		row = ADD(row, h->past);
	if (h->causal)
		h->seen = both_seen(im, h->seen, v_binary(im, ACCEL_BINARY_LE, key, row));
	row = v_with(im, ACCEL_BINARY_SUB, row, (double)h->window);
	if (h->window)
		h->seen = both_seen(im, h->seen, v_binary(im, ACCEL_BINARY_GT, key, row));
}

/* Scores as they are after the product, of a type: heads may be as wide as a symbol says. */
static uint32_t scaled(struct import *im, const struct heads *h, uint32_t s, uint32_t type)
{
	uint32_t root;

	if (h->scale != 0)
		return v_with(im, ACCEL_BINARY_MUL, s, (double)h->scale);
	root = v_unary(im, ACCEL_UNARY_SQRT, v_size_of(im, h->q, 3, ACCEL_HOST_F64));
	root = v_binary(im, ACCEL_BINARY_DIV, v_number(im, ACCEL_HOST_F64, 1), root);
	return v_binary(im, ACCEL_BINARY_MUL, s, v_cast(im, root, type));
}

/* The result, [B, S, N, size], as one operation */
uint32_t attend_whole(struct import *im, struct heads *h)
{
	struct accel_graph_arg args[6] = {
		{ ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, h->q }, { ACCEL_ARG_B, h->k },
		{ ACCEL_ARG_C, h->v }
	};
	struct accel_attention_desc d = ACCEL_ATTENTION_DESC_INIT;
	uint32_t n = 4, mask = h->bias, out = NO_VALUE, type = v_type(im, h->q);

	if (h->causal && h->past == NO_VALUE && !h->window) {
		d.flags = ACCEL_ATTENTION_CAUSAL | (is_square(im, h) ? 0 : ACCEL_ATTENTION_OFFSET);
		h->causal = false;
	}
	see_by_place(im, h);
	if (h->seen != NO_VALUE && mask == NO_VALUE) {
		mask = v_cast(im, h->seen, ACCEL_U8);
	} else if (mask != NO_VALUE) {
		mask = v_cast(im, mask, type);
		if (h->seen != NO_VALUE)
			mask = v_select(im, h->seen, mask, v_number(im, type, -INFINITY));
	}
	if (h->scale != 0) {
		d.flags |= ACCEL_ATTENTION_SCALE;
		d.scale = h->scale;
	}
	d.softcap = h->softcap;
	if (mask != NO_VALUE)
		args[n++] = (struct accel_graph_arg) { ACCEL_ARG_AUX0, mask };
	if (h->sinks != NO_VALUE)
		args[n++] = (struct accel_graph_arg) { ACCEL_ARG_AUX4, h->sinks };
	if (im->error.code || h->q == NO_VALUE || h->k == NO_VALUE || h->v == NO_VALUE)
		return NO_VALUE;
	return im_node(im, &d.hdr, args, n, &out) ? NO_VALUE : out;
}

/* Keys or values for each head of the queries, [B, N, T, size] */
static uint32_t repeated(struct import *im, const struct heads *h, uint32_t a)
{
	const int64_t two = 2;
	uint32_t shape[4];

	a = v_transpose(im, a, heads_turned);
	if (h->groups == 1)
		return a;
	shape[0] = v_shape_of(im, a, 0, 1);
	shape[1] = v_shape_of(im, a, 1, 2);
	shape[2] = v_ints(im, 1, &h->groups);
	shape[3] = v_shape_of(im, a, 2, 4);
	a = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, a, 1, &two);
	a = v_shaped(im, ACCEL_SHAPE_EXPAND, a, v_concat(im, 0, 4, shape));
	shape[1] = v_with(im, ACCEL_BINARY_MUL, shape[1], (double)h->groups);
	shape[2] = shape[3];
	return v_reshape(im, a, 3, shape);
}

static int give_scores(struct import *im, const struct heads *h, uint32_t mode, uint32_t value)
{
	return h->scores != UINT32_MAX && h->mode == mode ?
	       v_give(im, h->scores, v_cast(im, value, v_type(im, h->q))) : 0;
}

/*
 * The result by parts: a mask is added before scores are capped, and what hides keys hides
 * them behind that too.
 */
static uint32_t attend_by_parts(struct import *im, struct heads *h)
{
	uint32_t k = repeated(im, h, h->k), v = repeated(im, h, h->v), s, p, low;
	const uint32_t type = v_type(im, h->q) == ACCEL_HOST_F64 ? ACCEL_HOST_F64 : ACCEL_F32;

	see_by_place(im, h);
	s = v_product(im, ACCEL_GEMM_TRANS_B, 0, v_transpose(im, h->q, heads_turned), k, NO_VALUE,
		      NO_VALUE);
	s = scaled(im, h, v_cast(im, s, type), type);
	low = v_number(im, type, -INFINITY);
	give_scores(im, h, SCORES_PLAIN, s);
	if (h->bias != NO_VALUE) {
		s = ADD(s, v_cast(im, h->bias, type));
		if (h->softcap != 0)
			h->seen = both_seen(im, h->seen,
					    v_with(im, ACCEL_BINARY_GT, h->bias, HIDDEN));
	}
	if (h->seen != NO_VALUE)
		s = v_select(im, h->seen, s, low);
	give_scores(im, h, SCORES_MASKED, s);
	if (h->softcap != 0) {
		s = v_with(im, ACCEL_BINARY_MUL, s, 1 / (double)h->softcap);
		s = v_act(im, ACCEL_ACT_TANH, 0, 0, s);
		s = v_with(im, ACCEL_BINARY_MUL, s, (double)h->softcap);
	}
	give_scores(im, h, SCORES_CAPPED, s);
	if (h->softcap != 0 && h->seen != NO_VALUE)
		s = v_select(im, h->seen, s, low);
	p = v_softmax(im, ACCEL_SOFTMAX_PLAIN, 3, s);
	/* A query that sees no key gives zeros. */
	if (h->seen != NO_VALUE)
		p = v_select(im, h->seen, p, v_number(im, type, 0));
	give_scores(im, h, SCORES_SOFTMAX, p);
	p = v_product(im, 0, 0, v_cast(im, p, v_type(im, v)), v, NO_VALUE, NO_VALUE);
	return v_transpose(im, p, heads_turned);
}

uint32_t attend(struct import *im, struct heads *h)
{
	bool capped = h->softcap != 0 && h->bias != NO_VALUE;

	/* No engine has doubles. */
	return capped || h->scores != UINT32_MAX || v_type(im, h->q) == ACCEL_HOST_F64 ?
	       attend_by_parts(im, h) : attend_whole(im, h);
}

/* --- what inputs look like ------------------------------------------------------------------ */

/* All sizes are told, here and below: of no elements what is left is not. */

/* [B, rows, N size] as [B, rows, N, size] */
uint32_t split_heads(struct import *im, uint32_t a, int64_t heads)
{
	uint32_t lists[3];

	lists[0] = v_shape_of(im, a, 0, 2);
	lists[1] = v_ints(im, 1, &heads);
	lists[2] = v_with(im, ACCEL_BINARY_QUOT, v_shape_of(im, a, 2, 3), (double)heads);
	return v_reshape(im, a, 3, lists);
}

uint32_t join_heads(struct import *im, uint32_t a)
{
	uint32_t lists[2];

	lists[0] = v_shape_of(im, a, 0, 2);
	lists[1] = v_elements(im, a, 2);
	return v_reshape(im, a, 2, lists);
}

/* What was there, [B, N, P, size], and what is new, [B, rows, N, size]; as an output too */
uint32_t with_past(struct import *im, uint32_t past, uint32_t a, uint32_t out)
{
	bool wanted = out < im->out_count && im->out[out].n;
	uint32_t list[] = { past, v_transpose(im, a, heads_turned) };

	if (past == NO_VALUE) {
		if (wanted)
			v_give(im, out, list[1]);
		return a;
	}
	list[0] = v_concat(im, 2, 2, list);
	if (wanted)
		v_give(im, out, list[0]);
	return v_transpose(im, list[0], heads_turned);
}

/* Heads [B, S, N, H] turned by tables; @at: positions [B, S], S32 */
uint32_t rotate(struct import *im, uint32_t a, uint32_t cosines, uint32_t sines, uint32_t at,
		bool interleaved)
{
	struct accel_rotary_desc d = ACCEL_ROTARY_DESC_INIT;
	uint32_t out = NO_VALUE;

	d.flags = interleaved ? ACCEL_ROTARY_INTERLEAVED : 0;
	if (im->error.code || a == NO_VALUE || cosines == NO_VALUE || sines == NO_VALUE ||
	    at == NO_VALUE)
		return NO_VALUE;
	return im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, a }, { ACCEL_ARG_B, cosines },
					{ ACCEL_ARG_C, sines }, { ACCEL_ARG_AUX0, at }), 5, &out) ?
	       NO_VALUE : out;
}

/* Positions of [B, S] heads from a first one, S64 [] or [B, 1] */
uint32_t places_from(struct import *im, uint32_t a, uint32_t first)
{
	uint32_t v = ADD(v_iota(im, length_of(im, a, 1)), first);

	v = v_shaped(im, ACCEL_SHAPE_EXPAND, v, v_shape_of(im, a, 0, 2));
	return v_cast(im, v, ACCEL_S32);
}
