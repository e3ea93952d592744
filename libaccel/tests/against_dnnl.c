// SPDX-License-Identifier: MIT
/*
 * Against a library that shares nothing with this one: oneDNN. Convolutions,
 * transposed ones, pools, softmax, layer norms, of random shapes. fp32: two
 * results differ by at most the sum of their bounds; bytes: not at all.
 *
 * Environment: ACCEL_TEST_CASES cases of each test, ACCEL_TEST_SEED the first seed.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <dnnl.h>
#include <accel/accel.h>

#include "guest.h"

/* Unit roundoff of binary32 */
#define U	(FLT_EPSILON / 2.0)
/* Operands of a primitive */
#define MAX_ARGS	5

static struct accel_device *dev;
static struct accel_ctx *ctx;
static dnnl_engine_t engine;
static dnnl_stream_t stream;

static uint64_t rng, seed;

static uint64_t word(void)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return rng >> 33;
}

static int64_t below(int64_t n)
{
	return (int64_t)(word() % (uint64_t)n);
}

/* --- tensors both see -------------------------------------------------------------- */

/**
 * struct both - a dense tensor
 * @t: of this library
 * @dims: dimensions
 * @rank: their number
 * @type: type of the other
 * @count: elements
 * @data: elements
 */
struct both {
	struct accel_tensor t;
	dnnl_dims_t dims;
	int rank;
	dnnl_data_type_t type;
	int64_t count;
	void *data;
};

static void both_make(struct both *b, uint32_t dtype, int rank, const int64_t *dims)
{
	static const dnnl_data_type_t types[ACCEL_DTYPE_COUNT] = {
		[ACCEL_F32] = dnnl_f32, [ACCEL_S32] = dnnl_s32, [ACCEL_S8] = dnnl_s8,
		[ACCEL_U8] = dnnl_u8,
	};
	struct accel_bo *bo;
	int64_t i;

	memset(b, 0, sizeof(*b));
	b->rank = rank;
	b->type = types[dtype];
	b->count = 1;
	for (i = 0; i < rank; i++) {
		b->dims[i] = dims[i];
		b->count *= dims[i];
	}
	assert_int_equal(accel_bo_create(ctx, (uint64_t)b->count * 4 + 4, NULL, &bo), 0);
	b->t = accel_tensor_dense(bo, dtype, (uint32_t)rank, dims);
	b->data = accel_bo_ptr(bo);
	/* Bytes stay small: the other one adds pairs of products in 16 bits. */
	for (i = 0; i < b->count; i++) {
		if (dtype == ACCEL_F32)
			((float *)b->data)[i] = (float)((double)below(1 << 24) / (1 << 23) - 1);
		else if (dtype == ACCEL_S8)
			((int8_t *)b->data)[i] = (int8_t)(below(127) - 63);
		else if (dtype == ACCEL_U8)
			((uint8_t *)b->data)[i] = (uint8_t)below(128);
	}
}

static void both_free(struct both *b)
{
	accel_bo_unref(b->t.bo);
}

/* Dense, with the dimensions of weights split into groups if there are some */
static dnnl_memory_desc_t desc_of(const struct both *b, int64_t groups)
{
	dnnl_dims_t dims, strides;
	dnnl_memory_desc_t d;
	int rank = 0, i;

	if (groups) {
		dims[rank++] = groups;
		dims[rank++] = b->dims[0] / groups;
	}
	for (i = groups ? 1 : 0; i < b->rank; i++)
		dims[rank++] = b->dims[i];
	strides[rank - 1] = 1;
	for (i = rank - 1; i-- > 0;)
		strides[i] = strides[i + 1] * (dims[i + 1] ? dims[i + 1] : 1);
	assert_int_equal(dnnl_memory_desc_init_by_strides(&d, rank, dims, b->type, strides), 0);
	return d;
}

/**
 * struct argument - an operand of a primitive
 * @arg: DNNL_ARG_*
 * @desc: layout
 * @data: memory
 */
struct argument {
	int arg;
	dnnl_memory_desc_t desc;
	void *data;
};

