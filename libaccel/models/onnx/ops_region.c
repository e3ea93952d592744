// SPDX-License-Identifier: MIT
/*
 * Operators on regions of images: averages and maxima of samples, and of whole elements.
 */
#include <errno.h>
#include <math.h>

#include "onnx.h"

#define ADD(a, b)	v_binary(im, ACCEL_BINARY_ADD, a, b)
#define SUB(a, b)	v_binary(im, ACCEL_BINARY_SUB, a, b)
#define MUL(a, b)	v_binary(im, ACCEL_BINARY_MUL, a, b)
#define PLUS(a, n)	v_with(im, ACCEL_BINARY_ADD, a, n)
#define TIMES(a, n)	v_with(im, ACCEL_BINARY_MUL, a, n)

/* --- samples ------------------------------------------------------------------------------- */

/* Edge @k of regions, in the image, as [R, 1] */
static uint32_t edge(struct import *im, uint32_t rois, uint32_t k, double scale, double off)
{
	return PLUS(TIMES(v_slice(im, rois, 1, k, k + 1, 1), scale), off);
}

/**
 * struct line - where samples lie along a dimension
 * @begin: edges of the regions, [R, 1]
 * @end: likewise
 * @bins: of a region
 * @ratio: samples of a bin, 0: as many as elements lie in it
 * @count: samples of a bin, a number or [R, 1, 1]
 * @most: of any bin, S64 []
 * @all: of all bins, S64 [1]
 * @low: index of the neighbour before, S32 [R, all]
 * @high: of the one behind
 * @t: how much that one counts
 * @inside: whether there are any
 * @used: whether the region has the sample, NO_VALUE: all have all
 */
struct line {
	uint32_t begin;
	uint32_t end;
	int64_t bins;
	int64_t ratio;
	uint32_t count;
	uint32_t most;
	uint32_t all;
	uint32_t low;
	uint32_t high;
	uint32_t t;
	uint32_t inside;
	uint32_t used;
};

/* How many samples bins of a length, [R, 1, 1], have */
static void count_samples(struct import *im, uint32_t length, struct line *l)
{
	const uint32_t type = v_type(im, length);
	const int64_t zero = 0;

	if (l->ratio) {
		l->count = v_number(im, type, (double)l->ratio);
		l->most = v_number(im, ACCEL_HOST_S64, (double)l->ratio);
	} else {
		/* A region with an edge nowhere has none, and others have theirs. */
		l->count = v_select(im, v_is_finite(im, length),
				    v_unary(im, ACCEL_UNARY_CEIL, length), v_number(im, type, 0));
		l->count = v_binary(im, ACCEL_BINARY_MAX, l->count, v_number(im, type, 0));
		l->most = v_reduce(im, ACCEL_REDUCE_MAX, 0, 7, l->count);
		l->most = v_binary(im, ACCEL_BINARY_MAX, l->most, v_number(im, type, 1));
		l->most = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, l->most, 0, NULL);
		l->most = v_cast(im, l->most, ACCEL_HOST_S64);
	}
	l->all = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, TIMES(l->most, (double)l->bins), 1, &zero);
}

/* How long bins are, [R, 1] */
static uint32_t bin_length(struct import *im, bool half, const struct line *l)
{
	uint32_t length = SUB(l->end, l->begin), type = v_type(im, l->begin);

	if (!half)
		length = v_binary(im, ACCEL_BINARY_MAX, length, v_number(im, type, 1));
	return v_binary(im, ACCEL_BINARY_DIV, length, v_number(im, type, (double)l->bins));
}

