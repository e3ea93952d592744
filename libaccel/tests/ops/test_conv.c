// SPDX-License-Identifier: MIT
/*
 * Convolutions: the table of types, kernels, strides, padding, groups, layouts,
 * algorithms, epilogues, quantisation, constant weights; then whatever comes up. In
 * one file, for all of them share how a case is made.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "libaccel/tests/guest.h"
#include "optest.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Multiply-adds of a random case, at most: the oracle is slow */
#define MAX_MACS	60000

#define ANY	-1

enum kind {
	KIND_FULL,		/* one group */
	KIND_GROUPS,		/* some */
	KIND_DEPTHWISE,		/* a group for each input channel */
	KINDS
};

enum epilogue {
	EPILOGUE_NONE,
	EPILOGUE_ANY,		/* whatever comes up */
	EPILOGUE_PLAIN,		/* bias and ReLU */
	EPILOGUE_TIES,		/* ReLU, bytes half way between two */
	EPILOGUE_RESIDUAL,	/* bias, a residual like the result, bounds */
	EPILOGUE_ACT,		/* bias, now and then a residual, any activation */
	EPILOGUES
};

/**
 * struct conv_case - a convolution; ANY: at random
 * @what: for messages
 * @type: index in types[]
 * @algorithm: &enum accel_conv_algorithm
 * @flags: ACCEL_CONV_*
 * @spatial: spatial dimensions
 * @kind: &enum kind
 * @n: images
 * @c: input channels
 * @m: output channels
 * @in: input, each dimension
 * @kernel: taps
 * @stride: stride
 * @dilation: dilation
 * @pad: before and after; ANY: unlike each other too
 * @engine: &enum accel_engine
 * @style: layout
 * @epilogue: &enum epilogue
 * @special: infinities and NaN in the input
 */
struct conv_case {
	const char *what;
	int type;
	int algorithm;
	int flags;
	int spatial;
	int kind;
	int n, c, m, in, kernel, stride, dilation, pad;
	int engine;
	int style;
	int epilogue;
	int special;
};

/* Every combination of &struct accel_conv_desc. */
static const struct {
	uint8_t a, b, d;
} types[] = {
	{ ACCEL_F32, ACCEL_F32, ACCEL_F32 }, { ACCEL_F16, ACCEL_F16, ACCEL_F16 },
	{ ACCEL_BF16, ACCEL_BF16, ACCEL_BF16 }, { ACCEL_S8, ACCEL_S8, ACCEL_S32 },
	{ ACCEL_U8, ACCEL_S8, ACCEL_U8 }, { ACCEL_S8, ACCEL_S8, ACCEL_S8 },
	{ ACCEL_F32, ACCEL_F32, ACCEL_F16 }, { ACCEL_F32, ACCEL_F32, ACCEL_BF16 },
	{ ACCEL_F16, ACCEL_F16, ACCEL_F32 }, { ACCEL_BF16, ACCEL_BF16, ACCEL_F32 },
	{ ACCEL_S8, ACCEL_S8, ACCEL_F32 }, { ACCEL_S8, ACCEL_S8, ACCEL_F16 },
	{ ACCEL_S8, ACCEL_S8, ACCEL_BF16 }, { ACCEL_S8, ACCEL_S8, ACCEL_U8 },
	{ ACCEL_U8, ACCEL_S8, ACCEL_S32 }, { ACCEL_U8, ACCEL_S8, ACCEL_F32 },
	{ ACCEL_U8, ACCEL_S8, ACCEL_F16 }, { ACCEL_U8, ACCEL_S8, ACCEL_S8 },
	{ ACCEL_S8, ACCEL_U8, ACCEL_S32 }, { ACCEL_S8, ACCEL_U8, ACCEL_F32 },
	{ ACCEL_S8, ACCEL_U8, ACCEL_S8 }, { ACCEL_S8, ACCEL_U8, ACCEL_U8 },
	{ ACCEL_U8, ACCEL_U8, ACCEL_S32 }, { ACCEL_U8, ACCEL_U8, ACCEL_F32 },
	{ ACCEL_U8, ACCEL_U8, ACCEL_BF16 }, { ACCEL_U8, ACCEL_U8, ACCEL_U8 },
	{ ACCEL_F32, ACCEL_S8, ACCEL_F32 }, { ACCEL_F16, ACCEL_S8, ACCEL_F16 },
	{ ACCEL_F16, ACCEL_S8, ACCEL_F32 }, { ACCEL_BF16, ACCEL_S8, ACCEL_BF16 },
	{ ACCEL_F32, ACCEL_S4, ACCEL_F32 }, { ACCEL_F16, ACCEL_S4, ACCEL_F16 },
	{ ACCEL_BF16, ACCEL_U4, ACCEL_BF16 }, { ACCEL_F32, ACCEL_U4, ACCEL_F32 },
};

static bool is_float(uint32_t dtype)
{
	return dtype <= ACCEL_BF16;
}

/* --- shapes -------------------------------------------------------------------- */

/**
 * struct shape - dimensions of a case
 */
struct shape {
	int64_t n, c, m, groups;
	int64_t in[2], out[2], kernel[2];
	uint32_t spatial;
};

static int64_t pick(struct op_case *c, int wanted, const uint8_t *list, uint32_t count)
{
	int64_t v = list[op_below(c, count)];

	return wanted == ANY ? v : wanted;
}

#define PICK(c, wanted, ...) \
	pick(c, wanted, (const uint8_t[]){ __VA_ARGS__ }, \
	     sizeof((const uint8_t[]){ __VA_ARGS__ }))

static int64_t macs_of(const struct shape *s)
{
	int64_t n = s->n * s->m * (s->c / s->groups);
	uint32_t i;

	for (i = 0; i < s->spatial; i++)
		n *= s->out[i] * s->kernel[i];
	return n;
}

