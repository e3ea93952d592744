// SPDX-License-Identifier: MIT
/*
 * Tensors of blocks, as files have them: products by rows of blocks, rows of a table,
 * copies into other types; shapes on all sides of what kernels take at once; what is
 * refused, and with which field.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "optest.h"
#include "libaccel/tests/oracle/oracle.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static const uint32_t formats[] = {
	ACCEL_Q8_0, ACCEL_Q4_0, ACCEL_Q4_1, ACCEL_Q4_K, ACCEL_Q6_K
};

static int64_t block_of(uint32_t dtype)
{
	uint32_t size;

	accel_dtype_block(dtype, &size);
	return size;
}

/**
 * struct product - a product by blocks
 * @b: their type
 * @a: of the left matrix
 * @m: rows
 * @n: columns
 * @blocks: of a column
 * @batch: matrices of A and D; 0: rank 2
 * @shared: one B for all
 * @trans: B is [N, K]
 * @style: of B
 * @plain: no epilogue
 * @scheme: of the scales of a left matrix of bytes
 * @group: of these
 * @a_group: elements of a floating-point left matrix that are rounded together
 * @bf16: or each of them and of B by itself, to bf16
 */
struct product {
	uint32_t b;
	uint32_t a;
	int64_t m, n, blocks;
	int64_t batch;
	bool shared;
	bool trans;
	enum op_style style;
	bool plain;
	uint32_t scheme;
	uint32_t group;
	uint32_t a_group;
	bool bf16;
};

static const struct accel_desc *build_product(struct op_case *c, const void *arg)
{
	struct accel_gemm_desc *d = calloc(1, sizeof(*d));
	const struct product *p = arg;
	const int64_t k = p->blocks * block_of(p->b);
	int64_t a[] = { p->batch, p->m, k }, b[] = { p->batch, k, p->n };
	int64_t to[] = { p->batch, p->m, p->n };
	const uint32_t skip = p->batch ? 0 : 1, b_skip = p->batch && !p->shared ? 0 : 1;

	assert_non_null(d);
	*d = (struct accel_gemm_desc)ACCEL_GEMM_DESC_INIT;
	d->a_group = p->a_group;
	if (p->trans) {
		d->flags = ACCEL_GEMM_TRANS_B;
		b[1] = p->n;
		b[2] = k;
	}
	if (p->bf16)
		d->flags |= ACCEL_GEMM_BF16;
	op_tensor(c, &d->a, p->a, 3 - skip, a + skip,
		  op_below(c, 3) ? OP_DENSE : (enum op_style)op_below(c, OP_STYLES));
	if (p->a >= ACCEL_S8)
		op_quantise(c, &d->a, p->scheme, p->scheme == ACCEL_QUANT_CHANNEL ? 1 - skip :
			    2 - skip, p->group, 0.03, op_below(c, 2));
	op_blocks(c, &d->b, p->b, 3 - b_skip, b + b_skip, p->trans ? 2 - b_skip : 1 - b_skip,
		  p->style);
	op_tensor(c, &d->d, op_below(c, 2) && p->a < ACCEL_S8 ? p->a : ACCEL_F32, 3 - skip,
		  to + skip, (enum op_style)op_below(c, OP_REPEATED));
	if (p->plain)
		return &d->hdr;
	if (!op_below(c, 3)) {
		d->flags |= ACCEL_GEMM_ALPHA;
		d->alpha = (float)op_uniform(c, -2, 2);
	}
	if (!op_below(c, 3)) {
		d->beta = 0.5f;
		op_tensor(c, &d->c, ACCEL_F32, 3 - skip, to + skip, OP_PADDED);
	}
	if (op_below(c, 2))
		op_tensor(c, &d->epilogue.bias, ACCEL_F32, 1, to + 2, OP_DENSE);
	if (op_below(c, 2))
		op_activation(c, &d->epilogue, false);
	return &d->hdr;
}