static void other_runs(const_dnnl_op_desc_t op, const struct argument *a, int n)
{
	dnnl_exec_arg_t args[MAX_ARGS];
	dnnl_primitive_desc_t pd;
	dnnl_primitive_t p;
	int i;

	assert_int_equal(dnnl_primitive_desc_create(&pd, op, NULL, engine, NULL), 0);
	assert_int_equal(dnnl_primitive_create(&p, pd), 0);
	for (i = 0; i < n; i++) {
		args[i].arg = a[i].arg;
		assert_int_equal(dnnl_memory_create(&args[i].memory, &a[i].desc, engine,
						    a[i].data), 0);
	}
	assert_int_equal(dnnl_primitive_execute(p, stream, n, args), 0);
	assert_int_equal(dnnl_stream_wait(stream), 0);
	for (i = 0; i < n; i++)
		dnnl_memory_destroy(args[i].memory);
	dnnl_primitive_destroy(p);
	dnnl_primitive_desc_destroy(pd);
}

/* The other one, with a source, perhaps weights, and a destination */
static void other_does(const_dnnl_op_desc_t op, dnnl_memory_desc_t src, const struct both *a,
		       const dnnl_memory_desc_t *weights, const struct both *b,
		       dnnl_memory_desc_t dst, const struct both *want)
{
	struct argument args[MAX_ARGS] = {
		{ DNNL_ARG_SRC, src, a->data }, { DNNL_ARG_DST, dst, want->data }
	};

	if (weights)
		args[2] = (struct argument){ DNNL_ARG_WEIGHTS, *weights, b->data };
	other_runs(op, args, weights ? 3 : 2);
}

static void this_runs(const struct accel_desc *desc)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	if (accel_run(ctx, desc)) {
		accel_ctx_get_error(ctx, &e);
		fail_msg("seed %#llx: %s: %s", (unsigned long long)seed, e.field, e.text);
	}
}

/* @rel: of each number; @abs: of all */
static void compare(const struct both *d, const void *want, double rel, double abs)
{
	int64_t i;

	for (i = 0; i < d->count; i++) {
		double got, w;

		if (d->t.dtype == ACCEL_F32) {
			got = ((const float *)d->data)[i];
			w = ((const float *)want)[i];
		} else {
			got = ((const int32_t *)d->data)[i];
			w = ((const int32_t *)want)[i];
		}
		if (!(fabs(got - w) <= rel * fabs(w) + abs))
			fail_msg("seed %#llx: element %lld: %.9g, oneDNN %.9g, within %.3g",
				 (unsigned long long)seed, (long long)i, got, w,
				 rel * fabs(w) + abs);
	}
}

/* --- convolutions ------------------------------------------------------------------ */

/**
 * struct shape - of a convolution or pool
 * @n: images
 * @c: input channels
 * @m: output channels
 * @groups: of channels
 * @in: size of the input
 * @out: of the output
 * @kernel: of the window
 * @stride: distance of windows
 * @dilation: distance of its elements
 * @before: padding
 * @after: padding
 */
struct shape {
	int64_t n, c, m, groups;
	int64_t in[2], out[2];
	dnnl_dims_t kernel, stride, dilation, before, after;
};

static void pick(struct shape *s)
{
	int i;

	do {
		s->groups = below(3) ? 1 : 1 + below(4);
		s->n = 1 + below(3);
		s->c = s->groups * (1 + below(9));
		s->m = s->groups * (1 + below(9));
		for (i = 0; i < 2; i++) {
			s->kernel[i] = 1 + below(5);
			s->stride[i] = 1 + below(3);
			s->dilation[i] = 1 + below(3);
			s->before[i] = below(s->kernel[i]);
			s->after[i] = below(s->kernel[i]);
			s->in[i] = 1 + below(20);
			s->out[i] = s->in[i] + s->before[i] + s->after[i] -
				    (s->kernel[i] - 1) * s->dilation[i] - 1;
			s->out[i] = s->out[i] < 0 ? 0 : s->out[i] / s->stride[i] + 1;
		}
	} while (!s->out[0] || !s->out[1]);
}

/* The other one counts what lies between elements. */
static void gaps(const struct shape *s, dnnl_dims_t d)
{
	d[0] = s->dilation[0] - 1;
	d[1] = s->dilation[1] - 1;
}

static void fill_window(struct accel_conv_desc *g, const struct shape *s)
{
	int i;

	for (i = 0; i < 2; i++) {
		g->stride[i] = (uint32_t)s->stride[i];
		g->dilation[i] = (uint32_t)s->dilation[i];
		g->pad_before[i] = (uint32_t)s->before[i];
		g->pad_after[i] = (uint32_t)s->after[i];
	}
	g->groups = (uint32_t)s->groups;
}

