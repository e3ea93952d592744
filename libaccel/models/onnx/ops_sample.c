// SPDX-License-Identifier: MIT
/*
 * Operators that read images at places which other tensors tell: grids, offsets.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.h"

#define ADD(a, b)	v_binary(im, ACCEL_BINARY_ADD, a, b)
#define SUB(a, b)	v_binary(im, ACCEL_BINARY_SUB, a, b)
#define MUL(a, b)	v_binary(im, ACCEL_BINARY_MUL, a, b)
#define PLUS(a, n)	v_with(im, ACCEL_BINARY_ADD, a, n)
#define TIMES(a, n)	v_with(im, ACCEL_BINARY_MUL, a, n)

/* Places in an image: 1 to 3 dimensions */
struct places {
	uint32_t n;
	uint32_t size[3];
	uint32_t at[3];
};

/* --- grids --------------------------------------------------------------------------------- */

enum { OUTSIDE_ZEROS, OUTSIDE_BORDER, OUTSIDE_REFLECTION };
enum { SAMPLE_NEAREST, SAMPLE_LINEAR, SAMPLE_CUBIC };

/**
 * struct grid - how a grid is read
 * @mode: SAMPLE_*
 * @outside: OUTSIDE_*
 * @corners: -1 and 1 are the middles of the outermost elements, not their edges
 * @rows: image as [N, all places, C]
 * @p: sizes as numbers of the grid's type, places as [N, all of the grid, 1]
 */
struct grid {
	uint32_t mode;
	uint32_t outside;
	bool corners;
	uint32_t rows;
	struct places p;
};

/* A place mirrored at both ends until it is within */
static uint32_t reflected(struct import *im, const struct grid *g, uint32_t x, uint32_t size)
{
	double low = g->corners ? 0 : -0.5;
	uint32_t span = g->corners ? PLUS(size, -1) : size, flips, rest, odd, none;

	none = v_with(im, ACCEL_BINARY_LE, span, 0);
	span = v_select(im, none, v_number(im, v_type(im, span), 1), span);
	x = v_unary(im, ACCEL_UNARY_ABS, PLUS(x, -low));
	flips = v_unary(im, ACCEL_UNARY_FLOOR, v_binary(im, ACCEL_BINARY_DIV, x, span));
	rest = SUB(x, MUL(flips, span));
	odd = SUB(flips, TIMES(v_unary(im, ACCEL_UNARY_FLOOR, TIMES(flips, 0.5)), 2));
	odd = v_with(im, ACCEL_BINARY_GT, odd, 0.5);
	x = PLUS(v_select(im, odd, SUB(span, rest), rest), low);
	return v_select(im, none, v_number(im, v_type(im, x), 0), x);
}

static uint32_t kept_inside(struct import *im, const struct grid *g, uint32_t x, uint32_t size)
{
	if (g->outside == OUTSIDE_BORDER)
		return v_bounded(im, x, 0, PLUS(size, -1));
	return g->outside == OUTSIDE_REFLECTION ? reflected(im, g, x, size) : x;
}

/*
 * The rows at whole places, 0 where there are none: @at[i] is a value of the grid's type along
 * dimension i.
 */
static uint32_t rows_at(struct import *im, const struct grid *g, const uint32_t *at)
{
	uint32_t i, index = NO_VALUE, inside = NO_VALUE, x, size, row;

	for (i = 0; i < g->p.n; i++) {
		/* Neighbours of what is inside may be outside too. */
		x = kept_inside(im, g, at[i], g->p.size[i]);
		row = v_binary(im, ACCEL_BINARY_AND, v_with(im, ACCEL_BINARY_GE, x, 0),
			       v_binary(im, ACCEL_BINARY_LT, x, g->p.size[i]));
		inside = i ? v_binary(im, ACCEL_BINARY_AND, inside, row) : row;
		/* Whatever it is, a number or none, the index that is read is one that there is. */
		size = v_cast(im, g->p.size[i], ACCEL_S32);
		x = v_bounded(im, v_cast(im, x, ACCEL_S32), 0, PLUS(size, -1));
		index = i ? ADD(MUL(index, size), x) : x;
	}
	row = NO_VALUE;
	if (!im->error.code && g->rows != NO_VALUE && index != NO_VALUE) {
		struct accel_gather_desc d = ACCEL_GATHER_DESC_INIT;

		d.func = ACCEL_GATHER_ND;
		d.batch = 1;
		if (im_two(im, &d.hdr, g->rows, index, &row))
			return NO_VALUE;
	}
	return v_select(im, inside, row, v_number(im, v_type(im, row), 0));
}