static void test_products(struct op_env *env)
{
	static const int64_t rows[] = { 1, 2, 3, 4, 5, 8, 9, 17, 40 };
	static const int64_t shapes[][2] = {
		{ 67, 9 }, { 1, 40 }, { 130, 1 }, { 16, 5 }, { 259, 2 }
	};
	uint32_t f, i, j;

	for (f = 0; f < ARRAY_SIZE(formats); f++)
		for (i = 0; i < ARRAY_SIZE(rows); i++)
			for (j = 0; j < ARRAY_SIZE(shapes); j++) {
				struct product p = {
					.b = formats[f],
					.a = (f + i + j) % 4 > 2 ? 1 + (i + j) % 3 : ACCEL_F32,
					.m = rows[i], .n = shapes[j][0], .trans = (i + j) % 3 > 0,
					.blocks = shapes[j][1] * 32 / block_of(formats[f]) + 1,
					.style = (f + i + j) % 3 ? OP_DENSE :
						 (enum op_style)(j % OP_STYLES),
					.plain = j % 2,
				};

				if (env->small && ((f + i + j) % 4 || p.m * p.n > 200))
					continue;
				op_run(env, build_product, &p, 1000 * f + 10 * i + j,
				       "products of blocks");
			}
}

/* Bytes with one scale, one for each row, or for each row and group. */
static void test_bytes(struct op_env *env)
{
	static const int64_t rows[] = { 1, 2, 3, 4, 5, 7, 8, 13, 40 };
	static const int64_t shapes[][2] = {
		{ 67, 9 }, { 1, 40 }, { 130, 1 }, { 32, 41 }, { 259, 2 }
	};
	uint32_t f, i, j;

	for (f = 0; f < ARRAY_SIZE(formats); f++)
		for (i = 0; i < ARRAY_SIZE(rows); i++)
			for (j = 0; j < ARRAY_SIZE(shapes); j++) {
				struct product p = {
					.b = formats[f], .a = (i + j) % 3 ? ACCEL_S8 : ACCEL_U8,
					.m = rows[i], .n = shapes[j][0], .trans = (i + j) % 7 > 0,
					.blocks = shapes[j][1] * 32 / block_of(formats[f]) + 1,
					.style = (f + i + j) % 3 ? OP_DENSE :
						 (enum op_style)(j % OP_STYLES),
					.plain = j % 2, .scheme = (f + i + j) % 4,
					.group = 16u << (f + 2 * i + j) % 4,
					.batch = i % 4 == 3 ? 2 : 0,
				};

				if (env->small && ((f + i + j) % 4 || p.m * p.n > 200))
					continue;
				op_run(env, build_product, &p, 50000 + 1000 * f + 10 * i + j,
				       "bytes by blocks");
			}
}

/* Numbers that are rounded to bytes on the way. */
static void test_rounded(struct op_env *env)
{
	static const int64_t rows[] = { 1, 2, 6, 9, 33 };
	static const int64_t shapes[][2] = { { 67, 9 }, { 1, 40 }, { 32, 41 }, { 130, 2 } };
	uint32_t f, i, j;

	for (f = 0; f < ARRAY_SIZE(formats); f++)
		for (i = 0; i < ARRAY_SIZE(rows); i++)
			for (j = 0; j < ARRAY_SIZE(shapes); j++) {
				struct product p = {
					.b = formats[f], .a = 1 + (f + i + j) % 3,
					.m = rows[i], .n = shapes[j][0], .trans = (i + j) % 7 > 0,
					.blocks = shapes[j][1] * 32 / block_of(formats[f]) + 1,
					.style = (f + i + j) % 3 ? OP_DENSE :
						 (enum op_style)(j % OP_STYLES),
					.plain = j % 2, .a_group = 16u << (f + 2 * i + j) % 4,
					.batch = i % 4 == 3 ? 2 : 0, .bf16 = (f + j) % 2,
				};

				if (env->small && ((f + i + j) % 4 || p.m * p.n > 200))
					continue;
				op_run(env, build_product, &p, 60000 + 1000 * f + 10 * i + j,
				       "numbers in bytes by blocks");
			}
}

