// SPDX-License-Identifier: MIT
/*
 * Feed-forward networks: plain and gated, every mixture of types, constant and
 * transposed weights, batches, nothing at all; plans, jobs and their workspace.
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

/**
 * struct ffn_case - an operation; its types, and the scales of bytes in A, 0: any
 */
struct ffn_case {
	uint32_t a, w, hidden, d, scheme;
};

static const struct ffn_case types[] = {
	{ ACCEL_F32, ACCEL_F32, 0, ACCEL_F32 },
	{ ACCEL_F16, ACCEL_F16, 0, ACCEL_F16 },
	{ ACCEL_BF16, ACCEL_BF16, 0, ACCEL_BF16 },
	{ ACCEL_F32, ACCEL_F16, 0, ACCEL_F32 },
	{ ACCEL_F32, ACCEL_BF16, 0, ACCEL_F32 },
	{ ACCEL_F16, ACCEL_F16, ACCEL_F16, ACCEL_F32 },
	{ ACCEL_F32, ACCEL_S8, 0, ACCEL_F32 },
	{ ACCEL_F16, ACCEL_S8, 0, ACCEL_F16 },
	{ ACCEL_F16, ACCEL_S4, 0, ACCEL_F16 },
	{ ACCEL_BF16, ACCEL_U4, 0, ACCEL_F32 },
	{ ACCEL_F16, ACCEL_S8, ACCEL_F32, ACCEL_F32 },
	{ ACCEL_S8, ACCEL_S8, 0, ACCEL_F16 },
	{ ACCEL_S8, ACCEL_S8, ACCEL_S8, ACCEL_S8 },
	{ ACCEL_U8, ACCEL_S8, ACCEL_U8, ACCEL_F32 },
	{ ACCEL_S8, ACCEL_S8, ACCEL_BF16, ACCEL_BF16 },
	{ ACCEL_S8, ACCEL_S8, ACCEL_F32, ACCEL_F32, ACCEL_QUANT_CHANNEL },
	{ ACCEL_S8, ACCEL_S8, ACCEL_F32, ACCEL_F32, ACCEL_QUANT_GROUP },
	{ ACCEL_U8, ACCEL_S4, ACCEL_F16, ACCEL_F16, ACCEL_QUANT_CHANNEL },
	{ ACCEL_S8, ACCEL_S8, ACCEL_S8, ACCEL_S8, ACCEL_QUANT_GROUP },
};

static const struct accel_tensor absent;

static int64_t dim(struct op_case *c)
{
	static const int64_t dims[] = { 1, 2, 3, 5, 8, 16, 17, 24, 31, 33 };

	return op_below(c, 40) ? dims[op_below(c, c->small ? 6 : ARRAY_SIZE(dims))] : 0;
}

static enum op_style style(struct op_case *c, bool input)
{
	return op_below(c, 2) ? OP_DENSE :
	       (enum op_style)op_below(c, input ? OP_STYLES : OP_REPEATED);
}

/* Weights [k, n], or transposed; columns have scales, or groups of rows. */
static void weights(struct op_case *c, struct accel_tensor *t, const struct accel_ffn_desc *d,
		    uint32_t dtype, int64_t k, int64_t n)
{
	bool trans = d->flags & ACCEL_FFN_TRANS, ints = d->a.dtype > ACCEL_BF16 ||
		     d->hidden_dtype > ACCEL_BF16;
	int64_t dims[ACCEL_MAX_RANK];
	uint32_t r = 0, scheme;

	if (d->d.rank > 2 && !op_below(c, 3))
		dims[r++] = op_below(c, 2) ? d->d.dims[d->d.rank - 3] : 1;
	dims[r++] = trans ? n : k;
	dims[r++] = trans ? k : n;
	/* Rows of nibbles end at bytes. */
	op_tensor(c, t, dtype, r, dims, dtype >= ACCEL_S4 ? OP_PADDED : style(c, true));
	if (dtype <= ACCEL_BF16)
		return;
	scheme = ACCEL_QUANT_TENSOR + op_below(c, ints || r > 2 ? 2 : 3);
	op_quantise(c, t, scheme, scheme == ACCEL_QUANT_GROUP ? r - (trans ? 1 : 2) :
		    r - (trans ? 2 : 1), 16, dtype >= ACCEL_S4 ? 0.1 : 0.01,
		    dtype != ACCEL_S8 && op_below(c, 2));
	/* Scales of another tensor's bits serve as minima, too. */
	if (scheme == ACCEL_QUANT_GROUP && op_below(c, 3) == 0) {
		t->quant.scheme = ACCEL_QUANT_GROUP_MIN;
		t->quant.zeros = t->quant.scales;
		t->quant.zeros_offset = t->quant.scales_offset;
	}
}

