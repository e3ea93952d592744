// SPDX-License-Identifier: MIT
/*
 * Windows of signals, Fourier transforms as products, determinants, sums by subscripts.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

#define PI	3.14159265358979323846

/* a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N) */
static int window(struct import *im, uint32_t kind)
{
	static const double weights[][3] = {
		{ 0.5, 0.5, 0 }, { 25.0 / 46, 21.0 / 46, 0 }, { 0.42, 0.5, 0.08 },
	};
	const double *w = weights[kind];
	uint32_t size, x, angle, v, type = type_of(im_int(im, "output_datatype", ONNX_FLOAT));
	int ret = im_need(im, 1);

	if (ret)
		return ret;
	if (!type)
		return im_fail(im, -EOPNOTSUPP, "its output_datatype is not known");
	size = v_cast(im, v_in(im, 0), ACCEL_HOST_S64);
	x = v_cast(im, v_iota(im, size), ACCEL_HOST_F64);
	if (!im_int(im, "periodic", 1))
		size = v_with(im, ACCEL_BINARY_SUB, size, 1);
	size = v_cast(im, size, ACCEL_HOST_F64);
	angle = v_binary(im, ACCEL_BINARY_DIV, v_with(im, ACCEL_BINARY_MUL, x, 2 * PI), size);
	v = v_with(im, ACCEL_BINARY_MUL, v_unary(im, ACCEL_UNARY_COS, angle), -w[1]);
	v = v_with(im, ACCEL_BINARY_ADD, v, w[0]);
	if (w[2] != 0) {
		angle = v_unary(im, ACCEL_UNARY_COS, v_with(im, ACCEL_BINARY_MUL, angle, 2));
		v = v_binary(im, ACCEL_BINARY_ADD, v, v_with(im, ACCEL_BINARY_MUL, angle, w[2]));
	}
	return v_give(im, 0, v_cast(im, v, type));
}

/* --- Fourier transforms ------------------------------------------------------------------ */

/**
 * struct spectrum - real and imaginary parts, along the last dimension
 * @re: real part
 * @im: imaginary part, or NO_VALUE
 */
struct spectrum {
	uint32_t re;
	uint32_t im;
};

/* A number in a list as one without dimensions, S64 */
static uint32_t lone(struct import *im, uint32_t a)
{
	const int64_t zero = 0;

	return v_cast(im, v_rank(im, a) ? v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, a, 1, &zero) : a,
		      ACCEL_HOST_S64);
}

/* A number without dimensions as a list */
static uint32_t listed(struct import *im, uint32_t a)
{
	const int64_t zero = 0;

	return v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, a, 1, &zero);
}

static uint32_t column(struct import *im, uint32_t a)
{
	const int64_t one = 1;

	return v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, a, 1, &one);
}

/*
 * The transform to or from @length elements, of those that @x has to @bins of them, as products
 * with cosines and sines, whose angles are reduced as integers; numbers of elements have no
 * dimensions.
 */
static struct spectrum transform(struct import *im, struct spectrum x, uint32_t length,
				 uint32_t bins, bool inverse, uint32_t type)
{
	uint32_t angle, cosine, sine, n, size, from, rank = v_rank(im, x.re);
	struct spectrum y, z = { NO_VALUE, NO_VALUE };

	/* As @x says it: while it is not known how many, both have to be guessed alike. */
	from = lone(im, v_shape_of(im, x.re, (int64_t)rank - 1, rank));
	n = v_binary(im, ACCEL_BINARY_MUL, column(im, v_iota(im, from)), v_iota(im, bins));
	n = v_cast(im, v_binary(im, ACCEL_BINARY_REM, n, length), ACCEL_HOST_F64);
	size = v_cast(im, length, ACCEL_HOST_F64);
	angle = v_binary(im, ACCEL_BINARY_DIV, v_with(im, ACCEL_BINARY_MUL, n, 2 * PI), size);
	cosine = v_cast(im, v_unary(im, ACCEL_UNARY_COS, angle), type);
	sine = v_cast(im, v_unary(im, ACCEL_UNARY_SIN, angle), type);
	y.re = v_product(im, 0, 0, x.re, cosine, NO_VALUE, NO_VALUE);
	y.im = v_product(im, 0, 0, x.re, sine, NO_VALUE, NO_VALUE);
	if (!inverse)
		y.im = v_with(im, ACCEL_BINARY_MUL, y.im, -1);
	if (x.im != NO_VALUE) {
		z.re = v_product(im, 0, 0, x.im, sine, NO_VALUE, NO_VALUE);
		z.im = v_product(im, 0, 0, x.im, cosine, NO_VALUE, NO_VALUE);
		y.re = v_binary(im, inverse ? ACCEL_BINARY_SUB : ACCEL_BINARY_ADD, y.re, z.re);
		y.im = v_binary(im, ACCEL_BINARY_ADD, y.im, z.im);
	}
	if (inverse) {
		size = v_cast(im, size, type);
		y.re = v_binary(im, ACCEL_BINARY_DIV, y.re, size);
		y.im = v_binary(im, ACCEL_BINARY_DIV, y.im, size);
	}
	return y;
}