static void test_batches(struct op_env *env)
{
	uint32_t f, i;

	for (f = 0; f < ARRAY_SIZE(formats); f++)
		for (i = 0; i < 12; i++) {
			struct product p = {
				.b = formats[f], .a = 1 + i % 3, .m = 1 + i % 5 * 3, .n = 21,
				.blocks = 1 + i % 4, .batch = 1 + i % 3, .shared = i & 4,
				.trans = i & 1, .style = (enum op_style)(i % OP_STYLES),
			};

			if (env->small && (i + f) % 3)
				continue;
			op_run(env, build_product, &p, 10000 + 100 * f + i, "batches of blocks");
		}
}

/* Larger than a tile, so that several threads have some. */
static void test_long(struct op_env *env)
{
	static const int64_t rows[] = { 1, 3, 8, 24 };
	uint32_t f, i;

	for (f = 0; f < ARRAY_SIZE(formats) && !env->small; f++)
		for (i = 0; i < ARRAY_SIZE(rows); i++) {
			struct product p = {
				.b = formats[f], .a = ACCEL_F32, .m = rows[i], .n = 1030 - f,
				.blocks = 1024 / block_of(formats[f]), .trans = true, .plain = true,
			};

			op_run(env, build_product, &p, 20000 + 10 * f + i, "long products of blocks");
		}
}

/* Columns of one element, side by side: blocks lie across them. */
static const struct accel_desc *build_outer(struct op_case *c, const void *arg)
{
	struct accel_gemm_desc *d = calloc(1, sizeof(*d));
	const struct product *p = arg;
	const int64_t n = p->blocks * block_of(p->b);
	const int64_t a[] = { p->m, 1 }, b[] = { n, 1 }, to[] = { p->m, n };

	assert_non_null(d);
	*d = (struct accel_gemm_desc)ACCEL_GEMM_DESC_INIT;
	d->flags = ACCEL_GEMM_TRANS_B;
	op_tensor(c, &d->a, p->a, 2, a, OP_DENSE);
	op_blocks(c, &d->b, p->b, 2, b, 0, OP_DENSE);
	/* A single row or column has whatever stride: here that of neighbours. */
	d->b.strides[1] = 1;
	op_tensor(c, &d->d, ACCEL_F32, 2, to, OP_DENSE);
	return &d->hdr;
}

static void test_outer(struct op_env *env)
{
	uint32_t f, i;

	for (f = 0; f < ARRAY_SIZE(formats); f++)
		for (i = 0; i < 4; i++) {
			struct product p = {
				.b = formats[f], .a = ACCEL_F32, .m = i & 1 ? 3 : 40,
				.blocks = (i & 2 ? 4096 : 512) / block_of(formats[f]),
			};

			op_run(env, build_outer, &p, 25000 + 10 * f + i, "columns of one element");
		}
}

/* --- rows of a table, copies ---------------------------------------------------------- */

static const struct accel_desc *build_rows(struct op_case *c, const void *arg)
{
	struct accel_gather_desc *g = calloc(1, sizeof(*g));
	const uint32_t dtype = *(const uint32_t *)arg;
	const int64_t table[] = { 1 + op_below(c, 40), block_of(dtype) * (1 + op_below(c, 5)) };
	const int64_t count[] = { 1 + op_below(c, 20) }, to[] = { count[0], table[1] };
	int32_t *index;
	int64_t i;

	assert_non_null(g);
	*g = (struct accel_gather_desc)ACCEL_GATHER_DESC_INIT;
	op_blocks(c, &g->a, dtype, 2, table, 1, (enum op_style)op_below(c, OP_STYLES));
	op_tensor(c, &g->b, ACCEL_S32, 1, count, OP_DENSE);
	op_tensor(c, &g->d, 1 + op_below(c, 3), 2, to, (enum op_style)op_below(c, OP_REPEATED));
	index = (int32_t *)((char *)accel_bo_ptr(g->b.bo) + g->b.offset);
	for (i = 0; i < count[0]; i++)
		index[i] = (int32_t)op_below(c, (uint32_t)table[0]);
	return &g->hdr;
}

