// SPDX-License-Identifier: MIT
/*
 * conv: the convolutions of ResNet-50 and the depthwise ones of MobileNet, one
 * image, with bias and ReLU, some with a residual. Activations are NHWC here, and of
 * some NCHW as files have them; oneDNN has its own layouts.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers.h"

/* Variants in addition to the plain case */
#define RESIDUAL	1u
#define NCHW		2u

/**
 * struct shape - a convolution
 * @name: "3x3-64@56": window, output channels, output width; "s2": stride
 * @c: input channels
 * @m: output channels
 * @in: width and height
 * @kernel: of the window
 * @stride: distance of windows
 * @depthwise: a group is a channel
 * @kinds: which cases there are beside the plain one
 */
struct shape {
	const char *name;
	int64_t c, m, in, kernel, stride;
	bool depthwise;
	unsigned int kinds;
};

static const struct shape shapes[] = {
	{ "7x7-64@112s2", 3, 64, 224, 7, 2, false, NCHW },
	{ "1x1-64-64@56", 64, 64, 56, 1, 1, false },
	{ "3x3-64@56", 64, 64, 56, 3, 1, false, RESIDUAL | NCHW },
	{ "1x1-64-256@56", 64, 256, 56, 1, 1, false, RESIDUAL | NCHW },
	{ "1x1-256-64@56", 256, 64, 56, 1, 1, false },
	{ "1x1-256-128@56", 256, 128, 56, 1, 1, false },
	{ "3x3-128@28s2", 128, 128, 56, 3, 2, false },
	{ "1x1-256-512@28s2", 256, 512, 56, 1, 2, false, NCHW },
	{ "1x1-128-512@28", 128, 512, 28, 1, 1, false, RESIDUAL | NCHW },
	{ "1x1-512-128@28", 512, 128, 28, 1, 1, false },
	{ "3x3-128@28", 128, 128, 28, 3, 1, false },
	{ "1x1-512-256@28", 512, 256, 28, 1, 1, false },
	{ "3x3-256@14s2", 256, 256, 28, 3, 2, false },
	{ "1x1-512-1024@14s2", 512, 1024, 28, 1, 2, false },
	{ "1x1-256-1024@14", 256, 1024, 14, 1, 1, false, RESIDUAL | NCHW },
	{ "1x1-1024-256@14", 1024, 256, 14, 1, 1, false },
	{ "3x3-256@14", 256, 256, 14, 3, 1, false, NCHW },
	{ "1x1-1024-512@14", 1024, 512, 14, 1, 1, false },
	{ "3x3-512@7s2", 512, 512, 14, 3, 2, false },
	{ "1x1-1024-2048@7s2", 1024, 2048, 14, 1, 2, false },
	{ "1x1-512-2048@7", 512, 2048, 7, 1, 1, false, RESIDUAL | NCHW },
	{ "1x1-2048-512@7", 2048, 512, 7, 1, 1, false },
	{ "3x3-512@7", 512, 512, 7, 3, 1, false },
	{ "dw3x3-32@112", 32, 32, 112, 3, 1, true },
	{ "dw3x3-64@56s2", 64, 64, 112, 3, 2, true },
	{ "dw3x3-128@56", 128, 128, 56, 3, 1, true, NCHW },
	{ "dw3x3-256@28", 256, 256, 28, 3, 1, true },
	{ "dw3x3-512@14", 512, 512, 14, 3, 1, true },
	{ "dw3x3-1024@7", 1024, 1024, 7, 3, 1, true },
	{ "dw5x5-144@28s2", 144, 144, 56, 5, 2, true, NCHW },
	{ "dw5x5-240@28", 240, 240, 28, 5, 1, true, NCHW },
	{ "dw5x5-672@14", 672, 672, 14, 5, 1, true },
	{ "dw5x5-1152@7", 1152, 1152, 7, 5, 1, true, NCHW },
};

