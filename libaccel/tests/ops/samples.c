// SPDX-License-Identifier: MIT
/*
 * A right descriptor of every operation but FILL, some several times.
 */
#include <string.h>
#include "samples.h"

/* Elements of types that are wanted, in the order of the dimensions */
#define DIMS(...)	((const int64_t[]) { __VA_ARGS__ })
#define T(type, ...)	dense(type, DIMS(__VA_ARGS__), ARRAY_SIZE(DIMS(__VA_ARGS__)))

static struct accel_tensor dense(uint32_t dtype, const int64_t *dims, uint32_t rank)
{
	return accel_tensor_dense(NULL, dtype, rank, dims);
}

static struct accel_tensor scaled(struct accel_tensor t)
{
	t.quant.scheme = ACCEL_QUANT_TENSOR;
	t.quant.scale = 0.25f;
	t.quant.zero = 3;
	return t;
}

/* --- right descriptors: the results are what follows ------------------------------- */

#define NEW(op, OP)	d->op = (struct accel_##op##_desc)ACCEL_##OP##_DESC_INIT

static void gemm(union desc *d)
{
	NEW(gemm, GEMM);
	d->gemm.a = T(ACCEL_BF16, 2, 3, 4);
	d->gemm.b = T(ACCEL_BF16, 4, 5);
	d->gemm.d = T(ACCEL_BF16, 2, 3, 5);
}

static void gemm_transposed(union desc *d)
{
	NEW(gemm, GEMM);
	d->gemm.flags = ACCEL_GEMM_TRANS_A | ACCEL_GEMM_TRANS_B;
	d->gemm.a = T(ACCEL_S8, 1, 4, 3);
	d->gemm.b = T(ACCEL_S8, 7, 1, 5, 4);
	d->gemm.d = T(ACCEL_S32, 7, 1, 3, 5);
}

static void gemm_scaled(union desc *d)
{
	NEW(gemm, GEMM);
	d->gemm.a = scaled(T(ACCEL_U8, 3, 4));
	d->gemm.b = T(ACCEL_S8, 4, 5);
	d->gemm.d = T(ACCEL_F32, 3, 5);
}

static void gemv(union desc *d)
{
	NEW(gemm, GEMM);
	d->gemm.a = T(ACCEL_F32, 2, 3, 4);
	d->gemm.b = T(ACCEL_F32, 4);
	d->gemm.d = T(ACCEL_F32, 2, 3);
}

static void gevm(union desc *d)
{
	NEW(gemm, GEMM);
	d->gemm.a = T(ACCEL_F32, 4);
	d->gemm.b = T(ACCEL_F32, 2, 4, 5);
	d->gemm.d = T(ACCEL_F32, 2, 5);
}

static void dot(union desc *d)
{
	NEW(gemm, GEMM);
	d->gemm.a = T(ACCEL_F32, 4);
	d->gemm.b = T(ACCEL_F32, 4);
	d->gemm.d = T(ACCEL_F32, 1);
}

static void conv(union desc *d)
{
	NEW(conv, CONV);
	d->conv.groups = 2;
	d->conv.stride[0] = 2;
	d->conv.dilation[1] = 2;
	d->conv.pad_before[0] = 1;
	d->conv.pad_after[1] = 3;
	d->conv.a = T(ACCEL_F32, 2, 4, 9, 10);
	d->conv.b = T(ACCEL_F32, 6, 2, 3, 2);
	d->conv.d = T(ACCEL_F32, 2, 6, 4, 11);
}

static void conv_nhwc(union desc *d)
{
	NEW(conv, CONV);
	d->conv.flags = ACCEL_CONV_NHWC;
	d->conv.a = T(ACCEL_U8, 1, 9, 10, 4);
	d->conv.b = T(ACCEL_S8, 6, 4, 3, 3);
	d->conv.d = T(ACCEL_S32, 1, 7, 8, 6);
}

