// SPDX-License-Identifier: MIT
/*
 * Pooling and resampling: windows with padding, dilation and half of them
 * outside, NCHW and NHWC, one to three dimensions; every way to find a
 * coordinate.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "optest.h"
#include "libaccel/tests/oracle/oracle.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define ANY	-1

static const int pooled[] = { ACCEL_F32, ACCEL_F16, ACCEL_BF16, ACCEL_S8, ACCEL_U8 };

static enum op_style pick_style(struct op_case *c, bool output)
{
	return op_below(c, 2) ? OP_DENSE :
	       (enum op_style)op_below(c, output ? OP_REPEATED : OP_STYLES);
}

static uint32_t pick_dtype(struct op_case *c, int wanted)
{
	uint32_t any = (uint32_t)pooled[op_below(c, ARRAY_SIZE(pooled))];

	return wanted == ANY ? any : (uint32_t)wanted;
}

static void pick_quant(struct op_case *c, struct accel_tensor *t)
{
	if (t->dtype > ACCEL_BF16 && op_below(c, 2))
		op_quantise(c, t, ACCEL_QUANT_TENSOR, 0, 0, 0.02, op_below(c, 2));
}

/* --- pooling ------------------------------------------------------------------------ */

/**
 * struct pool_case - a pooling; -1: at random
 * @func: &enum accel_pool_func
 * @a: type of the input
 * @d: type of the result
 * @norm: of LP
 * @special: special values
 * @fixed: shape from the table below, else at random
 * @shape: index in it
 */
struct pool_case {
	int func;
	int a;
	int d;
	int norm;
	bool special;
	bool fixed;
	uint32_t shape;
};

/**
 * struct pool_shape - a window and what it goes over
 */
struct pool_shape {
	uint32_t rank;
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t flags;
	uint32_t kernel[3], stride[3], dilation[3], begin[3], end[3];
};

static const struct pool_shape pool_shapes[] = {
	{ 3, { 1, 1, 1 }, 0, { 1 }, { 0 }, { 0 }, { 0 }, { 0 } },
	{ 3, { 2, 3, 32 }, 0, { 2 }, { 2 }, { 0 }, { 0 }, { 0 } },
	{ 3, { 1, 2, 7 }, ACCEL_POOL_CEIL, { 3 }, { 2 }, { 0 }, { 0 }, { 0 } },
	{ 3, { 1, 1, 2100 }, 0, { 5 }, { 1 }, { 3 }, { 6 }, { 6 } },
	/* A last window that would start in the padding does not count. */
	{ 3, { 1, 2, 3 }, ACCEL_POOL_CEIL, { 1 }, { 2 }, { 0 }, { 0 }, { 2 } },
	{ 3, { 1, 2, 5 }, ACCEL_POOL_CEIL, { 3 }, { 3 }, { 2 }, { 1 }, { 1 } },
	{ 4, { 1, 1, 4, 4 }, 0, { 3, 3 }, { 1, 1 }, { 0 }, { 0 }, { 0 } },
	{ 4, { 2, 3, 8, 9 }, 0, { 3, 2 }, { 2, 1 }, { 0 }, { 1, 0 }, { 1, 1 } },
	{ 4, { 1, 3, 13, 11 }, 0, { 3, 3 }, { 2, 3 }, { 2, 3 }, { 2, 1 }, { 0, 4 } },
	{ 4, { 1, 5, 7, 7 }, ACCEL_POOL_GLOBAL, { 0 }, { 0 }, { 0 }, { 0 }, { 0 } },
	{ 4, { 1, 2, 131, 97 }, ACCEL_POOL_GLOBAL, { 0 }, { 0 }, { 0 }, { 0 }, { 0 } },
	/* More windows lie in the padding than do not. */
	{ 4, { 1, 1, 2, 3 }, 0, { 2, 2 }, { 1, 1 }, { 0 }, { 4, 3 }, { 4, 3 } },
	{ 4, { 0, 3, 8, 8 }, 0, { 2, 2 }, { 2, 2 }, { 0 }, { 0 }, { 0 } },
	{ 4, { 1, 3, 0, 4 }, 0, { 2, 2 }, { 1, 1 }, { 0 }, { 1, 1 }, { 1, 1 } },
	{ 5, { 1, 2, 5, 6, 7 }, 0, { 2, 3, 2 }, { 2, 1, 2 }, { 0 }, { 1, 1, 0 }, { 0, 1, 1 } },
	{ 5, { 2, 1, 4, 3, 5 }, ACCEL_POOL_GLOBAL, { 0 }, { 0 }, { 0 }, { 0 }, { 0 } },
	{ 5, { 1, 1, 6, 6, 6 }, ACCEL_POOL_CEIL, { 2, 2, 2 }, { 3, 3, 3 }, { 2, 2, 2 }, { 0 },
	  { 0 } },
	/* Channels for a block of kernels and more, or for less; more rows than go at once */
	{ 3, { 1, 70, 37 }, 0, { 3 }, { 2 }, { 2 }, { 1 }, { 2 } },
	{ 3, { 3, 65, 5 }, ACCEL_POOL_GLOBAL, { 0 }, { 0 }, { 0 }, { 0 }, { 0 } },
	{ 4, { 2, 65, 9, 11 }, ACCEL_POOL_CEIL, { 3, 3 }, { 2, 2 }, { 1, 2 }, { 1, 2 }, { 0, 1 } },
	{ 4, { 1, 130, 7, 7 }, ACCEL_POOL_GLOBAL, { 0 }, { 0 }, { 0 }, { 0 }, { 0 } },
	{ 4, { 2, 31, 6, 1 }, 0, { 2, 1 }, { 1, 1 }, { 0 }, { 3, 0 }, { 0, 1 } },
	{ 4, { 1, 64, 90, 52 }, 0, { 3, 2 }, { 2, 1 }, { 0 }, { 1, 1 }, { 1, 0 } },
	{ 5, { 2, 20, 5, 6, 7 }, 0, { 2, 3, 2 }, { 2, 1, 2 }, { 0 }, { 1, 1, 0 }, { 0, 1, 1 } },
};

