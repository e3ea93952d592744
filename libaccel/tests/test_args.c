// SPDX-License-Identifier: MIT
/*
 * The arguments of plans, and binding them by the descriptor's own names: for every
 * operation the same result as by numbers, and errors that name its fields.
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
#include <accel/accel.h>
#include "guest.h"
#include "ops/samples.h"

#define MAX_ARGS	36
#define BYTES		16384
#define UNWRITTEN	0xa5

static struct accel_device *dev;
static struct accel_ctx *ctx;

#define assert_fails(call, code, name) check_error(call, code, name, __LINE__)

static void check_error(int ret, int code, const char *field, int line)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	accel_ctx_get_error(ctx, &e);
	if (ret != code || e.code != code || strcmp(e.field, field) != 0)
		fail_msg("line %d: %d, %d at %s: %s", line, ret, e.code, e.field, e.text);
}

static struct accel_bo *new_bo(void)
{
	struct accel_bo *bo;

	assert_int_equal(accel_bo_create(ctx, BYTES, NULL, &bo), 0);
	return bo;
}

/* Small numbers of each type; indices point at the first. */
static void fill(struct accel_bo *bo, uint32_t dtype, uint32_t seed)
{
	uint8_t *p = accel_bo_ptr(bo);
	uint32_t i;

	assert_int_equal(accel_bo_cpu_begin(bo, 0, BYTES, ACCEL_CPU_WRITE), 0);
	memset(p, 0, BYTES);
	for (i = 0; i < BYTES / 4; i++) {
		seed = seed * 1664525 + 1013904223;
		if (dtype == ACCEL_F32)
			((float *)p)[i] = (float)(seed >> 24) / 64 - 2;
		else if (dtype == ACCEL_F16 || dtype == ACCEL_BF16)
			((uint32_t *)p)[i] = 0x3c003c00 | (seed >> 8 & 0x003f003f);
		else if (dtype != ACCEL_S32)
			((uint32_t *)p)[i] = seed & 0x0f0f0f0f;
	}
	assert_int_equal(accel_bo_cpu_end(bo, 0, BYTES, ACCEL_CPU_WRITE), 0);
}

static void clear(struct accel_bo *bo)
{
	assert_int_equal(accel_bo_cpu_begin(bo, 0, BYTES, ACCEL_CPU_WRITE), 0);
	memset(accel_bo_ptr(bo), UNWRITTEN, BYTES);
	assert_int_equal(accel_bo_cpu_end(bo, 0, BYTES, ACCEL_CPU_WRITE), 0);
}

/* A buffer for each tensor, at another offset in each. */
static void bind(const struct sample *s, union desc *d)
{
	struct accel_tensor *t;
	uint32_t i;

	for (i = 0; i < MAX_TENSORS && s->at[i]; i++) {
		t = sample_tensor(d, s->at[i]);
		t->bo = new_bo();
		t->offset = 256 * i;
		fill(t->bo, t->dtype, i + 1);
	}
}

static void unbind(const struct sample *s, union desc *d)
{
	uint32_t i;

	for (i = 0; i < MAX_TENSORS && s->at[i]; i++)
		accel_bo_unref(sample_tensor(d, s->at[i])->bo);
}