static void conv_transposed(union desc *d)
{
	NEW(conv, CONV);
	d->conv.flags = ACCEL_CONV_TRANSPOSED;
	d->conv.groups = 2;
	d->conv.stride[0] = 3;
	d->conv.pad_before[0] = 1;
	d->conv.a = T(ACCEL_F32, 2, 4, 9);
	d->conv.b = T(ACCEL_F32, 4, 3, 5);
	d->conv.d = T(ACCEL_F32, 2, 6, 28);
}

static void ffn(union desc *d)
{
	NEW(ffn, FFN);
	d->ffn.flags = ACCEL_FFN_TRANS;
	d->ffn.act = ACCEL_ACT_SILU;
	d->ffn.a = T(ACCEL_F16, 2, 3, 8);
	d->ffn.up = T(ACCEL_F16, 16, 8);
	d->ffn.gate = T(ACCEL_F16, 16, 8);
	d->ffn.down = T(ACCEL_F16, 6, 16);
	d->ffn.d = T(ACCEL_F16, 2, 3, 6);
}

static void attention(union desc *d)
{
	NEW(attention, ATTENTION);
	d->attention.q = T(ACCEL_F16, 2, 3, 4, 8);
	d->attention.k = T(ACCEL_F16, 2, 5, 2, 8);
	d->attention.v = T(ACCEL_F16, 2, 5, 2, 16);
	d->attention.d = T(ACCEL_F16, 2, 3, 4, 16);
}

static void rotary(union desc *d)
{
	NEW(rotary, ROTARY);
	d->rotary.a = T(ACCEL_F32, 2, 3, 4, 8);
	d->rotary.cosines = T(ACCEL_F32, 16, 4);
	d->rotary.sines = T(ACCEL_F32, 16, 4);
	d->rotary.d = T(ACCEL_F32, 2, 3, 4, 8);
}

static void copy(union desc *d)
{
	NEW(copy, COPY);
	d->copy.a = scaled(T(ACCEL_S8, 2, 3));
	d->copy.d = scaled(T(ACCEL_S8, 2, 3));
}

static void unary(union desc *d)
{
	NEW(unary, UNARY);
	d->unary.func = ACCEL_UNARY_EXP;
	d->unary.a = scaled(T(ACCEL_U8, 2, 3));
	d->unary.d = T(ACCEL_F32, 2, 3);
}

static void is_nan(union desc *d)
{
	NEW(unary, UNARY);
	d->unary.func = ACCEL_UNARY_IS_NAN;
	d->unary.a = T(ACCEL_F32, 2, 3);
	d->unary.d = T(ACCEL_U8, 2, 3);
}

static void binary(union desc *d)
{
	NEW(binary, BINARY);
	d->binary.a = T(ACCEL_BF16, 3, 1);
	d->binary.b = T(ACCEL_BF16, 2, 1, 4);
	d->binary.d = T(ACCEL_BF16, 2, 3, 4);
}

static void less(union desc *d)
{
	NEW(binary, BINARY);
	d->binary.func = ACCEL_BINARY_LT;
	d->binary.a = T(ACCEL_F32, 2, 3);
	d->binary.b = T(ACCEL_F16, 1);
	d->binary.d = T(ACCEL_U8, 2, 3);
}

static void select_(union desc *d)
{
	NEW(select, SELECT);
	d->select.a = T(ACCEL_U8, 3, 1);
	d->select.b = T(ACCEL_F16, 4);
	d->select.c = T(ACCEL_F32, 2, 1, 1);
	d->select.d = T(ACCEL_F32, 2, 3, 4);
}

static void softmax(union desc *d)
{
	NEW(softmax, SOFTMAX);
	d->softmax.a = T(ACCEL_F16, 2, 3);
	d->softmax.d = T(ACCEL_F16, 2, 3);
}

static void norm(union desc *d)
{
	NEW(norm, NORM);
	d->norm.func = ACCEL_NORM_GROUP;
	d->norm.groups = 2;
	d->norm.a = T(ACCEL_S8, 2, 4, 3);
	d->norm.a = scaled(d->norm.a);
	d->norm.d = T(ACCEL_F32, 2, 4, 3);
}

static void reduce(union desc *d)
{
	NEW(reduce, REDUCE);
	d->reduce.axes = ACCEL_AXIS(1);
	d->reduce.a = T(ACCEL_S8, 2, 4, 3);
	d->reduce.d = T(ACCEL_S32, 2, 1, 3);
}