static void random_shape(struct op_case *c, struct pool_shape *s)
{
	uint32_t spatial = 1 + op_below(c, 3), i;

	*s = (struct pool_shape){ .rank = 2 + spatial };
	s->dims[0] = 1 + op_below(c, 2);
	s->dims[1] = op_below(c, spatial < 3 ? 4 : 20) ? 1 + op_below(c, 5) : 30 + op_below(c, 99);
	s->flags = op_below(c, 3) ? 0 : ACCEL_POOL_CEIL;
	if (!op_below(c, 10))
		s->flags = ACCEL_POOL_GLOBAL;
	for (i = 0; i < spatial; i++) {
		int64_t extent;

		s->dims[2 + i] = spatial < 2 ? op_dim(c) : 1 + op_below(c, c->small ? 7 : 14);
		if (s->flags & ACCEL_POOL_GLOBAL)
			continue;
		s->kernel[i] = 1 + op_below(c, 4);
		s->stride[i] = op_below(c, 4);
		s->dilation[i] = op_below(c, 4);
		s->begin[i] = op_below(c, 4);
		s->end[i] = op_below(c, 4);
		extent = (s->dilation[i] ? s->dilation[i] : 1) * (s->kernel[i] - 1) + 1;
		if (s->dims[2 + i] + s->begin[i] + s->end[i] < extent)
			s->kernel[i] = 1;
	}
}

/* Windows along a dimension, by counting those that begin and end where they may. */
static int64_t windows(const struct pool_shape *s, uint32_t i)
{
	int64_t in = s->dims[2 + i], stride = s->stride[i] ? s->stride[i] : 1;
	int64_t extent = (s->dilation[i] ? s->dilation[i] : 1) * (s->kernel[i] - 1) + 1;
	int64_t at = -(int64_t)s->begin[i], n = 0;

	if (s->flags & ACCEL_POOL_GLOBAL)
		return 1;
	for (; at + extent <= in + s->end[i]; at += stride)
		n++;
	/* One that is not whole: something of it is left, and it begins within A. */
	if ((s->flags & ACCEL_POOL_CEIL) && at < in &&
	    at - stride + extent < in + s->end[i])
		n++;
	return n;
}