/* How much each of four neighbours counts, @t behind the second of them */
static uint32_t cubic_weight(struct import *im, uint32_t t, uint32_t k)
{
	const double a = -0.75;
	/* Distances 1 + t, t, 1 - t, 2 - t: polynomials within 1, and between 1 and 2 */
	uint32_t x = k == 0 ? PLUS(t, 1) : k == 1 ? t : PLUS(TIMES(t, -1), k == 2 ? 1 : 2), y;

	if (k == 1 || k == 2) {
		y = PLUS(TIMES(x, a + 2), -(a + 3));
		return PLUS(MUL(MUL(y, x), x), 1);
	}
	y = PLUS(MUL(PLUS(TIMES(x, a), -5 * a), x), 8 * a);
	return PLUS(MUL(y, x), -4 * a);
}

/* The sum over the neighbours along dimension @i and those behind it */
static uint32_t sampled(struct import *im, const struct grid *g, uint32_t i, uint32_t *at)
{
	uint32_t k, first, t, w, v, sum = NO_VALUE, taps = g->mode == SAMPLE_CUBIC ? 4 : 2;

	if (i == g->p.n)
		return rows_at(im, g, at);
	if (g->mode == SAMPLE_NEAREST) {
		at[i] = v_unary(im, ACCEL_UNARY_ROUND, g->p.at[i]);
		return sampled(im, g, i + 1, at);
	}
	first = v_unary(im, ACCEL_UNARY_FLOOR, g->p.at[i]);
	/* Infinitely far away there is nothing, of which any weight but NaN makes 0. */
	t = v_select(im, v_is_finite(im, first), SUB(g->p.at[i], first),
		     v_number(im, v_type(im, first), 0));
	for (k = 0; k < taps; k++) {
		at[i] = PLUS(first, taps == 4 ? (double)k - 1 : k);
		if (taps == 4)
			w = cubic_weight(im, t, k);
		else
			w = k ? t : PLUS(TIMES(t, -1), 1);
		v = sampled(im, g, i + 1, at);
		v = MUL(v, v_cast(im, w, v_type(im, v)));
		sum = k ? ADD(sum, v) : v;
	}
	return sum;
}

/* [N, ...] as [N, all, 1], also of N = 0, where nothing else tells how many all are */
static uint32_t as_places(struct import *im, uint32_t a)
{
	const int64_t one = 1;
	uint32_t shape[] = { v_shape_of(im, a, 0, 1), v_elements(im, a, 1), v_ints(im, 1, &one) };

	return v_reshape(im, a, 3, shape);
}

