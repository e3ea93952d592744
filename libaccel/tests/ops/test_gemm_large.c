// SPDX-License-Identifier: MIT
/*
 * Products that are larger than a tile, a block of K or a cache, and shapes around the
 * registers' edges. The elements are small integers, so that every sum is exact in
 * binary32 whatever the order, and results are compared to the bit.
 */
#include <malloc.h>
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

/* Elements whose products are added up at once; K is filled up with zeros to a multiple. */
#define RUN		64u

/**
 * struct large - a product in work
 * @ctx: context
 * @desc: its description
 * @va: elements of A without their zero point, runs of K for each row
 * @vb: of B, runs of K for each column
 * @rng: state of the generator
 */
struct large {
	struct accel_ctx *ctx;
	struct accel_gemm_desc desc;
	int16_t *va;
	int16_t *vb;
	uint64_t rng;
};

static const struct {
	uint32_t a, b, d;
} types[] = {
	{ ACCEL_F32, ACCEL_F32, ACCEL_F32 },	{ ACCEL_F16, ACCEL_F16, ACCEL_F32 },
	{ ACCEL_BF16, ACCEL_BF16, ACCEL_F32 },	{ ACCEL_S8, ACCEL_S8, ACCEL_S32 },
	{ ACCEL_U8, ACCEL_S8, ACCEL_S32 },	{ ACCEL_S8, ACCEL_U8, ACCEL_S32 },
	{ ACCEL_U8, ACCEL_U8, ACCEL_S32 },	{ ACCEL_S8, ACCEL_S4, ACCEL_S32 },
	{ ACCEL_U8, ACCEL_U4, ACCEL_S32 },	{ ACCEL_F32, ACCEL_S8, ACCEL_F32 },
	{ ACCEL_F16, ACCEL_S8, ACCEL_F32 },	{ ACCEL_BF16, ACCEL_S4, ACCEL_F32 },
	{ ACCEL_F32, ACCEL_U4, ACCEL_F32 },	{ ACCEL_F32, ACCEL_F16, ACCEL_F32 },
	{ ACCEL_F32, ACCEL_BF16, ACCEL_F32 },
};

static int32_t next(struct large *l, bool is_signed)
{
	l->rng = l->rng * 6364136223846793005ull + 1442695040888963407ull;
	return (int32_t)(l->rng >> 60) - (is_signed ? 8 : 0);
}

static void put(void *mem, uint32_t dtype, uint64_t i, int32_t v)
{
	const float f = (float)v;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	switch (dtype) {
	case ACCEL_F32:
		((float *)mem)[i] = f;
		break;
	case ACCEL_BF16:
		((uint16_t *)mem)[i] = (uint16_t)(bits >> 16);
		break;
	case ACCEL_F16:
		((uint16_t *)mem)[i] = v ? (uint16_t)((bits >> 16 & 0x8000) |
						      (((bits >> 13) - 0x1c000) & 0x7fff)) : 0;
		break;
	case ACCEL_S4:
	case ACCEL_U4:
		((uint8_t *)mem)[i / 2] |= (uint8_t)((v & 15) << (i % 2 * 4));
		break;
	default:
		((uint8_t *)mem)[i] = (uint8_t)v;
		break;
	}
}

static size_t runs(uint32_t k)
{
	return (k + RUN - 1) / RUN * RUN;
}

/* Memory of the process, to the byte, filled with @byte. */
static struct accel_bo *new_bo(struct accel_ctx *ctx, size_t bytes, int byte)
{
	const size_t size = (bytes + 63) / 64 * 64;
	void *mem = aligned_alloc(64, size);
	struct accel_bo *bo;

	assert_non_null(mem);
	memset(mem, byte, size);
	assert_int_equal(accel_bo_import_ptr(ctx, mem, bytes, NULL, &bo), 0);
	return bo;
}

static void free_bo(struct accel_bo *bo)
{
	void *mem = accel_bo_ptr(bo);

	accel_bo_unref(bo);
	free(mem);
}

/*
 * A matrix of @rows by @cols, stored the other way round with @trans. What the oracle has of it
 * lies along rows, or @down columns.
 */
