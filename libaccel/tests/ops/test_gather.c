// SPDX-License-Identifier: MIT
/*
 * Gathering and scattering: rows, elements, tuples of indices; every type,
 * quantised; updates that meet; indices that point nowhere.
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

/**
 * struct by_index - what is moved, and how; -1: at random
 * @func: &enum accel_gather_func or &enum accel_scatter_func
 * @a: type of the data
 * @d: type of the result
 * @reduce: SCATTER: what updates do
 * @special: special values
 * @rank: of A
 * @dims: of A, when @rank is given
 * @axis: axis or number of indices
 */
struct by_index {
	int func;
	int a;
	int d;
	int reduce;
	bool special;
	int rank;
	int64_t dims[ACCEL_MAX_RANK];
	int axis;
};

static const int every[] = {
	ACCEL_F32, ACCEL_F16, ACCEL_BF16, ACCEL_S32, ACCEL_S8, ACCEL_U8, ACCEL_S4, ACCEL_U4
};

static uint32_t pick_dtype(struct op_case *c, int wanted, bool wide)
{
	uint32_t any = (uint32_t)every[op_below(c, wide ? 6 : 8)];

	return wanted == ANY ? any : (uint32_t)wanted;
}

static enum op_style pick_style(struct op_case *c, bool output)
{
	return op_below(c, 2) ? OP_DENSE :
	       (enum op_style)op_below(c, output ? OP_REPEATED : OP_STYLES);
}

/* @schemes: so many of them, of results without that of minima */
static void pick_quant(struct op_case *c, struct accel_tensor *t, uint32_t schemes)
{
	uint32_t scheme = op_below(c, schemes), axis = op_below(c, t->rank);
	uint32_t group = 16u << op_below(c, 3);

	if (t->dtype <= ACCEL_BF16 || op_below(c, 2))
		return;
	op_quantise(c, t, scheme, axis, group, t->dtype >= ACCEL_S4 ? 0.3 : 0.02,
		    t->dtype != ACCEL_S32 && op_below(c, 2));
}

static int64_t some_dim(struct op_case *c, uint32_t rank)
{
	return rank > 2 ? 1 + op_below(c, 9) : op_dim(c);
}

static void set_index(struct accel_tensor *t, const int64_t *idx, int32_t v)
{
	char *p = (char *)accel_bo_ptr(t->bo) + t->offset;

	((int32_t *)p)[oracle_offset(t, idx)] = v;
}

/* Any index of a dimension, some from its end. */
static int32_t some_index(struct op_case *c, int64_t dim)
{
	int32_t v = (int32_t)op_below(c, (uint32_t)dim);

	/* The first and the last are the ones to get wrong. */
	if (!op_below(c, 4))
		v = op_below(c, 2) ? (int32_t)dim - 1 : 0;
	return op_below(c, 3) ? v : v - (int32_t)dim;
}

/* Indices of @count dimensions, the last of B telling which; or of one. */
static void fill_indices(struct op_case *c, struct accel_tensor *b, const int64_t *dims,
			 bool tuples)
{
	int64_t idx[ACCEL_MAX_RANK];
	uint64_t n;

	for (n = 0; n < oracle_count(b); n++) {
		oracle_index(b, n, idx);
		set_index(b, idx, some_index(c, dims[tuples ? idx[b->rank - 1] : 0]));
	}
}

/* Dimensions of A; those that indices name are not empty. */
static uint32_t pick_dims(struct op_case *c, const struct by_index *g, int64_t *dims,
			  uint32_t first, uint32_t most)
{
	uint32_t rank = 1 + op_below(c, c->small && most > 3 ? 3 : most), i;

	if (g->rank) {
		memcpy(dims, g->dims, sizeof(g->dims));
		return (uint32_t)g->rank;
	}
	for (i = 0; i < rank; i++)
		dims[i] = !op_below(c, 60) && i < first ? 0 : some_dim(c, rank);
	return rank;
}

static uint32_t axis_of(struct op_case *c, const struct by_index *g, uint32_t n)
{
	uint32_t any = op_below(c, n);

	return g->axis == ANY ? any : (uint32_t)g->axis;
}

/* --- gather ----------------------------------------------------------------------- */