/* Both parts beside each other in a last dimension */
static uint32_t stacked(struct import *im, struct spectrum y)
{
	uint32_t rank = v_rank(im, y.re), list[2];
	const int64_t last = rank;

	list[0] = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, y.re, 1, &last);
	list[1] = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, y.im, 1, &last);
	return v_concat(im, rank, 2, list);
}

/* Half of the bins and one more are enough for real numbers. */
static uint32_t bins_of(struct import *im, uint32_t length, bool half)
{
	if (!half)
		return length;
	length = v_with(im, ACCEL_BINARY_QUOT, length, 2);
	return v_with(im, ACCEL_BINARY_ADD, length, 1);
}

/* A dimension cut, or with zeros behind it, to be of a length */
static uint32_t resized(struct import *im, uint32_t a, int64_t axis, uint32_t length)
{
	uint32_t along = v_ints(im, 1, &axis), list[2], both, out = NO_VALUE;
	struct accel_pad_desc d = ACCEL_PAD_DESC_INIT;
	const int64_t zero = 0;

	list[0] = v_ints(im, 1, &zero);
	list[1] = v_binary(im, ACCEL_BINARY_SUB, listed(im, length),
			   v_shape_of(im, a, axis, axis + 1));
	both = v_concat(im, 0, 2, list);
	if (im->error.code || a == NO_VALUE || both == NO_VALUE || along == NO_VALUE)
		return NO_VALUE;
	return im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, a }, { ACCEL_ARG_B, both },
					{ ACCEL_ARG_AUX0, along }), 4, &out) ? NO_VALUE : out;
}

/*
 * Part @k of complex numbers whose last dimension is one of two, NO_VALUE: there is none. Where a
 * symbol says how many, all of @parts are there: those that the input has not are 0.
 */
static uint32_t part_of(struct import *im, const struct ref *x, int64_t k, int64_t parts)
{
	int64_t last = (int64_t)x->rank - 1;
	uint32_t a = x->value, list[2], count;

	if (im_is_symbol(im, 0, x->rank - 1)) {
		if (k >= parts)
			return NO_VALUE;
		/* More than there may be do not fit. */
		list[0] = v_shape_of(im, a, 0, last);
		count = v_shape_of(im, a, last, last + 1);
		list[1] = v_binary(im, ACCEL_BINARY_MIN, count, v_ints(im, 1, &parts));
		a = v_reshape(im, a, 2, list);
		a = resized(im, a, last, v_number(im, ACCEL_HOST_S64, (double)parts));
	} else if (k >= x->dims[last]) {
		return NO_VALUE;
	}
	return v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v_slice(im, a, last, k, k + 1, 1), 1, &last);
}

/* Are these numbers of one part or of two? Half of the bins are of real numbers. */
static int check_parts(struct import *im, const struct ref *x, bool half, bool inverse)
{
	int64_t parts = x->rank ? x->dims[x->rank - 1] : 0;

	if (x->rank && im_is_symbol(im, 0, x->rank - 1))
		return 0;
	if (parts != 1 && parts != 2)
		return im_fail(im, -EBADMSG, "its last dimension is neither 1 nor 2");
	if (half && parts != (inverse ? 2 : 1))
		return im_fail(im, -EBADMSG, "half of the bins of %s numbers",
			       inverse ? "real" : "complex");
	return 0;
}