static void choose_channels(struct op_case *c, const struct conv_case *g,
			    struct shape *s)
{
	int64_t kind = PICK(c, g->kind, KIND_FULL, KIND_FULL, KIND_GROUPS, KIND_DEPTHWISE);

	s->groups = 1;
	s->n = PICK(c, g->n, 1, 1, 2, 3);
	s->c = PICK(c, g->c, 1, 2, 3, 4, 7, 8, 16, 17, 33);
	s->m = PICK(c, g->m, 1, 2, 3, 5, 8, 9, 16, 17, 31, 40);
	if (kind == KIND_DEPTHWISE) {
		s->groups = s->c;
		s->m = s->c * PICK(c, g->m, 1, 1, 1, 2, 3);
	} else if (kind == KIND_GROUPS) {
		s->groups = 2 + op_below(c, 3);
		s->c *= s->groups;
		s->m *= s->groups;
	}
	if (g->n == ANY && !op_below(c, 60))
		s->n = 0;
	if (g->c == ANY && !op_below(c, 60))
		s->c = 0;
	if (g->m == ANY && !op_below(c, 60))
		s->m = 0;
}

/* The rest, and what follows for the result. */
static void choose_space(struct op_case *c, const struct conv_case *g,
			 struct accel_conv_desc *d, struct shape *s)
{
	bool transposed = d->flags & ACCEL_CONV_TRANSPOSED;
	uint32_t i;

	for (i = 0; i < s->spatial; i++) {
		int64_t stride, dilation, window, slack;

		s->in[i] = PICK(c, g->in, 1, 2, 3, 5, 7, 8, 11, 13, 17, 24);
		if (g->in == ANY && s->spatial == 1)
			s->in[i] *= 1 + op_below(c, 9);
		s->kernel[i] = PICK(c, g->kernel, 1, 1, 2, 3, 3, 3, 4, 5, 7);
		d->stride[i] = (uint32_t)PICK(c, g->stride, 0, 1, 1, 1, 2, 2, 3, 5);
		d->dilation[i] = (uint32_t)PICK(c, g->dilation, 0, 1, 1, 1, 2, 3);
		d->pad_before[i] = (uint32_t)PICK(c, g->pad, 0, 0, 1, 1, 2, 3, 6);
		d->pad_after[i] = (uint32_t)PICK(c, g->pad, 0, 0, 1, 1, 2, 3, 6);
		if (g->in == ANY && !op_below(c, 60))
			s->in[i] = 0;
		stride = d->stride[i] ? d->stride[i] : 1;
		dilation = d->dilation[i] ? d->dilation[i] : 1;
		window = (s->kernel[i] - 1) * dilation + 1;
		slack = stride > dilation ? stride : dilation;
		if (!transposed) {
			s->out[i] = s->in[i] + d->pad_before[i] + d->pad_after[i] - window;
			s->out[i] = s->out[i] < 0 ? 0 : s->out[i] / stride + 1;
			continue;
		}
		s->out[i] = s->in[i] ? (s->in[i] - 1) * stride + window -
			    d->pad_before[i] - d->pad_after[i] : 0;
		s->out[i] = s->out[i] < 0 ? 0 : s->out[i];
		s->out[i] += op_below(c, (uint32_t)slack);
	}
}

static void choose_shape(struct op_case *c, const struct conv_case *g,
			 struct accel_conv_desc *d, struct shape *s)
{
	int64_t limit = c->small ? MAX_MACS / 8 : MAX_MACS;

	s->spatial = (uint32_t)PICK(c, g->spatial, 2, 2, 2, 1);
	choose_channels(c, g, s);
	do {
		choose_space(c, g, d, s);
		/* Keep the oracle's time: fewer channels. */
		if (macs_of(s) > limit && g->c == ANY && g->m == ANY &&
		    s->c > s->groups) {
			s->c -= s->groups;
		} else if (macs_of(s) > limit && g->c == ANY && g->m == ANY &&
			   s->m > s->groups) {
			s->m -= s->groups;
		}
	} while (macs_of(s) > limit && (g->in == ANY || (g->c == ANY && g->m == ANY)));
	d->groups = s->groups == 1 && op_below(c, 2) ? 0 : (uint32_t)s->groups;
}

static uint32_t image_dims(const struct accel_conv_desc *d, const struct shape *s,
			   int64_t channels, const int64_t *space, int64_t *dims)
{
	bool last = d->flags & ACCEL_CONV_NHWC;
	uint32_t r = 0, i;

	dims[r++] = s->n;
	if (!last)
		dims[r++] = channels;
	for (i = 0; i < s->spatial; i++)
		dims[r++] = space[i];
	if (last)
		dims[r++] = channels;
	return r;
}

static uint32_t weight_dims(const struct accel_conv_desc *d, const struct shape *s,
			    int64_t *dims)
{
	bool transposed = d->flags & ACCEL_CONV_TRANSPOSED;
	uint32_t r = 0, i;

	dims[r++] = transposed ? s->c : s->m;
	dims[r++] = (transposed ? s->m : s->c) / s->groups;
	for (i = 0; i < s->spatial; i++)
		dims[r++] = s->kernel[i];
	return r;
}

/* --- quantisation ------------------------------------------------------------------ */

