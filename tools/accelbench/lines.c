// SPDX-License-Identifier: MIT
/*
 * lines: operations that are not products: norms, softmax, functions of elements, conversions,
 * layouts, windows, top k. All are bound by reading and writing, so operations count bytes, and
 * the limit is reading the same number from the same cache. The first two cases, a sum and a
 * copy, are practical upper limits.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

/* Of tensors of bytes */
#define SCALE	(1.0f / 32)
/* Results of top-k */
#define TOP	10

/* A model's numbers of logits */
#define LOGITS	50257

enum kind {
	ADD, COPY, LAYER_NORM, RMS_NORM, GROUP_NORM, SOFTMAX, GELU, GELU_TANH,
	SILU, TRANSPOSE, TO_NHWC, POOL, PLANES, GLOBAL, ARG_MAX, TOP_K, REDUCE_MAX, COLUMN_SUM,
	FILL, SELECT, PAD, SCAN, ROTARY, RESIZE, ADD_NORM, LOG_SOFTMAX
};

/**
 * struct line_case - an operation
 * @name: its name
 * @kind: which it is
 * @a: type of inputs
 * @d: type of the result
 * @rank: dimensions
 * @dims: of the first input
 */
struct line_case {
	const char *name;
	enum kind kind;
	uint32_t a, d;
	uint32_t rank;
	int64_t dims[4];
};

/**
 * struct lines - an operation that is measured
 * @perf: state
 * @c: which
 * @op: plan and buffers
 * @bytes: read and written
 * @bos: buffers
 * @count: number of them
 */
struct lines {
	struct perf *perf;
	const struct line_case *c;
	struct ours_op op;
	double bytes;
	struct accel_bo *bos[8];
	uint32_t count;
};

static uint64_t elements(const struct accel_tensor *t)
{
	uint64_t n = 1;
	uint32_t i;

	for (i = 0; i < t->rank; i++)
		n *= (uint64_t)t->dims[i];
	return n;
}

static struct accel_tensor tensor(uint32_t dtype, uint32_t rank, const int64_t *dims)
{
	struct accel_tensor t = accel_tensor_dense(NULL, dtype, rank, dims);

	if (dtype == ACCEL_S8 || dtype == ACCEL_U8)
		t.quant = (struct accel_quant){ .scheme = ACCEL_QUANT_TENSOR, .scale = SCALE };
	return t;
}

/* Give an operand memory; @once: of its bytes, how much is read or written. */
static int attach(struct lines *l, uint32_t arg, const struct accel_tensor *t)
{
	const uint64_t count = elements(t), bytes = data_bytes(t->dtype, count);
	struct accel_bo **bo = &l->bos[l->count];
	int ret;

	ret = arg == ACCEL_ARG_D || arg >= ACCEL_ARG_AUX0 ?
	      ours_result(l->perf, bytes, bo) : ours_random(l->perf, t->dtype, count, bo);
	if (ret)
		return ret;
	l->count++;
	l->bytes += (double)bytes;
	ours_bind(&l->op, arg, *bo);
	return 0;
}

/* An operation with one input and one result; @desc has all but them. */
static int one_input(struct lines *l, struct accel_desc *desc, struct accel_tensor *a,
		     struct accel_tensor *d, const struct accel_tensor *like)
{
	int ret;

	*a = tensor(l->c->a, l->c->rank, l->c->dims);
	*d = like ? *like : tensor(l->c->d, l->c->rank, l->c->dims);
	ret = accel_plan_create(l->perf->ctx, desc, &l->op.plan);
	if (!ret)
		ret = attach(l, ACCEL_ARG_D, d);
	return ret ? ret : attach(l, ACCEL_ARG_A, a);
}

static int make_binary(struct lines *l)
{
	struct accel_binary_desc b = ACCEL_BINARY_DESC_INIT;
	int ret;

	b.func = ACCEL_BINARY_ADD;
	b.b = tensor(l->c->a, l->c->rank, l->c->dims);
	ret = one_input(l, &b.hdr, &b.a, &b.d, NULL);
	return ret ? ret : attach(l, ACCEL_ARG_B, &b.b);
}

