// SPDX-License-Identifier: MIT
/*
 * Descriptors that are wrong: each rule, one row. A row changes a few fields of
 * a descriptor that is right; planning it must give the error and name the
 * field, and leave everything as it was.
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

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Bits of binary32 */
#define NAN32		0x7fc00000u
#define INF32		0x7f800000u
#define TWO32		0x40000000u
#define HALF32		0x3f000000u
#define ONE32		0x3f800000u
#define MINUS32		0xbf800000u

/**
 * struct poke - a field to set
 */
struct poke {
	uint16_t offset;
	uint16_t size;
	uint64_t value;
};

/**
 * struct row - changes, and what they must lead to
 * @line: where the row is
 */
struct row {
	int line;
	int code;
	const char *field;
	struct poke pokes[16];
};

#define POKE(type, f, v) \
	{ offsetof(type, f), sizeof(((type *)0)->f), (uint64_t)(v) }
#define G(f, v)		POKE(struct accel_gemm_desc, f, v)
#define C(f, v)		POKE(struct accel_copy_desc, f, v)
#define F(f, v)		POKE(struct accel_fill_desc, f, v)
#define U(f, v)		POKE(struct accel_unary_desc, f, v)
#define B(f, v)		POKE(struct accel_binary_desc, f, v)
/* The rows of experts, and matrices without batches that go with it */
#define ROWS(t, n)	G(rows.dtype, t), G(rows.rank, 1), G(rows.dims[0], n)
#define FLAT_A		G(a.rank, 2), G(a.dims[0], 3), G(a.dims[1], 4), G(a.dims[2], 0)
#define FLAT_D		G(d.rank, 2), G(d.dims[0], 3), G(d.dims[1], 5), G(d.dims[2], 0)
/* A pointer: nothing that it points to is looked at */
#define GP(f, v)	{ offsetof(struct accel_gemm_desc, f), sizeof(void *), v }
#define BAD(field, ...)	{ __LINE__, -EINVAL, field, { __VA_ARGS__ } }
#define CODE(code, field, ...)	{ __LINE__, code, field, { __VA_ARGS__ } }

union desc {
	struct accel_desc hdr;
	struct accel_gemm_desc gemm;
	struct accel_copy_desc copy;
	struct accel_fill_desc fill;
	struct accel_unary_desc unary;
	struct accel_binary_desc binary;
	/* A descriptor of a newer library */
	char room[4096];
};

static struct accel_device *dev;
static struct accel_ctx *ctx;

/* --- right descriptors --------------------------------------------------------- */

/* fp32, [2, 3, 4] by [2, 4, 5] */
static void base_gemm(union desc *d)
{
	const int64_t a[] = { 2, 3, 4 }, b[] = { 2, 4, 5 }, r[] = { 2, 3, 5 };

	d->gemm = (struct accel_gemm_desc)ACCEL_GEMM_DESC_INIT;
	d->gemm.a = accel_tensor_dense(NULL, ACCEL_F32, 3, a);
	d->gemm.b = accel_tensor_dense(NULL, ACCEL_F32, 3, b);
	d->gemm.d = accel_tensor_dense(NULL, ACCEL_F32, 3, r);
}