static void quantise(struct op_case *c, struct accel_conv_desc *d, const struct shape *s)
{
	bool exact = d->d.dtype == ACCEL_S32, zeros = op_below(c, 2);
	bool weights = is_float(d->a.dtype) && !is_float(d->b.dtype);
	uint32_t scheme;
	uint64_t depth = s->c / s->groups * s->kernel[0] * (s->spatial > 1 ? s->kernel[1] : 1);
	double root = 1;

	while (root * root < (double)depth)
		root++;
	if (!is_float(d->a.dtype)) {
		scheme = op_below(c, 2);
		op_quantise(c, &d->a, scheme, 0, 0, 0.02, zeros);
		if (exact && scheme)
			d->a.quant.scale = 1;
	}
	if (is_float(d->b.dtype))
		return;
	scheme = weights ? 1 + op_below(c, 2) : op_below(c, exact ? 2 : 3);
	op_quantise(c, &d->b, scheme, d->flags & ACCEL_CONV_TRANSPOSED ? 1 : 0, 0,
		    d->b.dtype >= ACCEL_S4 ? 0.1 : 0.01, zeros);
	/* A zero point that no byte has: sums may be beyond 32 bits. */
	if (zeros && scheme == ACCEL_QUANT_CHANNEL && !op_below(c, 6))
		memcpy((char *)accel_bo_ptr(d->b.quant.zeros) + d->b.quant.zeros_offset,
		       &(int32_t){ -30000000 }, 4);
	if (exact && scheme)
		d->b.quant.scale = 1;
	if (d->d.dtype == ACCEL_S8 || d->d.dtype == ACCEL_U8)
		op_quantise(c, &d->d, op_below(c, 2), 0, 0,
			    (d->a.quant.scheme && d->b.quant.scheme ? 0.03 : 50) * root,
			    zeros);
}

/* --- epilogue ------------------------------------------------------------------------ */

/* What is added or multiplied: a vector of channels, or a shape that broadcasts. */
static void add_operand(struct op_case *c, struct accel_tensor *t,
			const struct accel_conv_desc *d)
{
	static const uint8_t kinds[] = {
		ACCEL_F32, ACCEL_F16, ACCEL_BF16, ACCEL_S32, ACCEL_S8
	};
	uint32_t dtype = kinds[op_below(c, 5)], rank, i;
	uint32_t channel = d->flags & ACCEL_CONV_NHWC ? d->d.rank - 1 : 1;
	int64_t dims[ACCEL_MAX_RANK];

	/* int32 is for sums of integers. */
	if (dtype == ACCEL_S32 && is_float(d->a.dtype))
		dtype = ACCEL_F32;
	if (d->d.dtype == ACCEL_S32)
		dtype = ACCEL_S32;
	rank = op_below(c, 3) ? 1 : d->d.rank - op_below(c, 2);
	for (i = 0; i < rank; i++) {
		dims[i] = d->d.dims[d->d.rank - rank + i];
		if (dims[i] && !op_below(c, 3))
			dims[i] = 1;
	}
	if (rank == 1)
		dims[0] = d->d.dims[channel];
	op_tensor(c, t, dtype, rank, dims, (enum op_style)op_below(c, OP_STYLES));
	if (d->d.dtype != ACCEL_S32 && (dtype == ACCEL_S8 || dtype == ACCEL_S32))
		op_quantise(c, t, ACCEL_QUANT_TENSOR, 0, 0,
			    dtype == ACCEL_S8 ? 0.01 : 0.00001, dtype == ACCEL_S8);
}

static void add_epilogue(struct op_case *c, struct accel_conv_desc *d)
{
	bool exact = d->d.dtype == ACCEL_S32;
	uint32_t parts = op_below(c, 8);

	if ((parts & 1) && !exact)
		add_operand(c, &d->epilogue.scale, d);
	if (parts & 2)
		add_operand(c, &d->epilogue.bias, d);
	if (parts & 4)
		add_operand(c, op_below(c, 2) ? &d->epilogue.residual :
			    &d->epilogue.residual_post, d);
	op_activation(c, &d->epilogue, exact);
}

static void add_plain_epilogue(struct op_case *c, struct accel_conv_desc *d, bool ties)
{
	const uint32_t channel = d->flags & ACCEL_CONV_NHWC ? d->d.rank - 1 : 1;

	d->epilogue.act = ACCEL_ACT_RELU;
	if (!ties) {
		/* Some far from the sums, which may not lose anything to them. */
		c->range = op_below(c, 4) ? 0 : 0x1p24;
		op_tensor(c, &d->epilogue.bias, ACCEL_F32, 1, &d->d.dims[channel], OP_DENSE);
		c->range = 0;
		return;
	}
	if (is_float(d->d.dtype) || d->d.dtype == ACCEL_S32)
		return;
	/* A quotient is half the sum. */
	d->a.quant = (struct accel_quant){ .scheme = ACCEL_QUANT_TENSOR, .scale = 0.3f };
	d->b.quant = (struct accel_quant){ .scheme = ACCEL_QUANT_TENSOR, .scale = 0.25f };
	d->d.quant = (struct accel_quant){ .scheme = ACCEL_QUANT_TENSOR, .scale = 0.15f };
}

/* A residual before or behind ReLU, bounds, nothing or @any activation; of bytes, either sign. */
static void add_residual(struct op_case *c, struct accel_conv_desc *d, bool any)
{
	const uint32_t channel = d->flags & ACCEL_CONV_NHWC ? d->d.rank - 1 : 1;
	const bool bytes = d->d.dtype == ACCEL_S8 || d->d.dtype == ACCEL_U8;
	const uint32_t dtype = !bytes ? d->d.dtype : op_below(c, 2) ? ACCEL_S8 : ACCEL_U8;
	struct accel_tensor *t = op_below(c, 3) ? &d->epilogue.residual :
						  &d->epilogue.residual_post;

	if (d->d.dtype != ACCEL_S32)
		op_tensor(c, &d->epilogue.bias, ACCEL_F32, 1, &d->d.dims[channel], OP_DENSE);
	if (any && op_below(c, 3)) {
		op_activation(c, &d->epilogue, d->d.dtype == ACCEL_S32);
		return;
	}
	op_tensor(c, t, dtype, d->d.rank, d->d.dims, OP_DENSE);
	if (bytes)
		op_quantise(c, t, ACCEL_QUANT_TENSOR, 0, 0, d->d.quant.scheme ?
			    (double)d->d.quant.scale : 1, op_below(c, 2));
	if (any) {
		op_activation(c, &d->epilogue, d->d.dtype == ACCEL_S32);
		return;
	}
	d->epilogue.act = op_below(c, 2) ? ACCEL_ACT_RELU : ACCEL_ACT_NONE;
	if (op_below(c, 3) || d->d.dtype == ACCEL_S32)
		return;
	d->epilogue.act = ACCEL_ACT_CLAMP;
	d->epilogue.p0 = (float)op_uniform(c, -2, 0);
	d->epilogue.p1 = (float)op_uniform(c, 0, 6);
}

