// SPDX-License-Identifier: MIT
/*
 * Operators of com.microsoft that fuse what exporters and optimisers find: weights of few
 * bits, norms with a sum before, activations behind products.
 */
#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

/* --- weights of few bits ---------------------------------------------------------------- */

/**
 * struct nbits - a matrix of few bits
 * @n: rows, which are columns of the product
 * @k: elements of a row
 * @bits: of an element
 * @block: elements that share a scale
 * @blocks: of a row
 * @parts: it is no product that an engine has: it is read as numbers first
 */
struct nbits {
	int64_t n;
	int64_t k;
	int64_t bits;
	int64_t block;
	int64_t blocks;
	bool parts;
};

bool has_elements(const struct ref *ref, int64_t count)
{
	int64_t n = 1;
	uint32_t i;

	for (i = 0; i < ref->rank; i++)
		n *= ref->dims[i];
	return n == count;
}

static int take_nbits(struct import *im, struct nbits *w)
{
	const struct ref *b = &im->in[1];

	w->n = im_int(im, "N", 0);
	w->k = im_int(im, "K", 0);
	w->bits = im_int(im, "bits", 4);
	w->block = im_int(im, "block_size", 32);
	if (w->n < 1 || w->k < 1 || w->n > 1 << 24 || w->k > 1 << 24 || w->block < 16 ||
	    w->block > 4096 || (w->block & (w->block - 1)))
		return im_fail(im, -EBADMSG, "%lld by %lld in blocks of %lld", (long long)w->k,
			       (long long)w->n, (long long)w->block);
	w->blocks = (w->k + w->block - 1) / w->block;
	if (w->bits != 2 && w->bits != 4 && w->bits != 8)
		return im_fail(im, -EOPNOTSUPP, "%lld bits", (long long)w->bits);
	w->parts = w->bits == 2 || (w->bits == 4 && w->k % 2) || im_input(im, 4)->here ||
		   (im_input(im, 3)->here && im->in[3].type != ACCEL_U8);
	if (!b->data || b->type != ACCEL_U8 ||
	    !has_elements(b, w->n * w->blocks * w->block * w->bits / 8))
		return im_fail(im, -EOPNOTSUPP, "weights that are not constant bytes of its size");
	if (!has_elements(&im->in[2], w->n * w->blocks))
		return im_fail(im, -EBADMSG, "not as many scales as blocks");
	return 0;
}

/* Rows of @row bytes with @cols numbers each, as bytes */
static uint32_t unpacked(struct import *im, const struct nbits *w, const void *data, int64_t row,
			 int64_t cols)
{
	struct made made = { data, (uint32_t)w->bits, (uint64_t)row, ACCEL_U8, 2, { w->n, cols },
			     NO_VALUE };
	const uint8_t *from = data;
	uint32_t out = NO_VALUE;
	uint8_t *list, *to;
	int64_t n, i;

	if (tensor_made(im, &made, &out))
		return out;
	list = to = malloc((size_t)(w->n * cols));
	for (n = 0; list && n < w->n; n++, from += row)
		for (i = 0; i < cols; i++)
			*to++ = from[i * w->bits / 8] >> (i * w->bits % 8) & ((1 << w->bits) - 1);
	return tensor_make(im, &made, list, &out) ? NO_VALUE : out;
}