static void reduce_all(union desc *d)
{
	NEW(reduce, REDUCE);
	d->reduce.func = ACCEL_REDUCE_MEAN;
	d->reduce.a = T(ACCEL_F32, 2, 4, 3);
	d->reduce.d = T(ACCEL_F32, 1, 1, 1);
}

static void argmax(union desc *d)
{
	NEW(reduce, REDUCE);
	d->reduce.func = ACCEL_REDUCE_ARG_MAX;
	d->reduce.axes = ACCEL_AXIS(0);
	d->reduce.a = T(ACCEL_F32, 2, 4);
	d->reduce.d = T(ACCEL_S32, 1, 4);
}

static void topk(union desc *d)
{
	NEW(topk, TOPK);
	d->topk.a = T(ACCEL_F16, 2, 40);
	d->topk.d = T(ACCEL_F16, 2, 5);
	d->topk.indices = T(ACCEL_S32, 2, 5);
}

static void norm_two(union desc *d)
{
	NEW(norm, NORM);
	d->norm.flags = ACCEL_NORM_DYNQUANT | ACCEL_NORM_ASYMMETRIC;
	d->norm.a = T(ACCEL_F32, 2, 4, 3);
	d->norm.addend = d->norm.a;
	d->norm.d = T(ACCEL_U8, 2, 4, 3);
	d->norm.second = T(ACCEL_F32, 2, 4, 3);
	d->norm.scales = T(ACCEL_F32, 2, 4, 1);
	d->norm.zeros = T(ACCEL_S32, 2, 4, 1);
}

static void dynquant(union desc *d)
{
	NEW(dynquant, DYNQUANT);
	d->dynquant.flags = ACCEL_DYNQUANT_ASYMMETRIC;
	d->dynquant.axes = ACCEL_AXIS(1);
	d->dynquant.a = T(ACCEL_F32, 2, 40);
	d->dynquant.d = T(ACCEL_U8, 2, 40);
	d->dynquant.scales = T(ACCEL_F32, 2, 1);
	d->dynquant.zeros = T(ACCEL_S32, 2, 1);
}

static void kv_write(union desc *d)
{
	NEW(kv_write, KV_WRITE);
	d->kv_write.a = T(ACCEL_F32, 3, 2, 10);
	d->kv_write.slots = T(ACCEL_S32, 3);
	d->kv_write.d = T(ACCEL_BF16, 4, 5, 2, 10);
}

static void kv_write_bytes(union desc *d)
{
	kv_write(d);
	d->kv_write.flags = ACCEL_KV_WRITE_ASYMMETRIC;
	d->kv_write.d = T(ACCEL_U8, 4, 5, 2, 10);
	d->kv_write.scales = T(ACCEL_F32, 4, 5, 2, 1);
	d->kv_write.zeros = T(ACCEL_S32, 4, 5, 2, 1);
}

static void symmetric(union desc *d)
{
	NEW(dynquant, DYNQUANT);
	d->dynquant.a = T(ACCEL_BF16, 2, 40);
	d->dynquant.d = T(ACCEL_S8, 2, 40);
	d->dynquant.scales = T(ACCEL_F32, 1, 1);
}

static void scan(union desc *d)
{
	NEW(scan, SCAN);
	d->scan.a = T(ACCEL_U8, 2, 40);
	d->scan.d = T(ACCEL_S32, 2, 40);
}

static void pool(union desc *d)
{
	NEW(pool, POOL);
	d->pool.flags = ACCEL_POOL_CEIL;
	d->pool.kernel[0] = 3;
	d->pool.kernel[1] = 2;
	d->pool.stride[0] = 2;
	d->pool.pad_end[1] = 1;
	d->pool.a = scaled(T(ACCEL_U8, 2, 3, 10, 6));
	d->pool.d = scaled(T(ACCEL_U8, 2, 3, 5, 6));
}