static void addend(struct op_case *c, struct accel_tensor *t, int64_t rows, int64_t cols)
{
	const int64_t dims[2] = { op_below(c, 2) ? rows : 1, cols };
	uint32_t drop = op_below(c, 2);

	op_tensor(c, t, op_below(c, 2) ? ACCEL_F32 : ACCEL_F16, 2 - drop, dims + drop,
		  style(c, true));
}

/* Bytes with one scale, or as DYNQUANT makes them: with one for each row, or row and group. */
static void quantise_rows(struct op_case *c, struct accel_tensor *t, uint32_t scheme)
{
	uint32_t any = ACCEL_QUANT_TENSOR + op_below(c, t->rank > 2 ? 1 : 3);

	if (!scheme)
		scheme = any;
	op_quantise(c, t, scheme, scheme == ACCEL_QUANT_GROUP ? t->rank - 1 : t->rank - 2, 16,
		    0.01, op_below(c, 2));
}

static void pick_act(struct op_case *c, struct accel_ffn_desc *d)
{
	static const uint32_t acts[] = {
		ACCEL_ACT_RELU, ACCEL_ACT_GELU, ACCEL_ACT_SILU, ACCEL_ACT_GELU_TANH,
		ACCEL_ACT_NONE, ACCEL_ACT_LEAKY_RELU
	};

	d->act = acts[op_below(c, ARRAY_SIZE(acts))];
	if (d->act == ACCEL_ACT_LEAKY_RELU)
		d->p0 = 0.125f;
}

static const struct accel_desc *build(struct op_case *c, const void *arg)
{
	struct accel_ffn_desc *d = calloc(1, sizeof(*d));
	const struct ffn_case *g = arg ? arg : &types[op_below(c, ARRAY_SIZE(types))];
	int64_t dims[ACCEL_MAX_RANK], m = dim(c), k = dim(c), h = dim(c), n = dim(c);
	uint32_t rank = op_below(c, 2) ? 2 : 2 + op_below(c, c->small ? 2 : 3), i;

	assert_non_null(d);
	*d = (struct accel_ffn_desc)ACCEL_FFN_DESC_INIT;
	c->range = 1;
	d->flags = op_below(c, 4);
	pick_act(c, d);
	d->hidden_dtype = g->hidden;
	if (g->hidden > ACCEL_BF16) {
		d->hidden_scale = (float)op_uniform(c, 0.02, 0.1);
		d->hidden_zero = g->hidden == ACCEL_U8 ? 100 : -3;
	}
	for (i = 0; i + 2 < rank; i++)
		dims[i] = 1 + op_below(c, 3);
	dims[rank - 2] = m;
	dims[rank - 1] = k;
	op_tensor(c, &d->a, g->a, rank, dims, style(c, true));
	if (g->a > ACCEL_BF16)
		quantise_rows(c, &d->a, g->scheme);
	dims[rank - 1] = n;
	op_tensor(c, &d->d, g->d, rank, dims, style(c, false));
	if (g->d > ACCEL_BF16)
		op_quantise(c, &d->d, ACCEL_QUANT_TENSOR, 0, 0, 0.1, op_below(c, 2));
	weights(c, &d->up, d, g->w, k, h);
	if (op_below(c, 2))
		weights(c, &d->gate, d, g->w, k, h);
	weights(c, &d->down, d, g->w, h, n);
	if (op_below(c, 2))
		addend(c, &d->up_bias, m, h);
	if (d->gate.rank && op_below(c, 2))
		addend(c, &d->gate_bias, m, h);
	if (op_below(c, 2))
		addend(c, &d->down_bias, m, n);
	if (!op_below(c, 3))
		d->residual = d->d;
	else if (op_below(c, 2))
		addend(c, &d->residual, m, n);
	d->hdr.engine = op_below(c, 2) ? op_below(c, ACCEL_ENGINE_COUNT) : 0;
	return &d->hdr;
}