/* (b - zero point) scale, each of its block, or of that which g_idx says; then a product */
static int product_of_parts(struct import *im, const struct nbits *w)
{
	const int64_t row = (w->blocks * w->bits + 7) / 8, shape[] = { w->n, w->blocks };
	const uint32_t type = im->in[2].type;
	const struct ref *z = im_input(im, 3);
	uint32_t at, b, scale, zero;

	if (im_input(im, 4)->here && (im->in[4].rank != 1 || im->in[4].dims[0] < w->k))
		return im_fail(im, -EBADMSG, "g_idx has no number for each of %lld rows",
			       (long long)w->k);
	if (z->here && z->type == ACCEL_U8 && (!z->data || !has_elements(z, w->n * row)))
		return im_fail(im, -EOPNOTSUPP, "zero points that are not constant packed bytes");
	at = im_input(im, 4)->here ? v_slice(im, v_in(im, 4), 0, 0, w->k, 1) :
	     v_with(im, ACCEL_BINARY_QUOT, v_iota(im, v_number(im, ACCEL_HOST_S64, (double)w->k)),
		    (double)w->block);
	at = v_cast(im, at, ACCEL_S32);
	scale = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, v_in(im, 2), 2, shape);
	scale = v_gather(im, ACCEL_GATHER_AXIS, 1, scale, at);
	if (z->here) {
		zero = z->type == ACCEL_U8 ? unpacked(im, w, z->data, row, w->blocks) :
		       v_shaped_to(im, ACCEL_SHAPE_RESHAPE, v_in(im, 3), 2, shape);
		zero = v_gather(im, ACCEL_GATHER_AXIS, 1, v_cast(im, zero, type), at);
	} else {
		zero = v_number(im, type, 1 << (w->bits - 1));
	}
	b = unpacked(im, w, im->in[1].data, w->blocks * w->block * w->bits / 8, w->k);
	b = v_binary(im, ACCEL_BINARY_SUB, v_cast(im, b, type), zero);
	b = v_cast(im, v_binary(im, ACCEL_BINARY_MUL, b, scale), im->in[0].type);
	return v_give(im, 0, v_product(im, ACCEL_GEMM_TRANS_B, ACCEL_ACT_NONE, v_in(im, 0), b,
				       v_in(im, 5), NO_VALUE));
}

/* Rows one after the other, with the middle of the type at 0: engines have no other. */
static int signed_rows(struct import *im, const struct nbits *w, uint32_t *out)
{
	size_t row = (size_t)(w->k * w->bits / 8), i;
	size_t step = (size_t)(w->blocks * w->block * w->bits / 8);
	const uint8_t *from = im->in[1].data, flip = w->bits == 4 ? 0x88 : 0x80;
	struct made made = { from, (uint32_t)w->bits, step, w->bits == 4 ? ACCEL_S4 : ACCEL_S8, 2,
			     { w->n, w->k }, NO_VALUE };
	uint8_t *to;
	int64_t n;

	if (tensor_made(im, &made, out))
		return 0;
	to = malloc((size_t)w->n * row);
	for (n = 0; to && n < w->n; n++)
		for (i = 0; i < row; i++)
			to[(size_t)n * row + i] = from[(size_t)n * step + i] ^ flip;
	return tensor_make(im, &made, to, out);
}

/* Zero points of blocks, packed by rows, as engines have them; less the middle of the type */
static int block_zeros(struct import *im, const struct nbits *w, uint32_t *out)
{
	const struct ref *z = &im->in[3];
	int64_t row = (w->blocks * w->bits + 7) / 8, n, i;
	struct made made = { z->data, (uint32_t)w->bits, (uint64_t)row, ACCEL_S32, 2,
			     { w->n, w->blocks }, NO_VALUE };
	const uint8_t *from = z->data;
	int32_t *to;

	if (!z->data || z->type != ACCEL_U8 || !has_elements(z, w->n * row))
		return im_fail(im, -EOPNOTSUPP, "zero points that are not constant packed bytes");
	if (tensor_made(im, &made, out))
		return 0;
	to = malloc((size_t)(w->n * w->blocks) * sizeof(*to));
	for (n = 0; to && n < w->n; n++)
		for (i = 0; i < w->blocks; i++)
			to[n * w->blocks + i] =
				w->bits == 8 ? from[n * row + i] - 128
					     : (from[n * row + i / 2] >> (i % 2 * 4) & 15) - 8;
	return tensor_make(im, &made, to, out);
}

