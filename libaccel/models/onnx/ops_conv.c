// SPDX-License-Identifier: MIT
/*
 * Convolutions: those that engines have, in three dimensions, of integers, transposed.
 */
#include <errno.h>
#include <string.h>

#include "onnx.h"

/* A convolution in one or two dimensions, by the window's last ones */
static uint32_t convolve(struct import *im, const struct window *w, struct accel_conv_desc d,
			 uint32_t a, uint32_t b, uint32_t bias)
{
	uint32_t i, skip = w->n == 3, out = NO_VALUE;

	if (im->error.code || a == NO_VALUE || b == NO_VALUE)
		return NO_VALUE;
	for (i = 0; i + skip < w->n; i++) {
		d.stride[i] = w->stride[i + skip];
		d.dilation[i] = w->dilation[i + skip];
		d.pad_before[i] = w->before[i + skip];
		d.pad_after[i] = w->after[i + skip];
	}
	i = bias == NO_VALUE ? 3 : 4;
	return im_node(im, &d.hdr, ARGS({ ACCEL_ARG_A, a }, { ACCEL_ARG_B, b },
					{ ACCEL_ARG_BIAS, bias }), i, &out) ? NO_VALUE : out;
}

/* Planes [N D, C, H, W] as [N, C, D, H, W]; @batch: N and D in a list */
static uint32_t volumes(struct import *im, uint32_t planes, uint32_t batch)
{
	static const uint32_t order[] = { 0, 2, 1, 3, 4 };
	uint32_t shape[] = { batch, v_shape_of(im, planes, 1, INT64_MAX) };

	return v_transpose(im, v_reshape(im, planes, 2, shape), order);
}

/*
 * In three dimensions: the planes that lie behind each other in a window become channels of
 * one, and so do those of the weights.
 */
static uint32_t convolve_planes(struct import *im, const struct window *w,
				const struct accel_conv_desc *d, uint32_t a, uint32_t b,
				uint32_t bias)
{
	static const uint32_t order[] = { 0, 3, 2, 1, 4, 5 };
	struct accel_pad_desc pad = ACCEL_PAD_DESC_INIT;
	uint32_t k, list[65], depth = w->kernel[0], n = 0, shape[4];
	const int64_t planes = depth;
	uint32_t batch[2], outer;

	if (depth > ARRAY_SIZE(list) - 1) {
		im_fail(im, -EOPNOTSUPP, "a kernel of %u planes", depth);
		return NO_VALUE;
	}
	pad.before[2] = w->before[0];
	pad.after[2] = w->after[0];
	if ((pad.before[2] || pad.after[2]) && !im->error.code && a != NO_VALUE &&
	    im_one(im, &pad.hdr, a, &a))
		return NO_VALUE;
	for (k = 0; k < depth; k++) {
		int64_t behind = (int64_t)(depth - 1 - k) * w->dilation[0];

		list[n++] = v_slice(im, a, 2, (int64_t)k * w->dilation[0],
				    behind ? -behind : INT64_MAX, w->stride[0]);
	}
	/* [N, planes of a window, C, D, H, W] */
	k = v_concat(im, 1, n, list);
	shape[0] = v_shape_of(im, a, 0, 1);
	shape[1] = v_ints(im, 1, &planes);
	shape[2] = v_shape_of(im, a, 1, 2);
	shape[3] = v_shape_of(im, k, 2, INT64_MAX);
	batch[0] = shape[0];
	batch[1] = v_shape_of(im, k, 2, 3);
	outer = v_concat(im, 0, 2, batch);
	k = v_transpose(im, v_reshape(im, k, 4, shape), order);
	/* All sizes are told: of no images what is left is not. */
	shape[0] = v_reduce(im, ACCEL_REDUCE_PROD, 0, 1, outer);
	shape[1] = v_with(im, ACCEL_BINARY_MUL, shape[2], depth);
	shape[2] = v_shape_of(im, a, 3, INT64_MAX);
	k = v_reshape(im, k, 3, shape);
	shape[0] = v_shape_of(im, b, 0, 1);
	shape[1] = v_with(im, ACCEL_BINARY_MUL, v_shape_of(im, b, 1, 2), depth);
	shape[2] = v_shape_of(im, b, 3, INT64_MAX);
	b = v_reshape(im, b, 3, shape);
	return volumes(im, convolve(im, w, *d, k, b, bias), outer);
}

/*
 * Weights whose size is a symbol have the one that kernel_shape says, if it does: others fail when
 * it runs.
 */
