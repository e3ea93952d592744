// SPDX-License-Identifier: MIT
/*
 * Rotary position embedding: both layouts, part of the head, positions from
 * memory, in place; and the tables of the scaled variants.
 */
#include <errno.h>
#include <math.h>
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
 * struct rot_case - an operation; ANY: at random
 */
struct rot_case {
	int a, d, table;
	int flags;
	int positions;
	int head;
	int pairs;
	bool special;
};

static uint32_t pick(struct op_case *c, int wanted, const uint32_t *from, uint32_t n)
{
	uint32_t random = from[op_below(c, n)];

	return wanted == ANY ? random : (uint32_t)wanted;
}

static void pick_quant(struct op_case *c, struct accel_tensor *t)
{
	bool zeros = op_below(c, 2);

	if (t->dtype > ACCEL_BF16 && op_below(c, 3))
		op_quantise(c, t, ACCEL_QUANT_TENSOR, 0, 0, 0.03, zeros);
}

/* Cosines and sines, so that nothing overflows that is no table's fault. */
static void fill_table(struct op_case *c, struct accel_tensor *t)
{
	uint32_t *wide, one = t->dtype == ACCEL_F16 ? 0x3c00 : 0x3f80, i;
	uint16_t *half;

	c->special = false;
	c->range = 1;
	op_tensor(c, t, t->dtype, 2, t->dims, op_below(c, 2) ? OP_DENSE :
		  (enum op_style)op_below(c, OP_STYLES));
	c->range = 0;
	wide = accel_bo_ptr(t->bo);
	half = accel_bo_ptr(t->bo);
	for (i = 0; i < accel_bo_size(t->bo) / (t->dtype == ACCEL_F32 ? 4 : 2); i++)
		if (t->dtype != ACCEL_F32 && (half[i] & 0x7fff) > one)
			half[i] = (uint16_t)((half[i] & 0x8000) | one);
		else if (t->dtype == ACCEL_F32 && (wide[i] & INT32_MAX) > one << 16)
			wide[i] = (wide[i] & ~INT32_MAX) | one << 16;
}

static void fill_positions(struct op_case *c, struct accel_tensor *t, const int64_t *dims,
			   int64_t rows)
{
	uint32_t drop = op_below(c, 2), i, rank = 2 - drop;
	int64_t from[2] = { dims[0], dims[1] };
	int32_t *p;

	for (i = 0; i < 2; i++)
		if (!op_below(c, 4))
			from[i] = 1;
	op_tensor(c, t, ACCEL_S32, rank, from + drop, (enum op_style)op_below(c, OP_REPEATED));
	p = accel_bo_ptr(t->bo);
	for (i = 0; i < accel_bo_size(t->bo) / 4; i++)
		p[i] = (int32_t)op_below(c, (uint32_t)rows);
}