static void gather_axis(struct op_case *c, const struct by_index *g, struct accel_gather_desc *d,
			uint32_t a, uint32_t t)
{
	int64_t dims[ACCEL_MAX_RANK] = { 0 }, to[ACCEL_MAX_RANK], b[ACCEL_MAX_RANK];
	uint32_t rank = pick_dims(c, g, dims, 0, 4), n, i;

	d->axis = axis_of(c, g, rank);
	n = 1 + op_below(c, ACCEL_MAX_RANK - rank + 1);
	for (i = 0; i < n; i++)
		b[i] = !op_below(c, 30) ? 0 : n > 1 ? 1 + op_below(c, 9) : op_dim(c);
	for (i = 0; i < d->axis; i++)
		to[i] = dims[i];
	memcpy(to + d->axis, b, n * sizeof(b[0]));
	for (i = d->axis + 1; i < rank; i++)
		to[i + n - 1] = dims[i];
	op_tensor(c, &d->a, a, rank, dims, pick_style(c, false));
	op_tensor(c, &d->b, ACCEL_S32, n, b, pick_style(c, false));
	op_tensor(c, &d->d, t, rank + n - 1, to, pick_style(c, true));
	fill_indices(c, &d->b, dims + d->axis, false);
}

static void gather_elements(struct op_case *c, const struct by_index *g,
			    struct accel_gather_desc *d, uint32_t a, uint32_t t)
{
	int64_t dims[ACCEL_MAX_RANK] = { 0 }, b[ACCEL_MAX_RANK];
	uint32_t rank = pick_dims(c, g, dims, 0, 5), i;

	d->axis = axis_of(c, g, rank);
	for (i = 0; i < rank; i++)
		b[i] = i == d->axis ? some_dim(c, rank) :
		       dims[i] - (int64_t)op_below(c, (uint32_t)dims[i]);
	op_tensor(c, &d->a, a, rank, dims, pick_style(c, false));
	op_tensor(c, &d->b, ACCEL_S32, rank, b, pick_style(c, false));
	op_tensor(c, &d->d, t, rank, b, pick_style(c, true));
	fill_indices(c, &d->b, dims + d->axis, false);
}

static void gather_nd(struct op_case *c, const struct by_index *g, struct accel_gather_desc *d,
		      uint32_t a, uint32_t t)
{
	int64_t dims[ACCEL_MAX_RANK] = { 0 }, b[ACCEL_MAX_RANK], to[ACCEL_MAX_RANK];
	uint32_t rank = pick_dims(c, g, dims, 0, 4), k, q, i;

	d->batch = op_below(c, rank);
	k = 1 + axis_of(c, g, rank - d->batch);
	if (k > rank - d->batch)
		k = rank - d->batch;
	/* What is left of A, and the rest of B, are dimensions of D, at least one. */
	q = op_below(c, 2) + (d->batch || k < rank ? 0 : 1);
	for (i = 0; i < d->batch; i++)
		to[i] = b[i] = dims[i];
	for (i = d->batch; i < d->batch + q; i++)
		to[i] = b[i] = some_dim(c, q + 1);
	b[d->batch + q] = k;
	for (i = d->batch + k; i < rank; i++)
		to[i + q - k] = dims[i];
	op_tensor(c, &d->a, a, rank, dims, pick_style(c, false));
	op_tensor(c, &d->b, ACCEL_S32, d->batch + q + 1, b, pick_style(c, true));
	op_tensor(c, &d->d, t, rank + q - k, to, pick_style(c, true));
	fill_indices(c, &d->b, dims + d->batch, true);
}

