// SPDX-License-Identifier: MIT
/*
 * Operators on windows: those that are put back into an image, and where in windows maxima were.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

/* --- columns as an image ----------------------------------------------------------------- */

/*
 * Elements of all columns, and of an image with its padding, at most, where a file says how many:
 * one of a few lines has a list of so many places made when it is opened.
 */
#define MAX_COLUMNS	(1 << 24)

/**
 * struct columns - how an image was cut into columns; numbers are S64 [1]
 * @w: a column is a window of it; its size is not here
 * @image: sizes of the image
 * @padded: with the padding around
 * @block: sizes of a window
 * @steps: windows along each dimension
 */
struct columns {
	struct window w;
	uint32_t image[3];
	uint32_t padded[3];
	uint32_t block[3];
	uint32_t steps[3];
};

/* Sizes that the file says: do they go together? */
static int check_columns(struct import *im, const struct columns *c, const int64_t *image,
			 const int64_t *block)
{
	int64_t all = 1, count = 1, taps = 1, padded, reach, steps;
	uint32_t i;

	for (i = 0; i < c->w.n; i++) {
		if (image[i] < 1 || image[i] > MAX_COLUMNS || block[i] < 1 || block[i] > 65536)
			return im_fail(im, -EBADMSG, "an image of %lld in blocks of %lld",
				       (long long)image[i], (long long)block[i]);
		if (im_attr(im, "kernel_shape", ATTR_INTS) && c->w.kernel[i] != block[i])
			return im_fail(im, -EBADMSG, "a kernel_shape that is not that of its blocks");
		reach = (block[i] - 1) * c->w.dilation[i] + 1;
		padded = image[i] + c->w.before[i] + c->w.after[i];
		if (reach > padded)
			return im_fail(im, -EBADMSG, "a block reaches %lld of %lld",
				       (long long)reach, (long long)padded);
		steps = (padded - reach) / c->w.stride[i] + 1;
		taps *= block[i];
		if (__builtin_mul_overflow(all, padded, &all) ||
		    __builtin_mul_overflow(count, block[i] * steps, &count) ||
		    all > MAX_COLUMNS || count > MAX_COLUMNS)
			return im_fail(im, -EOPNOTSUPP, "an image, or columns, of more than %d elements",
				       MAX_COLUMNS);
	}
	if ((!im_is_symbol(im, 0, 1) && im->in[0].dims[1] % taps) ||
	    (!im_is_symbol(im, 0, 2) && im->in[0].dims[2] != count / taps))
		return im_fail(im, -EBADMSG, "%lld rows of %lld columns, for blocks of %lld and %lld",
			       (long long)im->in[0].dims[1], (long long)im->in[0].dims[2],
			       (long long)taps, (long long)(count / taps));
	return 0;
}

/* Number @k of input @index, a list */
static uint32_t size_in(struct import *im, uint32_t index, uint32_t k)
{
	return v_cast(im, v_slice(im, v_in(im, index), 0, k, (int64_t)k + 1, 1), ACCEL_HOST_S64);
}

static int read_columns(struct import *im, struct columns *c)
{
	const struct ref *sizes = &im->in[1], *blocks = &im->in[2];
	int64_t image[3], block[3];
	uint32_t i, n, rest, ones, least;
	int ret;

	for (i = 1; i <= 2; i++)
		if (im->in[i].rank != 1 || im_is_symbol(im, i, 0) || im->in[i].dims[0] > 3)
			return im_fail(im, -EOPNOTSUPP, "input %u is not a list of up to 3 sizes",
				       i);
	c->w.n = (uint32_t)sizes->dims[0];
	if (im->in[0].rank != 3 || !c->w.n || c->w.n != blocks->dims[0])
		return im_fail(im, -EBADMSG, "%u sizes, %lld of a block, %u dimensions", c->w.n,
			       (long long)blocks->dims[0], im->in[0].rank);
	for (i = 0; i < c->w.n; i++)
		c->w.kernel[i] = 1;
	ret = read_window(im, &c->w, true);
	if (!ret && im_numbers(sizes, image, &n, 3) && im_numbers(blocks, block, &n, 3))
		ret = check_columns(im, c, image, block);
	for (i = 0; i < c->w.n && !ret; i++) {
		c->image[i] = size_in(im, 1, i);
		c->block[i] = size_in(im, 2, i);
		c->padded[i] = v_with(im, ACCEL_BINARY_ADD, c->image[i],
				      (double)c->w.before[i] + c->w.after[i]);
		rest = v_with(im, ACCEL_BINARY_ADD, c->block[i], -1);
		rest = v_with(im, ACCEL_BINARY_MUL, rest, c->w.dilation[i]);
		rest = v_binary(im, ACCEL_BINARY_SUB, c->padded[i], rest);
		rest = v_with(im, ACCEL_BINARY_ADD, rest, -1);
		ones = v_with(im, ACCEL_BINARY_QUOT, rest, c->w.stride[i]);
		ones = v_with(im, ACCEL_BINARY_ADD, ones, 1);
		/*
		 * None where a block reaches further than the image, or one of both has no size,
		 * which then does not fit
		 */
		least = v_binary(im, ACCEL_BINARY_MIN, c->image[i], c->block[i]);
		least = v_with(im, ACCEL_BINARY_ADD, least, -1);
		rest = v_binary(im, ACCEL_BINARY_MIN, rest, least);
		c->steps[i] = v_select(im, v_with(im, ACCEL_BINARY_LT, rest, 0),
				       v_number(im, ACCEL_HOST_S64, 0), ones);
	}
	return ret ? ret : im->error.code;
}

