// SPDX-License-Identifier: MIT
/*
 * Windows of signals, Fourier transforms as products, determinants.
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
		return no_type(im, im_int(im, "output_datatype", 0), "output_datatype");
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

/**
 * struct axis - the dimension of a transform, which may be known only when it runs
 * @sizes: of all dimensions but that of the parts, S64
 * @here: which of them it is, BOOL
 * @around: how many elements lie before it and behind it, S64 [1] each
 */
struct axis {
	uint32_t sizes;
	uint32_t here;
	uint32_t around[2];
};

static int read_dft_axis(struct import *im, struct axis *a)
{
	const struct ref *in = &im->in[0], *axis = im_input(im, 2);
	int64_t along = im->opset < 20 ? im_int(im, "axis", 1) : -2;
	const bool late = axis->here && !im_numbers(axis, &along, &(uint32_t){ 0 }, 1);
	uint32_t i, known = 0, at, index, one;
	int ret = 0;

	if (in->rank < 2)
		ret = im_fail(im, -EBADMSG, "its axis is that of the parts");
	else if (!late)
		ret = im_axis(im, along, in->rank, &known);
	if (!ret && known + 1 == in->rank)
		ret = im_fail(im, -EBADMSG, "its axis is that of the parts");
	if (ret)
		return ret;
	at = late ? lone(im, axis->value) : v_number(im, ACCEL_HOST_S64, known);
	if (late)
		at = v_select(im, v_with(im, ACCEL_BINARY_LT, at, 0),
			      v_with(im, ACCEL_BINARY_ADD, at, in->rank), at);
	a->sizes = v_shape_of(im, in->value, 0, (int64_t)in->rank - 1);
	index = v_iota(im, v_number(im, ACCEL_HOST_S64, in->rank - 1));
	a->here = v_binary(im, ACCEL_BINARY_EQ, index, at);
	one = v_number(im, ACCEL_HOST_S64, 1);
	for (i = 0; i < 2; i++) {
		a->around[i] = v_binary(im, i ? ACCEL_BINARY_GT : ACCEL_BINARY_LT, index, at);
		a->around[i] = v_select(im, a->around[i], a->sizes, one);
		a->around[i] = v_reduce(im, ACCEL_REDUCE_PROD, 0, ACCEL_AXIS(0), a->around[i]);
	}
	return im->error.code;
}

/* In three dimensions: that of the transform is the middle one, or the @last */
static uint32_t reshape_around(struct import *im, uint32_t a, const struct axis *axis,
			       uint32_t length, bool last)
{
	const uint32_t list[] = { axis->around[0], last ? axis->around[1] : length,
				  last ? length : axis->around[1] };

	return v_reshape(im, a, 3, list);
}

static int dft(struct import *im, uint32_t arg)
{
	static const uint32_t order[] = { 0, 2, 1 };
	bool inverse = im_int(im, "inverse", 0), half = im_int(im, "onesided", 0);
	uint32_t length, list[2], from, bins, i;
	const int64_t last = (int64_t)im->in[0].rank - 1;
	struct axis axis;
	struct spectrum x;
	int ret = im_need(im, 1);

	(void)arg;
	if (!ret)
		ret = check_parts(im, &im->in[0], half, inverse);
	if (!ret)
		ret = read_dft_axis(im, &axis);
	if (ret)
		return ret;
	x.re = part_of(im, &im->in[0], 0, half && !inverse ? 1 : 2);
	x.im = part_of(im, &im->in[0], 1, half && !inverse ? 1 : 2);
	/* One that is no dimension has no elements, which does not fit. */
	length = v_select(im, axis.here, axis.sizes, v_number(im, ACCEL_HOST_S64, 0));
	length = v_reduce(im, ACCEL_REDUCE_SUM, 0, ACCEL_AXIS(0), length);
	x.re = reshape_around(im, x.re, &axis, length, false);
	if (x.im != NO_VALUE)
		x.im = reshape_around(im, x.im, &axis, length, false);
	length = lone(im, v_shape_of(im, x.re, 1, 2));
	if (im_input(im, 1)->here)
		length = lone(im, v_in(im, 1));
	else if (half && inverse)
		length = v_with(im, ACCEL_BINARY_MAX,
				v_with(im, ACCEL_BINARY_MUL,
				       v_with(im, ACCEL_BINARY_ADD, length, -1), 2), 0);
	from = bins_of(im, length, half && inverse);
	bins = bins_of(im, length, half && !inverse);
	/* All sizes are told: of no signals what is left is not. */
	list[0] = v_binary(im, ACCEL_BINARY_MUL, axis.around[0], axis.around[1]);
	for (i = 0; i < 2; i++) {
		uint32_t *v = i ? &x.im : &x.re;

		if (*v == NO_VALUE)
			continue;
		if (im_input(im, 1)->here)
			*v = resized(im, *v, 1, from);
		list[1] = v_shape_of(im, *v, 1, 2);
		*v = v_reshape(im, v_transpose(im, *v, order), 2, list);
		if (half && inverse)
			*v = v_binary(im, ACCEL_BINARY_MUL, *v,
				      mirrored(im, lone(im, v_shape_of(im, *v, 1, 2)), length,
					       im->in[0].type));
	}
	x = transform(im, x, length, bins, inverse, im->in[0].type);
	bins = listed(im, bins);
	list[0] = v_select(im, axis.here, bins, axis.sizes);
	for (i = 0; i < 2; i++) {
		uint32_t *v = i ? &x.im : &x.re;

		*v = v_transpose(im, reshape_around(im, *v, &axis, bins, true), order);
		*v = v_reshape(im, *v, 1, list);
	}
	if (half && inverse)
		return v_give(im, 0, v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, x.re, 1, &last));
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
		return no_type(im, im_int(im, "output_datatype", 0), "output_datatype");
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

const struct op onnx_signal[] = {
	{ "HannWindow", window, 0 }, { "HammingWindow", window, 1 },
	{ "BlackmanWindow", window, 2 },
	{ "DFT", dft, 0 }, { "STFT", stft, 0 }, { "MelWeightMatrix", mel_weights, 0 },
	{ "Det", det, 0 },
	{ 0 }
};
