// SPDX-License-Identifier: MIT
/*
 * What the bits of a row depend on, at every level of kernels and on every chip: never on
 * the number of threads; on the number of rows only where Documentation/numerics.rst says
 * so, and never in a context that is ACCEL_CTX_REPRODUCIBLE.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <accel/accel.h>

#include "libaccel/tests/guest.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define ROWS		64
#define N		72
#define KEYS		200
#define HEAD		64
/* Of each operand */
#define BYTES		(2u << 20)
/* Where in B what else is read begins: scales, weights of other products */
#define SCALES		(1u << 20)
#define OTHER		(1536u << 10)
/* Most that is read from either of these */
#define PART		(128u << 10)
/* Pixels of a convolution along each side, and its channels */
#define SIDE		8
#define CHANNELS	32

enum kind {
	GEMM, PACKED, TRANSPOSED, ROUNDED, ROUNDED_LONG, ROUNDED_BF16, GELU, NARROW, RELU, ZEROS,
	EXPERTS, EXPERTS_PACKED, BATCH,
	FFN, GATED, LAYER, RMS, SOFTMAX, SUM, COLUMNS, DYNQUANT, ACT, ATTENTION, CAUSAL, WINDOW,
	MASK, CONV, CONV_PACKED, CONV_STRIDE, POINTS, POINTS_FIRST, DEPTHWISE, MAX_KINDS
};

/**
 * struct row_case - an operation on rows
 * @name: for people
 * @kind: which
 * @dtype: of its input
 * @weights: of what it is multiplied by, 0: the same
 * @k: length of a row
 * @alone: a row's bits do not depend on how many rows there are
 */
