// SPDX-License-Identifier: MIT
/*
 * Attention in the forms that files have: ONNX's own, and those of com.microsoft with packed
 * projections, key padding, caches and rotary embeddings.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "attend.h"

#define ADD(a, b)	v_binary(im, ACCEL_BINARY_ADD, a, b)
#define SUB(a, b)	v_binary(im, ACCEL_BINARY_SUB, a, b)
#define AND(a, b)	v_binary(im, ACCEL_BINARY_AND, a, b)
#define TURN(a)		v_transpose(im, a, heads_turned)

/* --- ONNX's own --------------------------------------------------------------- */

static bool counts_fit(int64_t n)
{
	return n >= 1 && n <= 1 << 16;
}

/* A mask is of any leading dimensions; in newer versions it may end before the keys do. */
static void take_mask(struct import *im, uint32_t index, struct heads *h)
{
	struct accel_pad_desc pad = ACCEL_PAD_DESC_INIT;
	const struct ref *ref = im_input(im, index);
	uint32_t mask = v_in(im, index), last = ref->rank ? ref->rank - 1 : 0;
	const int64_t zero = 0;
	struct ref k = { 0 };

	if (mask == NO_VALUE || h->k == NO_VALUE || im_ref(im, h->k, &k))
		return;
	/* One number for all has no last dimension. */
	if (!ref->rank)
		mask = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, mask, 1, &zero);
	if (im->opset >= 24 && ref->rank && is_fixed(im, mask, last) && is_fixed(im, h->k, 1) &&
	    ref->dims[last] > 1 && ref->dims[last] < k.dims[1] && ref->rank <= ACCEL_MAX_RANK) {
		pad.after[last] = k.dims[1] - ref->dims[last];
		pad.value = ref->type == ACCEL_HOST_BOOL ? 0 : -(double)INFINITY;
		if (im_one(im, &pad.hdr, mask, &mask))
			return;
	}
	if (ref->type == ACCEL_HOST_BOOL)
		h->seen = both_seen(im, h->seen, mask);
	else
		h->bias = mask;
}

static int attention(struct import *im, uint32_t arg)
{
	int64_t n = im_int(im, "q_num_heads", 0), kv = im_int(im, "kv_num_heads", 0);
	struct heads h = no_heads;
	uint32_t i, in[3], y, last, all;
	bool flat;
	int ret = im_need(im, 3);

	(void)arg;
	if (ret)
		return ret;
	flat = im->in[0].rank == 3;
	for (i = 0; i < 3; i++) {
		if (im->in[i].rank != (flat ? 3 : 4))
			return im_fail(im, -EBADMSG, "input %u has %u dimensions", i,
				       im->in[i].rank);
		in[i] = v_in(im, i);
	}
	if (!flat) {
		n = im->in[0].dims[1];
		kv = im->in[1].dims[1];
		if (!is_fixed(im, in[0], 1) || !is_fixed(im, in[1], 1))
			return im_fail(im, -EOPNOTSUPP, "its number of heads is a symbol");
	}
	if (!counts_fit(n) || !counts_fit(kv) || n % kv)
		return im_fail(im, -EBADMSG, "%lld heads, %lld of keys", (long long)n,
			       (long long)kv);
	if (im_input(im, 4)->here != im_input(im, 5)->here)
		return im_fail(im, -EBADMSG, "keys or values of the past alone");
	for (i = 0; i < 3; i++)
		in[i] = flat ? split_heads(im, in[i], i ? kv : n) : TURN(in[i]);
	h.groups = n / kv;
	h.q = in[0];
	h.k = with_past(im, v_in(im, 4), in[1], 1);
	h.v = with_past(im, v_in(im, 5), in[2], 2);
	h.causal = im_int(im, "is_causal", 0);
	h.scale = im_float(im, "scale", 0);
	h.softcap = im_float(im, "softcap", 0);
	h.mode = (uint32_t)im_int(im, "qk_matmul_output_mode", 0);
	if (im->out_count > 3 && im->out[3].n)
		h.scores = 3;
	if (h.mode > SCORES_SOFTMAX)
		return im_fail(im, -EBADMSG, "its qk_matmul_output_mode is %u", h.mode);
	take_mask(im, 3, &h);
	if (v_in(im, 4) != NO_VALUE && h.causal)
		h.past = length_of(im, v_in(im, 4), 2);
	if (v_in(im, 6) != NO_VALUE) {
		last = of_batches(im, v_in(im, 6));
		all = count_up(im, length_of(im, h.k, 1), false);
		h.seen = both_seen(im, h.seen, v_binary(im, ACCEL_BINARY_LT, all, last));
		if (h.past == NO_VALUE && h.causal)
			h.past = SUB(last, length_of(im, h.q, 1));
	}
	y = attend(im, &h);
	return v_give(im, 0, flat ? join_heads(im, y) : TURN(y));
}