static const struct accel_desc *build(struct op_case *c, const void *arg)
{
	static const uint32_t heads[] = { 1, 2, 3, 5, 8, 16, 17, 32, 64, 80, 128, 257 };
	static const uint32_t types[] = {
		ACCEL_F32, ACCEL_F16, ACCEL_BF16, ACCEL_S8, ACCEL_U8, ACCEL_F32, ACCEL_F16
	};
	struct accel_rotary_desc *r = calloc(1, sizeof(*r));
	const struct rot_case *g = arg;
	int64_t dims[4], table[2];
	uint32_t a, d;

	assert_non_null(r);
	*r = (struct accel_rotary_desc)ACCEL_ROTARY_DESC_INIT;
	a = pick(c, g->a, types, ARRAY_SIZE(types));
	d = pick(c, g->d, types, ARRAY_SIZE(types));
	r->flags = op_below(c, 2);
	if (g->flags != ANY)
		r->flags = (uint32_t)g->flags;
	dims[0] = 1 + op_below(c, 3);
	dims[1] = op_below(c, 8) ? 1 + op_below(c, c->small ? 5 : 13) : op_dim(c);
	dims[2] = 1 + op_below(c, 5);
	dims[3] = pick(c, g->head, heads, c->small ? 8 : ARRAY_SIZE(heads));
	if (g->head == ANY && !op_below(c, 30))
		dims[op_below(c, 4)] = 0;
	table[1] = op_below(c, 2) ? dims[3] / 2 : op_below(c, (uint32_t)dims[3] / 2 + 1);
	if (g->pairs != ANY)
		table[1] = g->pairs;
	table[0] = dims[1] + op_below(c, 20) + 1;
	r->cosines = accel_tensor_dense(NULL, pick(c, g->table, types, 3), 2, table);
	r->sines = r->cosines;
	fill_table(c, &r->cosines);
	fill_table(c, &r->sines);
	if (g->positions == ANY ? op_below(c, 2) : (uint32_t)g->positions)
		fill_positions(c, &r->positions, dims, table[0]);
	else
		r->start = op_below(c, (uint32_t)(table[0] - dims[1] + 1));
	c->special = g->special;
	op_tensor(c, &r->a, a, 4, dims, op_below(c, 2) ? OP_DENSE :
		  (enum op_style)op_below(c, OP_STYLES));
	pick_quant(c, &r->a);
	if (a == d && !op_below(c, 3)) {
		/* In place, unless an input repeats itself. */
		c->special = false;
		op_tensor(c, &r->a, a, 4, dims, (enum op_style)op_below(c, OP_REPEATED));
		pick_quant(c, &r->a);
		r->d = r->a;
	} else {
		op_tensor(c, &r->d, d, 4, dims, op_below(c, 2) ? OP_DENSE :
			  (enum op_style)op_below(c, OP_REPEATED));
		pick_quant(c, &r->d);
	}
	r->hdr.engine = op_below(c, 3) ? 0 : op_below(c, ACCEL_ENGINE_COUNT);
	return &r->hdr;
}

/* --- operations ------------------------------------------------------------------ */

static void test_types(struct op_env *env)
{
	static const int types[][2] = {
		{ ACCEL_F32, ACCEL_F32 }, { ACCEL_F16, ACCEL_F16 },
		{ ACCEL_BF16, ACCEL_BF16 }, { ACCEL_F32, ACCEL_F16 },
		{ ACCEL_F16, ACCEL_F32 }, { ACCEL_S8, ACCEL_F32 },
		{ ACCEL_F32, ACCEL_S8 }, { ACCEL_U8, ACCEL_U8 },
	};
	uint32_t i, j;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		for (j = 0; j < 12; j++) {
			struct rot_case g = {
				types[i][0], types[i][1], ANY, j & 1, j >> 1 & 1, ANY, ANY,
				j > 7
			};

			op_run(env, build, &g, 100 * i + j, "rotary types");
		}
}

/* Heads shorter and longer than what is turned at once, none, all, and parts. */
static void test_sizes(struct op_env *env)
{
	static const int sizes[][2] = {
		{ 1, 0 }, { 2, 1 }, { 3, 1 }, { 7, 3 }, { 64, 32 }, { 64, 0 }, { 64, 8 },
		{ 127, 63 }, { 128, 64 }, { 256, 32 }, { 1024, 512 }, { 1026, 513 },
		{ 2051, 1025 }, { 2500, 500 }, { 3000, 1500 },
	};
	uint32_t i, j;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (j = 0; j < 4; j++) {
			struct rot_case g = {
				ACCEL_F32, ACCEL_F32, ACCEL_F32, j & 1, j >> 1, sizes[i][0],
				sizes[i][1], false
			};

			op_run(env, build, &g, 5000 + 10 * i + j, "rotary sizes");
		}
}

static void test_random(struct op_env *env)
{
	struct rot_case g = { ANY, ANY, ANY, ANY, ANY, ANY, ANY, true };

	op_random_cases(env, build, &g, 600, 71);
}