static void pool_global(union desc *d)
{
	NEW(pool, POOL);
	d->pool.func = ACCEL_POOL_AVERAGE;
	d->pool.flags = ACCEL_POOL_GLOBAL;
	d->pool.a = T(ACCEL_F32, 2, 3, 10, 6);
	d->pool.d = T(ACCEL_F32, 2, 3, 1, 1);
}

static void resize(union desc *d)
{
	NEW(resize, RESIZE);
	d->resize.func = ACCEL_RESIZE_LINEAR;
	d->resize.scale[2] = 1.5;
	d->resize.scale[3] = 2;
	d->resize.a = T(ACCEL_F32, 1, 3, 5, 6);
	d->resize.d = T(ACCEL_F32, 1, 3, 7, 12);
}

static void embed(union desc *d)
{
	NEW(gather, GATHER);
	d->gather.a = T(ACCEL_F16, 100, 8);
	d->gather.b = T(ACCEL_S32, 2, 3);
	d->gather.d = T(ACCEL_F16, 2, 3, 8);
}

static void gather_axis(union desc *d)
{
	NEW(gather, GATHER);
	d->gather.axis = 1;
	d->gather.a = scaled(T(ACCEL_U8, 4, 100, 8));
	d->gather.b = T(ACCEL_S32, 6);
	d->gather.d = scaled(T(ACCEL_U8, 4, 6, 8));
}

static void gather_elements(union desc *d)
{
	NEW(gather, GATHER);
	d->gather.func = ACCEL_GATHER_ELEMENTS;
	d->gather.axis = 1;
	d->gather.a = T(ACCEL_F32, 4, 100);
	d->gather.b = T(ACCEL_S32, 3, 200);
	d->gather.d = T(ACCEL_F32, 3, 200);
}

static void gather_nd(union desc *d)
{
	NEW(gather, GATHER);
	d->gather.func = ACCEL_GATHER_ND;
	d->gather.batch = 1;
	d->gather.a = T(ACCEL_F32, 4, 10, 11, 7);
	d->gather.b = T(ACCEL_S32, 4, 5, 2);
	d->gather.d = T(ACCEL_F32, 4, 5, 7);
}

static void scatter(union desc *d)
{
	NEW(scatter, SCATTER);
	d->scatter.func = ACCEL_SCATTER_ND;
	d->scatter.a = T(ACCEL_F32, 4, 10);
	d->scatter.b = T(ACCEL_S32, 3, 1);
	d->scatter.c = T(ACCEL_F32, 3, 10);
	d->scatter.d = T(ACCEL_F32, 4, 10);
}

static void concat(union desc *d)
{
	NEW(concat, CONCAT);
	d->concat.axis = 1;
	d->concat.count = 3;
	d->concat.a[0] = T(ACCEL_F32, 2, 3);
	d->concat.a[1] = T(ACCEL_F16, 2, 1);
	d->concat.a[2] = T(ACCEL_F32, 2, 4);
	d->concat.d = T(ACCEL_F32, 2, 8);
}

static void split(union desc *d)
{
	NEW(split, SPLIT);
	d->split.axis = 1;
	d->split.count = 3;
	d->split.a = T(ACCEL_F32, 2, 12);
	d->split.d[0] = T(ACCEL_F32, 2, 4);
	d->split.d[1] = T(ACCEL_F32, 2, 4);
	d->split.d[2] = T(ACCEL_F32, 2, 4);
}

static void pad(union desc *d)
{
	NEW(pad, PAD);
	d->pad.mode = ACCEL_PAD_EDGE;
	d->pad.before[0] = 1;
	d->pad.after[1] = 2;
	d->pad.a = T(ACCEL_F32, 2, 12);
	d->pad.d = T(ACCEL_F32, 3, 14);
}

#define AT(op, f)	offsetof(struct accel_##op##_desc, f)