static const struct row gemm_rows[] = {
	/* the header */
	BAD("desc.op", G(hdr.op, 0)),
	BAD("desc.op", G(hdr.op, ACCEL_OP_COUNT)),
	BAD("desc.size", G(hdr.size, 0)),
	BAD("desc.size", G(hdr.size, 15)),
	BAD("gemm.hdr.size", G(hdr.size, sizeof(struct accel_desc))),
	BAD("gemm.hdr.size", G(hdr.size, sizeof(struct accel_gemm_desc) - 8)),
	BAD("gemm.hdr.engine", G(hdr.engine, ACCEL_ENGINE_COUNT)),
	BAD("gemm.hdr.pad", G(hdr.pad, 1)),
	/* scalars */
	BAD("gemm.flags", G(flags, 64)),
	/* Nothing is rounded that could be rounded to bf16 instead. */
	BAD("gemm.flags", G(flags, ACCEL_GEMM_BF16)),
	BAD("gemm.flags", G(flags, 1u << 31)),
	BAD("gemm.a_group", G(a_group, 1)),
	BAD("gemm.a_group", G(a_group, 24)),
	BAD("gemm.a_group", G(a_group, 256)),
	/* By a right matrix of floating-point numbers. */
	BAD("gemm.a_group", G(a_group, 32)),
	BAD("gemm.alpha", G(alpha, TWO32)),
	BAD("gemm.alpha", G(flags, ACCEL_GEMM_ALPHA), G(alpha, NAN32)),
	BAD("gemm.alpha", G(flags, ACCEL_GEMM_ALPHA), G(alpha, INF32)),
	BAD("gemm.beta", G(beta, NAN32)),
	BAD("gemm.beta", G(beta, INF32)),
	/* tensors, each in each place */
	BAD("gemm.a.dtype", G(a.dtype, 0)),
	BAD("gemm.a.dtype", G(a.dtype, ACCEL_DTYPE_COUNT)),
	BAD("gemm.b.dtype", G(b.dtype, 0)),
	BAD("gemm.d.dtype", G(d.dtype, ACCEL_DTYPE_COUNT)),
	BAD("gemm.a.rank", G(a.rank, 0)),
	BAD("gemm.a.rank", G(a.rank, ACCEL_MAX_RANK + 1)),
	BAD("gemm.b.rank", G(b.rank, 0)),
	BAD("gemm.d.rank", G(d.rank, 0)),
	BAD("gemm.a.flags", G(a.flags, 4)),
	BAD("gemm.b.dynamic", G(b.dynamic, 32)),
	BAD("gemm.b.length_offset", G(b.length_offset, 4)),
	BAD("gemm.a.reserved[0]", G(a.reserved[0], 1)),
	BAD("gemm.d.reserved[1]", G(d.reserved[1], 1)),
	BAD("gemm.a.dims[1]", G(a.dims[1], -1)),
	BAD("gemm.b.dims[0]", G(b.dims[0], INT64_MIN)),
	BAD("gemm.a.dims[3]", G(a.dims[3], 1)),
	BAD("gemm.d.dims[4]", G(d.dims[4], 1)),
	BAD("gemm.a.strides[3]", G(a.flags, ACCEL_TENSOR_STRIDES), G(a.strides[3], 1)),
	BAD("gemm.a.strides[0]", G(a.strides[0], 12)),
	BAD("gemm.b.strides[2]", G(b.strides[2], 1)),
	/* sizes that no address space has */
	BAD("gemm.a.dims[0]", G(a.dims[0], INT64_MAX)),
	BAD("gemm.a.dims[0]", G(a.dims[0], 1ll << 46)),
	BAD("gemm.b.dims[0]", G(b.dims[0], 1ll << 31), G(b.dims[1], 1ll << 31),
	    G(b.dims[2], 1ll << 31)),
	BAD("gemm.a.dims[0]", G(a.flags, ACCEL_TENSOR_STRIDES),
	    G(a.strides[0], INT64_MAX), G(a.strides[2], 1)),
	BAD("gemm.a.dims[0]", G(a.flags, ACCEL_TENSOR_STRIDES),
	    G(a.strides[0], INT64_MIN), G(a.strides[2], 1)),
	BAD("gemm.a.dims[0]", G(a.flags, ACCEL_TENSOR_STRIDES),
	    G(a.strides[0], 1ll << 47), G(a.strides[2], 1)),
	/* shapes that do not fit */
	BAD("gemm.b.dims[1]", G(a.rank, 1), G(a.dims[1], 0), G(a.dims[2], 0)),
	/* vectors */
	BAD("gemm.flags", G(flags, ACCEL_GEMM_TRANS_A), G(a.rank, 1), G(a.dims[0], 4),
	    G(a.dims[1], 0), G(a.dims[2], 0)),
	BAD("gemm.flags", G(flags, ACCEL_GEMM_TRANS_B), G(b.rank, 1), G(b.dims[0], 4),
	    G(b.dims[1], 0), G(b.dims[2], 0)),
	BAD("gemm.d.dims[1]", G(a.rank, 1), G(a.dims[0], 4), G(a.dims[1], 0),
	    G(a.dims[2], 0), G(d.rank, 2), G(d.dims[1], 6), G(d.dims[2], 0)),
	BAD("gemm.d.dims[1]", G(b.rank, 1), G(b.dims[0], 4), G(b.dims[1], 0),
	    G(b.dims[2], 0), G(d.rank, 2), G(d.dims[1], 4), G(d.dims[2], 0)),
	BAD("gemm.d.rank", G(b.rank, 1), G(b.dims[0], 4), G(b.dims[1], 0),
	    G(b.dims[2], 0), G(d.rank, 5), G(d.dims[3], 1), G(d.dims[4], 1)),
	/* experts: two matrices, three rows */
	BAD("gemm.a.rank", ROWS(ACCEL_S32, 2)),
	BAD("gemm.d.rank", ROWS(ACCEL_S32, 2), FLAT_A),
	BAD("gemm.rows.dtype", ROWS(ACCEL_F32, 2), FLAT_A, FLAT_D),
	BAD("gemm.rows.dims[0]", ROWS(ACCEL_S32, 3), FLAT_A, FLAT_D),
	BAD("gemm.b.dims[0]", ROWS(ACCEL_S32, 2), FLAT_A, FLAT_D, G(b.dims[0], 1025)),
	BAD("gemm.b.rank", ROWS(ACCEL_S32, 2), FLAT_A, FLAT_D, G(b.rank, 2), G(b.dims[2], 0)),
	/* two of four */
	BAD("gemm.flags", G(flags, ACCEL_GEMM_SPARSE_B)),
	BAD("gemm.b.dims[0]", G(b.rank, 1), G(b.dims[1], 0), G(b.dims[2], 0)),
	BAD("gemm.d.rank", G(d.rank, 1), G(d.dims[1], 0), G(d.dims[2], 0)),
	BAD("gemm.b.dims[1]", G(b.dims[1], 3)),
	BAD("gemm.b.dims[2]", G(b.dims[2], 3), G(flags, ACCEL_GEMM_TRANS_B)),
	BAD("gemm.b.dims[1]", G(a.dims[1], 4), G(a.dims[2], 3),
	    G(flags, ACCEL_GEMM_TRANS_A), G(a.dims[1], 5)),
	BAD("gemm.d.dims[1]", G(d.dims[1], 2)),
	BAD("gemm.d.dims[2]", G(d.dims[2], 6)),
	BAD("gemm.a.dims[0]", G(a.dims[0], 3)),
	BAD("gemm.b.dims[0]", G(b.dims[0], 0)),
	BAD("gemm.a.rank", G(d.rank, 2), G(d.dims[0], 3), G(d.dims[1], 5),
	    G(d.dims[2], 0)),
	/* elements of the result that overlap */
	BAD("gemm.d.strides[0]", G(d.flags, ACCEL_TENSOR_STRIDES), G(d.strides[0], 14),
	    G(d.strides[1], 5), G(d.strides[2], 1)),
	BAD("gemm.d.strides[1]", G(d.flags, ACCEL_TENSOR_STRIDES), G(d.strides[0], 15),
	    G(d.strides[1], 0), G(d.strides[2], 1)),
	BAD("gemm.d.strides[1]", G(d.flags, ACCEL_TENSOR_STRIDES), G(d.strides[0], 15),
	    G(d.strides[1], -4), G(d.strides[2], 1)),
	/* types that do not fit */
	BAD("gemm.a.dtype", G(a.dtype, ACCEL_S32)),
	BAD("gemm.a.dtype", G(a.dtype, ACCEL_S4)),
	BAD("gemm.b.dtype", G(a.dtype, ACCEL_F16)),
	BAD("gemm.b.dtype", G(a.dtype, ACCEL_F16), G(b.dtype, ACCEL_BF16)),
	BAD("gemm.b.dtype", G(a.dtype, ACCEL_BF16), G(b.dtype, ACCEL_F16)),
	BAD("gemm.b.dtype", G(b.dtype, ACCEL_S32)),
	BAD("gemm.b.dtype", G(b.dtype, ACCEL_U8)),
	BAD("gemm.b.dtype", G(a.dtype, ACCEL_S8), G(d.dtype, ACCEL_S32)),
	BAD("gemm.d.dtype", G(d.dtype, ACCEL_S32)),
	BAD("gemm.d.dtype", G(d.dtype, ACCEL_S8)),
	BAD("gemm.d.dtype", G(a.dtype, ACCEL_F16), G(b.dtype, ACCEL_F16),
	    G(d.dtype, ACCEL_BF16)),
	BAD("gemm.d.dtype", G(a.dtype, ACCEL_BF16), G(b.dtype, ACCEL_BF16),
	    G(d.dtype, ACCEL_F16)),
	/* 4-bit rows */
	BAD("gemm.b.dims[2]", G(b.dtype, ACCEL_S4)),
	BAD("gemm.b.strides[2]", G(b.dtype, ACCEL_S4), G(b.flags, ACCEL_TENSOR_STRIDES),
	    G(b.strides[0], 24), G(b.strides[1], 6), G(b.strides[2], 3)),
	BAD("gemm.b.strides[1]", G(b.dtype, ACCEL_S4), G(b.flags, ACCEL_TENSOR_STRIDES),
	    G(b.strides[0], 24), G(b.strides[1], 1), G(b.strides[2], 1)),
	BAD("gemm.b.strides[2]", G(b.dtype, ACCEL_U4), G(b.flags, ACCEL_TENSOR_STRIDES),
	    G(b.strides[0], 24), G(b.strides[1], 6), G(b.strides[2], -1)),
	/* quantisation */
	BAD("gemm.b.quant.scheme", G(b.dtype, ACCEL_S8)),
	BAD("gemm.a.quant.scheme", G(a.quant.scheme, ACCEL_QUANT_COUNT)),
	BAD("gemm.a.quant.scheme", G(a.quant.scheme, ACCEL_QUANT_TENSOR),
	    G(a.quant.scale, ONE32)),
	BAD("gemm.a.quant.scale", G(a.quant.scale, ONE32)),
	BAD("gemm.a.quant.zero", G(a.quant.zero, 1)),
	BAD("gemm.a.quant.axis", G(a.quant.axis, 1)),
	BAD("gemm.a.quant.group", G(a.quant.group, 32)),
	BAD("gemm.a.quant.scale_dtype", G(a.quant.scale_dtype, ACCEL_F32)),
	BAD("gemm.a.quant.scales", GP(a.quant.scales, 8)),
	BAD("gemm.a.quant.scales_offset", G(a.quant.scales_offset, 8)),
	BAD("gemm.a.quant.zeros", GP(a.quant.zeros, 8)),
	BAD("gemm.a.quant.zeros_offset", G(a.quant.zeros_offset, 8)),
	/* constant B without a buffer */
	BAD("gemm.b.bo", G(flags, ACCEL_GEMM_PACK_B)),
	/* C */
	BAD("gemm.c.rank", G(c.dtype, ACCEL_F32)),
	BAD("gemm.c.rank", G(c.dims[0], 1)),
	BAD("gemm.c.rank", G(c.offset, 4)),
	BAD("gemm.c.rank", GP(c.bo, 8)),
	BAD("gemm.c.quant.scale", G(c.quant.scale, ONE32)),
	BAD("gemm.c.dtype", G(c.rank, 2), G(c.dims[0], 3), G(c.dims[1], 5)),
	BAD("gemm.c.dtype", G(c.dtype, ACCEL_S4), G(c.rank, 2), G(c.dims[0], 2),
	    G(c.dims[1], 6)),
	BAD("gemm.c.rank", G(c.dtype, ACCEL_F32), G(c.rank, 1), G(c.dims[0], 5)),
	BAD("gemm.c.dims[1]", G(c.dtype, ACCEL_F32), G(c.rank, 2), G(c.dims[0], 3),
	    G(c.dims[1], 1)),
	BAD("gemm.c.dims[0]", G(c.dtype, ACCEL_F32), G(c.rank, 2), G(c.dims[0], 1),
	    G(c.dims[1], 5)),
	BAD("gemm.c.dims[0]", G(c.dtype, ACCEL_F32), G(c.rank, 3), G(c.dims[0], 3),
	    G(c.dims[1], 3), G(c.dims[2], 5)),
	/* the epilogue */
	BAD("gemm.epilogue.act", G(epilogue.act, ACCEL_ACT_COUNT)),
	BAD("gemm.epilogue.pad", G(epilogue.pad, 1)),
	BAD("gemm.epilogue.p0", G(epilogue.p0, ONE32)),
	BAD("gemm.epilogue.p0", G(epilogue.act, ACCEL_ACT_GELU), G(epilogue.p0, ONE32)),
	BAD("gemm.epilogue.p1", G(epilogue.act, ACCEL_ACT_LEAKY_RELU),
	    G(epilogue.p1, ONE32)),
	BAD("gemm.epilogue.p0", G(epilogue.act, ACCEL_ACT_LEAKY_RELU),
	    G(epilogue.p0, NAN32)),
	BAD("gemm.epilogue.p0", G(epilogue.act, ACCEL_ACT_CLAMP),
	    G(epilogue.p0, NAN32)),
	BAD("gemm.epilogue.p1", G(epilogue.act, ACCEL_ACT_CLAMP),
	    G(epilogue.p1, NAN32)),
	BAD("gemm.epilogue.p1", G(epilogue.act, ACCEL_ACT_HARD_SIGMOID),
	    G(epilogue.p1, INF32)),
	BAD("gemm.epilogue.p1", G(epilogue.act, ACCEL_ACT_CLAMP),
	    G(epilogue.p0, TWO32), G(epilogue.p1, ONE32)),
	BAD("gemm.epilogue.scale.rank", G(epilogue.scale.dtype, ACCEL_F32)),
	BAD("gemm.epilogue.bias.rank", G(epilogue.bias.flags, 1)),
	BAD("gemm.epilogue.residual.rank", G(epilogue.residual.reserved[1], 1)),
	BAD("gemm.epilogue.residual_post.rank", G(epilogue.residual_post.dynamic, 1)),
	BAD("gemm.epilogue.bias.dtype", G(epilogue.bias.rank, 1),
	    G(epilogue.bias.dims[0], 5)),
	BAD("gemm.epilogue.bias.dtype", G(epilogue.bias.rank, 1),
	    G(epilogue.bias.dims[0], 6), G(epilogue.bias.dtype, ACCEL_U4)),
	BAD("gemm.epilogue.bias.dims[0]", G(epilogue.bias.rank, 1),
	    G(epilogue.bias.dims[0], 3), G(epilogue.bias.dtype, ACCEL_F32)),
	BAD("gemm.epilogue.scale.dims[1]", G(epilogue.scale.rank, 2),
	    G(epilogue.scale.dims[0], 3), G(epilogue.scale.dims[1], 4),
	    G(epilogue.scale.dtype, ACCEL_F32)),
	BAD("gemm.epilogue.residual.rank", G(epilogue.residual.rank, 4),
	    G(epilogue.residual.dims[0], 1), G(epilogue.residual.dims[1], 2),
	    G(epilogue.residual.dims[2], 3), G(epilogue.residual.dims[3], 5),
	    G(epilogue.residual.dtype, ACCEL_F32)),
	BAD("gemm.epilogue.residual_post", G(epilogue.residual.rank, 1),
	    G(epilogue.residual.dims[0], 5), G(epilogue.residual.dtype, ACCEL_F32),
	    G(epilogue.residual_post.rank, 1), G(epilogue.residual_post.dims[0], 5),
	    G(epilogue.residual_post.dtype, ACCEL_F32)),
	BAD("gemm.epilogue.bias.quant.scheme", G(epilogue.bias.rank, 1),
	    G(epilogue.bias.dims[0], 5), G(epilogue.bias.dtype, ACCEL_S8),
	    G(epilogue.bias.quant.scheme, ACCEL_QUANT_CHANNEL)),
};