/* --- building -------------------------------------------------------------------------- */

static enum op_style pick_style(struct op_case *c, int wanted, bool output)
{
	int n = output ? OP_REPEATED : OP_STYLES;
	int style = op_below(c, 2) ? OP_DENSE : (int)op_below(c, (uint32_t)n);

	return (enum op_style)(wanted == ANY ? style : wanted);
}

/* Not every algorithm does everything; those that do not are tested elsewhere. */
static uint32_t pick_algorithm(struct op_case *c, const struct conv_case *g,
			       const struct accel_conv_desc *d, const struct shape *s,
			       uint32_t type)
{
	static const uint8_t all[] = {
		ACCEL_CONV_AUTO, ACCEL_CONV_DIRECT, ACCEL_CONV_IMPLICIT, ACCEL_CONV_GEMM,
		ACCEL_CONV_WINOGRAD_2, ACCEL_CONV_WINOGRAD_4, ACCEL_CONV_WINOGRAD_6,
	};
	uint32_t a = all[op_below(c, sizeof(all))], i;
	bool gemm = s->groups == 1 && !(d->flags & ACCEL_CONV_TRANSPOSED);
	bool winograd = gemm && s->spatial == 2 && d->flags & ACCEL_CONV_PACK_B;

	if (g->algorithm != ANY)
		return (uint32_t)g->algorithm;
	for (i = 0; i < s->spatial; i++) {
		gemm &= s->kernel[i] == 1 && !d->pad_before[i] && !d->pad_after[i];
		winograd &= s->kernel[i] == 3 && d->stride[i] < 2;
	}
	winograd &= is_float(types[type].a) && types[type].b == types[type].a &&
		    (a < ACCEL_CONV_WINOGRAD_6 || types[type].a == ACCEL_F32);
	if (a >= ACCEL_CONV_WINOGRAD_2)
		return winograd ? a : ACCEL_CONV_AUTO;
	return a == ACCEL_CONV_GEMM && !gemm ? ACCEL_CONV_AUTO : a;
}

static const struct accel_desc *build(struct op_case *c, const void *arg)
{
	struct accel_conv_desc *d = calloc(1, sizeof(*d));
	const struct conv_case *g = arg;
	int64_t dims[ACCEL_MAX_RANK];
	struct shape s = { 0 };
	uint32_t type, r;

	assert_non_null(d);
	*d = (struct accel_conv_desc)ACCEL_CONV_DESC_INIT;
	type = op_below(c, ARRAY_SIZE(types));
	if (g->type != ANY)
		type = (uint32_t)g->type;
	d->flags = (uint32_t)(g->flags == ANY ? (int)op_below(c, 16) : g->flags);
	choose_shape(c, g, d, &s);
	d->algorithm = pick_algorithm(c, g, d, &s, type);
	r = image_dims(d, &s, s.c, s.in, dims);
	c->special = g->special;
	op_tensor(c, &d->a, types[type].a, r, dims, pick_style(c, g->style, false));
	c->special = false;
	r = weight_dims(d, &s, dims);
	op_tensor(c, &d->b, types[type].b, r, dims, pick_style(c, g->style, false));
	r = image_dims(d, &s, s.m, s.out, dims);
	op_tensor(c, &d->d, types[type].d, r, dims, pick_style(c, g->style, true));
	quantise(c, d, &s);
	if (g->epilogue == EPILOGUE_ANY)
		add_epilogue(c, d);
	else if (g->epilogue == EPILOGUE_RESIDUAL || g->epilogue == EPILOGUE_ACT)
		add_residual(c, d, g->epilogue == EPILOGUE_ACT);
	else if (g->epilogue)
		add_plain_epilogue(c, d, g->epilogue == EPILOGUE_TIES);
	d->hdr.engine = g->engine == ANY ?
		(op_below(c, 2) ? 0 : op_below(c, ACCEL_ENGINE_COUNT)) :
		(uint32_t)g->engine;
	return &d->hdr;
}

/* --- tests ------------------------------------------------------------------------------- */

#define ANY_SHAPE	.spatial = ANY, .kind = ANY, .n = ANY, .c = ANY, .m = ANY, \
			.in = ANY, .kernel = ANY, .stride = ANY, .dilation = ANY, .pad = ANY

static void run_case(struct op_env *env, const struct conv_case *g, uint64_t seed)
{
	char what[160];

	snprintf(what, sizeof(what),
		 "%s: type %d, way %d, flags %d, kind %d, %d to %d, in %d, kernel %d/%d/%d, pad %d",
		 g->what, g->type, g->algorithm, g->flags, g->kind, g->c, g->m, g->in,
		 g->kernel, g->stride, g->dilation, g->pad);
	op_run(env, build, g, seed, what);
}