static const struct row_case {
	const char *name;
	enum kind kind;
	uint32_t dtype;
	uint32_t weights;
	int64_t k;
	bool alone;
} cases[] = {
	{ "layer norm", LAYER, ACCEL_F32, 0, 200, true },
	{ "layer norm, bf16", LAYER, ACCEL_BF16, 0, 200, true },
	{ "layer norm, odd", LAYER, ACCEL_F32, 0, 203, true },
	{ "RMS norm", RMS, ACCEL_F32, 0, 200, true },
	{ "softmax", SOFTMAX, ACCEL_F32, 0, 200, true },
	{ "softmax, fp16", SOFTMAX, ACCEL_F16, 0, 200, true },
	{ "softmax, odd", SOFTMAX, ACCEL_F32, 0, 7, true },
	{ "sum", SUM, ACCEL_F32, 0, 200, true },
	{ "sum of columns", COLUMNS, ACCEL_F32, 0, 200, false },
	{ "scales that follow", DYNQUANT, ACCEL_F32, 0, 200, true },
	{ "e^x, odd", ACT, ACCEL_F32, 0, 5, true },
	{ "e^x, bf16", ACT, ACCEL_BF16, 0, 7, true },
	{ "product of bytes", GEMM, ACCEL_S8, 0, 200, true },
	{ "product of bytes, packed", PACKED, ACCEL_S8, 0, 200, true },
	{ "product of bytes, packed, to numbers", NARROW, ACCEL_U8, ACCEL_S8, 200, true },
	{ "product of bytes, zero points of rows", ZEROS, ACCEL_U8, ACCEL_S8, 200, true },
	{ "product of bytes by 4 bits, zero points of rows", ZEROS, ACCEL_S8, ACCEL_S4, 256, true },
	{ "product", GEMM, ACCEL_F32, 0, 200, false },
	{ "product, GELU", GELU, ACCEL_F32, 0, 200, false },
	{ "product, packed", PACKED, ACCEL_F32, 0, 200, false },
	{ "product, packed, short, ReLU", RELU, ACCEL_F32, 0, 64, false },
	{ "product, transposed", TRANSPOSED, ACCEL_F32, 0, 200, false },
	{ "product, bf16", GEMM, ACCEL_BF16, 0, 200, false },
	{ "product, bf16, packed", PACKED, ACCEL_BF16, 0, 200, false },
	{ "product, bf16, packed, short, ReLU", RELU, ACCEL_BF16, 0, 64, false },
	{ "product, bf16, transposed", TRANSPOSED, ACCEL_BF16, 0, 200, false },
	{ "product, fp16", GEMM, ACCEL_F16, 0, 200, false },
	{ "product, fp16, packed", PACKED, ACCEL_F16, 0, 200, false },
	{ "product, fp16, transposed", TRANSPOSED, ACCEL_F16, 0, 200, false },
	{ "product by fp16", GEMM, ACCEL_F32, ACCEL_F16, 200, false },
	{ "product by fp16, packed", PACKED, ACCEL_F32, ACCEL_F16, 200, false },
	{ "product by fp16, transposed", TRANSPOSED, ACCEL_F32, ACCEL_F16, 200, false },
	{ "product by bf16, GELU", GELU, ACCEL_F32, ACCEL_BF16, 200, false },
	{ "product by bf16, packed", PACKED, ACCEL_F32, ACCEL_BF16, 200, false },
	{ "product by bf16, packed, short, ReLU", RELU, ACCEL_F32, ACCEL_BF16, 64, false },
	{ "product by bf16, transposed", TRANSPOSED, ACCEL_F32, ACCEL_BF16, 200, false },
	{ "product by bytes", GEMM, ACCEL_F32, ACCEL_S8, 256, false },
	{ "product by bytes, packed", PACKED, ACCEL_F32, ACCEL_S8, 256, false },
	{ "product by bytes, transposed", TRANSPOSED, ACCEL_BF16, ACCEL_S8, 256, false },
	{ "product by 4 bits", GEMM, ACCEL_F32, ACCEL_S4, 256, false },
	{ "product by 4 bits, packed", PACKED, ACCEL_F32, ACCEL_S4, 256, false },
	{ "product by 4 bits, bf16, packed", PACKED, ACCEL_BF16, ACCEL_S4, 256, false },
	{ "product by 4 bits, transposed", TRANSPOSED, ACCEL_BF16, ACCEL_S4, 256, false },
	{ "product by 4 bits, minima", GEMM, ACCEL_F32, ACCEL_U4, 256, false },
	{ "product by 4 bits, minima, packed", PACKED, ACCEL_F32, ACCEL_U4, 256, false },
	{ "product by 4 bits, minima, bf16, packed", PACKED, ACCEL_BF16, ACCEL_U4, 256, false },
	{ "product by 4 bits, minima, rounded", ROUNDED, ACCEL_F32, ACCEL_U4, 256, true },
	{ "product by Q8_0", TRANSPOSED, ACCEL_F32, ACCEL_Q8_0, 256, false },
	{ "product by Q4_0", TRANSPOSED, ACCEL_F32, ACCEL_Q4_0, 256, false },
	{ "product by Q4_0, bf16", TRANSPOSED, ACCEL_BF16, ACCEL_Q4_0, 256, false },
	{ "product by Q4_1", TRANSPOSED, ACCEL_F32, ACCEL_Q4_1, 256, false },
	{ "product by Q4_K", TRANSPOSED, ACCEL_F32, ACCEL_Q4_K, 256, false },
	{ "product by Q6_K", TRANSPOSED, ACCEL_F32, ACCEL_Q6_K, 256, false },
	{ "product by Q8_0, rounded", ROUNDED, ACCEL_F32, ACCEL_Q8_0, 352, true },
	{ "product by Q4_0, rounded", ROUNDED, ACCEL_F32, ACCEL_Q4_0, 1120, true },
	{ "product by Q4_0, bf16, rounded", ROUNDED, ACCEL_BF16, ACCEL_Q4_0, 352, true },
	{ "product by Q4_1, rounded", ROUNDED, ACCEL_F32, ACCEL_Q4_1, 352, true },
	{ "product by Q4_K, rounded", ROUNDED, ACCEL_F32, ACCEL_Q4_K, 1280, true },
	{ "product by Q6_K, rounded", ROUNDED, ACCEL_F32, ACCEL_Q6_K, 1280, true },
	{ "product by Q4_0, bf16 permitted", ROUNDED_BF16, ACCEL_F32, ACCEL_Q4_0, 352, false },
	{ "product by 4 bits, bf16 permitted", ROUNDED_BF16, ACCEL_F32, ACCEL_S4, 256, false },
	{ "product by 4 bits, rounded", ROUNDED, ACCEL_F32, ACCEL_S4, 256, true },
	{ "product by 4 bits, rounded, long groups", ROUNDED_LONG, ACCEL_F32, ACCEL_S4, 512, true },
	{ "product by 4 bits, minima, long groups", ROUNDED_LONG, ACCEL_F32, ACCEL_U4, 512, true },
	{ "deep product of bytes", GEMM, ACCEL_S8, 0, 3000, true },
	{ "deep product", GEMM, ACCEL_F32, 0, 3000, false },
	{ "deep product, packed", PACKED, ACCEL_F32, 0, 3000, false },
	{ "deep product, bf16", GEMM, ACCEL_BF16, 0, 3000, false },
	{ "deep product, bf16, packed", PACKED, ACCEL_BF16, 0, 3000, false },
	{ "deep product by fp16, packed", PACKED, ACCEL_F32, ACCEL_F16, 3000, false },
	{ "deep product by bf16", GEMM, ACCEL_F32, ACCEL_BF16, 3000, false },
	{ "products of experts", EXPERTS, ACCEL_F32, 0, 200, false },
	{ "products of experts, packed", EXPERTS_PACKED, ACCEL_F32, 0, 200, false },
	{ "products of experts, bf16, packed", EXPERTS_PACKED, ACCEL_BF16, 0, 200, false },
	{ "products of experts, by bytes", EXPERTS, ACCEL_BF16, ACCEL_S8, 256, false },
	{ "products of experts, by bf16", EXPERTS, ACCEL_F32, ACCEL_BF16, 200, false },
	{ "products of experts, by fp16 packed", EXPERTS_PACKED, ACCEL_F32, ACCEL_F16, 200, false },
	{ "products of experts, bytes", EXPERTS, ACCEL_U8, ACCEL_U8, 150, true },
	{ "products of experts, bytes, packed", EXPERTS_PACKED, ACCEL_U8, ACCEL_U8, 150, true },
	{ "batches, 2:4", BATCH, ACCEL_F32, 0, 256, false },
	{ "batches by bytes, 2:4", BATCH, ACCEL_BF16, ACCEL_S8, 256, false },
	{ "batches by fp16, 2:4", BATCH, ACCEL_F32, ACCEL_F16, 256, false },
	{ "network", FFN, ACCEL_F32, 0, 128, false },
	{ "network, gated, bf16", GATED, ACCEL_BF16, 0, 128, false },
	{ "network, gated, by fp16", GATED, ACCEL_F32, ACCEL_F16, 128, false },
	{ "long softmax", SOFTMAX, ACCEL_F32, 0, 3000, true },
	{ "long layer norm", LAYER, ACCEL_F32, 0, 3000, true },
	{ "attention", ATTENTION, ACCEL_F32, 0, HEAD, false },
	{ "attention, bf16", ATTENTION, ACCEL_BF16, 0, HEAD, false },
	{ "attention, cache of bytes", ATTENTION, ACCEL_BF16, ACCEL_S8, HEAD, false },
	{ "attention, causal", CAUSAL, ACCEL_F32, 0, HEAD, false },
	{ "attention, causal, bf16", CAUSAL, ACCEL_BF16, 0, HEAD, false },
	{ "attention, window", WINDOW, ACCEL_F32, 0, HEAD, false },
	{ "attention, window, bf16", WINDOW, ACCEL_BF16, 0, HEAD, false },
	{ "attention, mask", MASK, ACCEL_F32, 0, HEAD, true },
	{ "attention, mask, bf16", MASK, ACCEL_BF16, 0, HEAD, true },
	{ "attention, mask, cache of bytes", MASK, ACCEL_BF16, ACCEL_S8, HEAD, true },
	{ "convolution", CONV, ACCEL_F32, 0, 9 * CHANNELS, true },
	{ "convolution, packed", CONV_PACKED, ACCEL_F32, 0, 9 * CHANNELS, false },
	{ "convolution, bf16, packed", CONV_PACKED, ACCEL_BF16, 0, 9 * CHANNELS, false },
	{ "convolution, bytes", CONV_PACKED, ACCEL_U8, ACCEL_S8, 9 * CHANNELS, true },
	{ "convolution, stride", CONV_STRIDE, ACCEL_F32, 0, 9 * CHANNELS, true },
	{ "convolution 1x1, packed", POINTS, ACCEL_F32, 0, CHANNELS, true },
	{ "convolution 1x1, bf16, packed", POINTS, ACCEL_BF16, 0, CHANNELS, true },
	{ "convolution 1x1, channels first", POINTS_FIRST, ACCEL_F32, 0, CHANNELS, true },
	{ "convolution, depthwise", DEPTHWISE, ACCEL_F32, 0, 9, true },
};

