// SPDX-License-Identifier: MIT
/*
 * Copies and constants: every type into every other, quantised and not, in
 * every layout.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "optest.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define ANY	-1

/**
 * struct copy_case - a copy; -1: at random
 */
struct copy_case {
	int a, d;
	int a_quant, d_quant;
	int style;
	bool special;
	bool broadcast;
};

static bool is_float(uint32_t dtype)
{
	return dtype <= ACCEL_BF16;
}

static uint32_t pick_dtype(struct op_case *c, int wanted)
{
	uint32_t random = 1 + op_below(c, ACCEL_U4);

	return wanted == ANY ? random : (uint32_t)wanted;
}

/* @schemes: so many of them, of results without that of minima */
static void pick_quant(struct op_case *c, struct accel_tensor *t, int wanted, uint32_t schemes)
{
	uint32_t scheme = op_below(c, schemes), axis = op_below(c, t->rank);
	uint32_t group = 16u << op_below(c, 3);
	bool zeros = op_below(c, 2);

	if (is_float(t->dtype))
		return;
	op_quantise(c, t, wanted == ANY ? scheme : (uint32_t)wanted, axis, group,
		    t->dtype >= ACCEL_S4 ? 0.3 : 0.02, zeros && t->dtype != ACCEL_S32);
}

static const struct accel_desc *build_copy(struct op_case *c, const void *arg)
{
	struct accel_copy_desc *d = calloc(1, sizeof(*d));
	int64_t dims[ACCEL_MAX_RANK], from[ACCEL_MAX_RANK];
	uint32_t rank = 1 + op_below(c, c->small ? 3 : 5), drop = 0, i;
	const struct copy_case *g = arg;
	uint32_t a, t, axis;
	bool plain = op_below(c, 2);

	assert_non_null(d);
	*d = (struct accel_copy_desc)ACCEL_COPY_DESC_INIT;
	a = pick_dtype(c, g->a);
	t = pick_dtype(c, g->d);
	for (i = 0; i < rank; i++) {
		dims[i] = rank > 2 ? 1 + op_below(c, 9) : op_dim(c);
		if (!op_below(c, 60))
			dims[i] = 0;
		from[i] = dims[i];
	}
	if (g->broadcast && op_below(c, 2)) {
		drop = op_below(c, rank);
		for (i = drop; i < rank; i++)
			if (!op_below(c, 3))
				from[i] = 1;
	}
	c->special = g->special;
	c->range = op_below(c, 2) ? 2 : 300;
	op_tensor(c, &d->a, a, rank - drop, from + drop, g->style != ANY ?
		  (enum op_style)g->style : plain ? OP_DENSE :
		  (enum op_style)op_below(c, OP_STYLES));
	op_tensor(c, &d->d, t, rank, dims, g->style != ANY && g->style != OP_REPEATED ?
		  (enum op_style)g->style : plain ? OP_DENSE :
		  (enum op_style)op_below(c, OP_REPEATED));
	pick_quant(c, &d->a, g->a_quant, ACCEL_QUANT_COUNT);
	pick_quant(c, &d->d, g->d_quant, ACCEL_QUANT_GROUP_MIN);
	/* No channels along what is repeated. */
	axis = d->a.quant.axis;
	if (d->a.quant.scheme == ACCEL_QUANT_CHANNEL &&
	    d->a.dims[axis] != dims[axis + drop]) {
		d->a.quant = (struct accel_quant){ 0 };
	}
	d->hdr.engine = op_below(c, 2) ? op_below(c, ACCEL_ENGINE_COUNT) : 0;
	return &d->hdr;
}

static void test_types(struct op_env *env)
{
	uint32_t a, d, i;
	char what[64];

	for (a = ACCEL_F32; a <= ACCEL_U4; a++)
		for (d = ACCEL_F32; d <= ACCEL_U4; d++)
			for (i = 0; i < (env->small ? 2 : 8); i++) {
				struct copy_case g = {
					(int)a, (int)d, i & 1 ? ANY : 0,
					i & 2 ? ANY : 0, ANY, i & 4, false
				};

				snprintf(what, sizeof(what), "copy %s -> %s",
					 accel_dtype_name(a), accel_dtype_name(d));
				op_run(env, build_copy, &g, 100 * a + 10 * d + i, what);
			}
}