static int matmul_nbits(struct import *im, uint32_t arg)
{
	struct accel_shape_desc reshape = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_RESHAPE);
	struct accel_graph_arg args[6] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW } };
	struct accel_gemm_desc d = ACCEL_GEMM_DESC_INIT;
	uint32_t b, scales, zeros, list, out, n = 1;
	struct nbits w = { 0 };
	int ret = im_need(im, 3);

	(void)arg;
	if (!ret)
		ret = take_nbits(im, &w);
	if (!ret && w.parts)
		return product_of_parts(im, &w);
	if (!ret)
		ret = signed_rows(im, &w, &b);
	if (!ret)
		ret = im_list(im, 2, (const int64_t[]){ w.n, w.blocks }, &list);
	if (!ret)
		ret = im_two(im, &reshape.hdr, im->in[2].value, list, &scales);
	if (ret)
		return ret;
	d.flags = ACCEL_GEMM_TRANS_B;
	d.b.quant.scheme = ACCEL_QUANT_GROUP;
	d.b.quant.axis = 1;
	d.b.quant.group = (uint32_t)w.block;
	d.b.quant.scale_dtype = im->in[2].type;
	/* 4: A may be quantised to bytes by blocks, here of 128 elements at most, or less so */
	if (im_int(im, "accuracy_level", 0) == 4) {
		d.a_group = (uint32_t)(w.block < 128 ? w.block : 128);
		d.flags |= ACCEL_GEMM_BF16;
	}
	args[n++] = (struct accel_graph_arg){ ACCEL_ARG_A, im->in[0].value };
	args[n++] = (struct accel_graph_arg){ ACCEL_ARG_B, b };
	args[n++] = (struct accel_graph_arg){ ACCEL_ARG_B | ACCEL_ARG_SCALES, scales };
	if (im_input(im, 3)->here) {
		ret = block_zeros(im, &w, &zeros);
		args[n++] = (struct accel_graph_arg){ ACCEL_ARG_B | ACCEL_ARG_ZEROS, zeros };
	}
	if (im_input(im, 5)->here)
		args[n++] = (struct accel_graph_arg){ ACCEL_ARG_BIAS, im->in[5].value };
	if (!ret)
		ret = im_node(im, &d.hdr, args, n, &out);
	return ret ? ret : im_give(im, 0, out);
}

/* --- rows of few bits ------------------------------------------------------------------- */

/* Numbers of @bits that bytes have along the last dimension, S32, up to what @like has there */
static uint32_t v_unpacked(struct import *im, uint32_t bytes, int64_t bits, uint32_t like)
{
	struct accel_shape_desc cut = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	const uint32_t rank = v_rank(im, bytes);
	const int64_t last = rank, low = (1 << bits) - 1;
	uint32_t list[2], place, from = v_ints(im, 1, (const int64_t[]){ 0 }), out = NO_VALUE;

	if (im->error.code || !rank)
		return NO_VALUE;
	list[0] = v_shape_of(im, bytes, 0, last - 1);
	list[1] = v_ints(im, 1, (const int64_t[]){ -1 });
	bytes = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, v_cast(im, bytes, ACCEL_S32), 1, &last);
	place = v_ints(im, 8 / (uint32_t)bits, bits == 2 ? (const int64_t[]){ 1, 4, 16, 64 } :
		       (const int64_t[]){ 1, 16 });
	bytes = v_binary(im, ACCEL_BINARY_QUOT, bytes, v_cast(im, place, ACCEL_S32));
	bytes = v_binary(im, ACCEL_BINARY_BIT_AND, bytes, v_number(im, ACCEL_S32, (double)low));
	bytes = rank > 1 ? v_reshape(im, bytes, 2, list) : v_reshape(im, bytes, 1, list + 1);
	if (im->error.code || like == NO_VALUE)
		return bytes;
	list[0] = v_shape_of(im, like, last - 1, last);
	list[1] = v_ints(im, 1, (const int64_t[]){ last - 1 });
	if (!im->error.code)
		im_node(im, &cut.hdr, ARGS({ ACCEL_ARG_A, bytes }, { ACCEL_ARG_B, from },
					   { ACCEL_ARG_C, list[0] }, { ACCEL_ARG_AUX0, list[1] }),
			5, &out);
	return out;
}

/* What indices say along a dimension; a single one takes it away. */
static uint32_t rows_at(struct import *im, uint32_t index, int64_t axis)
{
	const int64_t zero = 0;
	uint32_t a = NO_VALUE, at = v_in(im, 1);

	if (im->error.code || tensor_bytes(im, &im->in[index], &a))
		return NO_VALUE;
	if (im->in[1].rank)
		return v_gather(im, ACCEL_GATHER_AXIS, (uint32_t)axis, a, at);
	at = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, at, 1, &zero);
	a = v_gather(im, ACCEL_GATHER_AXIS, (uint32_t)axis, a, at);
	return v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, a, 1, &axis);
}

/*
 * Data, indices, scales of blocks and their zero points: what is gathered is read as numbers, and
 * not all of the table.
 */
