// SPDX-License-Identifier: MIT
/*
 * Resampling: by engines, and at places that no engine computes.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

/**
 * struct word - a word of an attribute
 * @text: the word
 * @value: what the library calls it
 */
struct word {
	const char *text;
	uint32_t value;
};

static uint32_t word_of(struct import *im, const char *name, const struct word *words, uint32_t n,
			uint32_t otherwise)
{
	uint32_t i;

	if (!im_attr(im, name, ATTR_STRING))
		return otherwise;
	for (i = 0; i < n; i++)
		if (im_string(im, name, words[i].text))
			return words[i].value;
	im_fail(im, -EOPNOTSUPP, "its %s is not known", name);
	return 0;
}

static const struct word modes[] = {
	{ "nearest", ACCEL_RESIZE_NEAREST }, { "linear", ACCEL_RESIZE_LINEAR },
	{ "bilinear", ACCEL_RESIZE_LINEAR }, { "cubic", ACCEL_RESIZE_CUBIC },
};

/* Coordinates that no engine has: corners of a region, and those that TensorFlow once had */
enum { COORD_CROP = ACCEL_COORD_COUNT, COORD_FOR_NEAREST };

static const struct word coords[] = {
	{ "half_pixel", ACCEL_COORD_HALF_PIXEL }, { "asymmetric", ACCEL_COORD_ASYMMETRIC },
	{ "align_corners", ACCEL_COORD_ALIGN_CORNERS },
	{ "pytorch_half_pixel", ACCEL_COORD_PYTORCH_HALF_PIXEL },
	{ "half_pixel_symmetric", ACCEL_COORD_HALF_PIXEL_SYMMETRIC },
	{ "tf_crop_and_resize", COORD_CROP }, { "tf_half_pixel_for_nn", COORD_FOR_NEAREST },
};

static const struct word nearests[] = {
	{ "round_prefer_floor", ACCEL_NEAREST_HALF_DOWN },
	{ "round_prefer_ceil", ACCEL_NEAREST_HALF_UP },
	{ "floor", ACCEL_NEAREST_FLOOR }, { "ceil", ACCEL_NEAREST_CEIL },
};

/* D = A by scales, sizes or both */
static int resample(struct import *im, const struct accel_resize_desc *d, uint32_t scales,
		    uint32_t sizes)
{
	const struct attr *axes = im_attr(im, "axes", ATTR_INTS);
	struct accel_graph_arg args[5] = { { ACCEL_ARG_D, ACCEL_VALUE_NEW } };
	uint32_t n = 1, out;
	int ret;

	args[n++] = (struct accel_graph_arg) { ACCEL_ARG_A, im->in[0].value };
	if (sizes != NO_VALUE)
		args[n++] = (struct accel_graph_arg) { ACCEL_ARG_B, sizes };
	if (scales != NO_VALUE)
		args[n++] = (struct accel_graph_arg) { ACCEL_ARG_C, scales };
	if (axes)
		args[n++] = (struct accel_graph_arg) {
			ACCEL_ARG_AUX0, v_ints(im, axes->int_count, axes->ints)
		};
	ret = im->error.code;
	if (!ret)
		ret = im_node(im, &d->hdr, args, n, &out);
	return ret ? ret : im_give(im, 0, out);
}

/* A list that is there and is not known to be empty */
static uint32_t list_in(struct import *im, uint32_t index)
{
	uint32_t v = v_in(im, index);

	return v != NO_VALUE && im->in[index].rank == 1 && !im->in[index].dims[0] ? NO_VALUE : v;
}

/* Scales are fp32; other bytes are not read as if they were. */
static int check_scales(struct import *im, uint32_t index)
{
	const struct ref *in = im_input(im, index);

	return in->type == ACCEL_F32 ? 0 : im_fail(im, -EBADMSG, "scales (input %u) of %s, not fp32",
						   index, accel_type_name(in->type));
}

/* --- proportions, and places that are computed ------------------------------------------------ */