static void sample_line(struct import *im, bool half, uint32_t size, struct line *l)
{
	uint32_t length, x, last, type = v_type(im, l->begin), s, bin, lists[2];
	const int64_t one = 1, two = 2;

	length = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, bin_length(im, half, l), 1, &two);
	count_samples(im, length, l);
	bin = v_cast(im, v_iota(im, v_number(im, ACCEL_HOST_S64, (double)l->bins)), type);
	bin = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, bin, 1, &one);
	s = v_cast(im, v_iota(im, l->most), type);
	x = ADD(bin, v_binary(im, ACCEL_BINARY_DIV, PLUS(s, 0.5), l->count));
	x = ADD(v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, l->begin, 1, &two), MUL(x, length));
	lists[0] = v_shape_of(im, l->begin, 0, 1);
	lists[1] = l->all;
	x = v_reshape(im, x, 2, lists);
	l->used = NO_VALUE;
	if (!l->ratio) {
		l->used = v_binary(im, ACCEL_BINARY_LT, ADD(s, TIMES(bin, 0)), l->count);
		l->used = v_reshape(im, l->used, 2, lists);
	}
	l->inside = v_binary(im, ACCEL_BINARY_AND, v_with(im, ACCEL_BINARY_GE, x, -1),
			     v_binary(im, ACCEL_BINARY_LE, x, size));
	last = PLUS(size, -1);
	/* Whatever it is, a number or none, the neighbours are some that there are. */
	x = v_bounded(im, v_select(im, l->inside, x, v_number(im, type, 0)), 0, last);
	l->low = v_unary(im, ACCEL_UNARY_FLOOR, x);
	l->t = SUB(x, l->low);
	l->high = v_cast(im, v_binary(im, ACCEL_BINARY_MIN, PLUS(l->low, 1), last), ACCEL_S32);
	l->low = v_cast(im, l->low, ACCEL_S32);
}

/* Samples along y, [R, all], and x as [R, all, 1] and [R, 1, all] */
static uint32_t upright(struct import *im, uint32_t a)
{
	const int64_t two = 2;

	return v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, a, 1, &two);
}

static uint32_t flat(struct import *im, uint32_t a)
{
	const int64_t one = 1;

	return v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, a, 1, &one);
}

static uint32_t crossed(struct import *im, uint32_t y, uint32_t x)
{
	return v_binary(im, ACCEL_BINARY_AND, upright(im, y), flat(im, x));
}

/*
 * What bins are of their samples, [R, all along y, all along x, C]: averages, or maxima, which
 * are 0 of no samples. [R, high, wide, C]
 */
static uint32_t of_bins(struct import *im, bool max, const struct line *y, const struct line *x,
			uint32_t v)
{
	const bool all = y->ratio != 0;
	const int64_t high = y->bins, wide = x->bins, one = 1;
	uint32_t channels = v_shape_of(im, v, 3, 4), rois = v_shape_of(im, v, 0, 1), lists[5];
	uint32_t count;

	lists[0] = TIMES(rois, (double)high);
	lists[1] = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, y->most, 1, &one);
	lists[2] = v_ints(im, 1, &wide);
	lists[3] = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, x->most, 1, &one);
	lists[4] = channels;
	v = v_reshape(im, v, 5, lists);
	v = v_reduce(im, max ? ACCEL_REDUCE_MAX : all ? ACCEL_REDUCE_MEAN : ACCEL_REDUCE_SUM, 0,
		     ACCEL_AXIS(1) | ACCEL_AXIS(3), v);
	lists[0] = rois;
	lists[1] = v_ints(im, 1, &high);
	lists[3] = channels;
	v = v_reshape(im, v, 4, lists);
	if (all)
		return v;
	count = MUL(y->count, x->count);
	if (max)
		return v_select(im, flat(im, v_with(im, ACCEL_BINARY_GT, count, 0)), v,
				v_number(im, v_type(im, v), 0));
	count = v_binary(im, ACCEL_BINARY_MAX, count, v_number(im, v_type(im, count), 1));
	count = v_cast(im, flat(im, count), v_type(im, v));
	return v_binary(im, ACCEL_BINARY_DIV, v, count);
}

/**
 * struct align - bins of regions that are sampled
 * @max: maxima, not averages
 * @half: pixels have their middles at halves
 * @scale: from edges of regions to elements
 * @rows: all images, [all places, C]
 * @size: of an image, in the type of the regions
 * @whole: the same, S32
 * @y: lines along y, of which bins and ratio are set
 * @x: along x
 */
struct align {
	bool max;
	bool half;
	double scale;
	uint32_t rows;
	uint32_t size[2];
	uint32_t whole[2];
	struct line y;
	struct line x;
};

static void set_edges(struct import *im, struct align *f, uint32_t rois)
{
	const double off = f->half ? -0.5 : 0;

	f->y.begin = edge(im, rois, 1, f->scale, off);
	f->y.end = edge(im, rois, 3, f->scale, off);
	f->x.begin = edge(im, rois, 0, f->scale, off);
	f->x.end = edge(im, rois, 2, f->scale, off);
}