/* The product of a list of numbers */
static uint32_t product_of(struct import *im, uint32_t n, const uint32_t *list)
{
	return v_reduce(im, ACCEL_REDUCE_PROD, 0, ACCEL_AXIS(0), v_concat(im, 0, n, list));
}

/*
 * Where each of @count elements of the columns lies in the image with its padding, S32: the number
 * of an element is that of a tap, and then that of a window, each of as many digits as there are
 * dimensions.
 */
static uint32_t places_of(struct import *im, const struct columns *c, uint32_t count)
{
	const int64_t zero = 0;
	uint32_t left = v_iota(im, v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, count, 1, &zero));
	uint32_t i, k, base, digit, by, step = v_ints(im, 1, (int64_t[]){ 1 }), out = NO_VALUE;

	for (k = 0; k < 2; k++) {
		for (i = c->w.n, by = step; i-- > 0;) {
			base = k ? c->block[i] : c->steps[i];
			digit = v_binary(im, ACCEL_BINARY_REM, left, base);
			left = v_binary(im, ACCEL_BINARY_QUOT, left, base);
			digit = v_with(im, ACCEL_BINARY_MUL, digit,
				       k ? c->w.dilation[i] : c->w.stride[i]);
			digit = v_binary(im, ACCEL_BINARY_MUL, digit, by);
			out = out == NO_VALUE ? digit :
			      v_binary(im, ACCEL_BINARY_ADD, out, digit);
			by = v_binary(im, ACCEL_BINARY_MUL, by, c->padded[i]);
		}
	}
	return v_cast(im, out, ACCEL_S32);
}

/*
 * [N, C taps, windows] as [N, C, image]: elements are added where they lie, whole rows of images
 * and channels at a time.
 */
static int col2im(struct import *im, uint32_t arg)
{
	static const uint32_t first[] = { 2, 0, 1 }, last[] = { 1, 2, 0 };
	struct accel_scatter_desc d = ACCEL_SCATTER_DESC_INIT;
	uint32_t i, x = v_in(im, 0), shape[3], outer, taps, places, y;
	const int64_t one = 1;
	struct columns c = { 0 };
	int ret = im_need(im, 3);

	(void)arg;
	if (!ret)
		ret = read_columns(im, &c);
	if (ret)
		return ret;
	/* All sizes are told: an empty batch is of any number of channels. */
	taps = product_of(im, c.w.n, c.block);
	shape[0] = v_shape_of(im, x, 0, 1);
	shape[1] = v_binary(im, ACCEL_BINARY_QUOT, v_shape_of(im, x, 1, 2), taps);
	shape[2] = v_binary(im, ACCEL_BINARY_MUL, v_shape_of(im, x, 2, 3), taps);
	x = v_reshape(im, x, 3, shape);
	outer = v_shape_of(im, x, 0, 2);
	/* Nothing yet, as large as two lists say: a guess of one alone would not fit the other. */
	shape[0] = product_of(im, c.w.n, c.padded);
	shape[1] = shape[2] = v_ints(im, 1, &one);
	y = v_reshape(im, v_fill(im, im->in[0].type, shape[0], 0), 3, shape);
	shape[2] = outer;
	y = v_shaped(im, ACCEL_SHAPE_EXPAND, y, v_concat(im, 0, 2, shape + 1));
	/* As many as there are in columns: others are an error. */
	shape[0] = v_binary(im, ACCEL_BINARY_MUL, taps, product_of(im, c.w.n, c.steps));
	places = v_reshape(im, places_of(im, &c, v_shape_of(im, x, 2, 3)), 2, shape);
	d.func = ACCEL_SCATTER_ND;
	d.reduce = ACCEL_SCATTER_ADD;
	y = v_scatter(im, &d, y, places, v_transpose(im, x, first));
	shape[0] = outer;
	shape[1] = v_concat(im, 0, c.w.n, c.padded);
	y = v_reshape(im, v_transpose(im, y, last), 2, shape);
	for (i = 0; i < c.w.n; i++)
		if (c.w.before[i] || c.w.after[i])
			y = v_slice(im, y, 2 + i, c.w.before[i],
				    c.w.after[i] ? -(int64_t)c.w.after[i] : INT64_MAX, 1);
	return v_give(im, 0, y);
}

