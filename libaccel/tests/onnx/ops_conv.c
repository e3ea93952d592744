// SPDX-License-Identifier: MIT
/*
 * Convolutions.
 */
#include <string.h>

#include "run.h"

/* What all of them have: @g with operands, window and groups. */
static bool prepare(struct run *r, struct accel_conv_desc *g, const struct window *w,
		    struct value *a, struct value *b, struct value *v)
{
	uint32_t i;

	if (w->n > 2) {
		unsupported(r, "%u spatial dimensions", w->n);
		return false;
	}
	for (i = 0; i < w->n; i++) {
		g->stride[i] = (uint32_t)w->stride[i];
		g->dilation[i] = (uint32_t)w->dilation[i];
		g->pad_before[i] = (uint32_t)w->before[i];
		g->pad_after[i] = (uint32_t)w->after[i];
	}
	g->groups = (uint32_t)attr_int(r, "group", 1);
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

static int do_conv(struct run *r, const struct op_map *m)
{
	struct accel_conv_desc g = ACCEL_CONV_DESC_INIT;
	struct value *a = r->in[0], *b = r->in[1], *v;
	struct window w;

	(void)m;
	if (!usable(r, a) || !usable(r, b) || !window_of(r, &w, a, b))
		return r->ret;
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