/*
 * Averages, or maxima, of samples of bins of regions, [R, high, wide, C]; @batch: images that they
 * are of, S32. A maximum is one of the weighted neighbours, not of the samples: so are those of
 * ONNX.
 */
static uint32_t aligned(struct import *im, struct align *f, uint32_t rois, uint32_t batch)
{
	uint32_t inside, used = NO_VALUE, k, v, w, sum = NO_VALUE;
	const int64_t one[] = { -1, 1, 1 }, three = 3;
	struct line *y = &f->y, *x = &f->x;

	set_edges(im, f, rois);
	sample_line(im, f->half, f->size[0], y);
	sample_line(im, f->half, f->size[1], x);
	inside = crossed(im, y->inside, x->inside);
	if (!y->ratio) {
		used = crossed(im, y->used, x->used);
		inside = v_binary(im, ACCEL_BINARY_AND, inside, used);
	}
	inside = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, inside, 1, &three);
	batch = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, batch, 3, one);
	batch = MUL(batch, MUL(f->whole[0], f->whole[1]));
	for (k = 0; k < 4; k++) {
		uint32_t wy = k & 2 ? y->t : PLUS(TIMES(y->t, -1), 1);
		uint32_t wx = k & 1 ? x->t : PLUS(TIMES(x->t, -1), 1);

		v = MUL(upright(im, k & 2 ? y->high : y->low), f->whole[1]);
		v = ADD(v, flat(im, k & 1 ? x->high : x->low));
		v = v_gather(im, ACCEL_GATHER_AXIS, 0, f->rows, ADD(v, batch));
		w = MUL(upright(im, wy), flat(im, wx));
		w = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, w, 1, &three);
		v = MUL(v, v_cast(im, w, v_type(im, v)));
		/* What is read for a sample outside may be no number. */
		v = v_select(im, inside, v, v_number(im, v_type(im, v), 0));
		sum = !k ? v : f->max ? v_binary(im, ACCEL_BINARY_MAX, sum, v) : ADD(sum, v);
	}
	if (f->max && !y->ratio)
		sum = v_select(im, v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, used, 1, &three), sum,
			       v_number(im, v_type(im, sum), -INFINITY));
	return of_bins(im, f->max, y, x, sum);
}

/*
 * Where regions have as many samples as they are large, all have room for those of the largest. So
 * that a few large ones do not make all others dear, they are in classes by the length of their
 * bins, one after the other, and then put in order again.
 */
static uint32_t aligned_by_size(struct import *im, struct align *f, uint32_t rois, uint32_t batch)
{
	static const double above[] = { 2, 8 };
	enum { CLASSES = ARRAY_SIZE(above) + 1 };
	uint32_t i, length, class = NO_VALUE, v, at[CLASSES], part[CLASSES], order;
	struct accel_scatter_desc put = ACCEL_SCATTER_DESC_INIT;
	const int64_t zero = 0;

	set_edges(im, f, rois);
	length = v_binary(im, ACCEL_BINARY_MAX, bin_length(im, f->half, &f->y),
			  bin_length(im, f->half, &f->x));
	length = v_shaped(im, ACCEL_SHAPE_RESHAPE, length, v_shape_of(im, length, 0, 1));
	for (i = 0; i + 1 < CLASSES; i++) {
		v = v_cast(im, v_with(im, ACCEL_BINARY_GT, length, above[i]), ACCEL_S32);
		class = i ? ADD(class, v) : v;
	}
	for (i = 0; i < CLASSES; i++) {
		v = v_nonzero(im, v_with(im, ACCEL_BINARY_EQ, class, i));
		at[i] = v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v, 1, &zero);
		v = v_cast(im, at[i], ACCEL_S32);
		part[i] = aligned(im, f, v_gather(im, ACCEL_GATHER_AXIS, 0, rois, v),
				  v_gather(im, ACCEL_GATHER_AXIS, 0, batch, v));
	}
	/* As many as were found, which is all, but not while a file is read. */
	put.func = ACCEL_SCATTER_ELEMENTS;
	order = v_concat(im, 0, CLASSES, at);
	v = v_iota(im, v_size_of(im, order, 0, ACCEL_HOST_S64));
	order = v_scatter(im, &put, v_iota(im, v_size_of(im, rois, 0, ACCEL_HOST_S64)), order, v);
	return v_gather(im, ACCEL_GATHER_AXIS, 0, v_concat(im, 0, CLASSES, part),
			v_cast(im, order, ACCEL_S32));
}