/* Positions that the tables do not have fail the job, and touch nothing else. */
static void test_bad_positions(struct op_env *env)
{
	static const int32_t bad[] = { -1, 4, 5, INT32_MAX, INT32_MIN };
	struct accel_rotary_desc r = ACCEL_ROTARY_DESC_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	const int64_t dims[4] = { 1, 2, 1, 4 }, table[2] = { 4, 2 };
	struct accel_bo *bo;
	uint32_t i, j;

	assert_int_equal(accel_bo_create(env->ctx, 4096, NULL, &bo), 0);
	r.a = accel_tensor_dense(bo, ACCEL_F32, 4, dims);
	r.d = r.a;
	r.cosines = accel_tensor_dense(bo, ACCEL_F32, 2, table);
	r.cosines.offset = 1024;
	r.sines = r.cosines;
	r.sines.offset = 2048;
	r.positions = accel_tensor_dense(bo, ACCEL_S32, 2, dims);
	r.positions.offset = 3072;
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		for (j = 0; j < 2; j++) {
			int32_t *p = (int32_t *)((char *)accel_bo_ptr(bo) + 3072);

			p[j] = bad[i];
			p[!j] = 3;
			assert_int_equal(accel_run(env->ctx, &r.hdr), -EFAULT);
			accel_ctx_get_error(env->ctx, &e);
			assert_non_null(strstr(e.text, "range"));
			env->cases++;
		}
	accel_bo_unref(bo);
}

/* --- tables ------------------------------------------------------------------------ */

static struct accel_rotary_opts table_opts(uint32_t scaling, uint32_t dim)
{
	struct accel_rotary_opts o = ACCEL_ROTARY_OPTS_INIT;

	o.scaling = scaling;
	o.rot_dim = dim;
	if (scaling != ACCEL_ROTARY_PLAIN)
		o.factor = 8;
	if (scaling == ACCEL_ROTARY_LLAMA3 || scaling == ACCEL_ROTARY_YARN)
		o.trained = 8192;
	return o;
}

static double smooth(double v, double from, double to)
{
	return v <= from ? 0 : v >= to ? 1 : (v - from) / (to - from);
}

/* By wavelengths, as the papers and the published code have it. */
static double angle(const struct accel_rotary_opts *o, uint32_t i)
{
	double base = o->base ? o->base : 10000, d = o->rot_dim, low, high, mix;
	double length = 2 * M_PI * pow(base, 2 * i / d);

	switch (o->scaling) {
	case ACCEL_ROTARY_LINEAR:
		return 2 * M_PI / (length * o->factor);
	case ACCEL_ROTARY_LLAMA3:
		mix = smooth(o->trained / length, o->low ? o->low : 1, o->high ? o->high : 4);
		break;
	case ACCEL_ROTARY_YARN:
		low = d * log(o->trained / ((o->high ? o->high : 32) * 2 * M_PI)) / (2 * log(base));
		high = d * log(o->trained / ((o->low ? o->low : 1) * 2 * M_PI)) / (2 * log(base));
		mix = 1 - smooth(i, fmax(floor(low), 0), fmin(ceil(high), d - 1));
		break;
	default:
		return 2 * M_PI / length;
	}
	return 2 * M_PI / length * (mix + (1 - mix) / o->factor);
}

static void check_table(const struct accel_rotary_opts *o, uint64_t first, uint64_t count)
{
	uint32_t half = o->rot_dim / 2, i;
	float *c = calloc(count * half, sizeof(*c)), *s = calloc(count * half, sizeof(*s));
	double size = 1, a;
	uint64_t p;

	assert_non_null(c);
	assert_non_null(s);
	if (o->scaling == ACCEL_ROTARY_YARN)
		size = o->amplitude ? o->amplitude : 0.1 * log(o->factor) + 1;
	assert_int_equal(accel_rotary_table(o, first, count, c, s), 0);
	for (p = 0; p < count; p++)
		for (i = 0; i < half; i++) {
			/* The angle is known to some units of binary64. */
			double err = (size + (double)(first + p) / (1 << 24)) / (1 << 24);

			a = (double)(first + p) * angle(o, i);
			assert_true(fabs(c[p * half + i] - size * cos(a)) <= err);
			assert_true(fabs(s[p * half + i] - size * sin(a)) <= err);
		}
	free(c);
	free(s);
}

