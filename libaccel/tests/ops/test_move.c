// SPDX-License-Identifier: MIT
/*
 * Concatenation, splitting, padding: strided, quantised, converted, empty; what
 * cannot be done, and what lies over what.
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

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define ANY	-1

/**
 * struct move_case - an operation; -1: at random
 */
struct move_case {
	int dtype;
	int mode;
	bool special;
};

static uint32_t pick_dtype(struct op_case *c, int wanted)
{
	return wanted == ANY ? 1 + op_below(c, ACCEL_U4) : (uint32_t)wanted;
}

/* Rows of nibbles begin at bytes, and so do pieces of them. */
static int64_t dim_of(struct op_case *c, bool nibbles)
{
	int64_t n = op_below(c, c->small ? 6 : 12);

	return nibbles ? n & ~1ll : n;
}

static enum op_style pick_style(struct op_case *c, bool input)
{
	return op_below(c, 2) ? OP_DENSE :
	       (enum op_style)op_below(c, input ? OP_STYLES : OP_REPEATED);
}

/* One scale for the tensor, or one for each index of a dimension but @axis. */
static void pick_quant(struct op_case *c, struct accel_tensor *t, uint32_t axis)
{
	uint32_t by = op_below(c, t->rank), scheme = op_below(c, 3);

	if (t->dtype <= ACCEL_BF16 || op_below(c, 2))
		return;
	if (scheme == ACCEL_QUANT_CHANNEL && by == axis)
		scheme = ACCEL_QUANT_TENSOR;
	op_quantise(c, t, scheme, by, 0, t->dtype >= ACCEL_S4 ? 0.3 : 0.02,
		    t->dtype != ACCEL_S32 && op_below(c, 2));
}

static uint32_t pick_dims(struct op_case *c, int64_t *dims, bool nibbles)
{
	uint32_t rank = 1 + op_below(c, c->small ? 3 : 5), i;

	for (i = 0; i < rank; i++)
		dims[i] = i == rank - 1 ? dim_of(c, nibbles) : 1 + op_below(c, 5);
	return rank;
}

/* The dimensions of @count pieces along @axis add up to that of the whole. */
static uint32_t pick_pieces(struct op_case *c, int64_t *sizes, int64_t *sum, bool nibbles)
{
	uint32_t count = 1 + op_below(c, ACCEL_CONCAT_MAX), i;

	*sum = 0;
	for (i = 0; i < count; i++) {
		sizes[i] = op_below(c, 5) ? 2 * op_below(c, 5) + !nibbles : 0;
		*sum += sizes[i];
	}
	return count;
}

static const struct accel_desc *build_concat(struct op_case *c, const void *arg)
{
	struct accel_concat_desc *d = calloc(1, sizeof(*d));
	const struct move_case *g = arg;
	int64_t dims[ACCEL_MAX_RANK], sizes[ACCEL_CONCAT_MAX] = { 0 }, sum;
	uint32_t dtype, t, rank, i;

	assert_non_null(d);
	*d = (struct accel_concat_desc)ACCEL_CONCAT_DESC_INIT;
	dtype = pick_dtype(c, g->dtype);
	c->special = g->special;
	rank = pick_dims(c, dims, true);
	d->axis = op_below(c, rank);
	d->count = pick_pieces(c, sizes, &sum, true);
	dims[d->axis] = sum;
	op_tensor(c, &d->d, dtype, rank, dims, pick_style(c, false));
	/* Scales along the axis are sliced like the elements, if they are ints. */
	pick_quant(c, &d->d, op_below(c, 2) ? d->axis : rank);
	for (i = 0; i < d->count; i++) {
		dims[d->axis] = sizes[i];
		t = op_below(c, 2) ? dtype : pick_dtype(c, ANY);
		op_tensor(c, &d->a[i], t, rank, dims, pick_style(c, true));
		if (op_below(c, 2))
			pick_quant(c, &d->a[i], rank);
	}
	d->hdr.engine = op_below(c, 2) ? op_below(c, ACCEL_ENGINE_COUNT) : 0;
	return &d->hdr;
}