/* Element types: activations and results, weights */
static const struct kind {
	const char *name;
	uint32_t a, b;
	enum perf_bound bound;
} kinds[] = {
	{ "fp32", ACCEL_F32, ACCEL_F32, PERF_FP32 },
	{ "bf16", ACCEL_BF16, ACCEL_BF16, PERF_BF16 },
	{ "u8", ACCEL_U8, ACCEL_S8, PERF_INT8 },
};

/**
 * struct conv - a convolution that is measured
 * @perf: state
 * @kind: element types
 * @s: shape
 * @out: width and height of the result
 * @before: padding
 * @after: padding
 * @scale: of results in bytes
 * @nchw: channels are not the last dimension
 * @a: input
 * @b: weights
 * @bias: bias
 * @residual: addend as large as the result, NULL: none
 * @d: results of ours with and without Winograd
 * @plans: likewise
 */
struct conv {
	struct perf *perf;
	const struct kind *kind;
	const struct shape *s;
	int64_t out, before, after;
	float scale;
	bool nchw;
	struct accel_bo *a, *b, *bias, *residual, *d[2];
	struct accel_plan *plans[2];
};

/* --- float64 ---------------------------------------------------------------------- */

static uint64_t place(const struct conv *v, int64_t size, int64_t channels, int64_t y, int64_t x,
		      int64_t c)
{
	return (uint64_t)(v->nchw ? (c * size + y) * size + x : (y * size + x) * channels + c);
}

/* Bytes in units of the result: the residual has its scale. */
static double end_of(const struct conv *v, double sum, uint64_t at)
{
	const bool bytes = v->kind->a == ACCEL_U8;

	sum *= bytes ? (double)v->scale : 1;
	if (v->residual)
		sum += data_get(v->kind->a, accel_bo_ptr(v->residual), at);
	return sum < 0 ? 0 : bytes && sum > 255 ? 255 : sum;
}

static double output(const struct conv *v, int64_t y, int64_t x, int64_t m)
{
	const struct shape *s = v->s;
	int64_t per = s->depthwise ? 1 : s->c, i, j, c;
	const void *a = accel_bo_ptr(v->a), *b = accel_bo_ptr(v->b);
	double sum = ((const float *)accel_bo_ptr(v->bias))[m];

	for (i = 0; i < s->kernel; i++)
		for (j = 0; j < s->kernel; j++) {
			int64_t ay = y * s->stride + i - v->before;
			int64_t ax = x * s->stride + j - v->before;

			if (ay < 0 || ay >= s->in || ax < 0 || ax >= s->in)
				continue;
			for (c = 0; c < per; c++) {
				int64_t from = s->depthwise ? m : c;

				sum += data_get(v->kind->a, a,
						place(v, s->in, s->c, ay, ax, from)) *
				       data_get(v->kind->b, b,
						(uint64_t)((((m * per + c) * s->kernel + i) *
							    s->kernel) + j));
			}
		}
	return end_of(v, sum, place(v, v->out, s->m, y, x, m));
}

static double error_of(const void *d, void *arg)
{
	const struct conv *v = arg;
	int64_t count = v->out * v->out * v->s->m, i;
	struct data_errors e = { 0 };

	for (i = 0; i < 4 * PERF_SAMPLES; i++) {
		/* A prime stride selects elements of all rows and channels */
		int64_t at = i * 1000003 % count, pixel = at / v->s->m, m = at % v->s->m;
		int64_t y = pixel / v->out, x = pixel % v->out;

		data_compare(&e, data_get(v->kind->a, d, place(v, v->out, v->s->m, y, x, m)),
			     output(v, y, x, m));
	}
	return data_error(&e);
}

/* --- ours ------------------------------------------------------------------------- */

static struct accel_tensor image(const struct conv *v, int64_t size, int64_t channels)
{
	int64_t nhwc[] = { 1, size, size, channels }, nchw[] = { 1, channels, size, size };

	return accel_tensor_dense(NULL, v->kind->a, 4, v->nchw ? nchw : nhwc);
}