static const struct accel_desc *build_pool(struct op_case *c, const void *arg)
{
	struct accel_pool_desc *d = calloc(1, sizeof(*d));
	int64_t to[ACCEL_MAX_RANK];
	const struct pool_case *g = arg;
	struct pool_shape s;
	uint32_t i;

	assert_non_null(d);
	*d = (struct accel_pool_desc)ACCEL_POOL_DESC_INIT;
	if (g->fixed)
		s = pool_shapes[g->shape];
	else
		random_shape(c, &s);
	d->func = op_below(c, ACCEL_POOL_COUNT);
	if (g->func != ANY)
		d->func = (uint32_t)g->func;
	d->flags = s.flags;
	if (d->func == ACCEL_POOL_AVERAGE && op_below(c, 2))
		d->flags |= ACCEL_POOL_COUNT_PAD;
	if (d->func == ACCEL_POOL_LP)
		d->norm = g->norm == ANY ? 1 + op_below(c, 5) : (uint32_t)g->norm;
	memcpy(d->kernel, s.kernel, sizeof(s.kernel));
	memcpy(d->stride, s.stride, sizeof(s.stride));
	memcpy(d->dilation, s.dilation, sizeof(s.dilation));
	memcpy(d->pad_begin, s.begin, sizeof(s.begin));
	memcpy(d->pad_end, s.end, sizeof(s.end));
	for (i = 0; i < s.rank; i++)
		to[i] = i < 2 ? s.dims[i] : windows(&s, i - 2);
	c->special = g->special;
	c->range = 10;
	op_tensor(c, &d->a, pick_dtype(c, g->a), s.rank, s.dims, pick_style(c, false));
	op_tensor(c, &d->d, pick_dtype(c, g->d), s.rank, to, pick_style(c, true));
	pick_quant(c, &d->a);
	pick_quant(c, &d->d);
	d->hdr.engine = op_below(c, 2) ? op_below(c, ACCEL_ENGINE_COUNT) : 0;
	return &d->hdr;
}

static void test_pool_types(struct op_env *env)
{
	uint32_t i, j;
	int func;

	for (func = 0; func < ACCEL_POOL_COUNT; func++)
		for (i = 0; i < ARRAY_SIZE(pooled); i++)
			for (j = 0; j < ARRAY_SIZE(pooled); j++) {
				struct pool_case g = {
					.func = func, .a = pooled[i], .d = pooled[j],
					.norm = ANY, .special = true,
				};

				op_run(env, build_pool, &g,
				       1000u * (uint32_t)func + 10 * i + j, "pool types");
			}
}

static void test_pool_shapes(struct op_env *env)
{
	uint32_t i, j;
	int func;

	for (i = 0; i < ARRAY_SIZE(pool_shapes); i++)
		for (func = 0; func < ACCEL_POOL_COUNT; func++)
			for (j = 0; j < 3; j++) {
				struct pool_case g = {
					.func = func, .a = ACCEL_F32,
					.d = j == 2 ? ACCEL_F16 : ACCEL_F32,
					.norm = (int)j + 1, .fixed = true, .shape = i,
				};

				op_run(env, build_pool, &g, 5000 + 100 * i +
				       10u * (uint32_t)func + j, "pool shapes");
			}
}

static void test_pool_random(struct op_env *env)
{
	struct pool_case g = { .func = ANY, .a = ANY, .d = ANY, .norm = ANY, .special = true };

	op_random_cases(env, build_pool, &g, 500, 7);
}

/* --- resampling ------------------------------------------------------------------------ */

/**
 * struct resize_case - a resampling; -1: at random
 * @func: &enum accel_resize_func
 * @coord: &enum accel_resize_coord
 * @nearest: &enum accel_nearest
 * @a: type of the input
 * @d: type of the result
 * @from: of one dimension, when it is not 0
 * @to: of the result
 * @scale: given scale, or 0
 * @image: four dimensions, the last two resized; 2: channels lie behind them
 */
struct resize_case {
	int func;
	int coord;
	int nearest;
	int a;
	int d;
	int64_t from;
	int64_t to;
	double scale;
	int image;
};

/* Channels come behind the pixels in memory. */
static void channels_last(struct accel_tensor *t)
{
	t->flags |= ACCEL_TENSOR_STRIDES;
	t->strides[1] = 1;
	t->strides[3] = t->dims[1];
	t->strides[2] = t->strides[3] * t->dims[3];
	t->strides[0] = t->strides[2] * t->dims[2];
}

static int64_t resized(struct op_case *c, int64_t in)
{
	static const int64_t by[][2] = {
		{ 2, 1 }, { 1, 2 }, { 3, 1 }, { 1, 3 }, { 3, 2 }, { 2, 3 }, { 7, 5 }, { 1, 4 }
	};
	uint32_t i = op_below(c, ARRAY_SIZE(by) + 1);
	int64_t out = i < ARRAY_SIZE(by) ? in * by[i][0] / by[i][1] : 1 + op_below(c, 20);

	return out ? out : 1;
}