static const struct accel_desc *build_split(struct op_case *c, const void *arg)
{
	struct accel_split_desc *d = calloc(1, sizeof(*d));
	const struct move_case *g = arg;
	int64_t dims[ACCEL_MAX_RANK], sizes[ACCEL_CONCAT_MAX] = { 0 }, sum;
	uint32_t dtype, t, rank, i;

	assert_non_null(d);
	*d = (struct accel_split_desc)ACCEL_SPLIT_DESC_INIT;
	dtype = pick_dtype(c, g->dtype);
	c->special = g->special;
	rank = pick_dims(c, dims, true);
	d->axis = op_below(c, rank);
	d->count = pick_pieces(c, sizes, &sum, true);
	dims[d->axis] = sum;
	op_tensor(c, &d->a, dtype, rank, dims, pick_style(c, true));
	pick_quant(c, &d->a, op_below(c, 2) ? d->axis : rank);
	for (i = 0; i < d->count; i++) {
		dims[d->axis] = sizes[i];
		t = op_below(c, 2) ? dtype : pick_dtype(c, ANY);
		op_tensor(c, &d->d[i], t, rank, dims, pick_style(c, false));
		if (op_below(c, 2))
			pick_quant(c, &d->d[i], rank);
	}
	d->hdr.engine = op_below(c, 2) ? op_below(c, ACCEL_ENGINE_COUNT) : 0;
	return &d->hdr;
}

static const struct accel_desc *build_pad(struct op_case *c, const void *arg)
{
	struct accel_pad_desc *d = calloc(1, sizeof(*d));
	const struct move_case *g = arg;
	int64_t dims[ACCEL_MAX_RANK], most;
	uint32_t dtype, from, rank, by, i;
	bool nibbles;

	assert_non_null(d);
	*d = (struct accel_pad_desc)ACCEL_PAD_DESC_INIT;
	dtype = pick_dtype(c, g->dtype);
	c->special = g->special;
	d->mode = g->mode == ANY ? op_below(c, ACCEL_PAD_COUNT) : (uint32_t)g->mode;
	rank = pick_dims(c, dims, true);
	from = op_below(c, 3) ? dtype : pick_dtype(c, ANY);
	nibbles = dtype >= ACCEL_S4 || from >= ACCEL_S4;
	op_tensor(c, &d->a, from, rank, dims, nibbles ? OP_PADDED : pick_style(c, true));
	pick_quant(c, &d->a, rank);
	/* What is mirrored or repeated cannot have scales along that dimension. */
	by = d->mode != ACCEL_PAD_CONSTANT && d->a.quant.scheme == ACCEL_QUANT_CHANNEL ?
	     d->a.quant.axis : rank;
	for (i = 0; i < rank; i++) {
		most = d->mode == ACCEL_PAD_CONSTANT || d->mode == ACCEL_PAD_EDGE ? 5 :
		       dims[i] - (d->mode == ACCEL_PAD_REFLECT);
		if (d->mode != ACCEL_PAD_CONSTANT && !dims[i])
			most = 0;
		if (op_below(c, 3) && most > 0 && i != by) {
			d->before[i] = op_below(c, (uint32_t)most + 1);
			d->after[i] = op_below(c, (uint32_t)most + 1);
		}
		if (i == rank - 1 && nibbles) {
			/* Nibbles come in pairs, and pieces begin with one. */
			d->before[i] &= d->mode == ACCEL_PAD_CONSTANT ? ~1ll : 0;
			d->after[i] &= d->mode == ACCEL_PAD_CONSTANT ? ~1ll : 0;
		}
		dims[i] += d->before[i] + d->after[i];
	}
	op_tensor(c, &d->d, dtype, rank, dims, nibbles ? OP_PADDED : pick_style(c, false));
	if (dtype > ACCEL_BF16 && op_below(c, 2))
		op_quantise(c, &d->d, d->mode && op_below(c, 2) ? ACCEL_QUANT_CHANNEL :
			    ACCEL_QUANT_TENSOR, op_below(c, rank), 0, 0.1,
			    dtype != ACCEL_S32);
	if (d->mode == ACCEL_PAD_CONSTANT)
		d->value = op_below(c, 3) ? op_uniform(c, -40, 40) : 0;
	d->hdr.engine = op_below(c, 2) ? op_below(c, ACCEL_ENGINE_COUNT) : 0;
	return &d->hdr;
}