/* --- where maxima were --------------------------------------------------------------------- */

/* One element of each window: @of is padded; as many as the result of pooling has */
static uint32_t tap(struct import *im, const struct window *w, uint32_t of, uint32_t pooled,
		    const uint32_t *at)
{
	uint32_t i, starts[3], ends[3], axes, steps, from, to, out = NO_VALUE;
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_SLICE);
	int64_t list[3], by[3], n;

	for (i = 0; i < w->n; i++) {
		n = (int64_t)at[i] * w->dilation[i];
		starts[i] = v_ints(im, 1, &n);
		ends[i] = v_with(im, ACCEL_BINARY_ADD, v_shape_of(im, pooled, 2 + i, 3 + i), -1);
		ends[i] = v_with(im, ACCEL_BINARY_MUL, ends[i], w->stride[i]);
		ends[i] = v_with(im, ACCEL_BINARY_ADD, ends[i], (double)(n + 1));
		list[i] = 2 + i;
		by[i] = w->stride[i];
	}
	from = v_concat(im, 0, w->n, starts);
	to = v_concat(im, 0, w->n, ends);
	axes = v_ints(im, w->n, list);
	steps = v_ints(im, w->n, by);
	if (im->error.code || of == NO_VALUE || steps == NO_VALUE)
		return NO_VALUE;
	return im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, of }, { ACCEL_ARG_B, from },
					{ ACCEL_ARG_C, to }, { ACCEL_ARG_AUX0, axes },
					{ ACCEL_ARG_AUX1, steps }), 6, &out) ? NO_VALUE : out;
}

/*
 * Where in all of the input each maximum was: windows are compared element by element, and
 * what lies in the padding has the index -1, which every other one replaces.
 */
uint32_t v_max_index(struct import *im, const struct window *w, uint32_t a, uint32_t pooled,
		     bool columns)
{
	uint32_t order[ACCEL_GRAPH_MAX_RANK], shape[ACCEL_GRAPH_MAX_RANK], at[3] = { 0 }, index;
	uint32_t i, rank = v_rank(im, a);
	uint32_t best = NO_VALUE, where = NO_VALUE, x, n, better;
	struct accel_pad_desc pad = ACCEL_PAD_DESC_INIT, none;
	int64_t zero = 0;

	/* Numbers of the elements; of columns those of a transposed image */
	for (i = 0; i < rank; i++) {
		order[i] = i < 2 || !columns ? i : rank + 1 - i;
		shape[i] = v_shape_of(im, a, order[i], (int64_t)order[i] + 1);
	}
	index = v_iota(im, v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v_elements(im, a, 0), 1, &zero));
	index = v_transpose(im, v_reshape(im, index, rank, shape), order);
	for (i = 0; i < w->n; i++) {
		pad.before[2 + i] = w->before[i];
		/* Windows at the end may reach further when these are rounded up. */
		pad.after[2 + i] = (int64_t)w->after[i] + w->stride[i];
	}
	none = pad;
	none.value = -1;
	pad.value = -(double)INFINITY;
	if (!type_is_real(v_type(im, a)))
		a = v_cast(im, a, ACCEL_F32);
	if (im->error.code || a == NO_VALUE || index == NO_VALUE ||
	    im_one(im, &pad.hdr, a, &a) || im_one(im, &none.hdr, index, &index))
		return NO_VALUE;
	for (;;) {
		x = tap(im, w, a, pooled, at);
		n = tap(im, w, index, pooled, at);
		if (best == NO_VALUE) {
			best = x;
			where = n;
		} else {
			better = v_binary(im, ACCEL_BINARY_OR,
					  v_binary(im, ACCEL_BINARY_GT, x, best),
					  v_with(im, ACCEL_BINARY_LT, where, 0));
			best = v_select(im, better, x, best);
			where = v_select(im, better, n, where);
		}
		if (im->error.code)
			return NO_VALUE;
		for (i = w->n; i-- > 0;) {
			if (++at[i] < w->kernel[i])
				break;
			at[i] = 0;
		}
		if (i == UINT32_MAX)
			return where;
	}
}

const struct op onnx_window[] = {
	{ "Col2Im", col2im, 0 }, { 0 }
};