static int size_weights(struct import *im, uint32_t n)
{
	const struct attr *a = im_attr(im, "kernel_shape", ATTR_INTS);
	struct accel_shape_desc d = ACCEL_SHAPE_DESC_INIT(ACCEL_SHAPE_PIECE);
	uint32_t w = im->in[1].value, i, list;
	int ret = 0;

	d.count = 1;
	for (i = 0; a && a->int_count == n && i < n && !ret; i++) {
		if (!im_is_symbol(im, 1, 2 + i))
			continue;
		d.axis = 2 + (int32_t)i;
		ret = im_list(im, 1, &a->ints[i], &list);
		if (!ret)
			ret = im_two(im, &d.hdr, w, list, &w);
	}
	return ret || w == im->in[1].value ? ret : im_ref(im, w, &im->in[1]);
}

/* The window and the groups of a convolution of inputs @x and @f */
static int read_conv(struct import *im, const struct ref *x, const struct ref *f,
		     struct window *w, struct accel_conv_desc *d)
{
	bool same = im_string(im, "auto_pad", "SAME_UPPER") ||
		    im_string(im, "auto_pad", "SAME_LOWER");
	int64_t groups = im_int(im, "group", 1);
	uint32_t i;
	int ret;

	w->n = x->rank - 2;
	if (x->rank < 3 || x->rank > 5 || f->rank != x->rank)
		return im_fail(im, -EOPNOTSUPP, "%u dimensions, weights of %u", x->rank, f->rank);
	ret = size_weights(im, w->n);
	for (i = 0; i < w->n; i++)
		w->kernel[i] = (uint32_t)f->dims[2 + i];
	if (!ret)
		ret = read_window(im, w, false);
	if (!ret && (groups < 1 || groups > 1 << 20))
		ret = im_fail(im, -EBADMSG, "%lld groups", (long long)groups);
	for (i = 0; i < w->n && !ret; i++)
		if (w->kernel[i] != f->dims[2 + i])
			ret = im_fail(im, -EBADMSG, "kernel_shape is not that of the weights");
		else if ((w->n == 3 || same) && im_is_symbol(im, 1, 2 + i))
			ret = im_fail(im, -EOPNOTSUPP, "weights whose size is a symbol");
	d->groups = (uint32_t)groups;
	return ret;
}

static uint32_t any_conv(struct import *im, const struct window *w,
			 const struct accel_conv_desc *d, uint32_t a, uint32_t b, uint32_t bias)
{
	return w->n == 3 ? convolve_planes(im, w, d, a, b, bias) : convolve(im, w, *d, a, b, bias);
}

static int conv(struct import *im, uint32_t arg)
{
	struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;
	struct window w = { 0 };
	uint32_t a = v_in(im, 0);
	int ret = im_need(im, 2);

	(void)arg;
	if (!ret)
		ret = read_conv(im, &im->in[0], &im->in[1], &w, &d);
	if (!ret && w.late)
		a = v_same_padded(im, &w, a, 0);
	return ret ? ret : v_give(im, 0, any_conv(im, &w, &d, a, v_in(im, 1), v_in(im, 2)));
}

/* A zero point of one number that is constant, or none */
static bool constant_zero(const struct ref *zero, int32_t *number)
{
	*number = 0;
	if (!zero->here)
		return true;
	if (!zero->data || (zero->rank && (zero->rank > 1 || zero->dims[0] != 1)))
		return false;
	*number = zero->type == ACCEL_S8 ? *(const int8_t *)zero->data :
		  *(const uint8_t *)zero->data;
	return true;
}

/* A with its zero point, which is not known, around it, so that no padding is left */
static uint32_t surround(struct import *im, struct window *w, uint32_t a, uint32_t zero)
{
	struct accel_pad_desc pad = ACCEL_PAD_DESC_INIT;
	uint32_t i, inside, some = 0;

	for (i = 0; i < w->n; i++) {
		pad.before[2 + i] = w->before[i];
		pad.after[2 + i] = w->after[i];
		some |= w->before[i] | w->after[i];
		w->before[i] = w->after[i] = 0;
	}
	if (!some || im->error.code || a == NO_VALUE)
		return a;
	inside = v_fill(im, v_type(im, a), v_shape_of(im, a, 0, INT64_MAX), 1);
	if (im->error.code || im_one(im, &pad.hdr, a, &a) || im_one(im, &pad.hdr, inside, &inside))
		return NO_VALUE;
	return v_select(im, v_cast(im, inside, ACCEL_HOST_BOOL), a, zero);
}