static int16_t *matrix(struct large *l, struct accel_tensor *t, uint32_t dtype, uint32_t rows,
		       uint32_t cols, bool trans, bool down)
{
	const int64_t dims[2] = { trans ? cols : rows, trans ? rows : cols };
	const size_t right = down ? runs(rows) : 1, below = down ? 1 : runs(cols);
	int16_t *v = calloc(down ? cols * right : rows * below, sizeof(*v));
	struct accel_bo *bo = new_bo(l->ctx, (size_t)rows * cols * accel_dtype_bits(dtype) / 8, 0);
	uint32_t i, j;

	assert_non_null(v);
	*t = accel_tensor_dense(bo, dtype, 2, dims);
	for (i = 0; i < rows; i++)
		for (j = 0; j < cols; j++) {
			int32_t x = next(l, dtype != ACCEL_U8 && dtype != ACCEL_U4);

			v[i * below + j * right] = (int16_t)x;
			put(accel_bo_ptr(bo), dtype, trans ? (uint64_t)j * rows + i :
							     (uint64_t)i * cols + j, x);
		}
	return v;
}

/* Rows of elements without the zero point of their tensor. */
static void subtract(int16_t *v, const struct accel_tensor *t, uint32_t rows, uint32_t k)
{
	uint32_t i, x;

	if (!t->quant.scheme)
		return;
	for (i = 0; i < rows; i++)
		for (x = 0; x < k; x++)
			v[i * runs(k) + x] -= (int16_t)t->quant.zero;
}

/* With a loop of a fixed length, and nothing in it, which compilers do in vectors. */
static __attribute__((no_sanitize("address", "undefined", "thread"))) int32_t
sum_of(const int16_t *a, const int16_t *b, size_t n)
{
	int32_t sum = 0;
	uint32_t x;

	for (; n; n -= RUN, a += RUN, b += RUN)
		for (x = 0; x < RUN; x++)
			sum += a[x] * b[x];
	return sum;
}

static void compare(const struct large *l, uint32_t m, uint32_t n, uint32_t k)
{
	const void *d = accel_bo_ptr(l->desc.d.bo);
	const float scale = l->desc.b.quant.scheme ? l->desc.b.quant.scale : 1;
	const size_t run = runs(k);
	uint32_t i, j;

	subtract(l->va, &l->desc.a, m, k);
	subtract(l->vb, &l->desc.b, n, k);
	for (i = 0; i < m; i++)
		for (j = 0; j < n; j++) {
			const int32_t sum = sum_of(l->va + i * run, l->vb + j * run, run);
			const size_t at = (size_t)i * n + j;

			if (l->desc.d.dtype == ACCEL_F32)
				assert_true(((const float *)d)[at] == (float)sum * scale);
			else
				assert_int_equal(((const int32_t *)d)[at], sum);
		}
}

/* How a case differs from the plain one */
#define ZEROS		(1u << 30)

static void run_case(struct accel_ctx *ctx, uint32_t type, uint32_t m, uint32_t n, uint32_t k,
		     uint32_t how)
{
	struct large l = { .ctx = ctx, .rng = m * 31u + n * 7u + k + type };
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_bo *bo;
	int64_t dims[2];

	if (test_left_out(l.rng, 0))
		return;
	/* Rows of nibbles are whole bytes. */
	if (types[type].b == ACCEL_S4 || types[type].b == ACCEL_U4) {
		n += n % 2;
		k += k % 2;
	}
	dims[0] = m;
	dims[1] = n;
	l.desc = (struct accel_gemm_desc)ACCEL_GEMM_DESC_INIT;
	l.desc.flags = how & ~ZEROS;
	l.va = matrix(&l, &l.desc.a, types[type].a, m, k, how & ACCEL_GEMM_TRANS_A, false);
	l.vb = matrix(&l, &l.desc.b, types[type].b, k, n, how & ACCEL_GEMM_TRANS_B, true);
	if ((how & ZEROS) && types[type].d == ACCEL_S32) {
		l.desc.a.quant = (struct accel_quant){
			.scheme = ACCEL_QUANT_TENSOR, .scale = 1, .zero = 3,
		};
		l.desc.b.quant = l.desc.a.quant;
		l.desc.b.quant.zero = 5;
	}
	/* Weights have a scale; with a power of two sums stay exact. */
	if (types[type].d == ACCEL_F32 && types[type].b > ACCEL_BF16)
		l.desc.b.quant = (struct accel_quant){
			.scheme = ACCEL_QUANT_TENSOR, .scale = 0.5f, .zero = 3,
		};
	/* One more than there is: nobody may write there. */
	bo = new_bo(ctx, (size_t)m * n * 4 + 4, 0xa5);
	l.desc.d = accel_tensor_dense(bo, types[type].d, 2, dims);
	if (accel_run(ctx, &l.desc.hdr)) {
		accel_ctx_get_error(ctx, &e);
		fail_msg("%s: %s", e.field, e.text);
	}
	compare(&l, m, n, k);
	assert_int_equal(((const uint32_t *)accel_bo_ptr(bo))[(size_t)m * n], 0xa5a5a5a5);
	free_bo(l.desc.a.bo);
	free_bo(l.desc.b.bo);
	free_bo(bo);
	free(l.va);
	free(l.vb);
}