static int gather_quantized(struct import *im, uint32_t arg)
{
	const int64_t bits = im_int(im, "bits", 4);
	struct scaled s = { .block = im_int(im, "block_size", 128) };
	uint32_t along = 0, axis = 0, i, value, zero, out = NO_VALUE;
	bool bytes, packed;
	struct ref x;
	int ret = im_need(im, 3);

	(void)arg;
	if (!ret)
		ret = im_axis(im, im_int(im, "gather_axis", 0), im->in[0].rank, &along);
	if (!ret)
		ret = im_axis(im, im_int(im, "quantize_axis", 1), im->in[0].rank, &axis);
	if (ret)
		return ret;
	bytes = im->in[0].type == ACCEL_U8;
	packed = bytes && bits < 8;
	if (s.block < 16 || s.block > 1 << 20 || (s.block & (s.block - 1)))
		return im_fail(im, -EBADMSG, "blocks of %lld", (long long)s.block);
	if (along == axis || (packed && along == im->in[0].rank - 1))
		return im_fail(im, -EOPNOTSUPP, "it gathers along its blocks, or packed numbers");
	if (bytes ? bits != 2 && bits != 4 && bits != 8 :
	    im->in[0].type != ACCEL_S4 && im->in[0].type != ACCEL_U4)
		return im_fail(im, -EOPNOTSUPP, "%lld bits of %s", (long long)bits,
			       accel_type_name(im->in[0].type));
	for (i = 2; i < 4 && im_input(im, i)->here; i++)
		if (im->in[i].rank != im->in[0].rank ||
		    (i == 3 && im->in[3].type != im->in[0].type))
			return im_fail(im, -EBADMSG, "input %u is not as its data is", i);
	value = rows_at(im, 0, along);
	if (packed)
		value = v_unpacked(im, value, bits, NO_VALUE);
	ret = im->error.code ? im->error.code : im_ref(im, value, &x);
	value = rows_at(im, 2, along);
	if (!ret)
		ret = im->error.code ? im->error.code : im_ref(im, value, &s.scale);
	if (ret)
		return ret;
	zero = im_input(im, 3)->here ? rows_at(im, 3, along) :
	       v_number(im, ACCEL_S32, bytes ? 1 << (bits - 1) : 0);
	if (packed && im_input(im, 3)->here)
		zero = v_unpacked(im, zero, bits, value);
	ret = im->error.code ? im->error.code : im_ref(im, zero, &s.zero);
	s.axis = axis < along ? axis : (int64_t)axis + im->in[1].rank - 1;
	if (!ret)
		ret = dequantize(im, &x, &s, &out);
	return ret ? ret : im_give(im, 0, out);
}

/* --- norms ------------------------------------------------------------------------------ */

/* Along the last dimension */
static int norm_of(struct import *im, uint32_t func, float eps, uint32_t value,
		   const struct ref *gamma, const struct ref *beta, uint32_t *out)
{
	const uint32_t rank = v_rank(im, value);

	if (!im->error.code && !rank)
		return im_fail(im, -EBADMSG, "a norm of no dimensions");
	*out = v_norm(im, func, ACCEL_AXIS(rank - 1), eps, value,
		      gamma->here ? gamma->value : NO_VALUE, beta->here ? beta->value : NO_VALUE);
	return im->error.code;
}

/* input + skip (+ bias), which is output 3, and its norm */
static int skip_norm(struct import *im, uint32_t func)
{
	bool layer = func == ACCEL_NORM_LAYER;
	const struct ref *bias = im_input(im, layer ? 4 : 3);
	const struct ref *beta = im_input(im, layer ? 3 : MAX_IO);
	uint32_t sum = NO_VALUE, out = NO_VALUE;
	uint32_t i, more;
	int ret = im_need(im, 3);

	/* What is skipped is repeated over the input, not the input over it. */
	more = ret ? 0 : im->in[0].rank - im->in[1].rank;
	if (!ret && im->in[1].rank > im->in[0].rank)
		ret = im_fail(im, -EBADMSG, "a skip of %u dimensions, an input of %u",
			      im->in[1].rank, im->in[0].rank);
	for (i = 0; !ret && i < im->in[1].rank; i++)
		if (im->in[0].dims[more + i] == 1 && im->in[1].dims[i] != 1 &&
		    !im_is_symbol(im, 0, more + i) && !im_is_symbol(im, 1, i))
			ret = im_fail(im, -EBADMSG, "a skip that is larger than its input");
	if (!ret)
		ret = im_binary(im, ACCEL_BINARY_ADD, im->in[0].value, im->in[1].value, &sum);
	if (!ret && bias->here)
		ret = im_binary(im, ACCEL_BINARY_ADD, sum, bias->value, &sum);
	if (!ret)
		ret = norm_of(im, func, im_float(im, "epsilon", 0.000000000001f), sum, &im->in[2],
			      beta, &out);
	if (!ret)
		ret = im_give(im, 0, out);
	if (!ret)
		ret = im_give(im, 3, sum);
	return ret ? ret : give_moments(im, sum, ACCEL_AXIS(im->in[0].rank - 1), func,
					(double)im_float(im, "epsilon", 0.000000000001f));
}