/* Two sums of @k products of numbers below 1 */
static double sum_bound(int64_t k)
{
	return 2 * (double)((k + 4) * (k + 1)) * U;
}

static void conv(uint32_t a_type, uint32_t b_type, uint32_t d_type)
{
	struct accel_conv_desc g = ACCEL_CONV_DESC_INIT;
	dnnl_memory_desc_t src, weights, dst;
	dnnl_convolution_desc_t op;
	struct both a, b, d, want;
	dnnl_dims_t dilates;
	struct shape s;
	int64_t k;

	pick(&s);
	gaps(&s, dilates);
	both_make(&a, a_type, 4, (int64_t[]){ s.n, s.c, s.in[0], s.in[1] });
	both_make(&b, b_type, 4, (int64_t[]){ s.m, s.c / s.groups, s.kernel[0], s.kernel[1] });
	both_make(&d, d_type, 4, (int64_t[]){ s.n, s.m, s.out[0], s.out[1] });
	both_make(&want, d_type, 4, d.t.dims);
	fill_window(&g, &s);
	/* Winograd's transforms have bounds of their own. */
	g.algorithm = below(2) ? ACCEL_CONV_DIRECT : ACCEL_CONV_IMPLICIT;
	g.a = a.t;
	g.b = b.t;
	g.d = d.t;
	this_runs(&g.hdr);
	src = desc_of(&a, 0);
	weights = desc_of(&b, s.groups);
	dst = desc_of(&d, 0);
	assert_int_equal(dnnl_dilated_convolution_forward_desc_init(&op, dnnl_forward_inference,
								    dnnl_convolution_direct, &src,
								    &weights, NULL, &dst, s.stride,
								    dilates, s.before, s.after), 0);
	other_does(&op, src, &a, &weights, &b, dst, &want);
	/* Magnitudes are below 1. */
	k = s.c / s.groups * s.kernel[0] * s.kernel[1];
	compare(&d, want.data, 0, d_type == ACCEL_F32 ? sum_bound(k) : 0);
	both_free(&a);
	both_free(&b);
	both_free(&d);
	both_free(&want);
}

static void transposed(void)
{
	struct accel_conv_desc g = ACCEL_CONV_DESC_INIT;
	dnnl_memory_desc_t src, weights, dst;
	struct both a, b, d, want, turned;
	dnnl_deconvolution_desc_t op;
	int64_t o, i, t, taps, per;
	dnnl_dims_t dilates;
	struct shape s;

	/* From the small side to the large one */
	pick(&s);
	gaps(&s, dilates);
	for (i = 0; i < 2; i++)
		s.in[i] = (s.out[i] - 1) * s.stride[i] + (s.kernel[i] - 1) * s.dilation[i] + 1 -
			  s.before[i] - s.after[i];
	if (s.in[0] < 1 || s.in[1] < 1)
		return;
	both_make(&a, ACCEL_F32, 4, (int64_t[]){ s.n, s.c, s.out[0], s.out[1] });
	both_make(&b, ACCEL_F32, 4, (int64_t[]){ s.c, s.m / s.groups, s.kernel[0], s.kernel[1] });
	both_make(&turned, ACCEL_F32, 4,
		  (int64_t[]){ s.m, s.c / s.groups, s.kernel[0], s.kernel[1] });
	both_make(&d, ACCEL_F32, 4, (int64_t[]){ s.n, s.m, s.in[0], s.in[1] });
	both_make(&want, ACCEL_F32, 4, d.t.dims);
	fill_window(&g, &s);
	g.flags = ACCEL_CONV_TRANSPOSED;
	g.a = a.t;
	g.b = b.t;
	g.d = d.t;
	this_runs(&g.hdr);
	/* There the output channels of a group come first. */
	taps = s.kernel[0] * s.kernel[1];
	per = s.m / s.groups;
	for (o = 0; o < s.m; o++)
		for (i = 0; i < s.c / s.groups; i++)
			for (t = 0; t < taps; t++)
				((float *)turned.data)[(o * (s.c / s.groups) + i) * taps + t] =
					((float *)b.data)[((o / per * (s.c / s.groups) + i) * per +
							   o % per) * taps + t];
	src = desc_of(&a, 0);
	weights = desc_of(&turned, s.groups);
	dst = desc_of(&d, 0);
	assert_int_equal(dnnl_dilated_deconvolution_forward_desc_init(&op, dnnl_forward_inference,
								      dnnl_deconvolution_direct,
								      &src, &weights, NULL, &dst,
								      s.stride, dilates, s.before,
								      s.after), 0);
	other_does(&op, src, &a, &weights, &turned, dst, &want);
	compare(&d, want.data, 0, sum_bound(s.c / s.groups * taps));
	both_free(&a);
	both_free(&b);
	both_free(&turned);
	both_free(&d);
	both_free(&want);
}

