// SPDX-License-Identifier: MIT
/*
 * Convolutions.
 */
#include <string.h>

#include "run.h"

static void set_window(struct run *r, struct accel_conv_desc *g, const struct window *w)
{
	uint32_t i;

	for (i = 0; i < w->n; i++) {
		g->stride[i] = (uint32_t)w->stride[i];
		g->dilation[i] = (uint32_t)w->dilation[i];
		g->pad_before[i] = (uint32_t)w->before[i];
		g->pad_after[i] = (uint32_t)w->after[i];
	}
	g->groups = (uint32_t)attr_int(r, "group", 1);
}

/* What all of them have: @g with operands, window and groups. */
static bool prepare(struct run *r, struct accel_conv_desc *g, const struct window *w,
		    struct value *a, struct value *b, struct value *v)
{
	if (w->n > 2) {
		unsupported(r, "%u spatial dimensions", w->n);
		return false;
	}
	set_window(r, g, w);
	return tensor_of(r, &g->a, a) && tensor_of(r, &g->b, b) && tensor_of(r, &g->d, v);
}

/* A result of the shape that the window gives */
static struct value *result(struct run *r, const struct window *w, struct value *a,
			    struct value *b, uint32_t type)
{
	int64_t dims[MAX_RANK];
	uint32_t i;

	if (b->rank != a->rank) {
		broken(r, "weights of %u dimensions for %u", b->rank, a->rank);
		return NULL;
	}
	dims[0] = a->dims[0];
	dims[1] = b->dims[0];
	for (i = 0; i < w->n; i++)
		dims[2 + i] = window_count(w, i, a->dims[2 + i], false);
	return new_value(r, type, a->rank, dims);
}

/* Plane @z of image @n, all channels: [1, C, height, width]; of weights those of all */
static struct view plane_of(struct value *v, int64_t n, int64_t z)
{
	struct view w = view_of(v), p = { .v = v, .rank = 4 };
	uint32_t i;

	p.offset = (n < 0 ? 0 : n * w.strides[0]) + z * w.strides[2];
	for (i = 0; i < 4; i++) {
		p.dims[i] = w.dims[i < 2 ? i : i + 1];
		p.strides[i] = w.strides[i < 2 ? i : i + 1];
	}
	if (n >= 0)
		p.dims[0] = 1;
	return p;
}

/* @y += convolution of plane @x with plane @f of the weights, by way of @t */
static void add_plane(struct run *r, const struct window *w, const struct view *x,
		      const struct view *f, const struct view *y, const struct view *t)
{
	struct accel_binary_desc add = ACCEL_BINARY_DESC_INIT;
	struct accel_conv_desc g = ACCEL_CONV_DESC_INIT;

	set_window(r, &g, w);
	if (!fill_tensor(r, &g.a, x) || !fill_tensor(r, &g.b, f) || !fill_tensor(r, &g.d, t) ||
	    lib_run(r, &g.hdr))
		return;
	add.func = ACCEL_BINARY_ADD;
	if (fill_tensor(r, &add.a, y) && fill_tensor(r, &add.b, t) && fill_tensor(r, &add.d, y))
		lib_run(r, &add.hdr);
}

/* In three spatial dimensions: the sum of convolutions in two, of planes with planes. */
static struct value *conv3(struct run *r, const struct window *w, struct value *a,
			   struct value *b, struct value *bias)
{
	struct value *v = result(r, w, a, b, a->type), *t;
	int64_t n, z, k, in, dims[4];
	struct window flat = { .n = 2 };
	struct view x, y, f, part;

	for (k = 0; k < 2; k++) {
		flat.stride[k] = w->stride[k + 1];
		flat.dilation[k] = w->dilation[k + 1];
		flat.before[k] = w->before[k + 1];
		flat.after[k] = w->after[k + 1];
	}
	if (!v)
		return NULL;
	dims[0] = 1;
	dims[1] = v->dims[1];
	dims[2] = v->dims[3];
	dims[3] = v->dims[4];
	t = new_value(r, a->type, 4, dims);
	v = lib_fill(r, v->type, v->rank, v->dims, 0);
	for (n = 0; v && t && n < a->dims[0]; n++)
		for (z = 0; z < v->dims[2]; z++)
			for (k = 0; k < b->dims[2] && !r->ret; k++) {
				in = z * w->stride[0] + k * w->dilation[0] - w->before[0];
				if (in < 0 || in >= a->dims[2])
					continue;
				x = plane_of(a, n, in);
				f = plane_of(b, -1, k);
				y = plane_of(v, n, z);
				part = view_of(t);
				add_plane(r, &flat, &x, &f, &y, &part);
			}
	if (!bias || !v || r->ret)
		return v;
	dims[0] = (int64_t)bias->count;
	dims[1] = 1;
	dims[2] = 1;
	dims[3] = 1;
	return lib_binary(r, ACCEL_BINARY_ADD, v, relabel(r, bias, bias->type, 4, dims));
}