static const struct accel_desc *build_gather(struct op_case *c, const void *arg)
{
	struct accel_gather_desc *d = calloc(1, sizeof(*d));
	const struct by_index *g = arg;
	uint32_t a, t;

	assert_non_null(d);
	*d = (struct accel_gather_desc)ACCEL_GATHER_DESC_INIT;
	d->func = op_below(c, ACCEL_GATHER_COUNT);
	if (g->func != ANY)
		d->func = (uint32_t)g->func;
	a = pick_dtype(c, g->a, false);
	t = op_below(c, 2) && a < ACCEL_S4 ? a : pick_dtype(c, g->d, true);
	if (g->d != ANY)
		t = (uint32_t)g->d;
	c->special = g->special;
	c->range = 50;
	if (d->func == ACCEL_GATHER_AXIS)
		gather_axis(c, g, d, a, t);
	else if (d->func == ACCEL_GATHER_ELEMENTS)
		gather_elements(c, g, d, a, t);
	else
		gather_nd(c, g, d, a, t);
	pick_quant(c, &d->a, ACCEL_QUANT_COUNT);
	pick_quant(c, &d->d, ACCEL_QUANT_GROUP_MIN);
	d->hdr.engine = op_below(c, 2) ? op_below(c, ACCEL_ENGINE_COUNT) : 0;
	return &d->hdr;
}

/* Every function from every type to every type. */
static void test_gather_types(struct op_env *env)
{
	uint32_t i, j;
	int func;

	for (func = 0; func < ACCEL_GATHER_COUNT; func++)
		for (i = 0; i < ARRAY_SIZE(every); i++)
			for (j = 0; j < 6; j++) {
				struct by_index g = {
					.func = func, .a = every[i], .d = every[j],
					.special = true, .axis = ANY,
				};

				op_run(env, build_gather, &g,
				       1000u * (uint32_t)func + 10 * i + j, "gather types");
			}
}

/* Each axis of shapes that are one, prime, empty, larger than a row of a tile. */
static void test_gather_shapes(struct op_env *env)
{
	static const struct {
		int rank;
		int64_t dims[ACCEL_MAX_RANK];
	} shapes[] = {
		{ 1, { 1 } }, { 1, { 2500 } }, { 2, { 1, 1 } }, { 2, { 7, 13 } },
		{ 2, { 3, 2100 } }, { 2, { 2100, 3 } }, { 2, { 0, 5 } }, { 3, { 2, 3, 5 } },
		{ 3, { 4, 0, 3 } }, { 4, { 2, 1, 3, 2 } },
	};
	uint32_t i;
	int func, axis;

	for (i = 0; i < ARRAY_SIZE(shapes); i++)
		for (func = 0; func < ACCEL_GATHER_COUNT; func++)
			for (axis = 0; axis < shapes[i].rank; axis++) {
				struct by_index g = {
					.func = func, .a = ACCEL_F32, .d = ACCEL_F32,
					.rank = shapes[i].rank, .axis = axis,
				};

				memcpy(g.dims, shapes[i].dims, sizeof(g.dims));
				/* There is nothing that an index could name. */
				if (!g.dims[0] || !g.dims[1 % g.rank])
					continue;
				op_run(env, build_gather, &g, 7000 + 100 * i +
				       10u * (uint32_t)func + (uint32_t)axis, "gather shapes");
			}
}

static void test_gather_random(struct op_env *env)
{
	struct by_index g = { .func = ANY, .a = ANY, .d = ANY, .special = true, .axis = ANY };

	op_random_cases(env, build_gather, &g, 600, 5);
}

/* --- scatter ------------------------------------------------------------------------ */

static void scatter_elements(struct op_case *c, const struct by_index *g,
			     struct accel_scatter_desc *d, int64_t *dims, uint32_t rank, uint32_t u)
{
	int64_t b[ACCEL_MAX_RANK];
	uint32_t i;

	d->axis = axis_of(c, g, rank);
	for (i = 0; i < rank; i++)
		b[i] = i == d->axis ? some_dim(c, rank) :
		       dims[i] - (int64_t)op_below(c, (uint32_t)dims[i]);
	op_tensor(c, &d->b, ACCEL_S32, rank, b, pick_style(c, false));
	op_tensor(c, &d->c, u, rank, b, pick_style(c, false));
	fill_indices(c, &d->b, dims + d->axis, false);
}

static void scatter_nd(struct op_case *c, const struct by_index *g, struct accel_scatter_desc *d,
		       int64_t *dims, uint32_t rank, uint32_t u)
{
	int64_t b[ACCEL_MAX_RANK], up[ACCEL_MAX_RANK];
	uint32_t k = 1 + axis_of(c, g, rank), q, i;

	q = 1 + op_below(c, 2);
	if (q + rank - k > ACCEL_MAX_RANK)
		q = 1;
	if (q == 1 && k < rank && !op_below(c, 4))
		q = 0;
	for (i = 0; i < q; i++)
		up[i] = b[i] = !op_below(c, 30) ? 0 : some_dim(c, q + 1);
	b[q] = k;
	for (i = k; i < rank; i++)
		up[i + q - k] = dims[i];
	op_tensor(c, &d->b, ACCEL_S32, q + 1, b, pick_style(c, true));
	op_tensor(c, &d->c, u, q + rank - k, up, pick_style(c, false));
	fill_indices(c, &d->b, dims, true);
}