/* The dimensions that sizes are of (@sizes), or scales, of which there is one for each */
int resize_axes(struct import *im, bool sizes, int64_t *list, uint32_t *count)
{
	const uint32_t in = sizes ? 3 : im->opset < 11 ? 1 : 2;
	const struct attr *axes = im_attr(im, "axes", ATTR_INTS);
	uint32_t i, n = 0, axis = 0, seen = 0, rank = im->in[0].rank;
	int64_t to[ACCEL_GRAPH_MAX_RANK];
	int ret = 0;

	*count = axes ? axes->int_count : rank;
	if (*count > rank)
		return im_fail(im, -EBADMSG, "%u axes of %u dimensions", *count, rank);
	if (im->in[in].rank != 1 ||
	    (!im_is_symbol(im, in, 0) && im->in[in].dims[0] != *count))
		return im_fail(im, -EBADMSG, "%s that are not one for each of %u axes",
			       sizes ? "sizes" : "scales", *count);
	if (sizes && !im_numbers(&im->in[in], to, &n, ACCEL_GRAPH_MAX_RANK))
		n = 0;
	for (i = 0; i < *count && !ret; i++) {
		ret = im_axis(im, axes ? axes->ints[i] : i, rank, &axis);
		if (!ret && seen & ACCEL_AXIS(axis))
			ret = im_fail(im, -EBADMSG, "axis %u twice", axis);
		/* Of nothing, nothing */
		if (!ret && i < n && to[i] < 1 &&
		    (to[i] || im_is_symbol(im, 0, axis) || im->in[0].dims[axis]))
			ret = im_fail(im, -EBADMSG, "a size of %lld", (long long)to[i]);
		seen |= ACCEL_AXIS(axis);
		list[i] = axis;
	}
	return ret;
}

/* Sizes that are bounds become those of one scale, the smallest or the largest. */
static int keep_aspect(struct import *im, uint32_t func, uint32_t *scales, uint32_t *sizes)
{
	const uint32_t bounds = *sizes;
	int64_t axes[ACCEL_GRAPH_MAX_RANK];
	uint32_t count = 0, from, scale;
	int ret = resize_axes(im, true, axes, &count);

	if (ret)
		return ret;
	from = v_shape_of(im, v_in(im, 0), 0, INT64_MAX);
	from = v_gather(im, ACCEL_GATHER_AXIS, 0, from, v_ints(im, count, axes));
	from = v_cast(im, from, ACCEL_HOST_F64);
	scale = v_binary(im, ACCEL_BINARY_DIV, v_cast(im, bounds, ACCEL_HOST_F64), from);
	scale = v_reduce(im, func, 0, ACCEL_AXIS(0), scale);
	*sizes = v_with(im, ACCEL_BINARY_ADD, v_binary(im, ACCEL_BINARY_MUL, from, scale), 0.5);
	*sizes = v_cast(im, v_unary(im, ACCEL_UNARY_FLOOR, *sizes), ACCEL_HOST_S64);
	/* What is no size stays, and is refused. */
	*sizes = v_select(im, v_with(im, ACCEL_BINARY_LT, bounds, 1), bounds, *sizes);
	scale = v_binary(im, ACCEL_BINARY_ADD, v_with(im, ACCEL_BINARY_MUL, from, 0), scale);
	*scales = v_cast(im, scale, ACCEL_F32);
	return im->error.code;
}

/* Number @k of a list, F64 [1] */
uint32_t v_number_of(struct import *im, uint32_t list, int64_t k)
{
	return v_cast(im, v_slice(im, list, 0, k, k + 1, 1), ACCEL_HOST_F64);
}

/* A list along dimension @axis of so many */
static uint32_t along(struct import *im, uint32_t a, uint32_t axis, uint32_t rank)
{
	int64_t list[ACCEL_GRAPH_MAX_RANK];
	uint32_t i;

	for (i = 0; axis + 1 + i < rank; i++)
		list[i] = 1 + i;
	return i ? v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, a, i, list) : a;
}

/* The elements at whole places, F64, along a dimension: those at its ends are repeated. */
static uint32_t elements_at(struct import *im, uint32_t x, uint32_t axis, uint32_t at,
			    uint32_t last)
{
	at = v_cast(im, at, ACCEL_S32);
	at = v_binary(im, ACCEL_BINARY_MAX, at, v_number(im, ACCEL_S32, 0));
	at = v_binary(im, ACCEL_BINARY_MIN, at, v_cast(im, last, ACCEL_S32));
	return v_gather(im, ACCEL_GATHER_AXIS, axis, x, at);
}