static int make_norm(struct lines *l)
{
	struct accel_norm_desc n = ACCEL_NORM_DESC_INIT;
	int ret;

	n.func = l->c->kind == RMS_NORM ? ACCEL_NORM_RMS :
		 l->c->kind == GROUP_NORM ? ACCEL_NORM_GROUP : ACCEL_NORM_LAYER;
	if (n.func == ACCEL_NORM_GROUP)
		n.groups = 32;
	n.scale = tensor(ACCEL_F32, 1, &l->c->dims[1]);
	if (l->c->kind != RMS_NORM)
		n.bias = n.scale;
	ret = one_input(l, &n.hdr, &n.a, &n.d, NULL);
	if (!ret)
		ret = attach(l, ACCEL_ARG_SCALE, &n.scale);
	return ret || !n.bias.rank ? ret : attach(l, ACCEL_ARG_BIAS, &n.bias);
}

/* A layer norm of a sum: binary32 for the residual stream, bytes with a row's scale. */
static int make_add_norm(struct lines *l)
{
	struct accel_norm_desc n = ACCEL_NORM_DESC_INIT;
	const int64_t rows[] = { l->c->dims[0], 1 };
	int ret;

	n.flags = ACCEL_NORM_DYNQUANT;
	n.scale = tensor(ACCEL_F32, 1, &l->c->dims[1]);
	n.bias = n.scale;
	n.addend = n.second = tensor(l->c->a, l->c->rank, l->c->dims);
	n.scales = tensor(ACCEL_F32, 2, rows);
	n.d = accel_tensor_dense(NULL, l->c->d, l->c->rank, l->c->dims);
	ret = one_input(l, &n.hdr, &n.a, &n.d, &n.d);
	if (!ret)
		ret = attach(l, ACCEL_ARG_SCALE, &n.scale);
	if (!ret)
		ret = attach(l, ACCEL_ARG_BIAS, &n.bias);
	if (!ret)
		ret = attach(l, ACCEL_ARG_C, &n.addend);
	if (!ret)
		ret = attach(l, ACCEL_ARG_AUX2, &n.second);
	return ret ? ret : attach(l, ACCEL_ARG_AUX3, &n.scales);
}

static int make_act(struct lines *l, uint32_t act)
{
	struct accel_unary_desc u = ACCEL_UNARY_DESC_INIT;

	u.func = ACCEL_UNARY_ACT;
	u.epilogue.act = act;
	return one_input(l, &u.hdr, &u.a, &u.d, NULL);
}

/* The last two dimensions change places, or channels go to the end. */
static int make_turn(struct lines *l)
{
	struct accel_copy_desc c = ACCEL_COPY_DESC_INIT;
	const int64_t *dims = l->c->dims;
	struct accel_tensor d = tensor(l->c->d, l->c->rank, dims);

	d.flags |= ACCEL_TENSOR_STRIDES;
	if (l->c->kind == TRANSPOSE) {
		d.strides[0] = 1;
		d.strides[1] = dims[0];
	} else {
		d.strides[3] = dims[1];
		d.strides[2] = dims[3] * dims[1];
		d.strides[1] = 1;
		d.strides[0] = dims[1] * dims[2] * dims[3];
	}
	return one_input(l, &c.hdr, &c.a, &c.d, &d);
}

/*
 * The maximum of 3x3, stride 2, padded by 1; channels are the last dimension in memory, or for
 * PLANES columns; for GLOBAL, too, which is the average of a channel
 */
static int make_pool(struct lines *l)
{
	struct accel_pool_desc p = ACCEL_POOL_DESC_INIT;
	const int64_t *dims = l->c->dims;
	const bool global = l->c->kind == GLOBAL;
	int64_t out[4] = {
		dims[0], dims[1], global ? 1 : dims[2] / 2, global ? 1 : dims[3] / 2
	};
	struct accel_tensor d = tensor(l->c->d, 4, out);
	int ret, i;

	p.func = ACCEL_POOL_MAX;
	for (i = 0; i < 2; i++) {
		p.kernel[i] = 3;
		p.stride[i] = 2;
		p.dilation[i] = p.pad_begin[i] = p.pad_end[i] = 1;
	}
	if (global) {
		p.func = ACCEL_POOL_AVERAGE;
		for (i = 0; i < 2; i++) {
			p.kernel[i] = (uint32_t)dims[2 + i];
			p.stride[i] = 1;
			p.pad_begin[i] = p.pad_end[i] = 0;
		}
	}
	p.a = tensor(l->c->a, 4, dims);
	if (l->c->kind == POOL)
		p.a.flags = d.flags |= ACCEL_TENSOR_STRIDES;
	for (i = 0; i < 2 && l->c->kind == POOL; i++) {
		struct accel_tensor *t = i ? &d : &p.a;

		t->strides[1] = 1;
		t->strides[3] = t->dims[1];
		t->strides[2] = t->dims[1] * t->dims[3];
		t->strides[0] = t->strides[2] * t->dims[2];
	}
	p.d = d;
	ret = accel_plan_create(l->perf->ctx, &p.hdr, &l->op.plan);
	if (!ret)
		ret = attach(l, ACCEL_ARG_D, &p.d);
	return ret ? ret : attach(l, ACCEL_ARG_A, &p.a);
}