/* Run what was added, and fetch the results; each has been written. */
static void run(const struct sample *s, union desc *d, struct accel_job *job, uint8_t *out)
{
	struct accel_fence *fence;
	struct accel_queue *queue;
	uint64_t bytes, j;
	uint32_t i;

	for (i = 0; i < s->results; i++)
		clear(sample_tensor(d, s->at[i])->bo);
	assert_int_equal(accel_queue_create(ctx, NULL, &queue), 0);
	assert_int_equal(accel_queue_submit(queue, job, NULL, &fence), 0);
	assert_int_equal(accel_fence_wait(fence, -1), 0);
	accel_fence_unref(fence);
	accel_queue_destroy(queue);
	for (i = 0; i < s->results; i++) {
		const struct accel_tensor *t = sample_tensor(d, s->at[i]);
		const uint8_t *p = (const uint8_t *)accel_bo_ptr(t->bo) + t->offset;

		assert_int_equal(accel_tensor_bytes(t, &bytes), 0);
		assert_int_equal(accel_bo_cpu_begin(t->bo, 0, BYTES, ACCEL_CPU_READ), 0);
		for (j = 0; j < bytes && p[j] == UNWRITTEN; j++)
			;
		if (j == bytes)
			fail_msg("%s: result %u was not written", s->name, i);
		memcpy(out + (size_t)i * BYTES, accel_bo_ptr(t->bo), BYTES);
		assert_int_equal(accel_bo_cpu_end(t->bo, 0, BYTES, ACCEL_CPU_READ), 0);
	}
}

static struct accel_job *new_job(void)
{
	struct accel_job *job;

	assert_int_equal(accel_job_create(ctx, NULL, &job), 0);
	return job;
}

/* The arguments of a plan as bindings of the descriptor's buffers. Returns their number. */
static uint32_t check_args(const struct sample *s, union desc *d, struct accel_plan *plan,
			   struct accel_binding *b)
{
	struct accel_arg_info info = { .size = sizeof(info) };
	uint32_t i, r, written = 0;
	uint64_t bytes;

	for (i = 0; !accel_plan_get_arg(plan, i, &info); i++) {
		const struct accel_tensor *t = sample_tensor(d, (uint32_t)info.field_offset);
		struct accel_tensor plain = *t;
		bool result = false;

		plain.bo = NULL;
		plain.offset = 0;
		assert_memory_equal(&info.tensor, &plain, sizeof(plain));
		assert_int_equal(strncmp(info.name, accel_op_name(d->hdr.op),
					 strlen(accel_op_name(d->hdr.op))), 0);
		assert_int_equal(accel_tensor_bytes(t, &bytes), 0);
		assert_int_equal(info.bytes, bytes);
		assert_int_equal(info.before, 0);
		assert_true(info.align && !(256 % info.align));
		for (r = 0; r < s->results; r++)
			result |= s->at[r] == info.field_offset;
		assert_int_equal(info.flags, result ? ACCEL_ARG_WRITTEN : 0);
		written += result;
		b[i] = (struct accel_binding) { info.arg, 0, t->bo, t->offset };
	}
	assert_int_equal(written, s->results);
	assert_int_equal(accel_plan_get_arg(plan, UINT32_MAX, &info), -ENOENT);
	info.size = 8;
	assert_int_equal(accel_plan_get_arg(plan, 0, &info), -EINVAL);
	return i;
}

/* What it costs is what its plan says, on every kind of device. */
static void check_cost(const union desc *d, struct accel_plan *plan)
{
	struct accel_plan_info info = { .size = sizeof(info) };
	struct accel_cost cost = { .size = sizeof(cost) };

	assert_int_equal(accel_plan_get_info(plan, &info), 0);
	assert_int_equal(accel_cost(ctx, &d->hdr, ACCEL_ENGINE_AUTO, &cost), 0);
	assert_int_equal(cost.engine, info.engine);
	assert_int_equal(cost.ns, info.estimate_ns);
	assert_int_equal(cost.macs, info.macs);
	assert_true(cost.bytes != 0 && cost.energy_pj >= cost.ns);
}