static void test_types(struct op_env *env)
{
	char what[64];
	uint32_t i, j;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		for (j = 0; j < 8; j++) {
			snprintf(what, sizeof(what), "types %u", i);
			op_run(env, build, &types[i], 7000 + 100 * i + j, what);
		}
}

static void test_random(struct op_env *env)
{
	op_random_cases(env, build, NULL, 300, 21);
}

/* --- plans and jobs ------------------------------------------------------------------ */

/* LLaMA's: [6, 32] in, 80 hidden, no biases. */
static void gated(struct accel_ffn_desc *f, struct accel_bo *bo)
{
	*f = (struct accel_ffn_desc)ACCEL_FFN_DESC_INIT;
	f->hdr.engine = ACCEL_ENGINE_GPU;
	f->act = ACCEL_ACT_SILU;
	f->a = accel_tensor_2d(bo, ACCEL_F32, 6, 32);
	f->up = accel_tensor_2d(bo, ACCEL_F32, 32, 80);
	f->gate = accel_tensor_2d(bo, ACCEL_F32, 32, 80);
	f->down = accel_tensor_2d(bo, ACCEL_F32, 80, 32);
	f->d = accel_tensor_2d(bo, ACCEL_F32, 6, 32);
	f->up.offset = 4096;
	f->gate.offset = 16384;
	f->down.offset = 32768;
	f->d.offset = 49152;
}

static const struct accel_binding *bind(struct accel_bo *bo, uint64_t d)
{
	static struct accel_binding b[5];

	b[0] = (struct accel_binding){ ACCEL_ARG_A, 0, bo, 0 };
	b[1] = (struct accel_binding){ ACCEL_ARG_B, 0, bo, 4096 };
	b[2] = (struct accel_binding){ ACCEL_ARG_C, 0, bo, 16384 };
	b[3] = (struct accel_binding){ ACCEL_ARG_AUX0, 0, bo, 32768 };
	b[4] = (struct accel_binding){ ACCEL_ARG_D, 0, bo, d };
	return b;
}

static void fill(struct accel_bo *bo)
{
	float *p = accel_bo_ptr(bo);
	uint32_t i;

	for (i = 0; i < accel_bo_size(bo) / 4; i++)
		p[i] = (float)(i * 2654435761u >> 8) / (1 << 24) - 0.5f;
}

static uint64_t context_bytes(struct accel_ctx *ctx)
{
	struct accel_memory_stats s = { .size = sizeof(s) };

	assert_int_equal(accel_ctx_get_memory(ctx, &s), 0);
	return s.bo_bytes;
}

static int first_candidate(void *user, const struct accel_candidate *c)
{
	if (c->engine == ACCEL_ENGINE_GPU)
		assert_string_equal(c->algorithm, "products");
	*(uint32_t *)user += c->verdict == ACCEL_CHOSEN;
	return 0;
}

static void test_plan(struct op_env *env)
{
	struct accel_plan_info info = { .size = sizeof(info) };
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_plan *plan, *packed;
	struct accel_ffn_desc f;
	uint32_t chosen = 0;
	struct accel_bo *bo;

	assert_int_equal(accel_bo_create(env->ctx, 65536, NULL, &bo), 0);
	fill(bo);
	gated(&f, bo);
	assert_int_equal(accel_plan_create(env->ctx, &f.hdr, &plan), 0);
	assert_int_equal(accel_plan_get_info(plan, &info), 0);
	assert_int_equal(info.op, ACCEL_OP_FFN);
	assert_int_equal(info.task_count, 3);
	assert_int_equal(info.macs, 3 * 6 * 32 * 80);
	/* A is read twice; G and H lie in the workspace. */
	assert_int_equal(info.read_bytes, 2 * 6 * 32 * 4 + 3 * 32 * 80 * 4);
	assert_int_equal(info.write_bytes, 6 * 32 * 4);
	assert_int_equal(info.workspace_bytes, 2 * 6 * 80 * 4);
	assert_int_equal(accel_plan_explain(plan, first_candidate, &chosen), 0);
	assert_int_equal(chosen, 1);
	/* A bias makes the factor a task. */
	f.up_bias = accel_tensor_2d(bo, ACCEL_F32, 1, 80);
	f.flags = ACCEL_FFN_PACK;
	assert_int_equal(accel_plan_create(env->ctx, &f.hdr, &packed), 0);
	assert_int_equal(accel_plan_get_info(packed, &info), 0);
	assert_int_equal(info.task_count, 4);
	assert_true(info.packed_bytes >= 3 * 32 * 80 * 4);
	accel_plan_unref(packed);
	/* The caller's names in what an engine refuses */
	if (strcmp(env->chip, "full") != 0) {
		f.hdr.engine = ACCEL_ENGINE_MATRIX;
		assert_int_equal(accel_plan_create(env->ctx, &f.hdr, &packed), -EOPNOTSUPP);
		accel_ctx_get_error(env->ctx, &e);
		assert_string_equal(e.field, "ffn.act");
		f.act = ACCEL_ACT_RELU;
		assert_int_equal(accel_plan_create(env->ctx, &f.hdr, &packed), -EOPNOTSUPP);
		accel_ctx_get_error(env->ctx, &e);
		assert_string_equal(e.field, "ffn.hdr.op");
		f.up_bias = absent;
		assert_int_equal(accel_plan_create(env->ctx, &f.hdr, &packed), 0);
		accel_plan_unref(packed);
	}
	accel_plan_unref(plan);
	accel_bo_unref(bo);
}