/* --- rotary embeddings --------------------------------------------------------------- */

/* Inputs X, cosines, sines, positions; of com.microsoft positions come second. */
static int rotary(struct import *im, uint32_t ms)
{
	uint32_t cosines = v_in(im, ms ? 2 : 1), sines = v_in(im, ms ? 3 : 2), a = v_in(im, 0);
	int64_t n = im_int(im, "num_heads", 0), turns = im_int(im, "rotary_embedding_dim", 0);
	uint32_t at = v_in(im, ms ? 1 : 3), index = ms ? 1 : 3, k;
	const struct ref *table = im_input(im, ms ? 2 : 1);
	const int64_t zero = 0;
	uint32_t list[3];
	bool flat;
	int ret = im_need(im, ms ? 4 : 3);

	if (ret)
		return ret;
	flat = im->in[0].rank == 3;
	if (im->in[0].rank != 4 && !flat)
		return im_fail(im, -EBADMSG, "%u dimensions", im->in[0].rank);
	if (ms && im_int(im, "is_packed_batching", 0))
		return im_fail(im, -EOPNOTSUPP, "packed batches");
	/* As much of a head is turned as the tables have. */
	if (turns && (!table->rank || (flat && !n) ||
		      (is_fixed(im, cosines, table->rank - 1) &&
		       turns != 2 * table->dims[table->rank - 1])))
		return im_fail(im, -EBADMSG, "%lld elements of heads are not those of its tables",
			       (long long)turns);
	if (flat && n && !counts_fit(n))
		return im_fail(im, -EBADMSG, "%lld heads", (long long)n);
	if (flat && !n) {
		/* Tables say how wide a head is that turns whole. */
		list[0] = v_shape_of(im, a, 0, 2);
		list[2] = v_with(im, ACCEL_BINARY_MUL, v_shape_of(im, cosines, -1, INT64_MAX), 2);
		list[1] = v_binary(im, ACCEL_BINARY_QUOT, v_shape_of(im, a, 2, 3), list[2]);
		a = v_reshape(im, a, 3, list);
	} else {
		a = flat ? split_heads(im, a, n) : TURN(a);
	}
	if (at == NO_VALUE) {
		/* A row of the tables for each row of the input: [B, S, half] */
		for (k = 0; k < 2; k++) {
			uint32_t *rows = k ? &sines : &cosines;

			if (im->in[k + 1].rank != 3)
				return im_fail(im, -EBADMSG, "tables of %u dimensions",
					       im->in[k + 1].rank);
			list[0] = v_reduce(im, ACCEL_REDUCE_PROD, 0, ACCEL_AXIS(0),
					   v_shape_of(im, *rows, 0, 2));
			list[1] = v_shape_of(im, *rows, 2, 3);
			*rows = v_reshape(im, *rows, 2, list);
		}
		at = v_iota(im, length_of(im, cosines, 0));
		at = v_cast(im, v_shaped(im, ACCEL_SHAPE_RESHAPE, at, v_shape_of(im, a, 0, 2)),
			    ACCEL_S32);
	} else if (im->in[index].rank < 2) {
		at = v_cast(im, at, ACCEL_HOST_S64);
		if (im->in[index].rank)
			at = v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, at, 1, &zero);
		at = places_from(im, a, at);
	} else {
		at = v_cast(im, at, ACCEL_S32);
	}
	a = rotate(im, a, cosines, sines, at, im_int(im, "interleaved", 0));
	return v_give(im, 0, flat ? join_heads(im, a) : TURN(a));
}