/* int8 into int32: exact */
static void base_exact(union desc *d)
{
	d->gemm = (struct accel_gemm_desc)ACCEL_GEMM_DESC_INIT;
	d->gemm.a = accel_tensor_2d(NULL, ACCEL_S8, 3, 4);
	d->gemm.b = accel_tensor_2d(NULL, ACCEL_U8, 4, 5);
	d->gemm.d = accel_tensor_2d(NULL, ACCEL_S32, 3, 5);
}

static const struct row exact_rows[] = {
	BAD("gemm.alpha", G(flags, ACCEL_GEMM_ALPHA)),
	BAD("gemm.alpha", G(flags, ACCEL_GEMM_ALPHA), G(alpha, TWO32)),
	BAD("gemm.beta", G(beta, TWO32)),
	BAD("gemm.beta", G(beta, MINUS32)),
	BAD("gemm.epilogue.act", G(epilogue.act, ACCEL_ACT_GELU)),
	BAD("gemm.epilogue.scale", G(epilogue.scale.rank, 1),
	    G(epilogue.scale.dims[0], 5), G(epilogue.scale.dtype, ACCEL_S32)),
	BAD("gemm.epilogue.bias.dtype", G(epilogue.bias.rank, 1),
	    G(epilogue.bias.dims[0], 5), G(epilogue.bias.dtype, ACCEL_F32)),
	BAD("gemm.epilogue.bias.quant.scheme", G(epilogue.bias.rank, 1),
	    G(epilogue.bias.dims[0], 5), G(epilogue.bias.dtype, ACCEL_S32),
	    G(epilogue.bias.quant.scheme, ACCEL_QUANT_TENSOR),
	    G(epilogue.bias.quant.scale, ONE32)),
	BAD("gemm.c.dtype", G(beta, ONE32), G(c.rank, 2), G(c.dims[0], 3),
	    G(c.dims[1], 5), G(c.dtype, ACCEL_F32)),
	BAD("gemm.a.quant.scale", G(a.quant.scheme, ACCEL_QUANT_TENSOR),
	    G(a.quant.scale, TWO32)),
	BAD("gemm.b.quant.scheme", G(b.quant.scheme, ACCEL_QUANT_CHANNEL),
	    G(b.quant.axis, 1)),
	BAD("gemm.d.quant.scheme", G(d.quant.scheme, ACCEL_QUANT_TENSOR),
	    G(d.quant.scale, ONE32)),
	/* the values of the quantisation */
	BAD("gemm.a.quant.scale", G(a.quant.scheme, ACCEL_QUANT_TENSOR)),
	BAD("gemm.a.quant.scale", G(a.quant.scheme, ACCEL_QUANT_TENSOR),
	    G(a.quant.scale, MINUS32)),
	BAD("gemm.a.quant.scale", G(a.quant.scheme, ACCEL_QUANT_TENSOR),
	    G(a.quant.scale, NAN32)),
	BAD("gemm.a.quant.scale", G(a.quant.scheme, ACCEL_QUANT_TENSOR),
	    G(a.quant.scale, INF32)),
	BAD("gemm.a.quant.zero", G(a.quant.scheme, ACCEL_QUANT_TENSOR),
	    G(a.quant.scale, ONE32), G(a.quant.zero, 128)),
	BAD("gemm.a.quant.zero", G(a.quant.scheme, ACCEL_QUANT_TENSOR),
	    G(a.quant.scale, ONE32), G(a.quant.zero, -129)),
	BAD("gemm.b.quant.zero", G(b.quant.scheme, ACCEL_QUANT_TENSOR),
	    G(b.quant.scale, ONE32), G(b.quant.zero, -1)),
	BAD("gemm.b.quant.zero", G(b.quant.scheme, ACCEL_QUANT_TENSOR),
	    G(b.quant.scale, ONE32), G(b.quant.zero, 256)),
	BAD("gemm.a.quant.axis", G(a.quant.scheme, ACCEL_QUANT_TENSOR),
	    G(a.quant.scale, ONE32), G(a.quant.axis, 1)),
	BAD("gemm.a.quant.scales", G(a.quant.scheme, ACCEL_QUANT_TENSOR),
	    G(a.quant.scale, ONE32), GP(a.quant.scales, 8)),
	BAD("gemm.a.quant.scheme", G(a.quant.scheme, ACCEL_QUANT_CHANNEL)),
	BAD("gemm.b.quant.scheme", G(b.quant.scheme, ACCEL_QUANT_GROUP),
	    G(b.quant.group, 32)),
};