/* Each combination of types, by each algorithm, on each engine. */
static void test_types(struct op_env *env)
{
	static const int shapes[][5] = {
		/* channels, input, kernel, pad */
		{ 1, 1, 1, 1, 0 }, { 3, 9, 7, 3, 1 }, { 9, 20, 6, 1, 0 },
	};
	uint32_t i, j, algorithm, engine;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		for (j = 0; j < ARRAY_SIZE(shapes); j++)
			for (algorithm = 0; algorithm < 4; algorithm++)
				for (engine = 0; engine < ACCEL_ENGINE_COUNT; engine++) {
					struct conv_case g = {
						"types", (int)i, (int)algorithm,
						.flags = (int)(i + engine + j) % 2 * 5,
						.spatial = 2, .n = 1 + (int)j % 2,
						.c = shapes[j][0], .m = shapes[j][1],
						.in = shapes[j][2], .kernel = shapes[j][3],
						.pad = shapes[j][4],
						.stride = 1, .dilation = 1,
						.engine = (int)engine, .style = OP_DENSE,
						.epilogue = j == 1,
					};

					if (algorithm == ACCEL_CONV_GEMM && j == 1)
						continue;
					if (env->small && engine && (i + j) % 4)
						continue;
					run_case(env, &g, 100 * i + 10 * j + engine);
				}
}

/* Kernel, stride, dilation and padding against each other, both directions. */
static void test_windows(struct op_env *env)
{
	static const uint8_t some[] = { 0, 3, 4, 1 };
	uint32_t v, algorithm;

	for (v = 0; v < 5 * 3 * 3 * 3 * 2 * 2; v++)
		for (algorithm = 1; algorithm < 3; algorithm++) {
			struct conv_case g = {
				"windows", some[v % 4], (int)algorithm,
				.kernel = 1 + (int)(v % 5),
				.stride = 1 + (int)(v / 5 % 3),
				.dilation = 1 + (int)(v / 15 % 3),
				.pad = (int)(v / 45 % 3),
				.flags = v / 135 % 2 ? ACCEL_CONV_TRANSPOSED : 0,
				.spatial = 1 + (int)(v / 270), .kind = KIND_FULL,
				.n = 2, .c = 3, .m = v % 2 ? 10 : 4, .in = 9,
				.style = OP_DENSE,
			};

			if (env->small && v % 7)
				continue;
			run_case(env, &g, 7000 + v);
		}
}

/* Larger than any tile or segment; degenerate. */
static void test_shapes(struct op_env *env)
{
	static const struct {
		int n, c, m, in, kernel, pad;
	} shapes[] = {
		{ 1, 1, 1, 40, 3, 1 }, { 1, 2, 150, 4, 3, 1 }, { 1, 200, 9, 3, 3, 1 },
		{ 3, 1, 17, 12, 5, 2 }, { 1, 40, 1, 6, 3, 0 }, { 1, 3, 33, 15, 1, 0 },
		{ 0, 3, 5, 7, 3, 1 }, { 1, 0, 5, 7, 3, 1 }, { 1, 3, 0, 7, 3, 1 },
		{ 1, 3, 5, 0, 3, 2 }, { 1, 3, 5, 2, 5, 1 }, { 2, 3, 5, 1, 7, 3 },
	};
	static const uint8_t some[] = { 0, 1, 3, 4, 26, 30 };
	uint32_t i, j, k, flags;

	for (i = 0; i < ARRAY_SIZE(shapes); i++)
		for (j = 0; j < ARRAY_SIZE(some); j++)
			for (k = 1; k < 3; k++)
				for (flags = 0; flags < 8; flags++) {
					struct conv_case g = {
						"shapes", some[j], (int)k, (int)flags, 2,
						KIND_FULL, shapes[i].n, shapes[i].c,
						shapes[i].m, shapes[i].in,
						shapes[i].kernel, 1, 1, shapes[i].pad,
						.style = OP_DENSE,
					};

					if (flags != (i + j + k) % 8 && i < 6)
						continue;
					if (env->small && i < 3)
						continue;
					run_case(env, &g, 9000 + 100 * i + j);
				}
}

/* A line longer than a segment of the row path and than a row of row.c. */
static void test_long(struct op_env *env)
{
	static const uint8_t some[] = { 0, 2, 3, 4, 30 };
	uint32_t j, k, flags;

	if (env->small)
		return;
	for (j = 0; j < ARRAY_SIZE(some); j++)
		for (k = 1; k < 3; k++)
			for (flags = 0; flags < 8; flags++) {
				struct conv_case g = {
					"long", some[j], (int)k, (int)flags, 1,
					KIND_DEPTHWISE, 1, 2, 1, 1300, 3,
					1 + (int)(flags + j) % 3, 2, 2, .style = OP_DENSE,
				};

				run_case(env, &g, 12000 + 10 * j + flags);
			}
}

/* The inputs of a single row of outputs are more than a tile has room for: rows are cut. */
static void test_wide(struct op_env *env)
{
	/* Types, elements in four bytes */
	static const uint8_t some[][2] = {
		{ 0, 1 }, { 2, 2 }, { 9, 2 }, { 4, 4 }, { 5, 4 }, { 20, 4 }, { 25, 4 },
	};
	uint32_t j, v;

	for (j = 0; j < ARRAY_SIZE(some) && !env->small; j++)
		for (v = 0; v < 4; v++) {
			/* Sound, and taps far apart in a picture of many channels */
			const bool sound = v < 3;
			const int channels = some[j][1] * (sound ? 40 : 326);
			struct conv_case g = {
				"wide", some[j][0], ACCEL_CONV_AUTO,
				ACCEL_CONV_PACK_B | (v % 2 ? ACCEL_CONV_NHWC : 0),
				sound ? 1 : 2, KIND_FULL, 1 + (v == 2),
				channels, 9,
				sound ? 2500 : 20, 3, sound ? 1 + (int)(v % 2) : 1,
				sound ? 1 : 4, sound ? 1 : 4, .style = OP_DENSE,
				.epilogue = v == 1 ? EPILOGUE_RESIDUAL : EPILOGUE_PLAIN,
			};

			if (sound || j < 2)
				run_case(env, &g, 13000 + 10 * j + v);
		}
}