/* --- tests ------------------------------------------------------------------------- */

static void each_type(struct op_env *env, op_build_fn *build, const char *name,
		      uint64_t seed)
{
	char what[64];
	uint32_t j;
	int type;

	for (type = ACCEL_F32; type <= ACCEL_U4; type++)
		for (j = 0; j < 8; j++) {
			struct move_case g = { type, (int)j % ACCEL_PAD_COUNT, j & 4 };

			snprintf(what, sizeof(what), "%s %d", name, type);
			op_run(env, build, &g, seed + 100 * (uint32_t)type + j, what);
		}
}

static void test_concat(struct op_env *env)
{
	struct move_case g = { ANY, ANY, true };

	each_type(env, build_concat, "concat", 1000);
	op_random_cases(env, build_concat, &g, 300, 11);
}

static void test_split(struct op_env *env)
{
	struct move_case g = { ANY, ANY, true };

	each_type(env, build_split, "split", 3000);
	op_random_cases(env, build_split, &g, 300, 12);
}

static void test_pad(struct op_env *env)
{
	struct move_case g = { ANY, ANY, true };

	each_type(env, build_pad, "pad", 5000);
	op_random_cases(env, build_pad, &g, 400, 13);
}

static void expect_error(struct accel_ctx *ctx, const struct accel_desc *desc, int code,
			 const char *field)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	int ret = accel_run(ctx, desc);

	accel_ctx_get_error(ctx, &e);
	if (ret != code || strcmp(e.field, field) != 0)
		fail_msg("%s: %s, wanted %s (%s) and not %s: %s", field, strerror(-ret),
			 strerror(-code), field, e.field, e.text);
}

/* D over an input: in its own place, in another's, behind one that is still read. */
static void test_overlap(struct op_env *env)
{
	struct accel_concat_desc c = ACCEL_CONCAT_DESC_INIT;
	struct accel_split_desc s = ACCEL_SPLIT_DESC_INIT;
	struct accel_bo *bo;
	float *p;
	int i;

	assert_int_equal(accel_bo_create(env->ctx, 4096, NULL, &bo), 0);
	p = accel_bo_ptr(bo);
	for (i = 0; i < 24; i++)
		p[i] = (float)i;
	c.count = 2;
	c.axis = 1;
	c.d = accel_tensor_2d(bo, ACCEL_F32, 4, 6);
	/* Both are where they should be already. */
	assert_int_equal(accel_tensor_slice(&c.d, 1, 0, 2, 1, &c.a[0]), 0);
	assert_int_equal(accel_tensor_slice(&c.d, 1, 2, 4, 1, &c.a[1]), 0);
	assert_int_equal(accel_run(env->ctx, &c.hdr), 0);
	for (i = 0; i < 24; i++)
		assert_true(p[i] == (float)i);
	/* The first piece of D would be written over what is read later. */
	assert_int_equal(accel_tensor_slice(&c.d, 1, 4, 2, 1, &c.a[0]), 0);
	assert_int_equal(accel_tensor_slice(&c.d, 1, 0, 4, 1, &c.a[1]), 0);
	expect_error(env->ctx, &c.hdr, -EINVAL, "concat.a[1].offset");
	/* Two results in one place. */
	s.count = 2;
	s.a = accel_tensor_2d(bo, ACCEL_F32, 4, 6);
	s.d[0] = accel_tensor_2d(bo, ACCEL_F32, 2, 6);
	s.d[1] = s.d[0];
	s.d[0].offset = 1024;
	s.d[1].offset = 1040;
	expect_error(env->ctx, &s.hdr, -EINVAL, "split.d[1].offset");
	s.d[1].offset = 2048;
	assert_int_equal(accel_run(env->ctx, &s.hdr), 0);
	for (i = 0; i < 12; i++)
		assert_true(p[256 + i] == p[i] && p[512 + i] == p[12 + i]);
	accel_bo_unref(bo);
	env->cases += 2;
}