static int grid_sample(struct import *im, uint32_t arg)
{
	static const uint32_t order[] = { 0, 2, 1 };
	uint32_t i, rank, v, type, at[3], grid = v_in(im, 1), a = v_in(im, 0);
	struct grid g = { 0 };
	int ret = im_need(im, 2);

	(void)arg;
	if (ret)
		return ret;
	rank = im->in[0].rank;
	g.p.n = rank - 2;
	if (rank < 3 || rank > 5 || im->in[1].rank != rank || im->in[1].dims[rank - 1] != g.p.n)
		return im_fail(im, -EBADMSG, "a grid of %u dimensions for %u", im->in[1].rank,
			       rank);
	if (im_string(im, "mode", "nearest"))
		g.mode = SAMPLE_NEAREST;
	else if (im_string(im, "mode", "bicubic") || im_string(im, "mode", "cubic"))
		g.mode = SAMPLE_CUBIC;
	else if (!im_attr(im, "mode", ATTR_STRING) || im_string(im, "mode", "bilinear") ||
		 im_string(im, "mode", "linear"))
		g.mode = SAMPLE_LINEAR;
	else
		return im_fail(im, -EOPNOTSUPP, "its mode is not known");
	if (im_string(im, "padding_mode", "border"))
		g.outside = OUTSIDE_BORDER;
	else if (im_string(im, "padding_mode", "reflection"))
		g.outside = OUTSIDE_REFLECTION;
	else if (im_attr(im, "padding_mode", ATTR_STRING) &&
		 !im_string(im, "padding_mode", "zeros"))
		return im_fail(im, -EOPNOTSUPP, "its padding_mode is not known");
	g.corners = im_int(im, "align_corners", 0);
	type = im->in[1].type == ACCEL_HOST_F64 ? im->in[1].type : (uint32_t)ACCEL_F32;
	if (g.mode != SAMPLE_NEAREST && !type_is_real(im->in[0].type))
		a = v_cast(im, a, ACCEL_F32);
	g.rows = v_rows(im, a);
	for (i = 0; i < g.p.n; i++) {
		g.p.size[i] = v_size_of(im, a, 2 + i, type);
		/* The last number of a grid's place is along the first dimension. */
		v = v_slice(im, grid, rank - 1, g.p.n - 1 - i, g.p.n - i, 1);
		v = v_cast(im, as_places(im, v), type);
		v = PLUS(v, 1);
		v = g.corners ? MUL(v, PLUS(g.p.size[i], -1)) : PLUS(MUL(v, g.p.size[i]), -1);
		v = TIMES(v, 0.5);
		g.p.at[i] = g.mode == SAMPLE_CUBIC ? v : kept_inside(im, &g, v, g.p.size[i]);
	}
	v = v_transpose(im, sampled(im, &g, 0, at), order);
	at[0] = v_shape_of(im, a, 0, 2);
	at[1] = v_shape_of(im, grid, 1, rank - 1);
	v = v_reshape(im, v, 2, at);
	return v_give(im, 0, v_cast(im, v, im->in[0].type));
}

/* --- windows whose elements lie anywhere ------------------------------------------------------ */

/* Elements of a window, at most */
#define MAX_TAPS	4096

/**
 * struct deform - a convolution whose windows are deformed
 * @w: window
 * @taps: its elements
 * @groups: of channels that filters see
 * @parts: of channels that are moved together
 * @type: in which places are computed
 */
struct deform {
	struct window w;
	int64_t taps;
	int64_t groups;
	int64_t parts;
	uint32_t type;
};

/* A dimension that two values have to have alike, also where it is known only when they are */
static void same_size(struct import *im, uint32_t a, uint32_t b, uint32_t axis)
{
	v_shaped(im, ACCEL_SHAPE_RESHAPE, v_iota(im, v_size_of(im, a, axis, ACCEL_HOST_S64)),
		 v_shape_of(im, b, axis, (int64_t)axis + 1));
}