/* --- com.microsoft --------------------------------------------------------------- */

/* 0 where a condition holds, what hides elsewhere; added to the scores */
static void hide_unless(struct import *im, struct heads *h, uint32_t condition)
{
	double low = (double)im_float(im, "mask_filter_value", -10000.0f);
	uint32_t bias = v_select(im, condition, v_number(im, ACCEL_F32, 0),
				 v_number(im, ACCEL_F32, low));

	h->bias = h->bias == NO_VALUE ? bias : ADD(h->bias, bias);
}

/*
 * Key padding: how many keys each batch has, [B]; their ends, then their starts, [2 B]; 0 for
 * those that are hidden, [B, T] or [B, S, T]
 */
static int key_padding(struct import *im, uint32_t index, struct heads *h)
{
	static const int64_t rows[] = { 1, 2 };
	const struct ref *ref = im_input(im, index);
	uint32_t mask = v_in(im, index), key, seen;
	int64_t batch = im->in[0].dims[0];

	if (mask == NO_VALUE)
		return 0;
	if (ref->rank == 2 || ref->rank == 3) {
		mask = v_with(im, ACCEL_BINARY_NE, mask, 0);
		hide_unless(im, h, v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, mask,
					       ref->rank == 2 ? 2 : 1, rows));
		return im->error.code;
	}
	if (ref->rank != 1 || !is_fixed(im, mask, 0) || !is_fixed(im, im->in[0].value, 0)) {
		/* Of a batch that varies there is one number each. */
		if (ref->rank != 1 || is_fixed(im, mask, 0))
			return im_fail(im, -EOPNOTSUPP, "a mask of %u dimensions", ref->rank);
		batch = ref->dims[0];
	}
	if (ref->dims[0] != batch && ref->dims[0] != 2 * batch)
		return im_fail(im, -EOPNOTSUPP, "a mask of %lld numbers", (long long)ref->dims[0]);
	key = count_up(im, length_of(im, h->k, 1), false);
	if (ref->dims[0] == batch) {
		seen = v_binary(im, ACCEL_BINARY_LT, key, of_batches(im, mask));
	} else {
		seen = v_binary(im, ACCEL_BINARY_LT, key,
				of_batches(im, v_slice(im, mask, 0, 0, batch, 1)));
		mask = v_slice(im, mask, 0, batch, 2 * batch, 1);
		seen = AND(seen, v_binary(im, ACCEL_BINARY_GE, key, of_batches(im, mask)));
	}
	hide_unless(im, h, seen);
	return im->error.code;
}

/* What all have in common, when queries, keys and values are there */
static int finish_heads(struct import *im, struct heads *h, uint32_t mask, uint32_t bias,
			uint32_t past)
{
	int ret;

	h->scale = im_float(im, "scale", 0);
	h->causal = im_int(im, "unidirectional", 0);
	if (past != NO_VALUE && h->causal)
		h->past = past;
	h->bias = v_in(im, bias);
	ret = key_padding(im, mask, h);
	return ret ? ret : v_give(im, 0, join_heads(im, attend(im, h)));
}

/* Piece @index of an axis that becomes none */
static uint32_t piece(struct import *im, uint32_t a, int64_t axis, int64_t index)
{
	return v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v_slice(im, a, axis, index, index + 1, 1), 1,
			   &axis);
}