/* fp16 by 4-bit weights with groups */
static void base_weights(union desc *d)
{
	d->gemm = (struct accel_gemm_desc)ACCEL_GEMM_DESC_INIT;
	d->gemm.a = accel_tensor_2d(NULL, ACCEL_F16, 3, 64);
	d->gemm.b = accel_tensor_2d(NULL, ACCEL_U4, 64, 6);
	d->gemm.b.quant.scheme = ACCEL_QUANT_GROUP;
	d->gemm.b.quant.group = 32;
	d->gemm.d = accel_tensor_2d(NULL, ACCEL_F16, 3, 6);
}

static const struct row weights_rows[] = {
	BAD("gemm.d.dtype", G(d.dtype, ACCEL_BF16)),
	BAD("gemm.d.dtype", G(d.dtype, ACCEL_S8)),
	BAD("gemm.b.quant.group", G(b.quant.group, 0)),
	BAD("gemm.b.quant.group", G(b.quant.group, 8)),
	BAD("gemm.b.quant.group", G(b.quant.group, 48)),
	BAD("gemm.b.quant.group", G(b.quant.group, 8192)),
	BAD("gemm.b.quant.axis", G(b.quant.axis, 2)),
	BAD("gemm.b.quant.axis", G(b.quant.axis, 1)),
	BAD("gemm.b.quant.axis", G(b.quant.scheme, ACCEL_QUANT_CHANNEL),
	    G(b.quant.group, 0)),
	BAD("gemm.b.quant.group", G(b.quant.scheme, ACCEL_QUANT_CHANNEL),
	    G(b.quant.axis, 1)),
	BAD("gemm.b.quant.scale", G(b.quant.scale, ONE32)),
	BAD("gemm.b.quant.zero", G(b.quant.zero, 1)),
	BAD("gemm.b.quant.scale_dtype", G(b.quant.scale_dtype, ACCEL_BF16)),
	BAD("gemm.b.quant.axis", G(b.quant.scheme, ACCEL_QUANT_GROUP_MIN), G(b.quant.axis, 1)),
	BAD("gemm.b.quant.group", G(b.quant.scheme, ACCEL_QUANT_GROUP_MIN), G(b.quant.group, 24)),
	BAD("gemm.b.quant.zero", G(b.quant.scheme, ACCEL_QUANT_GROUP_MIN), G(b.quant.zero, 1)),
	BAD("gemm.b.quant.scale_dtype", G(b.quant.scale_dtype, ACCEL_DTYPE_COUNT)),
	BAD("gemm.b.quant.zeros_offset", G(b.quant.zeros_offset, 4)),
	BAD("gemm.b.quant.zero", G(b.quant.scheme, ACCEL_QUANT_TENSOR),
	    G(b.quant.group, 0), G(b.quant.scale, ONE32), G(b.quant.zero, 16)),
	BAD("gemm.b.quant.zero", G(b.dtype, ACCEL_S4),
	    G(b.quant.scheme, ACCEL_QUANT_TENSOR), G(b.quant.group, 0),
	    G(b.quant.scale, ONE32), G(b.quant.zero, 8)),
};