/* By numbers, by names, and without a plan: the same bytes. */
static void test_same(void **state)
{
	uint8_t *want = malloc(4 * BYTES), *got = malloc(4 * BYTES);
	uint32_t i, n, ran = 0;

	(void)state;
	assert_non_null(want);
	assert_non_null(got);
	for (i = 0; i < sample_count; i++) {
		const struct sample *s = &samples[i];
		struct accel_binding b[MAX_ARGS];
		struct accel_plan *plan;
		struct accel_job *job;
		uint32_t index = 7;
		union desc d, blank;
		int ret;

		sample_make(s, &d);
		blank = d;
		bind(s, &d);
		/* Of a descriptor without buffers, as long before there are some. */
		ret = accel_plan_create(ctx, &blank.hdr, &plan);
		if (ret == -EOPNOTSUPP) {
			unbind(s, &d);
			continue;
		}
		assert_int_equal(ret, 0);
		ran++;
		check_cost(&blank, plan);
		n = check_args(s, &d, plan, b);
		job = new_job();
		assert_int_equal(accel_job_add(job, plan, b, n, NULL, 0, NULL), 0);
		run(s, &d, job, want);
		accel_job_destroy(job);

		job = new_job();
		assert_int_equal(accel_job_add_desc(job, plan, &d.hdr, NULL, 0, &index), 0);
		assert_int_equal(index, 0);
		assert_int_equal(accel_job_add_desc(job, plan, &d.hdr, &index, 1, &index), 0);
		assert_int_equal(index, 1);
		run(s, &d, job, got);
		accel_job_destroy(job);
		assert_memory_equal(got, want, s->results * BYTES);

		job = new_job();
		assert_int_equal(accel_job_add_desc(job, NULL, &d.hdr, NULL, 0, &index), 0);
		run(s, &d, job, got);
		accel_job_destroy(job);
		assert_memory_equal(got, want, s->results * BYTES);
		accel_plan_unref(plan);
		unbind(s, &d);
	}
	printf("# %u of %u operations\n", ran, sample_count);
	assert_true(ran > 15);
	free(want);
	free(got);
}

static const struct sample *named(const char *name)
{
	uint32_t i;

	for (i = 0; i < sample_count; i++)
		if (!strcmp(samples[i].name, name))
			return &samples[i];
	fail();
	return NULL;
}

/* Keys and values in bytes with tables, masked: names where numbers say little. */
static void test_names(void **state)
{
	static const char * const want[] = {
		"attention.q", "attention.k", "attention.k.quant.scales", "attention.v",
		"attention.v.quant.scales", "attention.v.quant.zeros", "attention.d",
		"attention.mask",
	};
	struct accel_arg_info info = { .size = sizeof(info) };
	struct accel_attention_desc *a;
	struct accel_plan *plan;
	uint32_t i, j, seen = 0;
	union desc d;
	int ret;

	(void)state;
	sample_make(named("attention"), &d);
	a = &d.attention;
	a->k.dtype = ACCEL_S8;
	a->k.quant.scheme = ACCEL_QUANT_CHANNEL;
	a->k.quant.axis = 2;
	a->k.quant.scales = new_bo();
	a->v.dtype = ACCEL_S8;
	a->v.quant = a->k.quant;
	a->v.quant.zeros = new_bo();
	a->mask = accel_tensor_2d(NULL, ACCEL_F32, 3, 5);
	ret = accel_plan_create(ctx, &d.hdr, &plan);
	if (ret == -EOPNOTSUPP)
		goto out;
	assert_int_equal(ret, 0);
	for (i = 0; !accel_plan_get_arg(plan, i, &info); i++) {
		for (j = 0; j < ARRAY_SIZE(want) && strcmp(info.name, want[j]) != 0; j++)
			;
		if (j == ARRAY_SIZE(want))
			fail_msg("%s", info.name);
		seen |= 1u << j;
		if (strstr(info.name, "quant")) {
			assert_int_equal(info.bytes, 2 * 4);
			assert_int_equal(info.align, 4);
			assert_true(info.arg & (ACCEL_ARG_SCALES | ACCEL_ARG_ZEROS));
		}
		if (!strcmp(info.name, "attention.k"))
			assert_int_equal(info.arg, ACCEL_ARG_B);
		assert_null(info.tensor.quant.scales);
		assert_null(info.tensor.quant.zeros);
	}
	assert_int_equal(seen, (1u << ARRAY_SIZE(want)) - 1);
	accel_plan_unref(plan);
out:
	accel_bo_unref(a->k.quant.scales);
	accel_bo_unref(a->v.quant.zeros);
}