/* Elements of a list from one on, up to another, which are lists of one number */
static uint32_t cut(struct import *im, uint32_t a, uint32_t from, uint32_t to)
{
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	uint32_t out = NO_VALUE;

	if (im->error.code || a == NO_VALUE || from == NO_VALUE || to == NO_VALUE)
		return NO_VALUE;
	return im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, a }, { ACCEL_ARG_B, from },
					{ ACCEL_ARG_C, to }), 4, &out) ? NO_VALUE : out;
}

/*
 * Queries, keys, values; a bias of all three; key padding; what is added to the scores; keys
 * and values of the past. Queries may bring keys and values with them, [B, S, N, 3, H], and keys
 * values, [B, T, N, 2, H]; keys and values of four dimensions lie as those of the past do.
 */
static int multi_head(struct import *im, uint32_t arg)
{
	int64_t n = im_int(im, "num_heads", 0), none = 0;
	uint32_t part[3], i, bias = v_in(im, 3), past = NO_VALUE, count, from;
	const int64_t first = 0, most = INT64_MAX;
	struct heads h = no_heads;
	int ret = im_need(im, 1);

	(void)arg;
	if (ret)
		return ret;
	if (!counts_fit(n))
		return im_fail(im, -EBADMSG, "%lld heads", (long long)n);
	/* A past that is part of a larger buffer, unless there is none of it, and beams */
	for (i = 8; i < im->in_count; i++)
		if (v_in(im, i) != NO_VALUE &&
		    (i > 8 || v_in(im, 6) != NO_VALUE || v_in(im, 7) != NO_VALUE ||
		     !im_numbers(&im->in[i], &none, &count, 1) || none))
			return im_fail(im, -EOPNOTSUPP, "input %u is not supported", i);
	for (i = 0; i < 2; i++)
		if (im_input(im, i)->rank == 5 &&
		    ((is_fixed(im, v_in(im, i), 3) && im->in[i].dims[3] != 3 - i) ||
		     (is_fixed(im, v_in(im, i), 2) && im->in[i].dims[2] != n)))
			return im_fail(im, -EBADMSG, "%lld of %lld heads are packed, not %u of %lld",
				       (long long)im->in[i].dims[3], (long long)im->in[i].dims[2],
				       3 - i, (long long)n);
	for (i = 0; i < 3; i++) {
		if (im->in[0].rank == 5) {
			part[i] = piece(im, v_in(im, 0), 3, i);
		} else if (i && im_input(im, 1)->rank == 5) {
			part[i] = piece(im, v_in(im, 1), 3, i - 1);
		} else if (i && im_input(im, i)->rank == 4) {
			part[i] = TURN(v_in(im, i));
		} else if (im_input(im, i)->rank == 3) {
			part[i] = split_heads(im, v_in(im, i), n);
		} else {
			return im_fail(im, -EBADMSG, "input %u has %u dimensions", i,
				       im_input(im, i)->rank);
		}
	}
	/* As many numbers for each as it has columns, of the last all that are left */
	from = v_ints(im, 1, &first);
	for (i = 0; i < 3 && bias != NO_VALUE; i++) {
		uint32_t end = ADD(from, v_elements(im, part[i], 2));

		/* Keys that another node made have theirs already. */
		if (!i || im_input(im, i)->rank != 4)
			part[i] = ADD(part[i],
				      v_shaped(im, ACCEL_SHAPE_RESHAPE,
					       cut(im, bias, from, i < 2 ? end :
						   v_ints(im, 1, &most)),
					       v_shape_of(im, part[i], 2, 4)));
		from = end;
	}
	if (v_in(im, 6) != NO_VALUE)
		past = length_of(im, v_in(im, 6), 2);
	h.q = part[0];
	h.k = with_past(im, v_in(im, 6), part[1], 1);
	h.v = with_past(im, v_in(im, 7), part[2], 2);
	return finish_heads(im, &h, 4, 5, past);
}

