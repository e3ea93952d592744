// SPDX-License-Identifier: MIT
/*
 * Pools and resampling.
 */
#include <math.h>
#include <string.h>

#include "run.h"

static struct value *pool(struct run *r, uint32_t func, uint32_t flags, const struct window *w,
			  struct value *a)
{
	struct accel_pool_desc d = ACCEL_POOL_DESC_INIT;
	int64_t dims[MAX_RANK];
	struct value *v;
	uint32_t i;

	if (!usable(r, a))
		return NULL;
	memcpy(dims, a->dims, sizeof(dims));
	for (i = 0; i + 2 < a->rank; i++)
		dims[2 + i] = w ? window_count(w, i, a->dims[2 + i], flags & ACCEL_POOL_CEIL) : 1;
	for (i = 0; w && i < w->n; i++) {
		d.kernel[i] = (uint32_t)w->kernel[i];
		d.stride[i] = (uint32_t)w->stride[i];
		d.dilation[i] = (uint32_t)w->dilation[i];
		d.pad_begin[i] = (uint32_t)w->before[i];
		d.pad_end[i] = (uint32_t)w->after[i];
	}
	v = new_value(r, a->type, a->rank, dims);
	d.func = func;
	d.flags = flags;
	if (!tensor_of(r, &d.a, a) || !tensor_of(r, &d.d, v) || lib_run(r, &d.hdr))
		return NULL;
	return v;
}

static int do_pool(struct run *r, const struct op_map *m)
{
	struct value *a = r->in[0];
	uint32_t flags = 0;
	struct window w;

	if (!usable(r, a) || !window_of(r, &w, a, NULL))
		return r->ret;
	if (r->n_out > 1)
		return unsupported(r, "the indices of the largest");
	if (attr_int(r, "ceil_mode", 0))
		flags |= ACCEL_POOL_CEIL;
	if (m->arg == ACCEL_POOL_AVERAGE && attr_int(r, "count_include_pad", 0))
		flags |= ACCEL_POOL_COUNT_PAD;
	return give(r, 0, pool(r, m->arg, flags, &w, a));
}

static int do_global_pool(struct run *r, const struct op_map *m)
{
	if (usable(r, r->in[0]) && r->in[0]->rank < 3)
		return unsupported(r, "no spatial dimensions");
	return give(r, 0, pool(r, m->arg, ACCEL_POOL_GLOBAL, NULL, r->in[0]));
}

/*
 * x / (bias + alpha mean)^beta, where the mean is that of the squares of @size
 * channels, with zeros where there are none: an average over channels.
 */
static int do_lrn(struct run *r, const struct op_map *m)
{
	int64_t size = attr_int(r, "size", 1), dims[4] = { 1, 1, 1, 1 };
	double alpha = (double)attr_float(r, "alpha", 0.0001f);
	double beta = (double)attr_float(r, "beta", 0.75f);
	double bias = (double)attr_float(r, "bias", 1);
	struct value *a = r->in[0], *v;
	struct window w = { .n = 2 };
	uint32_t i;

	(void)m;
	if (!usable(r, a))
		return r->ret;
	if (a->rank < 2 || size < 1 || size > 65536)
		return unsupported(r, "%u dimensions, a size of %ld", a->rank, (long)size);
	for (i = 0; i < 2; i++) {
		w.kernel[i] = 1;
		w.stride[i] = 1;
		w.dilation[i] = 1;
	}
	w.kernel[0] = size;
	w.before[0] = (size - 1) / 2;
	w.after[0] = size - 1 - w.before[0];
	dims[0] = a->dims[0];
	dims[2] = a->dims[1];
	for (i = 2; i < a->rank; i++)
		dims[3] *= a->dims[i];
	v = lib_unary(r, ACCEL_UNARY_SQUARE, a);
	v = v ? relabel(r, v, v->type, 4, dims) : NULL;
	v = pool(r, ACCEL_POOL_AVERAGE, ACCEL_POOL_COUNT_PAD, &w, v);
	v = v ? relabel(r, v, v->type, a->rank, a->dims) : NULL;
	v = lib_plus(r, lib_times(r, v, alpha), bias);
	v = lib_binary(r, ACCEL_BINARY_POW, v, constant(r, T_FLOAT, beta));
	return give(r, 0, v ? lib_binary(r, ACCEL_BINARY_DIV, a, v) : NULL);
}

/* --- resampling -------------------------------------------------------------------- */

/**
 * struct word - a word of an attribute
 * @text: the word
 * @value: what the library calls it
 */
struct word {
	const char *text;
	uint32_t value;
};

static uint32_t word_of(struct run *r, const char *name, const struct word *words, uint32_t n,
			uint32_t otherwise)
{
	uint32_t i;

	if (!attr(r, name))
		return otherwise;
	for (i = 0; i < n; i++)
		if (attr_is(r, name, words[i].text, false))
			return words[i].value;
	unsupported(r, "another %s", name);
	return 0;
}

static const struct word modes[] = {
	{ "nearest", ACCEL_RESIZE_NEAREST }, { "linear", ACCEL_RESIZE_LINEAR },
	{ "cubic", ACCEL_RESIZE_CUBIC },
};

static const struct word coords[] = {
	{ "half_pixel", ACCEL_COORD_HALF_PIXEL }, { "asymmetric", ACCEL_COORD_ASYMMETRIC },
	{ "align_corners", ACCEL_COORD_ALIGN_CORNERS },
	{ "pytorch_half_pixel", ACCEL_COORD_PYTORCH_HALF_PIXEL },
};