static void test_tables(struct op_env *env)
{
	const double slowest = pow(10000, -126.0 / 128), tiny = 1.0 / (1ull << 40);
	struct accel_rotary_opts o;
	uint32_t scaling;

	for (scaling = 0; scaling < ACCEL_ROTARY_SCALING_COUNT; scaling++) {
		o = table_opts(scaling, 128);
		check_table(&o, 0, 40);
		check_table(&o, 131000, 20);
		o.base = 500000;
		check_table(&o, 1000, 20);
		o.rot_dim = 2;
		check_table(&o, 7, 20);
		env->cases += 4;
	}
	o = table_opts(ACCEL_ROTARY_LLAMA3, 64);
	o.low = 0.5;
	o.high = 16;
	check_table(&o, 0, 50);
	o = table_opts(ACCEL_ROTARY_YARN, 64);
	o.amplitude = 1.5;
	o.low = 2;
	o.high = 64;
	check_table(&o, 0, 50);
	/* Fast pairs stay, slow ones are slowed down: whatever the formula in between. */
	o = table_opts(ACCEL_ROTARY_LLAMA3, 128);
	assert_true(fabs(angle(&o, 0) - 1) < tiny);
	assert_true(fabs(angle(&o, 63) * 8 - slowest) < tiny);
	o = table_opts(ACCEL_ROTARY_YARN, 128);
	assert_true(fabs(angle(&o, 0) - 1) < tiny);
	assert_true(fabs(angle(&o, 63) * 8 - slowest) < tiny);
}

static void test_bad_tables(struct op_env *env)
{
	struct accel_rotary_opts o = table_opts(ACCEL_ROTARY_LLAMA3, 8), b;
	float c[4], s[4];
	uint32_t i;

	assert_int_equal(accel_rotary_table(&o, 0, 1, c, s), 0);
	assert_int_equal(accel_rotary_table(&o, INT32_MAX, 1, c, s), 0);
	assert_int_equal(accel_rotary_table(&o, 0, 0, NULL, NULL), 0);
	assert_int_equal(accel_rotary_table(NULL, 0, 1, c, s), -EINVAL);
	assert_int_equal(accel_rotary_table(&o, 0, 1, NULL, s), -EINVAL);
	assert_int_equal(accel_rotary_table(&o, 0, 1, c, NULL), -EINVAL);
	assert_int_equal(accel_rotary_table(&o, 1ull << 31, 1, c, s), -EINVAL);
	assert_int_equal(accel_rotary_table(&o, INT32_MAX, 2, c, s), -EINVAL);
	assert_int_equal(accel_rotary_table(&o, UINT64_MAX, 2, c, s), -EINVAL);
	for (i = 0; i < 19; i++) {
		b = o;
		if (i >= 13)
			b = table_opts(i < 16 ? ACCEL_ROTARY_PLAIN : ACCEL_ROTARY_YARN, 8);
		switch (i) {
		case 0:
			b.size--;
			break;
		case 1:
			b.scaling = ACCEL_ROTARY_SCALING_COUNT;
			break;
		case 2:
			b.rot_dim = 0;
			break;
		case 3:
			b.rot_dim = 7;
			break;
		case 4:
			b.trained = 0;
			break;
		case 5:
			b.base = -1;
			break;
		case 6:
			b.base = INFINITY;
			break;
		case 7:
			b.factor = 0.5;
			break;
		case 8:
			b.factor = NAN;
			break;
		case 9:
			b.low = 5;
			break;
		case 10:
			b.high = 1;
			break;
		case 11:
			b.amplitude = 1;
			break;
		case 12:
			b.pad = 1;
			break;
		case 13:
			b.factor = 2;
			break;
		case 14:
			b.trained = 1;
			break;
		case 15:
			b.low = 1;
			break;
		case 16:
			b.amplitude = -1;
			break;
		case 17:
			b.base = 1;
			break;
		default:
			b.rot_dim = 1u << 20;
			break;
		}
		assert_int_equal(accel_rotary_table(&b, 0, 1, c, s), -EINVAL);
		env->cases++;
	}
}

/* --- refusals ------------------------------------------------------------------------ */

struct mistake {
	const char *field;
	void (*make)(struct accel_rotary_desc *r);
};

#define MISTAKE(name, code)						\
	static void name(struct accel_rotary_desc *r) { code; }