static int make_reduce(struct lines *l)
{
	struct accel_reduce_desc r = ACCEL_REDUCE_DESC_INIT;
	const bool columns = l->c->kind == COLUMN_SUM;
	int64_t out[2] = { columns ? 1 : l->c->dims[0], columns ? l->c->dims[1] : 1 };
	struct accel_tensor d = tensor(l->c->d, 2, out);

	r.func = columns ? ACCEL_REDUCE_SUM : l->c->kind == ARG_MAX ? ACCEL_REDUCE_ARG_MAX :
		 ACCEL_REDUCE_MAX;
	r.axes = columns ? 1 : 2;
	return one_input(l, &r.hdr, &r.a, &r.d, &d);
}

static int make_top(struct lines *l)
{
	struct accel_topk_desc t = ACCEL_TOPK_DESC_INIT;
	int64_t out[2] = { l->c->dims[0], TOP };
	struct accel_tensor d = tensor(l->c->d, 2, out);
	int ret;

	t.indices = tensor(ACCEL_S32, 2, out);
	ret = one_input(l, &t.hdr, &t.a, &t.d, &d);
	return ret ? ret : attach(l, ACCEL_ARG_AUX0, &t.indices);
}

static int make_select(struct lines *l)
{
	struct accel_select_desc s = ACCEL_SELECT_DESC_INIT;
	int ret;

	s.b = s.c = tensor(l->c->d, l->c->rank, l->c->dims);
	ret = one_input(l, &s.hdr, &s.a, &s.d, NULL);
	if (!ret)
		ret = attach(l, ACCEL_ARG_B, &s.b);
	return ret ? ret : attach(l, ACCEL_ARG_C, &s.c);
}

static int make_pad(struct lines *l)
{
	struct accel_pad_desc p = ACCEL_PAD_DESC_INIT;
	int64_t out[4];
	struct accel_tensor d;
	uint32_t i;

	memcpy(out, l->c->dims, sizeof(out));
	for (i = 1; i < 3; i++) {
		p.before[i] = p.after[i] = 1;
		out[i] += 2;
	}
	d = tensor(l->c->d, 4, out);
	return one_input(l, &p.hdr, &p.a, &p.d, &d);
}

static int make_rotary(struct lines *l)
{
	struct accel_rotary_desc r = ACCEL_ROTARY_DESC_INIT;
	const int64_t table[2] = { l->c->dims[1], l->c->dims[3] / 2 };
	int ret;

	r.cosines = r.sines = tensor(ACCEL_F32, 2, table);
	ret = one_input(l, &r.hdr, &r.a, &r.d, NULL);
	if (!ret)
		ret = attach(l, ACCEL_ARG_B, &r.cosines);
	return ret ? ret : attach(l, ACCEL_ARG_C, &r.sines);
}

static int make_resize(struct lines *l)
{
	struct accel_resize_desc r = ACCEL_RESIZE_DESC_INIT;
	const int64_t *dims = l->c->dims;
	int64_t out[4] = { dims[0], dims[1], 2 * dims[2], 2 * dims[3] };
	struct accel_tensor d = tensor(l->c->d, 4, out);

	r.func = ACCEL_RESIZE_LINEAR;
	return one_input(l, &r.hdr, &r.a, &r.d, &d);
}