struct bed {
	struct accel_device *dev;
	struct accel_ctx *ctx;
	struct accel_bo *a;
	struct accel_bo *b;
	struct accel_bo *d;
};

/* Numbers about 1 of either sign, each its own; of blocks such that scales are finite. */
static void fill(struct accel_bo *bo, uint32_t dtype, uint32_t from, uint32_t to, uint32_t seed)
{
	uint8_t *p = accel_bo_ptr(bo);
	uint32_t i;

	for (i = from / 4; i < to / 4; i++) {
		seed = seed * 1664525 + 1013904223;
		if (dtype == ACCEL_F32)
			((float *)p)[i] = (float)(seed >> 8) / 0x1p23f - 1;
		else if (dtype == ACCEL_S8 || dtype == ACCEL_U8 || dtype == ACCEL_S4 ||
			 dtype == ACCEL_U4)
			((uint32_t *)p)[i] = seed;
		else if (dtype == ACCEL_F16 || dtype == ACCEL_BF16)
			((uint32_t *)p)[i] = (seed & 0x807f807f) | 0x3c003c00;
		else
			((uint32_t *)p)[i] = seed & 0x3f3f3f3f;
	}
}

static uint32_t weights_of(const struct row_case *c)
{
	return c->weights ? c->weights : c->dtype;
}

