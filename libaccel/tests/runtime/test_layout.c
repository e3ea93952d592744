// SPDX-License-Identifier: MIT
/*
 * Layouts that are left to the plan: what it chooses is told, bound and used, and gives
 * what dense tensors give; what chooses none refuses it by name.
 */
#include "rt.h"

union desc {
	struct accel_desc hdr;
	struct accel_gemm_desc gemm;
	struct accel_conv_desc conv;
	struct accel_pool_desc pool;
	struct accel_softmax_desc softmax;
	struct accel_ffn_desc ffn;
	struct accel_norm_desc norm;
	struct accel_pad_desc pad;
};

static struct accel_tensor any(uint32_t dtype, uint32_t rank, const int64_t *dims)
{
	struct accel_tensor t = accel_tensor_dense(NULL, dtype, rank, dims);

	t.flags = ACCEL_TENSOR_ANY;
	return t;
}

#define ANY(dtype, ...) \
	any(ACCEL_##dtype, sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), \
	    (const int64_t[]){ __VA_ARGS__ })

static void conv(union desc *d)
{
	d->conv = (struct accel_conv_desc)ACCEL_CONV_DESC_INIT;
	d->conv.a = ANY(U8, 2, 24, 9, 10);
	d->conv.b = ANY(S8, 40, 24, 3, 3);
	d->conv.d = ANY(S32, 2, 40, 7, 8);
}

static void pointwise(union desc *d)
{
	conv(d);
	d->conv.b = ANY(S8, 40, 24, 1, 1);
	d->conv.d = ANY(S32, 2, 40, 9, 10);
}

static void last(union desc *d)
{
	conv(d);
	d->conv.flags = ACCEL_CONV_NHWC;
	d->conv.a = ANY(U8, 2, 9, 10, 24);
	d->conv.d = ANY(S32, 2, 7, 8, 40);
}

static void transposed(union desc *d)
{
	conv(d);
	d->conv.flags = ACCEL_CONV_TRANSPOSED;
	d->conv.b = ANY(S8, 24, 40, 3, 3);
	d->conv.d = ANY(S32, 2, 40, 11, 12);
}

static void line(union desc *d)
{
	conv(d);
	d->conv.a = ANY(U8, 2, 24, 30);
	d->conv.b = ANY(S8, 40, 24, 3);
	d->conv.d = ANY(S32, 2, 40, 28);
}

static void gemm(union desc *d)
{
	d->gemm = (struct accel_gemm_desc)ACCEL_GEMM_DESC_INIT;
	d->gemm.a = ANY(S8, 5, 300);
	d->gemm.b = ANY(S8, 300, 1024);
	d->gemm.d = ANY(S32, 5, 1024);
}

static void gemm_turned(union desc *d)
{
	gemm(d);
	d->gemm.flags = ACCEL_GEMM_TRANS_A | ACCEL_GEMM_TRANS_B;
	d->gemm.a = ANY(S8, 300, 5);
	d->gemm.b = ANY(S8, 1024, 300);
}

static void gemm_some(union desc *d)
{
	gemm(d);
	d->gemm.a.flags = 0;
	d->gemm.b.flags = 0;
}

static void gemm_batched(union desc *d)
{
	gemm(d);
	d->gemm.a = ANY(S8, 3, 5, 300);
	d->gemm.d = ANY(S32, 3, 5, 1024);
}

static void vector(union desc *d)
{
	gemm(d);
	d->gemm.a = ANY(S8, 300);
	d->gemm.d = ANY(S32, 1024);
}

static void pool(union desc *d)
{
	d->pool = (struct accel_pool_desc)ACCEL_POOL_DESC_INIT;
	d->pool.kernel[0] = 3;
	d->pool.kernel[1] = 3;
	d->pool.a = ANY(U8, 2, 24, 9, 10);
	d->pool.d = ANY(U8, 2, 24, 7, 8);
}

static const struct {
	const char *name;
	void (*make)(union desc *d);
} operations[] = {
	{ "convolution", conv }, { "1x1", pointwise }, { "channels last", last },
	{ "transposed", transposed }, { "line", line }, { "product", gemm },
	{ "product of turned matrices", gemm_turned }, { "product with a free result", gemm_some },
	{ "batch", gemm_batched }, { "vector", vector }, { "pool", pool },
};