/*
 * Projections of bytes by bytes: input, weights, bias, the scales of both, key padding, their zero
 * points. The product is exact before it is scaled.
 */
static uint32_t exact_projections(struct import *im)
{
	static const char *const name = "MatMulIntegerToFloat", *const domain = "com.microsoft";
	static const uint32_t from[] = { 0, 1, 3, 4, 6, 7, 2 };
	const struct op *op = find_op((struct slice){ (const uint8_t *)name, strlen(name) },
				      (struct slice){ (const uint8_t *)domain, strlen(domain) });
	const uint32_t count = im->in_count;
	uint32_t i, value = NO_VALUE;
	struct ref in[9];

	for (i = 0; i < ARRAY_SIZE(in); i++)
		in[i] = *im_input(im, i);
	for (i = 0; i < ARRAY_SIZE(from); i++) {
		im->in[i] = in[from[i]];
		if (im->in[i].here && im->in[i].type == ACCEL_F16)
			im_ref(im, v_cast(im, im->in[i].value, ACCEL_F32), &im->in[i]);
	}
	im->in_count = ARRAY_SIZE(from);
	im->capture = &value;
	if (!im->error.code)
		op->fn(im, op->arg);
	im->capture = NULL;
	im->in_count = count;
	memcpy(im->in, in, (count < ARRAY_SIZE(in) ? count : ARRAY_SIZE(in)) * sizeof(*in));
	return v_cast(im, value, in[3].type);
}

/*
 * The input, weights of all projections beside each other, their bias, key padding, keys and
 * values of the past, [2, B, N, P, H], what is added to the scores; of bytes (@exact) those of
 * exact_projections(), then the past
 */
static int packed_attention(struct import *im, uint32_t exact)
{
	const struct attr *sizes = im_attr(im, "qkv_hidden_sizes", ATTR_INTS);
	int64_t n = im_int(im, "num_heads", 0), heads, from = 0, wide[3];
	uint32_t all, part[3], i, past = NO_VALUE, old[2] = { NO_VALUE, NO_VALUE }, list[2];
	bool wanted = im->out_count > 1 && im->out[1].n;
	const uint32_t earlier = exact ? 8 : 4;
	struct heads h = no_heads;
	const int64_t zero = 0;
	int ret = im_need(im, exact ? 5 : 2);

	if (ret)
		return ret;
	if (!counts_fit(n) || im->in[0].rank != 3 || im->in[1].rank != 2 ||
	    (sizes && sizes->int_count != 3))
		return im_fail(im, -EBADMSG, "%lld heads, or sizes that are not three",
			       (long long)n);
	heads = 3 * n;
	if (im_int(im, "do_rotary", 0) || im_int(im, "past_present_share_buffer", 0))
		return im_fail(im, -EOPNOTSUPP, "do_rotary or past_present_share_buffer");
	if (v_in(im, earlier) != NO_VALUE &&
	    (im->in[earlier].rank != 5 ||
	     (!im_is_symbol(im, earlier, 0) && im->in[earlier].dims[0] != 2)))
		return im_fail(im, -EBADMSG, "a past that is not one of keys and one of values");
	for (i = 0; i < 3 && sizes; from += wide[i++]) {
		wide[i] = sizes->ints[i];
		if (wide[i] < 1 || wide[i] % n || wide[i] > 1 << 30)
			return im_fail(im, -EBADMSG, "%lld columns for %lld heads",
				       (long long)wide[i], (long long)n);
	}
	if (!im_is_symbol(im, 1, 1) &&
	    (sizes ? im->in[1].dims[1] != from : im->in[1].dims[1] % heads))
		return im_fail(im, -EBADMSG, "%lld columns for %lld heads, all three packed",
			       (long long)im->in[1].dims[1], (long long)heads);
	all = exact ? exact_projections(im) :
	      v_product(im, 0, 0, v_in(im, 0), v_in(im, 1), v_in(im, 2), NO_VALUE);
	list[0] = v_shape_of(im, all, 0, 2);
	list[1] = v_ints(im, 1, &from);
	all = sizes ? v_reshape(im, all, 2, list) : split_heads(im, all, heads);
	for (i = 0, from = 0; i < 3; i++) {
		const int64_t size = sizes ? wide[i] : n;

		part[i] = v_slice(im, all, 2, from, from + size, 1);
		if (sizes)
			part[i] = split_heads(im, part[i], n);
		from += size;
	}
	for (i = 0; i < 2 && v_in(im, earlier) != NO_VALUE; i++)
		old[i] = piece(im, v_in(im, earlier), 0, i);
	if (old[0] != NO_VALUE)
		past = length_of(im, old[0], 2);
	h.q = part[0];
	h.k = with_past(im, old[0], part[1], UINT32_MAX);
	h.v = with_past(im, old[1], part[2], UINT32_MAX);
	if (wanted) {
		part[1] = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, TURN(h.k), 1, &zero);
		part[2] = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, TURN(h.v), 1, &zero);
		v_give(im, 1, v_concat(im, 0, 2, part + 1));
	}
	return finish_heads(im, &h, exact ? 5 : 3, exact ? MAX_IO : 5, past);
}