/* Two of them, in order and not: one workspace or two, the same result. */
static void test_workspace(struct op_env *env)
{
	struct accel_job_opts unordered = ACCEL_JOB_OPTS_INIT;
	uint64_t before, bytes[2];
	struct accel_queue *queue;
	struct accel_fence *fence;
	struct accel_ffn_desc f;
	struct accel_plan *plan;
	struct accel_job *job;
	struct accel_bo *bo;
	uint32_t i, index;
	char *p;

	unordered.flags = ACCEL_JOB_UNORDERED;
	assert_int_equal(accel_bo_create(env->ctx, 65536, NULL, &bo), 0);
	fill(bo);
	gated(&f, NULL);
	assert_int_equal(accel_plan_create(env->ctx, &f.hdr, &plan), 0);
	p = accel_bo_ptr(bo);
	for (i = 0; i < 2; i++) {
		before = context_bytes(env->ctx);
		assert_int_equal(accel_job_create(env->ctx, i ? &unordered : NULL, &job), 0);
		assert_int_equal(accel_job_add(job, plan, bind(bo, 49152), 5, NULL, 0, &index),
				 0);
		assert_int_equal(index, 0);
		assert_int_equal(accel_job_add(job, plan, bind(bo, 53248), 5, NULL, 0, &index),
				 0);
		assert_int_equal(index, 1);
		bytes[i] = context_bytes(env->ctx) - before;
		assert_int_equal(accel_queue_create(env->ctx, NULL, &queue), 0);
		assert_int_equal(accel_queue_submit(queue, job, NULL, &fence), 0);
		assert_int_equal(accel_fence_wait(fence, -1), 0);
		accel_fence_unref(fence);
		assert_int_equal(memcmp(p + 49152, p + 53248, 6 * 32 * 4), 0);
		memset(p + 53248, 0, 6 * 32 * 4);
		accel_queue_destroy(queue);
		accel_job_destroy(job);
		assert_int_equal(context_bytes(env->ctx), before);
	}
	assert_true(bytes[0] > 0);
	assert_int_equal(bytes[1], 2 * bytes[0]);
	/* The result over weights that are read after other parts: refused or not. */
	assert_int_equal(accel_job_create(env->ctx, NULL, &job), 0);
	assert_int_equal(accel_job_add(job, plan, bind(bo, 32768), 5, NULL, 0, NULL), -EINVAL);
	assert_int_equal(accel_job_add(job, plan, bind(bo, 4096), 5, NULL, 0, NULL), 0);
	accel_job_destroy(job);
	accel_plan_unref(plan);
	accel_bo_unref(bo);
	env->cases += 2;
}

/**
 * struct wrong - a descriptor that is not one
 * @field: what must be named
 * @set: makes it so
 */
struct wrong {
	const char *field;
	void (*set)(struct accel_ffn_desc *f);
};

#define WRONG(name, expr)						\
static void wrong_##name(struct accel_ffn_desc *f)			\
{									\
	expr;								\
}