/* Images by their numbers, of which none is negative: all that there are not are refused. */
static uint32_t images(struct import *im, uint32_t of)
{
	uint32_t count = v_size_of(im, v_in(im, 0), 0, ACCEL_HOST_S64);

	of = v_cast(im, of, ACCEL_HOST_S64);
	of = v_select(im, v_with(im, ACCEL_BINARY_LT, of, 0), count, of);
	return v_cast(im, v_gather(im, ACCEL_GATHER_AXIS, 0, v_iota(im, count), of), ACCEL_S32);
}

static int roi_align(struct import *im, uint32_t arg)
{
	static const char *const places = "coordinate_transformation_mode";
	struct align f = {
		.max = im_string(im, "mode", "max"),
		.half = im->opset >= 16 && !im_string(im, places, "output_half_pixel"),
		.scale = (double)im_float(im, "spatial_scale", 1),
		.y.bins = im_int(im, "output_height", 1),
		.x.bins = im_int(im, "output_width", 1),
	};
	static const uint32_t order[] = { 0, 3, 1, 2 };
	const int64_t s = im_int(im, "sampling_ratio", 0);
	uint32_t lists[2], k, v, type, rois, batch;
	int ret = im_need(im, 3);

	(void)arg;
	if (ret)
		return ret;
	if (im->in[0].rank != 4 || im->in[1].rank != 2 || f.y.bins < 1 || f.x.bins < 1 ||
	    f.y.bins > 4096 || f.x.bins > 4096)
		return im_fail(im, -EBADMSG, "regions of %lld by %lld", (long long)f.y.bins,
			       (long long)f.x.bins);
	if (s < 0 || s > 64)
		return im_fail(im, -EOPNOTSUPP, "a sampling_ratio of %lld", (long long)s);
	if (!f.max && im_attr(im, "mode", ATTR_STRING) && !im_string(im, "mode", "avg"))
		return im_fail(im, -EOPNOTSUPP, "its mode is not known");
	if (f.half && im_attr(im, places, ATTR_STRING) && !im_string(im, places, "half_pixel"))
		return im_fail(im, -EOPNOTSUPP, "its %s is not known", places);
	f.y.ratio = s;
	f.x.ratio = s;
	/* Numbers of 16 bits have neither all sizes nor all places between elements. */
	type = im->in[1].type == ACCEL_HOST_F64 ? im->in[1].type : (uint32_t)ACCEL_F32;
	rois = v_cast(im, v_in(im, 1), type);
	batch = images(im, v_in(im, 2));
	for (k = 0; k < 2; k++) {
		f.size[k] = v_size_of(im, v_in(im, 0), 2 + k, type);
		f.whole[k] = v_size_of(im, v_in(im, 0), 2 + k, ACCEL_S32);
	}
	/* All images one after the other */
	f.rows = v_rows(im, v_in(im, 0));
	lists[0] = v_reduce(im, ACCEL_REDUCE_PROD, 0, ACCEL_AXIS(0), v_shape_of(im, f.rows, 0, 2));
	lists[1] = v_shape_of(im, f.rows, 2, 3);
	f.rows = v_reshape(im, f.rows, 2, lists);
	v = s ? aligned(im, &f, rois, batch) : aligned_by_size(im, &f, rois, batch);
	return v_give(im, 0, v_transpose(im, v, order));
}

/* --- maxima of whole elements ---------------------------------------------------------------- */

/* Bins along a dimension, at most */
#define MAX_BINS	64

/* A whole number, halves away from 0 */
static uint32_t rounded(struct import *im, uint32_t a)
{
	uint32_t size = v_with(im, ACCEL_BINARY_ADD, v_unary(im, ACCEL_UNARY_ABS, a), 0.5);

	return v_binary(im, ACCEL_BINARY_MUL, v_unary(im, ACCEL_UNARY_FLOOR, size),
			v_unary(im, ACCEL_UNARY_SIGN, a));
}

/*
 * The maxima of bins along dimension @axis of [R, C, H, W] between edges @from and @to, [R, 1];
 * @some: whether bins have elements
 */