/* What a case reads, and little more: to fill all took longer than to compute. */
static void fill_bed(struct bed *bed, const struct row_case *c)
{
	const uint32_t row = c->kind >= CONV ? CHANNELS * SIDE * SIDE : 2 * (uint32_t)c->k;
	const uint32_t product = 4 * (uint32_t)c->k * 3 * N;
	/* Scales, masks and weights of other products */
	const uint32_t other = c->weights == ACCEL_S4 || c->weights == ACCEL_U4 ||
			       c->kind == MASK ? ACCEL_F32 : weights_of(c);

	fill(bed->a, c->dtype, 0, 4 * ROWS * row, 1);
	fill(bed->b, weights_of(c), 0, product < SCALES ? product : SCALES, 2);
	fill(bed->b, other, SCALES, SCALES + PART, 3);
	fill(bed->b, other, OTHER, OTHER + PART, 4);
}

static bool is_plain(uint32_t dtype)
{
	return dtype == ACCEL_F32 || dtype == ACCEL_F16 || dtype == ACCEL_BF16;
}

/* Weights of 8 and 4 bits have a scale for each 32, U4 with a minimum, or all of them. */
static void scale(struct bed *bed, struct accel_tensor *t, uint32_t along)
{
	if (t->dtype == ACCEL_S4 || t->dtype == ACCEL_U4) {
		t->quant.scheme = t->dtype == ACCEL_U4 ? ACCEL_QUANT_GROUP_MIN : ACCEL_QUANT_GROUP;
		t->quant.axis = along;
		t->quant.group = 32;
		t->quant.scales = bed->b;
		t->quant.scales_offset = SCALES;
		t->quant.zeros = t->dtype == ACCEL_U4 ? bed->b : NULL;
		t->quant.zeros_offset = t->dtype == ACCEL_U4 ? SCALES : 0;
	} else if (t->dtype == ACCEL_S8) {
		t->quant.scheme = ACCEL_QUANT_TENSOR;
		t->quant.scale = 0.0371f;
	}
}

static struct accel_tensor strided(struct accel_bo *bo, uint32_t dtype, uint32_t rank,
				   const int64_t *dims, const int64_t *strides)
{
	struct accel_tensor t = accel_tensor_dense(bo, dtype, rank, dims);

	t.flags |= ACCEL_TENSOR_STRIDES;
	memcpy(t.strides, strides, rank * sizeof(*strides));
	return t;
}

/* Rows have scales and zero points, those of some rows out of the range of bytes. */
static void scale_rows(struct bed *bed, struct accel_tensor *a)
{
	float *scales = (float *)((char *)accel_bo_ptr(bed->b) + OTHER);
	int32_t *zeros = (int32_t *)(scales + ROWS);
	uint32_t i;

	for (i = 0; i < ROWS; i++) {
		scales[i] = 0.01f * (float)(i + 1);
		zeros[i] = i % 16 == 5 ? 1000 : (int32_t)i;
	}
	a->quant.scheme = ACCEL_QUANT_CHANNEL;
	a->quant.scales = bed->b;
	a->quant.scales_offset = OTHER;
	a->quant.zeros = bed->b;
	a->quant.zeros_offset = OTHER + 4 * ROWS;
}

