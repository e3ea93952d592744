// SPDX-License-Identifier: MIT
/*
 * Resampling without aliases, by matrices that blur.
 */
#include <errno.h>
#include <string.h>

#include "onnx.h"

/* How much neighbours count that are so far away, F64: a triangle, or Keys' cubic */
static uint32_t filtered(struct import *im, const struct accel_resize_desc *d, uint32_t x)
{
	uint32_t far, zero = v_number(im, ACCEL_HOST_F64, 0);

	x = v_unary(im, ACCEL_UNARY_ABS, x);
	if (d->func == ACCEL_RESIZE_LINEAR) {
		x = v_with(im, ACCEL_BINARY_ADD, v_with(im, ACCEL_BINARY_MUL, x, -1), 1);
		return v_binary(im, ACCEL_BINARY_MAX, x, zero);
	}
	far = v_cubic(im, (double)d->cubic, true, x);
	far = v_select(im, v_with(im, ACCEL_BINARY_LT, x, 2), far, zero);
	return v_select(im, v_with(im, ACCEL_BINARY_LE, x, 1),
			v_cubic(im, (double)d->cubic, false, x), far);
}

/*
 * The matrix that makes elements of @count ones, of which they are at places @at, F64: a filter as
 * wide as the distance of elements, edges repeated. Its rows are as many as there are places.
 */
static uint32_t weights(struct import *im, const struct accel_resize_desc *d, uint32_t at,
			uint32_t count, uint32_t scale, uint32_t type)
{
	const double reach = d->func == ACCEL_RESIZE_LINEAR ? 1 : 2;
	struct accel_scatter_desc to = ACCEL_SCATTER_DESC_INIT;
	uint32_t narrow, start, taps, k, w, last, shape[2], in;
	const int64_t zero = 0, one = 1;

	narrow = v_binary(im, ACCEL_BINARY_MIN, scale, v_number(im, ACCEL_HOST_F64, 1));
	start = v_binary(im, ACCEL_BINARY_DIV, v_number(im, ACCEL_HOST_F64, -reach), narrow);
	start = v_with(im, ACCEL_BINARY_ADD, v_unary(im, ACCEL_UNARY_FLOOR, start), 1);
	taps = v_with(im, ACCEL_BINARY_ADD, v_with(im, ACCEL_BINARY_MUL, start, -2), 2);
	taps = v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v_cast(im, taps, ACCEL_HOST_S64), 1, &zero);
	at = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, at, 1, &one);
	/* Of a place that is an element's the one on its left begins. */
	k = v_with(im, ACCEL_BINARY_ADD, v_unary(im, ACCEL_UNARY_CEIL, at), -1);
	k = v_binary(im, ACCEL_BINARY_ADD, k, start);
	k = v_binary(im, ACCEL_BINARY_ADD, k, v_cast(im, v_iota(im, taps), ACCEL_HOST_F64));
	w = v_binary(im, ACCEL_BINARY_MUL, v_binary(im, ACCEL_BINARY_SUB, k, at), narrow);
	w = filtered(im, d, w);
	last = v_with(im, ACCEL_BINARY_ADD, v_cast(im, count, ACCEL_HOST_F64), -1);
	if (im_int(im, "exclude_outside", 0)) {
		in = v_binary(im, ACCEL_BINARY_AND, v_with(im, ACCEL_BINARY_GE, k, 0),
			      v_binary(im, ACCEL_BINARY_LE, k, last));
		w = v_select(im, in, w, v_number(im, ACCEL_HOST_F64, 0));
	}
	w = v_binary(im, ACCEL_BINARY_DIV, w,
		     v_reduce(im, ACCEL_REDUCE_SUM, 0, ACCEL_AXIS(1), w));
	shape[0] = v_shape_of(im, at, 0, 1);
	shape[1] = count;
	to.func = ACCEL_SCATTER_ELEMENTS;
	to.axis = 1;
	to.reduce = ACCEL_SCATTER_ADD;
	return v_scatter(im, &to, v_fill(im, type, v_concat(im, 0, 2, shape), 0),
			 v_cast(im, v_bounded(im, k, 0, last), ACCEL_S32), v_cast(im, w, type));
}

/*
 * With antialias each element is a sum of as many neighbours as its distance from the next one
 * wants. Products with matrices do that, one dimension after the other.
 */
int im_antialias(struct import *im, const struct accel_resize_desc *d, uint32_t scales,
		 uint32_t sizes)
{
	uint32_t order[ACCEL_GRAPH_MAX_RANK], x = v_in(im, 0), count = 0, i, k, axis, at, scale;
	const uint32_t type = im->in[0].type, rank = im->in[0].rank;
	int64_t axes[ACCEL_GRAPH_MAX_RANK];
	uint32_t from, last, w, y;
	enum keeps keeps;
	int ret = !type_is_real(type) ?
		  im_fail(im, -EOPNOTSUPP, "antialias of %s", accel_type_name(type)) :
		  d->coord >= ACCEL_COORD_COUNT ?
		  im_fail(im, -EOPNOTSUPP, "antialias with such coordinates") :
		  resize_axes(im, sizes != NO_VALUE, axes, &count);

	if (type != ACCEL_HOST_F64)
		x = v_cast(im, x, ACCEL_F32);
	for (k = 0; k < count && !ret; k++) {
		axis = (uint32_t)axes[k]; /* NOLINT(clang-analyzer-core.uninitialized.Assign) */
		keeps = resize_keeps(im, scales, sizes, k, axis);
		if (keeps == KEEPS)
			continue;
		for (i = 0; i < rank; i++)
			order[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
		from = v_shape_of(im, x, axis, (int64_t)axis + 1);
		last = v_with(im, ACCEL_BINARY_ADD, v_cast(im, from, ACCEL_HOST_F64), -1);
		at = v_places_along(im, d->coord, k, count, scales, sizes, last);
		scale = v_scale_of(im, scales, sizes, k, last);
		/* Of nothing there is nothing to make so many of: the product does not fit. */
		if (sizes != NO_VALUE)
			from = v_binary(im, ACCEL_BINARY_MAX, from,
					v_number(im, ACCEL_HOST_S64, 1));
		w = weights(im, d, at, from, scale, v_type(im, x));
		y = v_product(im, ACCEL_GEMM_TRANS_B, ACCEL_ACT_NONE, v_transpose(im, x, order),
			      w, NO_VALUE, NO_VALUE);
		y = v_transpose(im, y, order);
		x = keeps == KEEPS_PERHAPS ? v_unless_kept(im, x, y, axis, last, scale) : y;
	}
	return ret ? ret : v_give(im, 0, v_cast(im, x, type));
}
