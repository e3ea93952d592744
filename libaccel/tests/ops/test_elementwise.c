// SPDX-License-Identifier: MIT
/*
 * Functions of one and two tensors, with activations, and selection; in place,
 * broadcast, quantised, exact for int32.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "optest.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define ANY	-1

/**
 * struct ew_case - an operation; -1: at random
 */
struct ew_case {
	int func, act;
	int a, b, d;
	bool special;
	bool simple;
};

static bool is_float(uint32_t dtype)
{
	return dtype <= ACCEL_BF16;
}

static uint32_t pick_dtype(struct op_case *c, int wanted)
{
	uint32_t random = op_below(c, 2) ? 1 + op_below(c, 4) : 1 + op_below(c, ACCEL_U4);

	return wanted == ANY ? random : (uint32_t)wanted;
}

static void pick_quant(struct op_case *c, struct accel_tensor *t, bool must)
{
	uint32_t scheme = op_below(c, ACCEL_QUANT_GROUP_MIN), axis = op_below(c, t->rank);
	uint32_t group = 16u << op_below(c, 3);

	if (is_float(t->dtype) || (!must && op_below(c, 2)))
		return;
	if (must && !scheme)
		scheme = ACCEL_QUANT_TENSOR;
	op_quantise(c, t, scheme, axis, group, t->dtype >= ACCEL_S4 ? 0.3 : 0.02,
		    t->dtype != ACCEL_S32 && op_below(c, 2));
}

/* Dimensions of the result into @dims; returns its rank. */
static uint32_t pick_dims(struct op_case *c, int64_t *dims)
{
	uint32_t rank = 1 + op_below(c, c->small ? 3 : 5), i;

	for (i = 0; i < rank; i++) {
		dims[i] = rank > 2 ? 1 + op_below(c, 9) : op_dim(c);
		if (!op_below(c, 60))
			dims[i] = 0;
	}
	return rank;
}

/* An input that broadcasts to @dims. */
static void input(struct op_case *c, struct accel_tensor *t, uint32_t dtype,
		  uint32_t rank, const int64_t *dims, bool simple, bool must_quant)
{
	uint32_t drop = 0, i;
	int64_t from[ACCEL_MAX_RANK];

	for (i = 0; i < rank; i++)
		from[i] = dims[i];
	if (!simple && !op_below(c, 3)) {
		drop = op_below(c, rank);
		for (i = drop; i < rank; i++)
			if (!op_below(c, 3))
				from[i] = 1;
	}
	op_tensor(c, t, dtype, rank - drop, from + drop, op_below(c, 2) ? OP_DENSE :
		  (enum op_style)op_below(c, OP_STYLES));
	pick_quant(c, t, must_quant);
	if (t->quant.scheme == ACCEL_QUANT_CHANNEL &&
	    t->dims[t->quant.axis] != dims[t->quant.axis + drop]) {
		t->quant = (struct accel_quant){ 0 };
		if (must_quant)
			op_quantise(c, t, ACCEL_QUANT_TENSOR, 0, 0, 0.1, false);
	}
}

static void pick_act(struct op_case *c, struct accel_epilogue *epi, int wanted,
		     bool exact)
{
	epi->act = op_below(c, 2) ? 0 : op_below(c, exact ? 2 : ACCEL_ACT_COUNT);
	if (wanted != ANY)
		epi->act = (uint32_t)wanted;
	if (epi->act == ACCEL_ACT_CLAMP) {
		epi->p0 = (float)op_uniform(c, -2, 0);
		epi->p1 = (float)op_uniform(c, 0, 6);
	} else if (epi->act == ACCEL_ACT_LEAKY_RELU) {
		epi->p0 = (float)op_uniform(c, -0.1, 0.3);
	} else if (epi->act == ACCEL_ACT_ELU || epi->act == ACCEL_ACT_CELU) {
		epi->p0 = (float)op_uniform(c, 0.3, 2);
	} else if (epi->act == ACCEL_ACT_SELU) {
		epi->p0 = (float)op_uniform(c, 0.5, 2);
		epi->p1 = (float)op_uniform(c, 0.5, 2);
	} else if (epi->act == ACCEL_ACT_HARD_SIGMOID) {
		epi->p0 = (float)op_uniform(c, 0.1, 0.3);
		epi->p1 = (float)op_uniform(c, 0.4, 0.6);
	}
}