/* A norm of groups of channels, which are the last dimension by default, and SiLU of it */
static int group_norm(struct import *im, uint32_t arg)
{
	const int64_t groups = im_int(im, "groups", 0);
	const int64_t silu = im_int(im, "activation", 0);
	const bool last = im_int(im, "channels_last", 1);
	uint32_t part[2], rank, type, x, i;
	struct accel_norm_desc d = ACCEL_NORM_DESC_INIT;
	int ret = im_need(im, 3);

	(void)arg;
	rank = ret ? 0 : im->in[0].rank;
	if (!ret && (rank < 3 || groups < 1 || groups > 1 << 20))
		ret = im_fail(im, -EBADMSG, "%lld groups, of %u dimensions", (long long)groups,
			      rank);
	if (!ret && silu != 0 && silu != 1)
		ret = im_fail(im, -EOPNOTSUPP, "its activation is %lld", (long long)silu);
	if (ret)
		return ret;
	x = last ? v_channels(im, v_in(im, 0), false) : v_in(im, 0);
	/* Of an image of fp16 they may be of fp32, and too large for fp16. */
	type = im->in[0].type == ACCEL_HOST_F64 ? ACCEL_HOST_F64 : ACCEL_F32;
	for (i = 0; i < 2; i++)
		part[i] = v_cast(im, v_in(im, i + 1), type);
	d.func = ACCEL_NORM_GROUP;
	d.groups = (uint32_t)groups;
	d.eps = im_float(im, "epsilon", 0.00001f);
	ret = im->error.code;
	if (!ret)
		ret = im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, x }, { ACCEL_ARG_SCALE, part[0] },
					       { ACCEL_ARG_BIAS, part[1] }), 4, &x);
	if (ret)
		return ret;
	x = silu ? v_act(im, ACCEL_ACT_SILU, 0, 0, x) : x;
	return v_give(im, 0, last ? v_channels(im, x, true) : x);
}

/* Rows of a table by numbers */
static int rows_of(struct import *im, uint32_t table, uint32_t at, uint32_t *out)
{
	struct accel_gather_desc d = ACCEL_GATHER_DESC_INIT;

	d.func = ACCEL_GATHER_AXIS;
	return im_two(im, &d.hdr, table, at, out);
}

/* The first rows of the positions, as many as there are words in a line */
static int first_rows(struct import *im, uint32_t *out)
{
	struct accel_shape_desc of = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_OF);
	struct accel_shape_desc cut = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	uint32_t zero, length;
	int ret = im_list(im, 1, (const int64_t[]){ 0 }, &zero);

	of.start = 1;
	of.end = 2;
	if (!ret)
		ret = im_one(im, &of.hdr, im->in[0].value, &length);
	return ret ? ret
		   : im_node(im, &cut.hdr,
			     ARGS({ ACCEL_ARG_A, im->in[3].value }, { ACCEL_ARG_B, zero },
				  { ACCEL_ARG_C, length }),
			     4, out);
}

/* How many words each line has: those of the mask, or none of what is not known */
static int mask_index(struct import *im, uint32_t *out)
{
	struct accel_shape_desc drop = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SQUEEZE);
	struct accel_shape_desc fill = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_FILL);
	struct accel_shape_desc of = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_OF);
	struct accel_reduce_desc sum = ACCEL_REDUCE_DESC_INIT;
	uint32_t list;
	int ret;

	if (!im_input(im, 7)->here) {
		of.end = 1;
		fill.type = ACCEL_S32;
		ret = im_one(im, &of.hdr, im->in[0].value, &list);
		return ret ? ret : im_one(im, &fill.hdr, list, out);
	}
	sum.func = ACCEL_REDUCE_SUM;
	sum.axes = ACCEL_AXIS(1);
	sum.d.dtype = ACCEL_S32;
	ret = im_one(im, &sum.hdr, im->in[7].value, out);
	if (!ret)
		ret = im_list(im, 1, (const int64_t[]){ 1 }, &list);
	return ret ? ret : im_two(im, &drop.hdr, *out, list, out);
}