/*
 * What each of half of the bins counts for the real numbers that they are of: its mirror image is
 * that of another, but for the first and, where @length is even, the last.
 */
static uint32_t mirrored(struct import *im, uint32_t bins, uint32_t length, uint32_t type)
{
	uint32_t k = v_iota(im, bins), alone;

	alone = v_binary(im, ACCEL_BINARY_EQ, v_with(im, ACCEL_BINARY_MUL, k, 2), length);
	alone = v_binary(im, ACCEL_BINARY_OR, alone, v_with(im, ACCEL_BINARY_EQ, k, 0));
	return v_select(im, alone, v_number(im, type, 1), v_number(im, type, 2));
}

static int dft(struct import *im, uint32_t arg)
{
	bool inverse = im_int(im, "inverse", 0), half = im_int(im, "onesided", 0);
	uint32_t order[ACCEL_GRAPH_MAX_RANK], back[ACCEL_GRAPH_MAX_RANK], i, n = 0, axis = 0;
	int64_t along = im->opset < 20 ? im_int(im, "axis", 1) : -2;
	uint32_t length, count, list[2], from, bins;
	struct spectrum x;
	uint32_t shape = NO_VALUE;
	const struct ref *in;
	int ret = im_need(im, 1);

	(void)arg;
	if (ret)
		return ret;
	in = &im->in[0];
	if (im_input(im, 2)->here && !im_numbers(im_input(im, 2), &along, &count, 1))
		return im_fail(im, -EOPNOTSUPP, "its axis is not constant");
	ret = check_parts(im, in, half, inverse);
	if (!ret)
		ret = im_axis(im, along, in->rank, &axis);
	if (!ret && (axis + 1 == in->rank || in->rank < 2))
		ret = im_fail(im, -EBADMSG, "its axis is that of the parts");
	if (ret)
		return ret;
	length = lone(im, v_shape_of(im, in->value, axis, (int64_t)axis + 1));
	if (im_input(im, 1)->here)
		length = lone(im, v_in(im, 1));
	else if (half && inverse)
		length = v_with(im, ACCEL_BINARY_MUL, v_with(im, ACCEL_BINARY_ADD, length, -1), 2);
	from = bins_of(im, length, half && inverse);
	bins = bins_of(im, length, half && !inverse);
	for (i = 0; i + 1 < in->rank; i++)
		if (i != axis)
			order[n++] = i;
	order[n++] = axis;
	for (i = 0; i < n; i++)
		back[order[i]] = i;
	x.re = part_of(im, in, 0, half && !inverse ? 1 : 2);
	x.im = part_of(im, in, 1, half && !inverse ? 1 : 2);
	list[1] = listed(im, from);
	for (i = 0; i < 2; i++) {
		uint32_t *v = i ? &x.im : &x.re;

		if (*v == NO_VALUE)
			continue;
		if (im_input(im, 1)->here)
			*v = resized(im, *v, axis, from);
		*v = v_transpose(im, *v, order);
		/* All sizes are told: of no signals what is left is not. */
		shape = v_shape_of(im, *v, 0, (int64_t)n - 1);
		list[0] = v_reduce(im, ACCEL_REDUCE_PROD, 0, ACCEL_AXIS(0), shape);
		*v = v_reshape(im, *v, 2, list);
		if (half && inverse)
			*v = v_binary(im, ACCEL_BINARY_MUL, *v,
				      mirrored(im, from, length, in->type));
	}
	x = transform(im, x, length, bins, inverse, in->type);
	list[0] = shape;
	list[1] = listed(im, bins);
	x.re = v_transpose(im, v_reshape(im, x.re, 2, list), back);
	along = (int64_t)n;
	if (half && inverse)
		return v_give(im, 0, v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, x.re, 1, &along));
	x.im = v_transpose(im, v_reshape(im, x.im, 2, list), back);
	return v_give(im, 0, stacked(im, x));
}