/* Some results lie where an input is. */
static bool in_place(struct op_case *c, struct accel_tensor *d,
		     const struct accel_tensor *a, uint32_t rank, const int64_t *dims)
{
	uint32_t i;

	if (op_below(c, 4) || a->rank != rank)
		return false;
	for (i = 0; i < rank; i++)
		if (a->dims[i] != dims[i] || ((a->flags & ACCEL_TENSOR_STRIDES) &&
					      dims[i] > 1 && !a->strides[i]))
			return false;
	*d = *a;
	/* Another meaning of the same elements. */
	if (op_below(c, 2))
		d->quant = (struct accel_quant){ 0 };
	return true;
}

static const struct accel_quant no_quant;

/* An integer type for functions of bits. */
static uint32_t pick_integer(struct op_case *c, int wanted)
{
	return wanted > ACCEL_BF16 ? (uint32_t)wanted : ACCEL_S32 + op_below(c, 5);
}

static const struct accel_desc *build_unary(struct op_case *c, const void *arg)
{
	struct accel_unary_desc *d = calloc(1, sizeof(*d));
	const struct ew_case *g = arg;
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t a, t, rank;
	bool bits;

	assert_non_null(d);
	*d = (struct accel_unary_desc)ACCEL_UNARY_DESC_INIT;
	d->func = op_below(c, ACCEL_UNARY_COUNT);
	if (g->func != ANY)
		d->func = (uint32_t)g->func;
	a = pick_dtype(c, g->a);
	t = pick_dtype(c, g->d);
	bits = d->func == ACCEL_UNARY_BIT_NOT;
	if (bits)
		a = t = pick_integer(c, g->a);
	rank = pick_dims(c, dims);
	c->special = g->special;
	c->range = op_below(c, 2) ? 2 : op_below(c, 2) ? 12 : 100;
	input(c, &d->a, a, rank, dims, g->simple, false);
	if (a != t || !in_place(c, &d->d, &d->a, rank, dims)) {
		op_tensor(c, &d->d, t, rank, dims, op_below(c, 2) ? OP_DENSE :
			  (enum op_style)op_below(c, OP_REPEATED));
		pick_quant(c, &d->d, false);
	}
	if (bits)
		d->a.quant = d->d.quant = no_quant;
	else
		pick_act(c, &d->epilogue, g->act, false);
	d->hdr.engine = op_below(c, 2) ? op_below(c, ACCEL_ENGINE_COUNT) : 0;
	return &d->hdr;
}

/* Rows of @g->func elements, and a row that is the same for all of them, in either place. */
static const struct accel_desc *build_rows(struct op_case *c, const void *arg)
{
	struct accel_binary_desc *d = calloc(1, sizeof(*d));
	const struct ew_case *g = arg;
	const int64_t many = g->special ? 16384 / g->func + 7 : 5;
	const int64_t dims[] = { 1 + op_below(c, 2), many, g->func };
	const int64_t row[] = { op_below(c, 2) ? dims[0] : 1, 1, g->func };
	const bool swap = !op_below(c, 3), few = op_below(c, 2);
	struct accel_tensor *all, *one;

	assert_non_null(d);
	*d = (struct accel_binary_desc)ACCEL_BINARY_DESC_INIT;
	all = swap ? &d->b : &d->a;
	one = swap ? &d->a : &d->b;
	d->func = op_below(c, ACCEL_BINARY_DIV);
	op_tensor(c, all, (uint32_t)g->a, 3, dims, OP_DENSE);
	op_tensor(c, one, (uint32_t)g->b, few ? 1 : 3, few ? row + 2 : row, OP_DENSE);
	op_tensor(c, &d->d, (uint32_t)g->d, 3, dims, OP_DENSE);
	pick_quant(c, &d->d, false);
	pick_act(c, &d->epilogue, ANY, g->a == ACCEL_S32);
	return &d->hdr;
}

