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
 * Elements of all columns, and of an image with its padding, at most: a file of a few lines has
 * a list of so many places made when it is opened.
 */
#define MAX_COLUMNS	(1 << 24)

/**
 * struct columns - how an image was cut into columns
 * @w: a column is a window of it
 * @image: sizes of the image
 * @padded: with the padding around
 * @steps: windows along each dimension
 * @taps: elements of a window
 * @all: elements of the image with the padding
 * @count: elements of all windows
 */
struct columns {
	struct window w;
	int64_t image[3];
	int64_t padded[3];
	int64_t steps[3];
	int64_t taps;
	int64_t all;
	int64_t count;
};

static int read_columns(struct import *im, struct columns *c)
{
	int64_t block[3], reach;
	uint32_t i, n = 0;
	int ret;

	if (!im_numbers(&im->in[1], c->image, &c->w.n, 3) || !im_numbers(&im->in[2], block, &n, 3))
		return im_fail(im, -EOPNOTSUPP,
			       "the sizes of its image, or of its blocks, are not constant, or more than 3");
	if (im->in[0].rank != 3 || !n || n != c->w.n)
		return im_fail(im, -EBADMSG, "%u sizes, %u of a block, %u dimensions", c->w.n, n,
			       im->in[0].rank);
	for (i = 0; i < n; i++) {
		if (c->image[i] < 1 || c->image[i] > MAX_COLUMNS || block[i] < 1 ||
		    block[i] > 65536)
			return im_fail(im, -EBADMSG, "an image of %lld in blocks of %lld",
				       (long long)c->image[i], (long long)block[i]);
		c->w.kernel[i] = (uint32_t)block[i];
	}
	ret = read_window(im, &c->w, true);
	for (i = 0; i < n && !ret; i++)
		if (c->w.kernel[i] != block[i])
			ret = im_fail(im, -EBADMSG, "a kernel_shape that is not that of its blocks");
	if (ret)
		return ret;
	c->taps = c->all = c->count = 1;
	for (i = 0; i < n; i++) {
		reach = (block[i] - 1) * c->w.dilation[i] + 1;
		c->padded[i] = c->image[i] + c->w.before[i] + c->w.after[i];
		if (reach > c->padded[i])
			return im_fail(im, -EBADMSG, "a block reaches %lld of %lld",
				       (long long)reach, (long long)c->padded[i]);
		c->steps[i] = (c->padded[i] - reach) / c->w.stride[i] + 1;
		c->taps *= block[i];
		if (__builtin_mul_overflow(c->all, c->padded[i], &c->all) ||
		    __builtin_mul_overflow(c->count, block[i] * c->steps[i], &c->count) ||
		    c->all > MAX_COLUMNS || c->count > MAX_COLUMNS)
			return im_fail(im, -EOPNOTSUPP, "an image, or columns, of more than %d elements",
				       MAX_COLUMNS);
	}
	if ((!im_is_symbol(im, 0, 1) && im->in[0].dims[1] % c->taps) ||
	    (!im_is_symbol(im, 0, 2) && im->in[0].dims[2] != c->count / c->taps))
		return im_fail(im, -EBADMSG, "%lld rows of %lld columns, for blocks of %lld and %lld",
			       (long long)im->in[0].dims[1], (long long)im->in[0].dims[2],
			       (long long)c->taps, (long long)(c->count / c->taps));
	return 0;
}

/* The next of all indices below @n, the last dimension first; false: they are through. */
static bool next_of(uint32_t rank, const uint32_t *n, uint32_t *at)
{
	while (rank-- > 0) {
		if (++at[rank] < n[rank])
			return true;
		at[rank] = 0;
	}
	return false;
}

/* Where each element of the columns lies in the image with its padding: S32 [count, 1] */
static uint32_t places_of(struct import *im, const struct columns *c)
{
	uint32_t tap[3] = { 0 }, at[3] = { 0 }, steps[3], i, out = NO_VALUE;
	struct accel_value v = ACCEL_VALUE_INIT;
	int32_t *list = malloc((size_t)c->count * sizeof(*list)), *to = list;
	int64_t place;

	if (!list) {
		im_fail(im, -ENOMEM, "out of memory");
		return NO_VALUE;
	}
	for (i = 0; i < c->w.n; i++)
		steps[i] = (uint32_t)c->steps[i];
	do {
		do {
			for (i = 0, place = 0; i < c->w.n; i++)
				place = place * c->padded[i] + (int64_t)at[i] * c->w.stride[i] +
					(int64_t)tap[i] * c->w.dilation[i];
			*to++ = (int32_t)place;
		} while (next_of(c->w.n, steps, at));
	} while (next_of(c->w.n, c->w.kernel, tap));
	v.type = ACCEL_S32;
	v.rank = 2;
	v.dims[0] = c->count;
	v.dims[1] = 1;
	if (im_graph(im, accel_graph_constant(im->model->graph, &v, list, free, list, &out))) {
		free(list);
		return NO_VALUE;
	}
	return out;
}

/*
 * [N, C taps, windows] as [N, C, image]: elements are added where they lie, whole rows of images
 * and channels at a time.
 */
static int col2im(struct import *im, uint32_t arg)
{
	static const uint32_t first[] = { 2, 0, 1 }, last[] = { 1, 2, 0 };
	struct accel_scatter_desc d = ACCEL_SCATTER_DESC_INIT;
	uint32_t i, x = v_in(im, 0), shape[3], outer, y;
	struct columns c = { 0 };
	int ret = im_need(im, 3);

	(void)arg;
	if (!ret)
		ret = read_columns(im, &c);
	if (ret)
		return ret;
	/* All sizes are told: an empty batch is of any number of channels. */
	shape[0] = v_shape_of(im, x, 0, 1);
	shape[1] = v_with(im, ACCEL_BINARY_QUOT, v_shape_of(im, x, 1, 2), (double)c.taps);
	shape[2] = v_ints(im, 1, &c.count);
	x = v_reshape(im, x, 3, shape);
	outer = v_shape_of(im, x, 0, 2);
	shape[0] = v_ints(im, 1, &c.all);
	shape[1] = outer;
	y = v_fill(im, im->in[0].type, v_concat(im, 0, 2, shape), 0);
	d.func = ACCEL_SCATTER_ND;
	d.reduce = ACCEL_SCATTER_ADD;
	y = v_scatter(im, &d, y, places_of(im, &c), v_transpose(im, x, first));
	shape[0] = outer;
	shape[1] = v_ints(im, c.w.n, c.padded);
	y = v_reshape(im, v_transpose(im, y, last), 2, shape);
	for (i = 0; i < c.w.n; i++)
		if (c.padded[i] != c.image[i])
			y = v_slice(im, y, 2 + i, c.w.before[i], c.w.before[i] + c.image[i], 1);
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