static void base_copy(union desc *d)
{
	d->copy = (struct accel_copy_desc)ACCEL_COPY_DESC_INIT;
	d->copy.a = accel_tensor_2d(NULL, ACCEL_F32, 3, 4);
	d->copy.d = accel_tensor_2d(NULL, ACCEL_S8, 3, 4);
}

static const struct row copy_rows[] = {
	BAD("copy.hdr.size", C(hdr.size, sizeof(struct accel_copy_desc) - 1)),
	BAD("copy.hdr.pad", C(hdr.pad, 1)),
	BAD("copy.a.dtype", C(a.dtype, 0)),
	BAD("copy.d.dtype", C(d.dtype, 77)),
	BAD("copy.a.rank", C(a.rank, 0)),
	BAD("copy.a.rank", C(a.rank, 3), C(a.dims[2], 1)),
	BAD("copy.a.dims[0]", C(a.dims[0], 2)),
	BAD("copy.a.dims[1]", C(a.dims[1], 3)),
	BAD("copy.a.dims[1]", C(a.dims[1], 0)),
	BAD("copy.d.strides[0]", C(d.flags, ACCEL_TENSOR_STRIDES), C(d.strides[0], 3),
	    C(d.strides[1], 1)),
	BAD("copy.d.strides[1]", C(d.flags, ACCEL_TENSOR_STRIDES), C(d.strides[0], 4)),
	BAD("copy.d.quant.scale", C(d.quant.scheme, ACCEL_QUANT_TENSOR)),
	BAD("copy.d.quant.axis", C(d.quant.scheme, ACCEL_QUANT_CHANNEL),
	    C(d.quant.axis, 2)),
	CODE(-EOPNOTSUPP, "copy.a.quant.axis", C(a.dtype, ACCEL_S8), C(a.dims[1], 1),
	     C(a.quant.scheme, ACCEL_QUANT_CHANNEL), C(a.quant.axis, 1)),
};