MISTAKE(bad_flags, r->flags = 2)
MISTAKE(bad_start, r->start = 1)
MISTAKE(start_far, (r->positions = (struct accel_tensor){ 0 }, r->start = 6))
MISTAKE(start_wraps, (r->positions = (struct accel_tensor){ 0 }, r->start = UINT32_MAX))
MISTAKE(a_rank, (r->a.rank = 3, r->a.dims[3] = 0))
MISTAKE(d_rank, (r->d.rank = 3, r->d.dims[3] = 0))
MISTAKE(a_dims, r->a.dims[2] = 4)
MISTAKE(d_overlap, (r->d.flags = ACCEL_TENSOR_STRIDES))
MISTAKE(table_rank, (r->cosines.rank = 1, r->cosines.dims[1] = 0))
MISTAKE(table_type, r->cosines.dtype = ACCEL_S32)
MISTAKE(table_wide, (r->cosines.dims[1] = 5, r->sines.dims[1] = 5))
MISTAKE(sines_rows, r->sines.dims[0] = 7)
MISTAKE(sines_type, r->sines.dtype = ACCEL_S8)
MISTAKE(sines_none, r->sines = (struct accel_tensor){ 0 })
MISTAKE(pos_type, r->positions.dtype = ACCEL_F32)
MISTAKE(pos_rank, (r->positions.rank = 3, r->positions.dims[2] = 3))
MISTAKE(pos_dims, r->positions.dims[1] = 4)
MISTAKE(pos_quant, (r->positions.quant.scheme = ACCEL_QUANT_TENSOR, r->positions.quant.scale = 1))
MISTAKE(pos_left, (r->positions.rank = 0))
MISTAKE(a_quant, (r->a.dtype = ACCEL_S8, r->a.quant.scheme = ACCEL_QUANT_CHANNEL))

static void test_mistakes(struct op_env *env)
{
	static const struct mistake mistakes[] = {
		{ "rotary.flags", bad_flags }, { "rotary.start", bad_start },
		{ "rotary.start", start_far }, { "rotary.start", start_wraps },
		{ "rotary.a.rank", a_rank }, { "rotary.d.rank", d_rank },
		{ "rotary.a.dims[2]", a_dims }, { "rotary.d.strides[0]", d_overlap },
		{ "rotary.cosines.rank", table_rank }, { "rotary.cosines.dtype", table_type },
		{ "rotary.cosines.dims[1]", table_wide }, { "rotary.sines.dims[0]", sines_rows },
		{ "rotary.sines.dtype", sines_type }, { "rotary.sines.dtype", sines_none },
		{ "rotary.positions.dtype", pos_type }, { "rotary.positions.rank", pos_rank },
		{ "rotary.positions.dims[1]", pos_dims },
		{ "rotary.positions.quant.scheme", pos_quant },
		{ "rotary.positions.rank", pos_left }, { "rotary.a.quant.scheme", a_quant },
	};
	const int64_t dims[4] = { 2, 3, 5, 8 }, table[2] = { 8, 4 };
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_rotary_desc r;
	struct accel_plan *plan;
	uint32_t i;

	for (i = 0; i <= ARRAY_SIZE(mistakes); i++) {
		r = (struct accel_rotary_desc)ACCEL_ROTARY_DESC_INIT;
		r.a = accel_tensor_dense(NULL, ACCEL_F32, 4, dims);
		r.d = r.a;
		r.cosines = accel_tensor_dense(NULL, ACCEL_F32, 2, table);
		r.sines = r.cosines;
		r.positions = accel_tensor_dense(NULL, ACCEL_S32, 2, dims);
		if (i == ARRAY_SIZE(mistakes)) {
			/* Without any it is right. */
			assert_int_equal(accel_plan_create(env->ctx, &r.hdr, &plan), 0);
			accel_plan_unref(plan);
			break;
		}
		mistakes[i].make(&r);
		assert_int_equal(accel_plan_create(env->ctx, &r.hdr, &plan), -EINVAL);
		accel_ctx_get_error(env->ctx, &e);
		assert_string_equal(e.field, mistakes[i].field);
		env->cases++;
	}
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "rotary types", test_types },
		{ "rotary sizes", test_sizes },
		{ "rotary random", test_random },
		{ "rotary bad positions", test_bad_positions },
		{ "rotary tables", test_tables },
		{ "rotary bad tables", test_bad_tables },
		{ "rotary mistakes", test_mistakes },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