/* Does dimension number @k of the list of them keep its size? */
enum keeps resize_keeps(const struct import *im, uint32_t scales, uint32_t sizes, uint32_t k,
			uint32_t axis)
{
	const struct ref *list = im_input(im, sizes != NO_VALUE ? 3 : im->opset < 11 ? 1 : 2);
	int64_t to[ACCEL_GRAPH_MAX_RANK];
	uint32_t n;
	float f;

	/* Sizes of which one scale was made are bounds. */
	if (scales != NO_VALUE && sizes != NO_VALUE)
		return KEEPS_PERHAPS;
	if (sizes != NO_VALUE)
		return !im_numbers(list, to, &n, ACCEL_GRAPH_MAX_RANK) || k >= n ||
		       im_is_symbol(im, 0, axis) ? KEEPS_PERHAPS :
		       to[k] == im->in[0].dims[axis] ? KEEPS : KEEPS_NOT;
	if (!list->data || list->type != ACCEL_F32)
		return KEEPS_PERHAPS;
	memcpy(&f, (const char *)list->data + k * sizeof(f), sizeof(f));
	return f >= 1 && f <= 1 ? KEEPS : KEEPS_NOT;
}

/* The scale of dimension number @k, F64 [1] */
uint32_t v_scale_of(struct import *im, uint32_t scales, uint32_t sizes, uint32_t k, uint32_t last)
{
	if (scales != NO_VALUE)
		return v_number_of(im, scales, k);
	return v_binary(im, ACCEL_BINARY_DIV, v_number_of(im, sizes, k),
			v_with(im, ACCEL_BINARY_ADD, last, 1));
}

/*
 * @resized along a dimension, or @x where running tells that it keeps its size: neighbours that
 * count nothing would spread an infinity.
 */
uint32_t v_unless_kept(struct import *im, uint32_t x, uint32_t resized, uint32_t axis,
		       uint32_t last, uint32_t scale)
{
	const int64_t zero = 0;
	uint32_t at = v_shape_of(im, resized, axis, (int64_t)axis + 1);

	/* As many elements, whether they are wanted or not */
	at = v_iota(im, v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, at, 1, &zero));
	x = elements_at(im, x, axis, at, last);
	return v_select(im, v_with(im, ACCEL_BINARY_EQ, scale, 1), x, resized);
}

/* Weights of elements at distance @t, from 0 to 1, or @outer, from 1 to 2: Keys' cubic of @a */
uint32_t v_cubic(struct import *im, double a, bool outer, uint32_t t)
{
	const double inner[] = { a + 2, -(a + 3), 0, 1 }, far[] = { a, -5 * a, 8 * a, -4 * a };
	const double *c = outer ? far : inner;
	uint32_t i, w = v_with(im, ACCEL_BINARY_MUL, t, c[0]);

	for (i = 1; i < 4; i++) {
		w = v_with(im, ACCEL_BINARY_ADD, w, c[i]);
		if (i < 3)
			w = v_binary(im, ACCEL_BINARY_MUL, w, t);
	}
	return w;
}

/* Four elements around places, of which those outside may count nothing */
static uint32_t cubic_at(struct import *im, const struct accel_resize_desc *d, uint32_t x,
			 uint32_t axis, uint32_t at, uint32_t last)
{
	const uint32_t low = v_unary(im, ACCEL_UNARY_FLOOR, at);
	uint32_t sum = NO_VALUE, all = NO_VALUE, i, w, k, in;

	for (i = 0; i < 4; i++) {
		k = v_with(im, ACCEL_BINARY_ADD, low, (double)i - 1);
		w = v_unary(im, ACCEL_UNARY_ABS, v_binary(im, ACCEL_BINARY_SUB, at, k));
		w = v_cubic(im, (double)d->cubic, i == 0 || i == 3, w);
		if (d->flags & ACCEL_RESIZE_EXCLUDE) {
			in = v_binary(im, ACCEL_BINARY_AND, v_with(im, ACCEL_BINARY_GE, k, 0),
				      v_binary(im, ACCEL_BINARY_LE, k, last));
			w = v_select(im, in, w, v_number(im, ACCEL_HOST_F64, 0));
			all = i ? v_binary(im, ACCEL_BINARY_ADD, all, w) : w;
		}
		w = along(im, v_cast(im, w, v_type(im, x)), axis, v_rank(im, x));
		w = v_binary(im, ACCEL_BINARY_MUL, elements_at(im, x, axis, k, last), w);
		sum = i ? v_binary(im, ACCEL_BINARY_ADD, sum, w) : w;
	}
	if (all == NO_VALUE)
		return sum;
	all = along(im, v_cast(im, all, v_type(im, x)), axis, v_rank(im, x));
	return v_binary(im, ACCEL_BINARY_DIV, sum, all);
}