/* Pieces of a signal, each multiplied by a window and transformed */
static int stft(struct import *im, uint32_t arg)
{
	bool half = im_int(im, "onesided", 1);
	uint32_t length, frames, step, at, k, *v, count, rest;
	struct spectrum x;
	int64_t known;
	int ret = im_need(im, 2);

	(void)arg;
	if (ret)
		return ret;
	if (im->in[0].rank == 3)
		ret = check_parts(im, &im->in[0], half, false);
	else if (im->in[0].rank != 2)
		ret = im_fail(im, -EBADMSG, "a signal of %u dimensions", im->in[0].rank);
	if (!ret && v_in(im, 2) == NO_VALUE && v_in(im, 3) == NO_VALUE)
		ret = im_fail(im, -EBADMSG, "neither a window nor a length of frames");
	if (!ret && im_numbers(&im->in[1], &known, &count, 1) && count && known < 1)
		ret = im_fail(im, -EBADMSG, "frames that are %lld apart", (long long)known);
	if (ret)
		return ret;
	x.re = im->in[0].rank == 2 ? v_in(im, 0) : part_of(im, &im->in[0], 0, half ? 1 : 2);
	x.im = im->in[0].rank == 2 ? NO_VALUE : part_of(im, &im->in[0], 1, half ? 1 : 2);
	length = v_in(im, 3) != NO_VALUE ? v_in(im, 3) : v_shape_of(im, v_in(im, 2), 0, 1);
	length = lone(im, length);
	step = lone(im, v_in(im, 1));
	/* As many frames as fit, none where a frame is longer than the signal */
	rest = v_binary(im, ACCEL_BINARY_SUB, lone(im, v_shape_of(im, x.re, 1, 2)), length);
	frames = v_with(im, ACCEL_BINARY_ADD, v_binary(im, ACCEL_BINARY_QUOT, rest, step), 1);
	frames = v_iota(im, v_select(im, v_with(im, ACCEL_BINARY_LT, rest, 0),
				     v_number(im, ACCEL_HOST_S64, 0), frames));
	at = column(im, v_binary(im, ACCEL_BINARY_MUL, frames, step));
	at = v_cast(im, v_binary(im, ACCEL_BINARY_ADD, at, v_iota(im, length)), ACCEL_S32);
	for (k = 0; k < 2; k++) {
		v = k ? &x.im : &x.re;
		if (*v == NO_VALUE)
			continue;
		*v = v_gather(im, ACCEL_GATHER_AXIS, 1, *v, at);
		if (v_in(im, 2) != NO_VALUE)
			*v = v_binary(im, ACCEL_BINARY_MUL, *v, v_in(im, 2));
	}
	x = transform(im, x, length, bins_of(im, length, half), false, im->in[0].type);
	return v_give(im, 0, stacked(im, x));
}

/* Place @from of the edges of bands, from low to high in mel, as bins of a transform */
static uint32_t mel_edges(struct import *im, uint32_t bands, uint32_t from)
{
	uint32_t mel[2], k, at, size = v_cast(im, lone(im, v_in(im, 1)), ACCEL_HOST_F64), rate;
	uint32_t count = v_with(im, ACCEL_BINARY_ADD, bands, 2);

	for (k = 0; k < 2; k++) {
		mel[k] = v_cast(im, v_in(im, 3 + k), ACCEL_HOST_F64);
		mel[k] = v_with(im, ACCEL_BINARY_MUL, mel[k], 1.0 / 700);
		mel[k] = v_unary(im, ACCEL_UNARY_LOG, v_with(im, ACCEL_BINARY_ADD, mel[k], 1));
		mel[k] = v_with(im, ACCEL_BINARY_MUL, mel[k], 2595 / log(10));
	}
	at = v_with(im, ACCEL_BINARY_ADD, v_iota(im, bands), from);
	at = v_cast(im, at, ACCEL_HOST_F64);
	mel[1] = v_binary(im, ACCEL_BINARY_DIV, v_binary(im, ACCEL_BINARY_SUB, mel[1], mel[0]),
			  v_cast(im, count, ACCEL_HOST_F64));
	at = v_binary(im, ACCEL_BINARY_ADD, v_binary(im, ACCEL_BINARY_MUL, at, mel[1]), mel[0]);
	/* Back to hertz */
	at = v_unary(im, ACCEL_UNARY_EXP, v_with(im, ACCEL_BINARY_MUL, at, log(10) / 2595));
	at = v_with(im, ACCEL_BINARY_MUL, v_with(im, ACCEL_BINARY_ADD, at, -1), 700);
	rate = v_cast(im, lone(im, v_in(im, 2)), ACCEL_HOST_F64);
	size = v_with(im, ACCEL_BINARY_ADD, size, 1);
	at = v_binary(im, ACCEL_BINARY_DIV, v_binary(im, ACCEL_BINARY_MUL, at, size), rate);
	return v_unary(im, ACCEL_UNARY_FLOOR, at);
}