/*
 * Bytes: (a - p) * (f - q) summed, in S32. Zero points that are not constant numbers are taken
 * off in the end: p times the sum of a filter, then q times the sum of what it sees.
 */
static int conv_integer(struct import *im, uint32_t arg)
{
	static const struct ref absent;
	const struct ref *p = im->in_count > 2 ? &im->in[2] : &absent;
	const struct ref *q = im->in_count > 3 ? &im->in[3] : &absent;
	struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;
	uint32_t a = v_in(im, 0), f = v_in(im, 1), y, sum, zero = NO_VALUE, channel;
	int64_t list[3] = { 1, 2, 3 };
	bool lone_p, lone_q;
	struct window w = { 0 };
	int32_t za = 0, zf = 0;
	int ret = im_need(im, 2);

	(void)arg;
	if (!ret)
		ret = read_conv(im, &im->in[0], &im->in[1], &w, &d);
	if (!ret && w.late)
		ret = im_fail(im, -EOPNOTSUPP, "auto_pad of an input whose size is a symbol");
	if (ret)
		return ret;
	d.d.dtype = ACCEL_S32;
	lone_p = constant_zero(p, &za);
	lone_q = constant_zero(q, &zf);
	if (!lone_p) {
		zero = p->value;
		if (p->rank)
			zero = v_shaped_to(im, ACCEL_SHAPE_RESHAPE, zero, 0, NULL);
		a = surround(im, &w, a, zero);
		zero = v_cast(im, zero, ACCEL_S32);
	} else if (za && w.n == 3) {
		/* Planes around it would be zeros that the point does not count. */
		a = surround(im, &w, a, p->value);
	}
	im_less(&d.a, za);
	if (lone_q)
		im_less(&d.b, zf);
	y = any_conv(im, &w, &d, a, f, NO_VALUE);
	channel = v_cast(im, f, ACCEL_S32);
	if (lone_q && zf)
		channel = v_with(im, ACCEL_BINARY_SUB, channel, zf);
	if (!lone_p) {
		/* [M, 1, ...] of all that a filter has, as [M, 1, ...] without its inputs */
		sum = v_reduce(im, ACCEL_REDUCE_SUM, 0, ((1u << w.n) - 1) << 2 | 2, channel);
		sum = v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, sum, 1, list);
		sum = v_binary(im, ACCEL_BINARY_MUL, sum, zero);
		y = v_binary(im, ACCEL_BINARY_SUB, y, sum);
	}
	if (!lone_q) {
		sum = v_fill(im, ACCEL_S8, v_shape_of(im, f, 0, INT64_MAX), 1);
		d.b.quant.scheme = 0;
		sum = any_conv(im, &w, &d, a, sum, NO_VALUE);
		if (!lone_p) {
			/* The sum of all taps, of a group's channels each */
			channel = v_reduce(im, ACCEL_REDUCE_PROD, 0, 1,
					   v_shape_of(im, f, 1, INT64_MAX));
			channel = v_binary(im, ACCEL_BINARY_MUL, v_cast(im, channel, ACCEL_S32),
					   zero);
			sum = v_binary(im, ACCEL_BINARY_SUB, sum, channel);
		}
		zero = v_cast(im, q->value, ACCEL_S32);
		if (q->rank)
			zero = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, zero, w.n, list);
		y = v_binary(im, ACCEL_BINARY_SUB, y, v_binary(im, ACCEL_BINARY_MUL, sum, zero));
	}
	return v_give(im, 0, y);
}

/* --- transposed ---------------------------------------------------------------------------- */

/* Planes that lie @step apart, then moved by @before, with zeros around up to @after */
static uint32_t spread(struct import *im, uint32_t a, uint32_t step, int64_t before, int64_t after)
{
	struct accel_pad_desc apart = ACCEL_PAD_DESC_INIT, around = ACCEL_PAD_DESC_INIT;
	const int64_t three = 3, ends[] = { before, after }, axis = 2;
	uint32_t shape[3], list, along;

	/* [N, M, D, rest] */
	shape[0] = v_shape_of(im, a, 0, 2);
	shape[1] = v_with(im, ACCEL_BINARY_MUL, v_shape_of(im, a, 2, 3), step);
	shape[2] = v_shape_of(im, a, 3, 4);
	a = v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, a, 1, &three);
	apart.after[3] = step - 1;
	if (step > 1 && !im->error.code && a != NO_VALUE && im_one(im, &apart.hdr, a, &a))
		return NO_VALUE;
	a = v_reshape(im, a, 3, shape);
	list = v_ints(im, 2, ends);
	along = v_ints(im, 1, &axis);
	if (im->error.code || a == NO_VALUE || list == NO_VALUE || along == NO_VALUE)
		return NO_VALUE;
	return im_node(im, &around.hdr, ARGS({ ACCEL_ARG_A, a }, { ACCEL_ARG_B, list },
					     { ACCEL_ARG_AUX0, along }), 4, &a) ? NO_VALUE : a;
}