/* What is packed is no argument; what is not read neither. */
static void test_packed(void **state)
{
	struct accel_arg_info info = { .size = sizeof(info) };
	const struct sample *s = named("gemm, matrix by vector");
	struct accel_plan *plan;
	struct accel_job *job = new_job();
	union desc d;
	uint32_t i;

	(void)state;
	sample_make(s, &d);
	d.gemm.b = accel_tensor_2d(NULL, ACCEL_F32, 4, 5);
	d.gemm.d.rank = 3;
	d.gemm.d.dims[2] = 5;
	bind(s, &d);
	d.gemm.flags = ACCEL_GEMM_PACK_B;
	d.gemm.c = d.gemm.d;
	assert_int_equal(accel_plan_create(ctx, &d.hdr, &plan), 0);
	for (i = 0; !accel_plan_get_arg(plan, i, &info); i++)
		assert_true(!strcmp(info.name, "gemm.a") || !strcmp(info.name, "gemm.d"));
	assert_int_equal(i, 2);
	/* It is held: the buffer may go. */
	accel_bo_unref(d.gemm.b.bo);
	d.gemm.b.bo = NULL;
	assert_int_equal(accel_job_add_desc(job, plan, &d.hdr, NULL, 0, NULL), 0);
	d.gemm.b.dims[1]++;
	assert_fails(accel_job_add_desc(job, plan, &d.hdr, NULL, 0, NULL), -EINVAL,
		     "gemm.b.dims[1]");
	accel_job_destroy(job);
	accel_plan_unref(plan);
	unbind(s, &d);
}

/* Another descriptor, and buffers that will not do, by the descriptor's names. */
static void test_misuse(void **state)
{
	const struct sample *s = named("gemm");
	struct accel_job *job = new_job();
	struct accel_plan *plan;
	struct accel_bo *bo;
	union desc d, right;
	uint32_t one = 1;

	(void)state;
	sample_make(s, &right);
	right.gemm.epilogue.bias = accel_tensor_dense(NULL, ACCEL_BF16, 1,
						      (const int64_t[]) { 5 });
	bind(s, &right);
	bo = right.gemm.epilogue.bias.bo = new_bo();
	assert_int_equal(accel_plan_create(ctx, &right.hdr, &plan), 0);
	d = right;
#define WRONG(field) \
	do { \
		assert_fails(accel_job_add_desc(job, plan, &d.hdr, NULL, 0, NULL), -EINVAL, \
			     field); \
		d = right; \
	} while (0)
	d.gemm.a.dtype = ACCEL_F32;
	WRONG("gemm.a.dtype");
	d.gemm.b.rank = 3;
	WRONG("gemm.b.rank");
	d.gemm.d.dims[0] = 3;
	WRONG("gemm.d.dims[0]");
	d.gemm.d.flags = ACCEL_TENSOR_STRIDES;
	WRONG("gemm.d.flags");
	d.gemm.epilogue.bias.strides[0] = 1;
	WRONG("gemm.epilogue.bias.strides[0]");
	d.gemm.a.quant.scale = 1;
	WRONG("gemm.a.quant");
	d.gemm.flags = ACCEL_GEMM_TRANS_A;
	WRONG("desc");
	d.hdr.engine = ACCEL_ENGINE_GPU;
	WRONG("desc");
	d.hdr.engine = ACCEL_ENGINE_COUNT;
	WRONG("gemm.hdr.engine");
	d.hdr.op = ACCEL_OP_CONV;
	WRONG("desc");
	d.hdr.size = 8;
	WRONG("desc.size");
	d.gemm.a.bo = NULL;
	WRONG("gemm.a.bo");
	d.gemm.epilogue.bias.bo = NULL;
	WRONG("gemm.epilogue.bias.bo");
	d.gemm.epilogue.bias.offset = BYTES - 8;
	WRONG("gemm.epilogue.bias.offset");
	d.gemm.d.offset = 1;
	WRONG("gemm.d.offset");
	d.gemm.d.bo = d.gemm.a.bo;
	d.gemm.d.offset = d.gemm.a.offset + 2;
	WRONG("gemm.a.offset");
	assert_fails(accel_job_add_desc(job, plan, NULL, NULL, 0, NULL), -EINVAL, "desc");
	assert_fails(accel_job_add_desc(job, NULL, NULL, NULL, 0, NULL), -EINVAL, "desc");
	assert_fails(accel_job_add_desc(job, plan, &d.hdr, &one, 1, NULL), -EINVAL, "deps[0]");
	d.gemm.a.bo = NULL;
	assert_fails(accel_job_add_desc(job, NULL, &d.hdr, NULL, 0, NULL), -EINVAL, "gemm.a.bo");
	accel_job_destroy(job);
	accel_plan_unref(plan);
	accel_bo_unref(bo);
	unbind(s, &right);
}