/* --- elements, by their indices ---------------------------------------------------- */

static uint64_t count(const struct accel_tensor *t)
{
	uint64_t n = 1;
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		n *= (uint64_t)t->dims[i];
	return n;
}

/* Element @n in the order of the dimensions. */
static uint8_t *element(const struct accel_tensor *t, uint64_t n)
{
	int64_t at = 0, step = 1;
	uint32_t i;

	for (i = t->rank; i-- > 0;) {
		at += (int64_t)(n % (uint64_t)t->dims[i]) *
		      (t->flags & ACCEL_TENSOR_STRIDES ? t->strides[i] : step);
		n /= (uint64_t)t->dims[i];
		step *= t->dims[i];
	}
	return (uint8_t *)accel_bo_ptr(t->bo) + t->offset +
	       at * (int64_t)(accel_dtype_bits(t->dtype) / 8);
}

static struct accel_tensor *at(union desc *d, uint64_t offset)
{
	return (struct accel_tensor *)((char *)d + offset);
}

static void plan_of(struct rt *rt, const union desc *d, struct accel_plan **plan)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	if (!accel_plan_create(rt->ctx, &d->hdr, plan))
		return;
	accel_ctx_get_error(rt->ctx, &e);
	fail_msg("%s: %s", e.field, e.text);
}

/*
 * What the plan says of its arguments is bound, inputs where their strides are; then the
 * same densely: the results are the same numbers.
 */
static void run_both(struct rt *rt, union desc *d, const char *name)
{
	struct accel_arg_info info = { .size = sizeof(info) };
	struct accel_job *job = rt_job(rt->ctx, 0);
	struct accel_tensor result = ACCEL_TENSOR_INIT;
	uint64_t where = 0, i, n;
	struct accel_bo *bos[8];
	union desc dense = *d, said = *d;
	struct accel_plan *plan;
	uint32_t args;

	plan_of(rt, d, &plan);
	for (args = 0; !accel_plan_get_arg(plan, args, &info); args++) {
		struct accel_tensor *own = at(&said, info.field_offset);
		struct accel_tensor *t = at(&dense, info.field_offset);
		uint64_t bytes;

		assert_int_equal(at(d, info.field_offset)->flags & ACCEL_TENSOR_ANY,
				 info.tensor.flags & ACCEL_TENSOR_ANY);
		if (info.tensor.flags & ACCEL_TENSOR_ANY)
			assert_true(info.tensor.flags & ACCEL_TENSOR_STRIDES);
		assert_int_equal(accel_tensor_bytes(&info.tensor, &bytes), 0);
		assert_int_equal(bytes, info.bytes);
		bos[args] = rt_bo(rt->ctx, 2 * info.bytes + 65536);
		info.tensor.bo = bos[args];
		own->bo = bos[args];
		t->bo = bos[args];
		t->offset = (info.bytes + 63) & ~63ull;
		t->flags &= ~ACCEL_TENSOR_ANY;
		if (info.flags & ACCEL_ARG_WRITTEN) {
			result = info.tensor;
			where = info.field_offset;
			continue;
		}
		n = count(t);
		for (i = 0; i < n; i++) {
			*element(&info.tensor, i) = (uint8_t)(i * 37 + (i >> 5));
			*element(t, i) = (uint8_t)(i * 37 + (i >> 5));
		}
	}
	assert_int_equal(accel_job_add_desc(job, plan, &said.hdr, NULL, 0, NULL), 0);
	rt_run(rt->queue, job);
	assert_int_equal(accel_run(rt->ctx, &dense.hdr), 0);
	n = count(&result);
	for (i = 0; i < n; i++)
		if (memcmp(element(&result, i), element(at(&dense, where), i),
			   accel_dtype_bits(result.dtype) / 8) != 0)
			fail_msg("%s: element %llu differs", name, (unsigned long long)i);

	/* The strides that the plan has said may be said, but no others. */
	accel_job_destroy(job);
	job = rt_job(rt->ctx, 0);
	memcpy(at(&said, where)->strides, result.strides, sizeof(result.strides));
	at(&said, where)->flags |= ACCEL_TENSOR_STRIDES;
	assert_int_equal(accel_job_add_desc(job, plan, &said.hdr, NULL, 0, NULL), 0);
	at(&said, where)->strides[0] += 64;
	assert_true(accel_job_add_desc(job, plan, &said.hdr, NULL, 0, NULL) == -EINVAL);
	accel_job_destroy(job);
	while (args)
		accel_bo_unref(bos[--args]);
	accel_plan_unref(plan);
}