static const struct accel_desc *build_binary(struct op_case *c, const void *arg)
{
	struct accel_binary_desc *d = calloc(1, sizeof(*d));
	const struct ew_case *g = arg;
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t a, b, t, rank;
	bool exact, div, bits;

	assert_non_null(d);
	*d = (struct accel_binary_desc)ACCEL_BINARY_DESC_INIT;
	d->func = op_below(c, ACCEL_BINARY_COUNT);
	if (g->func != ANY)
		d->func = (uint32_t)g->func;
	div = d->func == ACCEL_BINARY_DIV;
	a = pick_dtype(c, g->a);
	b = pick_dtype(c, g->b);
	t = pick_dtype(c, g->d);
	rank = pick_dims(c, dims);
	c->special = g->special;
	c->range = op_below(c, 2) ? 2 : 50;
	bits = d->func >= ACCEL_BINARY_BIT_AND && d->func <= ACCEL_BINARY_SHR;
	if (bits)
		a = b = t = pick_integer(c, g->a);
	/* Exact, and there is no division. */
	if (div && t == ACCEL_S32 && a == t && b == t)
		b = ACCEL_F32;
	input(c, &d->a, a, rank, dims, g->simple, div && !is_float(a));
	input(c, &d->b, b, rank, dims, g->simple, div && !is_float(b));
	if (!(a == t && in_place(c, &d->d, &d->a, rank, dims)) &&
	    !(b == t && in_place(c, &d->d, &d->b, rank, dims))) {
		op_tensor(c, &d->d, t, rank, dims, op_below(c, 2) ? OP_DENSE :
			  (enum op_style)op_below(c, OP_REPEATED));
		pick_quant(c, &d->d, false);
	}
	exact = a == ACCEL_S32 && b == a && t == a && !d->a.quant.scheme &&
		!d->b.quant.scheme && !d->d.quant.scheme;
	if (bits)
		d->a.quant = d->b.quant = d->d.quant = no_quant;
	else
		pick_act(c, &d->epilogue, exact ? ANY : g->act, exact);
	d->hdr.engine = op_below(c, 2) ? op_below(c, ACCEL_ENGINE_COUNT) : 0;
	return &d->hdr;
}

/* Conditions with zeros among them. */
static void condition(struct op_case *c, struct accel_tensor *t, uint32_t rank,
		      const int64_t *dims, bool simple)
{
	uint32_t dtype = op_below(c, 2) ? ACCEL_U8 : pick_dtype(c, ANY), bytes, i;
	char *p;

	input(c, t, dtype, rank, dims, simple, false);
	p = accel_bo_ptr(t->bo);
	bytes = (uint32_t)accel_bo_size(t->bo);
	for (i = 0; i + 4 <= bytes; i += 4)
		if (op_below(c, 2))
			memset(p + i, 0, 4);
}

static const struct accel_desc *build_select(struct op_case *c, const void *arg)
{
	struct accel_select_desc *d = calloc(1, sizeof(*d));
	const struct ew_case *g = arg;
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t b, f, t, rank;

	assert_non_null(d);
	*d = (struct accel_select_desc)ACCEL_SELECT_DESC_INIT;
	t = pick_dtype(c, g->d);
	b = op_below(c, 2) ? t : pick_dtype(c, g->a);
	f = op_below(c, 2) ? t : pick_dtype(c, g->b);
	rank = pick_dims(c, dims);
	c->special = g->special;
	condition(c, &d->a, rank, dims, g->simple);
	input(c, &d->b, b, rank, dims, g->simple, false);
	input(c, &d->c, f, rank, dims, g->simple, false);
	if (!(b == t && in_place(c, &d->d, &d->b, rank, dims)) &&
	    !(f == t && in_place(c, &d->d, &d->c, rank, dims))) {
		op_tensor(c, &d->d, t, rank, dims, op_below(c, 2) ? OP_DENSE :
			  (enum op_style)op_below(c, OP_REPEATED));
		pick_quant(c, &d->d, false);
	}
	/* The same bits in and out. */
	if (b == t && f == t && op_below(c, 2))
		d->b.quant = d->c.quant = d->d.quant = no_quant;
	d->hdr.engine = op_below(c, 2) ? op_below(c, ACCEL_ENGINE_COUNT) : 0;
	return &d->hdr;
}

/* --- tests ------------------------------------------------------------------------- */

static void test_unary_functions(struct op_env *env)
{
	static const int types[][2] = {
		{ ACCEL_F32, ACCEL_F32 }, { ACCEL_F16, ACCEL_F16 },
		{ ACCEL_BF16, ACCEL_BF16 }, { ACCEL_F32, ACCEL_F16 },
		{ ACCEL_S8, ACCEL_F16 }, { ACCEL_F32, ACCEL_S8 },
		{ ACCEL_S32, ACCEL_S32 }, { ACCEL_U8, ACCEL_U8 },
	};
	char what[64];
	uint32_t i, j;
	int func;

	for (func = 0; func < ACCEL_UNARY_COUNT; func++)
		for (i = 0; i < ARRAY_SIZE(types); i++)
			for (j = 0; j < 4; j++) {
				struct ew_case g = {
					func, 0, types[i][0], 0, types[i][1], j & 1,
					j & 2
				};

				snprintf(what, sizeof(what), "unary %d", func);
				op_run(env, build_unary, &g,
				       1000 * (uint32_t)func + 10 * i + j, what);
			}
}