static void test_groups(struct op_env *env)
{
	uint32_t i, kind, flags, k;

	for (i = 0; i < ARRAY_SIZE(types); i += 2)
		for (kind = KIND_GROUPS; kind < KINDS; kind++)
			for (flags = 0; flags < 8; flags++)
				for (k = 1; k < 3; k++) {
					struct conv_case g = {
						"groups", (int)i, (int)k, (int)flags, 2,
						(int)kind, 2, 3, kind == KIND_GROUPS ? 10 : ANY,
						7, 3, 1 + (int)(flags + i) % 2, 1, 1,
						.style = ANY, .epilogue = flags == 2,
					};

					if (env->small && (i + flags) % 3)
						continue;
					run_case(env, &g, 15000 + 100 * i + 10 * kind + flags);
				}
}

/* Enough outputs for blocks of them, parts of a vector of channels: ends in registers. */
static void test_ends(struct op_env *env)
{
	static const uint8_t some[] = { 0, 2, 4, 5, 9, 13, 17, 20, 25 };
	static const uint8_t inputs[] = { 16, 33, 64 }, outputs[] = { 16, 20, 33, 64, 70 };
	uint32_t i, v, m, epilogue;

	for (i = 0; i < ARRAY_SIZE(some); i++)
		for (v = 0; v < 2 * ARRAY_SIZE(inputs); v++)
			for (m = 0; m < ARRAY_SIZE(outputs); m++)
				for (epilogue = 0; epilogue < EPILOGUES; epilogue++) {
					const int kernel = v % 2 ? 3 : 1;
					struct conv_case g = {
						"ends", some[i], ACCEL_CONV_AUTO,
						ACCEL_CONV_NHWC | ACCEL_CONV_PACK_B, 2,
						KIND_FULL, 1, inputs[v / 2], outputs[m], 5,
						kernel, 1, 1, kernel / 2, .style = OP_DENSE,
						.epilogue = (int)epilogue,
					};

					if (env->small && (i + v + m + epilogue) % 8)
						continue;
					run_case(env, &g, 40000 + 1000 * i + 100 * v + 10 * m +
						 epilogue);
				}
}

/* The same with channels first: less than a square of them, or of outputs, and more than a call. */
static void test_ends_first(struct op_env *env)
{
	static const uint8_t some[] = { 0, 2, 4, 5, 9, 13, 17, 20, 25 }, outputs[] = { 9, 33, 64 };
	uint32_t i, v, m, epilogue;

	for (i = 0; i < ARRAY_SIZE(some); i++)
		for (v = 0; v < 4; v++)
			for (m = 0; m < ARRAY_SIZE(outputs); m++)
				for (epilogue = 0; epilogue < EPILOGUES; epilogue++) {
					const int kernel = v ? 1 : 3;
					struct conv_case g = {
						"ends, channels first", some[i], ACCEL_CONV_AUTO,
						ACCEL_CONV_PACK_B, 2, KIND_FULL, 1 + v % 2,
						v == 3 ? 12 : 20, outputs[m],
						v == 3 ? 12 : 5 + (int)v, kernel, 1, 1,
						kernel / 2, .style = OP_DENSE,
						.epilogue = (int)epilogue,
					};

					if (env->small && (i + v + m + epilogue) % 8)
						continue;
					run_case(env, &g, 45000 + 1000 * i + 100 * v + 10 * m +
						 epilogue);
				}
}

/*
 * A group for each channel, 3 x 3 taps: vectors of channels and parts of them, rows of every
 * length, more of them than are formed at a time, padding that is read where there is none.
 */
static void test_depthwise(struct op_env *env)
{
	static const uint8_t some[] = { 0, 2, 4, 5, 7, 9, 13, 15, 17 };
	static const uint8_t channels[] = { 8, 16, 17, 24, 32, 33, 64, 80, 130 };
	static const uint8_t inputs[] = { 1, 2, 4, 5, 7, 10, 14, 20, 39 };
	uint32_t i, j, k, v = 0;

	for (i = 0; i < ARRAY_SIZE(some); i++)
		for (j = 0; j < ARRAY_SIZE(channels); j++)
			for (k = 0; k < ARRAY_SIZE(inputs); k++, v++) {
				struct conv_case g = {
					"depthwise", some[i], ACCEL_CONV_AUTO,
					ACCEL_CONV_NHWC | ACCEL_CONV_PACK_B, 2, KIND_DEPTHWISE,
					1 + (int)(v % 5 == 1), channels[j], 1, inputs[k], 3,
					1 + (int)(v % 2), 1, v % 7 ? 1 : ANY,
					.style = v % 11 ? OP_DENSE : ANY,
					.epilogue = v % 4 == 2 ? EPILOGUE_ACT :
						    v % 4 ? EPILOGUE_PLAIN : EPILOGUE_ANY,
					.special = i < 2 && v % 4 && v % 3 == 1,
				};

				if (env->small && v % 5)
					continue;
				run_case(env, &g, 50000 + v);
			}
}

/*
 * A group for each channel, windows of any size, taps and windows apart, channels last or not:
 * rows shorter than a vector and longer, more of them than are formed at a time.
 */