/* What is nearest to places, or between two elements, or four */
static uint32_t sampled_at(struct import *im, const struct accel_resize_desc *d, uint32_t x,
			   uint32_t axis, uint32_t at, uint32_t last)
{
	static const double shift[] = {
		[ACCEL_NEAREST_HALF_DOWN] = -0.5, [ACCEL_NEAREST_HALF_UP] = 0.5,
		[ACCEL_NEAREST_COUNT] = 0
	};
	const bool up = d->nearest == ACCEL_NEAREST_HALF_DOWN || d->nearest == ACCEL_NEAREST_CEIL;
	uint32_t low, t, rest;

	if (d->func == ACCEL_RESIZE_NEAREST) {
		at = v_with(im, ACCEL_BINARY_ADD, at, shift[d->nearest]);
		at = v_unary(im, up ? ACCEL_UNARY_CEIL : ACCEL_UNARY_FLOOR, at);
		return elements_at(im, x, axis, at, last);
	}
	if (d->func == ACCEL_RESIZE_CUBIC)
		return cubic_at(im, d, x, axis, at, last);
	low = v_unary(im, ACCEL_UNARY_FLOOR, at);
	t = v_cast(im, v_binary(im, ACCEL_BINARY_SUB, at, low), v_type(im, x));
	t = along(im, t, axis, v_rank(im, x));
	rest = v_with(im, ACCEL_BINARY_ADD, v_with(im, ACCEL_BINARY_MUL, t, -1), 1);
	rest = v_binary(im, ACCEL_BINARY_MUL, elements_at(im, x, axis, low, last), rest);
	low = v_with(im, ACCEL_BINARY_ADD, low, 1);
	return v_binary(im, ACCEL_BINARY_ADD, rest,
			v_binary(im, ACCEL_BINARY_MUL, elements_at(im, x, axis, low, last), t));
}

/* @a divided by a scale, or the ratio of two sizes, which need not be a double */
static uint32_t unscaled(struct import *im, uint32_t a, uint32_t from, uint32_t to, uint32_t scale)
{
	return scale != NO_VALUE ? v_binary(im, ACCEL_BINARY_DIV, a, scale) :
	       v_binary(im, ACCEL_BINARY_DIV, v_binary(im, ACCEL_BINARY_MUL, a, from), to);
}

/*
 * Where elements @at of @to are among @from, all F64, see place_of(); @size: @to, not rounded;
 * @scale: NO_VALUE: @to / @from
 */
static uint32_t places_of(struct import *im, uint32_t coord, uint32_t at, uint32_t from,
			  uint32_t to, uint32_t size, uint32_t scale)
{
	uint32_t off;

	switch (coord) {
	case ACCEL_COORD_HALF_PIXEL_SYMMETRIC:
		/* From the middle: a place that is half way between two elements is not rounded. */
		off = v_with(im, ACCEL_BINARY_ADD, at, 0.5);
		off = v_binary(im, ACCEL_BINARY_SUB, off, v_with(im, ACCEL_BINARY_MUL, to, 0.5));
		off = unscaled(im, off, from, to, scale);
		from = v_with(im, ACCEL_BINARY_MUL, v_with(im, ACCEL_BINARY_ADD, from, -1), 0.5);
		return v_binary(im, ACCEL_BINARY_ADD, off, from);
	case COORD_FOR_NEAREST:
		/* A dimension that keeps its size is not resampled. */
		off = v_select(im, scale == NO_VALUE ? v_binary(im, ACCEL_BINARY_EQ, to, from) :
			       v_with(im, ACCEL_BINARY_EQ, scale, 1),
			       v_number(im, ACCEL_HOST_F64, 0), v_number(im, ACCEL_HOST_F64, 0.5));
		at = v_binary(im, ACCEL_BINARY_ADD, at, off);
		return unscaled(im, at, from, to, scale);
	case ACCEL_COORD_ASYMMETRIC:
		return unscaled(im, at, from, to, scale);
	case ACCEL_COORD_ALIGN_CORNERS:
		at = v_binary(im, ACCEL_BINARY_MUL, at, v_with(im, ACCEL_BINARY_ADD, from, -1));
		size = v_with(im, ACCEL_BINARY_ADD, size, -1);
		return v_binary(im, ACCEL_BINARY_DIV, at, v_with(im, ACCEL_BINARY_MAX, size, 1));
	}
	at = unscaled(im, v_with(im, ACCEL_BINARY_ADD, at, 0.5), from, to, scale);
	at = v_with(im, ACCEL_BINARY_ADD, at, -0.5);
	if (coord == ACCEL_COORD_PYTORCH_HALF_PIXEL)
		return v_select(im, v_with(im, ACCEL_BINARY_GT, to, 1), at,
				v_number(im, ACCEL_HOST_F64, 0));
	return at;
}