/* Triangles over the bins of a transform, a column for each band */
static int mel_weights(struct import *im, uint32_t arg)
{
	uint32_t bands, bins, low, mid, high, up, down, wide, zero, type;
	int ret = im_need(im, 5);

	(void)arg;
	if (ret)
		return ret;
	type = type_of(im_int(im, "output_datatype", ONNX_FLOAT));
	if (!type)
		return im_fail(im, -EOPNOTSUPP, "its output_datatype is not known");
	bands = lone(im, v_in(im, 0));
	bins = column(im, v_iota(im, bins_of(im, lone(im, v_in(im, 1)), true)));
	bins = v_cast(im, bins, ACCEL_HOST_F64);
	low = mel_edges(im, bands, 0);
	mid = mel_edges(im, bands, 1);
	high = mel_edges(im, bands, 2);
	zero = v_number(im, ACCEL_HOST_F64, 0);
	/* Up to the middle, which alone is 1 if nothing lies before it; then down */
	wide = v_binary(im, ACCEL_BINARY_SUB, mid, low);
	up = v_binary(im, ACCEL_BINARY_DIV, v_binary(im, ACCEL_BINARY_SUB, bins, low), wide);
	up = v_select(im, v_with(im, ACCEL_BINARY_EQ, wide, 0), v_number(im, ACCEL_HOST_F64, 1),
		      up);
	up = v_select(im, v_binary(im, ACCEL_BINARY_GE, bins, low), up, zero);
	wide = v_binary(im, ACCEL_BINARY_SUB, high, mid);
	down = v_binary(im, ACCEL_BINARY_DIV, v_binary(im, ACCEL_BINARY_SUB, high, bins), wide);
	down = v_select(im, v_binary(im, ACCEL_BINARY_LT, bins, high), down, zero);
	/* The way down begins in the middle itself, if there is one. */
	mid = v_select(im, v_with(im, ACCEL_BINARY_GT, wide, 0),
		       v_binary(im, ACCEL_BINARY_GE, bins, mid),
		       v_binary(im, ACCEL_BINARY_GT, bins, mid));
	return v_give(im, 0, v_cast(im, v_select(im, mid, down, up), type));
}

/* --- determinants ---------------------------------------------------------------------------- */

#define MOST_ROWS	64

/*
 * By elimination: of the rows that are left the one with the largest element is taken, and of
 * as many as lie before it each changes the sign.
 */