static uint32_t max_bins(struct import *im, uint32_t x, uint32_t axis, int64_t bins, uint32_t from,
			 uint32_t to, uint32_t *some)
{
	uint32_t low, high, seen, size, list[MAX_BINS], has[MAX_BINS], type = v_type(im, from), at;
	uint32_t all;
	const int64_t around[] = { 1, axis == 3 ? 2 : 3 }, zero = 0;
	int64_t i;

	size = v_with(im, ACCEL_BINARY_ADD, v_binary(im, ACCEL_BINARY_SUB, to, from), 1);
	size = v_binary(im, ACCEL_BINARY_MAX, size, v_number(im, type, 1));
	size = v_binary(im, ACCEL_BINARY_DIV, size, v_number(im, type, (double)bins));
	all = v_shape_of(im, x, axis, (int64_t)axis + 1);
	at = v_iota(im, v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, all, 1, &zero));
	all = v_cast(im, all, type);
	at = v_cast(im, at, type);
	for (i = 0; i < bins; i++) {
		low = v_unary(im, ACCEL_UNARY_FLOOR,
			      v_with(im, ACCEL_BINARY_MUL, size, (double)i));
		high = v_unary(im, ACCEL_UNARY_CEIL,
			       v_with(im, ACCEL_BINARY_MUL, size, (double)(i + 1)));
		low = v_binary(im, ACCEL_BINARY_ADD, low, from);
		high = v_binary(im, ACCEL_BINARY_ADD, high, from);
		seen = v_binary(im, ACCEL_BINARY_AND, v_binary(im, ACCEL_BINARY_GE, at, low),
				v_binary(im, ACCEL_BINARY_LT, at, high));
		has[i] = v_binary(im, ACCEL_BINARY_AND, v_binary(im, ACCEL_BINARY_LT, low, all),
				  v_with(im, ACCEL_BINARY_GT, high, 0));
		seen = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, seen, 2, around);
		list[i] = v_select(im, seen, x, v_number(im, v_type(im, x), -INFINITY));
		list[i] = v_reduce(im, ACCEL_REDUCE_MAX, 0, ACCEL_AXIS(axis), list[i]);
	}
	*some = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, v_concat(im, 1, (uint32_t)bins, has), 2,
			    around);
	return v_concat(im, axis, (uint32_t)bins, list);
}

/* Regions are rows of an image's number and the edges left, top, right, bottom. */
static int max_roi_pool(struct import *im, uint32_t arg)
{
	const struct attr *pooled = im_attr(im, "pooled_shape", ATTR_INTS);
	double scale = (double)im_float(im, "spatial_scale", 1);
	uint32_t i, rois = v_in(im, 1), edge[5], x, some[2];
	const int64_t one = 1;
	int ret = im_need(im, 2);

	(void)arg;
	if (ret)
		return ret;
	if (!pooled || pooled->int_count != 2 || im->in[0].rank != 4 || im->in[1].rank != 2 ||
	    im->in[1].dims[1] != 5)
		return im_fail(im, -EBADMSG, "no pooled_shape of two numbers, no images, or no regions of five");
	for (i = 0; i < 2; i++)
		if (pooled->ints[i] < 1 || pooled->ints[i] > MAX_BINS)
			return im_fail(im, -EOPNOTSUPP, "%lld bins, of %d at most",
				       (long long)pooled->ints[i], MAX_BINS);
	if (im->in[1].type != ACCEL_HOST_F64)
		rois = v_cast(im, rois, ACCEL_F32);
	for (i = 0; i < 5; i++) {
		edge[i] = v_slice(im, rois, 1, i, i + 1, 1);
		if (i)
			edge[i] = rounded(im, v_with(im, ACCEL_BINARY_MUL, edge[i], scale));
	}
	edge[0] = images(im, v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, edge[0], 1, &one));
	x = v_gather(im, ACCEL_GATHER_AXIS, 0, v_in(im, 0), edge[0]);
	x = max_bins(im, x, 3, pooled->ints[1], edge[1], edge[3], &some[0]);
	x = max_bins(im, x, 2, pooled->ints[0], edge[2], edge[4], &some[1]);
	/* Of no elements it is 0, while that of elements may be -inf. */
	some[0] = v_binary(im, ACCEL_BINARY_AND, some[1], some[0]);
	return v_give(im, 0, v_select(im, some[0], x, v_number(im, im->in[0].type, 0)));
}

const struct op onnx_region[] = {
	{ "RoiAlign", roi_align, 0 }, { "MaxRoiPool", max_roi_pool, 0 }, { 0 }
};