static int embed_norm(struct import *im, uint32_t arg)
{
	uint32_t sum = NO_VALUE, rows = NO_VALUE, out = NO_VALUE;
	int ret = im_need(im, 1);

	(void)arg;
	if (!ret && (!im_input(im, 2)->here || !im_input(im, 3)->here || im->in[0].rank != 2))
		ret = im_fail(im, -EBADMSG, "tables or lines of words are missing");
	if (!ret && im->in[1].here != im_input(im, 4)->here)
		ret = im_fail(im, -EBADMSG, "segments without their table, or a table of none");
	if (!ret)
		ret = rows_of(im, im->in[2].value, im->in[0].value, &sum);
	if (!ret && im_input(im, 8)->here)
		ret = rows_of(im, im->in[3].value, im->in[8].value, &rows);
	else if (!ret)
		ret = first_rows(im, &rows);
	if (!ret)
		ret = im_binary(im, ACCEL_BINARY_ADD, sum, rows, &sum);
	if (!ret && im->in[1].here && im_input(im, 4)->here) {
		ret = rows_of(im, im->in[4].value, im->in[1].value, &rows);
		if (!ret)
			ret = im_binary(im, ACCEL_BINARY_ADD, sum, rows, &sum);
	}
	if (!ret)
		ret = norm_of(im, ACCEL_NORM_LAYER, im_float(im, "epsilon", 0.000000000001f), sum,
			      im_input(im, 5), im_input(im, 6), &out);
	if (!ret)
		ret = im_give(im, 0, out);
	if (!ret && im->out_count > 1 && im->out[1].n) {
		ret = mask_index(im, &out);
		if (!ret)
			ret = im_give(im, 1, out);
	}
	return ret ? ret : im_give(im, 2, sum);
}

/* --- activations -------------------------------------------------------------------------- */

/* GELU of a sum, with or without a bias */
static int gelu(struct import *im, uint32_t act)
{
	uint32_t value;
	int ret = im_need(im, 1);

	if (ret)
		return ret;
	value = im->in[0].value;
	if (im_input(im, 1)->here)
		ret = im_binary(im, ACCEL_BINARY_ADD, value, im->in[1].value, &value);
	return ret ? ret : v_give(im, 0, v_act(im, act, 0, 0, value));
}

/* The activation behind a product, by name */
static int named_act(struct import *im, uint32_t *value)
{
	const struct attr *p = im_attr(im, "activation_params", ATTR_FLOATS);
	static const struct {
		const char *name;
		uint32_t act;
		/* Where the file has none, those of the operator by itself */
		float alpha, beta;
	} acts[] = {
		{ "Relu", ACCEL_ACT_RELU, 0, 0 }, { "Tanh", ACCEL_ACT_TANH, 0, 0 },
		{ "Sigmoid", ACCEL_ACT_SIGMOID, 0, 0 },
		{ "LeakyRelu", ACCEL_ACT_LEAKY_RELU, 0.01f, 0 },
		{ "Clip", ACCEL_ACT_CLAMP, -FLT_MAX, FLT_MAX },
		{ "HardSigmoid", ACCEL_ACT_HARD_SIGMOID, 0.2f, 0.5f },
		{ "Elu", ACCEL_ACT_ELU, 1, 0 }, { "HardSwish", ACCEL_ACT_HARD_SWISH, 0, 0 },
		{ "Softplus", ACCEL_ACT_SOFTPLUS, 0, 0 }, { "Softsign", ACCEL_ACT_SOFTSIGN, 0, 0 },
	};
	float p0, p1;
	uint32_t i;

	if (!im_attr(im, "activation", ATTR_STRING))
		return 0;
	for (i = 0; i < ARRAY_SIZE(acts); i++)
		if (im_string(im, "activation", acts[i].name)) {
			p0 = p && p->float_count > 0 ? p->floats[0] :
			     im_float(im, "activation_alpha", acts[i].alpha);
			p1 = p && p->float_count > 1 ? p->floats[1] :
			     im_float(im, "activation_beta", acts[i].beta);
			*value = v_act(im, acts[i].act, p0, p1, *value);
			return im->error.code;
		}
	return im_fail(im, -EOPNOTSUPP, "its activation is not supported");
}