static void resize_dims(struct op_case *c, const struct resize_case *g,
			struct accel_resize_desc *d, int64_t *from, int64_t *to, uint32_t rank)
{
	uint32_t left = d->func == ACCEL_RESIZE_NEAREST ? 5 :
			d->func == ACCEL_RESIZE_LINEAR ? 3 : 2;
	uint32_t i;

	for (i = 0; i < rank; i++) {
		from[i] = rank < 3 ? op_dim(c) : 1 + op_below(c, 9);
		to[i] = from[i];
		if (left && op_below(c, 2)) {
			to[i] = resized(c, from[i]);
			left--;
			/* The same in a fraction. */
			if (op_below(c, 3) == 0)
				d->scale[i] = (double)to[i] / (double)from[i];
		}
	}
	if (g->from) {
		from[rank - 1] = g->from;
		to[rank - 1] = g->to;
		d->scale[rank - 1] = g->scale;
	}
	if (!op_below(c, 40))
		from[0] = to[0] = 0;
}

static const struct accel_desc *build_resize(struct op_case *c, const void *arg)
{
	static const uint32_t moved[] = {
		ACCEL_F32, ACCEL_F16, ACCEL_BF16, ACCEL_S32, ACCEL_S8, ACCEL_U8
	};
	struct accel_resize_desc *d = calloc(1, sizeof(*d));
	int64_t from[ACCEL_MAX_RANK], to[ACCEL_MAX_RANK];
	uint32_t rank = 1 + op_below(c, 5), a, t, i;
	const struct resize_case *g = arg;

	assert_non_null(d);
	*d = (struct accel_resize_desc)ACCEL_RESIZE_DESC_INIT;
	d->func = g->func == ANY ? op_below(c, ACCEL_RESIZE_COUNT) : (uint32_t)g->func;
	d->coord = g->coord == ANY ? op_below(c, ACCEL_COORD_COUNT) : (uint32_t)g->coord;
	if (d->func == ACCEL_RESIZE_NEAREST)
		d->nearest = g->nearest == ANY ? op_below(c, ACCEL_NEAREST_COUNT) :
						 (uint32_t)g->nearest;
	if (d->func == ACCEL_RESIZE_CUBIC) {
		d->flags = op_below(c, 4);
		if (d->flags & ACCEL_RESIZE_CUBIC_A)
			d->cubic = op_below(c, 2) ? -0.5f : (float)op_uniform(c, -1, 0);
	}
	if (g->from)
		rank = 1 + op_below(c, 2);
	if (g->image)
		rank = 4;
	resize_dims(c, g, d, from, to, rank);
	for (i = 0; i < rank && g->image; i++) {
		from[i] = i == 0 ? 2 : i == 1 ? 1 + op_below(c, 90) : 2 + op_below(c, 30);
		to[i] = i < 2 ? from[i] : resized(c, from[i]);
		d->scale[i] = 0;
	}
	a = pick_dtype(c, g->a);
	t = pick_dtype(c, g->d);
	if (d->func == ACCEL_RESIZE_NEAREST && g->a == ANY) {
		a = moved[op_below(c, 6)];
		t = op_below(c, 2) ? a : moved[op_below(c, 6)];
	}
	/* The sums of cubic convolution go beyond what they are of. */
	c->special = d->func != ACCEL_RESIZE_CUBIC;
	c->range = 20;
	op_tensor(c, &d->a, a, rank, from, g->image ? OP_DENSE : pick_style(c, false));
	op_tensor(c, &d->d, t, rank, to, g->image ? OP_DENSE : pick_style(c, true));
	if (g->image == 2) {
		channels_last(&d->a);
		channels_last(&d->d);
	}
	if (a != ACCEL_S32)
		pick_quant(c, &d->a);
	if (t != ACCEL_S32)
		pick_quant(c, &d->d);
	d->hdr.engine = op_below(c, 2) ? op_below(c, ACCEL_ENGINE_COUNT) : 0;
	return &d->hdr;
}