static int do_conv(struct run *r, const struct op_map *m)
{
	struct accel_conv_desc g = ACCEL_CONV_DESC_INIT;
	struct value *a = r->in[0], *b = r->in[1], *v;
	struct window w;

	(void)m;
	if (!usable(r, a) || !usable(r, b) || !window_of(r, &w, a, b))
		return r->ret;
	if (w.n == 3 && b->rank == 5)
		return give(r, 0, conv3(r, &w, a, b, r->in[2]));
	v = result(r, &w, a, b, a->type);
	if (v && prepare(r, &g, &w, a, b, v) &&
	    (!r->in[2] || tensor_of(r, &g.epilogue.bias, r->in[2])))
		lib_run(r, &g.hdr);
	return give(r, 0, v);
}

/*
 * The shape is given, or follows from the padding. "same": as many as inputs
 * times the stride; the padding is what is over, more of it before unless
 * SAME_UPPER.
 */
static bool transposed_shape(struct run *r, struct window *w, const struct value *a,
			     int64_t *dims)
{
	int64_t shape[MAX_SPATIAL], extra[MAX_SPATIAL] = { 0 }, whole, over;
	uint32_t i, given = attr_ints(r, "output_shape", shape, MAX_SPATIAL);

	attr_ints(r, "output_padding", extra, MAX_SPATIAL);
	for (i = 0; i < w->n; i++) {
		whole = (a->dims[2 + i] - 1) * w->stride[i] +
			(w->kernel[i] - 1) * w->dilation[i] + 1;
		if (w->same && !given)
			shape[i] = a->dims[2 + i] * w->stride[i];
		if (!w->same && !given) {
			dims[2 + i] = whole + extra[i] - w->before[i] - w->after[i];
			continue;
		}
		over = whole + extra[i] - shape[i];
		over = over < 0 ? 0 : over;
		w->before[i] = w->same_upper ? over / 2 : over - over / 2;
		w->after[i] = over - w->before[i];
		dims[2 + i] = shape[i];
	}
	return !r->ret;
}

static int do_conv_transpose(struct run *r, const struct op_map *m)
{
	struct accel_conv_desc g = ACCEL_CONV_DESC_INIT;
	struct value *a = r->in[0], *b = r->in[1], *v;
	int64_t dims[MAX_RANK];
	struct window w;

	(void)m;
	if (!usable(r, a) || !usable(r, b) || !window_of(r, &w, a, b) ||
	    !transposed_shape(r, &w, a, dims))
		return r->ret;
	dims[0] = a->dims[0];
	dims[1] = b->dims[1] * attr_int(r, "group", 1);
	v = new_value(r, a->type, a->rank, dims);
	g.flags = ACCEL_CONV_TRANSPOSED;
	if (v && prepare(r, &g, &w, a, b, v) &&
	    (!r->in[2] || tensor_of(r, &g.epilogue.bias, r->in[2])))
		lib_run(r, &g.hdr);
	return give(r, 0, v);
}

/* Scale and zero point of an operand; channels of weights are those of dimension 0. */
static bool operand(struct run *r, struct accel_tensor *t, struct value *scale,
		    struct value *zero)
{
	if (!scale)
		scale = constant(r, T_FLOAT, 1);
	return quantise(r, t, scale, zero, 0);
}

static int do_conv_integer(struct run *r, const struct op_map *m)
{
	struct accel_conv_desc g = ACCEL_CONV_DESC_INIT;
	struct value *a = r->in[0], *b = r->in[1], *v;
	struct window w;

	(void)m;
	if (!usable(r, a) || !usable(r, b) || !window_of(r, &w, a, b))
		return r->ret;
	v = result(r, &w, a, b, T_INT32);
	if (v && prepare(r, &g, &w, a, b, v) && operand(r, &g.a, NULL, r->in[2]) &&
	    operand(r, &g.b, NULL, r->in[3]))
		lib_run(r, &g.hdr);
	return give(r, 0, v);
}

static int do_qlinear_conv(struct run *r, const struct op_map *m)
{
	struct accel_conv_desc g = ACCEL_CONV_DESC_INIT;
	struct value *a = r->in[0], *b = r->in[3], *v;
	struct window w;

	(void)m;
	if (!usable(r, a) || !usable(r, b) || !usable(r, r->in[7]) || !window_of(r, &w, a, b))
		return r->ret;
	if (r->in[8])
		return unsupported(r, "a bias in units of the product of the scales");
	v = result(r, &w, a, b, r->in[7]->type);
	if (v && prepare(r, &g, &w, a, b, v) && operand(r, &g.a, r->in[1], r->in[2]) &&
	    operand(r, &g.b, r->in[4], r->in[5]) && operand(r, &g.d, r->in[6], r->in[7]))
		lib_run(r, &g.hdr);
	return give(r, 0, v);
}

const struct op_map ops_conv[] = {
	{ "Conv", do_conv, BY_LIBRARY, 0, 0 },
	{ "ConvTranspose", do_conv_transpose, BY_LIBRARY, 0, 0 },
	{ "ConvInteger", do_conv_integer, BY_LIBRARY, 0, 0 },
	{ "QLinearConv", do_qlinear_conv, BY_LIBRARY, 0, 0 },
	{ NULL, NULL, BY_LIBRARY, 0, 0 }
};