static int read_deform(struct import *im, struct deform *f)
{
	const struct ref *x = &im->in[0], *filters = &im->in[1], *off = &im->in[2];
	const struct ref *mask = im_input(im, 4);
	uint32_t i;
	int ret;

	f->groups = im_int(im, "group", 1);
	f->parts = im_int(im, "offset_group", 1);
	f->w.n = x->rank - 2;
	if (x->rank < 3 || x->rank > 5 || filters->rank != x->rank || off->rank != x->rank ||
	    (mask->here && mask->rank != x->rank))
		return im_fail(im, -EBADMSG, "%u dimensions, weights of %u, offsets of %u", x->rank,
			       filters->rank, off->rank);
	for (i = 0; i < x->rank; i++)
		if (im_is_symbol(im, 1, i) || (i == 1 && im_is_symbol(im, 0, i)))
			return im_fail(im, -EOPNOTSUPP, "channels, or sizes of weights, that are symbols");
	for (i = 0, f->taps = 1; i < f->w.n; i++) {
		if (filters->dims[2 + i] < 1 || filters->dims[2 + i] > MAX_TAPS / f->taps)
			return im_fail(im, -EOPNOTSUPP, "windows of more than %d elements, or none",
				       MAX_TAPS);
		f->w.kernel[i] = (uint32_t)filters->dims[2 + i];
		f->taps *= filters->dims[2 + i];
	}
	ret = read_window(im, &f->w, true);
	for (i = 0; i < f->w.n && !ret; i++)
		if (f->w.kernel[i] != filters->dims[2 + i])
			ret = im_fail(im, -EBADMSG, "kernel_shape is not that of the weights");
	if (ret)
		return ret;
	if (f->groups < 1 || f->parts < 1 || x->dims[1] < 1 || x->dims[1] % f->groups ||
	    x->dims[1] % f->parts || filters->dims[0] < 1 || filters->dims[0] % f->groups ||
	    filters->dims[1] != x->dims[1] / f->groups ||
	    off->dims[1] != f->parts * f->taps * f->w.n ||
	    (mask->here && mask->dims[1] != f->parts * f->taps))
		return im_fail(im, -EBADMSG, "%lld channels, weights of %lld, offsets %lld; %lld groups, %lld that are moved",
			       (long long)x->dims[1], (long long)filters->dims[1],
			       (long long)off->dims[1], (long long)f->groups, (long long)f->parts);
	for (i = 0; i < f->w.n; i++) {
		const int64_t reach = (int64_t)(f->w.kernel[i] - 1) * f->w.dilation[i] + 1;
		int64_t rest = x->dims[2 + i] + f->w.before[i] + f->w.after[i] - reach;

		rest = rest < 0 ? 0 : rest / f->w.stride[i] + 1;
		if (!im_is_symbol(im, 0, 2 + i) && !im_is_symbol(im, 2, 2 + i) &&
		    off->dims[2 + i] != rest)
			return im_fail(im, -EBADMSG, "offsets of %lld windows along dimension %u, which has %lld",
				       (long long)off->dims[2 + i], 2 + i, (long long)rest);
	}
	for (i = 0; i < x->rank && mask->here; i++) {
		if (i == 1)
			continue;
		if (!im_is_symbol(im, 2, i) && !im_is_symbol(im, 4, i) &&
		    mask->dims[i] != off->dims[i])
			return im_fail(im, -EBADMSG, "a mask of %lld along dimension %u, offsets of %lld",
				       (long long)mask->dims[i], i, (long long)off->dims[i]);
		same_size(im, mask->value, off->value, i);
	}
	if (im_input(im, 3)->here &&
	    (im->in[3].rank != 1 ||
	     (!im_is_symbol(im, 3, 0) && im->in[3].dims[0] != filters->dims[0])))
		return im_fail(im, -EBADMSG, "a bias that is not of %lld numbers",
			       (long long)filters->dims[0]);
	f->type = off->type == ACCEL_HOST_F64 ? off->type : (uint32_t)ACCEL_F32;
	return 0;
}

/* [N, C, ...] with the channels of each part as an image of its own, [N parts, C / parts, ...] */
static uint32_t parted(struct import *im, const struct deform *f, uint32_t a, int64_t channels)
{
	const int64_t each = channels / f->parts;
	uint32_t shape[] = { TIMES(v_shape_of(im, a, 0, 1), (double)f->parts),
			     v_ints(im, 1, &each), v_shape_of(im, a, 2, INT64_MAX) };

	return v_reshape(im, a, 3, shape);
}