/* A plan that reads no zero points is not one for a tensor that has some, nor the reverse. */
static void test_zeros(void **state)
{
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT, d;
	struct accel_bo *bo = new_bo();
	struct accel_job *job = new_job();
	struct accel_plan *plan;
	uint32_t with;

	(void)state;
	g.a = accel_tensor_2d(bo, ACCEL_F32, 2, 4);
	g.b = accel_tensor_2d(bo, ACCEL_S8, 4, 5);
	g.b.quant.scheme = ACCEL_QUANT_CHANNEL;
	g.b.quant.axis = 1;
	g.b.quant.scales = bo;
	g.d = accel_tensor_2d(bo, ACCEL_F32, 2, 5);
	g.d.offset = BYTES / 2;
	for (with = 0; with < 2; with++) {
		g.b.quant.zeros = with ? bo : NULL;
		assert_int_equal(accel_plan_create(ctx, &g.hdr, &plan), 0);
		assert_int_equal(accel_job_add_desc(job, plan, &g.hdr, NULL, 0, NULL), 0);
		d = g;
		d.b.quant.zeros = with ? NULL : bo;
		assert_fails(accel_job_add_desc(job, plan, &d.hdr, NULL, 0, NULL), -EINVAL,
			     "gemm.b.quant");
		accel_plan_unref(plan);
	}
	accel_job_destroy(job);
	accel_bo_unref(bo);
}

/* The calls for people; what there is beside tensors is the sample's. */
static int call(struct accel_ctx *c, union desc *d)
{
	const union desc how = *d;

	switch (d->hdr.op) {
	case ACCEL_OP_GEMM:
		return accel_gemm(c, &d->gemm.a, &d->gemm.b, &d->gemm.d, &how.gemm.epilogue);
	case ACCEL_OP_CONV:
		return accel_conv(c, &d->conv.a, &d->conv.b, &d->conv.d, &how.conv);
	case ACCEL_OP_ATTENTION:
		return accel_attention(c, &d->attention.q, &d->attention.k, &d->attention.v,
				       &d->attention.d, &how.attention);
	case ACCEL_OP_NORM:
		return accel_norm(c, &d->norm.a, &d->norm.d, &how.norm);
	case ACCEL_OP_SOFTMAX:
		return accel_softmax(c, &d->softmax.a, &d->softmax.d, &how.softmax);
	case ACCEL_OP_COPY:
		return accel_copy(c, &d->copy.a, &d->copy.d);
	case ACCEL_OP_UNARY:
		return accel_unary(c, how.unary.func, &d->unary.a, &d->unary.d);
	case ACCEL_OP_BINARY:
		return accel_binary(c, how.binary.func, &d->binary.a, &d->binary.b, &d->binary.d);
	default:
		return -EOPNOTSUPP;
	}
}