static void test_taps(struct op_env *env)
{
	static const uint8_t some[] = { 0, 1, 2, 3, 4, 5, 7, 9, 11, 13, 15, 17 };
	static const uint8_t channels[] = { 1, 8, 19, 32, 45 }, kernels[] = { 2, 3, 5, 7 };
	static const uint8_t inputs[] = { 3, 7, 14, 20, 37 };
	uint32_t i, j, k, l, v = 0;

	for (i = 0; i < ARRAY_SIZE(some); i++)
		for (j = 0; j < ARRAY_SIZE(channels); j++)
			for (k = 0; k < ARRAY_SIZE(inputs); k++)
				for (l = 0; l < ARRAY_SIZE(kernels); l++, v++) {
					struct conv_case g = {
						"taps", some[i], ACCEL_CONV_AUTO,
						v % 3 ? v % 3 - 1 ? 0 : ACCEL_CONV_PACK_B :
						ACCEL_CONV_NHWC | ACCEL_CONV_PACK_B,
						2 - (v % 13 == 5), KIND_DEPTHWISE,
						1 + (int)(v % 5 == 1), channels[j], 1, inputs[k],
						kernels[l], 1 + (int)(v / 2 % (2 + !(v % 7))),
						v % 11 ? 1 : 2, v % 7 ? kernels[l] / 2 : ANY,
						.style = v % 17 ? OP_DENSE : ANY,
						.epilogue = some[i] == 3 ? EPILOGUE_NONE :
							    v % 4 ? EPILOGUE_PLAIN : EPILOGUE_ANY,
						.special = v % 4 && v % 29 == 1 && i < 3,
					};

					if (env->small && v % 7)
						continue;
					run_case(env, &g, 60000 + v);
				}
}

static void test_layouts(struct op_env *env)
{
	uint32_t i, style, k, kernel;

	for (i = 0; i < ARRAY_SIZE(types); i += 3)
		for (style = 0; style < OP_REPEATED; style++)
			for (k = 1; k < 4; k++)
				for (kernel = 1; kernel < 4; kernel += 2) {
					struct conv_case g = {
						"layouts", (int)i, (int)k,
						(int)(i + style) % 2 * 5, 2, KIND_FULL, 2,
						5, 11, 6, (int)kernel, 2, 1,
						k == 3 ? 0 : (int)kernel / 2,
						.style = (int)style,
					};

					if (k == ACCEL_CONV_GEMM && kernel > 1)
						continue;
					if (env->small && (i + style) % 2)
						continue;
					run_case(env, &g, 20000 + 100 * i + 10 * style);
				}
}

/* All of a tile and parts of one, more channels than a block, each kind of numbers. */
static void test_winograd(struct op_env *env)
{
	static const int shapes[][6] = {
		/* input, input and output channels, padding, epilogue, dilation */
		{ 1, 1, 1, 1, 0 }, { 3, 3, 5, 0, 0 }, { 6, 5, 16, 1, 1 }, { 8, 3, 8, 2, 0 },
		{ 13, 4, 9, 1, 0 }, { 6, 50, 3, 1, 0 }, { 5, 2, 70, 1, 0 }, { 14, 1, 3, 0, 1 },
		/* So many channels that transformed inputs lie apart */
		{ 17, 1200, 3, 1, 0 }, { 5, 11200, 2, 1, 0 },
		{ 13, 4, 9, 2, 0, 2 }, { 20, 3, 17, 1, 1, 3 }, { 6, 5, 3, 9, 0, 7 },
		/* A last turn with fewer tiles */
		{ 33, 3, 5, 16, 0, 16 },
	};
	static const uint8_t some[] = { 0, 1, 2, 6, 9 };
	uint32_t i, j, algorithm, nhwc;

	for (i = 0; i < ARRAY_SIZE(shapes); i++)
		for (j = 0; j < ARRAY_SIZE(some); j++)
			for (algorithm = ACCEL_CONV_WINOGRAD_2;
			     algorithm <= ACCEL_CONV_WINOGRAD_6; algorithm++)
				for (nhwc = 0; nhwc < 2; nhwc++) {
					struct conv_case g = {
						"winograd", some[j], (int)algorithm,
						(nhwc ? ACCEL_CONV_NHWC : 0) |
						ACCEL_CONV_PACK_B, 2, KIND_FULL, 1 + (int)nhwc,
						shapes[i][1], shapes[i][2], shapes[i][0], 3,
						1, shapes[i][5] ? shapes[i][5] : 1,
						shapes[i][3], 0, nhwc ? ANY : OP_DENSE,
						shapes[i][4],
					};

					if (algorithm == ACCEL_CONV_WINOGRAD_6 &&
					    types[some[j]].a != ACCEL_F32)
						continue;
					if (env->small && (i + j + algorithm) % 3)
						continue;
					/* Not fp16; half of the others, if not all is run */
					if (shapes[i][1] > 1000 && test_every() > 1 &&
					    (types[some[j]].a == ACCEL_F16 ||
					     (j + algorithm + nhwc) % 2))
						continue;
					run_case(env, &g, 25000 + 100 * i + 10 * j + nhwc);
				}
}

static void test_special(struct op_env *env)
{
	struct conv_case g = {
		"special", ANY, .algorithm = 0, .flags = ANY, ANY_SHAPE, .engine = 0,
		.style = OP_DENSE, .special = 1,
	};
	uint32_t type;

	for (type = 0; type < 3; type++)
		for (g.algorithm = 1; g.algorithm < 3; g.algorithm++) {
			g.type = (int)type;
			op_random_cases(env, build, &g, 20, 31 + type);
		}
}

static void test_epilogues(struct op_env *env)
{
	struct conv_case g = {
		"epilogues", ANY, ANY, ANY, 2, ANY, 2, 3, 9, 5, 3, 1, 1, 1, 0, ANY, 1,
	};

	op_random_cases(env, build, &g, 200, 77);
}