static int run_gemm(struct bed *bed, const struct row_case *c, int64_t m)
{
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	const bool rounded = c->kind >= ROUNDED && c->kind <= ROUNDED_BF16;
	const bool along = c->kind == TRANSPOSED || rounded;
	const bool exact = !is_plain(c->dtype) && c->kind != NARROW && c->kind != ZEROS;

	g.a = accel_tensor_2d(bed->a, c->dtype, m, c->k);
	g.b = along ? accel_tensor_2d(bed->b, weights_of(c), N, c->k) :
	      accel_tensor_2d(bed->b, weights_of(c), c->k, N);
	g.d = accel_tensor_2d(bed->d, exact ? ACCEL_S32 : ACCEL_F32, m, N);
	if (!exact)
		scale(bed, &g.b, along);
	if (c->kind == ZEROS)
		scale_rows(bed, &g.a);
	if (c->kind == NARROW) {
		g.a.quant.scheme = ACCEL_QUANT_TENSOR;
		g.a.quant.scale = 0.013f;
		g.a.quant.zero = 7;
	}
	g.flags = along ? ACCEL_GEMM_TRANS_B : 0;
	if (c->kind == PACKED || c->kind == RELU || c->kind == NARROW)
		g.flags |= ACCEL_GEMM_PACK_B;
	g.a_group = rounded ? 32 : 0;
	g.flags |= c->kind == ROUNDED_BF16 ? ACCEL_GEMM_BF16 : 0;
	if (c->kind == ROUNDED_LONG) {
		g.a_group = 128;
		g.b.quant.group = 128;
	}
	g.epilogue.act = c->kind == GELU ? ACCEL_ACT_GELU : c->kind == RELU ? ACCEL_ACT_RELU : 0;
	return accel_run(bed->ctx, &g.hdr);
}

/* Of ROWS rows the first are one matrix's, the others another's; bytes have scales by row. */
static int run_experts(struct bed *bed, const struct row_case *c, int64_t m)
{
	const int64_t dims[3] = { 3, c->k, N }, matrices = 3;
	int32_t *rows = (int32_t *)((char *)accel_bo_ptr(bed->b) + OTHER);
	float *scales = (float *)rows + ROWS;
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	uint32_t i;

	rows[0] = (int32_t)m;
	rows[1] = 0;
	rows[2] = ROWS - (int32_t)m;
	g.a = accel_tensor_2d(bed->a, c->dtype, ROWS, c->k);
	g.b = accel_tensor_dense(bed->b, weights_of(c), 3, dims);
	g.d = accel_tensor_2d(bed->d, ACCEL_F32, ROWS, N);
	g.rows = accel_tensor_dense(bed->b, ACCEL_S32, 1, &matrices);
	g.rows.offset = OTHER;
	g.flags = c->kind == EXPERTS_PACKED ? ACCEL_GEMM_PACK_B : 0;
	if (!is_plain(c->dtype)) {
		for (i = 0; i < ROWS; i++)
			scales[i] = 0.01f * (float)(i + 1);
		g.a.quant.scheme = ACCEL_QUANT_CHANNEL;
		g.a.quant.scales = bed->b;
		g.a.quant.scales_offset = OTHER + 4 * ROWS;
	}
	if (weights_of(c) != c->dtype)
		scale(bed, &g.b, 0);
	return accel_run(bed->ctx, &g.hdr);
}

/* A second batch with the same weights, ROWS from the first: with as many they are one matrix. */
static int run_batch(struct bed *bed, const struct row_case *c, int64_t m)
{
	const int64_t a[3] = { 2, m, c->k }, d[3] = { 2, m, N };
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	const size_t row = (size_t)N * accel_dtype_bits(weights_of(c)) / 8;
	int64_t i;

	for (i = 0; i < c->k; i += 4)
		memset((char *)accel_bo_ptr(bed->b) + ((size_t)i + 2) * row, 0, 2 * row);
	g.a = strided(bed->a, c->dtype, 3, a, (const int64_t[]) { ROWS * c->k, c->k, 1 });
	g.b = accel_tensor_2d(bed->b, weights_of(c), c->k, N);
	g.d = strided(bed->d, ACCEL_F32, 3, d, (const int64_t[]) { ROWS * N, N, 1 });
	if (weights_of(c) != c->dtype)
		scale(bed, &g.b, 0);
	g.flags = ACCEL_GEMM_PACK_B | ACCEL_GEMM_SPARSE_B;
	return accel_run(bed->ctx, &g.hdr);
}

static int run_ffn(struct bed *bed, const struct row_case *c, int64_t m)
{
	struct accel_ffn_desc f = ACCEL_FFN_DESC_INIT;

	f.flags = ACCEL_FFN_PACK;
	f.act = ACCEL_ACT_SILU;
	f.a = accel_tensor_2d(bed->a, c->dtype, m, c->k);
	f.up = accel_tensor_2d(bed->b, weights_of(c), c->k, 2 * N);
	f.down = accel_tensor_2d(bed->b, weights_of(c), 2 * N, N);
	f.down.offset = SCALES;
	if (c->kind == GATED) {
		f.gate = f.up;
		f.gate.offset = OTHER;
	}
	f.d = accel_tensor_2d(bed->d, ACCEL_F32, m, N);
	return accel_run(bed->ctx, &f.hdr);
}