/*
 * Places of results along dimension number @k of the list of them, F64; @last: of the input; @n:
 * length of the list
 */
uint32_t v_places_along(struct import *im, uint32_t coord, uint32_t k, uint32_t n,
			uint32_t scales, uint32_t sizes, uint32_t last)
{
	const int64_t zero = 0;
	uint32_t from = v_with(im, ACCEL_BINARY_ADD, last, 1), start = NO_VALUE, end = NO_VALUE;
	uint32_t to, size, at, span, scale, one;

	if (coord == COORD_CROP) {
		start = v_number_of(im, v_in(im, 1), k);
		end = v_number_of(im, v_in(im, 1), (int64_t)n + k);
	}
	if (sizes != NO_VALUE) {
		to = size = v_number_of(im, sizes, k);
		scale = scales == NO_VALUE ? NO_VALUE : v_number_of(im, scales, k);
	} else {
		scale = v_number_of(im, scales, k);
		to = v_binary(im, ACCEL_BINARY_MUL, from, scale);
		if (coord == COORD_CROP)
			to = v_binary(im, ACCEL_BINARY_MUL, to,
				      v_binary(im, ACCEL_BINARY_SUB, end, start));
		size = to;
		to = v_unary(im, ACCEL_UNARY_FLOOR, to);
	}
	/* Of less than nothing, or of no number, there are too many. */
	at = v_select(im, v_with(im, ACCEL_BINARY_GE, to, 0), to,
		      v_number(im, ACCEL_HOST_F64, (double)INFINITY));
	at = v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v_cast(im, at, ACCEL_HOST_S64), 1, &zero);
	at = v_cast(im, v_iota(im, at), ACCEL_HOST_F64);
	if (coord != COORD_CROP)
		return places_of(im, coord, at, from, to, size, scale);
	span = v_binary(im, ACCEL_BINARY_MUL, v_binary(im, ACCEL_BINARY_SUB, end, start), last);
	to = v_with(im, ACCEL_BINARY_ADD, to, -1);
	at = v_binary(im, ACCEL_BINARY_DIV, v_binary(im, ACCEL_BINARY_MUL, at, span),
		      v_binary(im, ACCEL_BINARY_MAX, to, v_number(im, ACCEL_HOST_F64, 1)));
	/* One alone is in the middle. */
	one = v_select(im, v_with(im, ACCEL_BINARY_GT, to, 0), v_number(im, ACCEL_HOST_F64, 0),
		       v_with(im, ACCEL_BINARY_MUL, span, 0.5));
	at = v_binary(im, ACCEL_BINARY_ADD, at, one);
	return v_binary(im, ACCEL_BINARY_ADD, at, v_binary(im, ACCEL_BINARY_MUL, start, last));
}

/* Do scales make sizes that are rounded, or are these not known? */
static bool is_rounded(struct import *im)
{
	const struct ref *scales = im_input(im, im->opset < 11 ? 1 : 2);
	const struct attr *axes = im_attr(im, "axes", ATTR_INTS);
	int64_t i, axis, rank = im->in[0].rank;
	double size;
	float f;

	if (!scales->data || scales->rank != 1)
		return true;
	for (i = 0; i < scales->dims[0] && i < (axes ? axes->int_count : rank); i++) {
		axis = axes ? axes->ints[i] : i;
		axis += axis < 0 ? rank : 0;
		if (axis < 0 || axis >= rank)
			return false;
		memcpy(&f, (const char *)scales->data + (size_t)i * sizeof(f), sizeof(f));
		size = (double)f;
		if (!im_is_symbol(im, 0, (uint32_t)axis))
			size *= (double)im->in[0].dims[axis];
		if (size < floor(size) || size > floor(size))
			return true;
	}
	return false;
}