static const struct accel_desc *build_scatter(struct op_case *c, const void *arg)
{
	struct accel_scatter_desc *d = calloc(1, sizeof(*d));
	const struct by_index *g = arg;
	int64_t dims[ACCEL_MAX_RANK] = { 0 };
	uint32_t a, u, t, rank;

	assert_non_null(d);
	*d = (struct accel_scatter_desc)ACCEL_SCATTER_DESC_INIT;
	d->func = op_below(c, ACCEL_SCATTER_COUNT);
	if (g->func != ANY)
		d->func = (uint32_t)g->func;
	d->reduce = op_below(c, ACCEL_SCATTER_REDUCE_COUNT);
	if (g->reduce != ANY)
		d->reduce = (uint32_t)g->reduce;
	t = pick_dtype(c, g->d, true);
	a = op_below(c, 2) ? t : pick_dtype(c, g->a, false);
	u = op_below(c, 2) ? t : pick_dtype(c, ANY, false);
	c->special = g->special;
	c->range = 8;
	rank = pick_dims(c, g, dims, 0, 4);
	op_tensor(c, &d->d, t, rank, dims, pick_style(c, true));
	pick_quant(c, &d->d, ACCEL_QUANT_GROUP_MIN);
	if (op_below(c, 3)) {
		op_tensor(c, &d->a, a, rank, dims, pick_style(c, false));
		pick_quant(c, &d->a, ACCEL_QUANT_GROUP_MIN);
	} else {
		/* On the spot, perhaps with another meaning. */
		d->a = d->d;
		if (op_below(c, 2))
			d->a.quant = (struct accel_quant){ 0 };
	}
	if (d->func == ACCEL_SCATTER_ELEMENTS)
		scatter_elements(c, g, d, dims, rank, u);
	else
		scatter_nd(c, g, d, dims, rank, u);
	pick_quant(c, &d->c, ACCEL_QUANT_GROUP_MIN);
	d->hdr.engine = op_below(c, 2) ? op_below(c, ACCEL_ENGINE_COUNT) : 0;
	return &d->hdr;
}

static void test_scatter_types(struct op_env *env)
{
	int func, how;
	uint32_t i, j;

	for (func = 0; func < ACCEL_SCATTER_COUNT; func++)
		for (how = 0; how < ACCEL_SCATTER_REDUCE_COUNT; how++)
			for (i = 0; i < 6; i++)
				for (j = 0; j < 4; j++) {
					struct by_index g = {
						.func = func, .a = ANY, .d = every[i],
						.reduce = how, .special = j & 1, .axis = ANY,
					};

					op_run(env, build_scatter, &g,
					       10000u * (uint32_t)func + 1000u * (uint32_t)how +
					       10 * i + j, "scatter types");
				}
}

/* Many updates of few elements: their order counts. */
static void test_scatter_meeting(struct op_env *env)
{
	static const int64_t shapes[][2] = { { 1, 1 }, { 2, 3 }, { 1, 2100 }, { 2100, 1 } };
	int func, how, axis;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++)
		for (func = 0; func < ACCEL_SCATTER_COUNT; func++)
			for (how = 0; how < ACCEL_SCATTER_REDUCE_COUNT; how++)
				for (axis = 0; axis < 2; axis++) {
					struct by_index g = {
						.func = func, .a = ACCEL_F32,
						.d = i & 1 ? ACCEL_F16 : ACCEL_F32,
						.reduce = how, .rank = 2, .axis = axis,
					};

					memcpy(g.dims, shapes[i], sizeof(shapes[i]));
					op_run(env, build_scatter, &g, 30000 + 1000 * i +
					       100u * (uint32_t)func + 10u * (uint32_t)how +
					       (uint32_t)axis, "scatter meeting");
				}
}