/* The calls for people give what the descriptor gives. */
static void test_calls(void **state)
{
	static uint8_t want[BYTES];
	uint32_t i, ran = 0, ops = 0;

	(void)state;
	for (i = 0; i < sample_count; i++) {
		const struct sample *s = &samples[i];
		struct accel_bo *bo;
		union desc d;
		int ret;

		sample_make(s, &d);
		/* Of a product they take tensors and the epilogue only. */
		if (d.hdr.op == ACCEL_OP_GEMM && (d.gemm.flags || d.gemm.c.rank))
			continue;
		bind(s, &d);
		bo = sample_tensor(&d, s->at[0])->bo;
		clear(bo);
		ret = accel_run(ctx, &d.hdr);
		memcpy(want, accel_bo_ptr(bo), BYTES);
		clear(bo);
		if (!ret && call(ctx, &d) != -EOPNOTSUPP) {
			clear(bo);
			if (call(ctx, &d))
				fail_msg("%s", s->name);
			assert_memory_equal(accel_bo_ptr(bo), want, BYTES);
			assert_int_equal(call(NULL, &d), -EINVAL);
			ops |= 1u << d.hdr.op;
			ran++;
		}
		unbind(s, &d);
	}
	printf("# %u calls of %d operations\n", ran, __builtin_popcount(ops));
	assert_true(__builtin_popcount(ops) >= 6);
}

/* What is wrong of a call is named as its arguments are, or as the descriptor's fields. */
static void test_calls_misused(void **state)
{
	struct accel_conv_desc how = ACCEL_CONV_DESC_INIT;
	struct accel_softmax_desc other = ACCEL_SOFTMAX_DESC_INIT;
	const struct sample *s = named("gemm");
	union desc d;

	(void)state;
	sample_make(s, &d);
	bind(s, &d);
	assert_int_equal(accel_gemm(ctx, &d.gemm.a, &d.gemm.b, &d.gemm.d, NULL), 0);
	assert_int_equal(accel_softmax(ctx, &d.gemm.a, &d.gemm.a, NULL), 0);
	assert_int_equal(accel_norm(ctx, &d.gemm.a, &d.gemm.a, NULL), 0);
	assert_fails(accel_gemm(ctx, &d.gemm.a, NULL, &d.gemm.d, NULL), -EINVAL, "b");
	assert_fails(accel_unary(ctx, ACCEL_UNARY_EXP, &d.gemm.a, NULL), -EINVAL, "d");
	assert_fails(accel_unary(ctx, UINT32_MAX, &d.gemm.a, &d.gemm.a), -EINVAL, "unary.func");
	assert_fails(accel_attention(ctx, &d.gemm.a, NULL, &d.gemm.a, &d.gemm.d, NULL), -EINVAL,
		     "k");
	assert_fails(accel_conv(ctx, &d.gemm.a, &d.gemm.b, &d.gemm.d,
				(const struct accel_conv_desc *)&other.hdr), -EINVAL, "how");
	how.hdr.size = 8;
	assert_fails(accel_conv(ctx, &d.gemm.a, &d.gemm.b, &d.gemm.d, &how), -EINVAL, "desc.size");
	d.gemm.b.dims[0]++;
	assert_fails(accel_gemm(ctx, &d.gemm.a, &d.gemm.b, &d.gemm.d, NULL), -EINVAL,
		     "gemm.b.dims[0]");
	unbind(s, &d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_zeros),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_calls_misused),
	};
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	int ret;

	opts.threads = 1;
	if (accel_device_open(test_device("sw:full"), &opts, &dev) ||
	    accel_ctx_create(dev, NULL, &ctx)) {
		printf("Bail out! no device\n");
		return 1;
	}
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	return ret;
}