static void test_same(void **state)
{
	static const uint32_t engines[] = { ACCEL_ENGINE_AUTO, ACCEL_ENGINE_GPU,
					    ACCEL_ENGINE_MATRIX };
	union desc d;
	uint32_t i, k;

	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		for (k = 0; k < 3; k++) {
			operations[i].make(&d);
			/* A matrix unit does not pool. */
			if (engines[k] == ACCEL_ENGINE_MATRIX && d.hdr.op == ACCEL_OP_POOL)
				continue;
			d.hdr.engine = engines[k];
			run_both(*state, &d, operations[i].name);
		}
	}
}

/* --- what is chosen ------------------------------------------------------------------ */

static void arg(struct accel_plan *plan, const char *name, struct accel_arg_info *info)
{
	uint32_t i;

	*info = (struct accel_arg_info){ .size = sizeof(*info) };
	for (i = 0; !accel_plan_get_arg(plan, i, info); i++)
		if (!strcmp(info->name, name))
			return;
	fail_msg("no argument %s", name);
}

static int keep_text(void *user, const struct accel_candidate *c)
{
	if (c->verdict == ACCEL_CHOSEN)
		snprintf(user, sizeof(c->text), "%s", c->text);
	return 0;
}

static void test_choice(void **state)
{
	struct rt *rt = *state;
	struct accel_arg_info info;
	struct accel_plan *plan;
	char text[256] = "";
	union desc d;

	/* Channels side by side. */
	conv(&d);
	plan_of(rt, &d, &plan);
	arg(plan, "conv.a", &info);
	assert_int_equal(info.tensor.strides[1], 1);
	assert_int_equal(info.tensor.strides[3], 24);
	arg(plan, "conv.d", &info);
	assert_int_equal(info.tensor.strides[1], 1);
	assert_int_equal(accel_plan_explain(plan, keep_text, text), 0);
	assert_non_null(strstr(text, "conv.a has strides 2160, 1, 240, 24"));
	accel_plan_unref(plan);
	text[0] = 0;
	assert_int_equal(accel_explain(rt->ctx, &d.hdr, keep_text, text), 0);
	assert_non_null(strstr(text, "conv.a has strides 2160, 1, 240, 24"));

	/* Rows of 4096 bytes lie a line further, those of 300 at lines. */
	gemm(&d);
	plan_of(rt, &d, &plan);
	arg(plan, "gemm.d", &info);
	assert_int_equal(info.tensor.strides[0], 1024 + 16);
	assert_int_equal(info.bytes, (4 * (1024 + 16) + 1024) * 4);
	arg(plan, "gemm.a", &info);
	assert_int_equal(info.tensor.strides[0], 320);
	accel_plan_unref(plan);
}

static void test_small_buffer(void **state)
{
	struct accel_binding b[3];
	struct rt *rt = *state;
	struct accel_plan *plan;
	struct accel_job *job;
	struct accel_bo *bo;
	union desc d;

	gemm(&d);
	plan_of(rt, &d, &plan);
	job = rt_job(rt->ctx, 0);
	bo = rt_bo(rt->ctx, 1 << 20);
	b[0] = (struct accel_binding){ ACCEL_ARG_A, 0, bo, 0 };
	b[1] = (struct accel_binding){ ACCEL_ARG_B, 0, bo, 4096 };
	/* Enough for a dense one. */
	b[2] = (struct accel_binding){ ACCEL_ARG_D, 0, bo, (1 << 20) - 5 * 1024 * 4 };
	assert_fails(rt->ctx, accel_job_add(job, plan, b, 3, NULL, 0, NULL), -EINVAL,
		     "bindings[2].offset");
	accel_bo_unref(bo);
	accel_job_destroy(job);
	accel_plan_unref(plan);
}