const struct sample samples[] = {
#define GEMM	1, { AT(gemm, d), AT(gemm, a), AT(gemm, b) }
	{ "gemm", gemm, GEMM },
	{ "gemm, transposed", gemm_transposed, GEMM },
	{ "gemm, quantised", gemm_scaled, GEMM },
	{ "gemm, matrix by vector", gemv, GEMM },
	{ "gemm, vector by matrix", gevm, GEMM },
	{ "gemm, vectors", dot, GEMM },
#define CONV	1, { AT(conv, d), AT(conv, a), AT(conv, b) }
	{ "conv", conv, CONV },
	{ "conv, NHWC", conv_nhwc, CONV },
	{ "conv, transposed", conv_transposed, CONV },
	{ "ffn", ffn, 1, { AT(ffn, d), AT(ffn, a), AT(ffn, up), AT(ffn, gate), AT(ffn, down) } },
	{ "attention", attention, 1,
	  { AT(attention, d), AT(attention, q), AT(attention, k), AT(attention, v) } },
	{ "rotary", rotary, 1,
	  { AT(rotary, d), AT(rotary, a), AT(rotary, cosines), AT(rotary, sines) } },
	{ "copy", copy, 1, { AT(copy, d), AT(copy, a) } },
#define UNARY	1, { AT(unary, d), AT(unary, a) }
	{ "unary", unary, UNARY },
	{ "unary, logic", is_nan, UNARY },
#define BINARY	1, { AT(binary, d), AT(binary, a), AT(binary, b) }
	{ "binary", binary, BINARY },
	{ "binary, comparison", less, BINARY },
	{ "select", select_, 1,
	  { AT(select, d), AT(select, a), AT(select, b), AT(select, c) } },
	{ "softmax", softmax, 1, { AT(softmax, d), AT(softmax, a) } },
	{ "norm", norm, 1, { AT(norm, d), AT(norm, a) } },
	{ "norm of two results", norm_two, 4,
	  { AT(norm, d), AT(norm, scales), AT(norm, zeros), AT(norm, second), AT(norm, a),
	    AT(norm, addend) }, .given = 1 },
#define REDUCE	1, { AT(reduce, d), AT(reduce, a) }
	{ "reduce", reduce, REDUCE },
	{ "reduce, all", reduce_all, REDUCE },
	{ "reduce, position", argmax, REDUCE },
	{ "topk", topk, 2, { AT(topk, indices), AT(topk, d), AT(topk, a) } },
	{ "dynquant, asymmetric", dynquant, 3,
	  { AT(dynquant, d), AT(dynquant, scales), AT(dynquant, zeros), AT(dynquant, a) } },
	{ "dynquant", symmetric, 2,
	  { AT(dynquant, d), AT(dynquant, scales), AT(dynquant, a) } },
	{ "kv_write", kv_write, 1,
	  { AT(kv_write, d), AT(kv_write, a), AT(kv_write, slots) }, .given = 1 },
	{ "kv_write of bytes", kv_write_bytes, 3,
	  { AT(kv_write, scales), AT(kv_write, zeros), AT(kv_write, d), AT(kv_write, a),
	    AT(kv_write, slots) }, .given = 1 },
	{ "scan", scan, 1, { AT(scan, d), AT(scan, a) } },
#define POOL	1, { AT(pool, d), AT(pool, a) }
	{ "pool", pool, POOL },
	{ "pool, global", pool_global, POOL },
	{ "resize", resize, 1, { AT(resize, d), AT(resize, a) } },
#define GATHER	1, { AT(gather, d), AT(gather, a), AT(gather, b) }
	{ "gather, rows", embed, GATHER },
	{ "gather, axis", gather_axis, GATHER },
	{ "gather, elements", gather_elements, GATHER },
	{ "gather, nd", gather_nd, GATHER },
	{ "scatter", scatter, 1,
	  { AT(scatter, d), AT(scatter, a), AT(scatter, b), AT(scatter, c) } },
	{ "concat", concat, 1,
	  { AT(concat, d), AT(concat, a[0]), AT(concat, a[1]), AT(concat, a[2]) } },
	{ "split", split, 3,
	  { AT(split, d[0]), AT(split, d[1]), AT(split, d[2]), AT(split, a) } },
	{ "pad", pad, 1, { AT(pad, d), AT(pad, a) } },
};

const uint32_t sample_count = ARRAY_SIZE(samples);

void sample_make(const struct sample *s, union desc *d)
{
	memset(d, 0, sizeof(*d));
	s->make(d);
}