static void test_layouts(struct op_env *env)
{
	uint32_t style, i;

	for (style = 0; style < OP_STYLES; style++)
		for (i = 0; i < 20; i++) {
			struct copy_case g = { ANY, ANY, 0, 0, (int)style, true, true };

			op_run(env, build_copy, &g, 7000 + 100 * style + i, "copy layout");
		}
}

static void test_random_copies(struct op_env *env)
{
	struct copy_case g = { ANY, ANY, ANY, ANY, ANY, true, true };

	op_random_cases(env, build_copy, &g, 500, 2);
}

/* --- constants ------------------------------------------------------------------ */

/**
 * struct fill_case - a fill
 */
struct fill_case {
	uint32_t dtype;
	double value;
};

static const struct accel_desc *build_fill(struct op_case *c, const void *arg)
{
	struct accel_fill_desc *d = calloc(1, sizeof(*d));
	uint32_t rank = 1 + op_below(c, 4), i;
	const struct fill_case *g = arg;
	int64_t dims[ACCEL_MAX_RANK];

	assert_non_null(d);
	*d = (struct accel_fill_desc)ACCEL_FILL_DESC_INIT;
	for (i = 0; i < rank; i++)
		dims[i] = rank > 2 ? op_below(c, 8) : op_dim(c);
	op_tensor(c, &d->d, g->dtype, rank, dims,
		  (enum op_style)op_below(c, OP_REPEATED));
	d->value = g->value;
	d->hdr.engine = op_below(c, ACCEL_ENGINE_COUNT);
	return &d->hdr;
}

/* 2^-n */
#define BELOW(n)	(1.0 / (1ull << (n)))

static void test_fills(struct op_env *env)
{
	/* Ties, limits of each type, and one more; halves of the smallest. */
	static const double values[] = {
		0, 1, -1, 2.5, 3.5, -2.5, 0.1, 0.000000001, 127.5, 128.5, -128.5, -129, 255.5,
		256.5, 7.5, -8.5, 15.5, 2147483647.0, 2147483648.0, -2147483649.0,
		16777217.0, 65504, 65519.999, 65520, -65520,
		/* a little more than the third */
		BELOW(24), BELOW(25), BELOW(25) * 1.00001, BELOW(26),
		/* the largest bf16, the tie beyond it, and more than binary32 */
		3.3895313892515355e38, 0x1.ffp127, 1e39, -1e300,
		/* the smallest bf16, its half, half as much again; the same of fp32 */
		BELOW(60) * BELOW(60) * BELOW(13), BELOW(60) * BELOW(60) * BELOW(14),
		BELOW(60) * BELOW(60) * BELOW(14) * 1.5,
		BELOW(60) * BELOW(60) * BELOW(29), BELOW(60) * BELOW(60) * BELOW(30),
		1.0009765625,
		1.00048828125, 1.0014648437500002, 1.0014648437499998, 0x1.01p0,
		0x1.03p0, 0x1.0300000000001p0, INFINITY, -INFINITY, NAN, -0.0
	};
	struct fill_case g;
	char what[64];
	uint32_t i;

	for (g.dtype = ACCEL_F32; g.dtype <= ACCEL_U4; g.dtype++)
		for (i = 0; i < ARRAY_SIZE(values); i++) {
			g.value = values[i];
			/* test_desc.c: refused */
			if (isnan(g.value) && !is_float(g.dtype))
				continue;
			snprintf(what, sizeof(what), "fill %s with %.17g",
				 accel_dtype_name(g.dtype), g.value);
			op_run(env, build_fill, &g, 100 * g.dtype + i, what);
		}
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "copy types", test_types },
		{ "copy layouts", test_layouts },
		{ "copy random", test_random_copies },
		{ "fill", test_fills },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