static void test_activations(struct op_env *env)
{
	static const int types[][2] = {
		{ ACCEL_F32, ACCEL_F32 }, { ACCEL_F16, ACCEL_F16 },
		{ ACCEL_BF16, ACCEL_F32 }, { ACCEL_S8, ACCEL_U8 },
	};
	char what[64];
	uint32_t i, j;
	int act;

	for (act = 0; act < ACCEL_ACT_COUNT; act++)
		for (i = 0; i < ARRAY_SIZE(types); i++)
			for (j = 0; j < 6; j++) {
				struct ew_case g = {
					ACCEL_UNARY_ACT, act, types[i][0], 0,
					types[i][1], j & 1, j & 2
				};

				snprintf(what, sizeof(what), "activation %d", act);
				op_run(env, build_unary, &g,
				       50000 + 1000 * (uint32_t)act + 10 * i + j, what);
			}
}

static void test_unary_random(struct op_env *env)
{
	struct ew_case g = { ANY, ANY, ANY, ANY, ANY, true, false };

	op_random_cases(env, build_unary, &g, 500, 3);
}

static void test_binary_functions(struct op_env *env)
{
	static const int types[][3] = {
		{ ACCEL_F32, ACCEL_F32, ACCEL_F32 }, { ACCEL_F16, ACCEL_F16, ACCEL_F16 },
		{ ACCEL_BF16, ACCEL_F32, ACCEL_BF16 },
		{ ACCEL_S32, ACCEL_S32, ACCEL_S32 }, { ACCEL_S8, ACCEL_S8, ACCEL_S8 },
		{ ACCEL_U8, ACCEL_S8, ACCEL_F16 }, { ACCEL_S32, ACCEL_F32, ACCEL_F32 },
	};
	char what[64];
	uint32_t i, j;
	int func;

	for (func = 0; func < ACCEL_BINARY_COUNT; func++)
		for (i = 0; i < ARRAY_SIZE(types); i++)
			for (j = 0; j < 4; j++) {
				struct ew_case g = {
					func, 0, types[i][0], types[i][1],
					types[i][2], j & 1, j & 2
				};

				if (types[i][0] == ACCEL_S32 && types[i][2] == ACCEL_S32 &&
				    func == ACCEL_BINARY_DIV)
					continue;
				snprintf(what, sizeof(what), "binary %d", func);
				op_run(env, build_binary, &g,
				       90000 + 1000 * (uint32_t)func + 10 * i + j, what);
			}
}

/* Factors of channels: more rows than a tile has, more than are put together, and few. */
static void test_rows(struct op_env *env)
{
	static const int types[][3] = {
		{ ACCEL_F32, ACCEL_F32, ACCEL_F32 }, { ACCEL_BF16, ACCEL_F32, ACCEL_BF16 },
		{ ACCEL_S8, ACCEL_F32, ACCEL_U8 }, { ACCEL_S32, ACCEL_S32, ACCEL_S32 },
	};
	static const int lengths[] = { 2, 3, 8, 24, 32, 33, 144, 500, 1000, 1024, 1025 };
	uint32_t i, j, many;
	char what[64];

	for (i = 0; i < ARRAY_SIZE(types); i++)
		for (j = 0; j < ARRAY_SIZE(lengths); j++)
			for (many = 0; many < 2; many++) {
				struct ew_case g = {
					lengths[j], 0, types[i][0], types[i][1], types[i][2],
					many, false
				};

				if (many && (i + j) % 3)
					continue;
				snprintf(what, sizeof(what), "rows of %d, types %u, many %u",
					 lengths[j], i, many);
				op_run(env, build_rows, &g, 300000 + 100 * i + 10 * j + many, what);
			}
}

static void test_binary_random(struct op_env *env)
{
	struct ew_case g = { ANY, ANY, ANY, ANY, ANY, true, false };

	op_random_cases(env, build_binary, &g, 600, 4);
}

static void test_select_types(struct op_env *env)
{
	char what[64];
	uint32_t j;
	int type;

	for (type = ACCEL_F32; type <= ACCEL_U4; type++)
		for (j = 0; j < 6; j++) {
			struct ew_case g = { 0, 0, type, ANY, type, j & 1, j & 2 };

			snprintf(what, sizeof(what), "select %d", type);
			op_run(env, build_select, &g,
			       200000 + 100 * (uint32_t)type + j, what);
		}
}

static void test_select_random(struct op_env *env)
{
	struct ew_case g = { ANY, ANY, ANY, ANY, ANY, true, false };

	op_random_cases(env, build_select, &g, 400, 5);
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "unary functions", test_unary_functions },
		{ "activations", test_activations },
		{ "unary random", test_unary_random },
		{ "binary functions", test_binary_functions },
		{ "binary random", test_binary_random },
		{ "binary with rows", test_rows },
		{ "select of each type", test_select_types },
		{ "select random", test_select_random },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