static int run_attention(struct bed *bed, const struct row_case *c, int64_t m)
{
	struct accel_attention_desc at = ACCEL_ATTENTION_DESC_INIT;
	const int64_t q[4] = { 1, m, 2, HEAD }, k[4] = { 1, KEYS, 1, HEAD };
	const int64_t mask[4] = { 1, 1, m, KEYS };

	at.q = accel_tensor_dense(bed->a, c->dtype, 4, q);
	at.k = accel_tensor_dense(bed->b, weights_of(c), 4, k);
	if (c->weights)
		scale(bed, &at.k, 0);
	at.v = at.k;
	at.v.offset = SCALES;
	at.d = accel_tensor_dense(bed->d, ACCEL_F32, 4, q);
	if (c->kind == MASK) {
		at.mask = accel_tensor_dense(bed->b, ACCEL_F32, 4, mask);
		at.mask.offset = OTHER;
	} else if (c->kind != ATTENTION) {
		at.flags = ACCEL_ATTENTION_OFFSET | ACCEL_ATTENTION_CAUSAL;
		at.q_offset = KEYS - ROWS;
	}
	if (c->kind == WINDOW) {
		at.flags |= ACCEL_ATTENTION_WINDOW;
		at.window_left = 37;
		at.keep = 3;
	}
	return accel_run(bed->ctx, &at.hdr);
}

/* A row is an image, channels last but for POINTS_FIRST. */
static int run_conv(struct bed *bed, const struct row_case *c, int64_t m)
{
	const int64_t points = c->kind == POINTS || c->kind == POINTS_FIRST ? 1 : 3;
	const int64_t out = c->kind == CONV_STRIDE ? SIDE / 2 : SIDE;
	const int64_t each = c->kind == DEPTHWISE ? 1 : CHANNELS;
	const int64_t w[4] = { CHANNELS, each, points, points };
	const int64_t in[4] = { m, CHANNELS, SIDE, SIDE }, to[4] = { m, CHANNELS, out, out };
	const int64_t last[4] = { CHANNELS * SIDE * SIDE, 1, CHANNELS * SIDE, CHANNELS };
	const int64_t result[4] = { CHANNELS * out * out, 1, CHANNELS * out, CHANNELS };
	const int64_t deep[4] = { 1, 1, 3 * CHANNELS, CHANNELS };
	struct accel_conv_desc v = ACCEL_CONV_DESC_INIT;
	uint32_t i;

	v.a = accel_tensor_dense(bed->a, c->dtype, 4, in);
	v.b = accel_tensor_dense(bed->b, weights_of(c), 4, w);
	v.d = accel_tensor_dense(bed->d, is_plain(c->dtype) ? ACCEL_F32 : ACCEL_S32, 4, to);
	if (c->kind == DEPTHWISE) {
		v.groups = CHANNELS;
		v.b = strided(bed->b, weights_of(c), 4, w, deep);
	}
	if (c->kind != POINTS_FIRST) {
		v.a = strided(bed->a, c->dtype, 4, in, last);
		v.d = strided(bed->d, v.d.dtype, 4, to, result);
	}
	if (c->kind != CONV && c->kind != DEPTHWISE)
		v.flags = ACCEL_CONV_PACK_B;
	/* Winograd's algorithms are for many tiles: with one image it may not be worth it. */
	if (c->kind == CONV_PACKED && is_plain(c->dtype))
		v.flags |= ACCEL_CONV_WINOGRAD;
	for (i = 0; i < 2; i++) {
		v.stride[i] = c->kind == CONV_STRIDE ? 2 : 1;
		v.pad_before[i] = (uint32_t)(points / 2);
		v.pad_after[i] = c->kind == CONV_STRIDE ? 0 : (uint32_t)(points / 2);
	}
	return accel_run(bed->ctx, &v.hdr);
}