/* Sums that underflow to -0, a bias of -0, a residual of -0: what ReLU makes of them is +0. */
static void test_minus_zero(struct op_env *env)
{
	const int64_t a[4] = { 1, 7, 9, 16 }, b[4] = { 64, 16, 3, 3 }, to[4] = { 1, 7, 9, 64 };
	struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;
	struct accel_tensor *const t[] = {
		&d.a, &d.b, &d.d, &d.epilogue.bias, &d.epilogue.residual
	};
	const float value[] = { FLT_MIN, -FLT_MIN, 1, -0.0f, -0.0f };
	uint32_t i, j, more;
	float *x;

	for (more = 0; more < 2; more++) {
		d = (struct accel_conv_desc)ACCEL_CONV_DESC_INIT;
		d.flags = ACCEL_CONV_NHWC;
		d.algorithm = ACCEL_CONV_IMPLICIT;
		d.pad_before[0] = d.pad_before[1] = d.pad_after[0] = d.pad_after[1] = 1;
		d.epilogue.act = ACCEL_ACT_RELU;
		d.a = accel_tensor_dense(NULL, ACCEL_F32, 4, a);
		d.b = accel_tensor_dense(NULL, ACCEL_F32, 4, b);
		d.d = accel_tensor_dense(NULL, ACCEL_F32, 4, to);
		d.epilogue.bias = accel_tensor_dense(NULL, ACCEL_F32, 1, &to[3]);
		if (more)
			d.epilogue.residual = d.d;
		for (i = 0; i < 4 + more; i++) {
			uint64_t bytes;

			assert_int_equal(accel_tensor_bytes(t[i], &bytes), 0);
			assert_int_equal(accel_bo_create(env->ctx, bytes, NULL, &t[i]->bo), 0);
			x = accel_bo_ptr(t[i]->bo);
			for (j = 0; j < bytes / sizeof(*x); j++)
				x[j] = value[i];
			accel_bo_cpu_end(t[i]->bo, 0, bytes, ACCEL_CPU_WRITE);
		}
		assert_int_equal(accel_run(env->ctx, &d.hdr), 0);
		assert_int_equal(accel_bo_cpu_begin(d.d.bo, 0, 7 * 9 * 64 * sizeof(*x),
						    ACCEL_CPU_READ), 0);
		x = accel_bo_ptr(d.d.bo);
		for (j = 0; j < 7 * 9 * 64; j++)
			if (x[j] != 0 || signbit(x[j]))
				fail_msg("%s: element %u is %g", env->kernels, j, (double)x[j]);
		for (i = 0; i < 4 + more; i++)
			accel_bo_unref(t[i]->bo);
		env->cases++;
	}
}

/* Results that are one of the bounds, which no sum is: subnormal ones, too. */
static void test_small_bounds(struct op_env *env)
{
	static const int64_t a[4] = { 1, 8, 9, 32 }, b[4] = { 32, 1, 3, 3 };
	static const uint16_t bits[] = { 0x000b, 0x800b, 0x0080, 0x8000 };
	struct accel_conv_desc d = ACCEL_CONV_DESC_INIT;
	struct accel_tensor *const t[] = { &d.a, &d.b, &d.d };
	uint32_t i, j;
	uint16_t *x;
	int ret;

	d.flags = ACCEL_CONV_NHWC;
	d.groups = 32;
	d.pad_before[0] = d.pad_before[1] = d.pad_after[0] = d.pad_after[1] = 1;
	d.epilogue.act = ACCEL_ACT_CLAMP;
	for (i = 0; i < 3; i++) {
		const uint64_t bytes = i == 1 ? 2 * 9 * 32 : 2 * 8 * 9 * 32;

		*t[i] = accel_tensor_dense(NULL, ACCEL_BF16, 4, i == 1 ? b : a);
		assert_int_equal(accel_bo_create(env->ctx, bytes, NULL, &t[i]->bo), 0);
		x = accel_bo_ptr(t[i]->bo);
		for (j = 0; j < bytes / 2; j++)
			x[j] = j % 2 ? 0xbf80 : 0x3f80;
		accel_bo_cpu_end(t[i]->bo, 0, bytes, ACCEL_CPU_WRITE);
	}
	/* Depthwise kernels take channels side by side, in weights as well. */
	d.b.flags = ACCEL_TENSOR_STRIDES;
	d.b.strides[0] = 1;
	d.b.strides[1] = 1;
	d.b.strides[2] = 96;
	d.b.strides[3] = 32;
	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		const uint32_t wide = (uint32_t)bits[i] << 16;

		memcpy(&d.epilogue.p0, &wide, sizeof(wide));
		d.epilogue.p1 = d.epilogue.p0;
		ret = accel_run(env->ctx, &d.hdr);
		env->cases++;
		if (ret == -EOPNOTSUPP) {
			env->refused++;
			continue;
		}
		assert_int_equal(ret, 0);
		assert_int_equal(accel_bo_cpu_begin(d.d.bo, 0, 2 * 8 * 9 * 32, ACCEL_CPU_READ), 0);
		x = accel_bo_ptr(d.d.bo);
		for (j = 0; j < 8 * 9 * 32; j++)
			if (x[j] != bits[i])
				fail_msg("%s: element %u is 0x%x, not 0x%x", env->kernels, j, x[j],
					 bits[i]);
	}
	for (i = 0; i < 3; i++)
		accel_bo_unref(t[i]->bo);
}

static void test_random(struct op_env *env)
{
	struct conv_case g = {
		"random", ANY, ANY, .flags = ANY, ANY_SHAPE, .engine = ANY, .style = ANY,
		.epilogue = 1,
	};

	op_random_cases(env, build, &g, 400, 1);
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "conv types", test_types },
		{ "conv windows", test_windows },
		{ "conv shapes", test_shapes },
		{ "conv long", test_long },
		{ "conv wide", test_wide },
		{ "conv groups", test_groups },
		{ "conv ends", test_ends },
		{ "conv ends, channels first", test_ends_first },
		{ "conv depthwise", test_depthwise },
		{ "conv taps", test_taps },
		{ "conv layouts", test_layouts },
		{ "conv winograd", test_winograd },
		{ "conv special", test_special },
		{ "conv epilogues", test_epilogues },
		{ "conv minus zero", test_minus_zero },
		{ "conv small bounds", test_small_bounds },
		{ "conv random", test_random },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