static const struct accel_desc *build_copy(struct op_case *c, const void *arg)
{
	struct accel_copy_desc *d = calloc(1, sizeof(*d));
	const uint32_t dtype = *(const uint32_t *)arg, along = op_below(c, 3);
	int64_t dims[] = { 1 + op_below(c, 5), 1 + op_below(c, 5), 1 + op_below(c, 5) };
	uint32_t to;

	assert_non_null(d);
	*d = (struct accel_copy_desc)ACCEL_COPY_DESC_INIT;
	dims[along] = block_of(dtype) * (1 + op_below(c, 4));
	to = 1 + op_below(c, 6);
	op_blocks(c, &d->a, dtype, 3, dims, along, (enum op_style)op_below(c, OP_STYLES));
	op_tensor(c, &d->d, to, 3, dims, (enum op_style)op_below(c, OP_REPEATED));
	if (to > ACCEL_S32)
		op_quantise(c, &d->d, ACCEL_QUANT_TENSOR, 0, 0, 0.02, op_below(c, 2));
	return &d->hdr;
}

static void test_rows(struct op_env *env)
{
	uint32_t f;

	for (f = 0; f < ARRAY_SIZE(formats); f++)
		op_random_cases(env, build_rows, &formats[f], 40, 30000 + 100 * f);
}

static void test_copies(struct op_env *env)
{
	uint32_t f;

	for (f = 0; f < ARRAY_SIZE(formats); f++)
		op_random_cases(env, build_copy, &formats[f], 40, 40000 + 100 * f);
}

/* --- what is refused -------------------------------------------------------------------- */

static void refused(struct op_env *env, const struct accel_desc *desc, const char *field)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_plan *plan = NULL;

	assert_int_equal(accel_plan_create(env->ctx, desc, &plan), -EINVAL);
	accel_ctx_get_error(env->ctx, &e);
	assert_string_equal(e.field, field);
	assert_true(e.text[0]);
}

static struct accel_gemm_desc by_rows(uint32_t dtype, int64_t m, int64_t n, int64_t k)
{
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;

	g.flags = ACCEL_GEMM_TRANS_B;
	g.a = accel_tensor_2d(NULL, ACCEL_F32, m, k);
	g.b = accel_tensor_2d(NULL, dtype, n, k);
	g.d = accel_tensor_2d(NULL, ACCEL_F32, m, n);
	return g;
}