static int run_lines(struct bed *bed, const struct row_case *c, int64_t m)
{
	const int64_t turned[2] = { c->k, m };
	struct accel_dynquant_desc q = ACCEL_DYNQUANT_DESC_INIT;
	struct accel_softmax_desc s = ACCEL_SOFTMAX_DESC_INIT;
	struct accel_reduce_desc r = ACCEL_REDUCE_DESC_INIT;
	struct accel_unary_desc u = ACCEL_UNARY_DESC_INIT;
	struct accel_norm_desc n = ACCEL_NORM_DESC_INIT;
	const struct accel_tensor a = accel_tensor_2d(bed->a, c->dtype, m, c->k);
	const struct accel_tensor d = accel_tensor_2d(bed->d, c->dtype, m, c->k);

	switch (c->kind) {
	case LAYER:
	case RMS:
		n.func = c->kind == RMS ? ACCEL_NORM_RMS : ACCEL_NORM_LAYER;
		n.a = a;
		n.d = d;
		return accel_run(bed->ctx, &n.hdr);
	case SOFTMAX:
		s.a = a;
		s.d = d;
		return accel_run(bed->ctx, &s.hdr);
	case ACT:
		u.func = ACCEL_UNARY_EXP;
		u.a = a;
		u.d = d;
		return accel_run(bed->ctx, &u.hdr);
	case DYNQUANT:
		q.axes = ACCEL_AXIS(1);
		q.a = a;
		q.d = accel_tensor_2d(bed->d, ACCEL_S8, m, c->k);
		q.scales = accel_tensor_2d(bed->d, ACCEL_F32, m, 1);
		q.scales.offset = SCALES;
		return accel_run(bed->ctx, &q.hdr);
	case COLUMNS:
		/* A row is a column here. */
		r.a = strided(bed->a, c->dtype, 2, turned,
			      (const int64_t[]) { ROWS, 1 });
		r.d = accel_tensor_2d(bed->d, c->dtype, 1, m);
		r.axes = ACCEL_AXIS(0);
		r.func = ACCEL_REDUCE_SUM;
		return accel_run(bed->ctx, &r.hdr);
	default:
		r.a = a;
		r.d = accel_tensor_2d(bed->d, c->dtype, m, 1);
		r.axes = ACCEL_AXIS(1);
		r.func = ACCEL_REDUCE_SUM;
		return accel_run(bed->ctx, &r.hdr);
	}
}

static int run(struct bed *bed, const struct row_case *c, int64_t m)
{
	if (c->kind < EXPERTS)
		return run_gemm(bed, c, m);
	if (c->kind < FFN)
		return c->kind == BATCH ? run_batch(bed, c, m) : run_experts(bed, c, m);
	if (c->kind < LAYER)
		return run_ffn(bed, c, m);
	if (c->kind < ATTENTION)
		return run_lines(bed, c, m);
	return c->kind < CONV ? run_attention(bed, c, m) : run_conv(bed, c, m);
}

/* Returns false: the chip does not have it, as it may be. */
static bool must_run(struct bed *bed, const struct row_case *c, int64_t m, const char *level)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	const int ret = run(bed, c, m);

	if (ret == -EOPNOTSUPP && !strncmp(level, "sw:", 3))
		return false;
	accel_ctx_get_error(bed->ctx, &e);
	if (ret)
		fail_msg("%s, %s, %d rows: %s: %s", level, c->name, (int)m, e.field, e.text);
	return true;
}

static size_t row_bytes(const struct row_case *c)
{
	const size_t out = c->kind == CONV_STRIDE ? SIDE / 2 : SIDE;

	if (c->kind < LAYER)
		return N * 4;
	if (c->kind >= CONV)
		return CHANNELS * out * out * 4;
	switch (c->kind) {
	case SUM:
	case COLUMNS:
		return 4;
	case DYNQUANT:
		return (size_t)c->k;
	case LAYER:
	case RMS:
	case SOFTMAX:
	case ACT:
		return (size_t)c->k * (accel_dtype_bits(c->dtype) / 8);
	default:
		return 2 * HEAD * 4;
	}
}

static bool open_bed(struct bed *bed, const char *chip, uint32_t threads, bool reproducible)
{
	struct accel_device_opts opts = ACCEL_DEVICE_OPTS_INIT;
	struct accel_ctx_opts how = ACCEL_CTX_OPTS_INIT;

	opts.threads = threads;
	how.flags = reproducible ? ACCEL_CTX_REPRODUCIBLE : 0;
	if (accel_device_open(chip, &opts, &bed->dev))
		return false;
	assert_int_equal(accel_ctx_create(bed->dev, &how, &bed->ctx), 0);
	assert_int_equal(accel_bo_create(bed->ctx, BYTES, NULL, &bed->a), 0);
	assert_int_equal(accel_bo_create(bed->ctx, BYTES, NULL, &bed->b), 0);
	assert_int_equal(accel_bo_create(bed->ctx, BYTES, NULL, &bed->d), 0);
	return true;
}