/*
 * Is resampling at_places(): no engine has the coordinates, or numbers of the type? Corners are
 * those of a size that is not rounded.
 */
static bool has_places(struct import *im, const struct accel_resize_desc *d, bool sizes)
{
	const uint32_t type = im->in[0].type;

	return d->coord >= ACCEL_COORD_COUNT ||
	       (type >= ACCEL_HOST_S64 && type != ACCEL_HOST_BOOL) ||
	       (type == ACCEL_S32 && d->func == ACCEL_RESIZE_LINEAR) ||
	       (d->coord == ACCEL_COORD_ALIGN_CORNERS && !sizes && is_rounded(im));
}

/* A dimension at a time; what is outside of a region is a number. */
static int at_places(struct import *im, const struct accel_resize_desc *d, uint32_t scales,
		     uint32_t sizes)
{
	double outside = (double)im_float(im, "extrapolation_value", 0);
	uint32_t x = v_in(im, 0), count = 0, i, axis, last, at, good, y, inside = NO_VALUE;
	const uint32_t type = im->in[0].type, rank = im->in[0].rank;
	/* Weights of neighbours that are 1 in all are rounded: a line of one number stays so. */
	const bool whole = d->func != ACCEL_RESIZE_NEAREST && !type_is_real(type);
	const bool sums = d->func != ACCEL_RESIZE_NEAREST && d->coord != COORD_CROP;
	int64_t axes[ACCEL_GRAPH_MAX_RANK];
	enum keeps keeps = KEEPS_NOT;
	int ret = resize_axes(im, sizes != NO_VALUE, axes, &count);

	if (!ret && d->coord == COORD_CROP &&
	    (!im_input(im, 1)->here || im->in[1].rank != 1 || im->in[1].dims[0] != 2 * count))
		ret = im_fail(im, -EBADMSG, "its region has not two numbers for each of %u dimensions",
			      count);
	if (ret)
		return ret;
	for (i = 0; i < count; i++) {
		axis = (uint32_t)axes[i]; /* NOLINT(clang-analyzer-core.uninitialized.Assign) */
		if (sums)
			keeps = resize_keeps(im, scales, sizes, i, axis);
		if (keeps == KEEPS)
			continue;
		if (whole)
			x = v_cast(im, x, ACCEL_HOST_F64);
		last = v_cast(im, v_shape_of(im, x, axis, (int64_t)axis + 1), ACCEL_HOST_F64);
		last = v_with(im, ACCEL_BINARY_ADD, last, -1);
		at = v_places_along(im, d->coord, i, count, scales, sizes, last);
		y = sampled_at(im, d, x, axis, at, last);
		x = keeps == KEEPS_NOT ? y : v_unless_kept(im, x, y, axis, last,
							 v_scale_of(im, scales, sizes, i, last));
		if (d->coord != COORD_CROP)
			continue;
		good = v_binary(im, ACCEL_BINARY_AND, v_with(im, ACCEL_BINARY_GE, at, 0),
				v_binary(im, ACCEL_BINARY_LE, at, last));
		good = along(im, good, axis, rank);
		inside = i ? v_binary(im, ACCEL_BINARY_AND, inside, good) : good;
	}
	if (inside != NO_VALUE)
		x = v_select(im, inside, x, v_number(im, v_type(im, x), outside));
	if (whole && v_type(im, x) == ACCEL_HOST_F64)
		x = v_unary(im, ACCEL_UNARY_ROUND, x);
	return v_give(im, 0, v_cast(im, x, type));
}