static int make_plan(struct conv *v, bool winograd, struct accel_plan **plan)
{
	const struct shape *s = v->s;
	struct accel_conv_desc desc = ACCEL_CONV_DESC_INIT;
	int64_t per = s->depthwise ? 1 : s->c;
	int i;

	desc.flags = (v->nchw ? 0 : ACCEL_CONV_NHWC) | ACCEL_CONV_PACK_B |
		     (winograd ? ACCEL_CONV_WINOGRAD : 0);
	desc.groups = s->depthwise ? (uint32_t)s->c : 1;
	for (i = 0; i < 2; i++) {
		desc.stride[i] = (uint32_t)s->stride;
		desc.pad_before[i] = (uint32_t)v->before;
		desc.pad_after[i] = (uint32_t)v->after;
	}
	desc.a = image(v, s->in, s->c);
	desc.b = accel_tensor_dense(v->b, v->kind->b, 4,
				    (int64_t[]){ s->m, per, s->kernel, s->kernel });
	desc.d = image(v, v->out, s->m);
	if (v->kind->a == ACCEL_U8) {
		desc.a.quant = (struct accel_quant){ .scheme = ACCEL_QUANT_TENSOR, .scale = 1 };
		desc.b.quant = desc.a.quant;
		desc.d.quant = desc.a.quant;
		desc.d.quant.scale = 1 / v->scale;
	}
	desc.epilogue.act = ACCEL_ACT_RELU;
	if (v->residual)
		desc.epilogue.residual = desc.d;
	desc.epilogue.bias = accel_tensor_dense(NULL, ACCEL_F32, 1, &s->m);
	return accel_plan_create(v->perf->ctx, &desc.hdr, plan);
}

static int make_ours(struct conv *v, bool winograd, struct perf_impl *impl)
{
	uint64_t count = (uint64_t)(v->out * v->out * v->s->m);
	struct ours_op op = { 0 };
	int ret;

	ret = ours_result(v->perf, data_bytes(v->kind->a, count), &v->d[winograd]);
	if (!ret)
		ret = make_plan(v, winograd, &v->plans[winograd]);
	if (ret)
		return ret;
	op.plan = v->plans[winograd];
	ours_bind(&op, ACCEL_ARG_D, v->d[winograd]);
	ours_bind(&op, ACCEL_ARG_A, v->a);
	ours_bind(&op, ACCEL_ARG_BIAS, v->bias);
	ours_bind(&op, ACCEL_ARG_RESIDUAL, v->residual);
	ret = ours_impl(v->perf, &op, 1, 0, impl);
	if (!ret) {
		impl->error = error_of;
		impl->error_arg = v;
		impl->d = accel_bo_ptr(v->d[winograd]);
	}
	return ret;
}

/* --- all of them ------------------------------------------------------------------ */

static bool can_winograd(const struct shape *s)
{
	return s->kernel == 3 && s->stride == 1 && !s->depthwise;
}

static void add_peers(struct conv *v, struct perf_impl *impls, uint32_t *count)
{
	const struct shape *s = v->s;
	struct peer_conv p = {
		.c = s->c, .m = s->m, .groups = s->depthwise ? s->c : 1, .in = s->in,
		.out = v->out, .kernel = s->kernel, .stride = s->stride, .before = v->before,
		.after = v->after, .a_dtype = v->kind->a, .b_dtype = v->kind->b,
		.scale = v->scale, .a = accel_bo_ptr(v->a), .b = accel_bo_ptr(v->b),
		.bias = accel_bo_ptr(v->bias), .error = error_of, .error_arg = v,
	};

	if (!perf_peers(v->perf) || v->residual || v->nchw)
		return;
	if (!onednn_conv(&p, &impls[*count]))
		*count += 1;
	p.winograd = true;
	if (can_winograd(s) && !onednn_conv(&p, &impls[*count]))
		*count += 1;
}