/*
 * In three dimensions: each plane makes as many as a kernel has, as channels; those that lie in
 * the same place are added. @more: planes that nothing reaches, at the end
 */
static uint32_t transpose_planes(struct import *im, const struct window *w,
				 const struct accel_conv_desc *d, int64_t more)
{
	static const uint32_t order[] = { 0, 2, 1, 3, 4 };
	uint32_t a = v_in(im, 0), b = v_in(im, 1), k, y, sum = NO_VALUE, shape[5], size;
	const int64_t minus = -1, depth = w->kernel[0], three = 3;

	shape[0] = v_shape_of(im, b, 0, 1);
	shape[1] = v_ints(im, 1, &minus);
	shape[2] = v_shape_of(im, b, 3, INT64_MAX);
	b = v_reshape(im, b, 3, shape);
	shape[0] = shape[1];
	shape[1] = v_shape_of(im, a, 1, 2);
	shape[2] = v_shape_of(im, a, 3, INT64_MAX);
	y = convolve(im, w, *d, v_reshape(im, v_transpose(im, a, order), 3, shape), b, NO_VALUE);
	size = v_shape_of(im, y, 2, INT64_MAX);
	/* [N, D, M, planes of a kernel, rest] as [N, M, D, planes, rest] */
	shape[1] = v_with(im, ACCEL_BINARY_QUOT, v_shape_of(im, y, 1, 2), (double)depth);
	shape[2] = v_shape_of(im, a, 0, 1);
	shape[3] = v_shape_of(im, a, 2, 3);
	shape[0] = v_concat(im, 0, 2, shape + 2);
	shape[2] = v_ints(im, 1, &depth);
	shape[3] = v_reduce(im, ACCEL_REDUCE_PROD, 0, 1, size);
	y = v_transpose(im, v_reshape(im, y, 4, shape), order);
	for (k = 0; k < depth && !im->error.code; k++) {
		int64_t before = (int64_t)k * w->dilation[0] - w->before[0];
		int64_t after = (depth - 1 - k) * w->dilation[0] + 1 - w->stride[0] -
				w->after[0] + more;

		b = v_shaped_to(im, ACCEL_SHAPE_SQUEEZE, v_slice(im, y, 3, k, k + 1, 1), 1, &three);
		b = spread(im, b, w->stride[0], before, after);
		sum = k ? v_binary(im, ACCEL_BINARY_ADD, sum, b) : b;
	}
	shape[0] = v_shape_of(im, sum, 0, 3);
	shape[1] = size;
	return v_reshape(im, sum, 2, shape);
}

/*
 * Results beyond those that the padding leaves are products with zeros: the input has them
 * behind its end. The shape is given, or follows from the padding; where it is given, or as
 * many as inputs times the stride, the padding is what is over.
 */