static void base_fill(union desc *d)
{
	d->fill = (struct accel_fill_desc)ACCEL_FILL_DESC_INIT;
	d->fill.d = accel_tensor_2d(NULL, ACCEL_S8, 3, 4);
}

static const struct row fill_rows[] = {
	BAD("fill.hdr.size", F(hdr.size, sizeof(struct accel_fill_desc) - 1)),
	BAD("fill.value", F(value, 0x7ff8000000000000ull)),
	BAD("fill.d.rank", F(d.rank, 0)),
	BAD("fill.d.strides[0]", F(d.flags, ACCEL_TENSOR_STRIDES), F(d.strides[1], 1)),
	BAD("fill.d.quant.scheme", F(d.quant.scheme, ACCEL_QUANT_TENSOR),
	    F(d.quant.scale, ONE32)),
};

static void base_unary(union desc *d)
{
	d->unary = (struct accel_unary_desc)ACCEL_UNARY_DESC_INIT;
	d->unary.func = ACCEL_UNARY_EXP;
	d->unary.a = accel_tensor_2d(NULL, ACCEL_F32, 3, 4);
	d->unary.d = accel_tensor_2d(NULL, ACCEL_F32, 3, 4);
}

static const struct row unary_rows[] = {
	BAD("unary.hdr.size", U(hdr.size, sizeof(struct accel_unary_desc) - 1)),
	BAD("unary.func", U(func, ACCEL_UNARY_COUNT)),
	BAD("unary.pad", U(pad, 1)),
	BAD("unary.a.dims[1]", U(a.dims[1], 3)),
	BAD("unary.d.dtype", U(d.dtype, 0)),
	BAD("unary.epilogue.act", U(epilogue.act, ACCEL_ACT_COUNT)),
	BAD("unary.epilogue.pad", U(epilogue.pad, 1)),
	BAD("unary.epilogue.p0", U(epilogue.p0, HALF32)),
	BAD("unary.epilogue.scale.rank", U(epilogue.scale.rank, 1)),
	BAD("unary.epilogue.bias.rank", U(epilogue.bias.rank, 1)),
	BAD("unary.epilogue.residual.rank", U(epilogue.residual.rank, 1)),
	BAD("unary.epilogue.residual_post.rank", U(epilogue.residual_post.rank, 1)),
	BAD("unary.epilogue.bias.rank", U(epilogue.bias.dtype, 1)),
	BAD("unary.epilogue.p0", U(epilogue.act, ACCEL_ACT_CELU)),
	BAD("unary.epilogue.p1", U(epilogue.act, ACCEL_ACT_ELU), U(epilogue.p1, ONE32)),
	BAD("unary.d.dtype", U(func, ACCEL_UNARY_BIT_NOT)),
	BAD("unary.a.dtype", U(func, ACCEL_UNARY_BIT_NOT), U(d.dtype, ACCEL_U8),
	    U(a.dtype, ACCEL_S8)),
	BAD("unary.epilogue.act", U(func, ACCEL_UNARY_BIT_NOT), U(d.dtype, ACCEL_U8),
	    U(a.dtype, ACCEL_U8), U(epilogue.act, ACCEL_ACT_RELU)),
};