/*
 * Rows of a cache where each batch has as many as @first says: those that are new, at the end of
 * @all, [B, P + S, N, H], come behind them, and what then lies at the end is not seen.
 */
static uint32_t in_order(struct import *im, uint32_t all, uint32_t fresh, uint32_t first,
			 uint32_t past)
{
	struct accel_gather_desc d = ACCEL_GATHER_DESC_INIT;
	const int64_t flat[] = { -1, 1 }, last = 2;
	uint32_t at = v_iota(im, length_of(im, all, 1)), off, mine, out = NO_VALUE;

	first = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, first, 2, flat);
	off = SUB(at, first);
	mine = AND(v_with(im, ACCEL_BINARY_GE, off, 0),
		   v_binary(im, ACCEL_BINARY_LT, off, length_of(im, fresh, 1)));
	at = v_select(im, mine, ADD(off, past), at);
	at = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, v_cast(im, at, ACCEL_S32), 1, &last);
	d.func = ACCEL_GATHER_ND;
	d.batch = 1;
	if (im->error.code || all == NO_VALUE || at == NO_VALUE)
		return NO_VALUE;
	return im_two(im, &d.hdr, all, at, &out) ? NO_VALUE : out;
}

/*
 * Queries, or all three packed; keys; values; the past of both; how many keys each batch has,
 * less 1; the most of these; tables of cosines and sines; positions; what is added to scores;
 * sinks. A first run, without a past, has its rows at the beginning.
 */