/* --- pools ------------------------------------------------------------------------- */

static void pool(void)
{
	static const dnnl_alg_kind_t kinds[] = {
		dnnl_pooling_max, dnnl_pooling_avg_exclude_padding, dnnl_pooling_avg_include_padding
	};
	struct accel_pool_desc p = ACCEL_POOL_DESC_INIT;
	dnnl_memory_desc_t src, dst;
	dnnl_pooling_v2_desc_t op;
	int64_t kind = below(3), i;
	struct both a, d, want;
	dnnl_dims_t dilates;
	struct shape s;
	double k;

	pick(&s);
	/* A window that lies in the padding alone has no meaning there. */
	for (i = 0; i < 2; i++)
		if (s.before[i] >= s.kernel[i] || s.after[i] >= s.kernel[i] || s.dilation[i] > 1)
			s.dilation[i] = 1;
	for (i = 0; i < 2; i++) {
		s.out[i] = s.in[i] + s.before[i] + s.after[i] - s.kernel[i];
		if (s.out[i] < 0)
			return;
		s.out[i] = s.out[i] / s.stride[i] + 1;
	}
	gaps(&s, dilates);
	both_make(&a, ACCEL_F32, 4, (int64_t[]){ s.n, s.c, s.in[0], s.in[1] });
	both_make(&d, ACCEL_F32, 4, (int64_t[]){ s.n, s.c, s.out[0], s.out[1] });
	both_make(&want, ACCEL_F32, 4, d.t.dims);
	for (i = 0; i < 2; i++) {
		p.kernel[i] = (uint32_t)s.kernel[i];
		p.stride[i] = (uint32_t)s.stride[i];
		p.pad_begin[i] = (uint32_t)s.before[i];
		p.pad_end[i] = (uint32_t)s.after[i];
	}
	p.func = kind ? ACCEL_POOL_AVERAGE : ACCEL_POOL_MAX;
	p.flags = kind == 2 ? ACCEL_POOL_COUNT_PAD : 0;
	p.a = a.t;
	p.d = d.t;
	this_runs(&p.hdr);
	src = desc_of(&a, 0);
	dst = desc_of(&d, 0);
	assert_int_equal(dnnl_pooling_v2_forward_desc_init(&op, dnnl_forward_inference, kinds[kind],
							   &src, &dst, s.stride, s.kernel, dilates,
							   s.before, s.after), 0);
	other_does(&op, src, &a, NULL, NULL, dst, &want);
	k = (double)(s.kernel[0] * s.kernel[1]);
	compare(&d, want.data, 0, kind ? 2 * (k + 2) * U : 0);
	both_free(&a);
	both_free(&d);
	both_free(&want);
}

/* --- lines ------------------------------------------------------------------------- */

static void softmax(void)
{
	struct accel_softmax_desc g = ACCEL_SOFTMAX_DESC_INIT;
	int64_t dims[3] = { 1 + below(7), 1 + below(40), 1 + below(300) };
	int axis = (int)below(3);
	dnnl_logsoftmax_desc_t log_op;
	struct both a, d, want;
	dnnl_softmax_desc_t op;
	bool log = below(2);
	dnnl_memory_desc_t desc;
	int64_t i;

	both_make(&a, ACCEL_F32, 3, dims);
	both_make(&d, ACCEL_F32, 3, dims);
	both_make(&want, ACCEL_F32, 3, dims);
	for (i = 0; i < a.count; i++)
		((float *)a.data)[i] *= 10;
	g.func = log ? ACCEL_SOFTMAX_LOG : ACCEL_SOFTMAX_PLAIN;
	g.axis = axis;
	g.a = a.t;
	g.d = d.t;
	this_runs(&g.hdr);
	desc = desc_of(&a, 0);
	assert_int_equal(dnnl_softmax_forward_desc_init(&op, dnnl_forward_inference, &desc, axis),
			 0);
	assert_int_equal(dnnl_logsoftmax_forward_desc_init(&log_op, dnnl_forward_inference, &desc,
							   axis), 0);
	other_does(log ? (const_dnnl_op_desc_t)&log_op : (const_dnnl_op_desc_t)&op, desc, &a, NULL,
		   NULL, desc, &want);
	/* x - max rounds by 10 u each, e^x by 4 u, up to 300 sums; the other one likewise. */
	if (log)
		compare(&d, want.data, 8 * U, 2 * (20 + 8 + 300) * U);
	else
		compare(&d, want.data, 2 * (20 + 8 + 300) * U, FLT_MIN);
	both_free(&a);
	both_free(&d);
	both_free(&want);
}