/* Where elements of windows lie along dimension @i, by offsets: [N parts, taps outputs, 1] */
static uint32_t deformed(struct import *im, const struct deform *f, uint32_t i, uint32_t off)
{
	int64_t list[MAX_TAPS], shape[ACCEL_GRAPH_MAX_RANK] = { f->taps }, k, behind = 1;
	uint32_t at, n;

	off = v_slice(im, off, 1, i, f->taps * f->w.n, f->w.n);
	at = v_iota_along(im, off, 2 + i);
	at = v_cast(im, TIMES(at, f->w.stride[i]), f->type);
	for (n = i + 1; n < f->w.n; n++)
		behind *= f->w.kernel[n];
	for (k = 0; k < f->taps; k++) /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
		list[k] = k / behind % f->w.kernel[i] * f->w.dilation[i] - f->w.before[i];
	for (n = 0; n < f->w.n; n++)
		shape[1 + n] = 1;
	k = f->taps;
	n = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, v_ints(im, (uint32_t)k, list), 1 + f->w.n, shape);
	return as_places(im, ADD(ADD(v_cast(im, off, f->type), at), v_cast(im, n, f->type)));
}

/*
 * Each element of a window is read where an offset moves it to, between elements of the image, and
 * counts as much as a mask says. These are the columns of a product with the filters.
 */
static int deform_conv(struct import *im, uint32_t arg)
{
	static const uint32_t order[] = { 0, 2, 1 };
	const int64_t axes[] = { 1, 2, 3 };
	uint32_t i, x, v, at[3], shape[4];
	struct grid g = { .mode = SAMPLE_LINEAR };
	struct deform f = { 0 };
	int64_t all[3];
	int ret = im_need(im, 3);

	(void)arg;
	if (!ret)
		ret = read_deform(im, &f);
	if (ret)
		return ret;
	g.p.n = f.w.n;
	g.rows = v_rows(im, parted(im, &f, v_in(im, 0), im->in[0].dims[1]));
	x = parted(im, &f, v_in(im, 2), im->in[2].dims[1]);
	for (i = 0; i < f.w.n; i++) {
		g.p.size[i] = v_size_of(im, v_in(im, 0), 2 + i, f.type);
		g.p.at[i] = deformed(im, &f, i, x);
	}
	v = sampled(im, &g, 0, at);
	if (v_in(im, 4) != NO_VALUE) {
		x = as_places(im, parted(im, &f, v_in(im, 4), im->in[4].dims[1]));
		v = MUL(v, v_cast(im, x, v_type(im, v)));
	}
	v = v_transpose(im, v, order);
	/* [N, groups, channels of one and taps, outputs] */
	all[0] = f.groups;
	all[1] = im->in[1].dims[0] / f.groups;
	all[2] = im->in[1].dims[1] * f.taps;
	shape[0] = v_shape_of(im, v_in(im, 0), 0, 1);
	shape[1] = v_ints(im, 1, &all[0]);
	shape[2] = v_ints(im, 1, &all[2]);
	shape[3] = v_elements(im, v_slice(im, v_in(im, 2), 1, 0, 1, 1), 1);
	v = v_reshape(im, v, 4, shape);
	x = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, v_in(im, 1), 3, all);
	v = v_product(im, 0, ACCEL_ACT_NONE, x, v, NO_VALUE, NO_VALUE);
	shape[0] = v_shape_of(im, v_in(im, 0), 0, 1);
	shape[1] = v_shape_of(im, v_in(im, 1), 0, 1);
	shape[2] = v_shape_of(im, v_in(im, 2), 2, INT64_MAX);
	v = v_reshape(im, v, 3, shape);
	if (v_in(im, 3) != NO_VALUE)
		v = ADD(v, v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, v_in(im, 3), f.w.n, axes));
	return v_give(im, 0, v);
}