static const struct word nearests[] = {
	{ "round_prefer_floor", ACCEL_NEAREST_HALF_DOWN },
	{ "round_prefer_ceil", ACCEL_NEAREST_HALF_UP },
	{ "floor", ACCEL_NEAREST_FLOOR }, { "ceil", ACCEL_NEAREST_CEIL },
};

/*
 * With scales, ONNX aligns the corners of a result whose size is not rounded:
 * o (in - 1) / (in s - 1), which is o over another scale.
 */
static void align_unrounded(struct accel_resize_desc *d, const struct value *a)
{
	bool whole = true;
	uint32_t i;
	double size;

	for (i = 0; i < a->rank; i++) {
		size = (double)a->dims[i] * d->scale[i];
		if (d->scale[i] != 1 && (size <= 1 || a->dims[i] < 2))
			return;
		whole = whole && size == floor(size);
	}
	if (whole)
		return;
	d->coord = ACCEL_COORD_ASYMMETRIC;
	for (i = 0; i < a->rank; i++)
		if (d->scale[i] != 1)
			d->scale[i] = ((double)a->dims[i] * d->scale[i] - 1) /
				      (double)(a->dims[i] - 1);
}

/* Sizes, or else scales, give the shape. */
static struct value *resize(struct run *r, struct accel_resize_desc *d, struct value *a,
			    struct value *scales, struct value *sizes)
{
	struct value *v, *given = sizes ? sizes : scales;
	int64_t dims[MAX_RANK];
	uint32_t i;

	if (!usable(r, a) || !usable(r, given))
		return NULL;
	if (a->rank > ACCEL_MAX_RANK || given->count != a->rank) {
		unsupported(r, "%u dimensions", a->rank);
		return NULL;
	}
	if (sizes)
		get_ints(r, sizes, dims, MAX_RANK);
	for (i = 0; !sizes && i < a->rank; i++) {
		d->scale[i] = get(scales, i);
		if (!(d->scale[i] > 0 && d->scale[i] < 65536)) {
			unsupported(r, "a scale of %g", d->scale[i]);
			return NULL;
		}
		dims[i] = (int64_t)((double)a->dims[i] * d->scale[i]);
	}
	if (!sizes && d->coord == ACCEL_COORD_ALIGN_CORNERS)
		align_unrounded(d, a);
	v = new_value(r, a->type, a->rank, dims);
	if (!tensor_of(r, &d->a, a) || !tensor_of(r, &d->d, v) || lib_run(r, &d->hdr))
		return NULL;
	return v;
}

static int do_resize(struct run *r, const struct op_map *m)
{
	struct accel_resize_desc d = ACCEL_RESIZE_DESC_INIT;
	struct value *scales = r->in[2], *sizes = r->in[3];

	(void)m;
	if (r->opset < 11)
		return unsupported(r, "its form before version 11");
	d.func = word_of(r, "mode", modes, ARRAY_SIZE(modes), ACCEL_RESIZE_NEAREST);
	d.coord = word_of(r, "coordinate_transformation_mode", coords, ARRAY_SIZE(coords),
			  ACCEL_COORD_HALF_PIXEL);
	if (d.func == ACCEL_RESIZE_NEAREST)
		d.nearest = word_of(r, "nearest_mode", nearests, ARRAY_SIZE(nearests),
				    ACCEL_NEAREST_HALF_DOWN);
	if (d.func == ACCEL_RESIZE_CUBIC) {
		d.flags = ACCEL_RESIZE_CUBIC_A;
		d.cubic = attr_float(r, "cubic_coeff_a", -0.75f);
		if (attr_int(r, "exclude_outside", 0))
			d.flags |= ACCEL_RESIZE_EXCLUDE;
	}
	if (r->ret)
		return r->ret;
	if (sizes && !sizes->count)
		sizes = NULL;
	if (!sizes && !scales)
		return broken(r, "neither scales nor sizes");
	return give(r, 0, resize(r, &d, r->in[0], scales, sizes));
}

static int do_upsample(struct run *r, const struct op_map *m)
{
	struct accel_resize_desc d = ACCEL_RESIZE_DESC_INIT;

	(void)m;
	if (r->opset < 9 || !r->in[1])
		return unsupported(r, "its form before version 9");
	d.func = word_of(r, "mode", modes, 2, ACCEL_RESIZE_NEAREST);
	d.coord = ACCEL_COORD_ASYMMETRIC;
	if (d.func == ACCEL_RESIZE_NEAREST)
		d.nearest = ACCEL_NEAREST_FLOOR;
	return give(r, 0, resize(r, &d, r->in[0], r->in[1], NULL));
}

const struct op_map ops_pool[] = {
	{ "MaxPool", do_pool, BY_LIBRARY, ACCEL_POOL_MAX, 0 },
	{ "AveragePool", do_pool, BY_LIBRARY, ACCEL_POOL_AVERAGE, 0 },
	{ "GlobalMaxPool", do_global_pool, BY_LIBRARY, ACCEL_POOL_MAX, 0 },
	{ "GlobalAveragePool", do_global_pool, BY_LIBRARY, ACCEL_POOL_AVERAGE, 0 },
	{ "LRN", do_lrn, BY_LIBRARY, 0, 0 },
	{ "Resize", do_resize, BY_LIBRARY, 0, 0 },
	{ "Upsample", do_upsample, BY_LIBRARY, 0, 0 },
	{ NULL, NULL, BY_LIBRARY, 0, 0 }
};