static int det(struct import *im, uint32_t arg)
{
	uint32_t i, a = v_in(im, 0), rank, left, row, take, pivot, line, col, out, type, shape;
	int64_t list[] = { -1, 0, 0 };
	int64_t n;
	int ret = im_need(im, 1);

	(void)arg;
	if (ret)
		return ret;
	rank = im->in[0].rank;
	type = im->in[0].type;
	n = rank >= 2 ? im->in[0].dims[rank - 1] : 0;
	if (rank < 2 || n != im->in[0].dims[rank - 2])
		return im_fail(im, -EBADMSG, "no square matrices");
	if (n > MOST_ROWS || im_is_symbol(im, 0, rank - 1) || im_is_symbol(im, 0, rank - 2))
		return im_fail(im, -EOPNOTSUPP, "a matrix of more than %d rows, or of a symbol",
			       MOST_ROWS);
	list[1] = list[2] = n;
	shape = v_shape_of(im, a, 0, (int64_t)rank - 2);
	if (!n)
		return v_give(im, 0, v_fill(im, type, shape, 1));
	/* [batch, rows, columns]; rows that are left are 1 in [1, rows, 1] */
	a = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, a, 3, list);
	row = v_iota_along(im, a, 1);
	left = v_with(im, ACCEL_BINARY_GE, row, 0);
	out = v_number(im, type, 1);
	for (i = 0; i < n && !im->error.code; i++) {
		col = v_slice(im, a, 2, i, (int64_t)i + 1, 1);
		take = v_select(im, left, v_unary(im, ACCEL_UNARY_ABS, col),
				v_number(im, type, -1));
		take = v_cast(im, v_reduce(im, ACCEL_REDUCE_ARG_MAX, 0, ACCEL_AXIS(1), take),
			      ACCEL_HOST_S64);
		pivot = v_binary(im, ACCEL_BINARY_EQ, row, take);
		line = v_select(im, pivot, a, v_number(im, type, 0));
		line = v_reduce(im, ACCEL_REDUCE_SUM, 0, ACCEL_AXIS(1), line);
		take = v_binary(im, ACCEL_BINARY_AND, left,
				v_binary(im, ACCEL_BINARY_LT, row, take));
		take = v_reduce(im, ACCEL_REDUCE_SUM, 0, ACCEL_AXIS(1),
				v_cast(im, take, ACCEL_HOST_S64));
		take = v_with(im, ACCEL_BINARY_BIT_AND, take, 1);
		/* 1 or -1 */
		take = v_with(im, ACCEL_BINARY_ADD, v_with(im, ACCEL_BINARY_MUL, take, -2), 1);
		take = v_cast(im, take, type);
		left = v_binary(im, ACCEL_BINARY_AND, left,
				v_unary(im, ACCEL_UNARY_NOT, pivot));
		pivot = v_slice(im, line, 2, i, (int64_t)i + 1, 1);
		out = v_binary(im, ACCEL_BINARY_MUL, out, v_binary(im, ACCEL_BINARY_MUL, pivot,
								   take));
		/* A column of zeros takes nothing off; the product is 0 already. */
		pivot = v_select(im, v_with(im, ACCEL_BINARY_EQ, pivot, 0),
				 v_number(im, type, 1), pivot);
		col = v_binary(im, ACCEL_BINARY_MUL, v_binary(im, ACCEL_BINARY_DIV, col, pivot),
			       line);
		a = v_select(im, left, v_binary(im, ACCEL_BINARY_SUB, a, col), a);
	}
	return v_give(im, 0, v_shaped(im, ACCEL_SHAPE_RESHAPE, out, shape));
}

/* --- Einsum --------------------------------------------------------------------------------- */

#define MAX_SUBSCRIPTS	16

/**
 * struct term - subscripts of a tensor
 * @rank: their number
 * @sub: each: a letter, or 1 and up: dimensions of the ellipsis
 */
struct term {
	uint32_t rank;
	uint8_t sub[MAX_SUBSCRIPTS];
};

/* One side's term; @extra: dimensions that an ellipsis stands for. */
static bool read_term(const uint8_t **p, const uint8_t *end, uint32_t extra, struct term *t)
{
	uint32_t i;

	t->rank = 0;
	for (; *p < end && **p != ',' && **p != '-'; (*p)++) {
		if (**p == ' ')
			continue;
		if (**p == '.') {
			if (end - *p < 3 || (*p)[1] != '.' || (*p)[2] != '.')
				return false;
			*p += 2;
			for (i = 0; i < extra && t->rank < MAX_SUBSCRIPTS; i++)
				t->sub[t->rank++] = (uint8_t)(1 + i);
			continue;
		}
		if (!((**p | 32) >= 'a' && (**p | 32) <= 'z') || t->rank == MAX_SUBSCRIPTS)
			return false;
		t->sub[t->rank++] = **p;
	}
	return true;
}

static int find_sub(const struct term *t, uint8_t sub)
{
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		if (t->sub[i] == sub)
			return (int)i;
	return -1;
}

/* A subscript that occurs twice: the diagonal, by masking and a sum. */
static uint32_t diagonals(struct import *im, uint32_t v, struct term *t)
{
	uint32_t i, k, mask;
	int64_t axis;

	for (i = 0; i < t->rank; i++)
		for (k = i + 1; k < t->rank; k++) {
			if (t->sub[i] != t->sub[k])
				continue;
			mask = v_binary(im, ACCEL_BINARY_EQ, v_iota_along(im, v, i),
					v_iota_along(im, v, k));
			v = v_select(im, mask, v, v_number(im, v_type(im, v), 0));
			v = v_reduce(im, ACCEL_REDUCE_SUM, 0, ACCEL_AXIS(k), v);
			axis = k;
			v = v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v, 1, &axis);
			memmove(t->sub + k, t->sub + k + 1, t->rank - k - 1);
			t->rank--;
			k--;
		}
	return v;
}