static int make(struct lines *l)
{
	struct accel_softmax_desc softmax = ACCEL_SOFTMAX_DESC_INIT;
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;
	struct accel_fill_desc fill = ACCEL_FILL_DESC_INIT;
	struct accel_scan_desc scan = ACCEL_SCAN_DESC_INIT;
	int ret;

	switch (l->c->kind) {
	case ADD:
		return make_binary(l);
	case COPY:
		return one_input(l, &copy.hdr, &copy.a, &copy.d, NULL);
	case LAYER_NORM:
	case RMS_NORM:
	case GROUP_NORM:
		return make_norm(l);
	case ADD_NORM:
		return make_add_norm(l);
	case LOG_SOFTMAX:
		softmax.func = ACCEL_SOFTMAX_LOG;
		return one_input(l, &softmax.hdr, &softmax.a, &softmax.d, NULL);
	case SOFTMAX:
		return one_input(l, &softmax.hdr, &softmax.a, &softmax.d, NULL);
	case GELU:
		return make_act(l, ACCEL_ACT_GELU);
	case GELU_TANH:
		return make_act(l, ACCEL_ACT_GELU_TANH);
	case SILU:
		return make_act(l, ACCEL_ACT_SILU);
	case TRANSPOSE:
	case TO_NHWC:
		return make_turn(l);
	case POOL:
	case PLANES:
	case GLOBAL:
		return make_pool(l);
	case TOP_K:
		return make_top(l);
	case FILL:
		fill.value = 1;
		fill.d = tensor(l->c->d, l->c->rank, l->c->dims);
		ret = accel_plan_create(l->perf->ctx, &fill.hdr, &l->op.plan);
		return ret ? ret : attach(l, ACCEL_ARG_D, &fill.d);
	case SELECT:
		return make_select(l);
	case PAD:
		return make_pad(l);
	case SCAN:
		return one_input(l, &scan.hdr, &scan.a, &scan.d, NULL);
	case ROTARY:
		return make_rotary(l);
	case RESIZE:
		return make_resize(l);
	default:
		return make_reduce(l);
	}
}

static void measure(struct perf *perf, const struct line_case *which)
{
	struct lines l = { .perf = perf, .c = which };
	struct perf_case c = { 0 };
	struct perf_impl impl;
	char dtype[16];
	uint32_t i;
	int ret, n;

	n = snprintf(c.name, sizeof(c.name), "lines/%s/", which->name);
	for (i = 0; i < which->rank; i++)
		n += snprintf(c.name + n, sizeof(c.name) - (size_t)n, "%s%lld", i ? "x" : "",
			      (long long)which->dims[i]);
	snprintf(dtype, sizeof(dtype), which->a == which->d ? "%s" : "%s-%s",
		 data_name(which->a), data_name(which->d));
	c.dtype = dtype;
	if (!perf_wanted(perf, c.name, c.dtype))
		return;
	ret = make(&l);
	if (!ret)
		ret = ours_impl(perf, &l.op, 1, 0, &impl);
	if (ret) {
		ours_fail(perf, c.name, ret);
	} else {
		c.flops = c.bytes = c.read_bytes = l.bytes;
		c.bound = PERF_READ;
		c.read_set = ((size_t)l.bytes + 4095) & ~(size_t)4095;
		perf_measure(perf, &c, &impl, 1);
	}
	accel_plan_unref(l.op.plan);
	while (l.count)
		accel_bo_unref(l.bos[--l.count]);
}