static int conv_transpose(struct import *im, uint32_t arg)
{
	const struct attr *given = im_attr(im, "output_shape", ATTR_INTS);
	const struct attr *extra = im_attr(im, "output_padding", ATTR_INTS);
	bool upper = im_string(im, "auto_pad", "SAME_UPPER");
	bool same = upper || im_string(im, "auto_pad", "SAME_LOWER");
	struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;
	int64_t groups = im_int(im, "group", 1), cut[3] = { 0 };
	const int64_t *sizes;
	struct window w = { 0 };
	uint32_t i, out, bias = v_in(im, 2);
	struct accel_pad_desc pad = ACCEL_PAD_DESC_INIT;
	const int64_t axes[] = { 1, 2, 3 };
	int ret = im_need(im, 2);

	(void)arg;
	if (ret)
		return ret;
	w.n = im->in[0].rank - 2;
	if (im->in[0].rank < 3 || im->in[0].rank > 5 || im->in[1].rank != im->in[0].rank)
		return im_fail(im, -EOPNOTSUPP, "%u dimensions, weights of %u", im->in[0].rank,
			       im->in[1].rank);
	if (groups < 1 || groups > 1 << 20)
		return im_fail(im, -EBADMSG, "%lld groups", (long long)groups);
	/* Lists of nothing are none. */
	given = given && given->int_count ? given : NULL;
	extra = extra && extra->int_count ? extra : NULL;
	/* Old files say batch and channels too. */
	sizes = given ? given->ints : NULL;
	if (given && given->int_count == w.n + 2) {
		if ((!im_is_symbol(im, 0, 0) && sizes[0] != im->in[0].dims[0]) ||
		    (!im_is_symbol(im, 1, 1) && sizes[1] != im->in[1].dims[1] * groups))
			return im_fail(im, -EBADMSG, "output_shape has not its batch and channels");
		sizes += 2;
	} else if (given && given->int_count != w.n) {
		return im_fail(im, -EBADMSG, "output_shape has not %u numbers", w.n);
	}
	if (extra && extra->int_count != w.n)
		return im_fail(im, -EBADMSG, "output_padding has not %u numbers", w.n);
	ret = size_weights(im, w.n);
	for (i = 0; i < w.n; i++)
		w.kernel[i] = (uint32_t)im->in[1].dims[2 + i];
	if (!ret)
		ret = read_window(im, &w, true);
	if (ret)
		return ret;
	if (w.n == 3 && w.kernel[0] > 64)
		return im_fail(im, -EOPNOTSUPP, "a kernel of %u planes", w.kernel[0]);
	d.flags = ACCEL_CONV_TRANSPOSED;
	d.groups = (uint32_t)groups;
	for (i = 0; i < w.n; i++)
		if (w.kernel[i] != im->in[1].dims[2 + i] ||
		    (extra && (extra->ints[i] < 0 || extra->ints[i] > 65536)) ||
		    (sizes && (sizes[i] < 0 || sizes[i] > UINT32_MAX)))
			return im_fail(im, -EBADMSG, "dimension %u has no such kernel or size", i);
	for (i = 0; i < w.n; i++) {
		int64_t more = extra ? extra->ints[i] : 0, over, shape;
		int64_t in = im->in[0].dims[2 + i];
		int64_t extent = ((int64_t)w.kernel[i] - 1) * w.dilation[i] + 1;
		int64_t whole = (in - 1) * w.stride[i] + extent;

		/* What is over of as many as inputs times the stride is the same for each size. */
		if (given && im_is_symbol(im, 0, 2 + i))
			return im_fail(im, -EOPNOTSUPP, "output_shape of an input whose size is a symbol");
		if ((same || given || w.n == 3) && im_is_symbol(im, 1, 2 + i))
			return im_fail(im, -EOPNOTSUPP, "weights whose size is a symbol");
		if (same || given) {
			shape = sizes ? sizes[i] : in * w.stride[i];
			over = whole + more - shape;
			over = over < 0 ? 0 : over;
			if (over > UINT32_MAX)
				return im_fail(im, -EOPNOTSUPP, "padding of %lld", (long long)over);
			w.before[i] = (uint32_t)(upper ? over / 2 : over - over / 2);
			w.after[i] = (uint32_t)(over - w.before[i]);
			more = shape - (whole - w.before[i] - w.after[i]);
		}
		/* More behind: less is cut off there, or what no input reaches is added. */
		if (more < 0 || more > 65536)
			return im_fail(im, -EOPNOTSUPP, "%lld results more", (long long)more);
		if (w.after[i] >= more) {
			w.after[i] -= (uint32_t)more;
		} else {
			cut[i] = more - w.after[i];
			w.after[i] = 0;
		}
	}
	if (w.n < 3 && !cut[0] && !cut[1])
		return v_give(im, 0, convolve(im, &w, d, v_in(im, 0), v_in(im, 1), bias));
	/* What no input reaches is the bias: zeros are put behind, then the bias is added. */
	if (w.n == 3)
		out = transpose_planes(im, &w, &d, cut[0]);
	else
		out = convolve(im, &w, d, v_in(im, 0), v_in(im, 1), NO_VALUE);
	for (i = w.n == 3; i < w.n; i++)
		pad.after[2 + i] = cut[i];
	if (!im->error.code && out != NO_VALUE)
		ret = im_one(im, &pad.hdr, out, &out);
	if (!ret && bias != NO_VALUE)
		out = v_binary(im, ACCEL_BINARY_ADD, out,
			       v_shaped_to(im, ACCEL_SHAPE_UNSQUEEZE, bias, w.n, axes));
	return ret ? ret : v_give(im, 0, out);
}

const struct op onnx_conv[] = {
	{ "Conv", conv, 0 }, { "ConvInteger", conv_integer, 0 },
	{ "ConvTranspose", conv_transpose, 0 }, { 0 }
};