static void test_scatter_random(struct op_env *env)
{
	struct by_index g = {
		.func = ANY, .a = ANY, .d = ANY, .reduce = ANY, .special = true, .axis = ANY
	};

	op_random_cases(env, build_scatter, &g, 600, 6);
}

/* --- indices that point nowhere -------------------------------------------------------- */

/* The job fails and says so; nothing outside of the result is touched. */
static void bad_index(struct op_env *env, int32_t v, int64_t where)
{
	const int64_t table[] = { 10, 8 }, count[] = { 5 }, out[] = { 5, 8 };
	struct accel_gather_desc g = ACCEL_GATHER_DESC_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct op_case c = { .ctx = env->ctx, .rng = 1 };
	unsigned char *before;
	uint64_t size, i;
	int ret;

	op_tensor(&c, &g.a, ACCEL_F32, 2, table, OP_DENSE);
	op_tensor(&c, &g.b, ACCEL_S32, 1, count, OP_DENSE);
	op_tensor(&c, &g.d, ACCEL_F32, 2, out, OP_DENSE);
	fill_indices(&c, &g.b, table, false);
	set_index(&g.b, &where, v);
	size = accel_bo_size(g.d.bo);
	before = malloc(size);
	assert_non_null(before);
	memcpy(before, accel_bo_ptr(g.d.bo), size);
	ret = accel_run(env->ctx, &g.hdr);
	assert_int_equal(ret, -EFAULT);
	accel_ctx_get_error(env->ctx, &e);
	assert_int_equal(e.code, -EFAULT);
	assert_true(e.text[0]);
	/* The address is that of the index. */
	if (e.addr)
		assert_int_equal(e.addr, (uintptr_t)accel_bo_ptr(g.b.bo) + g.b.offset +
				 4 * (uint64_t)where);
	for (i = 0; i < size; i++)
		if (i < g.d.offset || i >= g.d.offset + 5 * 8 * 4)
			assert_int_equal(before[i], ((unsigned char *)accel_bo_ptr(g.d.bo))[i]);
	/* And the context goes on. */
	set_index(&g.b, &where, -10);
	assert_int_equal(accel_run(env->ctx, &g.hdr), 0);
	free(before);
	while (c.bo_count)
		accel_bo_unref(c.bos[--c.bo_count]);
}

static void test_bad_indices(struct op_env *env)
{
	static const int32_t values[] = { 10, -11, INT32_MAX, INT32_MIN, 1000000 };
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		bad_index(env, values[i], 0);
		bad_index(env, values[i], 4);
	}
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

static struct accel_gather_desc good_gather(uint32_t func)
{
	const int64_t a[] = { 4, 5, 6 }, b[] = { 4, 2 }, axis[] = { 4, 4, 2, 6 };
	const int64_t nd[] = { 4, 6 }, el[] = { 4, 3, 6 };
	struct accel_gather_desc g = ACCEL_GATHER_DESC_INIT;

	g.func = func;
	g.a = accel_tensor_dense(NULL, ACCEL_F32, 3, a);
	g.b = accel_tensor_dense(NULL, ACCEL_S32, 2, b);
	g.d = accel_tensor_dense(NULL, ACCEL_F32, 4, axis);
	g.axis = func == ACCEL_GATHER_ND ? 0 : 1;
	if (func == ACCEL_GATHER_ND)
		g.d = accel_tensor_dense(NULL, ACCEL_F32, 2, nd);
	if (func == ACCEL_GATHER_ELEMENTS) {
		g.b = accel_tensor_dense(NULL, ACCEL_S32, 3, el);
		g.d = accel_tensor_dense(NULL, ACCEL_F32, 3, el);
	}
	return g;
}

#define REFUSED(make, change, field) do {				\
	__typeof__(make) g = make;					\
	change;								\
	expect(env, &g.hdr, field);					\
} while (0)