static void test_resize_ways(struct op_env *env)
{
	/*
	 * Up, down, to and from one element, and scales that the dimensions do not say; last those
	 * whose last element is beside A.
	 */
	static const struct {
		int64_t from, to;
		double scale;
	} sizes[] = {
		{ 4, 8, 0 }, { 4, 8, 2 }, { 8, 4, 0 }, { 5, 8, 1.7 }, { 7, 4, 0.6 }, { 1, 5, 0 },
		{ 5, 1, 0 }, { 1, 1, 0 }, { 3, 7, 0 }, { 1100, 3, 0 }, { 3, 1500, 0 },
		{ 6, 4, (float)0.8 }, { 9, 9, 0 }, { 9, 9, 1.05 },
		{ 10, 11, 1 }, { 10, 3, 0.2 }, { 10, 3, 0.25 }, { 2, 2, 0.5 },
		{ 2, 3, 1.0001 }, { 2, 3, 1.000003 },
	};
	int func, coord;
	uint32_t i, j;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (func = 0; func < ACCEL_RESIZE_COUNT; func++)
			for (coord = 0; coord < ACCEL_COORD_COUNT; coord++)
				for (j = 0; j < (func ? 1 : (uint32_t)ACCEL_NEAREST_COUNT); j++) {
					struct resize_case g = {
						.func = func, .coord = coord, .nearest = (int)j,
						.a = ACCEL_F32, .d = ACCEL_F32,
						.from = sizes[i].from, .to = sizes[i].to,
						.scale = sizes[i].scale,
					};

					op_run(env, build_resize, &g, 1000 * i +
					       100u * (uint32_t)func + 10u * (uint32_t)coord + j,
					       "resize ways");
				}
}

/* Images, channels first and last: lines of all lengths, more of them than a tile has. */
static void test_resize_images(struct op_env *env)
{
	uint32_t i;

	for (i = 0; i < 120; i++) {
		struct resize_case g = {
			.func = i % 3 ? ACCEL_RESIZE_LINEAR : ACCEL_RESIZE_NEAREST, .coord = ANY,
			.nearest = ANY, .a = pooled[i / 2 % ARRAY_SIZE(pooled)],
			.d = pooled[i / (i % 4 ? 2 : 5) % ARRAY_SIZE(pooled)], .image = 1 + i % 2,
		};

		if (env->small && i % 5)
			continue;
		op_run(env, build_resize, &g, 30000 + i, "resize images");
	}
}

static void test_resize_types(struct op_env *env)
{
	uint32_t i, j;
	int func;

	for (func = 0; func < ACCEL_RESIZE_COUNT; func++)
		for (i = 0; i < ARRAY_SIZE(pooled); i++)
			for (j = 0; j < ARRAY_SIZE(pooled); j++) {
				struct resize_case g = {
					.func = func, .coord = ANY, .nearest = ANY,
					.a = pooled[i], .d = pooled[j],
				};

				op_run(env, build_resize, &g,
				       20000 + 1000u * (uint32_t)func + 10 * i + j, "resize types");
			}
}

static void test_resize_random(struct op_env *env)
{
	struct resize_case g = { .func = ANY, .coord = ANY, .nearest = ANY, .a = ANY, .d = ANY };

	op_random_cases(env, build_resize, &g, 500, 8);
}

/* --- descriptors that are refused ---------------------------------------------------------- */

static void expect(struct op_env *env, const struct accel_desc *desc, const char *field)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_plan *plan = NULL;
	int ret;

	ret = accel_plan_create(env->ctx, desc, &plan);
	if (ret != -EINVAL)
		fail_msg("%s: %d instead of EINVAL", field, ret);
	accel_ctx_get_error(env->ctx, &e);
	assert_string_equal(e.field, field);
	assert_true(e.text[0]);
}

#define REFUSED(make, change, field) do {				\
	__typeof__(make) g = make;					\
	change;								\
	expect(env, &g.hdr, field);					\
} while (0)