/* Another operator, then what is added (@extra, an input), then the activation */
static int fused(struct import *im, const char *real, uint32_t count, uint32_t extra)
{
	const struct op *op =
		find_op((struct slice){ (const uint8_t *)real, strlen(real) }, (struct slice){ 0 });
	struct ref more = *im_input(im, extra);
	uint32_t value = UINT32_MAX;
	int ret;

	if (im->in_count > count)
		im->in_count = count;
	im->capture = &value;
	ret = op->fn(im, op->arg);
	im->capture = NULL;
	if (!ret && more.here)
		ret = im_binary(im, ACCEL_BINARY_ADD, value, more.value, &value);
	if (!ret)
		ret = named_act(im, &value);
	return ret ? ret : im_give(im, 0, value);
}

static int fused_conv(struct import *im, uint32_t arg)
{
	int ret = im_need(im, 2);

	(void)arg;
	return ret ? ret : fused(im, "Conv", 3, 3);
}

static int fused_gemm(struct import *im, uint32_t arg)
{
	int ret = im_need(im, 2);

	(void)arg;
	return ret ? ret : fused(im, "Gemm", 3, MAX_IO);
}

/* A factor whose rows lie in the first dimension, with the batches behind them */
static uint32_t turned(struct import *im, uint32_t index, const char *name)
{
	uint32_t order[ACCEL_GRAPH_MAX_RANK], i, rank = im->in[index].rank;

	if (!im_int(im, name, 0))
		return v_in(im, index);
	if (rank < 3) {
		im_fail(im, -EBADMSG, "%s of %u dimensions", name, rank);
		return NO_VALUE;
	}
	for (i = 0; i < rank; i++)
		order[i] = i + 2 < rank ? i + 1 : i + 2 == rank ? 0 : i;
	return v_transpose(im, v_in(im, index), order);
}

static int fused_matmul(struct import *im, uint32_t arg)
{
	struct accel_gemm_desc d = ACCEL_GEMM_DESC_INIT;
	float alpha = im_float(im, "alpha", 1);
	uint32_t out, a, b;
	int ret = im_need(im, 2);

	(void)arg;
	if (ret)
		return ret;
	a = turned(im, 0, "transBatchA");
	b = turned(im, 1, "transBatchB");
	ret = im->error.code;
	/* A vector is the same, whichever way it lies. */
	d.flags = (im_int(im, "transA", 0) && im->in[0].rank > 1 ? ACCEL_GEMM_TRANS_A : 0) |
		  (im_int(im, "transB", 0) && im->in[1].rank > 1 ? ACCEL_GEMM_TRANS_B : 0);
	if (alpha != 1) {
		d.flags |= ACCEL_GEMM_ALPHA;
		d.alpha = alpha;
	}
	if (!ret)
		ret = im_two(im, &d.hdr, a, b, &out);
	if (ret)
		return ret;
	/* Of two vectors it is a number, which operations have as a list. */
	if (im->in[0].rank == 1 && im->in[1].rank == 1)
		out = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, out, 0, NULL);
	return v_give(im, 0, out);
}

const struct op onnx_ms[] = { { "MatMulNBits", matmul_nbits, 0 },
			      { "MatMulBnb4", matmul_bnb4, 0 },
			      { "GatherBlockQuantized", gather_quantized, 0 },
			      { "GroupNorm", group_norm, 0 },
			      { "SkipLayerNormalization", skip_norm, ACCEL_NORM_LAYER },
			      { "SkipSimplifiedLayerNormalization", skip_norm, ACCEL_NORM_RMS },
			      { "EmbedLayerNormalization", embed_norm, 0 },
			      { "Gelu", gelu, ACCEL_ACT_GELU },
			      { "BiasGelu", gelu, ACCEL_ACT_GELU },
			      { "FastGelu", gelu, ACCEL_ACT_GELU_TANH },
			      { "QuickGelu", swish, 1 },
			      { "FusedConv", fused_conv, 0 },
			      { "FusedGemm", fused_gemm, 0 },
			      { "FusedMatMul", fused_matmul, 0 },
			      { 0 } };