static void test_refused(struct op_env *env)
{
	struct accel_binary_desc bin = ACCEL_BINARY_DESC_INIT;
	struct accel_copy_desc copy = ACCEL_COPY_DESC_INIT;
	struct accel_gemm_desc g;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		const int64_t size = block_of(formats[i]);

		g = by_rows(formats[i], 2, 3, size + size / 2);
		refused(env, &g.hdr, "gemm.b.dims[1]");
		g = by_rows(formats[i], 2, 3, 16);
		refused(env, &g.hdr, "gemm.b.dims[1]");
		/* Neighbours along N: blocks would have to be columns. */
		g = by_rows(formats[i], 2, 7, size);
		g.flags = 0;
		g.b = accel_tensor_2d(NULL, formats[i], size, 7);
		refused(env, &g.hdr, "gemm.b.dims[1]");
		g = by_rows(formats[i], 2, 3, size);
		g.b.flags = ACCEL_TENSOR_STRIDES;
		g.b.strides[0] = size + 2;
		g.b.strides[1] = 1;
		refused(env, &g.hdr, "gemm.b.strides[0]");
		g.b.strides[0] = size;
		g.b.strides[1] = 2;
		refused(env, &g.hdr, "gemm.b.strides[1]");
		g = by_rows(formats[i], 2, 3, size);
		g.flags |= ACCEL_GEMM_PACK_B;
		refused(env, &g.hdr, "gemm.flags");
		g = by_rows(formats[i], 2, 3, size);
		g.b.quant.scheme = ACCEL_QUANT_TENSOR;
		g.b.quant.scale = 1;
		refused(env, &g.hdr, "gemm.b.quant.scheme");
		g = by_rows(formats[i], 2, 3, size);
		g.a.dtype = ACCEL_S8;
		g.d.dtype = ACCEL_S32;
		refused(env, &g.hdr, "gemm.d.dtype");
		g = by_rows(formats[i], 2, 3, size);
		g.a.dtype = formats[i];
		refused(env, &g.hdr, "gemm.a.dtype");
		g = by_rows(formats[i], 2, size, size);
		g.d.dtype = formats[i];
		refused(env, &g.hdr, "gemm.d.dtype");
		g = by_rows(formats[i], 2, size, size);
		g.epilogue.bias = accel_tensor_dense(NULL, formats[i], 1, &size);
		refused(env, &g.hdr, "gemm.epilogue.bias.dtype");
		copy.a = accel_tensor_2d(NULL, ACCEL_F32, 2, size);
		copy.d = accel_tensor_2d(NULL, formats[i], 2, size);
		refused(env, &copy.hdr, "copy.d.dtype");
		bin.a = bin.b = copy.d;
		bin.d = copy.a;
		refused(env, &bin.hdr, "binary.a.dtype");
	}
}

/* Where a tensor lies: bytes, views, an address that is odd. */
static void test_places(struct op_env *env)
{
	struct accel_tensor t = accel_tensor_2d(NULL, ACCEL_Q4_K, 3, 512), v;
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_gemm_desc g = by_rows(ACCEL_Q4_0, 1, 3, 64);
	struct op_case c = { .ctx = env->ctx, .rng = 3 };
	const int64_t a[] = { 1, 64 }, b[] = { 3, 64 }, d[] = { 1, 3 };
	uint64_t bytes;

	assert_int_equal(accel_tensor_bytes(&t, &bytes), 0);
	assert_int_equal(bytes, 3 * 2 * 144);
	assert_int_equal(accel_tensor_slice(&t, 0, 1, 2, 1, &v), 0);
	assert_int_equal(v.offset, 288);
	assert_int_equal(accel_tensor_slice(&t, 1, 256, 256, 1, &v), 0);
	assert_int_equal(v.offset, 144);
	assert_int_equal(accel_tensor_slice(&t, 1, 128, 256, 1, &v), -EOPNOTSUPP);
	assert_int_equal(accel_tensor_slice(&t, 1, 0, 128, 1, &v), -EOPNOTSUPP);
	assert_int_equal(accel_tensor_slice(&t, 1, 0, 256, 2, &v), -EOPNOTSUPP);
	assert_int_equal(accel_tensor_slice(&t, 0, 2, 3, -1, &v), 0);
	op_tensor(&c, &g.a, ACCEL_F32, 2, a, OP_DENSE);
	op_blocks(&c, &g.b, ACCEL_Q4_0, 2, b, 1, OP_DENSE);
	op_tensor(&c, &g.d, ACCEL_F32, 2, d, OP_DENSE);
	assert_int_equal(accel_run(env->ctx, &g.hdr), 0);
	g.b.offset++;
	assert_int_equal(accel_run(env->ctx, &g.hdr), -EINVAL);
	accel_ctx_get_error(env->ctx, &e);
	assert_non_null(strstr(e.field, "offset"));
	while (c.bo_count)
		accel_bo_unref(c.bos[--c.bo_count]);
}

/* --- formats that are no element type ------------------------------------------------- */