static void test_refused(void **state)
{
	struct accel_plan *plan = NULL;
	struct rt *rt = *state;
	struct accel_bo *bo = rt_bo(rt->ctx, 1 << 20);
	struct accel_cost cost = { .size = sizeof(cost) };
	/* No two neighbours beside the channels are one in memory: a task for each image. */
	const struct accel_tensor strided = {
		.dtype = ACCEL_F32, .rank = 5, .flags = ACCEL_TENSOR_STRIDES,
		.dims = { 3, 8, 4, 5, 6 }, .strides = { 960, 120, 1, 4, 20 },
	};
	union desc d;
	uint64_t bytes;

	d.softmax = (struct accel_softmax_desc)ACCEL_SOFTMAX_DESC_INIT;
	d.softmax.a = ANY(F32, 5, 6);
	d.softmax.d = ANY(F32, 5, 6);
	d.softmax.d.flags = 0;
	assert_fails(rt->ctx, accel_plan_create(rt->ctx, &d.hdr, &plan), -EOPNOTSUPP,
		     "softmax.a.flags");
	gemm(&d);
	d.gemm.flags = ACCEL_GEMM_PACK_B;
	d.gemm.b.bo = bo;
	assert_fails(rt->ctx, accel_plan_create(rt->ctx, &d.hdr, &plan), -EINVAL, "gemm.b.flags");
	gemm(&d);
	d.gemm.a.strides[0] = 300;
	assert_fails(rt->ctx, accel_plan_create(rt->ctx, &d.hdr, &plan), -EINVAL,
		     "gemm.a.strides[0]");
	gemm(&d);
	d.gemm.a.bo = bo;
	d.gemm.b.bo = bo;
	d.gemm.d.bo = bo;
	assert_fails(rt->ctx, accel_run(rt->ctx, &d.hdr), -EINVAL, "gemm.d.flags");
	assert_int_equal(accel_tensor_bytes(&d.gemm.a, &bytes), -EINVAL);
	assert_int_equal(accel_tensor_slice(&d.gemm.a, 0, 0, 1, 1, &d.gemm.a), -EINVAL);
	/* What it costs is known without a plan. */
	assert_int_equal(accel_cost(rt->ctx, &d.hdr, ACCEL_ENGINE_AUTO, &cost), 0);
	assert_true(cost.ns);
	d.ffn = (struct accel_ffn_desc)ACCEL_FFN_DESC_INIT;
	d.ffn.act = ACCEL_ACT_SILU;
	d.ffn.a = ANY(F32, 4, 32);
	d.ffn.up = ANY(F32, 32, 80);
	d.ffn.up.flags = 0;
	d.ffn.gate = d.ffn.up;
	d.ffn.down = ANY(F32, 80, 32);
	d.ffn.down.flags = 0;
	d.ffn.d = ANY(F32, 4, 32);
	d.ffn.d.flags = 0;
	assert_fails(rt->ctx, accel_plan_create(rt->ctx, &d.hdr, &plan), -EOPNOTSUPP,
		     "ffn.a.flags");
	/* Of what is done in pieces a piece could not be told. */
	d.norm = (struct accel_norm_desc)ACCEL_NORM_DESC_INIT;
	d.norm.func = ACCEL_NORM_GROUP;
	d.norm.groups = 2;
	d.norm.a = ANY(F32, 3, 8, 4, 5, 6);
	d.norm.d = strided;
	assert_fails(rt->ctx, accel_plan_create(rt->ctx, &d.hdr, &plan), -EOPNOTSUPP,
		     "norm.a.flags");
	d.pad = (struct accel_pad_desc)ACCEL_PAD_DESC_INIT;
	d.pad.a = ANY(F32, 5, 6);
	d.pad.d = ANY(F32, 5, 9);
	d.pad.a.flags = 0;
	d.pad.after[1] = 3;
	assert_fails(rt->ctx, accel_plan_create(rt->ctx, &d.hdr, &plan), -EOPNOTSUPP,
		     "pad.d.flags");
	accel_bo_unref(bo);
}

int main(void)
{
#define U(name) cmocka_unit_test_setup_teardown(name, rt_setup, rt_teardown)
	const struct CMUnitTest tests[] = {
		U(test_same), U(test_choice), U(test_small_buffer), U(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