static int make(struct conv *v, bool residual)
{
	const struct shape *s = v->s;
	int64_t per = s->depthwise ? 1 : s->c;
	int ret;

	ret = ours_random(v->perf, v->kind->a, (uint64_t)(s->in * s->in * s->c), &v->a);
	if (!ret)
		ret = ours_random(v->perf, v->kind->b,
				  (uint64_t)(s->m * per * s->kernel * s->kernel), &v->b);
	if (!ret)
		ret = ours_random(v->perf, ACCEL_F32, (uint64_t)s->m, &v->bias);
	if (!ret && residual)
		ret = ours_random(v->perf, v->kind->a, (uint64_t)(v->out * v->out * s->m),
				  &v->residual);
	return ret;
}

static void measure(struct conv *v, struct perf_case *c, bool residual)
{
	struct perf_impl impls[PERF_IMPLS];
	const struct shape *s = v->s;
	uint32_t count = 0;
	int ret;

	/* With the plan's algorithm, and without Winograd's */
	ret = make(v, residual);
	if (!ret)
		ret = make_ours(v, can_winograd(s), &impls[count++]);
	if (!ret && can_winograd(s)) {
		ret = make_ours(v, false, &impls[count]);
		impls[count].name = "ours-direct";
		count++;
	}
	if (ret) {
		ours_fail(v->perf, c->name, ret);
	} else {
		add_peers(v, impls, &count);
		perf_measure(v->perf, c, impls, count);
	}
	accel_plan_unref(v->plans[0]);
	accel_plan_unref(v->plans[1]);
	accel_bo_unref(v->d[0]);
	accel_bo_unref(v->d[1]);
	accel_bo_unref(v->residual);
	accel_bo_unref(v->bias);
	accel_bo_unref(v->b);
	accel_bo_unref(v->a);
}

static void convolution(struct perf *perf, const struct kind *kind, const struct shape *s,
			unsigned int with)
{
	double per = s->depthwise ? 1 : (double)s->c;
	struct conv v = { .perf = perf, .kind = kind, .s = s, .nchw = with & NCHW };
	struct perf_case c = { .dtype = kind->name, .bound = kind->bound };
	double taps = per * (double)(s->kernel * s->kernel), pixels;

	snprintf(c.name, sizeof(c.name), "conv/%s%s%s", s->name,
		 with & RESIDUAL ? "/residual" : "", with & NCHW ? "/nchw" : "");
	if (!perf_wanted(perf, c.name, kind->name))
		return;
	v.before = s->kernel / 2;
	v.out = (s->in - 1) / s->stride + 1;
	v.after = (v.out - 1) * s->stride + s->kernel - s->in - v.before;
	v.after = v.after > 0 ? v.after : 0;
	/* Keeps most sums of products of random bytes within the range. */
	v.scale = (float)(1 / (100 * sqrt(taps)));
	pixels = (double)(v.out * v.out);
	c.flops = 2 * taps * pixels * (double)s->m;
	c.bytes = (double)data_bytes(kind->a, (uint64_t)(s->in * s->in * s->c)) +
		  (double)data_bytes(kind->b, (uint64_t)(taps * (double)s->m)) +
		  (double)data_bytes(kind->a, (uint64_t)(pixels * (double)s->m));
	if (with & RESIDUAL)
		c.bytes += (double)data_bytes(kind->a, (uint64_t)(pixels * (double)s->m));
	measure(&v, &c, with & RESIDUAL);
}

void conv_cases(struct perf *perf)
{
	size_t i, j;

	for (j = 0; j < sizeof(kinds) / sizeof(kinds[0]); j++)
		for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
			convolution(perf, &kinds[j], &shapes[i], 0);
			if (shapes[i].kinds & RESIDUAL)
				convolution(perf, &kinds[j], &shapes[i], RESIDUAL);
			if (shapes[i].kinds & NCHW)
				convolution(perf, &kinds[j], &shapes[i], NCHW);
		}
}