static void check_format(struct op_case *c, uint32_t format, uint32_t bytes, uint32_t size,
			 uint32_t dtype, const uint8_t *halves)
{
	uint8_t in[4 * 256], out[4 * 1024];
	uint32_t elements, step = accel_dtype_block(dtype, &elements), i, b;
	double want, got;
	uint16_t v;
	float x;

	for (i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)op_random(c);
	for (b = 0; b < 4; b++)
		for (i = 0; i < 2; i++) {
			v = oracle_f16_bits(op_uniform(c, -2, 2));
			memcpy(in + b * bytes + halves[i], &v, sizeof(v));
		}
	memset(out, 0x5a, sizeof(out));
	assert_int_equal(accel_blocks_convert(format, in, 3 * size, dtype, out), 0);
	/* Nothing behind what was asked for. */
	for (i = 3 * size / elements * step; i < sizeof(out); i++)
		assert_int_equal(out[i], 0x5a);
	for (i = 0; i < 3 * size; i++) {
		want = oracle_gguf_value(format, in + i / size * bytes, (int)(i % size));
		if (dtype > ACCEL_U4) {
			got = oracle_block_value(dtype, out + i / elements * step,
						 (int)(i % elements));
		} else {
			memcpy(&x, out + 4ul * i, sizeof(x));
			got = x;
			want = (float)want;
		}
		if (got != want)
			fail_msg("format %u into %s: element %u is %g, not %g", format,
				 accel_dtype_name(dtype), i, got, want);
	}
}

static void test_others(struct op_env *env)
{
	static const struct {
		uint32_t format, bytes, size;
		uint8_t halves[2];
		uint32_t exact;
	} others[] = {
		{ ACCEL_GGUF_Q5_0, 22, 32, { 0, 0 }, ACCEL_Q8_0 },
		{ ACCEL_GGUF_Q5_1, 24, 32, { 0, 2 }, ACCEL_NONE },
		{ ACCEL_GGUF_Q2_K, 84, 256, { 80, 82 }, ACCEL_NONE },
		{ ACCEL_GGUF_Q3_K, 110, 256, { 108, 108 }, ACCEL_Q6_K },
		{ ACCEL_GGUF_Q5_K, 176, 256, { 0, 2 }, ACCEL_NONE },
	};
	struct op_case c = { .ctx = env->ctx, .rng = 9 };
	uint8_t in[256] = { 0 }, out[1024];
	uint32_t i, round;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		const uint32_t format = others[i].format, size = others[i].size;

		for (round = 0; round < 20; round++) {
			check_format(&c, format, others[i].bytes, size, ACCEL_F32,
				     others[i].halves);
			if (others[i].exact)
				check_format(&c, format, others[i].bytes, size, others[i].exact,
					     others[i].halves);
		}
		assert_int_equal(accel_blocks_convert(format, in, size / 2, ACCEL_F32, out),
				 -EINVAL);
		assert_int_equal(accel_blocks_convert(format, in, size, ACCEL_F16, out),
				 -EOPNOTSUPP);
		assert_int_equal(accel_blocks_convert(format, NULL, size, ACCEL_F32, out),
				 -EINVAL);
		assert_int_equal(accel_blocks_convert(format, in, 0, ACCEL_F32, out), 0);
	}
	assert_int_equal(accel_blocks_convert(8, in, 32, ACCEL_F32, out), -EINVAL);
}

/* --- numbers become blocks, and blocks numbers ------------------------------------------ */

/* Most that an element may be off, as a share of the largest magnitude in the block */
static double share_of(uint32_t dtype)
{
	switch (dtype) {
	case ACCEL_Q8_0:
		return 0.5 / 127 + 1.0 / 1024;
	case ACCEL_Q6_K:
		return 0.05;
	default:
		return 0.21;
	}
}