static void layer_norm(void)
{
	struct accel_norm_desc g = ACCEL_NORM_DESC_INIT;
	int64_t dims[3] = { 1 + below(7), 1 + below(9), 2 + below(300) };
	dnnl_layer_normalization_desc_t op;
	struct both a, d, want;
	dnnl_memory_desc_t desc;

	both_make(&a, ACCEL_F32, 3, dims);
	both_make(&d, ACCEL_F32, 3, dims);
	both_make(&want, ACCEL_F32, 3, dims);
	g.eps = 0.001f;
	g.a = a.t;
	g.d = d.t;
	this_runs(&g.hdr);
	desc = desc_of(&a, 0);
	assert_int_equal(dnnl_layer_normalization_forward_desc_init(&op, dnnl_forward_inference,
								    &desc, NULL, g.eps, 0), 0);
	other_does(&op, desc, &a, NULL, NULL, desc, &want);
	/*
	 * Elements below 1, a mean within n u of it, and a variance within 2 n u of
	 * at most 1, all divided by no less than sqrt(eps), 1/32 of it.
	 */
	compare(&d, want.data, 0, 2 * 32 * (double)(4 * dims[2] + 16) * U);
	both_free(&a);
	both_free(&d);
	both_free(&want);
}

/* --- tests ------------------------------------------------------------------------- */

static void conv_f32(void)
{
	conv(ACCEL_F32, ACCEL_F32, ACCEL_F32);
}

static void conv_bytes(void)
{
	conv(below(2) ? ACCEL_U8 : ACCEL_S8, ACCEL_S8, ACCEL_S32);
}

static void cases(void (*one)(void), uint64_t first, uint32_t count)
{
	const char *env = getenv("ACCEL_TEST_CASES"), *start = getenv("ACCEL_TEST_SEED");
	uint32_t i;

	if (env)
		count = (uint32_t)strtoul(env, NULL, 0);
	if (start)
		first = strtoull(start, NULL, 0);
	for (i = 0; i < count; i++) {
		seed = first + i;
		rng = seed * 2654435761u + 1;
		one();
	}
}

static void test_conv_f32(void **state)
{
	(void)state;
	cases(conv_f32, 1000, 150);
}

static void test_conv_bytes(void **state)
{
	(void)state;
	cases(conv_bytes, 2000, 150);
}

static void test_transposed(void **state)
{
	(void)state;
	cases(transposed, 3000, 150);
}

static void test_pool(void **state)
{
	(void)state;
	cases(pool, 4000, 200);
}

static void test_softmax(void **state)
{
	(void)state;
	cases(softmax, 5000, 60);
}

static void test_layer_norm(void **state)
{
	(void)state;
	cases(layer_norm, 6000, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conv_f32), cmocka_unit_test(test_conv_bytes),
		cmocka_unit_test(test_transposed), cmocka_unit_test(test_pool),
		cmocka_unit_test(test_softmax), cmocka_unit_test(test_layer_norm),
	};
	int ret;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (accel_device_open(test_device("sw:full"), NULL, &dev) ||
	    accel_ctx_create(dev, NULL, &ctx) ||
	    dnnl_engine_create(&engine, dnnl_cpu, 0) ||
	    dnnl_stream_create(&stream, engine, dnnl_stream_default_flags)) {
		printf("1..0\nBail out! no device\n");
		return 1;
	}
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	dnnl_stream_destroy(stream);
	dnnl_engine_destroy(engine);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	return ret ? 1 : 0;
}