/* The dimensions of @v in the order of @want; those that it has not are 1. */
static uint32_t align(struct import *im, uint32_t v, const struct term *t, const struct term *want)
{
	uint32_t order[ACCEL_GRAPH_MAX_RANK], i, n = 0, missing = 0;
	int64_t list[ACCEL_GRAPH_MAX_RANK];
	int at;

	for (i = 0; i < want->rank; i++) {
		at = find_sub(t, want->sub[i]);
		if (at < 0)
			list[missing++] = i;
		else
			order[n++] = (uint32_t)at;
	}
	for (i = 0, at = 0; i < n; i++)
		at |= order[i] != i;
	if (at)
		v = v_transpose(im, v, order);
	return missing ? v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, v, missing, list) : v;
}

/* Sum over the subscripts that neither @want, @other nor a later term has. */
static uint32_t sum_out(struct import *im, uint32_t v, struct term *t, const struct term *want,
			const struct term *other, const struct term *later, uint32_t count)
{
	uint32_t i, k, n = 0, axes = 0, rank = 0;
	int64_t list[MAX_SUBSCRIPTS];
	bool used;

	for (i = 0; i < t->rank; i++) {
		used = find_sub(want, t->sub[i]) >= 0 || (other && find_sub(other, t->sub[i]) >= 0);
		for (k = 0; k < count; k++)
			used |= find_sub(&later[k], t->sub[i]) >= 0;
		if (used) {
			t->sub[rank++] = t->sub[i];
		} else {
			axes |= ACCEL_AXIS(i);
			list[n++] = i;
		}
	}
	t->rank = rank;
	if (!n)
		return v;
	return v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v_reduce(im, ACCEL_REDUCE_SUM, 0, axes, v), n,
			   list);
}

/*
 * Two terms as one product of matrices: subscripts that both have and the result too are
 * batches, those that only one has are its rows or columns, the others are summed over.
 */
static uint32_t multiply(struct import *im, uint32_t a, struct term *ta, uint32_t b,
			 const struct term *tb, const struct term *want, const struct term *later,
			 uint32_t count)
{
	struct term order_a = { 0 }, order_b = { 0 }, out = { 0 }, group[4] = { 0 };
	uint32_t i, k, v, shape[4], all[4];

	for (i = 0; i < ta->rank; i++) {
		uint8_t sub = ta->sub[i];
		bool kept = find_sub(want, sub) >= 0, both = find_sub(tb, sub) >= 0;

		for (k = 0; k < count; k++)
			kept |= find_sub(&later[k], sub) >= 0;
		k = !both ? 1 : kept ? 0 : 2;
		group[k].sub[group[k].rank++] = sub;
	}
	for (i = 0; i < tb->rank; i++)
		if (find_sub(ta, tb->sub[i]) < 0)
			group[3].sub[group[3].rank++] = tb->sub[i];
	if (group[0].rank + group[1].rank + group[3].rank > ACCEL_GRAPH_MAX_RANK) {
		im_fail(im, -EOPNOTSUPP, "too many dimensions");
		return NO_VALUE;
	}
	for (k = 0; k < 4; k++)
		for (i = 0; i < group[k].rank; i++) {
			if (k != 3)
				order_a.sub[order_a.rank++] = group[k].sub[i];
			if (k != 1)
				order_b.sub[order_b.rank++] = group[k].sub[i];
			if (k != 2)
				out.sub[out.rank++] = group[k].sub[i];
		}
	a = align(im, a, ta, &order_a);
	b = align(im, b, tb, &order_b);
	/* Sizes that are kept, by group */
	shape[0] = v_shape_of(im, a, 0, group[0].rank);
	shape[1] = v_shape_of(im, a, group[0].rank, group[0].rank + group[1].rank);
	shape[2] = v_shape_of(im, a, group[0].rank + group[1].rank, INT64_MAX);
	shape[3] = v_shape_of(im, b, group[0].rank + group[2].rank, INT64_MAX);
	/* The product of no sizes is 1. */
	for (i = 0; i < 4; i++)
		all[i] = v_reduce(im, ACCEL_REDUCE_PROD, 0, 1, shape[i]);
	a = v_reshape(im, a, 3, (uint32_t[]) { all[0], all[1], all[2] });
	b = v_reshape(im, b, 3, (uint32_t[]) { all[0], all[2], all[3] });
	v = v_product(im, 0, 0, a, b, NO_VALUE, NO_VALUE);
	v = v_reshape(im, v, 3, (uint32_t[]) { shape[0], shape[1], shape[3] });
	*ta = out;
	return v;
}