static void test_read(struct op_env *env)
{
	struct op_case c = { .ctx = env->ctx, .rng = 11 };
	uint8_t in[3 * 256], halves[][2] = {
		{ 0, 0 }, { 0, 0 }, { 0, 2 }, { 0, 2 }, { 208, 208 }
	};
	uint32_t f, i, k, b, bytes, count;
	float out[3 * 256 + 1];
	uint16_t v;
	double want;

	for (f = 0; f < ARRAY_SIZE(formats); f++) {
		bytes = accel_dtype_block(formats[f], &count);
		for (i = 0; i < sizeof(in); i++)
			in[i] = (uint8_t)op_random(&c);
		for (b = 0; b < 3; b++)
			for (k = 0; k < 2; k++) {
				v = oracle_f16_bits(op_uniform(&c, -2, 2));
				memcpy(in + b * bytes + halves[formats[f] - ACCEL_Q8_0][k], &v, 2);
			}
		out[3ul * count] = 77;
		assert_int_equal(accel_blocks_read(formats[f], in, 3ul * count, out), 0);
		for (i = 0; i < 3 * count; i++) {
			want = oracle_block_value(formats[f], in + i / count * bytes,
						  (int)(i % count));
			if (out[i] != (float)want)
				fail_msg("%s: element %u is %g, not %g",
					 accel_dtype_name(formats[f]), i, (double)out[i], want);
		}
		assert_true(out[3ul * count] == 77);
		assert_int_equal(accel_blocks_read(formats[f], in, count / 2, out), -EINVAL);
	}
	assert_int_equal(accel_blocks_read(ACCEL_S8, in, 32, out), -EOPNOTSUPP);
	assert_int_equal(accel_blocks_read(ACCEL_Q8_0, NULL, 32, out), -EINVAL);
}

/* Sum of squares of errors, each weighed */
static double lost(uint32_t dtype, const float *x, const float *w, uint32_t n, const uint8_t *p)
{
	double sum = 0, e;
	uint32_t i, count, bytes = accel_dtype_block(dtype, &count);

	for (i = 0; i < n; i++) {
		e = x[i] - oracle_block_value(dtype, p + i / count * bytes, (int)(i % count));
		sum += (w ? w[i] : 1) * e * e;
	}
	return sum;
}

/* Scales from the extremes alone, what a search has to be better than */
static double plain(uint32_t dtype, const float *x, uint32_t n)
{
	const uint32_t group = dtype == ACCEL_Q6_K ? 16 : 32;
	const bool min = dtype == ACCEL_Q4_1 || dtype == ACCEL_Q4_K;
	const double steps = dtype == ACCEL_Q8_0 ? 127 : dtype == ACCEL_Q6_K ? 31 : min ? 15 : 7;
	double sum = 0, lo, hi, d, e;
	uint32_t i, k;

	for (i = 0; i < n; i += group) {
		lo = hi = min ? x[i] : 0;
		for (k = i; k < i + group; k++) {
			lo = fmin(lo, min ? x[k] : -fabs(x[k]));
			hi = fmax(hi, min ? x[k] : 0);
		}
		d = (hi - lo) / steps;
		for (k = i; k < i + group; k++) {
			e = x[k] - (round((x[k] - lo) / d) * d + lo);
			sum += e * e;
		}
	}
	return sum;
}