static void base_binary(union desc *d)
{
	d->binary = (struct accel_binary_desc)ACCEL_BINARY_DESC_INIT;
	d->binary.a = accel_tensor_2d(NULL, ACCEL_S32, 3, 4);
	d->binary.b = accel_tensor_2d(NULL, ACCEL_S32, 3, 4);
	d->binary.d = accel_tensor_2d(NULL, ACCEL_S32, 3, 4);
}

static const struct row binary_rows[] = {
	BAD("binary.hdr.size", B(hdr.size, sizeof(struct accel_binary_desc) - 1)),
	BAD("binary.func", B(func, ACCEL_BINARY_COUNT)),
	BAD("binary.pad", B(pad, 1)),
	BAD("binary.a.dims[0]", B(a.dims[0], 2)),
	BAD("binary.b.dims[1]", B(b.dims[1], 5)),
	BAD("binary.b.rank", B(b.rank, 0)),
	BAD("binary.d.dims[0]", B(d.dims[0], -3)),
	BAD("binary.func", B(func, ACCEL_BINARY_DIV)),
	BAD("binary.func", B(func, ACCEL_BINARY_DIV), B(a.dtype, ACCEL_F32)),
	BAD("binary.func", B(func, ACCEL_BINARY_DIV), B(b.dtype, ACCEL_F32),
	    B(a.dtype, ACCEL_U8)),
	BAD("binary.epilogue.act", B(epilogue.act, ACCEL_ACT_SIGMOID)),
	BAD("binary.epilogue.scale.rank", B(epilogue.scale.rank, 2)),
	BAD("binary.b.dtype", B(func, ACCEL_BINARY_SHL), B(b.dtype, ACCEL_U8)),
	BAD("binary.a.quant.scheme", B(func, ACCEL_BINARY_BIT_OR),
	    B(a.quant.scheme, ACCEL_QUANT_TENSOR), B(a.quant.scale, ONE32)),
	BAD("binary.epilogue.act", B(func, ACCEL_BINARY_BIT_AND),
	    B(epilogue.act, ACCEL_ACT_RELU)),
};

/* --- running a table ------------------------------------------------------------- */

static void apply(union desc *d, const struct row *row)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(row->pokes); i++)
		if (row->pokes[i].size)
			memcpy((char *)d + row->pokes[i].offset,
			       &row->pokes[i].value, row->pokes[i].size);
}

static int ignore(void *user, const struct accel_candidate *c)
{
	(void)user;
	(void)c;
	return 0;
}

static uint32_t bo_count(void)
{
	struct accel_memory_stats stats = { .size = sizeof(stats) };

	assert_int_equal(accel_ctx_get_memory(ctx, &stats), 0);
	return stats.bo_count;
}