static void test_refused(struct op_env *env)
{
	struct accel_gather_desc axis = good_gather(ACCEL_GATHER_AXIS);
	struct accel_gather_desc el = good_gather(ACCEL_GATHER_ELEMENTS);
	struct accel_gather_desc nd = good_gather(ACCEL_GATHER_ND);
	struct accel_scatter_desc s = ACCEL_SCATTER_DESC_INIT;
	struct accel_plan *plan = NULL;

	assert_int_equal(accel_plan_create(env->ctx, &axis.hdr, &plan), 0);
	accel_plan_unref(plan);
	assert_int_equal(accel_plan_create(env->ctx, &el.hdr, &plan), 0);
	accel_plan_unref(plan);
	assert_int_equal(accel_plan_create(env->ctx, &nd.hdr, &plan), 0);
	accel_plan_unref(plan);
	REFUSED(axis, g.func = 3, "gather.func");
	REFUSED(axis, g.pad = 1, "gather.pad");
	REFUSED(axis, g.batch = 1, "gather.batch");
	REFUSED(axis, g.axis = 3, "gather.axis");
	REFUSED(nd, g.axis = 1, "gather.axis");
	REFUSED(nd, g.batch = 2, "gather.batch");
	REFUSED(nd, g.b.dims[1] = 4, "gather.b.dims[1]");
	REFUSED(nd, g.b.dims[1] = 0, "gather.b.dims[1]");
	REFUSED(nd, (g.d.rank = 1, g.d.dims[1] = 0), "gather.d.rank");
	REFUSED(nd, g.d.dims[1] = 7, "gather.d.dims[1]");
	REFUSED(axis, g.b.dtype = ACCEL_F32, "gather.b.dtype");
	REFUSED(axis, (g.b.quant.scheme = ACCEL_QUANT_TENSOR, g.b.quant.scale = 1),
		"gather.b.quant.scheme");
	REFUSED(axis, g.d.dtype = ACCEL_S4, "gather.d.dtype");
	REFUSED(axis, (g.d.rank = 3, g.d.dims[3] = 0), "gather.d.rank");
	REFUSED(axis, g.d.dims[0] = 5, "gather.d.dims[0]");
	REFUSED(axis, g.d.dims[2] = 5, "gather.d.dims[2]");
	REFUSED(axis, g.d.dims[3] = 5, "gather.d.dims[3]");
	REFUSED(axis, memset(&g.a, 0, sizeof(g.a)), "gather.a.dtype");
	REFUSED(el, g.b.dims[0] = 5, "gather.b.dims[0]");
	REFUSED(el, g.d.dims[2] = 5, "gather.d.dims[2]");
	REFUSED(el, (g.b.rank = 2, g.b.dims[2] = 0), "gather.b.rank");

	s.a = s.d = el.a;
	s.b = el.b;
	s.c = el.d;
	s.axis = 1;
	assert_int_equal(accel_plan_create(env->ctx, &s.hdr, &plan), 0);
	accel_plan_unref(plan);
	REFUSED(s, g.func = 2, "scatter.func");
	REFUSED(s, g.reduce = 5, "scatter.reduce");
	REFUSED(s, g.pad = 1, "scatter.pad");
	REFUSED(s, g.axis = 3, "scatter.axis");
	REFUSED(s, g.a.dims[2] = 7, "scatter.a.dims[2]");
	REFUSED(s, (g.a.rank = 2, g.a.dims[2] = 0), "scatter.a.rank");
	REFUSED(s, g.b.dims[2] = 7, "scatter.b.dims[2]");
	REFUSED(s, g.c.dims[1] = 7, "scatter.c.dims[1]");
	REFUSED(s, (g.c.rank = 2, g.c.dims[2] = 0), "scatter.c.rank");
	REFUSED(s, g.b.dtype = ACCEL_S8, "scatter.b.dtype");
	REFUSED(s, g.d.dtype = ACCEL_U4, "scatter.d.dtype");
	REFUSED(s, (g.func = ACCEL_SCATTER_ND, g.axis = 1), "scatter.axis");
	REFUSED(s, (g.func = ACCEL_SCATTER_ND, g.axis = 0), "scatter.b.dims[2]");
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "gather types", test_gather_types },
		{ "gather shapes", test_gather_shapes },
		{ "gather random", test_gather_random },
		{ "scatter types", test_scatter_types },
		{ "scatter meeting", test_scatter_meeting },
		{ "scatter random", test_scatter_random },
		{ "bad indices", test_bad_indices },
		{ "refused descriptors", test_refused },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