static void test_write(struct op_env *env)
{
	struct op_case c = { .ctx = env->ctx, .rng = 12 };
	float x[2048], w[1024], most, y;
	uint8_t even[2048 * 4 + 1], uneven[2048 * 4];
	uint32_t f, i, k, round, count, bytes, all;
	double e;

	for (f = 0; f < ARRAY_SIZE(formats); f++) {
		bytes = accel_dtype_block(formats[f], &count);
		all = 2048 / count * bytes;
		for (round = 0; round < 20; round++) {
			const double size = pow(10, op_uniform(&c, -1, 3));

			for (i = 0; i < 2048; i++)
				x[i] = (float)(size * (op_uniform(&c, -1, 1) +
						       op_uniform(&c, -1, 1) +
						       op_uniform(&c, -1, 1)));
			for (i = 0; i < 1024; i++)
				w[i] = i % 7 ? 0.01f : 4;
			even[all] = 0x5a;
			assert_int_equal(accel_blocks_write(formats[f], x, 2, 1024, NULL, even), 0);
			assert_int_equal(even[all], 0x5a);
			for (i = 0; i < 2048; i += count) {
				for (most = 0, k = i; k < i + count; k++)
					most = fabsf(x[k]) > most ? fabsf(x[k]) : most;
				for (k = i; k < i + count; k++) {
					e = x[k] - oracle_block_value(formats[f], even + i / count *
								      bytes, (int)(k - i));
					assert_true(fabs(e) <= share_of(formats[f]) * most);
				}
			}
			assert_true(lost(formats[f], x, NULL, 2048, even) <
				    1.05 * plain(formats[f], x, 2048));
			assert_int_equal(accel_blocks_write(formats[f], x, 2, 1024, w, uneven), 0);
			/* What counts more is nearer. */
			if (formats[f] != ACCEL_Q8_0)
				assert_true(lost(formats[f], x, w, 1024, uneven) <
					    lost(formats[f], x, w, 1024, even));
		}
		memset(x, 0, sizeof(x));
		assert_int_equal(accel_blocks_write(formats[f], x, 1, 256, w, even), 0);
		assert_true(lost(formats[f], x, NULL, 256, even) == 0);
		x[3] = INFINITY;
		assert_int_equal(accel_blocks_write(formats[f], x, 1, 256, NULL, even), -ERANGE);
		x[3] = 1e30f;
		assert_int_equal(accel_blocks_write(formats[f], x, 1, 256, NULL, even), -ERANGE);
		x[3] = NAN;
		assert_int_equal(accel_blocks_write(formats[f], x, 1, 256, NULL, even), -ERANGE);
		assert_int_equal(accel_blocks_write(formats[f], x, 1, count / 2, NULL, even),
				 -EINVAL);
	}
	/* Types of one element are rounded to the nearest. */
	for (i = 0; i < 4096; i++) {
		uint16_t bits;

		k = i < 64 ? i << 12 : op_random(&c) & 0x8fffffff;
		k |= i & 1 ? 0x30000000 : 0;
		memcpy(&y, &k, sizeof(y));
		assert_int_equal(accel_blocks_write(ACCEL_F16, &y, 1, 1, NULL, &bits), 0);
		if (isfinite(y))
			assert_int_equal(bits, oracle_f16_bits(y));
		assert_int_equal(accel_blocks_write(ACCEL_BF16, &y, 1, 1, NULL, &bits), 0);
		assert_int_equal(accel_blocks_read(ACCEL_BF16, &bits, 1, w), 0);
		if (isfinite(y) && isfinite(w[0]))
			assert_true(fabsf(w[0] - y) <= fabsf(y) / 256 + FLT_MIN);
		assert_int_equal(accel_blocks_write(ACCEL_F32, &y, 1, 1, NULL, w), 0);
		assert_memory_equal(w, &y, sizeof(y));
	}
	assert_int_equal(accel_blocks_write(ACCEL_U4, x, 1, 32, NULL, even), -EOPNOTSUPP);
	assert_int_equal(accel_blocks_write(99, x, 1, 32, NULL, even), -EOPNOTSUPP);
}

int main(void)
{
	static const struct op_test tests[] = {
		{ "formats products", test_products },
		{ "formats bytes", test_bytes },
		{ "formats rounded", test_rounded },
		{ "formats batches", test_batches },
		{ "formats long", test_long },
		{ "formats columns of one element", test_outer },
		{ "formats rows", test_rows },
		{ "formats copies", test_copies },
		{ "formats refused", test_refused },
		{ "formats places", test_places },
		{ "formats others", test_others },
		{ "formats read", test_read },
		{ "formats written", test_write },
	};

	return op_main(tests, ARRAY_SIZE(tests));
}