static void check_row(void (*base)(union desc *), const struct row *row)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_plan *plan = (void *)&e;
	union desc d, before;
	uint32_t bos;
	int ret;

	memset(&d, 0, sizeof(d));
	base(&d);
	apply(&d, row);
	before = d;
	bos = bo_count();
	ret = accel_plan_create(ctx, &d.hdr, &plan);
	accel_ctx_get_error(ctx, &e);
	if (ret != row->code || e.code != ret || strcmp(e.field, row->field) != 0)
		fail_msg("line %d: %d (%d) at %s (%s), wanted %d at %s", row->line,
			 ret, e.code, e.field, e.text, row->code, row->field);
	if (!e.text[0] || plan != (void *)&e || memcmp(d.room, before.room, sizeof(d)) != 0 ||
	    bo_count() != bos)
		fail_msg("line %d: no text, or something was changed", row->line);
	/* The other ways in find the same. */
	ret = accel_run(ctx, &d.hdr);
	accel_ctx_get_error(ctx, &e);
	if (ret != row->code)
		fail_msg("line %d: accel_run gives %d at %s", row->line, ret, e.field);
	if (strcmp(row->field, "gemm.b.bo") != 0) {
		ret = accel_explain(ctx, &d.hdr, ignore, NULL);
		if (ret != row->code)
			fail_msg("line %d: accel_explain gives %d", row->line, ret);
	}
}

static void check_table(void (*base)(union desc *), const struct row *rows,
			uint32_t count)
{
	struct accel_plan *plan;
	union desc d;
	uint32_t i;

	/* Without changes it is right. */
	memset(&d, 0, sizeof(d));
	base(&d);
	assert_int_equal(accel_plan_create(ctx, &d.hdr, &plan), 0);
	accel_plan_unref(plan);
	for (i = 0; i < count; i++)
		check_row(base, &rows[i]);
	printf("# %u descriptors\n", count);
}

#define TABLE(name)							\
static void test_##name(void **state)					\
{									\
	(void)state;							\
	check_table(base_##name, name##_rows, ARRAY_SIZE(name##_rows));	\
}

TABLE(gemm)
TABLE(exact)
TABLE(weights)
TABLE(copy)
TABLE(fill)
TABLE(unary)
TABLE(binary)

/* --- other rules ---------------------------------------------------------------------- */

/* A newer program: what it does not use is zero, or refused. */
static void test_newer(void **state)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_plan *plan;
	union desc d;

	(void)state;
	memset(&d, 0, sizeof(d));
	base_gemm(&d);
	d.hdr.size = sizeof(d.gemm) + 64;
	assert_int_equal(accel_plan_create(ctx, &d.hdr, &plan), 0);
	accel_plan_unref(plan);
	d.room[sizeof(d.gemm) + 63] = 1;
	assert_int_equal(accel_plan_create(ctx, &d.hdr, &plan), -E2BIG);
	accel_ctx_get_error(ctx, &e);
	assert_string_equal(e.field, "gemm.hdr.size");
	assert_int_equal(accel_explain(ctx, &d.hdr, ignore, NULL), -E2BIG);
	assert_int_equal(accel_plan_create(ctx, NULL, &plan), -EINVAL);
}

/* What is right although it looks odd. */
static void test_allowed(void **state)
{
	static const struct row rows[] = {
		BAD("", G(flags, ACCEL_GEMM_ALPHA)),
		BAD("", G(beta, HALF32)),
		BAD("", G(a.dims[0], 1)),
		BAD("", G(b.rank, 2), G(b.dims[0], 4), G(b.dims[1], 5), G(b.dims[2], 0)),
		BAD("", G(a.dims[2], 0), G(b.dims[1], 0)),
		BAD("", G(a.dims[1], 0), G(d.dims[1], 0)),
		BAD("", G(a.flags, ACCEL_TENSOR_STRIDES)),
		BAD("", G(a.flags, ACCEL_TENSOR_STRIDES), G(a.strides[1], 1),
		    G(a.strides[2], 1)),
		BAD("", G(d.flags, ACCEL_TENSOR_STRIDES), G(d.strides[0], -15),
		    G(d.strides[1], 1), G(d.strides[2], 3)),
		BAD("", G(epilogue.act, ACCEL_ACT_CLAMP)),
		BAD("", G(epilogue.bias.rank, 1), G(epilogue.bias.dims[0], 1),
		    G(epilogue.bias.dtype, ACCEL_BF16)),
	};
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_plan *plan;
	union desc d;
	uint32_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		memset(&d, 0, sizeof(d));
		base_gemm(&d);
		apply(&d, &rows[i]);
		if (accel_plan_create(ctx, &d.hdr, &plan)) {
			accel_ctx_get_error(ctx, &e);
			fail_msg("line %d: %s: %s", rows[i].line, e.field, e.text);
		}
		accel_plan_unref(plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gemm), cmocka_unit_test(test_exact),
		cmocka_unit_test(test_weights), cmocka_unit_test(test_copy),
		cmocka_unit_test(test_fill), cmocka_unit_test(test_unary),
		cmocka_unit_test(test_binary), cmocka_unit_test(test_newer),
		cmocka_unit_test(test_allowed),
	};
	int ret;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (accel_device_open(test_device("sw"), NULL, &dev) ||
	    accel_ctx_create(dev, NULL, &ctx)) {
		printf("1..0\nBail out! no device\n");
		return 1;
	}
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	accel_ctx_destroy(ctx);
	accel_device_unref(dev);
	return ret ? 1 : 0;
}