/* What a plan of several tasks says of itself. */
static void test_info(struct op_env *env)
{
	struct accel_plan_info info = { .size = sizeof(info) };
	struct accel_concat_desc c = ACCEL_CONCAT_DESC_INIT;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_binding b[3];
	struct accel_plan *plan;
	struct accel_job *job;
	struct accel_bo *bo;
	uint32_t index;

	c.count = 2;
	c.a[0] = accel_tensor_2d(NULL, ACCEL_F16, 3, 5);
	c.a[1] = accel_tensor_2d(NULL, ACCEL_F16, 7, 5);
	c.d = accel_tensor_2d(NULL, ACCEL_F16, 10, 5);
	c.hdr.engine = ACCEL_ENGINE_GPU;
	assert_int_equal(accel_plan_create(env->ctx, &c.hdr, &plan), 0);
	assert_int_equal(accel_plan_get_info(plan, &info), 0);
	assert_int_equal(info.op, ACCEL_OP_CONCAT);
	assert_int_equal(info.engine, ACCEL_ENGINE_GPU);
	assert_int_equal(info.task_count, 2);
	assert_int_equal(info.macs, 50);
	assert_int_equal(info.read_bytes, 100);
	assert_int_equal(info.write_bytes, 100);
	assert_int_equal(info.workspace_bytes, 0);
	assert_true(info.estimate_ns > 0);
	/* Its arguments are the caller's tensors. */
	assert_int_equal(accel_bo_create(env->ctx, 4096, NULL, &bo), 0);
	b[0] = (struct accel_binding){ ACCEL_ARG_D, 0, bo, 0 };
	b[1] = (struct accel_binding){ ACCEL_ARG_A, 0, bo, 1024 };
	b[2] = (struct accel_binding){ ACCEL_ARG_B, 0, bo, 4096 - 69 };
	assert_int_equal(accel_job_create(env->ctx, NULL, &job), 0);
	assert_int_equal(accel_job_add(job, plan, b, 3, NULL, 0, NULL), -EINVAL);
	accel_ctx_get_error(env->ctx, &e);
	assert_string_equal(e.field, "bindings[2].offset");
	assert_non_null(strstr(e.text, "a[1]"));
	b[2].offset = 2047;
	assert_int_equal(accel_job_add(job, plan, b, 3, NULL, 0, NULL), -EINVAL);
	b[2].offset = 2048;
	assert_int_equal(accel_job_add(job, plan, b, 3, NULL, 0, &index), 0);
	assert_int_equal(index, 0);
	assert_int_equal(accel_job_add(job, plan, b, 3, NULL, 0, &index), 0);
	assert_int_equal(index, 1);
	accel_job_destroy(job);
	accel_bo_unref(bo);
	accel_plan_unref(plan);
	/* The field and the engine are those of the whole. */
	c.hdr.engine = ACCEL_ENGINE_NEURAL;
	c.a[1].dtype = ACCEL_F32;
	if (!strcmp(env->chip, "full"))
		return;
	expect_error(env->ctx, &c.hdr, -EINVAL, "concat.d.bo");
	assert_int_equal(accel_plan_create(env->ctx, &c.hdr, &plan), -EOPNOTSUPP);
	accel_ctx_get_error(env->ctx, &e);
	assert_string_equal(e.field, "concat.a[1].dtype");
	assert_non_null(strstr(e.text, "gpu"));
}

/* Three descriptors that are right, and changes that make each wrong. */
struct moves {
	struct accel_concat_desc c;
	struct accel_split_desc s;
	struct accel_pad_desc p;
};

static void moves_init(struct moves *m)
{
	const int64_t half[2] = { 2, 6 };

	*m = (struct moves){
		ACCEL_CONCAT_DESC_INIT, ACCEL_SPLIT_DESC_INIT, ACCEL_PAD_DESC_INIT
	};
	m->c.count = 2;
	m->c.a[0] = accel_tensor_dense(NULL, ACCEL_S8, 2, half);
	m->c.a[1] = m->c.a[0];
	m->c.d = accel_tensor_2d(NULL, ACCEL_S8, 4, 6);
	m->s.count = 2;
	m->s.a = m->c.d;
	m->s.d[0] = m->c.a[0];
	m->s.d[1] = m->c.a[0];
	m->p.a = m->c.a[0];
	m->p.d = accel_tensor_2d(NULL, ACCEL_S8, 4, 6);
	m->p.before[0] = 1;
	m->p.after[0] = 1;
}