WRONG(flags, f->flags = 4)
WRONG(act, f->act = ACCEL_ACT_COUNT)
WRONG(p0, f->p0 = 1)
WRONG(pad, f->pad = 1)
WRONG(hidden, f->hidden_dtype = ACCEL_S32)
WRONG(scale, f->hidden_scale = 1)
WRONG(zero, f->hidden_zero = 1)
WRONG(no_scale, f->hidden_dtype = ACCEL_S8)
WRONG(range, f->hidden_dtype = ACCEL_S8; f->hidden_scale = 1; f->hidden_zero = 128)
WRONG(hidden_f16, f->hidden_dtype = ACCEL_BF16; f->gate = absent;
	f->a.dtype = f->up.dtype = f->down.dtype = ACCEL_F16)
WRONG(a, f->a.rank = 1; f->a.dims[1] = 0)
WRONG(up, f->up.dims[0] = 31)
WRONG(gate, f->gate.dims[1] = 79)
WRONG(gate_k, f->gate.dims[0] = 33)
WRONG(down, f->down.dims[0] = 79)
WRONG(rows, f->d.dims[0] = 7)
WRONG(cols, f->d.dims[1] = 31)
WRONG(no_gate, f->gate = absent; f->gate_bias = f->up)
WRONG(up_dtype, f->up.dtype = ACCEL_S32)
WRONG(down_dtype, f->down.dtype = ACCEL_S8)
WRONG(bias, f->up_bias = accel_tensor_2d(NULL, ACCEL_F32, 1, 79))
WRONG(gate_bias, f->gate_bias = accel_tensor_2d(NULL, ACCEL_F32, 5, 80))
WRONG(down_bias, f->down_bias = accel_tensor_2d(NULL, ACCEL_F32, 1, 80))
WRONG(residual, f->residual = accel_tensor_2d(NULL, ACCEL_F32, 6, 31))
WRONG(trans, f->flags = ACCEL_FFN_TRANS)
WRONG(pack, f->flags = ACCEL_FFN_PACK; f->up.bo = NULL)

static void test_wrong(struct op_env *env)
{
	static const struct wrong rows[] = {
		{ "ffn.flags", wrong_flags }, { "ffn.act", wrong_act }, { "ffn.p0", wrong_p0 },
		{ "ffn.pad", wrong_pad }, { "ffn.hidden_dtype", wrong_hidden },
		{ "ffn.hidden_scale", wrong_scale }, { "ffn.hidden_zero", wrong_zero },
		{ "ffn.hidden_scale", wrong_no_scale }, { "ffn.hidden_zero", wrong_range },
		{ "ffn.hidden_dtype", wrong_hidden_f16 },
		{ "ffn.a.rank", wrong_a }, { "ffn.up.dims[0]", wrong_up },
		{ "ffn.gate.dims[1]", wrong_gate }, { "ffn.gate.dims[0]", wrong_gate_k },
		{ "ffn.down.dims[0]", wrong_down }, { "ffn.d.dims[0]", wrong_rows },
		{ "ffn.d.dims[1]", wrong_cols }, { "ffn.gate_bias.rank", wrong_no_gate },
		{ "ffn.up.dtype", wrong_up_dtype }, { "ffn.down.quant.scheme", wrong_down_dtype },
		{ "ffn.up_bias.dims[1]", wrong_bias },
		{ "ffn.gate_bias.dims[0]", wrong_gate_bias },
		{ "ffn.down_bias.dims[1]", wrong_down_bias },
		{ "ffn.residual.dims[1]", wrong_residual },
		{ "ffn.up.dims[1]", wrong_trans }, { "ffn.up.bo", wrong_pack },
	};
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_ffn_desc f;
	struct accel_plan *plan;
	struct accel_bo *bo;
	uint32_t i;

	assert_int_equal(accel_bo_create(env->ctx, 65536, NULL, &bo), 0);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		gated(&f, bo);
		rows[i].set(&f);
		if (accel_plan_create(env->ctx, &f.hdr, &plan) != -EINVAL)
			fail_msg("%s is not refused", rows[i].field);
		accel_ctx_get_error(env->ctx, &e);
		if (strcmp(e.field, rows[i].field) != 0)
			fail_msg("%s, not %s: %s", rows[i].field, e.field, e.text);
	}
	accel_bo_unref(bo);
	env->cases += ARRAY_SIZE(rows);
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "ffn of each type", test_types },
		{ "ffn random", test_random },
		{ "ffn plan", test_plan },
		{ "ffn workspace", test_workspace },
		{ "ffn wrong", test_wrong },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