static void test_refused(struct op_env *env)
{
	const int64_t in[] = { 1, 3, 8, 10 }, out[] = { 1, 3, 4, 5 };
	struct accel_pool_desc p = ACCEL_POOL_DESC_INIT;
	struct accel_resize_desc z = ACCEL_RESIZE_DESC_INIT;
	struct accel_plan *plan = NULL;

	p.a = accel_tensor_dense(NULL, ACCEL_F32, 4, in);
	p.d = accel_tensor_dense(NULL, ACCEL_F32, 4, out);
	p.kernel[0] = p.kernel[1] = p.stride[0] = p.stride[1] = 2;
	assert_int_equal(accel_plan_create(env->ctx, &p.hdr, &plan), 0);
	accel_plan_unref(plan);
	REFUSED(p, g.func = 3, "pool.func");
	REFUSED(p, g.flags = 8, "pool.flags");
	REFUSED(p, g.flags = ACCEL_POOL_COUNT_PAD, "pool.flags");
	REFUSED(p, g.norm = 2, "pool.norm");
	REFUSED(p, g.func = ACCEL_POOL_LP, "pool.norm");
	REFUSED(p, (g.func = ACCEL_POOL_LP, g.norm = 17), "pool.norm");
	REFUSED(p, g.pad = 1, "pool.pad");
	REFUSED(p, g.pad1 = 1, "pool.pad1");
	REFUSED(p, g.kernel[1] = 0, "pool.kernel[1]");
	REFUSED(p, g.kernel[1] = 11, "pool.a.dims[3]");
	REFUSED(p, g.kernel[0] = 3, "pool.d.dims[2]");
	REFUSED(p, g.kernel[2] = 1, "pool.kernel[2]");
	REFUSED(p, g.stride[1] = 3, "pool.d.dims[3]");
	REFUSED(p, g.stride[0] = 1u << 25, "pool.stride[0]");
	REFUSED(p, g.dilation[0] = 1u << 25, "pool.dilation[0]");
	REFUSED(p, g.pad_begin[1] = 1u << 25, "pool.pad_begin[1]");
	REFUSED(p, g.pad_end[1] = 1u << 25, "pool.pad_end[1]");
	REFUSED(p, g.pad_end[1] = 2, "pool.d.dims[3]");
	REFUSED(p, g.flags = ACCEL_POOL_GLOBAL, "pool.kernel[0]");
	REFUSED(p, g.a.dims[1] = 4, "pool.a.dims[1]");
	REFUSED(p, g.a.dtype = ACCEL_S32, "pool.a.dtype");
	REFUSED(p, g.d.dtype = ACCEL_S32, "pool.d.dtype");
	REFUSED(p, g.a.dtype = ACCEL_U4, "pool.a.dtype");
	REFUSED(p, (g.a.rank = 3, g.a.dims[3] = 0), "pool.a.rank");
	REFUSED(p, (g.a.rank = g.d.rank = 2, g.a.dims[2] = g.a.dims[3] = 0,
		    g.d.dims[2] = g.d.dims[3] = 0), "pool.d.rank");

	z.a = p.a;
	z.d = p.d;
	assert_int_equal(accel_plan_create(env->ctx, &z.hdr, &plan), 0);
	accel_plan_unref(plan);
	REFUSED(z, g.func = 3, "resize.func");
	REFUSED(z, g.flags = 4, "resize.flags");
	REFUSED(z, g.flags = ACCEL_RESIZE_EXCLUDE, "resize.flags");
	REFUSED(z, g.coord = 5, "resize.coord");
	REFUSED(z, g.nearest = 4, "resize.nearest");
	REFUSED(z, (g.func = ACCEL_RESIZE_LINEAR, g.nearest = 1), "resize.nearest");
	REFUSED(z, g.cubic = 1, "resize.cubic");
	REFUSED(z, (g.func = ACCEL_RESIZE_CUBIC, g.flags = ACCEL_RESIZE_CUBIC_A,
		    g.cubic = __builtin_nanf("")), "resize.cubic");
	REFUSED(z, g.pad = 1, "resize.pad");
	REFUSED(z, g.scale[4] = 1, "resize.scale[4]");
	REFUSED(z, g.scale[2] = -1, "resize.scale[2]");
	REFUSED(z, g.scale[2] = __builtin_inf(), "resize.scale[2]");
	REFUSED(z, g.scale[2] = 2, "resize.scale[2]");
	REFUSED(z, g.a.dtype = ACCEL_S4, "resize.a.dtype");
	REFUSED(z, (g.a.rank = 3, g.a.dims[3] = 0), "resize.a.rank");
	REFUSED(z, g.a.dims[3] = 0, "resize.a.dims[3]");
	REFUSED(z, (g.func = ACCEL_RESIZE_LINEAR, g.a.dims[0] = 2, g.a.dims[1] = 2), "resize.d.dims");
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "pool types", test_pool_types },
		{ "pool shapes", test_pool_shapes },
		{ "pool random", test_pool_random },
		{ "resize ways", test_resize_ways },
		{ "resize images", test_resize_images },
		{ "resize types", test_resize_types },
		{ "resize random", test_resize_random },
		{ "refused descriptors", test_refused },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