void line_cases(struct perf *perf)
{
	static const struct line_case cases[] = {
		{ "add", ADD, ACCEL_F32, ACCEL_F32, 2, { 512, 3072 } },
		{ "copy", COPY, ACCEL_F32, ACCEL_F32, 2, { 512, 3072 } },
		{ "layer-norm", LAYER_NORM, ACCEL_F32, ACCEL_F32, 2, { 512, 3072 } },
		{ "layer-norm", LAYER_NORM, ACCEL_F32, ACCEL_S8, 2, { 512, 3072 } },
		{ "layer-norm", LAYER_NORM, ACCEL_BF16, ACCEL_BF16, 2, { 512, 3072 } },
		{ "rms-norm", RMS_NORM, ACCEL_F32, ACCEL_F32, 2, { 512, 3072 } },
		{ "group-norm", GROUP_NORM, ACCEL_F32, ACCEL_F32, 4, { 1, 320, 64, 64 } },
		{ "add-norm", ADD_NORM, ACCEL_F32, ACCEL_S8, 2, { 512, 768 } },
		{ "softmax", SOFTMAX, ACCEL_F32, ACCEL_F32, 2, { 512, 3072 } },
		{ "softmax", SOFTMAX, ACCEL_F32, ACCEL_F32, 2, { 1, LOGITS } },
		{ "log-softmax", LOG_SOFTMAX, ACCEL_F32, ACCEL_F32, 2, { 1, LOGITS } },
		{ "gelu", GELU, ACCEL_F32, ACCEL_F32, 2, { 512, 3072 } },
		{ "gelu", GELU, ACCEL_F32, ACCEL_F32, 2, { 32, 3072 } },
		{ "gelu", GELU, ACCEL_BF16, ACCEL_BF16, 2, { 512, 3072 } },
		{ "gelu-tanh", GELU_TANH, ACCEL_F32, ACCEL_F32, 2, { 512, 3072 } },
		{ "silu", SILU, ACCEL_F32, ACCEL_F32, 2, { 512, 3072 } },
		{ "convert", COPY, ACCEL_F32, ACCEL_S8, 2, { 512, 3072 } },
		{ "convert", COPY, ACCEL_S8, ACCEL_F32, 2, { 512, 3072 } },
		{ "convert", COPY, ACCEL_F32, ACCEL_BF16, 2, { 512, 3072 } },
		{ "add", ADD, ACCEL_S8, ACCEL_S8, 4, { 1, 56, 56, 256 } },
		{ "transpose", TRANSPOSE, ACCEL_F32, ACCEL_F32, 2, { 1024, 1024 } },
		{ "transpose", TRANSPOSE, ACCEL_BF16, ACCEL_BF16, 2, { 1024, 1024 } },
		{ "transpose", TRANSPOSE, ACCEL_S8, ACCEL_S8, 2, { 1024, 1024 } },
		{ "nchw-nhwc", TO_NHWC, ACCEL_F32, ACCEL_F32, 4, { 1, 64, 56, 56 } },
		{ "nchw-nhwc", TO_NHWC, ACCEL_U8, ACCEL_U8, 4, { 1, 64, 56, 56 } },
		{ "max-pool", POOL, ACCEL_F32, ACCEL_F32, 4, { 1, 64, 112, 112 } },
		{ "max-pool", POOL, ACCEL_U8, ACCEL_U8, 4, { 1, 64, 112, 112 } },
		{ "max-pool-nchw", PLANES, ACCEL_F32, ACCEL_F32, 4, { 1, 64, 112, 112 } },
		{ "max-pool-nchw", PLANES, ACCEL_U8, ACCEL_U8, 4, { 1, 64, 112, 112 } },
		{ "avg-pool-nchw", GLOBAL, ACCEL_F32, ACCEL_F32, 4, { 1, 2048, 7, 7 } },
		{ "avg-pool-nchw", GLOBAL, ACCEL_U8, ACCEL_U8, 4, { 1, 2048, 7, 7 } },
		{ "arg-max", ARG_MAX, ACCEL_F32, ACCEL_S32, 2, { 1, LOGITS } },
		{ "top-10", TOP_K, ACCEL_F32, ACCEL_F32, 2, { 1, LOGITS } },
		{ "rotary", ROTARY, ACCEL_F32, ACCEL_F32, 4, { 1, 512, 12, 64 } },
		{ "reduce-max", REDUCE_MAX, ACCEL_F32, ACCEL_F32, 2, { 512, 3072 } },
		{ "column-sum", COLUMN_SUM, ACCEL_F32, ACCEL_F32, 2, { 512, 3072 } },
		{ "fill", FILL, ACCEL_F32, ACCEL_F32, 2, { 512, 3072 } },
		{ "select", SELECT, ACCEL_U8, ACCEL_F32, 2, { 512, 3072 } },
		{ "pad", PAD, ACCEL_F32, ACCEL_F32, 4, { 1, 56, 56, 64 } },
		{ "scan", SCAN, ACCEL_F32, ACCEL_F32, 2, { 512, 3072 } },
		{ "resize-linear", RESIZE, ACCEL_F32, ACCEL_F32, 4, { 1, 64, 28, 28 } },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		measure(perf, &cases[i]);
}