static const uint32_t ways[] = {
	0, ACCEL_GEMM_PACK_B, ACCEL_GEMM_TRANS_A, ACCEL_GEMM_TRANS_B, ZEROS,
	ZEROS | ACCEL_GEMM_PACK_B | ACCEL_GEMM_TRANS_A, ZEROS | ACCEL_GEMM_TRANS_B,
};

/* Each number of rows and columns in registers, K not a multiple of anything. */
static void test_edges(void **state)
{
	static const uint32_t ks[] = { 1, 2, 3, 5, 31, 64, 67 };
	uint32_t type, m, n;

	for (type = 0; type < ARRAY_SIZE(types); type++)
		for (m = 1; m <= 33; m++)
			for (n = 1; n <= 34; n += 1 + (m + type) % 3)
				run_case(*state, type, m, n, ks[(m + n) % ARRAY_SIZE(ks)],
					 ways[(m * 3 + n + type) % ARRAY_SIZE(ways)]);
}

/*
 * Packed weights with each number of rows for which they are only read once: small
 * ones, and such that are more than a core's cache holds, which many rows need.
 */
static void test_few_rows(void **state)
{
	static const uint32_t many[] = { 3, 8, 9, 11, 15, 16, 17, 23, 25, 31, 32, 33 };
	const uint32_t bytes = 5u << 18;
	uint32_t type, m, i;

	for (type = 0; type < ARRAY_SIZE(types); type++) {
		for (m = 1; m <= 33; m++)
			run_case(*state, type, m, 40 + m * 7 % 60, 30 + m * 5 % 70,
				 ACCEL_GEMM_PACK_B | (m % 2 ? ZEROS : 0));
		for (i = 0; i < ARRAY_SIZE(many); i++) {
			const uint32_t n = 500 + 61 * i;

			run_case(*state, type, many[i], n,
				 bytes / n * 8 / accel_dtype_bits(types[type].b),
				 ACCEL_GEMM_PACK_B | (i % 2 ? ZEROS : 0));
		}
	}
}

/* Several tiles and blocks of K, packing in a phase, rows a page apart. */
static void test_large(void **state)
{
	static const uint32_t sizes[][3] = {
		{ 300, 100, 2100 }, { 700, 300, 513 }, { 1100, 70, 65 }, { 64, 700, 1024 },
		{ 130, 260, 1600 }, { 33, 1200, 100 }, { 20, 40, 9000 },
	};
	uint32_t type, i, w;

	for (type = 0; type < ARRAY_SIZE(types); type++)
		for (i = 0; i < ARRAY_SIZE(sizes); i++)
			for (w = (i + type) % 2; w < ARRAY_SIZE(ways); w += 2)
				run_case(*state, type, sizes[i][0], sizes[i][1], sizes[i][2],
					 ways[w]);
}

/* Sums longer than those of bytes may be. */
static void test_deep(void **state)
{
	static const uint32_t sizes[][3] = {
		{ 1, 17, 200000 }, { 3, 9, 65537 }, { 17, 20, 66000 },
	};
	static const uint32_t deep[] = { 0, ACCEL_GEMM_PACK_B, ACCEL_GEMM_TRANS_B };
	uint32_t type, i;

	for (type = 0; type < ARRAY_SIZE(types); type++)
		for (i = 0; i < ARRAY_SIZE(sizes) && types[type].d == ACCEL_F32; i++)
			run_case(*state, type, sizes[i][0], sizes[i][1], sizes[i][2],
				 deep[(type + i) % ARRAY_SIZE(deep)]);
}

static int open_device(void **state)
{
	struct accel_device *dev;
	struct accel_ctx *ctx;

	if (accel_device_open("sw:full", NULL, &dev))
		return -1;
	if (accel_ctx_create(dev, NULL, &ctx))
		return -1;
	/* The context keeps it. */
	accel_device_unref(dev);
	*state = ctx;
	return 0;
}

static int close_context(void **state)
{
	accel_ctx_destroy(*state);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_edges, open_device, close_context),
		cmocka_unit_test_setup_teardown(test_few_rows, open_device, close_context),
		cmocka_unit_test_setup_teardown(test_large, open_device, close_context),
		cmocka_unit_test_setup_teardown(test_deep, open_device, close_context),
	};

	/* To unmap memory interrupts all processors on which threads of the process run. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	return cmocka_run_group_tests_name("large gemm", tests, NULL, NULL);
}