static int resize(struct import *im, uint32_t arg)
{
	enum { stretch = ACCEL_REDUCE_COUNT };
	/* Of the scales that dimensions would have one is taken. */
	static const struct word policies[] = {
		{ "stretch", stretch }, { "not_larger", ACCEL_REDUCE_MIN },
		{ "not_smaller", ACCEL_REDUCE_MAX },
	};
	struct accel_resize_desc d = ACCEL_RESIZE_DESC_INIT;
	uint32_t scales, sizes, aspect;
	bool smooth;
	int ret = im_need(im, 1);

	(void)arg;
	if (ret)
		return ret;
	d.func = word_of(im, "mode", modes, ARRAY_SIZE(modes), ACCEL_RESIZE_NEAREST);
	d.coord = word_of(im, "coordinate_transformation_mode", coords, ARRAY_SIZE(coords),
			  im->opset < 11 ? ACCEL_COORD_ASYMMETRIC : ACCEL_COORD_HALF_PIXEL);
	if (d.func == ACCEL_RESIZE_NEAREST)
		d.nearest = word_of(im, "nearest_mode", nearests, ARRAY_SIZE(nearests),
				    im->opset < 11 ? ACCEL_NEAREST_FLOOR : ACCEL_NEAREST_HALF_DOWN);
	if (d.func == ACCEL_RESIZE_CUBIC) {
		d.flags = ACCEL_RESIZE_CUBIC_A;
		d.cubic = im_float(im, "cubic_coeff_a", -0.75f);
		if (im_int(im, "exclude_outside", 0))
			d.flags |= ACCEL_RESIZE_EXCLUDE;
	}
	if (im->error.code)
		return im->error.code;
	aspect = word_of(im, "keep_aspect_ratio_policy", policies, ARRAY_SIZE(policies), stretch);
	if (im->error.code)
		return im->error.code;
	scales = list_in(im, im->opset < 11 ? 1 : 2);
	sizes = im->opset < 11 ? NO_VALUE : list_in(im, 3);
	if (scales == NO_VALUE && sizes == NO_VALUE)
		return im_fail(im, -EBADMSG, "neither scales nor sizes");
	if (sizes != NO_VALUE)
		scales = NO_VALUE;
	if (scales != NO_VALUE)
		ret = check_scales(im, im->opset < 11 ? 1 : 2);
	if (ret)
		return ret;
	/* The nearest is one alone. */
	smooth = im_int(im, "antialias", 0) && d.func != ACCEL_RESIZE_NEAREST;
	if (sizes != NO_VALUE && aspect != stretch) {
		ret = keep_aspect(im, aspect, &scales, &sizes);
		if (ret)
			return ret;
	}
	if (smooth)
		return im_antialias(im, &d, scales, sizes);
	return has_places(im, &d, sizes != NO_VALUE) ? at_places(im, &d, scales, sizes) :
	       resample(im, &d, scales, sizes);
}

/* Scales are an attribute before version 9. */
static int upsample(struct import *im, uint32_t arg)
{
	const struct attr *list = im_attr(im, "scales", ATTR_FLOATS);
	struct accel_resize_desc d = ACCEL_RESIZE_DESC_INIT;
	uint32_t scales = v_in(im, 1), one[8], i;
	const int64_t axis = 0;
	int ret = im_need(im, 1);

	(void)arg;
	if (!ret && scales != NO_VALUE)
		ret = check_scales(im, 1);
	if (ret)
		return ret;
	d.func = word_of(im, "mode", modes, 3, ACCEL_RESIZE_NEAREST);
	d.coord = ACCEL_COORD_ASYMMETRIC;
	if (d.func == ACCEL_RESIZE_NEAREST)
		d.nearest = ACCEL_NEAREST_FLOOR;
	if (scales == NO_VALUE && list && list->float_count &&
	    list->float_count <= ARRAY_SIZE(one)) {
		for (i = 0; i < list->float_count; i++)
			one[i] = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE,
					     v_number(im, ACCEL_F32, (double)list->floats[i]), 1,
					     &axis);
		scales = v_concat(im, 0, list->float_count, one);
	}
	if (im->error.code)
		return im->error.code;
	if (scales == NO_VALUE)
		return im_fail(im, -EOPNOTSUPP, "it has no scales");
	return scales == v_in(im, 1) && has_places(im, &d, false) ?
	       at_places(im, &d, scales, NO_VALUE) : resample(im, &d, scales, NO_VALUE);
}

const struct op onnx_resize[] = {
	{ "Resize", resize, 0 }, { "Upsample", upsample, 0 }, { 0 }
};