static void close_bed(struct bed *bed)
{
	accel_bo_unref(bed->a);
	accel_bo_unref(bed->b);
	accel_bo_unref(bed->d);
	accel_ctx_destroy(bed->ctx);
	accel_device_unref(bed->dev);
}

/* Cases of which bits depend on what they may not depend on */
static uint32_t wrong;

/*
 * Few rows have kernels of their own; of more some are run. Fewer of both under sanitizers, each
 * @turn others.
 */
static bool is_run(int64_t m, uint32_t turn)
{
	const uint32_t every = (uint32_t)test_every();

	if (m < 10)
		return every <= 2 || ((uint32_t)m + turn) % every == 0;
	return every == 1 || ((uint32_t)m + turn) % (4 * every) == 0;
}

/* @same: no number of rows may change a bit, whatever the case says. */
static void check(struct bed *one, struct bed *more, const struct row_case *c, const char *level,
		  bool same, uint32_t turn)
{
	const size_t bytes = row_bytes(c);
	uint8_t *want = malloc(ROWS * bytes);
	uint32_t other = 0;
	int64_t m, r;

	assert_non_null(want);
	fill_bed(one, c);
	fill_bed(more, c);
	if (!must_run(one, c, ROWS, level)) {
		free(want);
		return;
	}
	memcpy(want, accel_bo_ptr(one->d), ROWS * bytes);
	for (m = 1; m <= ROWS; m++) {
		if (!is_run(m, turn))
			continue;
		must_run(one, c, m, level);
		must_run(more, c, m, level);
		if (memcmp(accel_bo_ptr(one->d), accel_bo_ptr(more->d), (size_t)m * bytes) != 0)
			fail_msg("%s, %s, %d rows: threads change bits", level, c->name, (int)m);
		for (r = 0; r < m; r++)
			if (memcmp((uint8_t *)accel_bo_ptr(one->d) + (size_t)r * bytes,
				   want + (size_t)r * bytes, bytes) != 0)
				break;
		other += r < m;
	}
	free(want);
	if (other && (same || c->alone))
		print_error("%s, %s%s: %u numbers of rows change bits\n", level, c->name,
			    same ? ", reproducible" : "", other);
	wrong += other && (same || c->alone);
	if (other)
		print_message("# %s, %s: bits differ from those of %d rows at %u of %d numbers of rows\n",
			      level, c->name, ROWS, other, ROWS);
}

/* One of @share cases is run: those whose turn it is. */
static void all_cases(const char *chip, const char *level, bool reproducible, uint32_t turn,
		      uint32_t share)
{
	struct bed one, more;
	uint32_t i;

	if (!open_bed(&one, chip, 1, reproducible))
		return;
	assert_true(open_bed(&more, chip, 3, reproducible));
	for (i = turn % share; i < ARRAY_SIZE(cases); i += share)
		check(&one, &more, &cases[i], level, reproducible, turn + i);
	close_bed(&one);
	close_bed(&more);
}

static const char *const levels[] = {
	"portable", "avx2", "avx512", "avx512-vnni", "avx512-bf16", "amx", "neon", "neon-dotprod",
};

static void test_rows(void **state)
{
	uint32_t i;

	(void)state;
	wrong = 0;
	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		setenv("ACCEL_SW_KERNELS", levels[i], 1);
		all_cases("sw", levels[i], false, 5 * i, 1);
	}
	unsetenv("ACCEL_SW_KERNELS");
	assert_int_equal(wrong, 0);
}

static void test_reproducible(void **state)
{
	uint32_t i;

	(void)state;
	wrong = 0;
	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		setenv("ACCEL_SW_KERNELS", levels[i], 1);
		all_cases("sw", levels[i], true, 5 * i + 8, 1);
	}
	unsetenv("ACCEL_SW_KERNELS");
	assert_int_equal(wrong, 0);
}

/*
 * What a device does is the model's arithmetic: nothing depends on rows, flag or not. The first one
 * has all of it; where not all cases are run each of the others has a part.
 */
static void test_chips(void **state)
{
	static const char *const chips[] = { "sw:full", "sw:m1", "sw:m2", "sw:m3", "sw:ultra" };
	uint32_t i;

	(void)state;
	wrong = 0;
	for (i = 0; i < ARRAY_SIZE(chips); i++)
		all_cases(chips[i], chips[i], true, 3 * i,
			  i && test_every() > 1 ? ARRAY_SIZE(chips) - 1 : 1);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_reproducible),
		cmocka_unit_test(test_chips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