/* The grid of an affine map: theta times the places of an image of that size, from -1 to 1 */
static int affine_grid(struct import *im, uint32_t arg)
{
	bool corners = im_int(im, "align_corners", 0);
	uint32_t i, k, n, type, theta = v_in(im, 0), size = v_in(im, 1), x, at, sum, out[3];
	int64_t list[4], zero = 0;
	int ret = im_need(im, 2);

	(void)arg;
	if (ret)
		return ret;
	type = im->in[0].type;
	n = im->in[0].rank == 3 ? (uint32_t)im->in[0].dims[1] : 0;
	if ((n != 2 && n != 3) || im->in[0].dims[2] != n + 1 || im->in[1].rank != 1 ||
	    im->in[1].dims[0] != n + 2)
		return im_fail(im, -EBADMSG, "no affine maps of two or three dimensions");
	for (k = 0; k < n; k++) {
		sum = NO_VALUE;
		for (i = 0; i <= n; i++) {
			/* [N, 1, 1(, 1)] */
			x = v_slice(im, v_slice(im, theta, 1, k, k + 1, 1), 2, i, i + 1, 1);
			list[0] = 3;
			if (n == 3)
				x = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, x, 1, list);
			if (i < n) {
				uint32_t axis = n - 1 - i, a, m = 0, length;

				length = v_slice(im, size, 0, 2 + axis, 3 + axis, 1);
				length = v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, length, 1, &zero);
				length = v_cast(im, length, ACCEL_HOST_S64);
				at = v_cast(im, v_iota(im, length), type);
				length = v_cast(im, length, type);
				if (corners) {
					/* One place alone is at -1. */
					length = v_binary(im, ACCEL_BINARY_MAX, PLUS(length, -1),
							  v_number(im, type, 1));
					at = v_binary(im, ACCEL_BINARY_DIV, TIMES(at, 2), length);
					at = PLUS(at, -1);
				} else {
					at = PLUS(TIMES(at, 2), 1);
					at = PLUS(v_binary(im, ACCEL_BINARY_DIV, at, length), -1);
				}
				for (a = 0; a <= n; a++)
					if (a != axis + 1)
						list[m++] = a;
				at = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, at, m, list);
				x = MUL(x, at);
			}
			sum = i ? ADD(sum, x) : x;
		}
		list[0] = n + 1;
		out[k] = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, sum, 1, list);
	}
	return v_give(im, 0, v_concat(im, n + 1, n, out));
}

/* --- other sizes ---------------------------------------------------------------------------- */

/* As much cut off, or added, before as behind; the odd one behind */
static int center_crop_pad(struct import *im, uint32_t arg)
{
	const struct attr *axes = im_attr(im, "axes", ATTR_INTS);
	uint32_t i, n, axis, more[ACCEL_GRAPH_MAX_RANK], before, after, list, out;
	struct accel_pad_desc d = ACCEL_PAD_DESC_INIT;
	int64_t which[ACCEL_GRAPH_MAX_RANK];
	int ret = im_need(im, 2);

	(void)arg;
	if (ret)
		return ret;
	n = axes ? axes->int_count : im->in[0].rank;
	if (n > im->in[0].rank || im->in[1].rank != 1 || im->in[1].dims[0] != n)
		return im_fail(im, -EBADMSG, "sizes of %u dimensions", n);
	for (i = 0; i < n; i++) {
		ret = im_axis(im, axes ? axes->ints[i] : (int64_t)i, im->in[0].rank, &axis);
		if (ret)
			return ret;
		which[i] = axis;
		more[i] = v_shape_of(im, v_in(im, 0), axis, (int64_t)axis + 1);
	}
	list = v_cast(im, v_in(im, 1), ACCEL_HOST_S64);
	list = SUB(list, v_concat(im, 0, n, more));
	before = v_with(im, ACCEL_BINARY_QUOT, list, 2);
	after = SUB(list, before);
	list = v_concat(im, 0, 2, (uint32_t[]) { before, after });
	axis = v_ints(im, n, which);
	if (im->error.code)
		return im->error.code;
	ret = im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, im->in[0].value }, { ACCEL_ARG_B, list },
				       { ACCEL_ARG_AUX0, axis }), 4, &out);
	return ret ? ret : im_give(im, 0, out);
}

const struct op onnx_sample[] = {
	{ "GridSample", grid_sample, 0 }, { "DeformConv", deform_conv, 0 },
	{ "AffineGrid", affine_grid, 0 }, { "CenterCropPad", center_crop_pad, 0 },
	{ 0 }
};