#define WRONG(name, expr)						\
static const struct accel_desc *wrong_##name(struct moves *m)		\
{									\
	expr;								\
	return (#name)[0] == 'c' ? &m->c.hdr : (#name)[0] == 's' ?	\
	       &m->s.hdr : &m->p.hdr;					\
}

WRONG(c_count, m->c.count = 0)
WRONG(c_more, m->c.count = ACCEL_CONCAT_MAX + 1)
WRONG(c_left, m->c.count = 1; m->c.d.dims[0] = 2)
WRONG(c_axis, m->c.axis = 2)
WRONG(c_sum, m->c.d.dims[0] = 5)
WRONG(c_dims, m->c.a[1].dims[1] = 5)
WRONG(c_rank, m->c.a[1].rank = 3; m->c.a[1].dims[2] = 1)
WRONG(c_dtype, m->c.a[0].dtype = 99)
WRONG(s_count, m->s.count = 9)
WRONG(s_axis, m->s.axis = 5)
WRONG(s_sum, m->s.a.dims[0] = 3)
WRONG(s_dims, m->s.d[0].dims[1] = 7)
WRONG(s_self, m->s.d[1].flags = ACCEL_TENSOR_STRIDES)
WRONG(p_mode, m->p.mode = ACCEL_PAD_COUNT)
WRONG(p_pad, m->p.pad = 1)
WRONG(p_value, m->p.mode = ACCEL_PAD_EDGE; m->p.value = 1)
WRONG(p_before, m->p.before[1] = -1)
WRONG(p_after, m->p.after[4] = 1)
WRONG(p_dims, m->p.d.dims[0] = 5)
WRONG(p_reflect, m->p.mode = ACCEL_PAD_REFLECT; m->p.before[0] = 2; m->p.after[0] = 0)
WRONG(p_rank, m->p.a.rank = 1; m->p.a.dims[1] = 0)

static void test_wrong(struct op_env *env)
{
	static const struct {
		const char *field;
		const struct accel_desc *(*set)(struct moves *m);
	} rows[] = {
		{ "concat.count", wrong_c_count }, { "concat.count", wrong_c_more },
		{ "concat.a[1].rank", wrong_c_left }, { "concat.axis", wrong_c_axis },
		{ "concat.d.dims[0]", wrong_c_sum }, { "concat.a[1].dims[1]", wrong_c_dims },
		{ "concat.a[1].rank", wrong_c_rank }, { "concat.a[0].dtype", wrong_c_dtype },
		{ "split.count", wrong_s_count }, { "split.axis", wrong_s_axis },
		{ "split.a.dims[0]", wrong_s_sum }, { "split.d[0].dims[1]", wrong_s_dims },
		{ "split.d[1].strides[0]", wrong_s_self }, { "pad.mode", wrong_p_mode },
		{ "pad.pad", wrong_p_pad }, { "pad.value", wrong_p_value },
		{ "pad.before[1]", wrong_p_before }, { "pad.after[4]", wrong_p_after },
		{ "pad.d.dims[0]", wrong_p_dims }, { "pad.before[0]", wrong_p_reflect },
		{ "pad.a.rank", wrong_p_rank },
	};
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_plan *plan;
	struct moves m;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		moves_init(&m);
		if (accel_plan_create(env->ctx, rows[i].set(&m), &plan) != -EINVAL)
			fail_msg("%s is not refused", rows[i].field);
		accel_ctx_get_error(env->ctx, &e);
		if (strcmp(e.field, rows[i].field) != 0)
			fail_msg("%s, not %s: %s", rows[i].field, e.field, e.text);
	}
	env->cases += ARRAY_SIZE(rows);
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "concat", test_concat },
		{ "split", test_split },
		{ "pad", test_pad },
		{ "overlap", test_overlap },
		{ "plans of several tasks", test_info },
		{ "wrong", test_wrong },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