static int einsum(struct import *im, uint32_t arg)
{
	const struct attr *a = im_attr(im, "equation", ATTR_STRING);
	struct term t[MAX_SUBSCRIPTS] = { 0 }, want = { 0 };
	uint32_t i, k, v, letters, extra = 0, seen[256] = { 0 };
	const uint8_t *p, *end, *q;
	int ret = im_need(im, im->in_count ? im->in_count : 1);

	(void)arg;
	if (ret)
		return ret;
	if (!a || !a->s.n || im->in_count > MAX_SUBSCRIPTS)
		return im_fail(im, -EBADMSG, "it has no equation, or more than %d inputs",
			       MAX_SUBSCRIPTS);
	end = a->s.p + a->s.n;
	/* How many dimensions an ellipsis stands for: the most that one has beside its letters */
	for (p = a->s.p, i = 0; i < im->in_count; i++, p += p < end) {
		for (letters = 0, q = p, k = 0; q < end && *q != ',' && *q != '-'; q++) {
			letters += (*q | 32) >= 'a' && (*q | 32) <= 'z';
			k |= *q == '.';
		}
		if (k && im->in[i].rank > letters && im->in[i].rank - letters > extra)
			extra = im->in[i].rank - letters;
		p = q;
	}
	for (p = a->s.p, i = 0; i < im->in_count; i++) {
		if (!read_term(&p, end, extra, &t[i]) || t[i].rank != im->in[i].rank)
			return im_fail(im, -EOPNOTSUPP, "its equation does not fit input %u", i);
		for (k = 0; k < t[i].rank; k++)
			seen[t[i].sub[k]]++;
		p += p < end && *p == ',';
	}
	if (end - p >= 2 && p[0] == '-' && p[1] == '>') {
		p += 2;
		if (!read_term(&p, end, extra, &want) || p != end)
			return im_fail(im, -EBADMSG, "its equation cannot be read");
	} else {
		/* Without a right side: the ellipsis, then letters that occur once. */
		for (i = 1; i < 256 && want.rank < MAX_SUBSCRIPTS; i++)
			if (seen[i] == 1 || (i <= extra && seen[i]))
				want.sub[want.rank++] = (uint8_t)i;
	}
	for (k = 0; k < want.rank; k++)
		if (!seen[want.sub[k]] || find_sub(&want, want.sub[k]) != (int)k ||
		    want.rank > ACCEL_GRAPH_MAX_RANK)
			return im_fail(im, -EBADMSG, "its equation makes dimensions of nothing, or twice");
	v = v_in(im, 0);
	for (i = 0; i < im->in_count; i++) {
		uint32_t b = v_in(im, i);

		/* Products of other integers are sums of bytes. */
		if (!type_is_real(v_type(im, b)) && v_type(im, b) != ACCEL_HOST_U64)
			b = v_cast(im, b, ACCEL_HOST_S64);
		b = diagonals(im, b, &t[i]);

		b = sum_out(im, b, &t[i], &want, i ? &t[0] : NULL, &t[i + 1], im->in_count - i - 1);
		if (!i) {
			v = b;
			continue;
		}
		v = multiply(im, v, &t[0], b, &t[i], &want, &t[i + 1], im->in_count - i - 1);
	}
	return v_give(im, 0, v_cast(im, align(im, v, &t[0], &want), im->in[0].type));
}

const struct op onnx_signal[] = {
	{ "HannWindow", window, 0 }, { "HammingWindow", window, 1 },
	{ "BlackmanWindow", window, 2 },
	{ "DFT", dft, 0 }, { "STFT", stft, 0 }, { "MelWeightMatrix", mel_weights, 0 },
	{ "Det", det, 0 }, { "Einsum", einsum, 0 },
	{ 0 }
};