static int group_query(struct import *im, uint32_t arg)
{
	int64_t n = im_int(im, "num_heads", 0), kv = im_int(im, "kv_num_heads", 0), from = 0;
	int64_t groups;
	uint32_t i, part[3], old[2] = { v_in(im, 3), v_in(im, 4) }, lens, first, at, past, all;
	static const uint32_t unused[] = { 12, 13, 14, 15 };
	bool packed = v_in(im, 1) == NO_VALUE;
	const int64_t column[] = { -1, 1 };
	struct heads h = no_heads;
	int ret = im_need(im, 1);

	(void)arg;
	if (ret)
		return ret;
	if (!counts_fit(n) || !counts_fit(kv) || n % kv || im->in[0].rank != 3)
		return im_fail(im, -EBADMSG, "%lld heads, %lld of keys", (long long)n,
			       (long long)kv);
	/* Neither its definition nor engines have them. */
	if (im->in[0].type == ACCEL_HOST_F64)
		return im_fail(im, -EOPNOTSUPP, "it is not of doubles");
	if (v_in(im, 5) == NO_VALUE || im_input(im, 3)->here != im_input(im, 4)->here ||
	    packed == im_input(im, 2)->here)
		return im_fail(im, -EBADMSG, "its lengths, its values or a part of its past are missing");
	for (i = 0; i < ARRAY_SIZE(unused); i++)
		if (v_in(im, unused[i]) != NO_VALUE)
			return im_fail(im, -EOPNOTSUPP, "input %u is not supported", unused[i]);
	groups = n + 2 * kv;
	if (packed && is_fixed(im, v_in(im, 0), 2) && im->in[0].dims[2] % groups)
		return im_fail(im, -EBADMSG, "%lld columns for %lld heads, all three packed",
			       (long long)im->in[0].dims[2], (long long)groups);
	all = packed ? split_heads(im, v_in(im, 0), groups) : NO_VALUE;
	for (i = 0; i < 3; i++) {
		int64_t heads = i ? kv : n;

		part[i] = packed ? v_slice(im, all, 2, from, from + heads, 1) :
			  split_heads(im, v_in(im, i), heads);
		from += heads;
	}
	/* Where the first row of each batch is, S64 [B, 1]: at 0 if nothing was before */
	lens = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, v_cast(im, v_in(im, 5), ACCEL_HOST_S64), 2,
			   column);
	lens = v_with(im, ACCEL_BINARY_ADD, lens, 1);
	first = v_with(im, ACCEL_BINARY_MUL, lens, 0);
	past = v_number(im, ACCEL_HOST_S64, 0);
	if (old[0] != NO_VALUE) {
		past = length_of(im, old[0], 2);
		first = v_select(im, v_with(im, ACCEL_BINARY_GT, past, 0),
				 SUB(lens, length_of(im, part[0], 1)), first);
	}
	if (im_int(im, "do_rotary", 0)) {
		at = v_in(im, 9) != NO_VALUE ? v_cast(im, v_in(im, 9), ACCEL_S32) :
		     places_from(im, part[0], first);
		for (i = 0; i < 2; i++)
			part[i] = rotate(im, part[i], v_in(im, 7), v_in(im, 8), at,
					 im_int(im, "rotary_interleaved", 0));
	}
	for (i = 1; i < 3; i++) {
		all = with_past(im, old[i - 1], part[i], UINT32_MAX);
		if (old[i - 1] != NO_VALUE)
			all = in_order(im, all, part[i], first, past);
		part[i] = all;
		if (i < im->out_count && im->out[i].n)
			v_give(im, i, TURN(all));
	}
	h.groups = n / kv;
	h.q = part[0];
	h.k = part[1];
	h.v = part[2];
	h.past = of_batches(im, first);
	h.causal = im_int(im, "causal", 1);
	h.window = im_int(im, "local_window_size", -1);
	h.window = h.window > 0 ? h.window : 0;
	h.scale = im_float(im, "scale", 0);
	h.softcap = im_float(im, "softcap", 0);
	h.bias = v_in(im, 10);
	h.sinks = v_in(im, 11);
	/* One more score of 0, whose value is nothing */
	if (h.sinks == NO_VALUE && im_int(im, "smooth_softmax", 0) > 0)
		h.sinks = v_fill(im, im->in[0].type, v_ints(im, 1, &n), 0);
	h.seen = v_binary(im, ACCEL_BINARY_LT, count_up(im, length_of(im, h.k, 1), false),
			  of_batches(im, lens));
	/* Here scores are capped before anything is added. */
	return v_give(im, 0, join_heads(im, attend_whole(im, &h)));
}

const struct op onnx_attention[] = {
	{ "Attention", attention, 0 }, { "RotaryEmbedding", rotary, 0 }, { 0 }
};

const struct op onnx_ms_attention[] = {
	{ "Attention", packed_attention, 0 }, { "QAttention", packed_attention, 1 },
	{ "MultiHeadAttention", multi_head, 0 },
	{ "GroupQueryAttention", group_query, 0 }, { "RotaryEmbedding", rotary, 1 }, { 0 }
};
